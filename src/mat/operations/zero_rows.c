/* SPDX-License-Identifier: BSD-3-Clause */
/* Prescribed unknowns: rows, and columns, become zero except for the diagonal, and b is adapted. The
   pattern stays. The host knows which rows. Pattern, values, x and b stay on the device. */
#include "mat/csr/csr_values_kernels.h"
#include "mat/object/mat.h"

typedef struct Zero {
  Indices rows;
  double diagonal;
  PoiseVec x, b;           /* both or none */
  bool columns;            /* these too */
  Stash stash;             /* the rows, at their owners */
  int64_t n;               /* of this rank, each once: */
  Buffer row, diagonals;   /* rows, int32, ascending; local columns of their diagonal entries, int32, */
  Buffer at;               /* and these entries' places, int64 */
  Buffer mark, ghost_mark; /* per owned and per ghost column: is it to be zeroed? */
} Zero;

static PoiseErr Check(PoiseMat A, Zero *z)
{
  TRY(poiseMatCheckHolds(A, "PoiseMatZeroRows"));
  TRY(poiseMatCheckUsable(A));
  TRY(poiseIndicesCheck(A->ctx->device, &z->rows, A->rows->N, "row", "matrix"));
  if (!z->x != !z->b) FAIL(POISE_ERR_ARG, "x and b go together: give both or neither");
  if (z->x && z->x == z->b) FAIL(POISE_ERR_ARG, "x and b are the same vector");
  if (z->columns || z->x) TRY(poiseMatCheckSquare(A));
  if (z->x) TRY(poiseVecCheckSame(z->x, "x", z->b, "b"));
  if (z->x && (z->x->ctx != A->ctx || !poiseLayoutSame(A->rows, z->x->layout)))
    FAIL(POISE_ERR_SIZE, "A has %lld rows, b has %lld entries", (long long)A->rows->N,
         (long long)z->b->layout->N);
  for (PoiseInt k = 0; k < z->rows.n; k++)
    if (z->rows.index[k] >= 0) TRY(poiseStashAdd(A->ctx, &z->stash, z->rows.index[k], 0, 0));
  return POISE_OK;
}

static int CompareRows(const void *a, const void *b)
{
  PoiseInt x = ((const Entry *)a)->row, y = ((const Entry *)b)->row;
  return (x > y) - (x < y);
}

static PoiseErr Reserve(Device *dev, size_t bytes, const char *what, Buffer *b)
{
  void *p;
  TRY(poiseBufferCreate(dev, bytes, what, b));
  return poiseBufferUpdate(b, DEVICE, &p);
}

/* The first ghost that is not before a column, of blocks in a matrix of blocks. */
static int64_t GhostFrom(const Csr *c, PoiseInt column)
{
  int64_t low = 0, high = c->nghost;
  while (low < high) {
    int64_t mid = low + (high - low) / 2;
    if (c->ghost[mid] < column)
      low = mid + 1;
    else
      high = mid;
  }
  return low;
}

/* The local number of such a column, or -1. */
static int32_t LocalColumn(const Csr *c, PoiseInt column)
{
  int64_t own = column - c->column, g = GhostFrom(c, column);
  if (own >= 0 && own < c->nloc) return (int32_t)own;
  return g < c->nghost && c->ghost[g] == column ? (int32_t)(c->nloc + g) : -1;
}

/* Find the diagonal entries of the listed rows. A row without one cannot take a diagonal value. */
static PoiseErr FindDiagonals(PoiseMat A, Zero *z)
{
  Device *dev = A->ctx->device;
  Csr *c = &A->csr;
  CsrDiagonalsArgs a = {.n = z->n, .below = GhostFrom(c, c->column)};
  const int64_t *at;
  int32_t *col;
  TRY(poiseBufferCreate(dev, (size_t)z->n * sizeof *col, "columns of diagonal entries", &z->diagonals));
  TRY(poiseBufferCreate(dev, (size_t)z->n * sizeof *at, "diagonal entries", &z->at));
  TRY(poiseBufferWrite(&z->diagonals, HOST, &col));
  for (int64_t k = 0; k < z->n; k++) col[k] = LocalColumn(c, z->stash.entry[k].row / poiseCsrSide(c));
  TRY(poiseBufferRead(&z->row, DEVICE, &a.row));
  TRY(poiseBufferRead(&z->diagonals, DEVICE, &a.col));
  TRY(poiseBufferWrite(&z->at, DEVICE, &a.at));
  TRY(poiseCsrView(c, &a.A));
  TRY(LAUNCH(dev, csr_diagonals, &a));
  TRY(poiseBufferRead(&z->at, HOST, &at));
  for (int64_t k = 0; k < z->n; k++)
    if (at[k] < 0)
      FAIL(POISE_ERR_ARG, "row %lld has no diagonal entry in the pattern, so its diagonal cannot be %g",
           (long long)z->stash.entry[k].row, z->diagonal);
  return POISE_OK;
}

/* List this rank's own rows, and allocate the rest. */
static PoiseErr List(PoiseMat A, Zero *z)
{
  Device *dev = A->ctx->device;
  Entry *e = z->stash.entry;
  int64_t listed = z->stash.n;
  int32_t *row;
  if (listed) qsort(e, (size_t)listed, sizeof *e, CompareRows);
  for (int64_t k = 0; k < listed; k++)
    if (!k || e[k].row != e[k - 1].row) e[z->n++].row = e[k].row;
  TRY(poiseBufferCreate(dev, (size_t)z->n * sizeof *row, "rows to zero", &z->row));
  TRY(poiseBufferWrite(&z->row, HOST, &row));
  for (int64_t k = 0; k < z->n; k++) row[k] = (int32_t)(e[k].row - A->rows->begin);
  if (z->diagonal != 0) TRY(FindDiagonals(A, z));
  if (!z->columns) return POISE_OK;
  TRY(Reserve(dev, (size_t)A->rows->n * sizeof(double), "columns to zero", &z->mark));
  return Reserve(dev, (size_t)(A->csr.nghost * poiseCsrSide(&A->csr)) * sizeof(double), "columns to zero",
                 &z->ghost_mark);
}

static PoiseErr ApplyRows(PoiseMat A, Zero *z)
{
  CsrZeroRowsArgs a = {.n = z->n, .diagonal = z->diagonal};
  TRY(poiseBufferRead(&z->row, DEVICE, &a.row));
  if (z->diagonal != 0) TRY(poiseBufferRead(&z->at, DEVICE, &a.at));
  if (z->columns) TRY(poiseBufferUpdate(&z->mark, DEVICE, &a.mark));
  if (z->x) TRY(poiseVecRead(z->x, &a.x));
  if (z->x) TRY(poiseVecUpdate(z->b, &a.b));
  TRY(poiseCsrUpdate(&A->csr, &a.A, &a.val));
  return LAUNCH(A->ctx->device, csr_zero_rows, &a);
}

static PoiseErr KeepMarks(PoiseMat A, Zero *z, const double *ghost)
{
  double *kept;
  if (!A->csr.halo) return POISE_OK;
  TRY(poiseBufferWrite(&z->ghost_mark, DEVICE, &kept));
  return poiseDeviceCopy(A->ctx->device, kept, ghost,
                         (size_t)(A->csr.nghost * poiseCsrSide(&A->csr)) * sizeof *kept, COPY_ON_DEVICE);
}

static PoiseErr ApplyColumns(PoiseMat A, Zero *z, CsrZeroColumnsArgs *a)
{
  if (A->csr.halo) TRY(poiseBufferRead(&z->ghost_mark, DEVICE, &a->ghost_mark));
  if (z->x) TRY(poiseVecUpdate(z->b, &a->b));
  TRY(poiseCsrUpdate(&A->csr, &a->A, &a->val));
  return LAUNCH(A->ctx->device, csr_zero_columns, a);
}

/* Fetch the marks and x of other ranks' columns, then zero those columns. mine: this rank's error so far.
   The caller agrees. Collective. */
static PoiseErr Columns(PoiseMat A, PoiseErr mine, Zero *z)
{
  CsrZeroColumnsArgs a = {0};
  const double *ghost = NULL;
  if (!mine) mine = poiseBufferRead(&z->mark, DEVICE, &a.mark);
  mine = poiseMatGhosts(A, mine, a.mark, &ghost);
  if (!mine) mine = KeepMarks(A, z, ghost);
  if (!mine && z->x) mine = poiseVecRead(z->x, &a.x);
  if (z->x) mine = poiseMatGhosts(A, mine, a.x, &a.ghost);
  return mine ? mine : ApplyColumns(A, z, &a);
}

static PoiseErr Run(PoiseMat A, Zero *z)
{
  PoiseContext ctx = A->ctx;
  TRY(PoiseAgree(ctx, Check(A, z)));
  TRY(poiseStashExchange(ctx, &z->stash, A->rows));
  TRY(PoiseAgree(ctx, List(A, z)));
  A->version.values++;
  PoiseErr e = ApplyRows(A, z);
  if (z->columns) e = Columns(A, e, z);
  if (!e) e = poiseBufferSyncBorrowed(&A->csr.val);
  if (!e && z->b) e = poiseBufferSyncBorrowed(&z->b->data);
  return PoiseAgree(ctx, e);
}

static PoiseErr ZeroRows(PoiseMat A, Zero z)
{
  PoiseErr e = Run(A, &z);
  poiseStashDestroy(A->ctx, &z.stash);
  poiseBufferDestroy(&z.row);
  poiseBufferDestroy(&z.diagonals);
  poiseBufferDestroy(&z.at);
  poiseBufferDestroy(&z.mark);
  poiseBufferDestroy(&z.ghost_mark);
  return e;
}

PoiseErr PoiseMatZeroRows(PoiseMat A, PoiseInt n, const PoiseInt *rows, double diagonal, PoiseVec x,
                          PoiseVec b)
{
  CALLED(OBJECT(A), OBJECT_OR_NO(x), OBJECT_OR_NO(b));
  return ZeroRows(A, (Zero){.rows = {n, rows, NULL}, .diagonal = diagonal, .x = x, .b = b});
}

PoiseErr PoiseMatZeroRowsColumns(PoiseMat A, PoiseInt n, const PoiseInt *rows, double diagonal, PoiseVec x,
                                 PoiseVec b)
{
  CALLED(OBJECT(A), OBJECT_OR_NO(x), OBJECT_OR_NO(b));
  return ZeroRows(A, (Zero){.rows = {n, rows, NULL}, .diagonal = diagonal, .x = x, .b = b, .columns = true});
}

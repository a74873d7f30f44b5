/* SPDX-License-Identifier: BSD-3-Clause */
/* Prescribed unknowns: rows, and columns, of zeros but for the diagonal, with b to match; the pattern stays. On the host. */
#include "mat.h"

typedef struct Zero {
  Indices rows;
  double diagonal;
  PoiseVec x, b;         /* both or none */
  bool columns;          /* these too */
  Stash stash;           /* the rows, at their owners */
  double *mark, *values; /* per column: is it to be zeroed? x there */
} Zero;

static PoiseErr Check(PoiseMat A, Zero *z)
{
  TRY(poiseMatCheckStored(A));
  TRY(poiseMatCheckUsable(A));
  TRY(poiseIndicesCheck(&z->rows, A->rows->N, "row", "matrix"));
  if (!z->x != !z->b) FAIL(POISE_ERR_ARG, "x and b go together: give both or neither");
  if (z->x && z->x == z->b) FAIL(POISE_ERR_ARG, "x and b are the same vector");
  if (z->columns || z->x) TRY(poiseMatCheckSquare(A));
  if (z->x) TRY(poiseVecCheckSame(z->x, "x", z->b, "b"));
  if (z->x && (z->x->ctx != A->ctx || !poiseLayoutSame(A->rows, z->x->layout)))
    FAIL(POISE_ERR_SIZE, "A has %lld rows, b has %lld entries", (long long)A->rows->N, (long long)z->b->layout->N);
  for (PoiseInt k = 0; k < z->rows.n; k++)
    if (z->rows.index[k] >= 0) TRY(poiseStashAdd(A->ctx, &z->stash, z->rows.index[k], 0, 0));
  return POISE_OK;
}

/* What this rank knows of its own rows. A row without a diagonal entry can have no diagonal value. */
static PoiseErr Mark(PoiseMat A, Zero *z)
{
  const double *x;
  HostCsr h;
  int64_t m = A->rows->n;
  TRY(poiseMatRead(A, &h));
  if (z->columns)
    TRY(poiseColumnsCreate(A, &z->mark));
  else
    TRY(poiseAllocArray(A->ctx, m, sizeof(double), "rows to zero", &z->mark));
  for (int64_t k = 0; k < z->stash.n; k++) {
    PoiseInt row = z->stash.entry[k].row, i = row - A->rows->begin;
    if (z->diagonal != 0 && poiseCsrFind(A, h.ptr, h.col, i, row) < 0)
      FAIL(POISE_ERR_ARG, "row %lld has no diagonal entry in the pattern, so its diagonal cannot be %g", (long long)row,
           z->diagonal);
    z->mark[i] = 1;
  }
  if (!z->x) return POISE_OK;
  TRY(poiseColumnsCreate(A, &z->values));
  TRY(PoiseVecGetRead(z->x, &x));
  if (m) memcpy(z->values, x, (size_t)m * sizeof *x);
  return POISE_OK;
}

static PoiseErr Apply(PoiseMat A, const Zero *z)
{
  HostCsr h;
  double *b = NULL;
  if (z->b) TRY(PoiseVecGetUpdate(z->b, &b));
  TRY(poiseMatUpdate(A, &h));
  for (int64_t i = 0; i < A->rows->n; i++) {
    bool zero = z->mark[i] != 0;
    if (zero && b) b[i] = z->diagonal * z->values[i];
    if (!zero && !z->columns) continue;
    for (int64_t k = poiseCsrPtr(&A->csr, h.ptr, i); k < poiseCsrPtr(&A->csr, h.ptr, i + 1); k++) {
      int32_t j = h.col[k];
      if (zero) {
        h.val[k] = poiseCsrGlobal(A, j) == A->rows->begin + i ? z->diagonal : 0;
      } else if (z->mark[j] != 0) {
        if (b) b[i] -= h.val[k] * z->values[j];
        h.val[k] = 0;
      }
    }
  }
  return POISE_OK;
}

static PoiseErr Run(PoiseMat A, Zero *z)
{
  PoiseContext ctx = A->ctx;
  TRY(PoiseAgree(ctx, Check(A, z)));
  TRY(poiseStashExchange(ctx, &z->stash, A->rows));
  TRY(PoiseAgree(ctx, Mark(A, z)));
  PoiseErr e = z->columns ? poiseColumnsSpread(A, POISE_OK, z->mark) : POISE_OK;
  if (z->columns && z->x) e = poiseColumnsSpread(A, e, z->values);
  TRY(PoiseAgree(ctx, e));
  A->state++;
  return PoiseAgree(ctx, Apply(A, z));
}

static PoiseErr ZeroRows(PoiseMat A, Zero z)
{
  PoiseErr e = Run(A, &z);
  poiseStashDestroy(A->ctx, &z.stash);
  poiseFree(A->ctx, &z.mark);
  poiseFree(A->ctx, &z.values);
  return e;
}

PoiseErr PoiseMatZeroRows(PoiseMat A, PoiseInt n, const PoiseInt *rows, double diagonal, PoiseVec x, PoiseVec b)
{
  return ZeroRows(A, (Zero){.rows = {n, rows, NULL}, .diagonal = diagonal, .x = x, .b = b});
}

PoiseErr PoiseMatZeroRowsColumns(PoiseMat A, PoiseInt n, const PoiseInt *rows, double diagonal, PoiseVec x, PoiseVec b)
{
  return ZeroRows(A, (Zero){.rows = {n, rows, NULL}, .diagonal = diagonal, .x = x, .b = b, .columns = true});
}

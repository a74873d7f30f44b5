/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Products of matrices. A reference adds the products of an entry one by one, in the order of the rows'
  entries and, for P^T A P, of the ranks: C must have its bits. The pattern is compared too.
*/
#include "harness.h"
#include "mat/csr/entries.h"
#include "mat/multiply/tiles.h"
#include "sample.h"

/* ---- matrices that are a function of (i, j) -------------------------------------------------- */

typedef struct Shape {
  const char *name;
  PoiseInt m, n;  /* rows and columns of blocks */
  double density; /* of stored blocks */
  PoiseInt full;  /* a row that is full; -1: none */
  PoiseInt empty; /* rows i with i % empty == 1 are empty; 0: none */
  int rows, cols; /* layouts */
  uint64_t seed;
} Shape;

static bool Stored(const Shape *s, PoiseInt i, PoiseInt j)
{
  if (i == s->full) return true;
  if (s->empty && i % s->empty == 1) return false;
  return TestRandom(s->seed, (uint64_t)(i * s->n + j)) < 2 * s->density - 1;
}

static double Value(const Shape *s, PoiseInt i, PoiseInt j, double scale)
{
  return scale * TestRandom(s->seed + 100, (uint64_t)(i * 100003 + j)) +
         (scale - 1) * TestRandom(s->seed + 200, (uint64_t)(i * 10007 + j));
}

static PoiseInt Local(PoiseContext ctx, int layout, PoiseInt N)
{
  PoiseInt n = SampleLocal(ctx, layout, N), begin;
  if (n == POISE_DECIDE) PoiseSplit(ctx, N, &begin, &n);
  return n;
}

typedef struct Entries { /* this rank's rows; b x across scalars each, b = 0: scalars */
  int b, across;
  int64_t m, nz, *ptr, *col;
  double *val;
} Entries;

static Entries EntriesOf(PoiseContext ctx, const Shape *s, int b, int across, double scale)
{
  PoiseInt rows[2] = {0}, side = b ? b : 1, tile = side * across;
  SampleRange(ctx, s->rows, s->m, rows);
  size_t most = (size_t)((rows[1] - rows[0]) * s->n) + 1;
  Entries e = {.b = b, .across = across, .m = rows[1] - rows[0]};
  e.ptr = calloc((size_t)e.m + 1, sizeof *e.ptr), e.col = calloc(most, sizeof *e.col);
  e.val = calloc(most * (size_t)tile, sizeof *e.val);
  for (PoiseInt i = rows[0]; i < rows[1]; i++) {
    for (PoiseInt j = 0; j < s->n; j++) {
      if (!Stored(s, i, j)) continue;
      for (PoiseInt k = 0; k < tile; k++)
        e.val[e.nz * tile + k] = Value(s, i * side + k % side, j * across + k / side, scale);
      e.col[e.nz++] = j;
    }
    e.ptr[i - rows[0] + 1] = e.nz;
  }
  return e;
}

static void EntriesFree(Entries *e)
{
  free(e->ptr), free(e->col), free(e->val);
}

/* The arrays of tiles, in memory of the library. */
static PoiseErr TakeTiles(PoiseMat T, const Entries *e)
{
  RowArrays r = {.b = e->b};
  POISE_TRY(poiseAllocArray(T->ctx, e->m + 1, sizeof *r.ptr, "offsets", &r.ptr));
  POISE_TRY(poiseRowArraysReserve(T, e->nz, e->b * e->across, &r));
  memcpy(r.ptr, e->ptr, (size_t)(e->m + 1) * sizeof *r.ptr);
  for (int64_t k = 0; k < e->nz; k++) poiseRowArraysPutColumn(&r, k, e->col[k]);
  if (e->nz) memcpy(r.val, e->val, (size_t)(e->nz * e->b * e->across) * sizeof *r.val);
  return poiseTilesTake(T, POISE_OK, e->b, e->across, &r, NULL);
}

/* csr if b is 0, bcsr of blocks, or tiles if they are not square. */
static PoiseErr Make(PoiseContext ctx, const Shape *s, int b, int across, double scale, PoiseMat *A)
{
  PoiseInt side = b ? b : 1, m = Local(ctx, s->rows, s->m) * side, n = Local(ctx, s->cols, s->n) * across;
  PoiseInt M = s->m * side, N = s->n * across;
  Entries x = EntriesOf(ctx, s, b, across, scale);
  PoiseCSR csr = {.ptr64 = x.ptr, .col64 = x.col, .val = x.val};
  PoiseBCSR bcsr = {.ptr64 = x.ptr, .col64 = x.col, .val = x.val};
  PoiseErr e;
  *A = NULL;
  if (side != across) {
    e = poiseTilesCreate(ctx, m, n, M, N, A);
    if (!e) e = TakeTiles(*A, &x);
    if (e) PoiseMatDestroy(A);
  } else {
    e = b ? PoiseMatCreateBCSR(ctx, b, m, n, M, N, &bcsr, POISE_COPY, A)
          : PoiseMatCreateCSR(ctx, m, n, M, N, &csr, POISE_COPY, A);
  }
  EntriesFree(&x);
  return e;
}

/* New numbers, same pattern. */
static PoiseErr Renew(PoiseMat A, const Shape *s, int b, int across, double scale)
{
  double *val;
  Entries x = EntriesOf(A->ctx, s, b, across, scale);
  PoiseErr e = poiseBufferWrite(&A->csr.val, HOST, &val);
  if (!e && x.nz) memcpy(val, x.val, (size_t)(x.nz * (b ? b : 1) * across) * sizeof *val);
  A->state++;
  EntriesFree(&x);
  return e;
}

/* ---- dense references ------------------------------------------------------------------------ */

typedef struct Dense {
  PoiseInt m, n;
  double *v;
  bool *stored;
} Dense;

static Dense DenseNew(PoiseInt m, PoiseInt n)
{
  size_t size = (size_t)(m * n) + 1;
  return (Dense){.m = m, .n = n, .v = calloc(size, sizeof(double)), .stored = calloc(size, sizeof(bool))};
}

static void DenseFree(Dense *d)
{
  free(d->v), free(d->stored);
}

static Dense DenseOf(const Shape *s, int b, int across, double scale)
{
  PoiseInt side = b ? b : 1;
  Dense d = DenseNew(s->m * side, s->n * across);
  for (PoiseInt i = 0; i < d.m; i++)
    for (PoiseInt j = 0; j < d.n; j++) {
      d.stored[i * d.n + j] = Stored(s, i / side, j / across);
      if (d.stored[i * d.n + j]) d.v[i * d.n + j] = Value(s, i, j, scale);
    }
  return d;
}

/* c_ij += a_ik b_kj for k of [first, last) in order; turned: a_ki. */
static void Accumulate(const Dense *a, bool turned, const Dense *b, PoiseInt first, PoiseInt last, Dense *c)
{
  for (PoiseInt i = 0; i < c->m; i++)
    for (PoiseInt j = 0; j < c->n; j++)
      for (PoiseInt k = first; k < last; k++) {
        PoiseInt at = turned ? k * a->n + i : i * a->n + k;
        if (!a->stored[at] || !b->stored[k * b->n + j]) continue;
        volatile double product = a->v[at] * b->v[k * b->n + j];
        c->v[i * c->n + j] += product;
        c->stored[i * c->n + j] = true;
      }
}

static Dense DenseProduct(const Dense *a, const Dense *b)
{
  Dense c = DenseNew(a->m, b->n);
  Accumulate(a, false, b, 0, a->n, &c);
  return c;
}

/* p^T ap, where each rank adds its rows; then the owner of row i its own sum, and those of others. */
static Dense DenseGalerkin(PoiseContext ctx, const Shape *p, int b, int across, const Dense *dp,
                           const Dense *ap)
{
  int size = PoiseSize(ctx);
  PoiseInt side = b ? b : 1,
           sizes[2] = {Local(ctx, p->rows, p->m) * side, Local(ctx, p->cols, p->n) * across};
  int64_t before[2], all;
  double start[2][8] = {{0}};
  Dense c = DenseNew(dp->n, dp->n), part[7];
  for (int k = 0; k < 2; k++) {
    CHECK_OK(poiseCommScan(ctx->comm, sizes[k], &before[k], &all));
    start[k][PoiseRank(ctx)] = (double)before[k];
    CHECK_OK(PoiseSum(ctx, 8, start[k]));
    start[k][size] = (double)all;
  }
  for (int r = 0; r < size; r++) {
    part[r] = DenseNew(dp->n, dp->n);
    Accumulate(dp, true, ap, (PoiseInt)start[0][r], (PoiseInt)start[0][r + 1], &part[r]);
  }
  for (PoiseInt i = 0; i < c.m; i++) {
    int owner = 0;
    while (i >= (PoiseInt)start[1][owner + 1]) owner++;
    for (PoiseInt j = 0; j < c.n; j++)
      for (int r = -1; r < size; r++) {
        int of = r < 0 ? owner : r;
        if (r == owner || !part[of].stored[i * c.n + j]) continue;
        c.v[i * c.n + j] += part[of].v[i * c.n + j];
        c.stored[i * c.n + j] = true;
      }
  }
  for (int r = 0; r < size; r++) DenseFree(&part[r]);
  return c;
}

/* Has A these entries, and their bits? Blocks are stored whole. */
static bool Is(PoiseMat A, const Dense *d)
{
  Csr *c = &A->csr;
  PoiseInt side = poiseCsrSide(c), across = poiseCsrAcross(c);
  HostCsr h;
  bool good = CHECK_INT(A->rows->N, d->m) && CHECK_INT(A->cols->N, d->n) &&
              CHECK_OK(poiseMatPattern(A, &h)) && CHECK_OK(poiseBufferRead(&c->val, HOST, &h.val));
  for (PoiseInt i = 0; good && i < c->m; i++) {
    int64_t k = poiseCsrPtr(c, h.ptr, i), end = poiseCsrPtr(c, h.ptr, i + 1);
    for (PoiseInt j = 0; j < d->n / across; j++) {
      PoiseInt row = (c->row + i) * side, col = j * across;
      if (!d->stored[row * d->n + col]) continue;
      good = good && k < end && poiseCsrGlobal(A, h.col[k]) == j;
      for (PoiseInt e = 0; good && e < side * across; e++)
        good = SampleBits(h.val[k * side * across + e]) ==
               SampleBits(d->v[(row + e % side) * d->n + col + e / side]);
      k++;
    }
    good = good && k == end;
  }
  return good;
}

/* ---- A B and P^T A P ------------------------------------------------------------------------- */

static const Shape lefts[] = {
    {"small", 9, 7, 0.4, -1, 0, EVEN, EVEN, 1},      {"empty rows", 23, 17, 0.2, 5, 3, UNEVEN, LAST, 2},
    {"one rank", 12, 12, 0.3, 11, 0, LAST, LAST, 3}, {"no entries", 6, 5, -1, -1, 0, EVEN, UNEVEN, 4},
    {"no rows", 0, 8, 1, -1, 0, EVEN, EVEN, 5},      {"no inner", 4, 0, 1, -1, 0, EVEN, EVEN, 6},
    {"full", 14, 40, 1, -1, 0, UNEVEN, UNEVEN, 7}};
enum { LEFTS = sizeof lefts / sizeof *lefts };

static Shape RightOf(const Shape *left, int k)
{
  return (Shape){.m = left->n,
                 .n = k % 3 == 2 ? 0 : 11 + 8 * (k % 3),
                 .density = 0.3,
                 .full = k % 2 ? 2 : -1,
                 .empty = k % 2 ? 4 : 0,
                 .rows = left->cols,
                 .cols = k % 3,
                 .seed = 50 + (uint64_t)k};
}

/* Blocks of A are b x b, of B b x across. b = 0: scalars. */
static const struct {
  int b, across;
} blocks[] = {{0, 1}, {1, 1}, {2, 2}, {3, 3}, {6, 6}, {3, 6}, {4, 1}, {0, 3}};
enum { BLOCKS = sizeof blocks / sizeof *blocks };

/* Are C's blocks those of the product? */
static void CheckBlocks(PoiseMat C, int side, int k)
{
  bool scalars = !blocks[k].b && blocks[k].across == 1;
  CHECK_INT(poiseCsrSide(&C->csr), side);
  CHECK_INT(poiseCsrAcross(&C->csr), blocks[k].across);
  CHECK_INT(C->csr.b > 0, !scalars);
  CHECK_INT(C->type->blocked, !scalars && side == blocks[k].across);
}

static void CheckProduct(PoiseContext ctx, const Shape *left, const Shape *right, int k)
{
  int b = blocks[k].b, across = blocks[k].across, tiles = b || across == 1 ? b : 1;
  PoiseMat A, B, C = NULL;
  const void *val = NULL;
  if (!CHECK_OK(Make(ctx, left, b, b ? b : 1, 1, &A)) || !CHECK_OK(Make(ctx, right, tiles, across, 1, &B)))
    return;
  for (int scale = 1; scale <= 2; scale++) {
    Dense a = DenseOf(left, b, b ? b : 1, scale), d = DenseOf(right, tiles, across, scale),
          c = DenseProduct(&a, &d);
    if (scale > 1) CHECK_OK(Renew(A, left, b, b ? b : 1, scale));
    if (scale > 1) CHECK_OK(Renew(B, right, tiles, across, scale));
    if (CHECK_OK(PoiseMatMatMult(A, B, &C))) {
      CHECK(Is(C, &c));
      CheckBlocks(C, b ? b : 1, k);
      CHECK(poiseLayoutSame(C->rows, A->rows) && poiseLayoutSame(C->cols, B->cols));
      CHECK(scale == 1 || C->csr.val.host == val);
      val = C->csr.val.host;
    }
    DenseFree(&a), DenseFree(&d), DenseFree(&c);
  }
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&B);
  PoiseMatDestroy(&C);
}

static void TestProducts(PoiseContext ctx)
{
  for (int k = 0; k < LEFTS; k++)
    for (int b = 0; b < BLOCKS; b++) {
      Shape right = RightOf(&lefts[k], k);
      CheckProduct(ctx, &lefts[k], &right, b);
    }
}

static const Shape coarse[] = {{"even", 30, 8, 0.2, -1, 0, EVEN, EVEN, 21},
                               {"uneven", 41, 13, 0.1, 7, 5, UNEVEN, LAST, 22},
                               {"wide", 9, 20, 0.3, -1, 0, LAST, UNEVEN, 23},
                               {"no columns", 10, 0, 1, -1, 0, EVEN, EVEN, 24},
                               {"no rows", 0, 5, 1, -1, 0, EVEN, EVEN, 25}};
enum { COARSE = sizeof coarse / sizeof *coarse };

static Shape FineOf(const Shape *p)
{
  return (Shape){.m = p->m,
                 .n = p->m,
                 .density = 0.15,
                 .full = 3,
                 .rows = p->rows,
                 .cols = p->rows,
                 .seed = p->seed + 30};
}

static void CheckGalerkin(PoiseContext ctx, const Shape *shape, int k)
{
  int b = blocks[k].b, across = blocks[k].across, tiles = b || across == 1 ? b : 1;
  Shape fine = FineOf(shape);
  PoiseMat A, P, C = NULL;
  const void *val = NULL;
  if (!CHECK_OK(Make(ctx, &fine, b, b ? b : 1, 1, &A)) || !CHECK_OK(Make(ctx, shape, tiles, across, 1, &P)))
    return;
  for (int scale = 1; scale <= 2; scale++) {
    Dense a = DenseOf(&fine, b, b ? b : 1, scale), p = DenseOf(shape, tiles, across, scale),
          ap = DenseProduct(&a, &p), c = DenseGalerkin(ctx, shape, b, across, &p, &ap);
    if (scale > 1) CHECK_OK(Renew(A, &fine, b, b ? b : 1, scale));
    if (scale > 1) CHECK_OK(Renew(P, shape, tiles, across, scale));
    if (CHECK_OK(PoiseMatPtAP(A, P, &C))) {
      CHECK(Is(C, &c));
      CheckBlocks(C, across, k);
      CHECK(poiseLayoutSame(C->rows, P->cols) && poiseLayoutSame(C->cols, P->cols));
      CHECK(scale == 1 || C->csr.val.host == val);
      val = C->csr.val.host;
    }
    DenseFree(&a), DenseFree(&p), DenseFree(&ap), DenseFree(&c);
  }
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&P);
  PoiseMatDestroy(&C);
}

static void TestGalerkin(PoiseContext ctx)
{
  for (int k = 0; k < COARSE; k++)
    for (int b = 0; b < BLOCKS; b++) CheckGalerkin(ctx, &coarse[k], b);
}

/* ---- C that exists --------------------------------------------------------------------------- */

static const Shape some = {"some", 30, 24, 0.2, 4, 5, EVEN, EVEN, 71},
                   next = {"next", 24, 20, 0.2, -1, 0, EVEN, EVEN, 72};

/* Does the call give C the product of the shapes, with these scales? */
static bool Gives(PoiseMat A, PoiseMat B, double scale_a, double scale_b, PoiseMat *C)
{
  Dense a = DenseOf(&some, 0, 1, scale_a), b = DenseOf(&next, 0, 1, scale_b), c = DenseProduct(&a, &b);
  bool good = CHECK_OK(PoiseMatMatMult(A, B, C)) && CHECK(Is(*C, &c));
  DenseFree(&a), DenseFree(&b), DenseFree(&c);
  return good;
}

/* C of the caller's own, of other factors with the same patterns, and of a factor made anew where the old one
   was. */
static void TestExisting(PoiseContext ctx)
{
  PoiseMat A, A2, B, C = NULL, D;
  if (!CHECK_OK(Make(ctx, &some, 0, 1, 1, &A)) || !CHECK_OK(Make(ctx, &some, 0, 1, 2, &A2)) ||
      !CHECK_OK(Make(ctx, &next, 0, 1, 1, &B)))
    return;
  Gives(A, B, 1, 1, &C);
  CHECK_OK(PoiseMatDuplicate(C, 0, &D));
  int64_t pattern = D->pattern;
  Gives(A2, B, 2, 1, &D);
  Gives(A2, B, 2, 1, &D);
  CHECK_INT(D->pattern, pattern);
  Gives(A, B, 1, 1, &D);
  Gives(A2, B, 2, 1, &C);
  for (int scale = 3; scale < 6; scale++) {
    PoiseMatDestroy(&A);
    if (!CHECK_OK(Make(ctx, &some, 0, 1, scale, &A))) return;
    Gives(A, B, scale, 1, &C);
  }
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&A2);
  PoiseMatDestroy(&B);
  PoiseMatDestroy(&C);
  PoiseMatDestroy(&D);
}

/* The same of P^T A P, whose C has triplets on several ranks. */
static void TestExistingGalerkin(PoiseContext ctx)
{
  PoiseMat A, P, C = NULL, D;
  Shape fine = FineOf(&coarse[1]);
  if (!CHECK_OK(Make(ctx, &fine, 0, 1, 1, &A)) || !CHECK_OK(Make(ctx, &coarse[1], 0, 1, 1, &P))) return;
  CHECK_OK(PoiseMatPtAP(A, P, &C));
  CHECK_OK(PoiseMatDuplicate(C, 0, &D));
  for (int scale = 1; scale <= 2; scale++) {
    Dense a = DenseOf(&fine, 0, 1, scale), p = DenseOf(&coarse[1], 0, 1, 1), ap = DenseProduct(&a, &p),
          c = DenseGalerkin(ctx, &coarse[1], 0, 1, &p, &ap);
    CHECK_OK(Renew(A, &fine, 0, 1, scale));
    CHECK_OK(PoiseMatPtAP(A, P, &D));
    CHECK(Is(D, &c));
    DenseFree(&a), DenseFree(&p), DenseFree(&ap), DenseFree(&c);
  }
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&P);
  PoiseMatDestroy(&C);
  PoiseMatDestroy(&D);
}

/* Another pattern is refused by the ranks that see it, and C keeps its numbers. */
static void TestOtherPattern(PoiseContext ctx)
{
  PoiseMat A, B, C = NULL, D;
  PoiseInt last = some.m - 1, col = 0, n;
  const PoiseInt *cols;
  const double *v;
  double one = 1;
  bool mine = PoiseRank(ctx) == PoiseSize(ctx) - 1;
  if (!CHECK_OK(Make(ctx, &some, 0, 1, 1, &A)) || !CHECK_OK(Make(ctx, &next, 0, 1, 1, &B))) return;
  Gives(A, B, 1, 1, &C);
  CHECK_OK(PoiseMatDuplicate(C, 1, &D));
  if (mine) {
    CHECK_OK(PoiseMatGetRow(D, last, &n, &cols, &v));
    while (col < n && cols[col] == col) col++; /* a column that the row lacks */
    CHECK_OK(PoiseMatSetEntries(D, 1, &last, &col, &one));
  }
  CHECK_OK(PoiseMatAssemble(D));
  CHECK_ERR_OF(PoiseMatMatMult(A, B, &D), mine, POISE_ERR_ARG,
               "another pattern than the product: see row 29");
  CHECK(D != NULL);
  if (mine && CHECK_OK(PoiseMatGetRow(D, last, &n, &cols, &v)))
    for (PoiseInt k = 0; k < n; k++) CHECK(cols[k] != col || v[k] == 1);
  PoiseMatDestroy(&D);
  /* the factor's pattern changes, and so the product's */
  if (mine) CHECK_OK(PoiseMatSetEntries(A, 1, &last, &(PoiseInt){some.n - 1}, &one));
  if (mine) CHECK_OK(PoiseMatSetEntries(A, 1, &last, &(PoiseInt){some.n - 2}, &one));
  if (mine) CHECK_OK(PoiseMatSetEntries(A, 1, &last, &(PoiseInt){some.n - 3}, &one));
  CHECK_OK(PoiseMatAssemble(A));
  CHECK_ERR_OF(PoiseMatMatMult(A, B, &C), mine, POISE_ERR_ARG,
               "another pattern than the product: see row 29");
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&B);
  PoiseMatDestroy(&C);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void TestRefusals(PoiseContext ctx)
{
  static const Shape square = {"square", 12, 12, 0.3, -1, 0, EVEN, EVEN, 81},
                     moved = {"moved", 12, 12, 0.3, -1, 0, LAST, EVEN, 82};
  const PoiseShell shell = {.mult = SampleTwice};
  PoiseMat A, B, S, M, T, C = NULL, W;
  int several = PoiseSize(ctx) > 1;
  if (!CHECK_OK(Make(ctx, &square, 0, 1, 1, &A)) || !CHECK_OK(Make(ctx, &next, 0, 1, 1, &B)) ||
      !CHECK_OK(PoiseMatCreateShell(ctx, A->rows->n, A->cols->n, 12, 12, &shell, NULL, &S)) ||
      !CHECK_OK(Make(ctx, &moved, 0, 1, 1, &M)) || !CHECK_OK(Make(ctx, &square, 2, 2, 1, &T)) ||
      !CHECK_OK(PoiseMatCreate(ctx, A->cols->n, POISE_DECIDE, 12, 5, &W)))
    return;
  CHECK_ERR(PoiseMatMatMult(A, B, &C), POISE_ERR_SIZE, "A is 12 x 12, B is 24 x 20");
  CHECK_ERR(PoiseMatPtAP(A, B, &C), POISE_ERR_SIZE, "A is 12 x 12, P is 24 x 20");
  CHECK_ERR(PoiseMatPtAP(B, B, &C), POISE_ERR_SIZE, "24 x 20");
  CHECK_ERR(PoiseMatMatMult(A, S, &C), POISE_ERR_UNSUPPORTED, "shell");
  CHECK_ERR(PoiseMatPtAP(S, A, &C), POISE_ERR_UNSUPPORTED, "shell");
  CHECK_ERR(PoiseMatMatMult(A, W, &C), POISE_ERR_STATE, "not been assembled");
  CHECK_ERR(PoiseMatMatMult(A, A, &A), POISE_ERR_ARG, "C is a factor");
  CHECK_ERR(PoiseMatMatMult(A, A, &B), POISE_ERR_ARG, "C is 24 x 20");
  CHECK_ERR(PoiseMatMatMult(A, A, &S), POISE_ERR_UNSUPPORTED, "shell");
  if (several)
    SampleMismatch(PoiseMatMatMult(A, M, &C), A->cols->n != M->rows->n, POISE_ERR_SIZE, "columns and");
  CHECK(C == NULL);
  CHECK_OK(PoiseMatMatMult(T, T, &C));
  PoiseMatDestroy(&C);
  PoiseMatDestroy(&W);
  /* the sizes fit, the blocks do not */
  if (CHECK_OK(PoiseMatCreate(ctx, T->rows->n, T->rows->n, 24, 24, &W)) && CHECK_OK(PoiseMatAssemble(W)))
    CHECK_ERR(PoiseMatMatMult(T, W, &C), POISE_ERR_UNSUPPORTED, "blocks of 2 x 2 and of 1 x 1");
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&B);
  PoiseMatDestroy(&S);
  PoiseMatDestroy(&M);
  PoiseMatDestroy(&T);
  PoiseMatDestroy(&W);
}

static const Test tests[] = {{"products", TestProducts, 0},
                             {"galerkin", TestGalerkin, 0},
                             {"existing", TestExisting, 0},
                             {"existing_galerkin", TestExistingGalerkin, 0},
                             {"other_pattern", TestOtherPattern, 0},
                             {"refusals", TestRefusals, 0},
                             {NULL, NULL, 0}};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "matmul", tests);
}

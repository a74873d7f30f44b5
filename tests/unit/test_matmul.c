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
static PoiseErr Copy(PoiseMat T, const Entries *e, RowArrays *r)
{
  POISE_TRY(poiseAllocArray(T->ctx, e->m + 1, sizeof *r->ptr, "offsets", &r->ptr));
  POISE_TRY(poiseRowArraysReserve(T, e->nz, e->b * e->across, r));
  memcpy(r->ptr, e->ptr, (size_t)(e->m + 1) * sizeof *r->ptr);
  for (int64_t k = 0; k < e->nz; k++) poiseRowArraysPutColumn(r, k, e->col[k]);
  if (e->nz) memcpy(r->val, e->val, (size_t)(e->nz * e->b * e->across) * sizeof *r->val);
  return POISE_OK;
}

static PoiseErr TakeTiles(PoiseMat T, const Entries *e)
{
  RowArrays r = {.b = e->b};
  PoiseErr mine = Copy(T, e, &r);
  return poiseTilesTake(T, mine, e->b, e->across, &r, NULL);
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
  A->version.values++;
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
    {"full", 14, 40, 1, -1, 0, UNEVEN, UNEVEN, 7},   {"long", 5, 9, 1, -1, 0, EVEN, EVEN, 8},
    {"longer", 4, 9, 1, -1, 0, EVEN, UNEVEN, 9}};
enum { LEFTS = sizeof lefts / sizeof *lefts };

/* Columns of blocks of what they are multiplied by. */
static const PoiseInt widths[LEFTS] = {11, 19, 0, 11, 19, 0, 11, 50, 90};

static Shape RightOf(const Shape *left, int k)
{
  return (Shape){.m = left->n,
                 .n = widths[k],
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
} blocks[] = {{0, 1}, {1, 1}, {2, 2}, {2, 3}, {3, 3}, {6, 6}, {3, 6}, {4, 1}, {0, 3}};
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
  int64_t pattern = D->version.pattern;
  Gives(A2, B, 2, 1, &D);
  Gives(A2, B, 2, 1, &D);
  CHECK_INT(D->version.pattern, pattern);
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

/* What C keeps is of patterns: it stays where a factor is multiplied in another form. */
static void TestKept(PoiseContext ctx)
{
  static const char *const types[] = {"csri", "seg", "csr"};
  PoiseMat A, B, C = NULL;
  PoiseVec x, y;
  if (!CHECK_OK(Make(ctx, &some, 0, 1, 1, &A)) || !CHECK_OK(Make(ctx, &next, 0, 1, 1, &B))) return;
  CHECK_OK(PoiseMatCreateVecs(A, &x, &y));
  Gives(A, B, 1, 1, &C);
  const void *kept = C->multiplied;
  for (int k = 0; k < 3; k++) {
    int64_t before = A->version.product;
    CHECK_OK(PoiseMatSetType(A, types[k]));
    CHECK_OK(PoiseMatMult(A, x, y));
    CHECK(A->version.product > before);
    Gives(A, B, 1, 1, &C);
    CHECK(C->multiplied == kept);
  }
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&B);
  PoiseMatDestroy(&C);
}

/* As TestExisting, of P^T A P, whose C has triplets on several ranks. */
static void TestExistingGalerkin(PoiseContext ctx)
{
  PoiseMat A, P, C = NULL, D;
  Shape fine = FineOf(&coarse[1]);
  if (!CHECK_OK(Make(ctx, &fine, 0, 1, 1, &A)) || !CHECK_OK(Make(ctx, &coarse[1], 0, 1, 1, &P))) return;
  CHECK_OK(PoiseMatPtAP(A, P, &C));
  CHECK_OK(PoiseMatCreate(ctx, C->rows->n, C->cols->n, C->rows->N, C->cols->N, &D));
  CHECK_OK(PoiseMatAssemble(D));
  CHECK_OK(PoiseMatAXPY(D, 1, C)); /* its second pattern */
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
  /* as many entries, in other columns: the product has its entry in column 1, W in column 0 */
  PoiseMat U, V, W;
  PoiseInt zero = 0, first = 1;
  if (!CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, 1, 1, &U)) ||
      !CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, 1, 2, &V)) ||
      !CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, 1, 2, &W)))
    return;
  if (U->rows->n) CHECK_OK(PoiseMatSetEntries(U, 1, &zero, &zero, &one));
  if (U->rows->n) CHECK_OK(PoiseMatSetEntries(V, 1, &zero, &first, &one));
  if (U->rows->n) CHECK_OK(PoiseMatSetEntries(W, 1, &zero, &zero, &one));
  CHECK_OK(PoiseMatAssemble(U));
  CHECK_OK(PoiseMatAssemble(V));
  CHECK_OK(PoiseMatAssemble(W));
  CHECK_ERR_OF(PoiseMatMatMult(U, V, &W), U->rows->n > 0, POISE_ERR_ARG, "see row 0");
  PoiseMatDestroy(&U);
  PoiseMatDestroy(&V);
  PoiseMatDestroy(&W);
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

/* ---- larger ones ----------------------------------------------------------------------------- */

/* Rows of A and of A B around the lengths at which a GPU takes larger tables, and beyond the largest. So wide
   that a thread of the host has no place for each column. */
static const PoiseInt lengths[] = {0,   1,   15,  17,   31,   33,   64,   65,  127,
                                   129, 256, 300, 1025, 1100, 2047, 2049, 9000};
enum { LENGTHS = sizeof lengths / sizeof *lengths, HIGH = 20000, WIDE = 200000, FAR = 7919 };

/* Row i has lengths[i] entries; row j of B has two columns. */
static PoiseInt LongColumn(PoiseInt j, int e)
{
  return (j * (WIDE / HIGH) + e * FAR) % WIDE;
}

static PoiseErr MakeLong(PoiseContext ctx, bool left, PoiseMat *A)
{
  PoiseInt M = left ? LENGTHS : HIGH, N = left ? HIGH : WIDE, range[2];
  *A = NULL;
  SampleRange(ctx, EVEN, M, range);
  POISE_TRY(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, M, N, A));
  for (PoiseInt i = range[0]; i < range[1]; i++)
    for (PoiseInt k = 0; k < (left ? lengths[i] : 2); k++) {
      PoiseInt j = left ? k * (HIGH / lengths[i]) : LongColumn(i, (int)k);
      double v = TestRandom(left ? 5 : 6, (uint64_t)(i * WIDE + j));
      POISE_TRY(PoiseMatSetEntries(*A, 1, &i, &j, &v));
    }
  return PoiseMatAssemble(*A);
}

/* A's numbers are scaled by a power of 2. */
static void CheckLongRow(PoiseMat C, PoiseInt i, double scale)
{
  PoiseInt n, found = 0;
  const PoiseInt *cols;
  const double *v;
  double *sum = calloc(WIDE, sizeof *sum);
  bool *stored = calloc(WIDE, sizeof *stored), good = CHECK_OK(PoiseMatGetRow(C, i, &n, &cols, &v));
  for (PoiseInt k = 0; k < lengths[i]; k++) {
    PoiseInt row = k * (HIGH / lengths[i]);
    for (int e = 0; e < 2; e++) {
      PoiseInt j = LongColumn(row, e);
      volatile double product =
          TestRandom(5, (uint64_t)(i * WIDE + row)) * TestRandom(6, (uint64_t)(row * WIDE + j));
      sum[j] += product, stored[j] = true;
    }
  }
  for (PoiseInt j = 0; good && j < WIDE; j++) {
    if (!stored[j]) continue;
    good = found < n && cols[found] == j && SampleBits(v[found]) == SampleBits(scale * sum[j]);
    found++;
  }
  CHECK(good && found == n);
  free(sum), free(stored);
}

static void TestLongRows(PoiseContext ctx)
{
  PoiseMat A, B, C = NULL;
  if (!CHECK_OK(MakeLong(ctx, true, &A)) || !CHECK_OK(MakeLong(ctx, false, &B))) return;
  for (double scale = 1; scale <= 4 && CHECK_OK(PoiseMatMatMult(A, B, &C)); scale *= 2) {
    for (PoiseInt i = C->rows->begin; i < C->rows->begin + C->rows->n; i++) CheckLongRow(C, i, scale);
    CHECK_OK(PoiseMatScale(A, 2));
  }
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&B);
  PoiseMatDestroy(&C);
}

/* Rows enough for threads to share. Entry (i, j) is stored for some j around i N / M. */
static PoiseErr MakeNear(PoiseContext ctx, PoiseInt M, PoiseInt N, int width, uint64_t seed, PoiseMat *A)
{
  PoiseInt range[2];
  *A = NULL;
  SampleRange(ctx, EVEN, M, range);
  POISE_TRY(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, M, N, A));
  for (PoiseInt i = range[0]; i < range[1]; i++)
    for (PoiseInt k = 0; k < 5; k++) {
      PoiseInt j = i * N / M + (PoiseInt)(width * TestRandom(seed, (uint64_t)(i * 5 + k)));
      double v = TestRandom(seed + 1, (uint64_t)(i * 5 + k));
      if (j >= 0 && j < N) POISE_TRY(PoiseMatSetEntries(*A, 1, &i, &j, &v));
    }
  return PoiseMatAssemble(*A);
}

static PoiseErr MakeBand(PoiseContext ctx, PoiseInt M, PoiseInt N, uint64_t seed, PoiseMat *A)
{
  return MakeNear(ctx, M, N, 40, seed, A);
}

/* Bits of C's pattern and numbers on this rank */
static uint64_t Digest(PoiseMat C)
{
  PoiseInt n;
  const PoiseInt *cols;
  const double *v;
  uint64_t sum = 0;
  for (PoiseInt i = C->rows->begin; i < C->rows->begin + C->rows->n; i++) {
    if (!CHECK_OK(PoiseMatGetRow(C, i, &n, &cols, &v))) return 0;
    for (PoiseInt k = 0; k < n; k++)
      sum = (sum ^ SampleBits(v[k]) ^ (uint64_t)cols[k]) * UINT64_C(0x9e3779b97f4a7c15);
  }
  return sum;
}

static PoiseErr Bits(PoiseContext ctx, void *run)
{
  PoiseMat A, P, C[2] = {NULL, NULL};
  POISE_TRY(MakeBand(ctx, 2000, 2000, 91, &A));
  POISE_TRY(MakeBand(ctx, 2000, 700, 93, &P));
  POISE_TRY(PoiseMatMatMult(A, P, &C[0]));
  POISE_TRY(PoiseMatPtAP(A, P, &C[1]));
  for (int k = 0; k < 2; k++) {
    SampleKeep(ctx, run, Digest(C[k]));
    PoiseMatDestroy(&C[k]);
  }
  PoiseMatDestroy(&A);
  return PoiseMatDestroy(&P);
}

static void TestSameBits(PoiseContext ctx)
{
  (void)ctx;
  SampleSameBits(Bits);
}

static void CheckSame(PoiseMat A, PoiseMat B)
{
  PoiseInt n[2];
  const PoiseInt *cols[2];
  const double *v[2];
  bool good = true;
  for (PoiseInt i = A->rows->begin; good && i < A->rows->begin + A->rows->n; i++) {
    if (!CHECK_OK(PoiseMatGetRow(A, i, &n[0], &cols[0], &v[0])) ||
        !CHECK_OK(PoiseMatGetRow(B, i, &n[1], &cols[1], &v[1])))
      return;
    good = n[0] == n[1];
    for (PoiseInt k = 0; good && k < n[0]; k++)
      good = cols[0][k] == cols[1][k] && SampleBits(v[0][k]) == SampleBits(v[1][k]);
  }
  CHECK(good);
}

/* A I = A, I^T A I = A and (B^T A^T)^T = A B, to the last bit. */
static void TestIdentities(PoiseContext ctx)
{
  PoiseMat A, B, E, C = NULL, D = NULL, F = NULL, At, Bt, Ct;
  if (!CHECK_OK(MakeBand(ctx, 700, 700, 95, &A)) || !CHECK_OK(MakeBand(ctx, 700, 300, 96, &B))) return;
  CHECK_OK(PoiseMatCreate(ctx, A->cols->n, A->cols->n, 700, 700, &E));
  CHECK_OK(PoiseMatAssemble(E));
  CHECK_OK(PoiseMatShift(E, 1));
  if (CHECK_OK(PoiseMatMatMult(A, E, &D))) CheckSame(A, D);
  if (CHECK_OK(PoiseMatPtAP(A, E, &F))) CheckSame(A, F);
  CHECK_OK(PoiseMatMatMult(A, B, &C));
  CHECK_OK(PoiseMatTranspose(A, &At));
  CHECK_OK(PoiseMatTranspose(B, &Bt));
  PoiseMatDestroy(&D);
  if (CHECK_OK(PoiseMatMatMult(Bt, At, &D)) && CHECK_OK(PoiseMatTranspose(D, &Ct))) CheckSame(C, Ct);
  PoiseMat *all[] = {&A, &B, &E, &C, &D, &F, &At, &Bt, &Ct};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) PoiseMatDestroy(all[k]);
}

/* Rows: on a GPU so many that each has a thread, as each row of P^T (A P) on one rank. Most rows of C have
   some 10 columns, some have 60, and none; row 5 of A has `longest` entries. */
typedef struct Many {
  PoiseInt m, longest;
} Many;

/* Entry k of row i of A, or of B, which ascend; -1: there are no more. */
static PoiseInt ManyColumn(const Many *s, bool left, PoiseInt i, PoiseInt k)
{
  PoiseInt n = left ? (i == 5 ? s->longest : i % 97 == 0 ? 0 : i % 13 == 0 ? 90 : 7) : 1 + i % 4;
  PoiseInt step = left ? 1 + i % 3 : 1 + i % 7, most = left ? s->m : s->m / 3, first = left ? i : i / 3;
  if (k >= n) return -1;
  return (first < most - n * step ? first : most - n * step) + k * step;
}

static double ManyValue(bool left, PoiseInt i, PoiseInt k)
{
  return TestRandom(left ? 7 : 8, (uint64_t)(i * 4096 + k));
}

static PoiseErr MakeMany(PoiseContext ctx, const Many *s, bool left, PoiseMat *A)
{
  PoiseInt range[2];
  *A = NULL;
  SampleRange(ctx, EVEN, s->m, range);
  POISE_TRY(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, s->m, left ? s->m : s->m / 3, A));
  for (PoiseInt i = range[0]; i < range[1]; i++)
    for (PoiseInt k = 0, j; (j = ManyColumn(s, left, i, k)) >= 0; k++) {
      double v = ManyValue(left, i, k);
      POISE_TRY(PoiseMatSetEntries(*A, 1, &i, &j, &v));
    }
  return PoiseMatAssemble(*A);
}

/* sum and stored: one for each column, zero before and after */
static bool IsManyRow(PoiseMat C, const Many *s, PoiseInt i, double *sum, bool *stored)
{
  PoiseInt n, found = 0, row, j, least = s->m / 3, last = -1;
  const PoiseInt *cols;
  const double *v;
  bool good = CHECK_OK(PoiseMatGetRow(C, i, &n, &cols, &v));
  for (PoiseInt k = 0; (row = ManyColumn(s, true, i, k)) >= 0; k++)
    for (PoiseInt e = 0; (j = ManyColumn(s, false, row, e)) >= 0; e++) {
      volatile double product = ManyValue(true, i, k) * ManyValue(false, row, e);
      sum[j] += product, stored[j] = true;
      if (j < least) least = j;
      if (j > last) last = j;
    }
  for (j = least; j <= last; j++) {
    if (stored[j]) {
      good = good && found < n && cols[found] == j && SampleBits(v[found]) == SampleBits(sum[j]);
      found++;
    }
    sum[j] = 0, stored[j] = false;
  }
  return good && found == n;
}

static void CheckMany(PoiseContext ctx, const Many *s)
{
  PoiseMat A, B, C = NULL, D = NULL, E = NULL, Bt;
  double *sum = calloc((size_t)s->m / 3, sizeof *sum);
  bool *stored = calloc((size_t)s->m / 3, sizeof *stored), good = true;
  if (!CHECK_OK(MakeMany(ctx, s, true, &A)) || !CHECK_OK(MakeMany(ctx, s, false, &B))) return;
  CHECK_OK(PoiseMatMatMult(A, B, &C));
  for (PoiseInt i = C->rows->begin; good && i < C->rows->begin + C->rows->n; i++)
    good = IsManyRow(C, s, i, sum, stored);
  CHECK(good);
  CHECK_OK(PoiseMatTranspose(B, &Bt));
  CHECK_OK(PoiseMatMatMult(Bt, C, &D));
  CHECK_OK(PoiseMatPtAP(A, B, &E));
  if (PoiseSize(ctx) == 1) CheckSame(D, E);
  PoiseMat *all[] = {&A, &B, &C, &D, &E, &Bt};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) PoiseMatDestroy(all[k]);
  free(sum), free(stored);
}

static void TestManyRows(PoiseContext ctx)
{
  int size = PoiseSize(ctx);
  PoiseInt m = (size == 1 ? 800 : 300 * size) * (PoiseInt)ctx->device->model.multiprocessors;
  if (m < 12000) m = 12000;
  for (PoiseInt longest = 7; longest <= 4007; longest += 4000) CheckMany(ctx, &(Many){m, longest});
}

/* NaN spreads to the entries that it is a factor of; those that C held do not stay. */
static void TestNaN(PoiseContext ctx)
{
  PoiseMat A, B, C = NULL;
  double *val;
  if (!CHECK_OK(Make(ctx, &some, 0, 1, 1, &A)) || !CHECK_OK(Make(ctx, &next, 0, 1, 1, &B))) return;
  Gives(A, B, 1, 1, &C);
  CHECK_OK(PoiseMatScale(A, NAN));
  CHECK_OK(PoiseMatMatMult(A, B, &C));
  CHECK_OK(poiseBufferRead(&C->csr.val, HOST, &val));
  for (int64_t k = 0; k < C->csr.nz; k++) CHECK(isnan(val[k]));
  CHECK_OK(Renew(A, &some, 0, 1, 2));
  Gives(A, B, 2, 1, &C);
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&B);
  PoiseMatDestroy(&C);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static PoiseErr Both(PoiseMat A, PoiseMat P, PoiseMat *C, PoiseMat *D)
{
  for (int turn = 0; turn < 2; turn++) {
    POISE_TRY(PoiseMatMatMult(A, P, C));
    POISE_TRY(PoiseMatPtAP(A, P, D));
  }
  return POISE_OK;
}

static PoiseErr Use(PoiseContext ctx, void *blocks_of)
{
  PoiseMat A = NULL, P = NULL, C = NULL, D = NULL;
  int k = *(int *)blocks_of, b = blocks[k].b, across = blocks[k].across, tiles = b || across == 1 ? b : 1;
  Shape fine = FineOf(&coarse[0]);
  PoiseErr e = Make(ctx, &fine, b, b ? b : 1, 1, &A);
  if (!e) e = Make(ctx, &coarse[0], tiles, across, 1, &P);
  if (!e) e = Both(A, P, &C, &D);
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&P);
  PoiseMatDestroy(&C);
  PoiseMatDestroy(&D);
  return e;
}

static void TestMemory(PoiseContext ctx)
{
  int k = PoiseSize(ctx) % 2 ? 2 : 7; /* blocks; scalars and tiles */
  TestAllocationFailures(ctx, Use, &k);
}

/* PoiseMatBytes counts what C keeps. */
static void TestBytes(PoiseContext ctx)
{
  PoiseMat A, P, C = NULL;
  PoiseBytes held;
  if (!CHECK_OK(MakeBand(ctx, 2000, 2000, 91, &A)) || !CHECK_OK(MakeBand(ctx, 2000, 700, 93, &P))) return;
  CHECK_OK(PoiseMatPtAP(A, P, &C));
  CHECK_OK(PoiseMatBytes(C, &held, NULL));
  int64_t live = ctx->memory.bytes;
  PoiseMatDestroy(&C);
  live -= ctx->memory.bytes;
  CHECK(held.host <= live && live < held.host + held.host / 20 + 16384);
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&P);
}

/* Of what is made on a device, the host gets what is at the ranks' boundaries: less than a byte an entry. */
static void TestStays(PoiseContext ctx)
{
  PoiseMat A, P, Q = NULL, C = NULL, D = NULL;
  bool away = SampleIsAway(ctx);
  if (!CHECK_OK(MakeNear(ctx, 20000, 20000, 5, 91, &A)) || !CHECK_OK(MakeNear(ctx, 20000, 9000, 5, 93, &P)))
    return;
  CHECK_OK(PoiseMatMatMult(A, P, &Q)); /* whose pattern the host never saw */
  int64_t before = ctx->device->copied[COPY_TO_HOST], between;
  CHECK_OK(PoiseMatMatMult(A, Q, &C));
  between = ctx->device->copied[COPY_TO_HOST];
  CHECK(!away || between - before < C->csr.nz);
  CHECK_OK(PoiseMatPtAP(A, Q, &D));
  CHECK(!away || ctx->device->copied[COPY_TO_HOST] - between < D->csr.nz);
  PoiseMat *all[] = {&A, &P, &Q, &C, &D};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) PoiseMatDestroy(all[k]);
}

static const Test tests[] = {{"products", TestProducts, 0},
                             {"galerkin", TestGalerkin, 0},
                             {"existing", TestExisting, 0},
                             {"kept", TestKept, 0},
                             {"existing_galerkin", TestExistingGalerkin, 0},
                             {"other_pattern", TestOtherPattern, 0},
                             {"refusals", TestRefusals, 0},
                             {"long_rows", TestLongRows, 0},
                             {"same_bits", TestSameBits, TEST_SERIAL | TEST_HOST_ONLY},
                             {"identities", TestIdentities, 0},
                             {"many_rows", TestManyRows, 0},
                             {"nan", TestNaN, 0},
                             {"memory", TestMemory, 0},
                             {"bytes", TestBytes, 0},
                             {"stays", TestStays, 0},
                             {NULL, NULL, 0}};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "matmul", tests);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Products of matrices. A reference adds the products of an entry one by one, in the order of the rows'
  entries and, for P^T A P, of the ranks: C must have its bits. The pattern is compared too.
*/
#include "harness.h"
#include "mat/mat.h"
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

/* bcsr of b x b blocks, or csr if b is 0. */
static PoiseErr Make(PoiseContext ctx, const Shape *s, int b, double scale, PoiseMat *A)
{
  PoiseInt side = b ? b : 1, rows[2] = {0}, m = Local(ctx, s->rows, s->m), n = Local(ctx, s->cols, s->n);
  *A = NULL;
  SampleRange(ctx, s->rows, s->m, rows);
  size_t most = (size_t)((rows[1] - rows[0]) * s->n) + 1;
  int64_t *ptr = calloc((size_t)(rows[1] - rows[0]) + 1, sizeof *ptr), *col = calloc(most, sizeof *col),
          nz = 0;
  double *val = calloc(most * (size_t)(side * side), sizeof *val);
  for (PoiseInt i = rows[0]; i < rows[1]; i++) {
    for (PoiseInt j = 0; j < s->n; j++) {
      if (!Stored(s, i, j)) continue;
      for (PoiseInt k = 0; k < side * side; k++)
        val[nz * side * side + k] = Value(s, i * side + k % side, j * side + k / side, scale);
      col[nz++] = j;
    }
    ptr[i - rows[0] + 1] = nz;
  }
  PoiseCSR csr = {.ptr64 = ptr, .col64 = col, .val = val};
  PoiseBCSR bcsr = {.ptr64 = ptr, .col64 = col, .val = val};
  PoiseErr e = b ? PoiseMatCreateBCSR(ctx, b, m * b, n * b, s->m * b, s->n * b, &bcsr, POISE_COPY, A)
                 : PoiseMatCreateCSR(ctx, m, n, s->m, s->n, &csr, POISE_COPY, A);
  free(ptr), free(col), free(val);
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

static Dense DenseOf(const Shape *s, int b, double scale)
{
  PoiseInt side = b ? b : 1;
  Dense d = DenseNew(s->m * side, s->n * side);
  for (PoiseInt i = 0; i < d.m; i++)
    for (PoiseInt j = 0; j < d.n; j++) {
      d.stored[i * d.n + j] = Stored(s, i / side, j / side);
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
static Dense DenseGalerkin(PoiseContext ctx, const Shape *p, int b, const Dense *dp, const Dense *ap)
{
  int size = PoiseSize(ctx);
  PoiseInt side = b ? b : 1, sizes[2] = {Local(ctx, p->rows, p->m) * side, Local(ctx, p->cols, p->n) * side};
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

/* Has A these entries, and their bits? */
static bool Is(PoiseMat A, const Dense *d)
{
  PoiseInt begin = A->rows->begin, n;
  const PoiseInt *cols;
  const double *v;
  bool good = CHECK_INT(A->rows->N, d->m) && CHECK_INT(A->cols->N, d->n);
  for (PoiseInt i = begin; good && i < begin + A->rows->n; i++) {
    PoiseInt k = 0;
    if (!CHECK_OK(PoiseMatGetRow(A, i, &n, &cols, &v))) return false;
    for (PoiseInt j = 0; j < d->n; j++) {
      if (!d->stored[i * d->n + j]) continue;
      good = good && k < n && cols[k] == j && SampleBits(v[k]) == SampleBits(d->v[i * d->n + j]);
      k++;
    }
    good = good && k == n;
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

static const int sides[] = {0, 1, 2, 3, 6};
enum { SIDES = sizeof sides / sizeof *sides };

static void CheckProduct(PoiseContext ctx, const Shape *left, const Shape *right, int b)
{
  PoiseMat A, B, C = NULL;
  if (!CHECK_OK(Make(ctx, left, b, 1, &A)) || !CHECK_OK(Make(ctx, right, b, 1, &B))) return;
  Dense a = DenseOf(left, b, 1), d = DenseOf(right, b, 1), c = DenseProduct(&a, &d);
  if (CHECK_OK(PoiseMatMatMult(A, B, &C))) {
    CHECK(Is(C, &c));
    CHECK_INT(C->csr.b, b);
    CHECK(poiseLayoutSame(C->rows, A->rows) && poiseLayoutSame(C->cols, B->cols));
  }
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&B);
  PoiseMatDestroy(&C);
  DenseFree(&a), DenseFree(&d), DenseFree(&c);
}

static void TestProducts(PoiseContext ctx)
{
  for (int k = 0; k < LEFTS; k++)
    for (int b = 0; b < SIDES; b++) {
      Shape right = RightOf(&lefts[k], k);
      CheckProduct(ctx, &lefts[k], &right, sides[b]);
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

static void CheckGalerkin(PoiseContext ctx, const Shape *shape, int b)
{
  Shape fine = FineOf(shape);
  PoiseMat A, P, C = NULL;
  if (!CHECK_OK(Make(ctx, &fine, b, 1, &A)) || !CHECK_OK(Make(ctx, shape, b, 1, &P))) return;
  for (int turn = 0; turn < 2; turn++) { /* then with new numbers */
    double scale = 1 + turn;
    Dense a = DenseOf(&fine, b, scale), p = DenseOf(shape, b, scale), ap = DenseProduct(&a, &p),
          c = DenseGalerkin(ctx, shape, b, &p, &ap);
    if (turn) CHECK_OK(PoiseMatScale(A, 1)); /* a change of nothing */
    if (turn) {
      PoiseMat other;
      const double *v;
      CHECK_OK(Make(ctx, &fine, b, scale, &other));
      CHECK_OK(poiseBufferRead(&other->csr.val, HOST, &v));
      CHECK_OK(b ? PoiseMatSetValuesBCSR(A, 0, v) : PoiseMatSetValuesCSR(A, v));
      PoiseMatDestroy(&other);
      CHECK_OK(Make(ctx, shape, b, scale, &other));
      CHECK_OK(poiseBufferRead(&other->csr.val, HOST, &v));
      CHECK_OK(b ? PoiseMatSetValuesBCSR(P, 0, v) : PoiseMatSetValuesCSR(P, v));
      PoiseMatDestroy(&other);
    }
    if (CHECK_OK(PoiseMatPtAP(A, P, &C))) {
      CHECK(Is(C, &c));
      CHECK_INT(C->csr.b, b);
      CHECK(poiseLayoutSame(C->rows, P->cols) && poiseLayoutSame(C->cols, P->cols));
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
    for (int b = 0; b < SIDES; b++) CheckGalerkin(ctx, &coarse[k], sides[b]);
}

static const Test tests[] = {{"products", TestProducts, 0}, {"galerkin", TestGalerkin, 0}, {NULL, NULL, 0}};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "matmul", tests);
}

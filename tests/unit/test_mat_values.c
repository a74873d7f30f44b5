/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Operations on the values of a matrix that lives on a device. The values stay there, and have the bits of
  plain loops over the rows, on any device and number of ranks.
*/
#include "mat/assembly/triplets.h"
#include "mat/csr/replace_values.h"
#include "mat/csr/entries.h"
#include "mat/product/hubs_kernels.h"
#include "mat/product/row_blocks.h"
#include "sample.h"

enum { N = 10007, OFFSETS = 5 }; /* more row blocks than one thread takes */

static const PoiseInt offset[OFFSETS] = {-1500, -1, 0, 1, 777};

static double X(PoiseInt i)
{
  return TestRandom(1, (uint64_t)i);
}

static double B(PoiseInt i)
{
  return TestRandom(2, (uint64_t)i);
}

static double Left(PoiseInt i)
{
  return TestRandom(3, (uint64_t)i);
}

static double Right(PoiseInt i)
{
  return TestRandom(4, (uint64_t)i);
}

static bool HasDiagonal(PoiseInt i, int whole)
{
  return whole || i % 11;
}

typedef struct Rows { /* what this rank should have */
  PoiseInt begin, m;
  int64_t *ptr;
  PoiseInt *col;
  double *val, *b;
} Rows;

typedef double (*OfIndex)(PoiseInt i);

/* On the device, where operations are to leave it. */
static bool Make(PoiseContext ctx, int whole, PoiseOwn own, PoiseMat *A, Rows *r)
{
  PoiseInt m;
  int64_t nz = 0;
  *r = (Rows){0};
  PoiseSplit(ctx, N, &r->begin, &r->m);
  m = r->m;
  r->ptr = calloc((size_t)m + 1, sizeof *r->ptr);
  r->col = calloc((size_t)m * OFFSETS + 1, sizeof *r->col);
  r->val = calloc((size_t)m * OFFSETS + 1, sizeof *r->val);
  r->b = calloc((size_t)m + 1, sizeof *r->b);
  for (PoiseInt i = 0; i < m; i++) {
    r->b[i] = B(r->begin + i);
    for (int k = 0; k < OFFSETS; k++) {
      PoiseInt j = r->begin + i + offset[k];
      if (j < 0 || j >= N || (j == r->begin + i && !HasDiagonal(j, whole))) continue;
      r->col[nz] = j;
      r->val[nz] = TestRandom(5, (uint64_t)((r->begin + i) * OFFSETS + k));
      nz++;
    }
    r->ptr[i + 1] = nz;
  }
  ctx->device->threads = 3;
  if (!CHECK_OK(PoiseMatCreateCSR(ctx, m, m, N, N,
                                  &(PoiseCSR){.ptr64 = r->ptr, .col64 = r->col, .val = r->val}, own, A)))
    return false;
  PoiseVec x, y; /* a product brings all that products need */
  if (!CHECK_OK(PoiseMatCreateVecs(*A, &x, &y))) return false;
  CHECK_OK(PoiseMatMult(*A, x, y));
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseVecDestroy(&y));
  return true;
}

static void Release(PoiseMat *A, Rows *r)
{
  CHECK_OK(PoiseMatDestroy(A));
  free(r->ptr), free(r->col), free(r->val), free(r->b);
}

static void Same(PoiseMat A, const Rows *r)
{
  int64_t *ptr, *col, wrong = 0;
  double *val;
  if (!CHECK_OK(PoiseMatCopyCSR(A, &ptr, &col, &val))) return;
  if (CHECK(!memcmp(ptr, r->ptr, (size_t)(r->m + 1) * sizeof *ptr)))
    for (int64_t k = 0; k < r->ptr[r->m]; k++)
      wrong += col[k] != r->col[k] || memcmp(&val[k], &r->val[k], sizeof *val) != 0;
  CHECK_INT(wrong, 0);
  free(ptr), free(col), free(val);
  CHECK_OK(poiseMatReady(A));
}

static void SameVec(PoiseVec b, const Rows *r)
{
  const double *p;
  if (!CHECK_OK(PoiseVecGetRead(b, &p))) return;
  CHECK(!r->m || !memcmp(p, r->b, (size_t)r->m * sizeof *p));
  CHECK_OK(PoiseVecRestore(b, &p));
}

/* ---- what travels ---------------------------------------------------------------------------- */

static int64_t Moved(PoiseContext ctx)
{
  return ctx->device->copied[COPY_TO_DEVICE] + ctx->device->copied[COPY_TO_HOST];
}

static int64_t Tables(PoiseMat A) /* bytes that say where entries of a link go, to ghosts and back */
{
  const Halo *h = A->csr.halo;
  if (!h || !h->link || !(h->nghost + h->nsend)) return 0;
  return ((int64_t)sizeof(LinkTarget) + 12) * (h->ex.nsend + h->ex.nrecv) + 2 * 8;
}

static int64_t Staged(PoiseMat A) /* bytes that one exchange stages through the host */
{
  const Halo *h = A->csr.halo;
  return h ? 8 * (h->nghost + h->nsend) : 0;
}

enum { SCALAR = 8 };

/* The call moves at most so many bytes between host and device. */
#define CHECK_MOVES(A, call, most)                                   \
  do {                                                               \
    int64_t before_ = Moved((A)->ctx), state_ = (A)->version.values; \
    CHECK_OK(call);                                                  \
    CHECK(Moved((A)->ctx) - before_ <= (most));                      \
    CHECK((A)->version.values > state_);                             \
  } while (0)

/* ---- scaling and the diagonal ---------------------------------------------------------------- */

static void ScaleRows(Rows *r, double a, bool left, bool right)
{
  for (PoiseInt i = 0; i < r->m; i++)
    for (int64_t k = r->ptr[i]; k < r->ptr[i + 1]; k++) {
      r->val[k] *= a;
      if (left) r->val[k] *= Left(r->begin + i);
      if (right) r->val[k] *= Right(r->col[k]);
    }
}

static void ChangeDiagonal(Rows *r, bool set, OfIndex f, double a)
{
  for (PoiseInt i = 0; i < r->m; i++)
    for (int64_t k = r->ptr[i]; k < r->ptr[i + 1]; k++)
      if (r->col[k] == r->begin + i) r->val[k] = set ? f(r->col[k]) : r->val[k] + (f ? f(r->col[k]) : a);
}

static void TestScaling(PoiseContext ctx)
{
  PoiseMat A;
  PoiseVec l, r;
  Rows rows;
  if (!Make(ctx, 1, POISE_COPY, &A, &rows) || !CHECK_OK(PoiseMatCreateVecs(A, &r, &l))) return;
  SampleSet(l, Left), SampleSet(r, Right);
  CHECK_OK(PoiseVecScale(l, 1)), CHECK_OK(PoiseVecScale(r, 1)); /* on the device */
  CHECK_MOVES(A, PoiseMatScale(A, 1.7), 0);
  ScaleRows(&rows, 1.7, false, false);
  CHECK_MOVES(A, PoiseMatDiagonalScale(A, l, NULL), 0);
  ScaleRows(&rows, 1, true, false);
  CHECK_MOVES(A, PoiseMatDiagonalScale(A, NULL, r), Staged(A));
  ScaleRows(&rows, 1, false, true);
  CHECK_MOVES(A, PoiseMatDiagonalScale(A, l, r), Staged(A));
  ScaleRows(&rows, 1, true, true);
  CHECK_MOVES(A, PoiseMatShift(A, 0.3), SCALAR);
  ChangeDiagonal(&rows, false, NULL, 0.3);
  CHECK_MOVES(A, PoiseMatAddDiagonal(A, l), SCALAR);
  ChangeDiagonal(&rows, false, Left, 0);
  CHECK_MOVES(A, PoiseMatSetDiagonal(A, r), SCALAR);
  ChangeDiagonal(&rows, true, Right, 0);
  Same(A, &rows);
  CHECK_OK(PoiseVecDestroy(&l));
  CHECK_OK(PoiseVecDestroy(&r));
  Release(&A, &rows);
}

/* Rows without a diagonal entry get one, the others change once. */
static void TestMissingDiagonal(PoiseContext ctx)
{
  PoiseMat A;
  Rows rows;
  int64_t *ptr, *col, wrong = 0, k = 0, out = 0;
  double *val;
  if (!Make(ctx, 0, POISE_COPY, &A, &rows)) return;
  int64_t pattern = A->version.pattern;
  CHECK_OK(PoiseMatShift(A, 3));
  CHECK(A->version.pattern > pattern);
  if (CHECK_OK(PoiseMatCopyCSR(A, &ptr, &col, &val))) {
    for (PoiseInt i = 0; i < rows.m; i++)
      for (; out < ptr[i + 1]; out++) {
        bool diagonal = col[out] == rows.begin + i;
        bool fresh = diagonal && !HasDiagonal(col[out], 0);
        double expected = fresh ? 3 : diagonal ? rows.val[k] + 3 : rows.val[k];
        wrong += val[out] != expected || (!fresh && col[out] != rows.col[k]);
        k += !fresh;
      }
    CHECK_INT(wrong, 0);
    CHECK_INT(k, rows.ptr[rows.m]);
    free(ptr), free(col), free(val);
  }
  Release(&A, &rows);
}

/* ---- norms ----------------------------------------------------------------------------------- */

static void TestNorms(PoiseContext ctx)
{
  PoiseMat A;
  Rows rows;
  double norm, largest = 0, squares = 0, *columns = calloc(N, sizeof *columns), one = 0;
  if (!Make(ctx, 1, POISE_COPY, &A, &rows)) return;
  for (PoiseInt i = 0; i < rows.m; i++) {
    double s = 0;
    for (int64_t k = rows.ptr[i]; k < rows.ptr[i + 1]; k++) {
      s += fabs(rows.val[k]), squares += rows.val[k] * rows.val[k];
      columns[rows.col[k]] += fabs(rows.val[k]);
    }
    largest = fmax(largest, s);
  }
  for (PoiseInt j = 0; j < N; j += POISE_COMM_WIDTH)
    CHECK_OK(PoiseSum(ctx, (int)(N - j < POISE_COMM_WIDTH ? N - j : POISE_COMM_WIDTH), columns + j));
  for (PoiseInt j = 0; j < N; j++) one = fmax(one, columns[j]);
  CHECK_OK(PoiseMax(ctx, 1, &largest));
  CHECK_OK(PoiseSum(ctx, 1, &squares));
  CHECK_OK(PoiseMatNorm(A, POISE_NORM_1, &norm)); /* makes an index of the entries by column */
  int64_t moved = Moved(ctx);
  CHECK_OK(PoiseMatNorm(A, POISE_NORM_1, &norm));
  CHECK_NEAR(norm, one, 1e-14 * one);
  CHECK(Moved(ctx) - moved <= SCALAR + Staged(A));
  moved = Moved(ctx);
  CHECK_OK(PoiseMatNorm(A, POISE_NORM_INF, &norm));
  CHECK(norm == largest);
  CHECK_OK(PoiseMatNorm(A, POISE_NORM_FROBENIUS, &norm));
  CHECK_NEAR(norm * norm, squares, 1e-13 * squares);
  CHECK(Moved(ctx) - moved <= 2 * SCALAR);
  if (PoiseRank(ctx) == PoiseSize(ctx) - 1 && rows.m) rows.val[rows.ptr[rows.m] - 1] = NAN;
  CHECK_OK(PoiseMatSetValuesCSR(A, rows.val));
  static const PoiseNorm all[] = {POISE_NORM_1, POISE_NORM_INF, POISE_NORM_FROBENIUS};
  for (int k = 0; k < 3; k++) {
    CHECK_OK(PoiseMatNorm(A, all[k], &norm));
    CHECK(isnan(norm));
  }
  free(columns);
  Release(&A, &rows);
}

/* ---- sums, copies, transposes ---------------------------------------------------------------- */

static void AddRows(Rows *y, double a, const Rows *x)
{
  for (int64_t k = 0; k < y->ptr[y->m]; k++) y->val[k] += a * x->val[k];
}

static Rows CopyRows(const Rows *r)
{
  Rows copy = {.begin = r->begin, .m = r->m};
  int64_t nz = r->ptr[r->m];
  copy.ptr = calloc((size_t)r->m + 1, sizeof *r->ptr);
  copy.col = calloc((size_t)nz + 2, sizeof *r->col);
  copy.val = calloc((size_t)nz + 2, sizeof *r->val);
  copy.b = calloc((size_t)r->m + 1, sizeof *r->b);
  memcpy(copy.ptr, r->ptr, (size_t)(r->m + 1) * sizeof *r->ptr);
  if (nz)
    memcpy(copy.col, r->col, (size_t)nz * sizeof *r->col),
        memcpy(copy.val, r->val, (size_t)nz * sizeof *r->val);
  return copy;
}

static bool FromRows(PoiseContext ctx, const Rows *r, PoiseMat *A)
{
  PoiseCSR csr = {.ptr64 = r->ptr, .col64 = r->col, .val = r->val};
  return CHECK_OK(PoiseMatCreateCSR(ctx, r->m, r->m, N, N, &csr, POISE_COPY, A)) &&
         CHECK_OK(poiseMatReady(*A));
}

/* Matrices of one pattern, though nobody said that it is one. Factors are powers of 2, so that no device
   rounds otherwise. */
static void TestSums(PoiseContext ctx)
{
  PoiseMat Y, X, W;
  Rows y, x;
  if (!Make(ctx, 1, POISE_COPY, &Y, &y) || !Make(ctx, 1, POISE_COPY, &X, &x)) return;
  CHECK_OK(PoiseMatScale(X, 0.7));
  ScaleRows(&x, 0.7, false, false);
  int64_t pattern = Y->version.pattern, kept = X->version.values;
  CHECK_MOVES(Y, PoiseMatAXPY(Y, -2, X), SCALAR);
  AddRows(&y, -2, &x);
  CHECK_MOVES(Y, PoiseMatAXPY(Y, 1, Y), SCALAR);
  AddRows(&y, 1, &y);
  CHECK_INT(Y->version.pattern, pattern);
  CHECK_INT(X->version.values, kept);
  Same(Y, &y);
  Same(X, &x);
  for (int64_t k = 0; k < x.ptr[x.m]; k++) x.val[k] = NAN;
  if (!FromRows(ctx, &x, &W)) return;
  CHECK_MOVES(Y, PoiseMatAXPY(Y, 0, W), SCALAR); /* as for vectors */
  Same(Y, &y);
  CHECK_MOVES(Y, PoiseMatAXPY(Y, 0.5, W), SCALAR);
  int64_t *ptr, *col, wrong = 0;
  double *val;
  if (CHECK_OK(PoiseMatCopyCSR(Y, &ptr, &col, &val))) {
    for (int64_t k = 0; k < y.ptr[y.m]; k++) wrong += !isnan(val[k]);
    free(ptr), free(col), free(val);
  }
  CHECK_INT(wrong, 0);
  CHECK_OK(PoiseMatDestroy(&W));
  Release(&X, &x);
  Release(&Y, &y);
}

/* As many entries, but one of the last rank's first row is in another column; on several ranks it is a ghost,
   and the only difference is whose. Ranks whose patterns are alike go along. */
static void TestOtherPattern(PoiseContext ctx)
{
  PoiseMat Y, X;
  Rows y, x;
  if (!Make(ctx, 1, POISE_COPY, &Y, &y)) return;
  x = CopyRows(&y);
  bool last = y.m && y.begin + y.m == N;
  int64_t at = last && !y.begin ? y.ptr[1] - 1 : 0, nz = y.ptr[y.m], pattern = Y->version.pattern;
  if (last) x.col[at]--; /* there is none */
  for (int64_t k = 0; k < nz; k++) x.val[k] = TestRandom(8, (uint64_t)k);
  if (!FromRows(ctx, &x, &X)) return;
  CHECK_OK(PoiseMatAXPY(Y, 2, X));
  CHECK(Y->version.pattern > pattern);
  Rows sum = CopyRows(&y);
  AddRows(&sum, 2, &x);
  if (last) {
    memmove(sum.col + at + 1, sum.col + at, (size_t)(nz - at) * sizeof *sum.col);
    memmove(sum.val + at + 1, sum.val + at, (size_t)(nz - at) * sizeof *sum.val);
    sum.col[at] = x.col[at], sum.val[at] = 2 * x.val[at];
    sum.val[at + 1] = y.val[at];
    for (PoiseInt i = 1; i <= sum.m; i++) sum.ptr[i]++;
  }
  Same(Y, &sum);
  PoiseMat none = NULL;
  Release(&none, &sum);
  Release(&X, &x);
  Release(&Y, &y);
}

static void TestDuplicates(PoiseContext ctx)
{
  PoiseMat A, B;
  PoiseVec x, y;
  Rows rows;
  if (!Make(ctx, 1, POISE_COPY, &A, &rows) || !CHECK_OK(PoiseMatCreateVecs(A, &x, &y))) return;
  SampleSet(x, X);
  CHECK_OK(PoiseMatMult(A, x, y));
  uint64_t product = SampleDigest(y);
  for (int where = 0; where < 2; where++) { /* A's values are on the device; then on the host */
    PoiseInt row = rows.begin;
    if (where && rows.m) CHECK_OK(PoiseMatSetEntries(A, 1, &row, &row, &(double){4}));
    if (where) CHECK_OK(PoiseMatAssemble(A));
    for (int64_t k = 0; where && rows.m && k < rows.ptr[1]; k++)
      if (rows.col[k] == row) rows.val[k] = 4;
    int64_t moved = Moved(ctx);
    if (!CHECK_OK(PoiseMatDuplicate(A, 1, &B))) return;
    CHECK_INT(Moved(ctx), moved + Tables(B));
    if (!where) CHECK_OK(PoiseMatMult(B, x, y));
    if (!where) CHECK(SampleDigest(y) == product);
    CHECK_MOVES(B, PoiseMatAXPY(B, -1, A), SCALAR + (where ? 2 * 8 * rows.ptr[rows.m] : 0));
    CHECK_OK(PoiseMatAXPY(B, 1, A));
    Same(B, &rows);
    CHECK_OK(PoiseMatDestroy(&B));
    Same(A, &rows);
  }
  int64_t moved = Moved(ctx);
  if (!CHECK_OK(PoiseMatDuplicate(A, 0, &B))) return;
  CHECK_INT(Moved(ctx), moved + Tables(B));
  ScaleRows(&rows, 0, false, false);
  for (int64_t k = 0; k < rows.ptr[rows.m]; k++) rows.val[k] = 0; /* not -0 */
  Same(B, &rows);
  CHECK_OK(PoiseMatDestroy(&B));
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseVecDestroy(&y));
  Release(&A, &rows);
}

/* Row i of A^T: columns j with i = j + an offset. */
static Rows TransposeRows(const Rows *r, int whole)
{
  Rows t = {.begin = r->begin, .m = r->m};
  int64_t nz = 0;
  t.ptr = calloc((size_t)r->m + 1, sizeof *t.ptr);
  t.col = calloc((size_t)r->m * OFFSETS + 1, sizeof *t.col);
  t.val = calloc((size_t)r->m * OFFSETS + 1, sizeof *t.val);
  t.b = calloc((size_t)r->m + 1, sizeof *t.b);
  for (PoiseInt i = 0; i < t.m; i++) {
    for (int k = OFFSETS - 1; k >= 0; k--) {
      PoiseInt j = t.begin + i - offset[k];
      if (j < 0 || j >= N || (offset[k] == 0 && !HasDiagonal(j, whole))) continue;
      t.col[nz] = j;
      t.val[nz++] = TestRandom(5, (uint64_t)(j * OFFSETS + k));
    }
    t.ptr[i + 1] = nz;
  }
  return t;
}

/* Made where the device is: the places of the entries of this rank by column, rows ascending. */
static void CheckByColumn(PoiseMat A)
{
  const Csr *c = &A->csr;
  int64_t ncol = c->nloc + c->nghost, at = 0, wrong = 0;
  Transposed t = {0};
  HostCsr h;
  const void *ptr, *from;
  const int32_t *row;
  CHECK_OK(poiseTransposedCreate(A, &t));
  if (!CHECK_OK(poiseBufferRead(&t.ptr, HOST, &ptr)) || !CHECK_OK(poiseBufferRead(&t.from, HOST, &from)) ||
      !CHECK_OK(poiseBufferRead(&t.row, HOST, &row)) || !CHECK_OK(poiseMatPattern(A, &h)))
    return;
  CHECK(t.wide == (c->nz > A->ctx->hooks.most_narrow));
#define AT(p, k) (t.wide ? ((const int64_t *)(p))[k] : ((const int32_t *)(p))[k])
  for (int64_t j = 0; j < ncol; j++) {
    wrong += AT(ptr, j) != at;
    for (int32_t before = -1; at < AT(ptr, j + 1); at++) {
      int64_t k = AT(from, at);
      wrong += h.col[k] != j || row[at] <= before || k < poiseCsrPtr(c, h.ptr, row[at]) ||
               k >= poiseCsrPtr(c, h.ptr, row[at] + 1);
      before = row[at];
    }
  }
  CHECK_INT(at, c->nz);
  CHECK_INT(AT(ptr, ncol), c->nz);
#undef AT
  CHECK_INT(wrong, 0);
  poiseTransposedDestroy(&t);
}

static void TestTransposes(PoiseContext ctx)
{
  PoiseMat A, T;
  PoiseVec x, y;
  int is;
  bool alone = PoiseSize(ctx) == 1, away = !ctx->device->ops->is_host;
  for (int whole = 0; whole < 2; whole++) {
    Rows rows, turned;
    if (!Make(ctx, whole, POISE_COPY, &A, &rows) || !CHECK_OK(PoiseMatCreateVecs(A, &y, &x))) return;
    turned = TransposeRows(&rows, whole);
    SampleSet(x, X);
    CHECK_OK(PoiseVecScale(x, 1)); /* on the device */
    int64_t moved = Moved(ctx);
    CHECK_OK(PoiseMatMultTranspose(A, x, y)); /* the first */
    int64_t fragments =
        poiseModelIsGpu(&ctx->device->model) ? 8 : 0; /* their number, where there is so much as to be cut */
    CHECK_INT(Moved(ctx) - moved, away ? Staged(A) + fragments : 0);
    for (PoiseInt i = 0; i < rows.m; i++) {
      rows.b[i] = 0;
      for (int64_t k = turned.ptr[i]; k < turned.ptr[i + 1]; k++)
        rows.b[i] += turned.val[k] * X(turned.col[k]);
    }
    const double *p;
    if (CHECK_OK(PoiseVecGetRead(y, &p)))
      for (PoiseInt i = 0; i < rows.m; i++) CHECK_NEAR(p[i], rows.b[i], 1e-14);
    CHECK_OK(PoiseVecRestore(y, &p));
    moved = Moved(ctx);
    if (!CHECK_OK(PoiseMatTranspose(A, &T))) return;
    if (alone) CHECK_INT(Moved(ctx) - moved, 0);
    moved = Moved(ctx);
    CHECK_OK(PoiseMatIsTranspose(A, T, 0, &is));
    CHECK(is);
    CHECK_OK(PoiseMatIsTranspose(T, A, 0, &is));
    CHECK(is);
    if (alone) CHECK_INT(Moved(ctx) - moved, away ? 2 * (2 * SCALAR) : 0);
    CHECK_OK(PoiseMatIsSymmetric(A, 1, &is));
    CHECK(!is); /* with entries of up to 1 in other places some differ by more */
    CheckByColumn(A);
    Same(T, &turned);
    CHECK_OK(PoiseVecDestroy(&x));
    CHECK_OK(PoiseVecDestroy(&y));
    Release(&T, &turned);
    Release(&A, &rows);
  }
}

/* ---- prescribed unknowns --------------------------------------------------------------------- */

static bool Prescribed(PoiseInt i)
{
  return i % 13 == 5 || i == N - 1;
}

static void Prescribe(Rows *r, bool columns, double diagonal)
{
  for (PoiseInt i = 0; i < r->m; i++) {
    PoiseInt g = r->begin + i;
    if (Prescribed(g)) r->b[i] = diagonal * X(g);
    for (int64_t k = r->ptr[i]; k < r->ptr[i + 1]; k++) {
      PoiseInt j = r->col[k];
      if (Prescribed(g)) {
        r->val[k] = j == g ? diagonal : 0;
      } else if (columns && Prescribed(j)) {
        r->b[i] -= r->val[k] * X(j);
        r->val[k] = 0;
      }
    }
  }
}

static void Zeroing(PoiseContext ctx, bool columns, double diagonal)
{
  PoiseInt *list = calloc(2 * N, sizeof *list), n = 0;
  PoiseMat A;
  PoiseVec x, b;
  Rows rows;
  if (!Make(ctx, 1, POISE_COPY, &A, &rows) || !CHECK_OK(PoiseMatCreateVecs(A, &x, &b))) return;
  SampleSet(x, X), SampleSet(b, B);
  CHECK_OK(PoiseVecScale(x, 1)), CHECK_OK(PoiseVecScale(b, 1));
  for (PoiseInt i = N - 1; i >= 0; i--) /* of other ranks, descending, some of them twice */
    for (int twice = 0; twice <= i % 2; twice++)
      if (Prescribed(i) && i % PoiseSize(ctx) == PoiseRank(ctx)) list[n++] = i;
  list[n++] = -1;
  int64_t most = 2 * Staged(A);
  for (PoiseInt i = 0; i < rows.m; i++) most += 16 * Prescribed(rows.begin + i);
  CHECK_MOVES(A,
              columns ? PoiseMatZeroRowsColumns(A, n, list, diagonal, x, b)
                      : PoiseMatZeroRows(A, n, list, diagonal, x, b),
              most);
  Prescribe(&rows, columns, diagonal);
  Same(A, &rows);
  SameVec(b, &rows);
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseVecDestroy(&b));
  Release(&A, &rows);
  free(list);
}

static void TestZeroRows(PoiseContext ctx)
{
  Zeroing(ctx, false, 1);
  Zeroing(ctx, true, -2.5);
  Zeroing(ctx, true, 0);
}

/* ---- new values ------------------------------------------------------------------------------ */

static void TestNewValues(PoiseContext ctx)
{
  Device *dev = ctx->device;
  PoiseMat A;
  Rows rows;
  Buffer given = {0};
  double *host;
  const double *there;
  if (!Make(ctx, 1, POISE_COPY, &A, &rows)) return;
  int64_t nz = rows.ptr[rows.m];
  CHECK_OK(poiseBufferCreate(dev, (size_t)nz * sizeof(double), "values of the test", &given));
  if (!CHECK_OK(poiseBufferWrite(&given, HOST, &host))) return;
  for (int64_t k = 0; k < nz; k++) rows.val[k] = host[k] = TestRandom(6, (uint64_t)k);
  CHECK_OK(poiseBufferRead(&given, DEVICE, &there));
  int64_t moved = Moved(ctx);
  CHECK_OK(poiseMatSetEntries(A, DEVICE, there));
  CHECK_INT(Moved(ctx), moved);
  Same(A, &rows);
  for (int64_t k = 0; k < nz; k++) rows.val[k] = TestRandom(7, (uint64_t)k);
  double *mine = malloc((size_t)nz * sizeof *mine + 1);
  memcpy(mine, rows.val, (size_t)nz * sizeof *mine);
  CHECK_MOVES(A, PoiseMatSetValuesCSR(A, mine), 8 * nz);
  for (int64_t k = 0; k < nz; k++) mine[k] = NAN; /* taken before the call returned */
  Same(A, &rows);
  free(mine);
  CHECK_MOVES(A, PoiseMatZeroEntries(A), 0);
  CHECK_MOVES(A, PoiseMatShift(A, 2), SCALAR);
  for (int64_t k = 0; k < nz; k++) rows.val[k] = 0;
  ChangeDiagonal(&rows, false, NULL, 2);
  Same(A, &rows);
  moved = Moved(ctx);
  CHECK_OK(PoiseMatZeroEntries(A));
  PoiseInt row = rows.begin;
  /* on the host, where zeros appear */
  if (rows.m) CHECK_OK(PoiseMatSetEntries(A, 1, &row, &row, &(double){4}));
  CHECK_INT(Moved(ctx), moved);
  CHECK_OK(PoiseMatAssemble(A));
  for (int64_t k = 0; k < nz; k++) rows.val[k] = 0;
  for (int64_t k = 0; rows.m && k < rows.ptr[1]; k++)
    if (rows.col[k] == row) rows.val[k] = 4;
  Same(A, &rows);
  poiseBufferDestroy(&given);
  Release(&A, &rows);
}

/* ---- statistics of rows ---------------------------------------------------------------------- */

static int64_t LengthOf(int64_t rule, int64_t i)
{
  return rule == 0   ? 7
         : rule == 1 ? i % 3
         : rule == 2 ? (i * i % 4001 == 1 ? 5000 : i % 256 == 255)
                     : 62 + i % 5;
}

/* Offsets of m rows, here and on the device. */
static bool LendOffsets(PoiseContext ctx, int64_t m, bool wide, int64_t rule, int64_t **ptr, Buffer *b,
                        CsrView *A)
{
  void *p;
  const void *given;
  *ptr = calloc((size_t)m + 1, sizeof **ptr);
  for (int64_t i = 0; i < m; i++) (*ptr)[i + 1] = (*ptr)[i] + LengthOf(rule, i);
  if (!CHECK_OK(poiseBufferCreate(ctx->device, (size_t)(m + 1) * (wide ? 8 : 4), "offsets of the test", b)) ||
      !CHECK_OK(poiseBufferWrite(b, HOST, &p)))
    return false;
  for (int64_t i = 0; i <= m; i++)
    if (wide)
      ((int64_t *)p)[i] = (*ptr)[i];
    else
      ((int32_t *)p)[i] = (int32_t)(*ptr)[i];
  if (!CHECK_OK(poiseBufferRead(b, DEVICE, &given))) return false;
  *A = (CsrView){.m = m, .nz = (*ptr)[m], .ptr64 = wide ? given : NULL, .ptr32 = wide ? NULL : given};
  return true;
}

/* Of rows of lengths that a rule gives, on the device as in a loop here. */
static void CheckStatistics(PoiseContext ctx, int64_t m, bool wide, int64_t rule, int64_t limit,
                            int64_t share, int64_t bound)
{
  Buffer offsets = {0}, result = {0};
  CsrStatistics plain = {0}, *there;
  CsrStatisticsArgs a = {.limit = limit, .share = share, .bound = bound};
  const CsrStatistics *found;
  int64_t *ptr, before = -1;
  if (!LendOffsets(ctx, m, wide, rule, &ptr, &offsets, &a.A)) return;
  for (int64_t i = 0; i < m; i++) {
    int64_t n = ptr[i + 1] - ptr[i];
    plain.length_changes += n != before;
    plain.empty += n == 0;
    for (int64_t k = 0; limit && n >= limit && k < n; k += 2 * limit) plain.fragments++;
    if (!limit || n < limit) plain.squares += n * n;
    if (n > plain.longest && (!limit || n < limit)) plain.longest = n;
    plain.rows_above += bound && n > bound && (!limit || n < limit);
    before = n;
  }
  for (int64_t i = 0; share && i < m; i += share) {
    int64_t n = ptr[i + share < m ? i + share : m] - ptr[i];
    if (n > plain.max_share_nnz) plain.max_share_nnz = n;
  }
  for (int k = 0; k < POISE_TILES; k++)
    for (int64_t rows = 256 >> k, i = 0; i < m; i += rows) {
      int64_t n = 0;
      for (int64_t r = i; r < m && r < i + rows; r++) {
        int64_t length = ptr[r + 1] - ptr[r];
        bool counts = !limit || length < limit;
        n += counts ? length : 0;
        plain.cut += counts || k ? 0 : length;
      }
      if (n > plain.tile[k]) plain.tile[k] = n;
    }
  CHECK_OK(poiseBufferCreate(ctx->device, sizeof plain, "statistics of the test", &result));
  CHECK_OK(poiseBufferUpdate(&result, DEVICE, &there));
  a.out = there;
  CHECK_OK(LAUNCH(ctx->device, csr_statistics, &a));
  if (CHECK_OK(poiseBufferRead(&result, HOST, &found))) CHECK(!memcmp(found, &plain, sizeof plain));
  poiseBufferDestroy(&offsets);
  poiseBufferDestroy(&result);
  free(ptr);
}

static void TestStatistics(PoiseContext ctx)
{
  static const int64_t sizes[] = {0, 1, 8, 255, 257, 1024, 1025, 20001};
  ctx->device->threads = 3;
  for (int s = 0; s < 8; s++)
    for (int rule = 0; rule < 3; rule++)
      CheckStatistics(ctx, sizes[s], (s + rule) % 2, rule, 0, 0, 3),
          CheckStatistics(ctx, sizes[s], s % 2, rule, 2, 1000, 0),
          CheckStatistics(ctx, sizes[s], s % 2, rule, 2, 0, 1),
          CheckStatistics(ctx, sizes[s], s % 2, rule, 7, 0, 1);
}

/* ---- rows in row blocks and fragments -------------------------------------------------------- */

/* The fragments of row i lie side by side, begin at whole lines (on GPUs), and have about as many entries. */
static void CheckFragments(const RowFragment *part, int64_t n, const int64_t *ptr, int64_t i, int64_t w,
                           RowBlocksCut cut, int64_t unit)
{
  int64_t k = ptr[i], length = ptr[i + 1] - k;
  CHECK(length >= cut.limit);
  CHECK_INT(n, (length + cut.fragment - 1) / cut.fragment);
  for (int64_t p = 0; p < n; p++) {
    CHECK_INT(part[p].first, k);
    CHECK_INT(part[p].row_block, w);
    CHECK(!p || k % unit == 0 || part[p].nz == 0);
    if (unit == 1) CHECK_INT(k - ptr[i], length / n * p + length % n * p / n); /* wherever the row begins */
    CHECK(part[p].nz >= 0 && part[p].nz < cut.fragment + unit + (unit > 1) &&
          llabs(part[p].nz - length / n) <= 2 * unit);
    k += part[p].nz;
  }
  CHECK_INT(k, ptr[i + 1]);
}

/* Each row is in one row block, or is in fragments that follow one. */
static void CheckRowBlocks(const RowBlocks *w, const RowBlock *row_block, const int64_t *first,
                           const RowFragment *part, const int64_t *ptr, int64_t m, RowBlocksCut cut,
                           int64_t unit)
{
  int64_t row = 0;
  for (int64_t k = 0; k < w->n; k++) {
    int64_t end = row + row_block[k].rows;
    CHECK_INT(row_block[k].begin, row);
    CHECK_INT(row_block[k].first, ptr[row]);
    if (!CHECK(end <= m)) return;
    CHECK_INT(row_block[k].nz, ptr[end] - ptr[row]);
    CHECK(row_block[k].rows + row_block[k].nz < cut.chunk + cut.limit);
    for (; row < end; row++) CHECK(ptr[row + 1] - ptr[row] < cut.limit);
    if (first[k + 1] > first[k])
      CheckFragments(part + first[k], first[k + 1] - first[k], ptr, row++, k, cut, unit);
  }
  CHECK_INT(row, m);
}

static void TestRowBlocks(PoiseContext ctx)
{
  static const int64_t sizes[] = {0, 1, 8, 1025, 9001};
  static const RowBlocksCut cuts[] = {
      {64, 64, 128, false}, {64, 65, 130, false}, {48, 64, 128, false}, {100, 800, 5000, false}};
  for (int s = 0; s < (int)(sizeof sizes / sizeof *sizes); s++)
    for (int rule = 0; rule < 4; rule++)
      for (int c = 0; c < (int)(sizeof cuts / sizeof *cuts); c++) {
        Buffer offsets = {0};
        RowBlocks w = {0};
        CsrView A;
        int64_t *ptr;
        const RowBlock *row_block;
        const RowFragment *part;
        const int64_t *first;
        if (!LendOffsets(ctx, sizes[s], (s + rule) % 2, rule, &ptr, &offsets, &A)) return;
        if (CHECK_OK(poiseRowBlocksCutRows(ctx->device, &A, &w, cuts[c])) &&
            CHECK_OK(poiseBufferRead(&w.row_block, HOST, &row_block)) &&
            CHECK_OK(poiseBufferRead(&w.first, HOST, &first)) &&
            CHECK_OK(poiseBufferRead(&w.part, HOST, &part)))
          CheckRowBlocks(&w, row_block, first, part, ptr, sizes[s], cuts[c],
                         poiseModelIsGpu(&ctx->device->model) ? 32 : 1);
        poiseRowBlocksDestroy(&w);
        poiseBufferDestroy(&offsets);
        free(ptr);
      }
}

/* ---- what is found out about columns --------------------------------------------------------- */

/* Column k of rule 0: neighbours; 1: anywhere; 2: each in a line of its own; 3: few of them, the first most
   of all. */
static int32_t ColumnOf(int rule, int64_t columns, int64_t k)
{
  double u = TestRandom(77, (uint64_t)k);
  int64_t j = rule == 0 ? k : rule == 2 ? k * POISE_LINE : (int64_t)((u + 1) / 2 * (double)(columns - 1));
  if (rule == 3) j = k % 3 ? j % 7 : 0;
  return (int32_t)(j % columns);
}

/* An array of zeros on the device, and one of columns. */
static bool LendColumns(PoiseContext ctx, int rule, int64_t columns, int64_t nz, Buffer *b,
                        const int32_t **there)
{
  int32_t *col;
  if (!CHECK_OK(
          poiseBufferCreate(ctx->device, (size_t)(nz + nz % 2) * sizeof *col, "columns of the test", b)))
    return false;
  if (!CHECK_OK(poiseBufferWrite(b, HOST, &col))) return false;
  for (int64_t k = 0; k < nz; k++) col[k] = ColumnOf(rule, columns, k);
  return CHECK_OK(poiseBufferRead(b, DEVICE, there));
}

/* The hub of a slot has the most entries of its columns, and of equal ones is the last. */
static void CheckHubs(PoiseContext ctx, int rule, int64_t columns, int64_t nz, int bits)
{
  Buffer col = {0}, count = {0}, most = {0};
  CsrHubsArgs a = {.A = {.nz = nz}, .columns = columns, .bits = bits};
  const int64_t *found;
  int32_t *plain = calloc((size_t)columns, sizeof *plain);
  for (int64_t k = 0; k < nz; k++) plain[ColumnOf(rule, columns, k)]++;
  CHECK_OK(poiseBufferCreate(ctx->device, (size_t)(columns + columns % 2) * sizeof *plain,
                             "entries of columns", &count));
  CHECK_OK(poiseBufferCreate(ctx->device, sizeof *found << bits, "hubs of the test", &most));
  CHECK_OK(poiseBufferUpdate(&count, DEVICE, &a.count));
  CHECK_OK(poiseBufferUpdate(&most, DEVICE, &a.most));
  if (LendColumns(ctx, rule, columns, nz, &col, &a.A.col)) {
    CHECK_OK(LAUNCH(ctx->device, csr_hubs, &a));
    if (CHECK_OK(poiseBufferRead(&most, HOST, &found)))
      for (int64_t s = 0; s < 1 << bits; s++) {
        int64_t best = -1;
        for (int64_t j = 0; j < columns; j++)
          if (plain[j] && poiseHubSlot((int32_t)j, bits) == s && (best < 0 || plain[j] >= plain[best]))
            best = j;
        CHECK(found[s] == (best < 0 ? 0 : (int64_t)plain[best] << 32 | best));
      }
  }
  poiseBufferDestroy(&col);
  poiseBufferDestroy(&count);
  poiseBufferDestroy(&most);
  free(plain);
}

static void TestHubs(PoiseContext ctx)
{
  for (int rule = 0; rule < 4; rule++) {
    CheckHubs(ctx, rule, 1, 3, 1);
    CheckHubs(ctx, rule, 7, 0, 3);
    CheckHubs(ctx, rule, 1000, 5001, 4);
    CheckHubs(ctx, rule, 3001, 2000, 9);
  }
}

/* Lines, counted in a table of all of them: of samples, or of `few` neighbours in each. */
static int64_t CountLines(const CsrView *A, int rule, int64_t columns, int64_t few)
{
  int64_t n = 0, round = 0, *seen = calloc((size_t)columns, sizeof *seen);
  for (int64_t s = 0; s < POISE_SAMPLES; s++)
    for (int64_t k = 0; k < POISE_SAMPLE; k++) {
      int64_t *line = &seen[ColumnOf(rule, columns, poiseSampleStart(A, s) + k) / POISE_LINE];
      round += k % few == 0;
      n += *line != round;
      *line = round;
    }
  free(seen);
  return n;
}

static void CheckSpread(PoiseContext ctx, int rule, int64_t columns, int64_t nz)
{
  Buffer col = {0}, lines = {0};
  CsrSpreadArgs a = {.A = {.nz = nz}};
  const int64_t *found;
  int64_t plain = CountLines(&a.A, rule, columns, POISE_SAMPLE),
          gathers = CountLines(&a.A, rule, columns, POISE_GATHER);
  CHECK_OK(poiseBufferCreate(ctx->device, 2 * sizeof *found, "lines of the test", &lines));
  CHECK_OK(poiseBufferUpdate(&lines, DEVICE, &a.lines));
  a.gathers = a.lines + 1;
  if (LendColumns(ctx, rule, columns, nz, &col, &a.A.col)) {
    CHECK_OK(LAUNCH(ctx->device, csr_x_lines, &a));
    if (CHECK_OK(poiseBufferRead(&lines, HOST, &found))) CHECK(found[0] == plain && found[1] == gathers);
  }
  if (rule == 0) CHECK(plain <= POISE_SAMPLES * (POISE_SAMPLE / POISE_LINE + 2));
  if (rule == 2 && columns > POISE_SAMPLE * POISE_LINE) CHECK(plain == POISE_SAMPLES * POISE_SAMPLE);
  poiseBufferDestroy(&col);
  poiseBufferDestroy(&lines);
}

static void TestSpread(PoiseContext ctx)
{
  for (int rule = 0; rule < 4; rule++) {
    CheckSpread(ctx, rule, 1, POISE_SAMPLE);
    CheckSpread(ctx, rule, 40000, 3 * POISE_SAMPLE + 5);
    CheckSpread(ctx, rule, 100000, 300 * POISE_SAMPLE);
  }
}

/* Lengths of neighbouring rows vary when they change more often than every eighth row, the first being a
   change. */
static void TestVary(PoiseContext ctx)
{
  enum { M = 320 };
  static const struct {
    int run, vary; /* rows of a length in turn */
  } cases[] = {{M, 0}, {9, 0}, {8, 0}, {7, 1}, {2, 1}, {1, 1}};
  for (int k = 0; k < 6; k++) {
    int64_t ptr[M + 1] = {0}, col[2 * M];
    double val[2 * M];
    PoiseMat A;
    for (int i = 0; i < M; i++) {
      ptr[i + 1] = ptr[i] + 1 + i / cases[k].run % 2;
      for (int64_t e = ptr[i]; e < ptr[i + 1]; e++) col[e] = e - ptr[i], val[e] = 1;
    }
    const PoiseCSR csr = {.ptr64 = ptr, .col64 = col, .val = val};
    if (!CHECK_OK(PoiseMatCreateCSR(ctx, M, POISE_DECIDE, POISE_DECIDE, 5, &csr, POISE_COPY, &A))) return;
    CHECK_OK(poiseMatReady(A));
    CHECK_INT(A->blocks.vary, cases[k].vary);
    CHECK_OK(PoiseMatDestroy(&A));
  }
}

/* But not, for a product, where x is large and its numbers are far apart. */
static void TestVaryFar(PoiseContext ctx)
{
  enum { M = 400000, MANY = 3 << 19, NZ = M / 2 * 6 }; /* rows of 1 and 5 */
  static const struct {
    int far;
    PoiseInt N;
    int vary;
  } cases[] = {{1, MANY + 1, 0}, {1, MANY, 1}, {0, MANY + 1, 1}};
  int64_t *ptr = malloc((M + 1) * sizeof *ptr), *col = malloc(NZ * sizeof *col);
  double *val = calloc(NZ, sizeof *val);
  for (int k = 0; k < 3; k++) {
    PoiseMat A;
    ptr[0] = 0;
    for (int i = 0; i < M; i++) {
      ptr[i + 1] = ptr[i] + 1 + i % 2 * 4;
      for (int64_t e = ptr[i]; e < ptr[i + 1]; e++)
        col[e] = cases[k].far ? (e - ptr[i]) * 300000 + e * 7919 % 300000 : i + e - ptr[i];
    }
    const PoiseCSR csr = {.ptr64 = ptr, .col64 = col, .val = val};
    if (CHECK_OK(PoiseMatCreateCSR(ctx, M, cases[k].N, M, cases[k].N, &csr, POISE_COPY, &A))) {
      CHECK_OK(poiseMatReady(A));
      CHECK_INT(A->blocks.vary, cases[k].vary);
    }
    PoiseMatDestroy(&A);
  }
  free(ptr), free(col), free(val);
}

/* A borrowed array is current on the host when a call returns. */
static void TestBorrowed(PoiseContext ctx)
{
  PoiseMat A;
  Rows rows, kept;
  PoiseInt row = N / 2;
  if (!Make(ctx, 1, POISE_BORROW, &A, &rows)) return;
  size_t bytes = (size_t)rows.ptr[rows.m] * sizeof(double);
  kept = rows;
  kept.val = malloc(bytes + 1);
  for (int what = 0; what < 5; what++) {
    memcpy(kept.val, rows.val, bytes);
    if (what == 0) CHECK_OK(PoiseMatShift(A, 1)), ChangeDiagonal(&kept, false, NULL, 1);
    if (what == 1) CHECK_OK(PoiseMatScale(A, 3)), ScaleRows(&kept, 3, false, false);
    if (what == 2) CHECK_OK(PoiseMatZeroEntries(A)), ScaleRows(&kept, 0, false, false);
    if (what == 3) {
      for (size_t k = 0; k < bytes / sizeof(double); k++) rows.val[k] = kept.val[k] = (double)k;
      CHECK_OK(PoiseMatSetValuesCSR(A, rows.val));
    }
    if (what == 4) {
      CHECK_OK(PoiseMatZeroRows(A, 1, &row, 0, NULL, NULL));
      for (PoiseInt i = 0; i < rows.m; i++)
        for (int64_t k = rows.ptr[i]; k < rows.ptr[i + 1]; k++)
          if (rows.begin + i == row) kept.val[k] = 0;
    }
    for (size_t k = 0; k < bytes / sizeof(double); k++)
      if (!CHECK(rows.val[k] == kept.val[k])) break;
    CHECK_OK(poiseMatReady(A));
  }
  free(kept.val);
  Release(&A, &rows);
}

/* ---- triplets -------------------------------------------------------------------------------- */

enum { SMALL = 3002 }; /* rows and columns */

/* Of each rank; one alone gives more than go to its device at once. */
static PoiseInt Given(PoiseContext ctx)
{
  return PoiseSize(ctx) == 1 ? (1 << 20) + 20000 : 20000;
}

static PoiseInt TripletRow(int rank, PoiseInt k) /* some rows stay empty, the first and last among them */
{
  PoiseInt i = (PoiseInt)((TestRandom(10 + (uint64_t)rank, (uint64_t)k) + 1) * SMALL / 2);
  return k % 97 == 5 ? -1 : i % 5 ? i : i + 1;
}

static PoiseInt TripletCol(int rank, PoiseInt k) /* few, so that entries are sums */
{
  return (TripletRow(rank, k) + 4 + k % 2) % SMALL;
}

static double TripletValue(int rank, int round, PoiseInt k)
{
  return TestRandom(100 + (uint64_t)(rank + 50 * round), (uint64_t)k);
}

/* Sums in their order: this rank's values, then those of the others in theirs. */
static double *SumOf(PoiseContext ctx, PoiseMat A, int round)
{
  PoiseInt begin = A->rows->begin, m = A->rows->n;
  double *sum = calloc((size_t)m * 2 + 1, sizeof *sum);
  for (int turn = -1; turn < PoiseSize(ctx); turn++) {
    int rank = turn < 0 ? PoiseRank(ctx) : turn;
    if (turn == PoiseRank(ctx)) continue;
    for (PoiseInt k = 0; k < Given(ctx); k++) {
      PoiseInt i = TripletRow(rank, k) - begin;
      if (i >= 0 && i < m && TripletRow(rank, k) >= 0) sum[2 * i + k % 2] += TripletValue(rank, round, k);
    }
  }
  return sum;
}

static int64_t CountEntries(PoiseContext ctx, PoiseMat A)
{
  PoiseInt begin = A->rows->begin, m = A->rows->n;
  int64_t count = 0;
  char *has = calloc((size_t)m * 2 + 1, 1);
  for (int rank = 0; rank < PoiseSize(ctx); rank++)
    for (PoiseInt k = 0; k < Given(ctx); k++) {
      PoiseInt i = TripletRow(rank, k) - begin;
      if (TripletRow(rank, k) >= 0 && i >= 0 && i < m) has[2 * i + k % 2] = 1;
    }
  for (PoiseInt i = 0; i < 2 * m; i++) count += has[i];
  free(has);
  return count;
}

static void CheckSums(PoiseMat A, const double *sum, const double *more)
{
  int64_t *ptr, *col, wrong = 0;
  double *val;
  if (!CHECK_OK(PoiseMatCopyCSR(A, &ptr, &col, &val))) return;
  for (PoiseInt i = 0; i < A->rows->n; i++)
    for (int64_t k = ptr[i]; k < ptr[i + 1]; k++) {
      int odd = (int)((col[k] - A->rows->begin - i + SMALL) % SMALL) - 4;
      if (!CHECK(odd == 0 || odd == 1)) return;
      double expected = sum[2 * i + odd] + (more ? more[2 * i + odd] : 0);
      wrong += more ? fabs(val[k] - expected) > 1e-11 : memcmp(&val[k], &expected, sizeof expected) != 0;
    }
  CHECK_INT(wrong, 0);
  free(ptr), free(col), free(val);
}

static void TestTriplets(PoiseContext ctx)
{
  int rank = PoiseRank(ctx);
  PoiseInt n = Given(ctx), *rows = malloc((size_t)n * sizeof *rows), *cols = malloc((size_t)n * sizeof *cols);
  double *v = malloc((size_t)n * sizeof *v), *sum[3], *host;
  const double *there;
  Buffer given = {0};
  PoiseMat A;
  if (!CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, SMALL, SMALL, &A))) return;
  for (PoiseInt k = 0; k < n; k++) rows[k] = TripletRow(rank, k), cols[k] = TripletCol(rank, k);
  int64_t before = Moved(ctx);
  CHECK_OK(PoiseMatSetPatternCOO(A, n, rows, cols));
  if (PoiseSize(ctx) == 1 && !ctx->device->ops->is_host) CHECK_INT(Moved(ctx) - before, 16 * n + SCALAR);
  CHECK_INT(A->csr.nz, CountEntries(ctx, A));
  for (int round = 0; round < 3; round++) sum[round] = SumOf(ctx, A, round);
  for (int round = 0; round < 2; round++) {
    for (PoiseInt k = 0; k < n; k++) v[k] = TripletValue(rank, round, k);
    int64_t moved = Moved(ctx), state = A->version.values;
    CHECK_OK(PoiseMatSetValuesCOO(A, v));
    CHECK(A->version.values > state);
    if (PoiseSize(ctx) == 1) CHECK_INT(Moved(ctx) - moved, ctx->device->ops->is_host ? 0 : 8 * n);
    for (PoiseInt k = 0; k < n; k++) v[k] = NAN; /* taken before the call returned */
    CheckSums(A, sum[round], NULL);
  }
  CHECK_OK(poiseBufferCreate(ctx->device, (size_t)n * sizeof(double), "values of the test", &given));
  if (!CHECK_OK(poiseBufferWrite(&given, HOST, &host))) return;
  for (PoiseInt k = 0; k < n; k++) host[k] = TripletValue(rank, 2, k);
  CHECK_OK(poiseBufferRead(&given, DEVICE, &there));
  for (int again = 0; again < 2; again++) {
    int64_t moved = Moved(ctx), calls = ctx->memory.calls;
    CHECK_OK(poiseMatTakeCOO(A, POISE_OK, DEVICE, there, false));
    if (again || PoiseSize(ctx) == 1) CHECK_INT(ctx->memory.calls, calls);
    if (PoiseSize(ctx) == 1) CHECK_INT(Moved(ctx), moved);
    CheckSums(A, sum[2], NULL);
  }
  CHECK_OK(poiseMatTakeCOO(A, POISE_OK, DEVICE, there, true));
  CheckSums(A, sum[2], sum[2]);
  poiseBufferDestroy(&given);
  CHECK_OK(PoiseMatDestroy(&A));
  for (int round = 0; round < 3; round++) free(sum[round]);
  free(rows), free(cols), free(v);
}

static const Test tests[] = {
    {"triplets", TestTriplets, 0},
    {"scaling", TestScaling, 0},
    {"missing_diagonal", TestMissingDiagonal, 0},
    {"norms", TestNorms, 0},
    {"sums", TestSums, 0},
    {"other_pattern", TestOtherPattern, 0},
    {"duplicates", TestDuplicates, 0},
    {"transposes", TestTransposes, 0},
    {"zero_rows", TestZeroRows, 0},
    {"new_values", TestNewValues, 0},
    {"statistics", TestStatistics, 0},
    {"row blocks", TestRowBlocks, TEST_SERIAL},
    {"hubs", TestHubs, 0},
    {"spread", TestSpread, 0},
    {"vary", TestVary, 0},
    {"vary_far", TestVaryFar, TEST_SERIAL},
    {"borrowed", TestBorrowed, 0},
    {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "mat_values", tests);
}

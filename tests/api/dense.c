/* SPDX-License-Identifier: BSD-3-Clause */
/* Dense arithmetic, matrices for tests, and conversion to and from the library. */
#include "api.h"

double Random(uint64_t seed, uint64_t i)
{
  uint64_t z = (seed + 1) * UINT64_C(0xd1342543de82ef95) + (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  z ^= z >> 31;
  return (double)(z >> 11) * 0x1p-52 - 1;
}

/* ---- dense ----------------------------------------------------------------------------------- */

Dense DenseNew(int m, int n)
{
  size_t size = (size_t)m * (size_t)n + 1;
  return (Dense){m, n, calloc(size, sizeof(double)), calloc(size, 1)};
}

Dense DenseCopy(const Dense *D)
{
  Dense C = DenseNew(D->m, D->n);
  memcpy(C.a, D->a, (size_t)D->m * (size_t)D->n * sizeof *C.a);
  memcpy(C.has, D->has, (size_t)D->m * (size_t)D->n);
  return C;
}

void DenseFree(Dense *D)
{
  free(D->a);
  free(D->has);
  *D = (Dense){0};
}

void DenseSet(Dense *D, int i, int j, double v)
{
  D->a[i * D->n + j] = v;
  D->has[i * D->n + j] = 1;
}

void DenseMult(const Dense *D, const double *x, double *y)
{
  for (int i = 0; i < D->m; i++) {
    y[i] = 0;
    for (int j = 0; j < D->n; j++) y[i] += D->a[i * D->n + j] * x[j];
  }
}

void DenseMultTranspose(const Dense *D, const double *x, double *y)
{
  for (int j = 0; j < D->n; j++) {
    y[j] = 0;
    for (int i = 0; i < D->m; i++) y[j] += D->a[i * D->n + j] * x[i];
  }
}

Dense DenseTranspose(const Dense *D)
{
  Dense T = DenseNew(D->n, D->m);
  for (int i = 0; i < D->m; i++)
    for (int j = 0; j < D->n; j++) {
      T.a[j * D->m + i] = D->a[i * D->n + j];
      T.has[j * D->m + i] = D->has[i * D->n + j];
    }
  return T;
}

Dense DenseProduct(const Dense *A, const Dense *B)
{
  Dense C = DenseNew(A->m, B->n);
  for (int i = 0; i < A->m; i++)
    for (int j = 0; j < B->n; j++)
      for (int k = 0; k < A->n; k++) C.a[i * C.n + j] += A->a[i * A->n + k] * B->a[k * B->n + j];
  return C;
}

bool DenseSolve(const Dense *D, const double *b, double *x)
{
  int n = D->n;
  Dense C = DenseCopy(D);
  double *a = C.a;
  bool good = true;
  memcpy(x, b, (size_t)n * sizeof *x);
  for (int k = 0; k < n && good; k++) {
    int p = k;
    for (int i = k + 1; i < n; i++)
      if (fabs(a[i * n + k]) > fabs(a[p * n + k])) p = i;
    good = a[p * n + k] != 0;
    for (int j = 0; j < n; j++) {
      double t = a[k * n + j];
      a[k * n + j] = a[p * n + j];
      a[p * n + j] = t;
    }
    double t = x[k];
    x[k] = x[p];
    x[p] = t;
    for (int i = k + 1; i < n && good; i++) {
      double f = a[i * n + k] / a[k * n + k];
      for (int j = k; j < n && f != 0; j++) a[i * n + j] -= f * a[k * n + j];
      x[i] -= f * x[k];
    }
  }
  for (int i = n - 1; i >= 0 && good; i--) {
    for (int j = i + 1; j < n; j++) x[i] -= a[i * n + j] * x[j];
    x[i] /= a[i * n + i];
  }
  DenseFree(&C);
  return good;
}

long DenseCount(const Dense *D)
{
  long n = 0;
  for (int k = 0; k < D->m * D->n; k++) n += D->has[k];
  return n;
}

double Dot(int n, const double *x, const double *y)
{
  double sum = 0;
  for (int i = 0; i < n; i++) sum += x[i] * y[i];
  return sum;
}

double Norm(int n, const double *x)
{
  return sqrt(Dot(n, x, x));
}

/* ---- matrices to try ------------------------------------------------------------------------- */

/* Of blocks of b, a share of them; nonzero: every diagonal block too. */
static Dense Sparse(int m, int n, int b, double share, int diagonal, uint64_t seed)
{
  Dense D = DenseNew(m, n);
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      uint64_t block = (uint64_t)(i / b * 1000 + j / b);
      bool there = Random(seed, block) < 2 * share - 1 || (diagonal && i / b == j / b);
      if (there) DenseSet(&D, i, j, Random(seed + 1, (uint64_t)(i * n + j)) + (i == j ? 4 : 0));
    }
  return D;
}

Dense Shape(int k, int *b)
{
  Dense D;
  *b = k == 6 || k == 9 ? 2 : k == 7 ? 3 : k == 8 ? 4 : 1;
  switch (k) {
  case 0:
    D = Sparse(1, 1, 1, 1, 1, 1);
    break;
  case 1: /* empty rows, an empty column, one long row, a stored zero */
    D = DenseNew(17, 23);
    for (int j = 1; j < 23; j++) DenseSet(&D, 11, j, Random(2, (uint64_t)j));
    DenseSet(&D, 2, 22, 3);
    DenseSet(&D, 3, 1, 0);
    DenseSet(&D, 16, 5, -2);
    break;
  case 2:
    D = Sparse(40, 12, 1, 0.2, 0, 3);
    break;
  case 3:
    D = Sparse(5, 61, 1, 0.3, 0, 4);
    break;
  case 4:
    D = Sparse(2, 3, 1, 1, 0, 5);
    break;
  case 5:
    D = DenseNew(6, 5);
    break;
  case 6:
    D = Sparse(24, 24, 2, 0.2, 1, 6);
    break;
  case 7:
    D = Sparse(24, 36, 3, 0.2, 0, 7);
    break;
  case 8:
    D = Sparse(32, 32, 4, 0.15, 1, 8);
    break;
  case 9:
    D = Sparse(2, 2, 2, 1, 1, 9);
    break;
  case 10: /* a full row and a full column */
    D = Sparse(67, 67, 1, 0.05, 1, 10);
    for (int i = 0; i < 67; i++)
      DenseSet(&D, 31, i, Random(11, (uint64_t)i)), DenseSet(&D, i, 13, Random(12, (uint64_t)i));
    break;
  case 11:
    D = Sparse(33, 33, 1, 0.25, 1, 13);
    break;
  case 12: /* rows of very different lengths */
    D = DenseNew(150, 150);
    for (int i = 0; i < 150; i++)
      for (int j = 0; j < 150; j += 1 + i % 40)
        DenseSet(&D, i, (j + i) % 150, Random(14, (uint64_t)(i * 150 + j)));
    for (int i = 0; i < 150; i++) DenseSet(&D, i, i, 5);
    break;
  default:
    D = Sparse(3, 3, 1, 1, 1, 15);
    break;
  }
  return D;
}

Dense System(int kind, int n)
{
  static const int dx[] = {0, -1, 1, 0, 0}, dy[] = {0, 0, 0, -1, 1};
  Dense D = DenseNew(n, n);
  int w = 4;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < 5; k++) {
      int x = i % w + dx[k], y = i / w + dy[k], j = y * w + x;
      if (x < 0 || x >= w || y < 0 || y >= n / w) continue;
      double v = k ? -1 : 4.2, wind = k % 2 ? 1.5 : 0.5;
      v *= (1 + 0.3 * Random(20, (uint64_t)i)) * (1 + 0.3 * Random(20, (uint64_t)j));
      if (kind == CONVECTION) v *= k ? wind : 1;
      if (kind == INDEFINITE && i == j) v *= i % 3 == 1 ? 0.1 : 0.7; /* positive, but the matrix is not */
      DenseSet(&D, i, j, v);
    }
  return D;
}

/* ---- to the library and back ----------------------------------------------------------------- */

PoiseInt Share(PoiseContext ctx, int N, int b, int layout)
{
  PoiseInt begin, n;
  int size = PoiseSize(ctx), rank = PoiseRank(ctx);
  PoiseSplit(ctx, N / b, &begin, &n);
  if (layout == 1 && size > 1)
    n = rank == 0 ? 0 : rank < size - 1 ? N / b / size : N / b - (N / b / size) * (size - 2);
  if (layout == 2) n = rank == size - 1 ? N / b : 0;
  return n * b;
}

void VecFill(PoiseVec x, const double *v)
{
  double *p;
  PoiseInt begin, end;
  PoiseVecRange(x, &begin, &end);
  if (!CHECK_OK(PoiseVecGetWrite(x, &p))) return;
  for (PoiseInt i = begin; i < end; i++) p[i - begin] = v[i];
  CHECK_OK(PoiseVecRestore(x, &p));
}

PoiseVec VecOf(PoiseContext ctx, PoiseInt n, int N, const double *v)
{
  PoiseVec x = NULL;
  if (CHECK_OK(PoiseVecCreate(ctx, n, N, &x))) VecFill(x, v);
  return x;
}

void VecAll(PoiseVec x, double *v)
{
  const double *p;
  PoiseInt begin, end, N = PoiseVecSize(x);
  PoiseVecRange(x, &begin, &end);
  for (PoiseInt i = 0; i < N; i++) v[i] = 0;
  if (!CHECK_OK(PoiseVecGetRead(x, &p))) return;
  for (PoiseInt i = begin; i < end; i++) v[i] = p[i - begin];
  CHECK_OK(PoiseVecRestore(x, (void *)&p));
  CHECK_OK(PoiseSum(PoiseVecContext(x), (int)N, v));
}

int VecIs(PoiseVec x, const double *v, double tol)
{
  const double *p;
  PoiseInt begin, end, bad = -1;
  double most = 0;
  PoiseVecRange(x, &begin, &end);
  for (PoiseInt i = 0; i < PoiseVecSize(x); i++) most = fmax(most, fabs(v[i]));
  if (!CHECK_OK(PoiseVecGetRead(x, &p))) return 0;
  for (PoiseInt i = begin; i < end; i++)
    if (!(fabs(p[i - begin] - v[i]) <= tol * most) && bad < 0) bad = i;
  int good = bad < 0 ? CHECK(1) : CHECK_NEAR(p[bad - begin], v[bad], tol * most);
  CHECK_OK(PoiseVecRestore(x, (void *)&p));
  return good;
}

CSR CSROf(const Dense *D, PoiseInt begin, PoiseInt m, int base, int order)
{
  size_t most = (size_t)m * (size_t)D->n + 1;
  CSR c = {malloc(((size_t)m + 1) * 8), malloc(most * 8), malloc(((size_t)m + 1) * 4), malloc(most * 4),
           malloc(most * 8)};
  int64_t k = 0;
  for (PoiseInt i = 0; i <= m; i++) {
    c.ptr[i] = k + base;
    c.ptr32[i] = (int32_t)(k + base);
    for (int l = 0; i < m && l < D->n; l++) {
      int j = order ? D->n - 1 - l : l;
      if (!D->has[(begin + i) * D->n + j]) continue;
      c.col[k] = j + base;
      c.col32[k] = j + base;
      c.val[k++] = D->a[(begin + i) * D->n + j];
    }
  }
  return c;
}

void CSRFree(CSR *c)
{
  free(c->ptr);
  free(c->col);
  free(c->ptr32);
  free(c->col32);
  free(c->val);
}

/* The first row of this rank, when it has m. */
static PoiseInt First(PoiseContext ctx, PoiseInt m)
{
  double shares[64] = {0};
  PoiseInt begin = 0;
  shares[PoiseRank(ctx)] = (double)m;
  CHECK_OK(PoiseSum(ctx, PoiseSize(ctx), shares));
  for (int r = 0; r < PoiseRank(ctx); r++) begin += (PoiseInt)shares[r];
  return begin;
}

PoiseMat MatOf(PoiseContext ctx, const Dense *D, int b, int layout)
{
  PoiseMat A = NULL;
  PoiseInt m = Share(ctx, D->m, b, layout), n = Share(ctx, D->n, b, layout);
  CSR c = CSROf(D, First(ctx, m), m, 0, 0);
  CHECK_OK(PoiseMatCreateCSR(ctx, m, n, D->m, D->n, &(PoiseCSR){.ptr64 = c.ptr, .col64 = c.col, .val = c.val},
                             POISE_COPY, &A));
  if (A && b > 1) CHECK_OK(PoiseMatSetBlockSize(A, b));
  CSRFree(&c);
  return A;
}

int MatIs(PoiseMat A, const Dense *D, double tol)
{
  int64_t *ptr, *col;
  double *val;
  PoiseInt m, M, N;
  bool blocks = !strcmp(PoiseMatType(A), "bcsr");
  int good = 1, b = blocks ? PoiseMatBlockSize(A) : 1;
  PoiseMatLocalSizes(A, &m, NULL);
  PoiseMatSizes(A, &M, &N);
  PoiseInt begin = First(PoiseMatContext(A), m);
  if (!CHECK_INT(M, D->m) || !CHECK_INT(N, D->n) || !CHECK_OK(PoiseMatCopyCSR(A, &ptr, &col, &val))) return 0;
  for (PoiseInt i = 0; i < m && good; i++) {
    int64_t k = ptr[i];
    for (int j = 0; j < D->n && good; j++) {
      int in = k < ptr[i + 1] && col[k] == j;
      double v = D->a[(begin + i) * D->n + j];
      good = in ? CHECK_NEAR(val[k], v, tol) && (b > 1 || CHECK(D->has[(begin + i) * D->n + j]))
                : CHECK(!D->has[(begin + i) * D->n + j]);
      k += in;
    }
    good = good && CHECK_INT(k, ptr[i + 1]);
  }
  free(ptr);
  free(col);
  free(val);
  return good;
}

void MatWorks(PoiseMat A, const Dense *D)
{
  double u[150], w[150];
  PoiseVec x, y;
  for (int i = 0; i < D->n; i++) u[i] = Random(60, (uint64_t)i);
  CHECK_OK(PoiseMatCreateVecs(A, &x, &y));
  VecFill(x, u);
  DenseMult(D, u, w);
  CHECK_OK(PoiseMatMult(A, x, y));
  VecIs(y, w, 1e-13);
  DenseMultTranspose(D, u, w);
  if (D->m == D->n) {
    CHECK_OK(PoiseMatMultTranspose(A, x, y));
    VecIs(y, w, 1e-13);
  }
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseVecDestroy(&y));
  MatIs(A, D, 1e-13);
}

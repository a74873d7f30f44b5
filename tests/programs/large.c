/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Matrices of more than 2^31 nonzeros on one rank. Values are small whole numbers, so results are exact. A
  part that needs more memory than there is says so, and is skipped.
    large [-nonzeros 2300000000] [-device cuda] [-ilu no] [-only stencil] [-triplets 3000000000]

  The parts:
    dense     m x 1024. All rows have the same columns, and every 1024th row the same values. So one small
              file, mapped many times, is the whole matrix. Its product needs 1.1 GiB (on the host).
    band      A = (2 h + 1) I - the ones of h diagonals on either side, in arrays that the library adopts. The
              whole band is stored, so its incomplete factors are exact, and a solve with them takes one
              iteration.
    stencil   Seven points on a cube, in arrays that are made on the device and lent to the library. Products
              and residuals are checked there without the matrix, so nothing of its size comes to the host of
              a GPU.
    triplets  The same from triplets, on a GPU as many as memory allows: 40 bytes each during the sort.
*/
#define _GNU_SOURCE
#include <math.h>
#include <poise.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "large_stencil.h"

#define DEMAND(cond)                                                \
  do {                                                              \
    if (!(cond)) POISE_FAIL(POISE_ERR_NUMERIC, "wrong: %s", #cond); \
  } while (0)

typedef struct Large {
  PoiseInt nonzeros, triplets;
  int ilu, only;
} Large;

static const PoiseOption options[] = {
    {"nonzeros", POISE_OPTION_INT, offsetof(Large, nonzeros), "2300000000", 1, 1e12, NULL,
     "of the matrix, at least"},
    {"triplets", POISE_OPTION_INT, offsetof(Large, triplets), "0", 0, 4e9, NULL,
     "of the matrix, at least; 0: on a GPU as many as fit, else as many as the other matrices have nonzeros"},
    {"only", POISE_OPTION_CHOICE, offsetof(Large, only), "all", 0, 0, "all|dense|band|stencil|triplets",
     "one part"},
    {"ilu", POISE_OPTION_BOOL, offsetof(Large, ilu), "yes", 0, 0, NULL, "incomplete factors too"},
    {0}};

/* ---- memory ---------------------------------------------------------------------------------- */

/* A number of KiB of the system's account. */
static double Available(void)
{
  char line[128];
  double kib = 0;
  FILE *f = fopen("/proc/meminfo", "r");
  while (f && fgets(line, sizeof line, f))
    if (sscanf(line, "MemAvailable: %lf", &kib) == 1) break;
  if (f) fclose(f);
  return 1024 * kib;
}

static int FitsInto(PoiseContext ctx, const char *part, double bytes, double there)
{
  int fits = bytes < 0.95 * there;
  PoisePrintf(ctx, "%s: needs %.1f GiB, %.1f are there%s\n", part, bytes * 0x1p-30, there * 0x1p-30,
              fits ? "" : ": skipped");
  return fits;
}

static int Fits(PoiseContext ctx, const char *part, double bytes)
{
  return FitsInto(ctx, part, bytes, Available());
}

/* Memory of the device, or of the host where that is the device. */
static PoiseErr Left(PoiseContext ctx, double *bytes)
{
  int64_t left;
  *bytes = Available();
  if (!PoiseStream(ctx)) return POISE_OK;
  POISE_TRY(PoiseDeviceMemory(ctx, &left, NULL));
  *bytes = (double)left;
  return POISE_OK;
}

/* ---- dense: the same pages over and over ----------------------------------------------------- */

enum { COLUMNS = 1024, TILE = COLUMNS * 1024 }; /* entries of a tile: 1024 rows */

static double DenseValue(int64_t row, int64_t col)
{
  return (double)((row % 1024 * 31 + col * 17) % 7 - 3);
}

/* *p = `bytes` of tile, `tiles` times. */
static PoiseErr Repeat(const void *tile, size_t bytes, int64_t tiles, char **p)
{
  int fd = memfd_create("tile", 0);
  int written = fd >= 0 && write(fd, tile, bytes) == (ssize_t)bytes;
  *p = mmap(NULL, bytes * (size_t)tiles, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  int mapped = written && *p != MAP_FAILED;
  for (int64_t k = 0; mapped && k < tiles; k++)
    mapped = mmap(*p + k * (int64_t)bytes, bytes, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED;
  close(fd);
  if (!mapped)
    POISE_FAIL(POISE_ERR_MEMORY, "%lld mappings of %zu bytes are refused", (long long)tiles, bytes);
  return POISE_OK;
}

static PoiseErr CreateDense(PoiseContext ctx, int64_t tiles, char *array[2], int64_t **ptr, PoiseMat *A)
{
  int32_t *col = malloc(TILE * sizeof *col);
  double *val = malloc(TILE * sizeof *val);
  int64_t m = 1024 * tiles;
  *ptr = malloc((size_t)(m + 1) * sizeof **ptr);
  if (!col || !val || !*ptr) POISE_FAIL(POISE_ERR_MEMORY, "no memory");
  for (int64_t k = 0; k < TILE; k++) {
    col[k] = (int32_t)(k % COLUMNS);
    val[k] = DenseValue(k / COLUMNS, k % COLUMNS);
  }
  for (int64_t i = 0; i <= m; i++) (*ptr)[i] = i * COLUMNS;
  POISE_TRY(Repeat(col, TILE * sizeof *col, tiles, &array[0]));
  POISE_TRY(Repeat(val, TILE * sizeof *val, tiles, &array[1]));
  free(col);
  free(val);
  PoiseCSR csr = {.ptr64 = *ptr, .col32 = (int32_t *)(void *)array[0], .val = (double *)(void *)array[1]};
  return PoiseMatCreateCSR(ctx, m, COLUMNS, m, COLUMNS, &csr, POISE_BORROW, A);
}

static PoiseErr CheckDense(PoiseContext ctx, PoiseMat A, int64_t m)
{
  PoiseVec x, y;
  PoiseInt n;
  const PoiseInt *cols;
  const double *v;
  double *p, expected[1024] = {0}, rows[1024] = {0}, inf = 0, squares = 0, column = 0, norm;
  POISE_TRY(PoiseMatCreateVecs(A, &x, &y));
  POISE_TRY(PoiseVecGetWrite(x, &p));
  for (int j = 0; j < COLUMNS; j++) p[j] = j % 11 - 5;
  POISE_TRY(PoiseVecRestore(x, &p));
  for (int i = 0; i < 1024; i++)
    for (int j = 0; j < COLUMNS; j++) {
      double a = DenseValue(i, j);
      expected[i] += a * (j % 11 - 5);
      rows[i] += fabs(a);
      squares += a * a;
    }
  for (int i = 0; i < 1024; i++) inf = fmax(inf, rows[i]);
  for (int j = 0; j < COLUMNS; j++) {
    double sum = 0;
    for (int i = 0; i < 1024; i++) sum += fabs(DenseValue(i, j));
    column = fmax(column, sum);
  }
  double start = PoiseTime();
  POISE_TRY(PoiseMatMult(A, x, y));
  double seconds = PoiseTime() - start;
  POISE_TRY(PoiseVecGetRead(y, &v));
  for (int64_t i = 0; i < m; i++) DEMAND(v[i] == expected[i % 1024]);
  POISE_TRY(PoiseVecRestore(y, &v));
  PoisePrintf(ctx, "  product: right, %.2f s\n", seconds);
  POISE_TRY(PoiseMatGetRow(A, m - 1, &n, &cols, &v));
  DEMAND(n == COLUMNS);
  for (int j = 0; j < COLUMNS; j++) DEMAND(cols[j] == j && v[j] == DenseValue(m - 1, j));
  POISE_TRY(PoiseMatNorm(A, POISE_NORM_INF, &norm));
  DEMAND(norm == inf);
  POISE_TRY(PoiseMatNorm(A, POISE_NORM_1, &norm));
  DEMAND(norm == column * (double)(m / 1024));
  POISE_TRY(PoiseMatNorm(A, POISE_NORM_FROBENIUS, &norm));
  DEMAND(fabs(norm * norm / (squares * (double)(m / 1024)) - 1) < 1e-12);
  PoisePrintf(ctx, "  last row and norms: right\n");
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
  return POISE_OK;
}

static PoiseErr Dense(PoiseContext ctx, const Large *large)
{
  PoiseMat A;
  char *array[2] = {NULL, NULL};
  int64_t tiles = (large->nonzeros + TILE - 1) / TILE, m = 1024 * tiles, *ptr = NULL;
  if (!Fits(ctx, "dense", 0x1p30 + 64.0 * (double)m)) return POISE_OK;
  POISE_TRY(CreateDense(ctx, tiles, array, &ptr, &A));
  PoisePrintf(ctx, "  %lld x %d, %lld nonzeros\n", (long long)m, COLUMNS, (long long)m * COLUMNS);
  POISE_TRY(CheckDense(ctx, A, m));
  POISE_TRY(PoiseMatDestroy(&A));
  munmap(array[0], (size_t)tiles * TILE * sizeof(int32_t));
  munmap(array[1], (size_t)tiles * TILE * sizeof(double));
  free(ptr);
  return POISE_OK;
}

/* ---- band ------------------------------------------------------------------------------------ */

enum { HALF = 32 };

static int64_t First(int64_t i)
{
  return i < HALF ? 0 : i - HALF;
}

static int64_t Last(int64_t i, int64_t m)
{
  return i + HALF < m ? i + HALF : m - 1;
}

static PoiseErr CreateBand(PoiseContext ctx, int64_t m, PoiseMat *A)
{
  int64_t *ptr = malloc((size_t)(m + 1) * sizeof *ptr), k = 0;
  for (int64_t i = 0; ptr && i < m; i++) ptr[i] = k, k += Last(i, m) - First(i) + 1;
  int32_t *col = malloc((size_t)k * sizeof *col);
  double *val = malloc((size_t)k * sizeof *val);
  if (!ptr || !col || !val) POISE_FAIL(POISE_ERR_MEMORY, "no memory");
  ptr[m] = k;
  k = 0;
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = First(i); j <= Last(i, m); j++)
      col[k] = (int32_t)j, val[k++] = i == j ? 2 * HALF + 1 : -1;
  PoisePrintf(ctx, "  %lld x %lld, %lld nonzeros\n", (long long)m, (long long)m, (long long)k);
  return PoiseMatCreateCSR(ctx, m, m, m, m, &(PoiseCSR){.ptr64 = ptr, .col32 = col, .val = val}, POISE_ADOPT,
                           A);
}

static int64_t X(int64_t i)
{
  return i * 37 % 101 - 50;
}

/* y == factor A x, exactly */
static PoiseErr CheckProduct(PoiseVec y, int64_t m, double factor)
{
  const double *v;
  int64_t sum = 0, wrong = 0;
  POISE_TRY(PoiseVecGetRead(y, &v));
  for (int64_t j = 0; j < HALF && j < m; j++) sum += X(j);
  for (int64_t i = 0; i < m; i++) {
    if (i + HALF < m) sum += X(i + HALF);
    if (i - HALF > 0) sum -= X(i - HALF - 1);
    wrong += v[i] != factor * (double)((2 * HALF + 2) * X(i) - sum);
  }
  POISE_TRY(PoiseVecRestore(y, &v));
  if (wrong)
    POISE_FAIL(POISE_ERR_NUMERIC, "%lld of %lld entries of the product are wrong", (long long)wrong,
               (long long)m);
  return POISE_OK;
}

static PoiseErr Multiply(PoiseContext ctx, PoiseMat A, PoiseVec x, PoiseVec y, int64_t m)
{
  const double *d;
  double start = PoiseTime();
  POISE_TRY(PoiseMatMult(A, x, y));
  PoisePrintf(ctx, "  product: %.2f s\n", PoiseTime() - start);
  POISE_TRY(CheckProduct(y, m, 1));
  POISE_TRY(PoiseMatScale(A, 2));
  POISE_TRY(PoiseMatMult(A, x, y));
  POISE_TRY(CheckProduct(y, m, 2));
  POISE_TRY(PoiseMatScale(A, 0.5));
  POISE_TRY(PoiseMatGetDiagonal(A, y));
  POISE_TRY(PoiseVecGetRead(y, &d));
  for (int64_t i = 0; i < m; i++) DEMAND(d[i] == 2 * HALF + 1);
  POISE_TRY(PoiseVecRestore(y, &d));
  PoisePrintf(ctx, "  product, scaled product, diagonal: right\n");
  return PoiseMatMult(A, x, y);
}

/* A z = b for b = A x: z is x, but for the tolerance times the condition of A, which is below 200. */
static PoiseErr Solve(PoiseContext ctx, PoiseMat A, PoiseVec x, PoiseVec b, const char *pc, int64_t most)
{
  PoiseKSP ksp;
  PoisePC inner;
  PoiseVec z;
  double error, size;
  POISE_TRY(PoiseVecDuplicate(x, &z));
  POISE_TRY(PoiseKSPCreate(ctx, &ksp));
  POISE_TRY(PoiseKSPSetType(ksp, "cg"));
  POISE_TRY(PoiseKSPGetPC(ksp, &inner));
  POISE_TRY(PoisePCSetType(inner, pc));
  POISE_TRY(PoiseKSPSetTolerances(ksp, 1e-10, -1, -1, most));
  POISE_TRY(PoiseKSPSetErrorIfNotConverged(ksp, 1));
  POISE_TRY(PoiseKSPSetOperators(ksp, A, NULL));
  double start = PoiseTime();
  POISE_TRY(PoiseKSPSetUp(ksp));
  double ready = PoiseTime();
  POISE_TRY(PoiseKSPSolve(ksp, b, z));
  double end = PoiseTime();
  POISE_TRY(PoiseVecAXPY(z, -1, x));
  POISE_TRY(PoiseVecNorm(z, POISE_NORM_2, &error));
  POISE_TRY(PoiseVecNorm(x, POISE_NORM_2, &size));
  error /= size;
  DEMAND(error < 200 * 1e-10);
  PoisePrintf(ctx, "  cg with %s: right to %.1e, %lld iterations, set up in %.2f s, solved in %.2f s\n", pc,
              error, (long long)PoiseKSPIterations(ksp), ready - start, end - ready);
  POISE_TRY(PoiseKSPDestroy(&ksp));
  return PoiseVecDestroy(&z);
}

static PoiseErr Band(PoiseContext ctx, const Large *large)
{
  PoiseMat A;
  PoiseVec x, y;
  double *v;
  int64_t m = large->nonzeros / (2 * HALF + 1) + HALF;
  double matrix = 12.0 * (2 * HALF + 1) * (double)m, vectors = 100.0 * (double)m;
  if (!Fits(ctx, "band", matrix + vectors)) return POISE_OK;
  POISE_TRY(CreateBand(ctx, m, &A));
  POISE_TRY(PoiseMatCreateVecs(A, &x, &y));
  POISE_TRY(PoiseVecGetWrite(x, &v));
  for (int64_t i = 0; i < m; i++) v[i] = (double)X(i);
  POISE_TRY(PoiseVecRestore(x, &v));
  POISE_TRY(Multiply(ctx, A, x, y, m));
  POISE_TRY(Solve(ctx, A, x, y, "jacobi", 1000));
  if (large->ilu && Fits(ctx, "band with ilu, beyond the matrix", matrix + vectors))
    POISE_TRY(Solve(ctx, A, x, y, "ilu", 2));
  if (Fits(ctx, "band, transposed product, beyond the matrix", matrix)) {
    POISE_TRY(PoiseMatMultTranspose(A, x, y));
    POISE_TRY(CheckProduct(y, m, 1));
    PoisePrintf(ctx, "  transposed product: right\n");
  }
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
  return PoiseMatDestroy(&A);
}

/* ---- stencil and triplets -------------------------------------------------------------------- */

static const char *AllocHere(size_t bytes, void *p)
{
  void *array = malloc(bytes);
  memcpy(p, &array, sizeof array);
  return array ? NULL : "no memory";
}

static void ReleaseHere(void *p)
{
  free(p);
}

static const char *RunHere(void *stream, const Work *w, double *sum)
{
  double s = 0;
  (void)stream;
  for (int64_t i = 0; i < w->k * w->k * w->k; i++) s += DoWork(w, i);
  if (sum) *sum = s;
  return NULL;
}

static const Place here = {AllocHere, ReleaseHere, RunHere};
#ifdef POISE_HAVE_CUDA
static const Place *const gpu = &large_gpu;
#else
static const Place *const gpu = &here; /* there is no stream then */
#endif

typedef struct Stencil {
  PoiseContext ctx;
  const Place *place;
  int64_t k, m;
  double *x, *b, *z; /* lent to the vectors */
  PoiseVec X, B, Z;
} Stencil;

static PoiseErr Word(const char *what, const char *words)
{
  if (words) POISE_FAIL(POISE_ERR_DEVICE, "%s: %s", what, words);
  return POISE_OK;
}

static PoiseErr Do(const Stencil *s, Work w, double *sum)
{
  w.k = s->k;
  return Word("work on the stencil", s->place->run(PoiseStream(s->ctx), &w, sum));
}

static PoiseErr New(const Stencil *s, int64_t n, size_t size, void *p)
{
  return Word("an array of the stencil", s->place->alloc((size_t)n * size, p));
}

static PoiseErr NewVector(const Stencil *s, double **array, PoiseVec *v)
{
  POISE_TRY(New(s, s->m, sizeof **array, array));
  return PoiseVecCreateDeviceArray(s->ctx, s->m, s->m, *array, POISE_BORROW, v);
}

static PoiseErr OpenStencil(PoiseContext ctx, int64_t k, Stencil *s)
{
  *s = (Stencil){.ctx = ctx, .place = PoiseStream(ctx) ? gpu : &here, .k = k, .m = k * k * k};
  POISE_TRY(NewVector(s, &s->x, &s->X));
  POISE_TRY(NewVector(s, &s->b, &s->B));
  POISE_TRY(NewVector(s, &s->z, &s->Z));
  return Do(s, (Work){.job = MAKE_X, .out = s->x}, NULL);
}

static void CloseStencil(Stencil *s)
{
  PoiseVecDestroy(&s->X);
  PoiseVecDestroy(&s->B);
  PoiseVecDestroy(&s->Z);
  s->place->release(s->x);
  s->place->release(s->b);
  s->place->release(s->z);
}

/* b = A x, which has to be factor times the stencil's. */
static PoiseErr CheckStencil(const Stencil *s, PoiseMat A, double factor)
{
  double wrong;
  POISE_TRY(PoiseMatMult(A, s->X, s->B));
  POISE_TRY(Do(s, (Work){.job = COUNT_WRONG, .factor = factor, .x = s->x, .y = s->b}, &wrong));
  if (wrong > 0)
    POISE_FAIL(POISE_ERR_NUMERIC, "%.0f of %lld entries of the product are wrong", wrong, (long long)s->m);
  PoisePrintf(s->ctx, "  product: right\n");
  return POISE_OK;
}

/* A z = b by so many iterations: the residual that the solver has in the end is the true one. */
static PoiseErr SolveStencil(const Stencil *s, PoiseMat A, PoiseInt iterations)
{
  PoiseKSP ksp;
  PoisePC pc;
  double r, b;
  POISE_TRY(PoiseKSPCreate(s->ctx, &ksp));
  POISE_TRY(PoiseKSPSetType(ksp, "cg"));
  POISE_TRY(PoiseKSPGetPC(ksp, &pc));
  POISE_TRY(PoisePCSetType(pc, "jacobi"));
  POISE_TRY(PoiseKSPSetNormType(ksp, POISE_KSP_NORM_UNPRECONDITIONED));
  POISE_TRY(PoiseKSPSetTolerances(ksp, 1e-30, 0, -1, iterations));
  POISE_TRY(PoiseKSPSetOperators(ksp, A, NULL));
  double start = PoiseTime();
  POISE_TRY(PoiseKSPSetUp(ksp));
  double ready = PoiseTime();
  POISE_TRY(PoiseKSPSolve(ksp, s->B, s->Z));
  double seconds = PoiseTime() - ready;
  POISE_TRY(Do(s, (Work){.job = RESIDUAL, .x = s->z, .y = s->b}, &r));
  POISE_TRY(Do(s, (Work){.job = SQUARE, .y = s->b}, &b));
  double seen = PoiseKSPResidualNorm(ksp) / sqrt(b), is = sqrt(r / b);
  PoisePrintf(s->ctx,
              "  cg with jacobi: %lld iterations, residual %.6e of b, %.6e as the solver has it; set up in "
              "%.3f s, solved "
              "in %.3f s\n",
              (long long)PoiseKSPIterations(ksp), is, seen, ready - start, seconds);
  DEMAND(PoiseKSPIterations(ksp) == iterations && PoiseKSPConvergedReason(ksp) == POISE_DIVERGED_ITS);
  DEMAND(fabs(is - seen) < 1e-12 && is < 1e-3);
  return PoiseKSPDestroy(&ksp);
}

static int64_t CubeOf(double nodes)
{
  int64_t k = 1;
  while ((double)k * (double)k * (double)k < nodes) k++;
  return k;
}

static PoiseErr StencilRows(PoiseContext ctx, const Large *large)
{
  Stencil s;
  PoiseMat A;
  int64_t *ptr, k = CubeOf((double)large->nonzeros / NODE);
  int32_t *col;
  double *val, left;
  while (Before(k, k * k * k) < large->nonzeros) k++;
  int64_t m = k * k * k, nz = Before(k, m);
  POISE_TRY(Left(ctx, &left));
  if (!FitsInto(ctx, "stencil", 12.0 * (double)nz + (8 + 8.0 * 10) * (double)m, left)) return POISE_OK;
  POISE_TRY(OpenStencil(ctx, k, &s));
  POISE_TRY(New(&s, m + 1, sizeof *ptr, &ptr));
  POISE_TRY(New(&s, nz, sizeof *col, &col));
  POISE_TRY(New(&s, nz, sizeof *val, &val));
  POISE_TRY(Do(&s, (Work){.job = MAKE_ROWS, .ptr = ptr, .col = col, .val = val}, NULL));
  double start = PoiseTime();
  POISE_TRY(PoiseMatCreateDeviceCSR(ctx, m, m, m, m, &(PoiseCSR){.ptr64 = ptr, .col32 = col, .val = val},
                                    POISE_BORROW, &A));
  PoisePrintf(ctx, "  %lld x %lld, %lld nonzeros, taken over in %.3f s\n", (long long)m, (long long)m,
              (long long)nz, PoiseTime() - start);
  POISE_TRY(CheckStencil(&s, A, 1));
  POISE_TRY(SolveStencil(&s, A, 40));
  POISE_TRY(PoiseMatDestroy(&A));
  CloseStencil(&s);
  s.place->release(ptr);
  s.place->release(col);
  s.place->release(val);
  return POISE_OK;
}

/* *k: of the cube with so many triplets as are asked for, or fit. */
static PoiseErr ChooseTriplets(PoiseContext ctx, const Large *large, double per_node, int64_t *k)
{
  double left, most = 4.2e9 / NODE;
  int all = PoiseStream(ctx) && !large->triplets;
  POISE_TRY(Left(ctx, &left));
  if (!all) {
    *k = CubeOf((double)(large->triplets ? large->triplets : large->nonzeros) / NODE);
    return POISE_OK;
  }
  if (most > 0.94 * left / per_node) most = 0.94 * left / per_node; /* what FitsInto lets pass */
  *k = CubeOf(most) - 1;
  return POISE_OK;
}

static PoiseErr StencilTriplets(PoiseContext ctx, const Large *large)
{
  Stencil s;
  PoiseMat A;
  PoiseInt nz;
  int64_t *rows, *cols, k = 1;
  double *v, left;
  /* three vectors are there too, and the offsets */
  double per_node = NODE * (PoiseStream(ctx) ? 40 : 80) + 3 * 8 + 8;
  POISE_TRY(ChooseTriplets(ctx, large, per_node, &k));
  int64_t m = k * k * k, n = NODE * m;
  POISE_TRY(Left(ctx, &left));
  if (!FitsInto(ctx, "triplets", per_node * (double)m, left)) return POISE_OK;
  POISE_TRY(OpenStencil(ctx, k, &s));
  POISE_TRY(New(&s, n, sizeof *rows, &rows));
  POISE_TRY(New(&s, n, sizeof *cols, &cols));
  POISE_TRY(Do(&s, (Work){.job = MAKE_TRIPLETS, .rows = rows, .cols = cols}, NULL));
  POISE_TRY(PoiseMatCreate(ctx, m, m, m, m, &A));
  double start = PoiseTime();
  POISE_TRY(PoiseMatSetPatternDeviceCOO(A, n, rows, cols));
  double seconds = PoiseTime() - start;
  s.place->release(rows);
  s.place->release(cols);
  POISE_TRY(PoiseMatNonzeros(A, &nz));
  PoisePrintf(ctx, "  %lld x %lld, %lld nonzeros of %lld triplets, pattern in %.3f s\n", (long long)m,
              (long long)m, (long long)nz, (long long)n, seconds);
  DEMAND(nz == Before(k, m));
  POISE_TRY(New(&s, n, sizeof *v, &v));
  for (int factor = 2; factor > 0; factor--) {
    POISE_TRY(Do(&s, (Work){.job = MAKE_VALUES, .factor = factor, .v = v}, NULL));
    start = PoiseTime();
    POISE_TRY(PoiseMatSetValuesDeviceCOO(A, v));
    POISE_TRY(Do(&s, (Work){.job = MAKE_X, .out = s.x}, NULL)); /* waits */
    PoisePrintf(ctx, "  values in %.4f s\n", PoiseTime() - start);
    POISE_TRY(CheckStencil(&s, A, factor));
  }
  s.place->release(v);
  POISE_TRY(SolveStencil(&s, A, 20));
  POISE_TRY(PoiseMatDestroy(&A));
  CloseStencil(&s);
  return POISE_OK;
}

/* In the order of -only's words, behind "all". */
static PoiseErr (*const parts[])(PoiseContext, const Large *) = {Dense, Band, StencilRows, StencilTriplets};

static PoiseErr Run(PoiseContext ctx)
{
  Large large;
  POISE_TRY(PoiseOptionsDefaults(options, &large));
  POISE_TRY(PoiseOptionsRead(ctx, NULL, options, &large));
  for (int k = 0; k < 4; k++)
    if (!large.only || large.only == k + 1) POISE_TRY(parts[k](ctx, &large));
  return POISE_OK;
}

int main(int argc, char **argv)
{
  PoiseContext ctx;
  PoiseInit init = {.serial = 1, .options = options};
  PoiseErr e = PoiseInitialize(&argc, &argv, &init, &ctx);
  if (!e) {
    e = Run(ctx);
    if (e) fprintf(stderr, "%s", PoiseErrorText());
    PoiseFinalize(&ctx);
  }
  return e != POISE_OK;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Matrices of more than 2^31 nonzeros on one rank, judged by exact results: values are small whole numbers. A part that needs more
  memory than there is says so and is skipped.

    large [-nonzeros 2300000000] [-device cuda] [-ilu no]

  dense  m x 1024. All rows have the same columns and every 1024th the same values, so that one small file, mapped over and over,
         is the whole matrix: its product needs 1.1 GiB (on the host).
  band   A = (2 h + 1) I - the ones of h diagonals on either side, in arrays that the library takes over. With all of the band
         stored its incomplete factors are the exact ones, and a solve with them takes one iteration.
*/
#define _GNU_SOURCE
#include <math.h>
#include <poise.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define DEMAND(cond)                                                \
  do {                                                              \
    if (!(cond)) POISE_FAIL(POISE_ERR_NUMERIC, "wrong: %s", #cond); \
  } while (0)

typedef struct Large {
  PoiseInt nonzeros;
  int ilu;
} Large;

static const PoiseOption options[] = {
    {"nonzeros", POISE_OPTION_INT, offsetof(Large, nonzeros), "2300000000", 1, 1e12, NULL, "of the matrix, at least"},
    {"ilu", POISE_OPTION_BOOL, offsetof(Large, ilu), "yes", 0, 0, NULL, "incomplete factors too"},
    {0}};

/* ---- memory ----------------------------------------------------------------------------------------------------------- */

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

static int Fits(PoiseContext ctx, const char *part, double bytes)
{
  double there = Available();
  int fits = bytes < 0.95 * there;
  PoisePrintf(ctx, "%s: needs %.1f GiB, %.1f are there%s\n", part, bytes * 0x1p-30, there * 0x1p-30,
              fits ? "" : ": skipped");
  return fits;
}

/* ---- dense: the same pages over and over ---------------------------------------------------------------------------------- */

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
  if (!mapped) POISE_FAIL(POISE_ERR_MEMORY, "%lld mappings of %zu bytes are refused", (long long)tiles, bytes);
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
  char *array[2];
  int64_t tiles = (large->nonzeros + TILE - 1) / TILE, m = 1024 * tiles, *ptr;
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

/* ---- band -------------------------------------------------------------------------------------------------------------- */

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
    for (int64_t j = First(i); j <= Last(i, m); j++) col[k] = (int32_t)j, val[k++] = i == j ? 2 * HALF + 1 : -1;
  PoisePrintf(ctx, "  %lld x %lld, %lld nonzeros\n", (long long)m, (long long)m, (long long)k);
  return PoiseMatCreateCSR(ctx, m, m, m, m, &(PoiseCSR){.ptr64 = ptr, .col32 = col, .val = val}, POISE_ADOPT, A);
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
  if (wrong) POISE_FAIL(POISE_ERR_NUMERIC, "%lld of %lld entries of the product are wrong", (long long)wrong, (long long)m);
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
  PoisePrintf(ctx, "  cg with %s: right to %.1e, %lld iterations, set up in %.2f s, solved in %.2f s\n", pc, error,
              (long long)PoiseKSPIterations(ksp), ready - start, end - ready);
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

static PoiseErr Run(PoiseContext ctx)
{
  Large large;
  POISE_TRY(PoiseOptionsDefaults(options, &large));
  POISE_TRY(PoiseOptionsRead(ctx, NULL, options, &large));
  POISE_TRY(Dense(ctx, &large));
  return Band(ctx, &large);
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

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Products with several vectors at once, beside cuSPARSE on a GPU in the same run:

  spmm -device cuda -problem 7 -bytes 7e8 [-blocks]

  A row for each number of columns: microseconds of Y = A X by the library, and the share of the bandwidth
  of copying that its compulsory bytes reach; then cusparseSpMM by its fastest algorithm, and how many
  times as long it takes. Compulsory are the matrix as it is stored, X and Y, each once. -blocks: the
  matrix in blocks of the problem's unknowns; cuSPARSE has it as CSR. The exit status is 1 where rows, of
  which a sample is looked at, are not those of sums on the host.
*/
#include <inttypes.h>
#include <math.h>
#include <poise.h>
#include <stdlib.h>
#include <string.h>

#include "common/library.h"
#include "spmm.h"

#define TRY POISE_TRY

enum { MOST = 32, SAMPLE = 4000 };

typedef struct Options {
  int problem, blocks;
  double bytes, copy, seconds;
  PoiseInt rounds;
} Options;

static const PoiseOption table[] = {
    {"problem", POISE_OPTION_CHOICE, offsetof(Options, problem), "7", 0, 0, PROBLEM_WORDS, "which matrix"},
    {"blocks", POISE_OPTION_BOOL, offsetof(Options, blocks), "no", 0, 0, NULL, "type bcsr"},
    {"bytes", POISE_OPTION_REAL, offsetof(Options, bytes), "3e6", 1, 2.5e10, NULL, "bytes of A"},
    {"copy", POISE_OPTION_REAL, offsetof(Options, copy), "0", 0, 1e14, NULL,
     "bytes a second that copying moves; 0: cudaMemcpyAsync is measured"},
    {"seconds", POISE_OPTION_REAL, offsetof(Options, seconds), "0.005", 0, 10, NULL, "of a round, at least"},
    {"rounds", POISE_OPTION_INT, offsetof(Options, rounds), "9", 1, MAX_REPEATS, NULL, "of each product"},
    {0},
};

typedef struct Bench {
  PoiseContext ctx;
  Options o;
  Library library; /* waits */
  Rows rows;
  PoiseMat A;
  double *x, *y, *columns, matrix; /* numbers of X and Y, rows interleaved; by columns; bytes of A */
  void *peer;
  bool cuda, wrong;
} Bench;

static PoiseErr Create(Bench *b)
{
  const Rows *r = &b->rows;
  PoiseCSR csr = {.ptr32 = r->ptr, .col32 = r->col, .val = r->val};
  double entries = r->ptr[r->n], side = r->block;
  size_t numbers = (size_t)r->n * MOST * sizeof(double);
  TRY(PoiseMatCreateCSR(b->ctx, r->n, r->n, r->N, r->N, &csr, POISE_COPY, &b->A));
  b->matrix = 12 * entries + 4 * (double)(r->n + 1);
  if (b->o.blocks) {
    TRY(PoiseMatSetBlockSize(b->A, r->block));
    TRY(PoiseMatSetType(b->A, "bcsr"));
    b->matrix = (8 + 4 / (side * side)) * entries + 4 * ((double)r->n / side + 1);
  } else {
    TRY(PoiseMatSetFromOptions(b->A));
  }
  b->x = LargePages(numbers), b->y = LargePages(numbers), b->columns = LargePages(numbers);
  if (!b->x || !b->y || !b->columns)
    POISE_FAIL(POISE_ERR_MEMORY, "no memory for vectors of %d columns", MOST);
  for (int64_t i = 0; i < r->n * MOST; i++) b->x[i] = RandomAt(i, 7) - 0.5;
  return POISE_OK;
}

/* The largest error of a sample of rows over the sum of their terms' magnitudes. */
static double ErrorOf(const Bench *b, int k)
{
  const Rows *r = &b->rows;
  int64_t step = r->n / SAMPLE + 1;
  double worst = 0;
#pragma omp parallel for schedule(static) reduction(max : worst)
  for (int64_t i = 0; i < r->n; i += step)
    for (int j = 0; j < k; j++) {
      double sum = 0, size = 0;
      for (int32_t e = r->ptr[i]; e < r->ptr[i + 1]; e++) {
        double term = r->val[e] * b->x[(int64_t)r->col[e] * k + j];
        sum += term, size += fabs(term);
      }
      double error = fabs(b->y[i * k + j] - sum) / (size > 0 ? size : 1);
      if (!(error <= worst)) worst = error == error ? error : INFINITY;
    }
  return worst;
}

static void Check(Bench *b, int k, const char *who)
{
  double error = ErrorOf(b, k);
  if (error < 1e-13) return;
  printf("# %s with %d columns is wrong by %g\n", who, k, error);
  b->wrong = true;
}

/* Enqueues `count` products. */
static PoiseErr Multiply(Bench *b, PoiseVec X, PoiseVec Y, int64_t count)
{
  for (int64_t c = 0; c < count; c++) TRY(PoiseMatMultBlock(b->A, X, Y));
  return b->library.lane.wait(b->library.lane.arg);
}

static PoiseErr Measure(Bench *b, PoiseVec X, PoiseVec Y, double *seconds)
{
  Times t = {0};
  TRY(Multiply(b, X, Y, 1));
  double start = PoiseTime();
  TRY(Multiply(b, X, Y, 2));
  int64_t count = 1 + (int64_t)(b->o.seconds / (1e-9 + (PoiseTime() - start) / 2));
  for (PoiseInt r = 0; r < b->o.rounds; r++) {
    start = PoiseTime();
    TRY(Multiply(b, X, Y, count));
    t.t[t.n++] = (PoiseTime() - start) / (double)count;
  }
  *seconds = Median(&t);
  return POISE_OK;
}

/* X has the first n k numbers of x as its entries, rows interleaved. */
static PoiseErr Fill(Bench *b, PoiseVec X, int k)
{
  int64_t n = b->rows.n;
  for (int j = 0; j < k; j++)
    for (int64_t i = 0; i < n; i++) b->columns[j * n + i] = b->x[i * k + j];
  return PoiseVecSetColumns(X, n, b->columns);
}

static PoiseErr Fetch(Bench *b, PoiseVec Y, int k)
{
  int64_t n = b->rows.n;
  TRY(PoiseVecGetColumns(Y, n, b->columns));
  for (int j = 0; j < k; j++)
    for (int64_t i = 0; i < n; i++) b->y[i * k + j] = b->columns[j * n + i];
  return POISE_OK;
}

static PoiseErr ByLibrary(Bench *b, int k, double *seconds)
{
  PoiseVec X = NULL, Y = NULL;
  PoiseErr e = PoiseVecCreateBlock(b->ctx, b->rows.n, b->rows.N, k, &X);
  if (!e) e = PoiseVecCreateBlock(b->ctx, b->rows.n, b->rows.N, k, &Y);
  if (!e) e = Fill(b, X, k);
  if (!e) e = Measure(b, X, Y, seconds);
  if (!e) e = Fetch(b, Y, k);
  if (!e) Check(b, k, "poise");
  PoiseVecDestroy(&X);
  PoiseVecDestroy(&Y);
  return e;
}

#ifdef POISE_HAVE_CUDA
static PoiseErr Went(const char *wrong)
{
  if (!wrong) return POISE_OK;
  POISE_FAIL(POISE_ERR_DEVICE, "cuSPARSE: %s", wrong);
}

static PoiseErr OpenPeer(Bench *b)
{
  const Rows *r = &b->rows;
  SpmmMatrix A = {r->n, r->ptr[r->n], r->ptr, r->col, r->val};
  if (!b->cuda) return POISE_OK;
  if (b->o.copy == 0) TRY(Went(spmm_cusparse.copy(&b->o.copy)));
  return Went(spmm_cusparse.open(&A, MOST, b->x, &b->peer));
}

static PoiseErr ByCusparse(Bench *b, int k, double *seconds, const char **algorithm)
{
  if (!b->cuda) return POISE_OK;
  TRY(Went(spmm_cusparse.best(b->peer, k, (int)b->o.rounds, seconds, algorithm, b->y)));
  Check(b, k, "cusparse");
  return POISE_OK;
}

static void ClosePeer(Bench *b)
{
  spmm_cusparse.close(b->peer);
}
#else
static PoiseErr OpenPeer(Bench *b)
{
  (void)b;
  return POISE_OK;
}

static PoiseErr ByCusparse(Bench *b, int k, double *seconds, const char **algorithm)
{
  (void)b, (void)k, (void)seconds, (void)algorithm;
  return POISE_OK;
}

static void ClosePeer(Bench *b)
{
  (void)b;
}
#endif

static PoiseErr Run(Bench *b)
{
  static const int columns[] = {1, 2, 3, 4, 7, 8, 16, 17, 32};
  TRY(CreateRows(b->ctx, b->o.problem, true, b->o.bytes, &b->rows));
  TRY(Create(b));
  TRY(OpenLibrary(b->ctx, 1, &b->library));
  TRY(OpenPeer(b));
  TRY(PoisePrintf(b->ctx,
                  "# %s%s: %" PRId64 " rows, %d entries; copying %.0f GB/s\n# columns; us, share of copying; "
                  "cusparse: us, algorithm, times as long\n",
                  problem_words[b->o.problem], b->o.blocks ? " in blocks" : "", b->rows.n,
                  b->rows.ptr[b->rows.n], 1e-9 * b->o.copy));
  for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
    int k = columns[c];
    double t = 0, peer = NAN, bytes = b->matrix + 16.0 * k * (double)b->rows.n;
    const char *algorithm = "-";
    TRY(ByLibrary(b, k, &t));
    TRY(ByCusparse(b, k, &peer, &algorithm));
    TRY(PoisePrintf(b->ctx, "%7d %10.1f %6.3f %10.1f %8s %6.2f\n", k, 1e6 * t, bytes / t / b->o.copy,
                    1e6 * peer, algorithm, peer / t));
  }
  return POISE_OK;
}

int main(int argc, char **argv)
{
  Bench b = {0};
  const PoiseInit init = {.help = "Products with several vectors at once", .options = table};
  PoiseErr e = PoiseInitialize(&argc, &argv, &init, &b.ctx);
  if (!e) e = PoiseOptionsDefaults(table, &b.o);
  if (!e) e = PoiseOptionsRead(b.ctx, NULL, table, &b.o);
  if (!e) b.cuda = !strcmp(DeviceOf(b.ctx), "cuda");
  if (!e) e = Run(&b);
  ClosePeer(&b);
  CloseLibrary(&b.library);
  PoiseMatDestroy(&b.A);
  DestroyRows(&b.rows);
  free(b.x), free(b.y), free(b.columns);
  if (!e) e = PoiseFinalize(&b.ctx);
  if (e) fputs(PoiseErrorText(), stderr);
  return e || b.wrong ? 1 : 0;
}

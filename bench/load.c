/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Time and memory of loading a matrix from a file.

    load -n 156 -make stencil.mtx                 writes a 27-point stencil on 156^3 points, 101 million
    entries, 2 GB
    load -n 156 -make stencil.mtx -scatter        the same, its rows in a scattered order
    mpirun -n 4 load -A stencil.mtx               loads it; a line for each rank

  A rank's share is what its rows take as CSR: 12 bytes per entry and 4 per row. Its peak is the largest
  resident set of the process while it loads, less what was resident before. Ranks are MPI processes: threads
  would share one peak.
*/
#include <inttypes.h>
#include <poise.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

typedef struct Settings {
  char A[POISE_OPTION_LENGTH], make[POISE_OPTION_LENGTH];
  PoiseInt n;
  int scatter;
} Settings;

static const PoiseOption options[] = {
    {"A", POISE_OPTION_STRING, offsetof(Settings, A), "", 0, 0, NULL, "file to load"},
    {"make", POISE_OPTION_STRING, offsetof(Settings, make), "", 0, 0, NULL,
     "Matrix Market file to write, instead"},
    {"n", POISE_OPTION_INT, offsetof(Settings, n), "20", 1, 1000, NULL,
     "points in each direction of the file to write"},
    {"scatter", POISE_OPTION_BOOL, offsetof(Settings, scatter), "no", 0, 0, NULL, "rows not in their order"},
    {0}};

/* ---- writing --------------------------------------------------------------------------------- */

static void WriteRow(FILE *f, PoiseInt n, PoiseInt row)
{
  PoiseInt x = row % n, y = row / n % n, z = row / n / n;
  for (PoiseInt c = z - (z > 0); c <= z + (z < n - 1); c++)
    for (PoiseInt b = y - (y > 0); b <= y + (y < n - 1); b++)
      for (PoiseInt a = x - (x > 0); a <= x + (x < n - 1); a++) {
        PoiseInt col = (c * n + b) * n + a;
        if (col == row)
          fprintf(f, "%" PRId64 " %" PRId64 " 26.5\n", row + 1, col + 1);
        else
          fprintf(f, "%" PRId64 " %" PRId64 " -0.%d\n", row + 1, col + 1,
                  (int)((row * 7 + col * 3) % 9000) + 1000);
      }
}

static PoiseErr Make(const Settings *s)
{
  PoiseInt n = s->n, N = n * n * n, line = 3 * n - 2, step = 1;
  FILE *f = fopen(s->make, "w");
  if (!f) POISE_FAIL(POISE_ERR_FILE, "cannot write '%s'", s->make);
  fprintf(f, "%%%%MatrixMarket matrix coordinate real general\n%" PRId64 " %" PRId64 " %" PRId64 "\n", N, N,
          line * line * line);
  if (s->scatter) /* a prime that does not divide N visits every row once */
    for (step = 1000003; N % step == 0;) step = 999983;
  for (PoiseInt k = 0, row = 0; k < N; k++, row = (row + step) % N) WriteRow(f, n, row);
  int failed = ferror(f) | fclose(f);
  if (failed) POISE_FAIL(POISE_ERR_FILE, "cannot write '%s'", s->make);
  return POISE_OK;
}

/* ---- loading --------------------------------------------------------------------------------- */

static double Peak(void)
{
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return 1e-3 * (double)usage.ru_maxrss;
}

static PoiseErr Report(PoiseMat A, double peak, double seconds, double megabytes)
{
  PoiseContext ctx = PoiseMatContext(A);
  PoiseInt M, m, nz, begin, n, mine = 0;
  const PoiseInt *cols;
  const double *v;
  PoiseMatSizes(A, &M, NULL);
  PoiseSplit(ctx, M, &begin, &m);
  POISE_TRY(PoiseMatNonzeros(A, &nz));
  for (PoiseInt i = begin; i < begin + m; i++) {
    POISE_TRY(PoiseMatGetRow(A, i, &n, &cols, &v));
    mine += n;
  }
  POISE_TRY(PoisePrintf(ctx, "%" PRId64 " entries, %.0f MB of text, %.2f s, %.0f MB/s\n", nz, megabytes,
                        seconds, megabytes / seconds));
  for (int r = 0; r < PoiseSize(ctx); r++) {
    double line[4] = {0};
    if (r == PoiseRank(ctx))
      line[0] = (double)mine, line[1] = 1e-6 * (12.0 * (double)mine + 4.0 * (double)(m + 1)), line[2] = peak;
    POISE_TRY(PoiseSum(ctx, 3, line));
    POISE_TRY(PoisePrintf(ctx, "rank %d: %.0f entries, share %.1f MB, peak %.1f MB, %.3f of its share\n", r,
                          line[0], line[1], line[2], line[2] / line[1]));
  }
  return POISE_OK;
}

static PoiseErr Load(PoiseContext ctx, void *arg)
{
  const Settings *s = arg;
  struct stat info;
  PoiseMat A;
  if (stat(s->A, &info)) POISE_FAIL(POISE_ERR_FILE, "cannot find '%s'", s->A);
  POISE_TRY(PoiseBarrier(ctx));
  double before = Peak(), start = PoiseTime();
  POISE_TRY(PoiseMatLoad(ctx, s->A, &A));
  double seconds = PoiseTime() - start, peak = Peak() - before;
  PoiseErr e = Report(A, peak, seconds, 1e-6 * (double)info.st_size);
  PoiseMatDestroy(&A);
  return e;
}

int main(int argc, char **argv)
{
  PoiseContext ctx;
  Settings s;
  PoiseErr e = PoiseInitialize(&argc, &argv, &(PoiseInit){.options = options}, &ctx);
  if (!e) e = PoiseOptionsDefaults(options, &s);
  if (!e) e = PoiseOptionsRead(ctx, NULL, options, &s);
  if (!e) e = s.make[0] ? Make(&s) : PoiseRun(ctx, Load, &s);
  if (!e) e = PoiseFinalize(&ctx);
  if (e) fprintf(stderr, "%s", PoiseErrorText());
  return e != POISE_OK;
}

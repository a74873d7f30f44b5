/* SPDX-License-Identifier: BSD-3-Clause */
/*
  How fast files are written and read, and with how much memory: a matrix with the pattern of a 7-point
  stencil on n^3 points, or with entries in random columns (-pattern random).

    files -n 220 -file /tmp/a.petsc [-repeat 3]
    mpirun -n 2 files -n 220 -file /tmp/a.petsc

  Prints MB/s (10^6 bytes of the file) of the fastest of the repeats, the seconds of processor time of that
  rank's process, which say more on a busy machine, and the peak of memory while reading: what the largest
  rank held beyond what it held before, over its share of plain CSR (12 bytes per entry, 4 per row). On
  several ranks that are threads memory is that of the process over all shares.
*/
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <poise.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

typedef struct Options {
  char file[POISE_OPTION_LENGTH];
  PoiseInt n, repeat;
  int pattern, write;
} Options;

enum { STENCIL, RANDOM };

static const PoiseOption table[] = {
    {"n", POISE_OPTION_INT, offsetof(Options, n), "100", 1, 2000, NULL, "points in each direction"},
    {"file", POISE_OPTION_STRING, offsetof(Options, file), "/tmp/poise.petsc", 0, 0, NULL,
     "file to write and read"},
    {"repeat", POISE_OPTION_INT, offsetof(Options, repeat), "3", 1, 100, NULL, "how often it is read"},
    {"pattern", POISE_OPTION_CHOICE, offsetof(Options, pattern), "stencil", 0, 0, "stencil|random",
     "of the matrix"},
    {"write", POISE_OPTION_BOOL, offsetof(Options, write), "yes", 0, 0, NULL,
     "write the file first; else it is there"},
    {0},
};

/* "VmHWM" or "VmRSS" of this process in bytes, where the system tells. */
static double Memory(const char *key)
{
  char line[256];
  double kb = 0;
  FILE *f = fopen("/proc/self/status", "r");
  while (f && fgets(line, sizeof line, f))
    if (!strncmp(line, key, strlen(key))) kb = strtod(line + strlen(key) + 1, NULL);
  if (f) fclose(f);
  return 1024 * kb;
}

static void ResetPeak(void)
{
  FILE *f = fopen("/proc/self/clear_refs", "w");
  if (!f) return;
  fputs("5", f);
  fclose(f);
}

static double Processor(void)
{
  return (double)clock() / CLOCKS_PER_SEC;
}

static uint64_t Mix(uint64_t z)
{
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

static int CompareInts(const void *a, const void *b)
{
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* The columns of row i, ascending; gives their number. */
static int Row(const Options *o, PoiseInt i, int64_t col[7])
{
  PoiseInt n = o->n, N = n * n * n, x = i % n, y = i / n % n, z = i / n / n;
  int k = 0;
  if (o->pattern == RANDOM) { /* one in each seventh of the columns: none twice */
    for (; k < 7 && N >= 7; k++)
      col[k] = N / 7 * k + (int64_t)(Mix((uint64_t)(7 * i + k)) % (uint64_t)(N / 7));
    qsort(col, (size_t)k, sizeof *col, CompareInts);
    return k;
  }
  if (z > 0) col[k++] = i - n * n;
  if (y > 0) col[k++] = i - n;
  if (x > 0) col[k++] = i - 1;
  col[k++] = i;
  if (x < n - 1) col[k++] = i + 1;
  if (y < n - 1) col[k++] = i + n;
  if (z < n - 1) col[k++] = i + n * n;
  return k;
}

static PoiseErr Make(PoiseContext ctx, const Options *o, PoiseMat *A)
{
  PoiseInt N = o->n * o->n * o->n, begin, m;
  int64_t nz = 0;
  PoiseSplit(ctx, N, &begin, &m);
  int64_t *ptr = malloc((size_t)(m + 1) * sizeof *ptr);
  int32_t *col = malloc((size_t)(7 * m + 1) * sizeof *col);
  double *val = malloc((size_t)(7 * m + 1) * sizeof *val);
  PoiseErr e = ptr && col && val ? POISE_OK
                                 : PoiseErrorSet(POISE_ERR_MEMORY, __func__, __FILE__, __LINE__,
                                                 "no memory for the matrix");
  if (!e) ptr[0] = 0;
  for (PoiseInt i = 0; !e && i < m; i++) {
    int64_t c[7];
    int count = Row(o, begin + i, c);
    for (int k = 0; k < count; k++) col[nz] = (int32_t)c[k], val[nz] = c[k] == begin + i ? 6.5 : -1, nz++;
    ptr[i + 1] = nz;
  }
  e = PoiseAgree(ctx, e);
  if (!e)
    e = PoiseMatCreateCSR(ctx, m, m, N, N, &(PoiseCSR){.ptr64 = ptr, .col32 = col, .val = val}, POISE_ADOPT,
                          A);
  if (e) free(ptr), free(col), free(val);
  return e;
}

static PoiseErr Write(PoiseContext ctx, const Options *o)
{
  PoiseMat A;
  struct stat info;
  POISE_TRY(Make(ctx, o, &A));
  double time = PoiseTime(), cpu = Processor();
  PoiseErr e = PoiseMatSave(A, o->file);
  time = PoiseTime() - time;
  cpu = Processor() - cpu;
  POISE_TRY(PoiseMatDestroy(&A));
  POISE_TRY(e);
  POISE_TRY(PoiseMax(ctx, 1, &time));
  POISE_TRY(PoiseMax(ctx, 1, &cpu));
  double bytes = stat(o->file, &info) ? 0 : (double)info.st_size;
  return PoisePrintf(ctx, "write  %7.0f MB  %7.3f s  %6.0f MB/s  processor %.3f s\n", bytes * 1e-6, time,
                     bytes * 1e-6 / time, cpu);
}

static PoiseErr Read(PoiseContext ctx, const Options *o)
{
  struct stat info;
  PoiseMat A = NULL;
  double best[] = {1e300, 1e300}, peak = 0;
  for (PoiseInt k = 0; k < o->repeat; k++) {
    PoiseInt m = 0, n = 0, nz = 0;
    POISE_TRY(PoiseBarrier(ctx));
    ResetPeak();
    double before = Memory("VmRSS:"), time = PoiseTime(), cpu = Processor();
    POISE_TRY(PoiseMatLoad(ctx, o->file, &A));
    time = PoiseTime() - time;
    cpu = Processor() - cpu;
    double held = Memory("VmHWM:") - before;
    PoiseMatLocalSizes(A, &m, &n);
    POISE_TRY(PoiseMatNonzeros(A, &nz));
    double share = (12 * (double)nz + 4 * (double)m * PoiseSize(ctx)) / PoiseSize(ctx);
    double most[] = {time, cpu, held / share};
    POISE_TRY(PoiseMatDestroy(&A));
    POISE_TRY(PoiseMax(ctx, 3, most));
    for (int l = 0; l < 2; l++)
      if (most[l] < best[l]) best[l] = most[l];
    if (most[2] > peak) peak = most[2];
  }
  double bytes = stat(o->file, &info) ? 0 : (double)info.st_size;
  return PoisePrintf(ctx,
                     "read   %7.0f MB  %7.3f s  %6.0f MB/s  processor %.3f s  peak %.2f of a rank's CSR\n",
                     bytes * 1e-6, best[0], bytes * 1e-6 / best[0], best[1], peak);
}

static PoiseErr Run(PoiseContext ctx, void *arg)
{
  Options o;
  (void)arg;
  POISE_TRY(PoiseOptionsDefaults(table, &o));
  POISE_TRY(PoiseOptionsRead(ctx, NULL, table, &o));
  POISE_TRY(PoisePrintf(ctx, "%s, %d ranks\n", o.file, PoiseSize(ctx)));
  if (o.write) POISE_TRY(Write(ctx, &o));
  return Read(ctx, &o);
}

int main(int argc, char **argv)
{
  PoiseContext ctx;
  PoiseErr err =
      PoiseInitialize(&argc, &argv, &(PoiseInit){.help = "Speed of files.", .options = table}, &ctx);
  if (err == POISE_OK) err = PoiseRun(ctx, Run, NULL);
  if (err != POISE_OK) fputs(PoiseErrorText(), stderr);
  PoiseErr end = PoiseFinalize(&ctx);
  if (end != POISE_OK) fputs(PoiseErrorText(), stderr);
  return err != POISE_OK || end != POISE_OK;
}

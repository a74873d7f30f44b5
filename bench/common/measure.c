/* SPDX-License-Identifier: BSD-3-Clause */
#define _DEFAULT_SOURCE /* madvise */
#include "measure.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int CompareDoubles(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double Median(Times *t)
{
  qsort(t->t, (size_t)t->n, sizeof *t->t, CompareDoubles);
  return t->n ? t->t[t->n / 2] : NAN;
}

double Least(Times *t)
{
  (void)Median(t);
  return t->n ? t->t[0] : NAN;
}

PoiseErr Begin(PoiseContext ctx, double *start)
{
  POISE_TRY(PoiseBarrier(ctx));
  *start = PoiseTime();
  return POISE_OK;
}

PoiseErr End(PoiseContext ctx, double start, Times *t)
{
  double time = PoiseTime() - start;
  POISE_TRY(PoiseMax(ctx, 1, &time));
  t->t[t->n++] = time;
  return POISE_OK;
}

/* ---- bandwidth ------------------------------------------------------------------------------- */

enum { LANES = 8, CHUNK = 1024, STREAMS = 4 };

const double bandwidth_bytes[BANDWIDTHS] = {8, 16, 24};

void *LargePages(size_t bytes)
{
  const size_t page = (size_t)1 << 21;
  if (bytes < 2 * page) return malloc(bytes + !bytes);
  size_t whole = (bytes + page - 1) / page * page;
  void *p = aligned_alloc(page, whole);
  if (p) (void)madvise(p, whole, MADV_HUGEPAGE);
  return p;
}

PoiseErr CreateBandwidth(int64_t n, Bandwidth *w)
{
  *w = (Bandwidth){.n = (n + STREAMS * CHUNK - 1) / (STREAMS * CHUNK) * (STREAMS * CHUNK)};
  w->a = LargePages((size_t)w->n * sizeof(double));
  w->b = LargePages((size_t)w->n * sizeof(double));
  w->c = LargePages((size_t)w->n * sizeof(double));
  if (!w->a || !w->b || !w->c) POISE_FAIL(POISE_ERR_MEMORY, "three arrays of %lld numbers", (long long)w->n);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < w->n; i++) w->a[i] = 1, w->b[i] = 2, w->c[i] = 3;
  return POISE_OK;
}

void DestroyBandwidth(Bandwidth *w)
{
  free(w->a);
  free(w->b);
  free(w->c);
  *w = (Bandwidth){0};
}

/* From several places on at once: a core fetches one stream ahead less far than several. */
static double ReadArray(const double *a, int64_t n)
{
  double total = 0;
  int64_t part = n / STREAMS;
#pragma omp parallel for schedule(static) reduction(+ : total)
  for (int64_t block = 0; block < part / CHUNK; block++) {
    double s[STREAMS * LANES] = {0};
    for (int64_t i = block * CHUNK; i < (block + 1) * CHUNK; i += LANES)
      for (int k = 0; k < STREAMS; k++) {
#pragma omp simd
        for (int l = 0; l < LANES; l++) s[k * LANES + l] += a[k * part + i + l];
      }
    for (int l = 0; l < STREAMS * LANES; l++) total += s[l];
  }
  return total;
}

void RunBandwidth(Bandwidth *w, int kind)
{
  double *restrict a = w->a, *restrict b = w->b, *restrict c = w->c;
  if (kind == READ) w->sink += ReadArray(a, w->n);
  if (kind == COPY) {
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < w->n; i++) b[i] = a[i];
  }
  if (kind == TRIAD) {
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < w->n; i++) c[i] = a[i] + 3 * b[i];
  }
}

/* ---- files ----------------------------------------------------------------------------------- */

static PoiseErr CannotWrite(const char *path, int error)
{
  return PoiseErrorSet(POISE_ERR_FILE, __func__, __FILE__, __LINE__, "cannot write '%s': %s", path,
                       strerror(error));
}

PoiseErr BeginFile(const char *path, OutputFile *f)
{
  *f = (OutputFile){0};
  if (!*path) return POISE_OK;
  snprintf(f->path, sizeof f->path, "%s", path);
  snprintf(f->temporary, sizeof f->temporary, "%s.%ld.tmp", path, (long)getpid());
  f->stream = fopen(f->temporary, "w");
  return f->stream ? POISE_OK : CannotWrite(f->temporary, errno);
}

PoiseErr CommitFile(OutputFile *f)
{
  if (!f->stream) return POISE_OK;
  errno = 0;
  int failed = ferror(f->stream), error = errno;
  if (fclose(f->stream)) failed = 1, error = errno;
  f->stream = NULL;
  if (!failed && !rename(f->temporary, f->path)) return POISE_OK;
  if (!failed) error = errno;
  remove(f->temporary);
  return CannotWrite(f->path, error ? error : EIO);
}

void AbortFile(OutputFile *f)
{
  if (!f->stream) return;
  fclose(f->stream);
  f->stream = NULL;
  remove(f->temporary);
}

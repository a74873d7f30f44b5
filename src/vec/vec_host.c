/* SPDX-License-Identifier: BSD-3-Clause */
/* Host kernels on vectors, other than phases. Threads divide blocks of POISE_BLOCK rows; results do not
   depend on how. */
#include "vec_host.h"
#include "vec_kernels.h"

#define REAL    double
#define NAME(n) n
#include "vec_many_host.h"
#undef REAL
#undef NAME

#define REAL    float
#define NAME(n) n##_f32
#include "vec_many_host.h"
#undef REAL
#undef NAME

/* y[begin, end) = alpha x + beta y */
static void Update(double alpha, const double *x, double beta, double *y, int64_t begin, int64_t end)
{
  if (beta == 0) {
    HOST_SIMD
    for (int64_t i = begin; i < end; i++) y[i] = alpha * x[i];
  } else {
    HOST_SIMD
    for (int64_t i = begin; i < end; i++) y[i] = alpha * x[i] + beta * y[i];
  }
}

PoiseErr poiseHost_axpby(Device *dev, const void *args)
{
  const AxpbyArgs *a = args;
  int64_t nblock = POISE_NBLOCKS(a->n);
  double alpha = poiseScalar(a->a), beta = poiseScalar(a->b);
  (void)dev;
  if (a->skip && *a->skip != 0) return POISE_OK;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t b = 0; b < nblock; b++) {
    int64_t begin = b * POISE_BLOCK, end = begin + POISE_BLOCK < a->n ? begin + POISE_BLOCK : a->n;
    Update(alpha, a->x, beta, a->y, begin, end);
    if (a->scale) poiseHostScale(a->scale, a->y, begin, end);
    poiseHostFuse(&a->fuse, a->y, begin, end, b);
  }
  return POISE_OK;
}

PoiseErr poiseHost_reduce(Device *dev, const void *args)
{
  const ReduceArgs *a = args;
  (void)dev;
  if (a->skip && *a->skip != 0) return POISE_OK;
  for (int k = 0; k < a->nsum; k++) {
    const double *p = a->partial + k * a->stride;
    double s = a->add ? a->dst[k] : 0;
    for (int64_t b = 0; b < a->count; b++) s = a->max ? poiseLarger(s, p[b]) : s + p[b];
    a->dst[k] = s;
  }
  return POISE_OK;
}

PoiseErr poiseHost_gather(Device *dev, const void *args)
{
  const GatherArgs *a = args;
  int64_t n = a->size > 1 ? a->n * a->size : a->n, nblock = POISE_NBLOCKS(n);
  (void)dev;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t b = 0; b < nblock; b++)
    for (int64_t i = b * POISE_BLOCK; i < (b + 1) * POISE_BLOCK && i < n; i++)
      a->out[i] = poiseGathered(a, i);
  return POISE_OK;
}

PoiseErr poiseHost_scatter_add(Device *dev, const void *args)
{
  const ScatterAddArgs *a = args;
  int64_t nblock = POISE_NBLOCKS(a->n);
  (void)dev;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t b = 0; b < nblock; b++)
    for (int64_t i = b * POISE_BLOCK; i < (b + 1) * POISE_BLOCK && i < a->n; i++) a->y[a->idx[i]] += a->in[i];
  return POISE_OK;
}

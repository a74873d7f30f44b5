/* SPDX-License-Identifier: BSD-3-Clause */
/* Host kernels on vectors, other than phases. Threads divide blocks of POISE_BLOCK rows; results do not
   depend on how. */
#include "vec_host.h"
#include "vec_kernels.h"

static void Dot(int k, const double *const *x, const double *y, int64_t begin, int64_t end, double *partial,
                int64_t stride)
{
  for (int j = 0; j < k; j++) partial[j * stride] = poiseHostDot(x[j], y, begin, end);
}

PoiseErr poiseHost_mdot(Device *dev, const void *args)
{
  const MdotArgs *a = args;
  int64_t nblock = POISE_NBLOCKS(a->n);
  (void)dev;
  if (a->skip && *a->skip != 0) return POISE_OK;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t b = 0; b < nblock; b++) {
    int64_t begin = b * POISE_BLOCK, end = begin + POISE_BLOCK < a->n ? begin + POISE_BLOCK : a->n;
    Dot(a->k, a->x, a->y, begin, end, a->partial + b, a->stride);
  }
  return POISE_OK;
}

/* y[begin, end) += sum_j c_j x_j, four vectors at a time so that y is read and written less often. */
static void Combine(const MaxpyArgs *a, const double *c, int64_t begin, int64_t end)
{
  double *restrict y = a->y;
  int j = 0;
  for (; j + 4 <= a->k; j += 4) {
    const double *x0 = a->x[j], *x1 = a->x[j + 1], *x2 = a->x[j + 2], *x3 = a->x[j + 3];
    for (int64_t i = begin; i < end; i++)
      y[i] = (((y[i] + c[j] * x0[i]) + c[j + 1] * x1[i]) + c[j + 2] * x2[i]) + c[j + 3] * x3[i];
  }
  for (; j < a->k; j++) {
    const double *x = a->x[j];
    for (int64_t i = begin; i < end; i++) y[i] += c[j] * x[i];
  }
}

PoiseErr poiseHost_maxpy(Device *dev, const void *args)
{
  const MaxpyArgs *a = args;
  int64_t nblock = POISE_NBLOCKS(a->n);
  double c[POISE_MAX_BATCH];
  (void)dev;
  if (a->skip && *a->skip != 0) return POISE_OK;
  for (int j = 0; j < a->k; j++) c[j] = a->sign * (a->a ? a->a[j] : a->value[j]);
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t b = 0; b < nblock; b++) {
    int64_t begin = b * POISE_BLOCK, end = begin + POISE_BLOCK < a->n ? begin + POISE_BLOCK : a->n;
    Combine(a, c, begin, end);
    /* while all of this is in cache */
    if (a->again) Dot(a->k, a->x, a->y, begin, end, a->again + b, a->stride);
    poiseHostFuse(&a->fuse, a->y, begin, end, b);
  }
  return POISE_OK;
}

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

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Host kernels with many vectors x_j, mdot and maxpy; and gather. vec_host.c includes this text once for each
  type of the x_j, and of what is gathered. REAL is the type, NAME(n) is n with its suffix. y, coefficients
  and sums are fp64.
*/
/* Add the products with y of the next n entries of four vectors to the lanes. */
POISE_INLINE void NAME(AddFour)(const REAL *const *x, const double *y, int64_t i, int64_t n,
                                double s[4][HOST_LANES])
{
  HOST_SIMD
  for (int l = 0; l < n; l++) {
    s[0][l] += (double)x[0][i + l] * y[i + l];
    s[1][l] += (double)x[1][i + l] * y[i + l];
    s[2][l] += (double)x[2][i + l] * y[i + l];
    s[3][l] += (double)x[3][i + l] * y[i + l];
  }
}

/* (x_j, y) on rows [begin, end) for four vectors, each as poiseHostDot has it. */
static void NAME(FourDots)(const REAL *const *x, const double *y, int64_t begin, int64_t end, double *partial,
                           int64_t stride)
{
  const REAL *four[] = {x[0], x[1], x[2], x[3]};
  double s[4][HOST_LANES] = {{0}};
  int64_t i = begin;
  for (; i + HOST_LANES <= end; i += HOST_LANES) NAME(AddFour)(four, y, i, HOST_LANES, s);
  NAME(AddFour)(four, y, i, end - i, s);
  for (int j = 0; j < 4; j++) partial[j * stride] = poiseHostAddLanes(s[j]);
}

/* The partials of rows of a strip, n rows in all. */
static void NAME(Dot)(int k, const REAL *const *x, const double *y, Strip strip, int64_t n, double *partial,
                      int64_t stride)
{
  for (int j = 0; j < k; j += k - j < 4 ? 1 : 4)
    for (int64_t b = strip.begin; b < strip.end; b++) {
      int64_t begin = b * POISE_BLOCK, end = begin + POISE_BLOCK < n ? begin + POISE_BLOCK : n;
      double *to = partial + j * stride + b;
      if (k - j < 4)
        *to = NAME(poiseHostDot)(x[j], y, begin, end);
      else
        NAME(FourDots)(x + j, y, begin, end, to, stride);
    }
}

PoiseErr NAME(poiseHost_mdot)(Device *dev, const void *args)
{
  const NAME(MdotArgs) *a = args;
  int64_t nblock = POISE_NBLOCKS(a->n), size = StripSize(dev, nblock);
  if (a->skip && *a->skip != 0) return POISE_OK;
  HOST_BLOCKS(dev, nblock, size, b,
              NAME(Dot)(a->k, a->x, a->y, StripAt(b, size, nblock), a->n, a->partial, a->stride));
  return POISE_OK;
}

/* y[begin, end) += sum_j c_j x_j, four vectors at a time so that y is read and written less often. */
static void NAME(Combine)(const NAME(MaxpyArgs) * a, const double *c, int64_t begin, int64_t end)
{
  double *restrict y = a->y;
  int j = 0;
  for (; j + 4 <= a->k; j += 4) {
    const REAL *x0 = a->x[j], *x1 = a->x[j + 1], *x2 = a->x[j + 2], *x3 = a->x[j + 3];
    for (int64_t i = begin; i < end; i++)
      y[i] = (((y[i] + c[j] * x0[i]) + c[j + 1] * x1[i]) + c[j + 2] * x2[i]) + c[j + 3] * x3[i];
  }
  for (; j < a->k; j++) {
    const REAL *x = a->x[j];
    for (int64_t i = begin; i < end; i++) y[i] += c[j] * x[i];
  }
}

/* With the dots that are made while all of this is in cache. */
static void NAME(CombineStrip)(const NAME(MaxpyArgs) * a, const double *c, Strip strip)
{
  int64_t last = strip.end * POISE_BLOCK;
  NAME(Combine)(a, c, strip.begin * POISE_BLOCK, last < a->n ? last : a->n);
  if (a->again) NAME(Dot)(a->k, a->x, a->y, strip, a->n, a->again, a->stride);
  for (int64_t b = strip.begin; b < strip.end; b++) {
    int64_t begin = b * POISE_BLOCK, end = begin + POISE_BLOCK < a->n ? begin + POISE_BLOCK : a->n;
    poiseHostFuse(&a->fuse, a->y, begin, end, b);
  }
}

PoiseErr NAME(poiseHost_maxpy)(Device *dev, const void *args)
{
  const NAME(MaxpyArgs) *a = args;
  int64_t nblock = POISE_NBLOCKS(a->n), size = a->again ? 1 : StripSize(dev, nblock);
  double c[POISE_MAX_BATCH];
  if (a->skip && *a->skip != 0) return POISE_OK;
  for (int j = 0; j < a->k; j++) c[j] = a->sign * (a->a ? a->a[j] : a->value[j]);
  HOST_BLOCKS(dev, nblock, size, b, NAME(CombineStrip)(a, c, StripAt(b, size, nblock)));
  return POISE_OK;
}

PoiseErr NAME(poiseHost_gather)(Device *dev, const void *args)
{
  const NAME(GatherArgs) *a = args;
  int64_t n = a->size > 1 ? a->n * a->size : a->n, nblock = POISE_NBLOCKS(n);
  (void)dev;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t b = 0; b < nblock; b++)
    for (int64_t i = b * POISE_BLOCK; i < (b + 1) * POISE_BLOCK && i < n; i++)
      a->out[i] = NAME(poiseGathered)(a, i);
  return POISE_OK;
}

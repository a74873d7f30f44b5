/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Host kernel y = D (a x + b y). vec_host.c includes this text once for each pair of types. FROM, TO are those
  of x and y, AXPBY(n) is n with the kernel's name, NAME(n) is n with the suffix of y's.
*/
/* y[begin, end) = alpha x + beta y */
static void AXPBY(Update_)(double alpha, const FROM *x, double beta, TO *y, int64_t begin, int64_t end)
{
  if (beta == 0) {
    HOST_SIMD
    for (int64_t i = begin; i < end; i++) y[i] = (TO)(alpha * x[i]);
  } else {
    HOST_SIMD
    for (int64_t i = begin; i < end; i++) y[i] = (TO)(alpha * x[i] + beta * y[i]);
  }
}

PoiseErr AXPBY(poiseHost_)(Device *dev, const void *args)
{
  const ARGS *a = args;
  int64_t nblock = POISE_NBLOCKS(a->n);
  double alpha = poiseScalar(a->a), beta = poiseScalar(a->b);
  (void)dev;
  if (a->skip && *a->skip != 0) return POISE_OK;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t b = 0; b < nblock; b++) {
    int64_t begin = b * POISE_BLOCK, end = begin + POISE_BLOCK < a->n ? begin + POISE_BLOCK : a->n;
    AXPBY(Update_)(alpha, a->x, beta, a->y, begin, end);
    if (a->scale) NAME(poiseHostScale)(a->scale, a->y, begin, end);
    NAME(poiseHostFuse)(&a->fuse, a->y, begin, end, b);
  }
  return POISE_OK;
}

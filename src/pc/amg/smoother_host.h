/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Host kernels of a cycle, beside products. smoother.c includes this text once for each type of values and
  vectors. REAL is the type, NAME(n) is n with its suffix. Traffic of a step: each of its vectors once, and b
  numbers of D^-1 per row.
*/
POISE_INLINE void NAME(Rows)(const NAME(AmgSmoothArgs) * args, int b, double in, int64_t begin, int64_t end)
{
  const NAME(AmgSmoothArgs) local = *args, *a = &local; /* so that stores cannot change it */
  for (int64_t i = begin; i < end; i++) {
    double d = NAME(poiseAmgStep)(a, b, 1, in, i), x = NAME(poiseAmgMove)(a, i, d);
    (void)NAME(poiseAmgStore)(a, in, i, (REAL)d, x, NAME(poiseAmgCopy)(a, in, i));
  }
}

/* Sizes of blocks that the compiler knows, and others. */
static void NAME(AnyRows)(const NAME(AmgSmoothArgs) * a, double in, int64_t begin, int64_t end)
{
  switch (a->b) {
  case 1:
    NAME(Rows)(a, 1, in, begin, end);
    break;
  case 3:
    NAME(Rows)(a, 3, in, begin, end);
    break;
  case 6:
    NAME(Rows)(a, 6, in, begin, end);
    break;
  default:
    NAME(Rows)(a, a->b, in, begin, end);
  }
}

static void NAME(SmoothBlock)(const NAME(AmgSmoothArgs) * a, double in, int64_t k)
{
  int64_t begin = k * POISE_BLOCK, end = begin + POISE_BLOCK < a->n ? begin + POISE_BLOCK : a->n;
  NAME(AnyRows)(a, in, begin, end);
  if (a->z)
    poiseHostFuse(&a->fuse, a->z, begin, end, k);
  else
    NAME(poiseHostFuse)(&a->fuse, a->x, begin, end, k);
}

PoiseErr NAME(poiseHost_amg_smooth)(Device *dev, const void *args)
{
  const NAME(AmgSmoothArgs) *a = args;
  int64_t nblock = POISE_NBLOCKS(a->n);
  (void)dev;
  if (a->skip && *a->skip != 0) return POISE_OK;
  double in = poiseAmgPower(a->range);
  HOST_BLOCKS(dev, nblock, 1, k, NAME(SmoothBlock)(a, in, k));
  return POISE_OK;
}

PoiseErr NAME(poiseHost_amg_dense)(Device *dev, const void *args)
{
  const NAME(AmgDenseArgs) *a = args;
  int64_t nblock = (a->n + DENSE_ROWS - 1) / DENSE_ROWS;
  (void)dev;
  if (a->skip && *a->skip != 0) return POISE_OK;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t k = 0; k < nblock; k++)
    for (int64_t i = k * DENSE_ROWS; i < (k + 1) * DENSE_ROWS && i < a->n; i++)
      a->y[i] = (REAL)(a->scale * NAME(poiseHostDot)(a->x, a->a + i * a->n, 0, a->n));
  return POISE_OK;
}

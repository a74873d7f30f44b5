/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Host kernels of a cycle of several columns, beside products. smoother_columns.c includes this text once for
  each type of values and vectors. REAL is the type, NAME(n) is n with its suffix, FINISHED(a) what a step
  takes dots of, or NULL.
*/

/* Rows [begin, end) of blocks of b. A row's columns are a loop for vector instructions. */
POISE_INLINE void NAME(SmoothRows)(const NAME(AmgSmoothArgs) * a, int b, const double *in, int64_t begin,
                                   int64_t end)
{
  int k = a->columns;
  for (int64_t i = begin; i < end; i++) {
    int64_t first = i / b * b, at = i * k;
    REAL to[POISE_MAX_COLUMNS];
    double d[POISE_MAX_COLUMNS], x[POISE_MAX_COLUMNS];
    HOST_SIMD
    for (int c = 0; c < k; c++) d[c] = NAME(poiseAmgStepOf)(a, b, k, in[c], at + c, i, first);
    HOST_SIMD
    for (int c = 0; c < k; c++) x[c] = NAME(poiseAmgMove)(a, at + c, d[c]);
    HOST_SIMD
    for (int c = 0; c < k; c++) to[c] = NAME(poiseAmgCopy)(a, in[c], at + c);
    HOST_SIMD
    for (int c = 0; c < k; c++) (void)NAME(poiseAmgStore)(a, in[c], at + c, (REAL)d[c], x[c], to[c]);
  }
}

static void NAME(SmoothColumns)(const NAME(AmgSmoothArgs) * args, const double *in, int64_t at)
{
  const NAME(AmgSmoothArgs) local = *args, *a = &local;
  int64_t begin = at * POISE_BLOCK, end = begin + POISE_BLOCK < a->n ? begin + POISE_BLOCK : a->n;
  if (a->b == 1)
    NAME(SmoothRows)(a, 1, in, begin, end);
  else
    NAME(SmoothRows)(a, a->b, in, begin, end);
  if (FINISHED(a)) poiseHostFuseColumns(&a->fuse, FINISHED(a), begin, end, at);
}

PoiseErr NAME(poiseHost_amg_smooth_columns)(Device *dev, const void *args)
{
  const NAME(AmgSmoothArgs) *a = args;
  int64_t nblock = POISE_NBLOCKS(a->n);
  HostColumns in; /* the factors of a right-hand side in each column */
  (void)dev;
  if (a->skip && *a->skip != 0) return POISE_OK;
  for (int c = 0; c < a->columns; c++) in[c] = poiseAmgPower(a->range ? a->range + c : NULL);
  HOST_BLOCKS(dev, nblock, 1, at, NAME(SmoothColumns)(a, in, at));
  return POISE_OK;
}

/* Row i times all columns, each as by itself. */
static void NAME(DenseRow)(const NAME(AmgDenseArgs) * a, int64_t i)
{
  int k = a->columns;
  HostColumns sum;
  NAME(poiseHostRowTimes)(a->a + i * a->n, a->x, k, 0, a->n, sum);
  for (int c = 0; c < k; c++) a->y[i * k + c] = (REAL)(a->scale * sum[c]);
}

PoiseErr NAME(poiseHost_amg_dense_columns)(Device *dev, const void *args)
{
  const NAME(AmgDenseArgs) *a = args;
  int64_t nblock = (a->n + DENSE_ROWS - 1) / DENSE_ROWS;
  (void)dev;
  if (a->skip && *a->skip != 0) return POISE_OK;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t k = 0; k < nblock; k++)
    for (int64_t i = k * DENSE_ROWS; i < (k + 1) * DENSE_ROWS && i < a->n; i++) NAME(DenseRow)(a, i);
  return POISE_OK;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The host's kernel of a smoother's step. Traffic: each of its vectors once, and 8 b bytes of D^-1 per row.
*/
#include "vec/vec_host.h"
#include "amg_kernels.h"

POISE_INLINE void Rows(const AmgSmoothArgs *a, int64_t begin, int64_t end)
{
  for (int64_t i = begin; i < end; i++) {
    double d = poiseAmgStep(a, i);
    if (a->d) a->d[i] = d;
    a->x[i] = poiseAmgMove(a, i, d);
  }
}

/* The same for blocks of a size that the compiler knows. */
POISE_INLINE void RowsOf(const AmgSmoothArgs *a, int b, int64_t begin, int64_t end)
{
  AmgSmoothArgs of = *a;
  of.b = b;
  Rows(&of, begin, end);
}

static void AnyRows(const AmgSmoothArgs *a, int64_t begin, int64_t end)
{
  switch (a->b) {
  case 1:
    RowsOf(a, 1, begin, end);
    break;
  case 3:
    RowsOf(a, 3, begin, end);
    break;
  case 6:
    RowsOf(a, 6, begin, end);
    break;
  default:
    Rows(a, begin, end);
  }
}

PoiseErr poiseHost_amg_smooth(Device *dev, const void *args)
{
  const AmgSmoothArgs *a = args;
  int64_t nblock = POISE_NBLOCKS(a->n);
  (void)dev;
  if (a->skip && *a->skip != 0) return POISE_OK;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t k = 0; k < nblock; k++) {
    int64_t begin = k * POISE_BLOCK, end = begin + POISE_BLOCK < a->n ? begin + POISE_BLOCK : a->n;
    AnyRows(a, begin, end);
    if (a->to) memcpy(a->to + begin, a->from + begin, (size_t)(end - begin) * sizeof(double));
    poiseHostFuse(&a->fuse, a->x, begin, end, k);
  }
  return POISE_OK;
}

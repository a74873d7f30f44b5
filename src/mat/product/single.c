/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays in fp32. */
#include "mat/object/mat.h"
#include "vec/vec_kernels.h"
#include "vec/vec_phases.h"

static PoiseErr Maxima(PoiseContext ctx, Buffer *x, int64_t n)
{
  PhaseArgs p = {.id = PHASE_vec_norm_inf, .n = n};
  TRY(poiseReduceReserve(ctx, POISE_NBLOCKS(n)));
  TRY(poiseBufferWrite(&ctx->reduce_partial, DEVICE, &p.partial[0]));
  TRY(poiseBufferRead(x, DEVICE, &p.in[VEC_X]));
  return LAUNCH(ctx->device, phase, &p);
}

PoiseErr poiseLargest(PoiseContext ctx, Buffer *x, int64_t n, double *largest)
{
  return poiseReduceFinish(ctx, Maxima(ctx, x, n), 1, POISE_NBLOCKS(n), true, largest);
}

PoiseErr poiseMakeSingle(PoiseContext ctx, Buffer *x, int64_t n, double scale, const char *what, Buffer *y)
{
  NarrowArgs a = {.n = n, .a.value = scale};
  if (!y->dev) TRY(poiseBufferCreate(ctx->device, (size_t)n * sizeof(float), what, y));
  TRY(poiseBufferRead(x, DEVICE, &a.x));
  TRY(poiseBufferWrite(y, DEVICE, &a.y));
  return LAUNCH(ctx->device, narrow, &a);
}

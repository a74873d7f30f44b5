/* SPDX-License-Identifier: BSD-3-Clause */
/* The first place of an array, or the first row of a CSR, at which something is wrong; host kernel find. */
#include "find.h"
#include "mat/object/mat.h"

PoiseErr poiseFind(PoiseContext ctx, FindArgs a, int64_t *first)
{
  Device *dev = ctx->device;
  TRY(poiseBufferWrite(&ctx->reduce_slots, DEVICE, &a.first));
  TRY(LAUNCH(dev, find, &a));
  return poiseDeviceFetch(dev, a.first, sizeof *first, first);
}

PoiseErr poiseMatFindNan(PoiseMat A, int64_t *row)
{
  CsrView v;
  FindArgs f = {.what = FIND_NAN_IN_ROW, .n = A->rows->n};
  TRY(poiseCsrView(&A->csr, &v));
  f.b = v.b, f.nz = v.nz, f.ptr32 = v.ptr32, f.ptr64 = v.ptr64, f.val = v.val;
  return poiseFind(A->ctx, f, row);
}

/* The first place within a block of POISE_BLOCK, or n. */
static int64_t FindInBlock(const FindArgs *a, int64_t block)
{
  for (int64_t k = block * POISE_BLOCK; k < (block + 1) * POISE_BLOCK && k < a->n; k++)
    if (poiseFinds(a, k)) return k;
  return a->n;
}

PoiseErr poiseHost_find(Device *dev, const void *args)
{
  const FindArgs *a = args;
  int64_t nblock = POISE_NBLOCKS(a->n), first = a->n;
  (void)dev;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t b = 0; b < nblock; b++) {
    int64_t k = FindInBlock(a, b);
    if (k == a->n) continue;
    HOST_CRITICAL
    if (k < first) first = k;
  }
  *a->first = first;
  return POISE_OK;
}

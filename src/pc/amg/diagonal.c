/* SPDX-License-Identifier: BSD-3-Clause */
/* Inverse diagonal blocks of nodes, and of rows by their sums. */
#include "mat/csr/find.h"
#include "diagonal.h"
#include "rows.h"
#include "diagonal_kernels.h"

PoiseErr poiseAmgDiagonal(PoiseContext ctx, const AmgMatrix *m, bool strict, double *d, double *size,
                          Buffer *flag)
{
  AmgDiagonalArgs g = {.n = m->nodes, .m = *m, .strict = strict, .d = d, .size = size};
  TRY(poiseFlagCreate(ctx->device, flag, &g.bad));
  return LAUNCH(ctx->device, amg_diagonal, &g);
}

PoiseErr poiseAmgDiagonalBad(PoiseContext ctx, const AmgMatrix *m, const double *d, Buffer *flag,
                             int64_t *bad)
{
  const int32_t *there;
  int32_t any;
  int64_t size = (int64_t)m->node * m->node;
  *bad = -1;
  TRY(poiseBufferRead(flag, DEVICE, &there));
  TRY(poiseDeviceFetch(ctx->device, there, sizeof any, &any));
  if (!any) return POISE_OK;
  TRY(poiseFind(ctx, (FindArgs){.what = FIND_NAN, .n = m->nodes * size, .val = d}, bad));
  *bad /= size;
  return POISE_OK;
}

PoiseErr poiseAmgRowSums(PoiseContext ctx, const AmgMatrix *m, double *d, double *size)
{
  AmgDiagonalArgs g = {.n = m->nodes * m->node, .m = *m, .d = d, .size = size};
  return LAUNCH(ctx->device, amg_row_sums, &g);
}

PoiseErr poiseAmgCoarseSizes(AmgLevel *l, AmgModes *size)
{
  Device *dev = l->R->ctx->device;
  AmgSizesArgs a = {.n = l->R->rows->n};
  Buffer fine = size->b;
  *size = (AmgModes){.count = 1, .n = a.n};
  PoiseErr e = poiseCsrView(&l->R->csr, &a.R);
  if (!e)
    e = fine.dev ? poiseBufferRead(&fine, DEVICE, &a.size) : poiseBufferRead(&l->inverse, DEVICE, &a.inverse);
  if (!e) e = poiseAmgMake(dev, a.n, sizeof *a.coarse, "sizes of diagonal entries", &size->b, &a.coarse);
  if (!e) e = LAUNCH(dev, amg_coarse_sizes, &a);
  poiseBufferDestroy(&fine);
  return e;
}

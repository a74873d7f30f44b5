/* SPDX-License-Identifier: BSD-3-Clause */
/* Inverse diagonal blocks of nodes, and of rows by their sums. */
#include "mat/csr/find.h"
#include "amg.h"
#include "diagonal_kernels.h"

static PoiseErr Invert(PoiseContext ctx, AmgDiagonalArgs *g, Buffer *flag, int64_t *bad)
{
  int32_t any;
  int64_t size = (int64_t)g->m.node * g->m.node;
  *bad = -1;
  TRY(poiseFlagCreate(ctx->device, flag, &g->bad));
  TRY(LAUNCH(ctx->device, amg_diagonal, g));
  TRY(poiseDeviceFetch(ctx->device, g->bad, sizeof any, &any));
  if (!any) return POISE_OK;
  TRY(poiseFind(ctx, (FindArgs){.what = FIND_NAN, .n = g->n * size, .val = g->d}, bad));
  *bad /= size;
  return POISE_OK;
}

PoiseErr poiseAmgDiagonal(PoiseContext ctx, const AmgMatrix *m, bool strict, double *d, int64_t *bad)
{
  Buffer flag = {0};
  AmgDiagonalArgs g = {.n = m->nodes, .m = *m, .strict = strict, .d = d};
  PoiseErr e = Invert(ctx, &g, &flag, bad);
  poiseBufferDestroy(&flag);
  return e;
}

PoiseErr poiseAmgRowSums(PoiseContext ctx, const AmgMatrix *m, double *d)
{
  AmgDiagonalArgs g = {.n = m->nodes * m->node, .m = *m, .d = d};
  return LAUNCH(ctx->device, amg_row_sums, &g);
}

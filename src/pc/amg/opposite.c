/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Where A is not symmetric the restriction is made of A^T: R^T = (I - omega D^-1 A^T) T. So it is as smooth
  against the flow as the prolongation is along it, and coarse matrices stay fit for the smoother (M. Brezina,
  T. Manteuffel, S. McCormick, J. Ruge, G. Sanders, Towards adaptive smoothed aggregation (alphaSA) for
  nonsymmetric problems, SIAM J. Sci. Comput. 32, 2010). R^T has P's pattern, so A^T is needed where A has
  entries alone.
*/
#include "mat/multiply/local_product.h"
#include "opposite.h"
#include "rows.h"
#include "opposite_kernels.h"

static AmgOppositeArgs Of(const AmgMatrix *m)
{
  return (AmgOppositeArgs){.n = m->nodes * poiseAmgBlocks(m), .m = *m};
}

/* Rows of this rank that are far from symmetric. */
static PoiseErr CountOdd(Device *dev, const AmgMatrix *m, int64_t *count)
{
  Buffer odd = {0};
  AmgOppositeArgs o = Of(m);
  PoiseErr e = poiseAmgMake(dev, o.n, sizeof *o.odd, "rows that are not symmetric", &odd, &o.odd);
  if (!e) e = LAUNCH(dev, amg_opposite, &o);
  if (!e) e = poiseRowSum(dev, o.n, o.odd, count);
  poiseBufferDestroy(&odd);
  return e;
}

PoiseErr poiseAmgIsOdd(PoiseContext ctx, PoiseErr mine, const AmgMatrix *m, bool *odd)
{
  int64_t count = 0;
  PoiseErr e = mine ? mine : CountOdd(ctx->device, m, &count);
  double all[] = {(double)count, (double)(m->nodes * poiseAmgBlocks(m))};
  TRY(poiseAgreeSum(ctx, e, all, 2));
  *odd = all[0] > 0.1 * all[1];
  return POISE_OK;
}

PoiseErr poiseAmgOpposite(PoiseContext ctx, const AmgMatrix *m, Buffer *of, Buffer *mean)
{
  AmgOppositeArgs o = Of(m);
  int64_t numbers = m->A.nz * (m->A.b ? m->A.b * m->A.b : 1);
  TRY(poiseAmgMake(ctx->device, numbers, sizeof *o.of, "entries of A^T", of, &o.of));
  TRY(poiseAmgMake(ctx->device, numbers, sizeof *o.mean, "the symmetric part", mean, &o.mean));
  return LAUNCH(ctx->device, amg_opposite, &o);
}

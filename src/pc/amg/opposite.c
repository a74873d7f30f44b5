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

/* One of `apart` runs of rows; 1: all rows. */
static AmgOppositeArgs Of(const AmgMatrix *m, int64_t apart)
{
  int64_t rows = m->nodes * poiseAmgBlocks(m);
  int64_t n = apart == 1 ? rows : rows / (AMG_RUN * apart) * AMG_RUN;
  return (AmgOppositeArgs){.n = n, .rows = rows, .apart = apart, .m = *m};
}

/* Rows of this rank that are far from symmetric, of some that are looked at: of 8192 at least, and a 16th. So
   many tell a tenth to 0.003. */
static PoiseErr CountOdd(Device *dev, const AmgMatrix *m, double *odd_rows, double *rows)
{
  const int64_t enough = 8192, most = 16;
  int64_t apart = m->nodes * poiseAmgBlocks(m) / enough, count = 0;
  Buffer odd = {0};
  AmgOppositeArgs o = Of(m, apart < 1 ? 1 : apart < most ? apart : most);
  PoiseErr e = poiseAmgMake(dev, o.n, sizeof *o.odd, "rows that are not symmetric", &odd, &o.odd);
  if (!e) e = LAUNCH(dev, amg_opposite, &o);
  if (!e) e = poiseRowSum(dev, o.n, o.odd, &count);
  *odd_rows = (double)(count * o.apart), *rows = (double)(o.n * o.apart);
  poiseBufferDestroy(&odd);
  return e;
}

PoiseErr poiseAmgIsOdd(PoiseContext ctx, PoiseErr mine, const AmgMatrix *m, bool *odd)
{
  double all[] = {0, 0};
  PoiseErr e = mine ? mine : CountOdd(ctx->device, m, &all[0], &all[1]);
  TRY(poiseAgreeSum(ctx, e, all, 2));
  *odd = all[0] > 0.1 * all[1];
  return POISE_OK;
}

PoiseErr poiseAmgOpposite(PoiseContext ctx, const AmgMatrix *m, Buffer *of, Buffer *mean)
{
  AmgOppositeArgs o = Of(m, 1);
  int64_t numbers = m->A.nz * (m->A.b ? m->A.b * m->A.b : 1);
  TRY(poiseAmgMake(ctx->device, numbers, sizeof *o.of, "entries of A^T", of, &o.of));
  TRY(poiseAmgMake(ctx->device, numbers, sizeof *o.mean, "the symmetric part", mean, &o.mean));
  return LAUNCH(ctx->device, amg_opposite, &o);
}

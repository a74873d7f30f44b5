/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers at the columns that this rank's rows refer to, [owned | ghosts], on the host. */
#include "mat.h"

PoiseErr poiseColumnsCreate(PoiseMat A, double **column)
{
  return poiseAllocArray(A->ctx, A->csr.nloc + A->csr.nghost, sizeof(double), "numbers of columns", column);
}

PoiseErr poiseColumnsSpread(PoiseMat A, PoiseErr mine, double *column)
{
  const Csr *c = &A->csr;
  const double *ghost;
  if (!c->halo) return mine;
  TRY(poiseHaloHost(c->halo, mine, column, &ghost));
  if (c->nghost) memcpy(column + c->nloc, ghost, (size_t)c->nghost * sizeof *ghost);
  return POISE_OK;
}

PoiseErr poiseColumnsCollect(PoiseMat A, PoiseErr mine, double *column)
{
  const Csr *c = &A->csr;
  double *ghost;
  if (!c->halo) return mine;
  if (!mine) mine = poiseHaloHostGhosts(c->halo, &ghost);
  if (!mine && c->nghost) memcpy(ghost, column + c->nloc, (size_t)c->nghost * sizeof *ghost);
  return poiseHaloHostReverse(c->halo, mine, column);
}

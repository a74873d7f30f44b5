/* SPDX-License-Identifier: BSD-3-Clause */
/* Values at the columns that this rank's rows refer to, [owned | ghosts], on the host. */
#include "columns.h"
#include "mat/object/mat.h"

PoiseErr poiseColumnsCreate(PoiseMat A, double **column)
{
  const Csr *c = &A->csr;
  return poiseAllocArray(A->ctx, (c->nloc + c->nghost) * poiseCsrSide(c), sizeof(double),
                         "numbers of columns", column);
}

PoiseErr poiseColumnsSpread(PoiseMat A, PoiseErr mine, double *column)
{
  const Csr *c = &A->csr;
  int64_t b = poiseCsrSide(c);
  const double *ghost;
  if (!c->halo) return mine;
  TRY(poiseHaloHost(c->halo, mine, column, &ghost));
  if (c->nghost) memcpy(column + c->nloc * b, ghost, (size_t)(c->nghost * b) * sizeof *ghost);
  return POISE_OK;
}

PoiseErr poiseColumnsCollect(PoiseMat A, PoiseErr mine, double *column)
{
  const Csr *c = &A->csr;
  int64_t b = poiseCsrSide(c);
  if (!c->halo) return mine;
  double *ghost = poiseHaloHostGhosts(c->halo);
  if (!mine && c->nghost) memcpy(ghost, column + c->nloc * b, (size_t)(c->nghost * b) * sizeof *ghost);
  return poiseHaloHostReverse(c->halo, mine, column);
}

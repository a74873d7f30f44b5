/* SPDX-License-Identifier: BSD-3-Clause */
/* Read entries of any rank. A halo of the rows asked for is made, and used for one exchange on the host. */
#include "vec.h"

static int CompareInts(const void *a, const void *b)
{
  PoiseInt x = *(const PoiseInt *)a, y = *(const PoiseInt *)b;
  return (x > y) - (x < y);
}

static bool Owned(const Layout *l, PoiseInt row)
{
  return row >= l->begin && row < l->begin + l->n;
}

/* The rows of other ranks, ascending, each once. */
static PoiseErr RemoteRows(PoiseVec x, const Indices *rows, const double *v, PoiseInt **remote,
                           int64_t *count)
{
  int64_t n = 0;
  TRY(poiseIndicesCheck(x->ctx->device, rows, x->layout->N, "row", "vector"));
  TRY(poiseValuesCheck(rows->n, v));
  TRY(poiseAllocArray(x->ctx, rows->n, sizeof(PoiseInt), "rows to read", remote));
  for (PoiseInt k = 0; k < rows->n; k++)
    if (rows->index[k] >= 0 && !Owned(x->layout, rows->index[k])) (*remote)[n++] = rows->index[k];
  if (n) qsort(*remote, (size_t)n, sizeof(PoiseInt), CompareInts);
  for (int64_t k = 0; k < n; k++)
    if (!k || (*remote)[k] != (*remote)[k - 1]) (*remote)[(*count)++] = (*remote)[k];
  return POISE_OK;
}

static PoiseErr Get(PoiseVec x, const Indices *rows, const PoiseInt *remote, int64_t count, Halo *halo,
                    double *v)
{
  const double *own = NULL, *ghost = NULL;
  PoiseErr e = PoiseVecGetRead(x, &own);
  if (halo) e = poiseHaloHost(halo, e, own, &ghost);
  for (PoiseInt k = 0; !e && k < rows->n; k++) {
    PoiseInt row = rows->index[k];
    if (Owned(x->layout, row))
      v[k] = own[row - x->layout->begin];
    else if (row >= 0)
      v[k] = ghost[(const PoiseInt *)bsearch(&row, remote, (size_t)count, sizeof row, CompareInts) - remote];
  }
  return e;
}

PoiseErr PoiseVecGetValues(PoiseVec x, PoiseInt n, const PoiseInt *rows, double *v)
{
  CALLED(OBJECT(x));
  PoiseContext ctx = x->ctx;
  Indices wanted = {n, rows, NULL};
  PoiseInt *remote = NULL;
  int64_t count = 0;
  Halo *halo = NULL;
  PoiseErr e = poiseVecCheckOrdinary(x, "values");
  TRY(PoiseAgree(ctx, e));
  e = PoiseAgree(ctx, RemoteRows(x, &wanted, v, &remote, &count));
  if (!e && PoiseSize(ctx) > 1) e = poiseHaloCreate(x->layout, count, remote, &halo);
  if (!e) e = PoiseAgree(ctx, Get(x, &wanted, remote, count, halo, v));
  poiseHaloDestroy(&halo);
  poiseFree(ctx, &remote);
  return e;
}

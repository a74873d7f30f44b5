/* SPDX-License-Identifier: BSD-3-Clause */
/*
  A level whose rows are those of several ranks. Aggregates are of a rank's own nodes. What a stage reads of
  other ranks' nodes stands behind that of the own ones: ghost nodes, in the order of their global numbers.
*/
#include "mat/csr/entries.h"
#include "amg.h"

/* ---- ghost nodes ----------------------------------------------------------------------------- */

void poiseAmgGhostsDestroy(PoiseContext ctx, AmgGhosts **ghosts)
{
  AmgGhosts *g = *ghosts;
  if (!g) return;
  poiseHaloDestroy(&g->own);
  poiseBufferDestroy(&g->col);
  poiseFree(ctx, ghosts);
}

/* Is ghost k the first of its node, of `per` columns? */
static bool IsFirst(const Csr *c, int64_t per, int64_t k)
{
  return k == 0 || c->ghost[k] / per != c->ghost[k - 1] / per;
}

/* Nodes of A's ghosts. *apart: some have not all of their columns there. */
static void Count(const Csr *c, int64_t per, AmgGhosts *g, bool *apart)
{
  for (int64_t k = 0; k < c->nghost; k++) {
    g->nodes += IsFirst(c, per, k);
    g->below += IsFirst(c, per, k) && c->ghost[k] < c->column;
  }
  *apart = g->nodes * per != c->nghost;
}

/* The rows of the nodes, and A's columns numbered as if all rows were its ghosts. */
static PoiseErr MakeWhole(PoiseMat A, int node, AmgGhosts *g, PoiseInt **rows)
{
  const Csr *c = &A->csr;
  int64_t per = node / poiseCsrSide(c), n = -1;
  int32_t *local = NULL, *col;
  HostCsr h;
  TRY(poiseMatPattern(A, &h));
  TRY(poiseAllocArray(A->ctx, g->nodes * node, sizeof **rows, "rows of ghost nodes", rows));
  TRY(poiseBufferCreate(A->ctx->device, (size_t)c->nz * sizeof *col, "columns by nodes", &g->col));
  TRY(poiseBufferWrite(&g->col, HOST, &col));
  TRY(poiseAllocArray(A->ctx, c->nghost, sizeof *local, "columns of ghost nodes", &local));
  for (int64_t k = 0; k < c->nghost; k++) {
    n += IsFirst(c, per, k);
    local[k] = (int32_t)(c->nloc + n * per + c->ghost[k] % per);
    for (int64_t r = 0; r < node; r++) (*rows)[n * node + r] = c->ghost[k] / per * node + r;
  }
  for (int64_t k = 0; k < c->nz; k++) col[k] = h.col[k] < c->nloc ? h.col[k] : local[h.col[k] - c->nloc];
  poiseFree(A->ctx, &local);
  return POISE_OK;
}

PoiseErr poiseAmgGhostsCreate(PoiseMat A, int node, AmgGhosts **ghosts)
{
  PoiseContext ctx = A->ctx;
  PoiseInt *rows = NULL;
  bool apart = false;
  PoiseErr e = poiseAlloc(ctx, sizeof **ghosts, "ghost nodes", ghosts);
  if (!e) Count(&A->csr, node / poiseCsrSide(&A->csr), *ghosts, &apart);
  TRY(PoiseAgree(ctx, e));
  int64_t some = apart;
  TRY(poiseCommMaxInt(ctx->comm, &some, 1));
  if (!some) return POISE_OK;
  e = PoiseAgree(ctx, MakeWhole(A, node, *ghosts, &rows));
  if (!e) e = poiseHaloCreate(A->cols, (*ghosts)->nodes * node, rows, &(*ghosts)->own);
  poiseFree(ctx, &rows);
  return e;
}

/* A number for each row of a node: from device to device, if they can. */
static PoiseErr FillRows(const AmgMatrix *m, Buffer *v)
{
  size_t n = (size_t)(m->nodes * m->node), more = (size_t)(m->ghosts->nodes * m->node);
  double *x = NULL;
  const double *ghost;
  PoiseErr e = poiseBufferUpdate(v, DEVICE, &x);
  TRY(poiseHaloBegin(m->ghosts->halo, e, x));
  TRY(poiseHaloEnd(m->ghosts->halo, &ghost));
  return poiseDeviceCopy(v->dev, x + n, ghost, more * sizeof *x, COPY_ON_DEVICE);
}

/* Numbers c0 to c0 + count - 1 of each node, by the halo of its rows. */
static PoiseErr FillSome(const AmgMatrix *m, int64_t width, int64_t c0, int64_t count, double *x, double *v)
{
  const double *ghost;
  int64_t node = m->node;
  for (int64_t i = 0; i < m->nodes; i++)
    for (int64_t c = 0; c < count; c++) x[i * node + c] = v[i * width + c0 + c];
  TRY(poiseHaloHost(m->ghosts->halo, POISE_OK, x, &ghost));
  for (int64_t i = 0; i < m->ghosts->nodes; i++)
    for (int64_t c = 0; c < count; c++) v[(m->nodes + i) * width + c0 + c] = ghost[i * node + c];
  return POISE_OK;
}

/* Other widths go through the host. */
static PoiseErr FillHost(PoiseContext ctx, const AmgMatrix *m, PoiseErr mine, int64_t width, double *v)
{
  double *x = NULL;
  int64_t node = m->node;
  PoiseErr e = mine ? mine : poiseAllocArray(ctx, m->nodes * node, sizeof *x, "what other ranks read", &x);
  e = PoiseAgree(ctx, e);
  for (int64_t c = 0; c < width && !e; c += node)
    e = FillSome(m, width, c, width - c < node ? width - c : node, x, v);
  poiseFree(ctx, &x);
  return e;
}

PoiseErr poiseAmgFillGhosts(PoiseContext ctx, const AmgMatrix *m, PoiseErr mine, int64_t width, Buffer *v)
{
  double *host = NULL, *there;
  if (!m->ghosts) return mine;
  if (width == m->node) {
    TRY(PoiseAgree(ctx, mine));
    return PoiseAgree(ctx, FillRows(m, v));
  }
  PoiseErr e = mine ? mine : poiseBufferUpdate(v, HOST, &host);
  TRY(FillHost(ctx, m, e, width, host));
  return PoiseAgree(ctx, poiseBufferUpdate(v, DEVICE, &there));
}

/* ---- aggregates ------------------------------------------------------------------------------ */

static int Ascending(const void *a, const void *b)
{
  PoiseInt x = *(const PoiseInt *)a, y = *(const PoiseInt *)b;
  return (x > y) - (x < y);
}

/* The aggregates of other ranks that ghost nodes are in: all[m->nodes] and on, each once, ascending. */
static PoiseErr CollectAggregates(PoiseContext ctx, const AmgMatrix *m, const double *all, int64_t first,
                                  AmgPlaces *p)
{
  int64_t n = 0;
  TRY(poiseAllocArray(ctx, m->ghosts->nodes, sizeof *p->ghost, "aggregates of other ranks", &p->ghost));
  for (int64_t j = m->nodes; j < m->nodes + m->ghosts->nodes; j++)
    if (all[j] >= 0) p->ghost[n++] = (PoiseInt)all[j];
  if (n) qsort(p->ghost, (size_t)n, sizeof *p->ghost, Ascending);
  for (int64_t k = 0; k < n; k++)
    if (!k || p->ghost[k] != p->ghost[k - 1]) p->ghost[p->nghost++] = p->ghost[k];
  while (p->below < p->nghost && p->ghost[p->below] < first) p->below++;
  return POISE_OK;
}

static int32_t PlaceOf(const AmgPlaces *p, int64_t first, int64_t count, PoiseInt a)
{
  if (a < 0) return -1;
  if (a >= first && a < first + count) return (int32_t)(a - first + p->below);
  const PoiseInt *at = bsearch(&a, p->ghost, (size_t)p->nghost, sizeof a, Ascending);
  return (int32_t)(at - p->ghost + (at - p->ghost < p->below ? 0 : count));
}

/* The places of all nodes' aggregates. */
static PoiseErr Place(PoiseContext ctx, const AmgMatrix *m, int64_t count, const double *all, int64_t first,
                      AmgPlaces *p)
{
  int64_t n = poiseAmgAllNodes(m);
  int32_t *place;
  TRY(CollectAggregates(ctx, m, all, first, p));
  TRY(poiseBufferCreate(ctx->device, (size_t)n * sizeof *place, "places of aggregates", &p->place));
  TRY(poiseBufferWrite(&p->place, HOST, &place));
  for (int64_t i = 0; i < n; i++) place[i] = PlaceOf(p, first, count, (PoiseInt)all[i]);
  return POISE_OK;
}

/* Global numbers of the own nodes' aggregates. */
static PoiseErr Globals(PoiseContext ctx, const AmgMatrix *m, Buffer *aggregate, int64_t first, double **all)
{
  const int32_t *own;
  TRY(poiseAllocArray(ctx, poiseAmgAllNodes(m), sizeof **all, "aggregates of nodes", all));
  TRY(poiseBufferRead(aggregate, HOST, &own));
  for (int64_t i = 0; i < m->nodes; i++) (*all)[i] = own[i] < 0 ? -1 : (double)(first + own[i]);
  return POISE_OK;
}

PoiseErr poiseAmgPlacesCreate(PoiseContext ctx, const AmgMatrix *m, Buffer *aggregate, int64_t count,
                              AmgPlaces *p)
{
  double *all = NULL;
  int64_t first, total;
  TRY(poiseCommScan(ctx->comm, count, &first, &total));
  PoiseErr e = Globals(ctx, m, aggregate, first, &all);
  e = FillHost(ctx, m, e, 1, all);
  if (!e) e = PoiseAgree(ctx, Place(ctx, m, count, all, first, p));
  poiseFree(ctx, &all);
  return e;
}

void poiseAmgPlacesDestroy(PoiseContext ctx, AmgPlaces *p)
{
  poiseBufferDestroy(&p->place);
  poiseFree(ctx, &p->ghost);
  *p = (AmgPlaces){0};
}

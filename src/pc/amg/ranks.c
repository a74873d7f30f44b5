/* SPDX-License-Identifier: BSD-3-Clause */
/*
  A level whose rows are those of several ranks. Aggregates are of a rank's own nodes. What a stage reads of
  other ranks' nodes stands behind that of the own ones: ghost nodes, in the order of their global numbers.
  The prolongation is made in a compacted global numbering of its columns (here: places).
*/
#include "mat/csr/entries.h"
#include "mat/csr/ghosts_there.h"
#include "mat/csr/keys.h"
#include "ranks.h"
#include "rows.h"
#include "ranks_kernels.h"

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
  int64_t low = 0; /* ghosts of lower ranks */
  while (low < c->nghost && c->ghost[low] < c->column) low++;
  g->nodes = per == 1 ? c->nghost : 0, g->below = per == 1 ? low : 0;
  for (int64_t k = 0; per > 1 && k < c->nghost; k++) {
    g->nodes += IsFirst(c, per, k);
    g->below += IsFirst(c, per, k) && k < low;
  }
  *apart = g->nodes * per != c->nghost;
}

/* The rows of the nodes, and the numbers of A's ghosts if all these rows were its ghosts. */
static void ListRows(const Csr *c, int64_t node, PoiseInt *rows, int32_t *number)
{
  int64_t per = node / poiseCsrSide(c), n = -1;
  for (int64_t k = 0; k < c->nghost; k++) {
    n += IsFirst(c, per, k);
    number[k] = (int32_t)(c->nloc + n * per + c->ghost[k] % per);
    for (int64_t r = 0; r < node; r++) rows[n * node + r] = c->ghost[k] / per * node + r;
  }
}

/* *rows: of the nodes. A's columns, numbered by these. */
static PoiseErr MakeWhole(PoiseMat A, int node, AmgGhosts *g, Buffer *numbers, PoiseInt **rows)
{
  Csr *c = &A->csr;
  Device *dev = A->ctx->device;
  AmgRenumberArgs a = {.n = c->nz, .nloc = c->nloc};
  int32_t *number;
  TRY(poiseAllocArray(A->ctx, g->nodes * node, sizeof **rows, "rows of ghost nodes", rows));
  TRY(poiseBufferCreate(dev, (size_t)c->nghost * sizeof *number, "columns of ghost nodes", numbers));
  TRY(poiseBufferWrite(numbers, HOST, &number));
  ListRows(c, node, *rows, number);
  TRY(poiseBufferRead(numbers, DEVICE, &a.number));
  TRY(poiseBufferRead(&c->col, DEVICE, &a.from));
  TRY(poiseAmgMake(dev, c->nz, sizeof *a.to, "columns by nodes", &g->col, &a.to));
  return LAUNCH(dev, amg_renumber, &a);
}

PoiseErr poiseAmgGhostsCreate(PoiseMat A, int node, AmgGhosts **ghosts)
{
  PoiseContext ctx = A->ctx;
  PoiseInt *rows = NULL;
  Buffer numbers = {0};
  bool apart = false;
  PoiseErr e = poiseAlloc(ctx, sizeof **ghosts, "ghost nodes", ghosts);
  if (!e) Count(&A->csr, node / poiseCsrSide(&A->csr), *ghosts, &apart);
  double some = apart;
  TRY(poiseAgreeMax(ctx, e, &some));
  if (some == 0) return POISE_OK;
  e = PoiseAgree(ctx, MakeWhole(A, node, *ghosts, &numbers, &rows));
  if (!e) e = poiseHaloCreate(A->cols, (*ghosts)->nodes * node, rows, &(*ghosts)->own);
  poiseBufferDestroy(&numbers);
  poiseFree(ctx, &rows);
  return e;
}

/* ---- their numbers --------------------------------------------------------------------------- */

/* `count` columns of n rows, from those of width w into those of width v. No rows, which may have places of
   something else, are passed to no kernel. */
static PoiseErr CopyColumns(Device *dev, int64_t n, int64_t count, const double *from, int64_t w, double *to,
                            int64_t v)
{
  AmgColumnsArgs a = {.n = n * count, .count = count, .from_width = w, .to_width = v, .from = from, .to = to};
  return n ? LAUNCH(dev, amg_copy_columns, &a) : POISE_OK;
}

PoiseErr poiseAmgFillGhosts(PoiseContext ctx, const AmgMatrix *m, PoiseErr mine, int64_t width, Buffer *v)
{
  Device *dev = ctx->device;
  int64_t node = m->node;
  bool apart = width != node; /* by arrays of a number for each row, which the halo takes */
  double *all = NULL, *x = NULL;
  const double *ghost = NULL;
  Buffer part = {0};
  PoiseErr e = mine;
  if (!m->ghosts) return e;
  if (!e) e = poiseBufferUpdate(v, DEVICE, &all);
  if (!e && apart)
    e = poiseBufferCreate(dev, (size_t)(m->nodes * node) * sizeof *x, "what other ranks read", &part);
  if (!e && apart) e = poiseBufferUpdate(&part, DEVICE, &x);
  for (int64_t c = 0; c < width; c += node) {
    int64_t count = width - c < node ? width - c : node;
    if (!e && apart) e = CopyColumns(dev, m->nodes, count, all + c, width, x, node);
    PoiseErr exchanged = poiseHaloAlltoall(m->ghosts->halo, e, apart ? x : all, &ghost);
    if (!e) e = exchanged;
    if (!e) e = CopyColumns(dev, m->ghosts->nodes, count, ghost, node, all + m->nodes * width + c, width);
  }
  poiseBufferDestroy(&part);
  return e;
}

/* ---- aggregates ------------------------------------------------------------------------------ */

typedef struct Numbers { /* of aggregates */
  int64_t first, total;
  Buffer global; /* of own nodes and ghost nodes, as doubles */
  Buffer list;   /* those of other ranks that ghost nodes are in */
  Keys keys;
} Numbers;

/* The aggregates of other ranks that ghost nodes are in, each once, ascending. */
static PoiseErr CollectAggregates(PoiseContext ctx, int64_t count, Numbers *s, AmgGhostPlacesArgs *a,
                                  AmgPlaces *p)
{
  Device *dev = ctx->device;
  int64_t *place64;
  s->keys = (Keys){.n = a->n, .m = 1, .bits = a->bits};
  TRY(poiseKeysCreate(dev, &s->keys, &a->key, &place64, &a->at));
  TRY(LAUNCH(dev, amg_aggregate_keys, a));
  TRY(poiseGhostsOfKeys(ctx, &s->keys, INT32_MAX - count, &s->list, &a->ghost, &p->nghost, &p->ghost));
  a->key = NULL, a->at = NULL; /* gone */
  while (p->below < p->nghost && p->ghost[p->below] < s->first) p->below++;
  return POISE_OK;
}

/* The places of all nodes' aggregates. Local. */
static PoiseErr Place(PoiseContext ctx, const AmgMatrix *m, Buffer *aggregate, int64_t count, Numbers *s,
                      AmgPlaces *p)
{
  Device *dev = ctx->device;
  AmgAggregateNumbersArgs own = {.n = m->nodes};
  AmgGhostPlacesArgs a = {.n = m->ghosts->nodes, .own = count, .bits = poiseBitsOf(s->total)};
  TRY(poiseBufferRead(&s->global, DEVICE, &a.global));
  a.global += m->nodes;
  TRY(CollectAggregates(ctx, count, s, &a, p));
  TRY(poiseBufferRead(aggregate, DEVICE, &own.aggregate));
  TRY(poiseAmgMake(dev, poiseAmgAllNodes(m), sizeof *own.place, "places of aggregates", &p->place,
                   &own.place));
  own.below = a.below = p->below, a.nghost = p->nghost, a.place = own.place + m->nodes;
  TRY(LAUNCH(dev, amg_place_aggregates, &own));
  return LAUNCH(dev, amg_place_ghosts, &a);
}

/* Global numbers of the own nodes' aggregates, with room for those of ghost nodes. */
static PoiseErr Globals(PoiseContext ctx, const AmgMatrix *m, Buffer *aggregate, Numbers *s)
{
  AmgAggregateNumbersArgs a = {.n = m->nodes, .first = s->first};
  TRY(poiseBufferRead(aggregate, DEVICE, &a.aggregate));
  TRY(poiseAmgMake(ctx->device, poiseAmgAllNodes(m), sizeof *a.global, "aggregates of nodes", &s->global,
                   &a.global));
  return LAUNCH(ctx->device, amg_global_aggregates, &a);
}

PoiseErr poiseAmgPlacesCreate(PoiseContext ctx, const AmgMatrix *m, Buffer *aggregate, int64_t count,
                              AmgPlaces *p)
{
  Numbers s = {0};
  TRY(poiseCommScan(ctx->comm, count, &s.first, &s.total));
  PoiseErr e = Globals(ctx, m, aggregate, &s);
  e = PoiseAgree(ctx, poiseAmgFillGhosts(ctx, m, e, 1, &s.global)); /* a rank that fails sends no numbers */
  if (!e) e = Place(ctx, m, aggregate, count, &s, p);
  poiseBufferDestroy(&s.global);
  poiseBufferDestroy(&s.list);
  poiseKeysDestroy(&s.keys);
  return e;
}

void poiseAmgPlacesDestroy(PoiseContext ctx, AmgPlaces *p)
{
  poiseBufferDestroy(&p->place);
  poiseFree(ctx, &p->ghost);
  *p = (AmgPlaces){0};
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Aggregates: around the nodes of a maximal set of which no two are within distance 2 (MIS-2). In a round of
  that, each node sees the priorities of a former state alone, so threads change nothing. Priorities are
  hashes of node and round (N. Bell, S. Dalton, L. Olson, Exposing fine-grained parallelism in algebraic
  multigrid methods, SIAM J. Sci. Comput. 34, 2012).

  1. A root and its strong neighbours. 2. Among nodes that are left, a second such set, of those with enough
  free neighbours. 3. What is left joins the aggregate of its strongest neighbour.

  A leaf has much smaller connections than all its neighbours. It takes part in 3 alone: before, it would make
  one aggregate of bodies that only such nodes connect.

  A GPU does some rounds before the host asks whether nodes are left: further rounds change nothing. Beside
  the result it holds 21 bytes per node, and 8 more while roots are numbered.
*/
#include "mat/multiply/local_product.h"
#include "aggregate.h"
#include "rows.h"
#include "aggregate_kernels.h"

enum { ROUNDS = 3 }; /* of a GPU, between questions */

typedef struct Scratch {
  Buffer state, rank, near, next, left, changed;
  Csr number;
} Scratch;

/* In each round the free node of the largest priority is decided, so this ends. */
static PoiseErr FindRoots(Device *dev, AmgAggregateArgs *a)
{
  int32_t left = a->n > 0;
  for (a->round = 1; left;) {
    for (int k = 0; k < (dev->ops->is_host ? 1 : ROUNDS); k++, a->round++) {
      TRY(LAUNCH(dev, amg_near, a));
      TRY(LAUNCH(dev, amg_decide, a));
    }
    TRY(poiseDeviceFetch(dev, a->left, sizeof left, &left));
  }
  return POISE_OK;
}

/* Once where connections are mutual. */
static PoiseErr JoinNeighbours(Device *dev, AmgAggregateArgs *a)
{
  int32_t left = a->n > 0, changed = left;
  while (left && changed) {
    TRY(LAUNCH(dev, amg_join_neighbours, a));
    TRY(LAUNCH(dev, amg_take, a));
    TRY(poiseDeviceFetch(dev, a->left, sizeof left, &left));
    if (left) TRY(poiseDeviceFetch(dev, a->changed, sizeof changed, &changed));
  }
  return POISE_OK;
}

static PoiseErr Number(Device *dev, AmgAggregateArgs *a, Scratch *s, int64_t *count, int64_t *members)
{
  TRY(LAUNCH(dev, amg_roots, a));
  TRY(poiseRowOffsets(dev, a->n, a->next, &s->number));
  *count = s->number.nz;
  if (s->number.wide)
    TRY(poiseBufferRead(&s->number.ptr, DEVICE, &a->number.ptr64));
  else
    TRY(poiseBufferRead(&s->number.ptr, DEVICE, &a->number.ptr32));
  TRY(LAUNCH(dev, amg_number, a));
  return poiseRowSum(dev, a->n, a->next, members);
}

static PoiseErr Run(Device *dev, AmgAggregateArgs *a, Scratch *s, int64_t *count, int64_t *members)
{
  TRY(poiseAmgMake(dev, a->n, sizeof *a->state, "states of nodes", &s->state, &a->state));
  TRY(poiseAmgMake(dev, a->n, sizeof *a->rank, "priorities", &s->rank, &a->rank));
  TRY(poiseAmgMake(dev, a->n, sizeof *a->near, "priorities of neighbours", &s->near, &a->near));
  TRY(poiseAmgMake(dev, a->n, sizeof *a->next, "new aggregates", &s->next, &a->next));
  TRY(poiseFlagCreate(dev, &s->left, &a->left));
  TRY(poiseFlagCreate(dev, &s->changed, &a->changed));
  TRY(LAUNCH(dev, amg_start, a));
  TRY(FindRoots(dev, a));
  TRY(LAUNCH(dev, amg_join_roots, a));
  if (a->least > 0) {
    TRY(LAUNCH(dev, amg_start_second, a));
    TRY(LAUNCH(dev, amg_second, a));
    TRY(FindRoots(dev, a));
    TRY(LAUNCH(dev, amg_join_roots, a));
  }
  TRY(JoinNeighbours(dev, a));
  return Number(dev, a, s, count, members);
}

PoiseErr poiseAmgAggregate(PoiseContext ctx, AmgGraph *g, int64_t least, Buffer *aggregate, int64_t *count,
                           int64_t *members)
{
  Scratch s = {0};
  Device *dev = ctx->device;
  AmgAggregateArgs a = {.n = g->csr.m, .least = least};
  PoiseErr e = poiseCsrPattern(&g->csr, &a.g);
  if (!e) e = poiseBufferRead(&g->weight, DEVICE, &a.weight);
  if (!e) e = poiseBufferRead(&g->leaf, DEVICE, &a.leaf);
  if (!e) e = poiseAmgMake(dev, a.n, sizeof *a.aggregate, "aggregates of nodes", aggregate, &a.aggregate);
  if (!e) e = Run(dev, &a, &s, count, members);
  Buffer *all[] = {&s.state, &s.rank, &s.near, &s.next, &s.left, &s.changed};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) poiseBufferDestroy(all[k]);
  poiseCsrDestroy(ctx, &s.number);
  return e;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Rounds of a maximal set of which no two nodes are within distance 2, and who joins whom. */
#ifndef POISE_AMG_AGGREGATE_KERNELS_H
#define POISE_AMG_AGGREGATE_KERNELS_H

#include "matrix_kernels.h"

enum { AMG_FREE, AMG_ROOT, AMG_COVERED, AMG_LONELY, AMG_LEAF };

typedef struct AmgAggregateArgs {
  int64_t n; /* nodes */
  CsrView g; /* strong connections; those to ghost nodes, n and on, count for nothing but that they exist */
  const float *weight;
  const int32_t *leaf; /* the node that a leaf joins; of others: -1, or the node itself */
  int64_t least;
  int round;
  uint8_t *state;            /* in the present pass */
  uint64_t *rank, *near;     /* priorities; the largest among neighbours */
  int32_t *aggregate, *next; /* the root of a node's aggregate, later its number; -1: none */
  int32_t *left, *changed;   /* flags */
  CsrView number;            /* offsets: of roots */
} AmgAggregateArgs;

/* In the second pass the graph is that of nodes without an aggregate. Leaves are in none. */
POISE_INLINE int poiseAmgSees(const AmgAggregateArgs *a, int64_t j)
{
  return j < a->n && a->state[j] < AMG_LONELY && a->aggregate[j] < 0;
}

/* The state of node i, and its priority in a round. */
POISE_INLINE void poiseAmgSetState(const AmgAggregateArgs *a, int64_t i, uint8_t state, int round)
{
  uint64_t hash = poiseMix(1, (uint64_t)i * 131 + (uint64_t)round * 7919);
  a->state[i] = state;
  a->rank[i] = state == AMG_FREE   ? (hash >> 33) << 31 | (uint64_t)(i + 1)
               : state == AMG_ROOT ? UINT64_MAX
                                   : 0;
}

POISE_INLINE void amg_start_item(const AmgAggregateArgs *a, int64_t i)
{
  bool alone = poiseCsrOffset(&a->g, i + 1) - poiseCsrOffset(&a->g, i) <= 1;
  bool is_leaf = a->leaf[i] >= 0 && a->leaf[i] != i;
  poiseAmgSetState(a, i, is_leaf ? AMG_LEAF : alone ? AMG_LONELY : AMG_FREE, 1);
  a->aggregate[i] = -1;
}

/* The largest of r and the numbers at the neighbours of node i: some at once, until it can grow no more. */
POISE_INLINE uint64_t poiseAmgLargest(const AmgAggregateArgs *a, const uint64_t *of, int64_t i, uint64_t r)
{
  enum { AT_ONCE = 4 };
  for (int64_t k = poiseCsrOffset(&a->g, i), last = poiseCsrOffset(&a->g, i + 1); r < UINT64_MAX && k < last;
       k += AT_ONCE)
    for (int e = 0; e < AT_ONCE; e++) {
      int32_t j = a->g.col[k + e < last ? k + e : last - 1];
      uint64_t there = j < a->n ? of[j] : 0;
      r = there > r ? there : r;
    }
  return r;
}

/* Only nodes of the pass have priorities. Roots stay, and what is decided otherwise has no priority any more:
   beside a root, and beside decided nodes alone, nothing changes. Traffic: the graph, and 8 bytes of each
   neighbour, of what changes. */
POISE_INLINE void amg_near_item(const AmgAggregateArgs *a, int64_t i)
{
  if (a->round == 1) a->near[i] = poiseAmgSees(a, i);
  if (a->near[i] != 0 && a->near[i] != UINT64_MAX) a->near[i] = poiseAmgLargest(a, a->rank, i, a->rank[i]);
  if (i == 0) *a->left = 0;
}

/* The largest within distance 2 is a root; what has a root there is covered. Others have another priority in
   the next round. */
POISE_INLINE void amg_decide_item(const AmgAggregateArgs *a, int64_t i)
{
  if (a->state[i] != AMG_FREE) return;
  uint64_t r = poiseAmgLargest(a, a->near, i, a->near[i]);
  int state = r == UINT64_MAX ? AMG_COVERED : r == a->rank[i] ? AMG_ROOT : AMG_FREE;
  if (state == AMG_FREE) poiseRaise(a->left);
  poiseAmgSetState(a, i, (uint8_t)state, a->round + 1);
}

/* A node joins the root that it is most strongly connected to. */
POISE_INLINE void amg_join_roots_item(const AmgAggregateArgs *a, int64_t i)
{
  float best = -1;
  if (a->state[i] == AMG_ROOT) a->aggregate[i] = (int32_t)i;
  if (!poiseAmgSees(a, i)) return;
  for (int64_t k = poiseCsrOffset(&a->g, i), last = poiseCsrOffset(&a->g, i + 1); k < last; k++)
    if (a->g.col[k] < a->n && a->state[a->g.col[k]] == AMG_ROOT && a->weight[k] > best)
      best = a->weight[k], a->aggregate[i] = a->g.col[k];
}

/* `next` has what the state becomes, as the state says who is lonely. */
POISE_INLINE void amg_start_second_item(const AmgAggregateArgs *a, int64_t i)
{
  int64_t count = 0;
  for (int64_t k = poiseCsrOffset(&a->g, i), last = poiseCsrOffset(&a->g, i + 1); k < last; k++)
    count += poiseAmgSees(a, a->g.col[k]);
  a->next[i] = a->state[i] >= AMG_LONELY                  ? a->state[i]
               : a->aggregate[i] < 0 && count >= a->least ? AMG_FREE
                                                          : AMG_COVERED;
}

POISE_INLINE void amg_second_item(const AmgAggregateArgs *a, int64_t i)
{
  poiseAmgSetState(a, i, (uint8_t)a->next[i], 1);
}

POISE_INLINE int poiseAmgWaits(const AmgAggregateArgs *a, int64_t i)
{
  return a->state[i] != AMG_LONELY && a->aggregate[i] < 0;
}

/* The node that a leaf joins has larger connections, so no circle of leaves waits. */
POISE_INLINE void amg_join_neighbours_item(const AmgAggregateArgs *a, int64_t i)
{
  float best = -1;
  a->next[i] = a->aggregate[i];
  if (i == 0) *a->left = *a->changed = 0;
  if (!poiseAmgWaits(a, i)) return;
  if (a->state[i] == AMG_LEAF) a->next[i] = a->aggregate[a->leaf[i]];
  if (a->state[i] == AMG_LEAF) return;
  for (int64_t k = poiseCsrOffset(&a->g, i), last = poiseCsrOffset(&a->g, i + 1); k < last; k++)
    if (a->g.col[k] < a->n && a->aggregate[a->g.col[k]] >= 0 && a->weight[k] > best)
      best = a->weight[k], a->next[i] = a->aggregate[a->g.col[k]];
}

POISE_INLINE void amg_take_item(const AmgAggregateArgs *a, int64_t i)
{
  if (a->next[i] != a->aggregate[i]) poiseRaise(a->changed);
  a->aggregate[i] = a->next[i];
  if (poiseAmgWaits(a, i)) poiseRaise(a->left);
}

POISE_INLINE void amg_roots_item(const AmgAggregateArgs *a, int64_t i)
{
  a->next[i] = a->aggregate[i] == i;
}

/* Roots are numbered in their order, so that neighbours stay neighbours. */
POISE_INLINE void amg_number_item(const AmgAggregateArgs *a, int64_t i)
{
  if (a->aggregate[i] >= 0) a->aggregate[i] = (int32_t)poiseCsrOffset(&a->number, a->aggregate[i]);
  a->next[i] = a->aggregate[i] >= 0;
}

#endif

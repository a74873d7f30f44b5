/* SPDX-License-Identifier: BSD-3-Clause */
/* What a level of several ranks keeps for nodes of other ranks (ranks.c). */
#ifndef POISE_AMG_RANKS_KERNELS_H
#define POISE_AMG_RANKS_KERNELS_H

#include "mat/csr/csr_view.h"

/* `count` columns of an array by rows, into those of another one; an item is a number of these. */
typedef struct AmgColumnsArgs {
  int64_t n, count, from_width, to_width;
  const double *from;
  double *to;
} AmgColumnsArgs;

/* Traffic: 16 bytes for each number. */
POISE_INLINE void amg_copy_columns_item(const AmgColumnsArgs *a, int64_t k)
{
  int64_t i = k / a->count, c = k % a->count;
  a->to[i * a->to_width + c] = a->from[i * a->from_width + c];
}

/* Columns of A's entries, of which those of ghosts get other numbers. */
typedef struct AmgRenumberArgs {
  int64_t n, nloc;
  const int32_t *from, *number;
  int32_t *to;
} AmgRenumberArgs;

/* Traffic: 8 bytes for each entry; numbers of ghosts stay in a cache. */
POISE_INLINE void amg_renumber_item(const AmgRenumberArgs *a, int64_t k)
{
  int32_t col = a->from[k];
  a->to[k] = col < a->nloc ? col : a->number[col - a->nloc];
}

/* n offsets of rows, counted from the first of them. */
typedef struct AmgOffsetsArgs {
  int64_t n;
  const int32_t *from32;
  const int64_t *from64;
  int32_t *to32;
  int64_t *to64;
} AmgOffsetsArgs;

/* Traffic: 8 or 16 bytes for each row. */
POISE_INLINE void amg_offsets_item(const AmgOffsetsArgs *a, int64_t i)
{
  if (a->from32)
    a->to32[i] = a->from32[i] - a->from32[0];
  else
    a->to64[i] = a->from64[i] - a->from64[0];
}

/* Own aggregates of own nodes: their global numbers, as they travel; their places. -1: of none. */
typedef struct AmgAggregateNumbersArgs {
  int64_t n, first, below;
  const int32_t *aggregate;
  double *global;
  int32_t *place;
} AmgAggregateNumbersArgs;

/* Traffic: 12 bytes for each node. */
POISE_INLINE void amg_global_aggregates_item(const AmgAggregateNumbersArgs *a, int64_t i)
{
  a->global[i] = a->aggregate[i] < 0 ? -1 : (double)(a->first + a->aggregate[i]);
}

/* Traffic: 8 bytes for each node. */
POISE_INLINE void amg_place_aggregates_item(const AmgAggregateNumbersArgs *a, int64_t i)
{
  a->place[i] = a->aggregate[i] < 0 ? -1 : (int32_t)(a->aggregate[i] + a->below);
}

/* Aggregates of n ghost nodes, by the global numbers that came, -1: of none. amg_aggregate_keys: keys, where
   such nodes have bit `bits`, and places of the keys. amg_place_ghosts: places of aggregates; ghost: the
   global numbers of all nghost that there are. */
typedef struct AmgGhostPlacesArgs {
  int64_t n, below, own, nghost;
  int bits;
  const double *global;
  const int64_t *ghost;
  uint64_t *key;
  uint32_t *at;
  int32_t *place;
} AmgGhostPlacesArgs;

/* Traffic: 20 bytes for each ghost node. */
POISE_INLINE void amg_aggregate_keys_item(const AmgGhostPlacesArgs *a, int64_t k)
{
  a->key[k] = a->global[k] < 0 ? UINT64_C(1) << a->bits : (uint64_t)a->global[k];
  a->at[k] = (uint32_t)k;
}

/* Traffic: 12 bytes for each ghost node; the list stays in a cache. */
POISE_INLINE void amg_place_ghosts_item(const AmgGhostPlacesArgs *a, int64_t k)
{
  int64_t at = a->global[k] < 0 ? -1 : poiseFirstFrom(a->ghost, a->nghost, (int64_t)a->global[k]);
  a->place[k] = (int32_t)(at < a->below ? at : at + a->own);
}

#endif

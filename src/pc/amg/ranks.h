/* SPDX-License-Identifier: BSD-3-Clause */
/* Set-up: a level of several ranks. */
#ifndef POISE_AMG_RANKS_H
#define POISE_AMG_RANKS_H

#include "mat/object/mat.h"
#include "matrix_kernels.h"

typedef struct AmgGhosts { /* nodes of other ranks that a rank's rows refer to, ascending */
  int64_t nodes, below;    /* below: those of lower ranks */
  Buffer col;       /* A's columns, numbered as if A referred to all rows of these nodes; none: it does */
  Halo *own, *halo; /* of these rows: that of A, or one of its own */
} AmgGhosts;

static inline int64_t poiseAmgAllNodes(const AmgMatrix *m) /* with ghosts */
{
  return m->nodes + (m->ghosts ? m->ghosts->nodes : 0);
}

/* Collective; agrees. */
PoiseErr poiseAmgGhostsCreate(PoiseMat A, int node, AmgGhosts **ghosts);
void poiseAmgGhostsDestroy(PoiseContext ctx, AmgGhosts **ghosts);
/* v has `width` numbers of each own node, and gets those of ghost nodes behind, from device to device where a
   halo does. mine: this rank's error so far. Without ghosts: nothing. Collective; the exchange takes place
   whatever fails on this rank, and the caller agrees. */
PoiseErr poiseAmgFillGhosts(PoiseContext ctx, const AmgMatrix *m, PoiseErr mine, int64_t width, Buffer *v);

/* The compacted global numbering of the aggregates that a rank's nodes and ghost nodes are in: places in the
   order of global numbers, [of lower ranks | own | of higher ranks]. */
typedef struct AmgPlaces {
  int64_t below, nghost; /* aggregates of lower ranks; of other ranks */
  PoiseInt *ghost;       /* global numbers of the latter, ascending */
  Buffer place;          /* int32, of each node and ghost node; -1: of none */
} AmgPlaces;

/* aggregate: of own nodes, of `count`. Collective; the caller agrees. */
PoiseErr poiseAmgPlacesCreate(PoiseContext ctx, const AmgMatrix *m, Buffer *aggregate, int64_t count,
                              AmgPlaces *p);
void poiseAmgPlacesDestroy(PoiseContext ctx, AmgPlaces *p);

#endif

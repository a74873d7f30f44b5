/* SPDX-License-Identifier: BSD-3-Clause */
/* Set-up: aggregates of strongly connected nodes. */
#ifndef POISE_AMG_AGGREGATE_H
#define POISE_AMG_AGGREGATE_H

#include "strength.h"

/* The aggregates of own nodes (int32), by their connections with each other, ascending by their roots. One
   whose strong neighbours are all of other ranks is alone in its aggregate; -1: there are none at all.
   members: nodes that have one. least: free neighbours that a node needs to be the root of a second
   aggregate; 0: there is no second pass. */
PoiseErr poiseAmgAggregate(PoiseContext ctx, AmgGraph *g, int64_t least, Buffer *aggregate, int64_t *count,
                           int64_t *members);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Set-up: the near null space by aggregates, which is the tentative prolongation T. */
#ifndef POISE_AMG_TENTATIVE_H
#define POISE_AMG_TENTATIVE_H

#include "mat/object/mat.h"
#include "matrix_kernels.h"

typedef struct AmgModes { /* near null space: `count` vectors, n x count, row by row */
  int count;
  int64_t n;
  Buffer b;
} AmgModes;

typedef struct AmgMembers { /* nodes of aggregate k: node[start[k] .. start[k + 1]), ascending */
  Buffer start, node;
} AmgMembers;

/* A's near null space, or constants, one for each row of a node. */
PoiseErr poiseAmgModes(PoiseMat A, int node, AmgModes *m);
/* The vectors become 0 in rows that their diagonal holds, as supports do. The smoother solves these. In
   coarse functions their diagonal, which may have any size, would stand beside those of other rows. size: of
   diagonal entries, or 1 over them (inverse). Collective; the caller agrees. */
PoiseErr poiseAmgHold(PoiseContext ctx, const AmgMatrix *m, Buffer *size, bool inverse, AmgModes *modes);
/* q, n x count: the vectors restricted to each aggregate and made orthonormal. coarse: what they are in
   these terms, so that b = T coarse->b. A vector that depends on those before it is 0 in an aggregate. q has
   room for ghost nodes. members: those of these aggregates, made if there are none. */
PoiseErr poiseAmgTentative(PoiseContext ctx, AmgModes *fine, const AmgMatrix *m, int64_t aggregates,
                           Buffer *aggregate, AmgMembers *members, Buffer *q, AmgModes *coarse);
void poiseAmgMembersDestroy(AmgMembers *members);

#endif

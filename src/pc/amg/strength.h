/* SPDX-License-Identifier: BSD-3-Clause */
/* Set-up: strong connections of nodes. */
#ifndef POISE_AMG_STRENGTH_H
#define POISE_AMG_STRENGTH_H

#include "mat/object/mat.h"
#include "matrix_kernels.h"

typedef struct AmgGraph {
  Csr csr;         /* offsets and columns, in A's order: a node's connections, with itself too */
  Buffer weight;   /* sizes of the connections, floats */
  Buffer leaf;     /* of each node: the one that it joins, if it is a leaf (strength_kernels.h) */
  int64_t dropped; /* connections that are not among them */
  Buffer kept;     /* a byte for each entry of A, is it among them; with poiseAmgMarks, if any is dropped */
} AmgGraph;

/* Is an entry of A, or its block, a connection of nodes? Then marks of entries tell all that interpolation
   asks of the graph, in a quarter of the bytes. */
static inline bool poiseAmgMarks(const AmgMatrix *m)
{
  return poiseAmgBlocks(m) == 1;
}

/* a_ij of the other sign than a_ii with a_ij^2 >= theta^2 s_i s_j, where s_i is the largest such magnitude in
   row i. Where nothing is, |a_ij| >= theta s_i. Of nodes of several rows a_ij is the trace of a block, over
   the first `rows`: that of linear elasticity is, but for a factor, the Laplacian. On coarse levels these are
   translations; rotations come after. Collective where m has ghosts. */
PoiseErr poiseAmgStrength(PoiseContext ctx, const AmgMatrix *m, int rows, double theta, AmgGraph *g);
void poiseAmgGraphDestroy(PoiseContext ctx, AmgGraph *g);

#endif

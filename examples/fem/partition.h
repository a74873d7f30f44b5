/* SPDX-License-Identifier: BSD-3-Clause */
/* Which rank has which cells of a mesh that came from a file. */
#ifndef FEM_PARTITION_H
#define FEM_PARTITION_H

#include "mesh.h"

/*
  rank[cells]: of each cell, with about as many cells on every rank and few facets between them, by METIS on
  rank 0. corner: nodes 0 .. nodes - 1 at its corners, facetCorners of which two neighbours share; used on
  rank 0 alone. *found = 0, and nothing is set, where there is one rank, where there are few cells, or no
  METIS in the build. Collective.
*/
PoiseErr FemPartition(PoiseContext ctx, PoiseInt cells, int corners, int facetCorners, PoiseInt nodes,
                      const int32_t *corner, double *rank, int *found);

#endif

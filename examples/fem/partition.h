/* SPDX-License-Identifier: BSD-3-Clause */
/* Distribution of the cells of a mesh from a file over ranks. */
#ifndef FEM_PARTITION_H
#define FEM_PARTITION_H

#include "mesh.h"

/*
  rank[cells]: the rank of each cell, by METIS on rank 0. Ranks get about equally many cells, with few facets
  between them. corner: nodes 0 .. nodes - 1 at the cells' corners, of which two neighbours share
  facetCorners; used on rank 0 alone. With one rank, few cells, or no METIS in the build, *found = 0 and
  nothing is set. Collective.
*/
PoiseErr FemPartition(PoiseContext ctx, PoiseInt cells, int corners, int facetCorners, PoiseInt nodes,
                      const int32_t *corner, double *rank, int *found);

#endif

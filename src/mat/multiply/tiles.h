/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Matrices of rectangular tiles, r x c scalars each and column-major, inside the library alone: what multigrid
  interpolates with where nodes have r unknowns and aggregates c. They are factors of products, B in A B and P
  in P^T A P. They have layouts, a CSR of tiles with ghosts, and the halo of vectors of their columns. They
  have no type that a user can ask for, and everything else refuses them by name.
*/
#ifndef POISE_TILES_H
#define POISE_TILES_H

#include "mat/csr/row_arrays.h"

extern const MatType poiseMatType_tiles;

static inline bool poiseMatIsTiles(PoiseMat A)
{
  return A->type == &poiseMatType_tiles;
}

/* Tiles of a matrix with layouts of scalars m, n, M, N, whole tiles of them, without entries yet. Collective;
   agrees. */
PoiseErr poiseTilesCreate(PoiseContext ctx, PoiseInt m, PoiseInt n, PoiseInt M, PoiseInt N, PoiseMat *T);
/* Its entries, of r x c tiles. rows: global columns of tiles on the host; made: a CSR with local columns and
   ghosts on the device, of which offsets, columns, values, m, nz, wide, nloc and ghosts are set. The other is
   NULL. Both are taken over, or released. mine: this rank's error so far. Collective; agrees. */
PoiseErr poiseTilesTake(PoiseMat T, PoiseErr mine, int r, int c, RowArrays *rows, Csr *made);

#endif

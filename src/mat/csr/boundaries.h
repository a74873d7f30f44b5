/* SPDX-License-Identifier: BSD-3-Clause */
/* Boundaries of shares in the nonzeros of a matrix, and shares by machines (boundaries.c). */
#ifndef POISE_MAT_BOUNDARIES_H
#define POISE_MAT_BOUNDARIES_H

#include "shares.h"

/* The last row of this rank that begins at or before its entry k. ptr: offsets on the host. */
int64_t poiseRowOfEntry(const Csr *c, const void *ptr, int64_t k);

typedef struct Entries { /* where this rank's entries begin in those of all ranks, and how many these are */
  int64_t first, total;
} Entries;

/* Boundary q of the shares lies in a node of this rank that has at most one per cent of `share`: 1 + the
   place to which it moves, an end of the node. Else 0. */
int64_t poiseBoundaryMove(PoiseMat A, const void *ptr, const Shares *s, Entries e, int q, double share);

/*
  Shares on two levels, where ranks are on several machines: *s becomes A's shares, with boundaries between
  machines moved to ends of nodes that have at most one per cent of a machine's share. The others follow.
  *bound: what s then refers to, which the caller frees. *machines: how many there are. Collective; agrees.
*/
PoiseErr poiseSharesByMachine(PoiseMat A, Shares *s, double **bound, int *machines);

#endif

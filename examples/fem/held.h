/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrices that stay as the application holds them, by columns (pcsc) or as triplets (pcoo). They are made of
   arrays; here of the entries of an assembled matrix, as no matrix becomes one of them. */
#ifndef FEM_HELD_H
#define FEM_HELD_H

#include <poise.h>

/* The name of such a type, if -mat_type asks for it; else NULL. Lent. */
const char *FemHeldType(PoiseContext ctx);
/*
  *A, which has all its entries, takes its -mat_ options. If they ask for pcsc or pcoo, a matrix of that type
  takes its place, unless it has one already: of its columns, or of its entries as triplets in the order of
  rows. It has no null space, which is to be set afterwards. Collective.
*/
PoiseErr FemMatTakeOptions(PoiseContext ctx, PoiseMat *A);

#endif

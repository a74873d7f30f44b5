/* SPDX-License-Identifier: BSD-3-Clause */
/* Stresses from displacements: means over cells, and averages at nodes. */
#ifndef FEM_STRESSES_H
#define FEM_STRESSES_H

#include "elastic.h"

enum { FEM_STRESS = 6 }; /* xx yy zz xy yz xz, as VTK has them; of a body of revolution zz goes around */

/*
  Stress is computed inside cells, where it is best, and jumps between them. At nodes it is averaged over the
  cells around, with weights N_a^2, which are largest at node a. Cells of all materials count: where materials
  meet, look at the cells. Inside cells of type tri6 and tet10 that hardly change their volume (nu >=
  FEM_LOCKING) the mean stress swings, so that nodes take the cell's mean of it. von Mises' stress of a cell
  is its mean over the cell, that of a node belongs to the average tensor.

  Averages are closer to the exact stress than cells are. So their difference estimates the error of the mesh
  (Zienkiewicz and Zhu 1987). For this each region of FemElastic has averages of its own, as stresses do jump
  between materials.
*/
typedef struct FemStresses {
  double *cell, *cellMises; /* [cells][6], [cells] */
  double *node, *nodeMises; /* [nodes][6], [nodes] */
  double power;             /* the integral of sigma : eps, twice the energy that is stored */
  double jumps; /* |sigma at nodes, interpolated, - sigma in cells| / |sigma|, |s|^2 = (s : s / mu, 1) */
} FemStresses;

/* u: displacements at this rank's nodes (FemGather). Collective. */
PoiseErr FemStressesCreate(const FemElastic *elastic, const double *u, FemStresses *stresses);
void FemStressesFree(FemStresses *stresses);

#endif

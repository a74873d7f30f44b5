/* SPDX-License-Identifier: BSD-3-Clause */
/* Forces that supports give to a part, and whether forces and energy balance. */
#ifndef FEM_BALANCE_H
#define FEM_BALANCE_H

#include "part.h"

/*
  The forces at nodes that are in balance with the stresses, less the loads, are 0 at free unknowns, to the
  solver's tolerance. At held ones they are the reactions. They come from stresses and not from the matrix, so
  that they check both.
*/
typedef struct FemBalance {
  double load[3];        /* N; sums over all nodes */
  double (*reaction)[3]; /* [supports of the part] N, of rows by the support that holds them */
  double forces;         /* N, the sum of the sizes of all forces at nodes */
  double off;            /* |load + reactions| over it */
  double work;           /* of load and reactions in the displacements, at full strength from the start */
} FemBalance;

/* u: displacements at this rank's nodes; x: the same as a vector. load: b before FemConstrain; by:
   FemPartSupport. Collective. */
PoiseErr FemBalanceCreate(const FemPart *part, const FemElastic *elastic, const double *u, PoiseVec x,
                          PoiseVec load, PoiseVec by, FemBalance *balance);
void FemBalanceFree(FemBalance *balance);

/* How far the forces [N], and their work from the energy [J], may be off by the residual of A x = b, behind
   FemConstrain, and by rounding. Collective. */
PoiseErr FemBalanceExplained(const FemSystem *system, double *forces, double *work);

#endif

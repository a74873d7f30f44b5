/* SPDX-License-Identifier: BSD-3-Clause */
/* Rigid motions of a body: those that store no energy, and those that supports do not stop. */
#ifndef FEM_RIGID_H
#define FEM_RIGID_H

#include "elastic.h"

enum { FEM_MAX_RIGID = 6 };

/*
  Translations along x, y, z, then rotations about the centre of the nodes, in orthonormal vectors. In the
  plane there are three, of a body of revolution one: along its axis. Behind it that body has two motions that
  are rigid in its section: away from the axis, and the rotation. They store energy only as they widen rings.
  That is little in cells that are small beside their radius, so multigrid needs them as near null space.
*/
typedef struct FemRigid {
  FemSolid kind;
  int count, near;        /* the first `count` of `near` vectors are rigid */
  double centre[3], size; /* largest distance of a node from the centre */
  double far;             /* the same from the origin */
  PoiseVec v[FEM_MAX_RIGID];
} FemRigid;
PoiseErr FemRigidCreate(const FemSystem *system, FemSolid kind, FemRigid *rigid);
void FemRigidFree(FemRigid *rigid);

/* Check A, to which no supports were applied: A v is 0 but for rounding, which grows with the distance from
   the origin. Prints max |A v| / |A|. */
PoiseErr FemRigidCheck(const FemSystem *system, const FemRigid *rigid);

/* held: vector of the rows of A, 0 where a row is free. POISE_ERR_ARG names a rigid motion whose held rows do
   not move. */
PoiseErr FemRigidHeld(const FemSystem *system, const FemRigid *rigid, PoiseVec held);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Linear elasticity in a cell: strain, stress, and the form of the matrix. */
#ifndef FEM_ELASTIC_H
#define FEM_ELASTIC_H

#include "assemble.h"

/*
  Bodies. Those of a mesh in the plane have two unknowns per node:
    PLANE_STRAIN  a slice of a long body: no strain along z. Integrals are over 1 m of depth.
    PLANE_STRESS  a thin plate: no stress along z. Integrals are over 1 m of depth.
    AXISYMMETRIC  a body of revolution about the y axis (FemMeshRevolve): x is the radius, z goes around.
                  Integrals are over the whole body.
*/
typedef enum FemSolid { FEM_SPACE, FEM_PLANE_STRAIN, FEM_PLANE_STRESS, FEM_AXISYMMETRIC } FemSolid;

/*
  Hooke's law: sigma = (lambda theta + kappa mean theta) I + 2 mu eps, theta = trace of eps. The mean is over
  the cell. In general kappa = 0, and lambda, mu are Lame's; in plane stress eps has no part along z, and
  lambda is less. If nu >= FEM_LOCKING, cells of type hex8 and quad4 cannot deform without a change of volume
  at some of their points, so that they are much too stiff: they lock. Their law has lambda = -2/3 mu, kappa =
  the bulk modulus: only the mean change of volume meets resistance (B-bar, Hughes 1980).
*/
#define FEM_LOCKING 0.4
typedef struct FemElastic {
  const FemMesh *mesh;
  FemSolid kind;
  double *law;      /* [cells][3] lambda, mu, kappa */
  double *dilation; /* [cells][nodes][dim] mean theta of a unit of each unknown; NULL if no cell needs it */
  int regions;      /* 1, or the number of materials, between which stresses jump */
  int *region;      /* [cells] 0 .. regions - 1; 0 after FemElasticCreate */
} FemElastic;

/* Allocate the law. The program sets that of each cell by FemElasticLaw, then calls FemElasticPrepare. */
PoiseErr FemElasticCreate(const FemMesh *mesh, FemSolid kind, FemElastic *elastic);
void FemElasticLaw(FemElastic *elastic, PoiseInt cell, double young, double poisson);
PoiseErr FemElasticPrepare(FemElastic *elastic); /* collective */
void FemElasticFree(FemElastic *elastic);

/* A FemForm, arg: FemElastic. K_(a i)(b j) = lambda theta_ai theta_bj + kappa mean theta_ai mean theta_bj + 2
   mu eps_ai : eps_bj, where eps_ai is the strain of unknown i of node a. */
void FemElasticForm(const FemPoint *p, void *arg, double *K, double *F);

/* Stress at a point, from the displacements u at this rank's nodes. Returns sigma : eps. */
double FemElasticStress(const FemElastic *elastic, const FemPoint *p, const double *u, double sigma[3][3]);

/* F_(a i) += sigma : eps_ai, times the volume: the forces at nodes that are in balance with sigma. */
void FemElasticForces(const FemElastic *elastic, const FemPoint *p, double sigma[3][3], double *F);

/* von Mises' stress sqrt(3/2 s : s), s = sigma - trace sigma / 3 I. */
double FemMises(double sigma[3][3]);

#endif

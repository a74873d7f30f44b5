/* SPDX-License-Identifier: BSD-3-Clause */
/* Elements: shape functions, integration points, and their values on a cell or facet of a mesh. No
   communication. */
#ifndef FEM_ELEMENT_H
#define FEM_ELEMENT_H

#include "mesh.h"

/* Points are also computed FEM_LANES at a time, so that compilers make vectors of them. */
enum { FEM_MAX_POINTS = 14, FEM_LANES = 4, FEM_MAX_PACKS = (FEM_MAX_POINTS + FEM_LANES - 1) / FEM_LANES };

/* Shape functions and their derivatives at the points of a reference cell or facet; weights. */
typedef struct FemReference {
  int dim, nodes, points;
  double w[FEM_MAX_POINTS], N[FEM_MAX_POINTS][FEM_MAX_NODES], dN[FEM_MAX_POINTS][FEM_MAX_NODES][3];
  /* N, then its derivatives, at the points of each pack; the last pack is filled up with its last point */
  int packs;
  double pack[FEM_MAX_PACKS][4][FEM_MAX_NODES][FEM_LANES];
} FemReference;

/* The reference cell, with enough points for the matrices of these elements. fine: for errors, degree 5. */
void FemReferenceCell(FemCell cell, int fine, FemReference *reference);
void FemReferenceFacet(FemCell cell, FemReference *reference);
/* Points at the nodes of the cell, in their order, all of weight 0. */
void FemReferenceNodes(FemCell cell, FemReference *reference);

/* What the points of a pack have in a cell. */
typedef struct FemPack {
  double x[4][FEM_LANES];    /* coordinates, and the value of a function given at nodes */
  double d[3][4][FEM_LANES]; /* their derivatives along s_1, s_2, s_3 of the reference cell */
  double inverse[3][3][FEM_LANES], det[FEM_LANES]; /* as FemCofactors (cells.h) has them */
} FemPack;

/* All points of a cell. node: coordinates, and the values of that function if columns is 4 and not 3. Returns
   0 if a Jacobian is not positive. */
int FemPacks(const FemReference *reference, int columns, double node[FEM_MAX_NODES][4],
             FemPack pack[FEM_MAX_PACKS]);

/* A cell, for FemGrad. */
typedef double FemVector[3];
typedef struct FemElement {
  const FemReference *reference;
  FemPack pack[FEM_MAX_PACKS];
  FemVector grad[FEM_MAX_NODES];
} FemElement;

/* An integration point of a cell or facet, for the forms of the programs. dV stands behind x: in front of it,
   compilers store them in other pairs than forms load, and each load waits for a store to end. */
typedef struct FemPoint {
  int dim, nodes;
  PoiseInt element;                /* this rank's number of the cell or facet */
  const PoiseInt *node;            /* [nodes] this rank's numbers of its nodes */
  double corner[FEM_MAX_NODES][4]; /* coordinates of the nodes, and 0 */
  double x[3];                     /* where the point is */
  double dV;                       /* weight times volume (area, length): sums over points are integrals. Of a
                                      body of revolution that of the ring through the point */
  const double *N;                 /* [nodes] shape functions; FemGrad: their gradients */
  double normal[3];                /* outwards, of length 1; of facets only */
  int q, revolved;                 /* number of the point; FemMesh.revolved */
  FemElement *of;                  /* of cells only */
} FemPoint;

/* The gradients of the shape functions in space, [nodes]; of cells only. Each call computes them, which takes
   as long as all else of a point: call it once, and not for an F without gradients. */
const FemVector *FemGrad(const FemPoint *p);

/* Set element e, then its points q = 0 .. reference->points - 1. A cell whose Jacobian is not positive is
   POISE_ERR_NUMERIC naming it. `of` must last as long as p. */
PoiseErr FemCellBegin(const FemMesh *mesh, const FemReference *reference, PoiseInt e, FemElement *of,
                      FemPoint *p);
void FemCellPoint(int q, FemPoint *p);
/* The error that names cell e, which is inverted or flat at one of the points. */
PoiseErr FemInverted(const FemMesh *mesh, const FemReference *reference, PoiseInt e);
void FemFacetBegin(const FemMesh *mesh, const FemReference *reference, PoiseInt e, FemPoint *p);
void FemFacetPoint(const FemReference *reference, int q, FemPoint *p);

double FemRing(double radius);          /* its length */
int FemOrder(FemCell cell);             /* of the polynomials: 1 or 2 */
void FemEdge(int edge, int *a, int *b); /* corners that an edge of a simplex joins: 01 12 20 03 13 23 */

/* Allocate count zeroed items by calloc. *array is NULL after a failure. */
PoiseErr FemAlloc(PoiseInt count, size_t size, void *array);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Elements: shape functions, integration points, and their values on a cell or facet of a mesh. No
   communication. */
#ifndef FEM_ELEMENT_H
#define FEM_ELEMENT_H

#include "mesh.h"

enum { FEM_MAX_POINTS = 14 };

/* Shape functions and their derivatives at the points of a reference cell or facet; weights. */
typedef struct FemReference {
  int dim, nodes, points;
  double w[FEM_MAX_POINTS], N[FEM_MAX_POINTS][FEM_MAX_NODES], dN[FEM_MAX_POINTS][FEM_MAX_NODES][3];
} FemReference;

/* The reference cell, with enough points for the matrices of these elements. fine: for errors, degree 5. */
void FemReferenceCell(FemCell cell, int fine, FemReference *reference);
void FemReferenceFacet(FemCell cell, FemReference *reference);
/* Points at the nodes of the cell, in their order, all of weight 0. */
void FemReferenceNodes(FemCell cell, FemReference *reference);

/* An integration point of a cell or facet, for the forms of the programs. */
typedef struct FemPoint {
  int dim, nodes;
  PoiseInt element;                /* this rank's number of the cell or facet */
  const PoiseInt *node;            /* [nodes] this rank's numbers of its nodes */
  double corner[FEM_MAX_NODES][3]; /* coordinates of the nodes */
  double dV;                       /* weight times volume (area, length): sums over points are integrals */
  double x[3];                     /* where the point is */
  const double *N;                 /* [nodes] shape functions */
  double grad[FEM_MAX_NODES][3];   /* their gradients in space; of cells only */
  double normal[3];                /* outwards, of length 1; of facets only */
} FemPoint;

/* Set element e, then its points q = 0 .. reference->points - 1. A cell whose Jacobian is not positive is
   POISE_ERR_NUMERIC naming it. */
void FemCellBegin(const FemMesh *mesh, const FemReference *reference, PoiseInt e, FemPoint *p);
PoiseErr FemCellPoint(const FemMesh *mesh, const FemReference *reference, int q, FemPoint *p);
/* The error that names cell e, which is inverted or flat at one of the points. */
PoiseErr FemInverted(const FemMesh *mesh, const FemReference *reference, PoiseInt e);
void FemFacetBegin(const FemMesh *mesh, const FemReference *reference, PoiseInt e, FemPoint *p);
void FemFacetPoint(const FemReference *reference, int q, FemPoint *p);

int FemOrder(FemCell cell);             /* of the polynomials: 1 or 2 */
void FemEdge(int edge, int *a, int *b); /* corners that an edge of a simplex joins: 01 12 20 03 13 23 */

/* Allocate count zeroed items by calloc. *array is NULL after a failure. */
PoiseErr FemAlloc(PoiseInt count, size_t size, void *array);

#endif

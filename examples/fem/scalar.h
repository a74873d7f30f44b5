/* SPDX-License-Identifier: BSD-3-Clause */
/* A problem that the user gives by data of groups (-material, -boundary): its data at points, its conditions
   on the boundary, and what can be judged of its solution. */
#ifndef FEM_SCALAR_H
#define FEM_SCALAR_H

#include "assemble.h"
#include "clauses.h"

/*
  u is a temperature, a concentration, a potential:
    capacity du/dt - div(conductivity grad u) + velocity . grad u = source    in cells
    u = value,  or  conductivity du/dn = flux + transfer (outside - u)        on facets
  n points outwards, so flux > 0 flows in. Facets without data have flux 0. A facet in groups of two clauses
  has the flux and transfer of both. All numbers are in the user's
  units; those of lengths are the mesh's.
*/
typedef struct FemMaterial {
  double conductivity, source, capacity, velocity[3];
} FemMaterial;

typedef struct FemBoundary {
  double value, flux, transfer, outside;
} FemBoundary;

/* What depends on x. These functions are in scalar_functions.c, to be edited there. */
void FemMaterialOf(const char *group, const double x[3], FemMaterial *data);
void FemBoundaryOf(const char *group, const double x[3], FemBoundary *data);
void FemInitialOf(const double x[3], double *u);

#define FEM_MATERIAL_HELP                                                                                  \
  "a problem of your own: data of groups of cells: <groups>: conductivity = <number>, source = <number>; " \
  "..."
#define FEM_BOUNDARY_HELP \
  "data of groups of facets: <groups>: value | flux, transfer and outside = <number>; ..., else flux 0"

/* Which of the equation's terms there are: neither time nor stream, time, stream. */
typedef enum FemTerms { FEM_STEADY, FEM_IN_TIME, FEM_IN_STREAM } FemTerms;

/* What flows into the body from one cause is constant + weight . u + change . du/dt per time. */
typedef struct FemFlow {
  char name[128];
  int clause; /* whose values it is that let it flow, or -1 */
  double constant;
  PoiseVec weight, change; /* or NULL */
  double rate, amount;     /* the latest; its integral over time */
  double rounding;         /* bound of the latest rate's */
} FemFlow;

typedef struct FemScalar {
  const FemMesh *mesh; /* borrowed */
  FemTerms terms;
  FemClauses material, boundary;
  int *group;  /* [cells] the group by which a cell has its data */
  int fixes;   /* a value of u is given */
  PoiseVec by; /* at each node 1 + the clause whose value it has, or 0 */
  int flows;
  FemFlow *flow;
  double range[2]; /* u must be in it by the maximum principle; an infinite end: it promises none */
} FemScalar;

/* *asked: is -material or -boundary given? Then POISE_ERR_OPTION if one of the options in `known` is, a list
   that ends with NULL, or if the way of assembly knows only one material. */
PoiseErr FemScalarAsked(PoiseContext ctx, FemAssembly how, const char *const *known, int *asked);
/*
  Read -material and -boundary. Keys of the former are conductivity, source, and capacity or velocity if there
  is such a term. Without -material conductivity and capacity are 1. With it every cell must have them, by one
  clause; source and velocity are 0 unless they are given. POISE_ERR_OPTION: data are missing, are given
  twice, or leave u not unique. Collective. FemScalarFree takes a zeroed or partly read one too.
*/
PoiseErr FemScalarRead(const FemMesh *mesh, FemTerms terms, const char *material, const char *boundary,
                       FemScalar *scalar);
void FemScalarFree(FemScalar *scalar);

/* The data at a point of a cell. */
FemMaterial FemMaterialAt(const FemScalar *scalar, const FemPoint *p);

/*
  Add flux and transfer to A and b, which have the terms of all cells but capacity, and set x where values are
  given. Of two values at a node the later clause's holds. Then FemConstrain must follow if `fixes`. Sets
  flows and range. Collective.
*/
PoiseErr FemScalarBoundary(FemScalar *scalar, FemSystem *system);
/* Add to the flows what is stored: M has the terms with capacity of all cells. Collective. */
PoiseErr FemScalarStored(FemScalar *scalar, PoiseMat M);

/* Rates of all flows for this u, and du/dt or NULL. Amounts grow by dt times them. Collective. */
PoiseErr FemScalarFlows(FemScalar *scalar, PoiseVec u, PoiseVec change, double dt);
/*
  Print the flows; with amounts if time is one of the terms. Then POISE_ERR_NUMERIC unless rates sum up to 0,
  which they do to the residual of A x = b and rounding. b is `step` times the flows. Collective.
*/
PoiseErr FemScalarPrint(const FemScalar *scalar);
PoiseErr FemScalarBalance(const FemScalar *scalar, const FemSystem *system, double step);

/* range[2] = least and largest entry. Collective. */
PoiseErr FemRange(PoiseVec u, double range[2]);
/* Print the range of u, and the one in which it must be. If u leaves it, a warning says by how much, and
   why that can be. Collective. */
PoiseErr FemPrintRange(PoiseContext ctx, const double u[2], const double must[2], const char *why);

#endif

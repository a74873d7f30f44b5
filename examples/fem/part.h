/* SPDX-License-Identifier: BSD-3-Clause */
/* A part to be analysed: its materials, supports and loads, from the text of options. */
#ifndef FEM_PART_H
#define FEM_PART_H

#include "clauses.h"
#include "elastic.h"

/*
  The texts (clauses.h), and their keys:
    material  cells: E [Pa], nu, density [kg/m^3]
    support   facets: x, y, z: displacements [m]; others stay free. No key: all are 0. Where groups meet, the
              last one in the text counts.
    loads     facets: traction [Pa, a vector], pressure [Pa, positive on the body], force [N, a vector: in
              all, spread evenly over the groups of its clause]. Load cases are separated by '|'; all of them
              have the same supports and body forces
    body      cells: force [N/m^3, a vector], gravity [m/s^2, a vector, times the density]
  In the plane vectors have two numbers; a force is per metre of depth, of a body of revolution in all.
*/
typedef struct FemPartText {
  const char *material, *support, *loads, *body;
} FemPartText;

/*
  Functions of x in a group, each called with what the text says, which it may change. A cell or facet in
  several groups is in the one that the text names. Without text a cell's material is asked for with its first
  group, or "". Several threads call them at once.
*/
typedef struct FemPartFunctions {
  void *arg;
  void (*material)(const char *group, const double x[3], void *arg, double *young, double *poisson,
                   double *density);
  void (*support)(const char *group, const double x[3], void *arg, double u[3]); /* FEM_FREE: not held */
  void (*load)(const char *group, const double x[3], const double normal[3], void *arg, double traction[3]);
  void (*body)(const char *group, const double x[3], double density, void *arg, double force[3]);
} FemPartFunctions;

typedef struct FemPart {
  const FemMesh *mesh;
  FemSolid kind;
  FemPartFunctions at;
  FemClauses material, support, loads, body;
  double *density;       /* [cells] */
  double young, poisson; /* of cells without text */
  int supports;          /* number of pairs of a clause and one of its groups */
} FemPart;

/* Read the texts. young, poisson: the material if there is no text. Collective. */
PoiseErr FemPartRead(const FemMesh *mesh, FemSolid kind, const FemPartText *text, const FemPartFunctions *at,
                     double young, double poisson, FemPart *part);
void FemPartFree(FemPart *part); /* a zeroed or partly read one is legal */

/* Set the law and density of all cells; young[cells] and the largest nu too, for information. */
PoiseErr FemPartMaterial(FemPart *part, FemElastic *elastic, double *young, double *poisson);

/* The mass [kg] of cells whose density is known; of a slab per metre of depth. Collective. */
PoiseErr FemPartMass(const FemPart *part, double *mass);

/* Prescribe displacements. by: a vector like x that becomes the number of the support that holds each row: 1
   + its place among `supports`; 0: free; -1: the axis of a body of revolution, which stays where it is. */
PoiseErr FemPartSupport(const FemPart *part, FemSystem *system, PoiseVec by);
const char *FemPartSupportName(const FemPart *part, int support);

/* How many load cases there are: 1 at least. */
int FemPartCases(const FemPart *part);
/* b += the loads of case `number`, from 0. */
PoiseErr FemPartLoad(FemPart *part, int number, FemSystem *system);

#endif

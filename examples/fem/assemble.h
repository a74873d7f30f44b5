/* SPDX-License-Identifier: BSD-3-Clause */
/* From the forms of a program to A x = b: assembly, prescribed values, integrals. All functions are
   collective. */
#ifndef FEM_ASSEMBLE_H
#define FEM_ASSEMBLE_H

#include "element.h"
#include "operator.h"
#include <math.h>

/*
  Ways to the same matrix, to rounding:
    ELEMENTS  PoiseMatAddBlock, one cell at a time
    COO       all entries of all cells as triplets, whose pattern is given once
    DEVICE    the same from a FemOperator, computed on the device
    BLOCKS    the same by blocks of `components`, into a matrix of type bcsr
*/
typedef enum FemAssembly { FEM_ELEMENTS, FEM_COO, FEM_DEVICE, FEM_BLOCKS } FemAssembly;
#define FEM_WAYS "elements|coo|device"

/* A x = b with unknown c of node i at global row components * i + c. Rows are owned as the nodes are. */
typedef struct FemSystem {
  const FemMesh *mesh; /* borrowed */
  int components;
  FemAssembly how;
  PoiseMat A; /* of block size `components` */
  PoiseVec b, x;
  PoiseInt fixed, *fixedRows; /* rows of x with prescribed values that this rank knows of */
  int patterned;              /* A has the pattern of its triplets */
} FemSystem;

PoiseErr FemSystemCreate(const FemMesh *mesh, int components, FemAssembly how, FemSystem *system);
void FemSystemFree(FemSystem *system); /* one of zeros, or half made, is legal */

/*
  What a point adds to its element's matrix K, row-major over unknowns components * k + c of its nodes k, and
  vector F, which are both 0 before the first point. K is NULL on facets, and where an operator gives the
  matrix. Several threads call it at once.
*/
typedef void (*FemForm)(const FemPoint *p, void *arg, double *K, double *F);

/* A and b anew from the cells. op: the form's K (the program's word for it) for DEVICE and BLOCKS; else
   without effect, or NULL. */
PoiseErr FemAssembleCells(FemSystem *system, FemForm form, void *arg, const FemOperator *op);
/* b += what the facets of a group give (Neumann data). */
PoiseErr FemAssembleFacets(FemSystem *system, int group, FemForm form, void *arg);

/* Is A, as FemAssembleCells has just left it, the matrix that triplets, or if those gave it elements, make of
   the form? POISE_ERR_NUMERIC if they differ by more than rounding. */
PoiseErr FemCheckAssembly(const FemSystem *system, FemForm form, void *arg);

/* Values of the unknowns of a node at x; those that are not prescribed it sets to FEM_FREE. */
#define FEM_FREE NAN
typedef void (*FemValue)(const double x[3], void *arg, double *value);
/* x gets the values at the nodes of this group's facets, whose rows are kept for FemConstrain. A row may be
   given twice. */
PoiseErr FemFix(FemSystem *system, int group, FemValue value, void *arg);
/* Rows and columns of all prescribed unknowns leave A, their values go to b. POISE_ERR_STATE if nothing is
   prescribed: A is then singular. */
PoiseErr FemConstrain(FemSystem *system);

/* Values of x, which has this many unknowns per node, at this rank's nodes, from any rank; to be freed. */
PoiseErr FemGather(const FemMesh *mesh, int components, PoiseVec x, double **values);
/* x_i = value at node i. */
PoiseErr FemInterpolate(const FemMesh *mesh, int components, FemValue value, void *arg, PoiseVec x);

/* sums[0 .. n) = what the integrand adds to them at all points (a fine rule) of all cells of all ranks. n may
   be 0: what it adds to arrays of its own for each cell stays there. Several threads call it at once, each
   with sums of its own. */
typedef void (*FemIntegrand)(const FemPoint *p, void *arg, double *sums);
PoiseErr FemIntegrate(const FemMesh *mesh, FemIntegrand integrand, void *arg, int n, double *sums);

/* A function to compare with: its value at x, and its gradient. */
typedef double (*FemExact)(const double x[3], void *arg, double gradient[3]);
/* Norms of e = u_h - u, where u_h has these values at this rank's nodes: *L2 of e, *H1 of its gradient; *mean
   of e. */
PoiseErr FemErrors(const FemMesh *mesh, const double *values, FemExact exact, void *arg, double *L2,
                   double *H1, double *mean);

#endif

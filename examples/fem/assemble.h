/* SPDX-License-Identifier: BSD-3-Clause */
/* From the forms of a program to A x = b: assembly, prescribed values, integrals. All functions are
   collective. */
#ifndef FEM_ASSEMBLE_H
#define FEM_ASSEMBLE_H

#include "element.h"
#include "operator.h"
#include <math.h>

/*
  Ways to assemble the same matrix, to rounding:
    AUTO      one of the others, which FemChooseAssembly finds
    ELEMENTS  PoiseMatAddBlock, one cell at a time
    COO       all entries of all cells as triplets, whose pattern is given once
    DEVICE    the same from a FemOperator, computed on the device
    BLOCKS    the same by blocks of `components`, into a matrix of type bcsr
*/
typedef enum FemAssembly { FEM_AUTO, FEM_ELEMENTS, FEM_COO, FEM_DEVICE, FEM_BLOCKS } FemAssembly;
#define FEM_WAYS "auto|elements|coo|device"

/*
  *how = asked, or of AUTO the fastest way, the same on all ranks. If a FemOperator gives the form's K
  (`formula`), that is BLOCKS for several components, and for one DEVICE where a GPU computes it
  (FemOperatorOnGpu). The mock device plays a GPU. Without a formula it is ELEMENTS. So it is where a device
  lacks the memory for all triplets, or there are 2^31 nodes or more.
*/
PoiseErr FemChooseAssembly(const FemMesh *mesh, int components, FemAssembly asked, int formula,
                           FemAssembly *how);

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

/* how: not AUTO. */
PoiseErr FemSystemCreate(const FemMesh *mesh, int components, FemAssembly how, FemSystem *system);
void FemSystemFree(FemSystem *system); /* a zeroed or partly made one is legal */

/*
  What an integration point adds to its element's matrix K and vector F. K is row-major over the unknowns
  components * k + c of the element's nodes k. Both are 0 before the first point. K is NULL where only F is
  wanted: in FemAssembleFacets, and if an operator gives the matrix. Several threads call it at once.
*/
typedef void (*FemForm)(const FemPoint *p, void *arg, double *K, double *F);

/* Assemble A and b from the cells. op: the form's K for DEVICE and BLOCKS; the program guarantees that.
   For others it has no effect, and may be NULL. While a GPU computes K, threads of the host compute F. */
PoiseErr FemAssembleCells(FemSystem *system, FemForm form, void *arg, const FemOperator *op);
/* b += the contribution of the facets of a group (Neumann data); or of those that are in any of several. */
PoiseErr FemAssembleFacets(FemSystem *system, int group, FemForm form, void *arg);
PoiseErr FemAssembleFacetsOf(FemSystem *system, int groups, const int *group, FemForm form, void *arg);
/* v += the F of the form over all cells. The form finds K NULL, and may have up to FEM_MAX_COMPONENTS. v has
   so many entries for each node. */
enum { FEM_MAX_COMPONENTS = 8 };
PoiseErr FemAssembleVector(const FemMesh *mesh, int components, FemForm form, void *arg, PoiseVec v);
/* The same, and A, which is assembled, += the matrices of the facets (Robin data). */
PoiseErr FemAssembleFacetMatrices(FemSystem *system, int group, FemForm form, void *arg);

/* Check A, just assembled by FemAssembleCells, against another way: triplets, or elements if triplets gave
   it. POISE_ERR_NUMERIC if they differ by more than rounding. */
PoiseErr FemCheckAssembly(const FemSystem *system, FemForm form, void *arg);

/* Values of the unknowns of a node at x. It sets those that are not prescribed to FEM_FREE. Several threads
   call it at once. */
#define FEM_FREE NAN
typedef void (*FemValue)(const double x[3], void *arg, double *value);
/* Set x at the nodes of this group's facets, and keep these rows for FemConstrain. A row may be given
   twice. */
PoiseErr FemFix(FemSystem *system, int group, FemValue value, void *arg);
/* The same at all nodes of the mesh. */
PoiseErr FemFixNodes(FemSystem *system, FemValue value, void *arg);
/* Remove the rows and columns of all prescribed unknowns from A; their values go to b. POISE_ERR_STATE if
   nothing is prescribed: A is then singular. */
PoiseErr FemConstrain(FemSystem *system);

/* Gather the values of x, with so many unknowns per node, at this rank's nodes, from any rank. The caller
   frees them. */
PoiseErr FemGather(const FemMesh *mesh, int components, PoiseVec x, double **values);
/* x_i = value at node i. */
PoiseErr FemInterpolate(const FemMesh *mesh, int components, FemValue value, void *arg, PoiseVec x);

/* sums[0 .. n) = the integrand, summed over all points (a fine rule) of all cells of all ranks. n may be
   0: the integrand may write to arrays of its own for each cell. Several threads call it at once, each
   with its own sums. */
typedef void (*FemIntegrand)(const FemPoint *p, void *arg, double *sums);
PoiseErr FemIntegrate(const FemMesh *mesh, FemIntegrand integrand, void *arg, int n, double *sums);
/* The same by the points of matrices: so a product (A u, u) is found again to rounding. */
PoiseErr FemIntegrateAsMatrix(const FemMesh *mesh, FemIntegrand integrand, void *arg, int n, double *sums);

/* A function to compare with: its value at x, and its gradient. */
typedef double (*FemExact)(const double x[3], void *arg, double gradient[3]);
/* Norms of e = u_h - u, where u_h has these values at this rank's nodes: *L2 of e, *H1 of its gradient; *mean
   of e. */
PoiseErr FemErrors(const FemMesh *mesh, const double *values, FemExact exact, void *arg, double *L2,
                   double *H1, double *mean);

#endif

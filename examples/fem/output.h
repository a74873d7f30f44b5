/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that a program leaves: each appears whole or not at all. All functions are collective. */
#ifndef FEM_OUTPUT_H
#define FEM_OUTPUT_H

#include "mesh.h"

/* Values to be shown: data[nodes or cells of this rank][components]. */
typedef struct FemField {
  const char *name;
  int components;
  int ofCells; /* else of nodes */
  const double *data;
} FemField;

/* Can files of this name be written? To be asked before the work whose result they hold; "" is none, and
   leaves none. */
PoiseErr FemTryOutput(PoiseContext ctx, const char *name);

/* <name>.vtu on one rank; on several <name>.pvtu, which speaks of one <name>_<rank>.vtu from each rank. Cells
   carry their group and rank too. For ParaView, VTK, meshio. */
PoiseErr FemWriteMesh(const FemMesh *mesh, const char *name, int count, const FemField *fields);

/* <name>.csv: iteration and residual norm of the latest solve, whose history must have been kept
   (PoiseKSPKeepHistory). */
PoiseErr FemWriteHistory(PoiseKSP ksp, const char *name);

#endif

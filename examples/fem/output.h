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

/* Check that files of this name can be written, before the work whose result they hold. "" means no files. */
PoiseErr FemTryOutput(PoiseContext ctx, const char *name);

/* Write <name>.vtu on one rank. On several ranks write <name>.pvtu, which refers to one <name>_<rank>.vtu
   of each rank. Cells carry their group and rank too. For ParaView, VTK, meshio. */
PoiseErr FemWriteMesh(const FemMesh *mesh, const char *name, int count, const FemField *fields);

/* Write <name>.csv: iteration and residual norm of the latest solve. Its history must have been kept
   (PoiseKSPKeepHistory). */
PoiseErr FemWriteHistory(PoiseKSP ksp, const char *name);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that a program leaves: each appears whole or not at all. All functions are collective. */
#ifndef FEM_OUTPUT_H
#define FEM_OUTPUT_H

#include "mesh.h"

/* Values to be shown: data[nodes or cells of this rank][components]. */
typedef struct FemField {
  const char *name; /* with the unit, if there is one: "von Mises [Pa]" */
  int components;
  int ofCells; /* else of nodes */
  const double *data;
} FemField;

/* Check that files of this name can be written, before the work whose result they hold. "" means no files. */
PoiseErr FemTryOutput(PoiseContext ctx, const char *name);

/* Write <name>.vtu on one rank. On several ranks write <name>.pvtu, which refers to one <name>_<rank>.vtu
   of each rank. For ParaView, VTK, meshio. Cells carry their rank too, and the number of a group, the first
   that has them. Field data "group <name>" tells the number of each group. If a cell is in several, an array
   "in <name>" tells it for each group. */
PoiseErr FemWriteMesh(const FemMesh *mesh, const char *name, int count, const FemField *fields);

/* Solutions in time. Zeroed: none. */
typedef struct FemMoment FemMoment;
typedef struct FemSeries {
  PoiseInt count; /* of rank 0, as are the moments */
  FemMoment *moment;
} FemSeries;
/* Write <name>.pvd with the times of all files of the series. Last comes the one that FemWriteMesh has just
   written to the name `file`, in the same folder. So whenever a run ends, the .pvd speaks of files that are
   there. */
PoiseErr FemWriteSeries(PoiseContext ctx, FemSeries *series, const char *name, double time, const char *file);
void FemSeriesFree(FemSeries *series);

/* Norms of solves that were gone on with, each from where the one before ended. free(norms) frees them. */
typedef struct FemHistory {
  PoiseInt count;
  double *norms;
} FemHistory;
/* Append those of the latest solve, or of its system j, before the next begins. Its history must have been
   kept (PoiseKSPKeepHistory). Collective. */
PoiseErr FemKeepHistory(PoiseKSP ksp, FemHistory *history);
PoiseErr FemKeepColumnHistory(PoiseKSP ksp, int j, FemHistory *history);
/* Write <name>.csv: iteration and residual norm, of the history; NULL: of the latest solve. */
PoiseErr FemWriteHistory(PoiseKSP ksp, const FemHistory *history, const char *name);

/* Write A, b and x to <name>_A.mtx and so on: three files or none. An ending of the name, .mtx, .petsc or
   .bin, also before .gz, becomes theirs and decides the format (PoiseMatSave). FemTrySystem checks before
   the work that they can be written. */
PoiseErr FemTrySystem(PoiseContext ctx, const char *name);
PoiseErr FemWriteSystem(PoiseMat A, PoiseVec b, PoiseVec x, const char *name);

#endif

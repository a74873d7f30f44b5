/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by all drivers: start and end, common options, the table of times. */
#ifndef FEM_PROGRAM_H
#define FEM_PROGRAM_H

#include "assemble.h"
#include "held.h"
#include "output.h"

typedef enum FemStage {
  FEM_MESH,
  FEM_ASSEMBLY,
  FEM_REFRESH,
  FEM_SETUP,
  FEM_SOLVE,
  FEM_CHECK,
  FEM_OUTPUT,
  FEM_STAGES
} FemStage;

/* Seconds of this rank in each stage; unknowns of all systems solved, and the ways of their assembly. Stages
   are events of -log_view too. */
typedef struct FemTimes {
  double seconds[FEM_STAGES], begun, unknowns;
  int ways; /* the sum of 1 << FemAssembly over those taken */
} FemTimes;
PoiseErr FemStageBegin(PoiseContext ctx, FemTimes *times, FemStage stage);
PoiseErr FemStageEnd(PoiseContext ctx, FemTimes *times, FemStage stage);
/* Print the table: seconds of the slowest rank, and unknowns per second; and the ways of assembly.
   Collective. */
PoiseErr FemPrintTimes(PoiseContext ctx, const FemTimes *times);

/* Make a solver of A x = b with these defaults, then read options. It keeps its history. x is the guess.
   A, which is assembled, takes its -mat_ options (held.h); types pcsc and pcoo have no other preconditioner
   than jacobi, which is their default. Part of the stage of set-up. Collective. */
PoiseErr FemSolverCreate(FemSystem *system, const char *type, const char *pc, double rtol, FemTimes *times,
                         PoiseKSP *ksp);
/* Set up and solve, each a stage. Then write the system if -save_system asks for that; also one that did not
   converge. */
PoiseErr FemSolve(FemSystem *system, PoiseKSP ksp, FemTimes *times);
/* The same for several right-hand sides, the columns of B; X holds guesses. -save_system is refused. */
PoiseErr FemSolveColumns(FemSystem *system, PoiseKSP ksp, PoiseVec B, PoiseVec X, FemTimes *times);

/* POISE_ERR_NUMERIC unless the error fell by this order, to 0.1, when the mesh was halved. */
PoiseErr FemCheckOrder(const FemMesh *mesh, const char *norm, double order, int theory);

/* POISE_ERR_OPTION if -mesh was given without a name, or beside one of the options of boxes, a list that ends
   with NULL; or -mesh_scale without -mesh. */
PoiseErr FemCheckMesh(PoiseContext ctx, const char *const *box);

/* Read a mesh of Gmsh; its coordinates times `scale`. Collective. */
#define FEM_SCALE_HELP "times all coordinates of -mesh: 0.001 makes metres of millimetres"
PoiseErr FemReadMesh(PoiseContext ctx, const char *path, double scale, FemMesh *mesh);
/* Of a problem that is no elasticity */
#define FEM_PLANE_HELP "a mesh in the plane is a section of this: a slab of depth 1; a body about the y axis"
#define FEM_FIELD_HELP "name of u in files, with its unit: \"temperature [K]\""
typedef enum FemPlane { FEM_SLAB, FEM_REVOLVED } FemPlane;
/* Print the size of the body and its volume, or area, in powers of a unit that may be "", and its mass [kg]
   unless that is 0. Collective. */
PoiseErr FemPrintBody(const FemMesh *mesh, const char *unit, double mass);

/* Print the error err of this rank, which may have none, and finalise. Of several ranks that failed by
   themselves only the first prints, as the others would repeat it. Returns the exit code. Collective. */
int FemEnd(PoiseContext *ctx, PoiseErr err);

/* For main: run body on all ranks. Its error is printed, and makes the exit code 1. -save_system comes to the
   program's own options. */
int FemMain(int argc, char **argv, const char *help, const PoiseOption *options,
            PoiseErr (*body)(PoiseContext, void *));

#endif

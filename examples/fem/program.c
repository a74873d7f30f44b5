/* SPDX-License-Identifier: BSD-3-Clause */
#include "program.h"
#include "gmsh.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

static const char *const names[FEM_STAGES] = {"mesh",  "assembly", "refresh", "set-up",
                                              "solve", "check",    "output"};

PoiseErr FemStageBegin(PoiseContext ctx, FemTimes *times, FemStage stage)
{
  POISE_TRY(PoiseLogBegin(ctx, names[stage]));
  times->begun = PoiseTime();
  return POISE_OK;
}

PoiseErr FemStageEnd(PoiseContext ctx, FemTimes *times, FemStage stage)
{
  POISE_TRY(PoiseDeviceMemory(ctx, NULL, NULL)); /* waits for the device, as its work would otherwise count
                                                    for a later stage */
  times->seconds[stage] += PoiseTime() - times->begun;
  return PoiseLogEnd(ctx, names[stage]);
}

/* By the words of -assembly: auto tells so which way it took. */
static PoiseErr PrintWays(PoiseContext ctx, int ways)
{
  static const char *const words[] = {
      [FEM_ELEMENTS] = "elements", [FEM_COO] = "coo", [FEM_DEVICE] = "device", [FEM_BLOCKS] = "blocks"};
  const char *before = "\nAssembled by -assembly";
  for (int how = FEM_ELEMENTS; how <= FEM_BLOCKS; how++) {
    if (!(ways & 1 << how)) continue;
    POISE_TRY(PoisePrintf(ctx, "%s %s", before, words[how]));
    before = " and";
  }
  return PoisePrintf(ctx, ".\n");
}

PoiseErr FemPrintTimes(PoiseContext ctx, const FemTimes *times)
{
  double seconds[FEM_STAGES + 1] = {0};
  for (int s = 0; s < FEM_STAGES; s++) {
    seconds[s] = times->seconds[s];
    seconds[FEM_STAGES] += times->seconds[s];
  }
  POISE_TRY(PoiseMax(ctx, FEM_STAGES + 1, seconds));
  POISE_TRY(PoisePrintf(ctx, "\n%-10s %10s %14s\n", "stage", "seconds", "unknowns/s"));
  for (int s = 0; s <= FEM_STAGES; s++) {
    if (seconds[s] == 0) continue;
    POISE_TRY(PoisePrintf(ctx, "%-10s %10.4f %14.0f\n", s < FEM_STAGES ? names[s] : "all", seconds[s],
                          times->unknowns / seconds[s]));
  }
  return PrintWays(ctx, times->ways);
}

/* ---- options of all programs ----------------------------------------------------------------- */

typedef struct Common {
  char save[POISE_OPTION_LENGTH];
} Common;

static const PoiseOption common[] = {
    {"save_system", POISE_OPTION_STRING, offsetof(Common, save), "", 0, 0, NULL,
     "after a solve write A, b, x to <name>_A.mtx ...; name.petsc: PETSc binary; also .gz"},
    {0}};

static PoiseErr ReadCommon(PoiseContext ctx, Common *of)
{
  POISE_TRY(PoiseOptionsDefaults(common, of));
  return PoiseOptionsRead(ctx, NULL, common, of);
}

/* The program's options and these, for -help. */
static PoiseErr JoinOptions(const PoiseOption *options, PoiseOption **all)
{
  size_t count = 0;
  while (options[count].key != NULL) count++;
  *all = malloc((count + sizeof common / sizeof *common) * sizeof **all);
  if (*all == NULL) POISE_FAIL(POISE_ERR_MEMORY, "no memory for the options");
  memcpy(*all, options, count * sizeof **all);
  memcpy(*all + count, common, sizeof common);
  return POISE_OK;
}

/* Before the work whose result the files hold. */
static PoiseErr TrySystem(PoiseContext ctx)
{
  Common of;
  POISE_TRY(ReadCommon(ctx, &of));
  return of.save[0] != '\0' ? FemTrySystem(ctx, of.save) : POISE_OK;
}

/* ---- the solver ------------------------------------------------------------------------------ */

static PoiseErr Create(FemSystem *system, const char *type, const char *pctype, double rtol, PoiseKSP *ksp)
{
  PoisePC pc;
  POISE_TRY(FemMatTakeOptions(system->mesh->ctx, &system->A));
  POISE_TRY(PoiseKSPCreate(system->mesh->ctx, ksp));
  POISE_TRY(PoiseKSPSetOperators(*ksp, system->A, NULL));
  POISE_TRY(PoiseKSPSetType(*ksp, type));
  POISE_TRY(PoiseKSPGetPC(*ksp, &pc));
  POISE_TRY(PoisePCSetType(pc, FemHeldType(system->mesh->ctx) == NULL ? pctype : "jacobi"));
  /* If materials differ much, or a guess is poor, norms grow by many orders before they fall. */
  POISE_TRY(PoiseKSPSetTolerances(*ksp, rtol, -1, 1e15, -1));
  POISE_TRY(PoiseKSPSetInitialGuessNonzero(*ksp, 1));
  POISE_TRY(PoiseKSPSetErrorIfNotConverged(*ksp, 1));
  POISE_TRY(PoiseKSPKeepHistory(*ksp, 1));
  POISE_TRY(PoiseKSPSetProgress(*ksp, 1));
  return PoiseKSPSetFromOptions(*ksp);
}

PoiseErr FemSolverCreate(FemSystem *system, const char *type, const char *pctype, double rtol,
                         FemTimes *times, PoiseKSP *ksp)
{
  PoiseContext ctx = system->mesh->ctx;
  POISE_TRY(FemStageBegin(ctx, times, FEM_SETUP)); /* A may be converted to another type */
  POISE_TRY(Create(system, type, pctype, rtol, ksp));
  times->ways |= 1 << system->how;
  return FemStageEnd(ctx, times, FEM_SETUP);
}

static PoiseErr Solve(PoiseKSP ksp, PoiseErr (*solve)(PoiseKSP, PoiseVec, PoiseVec), PoiseVec b, PoiseVec x,
                      FemTimes *times)
{
  PoiseContext ctx = PoiseKSPContext(ksp);
  POISE_TRY(FemStageBegin(ctx, times, FEM_SETUP));
  POISE_TRY(PoiseKSPSetUp(ksp));
  POISE_TRY(FemStageEnd(ctx, times, FEM_SETUP));
  POISE_TRY(FemStageBegin(ctx, times, FEM_SOLVE));
  POISE_TRY(solve(ksp, b, x));
  POISE_TRY(FemStageEnd(ctx, times, FEM_SOLVE));
  times->unknowns += (double)PoiseVecSize(x) * PoiseVecColumns(x);
  return POISE_OK;
}

static PoiseErr SaveSystem(const FemSystem *system, FemTimes *times)
{
  PoiseContext ctx = system->mesh->ctx;
  Common of;
  POISE_TRY(ReadCommon(ctx, &of));
  if (of.save[0] == '\0') return POISE_OK;
  POISE_TRY(FemStageBegin(ctx, times, FEM_OUTPUT));
  POISE_TRY(FemWriteSystem(system->A, system->b, system->x, of.save));
  return FemStageEnd(ctx, times, FEM_OUTPUT);
}

PoiseErr FemSolve(FemSystem *system, PoiseKSP ksp, FemTimes *times)
{
  PoiseErr err = Solve(ksp, PoiseKSPSolve, system->b, system->x, times);
  if (err != POISE_OK && err != POISE_ERR_NOT_CONVERGED) return err;
  /* The system of a solve that did not converge is the one that its user wants to look at. */
  PoiseErr saved = SaveSystem(system, times);
  return err != POISE_OK ? err : saved;
}

PoiseErr FemSolveColumns(FemSystem *system, PoiseKSP ksp, PoiseVec B, PoiseVec X, FemTimes *times)
{
  Common of;
  POISE_TRY(ReadCommon(system->mesh->ctx, &of));
  if (of.save[0] != '\0')
    POISE_FAIL(POISE_ERR_OPTION, "-save_system writes one b and x; here are %d", PoiseVecColumns(X));
  return Solve(ksp, PoiseKSPSolveBlock, B, X, times);
}

PoiseErr FemCheckOrder(const FemMesh *mesh, const char *norm, double order, int theory)
{
  if (fabs(order - theory) <= 0.1) return POISE_OK;
  POISE_FAIL(POISE_ERR_NUMERIC,
             "%s: the error in %s falls with order %.2f, not %d (is the coarsest mesh, -n, too coarse?)",
             FemCellInfoOf(mesh->cell)->name, norm, order, theory);
}

/* The name of a mesh without -mesh, say. */
static PoiseErr CheckWords(int argc, char **argv)
{
  for (int i = 1; i < argc; i++) {
    if (argv[i][0] == '-' || (i > 1 && argv[i - 1][0] == '-')) continue;
    POISE_FAIL(POISE_ERR_OPTION, "'%s' is neither an option nor the value of one (-help tells all options)",
               argv[i]);
  }
  return POISE_OK;
}

PoiseErr FemCheckMesh(PoiseContext ctx, const char *const *box)
{
  const char *path;
  if (PoiseOptionsHas(ctx, NULL, "mesh", &path) && path[strspn(path, " ")] == '\0')
    POISE_FAIL(POISE_ERR_OPTION, "-mesh: the name of a file is missing");
  if (PoiseOptionsHas(ctx, NULL, "mesh_scale", NULL) && !PoiseOptionsHas(ctx, NULL, "mesh", NULL))
    POISE_FAIL(POISE_ERR_OPTION, "-mesh_scale is of a mesh that is read: give -mesh");
  for (; *box != NULL && PoiseOptionsHas(ctx, NULL, "mesh", NULL); box++) {
    if (!PoiseOptionsHas(ctx, NULL, *box, NULL)) continue;
    POISE_FAIL(POISE_ERR_OPTION,
               "-%s is for meshes that the program makes, not beside -mesh: leave out one of them", *box);
  }
  return POISE_OK;
}

/* ---- the body -------------------------------------------------------------------------------- */

PoiseErr FemReadMesh(PoiseContext ctx, const char *path, double scale, FemMesh *mesh)
{
  POISE_TRY(FemMeshGmsh(ctx, path, mesh));
  FemMeshScale(mesh, scale);
  return POISE_OK;
}

static void Volume(const FemPoint *p, void *arg, double *volume)
{
  (void)arg;
  *volume += p->dV;
}

PoiseErr FemPrintBody(const FemMesh *mesh, const char *unit, double mass)
{
  const int slab = mesh->dim == 2 && !mesh->revolved;
  double low[3], high[3], volume;
  POISE_TRY(FemMeshBounds(mesh, low, high));
  POISE_TRY(FemIntegrate(mesh, Volume, NULL, 1, &volume));
  POISE_TRY(PoisePrintf(mesh->ctx, "%-14s ", slab ? "slab" : mesh->revolved ? "of revolution" : "body"));
  if (mesh->revolved)
    POISE_TRY(PoisePrintf(mesh->ctx, "about y, radius %.5g to %.5g%s, length %.5g", low[0], high[0], unit,
                          high[1] - low[1]));
  else
    POISE_TRY(PoisePrintf(mesh->ctx, "%.5g x %.5g", high[0] - low[0], high[1] - low[1]));
  if (mesh->dim == 3) POISE_TRY(PoisePrintf(mesh->ctx, " x %.5g", high[2] - low[2]));
  POISE_TRY(PoisePrintf(mesh->ctx, "%s, %s %.6g%s%s", unit, slab ? "area" : "volume", volume, unit,
                        *unit == '\0' ? ""
                        : slab        ? "^2"
                                      : "^3"));
  if (mass > 0) POISE_TRY(PoisePrintf(mesh->ctx, ", mass %.6g kg%s", mass, slab ? "/m" : ""));
  return PoisePrintf(mesh->ctx, "\n");
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Does this rank print its error? The first of those that failed by themselves; else the first that
   failed. */
static int Prints(PoiseContext ctx, PoiseErr err)
{
  if (ctx == NULL) return err != POISE_ERR_REMOTE; /* PoiseInitialize failed: there are no ranks to ask */
  int size = PoiseSize(ctx), rank = PoiseRank(ctx);
  double first = -(rank + (err == POISE_OK ? 2.0 * size : err == POISE_ERR_REMOTE ? size : 0)), mine = first;
  return PoiseMax(ctx, 1, &first) != POISE_OK || first == mine;
}

static void Print(PoiseContext ctx, PoiseErr err)
{
  char text[8192];
  snprintf(text, sizeof text, "%s", PoiseErrorText()); /* Prints may fail, too */
  if (Prints(ctx, err) && err != POISE_OK) fputs(text, stderr);
}

int FemEnd(PoiseContext *ctx, PoiseErr err)
{
  Print(*ctx, err);
  PoiseErr end = PoiseFinalize(ctx);
  if (end != POISE_OK && end != POISE_ERR_REMOTE) fputs(PoiseErrorText(), stderr);
  return err != POISE_OK || end != POISE_OK;
}

typedef struct Body {
  PoiseErr (*run)(PoiseContext, void *);
} Body;

/* Loops of this rank's mesh and elements take as many threads as the library's. */
static PoiseErr RunBody(PoiseContext ctx, void *body)
{
#ifdef _OPENMP
  omp_set_num_threads(PoiseThreads(ctx));
#endif
  return ((Body *)body)->run(ctx, NULL);
}

int FemMain(int argc, char **argv, const char *help, const PoiseOption *options,
            PoiseErr (*body)(PoiseContext, void *))
{
  PoiseOption *all = NULL;
  PoiseContext ctx = NULL;
  Body of = {body};
  PoiseErr err = CheckWords(argc, argv);
  if (err == POISE_OK) err = JoinOptions(options, &all);
  if (err == POISE_OK) {
    const PoiseInit init = {.help = help, .options = all};
    err = PoiseInitialize(&argc, &argv, &init, &ctx);
  }
  if (err == POISE_OK) err = TrySystem(ctx);
  if (err == POISE_OK) err = PoiseRun(ctx, RunBody, &of);
  int code = FemEnd(&ctx, err);
  free(all);
  return code;
}

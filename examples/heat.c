/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Heat that flows out of a box: du/dt = div(kappa(t) grad u), u = 0 on the boundary, by implicit steps in time.

    heat -cell hex8 -n 32 -steps 20 -ksp_converged_reason
    mpirun -n 3 heat -theta 1 -pc_type ilu -ksp_reuse_preconditioner -output heat -every 2

  In each step (M + theta dt kappa K) u' = (M - (1 - theta) dt kappa K) u with the mass matrix M and the stiffness K of linear elements
  on bricks; theta = 1/2 is Crank and Nicolson, 1 is Euler. It shows a matrix whose values are new in each step while its pattern
  stays (kappa changes with time), a preconditioner that is built anew each time or kept (-ksp_reuse_preconditioner), and the
  last u as the guess.
  At first u = 1 inside. A product of sines v is, on even bricks, an eigenvector of M and of K: with
  lambda = sum over directions of 6 (2 - 2 c) / (h^2 (4 + 2 c)), c = cos(pi h), every step multiplies the part of v in u, which is
  (v, u) / (v, v), by (1 - (1 - theta) dt kappa lambda) / (1 + theta dt kappa lambda), whatever else u holds. The program checks that in
  every step, and prints what the part would be in continuous space and time.
*/
#include "fem/program.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const double pi = 3.14159265358979323846;

typedef struct Settings {
  PoiseInt n, steps, every;
  int cell, assembly, check;
  double theta, end;
  char output[POISE_OPTION_LENGTH];
} Settings;

static const FemCell kinds[] = {FEM_QUAD4, FEM_HEX8};

static const PoiseOption options[] = {
    {"cell", POISE_OPTION_CHOICE, offsetof(Settings, cell), "hex8", 0, 0, "quad4|hex8", "kind of cells"},
    {"n", POISE_OPTION_INT, offsetof(Settings, n), "12", 2, 20000, NULL, "bricks per side"},
    {"steps", POISE_OPTION_INT, offsetof(Settings, steps), "10", 1, 1000000, NULL, "number of time steps"},
    {"end", POISE_OPTION_REAL, offsetof(Settings, end), "0.1", 1e-12, 1e12, NULL, "time of the last step"},
    {"theta", POISE_OPTION_REAL, offsetof(Settings, theta), "0.5", 0.5, 1, NULL,
     "1/2: Crank and Nicolson, 1: implicit Euler"},
    {"assembly", POISE_OPTION_CHOICE, offsetof(Settings, assembly), "coo", 0, 0, FEM_ASSEMBLY_CHOICES,
     "how the matrix is assembled"},
    {"check_assembly", POISE_OPTION_BOOL, offsetof(Settings, check), "no", 0, 0, NULL, "compare with the other way"},
    {"output", POISE_OPTION_STRING, offsetof(Settings, output), "", 0, 0, NULL,
     "write solutions to <name>_<step>.vtu, residual norms of the last solve to .csv"},
    {"every", POISE_OPTION_INT, offsetof(Settings, every), "0", 0, 1000000, NULL,
     "write each that many steps, 0: only the last one"},
    {0}};

/* ---- the problem --------------------------------------------------------------------------------------------------------- */

/* kappa(t), and its integral from 0 to t. */
static double Kappa(double t)
{
  return 1 + 0.5 * sin(20 * t);
}

static double KappaIntegral(double t)
{
  return t + (1 - cos(20 * t)) / 40;
}

/* The product of sines; arg: the dimension. */
static void Mode(const double x[3], void *arg, double *value)
{
  *value = 1;
  for (int d = 0; d < *(const int *)arg; d++) *value *= sin(pi * x[d]);
}

static void Zero(const double x[3], void *arg, double *value)
{
  (void)x;
  (void)arg;
  *value = 0;
}

typedef struct Step {
  double implicit, explicit; /* theta dt kappa, (1 - theta) dt kappa */
  const double *u;           /* at this rank's nodes */
} Step;

/* K_ab = (N_a, N_b) + implicit (grad N_a, grad N_b),  F_a = (N_a, u) - explicit (grad N_a, grad u) */
static void TimeStep(const FemPoint *p, void *arg, double *K, double *F)
{
  const Step *step = arg;
  double u = 0, g[3] = {0};
  for (int a = 0; a < p->nodes; a++) {
    u += step->u[p->node[a]] * p->N[a];
    for (int c = 0; c < 3; c++) g[c] += step->u[p->node[a]] * p->grad[a][c];
  }
  for (int a = 0; a < p->nodes; a++) {
    const double *ga = p->grad[a];
    for (int b = 0; b < p->nodes; b++) {
      const double *gb = p->grad[b];
      K[a * p->nodes + b] += p->dV * (p->N[a] * p->N[b] + step->implicit * (ga[0] * gb[0] + ga[1] * gb[1] + ga[2] * gb[2]));
    }
    F[a] += p->dV * (p->N[a] * u - step->explicit * (ga[0] * g[0] + ga[1] * g[1] + ga[2] * g[2]));
  }
}

/* ---- the march ------------------------------------------------------------------------------------------------------------- */

typedef struct Box {
  FemMesh mesh;
  FemSystem system;
  PoiseKSP ksp;
  PoiseVec mode; /* v */
  double *u;     /* x at this rank's nodes */
} Box;

static PoiseErr Begin(PoiseContext ctx, const Settings *set, FemTimes *times, Box *b)
{
  const FemBox box = {.cell = kinds[set->cell], .n = {set->n, set->n, set->n}, .length = {1, 1, 1}};
  POISE_TRY(FemStageBegin(ctx, times, FEM_MESH));
  POISE_TRY(FemMeshBox(ctx, &box, &b->mesh));
  POISE_TRY(FemStageEnd(ctx, times, FEM_MESH));

  POISE_TRY(FemSystemCreate(&b->mesh, 1, (FemAssembly)set->assembly, &b->system));
  POISE_TRY(PoiseVecSet(b->system.x, 1));
  for (int g = 0; g < b->mesh.groups; g++) {
    if (b->mesh.group[g].dim == b->mesh.dim - 1) POISE_TRY(FemFix(&b->system, b->mesh.group[g].number, Zero, NULL));
  }
  POISE_TRY(PoiseVecDuplicate(b->system.x, &b->mode));
  return FemInterpolate(&b->mesh, 1, Mode, &b->mesh.dim, b->mode);
}

/* What the step starts from goes to the forms, and stays in x as the guess. */
static PoiseErr AssembleStep(PoiseContext ctx, const Settings *set, double t, FemTimes *times, Box *b)
{
  const double dt = set->end / (double)set->steps, kappa = Kappa(t + set->theta * dt);
  POISE_TRY(FemStageBegin(ctx, times, FEM_ASSEMBLY));
  POISE_TRY(FemGather(&b->mesh, 1, b->system.x, &b->u));
  Step step = {set->theta * dt * kappa, (1 - set->theta) * dt * kappa, b->u};
  POISE_TRY(FemAssembleCells(&b->system, TimeStep, &step));
  if (set->check) POISE_TRY(FemCheckAssembly(&b->system, TimeStep, &step));
  POISE_TRY(FemConstrain(&b->system));
  free(b->u);
  b->u = NULL;
  return FemStageEnd(ctx, times, FEM_ASSEMBLY);
}

/* *part = (v, u) / (v, v) */
static PoiseErr PartOfMode(const Box *b, double *part)
{
  double vu, vv;
  POISE_TRY(PoiseVecDot(b->mode, b->system.x, &vu));
  POISE_TRY(PoiseVecDot(b->mode, b->mode, &vv));
  *part = vu / vv;
  return POISE_OK;
}

static PoiseErr Output(PoiseContext ctx, const Settings *set, PoiseInt step, FemTimes *times, Box *b)
{
  char name[POISE_OPTION_LENGTH + 32];
  const int last = step == set->steps, due = set->every > 0 && step % set->every == 0;
  if (set->output[0] == '\0' || (!last && !due)) return POISE_OK;
  POISE_TRY(FemStageBegin(ctx, times, FEM_OUTPUT));
  POISE_TRY(FemGather(&b->mesh, 1, b->system.x, &b->u));
  const FemField field = {"u", 1, 0, b->u};
  snprintf(name, sizeof name, "%s_%04" PRId64, set->output, step);
  POISE_TRY(FemWriteMesh(&b->mesh, name, 1, &field));
  free(b->u);
  b->u = NULL;
  if (last) POISE_TRY(FemWriteHistory(b->ksp, set->output));
  return FemStageEnd(ctx, times, FEM_OUTPUT);
}

static PoiseErr March(PoiseContext ctx, const Settings *set, FemTimes *times, Box *b)
{
  POISE_TRY(Begin(ctx, set, times, b));
  const double h = 1 / (double)set->n, c = cos(pi * h), dt = set->end / (double)set->steps;
  const double lambda = b->mesh.dim * 6 * (2 - 2 * c) / (h * h * (4 + 2 * c));
  double part = 0, expected, first = 0;
  POISE_TRY(PartOfMode(b, &first));
  expected = first;
  POISE_TRY(PoisePrintf(ctx, "%6s %10s %10s %14s %14s\n", "step", "time", "iterations", "part of v", "continuous"));
  for (PoiseInt step = 1; step <= set->steps; step++) {
    const double t = (double)(step - 1) * dt, kappa = Kappa(t + set->theta * dt);
    POISE_TRY(AssembleStep(ctx, set, t, times, b));
    if (step == 1) POISE_TRY(FemSolverCreate(&b->system, "cg", "jacobi", 1e-10, &b->ksp));
    POISE_TRY(FemSolve(&b->system, b->ksp, times));
    POISE_TRY(PartOfMode(b, &part));
    expected *= (1 - (1 - set->theta) * dt * kappa * lambda) / (1 + set->theta * dt * kappa * lambda);
    POISE_TRY(PoisePrintf(ctx, "%6" PRId64 " %10.4f %10" PRId64 " %14.6e %14.6e\n", step, t + dt,
                          PoiseKSPIterations(b->ksp), part, first * exp(-b->mesh.dim * pi * pi * KappaIntegral(t + dt))));
    if (!(fabs(part - expected) <= 1e-7 * fabs(expected))) {
      POISE_FAIL(POISE_ERR_NUMERIC, "step %" PRId64 ": the part of v in u is %.9e, must be %.9e", step, part, expected);
    }
    POISE_TRY(Output(ctx, set, step, times, b));
  }
  POISE_TRY(FemPrintTimes(ctx, times));
  return PoisePrintf(ctx, "\nEvery step multiplied the part of v by its factor, as it must.\n");
}

static PoiseErr Run(PoiseContext ctx, void *arg)
{
  Settings set;
  FemTimes times = {{0}, 0, 0};
  Box box = {.ksp = NULL};
  (void)arg;
  POISE_TRY(PoiseOptionsDefaults(options, &set));
  POISE_TRY(PoiseOptionsRead(ctx, NULL, options, &set));
  PoiseErr err = March(ctx, &set, &times, &box);
  free(box.u);
  PoiseKSPDestroy(&box.ksp);
  PoiseVecDestroy(&box.mode);
  FemSystemFree(&box.system);
  FemMeshFree(&box.mesh);
  return err;
}

int main(int argc, char **argv)
{
  return FemMain(argc, argv, "The heat equation by implicit steps, checked against an exact decaying mode.", options, Run);
}

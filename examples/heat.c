/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Heat that flows out of a box: du/dt = div(kappa(t) grad u), u = 0 on the boundary, by implicit steps in
  time.
    heat -cell hex8 -n 32 -steps 20 -ksp_converged_reason
    mpirun -n 3 heat -theta 1 -pc_type ilu -ksp_reuse_preconditioner -output heat -every 2

  Each step solves A u' = (M - (1 - theta) dt kappa K) u with A = M + theta dt kappa K. M and K are the mass
  and stiffness matrices of linear elements on bricks. theta = 1/2 is Crank and Nicolson, 1 is Euler. The
  example shows three things: a matrix with new values in each step on the same pattern (kappa changes with
  time); a preconditioner that is built anew each time or kept (-ksp_reuse_preconditioner); and the last u as
  the guess.

  Elements are integrated once. A new kappa only needs A += theta dt (kappa' - kappa) K, one pass over the
  values. The right-hand side is A u - dt kappa K u. So most of a step is its solve.

  At first u = 1 inside. A product of sines v is, on even bricks, an eigenvector of M and of K. Let
    lambda = sum over directions of 6 (2 - 2 c) / (h^2 (4 + 2 c)),  c = cos(pi h).
  Every step multiplies the part of v in u, which is (v, u) / (v, v), by
    (1 - (1 - theta) dt kappa lambda) / (1 + theta dt kappa lambda),
  whatever else u holds. The program checks that in every step, to 1e-8 of |u| / |v|. It also prints the part
  in continuous space and time.
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
    {"assembly", POISE_OPTION_CHOICE, offsetof(Settings, assembly), "coo", 0, 0, FEM_WAYS,
     "how the matrix is assembled"},
    {"check_assembly", POISE_OPTION_BOOL, offsetof(Settings, check), "no", 0, 0, NULL,
     "compare with the other way"},
    {"output", POISE_OPTION_STRING, offsetof(Settings, output), "", 0, 0, NULL,
     "write solutions to <name>_<step>.vtu, residual norms of the last solve to .csv"},
    {"every", POISE_OPTION_INT, offsetof(Settings, every), "0", 0, 1000000, NULL,
     "write each that many steps, 0: only the last one"},
    {0}};

/* ---- the problem ----------------------------------------------------------------------------- */

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

/* K_ab = mass (N_a, N_b) + stiffness (grad N_a, grad N_b), and no F. */
static void Form(const FemPoint *p, void *arg, double *K, double *F)
{
  const FemOperator *op = arg;
  (void)F;
  for (int a = 0; a < p->nodes; a++) {
    const double *ga = p->grad[a];
    for (int b = 0; b < p->nodes; b++) {
      const double *gb = p->grad[b];
      double dot = ga[0] * gb[0] + ga[1] * gb[1] + ga[2] * gb[2];
      K[a * p->nodes + b] += p->dV * (op->mass * p->N[a] * p->N[b] + op->stiffness * dot);
    }
  }
}

/* ---- the march ------------------------------------------------------------------------------- */

typedef struct Box {
  FemMesh mesh;
  FemSystem system; /* A x = b */
  PoiseMat K;
  double implicit; /* theta dt kappa in A */
  PoiseKSP ksp;
  PoiseVec mode; /* v */
  double modeSquare;
  double *u; /* x at this rank's nodes, for writing it */
} Box;

/* A of such a form. */
static PoiseErr AssembleMatrix(const Settings *set, double mass, double stiffness, FemSystem *system)
{
  FemOperator op = {.mass = mass, .stiffness = stiffness};
  POISE_TRY(FemAssembleCells(system, Form, &op, &op));
  return set->check ? FemCheckAssembly(system, Form, &op) : POISE_OK;
}

/* Assemble K, and A = M on the same pattern. Rows and columns of the boundary leave both, except for A's
   diagonal. u is 0 there, so the right-hand side needs none of them. */
static PoiseErr AssembleMatrices(const Settings *set, Box *b)
{
  FemSystem *s = &b->system;
  POISE_TRY(AssembleMatrix(set, 0, 1, s));
  POISE_TRY(PoiseMatDuplicate(s->A, 1, &b->K));
  POISE_TRY(AssembleMatrix(set, 1, 0, s));
  for (int g = 0; g < b->mesh.groups; g++) {
    if (b->mesh.group[g].dim == b->mesh.dim - 1) POISE_TRY(FemFix(s, b->mesh.group[g].number, Zero, NULL));
  }
  POISE_TRY(PoiseMatZeroRowsColumns(b->K, s->fixed, s->fixedRows, 0, NULL, NULL));
  return FemConstrain(s);
}

static PoiseErr Begin(PoiseContext ctx, const Settings *set, FemTimes *times, Box *b)
{
  const FemBox box = {.cell = kinds[set->cell], .n = {set->n, set->n, set->n}, .length = {1, 1, 1}};
  POISE_TRY(FemStageBegin(ctx, times, FEM_MESH));
  POISE_TRY(FemMeshBox(ctx, &box, &b->mesh));
  POISE_TRY(FemStageEnd(ctx, times, FEM_MESH));

  POISE_TRY(FemStageBegin(ctx, times, FEM_ASSEMBLY));
  POISE_TRY(FemSystemCreate(&b->mesh, 1, (FemAssembly)set->assembly, &b->system));
  POISE_TRY(PoiseVecSet(b->system.x, 1));
  POISE_TRY(AssembleMatrices(set, b));
  POISE_TRY(FemStageEnd(ctx, times, FEM_ASSEMBLY));

  POISE_TRY(PoiseVecDuplicate(b->system.x, &b->mode));
  POISE_TRY(FemInterpolate(&b->mesh, 1, Mode, &b->mesh.dim, b->mode));
  return PoiseVecDot(b->mode, b->mode, &b->modeSquare);
}

/* A and b of the step from time t. The last u stays in x as the guess. */
static PoiseErr Refresh(PoiseContext ctx, const Settings *set, double t, FemTimes *times, Box *b)
{
  const double dt = set->end / (double)set->steps, kappa = Kappa(t + set->theta * dt),
               implicit = set->theta * dt * kappa;
  FemSystem *s = &b->system;
  POISE_TRY(FemStageBegin(ctx, times, FEM_REFRESH));
  POISE_TRY(PoiseMatAXPY(s->A, implicit - b->implicit, b->K));
  b->implicit = implicit;
  POISE_TRY(PoiseMatMult(s->A, s->x, s->b));
  POISE_TRY(PoiseMatMultAdd(b->K, -dt * kappa, s->x, 1, s->b));
  return FemStageEnd(ctx, times, FEM_REFRESH);
}

/* *part = (v, u) / (v, v) */
static PoiseErr PartOfMode(const Box *b, double *part)
{
  double vu;
  POISE_TRY(PoiseVecDot(b->mode, b->system.x, &vu));
  *part = vu / b->modeSquare;
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
  double part = 0, first = 0, seconds;
  POISE_TRY(PartOfMode(b, &first));
  part = first;
  POISE_TRY(FemSolverCreate(&b->system, "cg", "jacobi", 1e-10, &b->ksp));
  POISE_TRY(PoiseMatSetFromOptions(b->K)); /* sums and products of one type */
  POISE_TRY(
      PoisePrintf(ctx, "%6s %10s %10s %14s %14s\n", "step", "time", "iterations", "part of v", "continuous"));
  seconds = PoiseTime();
  for (PoiseInt step = 1; step <= set->steps; step++) {
    const double t = (double)(step - 1) * dt, kappa = Kappa(t + set->theta * dt);
    double size, expected = part;
    POISE_TRY(PoiseVecNorm(b->system.x, POISE_NORM_2, &size));
    POISE_TRY(Refresh(ctx, set, t, times, b));
    POISE_TRY(FemSolve(&b->system, b->ksp, times));
    POISE_TRY(PartOfMode(b, &part));
    expected *= (1 - (1 - set->theta) * dt * kappa * lambda) / (1 + set->theta * dt * kappa * lambda);
    POISE_TRY(PoisePrintf(ctx, "%6" PRId64 " %10.4f %10" PRId64 " %14.6e %14.6e\n", step, t + dt,
                          PoiseKSPIterations(b->ksp), part,
                          first * exp(-b->mesh.dim * pi * pi * KappaIntegral(t + dt))));
    /* the solver leaves off at 1e-50 */
    if (!(fabs(part - expected) <= 1e-8 * size / sqrt(b->modeSquare) + 1e-45)) {
      POISE_FAIL(POISE_ERR_NUMERIC, "step %" PRId64 ": the part of v in u is %.9e, must be %.9e", step, part,
                 expected);
    }
    POISE_TRY(Output(ctx, set, step, times, b));
  }
  seconds = PoiseTime() - seconds - times->seconds[FEM_OUTPUT];
  POISE_TRY(FemPrintTimes(ctx, times));
  POISE_TRY(PoisePrintf(ctx, "\nA step takes %.4f s, %.1f %% of it outside the solve.\n",
                        seconds / (double)set->steps, 100 * (1 - times->seconds[FEM_SOLVE] / seconds)));
  return PoisePrintf(ctx, "Every step multiplied the part of v by its factor, as it must.\n");
}

static PoiseErr Run(PoiseContext ctx, void *arg)
{
  Settings set;
  FemTimes times = {{0}, 0, 0};
  Box box = {.ksp = NULL};
  (void)arg;
  POISE_TRY(PoiseOptionsDefaults(options, &set));
  POISE_TRY(PoiseOptionsRead(ctx, NULL, options, &set));
  POISE_TRY(FemTryOutput(ctx, set.output));
  PoiseErr err = March(ctx, &set, &times, &box);
  free(box.u);
  PoiseKSPDestroy(&box.ksp);
  PoiseVecDestroy(&box.mode);
  PoiseMatDestroy(&box.K);
  FemSystemFree(&box.system);
  FemMeshFree(&box.mesh);
  return err;
}

int main(int argc, char **argv)
{
  return FemMain(argc, argv, "The heat equation by implicit steps, checked against an exact decaying mode.",
                 options, Run);
}

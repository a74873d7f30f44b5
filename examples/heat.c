/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Heat in a body: c du/dt = div(k grad u) + f, by implicit steps in time. In weak form, for all v that are 0
  where u is given:
    (c du/dt, v) + (k grad u, grad v) = (f, v) + (k du/dn, v) on the boundary
  With matrices M and K of the left-hand side, and F of the right one, a step from u to u' is
    M (u' - u) / dt + K (theta u' + (1 - theta) u) = F
  so it solves A u' = A u + dt (F - K u) with A = M + theta dt K. theta = 1/2 is Crank and Nicolson, of order
  2; 1 is Euler, of order 1. Crank and Nicolson hardly damp what is rough, such as a jump at time 0: it swings
  from step to step. So the first steps are halves of Euler's, which keeps order 2 (Rannacher 1984).
    heat -cell hex8 -n 32 -steps 20 -ksp_converged_reason
    mpirun -n 3 heat -theta 1 -pc_type ilu -ksp_reuse_preconditioner -output heat -every 2

  Without data of your own it is a box that cools: u = 1 inside at first, u = 0 on the boundary, c = 1, k =
  kappa(t). The example shows three things: a matrix with new values in each step on the same pattern (kappa
  changes with time); a preconditioner that is built anew each time or kept (-ksp_reuse_preconditioner); and
  the last u as the guess. Elements are integrated once. A new kappa only needs A += theta dt (kappa' - kappa)
  K, one pass over the values. So most of a step is its solve.

  A product of sines v is, on even bricks, an eigenvector of M and of K. Let
    lambda = sum over directions of 6 (2 - 2 c) / (h^2 (4 + 2 c)),  c = cos(pi h).
  Every step multiplies the part of v in u, which is (v, u) / (v, v), by
    (1 - (1 - theta) dt kappa lambda) / (1 + theta dt kappa lambda),
  whatever else u holds. The program checks that in every step, to 1e-8 of |u| / |v|. At the end it checks
  that u has not fallen below 0 by more than 1 % of its largest value, and prints its error.

  A problem of your own has data of groups (fem/scalar.h). What flows in, less what is stored, must sum up to
  0. A range is printed beside that of the maximum principle.
    heat -mesh part.msh -initial 20 -end 600 -steps 60 -every 10 -output part
      -material "fins: conductivity = 200, capacity = 2.4e6; chip: conductivity = 100, capacity = 1.6e6, ..."
      -boundary "base: flux = 1e4; surface: transfer = 25, outside = 20"
*/
#include "fem/program.h"
#include "fem/scalar.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const double pi = 3.14159265358979323846;

typedef struct Settings {
  PoiseInt n, steps, every, start;
  int cell, plane, assembly, check, own;
  double scale, theta, end, initial;
  char field[POISE_OPTION_LENGTH], mesh[POISE_OPTION_LENGTH], output[POISE_OPTION_LENGTH];
  char material[POISE_OPTION_LENGTH], boundary[POISE_OPTION_LENGTH];
} Settings;

static const FemCell kinds[] = {FEM_QUAD4, FEM_HEX8};

static const PoiseOption options[] = {
    {"cell", POISE_OPTION_CHOICE, offsetof(Settings, cell), "hex8", 0, 0, "quad4|hex8", "kind of cells"},
    {"mesh", POISE_OPTION_STRING, offsetof(Settings, mesh), "", 0, 0, NULL,
     "a .msh file of Gmsh, version 2 or 4.1, with a problem of your own; not beside -cell and -n"},
    {"mesh_scale", POISE_OPTION_REAL, offsetof(Settings, scale), "1", 1e-30, 1e30, NULL, FEM_SCALE_HELP},
    {"plane", POISE_OPTION_CHOICE, offsetof(Settings, plane), "slab", 0, 0, "slab|axisymmetric",
     FEM_PLANE_HELP},
    {"n", POISE_OPTION_INT, offsetof(Settings, n), "24", 2, 20000, NULL, "bricks per side"},
    {"material", POISE_OPTION_STRING, offsetof(Settings, material), "", 0, 0, NULL, FEM_MATERIAL_HELP},
    {"boundary", POISE_OPTION_STRING, offsetof(Settings, boundary), "", 0, 0, NULL, FEM_BOUNDARY_HELP},
    {"initial", POISE_OPTION_REAL, offsetof(Settings, initial), "1", -1e300, 1e300, NULL,
     "u at time 0, of a problem of your own"},
    {"steps", POISE_OPTION_INT, offsetof(Settings, steps), "20", 1, 1000000, NULL, "number of time steps"},
    {"end", POISE_OPTION_REAL, offsetof(Settings, end), "0.1", 1e-12, 1e12, NULL, "time of the last step"},
    {"theta", POISE_OPTION_REAL, offsetof(Settings, theta), "0.5", 0.5, 1, NULL,
     "1/2: Crank and Nicolson, 1: implicit Euler"},
    {"start", POISE_OPTION_INT, offsetof(Settings, start), "2", 0, 1000000, NULL,
     "with theta < 1, so many first steps are each two half steps of Euler's"},
    {"assembly", POISE_OPTION_CHOICE, offsetof(Settings, assembly), "auto", 0, 0, FEM_WAYS,
     "how the matrix is assembled; auto: device on a GPU if it can be, else elements"},
    {"check_assembly", POISE_OPTION_BOOL, offsetof(Settings, check), "no", 0, 0, NULL,
     "compare with the other way"},
    {"field", POISE_OPTION_STRING, offsetof(Settings, field), "u", 0, 0, NULL, FEM_FIELD_HELP},
    {"output", POISE_OPTION_STRING, offsetof(Settings, output), "", 0, 0, NULL,
     "write solutions to <name>_<step>.vtu, their times to .pvd, residual norms of the last solve to .csv"},
    {"every", POISE_OPTION_INT, offsetof(Settings, every), "0", 0, 1000000, NULL,
     "write each that many steps, 0: only the last one"},
    {0}};

typedef struct Body {
  const Settings *set;
  FemMesh mesh;
  FemScalar data;   /* of a problem of your own */
  FemSystem system; /* A x = b */
  PoiseMat K;       /* without rows and columns where u is given */
  PoiseVec load;    /* F less those columns of K */
  double implicit;  /* theta dt kappa in A */
  PoiseKSP ksp;
  PoiseVec before, change, middle; /* of a step of your own: the u before, du/dt, the u of its flows */
  double range[2];                 /* of u, of all steps */
  PoiseVec mode;                   /* v */
  double modeSquare;
  char wrong[256]; /* the first judgement that failed */
  double *u;       /* x at this rank's nodes, for writing it */
  FemSeries series;
} Body;

/* ---- the problem ----------------------------------------------------------------------------- */

/* kappa(t), and its integral from 0 to t. */
static double Kappa(const Body *b, double t)
{
  return b->set->own ? 1 : 1 + 0.5 * sin(20 * t);
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

/* u at the end: a product over directions of sums of sines. */
static void Exact(const double x[3], void *arg, double *value)
{
  const Body *b = arg;
  const double T = KappaIntegral(b->set->end);
  *value = 1;
  for (int d = 0; d < b->mesh.dim; d++) {
    double sum = 0;
    for (int m = 1; m * m * pi * pi * T < 40 + pi * pi * T; m += 2)
      sum += 4 / (pi * m) * sin(m * pi * x[d]) * exp(-m * m * pi * pi * T);
    *value *= sum;
  }
}

static void Initial(const double x[3], void *arg, double *value)
{
  const Settings *set = arg;
  *value = set->initial;
  if (set->own) FemInitialOf(x, value);
}

static void Zero(const double x[3], void *arg, double *value)
{
  (void)x;
  (void)arg;
  *value = 0;
}

/* Which of the matrices, M or K. */
typedef struct Term {
  const Body *body;
  double mass, stiffness;
} Term;

/* K_ab = mass (c N_a, N_b) + stiffness (k grad N_a, grad N_b),  F_a = (f, N_a) */
static void Form(const FemPoint *p, void *arg, double *K, double *F)
{
  const Term *term = arg;
  FemMaterial data = {.conductivity = 1, .capacity = 1};
  if (term->body->set->own) data = FemMaterialAt(&term->body->data, p);
  const FemVector *grad = K != NULL ? FemGrad(p) : NULL;
  for (int a = 0; a < p->nodes; a++) {
    for (int b = 0; b < p->nodes && K != NULL; b++) {
      double dot = grad[a][0] * grad[b][0] + grad[a][1] * grad[b][1] + grad[a][2] * grad[b][2];
      K[a * p->nodes + b] += p->dV * (term->mass * data.capacity * p->N[a] * p->N[b] +
                                      term->stiffness * data.conductivity * dot);
    }
    F[a] += p->dV * data.source * p->N[a];
  }
}

/* ---- assembly -------------------------------------------------------------------------------- */

/* A of such a form. */
static PoiseErr AssembleMatrix(double mass, double stiffness, Body *b)
{
  const FemOperator op = {.mass = mass, .stiffness = stiffness};
  Term term = {b, mass, stiffness};
  POISE_TRY(FemAssembleCells(&b->system, Form, &term, &op));
  return b->set->check ? FemCheckAssembly(&b->system, Form, &term) : POISE_OK;
}

/* u = 0 on the whole boundary. */
static PoiseErr FixZero(Body *b)
{
  for (int g = 0; g < b->mesh.groups; g++) {
    if (b->mesh.group[g].dim == b->mesh.dim - 1)
      POISE_TRY(FemFix(&b->system, b->mesh.group[g].number, Zero, NULL));
  }
  return POISE_OK;
}

/* Assemble K and its load, and A = M on the same pattern. Rows and columns where u is given leave both
   matrices, except for A's diagonal. */
static PoiseErr AssembleMatrices(Body *b)
{
  FemSystem *s = &b->system;
  POISE_TRY(AssembleMatrix(0, 1, b));
  POISE_TRY(b->set->own ? FemScalarBoundary(&b->data, s) : FixZero(b));
  POISE_TRY(PoiseMatDuplicate(s->A, 1, &b->K));
  POISE_TRY(PoiseVecDuplicate(s->b, &b->load));
  POISE_TRY(PoiseVecCopy(s->b, b->load));
  POISE_TRY(PoiseMatZeroRowsColumns(b->K, s->fixed, s->fixedRows, 0, s->x, b->load));
  POISE_TRY(AssembleMatrix(1, 0, b));
  if (b->set->own) POISE_TRY(FemScalarStored(&b->data, s->A));
  return b->set->own && !b->data.fixes ? POISE_OK : FemConstrain(s);
}

static PoiseErr Begin(PoiseContext ctx, FemTimes *times, Body *b)
{
  const Settings *set = b->set;
  const FemBox box = {.cell = kinds[set->cell], .n = {set->n, set->n, set->n}, .length = {1, 1, 1}};
  FemAssembly how;
  POISE_TRY(FemStageBegin(ctx, times, FEM_MESH));
  POISE_TRY(set->mesh[0] != '\0' ? FemReadMesh(ctx, set->mesh, set->scale, &b->mesh)
                                 : FemMeshBox(ctx, &box, &b->mesh));
  if (set->plane == FEM_REVOLVED) POISE_TRY(FemMeshRevolve(&b->mesh));
  POISE_TRY(FemStageEnd(ctx, times, FEM_MESH));

  if (set->own) POISE_TRY(FemPrintBody(&b->mesh, "", 0));
  POISE_TRY(FemStageBegin(ctx, times, FEM_ASSEMBLY));
  if (set->own) POISE_TRY(FemScalarRead(&b->mesh, FEM_IN_TIME, set->material, set->boundary, &b->data));
  POISE_TRY(FemChooseAssembly(&b->mesh, 1, (FemAssembly)set->assembly, !set->own, &how));
  POISE_TRY(FemSystemCreate(&b->mesh, 1, how, &b->system));
  POISE_TRY(FemInterpolate(&b->mesh, 1, Initial, (void *)set, b->system.x));
  POISE_TRY(FemRange(b->system.x, b->range));
  POISE_TRY(AssembleMatrices(b));
  POISE_TRY(FemStageEnd(ctx, times, FEM_ASSEMBLY));

  POISE_TRY(PoiseVecDuplicate(b->system.x, set->own ? &b->before : &b->mode));
  if (set->own) {
    POISE_TRY(PoiseVecDuplicate(b->system.x, &b->change));
    return PoiseVecDuplicate(b->system.x, &b->middle);
  }
  POISE_TRY(FemInterpolate(&b->mesh, 1, Mode, &b->mesh.dim, b->mode));
  return PoiseVecDot(b->mode, b->mode, &b->modeSquare);
}

/* ---- a step ---------------------------------------------------------------------------------- */

typedef struct Step {
  double t, dt, theta, kappa; /* t: where it begins */
} Step;

/* A and b. The last u stays in x as the guess. */
static PoiseErr Refresh(PoiseContext ctx, const Step *step, FemTimes *times, Body *b)
{
  const double implicit = step->theta * step->dt * step->kappa;
  FemSystem *s = &b->system;
  POISE_TRY(FemStageBegin(ctx, times, FEM_REFRESH));
  if (implicit != b->implicit) POISE_TRY(PoiseMatAXPY(s->A, implicit - b->implicit, b->K));
  b->implicit = implicit;
  POISE_TRY(PoiseMatMult(s->A, s->x, s->b));
  POISE_TRY(PoiseMatMultAdd(b->K, -step->dt * step->kappa, s->x, 1, s->b));
  if (b->set->own) POISE_TRY(PoiseVecAXPY(s->b, step->dt, b->load));
  return FemStageEnd(ctx, times, FEM_REFRESH);
}

/* *part = (v, u) / (v, v) */
static PoiseErr PartOfMode(const Body *b, double *part)
{
  double vu;
  POISE_TRY(PoiseVecDot(b->mode, b->system.x, &vu));
  *part = vu / b->modeSquare;
  return POISE_OK;
}

/* Of the box. The step must multiply the part of v by its factor. */
static PoiseErr AdvanceKnown(PoiseContext ctx, const Step *step, FemTimes *times, Body *b)
{
  const double h = 1 / (double)b->set->n, c = cos(pi * h);
  const double decay =
      step->dt * step->kappa * b->mesh.dim * 6 * (2 - 2 * c) / (h * h * (4 + 2 * c)); /* dt kappa lambda */
  double before = 0, after = 0, size = 0;
  POISE_TRY(PoiseVecNorm(b->system.x, POISE_NORM_2, &size));
  POISE_TRY(PartOfMode(b, &before));
  POISE_TRY(Refresh(ctx, step, times, b));
  POISE_TRY(FemSolve(&b->system, b->ksp, times));
  POISE_TRY(PartOfMode(b, &after));
  const double must = before * (1 - (1 - step->theta) * decay) / (1 + step->theta * decay);
  /* the solver leaves off at 1e-50 */
  if (fabs(after - must) <= 1e-8 * size / sqrt(b->modeSquare) + 1e-45 || b->wrong[0] != '\0') return POISE_OK;
  snprintf(b->wrong, sizeof b->wrong, "time %g: the part of v in u is %.9e, must be %.9e", step->t + step->dt,
           after, must);
  return POISE_OK;
}

/* Of your own body, with what flows in the step. */
static PoiseErr AdvanceOwn(PoiseContext ctx, const Step *step, FemTimes *times, Body *b)
{
  POISE_TRY(PoiseVecCopy(b->system.x, b->before));
  POISE_TRY(Refresh(ctx, step, times, b));
  POISE_TRY(FemSolve(&b->system, b->ksp, times));
  POISE_TRY(PoiseVecWAXPY(b->change, -1, b->before, b->system.x));
  POISE_TRY(PoiseVecScale(b->change, 1 / step->dt));
  POISE_TRY(PoiseVecCopy(b->before, b->middle));
  POISE_TRY(PoiseVecAXPBY(b->middle, step->theta, 1 - step->theta, b->system.x));
  return FemScalarFlows(&b->data, b->middle, b->change, step->dt);
}

static PoiseErr Advance(PoiseContext ctx, double t, double dt, double theta, FemTimes *times, Body *b)
{
  const Step step = {t, dt, theta, Kappa(b, t + theta * dt)};
  return b->set->own ? AdvanceOwn(ctx, &step, times, b) : AdvanceKnown(ctx, &step, times, b);
}

/* ---- the march ------------------------------------------------------------------------------- */

static PoiseErr Output(PoiseContext ctx, PoiseInt step, FemTimes *times, Body *b)
{
  char name[POISE_OPTION_LENGTH + 32];
  const Settings *set = b->set;
  const int last = step == set->steps, due = set->every > 0 && step % set->every == 0;
  if (set->output[0] == '\0' || (!last && !due)) return POISE_OK;
  POISE_TRY(FemStageBegin(ctx, times, FEM_OUTPUT));
  POISE_TRY(FemGather(&b->mesh, 1, b->system.x, &b->u));
  const FemField field = {set->field, 1, 0, b->u};
  snprintf(name, sizeof name, "%s_%04" PRId64, set->output, step);
  POISE_TRY(FemWriteMesh(&b->mesh, name, 1, &field));
  POISE_TRY(FemWriteSeries(ctx, &b->series, set->output, set->end * (double)step / (double)set->steps, name));
  free(b->u);
  b->u = NULL;
  if (last) POISE_TRY(FemWriteHistory(b->ksp, NULL, set->output));
  return FemStageEnd(ctx, times, FEM_OUTPUT);
}

/* A line of the table. continuous: the part of v where space and time are. */
static PoiseErr Report(PoiseContext ctx, PoiseInt step, double t, double continuous, FemTimes *times, Body *b)
{
  double range[2], part = 0;
  POISE_TRY(FemStageBegin(ctx, times, FEM_OUTPUT)); /* u may have to come from the device */
  POISE_TRY(FemRange(b->system.x, range));
  POISE_TRY(FemStageEnd(ctx, times, FEM_OUTPUT));
  b->range[0] = fmin(b->range[0], range[0]);
  b->range[1] = fmax(b->range[1], range[1]);
  POISE_TRY(PoisePrintf(ctx, "%6" PRId64 " %10.4g %10" PRId64 " %14.6e %14.6e", step, t,
                        PoiseKSPIterations(b->ksp), range[0], range[1]));
  if (b->set->own) return PoisePrintf(ctx, "\n");
  POISE_TRY(PartOfMode(b, &part));
  return PoisePrintf(ctx, " %14.6e %14.6e\n", part, continuous);
}

/* Early the sum of sines is long, late nothing is left to compare with. */
static PoiseErr PrintError(PoiseContext ctx, Body *b)
{
  double exact[2], error;
  if (KappaIntegral(b->set->end) < 1e-3) return POISE_OK;
  POISE_TRY(PoiseVecDuplicate(b->system.x, &b->change));
  POISE_TRY(FemInterpolate(&b->mesh, 1, Exact, b, b->change));
  POISE_TRY(FemRange(b->change, exact));
  POISE_TRY(PoiseVecAXPY(b->change, -1, b->system.x));
  POISE_TRY(PoiseVecNorm(b->change, POISE_NORM_INF, &error));
  if (exact[1] < 1e-30) return POISE_OK;
  return PoisePrintf(ctx, "At the end the largest error is %.2g %% of the largest u.\n",
                     100 * error / exact[1]);
}

static PoiseErr JudgeKnown(PoiseContext ctx, Body *b)
{
  const double bounds[2] = {0, 1};
  double end[2];
  POISE_TRY(FemPrintRange(
      ctx, b->range, bounds,
      "Steps shorter than h^2 / 6 do that at first, long ones of Crank and Nicolson until the end."));
  POISE_TRY(PrintError(ctx, b));
  POISE_TRY(FemRange(b->system.x, end));
  if (b->wrong[0] != '\0') POISE_FAIL(POISE_ERR_NUMERIC, "%s", b->wrong);
  if (end[0] >= -0.01 * end[1] - 1e-45)
    return PoisePrintf(ctx, "Every step multiplied the part of v by its factor, as it must.\n");
  POISE_FAIL(POISE_ERR_NUMERIC,
             "at the end u is in [%g, %g], but 0 at least: it swings from step to step. Take more -steps, "
             "-start or -theta 1",
             end[0], end[1]);
}

static PoiseErr JudgeOwn(PoiseContext ctx, double dt, Body *b)
{
  POISE_TRY(FemScalarPrint(&b->data));
  POISE_TRY(
      FemPrintRange(ctx, b->range, b->data.range,
                    "Steps shorter than h^2 / 6 capacity / conductivity do that at first, long ones of Crank "
                    "and Nicolson\nuntil the end; and cells where transfer h > conductivity."));
  POISE_TRY(FemScalarBalance(&b->data, &b->system, dt));
  return PoisePrintf(ctx, "Flows balance to the residual of the solve.\n");
}

static PoiseErr March(PoiseContext ctx, FemTimes *times, Body *b)
{
  const Settings *set = b->set;
  POISE_TRY(Begin(ctx, times, b));
  const double dt = set->end / (double)set->steps;
  double first = 0, seconds, length = dt;
  if (!set->own) POISE_TRY(PartOfMode(b, &first));
  if (set->own) { /* the initial u is in the range, too */
    b->data.range[0] = fmin(b->data.range[0], b->range[0]);
    b->data.range[1] = fmax(b->data.range[1], b->range[1]);
  }
  /* Long steps in a good conductor leave few digits to the solver: their K u cancels. */
  POISE_TRY(FemSolverCreate(&b->system, "cg", "jacobi", set->own ? 1e-8 : 1e-10, times, &b->ksp));
  POISE_TRY(PoiseMatSetFromOptions(b->K)); /* sums and products of one type */
  POISE_TRY(
      PoisePrintf(ctx, "%6s %10s %10s %14s %14s", "step", "time", "iterations", "least u", "largest u"));
  POISE_TRY(PoisePrintf(ctx, set->own ? "\n" : " %14s %14s\n", "part of v", "continuous"));
  seconds = PoiseTime();
  for (PoiseInt step = 1; step <= set->steps; step++) {
    const double t = (double)(step - 1) * dt;
    const int halves = set->theta < 1 && step <= set->start;
    length = halves ? dt / 2 : dt;
    if (halves) POISE_TRY(Advance(ctx, t, length, 1, times, b));
    POISE_TRY(Advance(ctx, t + dt - length, length, halves ? 1 : set->theta, times, b));
    POISE_TRY(
        Report(ctx, step, t + dt, first * exp(-b->mesh.dim * pi * pi * KappaIntegral(t + dt)), times, b));
    POISE_TRY(Output(ctx, step, times, b));
  }
  seconds = PoiseTime() - seconds - times->seconds[FEM_OUTPUT];
  POISE_TRY(FemPrintTimes(ctx, times));
  POISE_TRY(PoisePrintf(ctx, "\nA step takes %.4f s, %.1f %% of it outside the solve.\n",
                        seconds / (double)set->steps, 100 * (1 - times->seconds[FEM_SOLVE] / seconds)));
  POISE_TRY(FemStageBegin(ctx, times, FEM_CHECK)); /* for the log, behind the table */
  POISE_TRY(set->own ? JudgeOwn(ctx, length, b) : JudgeKnown(ctx, b));
  return FemStageEnd(ctx, times, FEM_CHECK);
}

static PoiseErr Run(PoiseContext ctx, void *arg)
{
  Settings set;
  FemTimes times = {{0}, 0, 0, 0};
  Body body = {.set = &set};
  (void)arg;
  POISE_TRY(PoiseOptionsDefaults(options, &set));
  POISE_TRY(PoiseOptionsRead(ctx, NULL, options, &set));
  POISE_TRY(FemCheckMesh(ctx, (const char *const[]){"cell", "n", NULL}));
  POISE_TRY(FemScalarAsked(ctx, (FemAssembly)set.assembly, (const char *const[]){NULL}, &set.own));
  if (!set.own &&
      (set.mesh[0] != '\0' || set.plane != FEM_SLAB || PoiseOptionsHas(ctx, NULL, "initial", NULL)))
    POISE_FAIL(POISE_ERR_OPTION,
               "-mesh, -plane and -initial are for a problem of your own: give -material or -boundary");
  if (FemHeldType(ctx) != NULL)
    POISE_FAIL(
        POISE_ERR_OPTION,
        "-mat_type %s: a step adds matrices, which this type does not offer; take csr, csri, seg or auto",
        FemHeldType(ctx));
  POISE_TRY(FemTryOutput(ctx, set.output));
  PoiseErr err = March(ctx, &times, &body);
  free(body.u);
  FemSeriesFree(&body.series);
  PoiseKSPDestroy(&body.ksp);
  PoiseVecDestroy(&body.mode);
  PoiseVecDestroy(&body.before);
  PoiseVecDestroy(&body.change);
  PoiseVecDestroy(&body.middle);
  PoiseVecDestroy(&body.load);
  PoiseMatDestroy(&body.K);
  FemScalarFree(&body.data);
  FemSystemFree(&body.system);
  FemMeshFree(&body.mesh);
  return err;
}

int main(int argc, char **argv)
{
  return FemMain(
      argc, argv,
      "Heat by implicit steps in time: a cooling box with a known solution, or a body of your own.", options,
      Run);
}

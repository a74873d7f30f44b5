/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Elasticity of examples/fem against what is known.
  - Patch tests: where the exact displacement is linear, every kind of cell and body gives it on any mesh.
  - A thick cylinder under pressure (Lame), a shaft that turns: errors fall with the order of the cells.
  - A beam that hardly changes its volume is not stiffer than it should be.
  - A part that is rotated and moved far away gives rotated results.
  - Reactions balance loads and weight. Motions that no support stops are named.
*/
#include "../../examples/fem/balance.h"
#include "../../examples/fem/program.h"
#include "../../examples/fem/rigid.h"
#include "../../examples/fem/stresses.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const solids[] = {"space", "plane strain", "plane stress", "axisymmetric"};

/* ---- a problem ------------------------------------------------------------------------------- */

typedef struct Problem {
  FemBox box;
  FemSolid kind;
  FemAssembly how;
  FemPartText text;
  FemPartFunctions at; /* NULL: changes nothing */
  double young, poisson;
} Problem;

typedef struct Solved {
  FemMesh mesh;
  FemPart part;
  FemElastic elastic;
  FemSystem system;
  FemRigid rigid;
  FemStresses stresses;
  FemBalance balance;
  PoiseKSP ksp;
  PoiseVec load, by;
  double *young, *u;
} Solved;

static void SameMaterial(const char *group, const double x[3], void *arg, double *E, double *nu,
                         double *density)
{
  (void)group, (void)x, (void)arg, (void)E, (void)nu, (void)density;
}

static void SameSupport(const char *group, const double x[3], void *arg, double u[3])
{
  (void)group, (void)x, (void)arg, (void)u;
}

static void SameLoad(const char *group, const double x[3], const double n[3], void *arg, double t[3])
{
  (void)group, (void)x, (void)n, (void)arg, (void)t;
}

static void SameBody(const char *group, const double x[3], double density, void *arg, double f[3])
{
  (void)group, (void)x, (void)density, (void)arg, (void)f;
}

static PoiseErr Prepare(PoiseContext ctx, const Problem *problem, Solved *s)
{
  FemPartFunctions at = problem->at;
  FemPartText text = problem->text;
  if (at.material == NULL) at.material = SameMaterial;
  if (at.support == NULL) at.support = SameSupport;
  if (at.load == NULL) at.load = SameLoad;
  if (at.body == NULL) at.body = SameBody;
  if (text.material == NULL) text.material = "";
  if (text.body == NULL) text.body = "";
  POISE_TRY(FemMeshBox(ctx, &problem->box, &s->mesh));
  if (problem->kind == FEM_AXISYMMETRIC) POISE_TRY(FemMeshRevolve(&s->mesh));
  POISE_TRY(FemAlloc(s->mesh.cells, sizeof *s->young, &s->young));
  POISE_TRY(FemPartRead(&s->mesh, problem->kind, &text, &at, problem->young, problem->poisson, &s->part));
  POISE_TRY(FemSystemCreate(&s->mesh, s->mesh.dim, problem->how, &s->system));
  POISE_TRY(FemRigidCreate(&s->system, problem->kind, &s->rigid));
  POISE_TRY(PoiseVecDuplicate(s->system.x, &s->by));
  POISE_TRY(PoiseVecDuplicate(s->system.x, &s->load));
  POISE_TRY(FemPartSupport(&s->part, &s->system, s->by));
  return FemRigidHeld(&s->system, &s->rigid, s->by);
}

static PoiseErr Solve(PoiseContext ctx, const Problem *problem, Solved *s)
{
  FemTimes times = {{0}, 0, 0, 0};
  double poisson;
  POISE_TRY(Prepare(ctx, problem, s));
  POISE_TRY(FemElasticCreate(&s->mesh, problem->kind, &s->elastic));
  POISE_TRY(FemPartMaterial(&s->part, &s->elastic, s->young, &poisson));
  const FemOperator op = {.law = s->elastic.law};
  POISE_TRY(FemAssembleCells(&s->system, FemElasticForm, &s->elastic, &op));
  POISE_TRY(FemCheckAssembly(&s->system, FemElasticForm, &s->elastic));
  POISE_TRY(FemRigidCheck(&s->system, &s->rigid));
  POISE_TRY(FemPartLoad(&s->part, 0, &s->system));
  POISE_TRY(PoiseVecCopy(s->system.b, s->load));
  POISE_TRY(FemConstrain(&s->system));
  POISE_TRY(FemSolverCreate(&s->system, "cg", "pbjacobi", 1e-11, &times, &s->ksp));
  POISE_TRY(FemSolve(&s->system, s->ksp, &times));
  POISE_TRY(FemGather(&s->mesh, s->mesh.dim, s->system.x, &s->u));
  POISE_TRY(FemStressesCreate(&s->elastic, s->u, &s->stresses));
  return FemBalanceCreate(&s->part, &s->elastic, s->u, s->system.x, s->load, s->by, &s->balance);
}

static void Free(Solved *s)
{
  free(s->u);
  free(s->young);
  FemBalanceFree(&s->balance);
  FemStressesFree(&s->stresses);
  PoiseKSPDestroy(&s->ksp);
  PoiseVecDestroy(&s->load);
  PoiseVecDestroy(&s->by);
  FemRigidFree(&s->rigid);
  FemSystemFree(&s->system);
  FemElasticFree(&s->elastic);
  FemPartFree(&s->part);
  FemMeshFree(&s->mesh);
  *s = (Solved){.ksp = NULL};
}

/* POISE_ERR_NUMERIC, on all ranks, unless `is` is at most `most` on each. */
static PoiseErr Expect(PoiseContext ctx, const Problem *problem, const char *what, double is, double most)
{
  POISE_TRY(PoiseMax(ctx, 1, &is));
  if (is <= most) return POISE_OK;
  POISE_FAIL(POISE_ERR_NUMERIC, "%s, %s, nu = %g: %s is %.3e, must be at most %.1e",
             FemCellInfoOf(problem->box.cell)->name, solids[problem->kind], problem->poisson, what, is, most);
}

/* Forces and energy of any solution. */
static PoiseErr CheckBalance(PoiseContext ctx, const Problem *problem, const Solved *s)
{
  POISE_TRY(Expect(ctx, problem, "the sum of forces", s->balance.off, 1e-8));
  return Expect(ctx, problem, "work less energy", fabs(s->balance.work / s->stresses.power - 1), 1e-8);
}

/* ---- patch tests ----------------------------------------------------------------------------- */

/* u = G x; of a body of revolution u_r = G_00 r. Hooke's law is written in another form than in elastic.c. */
typedef struct Linear {
  FemSolid kind;
  double G[3][3], young, poisson;
} Linear;

static void LinearAt(const char *group, const double x[3], void *arg, double u[3])
{
  const Linear *l = arg;
  (void)group;
  for (int i = 0; i < (l->kind == FEM_SPACE ? 3 : 2); i++)
    u[i] = l->G[i][0] * x[0] + l->G[i][1] * x[1] + l->G[i][2] * x[2];
}

static void LinearStress(const Linear *l, double sigma[3][3])
{
  const double nu = l->poisson, shear = l->young / (1 + nu);
  double eps[3][3], trace = 0;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) eps[i][j] = 0.5 * (l->G[i][j] + l->G[j][i]);
  if (l->kind == FEM_AXISYMMETRIC) eps[2][2] = eps[0][0];
  if (l->kind == FEM_PLANE_STRESS) eps[2][2] = -nu / (1 - nu) * (eps[0][0] + eps[1][1]);
  for (int i = 0; i < 3; i++) trace += eps[i][i];
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) sigma[i][j] = shear * (eps[i][j] + (i == j ? nu / (1 - 2 * nu) * trace : 0));
}

static void LinearLoad(const char *group, const double x[3], const double n[3], void *arg, double t[3])
{
  double sigma[3][3];
  (void)x;
  (void)group;
  LinearStress(arg, sigma);
  for (int i = 0; i < 3; i++) t[i] = sigma[i][0] * n[0] + sigma[i][1] * n[1] + sigma[i][2] * n[2];
}

/* Curve and skew a mesh of [0, 1]^dim; x = 0 stays. */
static void Distort(double x[3], void *arg)
{
  const double *offset = arg, p[3] = {x[0], x[1], x[2]};
  x[0] = *offset + p[0] * (1 + 0.2 * p[1] + 0.1 * p[2]);
  x[1] = p[1] + 0.15 * p[0] * p[0] + 0.1 * p[0] * p[2] + 0.1 * sin(4 * p[0] + 3 * p[1]);
  x[2] = p[2] * (1 + 0.2 * p[0] - 0.1 * p[1]);
}

/* The stress of cells and nodes is that of the linear displacement. */
static double StressError(const Linear *l, const Solved *s)
{
  double sigma[3][3], worst = 0, size = 0;
  LinearStress(l, sigma);
  const double must[] = {sigma[0][0], sigma[1][1], sigma[2][2], sigma[0][1], sigma[1][2], sigma[0][2]};
  for (int k = 0; k < FEM_STRESS; k++) size = fmax(size, fabs(must[k]));
  for (PoiseInt k = 0; k < FEM_STRESS * s->mesh.cells; k++)
    worst = fmax(worst, fabs(s->stresses.cell[k] - must[k % FEM_STRESS]));
  for (PoiseInt k = 0; k < FEM_STRESS * s->mesh.nodes; k++)
    worst = fmax(worst, fabs(s->stresses.node[k] - must[k % FEM_STRESS]));
  const double mises =
      sqrt(0.5 * (pow(must[0] - must[1], 2) + pow(must[1] - must[2], 2) + pow(must[2] - must[0], 2)) +
           3 * (must[3] * must[3] + must[4] * must[4] + must[5] * must[5]));
  for (PoiseInt k = 0; k < s->mesh.cells; k++) worst = fmax(worst, fabs(s->stresses.cellMises[k] - mises));
  for (PoiseInt k = 0; k < s->mesh.nodes; k++) worst = fmax(worst, fabs(s->stresses.nodeMises[k] - mises));
  return worst / size;
}

static PoiseErr Patch(PoiseContext ctx, FemCell cell, FemSolid kind, FemAssembly how, double poisson,
                      double offset)
{
  Linear l = {kind, {{1, 0.5, -0.3}, {0.2, -0.7, 0.4}, {0.6, -0.1, 0.9}}, 3, poisson};
  if (kind != FEM_SPACE) l.G[0][2] = l.G[1][2] = l.G[2][0] = l.G[2][1] = l.G[2][2] = 0;
  if (kind == FEM_AXISYMMETRIC) l.G[0][1] = l.G[1][0] = 0;
  const Problem with = {{.cell = cell, .n = {3, 2, 2}, .length = {1, 1, 1}, .map = Distort, .arg = &offset},
                        kind,
                        how,
                        {.support = "left",
                         .loads = kind == FEM_SPACE ? "right, front, back, bottom, top: pressure = 0"
                                                    : "right, bottom, top: pressure = 0"},
                        {.arg = &l, .support = LinearAt, .load = LinearLoad},
                        l.young,
                        poisson};
  Solved s = {.ksp = NULL};
  double worst = 0;
  PoiseErr err = Solve(ctx, &with, &s);
  for (PoiseInt i = 0; i < s.mesh.nodes && err == POISE_OK; i++) {
    double u[3];
    LinearAt("", s.mesh.x + 3 * i, &l, u);
    for (int c = 0; c < s.mesh.dim; c++) worst = fmax(worst, fabs(s.u[s.mesh.dim * i + c] - u[c]));
  }
  if (err == POISE_OK) err = Expect(ctx, &with, "the error of a linear displacement", worst, 1e-8);
  if (err == POISE_OK) err = Expect(ctx, &with, "the error of a constant stress", StressError(&l, &s), 1e-8);
  if (err == POISE_OK) err = CheckBalance(ctx, &with, &s);
  Free(&s);
  return err;
}

static PoiseErr Patches(PoiseContext ctx)
{
  static const double ratios[] = {0.3, 0.49};
  for (int k = 0; k < 2; k++) {
    for (int cell = 0; cell < FEM_CELLS; cell++) {
      const int dim = FemCellInfoOf((FemCell)cell)->dim;
      if (dim == 3)
        POISE_TRY(Patch(ctx, (FemCell)cell, FEM_SPACE, k ? FEM_BLOCKS : FEM_DEVICE, ratios[k], 0));
      if (dim == 3) continue;
      POISE_TRY(Patch(ctx, (FemCell)cell, FEM_PLANE_STRAIN, FEM_DEVICE, ratios[k], 0));
      POISE_TRY(Patch(ctx, (FemCell)cell, FEM_PLANE_STRESS, FEM_BLOCKS, ratios[k], 0));
      POISE_TRY(Patch(ctx, (FemCell)cell, FEM_AXISYMMETRIC, FEM_ELEMENTS, ratios[k], 0)); /* with its axis */
      POISE_TRY(Patch(ctx, (FemCell)cell, FEM_AXISYMMETRIC, FEM_COO, ratios[k], 1));
    }
  }
  return POISE_OK;
}

/* ---- cylinders ------------------------------------------------------------------------------- */

/* Radii 1 and 2, pressure 1 inside, E = 1, no strain along the axis (Lame). Or a shaft of radius 1 that
   turns: the force is r per volume. */
static double RadialDisplacement(const Problem *problem, double r)
{
  const double nu = problem->poisson;
  if (problem->at.body != NULL) return (1 + nu) * (1 - 2 * nu) / (8 * (1 - nu)) * r * (3 - 2 * nu - r * r);
  return (1 + nu) / 3 * ((1 - 2 * nu) * r + 4 / r);
}

static void Centrifugal(const char *group, const double x[3], double density, void *arg, double f[3])
{
  (void)group;
  (void)density;
  (void)arg;
  f[0] += x[0];
}

static double Radius(const Problem *problem, const double x[3])
{
  return problem->kind == FEM_AXISYMMETRIC ? x[0] : hypot(x[0], x[1]);
}

static double Radial(const double x[3], void *arg, double gradient[3])
{
  const double r = Radius(arg, x);
  gradient[0] = gradient[1] = 0; /* the H1 norm is not looked at */
  return RadialDisplacement(arg, r) * x[0] / r;
}

static void Ring(double x[3], void *arg)
{
  const Problem *problem = arg;
  const double r = 1 + x[0], angle = 0.5 * 3.14159265358979323846 * x[1];
  if (problem->kind == FEM_AXISYMMETRIC) {
    x[0] += problem->at.body != NULL ? 0 : 1;
    return;
  }
  x[0] = x[1] == 1 ? 0 : r * cos(angle);
  x[1] = r * sin(angle);
}

/* Across the axis stresses have the sum 2/3 everywhere, by Lame. */
static double SumError(const Problem *problem, PoiseInt count, const double *stress)
{
  const int axial = problem->kind == FEM_AXISYMMETRIC ? 1 : 2;
  double worst = 0;
  for (; count > 0 && problem->at.body == NULL; count--, stress += FEM_STRESS)
    worst = fmax(worst, fabs(stress[0] + stress[1] + stress[2] - stress[axial] - 2.0 / 3));
  return worst;
}

static PoiseErr CheckStresses(PoiseContext ctx, const Problem *problem, const Solved *s)
{
  const double nodes = SumError(problem, s->mesh.nodes, s->stresses.node),
               cells = SumError(problem, s->mesh.cells, s->stresses.cell);
  double axis = 0;
  for (PoiseInt i = 0; i < s->mesh.nodes; i++)
    if (Radius(problem, s->mesh.x + 3 * i) == 0) axis = fmax(axis, fabs(s->u[2 * i]));
  POISE_TRY(Expect(ctx, problem, "the radial displacement of the axis", axis, 0));
  if (problem->at.body != NULL) /* the axis belongs to no support */
    POISE_TRY(Expect(ctx, problem, "a radial reaction", fabs(s->balance.reaction[0][0]), 0));
  const int quadratic = FemOrder(problem->box.cell) == 2;
  POISE_TRY(Expect(ctx, problem, "the error of the stress of cells", cells, quadratic ? 0.05 : 0.6));
  return Expect(ctx, problem, "the error of the stress at nodes", nodes, quadratic ? 0.05 : 0.4);
}

/* sums: |sigma_h - sigma|^2, |sigma_h|^2 of Lame's cylinder */
static void AddStressError(const FemPoint *p, void *arg, double *sums)
{
  const Solved *s = arg;
  const double dV = p->dV, part = 4 / (p->x[0] * p->x[0]);
  const double must[] = {(1 - part) / 3, 2 * s->part.poisson / 3, (1 + part) / 3};
  double sigma[3][3];
  FemElasticStress(&s->elastic, p, s->u, sigma);
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j < 3; j++) {
      sums[0] += dV * pow(sigma[i][j] - (i == j ? must[i] : 0), 2);
      sums[1] += dV * pow(sigma[i][j], 2);
    }
  }
}

/* The jumps estimate the true error of the stress; of quadratic cells, which are better, from above. */
static PoiseErr CheckEstimate(PoiseContext ctx, const Problem *problem, Solved *s)
{
  double sums[2];
  const int quadratic = FemOrder(problem->box.cell) == 2;
  if (problem->kind != FEM_AXISYMMETRIC || problem->at.body != NULL) return POISE_OK;
  if (quadratic && problem->poisson > FEM_LOCKING) return POISE_OK; /* whose mean stress swings */
  POISE_TRY(FemIntegrateAsMatrix(&s->mesh, AddStressError, s, 2, sums));
  const double error = sqrt(sums[0] / sums[1]);
  POISE_TRY(Expect(ctx, problem, "error over estimate", error / s->stresses.jumps, quadratic ? 0.5 : 1.1));
  return Expect(ctx, problem, "estimate over error", s->stresses.jumps / error, quadratic ? 4 : 1.1);
}

/* *jumps: the estimated error of the stress */
static PoiseErr CylinderError(PoiseContext ctx, Problem *problem, PoiseInt n, double *error, double *jumps)
{
  Solved s = {.ksp = NULL};
  double *radial = NULL, H1, mean;
  problem->box.n[0] = n;
  problem->box.n[1] = problem->kind == FEM_AXISYMMETRIC ? n : 2 * n;
  PoiseErr err = Solve(ctx, problem, &s);
  if (err == POISE_OK) err = FemAlloc(s.mesh.nodes, sizeof *radial, &radial);
  for (PoiseInt i = 0; i < s.mesh.nodes && err == POISE_OK; i++) radial[i] = s.u[2 * i];
  if (err == POISE_OK) err = FemErrors(&s.mesh, radial, Radial, problem, error, &H1, &mean);
  if (err == POISE_OK) err = CheckBalance(ctx, problem, &s);
  if (err == POISE_OK) err = CheckStresses(ctx, problem, &s);
  if (err == POISE_OK) err = CheckEstimate(ctx, problem, &s);
  *jumps = s.stresses.jumps;
  /* The pressure pulls each of two quarters apart with the force of its radius. */
  if (err == POISE_OK && problem->kind == FEM_PLANE_STRAIN)
    err = Expect(ctx, problem, "the error of a reaction", fabs(s.balance.reaction[0][1] + 1), 1e-8);
  free(radial);
  Free(&s);
  return err;
}

static PoiseErr Cylinder(PoiseContext ctx, FemCell cell, FemSolid kind, double poisson, int turns)
{
  Problem problem = {
      {.cell = cell, .length = {1, 1, 0}, .map = Ring},
      kind,
      FEM_COO,
      {.support = kind == FEM_AXISYMMETRIC ? "bottom, top: y = 0" : "bottom: y = 0; top: x = 0",
       .loads = turns ? "" : "left: pressure = 1",
       .body = turns ? "body: force = 0 0" : ""},
      {.body = turns ? Centrifugal : NULL},
      1,
      poisson};
  double coarse, fine, jumps[2];
  problem.box.arg = &problem;
  POISE_TRY(CylinderError(ctx, &problem, 6, &coarse, &jumps[0]));
  POISE_TRY(CylinderError(ctx, &problem, 12, &fine, &jumps[1]));
  const double order = log2(coarse / fine), must = FemOrder(cell) + 1;
  POISE_TRY(PoisePrintf(ctx, "%s, %s, nu = %g: L2 error %.1e, order %.2f; jumps %.1e, order %.2f\n",
                        FemCellInfoOf(cell)->name, turns ? "a shaft" : solids[kind], poisson, fine, order,
                        jumps[1], log2(jumps[0] / jumps[1])));
  POISE_TRY(Expect(ctx, &problem, "the error of the radial displacement", fine, 2e-2));
  return Expect(ctx, &problem, "the order, less than in theory", must - order, 0.2);
}

static PoiseErr Cylinders(PoiseContext ctx)
{
  static const FemCell cells[] = {FEM_TRI3, FEM_TRI6, FEM_QUAD4};
  for (int k = 0; k < 3; k++) {
    POISE_TRY(Cylinder(ctx, cells[k], FEM_PLANE_STRAIN, 0.3, 0));
    POISE_TRY(Cylinder(ctx, cells[k], FEM_AXISYMMETRIC, 0.3, 0));
    POISE_TRY(Cylinder(ctx, cells[k], FEM_AXISYMMETRIC, 0.3, 1));
    if (cells[k] == FEM_TRI3) continue; /* it locks */
    POISE_TRY(Cylinder(ctx, cells[k], FEM_PLANE_STRAIN, 0.499, 0));
    POISE_TRY(Cylinder(ctx, cells[k], FEM_AXISYMMETRIC, 0.499, 0));
  }
  return POISE_OK;
}

/* ---- beams ----------------------------------------------------------------------------------- */

/* A cantilever 1 x 0.25 x 0.25, nu = 0.499, E = 1, force 1 at its end. *power: twice its energy */
static PoiseErr Beam(PoiseContext ctx, FemCell cell, double *power)
{
  const Problem problem = {{.cell = cell, .n = {16, 4, 4}, .length = {1, 0.25, 0.25}},
                           FEM_SPACE,
                           FEM_COO,
                           {.support = "left", .loads = "right: force = 0 0 -1"},
                           {.arg = NULL},
                           1,
                           0.499};
  Solved s = {.ksp = NULL};
  PoiseErr err = Solve(ctx, &problem, &s);
  *power = s.stresses.power;
  if (err == POISE_OK) err = CheckBalance(ctx, &problem, &s);
  for (int c = 0; c < 3 && err == POISE_OK; c++)
    err = Expect(ctx, &problem, "the error of a reaction", fabs(s.balance.reaction[0][c] - (c == 2)), 1e-7);
  Free(&s);
  return err;
}

static PoiseErr Beams(PoiseContext ctx)
{
  static const double fine = 1022.78; /* of 10 x 10 x 40 bricks of tet10 */
  double hex, tet;
  POISE_TRY(Beam(ctx, FEM_HEX8, &hex));
  POISE_TRY(Beam(ctx, FEM_TET4, &tet));
  POISE_TRY(
      PoisePrintf(ctx, "nu = 0.499: hex8 stores %.3f of the energy, tet4 %.3f\n", hex / fine, tet / fine));
  if (hex > 0.95 * fine && hex < 1.02 * fine && tet < 0.5 * fine) return POISE_OK;
  POISE_FAIL(POISE_ERR_NUMERIC, "hex8 stores %.3f of the energy, tet4 %.3f", hex / fine, tet / fine);
}

/* ---- rotated and moved far away -------------------------------------------------------------- */

static void Rotate(const double x[3], double y[3])
{
  static const double R[3][3] = {
      {2.0 / 3, -1.0 / 3, 2.0 / 3}, {2.0 / 3, 2.0 / 3, -1.0 / 3}, {-1.0 / 3, 2.0 / 3, 2.0 / 3}};
  for (int i = 0; i < 3; i++) y[i] = R[i][0] * x[0] + R[i][1] * x[1] + R[i][2] * x[2];
}

static void Move(double x[3], void *arg)
{
  const double *far = arg;
  double y[3];
  Rotate(x, y);
  for (int i = 0; i < 3; i++) x[i] = y[i] + far[i];
}

static PoiseErr CompareMoved(PoiseContext ctx, const Problem *problem, const Solved *s, const Solved *t)
{
  double u = 0, size = 0, mises = 0, largest = 0, reaction = 0, must[3];
  for (PoiseInt i = 0; i < s->mesh.nodes; i++) {
    Rotate(s->u + 3 * i, must);
    for (int c = 0; c < 3; c++) {
      u = fmax(u, fabs(t->u[3 * i + c] - must[c]));
      size = fmax(size, fabs(must[c]));
    }
    mises = fmax(mises, fabs(t->stresses.nodeMises[i] - s->stresses.nodeMises[i]));
    largest = fmax(largest, s->stresses.nodeMises[i]);
  }
  Rotate(s->balance.reaction[0], must);
  for (int c = 0; c < 3; c++) reaction = fmax(reaction, fabs(t->balance.reaction[0][c] - must[c]));
  double sizes[2] = {size, largest};
  POISE_TRY(PoiseMax(ctx, 2, sizes));
  POISE_TRY(Expect(ctx, problem, "the rotated displacement is off, and", u / sizes[0], 1e-6));
  POISE_TRY(Expect(ctx, problem, "the stress of the rotated part is off, and", mises / sizes[1], 1e-6));
  return Expect(ctx, problem, "the rotated reaction is off, and", reaction, 1e-5);
}

/* Functions that find the right answer only where the name of the group is. */
static void NamedMaterial(const char *group, const double x[3], void *arg, double *E, double *nu,
                          double *density)
{
  (void)x, (void)arg, (void)nu, (void)density;
  if (strcmp(group, "body") == 0) *E /= 100;
}

static void NamedSupport(const char *group, const double x[3], void *arg, double u[3])
{
  (void)x, (void)arg;
  if (strcmp(group, "left") != 0) u[0] = u[1] = u[2] = FEM_FREE;
}

static void NamedLoad(const char *group, const double x[3], const double n[3], void *arg, double t[3])
{
  (void)x, (void)n, (void)arg;
  for (int i = 0; i < 3 && strcmp(group, "top") == 0; i++) t[i] *= 2;
}

static void NamedBody(const char *group, const double x[3], double density, void *arg, double f[3])
{
  (void)x, (void)arg, (void)density;
  for (int i = 0; i < 3 && strcmp(group, "body") == 0; i++) f[i] /= 2;
}

static PoiseErr Moved(PoiseContext ctx, FemCell cell)
{
  double far[3] = {70000, -30000, 50000};
  Problem problem = {
      {.cell = cell, .n = {4, 2, 2}, .length = {2, 1, 1}},
      FEM_SPACE,
      FEM_ELEMENTS,
      {.material = "body: E = 500, nu = 0.42, density = 2",
       .support = "left",
       .loads = "right: force = 3 6 -3, pressure = 2; top: traction = 0 0.15 0.3",
       .body = "body: gravity = 0 0 -6; body: force = 6 0 0"},
      {.material = NamedMaterial, .support = NamedSupport, .load = NamedLoad, .body = NamedBody},
      1,
      0};
  Solved s = {.ksp = NULL}, t = {.ksp = NULL};
  PoiseErr err = Solve(ctx, &problem, &s);
  double young = 0;
  for (PoiseInt e = 0; e < s.mesh.cells && err == POISE_OK; e++) young = fmax(young, fabs(s.young[e] - 5));
  if (err == POISE_OK) err = Expect(ctx, &problem, "Young's modulus less 5", young, 0);
  /* All that acts after the functions, beside the force 3 6 -3: pressure 2 x 1, traction 2 x 0.3 0.6, weight
     2 x 2 x 3, force 3 x 2 */
  static const double must[] = {-3 + 2 - 6, -6 - 0.6, 3 - 1.2 + 12};
  for (int c = 0; c < 3 && err == POISE_OK; c++)
    err = Expect(ctx, &problem, "the error of a reaction", fabs(s.balance.reaction[0][c] - must[c]), 1e-6);
  problem.box.map = Move;
  problem.box.arg = far;
  problem.text.loads = "right: force = -2 7 1, pressure = 2; top: traction = 0.15 0 0.3";
  problem.text.body = "body: gravity = -4 2 -4; body: force = 4 4 -2";
  if (err == POISE_OK) err = Solve(ctx, &problem, &t);
  if (err == POISE_OK) err = CompareMoved(ctx, &problem, &s, &t);
  Free(&s);
  Free(&t);
  return err;
}

/* ---- what is refused ------------------------------------------------------------------------- */

/* Hold the axis through (1, 1, z). */
static void Hinge(const double x[3], void *arg, double *u)
{
  (void)arg;
  if (x[0] == 1 && x[1] == 1) u[0] = u[1] = u[2] = 1;
}

/* The problem is refused with these words. */
static PoiseErr Refused(PoiseContext ctx, FemCell cell, FemSolid kind, const FemPartText *text,
                        const char *words)
{
  const Problem problem = {
      {.cell = cell, .n = {2, 2, 2}, .length = {1, 1, 1}}, kind, FEM_COO, *text, {.arg = NULL}, 1, 0.3};
  Solved s = {.ksp = NULL};
  PoiseErr err = Solve(ctx, &problem, &s);
  char message[512];
  snprintf(message, sizeof message, "%s", err == POISE_OK ? "" : PoiseErrorMessage());
  Free(&s);
  if (err != POISE_OK && strstr(message, words) != NULL) return POISE_OK;
  POISE_FAIL(POISE_ERR_NUMERIC, "'%s' instead of '%s'", message, words);
}

static PoiseErr HingeIsFree(PoiseContext ctx)
{
  const Problem problem = {{.cell = FEM_TET4, .n = {2, 2, 2}, .length = {1, 1, 1}},
                           FEM_SPACE,
                           FEM_COO,
                           {.support = "left", .loads = ""},
                           {.arg = NULL},
                           1,
                           0.3};
  Solved s = {.ksp = NULL};
  PoiseErr err = Prepare(ctx, &problem, &s);
  FemSystem held = {.mesh = &s.mesh, .components = 3, .x = s.by};
  char message[512] = "";
  if (err == POISE_OK) err = PoiseVecSet(s.by, 0);
  if (err == POISE_OK) err = FemFixNodes(&held, Hinge, NULL);
  if (err == POISE_OK && FemRigidHeld(&s.system, &s.rigid, s.by) != POISE_OK)
    snprintf(message, sizeof message, "%s", PoiseErrorMessage());
  free(held.fixedRows);
  Free(&s);
  POISE_TRY(err);
  if (strstr(message, "a rotation about the axis along (0, 0, 1) through (1, 1, 0.5)") != NULL ||
      strstr(message, "a rotation about the axis along (0, 0, -1) through (1, 1, 0.5)") != NULL)
    return POISE_OK;
  POISE_FAIL(POISE_ERR_NUMERIC, "the free hinge is '%s'", message);
}

static PoiseErr Refusals(PoiseContext ctx)
{
  static const struct {
    FemCell cell;
    FemSolid kind;
    FemPartText text;
    const char *words;
  } bad[] = {
      {FEM_HEX8,
       FEM_SPACE,
       {.support = "left: x = 0", .loads = ""},
       "3 rigid motions of the body, one is a shift"},
      {FEM_HEX8,
       FEM_SPACE,
       {.support = "left: x = 0; front: y = 0", .loads = ""},
       "a shift along (0, 0, 1) is free"},
      {FEM_TRI3,
       FEM_PLANE_STRESS,
       {.support = "bottom: y = 0", .loads = ""},
       "a shift along (1, 0, 0) is free"},
      {FEM_QUAD4,
       FEM_AXISYMMETRIC,
       {.support = "right: x = 0", .loads = ""},
       "a shift along (0, 1, 0) is free"},
      {FEM_TRI3, FEM_PLANE_STRAIN, {.support = "bottom: z = 0", .loads = ""}, "there is no 'z'"},
      {FEM_HEX8, FEM_SPACE, {.support = "left", .loads = "right"}, "no load is given on 'right'"},
      {FEM_HEX8, FEM_SPACE, {.support = "left", .loads = "right: force = 1 2"}, "has 2 numbers, must have 3"},
      {FEM_HEX8, FEM_SPACE, {.support = "left", .loads = "right: force = 1"}, "has 1 numbers, must have 3"},
      {FEM_HEX8, FEM_SPACE, {.support = "lid", .loads = ""}, "no group 'lid'"},
      {FEM_HEX8, FEM_SPACE, {"body: E = 1", "left", "", ""}, "needs both E and nu"},
      {FEM_HEX8, FEM_SPACE, {"body: E = 1, nu = 0.5", "left", "", ""}, "nu = 0.5"},
      {FEM_HEX8, FEM_SPACE, {"", "left", "", "body"}, "nothing acts on 'body'"},
      {FEM_HEX8, FEM_SPACE, {"", "left", "", "body: gravity = 0 0 -9.81"}, "needs its density"},
  };
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
    POISE_TRY(Refused(ctx, bad[k].cell, bad[k].kind, &bad[k].text, bad[k].words));
  return HingeIsFree(ctx);
}

static PoiseErr Run(PoiseContext ctx, void *arg)
{
  (void)arg;
  POISE_TRY(Patches(ctx));
  POISE_TRY(Cylinders(ctx));
  POISE_TRY(Beams(ctx));
  POISE_TRY(Moved(ctx, FEM_HEX8));
  POISE_TRY(Moved(ctx, FEM_TET10));
  return Refusals(ctx);
}

int main(int argc, char **argv)
{
  static const PoiseOption none[] = {{0}};
  return FemMain(argc, argv, "Elasticity of examples/fem against what is known.", none, Run);
}

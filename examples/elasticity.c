/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Linear elasticity: -div(sigma) = f, sigma = lambda div(u) I + mu (grad u + grad u^T), in space, in the
  plane, and of bodies of revolution. The weak form, for all v that are 0 where u is held, t the traction on
  the boundary:
    (sigma(u), eps(v)) = (f, v) + (t, v)
  fem/elastic.c has it for one point of a cell, fem/part.c the right-hand side.
    elasticity
        a steel cantilever; its deflection is compared with beam theory
    mpirun -n 4 elasticity -n 8 -contrast 10 -output beam
        a sandwich with a soft core; beam.pvtu and beam.csv
    elasticity -mesh part.msh -output part
        a part meshed by Gmsh, held at "fixed", loaded at "load"
    elasticity -mesh part.msh -material "steel: E = 210e9, nu = 0.3, density = 7850"
      -support "foot; side: x = 0.001" -loads "top: pressure = 1e5; tip: force = 0 0 -1000"
      -body "steel: gravity = 0 0 -9.81" -output part
        materials, supports and loads of its own; fem/part.h has all keys
    elasticity -mesh part.msh -support foot -loads "top: pressure = 1e5 | tip: force = 0 0 -1000"
      -output part
        two load cases, solved at once: part_case1.vtu and part_case2.vtu
    elasticity -mesh pipe.msh -mesh_scale 0.001 -plane axisymmetric -support "end: y = 0"
      -loads "bore: pressure = 1e7"
        a mesh in the plane, in millimetres: half of the section of a pipe
    elasticity -cell hex8 -n 64
        a fine beam, assembled by blocks of 3 x 3, on the GPU if there is one

  The beam lies along x, has a square section, is clamped on the left and pulled down on the right. The
  example shows blocks of 3, a material that varies in space, the six rigid motions, from which multigrid
  builds its coarse levels, and stresses from displacements. The program checks:
  - Supports stop all rigid motions. Else it names one that is free, before the solve.
  - Before supports are applied, the matrix gives zero for each rigid motion, to rounding.
  - The deflection of the beam is within 2 % of Timoshenko's: P L^3 / (3 EI) for bending and P L / K for
    shear. EI is the sum over the layers. K follows from the energy of the shear stresses that equilibrium
    requires (5/6 G A for one material). Beam theory ignores how the section deforms at the clamp, which is
    most of the difference on fine meshes.
  - For a part, whose deflection is unknown: loads and reactions balance, and their work is twice the energy
    that the stresses store. This finds wrong solutions of the system. The solve goes on until they balance to
    1e-6, unless -ksp_rtol says when it ends; then a warning tells what is left.
  - It does not tell whether the mesh is fine enough. The jumps of the stress between cells give an estimate,
    and a warning where it is large. Solve again on a finer mesh.

  With -support none nothing holds the beam, and both ends are pulled. The rigid motions are attached as the
  null space of the matrix. The exact answer is u = stress / E (x, -nu y, -nu z) plus a rigid motion. Any mesh
  must give it, to the solver's tolerance.
*/
#include "fem/balance.h"
#include "fem/program.h"
#include "fem/rigid.h"
#include "fem/stresses.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Settings {
  PoiseInt n;
  int cell, assembly, check, plane;
  double scale, length, height, young, poisson, load, contrast;
  char mesh[POISE_OPTION_LENGTH], material[POISE_OPTION_LENGTH], support[POISE_OPTION_LENGTH],
      loads[POISE_OPTION_LENGTH], body[POISE_OPTION_LENGTH], output[POISE_OPTION_LENGTH];
} Settings;

/* Of the solve, and of forces and energy of a part. */
static const double tolerance = 1e-8, balanced = 1e-6;
enum { MOST_SOLVES = 4, COLUMNS = 32 /* of a vector, at most */ };

/* With an n of a beam whose deflection is within 2 % of theory. */
static const struct {
  FemCell cell;
  PoiseInt n;
} kinds[] = {{FEM_TET4, 20}, {FEM_TET10, 2}, {FEM_HEX8, 8}};

static const PoiseOption options[] = {
    {"cell", POISE_OPTION_CHOICE, offsetof(Settings, cell), "tet10", 0, 0, "tet4|tet10|hex8",
     "kind of cells"},
    {"n", POISE_OPTION_INT, offsetof(Settings, n), "0", 0, 2000, NULL,
     "bricks through the height, a multiple of 4 with layers; 0: by kind of cells"},
    {"length", POISE_OPTION_REAL, offsetof(Settings, length), "1", 1e-9, 1e9, NULL,
     "of the beam, m; beam theory wants some ten heights"},
    {"height", POISE_OPTION_REAL, offsetof(Settings, height), "0.1", 1e-9, 1e9, NULL,
     "and width of the beam, m"},
    {"young", POISE_OPTION_REAL, offsetof(Settings, young), "2.1e11", 1e-30, 1e30, NULL,
     "Young's modulus, Pa, without -material"},
    {"poisson", POISE_OPTION_REAL, offsetof(Settings, poisson), "0.3", 0, 0.499, NULL,
     "Poisson's ratio, without -material"},
    {"load", POISE_OPTION_REAL, offsetof(Settings, load), "1000", 1e-30, 1e30, NULL,
     "force downwards on the right end, or on the group load, N"},
    {"contrast", POISE_OPTION_REAL, offsetof(Settings, contrast), "1", 1e-6, 1e6, NULL,
     "the middle half of the beam's height is softer by this factor"},
    {"mesh", POISE_OPTION_STRING, offsetof(Settings, mesh), "", 0, 0, NULL,
     "a .msh file of Gmsh, in metres, instead of the beam"},
    {"mesh_scale", POISE_OPTION_REAL, offsetof(Settings, scale), "1", 1e-30, 1e30, NULL, FEM_SCALE_HELP},
    {"plane", POISE_OPTION_CHOICE, offsetof(Settings, plane), "no", 0, 0, "no|strain|stress|axisymmetric",
     "what a mesh in the plane is a section of"},
    {"material", POISE_OPTION_STRING, offsetof(Settings, material), "", 0, 0, NULL,
     "of groups of cells: \"steel: E = 210e9, nu = 0.3, density = 7850; ...\""},
    {"support", POISE_OPTION_STRING, offsetof(Settings, support), "", 0, 0, NULL,
     "held groups, or displacements: \"foot; side: x = 0.001\"; none: pull a free beam"},
    {"loads", POISE_OPTION_STRING, offsetof(Settings, loads), "", 0, 0, NULL,
     "on groups of facets: \"top: pressure = 1e5; tip: force = 0 0 -1000\", or traction; | between load "
     "cases"},
    {"body", POISE_OPTION_STRING, offsetof(Settings, body), "", 0, 0, NULL,
     "on groups of cells: \"steel: gravity = 0 0 -9.81\", or force per volume"},
    {"assembly", POISE_OPTION_CHOICE, offsetof(Settings, assembly), "auto", 0, 0, FEM_WAYS "|blocks",
     "how the matrix is assembled; auto: blocks if it can be, else elements"},
    {"check_assembly", POISE_OPTION_BOOL, offsetof(Settings, check), "no", 0, 0, NULL,
     "compare with the other way"},
    {"output", POISE_OPTION_STRING, offsetof(Settings, output), "", 0, 0, NULL,
     "write displacements and stresses to <name>.vtu, residual norms to .csv; of cases <name>_case1 ..."},
    {0}};

/* Young's modulus of a beam in layers. */
static double Young(const Settings *set, double z)
{
  return fabs(z / set->height - 0.5) < 0.25 ? set->young / set->contrast : set->young;
}

/* ==== EDIT HERE: functions of x ===============================================================

  They are called with what the options say of a group, and may change it, at places x [m]. A function that
  changes nothing is right for constant data. Several threads call them at once.
*/

/* E [Pa], nu, density [kg/m^3] of a cell with its centre at x */
static void MaterialAt(const char *group, const double x[3], void *arg, double *E, double *nu,
                       double *density)
{
  const Settings *set = arg;
  (void)nu;
  (void)density;
  (void)group;
  if (set->contrast != 1) *E = Young(set, x[2]);
}

/* u [m] of a node in a group of -support; FEM_FREE: this component is not held */
static void SupportAt(const char *group, const double x[3], void *arg, double u[3])
{
  (void)x;
  (void)group;
  (void)arg;
  (void)u;
}

/* The traction t [Pa] at a point of a group of -loads, from its traction, pressure and force. The pressure of
   water that stands up to z = 3, for -loads "wall: pressure = 9810":
     if (strcmp(group, "wall") == 0)
       for (int i = 0; i < 3; i++) t[i] *= x[2] < 3 ? 3 - x[2] : 0; */
static void LoadAt(const char *group, const double x[3], const double normal[3], void *arg, double t[3])
{
  (void)x;
  (void)normal;
  (void)group;
  (void)arg;
  (void)t;
}

/* The force f [N/m^3] at a point of a group of -body, from its force and gravity */
static void BodyAt(const char *group, const double x[3], double density, void *arg, double f[3])
{
  (void)group;
  (void)x;
  (void)density;
  (void)arg;
  (void)f;
}

/* ==== the end of functions of x ================================================================ */

/* ---- beam theory ----------------------------------------------------------------------------- */

/*
  The deflection under a force at the end. Bending: EI = integral of E z^2. Shear: equilibrium of a slice
  requires tau(z) = P S(z) / EI, where S(z) is the integral of E z' over the part of the height above z. It
  stores the energy tau^2 / (2 G) per volume. Integrals are midpoint sums over the height.
*/
static double BeamDeflection(const Settings *set)
{
  enum { SLICES = 4000 };
  const double h = set->height, L = set->length, dz = h / SLICES;
  double EI = 0, S = 0, shear = 0;
  for (int i = 0; i < SLICES; i++) {
    double z = (i + 0.5) * dz;
    EI += Young(set, z) * (z - h / 2) * (z - h / 2) * h * dz;
  }
  for (int i = SLICES - 1; i >= 0; i--) {
    double z = (i + 0.5) * dz, E = Young(set, z), G = E / (2 * (1 + set->poisson)),
           part = 0.5 * E * (z - h / 2) * dz;
    S += part;
    shear += S * S / (EI * EI) / G * h * dz;
    S += part;
  }
  return set->load * L * L * L / (3 * EI) + set->load * L * shear;
}

/* ---- the run --------------------------------------------------------------------------------- */

typedef struct LoadCase {
  PoiseVec load, b, x; /* b of the loads alone; A x = b */
  FemHistory history;
  int converged;
} LoadCase;

typedef struct Body {
  FemMesh mesh;
  FemPart part;
  FemElastic elastic;
  FemSystem system;
  FemRigid rigid;
  FemStresses stresses;
  FemBalance balance;
  PoiseKSP ksp;
  int cases;
  LoadCase *loads;    /* [cases], if there are several */
  FemHistory history; /* of the case that is looked at, as all below */
  int converged;
  PoiseVec load, by; /* b of the loads alone; which support holds each row */
  double *young, *u; /* [cells]; [nodes][dim] */
} Body;

static int IsFree(const Settings *set)
{
  return strcmp(set->support, "none") == 0 && set->mesh[0] == '\0';
}

/* Does the user say what acts? Then the answer is unknown. */
static int IsOwn(const Settings *set)
{
  return set->mesh[0] != '\0' || set->material[0] != '\0' || set->loads[0] != '\0' || set->body[0] != '\0' ||
         (set->support[0] != '\0' && !IsFree(set));
}

static PoiseErr MakeMesh(PoiseContext ctx, const Settings *set, FemMesh *mesh)
{
  const PoiseInt least = set->contrast != 1 ? 4 : 1,
                 own = kinds[set->cell].n; /* layers need a multiple of 4 */
  const PoiseInt n = set->n > 0 ? set->n : own > least ? own : least;
  FemBox box = {.cell = kinds[set->cell].cell, .n = {(PoiseInt)ceil(set->length / set->height) * n, n, n}};
  if (set->mesh[0] != '\0') {
    POISE_TRY(FemReadMesh(ctx, set->mesh, set->scale, mesh));
    if (mesh->dim == 2 && set->plane == FEM_SPACE)
      POISE_FAIL(POISE_ERR_OPTION,
                 "%s is a mesh in the plane: say of what it is a section, -plane strain, stress or "
                 "axisymmetric",
                 set->mesh);
    if (mesh->dim == 3 && set->plane != FEM_SPACE)
      POISE_FAIL(POISE_ERR_OPTION, "-plane is for meshes in the plane; %s is in space", set->mesh);
    return set->plane == FEM_AXISYMMETRIC ? FemMeshRevolve(mesh) : POISE_OK;
  }
  box.length[0] = set->length;
  box.length[1] = box.length[2] = set->height;
  return FemMeshBox(ctx, &box, mesh);
}

/* What acts, if the options do not say it. */
static PoiseErr ReadPart(Settings *set, Body *body)
{
  const FemPartFunctions at = {set, MaterialAt, SupportAt, LoadAt, BodyAt};
  const char *support = set->support, *where = set->mesh[0] != '\0' ? "load" : "right";
  const double stress = set->load / (set->height * set->height);
  char loads[POISE_OPTION_LENGTH];
  snprintf(loads, sizeof loads, "%s", set->loads);
  if (IsFree(set)) {
    support = "";
    snprintf(loads, sizeof loads, "left: traction = %.17g 0 0; right: traction = %.17g 0 0", -stress, stress);
  } else if (support[0] == '\0') {
    support = set->mesh[0] != '\0' ? "fixed" : "left";
  }
  if (!IsFree(set) && set->support[0] == '\0' && set->loads[0] == '\0' && set->body[0] == '\0')
    snprintf(loads, sizeof loads, "%s: force = 0 %s%.17g", where, body->mesh.dim == 3 ? "0 " : "",
             -set->load);
  const FemPartText text = {set->material, support, loads, set->body};
  return FemPartRead(&body->mesh, (FemSolid)set->plane, &text, &at, set->young, set->poisson, &body->part);
}

/* Cells that are too stiff for a material that hardly changes its volume. */
static PoiseErr WarnOfLocking(const Settings *set, const FemMesh *mesh, double poisson)
{
  const int tets = mesh->cell == FEM_TET4,
            triangles = mesh->cell == FEM_TRI3 && set->plane != FEM_PLANE_STRESS;
  if (poisson < FEM_LOCKING || (!tets && !triangles)) return POISE_OK;
  return PoisePrintf(mesh->ctx,
                     "warning        %s locks where nu >= %g (here up to %g): displacements are much too "
                     "small. Use %s (gmsh -order 2)\n",
                     FemCellInfoOf(mesh->cell)->name, FEM_LOCKING, poisson,
                     tets ? "tet10" : "tri6, or quad4");
}

static PoiseErr WarnOfHinges(const FemMesh *mesh)
{
  if (mesh->hinge[0] == '\0') return POISE_OK;
  return PoisePrintf(mesh->ctx, "warning        %s. It is a mechanism unless supports hold each part\n",
                     mesh->hinge);
}

/* Check that something acts on what is free: else all results are 0, and say nothing. */
static PoiseErr CheckActs(const Body *body, int number)
{
  const FemMesh *mesh = &body->mesh;
  char which[32] = "";
  const double *load, *by;
  double given, acts = 0;
  POISE_TRY(PoiseVecNorm(body->system.x, POISE_NORM_INF, &given));
  POISE_TRY(PoiseVecGetRead(body->load, &load));
  POISE_TRY(PoiseVecGetRead(body->by, &by));
  for (PoiseInt r = 0; r < mesh->dim * mesh->owned; r++)
    if (by[r] == 0 && load[r] != 0) acts = 1;
  POISE_TRY(PoiseVecRestore(body->load, &load));
  POISE_TRY(PoiseVecRestore(body->by, &by));
  POISE_TRY(PoiseMax(mesh->ctx, 1, &acts));
  if (acts != 0 || given > 0) return POISE_OK;
  if (body->cases > 1) snprintf(which, sizeof which, "load case %d: ", number + 1);
  POISE_FAIL(POISE_ERR_OPTION,
             "%snothing acts on what is free of the part: give -loads, -body, or displacements by -support",
             which);
}

static PoiseErr AddLoads(Body *body, int number)
{
  POISE_TRY(FemPartLoad(&body->part, number, &body->system));
  POISE_TRY(PoiseVecCopy(body->system.b, body->load));
  return CheckActs(body, number);
}

static void FreeCases(Body *body)
{
  for (int c = 0; body->loads != NULL && c < body->cases; c++) {
    PoiseVecDestroy(&body->loads[c].load);
    PoiseVecDestroy(&body->loads[c].b);
    PoiseVecDestroy(&body->loads[c].x);
    free(body->loads[c].history.norms);
  }
  free(body->loads);
}

/* b += the loads of free rows */
static PoiseErr AddFree(const Body *body, const LoadCase *c)
{
  const double *load, *by;
  double *b;
  POISE_TRY(PoiseVecGetRead(c->load, &load));
  POISE_TRY(PoiseVecGetRead(body->by, &by));
  POISE_TRY(PoiseVecGetUpdate(c->b, &b));
  for (PoiseInt r = 0; r < body->mesh.dim * body->mesh.owned; r++)
    if (by[r] == 0) b[r] += load[r];
  POISE_TRY(PoiseVecRestore(c->b, &b));
  POISE_TRY(PoiseVecRestore(body->by, &by));
  return PoiseVecRestore(c->load, &load);
}

/* A is made once; b is that of the supports and that of each case's loads. */
static PoiseErr AssembleCases(PoiseContext ctx, Body *body)
{
  FemSystem *system = &body->system;
  POISE_TRY(PoiseAgree(ctx, FemAlloc(body->cases, sizeof *body->loads, &body->loads)));
  for (int k = 0; k < body->cases; k++) {
    LoadCase *c = &body->loads[k];
    POISE_TRY(PoiseVecDuplicate(system->x, &c->x));
    POISE_TRY(PoiseVecDuplicate(system->x, &c->b));
    POISE_TRY(PoiseVecDuplicate(system->x, &c->load));
    POISE_TRY(PoiseVecSet(system->b, 0));
    POISE_TRY(AddLoads(body, k));
    POISE_TRY(PoiseVecCopy(body->load, c->load));
  }
  POISE_TRY(PoiseVecSet(system->b, 0));
  POISE_TRY(FemConstrain(system));
  for (int k = 0; k < body->cases; k++) {
    LoadCase *c = &body->loads[k];
    POISE_TRY(PoiseVecCopy(system->x, c->x));
    POISE_TRY(PoiseVecCopy(system->b, c->b));
    POISE_TRY(AddFree(body, c));
  }
  return POISE_OK;
}

static PoiseErr Assemble(PoiseContext ctx, const Settings *set, FemTimes *times, Body *body)
{
  FemSystem *system = &body->system;
  FemElastic *elastic = &body->elastic;
  const FemMesh *mesh = &body->mesh;
  const FemSolid kind = (FemSolid)set->plane;
  double poisson, mass;
  FemAssembly how;
  POISE_TRY(FemStageBegin(ctx, times, FEM_ASSEMBLY));
  PoiseErr err = FemAlloc(mesh->cells, sizeof *body->young, &body->young);
  if (err == POISE_OK) err = FemElasticCreate(mesh, kind, elastic);
  POISE_TRY(PoiseAgree(ctx, err));
  POISE_TRY(FemPartMaterial(&body->part, elastic, body->young, &poisson));
  POISE_TRY(FemPartMass(&body->part, &mass));
  POISE_TRY(FemPrintBody(mesh, " m", mass));
  POISE_TRY(WarnOfHinges(mesh));
  POISE_TRY(WarnOfLocking(set, mesh, poisson));
  POISE_TRY(FemChooseAssembly(mesh, mesh->dim, (FemAssembly)set->assembly, kind != FEM_AXISYMMETRIC, &how));
  POISE_TRY(FemSystemCreate(mesh, mesh->dim, how, system));
  POISE_TRY(FemRigidCreate(system, kind, &body->rigid));
  POISE_TRY(PoiseVecDuplicate(system->x, &body->by));
  POISE_TRY(PoiseVecDuplicate(system->x, &body->load));
  POISE_TRY(FemPartSupport(&body->part, system, body->by));
  if (!IsFree(set)) POISE_TRY(FemRigidHeld(system, &body->rigid, body->by));

  const FemOperator op = {.law = elastic->law};
  POISE_TRY(FemAssembleCells(system, FemElasticForm, elastic, &op));
  POISE_TRY(FemStageEnd(ctx, times, FEM_ASSEMBLY));
  POISE_TRY(FemStageBegin(ctx, times, FEM_CHECK));
  if (set->check) POISE_TRY(FemCheckAssembly(system, FemElasticForm, elastic));
  POISE_TRY(FemRigidCheck(system, &body->rigid));
  POISE_TRY(FemStageEnd(ctx, times, FEM_CHECK));
  POISE_TRY(PoiseMatSetNearNullSpace(system->A, 0, body->rigid.near, body->rigid.v));
  if (IsFree(set)) { /* nothing is prescribed: A has all its entries */
    POISE_TRY(FemMatTakeOptions(ctx, &system->A));
    POISE_TRY(PoiseMatSetNullSpace(system->A, 0, body->rigid.count, body->rigid.v));
  }

  POISE_TRY(FemStageBegin(ctx, times, FEM_ASSEMBLY));
  if (body->cases > 1) {
    POISE_TRY(AssembleCases(ctx, body));
  } else {
    POISE_TRY(AddLoads(body, 0));
    if (!IsFree(set)) POISE_TRY(FemConstrain(system));
  }
  return FemStageEnd(ctx, times, FEM_ASSEMBLY);
}

/* ---- results --------------------------------------------------------------------------------- */

static void FreeResults(Body *body)
{
  free(body->u);
  body->u = NULL;
  FemBalanceFree(&body->balance);
  FemStressesFree(&body->stresses);
}

static PoiseErr FindResults(PoiseContext ctx, FemTimes *times, Body *body)
{
  FreeResults(body);
  POISE_TRY(FemStageBegin(ctx, times, FEM_CHECK));
  POISE_TRY(FemGather(&body->mesh, body->mesh.dim, body->system.x, &body->u));
  POISE_TRY(FemStressesCreate(&body->elastic, body->u, &body->stresses));
  POISE_TRY(FemBalanceCreate(&body->part, &body->elastic, body->u, body->system.x, body->load, body->by,
                             &body->balance));
  return FemStageEnd(ctx, times, FEM_CHECK);
}

/* Of a slice, forces and energy are those of a metre. */
static const char *PerDepth(const Body *body)
{
  return body->part.kind == FEM_PLANE_STRAIN || body->part.kind == FEM_PLANE_STRESS ? "/m" : "";
}

static PoiseErr PrintForce(PoiseContext ctx, const Body *body, const char *what, const double force[3],
                           const char *where)
{
  POISE_TRY(PoisePrintf(ctx, "%-14s", what));
  for (int c = 0; c < body->mesh.dim; c++) POISE_TRY(PoisePrintf(ctx, " %14.6e", force[c]));
  return PoisePrintf(ctx, " N%s, %s\n", PerDepth(body), where);
}

static PoiseErr Print(PoiseContext ctx, const Body *body)
{
  const FemMesh *mesh = &body->mesh;
  double most[2] = {0}, largest;
  POISE_TRY(PoiseVecNorm(body->system.x, POISE_NORM_INF, &largest));
  for (PoiseInt e = 0; e < mesh->cells; e++) most[0] = fmax(most[0], body->stresses.cellMises[e]);
  for (PoiseInt i = 0; i < mesh->nodes; i++) most[1] = fmax(most[1], body->stresses.nodeMises[i]);
  POISE_TRY(PoiseMax(ctx, 2, most));
  POISE_TRY(PoisePrintf(ctx, "displacement   %.6e m, the largest component\n", largest));
  POISE_TRY(PoisePrintf(ctx, "von Mises      %.6e Pa, the largest mean of a cell; %.6e Pa at a node\n",
                        most[0], most[1]));
  POISE_TRY(PoisePrintf(ctx, "stress error   %.1f %%, estimated from the jumps between cells\n",
                        100 * body->stresses.jumps));
  POISE_TRY(PrintForce(ctx, body, "load", body->balance.load, "in all"));
  for (int s = 0; s < body->part.supports; s++)
    POISE_TRY(
        PrintForce(ctx, body, "reaction", body->balance.reaction[s], FemPartSupportName(&body->part, s)));
  return POISE_OK;
}

static PoiseErr Output(const char *name, Body *body)
{
  const FemMesh *mesh = &body->mesh;
  const FemStresses *s = &body->stresses;
  double *u = NULL;
  POISE_TRY(PoiseAgree(mesh->ctx, FemAlloc(3 * mesh->nodes, sizeof *u, &u)));
  for (PoiseInt k = 0; k < mesh->dim * mesh->nodes; k++) u[k / mesh->dim * 3 + k % mesh->dim] = body->u[k];
  const FemField fields[] = {{"displacement [m]", 3, 0, u},           {"von Mises [Pa]", 1, 0, s->nodeMises},
                             {"stress [Pa]", FEM_STRESS, 0, s->node}, {"von Mises [Pa]", 1, 1, s->cellMises},
                             {"stress [Pa]", FEM_STRESS, 1, s->cell}, {"Young [Pa]", 1, 1, body->young}};
  PoiseErr err = FemWriteMesh(mesh, name, sizeof fields / sizeof *fields, fields);
  free(u);
  POISE_TRY(err);
  return FemWriteHistory(body->ksp, &body->history, name);
}

/* ---- checks ---------------------------------------------------------------------------------- */

/* Check the deflection. The force does the work P times its mean displacement, which is (load, u). */
static PoiseErr JudgeDeflection(PoiseContext ctx, const Settings *set, const Body *body)
{
  double work, theory = BeamDeflection(set);
  POISE_TRY(PoiseVecDot(body->load, body->system.x, &work));
  double deflection = work / set->load, error = deflection / theory - 1;
  POISE_TRY(PoisePrintf(ctx, "deflection     %.6e m\nTimoshenko     %.6e m\ndifference     %+.2f %%\n",
                        deflection, theory, 100 * error));
  if (fabs(error) < 0.02) return POISE_OK;
  POISE_FAIL(POISE_ERR_NUMERIC,
             "the deflection is %.6e m, beam theory says %.6e m (is the mesh, -n, too coarse? Theory wants a "
             "-length of "
             "some ten heights, too, -poisson up to 0.4 and -contrast between 0.001 and 30)",
             deflection, theory);
}

/* u = stress / E (x, -nu y, -nu z) */
static void Stretched(const double x[3], void *arg, double *u)
{
  const Settings *set = arg;
  const double strain = set->load / (set->height * set->height) / set->young;
  u[0] = strain * x[0];
  u[1] = -set->poisson * strain * x[1];
  u[2] = -set->poisson * strain * x[2];
}

/* Check the stretch. The solver keeps u orthogonal to the rigid motions, so these are removed from the
   exact one first. */
static PoiseErr JudgeStretch(PoiseContext ctx, Settings *set, Body *body)
{
  PoiseVec exact = body->load; /* which has served */
  double norm, error;
  POISE_TRY(FemInterpolate(&body->mesh, 3, Stretched, set, exact));
  for (int k = 0; k < body->rigid.count; k++) {
    double dot;
    POISE_TRY(PoiseVecDot(body->rigid.v[k], exact, &dot));
    POISE_TRY(PoiseVecAXPY(exact, -dot, body->rigid.v[k]));
  }
  POISE_TRY(PoiseVecNorm(exact, POISE_NORM_2, &norm));
  POISE_TRY(PoiseVecAXPY(exact, -1, body->system.x));
  POISE_TRY(PoiseVecNorm(exact, POISE_NORM_2, &error));
  POISE_TRY(
      PoisePrintf(ctx, "error          %.1e  |u_h - u| / |u| of a bar that is stretched\n", error / norm));
  if (error < 1e-6 * norm) return POISE_OK;
  POISE_FAIL(POISE_ERR_NUMERIC,
             "displacements are off by %.1e of their norm, more than the solver's tolerance allows",
             error / norm);
}

/* How far forces and energy are from a balance, relative to their sizes. */
static double Open(const Body *body)
{
  const double work = body->balance.work, power = body->stresses.power;
  return fmax(body->balance.off, power == work ? 0 : fabs(power - work) / fmax(fabs(power), fabs(work)));
}

/* Check forces and energy of a part: what the solver left open is a warning, what nothing explains an
   error. */
static PoiseErr JudgeBalance(PoiseContext ctx, const Body *body)
{
  const double work = body->balance.work, power = body->stresses.power, forces = body->balance.forces;
  double explained[2];
  POISE_TRY(PoisePrintf(ctx, "balance        %.1e  load and reactions, over the sum of all forces at nodes\n",
                        body->balance.off));
  POISE_TRY(PoisePrintf(ctx,
                        "energy         %.6e J%s in the stresses; off by %.1e from the work of the forces\n",
                        power / 2, PerDepth(body), power / work - 1));
  POISE_TRY(FemBalanceExplained(&body->system, &explained[0], &explained[1]));
  if (!(body->balance.off * forces <= balanced * forces + explained[0]))
    POISE_FAIL(POISE_ERR_NUMERIC,
               "load and reactions do not balance: their sum is %.1e of the forces at nodes, %g N where the "
               "residual of A x = b explains %g N",
               body->balance.off, body->balance.off * forces, explained[0]);
  if (!(fabs(power - work) <= balanced * fabs(work) + explained[1]))
    POISE_FAIL(
        POISE_ERR_NUMERIC,
        "the forces work %.9e J, the stresses store %.9e J: more apart than the %g J that the residual "
        "of A x = b explains",
        work / 2, power / 2, explained[1]);
  if (Open(body) <= balanced) return POISE_OK;
  return PoisePrintf(ctx, "warning        the solve leaves %.1e of the balance open: lower -ksp_rtol\n",
                     Open(body));
}

/* Is the mesh too coarse for stresses? */
static PoiseErr WarnOfJumps(PoiseContext ctx, const Body *body)
{
  if (body->stresses.jumps < 0.2) return POISE_OK;
  return PoisePrintf(ctx, "warning        the mesh is too coarse for its stresses: make it finer%s\n",
                     FemOrder(body->mesh.cell) == 1 ? ", or quadratic (gmsh -order 2)" : "");
}

static PoiseErr Judge(PoiseContext ctx, Settings *set, Body *body)
{
  if (IsFree(set)) return JudgeStretch(ctx, set, body);
  return IsOwn(set) ? JudgeBalance(ctx, body) : JudgeDeflection(ctx, set, body);
}

/* Options that would have no effect. */
static PoiseErr CheckBeside(PoiseContext ctx)
{
  static const char *const pairs[][2] = {{"load", "loads"}, {"young", "material"}, {"poisson", "material"}};
  for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
    if (PoiseOptionsHas(ctx, NULL, pairs[k][0], NULL) && PoiseOptionsHas(ctx, NULL, pairs[k][1], NULL))
      POISE_FAIL(POISE_ERR_OPTION, "-%s has no effect beside -%s: leave out one of them", pairs[k][0],
                 pairs[k][1]);
  }
  return POISE_OK;
}

/* If the answer is known, options must not change the problem. */
static PoiseErr CheckSettings(const Settings *set)
{
  const int layers = set->contrast != 1;
  if (IsFree(set) && (IsOwn(set) || layers)) {
    POISE_FAIL(POISE_ERR_OPTION,
               "-support none is compared with the answer for a bar of one material that is pulled: "
               "without -contrast, -material, -loads, -body");
  }
  if (layers && (set->mesh[0] != '\0' || set->material[0] != '\0'))
    POISE_FAIL(POISE_ERR_OPTION,
               "-contrast makes layers of the beam: give the material of each group of cells by "
               "-material, without -contrast");
  if (set->plane != FEM_SPACE && set->mesh[0] == '\0')
    POISE_FAIL(POISE_ERR_OPTION, "-plane is for meshes in the plane, -mesh: the beam is in space");
  if (set->plane == FEM_AXISYMMETRIC && (set->assembly == FEM_DEVICE || set->assembly == FEM_BLOCKS))
    POISE_FAIL(POISE_ERR_OPTION, "-plane axisymmetric is assembled by -assembly elements or coo");
  if (set->mesh[0] == '\0' && set->length > 1e6 * set->height)
    POISE_FAIL(POISE_ERR_OPTION, "-length is more than a million times -height");
  if (layers && set->n % 4 != 0) {
    POISE_FAIL(POISE_ERR_OPTION,
               "-n %" PRId64 ": layers (-contrast) need a multiple of 4 bricks through the height", set->n);
  }
  return POISE_OK;
}

/*
  Solve on with the program's own tolerance until forces and energy balance. A norm may call a residual small
  that sums up to a force: where the part is stiff, a large force moves it little.
*/
static PoiseErr SolveOn(PoiseContext ctx, FemTimes *times, Body *body)
{
  const double unknowns = times->unknowns; /* it is the same system */
  double rtol = tolerance;
  PoiseInt more = 0;
  if (PoiseOptionsHas(ctx, NULL, "ksp_rtol", NULL)) return POISE_OK;
  for (int k = 1; k < MOST_SOLVES && Open(body) > balanced && body->converged; k++) {
    rtol *= fmax(0.1 * balanced / Open(body), 1e-3);
    POISE_TRY(PoiseKSPSetTolerances(body->ksp, rtol, -1, -1, -1));
    POISE_TRY(PoiseKSPSetErrorIfNotConverged(body->ksp, 0));
    POISE_TRY(FemSolve(&body->system, body->ksp, times));
    POISE_TRY(FemKeepHistory(body->ksp, &body->history));
    body->converged = PoiseKSPConvergedReason(body->ksp) > 0;
    POISE_TRY(FindResults(ctx, times, body));
    more += PoiseKSPIterations(body->ksp);
  }
  times->unknowns = unknowns;
  return more == 0 ? POISE_OK
                   : PoisePrintf(ctx, "solved on      %" PRId64 "  iterations more, for the balance\n", more);
}

/* ---- the solve, and what becomes of it --------------------------------------------------------- */

static PoiseErr PrintIterations(PoiseContext ctx, PoiseInt iterations, PoiseKSPReason reason)
{
  return PoisePrintf(ctx, "iterations     %" PRId64 "  %s\n", iterations, PoiseKSPReasonString(reason));
}

/* Results, files and checks of one load case. */
static PoiseErr Conclude(PoiseContext ctx, Settings *set, FemTimes *times, Body *body, const char *output)
{
  if (IsOwn(set) || output[0] != '\0') POISE_TRY(FindResults(ctx, times, body));
  if (IsOwn(set)) POISE_TRY(SolveOn(ctx, times, body));
  if (output[0] != '\0') {
    POISE_TRY(FemStageBegin(ctx, times, FEM_OUTPUT));
    POISE_TRY(Output(output, body));
    POISE_TRY(FemStageEnd(ctx, times, FEM_OUTPUT));
  }
  POISE_TRY(FemStageBegin(ctx, times, FEM_CHECK));
  if (IsOwn(set)) {
    POISE_TRY(Print(ctx, body));
    POISE_TRY(WarnOfJumps(ctx, body));
  }
  POISE_TRY(Judge(ctx, set, body));
  return FemStageEnd(ctx, times, FEM_CHECK);
}

static PoiseErr SolveOne(PoiseContext ctx, Settings *set, FemTimes *times, Body *body)
{
  POISE_TRY(FemSolve(&body->system, body->ksp, times));
  POISE_TRY(FemKeepHistory(body->ksp, &body->history));
  body->converged = PoiseKSPConvergedReason(body->ksp) > 0;
  POISE_TRY(PrintIterations(ctx, PoiseKSPIterations(body->ksp), PoiseKSPConvergedReason(body->ksp)));
  return Conclude(ctx, set, times, body, set->output);
}

/* Solve `count` cases at once, in the columns of B and X. */
static PoiseErr SolveColumns(PoiseContext ctx, FemTimes *times, Body *body, LoadCase *first, int count,
                             PoiseVec B, PoiseVec X)
{
  for (int j = 0; j < count; j++) {
    POISE_TRY(PoiseVecSetColumn(B, j, first[j].b));
    POISE_TRY(PoiseVecSetColumn(X, j, first[j].x));
  }
  POISE_TRY(FemSolveColumns(&body->system, body->ksp, B, X, times));
  for (int j = 0; j < count; j++) {
    const PoiseKSPReason reason = PoiseKSPColumnReason(body->ksp, j);
    POISE_TRY(PoiseVecGetColumn(X, j, first[j].x));
    POISE_TRY(FemKeepColumnHistory(body->ksp, j, &first[j].history));
    first[j].converged = reason > 0;
    POISE_TRY(PoisePrintf(ctx, "load case %-3d  ", (int)(first + j - body->loads) + 1));
    POISE_TRY(PrintIterations(ctx, PoiseKSPColumnIterations(body->ksp, j), reason));
  }
  return POISE_OK;
}

static PoiseErr SolveGroup(PoiseContext ctx, FemTimes *times, Body *body, int first, int count)
{
  PoiseVec B = NULL, X = NULL;
  const PoiseInt n = PoiseVecLocalSize(body->system.x), N = PoiseVecSize(body->system.x);
  PoiseErr err = PoiseVecCreateBlock(ctx, n, N, count, &B);
  if (err == POISE_OK) err = PoiseVecCreateBlock(ctx, n, N, count, &X);
  if (err == POISE_OK) err = SolveColumns(ctx, times, body, body->loads + first, count, B, X);
  PoiseVecDestroy(&X);
  PoiseVecDestroy(&B);
  return err;
}

enum { NAME = POISE_OPTION_LENGTH + 16 };

/* Of the files of a case; "": none. */
static void OutputOf(const Settings *set, int number, char name[NAME])
{
  name[0] = '\0';
  if (set->output[0] != '\0') snprintf(name, NAME, "%s_case%d", set->output, number + 1);
}

static PoiseErr TryOutputs(PoiseContext ctx, const Settings *set, int cases)
{
  char output[NAME];
  for (int c = 0; c < cases; c++) {
    OutputOf(set, c, output);
    POISE_TRY(FemTryOutput(ctx, output));
  }
  return POISE_OK;
}

static PoiseErr ConcludeCase(PoiseContext ctx, Settings *set, FemTimes *times, Body *body, int number)
{
  LoadCase *c = &body->loads[number];
  char output[NAME];
  OutputOf(set, number, output);
  POISE_TRY(PoiseVecCopy(c->load, body->load));
  POISE_TRY(PoiseVecCopy(c->b, body->system.b));
  POISE_TRY(PoiseVecCopy(c->x, body->system.x));
  free(body->history.norms);
  body->history = c->history, body->converged = c->converged;
  c->history = (FemHistory){0, NULL};
  POISE_TRY(PoisePrintf(ctx, "\nload case %d\n", number + 1));
  return Conclude(ctx, set, times, body, output);
}

static PoiseErr SolveCases(PoiseContext ctx, Settings *set, FemTimes *times, Body *body)
{
  for (int first = 0; first < body->cases; first += COLUMNS) {
    const int count = body->cases - first < COLUMNS ? body->cases - first : COLUMNS;
    POISE_TRY(SolveGroup(ctx, times, body, first, count));
  }
  for (int c = 0; c < body->cases; c++) POISE_TRY(ConcludeCase(ctx, set, times, body, c));
  return POISE_OK;
}

static PoiseErr Bend(PoiseContext ctx, Settings *set, FemTimes *times, Body *body)
{
  POISE_TRY(CheckBeside(ctx));
  POISE_TRY(CheckSettings(set));
  POISE_TRY(FemStageBegin(ctx, times, FEM_MESH));
  POISE_TRY(MakeMesh(ctx, set, &body->mesh));
  POISE_TRY(FemStageEnd(ctx, times, FEM_MESH));
  POISE_TRY(PoisePrintf(ctx, "mesh           %" PRId64 " cells (%s), %" PRId64 " unknowns\n",
                        body->mesh.allCells, FemCellInfoOf(body->mesh.cell)->name,
                        body->mesh.dim * body->mesh.allNodes));
  POISE_TRY(ReadPart(set, body));
  body->cases = FemPartCases(&body->part);
  if (body->cases > 1) POISE_TRY(TryOutputs(ctx, set, body->cases));
  POISE_TRY(Assemble(ctx, set, times, body));
  POISE_TRY(FemSolverCreate(&body->system, "cg", "amg", tolerance, times, &body->ksp));
  POISE_TRY(body->cases > 1 ? SolveCases(ctx, set, times, body) : SolveOne(ctx, set, times, body));
  return FemPrintTimes(ctx, times);
}

static PoiseErr Run(PoiseContext ctx, void *arg)
{
  Settings set;
  FemTimes times = {{0}, 0, 0, 0};
  Body body = {.ksp = NULL};
  (void)arg;
  POISE_TRY(PoiseOptionsDefaults(options, &set));
  POISE_TRY(PoiseOptionsRead(ctx, NULL, options, &set));
  POISE_TRY(FemCheckMesh(ctx, (const char *const[]){"cell", "n", "length", "height", NULL}));
  POISE_TRY(FemTryOutput(ctx, set.output));
  PoiseErr err = Bend(ctx, &set, &times, &body);
  FreeResults(&body);
  free(body.young);
  FreeCases(&body);
  free(body.history.norms);
  PoiseKSPDestroy(&body.ksp);
  PoiseVecDestroy(&body.load);
  PoiseVecDestroy(&body.by);
  FemRigidFree(&body.rigid);
  FemSystemFree(&body.system);
  FemElasticFree(&body.elastic);
  FemPartFree(&body.part);
  FemMeshFree(&body.mesh);
  return err;
}

int main(int argc, char **argv)
{
  return FemMain(argc, argv,
                 "Linear elasticity by finite elements, checked against beam theory and balances.", options,
                 Run);
}

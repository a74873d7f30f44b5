/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Linear elasticity in 3D: -div(sigma) = 0, sigma = lambda div(u) I + mu (grad u + grad u^T), three unknowns
  per node.
    elasticity
        a steel cantilever; its deflection is compared with beam theory
    mpirun -n 4 elasticity -n 8 -contrast 10 -output beam
        a sandwich with a soft core; beam.pvtu and beam.csv
    elasticity -mesh part.msh -toward front -output part
        a part meshed by Gmsh, held at "fixed", loaded at "load"
    elasticity -cell hex8 -n 64 -assembly blocks
        blocks of 3 x 3 from the cells, on the device if there is one

  A beam along x, of square section, is clamped on the left and pulled down on the right. The example shows
  blocks of 3, a material that varies in space, the six rigid motions, and stresses from displacements.
  -pc_type pbjacobi inverts one 3 x 3 block per node. The program checks three things:
  - Before anything is clamped, the matrix gives zero for each rigid motion, to rounding.
  - The deflection is within 2 % of Timoshenko's beam: P L^3 / (3 EI) for bending and P L / K for shear. EI is
    the sum over the layers. K follows from the energy of the shear stresses that equilibrium requires (5/6 G
    A for one material). Beam theory ignores how the section deforms at the clamp, which is most of the
    difference on fine meshes.
  - For a part with unknown deflection: the work of the load is twice the energy that the stresses store.

  With -support none nothing is clamped, and both ends are pulled. The rigid motions are attached as the null
  space of the matrix. The exact answer is u = stress / E (x, -nu y, -nu z) plus a rigid motion. Any mesh must
  give it, to the solver's tolerance.
*/
#include "fem/gmsh.h"
#include "fem/program.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { RIGID = 6 };

typedef enum Support { CLAMP, FREE } Support;

typedef struct Settings {
  PoiseInt n;
  int cell, assembly, check, support, toward;
  double length, height, young, poisson, load, contrast;
  char mesh[POISE_OPTION_LENGTH], fixed[POISE_OPTION_LENGTH], loaded[POISE_OPTION_LENGTH],
      soft[POISE_OPTION_LENGTH];
  char output[POISE_OPTION_LENGTH];
} Settings;

static const FemCell kinds[] = {FEM_TET4, FEM_TET10, FEM_HEX8};

static const PoiseOption options[] = {
    {"cell", POISE_OPTION_CHOICE, offsetof(Settings, cell), "tet10", 0, 0, "tet4|tet10|hex8",
     "kind of cells"},
    {"n", POISE_OPTION_INT, offsetof(Settings, n), "2", 1, 2000, NULL,
     "bricks through the height; a multiple of 4 with layers"},
    {"length", POISE_OPTION_REAL, offsetof(Settings, length), "1", 1e-9, 1e9, NULL,
     "of the beam, m; beam theory wants some ten heights"},
    {"height", POISE_OPTION_REAL, offsetof(Settings, height), "0.1", 1e-9, 1e9, NULL,
     "and width of the beam, m"},
    {"young", POISE_OPTION_REAL, offsetof(Settings, young), "2.1e11", 1e-30, 1e30, NULL,
     "Young's modulus, Pa"},
    {"poisson", POISE_OPTION_REAL, offsetof(Settings, poisson), "0.3", 0, 0.499, NULL, "Poisson's ratio"},
    {"load", POISE_OPTION_REAL, offsetof(Settings, load), "1000", 1e-30, 1e30, NULL,
     "force on the loaded facets, N"},
    {"toward", POISE_OPTION_CHOICE, offsetof(Settings, toward), "bottom", 0, 0,
     "left|right|front|back|bottom|top", "direction of the load: -x, x, -y, y, -z, z"},
    {"contrast", POISE_OPTION_REAL, offsetof(Settings, contrast), "1", 1e-6, 1e6, NULL,
     "the middle half of the height, or -soft, is softer by this factor"},
    {"mesh", POISE_OPTION_STRING, offsetof(Settings, mesh), "", 0, 0, NULL,
     "a .msh file of Gmsh, in metres, instead of the beam"},
    {"fixed", POISE_OPTION_STRING, offsetof(Settings, fixed), "", 0, 0, NULL,
     "group of facets that is clamped; else left, of a file fixed"},
    {"loaded", POISE_OPTION_STRING, offsetof(Settings, loaded), "", 0, 0, NULL,
     "group of facets with the load; else right, of a file load"},
    {"soft", POISE_OPTION_STRING, offsetof(Settings, soft), "", 0, 0, NULL,
     "group of cells of a softer material"},
    {"support", POISE_OPTION_CHOICE, offsetof(Settings, support), "clamp", 0, 0, "clamp|none",
     "clamp the left end, or pull at both ends of a free beam"},
    {"assembly", POISE_OPTION_CHOICE, offsetof(Settings, assembly), "elements", 0, 0, FEM_WAYS "|blocks",
     "how the matrix is assembled"},
    {"check_assembly", POISE_OPTION_BOOL, offsetof(Settings, check), "no", 0, 0, NULL,
     "compare with the other way"},
    {"output", POISE_OPTION_STRING, offsetof(Settings, output), "", 0, 0, NULL,
     "write displacements and stresses to <name>.vtu, residual norms to .csv"},
    {0}};

/* ---- the material, the load ------------------------------------------------------------------ */

/* Young's modulus of a beam in layers. */
static double Young(const Settings *set, double z)
{
  return fabs(z / set->height - 0.5) < 0.25 ? set->young / set->contrast : set->young;
}

/* Set Young's modulus of each cell, and lambda and mu, which follow from it. */
static PoiseErr SetMaterial(const Settings *set, const FemMesh *mesh, double *young, double *lame)
{
  const int nodes = FemCellInfoOf(mesh->cell)->nodes, corners = FemCellInfoOf(mesh->cell)->corners;
  const double nu = set->poisson;
  int soft = 0;
  if (set->soft[0] != '\0') POISE_TRY(FemMeshGroup(mesh, 3, set->soft, &soft));
  for (PoiseInt e = 0; e < mesh->cells; e++) {
    double z = 0, E = set->young;
    for (int k = 0; k < corners; k++) z += mesh->x[3 * mesh->cellNodes[e * nodes + k] + 2] / corners;
    if (set->soft[0] != '\0')
      E = FemCellIn(mesh, e, soft) ? set->young / set->contrast : set->young;
    else if (set->mesh[0] == '\0')
      E = Young(set, z);
    young[e] = E;
    lame[2 * e] = E * nu / ((1 + nu) * (1 - 2 * nu));
    lame[2 * e + 1] = E / (2 * (1 + nu));
  }
  return POISE_OK;
}

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

/* K_(a i)(b j) = lambda d_i N_a d_j N_b + mu (d_j N_a d_i N_b + delta_ij grad N_a . grad N_b); arg: lambda
   and mu of each cell */
static void Stiffness(const FemPoint *p, void *arg, double *K, double *F)
{
  const int n = 3 * p->nodes;
  const double *lame = (const double *)arg + 2 * p->element, lambda = lame[0] * p->dV, mu = lame[1] * p->dV;
  (void)F;
  for (int a = 0; a < p->nodes; a++) {
    for (int b = 0; b < p->nodes; b++) {
      const double *g = p->grad[a], *h = p->grad[b], dot = mu * (g[0] * h[0] + g[1] * h[1] + g[2] * h[2]);
      for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
          K[(3 * a + i) * n + 3 * b + j] += lambda * g[i] * h[j] + mu * g[j] * h[i] + (i == j ? dot : 0);
        }
      }
    }
  }
}

/* F_(a i) = (t_i, N_a), a force per area */
static void Traction(const FemPoint *p, void *arg, double *K, double *F)
{
  const double *t = arg;
  (void)K;
  for (int a = 0; a < p->nodes; a++) {
    for (int i = 0; i < 3; i++) F[3 * a + i] += p->dV * t[i] * p->N[a];
  }
}

static void Clamped(const double x[3], void *arg, double *value)
{
  (void)x;
  (void)arg;
  value[0] = value[1] = value[2] = 0;
}

/* ---- rigid motions --------------------------------------------------------------------------- */

/* Motion k: translations along x, y, z, rotations about them, through the origin. */
static void RigidMotion(const double x[3], void *arg, double *u)
{
  const int k = *(const int *)arg, i = k % 3, j = (i + 1) % 3, l = (i + 2) % 3;
  u[0] = u[1] = u[2] = 0;
  if (k < 3) {
    u[i] = 1;
  } else {
    u[j] = -x[l];
    u[l] = x[j];
  }
}

/* Orthonormal rigid motions, by Gram-Schmidt applied twice. */
static PoiseErr RigidMotions(const FemSystem *system, PoiseVec v[RIGID])
{
  for (int k = 0; k < RIGID; k++) {
    double norm;
    POISE_TRY(PoiseVecDuplicate(system->x, &v[k]));
    POISE_TRY(FemInterpolate(system->mesh, 3, RigidMotion, &k, v[k]));
    for (int m = 0; m < 2 * k; m++) {
      double dot;
      POISE_TRY(PoiseVecDot(v[m % k], v[k], &dot));
      POISE_TRY(PoiseVecAXPY(v[k], -dot, v[m % k]));
    }
    POISE_TRY(PoiseVecNorm(v[k], POISE_NORM_2, &norm));
    POISE_TRY(PoiseVecScale(v[k], 1 / norm));
  }
  return POISE_OK;
}

/* Check max |A v_k| / |A|, which is 0 up to rounding while nothing is clamped. */
static PoiseErr CheckRigidMotions(const FemSystem *system, const PoiseVec v[RIGID], PoiseVec work)
{
  double norm, most = 0;
  POISE_TRY(PoiseMatNorm(system->A, POISE_NORM_INF, &norm));
  for (int k = 0; k < RIGID; k++) {
    double Av;
    POISE_TRY(PoiseMatMult(system->A, v[k], work));
    POISE_TRY(PoiseVecNorm(work, POISE_NORM_2, &Av));
    if (!(Av / norm <= most)) most = Av / norm;
  }
  POISE_TRY(PoisePrintf(system->mesh->ctx, "rigid motions  %.1e  largest |A v| / |A|\n", most));
  if (most < 1e-13) return POISE_OK;
  POISE_FAIL(POISE_ERR_NUMERIC, "a rigid motion is not in the kernel of the matrix: |A v| is %.1e |A|", most);
}

/* ---- the run --------------------------------------------------------------------------------- */

typedef struct Body {
  FemMesh mesh;
  FemSystem system;
  PoiseKSP ksp;
  PoiseVec rigid[RIGID], work;
  double *young, *lame, *u, *mises, *volume; /* u at nodes; the others at cells */
} Body;

static PoiseErr MakeMesh(PoiseContext ctx, const Settings *set, FemMesh *mesh)
{
  FemBox box = {.cell = kinds[set->cell],
                .n = {(PoiseInt)ceil(set->length / set->height) * set->n, set->n, set->n}};
  if (set->mesh[0] != '\0') {
    POISE_TRY(FemMeshGmsh(ctx, set->mesh, mesh));
    if (mesh->dim != 3)
      POISE_FAIL(POISE_ERR_ARG, "%s is a mesh in the plane; displacements here are in space", set->mesh);
    return POISE_OK;
  }
  box.length[0] = set->length;
  box.length[1] = box.length[2] = set->height;
  return FemMeshBox(ctx, &box, mesh);
}

/* Make b of the load, which is spread over the loaded facets. The b of a traction of 1 sums up to their
   area. */
static PoiseErr Load(const Settings *set, FemSystem *system, int group)
{
  double t[3] = {0}, area;
  t[set->toward / 2] = set->toward % 2 ? 1 : -1;
  POISE_TRY(FemAssembleFacets(system, group, Traction, t));
  POISE_TRY(PoiseVecSumEntries(system->b, &area));
  return PoiseVecScale(system->b, set->load / fabs(area));
}

static PoiseErr Hold(const Settings *set, FemSystem *system)
{
  const char *fixed = set->fixed, *loaded = set->loaded;
  const double t = set->load / (set->height * set->height);
  double right[3] = {t, 0, 0}, left[3] = {-t, 0, 0};
  int fixedGroup, loadedGroup;
  if (fixed[0] == '\0') fixed = set->mesh[0] != '\0' ? "fixed" : "left";
  if (loaded[0] == '\0') loaded = set->mesh[0] != '\0' ? "load" : "right";
  POISE_TRY(FemMeshGroup(system->mesh, 2, fixed, &fixedGroup));
  POISE_TRY(FemMeshGroup(system->mesh, 2, loaded, &loadedGroup));
  if (fixedGroup == loadedGroup) POISE_FAIL(POISE_ERR_OPTION, "-fixed and -loaded are both '%s'", loaded);
  if (set->support == FREE) {
    POISE_TRY(FemAssembleFacets(system, fixedGroup, Traction, left));
    return FemAssembleFacets(system, loadedGroup, Traction, right);
  }
  POISE_TRY(Load(set, system, loadedGroup));
  POISE_TRY(FemFix(system, fixedGroup, Clamped, NULL));
  return FemConstrain(system);
}

static PoiseErr Assemble(PoiseContext ctx, const Settings *set, FemTimes *times, Body *body)
{
  FemSystem *system = &body->system;
  const FemMesh *mesh = &body->mesh;
  POISE_TRY(FemStageBegin(ctx, times, FEM_ASSEMBLY));
  PoiseErr err = FemAlloc(mesh->cells, sizeof *body->young, &body->young);
  if (err == POISE_OK) err = FemAlloc(2 * mesh->cells, sizeof *body->lame, &body->lame);
  if (err == POISE_OK) err = SetMaterial(set, mesh, body->young, body->lame);
  POISE_TRY(PoiseAgree(ctx, err));
  const FemOperator elastic = {.lame = body->lame};
  POISE_TRY(FemSystemCreate(mesh, 3, (FemAssembly)set->assembly, system));
  POISE_TRY(FemAssembleCells(system, Stiffness, body->lame, &elastic));
  POISE_TRY(FemStageEnd(ctx, times, FEM_ASSEMBLY));
  if (set->check) POISE_TRY(FemCheckAssembly(system, Stiffness, body->lame));

  POISE_TRY(RigidMotions(system, body->rigid));
  POISE_TRY(PoiseVecDuplicate(system->x, &body->work));
  POISE_TRY(CheckRigidMotions(system, body->rigid, body->work));
  POISE_TRY(PoiseMatSetNearNullSpace(system->A, 0, RIGID, body->rigid));
  if (set->support == FREE) POISE_TRY(PoiseMatSetNullSpace(system->A, 0, RIGID, body->rigid));

  POISE_TRY(FemStageBegin(ctx, times, FEM_ASSEMBLY));
  POISE_TRY(Hold(set, system));
  return FemStageEnd(ctx, times, FEM_ASSEMBLY);
}

/* Check the deflection. The force does the work P times its mean displacement, which is (b, u). */
static PoiseErr JudgeDeflection(PoiseContext ctx, const Settings *set, const FemSystem *system)
{
  double work, theory = BeamDeflection(set);
  POISE_TRY(PoiseVecDot(system->b, system->x, &work));
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
  double norm, error;
  POISE_TRY(FemInterpolate(&body->mesh, 3, Stretched, set, body->work));
  for (int k = 0; k < RIGID; k++) {
    double dot;
    POISE_TRY(PoiseVecDot(body->rigid[k], body->work, &dot));
    POISE_TRY(PoiseVecAXPY(body->work, -dot, body->rigid[k]));
  }
  POISE_TRY(PoiseVecNorm(body->work, POISE_NORM_2, &norm));
  POISE_TRY(PoiseVecAXPY(body->work, -1, body->system.x));
  POISE_TRY(PoiseVecNorm(body->work, POISE_NORM_2, &error));
  POISE_TRY(
      PoisePrintf(ctx, "error          %.1e  |u_h - u| / |u| of a bar that is stretched\n", error / norm));
  if (error < 1e-6 * norm) return POISE_OK;
  POISE_FAIL(POISE_ERR_NUMERIC,
             "displacements are off by %.1e of their norm, more than the solver's tolerance allows",
             error / norm);
}

typedef struct Stresses {
  const double *lame, *u;
  double *mises, *volume; /* integrals over the cells */
} Stresses;

/* From the displacements at this rank's nodes: von Mises' stress, sqrt(3/2 s:s) with s the deviator of
   sigma. sums: sigma : grad u. */
static void Stress(const FemPoint *p, void *arg, double *sums)
{
  const Stresses *out = arg;
  const double lambda = out->lame[2 * p->element], mu = out->lame[2 * p->element + 1];
  double d[3][3] = {{0}}, square = 0, product = 0;
  for (int a = 0; a < p->nodes; a++) {
    for (int i = 0; i < 3; i++) {
      for (int j = 0; j < 3; j++) d[i][j] += out->u[3 * p->node[a] + i] * p->grad[a][j];
    }
  }
  double trace = d[0][0] + d[1][1] + d[2][2];
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j < 3; j++) {
      double sigma = mu * (d[i][j] + d[j][i]) + (i == j ? lambda * trace : 0);
      double s = sigma - (i == j ? (lambda + 2 * mu / 3) * trace : 0);
      square += s * s;
      product += sigma * d[i][j];
    }
  }
  sums[0] += p->dV * product;
  out->mises[p->element] += p->dV * sqrt(1.5 * square);
  out->volume[p->element] += p->dV;
}

/* Displacements at this rank's nodes, and stress as its mean over each cell. *energy: twice the energy of
   the stresses. */
static PoiseErr FindStresses(Body *body, double *energy)
{
  const FemMesh *mesh = &body->mesh;
  PoiseErr err = FemAlloc(mesh->cells, sizeof *body->mises, &body->mises);
  if (err == POISE_OK) err = FemAlloc(mesh->cells, sizeof *body->volume, &body->volume);
  POISE_TRY(PoiseAgree(mesh->ctx, err));
  POISE_TRY(FemGather(mesh, 3, body->system.x, &body->u));
  Stresses stresses = {body->lame, body->u, body->mises, body->volume};
  POISE_TRY(FemIntegrate(mesh, Stress, &stresses, 1, energy));
  for (PoiseInt e = 0; e < mesh->cells; e++) body->mises[e] /= body->volume[e];
  return POISE_OK;
}

/* (b, u) is the work of the load if it acts at full strength from the start. */
static PoiseErr JudgeEnergy(PoiseContext ctx, Body *body)
{
  double work, energy, largest, mises = 0;
  POISE_TRY(FindStresses(body, &energy));
  POISE_TRY(PoiseVecDot(body->system.b, body->system.x, &work));
  POISE_TRY(PoiseVecNorm(body->system.x, POISE_NORM_INF, &largest));
  for (PoiseInt e = 0; e < body->mesh.cells; e++) mises = fmax(mises, body->mises[e]);
  POISE_TRY(PoiseMax(ctx, 1, &mises));
  POISE_TRY(PoisePrintf(
      ctx,
      "displacement   %.6e m, the largest component\nvon Mises      %.6e Pa, the largest mean of a cell\n",
      largest, mises));
  POISE_TRY(PoisePrintf(ctx, "energy         %.6e J = (load, u); off by %.1e from (stress, grad u)\n", work,
                        energy / work - 1));
  if (fabs(energy / work - 1) < 1e-6) return POISE_OK;
  POISE_FAIL(POISE_ERR_NUMERIC, "the load works %.9e J, the stresses store %.9e J", work, energy);
}

static PoiseErr Output(const Settings *set, Body *body)
{
  double energy;
  if (body->u == NULL) POISE_TRY(FindStresses(body, &energy));
  const FemField fields[] = {
      {"displacement", 3, 0, body->u}, {"von Mises", 1, 1, body->mises}, {"Young", 1, 1, body->young}};
  POISE_TRY(FemWriteMesh(&body->mesh, set->output, 3, fields));
  return FemWriteHistory(body->ksp, set->output);
}

static PoiseErr Judge(PoiseContext ctx, Settings *set, Body *body)
{
  if (set->support == FREE) return JudgeStretch(ctx, set, body);
  return set->mesh[0] != '\0' ? JudgeEnergy(ctx, body) : JudgeDeflection(ctx, set, &body->system);
}

/* If the answer is known, options must not change the problem. */
static PoiseErr CheckSettings(const Settings *set)
{
  const int part = set->mesh[0] != '\0', layers = set->contrast != 1 && set->soft[0] == '\0';
  if (set->support == FREE && (part || set->contrast != 1)) {
    POISE_FAIL(
        POISE_ERR_OPTION,
        "-support none is compared with the answer for a bar of one material: without -contrast, -mesh");
  }
  if (part && layers)
    POISE_FAIL(POISE_ERR_OPTION, "-contrast: name the group of cells of the mesh that is softer, -soft");
  if (!part && (set->fixed[0] != '\0' || set->loaded[0] != '\0' || set->soft[0] != '\0' || set->toward < 4)) {
    POISE_FAIL(POISE_ERR_OPTION, "-fixed, -loaded, -soft and a load to the side are for parts, -mesh: the "
                                 "beam is compared with theory");
  }
  if (!part && set->length > 1e6 * set->height)
    POISE_FAIL(POISE_ERR_OPTION, "-length is more than a million times -height");
  if (!part && layers && set->n % 4 != 0) {
    POISE_FAIL(POISE_ERR_OPTION,
               "-n %" PRId64 ": layers (-contrast) need a multiple of 4 bricks through the height", set->n);
  }
  return POISE_OK;
}

static PoiseErr Bend(PoiseContext ctx, Settings *set, FemTimes *times, Body *body)
{
  POISE_TRY(CheckSettings(set));
  POISE_TRY(FemStageBegin(ctx, times, FEM_MESH));
  POISE_TRY(MakeMesh(ctx, set, &body->mesh));
  POISE_TRY(FemStageEnd(ctx, times, FEM_MESH));
  POISE_TRY(PoisePrintf(ctx, "mesh           %" PRId64 " cells (%s), %" PRId64 " unknowns\n",
                        body->mesh.allCells, FemCellInfoOf(body->mesh.cell)->name, 3 * body->mesh.allNodes));
  POISE_TRY(Assemble(ctx, set, times, body));
  POISE_TRY(FemSolverCreate(&body->system, "cg", "pbjacobi", 1e-8, &body->ksp));
  POISE_TRY(FemSolve(&body->system, body->ksp, times));
  POISE_TRY(PoisePrintf(ctx, "iterations     %" PRId64 "  %s\n", PoiseKSPIterations(body->ksp),
                        PoiseKSPReasonString(PoiseKSPConvergedReason(body->ksp))));
  POISE_TRY(Judge(ctx, set, body));
  if (set->output[0] != '\0') {
    POISE_TRY(FemStageBegin(ctx, times, FEM_OUTPUT));
    POISE_TRY(Output(set, body));
    POISE_TRY(FemStageEnd(ctx, times, FEM_OUTPUT));
  }
  return FemPrintTimes(ctx, times);
}

static PoiseErr Run(PoiseContext ctx, void *arg)
{
  Settings set;
  FemTimes times = {{0}, 0, 0};
  Body body = {.ksp = NULL};
  (void)arg;
  POISE_TRY(PoiseOptionsDefaults(options, &set));
  POISE_TRY(PoiseOptionsRead(ctx, NULL, options, &set));
  POISE_TRY(FemCheckMesh(ctx, (const char *const[]){"cell", "n", "length", "height", NULL}));
  POISE_TRY(FemTryOutput(ctx, set.output));
  PoiseErr err = Bend(ctx, &set, &times, &body);
  free(body.volume);
  free(body.mises);
  free(body.u);
  free(body.lame);
  free(body.young);
  PoiseKSPDestroy(&body.ksp);
  for (int k = 0; k < RIGID; k++) PoiseVecDestroy(&body.rigid[k]);
  PoiseVecDestroy(&body.work);
  FemSystemFree(&body.system);
  FemMeshFree(&body.mesh);
  return err;
}

int main(int argc, char **argv)
{
  return FemMain(argc, argv, "Linear elasticity by finite elements, checked against beam theory.", options,
                 Run);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Linear elasticity in 3D: -div(sigma) = 0, sigma = lambda div(u) I + mu (grad u + grad u^T), three unknowns per node.

    elasticity                                                 a steel cantilever; its deflection against beam theory
    mpirun -n 4 elasticity -n 8 -contrast 10 -output beam      a sandwich with a soft core; beam.pvtu and beam.csv

  A beam along x, of square section, is clamped on the left and pulled down on the right. What it shows: blocks of 3 (-pc_type pbjacobi
  inverts one 3 x 3 block per node), a material that changes from place to place, the six rigid motions, and stresses from
  displacements. The program checks that
  - the matrix, before anything is clamped, gives zero for each rigid motion, to rounding;
  - the deflection is within 2 % of Timoshenko's beam: P L^3 / (3 EI) for bending and P L / K for shear, where EI is the sum over
    the layers and K follows from the energy of the shear stresses that equilibrium asks for (5/6 G A for one material). Beam theory
    knows nothing of how the section deforms at the clamp, which is most of the difference on fine meshes.
  With -support none nothing is clamped and both ends are pulled: the rigid motions are attached as the null space of the matrix, and the
  answer is known exactly, u = stress / E (x, -nu y, -nu z) plus a rigid motion; any mesh must give it, to the solver's tolerance.
*/
#include "fem/program.h"
#include <inttypes.h>
#include <stdlib.h>

enum { RIGID = 6 };

typedef enum Support { CLAMP, FREE } Support;

typedef struct Settings {
  PoiseInt n;
  int cell, assembly, check, support;
  double length, height, young, poisson, load, contrast;
  char output[POISE_OPTION_LENGTH];
} Settings;

static const FemCell kinds[] = {FEM_TET4, FEM_TET10, FEM_HEX8};

static const PoiseOption options[] = {
    {"cell", POISE_OPTION_CHOICE, offsetof(Settings, cell), "tet10", 0, 0, "tet4|tet10|hex8", "kind of cells"},
    {"n", POISE_OPTION_INT, offsetof(Settings, n), "2", 1, 2000, NULL,
     "bricks through the height; a multiple of 4 with layers"},
    {"length", POISE_OPTION_REAL, offsetof(Settings, length), "1", 1e-9, 1e9, NULL,
     "of the beam, m; beam theory wants some ten heights"},
    {"height", POISE_OPTION_REAL, offsetof(Settings, height), "0.1", 1e-9, 1e9, NULL, "and width of the beam, m"},
    {"young", POISE_OPTION_REAL, offsetof(Settings, young), "2.1e11", 1e-30, 1e30, NULL, "Young's modulus, Pa"},
    {"poisson", POISE_OPTION_REAL, offsetof(Settings, poisson), "0.3", 0, 0.499, NULL, "Poisson's ratio"},
    {"load", POISE_OPTION_REAL, offsetof(Settings, load), "1000", 1e-30, 1e30, NULL, "force on the right end, N"},
    {"contrast", POISE_OPTION_REAL, offsetof(Settings, contrast), "1", 1e-6, 1e6, NULL,
     "the middle half of the height is softer by this factor"},
    {"support", POISE_OPTION_CHOICE, offsetof(Settings, support), "clamp", 0, 0, "clamp|none",
     "clamp the left end, or pull at both ends of a free beam"},
    {"assembly", POISE_OPTION_CHOICE, offsetof(Settings, assembly), "elements", 0, 0, FEM_ASSEMBLY_CHOICES,
     "how the matrix is assembled"},
    {"check_assembly", POISE_OPTION_BOOL, offsetof(Settings, check), "no", 0, 0, NULL, "compare with the other way"},
    {"output", POISE_OPTION_STRING, offsetof(Settings, output), "", 0, 0, NULL,
     "write displacements and stresses to <name>.vtu, residual norms to .csv"},
    {0}};

/* ---- the beam ------------------------------------------------------------------------------------------------------------ */

static double Young(const Settings *set, double z)
{
  return fabs(z / set->height - 0.5) < 0.25 ? set->young / set->contrast : set->young;
}

static void Lame(const Settings *set, double z, double *lambda, double *mu)
{
  const double E = Young(set, z), nu = set->poisson;
  *lambda = E * nu / ((1 + nu) * (1 - 2 * nu));
  *mu = E / (2 * (1 + nu));
}

/*
  The deflection under a force at the end. Bending: EI = integral of E z^2. Shear: equilibrium of a slice asks for
  tau(z) = P S(z) / EI, where S(z) is the integral of E z' over the part of the height above z, which stores the energy tau^2 / (2 G)
  per volume. Midpoint sums over the height.
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
    double z = (i + 0.5) * dz, E = Young(set, z), G = E / (2 * (1 + set->poisson)), part = 0.5 * E * (z - h / 2) * dz;
    S += part;
    shear += S * S / (EI * EI) / G * h * dz;
    S += part;
  }
  return set->load * L * L * L / (3 * EI) + set->load * L * shear;
}

/* K_(a i)(b j) = lambda d_i N_a d_j N_b + mu (d_j N_a d_i N_b + delta_ij grad N_a . grad N_b) */
static void Stiffness(const FemPoint *p, void *arg, double *K, double *F)
{
  const int n = 3 * p->nodes;
  double lambda, mu;
  (void)F;
  Lame(arg, p->x[2], &lambda, &mu);
  lambda *= p->dV;
  mu *= p->dV;
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

/* ---- rigid motions --------------------------------------------------------------------------------------------------------- */

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

/* Orthonormal, by Gram and Schmidt, twice. */
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

/* max |A v_k| / |A|, which only rounding keeps from 0 while nothing is clamped. */
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

/* ---- the run ------------------------------------------------------------------------------------------------------------- */

typedef struct Beam {
  FemMesh mesh;
  FemSystem system;
  PoiseKSP ksp;
  PoiseVec rigid[RIGID], work;
  double *u, *mises, *modulus, *volume; /* u at nodes; the others at cells */
} Beam;

static PoiseErr MakeMesh(PoiseContext ctx, const Settings *set, FemMesh *mesh)
{
  FemBox box = {.cell = kinds[set->cell], .n = {(PoiseInt)ceil(set->length / set->height) * set->n, set->n, set->n}};
  if (set->contrast != 1 && set->n % 4 != 0) {
    POISE_FAIL(POISE_ERR_OPTION, "-n %" PRId64 ": layers (-contrast) need a multiple of 4 bricks through the height",
               set->n);
  }
  if (set->contrast != 1 && set->support == FREE) {
    POISE_FAIL(POISE_ERR_OPTION, "-support none is compared with the answer for one material: leave -contrast at 1");
  }
  box.length[0] = set->length;
  box.length[1] = box.length[2] = set->height;
  return FemMeshBox(ctx, &box, mesh);
}

static PoiseErr Load(const Settings *set, FemSystem *system)
{
  const double area = set->height * set->height, t = set->load / area;
  double down[3] = {0, 0, -t}, right[3] = {t, 0, 0}, left[3] = {-t, 0, 0};
  int leftEnd, rightEnd;
  POISE_TRY(FemMeshFacetGroup(system->mesh, "left", &leftEnd));
  POISE_TRY(FemMeshFacetGroup(system->mesh, "right", &rightEnd));
  if (set->support == FREE) {
    POISE_TRY(FemAssembleFacets(system, leftEnd, Traction, left));
    return FemAssembleFacets(system, rightEnd, Traction, right);
  }
  POISE_TRY(FemAssembleFacets(system, rightEnd, Traction, down));
  POISE_TRY(FemFix(system, leftEnd, Clamped, NULL));
  return FemConstrain(system);
}

static PoiseErr Assemble(PoiseContext ctx, Settings *set, FemTimes *times, Beam *beam)
{
  FemSystem *system = &beam->system;
  POISE_TRY(FemStageBegin(ctx, times, FEM_ASSEMBLY));
  POISE_TRY(FemSystemCreate(&beam->mesh, 3, (FemAssembly)set->assembly, system));
  POISE_TRY(FemAssembleCells(system, Stiffness, set));
  POISE_TRY(FemStageEnd(ctx, times, FEM_ASSEMBLY));
  if (set->check) POISE_TRY(FemCheckAssembly(system, Stiffness, set));

  POISE_TRY(RigidMotions(system, beam->rigid));
  POISE_TRY(PoiseVecDuplicate(system->x, &beam->work));
  POISE_TRY(CheckRigidMotions(system, beam->rigid, beam->work));
  if (set->support == FREE) POISE_TRY(PoiseMatSetNullSpace(system->A, 0, RIGID, beam->rigid));

  POISE_TRY(FemStageBegin(ctx, times, FEM_ASSEMBLY));
  POISE_TRY(Load(set, system));
  return FemStageEnd(ctx, times, FEM_ASSEMBLY);
}

/* The force does the work P times its mean displacement, which is (b, u). */
static PoiseErr JudgeDeflection(PoiseContext ctx, const Settings *set, const FemSystem *system)
{
  double work, theory = BeamDeflection(set);
  POISE_TRY(PoiseVecDot(system->b, system->x, &work));
  double deflection = work / set->load, error = deflection / theory - 1;
  POISE_TRY(PoisePrintf(ctx, "deflection     %.6e m\nTimoshenko     %.6e m\ndifference     %+.2f %%\n", deflection, theory,
                        100 * error));
  if (fabs(error) < 0.02) return POISE_OK;
  POISE_FAIL(POISE_ERR_NUMERIC, "the deflection is %.6e m, beam theory says %.6e m (is the mesh, -n, too coarse?)",
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

/* The solver keeps u orthogonal to the rigid motions, so the exact one is compared after they have left it. */
static PoiseErr JudgeStretch(PoiseContext ctx, Settings *set, Beam *beam)
{
  double norm, error;
  POISE_TRY(FemInterpolate(&beam->mesh, 3, Stretched, set, beam->work));
  for (int k = 0; k < RIGID; k++) {
    double dot;
    POISE_TRY(PoiseVecDot(beam->rigid[k], beam->work, &dot));
    POISE_TRY(PoiseVecAXPY(beam->work, -dot, beam->rigid[k]));
  }
  POISE_TRY(PoiseVecNorm(beam->work, POISE_NORM_2, &norm));
  POISE_TRY(PoiseVecAXPY(beam->work, -1, beam->system.x));
  POISE_TRY(PoiseVecNorm(beam->work, POISE_NORM_2, &error));
  POISE_TRY(PoisePrintf(ctx, "error          %.1e  |u_h - u| / |u| of a bar that is stretched\n", error / norm));
  if (error < 1e-6 * norm) return POISE_OK;
  POISE_FAIL(POISE_ERR_NUMERIC, "displacements are off by %.1e of their norm, more than the solver's tolerance allows",
             error / norm);
}

typedef struct Stresses {
  const Settings *set;
  const double *u;
  double *mises, *modulus, *volume; /* integrals over the cells */
} Stresses;

/* Of the displacements at this rank's nodes: von Mises' stress, sqrt(3/2 s:s) with s the deviator of sigma; Young's modulus. */
static void Stress(const FemPoint *p, void *arg, double *sums)
{
  const Stresses *out = arg;
  double lambda, mu, d[3][3] = {{0}}, square = 0;
  (void)sums;
  Lame(out->set, p->x[2], &lambda, &mu);
  for (int a = 0; a < p->nodes; a++) {
    for (int i = 0; i < 3; i++) {
      for (int j = 0; j < 3; j++) d[i][j] += out->u[3 * p->node[a] + i] * p->grad[a][j];
    }
  }
  double trace = d[0][0] + d[1][1] + d[2][2];
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j < 3; j++) {
      double s = mu * (d[i][j] + d[j][i]) - (i == j ? 2 * mu * trace / 3 : 0);
      square += s * s;
    }
  }
  out->mises[p->element] += p->dV * sqrt(1.5 * square);
  out->modulus[p->element] += p->dV * Young(out->set, p->x[2]);
  out->volume[p->element] += p->dV;
}

/* Stress and modulus as means over each cell. */
static PoiseErr Output(PoiseContext ctx, const Settings *set, Beam *beam)
{
  const FemMesh *mesh = &beam->mesh;
  PoiseErr err = FemAlloc(mesh->cells, sizeof *beam->mises, &beam->mises);
  if (err == POISE_OK) err = FemAlloc(mesh->cells, sizeof *beam->modulus, &beam->modulus);
  if (err == POISE_OK) err = FemAlloc(mesh->cells, sizeof *beam->volume, &beam->volume);
  POISE_TRY(PoiseAgree(ctx, err));
  POISE_TRY(FemGather(mesh, 3, beam->system.x, &beam->u));
  Stresses stresses = {set, beam->u, beam->mises, beam->modulus, beam->volume};
  POISE_TRY(FemIntegrate(mesh, Stress, &stresses, 0, NULL));
  for (PoiseInt e = 0; e < mesh->cells; e++) {
    beam->mises[e] /= beam->volume[e];
    beam->modulus[e] /= beam->volume[e];
  }
  const FemField fields[] = {
      {"displacement", 3, 0, beam->u}, {"von Mises", 1, 1, beam->mises}, {"Young", 1, 1, beam->modulus}};
  POISE_TRY(FemWriteMesh(mesh, set->output, 3, fields));
  return FemWriteHistory(beam->ksp, set->output);
}

static PoiseErr Bend(PoiseContext ctx, Settings *set, FemTimes *times, Beam *beam)
{
  POISE_TRY(FemStageBegin(ctx, times, FEM_MESH));
  POISE_TRY(MakeMesh(ctx, set, &beam->mesh));
  POISE_TRY(FemStageEnd(ctx, times, FEM_MESH));
  POISE_TRY(PoisePrintf(ctx, "mesh           %" PRId64 " cells (%s), %" PRId64 " unknowns\n", beam->mesh.allCells,
                        FemCellInfoOf(beam->mesh.cell)->name, 3 * beam->mesh.allNodes));
  POISE_TRY(Assemble(ctx, set, times, beam));
  POISE_TRY(FemSolverCreate(&beam->system, "cg", "pbjacobi", 1e-8, &beam->ksp));
  POISE_TRY(FemSolve(&beam->system, beam->ksp, times));
  POISE_TRY(PoisePrintf(ctx, "iterations     %" PRId64 "  %s\n", PoiseKSPIterations(beam->ksp),
                        PoiseKSPReasonString(PoiseKSPConvergedReason(beam->ksp))));
  POISE_TRY(set->support == FREE ? JudgeStretch(ctx, set, beam) : JudgeDeflection(ctx, set, &beam->system));
  if (set->output[0] != '\0') {
    POISE_TRY(FemStageBegin(ctx, times, FEM_OUTPUT));
    POISE_TRY(Output(ctx, set, beam));
    POISE_TRY(FemStageEnd(ctx, times, FEM_OUTPUT));
  }
  return FemPrintTimes(ctx, times);
}

static PoiseErr Run(PoiseContext ctx, void *arg)
{
  Settings set;
  FemTimes times = {{0}, 0, 0};
  Beam beam = {.ksp = NULL};
  (void)arg;
  POISE_TRY(PoiseOptionsDefaults(options, &set));
  POISE_TRY(PoiseOptionsRead(ctx, NULL, options, &set));
  PoiseErr err = Bend(ctx, &set, &times, &beam);
  free(beam.volume);
  free(beam.modulus);
  free(beam.mises);
  free(beam.u);
  PoiseKSPDestroy(&beam.ksp);
  for (int k = 0; k < RIGID; k++) PoiseVecDestroy(&beam.rigid[k]);
  PoiseVecDestroy(&beam.work);
  FemSystemFree(&beam.system);
  FemMeshFree(&beam.mesh);
  return err;
}

int main(int argc, char **argv)
{
  return FemMain(argc, argv, "Linear elasticity by finite elements, checked against beam theory.", options, Run);
}

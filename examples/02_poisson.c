/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Finite elements: -div(grad u) = f on the unit square, u given on its boundary, linear triangles. New here:
  - The rank that owns an element adds its matrix, also to rows of other ranks.
  - The program has options of its own.
  - Objects are released on failure too.

    02_poisson -n 64 -refinements 3 -ksp_converged_reason
    mpirun -n 4 02_poisson -ksp_type bicgstab -ksp_monitor

  The mesh is n x n cells, moved by a smooth map and cut along either diagonal. So nodes have 4 to 8
  neighbours, and no two rows are alike. The exact solution is u = sin(pi x) exp(y). On meshes of size h the
  error must fall like h^2, which the program checks: each refinement must divide it by about 4.
*/
#include <inttypes.h>
#include <math.h>
#include <poise.h>

static const double pi = 3.14159265358979323846;

static double Exact(const double p[2])
{
  return sin(pi * p[0]) * exp(p[1]);
}

static double Source(const double p[2]) /* f = -div(grad u) */
{
  return (pi * pi - 1) * Exact(p);
}

/* ---- the mesh -------------------------------------------------------------------------------- */

/* The position of a node. Node (i, j) of (n + 1) x (n + 1) has number j (n + 1) + i. The map keeps the
   boundary in place. */
static void NodePosition(PoiseInt n, PoiseInt node, double p[2])
{
  double s = (double)(node % (n + 1)) / (double)n, t = (double)(node / (n + 1)) / (double)n;
  double bump = 0.06 * sin(2 * pi * s) * sin(2 * pi * t);
  p[0] = s + bump;
  p[1] = t - bump;
}

static int OnBoundary(PoiseInt n, PoiseInt node)
{
  PoiseInt i = node % (n + 1), j = node / (n + 1);
  return i == 0 || i == n || j == 0 || j == n;
}

/* The two triangles of a cell, each anticlockwise. */
static void CellTriangles(PoiseInt n, PoiseInt cell, PoiseInt nodes[2][3])
{
  static const int cut[2][2][3] = {{{0, 1, 3}, {1, 2, 3}}, {{0, 1, 2}, {0, 2, 3}}};
  PoiseInt i = cell % n, j = cell / n, a = j * (n + 1) + i;
  PoiseInt corner[4] = {a, a + 1, a + n + 2, a + n + 1};
  int which = (3 * i + 5 * j + i * j) % 7 < 3; /* no regular pattern */
  for (int t = 0; t < 2; t++) {
    for (int k = 0; k < 3; k++) nodes[t][k] = corner[cut[which][t][k]];
  }
}

/* ---- the element ----------------------------------------------------------------------------- */

/* K_kl = integral of grad phi_k . grad phi_l,  F_k = integral of f phi_k (edge midpoints); returns the
   area. */
static double ElementSystem(double p[3][2], double K[3][3], double F[3])
{
  double gx[3], gy[3], f[3]; /* 2 area grad phi_k; f opposite to node k */
  for (int k = 0; k < 3; k++) {
    const double *q = p[(k + 1) % 3], *r = p[(k + 2) % 3];
    double middle[2] = {0.5 * (q[0] + r[0]), 0.5 * (q[1] + r[1])};
    gx[k] = q[1] - r[1];
    gy[k] = r[0] - q[0];
    f[k] = Source(middle);
  }
  double area = 0.5 * (gy[2] * gx[1] - gy[1] * gx[2]);
  for (int k = 0; k < 3; k++) {
    for (int l = 0; l < 3; l++) K[k][l] = (gx[k] * gx[l] + gy[k] * gy[l]) / (4 * area);
    F[k] = area / 6 * (f[(k + 1) % 3] + f[(k + 2) % 3]);
  }
  return area;
}

/* u_k = g is known. Move its column to the right-hand side, and leave K_kk u_k = K_kk g. The matrix stays
   symmetric and positive definite. The sum of such rows over the elements around the node is u_k = g
   again. */
static void FixValue(int k, double g, double K[3][3], double F[3])
{
  for (int l = 0; l < 3; l++) {
    if (l == k) continue;
    F[l] -= K[l][k] * g;
    K[l][k] = K[k][l] = 0;
  }
  F[k] = K[k][k] * g;
}

/* ---- one mesh -------------------------------------------------------------------------------- */

typedef struct Problem {
  PoiseMat A;
  PoiseVec u, f, area, error, work; /* area: the area of each node, for the norm of the error */
  PoiseKSP ksp;
} Problem;

/* Add this rank's share of the elements. */
static PoiseErr AddElements(PoiseContext ctx, PoiseInt n, Problem *p)
{
  PoiseInt begin, count;
  PoiseSplit(ctx, n * n, &begin, &count);
  for (PoiseInt cell = begin; cell < begin + count; cell++) {
    PoiseInt triangles[2][3];
    CellTriangles(n, cell, triangles);
    for (int t = 0; t < 2; t++) {
      const PoiseInt *nodes = triangles[t];
      double x[3][2], K[3][3], F[3];
      for (int k = 0; k < 3; k++) NodePosition(n, nodes[k], x[k]);
      double third = ElementSystem(x, K, F) / 3;
      for (int k = 0; k < 3; k++) {
        if (OnBoundary(n, nodes[k])) FixValue(k, Exact(x[k]), K, F);
      }
      POISE_TRY(PoiseMatAddBlock(p->A, 3, nodes, 3, nodes, &K[0][0]));
      POISE_TRY(PoiseVecAddValues(p->f, 3, nodes, F));
      POISE_TRY(PoiseVecAddValues(p->area, 3, nodes, (double[3]){third, third, third}));
    }
  }
  return POISE_OK;
}

/* Adding is local to a rank. So the ranks agree that it succeeded before the three Assemble calls, in
   which the rows of other ranks travel. */
static PoiseErr Assemble(PoiseContext ctx, PoiseInt n, Problem *p)
{
  POISE_TRY(PoiseAgree(ctx, AddElements(ctx, n, p)));
  POISE_TRY(PoiseMatAssemble(p->A));
  POISE_TRY(PoiseVecAssemble(p->f));
  return PoiseVecAssemble(p->area);
}

/* *norm = square root of the sum over nodes of area_i (u_i - u(x_i))^2 */
static PoiseErr ErrorNorm(PoiseInt n, Problem *p, double *norm)
{
  PoiseInt begin, end;
  double *e, square;
  POISE_TRY(PoiseVecCopy(p->u, p->error));
  PoiseVecRange(p->error, &begin, &end);
  POISE_TRY(PoiseVecGetUpdate(p->error, &e));
  for (PoiseInt node = begin; node < end; node++) {
    double x[2];
    NodePosition(n, node, x);
    e[node - begin] -= Exact(x);
  }
  POISE_TRY(PoiseVecRestore(p->error, &e));
  POISE_TRY(PoiseVecPointwiseMult(p->work, p->area, p->error));
  POISE_TRY(PoiseVecDot(p->work, p->error, &square));
  *norm = sqrt(square);
  return POISE_OK;
}

static PoiseErr SolveMesh(PoiseContext ctx, PoiseInt n, Problem *p, double *error)
{
  PoisePC pc;
  PoiseInt unknowns = (n + 1) * (n + 1);
  POISE_TRY(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, unknowns, unknowns, &p->A));
  POISE_TRY(PoiseMatSetFromOptions(p->A));
  POISE_TRY(PoiseVecCreate(ctx, POISE_DECIDE, unknowns, &p->f));
  POISE_TRY(PoiseVecDuplicate(p->f, &p->area));
  POISE_TRY(PoiseVecDuplicate(p->f, &p->u));
  POISE_TRY(PoiseVecDuplicate(p->f, &p->error));
  POISE_TRY(PoiseVecDuplicate(p->f, &p->work));
  POISE_TRY(Assemble(ctx, n, p));

  POISE_TRY(PoiseKSPCreate(ctx, &p->ksp));
  POISE_TRY(PoiseKSPSetOperators(p->ksp, p->A, NULL));
  POISE_TRY(PoiseKSPSetType(p->ksp, "cg"));
  POISE_TRY(PoiseKSPGetPC(p->ksp, &pc));
  POISE_TRY(PoisePCSetType(pc, "jacobi"));
  POISE_TRY(PoiseKSPSetErrorIfNotConverged(p->ksp, 1));
  POISE_TRY(PoiseKSPSetTolerances(p->ksp, 1e-10, -1, -1, -1));
  POISE_TRY(PoiseKSPSetFromOptions(p->ksp));
  POISE_TRY(PoiseKSPSolve(p->ksp, p->f, p->u));
  return ErrorNorm(n, p, error);
}

/* Destroying what was never created is legal, so one list serves success and failure. */
static void Release(Problem *p)
{
  PoiseKSPDestroy(&p->ksp);
  PoiseVecDestroy(&p->work);
  PoiseVecDestroy(&p->error);
  PoiseVecDestroy(&p->u);
  PoiseVecDestroy(&p->area);
  PoiseVecDestroy(&p->f);
  PoiseMatDestroy(&p->A);
}

/* ---- the sequence of meshes ------------------------------------------------------------------ */

typedef struct Settings {
  PoiseInt n, refinements;
} Settings;

static const PoiseOption options[] = {{"n", POISE_OPTION_INT, offsetof(Settings, n), "32", 16, 20000, NULL,
                                       "cells per side of the coarsest mesh"},
                                      {"refinements", POISE_OPTION_INT, offsetof(Settings, refinements), "2",
                                       0, 10, NULL, "how often the mesh is halved"},
                                      {0}};

static PoiseErr Converge(PoiseContext ctx, void *arg)
{
  (void)arg;
  Settings set;
  double error = 0, order = 2;
  POISE_TRY(PoiseOptionsDefaults(options, &set));
  POISE_TRY(PoiseOptionsRead(ctx, NULL, options, &set));
  POISE_TRY(PoisePrintf(ctx, "%10s %10s  %-24s %10s %12s %6s\n", "unknowns", "iterations", "reason",
                        "residual", "L2 error", "order"));
  for (PoiseInt level = 0; level <= set.refinements; level++) {
    Problem p = {0};
    double coarser = error;
    PoiseErr err = SolveMesh(ctx, set.n << level, &p, &error);
    if (err == POISE_OK) {
      PoiseKSPReason reason = PoiseKSPConvergedReason(p.ksp);
      err = PoisePrintf(ctx, "%10" PRId64 " %10" PRId64 "  %-24s %10.2e %12.4e", PoiseVecSize(p.u),
                        PoiseKSPIterations(p.ksp), PoiseKSPReasonString(reason), PoiseKSPResidualNorm(p.ksp),
                        error);
    }
    Release(&p);
    POISE_TRY(err);
    if (level > 0) order = log2(coarser / error);
    POISE_TRY(level > 0 ? PoisePrintf(ctx, " %6.3f\n", order) : PoisePrintf(ctx, "\n"));
    if (!(fabs(order - 2) < 0.15))
      POISE_FAIL(POISE_ERR_NUMERIC, "the order of convergence is %.3f, not 2", order);
  }
  if (set.refinements == 0) return PoisePrintf(ctx, "One mesh only: the order was not checked.\n");
  return PoisePrintf(ctx, "The error falls with the square of the mesh size, as it must.\n");
}

int main(int argc, char **argv)
{
  const PoiseInit init = {
      .help = "Poisson's equation by linear finite elements, checked by its order of convergence.",
      .options = options};
  PoiseContext ctx;
  PoiseErr err = PoiseInitialize(&argc, &argv, &init, &ctx);
  if (err == POISE_OK) err = PoiseRun(ctx, Converge, NULL);
  if (err != POISE_OK) fputs(PoiseErrorText(), stderr);
  PoiseErr end = PoiseFinalize(&ctx);
  if (end != POISE_OK) fputs(PoiseErrorText(), stderr);
  return err != POISE_OK || end != POISE_OK;
}

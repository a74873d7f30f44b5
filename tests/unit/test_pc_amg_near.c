/* SPDX-License-Identifier: BSD-3-Clause */
/*
  amg where no near null space is given, and constants are none: of badly scaled matrices and of hierarchic
  elements. Judged by the same problem with a good scaling, or with the near null space that it has. And what
  the motions of the plane do for a body of revolution.
*/
#include "multigrid.h"

static const char spread[] = "-x_pc_amg_redundant_size 0 -x_pc_amg_coarse_size 20";

/* ---- bad scaling ------------------------------------------------------------------------------ */

/* E of 2, and of 13, orders of magnitude. */
static double Mild(PoiseInt i)
{
  return pow(10, TestRandom(21, (uint64_t)i));
}

static double Wide(PoiseInt i)
{
  return pow(10, 6.5 * TestRandom(21, (uint64_t)i));
}

/* Powers of 2, so that no number of S A S is rounded in another way. */
static double Twos(PoiseInt i)
{
  return ldexp(1, (int)(30 * TestRandom(22, (uint64_t)i)));
}

static double Fours(PoiseInt i)
{
  return ldexp(1, 2 * (int)(6 * TestRandom(23, (uint64_t)i)));
}

static PoiseMat Scaled(PoiseContext ctx, Grid g, double (*e)(PoiseInt i))
{
  PoiseMat A = GridOf(ctx, g);
  ScaleBy(A, e);
  return A;
}

/* Of A = E L E, with E b: iterates are those of L x = b, divided by E, and so is the norm of M the same. The
   solution is multiplied by E. */
static int Solve(PoiseMat A, double (*e)(PoiseInt i), PoiseVec *x)
{
  Problem p;
  PoiseVec E;
  if (!ProblemOpen(A, &p) || !CHECK_OK(PoiseVecDuplicate(p.b, &E))) return -1;
  CHECK_OK(PoiseKSPSetType(p.ksp, "cg"));
  CHECK_OK(PoiseKSPSetNormType(p.ksp, POISE_KSP_NORM_NATURAL));
  CHECK_OK(PoiseKSPGetPC(p.ksp, &p.pc));
  CHECK_OK(PoisePCSetType(p.pc, "amg"));
  CHECK_OK(PoisePCSetOptionsPrefix(p.pc, "x_"));
  CHECK_OK(PoisePCSetFromOptions(p.pc));
  CHECK_OK(PoiseKSPSetTolerances(p.ksp, 1e-9, -1, -1, 300));
  SampleSet(E, e);
  SampleFill(p.x, 9);
  CHECK_OK(PoiseVecPointwiseMult(p.b, E, p.x));
  CHECK_OK(PoiseVecSet(p.x, 0));
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CHECK(PoiseKSPConvergedReason(p.ksp) > 0);
  int its = (int)PoiseKSPIterations(p.ksp);
  CHECK_OK(PoiseVecDuplicate(p.x, x));
  CHECK_OK(PoiseVecPointwiseMult(*x, E, p.x));
  PoiseVecDestroy(&E);
  p.A = NULL; /* the caller's */
  ProblemClose(&p);
  return its;
}

static double One(PoiseInt i)
{
  (void)i;
  return 1;
}

/* E changes neither the number of iterations nor the solution. */
static void CheckScaled(PoiseContext ctx, Grid g, int more)
{
  PoiseVec x, y;
  PoiseMat L = GridOf(ctx, g);
  int its = Solve(L, One, &x);
  for (int wide = 0; wide < 2; wide++) {
    PoiseMat A = Scaled(ctx, g, wide ? Wide : Mild);
    int now = Solve(A, wide ? Wide : Mild, &y);
    CHECK(now > 0 && now <= its + more);
    CHECK_OK(PoiseVecAXPY(y, -1, x));
    CHECK(NormOf(y) <= 1e-6 * NormOf(x));
    PoiseVecDestroy(&y);
    PoiseMatDestroy(&A);
  }
  PoiseVecDestroy(&x);
  PoiseMatDestroy(&L);
}

static void TestScaled(PoiseContext ctx)
{
  SetOptions(ctx, spread);
  CheckScaled(ctx, (Grid){.dim = 2, .k = 60}, 2);
  CheckScaled(ctx, (Grid){.dim = 3, .k = 16, .vary = 0.9}, 3);
  CheckScaled(ctx, (Grid){.dim = 2, .k = 60, .stretch = 1e-3}, 3);
  CheckScaled(ctx, (Grid){.dim = 2, .k = 60, .jump = 1e4}, 6);
  CheckScaled(ctx, (Grid){.dim = 1, .k = 3000}, 4);
  SetOptions(ctx, "-x_pc_amg_smoother jacobi");
  CheckScaled(ctx, (Grid){.dim = 2, .k = 40}, 2);
  SetOptions(ctx, "-x_pc_amg_smoother auto");
}

/* Spectrum and aggregates are of S A S, which E does not change. */
static void TestAlike(PoiseContext ctx)
{
  static double (*const scales[])(PoiseInt i) = {Twos, Fours};
  uint64_t aggregates[2] = {0};
  double lambda[2];
  for (int k = 0; k < 2; k++) {
    PoiseMat A = Scaled(ctx, (Grid){.dim = 3, .k = 14, .vary = 0.9}, scales[k]);
    PoisePC pc = AmgOf(A, spread);
    const Amg *amg = Made(pc);
    CHECK(amg->scaled && amg->relaxed && amg->count > 2);
    lambda[k] = amg->level[0].lambda;
    aggregates[k] = AddBits(0, &amg->level[0].aggregate);
    CheckSpd(pc);
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
  CHECK(aggregates[0] == aggregates[1] && lambda[0] == lambda[1]);
}

static void TestRefresh(PoiseContext ctx)
{
  static const char *const ways[] = {"values", "interpolation", "all"};
  SetOptions(ctx, spread);
  for (int way = 0; way < 3; way++) {
    char options[80];
    snprintf(options, sizeof options, "-x_pc_amg_refresh %s", ways[way]);
    PoiseMat A = Scaled(ctx, (Grid){.dim = 2, .k = 30, .vary = 0.5}, Twos);
    CheckRefresh(A, options, way);
    PoiseMatDestroy(&A);
  }
  SetOptions(ctx, "-x_pc_amg_refresh values");
}

/* E L E, with the 5-point Laplacian. */
static PoiseErr AddRow(PoiseMat A, PoiseInt k, PoiseInt i)
{
  const PoiseInt at[] = {i, i % k ? i - 1 : -1, (i + 1) % k ? i + 1 : -1, i - k, i + k};
  PoiseErr e = POISE_OK;
  for (int n = 0; n < 5 && !e; n++) {
    double v = (n ? -1 : 4) * Fours(i) * Fours(at[n]);
    if (at[n] >= 0 && at[n] < k * k) e = PoiseMatAddBlock(A, 1, &i, 1, &at[n], &v);
  }
  return e;
}

static PoiseErr SetUp(PoiseContext ctx, void *arg)
{
  const PoiseInt k = 9;
  PoiseMat A;
  (void)arg;
  PoiseErr e = PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, k * k, k * k, &A);
  if (e) return e;
  for (PoiseInt i = A->rows->begin, end = i + A->rows->n; i < end && !e; i++) e = AddRow(A, k, i);
  PoiseErr kept = PoiseMatAssemble(A); /* reports what failed on any rank */
  return SetUpTwice(ctx, kept ? kept : e, A);
}

static void TestFailures(PoiseContext ctx)
{
  SetOptions(ctx, spread);
  TestAllocationFailures(ctx, SetUp, NULL);
}

/* ---- hierarchic elements ---------------------------------------------------------------------- */

/* On a line of cells of length 1: hats at even places, and 4 t (1 - t) in cells, at odd ones. Integrals of
   i' j', or of i j. */
static double Hierarchic(PoiseInt i, PoiseInt j, bool stiff)
{
  PoiseInt apart = i < j ? j - i : i - j;
  bool odd = i % 2 || j % 2;
  if (i == j) return i % 2 ? (stiff ? 16. / 3 : 8. / 15) : stiff ? 2 : 2. / 3;
  if (apart == 1) return stiff ? 0 : 1. / 3;
  return apart == 2 && !odd ? (stiff ? -1 : 1. / 6) : 0;
}

/* The Laplacian on cells x cells such elements, of degree 2, without the boundary. */
static PoiseMat HierarchicOf(PoiseContext ctx, PoiseInt cells)
{
  const PoiseInt k = 2 * cells - 1, n = k * k;
  PoiseMat A;
  if (!CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, n, n, &A))) exit(1);
  for (PoiseInt i = A->rows->begin, end = i + A->rows->n; i < end; i++)
    for (int at = 0; at < 25; at++) {
      PoiseInt x = i % k, y = i / k, p = x + at % 5 - 2, q = y + at / 5 - 2, j = q * k + p;
      if (p < 0 || p >= k || q < 0 || q >= k) continue;
      double mx = Hierarchic(x + 1, p + 1, false), my = Hierarchic(y + 1, q + 1, false);
      double a = Hierarchic(x + 1, p + 1, true) * my + mx * Hierarchic(y + 1, q + 1, true);
      if (a != 0) CHECK_OK(PoiseMatSetEntries(A, 1, &i, &j, &a));
    }
  CHECK_OK(PoiseMatAssemble(A));
  return A;
}

static const PoiseInt across = 40; /* cells */

static double IsHat(PoiseInt i)
{
  const PoiseInt k = 2 * across - 1;
  return i % k % 2 && i / k % 2;
}

/* 1 is the sum of the hats, which set-up finds: as good as given. */
static void TestHierarchic(PoiseContext ctx)
{
  PoiseVec v;
  SetOptions(ctx, spread);
  PoiseMat A = HierarchicOf(ctx, across);
  int found = Iterations(A, "cg", "amg");
  CHECK_OK(PoiseMatCreateVecs(A, &v, NULL));
  SampleSet(v, IsHat);
  CHECK_OK(PoiseMatSetNearNullSpace(A, 0, 1, &v));
  int given = Iterations(A, "cg", "amg");
  CHECK(found > 0 && found <= given + 4);
  CHECK_OK(PoiseMatSetNearNullSpace(A, 0, 0, NULL));
  CheckRefresh(A, "-x_pc_amg_refresh values", AMG_VALUES);
  PoiseVecDestroy(&v);
  PoiseMatDestroy(&A);
}

/* ---- what is left as it is -------------------------------------------------------------------- */

/* Bilinear elements in cells of 1 x 3, whose boundary values are rows of the identity: a fifth of all. */
static PoiseMat Held(PoiseContext ctx, PoiseInt k)
{
  PoiseMat A;
  if (!CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, k * k, k * k, &A))) exit(1);
  for (PoiseInt i = A->rows->begin, end = i + A->rows->n; i < end; i++)
    for (int at = 0; at < 9; at++) {
      PoiseInt x = i % k, y = i / k, p = x + at % 3 - 1, q = y + at / 3 - 1, j = q * k + p;
      if (p < 0 || p >= k || q < 0 || q >= k) continue;
      Line a = LineOf((int)k, x, p, 1), b = LineOf((int)k, y, q, 3);
      bool held =
          x == 0 || x == k - 1 || y == 0 || y == k - 1 || p == 0 || p == k - 1 || q == 0 || q == k - 1;
      double v = held ? i == j : a.stiff * b.mass + a.mass * b.stiff;
      CHECK_OK(PoiseMatSetEntries(A, 1, &i, &j, &v));
    }
  CHECK_OK(PoiseMatAssemble(A));
  return A;
}

/* Where constants are near the null space they stay; where A is not symmetric too. */
static void TestKept(PoiseContext ctx)
{
  PoiseMat of[] = {Held(ctx, 20), GridOf(ctx, (Grid){.dim = 2, .k = 40, .jump = 1e6}),
                   Scaled(ctx, (Grid){.dim = 2, .k = 40, .wind = 1}, Fours)};
  for (int m = 0; m < 3; m++) {
    PoisePC pc = AmgOf(of[m], spread);
    const Amg *amg = Made(pc);
    CHECK(amg->count > 1 && !amg->scaled && !amg->relaxed);
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&of[m]);
  }
}

/* ---- bodies of revolution --------------------------------------------------------------------- */

enum { WALL = 5, LENGTH = 401 };  /* points through the wall of a tube, and along it */
static const double inside = 200; /* its radius, in cells of 1 x 1; Lame's constants are 1 and 1 */

/* Strains rr, zz, around, rz at a point (r, z) of the cell, of displacements of its corners. */
static void Strains(double r, double z, double radius, double B[4][8])
{
  for (int a = 0; a < 4; a++) {
    double x = a % 2 ? r : 1 - r, y = a / 2 ? z : 1 - z, dx = a % 2 ? y : -y, dy = a / 2 ? x : -x;
    const double u[] = {dx, 0, x * y / radius, dy}, w[] = {0, dy, 0, dx};
    for (int e = 0; e < 4; e++) B[e][2 * a] = u[e], B[e][2 * a + 1] = w[e];
  }
}

/* Of the ring whose inner radius is this, by 2 x 2 points of Gauss. */
static void Ring(double radius, double K[64])
{
  for (int c = 0; c < 64; c++) K[c] = 0;
  for (int g = 0; g < 4; g++) {
    double off = sqrt(3) / 6, r = 0.5 + (g % 2 ? off : -off), z = 0.5 + (g / 2 ? off : -off), B[4][8];
    Strains(r, z, radius + r, B);
    for (int c = 0; c < 64; c++) {
      const int i = c / 8, j = c % 8;
      double s = (B[0][i] + B[1][i] + B[2][i]) * (B[0][j] + B[1][j] + B[2][j]) + B[3][i] * B[3][j];
      for (int e = 0; e < 3; e++) s += 2 * B[e][i] * B[e][j];
      K[c] += s * (radius + r) / 4;
    }
  }
}

/* One end of the tube stands on a bed of springs. Each rank adds the cells whose first corner it owns. */
static PoiseMat TubeOf(PoiseContext ctx)
{
  const PoiseInt nodes = WALL * LENGTH, begin = nodes * PoiseRank(ctx) / PoiseSize(ctx),
                 end = nodes * (PoiseRank(ctx) + 1) / PoiseSize(ctx);
  PoiseMat A;
  double K[64], bed = 1;
  if (!CHECK_OK(PoiseMatCreate(ctx, 2 * (end - begin), 2 * (end - begin), 2 * nodes, 2 * nodes, &A))) exit(1);
  for (PoiseInt i = begin; i < end; i++) {
    PoiseInt rows[8];
    for (int a = 0; a < 8; a++) rows[a] = 2 * (i + a / 2 % 2 + (a / 4) * WALL) + a % 2;
    if (i < WALL) CHECK_OK(PoiseMatAddBlock(A, 1, &rows[1], 1, &rows[1], &bed));
    if (i % WALL == WALL - 1 || i >= nodes - WALL) continue;
    Ring(inside + (double)(i % WALL), K);
    CHECK_OK(PoiseMatAddBlock(A, 8, rows, 8, rows, K));
  }
  CHECK_OK(PoiseMatAssemble(A));
  CHECK_OK(PoiseMatSetBlockSize(A, 2));
  return A;
}

/* Of a section, with places (radius, height), the motions of the plane. Only the shift along the axis costs
   nothing, but the others strain each ring by little. */
static void TestRevolution(PoiseContext ctx)
{
  SetOptions(ctx, spread);
  PoiseMat A = TubeOf(ctx);
  const PoiseInt first = A->rows->begin / 2, n = A->rows->n / 2;
  double *x = calloc((size_t)(2 * n + 1), sizeof *x);
  if (!CHECK(x)) exit(1);
  for (PoiseInt i = 0; i < n; i++)
    x[2 * i] = inside + (double)((first + i) % WALL), x[2 * i + 1] = (double)((first + i) / WALL);
  int constants = Iterations(A, "cg", "amg");
  CHECK_OK(PoiseMatSetCoordinates(A, 2, n, x));
  int motions = Iterations(A, "cg", "amg");
  CHECK(motions > 0 && 3 * motions <= constants);
  free(x);
  PoiseMatDestroy(&A);
}

static const Test tests[] = {
    {"scaled", TestScaled, 0},         {"alike", TestAlike, 0},
    {"refresh", TestRefresh, 0},       {"failures", TestFailures, 0},
    {"hierarchic", TestHierarchic, 0}, {"kept", TestKept, 0},
    {"revolution", TestRevolution, 0}, {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "pc_amg_near", tests);
}

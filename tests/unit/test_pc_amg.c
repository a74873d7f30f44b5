/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The preconditioner amg, on one rank. What a cycle must be is judged by mathematics: symmetric and positive,
  contracting in the energy norm independent of size, exact on small systems; and what is kept for new values,
  by a hierarchy that is made afresh.
*/
#include "multigrid.h"
#include "pc/lu.h"

static Beam BeamOf(int dim, bool free, const char *type)
{
  return (Beam){.dim = dim, .length = 16, .width = 4, .free = free, .type = type};
}

static const char few[] = "-x_pc_amg_coarse_size 20"; /* rows of the last level, so that there are several */

/* ---- what a cycle is ------------------------------------------------------------------------- */

static void TestSymmetric(PoiseContext ctx)
{
  static const char *const ways[] = {"",
                                     " -x_pc_amg_degree 2",
                                     " -x_pc_amg_degree 3",
                                     " -x_pc_amg_degree 4",
                                     " -x_pc_amg_smoother jacobi",
                                     " -x_pc_amg_smoother jacobi -x_pc_amg_degree 3",
                                     " -x_pc_amg_smoother isai",
                                     " -x_pc_amg_smoother isai -x_pc_amg_degree 3",
                                     " -x_pc_amg_smoother isai -x_pc_amg_cycle w",
                                     " -x_pc_amg_smoother sor",
                                     " -x_pc_amg_smoother sor -x_pc_amg_degree 3",
                                     " -x_pc_amg_smoother sor -x_pc_amg_cycle w",
                                     " -x_pc_amg_smoother sor -x_pc_amg_type unsmoothed",
                                     " -x_pc_amg_cycle w",
                                     " -x_pc_amg_type unsmoothed",
                                     " -x_pc_amg_type unsmoothed -x_pc_amg_cycle w",
                                     " -x_pc_amg_threshold 0.5 -x_pc_amg_aggregate_min 5",
                                     " -x_pc_amg_levels 2",
                                     " -x_pc_amg_coarse_size 5000"};
  static const char reset[] =
      "-x_pc_amg_degree 1 -x_pc_amg_smoother chebyshev -x_pc_amg_cycle v -x_pc_amg_type smoothed "
      "-x_pc_amg_threshold 0.4 -x_pc_amg_aggregate_min 0 -x_pc_amg_levels 24 -x_pc_amg_coarse_size 20";
  PoiseMat A = GridOf(ctx, (Grid){.dim = 2, .k = 33, .vary = 0.9});
  for (int k = 0; k < 2 * (int)(sizeof ways / sizeof *ways); k++) {
    SetOptions(ctx, reset);
    SetOptions(ctx, k % 2 ? "-x_pc_amg_precision double" : "-x_pc_amg_precision single");
    PoisePC pc = AmgOf(A, *ways[k / 2] ? ways[k / 2] + 1 : few);
    const Amg *amg = Made(pc);
    CHECK(strstr(ways[k / 2], "5000") ? amg->count == 1 : amg->count >= 2);
    CheckSpd(pc);
    CheckFusedApply(pc, true);
    if (!strstr(ways[k / 2], "unsmoothed"))
      CHECK(Contraction(pc, 20) < 0.85); /* else it is M alone that counts */
    PoisePCDestroy(&pc);
  }
  SetOptions(ctx, reset);
  SetOptions(ctx, "-x_pc_amg_precision single");
  PoiseMatDestroy(&A);
}

/* The contraction does not depend on the size; that of jacobi's method approaches 1. */
static void TestSizes(PoiseContext ctx)
{
  const int sides[] = {12, 24, 48};
  int first = 0;
  for (int dim = 2; dim <= 3; dim++)
    for (int k = 0; k < (dim == 2 ? 3 : 2); k++) {
      PoiseMat A = GridOf(ctx, (Grid){.dim = dim, .k = sides[k], .vary = 0.5});
      PoisePC pc = AmgOf(A, few);
      CHECK(Contraction(pc, 20) < 0.7);
      PoisePCDestroy(&pc);
      int its = Iterations(A, "cg", "amg");
      if (k == 0) first = its;
      CHECK(its > 0 && its <= 20 && its <= first + 6);
      PoiseMatDestroy(&A);
    }
}

/*
  Of degree 4 on tridiag(-1, 2, -1), by its eigenvectors. D^-1 A has the eigenvalues 1 - cos(angle), lambda is
  2. Without weights w steps leave p_w = sin((2 w + 1) angle / 2) / (2 w + 1) / sin(angle / 2) of an error
  (Chebyshev polynomials of the fourth kind). Step w has its weight.
*/
static double Smoothed(double angle)
{
  static const double weight[] = {1.00391310427285, 1.04035811188593, 1.14863498546254, 1.3826886924100};
  double z = 0, before = 1, mu = 1 - cos(angle);
  for (int w = 1; w <= 4; w++) {
    double p = sin((2 * w + 1) * angle / 2) / (2 * w + 1) / sin(angle / 2);
    z += weight[w - 1] * (before - p) / mu;
    before = p;
  }
  return z / 2; /* D = 2 */
}

/* lambda is a bound, and close, where no sum of a row is: of tridiag(-1, 2, -1) in nodes of two rows. With D
   of the nodes' blocks, I - D^-1 A joins odd nodes with even ones alone, so its eigenvalues are +-mu. The
   largest mu is nearly 1 here, and so that of D^-1 A is 2. */
static void TestSpectrum(PoiseContext ctx)
{
  PoiseMat A = GridOf(ctx, (Grid){.dim = 1, .k = 5000});
  CHECK_OK(PoiseMatSetBlockSize(A, 2));
  PoisePC pc = AmgOf(A, "");
  double lambda = Made(pc)->level[0].lambda;
  CHECK(Made(pc)->level[0].node == 2 && lambda >= 2 && lambda <= 2.2);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

static double angle_now;
static double Sine(PoiseInt i)
{
  return sin(angle_now * (double)(i + 1));
}

static void TestSmoother(PoiseContext ctx)
{
  const int k = 5000, modes[] = {1, 700, 2500, 4100, 4999};
  PoiseMat A = GridOf(ctx, (Grid){.dim = 1, .k = k});
  PoisePC pc = AmgOf(A, "-x_pc_amg_levels 1");
  PoiseVec v, z;
  if (!CHECK_OK(PoiseMatCreateVecs(A, &v, &z))) return;
  CHECK(!Made(pc)->dense && Made(pc)->level[0].lambda == 2);
  for (int m = 0; m < 5; m++) {
    angle_now = acos(-1) * modes[m] / (k + 1);
    SampleSet(v, Sine);
    CHECK_OK(PoisePCApply(pc, v, z));
    CHECK_OK(PoiseVecAXPY(z, -Smoothed(angle_now), v));
    CHECK(NormOf(z) <= 1e-9 * NormOf(v));
  }
  SetOptions(ctx, "-x_pc_amg_levels 24");
  PoiseVecDestroy(&v);
  PoiseVecDestroy(&z);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* Of smoother isai: M^-1 is that of icc with approximate inverses, divided by no less than the largest
   eigenvalue of M^-1 A. */
static void TestInverses(PoiseContext ctx)
{
  SetOptions(ctx, "-x_pc_amg_smoother isai -x_pc_amg_precision double");
  PoiseMat A = GridOf(ctx, (Grid){.dim = 2, .k = 33, .vary = 0.9});
  PoisePC amg = AmgOf(A, few), icc;
  const AmgLevel *l = &Made(amg)->level[0];
  PoiseVec v, y, half, z;
  if (!CHECK(l->lower && l->upper) || !CHECK_OK(PoisePCCreate(ctx, &icc))) return;
  CHECK_OK(PoiseMatCreateVecs(A, &v, &y));
  CHECK_OK(PoiseMatCreateVecs(A, &half, &z));
  SetOptions(ctx, "-y_pc_type icc -y_pc_factor_triangles isai -y_pc_factor_setup_sweeps 2");
  CHECK_OK(PoisePCSetOptionsPrefix(icc, "y_"));
  CHECK_OK(PoisePCSetOperator(icc, A));
  CHECK_OK(PoisePCSetFromOptions(icc));
  CHECK_OK(PoiseVecSetRandom(v, 7));
  double before = 1, after = 0;
  for (int step = 0; step < 200; step++) { /* of the power method */
    CHECK_OK(PoiseVecScale(v, 1 / NormOf(v)));
    CHECK_OK(PoiseMatMult(A, v, y));
    CHECK_OK(PoiseVecDot(v, y, &before));
    CHECK_OK(PoiseMatMult(l->lower, y, half));
    CHECK_OK(PoiseMatMult(l->upper, half, v));
    CHECK_OK(PoisePCApply(icc, y, z));
    CHECK_OK(PoiseVecDot(y, v, &after));
    CHECK_OK(PoiseVecAXPY(z, -l->largest, v));
    CHECK(NormOf(z) <= 1e-13 * l->largest * NormOf(v));
  }
  CHECK(after / before <= 1 && after / before >= 0.8);
  PoiseVec *const all[] = {&v, &y, &half, &z};
  for (int k = 0; k < 4; k++) PoiseVecDestroy(all[k]);
  PoisePCDestroy(&icc);
  PoisePCDestroy(&amg);
  PoiseMatDestroy(&A);
  if (CHECK_OK(Springs(ctx, BeamOf(2, false, "bcsr"), &A))) {
    CHECK_OK(PoisePCCreate(ctx, &amg));
    CHECK_OK(PoisePCSetOptionsPrefix(amg, "x_"));
    CHECK_OK(PoisePCSetType(amg, "amg"));
    CHECK_OK(PoisePCSetFromOptions(amg));
    CHECK_OK(PoisePCSetOperator(amg, A));
    CHECK_ERR(PoisePCSetUp(amg), POISE_ERR_UNSUPPORTED,
              "-x_pc_amg_smoother isai takes numbers, and the matrix has blocks of 2 x 2: use -mat_type csr");
    PoisePCDestroy(&amg);
  }
  PoiseMatDestroy(&A);
  SetOptions(ctx, "-x_pc_amg_smoother auto -x_pc_amg_precision single");
}

/* A small system is solved at once; so is one of 0 rows. */
static void TestSmall(PoiseContext ctx)
{
  for (int n = 0; n <= 40; n = n < 3 ? n + 1 : n * 6) {
    PoiseMat A;
    PoiseVec x, b, z;
    if (!CHECK_OK(PoiseMatCreate(ctx, n, n, n, n, &A))) return;
    for (PoiseInt i = 0; i < n; i++) /* dense */
      for (PoiseInt j = 0; j < n; j++)
        CHECK_OK(PoiseMatAddBlock(A, 1, &i, 1, &j,
                                  &(double){i == j ? n + 1 : -0.5 - 0.4 * TestRandom(3, (uint64_t)(i * j))}));
    CHECK_OK(PoiseMatAssemble(A));
    PoisePC pc = AmgOf(A, "-x_pc_amg_coarse_size 600");
    if (CHECK_OK(PoiseMatCreateVecs(A, &x, &b)) && CHECK_OK(PoiseVecDuplicate(x, &z))) {
      SampleFill(x, 1);
      CHECK_OK(PoiseMatMult(A, x, b));
      CHECK_OK(PoisePCApply(pc, b, z));
      CHECK_OK(PoiseVecAXPY(z, -1, x));
      CHECK_NEAR(NormOf(z), 0, 1e-12);
    }
    PoiseBytes held;
    PoisePrediction p;
    CHECK_OK(PoisePCBytes(pc, &held));
    CHECK_OK(PoisePCPredictBytes(pc, NULL, &p));
    CHECK(!p.beyond && p.least.device == held.device && p.most.device == held.device);
    CHECK(p.least.host == held.host && p.most.host == held.host);
    PoiseVecDestroy(&x);
    PoiseVecDestroy(&b);
    PoiseVecDestroy(&z);
    PoisePCDestroy(&pc);
    if (n > 2) { /* all neighbours of all: one aggregate */
      pc = AmgOf(A, "-x_pc_amg_coarse_size 4");
      CheckSpd(pc);
      PoisePCDestroy(&pc);
      CHECK(Iterations(A, "cg", "amg") <= n);
    }
    PoiseMatDestroy(&A);
  }
}

/* Rows have nothing but their diagonals: the smoother alone is left, which is exact but for a factor. */
static void TestDiagonal(PoiseContext ctx)
{
  const PoiseInt n = 5000;
  PoiseMat A;
  char text[4096];
  if (!CHECK_OK(PoiseMatCreate(ctx, n, n, n, n, &A))) return;
  for (PoiseInt i = 0; i < n; i++)
    CHECK_OK(PoiseMatAddBlock(A, 1, &i, 1, &i, &(double){1.5 + TestRandom(1, (uint64_t)i)}));
  CHECK_OK(PoiseMatAssemble(A));
  PoisePC pc = AmgOf(A, few);
  CHECK(Made(pc)->count == 1 && !Made(pc)->dense);
  TEST_PRINTED(ctx, text, sizeof text, PoisePCView(pc));
  CHECK(strstr(text, "rows are dominated by their diagonals") && strstr(text, "the last level is smoothed"));
  CheckSpd(pc);
  CHECK(Iterations(A, "cg", "amg") <= 2);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* tridiag(-1, d, -1) of 3000 rows. */
static void SetChain(PoiseMat A, double d)
{
  const PoiseInt n = A->rows->N;
  for (PoiseInt i = 0; i < n; i++) {
    const PoiseInt rows[] = {i, i, i}, cols[] = {i, i > 0 ? i - 1 : i + 1, i + 1};
    const double entries[] = {d, -1, -1};
    CHECK_OK(PoiseMatSetEntries(A, i > 0 && i + 1 < n ? 3 : 2, rows, cols, entries));
  }
  CHECK_OK(PoiseMatAssemble(A));
}

/*
  Of tridiag(-1, 3, -1) D^-1 A has eigenvalues 1 - 2/3 cos(angle), from 1/3 to 5/3 by the sums of rows. So
  the Chebyshev iteration of degree 4 leaves T_4(cos(angle)) / T_4(1.5) = cos(4 angle) / 23.5 of an error.
  With new values that are not dominated there are levels.
*/
static void TestDominated(PoiseContext ctx)
{
  const int n = 3000, modes[] = {1, 700, 1500, 2222, 2999};
  PoiseMat A;
  PoiseVec v, z;
  if (!CHECK_OK(PoiseMatCreate(ctx, n, n, n, n, &A))) return;
  SetChain(A, 3);
  PoisePC pc = AmgOf(A, few);
  if (!CHECK_OK(PoiseMatCreateVecs(A, &v, &z))) return;
  CHECK(Made(pc)->count == 1 && !Made(pc)->dense && Made(pc)->ended == END_DOMINATED);
  for (int m = 0; m < 5; m++) {
    angle_now = acos(-1) * modes[m] / (n + 1);
    SampleSet(v, Sine);
    CHECK_OK(PoisePCApply(pc, v, z));
    double eigenvalue = 3 - 2 * cos(angle_now);
    CHECK_OK(PoiseVecAXPY(z, -(1 - cos(4 * angle_now) / 23.5) / eigenvalue, v));
    CHECK(NormOf(z) <= 1e-9 * NormOf(v) / eigenvalue);
  }
  CheckSpd(pc);
  SetChain(A, 2);
  CHECK_OK(PoisePCSetUp(pc));
  CHECK(Made(pc)->count > 1 && Made(pc)->ended == END_NONE);
  CHECK(Digest(pc) == Afresh(A, few));
  PoiseVecDestroy(&v);
  PoiseVecDestroy(&z);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* ---- null spaces, boundary conditions, pieces ------------------------------------------------- */

static void TestSingular(PoiseContext ctx)
{
  for (int pieces = 1; pieces <= 2; pieces++)
    for (int attached = 0; attached < 3 - pieces; attached++) {
      PoiseMat A = GridOf(ctx, (Grid){.dim = 2, .k = 30, .neumann = true, .cut = pieces > 1 ? 451 : 0});
      PoisePC pc = AmgOf(A, few);
      CHECK_INT(Made(pc)->bottom.skipped, pieces); /* a constant each */
      if (attached) CHECK_OK(PoiseMatSetNullSpace(A, 1, 0, NULL));
      int its = Iterations(A, "cg", "amg");
      CHECK(its > 0 && its <= 25);
      PoisePCDestroy(&pc);
      PoiseMatDestroy(&A);
    }
}

/* Rows that are kept as the identity change nothing elsewhere. */
static void TestIdentity(PoiseContext ctx)
{
  PoiseMat A = GridOf(ctx, (Grid){.dim = 2, .k = 40, .vary = 0.5, .identity = true});
  PoisePC pc = AmgOf(A, few);
  const int32_t *aggregate;
  Buffer of; /* what is read stays the preconditioner's */
  if (!CHECK_OK(poiseBufferDuplicate(&Made(pc)->level[0].aggregate, &of)) ||
      !CHECK_OK(poiseBufferRead(&of, HOST, &aggregate)))
    return;
  for (int i = 0; i < 80; i++) CHECK_INT(aggregate[i], -1);
  poiseBufferDestroy(&of);
  CheckSpd(pc);
  PoisePCDestroy(&pc);
  CHECK(Iterations(A, "cg", "amg") <= 22);
  CHECK_OK(PoiseMatScale(A, -1)); /* negative definite: M is too */
  CHECK(Iterations(A, "cg", "amg") <= 22);
  PoiseMatDestroy(&A);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static void TestBeam(PoiseContext ctx)
{
  static const char *const types[] = {"csr", "bcsr"};
  SetOptions(ctx, few);
  for (int dim = 2; dim <= 3; dim++) {
    int its[2];
    for (int t = 0; t < 2; t++) {
      PoiseMat A;
      if (!CHECK_OK(Springs(ctx, BeamOf(dim, false, types[t]), &A))) return;
      int plain = Iterations(A, "cg", "pbjacobi"), without = Iterations(A, "cg", "amg");
      AttachMotions(A, BeamOf(dim, false, NULL));
      PoisePC pc = AmgOf(A, few);
      CHECK(Made(pc)->count >= 2);
      CHECK_INT(Made(pc)->level[1].node, dim * (dim + 1) / 2);
      CheckSpd(pc);
      PoisePCDestroy(&pc);
      its[t] = Iterations(A, "cg", "amg");
      CHECK(3 * its[t] <= plain && its[t] < without);
      PoiseMatDestroy(&A);
    }
    CHECK_INT(its[0], its[1]);
  }
}

/* Scalars with a block size are copied to blocks, where these are smaller: then all is as if A had blocks. */
static PoiseMat First(PoisePC pc)
{
  const Amg *amg = Made(pc);
  return poiseAmgIsRedundant(amg, 0) ? amg->redundant.A : amg->level[0].A;
}

static void TestCopy(PoiseContext ctx)
{
  static const char *const types[] = {"csr", "bcsr"};
  uint64_t digest[2][2];
  PoiseMat A;
  PoisePC pc;
  SetOptions(ctx, few);
  for (int t = 0; t < 2; t++) {
    if (!CHECK_OK(Springs(ctx, BeamOf(3, false, types[t]), &A))) return;
    AttachMotions(A, BeamOf(3, false, NULL));
    pc = AmgOf(A, "-x_pc_amg_precision double");
    digest[t][0] = Digest(pc);
    CHECK_INT(First(pc)->csr.b, 3);
    CHECK((First(pc) == A) == (t == 1));
    CHECK_OK(PoiseMatScale(A, 2));
    digest[t][1] = Digest(pc);
    CHECK(Made(pc)->refreshed);
    PoisePCDestroy(&pc);
    CheckRefresh(A, "-x_pc_amg_precision single", AMG_VALUES);
    PoiseMatDestroy(&A);
  }
  CHECK(digest[0][0] == digest[1][0] && digest[0][1] == digest[1][1] && digest[0][0] != digest[0][1]);
  A = GridOf(ctx, (Grid){.dim = 2, .k = 84}); /* by twos of rows, also on 3 and 7 ranks */
  CHECK_OK(PoiseMatSetBlockSize(A, 2));       /* its blocks are half empty */
  pc = AmgOf(A, few);
  CHECK(First(pc) == A);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* Without supports the coarsest matrix has the rigid motions as its null space, and no more. */
static void TestFree(PoiseContext ctx)
{
  for (int dim = 2; dim <= 3; dim++) {
    PoiseMat A;
    if (!CHECK_OK(Springs(ctx, BeamOf(dim, true, "bcsr"), &A))) return;
    AttachMotions(A, BeamOf(dim, false, NULL));
    PoisePC pc = AmgOf(A, few);
    CHECK(Made(pc)->count >= 2);
    CHECK_INT(Made(pc)->bottom.skipped, dim * (dim + 1) / 2);
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
}

/* ---- not symmetric --------------------------------------------------------------------------- */

static void TestNonsymmetric(PoiseContext ctx)
{
  PoiseMat A = GridOf(ctx, (Grid){.dim = 2, .k = 40, .vary = 0.3, .wind = 0.5});
  PoisePC pc = AmgOf(A, few);
  CHECK(Made(pc)->count > 1 && Made(pc)->bottom.lu);
  PoisePCDestroy(&pc);
  CHECK(Iterations(A, "gmres", "amg") <= 30);
  CHECK(Iterations(A, "bicgstab", "amg") <= 20);
  SetOptions(ctx, "-x_pc_amg_smoother isai -x_pc_amg_degree 1");
  CHECK(Iterations(A, "gmres", "amg") <= 15);
  CHECK(Iterations(A, "bicgstab", "amg") <= 8);
  SetOptions(ctx, "-x_pc_amg_smoother sor");
  CHECK(Iterations(A, "gmres", "amg") <= 20);
  CHECK(Iterations(A, "bicgstab", "amg") <= 12);
  SetOptions(ctx, "-x_pc_amg_smoother auto -x_pc_amg_degree 0");
  PoiseMatDestroy(&A);
}

/* Upwind differences against any wind: the restriction is made of A^T. */
static void TestWind(PoiseContext ctx)
{
  const double winds[] = {0.2, 2, 50, 1e4};
  SetOptions(ctx, "-x_pc_amg_coarse_size 20");
  for (int dim = 2; dim <= 3; dim++)
    for (int k = 0; k < 4; k++) {
      PoiseMat A = GridOf(ctx, (Grid){.dim = dim, .k = dim == 2 ? 90 : 20, .wind = winds[k]});
      if (!A) return;
      int its = Iterations(A, "gmres", "amg");
      CHECK(its > 0 && its <= 24);
      its = Iterations(A, "bicgstab", "amg");
      CHECK(its > 0 && its <= 16);
      PoiseMatDestroy(&A);
    }
}

/* Levels of nonsymmetric A follow its values, and what is symmetric but for held values passes for it. */
static void TestOdd(PoiseContext ctx)
{
  static const char *const refresh[] = {"-x_pc_amg_refresh values", "-x_pc_amg_refresh interpolation",
                                        "-x_pc_amg_refresh values -x_pc_amg_cycle v"}; /* the last in fp32 */
  PoiseMat A = GridOf(ctx, (Grid){.dim = 2, .k = 40, .vary = 0.3, .wind = 3});
  for (int way = 0; way < 3; way++) {
    PoisePC pc = AmgOf(A, refresh[way]);
    uint64_t first = Digest(pc);
    CHECK(Made(pc)->way.odd && Made(pc)->single == (way == 2));
    CHECK_OK(PoiseMatScale(A, 2));
    CHECK(Digest(pc) != first);
    CHECK(Made(pc)->refreshed);
    CHECK_OK(PoiseMatScale(A, 0.5));
    CHECK(Digest(pc) == first);
    PoisePCDestroy(&pc);
  }
  PoiseMatDestroy(&A);
  SetOptions(ctx, "-x_pc_amg_cycle auto");
  A = GridOf(ctx, (Grid){.dim = 2, .k = 40});
  for (PoiseInt i = A->rows->begin; i < A->rows->begin + A->rows->n; i++) { /* every fifth value is given */
    const PoiseInt near[] = {i % 40 ? i - 1 : -1, (i + 1) % 40 ? i + 1 : -1, i - 40, i + 40};
    for (int e = 0; e < 4 && i % 5 == 2; e++)
      if (near[e] >= 0 && near[e] < 1600) CHECK_OK(PoiseMatSetEntries(A, 1, &i, &near[e], &(double){0}));
  }
  CHECK_OK(PoiseMatAssemble(A));
  PoisePC pc = AmgOf(A, refresh[0]);
  CHECK(!Made(pc)->way.odd);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* Upwind differences of two unknowns. Blocks on the diagonal and off it do not commute. */
static PoiseMat PairsOf(PoiseContext ctx, const char *type)
{
  const PoiseInt k = 40;
  const double on[] = {7, 3, -2, 8}, off[] = {1, -0.2, 0.3, 1.1};
  PoiseMat A;
  if (!CHECK_OK(PoiseMatCreate(ctx, 2 * k * k, 2 * k * k, 2 * k * k, 2 * k * k, &A))) return NULL;
  CHECK_OK(PoiseMatSetBlockSize(A, 2));
  for (PoiseInt i = 0; i < k * k; i++)
    for (PoiseInt at = 0; at < 5; at++) {
      PoiseInt x = i % k + (at == 1) - (at == 2), y = i / k + (at == 3) - (at == 4), j = y * k + x;
      double tile[4];
      if (x < 0 || x >= k || y < 0 || y >= k) continue;
      for (int e = 0; e < 4; e++) tile[e] = at == 0 ? on[e] : (at == 2 ? -4 : -1) * off[e];
      CHECK_OK(
          PoiseMatAddBlock(A, 2, (PoiseInt[]){2 * i, 2 * i + 1}, 2, (PoiseInt[]){2 * j, 2 * j + 1}, tile));
    }
  CHECK_OK(PoiseMatAssemble(A));
  CHECK_OK(PoiseMatSetType(A, type));
  return A;
}

/* The restriction for A is the prolongation for A^T, transposed, but for omega: lambda is estimated. */
static void CheckTurned(PoiseMat A)
{
  PoiseMat T;
  PoiseVec u, v, w;
  double size, product;
  if (!CHECK_OK(PoiseMatTranspose(A, &T))) return;
  PoisePC of = AmgOf(A, few), turned = AmgOf(T, few);
  const AmgLevel *l = &Made(of)->level[0], *t = &Made(turned)->level[0];
  CHECK_NEAR(l->lambda, t->lambda, 0.02 * l->lambda);
  CHECK_OK(PoiseMatCreateVecs(t->P, &u, &v));
  CHECK_OK(PoiseVecDuplicate(u, &w));
  CHECK_OK(PoiseVecSetRandom(u, 5));
  CHECK_OK(PoiseMatMult(t->P, u, v));
  CHECK_OK(PoiseVecDot(v, v, &size));
  CHECK_OK(PoiseMatMult(l->R, v, w));
  CHECK_OK(PoiseVecDot(u, w, &product));
  CHECK_NEAR(product, size, 0.01 * size);
  CHECK_OK(PoiseVecDestroy(&u));
  CHECK_OK(PoiseVecDestroy(&v));
  CHECK_OK(PoiseVecDestroy(&w));
  PoisePCDestroy(&of);
  PoisePCDestroy(&turned);
  PoiseMatDestroy(&T);
}

/* In blocks and as numbers the hierarchy is the same. */
static void TestPairs(PoiseContext ctx)
{
  int its[2];
  SetOptions(ctx, "-x_pc_amg_coarse_size 20");
  for (int t = 0; t < 2; t++) {
    PoiseMat A = PairsOf(ctx, t ? "bcsr" : "csr");
    if (!A) return;
    its[t] = Iterations(A, "gmres", "amg");
    SetOptions(ctx, "-x_pc_amg_precision double");
    CheckTurned(A);
    SetOptions(ctx, "-x_pc_amg_precision single");
    PoiseMatDestroy(&A);
  }
  CHECK(its[0] > 0 && its[0] <= 24);
  CHECK_INT(its[1], its[0]);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void TestErrors(PoiseContext ctx)
{
  PoiseMat A = GridOf(ctx, (Grid){.dim = 2, .k = 30});
  PoisePC pc = AmgOf(A, few);
  const double old = 4, bad[] = {0, NAN, INFINITY};
  int levels;
  CHECK_ERR(PoisePCAMGGetSizes(pc, 0, NULL, NULL, &levels), POISE_ERR_STATE, "before PoisePCSetUp");
  for (int k = 0; k < 3; k++) {
    CHECK_OK(PoiseMatSetEntries(A, 1, &(PoiseInt){77}, &(PoiseInt){77}, &bad[k]));
    CHECK_OK(PoiseMatAssemble(A));
    CHECK_ERR(PoisePCSetUp(pc), POISE_ERR_NUMERIC,
              "the diagonal entry of row 77 is zero, missing or not finite");
  }
  CHECK_OK(PoiseMatSetEntries(A, 1, &(PoiseInt){77}, &(PoiseInt){77}, &old));
  CHECK_OK(PoiseMatSetEntries(A, 1, &(PoiseInt){78}, &(PoiseInt){77}, &bad[1]));
  CHECK_OK(PoiseMatAssemble(A));
  CHECK_ERR(PoisePCSetUp(pc), POISE_ERR_NUMERIC, "row 78 has an entry that is not finite");
  CHECK_OK(PoiseMatSetEntries(A, 1, &(PoiseInt){78}, &(PoiseInt){77}, &(double){-1}));
  CHECK_OK(PoiseMatAssemble(A));
  CHECK_OK(PoisePCSetUp(pc)); /* as if nothing had been */
  CheckSpd(pc);
  CHECK_OK(PoisePCSetType(pc, "jacobi"));
  CHECK_ERR(PoisePCAMGGetSizes(pc, 0, NULL, NULL, &levels), POISE_ERR_STATE, "of type jacobi, not amg");
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* ---- new values ------------------------------------------------------------------------------ */

static void TestRefresh(PoiseContext ctx)
{
  static const char *const ways[] = {"values", "interpolation", "all"};
  SetOptions(ctx, few);
  for (int way = 0; way < 3; way++) {
    char options[80];
    snprintf(options, sizeof options, "-x_pc_amg_refresh %s", ways[way]);
    PoiseMat A = GridOf(ctx, (Grid){.dim = 2, .k = 30, .vary = 0.5});
    CheckRefresh(A, options, way);
    PoiseMatDestroy(&A);
    if (CHECK_OK(Springs(ctx, BeamOf(3, false, "bcsr"), &A))) {
      AttachMotions(A, BeamOf(3, false, NULL));
      CheckRefresh(A, options, way);
    }
    PoiseMatDestroy(&A);
    SetOptions(ctx, "-x_pc_amg_interpolation_degree 3");
    A = TurnedOf(ctx, (Turned){.k = 40, .degrees = 30, .across = 0.1});
    CheckRefresh(A, options, way);
    PoiseMatDestroy(&A);
    SetOptions(ctx, "-x_pc_amg_interpolation_degree 1 -x_pc_amg_smoother isai");
    for (int sweeps = 0; sweeps < 2; sweeps++) {
      A = GridOf(ctx, (Grid){.dim = 2, .k = 30, .vary = 0.5});
      CheckRefresh(A, options, way);
      PoiseMatDestroy(&A);
      SetOptions(ctx, "-x_pc_amg_smoother sor");
    }
    if (CHECK_OK(Springs(ctx, BeamOf(2, false, "bcsr"), &A))) CheckRefresh(A, options, way);
    PoiseMatDestroy(&A);
    SetOptions(ctx, "-x_pc_amg_smoother auto");
  }
  SetOptions(ctx, "-x_pc_amg_refresh values");
}

/* Connections of a square grid, strong in one direction. */
static void SetAnisotropic(PoiseMat A, PoiseInt k, bool across)
{
  int64_t *ptr, *col;
  double *val;
  if (!CHECK_OK(PoiseMatCopyCSR(A, &ptr, &col, &val))) return;
  for (int64_t i = 0; i < k * k; i++)
    for (int64_t e = ptr[i]; e < ptr[i + 1]; e++) {
      bool strong = llabs(col[e] - i) == (across ? k : 1);
      val[e] = col[e] == i ? 202 : strong ? -100 : -1;
    }
  CHECK_OK(PoiseMatSetValuesCSR(A, val));
  free(ptr), free(col), free(val);
}

/* Aggregates along the wrong direction take many iterations; with the next values new ones are made. */
static void TestStale(PoiseContext ctx)
{
  const int k = 60;
  PoiseMat A = GridOf(ctx, (Grid){.dim = 2, .k = k});
  PoiseVec b, x;
  PoiseKSP ksp;
  PoisePC pc;
  PoiseInt its[4];
  CHECK_OK(PoiseMatCreateVecs(A, &x, &b));
  CHECK_OK(PoiseVecSetRandom(b, 1));
  CHECK_OK(PoiseKSPCreate(ctx, &ksp));
  CHECK_OK(PoiseKSPSetOperators(ksp, A, NULL));
  CHECK_OK(PoiseKSPSetType(ksp, "cg"));
  CHECK_OK(PoiseKSPGetPC(ksp, &pc));
  CHECK_OK(PoisePCSetType(pc, "amg"));
  CHECK_OK(PoiseKSPSetTolerances(ksp, 1e-8, -1, -1, -1));
  for (int turn = 0; turn < 4; turn++) {
    SetAnisotropic(A, k, turn > 0);
    CHECK_OK(PoiseKSPSolve(ksp, b, x));
    its[turn] = PoiseKSPIterations(ksp);
    CHECK_INT(Made(pc)->refreshed, turn == 1 || turn == 3);
  }
  CHECK(its[1] > its[0] + its[0] / 2);
  CHECK(its[2] < its[0] + its[0] / 2);
  CHECK_INT(its[3], its[2]);
  PoiseKSPDestroy(&ksp);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&b);
  PoiseMatDestroy(&A);
}

/* Solves on aggregates that stay good, of values that change little: each refreshes them, whatever else it
   is. rtol: of the solves in turn; guess: they start from the answer before. */
static void CheckStays(PoiseContext ctx, const char *method, const double *rtol, bool guess)
{
  enum { TURNS = 4 };
  PoiseMat A = GridOf(ctx, (Grid){.dim = 2, .k = 60});
  PoiseVec b, x;
  PoiseKSP ksp;
  PoisePC pc;
  CHECK_OK(PoiseMatCreateVecs(A, &x, &b));
  CHECK_OK(PoiseVecSet(b, 1));
  CHECK_OK(PoiseKSPCreate(ctx, &ksp));
  CHECK_OK(PoiseKSPSetOptionsPrefix(ksp, "x_"));
  CHECK_OK(PoiseKSPSetOperators(ksp, A, NULL));
  CHECK_OK(PoiseKSPSetType(ksp, method));
  CHECK_OK(PoiseKSPGetPC(ksp, &pc));
  CHECK_OK(PoisePCSetType(pc, "amg"));
  CHECK_OK(PoiseKSPSetFromOptions(ksp));
  CHECK_OK(PoiseKSPSetInitialGuessNonzero(ksp, guess));
  for (int turn = 0; turn < TURNS; turn++) {
    CHECK_OK(PoiseKSPSetTolerances(ksp, rtol[turn], -1, -1, -1));
    CHECK_OK(PoiseKSPSolve(ksp, b, x));
    CHECK(PoiseKSPConvergedReason(ksp) > 0);
    CHECK_INT(Made(pc)->refreshed, turn > 0);
    CHECK(!poiseAmgIsStale(Made(pc)));
    CHECK_OK(PoiseMatShift(A, 1e-4));
    CHECK_OK(PoiseMatScale(A, 1.1));
  }
  PoiseKSPDestroy(&ksp);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&b);
  PoiseMatDestroy(&A);
}

/* The estimate of eigenvalues is no solve, and a loose tolerance is no better M. */
static void TestStays(PoiseContext ctx)
{
  static const double same[] = {1e-8, 1e-8, 1e-8, 1e-8}, turns[] = {1e-2, 1e-12, 1e-3, 1e-10};
  SetOptions(ctx, few);
  CheckStays(ctx, "chebyshev", same, false);
  CheckStays(ctx, "chebyshev", turns, false);
  CheckStays(ctx, "cg", turns, false);
  CheckStays(ctx, "cg", turns, true);
  CheckStays(ctx, "gmres", turns, true);
}

/* A recorded loop follows new values: what the smoother and fp32 take from these is in its launches. */
static void TestRecorded(PoiseContext ctx)
{
  enum { RECORDED, EAGER, TURNS = 8 };
  static const char *const loops[] = {"-x_ksp_replay -1", "-x_ksp_replay 0"};
  PoiseMat A = GridOf(ctx, (Grid){.dim = 2, .k = 40});
  PoiseVec b, x[2];
  PoiseKSP ksp[2];
  PoisePC pc;
  SetOptions(ctx, few);
  CHECK_OK(PoiseMatCreateVecs(A, &x[0], &b));
  CHECK_OK(PoiseVecDuplicate(b, &x[1]));
  CHECK_OK(PoiseVecSetRandom(b, 1));
  for (int k = 0; k < 2; k++) {
    SetOptions(ctx, loops[k]);
    CHECK_OK(PoiseKSPCreate(ctx, &ksp[k]));
    CHECK_OK(PoiseKSPSetOptionsPrefix(ksp[k], "x_"));
    CHECK_OK(PoiseKSPSetOperators(ksp[k], A, NULL));
    CHECK_OK(PoiseKSPSetType(ksp[k], "cg"));
    CHECK_OK(PoiseKSPGetPC(ksp[k], &pc));
    CHECK_OK(PoisePCSetType(pc, "amg"));
    CHECK_OK(PoiseKSPSetFromOptions(ksp[k]));
  }
  for (int turn = 0; turn < TURNS; turn++) {
    for (int k = 0; k < 2; k++) CHECK_OK(PoiseKSPSolve(ksp[k], b, x[k]));
    CHECK_INT(Made(pc)->refreshed, turn > 0);
    CHECK_INT(PoiseKSPIterations(ksp[RECORDED]), PoiseKSPIterations(ksp[EAGER]));
    CHECK(SampleDigest(x[RECORDED]) == SampleDigest(x[EAGER]));
    CHECK_OK(turn % 2 ? PoiseMatShift(A, 0.1) : PoiseMatScale(A, 1.4));
  }
  for (int k = 0; k < 2; k++) CHECK_OK(PoiseKSPDestroy(&ksp[k]));
  for (int k = 0; k < 2; k++) CHECK_OK(PoiseVecDestroy(&x[k]));
  CHECK_OK(PoiseVecDestroy(&b));
  CHECK_OK(PoiseMatDestroy(&A));
}

/* ---- the same bits --------------------------------------------------------------------------- */

enum {
  BITS_GRID,
  BITS_DROPPED,
  BITS_SECOND,
  BITS_BEAM,
  BITS_BEAM_CSR,
  BITS_FREE,
  BITS_PLATE,
  BITS_PLATE_CSR,
  BITS_WIND,
  BITS_L1,
  BITS_ISAI,
  BITS_SOR,
  BITS_SCALED,
  BITS_STEPS,
  BITS
};

static PoiseMat MatrixOfBits(PoiseContext ctx, int which)
{
  PoiseMat A = NULL;
  Grid g = {.dim = 3,
            .k = 13,
            .vary = which == BITS_DROPPED || which == BITS_STEPS ? 40 : 0.9,
            .wind = which == BITS_WIND ? 1 : 0};
  if (which < BITS_BEAM || which >= BITS_WIND) {
    A = GridOf(ctx, g);
    if (which == BITS_SCALED) ScaleBy(A, Power);
    return A;
  }
  bool csr = which == BITS_BEAM_CSR || which == BITS_PLATE_CSR;
  Beam b = BeamOf(which == BITS_BEAM ? 3 : 2, which == BITS_FREE, csr ? "csr" : "bcsr");
  if (which == BITS_PLATE || which == BITS_PLATE_CSR) b.aspect = 10, b.width = 16;
  if (CHECK_OK(Springs(ctx, b, &A))) AttachMotions(A, b);
  return A;
}

/* Of the hierarchy, and of it with new values. */
static uint64_t BitsOf(PoiseContext ctx, int which)
{
  static const char *const options[BITS] = {[BITS_SECOND] = "-x_pc_amg_aggregate_min 3",
                                            [BITS_L1] = "-x_pc_amg_smoother jacobi",
                                            [BITS_ISAI] = "-x_pc_amg_smoother isai",
                                            [BITS_SOR] = "-x_pc_amg_smoother sor",
                                            [BITS_STEPS] = "-x_pc_amg_interpolation_degree 3"};
  PoiseMat A = MatrixOfBits(ctx, which);
  SetOptions(ctx, "-x_pc_amg_aggregate_min 0 -x_pc_amg_smoother chebyshev -x_pc_amg_coarse_size 20 "
                  "-x_pc_amg_interpolation_degree 1 "
                  "-x_pc_amg_precision double"); /* which levels have numbers in fp32 depends on the device */
  PoisePC pc = AmgOf(A, options[which] ? options[which] : few);
  uint64_t digest = Digest(pc);
  CHECK(Made(pc)->count > 1);
  bool drops = which == BITS_DROPPED || which == BITS_STEPS || which == BITS_PLATE || which == BITS_PLATE_CSR;
  CHECK(!drops || Made(pc)->level[0].graph.dropped > 0);
  CHECK(Made(pc)->scaled == (which == BITS_SCALED));
  CHECK((Made(pc)->level[0].steps > 0) == (which == BITS_STEPS));
  ScaleBy(A, Power);
  digest += 31 * Digest(pc);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
  return digest;
}

/* Host, mock and GPU make the same hierarchy, for any number of threads. */
static void TestBits(PoiseContext ctx)
{
  PoiseContext own;
  int threads = ctx->device->threads;
  uint64_t digest[BITS], applied = 0;
  PoiseMat A = GridOf(ctx, (Grid){.dim = 3, .k = 19, .vary = 0.9});
  for (int t = 1; t <= 4; t++) {
    ctx->device->threads = t;
    for (int which = 0; which < BITS; which++) {
      uint64_t now = BitsOf(ctx, which);
      if (t == 1) digest[which] = now;
      CHECK(digest[which] == now);
    }
    PoisePC pc = AmgOf(A, few);
    if (t == 1) applied = Apply(pc);
    CHECK(Apply(pc) == applied);
    PoisePCDestroy(&pc);
  }
  ctx->device->threads = threads;
  PoiseMatDestroy(&A);
  if (CHECK_OK(TestInitialize((PoiseInit){.serial = 1}, SampleIsAway(ctx) ? "-device host" : "-device mock",
                              &own))) {
    bool chooses = poiseModelIsGpu(&ctx->device->model); /* which levels have entries enough for sor */
    for (int which = 0; which < BITS; which++)
      if (which != BITS_SOR || !chooses) CHECK(BitsOf(own, which) == digest[which]);
    CHECK_OK(PoiseFinalize(&own));
  }
}

/* A captured loop has the cycle in it, and gives the same as one by one. */
static void TestLoop(PoiseContext ctx)
{
  Problem p, q;
  SetOptions(ctx, few);
  for (Problem *s = &p;; s = &q) {
    if (!ProblemOpenGrid(ctx, 40, 30, 1, "cg", "amg", s)) return;
    CHECK_OK(PoisePCSetOptionsPrefix(s->pc, "x_"));
    CHECK_OK(PoisePCSetFromOptions(s->pc));
    if (s == &q) s->ksp->options.replay = 0;
    CHECK_OK(PoiseKSPSetUp(s->ksp));
    ctx->device->forbid_copies = SampleIsAway(ctx) && s == &p;
    CHECK_OK(PoiseKSPSolve(s->ksp, s->b, s->x));
    ctx->device->forbid_copies = false;
    if (s == &q) break;
  }
  CHECK_INT(PoiseKSPIterations(p.ksp), PoiseKSPIterations(q.ksp));
  CHECK(SampleDigest(p.x) == SampleDigest(q.x));
  ProblemClose(&p);
  ProblemClose(&q);
}

/* ---- what is strong -------------------------------------------------------------------------- */

/* Bilinear elements on k x k points of cells that are `aspect` times as long as wide. Beside these points u
   is 0. natural: but not at the far side and both ends of the columns, where the points are the last ones. */
static PoiseMat Cells(PoiseContext ctx, PoiseInt k, double aspect, bool natural)
{
  const double stiff[] = {-1, 2, -1}, mass[] = {1. / 6, 4. / 6, 1. / 6};
  PoiseMat A;
  if (!CHECK_OK(PoiseMatCreate(ctx, k * k, k * k, k * k, k * k, &A))) return NULL;
  for (PoiseInt i = 0; i < k * k; i++)
    for (PoiseInt at = 0; at < 9; at++) {
      PoiseInt xi = i % k, yi = i / k, dx = at % 3 - 1, dy = at / 3 - 1, x = xi + dx, y = yi + dy,
               j = y * k + x;
      double halfx = natural && dx == 0 && xi == k - 1 ? 0.5 : 1, /* one cell, not two */
          halfy = natural && dy == 0 && yi % (k - 1) == 0 ? 0.5 : 1,
             a = halfx * halfy *
                 (aspect * stiff[at / 3] * mass[at % 3] + mass[at / 3] * stiff[at % 3] / aspect);
      if (x >= 0 && x < k && y >= 0 && y < k) CHECK_OK(PoiseMatAddBlock(A, 1, &i, 1, &j, &a));
    }
  CHECK_OK(PoiseMatAssemble(A));
  return A;
}

/* Aggregates lie along the short sides of cells, whatever these are, at natural boundaries too. */
static void TestStretched(PoiseContext ctx)
{
  const double aspects[] = {1, 3, 10, 100, 0.01};
  int first = 0;
  SetOptions(ctx, few);
  for (int k = 0; k < 10; k++) {
    PoiseMat A = Cells(ctx, 60, aspects[k / 2], k % 2);
    if (!A) return;
    int its = Iterations(A, "cg", "amg");
    if (k == 0) first = its;
    CHECK(its > 0 && its <= 2 * first);
    PoiseMatDestroy(&A);
  }
}

/* Without supports the rigid motions remain the null space of all levels, as weak connections go on with
   them, and all nodes are in aggregates. In very long cells they are lost in rounding in the end. */
static void CheckMotions(PoiseContext ctx, Beam b)
{
  PoiseMat A;
  b.free = true;
  if (!CHECK_OK(Springs(ctx, b, &A))) return;
  AttachMotions(A, b);
  PoisePC pc = AmgOf(A, "-x_pc_amg_coarse_size 100");
  CHECK(Made(pc)->count >= 2);
  if (b.aspect > 0.05 && b.aspect < 20) CHECK_INT(Made(pc)->bottom.skipped, 3);
  for (int k = 0; k + 1 < Made(pc)->count; k++) {
    const AmgLevel *l = &Made(pc)->level[k];
    CHECK_INT(l->members, l->A->rows->n / l->node);
  }
  CHECK(b.aspect == 1 || Made(pc)->level[0].graph.dropped > 0);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* The same of elasticity. */
static void TestElastic(PoiseContext ctx)
{
  const double aspects[] = {1, 3, 10, 100, 0.1};
  int first = 0;
  for (int k = 0; k < 10; k++) {
    PoiseMat A;
    Beam b = {.dim = 2, .length = 40, .width = 40, .type = k % 2 ? "csr" : "bcsr", .aspect = aspects[k / 2]};
    SetOptions(ctx, few);
    if (!CHECK_OK(Springs(ctx, b, &A))) return;
    AttachMotions(A, b);
    int its = Iterations(A, "cg", "amg");
    if (k == 0) first = its;
    CHECK(its > 0 && its <= 2 * first);
    PoiseMatDestroy(&A);
    CheckMotions(ctx, b);
  }
}

/* The Laplacian, and a little of the identity, of a graph with these edges (i, to(i, e), size(i, e)). */
static PoiseMat EdgesOf(PoiseContext ctx, PoiseInt n, int edges,
                        PoiseInt (*to)(PoiseInt n, PoiseInt i, int e), double (*size)(PoiseInt i, int e))
{
  PoiseMat A;
  if (!CHECK_OK(PoiseMatCreate(ctx, n, n, n, n, &A))) return NULL;
  for (PoiseInt i = 0; i < n; i++) {
    double least = 1e-3;
    CHECK_OK(PoiseMatAddBlock(A, 1, &i, 1, &i, &least));
    for (int e = 0; e < edges; e++) {
      PoiseInt ends[] = {i, to(n, i, e)};
      double a = size(i, e), tile[] = {a, -a, -a, a};
      if (ends[1] >= 0 && ends[1] != i) CHECK_OK(PoiseMatAddBlock(A, 2, ends, 2, ends, tile));
    }
  }
  CHECK_OK(PoiseMatAssemble(A));
  return A;
}

static PoiseInt Anywhere(PoiseInt n, PoiseInt i, int e)
{
  double r = 0.5 + 0.5 * TestRandom(3, (uint64_t)(i * 16 + e));
  return (PoiseInt)((double)(n - 1) * r * r * r);
}

static double Alike(PoiseInt i, int e)
{
  (void)i, (void)e;
  return 1;
}

static double Entries(const Amg *amg, int k)
{
  return (double)amg->level[k].A->csr.nz;
}

/* In a graph with hubs all are near to all, and smoothed interpolation would fill the levels. */
static void TestHubs(PoiseContext ctx)
{
  PoiseMat A = EdgesOf(ctx, 3000, 4, Anywhere, Alike);
  if (!A) return;
  PoisePC pc = AmgOf(A, few);
  const Amg *amg = Made(pc);
  double sum = 0;
  for (int k = 0; k < amg->count; k++) sum += Entries(amg, k);
  CHECK(amg->count >= 2 && !amg->level[0].smoothed && sum < 3 * Entries(amg, 0));
  CheckSpd(pc);
  PoisePCDestroy(&pc);
  int its = Iterations(A, "cg", "amg");
  CHECK(its > 0 && its <= 30);
  PoiseMatDestroy(&A);
}

/* ---- interpolation of more steps ------------------------------------------------------------- */

static const char once[] = "-x_pc_amg_interpolation_degree 1";

/* Diffusion in directions between those of the grid, which the strong neighbours of a point do not have. */
static void TestTurned(PoiseContext ctx)
{
  for (int degrees = 30; degrees <= 45; degrees += 15) {
    PoiseMat A = TurnedOf(ctx, (Turned){.k = 120, .degrees = degrees, .across = 1e-3});
    int its = Iterations(A, "cg", "amg");
    SetOptions(ctx, "-x_pc_amg_interpolation_degree 2");
    CHECK(Iterations(A, "cg", "amg") <= 0.85 * its);
    SetOptions(ctx, "-x_pc_amg_aggregate_min 3");
    CHECK(Iterations(A, "cg", "amg") <= 0.6 * its);
    PoisePC pc = AmgOf(A, few);
    CHECK_INT(Made(pc)->level[0].steps, 1);
    CheckSpd(pc);
    PoisePCDestroy(&pc);
    SetOptions(ctx, once);
    SetOptions(ctx, "-x_pc_amg_aggregate_min 0");
    PoiseMatDestroy(&A);
  }
}

static double Size(PoiseInt i)
{
  return exp(3 * TestRandom(8, (uint64_t)i));
}

/* D A D, where constants are far from the near null space: steps would enlarge P. */
static void TestEnlarged(PoiseContext ctx)
{
  PoiseMat A = GridOf(ctx, (Grid){.dim = 2, .k = 60});
  ScaleBy(A, Size);
  int its = Iterations(A, "cg", "amg");
  SetOptions(ctx, "-x_pc_amg_interpolation_degree 2");
  CHECK(Iterations(A, "cg", "amg") <= 1.15 * its);
  SetOptions(ctx, once);
  PoiseMatDestroy(&A);
}

/* What more steps need is one row a node, and one vector. */
static void TestRefused(PoiseContext ctx)
{
  PoiseMat A;
  if (!CHECK_OK(Springs(ctx, BeamOf(3, false, "bcsr"), &A))) return;
  PoisePC pc = AmgOf(A, "-x_pc_amg_interpolation_degree 2");
  CHECK_ERR(PoisePCSetUp(pc), POISE_ERR_UNSUPPORTED,
            "-x_pc_amg_interpolation_degree 2: only 1 where A has 3 rows a node and 3 vectors");
  SetOptions(ctx, once);
  CHECK_OK(PoisePCSetFromOptions(pc));
  CHECK_OK(PoisePCSetUp(pc));
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

static PoiseInt OnGrid(PoiseInt n, PoiseInt i, int e)
{
  const PoiseInt k = 40;
  return e == 0 ? (i % k + 1 < k ? i + 1 : -1) : i + k < n ? i + k : -1;
}

static double Wild(PoiseInt i, int e)
{
  return exp(4 * TestRandom(5, (uint64_t)(i * 2 + e)));
}

static PoiseInt OnRing(PoiseInt n, PoiseInt i, int e)
{
  return e == 0 ? (i + 1) % n : e == 1 ? (i + 2) % n : Anywhere(n, i, e);
}

/* In a graph without dimension a second step would fill the levels: there the first one is all. */
static void TestFull(PoiseContext ctx)
{
  PoiseMat A = EdgesOf(ctx, 3000, 3, OnRing, Alike);
  if (!A) return;
  PoisePC pc = AmgOf(A, "-x_pc_amg_interpolation_degree 4");
  const Amg *amg = Made(pc);
  CHECK(amg->count > 1 && amg->level[0].smoothed && amg->level[0].steps == 0);
  CHECK(Entries(amg, 1) < 4 * Entries(amg, 0));
  PoisePCDestroy(&pc);
  SetOptions(ctx, once);
  PoiseMatDestroy(&A);
}

/* Beside much larger connections too, a node's best one is strong, so that none is left out. */
static void TestWild(PoiseContext ctx)
{
  PoiseMat A = EdgesOf(ctx, 1600, 2, OnGrid, Wild);
  if (!A) return;
  PoisePC pc = AmgOf(A, few);
  CHECK_INT(Made(pc)->level[0].members, 1600);
  PoisePCDestroy(&pc);
  int its = Iterations(A, "cg", "amg");
  CHECK(its > 0 && its <= 40);
  PoiseMatDestroy(&A);
}

enum { SIDE = 90 };

static PoiseInt OnSquare(PoiseInt n, PoiseInt i, int e)
{
  return e == 0 ? (i % SIDE + 1 < SIDE ? i + 1 : -1) : i + SIDE < n ? i + SIDE : -1;
}

static bool IsStiff(PoiseInt cell)
{
  return TestRandom(11, (uint64_t)cell) > 0;
}

/* The harmonic mean of two cells of 1 or 1e6. */
static double Harmonic(PoiseInt i, int e)
{
  double a = IsStiff(i) ? 1e6 : 1, b = IsStiff(OnSquare(SIDE * SIDE, i, e)) ? 1e6 : 1;
  return 2 * a * b / (a + b);
}

/* The body that a stiff cell belongs to: the first of its cells, with paths halved on the way. */
static int32_t BodyOf(int32_t *body, int32_t cell)
{
  while (body[cell] != cell) cell = body[cell] = body[body[cell]];
  return cell;
}

static void FindBodies(int32_t *body)
{
  for (int32_t i = 0; i < SIDE * SIDE; i++) body[i] = i;
  for (int32_t i = 0; i < SIDE * SIDE; i++)
    for (int e = 0; e < 2; e++) {
      PoiseInt j = OnSquare(SIDE * SIDE, i, e);
      if (j >= 0 && IsStiff(i) && IsStiff((int32_t)j)) body[BodyOf(body, (int32_t)j)] = BodyOf(body, i);
    }
  for (int32_t i = 0; i < SIDE * SIDE; i++) body[i] = BodyOf(body, i);
}

/* A stiff cell alone is as well connected to soft ones as these are. */
static bool IsAlone(const int32_t *body, int32_t cell)
{
  bool alone = true;
  for (int32_t i = 0; i < SIDE * SIDE; i++) alone = alone && (i == cell || body[i] != body[cell]);
  return alone;
}

/* How many aggregates of level 0 have cells of several stiff bodies. */
static int MixedAggregates(const AmgLevel *l, const int32_t *body)
{
  Buffer of = {0};
  const int32_t *aggregate;
  int32_t *holds = malloc(((size_t)l->aggregates + 1) * sizeof *holds);
  int mixed = 0;
  for (int64_t a = 0; a < l->aggregates; a++) holds[a] = -1;
  if (CHECK_OK(poiseBufferDuplicate(&l->aggregate, &of)) && CHECK_OK(poiseBufferRead(&of, HOST, &aggregate)))
    for (int32_t i = 0; i < SIDE * SIDE; i++) {
      if (!IsStiff(i) || aggregate[i] < 0 || IsAlone(body, i)) continue;
      mixed += holds[aggregate[i]] >= 0 && holds[aggregate[i]] != body[i];
      holds[aggregate[i]] = body[i];
    }
  poiseBufferDestroy(&of);
  free(holds);
  return mixed;
}

/* Stiff bodies that soft cells alone connect stay apart, and each has a function of its own on the next
   level. */
static void TestBodies(PoiseContext ctx)
{
  int32_t *body = malloc(SIDE * SIDE * sizeof *body);
  PoiseMat A = EdgesOf(ctx, SIDE * SIDE, 2, OnSquare, Harmonic);
  if (!A) return;
  FindBodies(body);
  PoisePC pc = AmgOf(A, few);
  CHECK_INT(MixedAggregates(Made(pc)->level, body), 0);
  PoisePCDestroy(&pc);
  int its = Iterations(A, "cg", "amg");
  CHECK(its > 0 && its <= 40); /* 349 where bodies mix */
  PoiseMatDestroy(&A);
  free(body);
}

/* Of many rows some are looked at: wherever odd ones are that repeat, these are seen. */
static void TestOddSample(PoiseContext ctx)
{
  static const PoiseInt every[] = {4, 256, 20}, at[] = {1, 200, 1}, wide[] = {1, 56, 1};
  SetOptions(ctx, "-x_pc_amg_cycle auto");
  for (int k = 0; k < 3; k++) {
    PoiseMat A = GridOf(ctx, (Grid){.dim = 2, .k = 200});
    if (!A) return;
    for (PoiseInt i = A->rows->begin; i < A->rows->begin + A->rows->n; i++) {
      const PoiseInt j = i + 200;
      PoiseInt place = i % every[k];
      if (place >= at[k] && place < at[k] + wide[k] && j < 40000)
        CHECK_OK(PoiseMatSetEntries(A, 1, &i, &j, &(double){-1.5}));
    }
    CHECK_OK(PoiseMatAssemble(A));
    PoisePC pc = AmgOf(A, "-x_pc_amg_levels 2");
    CHECK_INT(Made(pc)->way.odd, k < 2);
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
  SetOptions(ctx, "-x_pc_amg_levels 24");
}

/* ---- fp32 ------------------------------------------------------------------------------------ */

static PoiseInt OnPartOfGrid(PoiseInt n, PoiseInt i, int e)
{
  PoiseInt j = OnGrid(n, i, e);
  return i / 2 % 7 == 3 || j / 2 % 7 == 3 ? -1 : j;
}

/* Where interpolation is not smoothed, where nodes have no neighbours, in blocks too, and with new values. */
static void TestPrecisionPlain(PoiseContext ctx)
{
  static const char *const ways[] = {"-x_pc_amg_type smoothed", "-x_pc_amg_type unsmoothed"};
  bool gpu = poiseModelIsGpu(&ctx->device->model); /* rows with hubs are too uneven there */
  for (int w = 0; w < 2; w++)
    for (int g = gpu; g < 3; g++) {
      PoiseMat A = g ? EdgesOf(ctx, 1600, 2, OnPartOfGrid, Wild) : EdgesOf(ctx, 3000, 4, Anywhere, Alike);
      if (!A) return;
      if (g == 2) CHECK_OK(PoiseMatSetBlockSize(A, 2)), CHECK_OK(PoiseMatSetType(A, "bcsr"));
      SetOptions(ctx, few);
      SetOptions(ctx, ways[w]);
      CheckAsGood(A, "cg", 1e-9, 0.2); /* M is symmetric to 7 digits, and iterations are many */
      PoisePC pc = AmgOf(A, ways[w]);
      const AmgLevel *l = Made(pc)->level;
      CHECK_INT(l->smoothed, w == 0 && g > 0);
      CHECK_INT(l->A->csr.b, g == 2 ? 2 : 0);
      CHECK(g ? l->members < l->A->rows->n / l->node : l->members == l->A->rows->n);
      PoisePCDestroy(&pc);
      CheckRefresh(A, ways[w], AMG_VALUES);
      PoiseMatDestroy(&A);
    }
  SetOptions(ctx, ways[0]);
}

/* ---- the last level -------------------------------------------------------------------------- */

/* Its inverse is cheap beside all the rest; but what has 600 rows itself is solved. */
static void TestCoarseSize(PoiseContext ctx)
{
  SetOptions(ctx, "-x_pc_amg_coarse_size 0");
  for (int k = 24; k < 200; k += 35) {
    PoiseMat A = GridOf(ctx, (Grid){.dim = 2, .k = k});
    if (!A) return;
    PoiseInt numbers;
    CHECK_OK(PoiseMatNonzeros(A, &numbers));
    PoisePC pc = AmgOf(A, "-x_pc_amg_levels 24");
    const Amg *amg = Made(pc);
    double rows = (double)amg->level[amg->count - 1].A->rows->N;
    CHECK(amg->dense && (amg->count == 1 ? rows <= 600 : pow(rows, 3) / 2 <= 20 * (double)numbers));
    CHECK_INT(amg->count == 1, k * k <= 600);
    CHECK_INT(amg->ended, END_NONE);
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
}

/* Minus the Laplacian of a ring: constants are its null space. */
static PoiseMat Ring(PoiseContext ctx, PoiseInt n)
{
  PoiseMat A;
  PoiseInt begin, m;
  PoiseSplit(ctx, n, &begin, &m);
  if (!CHECK_OK(PoiseMatCreate(ctx, m, m, n, n, &A))) return NULL;
  for (PoiseInt i = begin; i < begin + m; i++)
    CHECK_OK(
        PoiseMatAddBlock(A, 1, &i, 3, (PoiseInt[]){(i + n - 1) % n, i, (i + 1) % n}, (double[]){-1, 2, -1}));
  CHECK_OK(PoiseMatAssemble(A));
  return A;
}

/* A last level that is too large for a dense inverse: of A itself, of coarse levels, of new values, on ranks
   and on each. What is singular is smoothed. */
static void TestSparseBottom(PoiseContext ctx)
{
  static const struct {
    int k, levels;
    const char *options;
  } ways[] = {{70, 1, "-x_pc_amg_precision double"},
              {70, 1, "-x_pc_amg_precision single"},
              {70, 1, "-x_pc_amg_redundant_size 0"},
              {215, 2, "-x_pc_amg_redundant_size 0"},
              {215, 2, "-x_pc_amg_redundant_size -1"}};
  static const char *const sizes[] = {"-x_pc_amg_coarse_size 600", "-x_pc_amg_coarse_size 10000"};
  if (!poiseSuperLUIsThere()) TEST_SKIP("no SuperLU");
  for (int way = 0; way < 5; way++) {
    PoiseInt its[2] = {0};
    PoiseMat A = GridOf(ctx, (Grid){.dim = 2, .k = ways[way].k});
    if (!A) return;
    for (int s = 0; s < 2; s++) {
      SetOptions(ctx, ways[way].options);
      PoisePC pc = AmgOf(A, sizes[s]);
      const Amg *amg = Made(pc);
      CHECK(amg->dense && (amg->bottom.sparse != NULL) == s);
      CHECK(s ? amg->count == ways[way].levels : amg->count > 1);
      if (s) CHECK_OK(PoiseMatScale(A, 3));
      CheckSpd(pc);
      PoisePCDestroy(&pc);
      its[s] = Iterations(A, "cg", "amg");
    }
    CHECK(its[1] <= its[0] + 1 && (ways[way].levels > 1 || its[1] <= 2));
    PoiseMatDestroy(&A);
  }
  PoiseMat A = Ring(ctx, 5000);
  PoisePC pc = AmgOf(A, sizes[1]);
  const Amg *amg = Made(pc);
  CHECK(!amg->dense && !amg->bottom.sparse && !strcmp(amg->fallback, "its matrix is singular"));
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* What a fresh set-up takes, in bytes of A. Numbers of levels are held in one precision, but for
   interpolation that stays, and are not read in the other. */
static void CheckPeak(PoiseMat A, const char *options, double most)
{
  const Csr *c = &A->csr;
  bool cuda = strcmp(PoiseMatContext(A)->device->ops->name, "cuda") == 0; /* which also sorts in scratch */
  int64_t bytes = (int64_t)(c->ptr.bytes + c->col.bytes + c->val.bytes), scratch = cuda ? 64 << 20 : 0;
  PoisePC pc = AmgOf(A, options);
  const Amg *amg = Made(pc);
  const AmgLevel *l = amg->level;
  if (!CHECK(amg->peak > bytes && amg->peak <= (int64_t)(most * (double)bytes) + scratch))
    printf("  the peak is %.2f times A\n", (double)amg->peak / (double)bytes);
  CHECK_INT(poiseBufferBytes(&l[1].A->csr.val, DEVICE) > 0, !amg->single);
  CHECK_INT(poiseBufferBytes(&l[0].P->csr.val, DEVICE) > 0,
            !amg->single || amg->options.refresh == AMG_INTERPOLATION);
  Buffer values;
  const double *v;
  if (CHECK_OK(poiseBufferDuplicate(&l[1].A->csr.val, &values))) {
    if (amg->single)
      CHECK_ERR(poiseBufferRead(&values, HOST, &v), POISE_ERR_INTERNAL, "values, read after their release");
    else
      CHECK_OK(poiseBufferRead(&values, HOST, &v));
    poiseBufferDestroy(&values);
  }
  PoisePCDestroy(&pc);
}

static void TestPeak(PoiseContext ctx)
{
  static const double vary[] = {0, 0.9, 40}, most[] = {2.6, 3.1, 3.72};
  if (!SampleIsAway(ctx)) TEST_SKIP("memory of the host is not counted");
  SetOptions(ctx, few);
  int64_t before = poiseContextHome(ctx)->hooks.most_narrow;
  poiseContextHome(ctx)->hooks.most_narrow = INT32_MAX; /* as of large matrices */
  for (int g = 0; g < 3; g++) {
    PoiseMat A = GridOf(ctx, (Grid){.dim = 3, .k = 40, .vary = vary[g]});
    CHECK_OK(poiseMatReady(A));
    CheckPeak(A, "-x_pc_amg_precision single", most[g]);
    CheckPeak(A, "-x_pc_amg_refresh interpolation", 3.9);
    CheckPeak(A, "-x_pc_amg_precision double -x_pc_amg_refresh values", 3.9);
    SetOptions(ctx, "-x_pc_amg_precision single");
    PoiseMatDestroy(&A);
  }
  poiseContextHome(ctx)->hooks.most_narrow = before;
}

/* ---- without memory -------------------------------------------------------------------------- */

typedef struct Starved {
  const char *options;
  bool beam;
} Starved;

static PoiseErr SetUpAndRefresh(PoiseContext ctx, void *arg)
{
  const Starved *s = arg;
  PoiseMat A = NULL;
  PoiseErr e = s->beam ? Springs(ctx, BeamOf(2, false, "bcsr"), &A)
                       : GridMatrix(ctx, EVEN, (Grid){.dim = 2, .k = 9, .wind = s->options ? 1 : 0}, &A);
  return SetUpTwice(ctx, e, A);
}

static void TestFailures(PoiseContext ctx)
{
  SetOptions(ctx, "-x_pc_amg_coarse_size 12");
  TestAllocationFailures(ctx, SetUpAndRefresh, &(Starved){NULL, false});
  TestAllocationFailures(ctx, SetUpAndRefresh, &(Starved){NULL, true});
  SetOptions(ctx, "-x_pc_amg_interpolation_degree 3");
  TestAllocationFailures(ctx, SetUpAndRefresh, &(Starved){NULL, false});
  SetOptions(ctx, once);
  SetOptions(ctx, "-x_pc_amg_smoother jacobi -x_pc_amg_cycle w -x_pc_amg_degree 2");
  TestAllocationFailures(ctx, SetUpAndRefresh, &(Starved){"wind", false});
  SetOptions(ctx, "-x_pc_amg_smoother isai -x_pc_amg_degree 1");
  TestAllocationFailures(ctx, SetUpAndRefresh, &(Starved){NULL, false});
  SetOptions(ctx, "-x_pc_amg_smoother sor");
  TestAllocationFailures(ctx, SetUpAndRefresh, &(Starved){NULL, true});
  SetOptions(ctx, "-x_pc_amg_smoother chebyshev -x_pc_amg_cycle v -x_pc_amg_degree 1");
}

int main(int argc, char **argv)
{
  static const Test tests[] = {{"symmetric", TestSymmetric, TEST_SERIAL},
                               {"sizes", TestSizes, TEST_SERIAL},
                               {"spectrum", TestSpectrum, TEST_SERIAL},
                               {"smoother", TestSmoother, TEST_SERIAL},
                               {"inverses", TestInverses, TEST_SERIAL},
                               {"small", TestSmall, TEST_SERIAL},
                               {"diagonal", TestDiagonal, TEST_SERIAL},
                               {"dominated", TestDominated, TEST_SERIAL},
                               {"singular", TestSingular, TEST_SERIAL},
                               {"identity", TestIdentity, TEST_SERIAL},
                               {"beam", TestBeam, TEST_SERIAL},
                               {"free", TestFree, TEST_SERIAL},
                               {"nonsymmetric", TestNonsymmetric, TEST_SERIAL},
                               {"errors", TestErrors, TEST_SERIAL},
                               {"refresh", TestRefresh, TEST_SERIAL},
                               {"stale", TestStale, TEST_SERIAL},
                               {"stays", TestStays, TEST_SERIAL},
                               {"recorded", TestRecorded, TEST_SERIAL},
                               {"bits", TestBits, TEST_SERIAL},
                               {"loop", TestLoop, TEST_SERIAL},
                               {"stretched", TestStretched, TEST_SERIAL},
                               {"elastic", TestElastic, TEST_SERIAL},
                               {"hubs", TestHubs, TEST_SERIAL},
                               {"wind", TestWind, TEST_LONG},
                               {"copy", TestCopy, 0},
                               {"odd", TestOdd, 0},
                               {"odd_sample", TestOddSample, 0},
                               {"coarse_size", TestCoarseSize, 0},
                               {"sparse_bottom", TestSparseBottom, TEST_LONG},
                               {"pairs", TestPairs, TEST_SERIAL},
                               {"turned", TestTurned, TEST_SERIAL},
                               {"enlarged", TestEnlarged, TEST_SERIAL},
                               {"refused", TestRefused, TEST_SERIAL},
                               {"bodies", TestBodies, TEST_SERIAL},
                               {"full", TestFull, TEST_SERIAL},
                               {"wild", TestWild, TEST_SERIAL},
                               {"precision plain", TestPrecisionPlain, TEST_SERIAL},
                               {"peak", TestPeak, TEST_SERIAL},
                               {"failures", TestFailures, TEST_SERIAL},
                               {NULL, NULL, 0}};
  return TestMain(argc, argv, "pc_amg", tests);
}

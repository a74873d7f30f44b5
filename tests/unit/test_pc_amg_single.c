/* SPDX-License-Identifier: BSD-3-Clause */
/*
  A cycle of amg in fp32, on one rank and on several, beside the one in fp64. Several ranks have all levels
  spread over them, some, or none.
*/
#include "multigrid.h"

enum { SPREADS = 3 };
static const char *const spreads[SPREADS] = {"-x_pc_amg_redundant_size 0", "-x_pc_amg_redundant_size 200",
                                             "-x_pc_amg_redundant_size 50000"};
static const char few[] = "-x_pc_amg_coarse_size 20"; /* rows of the last level, so that there are several */

/* One rank has only one. */
static int Spreads(PoiseContext ctx)
{
  return PoiseSize(ctx) > 1 ? SPREADS : 1;
}

/* ---- as good as fp64 ------------------------------------------------------------------------- */

static Beam BeamOf(const char *type)
{
  return (Beam){.dim = 3, .length = 16, .width = 4, .type = type};
}

static void CheckGrids(PoiseContext ctx, int count)
{
  static const Grid grids[] = {{.dim = 3, .k = 18},
                               {.dim = 3, .k = 18, .jump = 1e6},
                               {.dim = 3, .k = 18, .stretch = 1000},
                               {.dim = 2, .k = 30, .neumann = true}};
  static const char *const ways[] = {"-x_pc_amg_degree 3", "-x_pc_amg_degree 1"};
  for (int g = 0; g < count; g++)
    for (int w = 0; w < (g == 0 ? 2 : 1); w++) {
      PoiseMat A = GridOf(ctx, grids[g]);
      if (g == 0) SetOptions(ctx, ways[w]);
      CheckAsGood(A, "cg", grids[g].jump > 0 ? 1e-11 : 1e-12, 0); /* what fp64 reaches */
      PoiseMatDestroy(&A);
    }
}

static void TestPrecision(PoiseContext ctx)
{
  double more = PoiseSize(ctx) > 1 ? 0.15 : 0; /* of beams in parts of few nodes, where M is much worse */
  SetOptions(ctx, few);
  for (int s = 0; s < Spreads(ctx); s++) {
    SetOptions(ctx, spreads[s]);
    if (s < SPREADS - 1) CheckGrids(ctx, s == 0 ? 4 : 1); /* all by the first spread, as builds repeat them */
    for (int t = 0; t < 2; t++) {
      PoiseMat A;
      if (!CHECK_OK(Springs(ctx, BeamOf(t ? "csr" : "bcsr"), &A))) return;
      AttachMotions(A, BeamOf(NULL));
      CheckAsGood(A, "cg", 1e-12, more);
      PoiseMatDestroy(&A);
    }
    PoiseMat A = GridOf(ctx, (Grid){.dim = 2, .k = 40, .vary = 0.3, .wind = 0.5});
    SetOptions(ctx, "-x_pc_amg_cycle v");
    CheckAsGood(A, "fgmres", 1e-12, 0); /* dense factors at the bottom */
    SetOptions(ctx, "-x_pc_amg_cycle auto");
    PoiseMatDestroy(&A);
  }
}

/* ---- what methods need of it ------------------------------------------------------------------ */

typedef struct Way {
  const char *method;
  PoisePCSide side;
  double rtol;
  bool single; /* is fp32 enough? */
} Way;

/* |b - A x| of what is solved, or |M^-1 (b - A x)|, over the same of b. */
static double Left(Problem *p, PoisePCSide side)
{
  PoiseVec r[2] = {p->b, p->exact}, z;
  double norm[2];
  if (!CHECK_OK(PoiseMatMult(p->A, p->x, r[1])) || !CHECK_OK(PoiseVecDuplicate(p->x, &z))) return NAN;
  CHECK_OK(PoiseVecAYPX(r[1], -1, p->b));
  for (int k = 0; k < 2; k++) {
    if (side == POISE_PC_LEFT) CHECK_OK(PoisePCApply(p->pc, r[k], z));
    norm[k] = NormOf(side == POISE_PC_LEFT ? z : r[k]);
  }
  PoiseVecDestroy(&z);
  return norm[1] / norm[0];
}

/* Iterations for a smooth b, whose x is large. */
static int IterationsOf(PoiseMat A, const Way *w, const char *precision, bool single)
{
  Problem p;
  int its = -1;
  SetOptions(PoiseMatContext(A), precision);
  if (!ProblemOpen(A, &p)) return -1;
  CHECK_OK(PoiseKSPSetType(p.ksp, w->method));
  CHECK_OK(PoiseKSPSetPCSide(p.ksp, w->side));
  CHECK_OK(PoiseKSPSetTolerances(p.ksp, w->rtol, -1, -1, 200));
  CHECK_OK(PoiseKSPGetPC(p.ksp, &p.pc));
  CHECK_OK(PoisePCSetType(p.pc, "amg"));
  CHECK_OK(PoisePCSetOptionsPrefix(p.pc, "x_"));
  CHECK_OK(PoisePCSetFromOptions(p.pc));
  CHECK_OK(PoiseVecSet(p.b, 1));
  if (CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x))) {
    CHECK(PoiseKSPConvergedReason(p.ksp) > 0);
    CHECK(Made(p.pc)->single == single);
    CHECK(Left(&p, w->side) <= 1.5 * w->rtol);
    its = (int)PoiseKSPIterations(p.ksp);
  }
  p.A = NULL; /* the caller's */
  ProblemClose(&p);
  return its;
}

/* A method that needs a linear M has it, and the tolerance is reached as soon as in fp64. */
static void TestMethods(PoiseContext ctx)
{
  const Way ways[] = {
      {"gmres", POISE_PC_RIGHT, 1e-12, false},   {"gmres", POISE_PC_LEFT, 1e-12, false},
      {"gmres", POISE_PC_RIGHT, 1e-5, false},    {"gmres", POISE_PC_LEFT, 1e-5, true},
      {"bicgstab", POISE_PC_RIGHT, 1e-12, true}, {"bicgstab", POISE_PC_LEFT, 1e-12, false},
      {"bicgstab", POISE_PC_RIGHT, 1e-6, true},  {"fgmres", POISE_PC_RIGHT, 1e-12, true},
  };
  SetOptions(ctx, few);
  SetOptions(ctx, spreads[0]);
  SetOptions(ctx, "-x_pc_amg_cycle v"); /* a W cycle is in fp64 */
  for (int g = 0; g < 2; g++) {
    PoiseMat A = GridOf(ctx, (Grid){.dim = 2, .k = 60, .wind = g ? 0.5 : 0});
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
      int its = IterationsOf(A, &ways[k], "-x_pc_amg_precision single", ways[k].single),
          wide = IterationsOf(A, &ways[k], "-x_pc_amg_precision double", false);
      CHECK(wide > 0 && its > 0 && its <= wide + 2);
    }
    PoiseMatDestroy(&A);
  }
  SetOptions(ctx, "-x_pc_amg_cycle auto");
}

/* Another method, or tolerance, has the other precision, and the same bits as a fresh M. Inside another
   preconditioner it is the method around that counts. */
static void CheckInside(PoiseContext ctx)
{
  PoiseMat A = GridOf(ctx, (Grid){.dim = 2, .k = 40, .vary = 0.3, .wind = 0.5});
  Problem p;
  PoiseKSP *sub;
  PoisePC inner;
  PoiseInt count;
  SetOptions(ctx, "-x_sub_pc_type amg");
  SetOptions(ctx, "-x_sub_pc_amg_coarse_size 20");
  SetOptions(ctx, "-x_sub_pc_amg_cycle v");
  SetOptions(ctx, "-x_pc_type bjacobi");
  if (!ProblemOpen(A, &p)) return;
  CHECK_OK(PoiseKSPSetOptionsPrefix(p.ksp, "x_"));
  CHECK_OK(PoiseKSPSetFromOptions(p.ksp));
  CHECK_OK(PoiseKSPGetPC(p.ksp, &p.pc));
  CHECK_OK(PoiseVecSet(p.b, 1));
  uint64_t digest[2] = {0};
  for (int k = 0; k < 6; k++) {
    CHECK_OK(PoiseKSPSetType(p.ksp, k % 3 == 2 ? "fgmres" : "gmres"));
    CHECK_OK(PoiseKSPSetTolerances(p.ksp, k % 3 == 0 ? 1e-5 : 1e-9, -1, -1, 500));
    CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
    CHECK(PoiseKSPConvergedReason(p.ksp) > 0);
    if (!CHECK_OK(PoisePCBJacobiGetSubKSP(p.pc, &count, NULL, &sub)) || count < 1) break;
    CHECK_OK(PoiseKSPGetPC(sub[0], &inner));
    const Amg *amg = inner->data;
    CHECK(amg->single == (k % 3 != 1));
    uint64_t now = Digest(inner);
    if (k < 2) digest[k] = now;
    CHECK(now == digest[k % 3 == 1]);
  }
  ProblemClose(&p);
}

static void TestInside(PoiseContext ctx)
{
  static const char *const ways[] = {"-x_sub_pc_amg_refresh values", "-x_sub_pc_amg_refresh interpolation",
                                     "-x_sub_pc_amg_refresh all"};
  for (int w = 0; w < 3; w++) {
    SetOptions(ctx, ways[w]);
    CheckInside(ctx);
  }
}

/* ---- scales ---------------------------------------------------------------------------------- */

/* Powers of 2 in A and in r go through a cycle without a trace, as far as fp64 has them. */
static void TestScales(PoiseContext ctx)
{
  static const char *const ways[] = {"-x_pc_amg_degree 1", "-x_pc_amg_degree 2"};
  const int powers[][2] = {{0, 300}, {0, -300}, {300, 0}, {-300, 0}, {200, -500}};
  SetOptions(ctx, few);
  for (int w = 1; w >= 0; w--)
    for (int k = 0; k < 5 * Spreads(ctx); k++) {
      const int *power = powers[k / Spreads(ctx)];
      SetOptions(ctx, spreads[k % Spreads(ctx)]);
      PoiseMat A = GridOf(ctx, (Grid){.dim = 2, .k = 40, .vary = 0.9});
      PoiseVec r, z, scaled;
      PoisePC pc = AmgOf(A, ways[w]);
      if (!CHECK_OK(PoiseMatCreateVecs(A, &r, &z)) || !CHECK_OK(PoiseVecDuplicate(z, &scaled))) return;
      SampleFill(r, 3);
      CHECK_OK(PoisePCApply(pc, r, z));
      CHECK_OK(PoiseMatScale(A, ldexp(1, power[0])));
      CHECK_OK(PoiseVecScale(r, ldexp(1, power[1])));
      CHECK_OK(PoisePCApply(pc, r, scaled));
      CHECK(Made(pc)->single);
      CHECK_OK(PoiseVecScale(scaled, ldexp(1, power[0] - power[1])));
      CHECK(SampleDigest(scaled) == SampleDigest(z));
      CHECK_OK(PoiseVecSet(r, 0));
      CHECK_OK(PoisePCApply(pc, r, z));
      CHECK(NormOf(z) == 0);
      PoiseVecDestroy(&r);
      PoiseVecDestroy(&z);
      PoiseVecDestroy(&scaled);
      PoisePCDestroy(&pc);
      PoiseMatDestroy(&A);
    }
}

/* r is 0 but on one rank, or much larger there; A's rows of one rank are much larger, though in range. */
static double OnOne(PoiseInt i)
{
  return i < 5 ? 1 : 0;
}

static double LargeOnOne(PoiseInt i)
{
  return i < 50 ? 0x1p10 : 1;
}

static void TestOneRank(PoiseContext ctx)
{
  SetOptions(ctx, few);
  for (int s = 0; s < Spreads(ctx); s++) {
    SetOptions(ctx, spreads[s]);
    PoiseMat A = GridOf(ctx, (Grid){.dim = 2, .k = 30, .vary = 0.5});
    PoiseVec r[2], z[2];
    for (int k = 0; k < 2; k++)
      if (!CHECK_OK(PoiseMatCreateVecs(A, &r[k], &z[k]))) return;
    SampleSet(r[0], OnOne);
    SampleFill(r[1], 3);
    CHECK_OK(PoiseVecAXPY(r[1], 0x1p60, r[0]));
    for (int way = 0; way < 4; way++) {
      if (way == 2) ScaleBy(A, LargeOnOne);
      for (int p = 0; p < 2; p++) {
        PoisePC pc = AmgOf(A, p ? "-x_pc_amg_precision double" : "-x_pc_amg_precision single");
        CHECK_OK(PoisePCApply(pc, r[way % 2], z[p]));
        CHECK(Made(pc)->single == !p);
        PoisePCDestroy(&pc);
      }
      double size = NormOf(z[1]);
      CHECK(size > 0);
      CHECK_OK(PoiseVecAXPY(z[0], -1, z[1]));
      CHECK(NormOf(z[0]) < 1e-5 * size);
    }
    SetOptions(ctx, "-x_pc_amg_precision single");
    for (int k = 0; k < 2; k++) PoiseVecDestroy(&r[k]), PoiseVecDestroy(&z[k]);
    PoiseMatDestroy(&A);
  }
}

/* NaN in r comes out, on all ranks. */
static void TestNan(PoiseContext ctx)
{
  SetOptions(ctx, few);
  for (int s = 0; s < Spreads(ctx); s++) {
    SetOptions(ctx, spreads[s]);
    PoiseMat A = GridOf(ctx, (Grid){.dim = 2, .k = 30, .vary = 0.5});
    PoisePC pc = AmgOf(A, few);
    PoiseVec r, z;
    if (!CHECK_OK(PoiseMatCreateVecs(A, &r, &z))) return;
    SampleFill(r, 3);
    if (!PoiseRank(ctx)) CHECK_OK(PoiseVecSetValues(r, 1, &(PoiseInt){0}, &(double){NAN}));
    CHECK_OK(PoiseVecAssemble(r));
    CHECK_OK(PoisePCApply(pc, r, z));
    CHECK(isnan(NormOf(z)));
    SampleFill(r, 3);
    CHECK_OK(PoisePCApply(pc, r, z));
    CHECK(NormOf(z) > 0);
    PoiseVecDestroy(&r);
    PoiseVecDestroy(&z);
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
}

/* ---- fp64 in its place ----------------------------------------------------------------------- */

static double Apart(PoiseInt i)
{
  return i % 900 < 450 ? 1 : 0x1p70;
}

static double Together(PoiseInt i)
{
  return 1 / Apart(i);
}

/* Rows that are too far apart are left to fp64, until new values are not. */
static void TestTooFar(PoiseContext ctx)
{
  PoiseMat A = GridOf(ctx, (Grid){.dim = 2, .k = 30, .vary = 0.5});
  PoisePC pc = AmgOf(A, few);
  char text[4096] = "";
  PoiseBytes single, wide, back;
  CHECK(Made(pc)->single);
  CHECK_OK(PoisePCBytes(pc, &single));
  uint64_t first = Apply(pc);
  ScaleBy(A, Apart);
  CHECK(!Made(pc)->single);
  TEST_PRINTED(ctx, text, sizeof text, PoisePCView(pc));
  CHECK(PoiseRank(ctx) ||
        strstr(text, "the cycle works in fp64, as values are too far apart for fp32\n") != NULL);
  CheckSpd(pc);
  CHECK_OK(PoisePCBytes(pc, &wide));
  ScaleBy(A, Together);
  CHECK(Made(pc)->single && Apply(pc) == first);
  CHECK_OK(PoisePCBytes(pc, &back));
  CHECK(back.device == single.device && back.host == single.host);
  CHECK(wide.device + wide.host < single.device + single.host + 8 * 900 * 9);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* A chain whose first row has all columns, so that rank 0 has no products in fp32. Then no rank has. */
static void TestUneven(PoiseContext ctx)
{
  enum { ROWS = 60000 };
  DeviceModel *model = &ctx->device->model;
  int threads = model->host_threads;
  PoiseMat A;
  SetOptions(ctx, few);
  SetOptions(ctx, spreads[0]);
  if (!CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, ROWS, ROWS, &A))) return;
  CHECK_OK(PoiseMatSetType(A, "csri"));
  for (PoiseInt i = A->rows->begin, end = i + A->rows->n; i < end; i++) {
    const PoiseInt cols[] = {i, i > 0 ? i - 1 : 1, i + 1 < ROWS ? i + 1 : i - 1};
    const double entries[] = {2, i > 0 ? -1 : 0, i + 1 < ROWS ? -1 : 0};
    for (PoiseInt j = 0; j < ROWS && i == 0; j++) CHECK_OK(PoiseMatAddBlock(A, 1, &i, 1, &j, &(double){0}));
    for (int k = 0; k < 3; k++) CHECK_OK(PoiseMatAddBlock(A, 1, &i, 1, &cols[k], &entries[k]));
  }
  CHECK_OK(PoiseMatAssemble(A));
  model->host_threads = 16;
  PoisePC pc = AmgOf(A, few);
  CHECK(!Made(pc)->single && Made(pc)->doubled);
  if (Made(pc)->doubled)
    CHECK(strstr(Made(pc)->doubled, PoiseRank(ctx) ? "rows of another rank are too uneven" : "its rows are"));
  PoisePCDestroy(&pc);
  model->host_threads = threads;
  PoiseMatDestroy(&A);
}

int main(int argc, char **argv)
{
  static const Test tests[] = {{"precision", TestPrecision, TEST_LONG},
                               {"methods", TestMethods, 0},
                               {"inside", TestInside, 0},
                               {"scales", TestScales, 0},
                               {"one rank", TestOneRank, 0},
                               {"nan", TestNan, 0},
                               {"too far", TestTooFar, 0},
                               {"uneven", TestUneven, TEST_HOST_ONLY},
                               {NULL, NULL, 0}};
  return TestMain(argc, argv, "pc_amg_single", tests);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Solvers inside preconditioners (bjacobi, ksp), small dense ones (lu, supervariable blocks) and the user's
  (shell). Dense elimination on each block is the reference for z. Nested solvers are compared with solvers
  that are not nested.
*/
#include "ksp/divided.h"
#include "ksp/ksp.h"
#include "direct.h"
#include "problem.h"
#include "shapes.h"

/* Defect of M^-1 where M are the diagonal blocks of this rank, block[i] being that of its row i. */
static double BlocksDefect(PoisePC pc, const Shape *s, const int *block)
{
  Dense d = DenseOf(s, 0);
  for (int i = 0; i < d.m; i++)
    for (int j = 0; j < d.m; j++) {
      d.stored[i * d.m + j] = block[i] == block[j];
      if (block[i] != block[j]) d.a[i * d.m + j] = 0;
    }
  Eliminate(&d, 0);
  double worst = Difference(pc, SolveFactors, &d);
  DenseFree(&d);
  return worst;
}

/* The blocks that a rank's rows are split into: the first ones are larger by a node. */
static void EqualBlocks(const Shape *s, PoiseInt count, int size, int *block)
{
  PoiseInt nodes = (s->end - s->begin) / size, at = 0;
  for (PoiseInt k = 0; k < count; k++)
    for (PoiseInt i = 0; i < (nodes / count + (nodes % count > k)) * size; i++) block[at++] = (int)k;
}

static PoiseErr AsItIs(PoisePC pc, PoiseVec r, PoiseVec z)
{
  return poisePCApplyFuse(pc, r, z, NULL, NULL);
}

static Shape Dominant(PoiseContext ctx, int kind, int layout, PoiseInt n)
{
  Shape s = ShapeOf(ctx, kind, layout, n);
  s.diagonal = 40;
  return s;
}

/* ---- the context of one rank ----------------------------------------------------------------- */

static void TestSelf(PoiseContext ctx)
{
  PoiseContext self = poiseContextSelf(ctx), copy = self;
  PoiseVec x;
  int64_t live = ctx->memory.live;
  double norm = 0;
  char text[100];
  CHECK_INT(PoiseSize(self), 1);
  CHECK_INT(PoiseRank(self), 0);
  CHECK((self == ctx) == (PoiseSize(ctx) == 1) && poiseContextHome(self) == ctx);
  CHECK(self->device == ctx->device && self->log == ctx->log && self->options == ctx->options);
  /* no other rank takes part */
  if (!CHECK_OK(PoiseVecCreate(self, 3 + PoiseRank(ctx), POISE_DECIDE, &x))) return;
  CHECK(ctx->memory.live > live);
  CHECK_INT(self->objects, 1);
  CHECK_OK(PoiseVecSet(x, 2));
  CHECK_OK(PoiseVecNorm(x, POISE_NORM_1, &norm));
  CHECK_NEAR(norm, 2 * (3 + PoiseRank(ctx)), 0);
  PoiseVecDestroy(&x);
  poiseAllocFailAt(ctx, 1);
  CHECK_ERR(PoiseVecCreate(self, 1, 1, &x), POISE_ERR_MEMORY, "on request");
  CHECK_INT(ctx->memory.live, live);
  CHECK_OK(PoiseOptionsSet(self, "own", "5"));
  const char *value = "";
  CHECK(PoiseOptionsHas(ctx, NULL, "own", &value) && !strcmp(value, "5"));
  TEST_PRINTED(ctx, text, sizeof text, PoisePrintf(self, "words"));
  CHECK((text[0] != 0) == (PoiseRank(ctx) == 0)); /* of all these ranks 0, the first one's only */
  if (self != ctx) CHECK_ERR(PoiseFinalize(&copy), POISE_ERR_STATE, "the context that owns it");
}

/* ---- blocks with solvers --------------------------------------------------------------------- */

/* One block per rank: the bits of the same preconditioner without a solver around it. */
static void TestOneBlock(PoiseContext ctx)
{
  static const char *const types[] = {"ilu", "icc", "jacobi", "pbjacobi", "none", "sor"};
  for (int layout = 0; layout < NLAYOUTS; layout++)
    for (int k = 0; k < 6; k++)
      for (PoiseInt n = 0; n < 70; n += 23) {
        Shape s = ShapeOf(ctx, SYMMETRIC, layout, n);
        PoiseMat A = Matrix(ctx, &s);
        char options[64];
        snprintf(options, sizeof options, "-x_sub_pc_type %s", types[k]);
        PoisePC plain = Make(ctx, types[k], A, NULL), nested = Make(ctx, "bjacobi", A, k ? options : NULL);
        CHECK(Apply(plain) == Apply(nested));
        CHECK(!ctx->device->ops->replay || !poisePCEager(nested));
        PoisePCDestroy(&plain);
        PoisePCDestroy(&nested);
        PoiseMatDestroy(&A);
      }
}

static void TestBlocks(PoiseContext ctx)
{
  static const char *const inner[] = {
      "-x_sub_pc_type lu", "-x_sub_ksp_type gmres\n-x_sub_ksp_rtol 1e-13\n-x_sub_pc_type none",
      "-x_sub_ksp_type preonly\n-x_sub_pc_type bjacobi\n-x_sub_sub_pc_type lu"};
  int size = PoiseSize(ctx), rank = PoiseRank(ctx), block[64];
  for (int k = 0; k < 3; k++)
    for (PoiseInt total = size; total < 4 * size; total += 3) {
      Shape s = Dominant(ctx, ANY, EVEN, 63);
      PoiseMat A = Matrix(ctx, &s);
      char options[200];
      snprintf(options, sizeof options, "%s\n-x_pc_bjacobi_blocks %d", inner[k], (int)total);
      PoisePC pc = Make(ctx, "bjacobi", A, options);
      EqualBlocks(&s, total / size + (total % size > rank), 1, block);
      CHECK_NEAR(BlocksDefect(pc, &s, block), 0, 1e-11);
      PoisePCDestroy(&pc);
      PoiseMatDestroy(&A);
    }
}

/* Blocks are whole nodes; or what the user says. */
static void TestLocalBlocks(PoiseContext ctx)
{
  int size = PoiseSize(ctx), block[64];
  Shape s = Dominant(ctx, ANY, EVEN, 9 * size);
  PoiseMat A = Matrix(ctx, &s);
  PoiseInt lengths[] = {1, 0, 6, 2}, count, first;
  PoiseKSP *ksp;
  PoisePC pc = Make(ctx, "bjacobi", A, "-x_pc_bjacobi_local_blocks 2\n-x_sub_pc_type lu");
  CHECK_OK(PoiseMatSetBlockSize(A, 3));
  EqualBlocks(&s, 2, 3, block);
  CHECK_NEAR(BlocksDefect(pc, &s, block), 0, 1e-13);
  CHECK_OK(PoisePCBJacobiGetSubKSP(pc, &count, &first, &ksp));
  CHECK_INT(count, 2);
  CHECK_INT(first, 2 * PoiseRank(ctx));
  CHECK_INT(PoiseSize(PoiseKSPContext(ksp[1])), 1);
  CHECK_INT(ksp[0]->A->rows->n, 6);
  CHECK_INT(ksp[0]->A->block_size, 3);
  CHECK_OK(PoiseMatSetBlockSize(A, 1));
  EqualBlocks(&s, 2, 1, block);
  CHECK_NEAR(BlocksDefect(pc, &s, block), 0, 1e-13);
  CHECK_INT(ksp[0]->A->block_size, 1);
  CHECK_OK(PoisePCBJacobiSetLocalBlocks(pc, 4, lengths));
  for (int i = 0; i < 9; i++) block[i] = i > 6 ? 3 : i > 0 ? 2 : 0;
  CHECK_NEAR(BlocksDefect(pc, &s, block), 0, 1e-13);
  lengths[3] = 3;
  CHECK_OK(PoisePCBJacobiSetLocalBlocks(pc, 4, lengths));
  CHECK_ERR(PoisePCSetUp(pc), POISE_ERR_SIZE, "have 10 rows in all, the rank has 9");
  lengths[3] = -2;
  CHECK_ERR_OF(PoisePCBJacobiSetLocalBlocks(pc, PoiseRank(ctx) ? 3 : 4, lengths), PoiseRank(ctx) == 0,
               POISE_ERR_ARG, "block 3 has -2 rows");
  CHECK_OK(PoisePCBJacobiSetTotalBlocks(pc, size));
  CHECK_OK(PoisePCBJacobiGetSubKSP(pc, &count, NULL, &ksp));
  CHECK_INT(count, 1);
  CHECK_OK(PoisePCSetFromOptions(pc)); /* the option, which is as before, is the later call */
  CHECK_OK(PoisePCBJacobiGetSubKSP(pc, &count, NULL, &ksp));
  CHECK_INT(count, 2);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

static void TestBadBlocks(PoiseContext ctx)
{
  int size = PoiseSize(ctx), last = PoiseRank(ctx) == size - 1;
  Shape s = ShapeOf(ctx, ANY, EVEN, 5 * size - 1); /* the last rank has 4 rows */
  PoiseMat A = Matrix(ctx, &s);
  PoiseKSP *ksp, one;
  PoisePC pc = Make(ctx, "bjacobi", A, NULL);
  CHECK_ERR(PoisePCKSPGetKSP(pc, &one), POISE_ERR_STATE, "type bjacobi, not ksp");
  CHECK_OK(PoisePCBJacobiSetTotalBlocks(pc, 5 * size));
  CHECK_ERR_OF(PoisePCSetUp(pc), last, POISE_ERR_SIZE, "5 blocks for the 4 rows of rank");
  CHECK_ERR_OF(PoisePCBJacobiGetSubKSP(pc, NULL, NULL, &ksp), last, POISE_ERR_SIZE, "5 blocks");
  CHECK_OK(PoisePCBJacobiSetTotalBlocks(pc, 5 * size - 1));
  CHECK_OK(PoisePCSetUp(pc));
  if (size > 1) {
    CHECK_OK(PoisePCBJacobiSetTotalBlocks(pc, size - 1));
    CHECK_ERR_OF(PoisePCSetUp(pc), last, POISE_ERR_SIZE, "does not span ranks");
  }
  CHECK_ERR(PoisePCBJacobiSetTotalBlocks(pc, -1), POISE_ERR_ARG, "-1 blocks");
  CHECK_ERR(PoisePCBJacobiSetLocalBlocks(pc, 0, NULL), POISE_ERR_ARG, "0 blocks");
  CHECK_OK(PoisePCSetType(pc, "jacobi"));
  CHECK_ERR(PoisePCBJacobiSetTotalBlocks(pc, 1), POISE_ERR_STATE, "type jacobi, not bjacobi");
  PoisePCDestroy(&pc);
  pc = Make(ctx, "bjacobi", A, "-x_pc_bjacobi_blocks 0\n-x_pc_bjacobi_supervariables 4");
  SetOptions(ctx, "-x_pc_bjacobi_blocks 64");
  CHECK_ERR(PoisePCSetFromOptions(pc), POISE_ERR_OPTION, "supervariables finds the blocks");
  SetOptions(ctx, "-x_pc_bjacobi_local_blocks 2");
  CHECK_ERR(PoisePCSetFromOptions(pc), POISE_ERR_OPTION, "in total (64) or on each rank (2), not both");
  SetOptions(ctx, "-x_pc_bjacobi_local_blocks 0");
  CHECK_ERR(PoisePCBJacobiGetSubKSP(pc, NULL, NULL, &ksp), POISE_ERR_STATE, "no solvers in them");
  PoisePCDestroy(&pc);
  pc = Make(ctx, "bjacobi", A,
            "-x_pc_bjacobi_blocks 0\n-x_pc_bjacobi_supervariables 0\n-x_sub_ksp_initial_guess_nonzero");
  CHECK_ERR(PoisePCSetUp(pc), POISE_ERR_ARG, "starts from zero");
  PoisePCDestroy(&pc);
  CHECK_OK(PoisePCCreate(ctx, &pc));
  CHECK_OK(PoisePCSetType(pc, "bjacobi"));
  CHECK_ERR(PoisePCBJacobiGetSubKSP(pc, NULL, NULL, &ksp), POISE_ERR_STATE, "has no matrix");
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* A pivot that is zero, and one that is NaN, in a block of the last rank. All ranks report it, by the row
   of the whole matrix. */
static void TestPivots(PoiseContext ctx)
{
  static const char *const inner[] = {"ilu", "icc", "jacobi", "lu", "sor"};
  int last = PoiseRank(ctx) == PoiseSize(ctx) - 1;
  for (int k = 0; k < 10; k++) {
    PoiseInt n = 40 + PoiseSize(ctx);
    Shape s = ShapeOf(ctx, TRIDIAGONAL, EVEN, n);
    char options[100], words[32];
    s.weak = n - 4;
    s.value = k < 5 ? 0 : NAN;
    PoiseMat A = Matrix(ctx, &s);
    for (PoiseInt i = n - 4; last && i < n; i++) /* row n - 4 is alone */
      for (PoiseInt j = n - 5; j < n; j++) {
        double none = 0;
        if (i != j && (i == n - 4 || j == n - 4) && Stored(&s, i, j))
          CHECK_OK(PoiseMatSetEntries(A, 1, &i, &j, &none));
      }
    CHECK_OK(PoiseMatAssemble(A));
    snprintf(options, sizeof options, "-x_pc_bjacobi_local_blocks 2\n-x_sub_pc_type %s", inner[k % 5]);
    snprintf(words, sizeof words, "row %d", (int)n - 4);
    PoisePC pc = Make(ctx, "bjacobi", A, options);
    CHECK_ERR_OF(PoisePCSetUp(pc), last, POISE_ERR_NUMERIC, k == 8 ? "pivot" : words);
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
}

/* ---- changes --------------------------------------------------------------------------------- */

static const char *const changing[] = {"-x_sub_pc_type lu", "-x_pc_bjacobi_supervariables 1",
                                       "-x_pc_bjacobi_local_blocks 3"};

/* The blocks of changing[k], by the exact inverse of what `inner` makes exact: TRIDIAGONAL for ilu. */
static double ChangingDefect(PoisePC pc, const Shape *s, int k)
{
  int block[64];
  for (int i = 0; i < 64; i++) block[i] = k == 1 ? i : 0;
  if (k == 2) EqualBlocks(s, 3, 1, block);
  return BlocksDefect(pc, s, block);
}

static void TestRefresh(PoiseContext ctx)
{
  for (int k = 0; k < 3; k++) {
    Shape s = ShapeOf(ctx, TRIDIAGONAL, EVEN, 45), t = s;
    PoiseMat A = Matrix(ctx, &s), B;
    SetOptions(ctx, "-x_sub_pc_type ilu\n-x_pc_bjacobi_supervariables 0\n-x_pc_bjacobi_local_blocks 0");
    PoisePC pc = Make(ctx, "bjacobi", A, changing[k]);
    CHECK_NEAR(ChangingDefect(pc, &s, k), 0, 1e-13);
    t.diagonal = 7; /* other values on the same pattern */
    CHECK_OK(PoiseMatZeroEntries(A));
    AddRows(A, &t);
    int64_t calls = ctx->memory.calls, generation = pc->generation, launches;
    CHECK_OK(PoisePCSetUp(pc));
    CHECK_INT(ctx->memory.calls, calls);
    CHECK_INT(pc->generation, generation);
    launches = ctx->device->launches;
    CHECK_OK(PoisePCSetUp(pc));
    CHECK_INT(ctx->device->launches, launches); /* nothing has changed */
    CHECK_NEAR(ChangingDefect(pc, &t, k), 0, 1e-13);
    PoiseInt i = 44, j = 42; /* a wider pattern, with its zero */
    double zero = 0;
    if (PoiseRank(ctx) == 0) CHECK_OK(PoiseMatAddBlock(A, 1, &i, 1, &j, &zero));
    CHECK_OK(PoiseMatAssemble(A));
    CHECK_NEAR(ChangingDefect(pc, &t, k), 0, 1e-13);
    B = Matrix(ctx, &s); /* another matrix; then one with other rows */
    CHECK_OK(PoisePCSetOperator(pc, B));
    CHECK_NEAR(ChangingDefect(pc, &s, k), 0, 1e-13);
    PoiseMatDestroy(&B);
    s = ShapeOf(ctx, TRIDIAGONAL, EVEN, 51);
    B = Matrix(ctx, &s);
    CHECK_OK(PoisePCSetOperator(pc, B));
    CHECK_NEAR(ChangingDefect(pc, &s, k), 0, 1e-13);
    PoiseMatDestroy(&B);
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
}

static PoiseInt Solve(PoiseKSP ksp, PoiseVec b, PoiseVec x)
{
  if (!CHECK_OK(PoiseKSPSolve(ksp, b, x))) return -1;
  return PoiseKSPConvergedReason(ksp) > 0 ? PoiseKSPIterations(ksp) : INT32_MAX;
}

static int Open(PoiseContext ctx, const char *options, Problem *s)
{
  *s = (Problem){.A = Grid(ctx, 8, 6, 5, 0.3)};
  SetOptions(ctx, "-x_ksp_rtol 1e-10\n-x_ksp_type bicgstab");
  SetOptions(ctx, options);
  if (!CHECK_OK(PoiseMatCreateVecs(s->A, &s->x, &s->b)) || !CHECK_OK(PoiseVecDuplicate(s->x, &s->r)))
    return 0;
  SampleFill(s->b, 7);
  CHECK_OK(PoiseKSPCreate(ctx, &s->ksp));
  CHECK_OK(PoiseKSPSetOptionsPrefix(s->ksp, "x_"));
  CHECK_OK(PoiseKSPSetOperators(s->ksp, s->A, NULL));
  return CHECK_OK(PoiseKSPSetFromOptions(s->ksp));
}

/* |b - A x| / |b| */
static double TrueResidual(Problem *s)
{
  CHECK_OK(PoiseMatResidual(s->A, s->b, s->x, s->r));
  return NormOf(s->r) / NormOf(s->b);
}

static double SetUps(PoiseContext ctx)
{
  LogCounts counts;
  poiseLogCounts(ctx, &counts);
  return counts.event[EVENT_PCSetUp].calls;
}

static const char *const kept_types[] = {
    "-x_pc_type bjacobi", "-x_pc_type bjacobi\n-x_pc_bjacobi_local_blocks 3",
    "-x_pc_type bjacobi\n-x_pc_bjacobi_local_blocks 0\n-x_pc_bjacobi_supervariables 3",
    "-x_pc_type ksp\n-x_ksp_ksp_type preonly\n-x_ksp_pc_type jacobi", "-x_pc_type lu"};
enum { NKEPT = sizeof kept_types / sizeof *kept_types };

/* A preconditioner that is kept stays, with what is inside it; when it is not kept any more it is built
   anew. */
static void TestKeep(PoiseContext ctx)
{
  for (int k = 0; k < NKEPT; k++) {
    Problem s;
    PoisePC pc;
    if (!Open(ctx, kept_types[k], &s)) return;
    CHECK_OK(PoiseKSPSetReusePreconditioner(s.ksp, 1));
    CHECK_OK(PoiseKSPGetPC(s.ksp, &pc));
    CHECK(Solve(s.ksp, s.b, s.x) < 60);
    SampleFill(s.r, 3);
    SampleConstant(s.x, NAN);
    CHECK_OK(poisePCApplyFuse(pc, s.r, s.x, NULL, NULL));
    uint64_t before = SampleDigest(s.x);
    CHECK_OK(PoiseMatScale(s.A, 3));
    CHECK(Solve(s.ksp, s.b, s.x) < 60);
    CHECK(TrueResidual(&s) < 1e-8);
    SampleFill(s.r, 3);
    CHECK_OK(PoisePCApply(pc, s.r, s.x));
    CHECK(SampleDigest(s.x) == before);
    CHECK_OK(PoiseKSPSetReusePreconditioner(s.ksp, 0));
    CHECK(Solve(s.ksp, s.b, s.x) < 60);
    CHECK_OK(poisePCApplyFuse(pc, s.r, s.x, NULL, NULL));
    CHECK(SampleDigest(s.x) != before);
    ProblemClose(&s);
  }
}

/* An iterative solver inside reads the matrix. */
static const char *const readers[] = {
    "-x_pc_type ksp",
    "-x_pc_type ksp\n-x_ksp_ksp_type chebyshev\n-x_ksp_ksp_norm_type none\n-x_ksp_ksp_max_it 20",
    "-x_pc_type bjacobi\n-x_sub_ksp_type gmres",
    "-x_pc_type bjacobi\n-x_sub_ksp_type bicgstab\n-x_pc_bjacobi_local_blocks 2",
    "-x_pc_type ksp\n-x_ksp_ksp_type preonly\n-x_ksp_pc_type ksp",
    "-x_pc_type ksp\n-x_ksp_pc_type bjacobi\n-x_ksp_sub_ksp_type gmres\n-x_ksp_ksp_type fgmres",
    "-x_pc_type bjacobi\n-x_sub_pc_type ksp\n-x_sub_ksp_type fgmres",
    "-x_pc_type ksp\n-x_ksp_ksp_type preonly\n-x_ksp_pc_type bjacobi\n-x_ksp_sub_ksp_type gmres",
};
enum { NREADERS = sizeof readers / sizeof *readers };

static const char reader_defaults[] =
    "-x_ksp_ksp_type gmres\n-x_ksp_ksp_norm_type default\n-x_ksp_ksp_rtol 1e-6\n-x_ksp_ksp_max_it 1000\n"
    "-x_ksp_pc_type jacobi\n-x_ksp_ksp_ksp_rtol 1e-6\n-x_ksp_sub_ksp_type preonly\n-x_ksp_sub_ksp_rtol 1e-6\n"
    "-x_sub_ksp_type preonly\n-x_sub_ksp_rtol 1e-6\n-x_sub_pc_type jacobi\n-x_sub_ksp_ksp_rtol 1e-6\n"
    "-x_pc_bjacobi_local_blocks 0\n-x_ksp_reuse_preconditioner no";

static int OpenReader(PoiseContext ctx, int k, Problem *s, PoisePC *pc)
{
  SetOptions(ctx, reader_defaults);
  if (!Open(ctx, k < NREADERS ? readers[k] : kept_types[k - NREADERS], s) ||
      !CHECK_OK(PoiseKSPGetPC(s->ksp, pc)))
    return 0;
  SetOptions(ctx, "-x_ksp_type fgmres");
  return CHECK_OK(PoiseKSPSetFromOptions(s->ksp));
}

static int64_t Held(PoisePC pc)
{
  PoiseBytes held = {0};
  CHECK_OK(PoisePCBytes(pc, &held));
  return held.host + held.device;
}

/* By the setter or an option. */
static void Wish(Problem *s, bool option)
{
  if (!option) {
    CHECK_OK(PoiseKSPSetReusePreconditioner(s->ksp, 1));
  } else {
    SetOptions(PoiseMatContext(s->A), "-x_ksp_reuse_preconditioner");
    CHECK_OK(PoiseKSPSetFromOptions(s->ksp));
  }
}

/* M is that of the matrix it was built from, whatever reads that inside; between solves, too. The wish may
   come before or after M was built. What is not kept has no copy. */
static void TestKeepReaders(PoiseContext ctx)
{
  for (int k = 0; k < NREADERS; k++)
    for (int way = 0; way < 4; way++) {
      Problem s;
      PoisePC pc;
      bool whole = k != 3 && (PoiseSize(ctx) == 1 || k == 0 || k == 1 || k == 4 || k == 5);
      if (PoiseSize(ctx) > 1 && (k + way) % 3) continue; /* in turn */
      if (!OpenReader(ctx, k, &s, &pc)) return;
      if (way < 2) Wish(&s, way % 2);
      PoiseInt its = Solve(s.ksp, s.b, s.x);
      CHECK(its < 60 && TrueResidual(&s) < 1e-8);
      if (way >= 2) Wish(&s, way % 2);
      uint64_t before = ApplyBy(pc, AsItIs);
      CHECK((pc->kept != NULL) == whole);
      int64_t held = Held(pc);
      CHECK_OK(PoiseMatShift(s.A, 40)); /* dominated by its diagonal, which it was not */
      CHECK(Apply(pc) == before);
      PoiseInt more = Solve(s.ksp, s.b, s.x);
      CHECK(more < 200 && TrueResidual(&s) < 1e-8);
      if (whole) CHECK(more > its);
      CHECK(Apply(pc) == before);
      CHECK_OK(PoiseKSPSetReusePreconditioner(s.ksp, 0));
      CHECK(Solve(s.ksp, s.b, s.x) <= its && TrueResidual(&s) < 1e-8);
      CHECK(Apply(pc) != before);
      CHECK(pc->kept == NULL && (!whole || Held(pc) < held));
      ProblemClose(&s);
    }
}

/* When the wish comes after the values, M is built of these, once, on any number of ranks. */
static void TestKeepLate(PoiseContext ctx)
{
  for (int k = 0; k < NREADERS; k++) {
    Problem s;
    PoisePC pc;
    uint64_t of[2];
    if (!OpenReader(ctx, k, &s, &pc)) return;
    for (int scaled = 1; scaled >= 0; scaled--) {
      CHECK_OK(PoiseMatScale(s.A, scaled ? 4 : 0.25)); /* which is exact */
      Solve(s.ksp, s.b, s.x);
      of[scaled] = Apply(pc);
    }
    CHECK(of[0] != of[1]);
    CHECK_OK(PoiseMatScale(s.A, 4));
    CHECK_OK(PoiseKSPSetReusePreconditioner(s.ksp, 1));
    for (int round = 0; round < 2; round++) {
      Solve(s.ksp, s.b, s.x);
      CHECK(Apply(pc) == of[1]);
      CHECK_OK(PoiseMatScale(s.A, 0.25));
    }
    ProblemClose(&s);
  }
}

/* A solver inside that begins to read when the values have changed cannot have the old ones. */
static void TestKeepChanged(PoiseContext ctx)
{
  for (int change = 0; change < 2; change++) {
    Problem s;
    PoisePC pc;
    PoiseKSP inner;
    if (!OpenReader(ctx, 0, &s, &pc)) return;
    CHECK_OK(PoisePCKSPGetKSP(pc, &inner));
    CHECK_OK(PoiseKSPSetType(inner, "preonly"));
    CHECK_OK(PoiseKSPSetTolerances(inner, 1e-12, -1, -1, -1));
    CHECK_OK(PoiseKSPSetReusePreconditioner(s.ksp, 1));
    Solve(s.ksp, s.b, s.x);
    int64_t builds = pc->builds;
    CHECK(pc->kept == NULL); /* nothing is read */
    if (change) CHECK_OK(PoiseMatShift(s.A, 5));
    CHECK_OK(PoiseKSPSetType(inner, "gmres"));
    CHECK_INT(Solve(s.ksp, s.b, s.x), 1);
    CHECK_INT(pc->builds, builds + change);
    uint64_t before = Apply(pc);
    CHECK_OK(PoiseMatShift(s.A, 5));
    CHECK(Solve(s.ksp, s.b, s.x) > 1);
    CHECK(Apply(pc) == before);
    ProblemClose(&s);
  }
}

/* A copy that cannot be had is an error of the wish, or of the set-up that is to make it. */
static PoiseErr KeepOne(PoiseContext ctx, void *arg)
{
  Problem *s = arg;
  PoiseKSP ksp;
  PoiseErr e = PoiseKSPCreate(ctx, &ksp);
  if (e) return e;
  e = PoiseKSPSetOptionsPrefix(ksp, "x_");
  if (!e) e = PoiseKSPSetFromOptions(ksp);
  if (!e) e = PoiseKSPSetOperators(ksp, s->A, NULL);
  if (!e) e = PoiseKSPSetUp(ksp);
  if (!e) e = PoiseKSPSetReusePreconditioner(ksp, 1);
  if (!e) e = PoiseKSPSetUp(ksp);
  if (!e) CHECK_INT(ksp->pc->kept != NULL, 1);
  PoiseKSPDestroy(&ksp);
  return e;
}

static void TestKeepWithoutMemory(PoiseContext ctx)
{
  for (int early = 0; early < 2; early++) {
    Problem s;
    PoisePC pc;
    if (!OpenReader(ctx, 0, &s, &pc)) return;
    if (early) SetOptions(ctx, "-x_ksp_reuse_preconditioner");
    TestAllocationFailures(ctx, KeepOne, &s);
    ProblemClose(&s);
  }
}

/* The same matrix set again is no other one, as long as it has not changed. */
static void TestSameOperators(PoiseContext ctx)
{
  for (int k = 0; k < NREADERS + NKEPT; k++) {
    Problem s;
    PoisePC pc;
    if (!OpenReader(ctx, k, &s, &pc)) return;
    PoiseInt its = Solve(s.ksp, s.b, s.x);
    int64_t builds = pc->builds;
    double setups = SetUps(ctx);
    for (int round = 0; round < 10; round++) {
      CHECK_OK(PoiseKSPSetOperators(s.ksp, s.A, round % 2 ? s.A : NULL));
      if (round % 3 == 0) CHECK_OK(PoisePCSetOperator(pc, s.A));
      CHECK_INT(Solve(s.ksp, s.b, s.x), its);
    }
    CHECK_INT(pc->builds, builds);
    CHECK(SetUps(ctx) == setups);
    CHECK_OK(PoiseMatScale(s.A, 2));
    CHECK_OK(PoiseKSPSetOperators(s.ksp, s.A, NULL));
    Solve(s.ksp, s.b, s.x);
    CHECK_INT(pc->builds, builds + 1);
    CHECK(TrueResidual(&s) < 1e-8);
    ProblemClose(&s);
  }
}

/* Solvers inside are changed between solves: the next solve knows, also one whose loop was captured; kept or
   not. */
static void TestChangeInside(PoiseContext ctx)
{
  for (int keep = 0; keep < 2; keep++)
    for (int blocks = 1; blocks < 4; blocks += 2) {
      Problem s;
      PoisePC pc, sub;
      PoiseKSP *ksp;
      PoiseInt count, its[4];
      SetOptions(ctx, blocks == 1 ? "-x_pc_bjacobi_local_blocks 1" : "-x_pc_bjacobi_local_blocks 3");
      if (!Open(ctx, "-x_ksp_type fgmres\n-x_pc_type bjacobi", &s)) return;
      CHECK_OK(PoiseKSPSetReusePreconditioner(s.ksp, keep));
      CHECK_OK(PoiseKSPGetPC(s.ksp, &pc));
      for (int round = 0; round < 4; round++) {
        CHECK_OK(PoisePCBJacobiGetSubKSP(pc, &count, NULL, &ksp));
        CHECK_INT(count, blocks);
        for (PoiseInt k = 0; k < count; k++) {
          CHECK_OK(PoiseKSPGetPC(ksp[k], &sub));
          CHECK_OK(PoisePCSetType(sub, round == 0 || round == 3 ? "jacobi" : "ilu"));
          CHECK_OK(PoiseKSPSetType(ksp[k], round == 2 ? "gmres" : "preonly"));
          CHECK_OK(PoiseKSPSetTolerances(ksp[k], 1e-12, -1, -1, -1));
        }
        its[round] = Solve(s.ksp, s.b, s.x);
        CHECK(TrueResidual(&s) < 1e-8);
        bool replayed = SampleReplays(ctx) && round != 2;
        CHECK((s.ksp->loop.eager == NULL) == replayed);
        CHECK_INT(PoiseKSPConvergedReason(ksp[0]), round == 2 ? POISE_CONVERGED_RTOL : POISE_CONVERGED_ITS);
      }
      CHECK(its[0] > its[1] && its[0] > its[2]);
      CHECK_INT(its[3], its[0]);
      CHECK_OK(PoisePCBJacobiSetLocalBlocks(pc, 2, NULL)); /* what is kept cannot have other blocks */
      CHECK_OK(PoisePCBJacobiGetSubKSP(pc, &count, NULL, &ksp));
      CHECK_INT(count, 2);
      CHECK(Solve(s.ksp, s.b, s.x) < 60);
      CHECK(TrueResidual(&s) < 1e-8);
      ProblemClose(&s);
    }
}

/* New values do not break a captured loop, and it finds them. */
static void TestReplay(PoiseContext ctx)
{
  static const char *const types[] = {
      "-x_pc_type bjacobi",
      "-x_pc_type bjacobi\n-x_pc_bjacobi_blocks 4\n-x_sub_pc_type jacobi",
      "-x_pc_type bjacobi\n-x_pc_bjacobi_blocks 0\n-x_pc_bjacobi_supervariables 5",
      "-x_pc_type ksp\n-x_ksp_ksp_type preonly\n-x_ksp_pc_type ilu",
      "-x_pc_type lu",
      "-x_pc_type ksp\n-x_ksp_ksp_type richardson\n-x_ksp_ksp_norm_type none\n-x_ksp_ksp_max_it 2"};
  for (int k = 0; k < 6; k++) {
    Problem s;
    uint64_t digest[2];
    for (int eager = 0; eager < 2; eager++) {
      Graph *graph = NULL;
      if (!Open(ctx, types[k], &s)) return;
      s.ksp->options.replay = eager ? 0 : 4;
      for (int round = 0; round < 2; round++) {
        CHECK(Solve(s.ksp, s.b, s.x) < 60);
        CHECK(TrueResidual(&s) < 1e-8);
        if (round == 0) CHECK_OK(PoiseMatShift(s.A, 1));
        if (round == 0) graph = s.ksp->loop.graph;
      }
      CHECK(s.ksp->loop.graph == graph && (graph != NULL) == (!eager && ctx->device->ops->replay));
      if (k == 5) { /* no steps any more */
        PoiseKSP inner;
        CHECK_OK(PoisePCKSPGetKSP(s.ksp->pc, &inner));
        CHECK_OK(PoiseKSPSetType(inner, "preonly"));
        CHECK(Solve(s.ksp, s.b, s.x) < 60);
      }
      digest[eager] = SampleDigest(s.x);
      ProblemClose(&s);
    }
    CHECK(digest[0] == digest[1]);
  }
}

/* ---- supervariables -------------------------------------------------------------------------- */

/* Nodes of 1 to 5 unknowns, coupled to the two nodes beside them; kept in one rank. */
enum { NODES = 90 };

static PoiseInt NodeSize(PoiseInt node)
{
  return 1 + node * node % 5;
}

typedef struct Nodes {
  PoiseInt n, begin, end; /* rows, and this rank's */
  PoiseInt first[NODES + 1];
} Nodes;

static PoiseMat NodeMatrix(PoiseContext ctx, Nodes *nodes)
{
  PoiseInt begin, count;
  PoiseMat A;
  for (PoiseInt k = 0; k < NODES; k++) nodes->first[k + 1] = nodes->first[k] + NodeSize(k);
  PoiseSplit(ctx, NODES, &begin, &count);
  nodes->n = nodes->first[NODES];
  nodes->begin = nodes->first[begin];
  nodes->end = nodes->first[begin + count];
  if (!CHECK_OK(
          PoiseMatCreate(ctx, nodes->end - nodes->begin, nodes->end - nodes->begin, nodes->n, nodes->n, &A)))
    return NULL;
  for (PoiseInt k = begin; k < begin + count; k++)
    for (PoiseInt other = k > 0 ? k - 1 : 0; other <= k + 1 && other < NODES; other++)
      for (PoiseInt i = nodes->first[k]; i < nodes->first[k + 1]; i++)
        for (PoiseInt j = nodes->first[other]; j < nodes->first[other + 1]; j++) {
          double v = (i == j ? 5 : 0) + TestRandom(9, (uint64_t)(i * nodes->n + j));
          CHECK_OK(PoiseMatAddEntries(A, 1, &i, &j, &v));
        }
  CHECK_OK(PoiseMatAssemble(A));
  return A;
}

static double NodesDefect(PoisePC pc, const Nodes *nodes, const int *block)
{
  int m = (int)(nodes->end - nodes->begin);
  Dense d = {.m = m,
             .a = calloc((size_t)(m * m) + 1, sizeof(double)),
             .stored = calloc((size_t)(m * m) + 1, sizeof(bool))};
  PoiseInt n;
  const PoiseInt *cols;
  const double *v;
  for (int i = 0; i < m; i++) {
    for (int j = 0; j < m; j++) d.stored[i * m + j] = block[i] == block[j];
    CHECK_OK(PoiseMatGetRow(pc->P, nodes->begin + i, &n, &cols, &v));
    for (PoiseInt k = 0; k < n; k++) {
      PoiseInt j = cols[k] - nodes->begin;
      if (j >= 0 && j < m && block[i] == block[j]) d.a[i * m + j] = v[k];
    }
  }
  Eliminate(&d, 0);
  double worst = Difference(pc, SolveFactors, &d);
  DenseFree(&d);
  return worst;
}

/* Blocks by the definition, node by node. */
static int ExpectedBlocks(PoiseContext ctx, const Nodes *nodes, PoiseInt most, int *block)
{
  PoiseInt begin, count, rows = 0;
  int current = -1;
  PoiseSplit(ctx, NODES, &begin, &count);
  for (PoiseInt k = begin; k < begin + count; k++)
    for (PoiseInt i = 0; i < NodeSize(k);) {
      PoiseInt piece = NodeSize(k) - i < most ? NodeSize(k) - i : most;
      if (current < 0 || rows + piece > most) current++, rows = 0;
      rows += piece;
      for (PoiseInt end = i + piece; i < end; i++) block[nodes->first[k] + i - nodes->begin] = current;
    }
  return current + 1;
}

static void TestSupervariables(PoiseContext ctx)
{
  static const int most[] = {1, 2, 5, 8, 32};
  static int all[64][6 * NODES]; /* of ranks that are threads */
  int *block = all[PoiseRank(ctx) % 64];
  Nodes nodes = {0};
  PoiseMat A = NodeMatrix(ctx, &nodes);
  for (int k = 0; k < 5; k++) {
    char options[64];
    snprintf(options, sizeof options, "-x_pc_bjacobi_supervariables %d", most[k]);
    PoisePC pc = Make(ctx, "bjacobi", A, options);
    CHECK_OK(PoisePCSetUp(pc));
    int count = ExpectedBlocks(ctx, &nodes, most[k], block);
    CHECK_NEAR(NodesDefect(pc, &nodes, block), 0, 1e-12);
    CHECK(!poisePCEager(pc) && PoiseSize(ctx) * count >= nodes.n / most[k] / 2);
    PoisePCDestroy(&pc);
  }
  PoiseMatDestroy(&A);
}

/* More rows than a kernel's block of rows, whose ends lie inside small blocks. All rows of a tridiagonal
   matrix have different columns, so small blocks have 7 rows from each rank's first row on. */
static void TestLongSupervariables(PoiseContext ctx)
{
  enum { ROWS = 2 * POISE_BLOCK + 300, SMALL = 7 };
  PoiseInt n = ROWS * PoiseSize(ctx), begin = ROWS * PoiseRank(ctx), count;
  const PoiseInt *cols;
  const double *v, *x, *y;
  double worst = 0;
  PoiseVec r, z;
  PoiseMat A;
  if (!CHECK_OK(PoiseMatCreate(ctx, ROWS, ROWS, n, n, &A))) return;
  for (PoiseInt i = begin; i < begin + ROWS; i++)
    for (PoiseInt j = i > 0 ? i - 1 : 0; j <= i + 1 && j < n; j++) {
      double a = (i == j ? 4 : 0) + TestRandom(9, (uint64_t)(3 * i + j));
      CHECK_OK(PoiseMatAddEntries(A, 1, &i, &j, &a));
    }
  CHECK_OK(PoiseMatAssemble(A));
  CHECK_OK(PoiseMatCreateVecs(A, &z, &r));
  CHECK_OK(PoiseVecSetRandom(r, 5));
  PoisePC pc = Make(ctx, "bjacobi", A, "-x_pc_bjacobi_supervariables 7");
  CHECK_OK(PoisePCApply(pc, r, z));
  CHECK_OK(PoiseVecGetRead(r, &x));
  CHECK_OK(PoiseVecGetRead(z, &y));
  for (PoiseInt i = 0; i < ROWS; i++) {
    double left = x[i];
    CHECK_OK(PoiseMatGetRow(A, begin + i, &count, &cols, &v));
    for (PoiseInt k = 0; k < count; k++) {
      PoiseInt j = cols[k] - begin;
      if (j >= 0 && j < ROWS && j / SMALL == i / SMALL) left -= v[k] * y[j];
    }
    if (!(fabs(left) <= worst)) worst = fabs(left);
  }
  CHECK_NEAR(worst, 0, 1e-13);
  CHECK_OK(PoiseVecRestore(r, &x));
  CHECK_OK(PoiseVecRestore(z, &y));
  PoisePCDestroy(&pc);
  PoiseVecDestroy(&r);
  PoiseVecDestroy(&z);
  PoiseMatDestroy(&A);
}

static void TestSingularBlock(PoiseContext ctx)
{
  int last = PoiseRank(ctx) == PoiseSize(ctx) - 1;
  for (int k = 0; k < 2; k++) {
    Nodes nodes = {0};
    PoiseMat A = NodeMatrix(ctx, &nodes);
    PoiseInt first = nodes.first[NODES - 1], end = nodes.first[NODES];
    double v = k ? NAN : 1;
    char words[64];
    for (PoiseInt i = first; last && i < end; i++)
      for (PoiseInt j = first; j < end; j++) CHECK_OK(PoiseMatSetEntries(A, 1, &i, &j, &v));
    CHECK_OK(PoiseMatAssemble(A));
    PoisePC pc = Make(ctx, "bjacobi", A, "-x_pc_bjacobi_supervariables 2");
    snprintf(words, sizeof words, "rows %d to %d is singular or not finite", (int)first, (int)end - 1);
    CHECK_INT(end - first, 2);
    CHECK_ERR_OF(PoisePCSetUp(pc), last, POISE_ERR_NUMERIC, words);
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
}

/* ---- bits, dots, skipping -------------------------------------------------------------------- */

static const char *const all_types[] = {
    "-x_pc_type bjacobi\n-x_sub_pc_type ilu",
    "-x_pc_type bjacobi\n-x_pc_bjacobi_local_blocks 3",
    "-x_pc_type bjacobi\n-x_pc_bjacobi_local_blocks 3\n-x_sub_ksp_type gmres",
    "-x_pc_type bjacobi\n-x_pc_bjacobi_local_blocks 0\n-x_pc_bjacobi_supervariables 7",
    "-x_pc_type lu",
    "-x_pc_type ksp",
    "-x_pc_type ksp\n-x_ksp_ksp_type preonly\n-x_ksp_pc_type sor",
    "-x_pc_type lu\n-x_pc_factor_solver superlu"};
enum { NTYPES = sizeof all_types / sizeof *all_types };

static int Types(void)
{
  return poiseSuperLUIsThere() ? NTYPES : NTYPES - 1;
}

static PoiseErr ApplyAll(PoiseContext ctx, void *arg)
{
  /* enough rows for threads; but not for lu */
  PoiseMat A = Grid(ctx, 24, 22, 40, 0.2), B = Grid(ctx, 9, 8, 7, 0.2);
  for (int k = 0; k < Types(); k++) {
    PoisePC pc = Make(ctx, "none", k == 4 ? B : A, all_types[k]);
    SampleKeep(ctx, arg, Apply(pc));
    PoisePCDestroy(&pc);
  }
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&B);
  return POISE_OK;
}

static void TestSameBits(PoiseContext ctx)
{
  (void)ctx;
  SampleSameBits(ApplyAll);
}

/* z = M^-1 r with dots of z; then skipped, what does not call back leaves z and the dots. */
static void TestFuseAndSkip(PoiseContext ctx)
{
  PoiseMat A = Grid(ctx, 12, 11, 8, 0);
  for (int k = 0; k < Types(); k++) {
    PoisePC pc = Make(ctx, "none", A, all_types[k]);
    CHECK_OK(PoisePCSetUp(pc)); /* then it is known */
    CheckFusedApply(pc, !poisePCEager(pc));
    PoisePCDestroy(&pc);
  }
  PoiseMatDestroy(&A);
}

/* ---- lu -------------------------------------------------------------------------------------- */

static void CheckLU(PoiseContext ctx, int kind, int layout, PoiseInt n)
{
  Shape s = ShapeOf(ctx, kind, layout, n);
  s.diagonal = kind == FULL ? 0 : 0.3;
  s.weak = n > 2 ? 0 : -1;
  PoiseMat A = Matrix(ctx, &s);
  const Solvers of = SolversOf(ctx);
  for (int k = 0; k < of.n; k++) {
    PoisePC pc = Make(ctx, "lu", A, of.solver[k]);
    CHECK_NEAR(Residual(pc, A), 0, 1e-10);
    PoisePCDestroy(&pc);
  }
  PoiseMatDestroy(&A);
}

/* Also where elimination without exchanges breaks down, and across the panels. */
static void TestLU(PoiseContext ctx)
{
  static const PoiseInt sizes[] = {0, 1, 2, 31, 33, 100};
  for (int k = 0; k < 6; k++)
    for (int layout = 0; layout < NLAYOUTS; layout++)
      for (int kind = ANY; kind <= FULL; kind += FULL - ANY) CheckLU(ctx, kind, layout, sizes[k]);
}

/* Of a pattern, of new values, and of another pattern and size. */
static void TestLUSolve(PoiseContext ctx)
{
  const Solvers of = SolversOf(ctx);
  for (int k = 0; k < of.n; k++) {
    Problem s;
    char options[100];
    snprintf(options, sizeof options, "-x_ksp_type preonly\n-x_pc_type lu\n%s", of.solver[k]);
    if (!Open(ctx, options, &s)) return;
    for (int round = 0; round < 2; round++) {
      CHECK_INT(Solve(s.ksp, s.b, s.x), 1);
      CHECK(TrueResidual(&s) < 1e-14);
      CHECK_OK(PoiseMatShift(s.A, 2));
    }
    PoisePC pc;
    CHECK_OK(PoiseKSPGetPC(s.ksp, &pc));
    for (int m = 5; m > 3; m--) {
      PoiseMat B = Grid(ctx, m, 6, 7, 0.3);
      CHECK_OK(PoiseKSPSetOperators(s.ksp, B, B));
      CHECK_NEAR(Residual(pc, B), 0, 1e-12);
      CHECK_OK(PoiseKSPSetOperators(s.ksp, s.A, s.A));
      PoiseMatDestroy(&B);
    }
    ProblemClose(&s);
  }
}

/* What factors by itself: dense factors if they are small, or if there are no others. */
static void TestLUChoice(PoiseContext ctx)
{
  bool host = ctx->device->ops->is_host;
  static const int sides[] = {8, 9}; /* of cubes: 512 rows, and more */
  for (int k = 0; k < 2; k++)
    for (int few = 0; few < 2; few++) {
      PoiseMat A = Grid(ctx, sides[k], sides[k], sides[k], 0.2);
      PoisePC pc = Make(ctx, "lu", A, few ? "-x_pc_lu_max_size 100" : NULL);
      bool library = !host && HasLibrary(ctx) && ctx->device->ops->pc->direct_unasked;
      bool sparse = (poiseSuperLUIsThere() || library) && (few || (host && k));
      if (few && !sparse) {
        CHECK_ERR(PoisePCSetUp(pc), POISE_ERR_SIZE, "allowed are 100 rows");
      } else {
        CHECK_OK(PoisePCSetUp(pc));
        CHECK(((const LU *)pc->data)->how == (!sparse   ? &poiseLU_dense
                                              : library ? &poiseLU_device
                                                        : &poiseLU_sparse));
        CHECK_NEAR(Residual(pc, A), 0, 1e-12);
      }
      PoisePCDestroy(&pc);
      PoiseMatDestroy(&A);
    }
}

/* A zero row, a zero column, NaN; then a matrix without. */
static void TestBadSparseLU(PoiseContext ctx)
{
  static const char *const words[] = {"structurally singular: rows 37 (1 of 50)",
                                      "structurally singular: rows 37 (1 of 50)", "entry (37, 37) is nan"};
  enum { N = 50 };
  if (!poiseSuperLUIsThere()) TEST_SKIP("no SuperLU");
  for (int k = 0; k < 3; k++) {
    Shape s = ShapeOf(ctx, FULL, EVEN, N);
    s.diagonal = 3, s.weak = -1;
    PoiseMat A = Matrix(ctx, &s), B = NULL;
    CHECK_OK(PoiseMatDuplicate(A, 1, &B));
    for (PoiseInt i = s.begin; i < s.end; i++)
      for (PoiseInt j = 0; j < N; j++) {
        double v = k == 2 ? NAN : 0;
        if ((i == 37 || k == 1) && (j == 37 || k == 0)) CHECK_OK(PoiseMatSetEntries(B, 1, &i, &j, &v));
      }
    CHECK_OK(PoiseMatAssemble(B));
    PoisePC pc = Make(ctx, "lu", B, "-x_pc_factor_solver superlu");
    CHECK_ERR_OF(PoisePCSetUp(pc), 37 >= s.begin && 37 < s.end, POISE_ERR_NUMERIC, words[k]);
    CHECK_OK(PoisePCSetOperator(pc, A));
    CHECK_NEAR(Residual(pc, A), 0, 1e-12);
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
    PoiseMatDestroy(&B);
  }
}

static void TestBadLU(PoiseContext ctx)
{
  PoiseInt n = 50;
  for (int k = 0; k < 3; k++) {
    Shape s = ShapeOf(ctx, TRIDIAGONAL, EVEN, n);
    PoiseMat A = Matrix(ctx, &s);
    double v = k == 0 ? 0 : NAN;
    for (PoiseInt i = s.begin; k < 2 && i < s.end; i++) { /* column 37 is zero, or NaN */
      PoiseInt j = 37;
      if (Stored(&s, i, j)) CHECK_OK(PoiseMatSetEntries(A, 1, &i, &j, &v));
    }
    CHECK_OK(PoiseMatAssemble(A));
    PoisePC pc = Make(ctx, "lu", A,
                      k == 2 ? "-x_pc_factor_solver dense\n-x_pc_lu_max_size 49" : "-x_pc_lu_max_size 50");
    if (k < 2) CHECK_ERR(PoisePCSetUp(pc), POISE_ERR_NUMERIC, k ? "is nan" : "row 37 is 0");
    if (k == 2)
      CHECK_ERR(PoisePCSetUp(pc), POISE_ERR_SIZE,
                "50 rows take 20000 bytes on every rank, allowed are 49 rows (-x_pc_lu_max_size)");
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
}

/* ---- shell ----------------------------------------------------------------------------------- */

/* what a user's preconditioner or matrix does: a solve of its own, or its vector entry by entry */
typedef struct User {
  PoiseMat A;
  PoiseKSP ksp;
  PoiseVec m;
  int setups, applied, fail_at, fail_rank;
} User;

static PoiseErr UserSetUp(void *arg, PoiseMat P)
{
  User *u = arg;
  u->setups++;
  if (!u->ksp) return P == u->A ? POISE_OK : POISE_ERR_USER;
  return PoiseKSPSetUp(u->ksp);
}

static PoiseErr UserApply(void *arg, PoiseVec r, PoiseVec z)
{
  User *u = arg;
  PoiseErr e = u->ksp ? PoiseKSPSolve(u->ksp, r, z) : PoiseVecPointwiseMult(z, r, u->m);
  if (++u->applied == u->fail_at && u->fail_rank == PoiseRank(PoiseVecContext(r)))
    POISE_FAIL(POISE_ERR_USER, "application %d was one too many", u->applied);
  return e;
}

/* On the host, so that the solver's copies must follow. */
static PoiseErr UserOnHost(void *arg, PoiseVec r, PoiseVec z)
{
  User *u = arg;
  const double *x, *m;
  double *y;
  POISE_TRY(PoiseVecGetRead(r, &x));
  POISE_TRY(PoiseVecGetRead(u->m, &m));
  POISE_TRY(PoiseVecGetWrite(z, &y));
  for (PoiseInt i = 0; i < PoiseVecLocalSize(r); i++) y[i] = m[i] * x[i];
  return POISE_OK;
}

static void MakeUser(Problem *s, int nested, User *u)
{
  PoiseContext ctx = PoiseMatContext(s->A);
  *u = (User){.A = s->A};
  CHECK_OK(PoiseVecDuplicate(s->x, &u->m));
  CHECK_OK(PoiseMatGetDiagonal(s->A, u->m));
  CHECK_OK(PoiseVecReciprocal(u->m));
  if (!nested) return;
  CHECK_OK(PoiseKSPCreate(ctx, &u->ksp));
  CHECK_OK(PoiseKSPSetType(u->ksp, "bicgstab"));
  CHECK_OK(PoiseKSPSetOperators(u->ksp, s->A, NULL));
  CHECK_OK(PoiseKSPSetTolerances(u->ksp, 1e-13, -1, -1, -1));
}

static void CloseUser(User *u)
{
  PoiseKSPDestroy(&u->ksp);
  PoiseVecDestroy(&u->m);
}

/* The user's diagonal is jacobi, wherever he works; a nested solve is exact. */
static void TestShell(PoiseContext ctx)
{
  static const char *const methods[] = {"bicgstab", "fgmres", "cg"};
  const PoiseShellPC functions[] = {{UserApply, UserSetUp}, {UserOnHost, NULL}, {UserApply, UserSetUp}};
  for (int k = 0; k < 3; k++) {
    Problem s;
    char options[100];
    snprintf(options, sizeof options, "-x_ksp_type %s\n-x_pc_type jacobi\n-x_ksp_max_it 200", methods[k]);
    if (!Open(ctx, options, &s)) return;
    PoiseInt its = Solve(s.ksp, s.b, s.x);
    uint64_t digest = 0;
    for (int way = 0; way < 3; way++) {
      User u;
      PoisePC pc;
      MakeUser(&s, way == 2, &u);
      CHECK_OK(PoiseKSPGetPC(s.ksp, &pc));
      CHECK_OK(PoisePCSetShell(pc, &functions[way], &u));
      for (int round = 0; round < 2; round++) {
        PoiseInt now = Solve(s.ksp, s.b, s.x);
        if (way < 2) CHECK_INT(now, its);
        if (way < 2 && k < 2) CHECK(TrueResidual(&s) < 1e-8);
        if (way == 2) CHECK(now <= 2 && TrueResidual(&s) < 1e-8);
        if (way == 0) digest = SampleDigest(s.x);
        if (way == 1) CHECK(SampleDigest(s.x) == digest);
        if (way != 1) CHECK_INT(u.setups, 1);
      }
      CloseUser(&u);
    }
    ProblemClose(&s);
  }
}

static void TestShellErrors(PoiseContext ctx)
{
  Problem s;
  User u;
  PoisePC pc;
  int last = PoiseSize(ctx) - 1, mine = PoiseRank(ctx) == last;
  if (!Open(ctx, "-x_pc_type shell", &s)) return;
  CHECK_ERR(PoiseKSPSolve(s.ksp, s.b, s.x), POISE_ERR_STATE, "call PoisePCSetShell");
  CHECK_OK(PoiseKSPGetPC(s.ksp, &pc));
  CHECK_ERR(PoisePCSetShell(pc, NULL, NULL), POISE_ERR_ARG, "needs an apply function");
  CHECK_ERR(PoisePCSetShell(pc, &(PoiseShellPC){.setup = UserSetUp}, NULL), POISE_ERR_ARG,
            "needs an apply function");
  for (int nested = 0; nested < 2; nested++) {
    MakeUser(&s, nested, &u);
    CHECK_OK(PoisePCSetShell(pc, &(PoiseShellPC){UserApply, UserSetUp}, &u));
    for (int at = 1; at < 4; at++) {
      u.fail_rank = last;
      u.applied = 0;
      u.fail_at = at;
      PoiseErr e = PoiseKSPSolve(s.ksp, s.b, s.x);
      if (u.applied >= at) CHECK_ERR_OF(e, mine, POISE_ERR_USER, "was one too many");
      CHECK(u.applied >= at || nested);
      u.applied = 0;
      if (at == 1) CHECK_ERR_OF(PoisePCApply(pc, s.b, s.x), mine, POISE_ERR_USER, "was one too many");
      if (at > 1) CHECK_OK(PoisePCApply(pc, s.b, s.x));
      u.fail_at = 0;
      Solve(s.ksp, s.b, s.x);
      CHECK(TrueResidual(&s) < 1e-8);
    }
    CloseUser(&u);
  }
  u = (User){.A = NULL};
  CHECK_OK(PoisePCSetShell(pc, &(PoiseShellPC){UserApply, UserSetUp}, &u));
  CHECK_ERR(PoiseKSPSolve(s.ksp, s.b, s.x), POISE_ERR_USER, "the shell's setup");
  ProblemClose(&s);
}

/* y = A (A^-1 (A x)): a matrix that solves in its product. */
static PoiseErr NestedMult(void *arg, PoiseVec x, PoiseVec y)
{
  User *u = arg;
  PoiseVec t, v;
  POISE_TRY(PoiseMatCreateVecs(u->A, &t, &v));
  PoiseErr e = PoiseMatMult(u->A, x, t);
  if (!e) e = PoiseKSPSolve(u->ksp, t, v);
  if (!e) e = PoiseMatMult(u->A, v, y);
  PoiseVecDestroy(&t);
  PoiseVecDestroy(&v);
  return e;
}

/* Every preconditioner from an assembled matrix, with the operator a user's function in which a solve takes
   place. */
static void TestMatrixFree(PoiseContext ctx)
{
  for (int k = 0; k <= NTYPES; k++) {
    Problem s;
    User u, v;
    PoiseMat S;
    PoisePC pc;
    PoiseInt m;
    if (k == Types() && k < NTYPES) continue;
    if (!Open(ctx, k < NTYPES ? all_types[k] : "-x_pc_type none", &s)) return;
    CHECK_OK(PoiseKSPSetType(s.ksp, "fgmres"));
    PoiseInt its = Solve(s.ksp, s.b, s.x);
    MakeUser(&s, 1, &u);
    MakeUser(&s, 1, &v);
    PoiseMatLocalSizes(s.A, &m, NULL);
    CHECK_OK(PoiseMatCreateShell(ctx, m, m, POISE_DECIDE, POISE_DECIDE, &(PoiseShell){.mult = NestedMult}, &u,
                                 &S));
    CHECK_OK(PoiseKSPSetOperators(s.ksp, S, s.A));
    CHECK_OK(PoiseKSPGetPC(s.ksp, &pc));
    if (k == NTYPES) CHECK_OK(PoisePCSetShell(pc, &(PoiseShellPC){UserApply, UserSetUp}, &v));
    PoiseInt now = Solve(s.ksp, s.b, s.x);
    if (k < NTYPES) CHECK(now - its <= 1 && its - now <= 1);
    if (k == NTYPES) CHECK(now <= 2);
    CHECK(TrueResidual(&s) < 1e-8);
    CHECK_OK(PoiseKSPSetOperators(s.ksp, S, S)); /* what needs entries says so */
    PoiseErr e = PoiseKSPSolve(s.ksp, s.b, s.x);
    bool without = k == 5 || k == NTYPES; /* solvers without a preconditioner, shells */
    if (!without) CHECK_ERR(e, POISE_ERR_UNSUPPORTED, "");
    if (without) CHECK_OK(e);
    PoiseMatDestroy(&S);
    CloseUser(&u);
    CloseUser(&v);
    ProblemClose(&s);
  }
}

/* ---- ksp ------------------------------------------------------------------------------------- */

/* An inner solve to the end leaves one iteration; one that is cut short
   does not end the one outside. */
static void TestKSP(PoiseContext ctx)
{
  Problem s;
  PoisePC pc;
  PoiseKSP inner;
  SetOptions(ctx,
             "-x_ksp_ksp_rtol 1e-12\n-x_ksp_pc_type jacobi\n-x_ksp_type fgmres\n-x_ksp_ksp_type bicgstab");
  if (!Open(ctx, "-x_ksp_type fgmres\n-x_pc_type ksp", &s)) return;
  CHECK_OK(PoiseKSPGetPC(s.ksp, &pc));
  CHECK_OK(PoisePCKSPGetKSP(pc, &inner));
  CHECK(!strcmp(PoiseKSPType(inner), "bicgstab"));
  CHECK(Solve(s.ksp, s.b, s.x) == 1);
  CHECK(TrueResidual(&s) < 1e-9);
  CHECK_INT(PoiseKSPConvergedReason(inner), POISE_CONVERGED_RTOL);
  CHECK_OK(PoiseKSPSetTolerances(inner, -1, -1, -1, 2));
  PoiseInt its = Solve(s.ksp, s.b, s.x);
  CHECK(its > 2 && its < 60);
  CHECK_INT(PoiseKSPConvergedReason(inner), POISE_DIVERGED_ITS);
  CHECK(TrueResidual(&s) < 1e-9);
  CHECK_OK(PoiseKSPSetErrorIfNotConverged(inner, 1));
  CHECK_ERR(PoiseKSPSolve(s.ksp, s.b, s.x), POISE_ERR_NOT_CONVERGED, "DIVERGED_ITS");
  CHECK_OK(PoiseKSPSetErrorIfNotConverged(inner, 0));
  CHECK_INT(Solve(s.ksp, s.b, s.x), its);
  CHECK_ERR(PoisePCBJacobiGetSubKSP(pc, NULL, NULL, NULL), POISE_ERR_STATE, "type ksp, not bjacobi");
  SampleConstant(s.b, NAN);
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  CHECK_INT(PoiseKSPConvergedReason(s.ksp), POISE_DIVERGED_NANORINF);
  ProblemClose(&s);
}

/* z = M^-1 r and the result of the solver alone, as the largest difference over the largest entry. */
static double SolverDefect(PoisePC pc, PoiseKSP alone, Problem *s)
{
  double norm = 0, difference = INFINITY;
  CHECK_OK(PoiseKSPSolve(alone, s->b, s->x));
  SampleConstant(s->r, NAN);
  CHECK_OK(PoisePCApply(pc, s->b, s->r));
  CHECK_OK(PoiseVecNorm(s->x, POISE_NORM_INF, &norm));
  CHECK_OK(PoiseVecAXPY(s->x, -1, s->r));
  CHECK_OK(PoiseVecNorm(s->x, POISE_NORM_INF, &difference));
  return difference / norm;
}

/* Steps that are known before are enqueued, and nobody asks the host. More than 100, and those that somebody
   listens to, are a solve. */
static void TestSteps(PoiseContext ctx)
{
  static const char *const methods[] = {"richardson\n-x_ksp_ksp_richardson_scale 0.8",
                                        "richardson\n-x_ksp_ksp_richardson_scale 1", "chebyshev"};
  static const char *const pcs[] = {"none", "jacobi", "pbjacobi", "ilu", "sor"};
  static const int steps[] = {1, 2, 5, 101, 4};
  for (int k = 0; k < 3 * 5 * 5; k++) {
    char options[300];
    int most = steps[k / 15], listened = most == 4;
    bool by_block = k % 2 && PoiseSize(ctx) == 1; /* which is the same on one rank */
    Problem s;
    PoiseKSP alone, inner, *sub;
    PoisePC pc;
    snprintf(options, sizeof options,
             "-x_ksp_ksp_norm_type none\n-x_ksp_ksp_type %s\n-x_ksp_pc_type %s\n-x_ksp_ksp_max_it %d\n"
             "-x_sub_ksp_norm_type none\n-x_sub_pc_type %s\n-x_sub_ksp_max_it %d",
             methods[k % 3], pcs[k / 3 % 5], most, pcs[k / 3 % 5], most);
    if (!Open(ctx, options, &s)) return;
    CHECK_OK(PoiseKSPCreate(ctx, &alone));
    CHECK_OK(PoiseKSPSetOperators(alone, s.A, NULL));
    CHECK_OK(PoiseKSPSetOptionsPrefix(alone, "x_ksp_"));
    CHECK_OK(PoiseKSPSetFromOptions(alone));
    CHECK_OK(PoisePCCreate(ctx, &pc));
    CHECK_OK(PoisePCSetType(pc, by_block ? "bjacobi" : "ksp"));
    CHECK_OK(PoisePCSetOperator(pc, s.A));
    if (by_block) CHECK_OK(PoisePCBJacobiGetSubKSP(pc, NULL, NULL, &sub));
    if (!by_block) CHECK_OK(PoisePCKSPGetKSP(pc, &inner));
    if (by_block) inner = sub[0];
    CHECK_OK(poiseKSPTakeSettings(alone, inner));
    inner->history.keep = listened;
    CHECK_NEAR(SolverDefect(pc, alone, &s), 0, 1e-13);
    CHECK((poisePCEager(pc) != NULL) == (most > 100 || listened));
    CHECK_INT(PoiseKSPIterations(inner), most);
    CHECK_INT(PoiseKSPConvergedReason(inner), POISE_CONVERGED_ITS);
    CHECK_OK(PoiseMatShift(s.A, 1));
    CHECK_NEAR(SolverDefect(pc, alone, &s), 0, 1e-13);
    PoisePCDestroy(&pc);
    PoiseKSPDestroy(&alone);
    ProblemClose(&s);
  }
}

typedef struct VaryCase {
  const char *options, *pc, *method, *prefix; /* what varies; pc NULL: nothing does */
} VaryCase;

#define KSP_INSIDE(type) "-x_pc_type ksp\n-x_ksp_ksp_type " type
#define BJACOBI(type)    "-x_pc_type bjacobi\n-x_sub_ksp_type " type
static const VaryCase vary_cases[] = {
    {KSP_INSIDE("preonly"), NULL, NULL, NULL},
    {KSP_INSIDE("richardson\n-x_ksp_ksp_norm_type none"), NULL, NULL, NULL},
    {KSP_INSIDE("chebyshev\n-x_ksp_ksp_norm_type none"), NULL, NULL, NULL},
    {BJACOBI("chebyshev\n-x_sub_ksp_norm_type none"), NULL, NULL, NULL},
    {BJACOBI("preonly\n-x_pc_bjacobi_supervariables 3"), NULL, NULL, NULL},
    {KSP_INSIDE("richardson"), "ksp", "richardson", "x_ksp_"},
    {KSP_INSIDE("chebyshev\n-x_ksp_ksp_norm_type unpreconditioned"), "ksp", "chebyshev", "x_ksp_"},
    {KSP_INSIDE("gmres\n-x_ksp_ksp_norm_type none"), "ksp", "gmres", "x_ksp_"},
    {KSP_INSIDE("fgmres"), "ksp", "fgmres", "x_ksp_"},
    {BJACOBI("cg"), "bjacobi", "cg", "x_sub_"},
    {BJACOBI("richardson"), "bjacobi", "richardson", "x_sub_"},
    {KSP_INSIDE("preonly\n-x_ksp_pc_type bjacobi\n-x_ksp_sub_ksp_type cg"), "bjacobi", "cg", "x_ksp_sub_"},
    {KSP_INSIDE("richardson\n-x_ksp_ksp_norm_type none\n-x_ksp_pc_type ksp\n-x_ksp_ksp_ksp_type bicgstab"),
     "ksp", "bicgstab", "x_ksp_ksp_"},
    {BJACOBI("richardson\n-x_sub_ksp_norm_type none\n-x_sub_pc_type ksp"), "ksp", "gmres", "x_sub_ksp_"},
};

/* What each case does not name. */
static const char vary_defaults[] =
    "-x_ksp_ksp_type gmres\n-x_ksp_ksp_norm_type default\n-x_ksp_pc_type jacobi\n-x_ksp_ksp_max_it 3\n"
    "-x_ksp_ksp_ksp_type gmres\n-x_ksp_sub_ksp_type preonly\n-x_sub_ksp_type preonly\n"
    "-x_sub_ksp_norm_type default\n-x_sub_ksp_max_it 3\n-x_sub_pc_type jacobi\n"
    "-x_pc_bjacobi_supervariables 0\n-x_ksp_max_it 20";

#define KSP_TYPE(name) #name,
static const char *const all_methods[] = {
#include "ksp/types.def"
};
#undef KSP_TYPE

/* A preconditioner that varies is refused by all methods but those that allow it, by the same words on all
   ranks. */
static void TestVaries(PoiseContext ctx)
{
  for (size_t k = 0; k < sizeof vary_cases / sizeof *vary_cases; k++) {
    const VaryCase *v = &vary_cases[k];
    Problem s;
    SetOptions(ctx, vary_defaults);
    if (!Open(ctx, v->options, &s)) return;
    for (size_t m = 0; m < sizeof all_methods / sizeof *all_methods; m++) {
      const char *method = all_methods[m];
      static const char *const flexible[] = {"fgmres", "fcg", "gcr", "preonly", "richardson"};
      bool takes = false;
      for (size_t f = 0; f < sizeof flexible / sizeof *flexible; f++) takes |= !strcmp(method, flexible[f]);
      char words[500];
      if (!strcmp(method, "prcg")) continue;                           /* which takes diagonals only */
      if (!strcmp(method, "bicg") || !strcmp(method, "qmr")) continue; /* which need transposes */
      CHECK_OK(PoiseKSPSetType(s.ksp, method));
      PoiseErr e = PoiseKSPSolve(s.ksp, s.b, s.x);
      if (takes || !v->pc) {
        CHECK_OK(e);
        continue;
      }
      snprintf(words, sizeof words,
               "preconditioner %s varies between applications, as method %s in it stops when it has "
               "converged. Method %s "
               "needs a fixed one. Give -x_ksp_type fgmres; or inside -%sksp_type preonly, or richardson or "
               "chebyshev "
               "with -%sksp_norm_type none",
               v->pc, v->method, method, v->prefix, v->prefix);
      CHECK_ERR(e, POISE_ERR_UNSUPPORTED, words);
    }
    ProblemClose(&s);
  }
}

static PoiseErr Never(PoiseKSP ksp, PoiseInt it, double norm, PoiseKSPReason *reason, void *arg)
{
  (void)ksp, (void)it, (void)norm, (void)reason, (void)arg;
  return POISE_OK;
}

/* The solver of one block, on one rank, is made to stop when it has converged: all ranks refuse. A user's
   test may stop, too; and what was refused is taken when it stays again. */
static void TestVariesOnOneRank(PoiseContext ctx)
{
  bool mine = PoiseRank(ctx) == PoiseSize(ctx) - 1;
  Problem s;
  PoisePC pc;
  PoiseKSP *ksp;
  PoiseInt count;
  SetOptions(ctx, vary_defaults);
  if (!Open(ctx,
            "-x_pc_type bjacobi\n-x_pc_bjacobi_local_blocks 2\n-x_sub_ksp_type "
            "richardson\n-x_sub_ksp_norm_type none",
            &s))
    return;
  PoiseInt its = Solve(s.ksp, s.b, s.x);
  CHECK_OK(PoiseKSPGetPC(s.ksp, &pc));
  CHECK_OK(PoisePCBJacobiGetSubKSP(pc, &count, NULL, &ksp));
  for (int way = 0; way < 3; way++) {
    if (mine && way == 0) CHECK_OK(PoiseKSPSetType(ksp[1], "cg"));
    if (mine && way == 1) CHECK_OK(PoiseKSPSetNormType(ksp[1], POISE_KSP_NORM_PRECONDITIONED));
    if (mine && way == 2) CHECK_OK(PoiseKSPSetConvergenceTest(ksp[1], Never, NULL));
    CHECK_ERR_OF(PoiseKSPSolve(s.ksp, s.b, s.x), mine, POISE_ERR_UNSUPPORTED,
                 "preconditioner bjacobi varies");
    if (mine) CHECK_OK(PoiseKSPSetType(ksp[1], "richardson"));
    if (mine) CHECK_OK(PoiseKSPSetNormType(ksp[1], POISE_KSP_NORM_NONE));
    if (mine) CHECK_OK(PoiseKSPSetConvergenceTest(ksp[1], NULL, NULL));
    CHECK_INT(Solve(s.ksp, s.b, s.x), its);
  }
  ProblemClose(&s);
}

/* The solver of one block, on one rank, works through the host, or has another preconditioner: all ranks do
   what follows from it. */
static void TestChangesOnOneRank(PoiseContext ctx)
{
  static const char *const methods[] = {"cg", "chebyshev"};
  bool mine = PoiseRank(ctx) == PoiseSize(ctx) - 1;
  SetOptions(ctx, vary_defaults);
  for (int k = 0; k < 2; k++) {
    Problem s;
    PoisePC pc;
    PoiseKSP *ksp;
    PoiseInt count;
    if (!Open(ctx, "-x_pc_type bjacobi\n-x_pc_bjacobi_local_blocks 2\n-x_sub_ksp_type preonly", &s)) return;
    CHECK_OK(PoiseKSPSetType(s.ksp, methods[k]));
    CHECK(Solve(s.ksp, s.b, s.x) > 0);
    CHECK_OK(PoiseKSPGetPC(s.ksp, &pc));
    CHECK_OK(PoisePCBJacobiGetSubKSP(pc, &count, NULL, &ksp));
    if (mine && k == 0) {
      CHECK_OK(PoiseKSPSetType(ksp[1], "richardson"));
      CHECK_OK(PoiseKSPSetNormType(ksp[1], POISE_KSP_NORM_NONE));
    } else if (mine) {
      PoisePC sub;
      CHECK_OK(PoiseKSPGetPC(ksp[1], &sub));
      CHECK_OK(PoisePCSetType(sub, "icc"));
    }
    CHECK(Solve(s.ksp, s.b, s.x) > 0);
    CHECK(Solve(s.ksp, s.b, s.x) > 0);
    ProblemClose(&s);
  }
}

/* ---- views, memory --------------------------------------------------------------------------- */

static void TestView(PoiseContext ctx)
{
  static const char *const words[][2] = {{"KSP x_sub_: type preonly\n", "PC: type ilu\n"},
                                         {" blocks; the solver of the first:\n", "PC: type ilu\n"},
                                         {"KSP x_sub_: type gmres\n", "PC: type ilu\n"},
                                         {" blocks of supervariables", "memory"},
                                         {"dense factors of 45 rows", "16.2 kB"},
                                         {"KSP x_ksp_: type gmres\n", "PC: type none\n"},
                                         {"KSP x_ksp_: type preonly\n", "PC: type sor\n"},
                                         {"(133 foreseen)", "condition"}};
  Shape s = ShapeOf(ctx, TRIDIAGONAL, EVEN, 45);
  PoiseMat A = Matrix(ctx, &s);
  for (int k = 0; k < Types(); k++) {
    PoisePC pc = Make(ctx, "none", A, all_types[k]);
    char text[4000];
    FILE *out = TestPrintBegin(ctx);
    CHECK_OK(PoisePCView(pc)); /* before it is set up */
    CHECK_OK(PoisePCSetUp(pc));
    CHECK_OK(PoisePCView(pc));
    TestPrintEnd(ctx, out, text, sizeof text);
    for (int w = 0; w < 2; w++) CHECK((strstr(text, words[k][w]) != NULL) == (PoiseRank(ctx) == 0));
    CHECK((text[0] != 0) == (PoiseRank(ctx) == 0));
    PoisePCDestroy(&pc);
  }
  PoiseMatDestroy(&A);
}

static PoiseErr UseOne(PoisePC pc, Given *g)
{
  POISE_TRY(PoisePCSetOptionsPrefix(pc, "x_"));
  POISE_TRY(PoisePCSetOperator(pc, g->A));
  POISE_TRY(PoisePCSetFromOptions(pc));
  POISE_TRY(PoisePCApply(pc, g->r, g->z));
  return PoisePCApply(pc, g->r, g->z);
}

static void Judge(PoisePC pc, const Given *g, bool failed, const void *expected)
{
  (void)pc;
  if (!failed) CHECK(SampleDigest(g->z) == *(const uint64_t *)expected);
}

static void TestMemory(PoiseContext ctx)
{
  Shape s = ShapeOf(ctx, SYMMETRIC, EVEN, 33);
  PoiseMat A = Matrix(ctx, &s);
  for (int k = 0; k < Types(); k++) {
    PoisePC pc = Make(ctx, "none", A, all_types[k]);
    uint64_t expected = Apply(pc);
    PoisePCDestroy(&pc);
    CheckWithoutMemory(A, UseOne, 40, 3, Judge, &expected);
  }
  PoiseMatDestroy(&A);
}

/* A second solve allocates nothing, whatever is inside. */
static void TestSteadyMemory(PoiseContext ctx)
{
  for (int k = 0; k < Types(); k++) {
    Problem s;
    if (!Open(ctx, all_types[k], &s)) return;
    CHECK_OK(PoiseKSPSetType(s.ksp, "fgmres"));
    Solve(s.ksp, s.b, s.x);
    Solve(s.ksp, s.b, s.x); /* the mock's queue has grown */
    int64_t calls = ctx->memory.calls;
    Solve(s.ksp, s.b, s.x);
    CHECK_INT(ctx->memory.calls, calls);
    ProblemClose(&s);
  }
}

static const Test tests[] = {
    {"self", TestSelf, 0},
    {"one_block", TestOneBlock, 0},
    {"blocks", TestBlocks, 0},
    {"local_blocks", TestLocalBlocks, 0},
    {"bad_blocks", TestBadBlocks, 0},
    {"pivots", TestPivots, 0},
    {"refresh", TestRefresh, 0},
    {"keep", TestKeep, 0},
    {"keep_readers", TestKeepReaders, 0},
    {"keep_late", TestKeepLate, 0},
    {"keep_changed", TestKeepChanged, 0},
    {"keep_without_memory", TestKeepWithoutMemory, 0},
    {"same_operators", TestSameOperators, 0},
    {"change_inside", TestChangeInside, 0},
    {"replay", TestReplay, TEST_SERIAL},
    {"supervariables", TestSupervariables, 0},
    {"long_supervariables", TestLongSupervariables, 0},
    {"singular_block", TestSingularBlock, 0},
    {"same_bits", TestSameBits, TEST_SERIAL | TEST_HOST_ONLY},
    {"fuse_and_skip", TestFuseAndSkip, 0},
    {"lu", TestLU, 0},
    {"lu_solve", TestLUSolve, 0},
    {"lu_choice", TestLUChoice, 0},
    {"bad_lu", TestBadLU, 0},
    {"bad_sparse_lu", TestBadSparseLU, 0},
    {"shell", TestShell, 0},
    {"shell_errors", TestShellErrors, 0},
    {"matrix_free", TestMatrixFree, 0},
    {"ksp", TestKSP, 0},
    {"steps", TestSteps, 0},
    {"varies", TestVaries, 0},
    {"varies_on_one_rank", TestVariesOnOneRank, 0},
    {"changes_on_one_rank", TestChangesOnOneRank, 0},
    {"view", TestView, 0},
    {"memory", TestMemory, 0},
    {"steady_memory", TestSteadyMemory, 0},
    {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "pc_nested", tests);
}

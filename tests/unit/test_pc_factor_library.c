/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Triangular solves of ilu and icc by libraries of the device (the mock's; cuSPARSE). Dense references and our
  own sweeps are the reference for z. One rank has all rows (layout LAST), or the factors are in the blocks of
  bjacobi.
*/
#include "pc/factor.h"
#include "pc/pc_device.h"
#include "shapes.h"

/* Libraries solve in the order of the rows; our own kernel would choose colours on a GPU. */
#define NONE                                                                                                 \
  "-x_pc_factor_kernel own\n-x_sub_pc_factor_kernel own\n-x_pc_factor_shift_type none\n-x_sub_pc_type ilu\n" \
  "-x_pc_factor_order natural\n-x_sub_pc_factor_order natural\n"

/* A preconditioner whose factors are solved with by `kernel`, directly or in bjacobi; more: further options,
   or "". */
static PoisePC MakeBy(PoiseContext ctx, const char *kernel, bool inside, const char *type, PoiseMat A,
                      const char *more)
{
  char options[600];
  snprintf(options, sizeof options,
           "%s-x_pc_bjacobi_local_blocks 0\n-x_%spc_type %s\n-x_%spc_factor_kernel %s\n%s", NONE,
           inside ? "sub_" : "", type, inside ? "sub_" : "", kernel, more);
  if (inside) strcat(options, "\n-x_pc_type bjacobi");
  return Make(ctx, "none", A, options);
}

static Incomplete *Factors(PoisePC pc)
{
  return pc->data;
}

/* The library that is to be tested, or NULL: the device has none, or it is not there, which is said. cuSPARSE
   takes no offsets of 64 bits. */
static const char *Library(PoiseContext ctx)
{
  const char *const *libraries = poiseFactorLibraries(ctx->device);
  if (!libraries) {
    TestSkip("this device has no libraries");
    return NULL;
  }
  Shape s = ShapeOf(ctx, TRIDIAGONAL, EVEN, 40);
  PoiseMat A = Matrix(ctx, &s);
  PoisePC pc = MakeBy(ctx, libraries[0], true, "ilu", A, "");
  bool wide = A->csr.wide && !strcmp(ctx->device->ops->name, "cuda"), there = true;
  PoiseErr e = PoisePCSetUp(pc);
  if (e == POISE_ERR_UNSUPPORTED && strstr(PoiseErrorMessage(), "cannot be loaded")) {
    TestSkip(PoiseErrorMessage());
    there = false;
  } else if (wide) {
    CHECK(e == POISE_ERR_UNSUPPORTED && strstr(PoiseErrorMessage(), "64-bit offsets") != NULL);
  } else {
    CHECK_OK(e);
  }
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
  return wide || !there ? NULL : libraries[0];
}

/* z = M^-1 r into an array of its own; *n of them. */
static double *AppliedValues(PoisePC pc, uint64_t seed, PoiseInt *n)
{
  PoiseVec r, z;
  const double *p;
  double *copy = NULL;
  if (!CHECK_OK(PoiseMatCreateVecs(pc->P, &r, &z))) return NULL;
  SampleFill(r, seed);
  SampleConstant(z, NAN);
  CHECK_OK(PoisePCApply(pc, r, z));
  *n = PoiseVecLocalSize(z);
  copy = malloc((size_t)(*n + 1) * sizeof *copy);
  if (CHECK_OK(PoiseVecGetRead(z, &p))) {
    if (*n) memcpy(copy, p, (size_t)*n * sizeof *copy);
    PoiseVecRestore(z, &p);
  }
  PoiseVecDestroy(&r);
  PoiseVecDestroy(&z);
  return copy;
}

static void CheckSame(PoisePC pc, PoisePC own, double tolerance)
{
  PoiseInt n = 0, m = 0;
  double *z = AppliedValues(pc, 3, &n), *expected = AppliedValues(own, 3, &m), scale = 1;
  CHECK_INT(n, m);
  for (PoiseInt i = 0; i < m; i++) scale = poiseLarger(scale, fabs(expected[i]));
  for (PoiseInt i = 0; i < m; i++) CHECK_NEAR(z[i], expected[i], tolerance * scale);
  free(z);
  free(expected);
}

/* ---- which ----------------------------------------------------------------------------------- */

static void TestChoice(PoiseContext ctx)
{
  const char *device = ctx->device->ops->name;
  Shape s = ShapeOf(ctx, SYMMETRIC, LAST, 30);
  PoiseMat A = Matrix(ctx, &s);
  char words[100];
  for (int inside = 0; inside < 2; inside++) {
    PoisePC pc = MakeBy(ctx, "nothing", inside, "ilu", A, "");
    snprintf(words, sizeof words, "device %s has no kernel 'nothing' for -x_%spc_factor_kernel; it has: own",
             device, inside ? "sub_" : "");
    CHECK_ERR(PoisePCSetUp(pc), POISE_ERR_UNSUPPORTED, words);
    CHECK_ERR(PoisePCSetUp(pc), POISE_ERR_UNSUPPORTED, words);
    if (strcmp(device, "cuda")) {
      PoisePCDestroy(&pc);
      pc = MakeBy(ctx, "cusparse", inside, "icc", A, "");
      CHECK_ERR(PoisePCSetUp(pc), POISE_ERR_UNSUPPORTED, "has no kernel 'cusparse'");
    }
    SetOptions(ctx, NONE);
    CHECK_OK(PoisePCSetFromOptions(pc)); /* as it is asked to */
    CHECK_NEAR(FactorDefect(pc, &s, 0, 0), 0, 1e-13);
    CHECK(!poisePCEager(pc));
    PoisePCDestroy(&pc);
  }
  PoiseMatDestroy(&A);
}

static void TestView(PoiseContext ctx)
{
  const char *library = Library(ctx);
  if (!library) return;
  Shape s = ShapeOf(ctx, TRIDIAGONAL, LAST, 30);
  PoiseMat A = Matrix(ctx, &s);
  PoisePC pc = MakeBy(ctx, library, false, "ilu", A, "");
  char text[600], words[100];
  snprintf(words, sizeof words, "solves by kernel %s of device %s", library, ctx->device->ops->name);
  CHECK_OK(PoisePCSetUp(pc));
  TEST_PRINTED(ctx, text, sizeof text, PoisePCView(pc));
  CHECK((strstr(text, words) != NULL) == (PoiseRank(ctx) == 0));
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* What a library cannot do says so on the ranks that it concerns. */
static void TestRefused(PoiseContext ctx)
{
  const char *library = Library(ctx);
  if (!library) return;
  Shape s = ShapeOf(ctx, TRIDIAGONAL, EVEN, 40);
  PoiseMat A = Matrix(ctx, &s);
  PoisePC pc = MakeBy(ctx, library, false, "ilu", A, "");
  PoiseErr e = PoisePCSetUp(pc);
  bool neighbours = PoiseSize(ctx) > 1;
  CHECK(neighbours ? e == POISE_ERR_UNSUPPORTED || e == POISE_ERR_REMOTE : e == POISE_OK);
  if (e == POISE_ERR_UNSUPPORTED) CHECK(strstr(PoiseErrorMessage(), "have columns of other ranks") != NULL);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
  s = ShapeOf(ctx, TRIDIAGONAL, LAST, 40);
  A = Matrix(ctx, &s);
  CHECK_OK(PoiseMatSetBlockSize(A, 2));
  CHECK_OK(PoiseMatSetType(A, "bcsr"));
  pc = MakeBy(ctx, library, false, "ilu", A, "");
  CHECK_ERR(PoisePCSetUp(pc), POISE_ERR_UNSUPPORTED, "takes scalars, and the matrix has blocks of 2 x 2");
  CHECK_OK(PoiseMatSetType(A, "csr"));
  CHECK_NEAR(FactorDefect(pc, &s, 0, 0), 0, 1e-13);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* ---- what comes out -------------------------------------------------------------------------- */

static void TestFactors(PoiseContext ctx)
{
  static const PoiseInt sizes[] = {0, 1, 2, 29, 64, 200};
  const char *library = Library(ctx);
  if (!library) return;
  for (int k = 0; k < 6; k++)
    for (int kind = 0; kind < NKINDS; kind++)
      for (int inside = 0; inside < 2; inside++)
        for (int icc = 0; icc < 1 + (kind == SYMMETRIC || kind == TRIDIAGONAL); icc++) {
          Shape s = ShapeOf(ctx, kind, inside ? EVEN : LAST, sizes[k]);
          s.diagonal = kind == FULL ? 100 : kind == ARROW || kind == TRIDIAGONAL ? 4 : 30;
          PoiseMat A = Matrix(ctx, &s);
          PoisePC pc = MakeBy(ctx, library, inside, icc ? "icc" : "ilu", A, "");
          CHECK_NEAR(FactorDefect(pc, &s, 0, 0), 0, 1e-13);
          CHECK(poisePCEager(pc) != NULL);
          PoisePCDestroy(&pc);
          PoiseMatDestroy(&A);
        }
}

/* Many levels; three blocks whose vectors begin at odd numbers; a pattern that is not symmetric. */
static void TestGrid(PoiseContext ctx)
{
  const char *library = Library(ctx);
  if (!library) return;
  PoiseMat A[] = {Grid(ctx, 31, 27, 25, 0), Grid(ctx, 31, 27, 25, 0.3), Grid(ctx, 31, 27, 25, 1)};
  for (int k = 0; k < 6; k++) {
    const char *more = k < 3 ? "" : "-x_pc_bjacobi_local_blocks 3", *type = k % 3 ? "ilu" : "icc";
    PoisePC pc = MakeBy(ctx, library, true, type, A[k % 3], more), own;
    CHECK_OK(PoisePCSetUp(pc));
    own = MakeBy(ctx, "own", true, type, A[k % 3], more);
    CheckSame(pc, own, 1e-14);
    PoisePCDestroy(&pc);
    PoisePCDestroy(&own);
  }
  for (int k = 0; k < 3; k++) PoiseMatDestroy(&A[k]);
}

/* Pivots that were shifted or replaced are those that the library divides by. */
static void TestShifts(PoiseContext ctx)
{
  const char *library = Library(ctx);
  if (!library) return;
  Shape s = ShapeOf(ctx, TRIDIAGONAL, LAST, 40);
  s.weak = 0;
  s.value = 0;
  PoiseMat A = Matrix(ctx, &s);
  PoisePC pc = MakeBy(ctx, library, false, "ilu", A, "");
  bool mine = s.end > s.begin;
  CHECK_ERR(PoisePCSetUp(pc), mine ? POISE_ERR_NUMERIC : POISE_ERR_REMOTE, "the pivot of row 0 is 0");
  PoisePCDestroy(&pc);
  pc = MakeBy(ctx, library, false, "ilu", A,
              "-x_pc_factor_shift_type inblocks\n-x_pc_factor_shift_amount 0.5");
  CHECK_NEAR(FactorDefect(pc, &s, 0, 0.5), 0, 1e-13);
  PoisePCDestroy(&pc);
  pc = MakeBy(ctx, library, false, "ilu", A,
              "-x_pc_factor_shift_type nonzero\n-x_pc_factor_shift_amount 0.25");
  CHECK_OK(PoisePCSetUp(pc));
  CHECK(!mine || Factors(pc)->shift == 0.25);
  CHECK_NEAR(FactorDefect(pc, &s, Factors(pc)->shift, 0), 0, 1e-13);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* NaNs of r go where our own sweeps take them, and nobody waits for them for ever. */
static void TestNan(PoiseContext ctx)
{
  const char *library = Library(ctx);
  if (!library) return;
  Shape s = ShapeOf(ctx, ANY, LAST, 50);
  PoiseMat A = Matrix(ctx, &s);
  PoisePC pc = MakeBy(ctx, library, false, "ilu", A, ""), own;
  PoiseVec r, z, y;
  double *p;
  const double *a, *b;
  CHECK_OK(PoisePCSetUp(pc));
  own = MakeBy(ctx, "own", false, "ilu", A, "");
  if (!CHECK_OK(PoiseMatCreateVecs(A, &r, &z)) || !CHECK_OK(PoiseVecDuplicate(r, &y))) return;
  for (int k = 0; k < 3; k++) {
    SampleFill(r, 4);
    CHECK_OK(PoiseVecGetUpdate(r, &p));
    for (int i = 0; k > 0 && i < PoiseVecLocalSize(r); i += k == 1 ? 60 : 7) p[i] = NAN;
    CHECK_OK(PoiseVecRestore(r, &p));
    CHECK_OK(PoisePCApply(pc, r, z));
    CHECK_OK(PoisePCApply(own, r, y));
    CHECK_OK(PoiseVecGetRead(z, &a));
    CHECK_OK(PoiseVecGetRead(y, &b));
    for (int i = 0; i < PoiseVecLocalSize(r); i++)
      CHECK(isnan(a[i]) ? isnan(b[i]) : fabs(a[i] - b[i]) <= 1e-13);
    CHECK_OK(PoiseVecRestore(z, &a));
    CHECK_OK(PoiseVecRestore(y, &b));
  }
  PoiseVecDestroy(&r);
  PoiseVecDestroy(&z);
  PoiseVecDestroy(&y);
  PoisePCDestroy(&pc);
  PoisePCDestroy(&own);
  PoiseMatDestroy(&A);
}

static void TestFuse(PoiseContext ctx)
{
  const char *library = Library(ctx);
  if (!library) return;
  PoiseMat A = Grid(ctx, 17, 16, 15, 0);
  PoisePC pc = MakeBy(ctx, library, true, "ilu", A, "");
  CheckFusedApply(pc, false); /* eager loops skip nothing */
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* ---- changes --------------------------------------------------------------------------------- */

/* New values are taken by the plan that is there; also after values that had no factors; a new pattern or
   matrix has a new plan. */
static void TestRefresh(PoiseContext ctx)
{
  static const char *const types[] = {"ilu", "icc"};
  const char *library = Library(ctx);
  if (!library) return;
  for (int k = 0; k < 2; k++) {
    Shape s = ShapeOf(ctx, SYMMETRIC, LAST, 33), t = s, bad = s, u = ShapeOf(ctx, TRIDIAGONAL, LAST, 33);
    PoiseMat A = Matrix(ctx, &s);
    PoisePC pc = MakeBy(ctx, library, false, types[k], A, "");
    const void *plan;
    CHECK_NEAR(FactorDefect(pc, &s, 0, 0), 0, 1e-13);
    plan = Factors(pc)->plan.device;
    t.diagonal = 7;
    bad.weak = 0, bad.value = 0;
    for (int round = 0; round < 3; round++) {
      const Shape *now = round == 0 ? &t : round == 1 ? &bad : &s;
      int64_t calls, generation = pc->generation;
      CHECK_OK(PoiseMatZeroEntries(A));
      AddRows(A, now);
      calls = ctx->memory.calls;
      if (round == 1)
        CHECK_ERR(PoisePCSetUp(pc), s.end > s.begin ? POISE_ERR_NUMERIC : POISE_ERR_REMOTE,
                  "the pivot of row 0 is 0");
      else
        CHECK_OK(PoisePCSetUp(pc));
      if (round != 1) CHECK_INT(ctx->memory.calls, calls);
      CHECK_INT(pc->generation, generation);
      CHECK(Factors(pc)->plan.device == plan);
      if (round != 1) CHECK_NEAR(FactorDefect(pc, now, 0, 0), 0, 1e-13);
    }
    PoiseMatDestroy(&A);
    A = Matrix(ctx, &u);
    CHECK_OK(PoisePCSetOperator(pc, A));
    CHECK_NEAR(FactorDefect(pc, &u, 0, 0), 0, 1e-13);
    u.kind = SYMMETRIC; /* more entries */
    CHECK_OK(PoiseMatZeroEntries(A));
    AddRows(A, &u);
    u.kind = TRIDIAGONAL;
    CHECK_OK(PoiseMatZeroEntries(A));
    AddRows(A, &u);
    CHECK_OK(PoisePCSetUp(pc));
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
}

/* Factors outlive the pattern that they were made of, and so does the plan. */
static void TestKeep(PoiseContext ctx)
{
  const char *library = Library(ctx);
  if (!library) return;
  Shape s = ShapeOf(ctx, TRIDIAGONAL, LAST, 33), t = ShapeOf(ctx, FULL, LAST, 33);
  PoiseMat A = Matrix(ctx, &s);
  PoisePC pc = MakeBy(ctx, library, false, "ilu", A, "");
  PoiseVec r, z;
  if (!CHECK_OK(PoiseMatCreateVecs(A, &r, &z))) return;
  SampleFill(r, 4);
  CHECK_OK(PoisePCApply(pc, r, z));
  uint64_t before = SampleDigest(z);
  CHECK(AddRows(A, &t)); /* in new arrays */
  SampleConstant(z, NAN);
  CHECK_OK(poisePCApplyFuse(pc, r, z, NULL, NULL));
  CHECK(SampleDigest(z) == before);
  PoiseVecDestroy(&r);
  PoiseVecDestroy(&z);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* What it says that it holds is what it has taken; without the library the plan is gone. */
static void TestBytes(PoiseContext ctx)
{
  const char *library = Library(ctx);
  if (!library) return;
  Shape s = ShapeOf(ctx, SYMMETRIC, LAST, 64);
  PoiseMat A = Matrix(ctx, &s);
  PoisePC pc = MakeBy(ctx, "own", false, "ilu", A, "");
  PoiseBytes own, with, without;
  char text[100];
  CHECK_OK(PoisePCSetUp(pc));
  CHECK_OK(PoisePCBytes(pc, &own));
  int64_t device = ctx->device->bytes;
  snprintf(text, sizeof text, "-x_pc_factor_kernel %s", library);
  SetOptions(ctx, text);
  CHECK_OK(PoisePCSetFromOptions(pc));
  CHECK_OK(PoisePCSetUp(pc));
  CHECK_OK(PoisePCBytes(pc, &with));
  CHECK_INT(with.device - own.device, ctx->device->bytes - device);
  CHECK(Factors(pc)->plan.device && (Factors(pc)->plan.bytes > 0 || s.end == s.begin));
  CHECK_NEAR(FactorDefect(pc, &s, 0, 0), 0, 1e-13);
  SetOptions(ctx, NONE);
  CHECK_OK(PoisePCSetFromOptions(pc));
  CHECK_OK(PoisePCSetUp(pc));
  CHECK_OK(PoisePCBytes(pc, &without));
  CHECK_INT(without.device - own.device, ctx->device->bytes - device);
  CHECK(Factors(pc)->plan.device == NULL && Factors(pc)->plan.bytes == 0);
  CHECK_NEAR(FactorDefect(pc, &s, 0, 0), 0, 1e-13);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* ---- in solvers ------------------------------------------------------------------------------ */

/* Iterations, *digest of x, what the view says. The solver is configured and used again after `then` has been
   set, if any. */
static PoiseInt SolveBy(PoiseMat A, const char *kernel, const char *types, const char *then, uint64_t *digest,
                        char *view, size_t size)
{
  PoiseContext ctx = PoiseMatContext(A);
  PoiseKSP ksp;
  PoiseVec x, b;
  char text[400];
  snprintf(text, sizeof text, "-s_ksp_rtol 1e-10\n-s_pc_type bjacobi\n-s_sub_pc_factor_kernel %s\n%s", kernel,
           types);
  for (int k = 0; k < (then ? 2 : 1); k++) {
    SetOptions(ctx, k ? then : text);
    if (!k && (!CHECK_OK(PoiseMatCreateVecs(A, &x, &b)) || !CHECK_OK(PoiseKSPCreate(ctx, &ksp)))) return -1;
    SampleFill(b, 9);
    if (!k) CHECK_OK(PoiseKSPSetOptionsPrefix(ksp, "s_"));
    if (!k) CHECK_OK(PoiseKSPSetOperators(ksp, A, NULL));
    CHECK_OK(PoiseKSPSetFromOptions(ksp));
    CHECK_OK(PoiseKSPSolve(ksp, b, x));
  }
  PoiseInt its = PoiseKSPConvergedReason(ksp) > 0 ? PoiseKSPIterations(ksp) : -1;
  *digest = SampleDigest(x);
  TEST_PRINTED(ctx, view, size, PoiseKSPView(ksp));
  PoiseKSPDestroy(&ksp);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&b);
  return its;
}

static void TestSolve(PoiseContext ctx)
{
  static const char *const types[] = {"-s_ksp_type cg\n-s_sub_pc_type icc",
                                      "-s_ksp_type gmres\n-s_sub_pc_type ilu"};
  const char *library = Library(ctx);
  if (!library) return;
  PoiseMat A = Grid(ctx, 11, 10, 9, 0);
  for (int k = 0; k < 2; k++) {
    uint64_t own, with, back;
    char view[3000];
    PoiseInt its = SolveBy(A, "own", types[k], NULL, &own, view, sizeof view);
    CHECK(!strstr(view, "a library solves"));
    CHECK(its > 0 &&
          llabs((long long)(SolveBy(A, library, types[k], NULL, &with, view, sizeof view) - its)) <= 1);
    if (PoiseSize(ctx) == 1)
      CHECK(strstr(view, "starts each iteration: a library solves with the preconditioner's factors") !=
            NULL);
    CHECK_INT(SolveBy(A, library, types[k], "-s_sub_pc_factor_kernel own", &back, view, sizeof view), its);
    CHECK(back == own &&
          !strstr(view, "a library solves")); /* a loop that is replayed has the kernel that is asked for */
  }
  PoiseMatDestroy(&A);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static PoiseErr Use(PoisePC pc, Given *g)
{
  POISE_TRY(PoisePCSetOptionsPrefix(pc, "x_"));
  POISE_TRY(PoisePCSetOperator(pc, g->A));
  POISE_TRY(PoisePCSetType(pc, "ilu"));
  POISE_TRY(PoisePCSetFromOptions(pc));
  return PoisePCApply(pc, g->r, g->z);
}

static void Judge(PoisePC pc, const Given *g, bool failed, const void *shape)
{
  (void)g;
  if (!failed) CHECK_NEAR(FactorDefect(pc, shape, 0, 0), 0, 1e-13);
}

static void TestMemory(PoiseContext ctx)
{
  const char *library = Library(ctx);
  if (!library) return;
  Shape s = ShapeOf(ctx, SYMMETRIC, LAST, 33);
  PoiseMat A = Matrix(ctx, &s);
  PoisePC pc = MakeBy(ctx, library, false, "ilu", A, ""); /* its options stay */
  PoisePCDestroy(&pc);
  CheckWithoutMemory(A, Use, 24, 1, Judge, &s);
  PoiseMatDestroy(&A);
}

/* Factors with fill, of levels and by thresholds, whose pattern is new each time. */
static void TestFill(PoiseContext ctx)
{
  static const char *const cases[][2] = {
      {"ilu", "-x_pc_factor_levels 2\n-x_sub_pc_factor_levels 2"},
      {"icc", "-x_pc_factor_levels 1\n-x_sub_pc_factor_levels 1"},
      {"ict", "-x_pc_factor_drop_tol 1e-2\n-x_sub_pc_factor_drop_tol 1e-2"},
      {"ilut", "-x_pc_factor_pivoting 1\n-x_sub_pc_factor_pivoting 1"}};
  const char *library = Library(ctx);
  for (int k = 0; k < 8 && library; k++) {
    Shape s = ShapeOf(ctx, SYMMETRIC, k % 2 ? EVEN : LAST, 60), t = s;
    t.seed = 7;
    PoiseMat A = Matrix(ctx, &s), B = Matrix(ctx, &t);
    PoisePC own = MakeBy(ctx, "own", k % 2, cases[k / 2][0], A, cases[k / 2][1]);
    CHECK_OK(PoisePCSetUp(own)); /* before the options are the other's */
    PoisePC pc = MakeBy(ctx, library, k % 2, cases[k / 2][0], A, cases[k / 2][1]);
    for (int round = 0; round < 3; round++) {
      CHECK_OK(PoisePCSetOperator(own, round == 1 ? B : A));
      CHECK_OK(PoisePCSetOperator(pc, round == 1 ? B : A));
      CheckSame(pc, own, 1e-12);
      CHECK(poisePCEager(pc) && !poisePCEager(own));
    }
    PoisePCDestroy(&pc);
    PoisePCDestroy(&own);
    PoiseMatDestroy(&A);
    PoiseMatDestroy(&B);
  }
  SetOptions(ctx, "-x_pc_factor_levels 0\n-x_sub_pc_factor_levels 0\n-x_pc_factor_drop_tol 1e-3\n"
                  "-x_sub_pc_factor_drop_tol 1e-3\n-x_pc_factor_pivoting 0\n-x_sub_pc_factor_pivoting 0");
}

static const Test tests[] = {
    {"choice", TestChoice, 0},   {"view", TestView, 0},       {"refused", TestRefused, 0},
    {"factors", TestFactors, 0}, {"grid", TestGrid, 0},       {"shifts", TestShifts, 0},
    {"fuse", TestFuse, 0},       {"refresh", TestRefresh, 0}, {"keep", TestKeep, 0},
    {"bytes", TestBytes, 0},     {"solve", TestSolve, 0},     {"memory", TestMemory, 0},
    {"nan", TestNan, 0},         {"fill", TestFill, 0},       {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "pc_factor_library", tests);
}

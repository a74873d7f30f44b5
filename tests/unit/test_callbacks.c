/* SPDX-License-Identifier: BSD-3-Clause */
/* Users' functions that call the library (shells of shells, solves inside products, monitors and tests),
   and their errors. */
#include "ksp/ksp.h"
#include "problem.h"

enum { N = 60 };

/* ---- what is solved -------------------------------------------------------------------------- */

/* Tridiagonal, symmetric positive definite. */
static PoiseMat Chain(PoiseContext ctx, double shift)
{
  PoiseMat A;
  if (!CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, N, N, &A))) return NULL;
  for (PoiseInt i = PoiseRank(ctx); i < N; i += PoiseSize(ctx)) {
    PoiseInt two[2] = {i, i + 1};
    double v[4] = {1 + shift + TestRandom(2, (uint64_t)i) / 2, -0.5, -0.5, 1};
    CHECK_OK(PoiseMatAddBlock(A, i + 1 < N ? 2 : 1, two, 1, &i, (double[]){v[0], v[1]}));
    if (i + 1 < N) CHECK_OK(PoiseMatAddBlock(A, 2, two, 1, &two[1], (double[]){v[2], v[3]}));
  }
  CHECK_OK(PoiseMatAssemble(A));
  return A;
}

static PoiseMat Shell(PoiseMat like, PoiseErr (*mult)(void *, PoiseVec, PoiseVec), void *arg)
{
  PoiseMat A;
  PoiseInt m, n;
  PoiseMatLocalSizes(like, &m, &n);
  PoiseErr e = PoiseMatCreateShell(PoiseMatContext(like), m, n, N, N, &(PoiseShell){.mult = mult}, arg, &A);
  return CHECK_OK(e) ? A : NULL;
}

typedef struct Level { /* a function of the user's over something of the library */
  PoiseMat A;
  PoiseKSP ksp;
  PoiseVec x, y;
  int calls, fail_at; /* fails in this call, on this rank */
} Level;

static PoiseErr Call(Level *level)
{
  if (++level->calls == level->fail_at) POISE_FAIL(POISE_ERR_USER, "call %d goes wrong", level->calls);
  return POISE_OK;
}

/* y = A x */
static PoiseErr Mult_Once(void *arg, PoiseVec x, PoiseVec y)
{
  Level *level = arg;
  POISE_TRY(PoiseAgree(PoiseMatContext(level->A), Call(level))); /* before the others wait in the product */
  POISE_TRY(PoiseMatMult(level->A, x, y));
  return POISE_OK;
}

/* y = A A x, looking at norms and dots on the way */
static PoiseErr Mult_Twice(void *arg, PoiseVec x, PoiseVec y)
{
  Level *level = arg;
  double norm, dot;
  POISE_TRY(PoiseMatMult(level->A, x, level->y));
  POISE_TRY(PoiseVecNorm(level->y, POISE_NORM_2, &norm));
  POISE_TRY(PoiseMatMultDot(level->A, level->y, y, x, &dot));
  if (!(fabs(dot - norm * norm) <= 1e-12 * norm * norm))
    POISE_FAIL(POISE_ERR_USER, "(x, A A x) is not |A x|^2");
  return POISE_OK;
}

/* y = A^-1 x */
static PoiseErr Mult_Inverse(void *arg, PoiseVec x, PoiseVec y)
{
  Level *level = arg;
  POISE_TRY(PoiseKSPSolve(level->ksp, x, y));
  return POISE_OK;
}

static void Configure(PoiseKSP ksp, const char *type, const char *pc)
{
  PoisePC inner;
  CHECK_OK(PoiseKSPSetType(ksp, type));
  CHECK_OK(PoiseKSPGetPC(ksp, &inner));
  CHECK_OK(PoisePCSetType(inner, pc));
  CHECK_OK(PoiseKSPSetTolerances(ksp, 1e-11, -1, -1, 500));
}

static PoiseKSP Solver(PoiseMat A, const char *type, const char *pc)
{
  PoiseKSP ksp;
  CHECK_OK(PoiseKSPCreate(PoiseMatContext(A), &ksp));
  CHECK_OK(PoiseKSPSetOperators(ksp, A, NULL));
  Configure(ksp, type, pc);
  return ksp;
}

static int Open(PoiseMat A, const char *type, const char *pc, Problem *s)
{
  if (!ProblemOpen(A, s)) return 0;
  SampleFill(s->exact, 5);
  CHECK_OK(PoiseMatMult(A, s->exact, s->b));
  Configure(s->ksp, type, pc);
  return 1;
}

/* ---- shells ---------------------------------------------------------------------------------- */

static const char *const methods[] = {"cg",        "gmres", "bicgstab", "minres", "cgs",    "tfqmr", "idr",
                                      "bicgstabl", "fcg",   "gcr",      "symmlq", "qmrcgs", "lgmres"};
enum { METHODS = sizeof methods / sizeof *methods };

/* A shell of a shell of a shell is what it is made of, to the last bit, in products and in solves. */
static void TestShells(PoiseContext ctx)
{
  for (int t = 0; t < METHODS; t++) {
    uint64_t bits[2][2];
    PoiseInt its[2];
    for (int nested = 0; nested < 2; nested++) {
      Problem s;
      Level level[3] = {{.A = Chain(ctx, 1)}};
      level[1].A = Shell(level[0].A, Mult_Once, &level[0]);
      level[2].A = nested ? Shell(level[0].A, Mult_Once, &level[1]) : level[0].A;
      CHECK_OK(PoiseMatCreateVecs(level[0].A, NULL, &level[2].y));
      if (!Open(Shell(level[0].A, Mult_Twice, &level[2]), methods[t], "none", &s)) return;
      CHECK_OK(PoiseMatMultAdd(s.A, 3, s.exact, -2, s.b));
      bits[nested][0] = SampleDigest(s.b);
      CHECK_OK(PoiseMatMult(s.A, s.exact, s.b));
      CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
      CHECK(PoiseKSPConvergedReason(s.ksp) > 0);
      CHECK(ProblemError(&s, 1) < 1e-7);
      bits[nested][1] = SampleDigest(s.x);
      its[nested] = PoiseKSPIterations(s.ksp);
      CHECK(nested ? level[0].calls > 4 && level[0].calls == level[1].calls : level[0].calls == 0);
      int64_t calls = ctx->memory.calls;
      CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
      CHECK_INT(ctx->memory.calls, calls);
      ProblemClose(&s);
      if (nested) CHECK_OK(PoiseMatDestroy(&level[2].A));
      CHECK_OK(PoiseMatDestroy(&level[1].A));
      CHECK_OK(PoiseMatDestroy(&level[0].A));
      CHECK_OK(PoiseVecDestroy(&level[2].y));
    }
    CHECK(bits[0][0] == bits[1][0] && bits[0][1] == bits[1][1]);
    CHECK_INT(its[0], its[1]);
  }
}

/* The product is a solve: A^-1 x = b has the solution A b. */
static void TestSolveInProduct(PoiseContext ctx)
{
  for (int t = 0; t < METHODS; t++) {
    Problem s;
    Level level = {.A = Chain(ctx, 1)};
    level.ksp = Solver(level.A, t % 2 ? "gmres" : "cg", "jacobi");
    if (!Open(Shell(level.A, Mult_Inverse, &level), methods[t], "none", &s)) return;
    CHECK_OK(PoiseKSPSetTolerances(s.ksp, 1e-9, -1, -1, -1));
    CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
    CHECK(PoiseKSPConvergedReason(s.ksp) > 0);
    CHECK(ProblemError(&s, 1) < 1e-6);
    ProblemClose(&s);
    CHECK_OK(PoiseKSPDestroy(&level.ksp));
    CHECK_OK(PoiseMatDestroy(&level.A));
  }
}

/* ---- monitors and tests ---------------------------------------------------------------------- */

typedef struct Guest { /* called in each iteration of s */
  Problem *s, *other;  /* other: solved meanwhile */
  PoiseVec x;
  double residual; /* of the latest iterate */
  int calls, fail_at;
  PoiseErr silent; /* returned without a word where it fails, after an error that was dealt with */
  bool builds;
} Guest;

static PoiseErr Visit(Guest *g, PoiseKSP ksp)
{
  double size;
  POISE_TRY(PoiseVecNorm(g->s->b, POISE_NORM_2, &size));
  POISE_TRY(PoiseVecSet(g->other->x, NAN));
  POISE_TRY(PoiseKSPSolve(g->other->ksp, g->other->b, g->other->x));
  if (PoiseKSPConvergedReason(g->other->ksp) < 0)
    POISE_FAIL(POISE_ERR_USER, "the other solve does not converge");
  if (g->builds) {
    POISE_TRY(PoiseKSPBuildSolution(ksp, g->x));
    POISE_TRY(PoiseKSPTrueResidual(ksp, g->s->b, g->x, &g->residual));
  }
  if (++g->calls != g->fail_at) return POISE_OK;
  if (!g->silent) POISE_FAIL(POISE_ERR_USER, "visit %d goes wrong", g->calls);
  CHECK(PoiseMatGetRow(g->other->A, -1, NULL, NULL, NULL) == POISE_ERR_ARG);
  return g->silent;
}

static PoiseErr Monitor_Visit(PoiseKSP ksp, PoiseInt it, double norm, void *arg)
{
  (void)it, (void)norm;
  return Visit(arg, ksp);
}

/* Converged when the true residual is small. */
static PoiseErr Test_Visit(PoiseKSP ksp, PoiseInt it, double norm, PoiseKSPReason *reason, void *arg)
{
  Guest *g = arg;
  (void)it, (void)norm;
  POISE_TRY(Visit(g, ksp));
  if (g->builds && g->residual < 1e-9) *reason = POISE_CONVERGED_USER;
  return POISE_OK;
}

static int OpenGuest(PoiseContext ctx, const char *method, Problem two[2], Guest *g)
{
  if (!Open(Chain(ctx, 0.2), method, "jacobi", &two[0]) || !Open(Chain(ctx, 1), "cg", "jacobi", &two[1]))
    return 0;
  *g = (Guest){.s = &two[0], .other = &two[1]};
  return CHECK_OK(PoiseVecDuplicate(two[0].x, &g->x));
}

static void CloseGuest(Problem two[2], Guest *g)
{
  CHECK_OK(PoiseVecDestroy(&g->x));
  ProblemClose(&two[0]);
  ProblemClose(&two[1]);
}

/* Whatever a monitor does, the solve is the same; and in the end the iterate that it built is the
   solution. */
static void TestMonitors(PoiseContext ctx)
{
  for (int t = 0; t < METHODS; t++) {
    Problem two[2];
    Guest g;
    double difference;
    if (!OpenGuest(ctx, methods[t], two, &g)) return;
    CHECK_OK(PoiseKSPSolve(two[0].ksp, two[0].b, two[0].x));
    CHECK(PoiseKSPConvergedReason(two[0].ksp) > 0);
    uint64_t bits = SampleDigest(two[0].x);
    PoiseInt its = PoiseKSPIterations(two[0].ksp);
    g.builds = two[0].ksp->loop.eager;
    CHECK_OK(PoiseKSPAddMonitor(two[0].ksp, Monitor_Visit, &g));
    for (int again = 0; again < 2; again++) {
      g.calls = 0;
      CHECK_OK(PoiseKSPSolve(two[0].ksp, two[0].b, two[0].x));
      CHECK(SampleDigest(two[0].x) == bits);
      CHECK_INT(PoiseKSPIterations(two[0].ksp), its);
      CHECK_INT(g.calls, its + 1);
      CHECK(ProblemError(&two[1], 1) < 1e-8);
    }
    if (g.builds) {
      CHECK_OK(PoiseVecAXPY(g.x, -1, two[0].x));
      CHECK_OK(PoiseVecNorm(g.x, POISE_NORM_INF, &difference));
      CHECK_NEAR(difference, 0, 1e-14);
    } else {
      g.builds = true;
      CHECK_ERR(PoiseKSPSolve(two[0].ksp, two[0].b, two[0].x), POISE_ERR_STATE, "ahead of its monitors");
    }
    CHECK_ERR(PoiseKSPBuildSolution(two[0].ksp, g.x), POISE_ERR_STATE, "no solve under way");
    CloseGuest(two, &g);
  }
}

static void TestTests(PoiseContext ctx)
{
  for (int t = 0; t < METHODS; t++)
    for (int side = 0; side < 2; side++) {
      Problem two[2];
      Guest g;
      if (!OpenGuest(ctx, methods[t], two, &g)) return;
      g.builds = true;
      if (t == 1 || t == 2) CHECK_OK(PoiseKSPSetPCSide(two[0].ksp, side ? POISE_PC_RIGHT : POISE_PC_LEFT));
      CHECK_OK(PoiseKSPSetConvergenceTest(two[0].ksp, Test_Visit, &g));
      CHECK_OK(PoiseKSPSolve(two[0].ksp, two[0].b, two[0].x));
      CHECK_INT(PoiseKSPConvergedReason(two[0].ksp), POISE_CONVERGED_USER);
      CHECK_INT(g.calls, PoiseKSPIterations(two[0].ksp) + 1);
      CHECK_OK(PoiseKSPTrueResidual(two[0].ksp, two[0].b, two[0].x, &g.residual));
      CHECK(g.residual < 1.1e-9);
      CHECK(ProblemError(&two[0], 1) < 1e-8);
      CloseGuest(two, &g);
    }
}

/* ---- errors ---------------------------------------------------------------------------------- */

/* e, once the error's text was seen to say so `times` times. */
static PoiseErr Saying(int times, const char *words, PoiseErr e)
{
  int n = 0;
  for (const char *p = PoiseErrorText(); (p = strstr(p, words)); p++) n++;
  CHECK_INT(n, times);
  return e;
}

/* The innermost of three products fails on the last rank: it says so, all others know, and the trace names
   the functions. */
static void TestShellErrors(PoiseContext ctx)
{
  bool last = PoiseRank(ctx) == PoiseSize(ctx) - 1;
  for (int t = 0; t < METHODS; t++)
    for (int call = 2; call < 6; call++) {
      Problem s;
      char words[32];
      Level level[3] = {{.A = Chain(ctx, 1)}};
      level[1].A = Shell(level[0].A, Mult_Once, &level[0]);
      level[2].A = Shell(level[0].A, Mult_Once, &level[1]);
      if (!Open(Shell(level[0].A, Mult_Once, &level[2]), methods[t], "none", &s)) return;
      level[0].fail_at = last ? call : 0;
      snprintf(words, sizeof words, "call %d goes wrong", call);
      CHECK_ERR_OF(Saying(3, "at the shell's mult", PoiseKSPSolve(s.ksp, s.b, s.x)), last, POISE_ERR_USER,
                   words);
      CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
      CHECK(ProblemError(&s, 1) < 1e-8);
      ProblemClose(&s);
      for (int k = 2; k >= 0; k--) CHECK_OK(PoiseMatDestroy(&level[k].A));
    }
}

static void TestGuestErrors(PoiseContext ctx)
{
  bool last = PoiseRank(ctx) == PoiseSize(ctx) - 1;
  for (int monitor = 0; monitor < 2; monitor++)
    for (int silent = 0; silent < 2; silent++) {
      Problem two[2];
      Guest g;
      const char *name = monitor ? "at a monitor" : "at the convergence test";
      const char *said = monitor ? "a monitor returned 77" : "the convergence test returned 77";
      if (!OpenGuest(ctx, methods[silent], two, &g)) return;
      CHECK_OK(monitor ? PoiseKSPAddMonitor(two[0].ksp, Monitor_Visit, &g)
                       : PoiseKSPSetConvergenceTest(two[0].ksp, Test_Visit, &g));
      g.builds = !monitor;
      g.fail_at = last ? 4 : 0;
      g.silent = silent ? (PoiseErr)77 : POISE_OK;
      PoiseErr e = PoiseKSPSolve(two[0].ksp, two[0].b, two[0].x);
      CHECK_ERR_OF(Saying(last && !silent, name, e), last, POISE_ERR_USER,
                   silent ? said : "visit 4 goes wrong");
      CHECK_INT(PoiseKSPConvergedReason(two[0].ksp), POISE_DIVERGED_ERROR);
      g.fail_at = g.calls = 0;
      CHECK_OK(PoiseKSPSolve(two[0].ksp, two[0].b, two[0].x));
      CHECK(g.calls > 4 && ProblemError(&two[0], 1) < 1e-8);
      CloseGuest(two, &g);
    }
}

/* ---- a solver that is in the middle of a solve ----------------------------------------------- */

typedef struct Meddler {
  PoiseVec b, x;
  PoiseMat A;
  int calls;
} Meddler;

static PoiseErr Monitor_Meddle(PoiseKSP ksp, PoiseInt it, double norm, void *arg)
{
  Meddler *m = arg;
  PoiseKSP same = ksp;
  (void)norm;
  m->calls++;
  CHECK_ERR(PoiseKSPSetUp(ksp), POISE_ERR_STATE, "PoiseKSPSetUp of a solver in the middle of its solve");
  CHECK_ERR(PoiseKSPSetType(ksp, "cg"), POISE_ERR_STATE, "PoiseKSPSetType");
  CHECK_ERR(PoiseKSPSetOperators(ksp, m->A, NULL), POISE_ERR_STATE, "PoiseKSPSetOperators");
  CHECK_ERR(PoiseKSPSetFromOptions(ksp), POISE_ERR_STATE, "PoiseKSPSetFromOptions");
  CHECK_ERR(PoiseKSPGMRESSetRestart(ksp, 7), POISE_ERR_STATE, "PoiseKSPGMRESSetRestart");
  CHECK_ERR(PoiseKSPDestroy(&same), POISE_ERR_STATE, "PoiseKSPDestroy");
  PoiseErrorClear();
  if (it < 2) return POISE_OK;
  POISE_TRY(PoiseKSPSolve(ksp, m->b, m->x));
  return POISE_OK;
}

static void TestMeddling(PoiseContext ctx)
{
  Problem s;
  if (!Open(Chain(ctx, 0.2), "gmres", "jacobi", &s)) return;
  Meddler m = {.b = s.b, .x = s.x, .A = s.A};
  CHECK_OK(PoiseKSPAddMonitor(s.ksp, Monitor_Meddle, &m));
  CHECK_ERR(Saying(1, "at a monitor", PoiseKSPSolve(s.ksp, s.b, s.x)), POISE_ERR_STATE,
            "PoiseKSPSolve of a solver in the middle of its solve");
  CHECK_INT(m.calls, 3);
  CHECK_OK(PoiseKSPSetType(s.ksp, "cg"));
  ProblemClose(&s);
}

static const Test tests[] = {
    {"shells", TestShells, 0},
    {"solve_in_product", TestSolveInProduct, 0},
    {"monitors", TestMonitors, 0},
    {"tests", TestTests, 0},
    {"shell_errors", TestShellErrors, 0},
    {"guest_errors", TestGuestErrors, 0},
    {"meddling", TestMeddling, 0},
    {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "callbacks", tests);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Interrupts by the application: looks are counted, and by a clock of the test's own each is due. */
#include "problem.h"

enum { FOREVER = 1000000000, SIDE = 16 };

typedef struct User { /* one for each rank */
  int looks, from;    /* fails from this look on; 0: never */
} User;

static PoiseErr Look(void *arg)
{
  User *u = arg;
  if (++u->looks >= u->from && u->from) POISE_FAIL(POISE_ERR_USER, "the user has had enough");
  return POISE_OK;
}

/* Seconds by which a thread's clock goes on whenever it is looked at. */
static _Thread_local double now, tick;

static double Clock(void)
{
  return now += tick;
}

static void Interruptible(PoiseContext ctx, double seconds, User *u)
{
  ctx->hooks.clock = Clock;
  now = 0, tick = seconds;
  *u = (User){0};
  CHECK_OK(PoiseSetInterrupt(ctx, Look, u));
}

static bool IsLast(PoiseContext ctx)
{
  return PoiseRank(ctx) == PoiseSize(ctx) - 1;
}

static PoiseInt Largest(PoiseContext ctx, PoiseInt n)
{
  double v = (double)n;
  CHECK_OK(PoiseMax(ctx, 1, &v));
  return (PoiseInt)v;
}

/* All ranks have stopped in the same iteration. */
static void CheckTogether(PoiseContext ctx, const Problem *p)
{
  CHECK_INT(Largest(ctx, PoiseKSPIterations(p->ksp)), PoiseKSPIterations(p->ksp));
  CHECK_INT(PoiseKSPConvergedReason(p->ksp), POISE_DIVERGED_ERROR);
}

/* ---- each look ------------------------------------------------------------------------------- */

static double BitsOf(const Problem *p)
{
  double sum = NAN;
  CHECK_OK(PoiseVecDot(p->b, p->x, &sum));
  return sum;
}

/* Interrupt set-up and solve at look `from`. *sum: the bits of what was never interrupted. Returns whether
   there is such a look. */
static bool InterruptAt(PoiseContext ctx, int from, const char *method, const char *pc, double *sum)
{
  Problem p;
  User u;
  if (!ProblemOpenGrid(ctx, SIDE, SIDE, 1, method, pc, &p)) return false;
  Interruptible(ctx, 1, &u);
  u.from = IsLast(ctx) ? from : 0;
  PoiseErr e = PoiseKSPSolve(p.ksp, p.b, p.x);
  bool there = e != POISE_OK, fired = u.from && u.looks >= u.from;
  CHECK_OK(PoiseSetInterrupt(ctx, NULL, NULL));
  if (there) {
    CHECK_ERR(e, fired ? POISE_ERR_USER : POISE_ERR_REMOTE, "the user has had enough");
    CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x)); /* as if nothing had happened */
  } else {
    CHECK(!fired);
  }
  if (!from) *sum = BitsOf(&p);
  CHECK(BitsOf(&p) == *sum);
  ProblemClose(&p);
  return there;
}

static void TestEachLook(PoiseContext ctx)
{
  static const char *const cases[][2] = {
      {"cg", "amg"}, {"gmres", "lu"}, {"bicgstab", "bjacobi"}, {"fgmres", "ksp"}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    double sum = NAN;
    int from = 1, step = 1;
    CHECK(!InterruptAt(ctx, 0, cases[k][0], cases[k][1], &sum));
    while (InterruptAt(ctx, from, cases[k][0], cases[k][1], &sum) && CHECK(from < 100000)) from += step++;
    CHECK(from > 20);
  }
}

/* ---- solves that would not end --------------------------------------------------------------- */

/* In fast iterations and in slow ones, with sums over ranks and without. */
static void TestIterations(PoiseContext ctx)
{
  static const struct {
    const char *method;
    PoiseNormType norm;
  } cases[] = {{"richardson", POISE_KSP_NORM_PRECONDITIONED},
               {"richardson", POISE_KSP_NORM_NONE},
               {"chebyshev", POISE_KSP_NORM_NONE}};
  for (size_t k = 0; k < 2 * sizeof cases / sizeof *cases; k++) {
    double tick_here = k % 2 && ctx->device->ops->is_host ? 1e-4 : 1; /* a replay takes some ms */
    User u;
    Problem p;
    if (!ProblemOpenGrid(ctx, SIDE, SIDE, 1, cases[k / 2].method, "jacobi", &p)) return;
    CHECK_OK(PoiseKSPSetNormType(p.ksp, cases[k / 2].norm));
    CHECK_OK(PoiseKSPSetTolerances(p.ksp, 0, 0, 1e300, FOREVER));
    CHECK_OK(PoiseKSPChebyshevSetEigenvalues(p.ksp, 1e9, 1)); /* it goes slowly */
    CHECK_OK(PoiseKSPRichardsonSetScale(p.ksp, 1e-9));
    Interruptible(ctx, tick_here, &u);
    CHECK_OK(PoiseKSPSetUp(p.ksp));
    u.from = IsLast(ctx) ? u.looks + 5 : 0;
    CHECK_ERR(PoiseKSPSolve(p.ksp, p.b, p.x), u.from ? POISE_ERR_USER : POISE_ERR_REMOTE, "had enough");
    CheckTogether(ctx, &p);
    CHECK_OK(PoiseSetInterrupt(ctx, NULL, NULL));
    CHECK_OK(PoiseKSPSetTolerances(p.ksp, 0, 0, 1e300, 3));
    CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
    CHECK_INT(PoiseKSPIterations(p.ksp), 3);
    ProblemClose(&p);
  }
}

/* ---- when it asks ---------------------------------------------------------------------------- */

/* By time: no more often than some times a second, whatever the number of iterations. */
static void TestPace(PoiseContext ctx)
{
  User u;
  Problem p;
  if (!ProblemOpenGrid(ctx, SIDE, SIDE, 1, "richardson", "jacobi", &p)) return;
  CHECK_OK(PoiseKSPRichardsonSetScale(p.ksp, 1e-6));
  CHECK_OK(PoiseKSPSetTolerances(p.ksp, 1e-12, -1, -1, 2000));
  Interruptible(ctx, 1e-3, &u);
  CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
  CHECK(u.looks >= 1 && u.looks <= 1 + now / POISE_LOOK_SECONDS);
  CHECK_OK(PoiseSetInterrupt(ctx, NULL, NULL));
  ProblemClose(&p);
}

/* Looks of a set-up of `pc` for n^2 rows. */
static int LooksOfSetUp(PoiseContext ctx, int n, const char *pc)
{
  User u;
  Problem p;
  if (!ProblemOpenGrid(ctx, n, n, 1, "preonly", pc, &p)) return 0;
  Interruptible(ctx, 1, &u);
  CHECK_OK(PoiseKSPSetUp(p.ksp));
  CHECK_OK(PoiseSetInterrupt(ctx, NULL, NULL));
  ProblemClose(&p);
  return u.looks;
}

/* Where nothing is allocated for long, the kernel asks: lu for each panel of columns, ilu for each row
   block. */
static void TestKernels(PoiseContext ctx)
{
  CHECK(LooksOfSetUp(ctx, 22, "lu") >= LooksOfSetUp(ctx, 4, "lu") + 13);
  if (PoiseSize(ctx) == 1) CHECK(LooksOfSetUp(ctx, 100, "ilu") >= LooksOfSetUp(ctx, 4, "ilu") + 8);
}

/* ---- the setter ------------------------------------------------------------------------------ */

static void TestSetter(PoiseContext ctx)
{
  User u;
  Problem p;
  PoiseInt begin, n;
  Interruptible(ctx, 1, &u);
  if (PoiseSize(ctx) > 1)
    CHECK_ERR(PoiseSetInterrupt(ctx, IsLast(ctx) ? NULL : Look, &u), POISE_ERR_ARG, "some ranks");
  CHECK_ERR(PoiseSetInterrupt(NULL, Look, &u), POISE_ERR_ARG, "");
  PoiseSplit(ctx, 10, &begin, &n);
  u.from = 1; /* the one before is still there */
  CHECK_ERR(PoiseVecCreate(ctx, n, 10, &p.x), POISE_ERR_USER, "had enough");
  CHECK_OK(PoiseSetInterrupt(ctx, NULL, NULL));
  CHECK_OK(PoiseVecCreate(ctx, n, 10, &p.x));
  CHECK_OK(PoiseVecDestroy(&p.x));
}

/* It may return a bare number, and an older error stays what it was. */
static PoiseErr Bare(void *arg)
{
  return *(int *)arg ? (PoiseErr)77 : POISE_OK;
}

static void TestWords(PoiseContext ctx)
{
  int fails = 0;
  void *block = NULL;
  ctx->hooks.clock = Clock;
  tick = 1;
  CHECK_OK(PoiseSetInterrupt(ctx, Bare, &fails));
  PoiseErrorSet(POISE_ERR_SIZE, "F", "f.c", 1, "older");
  CHECK_OK(poiseAlloc(ctx, 8, "a test", &block));
  CHECK(!strcmp(PoiseErrorMessage(), "older"));
  poiseFree(ctx, &block);
  fails = 1;
  CHECK_ERR(poiseAlloc(ctx, 8, "a test", &block), POISE_ERR_USER,
            "the function of PoiseSetInterrupt returned 77");
  CHECK(!block);
  CHECK_OK(PoiseSetInterrupt(ctx, NULL, NULL));
}

static const Test tests[] = {{"each_look", TestEachLook, 0},
                             {"iterations", TestIterations, 0},
                             {"pace", TestPace, TEST_HOST_ONLY},
                             {"kernels", TestKernels, TEST_HOST_ONLY},
                             {"setter", TestSetter, 0},
                             {"words", TestWords, 0},
                             {NULL, NULL, 0}};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "interrupt", tests);
}

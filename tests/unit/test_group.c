/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Ranks that share a device solve as one (-comm_gather). They have the bits of a solve by as many ranks of
  PoiseRun as there are groups, with the rows of these; residuals are computed here, entry by entry.
*/
#include "ksp/ksp.h"
#include "unequal.h"

typedef struct Layouts { /* of a run with groups, and of the ranks that it must equal */
  int ranks, devices;    /* devices: 1, or as many as there are */
} Layouts;

static const Layouts layouts[] = {{2, 1}, {4, 1}, {7, 1}, {7, 4}, {9, 4}};

enum { LAYOUTS = sizeof layouts / sizeof *layouts };

/* As many as ranks have devices. */
static int Groups(PoiseContext ctx, const Layouts *l)
{
  int count = 1;
  CHECK_OK(ctx->device->ops->count(&count));
  return l->devices == 1 ? 1 : count < l->ranks ? count : l->ranks;
}

static bool OpenRanks(PoiseContext ctx, int ranks, bool one, const char *more, PoiseContext *own)
{
  char words[256];
  snprintf(words, sizeof words, "-device %s -host_threads 1 -ranks %d %s %s", ctx->device->ops->name, ranks,
           one ? "-device_id 0" : "", more);
  return CHECK_OK(TestInitialize((PoiseInit){.serial = 1}, words, own));
}

/* The first row, in nodes, of rank r of so many. */
static PoiseInt NodesBefore(int r, int ranks)
{
  return ROWS / 2 * (PoiseInt)r / ranks;
}

/* ---- the same bits --------------------------------------------------------------------------- */

typedef struct Run {
  const System *s;
  Outcome *out; /* of every case; rank 0 writes */
  int ranks;    /* of the application; fewer have the rows of those that share a device */
} Run;

/* As Poise deals GPUs: rank r has GPU r groups / ranks. */
static int FirstRank(int group, int groups, int ranks)
{
  int r = 0;
  while (r < ranks && r * groups / ranks < group) r++;
  return r;
}

static PoiseErr Body(PoiseContext ctx, void *arg)
{
  const Run *run = arg;
  int size = PoiseSize(ctx), rank = PoiseRank(ctx);
  bool joined = size < run->ranks;
  int first = joined ? FirstRank(rank, size, run->ranks) : rank,
      end = joined ? FirstRank(rank + 1, size, run->ranks) : rank + 1;
  PoiseInt begin = 2 * NodesBefore(first, run->ranks), m = 2 * NodesBefore(end, run->ranks) - begin;
  PoiseMat A;
  CHECK((ctx->group != NULL) == !joined);
  POISE_TRY(RowsOf(ctx, run->s, begin, m, &A));
  for (int c = 0; c < CASES; c++) CHECK_OK(SolveCase(ctx, A, run->s, &cases[c], rank ? NULL : &run->out[c]));
  return PoiseMatDestroy(&A);
}

static void TestSameBits(PoiseContext ctx)
{
  if (!SampleIsAway(ctx)) TEST_SKIP("the host gathers nothing");
  System *s = malloc(sizeof *s);
  Outcome *mine = calloc(2 * CASES, sizeof *mine), *reference = mine + CASES;
  if (!CHECK(s && mine)) return;
  Build(s, 0);
  for (int k = 0; k < LAYOUTS; k++) {
    PoiseContext own = NULL;
    bool one = layouts[k].devices == 1;
    Run run = {s, mine, layouts[k].ranks}, other = {s, reference, layouts[k].ranks};
    if (!OpenRanks(ctx, layouts[k].ranks, one, "-comm_gather yes", &own)) break;
    CHECK_OK(PoiseRun(own, Body, &run));
    CHECK_OK(PoiseFinalize(&own));
    if (!OpenRanks(ctx, Groups(ctx, &layouts[k]), one, "", &own)) break;
    CHECK_OK(PoiseRun(own, Body, &other));
    CHECK_OK(PoiseFinalize(&own));
    for (int c = 0; c < CASES; c++) {
      CheckSame(s, &mine[c], &reference[c]);
      if (mine[c].reason > 0) CHECK_NEAR(Residual(s, mine[c].x), 0, 1e-6);
    }
  }
  free(s), free(mine);
}

/* ---- what a program sees ----------------------------------------------------------------------- */

typedef struct Program { /* of every rank */
  PoiseContext ctx;
  const System *s;
  PoiseMat A;
  PoiseKSP ksp;
  PoiseVec b, x;
} Program;

static bool Start(PoiseContext ctx, const System *s, const char *method, const char *pc, Program *a)
{
  int size = PoiseSize(ctx), rank = PoiseRank(ctx);
  PoiseInt begin = 2 * NodesBefore(rank, size), m = 2 * NodesBefore(rank + 1, size) - begin;
  *a = (Program){.ctx = ctx, .s = s};
  return CHECK_OK(RowsOf(ctx, s, begin, m, &a->A)) && CHECK_OK(PoiseMatCreateVecs(a->A, &a->x, &a->b)) &&
         CHECK_OK(SampleToVec(s->b, a->b)) && CHECK_OK(Solver(ctx, a->A, &(Case){method, pc, 0}, &a->ksp));
}

static void End(Program *a)
{
  CHECK_OK(PoiseKSPDestroy(&a->ksp));
  CHECK_OK(PoiseVecDestroy(&a->b));
  CHECK_OK(PoiseVecDestroy(&a->x));
  CHECK_OK(PoiseMatDestroy(&a->A));
}

static void SolveWell(Program *a)
{
  double x[ROWS];
  if (!CHECK_OK(PoiseKSPSolve(a->ksp, a->b, a->x)) || !CHECK_OK(SampleFromVec(a->x, x))) return;
  CHECK(PoiseKSPConvergedReason(a->ksp) > 0);
  CHECK_NEAR(Residual(a->s, x), 0, 1e-6);
}

/* New values and b on the device. By a power of 2, so x has the same bits. */
static void SolveScaled(Program *a)
{
  uint64_t bits = SampleDigest(a->x);
  CHECK_OK(PoiseMatScale(a->A, 4));
  CHECK_OK(PoiseVecScale(a->b, 4));
  CHECK_OK(PoiseKSPSolve(a->ksp, a->b, a->x));
  CHECK(SampleDigest(a->x) == bits);
}

/* Call body on so many ranks that share one device, or as many as there are. */
static void OnRanks(PoiseContext ctx, int ranks, bool one, PoiseErr (*body)(PoiseContext, void *))
{
  PoiseContext own;
  if (!SampleIsAway(ctx)) TEST_SKIP("the host gathers nothing");
  System *s = malloc(sizeof *s);
  if (!CHECK(s != NULL) || !OpenRanks(ctx, ranks, one, "-comm_gather yes", &own)) return;
  Build(s, 0);
  CHECK_OK(PoiseRun(own, body, s));
  CHECK_OK(PoiseFinalize(&own));
  free(s);
}

/* Work is the leader's: the others launch nothing, and allocate nothing, in a solve. */
static PoiseErr CountWork(PoiseContext ctx, void *system)
{
  Program a;
  bool leads = poiseGroupLeader(ctx->group) != NULL;
  if (!Start(ctx, system, "cg", "jacobi", &a)) return POISE_OK;
  CHECK(leads == (PoiseRank(ctx) == 0));
  SolveWell(&a);
  int64_t launches = ctx->device->launches, calls = ctx->memory.calls;
  CHECK_OK(PoiseKSPSolve(a.ksp, a.b, a.x));
  CHECK_INT(ctx->device->launches, launches);
  CHECK_INT(ctx->memory.calls, calls);
  if (leads) CHECK(poiseGroupLeader(ctx->group)->device->launches > 0);
  CHECK_OK(PoiseMatSetType(a.A, "csri"));
  SolveWell(&a);
  SolveScaled(&a);
  End(&a);
  return POISE_OK;
}

static void TestWork(PoiseContext ctx)
{
  OnRanks(ctx, 4, true, CountWork);
}

/* Monitors and tests are called on every rank, with its vectors; they build the iterate. */
typedef struct Seen {
  Program *a;
  PoiseVec x;
  int monitors, tests;
  double norm; /* of b - A x, of the iterate that the latest test has built */
} Seen;

static PoiseErr Monitor(PoiseKSP ksp, PoiseInt it, double norm, void *arg)
{
  Seen *seen = arg;
  CHECK(ksp == seen->a->ksp && norm == PoiseKSPResidualNorm(ksp));
  CHECK_INT(it, seen->monitors++);
  return POISE_OK;
}

static PoiseErr Test_Fifth(PoiseKSP ksp, PoiseInt it, double norm, PoiseKSPReason *reason, void *arg)
{
  Seen *seen = arg;
  (void)norm;
  seen->tests++;
  POISE_TRY(PoiseKSPBuildSolution(ksp, seen->x));
  POISE_TRY(PoiseKSPTrueResidual(ksp, seen->a->b, seen->x, &seen->norm));
  bool last = PoiseRank(seen->a->ctx) == PoiseSize(seen->a->ctx) - 1;
  if (it == 5 && last) *reason = POISE_CONVERGED_USER; /* one rank decides */
  return POISE_OK;
}

static PoiseErr FailOnLast(PoiseKSP ksp, PoiseInt it, double norm, void *arg)
{
  const PoiseContext ctx = arg;
  (void)ksp, (void)norm;
  if (it == 2 && PoiseRank(ctx) == PoiseSize(ctx) - 1)
    POISE_FAIL(POISE_ERR_NUMERIC, "it gives up at %d", (int)it);
  return POISE_OK;
}

static PoiseErr Callbacks(PoiseContext ctx, void *system)
{
  Program a;
  double residual;
  if (!Start(ctx, system, "cg", "jacobi", &a)) return POISE_OK;
  Seen seen = {.a = &a};
  bool last = PoiseRank(ctx) == PoiseSize(ctx) - 1;
  CHECK_OK(PoiseVecDuplicate(a.x, &seen.x));
  CHECK_OK(PoiseKSPAddMonitor(a.ksp, Monitor, &seen));
  SolveWell(&a);
  CHECK_INT(seen.monitors, PoiseKSPIterations(a.ksp) + 1);
  seen.monitors = 0;
  CHECK_OK(PoiseKSPSetConvergenceTest(a.ksp, Test_Fifth, &seen));
  CHECK_OK(PoiseKSPSolve(a.ksp, a.b, a.x));
  CHECK_INT(PoiseKSPConvergedReason(a.ksp), POISE_CONVERGED_USER);
  CHECK_INT(PoiseKSPIterations(a.ksp), 5);
  CHECK_INT(seen.tests, 6);
  CHECK_OK(PoiseKSPTrueResidual(a.ksp, a.b, a.x, &residual));
  CHECK_NEAR(seen.norm, residual, 1e-12);
  CHECK_OK(PoiseKSPSetConvergenceTest(a.ksp, NULL, NULL));
  seen.monitors = 0;
  CHECK_OK(PoiseKSPAddMonitor(a.ksp, FailOnLast, ctx));
  CHECK_ERR(PoiseKSPSolve(a.ksp, a.b, a.x), last ? POISE_ERR_NUMERIC : POISE_ERR_REMOTE, "it gives up at 2");
  CHECK_OK(PoiseVecDestroy(&seen.x));
  End(&a);
  return POISE_OK;
}

static void TestCallbacks(PoiseContext ctx)
{
  OnRanks(ctx, 4, true, Callbacks);
  if (SampleIsAway(ctx)) OnRanks(ctx, 7, false, Callbacks);
}

/* What a leader cannot solve the ranks do by themselves, which the view tells; then they gather again. */
static PoiseErr Copy(void *arg, PoiseVec r, PoiseVec z)
{
  (void)arg;
  return PoiseVecCopy(r, z);
}

static PoiseErr FallBack(PoiseContext ctx, void *system)
{
  Program a;
  PoisePC pc;
  char text[1 << 14];
  if (!Start(ctx, system, "cg", "jacobi", &a)) return POISE_OK;
  SolveWell(&a);
  CHECK_OK(PoiseKSPGetPC(a.ksp, &pc));
  CHECK_OK(PoisePCSetShell(pc, &(PoiseShellPC){.apply = Copy}, NULL));
  SolveWell(&a);
  CHECK(*a.ksp->alone && !a.ksp->divided);
  FILE *file = TestPrintBegin(ctx);
  CHECK_OK(PoiseKSPView(a.ksp));
  TestPrintEnd(ctx, file, text, sizeof text);
  if (!PoiseRank(ctx)) CHECK(strstr(text, "not gathered, though ranks share a GPU: preconditioner shell"));
  CHECK_OK(PoisePCSetType(pc, "jacobi"));
  SolveWell(&a);
  CHECK(!*a.ksp->alone && a.ksp->divided);
  file = TestPrintBegin(ctx);
  CHECK_OK(PoiseKSPView(a.ksp));
  TestPrintEnd(ctx, file, text, sizeof text);
  if (!PoiseRank(ctx)) CHECK(strstr(text, "gathered: 4 ranks solve as 1 (-comm_gather)"));
  End(&a);
  return POISE_OK;
}

static void TestFallBack(PoiseContext ctx)
{
  OnRanks(ctx, 4, true, FallBack);
}

/* ---- processes --------------------------------------------------------------------------------- */

/* All processes share a device: they have the bits of one rank, with values from the host and the device. */
static void TestProcesses(PoiseContext ctx)
{
  PoiseContext own, one;
  Program a;
  PoiseMat A;
  char words[128];
  if (PoiseSize(ctx) == 1 || ctx->parent) TEST_SKIP("there are no ranks of MPI");
  if (!SampleIsAway(ctx)) TEST_SKIP("the host gathers nothing");
  System *s = malloc(sizeof *s);
  snprintf(words, sizeof words, "-device %s -host_threads 1 -device_id 0 -comm_gather yes",
           ctx->device->ops->name);
  if (!CHECK(s != NULL) || !CHECK_OK(TestInitialize((PoiseInit){0}, words, &own))) return;
  snprintf(words, sizeof words, "-device %s -host_threads 1 -device_id 0", ctx->device->ops->name);
  if (!CHECK_OK(TestInitialize((PoiseInit){.serial = 1}, words, &one))) return;
  Build(s, 0);
  CHECK_OK(RowsOf(one, s, 0, ROWS, &A));
  CHECK(own->group != NULL);
  for (int c = 0; c < CASES; c++) {
    Outcome mine = {0}, reference = {0};
    if (!Start(own, s, cases[c].method, cases[c].pc, &a)) break;
    CHECK_OK(SolveCase(own, a.A, s, &cases[c], &mine));
    CHECK_OK(SolveCase(one, A, s, &cases[c], &reference));
    CheckSame(s, &mine, &reference);
    End(&a);
  }
  if (Start(own, s, "cg", "jacobi", &a)) {
    SolveWell(&a);
    SolveScaled(&a);
    End(&a);
  }
  CHECK_OK(PoiseMatDestroy(&A));
  CHECK_OK(PoiseFinalize(&one));
  CHECK_OK(PoiseFinalize(&own));
  free(s);
}

/* Those that are serial use contexts of their own, so one rank of the harness is enough. */
static const Test tests[] = {
    {"same_bits", TestSameBits, TEST_SERIAL},  {"work", TestWork, TEST_SERIAL},
    {"callbacks", TestCallbacks, TEST_SERIAL}, {"fall_back", TestFallBack, TEST_SERIAL},
    {"processes", TestProcesses, 0},           {NULL, NULL, 0}};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "group", tests);
}

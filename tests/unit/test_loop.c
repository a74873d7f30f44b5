/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Loops: graphs that a device repeats by itself until a word is set, and the solver's loop in turns and steps.
  Whatever the turns, a solve has the bits, norms and monitors of one whose iterations the host enqueues. The
  same holds for a device whose graphs cannot be loops. What a small solve costs beside its iterations is
  counted.
*/
#include <unistd.h>

#include "ksp/loop.h"
#include "sample.h"

/* ---- the device ------------------------------------------------------------------------------ */

enum { PLACES = 16 };

/* One place of a row of numbers moves down; done = place[0] is set once the 1 has come there. */
typedef struct Counter {
  Device *dev;
  double *place, *moved, *turns, *steps, *one; /* device pointers */
  Graph *graph;
} Counter;

static PoiseErr Axpby(Device *dev, int64_t n, double *w, const double *x, double b, const double *y)
{
  PhaseArgs p = {.id = PHASE_vec_axpby, .n = n, .in = {x, y}, .out = {w}, .c = {{.value = 1}, {.value = b}}};
  return LAUNCH(dev, phase, &p);
}

static void Reset(Counter *c, int turns)
{
  double place[PLACES] = {0}, zero = 0, one = 1;
  place[turns] = 1;
  CHECK_OK(poiseDeviceCopy(c->dev, c->place, place, sizeof place, COPY_TO_DEVICE));
  CHECK_OK(poiseDeviceCopy(c->dev, c->turns, &zero, sizeof zero, COPY_TO_DEVICE));
  CHECK_OK(poiseDeviceCopy(c->dev, c->steps, &zero, sizeof zero, COPY_TO_DEVICE));
  CHECK_OK(poiseDeviceCopy(c->dev, c->one, &one, sizeof one, COPY_TO_DEVICE));
  CHECK_OK(poiseDeviceSync(c->dev));
}

/* A turn: count; move; and, unless the loop has ended by then, count once more in each of two steps. first: a
   move comes before the loop. */
static bool Capture(Counter *c, bool first)
{
  Device *dev = c->dev;
  if (first && CHECK_OK(dev->ops->capture_first(dev, c->place))) {
    CHECK_OK(Axpby(dev, PLACES - 1, c->moved, c->place + 1, 0, NULL));
    CHECK_OK(Axpby(dev, PLACES - 1, c->place, c->moved, 0, NULL));
  }
  if (!CHECK_OK(dev->ops->capture_begin(dev, c->place))) return false;
  CHECK_OK(Axpby(dev, 1, c->turns, c->turns, 1, c->one));
  CHECK_OK(Axpby(dev, PLACES - 1, c->moved, c->place + 1, 0, NULL));
  CHECK_OK(Axpby(dev, PLACES - 1, c->place, c->moved, 0, NULL));
  for (int k = 0; k < 2; k++) {
    CHECK_OK(dev->ops->capture_step(dev));
    CHECK_OK(Axpby(dev, 1, c->steps, c->steps, 1, c->one));
  }
  return CHECK_OK(dev->ops->capture_end(dev, &c->graph));
}

static double Value(Counter *c, const double *p)
{
  double v = NAN;
  CHECK_OK(poiseDeviceCopy(c->dev, &v, p, sizeof v, COPY_TO_HOST));
  CHECK_OK(poiseDeviceSync(c->dev));
  return v;
}

static void Replay(Counter *c, int turns)
{
  CHECK_OK(c->dev->ops->replay(c->dev, c->graph, turns));
  c->dev->busy = true;
}

static bool Open(PoiseContext ctx, Counter *c)
{
  void *p;
  *c = (Counter){.dev = ctx->device};
  if (!CHECK_OK(poiseDeviceAlloc(c->dev, (2 * PLACES + 3) * sizeof(double), "counters", &p))) return false;
  c->place = p;
  c->moved = c->place + PLACES, c->turns = c->moved + PLACES, c->steps = c->turns + 1, c->one = c->steps + 1;
  return true;
}

static void Close(Counter *c)
{
  void *p = c->place;
  c->dev->ops->graph_free(c->dev, &c->graph);
  poiseDeviceFree(c->dev, (2 * PLACES + 3) * sizeof(double), &p);
}

static void TestDevice(PoiseContext ctx)
{
  Counter c;
  if (!ctx->device->loops) TEST_SKIP("this device has no loops");
  if (!Open(ctx, &c)) return;
  if (Capture(&c, false))
    for (int turns = 0; turns < PLACES; turns++)
      for (int most = 1; most <= PLACES; most *= 2) {
        Reset(&c, turns);
        for (int sum = 0; sum < PLACES + most; sum += most) { /* goes on beyond the end */
          Replay(&c, most);
          if (most > 4) continue; /* replays one behind the other */
          int done = sum + most < turns ? sum + most : turns;
          CHECK_NEAR(Value(&c, c.turns), done, 0);
        }
        CHECK_NEAR(Value(&c, c.turns), turns, 0);
        CHECK_NEAR(Value(&c, c.steps), turns ? 2 * (turns - 1) : 0, 0);
      }
  Close(&c);
}

/* What comes before the loop runs once a replay, also where the loop is over by then. */
static void TestFirst(PoiseContext ctx)
{
  Counter c;
  if (!ctx->device->loops) TEST_SKIP("this device has no loops");
  if (!Open(ctx, &c)) return;
  if (Capture(&c, true))
    for (int turns = 1; turns < PLACES; turns++) {
      Reset(&c, turns);
      for (int left = turns; left > 0; left -= 4) {
        double before = Value(&c, c.turns);
        Replay(&c, 3);
        CHECK_NEAR(Value(&c, c.turns) - before, left > 4 ? 3 : left - 1, 0);
        CHECK_NEAR(Value(&c, c.place), left <= 4, 0);
      }
    }
  Close(&c);
}

/* Two loops take turns; each has its own number of turns. */
static void TestTwoLoops(PoiseContext ctx)
{
  Counter a, b;
  if (!ctx->device->loops) TEST_SKIP("this device has no loops");
  if (!Open(ctx, &a) || !Open(ctx, &b)) return;
  if (Capture(&a, false) && Capture(&b, true)) {
    Reset(&a, 10);
    Reset(&b, 12);
    Replay(&a, 3);
    Replay(&b, 5);
    Replay(&a, 3);
    Replay(&b, 5);
    CHECK_NEAR(Value(&a, a.turns), 6, 0);
    CHECK_NEAR(Value(&b, b.turns), 10, 0);
  }
  Close(&a);
  Close(&b);
}

/* Ranks of a process that share a GPU have no loops, and all ranks have them alike: graphs with conditions
   must not run at once on a GPU. */
static void TestShared(PoiseContext ctx)
{
  const Device *dev = ctx->device;
  double place[16] = {0}, loops[1] = {dev->loops};
  int rank = PoiseRank(ctx), size = PoiseSize(ctx), sharing = 0;
  place[2 * rank] = (double)getpid(), place[2 * rank + 1] = dev->id;
  CHECK_OK(PoiseSum(ctx, 16, place));
  CHECK_OK(PoiseSum(ctx, 1, loops));
  CHECK(loops[0] == 0 || loops[0] == size);
  for (int r = 0; r < size; r++)
    sharing += place[2 * r] == place[2 * rank] && place[2 * r + 1] == place[2 * rank + 1];
  if (strcmp(dev->ops->name, "cuda") == 0 && sharing > 1) CHECK(!dev->loops);
}

/* Where graphs cannot be loops, what is captured runs once a replay. */
static void TestPlain(PoiseContext ctx)
{
  Counter c;
  if (!ctx->device->loops) TEST_SKIP("this device has no loops");
  if (!Open(ctx, &c)) return;
  ctx->device->loops = false;
  if (Capture(&c, false)) {
    Reset(&c, 2);
    for (int k = 0; k < 5; k++) Replay(&c, 7);
    CHECK_NEAR(Value(&c, c.turns), 5, 0);
    CHECK_NEAR(Value(&c, c.steps), 10, 0);
  }
  ctx->device->loops = true;
  Close(&c);
}

/* The mock refuses in a loop what would be a foreign node. */
static void TestRefused(PoiseContext ctx)
{
  Device *dev = ctx->device;
  Counter c;
  int64_t event;
  double v;
  if (strcmp(dev->ops->name, "mock")) TEST_SKIP("only the mock checks this");
  if (!dev->loops) TEST_SKIP("this device has no loops");
  if (!Open(ctx, &c)) return;
  Reset(&c, 1);
  CHECK_OK(dev->ops->capture_begin(dev, c.place));
  CHECK_ERR(dev->ops->record(dev, &event), POISE_ERR_INTERNAL, "an event inside the capture of a loop");
  CHECK_ERR(dev->ops->copy(dev, &v, c.place, sizeof v, COPY_TO_HOST), POISE_ERR_INTERNAL,
            "a copy from or to the host inside the capture of a loop");
  CHECK_OK(dev->ops->capture_end(dev, &c.graph));
  Replay(&c, 3); /* an empty body; freed while it is queued */
  Close(&c);
  CHECK_OK(poiseDeviceSync(dev));
}

/* ---- the solver ------------------------------------------------------------------------------ */

enum { N = 900, SIDE = 30, SEEN = 2100 };

static const char *const methods[] = {
    "cg",        "prcg", "bicgstab", "gmres",  "minres", "richardson", "chebyshev", "cgs",  "tfqmr",  "idr",
    "bicgstabl", "fcg",  "gcr",      "symmlq", "qmrcgs", "bicg",       "lsqr",      "cgls", "lgmres", "qmr"};
enum { NMETHODS = sizeof methods / sizeof *methods };

typedef struct Solver {
  PoiseMat A;
  PoiseVec b, x;
  PoiseKSP ksp;
  PoiseInt seen;
  double norm[SEEN + 1]; /* as the monitor was told */
} Solver;

static PoiseErr See(PoiseKSP ksp, PoiseInt it, double norm, void *arg)
{
  Solver *s = arg;
  (void)ksp;
  CHECK_INT(it, s->seen); /* each once, in order */
  if (s->seen <= SEEN) s->norm[s->seen++] = norm;
  return POISE_OK;
}

static PoiseErr Create(PoiseContext ctx, const char *method, Solver *s)
{
  PoisePC pc;
  PoiseInt begin, m;
  memset(s, 0, sizeof *s);
  TRY(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, N, N, &s->A));
  PoiseSplit(ctx, N, &begin, &m);
  for (PoiseInt i = begin; i < begin + m; i++)
    for (int k = 0; k < 5; k++) {
      static const PoiseInt step[] = {0, -1, 1, -SIDE, SIDE};
      PoiseInt j = i + step[k];
      bool edge = (k == 1 && i % SIDE == 0) || (k == 2 && j % SIDE == 0) || j < 0 || j >= N;
      double v = k ? -1 - 0.3 * TestRandom(5, (uint64_t)(i < j ? i * N + j : j * N + i)) : 6;
      if (!edge) TRY(PoiseMatAddEntries(s->A, 1, &i, &j, &v));
    }
  TRY(PoiseMatAssemble(s->A));
  TRY(PoiseMatCreateVecs(s->A, &s->x, &s->b));
  SampleFill(s->b, 7);
  TRY(PoiseVecToDevice(s->b));
  TRY(PoiseKSPCreate(ctx, &s->ksp));
  TRY(PoiseKSPSetOperators(s->ksp, s->A, NULL));
  TRY(PoiseKSPSetType(s->ksp, method));
  TRY(PoiseKSPGetPC(s->ksp, &pc));
  TRY(PoisePCSetType(pc, "jacobi"));
  if (!strcmp(method, "gmres")) TRY(PoiseKSPGMRESSetRestart(s->ksp, 7));
  return PoiseKSPAddMonitor(s->ksp, See, s);
}

static void Destroy(Solver *s)
{
  CHECK_OK(PoiseKSPDestroy(&s->ksp));
  CHECK_OK(PoiseVecDestroy(&s->x));
  CHECK_OK(PoiseVecDestroy(&s->b));
  CHECK_OK(PoiseMatDestroy(&s->A));
}

typedef struct Outcome {
  PoiseKSPReason reason;
  PoiseInt its, seen;
  uint64_t x;
  double norm[SEEN + 1];
} Outcome;

enum { LONG = -2 }; /* as -1, on a device so slow that an iteration takes long */

static void Run(Solver *s, PoiseInt replay, double rtol, PoiseInt most, Outcome *o)
{
  Device *dev = PoiseVecContext(s->b)->device;
  double bandwidth = dev->model.bandwidth;
  memset(o, 0, sizeof *o);
  memset(s->norm, 0, sizeof s->norm);
  s->seen = 0;
  if (replay == LONG) dev->model.bandwidth = 1;
  s->ksp->options.replay = replay == LONG ? -1 : replay;
  CHECK_OK(PoiseKSPSetTolerances(s->ksp, rtol, 0, 1e30, most));
  CHECK_OK(PoiseKSPSolve(s->ksp, s->b, s->x));
  dev->model.bandwidth = bandwidth;
  o->reason = PoiseKSPConvergedReason(s->ksp);
  o->its = PoiseKSPIterations(s->ksp);
  o->seen = s->seen;
  o->x = SampleDigest(s->x);
  memcpy(o->norm, s->norm, sizeof o->norm);
}

/* Solves that end anywhere in a turn, in the first or a later replay, and beyond the ring of norms. */
static void CompareTurns(Solver *s, const char *method)
{
  static const PoiseInt replays[] = {LONG, -1, 1, 2, 3, 8, 100},
                        its[] = {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 33};
  Outcome eager, turns;
  for (size_t k = 0; k < sizeof its / sizeof *its; k++) {
    Run(s, 0, 1e-30, its[k], &eager);
    CHECK_INT(eager.seen, eager.its + 1);
    for (size_t r = 0; r < sizeof replays / sizeof *replays; r++) {
      Run(s, replays[r], 1e-30, its[k], &turns);
      if (!CHECK(!memcmp(&eager, &turns, sizeof eager)))
        printf("%s, %d iterations, %d a step: %d and %d\n", method, (int)its[k], (int)replays[r],
               (int)eager.its, (int)turns.its);
    }
  }
  Run(s, 0, 1e-8, SEEN, &eager); /* by converging, or of many iterations */
  for (size_t r = 0; r < sizeof replays / sizeof *replays; r++) {
    Run(s, replays[r], 1e-8, SEEN, &turns);
    CHECK(!memcmp(&eager, &turns, sizeof eager));
  }
}

static void TestTurns(PoiseContext ctx)
{
  Device *dev = ctx->device;
  bool loops = dev->loops;
  for (int m = 0; m < NMETHODS; m++)
    for (int plain = 0; plain <= (loops && m < 4); plain++) {
      Solver s;
      dev->loops = loops && !plain;
      if (CHECK_OK(Create(ctx, methods[m], &s))) CompareTurns(&s, methods[m]);
      Destroy(&s);
    }
  dev->loops = loops;
}

/* More iterations than the ring holds, one behind the other without a look by the host: each is told. Also in
   a second solve, whose first replay is as long as replays have become. */
static void TestRing(PoiseContext ctx)
{
  Solver s;
  Outcome eager, turns;
  if (CHECK_OK(Create(ctx, "richardson", &s))) {
    CHECK_OK(PoiseKSPRichardsonSetScale(s.ksp, 0.01)); /* far from converged */
    Run(&s, 0, 1e-12, SEEN, &eager);
    Run(&s, -1, 1e-12, SEEN, &turns);
    CHECK_INT(turns.its, SEEN);
    CHECK_INT(turns.seen, SEEN + 1);
    CHECK(!memcmp(&eager, &turns, sizeof eager));
    for (int k = 0; k < 2; k++) {
      Run(&s, 8, 1e-12, SEEN, &turns);
      CHECK(!memcmp(&eager, &turns, sizeof eager));
    }
    CHECK(s.ksp->loop.eager || !ctx->device->loops || s.ksp->loop.ring < SEEN);
  }
  Destroy(&s);
}

static void SetVariant(Solver *s, const char *variant)
{
  PoiseContext ctx = PoiseVecContext(s->b);
  CHECK_OK(PoiseOptionsSet(ctx, "ksp_cg_variant", variant));
  CHECK_OK(PoiseKSPSetFromOptions(s->ksp));
  CHECK_OK(PoiseOptionsSet(ctx, "ksp_cg_variant", "auto"));
}

/* cg in either form, changed between solves: what was captured for the other form is not replayed. */
static void TestForms(PoiseContext ctx)
{
  Solver cg, prcg;
  Outcome phases, predicts, other;
  PoisePC pc;
  if (CHECK_OK(Create(ctx, "cg", &cg)) && CHECK_OK(Create(ctx, "prcg", &prcg))) {
    Run(&cg, -1, 1e-8, SEEN, &phases); /* too few rows to predict */
    Run(&prcg, -1, 1e-8, SEEN, &predicts);
    CHECK(phases.its == predicts.its && phases.x != predicts.x);
    for (int k = 0; k < 8; k++) {
      SetVariant(&cg, k % 2 ? "phases" : "predict");
      Run(&cg, k < 4 ? -1 : 16, 1e-8, SEEN, &other); /* 16: turns of both forms are as long */
      CHECK(!memcmp(&other, k % 2 ? &phases : &predicts, sizeof other));
    }
    SetVariant(&cg, "predict");
    CHECK_OK(PoiseKSPGetPC(cg.ksp, &pc));
    CHECK_OK(PoisePCSetType(pc, "sor"));
    CHECK_ERR(PoiseKSPSolve(cg.ksp, cg.b, cg.x), POISE_ERR_UNSUPPORTED,
              "-ksp_cg_variant predict: the preconditioner is no diagonal");
    SetVariant(&cg, "auto");
    Run(&cg, -1, 1e-8, SEEN, &other);
    CHECK_OK(PoisePCSetType(pc, "jacobi"));
    CHECK_OK(PoiseMatSetNullSpace(cg.A, 1, 0, NULL));
    SetVariant(&cg, "predict");
    CHECK_ERR(PoiseKSPSolve(cg.ksp, cg.b, cg.x), POISE_ERR_UNSUPPORTED,
              "-ksp_cg_variant predict: the matrix has a null space");
  }
  Destroy(&cg);
  Destroy(&prcg);
}

/* ---- small solves ---------------------------------------------------------------------------- */

typedef struct Cost { /* of a solve, beside the kernels of its iterations */
  int64_t launches, copies, waits, allocations;
} Cost;

/* Solve without monitors, x on the device. each: kernels of an iteration. */
static Cost SolveAlone(Solver *s, int each)
{
  PoiseContext ctx = PoiseVecContext(s->b);
  const Device *dev = ctx->device;
  CHECK_OK(PoiseVecToDevice(s->x));
  s->ksp->user.nmonitors = 0;
  Cost c = {dev->launches, dev->copies, dev->waits, ctx->memory.calls};
  CHECK_OK(PoiseKSPSolve(s->ksp, s->b, s->x));
  s->ksp->user.nmonitors = 1;
  return (Cost){dev->launches - c.launches - each * PoiseKSPIterations(s->ksp), dev->copies - c.copies,
                dev->waits - c.waits, ctx->memory.calls - c.allocations};
}

/* The tolerance with which a solve converges after `its` iterations. */
static double Aim(Solver *s, PoiseInt its)
{
  Outcome o;
  Run(s, -1, 1e-30, its, &o);
  CHECK_INT(o.seen, its + 1);
  return o.norm[its] / o.norm[0] * (1 + 1e-12);
}

static void CheckCost(Cost c, int launches, int copies, int waits)
{
  CHECK_INT(c.launches, launches);
  CHECK_INT(c.copies, copies);
  CHECK_INT(c.waits, waits);
  CHECK_INT(c.allocations, 0); /* what was captured is kept */
}

/* What a solve costs beside its iterations: one copy each way, and one wait; 2 kernels in cg's start, 3 that
   check and deliver. Other ends than a claim are delivered when the host has seen them. */
static void TestSmall(PoiseContext ctx)
{
  static const struct {
    const char *method;
    int each, launches, copies, waits;
  } all[] = {
      {"cg", 3, 5, 2, 1}, {"minres", 3, 9, 2, 1}, {"bicgstab", 4, 6, 2, 1}, {"richardson", 4, 9, 2, 1}};
  Outcome o;
  if (PoiseSize(ctx) > 1 || strcmp(ctx->device->ops->name, "mock")) TEST_SKIP("for the mock, on one rank");
  for (int m = 0; m < 4; m++) {
    Solver s;
    if (CHECK_OK(Create(ctx, all[m].method, &s))) {
      for (int its = 1; its <= 19; its += 6) {
        double rtol = Aim(&s, its);
        /* the first replay becomes long enough: soon, but for replays that took long by the clock */
        for (int k = 0; k < 3 || (k < 200 && !s.ksp->loop.brief); k++) Run(&s, -1, rtol, SEEN, &o);
        /* bicgstab judges at the end of a cycle */
        int judges = m == 2 ? its / 8 : 0;
        CheckCost(SolveAlone(&s, all[m].each), all[m].launches + judges, all[m].copies, all[m].waits);
        CHECK_INT(PoiseKSPIterations(s.ksp), its);
        CHECK_INT(PoiseKSPConvergedReason(s.ksp), POISE_CONVERGED_RTOL);
        CHECK(!ctx->device->busy); /* so the log knows the time that the solve took */
      }
      if (m == 0) {
        Run(&s, -1, 1e-30, 3, &o);
        CheckCost(SolveAlone(&s, 3), 2 + 3 + 2, 3, 2);
        Run(&s, -1, 1e-30, 0, &o);
        CheckCost(SolveAlone(&s, 3), 2 + 3 + 2, 3, 2);
        CHECK_OK(PoiseKSPSetInitialGuessNonzero(s.ksp, 1));
        CHECK_INT(SolveAlone(&s, 3).allocations, 0);
      }
    }
    Destroy(&s);
  }
}

/* As eager, whatever is enqueued ahead; with and without a monitor, and x on the device. Returns the eager
   one. */
static Outcome CompareEnds(Solver *s, double rtol, PoiseInt most)
{
  Outcome eager, turns;
  Run(s, 0, rtol, most, &eager);
  for (int k = 0; k < 4; k++) {
    CHECK_OK(PoiseVecToDevice(s->x));
    Run(s, -1, rtol, most, &turns);
    CHECK(!memcmp(&eager, &turns, sizeof eager));
    if (s->ksp->options.guess_nonzero) break; /* x has changed */
    (void)SolveAlone(s, 0);
    CHECK_INT(PoiseKSPIterations(s->ksp), eager.its);
    CHECK_INT(PoiseKSPConvergedReason(s->ksp), eager.reason);
    CHECK(SampleDigest(s->x) == eager.x);
  }
  return eager;
}

static PoiseErr Scale(Solver *s, int exponent)
{
  SampleFill(s->b, 7);
  TRY(PoiseVecScale(s->b, ldexp(1, exponent)));
  return PoiseVecToDevice(s->b);
}

/* A b whose squares are no numbers is scaled, by a power of 2, before there is an iteration. */
static void TestRange(PoiseContext ctx)
{
  static const int exponents[] = {-996, 664, -700};
  for (int m = 0; m < NMETHODS; m++) {
    Solver s;
    if (CHECK_OK(Create(ctx, methods[m], &s))) {
      Outcome plain = CompareEnds(&s, 1e-6, 40);
      CHECK_INT(s.ksp->solve.scalings, 0);
      for (int k = 0; k < 3; k++) {
        CHECK_OK(Scale(&s, exponents[k]));
        Outcome o = CompareEnds(&s, 1e-6, 40);
        CHECK_INT(s.ksp->solve.scalings, 1);
        CHECK_OK(PoiseVecScale(s.x, ldexp(1, -exponents[k])));
        CHECK(SampleDigest(s.x) == plain.x);
        CHECK_INT(o.its, plain.its);
        CHECK_INT(o.reason, plain.reason);
        for (int i = 0; i <= plain.its; i++) CHECK(o.norm[i] == ldexp(plain.norm[i], exponents[k]));
      }
    }
    Destroy(&s);
  }
}

/* The same with a guess, whose x is not touched before b is scaled. */
static void TestRangeOfGuess(PoiseContext ctx)
{
  for (int m = 0; m < NMETHODS; m++) {
    Solver s;
    Outcome eager;
    if (CHECK_OK(Create(ctx, methods[m], &s)) && CHECK_OK(Scale(&s, 664))) {
      CHECK_OK(PoiseKSPSetInitialGuessNonzero(s.ksp, 1));
      SampleFill(s.x, 9);
      Run(&s, 0, 1e-6, 40, &eager);
      CHECK_INT(s.ksp->solve.scalings, 1);
      s.ksp->options.replay = -1;
      for (int k = 0; k < 3; k++) {
        SampleFill(s.x, 9);
        (void)SolveAlone(&s, 0);
        CHECK_INT(s.ksp->solve.scalings, 1);
        CHECK_INT(PoiseKSPIterations(s.ksp), eager.its);
        CHECK_INT(PoiseKSPConvergedReason(s.ksp), eager.reason);
        CHECK(SampleDigest(s.x) == eager.x);
      }
    }
    Destroy(&s);
  }
}

/* Nothing to iterate: b = 0, no iterations asked for, a guess that is the solution. */
static void TestNothing(PoiseContext ctx)
{
  for (int m = 0; m < NMETHODS; m++) {
    Solver s;
    if (CHECK_OK(Create(ctx, methods[m], &s))) {
      CHECK_INT(CompareEnds(&s, 1e-6, 0).its, 0);
      CHECK_OK(PoiseVecSet(s.b, 0));
      Outcome zero = CompareEnds(&s, 1e-6, 40);
      CHECK(zero.reason > 0);
      CHECK_INT(zero.its, 0);
      double norm = NAN;
      CHECK_OK(PoiseVecNorm(s.x, POISE_NORM_INF, &norm));
      CHECK(norm == 0);
      CHECK_OK(PoiseVecSetRandom(s.x, 3));
      CHECK_OK(PoiseMatMult(s.A, s.x, s.b));
      CHECK_OK(PoiseKSPSetInitialGuessNonzero(s.ksp, 1));
      uint64_t exact = SampleDigest(s.x);
      Outcome o = CompareEnds(&s, 1e-6, 40);
      CHECK(o.its == 0 && o.reason > 0 && o.x == exact);
    }
    Destroy(&s);
  }
}

/* What else x is made of at the end: M^-1 u from the right, and a null space that is removed. */
static void TestEnds(PoiseContext ctx)
{
  static const char *const types[] = {"bicgstab", "gmres", "cg", "minres", "bicgstab"};
  for (int k = 0; k < 5; k++) {
    Solver s;
    if (CHECK_OK(Create(ctx, types[k], &s))) {
      if (k < 2) CHECK_OK(PoiseKSPSetPCSide(s.ksp, POISE_PC_RIGHT));
      if (k >= 2) CHECK_OK(PoiseMatSetNullSpace(s.A, 1, 0, NULL));
      for (int its = 1; its < 8; its += 3) (void)CompareEnds(&s, Aim(&s, its), SEEN);
    }
    Destroy(&s);
  }
}

/* Claims that are not true: what was enqueued ahead has delivered an x from which the method goes on. */
static void TestRefuted(PoiseContext ctx)
{
  enum { ROWS = 12 };
  static const char *const types[] = {"cg", "minres", "bicgstab"};
  int refuted = 0;
  for (int t = 0; t < 3; t++) {
    Solver s = {.seen = 0};
    PoiseErr e = PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, ROWS, ROWS, &s.A);
    for (PoiseInt i = 0; !e && PoiseRank(ctx) == 0 && i < ROWS; i++)
      for (PoiseInt j = 0; !e && j < ROWS; j++) {
        double v = 1 / (double)(i + j + 1);
        e = PoiseMatAddEntries(s.A, 1, &i, &j, &v);
      }
    if (!e) e = PoiseMatAssemble(s.A);
    if (!e) e = PoiseMatCreateVecs(s.A, &s.x, &s.b);
    if (!e) e = PoiseVecSet(s.b, 1);
    if (!e) e = PoiseKSPCreate(ctx, &s.ksp);
    if (!e) e = PoiseKSPSetOperators(s.ksp, s.A, NULL);
    if (!e) e = PoiseKSPSetType(s.ksp, types[t]);
    if (!e) e = PoiseKSPAddMonitor(s.ksp, See, &s);
    if (CHECK_OK(e))
      for (int k = 4; k < 10; k++) {
        (void)CompareEnds(&s, pow(10, -k), SEEN);
        refuted += s.ksp->solve.claim.refuted;
      }
    Destroy(&s);
  }
  CHECK(refuted > 0);
}

static _Thread_local int fails_at; /* launches until one fails */

static PoiseErr FailingLaunch(Device *dev, int kernel, const void *args, size_t bytes)
{
  extern const DeviceOps poiseDevice_mock;
  if (fails_at-- == 0) FAIL(POISE_ERR_DEVICE, "this launch was to fail");
  return poiseDevice_mock.launch(dev, kernel, args, bytes);
}

/* Any launch may fail, also of what is enqueued ahead. The next solve is as ever. */
static void TestFailures(PoiseContext ctx)
{
  Device *dev = ctx->device;
  const DeviceOps *own = dev->ops;
  Solver s;
  Outcome good, again;
  if (PoiseSize(ctx) > 1 || strcmp(own->name, "mock")) TEST_SKIP("for the mock, on one rank");
  DeviceOps failing = *own;
  failing.launch = FailingLaunch;
  if (CHECK_OK(Create(ctx, "cg", &s))) {
    Run(&s, -1, 1e-4, SEEN, &good);
    for (int k = 0; k < 32; k++) {
      if (k % 2) poiseKSPForget(s.ksp); /* also in the capture */
      fails_at = k / 2;
      s.ksp->user.nmonitors = 0;
      dev->ops = &failing;
      PoiseErr e = PoiseKSPSolve(s.ksp, s.b, s.x);
      dev->ops = own;
      s.ksp->user.nmonitors = 1;
      CHECK(e == (fails_at < 0 ? POISE_ERR_DEVICE : POISE_OK));
      CHECK(fails_at < 0 || k / 2 >= 5);
      Run(&s, -1, 1e-4, SEEN, &again);
      CHECK(!memcmp(&good, &again, sizeof good));
    }
  }
  Destroy(&s);
}

static const Test tests[] = {{"forms", TestForms, 0},
                             {"device", TestDevice, 0},
                             {"first", TestFirst, 0},
                             {"two_loops", TestTwoLoops, 0},
                             {"shared", TestShared, 0},
                             {"plain", TestPlain, 0},
                             {"refused", TestRefused, 0},
                             {"turns", TestTurns, 0},
                             {"ring", TestRing, 0},
                             {"small", TestSmall, 0},
                             {"range", TestRange, 0},
                             {"range_of_guess", TestRangeOfGuess, 0},
                             {"nothing", TestNothing, 0},
                             {"ends", TestEnds, 0},
                             {"refuted", TestRefuted, 0},
                             {"failures", TestFailures, 0},
                             {NULL, NULL, 0}};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "loop", tests);
}

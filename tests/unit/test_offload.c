/* SPDX-License-Identifier: BSD-3-Clause */
/*
  What a program can know and ask of its device. A solve copies only its scalars. The log, the memory of
  objects, running out of memory, and which GPU is taken are tested. test_device_arrays.c has what a program
  lends.
*/
#define _GNU_SOURCE /* sched_getaffinity */
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"
#include "ksp/methods.h"
#include "mat/assembly/coo.h"
#include "mat/csr/entries.h"
#include "sample.h"
#include "sys/device/place.h"
#include "problem.h"

enum { NX = 24, NY = 16, N = NX * NY, B = 4 };

static const char *const methods[] = {"cg", "bicgstab", "gmres"};
static const char *const preconditioners[] = {"none", "jacobi", "pbjacobi"};
enum { NMETHODS = 3, NPRECONDITIONERS = 3 };

/* ---- -device_forbid_copies ------------------------------------------------------------------- */

static void TestForbid(PoiseContext ctx)
{
  bool fails = SampleIsAway(ctx) && !SampleReplays(ctx);
  for (int k = 0; k < NMETHODS * NPRECONDITIONERS * 2; k++) {
    Problem s;
    int side = k % 2, norm = k / 2 % 4;
    if (!ProblemOpenGrid(ctx, NX, NY, B, methods[k / 2 % NMETHODS], preconditioners[k / 2 / NMETHODS], &s))
      return;
    CHECK_OK(PoiseKSPSetPCSide(s.ksp, side && k / 2 % NMETHODS ? POISE_PC_RIGHT : POISE_PC_LEFT));
    if (k / 2 % NMETHODS == 0) CHECK_OK(PoiseKSPSetNormType(s.ksp, (PoiseNormType)(1 + norm)));
    CHECK_OK(PoiseKSPSetTolerances(s.ksp, 1e-8, -1, -1, k / 2 % NMETHODS == 0 && !norm ? 7 : 200));
    ctx->device->forbid_copies = true;
    for (int again = 0; again < 2; again++) { /* the first solve moves nothing either */
      if (fails) {
        CHECK_ERR(PoiseKSPSolve(s.ksp, s.b, s.x), POISE_ERR_UNSUPPORTED,
                  "every iteration and wait for them: ranks exchange");
      } else if (CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x))) {
        CHECK(PoiseKSPConvergedReason(s.ksp) > 0 && PoiseKSPIterations(s.ksp) > 5);
        if (again) CHECK(!ctx->device->forbids);
      }
    }
    ctx->device->forbid_copies = false;
    uint64_t bits = SampleDigest(s.x);
    CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
    CHECK(fails || SampleDigest(s.x) == bits);
    ProblemClose(&s);
  }
}

static PoiseErr ReadInMonitor(PoiseKSP ksp, PoiseInt iteration, double norm, void *b)
{
  const double *p;
  (void)ksp, (void)iteration, (void)norm;
  TRY(PoiseVecGetRead(b, &p));
  return PoiseVecRestore(b, &p);
}

/* Each thing that is forbidden is named, and harms no later solve. */
static void TestForbidden(PoiseContext ctx)
{
  Problem s;
  char words[160];
  if (!SampleIsAway(ctx)) TEST_SKIP("the host has nothing to copy");
  if (!ProblemOpenGrid(ctx, NX, NY, B, "cg", "jacobi", &s)) return;
  ctx->device->forbid_copies = true;
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  SampleFill(s.b, 3); /* on the host */
  snprintf(words, sizeof words,
           "a copy of %d bytes to the device by KSPSolve inside a solve: -device_forbid_copies", N * 8);
  CHECK_ERR(PoiseKSPSolve(s.ksp, s.b, s.x), POISE_ERR_UNSUPPORTED, words);
  CHECK_OK(PoiseVecToDevice(s.b));
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  CHECK_OK(PoiseKSPSetInitialGuessNonzero(s.ksp, 1));
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  SampleFill(s.x, 4);
  snprintf(words, sizeof words,
           "a copy of %d bytes to the device by VecUpdate inside a solve: -device_forbid_copies", N * 8);
  CHECK_ERR(PoiseKSPSolve(s.ksp, s.b, s.x), POISE_ERR_UNSUPPORTED, words);
  CHECK_OK(PoiseKSPSetInitialGuessNonzero(s.ksp, 0));
  PoiseVec other;
  CHECK_OK(PoiseVecDuplicate(s.b, &other));
  CHECK_OK(PoiseVecSet(other, 1));
  PoiseKSP watched;
  CHECK_OK(PoiseKSPCreate(ctx, &watched));
  CHECK_OK(PoiseKSPSetOperators(watched, s.A, NULL));
  CHECK_OK(PoiseKSPAddMonitor(watched, ReadInMonitor, other));
  snprintf(words, sizeof words, "a copy of %d bytes to the host by KSPSolve inside a solve", N * 8);
  CHECK_ERR(PoiseKSPSolve(watched, s.b, s.x), POISE_ERR_UNSUPPORTED, words);
  CHECK_OK(PoiseKSPDestroy(&watched));
  CHECK_OK(PoiseVecDestroy(&other));
  CHECK_OK(PoiseKSPSetConvergenceTest(s.ksp, SampleStopAt3, NULL));
  snprintf(words, sizeof words,
           "copy %zu bytes to the host in every iteration and wait for them: the convergence test is",
           s.ksp->scalars.slot_buffer.bytes);
  CHECK_ERR(PoiseKSPSolve(s.ksp, s.b, s.x), POISE_ERR_UNSUPPORTED, words);
  CHECK_OK(PoiseKSPSetConvergenceTest(s.ksp, NULL, NULL));
  CHECK_OK(PoiseMatSetNullSpace(s.A, 1, 0, NULL)); /* its sums come to the host */
  CHECK_ERR(PoiseKSPSolve(s.ksp, s.b, s.x), POISE_ERR_UNSUPPORTED, "bytes to the host by VecDot");
  CHECK_OK(PoiseMatSetNullSpace(s.A, 0, 0, NULL));
  CHECK_OK(PoiseMatSetOrder(s.A, POISE_ORDER_RCM)); /* copied in the set-up */
  CHECK_OK(PoiseKSPSetOperators(s.ksp, s.A, NULL));
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  ctx->device->forbid_copies = false;
  double norm;
  CHECK_OK(PoiseKSPTrueResidual(s.ksp, s.b, s.x, &norm));
  CHECK(norm < 1e-3);
  ProblemClose(&s);
}

static PoiseErr SolveOnHostVectors(PoiseContext ctx, void *arg)
{
  Problem s;
  (void)arg;
  if (!ProblemOpenGrid(ctx, NX, NY, B, "cg", "none", &s)) return POISE_ERR_INTERNAL;
  SampleFill(s.b, 3);
  PoiseErr e = PoiseKSPSolve(s.ksp, s.b, s.x);
  ProblemClose(&s);
  return e;
}

static void TestForbidOption(PoiseContext ctx)
{
  static const char *const devices[] = {"host", "mock"};
  (void)ctx;
  for (int d = 0; d < 2; d++) {
    PoiseContext own;
    char *argv[] = {"test", "-device", (char *)devices[d], "-device_forbid_copies"}, **list = argv;
    int argc = 4;
    if (!CHECK_OK(PoiseInitialize(&argc, &list, &(PoiseInit){.serial = 1}, &own))) return;
    PoiseErr e = SolveOnHostVectors(own, NULL);
    CHECK_ERR(e, d ? POISE_ERR_UNSUPPORTED : POISE_OK, d ? "-device_forbid_copies" : "");
    CHECK_OK(PoiseFinalize(&own));
  }
}

/* ---- what the log counts --------------------------------------------------------------------- */

typedef struct Counted {
  LogCounts log;
  int64_t waits, copied[COPY_ON_DEVICE];
} Counted;

static void Now(PoiseContext ctx, Counted *now)
{
  poiseLogCounts(ctx, &now->log);
  now->waits = ctx->device->waits;
  memcpy(now->copied, ctx->device->copied, sizeof now->copied);
}

/* What a solve of `its` iterations adds. */
static void Solve(PoiseContext ctx, Problem *s, PoiseInt its, PoiseInt replay, Counted *c)
{
  Counted before;
  s->ksp->options.replay = replay;
  CHECK_OK(PoiseKSPSetTolerances(s->ksp, -1, -1, -1, its));
  CHECK_OK(PoiseKSPSetNormType(s->ksp, POISE_KSP_NORM_NONE));
  CHECK_OK(PoiseKSPSolve(s->ksp, s->b, s->x)); /* sets up */
  Now(ctx, &before);
  CHECK_OK(PoiseKSPSolve(s->ksp, s->b, s->x));
  CHECK_INT(PoiseKSPIterations(s->ksp), its);
  Now(ctx, c);
  double *v = (double *)&c->log, *old = (double *)&before.log;
  for (size_t i = 0; i < sizeof c->log / sizeof *v; i++) v[i] -= old[i];
  c->waits -= before.waits;
  for (int k = 0; k < COPY_ON_DEVICE; k++) c->copied[k] -= before.copied[k];
}

/* The same work, enqueued or replayed; kernels that are launched behind the end add launches alone. judges:
   kernels that only judge an iteration, which a replayed loop leaves out. */
static void SameWork(const Counted *a, const Counted *b, double judges)
{
  CHECK(a->log.flops == b->log.flops && a->log.bytes == b->log.bytes);
  for (int i = 0; i < EVENT_COUNT; i++)
    CHECK(a->log.event[i].calls == b->log.event[i].calls + (i == EVENT_KSPVectors ? judges : 0) &&
          a->log.event[i].flops == b->log.event[i].flops && a->log.event[i].bytes == b->log.event[i].bytes);
}

/* Replays that are looked at: of 8 iterations, or of loops of 16 iterations, which have become 32 in a solve
   before that took more. */
static double Replays(bool loops, PoiseInt its)
{
  return !loops ? ceil((double)its / 8) : its <= 16 ? 1 : 2;
}

/* Numbers of iterations inside, at the end of and beyond a turn of 8. */
static void ReplayedCounts(PoiseContext ctx)
{
  static const PoiseInt its[] = {1, 2, 7, 8, 9, 16, 33};
  bool loops = ctx->device->loops;
  for (int m = 0; m < NMETHODS; m++) {
    Problem s;
    if (!ProblemOpenGrid(ctx, NX, NY, B, methods[m], preconditioners[m], &s)) return;
    CHECK_OK(PoiseKSPGMRESSetRestart(s.ksp, 5));
    for (int k = 0; k < 7; k++) {
      Counted eager, more, replayed;
      Solve(ctx, &s, its[k], 0, &eager);
      Solve(ctx, &s, its[k], 8, &replayed);
      /* bicgstab judges each iteration that the host looks at, and replayed every eighth */
      double done = (double)its[k], judge = m == 1 && !s.ksp->loop.eager;
      SameWork(&eager, &replayed, judge * (done - floor(done / 8)));
      if (!s.ksp->loop.eager && PoiseSize(ctx) == 1 && m < 2) { /* each iteration launches as many kernels */
        Solve(ctx, &s, its[k] + 1, 0, &more);
        double each = more.log.launches - eager.log.launches, looks = Replays(loops, its[k]);
        double replays = looks > 1 ? looks + 1 : 1; /* one is enough, as in the solve before */
        bool later = looks > 1;                     /* x is delivered when the host has seen the end */
        double all = loops ? done : replays * 8, dead = all - done; /* launched behind the end */
        double kernels = all * (each - judge) + judge * floor(all / 8);
        CHECK_NEAR(replayed.log.launches, eager.log.launches - done * each + kernels, 0);
        double mult = replayed.log.event[EVENT_MatMult].launches;
        CHECK_NEAR(mult, (m + 1) * (dead + (double)its[k]), 0);
        CHECK_INT(replayed.copied[COPY_TO_HOST],
                  ((int64_t)replays + later) * (int64_t)s.ksp->scalars.slot_buffer.bytes);
        CHECK_INT(replayed.copied[COPY_TO_DEVICE], RING_AT * (int64_t)sizeof(double));
        CHECK_INT(replayed.waits, (int64_t)looks + later);
      }
    }
    ProblemClose(&s);
  }
}

/* Loops, and replays on a device that has none. */
static void TestReplayedCounts(PoiseContext ctx)
{
  bool loops = ctx->device->loops;
  ReplayedCounts(ctx);
  if (!loops) return;
  ctx->device->loops = false;
  ReplayedCounts(ctx);
  ctx->device->loops = true;
}

/* cg with jacobi: a product, and phases that read or write 4 and 6 vectors, in each iteration. */
static void TestCountsOfCG(PoiseContext ctx)
{
  Problem s;
  Counted few, many;
  if (!ProblemOpenGrid(ctx, NX, NY, B, "cg", "jacobi", &s)) return;
  double n = (double)PoiseVecLocalSize(s.x), more = 13;
  Solve(ctx, &s, 20, 8, &few);
  Solve(ctx, &s, 33, 8, &many);
  CHECK_NEAR(many.log.event[EVENT_MatMult].calls, 33, 0);
  double halo = many.log.event[EVENT_HaloBegin].bytes + many.log.event[EVENT_HaloEnd].bytes;
  CHECK_NEAR(many.log.event[EVENT_MatMult].bytes, 33 * poiseMatTraffic(s.A) + halo, 0);
  CHECK_NEAR(many.log.event[EVENT_MatMult].flops, 33 * 2.0 * (double)s.A->csr.nz, 0);
  CHECK_NEAR(many.log.event[EVENT_KSPVectors].calls - few.log.event[EVENT_KSPVectors].calls, more * 2, 0);
  CHECK_NEAR(many.log.event[EVENT_KSPVectors].bytes - few.log.event[EVENT_KSPVectors].bytes, more * 80 * n,
             0);
  CHECK_NEAR(many.log.event[EVENT_PCApply].calls, 0, 0); /* in phases */
  CHECK_NEAR(many.log.event[EVENT_KSPSolve].calls, 1, 0);
  CHECK_NEAR(many.log.event[EVENT_KSPSolve].bytes, many.log.bytes, 0);
  CHECK_NEAR(many.log.bytes,
             many.log.event[EVENT_MatMult].bytes + many.log.event[EVENT_KSPVectors].bytes +
                 many.log.event[EVENT_KSPBasis].bytes + many.log.event[EVENT_PCApply].bytes +
                 many.log.event[EVENT_VecUpdate].bytes,
             0);
  ProblemClose(&s);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static PoiseBytes Counters(PoiseContext ctx)
{
  TestFreeIdle(ctx);
  return (PoiseBytes){ctx->memory.bytes, ctx->device->bytes};
}

static bool Same(PoiseBytes a, PoiseBytes b)
{
  return CHECK_INT(a.host, b.host) && CHECK_INT(a.device, b.device);
}

static PoiseBytes Minus(PoiseBytes a, PoiseBytes b)
{
  return (PoiseBytes){a.host - b.host, a.device - b.device};
}

static const int grids[][2] = {{24, 16}, {40, 34}, {64, 64}};
enum { NGRIDS = 3, FIXED = 20000 };

/* What the context has, and grows with what is summed and traded, is there before anything is counted. */
static bool Reserve(PoiseContext ctx)
{
  enum { ROWS = 64 * 64, RANKS = 16 };
  int64_t start[RANKS + 1];
  Buffer all;
  char *there;
  for (int r = 0; r <= RANKS; r++) start[r] = r * ROWS;
  if (!CHECK_OK(poiseReduceReserve(ctx, POISE_MAX_BATCH * POISE_NBLOCKS(ROWS)))) return false;
  if (!poiseLinkHasAlltoall(ctx)) return true;
  CHECK_OK(poiseBufferCreate(ctx->device, RANKS * ROWS * sizeof(double), "what is traded", &all));
  CHECK_OK(poiseBufferUpdate(&all, DEVICE, &there));
  bool good = CHECK_OK(poiseLinkAllgather(ctx->link, POISE_OK, start, sizeof(double), there));
  poiseBufferDestroy(&all);
  return good;
}

/* What fixed parts, which are not predicted, take is the same for all sizes. */
static void TestMatrixSizes(PoiseContext ctx)
{
  PoiseBytes rest[NGRIDS];
  if (!Reserve(ctx)) return;
  for (int g = 0; g < NGRIDS; g++) {
    PoiseMat A;
    PoiseVec x, y;
    PoiseBytes before = Counters(ctx), held, vectors, one;
    PoisePrediction predicted;
    int64_t plain;
    if (!CHECK_OK(ScaledLaplacian(ctx, grids[g][0], grids[g][1], B, &A)) ||
        !CHECK_OK(PoiseMatCreateVecs(A, &x, &y)))
      return;
    CHECK_OK(PoiseVecSet(x, 1));
    CHECK_OK(PoiseMatMult(A, x, y));
    const Csr *c = &A->csr;
    CHECK_OK(PoiseMatPredictBytes(A, NULL, &predicted));
    CHECK_OK(PoiseMatBytes(A, &held, &plain));
    Same(predicted.least, held);
    Same(predicted.most, held);
    CHECK_INT(plain, 12 * c->nz + (c->wide ? 8 : 4) * (c->m + 1));
    if (PoiseSize(ctx) == 1) CHECK_INT(SampleIsAway(ctx) ? held.device : held.host, plain);
    CHECK_OK(PoiseVecBytes(x, &vectors));
    CHECK_OK(PoiseVecBytes(y, &one));
    vectors.host += one.host, vectors.device += one.device;
    CHECK_INT(vectors.host + vectors.device, 16 * c->m);
    rest[g] = Minus(Minus(Minus(Counters(ctx), before), held), vectors);
    CHECK(rest[g].device == 0 && rest[g].host > 0 && rest[g].host < FIXED);
    if (PoiseSize(ctx) < 3) CHECK_INT(rest[g].host, rest[0].host); /* else ranks have other neighbours */
    PoiseBytes old = held; /* a type's own arrays, and a plan of triplets, are counted too */
    CHECK_OK(PoiseMatMultTranspose(A, x, y));
    CHECK_OK(PoiseMatBytes(A, &held, NULL));
    int64_t index = c->nz > ctx->hooks.most_narrow ? 8 : 4,
            transpose = index * (c->m + c->nghost + 1) + (index + 4) * c->nz;
    CHECK_INT(held.host - old.host, SampleIsAway(ctx) ? 0 : transpose);
    CHECK_INT(held.device - old.device, SampleIsAway(ctx) ? transpose : 0);
    CHECK_OK(PoiseVecDestroy(&x));
    CHECK_OK(PoiseVecDestroy(&y));
    CHECK_OK(PoiseMatDestroy(&A));
    Same(Counters(ctx), before);
  }
}

#define KSP_TYPE(name) #name,
static const char *const all_methods[] = {
#include "ksp/types.def"
};
#undef KSP_TYPE

static void TestSolverSizes(PoiseContext ctx)
{
  if (!Reserve(ctx)) return;
  for (size_t m = 0; m < sizeof all_methods / sizeof *all_methods; m++)
    for (int right = 0; right < 2; right++) {
      PoiseBytes rest[NGRIDS];
      for (int g = 0; g < NGRIDS; g++) {
        Problem s;
        PoiseBytes held, x;
        PoisePrediction predicted, again;
        if (!ProblemOpenGrid(ctx, grids[g][0], grids[g][1], B, all_methods[m], "none", &s)) return;
        const KSPType *type = s.ksp->type;
        if (right && type->right) CHECK_OK(PoiseKSPSetPCSide(s.ksp, POISE_PC_RIGHT));
        CHECK_OK(PoiseKSPSetTolerances(s.ksp, -1, -1, -1, 4));
        CHECK_OK(PoiseKSPBytes(s.ksp, &held));
        CHECK(held.host == 0 && held.device == 0);
        CHECK_OK(PoiseKSPPredictBytes(s.ksp, NULL, &predicted));
        CHECK_OK(PoiseMatMult(s.A, s.b, s.x)); /* all of A is there, and what A^T needs */
        CHECK_OK(PoiseMatMultTranspose(s.A, s.b, s.x));
        CHECK_OK(PoiseVecDestroy(&s.x));
        CHECK_OK(PoiseVecDuplicate(s.b, &s.x));
        PoiseBytes before = Counters(ctx);
        CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
        CHECK_OK(PoiseKSPBytes(s.ksp, &held));
        Same(predicted.least, held);
        Same(predicted.most, held);
        CHECK_OK(PoiseVecBytes(s.x, &x));
        if (!SampleIsAway(ctx)) x = (PoiseBytes){0};
        rest[g] = Minus(Minus(Minus(Counters(ctx), before), held), x);
        CHECK(rest[g].device == 0);
        if (!SampleIsAway(ctx))
          CHECK_INT(rest[g].host, rest[0].host); /* the mock's queue grows as it likes */
        CHECK_OK(PoiseKSPPredictBytes(s.ksp, NULL, &again));
        Same(again.least, predicted.least);
        ProblemClose(&s);
      }
    }
}

#define PC_TYPE(name) #name,
static const char *const all_preconditioners[] = {
#include "pc/types.def"
};
#undef PC_TYPE

static void TestPreconditionerSizes(PoiseContext ctx)
{
  if (!Reserve(ctx)) return;
  for (size_t k = 0; k < sizeof all_preconditioners / sizeof *all_preconditioners; k++) {
    Problem s;
    PoisePC pc;
    PoiseBytes before, held, rest;
    if (!strcmp(all_preconditioners[k], "shell")) continue;
    if (!ProblemOpenGrid(ctx, NX, NY, B, "richardson", all_preconditioners[k], &s)) return;
    CHECK_OK(PoiseKSPGetPC(s.ksp, &pc));
    CHECK_OK(PoiseMatMult(s.A, s.b, s.x));
    before = Counters(ctx);
    CHECK_OK(PoisePCApply(pc, s.b, s.x));
    CHECK_OK(PoisePCBytes(pc, &held));
    rest = Minus(Minus(Counters(ctx), before), held);
    CHECK_INT(rest.device, 0);
    if (!SampleIsAway(ctx)) CHECK(rest.host >= 0 && rest.host < 2 * FIXED);
    ProblemClose(&s);
  }
}

/* ---- no memory left -------------------------------------------------------------------------- */

static void Limit(PoiseContext ctx, bool mine, int64_t more)
{
  ctx->device->limit = mine ? ctx->device->bytes + more : 0;
}

/* Of one rank's device; all others hear of it. Then something is released, and the solve runs. */
static void TestOutOfMemory(PoiseContext ctx)
{
  Problem s;
  bool mine = PoiseRank(ctx) == PoiseSize(ctx) - 1;
  char words[160];
  PoiseVec ballast;
  int64_t left, total;
  if (!SampleIsAway(ctx)) TEST_SKIP("the host's memory has no limit that a test may reach");
  if (!ProblemOpenGrid(ctx, NX, NY, B, "gmres", "jacobi", &s)) return;
  int64_t bytes = 8 * s.A->rows->n;
  CHECK_OK(PoiseVecDuplicate(s.b, &ballast));
  CHECK_OK(PoiseVecSet(ballast, 1));
  Limit(ctx, mine, 10);
  CHECK_OK(PoiseDeviceMemory(ctx, &left, &total));
  if (mine) CHECK(left == 10 && total == ctx->device->bytes + 10);
  snprintf(words, sizeof words, "bytes; 10 of %lld are free", (long long)ctx->device->limit);
  CHECK_ERR_OF(PoiseKSPSetUp(s.ksp), mine, POISE_ERR_MEMORY, mine ? words : "of ");
  int64_t tries = 0;
  PoiseErr e = POISE_ERR_MEMORY;
  /* in every place of set-up and solve */
  for (int64_t more = 100; e && more < 100 * bytes; more += more / 4, tries++) {
    Limit(ctx, mine, more);
    e = PoiseKSPSolve(s.ksp, s.b, s.x);
    if (e) CHECK_ERR_OF(e, mine, POISE_ERR_MEMORY, "no memory on device");
  }
  CHECK(!e && tries > 5);
  CHECK_OK(PoiseVecDestroy(&s.x));
  CHECK_OK(PoiseVecDuplicate(s.b, &s.x));
  Limit(ctx, mine, bytes - 1); /* in the solve: x itself */
  snprintf(words, sizeof words, "no memory on device %s for vector: %lld bytes; %lld of",
           ctx->device->ops->name, (long long)bytes, (long long)bytes - 1);
  CHECK_ERR_OF(PoiseKSPSolve(s.ksp, s.b, s.x), mine, POISE_ERR_MEMORY, mine ? words : " for vector");
  CHECK(PoiseKSPConvergedReason(s.ksp) == POISE_DIVERGED_ERROR);
  CHECK_OK(PoiseVecDestroy(&ballast));
  if (!CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x))) return;
  double norm, b;
  CHECK_OK(PoiseVecNorm(s.b, POISE_NORM_2, &b));
  Limit(ctx, mine, 2 * bytes);
  CHECK_OK(PoiseKSPTrueResidual(s.ksp, s.b, s.x, &norm));
  CHECK(norm < 1e-3 * b);
  ctx->device->limit = 0;
  ProblemClose(&s);
}

/* However much of a matrix fits, a failed product leaves nothing of its arrays behind; a later one is
   right. */
static void TestFailedUpload(PoiseContext ctx)
{
  static const char *const types[] = {"csr", "csri", "seg", "bcsr"};
  if (!SampleIsAway(ctx)) TEST_SKIP("the host's memory has no limit that a test may reach");
  for (int k = 0; k < (int)(sizeof types / sizeof *types); k++) {
    Problem s;
    PoiseErr e = POISE_ERR_MEMORY;
    int64_t tries = 0, bytes;
    double sum, right;
    bool none, made_there;
    if (!ProblemOpenGrid(ctx, NX, NY, B, "gmres", "none", &s)) return;
    CHECK_OK(PoiseMatSetType(s.A, types[k]));
    made_there = poiseBufferIsCurrent(&s.A->csr.val, DEVICE); /* blocks are */
    CHECK_OK(PoiseVecSet(s.b, 1));                            /* b and x are on the device */
    CHECK_OK(PoiseVecSet(s.x, 1));
    CHECK_OK(PoiseVecToDevice(s.b));
    bytes = ctx->device->bytes;
    for (int64_t more = 0; e; more += more / 8 + 8, tries++) {
      ctx->device->limit = bytes + more;
      e = PoiseMatMult(s.A, s.b, s.x);
      if (!e) break;
      CHECK_ERR(e, POISE_ERR_MEMORY, "no memory on device");
      none = !s.A->csr.ptr.device && !s.A->csr.col.device && !s.A->csr.val.device;
      CHECK(ctx->device->bytes == bytes || (none && ctx->device->bytes < bytes));
      bytes = ctx->device->bytes;
    }
    CHECK(made_there || tries > 5);
    ctx->device->limit = 0;
    CHECK_OK(PoiseVecSumEntries(s.x, &sum));
    CHECK_OK(PoiseMatMultTranspose(s.A, s.b, s.x)); /* (1, A 1) = (A^T 1, 1) */
    CHECK_OK(PoiseVecSumEntries(s.x, &right));
    CHECK_NEAR(sum, right, 1e-9);
    ProblemClose(&s);
  }
}

/* Memory for the host's zeros is lacking when the device has given its own. */
static void TestFailedZeros(PoiseContext ctx)
{
  Buffer b;
  const char *p;
  if (!SampleIsAway(ctx)) TEST_SKIP("buffers have one side");
  int64_t bytes = ctx->device->bytes;
  if (!CHECK_OK(poiseBufferCreate(ctx->device, 12, "twelve bytes", &b))) return;
  PoiseErr e = POISE_ERR_MEMORY;
  for (int n = 1; e; n++) {
    ctx->memory.fail_at = n;
    e = poiseBufferRead(&b, DEVICE, &p);
    if (e) CHECK_ERR(e, POISE_ERR_MEMORY, "");
    CHECK_INT(ctx->device->bytes, bytes + (e ? 0 : 12));
    CHECK(!b.device == !!e && !b.device_valid == !!e);
  }
  ctx->memory.fail_at = 0;
  poiseBufferDestroy(&b);
}

/* Only the GPU itself says that it is full. The message has the bytes asked for and the bytes free, and
   after freeing all works again. */
static void TestFullGpu(PoiseContext ctx)
{
  enum { MOST = 64 };
  const int64_t spare = 64 << 20;
  Device *dev = ctx->device;
  void *ballast[MOST];
  int count = 0;
  int64_t left, total;
  PoiseVec large;
  Problem s;
  if (strcmp(dev->ops->name, "cuda")) TEST_SKIP("it takes a GPU");
  if (!ProblemOpenGrid(ctx, NX, NY, B, "cg", "jacobi", &s)) return;
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  uint64_t bits = SampleDigest(s.x);
  CHECK_OK(PoiseDeviceMemory(ctx, &left, &total));
  for (int64_t bytes = left - spare; count < MOST && bytes > spare && left > 4 * spare; count++) {
    while (bytes > spare && dev->ops->alloc(dev, (size_t)bytes, "ballast", &ballast[count]))
      bytes -= bytes / 8;
    CHECK_OK(PoiseDeviceMemory(ctx, &left, &total));
    bytes = left - spare;
  }
  PoiseErrorClear();
  PoiseErr e = PoiseVecCreate(ctx, 8 * spare, POISE_DECIDE, &large); /* of doubles */
  if (!e) e = PoiseVecSet(large, 1);
  CHECK(strstr(PoiseErrorMessage(), " bytes are free") != NULL);
  CHECK_ERR(e, POISE_ERR_MEMORY, " bytes of GPU memory for ");
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x)); /* has what it needs */
  CHECK(SampleDigest(s.x) == bits);
  CHECK_OK(PoiseVecDestroy(&large));
  while (count) dev->ops->free(dev, ballast[--count]);
  CHECK_OK(PoiseVecCreate(ctx, 8 * spare, POISE_DECIDE, &large));
  CHECK_OK(PoiseVecSet(large, 1));
  CHECK_OK(PoiseVecDestroy(&large));
  ProblemClose(&s);
  if (!ProblemOpenGrid(ctx, NX, NY, B, "gmres", "jacobi", &s)) return; /* anew */
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  CHECK(PoiseKSPConvergedReason(s.ksp) > 0);
  ProblemClose(&s);
}

static void TestDeviceMemory(PoiseContext ctx)
{
  int64_t left = 0, total = 0;
  CHECK_OK(PoiseDeviceMemory(ctx, &left, &total));
  CHECK(left > 0 && total >= left);
  CHECK_OK(PoiseDeviceMemory(ctx, NULL, NULL));
  CHECK_ERR(PoiseDeviceMemory(NULL, &left, NULL), POISE_ERR_ARG, "NULL");
}

/* ---- which GPU ------------------------------------------------------------------------------- */

static void TestPick(PoiseContext ctx)
{
  enum { RANKS = 16 };
  GpuPlace p[RANKS] = {{0, 0}};
  (void)ctx;
  for (int r = 0; r < RANKS; r++) { /* nobody knows what is near; neighbours share one */
    CHECK_INT(poisePickGpu(r, p, RANKS, 1), 0);
    CHECK_INT(poisePickGpu(r, p, RANKS, 4), r / 4);
    CHECK_INT(poisePickGpu(r, p, RANKS, 7), 7 * r / RANKS);
    CHECK_INT(poisePickGpu(r, p, RANKS, 32), r);
  }
  for (int r = 0; r < RANKS; r++) p[r] = (GpuPlace){(uint64_t)r / 8, 0xff}; /* two machines of 8 GPUs */
  for (int r = 0; r < RANKS; r++) CHECK_INT(poisePickGpu(r, p, RANKS, 8), r % 8);
  /* two sockets in turn, each with 4 */
  for (int r = 0; r < RANKS; r++) p[r] = (GpuPlace){7, r % 2 ? 0xf0 : 0x0f};
  for (int r = 0; r < 8; r++) CHECK_INT(poisePickGpu(r, p, 8, 8), 4 * (r % 2) + r / 2);
  for (int r = 0; r < RANKS; r++) CHECK_INT(poisePickGpu(r, p, RANKS, 8), r / 2);
  for (int r = 0; r < RANKS; r++) p[r] = (GpuPlace){(uint64_t)r % 2, 0xff}; /* two machines in turn */
  for (int r = 0; r < RANKS; r++) CHECK_INT(poisePickGpu(r, p, RANKS, 8), r / 2);
  for (int r = 0; r < RANKS; r++) p[r] = (GpuPlace){7, 0x0c}; /* two GPUs are near */
  for (int r = 0; r < RANKS; r++) CHECK_INT(poisePickGpu(r, p, RANKS, 8), 2 + r / 8);
  for (int r = 0; r < RANKS; r++) p[r] = (GpuPlace){7, UINT64_C(1) << 63};
  CHECK_INT(poisePickGpu(3, p, RANKS, 64), 63);
}

static void TestCores(PoiseContext ctx)
{
  cpu_set_t mine;
  char list[64];
  (void)ctx;
  CHECK(poiseMayRunOn("0-1023\n"));
  CHECK(!poiseMayRunOn("\n") && !poiseMayRunOn("") && !poiseMayRunOn("100000-100007"));
  if (!CHECK(!sched_getaffinity(0, sizeof mine, &mine))) return;
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    snprintf(list, sizeof list, "99990,%d-%d,99999\n", cpu, cpu);
    CHECK(poiseMayRunOn(list) == !!CPU_ISSET(cpu, &mine));
  }
}

static PoiseErr OpenOptions(const char *options, PoiseContext *own)
{
  return TestInitialize((PoiseInit){.serial = 1}, options, own);
}

/* ---- NUMA nodes ------------------------------------------------------------------------------ */

enum { ON_NODES = 4 };

typedef struct OnNodes { /* what ranks saw */
  cpu_set_t mine[ON_NODES];
  char view[2000];
} OnNodes;

static PoiseErr SeeCores(PoiseContext ctx, void *arg)
{
  OnNodes *seen = arg;
  FILE *f = tmpfile();
  if (sched_getaffinity(0, sizeof *seen->mine, &seen->mine[PoiseRank(ctx)]) || !f) return POISE_ERR_MEMORY;
  PoiseSetOutput(ctx, f);
  PoiseErr e = PoiseView(ctx);
  PoiseSetOutput(ctx, NULL);
  if (!PoiseRank(ctx)) Content(f, seen->view, sizeof seen->view);
  fclose(f);
  return e;
}

static void SeeNodes(const char *root, int ranks, const char *more, OnNodes *seen)
{
  char options[100];
  PoiseContext own;
  snprintf(options, sizeof options, "-device host -ranks %d %s", ranks, more);
  if (!CHECK_OK(OpenOptions(options, &own))) return;
  own->hooks.nodes = root;
  CHECK_OK(PoiseRun(own, SeeCores, seen));
  CHECK_OK(PoiseFinalize(&own));
}

/* A folder as the system's, of nodes 0 and 3 with a core each, and one without cores. */
static void MakeNodes(PoiseContext ctx, const char *root, const int core[2])
{
  char path[PATH + 32], list[32];
  CHECK(!mkdir(root, 0700));
  for (int k = 0; k < 3; k++) {
    snprintf(path, sizeof path, "%s/node%d", root, k < 2 ? 3 * k : 5);
    CHECK(!mkdir(path, 0700));
    strcat(path, "/cpulist");
    snprintf(list, sizeof list, "%d,100000-100007\n", k < 2 ? core[k] : 0);
    WriteText(ctx, path, k < 2 ? list : "\n");
  }
}

static void RemoveNodes(PoiseContext ctx, const char *root)
{
  char path[PATH + 32];
  for (int k = 0; k < 3; k++) {
    snprintf(path, sizeof path, "%s/node%d/cpulist", root, k < 2 ? 3 * k : 5);
    RemoveFile(ctx, path);
    *strrchr(path, '/') = 0;
    CHECK(!rmdir(path));
  }
  CHECK(!rmdir(root));
}

static bool IsCore(const cpu_set_t *set, int core)
{
  return CPU_COUNT(set) == 1 && CPU_ISSET((size_t)core, set);
}

/* Ranks that are threads run on the cores of their node, and those who may not be bound anywhere. */
static void TestNodes(PoiseContext ctx)
{
  cpu_set_t before, all;
  int core[2], n = 0;
  char root[PATH];
  OnNodes seen = {.view = ""};
  memset(&all, 0xff, sizeof all);
  if (!CHECK(!sched_getaffinity(0, sizeof before, &before))) return;
  CHECK(!sched_setaffinity(0, sizeof all, &all) && !sched_getaffinity(0, sizeof all, &all));
  for (int k = 0; k < CPU_SETSIZE && n < 2; k++)
    if (CPU_ISSET((size_t)k, &all)) core[n++] = k;
  if (n == 2) {
    TempName(root, "nodes");
    MakeNodes(ctx, root, core);
    SeeNodes(root, 2, "", &seen);
    CHECK(IsCore(&seen.mine[0], core[0]) && IsCore(&seen.mine[1], core[1]));
    CHECK(strstr(seen.view, "NUMA nodes: 2; by rank: 0 3\n") != NULL);
    SeeNodes(root, 4, "", &seen);
    for (int r = 0; r < 4; r++) CHECK(IsCore(&seen.mine[r], core[r / 2]));
    SeeNodes(root, 3, "", &seen); /* two would have one node, and as many threads as the third */
    for (int r = 0; r < 3; r++) CHECK(CPU_EQUAL(&seen.mine[r], &all));
    SeeNodes(root, 2, "-ranks_bind no", &seen);
    for (int r = 0; r < 2; r++) CHECK(CPU_EQUAL(&seen.mine[r], &all));
    CHECK(strstr(seen.view, "NUMA nodes: 2; by rank: any any\n") != NULL);
    SeeNodes("/nowhere", 2, "", &seen);
    for (int r = 0; r < 2; r++) CHECK(CPU_EQUAL(&seen.mine[r], &all));
    CHECK(!strstr(seen.view, "NUMA"));
    RemoveNodes(ctx, root);
  }
  CHECK(!sched_setaffinity(0, sizeof before, &before));
  if (n < 2) TEST_SKIP("two nodes need two cores");
}

static void TestDeviceId(PoiseContext ctx)
{
  PoiseContext own;
  char text[2048];
  enum { MOCKS = 4 };
  int size = PoiseSize(ctx), shared = size > MOCKS; /* neighbours share one */
  const char *expected = size == 1 ? "  device: mock 0\n"
                         : shared  ? "  device: mock 0; by rank: 0 0 1"
                                   : "  device: mock 0; by rank: 0 1";
  FILE *f = tmpfile(), *out = ctx->out;
  bool mock = !strcmp(ctx->device->ops->name, "mock");
  int id = !mock ? 0 : shared ? PoiseRank(ctx) * MOCKS / size : PoiseRank(ctx);
  CHECK(ctx->device->id == id || !(mock || ctx->device->ops->is_host));
  if (mock) { /* each rank's is named */
    PoiseSetOutput(ctx, f);
    CHECK_OK(PoiseView(ctx));
    ctx->out = out;
    Content(f, text, sizeof text);
    CHECK(PoiseRank(ctx) ? !*text : strstr(text, expected) != NULL);
  }
  fclose(f);
  if (PoiseSize(ctx) > 1) return;
  CHECK_ERR(OpenOptions("-device mock -device_id 4", &own), POISE_ERR_OPTION,
            "-device_id 4: there are 4 of device mock here, numbered from 0");
  CHECK_ERR(OpenOptions("-device mock -device_id -2", &own), POISE_ERR_OPTION, "device_id");
  if (CHECK_OK(OpenOptions("-device mock -device_id 3", &own))) CHECK_INT(own->device->id, 3);
  CHECK_OK(PoiseFinalize(&own));
}

/* With and without a GPU, a driver, and CUDA in the library. */
static void TestNoGpu(PoiseContext ctx)
{
  PoiseContext own;
  (void)ctx;
  PoiseErr e = OpenOptions("-device cuda", &own);
  bool there = !e;
  if (there) CHECK_OK(PoiseFinalize(&own));
  if (e) {
    const char *words = PoiseErrorMessage();
    CHECK(e == POISE_ERR_DEVICE && own == NULL);
    CHECK(strstr(words, "no GPU can be used: ") || strstr(words, "there is no GPU in this machine") ||
          strstr(words, "no device cuda (it was configured with POISE_CUDA=OFF)"));
    PoiseErrorClear();
  }
  e = OpenOptions("-device cuda -device_id 63", &own);
  CHECK_ERR(e, there ? POISE_ERR_OPTION : POISE_ERR_DEVICE, there ? "-device_id 63: there" : "");
  if (!CHECK_OK(OpenOptions("", &own))) return;
  CHECK(!strcmp(own->device->ops->name, there ? "cuda" : "host")); /* auto */
  CHECK_OK(PoiseFinalize(&own));
}

static void TestStream(PoiseContext ctx)
{
  PoiseContext own;
  char *argv[] = {"test", "-device", "mock", "-ranks", "2"}, **list = argv;
  int argc = 5, stream;
  CHECK(PoiseStream(ctx) == NULL);
  if (!CHECK_OK(PoiseInitialize(&argc, &list, &(PoiseInit){.serial = 1, .stream = &stream}, &own))) return;
  CHECK_ERR(PoiseRun(own, SolveOnHostVectors, NULL), POISE_ERR_UNSUPPORTED,
            "-ranks 2 (threads) with PoiseInit.stream");
  CHECK_OK(PoiseFinalize(&own));
}

/* ---- memory in the order of the work --------------------------------------------------------- */

/* A block that is freed and given out again while work that uses it is still queued: each piece of work sees
   its own content. */
static void TestFreedInUse(PoiseContext ctx)
{
  enum { TIMES = 16, LENGTH = 20000 };
  Device *dev = ctx->device;
  void *kept = NULL, *p = NULL;
  double *host = calloc(TIMES * LENGTH, sizeof *host);
  size_t bytes = LENGTH * sizeof(double);
  if (!CHECK(host != NULL) || !CHECK_OK(poiseDeviceAlloc(dev, TIMES * bytes, "what is kept", &kept))) return;
  for (int k = 0; k < TIMES; k++) {
    if (!CHECK_OK(poiseDeviceAlloc(dev, bytes, "what is freed in use", &p))) break;
    PhaseArgs a = {.id = PHASE_vec_set, .n = LENGTH, .out = {p}, .c = {{.value = k}}};
    CHECK_OK(LAUNCH(dev, phase, &a));
    CHECK_OK(poiseDeviceCopy(dev, (char *)kept + (size_t)k * bytes, p, bytes, COPY_ON_DEVICE));
    poiseDeviceFree(dev, bytes, &p);
  }
  CHECK_OK(poiseDeviceCopy(dev, host, kept, TIMES * bytes, COPY_TO_HOST));
  CHECK_OK(poiseDeviceSync(dev));
  int64_t wrong = 0;
  for (int k = 0; k < TIMES * LENGTH; k++) wrong += host[k] != k / LENGTH;
  CHECK_INT(wrong, 0);
  poiseDeviceFree(dev, TIMES * bytes, &kept);
  free(host);
}

/* Memory that was freed is free, for larger blocks too, and is said to be; running out leaves a device that
   works. */
static void UseMemory(PoiseContext ctx)
{
  enum { SLACK = 1 << 26 };
  Device *dev = ctx->device;
  int64_t before, left, total;
  void *p = NULL;
  if (!CHECK_OK(PoiseDeviceMemory(ctx, &before, &total))) return;
  for (int part = 1; part <= 3; part++) { /* quarters of it */
    size_t bytes = (size_t)before / 4 * (size_t)part;
    if (!CHECK_OK(poiseDeviceAlloc(dev, bytes, "a large block", &p))) return;
    CHECK_OK(PoiseDeviceMemory(ctx, &left, NULL));
    CHECK(left <= before - (int64_t)bytes + SLACK && left >= before - (int64_t)bytes - SLACK);
    poiseDeviceFree(dev, bytes, &p);
    CHECK_OK(PoiseDeviceMemory(ctx, &left, NULL));
    CHECK(left <= before + SLACK && left >= before - SLACK);
  }
  CHECK_ERR(poiseDeviceAlloc(dev, (size_t)total + 1, "more than there is", &p), POISE_ERR_MEMORY,
            "bytes are free");
  CHECK(p == NULL);
  CHECK_OK(poiseDeviceAlloc(dev, 1000, "little", &p));
  poiseDeviceFree(dev, 1000, &p);
  Device *other; /* as of another rank that is a thread: it gets what this one keeps for itself */
  if (!CHECK_OK(PoiseDeviceMemory(ctx, &left, NULL)) ||
      !CHECK_OK(poiseDeviceOpen(ctx, dev->ops, dev->id, &other)))
    return;
  CHECK_OK(poiseDeviceAlloc(other, (size_t)(0.9 * (double)left), "nearly all there is", &p));
  poiseDeviceFree(other, (size_t)(0.9 * (double)left), &p);
  poiseDeviceDestroy(&other);
}

static void TestMemoryLeft(PoiseContext ctx)
{
  if (!ctx->device->ops->memory) TEST_SKIP("this device's memory is the host's");
  for (int r = 0; r < PoiseSize(ctx); r++) { /* ranks may share a GPU */
    if (r == PoiseRank(ctx)) UseMemory(ctx);
    CHECK_OK(PoiseBarrier(ctx));
  }
}

/* In a capture memory would become a part of the graph. */
static void TestMemoryInCapture(PoiseContext ctx)
{
  Device *dev = ctx->device;
  Graph *graph = NULL;
  void *p = NULL, *q = NULL;
  if (!dev->ops->capture_begin) TEST_SKIP("this device has no graphs");
  if (!CHECK_OK(poiseDeviceAlloc(dev, 800, "a target", &p)) ||
      !CHECK_OK(poiseDeviceAlloc(dev, 800, "another", &q)))
    return;
  if (!CHECK_OK(dev->ops->capture_begin(dev, NULL))) return;
  CHECK_OK(LAUNCH(dev, phase, &(PhaseArgs){.id = PHASE_vec_set, .n = 100, .out = {p}, .c = {{.value = 3}}}));
  poiseDeviceFree(dev, 800, &q);
  CHECK_ERR(poiseDeviceAlloc(dev, 800, "too late", &q), POISE_ERR_INTERNAL,
            "an allocation (too late) inside the capture");
  CHECK_OK(dev->ops->capture_end(dev, &graph));
  CHECK_ERR(poiseDeviceSync(dev), POISE_ERR_INTERNAL, "");
  CHECK_OK(dev->ops->replay(dev, graph, 1));
  dev->busy = true;
  double host[100] = {0};
  CHECK_OK(poiseDeviceCopy(dev, host, p, sizeof host, COPY_TO_HOST));
  CHECK_OK(poiseDeviceSync(dev));
  CHECK(host[0] == 3 && host[99] == 3);
  dev->ops->graph_free(dev, &graph);
  poiseDeviceFree(dev, 800, &p);
}

/* New values fail on the last rank alone. The next solve finds M out of date on all ranks. */
static void TestFailedValues(PoiseContext ctx)
{
  bool mine = PoiseRank(ctx) == PoiseSize(ctx) - 1;
  Problem s;
  PoiseVec l;
  if (!SampleIsAway(ctx)) TEST_SKIP("the host's memory has no limit that a test may reach");
  if (!ProblemOpenGrid(ctx, NX, NY, B, "cg", "jacobi", &s)) return;
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  CHECK_OK(PoiseVecDuplicate(s.b, &l));
  SampleFill(l, 4); /* on the host */
  Limit(ctx, mine, 8);
  PoiseErr e = PoiseMatDiagonalScale(s.A, l, NULL);
  ctx->device->limit = 0;
  CHECK(e == (mine ? POISE_ERR_MEMORY : POISE_ERR_REMOTE));
  CHECK_OK(PoiseKSPSetTolerances(s.ksp, 0, 0, -1, 3)); /* A is no longer what it was */
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  CHECK_OK(PoiseVecDestroy(&l));
  ProblemClose(&s);
}

/* Items in no order, of both widths; more than are fetched at a time. */
static void TestFetchEach(PoiseContext ctx)
{
  enum { ITEMS = 100 };
  Device *dev = ctx->device;
  Buffer array = {0};
  int64_t *v, got[ITEMS];
  int32_t narrow[ITEMS];
  const char *there;
  const void *from[ITEMS];
  CHECK_OK(poiseBufferCreate(dev, ITEMS * sizeof *v, "items", &array));
  CHECK_OK(poiseBufferWrite(&array, HOST, &v));
  for (int64_t k = 0; k < ITEMS; k++) v[k] = k << 32 | (k + 1);
  CHECK_OK(poiseBufferRead(&array, DEVICE, &there));
  for (int n = 0; n <= ITEMS; n += 20) {
    int64_t waits = dev->waits;
    for (int k = 0; k < n; k++) from[k] = there + (size_t)(n - 1 - k) * sizeof *v;
    CHECK_OK(poiseDeviceFetchEach(dev, n, sizeof *got, from, got));
    CHECK_OK(poiseDeviceFetchEach(dev, n, sizeof *narrow, from, narrow));
    if (n == 20 && !dev->ops->is_host) CHECK_INT(dev->waits - waits, 2);
    for (int k = 0; k < n; k++) CHECK_INT(got[k], (int64_t)(n - 1 - k) << 32 | (n - k));
    for (int k = 0; k < n; k++) CHECK_INT(narrow[k], n - k);
  }
  poiseBufferDestroy(&array);
}

static const Test tests[] = {
    {"freed_in_use", TestFreedInUse, 0},
    {"memory_left", TestMemoryLeft, 0},
    {"memory_in_capture", TestMemoryInCapture, 0},
    {"forbid", TestForbid, 0},
    {"forbidden", TestForbidden, TEST_SERIAL},
    {"forbid_option", TestForbidOption, TEST_SERIAL | TEST_HOST_ONLY},
    {"replayed_counts", TestReplayedCounts, 0},
    {"counts_of_cg", TestCountsOfCG, 0},
    {"matrix_sizes", TestMatrixSizes, 0},
    {"solver_sizes", TestSolverSizes, 0},
    {"preconditioner_sizes", TestPreconditionerSizes, 0},
    {"out_of_memory", TestOutOfMemory, 0},
    {"failed_values", TestFailedValues, 0},
    {"failed_upload", TestFailedUpload, TEST_SERIAL},
    {"failed_zeros", TestFailedZeros, TEST_SERIAL},
    {"full_gpu", TestFullGpu, TEST_SERIAL},
    {"device_memory", TestDeviceMemory, 0},
    {"pick", TestPick, TEST_SERIAL | TEST_HOST_ONLY},
    {"cores", TestCores, TEST_SERIAL | TEST_HOST_ONLY},
    {"nodes", TestNodes, TEST_SERIAL | TEST_HOST_ONLY},
    {"device_id", TestDeviceId, 0},
    {"no_gpu", TestNoGpu, TEST_SERIAL | TEST_HOST_ONLY},
    {"fetch_each", TestFetchEach, 0},
    {"stream", TestStream, TEST_SERIAL | TEST_HOST_ONLY},
    {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "offload", tests);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  What a program can know and ask of its device. A solve copies only its scalars. The log, the memory of
  objects, and running out of memory are tested.
*/
#define _GNU_SOURCE /* sched_getaffinity */
#include <sched.h>

#include "ksp/ksp.h"
#include "mat/assembly/coo.h"
#include "mat/csr/entries.h"
#include "sample.h"

enum { NX = 24, NY = 16, N = NX * NY, B = 4 };

static const char *const methods[] = {"cg", "bicgstab", "gmres"};
static const char *const preconditioners[] = {"none", "jacobi", "pbjacobi"};
enum { NMETHODS = 3, NPRECONDITIONERS = 3 };

/* Five points, scaled on both sides; whole blocks of B rows on each rank. */
static PoiseErr Laplacian(PoiseContext ctx, int nx, int ny, PoiseMat *A)
{
  static const int dx[] = {0, -1, 1, 0, 0}, dy[] = {0, 0, 0, -1, 1};
  PoiseInt begin, m;
  PoiseSplit(ctx, nx * ny / B, &begin, &m);
  TRY(PoiseMatCreate(ctx, m * B, m * B, nx * ny, nx * ny, A));
  PoiseErr e = POISE_OK;
  for (PoiseInt i = begin * B; !e && i < (begin + m) * B; i++)
    for (int k = 0; !e && k < 5; k++) {
      PoiseInt x = i % nx + dx[k], y = i / nx + dy[k], j = y * nx + x;
      if (x < 0 || x >= nx || y < 0 || y >= ny) continue;
      double v =
          (k ? -1 : 4) * (1 + 0.4 * TestRandom(1, (uint64_t)i)) * (1 + 0.4 * TestRandom(1, (uint64_t)j));
      e = PoiseMatAddBlock(*A, 1, &i, 1, &j, &v);
    }
  if (!e) e = PoiseMatAssemble(*A);
  return e ? e : PoiseMatSetBlockSize(*A, B);
}

typedef struct System {
  PoiseMat A;
  PoiseVec b, x;
  PoiseKSP ksp;
} System;

static bool OpenGrid(PoiseContext ctx, int nx, int ny, const char *method, const char *pc, System *s)
{
  PoisePC p;
  *s = (System){.A = NULL};
  return CHECK_OK(Laplacian(ctx, nx, ny, &s->A)) && CHECK_OK(PoiseMatCreateVecs(s->A, &s->x, &s->b)) &&
         CHECK_OK(PoiseVecSetRandom(s->b, 3)) && CHECK_OK(PoiseKSPCreate(ctx, &s->ksp)) &&
         CHECK_OK(PoiseKSPSetOperators(s->ksp, s->A, NULL)) && CHECK_OK(PoiseKSPSetType(s->ksp, method)) &&
         CHECK_OK(PoiseKSPGetPC(s->ksp, &p)) && CHECK_OK(PoisePCSetType(p, pc));
}

static bool Open(PoiseContext ctx, const char *method, const char *pc, System *s)
{
  return OpenGrid(ctx, NX, NY, method, pc, s);
}

static void Close(System *s)
{
  CHECK_OK(PoiseKSPDestroy(&s->ksp));
  CHECK_OK(PoiseVecDestroy(&s->x));
  CHECK_OK(PoiseVecDestroy(&s->b));
  CHECK_OK(PoiseMatDestroy(&s->A));
}

static bool IsAway(PoiseContext ctx)
{
  return !ctx->device->ops->is_host;
}

/* ---- -device_forbid_copies ------------------------------------------------------------------- */

static void TestForbid(PoiseContext ctx)
{
  bool fails = IsAway(ctx) && PoiseSize(ctx) > 1;
  for (int k = 0; k < NMETHODS * NPRECONDITIONERS * 2; k++) {
    System s;
    int side = k % 2, norm = k / 2 % 4;
    if (!Open(ctx, methods[k / 2 % NMETHODS], preconditioners[k / 2 / NMETHODS], &s)) return;
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
    Close(&s);
  }
}

static PoiseErr ReadInMonitor(PoiseKSP ksp, PoiseInt iteration, double norm, void *b)
{
  const double *p;
  (void)ksp, (void)iteration, (void)norm;
  TRY(PoiseVecGetRead(b, &p));
  return PoiseVecRestore(b, &p);
}

static PoiseErr Stop(PoiseKSP ksp, PoiseInt iteration, double norm, PoiseKSPReason *reason, void *arg)
{
  (void)ksp, (void)norm, (void)arg;
  if (iteration == 3) *reason = POISE_CONVERGED_USER;
  return POISE_OK;
}

/* Each thing that is forbidden is named, and harms no later solve. */
static void TestForbidden(PoiseContext ctx)
{
  System s;
  char words[160];
  if (!IsAway(ctx)) TEST_SKIP("the host has nothing to copy");
  if (!Open(ctx, "cg", "jacobi", &s)) return;
  ctx->device->forbid_copies = true;
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  SampleFill(s.b, 3); /* on the host */
  snprintf(words, sizeof words,
           "a copy of %d bytes to the device by VecUpdate inside a solve: -device_forbid_copies", N * 8);
  CHECK_ERR(PoiseKSPSolve(s.ksp, s.b, s.x), POISE_ERR_UNSUPPORTED, words);
  CHECK_OK(PoiseVecToDevice(s.b));
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  CHECK_OK(PoiseKSPSetInitialGuessNonzero(s.ksp, 1));
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  SampleFill(s.x, 4);
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
  CHECK_OK(PoiseKSPSetConvergenceTest(s.ksp, Stop, NULL));
  snprintf(words, sizeof words,
           "copy %zu bytes to the host in every iteration and wait for them: the convergence test is",
           s.ksp->slot_buffer.bytes);
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
  Close(&s);
}

static PoiseErr SolveOnHostVectors(PoiseContext ctx, void *arg)
{
  System s;
  (void)arg;
  if (!Open(ctx, "cg", "none", &s)) return POISE_ERR_INTERNAL;
  SampleFill(s.b, 3);
  PoiseErr e = PoiseKSPSolve(s.ksp, s.b, s.x);
  Close(&s);
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
static void Solve(PoiseContext ctx, System *s, PoiseInt its, PoiseInt replay, Counted *c)
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

/* The same work, replayed or enqueued; kernels that are launched behind the end add launches alone. */
static void SameWork(const Counted *a, const Counted *b)
{
  CHECK(a->log.flops == b->log.flops && a->log.bytes == b->log.bytes);
  for (int i = 0; i < EVENT_COUNT; i++)
    CHECK(a->log.event[i].calls == b->log.event[i].calls && a->log.event[i].flops == b->log.event[i].flops &&
          a->log.event[i].bytes == b->log.event[i].bytes);
}

/* Replays that are looked at: of 8 iterations, or of loops of 16 and then of 32 iterations. */
static double Replays(bool loops, PoiseInt its)
{
  return !loops ? ceil((double)its / 8) : its <= 16 ? 1 : its <= 32 ? 2 : 3;
}

/* Numbers of iterations inside, at the end of and beyond a turn of 8. */
static void ReplayedCounts(PoiseContext ctx)
{
  static const PoiseInt its[] = {1, 2, 7, 8, 9, 16, 33};
  bool loops = ctx->device->loops;
  for (int m = 0; m < NMETHODS; m++) {
    System s;
    if (!Open(ctx, methods[m], preconditioners[m], &s)) return;
    CHECK_OK(PoiseKSPGMRESSetRestart(s.ksp, 5));
    for (int k = 0; k < 7; k++) {
      Counted eager, more, replayed;
      Solve(ctx, &s, its[k], 0, &eager);
      Solve(ctx, &s, its[k], 8, &replayed);
      SameWork(&eager, &replayed);
      if (!s.ksp->eager && m < 2) { /* each iteration launches as many kernels */
        Solve(ctx, &s, its[k] + 1, 0, &more);
        double each = more.log.launches - eager.log.launches, replays = Replays(loops, its[k]) + 1,
               dead = loops ? 0 : replays * 8 - (double)its[k]; /* launched behind the end */
        CHECK_NEAR(replayed.log.launches, eager.log.launches + dead * each, 0);
        double mult = replayed.log.event[EVENT_MatMult].launches;
        CHECK_NEAR(mult, (m + 1) * (dead + (double)its[k]), 0);
        CHECK_INT(replayed.copied[COPY_TO_HOST], (int64_t)(replays + 2) * (int64_t)s.ksp->slot_buffer.bytes);
        CHECK_INT(replayed.copied[COPY_TO_DEVICE], s.ksp->slot_buffer.bytes);
        CHECK_INT(replayed.waits, (int64_t)replays - 1 + 3); /* scalars set, fetched at the start, x delivered */
      }
    }
    Close(&s);
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
  System s;
  Counted few, many;
  if (!Open(ctx, "cg", "jacobi", &s)) return;
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
  CHECK_NEAR(many.log.event[EVENT_PCApply].calls, 1, 0); /* in the start only */
  CHECK_NEAR(many.log.event[EVENT_KSPSolve].calls, 1, 0);
  CHECK_NEAR(many.log.event[EVENT_KSPSolve].bytes, many.log.bytes, 0);
  CHECK_NEAR(many.log.bytes,
             many.log.event[EVENT_MatMult].bytes + many.log.event[EVENT_KSPVectors].bytes +
                 many.log.event[EVENT_KSPBasis].bytes + many.log.event[EVENT_PCApply].bytes +
                 many.log.event[EVENT_VecUpdate].bytes,
             0);
  Close(&s);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static PoiseBytes Counters(PoiseContext ctx)
{
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

/* Scratch of the context that grows with the longest vector is there before anything is counted. */
static bool Reserve(PoiseContext ctx)
{
  return CHECK_OK(poiseReduceReserve(ctx, POISE_MAX_BATCH * POISE_NBLOCKS(64 * 64)));
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
    if (!CHECK_OK(Laplacian(ctx, grids[g][0], grids[g][1], &A)) || !CHECK_OK(PoiseMatCreateVecs(A, &x, &y)))
      return;
    CHECK_OK(PoiseVecSet(x, 1));
    CHECK_OK(PoiseMatMult(A, x, y));
    const Csr *c = &A->csr;
    CHECK_OK(PoiseMatPredictBytes(A, NULL, &predicted));
    CHECK_OK(PoiseMatBytes(A, &held, &plain));
    Same(predicted.least, held);
    Same(predicted.most, held);
    CHECK_INT(plain, 12 * c->nz + (c->wide ? 8 : 4) * (c->m + 1));
    if (PoiseSize(ctx) == 1) CHECK_INT(IsAway(ctx) ? held.device : held.host, plain);
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
    int64_t index = c->nz > ctx->most_narrow ? 8 : 4,
            transpose = index * (c->m + c->nghost + 1) + (index + 4) * c->nz;
    CHECK_INT(held.host - old.host, IsAway(ctx) ? 0 : transpose);
    CHECK_INT(held.device - old.device, IsAway(ctx) ? transpose : 0);
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
        System s;
        PoiseBytes held, x;
        PoisePrediction predicted, again;
        if (!OpenGrid(ctx, grids[g][0], grids[g][1], all_methods[m], "none", &s)) return;
        const KSPType *type = s.ksp->type;
        if (right && type->right) CHECK_OK(PoiseKSPSetPCSide(s.ksp, POISE_PC_RIGHT));
        CHECK_OK(PoiseKSPSetTolerances(s.ksp, -1, -1, -1, 4));
        CHECK_OK(PoiseKSPBytes(s.ksp, &held));
        CHECK(held.host == 0 && held.device == 0);
        CHECK_OK(PoiseKSPPredictBytes(s.ksp, NULL, &predicted));
        CHECK_OK(PoiseMatMult(s.A, s.b, s.x)); /* all of A is there */
        CHECK_OK(PoiseVecDestroy(&s.x));
        CHECK_OK(PoiseVecDuplicate(s.b, &s.x));
        PoiseBytes before = Counters(ctx);
        CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
        CHECK_OK(PoiseKSPBytes(s.ksp, &held));
        Same(predicted.least, held);
        Same(predicted.most, held);
        CHECK_OK(PoiseVecBytes(s.x, &x));
        if (!IsAway(ctx)) x = (PoiseBytes){0};
        rest[g] = Minus(Minus(Minus(Counters(ctx), before), held), x);
        CHECK(rest[g].device == 0);
        if (!IsAway(ctx)) CHECK_INT(rest[g].host, rest[0].host); /* the mock's queue grows as it likes */
        CHECK_OK(PoiseKSPPredictBytes(s.ksp, NULL, &again));
        Same(again.least, predicted.least);
        Close(&s);
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
    System s;
    PoisePC pc;
    PoiseBytes before, held, rest;
    if (!strcmp(all_preconditioners[k], "shell")) continue;
    if (!Open(ctx, "richardson", all_preconditioners[k], &s)) return;
    CHECK_OK(PoiseKSPGetPC(s.ksp, &pc));
    CHECK_OK(PoiseMatMult(s.A, s.b, s.x));
    before = Counters(ctx);
    CHECK_OK(PoisePCApply(pc, s.b, s.x));
    CHECK_OK(PoisePCBytes(pc, &held));
    rest = Minus(Minus(Counters(ctx), before), held);
    CHECK_INT(rest.device, 0);
    if (!IsAway(ctx)) CHECK(rest.host >= 0 && rest.host < 2 * FIXED);
    Close(&s);
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
  System s;
  bool mine = PoiseRank(ctx) == PoiseSize(ctx) - 1;
  char words[160];
  PoiseVec ballast;
  int64_t left, total;
  if (!IsAway(ctx)) TEST_SKIP("the host's memory has no limit that a test may reach");
  if (!Open(ctx, "gmres", "jacobi", &s)) return;
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
  Close(&s);
}

/* However much of a matrix fits, a failed product leaves nothing of its arrays behind; a later one is
   right. */
static void TestFailedUpload(PoiseContext ctx)
{
  static const char *const types[] = {"csr", "csri", "seg", "bcsr"};
  if (!IsAway(ctx)) TEST_SKIP("the host's memory has no limit that a test may reach");
  for (int k = 0; k < (int)(sizeof types / sizeof *types); k++) {
    System s;
    PoiseErr e = POISE_ERR_MEMORY;
    int64_t tries = 0, bytes;
    double sum, right;
    bool none;
    if (!Open(ctx, "gmres", "none", &s)) return;
    CHECK_OK(PoiseMatSetType(s.A, types[k]));
    CHECK_OK(PoiseVecSet(s.b, 1)); /* b and x are on the device */
    CHECK_OK(PoiseVecSet(s.x, 1));
    CHECK_OK(PoiseVecToDevice(s.b));
    bytes = ctx->device->bytes;
    for (int64_t more = 0; e; more += more / 8 + 8, tries++) {
      ctx->device->limit = bytes + more;
      e = PoiseMatMult(s.A, s.b, s.x);
      if (!e) break;
      CHECK_ERR(e, POISE_ERR_MEMORY, "no memory on device");
      none = !s.A->csr.ptr.device && !s.A->csr.col.device && !s.A->csr.val.device;
      /* a new bcsr is there in part */
      CHECK(ctx->device->bytes == bytes || (none && ctx->device->bytes < bytes));
      bytes = ctx->device->bytes;
    }
    CHECK(tries > 5);
    ctx->device->limit = 0;
    CHECK_OK(PoiseVecSumEntries(s.x, &sum));
    CHECK_OK(PoiseMatMultTranspose(s.A, s.b, s.x)); /* (1, A 1) = (A^T 1, 1) */
    CHECK_OK(PoiseVecSumEntries(s.x, &right));
    CHECK_NEAR(sum, right, 1e-9);
    Close(&s);
  }
}

/* Memory for the host's zeros is lacking when the device has given its own. */
static void TestFailedZeros(PoiseContext ctx)
{
  Buffer b;
  const char *p;
  if (!IsAway(ctx)) TEST_SKIP("buffers have one side");
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
  System s;
  if (strcmp(dev->ops->name, "cuda")) TEST_SKIP("it takes a GPU");
  if (!Open(ctx, "cg", "jacobi", &s)) return;
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
  Close(&s);
  if (!Open(ctx, "gmres", "jacobi", &s)) return; /* anew */
  CHECK_OK(PoiseKSPSolve(s.ksp, s.b, s.x));
  CHECK(PoiseKSPConvergedReason(s.ksp) > 0);
  Close(&s);
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
  for (int r = 0; r < RANKS; r++) { /* nobody knows what is near */
    CHECK_INT(poisePickGpu(r, p, 1), 0);
    CHECK_INT(poisePickGpu(r, p, 4), r % 4);
  }
  for (int r = 0; r < RANKS; r++) p[r] = (GpuPlace){(uint64_t)r / 8, 0xff}; /* two machines of 8 GPUs */
  for (int r = 0; r < RANKS; r++) CHECK_INT(poisePickGpu(r, p, 8), r % 8);
  /* two sockets in turn, each with 4 */
  for (int r = 0; r < RANKS; r++) p[r] = (GpuPlace){7, r % 2 ? 0xf0 : 0x0f};
  for (int r = 0; r < 8; r++) CHECK_INT(poisePickGpu(r, p, 8), 4 * (r % 2) + r / 2);
  for (int r = 8; r < RANKS; r++) CHECK_INT(poisePickGpu(r, p, 8), poisePickGpu(r - 8, p, 8));
  for (int r = 0; r < RANKS; r++) p[r] = (GpuPlace){(uint64_t)r % 2, 0xff}; /* two machines in turn */
  for (int r = 0; r < RANKS; r++) CHECK_INT(poisePickGpu(r, p, 8), r / 2);
  for (int r = 0; r < RANKS; r++) p[r] = (GpuPlace){7, UINT64_C(1) << 63};
  CHECK_INT(poisePickGpu(3, p, 64), 63);
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
  setenv("POISE_OPTIONS", options, 1);
  PoiseErr e = PoiseInitialize(NULL, NULL, &(PoiseInit){.serial = 1}, own);
  unsetenv("POISE_OPTIONS");
  return e;
}

static void TestDeviceId(PoiseContext ctx)
{
  PoiseContext own;
  char text[2048];
  const char *expected = PoiseSize(ctx) == 1 ? "  device: mock 0\n" : "  device: mock 0; by rank: 0 1";
  FILE *f = tmpfile(), *out = ctx->out;
  bool mock = !strcmp(ctx->device->ops->name, "mock");
  CHECK(ctx->device->id == (mock ? PoiseRank(ctx) % 4 : 0) || !ctx->device->ops->is_host);
  if (mock) { /* each rank's is named */
    PoiseSetOutput(ctx, f);
    CHECK_OK(PoiseView(ctx));
    ctx->out = out;
    rewind(f);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
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

/* ---- arrays on the device -------------------------------------------------------------------- */

/* Are these n numbers in the device's memory f(i) for the global rows i? */
static bool Holds(PoiseContext ctx, const double *p, PoiseInt n, PoiseInt begin, double scale, double shift)
{
  double *host = malloc(((size_t)n + 1) * sizeof *host);
  bool holds = true;
  CHECK_OK(poiseDeviceCopy(ctx->device, host, p, (size_t)n * sizeof *host, COPY_TO_HOST));
  CHECK_OK(poiseDeviceSync(ctx->device));
  for (PoiseInt i = 0; i < n; i++) holds = holds && host[i] == scale * (double)(begin + i) + shift;
  free(host);
  return holds;
}

static double *LendRows(PoiseContext ctx, PoiseInt *n, PoiseInt *begin)
{
  PoiseSplit(ctx, 50, begin, n);
  double content[50] = {0};
  for (PoiseInt i = 0; i < *n; i++) content[i] = (double)(*begin + i);
  return SampleLend(ctx, (size_t)*n * sizeof *content, content);
}

static void TestDeviceArray(PoiseContext ctx)
{
  for (int own = POISE_COPY; own <= POISE_BORROW; own++) {
    PoiseVec x, y;
    PoiseInt n, begin;
    double *p = LendRows(ctx, &n, &begin), sum;
    bool mine = own == POISE_BORROW;
    int64_t moved = ctx->device->copied[COPY_TO_DEVICE] + ctx->device->copied[COPY_TO_HOST];
    if (!CHECK_OK(PoiseVecCreateDeviceArray(ctx, n, 50, p, (PoiseOwn)own, &x))) return;
    CHECK_OK(PoiseVecDuplicate(x, &y));
    CHECK_OK(PoiseVecSet(y, 1));
    CHECK_OK(PoiseVecAXPBY(x, 1, 2, y)); /* 2 i + 1 */
    CHECK_INT(ctx->device->copied[COPY_TO_DEVICE] + ctx->device->copied[COPY_TO_HOST], moved);
    if (own != POISE_ADOPT) CHECK(Holds(ctx, p, n, begin, mine ? 2 : 1, mine ? 1 : 0));
    CHECK_OK(PoiseVecSumEntries(x, &sum));
    CHECK_NEAR(sum, 2 * 49 * 50 / 2 + 50, 0);
    double *host;
    CHECK_OK(PoiseVecGetWrite(x, &host));
    for (PoiseInt i = 0; i < n; i++) host[i] = 3 * (double)(begin + i);
    CHECK_OK(SampleRestore(x, &host));
    if (mine) CHECK(Holds(ctx, p, n, begin, 3, 0));
    for (PoiseInt i = 0; i < 50; i++) /* from any rank */
      if (i % PoiseSize(ctx) == PoiseRank(ctx)) CHECK_OK(PoiseVecAddValues(x, 1, &i, &(double){5}));
    CHECK_OK(PoiseVecAssemble(x));
    if (mine) CHECK(Holds(ctx, p, n, begin, 3, 5));
    CHECK_OK(PoiseVecPointwiseMult(x, x, y));
    CHECK_OK(PoiseVecSumEntries(x, &sum));
    CHECK_NEAR(sum, 3 * 49 * 50 / 2 + 250, 0);
    CHECK_OK(PoiseVecDestroy(&x));
    CHECK_OK(PoiseVecDestroy(&y));
    if (own != POISE_ADOPT) SampleTakeBack(ctx, p);
  }
}

/* A pointer to something else is named; one rank's mistake is an error on all. */
static void TestHostPointer(PoiseContext ctx)
{
  PoiseVec x;
  PoiseInt n, begin;
  double *p = LendRows(ctx, &n, &begin), host[50];
  bool mine = PoiseRank(ctx) == 0; /* which has rows */
  CHECK_ERR_OF(PoiseVecCreateDeviceArray(ctx, n, 50, mine ? NULL : p, POISE_BORROW, &x), mine, POISE_ERR_ARG,
               "NULL");
  if (IsAway(ctx))
    for (int own = POISE_COPY; own <= POISE_BORROW; own++) {
      CHECK_ERR_OF(PoiseVecCreateDeviceArray(ctx, n, 50, mine ? host : p, (PoiseOwn)own, &x), mine,
                   POISE_ERR_ARG, "a host pointer?");
      CHECK(x == NULL);
      if (!strcmp(ctx->device->ops->name, "cuda")) continue; /* it does not know lengths */
      CHECK_ERR_OF(PoiseVecCreateDeviceArray(ctx, n, 50, mine ? p + 1 : p, (PoiseOwn)own, &x), mine,
                   POISE_ERR_ARG, "array: ");
    }
  SampleTakeBack(ctx, p);
}

/* And the other way round: where whole arrays are taken. */
static void TestDevicePointer(PoiseContext ctx)
{
  enum { ROWS = 4 };
  static const int32_t ptr[ROWS + 1] = {0, 1, 2, 3, 4}, col[ROWS] = {0, 1, 2, 3};
  static const PoiseInt rows[ROWS] = {0, 1, 2, 3};
  static const double val[ROWS] = {1, 2, 3, 4};
  void *p = NULL;
  PoiseVec x;
  PoiseMat A, sparse;
  if (!IsAway(ctx)) TEST_SKIP("host and device are one");
  if (!CHECK_OK(ctx->device->ops->alloc(ctx->device, 8 * ROWS + 8, "an application's array", &p))) return;
  poiseFreeCount(ctx);
  CHECK_ERR(PoiseVecCreateArray(ctx, ROWS, ROWS, p, POISE_COPY, &x), POISE_ERR_ARG, "array: ");
  PoiseCSR csr = {.ptr32 = ptr, .col32 = col, .val = p};
  CHECK_ERR(PoiseMatCreateCSR(ctx, ROWS, ROWS, ROWS, ROWS, &csr, POISE_COPY, &A), POISE_ERR_ARG, "val: ");
  csr.val = (double *)(uintptr_t)val, csr.ptr32 = p;
  CHECK_ERR(PoiseMatCreateCSR(ctx, ROWS, ROWS, ROWS, ROWS, &csr, POISE_COPY, &A), POISE_ERR_ARG, "ptr: ");
  csr.ptr32 = ptr, csr.col32 = p;
  CHECK_ERR(PoiseMatCreateCSR(ctx, ROWS, ROWS, ROWS, ROWS, &csr, POISE_COPY, &A), POISE_ERR_ARG, "col: ");
  csr.col32 = col;
  if (!CHECK_OK(PoiseMatCreateCSR(ctx, ROWS, ROWS, ROWS, ROWS, &csr, POISE_COPY, &A))) return;
  CHECK_ERR(PoiseMatSetValuesCSR(A, p), POISE_ERR_ARG, "val: ");
  CHECK_OK(PoiseMatCreate(ctx, ROWS, ROWS, ROWS, ROWS, &sparse));
  CHECK_ERR(PoiseMatSetPatternCOO(sparse, ROWS, p, rows), POISE_ERR_ARG, "rows: ");
  CHECK_ERR(PoiseMatSetPatternCOO(sparse, ROWS, rows, p), POISE_ERR_ARG, "cols: ");
  CHECK_OK(PoiseMatSetPatternCOO(sparse, ROWS, rows, rows));
  CHECK_ERR(PoiseMatSetValuesCOO(sparse, p), POISE_ERR_ARG, "values of triplets");
  CHECK_OK(PoiseMatDestroy(&A));
  CHECK_OK(PoiseMatDestroy(&sparse));
  SampleTakeBack(ctx, p);
}

static PoiseErr AdoptOne(PoiseContext ctx, void *arg)
{
  PoiseVec x;
  PoiseInt n, begin;
  (void)arg;
  PoiseSplit(ctx, 50, &begin, &n);
  void *p = NULL;
  PoiseErr e = IsAway(ctx) ? ctx->device->ops->alloc(ctx->device, (size_t)n * 8, "an application's array", &p)
                           : POISE_OK;
  if (!e && IsAway(ctx) && p) poiseFreeCount(ctx);
  if (!e && !IsAway(ctx)) p = malloc((size_t)n * 8 + 1);
  e = PoiseAgree(ctx, e);
  if (!e) e = PoiseVecCreateDeviceArray(ctx, n, 50, p, POISE_ADOPT, &x);
  if (e)
    SampleTakeBack(ctx, p);
  else
    e = PoiseVecDestroy(&x);
  return e;
}

static void TestAdoptFailures(PoiseContext ctx)
{
  TestAllocationFailures(ctx, AdoptOne, NULL);
}

/* This rank's CSR in the device's memory, in all widths and bases. */
static PoiseCSR LendCSR(PoiseContext ctx, int64_t m, const int64_t *ptr, const int64_t *col,
                        const double *val, int wide, int base)
{
  int64_t nz = ptr[m];
  int32_t *p32 = malloc((size_t)(m + 1) * 4), *c32 = malloc((size_t)nz * 4 + 1);
  int64_t *p64 = malloc((size_t)(m + 1) * 8), *c64 = malloc((size_t)nz * 8 + 1);
  for (int64_t i = 0; i <= m; i++) p64[i] = ptr[i] + base, p32[i] = (int32_t)p64[i];
  for (int64_t k = 0; k < nz; k++) c64[k] = col[k] + base, c32[k] = (int32_t)c64[k];
  PoiseCSR csr = {.base = base, .val = SampleLend(ctx, (size_t)nz * 8, val)};
  if (wide & 1)
    csr.ptr64 = SampleLend(ctx, (size_t)(m + 1) * 8, p64);
  else
    csr.ptr32 = SampleLend(ctx, (size_t)(m + 1) * 4, p32);
  if (wide & 2)
    csr.col64 = SampleLend(ctx, (size_t)nz * 8, c64);
  else
    csr.col32 = SampleLend(ctx, (size_t)nz * 4, c32);
  free(p32), free(c32), free(p64), free(c64);
  return csr;
}

static void TakeBackCSR(PoiseContext ctx, PoiseCSR *csr)
{
  const void *all[] = {csr->ptr32, csr->ptr64, csr->col32, csr->col64, csr->val};
  for (int k = 0; k < 5; k++) SampleTakeBack(ctx, (void *)(uintptr_t)all[k]);
}

/* An entry that was set on the host is in the borrowed array. */
static void CheckAssembled(PoiseMat A, const double *borrowed)
{
  PoiseInt row = A->rows->begin;
  HostCsr h;
  double v = 0;
  if (A->rows->n) CHECK_OK(PoiseMatSetEntries(A, 1, &row, &row, &(double){7}));
  CHECK_OK(PoiseMatAssemble(A));
  if (!A->rows->n || !CHECK_OK(poiseMatPattern(A, &h))) return;
  int64_t k = poiseCsrFind(A, h.ptr, h.col, 0, row);
  CHECK_OK(poiseDeviceCopy(A->ctx->device, &v, borrowed + k, sizeof v, COPY_TO_HOST));
  CHECK_OK(poiseDeviceSync(A->ctx->device));
  CHECK(v == 7);
}

static void TestDeviceCSR(PoiseContext ctx)
{
  System s;
  PoiseVec y;
  int64_t *ptr, *col;
  double *val;
  if (!Open(ctx, "cg", "jacobi", &s) || !CHECK_OK(PoiseMatCopyCSR(s.A, &ptr, &col, &val))) return;
  PoiseInt m = s.A->rows->n;
  CHECK_OK(PoiseVecDuplicate(s.x, &y));
  CHECK_OK(PoiseMatMult(s.A, s.b, s.x));
  uint64_t expected = SampleDigest(s.x), twice;
  CHECK_OK(PoiseMatMultAdd(s.A, 2, s.b, 0, s.x));
  twice = SampleDigest(s.x);
  for (int k = 0; k < 24; k++) {
    PoiseOwn own = (PoiseOwn)(k % 3);
    PoiseCSR csr = LendCSR(ctx, m, ptr, col, val, k / 3 % 4, k / 12);
    PoiseMat A;
    int64_t moved = ctx->device->copied[COPY_TO_DEVICE];
    bool in_place = IsAway(ctx) && PoiseSize(ctx) == 1 && own != POISE_COPY && !csr.base && csr.col32;
    if (!CHECK_OK(PoiseMatCreateDeviceCSR(ctx, m, m, N, N, &csr, own, &A))) return;
    CHECK_OK(PoiseMatMult(A, s.b, y));
    CHECK(SampleDigest(y) == expected);
    if (in_place) {
      CHECK(A->csr.col.device == csr.col32 && A->csr.val.device == csr.val);
      CHECK_INT(ctx->device->copied[COPY_TO_DEVICE], moved);
    }
    CHECK_OK(PoiseMatScale(A, 2));
    CHECK_OK(PoiseMatMult(A, s.b, y));
    CHECK(SampleDigest(y) == twice);
    if (own == POISE_BORROW) { /* written to by the application */
      CHECK_OK(
          poiseDeviceCopy(ctx->device, (void *)(uintptr_t)csr.val, val, (size_t)ptr[m] * 8, COPY_TO_DEVICE));
      CHECK_OK(PoiseMatSetValuesCSR(A, csr.val));
      CHECK_OK(PoiseMatMult(A, s.b, y));
      CHECK(SampleDigest(y) == expected);
      CHECK_OK(PoiseKSPSetOperators(s.ksp, A, NULL));
      CHECK_OK(PoiseKSPSetTolerances(s.ksp, 1e-10, -1, -1, -1));
      CHECK_OK(PoiseKSPSolve(s.ksp, y, s.x)); /* A b */
      CHECK_OK(PoiseVecAXPY(s.x, -1, s.b));
      double norm;
      CHECK_OK(PoiseVecNorm(s.x, POISE_NORM_INF, &norm));
      CHECK(norm < 1e-6);
      CHECK_OK(PoiseKSPSetOperators(s.ksp, s.A, NULL));
      CheckAssembled(A, csr.val);
    }
    CHECK_OK(PoiseMatDestroy(&A));
    if (own != POISE_ADOPT) TakeBackCSR(ctx, &csr);
  }
  free(ptr), free(col), free(val);
  CHECK_OK(PoiseVecDestroy(&y));
  Close(&s);
}

/* Each array that is not on the device is named, and what is wrong with the matrix as for arrays on the
   host. */
static void TestDeviceCSRErrors(PoiseContext ctx)
{
  static const char *const names[] = {"csr->ptr32: ", "csr->col32: ", "csr->val: "};
  const int64_t ptr[] = {0, 2, 3}, col[] = {0, 1, 1}, unsorted[] = {1, 0, 1};
  const int32_t ptr32[] = {0, 2, 3}, col32[] = {0, 1, 1};
  const double val[] = {1, 2, 3};
  PoiseMat A;
  CHECK_ERR(PoiseMatCreateDeviceCSR(ctx, 2, 2, 2, 2, NULL, POISE_COPY, &A), POISE_ERR_ARG, "NULL");
  for (int k = 0; IsAway(ctx) && k < 9; k++) {
    PoiseCSR csr = LendCSR(ctx, 2, ptr, col, val, 0, 0), bad = csr;
    if (k % 3 == 0) bad.ptr32 = ptr32;
    if (k % 3 == 1) bad.col32 = col32;
    if (k % 3 == 2) bad.val = val;
    CHECK_ERR(PoiseMatCreateDeviceCSR(ctx, 2, 2, 2, 2, &bad, (PoiseOwn)(k / 3), &A), POISE_ERR_ARG,
              names[k % 3]);
    CHECK(A == NULL);
    TakeBackCSR(ctx, &csr);
  }
  for (int k = 0; k < 3; k++) { /* offsets that are wrong are found before columns are fetched */
    const int64_t down[] = {0, 5, 3};
    PoiseCSR wrong = LendCSR(ctx, 2, k ? ptr : down, col, val, 0, 0), bad = wrong;
    if (k == 1) bad.base = 7;
    if (k == 2) bad.ptr32 = NULL;
    CHECK_ERR(PoiseMatCreateDeviceCSR(ctx, 2, 2, 2, 2, &bad, POISE_BORROW, &A), POISE_ERR_ARG,
              k == 0   ? "row offsets decrease at row 1: 5, then 3"
              : k == 1 ? "base 7"
                       : "exactly one of ptr32");
    TakeBackCSR(ctx, &wrong);
  }
  for (int k = 0; k < 8; k++) { /* as arrays on the host, whether they are looked at on the device or not */
    static const char *const words[] = {"row 1 has column 2, legal are 0 to 1",
                                        "row 1 has column -1, legal are 0 to 1", "row 0 has column 1 twice",
                                        "the first row offset is 1, not the base 0"};
    const int64_t cols[][3] = {{0, 1, 2}, {0, 1, -1}, {1, 1, 0}, {0, 1, 1}}, late[] = {1, 2, 3};
    PoiseCSR wrong = LendCSR(ctx, 2, k % 4 == 3 ? late : ptr, cols[k % 4], val, k < 4 ? 1 : 2, 0);
    CHECK_ERR(PoiseMatCreateDeviceCSR(ctx, 2, 2, 2, 2, &wrong, POISE_BORROW, &A), POISE_ERR_ARG,
              words[k % 4]);
    TakeBackCSR(ctx, &wrong);
  }
  PoiseCSR csr = LendCSR(ctx, 2, ptr, unsorted, val, 0, 0);
  if (IsAway(ctx))
    CHECK_ERR(PoiseMatCreateDeviceCSR(ctx, 2, 2, 2, 2, &csr, POISE_ADOPT, &A), POISE_ERR_ARG,
              "row 0 are not sorted, so the arrays cannot be on the device");
  CHECK_ERR(PoiseMatCreateDeviceCSR(ctx, 2, 2, 2, 1, &csr, POISE_ADOPT, &A), POISE_ERR_SIZE, "");
  TakeBackCSR(ctx, &csr);
}

static PoiseErr AdoptCSR(PoiseContext ctx, void *arg)
{
  static const int64_t ptr[] = {0, 2, 3}, col[] = {0, 1, 1};
  static const double val[] = {1, 2, 3};
  PoiseMat A;
  poiseAllocFailAt(ctx, -ctx->memory.fail_at); /* the application's own memory does not fail */
  PoiseCSR csr = LendCSR(ctx, 2, ptr, col, val, 0, *(int *)arg);
  poiseAllocFailAt(ctx, -ctx->memory.fail_at);
  PoiseErr e = PoiseMatCreateDeviceCSR(ctx, 2, 2, 2, 2, &csr, POISE_ADOPT, &A);
  if (e)
    TakeBackCSR(ctx, &csr);
  else
    e = PoiseMatDestroy(&A);
  return e;
}

static void TestAdoptCSRFailures(PoiseContext ctx)
{
  for (int base = 0; base < 2; base++) TestAllocationFailures(ctx, AdoptCSR, &base);
}

/* A matrix whose arrays are on the device, of more rows than a block: of its indices nothing comes to the
   host but single numbers. */
static void TestDeviceCSRStays(PoiseContext ctx)
{
  enum { ROWS = 5000 };
  int64_t *ptr = malloc((ROWS + 1) * sizeof *ptr), *col = malloc(2 * ROWS * sizeof *col);
  double *val = malloc(2 * ROWS * sizeof *val);
  PoiseMat A;
  PoiseVec x, y;
  for (int64_t i = 0; i < ROWS; i++) {
    ptr[i] = 2 * i;
    for (int k = 0; k < 2; k++) col[2 * i + k] = i ? i - 1 + k : k, val[2 * i + k] = (double)(i % 7 + k);
  }
  ptr[ROWS] = 2 * ROWS;
  for (int wide = 0; wide < 2; wide++) {
    PoiseCSR csr = LendCSR(ctx, ROWS, ptr, col, val, wide, 0);
    int64_t moved = ctx->device->copied[COPY_TO_DEVICE], fetched = ctx->device->copied[COPY_TO_HOST];
    if (!CHECK_OK(PoiseMatCreateDeviceCSR(ctx, ROWS, ROWS, ROWS, ROWS, &csr, POISE_BORROW, &A))) return;
    if (!CHECK_OK(PoiseMatCreateVecs(A, &x, &y))) return;
    CHECK_OK(PoiseVecSet(x, 1));
    CHECK_OK(PoiseMatMult(A, x, y));
    if (IsAway(ctx)) CHECK(ctx->device->copied[COPY_TO_HOST] - fetched <= 256);
    CHECK_INT(ctx->device->copied[COPY_TO_DEVICE], moved);
    double sum = 0, expected = 0;
    for (int64_t k = 0; k < 2 * ROWS; k++) expected += val[k];
    CHECK_OK(PoiseVecSumEntries(y, &sum));
    CHECK(sum == expected);
    CHECK_OK(PoiseMatDestroy(&A));
    if (wide && IsAway(ctx)) { /* the first of two wrong rows, both in later blocks */
      int32_t far = ROWS;
      CHECK_OK(poiseDeviceCopy(ctx->device, (int32_t *)(uintptr_t)csr.col32 + 2 * 4321, &far, sizeof far,
                               COPY_TO_DEVICE));
      CHECK_OK(poiseDeviceCopy(ctx->device, (int32_t *)(uintptr_t)csr.col32 + 2 * 2345, &far, sizeof far,
                               COPY_TO_DEVICE));
      CHECK_ERR(PoiseMatCreateDeviceCSR(ctx, ROWS, ROWS, ROWS, ROWS, &csr, POISE_BORROW, &A), POISE_ERR_ARG,
                "row 2345 has column 5000, legal are 0 to 4999");
    }
    CHECK_OK(PoiseVecDestroy(&x));
    CHECK_OK(PoiseVecDestroy(&y));
    TakeBackCSR(ctx, &csr);
  }
  free(ptr), free(col), free(val);
}

/* ---- triplets in the device's memory --------------------------------------------------------- */

enum { TRIPLETS = 40000 };

/* In no order, of all ranks' rows, many of an entry, 3000 of one, some ignored. */
static void MakeTriplets(PoiseContext ctx, PoiseInt *rows, PoiseInt *cols, double *v)
{
  for (int k = 0; k < TRIPLETS; k++) {
    uint64_t at = (uint64_t)k + TRIPLETS * (uint64_t)PoiseRank(ctx);
    rows[k] = k % 13 == 5 ? 7 : (PoiseInt)((TestRandom(21, at) + 1) / 2 * N);
    cols[k] = k % 13 == 5 ? 9 : k % 101 == 3 ? -1 : (rows[k] + k % 5) % N;
    v[k] = TestRandom(22, at);
  }
}

static bool SameEntries(PoiseMat A, PoiseMat H)
{
  int64_t *ptr[2], *col[2];
  double *val[2];
  if (!CHECK_OK(PoiseMatCopyCSR(A, &ptr[0], &col[0], &val[0])) ||
      !CHECK_OK(PoiseMatCopyCSR(H, &ptr[1], &col[1], &val[1])))
    return false;
  size_t m = (size_t)A->rows->n, nz = (size_t)ptr[0][m];
  bool same = !memcmp(ptr[0], ptr[1], (m + 1) * 8) && !memcmp(col[0], col[1], nz * 8) &&
              !memcmp(val[0], val[1], nz * 8);
  for (int k = 0; k < 2; k++) free(ptr[k]), free(col[k]), free(val[k]);
  return same;
}

/* Pattern and sums are those of triplets on the host, to the bit, and on one rank nothing travels. */
static void TestDeviceTriplets(PoiseContext ctx)
{
  PoiseInt *rows = malloc(TRIPLETS * sizeof *rows), *cols = malloc(TRIPLETS * sizeof *cols);
  double *v = malloc(TRIPLETS * sizeof *v);
  PoiseMat A, H;
  MakeTriplets(ctx, rows, cols, v);
  void *r = SampleLend(ctx, TRIPLETS * sizeof *rows, rows),
       *c = SampleLend(ctx, TRIPLETS * sizeof *cols, cols), *there = SampleLend(ctx, TRIPLETS * sizeof *v, v);
  if (!CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, N, N, &A)) ||
      !CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, N, N, &H)))
    return;
  for (int again = 0; again < 2; again++) {
    CHECK_OK(PoiseMatSetPatternDeviceCOO(A, TRIPLETS, r, c));
    CHECK_OK(PoiseMatSetPatternCOO(H, TRIPLETS, rows, cols));
    CHECK(SameEntries(A, H)); /* zeros */
    CHECK_OK(PoiseMatSetPatternDeviceCOO(A, TRIPLETS, r, c));
    int64_t moved = ctx->device->copied[COPY_TO_DEVICE], fetched = ctx->device->copied[COPY_TO_HOST];
    CHECK_OK(PoiseMatSetPatternDeviceCOO(A, TRIPLETS, r, c));
    CHECK_OK(PoiseMatSetValuesDeviceCOO(A, there));
    CHECK_OK(PoiseMatAddValuesDeviceCOO(A, there));
    if (IsAway(ctx) && PoiseSize(ctx) == 1) {
      CHECK_INT(ctx->device->copied[COPY_TO_DEVICE], moved);
      CHECK(ctx->device->copied[COPY_TO_HOST] - fetched <= 256);
    }
    CHECK_OK(PoiseMatSetValuesCOO(H, v));
    CHECK_OK(PoiseMatAddValuesCOO(H, v));
    CHECK(SameEntries(A, H));
  }
  CHECK_OK(PoiseMatSetPatternDeviceCOO(A, 0, NULL, NULL));
  CHECK_OK(PoiseMatSetValuesDeviceCOO(A, NULL));
  CHECK_INT(A->csr.nz, 0);
  CHECK_OK(PoiseMatDestroy(&A));
  CHECK_OK(PoiseMatDestroy(&H));
  SampleTakeBack(ctx, r), SampleTakeBack(ctx, c), SampleTakeBack(ctx, there);
  free(rows), free(cols), free(v);
}

/* What is wrong is named, with its place; the matrix stays as it was. */
static void TestDeviceTripletErrors(PoiseContext ctx)
{
  bool mine = PoiseRank(ctx) == 0;
  PoiseInt *rows = malloc(TRIPLETS * sizeof *rows), *cols = malloc(TRIPLETS * sizeof *cols);
  double *v = malloc(TRIPLETS * sizeof *v);
  PoiseMat A;
  char words[128];
  MakeTriplets(ctx, rows, cols, v);
  void *r = SampleLend(ctx, TRIPLETS * sizeof *rows, rows),
       *c = SampleLend(ctx, TRIPLETS * sizeof *cols, cols), *there = SampleLend(ctx, TRIPLETS * sizeof *v, v);
  rows[30001] = N, rows[39999] = N + 5, cols[20002] = N + 7;
  void *bad_rows = SampleLend(ctx, TRIPLETS * sizeof *rows, rows),
       *bad_cols = SampleLend(ctx, TRIPLETS * sizeof *cols, cols);
  if (!CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, N, N, &A))) return;
  CHECK_ERR(PoiseMatSetValuesDeviceCOO(A, there), POISE_ERR_STATE, "call PoiseMatSetPatternCOO");
  CHECK_OK(PoiseMatSetPatternDeviceCOO(A, TRIPLETS, r, c));
  int64_t nz = A->csr.nz;
  snprintf(words, sizeof words, "row %d of a matrix of %d rows (at place 30001", N, N);
  CHECK_ERR_OF(PoiseMatSetPatternDeviceCOO(A, TRIPLETS, mine ? bad_rows : r, c), mine, POISE_ERR_ARG, words);
  snprintf(words, sizeof words, "column %d of a matrix of %d columns (at place 20002", N + 7, N);
  CHECK_ERR_OF(PoiseMatSetPatternDeviceCOO(A, TRIPLETS, r, mine ? bad_cols : c), mine, POISE_ERR_ARG, words);
  CHECK_ERR_OF(PoiseMatSetPatternDeviceCOO(A, mine ? -2 : 0, r, c), mine, POISE_ERR_ARG, "-2 rows");
  if (IsAway(ctx)) {
    CHECK_ERR_OF(PoiseMatSetPatternDeviceCOO(A, TRIPLETS, mine ? rows : r, c), mine, POISE_ERR_ARG, "rows: ");
    CHECK_ERR_OF(PoiseMatSetPatternDeviceCOO(A, TRIPLETS, r, mine ? cols : c), mine, POISE_ERR_ARG,
                 "a host pointer?");
    CHECK_ERR_OF(PoiseMatSetPatternDeviceCOO(A, TRIPLETS, r, mine ? NULL : c), mine, POISE_ERR_ARG,
                 "cols is NULL");
    CHECK_ERR_OF(PoiseMatSetValuesDeviceCOO(A, mine ? v : there), mine, POISE_ERR_ARG,
                 "values of triplets: ");
  }
  CHECK_INT(A->csr.nz, nz);
  CHECK_OK(PoiseMatSetValuesDeviceCOO(A, there));
  CHECK_OK(PoiseMatDestroy(&A));
  SampleTakeBack(ctx, r), SampleTakeBack(ctx, c), SampleTakeBack(ctx, there), SampleTakeBack(ctx, bad_rows),
      SampleTakeBack(ctx, bad_cols);
  free(rows), free(cols), free(v);
}

/* Systems of no unknown and of one, from arrays and from triplets on the device. */
static void TestSmallest(PoiseContext ctx)
{
  const int64_t ptr[] = {0, 1}, col[] = {0};
  const PoiseInt zero[] = {0, 0};
  const double val[] = {4}, halves[] = {2, 2};
  void *rows = SampleLend(ctx, sizeof zero, zero), *v = SampleLend(ctx, sizeof halves, halves);
  for (PoiseInt n = 0; n < 2; n++)
    for (int t = 0; t < 2 * NMETHODS; t++) {
      PoiseCSR csr = LendCSR(ctx, n, ptr, col, val, 0, 0);
      PoiseKSP ksp;
      PoiseMat A;
      PoiseVec x, b;
      double sum;
      if (t % 2) {
        if (!CHECK_OK(PoiseMatCreate(ctx, n, n, n, n, &A))) return;
        CHECK_OK(PoiseMatSetPatternDeviceCOO(A, 2 * n, rows, rows));
        CHECK_OK(PoiseMatSetValuesDeviceCOO(A, v));
      } else if (!CHECK_OK(PoiseMatCreateDeviceCSR(ctx, n, n, n, n, &csr, POISE_BORROW, &A))) {
        return;
      }
      CHECK_INT(A->csr.nz, n);
      CHECK_OK(PoiseMatCreateVecs(A, &x, &b));
      CHECK_OK(PoiseVecSet(b, 12));
      CHECK_OK(PoiseKSPCreate(ctx, &ksp));
      CHECK_OK(PoiseKSPSetType(ksp, methods[t / 2]));
      CHECK_OK(PoiseKSPSetOperators(ksp, A, NULL));
      for (int again = 0; again < 2; again++) CHECK_OK(PoiseKSPSolve(ksp, b, x));
      CHECK(PoiseKSPConvergedReason(ksp) > 0);
      CHECK_OK(PoiseVecSumEntries(x, &sum));
      CHECK_NEAR(sum, 3.0 * (double)n, 1e-14);
      CHECK_OK(PoiseKSPDestroy(&ksp));
      CHECK_OK(PoiseVecDestroy(&x));
      CHECK_OK(PoiseVecDestroy(&b));
      CHECK_OK(PoiseMatDestroy(&A));
      TakeBackCSR(ctx, &csr);
    }
  SampleTakeBack(ctx, rows), SampleTakeBack(ctx, v);
}

typedef struct DeviceTriplets {
  PoiseInt n;
  void *rows, *cols, *v;
} DeviceTriplets;

static PoiseErr AssembleThere(PoiseContext ctx, void *arg)
{
  const DeviceTriplets *t = arg;
  PoiseMat A;
  TRY(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, N, N, &A));
  PoiseErr e = PoiseMatSetPatternDeviceCOO(A, t->n, t->rows, t->cols);
  if (!e) e = PoiseMatSetValuesDeviceCOO(A, t->v);
  PoiseMatDestroy(&A);
  return e;
}

static void TestDeviceTripletFailures(PoiseContext ctx)
{
  PoiseInt *rows = malloc(TRIPLETS * sizeof *rows), *cols = malloc(TRIPLETS * sizeof *cols);
  double *v = malloc(TRIPLETS * sizeof *v);
  MakeTriplets(ctx, rows, cols, v);
  DeviceTriplets t = {300, SampleLend(ctx, TRIPLETS * sizeof *rows, rows),
                      SampleLend(ctx, TRIPLETS * sizeof *cols, cols),
                      SampleLend(ctx, TRIPLETS * sizeof *v, v)};
  TestAllocationFailures(ctx, AssembleThere, &t);
  SampleTakeBack(ctx, t.rows), SampleTakeBack(ctx, t.cols), SampleTakeBack(ctx, t.v);
  free(rows), free(cols), free(v);
}

/* The peak is what is promised: 24 bytes per triplet and some MB (here KB) beside what is given. */
static void TestDeviceTripletMemory(PoiseContext ctx)
{
  if (!IsAway(ctx)) TEST_SKIP("on the host there is no such sort");
  PoiseInt *rows = malloc(TRIPLETS * sizeof *rows), *cols = malloc(TRIPLETS * sizeof *cols);
  double *v = malloc(TRIPLETS * sizeof *v);

  MakeTriplets(ctx, rows, cols, v);
  DeviceTriplets t = {TRIPLETS, SampleLend(ctx, TRIPLETS * sizeof *rows, rows),
                      SampleLend(ctx, TRIPLETS * sizeof *cols, cols),
                      SampleLend(ctx, TRIPLETS * sizeof *v, v)};
  int place = poisePlacesAreWide(ctx, TRIPLETS) ? 8 : 4,
      scratch = strcmp(ctx->device->ops->name, "cuda") ? 64 : 64 << 20;
  ctx->device->limit = ctx->device->bytes + 2 * (8 + place) * TRIPLETS - 1;
  CHECK_ERR(AssembleThere(ctx, &t), POISE_ERR_MEMORY, "no memory on device");
  ctx->device->limit += 1 + scratch;
  CHECK_OK(AssembleThere(ctx, &t));
  ctx->device->limit = 0;
  SampleTakeBack(ctx, t.rows), SampleTakeBack(ctx, t.cols), SampleTakeBack(ctx, t.v);
  free(rows), free(cols), free(v);
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

static const Test tests[] = {{"freed_in_use", TestFreedInUse, 0},
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
                             {"failed_upload", TestFailedUpload, TEST_SERIAL},
                             {"failed_zeros", TestFailedZeros, TEST_SERIAL},
                             {"full_gpu", TestFullGpu, TEST_SERIAL},
                             {"device_memory", TestDeviceMemory, 0},
                             {"pick", TestPick, TEST_SERIAL | TEST_HOST_ONLY},
                             {"cores", TestCores, TEST_SERIAL | TEST_HOST_ONLY},
                             {"device_id", TestDeviceId, 0},
                             {"no_gpu", TestNoGpu, TEST_SERIAL | TEST_HOST_ONLY},
                             {"device_array", TestDeviceArray, 0},
                             {"host_pointer", TestHostPointer, 0},
                             {"device_pointer", TestDevicePointer, TEST_SERIAL},
                             {"adopt_failures", TestAdoptFailures, 0},
                             {"device_csr", TestDeviceCSR, 0},
                             {"device_csr_errors", TestDeviceCSRErrors, TEST_SERIAL},
                             {"adopt_csr_failures", TestAdoptCSRFailures, TEST_SERIAL},
                             {"device_csr_stays", TestDeviceCSRStays, TEST_SERIAL},
                             {"device_triplets", TestDeviceTriplets, 0},
                             {"device_triplet_errors", TestDeviceTripletErrors, 0},
                             {"smallest", TestSmallest, TEST_SERIAL},
                             {"device_triplet_failures", TestDeviceTripletFailures, 0},
                             {"device_triplet_memory", TestDeviceTripletMemory, TEST_SERIAL},
                             {"stream", TestStream, TEST_SERIAL | TEST_HOST_ONLY},
                             {NULL, NULL, 0}};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "offload", tests);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The loop over iterations. Eager: each is enqueued, then the host looks at the slots. Replayed: iterations
  are captured once as a graph, and the host looks at each replay while the next one runs. Norms come to the
  host in a ring behind the slots.
*/
#include "mat/order/arrange.h"
#include "block.h"
#include "claim.h"
#include "divided.h"
#include "dots.h"
#include "loop.h"
#include "methods.h"
#include "monitor.h"
#include "operator.h"
#include "scale.h"
#include "solve.h"

enum {
  LATEST = -1,     /* the latest of all enqueued iterations */
  FIRST = 16,      /* iterations of the first replay of a loop that is new */
  KEEPS = 1 << 8,  /* beside a norm: iterations keep what spectra are made of, or */
  SINGLE = 1 << 9, /* work in fp32 */
  STEP_LONG = 2    /* iterations between two looks by the device where one takes long */
};

static Device *Dev(PoiseKSP ksp)
{
  return ksp->ctx->device;
}

int poiseKSPLateCycle(PoiseKSP ksp, int most)
{
  return ksp->loop.eager || (ksp->loop.step > 0 && ksp->loop.step <= STEP_LONG) ? 1 : most;
}

/* Behind an iteration that was enqueued. */
static void AdvanceCycle(PoiseKSP ksp)
{
  ksp->loop.parity = !ksp->loop.parity;
  if (++ksp->loop.cycle_at < poiseKSPCycle(ksp)) return;
  ksp->loop.cycle_at = 0;
  if (poiseKSPForm(ksp)->restart) poiseKSPForm(ksp)->restart(ksp);
}

/* ---- slots on the host ----------------------------------------------------------------------- */

/* The only copy and the only wait that -device_forbid_copies allows. */
static PoiseErr CopySlots(PoiseKSP ksp, double *status)
{
  bool forbids = poiseDeviceForbid(Dev(ksp), false);
  PoiseErr e =
      poiseDeviceCopy(Dev(ksp), status, ksp->scalars.slots, ksp->scalars.slot_buffer.bytes, COPY_TO_HOST);
  poiseDeviceForbid(Dev(ksp), forbids);
  return e;
}

static PoiseErr WaitForSlots(PoiseKSP ksp, int64_t event)
{
  bool forbids = poiseDeviceForbid(Dev(ksp), false);
  PoiseErr e = event < 0 ? poiseDeviceSync(Dev(ksp)) : poiseDeviceWait(Dev(ksp), event);
  poiseDeviceForbid(Dev(ksp), forbids);
  return e;
}

PoiseErr poiseKSPFetchSlots(PoiseKSP ksp)
{
  TRY(CopySlots(ksp, ksp->loop.status[0]));
  return WaitForSlots(ksp, LATEST);
}

/* A solve that is ended early meets its limit of iterations in the next one, where all phases see that. */
static void Watch(PoiseKSP ksp)
{
  static const double none = 0;
  if (!ksp->watch.ends || !ksp->watch.ends(ksp, ksp->watch.arg)) return;
  bool forbids = poiseDeviceForbid(Dev(ksp), false);
  poiseKSPFailed(
      ksp, poiseDeviceCopy(Dev(ksp), ksp->scalars.slots + SLOT_MAXITS, &none, sizeof none, COPY_TO_DEVICE));
  poiseDeviceForbid(Dev(ksp), forbids);
}

/* Read the slots that the host has received. Returns whether the solve is over as far as the device knows. */
static bool LookAtSlots(PoiseKSP ksp, const double *status)
{
  memcpy(ksp->result.slots, status, sizeof ksp->result.slots);
  ksp->loop.norms = status + RING_AT;
  bool done = status[SLOT_DONE] != 0;
  ksp->result.its = (PoiseInt)(done ? status[SLOT_ITS_FINAL] : fmax(status[SLOT_ITS], status[SLOT_ITS_ODD]));
  ksp->result.reason = done ? (PoiseKSPReason)(int)status[SLOT_REASON] : POISE_ITERATING;
  if (ksp->systems.n) poiseKSPKeepColumns(ksp, status);
  poiseKSPReport(ksp, ksp->result.its);
  poiseKSPProgress(ksp);
  if (!done) Watch(ksp);
  return done;
}

/* ---- iterates of an eager loop --------------------------------------------------------------- */

/* The residual of the present iterate, whether or not the solve is over. All ranks take part, whatever
   failed. */
static void TrueResidual(PoiseKSP ksp)
{
  Fuse f = {0};
  ksp->solve.finishing = true; /* nothing is skipped */
  bool single = poiseKSPMixedShow(ksp, false);
  PoiseVec x = ksp->type->solution ? ksp->type->solution(ksp) : ksp->work[0];
  poiseKSPCopy(ksp, ksp->solve.b, ksp->residual);
  poiseKSPAddDot(ksp, &f, NULL, SLOT_TRUE_RESIDUAL);
  poiseKSPSubtractProduct(ksp, x, ksp->residual, &f);
  poiseKSPPublish(ksp);
  (void)poiseKSPMixedShow(ksp, single);
  ksp->solve.finishing = false;
}

/* x: of A's columns. */
static void BuildIterate(PoiseKSP ksp, PoiseVec x)
{
  ksp->solve.finishing = true; /* nothing is skipped */
  bool single = poiseKSPMixedShow(ksp, false);
  poiseKSPCopy(ksp, ksp->type->solution ? ksp->type->solution(ksp) : ksp->work[0], x);
  if (ksp->A->null.n) poiseKSPRemoveNullSpace(ksp, x, NULL);
  if (ksp->solve.scale != 1) poiseKSPFailed(ksp, PoiseVecScale(x, 1 / ksp->solve.scale));
  (void)poiseKSPMixedShow(ksp, single);
  ksp->solve.finishing = false;
}

static PoiseErr CheckIterate(PoiseKSP ksp, PoiseVec x)
{
  const Layout *rows = ksp->type->squares ? ksp->layout : poiseMatRowsOutside(ksp->A);
  TRY(poiseMatCheckOutside(ksp->A, "PoiseKSPBuildSolution of a solver"));
  if (x->ctx != ksp->ctx || !poiseLayoutSame(rows, x->layout))
    FAIL(POISE_ERR_SIZE, "the solution has %lld entries, x has %lld", (long long)rows->N,
         (long long)x->layout->N);
  return POISE_OK;
}

PoiseErr PoiseKSPBuildSolution(PoiseKSP ksp, PoiseVec x)
{
  CALLED(OBJECT(ksp), OBJECT(x));
  if (!ksp->solve.running) FAIL(POISE_ERR_STATE, "there is no solve under way whose iterate could be built");
  TRY(poiseKSPCheckWhole(ksp, "PoiseKSPBuildSolution"));
  if (poiseKSPIsGathered(ksp)) return poiseKSPBuildGathered(ksp, x);
  if (!ksp->loop.eager)
    FAIL(POISE_ERR_STATE,
         "the loop is replayed and ahead of its monitors: iterates can be had in a convergence test, or with "
         "%s 0",
         poiseOptionsName(ksp->ctx, ksp->prefix, "ksp_replay"));
  PoiseMat out = ksp->A->origin.moves.out; /* x has the application's rows */
  PoiseVec own = x;
  PoiseErr e = CheckIterate(ksp, x);
  if (!e && out) e = poiseVecCreateLocal(ksp->layout, &own);
  e = PoiseAgree(ksp->ctx, e);
  if (!e) BuildIterate(ksp, own);
  if (!e && out) poiseKSPFailed(ksp, poiseVecMove(out, own, x));
  if (own != x) PoiseVecDestroy(&own);
  TRY(e);
  if (!ksp->solve.failed) poiseKSPFailed(ksp, poiseBufferSyncBorrowed(&x->data));
  return poiseKSPAgree(ksp);
}

/* ---- eager ----------------------------------------------------------------------------------- */

/* Fetch the slots of the iteration just enqueued, with its true residual if that is monitored. */
static PoiseErr FetchIteration(PoiseKSP ksp)
{
  PoiseErr e = poiseKSPFetchSlots(ksp);
  if (!poiseKSPMonitorsTrueResidual(ksp)) return e;
  if (!e) memcpy(ksp->result.slots, ksp->loop.status[0], sizeof ksp->result.slots);
  TrueResidual(ksp);
  return e ? e : poiseKSPFetchSlots(ksp);
}

static PoiseErr CheckReason(PoiseKSPReason reason)
{
  if (!poiseKSPIsReason(reason))
    FAIL(POISE_ERR_USER, "the convergence test gave reason %d, which is none", (int)reason);
  return POISE_OK;
}

/* The result of the user's convergence test, asked once per iteration. */
static PoiseKSPReason HostTest(PoiseKSP ksp)
{
  PoiseKSPReason reason = POISE_ITERATING;
  if (!ksp->user.test || ksp->result.reason == POISE_DIVERGED_NANORINF ||
      ksp->result.its == ksp->solve.tested)
    return POISE_ITERATING;
  ksp->solve.tested = ksp->result.its;
  PoiseErrorClear();
  poiseKSPFailed(ksp, poiseErrorOfUser(ksp->user.test(ksp, ksp->result.its, ksp->result.rnorm, &reason,
                                                      ksp->user.test_arg),
                                       "the convergence test"));
  poiseKSPFailed(ksp, CheckReason(reason));
  return reason;
}

/* Ask all ranks about as often as the application is asked. After how many iterations, each computes from the
   same largest time. */
static bool SomeRankFailedMeanwhile(PoiseKSP ksp)
{
  Asked *a = &ksp->solve.asked;
  if (a->left-- > 0) return false;
  double now = ksp->ctx->hooks.clock();
  int64_t words[] = {ksp->solve.failed != POISE_OK, (int64_t)(1e6 * fmin(now - a->time, 1e6))};
  poiseKSPFailed(ksp, poiseCommMaxInt(ksp->ctx->comm, words, 2));
  bool soon = words[1] < 1e6 * POISE_LOOK_SECONDS;
  a->step = soon ? 2 * a->step + 1 : a->step / 2;
  a->left = a->step;
  a->time = now;
  return words[0];
}

/* Has some rank failed? Without asking, other ranks learn only in their next sum that work queued on a
   device or a user's function has failed. So they ask, if that can happen, before users' functions are
   called, as these may be collective. A method without norms may have no sums; then they ask now and then, if
   that can be interrupted. */
static bool SomeRankFailed(PoiseKSP ksp)
{
  bool several = PoiseSize(ksp->ctx) > 1,
       ask = !Dev(ksp)->ops->is_host || ksp->user.test || ksp->user.nmonitors;
  int64_t failed = ksp->solve.failed != POISE_OK;
  if (several && ask) poiseKSPFailed(ksp, poiseCommMaxInt(ksp->ctx->comm, &failed, 1));
  if (!several || ask) ksp->solve.stop = ksp->solve.stop || failed;
  if (several && !ask && ksp->norm == POISE_KSP_NORM_NONE && poiseLooks(ksp->ctx))
    ksp->solve.stop = SomeRankFailedMeanwhile(ksp) || ksp->solve.stop;
  return ksp->solve.stop;
}

/* Does the user's test stop the solve on any rank? (It may look at a clock.) */
static bool HostStops(PoiseKSP ksp)
{
  enum { SAID = 100 }; /* any reason is a positive number */
  PoiseKSPReason reason = HostTest(ksp);
  int64_t word = reason == POISE_ITERATING ? 0 : SAID + (int)reason;
  if (ksp->user.test) poiseKSPFailed(ksp, poiseCommMaxInt(ksp->ctx->comm, &word, 1));
  if (word) ksp->result.reason = (PoiseKSPReason)(word - SAID);
  return word;
}

void poiseKSPEager(PoiseKSP ksp)
{
  for (;;) {
    PoiseErr e = FetchIteration(ksp);
    poiseKSPFailed(ksp, e ? e : poiseLook(ksp->ctx));
    if (SomeRankFailed(ksp) || poiseKSPOutOfRange(ksp, ksp->loop.status[0])) return;
    bool over = LookAtSlots(ksp, ksp->loop.status[0]);
    if (HostStops(ksp) || over) return;
    poiseKSPForm(ksp)->iterate(ksp, ksp->loop.cycle_at);
    AdvanceCycle(ksp);
  }
}

/* ---- replayed -------------------------------------------------------------------------------- */

/* Iterations between two looks at DONE by the device. Those behind the end are launched in vain, and a look
   costs some microseconds. So it is two where an iteration takes long, by its bytes and by the kernels of M;
   one may be in vain. */
static int StepIterations(PoiseKSP ksp)
{
  const double worth = 100e-6, kernel = 3e-6; /* seconds that need no look; of a kernel that does little */
  int64_t (*kernels)(PoisePC) = ksp->pc->type->kernels;
  double vectors = 12 * 8 * (double)ksp->A->rows->n, seconds;
  if (ksp->options.replay > 0) return (int)ksp->options.replay;
  if (!Dev(ksp)->loops || Dev(ksp)->model.bandwidth <= 0) return REPLAY_MOST;
  if (ksp->systems.n) vectors *= ksp->systems.n;
  seconds = (poiseMatTraffic(ksp->A) + vectors) / Dev(ksp)->model.bandwidth;
  if (kernels) seconds += kernel * (double)kernels(ksp->pc);
  if (worth >= REPLAY_MOST * seconds) return REPLAY_MOST;
  return worth <= STEP_LONG * seconds ? STEP_LONG : (int)ceil(worth / seconds);
}

/* Ranks that exchange in the loop must look at its end in the same iterations, though their shares differ. */
PoiseErr poiseKSPChooseStep(PoiseKSP ksp)
{
  int64_t least = -StepIterations(ksp);
  TRY(poiseCommMaxInt(ksp->ctx->comm, &least, 1));
  ksp->loop.step = (int)-least;
  return POISE_OK;
}

/* Iterations of a captured turn: whole cycles, and an even number, so that the parity repeats. */
static int TurnIterations(PoiseKSP ksp, int step)
{
  int cycle = poiseKSPCycle(ksp), unit = cycle % 2 ? 2 * cycle : cycle;
  return (step + unit - 1) / unit * unit;
}

/* The ring holds the norms of a replay, and before the first one that of the start. */
static int MostTurns(PoiseKSP ksp)
{
  const Captured *c = &ksp->loop.captured;
  return Dev(ksp)->loops ? (int)((ksp->loop.ring - 1 - c->first) / c->turn) : 1;
}

/* Turns of the first replay of a loop that is new. */
static int FewTurns(PoiseKSP ksp)
{
  int few = FIRST / ksp->loop.captured.turn, most = MostTurns(ksp);
  return few < 1 ? 1 : few < most ? few : most;
}

/* Iterations of a replay before the loop: where each is a cycle, the two of a solve that is soon over. The
   loop, and a step that is mostly in vain, would cost it more. Ranks that exchange in them would need as many
   replays, also behind the end. */
static int FirstIterations(PoiseKSP ksp)
{
  bool alone = PoiseSize(ksp->ctx) == 1;
  return alone && Dev(ksp)->loops && poiseKSPCycle(ksp) == 1 && ksp->options.replay < 0 ? 2 : 0;
}

/* Add to the log `times` times the work of the first n captured iterations. */
static void AddCounts(PoiseKSP ksp, double times, int n)
{
  poiseLogAddWork(ksp->ctx, times, &ksp->loop.counts[0], &ksp->loop.counts[n]);
}

/* The description is compared as bytes. */
static void Describe(PoiseKSP ksp, Captured *c)
{
  memset(c, 0, sizeof *c);
  c->type = poiseKSPForm(ksp), c->A = ksp->A, c->pc = ksp->pc;
  c->version = ksp->A->version, c->version.values = 0, c->version.near = 0;
  c->generation = ksp->pc->generation;
  c->joined = poiseLinkJoined(ksp->ctx);
  c->moved = ksp->systems.n ? ksp->A->product.moved : 0;
  c->conv = ksp->scalars.conv, c->conv.range = 0; /* of the start alone */
  c->norm = (int)ksp->norm + (poiseKSPKeepsSpectrum(ksp) ? KEEPS : 0) + (ksp->mixed.active ? SINGLE : 0),
  c->side = (int)ksp->side;
  c->step = ksp->loop.step, c->turn = TurnIterations(ksp, c->step);
  c->first = FirstIterations(ksp);
  c->parity = ksp->loop.parity;
  c->there = poiseHaloWasSent(poiseMatHalo(ksp->A));
}

/* After a failure nothing that is queued uses b and x. */
static bool GiveUp(PoiseKSP ksp)
{
  poiseKSPFailed(ksp, WaitForSlots(ksp, LATEST));
  return false;
}

/* The first iterations of a replay, before the device looks whether the solve is over. */
static PoiseErr CaptureFirst(PoiseKSP ksp, int first)
{
  LogCounts counts[2];
  TRY(Dev(ksp)->ops->capture_first(Dev(ksp), ksp->scalars.slots + SLOT_DONE));
  poiseLogCounts(ksp->ctx, &counts[0]);
  for (int k = 0; k < first; k++) {
    poiseKSPForm(ksp)->iterate(ksp, ksp->loop.cycle_at);
    AdvanceCycle(ksp);
  }
  poiseLogCounts(ksp->ctx, &counts[1]);
  poiseLogAddWork(ksp->ctx, -1, &counts[0], &counts[1]); /* nothing has run */
  poiseLogAddLaunches(ksp->ctx, -1, &counts[0], &counts[1]);
  return POISE_OK;
}

bool poiseKSPCapture(PoiseKSP ksp)
{
  Device *dev = Dev(ksp);
  KSPLoop *loop = &ksp->loop;
  Captured now;
  if (ksp->solve.failed) return GiveUp(ksp);
  Describe(ksp, &now);
  if (loop->graph && !memcmp(&now, &loop->captured, sizeof now)) return true;
  poiseKSPForget(ksp);
  PoiseErr e = poiseAllocArray(ksp->ctx, now.turn + 1, sizeof *loop->counts, "counts of a captured loop",
                               &loop->counts);
  if (!e && now.first) e = CaptureFirst(ksp, (int)now.first);
  if (!e) e = dev->ops->capture_begin(dev, ksp->scalars.slots + SLOT_DONE);
  poiseKSPFailed(ksp, e);
  if (e) return GiveUp(ksp);
  if (poiseLinkIsUsed(ksp->ctx)) poiseLinkBeginBody(ksp->ctx->link);
  for (int k = 0; k < now.turn; k++) {
    if (k > 0 && k % now.step == 0) poiseKSPFailed(ksp, dev->ops->capture_step(dev));
    poiseLogCounts(ksp->ctx, &loop->counts[k]);
    now.type->iterate(ksp, loop->cycle_at);
    AdvanceCycle(ksp);
  }
  if (poiseLinkIsUsed(ksp->ctx)) poiseKSPFailed(ksp, poiseLinkEndBody(ksp->ctx->link));
  poiseLogCounts(ksp->ctx, &loop->counts[now.turn]);
  AddCounts(ksp, -1, now.turn); /* nothing has run */
  poiseLogAddLaunches(ksp->ctx, -1, &loop->counts[0], &loop->counts[now.turn]);
  poiseKSPFailed(ksp, dev->ops->capture_end(dev, &loop->graph));
  if (ksp->solve.failed) poiseKSPForget(ksp);
  loop->captured = now;
  loop->turns = FewTurns(ksp);
  loop->brief = true;
  return !ksp->solve.failed || GiveUp(ksp);
}

void poiseKSPForget(PoiseKSP ksp)
{
  Device *dev = Dev(ksp);
  if (ksp->loop.graph) dev->ops->graph_free(dev, &ksp->loop.graph);
  poiseFree(ksp->ctx, &ksp->loop.counts);
}

/* The check of a claim and the delivery of x, which are skipped unless the method has claimed convergence by
   then. counts: of the log, before and after. */
static void EnqueueEndAhead(PoiseKSP ksp, PoiseVec x, bool checks, LogCounts counts[2])
{
  poiseLogCounts(ksp->ctx, &counts[0]);
  ksp->solve.finishing = true;
  ksp->solve.unless = ksp->scalars.conv.unclaimed;
  bool single = poiseKSPMixedShow(ksp, false);
  poiseKSPEnqueueEnd(ksp, x, checks);
  (void)poiseKSPMixedShow(ksp, single);
  ksp->solve.finishing = false;
  ksp->solve.unless = NULL;
  poiseLogCounts(ksp->ctx, &counts[1]);
}

static PoiseErr EnqueueReplay(PoiseKSP ksp, int turns)
{
  Device *dev = Dev(ksp);
  const KSPLoop *loop = &ksp->loop;
  TRY(dev->ops->replay(dev, loop->graph, turns));
  dev->busy = true;
  if (!dev->loops) poiseLogAddLaunches(ksp->ctx, 1, &loop->counts[0], &loop->counts[loop->captured.turn]);
  return POISE_OK;
}

/* event: where more is enqueued before the host waits; else LATEST. */
static PoiseErr EnqueueLook(PoiseKSP ksp, double *status, bool more, int64_t *event)
{
  Device *dev = Dev(ksp);
  *event = LATEST;
  TRY(CopySlots(ksp, status));
  return more ? dev->ops->record(dev, event) : POISE_OK;
}

/* Do all ranks know of the failure? They do behind a monitor, and where they tell each other, as they can be
   interrupted. Devices of others would wait for one that stopped alone, so it goes on to the end, and then
   says what failed. */
static bool AllKnow(PoiseKSP ksp)
{
  return PoiseSize(ksp->ctx) == 1 || ksp->user.nmonitors || poiseLooks(ksp->ctx);
}

/* May the application go on? All ranks stop behind the same replay. */
static void LookForInterrupt(PoiseKSP ksp)
{
  if (!poiseLooks(ksp->ctx)) return;
  poiseKSPFailed(ksp, poiseLook(ksp->ctx));
  if (PoiseSize(ksp->ctx) > 1) poiseKSPFailed(ksp, poiseKSPAgree(ksp));
}

/* Wait for a copy of the slots. Returns whether the solve is over, or there is no point in going on. device:
   a failure of the device, after which it cannot go on. */
static bool Look(PoiseKSP ksp, PoiseErr device, const double *status, int64_t event)
{
  if (!device) device = WaitForSlots(ksp, event);
  if (!device) device = Dev(ksp)->failed;
  poiseKSPFailed(ksp, device);
  LookForInterrupt(ksp);
  if (device || (ksp->solve.failed && AllKnow(ksp))) return true;
  return poiseKSPOutOfRange(ksp, status) || LookAtSlots(ksp, status);
}

/* Turns of the next replay. They double while replays are short: a solve of few iterations is soon reported,
   monitors are not kept waiting, and a long solve launches seldom. */
static int NextTurns(PoiseKSP ksp, int turns, double seconds)
{
  const double longest = 50e-3;
  int most = MostTurns(ksp);
  bool alone = PoiseSize(ksp->ctx) == 1; /* ranks would measure different times, but need equal replays */
  if (alone && seconds > longest) return turns > 1 ? turns / 2 : 1;
  if (alone && seconds > longest / 4) return turns;
  return 2 * turns < most ? 2 * turns : most;
}

/* Add the work of `done` iterations; kernels behind the end did nothing. A loop has not launched them. The
   first of a replay are as those of the loop. */
static void CountReplays(PoiseKSP ksp, PoiseInt done)
{
  const LogCounts *counts = ksp->loop.counts;
  int turn = ksp->loop.captured.turn, rest = (int)(done % turn);
  double turns = (double)(done / turn);
  AddCounts(ksp, turns, turn);
  AddCounts(ksp, 1, rest);
  if (!Dev(ksp)->loops) return;
  poiseLogAddLaunches(ksp->ctx, turns, &counts[0], &counts[turn]);
  poiseLogAddLaunches(ksp->ctx, 1, &counts[0], &counts[rest]);
}

/* Sums are NaN when a rank did not come. */
static PoiseErr CheckLink(PoiseKSP ksp)
{
  bool forbids = poiseDeviceForbid(Dev(ksp), false);
  PoiseErr e = poiseLinkIsUsed(ksp->ctx) ? poiseLinkCheck(ksp->ctx) : POISE_OK;
  poiseDeviceForbid(Dev(ksp), forbids);
  return e;
}

/* Can the end be enqueued behind a first replay? The x that the user has must be on the device. Monitors may
   fail, and x then stays as it is. Several ranks would not all see that it is soon over. */
static bool EndsAhead(PoiseKSP ksp, PoiseVec x, bool *checks)
{
  return ksp->loop.brief && PoiseSize(ksp->ctx) == 1 && !ksp->user.nmonitors &&
         poiseKSPForesees(ksp, checks) && poiseBufferIsCurrent(&x->data, DEVICE);
}

/* A first replay that may well be the only one is looked at before there is another, with the end of the
   solve behind it. Else the host stays one replay behind: it looks at one while the next runs. That one
   changes nothing once DONE is set; nobody waits for it. */
void poiseKSPReplay(PoiseKSP ksp, PoiseVec x)
{
  KSPLoop *loop = &ksp->loop;
  LogCounts counts[2];
  int64_t event[2] = {0, 0};
  int sent = 0, seen = 0, turns = loop->turns;
  bool checks, ends = EndsAhead(ksp, x, &checks);
  double since = PoiseTime();
  PoiseErr e = POISE_OK;
  poiseLinkEndSession(ksp->ctx); /* what was sent before the loop is no longer there behind it */
  for (bool over = false; !over; seen++) {
    bool more = seen > 0 || !loop->brief;
    for (; sent <= seen + more && !e; sent++) {
      e = EnqueueReplay(ksp, turns);
      if (ends && sent == 0 && !e) EnqueueEndAhead(ksp, x, checks, counts);
      if (!e) e = EnqueueLook(ksp, loop->status[sent % 2], more, &event[sent % 2]);
    }
    over = Look(ksp, e, loop->status[seen % 2], event[seen % 2]);
    double now = PoiseTime();
    if (!over) turns = NextTurns(ksp, turns, now - since);
    since = now;
  }
  if (ksp->solve.failed) (void)GiveUp(ksp);
  if (ksp->result.reason == POISE_DIVERGED_NANORINF) poiseKSPFailed(ksp, CheckLink(ksp));
  loop->turns = turns;
  loop->brief = seen == 1;
  ksp->solve.ended = ends && loop->brief && !ksp->solve.failed && loop->status[0][UNCLAIMED] == 0;
  if (ends && !ksp->solve.ended) poiseLogAddWork(ksp->ctx, -1, &counts[0], &counts[1]);
  CountReplays(ksp, ksp->result.its - ksp->solve.base);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The running solve: products and preconditioners, as methods enqueue them, and the loop, plain or
   replayed. */
#include "mat/order/arrange.h"
#include "ksp.h"

enum { LATEST = -1 }; /* the latest of all enqueued iterations */

static const ScalarRef one = {NULL, 1}, minus_one = {NULL, -1}, zero = {NULL, 0};

void poiseKSPFailed(PoiseKSP ksp, PoiseErr e)
{
  if (!e || ksp->failed) return;
  ksp->failed = e;
  poiseErrorSave(&ksp->error);
}

static PoiseErr AgreeOnResult(PoiseKSP ksp)
{
  if (ksp->failed) poiseErrorRestore(&ksp->error);
  return PoiseAgree(ksp->ctx, ksp->failed);
}

static Device *Dev(PoiseKSP ksp)
{
  return ksp->ctx->device;
}

static const double *Done(PoiseKSP ksp)
{
  return ksp->finishing ? NULL : ksp->slots + SLOT_DONE;
}

/* ---- products and preconditioner ------------------------------------------------------------- */

/* Count the partials of a product: one per thread block and dot. */
static void CountPartials(PoiseKSP ksp, const Fuse *f)
{
  for (int k = 0; k < f->ndot; k++)
    for (int p = 0; p < ksp->npending; p++)
      if (ksp->pending[p].partial == f->partial[k]) ksp->pending[p].count = poiseMatPartials(ksp->A);
}

/* Phases work on the device through pointers, of which a vector knows nothing; a user's function may work on
   the host. So the host's copy of what it reads is stale, and what it wrote is fetched from there. */
static void OnDevice(PoiseKSP ksp, PoiseVec v)
{
  double *p;
  poiseKSPFailed(ksp, poiseVecUpdate(v, &p));
}

void poiseKSPMult(PoiseKSP ksp, PoiseVec x, PoiseVec y, const Fuse *f)
{
  if (f) CountPartials(ksp, f);
  OnDevice(ksp, x);
  poiseKSPFailed(ksp, poiseMatMultFuse(ksp->A, one, x, zero, y, Done(ksp), f));
  OnDevice(ksp, y);
}

void poiseKSPSubtractProduct(PoiseKSP ksp, PoiseVec x, PoiseVec y, const Fuse *f)
{
  if (f) CountPartials(ksp, f);
  OnDevice(ksp, x);
  poiseKSPFailed(ksp, poiseMatMultFuse(ksp->A, minus_one, x, one, y, Done(ksp), f));
  OnDevice(ksp, y);
}

/* z -= N N' z for the null space N of A, then the dots of z */
static void RemoveNullSpace(PoiseKSP ksp, PoiseVec z, const Fuse *f)
{
  double *p = NULL, *c = ksp->array + ksp->array_size;
  poiseKSPFailed(ksp, poiseVecUpdate(z, &p));
  poiseKSPMdot(ksp, ksp->A->null.n, ksp->null, p, c, NULL, Done(ksp));
  poiseKSPMaxpy(ksp, ksp->A->null.n, ksp->null, -1, c, p, Done(ksp), f);
}

/* Must the null space be removed after the preconditioner? */
static bool RemovesNullSpace(PoiseKSP ksp)
{
  return ksp->A->null.n && ksp->side == POISE_PC_LEFT;
}

/* As with a product, the preconditioner may work on the host. b is no work vector, so no phase writes it. */
void poiseKSPPrecondition(PoiseKSP ksp, PoiseVec r, PoiseVec z, const Fuse *f)
{
  bool remove = RemovesNullSpace(ksp), eager = poisePCEager(ksp->pc) != NULL;
  if (eager && r != ksp->b) OnDevice(ksp, r);
  poiseKSPFailed(ksp, poisePCApplyFuse(ksp->pc, r, z, Done(ksp), remove ? NULL : f));
  if (eager) OnDevice(ksp, z);
  if (remove) RemoveNullSpace(ksp, z, f);
}

void poiseKSPOperator(PoiseKSP ksp, PoiseVec x, PoiseVec t, PoiseVec y, const Fuse *f)
{
  if (ksp->pointwise && !ksp->point) { /* M = I */
    poiseKSPMult(ksp, x, y, f);
  } else if (ksp->side == POISE_PC_LEFT) {
    poiseKSPMult(ksp, x, t, NULL);
    poiseKSPPrecondition(ksp, t, y, f);
  } else {
    poiseKSPPrecondition(ksp, x, t, NULL);
    poiseKSPMult(ksp, t, y, f);
  }
}

void poiseKSPResidual(PoiseKSP ksp, PoiseVec b, PoiseVec r)
{
  poiseKSPCopy(ksp, b, r);
  if (poiseKSPHasGuess(ksp)) poiseKSPSubtractProduct(ksp, ksp->work[0], r, NULL);
}

int poiseKSPNormOfB(PoiseKSP ksp, PoiseVec b, PoiseVec t, int slot)
{
  const double *p = NULL;
  double *q = NULL;
  Fuse f = {0};
  if (!poiseKSPHasGuess(ksp) || ksp->norm == POISE_KSP_NORM_NONE) return 0;
  if (ksp->again) return 1; /* it is there */
  poiseKSPFailed(ksp, poiseVecRead(b, &p));
  poiseKSPAddDot(ksp, &f, ksp->norm == POISE_KSP_NORM_NATURAL ? p : NULL, slot);
  if (ksp->norm == POISE_KSP_NORM_UNPRECONDITIONED) {
    poiseKSPCopy(ksp, b, t);
    poiseKSPFailed(ksp, poiseVecUpdate(t, &q));
    poiseKSPMaxpy(ksp, 0, NULL, 1, NULL, q, NULL, &f);
  } else {
    poiseKSPPrecondition(ksp, b, t, &f);
  }
  poiseKSPScalars(ksp, PHASE_ksp_norm0, (PhaseArgs){.k = slot});
  return 1;
}

void poiseKSPUnwind(PoiseKSP ksp, PoiseVec u, PoiseVec t)
{
  bool identity = ksp->pointwise && !ksp->point;
  double *p = NULL;
  if (!identity) poiseKSPPrecondition(ksp, u, t, NULL);
  poiseKSPFailed(ksp, poiseVecUpdate(identity ? u : t, &p));
  poiseKSPMaxpy(ksp, 1, &p, 1, NULL, ksp->v[0], Done(ksp), NULL);
}

PoiseVec poiseKSPUnwound(PoiseKSP ksp, PoiseVec u, PoiseVec t)
{
  double *p = NULL;
  poiseKSPPrecondition(ksp, u, t, NULL);
  poiseKSPFailed(ksp, poiseVecUpdate(t, &p));
  poiseKSPMaxpy(ksp, 1, &ksp->v[0], 1, NULL, p, NULL, NULL);
  return t;
}

void poiseKSPCopy(PoiseKSP ksp, PoiseVec x, PoiseVec y)
{
  poiseKSPFailed(ksp, PoiseVecCopy(x, y));
}

void poiseKSPZero(PoiseKSP ksp, PoiseVec x)
{
  poiseKSPFailed(ksp, PoiseVecSet(x, 0));
}

/* ---- the loop -------------------------------------------------------------------------------- */

static int Cycle(PoiseKSP ksp)
{
  return ksp->type->cycle ? ksp->type->cycle(ksp) : 1;
}

/* Behind an iteration that was enqueued. */
static void Advance(PoiseKSP ksp)
{
  ksp->parity = !ksp->parity;
  if (++ksp->cycle_at < Cycle(ksp)) return;
  ksp->cycle_at = 0;
  if (ksp->type->restart) ksp->type->restart(ksp);
}

/* The only copy and the only wait that -device_forbid_copies allows. */
static PoiseErr CopySlots(PoiseKSP ksp, double *status)
{
  bool forbids = poiseDeviceForbid(Dev(ksp), false);
  PoiseErr e = poiseDeviceCopy(Dev(ksp), status, ksp->slots, ksp->slot_buffer.bytes, COPY_TO_HOST);
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

static PoiseErr FetchSlots(PoiseKSP ksp)
{
  TRY(CopySlots(ksp, ksp->status[0]));
  return WaitForSlots(ksp, LATEST);
}

/* The residual of the present iterate, whether or not the solve is over. All ranks take part, whatever
   failed. */
static void TrueResidual(PoiseKSP ksp)
{
  Fuse f = {0};
  ksp->finishing = true; /* nothing is skipped */
  PoiseVec x = ksp->type->solution ? ksp->type->solution(ksp) : ksp->work[0];
  poiseKSPCopy(ksp, ksp->b, ksp->residual);
  poiseKSPAddDot(ksp, &f, NULL, SLOT_TRUE_RESIDUAL);
  poiseKSPSubtractProduct(ksp, x, ksp->residual, &f);
  poiseKSPPublish(ksp);
  ksp->finishing = false;
}

/* x: of A's rows. */
static void BuildIterate(PoiseKSP ksp, PoiseVec x)
{
  ksp->finishing = true; /* nothing is skipped */
  poiseKSPCopy(ksp, ksp->type->solution ? ksp->type->solution(ksp) : ksp->work[0], x);
  if (ksp->A->null.n) RemoveNullSpace(ksp, x, NULL);
  if (ksp->scale != 1) poiseKSPFailed(ksp, PoiseVecScale(x, 1 / ksp->scale));
  ksp->finishing = false;
}

static PoiseErr CheckIterate(PoiseKSP ksp, PoiseVec x)
{
  const Layout *rows = poiseMatRowsOutside(ksp->A);
  TRY(poiseMatCheckOutside(ksp->A, "PoiseKSPBuildSolution of a solver"));
  if (x->ctx != ksp->ctx || !poiseLayoutSame(rows, x->layout))
    FAIL(POISE_ERR_SIZE, "the solution has %lld entries, x has %lld", (long long)rows->N,
         (long long)x->layout->N);
  return POISE_OK;
}

PoiseErr PoiseKSPBuildSolution(PoiseKSP ksp, PoiseVec x)
{
  CALLED(OBJECT(ksp), OBJECT(x));
  if (!ksp->running) FAIL(POISE_ERR_STATE, "there is no solve under way whose iterate could be built");
  if (!ksp->eager)
    FAIL(POISE_ERR_STATE,
         "the loop is replayed and ahead of its monitors: iterates can be had in a convergence test, or with "
         "%s 0",
         poiseOptionsName(ksp->ctx, ksp->prefix, "ksp_replay"));
  PoiseMat from = ksp->A->origin.moves.from; /* x has the application's rows */
  PoiseVec own = x;
  PoiseErr e = CheckIterate(ksp, x);
  if (!e && from) e = poiseVecCreateLocal(ksp->layout, &own);
  e = PoiseAgree(ksp->ctx, e);
  if (!e) BuildIterate(ksp, own);
  if (!e && from) poiseKSPFailed(ksp, poiseVecMove(from, own, x));
  if (own != x) PoiseVecDestroy(&own);
  TRY(e);
  if (!ksp->failed) poiseKSPFailed(ksp, poiseBufferSyncBorrowed(&x->data));
  return AgreeOnResult(ksp);
}

/* Fetch the slots of the iteration just enqueued, with its true residual if that is monitored. */
static PoiseErr FetchIteration(PoiseKSP ksp)
{
  PoiseErr e = FetchSlots(ksp);
  if (!poiseKSPMonitorsTrueResidual(ksp)) return e;
  if (!e) memcpy(ksp->final, ksp->status[0], sizeof ksp->final);
  TrueResidual(ksp);
  return e ? e : FetchSlots(ksp);
}

/* Read the slots that the host has received. Returns whether the solve is over as far as the device knows. */
static bool Look(PoiseKSP ksp, const double *status)
{
  memcpy(ksp->final, status, sizeof ksp->final);
  ksp->norms = status + POISE_SLOTS;
  bool done = status[SLOT_DONE] != 0;
  ksp->its = (PoiseInt)(done ? status[SLOT_ITS_FINAL] : fmax(status[SLOT_ITS], status[SLOT_ITS_ODD]));
  ksp->reason = done ? (PoiseKSPReason)(int)status[SLOT_REASON] : POISE_ITERATING;
  poiseKSPReport(ksp, ksp->its);
  return done;
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
  if (!ksp->test || ksp->reason == POISE_DIVERGED_NANORINF || ksp->its == ksp->tested) return POISE_ITERATING;
  ksp->tested = ksp->its;
  PoiseErrorClear();
  poiseKSPFailed(ksp, poiseErrorOfUser(ksp->test(ksp, ksp->its, ksp->rnorm, &reason, ksp->test_arg),
                                       "the convergence test"));
  poiseKSPFailed(ksp, CheckReason(reason));
  return reason;
}

/* Has some rank failed? Without asking, other ranks learn only in their next sum that work queued on a
   device or a user's function has failed. So they ask, if that can happen, before users' functions are
   called, as these may be collective. */
static bool Failed(PoiseKSP ksp)
{
  bool several = PoiseSize(ksp->ctx) > 1, ask = !Dev(ksp)->ops->is_host || ksp->test || ksp->nmonitors;
  int64_t failed = ksp->failed != POISE_OK;
  if (several && ask) poiseKSPFailed(ksp, poiseCommMaxInt(ksp->ctx->comm, &failed, 1));
  if (!several || ask) ksp->stop = ksp->stop || failed;
  return ksp->stop;
}

/* Does the user's test stop the solve on any rank? (It may look at a clock.) */
static bool HostStops(PoiseKSP ksp)
{
  enum { SAID = 100 }; /* any reason is a positive number */
  PoiseKSPReason reason = HostTest(ksp);
  int64_t word = reason == POISE_ITERATING ? 0 : SAID + (int)reason;
  if (ksp->test) poiseKSPFailed(ksp, poiseCommMaxInt(ksp->ctx->comm, &word, 1));
  if (word) ksp->reason = (PoiseKSPReason)(word - SAID);
  return word;
}

static void Eager(PoiseKSP ksp)
{
  for (;;) {
    PoiseErr e = FetchIteration(ksp);
    poiseKSPFailed(ksp, e);
    if (Failed(ksp) || poiseKSPOutOfRange(ksp, ksp->status[0])) return;
    bool over = Look(ksp, ksp->status[0]);
    if (HostStops(ksp) || over) return;
    ksp->type->iterate(ksp, ksp->cycle_at);
    Advance(ksp);
  }
}

/* What a replayed loop starts from. Returns whether there is anything to iterate. */
static bool Begins(PoiseKSP ksp)
{
  poiseKSPFailed(ksp, FetchSlots(ksp));
  return !ksp->failed && !poiseKSPOutOfRange(ksp, ksp->status[0]) && !Look(ksp, ksp->status[0]);
}

/* Iterations of a captured loop: whole cycles, and an even number, so that the parity repeats. */
static int CapturedIterations(PoiseKSP ksp)
{
  int cycle = Cycle(ksp), unit = cycle % 2 ? 2 * cycle : cycle, wanted = (int)ksp->options.replay;
  return wanted <= unit ? unit : (wanted + unit - 1) / unit * unit;
}

/* Add to the log `times` times the work of the first n captured iterations. */
static void Count(PoiseKSP ksp, double times, int n)
{
  poiseLogAddWork(ksp->ctx, times, &ksp->counts[0], &ksp->counts[n]);
}

/* Returns whether there is a captured loop, this one or the one that is kept. */
static bool Capture(PoiseKSP ksp)
{
  Device *dev = Dev(ksp);
  Captured now;
  memset(&now, 0, sizeof now); /* compared as bytes */
  now.type = ksp->type, now.A = ksp->A, now.pc = ksp->pc;
  now.pattern = ksp->A->pattern, now.generation = ksp->pc->generation;
  now.conv = ksp->conv, now.norm = (int)ksp->norm, now.side = (int)ksp->side,
  now.cycle = CapturedIterations(ksp);
  if (ksp->graph && !memcmp(&now, &ksp->captured, sizeof now)) return true;
  poiseKSPForget(ksp);
  PoiseErr e = poiseAllocArray(ksp->ctx, now.cycle + 1, sizeof *ksp->counts, "counts of a captured loop",
                               &ksp->counts);
  if (!e) e = dev->ops->capture_begin(dev, true);
  poiseKSPFailed(ksp, e);
  if (e) return false;
  for (int k = 0; k < now.cycle; k++) {
    poiseLogCounts(ksp->ctx, &ksp->counts[k]);
    ksp->type->iterate(ksp, ksp->cycle_at);
    Advance(ksp);
  }
  poiseLogCounts(ksp->ctx, &ksp->counts[now.cycle]);
  Count(ksp, -1, now.cycle); /* nothing has run */
  poiseLogAddLaunches(ksp->ctx, -1, &ksp->counts[0], &ksp->counts[now.cycle]);
  poiseKSPFailed(ksp, dev->ops->capture_end(dev, &ksp->graph));
  if (ksp->failed) poiseKSPForget(ksp);
  ksp->captured = now;
  return !ksp->failed;
}

static void EnqueueReplay(PoiseKSP ksp, int k, int64_t *event)
{
  Device *dev = Dev(ksp);
  poiseKSPFailed(ksp, dev->ops->replay(dev, ksp->graph));
  dev->busy = true;
  poiseLogAddLaunches(ksp->ctx, 1, &ksp->counts[0], &ksp->counts[ksp->captured.cycle]);
  poiseKSPFailed(ksp, CopySlots(ksp, ksp->status[k]));
  poiseKSPFailed(ksp, dev->ops->record(dev, event));
}

/* Replay. The host stays one replay behind: it looks at one while the next runs. That one changes nothing
   once DONE is set. */
static void Replay(PoiseKSP ksp)
{
  Device *dev = Dev(ksp);
  int64_t event[2] = {0, 0};
  EnqueueReplay(ksp, 0, &event[0]);
  for (int k = 0; !ksp->failed; k = !k) {
    EnqueueReplay(ksp, !k, &event[!k]);
    poiseKSPFailed(ksp, WaitForSlots(ksp, event[k]));
    poiseKSPFailed(ksp, dev->failed);
    if (!ksp->failed && Look(ksp, ksp->status[k])) break;
  }
  poiseKSPFailed(ksp, WaitForSlots(ksp, LATEST));
  PoiseInt done = ksp->its - ksp->base;
  /* kernels launched after the end did nothing */
  Count(ksp, (double)(done / ksp->captured.cycle), ksp->captured.cycle);
  Count(ksp, 1, (int)(done % ksp->captured.cycle));
}

/* ---- one solve ------------------------------------------------------------------------------- */

/* Set the scalars of a method that starts, or continues after ksp->base iterations. */
static PoiseErr SetSlots(PoiseKSP ksp)
{
  double *slots;
  TRY(poiseBufferWrite(&ksp->slot_buffer, HOST, &slots));
  memset(slots, 0, ksp->slot_buffer.bytes);
  slots[SLOT_RTOL] = ksp->options.rtol;
  slots[SLOT_ATOL] = ksp->options.atol * ksp->scale;
  slots[SLOT_DTOL] = ksp->options.dtol;
  slots[SLOT_MAXITS] = (double)ksp->options.maxits;
  slots[SLOT_BASE] = slots[SLOT_ITS] = slots[SLOT_ITS_ODD] = (double)ksp->base;
  slots[SLOT_NORM0] = ksp->again ? ksp->final[SLOT_NORM0] : 0;
  ksp->parity = ksp->cycle_at = ksp->npending = ksp->next_partial = 0;
  return poiseBufferUpdate(&ksp->slot_buffer, DEVICE, &ksp->slots);
}

PoiseErr poiseKSPPrepare(PoiseKSP ksp)
{
  ksp->again = ksp->scaling = ksp->vanished = false;
  ksp->scalings = 0;
  ksp->base = 0;
  ksp->scale = 1;
  TRY(SetSlots(ksp));
  TRY(poiseBufferWrite(&ksp->stage_buffer, DEVICE, &ksp->stage));
  TRY(poiseBufferWrite(&ksp->partial_buffer, DEVICE, &ksp->partials));
  /* zeroed, as methods may fetch all of it */
  TRY(poiseBufferUpdate(&ksp->array_buffer, DEVICE, &ksp->array));
  for (int k = 0; k < ksp->nwork; k++) TRY(poiseVecWrite(ksp->work[k], &ksp->v[k]));
  for (int k = 0; k < ksp->A->null.n; k++) TRY(poiseVecUpdate(ksp->A->null.v[k], &ksp->null[k]));
  /* as z = M^-1 r is then more than a diagonal */
  ksp->pointwise = ksp->pc->type->pointwise && !RemovesNullSpace(ksp);
  ksp->point = NULL;
  if (ksp->pointwise) TRY(ksp->pc->type->pointwise(ksp->pc, &ksp->point));
  ksp->blocks = (BlockEpilogue){.b = ksp->point != NULL, .d = ksp->point};
  if (ksp->pc->type->blocks && !RemovesNullSpace(ksp))
    TRY(ksp->pc->type->blocks(ksp->pc, &ksp->blocks.d, &ksp->blocks.b));
  ksp->conv = (Convergence){.history = ksp->slots + POISE_SLOTS,
                            .mask = ksp->ring - 1,
                            .test = !ksp->test,
                            .none = ksp->norm == POISE_KSP_NORM_NONE && !ksp->test};
  return POISE_OK;
}

/* Measure the part of *b in the null space of A^T. If only that of A is known, it is used, as for a
   symmetric A. If that of A^T is known, *b becomes b without that part. */
static PoiseErr LeaveOut(PoiseKSP ksp, PoiseVec *b)
{
  const NullSpace *left = &ksp->A->left, *space = left->n ? left : &ksp->A->null;
  double c[POISE_MAX_BATCH], norm, sum = 0;
  ksp->inconsistency = 0;
  if (!space->n) return POISE_OK;
  TRY(PoiseVecMDot(*b, space->n, space->v, c));
  TRY(PoiseVecNorm(*b, POISE_NORM_2, &norm));
  for (int k = 0; k < space->n && norm > 0; k++) sum += c[k] / norm * (c[k] / norm);
  for (int k = 0; k < space->n; k++) c[k] = -c[k];
  ksp->inconsistency = sqrt(sum);
  if (!left->n) return POISE_OK;
  PoiseErr e = PoiseVecCopy(*b, ksp->rhs);
  if (!e) e = PoiseVecMAXPY(ksp->rhs, left->n, c, left->v);
  *b = ksp->rhs;
  return PoiseAgree(ksp->ctx, e);
}

/* Copy the solution to the user's vector, unless an earlier one is better. With absurd scales x may
   overflow while residuals vanish: that is no convergence. The pass that copies x detects it, and costs
   only one more sum. */
static void Deliver(PoiseKSP ksp, PoiseVec x)
{
  int slot;
  double *p, most = poiseKSPMost(ksp, &slot);
  PoiseErr e = poiseFinite(most) ? poiseVecUpdate(x, &p) : poiseVecWrite(x, &p);
  PhaseArgs a = {READS(KSP_X, ksp->v[0]), .c = {{.value = 0}, {.value = most}, {.value = 1 / ksp->scale}}};
  poiseKSPFailed(ksp, e);
  a.out[KSP_USERS_X] = e ? ksp->v[0] : p;
  if (poiseFinite(most)) {
    poiseKSPPublish(ksp);
    a.c[0].slot = poiseKSPSlot(ksp, slot);
  }
  poiseKSPPhase(ksp, PHASE_ksp_deliver, a, SLOT_RESULT, NO_SLOT);
  poiseKSPPublish(ksp);
  poiseKSPFailed(ksp, FetchSlots(ksp));
  bool delivered = !poiseFinite(most) || fabs(ksp->status[0][slot]) <= most;
  if (ksp->reason > 0 && delivered && ksp->status[0][SLOT_RESULT] != 0) ksp->reason = POISE_DIVERGED_NANORINF;
}

/* Must a stalled method start again from x? It does while the norms at its starts halve. */
static bool Retries(PoiseKSP ksp)
{
  double norm, before = ksp->stalled;
  if (!ksp->type->stalls || !ksp->type->stalls(ksp, &norm)) return false;
  ksp->stalled = norm;
  return norm <= before / 2;
}

/* After the loop: make x, and check what the method claims of it. *again: the claim is false, and the
   method must continue. */
static PoiseErr Conclude(PoiseKSP ksp, PoiseVec x, bool *again)
{
  bool checks = poiseKSPChecks(ksp);
  ksp->finishing = true;
  if (ksp->type->finish) ksp->type->finish(ksp);
  if (ksp->A->null.n) RemoveNullSpace(ksp, ksp->work[0], NULL);
  if (checks) poiseKSPMeasure(ksp);
  Deliver(ksp, x);
  TRY(AgreeOnResult(ksp));
  *again = checks && poiseKSPJudge(ksp, ksp->status[0]);
  if (!*again) *again = Retries(ksp);
  return ksp->scale != 1 && !*again ? poiseKSPScaled(ksp, x) : POISE_OK;
}

/* Start again, from x or with a scaled b. This is rare, so it may copy and wait. */
static PoiseErr Restart(PoiseKSP ksp, PoiseVec x)
{
  bool forbids = poiseDeviceForbid(Dev(ksp), false);
  PoiseErr e = ksp->scaling ? poiseKSPRescale(ksp, x) : POISE_OK;
  ksp->again = !ksp->scaling;
  ksp->base = ksp->its;
  ksp->scaling = false;
  if (!e) e = PoiseAgree(ksp->ctx, SetSlots(ksp));
  poiseDeviceForbid(Dev(ksp), forbids);
  return e;
}

/* Nothing is known of a solve that begins. */
static void Reset(PoiseKSP ksp)
{
  ksp->failed = POISE_OK;
  ksp->stop = ksp->finishing = false;
  ksp->reason = POISE_ITERATING;
  ksp->its = ksp->history_size = 0;
  ksp->reported = ksp->tested = -1;
  ksp->rnorm = 0;
  memset(ksp->final, 0, sizeof ksp->final);
  ksp->stalled = INFINITY;
  ksp->claim = (Claim){.best = INFINITY, .best_square = INFINITY};
}

PoiseErr poiseKSPRun(PoiseKSP ksp, PoiseVec b, PoiseVec x)
{
  Reset(ksp);
  TRY(LeaveOut(ksp, &b));
  ksp->b = b;
  if (poiseKSPMonitorsTrueResidual(ksp)) TRY(PoiseVecNorm(b, POISE_NORM_2, &ksp->norm_b));
  if (ksp->options.guess_nonzero)
    poiseKSPCopy(ksp, x, ksp->work[0]);
  else
    poiseKSPZero(ksp, ksp->work[0]);
  for (bool again = true; again;) { /* from the x in work[0], until the solve is over, or ksp->scaling */
    ksp->finishing = false;
    ksp->type->start(ksp, ksp->b);
    if (ksp->eager)
      Eager(ksp);
    else if (Begins(ksp) && Capture(ksp))
      Replay(ksp);
    TRY(AgreeOnResult(ksp));
    again = ksp->scaling;
    if (!again) TRY(Conclude(ksp, x, &again));
    if (again) TRY(Restart(ksp, x));
  }
  return POISE_OK;
}

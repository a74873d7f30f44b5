/* SPDX-License-Identifier: BSD-3-Clause */
/*
  A solve: b and x are checked, the method is started, runs in the loop (loop.c), and its x is checked and
  delivered. A method may be started several times: after a false claim, when it stalls, or with a scaled b.
*/
#include "mat/order/arrange.h"
#include "between.h"
#include "claim.h"
#include "divided.h"
#include "dots.h"
#include "inside.h"
#include "loop.h"
#include "methods.h"
#include "monitor.h"
#include "operator.h"
#include "reordered.h"
#include "scale.h"
#include "setup.h"
#include "solve.h"
#include "spectrum.h"

void poiseKSPFailed(PoiseKSP ksp, PoiseErr e)
{
  if (!e || ksp->solve.failed) return;
  ksp->solve.failed = e;
  poiseErrorSave(&ksp->solve.error);
}

PoiseErr poiseKSPAgree(PoiseKSP ksp)
{
  if (ksp->solve.failed) poiseErrorRestore(&ksp->solve.error);
  return PoiseAgree(ksp->ctx, ksp->solve.failed);
}

/* ---- before the first start ------------------------------------------------------------------ */

/* Would a loop that is not replayed violate -device_forbid_copies? */
static PoiseErr CheckForbidden(PoiseKSP ksp)
{
  const Device *dev = ksp->ctx->device;
  if (dev->forbid_copies && !dev->ops->is_host && ksp->loop.eager)
    FAIL(POISE_ERR_UNSUPPORTED,
         "%s: the solver would copy %zu bytes to the host in every iteration and wait for them: %s",
         poiseOptionsName(ksp->ctx, NULL, "device_forbid_copies"), ksp->scalars.slot_buffer.bytes,
         ksp->loop.eager);
  return POISE_OK;
}

/* Set the scalars of a method that starts, or continues after ksp->solve.base iterations. */
static PoiseErr SetSlots(PoiseKSP ksp)
{
  double *slots = ksp->scalars.first; /* the host has waited since they were last copied from there */
  TRY(poiseBufferWrite(&ksp->scalars.slot_buffer, DEVICE, &ksp->scalars.slots));
  memset(slots, 0, RING_AT * sizeof *slots);
  slots[SLOT_RTOL] = ksp->options.rtol;
  slots[SLOT_ATOL] = ksp->options.atol * ksp->solve.scale;
  slots[SLOT_DTOL] = ksp->options.dtol;
  slots[SLOT_MAXITS] = (double)ksp->options.maxits;
  slots[SLOT_BASE] = slots[SLOT_ITS] = slots[SLOT_ITS_ODD] = (double)ksp->solve.base;
  slots[SLOT_FALL] = ksp->mixed.active ? ksp->mixed.fall : 0;
  slots[SLOT_NORM0] = ksp->solve.again ? ksp->result.slots[SLOT_NORM0] : 0;
  slots[UNCLAIMED] = 1;
  ksp->loop.parity = ksp->loop.cycle_at = ksp->dots.npending = ksp->dots.next_partial = 0;
  ksp->scalars.conv = (Convergence){.history = ksp->scalars.slots + RING_AT,
                                    .unclaimed = ksp->scalars.slots + UNCLAIMED,
                                    .mask = ksp->loop.ring - 1,
                                    .test = !ksp->user.test,
                                    .none = ksp->norm == POISE_KSP_NORM_NONE && !ksp->user.test,
                                    .range = poiseKSPRange(ksp)};
  size_t bytes = RING_AT * sizeof *slots;
  for (int j = 0; j < ksp->systems.n; j++) memcpy(slots + poiseScalarsOf(&ksp->systems, j), slots, bytes);
  bytes += (size_t)(ksp->systems.n * ksp->systems.scalars) * sizeof *slots;
  return poiseDeviceCopy(ksp->ctx->device, ksp->scalars.slots, slots, bytes, COPY_TO_DEVICE);
}

PoiseErr poiseKSPPrepare(PoiseKSP ksp)
{
  TRY(CheckForbidden(ksp));
  ksp->solve.again = ksp->solve.scaling = ksp->solve.vanished = false;
  ksp->solve.scalings = 0;
  ksp->solve.size_b = 0;
  ksp->solve.base = 0;
  ksp->solve.scale = 1;
  poiseKSPMixedReset(ksp);
  TRY(SetSlots(ksp));
  TRY(poiseBufferWrite(&ksp->dots.stage_buffer, DEVICE, &ksp->dots.stage));
  TRY(poiseBufferWrite(&ksp->dots.partial_buffer, DEVICE, &ksp->dots.partials));
  /* zeroed, as methods may fetch all of it */
  TRY(poiseBufferUpdate(&ksp->scalars.array_buffer, DEVICE, &ksp->scalars.array));
  for (int k = 0; k < ksp->nwork; k++) {
    TRY(poiseVecWrite(ksp->work[k], &ksp->v[k]));
    ksp->v[k] = poiseVecPlace(ksp->work[k], ksp->v[k]);
  }
  TRY(poiseKSPPreparePC(ksp));
  return poiseKSPMixedPrepare(ksp);
}

/* Measure the part of *b in the null space of A^T. If only that of A is known, it is used, as for a
   symmetric A, but not for least squares. If that of A^T is known, *b becomes b without that part. */
static PoiseErr LeaveOut(PoiseKSP ksp, PoiseVec *b)
{
  const NullSpace *left = &ksp->A->left, *space = left->n || ksp->type->squares ? left : &ksp->A->null;
  double c[POISE_MAX_BATCH], norm, sum = 0;
  ksp->result.inconsistency = 0;
  if (!space->n) return POISE_OK;
  TRY(PoiseVecMDot(*b, space->n, space->v, c));
  TRY(PoiseVecNorm(*b, POISE_NORM_2, &norm));
  for (int k = 0; k < space->n && norm > 0; k++) sum += c[k] / norm * (c[k] / norm);
  for (int k = 0; k < space->n; k++) c[k] = -c[k];
  ksp->result.inconsistency = sqrt(sum);
  if (!left->n) return POISE_OK;
  PoiseErr e = PoiseVecCopy(*b, ksp->rhs);
  if (!e) e = PoiseVecMAXPY(ksp->rhs, left->n, c, left->v);
  *b = ksp->rhs;
  return PoiseAgree(ksp->ctx, e);
}

/* ---- behind the loop ------------------------------------------------------------------------- */

/* Make x and copy it to the user's vector, unless an earlier one is better. With absurd scales x may
   overflow while residuals vanish: that is no convergence. The pass that copies x detects it, and costs
   only one more sum. The pass that computes b - A x for the claim does it, unless an earlier x may be
   better. */
void poiseKSPEnqueueEnd(PoiseKSP ksp, PoiseVec x, bool checks)
{
  int slot;
  double *p, most = poiseKSPMost(ksp, &slot);
  bool may_stay = poiseFinite(most) || ksp->solve.unless;
  PoiseErr e = may_stay ? poiseVecUpdate(x, &p) : poiseVecWrite(x, &p);
  double *to = e ? ksp->v[0] : p;
  poiseKSPFailed(ksp, e);
  if (ksp->type->finish) ksp->type->finish(ksp);
  if (ksp->A->null.n) poiseKSPRemoveNullSpace(ksp, ksp->work[0], NULL);
  if (!checks || !poiseKSPMeasure(ksp, !poiseFinite(most), to)) {
    PhaseArgs a = {READS(KSP_X, ksp->v[0]), WRITES(KSP_USERS_X, to),
                   .c = {{.value = 0}, {.value = most}, {.value = 1 / ksp->solve.scale}}};
    if (poiseFinite(most)) {
      poiseKSPPublish(ksp);
      a.c[0].slot = poiseKSPSlot(ksp, slot);
    }
    poiseKSPPhase(ksp, PHASE_ksp_deliver, a, SLOT_RESULT, NO_SLOT);
  }
  poiseKSPPublish(ksp);
}

/* Is what was delivered a solution? */
static void LookAtDelivery(PoiseKSP ksp, const double *slots)
{
  int slot;
  double most = poiseKSPMost(ksp, &slot);
  bool delivered = !poiseFinite(most) || fabs(slots[slot]) <= most;
  if (ksp->result.reason > 0 && delivered && slots[SLOT_RESULT] != 0)
    ksp->result.reason = POISE_DIVERGED_NANORINF;
}

/* Without a norm nobody asks what it has gained, and it goes on to the last iteration. */
bool poiseKSPBrokeDown(PoiseKSP ksp, int first, double *norm)
{
  const double *slots = ksp->result.slots;
  *norm = ksp->norm == POISE_KSP_NORM_NONE ? 0 : slots[first];
  return ksp->result.reason == POISE_DIVERGED_BREAKDOWN && (int)slots[SLOT_REASON] == REASON_BREAKDOWN &&
         ksp->result.its > ksp->solve.base;
}

/* Must a stalled method start again from x? It does while the norms at its starts halve. */
static bool Retries(PoiseKSP ksp)
{
  double norm, before = ksp->solve.stalled;
  if (!ksp->type->stalls || !ksp->type->stalls(ksp, &norm)) return false;
  ksp->solve.stalled = norm;
  return norm <= before / 2;
}

/* A method that was started again because it had stalled finds a residual at once that is far from its
   recurrence's: it has broken down where it was. No norm of that start is told. */
static void LookAtRetry(PoiseKSP ksp)
{
  bool retried = poiseFinite(ksp->solve.stalled) && ksp->result.its == ksp->solve.base;
  if (retried && !ksp->solve.claim.refuted && ksp->result.reason == POISE_DIVERGED_DTOL)
    ksp->result.reason = POISE_DIVERGED_BREAKDOWN;
}

/* Apply M to b - A x, if the claim cannot be judged without. */
static PoiseErr CompleteCheck(PoiseKSP ksp)
{
  if (!poiseKSPDoubts(ksp, ksp->loop.status[0])) return POISE_OK;
  poiseKSPPreconditionClaim(ksp);
  poiseKSPFailed(ksp, poiseKSPFetchSlots(ksp));
  return poiseKSPAgree(ksp);
}

/* After the loop: make x, and check what the method claims of it. *again: the claim is false, and the
   method must continue. */
static PoiseErr Conclude(PoiseKSP ksp, PoiseVec x, bool *again)
{
  bool checks = poiseKSPChecks(ksp);
  if (!ksp->solve.ended) {
    ksp->solve.finishing = true;
    poiseKSPEnqueueEnd(ksp, x, checks);
    poiseKSPFailed(ksp, poiseKSPFetchSlots(ksp));
  }
  LookAtDelivery(ksp, ksp->loop.status[0]);
  TRY(poiseKSPAgree(ksp));
  *again = false;
  if (checks) TRY(CompleteCheck(ksp));
  if (checks) TRY(poiseKSPJudge(ksp, ksp->loop.status[0], again));
  LookAtRetry(ksp);
  if (!*again) *again = Retries(ksp) || poiseKSPMixedGoesOn(ksp);
  return ksp->solve.scale != 1 && !*again ? poiseKSPScaled(ksp, x) : POISE_OK;
}

/* ---- starts ---------------------------------------------------------------------------------- */

/* Start again, from x or with a scaled b. This is rare, so it may copy and wait. */
static PoiseErr Restart(PoiseKSP ksp, PoiseVec x)
{
  bool forbids = poiseDeviceForbid(ksp->ctx->device, false);
  PoiseErr e = ksp->solve.scaling ? poiseKSPRescale(ksp, x) : POISE_OK;
  ksp->solve.again = !ksp->solve.scaling;
  ksp->solve.base = ksp->result.its;
  ksp->solve.scaling = false;
  if (!e) e = PoiseAgree(ksp->ctx, SetSlots(ksp));
  poiseDeviceForbid(ksp->ctx->device, forbids);
  return e;
}

void poiseKSPReset(PoiseKSP ksp)
{
  ksp->solve.failed = POISE_OK;
  ksp->solve.stop = ksp->solve.finishing = false;
  ksp->solve.asked = (Asked){0};
  ksp->result.reason = POISE_ITERATING;
  ksp->result.its = ksp->history.size = 0;
  ksp->solve.reported = ksp->solve.tested = ksp->solve.printed = -1;
  ksp->result.rnorm = ksp->solve.first = 0;
  memset(ksp->result.slots, 0, sizeof ksp->result.slots);
  ksp->solve.stalled = INFINITY;
  ksp->solve.claim = (Claim){.best = INFINITY, .best_square = INFINITY};
}

bool poiseKSPAllAreThere(PoiseKSP ksp, bool captured)
{
  if (PoiseSize(ksp->ctx) > 1) poiseKSPFailed(ksp, poiseKSPAgree(ksp));
  return captured && !ksp->solve.failed;
}

void poiseKSPAllHaveBegun(PoiseKSP ksp)
{
  if (poiseLinkIsUsed(ksp->ctx)) poiseKSPFailed(ksp, poiseKSPAgree(ksp));
}

PoiseErr poiseKSPRun(PoiseKSP ksp, PoiseVec b, PoiseVec x)
{
  poiseKSPReset(ksp);
  TRY(LeaveOut(ksp, &b));
  ksp->solve.b = b;
  if (poiseKSPMonitorsTrueResidual(ksp)) TRY(PoiseVecNorm(b, POISE_NORM_2, &ksp->solve.norm_b));
  if (ksp->options.guess_nonzero) poiseKSPCopy(ksp, x, ksp->work[0]);
  for (bool again = true; again;) {
    /* from the x in work[0], until the solve is over, or b must be scaled */
    ksp->solve.finishing = ksp->solve.ended = false;
    ksp->type->start(ksp, ksp->solve.b);
    TRY(poiseKSPMixedStart(ksp));
    poiseKSPAllHaveBegun(ksp);
    if (ksp->loop.eager || ksp->type->once)
      poiseKSPEager(ksp);
    else if (poiseKSPAllAreThere(ksp, poiseKSPCapture(ksp)))
      poiseKSPReplay(ksp, x);
    (void)poiseKSPMixedShow(ksp, false);
    TRY(poiseKSPAgree(ksp));
    again = ksp->solve.scaling;
    if (!again) TRY(Conclude(ksp, x, &again));
    if (again) TRY(Restart(ksp, x));
  }
  return poiseKSPReportLast(ksp);
}

/* ---- from the call to the answer ------------------------------------------------------------- */

static PoiseErr CheckVectors(PoiseKSP ksp, PoiseVec b, PoiseVec x)
{
  if (b == x) FAIL(POISE_ERR_ARG, "b and x are the same vector");
  TRY(poiseVecCheckOrdinary(b, "PoiseKSPSolve"));
  if (!ksp->type->squares) TRY(poiseVecCheckSame(b, "b", x, "x"));
  if (!poiseLayoutSame(poiseKSPGiven(ksp)->rows, b->layout))
    FAIL(POISE_ERR_SIZE, "A has %lld rows, b has %lld entries", (long long)poiseKSPGiven(ksp)->rows->N,
         (long long)b->layout->N);
  if (!poiseLayoutSame(poiseKSPGiven(ksp)->cols, x->layout))
    FAIL(POISE_ERR_SIZE, "A has %lld columns, x has %lld entries", (long long)poiseKSPGiven(ksp)->cols->N,
         (long long)x->layout->N);
  return POISE_OK;
}

/* A solve that has run, and whether it went well: in words, and as an error where that was asked for. */
static PoiseErr Report(PoiseKSP ksp, PoiseVec b)
{
  bool inside = ksp->between || poiseKSPDivides(ksp) || ksp->type->solve;
  if (!inside) TRY(poiseKSPExplain(ksp, b)); /* solvers inside have */
  if (ksp->options.converged_reason) TRY(poisePrinted(ksp->ctx, poiseKSPPrintReason(ksp)));
  TRY(poisePrinted(ksp->ctx, poiseKSPPrintSpectrum(ksp)));
  if (ksp->options.view) TRY(PoiseKSPView(ksp));
  if (ksp->options.error_if_not_converged && ksp->result.reason < 0)
    FAIL(POISE_ERR_NOT_CONVERGED, "%s after %lld iterations, %s residual norm %g%s%s",
         PoiseKSPReasonString(ksp->result.reason), (long long)ksp->result.its, PoiseKSPNormString(ksp->norm),
         ksp->result.rnorm, *ksp->result.detail ? "; " : "", ksp->result.detail);
  if (ksp->options.error_if_inaccurate && poiseKSPInaccuracy(ksp) > 0)
    FAIL(POISE_ERR_NOT_CONVERGED, "%s after %lld iterations, but %s",
         PoiseKSPReasonString(ksp->result.reason), (long long)ksp->result.its, ksp->result.detail);
  return POISE_OK;
}

/* A solve by the link has failed. The next one finds it as new. */
static PoiseErr Unlink(PoiseKSP ksp, PoiseErr e)
{
  ErrorState error;
  bool forbids = poiseDeviceForbid(ksp->ctx->device, false);
  poiseErrorSave(&error);
  PoiseErr reset = poiseLinkReset(ksp->ctx);
  if (!reset) poiseErrorRestore(&error);
  poiseDeviceForbid(ksp->ctx->device, forbids);
  return reset ? reset : e;
}

/* Tell M how well it does. The first digits of a solve are no sign of that, unless it has failed. */
static void TellPC(PoiseKSP ksp)
{
  const double least = 0.1, few = 1, most = 16, norm = ksp->result.rnorm; /* digits */
  double gained = norm == 0 ? most : log10(ksp->solve.first / norm);
  if (ksp->between || poiseKSPDivides(ksp) || ksp->type->solve) return; /* solvers inside tell theirs */
  if (ksp->borrows || !ksp->pc->type->solved) return;
  if (ksp->norm == POISE_KSP_NORM_NONE || ksp->result.its == 0) return;
  if (ksp->result.reason > 0 && !(gained >= few)) return;
  ksp->pc->type->solved(ksp->pc, ksp->result.its, fmin(fmax(gained, least), most)); /* of NaN: least */
}

static PoiseErr Ended(PoiseKSP ksp, PoiseErr e, PoiseVec b, PoiseVec x)
{
  ksp->solve.running = false;
  poiseProgressEnd(&ksp->solve.pace.line);
  poiseLogEnd(ksp->ctx, EVENT_KSPSolve, 0, 0);
  if (e) ksp->result.reason = POISE_DIVERGED_ERROR;
  TRY(e);
  TellPC(ksp);
  TRY(PoiseAgree(ksp->ctx, poiseBufferSyncBorrowed(&x->data)));
  return Report(ksp, b);
}

PoiseErr poiseKSPSolve(PoiseKSP ksp, PoiseVec b, PoiseVec x)
{
  TRY(poiseKSPCheckIdle(ksp, "PoiseKSPSolve"));
  ksp->result.reason = POISE_DIVERGED_ERROR; /* until the solve has run */
  ksp->result.detail[0] = 0;
  TRY(PoiseKSPSetUp(ksp));
  TRY(PoiseAgree(ksp->ctx, CheckVectors(ksp, b, x)));
  poiseLogBegin(ksp->ctx, EVENT_KSPSolve);
  ksp->solve.running = true;
  if (ksp->type->solve) return Ended(ksp, ksp->type->solve(ksp, b, x), b, x);
  if (poiseKSPDivides(ksp)) return Ended(ksp, poiseKSPRunDivided(ksp, b, x), b, x);
  if (ksp->between) return Ended(ksp, poiseKSPRunBetween(ksp, b, x), b, x);
  poiseKSPProgressBegin(ksp); /* else the solver inside shows it */
  PoiseErr e = PoiseAgree(ksp->ctx, poiseKSPPrepare(ksp));
  if (!e && !ksp->loop.eager) e = poiseKSPChooseStep(ksp);
  bool forbade = poiseDeviceForbid(ksp->ctx->device, true);
  /* by the link where no function of the application's, which may allocate, runs between sums */
  bool linked = poiseLinkUse(ksp->ctx, !e && !ksp->loop.eager);
  if (!e) e = ksp->arranged ? poiseKSPRunReordered(ksp, b, x) : poiseKSPRun(ksp, b, x);
  bool used = poiseLinkUse(ksp->ctx, linked);
  if (e && used) e = Unlink(ksp, e);
  poiseDeviceForbid(ksp->ctx->device, forbade);
  return Ended(ksp, e, b, x);
}

PoiseErr PoiseKSPSolve(PoiseKSP ksp, PoiseVec b, PoiseVec x)
{
  CALLED(OBJECT(ksp), OBJECT(b), OBJECT(x));
  TRY(poiseKSPCheckOutside(ksp, "PoiseKSPSolve"));
  return poiseKSPSolve(ksp, b, x);
}

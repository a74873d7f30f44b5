/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The running solve: what methods enqueue, global sums, and the loop, eager or replayed.

  Dots are left as partials, and the next phase takes them. On several ranks they are first summed over the
  ranks, together with a word that says whether this rank has failed. So all ranks learn of a failure in the
  same place, and stop in the same iteration.
*/
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

/* ---- products and preconditioner ------------------------------------------------------------------------------------ */

/* Count the partials of a product: one per thread block and dot. */
static void CountPartials(PoiseKSP ksp, const Fuse *f)
{
  for (int k = 0; k < f->ndot; k++)
    for (int p = 0; p < ksp->npending; p++)
      if (ksp->pending[p].partial == f->partial[k]) ksp->pending[p].count = poiseMatPartials(ksp->A);
}

/* Multiply. Phases write on the device through pointers, which a vector does not notice. A user's product
   may work on the host. So x's copy there is marked stale, and y is fetched from there. */
static void Product(PoiseKSP ksp, ScalarRef a, PoiseVec x, ScalarRef b, PoiseVec y, const Fuse *f)
{
  double *p;
  if (f) CountPartials(ksp, f);
  poiseKSPFailed(ksp, poiseVecUpdate(x, &p));
  poiseKSPFailed(ksp, poiseMatMultFuse(ksp->A, a, x, b, y, Done(ksp), f));
  poiseKSPFailed(ksp, poiseVecUpdate(y, &p));
}

void poiseKSPMult(PoiseKSP ksp, PoiseVec x, PoiseVec y, const Fuse *f)
{
  Product(ksp, one, x, zero, y, f);
}

void poiseKSPSubtractProduct(PoiseKSP ksp, PoiseVec x, PoiseVec y)
{
  Product(ksp, minus_one, x, one, y, NULL);
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
  double *p;
  if (eager && r != ksp->b) poiseKSPFailed(ksp, poiseVecUpdate(r, &p));
  poiseKSPFailed(ksp, poisePCApplyFuse(ksp->pc, r, z, Done(ksp), remove ? NULL : f));
  if (eager) poiseKSPFailed(ksp, poiseVecUpdate(z, &p));
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
  if (poiseKSPHasGuess(ksp)) poiseKSPSubtractProduct(ksp, ksp->work[0], r);
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

/* ---- dots ----------------------------------------------------------------------------------------------------------- */

static double *Pend(PoiseKSP ksp, int slot, int64_t count)
{
  double *partial = ksp->partials + ksp->next_partial * ksp->stride;
  ksp->next_partial = (ksp->next_partial + 1) % PARTIALS;
  ksp->pending[ksp->npending++] = (Sum){partial, count, ksp->slots + slot};
  return partial;
}

void poiseKSPAddDot(PoiseKSP ksp, Fuse *f, const double *u, int slot)
{
  f->u[f->ndot] = u;
  f->partial[f->ndot++] = Pend(ksp, slot, ksp->nblock);
}

static PoiseErr FetchStage(PoiseKSP ksp, int n, double *v)
{
  size_t bytes = (size_t)n * sizeof(double);
  TRY(poiseDeviceCopy(Dev(ksp), ksp->staged, ksp->stage, bytes, COPY_TO_HOST));
  TRY(poiseDeviceSync(Dev(ksp)));
  memcpy(v, ksp->staged, bytes);
  return POISE_OK;
}

/* stage[0..n) = sums over all ranks, together with the word about failures. */
static void SumStage(PoiseKSP ksp, int n)
{
  double v[POISE_COMM_WIDTH] = {0};
  poiseKSPFailed(ksp, FetchStage(ksp, n, v));
  v[n] = ksp->failed != POISE_OK;
  PoiseErr e = poiseCommSum(ksp->ctx->comm, v, n + 1);
  poiseKSPFailed(ksp, e);
  ksp->stop = ksp->stop || e || v[n] > 0;
  /* its last content has been sent, as Fetch has waited */
  memcpy(ksp->summed, v, (size_t)n * sizeof(double));
  poiseKSPFailed(ksp, poiseDeviceCopy(Dev(ksp), ksp->stage, ksp->summed, (size_t)n * sizeof(double), COPY_TO_DEVICE));
}

static void Reduce(PoiseKSP ksp, ReduceArgs r)
{
  poiseKSPFailed(ksp, poiseLaunch(Dev(ksp), KERNEL_reduce, &r, sizeof r));
}

/* Sum pending dots over ranks. Each then has one partial. */
static void SumPending(PoiseKSP ksp)
{
  if (PoiseSize(ksp->ctx) == 1 || !ksp->npending) return;
  for (int k = 0; k < ksp->npending; k++)
    Reduce(ksp, (ReduceArgs){
                    .nsum = 1, .count = ksp->pending[k].count, .partial = ksp->pending[k].partial, .dst = ksp->stage + k});
  SumStage(ksp, ksp->npending);
  for (int k = 0; k < ksp->npending; k++) ksp->pending[k].partial = ksp->stage + k, ksp->pending[k].count = 1;
}

/* Scalars per row that a phase moves: its vectors, and those of its epilogue. A vector that is read and
   written is in in[] and in out[]. */
static double Streams(const PhaseArgs *a)
{
  double streams = (a->end.b ? 1 + (double)a->end.b : 0) - a->seldom; /* z, and a row of D; r is in cache */
  for (int k = 0; k < POISE_MAX_VECS; k++) streams += (a->in[k] != NULL) + (a->out[k] != NULL);
  return streams;
}

/* dot: slots of the phase's own. */
static void LaunchPhase(PoiseKSP ksp, int id, PhaseArgs a, int64_t rows, const int dot[POISE_MAX_DOTS], int rz, int zz)
{
  SumPending(ksp);
  poiseLogBegin(ksp->ctx, EVENT_KSPVectors);
  a.id = id;
  a.n = rows;
  a.parity = ksp->parity;
  a.slots = ksp->finishing ? NULL : ksp->slots;
  a.array = ksp->array;
  a.conv = ksp->conv;
  a.nsum = ksp->npending;
  memcpy(a.sum, ksp->pending, (size_t)ksp->npending * sizeof *a.sum);
  ksp->npending = 0;
  for (int k = 0; k < POISE_MAX_DOTS; k++)
    if (dot[k] != NO_SLOT) a.partial[k] = Pend(ksp, dot[k], poisePhaseBlocks(&a));
  if (rz != NO_SLOT) a.end.rz = Pend(ksp, rz, poisePhaseBlocks(&a));
  if (zz != NO_SLOT) a.end.zz = Pend(ksp, zz, poisePhaseBlocks(&a));
  poiseKSPFailed(ksp, poiseLaunch(Dev(ksp), KERNEL_phase, &a, sizeof a));
  poiseLogEnd(ksp->ctx, EVENT_KSPVectors, 2 * Streams(&a) * (double)rows, 8 * Streams(&a) * (double)rows);
}

static void PlainPhase(PoiseKSP ksp, int id, PhaseArgs a, const int dot[POISE_MAX_DOTS])
{
  LaunchPhase(ksp, id, a, ksp->layout->n, dot, NO_SLOT, NO_SLOT);
}

void poiseKSPPhase(PoiseKSP ksp, int id, PhaseArgs a, int dot0, int dot1)
{
  PlainPhase(ksp, id, a, (int[]){dot0, dot1, NO_SLOT, NO_SLOT});
}

static void PhasePrecondition(PoiseKSP ksp, int id, PhaseArgs a, const int dot[POISE_MAX_DOTS], Application m)
{
  Fuse f = {0};
  if (ksp->blocks.b) {
    a.end = ksp->blocks;
    a.end.r = ksp->v[m.r], a.end.z = ksp->v[m.z];
    LaunchPhase(ksp, id, a, ksp->layout->n, dot, m.rz, m.zz);
    return;
  }
  PlainPhase(ksp, id, a, dot);
  if (m.rz != NO_SLOT) poiseKSPAddDot(ksp, &f, ksp->v[m.r], m.rz);
  if (m.zz != NO_SLOT) poiseKSPAddDot(ksp, &f, NULL, m.zz);
  poiseKSPPrecondition(ksp, ksp->work[m.r], ksp->work[m.z], &f);
}

void poiseKSPPhasePrecondition(PoiseKSP ksp, int id, PhaseArgs a, int dot0, int dot1, Application m)
{
  PhasePrecondition(ksp, id, a, (int[]){dot0, dot1, NO_SLOT, NO_SLOT}, m);
}

void poiseKSPCheckPhase(PoiseKSP ksp, const double *b, int r, int z)
{
  int dot[] = {NO_SLOT, NO_SLOT, SLOT_TRUE_RESIDUAL, SLOT_CHECK_BB};
  PhaseArgs a = {.in = {b}, .out = {ksp->v[r]}};
  if (z != NO_SLOT && !ksp->pointwise) {
    PhasePrecondition(ksp, PHASE_ksp_check, a, dot, (Application){r, z, SLOT_CHECK_RZ, SLOT_CHECK_ZZ});
    return;
  }
  if (z != NO_SLOT) a.in[1] = ksp->point, dot[0] = SLOT_CHECK_RZ, dot[1] = SLOT_CHECK_ZZ;
  PlainPhase(ksp, PHASE_ksp_check, a, dot);
}

void poiseKSPScalars(PoiseKSP ksp, int id, PhaseArgs a)
{
  LaunchPhase(ksp, id, a, 0, (int[]){NO_SLOT, NO_SLOT, NO_SLOT, NO_SLOT}, NO_SLOT, NO_SLOT);
}

static double *DotPartials(PoiseKSP ksp)
{
  return ksp->partials + PARTIALS * ksp->stride;
}

static int Batch(int k, int first)
{
  return k - first < POISE_MAX_BATCH ? k - first : POISE_MAX_BATCH;
}

/* Partial sums of (x_j, y). */
static void Multiply(PoiseKSP ksp, int k, double *const *x, const double *y, const double *skip)
{
  MdotArgs m = {.n = ksp->layout->n, .stride = ksp->nblock, .k = k, .y = y, .skip = skip, .partial = DotPartials(ksp)};
  for (int j = 0; j < k; j++) m.x[j] = x[j];
  poiseLogBegin(ksp->ctx, EVENT_KSPBasis);
  poiseKSPFailed(ksp, poiseLaunch(Dev(ksp), KERNEL_mdot, &m, sizeof m));
  poiseLogEnd(ksp->ctx, EVENT_KSPBasis, 2.0 * k * (double)m.n, 8.0 * (k + 1) * (double)m.n);
}

/* Sum the partials of k dots over all ranks into dst, and add them to sum. */
static void FinishDots(PoiseKSP ksp, int k, double *dst, double *sum, const double *skip)
{
  ReduceArgs r = {.nsum = k, .stride = ksp->nblock, .count = ksp->nblock, .partial = DotPartials(ksp), .dst = dst};
  if (PoiseSize(ksp->ctx) > 1) {
    r.dst = ksp->stage;
    Reduce(ksp, r);
    SumStage(ksp, k);
    r = (ReduceArgs){.nsum = k, .stride = 1, .count = 1, .partial = ksp->stage, .dst = dst};
  }
  r.skip = skip;
  Reduce(ksp, r);
  if (!sum) return;
  r.dst = sum;
  r.add = true;
  Reduce(ksp, r);
}

void poiseKSPMdot(PoiseKSP ksp, int k, double *const *x, const double *y, double *dst, double *sum, const double *skip)
{
  for (int first = 0; first < k; first += POISE_MAX_BATCH) {
    Multiply(ksp, Batch(k, first), x + first, y, skip);
    FinishDots(ksp, Batch(k, first), dst + first, sum ? sum + first : NULL, skip);
  }
}

static void Add(PoiseKSP ksp, int k, double *const *x, double sign, const double *c, double *y, const double *skip,
                const Fuse *f, double *again)
{
  int first = 0;
  do {
    int batch = Batch(k, first);
    MaxpyArgs m = {.n = ksp->layout->n, .k = batch, .sign = sign, .a = c ? c + first : NULL, .skip = skip, .y = y};
    for (int j = 0; j < batch; j++) m.x[j] = x[first + j], m.value[j] = 1;
    m.stride = ksp->nblock;
    m.again = again;
    first += batch;
    if (f && first == k) m.fuse = *f;
    poiseLogBegin(ksp->ctx, EVENT_KSPBasis);
    poiseKSPFailed(ksp, poiseLaunch(Dev(ksp), KERNEL_maxpy, &m, sizeof m));
    poiseLogEnd(ksp->ctx, EVENT_KSPBasis, (again ? 4.0 : 2.0) * batch * (double)m.n, 8.0 * (batch + 2) * (double)m.n);
  } while (first < k);
}

void poiseKSPMaxpy(PoiseKSP ksp, int k, double *const *x, double sign, const double *c, double *y, const double *skip,
                   const Fuse *f)
{
  Add(ksp, k, x, sign, c, y, skip, f, NULL);
}

void poiseKSPMaxpyDots(PoiseKSP ksp, int k, double *const *x, double sign, const double *c, double *y, const double *skip,
                       const Fuse *f)
{
  Add(ksp, k, x, sign, c, y, skip, f, k <= POISE_MAX_BATCH ? DotPartials(ksp) : NULL);
}

void poiseKSPTakeDots(PoiseKSP ksp, int k, double *const *x, const double *y, double *dst, double *sum, const double *skip)
{
  if (k <= POISE_MAX_BATCH)
    FinishDots(ksp, k, dst, sum, skip);
  else
    poiseKSPMdot(ksp, k, x, y, dst, sum, skip);
}

/* ---- the loop ------------------------------------------------------------------------------------------------------- */

static int Cycle(PoiseKSP ksp)
{
  return ksp->type->cycle ? ksp->type->cycle(ksp) : 1;
}

static void Step(PoiseKSP ksp)
{
  ksp->type->iterate(ksp, ksp->cycle_at);
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

void poiseKSPPublish(PoiseKSP ksp)
{
  SumPending(ksp);
  for (const Sum *s = ksp->pending; s < ksp->pending + ksp->npending; s++)
    Reduce(ksp, (ReduceArgs){.nsum = 1, .count = s->count, .partial = s->partial, .dst = s->dst});
  ksp->npending = 0;
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
  Product(ksp, minus_one, x, one, ksp->residual, &f);
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
    FAIL(POISE_ERR_SIZE, "the solution has %lld entries, x has %lld", (long long)rows->N, (long long)x->layout->N);
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
  PoiseMat from = ksp->A->moves.from; /* x has the application's rows */
  PoiseVec own = x;
  PoiseErr e = CheckIterate(ksp, x);
  if (!e && from) e = poiseVecCreateLocal(ksp->layout, &own);
  e = PoiseAgree(ksp->ctx, e);
  if (!e) BuildIterate(ksp, own);
  if (!e && from) poiseKSPFailed(ksp, poiseVecMove(from, own, x));
  if (own != x) PoiseVecDestroy(&own);
  TRY(e);
  if (!ksp->failed) poiseKSPFailed(ksp, poiseBufferSettle(&x->data));
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
  if (!poiseKSPIsReason(reason)) FAIL(POISE_ERR_USER, "the convergence test gave reason %d, which is none", (int)reason);
  return POISE_OK;
}

/* The result of the user's convergence test, asked once per iteration. */
static PoiseKSPReason HostTest(PoiseKSP ksp)
{
  PoiseKSPReason reason = POISE_ITERATING;
  if (!ksp->test || ksp->reason == POISE_DIVERGED_NANORINF || ksp->its == ksp->tested) return POISE_ITERATING;
  ksp->tested = ksp->its;
  PoiseErrorClear();
  poiseKSPFailed(ksp,
                 poiseErrorOfUser(ksp->test(ksp, ksp->its, ksp->rnorm, &reason, ksp->test_arg), "the convergence test"));
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
  for (bool over = false; !over;) {
    PoiseErr e = FetchIteration(ksp);
    poiseKSPFailed(ksp, e);
    if (Failed(ksp) || poiseKSPOutOfRange(ksp, ksp->status[0])) return;
    over = Look(ksp, ksp->status[0]);
    over = HostStops(ksp) || over;
    if (!over) Step(ksp);
  }
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

static void Capture(PoiseKSP ksp)
{
  Device *dev = Dev(ksp);
  Captured now;
  memset(&now, 0, sizeof now); /* compared as bytes */
  now.type = ksp->type, now.A = ksp->A, now.pc = ksp->pc;
  now.pattern = ksp->A->pattern, now.generation = ksp->pc->generation;
  now.conv = ksp->conv, now.norm = (int)ksp->norm, now.side = (int)ksp->side, now.cycle = CapturedIterations(ksp);
  if (ksp->graph && !memcmp(&now, &ksp->captured, sizeof now)) return;
  poiseKSPForget(ksp);
  PoiseErr e = poiseAllocArray(ksp->ctx, now.cycle + 1, sizeof *ksp->counts, "counts of a captured loop", &ksp->counts);
  if (!e) e = dev->ops->capture_begin(dev, true);
  poiseKSPFailed(ksp, e);
  if (e) return;
  for (int k = 0; k < now.cycle; k++) {
    poiseLogCounts(ksp->ctx, &ksp->counts[k]);
    Step(ksp);
  }
  poiseLogCounts(ksp->ctx, &ksp->counts[now.cycle]);
  Count(ksp, -1, now.cycle); /* nothing has run */
  poiseLogAddLaunches(ksp->ctx, -1, &ksp->counts[0], &ksp->counts[now.cycle]);
  poiseKSPFailed(ksp, dev->ops->capture_end(dev, &ksp->graph));
  if (ksp->failed) poiseKSPForget(ksp);
  ksp->captured = now;
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
  poiseKSPFailed(ksp, FetchSlots(ksp));
  if (ksp->failed || poiseKSPOutOfRange(ksp, ksp->status[0]) || Look(ksp, ksp->status[0])) return;
  Capture(ksp);
  if (ksp->failed) return;
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

/* ---- one solve ------------------------------------------------------------------------------------------------------ */

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
  ksp->blocks = (BlockEnd){.b = ksp->point != NULL, .d = ksp->point};
  if (ksp->pc->type->blocks && !RemovesNullSpace(ksp)) TRY(ksp->pc->type->blocks(ksp->pc, &ksp->blocks.d, &ksp->blocks.b));
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
  PhaseArgs a = {.in = {ksp->v[0]}, .c = {{.value = 0}, {.value = most}, {.value = 1 / ksp->scale}}};
  poiseKSPFailed(ksp, e);
  a.out[0] = e ? ksp->v[0] : p;
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

/* Run the loop from the x in work[0]. Afterwards the solve is over, or ksp->scaling is set. */
static PoiseErr Loop(PoiseKSP ksp)
{
  ksp->finishing = false;
  ksp->type->start(ksp, ksp->b);
  if (ksp->eager)
    Eager(ksp);
  else
    Replay(ksp);
  return AgreeOnResult(ksp);
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

PoiseErr poiseKSPRun(PoiseKSP ksp, PoiseVec b, PoiseVec x)
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
  TRY(LeaveOut(ksp, &b));
  ksp->b = b;
  if (poiseKSPMonitorsTrueResidual(ksp)) TRY(PoiseVecNorm(b, POISE_NORM_2, &ksp->norm_b));
  if (ksp->options.guess_nonzero)
    poiseKSPCopy(ksp, x, ksp->work[0]);
  else
    poiseKSPZero(ksp, ksp->work[0]);
  for (bool again = true; again;) {
    TRY(Loop(ksp));
    again = ksp->scaling;
    if (!again) TRY(Conclude(ksp, x, &again));
    if (again) TRY(Restart(ksp, x));
  }
  return POISE_OK;
}

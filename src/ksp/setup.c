/* SPDX-License-Identifier: BSD-3-Clause */
/* The set-up of a solver: what it chooses and allocates for its matrices, and how many bytes that are or will
   be. */
#include "mat/order/arrange.h"
#include "mat/product/ranks_plan.h"
#include "mat/object/bytes.h"
#include "adjoint.h"
#include "between.h"
#include "block.h"
#include "divided.h"
#include "inside.h"
#include "loop.h"
#include "methods.h"
#include "monitor.h"
#include "normal.h"
#include "reordered.h"
#include "setup.h"
#include "transposed.h"

/* ---- what it allocates ----------------------------------------------------------------------- */

void poiseKSPRelease(PoiseKSP ksp)
{
  poiseKSPDropTransposes(ksp);
  poiseKSPDropLevels(ksp);
  PoiseContext ctx = ksp->ctx;
  Device *dev = ctx->device;
  poiseKSPForget(ksp);
  poiseHaloSendsDestroy(&ksp->sends);
  for (int k = 0; ksp->work && k < ksp->nwork; k++) PoiseVecDestroy(&ksp->work[k]);
  poiseFree(ctx, &ksp->work);
  poiseFree(ctx, &ksp->v);
  poiseBufferDestroy(&ksp->singles);
  poiseFree(ctx, &ksp->v32);
  poiseKSPMixedRelease(ksp);
  PoiseVecDestroy(&ksp->residual);
  PoiseVecDestroy(&ksp->rhs);
  poiseBufferDestroy(&ksp->scalars.slot_buffer);
  poiseBufferDestroy(&ksp->scalars.array_buffer);
  poiseBufferDestroy(&ksp->dots.partial_buffer);
  poiseBufferDestroy(&ksp->dots.stage_buffer);
  if (ksp->loop.status[0]) dev->ops->free_pinned(dev, ksp->loop.status[0]);
  ksp->loop.status[0] = NULL;
  poiseLayoutDestroy(&ksp->layout);
  poiseLayoutDestroy(&ksp->rows);
}

typedef struct Sizes { /* sizes of what SetUp allocates, in doubles */
  int64_t nblock, stride, ring, status, array, partials, pinned;
  int64_t single;     /* of a vector in fp32: whole cache lines */
  int singles;        /* such vectors */
  int vectors, extra; /* extra: vectors for monitoring, and for b without a part of it */
  int64_t sections;   /* scalars of each system, and of all together */
} Sizes;

static void SizesOfSystems(PoiseKSP ksp, int64_t n, Sizes *s)
{
  int64_t blocks = ksp->systems.rows ? (n + ksp->systems.rows - 1) / ksp->systems.rows : 0;
  if (blocks > s->stride) s->partials += PARTIALS * (blocks - s->stride), s->stride = blocks;
  ksp->systems.scalars = s->status;
  ksp->systems.arrays = s->array;
  ksp->systems.partials = s->partials;
  s->sections = 1 + ksp->systems.n;
  s->status *= s->sections;
  s->array *= ksp->systems.n;
  s->partials *= ksp->systems.n;
}

/* product: the number of partials that a product leaves. */
static Sizes SizesFor(PoiseKSP ksp, PoiseMat A, int64_t product)
{
  const char *eager = ksp->loop.eager;
  ksp->loop.eager = NULL; /* a cycle may then be shorter, which is known later */
  int64_t cycle = poiseKSPCycle(ksp);
  int64_t most = 2 * cycle + (ksp->options.replay < 0 ? REPLAY_MOST : ksp->options.replay);
  int64_t least = POISE_BLOCK - MAX_BLOCK_SIZE + 1; /* rows of a phase's blocks that hold whole blocks of M */
  ksp->loop.eager = eager;
  int64_t n = A->cols->n, longest = n > A->rows->n ? n : A->rows->n;
  Sizes s = {.nblock = POISE_NBLOCKS(n), .ring = ksp->ctx->device->loops ? 512 : 256};
  s.stride = (longest + least - 1) / least;
  if (product > s.stride) s.stride = product;
  while (s.ring < 4 * most) s.ring *= 2;
  s.status = RING_AT + s.ring;
  s.array = ksp->type->array ? ksp->type->array(ksp) : 0;
  s.partials = PARTIALS * s.stride + POISE_MAX_BATCH * s.nblock;
  s.sections = 1;
  if (ksp->systems.n) SizesOfSystems(ksp, n, &s);
  s.pinned = 2 * (s.status + POISE_COMM_WIDTH) + (ksp->systems.n ? s.status : RING_AT);
  s.vectors = ksp->type->vectors(ksp);
  s.single = (n + 31) / 32 * 16;
  s.singles = ksp->type->singles ? ksp->type->singles(ksp) : 0;
  s.extra = (ksp->options.true_residual != 0) + (A->left.n > 0);
  return s;
}

/* Of products, in either precision. */
static int64_t Partials(PoiseKSP ksp)
{
  int64_t n = poiseMatPartialsColumns(ksp->A, ksp->systems.n),
          single = ksp->mixed.usable ? poiseProductPartials(&ksp->mixed.A) : 0;
  return n > single ? n : single;
}

/* The work vectors in fp32 are parts of one buffer. */
static PoiseErr AllocateSingles(PoiseKSP ksp, Sizes s)
{
  float *first;
  size_t bytes = (size_t)(s.singles * s.single) * sizeof(double);
  if (!s.singles) return POISE_OK;
  TRY(poiseBufferCreate(ksp->ctx->device, bytes, "work vectors in fp32", &ksp->singles));
  TRY(poiseBufferWrite(&ksp->singles, DEVICE, &first));
  TRY(poiseAllocArray(ksp->ctx, s.singles, sizeof(float *), "work vectors in fp32", &ksp->v32));
  for (int k = 0; k < s.singles; k++) ksp->v32[k] = first ? first + k * 2 * s.single : NULL;
  return POISE_OK;
}

static PoiseErr AllocateBuffers(PoiseKSP ksp)
{
  PoiseContext ctx = ksp->ctx;
  Device *dev = ctx->device;
  Sizes s = SizesFor(ksp, ksp->A, Partials(ksp));
  void *pinned = NULL;
  if (!ksp->layout) ksp->layout = poiseLayoutShare(ksp->A->cols);
  ksp->rows = poiseLayoutShare(ksp->A->rows);
  ksp->dots.nblock = s.nblock;
  ksp->dots.stride = s.stride;
  ksp->scalars.array_size = s.array;
  ksp->loop.ring = s.ring;
  TRY(poiseBufferCreate(dev, (size_t)s.status * sizeof(double), "solver scalars", &ksp->scalars.slot_buffer));
  TRY(poiseBufferCreate(dev, POISE_COMM_WIDTH * (size_t)s.sections * sizeof(double), "sums over ranks",
                        &ksp->dots.stage_buffer));
  TRY(poiseBufferCreate(dev, (size_t)(s.array + POISE_MAX_BATCH) * sizeof(double), "solver array",
                        &ksp->scalars.array_buffer));
  TRY(poiseBufferCreate(dev, (size_t)s.partials * sizeof(double), "solver partial sums",
                        &ksp->dots.partial_buffer));
  TRY(dev->ops->alloc_pinned(dev, (size_t)s.pinned * sizeof(double), "residual norms", &pinned));
  ksp->loop.status[0] = pinned;
  ksp->loop.status[1] = ksp->loop.status[0] + s.status;
  ksp->dots.staged = ksp->loop.status[1] + s.status;
  ksp->dots.summed = ksp->dots.staged + POISE_COMM_WIDTH;
  ksp->scalars.first = ksp->dots.summed + POISE_COMM_WIDTH;
  ksp->nwork = s.vectors;
  TRY(AllocateSingles(ksp, s));
  TRY(poiseAllocArray(ctx, ksp->nwork, sizeof(PoiseVec), "work vectors", &ksp->work));
  return poiseAllocArray(ctx, ksp->nwork, sizeof(double *), "work vectors", &ksp->v);
}

/* Clear partials. Those that a skipped kernel never wrote are also summed, without effect, and must be
   finite. */
static PoiseErr ClearPartials(PoiseKSP ksp)
{
  PhaseArgs a = {.id = PHASE_vec_set, .n = (int64_t)(ksp->dots.partial_buffer.bytes / sizeof(double))};
  TRY(poiseBufferWrite(&ksp->dots.partial_buffer, DEVICE, &a.out[VEC_W]));
  return LAUNCH(ksp->ctx->device, phase, &a);
}

/* Vectors that a product reads in an iteration behind the end must also be finite. On the host they are
   zeros. */
static PoiseErr AllocateVectors(PoiseKSP ksp)
{
  for (int k = 0; k < ksp->nwork; k++) {
    bool of_rows = k >= ksp->nwork - ksp->type->rows;
    TRY(poiseVecCreateLocal(of_rows ? ksp->rows : ksp->layout, &ksp->work[k]));
    if (!ksp->ctx->device->ops->is_host) TRY(PoiseVecSet(ksp->work[k], 0));
    TRY(poiseVecWrite(ksp->work[k], &ksp->v[k]));
    ksp->v[k] = poiseVecPlace(ksp->work[k], ksp->v[k]);
  }
  if (ksp->options.true_residual) TRY(poiseVecCreateLocal(ksp->rows, &ksp->residual));
  return ksp->A->left.n ? poiseVecCreateLocal(ksp->rows, &ksp->rhs) : POISE_OK;
}

PoiseErr poiseKSPAllocate(PoiseKSP ksp)
{
  PoiseErr e = AllocateBuffers(ksp);
  if (!e) e = ClearPartials(ksp);
  if (!e) e = AllocateVectors(ksp);
  e = PoiseAgree(ksp->ctx, e);
  if (e) poiseKSPRelease(ksp);
  return e;
}

/* ---- what it chooses ------------------------------------------------------------------------- */

/* Choose side and norm: those asked for; else one that goes with the other; else the usual norm of that side,
   or the only one. */
static PoiseErr ChooseNorm(PoiseKSP ksp, PoisePCSide *side, PoiseNormType *norm)
{
  const unsigned offer[] = {ksp->type->left, ksp->type->right};
  static const PoiseNormType usual[] = {POISE_KSP_NORM_PRECONDITIONED, POISE_KSP_NORM_UNPRECONDITIONED};
  int wanted = ksp->options.norm;
  *side = ksp->options.side == 2 ? POISE_PC_RIGHT : POISE_PC_LEFT;
  if (ksp->options.side == 0 && !(wanted ? offer[0] >> wanted & 1 : offer[0])) *side = POISE_PC_RIGHT;
  if (!offer[*side])
    FAIL(POISE_ERR_UNSUPPORTED, "method %s with preconditioning from the %s is not offered", ksp->type->name,
         *side == POISE_PC_LEFT ? "left" : "right");
  *norm = POISE_KSP_NORM_NONE;
  if (offer[*side] >> POISE_KSP_NORM_UNPRECONDITIONED & 1) *norm = POISE_KSP_NORM_UNPRECONDITIONED;
  if (offer[*side] >> usual[*side] & 1) *norm = usual[*side];
  if (wanted) *norm = (PoiseNormType)wanted;
  if (!(offer[*side] >> *norm & 1))
    FAIL(POISE_ERR_UNSUPPORTED, "method %s with preconditioning from the %s does not offer the %s norm",
         ksp->type->name, *side == POISE_PC_LEFT ? "left" : "right", PoiseKSPNormString(*norm));
  return POISE_OK;
}

static bool Sends(PoiseKSP ksp)
{
  return ksp->type->sends && poiseLinkFuses(ksp->ctx);
}

const char *poiseKSPWhyEager(PoiseKSP ksp)
{
  const char *pc = poisePCEager(ksp->pc);
  if (!ksp->ctx->device->ops->replay) return "it computes itself";
  if (PoiseSize(ksp->ctx) > 1 && !ksp->ctx->link) return "ranks exchange through the host";
  if (ksp->A->type->eager) return "the matrix calls back to the host";
  if (pc) return pc;
  if (ksp->user.test) return "the convergence test is a user's";
  if (poiseKSPMonitorsTrueResidual(ksp)) return "the true residual is monitored";
  if (ksp->ctx->log_device_time) return "-log_device_time";
  if (ksp->options.replay == 0) return "-ksp_replay 0";
  if (poiseKSPCycle(ksp) > MAX_CYCLE) return "the method's cycle is too long to capture";
  return NULL;
}

/* A of any shape, and a P of its columns or none. */
static PoiseErr CheckShapes(PoiseKSP ksp)
{
  PoiseMat A = poiseKSPGiven(ksp), P = ksp->given_P ? ksp->given_P : A;
  TRY(poiseMatCheckUsable(A));
  if (P == A || (poiseLayoutSame(A->cols, P->rows) && poiseLayoutSame(A->cols, P->cols))) return POISE_OK;
  FAIL(POISE_ERR_SIZE,
       "method %s wants a matrix of the preconditioner that approximates A^T A, %lld x %lld; it is %lld x "
       "%lld",
       ksp->type->name, (long long)A->cols->N, (long long)A->cols->N, (long long)P->rows->N,
       (long long)P->cols->N);
}

PoiseErr poiseKSPCheckMatrices(PoiseKSP ksp)
{
  PoiseMat A = poiseKSPGiven(ksp), P = poiseKSPReorders(ksp) ? ksp->given_P : ksp->pc->P;
  if (!A) FAIL(POISE_ERR_STATE, "the solver has no matrix: call PoiseKSPSetOperators");
  if (ksp->type->squares) return CheckShapes(ksp);
  TRY(poiseMatCheckUsable(A));
  if (!poiseLayoutSame(A->rows, A->cols) && A->rows->N != A->cols->N)
    FAIL(POISE_ERR_SIZE,
         "the matrix is %lld x %lld, not square, as method %s needs it; lsqr and cgls take any shape",
         (long long)A->rows->N, (long long)A->cols->N, ksp->type->name);
  TRY(poiseMatCheckSquare(A));
  TRY(poiseKSPCheckInside(ksp, P));
  if (!poiseLayoutSame(A->rows, P->rows))
    FAIL(POISE_ERR_SIZE, "A has %lld rows, the matrix of the preconditioner %lld", (long long)A->rows->N,
         (long long)P->rows->N);
  return POISE_OK;
}

PoiseErr poiseKSPChoose(PoiseKSP ksp, PoisePCSide *side, PoiseNormType *norm)
{
  TRY(PoiseAgree(ksp->ctx, poiseKSPCheckMatrices(ksp)));
  return ChooseNorm(ksp, side, norm);
}

/* Check that M is the same in all applications, which all methods but flexible ones assume. */
static PoiseErr CheckSteady(PoiseKSP ksp)
{
  const char *context = poiseOptionsPrefix(ksp->ctx), *prefix = ksp->prefix ? ksp->prefix : "", *inside;
  Varying why;
  if (!poisePCVaries(ksp->pc, &why)) return POISE_OK;
  inside = why.prefix ? why.prefix : "";
  FAIL(POISE_ERR_UNSUPPORTED,
       "preconditioner %s varies between applications, as method %s in it stops when it has converged. "
       "Method %s "
       "needs a fixed one. Give -%s%sksp_type fgmres; or inside -%s%sksp_type preonly, or richardson or "
       "chebyshev with -%s%sksp_norm_type none",
       why.pc, why.method, ksp->type->name, context, prefix, context, inside, context, inside);
}

/* Where the product takes long, the rows without ghosts hide the exchange, and phases that exchange by
   themselves are slower than others: RANKS_FUSED. */
static bool Hides(PoiseKSP ksp)
{
  return poiseProductHidesExchange(&ksp->ctx->device->model, poiseMatTraffic(ksp->A));
}

/* A rank whose values alone take as long has no table for such phases. Others keep one, used or not,
   so that bytes can be predicted on one rank. */
static bool KeepsTable(PoiseKSP ksp, double scalars)
{
  return Sends(ksp) && !poiseProductHidesExchange(&ksp->ctx->device->model, 8 * scalars);
}

static PoiseErr PrepareSends(PoiseKSP ksp, bool exchanges)
{
  Halo *halo = poiseMatHalo(ksp->A);
  bool table = KeepsTable(ksp, (double)poiseCsrScalars(&ksp->A->csr));
  if (ksp->exchanges != exchanges) poiseKSPForget(ksp);
  ksp->exchanges = exchanges;
  if (!Sends(ksp) || !halo || !halo->link || poiseHaloSendsFit(halo, &ksp->sends)) return POISE_OK;
  poiseKSPForget(ksp);
  poiseHaloSendsDestroy(&ksp->sends);
  PoiseErr e = PoiseAgree(ksp->ctx, poiseHaloSendsCreate(halo, table ? ksp->layout->n : 0, &ksp->sends));
  if (e) poiseHaloSendsDestroy(&ksp->sends); /* on all ranks, if one has none */
  return e;
}

static PoiseErr SetUp(PoiseKSP ksp, PoisePCSide side, PoiseNormType norm)
{
  bool between = false;
  if (!poiseKSPWhyNotBetween(ksp)) TRY(poiseKSPSetUpBetween(ksp, norm, &between));
  if (between) return POISE_OK;
  poiseKSPDropBetween(ksp);
  if (poiseKSPReorders(ksp)) TRY(poiseKSPReorder(ksp));
  TRY(poiseKSPFollowNormal(ksp));
  TRY(PoiseAgree(ksp->ctx, poiseMatReady(ksp->A))); /* this decides how many partials a product leaves */
  /* if either differs on any rank, as allocating is collective, and phases exchange on all or none */
  TRY(poiseKSPMixedChoose(ksp, norm));
  int64_t any[] = {ksp->layout && Partials(ksp) > ksp->dots.stride, Sends(ksp) && Hides(ksp)};
  TRY(poiseCommMaxInt(ksp->ctx->comm, any, 2));
  bool keeps = ksp->layout && ksp->type->array && ksp->type->array(ksp) > ksp->scalars.array_size;
  bool more = keeps || ksp->options.replay > ksp->loop.ring / 4 ||
              (ksp->options.true_residual && !ksp->residual) || (ksp->A->left.n && !ksp->rhs);
  if (any[0] || side != ksp->side || more) {
    poiseKSPRelease(ksp);
    TRY(poiseKSPMixedChoose(ksp, norm));
  }
  ksp->side = side;
  ksp->norm = norm;
  if (!ksp->layout) TRY(poiseKSPAllocate(ksp));
  if (!ksp->borrows) {
    poisePCExact(ksp->pc, ksp->exact || ksp->options.rtol < ksp->type->linear[side == POISE_PC_RIGHT]);
    poisePCRelaxes(ksp->pc, ksp->type->relaxes && ksp->type->relaxes(ksp));
    TRY(poisePCPrepare(ksp->pc));
  }
  if (!ksp->type->flexible && ksp->pc->type->varies) TRY(PoiseAgree(ksp->ctx, CheckSteady(ksp)));
  if (ksp->type->transposes) TRY(poiseKSPPrepareTransposes(ksp));
  ksp->loop.eager = poiseKSPWhyEager(ksp);
  TRY(poiseKSPMixedSetUp(ksp));
  TRY(PrepareSends(ksp, Sends(ksp) && !any[1] && !ksp->mixed.usable));
  return ksp->type->setup ? ksp->type->setup(ksp) : POISE_OK;
}

/* What a group cannot solve, its ranks do. */
static PoiseErr SetUpGathered(PoiseKSP ksp, PoisePCSide side, PoiseNormType norm)
{
  ErrorState error;
  PoiseErr e = poiseKSPDivide(ksp, side, norm);
  if (!e || !ksp->ctx->group) return e;
  int64_t any[] = {e == POISE_ERR_UNSUPPORTED, e != POISE_ERR_UNSUPPORTED && e != POISE_ERR_REMOTE};
  poiseErrorSave(&error);
  TRY(poiseCommMaxInt(ksp->ctx->comm, any, 2));
  poiseErrorRestore(&error);
  if (!any[0] || any[1]) return e;
  snprintf(ksp->alone, sizeof ksp->alone, "%s", PoiseErrorMessage());
  PoiseErrorClear();
  poiseKSPUndivide(ksp);
  return SetUp(ksp, side, norm);
}

PoiseErr PoiseKSPSetUp(PoiseKSP ksp)
{
  CALLED(OBJECT(ksp));
  PoisePCSide side = POISE_PC_LEFT;
  PoiseNormType norm = POISE_KSP_NORM_DEFAULT;
  TRY(poiseKSPCheckIdle(ksp, "PoiseKSPSetUp"));
  TRY(poiseContextCheck(ksp->ctx));
  TRY(poiseKSPChoose(ksp, &side, &norm));
  poiseLogBegin(ksp->ctx, EVENT_KSPSetUp);
  ksp->alone[0] = 0; /* settings may have changed */
  PoiseErr e = ksp->type->solve       ? ksp->type->setup(ksp)
               : poiseKSPDivides(ksp) ? SetUpGathered(ksp, side, norm)
                                      : SetUp(ksp, side, norm);
  poiseLogEnd(ksp->ctx, EVENT_KSPSetUp, 0, 0);
  return e;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

PoiseErr poiseKSPPredict(PoiseKSP ksp, PoiseMat A, const MatPlan *plan, PoisePrediction *p)
{
  const Device *dev = ksp->ctx->device;
  PoisePCSide side, before = ksp->side;
  PoiseNormType norm;
  int64_t m = A->rows->n, n = A->cols->n, fixed, partials[2];
  double scalars = (double)plan->nz * (plan->b ? plan->b * plan->b : 1);
  PoisePrediction mine = {.beyond = NULL};
  TRY(ChooseNorm(ksp, &side, &norm));
  ksp->side = side; /* what a method needs depends on it */
  Sizes s = SizesFor(ksp, A, plan->partials[0]);
  partials[0] = s.partials, partials[1] = SizesFor(ksp, A, plan->partials[1]).partials;
  ksp->side = before;
  fixed = s.status + s.array + POISE_MAX_BATCH + POISE_COMM_WIDTH + (s.vectors - ksp->type->rows) * n +
          (s.extra + ksp->type->rows) * m + s.singles * s.single;
  poisePredictHost(8 * s.pinned, &mine);
  if (KeepsTable(ksp, scalars) && !A->asked.type->mult && plan->nghost + plan->nsend)
    poisePredict(dev, poiseHaloSendsBytes(plan->nsend, n), ON_BOTH, &mine);
  poisePredictBetween(dev, 8 * (fixed + partials[0]), 8 * (fixed + partials[1]), ON_DEVICE, &mine);
  if (ksp->type->transposes & PC_TRANSPOSED && ksp->pc->type->transpose == PC_OF_TRANSPOSE)
    mine.beyond = "the transpose of the preconditioner";
  if (poiseKSPMakesNormal(ksp)) mine.beyond = "A^T A";
  if (!poiseKSPWhyNotBetween(ksp)) mine.beyond = "vectors in the order of colours";
  if (ksp->options.precision) mine.beyond = "values and vectors in fp32";
  poisePredictOpen(plan, &mine);
  poisePredictSum(&mine, p);
  return POISE_OK;
}

PoiseErr PoiseKSPPredictBytes(PoiseKSP ksp, const PoiseMatCounts *counts, PoisePrediction *p)
{
  CALLED(OBJECT(ksp), GIVEN(p));
  PoiseMat A = poiseKSPGiven(ksp);
  PoisePrediction matrix = {.beyond = NULL};
  MatPlan plan;
  *p = matrix;
  if (!A) FAIL(POISE_ERR_STATE, "the solver has no matrix: call PoiseKSPSetOperators");
  if (ksp->type->solve)
    FAIL(POISE_ERR_UNSUPPORTED, "what method %s will need is not known before it has looked at A",
         ksp->type->name);
  TRY(poiseKSPCheckWhole(ksp, "PoiseKSPPredictBytes"));
  TRY(poiseMatPredict(A, counts, &plan, &matrix));
  if (PoiseSize(ksp->ctx) > 1 && poiseMatMovesRows(A)) p->beyond = "rows that -mat_partition moves";
  return poiseKSPPredict(ksp, A, &plan, p);
}

static void AddVector(PoiseVec x, PoiseBytes *sum)
{
  if (x) poiseBufferAdd(&x->data, sum);
}

void poiseKSPAddVectors(PoiseKSP ksp, PoiseBytes *bytes)
{
  if (!ksp->layout) return;
  poiseBufferAdd(&ksp->scalars.slot_buffer, bytes);
  poiseBufferAdd(&ksp->scalars.array_buffer, bytes);
  poiseBufferAdd(&ksp->dots.partial_buffer, bytes);
  poiseBufferAdd(&ksp->dots.stage_buffer, bytes);
  poiseBufferAdd(&ksp->sends.table, bytes);
  bytes->host += (2 * (ksp->loop.ring + RING_AT + POISE_COMM_WIDTH) + RING_AT) * (int64_t)sizeof(double);
  poiseBufferAdd(&ksp->singles, bytes);
  poiseKSPMixedBytes(ksp, bytes);
  for (int k = 0; k < ksp->nwork; k++) AddVector(ksp->work[k], bytes);
  AddVector(ksp->residual, bytes);
  AddVector(ksp->rhs, bytes);
}

PoiseErr PoiseKSPBytes(PoiseKSP ksp, PoiseBytes *bytes)
{
  CALLED(OBJECT(ksp), GIVEN(bytes));
  *bytes = (PoiseBytes){0};
  poiseKSPAddParts(ksp, bytes);
  if (ksp->type->bytes) ksp->type->bytes(ksp, bytes);
  poiseKSPAddTransposesBytes(ksp, bytes);
  poiseKSPAddNormalBytes(ksp, bytes);
  poiseKSPAddBetweenBytes(ksp, bytes);
  poiseKSPAddTransposedBytes(ksp, bytes);
  poiseKSPAddVectors(ksp, bytes);
  poiseKSPAddBlockBytes(ksp, bytes);
  return POISE_OK;
}

void poiseKSPAddBytes(PoiseKSP ksp, PoiseMat A, PoiseBytes *sum)
{
  PoiseBytes part[3] = {{0}};
  if (!ksp) return;
  (void)PoiseKSPBytes(ksp, &part[0]);
  (void)PoisePCBytes(ksp->pc, &part[1]);
  if (A) (void)PoiseMatBytes(A, &part[2], NULL);
  for (int k = 0; k < 3; k++) sum->host += part[k].host, sum->device += part[k].device;
}

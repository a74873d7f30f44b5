/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Phases and dots, as methods enqueue them.

  Dots are left as partials and taken in by the next phase. On several ranks they are first summed over the
  ranks, together with a word that says whether this rank has failed: all ranks learn of a failure in the same
  place and stop in the same iteration. Their order: docs/design/reductions.md.
*/
#include "vec/vec_kernels.h"
#include "dots.h"
#include "methods.h"
#include "solve.h"

/* ---- dots that wait for the next phase ------------------------------------------------------- */

static double *Pend(PoiseKSP ksp, int slot, int64_t count)
{
  KSPDots *d = &ksp->dots;
  double *partial = d->partials + d->next_partial * d->stride;
  d->next_partial = (d->next_partial + 1) % PARTIALS;
  d->pending[d->npending++] = (Sum){partial, count, poiseKSPSlot(ksp, slot), ksp->systems.partials};
  return partial;
}

void poiseKSPAddDot(PoiseKSP ksp, Fuse *f, const double *u, int slot)
{
  f->systems = ksp->systems;
  f->single = ksp->mixed.on;
  f->u[f->ndot] = u;
  f->partial[f->ndot++] = Pend(ksp, slot, ksp->dots.nblock);
}

static PoiseErr FetchStage(PoiseKSP ksp, const double *stage, int n, double *v)
{
  size_t bytes = (size_t)n * sizeof(double);
  TRY(poiseDeviceCopy(ksp->ctx->device, ksp->dots.staged, stage, bytes, COPY_TO_HOST));
  TRY(poiseDeviceSync(ksp->ctx->device));
  memcpy(v, ksp->dots.staged, bytes);
  return POISE_OK;
}

/* n numbers of the stage = their sums over all ranks, together with the word about failures. */
static void SumStage(PoiseKSP ksp, double *stage, int n)
{
  double v[POISE_COMM_WIDTH] = {0};
  poiseKSPFailed(ksp, FetchStage(ksp, stage, n, v));
  v[n] = ksp->solve.failed != POISE_OK;
  PoiseErr e = poiseCommSum(ksp->ctx->comm, v, n + 1);
  poiseKSPFailed(ksp, e);
  ksp->solve.stop = ksp->solve.stop || e || v[n] > 0;
  memcpy(ksp->dots.summed, v, (size_t)n * sizeof(double)); /* the last one has left it: Fetch has waited */
  poiseKSPFailed(ksp, poiseDeviceCopy(ksp->ctx->device, stage, ksp->dots.summed, (size_t)n * sizeof(double),
                                      COPY_TO_DEVICE));
}

static void Reduce(PoiseKSP ksp, ReduceArgs r)
{
  poiseKSPFailed(ksp, LAUNCH(ksp->ctx->device, reduce, &r));
}

static void SumByLink(PoiseKSP ksp, LinkSumArgs a)
{
  poiseKSPFailed(ksp, poiseLinkSum(ksp->ctx->link, a));
}

static void ReducePending(PoiseKSP ksp)
{
  KSPDots *d = &ksp->dots;
  for (int k = 0; k < d->npending; k++)
    Reduce(ksp, (ReduceArgs){.nsum = 1,
                             .count = d->pending[k].count,
                             .partial = d->pending[k].partial,
                             .dst = d->stage + k});
  SumStage(ksp, d->stage, d->npending);
}

/* a->n sums of this rank into a place of the stage, over all ranks where they exchange by the link. */
static void SumIntoStage(PoiseKSP ksp, LinkSumArgs a)
{
  if (poiseLinkIsUsed(ksp->ctx))
    SumByLink(ksp, a);
  else
    Reduce(ksp, (ReduceArgs){
                    .nsum = a.n, .stride = a.stride, .count = a.count, .partial = a.partial, .dst = a.dst});
}

/* Behind these: n numbers of the stage over all ranks. */
static void SumStages(PoiseKSP ksp, int n)
{
  const int most = POISE_COMM_WIDTH - 1;
  if (poiseLinkIsUsed(ksp->ctx)) return;
  for (int first = 0; first < n; first += most)
    SumStage(ksp, ksp->dots.stage + first, n - first < most ? n - first : most);
}

/* The same where there are several systems: sums of all columns. */
static void SumColumns(PoiseKSP ksp)
{
  KSPDots *d = &ksp->dots;
  int n = ksp->systems.n;
  for (int k = 0; k < d->npending; k++) {
    Sum *s = &d->pending[k];
    LinkSumArgs a = {
        .n = n, .stride = s->column, .count = s->count, .partial = s->partial, .dst = d->stage + k * n};
    SumIntoStage(ksp, a);
    s->partial = a.dst, s->count = s->column = 1;
  }
  SumStages(ksp, d->npending * n);
}

/* Sum pending dots over ranks. Each then has one partial. */
static void SumPending(PoiseKSP ksp)
{
  KSPDots *d = &ksp->dots;
  LinkSumArgs a = {.n = d->npending, .listed = 1, .dst = d->stage};
  if (PoiseSize(ksp->ctx) == 1 || !d->npending) return;
  if (ksp->systems.n) {
    SumColumns(ksp);
    return;
  }
  memcpy(a.sum, d->pending, (size_t)d->npending * sizeof *a.sum);
  if (poiseLinkIsUsed(ksp->ctx))
    SumByLink(ksp, a);
  else
    ReducePending(ksp);
  for (int k = 0; k < d->npending; k++) d->pending[k].partial = d->stage + k, d->pending[k].count = 1;
}

/* ---- phases ---------------------------------------------------------------------------------- */

/* May this phase exchange with other ranks by itself? */
static bool MayExchange(PoiseKSP ksp, int id, const PhaseArgs *a)
{
  enum { PLAIN = 0, DECIDES = 0, EPILOGUE = 0, EXCHANGES = 1 };
  static const bool may[] = {
#define PHASE(name, ndot, combine, kind) ((kind)&EXCHANGES) != 0,
#define SCALARS(name)                    false,
#undef F32
#define F32(read, written) 0
#include "sys/device/phases.def"
#undef PHASE
#undef SCALARS
  };
  return may[id] && !a->end.b && !ksp->systems.n && !ksp->solve.finishing && ksp->exchanges &&
         poiseLinkIsUsed(ksp->ctx);
}

/* The sums over ranks of a phase, and what it sends, by itself or in front of it. */
static void ExchangeRanks(PoiseKSP ksp, int id, PhaseArgs *a)
{
  const double *x = a->send.push.x;
  Halo *halo = x ? poiseMatHalo(ksp->A) : NULL;
  bool inside = MayExchange(ksp, id, a);
  if (!inside)
    SumPending(ksp);
  else if (ksp->dots.npending)
    a->ranks = poiseLinkCountSum(ksp->ctx->link);
  a->send.push.x = NULL;
  if (halo && inside && poiseHaloSendsFit(halo, &ksp->sends))
    poiseKSPFailed(ksp, poiseHaloSendInside(halo, &ksp->sends, x, &a->send));
}

/* Scalars per row that a phase moves: its vectors, and those of its epilogue. A vector that is read and
   written is in in[] and in out[]. Those in fp32 are halves. */
static double Streams(PoiseKSP ksp, const PhaseArgs *a)
{
  double streams = (a->end.b ? 1 + (double)a->end.b : 0) - a->seldom; /* z, and a row of D; r is in cache */
  for (int k = 0; k < POISE_MAX_VECS; k++) streams += (a->in[k] != NULL) + (a->out[k] != NULL);
  if (a->single) streams /= 2;
  for (int k = 0; k < POISE_MAX_VECS && a->single; k++) /* x is not */
    streams += 0.5 * ((a->in[k] == ksp->v[0]) + (a->out[k] == ksp->v[0]));
  return streams + (a->out_f32 ? 0.5 : 0);
}

/* Of several systems, M as a diagonal is the same. */
static void LaunchColumns(PoiseKSP ksp, PhaseArgs *a)
{
  for (int k = 0; k < POISE_MAX_VECS; k++)
    if (a->in[k] && a->in[k] == ksp->M.diagonal) a->systems.alike |= 1u << k;
  poiseKSPFailed(ksp, LAUNCH(ksp->ctx->device, phase_columns, a));
}

/* dot: slots of the phase's own. */
static void LaunchPhase(PoiseKSP ksp, int id, PhaseArgs a, int64_t rows, const int dot[POISE_PHASE_DOTS],
                        int rz, int zz)
{
  KSPDots *d = &ksp->dots;
  ExchangeRanks(ksp, id, &a);
  poiseLogBegin(ksp->ctx, EVENT_KSPVectors);
  a.id = id;
  a.n = rows;
  a.systems = ksp->systems;
  a.parity = ksp->loop.parity;
  a.single = ksp->mixed.on;
  a.slots = ksp->solve.finishing ? NULL : ksp->scalars.slots;
  a.skip = ksp->solve.finishing ? ksp->solve.unless : NULL;
  a.array = ksp->scalars.array;
  a.conv = ksp->scalars.conv;
  a.nsum = d->npending;
  memcpy(a.sum, d->pending, (size_t)d->npending * sizeof *a.sum);
  d->npending = 0;
  for (int k = 0; k < POISE_PHASE_DOTS; k++)
    if (dot[k] != NO_SLOT) a.partial[k] = Pend(ksp, dot[k], poisePhaseBlocks(&a));
  if (rz != NO_SLOT) a.end.rz = Pend(ksp, rz, poisePhaseBlocks(&a));
  if (zz != NO_SLOT) a.end.zz = Pend(ksp, zz, poisePhaseBlocks(&a));
  if (ksp->systems.n)
    LaunchColumns(ksp, &a);
  else
    poiseKSPFailed(ksp, LAUNCH(ksp->ctx->device, phase, &a));
  double numbers = Streams(ksp, &a) * (double)(rows * (ksp->systems.n ? ksp->systems.n : 1));
  poiseLogEnd(ksp->ctx, EVENT_KSPVectors, 2 * numbers, 8 * numbers);
}

void poiseKSPRowsPhase(PoiseKSP ksp, int id, PhaseArgs a, int dot0, int dot1)
{
  LaunchPhase(ksp, id, a, ksp->rows->n, (int[]){dot0, dot1, NO_SLOT, NO_SLOT, NO_SLOT}, NO_SLOT, NO_SLOT);
}

static void PlainPhase(PoiseKSP ksp, int id, PhaseArgs a, const int dot[POISE_PHASE_DOTS])
{
  LaunchPhase(ksp, id, a, ksp->layout->n, dot, NO_SLOT, NO_SLOT);
}

void poiseKSPPhase(PoiseKSP ksp, int id, PhaseArgs a, int dot0, int dot1)
{
  PlainPhase(ksp, id, a, (int[]){dot0, dot1, NO_SLOT, NO_SLOT, NO_SLOT});
}

static void PhasePrecondition(PoiseKSP ksp, int id, PhaseArgs a, const int dot[POISE_PHASE_DOTS],
                              Application m)
{
  Fuse f = {0};
  if (ksp->M.blocks.b && !ksp->systems.n) {
    a.end = ksp->M.blocks;
    if (ksp->mixed.on) a.end.d = ksp->mixed.in_fp32;
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
  PhasePrecondition(ksp, id, a, (int[]){dot0, dot1, NO_SLOT, NO_SLOT, NO_SLOT}, m);
}

void poiseKSPCheckPhase(PoiseKSP ksp, const double *b, int r, int z, bool delivers, double *x)
{
  int dot[] = {NO_SLOT, NO_SLOT, SLOT_TRUE_RESIDUAL, SLOT_CHECK_BB, delivers ? SLOT_RESULT : NO_SLOT};
  PhaseArgs a = {READS(KSP_B, b), WRITES(KSP_R, ksp->v[r]), READS(KSP_X, delivers ? ksp->v[0] : NULL),
                 WRITES(KSP_USERS_X, delivers ? x : NULL), .c[2].value = 1 / ksp->solve.scale};
  if (ksp->type->squares) {
    LaunchPhase(ksp, PHASE_ksp_check, a, ksp->rows->n, dot, NO_SLOT, NO_SLOT);
    return;
  }
  if (z != NO_SLOT && !ksp->M.pointwise) {
    PhasePrecondition(ksp, PHASE_ksp_check, a, dot, (Application){r, z, SLOT_CHECK_RZ, SLOT_CHECK_ZZ});
    return;
  }
  if (z != NO_SLOT) a.in[KSP_D] = ksp->M.diagonal, dot[0] = SLOT_CHECK_RZ, dot[1] = SLOT_CHECK_ZZ;
  PlainPhase(ksp, PHASE_ksp_check, a, dot);
}

void poiseKSPFirstPhase(PoiseKSP ksp, const double *b, double *r, int rz, int zz, int rr)
{
  PhaseArgs a = {READS(KSP_B, b), READS(KSP_D, ksp->M.diagonal), WRITES(KSP_R, r),
                 WRITES(KSP_X, r ? ksp->v[0] : NULL)};
  if (rz == NO_SLOT && zz == NO_SLOT) a.in[KSP_D] = NULL;
  PlainPhase(ksp, PHASE_ksp_first, a, (int[]){rz, zz, rr, NO_SLOT, NO_SLOT});
}

void poiseKSPScalars(PoiseKSP ksp, int id, PhaseArgs a)
{
  LaunchPhase(ksp, id, a, 0, (int[]){NO_SLOT, NO_SLOT, NO_SLOT, NO_SLOT, NO_SLOT}, NO_SLOT, NO_SLOT);
}

void poiseKSPPublish(PoiseKSP ksp)
{
  if (ksp->dots.npending) poiseKSPScalars(ksp, PHASE_ksp_publish, (PhaseArgs){0});
}

/* ---- dots with many vectors, and their updates ----------------------------------------------- */

static double *DotPartials(PoiseKSP ksp)
{
  return ksp->dots.partials + PARTIALS * ksp->dots.stride;
}

static int Batch(int k, int first)
{
  return k - first < POISE_MAX_BATCH ? k - first : POISE_MAX_BATCH;
}

/* x without its first vectors */
static Columns Behind(Columns x, int first)
{
  if (x.f64) x.f64 += first;
  if (x.f32) x.f32 += first;
  x.before += first;
  return x;
}

/* Bytes of a row of k vectors of x, and of `more` vectors in fp64. */
static double RowBytes(Columns x, int k, int more)
{
  return (x.f32 ? 4.0 : 8.0) * k + 8.0 * more;
}

/* Rows, of all systems. */
static double Rows(PoiseKSP ksp)
{
  return (double)ksp->layout->n * (ksp->systems.n ? ksp->systems.n : 1);
}

/* Partial sums of (x_j, y). */
static void Multiply(PoiseKSP ksp, int k, Columns x, const double *y, const double *skip)
{
#define FIELDS \
  {.n = ksp->layout->n, .stride = ksp->dots.nblock, .k = k, .y = y, .skip = skip, .partial = DotPartials(ksp)}
  MdotArgs m = FIELDS;
  MdotArgs_f32 s = FIELDS;
#undef FIELDS
  Device *dev = ksp->ctx->device;
  for (int j = 0; j < k && x.f64; j++) m.x[j] = x.f64[j];
  for (int j = 0; j < k && x.f32; j++) s.x[j] = x.f32[j];
  poiseLogBegin(ksp->ctx, EVENT_KSPBasis);
  m.systems = ksp->systems;
  poiseKSPFailed(ksp, x.f32            ? LAUNCH(dev, mdot_f32, &s)
                      : ksp->systems.n ? LAUNCH(dev, mdot_columns, &m)
                                       : LAUNCH(dev, mdot, &m));
  poiseLogEnd(ksp->ctx, EVENT_KSPBasis, 2.0 * k * Rows(ksp), RowBytes(x, k, 1) * Rows(ksp));
}

/* The sums over ranks of k dots of several systems take the place of their partials: one dot of all systems
   at once, or all dots of one, whichever is done less often. */
static void SumDotsOfColumns(PoiseKSP ksp, int k, ReduceArgs *r)
{
  int n = ksp->systems.n, times = k < n ? k : n, each = k < n ? n : k;
  int64_t dot = r->stride, system = r->systems.partials, next = k < n ? dot : system;
  LinkSumArgs a = {.n = each, .stride = k < n ? system : dot, .count = r->count};
  for (int i = 0; i < times; i++) {
    a.partial = r->partial + i * next, a.dst = ksp->dots.stage + i * each;
    SumIntoStage(ksp, a);
  }
  SumStages(ksp, n * k);
  r->partial = ksp->dots.stage, r->count = 1;
  r->stride = k < n ? n : 1, r->systems.partials = k < n ? 1 : k;
}

/* The same as below for several systems. dst and sum are those of all columns. */
static void FinishColumns(PoiseKSP ksp, int k, double *dst, double *sum, const double *skip)
{
  ReduceArgs r = {.nsum = k,
                  .stride = ksp->dots.nblock,
                  .count = ksp->dots.nblock,
                  .partial = DotPartials(ksp),
                  .dst = dst,
                  .skip = skip,
                  .systems = ksp->systems};
  if (PoiseSize(ksp->ctx) > 1) SumDotsOfColumns(ksp, k, &r);
  poiseKSPFailed(ksp, LAUNCH(ksp->ctx->device, reduce_columns, &r));
  r.dst = sum, r.add = true;
  if (sum) poiseKSPFailed(ksp, LAUNCH(ksp->ctx->device, reduce_columns, &r));
}

/* Sum the partials of k dots over all ranks into dst, and add them to sum. */
static void FinishDots(PoiseKSP ksp, int k, double *dst, double *sum, const double *skip)
{
  ReduceArgs r = {.nsum = k,
                  .stride = ksp->dots.nblock,
                  .count = ksp->dots.nblock,
                  .partial = DotPartials(ksp),
                  .dst = dst};
  if (ksp->systems.n) {
    FinishColumns(ksp, k, dst, sum, skip);
    return;
  }
  if (PoiseSize(ksp->ctx) > 1) {
    LinkSumArgs a = {
        .n = k, .stride = r.stride, .count = r.count, .partial = r.partial, .dst = ksp->dots.stage};
    r.dst = ksp->dots.stage;
    if (poiseLinkIsUsed(ksp->ctx)) {
      SumByLink(ksp, a);
    } else {
      Reduce(ksp, r);
      SumStage(ksp, ksp->dots.stage, k);
    }
    r = (ReduceArgs){.nsum = k, .stride = 1, .count = 1, .partial = ksp->dots.stage, .dst = dst};
  }
  r.skip = skip;
  Reduce(ksp, r);
  if (!sum) return;
  r.dst = sum;
  r.add = true;
  Reduce(ksp, r);
}

void poiseKSPColumnsDot(PoiseKSP ksp, int k, Columns x, const double *y, double *dst, double *sum,
                        const double *skip)
{
  for (int first = 0; first < k; first += POISE_MAX_BATCH) {
    Multiply(ksp, Batch(k, first), Behind(x, first), y, skip);
    FinishDots(ksp, Batch(k, first), dst + first, sum ? sum + first : NULL, skip);
  }
}

/* y += sign sum_j c_j x_j, k <= POISE_MAX_BATCH */
static void AddBatch(PoiseKSP ksp, int k, Columns x, double sign, const double *c, double *y,
                     const double *skip, const Fuse *f, double *again)
{
  const Fuse fuse = f ? *f : (Fuse){0};
#define FIELDS                 \
  {.n = ksp->layout->n,        \
   .stride = ksp->dots.nblock, \
   .k = k,                     \
   .sign = sign,               \
   .a = c,                     \
   .skip = skip,               \
   .y = y,                     \
   .again = again,             \
   .fuse = fuse}
  MaxpyArgs m = FIELDS;
  MaxpyArgs_f32 s = FIELDS;
#undef FIELDS
  Device *dev = ksp->ctx->device;
  for (int j = 0; j < k && x.f64; j++) m.x[j] = x.f64[j], m.value[j] = 1;
  for (int j = 0; j < k && x.f32; j++) s.x[j] = x.f32[j], s.value[j] = 1;
  poiseLogBegin(ksp->ctx, EVENT_KSPBasis);
  m.systems = ksp->systems, m.terms = x.terms, m.before = x.before;
  poiseKSPFailed(ksp, x.f32            ? LAUNCH(dev, maxpy_f32, &s)
                      : ksp->systems.n ? LAUNCH(dev, maxpy_columns, &m)
                                       : LAUNCH(dev, maxpy, &m));
  poiseLogEnd(ksp->ctx, EVENT_KSPBasis, (again ? 4.0 : 2.0) * k * Rows(ksp), RowBytes(x, k, 2) * Rows(ksp));
}

static void Add(PoiseKSP ksp, int k, Columns x, double sign, const double *c, double *y, const double *skip,
                const Fuse *f, double *again)
{
  int first = 0;
  do {
    int batch = Batch(k, first), end = first + batch;
    AddBatch(ksp, batch, Behind(x, first), sign, c ? c + first : NULL, y, skip, end == k ? f : NULL, again);
    first = end;
  } while (first < k);
}

void poiseKSPColumnsAdd(PoiseKSP ksp, int k, Columns x, double sign, const double *c, double *y,
                        const double *skip, const Fuse *f)
{
  Add(ksp, k, x, sign, c, y, skip, f, NULL);
}

void poiseKSPColumnsAddDots(PoiseKSP ksp, int k, Columns x, double sign, const double *c, double *y,
                            const double *skip, const Fuse *f)
{
  Add(ksp, k, x, sign, c, y, skip, f, k <= POISE_MAX_BATCH ? DotPartials(ksp) : NULL);
}

void poiseKSPTakeDots(PoiseKSP ksp, int k, Columns x, const double *y, double *dst, double *sum,
                      const double *skip)
{
  if (k <= POISE_MAX_BATCH)
    FinishDots(ksp, k, dst, sum, skip);
  else
    poiseKSPColumnsDot(ksp, k, x, y, dst, sum, skip);
}

void poiseKSPMdot(PoiseKSP ksp, int k, double *const *x, const double *y, double *dst, double *sum,
                  const double *skip)
{
  poiseKSPColumnsDot(ksp, k, (Columns){.f64 = x}, y, dst, sum, skip);
}

void poiseKSPMaxpy(PoiseKSP ksp, int k, double *const *x, double sign, const double *c, double *y,
                   const double *skip, const Fuse *f)
{
  poiseKSPColumnsAdd(ksp, k, (Columns){.f64 = x}, sign, c, y, skip, f);
}

/* ---- wide vectors whose columns are mixed ---------------------------------------------------- */

/* dst[0..n) = sums of partials over all ranks, in as many messages as it takes. */
static void SumGram(PoiseKSP ksp, int n, int64_t count, const double *partial, double *dst)
{
  bool link = poiseLinkIsUsed(ksp->ctx);
  int most = link ? POISE_MAX_BATCH : POISE_COMM_WIDTH - 1;
  if (!link)
    Reduce(ksp,
           (ReduceArgs){.nsum = n, .stride = GRAM_BLOCKS, .count = count, .partial = partial, .dst = dst});
  for (int first = 0; first < n && PoiseSize(ksp->ctx) > 1; first += most) {
    int batch = n - first < most ? n - first : most;
    if (!link) SumStage(ksp, dst + first, batch);
    if (!link) continue;
    SumByLink(ksp, (LinkSumArgs){.n = batch,
                                 .stride = GRAM_BLOCKS,
                                 .count = count,
                                 .partial = partial + first * GRAM_BLOCKS,
                                 .dst = dst + first});
  }
}

const double *poiseKSPGram(PoiseKSP ksp, const double *x, const double *y0, const double *y1)
{
  int k = ksp->systems.n, pairs = y1 ? 2 : 1;
  int64_t n = ksp->layout->n;
  double *own = poiseKSPShared(ksp) + ksp->type->shared(k), *partial = own + GRAM_PAIRS * k * k,
         *sums = PoiseSize(ksp->ctx) > 1 ? ksp->dots.stage : own;
  GramArgs a = {.n = n, .k = k, .pairs = pairs, .x = x, .y = {y0, y1}, .partial = partial};
  poiseLogBegin(ksp->ctx, EVENT_KSPVectors);
  a.skip = poiseKSPSlot(ksp, SLOT_SEEN);
  poiseKSPFailed(ksp, LAUNCH(ksp->ctx->device, gram_columns, &a));
  SumGram(ksp, pairs * k * k, poiseGramBlocks(n), partial, sums);
  int vectors = 2 + (y1 && y1 != x);
  poiseLogEnd(ksp->ctx, EVENT_KSPVectors, 2.0 * pairs * k * k * (double)n, 8.0 * vectors * k * (double)n);
  return sums;
}

void poiseKSPCombine(PoiseKSP ksp, CombineArgs a)
{
  int matrices = a.x[1] ? 2 : 1, k = ksp->systems.n, vectors = matrices + 1 + a.adds;
  a.n = ksp->layout->n, a.k = k, a.systems = ksp->systems;
  a.skip = poiseKSPSlot(ksp, SLOT_SEEN);
  poiseLogBegin(ksp->ctx, EVENT_KSPVectors);
  poiseKSPFailed(ksp, LAUNCH(ksp->ctx->device, combine_columns, &a));
  poiseLogEnd(ksp->ctx, EVENT_KSPVectors, 2.0 * matrices * k * k * (double)a.n,
              8.0 * vectors * k * (double)a.n);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* BLAS-1 on vectors: sums, scalings, dots, norms. Every element-wise operation is a phase (vec_phases.h). */
#include <float.h>

#include "vec.h"
#include "vec_kernels.h"
#include "vec_phases.h"

/* ---- element-wise operations ----------------------------------------------------------------- */

/* An operand that is w itself makes the phase read w, so w is updated. Otherwise w's old content is not
   needed, and it is written. */
static PoiseErr LaunchPhase(PoiseVec w, PoiseVec x, PoiseVec y, PhaseArgs *a)
{
  if (x) TRY(poiseVecCheckSame(w, "w", x, "x"));
  if (y) TRY(poiseVecCheckSame(w, "w", y, "y"));
  if (x) TRY(poiseVecRead(x, &a->in[VEC_X]));
  if (y) TRY(poiseVecRead(y, &a->in[VEC_Y]));
  TRY(x == w || y == w ? poiseVecUpdate(w, &a->out[VEC_W]) : poiseVecWrite(w, &a->out[VEC_W]));
  TRY(LAUNCH(w->ctx->device, phase, a));
  return poiseBufferSyncBorrowed(&w->data);
}

static PoiseErr Phase(int id, PoiseVec w, PoiseVec x, PoiseVec y, PhaseArgs a, double flops)
{
  double streams = 1 + (x != NULL) + (y != NULL);
  a.id = id;
  a.n = poiseVecLength(w);
  poiseLogBegin(w->ctx, EVENT_VecUpdate);
  PoiseErr e = LaunchPhase(w, x, y, &a);
  poiseLogEnd(w->ctx, EVENT_VecUpdate, flops * (double)a.n, 8 * streams * (double)a.n);
  return e;
}

PoiseErr PoiseVecSet(PoiseVec x, double a)
{
  CALLED(OBJECT(x));
  return Phase(PHASE_vec_set, x, NULL, NULL, (PhaseArgs){.c[0].value = a}, 0);
}

PoiseErr PoiseVecSetRandom(PoiseVec x, uint64_t seed)
{
  CALLED(OBJECT(x));
  uint64_t k = (uint64_t)(x->layout->begin * poiseVecColumns(x)) + seed * 0xd1342543de82ef95u;
  return Phase(PHASE_vec_random, x, NULL, NULL, (PhaseArgs){.k = (int64_t)k}, 0);
}

static PoiseErr Axpby(PoiseVec w, double a, PoiseVec x, double b, PoiseVec y)
{
  return Phase(PHASE_vec_axpby, w, x, y, (PhaseArgs){.c = {{.value = a}, {.value = b}}}, 3);
}

PoiseErr PoiseVecCopy(PoiseVec x, PoiseVec y)
{
  CALLED(OBJECT(x), OBJECT(y));
  return x == y ? POISE_OK : Axpby(y, 1, x, 0, NULL);
}

PoiseErr PoiseVecScale(PoiseVec x, double a)
{
  CALLED(OBJECT(x));
  return Axpby(x, a, x, 0, NULL);
}

PoiseErr PoiseVecAXPY(PoiseVec y, double a, PoiseVec x)
{
  CALLED(OBJECT(y), OBJECT(x));
  return Axpby(y, a, x, 1, y);
}

PoiseErr PoiseVecAYPX(PoiseVec y, double a, PoiseVec x)
{
  CALLED(OBJECT(y), OBJECT(x));
  return Axpby(y, 1, x, a, y);
}

PoiseErr PoiseVecAXPBY(PoiseVec y, double a, double b, PoiseVec x)
{
  CALLED(OBJECT(y), OBJECT(x));
  return b == 0 ? Axpby(y, a, x, 0, NULL) : Axpby(y, a, x, b, y);
}

PoiseErr PoiseVecWAXPY(PoiseVec w, double a, PoiseVec x, PoiseVec y)
{
  CALLED(OBJECT(w), OBJECT(x), OBJECT(y));
  return Axpby(w, a, x, 1, y);
}

PoiseErr PoiseVecPointwiseMult(PoiseVec w, PoiseVec x, PoiseVec y)
{
  CALLED(OBJECT(w), OBJECT(x), OBJECT(y));
  return Phase(PHASE_vec_mult, w, x, y, (PhaseArgs){0}, 1);
}

PoiseErr PoiseVecPointwiseDivide(PoiseVec w, PoiseVec x, PoiseVec y)
{
  CALLED(OBJECT(w), OBJECT(x), OBJECT(y));
  return Phase(PHASE_vec_divide, w, x, y, (PhaseArgs){0}, 1);
}

PoiseErr PoiseVecReciprocal(PoiseVec x)
{
  CALLED(OBJECT(x));
  return Phase(PHASE_vec_reciprocal, x, x, NULL, (PhaseArgs){0}, 1);
}

PoiseErr poiseVecFuse(PoiseVec y, const double *skip, const Fuse *fuse)
{
  MaxpyArgs m = {.n = y->layout->n, .skip = skip};
  if (!fuse || !fuse->ndot) return POISE_OK;
  m.fuse = *fuse;
  m.systems = fuse->systems;
  TRY(poiseVecUpdate(y, &m.y));
  return m.systems.n ? LAUNCH(y->ctx->device, maxpy_columns, &m) : LAUNCH(y->ctx->device, maxpy, &m);
}

static PoiseErr CheckMaxpy(PoiseVec y, int k, const PoiseVec *x)
{
  for (int j = 0; j < k; j++) {
    TRY(poiseCheckCall("PoiseVecMAXPY", PARAMETERS(OBJECT(y), OBJECT(x[j]))));
    if (x[j] == y) FAIL(POISE_ERR_ARG, "x[%d] and y are the same vector", j);
    TRY(poiseVecCheckSame(x[j], "x", y, "y"));
  }
  return POISE_OK;
}

static PoiseErr MaxpyBatch(PoiseVec y, int k, const double *a, const PoiseVec *x)
{
  MaxpyArgs m = {.n = poiseVecLength(y), .k = k, .sign = 1};
  for (int j = 0; j < k; j++) {
    TRY(poiseVecRead(x[j], &m.x[j]));
    m.value[j] = a[j];
  }
  TRY(poiseVecUpdate(y, &m.y));
  return LAUNCH(y->ctx->device, maxpy, &m);
}

static int Batch(int k)
{
  return k < POISE_MAX_BATCH ? k : POISE_MAX_BATCH;
}

PoiseErr PoiseVecMAXPY(PoiseVec y, int k, const double *a, const PoiseVec *x)
{
  CALLED(OBJECT(y), ARRAY_OF(k, a), ARRAY_OF(k, x));
  double n = (double)poiseVecLength(y);
  poiseLogBegin(y->ctx, EVENT_VecUpdate);
  PoiseErr e = CheckMaxpy(y, k, x);
  for (int done = 0; !e && done < k; done += POISE_MAX_BATCH)
    e = MaxpyBatch(y, Batch(k - done), a + done, x + done);
  if (!e) e = poiseBufferSyncBorrowed(&y->data);
  poiseLogEnd(y->ctx, EVENT_VecUpdate, 2.0 * k * n, 8.0 * (k + 2) * n);
  return e;
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* Fetch the sums of this rank to the host. */
static PoiseErr FetchSums(PoiseContext ctx, int k, int64_t nblock, bool max, double *result)
{
  const double *partial;
  double *slots;
  TRY(poiseBufferRead(&ctx->reduce_partial, DEVICE, &partial));
  TRY(poiseBufferWrite(&ctx->reduce_slots, DEVICE, &slots));
  ReduceArgs r = {.nsum = k, .max = max, .stride = nblock, .count = nblock, .partial = partial, .dst = slots};
  TRY(LAUNCH(ctx->device, reduce, &r));
  return poiseDeviceFetch(ctx->device, slots, (size_t)k * sizeof(double), result);
}

PoiseErr poiseReduceFinish(PoiseContext ctx, PoiseErr mine, int k, int64_t nblock, bool max, double *result)
{
  double v[POISE_MAX_BATCH + 1] = {0}; /* the last one counts the ranks' errors */
  if (!mine) mine = FetchSums(ctx, k, nblock, max, v);
  v[k] = mine != POISE_OK;
  TRY(max ? poiseCommMax(ctx->comm, v, k + 1) : poiseCommSum(ctx->comm, v, k + 1));
  if (v[k] != 0) return PoiseAgree(ctx, mine);
  memcpy(result, v, (size_t)k * sizeof(double));
  return POISE_OK;
}

/* Launch a phase whose k dots go to the scratch. w (may be NULL) is updated. */
static PoiseErr DotPhase(int id, int k, PoiseVec w, PoiseVec x, PoiseVec y, PhaseArgs a)
{
  PoiseContext ctx = x->ctx;
  double *partial;
  a.id = id;
  a.n = x->layout->n;
  TRY(poiseVecCheckOrdinary(x, "a sum"));
  if (y) TRY(poiseVecCheckSame(x, "x", y, "y"));
  TRY(poiseVecRead(x, &a.in[VEC_X]));
  if (y) TRY(poiseVecRead(y, &a.in[VEC_Y]));
  if (w) TRY(poiseVecUpdate(w, &a.out[VEC_W]));
  TRY(poiseBufferWrite(&ctx->reduce_partial, DEVICE, &partial));
  for (int j = 0; j < k; j++) a.partial[j] = partial + j * POISE_NBLOCKS(a.n);
  return LAUNCH(ctx->device, phase, &a);
}

static PoiseErr Reduce(int id, int k, PoiseVec w, PoiseVec x, PoiseVec y, PhaseArgs a, double *result)
{
  PoiseContext ctx = x->ctx;
  int event = y && y != x ? EVENT_VecDot : EVENT_VecNorm;
  double n = (double)x->layout->n;
  poiseLogBegin(ctx, event);
  PoiseErr e = DotPhase(id, k, w, x, y, a);
  e = poiseReduceFinish(ctx, e, k, POISE_NBLOCKS(x->layout->n), id == PHASE_vec_norm_inf, result);
  if (!e && w) e = poiseBufferSyncBorrowed(&w->data);
  poiseLogEnd(ctx, event, 2 * k * n, 8 * (1 + (y && y != x) + (w != NULL)) * n);
  return e;
}

PoiseErr PoiseVecDot(PoiseVec x, PoiseVec y, double *dot)
{
  CALLED(OBJECT(x), OBJECT(y), GIVEN(dot));
  return Reduce(PHASE_vec_dot, 1, NULL, x, y, (PhaseArgs){0}, dot);
}

PoiseErr PoiseVecDotNorm2(PoiseVec x, PoiseVec y, double *xy, double *yy)
{
  CALLED(OBJECT(x), OBJECT(y), GIVEN(xy), GIVEN(yy));
  double r[2];
  TRY(Reduce(PHASE_vec_dot2, 2, NULL, x, y, (PhaseArgs){0}, r));
  *xy = r[0], *yy = r[1];
  return POISE_OK;
}

PoiseErr PoiseVecAXPYDot(PoiseVec y, double a, PoiseVec x, double *yy)
{
  CALLED(OBJECT(y), OBJECT(x), GIVEN(yy));
  return Reduce(PHASE_vec_axpby_dot, 1, y, x, y, (PhaseArgs){.c = {{.value = a}, {.value = 1}}}, yy);
}

PoiseErr PoiseVecSumEntries(PoiseVec x, double *sum)
{
  CALLED(OBJECT(x), GIVEN(sum));
  return Reduce(PHASE_vec_sum, 1, NULL, x, NULL, (PhaseArgs){0}, sum);
}

PoiseErr poiseVecDiagonalScale(PoiseVec x, double count[3])
{
  return Reduce(PHASE_vec_diagonal_scale, 3, x, x, NULL, (PhaseArgs){0}, count);
}

bool poiseSquaresHold(double sum)
{
  return !(sum < 1e-280) && !(sum > 1e300);
}

int poiseScaleSquares(double largest, double scale[2])
{
  int e = DBL_MAX_EXP;
  if (poiseFinite(largest)) (void)frexp(largest, &e);
  scale[0] = ldexp(1, -e / 2);
  scale[1] = ldexp(1, -e - -e / 2);
  return e;
}

/* Where squares under- or overflow. */
static PoiseErr ScaledNorm(PoiseVec x, double *norm)
{
  double largest, scale[2];
  TRY(Reduce(PHASE_vec_norm_inf, 1, NULL, x, NULL, (PhaseArgs){0}, &largest));
  *norm = largest;
  if (largest == 0) return POISE_OK;
  int e = poiseScaleSquares(largest, scale);
  PhaseArgs a = {.c = {{.value = scale[0]}, {.value = scale[1]}}};
  TRY(Reduce(PHASE_vec_norm2_scaled, 1, NULL, x, NULL, a, norm));
  *norm = ldexp(sqrt(*norm), e);
  return POISE_OK;
}

PoiseErr PoiseVecNorm(PoiseVec x, PoiseNorm type, double *norm)
{
  CALLED(OBJECT(x), GIVEN(norm));
  static const int phase[] = {[POISE_NORM_1] = PHASE_vec_norm1,
                              [POISE_NORM_2] = PHASE_vec_dot,
                              [POISE_NORM_INF] = PHASE_vec_norm_inf};
  if ((unsigned)type > POISE_NORM_INF) FAIL(POISE_ERR_ARG, "there is no norm %d", (int)type);
  TRY(Reduce(phase[type], 1, NULL, x, type == POISE_NORM_2 ? x : NULL, (PhaseArgs){0}, norm));
  if (type == POISE_NORM_2 && !poiseSquaresHold(*norm)) return ScaledNorm(x, norm);
  if (type == POISE_NORM_2) *norm = sqrt(*norm);
  return POISE_OK;
}

static PoiseErr MdotBatch(PoiseVec y, int k, const PoiseVec *x)
{
  PoiseContext ctx = y->ctx;
  MdotArgs m = {.n = y->layout->n, .k = k, .stride = POISE_NBLOCKS(y->layout->n)};
  for (int j = 0; j < k; j++) {
    TRY(poiseCheckCall("PoiseVecMDot", PARAMETERS(OBJECT(y), OBJECT(x[j]))));
    TRY(poiseVecCheckSame(x[j], "x", y, "y"));
    TRY(poiseVecRead(x[j], &m.x[j]));
  }
  TRY(poiseVecCheckOrdinary(y, "dots"));
  TRY(poiseVecRead(y, &m.y));
  TRY(poiseBufferWrite(&ctx->reduce_partial, DEVICE, &m.partial));
  return LAUNCH(ctx->device, mdot, &m);
}

PoiseErr PoiseVecMDot(PoiseVec y, int k, const PoiseVec *x, double *dots)
{
  CALLED(OBJECT(y), ARRAY_OF(k, x), ARRAY_OF(k, dots));
  PoiseContext ctx = y->ctx;
  PoiseErr e = POISE_OK;
  double n = (double)y->layout->n;
  poiseLogBegin(ctx, EVENT_VecDot);
  for (int done = 0; !e && done < k; done += POISE_MAX_BATCH) {
    e = MdotBatch(y, Batch(k - done), x + done);
    e = poiseReduceFinish(ctx, e, Batch(k - done), POISE_NBLOCKS(y->layout->n), false, dots + done);
  }
  poiseLogEnd(ctx, EVENT_VecDot, 2.0 * k * n, 8.0 * (k + 1) * n);
  return e;
}

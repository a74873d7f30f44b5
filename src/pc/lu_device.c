/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Sparse factors by a library of the device (lu.h), in the memory of the first rank's. On one rank a solve is
  enqueued, and no number leaves the device.

  Such libraries exchange few rows, and put another number in place of a pivot that is too small. So set-up
  solves for a right-hand side of 1 and -1. Factors of a singular matrix leave a residual as large as that,
  and unstable ones a backward error.
*/
#include "mat/csr/entries.h"
#include "pc_device.h"
#include "lu.h"

typedef struct Result { /* of the first rank, for all */
  Singular singular;
  DeviceFacts facts;
} Result;

static DeviceLU *Of(PoisePC pc)
{
  return &((LU *)pc->data)->device;
}

static const PCDevice *Library(PoisePC pc)
{
  const PCDevice *ops = pc->ctx->device->ops->pc;
  return ops && ops->direct_plan ? ops : NULL;
}

PoiseErr poiseLUFindLibrary(PoisePC pc)
{
  Device *dev = pc->ctx->device;
  if (!Library(pc))
    FAIL(POISE_ERR_UNSUPPORTED, "%s cudss: cuDSS factors on device cuda, not on %s: use superlu",
         poiseOptionsName(pc->ctx, pc->prefix, "pc_factor_solver"), dev->ops->name);
  return Library(pc)->direct_find(dev);
}

static void ReleaseMatrix(PoisePC pc)
{
  DeviceLU *lu = Of(pc);
  if (lu->plan.device) Library(pc)->direct_plan_free(pc->ctx->device, &lu->plan);
  poiseBufferDestroy(&lu->ptr);
  poiseBufferDestroy(&lu->col);
  poiseBufferDestroy(&lu->val);
}

static void Release(PoisePC pc)
{
  DeviceLU *lu = Of(pc);
  ReleaseMatrix(pc);
  poiseBufferDestroy(&lu->x);
  poiseBufferDestroy(&lu->y);
  poiseFirstDestroy(pc, &lu->first);
}

/* ---- the matrix ------------------------------------------------------------------------------ */

typedef struct Csr32 { /* on the host */
  int64_t n;
  int *ptr, *col;
  double *val; /* not its own */
} Csr32;

static PoiseErr Narrow(PoiseContext ctx, const WholeRows *r, Csr32 *a)
{
  a->n = r->n, a->val = r->value;
  TRY(poiseAllocArray(ctx, r->n + 1, sizeof *a->ptr, "offsets of rows", &a->ptr));
  TRY(poiseAllocArray(ctx, r->nz, sizeof *a->col, "columns of rows", &a->col));
  for (int64_t i = 0; i < r->n; i++) a->ptr[i + 1] = a->ptr[i] + (int)r->length[i];
  for (int64_t k = 0; k < r->nz; k++) a->col[k] = (int)r->column[k];
  return POISE_OK;
}

static void KeepUpper(Csr32 *a)
{
  int to = 0;
  for (int64_t i = 0, k = 0; i < a->n; i++) {
    for (int64_t end = a->ptr[i + 1]; k < end; k++)
      if (a->col[k] >= i) a->col[to] = a->col[k], a->val[to++] = a->val[k];
    a->ptr[i + 1] = to;
  }
}

/* What is not small or large beside 1 stays as it is. A power of 2 does not round. */
static double Scale(const Csr32 *a)
{
  enum { NEAR = 10 };
  double largest = 0;
  int power;
  for (int k = 0; k < a->ptr[a->n]; k++) largest = fmax(largest, fabs(a->val[k]));
  (void)frexp(largest, &power);
  return abs(power) > NEAR ? ldexp(1, -power) : 1;
}

static PoiseErr IsSame(DeviceLU *lu, const Csr32 *a, bool *same)
{
  const int32_t *ptr, *col;
  *same = false;
  if (!lu->plan.device) return POISE_OK;
  TRY(poiseBufferRead(&lu->ptr, HOST, &ptr));
  TRY(poiseBufferRead(&lu->col, HOST, &col));
  *same = !memcmp(ptr, a->ptr, (size_t)(a->n + 1) * sizeof *ptr) &&
          (!ptr[a->n] || !memcmp(col, a->col, (size_t)ptr[a->n] * sizeof *col));
  return POISE_OK;
}

static PoiseErr WritePattern(PoisePC pc, const Csr32 *a)
{
  DeviceLU *lu = Of(pc);
  Device *dev = pc->ctx->device;
  size_t nz = (size_t)a->ptr[a->n], offsets = (size_t)(a->n + 1) * sizeof(int32_t);
  int32_t *ptr, *col;
  ReleaseMatrix(pc);
  pc->generation++;
  TRY(poiseBufferCreate(dev, offsets, "offsets of rows", &lu->ptr));
  TRY(poiseBufferCreate(dev, nz * sizeof *col, "columns of rows", &lu->col));
  TRY(poiseBufferCreate(dev, nz * sizeof(double), "values of rows", &lu->val));
  TRY(poiseBufferWrite(&lu->ptr, HOST, &ptr));
  TRY(poiseBufferWrite(&lu->col, HOST, &col));
  memcpy(ptr, a->ptr, offsets);
  if (nz) memcpy(col, a->col, nz * sizeof *col);
  return POISE_OK;
}

/* The plan is kept if the pattern is the same. */
static PoiseErr Write(PoisePC pc, const Csr32 *a, bool *kept)
{
  DeviceLU *lu = Of(pc);
  double *val;
  TRY(IsSame(lu, a, kept));
  if (!*kept) TRY(WritePattern(pc, a));
  lu->scale = Scale(a);
  TRY(poiseBufferWrite(&lu->val, HOST, &val));
  for (int k = 0; k < a->ptr[a->n]; k++) val[k] = lu->scale * a->val[k];
  return POISE_OK;
}

/* ---- solves ---------------------------------------------------------------------------------- */

/* y = A^-1 x */
static PoiseErr Solve(PoisePC pc, const double *x, double *y)
{
  const DeviceLU *lu = Of(pc);
  DirectSolveArgs a = {.n = lu->first.layout->N, .scale = lu->scale, .plan = lu->plan.device, .x = x, .y = y};
  return a.n ? LAUNCH(pc->ctx->device, direct_solve, &a) : POISE_OK;
}

/* lu->y = A^-1 lu->x */
static PoiseErr SolveAll(PoisePC pc)
{
  DeviceLU *lu = Of(pc);
  const double *x;
  double *y;
  TRY(poiseBufferRead(&lu->x, DEVICE, &x));
  TRY(poiseBufferWrite(&lu->y, DEVICE, &y));
  return Solve(pc, x, y);
}

/* r = b - A x and s = |b| + |A| |x| of entries that are those of A, or of its upper triangle. */
static void Residual(const Csr32 *a, bool half, const double *b, const double *x, double *r, double *s)
{
  for (int64_t i = 0; i < a->n; i++) r[i] = b[i], s[i] = fabs(b[i]);
  for (int i = 0; i < a->n; i++)
    for (int k = a->ptr[i]; k < a->ptr[i + 1]; k++) {
      int j = a->col[k];
      double v = a->val[k];
      r[i] -= v * x[j], s[i] += fabs(v * x[j]);
      if (half && j != i) r[j] -= v * x[i], s[j] += fabs(v * x[i]);
    }
}

/* What the factors solve A x = b to. */
static PoiseErr Judge(PoisePC pc, const Csr32 *a, double *work, DeviceFacts *facts)
{
  DeviceLU *lu = Of(pc);
  const double *b, *x;
  double *set, *r = work, *s = work + a->n;
  TRY(poiseBufferWrite(&lu->x, HOST, &set));
  for (int64_t i = 0; i < a->n; i++) set[i] = poiseMix(1, (uint64_t)i) & 1 ? 1 : -1;
  TRY(SolveAll(pc));
  TRY(poiseBufferRead(&lu->x, HOST, &b));
  TRY(poiseBufferRead(&lu->y, HOST, &x));
  Residual(a, poiseLUIsDefinite(pc), b, x, r, s);
  facts->residual = facts->backward = 0;
  for (int64_t i = 0; i < a->n; i++) {
    facts->residual = poiseLarger(facts->residual, fabs(r[i]));
    facts->backward = poiseLarger(facts->backward, fabs(r[i]) / s[i]);
  }
  return POISE_OK;
}

static PoiseErr CheckSolve(PoisePC pc, const Csr32 *a, DeviceFacts *facts)
{
  double *work;
  TRY(poiseAllocArray(pc->ctx, 2 * a->n, sizeof *work, "residual of sparse factors", &work));
  PoiseErr e = Judge(pc, a, work, facts);
  poiseFree(pc->ctx, &work);
  return e;
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static PoiseErr Plan(PoisePC pc, bool only, DirectFacts *facts)
{
  DeviceLU *lu = Of(pc);
  DirectView v = {.n = lu->first.layout->N, .definite = poiseLUIsDefinite(pc)};
  v.nz = (int64_t)(lu->val.bytes / sizeof(double));
  TRY(poiseBufferRead(&lu->ptr, DEVICE, &v.ptr));
  TRY(poiseBufferRead(&lu->col, DEVICE, &v.col));
  TRY(poiseBufferRead(&lu->val, DEVICE, &v.val));
  return v.n ? Library(pc)->direct_plan(pc->ctx->device, &v, only, &lu->plan, facts) : POISE_OK;
}

/* Do the factors solve? */
static bool AreGood(const DeviceFacts *f)
{
  const double most = 0.1, unstable = 1e-6;
  return !f->of.refused && f->backward <= unstable && (f->residual <= most || f->of.replaced == 0);
}

static PoiseErr Make(PoisePC pc, const Csr32 *a, bool only, DeviceFacts *facts)
{
  TRY(Plan(pc, only, &facts->of));
  return only || facts->of.refused ? POISE_OK : CheckSolve(pc, a, facts);
}

/* A plan that was made for other values has their order and scales. */
static PoiseErr MakeAnew(PoisePC pc, const Csr32 *a, DeviceFacts *facts)
{
  Library(pc)->direct_plan_free(pc->ctx->device, &Of(pc)->plan);
  pc->generation++;
  return Make(pc, a, false, facts);
}

static PoiseErr FactorCsr(PoisePC pc, Csr32 *a, bool only, Result *result)
{
  HostMatrix entries = {a->n, a->ptr, a->col, a->val};
  bool symmetric = false, kept;
  if (poiseLUIsDefinite(pc)) {
    TRY(poiseLUIsSymmetric(pc->ctx, &entries, &symmetric));
    result->singular = poiseLUCheckDefinite(&entries, symmetric);
    if (result->singular.what) return POISE_OK;
    KeepUpper(a);
  }
  TRY(Write(pc, a, &kept));
  TRY(Make(pc, a, only, &result->facts));
  return kept && !AreGood(&result->facts) ? MakeAnew(pc, a, &result->facts) : POISE_OK;
}

/* On the first rank. */
static PoiseErr FactorRows(PoisePC pc, const WholeRows *all, bool only, Result *result)
{
  Csr32 a = {0};
  PoiseErr e = Narrow(pc->ctx, all, &a);
  if (!e) e = FactorCsr(pc, &a, only, result);
  poiseFree(pc->ctx, &a.ptr);
  poiseFree(pc->ctx, &a.col);
  return e;
}

static PoiseErr Allocate(PoisePC pc)
{
  DeviceLU *lu = Of(pc);
  Device *dev = pc->ctx->device;
  pc->generation++;
  TRY(poiseFirstCreate(pc, &lu->first));
  size_t bytes = poiseOnFirst(pc) ? (size_t)lu->first.layout->N * sizeof(double) : 0;
  TRY(poiseBufferCreate(dev, bytes, "right-hand side of sparse factors", &lu->x));
  return poiseBufferCreate(dev, bytes, "solution of sparse factors", &lu->y);
}

static PoiseErr Check(PoisePC pc)
{
  const DeviceFacts *f = &Of(pc)->facts;
  if (f->of.refused)
    FAIL(POISE_ERR_NUMERIC,
         "cholesky: %s found a pivot that is not positive: the matrix is not positive definite",
         f->of.library);
  if (AreGood(f)) return POISE_OK;
  FAIL(POISE_ERR_NUMERIC,
       "%s: factors of %s, with %lld pivots replaced as they were too small, leave a residual of %g of a "
       "right-hand side of 1 and -1 (backward error %g): the matrix is singular, or wants row exchanges (%s "
       "superlu)",
       pc->type->name, f->of.library, (long long)f->of.replaced, f->residual, f->backward,
       poiseOptionsName(pc->ctx, pc->prefix, "pc_factor_solver"));
}

/* Collective; agrees. */
static PoiseErr Factor(PoisePC pc, bool only)
{
  WholeRows all = {0};
  Result result = {0};
  TRY(poiseFirstPrepare(pc, &Of(pc)->first, Allocate, Release));
  PoiseErr e = poiseFirstRows(pc, &Of(pc)->first, &all);
  if (!e) e = PoiseAgree(pc->ctx, poiseOnFirst(pc) ? FactorRows(pc, &all, only, &result) : POISE_OK);
  poiseWholeRowsDestroy(pc->ctx, &all);
  TRY(e);
  TRY(pc->ctx->comm->ops->bcast(pc->ctx->comm, &result, sizeof result, 0));
  Of(pc)->facts = result.facts;
  TRY(poiseLURefuse(pc, &result.singular));
  return only ? POISE_OK : Check(pc);
}

static PoiseErr SetUp_Device(PoisePC pc)
{
  return Factor(pc, false);
}

static PoiseErr Foresee_Device(PoisePC pc, double *entries, double *flops)
{
  if (!pc->built) TRY(Factor(pc, true));
  *entries = Of(pc)->facts.of.entries;
  *flops = Of(pc)->facts.of.flops;
  return POISE_OK;
}

/* ---- application ----------------------------------------------------------------------------- */

static PoiseErr Enqueue(PoisePC pc, PoiseVec r, PoiseVec z)
{
  const double *x;
  double *y;
  TRY(poiseVecRead(r, &x));
  TRY(poiseVecWrite(z, &y));
  return Solve(pc, x, y);
}

/* On several ranks, through the hosts. The exchanges take place whatever fails. */
static PoiseErr SolveOnFirst(PoisePC pc, PoiseVec r, PoiseVec z)
{
  DeviceLU *lu = Of(pc);
  const double *from = NULL, *y = NULL;
  double *to = NULL, *x = NULL;
  PoiseErr e = poiseBufferRead(&r->data, HOST, &from);
  if (!e) e = poiseBufferWrite(&z->data, HOST, &to);
  if (!e && poiseOnFirst(pc)) e = poiseBufferWrite(&lu->x, HOST, &x);
  TRY(PoiseAgree(pc->ctx, e));
  e = poiseFirstTake(pc, &lu->first, 1, from, x);
  if (!e && poiseOnFirst(pc)) e = SolveAll(pc);
  if (!e && poiseOnFirst(pc)) e = poiseBufferRead(&lu->y, HOST, &y);
  TRY(PoiseAgree(pc->ctx, e));
  return poiseFirstGive(pc, &lu->first, 1, y, to);
}

static PoiseErr Apply_Device(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse)
{
  TRY(PoiseSize(pc->ctx) > 1 ? SolveOnFirst(pc, r, z) : Enqueue(pc, r, z));
  return poiseVecFuse(z, skip, fuse);
}

static void Cost_Device(PoisePC pc, double *flops, double *bytes)
{
  double entries = poiseOnFirst(pc) ? Of(pc)->facts.of.entries : 0;
  *flops = 2 * entries;
  *bytes = 12 * entries;
}

static PoiseErr View_Device(PoisePC pc)
{
  const DeviceLU *lu = Of(pc);
  const DirectFacts *f = &lu->facts.of;
  if (!lu->first.layout || f->entries == 0) return POISE_OK;
  return poisePrint(
      pc->ctx,
      "  sparse factors of %lld rows by %s on the first rank's device, %.3g entries, %lld pivots "
      "replaced, %s bits in every run; backward error %.1e\n",
      (long long)lu->first.layout->N, f->library, f->entries, (long long)f->replaced,
      f->repeats ? "the same" : "perhaps other", lu->facts.backward);
}

static void Bytes_Device(PoisePC pc, PoiseBytes *sum)
{
  const DeviceLU *lu = Of(pc);
  const Buffer *all[] = {&lu->ptr, &lu->col, &lu->val, &lu->x, &lu->y};
  for (int k = 0; k < 5; k++) poiseBufferAdd(all[k], sum);
  sum->device += lu->plan.bytes;
}

static PoiseErr Predict_Device(PoisePC pc, const MatPlan *plan, PoisePrediction *p)
{
  (void)pc, (void)plan;
  p->beyond = "what the library of sparse factors asks for";
  return POISE_OK;
}

static void Destroy_Device(PoisePC pc)
{
  Release(pc);
}

static const char *Eager_Device(PoisePC pc)
{
  return PoiseSize(pc->ctx) > 1 ? "the first rank solves with sparse factors for all"
                                : "a library solves with sparse factors";
}

const PCType poiseLU_device = {
    .name = "cudss",
    .eager = Eager_Device,
    .setup = SetUp_Device,
    .foresee = Foresee_Device,
    .apply = Apply_Device,
    .cost = Cost_Device,
    .view = View_Device,
    .bytes = Bytes_Device,
    .predict = Predict_Device,
    .destroy = Destroy_Device,
};

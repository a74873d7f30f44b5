/* SPDX-License-Identifier: BSD-3-Clause */
/*
  What stands for a library on the mock device, so that plans are tested without a GPU. A plan holds what it
  was made for, and the kernels find out those of another matrix or of other factors.
*/
#include "mat/product/csr_kernels.h"
#include "mat/mat_device.h"
#include "factor_kernels.h"
#include "lu_kernels.h"
#include "pc_device.h"

static const char *const libraries[] = {"mock", NULL};

static void FreePlan(Device *dev, LibraryPlan *plan)
{
  poiseDeviceFree(dev, (size_t)plan->bytes, &plan->device);
  *plan = (LibraryPlan){0};
}

/* ---- products of csr ------------------------------------------------------------------------- */

static PoiseErr CsrPlan(Device *dev, int library, const CsrView *A, int64_t columns, LibraryPlan *plan)
{
  (void)library, (void)columns;
  TRY(dev->ops->sync(dev)); /* as a library may */
  TRY(poiseDeviceAlloc(dev, sizeof *A, "plan of a library", &plan->device));
  memcpy(plan->device, A, sizeof *A);
  plan->bytes = sizeof *A;
  return POISE_OK;
}

PoiseErr poiseHost_csr_library(Device *dev, const void *args)
{
  const CsrLibraryArgs *a = args;
  (void)dev;
  bool own = !memcmp(a->plan, &a->A, sizeof a->A);
  if (!own) FAIL(POISE_ERR_INTERNAL, "a library's product with the plan of another matrix");
  for (int64_t i = 0; i < a->A.m; i++) {
    double s = 0;
    int64_t k = poiseCsrOffset(&a->A, i), end = poiseCsrOffset(&a->A, i + 1);
    for (; k < end; k++) s += a->A.val[k] * a->x[a->A.col[k]];
    a->y[i] = s;
  }
  return POISE_OK;
}

extern const MatDevice poiseMatDevice_mock;
const MatDevice poiseMatDevice_mock = {
    .csr_libraries = libraries,
    .csr_plan = CsrPlan,
    .csr_plan_free = FreePlan,
};

/* ---- solves with factors --------------------------------------------------------------------- */

/* The plan keeps a copy of the values, so that new values that it is not told of are noticed. */
static PoiseErr FactorPlan(Device *dev, int library, const FactorView *f, LibraryPlan *plan)
{
  size_t bytes = sizeof *f + (size_t)f->t.nz * sizeof *f->lu;
  (void)library;
  TRY(dev->ops->sync(dev));
  if (!plan->device) TRY(poiseDeviceAlloc(dev, bytes, "plan of a library", &plan->device));
  plan->bytes = (int64_t)bytes;
  memcpy(plan->device, f, sizeof *f);
  if (f->t.nz) memcpy((char *)plan->device + sizeof *f, f->lu, bytes - sizeof *f);
  return POISE_OK;
}

PoiseErr poiseHost_factor_library(Device *dev, const void *args)
{
  const FactorLibraryArgs *a = args;
  const Triangles *t = &a->f.t;
  const double *lu = (const double *)((const FactorView *)a->plan + 1);
  (void)dev;
  bool own = !memcmp(a->plan, &a->f, sizeof a->f);
  if (!own) FAIL(POISE_ERR_INTERNAL, "a library's solve with the plan of other factors");
  for (int64_t i = 0; i < t->n; i++) {
    double sum = a->x[i];
    for (int64_t k = poiseOffset(t, t->begin, i); t->col[k] < i; k++) sum -= lu[k] * a->work[t->col[k]];
    a->work[i] = sum;
  }
  for (int64_t i = t->n - 1; i >= 0; i--) {
    double sum = a->work[i];
    for (int64_t k = poiseOffset(t, t->begin, i + 1) - 1; t->col[k] > i; k--) sum -= lu[k] * a->y[t->col[k]];
    a->y[i] = sum / lu[poiseOffset(t, t->diag, i)];
  }
  return POISE_OK;
}

/* ---- sparse factors -------------------------------------------------------------------------- */

typedef struct DirectPlan { /* dense factors */
  int64_t n;
  double *lu, *work;
  int32_t *pivot;
} DirectPlan;

static PoiseErr FindDirect(Device *dev)
{
  (void)dev;
  return POISE_OK;
}

static PoiseErr MakeDirect(Device *dev, int64_t n, LibraryPlan *plan)
{
  size_t bytes =
      sizeof(DirectPlan) + (size_t)n * ((size_t)n + 1) * sizeof(double) + (size_t)n * sizeof(int32_t);
  TRY(poiseDeviceAlloc(dev, bytes, "plan of a library", &plan->device));
  plan->bytes = (int64_t)bytes;
  DirectPlan *p = plan->device;
  p->n = n, p->lu = (double *)(p + 1), p->work = p->lu + n * n, p->pivot = (int32_t *)(p->work + n);
  return POISE_OK;
}

/* A pivot that is too small leaves factors that solve nothing. */
static PoiseErr Eliminate(Device *dev, const DirectView *A, DirectPlan *p, DirectFacts *facts)
{
  double refused[2];
  LuFactorArgs f = {p->n, A->definite, 1e-14, p->lu, p->pivot, refused};
  memset(p->lu, 0, (size_t)(p->n * p->n) * sizeof *p->lu);
  for (int64_t i = 0; i < p->n; i++)
    for (int32_t k = A->ptr[i]; k < A->ptr[i + 1]; k++) {
      p->lu[i * p->n + A->col[k]] = A->val[k];
      if (A->definite) p->lu[A->col[k] * p->n + i] = A->val[k];
    }
  TRY(poiseHost_lu_factor(dev, &f));
  facts->refused = A->definite && refused[0] >= 0;
  facts->replaced = !A->definite && refused[0] >= 0;
  if (refused[0] >= 0) p->lu[0] = NAN;
  return POISE_OK;
}

static PoiseErr PlanDirect(Device *dev, const DirectView *A, bool only, LibraryPlan *plan, DirectFacts *facts)
{
  double n = (double)A->n;
  *facts = (DirectFacts){"mock", n * n, 2 * n * n * n / 3, 0, 0, true};
  TRY(dev->ops->sync(dev));
  if (!plan->device) TRY(MakeDirect(dev, A->n, plan));
  PoiseErr e = only ? POISE_OK : Eliminate(dev, A, plan->device, facts);
  if (e) FreePlan(dev, plan);
  return e;
}

PoiseErr poiseHost_direct_solve(Device *dev, const void *args)
{
  const DirectSolveArgs *a = args;
  const DirectPlan *p = a->plan;
  LuSolveArgs s = {
      .n = p->n, .m = p->n, .lu = p->lu, .x = a->x, .pivot = p->pivot, .work = p->work, .y = a->y};
  if (p->n != a->n) FAIL(POISE_ERR_INTERNAL, "a library's solve with the plan of another matrix");
  TRY(poiseHost_lu_solve(dev, &s));
  for (int64_t i = 0; i < a->n; i++) a->y[i] *= a->scale;
  return POISE_OK;
}

extern const PCDevice poisePCDevice_mock;
const PCDevice poisePCDevice_mock = {
    .factor_libraries = libraries,
    .factor_plan = FactorPlan,
    .factor_plan_free = FreePlan,
    .direct_find = FindDirect,
    .direct_plan = PlanDirect,
    .direct_plan_free = FreePlan,
};

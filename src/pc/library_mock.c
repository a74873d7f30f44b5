/* SPDX-License-Identifier: BSD-3-Clause */
/*
  What stands for a library on the mock device, so that plans are tested without a GPU. A plan holds what it
  was made for, and the kernels find out those of another matrix or of other factors.
*/
#include "mat/product/csr_kernels.h"
#include "mat/mat_device.h"
#include "factor_kernels.h"
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

extern const PCDevice poisePCDevice_mock;
const PCDevice poisePCDevice_mock = {
    .factor_libraries = libraries,
    .factor_plan = FactorPlan,
    .factor_plan_free = FreePlan,
};

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Solves with incomplete factors by a few Jacobi sweeps, each a product with a triangle (Anzt, Chow and
  Dongarra 2015, "Iterative sparse triangular solves for preconditioning"). With L = I + N and U = D (I + N'),
    y_0 = r, y_m+1 = r - N y_m;    z_0 = D^-1 y, z_m+1 = D^-1 y - N' z_m.
  So M^-1 = p(N') D^-1 p(N) with the same polynomial p for both. For icc N' is the transpose of N: M is
  symmetric, and positive definite if D is. The factors hold N' (kernel factor_scale).

  Products in an application: `sweeps` with each triangle. Each also reads x and the latest vector, and writes
  one.
*/
#include "factor.h"
#include "jacobi_sweeps.h"
#include "triangles.h"
#include "blocks_kernels.h"
#include "jacobi_sweeps_kernels.h"
#include "pc_device.h"
#include "triangle_entries_kernels.h"
#include "triangles_host.h"

PoiseErr poiseJacobiSweepsCheck(PoisePC pc)
{
  const Incomplete *f = pc->data;
  if (!f->sweeps || !f->library) return POISE_OK;
  FAIL(POISE_ERR_UNSUPPORTED, "%s: %s %s solves exactly, and %s asks for %d sweeps: choose one",
       pc->type->name, poiseOptionsName(pc->ctx, pc->prefix, "pc_factor_kernel"), f->kernel,
       poiseOptionsName(pc->ctx, pc->prefix, "pc_factor_sweeps"), (int)f->sweeps);
}

PoiseErr poiseJacobiSweepsScale(PoisePC pc)
{
  Incomplete *f = pc->data;
  FactorSweepArgs a = {.n = f->triangular.n};
  const double *d;
  if (!poiseFactorProducts(f)) return POISE_OK;
  TRY(poiseTriangularView(pc, &f->triangular, DEVICE, &a.f.t));
  TRY(poiseBufferRead(&f->d, DEVICE, &d));
  TRY(poiseBufferUpdate(&f->lu, DEVICE, &a.f.lu));
  a.f.d = (double *)d; /* read alone */
  return LAUNCH(pc->ctx->device, factor_scale, &a);
}

/* z_0 = D^-1 y of blocks. */
static PoiseErr Divide(PoisePC pc, Incomplete *f, const double *skip, const double *y, double *z)
{
  int b = f->triangular.b;
  BlockApplyArgs a = {.n = f->triangular.n * b, .b = b, .x = y, .y = z, .skip = skip};
  TRY(poiseBufferRead(&f->d, DEVICE, &a.d));
  return LAUNCH(pc->ctx->device, block_apply, &a);
}

PoiseErr poiseJacobiSweepsApply(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse)
{
  Incomplete *f = pc->data;
  Device *dev = pc->ctx->device;
  JacobiSweepArgs a = {.skip = skip};
  const double *d;
  double *work[2], *result;
  PoiseInt sweeps = poiseFactorProducts(f);
  int at = 0; /* the vector that is written next */
  TRY(poiseTriangularView(pc, &f->triangular, DEVICE, &a.t));
  TRY(poiseBufferRead(f->triangles == TRIANGLES_ISAI ? &f->inverse : &f->lu, DEVICE, &a.val));
  TRY(poiseBufferRead(&f->d, DEVICE, &d));
  for (int k = 0; k < 2; k++) TRY(poiseBufferWrite(&f->work[k], DEVICE, &work[k]));
  TRY(poiseVecRead(r, &a.x));
  TRY(skip ? poiseVecUpdate(z, &result) : poiseVecWrite(z, &result)); /* skipped, z keeps its content */
  a.from = a.x;
  for (PoiseInt m = 1; m <= sweeps; m++, at = !at) {
    if (m == sweeps && !a.t.b) a.d = d;
    a.y = work[at];
    TRY(LAUNCH(dev, jacobi_sweep, &a));
    a.from = a.y;
  }
  if (a.t.b) {
    TRY(Divide(pc, f, skip, a.from, work[at]));
    a.from = work[at], at = !at;
  }
  a.x = a.from, a.d = NULL, a.upper = 1;
  for (PoiseInt m = sweeps; m >= 1; m--) {
    a.y = m % 2 ? result : work[at]; /* the last one is z's */
    if (m == 1 && fuse) a.fuse = *fuse;
    TRY(LAUNCH(dev, jacobi_sweep, &a));
    a.from = a.y;
  }
  return POISE_OK;
}

/* ---- host kernel ----------------------------------------------------------------------------- */

static void Rows(const void *args, int64_t begin, int64_t end)
{
  const JacobiSweepArgs *a = args;
  const Triangles *t = &a->t;
  for (int64_t i = begin; i < end; i++) {
    int64_t k = a->upper ? poiseOffset(t, t->diag, i) + 1 : poiseOffset(t, t->begin, i),
            last = poiseOffset(t, a->upper ? t->end : t->diag, i);
    double sum = a->x[i];
    for (; k < last; k++) sum -= a->val[k] * a->from[t->col[k]];
    a->y[i] = a->d ? a->d[i] * sum : sum;
  }
}

/* Blocks of rows may end in blocks of dots, whose numbers are therefore waited for. */
PoiseErr poiseHost_jacobi_sweep(Device *dev, const void *args)
{
  const JacobiSweepArgs *a = args;
  HostRows *rows = a->t.b ? poiseHostJacobiBlocks(a->t.b) : Rows;
  int64_t b = a->t.b ? a->t.b : 1, n = a->t.n * b, nblock = POISE_NBLOCKS(n), step = POISE_BLOCK / b;
  int64_t parts = (a->t.n + step - 1) / step;
  (void)dev;
  if (a->skip && *a->skip != 0) return POISE_OK;
  HOST_PARALLEL_FOR(dev, parts)
  for (int64_t q = 0; q < parts; q++) {
    int64_t begin = q * step, end = begin + step < a->t.n ? begin + step : a->t.n;
    rows(a, begin, end);
    if (b == 1) poiseHostFuse(&a->fuse, a->y, begin, end, q);
  }
  if (b == 1 || !a->fuse.ndot) return POISE_OK;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t k = 0; k < nblock; k++) {
    int64_t begin = k * POISE_BLOCK, end = begin + POISE_BLOCK < n ? begin + POISE_BLOCK : n;
    poiseHostFuse(&a->fuse, a->y, begin, end, k);
  }
  return POISE_OK;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Incomplete factors by sweeps over their entries: those of triangle_entries_kernels.h, one after the other.
   A sweep reads what the one before has left, so bits repeat. The first one starts from A; so does a new
   factorisation, as M is then a function of A alone. Nothing goes to the host. */
#include "factor.h"
#include "factor_sweeps.h"
#include "pc_device.h"
#include "triangle_entries_kernels.h"

PoiseErr poiseFactorSweepsCheck(PoisePC pc)
{
  const Incomplete *f = pc->data;
  if (!f->setup_sweeps || !f->triangular.b) return POISE_OK;
  FAIL(POISE_ERR_UNSUPPORTED,
       "%s: %s takes numbers, and the matrix has blocks of %d x %d: use -mat_type csr, or 0 sweeps",
       pc->type->name, poiseOptionsName(pc->ctx, pc->prefix, "pc_factor_setup_sweeps"), f->triangular.b,
       f->triangular.b);
}

PoiseErr poiseFactorSweeps(PoisePC pc, const FactorArgs *factor)
{
  Incomplete *f = pc->data;
  Device *dev = pc->ctx->device;
  FactorSweepArgs a = {.n = factor->t.n, .f = *factor, .mirrored = f->mirrored};
  double *from = factor->lu; /* s of the sweep before; with two arrays the last sweep writes to lu */
  if (!factor->symmetric) TRY(poiseBufferWrite(&f->other, DEVICE, &from));
  double *to = factor->lu;
  if (f->setup_sweeps % 2 == 0) to = from, from = factor->lu;
  a.next = from, a.f.lu = from;
  TRY(LAUNCH(dev, factor_start, &a));
  for (PoiseInt m = 0; m < f->setup_sweeps; m++) {
    a.f.lu = from, a.next = to;
    TRY(LAUNCH(dev, factor_sweep, &a));
    TRY(LAUNCH(dev, factor_pivots, &a));
    to = from, from = a.next;
  }
  a.f.lu = factor->lu;
  TRY(LAUNCH(dev, factor_divide, &a));
  return LAUNCH(dev, factor_judge, &a);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Solves with incomplete factors by a library of the device, as an alternative to our own sweeps. A plan is
  made once per pattern, and takes new values. No library promises that such solves can be captured. So they
  make a solver's loop eager, and need not be skipped.
*/
#include "factor_kernels.h"
#include "factor.h"
#include "factor_library.h"
#include "triangles.h"
#include "pc_device.h"

const char *poiseFactorLibraryName(PoisePC pc)
{
  const Incomplete *f = pc->data;
  return f->library ? poiseFactorLibraries(pc->ctx->device)[f->library - 1] : "own";
}

const char *poiseFactorEager(PoisePC pc)
{
  return ((Incomplete *)pc->data)->library ? "a library solves with the preconditioner's factors" : NULL;
}

void poiseFactorLibraryDrop(PoisePC pc)
{
  Incomplete *f = pc->data;
  if (f->planned) pc->ctx->device->ops->pc->factor_plan_free(pc->ctx->device, &f->plan);
  f->planned = 0;
}

PoiseErr poiseFactorLibraryFind(PoisePC pc)
{
  Incomplete *f = pc->data;
  const Device *dev = pc->ctx->device;
  const char *option = poiseOptionsName(pc->ctx, pc->prefix, "pc_factor_kernel");
  int library;
  TRY(poiseDeviceLibrary(dev, poiseFactorLibraries(dev), f->kernel, option, &library));
  if (library != f->library) poiseFactorLibraryDrop(pc);
  f->library = library;
  return POISE_OK;
}

PoiseErr poiseFactorLibraryCheck(PoisePC pc)
{
  const Incomplete *f = pc->data;
  const char *option = poiseOptionsName(pc->ctx, pc->prefix, "pc_factor_kernel");
  if (!f->library) return POISE_OK;
  if (f->triangular.b)
    FAIL(POISE_ERR_UNSUPPORTED,
         "%s: %s %s takes scalars, and the matrix has blocks of %d x %d: use own, or -mat_type csr",
         pc->type->name, option, f->kernel, f->triangular.b, f->triangular.b);
  if (f->triangular.end.dev)
    FAIL(POISE_ERR_UNSUPPORTED,
         "%s: %s %s takes whole rows, and those of rank %d have columns of other ranks: use own, or "
         "-pc_type bjacobi -sub_pc_factor_kernel %s, which copies the block",
         pc->type->name, option, f->kernel, PoiseRank(pc->ctx), f->kernel);
  return POISE_OK;
}

static PoiseErr View(PoisePC pc, Incomplete *f, FactorView *view)
{
  TRY(poiseTriangularView(pc, &f->triangular, DEVICE, &view->t));
  return poiseBufferRead(&f->lu, DEVICE, &view->lu);
}

PoiseErr poiseFactorLibraryPlan(PoisePC pc)
{
  Incomplete *f = pc->data;
  Device *dev = pc->ctx->device;
  FactorView view;
  if (!f->library) return POISE_OK;
  if (f->planned != f->triangular.built) poiseFactorLibraryDrop(pc);
  TRY(poiseTriangularNeedWork(pc, &f->triangular, 1));
  TRY(View(pc, f, &view));
  PoiseErr e = dev->ops->pc->factor_plan(dev, f->library - 1, &view, &f->plan);
  f->planned = e ? 0 : f->triangular.built;
  return e;
}

PoiseErr poiseFactorLibraryApply(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse)
{
  Incomplete *f = pc->data;
  FactorLibraryArgs a = {.plan = f->plan.device};
  TRY(View(pc, f, &a.f));
  TRY(poiseTriangularWork(&f->triangular, &a.work));
  TRY(poiseVecRead(r, &a.x));
  TRY(poiseVecWrite(z, &a.y));
  TRY(LAUNCH(pc->ctx->device, factor_library, &a));
  return poiseVecFuse(z, skip, fuse);
}

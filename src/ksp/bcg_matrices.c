/* SPDX-License-Identifier: BSD-3-Clause */
/* The k x k matrices of block conjugate gradients. */
#include "bcg.h"
#include "methods.h"
#include "solve.h"

static BcgArgs Arguments(PoiseKSP ksp, const double *sums, int flags)
{
  return (BcgArgs){.k = ksp->systems.n,
                   .flags = flags,
                   .sums = sums,
                   .matrices = poiseKSPShared(ksp),
                   .slots = ksp->scalars.slots,
                   .skip = poiseKSPSlot(ksp, SLOT_SEEN),
                   .systems = ksp->systems};
}

void poiseKSPBcgStep(PoiseKSP ksp, const double *G)
{
  BcgArgs a = Arguments(ksp, G, 0);
  poiseKSPFailed(ksp, LAUNCH(ksp->ctx->device, bcg_step, &a));
}

void poiseKSPBcgFactor(PoiseKSP ksp, const double *G, int flags)
{
  BcgArgs a = Arguments(ksp, G, flags);
  poiseKSPFailed(ksp, LAUNCH(ksp->ctx->device, bcg_factor, &a));
}

/* ---- host kernels ---------------------------------------------------------------------------- */

PoiseErr poiseHost_bcg_step(Device *dev, const void *args)
{
  const BcgArgs *a = args;
  BcgScratch s;
  (void)dev;
  if (!a->skip || *a->skip == 0) poiseBcgStep(a, &s, 0, 1);
  return POISE_OK;
}

PoiseErr poiseHost_bcg_factor(Device *dev, const void *args)
{
  const BcgArgs *a = args;
  BcgScratch s;
  (void)dev;
  if (!a->skip || *a->skip == 0) poiseBcgAfter(a, &s, 0, 1);
  return POISE_OK;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* PC none: M = I. */
#include "blocks.h"

static PoiseErr Apply_None(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse)
{
  return poiseBlocksApply(pc, NULL, r, z, skip, fuse);
}

static PoiseErr Pointwise_None(PoisePC pc, const double **d)
{
  (void)pc;
  *d = NULL;
  return POISE_OK;
}

const PCType poisePCType_none = {
    .name = "none", .transpose = PC_SYMMETRIC, .apply = Apply_None, .pointwise = Pointwise_None};

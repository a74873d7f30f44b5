/* SPDX-License-Identifier: BSD-3-Clause */
/* PC ilu: M = L U, incomplete factors without fill of the block that a rank owns. */
#include "pc.h"

static const PoiseOption options[] = {POISE_FACTOR_OPTIONS("none"), {0}};

static PoiseErr SetUp_ILU(PoisePC pc)
{
  return poiseFactorSetup(pc, false);
}

const PCType poisePCType_ilu = {
    .name = "ilu",
    .size = sizeof(Factor),
    .options = options,
    .setup = SetUp_ILU,
    .apply = poiseFactorApply,
    .cost = poiseFactorCost,
    .view = poiseFactorView,
    .destroy = poiseFactorDestroy,
};

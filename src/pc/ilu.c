/* SPDX-License-Identifier: BSD-3-Clause */
/* PC ilu: M = L U, incomplete factors without fill of the block that each rank owns. */
#include "pc.h"

static const PoiseOption options[] = {
    FACTOR_SHIFT_TYPE("none"), FACTOR_SHIFT_AMOUNT, FACTOR_ZERO_PIVOT, FACTOR_KERNEL, {0}};

static PoiseErr SetUp_ILU(PoisePC pc)
{
  return poiseFactorSetup(pc, false);
}

const PCType poisePCType_ilu = {
    .name = "ilu",
    .size = sizeof(Incomplete),
    .options = options,
    .eager = poiseFactorEager,
    .setup = SetUp_ILU,
    .apply = poiseFactorApply,
    .cost = poiseFactorCost,
    .view = poiseFactorView,
    .bytes = poiseFactorBytes,
    .predict = poiseFactorPredict,
    .destroy = poiseFactorDestroy,
};

/* SPDX-License-Identifier: BSD-3-Clause */
/* PC ilu: M = L U, incomplete factors without fill of the block that each rank owns. */
#include "factor.h"

static const PoiseOption options[] = {FACTOR_OPTIONS("none"), {0}};

static PoiseErr SetUp_ILU(PoisePC pc)
{
  return poiseFactorSetup(pc, false);
}

static PoiseErr Predict_ILU(PoisePC pc, const MatPlan *plan, PoisePrediction *p)
{
  return poiseFactorPredict(pc, false, plan, p);
}

const PCType poisePCType_ilu = {
    .name = "ilu",
    .transpose = PC_OF_TRANSPOSE,
    .size = sizeof(Incomplete),
    .options = options,
    .eager = poiseFactorEager,
    .setup = SetUp_ILU,
    .apply = poiseFactorApply,
    .apply_columns = poiseFactorApply,
    .takes_columns = poiseFactorTakesColumns,
    .ready_columns = poiseFactorReadyColumns,
    .cost = poiseFactorCost,
    .once = poiseFactorOnce,
    .view = poiseFactorView,
    .bytes = poiseFactorBytes,
    .predict = Predict_ILU,
    .destroy = poiseFactorDestroy,
};

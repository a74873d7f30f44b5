/* SPDX-License-Identifier: BSD-3-Clause */
/* PC icc: M = U^T D U, the symmetric counterpart of ilu. It takes half the work of ilu, and M is
   symmetric. */
#include "factor.h"

static const PoiseOption options[] = {FACTOR_OPTIONS("positive_definite"), {0}};

static PoiseErr SetUp_ICC(PoisePC pc)
{
  return poiseFactorSetup(pc, true);
}

static PoiseErr Predict_ICC(PoisePC pc, const MatPlan *plan, PoisePrediction *p)
{
  return poiseFactorPredict(pc, true, plan, p);
}

const PCType poisePCType_icc = {
    .name = "icc",
    .transpose = PC_SYMMETRIC,
    .size = sizeof(Incomplete),
    .options = options,
    .eager = poiseFactorEager,
    .setup = SetUp_ICC,
    .apply = poiseFactorApply,
    .apply_columns = poiseFactorApply,
    .takes_columns = poiseFactorTakesColumns,
    .ready_columns = poiseFactorReadyColumns,
    .cost = poiseFactorCost,
    .once = poiseFactorOnce,
    .view = poiseFactorView,
    .bytes = poiseFactorBytes,
    .predict = Predict_ICC,
    .destroy = poiseFactorDestroy,
};

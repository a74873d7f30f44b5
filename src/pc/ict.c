/* SPDX-License-Identifier: BSD-3-Clause */
/* PC ict: M = U^T D^-1 U, the symmetric counterpart of ilut. */
#include "factor.h"

static const PoiseOption options[] = {
    FACTOR_DROP_TOL,     FACTOR_FILL,       FACTOR_SHIFT_TYPE("positive_definite"),
    FACTOR_SHIFT_AMOUNT, FACTOR_ZERO_PIVOT, FACTOR_KERNEL,
    FACTOR_SWEEPS,       FACTOR_TRIANGLES,  {0},
};

static PoiseErr SetUp_ICT(PoisePC pc)
{
  return poiseFactorSetup(pc, true);
}

static PoiseErr Predict_ICT(PoisePC pc, const MatPlan *plan, PoisePrediction *p)
{
  return poiseFactorPredict(pc, true, plan, p);
}

const PCType poisePCType_ict = {
    .name = "ict",
    .transpose = PC_SYMMETRIC,
    .size = sizeof(Incomplete),
    .options = options,
    .eager = poiseFactorEager,
    .setup = SetUp_ICT,
    .apply = poiseFactorApply,
    .apply_columns = poiseFactorApply,
    .takes_columns = poiseFactorTakesColumns,
    .ready_columns = poiseFactorReadyColumns,
    .cost = poiseFactorCost,
    .once = poiseFactorOnce,
    .view = poiseFactorView,
    .bytes = poiseFactorBytes,
    .predict = Predict_ICT,
    .destroy = poiseFactorDestroy,
};

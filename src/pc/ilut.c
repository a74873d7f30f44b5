/* SPDX-License-Identifier: BSD-3-Clause */
/* PC ilut: M = L U, incomplete factors by thresholds of the block that each rank owns; with pivoting
   M = L U Q^T (ILUTP). */
#include "factor.h"

static const PoiseOption options[] = {
    FACTOR_DROP_TOL,
    FACTOR_FILL,
    {"pc_factor_pivoting", POISE_OPTION_REAL, offsetof(Incomplete, pivoting), "0", 0, 1, NULL,
     "an entry of a row becomes its pivot if this times its size is more than that of the diagonal entry; 0: "
     "never"},
    FACTOR_SHIFT_TYPE("none"),
    FACTOR_SHIFT_AMOUNT,
    FACTOR_ZERO_PIVOT,
    FACTOR_KERNEL,
    FACTOR_SWEEPS,
    FACTOR_TRIANGLES,
    {0},
};

static PoiseErr SetUp_ILUT(PoisePC pc)
{
  return poiseFactorSetup(pc, false);
}

static PoiseErr Predict_ILUT(PoisePC pc, const MatPlan *plan, PoisePrediction *p)
{
  return poiseFactorPredict(pc, false, plan, p);
}

const PCType poisePCType_ilut = {
    .name = "ilut",
    .size = sizeof(Incomplete),
    .options = options,
    .eager = poiseFactorEager,
    .setup = SetUp_ILUT,
    .apply = poiseFactorApply,
    .apply_columns = poiseFactorApply,
    .takes_columns = poiseFactorTakesColumns,
    .ready_columns = poiseFactorReadyColumns,
    .cost = poiseFactorCost,
    .once = poiseFactorOnce,
    .view = poiseFactorView,
    .bytes = poiseFactorBytes,
    .predict = Predict_ILUT,
    .destroy = poiseFactorDestroy,
};

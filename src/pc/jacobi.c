/* SPDX-License-Identifier: BSD-3-Clause */
/* PC jacobi: M = diag(P). */
#include "blocks.h"

typedef struct Jacobi {
  Blocks blocks;
  int fix;
} Jacobi;

static const PoiseOption options[] = {
    {"pc_jacobi_fixdiagonal", POISE_OPTION_BOOL, offsetof(Jacobi, fix), "no", 0, 0, NULL,
     "take zero or missing diagonal entries as 1 instead of failing"},
    {0},
};

static PoiseErr SetUp_Jacobi(PoisePC pc)
{
  Jacobi *j = pc->data;
  return poiseBlocksSetup(pc, &j->blocks, 1, j->fix);
}

static PoiseErr Apply_Jacobi(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse)
{
  Jacobi *j = pc->data;
  return poiseBlocksApply(pc, &j->blocks, r, z, skip, fuse);
}

static PoiseErr Pointwise_Jacobi(PoisePC pc, const double **d)
{
  Jacobi *j = pc->data;
  return poiseBufferRead(&j->blocks.inverse, DEVICE, d);
}

static void Bytes_Jacobi(PoisePC pc, PoiseBytes *sum)
{
  const Jacobi *j = pc->data;
  poiseBlocksBytes(&j->blocks, sum);
}

static PoiseErr Predict_Jacobi(PoisePC pc, const MatPlan *plan, PoisePrediction *p)
{
  (void)plan;
  poiseBlocksPredict(pc, 1, p);
  return POISE_OK;
}

static void Destroy_Jacobi(PoisePC pc)
{
  Jacobi *j = pc->data;
  poiseBlocksDestroy(&j->blocks);
}

const PCType poisePCType_jacobi = {
    .name = "jacobi",
    .transpose = PC_SYMMETRIC,
    .size = sizeof(Jacobi),
    .options = options,
    .setup = SetUp_Jacobi,
    .apply = Apply_Jacobi,
    .pointwise = Pointwise_Jacobi,
    .bytes = Bytes_Jacobi,
    .predict = Predict_Jacobi,
    .destroy = Destroy_Jacobi,
};

/* SPDX-License-Identifier: BSD-3-Clause */
/* PC pbjacobi: M = the diagonal blocks of P, of the matrix's block size (point-block Jacobi). */
#include "blocks.h"

static PoiseErr SetUp_PBJacobi(PoisePC pc)
{
  return poiseBlocksSetup(pc, pc->data, pc->P->block_size, false);
}

static PoiseErr Apply_PBJacobi(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse)
{
  return poiseBlocksApply(pc, pc->data, r, z, skip, fuse);
}

static PoiseErr Blocks_PBJacobi(PoisePC pc, const double **d, int64_t *b)
{
  return poiseBlocksShow(pc->data, d, b);
}

static void Cost_PBJacobi(PoisePC pc, double *flops, double *bytes)
{
  const Blocks *k = pc->data;
  *flops = 2.0 * k->b * (double)k->n;
  *bytes = 8.0 * (k->b + 2) * (double)k->n;
}

static double Once_PBJacobi(PoisePC pc)
{
  const Blocks *k = pc->data;
  return 8.0 * k->b * (double)k->n;
}

static PoiseErr View_PBJacobi(PoisePC pc)
{
  const Blocks *k = pc->data;
  return poisePrint(pc->ctx, "  blocks of %d x %d\n", k->b, k->b);
}

static void Bytes_PBJacobi(PoisePC pc, PoiseBytes *sum)
{
  poiseBlocksBytes(pc->data, sum);
}

static PoiseErr Predict_PBJacobi(PoisePC pc, const MatPlan *plan, PoisePrediction *p)
{
  (void)plan;
  poiseBlocksPredict(pc, pc->P->block_size, p);
  return POISE_OK;
}

static void Destroy_PBJacobi(PoisePC pc)
{
  poiseBlocksDestroy(pc->data);
}

const PCType poisePCType_pbjacobi = {
    .name = "pbjacobi",
    .transpose = PC_OF_TRANSPOSE,
    .size = sizeof(Blocks),
    .setup = SetUp_PBJacobi,
    .apply = Apply_PBJacobi,
    .apply_columns = Apply_PBJacobi,
    .blocks = Blocks_PBJacobi,
    .cost = Cost_PBJacobi,
    .once = Once_PBJacobi,
    .view = View_PBJacobi,
    .bytes = Bytes_PBJacobi,
    .predict = Predict_PBJacobi,
    .destroy = Destroy_PBJacobi,
};

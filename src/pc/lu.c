/* SPDX-License-Identifier: BSD-3-Clause */
/*
  PC lu: M = P, by factors with partial pivoting: dense ones (lu_dense.c), or sparse ones of SuperLU
  (lu_sparse.c). PC cholesky is the same for a P that is symmetric positive definite: no rows are exchanged,
  and the pivots tell whether P is definite. Its factors are L and U too.

  By itself it takes dense factors where these are small, as a dense solve is fast and never leaves the
  device. A dense factorisation of n rows takes 2/3 n^3 flops, and a sparse one often n^1.5 to n^2.
*/
#include "mat/csr/entries.h"
#include "lu.h"

enum { SMALL = 512 }; /* 2 MB, and 0.1 Gflop */

static const PoiseOption options[] = {
    {"pc_factor_solver", POISE_OPTION_CHOICE, offsetof(LU, solver), "auto", 0, 0, "auto|dense|superlu",
     "what factors: dense factors on the device, or sparse ones on the host, by SuperLU"},
    {"pc_lu_max_size", POISE_OPTION_INT, offsetof(LU, max_size), "4096", 1, 1e6, NULL,
     "maximum number of rows of dense factors, which are on every rank"},
    {"pc_factor_zeropivot", POISE_OPTION_REAL, offsetof(LU, zero_pivot), "2.220446049250313e-14", 0, 1e300,
     NULL, "pivots of dense factors up to this count as zero"},
    {0},
};

/* The same on all ranks. */
static const PCType *Choose(PoisePC pc)
{
  const LU *lu = pc->data;
  PoiseInt most = pc->ctx->device->ops->is_host && SMALL < lu->max_size ? SMALL : lu->max_size;
  if (lu->solver != LU_AUTO) return lu->solver == LU_DENSE ? &poiseLU_dense : &poiseLU_sparse;
  return pc->P->rows->N <= most || !poiseSuperLUIsThere() ? &poiseLU_dense : &poiseLU_sparse;
}

/* What factors, chosen anew. */
static const PCType *Chosen(PoisePC pc)
{
  LU *lu = pc->data;
  const PCType *how = Choose(pc);
  if (lu->how && lu->how != how) lu->how->destroy(pc), pc->generation++;
  return lu->how = how;
}

static PoiseErr CheckSquare(PoisePC pc)
{
  TRY(poisePCCheckStored(pc));
  return poiseMatCheckSquare(pc->P);
}

static PoiseErr SetUp_LU(PoisePC pc)
{
  TRY(PoiseAgree(pc->ctx, CheckSquare(pc)));
  return Chosen(pc)->setup(pc);
}

static PoiseErr Foresee_LU(PoisePC pc, double *entries, double *flops)
{
  TRY(PoiseAgree(pc->ctx, CheckSquare(pc)));
  return Chosen(pc)->foresee(pc, entries, flops);
}

static PoiseErr Apply_LU(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse)
{
  return ((LU *)pc->data)->how->apply(pc, r, z, skip, fuse);
}

static void Cost_LU(PoisePC pc, double *flops, double *bytes)
{
  ((LU *)pc->data)->how->cost(pc, flops, bytes);
}

static PoiseErr View_LU(PoisePC pc)
{
  const LU *lu = pc->data;
  return lu->how ? lu->how->view(pc) : POISE_OK;
}

static void Bytes_LU(PoisePC pc, PoiseBytes *sum)
{
  const LU *lu = pc->data;
  if (lu->how) lu->how->bytes(pc, sum);
}

static PoiseErr Predict_LU(PoisePC pc, const MatPlan *plan, PoisePrediction *p)
{
  TRY(CheckSquare(pc));
  return Choose(pc)->predict(pc, plan, p);
}

static void Destroy_LU(PoisePC pc)
{
  LU *lu = pc->data;
  if (lu->how) lu->how->destroy(pc);
}

static const char *Eager_LU(PoisePC pc)
{
  const LU *lu = pc->data;
  return (lu->how ? lu->how : Choose(pc))->eager(pc);
}

const PCType poisePCType_lu = {
    .name = "lu",
    .transpose = PC_OF_TRANSPOSE,
    .size = sizeof(LU),
    .options = options,
    .eager = Eager_LU,
    .setup = SetUp_LU,
    .foresee = Foresee_LU,
    .apply = Apply_LU,
    .cost = Cost_LU,
    .view = View_LU,
    .bytes = Bytes_LU,
    .predict = Predict_LU,
    .destroy = Destroy_LU,
};

const PCType poisePCType_cholesky = {
    .name = "cholesky",
    .transpose = PC_SYMMETRIC,
    .size = sizeof(LU),
    .options = options,
    .eager = Eager_LU,
    .setup = SetUp_LU,
    .foresee = Foresee_LU,
    .apply = Apply_LU,
    .cost = Cost_LU,
    .view = View_LU,
    .bytes = Bytes_LU,
    .predict = Predict_LU,
    .destroy = Destroy_LU,
};

bool poiseLUIsDefinite(PoisePC pc)
{
  return pc->type == &poisePCType_cholesky;
}

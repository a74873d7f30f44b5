/* SPDX-License-Identifier: BSD-3-Clause */
/*
  PC ksp: z = the result of a solver on all ranks for P z = r from a zero guess (options -ksp_ksp_...,
  -ksp_pc_...), as PETSc's PCKSP. It is a linear operator only if it runs a fixed number of linear iterations
  (poiseKSPVaries). Otherwise the outer method must be flexible.
*/
#include "ksp/inside.h"

typedef struct Inner {
  PoiseKSP ksp;
  int64_t configured;
} Inner;

/* Collective; agrees. */
static PoiseErr Make(PoisePC pc)
{
  Inner *inner = pc->data;
  char prefix[POISE_OPTION_LENGTH];
  if (!inner->ksp) {
    TRY(poisePCInnerPrefix(pc, "ksp_", prefix)); /* of the same length on all ranks */
    TRY(PoiseKSPCreate(pc->ctx, &inner->ksp));
    poiseKSPSetInside(inner->ksp);
    PoiseErr e = PoiseKSPSetOptionsPrefix(inner->ksp, prefix);
    if (e) poiseKSPDestroy(&inner->ksp);
    TRY(e);
  }
  if (inner->configured == pc->configured) return POISE_OK;
  TRY(PoiseKSPSetFromOptions(inner->ksp));
  inner->configured = pc->configured;
  return POISE_OK;
}

static PoiseErr SetUp_KSP(PoisePC pc)
{
  Inner *inner = pc->data;
  TRY(Make(pc));
  return PoiseKSPSetOperators(inner->ksp, pc->P, NULL);
}

static PoiseErr Reads_KSP(PoisePC pc, Reads *reads)
{
  const Inner *inner = pc->data;
  TRY(Make(pc));
  return poiseKSPReads(inner->ksp, reads);
}

static PoiseErr Ready_KSP(PoisePC pc, bool keep)
{
  Inner *inner = pc->data;
  TRY(Make(pc));
  TRY(poiseKSPCheckInside(inner->ksp, pc->P));
  TRY(poiseKSPReady(inner->ksp, poisePCSource(pc), keep, pc->exact));
  poisePCInside(pc, poiseKSPGeneration(inner->ksp), inner->ksp->pc->builds);
  return POISE_OK;
}

static PoiseErr Apply_KSP(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse)
{
  const Inner *inner = pc->data;
  return poiseKSPApply(inner->ksp, r, z, skip, fuse);
}

static const char *Eager_KSP(PoisePC pc)
{
  const Inner *inner = pc->data;
  return inner->ksp ? poiseKSPAppliesEagerly(inner->ksp) : NULL;
}

static bool Varies_KSP(PoisePC pc, Varying *why)
{
  return poiseKSPVaries(((const Inner *)pc->data)->ksp, "ksp", why);
}

static void Cost_KSP(PoisePC pc, double *flops, double *bytes)
{
  (void)pc;
  *flops = *bytes = 0; /* nested events count */
}

static PoiseErr View_KSP(PoisePC pc)
{
  const Inner *inner = pc->data;
  return inner->ksp ? PoiseKSPView(inner->ksp) : POISE_OK;
}

static void Bytes_KSP(PoisePC pc, PoiseBytes *sum)
{
  poiseKSPAddBytes(((const Inner *)pc->data)->ksp, NULL, sum);
}

static PoiseErr Predict_KSP(PoisePC pc, const MatPlan *plan, PoisePrediction *p)
{
  Inner *inner = pc->data;
  TRY(Make(pc));
  if (inner->ksp->A != poisePCSource(pc)) TRY(PoiseKSPSetOperators(inner->ksp, poisePCSource(pc), NULL));
  return poiseKSPPredictInside(inner->ksp, plan->counts, p);
}

static void Destroy_KSP(PoisePC pc)
{
  Inner *inner = pc->data;
  poiseKSPDestroy(&inner->ksp);
}

static PoiseErr Inherit_KSP(PoisePC from, PoisePC to)
{
  TRY(Make(from)); /* reads its options */
  TRY(Make(to));
  return poiseKSPTakeInside(((const Inner *)from->data)->ksp, ((Inner *)to->data)->ksp);
}

const PCType poisePCType_ksp = {
    .name = "ksp",
    .size = sizeof(Inner),
    .near = true,
    .inherit = Inherit_KSP,
    .eager = Eager_KSP,
    .varies = Varies_KSP,
    .setup = SetUp_KSP,
    .reads = Reads_KSP,
    .ready = Ready_KSP,
    .apply = Apply_KSP,
    .cost = Cost_KSP,
    .view = View_KSP,
    .bytes = Bytes_KSP,
    .predict = Predict_KSP,
    .destroy = Destroy_KSP,
};

PoiseErr PoisePCKSPGetKSP(PoisePC pc, PoiseKSP *ksp)
{
  CALLED(OBJECT(pc), GIVEN(ksp));
  if (pc->type != &poisePCType_ksp)
    FAIL(POISE_ERR_STATE, "the preconditioner is of type %s, not ksp", pc->type->name);
  TRY(Make(pc));
  *ksp = ((Inner *)pc->data)->ksp;
  return POISE_OK;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Solvers inside preconditioners, as the preconditioner asks them. */
#include "mat/order/arrange.h"
#include "mat/object/bytes.h"
#include "inside.h"
#include "methods.h"
#include "setup.h"
#include "solve.h"
#include "sweeps.h"

bool poiseKSPOnlyApplies(PoiseKSP ksp)
{
  const KSPOptions *o = &ksp->options;
  return ksp->type == &poiseKSPType_preonly && !ksp->user.test && !o->converged_reason && !o->view;
}

void poiseKSPSetInside(PoiseKSP ksp)
{
  ksp->inside = true;
  ksp->options.verify = 0;
}

PoiseErr poiseKSPReads(PoiseKSP ksp, Reads *reads)
{
  *reads = READS_P;
  if (!poiseKSPOnlyApplies(ksp)) return POISE_OK;
  *reads = READS_NOTHING;
  return ksp->pc->type->reads ? ksp->pc->type->reads(ksp->pc, reads) : POISE_OK;
}

/* The answer of every solve. */
static void Foretell(PoiseKSP ksp, PoiseInt its)
{
  ksp->result.reason = POISE_CONVERGED_ITS;
  ksp->result.its = its;
}

PoiseErr poiseKSPReady(PoiseKSP ksp, PoiseMat source, bool keep, bool exact)
{
  PoisePCSide side;
  ksp->held = keep;
  ksp->exact = exact;
  if (ksp->A != source) TRY(PoiseKSPSetOperators(ksp, source, NULL));
  TRY(poisePCKeep(ksp->pc, ksp->options.reuse, keep));
  if (ksp->options.guess_nonzero)
    FAIL(POISE_ERR_ARG, "a solver inside a preconditioner starts from zero: it is given no guess");
  if (!poiseKSPOnlyApplies(ksp)) {
    TRY(PoiseKSPSetUp(ksp));
    poiseKSPFollowSweeps(ksp);
    if (poiseKSPSweeps(ksp)) Foretell(ksp, poiseKSPSteps(ksp));
    return POISE_OK;
  }
  if (!keep) TRY(poiseKSPChoose(ksp, &side, &ksp->norm));
  poisePCExact(ksp->pc, exact);
  TRY(poisePCPrepare(ksp->pc));
  poiseKSPFollowSweeps(ksp); /* it may have made some before */
  Foretell(ksp, 1);
  return POISE_OK;
}

int64_t poiseKSPGeneration(PoiseKSP ksp)
{
  return ksp->pc->generation + ksp->sweeps.generation;
}

bool poiseKSPVaries(PoiseKSP ksp, const char *pc, Varying *why)
{
  bool once = ksp->type == &poiseKSPType_preonly; /* a test would come too late */
  bool linear = ksp->type->step != NULL;
  if (once || (linear && ksp->norm == POISE_KSP_NORM_NONE && !ksp->user.test))
    return poisePCVaries(ksp->pc, why);
  *why = (Varying){.pc = pc, .method = ksp->type->name, .prefix = ksp->prefix};
  return true;
}

const char *poiseKSPAppliesEagerly(PoiseKSP ksp)
{
  bool sweeps = poiseKSPSweeps(ksp);
  if (sweeps && ksp->A->type->eager) return "a matrix inside the preconditioner calls back to the host";
  if (sweeps || poiseKSPOnlyApplies(ksp)) return poisePCEager(ksp->pc);
  return "the preconditioner calls back to the host";
}

PoiseErr poiseKSPPredictInside(PoiseKSP ksp, const PoiseMatCounts *counts, PoisePrediction *p)
{
  MatPlan plan;
  PoisePrediction matrix = {.beyond = NULL};
  PoiseErr e = poiseMatPredict(ksp->A, counts, &plan, &matrix);
  if (!e && !poiseKSPOnlyApplies(ksp)) e = poiseKSPPredict(ksp, ksp->A, &plan, p);
  TRY(PoiseAgree(ksp->ctx, e));
  return poisePCPredict(ksp->pc, counts, p);
}

PoiseErr poiseKSPApply(PoiseKSP ksp, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse)
{
  if (poiseKSPOnlyApplies(ksp)) return poisePCApplyFuse(ksp->pc, r, z, skip, fuse);
  TRY(poiseKSPSweeps(ksp) ? poiseKSPSweep(ksp, r, z, true, skip) : poiseKSPSolve(ksp, r, z));
  return poiseVecFuse(z, skip, fuse);
}

/* ---- matrices that are rearranged ------------------------------------------------------------ */

PoiseErr poiseKSPCheckInside(PoiseKSP ksp, PoiseMat P)
{
  if (!ksp->inside || !ksp->A || poiseMatSameRows(ksp->A, P)) return POISE_OK;
  FAIL(POISE_ERR_UNSUPPORTED, "a solver inside a preconditioner of a rearranged matrix (-mat_partition, "
                              "-mat_order) works with copies of the "
                              "matrices around it, and was given another");
}

/* Check the rows of b and x. Those of a solver inside are the rows of the matrix around it. */
PoiseErr poiseKSPCheckOutside(PoiseKSP ksp, const char *what)
{
  if (!ksp->inside || !ksp->A || !ksp->A->origin.moves.to) return POISE_OK;
  FAIL(POISE_ERR_UNSUPPORTED,
       "%s of a solver inside a preconditioner of a rearranged matrix (-mat_partition, -mat_order), whose "
       "rows are not the "
       "application's",
       what);
}

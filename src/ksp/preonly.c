/* SPDX-License-Identifier: BSD-3-Clause */
/* One application of the preconditioner, x = M^-1 b, as PETSc's KSPPREONLY: one iteration, CONVERGED_ITS, no
   norm. */
#include "methods.h"
#include "preonly_phases.h"

static int Vectors_PreOnly(PoiseKSP ksp)
{
  (void)ksp;
  return 1;
}

static PoiseErr SetUp_PreOnly(PoiseKSP ksp)
{
  if (ksp->options.guess_nonzero)
    FAIL(POISE_ERR_ARG, "method preonly does not use a guess; richardson with 1 iteration improves one");
  return POISE_OK;
}

/* The whole solve. The loop then finds it done. */
static void Start_PreOnly(PoiseKSP ksp, PoiseVec b)
{
  poiseKSPPrecondition(ksp, b, ksp->work[0], NULL);
  poiseKSPScalars(ksp, PHASE_preonly_end, (PhaseArgs){0});
}

static void Iterate_PreOnly(PoiseKSP ksp, int j)
{
  (void)ksp, (void)j; /* called only if the solve ends with a failure */
}

const KSPType poiseKSPType_preonly = {
    .name = "preonly",
    .alias = "none",
    .flexible = true,
    .left = NORM(NONE),
    .right = NORM(NONE),
    .vectors = Vectors_PreOnly,
    .setup = SetUp_PreOnly,
    .start = Start_PreOnly,
    .once = true,
    .columns = true,
    .iterate = Iterate_PreOnly,
};

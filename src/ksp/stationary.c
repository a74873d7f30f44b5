/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The residual part of richardson and chebyshev. Vectors read and written per iteration, beside the matrix,
  with a pointwise preconditioner d: x, r (product); b, r, d, r (residual); r, d, x, x (step of richardson),
  and p, p more (chebyshev).
*/
#include "stationary.h"

/* r = b - A x (A x = 0 for a zero guess), z = M r, and the norm of one of them, as far as they are wanted. */
static void Residual(PoiseKSP ksp, bool zero)
{
  double **v = ksp->v;
  bool preconditioned = ksp->norm == POISE_KSP_NORM_PRECONDITIONED;
  bool by_phase = ksp->norm != POISE_KSP_NORM_NONE && (ksp->M.pointwise || !preconditioned);
  PhaseArgs a = {READS(ST_B, v[ST_B]), READS(ST_D, ksp->M.diagonal), WRITES(ST_R, v[ST_R]),
                 .flags = (int)ksp->norm};
  if (zero)
    poiseKSPZero(ksp, ksp->work[ST_R]);
  else
    poiseKSPMult(ksp, ksp->work[ST_X], ksp->work[ST_R], NULL);
  if (ksp->M.pointwise)
    poiseKSPPhase(ksp, PHASE_stationary_residual, a, by_phase ? ST_NN : NO_SLOT, NO_SLOT);
  else
    poiseKSPPhasePrecondition(ksp, PHASE_stationary_residual, a, by_phase ? ST_NN : NO_SLOT, NO_SLOT,
                              (Application){ST_R, ST_Z, NO_SLOT, preconditioned ? ST_NN : NO_SLOT});
}

static void Keep(PoiseKSP ksp, PoiseVec b)
{
  poiseKSPCopy(ksp, b, ksp->work[ST_B]);
  if (!poiseKSPHasGuess(ksp)) poiseKSPZero(ksp, ksp->work[ST_X]);
}

void poiseStationaryRelaxed(PoiseKSP ksp, PoiseVec b)
{
  Keep(ksp, b);
  poiseKSPScalars(ksp, PHASE_stationary_start, (PhaseArgs){.k = 0});
}

void poiseStationaryStart(PoiseKSP ksp, PoiseVec b, double scale, double alpha, int reason)
{
  int relative_to_b = poiseKSPNormOfB(ksp, b, ksp->work[ST_Z], ST_NN);
  Keep(ksp, b);
  Residual(ksp, !poiseKSPHasGuess(ksp));
  poiseKSPScalars(
      ksp, PHASE_stationary_start,
      (PhaseArgs){.c = {{.value = scale}, {.value = alpha}, {.value = reason}}, .k = relative_to_b});
}

void poiseStationaryEnd(PoiseKSP ksp)
{
  Residual(ksp, false);
  poiseKSPScalars(ksp, PHASE_stationary_decide, (PhaseArgs){0});
}

int poiseStationaryResidual(PoiseKSP ksp)
{
  (void)ksp;
  return ST_R;
}

PhaseArgs poiseStationaryStep(PoiseKSP ksp, double *p)
{
  double **v = ksp->v;
  if (!ksp->M.pointwise) return (PhaseArgs){READS(ST_Z, v[ST_Z]), WRITES(ST_X, v[ST_X]), WRITES(ST_P, p)};
  return (PhaseArgs){READS(ST_R, v[ST_R]), READS(ST_D, ksp->M.diagonal), WRITES(ST_X, v[ST_X]),
                     WRITES(ST_P, p)};
}

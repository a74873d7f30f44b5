/* SPDX-License-Identifier: BSD-3-Clause */
/*
  QMRCGSTAB (Chan, Gallopoulos, Simoncini, Szeto & Tong 1994), as PETSc's KSPQMRCGS, for general A,
  preconditioned from the right: K = A M^-1. Its r is that of bicgstab; of the same products it makes an x
  with a smooth residual, by two quasi-minimal half steps. It watches |r|, as PETSc's, which is near the
  residual of x; a claim is checked in that. x is made of the M^-1 p and M^-1 s that A was multiplied by.

  Vectors read and written per iteration, beside two matrices and two preconditioners: p, r^, v (product); v,
  r, r (s); s, r^, t (product); v, t, p, p, r, r, r^, hat, d, d, x, x (update); hat, d, d, x, x (second): 26.
*/
#include "methods.h"
#include "qmrcgs_phases.h"

enum { X, R, RHAT, P, V, T, W, SHAT, D, VECTORS };

_Static_assert((int)QC_END <= (int)POISE_SLOTS, "qmrcgs has too many slots");

static int Vectors_QMRCGS(PoiseKSP ksp)
{
  (void)ksp;
  return VECTORS;
}

static void Start_QMRCGS(PoiseKSP ksp, PoiseVec b)
{
  double **v = ksp->v;
  int relative_to_b = poiseKSPStartResidual(ksp, b, R, W, QC_RHO);
  poiseKSPPhase(
      ksp, PHASE_qmrcgs_start,
      (PhaseArgs){READS(QC_R, v[R]), WRITES(QC_P, v[P]), WRITES(QC_RHAT, v[RHAT]), .k = relative_to_b},
      NO_SLOT, NO_SLOT);
  poiseKSPZero(ksp, ksp->work[D]);
}

static void Iterate_QMRCGS(PoiseKSP ksp, int j)
{
  double **v = ksp->v;
  bool hats = !poiseKSPIsIdentity(ksp);
  Fuse vr = {0}, st = {0};
  (void)j;
  poiseKSPAddDot(ksp, &vr, v[RHAT], QC_VR);
  poiseKSPAddDot(ksp, &vr, NULL, QC_VV);
  poiseKSPOperator(ksp, ksp->work[P], ksp->work[W], ksp->work[V], &vr); /* v = K p, (r^, v), (v, v) */
  poiseKSPPhase(ksp, PHASE_qmrcgs_s, (PhaseArgs){READS(QC_V, v[V]), UPDATES(QC_R, v[R])}, QC_SS, NO_SLOT);
  poiseKSPAddDot(ksp, &st, v[R], QC_ST);
  poiseKSPAddDot(ksp, &st, NULL, QC_TT);
  poiseKSPAddDot(ksp, &st, v[RHAT], QC_RT);
  poiseKSPOperator(ksp, ksp->work[R], ksp->work[SHAT], ksp->work[T], &st); /* t = K s */
  if (!hats) poiseKSPCopy(ksp, ksp->work[R], ksp->work[SHAT]);             /* s, which r takes the place of */
  poiseKSPPhase(ksp, PHASE_qmrcgs_update,
                (PhaseArgs){READS(QC_V, v[V]), READS(QC_T, v[T]), READS(QC_RHAT, v[RHAT]),
                            READS(QC_HAT, v[hats ? W : P]), UPDATES(QC_P, v[P]), UPDATES(QC_R, v[R]),
                            UPDATES(QC_D, v[D]), UPDATES(QC_X, v[X])},
                QC_RR, QC_RHO);
  poiseKSPPhase(ksp, PHASE_qmrcgs_second,
                (PhaseArgs){READS(QC_HAT, v[SHAT]), UPDATES(QC_D, v[D]), UPDATES(QC_X, v[X])}, NO_SLOT,
                NO_SLOT);
}

static bool Stalls_QMRCGS(PoiseKSP ksp, double *norm)
{
  return poiseKSPBrokeDown(ksp, QC_FIRST, norm);
}

const KSPType poiseKSPType_qmrcgs = {
    .name = "qmrcgs",
    .right = NORM(UNPRECONDITIONED) | NORM(NONE),
    .vectors = Vectors_QMRCGS,
    .start = Start_QMRCGS,
    .iterate = Iterate_QMRCGS,
    .stalls = Stalls_QMRCGS,
};

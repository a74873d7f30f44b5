/* SPDX-License-Identifier: BSD-3-Clause */
/*
  QMR, quasi-minimal residuals (Freund & Nachtigal 1991), for general A, without look-ahead. In the two-sided
  Lanczos basis the coefficients of x minimise the residual's, as if that basis, of vectors of length 1, were
  orthonormal. Norms are then smooth where those of bicg leap. From the left K = M^-1 A, and the basis is of
  z; from the right K = A M^-1, and it is of r.

  By coupled two-term recurrences (Freund & Nachtigal 1994) it is made of the steps of bicg: if |r_i| is the
  norm of bicg's i-th residual, x_i = x_i-1 + c^2 (x_i^bicg - x_i-1), where 1 / tau_i^2 = 1 / tau_i-1^2 +
  1 / |r_i|^2 and c = tau_i / |r_i| (Zhou & Walker 1994). The same makes its residual s, whose norm is
  watched. Where bicg breaks down it does so too, and starts again from x while that gains.

  Vectors read and written per iteration beside those of bicg, which are 21: d, d, s, s (direction).
*/
#include "bicg.h"
#include "methods.h"
#include "qmr_phases.h"

enum { STEP = BI_VECTORS, S, VECTORS };

_Static_assert((int)QMR_END <= (int)POISE_SLOTS, "qmr has too many slots");

static int Vectors_QMR(PoiseKSP ksp)
{
  (void)ksp;
  return VECTORS;
}

static void Start_QMR(PoiseKSP ksp, PoiseVec b)
{
  poiseBiCGStart(ksp, b); /* p = z */
  poiseKSPScalars(ksp, PHASE_qmr_start, (PhaseArgs){0});
  poiseKSPZero(ksp, ksp->work[STEP]);
  poiseKSPCopy(ksp, ksp->work[poiseBiCGByResidual(ksp) ? BI_R : BI_P], ksp->work[S]);
}

static void Iterate_QMR(PoiseKSP ksp, int j)
{
  double **v = ksp->v;
  bool stored = !ksp->M.pointwise, by_r = poiseBiCGByResidual(ksp); /* else z and z~ are d r and d r~ */
  const double *second = stored ? v[BI_R] : ksp->M.diagonal;
  (void)j;
  poiseBiCGStep(ksp);
  poiseKSPPhase(ksp, PHASE_qmr_direction, /* x, s; p = z + beta p, p~ = ... */
                (PhaseArgs){READS(QMR_Z, v[stored ? BI_Z : BI_R]), READS(QMR_ZT, v[stored ? BI_ZT : BI_RT]),
                            READS(QMR_D, stored && !by_r ? NULL : second), UPDATES(QMR_X, v[BI_X]),
                            UPDATES(QMR_P, v[BI_P]), UPDATES(QMR_PT, v[BI_PT]), UPDATES(QMR_STEP, v[STEP]),
                            UPDATES(QMR_S, v[S]), .flags = (stored ? QMR_STORED : 0) | (by_r ? QMR_BY_R : 0)},
                QMR_SS, NO_SLOT);
  poiseKSPScalars(ksp, PHASE_qmr_decide, (PhaseArgs){0});
}

const KSPType poiseKSPType_qmr = {
    .name = "qmr",
    .transposes = MAT_TRANSPOSED | PC_TRANSPOSED,
    .left = NORM(PRECONDITIONED) | NORM(NONE),
    .right = NORM(UNPRECONDITIONED) | NORM(NONE),
    .vectors = Vectors_QMR,
    .start = Start_QMR,
    .iterate = Iterate_QMR,
    .stalls = poiseBiCGStalls,
};

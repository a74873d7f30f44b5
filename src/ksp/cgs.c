/* SPDX-License-Identifier: BSD-3-Clause */
/*
  CGS, conjugate gradients squared (Sonneveld 1989), as PETSc's KSPCGS, for general A. From the left K = M^-1
  A, with the preconditioned norm. From the right K = A M^-1, with the unpreconditioned norm. There x += alpha
  M^-1 t, of the M^-1 t that A was multiplied by. So b - A x is r to rounding, also where M works in fp32.

  Its residual polynomial is the square of that of the biconjugate gradients: no products with the transpose,
  but residuals that jump. Where (r^, v) or (r^, r) vanishes it has broken down,
  and starts again from x while that gains.

  Vectors read and written per iteration, beside two matrices and two preconditioners: p, r^, v (product); v,
  u, q, t (q); t, v (product); v, r, r, t, x, x, r^ (update); r, q, u, p, p (direction): 21.
*/
#include "cgs.h"

_Static_assert((int)CGS_END <= (int)POISE_SLOTS, "cgs has too many slots");

void poiseCGSStart(PoiseKSP ksp, PoiseVec b)
{
  double **v = ksp->v;
  int relative_to_b = poiseKSPStartResidual(ksp, b, R, W, CGS_RR);
  poiseKSPPhase(ksp, PHASE_cgs_start,
                (PhaseArgs){READS(CGS_R, v[R]), WRITES(CGS_U, v[U]), WRITES(CGS_P, v[P]),
                            WRITES(CGS_RHAT, v[RHAT]), .k = relative_to_b},
                NO_SLOT, NO_SLOT);
}

void poiseCGSProducts(PoiseKSP ksp, int q)
{
  double **v = ksp->v;
  Fuse vr = {0};
  poiseKSPAddDot(ksp, &vr, v[RHAT], CGS_VR);
  poiseKSPOperator(ksp, ksp->work[P], ksp->work[W], ksp->work[V], &vr); /* v = K p, (r^, v) */
  poiseKSPPhase(ksp, PHASE_cgs_q, /* alpha = rho / (r^, v); q = u - alpha v; t = u + q */
                (PhaseArgs){READS(CGS_V, v[V]), READS(CGS_U, v[U]), WRITES(CGS_Q, v[q]), WRITES(CGS_T, v[T])},
                NO_SLOT, NO_SLOT);
  poiseKSPOperator(ksp, ksp->work[T], ksp->work[W], ksp->work[V], NULL); /* v = K t */
}

bool poiseCGSStalls(PoiseKSP ksp, double *norm)
{
  return poiseKSPBrokeDown(ksp, CGS_FIRST, norm);
}

static int Vectors_CGS(PoiseKSP ksp)
{
  (void)ksp;
  return W + 1;
}

static void Iterate_CGS(PoiseKSP ksp, int j)
{
  double **v = ksp->v;
  bool hat = ksp->side == POISE_PC_RIGHT && !poiseKSPIsIdentity(ksp);
  int next = !ksp->loop.parity;
  (void)j;
  poiseCGSProducts(ksp, U);
  poiseKSPPhase(ksp, PHASE_cgs_update, /* r -= alpha K t; x += alpha t, or M^-1 t; (r, r), (r, r^) */
                (PhaseArgs){READS(CGS_V, v[V]), READS(CGS_T, v[hat ? W : T]), READS(CGS_RHAT, v[RHAT]),
                            UPDATES(CGS_R, v[R]), UPDATES(CGS_X, v[X])},
                CGS_RR + next, CGS_RHO + next);
  poiseKSPPhase(
      ksp, PHASE_cgs_direction, /* converged? beta = rho' / rho; u = ...; p = ... */
      (PhaseArgs){READS(CGS_R, v[R]), READS(CGS_Q, v[U]), WRITES(CGS_U, v[U]), UPDATES(CGS_P, v[P])}, NO_SLOT,
      NO_SLOT);
}

const KSPType poiseKSPType_cgs = {
    .name = "cgs",
    .columns = true,
    .linear = {1, 0},
    .left = NORM(PRECONDITIONED) | NORM(NONE),
    .right = NORM(UNPRECONDITIONED) | NORM(NONE),
    .vectors = Vectors_CGS,
    .start = poiseCGSStart,
    .iterate = Iterate_CGS,
    .stalls = poiseCGSStalls,
};

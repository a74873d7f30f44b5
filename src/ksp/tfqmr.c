/* SPDX-License-Identifier: BSD-3-Clause */
/*
  TFQMR, transpose-free quasi-minimal residuals (Freund 1993), as PETSc's KSPTFQMR, for general A. Its space
  is that of cgs, of which it makes an x with a smooth residual. The norm that it watches is PETSc's: the
  bound sqrt(m + 1) tau of the norm of the residual after m half steps. From the left K = M^-1 A, and that is
  a bound of the preconditioned norm; from the right K = A M^-1, and of the unpreconditioned one.

  An iteration is two half steps, of which the first may be the last. From the right the iteration is on y
  with x = x0 + M^-1 y. So M must be linear from both sides.

  Vectors read and written per iteration, beside two matrices and two preconditioners: p, r^, v (product); v,
  u, q, t (q); t, v (product); v, r, r, r^ (update); u, u, q, d, d, x, x, r, p, p (direction): 23.
*/
#include "cgs.h"
#include "tfqmr_phases.h"

static int Vectors_TFQMR(PoiseKSP ksp)
{
  return ksp->side == POISE_PC_RIGHT ? Y + 1 : D + 1;
}

/* The vector that the iteration works on: x, or the correction y. */
static int Unknown(PoiseKSP ksp)
{
  return ksp->side == POISE_PC_RIGHT ? Y : X;
}

static void Start_TFQMR(PoiseKSP ksp, PoiseVec b)
{
  poiseCGSStart(ksp, b);
  poiseKSPZero(ksp, ksp->work[D]);
  if (Unknown(ksp) != X) poiseKSPZero(ksp, ksp->work[Y]);
}

static void Iterate_TFQMR(PoiseKSP ksp, int j)
{
  double **v = ksp->v;
  int next = !ksp->loop.parity;
  (void)j;
  poiseCGSProducts(ksp, Q);
  poiseKSPPhase(ksp, PHASE_cgs_update, /* r -= alpha K t; (r, r), (r, r^) */
                (PhaseArgs){READS(CGS_V, v[V]), READS(CGS_RHAT, v[RHAT]), UPDATES(CGS_R, v[R])},
                CGS_RR + next, CGS_RHO + next);
  poiseKSPPhase(ksp, PHASE_tfqmr_direction, /* two half steps; converged? u = ...; p = ... */
                (PhaseArgs){READS(CGS_R, v[R]), READS(CGS_Q, v[Q]), UPDATES(CGS_U, v[U]),
                            UPDATES(CGS_P, v[P]), UPDATES(TFQMR_D, v[D]), UPDATES(CGS_X, v[Unknown(ksp)])},
                NO_SLOT, NO_SLOT);
}

static void Finish_TFQMR(PoiseKSP ksp)
{
  if (Unknown(ksp) != X) poiseKSPUnwind(ksp, ksp->work[Y], ksp->work[W]); /* x += M^-1 y */
}

static PoiseVec Solution_TFQMR(PoiseKSP ksp)
{
  return Unknown(ksp) != X ? poiseKSPUnwound(ksp, ksp->work[Y], ksp->work[W]) : ksp->work[X];
}

const KSPType poiseKSPType_tfqmr = {
    .name = "tfqmr",
    .columns = true,
    .linear = {1, 1},
    .left = NORM(PRECONDITIONED) | NORM(NONE),
    .right = NORM(UNPRECONDITIONED) | NORM(NONE),
    .vectors = Vectors_TFQMR,
    .start = Start_TFQMR,
    .iterate = Iterate_TFQMR,
    .finish = Finish_TFQMR,
    .foreseen = true,
    .solution = Solution_TFQMR,
    .stalls = poiseCGSStalls,
};

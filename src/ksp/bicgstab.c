/* SPDX-License-Identifier: BSD-3-Clause */
/*
  BiCGSTAB (van der Vorst 1992), as in PETSc's KSPBCGS, for general A. From the left K = M^-1 A, with the
  preconditioned norm. From the right K = A M^-1, with the unpreconditioned norm. There x += alpha p^ + omega
  s^, of the p^ = M^-1 p and s^ = M^-1 s that A was multiplied by. So b - A x is r to rounding in fp64, also
  where M works in fp32. From the left nothing makes r what M makes of b - A x, so M must be linear. Where
  phases apply M as an epilogue, as dense blocks, p^ and s^ share a vector. The iteration is then on u with
  x = x0 + M^-1 u.

  If (r, r^) vanishes, PETSc gives up. This method starts afresh from the residual. The test is for 0: a test
  below eps |r| |r^| lost convergences (olm1000). It also starts afresh where (v, r^) is lost (poiseIsLost).
  Later starts are often worse. So the best x of all starts is kept, and is the result if the method gets
  nowhere.

  An iteration is two products and two passes over the vectors. rho' = (r^, r') is -omega (r^, t), as s is
  orthogonal to r^. So it is predicted from a dot of the second product, and p is made in the same pass as x
  and r. There rho' is also computed anew: alpha uses that one, so that errors do not build up.

  Vectors read and written per iteration, beside two matrices and two preconditioners: 18, with p^ and s^ 20.
  They are p, r^, v (product); v, r, r (s); s, r^, t (product); v, p, p, t, x, x, r, r, r^ (update). From the
  right, the phases that write s and p apply dense blocks as an epilogue. From the left a diagonal scales the
  products: it is read once for each. The norm of an iteration is tested at the start of the next, when one
  product has been made in vain. Or it is tested at the end of a cycle (poiseKSPLateCycle).
*/
#include "bicgstab_phases.h"
#include "methods.h"

enum { X, R, RHAT, P, V, T, W, KEPT, U, SHAT = U };

_Static_assert((int)BI_END <= (int)POISE_SLOTS, "bicgstab has too many slots");

static int Vectors_BiCGSTAB(PoiseKSP ksp)
{
  return ksp->side == POISE_PC_RIGHT ? U + 1 : KEPT + 1;
}

/* Is w = M^-1 y available for the next product when a phase has written y? */
static bool IsAhead(PoiseKSP ksp)
{
  return ksp->side == POISE_PC_RIGHT && ksp->M.blocks.b;
}

/* Is x made of p^ and s^, which w and shat hold? */
static bool HasHats(PoiseKSP ksp)
{
  return ksp->side == POISE_PC_RIGHT && !IsAhead(ksp) && !poiseKSPIsIdentity(ksp);
}

/* x, the x that is kept, and the correction where x is made of it. */
static unsigned Wide_BiCGSTAB(PoiseKSP ksp)
{
  return 1 << X | 1 << KEPT | (IsAhead(ksp) ? 1 << U : 0);
}

/* The vector that the iteration works on: x, or the correction u. */
static int Unknown(PoiseKSP ksp)
{
  return IsAhead(ksp) ? U : X;
}

/* y = K v[of]; from the right by `hat`, M^-1 v[of]. */
static void Operator(PoiseKSP ksp, int of, int hat, int y, const Fuse *f)
{
  if (IsAhead(ksp))
    poiseKSPMult(ksp, ksp->work[W], ksp->work[y], f);
  else
    poiseKSPOperator(ksp, ksp->work[of], ksp->work[hat], ksp->work[y], f);
}

/* A phase that writes v[y]. */
static void Phase(PoiseKSP ksp, int id, PhaseArgs a, int y, int dot0, int dot1)
{
  if (IsAhead(ksp))
    poiseKSPPhasePrecondition(ksp, id, a, dot0, dot1, (Application){y, W, NO_SLOT, NO_SLOT});
  else
    poiseKSPPhase(ksp, id, a, dot0, dot1);
}

static void Start_BiCGSTAB(PoiseKSP ksp, PoiseVec b)
{
  double **v = ksp->v;
  int relative_to_b = poiseKSPStartResidual(ksp, b, R, W, BI_RHO);
  poiseKSPPhase(
      ksp, PHASE_bicgstab_start,
      (PhaseArgs){READS(BI_R, v[R]), WRITES(BI_P, v[P]), WRITES(BI_RHAT, v[RHAT]), .k = relative_to_b},
      NO_SLOT, NO_SLOT);
  if (!IsAhead(ksp)) return;
  poiseKSPZero(ksp, ksp->work[U]);
  poiseKSPPrecondition(ksp, ksp->work[P], ksp->work[W], NULL);
}

static int Cycle_BiCGSTAB(PoiseKSP ksp)
{
  return poiseKSPLateCycle(ksp, 8);
}

/* omega = (s, t) / (t, t); x += alpha p + omega s, or p^ and s^; r = s - omega t; rho'; beta = ...;
   p = r + beta (p - omega v) */
static void Update(PoiseKSP ksp)
{
  double **v = ksp->v, *x = v[Unknown(ksp)];
  PhaseArgs a = {READS(BI_V, v[V]),   READS(BI_T, v[T]),         UPDATES(BI_P, v[P]),        UPDATES(BI_X, x),
                 UPDATES(BI_R, v[R]), UPDATES(BI_RHAT, v[RHAT]), WRITES(BI_KEPT_X, v[KEPT]), .seldom = 2};
  if (HasHats(ksp)) a.in[BI_P_HAT] = v[W], a.in[BI_S_HAT] = v[SHAT];
  Phase(ksp, HasHats(ksp) ? PHASE_bicgstab_update_hats : PHASE_bicgstab_update, a, P, BI_RHO, BI_RR);
}

static void Iterate_BiCGSTAB(PoiseKSP ksp, int j)
{
  double **v = ksp->v;
  Fuse vr = {0}, st = {0};
  poiseKSPAddDot(ksp, &vr, v[RHAT], BI_VR);
  poiseKSPAddDot(ksp, &vr, NULL, BI_VV);
  Operator(ksp, P, W, V, &vr); /* v = K p, (r^, v), (v, v) */
  Phase(ksp, PHASE_bicgstab_s, /* converged? alpha = rho / (r^, v); s = r - alpha v */
        (PhaseArgs){READS(BI_V, v[V]), UPDATES(BI_R, v[R]), .k = j > 0}, R, BI_SS, NO_SLOT);
  poiseKSPAddDot(ksp, &st, v[R], BI_ST);
  poiseKSPAddDot(ksp, &st, NULL, BI_TT);
  poiseKSPAddDot(ksp, &st, v[RHAT], BI_RT);
  Operator(ksp, R, HasHats(ksp) ? SHAT : W, T, &st); /* t = K s, (s, t), (t, t), (r^, t) */
  Update(ksp);
}

static void Restart_BiCGSTAB(PoiseKSP ksp)
{
  poiseKSPScalars(ksp, PHASE_bicgstab_judge, (PhaseArgs){0});
}

/* |r|^2 of the kept x, if that is better than the x of a solve that failed; else 0. */
static double Kept(PoiseKSP ksp)
{
  const double *kept = ksp->result.slots + BI_KEPT,
               least = kept[0] > 0 && kept[1] > 0 ? fmin(kept[0], kept[1]) : kept[0] + kept[1];
  return ksp->result.reason < 0 && least > 0 && !(ksp->result.slots[BI_RR] <= least) ? least : 0;
}

static void Finish_BiCGSTAB(PoiseKSP ksp)
{
  double kept = Kept(ksp);
  if (kept > 0) poiseKSPCopy(ksp, ksp->work[KEPT], ksp->work[Unknown(ksp)]);
  if (kept > 0) ksp->result.rnorm = sqrt(kept) / ksp->solve.scale;
  if (IsAhead(ksp)) poiseKSPUnwind(ksp, ksp->work[U], ksp->work[W]); /* x += M^-1 u */
}

static PoiseVec Solution_BiCGSTAB(PoiseKSP ksp)
{
  return IsAhead(ksp) ? poiseKSPUnwound(ksp, ksp->work[U], ksp->work[T]) : ksp->work[X]; /* w may be needed */
}

static void Explain_BiCGSTAB(PoiseKSP ksp)
{
  if (Kept(ksp) > 0)
    poiseKSPSay(
        ksp,
        "started afresh to no avail: x is the best of those starts, the residual norm was %.3g at the end",
        sqrt(ksp->result.slots[BI_RR]) / ksp->solve.scale);
}

const KSPType poiseKSPType_bicgstab = {
    .name = "bicgstab",
    .columns = true,
    .alias = "bcgs",
    .linear = {1, 0},
    .left = NORM(PRECONDITIONED) | NORM(NONE),
    .right = NORM(UNPRECONDITIONED) | NORM(NONE),
    .vectors = Vectors_BiCGSTAB,
    .wide = Wide_BiCGSTAB,
    .begins = 1 << R | 1 << RHAT | 1 << P | 1 << W,
    .cycle = Cycle_BiCGSTAB,
    .start = Start_BiCGSTAB,
    .iterate = Iterate_BiCGSTAB,
    .restart = Restart_BiCGSTAB,
    .finish = Finish_BiCGSTAB,
    .foreseen = true,
    .solution = Solution_BiCGSTAB,
    .explain = Explain_BiCGSTAB,
};

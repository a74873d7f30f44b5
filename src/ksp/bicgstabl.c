/* SPDX-License-Identifier: BSD-3-Clause */
/*
  BiCGstab(l) (Sleijpen & Fokkema 1993), as PETSc's KSPBCGSL, for general A. From the left K = M^-1 A, with
  the preconditioned norm. From the right K = A M^-1, with the unpreconditioned norm. There the iteration is
  on y with x = x0 + M^-1 y. So M must be linear from both sides.

  A cycle is l iterations, each a step of the biconjugate gradients. Behind the last stands a polynomial of
  degree l that makes the residual least, where bicgstab has degree 1. So skew matrices, whose eigenvalues are
  imaginary, do not stop it. Its coefficients solve normal equations, as PETSc's. x and its norm are those of
  the iteration within a cycle, too, where PETSc tests once a cycle.

  Vectors read and written in iteration j of a cycle, beside two matrices and two preconditioners: 3 (j + 1)
  (direction); u_j, r^, u_j+1 (product); 3 (j + 1), x, x, u_0 (residual); r_j, r^, r_j+1 (product). The last
  one has no r^ there, but l (l + 5) / 2 (dots), 3 (l + 2) and r^ (polynomial). With l = 2 that is 15, then
  40.
*/
#include "methods.h"
#include "bicgstabl_phases.h"

enum { X, RHAT, W, R }; /* from R on r_0 ... r_l, u_0 ... u_l, and from the right y */

_Static_assert((int)BL_END <= (int)POISE_SLOTS, "bicgstabl has too many slots");

typedef struct BiCGstabL {
  PoiseInt l;
} BiCGstabL;

static const PoiseOption options[] = {
    {"ksp_bcgsl_ell", POISE_OPTION_INT, offsetof(BiCGstabL, l), "2", 1, 16, NULL,
     "degree of the polynomials of bicgstabl"},
    {0},
};

static int L(PoiseKSP ksp)
{
  return (int)((BiCGstabL *)ksp->data)->l;
}

/* The work vectors u_0 and y. */
static int U(PoiseKSP ksp)
{
  return R + L(ksp) + 1;
}

static int Y(PoiseKSP ksp)
{
  return U(ksp) + L(ksp) + 1;
}

static int Vectors_BiCGstabL(PoiseKSP ksp)
{
  return Y(ksp) + (ksp->side == POISE_PC_RIGHT);
}

static int64_t Array_BiCGstabL(PoiseKSP ksp)
{
  int64_t n = L(ksp) + 1;
  return 2 * n * n + n;
}

/* The vector that the iteration works on: x, or the correction y. */
static int Unknown(PoiseKSP ksp)
{
  return ksp->side == POISE_PC_RIGHT ? Y(ksp) : X;
}

static void Start_BiCGstabL(PoiseKSP ksp, PoiseVec b)
{
  int relative_to_b = poiseKSPStartResidual(ksp, b, R, W, BL_RR);
  poiseKSPPhase(ksp, PHASE_bicgstabl_start,
                (PhaseArgs){READS(BL_R, ksp->v[R]), WRITES(BL_U, ksp->v[RHAT]), .k = relative_to_b}, NO_SLOT,
                NO_SLOT);
  poiseKSPZero(ksp, ksp->work[U(ksp)]);
  if (Unknown(ksp) != X) poiseKSPZero(ksp, ksp->work[Y(ksp)]);
}

/* u_i = r_i - beta u_i for i <= j */
static void Direction(PoiseKSP ksp, int j)
{
  double **r = ksp->v + R, **u = ksp->v + U(ksp);
  for (int first = 0; first <= j; first += BL_PAIRS) {
    PhaseArgs a = {.k = j};
    for (int k = 0; k < BL_PAIRS && first + k <= j; k++)
      a.in[BL_R + k] = r[first + k], a.in[BL_U + k] = a.out[BL_U + k] = u[first + k];
    poiseKSPPhase(ksp, PHASE_bicgstabl_direction, a, NO_SLOT, NO_SLOT);
  }
}

/* r_i -= alpha u_i+1 for i <= j; x += alpha u_0; (r_0, r_0), unless a polynomial changes that */
static void Residual(PoiseKSP ksp, int j)
{
  double **r = ksp->v + R, **u = ksp->v + U(ksp);
  for (int first = 0; first <= j; first += BL_PAIRS_BESIDE_X) {
    PhaseArgs a = {.k = j};
    for (int k = 0; k < BL_PAIRS_BESIDE_X && first + k <= j; k++)
      a.in[BL_R + k] = a.out[BL_R + k] = r[first + k], a.in[BL_U + k] = u[first + k + 1];
    if (!first) a.in[BL_X] = a.out[BL_X] = ksp->v[Unknown(ksp)], a.in[BL_U_0] = u[0];
    poiseKSPPhase(ksp, PHASE_bicgstabl_residual, a, first || j == L(ksp) - 1 ? NO_SLOT : BL_RR, NO_SLOT);
  }
}

/* x += sum gamma_i r_i-1; r_0 -= sum gamma_i r_i, the least there is; u_0 -= sum gamma_i u_i; (r_0, r_0), and
   (r_0, r^) into slot rho. */
static void Polynomial(PoiseKSP ksp, int rho)
{
  int l = L(ksp);
  double **r = ksp->v + R, **u = ksp->v + U(ksp), *array = ksp->scalars.array,
         *gamma = poiseBLGamma(array, l) + 1;
  const double *skip = poiseKSPSlot(ksp, SLOT_DONE);
  Fuse f = {0};
  for (int b = 1; b <= l; b++) poiseKSPMdot(ksp, b + 1, r, r[b], poiseBLDots(array, l, b), NULL, skip);
  poiseKSPScalars(ksp, PHASE_bicgstabl_minimize, (PhaseArgs){.flags = l});
  poiseKSPMaxpy(ksp, l, r, 1, gamma, ksp->v[Unknown(ksp)], skip, NULL);
  poiseKSPMaxpy(ksp, l, u + 1, -1, gamma, u[0], skip, NULL);
  poiseKSPAddDot(ksp, &f, NULL, BL_RR);
  poiseKSPAddDot(ksp, &f, ksp->v[RHAT], rho);
  poiseKSPMaxpy(ksp, l, r + 1, -1, gamma, r[0], skip, &f);
}

static void Iterate_BiCGstabL(PoiseKSP ksp, int j)
{
  PoiseVec *r = ksp->work + R, *u = ksp->work + U(ksp), w = ksp->work[W];
  bool last = j == L(ksp) - 1;
  int rho = BL_RHO + !ksp->loop.parity; /* of the next iteration */
  Fuse ur = {0}, rr = {0};
  Direction(ksp, j);
  poiseKSPAddDot(ksp, &ur, ksp->v[RHAT], BL_UR);
  poiseKSPAddDot(ksp, &ur, NULL, BL_UU);
  poiseKSPOperator(ksp, u[j], w, u[j + 1], &ur); /* u_j+1 = K u_j, (u_j+1, r^) */
  Residual(ksp, j);
  if (!last) poiseKSPScalars(ksp, PHASE_bicgstabl_decide, (PhaseArgs){.k = 0});
  if (!last) poiseKSPAddDot(ksp, &rr, ksp->v[RHAT], rho);
  poiseKSPOperator(ksp, r[j], w, r[j + 1], &rr); /* r_j+1 = K r_j, (r_j+1, r^) */
  if (!last) return;
  Polynomial(ksp, rho);
  poiseKSPScalars(ksp, PHASE_bicgstabl_decide, (PhaseArgs){.k = 1});
}

static void Finish_BiCGstabL(PoiseKSP ksp)
{
  if (Unknown(ksp) != X) poiseKSPUnwind(ksp, ksp->work[Y(ksp)], ksp->work[W]); /* x += M^-1 y */
}

static PoiseVec Solution_BiCGstabL(PoiseKSP ksp)
{
  return Unknown(ksp) != X ? poiseKSPUnwound(ksp, ksp->work[Y(ksp)], ksp->work[W]) : ksp->work[X];
}

static bool Stalls_BiCGstabL(PoiseKSP ksp, double *norm)
{
  return poiseKSPBrokeDown(ksp, BL_FIRST, norm);
}

static PoiseErr View_BiCGstabL(PoiseKSP ksp)
{
  return poisePrint(ksp->ctx, "  polynomials of degree %d\n", L(ksp));
}

const KSPType poiseKSPType_bicgstabl = {
    .name = "bicgstabl",
    .alias = "bcgsl",
    .size = sizeof(BiCGstabL),
    .options = options,
    .linear = {1, 1},
    .left = NORM(PRECONDITIONED) | NORM(NONE),
    .right = NORM(UNPRECONDITIONED) | NORM(NONE),
    .vectors = Vectors_BiCGstabL,
    .array = Array_BiCGstabL,
    .cycle = L,
    .start = Start_BiCGstabL,
    .iterate = Iterate_BiCGstabL,
    .finish = Finish_BiCGstabL,
    .foreseen = true,
    .solution = Solution_BiCGstabL,
    .stalls = Stalls_BiCGstabL,
    .view = View_BiCGstabL,
};

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Block conjugate gradients for several systems with one symmetric positive definite A (O'Leary, The block
  conjugate gradient algorithm and related methods, Linear Algebra Appl. 29, 1980), in the form BCGrQ
  (Dubrulle, Retooling the method of block conjugate gradients, ETNA 12, 2001), with M. All systems search one
  space.

  The residuals are R = Q C with Q^T M^-1 Q = 1. An iteration, with xi = (S^T A S)^-1:
    X += S xi C;  Q' = Q - A S xi;  Q' = Q zeta, Q orthonormal again;  S = M^-1 Q + S zeta^T;  C = zeta C.
  Q zeta is Cholesky's factorization of Q'^T M^-1 Q' with pivots: directions that depend on others, or are
  rounding, become 0. What is stored is Q', and M^-1 Q'; T = zeta^-1 is applied where Q is needed.

  One system by itself is cg, by the text of cg.

  Wide vectors read and written per iteration, beside the matrix and what else M has: S, A S (product); S, A S
  (dots); S, X, X; Q', A S, Q'; Q', Z (M); Q', Z (dots); Z, S, S: 17. The k x k work is done on the device
  (bcg_kernels.h).
*/
#include "bcg.h"
#include "cg.h"

static int64_t Shared_BCG(int k)
{
  return BCG_MATRICES * (int64_t)k * k;
}

static const KSPType *Form_BCG(PoiseKSP ksp)
{
  return ksp->systems.n ? &poiseKSPType_bcg : &poiseKSPType_cg;
}

static const double *Matrix(PoiseKSP ksp, int which)
{
  return poiseKSPShared(ksp) + which * ksp->systems.n * ksp->systems.n;
}

/* The factorization of Q'^T M^-1 Q', and with a norm the squares of that of all residuals. */
static void Factor(PoiseKSP ksp, int flags)
{
  const double *r = ksp->v[R], *z = ksp->v[Z], *G;
  if (flags == NORM_UNPRECONDITIONED)
    G = poiseKSPGram(ksp, r, z, r);
  else
    G = poiseKSPGram(ksp, z, r, flags == NORM_PRECONDITIONED ? z : NULL);
  poiseKSPBcgFactor(ksp, G, flags);
}

/* r, z = M^-1 r, and the first norm of each system, as cg has it. */
static void FirstNorms(PoiseKSP ksp, PoiseVec b)
{
  double **v = ksp->v;
  bool by_r = ksp->norm != POISE_KSP_NORM_PRECONDITIONED;
  Fuse f = {0}, g = {0};
  int relative_to_b = poiseKSPNormOfB(ksp, b, ksp->work[Z], CG_ALPHA);
  poiseKSPResidual(ksp, b, ksp->work[R]);
  if (by_r) poiseKSPAddDot(ksp, &g, NULL, CG_NN);
  if (by_r) poiseKSPMaxpy(ksp, 0, NULL, 1, NULL, v[R], NULL, &g);
  poiseKSPAddDot(ksp, &f, v[R], CG_RZ);
  if (!by_r) poiseKSPAddDot(ksp, &f, NULL, CG_NN);
  poiseKSPPrecondition(ksp, ksp->work[R], ksp->work[Z], &f);
  poiseKSPPhase(
      ksp, PHASE_bcg_start,
      (PhaseArgs){UPDATES(BCG_R, v[R]), UPDATES(BCG_Z, v[Z]), .flags = poiseCGFlags(ksp), .k = relative_to_b},
      NO_SLOT, NO_SLOT);
}

/* R = Q C, twice: what remains of columns that differ by little is small behind the first factorization, and
   has all its digits in the second. S = M^-1 Q. */
static void Start_BCG(PoiseKSP ksp, PoiseVec b)
{
  double **v = ksp->v;
  if (!ksp->systems.n) {
    poiseCGStart(ksp, b);
    return;
  }
  FirstNorms(ksp, b);
  Factor(ksp, BCG_KEEP);
  poiseKSPCombine(ksp, (CombineArgs){.x = {v[R]}, .c = {Matrix(ksp, BCG_T)}, .y = v[R]});
  poiseKSPPrecondition(ksp, ksp->work[R], ksp->work[Z], NULL);
  Factor(ksp, 0);
  poiseKSPCombine(ksp, (CombineArgs){.x = {v[Z]}, .c = {Matrix(ksp, BCG_T)}, .y = v[P]});
}

static void Iterate_BCG(PoiseKSP ksp, int j)
{
  double **v = ksp->v;
  const double *T = Matrix(ksp, BCG_T), *D = Matrix(ksp, BCG_D), *xi = Matrix(ksp, BCG_MINUS_XI),
               *zeta = Matrix(ksp, BCG_ZETA_T), *stays = poiseKSPSlot(ksp, BCG_STAYS);
  (void)j;
  poiseKSPMult(ksp, ksp->work[P], ksp->work[Q], NULL);       /* A S */
  poiseKSPBcgStep(ksp, poiseKSPGram(ksp, v[P], v[Q], NULL)); /* xi = (S^T A S)^-1, D = xi C */
  poiseKSPCombine(ksp, (CombineArgs){.x = {v[P]}, .c = {D}, .y = v[X], .adds = 1, .stays = stays});
  poiseKSPCombine(ksp, (CombineArgs){.x = {v[R], v[Q]}, .c = {T, xi}, .y = v[R]}); /* Q' = Q - A S xi */
  poiseKSPPrecondition(ksp, ksp->work[R], ksp->work[Z], NULL);
  Factor(ksp, (int)ksp->norm);                            /* norms; Q' = Q zeta, T = zeta^-1, C = zeta C */
  poiseKSPScalars(ksp, PHASE_bcg_decide, (PhaseArgs){0}); /* converged? */
  poiseKSPCombine(ksp,
                  (CombineArgs){.x = {v[Z], v[P]}, .c = {T, zeta}, .y = v[P]}); /* S = M^-1 Q + S zeta^T */
}

const KSPType poiseKSPType_bcg = {
    .name = "bcg",
    .symmetric = true,
    .columns = true,
    .shared = Shared_BCG,
    .linear = {1e-8, 0},
    .left = NORM(PRECONDITIONED) | NORM(UNPRECONDITIONED) | NORM(NATURAL) | NORM(NONE),
    .vectors = poiseCGVectors,
    .array = poiseCGArray,
    .form = Form_BCG,
    .start = Start_BCG,
    .sends = true,
    .iterate = Iterate_BCG,
    .recurrence = R,
    .projected = poiseCGProjected,
};

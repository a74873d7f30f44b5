/* SPDX-License-Identifier: BSD-3-Clause */
/*
  BiCG, biconjugate gradients (Fletcher 1976), as PETSc's KSPBICG, for general A, preconditioned from the
  left. Beside r it has the r~ of A^T, which begins as r. Each is orthogonal to the earlier ones of the other:
  (r_i, M^-T r~_j) = 0 = (p~_i, A p_j) for i != j. Its residual polynomial is what that of cgs is the square
  of. Where (p~, A p) or (r~, z) vanishes it has broken down, and starts again from x while that gains.

  Vectors read and written per iteration, beside A, A^T, M and M^T, with a pointwise preconditioner d: p, q,
  p~ (product); p~, q~ (product with A^T); q, q~, r, r, r~, r~, d (update); r, r~, d, x, x, p, p, p~, p~
  (direction): 21. Another preconditioner adds z and z~, and their traffic.
*/
#include "bicg.h"
#include "methods.h"

_Static_assert((int)BICG_END <= (int)POISE_SLOTS, "bicg has too many slots");

static int Vectors_BiCG(PoiseKSP ksp)
{
  (void)ksp;
  return BI_VECTORS;
}

bool poiseBiCGByResidual(PoiseKSP ksp)
{
  return ksp->side == POISE_PC_RIGHT || ksp->norm == POISE_KSP_NORM_UNPRECONDITIONED;
}

void poiseBiCGStart(PoiseKSP ksp, PoiseVec b)
{
  double **v = ksp->v;
  bool stored = !ksp->M.pointwise, by_r = poiseBiCGByResidual(ksp);
  int relative_to_b = poiseKSPNormOfB(ksp, b, ksp->work[BI_Z], BICG_ALPHA);
  poiseKSPFirstResidual(ksp, b, (Application){BI_R, BI_Z, BICG_RHO, by_r ? NO_SLOT : BICG_NN},
                        by_r ? BICG_NN : NO_SLOT);
  if (stored) poiseKSPPreconditionTransposed(ksp, ksp->work[BI_R], ksp->work[BI_ZT]);
  poiseKSPPhase(ksp, PHASE_bicg_start, /* r~ = r; p = z; p~ = z~ */
                (PhaseArgs){READS(BICG_R, v[BI_R]), READS(BICG_D, ksp->M.diagonal),
                            READS(BICG_Z, stored ? v[BI_Z] : NULL), READS(BICG_ZT, stored ? v[BI_ZT] : NULL),
                            WRITES(BICG_RT, v[BI_RT]), WRITES(BICG_P, v[BI_P]), WRITES(BICG_PT, v[BI_PT]),
                            .k = relative_to_b},
                NO_SLOT, NO_SLOT);
}

/* alpha = rho / (p~, q); r -= alpha q; r~ -= alpha q~; rho' = (r~, z), and |z| or |r|. */
static void Update(PoiseKSP ksp)
{
  double **v = ksp->v;
  bool by_r = poiseBiCGByResidual(ksp);
  int rho = BICG_RHO + !ksp->loop.parity;
  Fuse f = {0};
  PhaseArgs a = {READS(BICG_Q, v[BI_Q]),   READS(BICG_QT, v[BI_QT]),   READS(BICG_D, ksp->M.diagonal),
                 UPDATES(BICG_R, v[BI_R]), UPDATES(BICG_RT, v[BI_RT]), .flags = by_r};
  if (ksp->M.pointwise) {
    poiseKSPPhase(ksp, PHASE_bicg_update, a, rho, BICG_NN);
    return;
  }
  a.in[BICG_D] = NULL;
  poiseKSPPhase(ksp, PHASE_bicg_update, a, NO_SLOT, by_r ? BICG_NN : NO_SLOT);
  poiseKSPAddDot(ksp, &f, v[BI_RT], rho);
  if (!by_r) poiseKSPAddDot(ksp, &f, NULL, BICG_NN);
  poiseKSPPrecondition(ksp, ksp->work[BI_R], ksp->work[BI_Z], &f);
  poiseKSPPreconditionTransposed(ksp, ksp->work[BI_RT], ksp->work[BI_ZT]);
}

void poiseBiCGStep(PoiseKSP ksp)
{
  Fuse pq = {0};
  poiseKSPAddDot(ksp, &pq, ksp->v[BI_PT], BICG_PQ);
  poiseKSPMult(ksp, ksp->work[BI_P], ksp->work[BI_Q], &pq);        /* q = A p, (p~, q) */
  poiseKSPMultTransposed(ksp, ksp->work[BI_PT], ksp->work[BI_QT]); /* q~ = A^T p~ */
  Update(ksp);
}

static void Iterate_BiCG(PoiseKSP ksp, int j)
{
  double **v = ksp->v;
  bool stored = !ksp->M.pointwise; /* else z and z~ are d r and d r~ */
  (void)j;
  poiseBiCGStep(ksp);
  poiseKSPPhase(ksp, PHASE_bicg_direction, /* x += alpha p; beta = rho' / rho; p = z + beta p, p~ = ... */
                (PhaseArgs){READS(BICG_Z, v[stored ? BI_Z : BI_R]), READS(BICG_ZT, v[stored ? BI_ZT : BI_RT]),
                            READS(BICG_D, ksp->M.diagonal), UPDATES(BICG_X, v[BI_X]),
                            UPDATES(BICG_P, v[BI_P]), UPDATES(BICG_PT, v[BI_PT])},
                NO_SLOT, NO_SLOT);
}

bool poiseBiCGStalls(PoiseKSP ksp, double *norm)
{
  return poiseKSPBrokeDown(ksp, BICG_FIRST, norm);
}

const KSPType poiseKSPType_bicg = {
    .name = "bicg",
    .transposes = MAT_TRANSPOSED | PC_TRANSPOSED,
    .left = NORM(PRECONDITIONED) | NORM(UNPRECONDITIONED) | NORM(NONE),
    .vectors = Vectors_BiCG,
    .start = poiseBiCGStart,
    .iterate = Iterate_BiCG,
    .recurrence = BI_R,
    .stalls = poiseBiCGStalls,
};

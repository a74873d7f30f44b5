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
#include "bicg_phases.h"
#include "methods.h"

enum { X, R, Q, RT, QT, P, PT, Z, ZT, VECTORS };

_Static_assert((int)BICG_END <= (int)POISE_SLOTS, "bicg has too many slots");

static int Vectors_BiCG(PoiseKSP ksp)
{
  (void)ksp;
  return VECTORS;
}

static bool ByResidual(PoiseKSP ksp)
{
  return ksp->norm != POISE_KSP_NORM_PRECONDITIONED;
}

static void Start_BiCG(PoiseKSP ksp, PoiseVec b)
{
  double **v = ksp->v;
  bool stored = !ksp->M.pointwise, by_r = ByResidual(ksp);
  int relative_to_b = poiseKSPNormOfB(ksp, b, ksp->work[Z], BICG_ALPHA);
  poiseKSPFirstResidual(ksp, b, (Application){R, Z, BICG_RHO, by_r ? NO_SLOT : BICG_NN},
                        by_r ? BICG_NN : NO_SLOT);
  if (stored) poiseKSPPreconditionTransposed(ksp, ksp->work[R], ksp->work[ZT]);
  poiseKSPPhase(ksp, PHASE_bicg_start, /* r~ = r; p = z; p~ = z~ */
                (PhaseArgs){READS(BICG_R, v[R]), READS(BICG_D, ksp->M.diagonal),
                            READS(BICG_Z, stored ? v[Z] : NULL), READS(BICG_ZT, stored ? v[ZT] : NULL),
                            WRITES(BICG_RT, v[RT]), WRITES(BICG_P, v[P]), WRITES(BICG_PT, v[PT]),
                            .k = relative_to_b},
                NO_SLOT, NO_SLOT);
}

/* alpha = rho / (p~, q); r -= alpha q; r~ -= alpha q~; rho' = (r~, z), and |z| or |r|. */
static void Update(PoiseKSP ksp)
{
  double **v = ksp->v;
  bool by_r = ByResidual(ksp);
  int rho = BICG_RHO + !ksp->loop.parity;
  Fuse f = {0};
  PhaseArgs a = {READS(BICG_Q, v[Q]),   READS(BICG_QT, v[QT]),   READS(BICG_D, ksp->M.diagonal),
                 UPDATES(BICG_R, v[R]), UPDATES(BICG_RT, v[RT]), .flags = by_r};
  if (ksp->M.pointwise) {
    poiseKSPPhase(ksp, PHASE_bicg_update, a, rho, BICG_NN);
    return;
  }
  a.in[BICG_D] = NULL;
  poiseKSPPhase(ksp, PHASE_bicg_update, a, NO_SLOT, by_r ? BICG_NN : NO_SLOT);
  poiseKSPAddDot(ksp, &f, v[RT], rho);
  if (!by_r) poiseKSPAddDot(ksp, &f, NULL, BICG_NN);
  poiseKSPPrecondition(ksp, ksp->work[R], ksp->work[Z], &f);
  poiseKSPPreconditionTransposed(ksp, ksp->work[RT], ksp->work[ZT]);
}

static void Iterate_BiCG(PoiseKSP ksp, int j)
{
  double **v = ksp->v;
  bool stored = !ksp->M.pointwise; /* else z and z~ are d r and d r~ */
  Fuse pq = {0};
  (void)j;
  poiseKSPAddDot(ksp, &pq, v[PT], BICG_PQ);
  poiseKSPMult(ksp, ksp->work[P], ksp->work[Q], &pq);        /* q = A p, (p~, q) */
  poiseKSPMultTransposed(ksp, ksp->work[PT], ksp->work[QT]); /* q~ = A^T p~ */
  Update(ksp);
  poiseKSPPhase(ksp, PHASE_bicg_direction, /* x += alpha p; beta = rho' / rho; p = z + beta p, p~ = ... */
                (PhaseArgs){READS(BICG_Z, v[stored ? Z : R]), READS(BICG_ZT, v[stored ? ZT : RT]),
                            READS(BICG_D, ksp->M.diagonal), UPDATES(BICG_X, v[X]), UPDATES(BICG_P, v[P]),
                            UPDATES(BICG_PT, v[PT])},
                NO_SLOT, NO_SLOT);
}

static bool Stalls_BiCG(PoiseKSP ksp, double *norm)
{
  return poiseKSPBrokeDown(ksp, BICG_FIRST, norm);
}

const KSPType poiseKSPType_bicg = {
    .name = "bicg",
    .transposes = MAT_TRANSPOSED | PC_TRANSPOSED,
    .left = NORM(PRECONDITIONED) | NORM(UNPRECONDITIONED) | NORM(NONE),
    .vectors = Vectors_BiCG,
    .start = Start_BiCG,
    .iterate = Iterate_BiCG,
    .recurrence = R,
    .stalls = Stalls_BiCG,
};

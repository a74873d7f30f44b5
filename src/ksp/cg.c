/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Preconditioned conjugate gradients (Hestenes & Stiefel 1952), as in PETSc's KSPCG, for symmetric positive definite A and M.

  Vectors read and written per iteration beside the matrix, with a pointwise preconditioner d: q, r, d, r (update);
  r, d, p, x, x, p (direction); p, q (product): 12. A preconditioner of another kind adds z and its own.
*/
#include "cg.h"

int poiseCGVectors(PoiseKSP ksp)
{
  (void)ksp;
  return 5;
}

/* z = M r with (r, z) and |z|^2, where that is not done inside the phases. */
static void ApplyPC(PoiseKSP ksp, int rz)
{
  Fuse f = {0};
  if (ksp->pointwise) return;
  poiseKSPAddDot(ksp, &f, ksp->v[R], rz);
  if (ksp->norm == POISE_KSP_NORM_PRECONDITIONED) poiseKSPAddDot(ksp, &f, NULL, CG_NN);
  poiseKSPPrecondition(ksp, ksp->work[R], ksp->work[Z], &f);
}

void poiseCGStart(PoiseKSP ksp, PoiseVec b)
{
  double **v = ksp->v;
  Fuse f = {0};
  int relative_to_b = poiseKSPNormOfB(ksp, b, ksp->work[Z], CG_ALPHA);
  poiseKSPResidual(ksp, b, ksp->work[R]);
  poiseKSPAddDot(ksp, &f, v[R], CG_RZ);
  if (ksp->norm == POISE_KSP_NORM_PRECONDITIONED) poiseKSPAddDot(ksp, &f, NULL, CG_NN);
  poiseKSPPrecondition(ksp, ksp->work[R], ksp->work[Z], &f);
  if (ksp->norm == POISE_KSP_NORM_UNPRECONDITIONED) {
    Fuse rr = {0};
    poiseKSPAddDot(ksp, &rr, NULL, CG_NN);
    poiseKSPMaxpy(ksp, 0, NULL, 1, NULL, v[R], NULL, &rr);
  }
  poiseKSPPhase(ksp, PHASE_cg_start,
                (PhaseArgs){.in = {v[R], NULL, v[Z]}, .out = {v[P]}, .flags = (int)ksp->norm, .k = relative_to_b}, NO_SLOT,
                NO_SLOT);
}

static void Iterate_CG(PoiseKSP ksp, int j)
{
  double **v = ksp->v;
  const double *d = ksp->point, *z = ksp->pointwise ? NULL : v[Z];
  int even = ksp->parity, odd = !even, norm = (int)ksp->norm;
  bool rr = ksp->pointwise || ksp->norm == POISE_KSP_NORM_UNPRECONDITIONED; /* else |z|^2 comes with z, or is not needed */
  Fuse pq = {0};
  (void)j;
  poiseKSPAddDot(ksp, &pq, v[P], CG_PQ + even);
  poiseKSPMult(ksp, ksp->work[P], ksp->work[Q], &pq); /* q = A p, pq = (p, q) */
  poiseKSPPhase(ksp, PHASE_cg_update,                 /* alpha = rz / pq; r -= alpha q; rz' = (r, z), |z| or |r| */
                (PhaseArgs){.in = {v[Q], d, v[R]}, .out = {v[R]}, .flags = ksp->pointwise ? norm : NORM_UNPRECONDITIONED},
                ksp->pointwise ? CG_RZ + odd : NO_SLOT, rr ? CG_NN : NO_SLOT);
  ApplyPC(ksp, CG_RZ + odd);             /* z = M r, rz' = (r, z), |z| */
  poiseKSPPhase(ksp, PHASE_cg_direction, /* x += alpha p; beta = rz' / rz; p = z + beta p; converged? */
                (PhaseArgs){.in = {v[R], d, z, v[X], v[P]}, .out = {v[X], v[P]}, .flags = norm}, NO_SLOT, NO_SLOT);
}

#define NORM(n) (1u << POISE_KSP_NORM_##n)

const KSPType poiseKSPType_cg = {
    .name = "cg",
    .left = NORM(PRECONDITIONED) | NORM(UNPRECONDITIONED) | NORM(NATURAL) | NORM(NONE),
    .vectors = poiseCGVectors,
    .start = poiseCGStart,
    .iterate = Iterate_CG,
};

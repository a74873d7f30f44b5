/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Conjugate gradients in one product and one pass over the vectors, for symmetric positive definite A and a
  diagonal M. See Meurant 1987; Chen & Carson 2020, "Predict-and-recompute conjugate gradient variants".

  The next (r, z) is predicted from dots that come with the product. So p can be made in the same pass as r.
  (r, z) is also computed anew in that pass, so that errors do not build up.

  Vectors read and written per iteration, beside the matrix: p, q, d (product); q, d, x, x, r, r, p, p
  (update). These are 11, where cg has 12. There is also one wait for a sum less between kernels. The norm of
  an iteration is tested at the start of the next update, when one product has been made in vain. Or it is
  tested at the end of a cycle (poiseKSPLateCycle).
*/
#include "cg.h"
#include "prcg_phases.h"

const char *poiseCGCannotPredict(PoiseKSP ksp)
{
  if (ksp->A->null.n) return "the matrix has a null space";
  return ksp->pc->type->pointwise ? NULL : "the preconditioner is no diagonal";
}

static PoiseErr SetUp_PRCG(PoiseKSP ksp)
{
  if (ksp->A->null.n)
    FAIL(POISE_ERR_UNSUPPORTED, "method prcg does not take a matrix with a null space: use cg");
  if (!ksp->pc->type->pointwise)
    FAIL(POISE_ERR_UNSUPPORTED, "method prcg needs a diagonal preconditioner (none, jacobi), not %s: use cg",
         ksp->pc->type->name);
  return POISE_OK;
}

static int Cycle_PRCG(PoiseKSP ksp)
{
  return poiseKSPLateCycle(ksp, 16);
}

static void Iterate_PRCG(PoiseKSP ksp, int j)
{
  double **v = ksp->v;
  int even = ksp->loop.parity, odd = !even;
  Fuse f = {0};
  poiseKSPAddDot(ksp, &f, v[P], CG_PQ + even);
  poiseKSPAddDot(ksp, &f, NULL, PRCG_QDQ);
  f.d[1] = ksp->M.diagonal;
  poiseKSPMult(ksp, ksp->work[P], ksp->work[Q], &f); /* q = A p, (p, q), (q, D q) */
  poiseKSPPhase(
      ksp,
      PHASE_prcg_update, /* converged? alpha = rz / pq; beta; x += alpha p; r -= alpha q; p = D r + beta p */
      (PhaseArgs){READS(CG_Q, v[Q]), READS(CG_D, ksp->M.diagonal), UPDATES(CG_X, v[X]), UPDATES(CG_R, v[R]),
                  UPDATES(CG_P, v[P]), SENDS(v[P]), .flags = (int)ksp->norm, .k = j > 0},
      CG_RZ + odd, CG_NN);
}

static void Restart_PRCG(PoiseKSP ksp)
{
  poiseKSPScalars(ksp, PHASE_prcg_judge, (PhaseArgs){.flags = (int)ksp->norm});
}

const KSPType poiseKSPType_prcg = {
    .name = "prcg",
    .symmetric = true,
    .columns = true,
    .left = NORM(PRECONDITIONED) | NORM(UNPRECONDITIONED) | NORM(NATURAL) | NORM(NONE),
    .vectors = poiseCGVectors,
    .wide = poiseCGWide,
    .begins = CG_BEGINS,
    .keeps = CG_BEGINS & ~(1 << R),
    .cycle = Cycle_PRCG,
    .setup = SetUp_PRCG,
    .start = poiseCGStart,
    .sends = true,
    .iterate = Iterate_PRCG,
    .restart = Restart_PRCG,
};

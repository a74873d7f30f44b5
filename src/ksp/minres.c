/* SPDX-License-Identifier: BSD-3-Clause */
/*
  MINRES (Paige & Saunders 1975), as PETSc's KSPMINRES, for symmetric positive definite M and symmetric A,
  which may be indefinite or singular. It minimises the natural norm sqrt(r, M^-1 r). PETSc from 3.19 on
  reports this norm under the name of the preconditioned one. The preconditioned norm here is that of older
  versions: |M^-1 r_0| times the decrease of the natural norm. Without a preconditioner both are the same.
  They always stop a relative test in the same iteration.

  Vectors read and written per iteration, beside the matrix, with a pointwise preconditioner d: z, q
  (product); q, r, r_old, d, r, z (lanczos); z, w, w_old, x, w, x (update): 14. Another preconditioner adds
  its own traffic. Dense blocks are an epilogue of lanczos.
*/
#include "minres.h"

static int Vectors_MINRES(PoiseKSP ksp)
{
  (void)ksp;
  return W_ODD + 1;
}

void poiseLanczosStart(PoiseKSP ksp, PoiseVec b)
{
  Fuse f = {0};
  int relative_to_b = poiseKSPNormOfB(ksp, b, ksp->work[Z_ODD], MR_ZQ);
  poiseKSPResidual(ksp, b, ksp->work[R]);
  poiseKSPAddDot(ksp, &f, ksp->v[R], MR_RZ);
  if (ksp->norm == POISE_KSP_NORM_PRECONDITIONED) poiseKSPAddDot(ksp, &f, NULL, MR_NN);
  poiseKSPPrecondition(ksp, ksp->work[R], ksp->work[Z], &f);
  if (ksp->norm != POISE_KSP_NORM_PRECONDITIONED) {
    Fuse rr = {0};
    poiseKSPAddDot(ksp, &rr, NULL, MR_NN);
    poiseKSPMaxpy(ksp, 0, NULL, 1, NULL, ksp->v[R], NULL, &rr);
  }
  poiseKSPScalars(
      ksp, PHASE_minres_start,
      (PhaseArgs){.flags = (int)ksp->norm, .k = relative_to_b, .c = {{.value = ksp->A->null.n > 0}}});
  poiseKSPZero(ksp, ksp->work[R_ODD]);
  poiseKSPZero(ksp, ksp->work[W]);
}

/* M = I: z is r. */
int poiseLanczosZ(PoiseKSP ksp)
{
  return (poiseKSPIsIdentity(ksp) ? R : Z) + ksp->loop.parity;
}

void poiseLanczosStep(PoiseKSP ksp)
{
  double **v = ksp->v;
  int now = ksp->loop.parity, next = !now, z = poiseLanczosZ(ksp);
  PhaseArgs lanczos = {READS(MR_Q, v[Q]), READS(MR_R, v[R + now]), READS(MR_D, ksp->M.diagonal),
                       WRITES(MR_R_OLD, v[R + next]), WRITES(MR_Z, ksp->M.diagonal ? v[Z + next] : NULL)};
  Fuse zq = {0};
  poiseKSPAddDot(ksp, &zq, v[z], MR_ZQ);
  poiseKSPMult(ksp, ksp->work[z], ksp->work[Q], &zq); /* q = A z, (z, q) */
  /* alpha = (z, q) / beta^2; r', z', beta'^2 = (r', z') */
  if (ksp->M.pointwise)
    poiseKSPPhase(ksp, PHASE_minres_lanczos, lanczos, MR_RZ + next, NO_SLOT);
  else
    poiseKSPPhasePrecondition(ksp, PHASE_minres_lanczos, lanczos, NO_SLOT, NO_SLOT,
                              (Application){R + next, Z + next, MR_RZ + next, NO_SLOT});
}

static void Start_MINRES(PoiseKSP ksp, PoiseVec b)
{
  poiseLanczosStart(ksp, b);
  poiseKSPZero(ksp, ksp->work[W_ODD]);
}

static void Iterate_MINRES(PoiseKSP ksp, int j)
{
  double **v = ksp->v;
  int now = ksp->loop.parity, next = !now;
  (void)j;
  poiseLanczosStep(ksp);
  poiseKSPPhase(ksp, PHASE_minres_update, /* rotate; w = ...; x += tau w; converged? */
                (PhaseArgs){READS(MR_Z, v[poiseLanczosZ(ksp)]), READS(MR_W1, v[W + next]), WRITES(MR_X, v[X]),
                            WRITES(MR_W2, v[W + now])},
                NO_SLOT, NO_SLOT);
}

_Static_assert((int)MR_END <= (int)POISE_SLOTS, "minres has too many slots");

const KSPType poiseKSPType_minres = {
    .name = "minres",
    .symmetric = true,
    .columns = true,
    .left = NORM(PRECONDITIONED) | NORM(NATURAL) | NORM(NONE),
    .factor = MR_FACTOR,
    .vectors = Vectors_MINRES,
    .start = Start_MINRES,
    .iterate = Iterate_MINRES,
};

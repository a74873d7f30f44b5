/* SPDX-License-Identifier: BSD-3-Clause */
/*
  SYMMLQ (Paige & Saunders 1975), as PETSc's KSPSYMMLQ, for symmetric positive definite M and symmetric A,
  which may be indefinite. Its x is the shortest in a space of the error; at the end it moves to the point of
  conjugate gradients, whose norm it watches. That is the natural norm. The preconditioned norm is |M^-1 r_0|
  times the decrease of the natural norm, as that of minres.

  Vectors read and written per iteration, beside the matrix, with a pointwise preconditioner d: z, wbar, wbar,
  x, x (update); z, q (product); q, r, r_old, d, r, z (lanczos): 13.
*/
#include "minres.h"
#include "symmlq_phases.h"

enum { WBAR = W };

static int Vectors_SYMMLQ(PoiseKSP ksp)
{
  (void)ksp;
  return WBAR + 1;
}

static int64_t Array_SYMMLQ(PoiseKSP ksp)
{
  (void)ksp;
  return 2 * SYMMLQ_STATE;
}

static void Iterate_SYMMLQ(PoiseKSP ksp, int j)
{
  double **v = ksp->v;
  (void)j;
  poiseKSPPhase(ksp, PHASE_symmlq_update,
                (PhaseArgs){READS(SYMMLQ_Z, v[poiseLanczosZ(ksp)]), UPDATES(SYMMLQ_WBAR, v[WBAR]),
                            UPDATES(SYMMLQ_X, v[X])},
                NO_SLOT, NO_SLOT);
  poiseLanczosStep(ksp);
  poiseKSPScalars(ksp, PHASE_symmlq_rotate, (PhaseArgs){0});
}

/* Work vector `to` = x + zeta_bar wbar. */
static void Move(PoiseKSP ksp, int to)
{
  PhaseArgs a = {READS(VEC_X, ksp->v[X]), READS(VEC_Y, ksp->v[WBAR]), WRITES(VEC_W, ksp->v[to])};
  a.c[0].value = 1;
  a.c[1].slot = poiseKSPSlot(ksp, SYMMLQ_STEP_BAR);
  poiseKSPPhase(ksp, PHASE_vec_axpby, a, NO_SLOT, NO_SLOT);
}

static void Finish_SYMMLQ(PoiseKSP ksp)
{
  Move(ksp, X);
}

static PoiseVec Solution_SYMMLQ(PoiseKSP ksp)
{
  Move(ksp, Q);
  return ksp->work[Q];
}

const KSPType poiseKSPType_symmlq = {
    .name = "symmlq",
    .symmetric = true,
    .left = NORM(PRECONDITIONED) | NORM(NATURAL) | NORM(NONE),
    .factor = MR_FACTOR,
    .vectors = Vectors_SYMMLQ,
    .array = Array_SYMMLQ,
    .start = poiseLanczosStart,
    .iterate = Iterate_SYMMLQ,
    .finish = Finish_SYMMLQ,
    .foreseen = true,
    .solution = Solution_SYMMLQ,
};

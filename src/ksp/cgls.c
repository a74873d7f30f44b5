/* SPDX-License-Identifier: BSD-3-Clause */
/*
  CGLS (Hestenes & Stiefel 1952; Bjorck 1996): conjugate gradients for A^T A x = A^T b that never form A^T A.
  Its x are those of lsqr in exact arithmetic. As PETSc's KSPCGLS it watches s = A^T (b - A x): its norm is
  |s|, relative to |A^T b|. It takes an M for A^T A too, which PETSc's does not.

  Vectors read and written per iteration, beside A, A^T and M: p, and q of A's rows (product); q, r, r of A's
  rows (residual); r of A's rows, s (product with A^T); s, s (norm); z, p, p, x, x (direction): 9, and 5 of
  A's rows. An M adds its own traffic: 3 if it is a diagonal.
*/
#include "lsqr_phases.h"
#include "methods.h"

enum { X, S, P, Z, Q, R, VECTORS };

_Static_assert((int)CGLS_END <= (int)POISE_SLOTS, "cgls has too many slots");

static int Vectors_CGLS(PoiseKSP ksp)
{
  (void)ksp;
  return VECTORS;
}

/* Is M the identity? On all ranks alike, as dots depend on it. */
static bool IsNone(PoiseKSP ksp)
{
  return ksp->M.pointwise && !ksp->pc->type->setup;
}

/* The work vector with z. */
static int OfZ(PoiseKSP ksp)
{
  return IsNone(ksp) ? S : Z;
}

/* s = A^T r, (s, s); z = M^-1 s, (s, z) */
static void Normal_CGLS(PoiseKSP ksp, int gamma)
{
  double **v = ksp->v;
  bool identity = IsNone(ksp);
  Fuse f = {0};
  poiseKSPMultTransposed(ksp, ksp->work[R], ksp->work[S]);
  poiseKSPPhase(ksp, identity ? PHASE_vec_dot2 : PHASE_vec_dot,
                (PhaseArgs){READS(VEC_X, v[S]), READS(VEC_Y, v[S])}, CGLS_SS, identity ? gamma : NO_SLOT);
  if (identity) return;
  poiseKSPAddDot(ksp, &f, v[S], gamma);
  poiseKSPPrecondition(ksp, ksp->work[S], ksp->work[Z], &f);
}

static void Start_CGLS(PoiseKSP ksp, PoiseVec b)
{
  double **v = ksp->v;
  int relative_to_b = poiseKSPNormOfB(ksp, b, ksp->work[S], CGLS_QQ);
  poiseKSPResidual(ksp, b, ksp->work[R]);
  Normal_CGLS(ksp, CGLS_GAMMA);
  poiseKSPPhase(ksp, PHASE_cgls_start,
                (PhaseArgs){READS(CGLS_Z, v[OfZ(ksp)]), WRITES(CGLS_P, v[P]), .k = relative_to_b}, NO_SLOT,
                NO_SLOT);
}

static void Iterate_CGLS(PoiseKSP ksp, int j)
{
  double **v = ksp->v;
  Fuse qq = {0};
  (void)j;
  poiseKSPAddDot(ksp, &qq, NULL, CGLS_QQ);
  poiseKSPMult(ksp, ksp->work[P], ksp->work[Q], &qq); /* q = A p, (q, q) */
  poiseKSPRowsPhase(ksp, PHASE_cgls_residual,         /* alpha = gamma / (q, q); r -= alpha q */
                    (PhaseArgs){READS(CGLS_Q, v[Q]), UPDATES(CGLS_R, v[R])}, NO_SLOT, NO_SLOT);
  Normal_CGLS(ksp, CGLS_GAMMA + !ksp->loop.parity);
  poiseKSPPhase(ksp, PHASE_cgls_direction,
                (PhaseArgs){READS(CGLS_Z, v[OfZ(ksp)]), UPDATES(CGLS_P, v[P]), UPDATES(CGLS_X, v[X])},
                NO_SLOT, NO_SLOT);
}

static double SizeOfA(PoiseKSP ksp)
{
  const double *size2 = ksp->result.slots + CGLS_SIZE2;
  return sqrt(fmax(size2[0], size2[1]));
}

const KSPType poiseKSPType_cgls = {
    .name = "cgls",
    .squares = TESTS_NORMAL,
    .rows = 2,
    .size_of_a = SizeOfA,
    .transposes = MAT_TRANSPOSED,
    .left = NORM(UNPRECONDITIONED) | NORM(NONE),
    .vectors = Vectors_CGLS,
    .start = Start_CGLS,
    .iterate = Iterate_CGLS,
};

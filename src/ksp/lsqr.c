/* SPDX-License-Identifier: BSD-3-Clause */
/*
  LSQR (Paige & Saunders 1982), as PETSc's KSPLSQR: x minimises |b - A x| over a Krylov space of A^T A, by the
  bidiagonalisation of Golub and Kahan. A may have any shape and rank. From x = 0 without M it is the shortest
  of all solutions. M approximates A^T A (normal.c): the space is that of M^-1 A^T A.

  The norm is |b - A x|. A solve ends when that is within the tolerances, or when |A^T (b - A x)|, in the norm
  of M^-1, is less than rtol |A| |b - A x| or atol. |A| is the norm of Frobenius of the bidiagonal so far.

  Vectors are kept unscaled: u is beta u, v and z are alpha v and alpha M^-1 v of the paper. So the product
  makes u and its length in one pass.

  Vectors read and written per iteration, beside A, A^T and M: z, and u, u of A's rows (product); u of A's
  rows, t (product with A^T); t, v, v (v); z, w, w, x, x (step): 10, and 3 of A's rows. A diagonal M adds 2.
*/
#include "lsqr_phases.h"
#include "methods.h"

enum { X, V, W, T, Z, U, VECTORS };

_Static_assert((int)LSQR_END <= (int)POISE_SLOTS, "lsqr has too many slots");

static int Vectors_LSQR(PoiseKSP ksp)
{
  (void)ksp;
  return VECTORS;
}

/* The work vector with z. */
static int OfZ(PoiseKSP ksp)
{
  return poiseKSPIsIdentity(ksp) ? V : Z;
}

/* t = A^T u; v = ...; z = M^-1 v, (v, z) */
static void Extend(PoiseKSP ksp, bool first, int alpha2)
{
  double **v = ksp->v;
  Fuse f = {0};
  PhaseArgs a = {READS(LSQR_T, v[T]), READS(LSQR_D, ksp->M.diagonal), UPDATES(LSQR_V, v[V]),
                 WRITES(LSQR_Z, ksp->M.diagonal ? v[Z] : NULL), .k = first};
  poiseKSPMultTransposed(ksp, ksp->work[U], ksp->work[T]);
  if (ksp->M.pointwise) {
    poiseKSPPhase(ksp, PHASE_lsqr_v, a, alpha2, LSQR_VV);
    return;
  }
  a.in[LSQR_D] = NULL, a.out[LSQR_Z] = NULL;
  poiseKSPPhase(ksp, PHASE_lsqr_v, a, NO_SLOT, LSQR_VV);
  poiseKSPAddDot(ksp, &f, v[V], alpha2);
  poiseKSPPrecondition(ksp, ksp->work[V], ksp->work[Z], &f);
}

static void Start_LSQR(PoiseKSP ksp, PoiseVec b)
{
  double **v = ksp->v;
  int relative_to_b = poiseKSPNormOfB(ksp, b, ksp->work[T], LSQR_RHOBAR);
  poiseKSPResidual(ksp, b, ksp->work[U]);
  poiseKSPRowsPhase(ksp, PHASE_vec_dot, (PhaseArgs){READS(VEC_X, v[U]), READS(VEC_Y, v[U])}, LSQR_BETA2,
                    NO_SLOT);
  Extend(ksp, true, LSQR_ALPHA2);
  poiseKSPPhase(ksp, PHASE_lsqr_start,
                (PhaseArgs){READS(LSQR_Z, v[OfZ(ksp)]), WRITES(LSQR_W, v[W]), .k = relative_to_b}, NO_SLOT,
                NO_SLOT);
}

static void Iterate_LSQR(PoiseKSP ksp, int j)
{
  double **v = ksp->v;
  int next = !ksp->loop.parity;
  Fuse uu = {0};
  (void)j;
  poiseKSPAddDot(ksp, &uu, NULL, LSQR_BETA2 + next);
  poiseKSPProductScaled(ksp, (ScalarRef){poiseKSPSlot(ksp, LSQR_OF_PRODUCT), 0}, ksp->work[OfZ(ksp)],
                        (ScalarRef){poiseKSPSlot(ksp, LSQR_OF_U), 0}, ksp->work[U], &uu); /* u, beta^2 */
  Extend(ksp, false, LSQR_ALPHA2 + next);
  poiseKSPPhase(ksp, PHASE_lsqr_step,
                (PhaseArgs){READS(LSQR_Z, v[OfZ(ksp)]), UPDATES(LSQR_W, v[W]), UPDATES(LSQR_X, v[X])},
                NO_SLOT, NO_SLOT);
}

static double SizeOfA(PoiseKSP ksp)
{
  const double *size2 = ksp->result.slots + LSQR_SIZE2;
  return sqrt(fmax(size2[0], size2[1]));
}

const KSPType poiseKSPType_lsqr = {
    .name = "lsqr",
    .squares = TESTS_RESIDUAL,
    .rows = 1,
    .size_of_a = SizeOfA,
    .transposes = MAT_TRANSPOSED,
    .left = NORM(UNPRECONDITIONED) | NORM(NONE),
    .vectors = Vectors_LSQR,
    .start = Start_LSQR,
    .iterate = Iterate_LSQR,
};

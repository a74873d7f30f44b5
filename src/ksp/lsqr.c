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
  rows, t (product with A^T); t, v, v (v); z, w, w, x, x (step): 10, and 3 of A's rows. A diagonal M adds 2,
  variances add 2.
*/
#include "lsqr_phases.h"
#include "methods.h"
#include "setup.h"

enum { X, V, W, T, Z, SUM }; /* then u; without variances there is no sum */

_Static_assert((int)LSQR_END <= (int)POISE_SLOTS, "lsqr has too many slots");

typedef struct LSQR {
  bool variances; /* asked for */
} LSQR;

static bool HasVariances(PoiseKSP ksp)
{
  return ((const LSQR *)ksp->data)->variances;
}

static int Vectors_LSQR(PoiseKSP ksp)
{
  return SUM + 1 + HasVariances(ksp);
}

static int OfU(PoiseKSP ksp)
{
  return poiseKSPRowsVector(ksp);
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
  poiseKSPMultTransposed(ksp, ksp->work[OfU(ksp)], ksp->work[T]);
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
  double **v = ksp->v, *u = v[OfU(ksp)];
  int relative_to_b = poiseKSPNormOfB(ksp, b, ksp->work[T], LSQR_RHOBAR);
  if (HasVariances(ksp)) poiseKSPZero(ksp, ksp->work[SUM]);
  poiseKSPResidual(ksp, b, ksp->work[OfU(ksp)]);
  poiseKSPRowsPhase(ksp, PHASE_vec_dot, (PhaseArgs){READS(VEC_X, u), READS(VEC_Y, u)}, LSQR_BETA2, NO_SLOT);
  Extend(ksp, true, LSQR_ALPHA2);
  poiseKSPPhase(ksp, PHASE_lsqr_start,
                (PhaseArgs){READS(LSQR_Z, v[OfZ(ksp)]), WRITES(LSQR_W, v[W]), .k = relative_to_b}, NO_SLOT,
                NO_SLOT);
}

static void Iterate_LSQR(PoiseKSP ksp, int j)
{
  double **v = ksp->v, *sum = HasVariances(ksp) ? v[SUM] : NULL;
  int next = !ksp->loop.parity;
  Fuse uu = {0};
  (void)j;
  poiseKSPAddDot(ksp, &uu, NULL, LSQR_BETA2 + next);
  poiseKSPProductScaled(ksp, (ScalarRef){poiseKSPSlot(ksp, LSQR_OF_PRODUCT), 0}, ksp->work[OfZ(ksp)],
                        (ScalarRef){poiseKSPSlot(ksp, LSQR_OF_U), 0}, ksp->work[OfU(ksp)],
                        &uu); /* u, beta^2 */
  Extend(ksp, false, LSQR_ALPHA2 + next);
  poiseKSPPhase(ksp, PHASE_lsqr_step,
                (PhaseArgs){READS(LSQR_Z, v[OfZ(ksp)]), UPDATES(LSQR_W, v[W]), UPDATES(LSQR_X, v[X]),
                            UPDATES(LSQR_SUM, sum)},
                NO_SLOT, NO_SLOT);
}

static double SizeOfA(PoiseKSP ksp)
{
  const double *size2 = ksp->result.slots + LSQR_SIZE2;
  return sqrt(fmax(size2[0], size2[1]));
}

/* ---- what the application asks --------------------------------------------------------------- */

static PoiseErr Check(PoiseKSP ksp, const char *what)
{
  if (ksp->type != &poiseKSPType_lsqr)
    FAIL(POISE_ERR_UNSUPPORTED, "%s: the method is %s, and not lsqr", what, ksp->type->name);
  if (!ksp->layout || (ksp->result.reason == POISE_ITERATING && !ksp->solve.running))
    FAIL(POISE_ERR_STATE, "%s: there was no solve", what);
  if (ksp->solve.running && !ksp->loop.eager)
    FAIL(POISE_ERR_STATE, "%s: the loop is replayed and ahead of its monitors", what);
  return POISE_OK;
}

PoiseErr PoiseKSPLSQRNorms(PoiseKSP ksp, double *normal, double *size)
{
  CALLED(OBJECT(ksp), GIVEN(normal), GIVEN(size));
  const double *slots = ksp->result.slots;
  TRY(Check(ksp, "PoiseKSPLSQRNorms"));
  int latest = slots[LSQR_SIZE2_ODD] > slots[LSQR_SIZE2]; /* its parity: the sum grows */
  *normal = fabs(slots[LSQR_RHOBAR + latest]) * slots[LSQR_PHIBAR + latest] / ksp->solve.scale;
  *size = SizeOfA(ksp);
  return POISE_OK;
}

PoiseErr PoiseKSPLSQRSetComputeVariances(PoiseKSP ksp, int on)
{
  CALLED(OBJECT(ksp));
  if (ksp->type != &poiseKSPType_lsqr) return POISE_OK;
  TRY(poiseKSPCheckIdle(ksp, "PoiseKSPLSQRSetComputeVariances"));
  LSQR *l = ksp->data;
  if (l->variances != (on != 0)) poiseKSPRelease(ksp);
  l->variances = on != 0;
  return POISE_OK;
}

PoiseErr PoiseKSPLSQRVariances(PoiseKSP ksp, PoiseVec v)
{
  CALLED(OBJECT(ksp), OBJECT(v));
  TRY(Check(ksp, "PoiseKSPLSQRVariances"));
  if (!HasVariances(ksp)) FAIL(POISE_ERR_STATE, "call PoiseKSPLSQRSetComputeVariances before the solve");
  return PoiseVecCopy(ksp->work[SUM], v);
}

const KSPType poiseKSPType_lsqr = {
    .name = "lsqr",
    .size = sizeof(LSQR),
    .squares = TESTS_RESIDUAL,
    .rows = 1,
    .size_of_a = SizeOfA,
    .transposes = MAT_TRANSPOSED,
    .left = NORM(UNPRECONDITIONED) | NORM(NONE),
    .vectors = Vectors_LSQR,
    .start = Start_LSQR,
    .iterate = Iterate_LSQR,
};

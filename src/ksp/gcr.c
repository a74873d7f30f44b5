/* SPDX-License-Identifier: BSD-3-Clause */
/*
  GCR(m), generalised conjugate residuals (Eisenstat, Elman & Schultz 1983), as PETSc's KSPGCR, for general A.
  It is preconditioned from the right by an M that may vary between applications, with the unpreconditioned
  norm. Its iterates are those of fgmres, but x and b - A x are there in each iteration. As in PETSc a cycle
  begins with the residual of the recurrence. Directions are orthogonalised by classical Gram-Schmidt.

  Vectors read and written in iteration j of a cycle, beside the preconditioner: d_j, c_j (product); j + 1
  (dots); j + 2, r, and j + 2 (direction); x, x, r, r, d_j, d_j, c_j, c_j (update): 3 j + 16; 12 if j = 0.
*/
#include "directions_phases.h"
#include "methods.h"
#include "setup.h"

enum { X, R, T, D }; /* work vectors: from D on d_0 ... d_m-1, then c_0 ... c_m-1 */

typedef struct GCR {
  PoiseInt restart;
} GCR;

static const PoiseOption options[] = {
    {"ksp_gcr_restart", POISE_OPTION_INT, offsetof(GCR, restart), "30", 1, 10000, NULL,
     "iterations between restarts of gcr"},
    {0},
};

PoiseErr PoiseKSPGCRSetRestart(PoiseKSP ksp, int restart)
{
  CALLED(OBJECT(ksp));
  if (ksp->type != &poiseKSPType_gcr) return POISE_OK; /* as PETSc: no effect on other methods */
  TRY(poiseKSPCheckIdle(ksp, "PoiseKSPGCRSetRestart"));
  if (restart < 1 || restart > 10000)
    FAIL(POISE_ERR_ARG, "a restart of %d is not between 1 and 10000", restart);
  if (((GCR *)ksp->data)->restart != restart) poiseKSPRelease(ksp);
  ((GCR *)ksp->data)->restart = restart;
  return POISE_OK;
}

static int Restart(PoiseKSP ksp)
{
  return (int)((GCR *)ksp->data)->restart;
}

static int Vectors_GCR(PoiseKSP ksp)
{
  return D + 2 * Restart(ksp);
}

static int64_t Array_GCR(PoiseKSP ksp)
{
  return Restart(ksp);
}

static void Start_GCR(PoiseKSP ksp, PoiseVec b)
{
  int relative_to_b = poiseKSPStartResidual(ksp, b, R, T, CG_NN);
  poiseKSPScalars(ksp, PHASE_gcr_start, (PhaseArgs){.k = relative_to_b});
}

static void Iterate_GCR(PoiseKSP ksp, int j)
{
  int m = Restart(ksp);
  double **v = ksp->v, **d = v + D, **c = d + m, *h = ksp->scalars.array;
  const double *skip = poiseKSPSlot(ksp, SLOT_DONE);
  PoiseVec direction = ksp->work[D + j], product = ksp->work[D + m + j];
  Fuse f = {0};
  poiseKSPPrecondition(ksp, ksp->work[R], direction, NULL); /* d_j = M^-1 r */
  if (j) poiseKSPMult(ksp, direction, product, NULL);       /* c_j = A d_j */
  if (j) poiseKSPMdot(ksp, j, c, c[j], h, NULL, skip);
  if (j) poiseKSPMaxpy(ksp, j, d, -1, h, d[j], skip, NULL); /* d_j -= sum (c_j, c_i) d_i */
  poiseKSPAddDot(ksp, &f, v[R], DIR_STEP);
  poiseKSPAddDot(ksp, &f, NULL, CG_PQ);
  if (j)
    poiseKSPMaxpy(ksp, j, c, -1, h, c[j], skip, &f); /* c_j -= sum (c_j, c_i) c_i, (r, c_j), (c_j, c_j) */
  else
    poiseKSPMult(ksp, direction, product, &f);
  poiseKSPPhase(ksp, PHASE_directions_update, /* alpha = (r, c) / (c, c); x += alpha d; r -= alpha c */
                (PhaseArgs){UPDATES(DIR_X, v[X]), UPDATES(DIR_R, v[R]), UPDATES(DIR_D, d[j]),
                            UPDATES(DIR_C, c[j]), .k = REASON_BREAKDOWN},
                CG_NN, NO_SLOT);
  poiseKSPScalars(ksp, PHASE_gcr_decide, (PhaseArgs){0});
}

static PoiseErr View_GCR(PoiseKSP ksp)
{
  return poisePrint(ksp->ctx, "  restart %d, classical Gram-Schmidt\n", Restart(ksp));
}

const KSPType poiseKSPType_gcr = {
    .name = "gcr",
    .size = sizeof(GCR),
    .options = options,
    .flexible = true,
    .right = NORM(UNPRECONDITIONED) | NORM(NONE),
    .vectors = Vectors_GCR,
    .array = Array_GCR,
    .cycle = Restart,
    .start = Start_GCR,
    .iterate = Iterate_GCR,
    .view = View_GCR,
};

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Flexible conjugate gradients (Notay 2000), as PETSc's KSPFCG, for symmetric positive definite A and an M
  that may vary between applications. Each direction is made A-orthogonal to kept ones: in iteration j of a
  cycle of mmax + 1 to the j of that cycle, in its first to the last one before (Notay's truncation).

  Vectors read and written in iteration j of a cycle, beside the preconditioner: j + 1 (dots); z, d_j, and j +
  2, r (direction); d_j, c_j (product); x, x, r, r, d_j, d_j, c_j, c_j (update): 2 j + 16.
*/
#include "cg.h"
#include "directions_phases.h"
#include "setup.h"

enum { D = Z + 1 }; /* work vectors, behind those of cg: from here d_0 ... d_mmax, then c_0 ... c_mmax */

_Static_assert((int)DIR_END <= (int)POISE_SLOTS, "fcg has too many slots");

typedef struct FCG {
  PoiseInt most;
} FCG;

static const PoiseOption options[] = {
    {"ksp_fcg_mmax", POISE_OPTION_INT, offsetof(FCG, most), "30", 1, 10000, NULL,
     "most directions that those of fcg are made orthogonal to"},
    {0},
};

PoiseErr PoiseKSPFCGSetMmax(PoiseKSP ksp, int most)
{
  CALLED(OBJECT(ksp));
  if (ksp->type != &poiseKSPType_fcg) return POISE_OK; /* as PETSc: no effect on other methods */
  TRY(poiseKSPCheckIdle(ksp, "PoiseKSPFCGSetMmax"));
  if (most < 1 || most > 10000) FAIL(POISE_ERR_ARG, "an mmax of %d is not between 1 and 10000", most);
  if (((FCG *)ksp->data)->most != most) poiseKSPRelease(ksp);
  ((FCG *)ksp->data)->most = most;
  return POISE_OK;
}

static int Cycle_FCG(PoiseKSP ksp)
{
  return (int)((FCG *)ksp->data)->most + 1;
}

static int Vectors_FCG(PoiseKSP ksp)
{
  return D + 2 * Cycle_FCG(ksp);
}

static int64_t Array_FCG(PoiseKSP ksp)
{
  return Cycle_FCG(ksp);
}

static void Start_FCG(PoiseKSP ksp, PoiseVec b)
{
  int last = Cycle_FCG(ksp) - 1;
  poiseCGStart(ksp, b); /* p = z = M^-1 r */
  poiseKSPZero(ksp, ksp->work[D + last]);
  poiseKSPZero(ksp, ksp->work[D + last + Cycle_FCG(ksp)]);
}

/* z = M^-1 r in vector p, (r, z), and |z| or |r| */
static void Precondition(PoiseKSP ksp, int rz)
{
  Fuse f = {0};
  poiseKSPAddDot(ksp, &f, ksp->v[R], rz);
  if (ksp->norm == POISE_KSP_NORM_PRECONDITIONED) poiseKSPAddDot(ksp, &f, NULL, CG_NN);
  poiseKSPPrecondition(ksp, ksp->work[R], ksp->work[P], &f);
}

static void Iterate_FCG(PoiseKSP ksp, int j)
{
  int n = Cycle_FCG(ksp), first = j ? 0 : n - 1, k = j ? j : 1;
  double **v = ksp->v, **d = v + D, **c = d + n, *h = ksp->scalars.array;
  const double *skip = poiseKSPSlot(ksp, SLOT_DONE);
  bool by_r = ksp->norm != POISE_KSP_NORM_PRECONDITIONED;
  Fuse rd = {0}, dc = {0};
  poiseKSPMdot(ksp, k, c + first, v[P], h, NULL, skip);
  poiseKSPCopy(ksp, ksp->work[P], ksp->work[D + j]);
  poiseKSPAddDot(ksp, &rd, v[R], DIR_STEP);
  poiseKSPMaxpy(ksp, k, d + first, -1, h, d[j], skip, &rd); /* d_j = z - sum (z, c_i) d_i, (r, d_j) */
  poiseKSPAddDot(ksp, &dc, d[j], CG_PQ);
  poiseKSPMult(ksp, ksp->work[D + j], ksp->work[D + n + j], &dc); /* c_j = A d_j, (d_j, c_j) */
  poiseKSPPhase(ksp, PHASE_directions_update, /* alpha = (r, d) / (d, c); x += alpha d; r -= alpha c */
                (PhaseArgs){UPDATES(DIR_X, v[X]), UPDATES(DIR_R, v[R]), UPDATES(DIR_D, d[j]),
                            UPDATES(DIR_C, c[j]), .k = REASON_INDEFINITE_MAT},
                by_r ? CG_NN : NO_SLOT, NO_SLOT);
  Precondition(ksp, CG_RZ + !ksp->loop.parity);
  poiseKSPScalars(ksp, PHASE_fcg_decide, (PhaseArgs){.flags = poiseCGFlags(ksp)});
}

static PoiseErr View_FCG(PoiseKSP ksp)
{
  return poisePrint(ksp->ctx, "  most directions kept: %d\n", Cycle_FCG(ksp) - 1);
}

const KSPType poiseKSPType_fcg = {
    .name = "fcg",
    .symmetric = true,
    .size = sizeof(FCG),
    .options = options,
    .flexible = true,
    .left = NORM(PRECONDITIONED) | NORM(UNPRECONDITIONED) | NORM(NATURAL) | NORM(NONE),
    .vectors = Vectors_FCG,
    .array = Array_FCG,
    .cycle = Cycle_FCG,
    .start = Start_FCG,
    .iterate = Iterate_FCG,
    .recurrence = R,
    .view = View_FCG,
};

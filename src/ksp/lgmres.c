/* SPDX-License-Identifier: BSD-3-Clause */
/*
  LGMRES(m, k) (Baker, Jessup & Manteuffel 2005), as PETSc's KSPLGMRES: restarted GMRES, whose space of m
  vectors has m - k of Krylov's and then u = x_i+1 - x_i of the k latest cycles, which approximate the errors
  of their x_i. Residuals of gmres often alternate between restarts. With such a u in the space the correction
  is of another direction.

  K u is the difference of the residuals at both ends of u's cycle, so a kept u needs no product. While fewer
  than k are there, Krylov's vectors take their places, as with PETSc's -ksp_lgmres_constant: a cycle has m
  iterations always. The latest u comes last.

  Vectors read and written are those of gmres; in the iteration of a kept u 3 more, in place of a product and
  the preconditioner. At a restart 4 k + 9 more, from the right 4 k + 5.
*/
#include "gmres.h"
#include "lgmres_phases.h"
#include "setup.h"

_Static_assert((int)GM_END <= (int)POISE_SLOTS, "lgmres has too many slots");

static int Kept(PoiseKSP ksp)
{
  return poiseGMRESRestart(ksp) - poiseGMRESKrylov(ksp);
}

/* The work vectors of u_i, the i-th oldest, and of c_i = K u_i. */
static int U(PoiseKSP ksp, int i)
{
  return poiseGMRESVectors(ksp) + i;
}

static int C(PoiseKSP ksp, int i)
{
  return U(ksp, Kept(ksp) + i);
}

static int Vectors_LGMRES(PoiseKSP ksp)
{
  return C(ksp, Kept(ksp));
}

PoiseErr PoiseKSPLGMRESSetAugDim(PoiseKSP ksp, int augment)
{
  CALLED(OBJECT(ksp));
  GMRES *g = ksp->data;
  if (ksp->type != &poiseKSPType_lgmres) return POISE_OK; /* as PETSc: no effect on other methods */
  TRY(poiseKSPCheckIdle(ksp, "PoiseKSPLGMRESSetAugDim"));
  if (augment < 0 || augment > 9999) FAIL(POISE_ERR_ARG, "%d kept corrections are not 0 to 9999", augment);
  if (g->augment != augment) poiseKSPRelease(ksp);
  g->augment = augment;
  return POISE_OK;
}

/* w = K u_i; if u_i is not there, u_i = v_j first. A loop whose iterations the host sees knows which. */
static void Iterate_LGMRES(PoiseKSP ksp, int j)
{
  double **v = ksp->v;
  int i = j - poiseGMRESKrylov(ksp), kept = Kept(ksp) - i, newest = poiseGMRESNewest(ksp, j);
  if (i < 0) {
    poiseGMRESIterate(ksp, j);
    return;
  }
  poiseKSPScalars(ksp, PHASE_lgmres_known, (PhaseArgs){.k = kept});
  if (!ksp->loop.eager || ksp->result.slots[GM_KEPT] < kept)
    poiseKSPOperatorUnless(ksp, ksp->work[newest], ksp->work[GM_T], ksp->work[poiseGMRESNext(ksp, j)],
                           GM_SKIP);
  poiseKSPPhase(ksp, PHASE_lgmres_take,
                (PhaseArgs){READS(LG_C, v[C(ksp, i)]), READS(LG_V, v[newest]), WRITES(LG_U, v[U(ksp, i)]),
                            WRITES(LG_W, v[poiseGMRESNext(ksp, j)])},
                NO_SLOT, NO_SLOT);
  poiseGMRESExtend(ksp, j);
}

/* Keep u in GM_T, and the residual that its cycle began with, in place of the oldest pair. */
static void Keep(PoiseKSP ksp)
{
  double **v = ksp->v;
  int last = Kept(ksp) - 1;
  for (int i = 0; i < last; i++)
    poiseKSPPhase(ksp, PHASE_lgmres_shift,
                  (PhaseArgs){READS(LG_NEWER_U, v[U(ksp, i + 1)]), READS(LG_NEWER_C, v[C(ksp, i + 1)]),
                              WRITES(LG_U, v[U(ksp, i)]), WRITES(LG_C, v[C(ksp, i)])},
                  NO_SLOT, NO_SLOT);
  poiseKSPPhase(ksp, PHASE_lgmres_store,
                (PhaseArgs){READS(LG_V, v[GM_T]), WRITES(LG_U, v[U(ksp, last)]),
                            WRITES(LG_C, v[C(ksp, last)]), .k = Kept(ksp)},
                NO_SLOT, NO_SLOT);
  poiseKSPColumnsAdd(ksp, 1, poiseGMRESBasis(ksp), 1, poiseKSPSlot(ksp, GM_FIRST), v[C(ksp, last)],
                     poiseKSPSlot(ksp, SLOT_DONE), NULL); /* r = |r| v_0 */
}

static void Restart_LGMRES(PoiseKSP ksp)
{
  const double *skip = poiseKSPSlot(ksp, SLOT_DONE);
  poiseGMRESCombine(ksp, poiseGMRESRestart(ksp), skip, Kept(ksp) ? LG_UU : NO_SLOT);
  if (Kept(ksp)) Keep(ksp);
  if (ksp->side == POISE_PC_LEFT)
    poiseKSPMaxpy(ksp, 1, &ksp->v[GM_T], 1, NULL, ksp->v[GM_X], skip, NULL);
  else
    poiseKSPUnwind(ksp, ksp->work[GM_T], ksp->work[GM_W]);
  poiseGMRESContinue(ksp); /* the new residual, in GM_W */
  if (!Kept(ksp)) return;
  poiseKSPPhase(ksp, PHASE_lgmres_keep,
                (PhaseArgs){READS(LG_W, ksp->v[GM_W]), UPDATES(LG_C, ksp->v[C(ksp, Kept(ksp) - 1)])}, NO_SLOT,
                NO_SLOT);
}

const KSPType poiseKSPType_lgmres = {
    .name = "lgmres",
    .size = sizeof(GMRES),
    .options = poiseGMRESOptions,
    .linear = {1e-6, 1},
    .left = NORM(PRECONDITIONED) | NORM(NONE),
    .right = NORM(UNPRECONDITIONED) | NORM(NONE),
    .vectors = Vectors_LGMRES,
    .singles = poiseGMRESSingles,
    .replaces = true,
    .array = poiseGMRESArray,
    .cycle = poiseGMRESRestart,
    .start = poiseGMRESStart,
    .iterate = Iterate_LGMRES,
    .restart = Restart_LGMRES,
    .finish = poiseGMRESFinish,
    .solution = poiseGMRESSolutionSoFar,
    .residual = poiseGMRESResidual,
    .stalls = poiseGMRESStalls,
    .explain = poiseGMRESExplain,
    .view = poiseGMRESView,
};

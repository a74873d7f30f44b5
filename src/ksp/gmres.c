/* SPDX-License-Identifier: BSD-3-Clause */
/*
  GMRES(m) (Saad & Schultz 1986), as in PETSc's KSPGMRES. It uses classical Gram-Schmidt, with a second
  orthogonalisation never, when needed, or always. From the left K = M^-1 A. From the right K = A M^-1, and
  the correction is x0 + M^-1 V y.

  Vectors read and written in iteration j, beside the product and the preconditioner: j + 2 for the
  projections, j + 4 for the update, 2 to scale. A diagonal from the left scales the product: it is read. A
  second pass adds j + 4, as the first update computes its projections too.
*/
#include "gmres.h"

enum { NEVER, IF_NEEDED, ALWAYS };

_Static_assert((int)GM_END <= (int)POISE_SLOTS, "gmres has too many slots");

const PoiseOption poiseGMRESOptions[] = {
    {"ksp_gmres_restart", POISE_OPTION_INT, offsetof(GMRES, restart), "30", 1, 10000, NULL,
     "iterations between restarts of gmres and fgmres"},
    {"ksp_gmres_cgs_refinement_type", POISE_OPTION_CHOICE, offsetof(GMRES, refine), "refine_never", 0, 0,
     "refine_never|refine_ifneeded|refine_always", "when gmres and fgmres orthogonalise a second time"},
    {"ksp_gmres_breakdown_tolerance", POISE_OPTION_REAL, offsetof(GMRES, breakdown), "0.1", 0, 1e300, NULL,
     "breakdown of gmres and fgmres: the largest difference at a restart between the residual norm and "
     "the recurrence's, over the norm at the cycle's start"},
    {0},
};

PoiseErr PoiseKSPGMRESSetRestart(PoiseKSP ksp, int restart)
{
  CALLED(OBJECT(ksp));
  GMRES *g = ksp->data;
  if (ksp->type->options != poiseGMRESOptions) return POISE_OK; /* as PETSc: no effect on other methods */
  TRY(poiseKSPCheckIdle(ksp, "PoiseKSPGMRESSetRestart"));
  if (restart < 1 || restart > 10000)
    FAIL(POISE_ERR_ARG, "a restart of %d is not between 1 and 10000", restart);
  if (g->restart != restart) poiseKSPRelease(ksp);
  g->restart = restart;
  return POISE_OK;
}

PoiseErr PoiseKSPGMRESSetBreakdownTolerance(PoiseKSP ksp, double tolerance)
{
  CALLED(OBJECT(ksp));
  if (ksp->type->options != poiseGMRESOptions) return POISE_OK;
  TRY(poiseKSPCheckIdle(ksp, "PoiseKSPGMRESSetBreakdownTolerance"));
  if (!(tolerance >= 0)) FAIL(POISE_ERR_ARG, "a breakdown tolerance of %g is not 0 or more", tolerance);
  ((GMRES *)ksp->data)->breakdown = tolerance;
  return POISE_OK;
}

/* ---- shared with fgmres ---------------------------------------------------------------------- */

int poiseGMRESRestart(PoiseKSP ksp)
{
  return (int)((GMRES *)ksp->data)->restart;
}

int64_t poiseGMRESArray(PoiseKSP ksp)
{
  int64_t m = poiseGMRESRestart(ksp);
  return 2 * m * (m + 1) + 3 * m + (m + 1) + (m + 1);
}

/* Compute the residual in W, preconditioned if from the left, with (w, w) in GM_RR. T holds b - A x. */
static void PreconditionResidual(PoiseKSP ksp)
{
  Fuse f = {0};
  poiseKSPAddDot(ksp, &f, NULL, GM_RR);
  if (ksp->side == POISE_PC_LEFT) {
    poiseKSPPrecondition(ksp, ksp->work[GM_T], ksp->work[GM_W], &f);
  } else {
    poiseKSPCopy(ksp, ksp->work[GM_T], ksp->work[GM_W]);
    poiseKSPMaxpy(ksp, 0, NULL, 1, NULL, ksp->v[GM_W], poiseKSPSlot(ksp, SLOT_DONE), &f);
  }
}

void poiseGMRESStart(PoiseKSP ksp, PoiseVec b)
{
  int relative_to_b = poiseKSPNormOfB(ksp, b, ksp->work[GM_W], GM_WW);
  poiseKSPCopy(ksp, b, ksp->work[GM_B]);
  poiseKSPResidual(ksp, b, ksp->work[GM_T]);
  PreconditionResidual(ksp);
  poiseKSPPhase(ksp, PHASE_gmres_start,
                (PhaseArgs){READS(GM_FROM, ksp->v[GM_W]), WRITES(GM_TO, ksp->v[GM_V]),
                            .flags = poiseGMRESRestart(ksp), .k = relative_to_b,
                            .c = {{.value = ((GMRES *)ksp->data)->breakdown}}},
                NO_SLOT, NO_SLOT);
}

typedef void Subtract(PoiseKSP ksp, int k, double *const *x, double sign, const double *c, double *y,
                      const double *skip, const Fuse *f);

/* w -= V h, and (w, w) into slot. */
static void Project(PoiseKSP ksp, Subtract *subtract, int j, const double *h, int skip, int slot)
{
  double **basis = ksp->v + GM_V;
  Fuse f = {0};
  poiseKSPAddDot(ksp, &f, NULL, slot);
  subtract(ksp, j + 1, basis, -1, h, basis[j + 1], poiseKSPSlot(ksp, skip), &f);
}

void poiseGMRESExtend(PoiseKSP ksp, int j)
{
  GMRES *g = ksp->data;
  int m = poiseGMRESRestart(ksp);
  double **basis = ksp->v + GM_V, *w = basis[j + 1];
  double *h = poiseGMRESColumn(ksp->scalars.array, m, j), *h2 = poiseGMRESSecond(ksp->scalars.array, m);
  PhaseArgs column = {READS(GM_FROM, w), WRITES(GM_TO, w), .flags = m, .k = j};
  poiseKSPMdot(ksp, j + 1, basis, w, h, NULL, poiseKSPSlot(ksp, SLOT_DONE)); /* h = V' w */
  Project(ksp, g->refine == NEVER ? poiseKSPMaxpy : poiseKSPMaxpyDots, j, h, SLOT_DONE, GM_WW);
  if (g->refine != NEVER) { /* again: h2 = V' w, which the first update has summed; h += h2 */
    column.c[0].value = g->refine == ALWAYS;
    poiseKSPScalars(ksp, PHASE_gmres_refine, column);
    poiseKSPTakeDots(ksp, j + 1, basis, w, h2, h, poiseKSPSlot(ksp, GM_SKIP));
    Project(ksp, poiseKSPMaxpy, j, h2, GM_SKIP, GM_WW2);
    column.c[0].value = 1;
  }
  poiseKSPPhase(ksp, PHASE_gmres_givens, column, NO_SLOT, NO_SLOT); /* rotate; converged? v_j+1 = w / |w| */
}

double *poiseGMRESCoefficients(PoiseKSP ksp, int k)
{
  int m = poiseGMRESRestart(ksp);
  poiseKSPScalars(ksp, PHASE_gmres_solve, (PhaseArgs){.flags = m, .k = k});
  return poiseGMRESSolution(ksp->scalars.array, m);
}

void poiseGMRESContinue(PoiseKSP ksp)
{
  poiseKSPCopy(ksp, ksp->work[GM_B], ksp->work[GM_T]);
  poiseKSPSubtractProduct(ksp, ksp->work[GM_X], ksp->work[GM_T], NULL); /* t = b - A x */
  PreconditionResidual(ksp);
  poiseKSPPhase(
      ksp, PHASE_gmres_restart,
      (PhaseArgs){READS(GM_FROM, ksp->v[GM_W]), WRITES(GM_TO, ksp->v[GM_V]), .flags = poiseGMRESRestart(ksp)},
      NO_SLOT, NO_SLOT);
}

/* No work vector. At a restart b - A x has been computed. But its vector is reused for iterates that are
   asked for, and by the next cycle of a replayed loop. */
int poiseGMRESResidual(PoiseKSP ksp)
{
  bool restarted =
      (ksp->result.its - ksp->solve.base) % poiseGMRESRestart(ksp) == 0 && poiseGMRESColumns(ksp) == 0;
  return restarted ? 0 : -1;
}

static bool Dropped(PoiseKSP ksp)
{
  return ksp->result.reason == POISE_DIVERGED_BREAKDOWN && ksp->result.slots[GM_DROPPED] != 0;
}

/* The part of the cycle before the dropped column may have gained. */
bool poiseGMRESStalls(PoiseKSP ksp, double *norm)
{
  *norm = ksp->result.slots[GM_FIRST];
  return Dropped(ksp) && ksp->norm != POISE_KSP_NORM_NONE && ksp->result.slots[SLOT_NORM] <= *norm / 2;
}

void poiseGMRESExplain(PoiseKSP ksp)
{
  const GMRES *g = ksp->data;
  if (Dropped(ksp)) poiseKSPSay(ksp, "the Krylov space is exhausted: K is singular, or nearly so");
  double recurrence = ksp->result.slots[GM_RECURRENCE] / ksp->solve.scale,
         computed = ksp->result.slots[GM_COMPUTED] / ksp->solve.scale;
  if (ksp->norm == POISE_KSP_NORM_NONE ||
      fabs(computed - recurrence) <= g->breakdown * ksp->result.slots[GM_FIRST] / ksp->solve.scale)
    return;
  char hint[POISE_OPTION_LENGTH + 80] = "";
  if (g->refine == NEVER)
    snprintf(hint, sizeof hint, ": %s refine_ifneeded may help",
             poiseOptionsName(ksp->ctx, ksp->prefix, "ksp_gmres_cgs_refinement_type"));
  poiseKSPSay(ksp,
              "at a restart the residual norm is %.3g, "
              "by the recurrence it would be %.3g%s",
              computed, recurrence, hint);
}

PoiseErr poiseGMRESView(PoiseKSP ksp)
{
  GMRES *g = ksp->data;
  return PoisePrintf(ksp->ctx, "  restart %lld, classical Gram-Schmidt, %s\n", (long long)g->restart,
                     poiseOptionsChoice(poiseGMRESOptions, "ksp_gmres_cgs_refinement_type", g->refine));
}

/* ---- gmres ----------------------------------------------------------------------------------- */

static int Vectors_GMRES(PoiseKSP ksp)
{
  return GM_V + poiseGMRESRestart(ksp) + 1;
}

static void Iterate_GMRES(PoiseKSP ksp, int j)
{
  poiseKSPOperator(ksp, ksp->work[GM_V + j], ksp->work[GM_T], ksp->work[GM_V + j + 1], NULL); /* w = K v_j */
  poiseGMRESExtend(ksp, j);
}

/* t = V y, k columns. */
static void Combine(PoiseKSP ksp, int k, const double *skip)
{
  double *y = poiseGMRESCoefficients(ksp, k);
  poiseKSPZero(ksp, ksp->work[GM_T]);
  poiseKSPMaxpy(ksp, k, ksp->v + GM_V, 1, y, ksp->v[GM_T], skip, NULL);
}

/* x += V y, or M^-1 V y, for k columns. */
static void AddCorrection(PoiseKSP ksp, int k, const double *skip)
{
  if (ksp->side == POISE_PC_LEFT) {
    double *y = poiseGMRESCoefficients(ksp, k);
    poiseKSPMaxpy(ksp, k, ksp->v + GM_V, 1, y, ksp->v[GM_X], skip, NULL);
  } else {
    Combine(ksp, k, skip);
    poiseKSPUnwind(ksp, ksp->work[GM_T], ksp->work[GM_W]);
  }
}

static void Restart_GMRES(PoiseKSP ksp)
{
  AddCorrection(ksp, poiseGMRESRestart(ksp), poiseKSPSlot(ksp, SLOT_DONE));
  poiseGMRESContinue(ksp);
}

static void Finish_GMRES(PoiseKSP ksp)
{
  int k = poiseGMRESColumns(ksp);
  if (k > 0) AddCorrection(ksp, k, NULL);
}

static PoiseVec Solution_GMRES(PoiseKSP ksp)
{
  Combine(ksp, poiseGMRESColumns(ksp), NULL);
  if (ksp->side == POISE_PC_RIGHT) return poiseKSPUnwound(ksp, ksp->work[GM_T], ksp->work[GM_W]);
  poiseKSPMaxpy(ksp, 1, &ksp->v[GM_X], 1, NULL, ksp->v[GM_T], NULL, NULL);
  return ksp->work[GM_T];
}

const KSPType poiseKSPType_gmres = {
    .name = "gmres",
    .size = sizeof(GMRES),
    .options = poiseGMRESOptions,
    .left = NORM(PRECONDITIONED) | NORM(NONE),
    .right = NORM(UNPRECONDITIONED) | NORM(NONE),
    .vectors = Vectors_GMRES,
    .array = poiseGMRESArray,
    .cycle = poiseGMRESRestart,
    .start = poiseGMRESStart,
    .iterate = Iterate_GMRES,
    .restart = Restart_GMRES,
    .finish = Finish_GMRES,
    .solution = Solution_GMRES,
    .residual = poiseGMRESResidual,
    .stalls = poiseGMRESStalls,
    .explain = poiseGMRESExplain,
    .view = poiseGMRESView,
};

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  GMRES(m) (Saad & Schultz 1986), as in PETSc's KSPGMRES: classical Gram-Schmidt, orthogonalised a second time never, when
  needed, or always. K = M^-1 A (left) or A M^-1 (right; then the correction is x0 + M^-1 V y).

  Vectors read and written in iteration j beside the product and the preconditioner: j + 2 for the projections, j + 4 for the
  update, 2 to scale; a second pass adds 2 j + 6.
*/
#include "ksp.h"
#include "gmres_phases.h"

enum { X, B, T, W, V0 };
enum { NEVER, IF_NEEDED, ALWAYS };

typedef struct GMRES {
  PoiseInt restart;
  int refine;
} GMRES;

static const PoiseOption options[] = {
    {"ksp_gmres_restart", POISE_OPTION_INT, offsetof(GMRES, restart), "30", 1, 10000, NULL, "iterations between restarts"},
    {"ksp_gmres_cgs_refinement_type", POISE_OPTION_CHOICE, offsetof(GMRES, refine), "refine_never", 0, 0,
     "refine_never|refine_ifneeded|refine_always", "when to orthogonalise a second time"},
    {0},
};

PoiseErr PoiseKSPGMRESSetRestart(PoiseKSP ksp, int restart)
{
  GMRES *g = ksp->data;
  if (ksp->type != &poiseKSPType_gmres) return POISE_OK; /* as PETSc: no effect on other methods */
  if (restart < 1 || restart > 10000) FAIL(POISE_ERR_ARG, "a restart of %d is not between 1 and 10000", restart);
  if (g->restart != restart) poiseKSPRelease(ksp);
  g->restart = restart;
  return POISE_OK;
}

static int Restart(PoiseKSP ksp)
{
  return (int)((GMRES *)ksp->data)->restart;
}

static int Vectors_GMRES(PoiseKSP ksp)
{
  return V0 + Restart(ksp) + 1;
}

static int64_t Array_GMRES(PoiseKSP ksp)
{
  int64_t m = Restart(ksp);
  return 2 * m * (m + 1) + 3 * m + (m + 1) + (m + 1);
}

/* The residual, preconditioned from the left if so, in W with (w, w) in GM_RR. T holds b - A x. */
static void PreconditionResidual(PoiseKSP ksp)
{
  Fuse f = {0};
  poiseKSPAddDot(ksp, &f, NULL, GM_RR);
  if (ksp->side == POISE_PC_LEFT) {
    poiseKSPPrecondition(ksp, ksp->work[T], ksp->work[W], &f);
  } else {
    poiseKSPCopy(ksp, ksp->work[T], ksp->work[W]);
    poiseKSPMaxpy(ksp, 0, NULL, 1, NULL, ksp->v[W], poiseKSPSlot(ksp, SLOT_DONE), &f);
  }
}

static void Start_GMRES(PoiseKSP ksp, PoiseVec b)
{
  int relative_to_b = poiseKSPNormOfB(ksp, b, ksp->work[W], GM_WW);
  poiseKSPCopy(ksp, b, ksp->work[B]);
  poiseKSPResidual(ksp, b, ksp->work[T]);
  PreconditionResidual(ksp);
  poiseKSPPhase(ksp, PHASE_gmres_start,
                (PhaseArgs){.in = {ksp->v[W]}, .out = {ksp->v[V0]}, .flags = Restart(ksp), .k = relative_to_b}, NO_SLOT,
                NO_SLOT);
}

/* w -= V h, h = V' w, and (w, w) into slot; a second pass adds its h to the first one's (sum; else NULL). */
static void Project(PoiseKSP ksp, int j, double *h, double *sum, const double *skip, int slot)
{
  double **basis = ksp->v + V0, *w = basis[j + 1];
  Fuse f = {0};
  poiseKSPMdot(ksp, j + 1, basis, w, h, sum, skip);
  poiseKSPAddDot(ksp, &f, NULL, slot);
  poiseKSPMaxpy(ksp, j + 1, basis, -1, h, w, skip, &f);
}

static void Iterate_GMRES(PoiseKSP ksp, int j)
{
  GMRES *g = ksp->data;
  int m = Restart(ksp);
  double *w = ksp->v[V0 + j + 1], *h = poiseGMRESColumn(ksp->array, m, j);
  PhaseArgs column = {.in = {w}, .out = {w}, .flags = m, .k = j};
  poiseKSPOperator(ksp, ksp->work[V0 + j], ksp->work[T], ksp->work[V0 + j + 1], NULL); /* w = K v_j */
  Project(ksp, j, h, NULL, poiseKSPSlot(ksp, SLOT_DONE), GM_WW);                       /* h = V' w; w -= V h */
  if (g->refine != NEVER) {
    column.c[0].value = g->refine == ALWAYS;
    poiseKSPScalars(ksp, PHASE_gmres_refine, column);
    Project(ksp, j, poiseGMRESSecond(ksp->array, m), h, poiseKSPSlot(ksp, GM_SKIP), GM_WW2);
    column.c[0].value = 1;
  }
  poiseKSPPhase(ksp, PHASE_gmres_givens, column, NO_SLOT, NO_SLOT); /* rotate; converged? v_j+1 = w / |w| */
}

/* x += V y, or M^-1 V y, for k columns. */
static void AddCorrection(PoiseKSP ksp, int k, const double *skip)
{
  double *y = poiseGMRESSolution(ksp->array, Restart(ksp));
  poiseKSPScalars(ksp, PHASE_gmres_solve, (PhaseArgs){.flags = Restart(ksp), .k = k});
  if (ksp->side == POISE_PC_LEFT) {
    poiseKSPMaxpy(ksp, k, ksp->v + V0, 1, y, ksp->v[X], skip, NULL);
  } else {
    poiseKSPZero(ksp, ksp->work[T]);
    poiseKSPMaxpy(ksp, k, ksp->v + V0, 1, y, ksp->v[T], skip, NULL);
    poiseKSPUnwind(ksp, ksp->work[T], ksp->work[W]);
  }
}

static void Restart_GMRES(PoiseKSP ksp)
{
  AddCorrection(ksp, Restart(ksp), poiseKSPSlot(ksp, SLOT_DONE));
  poiseKSPCopy(ksp, ksp->work[B], ksp->work[T]);
  poiseKSPSubtractProduct(ksp, ksp->work[X], ksp->work[T]); /* t = b - A x */
  PreconditionResidual(ksp);
  poiseKSPPhase(ksp, PHASE_gmres_restart, (PhaseArgs){.in = {ksp->v[W]}, .out = {ksp->v[V0]}, .flags = Restart(ksp)},
                NO_SLOT, NO_SLOT);
}

static void Finish_GMRES(PoiseKSP ksp)
{
  int k = (int)ksp->final[GM_COLUMNS];
  if (k > 0) AddCorrection(ksp, k, NULL);
}

static PoiseErr View_GMRES(PoiseKSP ksp)
{
  GMRES *g = ksp->data;
  return PoisePrintf(ksp->ctx, "  restart %lld, classical Gram-Schmidt, %s\n", (long long)g->restart,
                     poiseOptionsChoice(options, "ksp_gmres_cgs_refinement_type", g->refine));
}

#define NORM(n) (1u << POISE_KSP_NORM_##n)

const KSPType poiseKSPType_gmres = {
    .name = "gmres",
    .size = sizeof(GMRES),
    .options = options,
    .left = NORM(PRECONDITIONED) | NORM(NONE),
    .right = NORM(UNPRECONDITIONED) | NORM(NONE),
    .vectors = Vectors_GMRES,
    .array = Array_GMRES,
    .cycle = Restart,
    .start = Start_GMRES,
    .iterate = Iterate_GMRES,
    .restart = Restart_GMRES,
    .finish = Finish_GMRES,
    .view = View_GMRES,
};

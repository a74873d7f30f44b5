/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Richardson's iteration (1911), as PETSc's KSPRICHARDSON: x += scale M^-1 (b - A x). For its traffic see
  stationary.c. Where nobody asks for a residual, and scale is 1, M does that by itself if it can, as sor does
  by sweeps from x.
*/
#include "stationary.h"

typedef struct Richardson {
  double scale;
} Richardson;

static const PoiseOption options[] = {
    {"ksp_richardson_scale", POISE_OPTION_REAL, offsetof(Richardson, scale), "1", -1e300, 1e300, NULL,
     "factor of every correction"},
    {0},
};

PoiseErr PoiseKSPRichardsonSetScale(PoiseKSP ksp, double scale)
{
  CALLED(OBJECT(ksp));
  if (ksp->type != &poiseKSPType_richardson) return POISE_OK; /* as PETSc: no effect on other methods */
  if (!isfinite(scale)) FAIL(POISE_ERR_ARG, "a scale of %g is not finite", scale);
  ((Richardson *)ksp->data)->scale = scale;
  return POISE_OK;
}

static int Vectors_Richardson(PoiseKSP ksp)
{
  (void)ksp;
  return ST_OWN;
}

/* M is of A itself, and nothing comes between the two. */
static bool Relaxes_Richardson(PoiseKSP ksp)
{
  bool asked = ksp->norm != POISE_KSP_NORM_NONE || ksp->user.test, plain = ksp->A == ksp->pc->P;
  return !asked && plain && ((Richardson *)ksp->data)->scale == 1 && !ksp->A->null.n && !ksp->systems.n;
}

/* Does M relax? It may have been set up for another solver. */
static bool Relaxes(PoiseKSP ksp)
{
  return ksp->pc->relaxes && Relaxes_Richardson(ksp);
}

static void Start_Richardson(PoiseKSP ksp, PoiseVec b)
{
  if (Relaxes(ksp)) {
    poiseStationaryRelaxed(ksp, b);
    return;
  }
  poiseStationaryStart(ksp, b, ((Richardson *)ksp->data)->scale, 0, 0);
}

static void Iterate_Richardson(PoiseKSP ksp, int j)
{
  (void)j;
  if (Relaxes(ksp)) {
    poiseKSPRelax(ksp, ksp->work[ST_B], ksp->work[ST_X]);
    poiseKSPScalars(ksp, PHASE_stationary_decide, (PhaseArgs){0});
    return;
  }
  /* x += scale z */
  poiseKSPPhase(ksp, PHASE_richardson_step, poiseStationaryStep(ksp, NULL), NO_SLOT, NO_SLOT);
  poiseStationaryEnd(ksp); /* r = b - A x; z = M r; converged? */
}

static bool Step_Richardson(PoiseKSP ksp, int k, double c[2])
{
  (void)k;
  c[0] = 0;
  c[1] = ((Richardson *)ksp->data)->scale;
  return true;
}

static PoiseErr View_Richardson(PoiseKSP ksp)
{
  return poisePrint(ksp->ctx, "  scale %g\n", ((Richardson *)ksp->data)->scale);
}

const KSPType poiseKSPType_richardson = {
    .name = "richardson",
    .columns = true,
    .flexible = true,
    .size = sizeof(Richardson),
    .options = options,
    .left = STATIONARY_NORMS,
    .relaxes = Relaxes_Richardson,
    .vectors = Vectors_Richardson,
    .start = Start_Richardson,
    .iterate = Iterate_Richardson,
    .step = Step_Richardson,
    .residual = poiseStationaryResidual,
    .view = View_Richardson,
};

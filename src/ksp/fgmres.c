/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Flexible GMRES(m) (Saad 1993), as in PETSc's KSPFGMRES. It is preconditioned from the right by an M that may
  vary between applications. So every z_j = M_j^-1 v_j is kept, and the correction is x0 + Z y. The traffic is
  that of gmres beside the preconditioner. It holds m more vectors, which are fp64 also where V is in fp32.
*/
#include "gmres.h"

/* The first z. */
static int Z(PoiseKSP ksp)
{
  return poiseGMRESVectors(ksp);
}

static int Vectors_FGMRES(PoiseKSP ksp)
{
  return Z(ksp) + poiseGMRESRestart(ksp);
}

static void Iterate_FGMRES(PoiseKSP ksp, int j)
{
  PoiseVec z = ksp->work[Z(ksp) + j];
  poiseKSPPrecondition(ksp, ksp->work[poiseGMRESNewest(ksp, j)], z, NULL); /* z_j = M^-1 v_j */
  ksp->mixed.products = true;
  poiseKSPMult(ksp, z, ksp->work[poiseGMRESNext(ksp, j)], NULL); /* w = A z_j */
  ksp->mixed.products = false;
  poiseGMRESExtend(ksp, j);
}

/* to += Z y, k columns. */
static void AddColumns(PoiseKSP ksp, int k, double *to, const double *skip)
{
  double *y = poiseGMRESCoefficients(ksp, k);
  Columns z = {.f64 = ksp->v + Z(ksp), .terms = poiseGMRESEach(ksp)};
  poiseKSPColumnsAdd(ksp, k, z, 1, y, to, skip, NULL);
}

static void AddCorrection(PoiseKSP ksp, int k, const double *skip)
{
  AddColumns(ksp, k, ksp->v[GM_X], skip);
}

static void Restart_FGMRES(PoiseKSP ksp)
{
  poiseGMRESEndCycle(ksp, AddCorrection);
}

static void Finish_FGMRES(PoiseKSP ksp)
{
  int k = poiseGMRESColumns(ksp);
  if (k > 0) AddCorrection(ksp, k, NULL);
}

static PoiseVec Solution_FGMRES(PoiseKSP ksp)
{
  poiseKSPCopy(ksp, ksp->work[GM_X], ksp->work[GM_T]);
  AddColumns(ksp, poiseGMRESColumns(ksp), ksp->v[GM_T], NULL);
  return ksp->work[GM_T];
}

const KSPType poiseKSPType_fgmres = {
    .name = "fgmres",
    .columns = true,
    .flexible = true,
    .size = sizeof(GMRES),
    .options = poiseGMRESOptions + 1,
    .right = NORM(UNPRECONDITIONED) | NORM(NONE),
    .vectors = Vectors_FGMRES,
    .singles = poiseGMRESSingles,
    .replaces = true,
    .array = poiseGMRESArray,
    .cycle = poiseGMRESRestart,
    .start = poiseGMRESStart,
    .iterate = Iterate_FGMRES,
    .restart = Restart_FGMRES,
    .finish = Finish_FGMRES,
    .solution = Solution_FGMRES,
    .residual = poiseGMRESResidual,
    .stalls = poiseGMRESStalls,
    .explain = poiseGMRESExplain,
    .projected = poiseGMRESProjected,
    .view = poiseGMRESView,
};

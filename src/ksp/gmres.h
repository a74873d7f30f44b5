/* SPDX-License-Identifier: BSD-3-Clause */
/* What gmres and fgmres share: all but how the space is extended and the correction is made. */
#ifndef POISE_GMRES_H
#define POISE_GMRES_H

#include "gmres_phases.h"
#include "ksp.h"

typedef struct GMRES {
  PoiseInt restart;
  int refine;
  double breakdown; /* tolerance */
} GMRES;

/* work vectors; from GM_V on restart + 1 of the basis, then a method's own */
enum { GM_X, GM_B, GM_T, GM_W, GM_V };

extern const PoiseOption poiseGMRESOptions[];

int poiseGMRESRestart(PoiseKSP ksp);
int64_t poiseGMRESArray(PoiseKSP ksp);
void poiseGMRESStart(PoiseKSP ksp, PoiseVec b);
/* v_j+1 holds a new vector: make it orthogonal to those before and of length 1; the residual norm;
   decides. */
void poiseGMRESExtend(PoiseKSP ksp, int j);
/* Solve for the coefficients of k columns, on the device. */
double *poiseGMRESCoefficients(PoiseKSP ksp, int k);
/* x holds the correction of a whole cycle: the new residual; decides; v_0. */
void poiseGMRESContinue(PoiseKSP ksp);
int poiseGMRESResidual(PoiseKSP ksp); /* these four as KSPType's */
bool poiseGMRESStalls(PoiseKSP ksp, double *norm);
void poiseGMRESExplain(PoiseKSP ksp);
PoiseErr poiseGMRESView(PoiseKSP ksp);

/* Columns of the unfinished cycle, as the host knows them. */
static inline int poiseGMRESColumns(PoiseKSP ksp)
{
  return (int)ksp->final[GM_COLUMNS];
}

#endif

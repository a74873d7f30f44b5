/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by gmres, fgmres and lgmres. */
#ifndef POISE_GMRES_H
#define POISE_GMRES_H

#include "gmres_phases.h"
#include "methods.h"

typedef struct GMRES {
  PoiseInt restart;
  int refine;
  PoiseInt augment; /* vectors that lgmres keeps; 0 for the others */
  int basis;        /* its precision */
  double breakdown; /* tolerance */
} GMRES;

/* Work vectors. From GM_V on restart + 1 of the basis, then the method's own. With a basis in fp32, which is
   ksp->v32, GM_V alone: its newest vector. */
enum { GM_X, GM_B, GM_T, GM_W, GM_V };

extern const PoiseOption poiseGMRESOptions[]; /* the first is of lgmres alone */

/* ---- of all three: all except how the space is extended and the correction is made --------- */

int poiseGMRESRestart(PoiseKSP ksp);
int poiseGMRESVectors(PoiseKSP ksp); /* without the method's own */
int poiseGMRESSingles(PoiseKSP ksp);
int64_t poiseGMRESArray(PoiseKSP ksp);
Columns poiseGMRESBasis(PoiseKSP ksp);
/* The work vectors with v_j in fp64, the newest of the basis, and for K v_j. */
int poiseGMRESNewest(PoiseKSP ksp, int j);
int poiseGMRESNext(PoiseKSP ksp, int j);
void poiseGMRESStart(PoiseKSP ksp, PoiseVec b);
/* poiseGMRESNext holds K v_j. Make it orthogonal to the basis and of length 1, which is v_j+1; compute
   the residual norm, and test convergence. */
void poiseGMRESExtend(PoiseKSP ksp, int j);
/* Solve for the coefficients of k columns, on the device. Of several systems each has its own number, k at
   most, which is 0 where x has had its last correction: poiseGMRESEach is for Columns.terms. */
double *poiseGMRESCoefficients(PoiseKSP ksp, int k);
const double *poiseGMRESEach(PoiseKSP ksp); /* NULL: there is one system */
/* At a restart: correct x by all columns, and continue. */
typedef void Correct(PoiseKSP ksp, int k, const double *skip); /* add that of k columns, unless *skip != 0 */
void poiseGMRESEndCycle(PoiseKSP ksp, Correct *correct);
/* x holds the correction of a whole cycle. Compute the new residual, test convergence, and set v_0. */
void poiseGMRESContinue(PoiseKSP ksp);
int poiseGMRESResidual(PoiseKSP ksp); /* these five as KSPType's */
bool poiseGMRESStalls(PoiseKSP ksp, double *norm);
void poiseGMRESExplain(PoiseKSP ksp);
PoiseErr poiseGMRESView(PoiseKSP ksp);
PoiseErr poiseGMRESProjected(PoiseKSP ksp, Projected *p);

/* ---- of gmres and lgmres: the correction is of the basis, and behind it what lgmres keeps ---- */

/* How many columns of a cycle are of the basis, one at least. Kept vectors are the work vectors from
   poiseGMRESVectors on. */
int poiseGMRESKrylov(PoiseKSP ksp);
/* GM_T = u, the correction by k columns, before M^-1 from the right, with (u, u) in the slot (or NO_SLOT). */
void poiseGMRESCombine(PoiseKSP ksp, int k, const double *skip, int slot);
void poiseGMRESIterate(PoiseKSP ksp, int j); /* these three as KSPType's */
void poiseGMRESFinish(PoiseKSP ksp);
PoiseVec poiseGMRESSolutionSoFar(PoiseKSP ksp);

/* Number of columns of the unfinished cycle, as the host knows it; of several systems the most they have. */
static inline int poiseGMRESColumns(PoiseKSP ksp)
{
  return ksp->systems.n ? poiseGMRESRestart(ksp) : (int)ksp->result.slots[GM_COLUMNS];
}

#endif

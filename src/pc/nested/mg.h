/* SPDX-License-Identifier: BSD-3-Clause */
/* PC mg: its levels (mg_levels.c), and the cycle over them (mg_cycle.c). */
#ifndef POISE_MG_H
#define POISE_MG_H

#include "ksp/inside.h"
#include "ksp/sweeps.h"

enum { MG_MOST = 64 }; /* levels */

/* Level 0 is the coarsest. What leads to the level beneath is kept with the finer of the two. */
typedef struct MgLevel {
  /* of the application; NULL: not given. R: else it is P^T */
  PoiseMat given, P, R;
  bool injects;      /* by rows, in place of P and R: */
  PoiseInt *row;     /* row of this level for each of */
  PoiseInt injected; /* so many rows of the level beneath */
  PoiseMat pick;     /* injection as a matrix: R */
  PoiseMat spread;   /* and P; made if a product of matrices needs it */
  PoiseMat picked;   /* those rows of A; NULL: A has no rows to be picked */
  Version seen_picked;
  Buffer index; /* the rows, int32 */

  PoiseMat A;         /* in use; shared */
  PoiseMat made;      /* R A P of the level above; NULL: the operator was given */
  PoiseMat middle;    /* A P, if R is not P^T */
  Version made_of[3]; /* A, P and R */

  PoiseVec b, x, t, e; /* right-hand side and solution of a level that is not the finest; scratch */
  PoiseKSP ksp;
  Version seen[4]; /* what a captured loop depends on: A, P, R, picked */
} MgLevel;

/* as the words of -pc_mg_type */
typedef enum MgType { MG_MULTIPLICATIVE, MG_ADDITIVE, MG_FULL, MG_KASKADE } MgType;

typedef struct Mg {
  PoiseInt levels; /* as asked for */
  int type, cycle, galerkin;
  PoiseInt cycles;
  int count; /* of level; 0: there are none yet */
  MgLevel *level;
  int64_t configured;
  int64_t generation; /* counts what voids captured loops */
} Mg;

static inline MgLevel *poiseMgFinest(Mg *mg)
{
  return &mg->level[mg->count - 1];
}

/* ---- levels ---------------------------------------------------------------------------------- */

void poiseMgReleaseTransfer(PoiseContext ctx, MgLevel *l); /* what leads to the level beneath */
void poiseMgRelease(PoisePC pc);                           /* all levels */
/* The operators of all levels, for the present matrices. Collective; agrees. */
PoiseErr poiseMgMakeOperators(PoisePC pc);
PoiseErr poiseMgUse(MgLevel *l, PoiseMat A); /* l->A = A; local */
/* What the cycle needs on the device. Solvers are ready. Collective; the caller agrees. */
PoiseErr poiseMgReady(PoisePC pc);
void poiseMgBytes(PoisePC pc, PoiseBytes *sum);

/* ---- the cycle ------------------------------------------------------------------------------- */

/* Does it smooth an x of level k that is not 0? */
bool poiseMgImproves(const Mg *mg, int k);
PoiseErr poiseMgApply(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse);
int64_t poiseMgKernels(PoisePC pc);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the KSP "poise" share. */
#ifndef POISE_PETSC_SOLVER_H
#define POISE_PETSC_SOLVER_H

#include "plugin.h"

typedef struct Engine { /* a solver of Poise and what it works with */
  PoiseKSP ksp;
  Operator A, P;
  Levels levels;     /* of mg */
  PetscBool own;     /* the preconditioner is Poise's own */
  PetscBool split;   /* it works from both sides, */
  PetscBool ignores; /* or not at all */
  PetscBool tests;
  PetscReal rtol, abstol, divtol; /* as handed on */
  PetscInt max_it, restart;
  KSPNormType norm;
  PCSide side;
  Said said;
  PetscBool exact; /* for lsqr: its test has the norm of Frobenius, which is size */
  PetscReal size;
} Engine;

typedef enum Strict { STRICT_NO, STRICT_LINE, STRICT_ERROR } Strict;

typedef struct Data {
  PoiseContext ctx;
  struct _KSPOps petsc; /* of PETSc's method */
  PetscBool petsc_newmatrix, petsc_works;
  char why[NAME]; /* PETSc's method works */
  Strict strict;
  Engine engine[2];               /* of A, and of A^T */
  Engine *now;                    /* that of the solve that runs */
  char method[NAME], asked[NAME]; /* Poise's method, or "" */
  Taken *taken;                   /* the options; NULL before KSPSetFromOptions */
  PetscBool noted;
  PetscReal estimate[4]; /* of the bounds, and refinement, as in the options for Poise */
  int refines;
  char other[NAME]; /* an option that Poise's method has not */
  Chosen chosen;
  PetscBool back; /* PETSc's PC works although Poise's own was chosen */
  char because[4 * NAME];
  LentPC lent;
  Vec r, z;                  /* what PCApply is called with */
  Mat split;                 /* L^-1 A R^-1 (split.c), */
  Vec w;                     /* and what lies between */
  PetscErrorCode failed;     /* of PETSc, in a callback */
  KSPConvergedReason reason; /* of the test */
  PetscBool pc_failed;
} Data;

/* ---- ksp.c ----------------------------------------------------------------------------------- */

Data *DataOf(KSP ksp);
/* Does Poise's method stand for that one of PETSc? */
PetscBool IsForPetsc(KSP ksp, const char *method);
/* The functions of the KSP: PETSc's, but for those in whose place Poise's work. */
PetscErrorCode SetFunctions(KSP ksp);

/* ---- calls.c: what a solver of Poise calls; arg is the KSP ------------------------------------ */

PoiseErr Monitor(PoiseKSP solver, PoiseInt it, double norm, void *arg);
PoiseErr Test(PoiseKSP solver, PoiseInt it, double norm, PoiseKSPReason *reason, void *arg);
PetscBool LooksAtPairs(KSP ksp);
/* A monitor that may ask for the iterate, other than PETSc's of the norm. */
PetscBool HasLookingMonitor(KSP ksp);
PoiseErr ShellApply(void *arg, PoiseVec r, PoiseVec z);

/* ---- engine.c -------------------------------------------------------------------------------- */

PetscErrorCode DropEngine(Engine *e);
PetscBool IgnoresPC(KSP ksp); /* is PETSc's PC not applied? */
/* Make the engine of A or of A^T ready to solve as the KSP now asks. */
PetscErrorCode Follow(KSP ksp, PetscBool transposed);
/* The restart of PETSc's method, of fcg its mmax; 0 if it has none. */
PetscErrorCode RestartOf(KSP ksp, PetscInt *restart);
/* -poise_strict: what is PETSc's is told, or refused. */
PetscErrorCode TellStrictly(KSP ksp, const char *what, const char *type, const char *why);

/* ---- split.c: preconditioning from both sides -------------------------------------------------- */

PetscBool IsSplit(KSP ksp);
/* The matrix of Poise's method; lent. */
PetscErrorCode SplitMat(KSP ksp, Mat *S);
/* Its right-hand side, and the vector for its solution; lent. */
PetscErrorCode SplitBegin(KSP ksp, Vec *b, Vec *x);
/* x of that solution; y may be x. */
PetscErrorCode SplitSolution(KSP ksp, Vec y, Vec x);

/* ---- ritz.c ---------------------------------------------------------------------------------- */

/* KSPComputeRitz of gmres. */
PetscErrorCode ComputeRitz(KSP ksp, PetscBool ritz, PetscBool small, PetscInt *count, Vec S[],
                           PetscReal *real, PetscReal *imag);

/* ---- lsqr.c: what PETSc's functions for lsqr find in its state; for others nothing -------------- */

PetscErrorCode PrepareLSQR(KSP ksp, Engine *e);
/* The norms of the present iterate, in a loop that is not ahead of its monitors, or the last. */
PetscErrorCode TellLSQR(KSP ksp, const Engine *e);
/* After a solve, the standard errors too. */
PetscErrorCode EndLSQR(KSP ksp, Engine *e);

/* ---- own.c: PETSc's own method works ---------------------------------------------------------- */

/* Why it must, or "". */
PetscErrorCode WhyPetsc(KSP ksp, char why[NAME]);
PetscBool HasSpectrum(const char *method);
PetscErrorCode UsePetsc(KSP ksp, const char *why);
PetscErrorCode UsePoise(KSP ksp);
/* Must the KSP's type have the name of PETSc's method? */
PetscErrorCode WantsName(KSP ksp, PetscBool *wants);

/* ---- options.c ------------------------------------------------------------------------------- */

PetscErrorCode SetFromOptions(KSP ksp, OptionItems PetscOptionsObject);
/* The options of PETSc's database, or, if not fresh, those that were taken, with the settings of PC and
   method. Solvers are made anew. */
PetscErrorCode TakeAllOptions(KSP ksp, PetscBool fresh);
/* Make PETSc's method, and note Poise's if there is one. */
PetscErrorCode SetMethod(KSP ksp, const char *asked);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The numbers in the state of PETSc's lsqr. KSPLSQRGetNorms, its monitor and its test of convergence read
  there what Poise's lsqr has; KSPLSQRGetStandardErrorVec finds its vector there. The struct is PETSc's own,
  and has no other entrance: where its fields are is seen from what its setters and getters do to a state of
  zeros.
*/
#include "solver.h"

enum { STATE = 1024 }; /* bytes, more than the struct has */

typedef struct Places { /* of its fields, in bytes */
  size_t normal, size, standard, exact;
} Places;

/* Call setters and getters with this state in place of the KSP's. */
static PetscErrorCode Probe(KSP ksp, char *state, PetscReal norms[2], PetscBool standard, PetscBool exact)
{
  void *const data = ksp->data;
  PetscErrorCode e;
  PetscFunctionBegin;
  ksp->data = state;
  e = KSPLSQRSetComputeStandardErrorVec(ksp, standard);
  if (!e) e = KSPLSQRSetExactMatNorm(ksp, exact);
  if (!e) e = KSPLSQRGetNorms(ksp, &norms[0], &norms[1]);
  ksp->data = data;
  PetscFunctionReturn(e);
}

/* The place of the bytes that a setter has changed. */
static size_t Changed(const char *state)
{
  size_t i = 0;
  while (i < STATE && !state[i]) i++;
  return i - i % sizeof(PetscBool);
}

static PetscErrorCode Find(KSP ksp, Places *p)
{
  static Places known;
  union {
    char state[STATE];
    PetscReal number[STATE / sizeof(PetscReal)];
  } u;
  PetscReal norms[2];
  PetscFunctionBegin;
  if (!known.size) {
    memset(&u, 0, sizeof u);
    PetscCall(Probe(ksp, u.state, norms, PETSC_TRUE, PETSC_FALSE));
    p->standard = Changed(u.state);
    memset(&u, 0, sizeof u);
    PetscCall(Probe(ksp, u.state, norms, PETSC_FALSE, PETSC_TRUE));
    p->exact = Changed(u.state);
    for (size_t i = 0; i < sizeof u.number / sizeof *u.number; i++) u.number[i] = (PetscReal)(i + 1);
    PetscCall(Probe(ksp, u.state, norms, PETSC_FALSE, PETSC_FALSE));
    p->normal = (size_t)(norms[0] - 1) * sizeof(PetscReal);
    p->size = (size_t)(norms[1] - 1) * sizeof(PetscReal);
    PetscCheck(p->normal < STATE && p->size < STATE && p->standard < STATE && p->exact < STATE,
               PETSC_COMM_SELF, PETSC_ERR_PLIB, "this PETSc's lsqr has another state than the plug-in knows");
    known = *p;
  }
  *p = known;
  PetscFunctionReturn(0);
}

static PetscErrorCode Asks(KSP ksp, PetscBool *standard, PetscBool *exact)
{
  Places p;
  PetscFunctionBegin;
  PetscCall(Find(ksp, &p));
  memcpy(standard, (char *)ksp->data + p.standard, sizeof *standard);
  memcpy(exact, (char *)ksp->data + p.exact, sizeof *exact);
  PetscFunctionReturn(0);
}

PetscErrorCode PrepareLSQR(KSP ksp, Engine *e)
{
  PetscBool standard = PETSC_FALSE, exact = PETSC_FALSE;
  Mat A;
  PetscFunctionBegin;
  e->exact = PETSC_FALSE;
  if (!IsForPetsc(ksp, KSPLSQR)) PetscFunctionReturn(0);
  PetscCall(Asks(ksp, &standard, &exact));
  POISE_CALL(PoiseKSPLSQRSetComputeVariances(e->ksp, standard));
  if (standard) PetscCall(DataOf(ksp)->petsc.setup(ksp)); /* makes the vector */
  e->exact = exact;
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  if (exact) PetscCall(MatNorm(A, NORM_FROBENIUS, &e->size));
  PetscFunctionReturn(0);
}

PetscErrorCode TellLSQR(KSP ksp, const Engine *e)
{
  Places p;
  PetscReal normal, size;
  PetscFunctionBegin;
  if (!IsForPetsc(ksp, KSPLSQR)) PetscFunctionReturn(0);
  PetscCall(Find(ksp, &p));
  POISE_CALL(PoiseKSPLSQRNorms(e->ksp, &normal, &size));
  memcpy((char *)ksp->data + p.normal, &normal, sizeof normal);
  memcpy((char *)ksp->data + p.size, e->exact ? &e->size : &size, sizeof size);
  PetscFunctionReturn(0);
}

PetscErrorCode EndLSQR(KSP ksp, Engine *e)
{
  PetscBool standard = PETSC_FALSE, exact = PETSC_FALSE;
  PetscInt rows, columns;
  Vec errors;
  Lent v;
  PetscFunctionBegin;
  if (!IsForPetsc(ksp, KSPLSQR)) PetscFunctionReturn(0);
  PetscCall(TellLSQR(ksp, e));
  PetscCall(Asks(ksp, &standard, &exact));
  if (!standard) PetscFunctionReturn(0);
  PetscCall(KSPLSQRGetStandardErrorVec(ksp, &errors));
  PetscCall(LendVec(DataOf(ksp)->ctx, errors, PETSC_TRUE, &v));
  POISE_CALL(PoiseKSPLSQRVariances(e->ksp, v.poise));
  PetscCall(EndLend(&v));
  PetscCall(MatGetSize(e->A.mat, &rows, &columns));
  PetscCall(VecSqrtAbs(errors));
  PetscCall(VecScale(errors, ksp->rnorm / PetscSqrtReal(rows > columns ? (PetscReal)(rows - columns) : 1)));
  PetscFunctionReturn(0);
}

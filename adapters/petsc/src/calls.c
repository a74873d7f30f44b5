/* SPDX-License-Identifier: BSD-3-Clause */
/* What a solver of Poise calls: monitors, the test, the preconditioner of PETSc. */
#include "solver.h"

static PoiseErr Keep(Data *d, PetscErrorCode e)
{
  if (!e) return POISE_OK;
  d->failed = e;
  return PoiseErrorSet(POISE_ERR_USER, __func__, __FILE__, __LINE__, "PETSc says error %d", e);
}

PetscBool HasLookingMonitor(KSP ksp)
{
  for (PetscInt i = 0; i < ksp->numbermonitors; i++)
    if ((void (*)(void))ksp->monitor[i] != (void (*)(void))KSPMonitorResidual) return PETSC_TRUE;
  return PETSC_FALSE;
}

/* May a monitor or the test look at the solution vector, in which PETSc's method has its iterates? */
static PetscBool ShowsIterates(KSP ksp)
{
  const Data *d = DataOf(ksp);
  const PetscBool tests = ksp->converged != KSPConvergedDefault && ksp->converged != KSPConvergedSkip;
  return (tests || HasLookingMonitor(ksp)) && !strstr(d->method, "gmres") ? PETSC_TRUE : PETSC_FALSE;
}

/* The present iterate in the solution vector, which also tells PETSc that its norm has changed. A loop that a
   GPU replays is ahead of its monitors and has none. */
static PetscErrorCode ShowIterate(KSP ksp)
{
  Data *d = DataOf(ksp);
  Lent x;
  PetscFunctionBegin;
  PetscCall(LendVec(d->ctx, ksp->vec_sol, PETSC_TRUE, &x));
  const PoiseErr e = PoiseKSPBuildSolution(d->now->ksp, x.poise);
  PetscCall(EndLend(&x));
  if (e == POISE_ERR_STATE)
    PoiseErrorClear();
  else
    POISE_CALL(e);
  PetscFunctionReturn(0);
}

/* pipecg2 makes two iterations at a time and looks at the norm behind them. */
PetscBool LooksAtPairs(KSP ksp)
{
  return IsForPetsc(ksp, KSPPIPECG2);
}

static PetscBool IsBetween(KSP ksp, PetscInt it)
{
  return it % 2 ? LooksAtPairs(ksp) : PETSC_FALSE;
}

static PetscErrorCode Tell(KSP ksp, PetscInt it, PetscReal norm)
{
  PetscFunctionBegin;
  if (IsBetween(ksp, it)) PetscFunctionReturn(0);
  ksp->its = it;
  ksp->rnorm = norm;
  if (ShowsIterates(ksp)) PetscCall(ShowIterate(ksp));
  if (DataOf(ksp)->now->tests) PetscCall(TellLSQR(ksp, DataOf(ksp)->now));
  if (IsForPetsc(ksp, KSPCGLS)) { /* it keeps no history, and has no norm 0 */
    if (it) PetscCall(KSPMonitor(ksp, it, norm));
    PetscFunctionReturn(0);
  }
  PetscCall(KSPLogResidualHistory(ksp, norm));
  PetscCall(KSPMonitor(ksp, it, norm));
  PetscFunctionReturn(0);
}

PoiseErr Monitor(PoiseKSP solver, PoiseInt it, double norm, void *arg)
{
  KSP ksp = arg;
  (void)solver;
  return Keep(DataOf(ksp), Tell(ksp, (PetscInt)it, norm));
}

static PetscErrorCode CallTest(KSP ksp, PetscInt it, PetscReal norm, KSPConvergedReason *says)
{
  PetscFunctionBegin;
  if (IsBetween(ksp, it)) PetscFunctionReturn(0);
  ksp->its = it;
  ksp->rnorm = norm;
  if (it && it < ksp->chknorm) PetscFunctionReturn(0); /* the test needs the first norm */
  if (ShowsIterates(ksp)) PetscCall(ShowIterate(ksp));
  PetscCall(ksp->converged(ksp, it, norm, says, ksp->cnvP));
  PetscFunctionReturn(0);
}

PoiseErr Test(PoiseKSP solver, PoiseInt it, double norm, PoiseKSPReason *reason, void *arg)
{
  KSP ksp = arg;
  Data *d = DataOf(ksp);
  KSPConvergedReason says = KSP_CONVERGED_ITERATING;
  (void)solver;
  POISE_TRY(Keep(d, CallTest(ksp, (PetscInt)it, norm, &says)));
  d->reason = says;
  if (says) *reason = says > 0 ? POISE_CONVERGED_USER : POISE_DIVERGED_USER;
  return POISE_OK;
}

static PetscErrorCode CallPC(void *arg, Vec r, Vec z)
{
  KSP ksp = arg;
  Data *d = DataOf(ksp);
  Mat A;
  MatNullSpace space;
  const PetscBool transposed = d->now == &d->engine[1] ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionBegin;
  if (transposed)
    PetscCall(PCApplyTranspose(ksp->pc, r, z));
  else
    PetscCall(PCApply(ksp->pc, r, z));
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  if (transposed)
    PetscCall(MatGetTransposeNullSpace(A, &space));
  else
    PetscCall(MatGetNullSpace(A, &space));
  /* Poise removes vectors itself */
  if (space && space->remove && ksp->pc_side == PC_LEFT) PetscCall(MatNullSpaceRemove(space, z));
  PetscFunctionReturn(0);
}

PoiseErr ShellApply(void *arg, PoiseVec r, PoiseVec z)
{
  KSP ksp = arg;
  Data *d = DataOf(ksp);
  return OnPetscVecs(r, z, d->r, d->z, CallPC, ksp, &d->failed);
}

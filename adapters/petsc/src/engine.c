/* SPDX-License-Identifier: BSD-3-Clause */
/*
  A solver of Poise for a KSP. Settings are handed on when they are needed, not when they are made, because
  PETSc has no hook for most of them: operators, tolerances, null spaces, norm, side, the method's own.
  Options of Poise override them until they change.
*/
#include "solver.h"

/* ---- making a solver of Poise ---------------------------------------------------------------- */

PetscErrorCode DropEngine(Engine *e)
{
  PetscFunctionBegin;
  POISE_CALL(PoiseKSPDestroy(&e->ksp));
  PetscCall(DropOperator(&e->A));
  PetscCall(DropOperator(&e->P));
  PetscCall(DropLevels(&e->levels));
  e->tests = PETSC_FALSE;
  PetscFunctionReturn(0);
}

/* PETSc's cgls applies no preconditioner, nor does lsqr if that is none, as its vectors may be others. */
PetscBool IgnoresPC(KSP ksp)
{
  const char *pc = ((PetscObject)ksp->pc)->type_name;
  if (IsForPetsc(ksp, KSPLSQR) && pc && !strcmp(pc, PCNONE)) return PETSC_TRUE;
  return IsForPetsc(ksp, KSPCGLS);
}

static PetscErrorCode SetPC(KSP ksp, Engine *e)
{
  Data *d = DataOf(ksp);
  PoisePC pc;
  const PoiseShellPC shell = {.apply = ShellApply};
  PetscFunctionBegin;
  POISE_CALL(PoiseKSPGetPC(e->ksp, &pc));
  if (e->own || IgnoresPC(ksp) || e->split) POISE_CALL(PoisePCSetType(pc, e->own ? d->chosen.type : "none"));
  if (!e->own && !IgnoresPC(ksp)) {
    if (!d->r && IsForPetsc(ksp, KSPLSQR)) { /* it is applied to vectors of A's columns */
      PetscCall(MatCreateVecs(ksp->pc->mat, &d->z, NULL));
      PetscCall(VecDuplicate(d->z, &d->r));
    }
    if (!d->r) PetscCall(MatCreateVecs(ksp->pc->pmat, &d->z, &d->r));
    if (!e->split) POISE_CALL(PoisePCSetShell(pc, &shell, ksp));
  }
  PetscFunctionReturn(0);
}

PetscErrorCode RestartOf(KSP ksp, PetscInt *restart)
{
  PetscFunctionBegin;
  *restart = 0;
  PetscTryMethod(ksp, "KSPGMRESGetRestart_C", (KSP, PetscInt *), (ksp, restart));
  PetscTryMethod(ksp, "KSPGCRGetRestart_C", (KSP, PetscInt *), (ksp, restart));
  if (IsForPetsc(ksp, KSPFCG)) PetscCall(KSPFCGGetMmax(ksp, restart));
  if (IsForPetsc(ksp, KSPPIPEFCG)) PetscCall(KSPPIPEFCGGetMmax(ksp, restart));
  PetscFunctionReturn(0);
}

/* Hand on what has changed since the latest call, so that options of Poise stay until then. */
static PetscErrorCode SetOfMethods(KSP ksp, Engine *e)
{
  PetscInt restart;
  Said said;
  PetscFunctionBegin;
  PetscCall(RestartOf(ksp, &restart));
  PetscCall(SaidOf(ksp, &said));
  if (restart && restart != e->restart) { /* each has an effect on its method alone */
    POISE_CALL(PoiseKSPGMRESSetRestart(e->ksp, (int)restart));
    POISE_CALL(PoiseKSPGCRSetRestart(e->ksp, (int)restart));
    POISE_CALL(PoiseKSPFCGSetMmax(e->ksp, (int)restart));
  }
  if (said.scale != e->said.scale) POISE_CALL(PoiseKSPRichardsonSetScale(e->ksp, said.scale));
  if (said.breakdown != e->said.breakdown)
    POISE_CALL(PoiseKSPGMRESSetBreakdownTolerance(e->ksp, said.breakdown));
  if (said.augments && (!e->said.augments || said.augment != e->said.augment))
    POISE_CALL(PoiseKSPLGMRESSetAugDim(e->ksp, (int)said.augment));
  if (said.emax != 0 && (said.emax != e->said.emax || said.emin != e->said.emin))
    POISE_CALL(PoiseKSPChebyshevSetEigenvalues(e->ksp, said.emax, said.emin));
  e->restart = restart;
  e->said = said;
  PetscFunctionReturn(0);
}

static PetscErrorCode SetTolerances(KSP ksp, Engine *e)
{
  /* pairs end before that number */
  const PetscInt most = LooksAtPairs(ksp) ? PetscMax(0, ksp->max_it - 1) / 2 * 2 : ksp->max_it;
  PetscFunctionBegin;
  if (e->rtol != ksp->rtol || e->abstol != ksp->abstol || e->divtol != ksp->divtol ||
      e->max_it != ksp->max_it)
    POISE_CALL(PoiseKSPSetTolerances(
        e->ksp, e->rtol != ksp->rtol ? ksp->rtol : -1, e->abstol != ksp->abstol ? ksp->abstol : -1,
        e->divtol != ksp->divtol ? ksp->divtol : -1, e->max_it != ksp->max_it ? most : -1));
  e->rtol = ksp->rtol;
  e->abstol = ksp->abstol;
  e->divtol = ksp->divtol;
  e->max_it = ksp->max_it;
  PetscFunctionReturn(0);
}

static PetscErrorCode SetNormAndSide(KSP ksp, Engine *e)
{
  const Data *d = DataOf(ksp);
  const PetscBool preonly = !strcmp(d->method, "preonly") ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionBegin;
  if (e->norm != ksp->normtype)
    POISE_CALL(PoiseKSPSetNormType(e->ksp, preonly ? POISE_KSP_NORM_NONE : NormOf(d->method, ksp->normtype)));
  if (e->side != ksp->pc_side)
    POISE_CALL(PoiseKSPSetPCSide(e->ksp, ksp->pc_side == PC_RIGHT ? POISE_PC_RIGHT : POISE_PC_LEFT));
  e->norm = ksp->normtype;
  e->side = ksp->pc_side;
  PetscFunctionReturn(0);
}

PetscErrorCode TellStrictly(KSP ksp, const char *what, const char *type, const char *why)
{
  const Data *d = DataOf(ksp);
  const char *prefix;
  MPI_Comm comm = PetscObjectComm((PetscObject)ksp);
  PetscFunctionBegin;
  PetscCall(KSPGetOptionsPrefix(ksp, &prefix));
  PetscCheck(d->strict != STRICT_ERROR, comm, PETSC_ERR_SUP, "-%spoise_strict error: PETSc's own %s %s: %s",
             prefix ? prefix : "", what, type, why);
  if (d->strict == STRICT_LINE)
    PetscCall(
        PetscPrintf(comm, "-%spoise_strict: PETSc's own %s %s: %s\n", prefix ? prefix : "", what, type, why));
  PetscFunctionReturn(0);
}

static PetscErrorCode MakeEngine(KSP ksp, Engine *e, PetscBool own)
{
  Data *d = DataOf(ksp);
  PetscFunctionBegin;
  PetscCall(DropEngine(e));
  if (!own && !IgnoresPC(ksp))
    PetscCall(TellStrictly(ksp, "preconditioner", ((PetscObject)ksp->pc)->type_name,
                           d->back ? d->because : d->chosen.because));
  e->own = own;
  e->split = IsSplit(ksp);
  e->ignores = IgnoresPC(ksp);
  e->rtol = e->abstol = e->divtol = -1;
  e->max_it = -1;
  e->restart = 0;
  e->said = (Said){.other = NULL};
  e->norm = KSP_NORM_DEFAULT;
  e->side = PC_SIDE_DEFAULT;
  POISE_CALL(PoiseKSPCreate(d->ctx, &e->ksp));
  POISE_CALL(PoiseKSPSetOptionsPrefix(e->ksp, PrefixOf(d->taken)));
  POISE_CALL(PoiseKSPSetType(e->ksp, d->method));
  POISE_CALL(PoiseKSPAddMonitor(e->ksp, Monitor, ksp));
  PetscCall(SetOfMethods(ksp, e));
  PetscCall(SetTolerances(ksp, e));
  PetscCall(SetNormAndSide(ksp, e));
  if (own) PetscCall(SetPC(ksp, e));
  if (d->taken) POISE_CALL(PoiseKSPSetFromOptions(e->ksp));
  if (!own) PetscCall(SetPC(ksp, e));
  PetscFunctionReturn(0);
}

/* ---- following the KSP ----------------------------------------------------------------------- */

static PetscErrorCode GoBack(KSP ksp, const char *because)
{
  Data *d = DataOf(ksp);
  PetscFunctionBegin;
  d->back = PETSC_TRUE;
  PetscCall(PetscStrncpy(d->because, because, sizeof d->because));
  char *end = strchr(d->because, '\n');
  if (end) *end = 0;
  PetscCall(PetscInfo(ksp, "PETSc's own PC is used: %s\n", d->because));
  PetscFunctionReturn(0);
}

/* Does Poise's own preconditioner work, for these matrices? */
static PetscErrorCode DecidePC(KSP ksp, Mat A, Mat P, PetscBool transposed, PetscBool *own)
{
  Data *d = DataOf(ksp);
  PetscBool entries, changed;
  PetscInt rows;
  MatNullSpace space;
  PetscFunctionBegin;
  const PetscBool before = d->chosen.own;
  PetscCall(FollowChoice(ksp->pc, &d->chosen, &changed));
  if (before && !d->chosen.own) PetscCall(GoBack(ksp, d->chosen.because));
  if (changed) PetscCall(TakeAllOptions(ksp, PETSC_FALSE));
  *own = d->chosen.own && !d->back && !IgnoresPC(ksp) && !IsSplit(ksp) ? PETSC_TRUE : PETSC_FALSE;
  if (!*own) PetscFunctionReturn(0);
  PetscCall(HasEntries(P, &entries));
  PetscCall(MatGetSize(P, &rows, NULL));
  PetscCall(MatGetNullSpace(A, &space));
  if (transposed && !IsSymmetricPC(d->chosen.type)) {
    PetscCheck(!d->chosen.by_poise, PetscObjectComm((PetscObject)ksp), PETSC_ERR_SUP,
               "Poise's %s cannot be applied transposed; leave out -poise_pc_type", d->chosen.type);
    PetscCall(GoBack(ksp, "a transposed solve needs it"));
  } else if (d->chosen.by_poise) {
    PetscFunctionReturn(0);
  } else if (!entries && strcmp(d->chosen.type, "none")) {
    PetscCall(GoBack(ksp, "the matrix is of a type that has no entries for Poise"));
  } else if (IsForPetsc(ksp, KSPLSQR) && P == A && strcmp(d->chosen.type, "none")) {
    PetscCall(GoBack(ksp, "PETSc's is of A, and Poise's lsqr makes A^T A"));
  } else if (!TwinFits(d->chosen.type, rows)) {
    PetscCall(GoBack(ksp, "Poise's is dense, and there are more than 500 rows"));
  } else if (space && space->remove) {
    PetscCall(GoBack(ksp, "the null space is given by a function"));
  }
  *own = d->back ? PETSC_FALSE : PETSC_TRUE;
  PetscFunctionReturn(0);
}

/* Coordinates that the program has given to PETSc's gamg, if Poise's amg works. The matrix may have rigid
   motions itself. */
static PetscErrorCode FollowCoordinates(KSP ksp, const Operator *o)
{
  const Data *d = DataOf(ksp);
  MatNullSpace near;
  PetscInt dim, nodes, rows;
  const PetscReal *x;
  PetscFunctionBegin;
  if (strcmp(d->chosen.type, "amg")) PetscFunctionReturn(0);
  PetscCall(CoordinatesOf(ksp->pc, &dim, &nodes, &x));
  PetscCall(MatGetNearNullSpace(o->mat, &near));
  PetscCall(MatGetLocalSize(o->mat, &rows, NULL));
  int fits = x && !near && dim > 1 && rows == dim * nodes;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &fits, 1, MPI_INT, MPI_MIN, PetscObjectComm((PetscObject)ksp)));
  if (fits) POISE_CALL(PoiseMatSetCoordinates(o->A, (int)dim, nodes, x));
  PetscFunctionReturn(0);
}

/* PETSc's mg has the levels. */
static PetscErrorCode FollowMG(KSP ksp, Engine *e)
{
  const Data *d = DataOf(ksp);
  PoisePC poise;
  PetscFunctionBegin;
  if (!e->own || !d->chosen.levels) PetscFunctionReturn(0);
  POISE_CALL(PoiseKSPGetPC(e->ksp, &poise));
  PetscCall(FollowLevels(ksp->pc, d->ctx, poise, &e->levels));
  PetscFunctionReturn(0);
}

static PetscErrorCode FollowOperators(KSP ksp, Engine *e, Mat A, Mat P, PetscBool transposed)
{
  Data *d = DataOf(ksp);
  PetscBool fresh_A, fresh_P = PETSC_FALSE;
  PetscFunctionBegin;
  if (e->split) PetscCall(SplitMat(ksp, &A));
  PetscCall(FollowMat(d->ctx, A, transposed || e->split, transposed, &e->A, &fresh_A));
  /* PETSc's PC has its matrix itself */
  const PetscBool two =
      e->own && (P != A || transposed) && strcmp(d->chosen.type, "none") ? PETSC_TRUE : PETSC_FALSE;
  if (two) {
    PetscCall(FollowMat(d->ctx, P, PETSC_FALSE, PETSC_FALSE, &e->P, &fresh_P));
  } else if (e->P.A) {
    PetscCall(DropOperator(&e->P));
    fresh_A = PETSC_TRUE;
  }
  if (fresh_A || fresh_P) POISE_CALL(PoiseKSPSetOperators(e->ksp, e->A.A, two ? e->P.A : NULL));
  if (e->own && (two ? fresh_P : fresh_A)) PetscCall(FollowCoordinates(ksp, two ? &e->P : &e->A));
  PetscCall(FollowMG(ksp, e));
  PetscFunctionReturn(0);
}

/* Set up Poise's own preconditioner. *again: PETSc's must be used in its place. */
static PetscErrorCode SetUpOwn(KSP ksp, Engine *e, PetscBool *again)
{
  Data *d = DataOf(ksp);
  int worst[2] = {0, 0};
  PetscFunctionBegin;
  *again = PETSC_FALSE;
  const PoiseErr err = PoiseKSPSetUp(e->ksp);
  if (d->failed) PetscFunctionReturn(d->failed);
  if (!err) PetscFunctionReturn(0);
  worst[0] = err == POISE_ERR_NUMERIC;
  worst[1] = err != POISE_ERR_NUMERIC && err != POISE_ERR_UNSUPPORTED && err != POISE_ERR_ARG &&
             err != POISE_ERR_SIZE && err != POISE_ERR_REMOTE;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, worst, 2, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)ksp)));
  /* PETSc's cholesky takes a matrix that is not definite */
  const PetscBool other =
      !strcmp(d->chosen.type, PCCHOLESKY) && !d->chosen.by_poise ? PETSC_TRUE : PETSC_FALSE;
  if (worst[0] && !worst[1] && !other) {
    PetscCall(PetscInfo(ksp, "%s", PoiseErrorText()));
    d->pc_failed = PETSC_TRUE;
    PetscFunctionReturn(0);
  }
  if (worst[1] || d->chosen.by_poise) POISE_CALL(err);
  PetscCall(GoBack(ksp, PoiseErrorMessage()));
  *again = PETSC_TRUE;
  PetscFunctionReturn(0);
}

PetscErrorCode Follow(KSP ksp, PetscBool transposed)
{
  Data *d = DataOf(ksp);
  Engine *e = &d->engine[transposed];
  Mat A, P;
  PetscBool own = PETSC_FALSE, again;
  PetscFunctionBegin;
  PetscCall(ContextOf(PetscObjectComm((PetscObject)ksp), &d->ctx));
  d->failed = e->A.failed = 0;
  d->pc_failed = PETSC_FALSE;
  do {
    again = PETSC_FALSE;
    PetscCall(PCGetOperators(ksp->pc, &A, &P));
    PetscCall(DecidePC(ksp, A, P, transposed, &own));
    if (!e->ksp || e->own != own || e->split != IsSplit(ksp) || e->ignores != IgnoresPC(ksp))
      PetscCall(MakeEngine(ksp, e, own));
    d->now = e;
    PetscCall(SetOfMethods(ksp, e));
    PetscCall(SetTolerances(ksp, e));
    PetscCall(SetNormAndSide(ksp, e));
    POISE_CALL(PoiseKSPSetComputeSingularValues(e->ksp, ksp->calc_sings || ksp->calc_ritz));
    if (own)
      PetscCall(TakePC(ksp->pc, d->ctx, &d->lent));
    else
      PetscCall(GiveBackPC(&d->lent));
    PetscCall(FollowOperators(ksp, e, A, P, transposed));
    POISE_CALL(PoiseKSPSetReusePreconditioner(e->ksp, ksp->pc->reusepreconditioner));
    if (own) {
      PetscCall(SetUpOwn(ksp, e, &again));
      if (again)
        PetscCall(DropEngine(e));
      else
        PetscCall(LendPoise(&d->lent, &e->ksp, d->pc_failed));
    }
  } while (again);
  PetscFunctionReturn(0);
}

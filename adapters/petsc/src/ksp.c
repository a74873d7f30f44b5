/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The KSP "poise": a solve of PETSc by a solver of Poise.

  Settings of the KSP are handed on when they are needed, not when they are made, because PETSc has no hook
  for most of them: operators, tolerances, null spaces, norm, side, guess, test and monitors. Options
  -poise_ksp_* override them. The method is that of -poise_ksp_type, else the one that the KSP had before
  -ksp_type poise, else gmres. ksp->data is that of PETSc's method (method.c), which works where Poise has no
  such method or setting.

  A transposed solve has an engine of its own. Its matrix is MatMultTranspose, its preconditioner PETSc's.
*/
#include "plugin.h"

typedef struct Engine { /* a solver of Poise and what it works with */
  PoiseKSP ksp;
  Operator A, P;
  PetscBool own; /* the preconditioner is Poise's own */
  PetscBool tests;
  PetscReal rtol, abstol, divtol; /* as handed on */
  PetscInt max_it, restart;
  KSPNormType norm;
  PCSide side;
  Said said;
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
  KSPGMRESCGSRefinementType refines;
  char other[NAME]; /* an option that Poise's method has not */
  Chosen chosen;
  PetscBool back; /* PETSc's PC works although Poise's own was chosen */
  char because[4 * NAME];
  LentPC lent;
  Vec r, z;                  /* what PCApply is called with */
  PetscErrorCode failed;     /* of PETSc, in a callback */
  KSPConvergedReason reason; /* of the test */
  PetscBool pc_failed;
} Data;

static const char key[] = "poise_ksp";

static Data *DataOf(KSP ksp)
{
  PetscContainer box = NULL;
  Data *d = NULL;
  if (PetscObjectQuery((PetscObject)ksp, key, (PetscObject *)&box) || !box) return NULL;
  return PetscContainerGetPointer(box, (void **)&d) ? NULL : d;
}

/* ---- what the solver of Poise calls ---------------------------------------------------------- */

static PoiseErr Keep(Data *d, PetscErrorCode e)
{
  if (!e) return POISE_OK;
  d->failed = e;
  return PoiseErrorSet(POISE_ERR_USER, __func__, __FILE__, __LINE__, "PETSc says error %d", e);
}

/* May a monitor or the test look at the solution vector, in which PETSc's method has its iterates? */
static PetscBool ShowsIterates(KSP ksp)
{
  const Data *d = DataOf(ksp);
  PetscBool looks = ksp->converged != KSPConvergedDefault && ksp->converged != KSPConvergedSkip;
  for (PetscInt i = 0; i < ksp->numbermonitors; i++)
    if ((void (*)(void))ksp->monitor[i] != (void (*)(void))KSPMonitorResidual) looks = PETSC_TRUE;
  return looks && !strstr(d->method, "gmres") ? PETSC_TRUE : PETSC_FALSE;
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

static PetscErrorCode Tell(KSP ksp, PetscInt it, PetscReal norm)
{
  PetscFunctionBegin;
  ksp->its = it;
  ksp->rnorm = norm;
  if (ShowsIterates(ksp)) PetscCall(ShowIterate(ksp));
  PetscCall(KSPLogResidualHistory(ksp, norm));
  PetscCall(KSPMonitor(ksp, it, norm));
  PetscFunctionReturn(0);
}

static PoiseErr Monitor(PoiseKSP solver, PoiseInt it, double norm, void *arg)
{
  KSP ksp = arg;
  (void)solver;
  return Keep(DataOf(ksp), Tell(ksp, (PetscInt)it, norm));
}

static PetscErrorCode CallTest(KSP ksp, PetscInt it, PetscReal norm, KSPConvergedReason *says)
{
  PetscFunctionBegin;
  ksp->its = it;
  ksp->rnorm = norm;
  if (it && it < ksp->chknorm) PetscFunctionReturn(0); /* the test needs the first norm */
  if (ShowsIterates(ksp)) PetscCall(ShowIterate(ksp));
  PetscCall(ksp->converged(ksp, it, norm, says, ksp->cnvP));
  PetscFunctionReturn(0);
}

static PoiseErr Test(PoiseKSP solver, PoiseInt it, double norm, PoiseKSPReason *reason, void *arg)
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

static PoiseErr ShellApply(void *arg, PoiseVec r, PoiseVec z)
{
  KSP ksp = arg;
  Data *d = DataOf(ksp);
  return OnPetscVecs(r, z, d->r, d->z, CallPC, ksp, &d->failed);
}

/* ---- making a solver of Poise ---------------------------------------------------------------- */

static PetscErrorCode DropEngine(Engine *e)
{
  PetscFunctionBegin;
  POISE_CALL(PoiseKSPDestroy(&e->ksp));
  PetscCall(DropOperator(&e->A));
  PetscCall(DropOperator(&e->P));
  e->tests = PETSC_FALSE;
  PetscFunctionReturn(0);
}

static PetscErrorCode SetPC(KSP ksp, Engine *e)
{
  Data *d = DataOf(ksp);
  PoisePC pc;
  const PoiseShellPC shell = {.apply = ShellApply};
  PetscFunctionBegin;
  POISE_CALL(PoiseKSPGetPC(e->ksp, &pc));
  if (e->own) {
    POISE_CALL(PoisePCSetType(pc, d->chosen.type));
  } else {
    if (!d->r) PetscCall(MatCreateVecs(ksp->pc->pmat, &d->z, &d->r));
    POISE_CALL(PoisePCSetShell(pc, &shell, ksp));
  }
  PetscFunctionReturn(0);
}

/* The restart of PETSc's method, 0 if it has none. */
static PetscErrorCode RestartOf(KSP ksp, PetscInt *restart)
{
  PetscFunctionBegin;
  *restart = 0;
  PetscTryMethod(ksp, "KSPGMRESGetRestart_C", (KSP, PetscInt *), (ksp, restart));
  PetscTryMethod(ksp, "KSPGCRGetRestart_C", (KSP, PetscInt *), (ksp, restart));
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
  if (restart && restart != e->restart) POISE_CALL(PoiseKSPGMRESSetRestart(e->ksp, (int)restart));
  if (said.scale != e->said.scale) POISE_CALL(PoiseKSPRichardsonSetScale(e->ksp, said.scale));
  if (said.breakdown != e->said.breakdown)
    POISE_CALL(PoiseKSPGMRESSetBreakdownTolerance(e->ksp, said.breakdown));
  if (said.emax != 0 && (said.emax != e->said.emax || said.emin != e->said.emin))
    POISE_CALL(PoiseKSPChebyshevSetEigenvalues(e->ksp, said.emax, said.emin));
  e->restart = restart;
  e->said = said;
  PetscFunctionReturn(0);
}

static PetscErrorCode SetTolerances(KSP ksp, Engine *e)
{
  PetscFunctionBegin;
  if (e->rtol != ksp->rtol || e->abstol != ksp->abstol || e->divtol != ksp->divtol ||
      e->max_it != ksp->max_it)
    POISE_CALL(PoiseKSPSetTolerances(
        e->ksp, e->rtol != ksp->rtol ? ksp->rtol : -1, e->abstol != ksp->abstol ? ksp->abstol : -1,
        e->divtol != ksp->divtol ? ksp->divtol : -1, e->max_it != ksp->max_it ? ksp->max_it : -1));
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
    POISE_CALL(PoiseKSPSetNormType(e->ksp, preonly ? POISE_KSP_NORM_NONE : NormOf(ksp->normtype)));
  if (e->side != ksp->pc_side)
    POISE_CALL(PoiseKSPSetPCSide(e->ksp, ksp->pc_side == PC_RIGHT ? POISE_PC_RIGHT : POISE_PC_LEFT));
  e->norm = ksp->normtype;
  e->side = ksp->pc_side;
  PetscFunctionReturn(0);
}

/* -poise_strict: what is PETSc's is told, or refused. */
static PetscErrorCode TellStrictly(KSP ksp, const char *what, const char *type, const char *why)
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
  if (!own)
    PetscCall(TellStrictly(ksp, "preconditioner", ((PetscObject)ksp->pc)->type_name,
                           d->back ? d->because : d->chosen.because));
  e->own = own;
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

static PetscErrorCode TakeAllOptions(KSP ksp, PetscBool fresh);

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
  *own = d->chosen.own && !d->back ? PETSC_TRUE : PETSC_FALSE;
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
  } else if (!TwinFits(d->chosen.type, rows)) {
    PetscCall(GoBack(ksp, "Poise's lu is dense, and there are more than 500 rows"));
  } else if (space && space->remove) {
    PetscCall(GoBack(ksp, "the null space is given by a function"));
  }
  *own = d->back ? PETSC_FALSE : PETSC_TRUE;
  PetscFunctionReturn(0);
}

static PetscErrorCode FollowOperators(KSP ksp, Engine *e, Mat A, Mat P, PetscBool transposed)
{
  Data *d = DataOf(ksp);
  PetscBool fresh_A, fresh_P = PETSC_FALSE;
  PetscFunctionBegin;
  PetscCall(FollowMat(d->ctx, A, transposed, transposed, &e->A, &fresh_A));
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
  if (worst[0] && !worst[1]) {
    PetscCall(PetscInfo(ksp, "%s", PoiseErrorText()));
    d->pc_failed = PETSC_TRUE;
    PetscFunctionReturn(0);
  }
  if (worst[1] || d->chosen.by_poise) POISE_CALL(err);
  PetscCall(GoBack(ksp, PoiseErrorMessage()));
  *again = PETSC_TRUE;
  PetscFunctionReturn(0);
}

static PetscErrorCode Follow(KSP ksp, PetscBool transposed)
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
    if (!e->ksp || e->own != own) PetscCall(MakeEngine(ksp, e, own));
    d->now = e;
    PetscCall(SetOfMethods(ksp, e));
    PetscCall(SetTolerances(ksp, e));
    PetscCall(SetNormAndSide(ksp, e));
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

/* ---- PETSc's method works -------------------------------------------------------------------- */

/* Does Poise's method watch this norm, with the preconditioner on this side? */
static PetscBool Watches(const char *method, KSPNormType norm, PCSide side)
{
  const PetscBool left = side == PC_LEFT ? PETSC_TRUE : PETSC_FALSE, none = norm == KSP_NORM_NONE,
                  plain = norm == KSP_NORM_UNPRECONDITIONED;
  if (side == PC_SYMMETRIC) return PETSC_FALSE;
  if (!strcmp(method, "preonly")) return PETSC_TRUE;
  if (!strcmp(method, "fgmres")) return !left && (plain || none);
  if (!strcmp(method, "gmres") || !strcmp(method, "bicgstab")) return none || plain != left;
  if (!strcmp(method, "cg") || !strcmp(method, "prcg")) return left;
  if (!strcmp(method, "minres")) return left && !plain;
  return left && norm != KSP_NORM_NATURAL;
}

/* What the program has said of the method that Poise's has not, or NULL. */
static PetscErrorCode Otherwise(KSP ksp, const char **other)
{
  const Data *d = DataOf(ksp);
  PetscErrorCode (*orthogonalize)(KSP, PetscInt) = NULL;
  KSPGMRESCGSRefinementType refines = KSP_GMRES_CGS_REFINE_NEVER;
  PetscInt restart;
  Said said;
  PetscFunctionBegin;
  PetscCall(SaidOf(ksp, &said));
  PetscCall(RestartOf(ksp, &restart));
  PetscTryMethod(ksp, "KSPGMRESGetOrthogonalization_C", (KSP, PetscErrorCode(**)(KSP, PetscInt)),
                 (ksp, &orthogonalize));
  PetscTryMethod(ksp, "KSPGMRESGetCGSRefinementType_C", (KSP, KSPGMRESCGSRefinementType *), (ksp, &refines));
  *other = said.other;
  if (*d->other) *other = d->other;
  if (restart > 10000) *other = "a restart of more than 10000";
  if (orthogonalize && orthogonalize != KSPGMRESClassicalGramSchmidtOrthogonalization)
    *other = "KSPGMRESSetOrthogonalization";
  if (refines != d->refines) *other = "KSPGMRESSetCGSRefinementType after the options";
  if (said.estimates && memcmp(said.estimate, d->estimate, sizeof d->estimate))
    *other = "KSPChebyshevEstEigSet after the options";
  PetscFunctionReturn(0);
}

/* PETSc's bddc needs fewer solves inside for a KSP with one of these names. */
static PetscErrorCode WantsName(KSP ksp, PetscBool *wants)
{
  static const char *const names[] = {KSPCG, KSPGROPPCG, KSPPIPECG};
  const Data *d = DataOf(ksp);
  PetscBool bddc = PETSC_FALSE;
  PetscFunctionBegin;
  *wants = PETSC_FALSE;
  if (ksp->pc) PetscCall(PetscObjectTypeCompare((PetscObject)ksp->pc, PCBDDC, &bddc));
  for (size_t i = 0; bddc && i < sizeof names / sizeof *names; i++)
    if (!strcmp(PetscMethodOf(d->asked), names[i])) *wants = PETSC_TRUE;
  PetscFunctionReturn(0);
}

/* Why PETSc's own method must work, or "". */
static PetscErrorCode WhyPetsc(KSP ksp, char why[NAME])
{
  const Data *d = DataOf(ksp);
  PetscBool named;
  const char *other = NULL;
  PetscFunctionBegin;
  PetscCall(Otherwise(ksp, &other));
  PetscCall(WantsName(ksp, &named));
  *why = 0;
  if (!*d->method)
    PetscCall(PetscStrncpy(why, "Poise has no such method", NAME));
  else if (ksp->calc_sings || ksp->calc_ritz)
    PetscCall(PetscStrncpy(why, "eigenvalues or singular values of the iteration are asked for", NAME));
  else if (ksp->numbermonitors && !strcmp(d->method, "preonly"))
    PetscCall(PetscStrncpy(why, "PETSc's preonly shows monitors the residual", NAME));
  else if (named)
    PetscCall(
        PetscSNPrintf(why, NAME, "PETSc's bddc works less for a KSP named %s", PetscMethodOf(d->asked)));
  else if (ksp->lagnorm)
    PetscCall(PetscStrncpy(why, "the norm lags", NAME));
  else if (other)
    PetscCall(PetscSNPrintf(why, NAME, "Poise's %s has not: %s", d->method, other));
  else if (!Watches(d->method, ksp->normtype, ksp->pc_side))
    PetscCall(PetscSNPrintf(why, NAME, "Poise's %s has no %s norm with side %s", d->method,
                            KSPNormTypes[ksp->normtype], PCSides[ksp->pc_side]));
  PetscFunctionReturn(0);
}

static PetscErrorCode SetFunctions(KSP ksp);

/* Poise's preconditioner, if the program asks for it, in a method of PETSc. */
static PetscErrorCode UsePoisePC(KSP ksp)
{
  const Data *d = DataOf(ksp);
  PetscBool is;
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp->pc, "poise", &is));
  if (is || !d->chosen.by_poise) PetscFunctionReturn(0);
  PetscCall(PCSetType(ksp->pc, "poise"));
  PetscCall(ksp->pc->ops->setfromoptions(ksp->pc, NULL)); /* PCSetFromOptions would read -pc_type too */
  PetscFunctionReturn(0);
}

static PetscErrorCode UsePetsc(KSP ksp, const char *why)
{
  Data *d = DataOf(ksp);
  const PetscBool new = !d->petsc_works || ksp->setupstage == KSP_SETUP_NEW ? PETSC_TRUE : PETSC_FALSE,
                  other = strcmp(why, d->why) ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionBegin;
  if (other) {
    PetscCall(PetscInfo(ksp, "PETSc's own %s is used: %s\n", PetscMethodOf(d->asked), why));
    PetscCall(TellStrictly(ksp, "method", PetscMethodOf(d->asked), why));
    PetscCall(PetscStrncpy(d->why, why, NAME));
  }
  if (!d->petsc_works) {
    PetscCall(GiveBackPC(&d->lent));
    for (int k = 0; k < 2; k++) PetscCall(DropEngine(&d->engine[k]));
    d->now = NULL;
    d->petsc_works = PETSC_TRUE;
    PetscCall(SetFunctions(ksp));
  }
  PetscCall(UsePoisePC(ksp));
  if (new || d->petsc_newmatrix) PetscCall(d->petsc.setup(ksp));
  PetscFunctionReturn(0);
}

static PetscErrorCode UsePoise(KSP ksp)
{
  Data *d = DataOf(ksp);
  PetscFunctionBegin;
  *d->why = 0;
  if (!d->petsc_works) PetscFunctionReturn(0);
  if (d->petsc.reset) PetscCall(d->petsc.reset(ksp));
  d->petsc_works = PETSC_FALSE;
  PetscCall(SetFunctions(ksp));
  PetscFunctionReturn(0);
}

static PetscErrorCode SetUp(KSP ksp)
{
  char why[NAME];
  PetscFunctionBegin;
  PetscCall(WhyPetsc(ksp, why));
  if (*why) {
    PetscCall(UsePetsc(ksp, why));
    PetscFunctionReturn(0);
  }
  PetscCall(UsePoise(ksp));
  PetscCall(
      Follow(ksp, ksp->transpose_solve && !ksp->transpose.use_explicittranspose ? PETSC_TRUE : PETSC_FALSE));
  PetscFunctionReturn(0);
}

/* ---- solving --------------------------------------------------------------------------------- */

/* Does PETSc's default test do what Poise's does? */
static PetscErrorCode SetTest(KSP ksp, Engine *e)
{
  const KSPConvergedDefaultCtx *with = ksp->cnvP;
  PetscBool usual = ksp->converged == KSPConvergedDefault && ksp->chknorm <= 0 ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionBegin;
  if (usual && with && (with->initialrtol || with->mininitialrtol || with->convmaxits)) usual = PETSC_FALSE;
  if (ksp->converged == KSPConvergedSkip && ksp->normtype == KSP_NORM_NONE) usual = PETSC_TRUE;
  if (usual == e->tests) POISE_CALL(PoiseKSPSetConvergenceTest(e->ksp, usual ? NULL : Test, ksp));
  e->tests = usual ? PETSC_FALSE : PETSC_TRUE;
  PetscFunctionReturn(0);
}

/* Why the solve ended, in PETSc's words. */
static PetscErrorCode SetReason(KSP ksp, const Engine *e)
{
  Data *d = DataOf(ksp);
  PCFailedReason failed = PC_NOERROR;
  const PoiseKSPReason reason = PoiseKSPConvergedReason(e->ksp);
  PetscFunctionBegin;
  if (reason == POISE_CONVERGED_USER || reason == POISE_DIVERGED_USER)
    ksp->reason = d->reason;
  else
    ksp->reason = ReasonOf(reason);
  /* PETSc's methods call it so if no test has been asked to go without norm */
  if (reason == POISE_CONVERGED_ITS && ksp->converged == KSPConvergedDefault &&
      strcmp(d->method, "preonly") && strcmp(d->method, "richardson"))
    ksp->reason = KSP_DIVERGED_ITS;
  if (reason == POISE_DIVERGED_NANORINF && !e->own) {
    PetscCall(PCGetFailedReason(ksp->pc, &failed));
    if (failed) ksp->reason = KSP_DIVERGED_PC_FAILED;
  }
  if (*PoiseKSPReasonDetail(e->ksp)) PetscCall(PetscInfo(ksp, "%s\n", PoiseKSPReasonDetail(e->ksp)));
  PetscFunctionReturn(0);
}

static PetscErrorCode Run(KSP ksp, Engine *e)
{
  Data *d = DataOf(ksp);
  Lent b, x;
  PetscFunctionBegin;
  PetscCall(LendVec(d->ctx, ksp->vec_rhs, PETSC_FALSE, &b));
  PetscCall(LendVec(d->ctx, ksp->vec_sol, PETSC_TRUE, &x));
  POISE_CALL(PoiseKSPSetInitialGuessNonzero(e->ksp, !ksp->guess_zero));
  const PoiseErr err = PoiseKSPSolve(e->ksp, b.poise, x.poise);
  PetscCall(EndLend(&x));
  PetscCall(EndLend(&b));
  if (d->failed) PetscFunctionReturn(d->failed); /* PETSc has already said what */
  if (e->A.failed) PetscFunctionReturn(e->A.failed);
  POISE_CALL(err);
  ksp->its = (PetscInt)PoiseKSPIterations(e->ksp);
  ksp->rnorm = PoiseKSPResidualNorm(e->ksp);
  PetscCall(SetReason(ksp, e));
  if (d->taken && !d->noted) PetscCall(NoteUsed(d->taken));
  d->noted = PETSC_TRUE;
  PetscFunctionReturn(0);
}

static PetscErrorCode Solve(KSP ksp)
{
  Data *d = DataOf(ksp);
  PCFailedReason failed = PC_NOERROR;
  PetscFunctionBegin;
  char why[NAME];
  PetscCall(WhyPetsc(ksp, why)); /* settings may have changed without KSPSetUp, values too */
  if (!d->petsc_works || strcmp(why, d->why)) PetscCall(SetUp(ksp));
  if (d->petsc_works) {
    PetscCall(d->petsc.solve(ksp));
    PetscFunctionReturn(0);
  }
  Engine *e = d->now;
  ksp->its = 0;
  ksp->rnorm = 0;
  if (!e->own) PetscCall(PCGetFailedReason(ksp->pc, &failed));
  if (d->pc_failed || failed) {
    ksp->reason = KSP_DIVERGED_PC_FAILED;
    PetscFunctionReturn(0);
  }
  PetscCall(SetTest(ksp, e));
  PetscCall(Run(ksp, e));
  PetscFunctionReturn(0);
}

/* Many right-hand sides, which PETSc's preonly applies the preconditioner to in one call. */
static PetscErrorCode SolveMany(KSP ksp, Mat B, Mat X)
{
  const Data *d = DataOf(ksp);
  PetscFunctionBegin;
  PetscCall(PCMatApply(ksp->pc, B, X));
  ksp->its = 1;
  ksp->reason = d->pc_failed ? KSP_DIVERGED_PC_FAILED : KSP_CONVERGED_ITS;
  PetscFunctionReturn(0);
}

/* The solution of the latest solve; in a monitor or test the present iterate. */
static PetscErrorCode BuildSolution(KSP ksp, Vec v, Vec *V)
{
  Data *d = DataOf(ksp);
  Lent lent;
  PetscFunctionBegin;
  if (ksp->reason || !d->now) { /* it is over */
    if (v) PetscCall(VecCopy(ksp->vec_sol, v));
    *V = v ? v : ksp->vec_sol;
    PetscFunctionReturn(0);
  }
  if (!v) {
    if (!ksp->work) PetscCall(KSPSetWorkVecs(ksp, 1));
    v = ksp->work[0];
  }
  PetscCall(LendVec(d->ctx, v, PETSC_TRUE, &lent));
  POISE_CALL(PoiseKSPBuildSolution(d->now->ksp, lent.poise));
  PetscCall(EndLend(&lent));
  *V = v;
  PetscFunctionReturn(0);
}

/* ---- options --------------------------------------------------------------------------------- */

/* Options of PETSc's methods that have no setter, and that Poise's have not. */
static const char *const of_methods[][2] = {
    {"gmres", "-ksp_gmres_haptol"},
    {"gmres", "-ksp_gmres_krylov_monitor"},
    {"richardson", "-ksp_richardson_self_scale"},
    {"chebyshev", "-ksp_chebyshev_esteig_noisy"},
    {"chebyshev", "-esteig_ksp_type"},
    {"chebyshev", "-esteig_ksp_max_it"},
    {"chebyshev", "-esteig_pc_type"},
};

static PetscErrorCode LookForOthers(KSP ksp, const char *prefix)
{
  Data *d = DataOf(ksp);
  PetscBool given;
  PetscFunctionBegin;
  *d->other = 0;
  for (size_t i = 0; i < sizeof of_methods / sizeof *of_methods; i++) {
    if (strcmp(d->method, of_methods[i][0])) continue;
    PetscCall(PetscOptionsHasName(NULL, prefix, of_methods[i][1], &given));
    if (given) PetscCall(PetscStrncpy(d->other, of_methods[i][1], NAME));
  }
  PetscFunctionReturn(0);
}

/* As options of Poise: what its methods have no function for. */
static PetscErrorCode AddOfMethods(KSP ksp, const char *prefix, char *text, size_t room)
{
  static const char *const refinements[] = {"never", "ifneeded", "always"};
  Data *d = DataOf(ksp);
  const PetscReal *by = d->estimate;
  char line[3 * NAME];
  PetscInt steps;
  PetscBool given;
  Said said;
  PetscFunctionBegin;
  PetscCall(SaidOf(ksp, &said));
  d->refines = KSP_GMRES_CGS_REFINE_NEVER;
  PetscTryMethod(ksp, "KSPGMRESGetCGSRefinementType_C", (KSP, KSPGMRESCGSRefinementType *),
                 (ksp, &d->refines));
  if (d->refines) {
    PetscCall(PetscSNPrintf(line, sizeof line, "-ksp_gmres_cgs_refinement_type refine_%s\n",
                            refinements[d->refines]));
    PetscCall(PetscStrlcat(text, line, room));
  }
  memcpy(d->estimate, said.estimate, sizeof d->estimate);
  if (said.estimates) {
    PetscCall(PetscSNPrintf(line, sizeof line, "-ksp_chebyshev_esteig %.17g,%.17g,%.17g,%.17g\n", by[0],
                            by[1], by[2], by[3]));
    PetscCall(PetscStrlcat(text, line, room));
  }
  PetscCall(PetscOptionsGetInt(NULL, prefix, "-ksp_chebyshev_esteig_steps", &steps, &given));
  if (given && !strcmp(d->method, "chebyshev")) {
    PetscCall(PetscSNPrintf(line, sizeof line, "-ksp_chebyshev_esteig_steps %d\n", (int)steps));
    PetscCall(PetscStrlcat(text, line, room));
  }
  PetscFunctionReturn(0);
}

/* Make PETSc's method, and Poise's if there is one. */
static PetscErrorCode SetMethod(KSP ksp, const char *asked)
{
  Data *d = DataOf(ksp);
  const char *method = MethodOf(asked);
  PetscBool made;
  PetscFunctionBegin;
  if (strcmp(PetscMethodOf(asked), PetscMethodOf(d->asked))) {
    if (d->petsc_works && d->petsc.reset) PetscCall(d->petsc.reset(ksp));
    d->petsc_works = PETSC_FALSE;
    ksp->setupstage = KSP_SETUP_NEW;
    *ksp->ops = d->petsc;
    PetscTryTypeMethod(ksp, destroy);
    PetscCall(PetscMemzero(ksp->ops, sizeof *ksp->ops));
    ksp->ops->buildsolution = KSPBuildSolutionDefault;
    ksp->ops->buildresidual = KSPBuildResidualDefault;
    PetscCall(PetscMemzero(ksp->normsupporttable, sizeof ksp->normsupporttable));
    ksp->setupnewmatrix = PETSC_FALSE;
    PetscCall(MakeMethod(ksp, PetscMethodOf(asked), &made));
    PetscCheck(made, PetscObjectComm((PetscObject)ksp), PETSC_ERR_ARG_UNKNOWN_TYPE,
               "neither Poise nor PETSc has a method %s. Poise has cg prcg bicgstab gmres fgmres minres "
               "chebyshev richardson preonly",
               asked);
    d->petsc = *ksp->ops;
    d->petsc_newmatrix = ksp->setupnewmatrix;
  }
  PetscCall(PetscStrncpy(d->asked, asked, NAME));
  PetscCall(PetscStrncpy(d->method, method ? method : "", NAME));
  PetscCall(SetFunctions(ksp));
  PetscFunctionReturn(0);
}

static PetscErrorCode ReadStrict(KSP ksp, const char *prefix)
{
  static const char *const words[] = {"no", "line", "error"};
  Data *d = DataOf(ksp);
  char word[NAME];
  PetscBool given, found;
  PetscInt at = STRICT_NO;
  PetscFunctionBegin;
  PetscCall(PetscOptionsGetString(NULL, prefix, "-poise_strict", word, NAME, &given));
  if (given && *word) {
    PetscCall(PetscEListFind(3, words, word, &at, &found));
    PetscCheck(found, PetscObjectComm((PetscObject)ksp), PETSC_ERR_USER_INPUT,
               "-%spoise_strict %s: it is no, line or error", prefix ? prefix : "", word);
  }
  d->strict = given && !*word ? STRICT_LINE : (Strict)at;
  PetscFunctionReturn(0);
}

/* The options of PETSc's database, with the settings of the PC. Solvers are made anew. */
static PetscErrorCode TakeAllOptions(KSP ksp, PetscBool fresh)
{
  Data *d = DataOf(ksp);
  const char *prefix;
  char first[4096];
  PetscFunctionBegin;
  PetscCall(KSPGetOptionsPrefix(ksp, &prefix));
  PetscCall(PetscStrncpy(first, d->chosen.options, sizeof first));
  PetscCall(AddOfMethods(ksp, prefix, first, sizeof first));
  if (fresh)
    PetscCall(TakeOptions(d->ctx, prefix, first, &d->taken));
  else
    PetscCall(RenewOptions(d->taken, first));
  d->noted = PETSC_FALSE;
  for (int k = 0; k < 2; k++) PetscCall(DropEngine(&d->engine[k]));
  d->now = NULL;
  PetscFunctionReturn(0);
}

static PetscErrorCode SetFromOptions(KSP ksp, PetscOptionItems *PetscOptionsObject)
{
  Data *d = DataOf(ksp);
  const char *prefix;
  char word[NAME];
  PetscBool given, named;
  PetscFunctionBegin;
  PetscCall(ContextOf(PetscObjectComm((PetscObject)ksp), &d->ctx));
  PetscCall(KSPGetOptionsPrefix(ksp, &prefix));
  PetscCall(ReadStrict(ksp, prefix));
  PetscCall(PetscOptionsGetString(NULL, prefix, "-poise_ksp_type", word, NAME, &given));
  if (given) PetscCall(SetMethod(ksp, word));
  *ksp->ops = d->petsc;
  PetscTryTypeMethod(ksp, setfromoptions, PetscOptionsObject);
  d->petsc = *ksp->ops;
  PetscCall(SetFunctions(ksp));
  if (!ksp->pc) PetscCall(KSPGetPC(ksp, &ksp->pc));
  PetscCall(ChoosePC(ksp->pc, &d->chosen));
  PetscCall(LookForOthers(ksp, prefix));
  PetscCall(GiveBackPC(&d->lent));
  PetscCall(TakeAllOptions(ksp, PETSC_TRUE));
  d->back = PETSC_FALSE;
  ksp->setupstage = KSP_SETUP_NEW;
  /* codes ask for some of these by name, such as TAO for stcg */
  PetscCall(WantsName(ksp, &named));
  if (!*d->method || named) PetscCall(PetscObjectChangeTypeName((PetscObject)ksp, PetscMethodOf(d->asked)));
  PetscFunctionReturn(0);
}

/* ---- view and life --------------------------------------------------------------------------- */

static PetscErrorCode WriteView(void *arg)
{
  PetscFunctionBegin;
  POISE_CALL(PoiseKSPView(arg));
  PetscFunctionReturn(0);
}

static PetscErrorCode View(KSP ksp, PetscViewer viewer)
{
  Data *d = DataOf(ksp);
  const Engine *e = d->now;
  PetscBool ascii;
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(0);
  if (d->petsc_works || !*d->method) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "  method: PETSc's own %s (%s)\n", PetscMethodOf(d->asked),
                                     *d->why ? d->why : "Poise has no such method"));
    if (d->petsc.view) PetscCall(d->petsc.view(ksp, viewer));
    PetscFunctionReturn(0);
  }
  PetscCall(PetscViewerASCIIPrintf(viewer, "  method: Poise's %s", d->method));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
  PetscCall(PetscViewerASCIIPrintf(viewer, strcmp(d->asked, d->method) ? ", for %s\n" : "\n", d->asked));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  if (!e || !e->ksp) PetscFunctionReturn(0);
  PetscCall(PetscViewerASCIIPrintf(viewer, "  matrix: %s\n", OperatorWords(&e->A)));
  if (e->P.A) PetscCall(PetscViewerASCIIPrintf(viewer, "  matrix of the PC: %s\n", OperatorWords(&e->P)));
  if (e->own)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  preconditioner: Poise's own %s\n", d->chosen.type));
  else
    PetscCall(PetscViewerASCIIPrintf(viewer, "  preconditioner: PETSc's, through a shell (%s)\n",
                                     d->back ? d->because : d->chosen.because));
  PetscCall(PrintView(d->ctx, WriteView, e->ksp, viewer));
  PetscFunctionReturn(0);
}

static PetscErrorCode Reset(KSP ksp)
{
  Data *d = DataOf(ksp);
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) PetscCall(DropEngine(&d->engine[k]));
  PetscCall(GiveBackPC(&d->lent));
  PetscCall(VecDestroy(&d->r));
  PetscCall(VecDestroy(&d->z));
  d->now = NULL;
  d->back = PETSC_FALSE;
  if (d->petsc_works && d->petsc.reset) PetscCall(d->petsc.reset(ksp));
  d->petsc_works = PETSC_FALSE;
  PetscCall(SetFunctions(ksp));
  PetscFunctionReturn(0);
}

static PetscErrorCode Destroy(KSP ksp)
{
  Data *d = DataOf(ksp);
  PetscFunctionBegin;
  PetscCall(Reset(ksp));
  *ksp->ops = d->petsc;
  PetscCall(DropOptions(&d->taken));
  PetscCall(PetscFree(d));
  PetscCall(PetscObjectCompose((PetscObject)ksp, key, NULL));
  ksp->setupstage = KSP_SETUP_NEW; /* PETSc's method is not set up */
  PetscTryTypeMethod(ksp, destroy);
  PetscFunctionReturn(0);
}

/* The functions of the KSP are PETSc's, but for those in whose place Poise's work. */
static PetscErrorCode SetFunctions(KSP ksp)
{
  const Data *d = DataOf(ksp);
  PetscFunctionBegin;
  *ksp->ops = d->petsc;
  ksp->ops->setup = SetUp;
  ksp->ops->solve = Solve;
  ksp->ops->setfromoptions = SetFromOptions;
  ksp->ops->view = View;
  ksp->ops->reset = Reset;
  ksp->ops->destroy = Destroy;
  ksp->setupnewmatrix = PETSC_TRUE;
  if (d->petsc_works || !*d->method) PetscFunctionReturn(0);
  ksp->ops->buildsolution = BuildSolution;
  ksp->ops->buildresidual = KSPBuildResidualDefault;
  ksp->ops->matsolve = strcmp(d->method, "preonly") ? NULL : SolveMany;
  PetscFunctionReturn(0);
}

PetscErrorCode KeepSolve(KSP ksp, PetscErrorCode (*solve)(KSP))
{
  Data *d = DataOf(ksp);
  PetscFunctionBegin;
  if (!d || solve != Solve) PetscFunctionReturn(0);
  if (ksp->ops->solve != Solve) d->petsc.solve = ksp->ops->solve;
  ksp->ops->solve = Solve;
  PetscFunctionReturn(0);
}

PetscErrorCode KSPCreate_Poise(KSP ksp)
{
  Data *d;
  PetscContainer box;
  PetscBool taken, made;
  const char *before = ((PetscObject)ksp)->type_name; /* of the method that -ksp_type poise replaces */
  PetscFunctionBegin;
  PetscCall(TakeMethod(ksp, &taken));
  if (!taken) {
    if (before) PetscCall(MakeMethod(ksp, before, &taken));
    if (!taken) before = KSPGMRES;
    if (!taken) PetscCall(MakeMethod(ksp, before, &made));
  }
  PetscCall(PetscNew(&d));
  PetscCall(PetscContainerCreate(PetscObjectComm((PetscObject)ksp), &box));
  PetscCall(PetscContainerSetPointer(box, d));
  PetscCall(PetscObjectCompose((PetscObject)ksp, key, (PetscObject)box));
  PetscCall(PetscContainerDestroy(&box));
  PetscCall(PetscStrncpy(d->asked, before, NAME));
  d->petsc = *ksp->ops;
  d->petsc_newmatrix = ksp->setupnewmatrix;
  d->chosen.because = "-pc_type does not name it";
  PetscCall(SetMethod(ksp, before));
  PetscFunctionReturn(0);
}

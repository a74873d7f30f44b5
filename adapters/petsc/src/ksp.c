/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The KSP "poise": a solve of PETSc by a solver of Poise.

  Settings of the KSP are handed on when they are needed, not when they are made, because PETSc has no hook
  for most of them: operators, tolerances, null spaces, norm, side, guess, test and monitors. Options
  -poise_ksp_* override them. The method is that of -poise_ksp_type, else the one that the KSP had before
  -ksp_type poise, else gmres.

  A transposed solve has an engine of its own. Its matrix is MatMultTranspose, its preconditioner PETSc's.
*/
#include "plugin.h"

typedef struct Engine { /* a solver of Poise and what it works with */
  PoiseKSP ksp;
  Operator A, P;
  PetscBool own; /* the preconditioner is Poise's own */
  PetscBool tests;
  PetscReal rtol, abstol, divtol; /* as handed on */
  PetscInt max_it;
  KSPNormType norm;
  PCSide side;
} Engine;

typedef struct Data {
  PoiseContext ctx;
  Engine engine[2]; /* of A, and of A^T */
  Engine *now;      /* that of the solve that runs */
  char method[NAME], asked[NAME], prefix[NAME];
  PetscBool has_options, noted;
  Chosen chosen;
  PetscBool back; /* PETSc's PC works although Poise's own was chosen */
  char because[4 * NAME];
  LentPC lent;
  Vec r, z; /* what PCApply is called with */
  PetscInt restart;
  PetscReal scale, emax, emin; /* 0: not set */
  PetscErrorCode failed;       /* of PETSc, in a callback */
  KSPConvergedReason reason;   /* of the test */
  PetscBool pc_failed;
} Data;

/* ---- methods --------------------------------------------------------------------------------- */

/* PETSc's words for methods whose iterates are those of one of Poise. pipecg2 is none, as it looks at every
   second iteration, nor is pipegcr, which forgets directions one by one. */
static const char *const aliases[][2] = {
    {"cg", "cg"},
    {"groppcg", "cg"},
    {"pipecg", "cg"},
    {"pipeprcg", "cg"},
    {"prcg", "prcg"},
    {"bcgs", "bicgstab"},
    {"bicgstab", "bicgstab"},
    {"ibcgs", "bicgstab"},
    {"pipebcgs", "bicgstab"},
    {"gmres", "gmres"},
    {"pgmres", "gmres"},
    {"fgmres", "fgmres"},
    {"pipefgmres", "fgmres"},
    {"gcr", "fgmres"},
    {"minres", "minres"},
    {"chebyshev", "chebyshev"},
    {"richardson", "richardson"},
    {"preonly", "preonly"},
    {"none", "preonly"},
};

const char *MethodOf(const char *word)
{
  for (size_t i = 0; word && i < sizeof aliases / sizeof *aliases; i++)
    if (!strcmp(word, aliases[i][0])) return aliases[i][1];
  return NULL;
}

/* PETSc chooses norm and side by this table. These are the priorities of PETSc's own methods, as far as Poise
   offers the pair. */
static PetscErrorCode SetNorms(KSP ksp, const char *method)
{
  const PetscBool flexible = !strcmp(method, "fgmres") ? PETSC_TRUE : PETSC_FALSE;
  const PetscBool sided = !strcmp(method, "gmres") || !strcmp(method, "bicgstab") ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionBegin;
  PetscCall(PetscMemzero(ksp->normsupporttable, sizeof ksp->normsupporttable));
  if (!strcmp(method, "preonly")) { /* PETSc's takes any, and computes none */
    for (int norm = KSP_NORM_NONE; norm < KSP_NORM_MAX - 1; norm++) {
      PetscCall(KSPSetSupportedNorm(ksp, (KSPNormType)norm, PC_LEFT, norm == KSP_NORM_NONE ? 4 : 2));
      PetscCall(KSPSetSupportedNorm(ksp, (KSPNormType)norm, PC_RIGHT, norm == KSP_NORM_NONE ? 3 : 1));
    }
    PetscFunctionReturn(0);
  }
  if (!flexible) {
    PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_PRECONDITIONED, PC_LEFT, 4));
    PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_NONE, PC_LEFT, 1));
  }
  if (flexible || sided) {
    PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_UNPRECONDITIONED, PC_RIGHT, 3));
    PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_NONE, PC_RIGHT, 1));
    PetscFunctionReturn(0);
  }
  if (strcmp(method, "minres")) PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_UNPRECONDITIONED, PC_LEFT, 2));
  if (strcmp(method, "chebyshev") && strcmp(method, "richardson"))
    PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_NATURAL, PC_LEFT, 2));
  PetscFunctionReturn(0);
}

static PetscErrorCode SolveMany(KSP ksp, Mat B, Mat X);

static PetscErrorCode SetMethod(KSP ksp, const char *asked)
{
  Data *d = ksp->data;
  const char *method = MethodOf(asked);
  PetscFunctionBegin;
  PetscCheck(
      method, PetscObjectComm((PetscObject)ksp), PETSC_ERR_ARG_UNKNOWN_TYPE,
      "Poise has no method %s. It has cg prcg bicgstab gmres fgmres minres chebyshev richardson preonly",
      asked);
  PetscCall(PetscStrncpy(d->asked, asked, NAME));
  PetscCall(PetscStrncpy(d->method, method, NAME));
  PetscCall(SetNorms(ksp, method));
  ksp->ops->matsolve = strcmp(method, "preonly") ? NULL : SolveMany;
  PetscFunctionReturn(0);
}

/* ---- what the solver of Poise calls ---------------------------------------------------------- */

static PoiseErr Keep(Data *d, PetscErrorCode e)
{
  if (!e) return POISE_OK;
  d->failed = e;
  return PoiseErrorSet(POISE_ERR_USER, __func__, __FILE__, __LINE__, "PETSc says error %d", e);
}

static PetscErrorCode Tell(KSP ksp, PetscInt it, PetscReal norm)
{
  PetscFunctionBegin;
  ksp->its = it;
  ksp->rnorm = norm;
  PetscCall(KSPLogResidualHistory(ksp, norm));
  PetscCall(KSPMonitor(ksp, it, norm));
  PetscFunctionReturn(0);
}

static PoiseErr Monitor(PoiseKSP solver, PoiseInt it, double norm, void *arg)
{
  KSP ksp = arg;
  (void)solver;
  return Keep(ksp->data, Tell(ksp, (PetscInt)it, norm));
}

static PoiseErr Test(PoiseKSP solver, PoiseInt it, double norm, PoiseKSPReason *reason, void *arg)
{
  KSP ksp = arg;
  Data *d = ksp->data;
  KSPConvergedReason says = KSP_CONVERGED_ITERATING;
  (void)solver;
  ksp->its = (PetscInt)it;
  ksp->rnorm = norm;
  if (it >= ksp->chknorm) POISE_TRY(Keep(d, ksp->converged(ksp, (PetscInt)it, norm, &says, ksp->cnvP)));
  d->reason = says;
  if (says) *reason = says > 0 ? POISE_CONVERGED_USER : POISE_DIVERGED_USER;
  return POISE_OK;
}

static PetscErrorCode CallPC(void *arg, Vec r, Vec z)
{
  KSP ksp = arg;
  Data *d = ksp->data;
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
  Data *d = ksp->data;
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
  Data *d = ksp->data;
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

static PetscErrorCode SetOfMethods(KSP ksp, Engine *e)
{
  const Data *d = ksp->data;
  PetscFunctionBegin;
  if (d->restart) POISE_CALL(PoiseKSPGMRESSetRestart(e->ksp, (int)d->restart));
  if (d->scale != 0) POISE_CALL(PoiseKSPRichardsonSetScale(e->ksp, d->scale));
  if (d->emax != 0) POISE_CALL(PoiseKSPChebyshevSetEigenvalues(e->ksp, d->emax, d->emin));
  PetscFunctionReturn(0);
}

/* Hand on what has changed since the latest call, so that options of Poise stay until then. */
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
  const Data *d = ksp->data;
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

static PetscErrorCode MakeEngine(KSP ksp, Engine *e, PetscBool own)
{
  Data *d = ksp->data;
  PetscFunctionBegin;
  PetscCall(DropEngine(e));
  e->own = own;
  e->rtol = e->abstol = e->divtol = -1;
  e->max_it = -1;
  e->norm = KSP_NORM_DEFAULT;
  e->side = PC_SIDE_DEFAULT;
  POISE_CALL(PoiseKSPCreate(d->ctx, &e->ksp));
  POISE_CALL(PoiseKSPSetOptionsPrefix(e->ksp, d->prefix));
  POISE_CALL(PoiseKSPSetType(e->ksp, d->method));
  POISE_CALL(PoiseKSPAddMonitor(e->ksp, Monitor, ksp));
  PetscCall(SetOfMethods(ksp, e));
  PetscCall(SetTolerances(ksp, e));
  PetscCall(SetNormAndSide(ksp, e));
  if (own) PetscCall(SetPC(ksp, e));
  if (d->has_options) POISE_CALL(PoiseKSPSetFromOptions(e->ksp));
  if (!own) PetscCall(SetPC(ksp, e));
  PetscFunctionReturn(0);
}

/* ---- following the KSP ----------------------------------------------------------------------- */

/* Of these M is symmetric, so that it serves the transposed system too. */
static PetscBool ServesBoth(const char *type)
{
  return !strcmp(type, "none") || !strcmp(type, "jacobi") || !strcmp(type, "icc") ? PETSC_TRUE : PETSC_FALSE;
}

static PetscErrorCode GoBack(KSP ksp, const char *because)
{
  Data *d = ksp->data;
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
  Data *d = ksp->data;
  PetscBool entries;
  PetscInt rows;
  MatNullSpace space;
  PetscFunctionBegin;
  *own = d->chosen.own && !d->back ? PETSC_TRUE : PETSC_FALSE;
  if (!*own) PetscFunctionReturn(0);
  PetscCall(HasEntries(P, &entries));
  PetscCall(MatGetSize(P, &rows, NULL));
  PetscCall(MatGetNullSpace(A, &space));
  if (transposed && !ServesBoth(d->chosen.type)) {
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
  Data *d = ksp->data;
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
  Data *d = ksp->data;
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
  Data *d = ksp->data;
  Engine *e = &d->engine[transposed];
  Mat A, P;
  PetscBool own, again;
  PoisePC pc;
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
    PetscCall(SetTolerances(ksp, e));
    PetscCall(SetNormAndSide(ksp, e));
    if (own)
      PetscCall(TakePC(ksp->pc, d->ctx, &d->lent));
    else
      PetscCall(GiveBackPC(&d->lent));
    PetscCall(FollowOperators(ksp, e, A, P, transposed));
    POISE_CALL(PoiseKSPSetReusePreconditioner(e->ksp, ksp->pc->reusepreconditioner));
    if (own) {
      POISE_CALL(PoiseKSPGetPC(e->ksp, &pc));
      d->lent.poise = pc;
      PetscCall(SetUpOwn(ksp, e, &again));
      if (again) PetscCall(DropEngine(e));
    }
  } while (again);
  PetscFunctionReturn(0);
}

static PetscErrorCode SetUp(KSP ksp)
{
  PetscFunctionBegin;
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
  Data *d = ksp->data;
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
  Data *d = ksp->data;
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
  if (d->has_options && !d->noted) {
    const char *prefix;
    PetscCall(KSPGetOptionsPrefix(ksp, &prefix));
    PetscCall(NoteUsed(d->ctx, prefix, d->prefix));
    d->noted = PETSC_TRUE;
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode Solve(KSP ksp)
{
  Data *d = ksp->data;
  PCFailedReason failed = PC_NOERROR;
  PetscFunctionBegin;
  PetscCall(SetUp(ksp)); /* values may have changed without KSPSetUp */
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
  const Data *d = ksp->data;
  PetscFunctionBegin;
  PetscCall(PCMatApply(ksp->pc, B, X));
  ksp->its = 1;
  ksp->reason = d->pc_failed ? KSP_DIVERGED_PC_FAILED : KSP_CONVERGED_ITS;
  PetscFunctionReturn(0);
}

/* The solution of the latest solve; in a monitor or test the present iterate. */
static PetscErrorCode BuildSolution(KSP ksp, Vec v, Vec *V)
{
  Data *d = ksp->data;
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

/* Options of PETSc's methods that Poise's have too, under these names. */
static const char *const of_methods[][2] = {
    {"ksp_gmres_restart", "ksp_gmres_restart"},
    {"ksp_gcr_restart", "ksp_gmres_restart"},
    {"ksp_gmres_cgs_refinement_type", "ksp_gmres_cgs_refinement_type"},
    {"ksp_gmres_breakdown_tolerance", "ksp_gmres_breakdown_tolerance"},
    {"ksp_richardson_scale", "ksp_richardson_scale"},
    {"ksp_chebyshev_eigenvalues", "ksp_chebyshev_eigenvalues"},
    {"ksp_chebyshev_esteig", "ksp_chebyshev_esteig"},
    {"ksp_chebyshev_esteig_steps", "ksp_chebyshev_esteig_steps"},
};

static PetscErrorCode AddOfMethods(const char *prefix, char *text, size_t room)
{
  char name[NAME], value[NAME], line[3 * NAME];
  PetscBool given;
  PetscFunctionBegin;
  for (size_t i = 0; i < sizeof of_methods / sizeof *of_methods; i++) {
    PetscCall(PetscSNPrintf(name, sizeof name, "-%s", of_methods[i][0]));
    PetscCall(PetscOptionsGetString(NULL, prefix, name, value, sizeof value, &given));
    if (!given) continue;
    PetscCall(PetscSNPrintf(line, sizeof line, "-%s%s%s\n", of_methods[i][1], *value ? " " : "", value));
    PetscCall(PetscStrlcat(text, line, room));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode SetFromOptions(KSP ksp, PetscOptionItems *PetscOptionsObject)
{
  Data *d = ksp->data;
  const char *prefix;
  char word[NAME], first[4096];
  PetscBool given;
  (void)PetscOptionsObject;
  PetscFunctionBegin;
  PetscCall(ContextOf(PetscObjectComm((PetscObject)ksp), &d->ctx));
  PetscCall(KSPGetOptionsPrefix(ksp, &prefix));
  PetscCall(PetscOptionsGetString(NULL, prefix, "-poise_ksp_type", word, NAME, &given));
  if (given) PetscCall(SetMethod(ksp, word));
  if (!ksp->pc) PetscCall(KSPGetPC(ksp, &ksp->pc));
  PetscCall(ChoosePC(ksp->pc, &d->chosen));
  PetscCall(PetscStrncpy(first, d->chosen.options, sizeof first));
  PetscCall(AddOfMethods(prefix, first, sizeof first));
  PetscCall(TakeOptions(d->ctx, prefix, first, d->prefix));
  d->has_options = PETSC_TRUE;
  d->noted = PETSC_FALSE;
  d->back = PETSC_FALSE;
  for (int k = 0; k < 2; k++) PetscCall(DropEngine(&d->engine[k]));
  d->now = NULL;
  ksp->setupstage = KSP_SETUP_NEW;
  PetscFunctionReturn(0);
}

static PetscErrorCode SetRestart(KSP ksp, PetscInt restart)
{
  Data *d = ksp->data;
  PetscFunctionBegin;
  d->restart = restart;
  for (int k = 0; k < 2; k++)
    if (d->engine[k].ksp) PetscCall(SetOfMethods(ksp, &d->engine[k]));
  PetscFunctionReturn(0);
}

static PetscErrorCode SetScale(KSP ksp, PetscReal scale)
{
  Data *d = ksp->data;
  PetscFunctionBegin;
  d->scale = scale;
  for (int k = 0; k < 2; k++)
    if (d->engine[k].ksp) PetscCall(SetOfMethods(ksp, &d->engine[k]));
  PetscFunctionReturn(0);
}

static PetscErrorCode SetEigenvalues(KSP ksp, PetscReal emax, PetscReal emin)
{
  Data *d = ksp->data;
  PetscFunctionBegin;
  d->emax = emax;
  d->emin = emin;
  for (int k = 0; k < 2; k++)
    if (d->engine[k].ksp) PetscCall(SetOfMethods(ksp, &d->engine[k]));
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
  Data *d = ksp->data;
  const Engine *e = d->now;
  PetscBool ascii;
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(0);
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
  Data *d = ksp->data;
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) PetscCall(DropEngine(&d->engine[k]));
  PetscCall(GiveBackPC(&d->lent));
  PetscCall(VecDestroy(&d->r));
  PetscCall(VecDestroy(&d->z));
  d->now = NULL;
  d->back = PETSC_FALSE;
  PetscFunctionReturn(0);
}

static PetscErrorCode Destroy(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(Reset(ksp));
  PetscCall(PetscObjectComposeFunction((PetscObject)ksp, "KSPGMRESSetRestart_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)ksp, "KSPRichardsonSetScale_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)ksp, "KSPChebyshevSetEigenvalues_C", NULL));
  PetscCall(KSPDestroyDefault(ksp));
  PetscFunctionReturn(0);
}

PetscErrorCode KSPCreate_Poise(KSP ksp)
{
  Data *d;
  const char *before = ((PetscObject)ksp)->type_name; /* of the method that -ksp_type poise replaces */
  PetscFunctionBegin;
  PetscCall(PetscNew(&d));
  ksp->data = d;
  ksp->setupnewmatrix = PETSC_TRUE;
  PetscCall(PetscStrncpy(d->prefix, "poise_", NAME));
  d->chosen.because = "-pc_type does not name it";
  PetscCall(SetMethod(ksp, MethodOf(before) ? before : "gmres"));
  if (before) PetscCall(PetscStrncpy(d->asked, before, NAME)); /* the view says what stands for what */
  ksp->ops->setup = SetUp;
  ksp->ops->solve = Solve;
  ksp->ops->setfromoptions = SetFromOptions;
  ksp->ops->buildsolution = BuildSolution;
  ksp->ops->buildresidual = KSPBuildResidualDefault;
  ksp->ops->view = View;
  ksp->ops->reset = Reset;
  ksp->ops->destroy = Destroy;
  PetscCall(PetscObjectComposeFunction((PetscObject)ksp, "KSPGMRESSetRestart_C", SetRestart));
  PetscCall(PetscObjectComposeFunction((PetscObject)ksp, "KSPRichardsonSetScale_C", SetScale));
  PetscCall(PetscObjectComposeFunction((PetscObject)ksp, "KSPChebyshevSetEigenvalues_C", SetEigenvalues));
  PetscFunctionReturn(0);
}

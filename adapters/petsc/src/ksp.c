/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The KSP "poise": a solve of PETSc by a solver of Poise. The method is that of -poise_ksp_type, else the one
  that the KSP had before -ksp_type poise, else gmres. ksp->data is that of PETSc's method (method.c), which
  works where Poise has no such method or setting (own.c).

  A transposed solve has an engine of its own. Its matrix is MatMultTranspose, its preconditioner PETSc's.
*/
#include "solver.h"

static const char key[] = "poise_ksp";

Data *DataOf(KSP ksp)
{
  Data *d = NULL;
  return FindWith((PetscObject)ksp, key, &d) ? NULL : d;
}

PetscBool IsForPetsc(KSP ksp, const char *method)
{
  return !strcmp(PetscMethodOf(DataOf(ksp)->asked), method) ? PETSC_TRUE : PETSC_FALSE;
}

/* ---- set-up and solve ------------------------------------------------------------------------ */

static PetscErrorCode SolveMany(KSP ksp, Mat B, Mat X);
static PetscErrorCode SolvesAtOnce(KSP ksp, PetscBool *many);

/* May the PC take many right-hand sides in one call? A solve of A by nothing else is that. */
static PetscErrorCode AppliesMany(KSP ksp, PetscBool *many)
{
  const Data *d = DataOf(ksp);
  Mat A;
  MatNullSpace space;
  PetscFunctionBegin;
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  PetscCall(MatGetNullSpace(A, &space));
  *many = !strcmp(d->method, "preonly") && d->now == &d->engine[0] && !space && ksp->guess_zero ? PETSC_TRUE
                                                                                                : PETSC_FALSE;
  PetscFunctionReturn(0);
}

static PetscErrorCode SetUp(KSP ksp)
{
  PetscBool many = PETSC_FALSE;
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
  PetscCall(WhyPetsc(ksp, why)); /* which preconditioner works is known now */
  if (*why) {
    PetscCall(UsePetsc(ksp, why));
    PetscFunctionReturn(0);
  }
  PetscCall(AppliesMany(ksp, &many));
  if (!many) PetscCall(SolvesAtOnce(ksp, &many));
  ksp->ops->matsolve = many ? SolveMany : NULL; /* then PETSc calls KSPSolve for each column */
  PetscFunctionReturn(0);
}

/* Does PETSc's default test do what Poise's does? It is called too where a monitor looks at iterates: a
   device then waits for the host at each. */
static PetscErrorCode SetTest(KSP ksp, Engine *e)
{
  PetscErrorCode (*const test)(KSP, PetscInt, PetscReal, KSPConvergedReason *, void *) =
      IsForPetsc(ksp, KSPLSQR) ? KSPLSQRConvergedDefault : KSPConvergedDefault;
  const KSPConvergedDefaultCtx *with = ksp->cnvP;
  PetscInt least;
  PetscBool usual = ksp->converged == test && ksp->chknorm <= 0 && !e->exact ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionBegin;
  if (HasLookingMonitor(ksp) || LooksAtPairs(ksp)) usual = PETSC_FALSE;
  if (usual && with && (with->initialrtol || with->mininitialrtol || with->convmaxits)) usual = PETSC_FALSE;
  PetscCall(LeastIterations(ksp, &least));
  if (least > 0) usual = PETSC_FALSE;
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
      strcmp(d->method, "preonly") && strcmp(d->method, "richardson") && strcmp(d->method, "gcr"))
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
  Vec rhs = ksp->vec_rhs, sol = ksp->vec_sol;
  Lent b, x;
  PetscFunctionBegin;
  if (e->split) PetscCall(SplitBegin(ksp, &rhs, &sol));
  PetscCall(LendVec(d->ctx, rhs, PETSC_FALSE, &b));
  PetscCall(LendVec(d->ctx, sol, PETSC_TRUE, &x));
  POISE_CALL(PoiseKSPSetInitialGuessNonzero(e->ksp, !ksp->guess_zero));
  const PoiseErr err = PoiseKSPSolve(e->ksp, b.poise, x.poise);
  PetscCall(EndLend(&x));
  PetscCall(EndLend(&b));
  if (d->failed) PetscFunctionReturn(d->failed); /* PETSc has already said what */
  if (e->A.failed) PetscFunctionReturn(e->A.failed);
  POISE_CALL(err);
  if (e->split) PetscCall(SplitSolution(ksp, sol, ksp->vec_sol));
  ksp->its = (PetscInt)PoiseKSPIterations(e->ksp);
  ksp->rnorm = PoiseKSPResidualNorm(e->ksp);
  PetscCall(SetReason(ksp, e));
  PetscCall(EndLSQR(ksp, e));
  if (d->taken && !d->noted) PetscCall(NoteUsed(d->taken));
  d->noted = PETSC_TRUE;
  PetscFunctionReturn(0);
}

/* Has the set-up of the preconditioner failed, on any rank? PETSc's own may know it on one alone. KSPSetUp of
   PETSc 3.18 leaves its set-up for new values to PCApply. */
static PetscErrorCode HasFailed(KSP ksp, PetscBool *failed)
{
  const Data *d = DataOf(ksp);
  PCFailedReason reason = PC_NOERROR;
  PetscFunctionBegin;
  if (!d->now->own) {
    PetscCall(PCSetUp(ksp->pc));
    PetscCall(PCGetFailedReason(ksp->pc, &reason));
  }
  int any = d->pc_failed || reason;
  if (!d->now->own)
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)ksp)));
  *failed = any ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(0);
}

static PetscErrorCode Solve(KSP ksp)
{
  Data *d = DataOf(ksp);
  PetscBool failed = PETSC_FALSE;
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
  PetscCall(HasFailed(ksp, &failed));
  if (failed) {
    ksp->reason = KSP_DIVERGED_PC_FAILED;
    PetscFunctionReturn(0);
  }
  PetscCall(PrepareLSQR(ksp, e));
  PetscCall(SetTest(ksp, e));
  PetscCall(Run(ksp, e));
  PetscFunctionReturn(0);
}

/* ---- many right-hand sides ------------------------------------------------------------------- */

enum { AT_ONCE = 32 }; /* columns of a vector of Poise, at most */

/* Is the solve one of Poise alone, which nobody watches or tests? */
static PetscErrorCode SolvesAtOnce(KSP ksp, PetscBool *many)
{
  const Data *d = DataOf(ksp);
  Engine *e = d->now;
  Mat A;
  MatNullSpace space;
  PetscFunctionBegin;
  *many = PETSC_FALSE;
  if (!e->own || e != &d->engine[0] || ksp->numbermonitors || !strcmp(d->method, "preonly") ||
      IsForPetsc(ksp, KSPLSQR) || ksp->calc_sings || ksp->calc_ritz)
    PetscFunctionReturn(0);
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  PetscCall(MatGetNullSpace(A, &space));
  PetscCall(SetTest(ksp, e));
  *many = e->tests || space ? PETSC_FALSE : PETSC_TRUE;
  PetscFunctionReturn(0);
}

/* Columns from `first` on, of a dense matrix, are those of a vector of Poise; or the other way. They stay on
   the GPU if they are there. */
static PetscErrorCode CopyColumns(PoiseContext ctx, Mat M, PetscInt first, PetscBool back, PoiseVec v)
{
  PetscErrorCode (*const get)(Mat, PetscInt, Vec *) =
      back ? MatDenseGetColumnVecWrite : MatDenseGetColumnVecRead;
  PetscErrorCode (*const restore)(Mat, PetscInt, Vec *) =
      back ? MatDenseRestoreColumnVecWrite : MatDenseRestoreColumnVecRead;
  PetscFunctionBegin;
  for (int j = 0; j < PoiseVecColumns(v); j++) {
    Vec column;
    Lent lent;
    PetscCall(get(M, first + j, &column));
    PetscCall(LendVec(ctx, column, back, &lent));
    POISE_CALL(back ? PoiseVecGetColumn(v, j, lent.poise) : PoiseVecSetColumn(v, j, lent.poise));
    PetscCall(EndLend(&lent));
    PetscCall(restore(M, first + j, &column));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode RunColumns(KSP ksp, Engine *e, Mat B, Mat X, PetscInt first, int count)
{
  const Data *d = DataOf(ksp);
  PetscInt n, N;
  PoiseVec b, x;
  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(B, &n, NULL));
  PetscCall(MatGetSize(B, &N, NULL));
  POISE_CALL(PoiseVecCreateBlock(d->ctx, n, N, count, &b));
  POISE_CALL(PoiseVecCreateBlock(d->ctx, n, N, count, &x));
  PetscCall(CopyColumns(d->ctx, B, first, PETSC_FALSE, b));
  if (!ksp->guess_zero) PetscCall(CopyColumns(d->ctx, X, first, PETSC_FALSE, x));
  POISE_CALL(PoiseKSPSetInitialGuessNonzero(e->ksp, !ksp->guess_zero));
  POISE_CALL(PoiseKSPKeepHistory(e->ksp, ksp->res_hist != NULL));
  const PoiseErr err = PoiseKSPSolveBlock(e->ksp, b, x);
  if (d->failed) PetscFunctionReturn(d->failed); /* PETSc has already said what */
  if (e->A.failed) PetscFunctionReturn(e->A.failed);
  POISE_CALL(err);
  PetscCall(CopyColumns(d->ctx, X, first, PETSC_TRUE, x));
  POISE_CALL(PoiseVecDestroy(&b));
  POISE_CALL(PoiseVecDestroy(&x));
  PetscFunctionReturn(0);
}

/* As solves of one column after the other keep them. */
static PetscErrorCode KeepHistories(KSP ksp, const Engine *e, int count)
{
  PetscFunctionBegin;
  for (int j = 0; j < count && ksp->res_hist; j++) {
    const double *norms;
    PoiseInt n;
    if (ksp->res_hist_reset) ksp->res_hist_len = 0;
    POISE_CALL(PoiseKSPColumnHistory(e->ksp, j, &n, &norms));
    for (PoiseInt k = 0; k < n; k++) PetscCall(KSPLogResidualHistory(ksp, norms[k]));
  }
  PetscFunctionReturn(0);
}

/* What is said of the solve is the least reason, and the most iterations. */
static PetscErrorCode RunMany(KSP ksp, Engine *e, Mat B, Mat X)
{
  Data *d = DataOf(ksp);
  KSPConvergedReason reason = KSP_CONVERGED_ITERATING;
  PetscInt columns;
  PetscFunctionBegin;
  PetscCall(MatGetSize(B, NULL, &columns));
  ksp->its = 0;
  ksp->rnorm = 0;
  for (PetscInt first = 0; first < columns; first += AT_ONCE) {
    const int count = (int)PetscMin(columns - first, AT_ONCE);
    PetscCall(RunColumns(ksp, e, B, X, first, count));
    PetscCall(KeepHistories(ksp, e, count));
    ksp->its = PetscMax(ksp->its, (PetscInt)PoiseKSPIterations(e->ksp));
    ksp->rnorm = PetscMax(ksp->rnorm, PoiseKSPResidualNorm(e->ksp));
    PetscCall(SetReason(ksp, e));
    if (!first || ksp->reason < reason) reason = ksp->reason;
  }
  ksp->reason = reason;
  if (d->taken && !d->noted) PetscCall(NoteUsed(d->taken));
  d->noted = PETSC_TRUE;
  PetscFunctionReturn(0);
}

static PetscErrorCode SolveColumns(KSP ksp, Mat B, Mat X)
{
  PetscErrorCode (*const solve)(KSP, Vec, Vec) = ksp->transpose_solve ? KSPSolveTranspose : KSPSolve;
  PetscInt n;
  Vec b, x;
  PetscFunctionBegin;
  PetscCall(MatGetSize(B, NULL, &n));
  for (PetscInt j = 0; j < n; j++) {
    PetscCall(MatDenseGetColumnVecRead(B, j, &b));
    PetscCall(MatDenseGetColumnVec(X, j, &x));
    PetscCall(solve(ksp, b, x));
    PetscCall(MatDenseRestoreColumnVec(X, j, &x));
    PetscCall(MatDenseRestoreColumnVecRead(B, j, &b));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode SolveMany(KSP ksp, Mat B, Mat X)
{
  PetscBool failed = PETSC_FALSE;
  PetscFunctionBegin;
  PetscCall(SetUp(ksp)); /* settings, values or the direction may have changed without KSPSetUp */
  if (ksp->ops->matsolve != SolveMany) {
    PetscCall(SolveColumns(ksp, B, X));
    PetscFunctionReturn(0);
  }
  PetscCall(HasFailed(ksp, &failed));
  if (!failed && strcmp(DataOf(ksp)->method, "preonly")) {
    PetscCall(RunMany(ksp, DataOf(ksp)->now, B, X));
    PetscFunctionReturn(0);
  }
  if (!failed) {
    PetscCall(PCMatApply(ksp->pc, B, X));
    PetscCall(HasFailed(ksp, &failed)); /* some know it then */
  }
  ksp->its = failed ? 0 : 1;
  ksp->reason = failed ? KSP_DIVERGED_PC_FAILED : KSP_CONVERGED_ITS;
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
  if (d->now->split) PetscCall(SplitSolution(ksp, v, v));
  *V = v;
  PetscFunctionReturn(0);
}

/* PETSc's are 1 before the first iteration. */
static PetscErrorCode ComputeExtremes(KSP ksp, PetscReal *largest, PetscReal *least)
{
  const Data *d = DataOf(ksp);
  PetscFunctionBegin;
  POISE_CALL(PoiseKSPComputeExtremeSingularValues(d->now->ksp, largest, least));
  if (*largest < 0) *largest = *least = 1;
  PetscFunctionReturn(0);
}

static PetscErrorCode ComputeEigenvalues(KSP ksp, PetscInt n, PetscReal *real, PetscReal *imaginary,
                                         PetscInt *count)
{
  const Data *d = DataOf(ksp);
  PoiseInt all = 0;
  PetscFunctionBegin;
  POISE_CALL(PoiseKSPComputeEigenvalues(d->now->ksp, n, real, imaginary, &all));
  PetscCheck(all <= n, PetscObjectComm((PetscObject)ksp), PETSC_ERR_ARG_SIZ,
             "there are %lld eigenvalues, and the arrays are for %lld", (long long)all, (long long)n);
  *count = (PetscInt)all;
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
    PetscCall(PetscViewerASCIIPrintf(viewer, "  preconditioner: Poise's own %s%s\n", d->chosen.type,
                                     d->chosen.levels   ? ", with the levels of PETSc's"
                                     : d->chosen.native ? ", for gamg"
                                                        : ""));
  else if (IgnoresPC(ksp))
    PetscCall(PetscViewerASCIIPrintf(viewer, "  preconditioner: none, as PETSc's %s\n", d->method));
  else if (e->split)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  preconditioner: PETSc's, from both sides\n"));
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
  PetscCall(VecDestroy(&d->w));
  PetscCall(MatDestroy(&d->split));
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

PetscErrorCode SetFunctions(KSP ksp)
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
  ksp->setupnewmatrix = d->petsc_newmatrix || TOGETHER ? PETSC_TRUE : PETSC_FALSE;
  if (d->petsc_works || !*d->method) PetscFunctionReturn(0);
  ksp->setupnewmatrix = TOGETHER ? PETSC_TRUE : PETSC_FALSE; /* Solve looks itself */
  ksp->ops->buildsolution = BuildSolution;
  ksp->ops->buildresidual = KSPBuildResidualDefault;
  if (HasSpectrum(d->method)) {
    ksp->ops->computeextremesingularvalues = ComputeExtremes;
    ksp->ops->computeeigenvalues = ComputeEigenvalues;
  }
  if (!strcmp(d->method, "gmres")) ksp->ops->computeritz = ComputeRitz;
  ksp->ops->matsolve = NULL;
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
  PetscBool taken, has;
  const char *before = ((PetscObject)ksp)->type_name; /* of the method that -ksp_type poise replaces */
  PetscFunctionBegin;
  PetscCall(TakeMethod(ksp, &taken));
  if (!taken) {
    PetscCall(HasMethod(before ? before : "", &has));
    if (!has) before = KSPGMRES;
    PetscCall(MakeMethod(ksp, before));
  }
  PetscCall(PetscNew(&d));
  PetscCall(KeepWith((PetscObject)ksp, key, d, PETSC_FALSE));
  PetscCall(PetscStrncpy(d->asked, before, NAME));
  d->petsc = *ksp->ops;
  d->petsc_newmatrix = ksp->setupnewmatrix;
  d->chosen.because = "-pc_type does not name it";
  PetscCall(SetMethod(ksp, before));
  PetscFunctionReturn(0);
}

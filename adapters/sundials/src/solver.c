/* SPDX-License-Identifier: BSD-3-Clause */
/*
  SUNLinearSolver_Poise. A solve is a loop of corrections: A d = r by a KSP from a zero guess, x += d,
  r = b - A x. It ends when the norm in which SUNDIALS gives its tolerance, |S1 r|_2, is small enough.
  Scaling the equations instead would need a copy of A for each solve, as the weights of integrators change
  with every step; and scaled equations are not symmetric where A is. A pass asks for the relative reduction
  that is missing, which is the same number in any norm if r keeps its shape. So one pass is the rule.
*/
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "adapter.h"

/* How much less than the tolerance a pass aims at, so that rounding does not cost another pass. */
#define AIM 0.9
/* A pass asks for no more than this, which the recurrences of all methods can deliver. */
#define STRICTEST 1e-12
/* A pass as strict as that which leaves more than this of the norm is the last. */
#define LEAST_PROGRESS 0.9
/* How much stricter than before a pass is, at least. */
#define GROWTH 4

typedef struct Solver {
  PoiseContext ctx;
  PoiseKSP ksp;
  Sparse sparse;   /* what is lent, if the matrix is a SUNSparseMatrix */
  SUNMatrix setup; /* the matrix of the latest set-up that succeeded; NULL: none */
  PoiseMat A;      /* lent: this matrix */
  PoiseVec r, d;   /* residual, correction */
  N_Vector s1;     /* lent; NULL: ones */
  N_Vector resid;
  int has_options, zero_guess;
  int iterations, flag;
  double norm; /* |S1 r| */
} Solver;

/* ---- errors ---------------------------------------------------------------------------------- */

enum { WORST_REMOTE, WORST_NUMERIC, WORST_INPUT, WORST_MEMORY, WORST_OTHER };

static double SeverityOf(PoiseErr e)
{
  switch (e) {
  case POISE_ERR_REMOTE:
    return WORST_REMOTE;
  case POISE_ERR_NUMERIC:
    return WORST_NUMERIC;
  case POISE_ERR_ARG:
  case POISE_ERR_SIZE:
  case POISE_ERR_STATE:
  case POISE_ERR_OPTION:
  case POISE_ERR_UNSUPPORTED:
    return WORST_INPUT;
  case POISE_ERR_MEMORY:
    return WORST_MEMORY;
  default:
    return WORST_OTHER;
  }
}

/* The flag of an error that all ranks have, the same on all. A rank whose own part went well knows only that
   another one failed, so the worst severity counts. */
static int FlagOf(PoiseContext ctx, PoiseErr e, int numeric)
{
  double worst = SeverityOf(e);
  if (e == POISE_OK) return SUNLS_SUCCESS;
  if (PoiseMax(ctx, 1, &worst)) return SUNLS_PACKAGE_FAIL_UNREC;
  switch ((int)worst) {
  case WORST_NUMERIC:
    return numeric;
  case WORST_INPUT:
    return SUNLS_ILL_INPUT;
  case WORST_MEMORY:
    return SUNLS_MEM_FAIL;
  default:
    return SUNLS_PACKAGE_FAIL_UNREC;
  }
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static PoiseErr ReadOptions(Solver *s)
{
  if (s->has_options) return POISE_OK;
  POISE_TRY(PoiseKSPSetFromOptions(s->ksp));
  s->has_options = 1;
  return POISE_OK;
}

/* Vectors of the layout of A. */
static PoiseErr MakeVectors(Solver *s)
{
  PoiseInt n;
  PoiseMatLocalSizes(s->A, &n, NULL);
  const double other = !s->d || PoiseVecLocalSize(s->d) != n;
  double any = other;
  POISE_TRY(PoiseMax(s->ctx, 1, &any));
  if (any == 0) return POISE_OK;
  PoiseVecDestroy(&s->r);
  PoiseVecDestroy(&s->d);
  POISE_TRY(PoiseMatCreateVecs(s->A, &s->r, &s->d));
  return POISE_OK;
}

static PoiseErr SetUp(Solver *s, SUNMatrix M)
{
  Sparse old = {0};
  int fresh = 0;
  s->setup = NULL;
  if (!M) POISE_FAIL(POISE_ERR_ARG, "there is no SUNMatrix: this solver needs one");
  POISE_TRY(ReadOptions(s));
  if (SUNMatrix_Poise_Mat(M)) {
    s->A = SUNMatrix_Poise_Mat(M);
    if (PoiseMatContext(s->A) != s->ctx)
      POISE_FAIL(POISE_ERR_ARG, "the SUNMatrix_Poise is of another context than the solver");
  } else if (M->ops->getid && SUNMatGetID(M) == SUNMATRIX_SPARSE) {
    POISE_TRY(FollowSparse(s->ctx, M, &s->sparse, &old, &fresh));
    s->A = s->sparse.A;
  } else {
    POISE_FAIL(POISE_ERR_UNSUPPORTED, "a matrix of kind %s: it can be SUNSparseMatrix or SUNMatrix_Poise",
               MatrixWords(M));
  }
  const PoiseErr e = PoiseKSPSetOperators(s->ksp, s->A, NULL);
  DropSparse(&old);
  POISE_TRY(e);
  POISE_TRY(MakeVectors(s));
  POISE_TRY(PoiseKSPSetUp(s->ksp));
  s->setup = M;
  return POISE_OK;
}

/* ---- solve ----------------------------------------------------------------------------------- */

typedef struct Given {
  PoiseVec x, b, s1; /* s1 may be NULL */
} Given;

static PoiseErr Lend(Solver *s, SUNMatrix M, N_Vector x, N_Vector b, Given *g)
{
  PoiseInt n, N;
  if (!s->setup || M != s->setup)
    POISE_FAIL(POISE_ERR_STATE, "the matrix of this solve has not been set up (SUNLinSolSetup)");
  PoiseMatLocalSizes(s->A, &n, NULL);
  PoiseMatSizes(s->A, &N, NULL);
  POISE_TRY(LendVector(s->ctx, x, n, N, &g->x));
  POISE_TRY(LendVector(s->ctx, b, n, N, &g->b));
  if (s->s1) POISE_TRY(LendVector(s->ctx, s->s1, n, N, &g->s1));
  return POISE_OK;
}

/* The norm of the residual in r; d is work space. */
static PoiseErr Measure(Solver *s, const Given *g)
{
  if (g->s1) POISE_TRY(PoiseVecPointwiseMult(s->d, g->s1, s->r));
  POISE_TRY(PoiseVecNorm(g->s1 ? s->d : s->r, POISE_NORM_2, &s->norm));
  return POISE_OK;
}

static PoiseErr Begin(Solver *s, const Given *g)
{
  if (s->zero_guess) {
    POISE_TRY(PoiseVecSet(g->x, 0));
    POISE_TRY(PoiseVecCopy(g->b, s->r));
  } else {
    POISE_TRY(PoiseMatResidual(s->A, g->b, g->x, s->r));
  }
  POISE_TRY(Measure(s, g));
  return POISE_OK;
}

/* One correction, by a solve with this relative tolerance. */
static PoiseErr Correct(Solver *s, const Given *g, double rtol, PoiseKSPReason *reason)
{
  POISE_TRY(PoiseKSPSetTolerances(s->ksp, rtol, 0, -1, -1));
  POISE_TRY(PoiseKSPSolve(s->ksp, s->r, s->d));
  s->iterations += (int)PoiseKSPIterations(s->ksp);
  *reason = PoiseKSPConvergedReason(s->ksp);
  if (*reason == POISE_DIVERGED_NANORINF)
    POISE_FAIL(POISE_ERR_NUMERIC, "the solve met a number that is not finite. %s",
               PoiseKSPReasonDetail(s->ksp));
  POISE_TRY(PoiseVecAXPY(g->x, 1, s->d));
  POISE_TRY(PoiseMatResidual(s->A, g->b, g->x, s->r));
  POISE_TRY(Measure(s, g));
  return POISE_OK;
}

/* Corrections until the norm is small enough. A method reduces its own norm. Where entries of S1 differ much,
   |S1 r| may follow late, or rise before it falls. How late is seen in the first pass and asked for from the
   next one on, at least GROWTH more each time. So there are few passes. */
static PoiseErr Refine(Solver *s, const Given *g, double tol)
{
  PoiseKSPReason reason = POISE_ITERATING;
  double late = 1, before = INFINITY, rtol = 1;
  while (s->norm > tol && reason >= 0 && (rtol > STRICTEST || s->norm <= LEAST_PROGRESS * before)) {
    before = s->norm;
    rtol = fmax(AIM * tol / (s->norm * late), STRICTEST);
    POISE_TRY(Correct(s, g, rtol, &reason));
    late = fmax(GROWTH * late, s->norm / (before * rtol));
  }
  return POISE_OK;
}

static PoiseErr SolveGiven(Solver *s, const Given *g, double tol, int *flag)
{
  POISE_TRY(Begin(s, g));
  const double start = s->norm;
  POISE_TRY(Refine(s, g, tol));
  if (!isfinite(s->norm) || !isfinite(tol))
    POISE_FAIL(POISE_ERR_NUMERIC, "the norm of b - A x is %g, the tolerance %g", s->norm, tol);
  *flag = SUNLS_SUCCESS;
  if (s->norm > tol) *flag = s->norm < start ? SUNLS_RES_REDUCED : SUNLS_CONV_FAIL;
  return POISE_OK;
}

/* ---- the operations of a SUNLinearSolver ----------------------------------------------------- */

static SUNLinearSolver_Type GetType_Poise(SUNLinearSolver S)
{
  (void)S;
  return SUNLINEARSOLVER_MATRIX_ITERATIVE;
}

static SUNLinearSolver_ID GetID_Poise(SUNLinearSolver S)
{
  (void)S;
  return SUNLINEARSOLVER_CUSTOM;
}

static int SetScalingVectors_Poise(SUNLinearSolver S, N_Vector s1, N_Vector s2)
{
  Solver *s = S->content;
  (void)s2;
  s->s1 = s1;
  return s->flag = SUNLS_SUCCESS;
}

static int SetZeroGuess_Poise(SUNLinearSolver S, booleantype on)
{
  Solver *s = S->content;
  s->zero_guess = on;
  return s->flag = SUNLS_SUCCESS;
}

static int Initialize_Poise(SUNLinearSolver S)
{
  Solver *s = S->content;
  return s->flag = FlagOf(s->ctx, ReadOptions(s), SUNLS_ILL_INPUT);
}

static int Setup_Poise(SUNLinearSolver S, SUNMatrix A)
{
  Solver *s = S->content;
  return s->flag = FlagOf(s->ctx, SetUp(s, A), SUNLS_LUFACT_FAIL);
}

static int Solve_Poise(SUNLinearSolver S, SUNMatrix A, N_Vector x, N_Vector b, realtype tol)
{
  Solver *s = S->content;
  Given g = {0};
  int flag = SUNLS_SUCCESS;
  s->iterations = 0;
  s->norm = 0;
  PoiseErr e = Lend(s, A, x, b, &g);
  if (!e) e = SolveGiven(s, &g, tol, &flag);
  PoiseVecDestroy(&g.x);
  PoiseVecDestroy(&g.b);
  PoiseVecDestroy(&g.s1);
  s->zero_guess = 0; /* SUNDIALS sets it for each solve */
  return s->flag = e ? FlagOf(s->ctx, e, SUNLS_PACKAGE_FAIL_REC) : flag;
}

static int NumIters_Poise(SUNLinearSolver S)
{
  return ((Solver *)S->content)->iterations;
}

static realtype ResNorm_Poise(SUNLinearSolver S)
{
  return ((Solver *)S->content)->norm;
}

static sunindextype LastFlag_Poise(SUNLinearSolver S)
{
  return ((Solver *)S->content)->flag;
}

/* A copy: integrators take it in place of x after a solve without iterations. */
static N_Vector Resid_Poise(SUNLinearSolver S)
{
  Solver *s = S->content;
  const double *r = NULL;
  if (!s->r || PoiseVecGetRead(s->r, &r)) return NULL;
  memcpy(N_VGetArrayPointer(s->resid), r, (size_t)PoiseVecLocalSize(s->r) * sizeof *r);
  PoiseVecRestore(s->r, &r);
  return s->resid;
}

/* All bytes of this rank beside the matrix, as if they were reals. */
static int Space_Poise(SUNLinearSolver S, long int *reals, long int *integers)
{
  Solver *s = S->content;
  PoiseBytes k = {0}, p = {0};
  PoisePC pc = NULL;
  PoiseErr e = PoiseKSPBytes(s->ksp, &k);
  if (!e) e = PoiseKSPGetPC(s->ksp, &pc);
  if (!e) e = PoisePCBytes(pc, &p);
  *reals = (long)((k.host + k.device + p.host + p.device) / (int64_t)sizeof(realtype));
  *integers = 0;
  return s->flag = e ? SUNLS_ILL_INPUT : SUNLS_SUCCESS;
}

static void DropSolver(Solver *s)
{
  PoiseVecDestroy(&s->r);
  PoiseVecDestroy(&s->d);
  PoiseKSPDestroy(&s->ksp);
  DropSparse(&s->sparse);
  if (s->resid) N_VDestroy(s->resid);
  free(s);
}

static int Free_Poise(SUNLinearSolver S)
{
  if (!S) return SUNLS_SUCCESS;
  if (S->content) DropSolver(S->content);
  S->content = NULL;
  SUNLinSolFreeEmpty(S);
  return SUNLS_SUCCESS;
}

static PoiseErr MakeKSP(PoiseContext ctx, PoiseKSP *ksp)
{
  PoisePC pc = NULL;
  POISE_TRY(PoiseKSPCreate(ctx, ksp));
  POISE_TRY(PoiseKSPGetPC(*ksp, &pc));
  POISE_TRY(PoisePCSetType(pc, "ilu"));
  POISE_TRY(PoiseKSPSetVerify(*ksp, 0)); /* each pass is measured */
  return POISE_OK;
}

/* What a rank does by itself. */
static PoiseErr MakeParts(PoiseContext ctx, N_Vector y, SUNMatrix A, SUNLinearSolver S, Solver *s)
{
  if (!S || !s)
    POISE_FAIL(POISE_ERR_MEMORY, "out of memory, or SUNDIALS made no solver without a SUNContext");
  if (!A) POISE_FAIL(POISE_ERR_ARG, "there is no SUNMatrix: this solver needs one");
  POISE_TRY(CheckKind(ctx, y));
  s->resid = y->ops->nvclone(y); /* N_VClone follows NULL where memory has run out */
  if (!s->resid) POISE_FAIL(POISE_ERR_MEMORY, "out of memory: a vector like y");
  return POISE_OK;
}

SUNLinearSolver SUNLinearSolver_Poise(PoiseContext ctx, N_Vector y, SUNMatrix A, SUNContext sunctx)
{
  SUNLinearSolver S = SUNLinSolNewEmpty(sunctx);
  Solver *s = calloc(1, sizeof *s);
  PoiseErr e = PoiseAgree(ctx, MakeParts(ctx, y, A, S, s));
  if (!e) e = MakeKSP(ctx, &s->ksp);
  if (e) {
    if (s) DropSolver(s);
    if (S) SUNLinSolFreeEmpty(S);
    return NULL;
  }
  s->ctx = ctx;
  S->content = s;
  S->ops->gettype = GetType_Poise;
  S->ops->getid = GetID_Poise;
  S->ops->setscalingvectors = SetScalingVectors_Poise;
  S->ops->setzeroguess = SetZeroGuess_Poise;
  S->ops->initialize = Initialize_Poise;
  S->ops->setup = Setup_Poise;
  S->ops->solve = Solve_Poise;
  S->ops->numiters = NumIters_Poise;
  S->ops->resnorm = ResNorm_Poise;
  S->ops->lastflag = LastFlag_Poise;
  S->ops->space = Space_Poise;
  S->ops->resid = Resid_Poise;
  S->ops->free = Free_Poise;
  return S;
}

PoiseKSP SUNLinearSolver_Poise_KSP(SUNLinearSolver S)
{
  return S && S->ops && S->ops->free == Free_Poise ? ((Solver *)S->content)->ksp : NULL;
}

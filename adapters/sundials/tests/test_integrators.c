/* SPDX-License-Identifier: BSD-3-Clause */
/*
  CVODE, ARKODE, KINSOL and IDA with linear solves by Poise, on

    u_t = L u - u^3 + g(t),    u_i(t) = cos(t) sin(pi x_i)    is the solution

  where L is the matrix of second differences, and g is made for it. So the error is that of the integrator
  alone. The same is solved with SUNDIALS' band matrix and solver, on each rank by itself, to compare counts.
*/
#include <arkode/arkode_arkstep.h>
#include <cvode/cvode.h>
#include <ida/ida.h>
#include <kinsol/kinsol.h>
#include <sunlinsol/sunlinsol_band.h>
#include <sunmatrix/sunmatrix_band.h>

#include "test.h"

enum { N = 50 };
#define PI 3.14159265358979323846

typedef enum Kind { BAND, SPARSE, PARALLEL } Kind;

typedef struct Problem {
  const Case *c;
  Kind kind;
  PoiseInt first, rows;
  SUNMatrix L, J;
  N_Vector y, yp;
  SUNLinearSolver S;
  int wrong_values; /* how many of the next Jacobians have a NaN */
} Problem;

/* What an integrator says of its work. */
typedef struct Counts {
  long steps, newton, linear;
  double error;
} Counts;

static double Mode(PoiseInt i)
{
  return sin(PI * (double)(i + 1) / (N + 1));
}

static double Eigenvalue(void)
{
  const double h = 1. / (N + 1), s = sin(PI * h / 2);
  return -4 * s * s / (h * h);
}

/* ---- functions of the problem ---------------------------------------------------------------- */

static PoiseErr FillPoise(Problem *p, PoiseMat *A)
{
  const double w = (N + 1) * (N + 1);
  POISE_TRY(PoiseMatCreate(p->c->ctx, p->rows, p->rows, N, N, A));
  for (PoiseInt i = p->first; i < p->first + p->rows; i++) {
    const PoiseInt row[3] = {i, i, i}, col[3] = {i - 1, i, i < N - 1 ? i + 1 : -1};
    POISE_TRY(PoiseMatSetEntries(*A, 3, row, col, (double[3]){w, -2 * w, w}));
  }
  POISE_TRY(PoiseMatAssemble(*A));
  return POISE_OK;
}

static SUNMatrix MakeL(Problem *p)
{
  const double w = (N + 1) * (N + 1);
  if (p->kind == PARALLEL) {
    PoiseMat A = NULL;
    return CHECK(!FillPoise(p, &A)) ? SUNMatrix_Poise(A, p->c->sun) : NULL;
  }
  double dense[N * N] = {0};
  for (int i = 0; i < N; i++)
    for (int j = i ? i - 1 : 0; j <= i + 1 && j < N; j++) dense[i * N + j] = i == j ? -2 * w : w;
  if (p->kind == SPARSE) return SparseOf(p->c, N, dense);
  SUNMatrix A = SUNBandMatrix(N, 1, 1, p->c->sun);
  for (int i = 0; i < N; i++)
    for (int j = i ? i - 1 : 0; j <= i + 1 && j < N; j++) SM_ELEMENT_B(A, i, j) = dense[i * N + j];
  return A;
}

static int F(realtype t, N_Vector y, N_Vector f, void *arg)
{
  const Problem *p = arg;
  if (SUNMatMatvec(p->L, y, f)) return -1;
  const double *u = N_VGetArrayPointer(y);
  double *v = N_VGetArrayPointer(f);
  for (PoiseInt i = 0; i < p->rows; i++) {
    const double s = Mode(p->first + i), exact = cos(t) * s;
    v[i] += -u[i] * u[i] * u[i] - sin(t) * s - Eigenvalue() * exact + exact * exact * exact;
  }
  return 0;
}

/* J_ii += v */
static PoiseErr AddDiagonal(const Problem *p, SUNMatrix J, PoiseInt i, double v)
{
  const PoiseInt row = p->first + i;
  sunindextype k = 0;
  switch (p->kind) {
  case PARALLEL:
    POISE_TRY(PoiseMatAddEntries(SUNMatrix_Poise_Mat(J), 1, &row, &row, &v));
    break;
  case SPARSE:
    for (k = SM_INDEXPTRS_S(J)[i]; SM_INDEXVALS_S(J)[k] != i; k++) continue;
    SM_DATA_S(J)[k] += v;
    break;
  case BAND:
    SM_ELEMENT_B(J, i, i) += v;
    break;
  }
  return POISE_OK;
}

static int Jac(realtype t, N_Vector y, N_Vector f, SUNMatrix J, void *arg, N_Vector w1, N_Vector w2,
               N_Vector w3)
{
  Problem *p = arg;
  (void)t, (void)f, (void)w1, (void)w2, (void)w3;
  if (SUNMatCopy(p->L, J)) return -1;
  const double *u = N_VGetArrayPointer(y);
  for (PoiseInt i = 0; i < p->rows; i++)
    if (AddDiagonal(p, J, i, -3 * u[i] * u[i])) return -1;
  if (p->wrong_values > 0) {
    p->wrong_values--;
    if (p->first == 0 && AddDiagonal(p, J, 0, NAN)) return -1;
  }
  return p->kind == PARALLEL && PoiseMatAssemble(SUNMatrix_Poise_Mat(J)) ? -1 : 0;
}

/* KINSOL: the steady state, t = 0 */
static int SteadyF(N_Vector y, N_Vector f, void *arg)
{
  return F(0, y, f, arg);
}

static int SteadyJac(N_Vector y, N_Vector f, SUNMatrix J, void *arg, N_Vector w1, N_Vector w2)
{
  return Jac(0, y, f, J, arg, w1, w2, NULL);
}

/* IDA: u' - f(t, u) = 0 */
static int Residual(realtype t, N_Vector y, N_Vector yp, N_Vector r, void *arg)
{
  const int e = F(t, y, r, arg);
  N_VLinearSum(1, yp, -1, r, r);
  return e;
}

static int ResidualJac(realtype t, realtype cj, N_Vector y, N_Vector yp, N_Vector r, SUNMatrix J, void *arg,
                       N_Vector w1, N_Vector w2, N_Vector w3)
{
  Problem *p = arg;
  (void)yp;
  if (Jac(t, y, r, J, arg, w1, w2, w3) || SUNMatScaleAddI(-1 / cj, J)) return -1; /* I - J / cj */
  if (p->kind == PARALLEL) return PoiseMatScale(SUNMatrix_Poise_Mat(J), cj) ? -1 : 0;
  if (p->kind == SPARSE)
    for (sunindextype k = 0; k < SM_INDEXPTRS_S(J)[N]; k++) SM_DATA_S(J)[k] *= cj;
  else
    for (sunindextype k = 0; k < SM_LDATA_B(J); k++) SM_DATA_B(J)[k] *= cj;
  return 0;
}

static void SetExact(const Problem *p, double t, N_Vector y, N_Vector yp)
{
  for (PoiseInt i = 0; i < p->rows; i++) {
    N_VGetArrayPointer(y)[i] = cos(t) * Mode(p->first + i);
    if (yp) N_VGetArrayPointer(yp)[i] = -sin(t) * Mode(p->first + i);
  }
}

static double Error(const Problem *p, double t)
{
  double worst = 0;
  for (PoiseInt i = 0; i < p->rows; i++)
    worst = fmax(worst, fabs(N_VGetArrayPointer(p->y)[i] - cos(t) * Mode(p->first + i)));
  if (p->kind == PARALLEL) CHECK(!PoiseMax(p->c->ctx, 1, &worst));
  return worst;
}

static const char *const methods[][2] = {
    {"gmres", "ilu"}, {"cg", "jacobi"}, {"bicgstab", "bjacobi"}, {"gmres", "none"}};

/* method: its name, and that of the preconditioner. Of BAND NULL. */
static int Begin(const Case *c, Kind kind, const char *const *method, Problem *p)
{
  *p = (Problem){.c = c, .kind = kind, .rows = N};
  if (kind == PARALLEL) PoiseSplit(c->ctx, N, &p->first, &p->rows);
  p->L = MakeL(p);
  if (!CHECK(p->L)) return 0;
  p->J = SUNMatClone(p->L);
  CHECK_INT(SUNMatCopy(p->L, p->J), 0);
  p->y = kind == PARALLEL ? N_VNew_Parallel(c->comm, p->rows, N, c->sun) : N_VNew_Serial(N, c->sun);
  p->yp = N_VClone(p->y);
  SetExact(p, 0, p->y, p->yp);
  p->S =
      kind == BAND ? SUNLinSol_Band(p->y, p->J, c->sun) : SUNLinearSolver_Poise(c->ctx, p->y, p->J, c->sun);
  if (!CHECK(p->S)) return 0;
  if (kind != BAND) {
    PoisePC inner = NULL;
    CHECK(!PoiseKSPSetType(SUNLinearSolver_Poise_KSP(p->S), method[0]));
    CHECK(!PoiseKSPGetPC(SUNLinearSolver_Poise_KSP(p->S), &inner));
    CHECK(!PoisePCSetType(inner, method[1]));
  }
  return 1;
}

static void End(Problem *p)
{
  SUNLinSolFree(p->S);
  SUNMatDestroy(p->L);
  SUNMatDestroy(p->J);
  N_VDestroy(p->y);
  N_VDestroy(p->yp);
}

/* Both kinds of matrices that fit the context. */
static int LastKind(const Case *c, int k)
{
  return k == (PoiseSize(c->ctx) > 1 ? SPARSE : BAND);
}

/* ---- CVODE ----------------------------------------------------------------------------------- */

static void *NewCVODE(Problem *p, double rtol)
{
  void *m = CVodeCreate(CV_BDF, p->c->sun);
  CHECK_INT(CVodeInit(m, F, 0, p->y), 0);
  CHECK_INT(CVodeSStolerances(m, rtol, rtol * 1e-2), 0);
  CHECK_INT(CVodeSetUserData(m, p), 0);
  CHECK_INT(CVodeSetMaxNumSteps(m, 5000), 0);
  CHECK_INT(CVodeSetErrFile(m, NULL), 0);
  CHECK_INT(CVodeSetLinearSolver(m, p->S, p->J), 0);
  CHECK_INT(CVodeSetJacFn(m, Jac), 0);
  return m;
}

static Counts RunCVODE(const Case *c, Kind kind, const char *const *method, double rtol)
{
  Problem p;
  Counts n = {0};
  double t = 0;
  if (!Begin(c, kind, method, &p)) return n;
  void *m = NewCVODE(&p, rtol);
  CHECK_INT(CVode(m, 2, p.y, &t, CV_NORMAL), 0);
  CVodeGetNumSteps(m, &n.steps);
  CVodeGetNumNonlinSolvIters(m, &n.newton);
  CVodeGetNumLinIters(m, &n.linear);
  n.error = Error(&p, t);
  CVodeFree(&m);
  End(&p);
  return n;
}

/* Inexact solves change the number of Newton iterations a little, and the steps less. */
static int Alike(const Counts *a, const Counts *b)
{
  return labs(a->steps - b->steps) <= 5 + b->steps / 5 && labs(a->newton - b->newton) <= b->newton / 2;
}

static void ByCVODE(const Case *c)
{
  static const double tolerances[] = {1e-4, 1e-6, 1e-8, 1e-6};
  static const int method[] = {0, 0, 0, 1};
  for (int kind = PARALLEL; !LastKind(c, kind); kind--) {
    double first = 0;
    for (int k = 0; k < 4; k++) {
      const Counts band = RunCVODE(c, BAND, NULL, tolerances[k]);
      const Counts n = RunCVODE(c, (Kind)kind, methods[method[k]], tolerances[k]);
      if (!k) first = n.error;
      CHECK(n.error <= 10 * tolerances[k]);
      CHECK(k != 2 || n.error < 0.02 * first);
      CHECK(Alike(&n, &band));
      CHECK(n.linear >= n.newton / 2);
    }
  }
}

/* What is recoverable makes CVODE try a smaller step; what is not ends it. */
static void FailuresInCVODE(const Case *c)
{
  Problem p;
  double t = 0;
  long fails = 0;
  for (int k = 0; k < 2; k++) { /* a NaN in one Jacobian: ilu fails in the set-up, without it the solve */
    if (!Begin(c, PARALLEL, methods[k ? 3 : 0], &p)) return;
    void *m = NewCVODE(&p, 1e-5);
    p.wrong_values = 1;
    CHECK_INT(CVode(m, 0.5, p.y, &t, CV_NORMAL), 0);
    CHECK(Error(&p, t) < 1e-3);
    CVodeGetNumNonlinSolvConvFails(m, &fails);
    CHECK(k == 0 || fails > 0);
    CVodeFree(&m);
    End(&p);
  }
  if (!Begin(c, PARALLEL, methods[3], &p)) return; /* never enough iterations */
  void *m = NewCVODE(&p, 1e-4);
  CHECK_INT(CVodeSetMaxNumSteps(m, 100), 0);
  CHECK(!PoiseKSPSetTolerances(SUNLinearSolver_Poise_KSP(p.S), -1, -1, -1, 1));
  const int flag = CVode(m, 2, p.y, &t, CV_NORMAL);
  CVodeGetNumLinConvFails(m, &fails);
  CHECK(flag == CV_SUCCESS || flag == CV_CONV_FAILURE || flag == CV_TOO_MUCH_WORK);
  CHECK(fails > 0);
  CVodeFree(&m);
  End(&p);
  if (!Begin(c, PARALLEL, methods[0], &p)) return; /* an option that does not exist */
  CHECK(!PoiseOptionsSet(c->ctx, "ksp_type", "nonsense"));
  m = NewCVODE(&p, 1e-5);
  CHECK_INT(CVode(m, 2, p.y, &t, CV_NORMAL), CV_LINIT_FAIL);
  CHECK(!PoiseOptionsSet(c->ctx, "ksp_type", "gmres"));
  CVodeFree(&m);
  End(&p);
}

static void CscInCVODE(const Case *c)
{
  Problem p;
  double t = 0;
  SUNMatrix csc = NULL;
  if (!Begin(c, SPARSE, methods[0], &p)) return;
  SUNSparseMatrix_ToCSC(p.L, &csc);
  SUNMatDestroy(p.L);
  SUNMatDestroy(p.J);
  p.L = csc;
  p.J = SUNMatClone(csc);
  SUNMatCopy(p.L, p.J);
  void *m = NewCVODE(&p, 1e-5);
  CHECK_INT(CVode(m, 1, p.y, &t, CV_NORMAL), CV_LSETUP_FAIL);
  CHECK_WORDS("CSC_MAT");
  CVodeFree(&m);
  End(&p);
}

/* ---- ARKODE ---------------------------------------------------------------------------------- */

static Counts RunARKODE(const Case *c, Kind kind, const char *const *method, int order, double step)
{
  Problem p;
  Counts n = {0};
  double t = 0;
  if (!Begin(c, kind, method, &p)) return n;
  void *m = ARKStepCreate(NULL, F, 0, p.y, c->sun);
  CHECK_INT(ARKStepSStolerances(m, 1e-7, 1e-9), 0);
  CHECK_INT(ARKStepSetUserData(m, &p), 0);
  CHECK_INT(ARKStepSetOrder(m, order), 0);
  CHECK_INT(ARKStepSetFixedStep(m, step), 0);
  CHECK_INT(ARKStepSetMaxNumSteps(m, 5000), 0);
  CHECK_INT(ARKStepSetLinearSolver(m, p.S, p.J), 0);
  CHECK_INT(ARKStepSetJacFn(m, Jac), 0);
  CHECK_INT(ARKStepSetLSetupFrequency(m, 1), 0);
  CHECK_INT(ARKStepSetJacEvalFrequency(m, 1), 0);
  CHECK_INT(ARKStepSetMaxNonlinIters(m, 10), 0);
  CHECK_INT(ARKStepSetStopTime(m, 0.5), 0);
  CHECK_INT(ARKStepEvolve(m, 0.5, p.y, &t, ARK_NORMAL) < 0, 0);
  ARKStepGetNumNonlinSolvIters(m, &n.newton);
  ARKStepGetNumLinIters(m, &n.linear);
  n.error = Error(&p, t);
  ARKStepFree(&m);
  End(&p);
  return n;
}

/* The order in time of implicit methods of Runge and Kutta. */
static void ByARKODE(const Case *c)
{
  static const int orders[] = {2, 3, 4};
  for (int k = 0; k < 3; k++)
    for (int kind = PARALLEL; !LastKind(c, kind); kind--) {
      const double step = orders[k] == 2 ? 0.02 : 0.05;
      const Counts band = RunARKODE(c, BAND, methods[k], orders[k], step);
      const Counts a = RunARKODE(c, (Kind)kind, methods[k], orders[k], step);
      const Counts b = RunARKODE(c, (Kind)kind, methods[k], orders[k], step / 2);
      CHECK(log2(a.error / b.error) > orders[k] - 0.4);
      CHECK(fabs(a.error - band.error) <= 0.05 * band.error);
      CHECK(Alike(&a, &band));
      CHECK(a.linear >= a.newton / 2);
    }
}

/* ---- KINSOL ---------------------------------------------------------------------------------- */

static Counts RunKINSOL(const Case *c, Kind kind, const char *const *method, int strategy)
{
  Problem p;
  Counts n = {0};
  if (!Begin(c, kind, method, &p)) return n;
  void *m = KINCreate(c->sun);
  CHECK_INT(KINSetUserData(m, &p), 0);
  CHECK_INT(KINInit(m, SteadyF, p.y), 0);
  CHECK_INT(KINSetFuncNormTol(m, 1e-9), 0);
  CHECK_INT(KINSetMaxSetupCalls(m, 1), 0);
  CHECK_INT(KINSetMaxNewtonStep(m, 100), 0);
  CHECK_INT(KINSetLinearSolver(m, p.S, p.J), 0);
  CHECK_INT(KINSetJacFn(m, SteadyJac), 0);
  N_VConst(1, p.yp); /* scaling */
  N_VConst(0, p.y);
  CHECK(KINSol(m, p.y, strategy, p.yp, p.yp) >= 0);
  KINGetNumNonlinSolvIters(m, &n.newton);
  KINGetNumLinIters(m, &n.linear);
  n.error = Error(&p, 0);
  KINFree(&m);
  End(&p);
  return n;
}

static void ByKINSOL(const Case *c)
{
  for (int k = 0; k < 3; k++)
    for (int kind = PARALLEL; !LastKind(c, kind); kind--) {
      const int strategy = k ? KIN_NONE : KIN_LINESEARCH;
      const Counts band = RunKINSOL(c, BAND, NULL, strategy);
      const Counts n = RunKINSOL(c, (Kind)kind, methods[k], strategy);
      CHECK(n.error < 1e-8);
      CHECK(n.newton <= 2 * band.newton + 2); /* inexact Newton */
      CHECK(n.linear >= n.newton);
    }
}

/* ---- IDA ------------------------------------------------------------------------------------- */

static Counts RunIDA(const Case *c, Kind kind, const char *const *method)
{
  Problem p;
  Counts n = {0};
  double t = 0;
  if (!Begin(c, kind, method, &p)) return n;
  void *m = IDACreate(c->sun);
  CHECK_INT(IDAInit(m, Residual, 0, p.y, p.yp), 0);
  CHECK_INT(IDASStolerances(m, 1e-6, 1e-8), 0);
  CHECK_INT(IDASetUserData(m, &p), 0);
  CHECK_INT(IDASetLinearSolver(m, p.S, p.J), 0);
  CHECK_INT(IDASetJacFn(m, ResidualJac), 0);
  CHECK_INT(IDASolve(m, 2, &t, p.y, p.yp, IDA_NORMAL), 0);
  IDAGetNumSteps(m, &n.steps);
  IDAGetNumNonlinSolvIters(m, &n.newton);
  n.error = Error(&p, t);
  IDAFree(&m);
  End(&p);
  return n;
}

static void ByIDA(const Case *c)
{
  for (int kind = PARALLEL; !LastKind(c, kind); kind--) {
    const Counts band = RunIDA(c, BAND, NULL), n = RunIDA(c, (Kind)kind, methods[2]);
    CHECK(n.error <= 1e-4);
    CHECK(Alike(&n, &band));
  }
}

const Test integrator_tests[] = {{"cvode", ByCVODE, 0},
                                 {"cvode_failures", FailuresInCVODE, 0},
                                 {"cvode_csc", CscInCVODE, 1},
                                 {"arkode", ByARKODE, 0},
                                 {"kinsol", ByKINSOL, 0},
                                 {"ida", ByIDA, 0},
                                 {NULL, NULL, 0}};

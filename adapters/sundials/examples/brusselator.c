/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The Brusselator with diffusion on the unit square, by CVODE (BDF, Newton) with linear solves by Poise, on
  any number of MPI ranks:

    u_t = 1 + u^2 v - (B + 1) u + D (u_xx + u_yy)
    v_t = B u - u^2 v           + D (v_xx + v_yy)        no flux through the boundary

  For B < 2 every solution tends to u = 1, v = B; the program checks that it does.

    mpiexec -n 2 sundials_brusselator -n 200 -ksp_type bicgstab -pc_type ilu -log_view
*/
#include <math.h>
#include <mpi.h>

#include <cvode/cvode.h>
#include <nvector/nvector_parallel.h>

#include "poise_sundials.h"

typedef struct Problem {
  PoiseInt n; /* nodes of a side */
  double B, D, end;
  PoiseInt first, nodes; /* of this rank */
  SUNMatrix L;           /* diffusion */
} Problem;

static const PoiseOption options[] = {
    {"n", POISE_OPTION_INT, offsetof(Problem, n), "40", 2, 1e4, NULL, "nodes of a side of the square"},
    {"B", POISE_OPTION_REAL, offsetof(Problem, B), "1.7", 0, 1.9, NULL, "feed of v"},
    {"D", POISE_OPTION_REAL, offsetof(Problem, D), "0.02", 0, 1e3, NULL, "diffusion"},
    {"end", POISE_OPTION_REAL, offsetof(Problem, end), "80", 40, 1e6, NULL, "time of the end"},
    {NULL, POISE_OPTION_INT, 0, NULL, 0, 0, NULL, NULL}};

/* A call of SUNDIALS, which has printed what is wrong. */
#define SUN(call)                                                       \
  do {                                                                  \
    if ((call) < 0) POISE_FAIL(POISE_ERR_USER, "%s has failed", #call); \
  } while (0)

/* L: a row of the five-point stencil for each unknown. The 2 x 2 block of a node is stored whole, as the
   Jacobian fills it. Unknowns are u_0, v_0, u_1, v_1, ... */
static PoiseErr Diffusion(PoiseContext ctx, const Problem *p, PoiseMat *L)
{
  const PoiseInt n = p->n, all = n * n;
  const double w = p->D * (double)((n - 1) * (n - 1));
  POISE_TRY(PoiseMatCreate(ctx, 2 * p->nodes, 2 * p->nodes, 2 * all, 2 * all, L));
  for (PoiseInt k = p->first; k < p->first + p->nodes; k++) {
    const PoiseInt i = k % n, j = k / n, near[4] = {k - 1, k + 1, k - n, k + n};
    const int inside[4] = {i > 0, i<n - 1, j> 0, j < n - 1};
    double block[4] = {0};
    for (int q = 0; q < 4; q++) {
      if (!inside[q]) continue;
      for (int s = 0; s < 2; s++)
        POISE_TRY(PoiseMatAddEntries(*L, 1, &(PoiseInt){2 * k + s}, &(PoiseInt){2 * near[q] + s}, &w));
      block[0] -= w;
      block[3] -= w;
    }
    const PoiseInt rows[2] = {2 * k, 2 * k + 1};
    POISE_TRY(PoiseMatAddBlock(*L, 2, rows, 2, rows, block));
  }
  POISE_TRY(PoiseMatAssemble(*L));
  return POISE_OK;
}

static int RightHandSide(realtype t, N_Vector y, N_Vector f, void *arg)
{
  const Problem *p = arg;
  (void)t;
  if (SUNMatMatvec(p->L, y, f)) return -1;
  for (PoiseInt k = 0; k < p->nodes; k++) {
    const double u = NV_Ith_P(y, 2 * k), v = NV_Ith_P(y, 2 * k + 1);
    NV_Ith_P(f, 2 * k) += 1 + u * u * v - (p->B + 1) * u;
    NV_Ith_P(f, 2 * k + 1) += p->B * u - u * u * v;
  }
  return 0;
}

static PoiseErr AddReaction(const Problem *p, N_Vector y, PoiseMat J)
{
  for (PoiseInt k = 0; k < p->nodes; k++) {
    const double u = NV_Ith_P(y, 2 * k), v = NV_Ith_P(y, 2 * k + 1);
    const PoiseInt rows[2] = {2 * (p->first + k), 2 * (p->first + k) + 1};
    const double block[4] = {2 * u * v - (p->B + 1), u * u, p->B - 2 * u * v, -u * u};
    POISE_TRY(PoiseMatAddBlock(J, 2, rows, 2, rows, block));
  }
  POISE_TRY(PoiseMatAssemble(J));
  return POISE_OK;
}

static int Jacobian(realtype t, N_Vector y, N_Vector f, SUNMatrix J, void *arg, N_Vector w1, N_Vector w2,
                    N_Vector w3)
{
  const Problem *p = arg;
  (void)t, (void)f, (void)w1, (void)w2, (void)w3;
  if (SUNMatCopy(p->L, J)) return -1;
  return AddReaction(p, y, SUNMatrix_Poise_Mat(J)) ? -1 : 0;
}

static PoiseErr Integrate(PoiseContext ctx, void *cvode, Problem *p, N_Vector y, SUNMatrix J,
                          SUNLinearSolver S)
{
  long steps, newton, linear, setups;
  double t;
  SUN(CVodeInit(cvode, RightHandSide, 0, y));
  SUN(CVodeSStolerances(cvode, 1e-6, 1e-8));
  SUN(CVodeSetUserData(cvode, p));
  SUN(CVodeSetMaxNumSteps(cvode, 10000));
  SUN(CVodeSetLinearSolver(cvode, S, J));
  SUN(CVodeSetJacFn(cvode, Jacobian));
  SUN(CVode(cvode, p->end, y, &t, CV_NORMAL));
  SUN(CVodeGetNumSteps(cvode, &steps));
  SUN(CVodeGetNumNonlinSolvIters(cvode, &newton));
  SUN(CVodeGetNumLinIters(cvode, &linear));
  SUN(CVodeGetNumLinSolvSetups(cvode, &setups));
  double worst = 0;
  for (PoiseInt k = 0; k < p->nodes; k++)
    worst = fmax(worst, fmax(fabs(NV_Ith_P(y, 2 * k) - 1), fabs(NV_Ith_P(y, 2 * k + 1) - p->B)));
  POISE_TRY(PoiseMax(ctx, 1, &worst));
  POISE_TRY(PoisePrintf(ctx,
                        "t = %g: %ld steps, %ld Newton iterations, %ld set-ups, %ld linear iterations\n"
                        "distance from the steady state: %.1e\n",
                        t, steps, newton, setups, linear, worst));
  if (!(worst < 1e-3)) POISE_FAIL(POISE_ERR_NUMERIC, "that is too far for t = %g", t);
  return POISE_OK;
}

static PoiseErr Solve(PoiseContext ctx, SUNContext sun, Problem *p)
{
  PoiseMat L = NULL;
  POISE_TRY(PoiseOptionsDefaults(options, p));
  POISE_TRY(PoiseOptionsRead(ctx, NULL, options, p));
  PoiseSplit(ctx, p->n * p->n, &p->first, &p->nodes);
  POISE_TRY(Diffusion(ctx, p, &L));
  p->L = SUNMatrix_Poise(L, sun);
  SUNMatrix J = SUNMatClone(p->L);
  N_Vector y = N_VNew_Parallel(MPI_COMM_WORLD, 2 * p->nodes, 2 * p->n * p->n, sun);
  SUNLinearSolver S = SUNLinearSolver_Poise(ctx, y, J, sun);
  void *cvode = CVodeCreate(CV_BDF, sun);
  if (!S || !cvode) POISE_FAIL(POISE_ERR_USER, "no solver: %s", PoiseErrorText());
  for (PoiseInt k = 0; k < p->nodes; k++) {
    const PoiseInt i = (p->first + k) % p->n, j = (p->first + k) / p->n;
    NV_Ith_P(y, 2 * k) = 2 + 0.25 * (double)j / (double)(p->n - 1);
    NV_Ith_P(y, 2 * k + 1) = 1 + 0.8 * (double)i / (double)(p->n - 1);
  }
  const PoiseErr e = Integrate(ctx, cvode, p, y, J, S);
  CVodeFree(&cvode);
  SUNLinSolFree(S);
  SUNMatDestroy(J);
  SUNMatDestroy(p->L);
  N_VDestroy(y);
  return e;
}

int main(int argc, char **argv)
{
  const PoiseInit init = {.help = "The Brusselator with diffusion, by CVODE.", .options = options};
  MPI_Comm comm = MPI_COMM_WORLD;
  PoiseContext ctx = NULL;
  SUNContext sun = NULL;
  Problem problem;
  PoiseErr e = PoiseInitialize(&argc, &argv, &init, &ctx);
  if (!e) {
    SUNContext_Create(&comm, &sun);
    e = Solve(ctx, sun, &problem);
    SUNContext_Free(&sun);
  }
  if (e) fputs(PoiseErrorText(), stderr);
  if (!e && PoiseFinalize(&ctx)) e = POISE_ERR_STATE;
  return e ? 1 : 0;
}

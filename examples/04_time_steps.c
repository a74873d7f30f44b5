/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Time steps: du/dt = d2u/dx2 on (0, 1), u = 0 at both ends, linear elements, implicit Euler with growing
  steps:
    (M + dt K) u_new = M u_old.

  New here:
  - One matrix is filled repeatedly with new values on its pattern.
  - One solver is kept, and each solve starts from the last solution.
  - Negative indices leave unknowns out of the system.

    04_time_steps -n 500 -steps 8 -ksp_monitor

  The check: v_i = sin(pi x_i) is an eigenvector, K v = lambda M v. So each step divides (v, M u) by exactly 1
  + lambda dt, whatever u was at the start.
*/
#include <inttypes.h>
#include <math.h>
#include <poise.h>

static const double pi = 3.14159265358979323846;

typedef struct Settings {
  PoiseInt n, steps;
  double dt;
} Settings;

static const PoiseOption options[] = {
    {"n", POISE_OPTION_INT, offsetof(Settings, n), "200", 2, 10000000, NULL, "number of elements"},
    {"steps", POISE_OPTION_INT, offsetof(Settings, steps), "5", 1, 1000, NULL, "number of time steps"},
    {"dt", POISE_OPTION_REAL, offsetof(Settings, dt), "0.001", 1e-12, 1, NULL,
     "first time step; each next is 1.5 times"},
    {0}};

typedef struct Problem {
  PoiseMat M, A; /* A = M + dt K */
  PoiseVec u, b, v;
  PoiseKSP ksp;
} Problem;

/* A += M + dt K, this rank's share. Element e joins unknowns e - 1 and e. The two ends of the interval are
   no unknowns: their index is -1, which AddBlock ignores. */
static PoiseErr AddElements(PoiseContext ctx, PoiseInt n, double dt, PoiseMat A)
{
  const double h = 1 / (double)n, same = h / 3 + dt / h, other = h / 6 - dt / h;
  const double element[] = {same, other, other, same};
  PoiseInt begin, count;
  PoiseSplit(ctx, n, &begin, &count);
  for (PoiseInt e = begin; e < begin + count; e++) {
    const PoiseInt unknowns[] = {e - 1, e < n - 1 ? e : -1};
    POISE_TRY(PoiseMatAddBlock(A, 2, unknowns, 2, unknowns, element));
  }
  return POISE_OK;
}

/* A = M + dt K. The values change with dt, the pattern does not. */
static PoiseErr Fill(PoiseContext ctx, PoiseInt n, double dt, PoiseMat A)
{
  POISE_TRY(PoiseMatZeroEntries(A));
  POISE_TRY(PoiseAgree(ctx, AddElements(ctx, n, dt, A)));
  return PoiseMatAssemble(A);
}

static PoiseErr Create(PoiseContext ctx, PoiseInt n, Problem *p)
{
  PoisePC pc;
  PoiseInt begin, end;
  double *v;
  POISE_TRY(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, n - 1, n - 1, &p->M));
  POISE_TRY(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, n - 1, n - 1, &p->A));
  POISE_TRY(PoiseMatSetFromOptions(p->A));
  POISE_TRY(Fill(ctx, n, 0, p->M));
  POISE_TRY(PoiseMatCreateVecs(p->M, &p->u, &p->b));
  POISE_TRY(PoiseVecSetRandom(p->u, 1)); /* as rough as can be */
  POISE_TRY(PoiseVecDuplicate(p->u, &p->v));
  POISE_TRY(PoiseVecGetWrite(p->v, &v));
  PoiseVecRange(p->v, &begin, &end);
  for (PoiseInt i = begin; i < end; i++) v[i - begin] = sin(pi * (double)(i + 1) / (double)n);
  POISE_TRY(PoiseVecRestore(p->v, &v));

  POISE_TRY(PoiseKSPCreate(ctx, &p->ksp));
  POISE_TRY(PoiseKSPSetOperators(p->ksp, p->A, NULL));
  POISE_TRY(PoiseKSPSetType(p->ksp, "cg"));
  POISE_TRY(PoiseKSPGetPC(p->ksp, &pc));
  POISE_TRY(PoisePCSetType(pc, "jacobi"));
  POISE_TRY(PoiseKSPSetErrorIfNotConverged(p->ksp, 1));
  POISE_TRY(PoiseKSPSetTolerances(p->ksp, 1e-11, -1, -1, -1));
  POISE_TRY(PoiseKSPSetInitialGuessNonzero(p->ksp, 1));
  return PoiseKSPSetFromOptions(p->ksp);
}

static PoiseErr March(PoiseContext ctx, const Settings *set, Problem *p)
{
  const double c = cos(pi / (double)set->n), h = 1 / (double)set->n,
               lambda = 6 * (2 - 2 * c) / (h * h * (4 + 2 * c));
  double dt = set->dt, mode, expected;
  POISE_TRY(Create(ctx, set->n, p));
  POISE_TRY(PoiseMatMult(p->M, p->u, p->b));
  POISE_TRY(PoiseVecDot(p->v, p->b, &expected));
  POISE_TRY(
      PoisePrintf(ctx, "%4s %10s %10s  %-20s %14s\n", "step", "dt", "iterations", "reason", "(v, M u)"));
  for (PoiseInt step = 1; step <= set->steps; step++, dt *= 1.5) {
    POISE_TRY(Fill(ctx, set->n, dt, p->A));
    POISE_TRY(PoiseKSPSolve(p->ksp, p->b, p->u)); /* notices that A changed, and starts from the present u */
    POISE_TRY(PoiseMatMult(p->M, p->u, p->b));
    POISE_TRY(PoiseVecDot(p->v, p->b, &mode));
    expected /= 1 + lambda * dt;
    POISE_TRY(PoisePrintf(ctx, "%4" PRId64 " %10.3e %10" PRId64 "  %-20s %14.6e\n", step, dt,
                          PoiseKSPIterations(p->ksp), PoiseKSPReasonString(PoiseKSPConvergedReason(p->ksp)),
                          mode));
    if (!(fabs(mode - expected) < 1e-7 * fabs(expected))) {
      POISE_FAIL(POISE_ERR_NUMERIC, "step %" PRId64 ": (v, M u) is %.9e, must be %.9e", step, mode, expected);
    }
  }
  return PoisePrintf(ctx, "Every step divided (v, M u) by 1 + lambda dt, as it must.\n");
}

static PoiseErr Run(PoiseContext ctx, void *arg)
{
  (void)arg;
  Settings set;
  Problem p = {0};
  POISE_TRY(PoiseOptionsDefaults(options, &set));
  POISE_TRY(PoiseOptionsRead(ctx, NULL, options, &set));
  PoiseErr err = March(ctx, &set, &p);
  PoiseKSPDestroy(&p.ksp);
  PoiseVecDestroy(&p.v);
  PoiseVecDestroy(&p.b);
  PoiseVecDestroy(&p.u);
  PoiseMatDestroy(&p.A);
  PoiseMatDestroy(&p.M);
  return err;
}

int main(int argc, char **argv)
{
  const PoiseInit init = {
      .help = "The heat equation by implicit time steps: new values, same pattern, same solver.",
      .options = options};
  PoiseContext ctx;
  PoiseErr err = PoiseInitialize(&argc, &argv, &init, &ctx);
  if (err == POISE_OK) err = PoiseRun(ctx, Run, NULL);
  if (err != POISE_OK) fputs(PoiseErrorText(), stderr);
  PoiseErr end = PoiseFinalize(&ctx);
  if (end != POISE_OK) fputs(PoiseErrorText(), stderr);
  return err != POISE_OK || end != POISE_OK;
}

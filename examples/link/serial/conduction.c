/* SPDX-License-Identifier: BSD-3-Clause */
/*
  A simulation code without MPI that keeps its arrays for the whole run and calls Poise in a loop: heat
  conduction with a conductivity that depends on the temperature, -div(k(u) grad u) = 50, k = 1 + u^2, u = 0
  around the unit square, by finite volumes on n x n cells. Each pass computes k from the last u, writes new
  values into the same CSR arrays, and solves from the last u on. The solver and all arrays stay.

    ./conduction
    POISE_OPTIONS="-ksp_monitor" ./conduction

  The check is that of the nonlinear system, and Poise has no part in it: the values are computed once more
  from the last u.
*/
#include <math.h>
#include <poise.h>
#include <stdlib.h>

enum { n = 50, rows = n * n, passes = 60 };

typedef struct Simulation {
  int32_t ptr[rows + 1], col[5 * rows];
  double val[5 * rows], b[rows], u[rows];
} Simulation;

static double Conductivity(double u)
{
  return 1 + u * u;
}

/* A(u), and its pattern, which is the same each time. */
static void Assemble(Simulation *s)
{
  static const int step[5][2] = {{-1, 0}, {0, -1}, {0, 0}, {0, 1}, {1, 0}}; /* columns ascending */
  int32_t nz = 0;
  for (int row = 0; row < rows; row++) {
    int32_t diagonal = nz;
    double sum = 0;
    s->ptr[row] = nz;
    for (int e = 0; e < 5; e++) {
      const int i = row / n + step[e][0], j = row % n + step[e][1], other = i * n + j;
      const int outside = i < 0 || i == n || j < 0 || j == n;
      if (other == row) diagonal = nz;
      if (!outside) s->col[nz++] = other;
      if (other == row && !outside) continue;
      /* Of the face: the mean of both cells; the boundary, half a cell away, has u = 0. */
      const double k =
          outside ? 2 * Conductivity(0) : (Conductivity(s->u[row]) + Conductivity(s->u[other])) / 2;
      sum += k;
      if (!outside) s->val[nz - 1] = -k;
    }
    s->val[diagonal] = sum;
    s->b[row] = 50.0 / n / n;
  }
  s->ptr[rows] = nz;
}

/* |b - A(u) u| / |b| */
static double Residual(Simulation *s)
{
  double rr = 0, bb = 0;
  Assemble(s);
  for (int row = 0; row < rows; row++) {
    double r = s->b[row];
    for (int32_t k = s->ptr[row]; k < s->ptr[row + 1]; k++) r -= s->val[k] * s->u[s->col[k]];
    rr += r * r;
    bb += s->b[row] * s->b[row];
  }
  return sqrt(rr / bb);
}

typedef struct Solver {
  PoiseMat A;
  PoiseVec b, u;
  PoiseKSP ksp;
} Solver;

/* Once. The arrays of the simulation are lent: Poise works with them where they are, and u is current after
   each solve. */
static PoiseErr Create(PoiseContext ctx, Simulation *s, Solver *solver)
{
  const PoiseCSR csr = {.ptr32 = s->ptr, .col32 = s->col, .val = s->val};
  PoisePC pc;
  Assemble(s);
  POISE_TRY(PoiseMatCreateCSR(ctx, rows, rows, rows, rows, &csr, POISE_BORROW, &solver->A));
  POISE_TRY(PoiseVecCreateArray(ctx, rows, rows, s->b, POISE_BORROW, &solver->b));
  POISE_TRY(PoiseVecCreateArray(ctx, rows, rows, s->u, POISE_BORROW, &solver->u));
  POISE_TRY(PoiseKSPCreate(ctx, &solver->ksp));
  POISE_TRY(PoiseKSPSetType(solver->ksp, "cg"));
  POISE_TRY(PoiseKSPGetPC(solver->ksp, &pc));
  POISE_TRY(PoisePCSetType(pc, "icc"));
  POISE_TRY(PoiseKSPSetOperators(solver->ksp, solver->A, NULL));
  POISE_TRY(PoiseKSPSetTolerances(solver->ksp, 1e-11, -1, -1, -1));
  POISE_TRY(PoiseKSPSetInitialGuessNonzero(solver->ksp, 1));
  POISE_TRY(PoiseKSPSetErrorIfNotConverged(solver->ksp, 1));
  return PoiseKSPSetFromOptions(solver->ksp);
}

static PoiseErr Run(Simulation *s, Solver *solver)
{
  PoiseInt iterations = 0;
  int pass = 0;
  do {
    POISE_TRY(PoiseMatSetValuesCSR(solver->A, s->val)); /* its own array, which was written to */
    POISE_TRY(PoiseKSPSolve(solver->ksp, solver->b, solver->u));
    iterations += PoiseKSPIterations(solver->ksp);
    pass++;
  } while (Residual(s) > 1e-9 && pass < passes); /* its Assemble wrote the values of the next pass */
  printf("serial: %d passes, %d iterations in all, ", pass, (int)iterations);
  return POISE_OK;
}

static PoiseErr CallPoise(Simulation *s)
{
  PoiseContext ctx;
  Solver solver = {0};
  /* no MPI, not even where the library has it */
  POISE_TRY(PoiseInitialize(NULL, NULL, &(PoiseInit){.serial = 1}, &ctx));
  PoiseErr err = Create(ctx, s, &solver);
  if (!err) err = Run(s, &solver);
  PoiseKSPDestroy(&solver.ksp);
  PoiseVecDestroy(&solver.u);
  PoiseVecDestroy(&solver.b);
  PoiseMatDestroy(&solver.A);
  PoiseErr end = PoiseFinalize(&ctx);
  return err ? err : end;
}

int main(void)
{
  Simulation *s = calloc(1, sizeof *s);
  if (!s) return 1;
  PoiseErr err = CallPoise(s);
  if (err) fputs(PoiseErrorText(), stderr);
  const double residual = Residual(s);
  printf("residual of the nonlinear system %.1e\n", residual);
  free(s);
  return err || !(residual < 1e-8);
}

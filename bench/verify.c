/* SPDX-License-Identifier: BSD-3-Clause */
/*
  What checking a claim costs (-ksp_verify): whole solves with the check and without it, in turns; medians of
  their times. A is the 7-point matrix of a cube with variable coefficients, b random, CG with jacobi. Options
  of KSP and PC choose another solver.

    verify -n 32 -rounds 99 -device cuda
*/
#include <inttypes.h>
#include <poise.h>
#include <stdio.h>

#include "measure.h"
#include "problems.h"

#define TRY POISE_TRY

typedef struct Options {
  PoiseInt n, rounds;
} Options;

static const PoiseOption table[] = {
    {"n", POISE_OPTION_INT, offsetof(Options, n), "32", 1, 1000, NULL, "nodes on an edge of the cube"},
    {"rounds", POISE_OPTION_INT, offsetof(Options, rounds), "99", 1, MAX_REPEATS, NULL,
     "solves of each kind"},
    {0},
};

static PoiseErr Cube(PoiseContext ctx, double n, PoiseMat *A)
{
  Rows r = {0};
  PoiseErr e = CreateRows(ctx, SEVEN, true, 12 * (7 * n * n * n - 6 * n * n) + 4 * n * n * n, &r);
  PoiseCSR csr = {.ptr32 = r.ptr, .col32 = r.col, .val = r.val};
  if (!e) e = PoiseMatCreateCSR(ctx, r.n, r.n, r.N, r.N, &csr, POISE_COPY, A);
  DestroyRows(&r);
  return e;
}

/* Times of whole solves, without the check and with it. */
static PoiseErr Race(PoiseContext ctx, PoiseKSP ksp, PoiseVec b, PoiseVec x, PoiseInt rounds, Times times[2])
{
  for (PoiseInt k = -4; k < 2 * rounds; k++) { /* the first ones set up and warm up */
    TRY(PoiseKSPSetVerify(ksp, (int)(k & 1)));
    double start;
    TRY(Begin(ctx, &start));
    TRY(PoiseKSPSolve(ksp, b, x));
    if (k >= 0) TRY(End(ctx, start, &times[k & 1]));
  }
  return POISE_OK;
}

static PoiseErr Measure(PoiseContext ctx, const Options *o, PoiseKSP ksp, PoiseVec b, PoiseVec x)
{
  static const double rtol[] = {0.9, 0.1, 1e-8};
  for (int k = 0; k < 3; k++) {
    Times times[2] = {{0}};
    TRY(PoiseKSPSetTolerances(ksp, rtol[k], -1, -1, -1));
    TRY(Race(ctx, ksp, b, x, o->rounds, times));
    double without = 1e6 * Median(&times[0]), with = 1e6 * Median(&times[1]);
    TRY(PoisePrintf(ctx,
                    "n %" PRId64 ", rtol %.0e, %s after %" PRId64
                    " iterations: %.1f us, with the check %.1f: %.1f more\n",
                    o->n, rtol[k], PoiseKSPReasonString(PoiseKSPConvergedReason(ksp)),
                    PoiseKSPIterations(ksp), without, with, with - without));
  }
  return POISE_OK;
}

static PoiseErr Main(PoiseContext ctx, const Options *o)
{
  PoiseMat A = NULL;
  PoiseVec b = NULL, x = NULL;
  PoiseKSP ksp = NULL;
  PoisePC pc;
  PoiseErr e = Cube(ctx, (double)o->n, &A);
  if (!e) e = PoiseMatCreateVecs(A, &x, &b);
  if (!e) e = PoiseVecSetRandom(b, 1);
  if (!e) e = PoiseVecToDevice(b);
  if (!e) e = PoiseKSPCreate(ctx, &ksp);
  if (!e) e = PoiseKSPSetOperators(ksp, A, NULL);
  if (!e) e = PoiseKSPSetType(ksp, "cg");
  if (!e) e = PoiseKSPGetPC(ksp, &pc);
  if (!e) e = PoisePCSetType(pc, "jacobi");
  if (!e) e = PoiseKSPSetFromOptions(ksp);
  if (!e) e = Measure(ctx, o, ksp, b, x);
  PoiseKSPDestroy(&ksp);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&b);
  PoiseMatDestroy(&A);
  return e;
}

int main(int argc, char **argv)
{
  Options o;
  PoiseContext ctx;
  const PoiseInit init = {.help = "What checking a claim costs", .options = table};
  PoiseErr e = PoiseInitialize(&argc, &argv, &init, &ctx);
  if (!e) e = PoiseOptionsDefaults(table, &o);
  if (!e) e = PoiseOptionsRead(ctx, NULL, table, &o);
  if (!e) e = Main(ctx, &o);
  if (!e) e = PoiseFinalize(&ctx);
  if (e) fputs(PoiseErrorText(), stderr);
  return e ? 1 : 0;
}

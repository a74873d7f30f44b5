/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Whole solves with variable coefficients, a random b and x from 0.

    solves -device cuda -problem 7 -bytes 1.6e9 -iterations "1 9 100" -ksp_type cg -pc_type jacobi
    solves -device cuda -problem 7 -bytes 1.6e9 -rtol 1e-8 -ksp_type cg -pc_type jacobi

  With -iterations they converge in so many, from PoiseKSPSolve to its return: what a loop costs beside its
  iterations. The tolerance of a row is the norm that a solve before it had after so many iterations, so the
  solve ends there by converging, and checks its claim. A row: iterations, median and least of the times in
  microseconds, and the median's per iteration beyond the row before. With -products bare products follow, in
  a section of the log: -log_view and -log_device_time tell their time, and that of all products.

  With -rtol they go from arrays to x with all set-up: the arrays of A and b are where the device is, and x
  stays there. So they do by the others with jacobi (C loops, or cuSPARSE and cuBLAS as a graph), who look at
  their norm, which is the same, after each 8 iterations, or each cycle of gmres. What is opened once in a
  program is there: the context, and handles. Everybody rehearses once; then all take turns.

  A row: iterations; in microseconds the medians of the first solve, of a second one with what the first has
  made, and of the difference; |b - A x| / |b|, computed on the host. The exit status is 1 where that is far
  above rtol. Below it, of ours: a solve with new values of the same pattern.
*/
#include <inttypes.h>
#include <math.h>
#include <poise.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/library.h"

#define TRY POISE_TRY

typedef struct Options {
  int problem;
  double bytes, seconds, rtol;
  PoiseInt rounds, products;
  char iterations[POISE_OPTION_LENGTH];
} Options;

static const PoiseOption table[] = {
    {"problem", POISE_OPTION_CHOICE, offsetof(Options, problem), "7", 0, 0, PROBLEM_WORDS, "which matrix"},
    {"bytes", POISE_OPTION_REAL, offsetof(Options, bytes), "3e6", 1, 2.5e10, NULL, "bytes of the matrix"},
    {"iterations", POISE_OPTION_STRING, offsetof(Options, iterations), "1 9 17 100", 0, 0, NULL,
     "numbers of iterations, ascending"},
    {"seconds", POISE_OPTION_REAL, offsetof(Options, seconds), "1", 0, 1e4, NULL, "of each row, at least"},
    {"products", POISE_OPTION_INT, offsetof(Options, products), "0", 0, 1000000, NULL,
     "bare products behind the solves, in a section of the log"},
    {"rtol", POISE_OPTION_REAL, offsetof(Options, rtol), "0", 0, 1, NULL,
     "from arrays to a solution this exact, beside others; 0: given numbers of iterations"},
    {"rounds", POISE_OPTION_INT, offsetof(Options, rounds), "5", 1, MAX_REPEATS - 1, NULL,
     "solves from arrays by each"},
    {0},
};

typedef struct Solver {
  PoiseMat A;
  PoiseVec b, x;
  PoiseKSP ksp;
  double before, at; /* time and iterations of the row before */
} Solver;

static void Destroy(Solver *s)
{
  PoiseKSPDestroy(&s->ksp);
  PoiseVecDestroy(&s->x);
  PoiseVecDestroy(&s->b);
  PoiseMatDestroy(&s->A);
}

static PoiseErr CreateMat(PoiseContext ctx, const Options *o, PoiseMat *A)
{
  Rows r;
  TRY(CreateRows(ctx, o->problem, true, o->bytes, &r));
  PoiseCSR csr = {.ptr32 = r.ptr, .col32 = r.col, .val = r.val};
  PoiseErr e = PoiseMatCreateCSR(ctx, r.n, r.n, r.N, r.N, &csr, POISE_COPY, A);
  if (!e) e = PoiseMatSetBlockSize(*A, r.block);
  if (!e) e = PoisePrintf(ctx, "%" PRId64 " rows\n", r.N);
  DestroyRows(&r);
  return e ? e : PoiseMatSetFromOptions(*A);
}

static PoiseErr Create(PoiseContext ctx, const Options *o, Solver *s)
{
  TRY(CreateMat(ctx, o, &s->A));
  TRY(PoiseMatCreateVecs(s->A, &s->x, &s->b));
  TRY(PoiseVecSetRandom(s->b, 1));
  TRY(PoiseVecToDevice(s->b));
  TRY(PoiseKSPCreate(ctx, &s->ksp));
  TRY(PoiseKSPSetOperators(s->ksp, s->A, NULL));
  return PoiseKSPSetFromOptions(s->ksp);
}

/* Set the tolerance with which the solve ends after `its` iterations. */
static PoiseErr Aim(Solver *s, PoiseInt its)
{
  PoiseInt count;
  const double *norms;
  TRY(PoiseKSPSetTolerances(s->ksp, 0, 0, 1e300, its));
  TRY(PoiseKSPKeepHistory(s->ksp, 1));
  TRY(PoiseKSPSolve(s->ksp, s->b, s->x));
  TRY(PoiseKSPHistory(s->ksp, &count, &norms));
  if (count <= its) POISE_FAIL(POISE_ERR_STATE, "the solve ended after %" PRId64 " iterations", count - 1);
  double rtol = norms[its] / norms[0] * (1 + 1e-12);
  TRY(PoiseKSPKeepHistory(s->ksp, 0));
  return PoiseKSPSetTolerances(s->ksp, rtol, 0, 1e300, 10 * its + 100);
}

static PoiseErr Row(PoiseContext ctx, const Options *o, Solver *s, PoiseInt its)
{
  Times times = {0};
  double start, end = PoiseTime() + o->seconds;
  TRY(Aim(s, its));
  for (int k = 0; k < 3; k++) TRY(PoiseKSPSolve(s->ksp, s->b, s->x));
  while (times.n < MAX_REPEATS && (times.n < 9 || PoiseTime() < end)) {
    TRY(Begin(ctx, &start));
    TRY(PoiseKSPSolve(s->ksp, s->b, s->x));
    TRY(End(ctx, start, &times));
  }
  double t = 1e6 * Median(&times), done = (double)PoiseKSPIterations(s->ksp);
  TRY(PoisePrintf(ctx, "%8.0f %12.1f %12.1f %12.3f  %s\n", done, t, 1e6 * Least(&times),
                  (t - s->before) / (done - s->at), PoiseKSPReasonString(PoiseKSPConvergedReason(s->ksp))));
  s->before = t, s->at = done;
  return POISE_OK;
}

static PoiseErr Products(PoiseContext ctx, PoiseInt count, Solver *s)
{
  TRY(PoiseLogBegin(ctx, "bare products"));
  for (PoiseInt k = 0; k < count; k++) TRY(PoiseMatMult(s->A, s->b, s->x));
  return PoiseLogEnd(ctx, "bare products");
}

static PoiseErr Measure(PoiseContext ctx, const Options *o, Solver *s)
{
  TRY(Create(ctx, o, s));
  TRY(PoisePrintf(ctx, "iterations   median us     least us  us per iteration\n"));
  for (char *p = (char *)o->iterations, *end; strtol(p, &end, 10) > 0; p = end)
    TRY(Row(ctx, o, s, strtol(p, NULL, 10)));
  if (o->products) TRY(Products(ctx, o->products, s));
  return PoiseKSPView(s->ksp);
}

/* ---- from arrays to x ------------------------------------------------------------------------ */

enum { MOST = 100000 /* iterations */, FAR = 1000 /* times rtol: a norm of another kind than |b - A x| */ };

typedef struct Whole {
  PoiseContext ctx;
  const Options *o;
  const Peer *peer;
  void *peer_data;
  Rows rows, there; /* there: those in a GPU's memory */
  PoiseVec b;
  double *rhs, *x;
  Task task;
  char type[64];
} Whole;

typedef struct Side { /* the library or another */
  Times first, second, difference, renewed;
  int64_t iterations;
  double residual;
} Side;

static void Close(Whole *w)
{
  if (w->there.ptr) w->peer->take_back(w->there.ptr);
  if (w->there.col) w->peer->take_back(w->there.col);
  if (w->there.val) w->peer->take_back(w->there.val);
  PoiseVecDestroy(&w->b);
  DestroyRows(&w->rows);
  free(w->rhs);
  free(w->x);
  if (w->peer) w->peer->close(w->peer_data);
}

static PoiseErr Lend(Whole *w)
{
  const Rows *r = &w->rows;
  size_t nz = (size_t)r->ptr[r->n];
  if (!w->peer->lend) return POISE_OK;
  TRY(w->peer->lend(r->ptr, (size_t)(r->n + 1) * sizeof *r->ptr, (void **)&w->there.ptr));
  TRY(w->peer->lend(r->col, nz * sizeof *r->col, (void **)&w->there.col));
  return w->peer->lend(r->val, nz * sizeof *r->val, (void **)&w->there.val);
}

static int MethodOf(const char *type)
{
  if (!strcmp(type, "bicgstab")) return OP_BICGSTAB;
  if (!strcmp(type, "gmres")) return OP_GMRES;
  return !strcmp(type, "cg") || !strcmp(type, "prcg") ? OP_CG : OP_OTHER;
}

/* Do the others do the same? */
static PoiseErr Choose(Whole *w)
{
  PoiseKSP ksp;
  PoisePC pc;
  TRY(PoiseKSPCreate(w->ctx, &ksp));
  PoiseErr e = PoiseKSPSetFromOptions(ksp);
  if (!e) e = PoiseKSPGetPC(ksp, &pc);
  if (!e) snprintf(w->type, sizeof w->type, "%s %s", PoiseKSPType(ksp), PoisePCType(pc));
  if (!e) w->task.op = strcmp(PoisePCType(pc), "jacobi") ? OP_OTHER : MethodOf(PoiseKSPType(ksp));
  PoiseKSPDestroy(&ksp);
  return e;
}

static PoiseErr Open(Whole *w, int argc, char **argv)
{
  double cache = 1;
  const double *array;
  w->peer = PeerOn(DeviceOf(w->ctx));
  if (PoiseSize(w->ctx) > 1) POISE_FAIL(POISE_ERR_UNSUPPORTED, "-rtol: one rank is measured here");
  TRY(w->peer->open(1024, &cache, &w->peer_data));
  TRY(DescribeRun(w->ctx, w->peer, w->peer_data, argc, argv, NULL));
  TRY(CreateRows(w->ctx, w->o->problem, true, w->o->bytes, &w->rows));
  int64_t n = w->rows.n;
  w->rhs = malloc((size_t)(n + 1) * sizeof *w->rhs);
  w->x = malloc((size_t)(n + 1) * sizeof *w->x);
  if (!w->rhs || !w->x) POISE_FAIL(POISE_ERR_MEMORY, "two vectors of %" PRId64 " entries", n);
  TRY(PoiseVecCreate(w->ctx, n, POISE_DECIDE, &w->b));
  TRY(PoiseVecSetRandom(w->b, 1));
  TRY(PoiseVecGetRead(w->b, &array));
  memcpy(w->rhs, array, (size_t)n * sizeof *array);
  TRY(PoiseVecRestore(w->b, &array));
  TRY(PoiseVecToDevice(w->b));
  w->task = (Task){.n = n, .rows = &w->rows, .x = w->rhs};
  TRY(Choose(w));
  return Lend(w);
}

static PoiseErr Build(Whole *w, Solver *s)
{
  const Rows *r = &w->rows, *at = w->there.ptr ? &w->there : r;
  PoiseCSR csr = {.ptr32 = at->ptr, .col32 = at->col, .val = at->val};
  TRY(w->there.ptr ? PoiseMatCreateDeviceCSR(w->ctx, r->n, r->n, r->N, r->N, &csr, POISE_BORROW, &s->A)
                   : PoiseMatCreateCSR(w->ctx, r->n, r->n, r->N, r->N, &csr, POISE_BORROW, &s->A));
  TRY(PoiseMatSetBlockSize(s->A, r->block));
  TRY(PoiseMatSetFromOptions(s->A));
  TRY(PoiseMatCreateVecs(s->A, &s->x, NULL));
  TRY(PoiseKSPCreate(w->ctx, &s->ksp));
  TRY(PoiseKSPSetOperators(s->ksp, s->A, NULL));
  TRY(PoiseKSPSetTolerances(s->ksp, w->o->rtol, 0, 1e300, MOST));
  return PoiseKSPSetFromOptions(s->ksp);
}

static PoiseErr Ours(Whole *w, Solver *s, Solved *result)
{
  const double *array;
  double start = PoiseTime();
  TRY(Build(w, s));
  TRY(PoiseKSPSolve(s->ksp, w->b, s->x));
  result->first = PoiseTime() - start;
  start = PoiseTime();
  TRY(PoiseKSPSolve(s->ksp, w->b, s->x));
  result->second = PoiseTime() - start;
  TRY(PoiseMatScale(s->A, 1)); /* as good as new */
  TRY(PoiseMatMult(s->A, w->b, s->x));
  TRY(PoiseVecGetRead(s->x, &array)); /* waits for it */
  TRY(PoiseVecRestore(s->x, &array));
  start = PoiseTime();
  TRY(PoiseKSPSolve(s->ksp, w->b, s->x));
  result->renewed = PoiseTime() - start;
  result->iterations = PoiseKSPIterations(s->ksp);
  TRY(PoiseVecGetRead(s->x, &array));
  memcpy(result->x, array, (size_t)w->rows.n * sizeof *array);
  return PoiseVecRestore(s->x, &array);
}

static PoiseErr Once(Whole *w, bool ours, Solved *result)
{
  Solver s = {0};
  if (!ours) return w->peer->solve(w->peer_data, &w->task, w->o->rtol, MOST, result);
  PoiseErr e = Ours(w, &s, result);
  Destroy(&s);
  return e;
}

static PoiseErr Round(Whole *w, bool ours, bool rehearsal, Side *side)
{
  Solved result = {.x = w->x};
  TRY(Once(w, ours, &result));
  side->iterations = result.iterations;
  if (rehearsal) {
    side->residual = TrueResidual(&w->rows, w->rhs, w->x);
    return POISE_OK;
  }
  side->first.t[side->first.n++] = result.first;
  side->second.t[side->second.n++] = result.second;
  side->difference.t[side->difference.n++] = result.first - result.second;
  if (result.renewed > 0) side->renewed.t[side->renewed.n++] = result.renewed;
  return POISE_OK;
}

static PoiseErr Tell(const Whole *w, const char *who, Side *side)
{
  TRY(PoisePrintf(w->ctx, "%-16s %-20s %10" PRId64 " %12.1f %12.1f %12.1f  %.2e\n", who, w->type,
                  side->iterations, 1e6 * Median(&side->first), 1e6 * Median(&side->second),
                  1e6 * Median(&side->difference), side->residual));
  if (side->renewed.n)
    TRY(PoisePrintf(w->ctx, "  with new values of the same pattern: %.1f us\n",
                    1e6 * Median(&side->renewed)));
  if (side->residual <= FAR * w->o->rtol) return POISE_OK;
  POISE_FAIL(POISE_ERR_NUMERIC, "the residual of %s is WRONG", who);
}

static PoiseErr Race(Whole *w)
{
  Side ours = {0}, others = {0};
  bool both = w->task.op != OP_OTHER;
  for (PoiseInt round = 0; round <= w->o->rounds; round++) {
    TRY(Round(w, true, !round, &ours));
    if (both) TRY(Round(w, false, !round, &others));
  }
  TRY(PoisePrintf(w->ctx,
                  "%" PRId64 " rows, rtol %g\n"
                  "who              method               iterations     first us    second us   difference"
                  "  residual\n",
                  w->rows.N, w->o->rtol));
  TRY(Tell(w, "poise", &ours));
  return both ? Tell(w, w->peer->name, &others) : POISE_OK;
}

static PoiseErr FromArrays(PoiseContext ctx, const Options *o, int argc, char **argv)
{
  Whole w = {.ctx = ctx, .o = o};
  PoiseErr e = Open(&w, argc, argv);
  if (!e) e = Race(&w);
  Close(&w);
  return e;
}

int main(int argc, char **argv)
{
  Options o;
  PoiseContext ctx;
  Solver s = {0};
  const PoiseInit init = {.help = "Times of whole solves", .options = table};
  PoiseErr e = PoiseInitialize(&argc, &argv, &init, &ctx);
  if (!e) e = PoiseOptionsDefaults(table, &o);
  if (!e) e = PoiseOptionsRead(ctx, NULL, table, &o);
  if (!e) e = o.rtol > 0 ? FromArrays(ctx, &o, argc, argv) : Measure(ctx, &o, &s);
  Destroy(&s);
  if (!e) e = PoiseFinalize(&ctx);
  if (e) fputs(PoiseErrorText(), stderr);
  return e ? 1 : 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  One measurement on any number of ranks: threads (-ranks), processes (mpirun), or workers of one process
  (-gpus, -solve_ranks). gpus.sh makes a record of many.

    gpus -device cuda -ranks 2 -problem 7 -bytes 1.47e9 -ksp_type cg -pc_type jacobi
    gpus -device cuda -ranks 2 -problem rmat -bytes 8.3e8 -measure product -types "auto pcsr"

  loop     an iteration of any method: solves of the longer number of iterations less solves of the shorter
           one, in turns, over the difference. What is done once in a solve cancels.
  product  y = A x, one behind the other. Outside solvers ranks exchange through the hosts.
  whole    set-up and a solve, to the solver's tolerance: the first ones of the process, the same with solvers
           that are made anew, and solves alone.

  Times are those of the slowest rank. A row: what; problem, rows, nonzeros; ranks, their kind, how devices
  exchange; type of A; median, least and most in microseconds, number of repeats; nonzeros of the largest part
  over the mean; columns of other ranks that ranks need, in all; the norm of the last result, which is nearly
  the same whatever the ranks. A row of `whole` has before these the first set-up, the first solve, both with
  a new solver (the median), and iterations. The exit status is 4 where something is not supported.

  -coupled no leaves out entries in columns of other ranks: then nothing but sums is exchanged. -share p, on
  one rank, is what the first of p ranks would have, alone: for meshes.
*/
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <math.h>
#include <poise.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/library.h"
#include "common/problems.h"

#define TRY POISE_TRY

enum { LOOP, PRODUCT, WHOLE };

typedef struct Options {
  int measure, problem, coupled;
  double bytes, seconds;
  PoiseInt shorter, longer, share, repeats;
  char types[POISE_OPTION_LENGTH];
} Options;

static const PoiseOption table[] = {
    {"measure", POISE_OPTION_CHOICE, offsetof(Options, measure), "loop", 0, 0, "loop|product|whole",
     "what is measured"},
    {"problem", POISE_OPTION_CHOICE, offsetof(Options, problem), "7", 0, 0, PROBLEM_WORDS, "which matrix"},
    {"bytes", POISE_OPTION_REAL, offsetof(Options, bytes), "3e6", 1, 1e12, NULL, "bytes of the matrix"},
    {"types", POISE_OPTION_STRING, offsetof(Options, types), "", 0, 0, NULL,
     "types of A, one after the other; none: as -mat_type says"},
    {"coupled", POISE_OPTION_BOOL, offsetof(Options, coupled), "yes", 0, 0, NULL,
     "entries in columns of other ranks too"},
    {"share", POISE_OPTION_INT, offsetof(Options, share), "1", 1, 4096, NULL,
     "one rank has the part of the first of so many"},
    {"shorter", POISE_OPTION_INT, offsetof(Options, shorter), "200", 1, 1000000, NULL,
     "iterations of the shorter solve"},
    {"longer", POISE_OPTION_INT, offsetof(Options, longer), "1200", 2, 1000000, NULL,
     "iterations of the longer solve; as many products are one repeat"},
    {"repeats", POISE_OPTION_INT, offsetof(Options, repeats), "5", 1, MAX_REPEATS, NULL, "repeats, at least"},
    {"seconds", POISE_OPTION_REAL, offsetof(Options, seconds), "2", 0, 1e4, NULL, "of repeats, at least"},
    {0},
};

typedef struct Run {
  PoiseContext ctx;
  const Options *o;
  const char *kind; /* of the ranks */
  int ranks;        /* or workers */
  Rows rows;
  double nonzeros, largest; /* of all ranks; of the largest part over the mean */
  double ghosts;            /* of all ranks; NAN: the view does not say it */
  char exchange[64];
  PoiseMat A;
  PoiseVec x, y;
  PoiseKSP ksp;
  double norm;
} Run;

/* ---- the matrix ------------------------------------------------------------------------------ */

/* Entries in columns of these rows alone; with `alone` they are the whole matrix. */
static void Uncouple(Rows *r, bool alone)
{
  int32_t put = 0, from = 0;
  for (int64_t i = 0; i < r->n; i++) {
    for (; from < r->ptr[i + 1]; from++)
      if (r->col[from] >= r->begin && r->col[from] < r->begin + r->n)
        r->col[put] = r->col[from], r->val[put++] = r->val[from];
    r->ptr[i + 1] = put;
  }
  if (alone) r->N = r->n;
}

static PoiseErr CreateShare(Run *w)
{
  Mesh m;
  int64_t share = w->o->share;
  if (w->o->problem > ELASTICITY || PoiseSize(w->ctx) > 1)
    POISE_FAIL(POISE_ERR_UNSUPPORTED, "-share: of a mesh, on one rank");
  CreateMesh(w->ctx, w->o->problem, true, w->o->bytes, &m);
  if (m.k < share)
    POISE_FAIL(POISE_ERR_SIZE, "%" PRId64 " planes are too few for %" PRId64 " ranks", m.k, share);
  m.n = m.nodes / m.k * ((m.k + share - 1) / share);
  TRY(CreateMeshRows(&m, &w->rows));
  Uncouple(&w->rows, true);
  return POISE_OK;
}

static PoiseErr CreateMatrix(Run *w)
{
  if (w->o->share > 1) {
    TRY(CreateShare(w));
  } else {
    TRY(CreateRows(w->ctx, w->o->problem, true, w->o->bytes, &w->rows));
    if (!w->o->coupled) Uncouple(&w->rows, false);
  }
  double nz = w->rows.ptr[w->rows.n];
  w->nonzeros = nz;
  TRY(PoiseSum(w->ctx, 1, &w->nonzeros));
  TRY(PoiseMax(w->ctx, 1, &nz));
  w->largest = nz * PoiseSize(w->ctx) / fmax(w->nonzeros, 1);
  return POISE_OK;
}

/* What stands in a view behind these words, up to the end of its line; "" if they do not stand in it. */
static void Behind(const char *view, const char *words, char *text, size_t size)
{
  const char *at = strstr(view, words);
  *text = 0;
  if (at) snprintf(text, size, "%.*s", (int)strcspn(at + strlen(words), "\n"), at + strlen(words));
}

static void LookAtParts(Run *w, const char *view)
{
  char words[64];
  const char *at = strstr(view, " ghost columns "); /* over all ranks */
  Behind(view, "nonzeros of a part at most ", words, sizeof words);
  if (*words) w->largest = atof(words);
  w->ghosts = PoiseSize(w->ctx) > 1 ? NAN : 0;
  while (at && at > view && at[-1] >= '0' && at[-1] <= '9') at--;
  if (at) w->ghosts = atof(at) * (strstr(at, "columns of blocks over") ? w->rows.block : 1);
  Behind(view, "ghost columns over all ranks: ", words, sizeof words);
  (void)sscanf(words, "%*f before, %lf", &w->ghosts); /* of a solver's rearranged copy */
}

/* How ranks exchange is one word of the row. */
static PoiseErr Look(Run *w)
{
  char *view = NULL;
  PoiseErr e = w->ksp ? ViewText(w->ctx, ViewKSP, w->ksp, &view) : ViewText(w->ctx, ViewMat, w->A, &view);
  if (!e) LookAtParts(w, view);
  free(view);
  view = NULL;
  if (!e) e = ViewText(w->ctx, ViewContext, w->ctx, &view);
  if (!e) {
    char words[64];
    Behind(view, "exchange between devices: ", w->exchange, sizeof w->exchange);
    Behind(view, "workers of solves: ", words, sizeof words);
    if (*words) w->ranks = atoi(words);
  }
  free(view);
  for (char *c = w->exchange; *c; c++)
    if (*c == ' ') *c = '_';
  return e;
}

static PoiseErr Fill(PoiseVec v, int64_t begin, int64_t n)
{
  double *a;
  TRY(PoiseVecGetWrite(v, &a));
  for (int64_t i = 0; i < n; i++) a[i] = 0.5 + RandomAt(begin + i, 0);
  TRY(PoiseVecRestore(v, &a));
  return PoiseVecToDevice(v);
}

static void Destroy(Run *w)
{
  PoiseKSPDestroy(&w->ksp);
  PoiseVecDestroy(&w->x);
  PoiseVecDestroy(&w->y);
  PoiseMatDestroy(&w->A);
}

static PoiseErr MakeSolver(Run *w)
{
  TRY(PoiseKSPCreate(w->ctx, &w->ksp));
  TRY(PoiseKSPSetOperators(w->ksp, w->A, NULL));
  return PoiseKSPSetFromOptions(w->ksp);
}

static PoiseErr Create(Run *w, const char *type)
{
  const Rows *r = &w->rows;
  PoiseCSR csr = {.ptr32 = r->ptr, .col32 = r->col, .val = r->val};
  TRY(PoiseMatCreateCSR(w->ctx, r->n, r->n, r->N, r->N, &csr, POISE_COPY, &w->A));
  TRY(PoiseMatSetBlockSize(w->A, r->block));
  if (*type) TRY(PoiseMatSetType(w->A, type));
  TRY(PoiseMatSetFromOptions(w->A));
  TRY(PoiseMatCreateVecs(w->A, &w->x, &w->y));
  TRY(Fill(w->x, r->begin, r->n));
  return w->o->measure == PRODUCT ? POISE_OK : MakeSolver(w);
}

/* ---- times ----------------------------------------------------------------------------------- */

static PoiseErr Row(Run *w, Times *t, double per, const char *before)
{
  double most = 0, scale = 1e6 / per, median = Median(t);
  for (int k = 0; k < t->n; k++) most = fmax(most, t->t[k]);
  TRY(Look(w));
  return PoisePrintf(w->ctx,
                     "%-8s %-14s %10" PRId64
                     " %11.0f %3d %-9s %-24s %-8s %s%11.3f %11.3f %11.3f %3d %6.3f %9.0f "
                     "%.9e\n",
                     w->o->measure == LOOP      ? "loop"
                     : w->o->measure == PRODUCT ? "product"
                                                : "whole",
                     problem_words[w->o->problem], w->rows.N, w->nonzeros, w->ranks, w->kind, w->exchange,
                     PoiseMatType(w->A), before, median * scale, Least(t) * scale, most * scale, t->n,
                     w->largest, w->ghosts, w->norm);
}

/* Is that enough? The same on all ranks. */
static PoiseErr Enough(const Run *w, int done, double start, bool *enough)
{
  double seconds = PoiseTime() - start;
  TRY(PoiseMax(w->ctx, 1, &seconds));
  *enough = done >= MAX_REPEATS || (done >= w->o->repeats && seconds >= w->o->seconds);
  return POISE_OK;
}

static PoiseErr SolveOf(Run *w, PoiseInt its, Times *t)
{
  double start;
  TRY(PoiseKSPSetTolerances(w->ksp, 0, 0, 1e300, its));
  TRY(Begin(w->ctx, &start));
  TRY(PoiseKSPSolve(w->ksp, w->x, w->y));
  TRY(End(w->ctx, start, t));
  if (PoiseKSPIterations(w->ksp) != its)
    POISE_FAIL(POISE_ERR_STATE, "a solve of %" PRId64 " iterations ended after %" PRId64, its,
               PoiseKSPIterations(w->ksp));
  return POISE_OK;
}

static PoiseErr Loop(Run *w)
{
  const Options *o = w->o;
  Times rehearsal = {0}, differences = {0};
  bool enough = false;
  if (o->longer <= o->shorter)
    POISE_FAIL(POISE_ERR_OPTION, "-longer %" PRId64 " is not more than -shorter %" PRId64, o->longer,
               o->shorter);
  TRY(SolveOf(w, o->longer, &rehearsal));
  TRY(SolveOf(w, o->shorter, &rehearsal));
  TRY(PoiseVecNorm(w->y, POISE_NORM_2, &w->norm));
  for (double start = PoiseTime(); !enough;) {
    Times pair = {0};
    TRY(SolveOf(w, o->shorter, &pair));
    TRY(SolveOf(w, o->longer, &pair));
    differences.t[differences.n++] = pair.t[1] - pair.t[0];
    TRY(Enough(w, differences.n, start, &enough));
  }
  return Row(w, &differences, (double)(o->longer - o->shorter), "");
}

static PoiseErr Products(Run *w, PoiseInt count, Times *t)
{
  double start;
  TRY(Begin(w->ctx, &start));
  for (PoiseInt k = 0; k < count; k++) TRY(PoiseMatMult(w->A, w->x, w->y));
  TRY(PoiseVecNorm(w->y, POISE_NORM_2, &w->norm)); /* waits */
  return End(w->ctx, start, t);
}

static PoiseErr Product(Run *w)
{
  const Options *o = w->o;
  Times rehearsal = {0}, times = {0};
  PoiseInt count = o->longer < 100 ? o->longer : 100;
  bool enough = false;
  TRY(Products(w, 3, &rehearsal));
  for (double start = PoiseTime(); !enough;) {
    TRY(Products(w, count, &times));
    TRY(Enough(w, times.n, start, &enough));
  }
  return Row(w, &times, (double)count, "");
}

static PoiseErr SetUp(Run *w, Times *t)
{
  double start;
  TRY(Begin(w->ctx, &start));
  TRY(PoiseKSPSetUp(w->ksp));
  return End(w->ctx, start, t);
}

static PoiseErr Solve(Run *w, Times *t)
{
  double start;
  TRY(Begin(w->ctx, &start));
  TRY(PoiseKSPSolve(w->ksp, w->x, w->y));
  return End(w->ctx, start, t);
}

static PoiseErr Whole(Run *w)
{
  enum { NEW = 3 };
  Times setup = {0}, first = {0}, both = {0}, times = {0};
  char before[96];
  bool enough = false;
  TRY(SetUp(w, &setup));
  TRY(Solve(w, &first));
  for (int k = 0; k < NEW; k++) {
    Times parts = {0};
    PoiseKSPDestroy(&w->ksp);
    TRY(MakeSolver(w));
    TRY(SetUp(w, &parts));
    TRY(Solve(w, &parts));
    both.t[both.n++] = parts.t[0] + parts.t[1];
  }
  for (double begin = PoiseTime(); !enough;) {
    TRY(Solve(w, &times));
    TRY(Enough(w, times.n, begin, &enough));
  }
  TRY(PoiseVecNorm(w->y, POISE_NORM_2, &w->norm));
  snprintf(before, sizeof before, "%11.1f %11.1f %11.1f %6" PRId64 " ", 1e6 * setup.t[0], 1e6 * first.t[0],
           1e6 * Median(&both), PoiseKSPIterations(w->ksp));
  return Row(w, &times, 1, before);
}

static PoiseErr Measure(Run *w, const char *type)
{
  static PoiseErr (*const measures[])(Run *) = {Loop, Product, Whole};
  PoiseErr e = PoiseAgree(w->ctx, Create(w, type));
  if (!e) e = measures[w->o->measure](w);
  Destroy(w);
  return e;
}

static PoiseErr EachType(Run *w)
{
  char types[POISE_OPTION_LENGTH], *rest = NULL;
  if (!*w->o->types) return Measure(w, "");
  snprintf(types, sizeof types, "%s", w->o->types);
  for (char *type = strtok_r(types, " ", &rest); type; type = strtok_r(NULL, " ", &rest))
    TRY(Measure(w, type));
  return POISE_OK;
}

/* ---- ranks ----------------------------------------------------------------------------------- */

typedef struct Call {
  Options o;
  int processes;
} Call;

static void CountRanks(Run *w, int processes)
{
  const char *given;
  w->ranks = PoiseSize(w->ctx);
  w->kind = processes > 1 ? "processes" : w->ranks > 1 ? "threads" : "one";
  bool gpus = PoiseOptionsHas(w->ctx, NULL, "gpus", &given);
  if (w->ranks > 1 || (!gpus && !PoiseOptionsHas(w->ctx, NULL, "solve_ranks", &given))) return;
  w->kind = "workers";
}

static PoiseErr OnRanks(PoiseContext ctx, void *arg)
{
  const Call *call = arg;
  Run w = {.ctx = ctx, .o = &call->o};
  CountRanks(&w, call->processes);
  PoiseErr e = PoiseAgree(ctx, CreateMatrix(&w));
  if (!e) e = EachType(&w);
  DestroyRows(&w.rows);
  return e;
}

int main(int argc, char **argv)
{
  Call call;
  PoiseContext ctx;
  const PoiseInit init = {.help = "One measurement on any number of ranks", .options = table};
  setvbuf(stdout, NULL, _IOLBF, 0); /* what was measured stays, if time runs out */
  PoiseErr e = PoiseInitialize(&argc, &argv, &init, &ctx);
  if (!e) e = PoiseOptionsDefaults(table, &call.o);
  if (!e) e = PoiseOptionsRead(ctx, NULL, table, &call.o);
  if (!e) call.processes = PoiseSize(ctx);
  if (!e) e = PoiseRun(ctx, OnRanks, &call);
  if (!e) e = PoiseFinalize(&ctx);
  if (e) fputs(PoiseErrorText(), stderr);
  return e == POISE_ERR_UNSUPPORTED ? 4 : e ? 1 : 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Solvers beside each other on one matrix, with what a preconditioner costs: its set-up in products, an
  iteration, and the whole.

    preconditioners -device cuda -problem 7 -bytes 1.5e9 -ksp_rtol 1e-8 \
      -ways "cg jacobi; cg sor -pc_sor_order colours; cg icc -pc_factor_order colours; cg amg"

  A way is a method, a preconditioner, and options. 7, 27, elasticity: as elsewhere, with variable
  coefficients. jump: 7 points, whose cells of 10^3 points have coefficients 1 and 1e4 in turn, with harmonic
  means between points. convection: 7 points, a wind that turns around the vertical axis, differences against
  it; about as strong as diffusion between points. b is random, x begins with 0. Options without a prefix are
  for all.

  A row: iterations; medians in milliseconds of the set-up of a new solver, of that with new values, and of a
  solve that is set up; the set-up in products with A; microseconds of an iteration; that, and set-up with
  solve, beside those of the first way; |b - A x| / |b|. Ways take turns. The exit status is 1 where one has
  not converged, unless -ksp_max_it has been given.
*/
#include <inttypes.h>
#include <math.h>
#include <poise.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"
#include "problems.h"

#define TRY POISE_TRY

enum { MOST_WAYS = 16, PRODUCTS = 20 };

typedef struct Options {
  int problem, view;
  double bytes;
  PoiseInt rounds;
  char ways[POISE_OPTION_LENGTH];
} Options;

enum { P7, P27, BLOCKS, JUMP, CONVECTION };
static const int meshes[] = {SEVEN, TWENTY_SEVEN, ELASTICITY};

static const PoiseOption table[] = {
    {"problem", POISE_OPTION_CHOICE, offsetof(Options, problem), "7", 0, 0, "7|27|elasticity|jump|convection",
     "which matrix"},
    {"bytes", POISE_OPTION_REAL, offsetof(Options, bytes), "3e7", 1, 2.5e10, NULL, "bytes of the matrix"},
    {"rounds", POISE_OPTION_INT, offsetof(Options, rounds), "5", 1, MAX_REPEATS, NULL, "of each way"},
    {"ways", POISE_OPTION_STRING, offsetof(Options, ways), "cg jacobi; cg sor; cg amg", 0, 0, NULL,
     "method, preconditioner and options, apart by semicolons"},
    {"view_each", POISE_OPTION_BOOL, offsetof(Options, view), "no", 0, 0, NULL, "show the solvers"},
    {0},
};

/* ---- matrices -------------------------------------------------------------------------------- */

/* Of the edge between two points. */
static double Edge(int problem, const int64_t *p, const int64_t *q)
{
  double a = (p[0] / 10 + p[1] / 10 + p[2] / 10) % 2 ? 1e4 : 1,
         b = (q[0] / 10 + q[1] / 10 + q[2] / 10) % 2 ? 1e4 : 1;
  return problem == JUMP ? 2 * a * b / (a + b) : 1;
}

/* The wind through the face behind p in direction d, in units of diffusion. */
static double Wind(int problem, int64_t side, const int64_t *p, int d)
{
  double x = ((double)p[0] + 0.5) / (double)side - 0.5, y = ((double)p[1] + 0.5) / (double)side - 0.5;
  return problem != CONVECTION || d == 2 ? 0 : d == 0 ? -2 * y : 2 * x;
}

/* Row i has its columns in ascending order: -z, -y, -x, itself, x, y, z. */
static int MakeRow(int problem, int64_t side, int64_t i, int64_t *col, double *val)
{
  static const int turn[6][2] = {{2, -1}, {1, -1}, {0, -1}, {0, 1}, {1, 1}, {2, 1}};
  const int64_t step[] = {1, side, side * side}, p[] = {i % side, i / side % side, i / side / side};
  double diagonal = 0;
  int n = 0, at = 0;
  for (int k = 0; k < 6; k++) {
    int d = turn[k][0], sign = turn[k][1];
    int64_t q[] = {p[0], p[1], p[2]};
    q[d] += sign;
    if (k == 3) at = n++;
    bool inside = q[d] >= 0 && q[d] < side;
    double a = inside ? Edge(problem, p, q) : 1, w = Wind(problem, side, sign > 0 ? p : q, d) * sign;
    diagonal += a + fmax(w, 0);
    if (!inside) continue;
    col[n] = i + sign * step[d], val[n++] = -a - fmax(-w, 0);
  }
  col[at] = i, val[at] = diagonal;
  return n;
}

static PoiseErr CreateGrid(PoiseContext ctx, int problem, double bytes, PoiseMat *A)
{
  int64_t side = (int64_t)ceil(cbrt(bytes / 88)), N = side * side * side;
  PoiseInt begin, m;
  PoiseSplit(ctx, N, &begin, &m);
  int64_t *ptr = calloc((size_t)m + 1, sizeof *ptr), *col = malloc(7 * (size_t)(m + 1) * sizeof *col);
  double *val = malloc(7 * (size_t)(m + 1) * sizeof *val);
  PoiseErr e = ptr && col && val ? POISE_OK : POISE_ERR_MEMORY;
  for (PoiseInt i = 0; !e && i < m; i++)
    ptr[i + 1] = ptr[i] + MakeRow(problem, side, begin + i, col + ptr[i], val + ptr[i]);
  PoiseCSR csr = {.ptr64 = ptr, .col64 = col, .val = val};
  e = PoiseAgree(ctx, e);
  if (!e) e = PoiseMatCreateCSR(ctx, m, m, N, N, &csr, POISE_COPY, A);
  free(ptr), free(col), free(val);
  return e;
}

static PoiseErr CreateMat(PoiseContext ctx, const Options *o, PoiseMat *A)
{
  Mesh mesh;
  Rows r = {0};
  if (o->problem > BLOCKS) return CreateGrid(ctx, o->problem, o->bytes, A);
  CreateMesh(ctx, meshes[o->problem], true, o->bytes, &mesh);
  PoiseErr e = PoiseAgree(ctx, CreateMeshRows(&mesh, &r));
  PoiseCSR csr = {.ptr32 = r.ptr, .col32 = r.col, .val = r.val};
  if (!e) e = PoiseMatCreateCSR(ctx, r.n, r.n, r.N, r.N, &csr, POISE_COPY, A);
  if (!e && r.block > 1) e = PoiseMatSetBlockSize(*A, r.block);
  DestroyRows(&r);
  return e;
}

/* ---- ways ------------------------------------------------------------------------------------ */

typedef struct Way {
  char name[POISE_OPTION_LENGTH], prefix[16];
  PoiseKSP ksp;
  Times made, again, solve;
  double residual;
} Way;

/* "cg sor -pc_sor_order colours" with the prefix of the k-th way */
static PoiseErr ReadWay(PoiseContext ctx, int k, char *text, Way *w)
{
  char *rest, *method = strtok_r(text, " \n", &rest), *pc = strtok_r(NULL, " \n", &rest), *word, line[400];
  if (!method || !pc) POISE_FAIL(POISE_ERR_ARG, "-ways: way %d has no method or no preconditioner", k);
  snprintf(w->prefix, sizeof w->prefix, "way%d_", k);
  snprintf(w->name, sizeof w->name, "%s %s%s%s", method, pc, *rest ? " " : "", rest);
  snprintf(line, sizeof line, "-%sksp_type %s -%spc_type %s", w->prefix, method, w->prefix, pc);
  TRY(PoiseOptionsSetString(ctx, line));
  while ((word = strtok_r(NULL, " \n", &rest))) {
    char *value = strtok_r(NULL, " \n", &rest);
    if (*word != '-' || !value)
      POISE_FAIL(POISE_ERR_ARG, "-ways: '%s' of way %d is not an option with a value", word, k);
    snprintf(line, sizeof line, "%s%s", w->prefix, word + 1);
    TRY(PoiseOptionsSet(ctx, line, value));
  }
  return POISE_OK;
}

static PoiseErr ReadWays(PoiseContext ctx, const Options *o, Way *w, int *n)
{
  char text[POISE_OPTION_LENGTH], *rest;
  snprintf(text, sizeof text, "%s", o->ways);
  *n = 0;
  for (char *way = strtok_r(text, ";", &rest); way; way = strtok_r(NULL, ";", &rest)) {
    if (*n == MOST_WAYS) POISE_FAIL(POISE_ERR_ARG, "-ways: more than %d", MOST_WAYS);
    TRY(ReadWay(ctx, *n, way, &w[*n]));
    ++*n;
  }
  return POISE_OK;
}

static PoiseErr CreateKSP(PoiseContext ctx, Way *w, PoiseMat A)
{
  PoiseKSPDestroy(&w->ksp);
  TRY(PoiseKSPCreate(ctx, &w->ksp));
  TRY(PoiseKSPSetFromOptions(w->ksp));
  TRY(PoiseKSPSetOptionsPrefix(w->ksp, w->prefix));
  TRY(PoiseKSPSetFromOptions(w->ksp));
  return PoiseKSPSetOperators(w->ksp, A, NULL);
}

/* Set up anew, solve, set up with new values. Round -1 is a rehearsal. */
static PoiseErr Turn(PoiseContext ctx, Way *w, PoiseMat A, PoiseVec b, PoiseVec x, PoiseInt round)
{
  Times none = {0};
  double start;
  TRY(CreateKSP(ctx, w, A));
  TRY(Begin(ctx, &start));
  TRY(PoiseKSPSetUp(w->ksp));
  TRY(PoiseWait(ctx));
  TRY(End(ctx, start, round < 0 ? &none : &w->made));
  none.n = 0;
  TRY(PoiseVecSet(x, 0));
  TRY(Begin(ctx, &start));
  TRY(PoiseKSPSolve(w->ksp, b, x));
  TRY(End(ctx, start, round < 0 ? &none : &w->solve));
  if (!round) TRY(PoiseKSPTrueResidual(w->ksp, b, x, &w->residual));
  none.n = 0;
  TRY(PoiseMatScale(A, 1));
  TRY(Begin(ctx, &start));
  TRY(PoiseKSPSetUp(w->ksp));
  TRY(PoiseWait(ctx));
  return End(ctx, start, round < 0 ? &none : &w->again);
}

static PoiseErr TimeProduct(PoiseContext ctx, PoiseMat A, PoiseVec x, PoiseVec y, double *seconds)
{
  Times t = {0};
  double start;
  TRY(PoiseMatMult(A, x, y));
  for (int round = 0; round < 5; round++) {
    TRY(Begin(ctx, &start));
    for (int k = 0; k < PRODUCTS; k++) TRY(PoiseMatMult(A, x, y));
    TRY(PoiseWait(ctx));
    TRY(End(ctx, start, &t));
  }
  *seconds = Median(&t) / PRODUCTS;
  return POISE_OK;
}

static PoiseErr Row(PoiseContext ctx, Way *w, Way *first, double product, double norm)
{
  PoiseInt its = PoiseKSPIterations(w->ksp), its0 = PoiseKSPIterations(first->ksp);
  double made = Median(&w->made), solve = Median(&w->solve), each = solve / (double)(its ? its : 1),
         each0 = Median(&first->solve) / (double)(its0 ? its0 : 1);
  return PoisePrintf(ctx, "%6lld %9.3f %9.3f %10.3f %8.1f %9.1f %6.2f %6.2f  %.1e  %s%s\n", (long long)its,
                     1e3 * made, 1e3 * Median(&w->again), 1e3 * solve, made / product, 1e6 * each,
                     each / each0, (made + solve) / (Median(&first->made) + Median(&first->solve)),
                     w->residual / norm, w->name,
                     PoiseKSPConvergedReason(w->ksp) > 0 ? "" : " (not converged)");
}

static PoiseErr Race(PoiseContext ctx, const Options *o, PoiseMat A, Way *w, int n)
{
  PoiseVec b, x;
  double product = 0, norm = 0;
  bool good = true;
  TRY(PoiseMatCreateVecs(A, &x, &b));
  TRY(PoiseVecSetRandom(b, 1));
  TRY(PoiseVecNorm(b, POISE_NORM_2, &norm));
  for (PoiseInt round = -1; round < o->rounds; round++)
    for (int k = 0; k < n; k++) TRY(Turn(ctx, &w[k], A, b, x, round));
  TRY(TimeProduct(ctx, A, b, x, &product));
  TRY(PoisePrintf(ctx, "rows %" PRId64 ", a product %.1f us\n", PoiseVecSize(x), 1e6 * product));
  TRY(PoisePrintf(ctx, "   its    set-up new values   solve ms products    us/it      to the first    "
                       "residual  way\n"));
  for (int k = 0; k < n; k++) {
    TRY(Row(ctx, &w[k], &w[0], product, norm));
    good = good && PoiseKSPConvergedReason(w[k].ksp) > 0;
    if (o->view) TRY(PoiseKSPView(w[k].ksp));
  }
  PoiseVecDestroy(&b);
  PoiseVecDestroy(&x);
  if (!good && !PoiseOptionsHas(ctx, NULL, "ksp_max_it", NULL))
    POISE_FAIL(POISE_ERR_NUMERIC, "a way has not converged");
  return POISE_OK;
}

static PoiseErr Run(PoiseContext ctx, const Options *o)
{
  static Way w[MOST_WAYS];
  PoiseMat A = NULL;
  int n = 0;
  PoiseErr e = ReadWays(ctx, o, w, &n);
  if (!e) e = CreateMat(ctx, o, &A);
  if (!e) e = PoiseMatSetFromOptions(A);
  if (!e) e = Race(ctx, o, A, w, n);
  for (int k = 0; k < n; k++) PoiseKSPDestroy(&w[k].ksp);
  PoiseMatDestroy(&A);
  return e;
}

int main(int argc, char **argv)
{
  Options o;
  PoiseContext ctx;
  const PoiseInit init = {.help = "Preconditioners beside each other", .options = table};
  PoiseErr e = PoiseInitialize(&argc, &argv, &init, &ctx);
  if (!e) e = PoiseOptionsDefaults(table, &o);
  if (!e) e = PoiseOptionsRead(ctx, NULL, table, &o);
  if (!e) e = Run(ctx, &o);
  if (!e) e = PoiseFinalize(&ctx);
  if (e) fputs(PoiseErrorText(), stderr);
  return e ? 1 : 0;
}

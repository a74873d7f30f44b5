/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Multigrid on difference matrices of a cube, from arrays to x: what amg.py makes its table of.

    amg -case p7 -side 100 -ksp_type cg -pc_type amg -ksp_rtol 1e-8 -pc_amg_degree 2

  p7: the 7-point Laplacian. jump: cells of 10^3 points whose coefficients are 1 and 1e4 in turn, with
  harmonic means between points. aniso: 1 : 1 : 1000. All have u = 0 beyond the faces. -renumber: rows and
  columns in an order drawn from this seed. b is random.

  It prints the solver's view, and one line: case, rows, entries, iterations, |b - A x| / |b|, and CPU seconds
  of set-up, of the solve, and of set-up and solve with new values of the same pattern. With -clock wall they
  are seconds of the clock. -repeats: the least of so many, each with a solver that is made anew, while A
  stays where it is; the view is that of the last. On a GPU:

    amg -device cuda -clock wall -repeats 5 -case p7 -side 256 -ksp_type cg -pc_type amg -ksp_rtol 1e-8
*/
#define _POSIX_C_SOURCE 199309L /* the clock */
#include <inttypes.h>
#include <math.h>
#include <poise.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TRY POISE_TRY

enum { P7, JUMP, ANISO };

typedef struct Options {
  int problem, wall;
  PoiseInt side, renumber, repeats;
} Options;

static const PoiseOption table[] = {
    {"case", POISE_OPTION_CHOICE, offsetof(Options, problem), "p7", 0, 0, "p7|jump|aniso", "which matrix"},
    {"side", POISE_OPTION_INT, offsetof(Options, side), "100", 1, 1000, NULL,
     "points of an edge of the cube"},
    {"renumber", POISE_OPTION_INT, offsetof(Options, renumber), "0", 0, 1e9, NULL,
     "seed of the order of rows; 0: by coordinates"},
    {"clock", POISE_OPTION_CHOICE, offsetof(Options, wall), "cpu", 0, 0, "cpu|wall", "of the seconds"},
    {"repeats", POISE_OPTION_INT, offsetof(Options, repeats), "1", 1, 1000, NULL,
     "solvers that are made and timed"},
    {0},
};

typedef struct Rows {
  int64_t n, nz, *place, *at; /* place of a point; its inverse */
  int32_t *ptr, *col;
  double *val;
} Rows;

static double Coefficient(const Options *o, const int64_t *p)
{
  return o->problem == JUMP && (p[0] / 10 + p[1] / 10 + p[2] / 10) % 2 ? 1e4 : 1;
}

/* Of the edge from p along direction d. */
static double Edge(const Options *o, const int64_t *p, int d, int sign)
{
  int64_t q[3] = {p[0], p[1], p[2]};
  q[d] += sign;
  double a = Coefficient(o, p), b = q[d] < 0 || q[d] >= o->side ? a : Coefficient(o, q);
  return (o->problem == ANISO && d == 2 ? 1000 : 1) * 2 * a * b / (a + b);
}

static int ByColumn(const void *a, const void *b)
{
  const double *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

/* The row of point i, which is row place[i]. */
static void MakeRow(const Options *o, Rows *r, int64_t i)
{
  const int64_t k = o->side, step[3] = {1, k, k * k}, p[3] = {i % k, i / k % k, i / k / k};
  double entry[7][2], diagonal = 0;
  int n = 1;
  for (int d = 0; d < 3; d++)
    for (int sign = -1; sign <= 1; sign += 2) {
      double a = Edge(o, p, d, sign);
      diagonal += a;
      if (p[d] + sign < 0 || p[d] + sign >= k) continue;
      entry[n][0] = (double)r->place[i + sign * step[d]];
      entry[n++][1] = -a;
    }
  entry[0][0] = (double)r->place[i];
  entry[0][1] = diagonal;
  qsort(entry, (size_t)n, sizeof *entry, ByColumn);
  for (int e = 0; e < n; e++, r->nz++) r->col[r->nz] = (int32_t)entry[e][0], r->val[r->nz] = entry[e][1];
}

static PoiseErr MakeRows(const Options *o, Rows *r)
{
  uint64_t state = (uint64_t)o->renumber;
  r->n = o->side * o->side * o->side;
  size_t n = (size_t)r->n;
  r->place = malloc(n * sizeof *r->place), r->at = malloc(n * sizeof *r->at);
  r->ptr = calloc(n + 1, sizeof *r->ptr), r->col = malloc(7 * n * sizeof *r->col);
  r->val = malloc(7 * n * sizeof *r->val);
  if (!r->place || !r->at || !r->ptr || !r->col || !r->val) return POISE_ERR_MEMORY;
  for (int64_t i = 0; i < r->n; i++) r->place[i] = i;
  for (int64_t i = r->n - 1; o->renumber && i > 0; i--) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    int64_t j = (int64_t)((state >> 33) % (uint64_t)(i + 1)), t = r->place[i];
    r->place[i] = r->place[j], r->place[j] = t;
  }
  for (int64_t i = 0; i < r->n; i++) r->at[r->place[i]] = i;
  for (int64_t row = 0; row < r->n; row++) {
    MakeRow(o, r, r->at[row]);
    r->ptr[row + 1] = (int32_t)r->nz;
  }
  return POISE_OK;
}

static double Now(const Options *o)
{
  struct timespec t;
  if (o->wall) return PoiseTime();
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct Problem {
  PoiseMat A;
  PoiseVec b, x;
  PoiseKSP ksp;
  PoiseInt its, left; /* left: solvers to be made */
} Problem;

typedef struct Seconds {
  double setup, solve, again;
} Seconds;

static void Least(double *least, double s)
{
  if (*least == 0 || s < *least) *least = s;
}

/* With a solver of its own: what it takes, and with new values. */
static PoiseErr Solve(const Options *o, const Rows *r, Problem *s, Seconds *least, double *residual)
{
  double t[5];
  TRY(PoiseKSPCreate(PoiseMatContext(s->A), &s->ksp));
  TRY(PoiseKSPSetOperators(s->ksp, s->A, NULL));
  TRY(PoiseKSPSetFromOptions(s->ksp));
  t[0] = Now(o);
  TRY(PoiseKSPSetUp(s->ksp));
  t[1] = Now(o);
  TRY(PoiseKSPSolve(s->ksp, s->b, s->x));
  t[2] = Now(o);
  TRY(PoiseKSPTrueResidual(s->ksp, s->b, s->x, residual));
  s->its = PoiseKSPIterations(s->ksp);
  if (--s->left == 0) TRY(PoiseKSPView(s->ksp));
  TRY(PoiseMatSetValuesCSR(s->A, r->val));
  TRY(PoiseMatMult(s->A, s->b, s->x)); /* the values are on the device */
  t[3] = Now(o);
  TRY(PoiseKSPSetUp(s->ksp));
  TRY(PoiseKSPSolve(s->ksp, s->b, s->x));
  t[4] = Now(o);
  Least(&least->setup, t[1] - t[0]);
  Least(&least->solve, t[2] - t[1]);
  Least(&least->again, t[4] - t[3]);
  PoiseKSPDestroy(&s->ksp);
  return POISE_OK;
}

static PoiseErr SolveAll(const Options *o, const Rows *r, Problem *s)
{
  static const char *const names[] = {"p7", "jump", "aniso"};
  double residual, size;
  Seconds least = {0};
  TRY(PoiseVecSetRandom(s->b, 1));
  TRY(PoiseVecNorm(s->b, POISE_NORM_2, &size));
  TRY(PoiseMatMult(s->A, s->b, s->x)); /* the device has what a product needs */
  for (s->left = o->repeats; s->left > 0;) TRY(Solve(o, r, s, &least, &residual));
  return PoisePrintf(PoiseMatContext(s->A),
                     "RESULT %s rows %" PRId64 " entries %" PRId64 " iterations %" PRId64
                     " residual %.1e set-up %.4f solve %.4f again %.4f s\n",
                     names[o->problem], r->n, r->nz, s->its, residual / size, least.setup, least.solve,
                     least.again);
}

static PoiseErr Run(PoiseContext ctx, const Options *o, Rows *r, Problem *s)
{
  TRY(MakeRows(o, r));
  const PoiseCSR csr = {.ptr32 = r->ptr, .col32 = r->col, .val = r->val};
  TRY(PoiseMatCreateCSR(ctx, r->n, r->n, r->n, r->n, &csr, POISE_COPY, &s->A));
  TRY(PoiseMatCreateVecs(s->A, &s->x, &s->b));
  return SolveAll(o, r, s);
}

int main(int argc, char **argv)
{
  Options o;
  PoiseContext ctx;
  Rows r = {0};
  Problem s = {0};
  const PoiseInit init = {.help = "Multigrid on difference matrices", .options = table};
  PoiseErr e = PoiseInitialize(&argc, &argv, &init, &ctx);
  if (!e) e = PoiseOptionsDefaults(table, &o);
  if (!e) e = PoiseOptionsRead(ctx, NULL, table, &o);
  if (!e) e = Run(ctx, &o, &r, &s);
  PoiseKSPDestroy(&s.ksp);
  PoiseVecDestroy(&s.x);
  PoiseVecDestroy(&s.b);
  PoiseMatDestroy(&s.A);
  free(r.place), free(r.at), free(r.ptr), free(r.col), free(r.val);
  if (!e) e = PoiseFinalize(&ctx);
  if (e) fputs(PoiseErrorText(), stderr);
  return e ? 1 : 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Sweeps as the smoother of amg. Those of a level are judged by textbook loops over its rows in the order of
  their colours; a cycle by mathematics: symmetric, positive and contracting for any number of rows a rank,
  and no worse than with polynomials.
*/
#include "multigrid.h"
#include "pc/amg/sweeps.h"

static const char all[] = "-x_pc_amg_smoother sor -x_pc_amg_precision double -x_pc_amg_coarse_size 20 "
                          "-x_pc_amg_redundant_size 0 -x_pc_amg_degree 1 -x_pc_amg_cycle v";
static const char reset[] = "-x_pc_amg_smoother chebyshev -x_pc_amg_precision single "
                            "-x_pc_amg_coarse_size 600 -x_pc_amg_redundant_size -1 -x_pc_amg_degree 0 "
                            "-x_pc_amg_cycle auto";

/* ---- the sweeps of a level ------------------------------------------------------------------- */

typedef struct Level { /* this rank's rows; columns are global numbers */
  AmgLevel *l;
  int64_t begin, n, b, *ptr, *col;
  double *val;
  const int32_t *row; /* 1 + a row, or row of blocks, at each place; 0: none */
  int64_t places;
} Level;

static bool OpenLevel(AmgLevel *l, Level *a)
{
  Colours *of = &l->sweeps.copy.colours;
  *a = (Level){.l = l, .begin = l->A->rows->begin, .n = l->A->rows->n};
  a->b = poiseCsrSide(&l->A->csr), a->places = of->start[of->count];
  return CHECK_OK(PoiseMatCopyCSR(l->A, &a->ptr, &a->col, &a->val)) &&
         CHECK_OK(poiseBufferRead(&of->row, HOST, &a->row));
}

static void CloseLevel(Level *a)
{
  free(a->ptr);
  free(a->col);
  free(a->val);
}

/* x = D^-1 x of block I, where D has half the sum of what each row has on other ranks more. */
static void SolveDiagonal(const Level *a, int64_t I, long double *x)
{
  long double d[6 * 6] = {0};
  int b = (int)a->b;
  for (int q = 0; q < b; q++) {
    long double others = 0;
    for (int64_t k = a->ptr[I * b + q]; k < a->ptr[I * b + q + 1]; k++) {
      int64_t j = a->col[k] - a->begin;
      if (j < 0 || j >= a->n) others += fabs(a->val[k]);
      if (j >= I * b && j < (I + 1) * b) d[q * b + j - I * b] = a->val[k];
    }
    d[q * b + q] += others / 2;
  }
  for (int k = 0; k < b; k++) /* positive definite */
    for (int r = 0; r < b; r++) {
      long double f = d[r * b + k] / d[k * b + k];
      if (r == k) continue;
      for (int c = 0; c < b; c++) d[r * b + c] -= f * d[k * b + c];
      x[r] -= f * x[k];
    }
  for (int k = 0; k < b; k++) x[k] /= d[k * b + k];
}

/* In one direction, on the rank's own block. */
static void SweepTextbook(const Level *a, bool backward, const double *r, long double *x)
{
  for (int64_t p = 0; p < a->places; p++) {
    int64_t I = a->row[backward ? a->places - 1 - p : p] - 1;
    long double sum[6];
    for (int q = 0; I >= 0 && q < a->b; q++) {
      sum[q] = r[I * a->b + q];
      for (int64_t k = a->ptr[I * a->b + q]; k < a->ptr[I * a->b + q + 1]; k++) {
        int64_t j = a->col[k] - a->begin;
        if (j >= 0 && j < a->n && j / a->b != I) sum[q] -= a->val[k] * x[j];
      }
    }
    if (I >= 0) SolveDiagonal(a, I, sum);
    for (int q = 0; I >= 0 && q < a->b; q++) x[I * a->b + q] = sum[q];
  }
}

/* The largest |v - x|, over the largest |x|. */
static double Far(PoiseVec v, const long double *x)
{
  const double *there;
  double far = 0, size = 1e-300;
  int64_t n = PoiseVecLocalSize(v);
  if (!CHECK_OK(PoiseVecGetRead(v, &there))) return INFINITY;
  for (int64_t i = 0; i < n; i++) {
    far = poiseLarger(far, fabs((double)(there[i] - x[i])));
    size = poiseLarger(size, fabs((double)x[i]));
  }
  CHECK_OK(PoiseVecRestore(v, &there));
  return far / size;
}

/* x = r - A x of this rank's block */
static void Subtract(const Level *a, const double *r, long double *x)
{
  long double *y = malloc((size_t)(a->n + 1) * sizeof *y);
  for (int64_t i = 0; i < a->n; i++) {
    y[i] = r[i];
    for (int64_t k = a->ptr[i]; k < a->ptr[i + 1]; k++) y[i] -= a->val[k] * x[a->col[k] - a->begin];
  }
  memcpy(x, y, (size_t)a->n * sizeof *x);
  free(y);
}

/* A row of a coarse level may be 0, and takes no part: where an aggregate has fewer rows than there are
   vectors. */
static bool TakesAll(const Level *a)
{
  const double *d;
  bool all_rows = true;
  if (!CHECK_OK(poiseBufferRead(&a->l->sweeps.d, HOST, &d))) return false;
  for (int64_t i = 0; i < a->n; i++) all_rows = all_rows && d[i * a->b + i % a->b] != 0;
  return all_rows;
}

/* From a vector that is NaN all are made from 0. */
static void CheckLevel(AmgLevel *l)
{
  Level a;
  PoiseVec r, z, add;
  const double *b, *more;
  if (!CHECK(l->sweeps.made) || !OpenLevel(l, &a) || !CHECK_OK(PoiseMatCreateVecs(l->A, &z, &r)) ||
      !CHECK_OK(PoiseVecDuplicate(z, &add)))
    return;
  long double *x = calloc((size_t)a.n + 1, sizeof *x), *t = calloc((size_t)a.n + 1, sizeof *t);
  SampleFill(r, 3);
  SampleFill(add, 4);
  CHECK_OK(PoiseVecGetRead(r, &b));
  CHECK_OK(PoiseVecGetRead(add, &more));
  AmgVec of_r = {.wide = r}, of_z = {.wide = z}, of_add = {.wide = add};
  bool judged = TakesAll(&a);
  for (int backward = 0; backward < 2 && judged; backward++) {
    SampleConstant(z, NAN);
    CHECK_OK(poiseAmgSweep(l, backward, &of_r, &of_z, NULL));
    memset(x, 0, (size_t)a.n * sizeof *x);
    SweepTextbook(&a, backward, b, x);
    CHECK(Far(z, x) <= 1e-13);
  }
  for (int count = 1; count <= 3 && l->sweeps.alone && judged; count++) {
    CHECK_OK(poiseAmgSweepsDown(l, count, &of_r, &of_z, NULL));
    memset(x, 0, (size_t)a.n * sizeof *x);
    for (int k = 0; k < count; k++) SweepTextbook(&a, false, b, x);
    memcpy(t, x, (size_t)a.n * sizeof *t);
    Subtract(&a, b, t);
    CHECK(Far(z, t) <= 1e-12);
    CHECK_OK(poiseAmgSweepsUp(l, count, &of_add, &of_z, NULL, NULL));
    for (int64_t i = 0; i < a.n; i++) x[i] += more[i];
    for (int k = 0; k < count; k++) SweepTextbook(&a, true, b, x);
    CHECK(Far(z, x) <= 1e-13);
  }
  CHECK_OK(PoiseVecRestore(r, &b));
  CHECK_OK(PoiseVecRestore(add, &more));
  free(x);
  free(t);
  PoiseVecDestroy(&r);
  PoiseVecDestroy(&z);
  PoiseVecDestroy(&add);
  CloseLevel(&a);
}

static void CheckAllLevels(PoiseMat A)
{
  if (!A) return;
  PoisePC pc = AmgOf(A, all);
  const Amg *amg = Made(pc);
  CHECK(amg->count >= 2);
  for (int k = 0; k + 1 < amg->count; k++) {
    AmgLevel *l = &((Amg *)pc->data)->level[k];
    bool may_lack = k && poiseModelIsGpu(&pc->ctx->device->model); /* its colours are few entries each */
    if (l->sweeps.made || !may_lack) CheckLevel(l);
  }
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

static PoiseMat Motions(PoiseContext ctx, Beam b)
{
  PoiseMat A = NULL;
  if (CHECK_OK(Springs(ctx, b, &A))) AttachMotions(A, b);
  return A;
}

static void TestLevels(PoiseContext ctx)
{
  CheckAllLevels(GridOf(ctx, (Grid){.dim = 2, .k = 33, .vary = 0.9}));
  CheckAllLevels(GridOf(ctx, (Grid){.dim = 3, .k = 12, .jump = 1e4}));
  CheckAllLevels(Motions(ctx, (Beam){.dim = 2, .length = 24, .width = 6, .type = "csr"}));
  CheckAllLevels(Motions(ctx, (Beam){.dim = 3, .length = 14, .width = 4, .type = "bcsr"}));
  CheckAllLevels(Motions(ctx, (Beam){.dim = 3, .length = 14, .width = 4, .type = "csr", .thin = true}));
  SetOptions(ctx, reset);
}

/* ---- cycles ---------------------------------------------------------------------------------- */

/* Fewer iterations than with polynomials, and on several ranks not many more, in either precision. */
static void CheckAgainstChebyshev(PoiseMat A)
{
  if (!A) return;
  PoiseContext ctx = PoiseMatContext(A);
  SetOptions(ctx, reset);
  SetOptions(ctx, "-x_pc_amg_coarse_size 20 -x_pc_amg_redundant_size 0");
  int chebyshev = Iterations(A, "cg", "amg");
  SetOptions(ctx, "-x_pc_amg_smoother sor");
  int single = Iterations(A, "cg", "amg");
  SetOptions(ctx, "-x_pc_amg_precision double");
  int wide = Iterations(A, "cg", "amg");
  int most = PoiseSize(ctx) == 1 ? chebyshev - 1 : chebyshev + (PoiseSize(ctx) > 4 ? 3 : 1);
  CHECK(single > 0 && single <= most && wide > 0 && abs(wide - single) <= 1);
  SetOptions(ctx, reset);
  PoiseMatDestroy(&A);
}

static void TestIterations(PoiseContext ctx)
{
  CheckAgainstChebyshev(GridOf(ctx, (Grid){.dim = 3, .k = 16, .stretch = 1e3}));
  CheckAgainstChebyshev(GridOf(ctx, (Grid){.dim = 3, .k = 16, .jump = 1e4}));
  CheckAgainstChebyshev(GridOf(ctx, (Grid){.dim = 2, .k = 40, .vary = 0.95}));
  CheckAgainstChebyshev(Motions(ctx, (Beam){.dim = 3, .length = 16, .width = 5, .type = "bcsr"}));
  CheckAgainstChebyshev(Motions(ctx, (Beam){.dim = 2, .length = 40, .width = 9, .type = "csr"}));
}

/* Elements in stretched cells, on ranks that have few rows, or none: D^-1 A has eigenvalues above 2, so that
   Jacobi's method diverges. Sweeps over parts as small come close to that, but for what D has more. */
static void TestFewRows(PoiseContext ctx)
{
  static const char *const ways[] = {"-x_pc_amg_degree 1", "-x_pc_amg_degree 2 -x_pc_amg_precision single"};
  const Beam of[] = {{.dim = 2, .length = 5, .width = 4, .type = "bcsr", .aspect = 10},
                     {.dim = 2, .length = 7, .width = 3, .type = "csr", .aspect = 4},
                     {.dim = 3, .length = 4, .width = 3, .type = "bcsr"}};
  SetOptions(ctx, all);
  SetOptions(ctx, "-x_pc_amg_coarse_size 6");
  for (int k = 0; k < 6; k++) {
    PoiseMat A = Motions(ctx, of[k / 2]);
    if (!A) return;
    PoisePC pc = AmgOf(A, ways[k % 2]);
    CheckSpd(pc);
    CHECK(Contraction(pc, 20) < 0.95);
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
  SetOptions(ctx, reset);
}

/* All rows connected with all: too many colours for sweeps. */
static void TestManyColours(PoiseContext ctx)
{
  const PoiseInt n = 300 * PoiseSize(ctx);
  char text[4096] = "";
  PoiseMat A;
  if (!CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, n, n, &A))) return;
  for (PoiseInt i = A->rows->begin; i < A->rows->begin + A->rows->n; i++)
    for (PoiseInt j = 0; j < n; j++)
      CHECK_OK(PoiseMatAddBlock(A, 1, &i, 1, &j, &(double){i == j ? (double)n : -1}));
  CHECK_OK(PoiseMatAssemble(A));
  PoisePC pc = AmgOf(A, all);
  const Amg *amg = Made(pc);
  CHECK(amg->count >= 2 && !amg->level[0].sweeps.made);
  TEST_PRINTED(ctx, text, sizeof text, PoisePCView(pc));
  CHECK(PoiseRank(ctx) || strstr(text, "rows by colours, of each level: too many, so chebyshev") != NULL);
  CheckSpd(pc);
  SetOptions(ctx, reset);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* A right-hand side that is not finite leaves nothing behind; a matrix is refused. */
static void TestNan(PoiseContext ctx)
{
  PoiseVec r, z;
  double norm = 0;
  PoiseMat A = GridOf(ctx, (Grid){.dim = 2, .k = 33, .vary = 0.9});
  PoisePC pc = AmgOf(A, all);
  uint64_t first = Apply(pc);
  if (!CHECK_OK(PoiseMatCreateVecs(A, &z, &r))) return;
  SampleConstant(r, NAN);
  CHECK_OK(PoisePCApply(pc, r, z));
  CHECK_OK(PoiseVecNorm(z, POISE_NORM_INF, &norm));
  CHECK(!poiseFinite(norm));
  CHECK(Apply(pc) == first);
  CHECK_OK(PoiseMatScale(A, NAN));
  CHECK(PoisePCSetUp(pc) == POISE_ERR_NUMERIC);
  SetOptions(ctx, reset);
  PoiseVecDestroy(&r);
  PoiseVecDestroy(&z);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* What it says it holds is what it releases. */
static void TestBytes(PoiseContext ctx)
{
  for (int single = 0; single < 2; single++) {
    PoiseBytes held;
    PoiseMat A = Motions(ctx, (Beam){.dim = 3, .length = 14, .width = 4, .type = "bcsr"});
    if (!A) return;
    SetOptions(ctx, all);
    PoisePC pc = AmgOf(A, single ? "-x_pc_amg_precision single" : all);
    CHECK_INT(Made(pc)->single, single);
    CHECK_OK(PoisePCBytes(pc, &held));
    int64_t before = ctx->device->bytes;
    PoisePCDestroy(&pc);
    if (SampleIsAway(ctx)) CHECK_INT(before - ctx->device->bytes, held.device);
    PoiseMatDestroy(&A);
  }
  SetOptions(ctx, reset);
}

/* A captured loop has the cycle in it, and gives the same as one by one, also with new values. */
static void TestLoop(PoiseContext ctx)
{
  uint64_t bits[2][2];
  for (int replays = 0; replays < 2; replays++) {
    Problem p;
    if (!ProblemOpenGrid(ctx, 40, 30, 1, "cg", "amg", &p)) return;
    SetOptions(ctx, reset);
    SetOptions(ctx, "-x_pc_amg_smoother sor -x_pc_amg_coarse_size 20");
    CHECK_OK(PoisePCSetOptionsPrefix(p.pc, "x_"));
    CHECK_OK(PoisePCSetFromOptions(p.pc));
    if (!replays) p.ksp->options.replay = 0;
    for (int turn = 0; turn < 2; turn++) {
      CHECK_OK(PoiseVecSet(p.x, 0));
      CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
      CHECK(PoiseKSPConvergedReason(p.ksp) > 0);
      bits[replays][turn] = SampleDigest(p.x);
      CHECK_OK(PoiseMatScale(p.A, 3));
    }
    ProblemClose(&p);
  }
  CHECK(bits[0][0] == bits[1][0] && bits[0][1] == bits[1][1] && bits[0][0] != bits[0][1]);
  SetOptions(ctx, reset);
}

int main(int argc, char **argv)
{
  static const Test tests[] = {{"levels", TestLevels, 0},    {"iterations", TestIterations, 0},
                               {"few_rows", TestFewRows, 0}, {"many_colours", TestManyColours, 0},
                               {"nan", TestNan, 0},          {"bytes", TestBytes, 0},
                               {"loop", TestLoop, 0},        {NULL, NULL, 0}};
  return TestMain(argc, argv, "pc_amg_sweeps", tests);
}

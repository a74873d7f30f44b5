/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Preconditioners ilu, icc and sor. The reference for z is textbook loops on dense arrays, restricted to the
  pattern of the block that a rank owns.
*/
#define _POSIX_C_SOURCE 200809L
#include <time.h>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "pc/factor.h"
#include "pc/triangles_host.h"
#include "shapes.h"

/* ---- factors --------------------------------------------------------------------------------- */

static void TestILU(PoiseContext ctx)
{
  static const PoiseInt sizes[] = {0, 1, 2, 29, 64};
  for (int k = 0; k < 5; k++)
    for (int kind = 0; kind < NKINDS; kind++)
      for (int layout = 0; layout < NLAYOUTS; layout += kind ? 2 : 1) {
        Shape s = ShapeOf(ctx, kind, layout, sizes[k]);
        if (kind == FULL) s.diagonal = 40;
        PoiseMat A = Matrix(ctx, &s);
        PoisePC pc = Make(ctx, "ilu", A, NULL);
        CHECK_NEAR(FactorDefect(pc, &s, 0, 0), 0, 1e-14);
        PoisePCDestroy(&pc);
        PoiseMatDestroy(&A);
      }
}

/* icc reads the upper triangle only: the lower one is spoilt. */
static void TestICC(PoiseContext ctx)
{
  static const PoiseInt sizes[] = {0, 1, 2, 29, 64};
  for (int k = 0; k < 5; k++)
    for (int layout = 0; layout < NLAYOUTS; layout++) {
      Shape s = ShapeOf(ctx, SYMMETRIC, layout, sizes[k]);
      PoiseMat A = Matrix(ctx, &s);
      for (PoiseInt i = s.begin; i < s.end; i++)
        for (PoiseInt j = s.begin; j < i; j++) {
          double more = 3;
          if (Stored(&s, i, j)) CHECK_OK(PoiseMatAddBlock(A, 1, &i, 1, &j, &more));
        }
      CHECK_OK(PoiseMatAssemble(A));
      PoisePC pc = Make(ctx, "icc", A, NULL);
      CHECK_NEAR(FactorDefect(pc, &s, 0, 0), 0, 1e-14);
      CHECK_INT(((Incomplete *)pc->data)->tries, 0);
      PoisePCDestroy(&pc);
      PoiseMatDestroy(&A);
    }
}

/* On each rank 2 in the diagonal and -1 beside it; or an arrow, with a dense row and column at the end or at
   the beginning. */
enum { LINE, ARROW_END, ARROW_BEGIN };

static PoiseMat Chain(PoiseContext ctx, int kind, PoiseInt n)
{
  PoiseInt begin, m;
  PoiseMat A;
  PoiseSplit(ctx, n, &begin, &m);
  if (!CHECK_OK(PoiseMatCreate(ctx, m, m, n, n, &A))) return NULL;
  for (PoiseInt i = begin; i < begin + m; i++) {
    PoiseInt j = kind == LINE ? i + 1 : kind == ARROW_END ? begin + m - 1 : begin;
    double two = 2, minus = kind == LINE ? -1 : -1 / (double)m;
    CHECK_OK(PoiseMatAddBlock(A, 1, &i, 1, &i, &two));
    if (j == i || j == begin + m) continue;
    CHECK_OK(PoiseMatAddBlock(A, 1, &i, 1, &j, &minus));
    CHECK_OK(PoiseMatAddBlock(A, 1, &j, 1, &i, &minus));
  }
  CHECK_OK(PoiseMatAssemble(A));
  return A;
}

/* Where elimination makes no entries the factors are exact: one application solves with the rank's own
   block. */
static void TestNoFill(PoiseContext ctx)
{
  for (int k = 0; k < 4; k++) {
    PoiseMat A = Chain(ctx, k % 2 ? ARROW_END : LINE, 500);
    PoisePC pc = Make(ctx, k / 2 ? "icc" : "ilu", A, NULL);
    PoiseVec x, b, z;
    double error;
    if (!CHECK_OK(PoiseMatCreateVecs(A, &x, &b)) || !CHECK_OK(PoiseVecDuplicate(x, &z))) return;
    SampleFill(x, 3);
    CHECK_OK(PoiseMatMult(A, x, b));
    CHECK_OK(PoisePCApply(pc, b, z));
    CHECK_OK(PoiseVecAXPY(z, -1, x));
    CHECK_OK(PoiseVecNorm(z, POISE_NORM_INF, &error));
    CHECK_NEAR(error, 0, 1e-11);
    PoiseVecDestroy(&x);
    PoiseVecDestroy(&b);
    PoiseVecDestroy(&z);
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
}

/* Processor time of this thread, which other work on the machine does not lengthen. */
static double Busy(void)
{
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* A dense row or column must not cost its square. */
static void TestLongRows(PoiseContext ctx)
{
  for (int kind = ARROW_END; kind <= ARROW_BEGIN; kind++) {
    PoiseMat A = Chain(ctx, kind, 300000);
    PoisePC pc = Make(ctx, "ilu", A, NULL);
    double start = Busy();
    CHECK_OK(PoisePCSetUp(pc));
    CHECK(Busy() - start < 5);
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
}

/* ---- on a grid ------------------------------------------------------------------------------- */

static void TestSymmetric(PoiseContext ctx)
{
  static const char *const types[] = {"icc", "sor"};
  PoiseMat A = Grid(ctx, 7, 6, 5, 0);
  for (int k = 0; k < 2; k++) {
    PoisePC pc = Make(ctx, types[k], A, NULL);
    CheckSymmetric(pc);
    PoisePCDestroy(&pc);
  }
  PoiseMatDestroy(&A);
}

/* Iterations to 1e-10, or INT32_MAX, of the last solve; *digest of its solution. then: options that are
   changed before a second one; NULL: there is none. */
static PoiseInt SolveTwice(PoiseMat A, const char *types, int replay, const char *then, uint64_t *digest)
{
  PoiseContext ctx = PoiseMatContext(A);
  PoiseKSP ksp;
  PoiseVec x, b, r;
  char text[300];
  double norm, norm0;
  snprintf(text, sizeof text,
           "-s_ksp_pc_side left\n%s\n-s_ksp_rtol 1e-10\n-s_ksp_replay %d\n-s_pc_sor_omega 1", types, replay);
  SetOptions(ctx, text);
  if (!CHECK_OK(PoiseMatCreateVecs(A, &x, &b)) || !CHECK_OK(PoiseVecDuplicate(b, &r))) return INT32_MAX;
  if (!CHECK_OK(PoiseKSPCreate(ctx, &ksp))) return INT32_MAX;
  SampleFill(b, 9);
  CHECK_OK(PoiseKSPSetOptionsPrefix(ksp, "s_"));
  CHECK_OK(PoiseKSPSetOperators(ksp, A, NULL));
  CHECK_OK(PoiseKSPSetFromOptions(ksp));
  CHECK_OK(PoiseKSPSolve(ksp, b, x));
  if (then) {
    SetOptions(ctx, then);
    CHECK_OK(PoiseKSPSetFromOptions(ksp));
    CHECK_OK(PoiseKSPSolve(ksp, b, x));
  }
  PoiseInt its = PoiseKSPConvergedReason(ksp) > 0 ? PoiseKSPIterations(ksp) : INT32_MAX;
  CHECK_OK(PoiseMatResidual(A, b, x, r));
  CHECK_OK(PoiseVecNorm(r, POISE_NORM_2, &norm));
  CHECK_OK(PoiseVecNorm(b, POISE_NORM_2, &norm0));
  CHECK(norm <= 1e-8 * norm0);
  if (digest) *digest = SampleDigest(x);
  PoiseKSPDestroy(&ksp);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&b);
  PoiseVecDestroy(&r);
  return its;
}

static PoiseInt Solve(PoiseMat A, const char *ksp_type, const char *pc_type)
{
  char types[100];
  snprintf(types, sizeof types, "-s_ksp_type %s\n-s_pc_type %s", ksp_type, pc_type);
  return SolveTwice(A, types, 1, NULL, NULL);
}

static void TestSolve(PoiseContext ctx)
{
  PoiseMat A = Grid(ctx, 12, 12, 12, 0), B = Grid(ctx, 12, 12, 12, 0.5);
  PoiseInt jacobi = Solve(A, "cg", "jacobi"), icc = Solve(A, "cg", "icc");
  PoiseInt sor = Solve(A, "cg", "sor");
  CHECK(icc < jacobi && sor < jacobi);
  CHECK_INT(Solve(A, "cg", "ilu"), icc);
  CHECK(Solve(B, "bicgstab", "ilu") < Solve(B, "bicgstab", "jacobi"));
  CHECK(Solve(B, "gmres", "ilu") < Solve(B, "gmres", "jacobi"));
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&B);
}

/* Every iteration enqueued, or replayed where the device can: the same. gmres preconditions on the right
   first inside its loop. */
static void TestReplay(PoiseContext ctx)
{
  static const char *const types[] = {"ilu", "icc", "sor"};
  static const char *const methods[] = {"cg", "gmres\n-s_ksp_pc_side right"};
  PoiseMat A = Grid(ctx, 11, 10, 9, 0);
  for (int k = 0; k < 6; k++) {
    char text[100];
    uint64_t eager, replayed, changed;
    snprintf(text, sizeof text, "-s_ksp_type %s\n-s_pc_type %s", methods[k / 3], types[k % 3]);
    PoiseInt its = SolveTwice(A, text, 0, NULL, &eager);
    CHECK_INT(SolveTwice(A, text, 1, NULL, &replayed), its);
    CHECK(eager == replayed);
    if (strcmp(types[k % 3], "sor")) continue;
    SolveTwice(A, text, 0, "-s_pc_sor_omega 1.4",
               &eager); /* a loop that was captured does not keep the old factor */
    SolveTwice(A, text, 1, "-s_pc_sor_omega 1.4", &changed);
    CHECK(eager == changed && eager != replayed);
  }
  PoiseMatDestroy(&A);
}

/* ---- pivots and shifts ----------------------------------------------------------------------- */

static PoiseErr Mine(const Shape *s, PoiseInt row, PoiseErr code)
{
  return row >= s->begin && row < s->end ? code : POISE_ERR_REMOTE;
}

/* Row 0 has diagonal entry 0. */
static Shape ZeroPivot(PoiseContext ctx)
{
  Shape s = ShapeOf(ctx, TRIDIAGONAL, EVEN, 24);
  s.weak = 0;
  s.value = 0;
  return s;
}

static void TestZeroPivot(PoiseContext ctx)
{
  static const char *const types[] = {"ilu", "icc"};
  for (int k = 0; k < 2; k++) {
    Shape s = ZeroPivot(ctx);
    PoiseMat A = Matrix(ctx, &s);
    PoisePC pc = Make(ctx, types[k], A, "-x_pc_factor_shift_type none");
    char words[200];
    snprintf(words, sizeof words,
             "%s: the pivot of row 0 is 0, a zero pivot (up to 2.22045e-14 counts as zero: "
             "-x_pc_factor_zeropivot): "
             "try -x_pc_factor_shift_type nonzero or positive_definite",
             types[k]);
    CHECK_ERR(PoisePCSetUp(pc), Mine(&s, 0, POISE_ERR_NUMERIC), words);
    PoiseInt row = 0;
    double v = PoiseRank(ctx) ? 0 : 5;
    CHECK_OK(PoiseMatAddBlock(A, 1, &row, 1, &row, &v)); /* a matrix that was put right is accepted */
    CHECK_OK(PoiseMatAssemble(A));
    s.value = 5;
    CHECK_NEAR(FactorDefect(pc, &s, 0, 0), 0, k ? INFINITY : 1e-14);
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
}

/* Not the first pivot that elimination by levels meets, but the first row's. Its row is global. */
static void TestLaterPivot(PoiseContext ctx)
{
  PoiseInt n = 24, begin, m, bad = n - 3;
  PoiseMat A;
  PoiseSplit(ctx, n, &begin, &m);
  if (!CHECK_OK(PoiseMatCreate(ctx, m, m, n, n, &A))) return;
  for (PoiseInt i = begin; i < begin + m; i++) {
    double v = i == bad ? 1e-15 : i == n - 1 ? 0 : 1;
    CHECK_OK(PoiseMatAddBlock(A, 1, &i, 1, &i, &v));
  }
  CHECK_OK(PoiseMatAssemble(A));
  PoisePC pc = Make(ctx, "ilu", A, "-x_pc_factor_shift_type none");
  bool mine = bad >= begin && bad < begin + m, last = n - 1 >= begin && n - 1 < begin + m;
  PoiseErr e = PoisePCSetUp(pc);
  CHECK_INT(e, mine || last ? POISE_ERR_NUMERIC : POISE_ERR_REMOTE);
  if (mine || !last) CHECK(strstr(PoiseErrorMessage(), "the pivot of row 21 is 1e-15") != NULL);
  CHECK_OK(PoiseOptionsSetString(ctx, "-x_pc_factor_zeropivot 1e-20")); /* then 1e-15 will do, 0 will not */
  CHECK_OK(PoiseBarrier(ctx));
  CHECK_OK(PoisePCSetFromOptions(pc));
  CHECK_ERR(PoisePCSetUp(pc), last ? POISE_ERR_NUMERIC : POISE_ERR_REMOTE, "the pivot of row 23 is 0");
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

static void TestShiftNonzero(PoiseContext ctx)
{
  Shape s = ZeroPivot(ctx);
  PoiseMat A = Matrix(ctx, &s);
  PoisePC pc =
      Make(ctx, "ilu", A,
           "-x_pc_factor_shift_type nonzero\n-x_pc_factor_shift_amount 0.25\n-x_pc_factor_zeropivot 1");
  CHECK_OK(PoisePCSetUp(pc));
  const Incomplete *f = pc->data;
  if (s.begin == 0 && s.end > 0) { /* 0.25, 0.5, ... until the pivot is larger than what is beside it */
    CHECK(f->tries > 0 && f->shift == ldexp(0.25, f->tries - 1));
    CHECK(f->shift > fabs(Value(&s, 0, 1)) || s.end == 1);
    CHECK(f->tries == 1 || f->shift / 2 <= fabs(Value(&s, 0, 1)));
  }
  CHECK_NEAR(FactorDefect(pc, &s, f->shift, 0), 0, 1e-13);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* No shift will do: of amount 0, or where elimination overflows with all that are numbers. The search
   ends. */
static void TestShiftEnds(PoiseContext ctx)
{
  static const char *const amounts[] = {"-x_pc_factor_shift_amount 0", "-x_pc_factor_shift_amount 1e300"};
  const double v[4] = {0, 1.7e308, 1.7e308, 0};
  for (int k = 0; k < 2; k++) {
    PoiseMat A;
    if (!CHECK_OK(PoiseMatCreate(ctx, 2, 2, 2, 2, &A))) return;
    CHECK_OK(PoiseMatAddBlock(A, 2, (PoiseInt[]){0, 1}, 2, (PoiseInt[]){0, 1}, v));
    CHECK_OK(PoiseMatAssemble(A));
    CHECK_OK(PoiseOptionsSetString(ctx, amounts[k]));
    PoisePC pc = Make(ctx, "ilu", A, "-x_pc_factor_shift_type nonzero");
    CHECK_ERR(PoisePCSetUp(pc), POISE_ERR_NUMERIC, k ? "pivot" : "the pivot of row 0 is 0");
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
}

static void TestShiftInBlocks(PoiseContext ctx)
{
  Shape s = ZeroPivot(ctx);
  PoiseMat A = Matrix(ctx, &s);
  PoisePC pc = Make(ctx, "ilu", A, "-x_pc_factor_shift_type inblocks\n-x_pc_factor_shift_amount 0.5");
  CHECK_NEAR(FactorDefect(pc, &s, 0, 0.5), 0, 1e-13);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* An indefinite matrix: the default shift of icc makes M positive definite, by no more than dominance
   needs. */
static void TestShiftPositive(PoiseContext ctx)
{
  static const char *const types[] = {"icc", "ilu"};
  for (int k = 0; k < 2; k++)
    for (int deep = 0; deep < 2; deep++) {
      Shape s = ShapeOf(ctx, SYMMETRIC, UNEVEN, 40);
      s.diagonal = deep ? -3 : 0.7;
      if (deep) s.weak = 0, s.value = 0.7; /* not all of one sign */
      PoiseMat A = Matrix(ctx, &s);
      PoisePC pc = Make(ctx, types[k], A, "-x_pc_factor_shift_type positive_definite");
      Dense d = DenseOf(&s, 0);
      double lack = 0, least = INFINITY;
      CHECK_OK(PoisePCSetUp(pc));
      const Incomplete *f = pc->data;
      for (int i = 0; i < d.m; i++) {
        double sum = -2 * poiseLarger(d.a[i * d.m + i], 0);
        for (int j = 0; j < d.m; j++)
          sum += j == i && d.a[i * d.m + i] < 0 ? -d.a[i * d.m + i] : fabs(d.a[i * d.m + j]);
        lack = poiseLarger(lack, sum);
      }
      DenseFree(&d);
      CHECK(f->shift <= 1.1 * lack + 1e-12);
      d = DenseOf(&s, f->shift);
      Eliminate(&d, 0);
      for (int i = 0; i < d.m; i++) least = fmin(least, d.a[i * d.m + i]);
      CHECK(least > 0);
      CHECK_NEAR(Difference(pc, SolveFactors, &d), 0, 1e-11);
      DenseFree(&d);
      /* the bisection stopped near the least shift: with less it fails */
      d = DenseOf(&s, f->shift - lack * 1.1 / 8);
      Eliminate(&d, 0);
      least = INFINITY;
      for (int i = 0; i < d.m; i++) least = fmin(least, d.a[i * d.m + i]);
      CHECK(!f->tries || least <= 0);
      DenseFree(&d);
      CHECK(!deep || d.m < 3 || f->tries > 0);
      PoisePCDestroy(&pc);
      PoiseMatDestroy(&A);
    }
}

/* A star's Laplacian on each rank is dominant but singular: the last pivot is 0. One shift, as small as
   rounding, is tried, not a series of bisections. */
static void TestShiftOfLaplacian(PoiseContext ctx)
{
  PoiseInt begin, m, n = 120;
  PoiseMat A;
  PoiseSplit(ctx, n, &begin, &m);
  if (!CHECK_OK(PoiseMatCreate(ctx, m, m, n, n, &A))) return;
  for (PoiseInt i = begin; i < begin + m - 1; i++) {
    const PoiseInt at[] = {i, begin + m - 1};
    const double edge[] = {1, -1, -1, 1};
    CHECK_OK(PoiseMatAddBlock(A, 2, at, 2, at, edge));
  }
  CHECK_OK(PoiseMatAssemble(A));
  PoisePC pc = Make(ctx, "icc", A, NULL);
  CHECK_OK(PoisePCSetUp(pc));
  const Incomplete *f = pc->data;
  CHECK_INT(f->tries, 1);
  CHECK(f->shift > 0 && f->shift < 1e-12);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* z = M r of both, which must be of opposite signs, to the bit. */
static void CheckOpposite(PoisePC p, PoisePC q, PoiseMat A)
{
  PoiseVec r, z[2];
  double d;
  if (!CHECK_OK(PoiseMatCreateVecs(A, &r, &z[0])) || !CHECK_OK(PoiseVecDuplicate(r, &z[1]))) return;
  SampleFill(r, 5);
  CHECK_OK(PoisePCApply(p, r, z[0]));
  CHECK_OK(PoisePCApply(q, r, z[1]));
  CHECK_OK(PoiseVecAXPY(z[0], 1, z[1]));
  CHECK_OK(PoiseVecNorm(z[0], POISE_NORM_INF, &d));
  CHECK(d == 0);
  PoiseVecDestroy(&r);
  for (int k = 0; k < 2; k++) PoiseVecDestroy(&z[k]);
}

static PoiseInt SolveBySigns(PoiseMat A)
{
  PoiseKSP ksp;
  PoisePC pc;
  PoiseVec x, b;
  double norm[2];
  if (!CHECK_OK(PoiseMatCreateVecs(A, &x, &b)) || !CHECK_OK(PoiseKSPCreate(PoiseMatContext(A), &ksp)))
    return -1;
  SampleFill(b, 6);
  CHECK_OK(PoiseKSPSetOperators(ksp, A, NULL));
  CHECK_OK(PoiseKSPSetType(ksp, "cg"));
  CHECK_OK(PoiseKSPGetPC(ksp, &pc));
  CHECK_OK(PoisePCSetType(pc, "icc"));
  CHECK_OK(PoiseKSPSolve(ksp, b, x));
  CHECK(PoiseKSPConvergedReason(ksp) > 0);
  CHECK_OK(PoiseKSPTrueResidual(ksp, b, x, &norm[0]));
  CHECK_OK(PoiseVecNorm(b, POISE_NORM_2, &norm[1]));
  CHECK(norm[0] <= 1e-3 * norm[1]);
  PoiseInt its = PoiseKSPIterations(ksp);
  PoiseKSPDestroy(&ksp);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&b);
  return its;
}

/* icc of -A is that of A, turned back, with shifts or without; cg then does to -A what it does to A. */
static void TestNegative(PoiseContext ctx)
{
  static const double diagonals[] = {4, 1.2, 1.01}; /* the last two need shifts */
  for (int k = 0; k < 6; k++) {
    Shape s = ShapeOf(ctx, SYMMETRIC, k % 2 ? UNEVEN : EVEN, 40);
    s.diagonal = diagonals[k / 2];
    PoiseMat A = Matrix(ctx, &s), B;
    if (!CHECK_OK(PoiseMatDuplicate(A, 1, &B)) || !CHECK_OK(PoiseMatScale(B, -1))) return;
    PoisePC p = Make(ctx, "icc", A, NULL), q = Make(ctx, "icc", B, NULL);
    CheckOpposite(p, q, A);
    const Incomplete *f = p->data, *g = q->data;
    CHECK(!f->negative && g->negative);
    CHECK(k < 2 || PoiseSize(ctx) > 1 || f->tries > 0);
    CHECK(f->tries == g->tries && f->shift == g->shift);
    if (k < 2) CHECK_INT(SolveBySigns(A), SolveBySigns(B));
    CHECK_OK(PoiseMatScale(B, -1)); /* and A again, by the same */
    CHECK_OK(PoisePCSetUp(q));
    CHECK(!g->negative);
    PoisePCDestroy(&p);
    PoisePCDestroy(&q);
    PoiseMatDestroy(&A);
    PoiseMatDestroy(&B);
  }
}

static void TestBadMatrix(PoiseContext ctx)
{
  static const char *const types[] = {"ilu", "icc", "sor"};
  for (int k = 0; k < 3; k++) {
    Shape s = ShapeOf(ctx, SYMMETRIC, EVEN, 24);
    s.weak = 13;
    s.value = INFINITY; /* not stored */
    PoiseMat A = Matrix(ctx, &s), R;
    PoisePC pc = Make(ctx, types[k], A, NULL);
    CHECK_ERR(PoisePCSetUp(pc), Mine(&s, 13, POISE_ERR_NUMERIC),
              k < 2 ? "row 13 has no diagonal entry" : "the diagonal entry of row 13 is zero, missing");
    double v = 9;
    PoiseInt row = 13;
    if (PoiseRank(ctx) == 0) CHECK_OK(PoiseMatAddBlock(A, 1, &row, 1, &row, &v));
    CHECK_OK(PoiseMatAssemble(A));
    s.value = 9;
    CHECK_NEAR(FactorDefect(pc, &s, 0, 0), 0, k < 2 ? 1e-14 : INFINITY);
    for (int bad = 1; bad >= 0 && k < 2; bad--) { /* beside a pivot that is finite */
      PoiseInt pair[] = {13, 14};
      const double beside = bad ? NAN : 0;
      for (int q = 0; q < 2 && PoiseRank(ctx) == 0; q++)
        CHECK_OK(PoiseMatSetBlock(A, 1, &pair[q], 1, &pair[1 - q], &beside));
      CHECK_OK(PoiseMatAssemble(A));
      if (bad)
        CHECK_ERR(PoisePCSetUp(pc), Mine(&s, 13, POISE_ERR_NUMERIC),
                  "row 13 has an entry that is not finite");
    }
    v = NAN;
    if (PoiseRank(ctx) == 0) CHECK_OK(PoiseMatAddBlock(A, 1, &row, 1, &row, &v));
    CHECK_OK(PoiseMatAssemble(A));
    CHECK_ERR(PoisePCSetUp(pc), Mine(&s, 13, POISE_ERR_NUMERIC), "not finite");
    if (CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, 5, 6, &R)) &&
        CHECK_OK(PoiseMatAssemble(R))) {
      CHECK_OK(PoisePCSetOperator(pc, R));
      PoiseErr e = PoisePCSetUp(pc);
      CHECK(e == POISE_ERR_SIZE || e == POISE_ERR_REMOTE);
      CHECK(strstr(PoiseErrorMessage(), "the matrix is 5 x 6") != NULL);
    }
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
    PoiseMatDestroy(&R);
  }
}

static PoiseErr ItsDiagonal(void *arg, PoiseVec d)
{
  (void)arg;
  return PoiseVecSet(d, 2);
}

static void TestShell(PoiseContext ctx)
{
  static const char *const types[] = {"ilu", "icc", "sor"};
  PoiseShell shell = {.mult = SampleTwice, .diagonal = ItsDiagonal};
  PoiseMat A;
  if (!CHECK_OK(PoiseMatCreateShell(ctx, POISE_DECIDE, POISE_DECIDE, 20, 20, &shell, NULL, &A))) return;
  for (int k = 0; k < 3; k++) {
    PoisePC pc = Make(ctx, types[k], A, NULL);
    CHECK_ERR(PoisePCSetUp(pc), POISE_ERR_UNSUPPORTED,
              "needs the entries of the matrix, and a matrix of type shell has none");
    PoisePCDestroy(&pc);
  }
  PoiseMatDestroy(&A);
}

static void TestPattern(PoiseContext ctx)
{
  Shape s = ShapeOf(ctx, TRIDIAGONAL, EVEN, 24);
  PoiseMat A = Unmirrored(ctx, &s);
  PoisePC pc = Make(ctx, "icc", A, NULL);
  if (SampleLocal(ctx, EVEN, 24) == POISE_DECIDE && PoiseSize(ctx) < 8)
    CHECK_ERR(PoisePCSetUp(pc), Mine(&s, 0, POISE_ERR_UNSUPPORTED),
              "entry (0, 2) is stored and (2, 0) is not");
  CHECK_OK(PoisePCSetType(pc, "ilu"));
  CHECK_OK(PoisePCSetUp(pc));
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* ---- sor ------------------------------------------------------------------------------------- */

/* One direction over rows [begin, end) of the whole matrix; columns elsewhere count with x's present
   values. */
static void Relax(const Shape *s, PoiseInt begin, PoiseInt end, double omega, bool backward, const double *b,
                  const double *old, double *x)
{
  for (PoiseInt q = 0; q < end - begin; q++) {
    PoiseInt i = backward ? end - 1 - q : begin + q;
    double sum = b[i];
    for (PoiseInt j = 0; j < s->n; j++)
      if (j != i && Stored(s, i, j)) sum -= Value(s, i, j) * (j >= begin && j < end ? x[j] : old[j]);
    x[i] = (1 - omega) * x[i] + omega * sum / Value(s, i, i);
  }
}

/* Every rank computes all blocks. */
static void Textbook(const Shape *s, const PoiseInt *start, int ranks, const Relaxation *w, const double *b,
                     double *x)
{
  double *old = calloc((size_t)s->n + 1, sizeof *old);
  for (PoiseInt i = 0; i < s->n; i++) x[i] = 0;
  for (PoiseInt k = 0; k < w->its; k++) {
    memcpy(old, x, (size_t)s->n * sizeof *x);
    for (int r = 0; r < ranks; r++)
      for (PoiseInt l = 0; l < w->lits; l++) {
        if (w->directions & FORWARD) Relax(s, start[r], start[r + 1], w->omega, false, b, old, x);
        if (w->directions & BACKWARD) Relax(s, start[r], start[r + 1], w->omega, true, b, old, x);
      }
  }
  free(old);
}

static const char *const directions[] = {"", "forward", "backward", "symmetric"};

static double SORDefect(PoisePC pc, const Shape *s, const Relaxation *w)
{
  PoiseVec r, z;
  const double *y;
  double worst = 0, *b = malloc((size_t)(s->n + 1) * sizeof *b), *x = malloc((size_t)(s->n + 1) * sizeof *x);
  if (!CHECK_OK(PoiseMatCreateVecs(pc->P, &r, &z))) return INFINITY;
  SampleFill(r, 5);
  SampleConstant(z, NAN);
  CHECK_OK(PoisePCApply(pc, r, z));
  for (PoiseInt i = 0; i < s->n; i++) b[i] = TestRandom(5, (uint64_t)i);
  Textbook(s, r->layout->start, PoiseSize(pc->ctx), w, b, x);
  CHECK_OK(PoiseVecGetRead(z, &y));
  for (PoiseInt i = s->begin; i < s->end; i++) worst = poiseLarger(worst, fabs(x[i] - y[i - s->begin]));
  PoiseVecRestore(z, &y);
  PoiseVecDestroy(&r);
  PoiseVecDestroy(&z);
  free(b);
  free(x);
  return worst;
}

static void TestSOR(PoiseContext ctx)
{
  static const Relaxation cases[] = {{1, 3, 1, 1},   {1.5, 3, 1, 1}, {0.7, 1, 1, 1}, {1.2, 2, 1, 1},
                                     {1.2, 3, 1, 3}, {0.9, 1, 1, 2}, {1.1, 2, 1, 2}, {1, 3, 3, 1},
                                     {1.2, 1, 2, 2}, {0.8, 2, 2, 1}};
  static const PoiseInt sizes[] = {0, 1, 33};
  for (int q = 0; q < 3; q++)
    for (int layout = 0; layout < NLAYOUTS; layout++) {
      Shape s = ShapeOf(ctx, ANY, layout, sizes[q]);
      PoiseMat A = Matrix(ctx, &s);
      PoisePC pc = Make(ctx, "sor", A, NULL);
      CHECK_NEAR(SORDefect(pc, &s, &cases[0]), 0, 1e-13); /* the default */
      for (int k = 0; k < 10; k++) {                      /* one preconditioner through all of them */
        const Relaxation *w = &cases[k];
        const char *names = k % 2 ? "local_" : "", *prefix = k % 2 ? "l" : "g";
        char text[300];
        int used = snprintf(text, sizeof text, "-%s_pc_sor_omega %g\n-%s_pc_sor_its %d\n-%s_pc_sor_lits %d",
                            prefix, w->omega, prefix, (int)w->its, prefix, (int)w->lits);
        for (int d = 1; d <= 3; d++)
          used += snprintf(text + used, sizeof text - (size_t)used, "\n-%s_pc_sor_%s%s %s", prefix, names,
                           directions[d], d == w->directions ? "yes" : "no");
        SetOptions(ctx, text);
        CHECK_OK(PoisePCSetOptionsPrefix(pc, k % 2 ? "l_" : "g_"));
        CHECK_OK(PoisePCSetFromOptions(pc));
        CHECK_NEAR(SORDefect(pc, &s, w), 0, 1e-13);
      }
      PoisePCDestroy(&pc);
      PoiseMatDestroy(&A);
    }
}

/* Another matrix, of which a row has gone from the last rank to the one before: the others have the rows that
   they had. */
static void TestSOROtherRows(PoiseContext ctx)
{
  const Relaxation w = {1, 3, 2, 1};
  int rank = PoiseRank(ctx), last = PoiseSize(ctx) - 1;
  Shape s = ShapeOf(ctx, ANY, EVEN, 35), t = s;
  if (last > 0) t.end += rank == last - 1, t.begin += rank == last;
  PoiseMat A = Matrix(ctx, &s), B = Matrix(ctx, &t);
  PoisePC pc = Make(ctx, "sor", A, "-x_pc_sor_its 2");
  for (int k = 0; k < 3; k++) {
    CHECK_OK(PoisePCSetOperator(pc, k % 2 ? B : A));
    CHECK_NEAR(SORDefect(pc, k % 2 ? &t : &s, &w), 0, 1e-13);
  }
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&B);
}

static void TestSOROptions(PoiseContext ctx)
{
  Shape s = ShapeOf(ctx, ANY, EVEN, 12);
  PoiseMat A = Matrix(ctx, &s);
  PoisePC pc = Make(ctx, "sor", A, "-x_pc_sor_omega 2");
  CHECK_ERR(PoisePCSetUp(pc), POISE_ERR_OPTION, "pc_sor_omega is 2, not between 0 and 2");
  CHECK_OK(PoiseOptionsSetString(ctx, "-x_pc_sor_omega 1\n-x_pc_sor_forward\n-x_pc_sor_backward"));
  CHECK_OK(PoisePCSetFromOptions(pc));
  CHECK_ERR(PoisePCSetUp(pc), POISE_ERR_OPTION, "one of symmetric, forward and backward");
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* ---- changes --------------------------------------------------------------------------------- */

static void TestRefresh(PoiseContext ctx)
{
  static const char *const types[] = {"ilu", "icc", "sor"};
  const Relaxation ssor = {1, 3, 1, 1};
  for (int k = 0; k < 3; k++) {
    Shape s = ShapeOf(ctx, SYMMETRIC, EVEN, 33), t = s, u = ShapeOf(ctx, TRIDIAGONAL, EVEN, 33);
    PoiseMat A = Matrix(ctx, &s);
    PoisePC pc = Make(ctx, types[k], A, NULL);
    for (int round = 0; round < 4; round++) {
      const Shape *now = round == 1 ? &t : round == 3 ? &u : &s;
      CHECK_NEAR(k < 2 ? FactorDefect(pc, now, 0, 0) : SORDefect(pc, now, &ssor), 0, 1e-13);
      if (round == 0) { /* other values on the same pattern */
        t.diagonal = 7;
        CHECK_OK(PoiseMatZeroEntries(A));
        AddRows(A, &t);
        int64_t calls = ctx->memory.calls, generation = pc->generation;
        CHECK_OK(PoisePCSetUp(pc));
        CHECK_INT(ctx->memory.calls, calls);
        CHECK_INT(pc->generation, generation);
        int64_t launches = ctx->device->launches;
        CHECK_OK(PoisePCSetUp(pc));
        CHECK_INT(ctx->device->launches, launches); /* nothing has changed */
      } else if (round < 3) {                       /* other matrices, whose patterns have the same number */
        PoiseMatDestroy(&A);
        A = Matrix(ctx, round == 1 ? &s : &u);
        CHECK_OK(PoisePCSetOperator(pc, A));
      }
    }
    PoiseInt i = 0, j = 20; /* a wider pattern of the same matrix */
    double zero = 0;
    if (PoiseRank(ctx) == 0) {
      CHECK_OK(PoiseMatAddBlock(A, 1, &i, 1, &j, &zero));
      CHECK_OK(PoiseMatAddBlock(A, 1, &j, 1, &i, &zero));
    }
    CHECK_OK(PoiseMatAssemble(A));
    if (k == 2) CHECK_NEAR(SORDefect(pc, &u, &ssor), 0, 1e-13);
    /* one of the two is elsewhere */
    if (k < 2 && PoiseSize(ctx) > 1) CHECK_NEAR(FactorDefect(pc, &u, 0, 0), 0, 1e-13);
    CHECK_OK(PoisePCSetUp(pc));
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
}

/* Factors outlive the pattern and the matrix that they were made of; sor, which is the matrix, cannot be
   kept. */
static void TestKeep(PoiseContext ctx)
{
  static const char *const types[] = {"ilu", "icc", "sor"};
  for (int k = 0; k < 3; k++) {
    Shape s = ShapeOf(ctx, TRIDIAGONAL, EVEN, 33), t = ShapeOf(ctx, FULL, EVEN, 33);
    PoiseMat A = Matrix(ctx, &s), B = Matrix(ctx, &t);
    PoisePC pc = Make(ctx, types[k], A, NULL);
    PoiseVec r, z;
    if (!CHECK_OK(PoiseMatCreateVecs(A, &r, &z))) return;
    SampleFill(r, 4);
    CHECK_OK(PoisePCApply(pc, r, z));
    CHECK(pc->built == (k < 2));
    uint64_t before = SampleDigest(z);
    for (int change = 0; k < 2 && change < 2; change++) {
      if (change)
        CHECK_OK(PoisePCSetOperator(pc, B));
      else
        CHECK(AddRows(A, &t)); /* a full pattern, in new arrays */
      SampleConstant(z, NAN);
      CHECK_OK(poisePCApplyFuse(pc, r, z, NULL, NULL));
      CHECK(SampleDigest(z) == before);
    }
    PoiseVecDestroy(&r);
    PoiseVecDestroy(&z);
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
    PoiseMatDestroy(&B);
  }
}

/* ---- devices, threads, dots, skipping -------------------------------------------------------- */

/* Full blocks of 9 rows, which lie `count` apart: 9 levels of single rows, which threads share as they are
   long. */
static PoiseMat Interleaved(PoiseContext ctx, PoiseInt count)
{
  PoiseInt begin, m, n = 9 * count;
  PoiseMat A;
  PoiseSplit(ctx, n, &begin, &m);
  if (!CHECK_OK(PoiseMatCreate(ctx, m, m, n, n, &A))) return NULL;
  for (PoiseInt i = begin; i < begin + m; i++)
    for (PoiseInt j = i % count; j < n; j += count) {
      double v = i == j ? 12 : -TestRandom(2, (uint64_t)(i * j));
      CHECK_OK(PoiseMatAddBlock(A, 1, &i, 1, &j, &v));
    }
  CHECK_OK(PoiseMatAssemble(A));
  return A;
}

/* Lines of x: 40 x 33 groups in 72 levels, so that threads share them. */
static PoiseErr ApplyAll(PoiseContext ctx, void *arg)
{
  static const char *const types[] = {"ilu", "icc", "sor"};
  PoiseMat A = Grid(ctx, 30, 40, 33, 0), B = Grid(ctx, 30, 40, 33, 1), C = Interleaved(ctx, 300);
  PoiseVec r, z;
  POISE_TRY(PoiseMatCreateVecs(A, &r, &z));
  SampleFill(r, 4);
  for (int k = 0; k < 2; k++) SampleKeep(ctx, arg, Applied(C, types[k], NULL));
  PoiseMatDestroy(&C);
  for (int k = 0; k < 6; k++) {
    if (k == 4) continue; /* icc, and a pattern that is not symmetric */
    PoisePC pc = Make(ctx, types[k % 3], k < 3 ? A : B, "-x_pc_sor_lits 2\n-x_pc_sor_omega 0.8");
    POISE_TRY(PoisePCApply(pc, r, z));
    SampleKeep(ctx, arg, SampleDigest(z));
    PoisePCDestroy(&pc);
  }
  PoiseVecDestroy(&r);
  PoiseVecDestroy(&z);
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&B);
  return POISE_OK;
}

static void TestSameBits(PoiseContext ctx)
{
  (void)ctx;
  SampleSameBits(ApplyAll);
}

/* Row offsets of 64 bits, as matrices of more than 2^31 entries have. */
static void TestWide(PoiseContext ctx)
{
  static const char *const types[] = {"ilu", "icc", "sor"};
  PoiseMat A = Grid(ctx, 9, 8, 7, 0), W;
  int64_t *ptr, *col, n = 9 * 8 * 7;
  double *val;
  if (!CHECK_OK(PoiseMatCopyCSR(A, &ptr, &col, &val))) return;
  int32_t *narrow = malloc((size_t)ptr[n] * sizeof *narrow);
  for (int64_t k = 0; k < ptr[n]; k++) narrow[k] = (int32_t)col[k];
  PoiseCSR csr = {.ptr64 = ptr, .col32 = narrow, .val = val};
  if (!CHECK_OK(PoiseMatCreateCSR(ctx, n, n, n, n, &csr, POISE_BORROW, &W))) return;
  CHECK(W->csr.wide);
  for (int k = 0; k < 3; k++) CHECK(Applied(A, types[k], NULL) == Applied(W, types[k], NULL));
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&W);
  free(ptr);
  free(col);
  free(val);
  free(narrow);
}

/* z = M^-1 r with dots of z, then skipped: z and the dots stay. */
static void TestFuseAndSkip(PoiseContext ctx)
{
  static const char *const types[] = {"ilu", "icc", "sor", "sor", "sor"};
  static const char *const options[] = {"", "", "", "-x_pc_sor_forward\n-x_pc_sor_lits 2",
                                        "-x_pc_sor_its 3\n-x_pc_sor_forward no"};
  PoiseMat A = Grid(ctx, 30, 40, 33, 0);
  ctx->device->threads = 2;
  ctx->device->few = 0;
  for (int k = 0; k < 5; k++) {
    PoisePC pc = Make(ctx, types[k], A, options[k]);
    CheckFusedApply(pc, true);
    PoisePCDestroy(&pc);
  }
  PoiseMatDestroy(&A);
}

/* Levels of a grid of side^3 points: as many groups as lines, in 2 side - 1 levels. */
static bool SharesGrid(int64_t side, int threads)
{
  Device dev = {.threads = threads, .few = HOST_FEW_BYTES};
  Triangles t = {.n = side * side * side, .nz = 7 * side * side * side};
  Levels levels = {.count = 2 * side - 1, .groups = side * side};
  return poiseHostWide(&dev, &levels, t.n, poiseHostSweepBytes(&t));
}

#ifdef _OPENMP
static void TeamSize(const void *args, int64_t begin, int64_t end)
{
  int *largest = *(int *const *)args, size = omp_get_num_threads();
  (void)begin, (void)end;
#pragma omp critical
  *largest = size > *largest ? size : *largest;
}

/* The most threads that a level had, where each of 2 levels of 40 groups moves so many bytes. */
static int TeamOf(double bytes)
{
  Device dev = {.threads = 2, .few = HOST_FEW_BYTES};
  int32_t start[3] = {0, 40, 80}, first[80], last[80];
  int largest = 0, *place = &largest;
  for (int g = 0; g < 80; g++) first[g] = g, last[g] = g + 1;
  for (int l = 0; l < 2; l++)
    poiseHostLevel(&dev, &(Levels){2, 80, start, first, last}, l, 2 * bytes, TeamSize, &place);
  return largest;
}
#else
static int TeamOf(double bytes)
{
  return bytes > HOST_FEW_BYTES ? 2 : 1;
}
#endif

/* Threads are woken up for levels that are worth it, and for no others. */
static void TestFewBytes(PoiseContext ctx)
{
  (void)ctx;
  CHECK(!SharesGrid(16, 2) && !SharesGrid(20, 16));
  CHECK(SharesGrid(64, 2) && SharesGrid(128, 16));
  CHECK(!SharesGrid(64, 1));
  CHECK_INT(TeamOf(HOST_FEW_BYTES / 2), 1);
  CHECK_INT(TeamOf(HOST_FEW_BYTES * 2), 2);
}

/* ---- views, memory --------------------------------------------------------------------------- */

static void TestView(PoiseContext ctx)
{
  static const char *const types[] = {"ilu", "icc", "sor"};
  static const char *const words[] = {
      "level 0, shift none\n", "level 0, shift positive_definite\n",
      "symmetric sweeps, omega 1; 1 with new ghosts, in each 1 on the rank\n"};
  Shape s = ShapeOf(ctx, SYMMETRIC, EVEN, 33);
  PoiseMat A = Matrix(ctx, &s);
  for (int k = 0; k < 3; k++) {
    PoisePC pc = Make(ctx, types[k], A, NULL);
    char text[400];
    FILE *out = TestPrintBegin(ctx);
    CHECK_OK(PoisePCView(pc)); /* before it is set up */
    CHECK_OK(PoisePCSetUp(pc));
    CHECK_OK(PoisePCView(pc));
    TestPrintEnd(ctx, out, text, sizeof text);
    CHECK((strstr(text, words[k]) != NULL) == (PoiseRank(ctx) == 0));
    CHECK((strstr(text, "groups of rows in") != NULL) == (PoiseRank(ctx) == 0));
    CHECK((strstr(text, "block Jacobi") != NULL) == (PoiseRank(ctx) == 0 && PoiseSize(ctx) > 1));
    PoisePCDestroy(&pc);
  }
  PoiseMatDestroy(&A);
}

static PoiseErr UseAll(PoisePC pc, Given *g)
{
  static const char *const types[] = {"ilu", "icc", "sor"};
  POISE_TRY(PoisePCSetOptionsPrefix(pc, "memory_"));
  POISE_TRY(PoisePCSetOperator(pc, g->A));
  for (int k = 0; k < 3; k++) {
    POISE_TRY(PoisePCSetType(pc, types[k]));
    POISE_TRY(PoisePCSetFromOptions(pc));
    POISE_TRY(PoisePCApply(pc, g->r, g->z));
  }
  return POISE_OK;
}

static void Judge(PoisePC pc, const Given *g, bool failed, const void *shape)
{
  const Relaxation twice = {1, 3, 2, 1};
  (void)g;
  if (!failed)
    CHECK_NEAR(SORDefect(pc, shape, &twice), 0, 1e-13);
  else if (!strcmp(PoisePCType(pc), "ilu") || !strcmp(PoisePCType(pc), "icc"))
    CHECK_NEAR(FactorDefect(pc, shape, 0, 0), 0, 1e-13);
}

static void TestMemory(PoiseContext ctx)
{
  Shape s = ShapeOf(ctx, SYMMETRIC, EVEN, 33);
  PoiseMat A = Matrix(ctx, &s);
  CHECK_OK(PoiseOptionsSet(ctx, "memory_pc_sor_its", "2"));
  CheckWithoutMemory(A, UseAll, 24, 1, Judge, &s);
  PoiseMatDestroy(&A);
}

static const Test tests[] = {
    {"ilu", TestILU, 0},
    {"icc", TestICC, 0},
    {"no_fill", TestNoFill, 0},
    {"long_rows", TestLongRows, TEST_SERIAL | TEST_HOST_ONLY},
    {"symmetric", TestSymmetric, 0},
    {"solve", TestSolve, 0},
    {"replay", TestReplay, 0},
    {"zero_pivot", TestZeroPivot, 0},
    {"few_bytes", TestFewBytes, TEST_SERIAL | TEST_HOST_ONLY},
    {"later_pivot", TestLaterPivot, 0},
    {"shift_nonzero", TestShiftNonzero, 0},
    {"shift_ends", TestShiftEnds, TEST_SERIAL},
    {"shift_inblocks", TestShiftInBlocks, 0},
    {"shift_positive", TestShiftPositive, 0},
    {"shift_of_laplacian", TestShiftOfLaplacian, 0},
    {"negative", TestNegative, 0},
    {"bad_matrix", TestBadMatrix, 0},
    {"shell", TestShell, 0},
    {"pattern", TestPattern, 0},
    {"sor", TestSOR, 0},
    {"sor_other_rows", TestSOROtherRows, 0},
    {"sor_options", TestSOROptions, 0},
    {"refresh", TestRefresh, 0},
    {"keep", TestKeep, 0},
    {"same_bits", TestSameBits, TEST_SERIAL | TEST_HOST_ONLY},
    {"wide", TestWide, TEST_SERIAL},
    {"fuse_and_skip", TestFuseAndSkip, 0},
    {"view", TestView, 0},
    {"memory", TestMemory, 0},
    {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "pc_factor", tests);
}

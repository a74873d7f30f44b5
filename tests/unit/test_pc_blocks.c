/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Preconditioners of matrices of blocks. The reference for z is textbook loops on dense arrays of blocks,
  restricted to the pattern of the block that a rank owns. Every method is run with every preconditioner,
  without a conversion.
*/
#include "ksp/methods.h"
#include "pc/factor.h"
#include "shapes.h"

/* ---- matrices that are a function of their indices ------------------------------------------- */

enum { ANYWHERE, SAME_BOTH_WAYS, CHAIN, EVERYWHERE, KINDS };

typedef struct Blocky {
  int kind, b;
  PoiseInt n, begin, end; /* in blocks */
  bool symmetric;
  bool turned;     /* diagonal blocks whose largest entries are off their diagonals, which are 0 */
  double diagonal; /* 0: as large as makes it dominant */
  PoiseInt weak;   /* the diagonal block that is 0; weak < 0: none is */
  bool own;        /* nothing is stored outside the ranks' own blocks */
} Blocky;

static Blocky BlockyOf(PoiseContext ctx, int kind, int b, PoiseInt n)
{
  Blocky s = {.kind = kind, .b = b, .n = n, .weak = -1};
  PoiseInt m;
  PoiseSplit(ctx, n, &s.begin, &m);
  s.end = s.begin + m;
  return s;
}

static bool Has(const Blocky *s, PoiseInt I, PoiseInt J)
{
  PoiseInt low = I < J ? I : J, high = I < J ? J : I;
  if (I == J) return true;
  if (s->kind == CHAIN) return high - low == 1;
  return s->kind == EVERYWHERE ||
         TestRandom(11, (uint64_t)(s->kind == ANYWHERE ? I * s->n + J : low * s->n + high)) > 0.4;
}

/* Of numbers. */
static double Number(const Blocky *s, PoiseInt i, PoiseInt j)
{
  PoiseInt low = i < j ? i : j, high = i < j ? j : i, b = s->b;
  bool mirrored = s->symmetric && i > j;
  double v = TestRandom(12, (uint64_t)(mirrored ? low * s->n * b + high : i * s->n * b + j)) - 0.5;
  if (i / b == s->weak && j / b == s->weak) return 0;
  if (s->turned && i / b == j / b && b > 1) {
    if (i == j) return 0;
    return j % b == (i + 1) % b ? (s->diagonal != 0 ? s->diagonal : (double)(s->n * b)) : v;
  }
  return i == j ? v + (s->diagonal != 0 ? s->diagonal : (double)(s->n * b)) : v;
}

static PoiseErr Enter(PoiseMat A, const Blocky *s)
{
  int b = s->b;
  PoiseInt rows[MAX_BLOCK_SIZE], cols[MAX_BLOCK_SIZE];
  double v[MAX_BLOCK_SIZE * MAX_BLOCK_SIZE];
  PoiseErr e = POISE_OK;
  for (PoiseInt I = s->begin; !e && I < s->end; I++)
    for (PoiseInt J = s->own ? s->begin : 0; !e && J < (s->own ? s->end : s->n); J++) {
      if (!Has(s, I, J)) continue;
      for (int r = 0; r < b; r++)
        for (int c = 0; c < b; c++)
          rows[r] = I * b + r, cols[c] = J * b + c, v[r * b + c] = Number(s, rows[r], cols[c]);
      e = PoiseMatSetBlock(A, b, rows, b, cols, v);
    }
  PoiseErr all = PoiseMatAssemble(A);
  return e ? e : all;
}

static PoiseErr Create(PoiseContext ctx, const Blocky *s, const char *type, PoiseMat *A)
{
  PoiseInt m = (s->end - s->begin) * s->b;
  POISE_TRY(PoiseMatCreate(ctx, m, m, s->n * s->b, s->n * s->b, A));
  POISE_TRY(PoiseMatSetType(*A, type));
  POISE_TRY(PoiseMatSetBlockSize(*A, s->b));
  return Enter(*A, s);
}

static PoiseMat BlockMatrix(PoiseContext ctx, const Blocky *s, const char *type)
{
  PoiseMat A = NULL;
  if (!CHECK_OK(Create(ctx, s, type, &A))) return NULL;
  CHECK(!strcmp(PoiseMatType(A), type));
  return A;
}

/* ---- a reference: elimination by blocks, of the block that a rank owns ----------------------- */

typedef struct Reference {
  int m, b; /* blocks, and their size */
  long double *a, *inverse;
} Reference;

static long double *At(const Reference *f, int I, int J) /* row-major block */
{
  return f->a + ((size_t)I * (size_t)f->m + (size_t)J) * (size_t)(f->b * f->b);
}

static Reference ReferenceOf(const Blocky *s, double shift)
{
  Reference f = {.m = (int)(s->end - s->begin), .b = s->b};
  size_t n = (size_t)f.m * (size_t)f.b;
  f.a = calloc(n * n + 1, sizeof *f.a);
  f.inverse = calloc(n * (size_t)f.b + 1, sizeof *f.inverse);
  for (int I = 0; I < f.m; I++)
    for (int J = 0; J < f.m; J++)
      for (int k = 0; Has(s, s->begin + I, s->begin + J) && k < f.b * f.b; k++) {
        PoiseInt i = (s->begin + I) * f.b + k / f.b, j = (s->begin + J) * f.b + k % f.b;
        At(&f, I, J)[k] = Number(s, i, j) + (i == j ? shift : 0);
      }
  return f;
}

static void ReferenceFree(Reference *f)
{
  free(f->a);
  free(f->inverse);
}

/* x = a^-1, by Gauss-Jordan on [a | I] with row exchanges. */
static void Invert(const long double *a, int b, long double *x)
{
  long double w[MAX_BLOCK_SIZE][2 * MAX_BLOCK_SIZE];
  for (int i = 0; i < b; i++)
    for (int j = 0; j < b; j++) w[i][j] = a[i * b + j], w[i][b + j] = i == j;
  for (int k = 0; k < b; k++) {
    int p = k;
    for (int i = k; i < b; i++)
      if (fabsl(w[i][k]) > fabsl(w[p][k])) p = i;
    for (int j = 0; j < 2 * b; j++) {
      long double t = w[k][j];
      w[k][j] = w[p][j], w[p][j] = t;
    }
    for (int j = 2 * b - 1; j >= k; j--) w[k][j] /= w[k][k];
    for (int i = 0; i < b; i++)
      for (int j = 2 * b - 1; i != k && j >= k; j--) w[i][j] -= w[i][k] * w[k][j];
  }
  for (int i = 0; i < b; i++)
    for (int j = 0; j < b; j++) x[i * b + j] = w[i][b + j];
}

/* z += sign x y for blocks */
static void AddProduct(int b, long double sign, const long double *x, const long double *y, long double *z)
{
  for (int i = 0; i < b; i++)
    for (int k = 0; k < b; k++)
      for (int j = 0; j < b; j++) z[i * b + j] += sign * x[i * b + k] * y[k * b + j];
}

/* Gaussian elimination by blocks that drops what falls outside the pattern. */
static void EliminateBlocks(const Blocky *s, Reference *f)
{
  int b = f->b;
  for (int K = 0; K < f->m; K++) {
    Invert(At(f, K, K), b, f->inverse + K * b * b);
    for (int I = K + 1; I < f->m; I++) {
      long double l[MAX_BLOCK_SIZE * MAX_BLOCK_SIZE] = {0};
      if (!Has(s, s->begin + I, s->begin + K)) continue;
      AddProduct(b, 1, At(f, I, K), f->inverse + K * b * b, l);
      memcpy(At(f, I, K), l, (size_t)(b * b) * sizeof *l);
      for (int J = K + 1; J < f->m; J++)
        if (Has(s, s->begin + I, s->begin + J)) AddProduct(b, -1, l, At(f, K, J), At(f, I, J));
    }
  }
}

/* x -= block times y, or x = block times y */
static void ApplyBlock(int b, const long double *a, const long double *y, bool subtract, long double *x)
{
  long double t[MAX_BLOCK_SIZE];
  for (int i = 0; i < b; i++) {
    t[i] = subtract ? x[i] : 0;
    for (int j = 0; j < b; j++) t[i] += (subtract ? -1 : 1) * a[i * b + j] * y[j];
  }
  memcpy(x, t, (size_t)b * sizeof *t);
}

static void SolveBlocks(const void *reference, long double *x)
{
  const Reference *f = reference;
  int b = f->b;
  for (int I = 0; I < f->m; I++)
    for (int J = 0; J < I; J++) ApplyBlock(b, At(f, I, J), x + J * b, true, x + I * b);
  for (int I = f->m - 1; I >= 0; I--) {
    for (int J = I + 1; J < f->m; J++) ApplyBlock(b, At(f, I, J), x + J * b, true, x + I * b);
    ApplyBlock(b, f->inverse + I * b * b, x + I * b, false, x + I * b);
  }
}

typedef struct Truncated {
  Reference f;
  int sweeps;
} Truncated;

/* x = p(D^-1 N_U) D^-1 p(N_L) x, p(N) = 1 - N + N^2 - ... of degree `sweeps`, N of blocks */
static void SolvePolynomial(const void *truncated, long double *x)
{
  const Truncated *t = truncated;
  const Reference *f = &t->f;
  int b = f->b, n = f->m * b;
  long double *b0 = calloc((size_t)n + 1, sizeof *b0), *next = calloc((size_t)n + 1, sizeof *next);
  for (int upper = 0; upper < 2; upper++) {
    memcpy(b0, x, (size_t)n * sizeof *x);
    for (int k = 0; k < t->sweeps; k++) {
      for (int I = 0; I < f->m; I++) {
        long double sum[MAX_BLOCK_SIZE] = {0};
        for (int J = upper ? I + 1 : 0; J < (upper ? f->m : I); J++)
          ApplyBlock(b, At(f, I, J), x + J * b, true, sum);
        if (upper) ApplyBlock(b, f->inverse + I * b * b, sum, false, sum);
        for (int r = 0; r < b; r++) next[I * b + r] = b0[I * b + r] + sum[r];
      }
      memcpy(x, next, (size_t)n * sizeof *x);
    }
    for (int I = 0; I < f->m && !upper; I++)
      ApplyBlock(b, f->inverse + I * b * b, x + I * b, false, x + I * b);
  }
  free(b0);
  free(next);
}

static double TruncatedDefect(PoisePC pc, const Blocky *s, int sweeps)
{
  Truncated t = {.f = ReferenceOf(s, 0), .sweeps = sweeps};
  EliminateBlocks(s, &t.f);
  double worst = Difference(pc, SolvePolynomial, &t);
  ReferenceFree(&t.f);
  return worst;
}

static double BlocksDefect(PoisePC pc, const Blocky *s, double shift)
{
  Reference f = ReferenceOf(s, shift);
  EliminateBlocks(s, &f);
  double worst = Difference(pc, SolveBlocks, &f);
  ReferenceFree(&f);
  return worst;
}

/* ---- factors --------------------------------------------------------------------------------- */

static const int sizes[] = {1, 2, 3, 4, 5, 8, 17, 32};
enum { NSIZES = sizeof sizes / sizeof *sizes };

static void TestILU(PoiseContext ctx)
{
  for (int k = 0; k < NSIZES; k++)
    for (int kind = 0; kind < KINDS; kind++) {
      const PoiseInt most[] = {0, 1, sizes[k] > 8 ? 7 : 19};
      for (int q = 0; q < 3; q++)
        for (int turned = 0; turned < 2; turned++) {
          Blocky s = BlockyOf(ctx, kind, sizes[k], most[q]);
          s.turned = turned;
          PoiseMat A = BlockMatrix(ctx, &s, "bcsr");
          PoisePC pc = Make(ctx, "ilu", A, NULL);
          CHECK_NEAR(BlocksDefect(pc, &s, 0), 0, 1e-13);
          PoisePCDestroy(&pc);
          PoiseMatDestroy(&A);
        }
    }
}

/* icc reads the upper triangle only, of diagonal blocks too: the lower one is spoilt. */
static void TestICC(PoiseContext ctx)
{
  for (int k = 0; k < NSIZES; k++)
    for (int kind = SAME_BOTH_WAYS; kind < KINDS; kind++) {
      Blocky s = BlockyOf(ctx, kind, sizes[k], sizes[k] > 8 ? 7 : 19), t;
      s.symmetric = true;
      t = s;
      PoiseMat A = BlockMatrix(ctx, &s, "bcsr");
      for (PoiseInt i = s.begin * s.b; i < s.end * s.b; i++)
        for (PoiseInt j = s.begin * s.b; j < i; j++) {
          double more = 3;
          if (Has(&s, i / s.b, j / s.b)) CHECK_OK(PoiseMatAddEntries(A, 1, &i, &j, &more));
        }
      CHECK_OK(PoiseMatAssemble(A));
      CHECK(!strcmp(PoiseMatType(A), "bcsr"));
      PoisePC pc = Make(ctx, "icc", A, NULL);
      CHECK_NEAR(BlocksDefect(pc, &t, 0), 0, 1e-13);
      CHECK_INT(((Incomplete *)pc->data)->tries, 0);
      PoisePCDestroy(&pc);
      PoiseMatDestroy(&A);
    }
}

/* Solves by Jacobi sweeps; by as many as there are rows they are exact. Factors by sweeps take numbers. */
static void TestJacobiSweeps(PoiseContext ctx)
{
  for (int k = 1; k < NSIZES; k++)
    for (int q = 0; q < 4; q++) {
      static const int sweeps[] = {1, 2, 3, 19};
      char text[100];
      Blocky s = BlockyOf(ctx, q % 2 ? SAME_BOTH_WAYS : ANYWHERE, sizes[k], sizes[k] > 8 ? 7 : 19);
      s.symmetric = q % 2;
      PoiseMat A = BlockMatrix(ctx, &s, "bcsr");
      snprintf(text, sizeof text, "-x_pc_factor_sweeps %d\n-x_pc_factor_setup_sweeps 0", sweeps[q]);
      PoisePC pc = Make(ctx, q % 2 ? "icc" : "ilu", A, text);
      CHECK_NEAR(TruncatedDefect(pc, &s, sweeps[q]), 0, 1e-13);
      if (q == 3) CHECK_NEAR(BlocksDefect(pc, &s, 0), 0, 1e-12);
      if (q % 2) CheckSymmetric(pc);
      CheckFusedApply(pc, true);
      if (q == 0) {
        SetOptions(ctx, "-x_pc_factor_setup_sweeps 2");
        CHECK_OK(PoisePCSetFromOptions(pc));
        snprintf(text, sizeof text, "takes numbers, and the matrix has blocks of %d x %d", sizes[k],
                 sizes[k]);
        CHECK_ERR(PoisePCSetUp(pc), POISE_ERR_UNSUPPORTED, text);
      }
      PoisePCDestroy(&pc);
      PoiseMatDestroy(&A);
    }
}

static void TestSymmetric(PoiseContext ctx)
{
  static const char *const types[] = {"icc", "sor"};
  for (int k = 0; k < 2; k++) {
    Blocky s = BlockyOf(ctx, SAME_BOTH_WAYS, 3, 40);
    s.symmetric = true;
    PoiseMat A = BlockMatrix(ctx, &s, "bcsr");
    PoisePC pc = Make(ctx, types[k], A, NULL);
    CheckSymmetric(pc);
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
}

/* Where elimination makes no blocks the factors are exact: one iteration. */
static void TestNoFill(PoiseContext ctx)
{
  for (int k = 0; k < NSIZES; k++)
    for (int symmetric = 0; symmetric < 2; symmetric++) {
      Blocky s = BlockyOf(ctx, CHAIN, sizes[k], 30);
      PoiseKSP ksp;
      PoisePC pc;
      PoiseVec x, b, r;
      double norm = NAN, size = NAN;
      s.own = true, s.symmetric = symmetric;
      PoiseMat A = BlockMatrix(ctx, &s, "bcsr");
      if (!CHECK_OK(PoiseKSPCreate(ctx, &ksp)) || !CHECK_OK(PoiseMatCreateVecs(A, &x, &b)) ||
          !CHECK_OK(PoiseVecDuplicate(b, &r)))
        return;
      SampleFill(b, 3);
      CHECK_OK(PoiseKSPSetType(ksp, symmetric ? "cg" : "gmres"));
      CHECK_OK(PoiseKSPGetPC(ksp, &pc));
      CHECK_OK(PoisePCSetType(pc, symmetric ? "icc" : "ilu"));
      CHECK_OK(PoiseKSPSetOperators(ksp, A, NULL));
      CHECK_OK(PoiseKSPSetTolerances(ksp, 1e-11, -1, -1, -1));
      CHECK_OK(PoiseKSPSolve(ksp, b, x));
      CHECK_INT(PoiseKSPIterations(ksp), 1);
      CHECK_OK(PoiseMatResidual(A, b, x, r));
      CHECK_OK(PoiseVecNorm(r, POISE_NORM_2, &norm));
      CHECK_OK(PoiseVecNorm(b, POISE_NORM_2, &size));
      CHECK_NEAR(norm, 0, 1e-12 * size);
      PoiseKSPDestroy(&ksp);
      PoiseVecDestroy(&x);
      PoiseVecDestroy(&b);
      PoiseVecDestroy(&r);
      PoiseMatDestroy(&A);
    }
}

/* ---- what cannot be factored ----------------------------------------------------------------- */

static PoiseErr Mine(const Blocky *s, PoiseInt block, PoiseErr code)
{
  return block >= s->begin && block < s->end ? code : POISE_ERR_REMOTE;
}

/* Of elimination by numbers, without exchanges: the least pivot. */
static double LeastPivot(const Blocky *s, double shift)
{
  Reference f = ReferenceOf(s, shift);
  double least = INFINITY;
  EliminateBlocks(s, &f);
  for (int I = 0; I < f.m; I++) { /* of the blocks that are left on the diagonal, by numbers */
    long double *a = At(&f, I, I);
    for (int k = 0; k < f.b; k++) {
      least = fmin(least, (double)a[k * f.b + k]);
      for (int i = k + 1; i < f.b; i++)
        for (int j = f.b - 1; j >= k; j--) a[i * f.b + j] -= a[i * f.b + k] / a[k * f.b + k] * a[k * f.b + j];
    }
  }
  ReferenceFree(&f);
  return least;
}

static void TestSingular(PoiseContext ctx)
{
  static const char *const types[] = {"ilu", "icc"};
  for (int k = 0; k < 2; k++) {
    Blocky s = BlockyOf(ctx, CHAIN, 3, 24);
    s.symmetric = true, s.weak = 0;
    PoiseMat A = BlockMatrix(ctx, &s, "bcsr");
    PoisePC pc = Make(ctx, types[k], A, "-x_pc_factor_shift_type none");
    char words[200];
    snprintf(words, sizeof words,
             "%s: the pivot of row 0 (block row 0: rows 0 to 2) is 0, a zero pivot (up to 2.22045e-14 counts "
             "as zero: "
             "-x_pc_factor_zeropivot)",
             types[k]);
    CHECK_ERR(PoisePCSetUp(pc), Mine(&s, 0, POISE_ERR_NUMERIC), words);
    s.weak = -1; /* a matrix that was put right is accepted */
    CHECK_OK(Enter(A, &s));
    CHECK_NEAR(BlocksDefect(pc, &s, 0), 0, 1e-13);
    PoiseInt bad = 10, row = 3 * bad + 1;
    double nan = NAN;
    if (bad >= s.begin && bad < s.end) CHECK_OK(PoiseMatSetEntries(A, 1, &row, &row, &nan));
    CHECK_OK(PoiseMatAssemble(A));
    CHECK_ERR(PoisePCSetUp(pc), Mine(&s, bad, POISE_ERR_NUMERIC),
              "(block row 10: rows 30 to 32) is nan: an entry of");
    CHECK_OK(Enter(A, &s));
    PoiseInt beside = row + 1; /* of the pivot, which is finite: a shift would not help */
    if (bad >= s.begin && bad < s.end) CHECK_OK(PoiseMatSetEntries(A, 1, &row, &beside, &nan));
    CHECK_OK(PoiseMatAssemble(A));
    CHECK_ERR(PoisePCSetUp(pc), Mine(&s, bad, POISE_ERR_NUMERIC), "row 31 has an entry that is not finite");
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
}

/* A block of rank 2, and a later one: the first is named, and which of its pivots is zero. */
static void TestLaterPivot(PoiseContext ctx)
{
  Blocky s = BlockyOf(ctx, CHAIN, 4, 12);
  PoiseInt bad[] = {5, 7};
  PoiseMat A = BlockMatrix(ctx, &s, "bcsr");
  for (int q = 0; q < 2; q++)
    for (PoiseInt J = 0; J < s.n; J++)
      for (int k = 0; k < 16 && bad[q] >= s.begin && bad[q] < s.end && Has(&s, bad[q], J); k++) {
        PoiseInt i = 4 * bad[q] + k / 4, j = 4 * J + k % 4;
        double v = J == bad[q] && k / 4 == k % 4 && k / 4 < 2 ? 1 : 0;
        CHECK_OK(PoiseMatSetEntries(A, 1, &i, &j, &v));
      }
  CHECK_OK(PoiseMatAssemble(A));
  PoisePC pc = Make(ctx, "ilu", A, NULL);
  PoiseErr e = PoisePCSetUp(pc);
  bool first = Mine(&s, 5, POISE_OK) == POISE_OK, second = Mine(&s, 7, POISE_OK) == POISE_OK;
  CHECK_INT(e, first || second ? POISE_ERR_NUMERIC : POISE_ERR_REMOTE);
  if (first || !second)
    CHECK(strstr(PoiseErrorMessage(), "the pivot of row 22 (block row 5: rows 20 to 23) is 0") != NULL);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

static void TestShifts(PoiseContext ctx)
{
  Blocky s = BlockyOf(ctx, CHAIN, 3, 24);
  s.weak = 0;
  PoiseMat A = BlockMatrix(ctx, &s, "bcsr");
  PoisePC pc =
      Make(ctx, "ilu", A,
           "-x_pc_factor_shift_type nonzero\n-x_pc_factor_shift_amount 0.25\n-x_pc_factor_zeropivot 1e-3");
  CHECK_OK(PoisePCSetUp(pc));
  const Incomplete *f = pc->data;
  if (s.begin == 0 && s.end > 0) CHECK(f->tries == 1 && f->shift == 0.25);
  CHECK_NEAR(BlocksDefect(pc, &s, f->shift), 0, 1e-12);
  SetOptions(ctx, "-x_pc_factor_shift_type inblocks\n-x_pc_factor_shift_amount 50");
  CHECK_OK(PoisePCSetFromOptions(pc));
  CHECK_OK(PoisePCSetUp(pc));
  Reference r = ReferenceOf(&s, 0); /* 50 on the diagonal of the block that is 0 */
  for (int k = 0; k < 3 && s.begin == 0 && s.end > 0; k++) At(&r, 0, 0)[4 * k] = 50;
  EliminateBlocks(&s, &r);
  CHECK_NEAR(Difference(pc, SolveBlocks, &r), 0, 1e-12);
  ReferenceFree(&r);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* An indefinite matrix: M becomes positive definite, by no more than dominance needs. */
static void TestShiftPositive(PoiseContext ctx)
{
  static const char *const types[] = {"icc", "ilu"};
  for (int k = 0; k < 2; k++)
    for (int deep = 0; deep < 2; deep++) {
      Blocky s = BlockyOf(ctx, SAME_BOTH_WAYS, 3, 15);
      s.symmetric = true, s.diagonal = deep ? -3 : 1.5;
      if (deep) s.weak = 0; /* not all of one sign */
      PoiseMat A = BlockMatrix(ctx, &s, "bcsr");
      PoisePC pc = Make(ctx, types[k], A, "-x_pc_factor_shift_type positive_definite");
      CHECK_OK(PoisePCSetUp(pc));
      const Incomplete *f = pc->data;
      double lack = 0;
      for (PoiseInt i = s.begin * 3; i < s.end * 3; i++) {
        double sum = -2 * poiseLarger(Number(&s, i, i), 0);
        for (PoiseInt j = s.begin * 3; j < s.end * 3; j++)
          if (Has(&s, i / 3, j / 3)) sum += fabs(Number(&s, i, j));
        lack = poiseLarger(lack, sum);
      }
      CHECK(f->shift <= 1.1 * lack + 1e-12);
      CHECK(LeastPivot(&s, f->shift) > 0);
      CHECK_NEAR(BlocksDefect(pc, &s, f->shift), 0, 1e-10);
      CHECK(!f->tries || LeastPivot(&s, f->shift - lack * 1.1 / 8) <= 0); /* with less it fails */
      CHECK(!deep || s.begin == s.end || f->tries > 0);
      PoisePCDestroy(&pc);
      PoiseMatDestroy(&A);
    }
}

/* icc of a negative definite matrix of blocks. */
static void TestNegative(PoiseContext ctx)
{
  for (int deep = 0; deep < 2; deep++) {
    Blocky s = BlockyOf(ctx, SAME_BOTH_WAYS, 3, 15);
    s.symmetric = true, s.diagonal = deep ? 3 : 0;
    PoiseMat A = BlockMatrix(ctx, &s, "bcsr"), B;
    PoiseVec r, z[2];
    double d;
    if (!CHECK_OK(PoiseMatDuplicate(A, 1, &B)) || !CHECK_OK(PoiseMatScale(B, -1)) ||
        !CHECK_OK(PoiseMatCreateVecs(A, &r, &z[0])) || !CHECK_OK(PoiseVecDuplicate(r, &z[1])))
      return;
    PoisePC pc[] = {Make(ctx, "icc", A, NULL), Make(ctx, "icc", B, NULL)};
    SampleFill(r, 5);
    for (int k = 0; k < 2; k++) CHECK_OK(PoisePCApply(pc[k], r, z[k]));
    const Incomplete *f = pc[0]->data, *g = pc[1]->data;
    CHECK(!f->negative && g->negative && f->tries == g->tries && f->shift == g->shift);
    CHECK_OK(PoiseVecAXPY(z[0], 1, z[1]));
    CHECK_OK(PoiseVecNorm(z[0], POISE_NORM_INF, &d));
    CHECK(d == 0);
    for (int k = 0; k < 2; k++) PoisePCDestroy(&pc[k]), PoiseVecDestroy(&z[k]);
    PoiseVecDestroy(&r);
    PoiseMatDestroy(&A);
    PoiseMatDestroy(&B);
  }
}

/* No diagonal block in a row, and a pattern that is not symmetric. */
static void TestPattern(PoiseContext ctx)
{
  static const char *const types[] = {"ilu", "icc", "sor"};
  const PoiseInt n = POISE_DECIDE;
  int rank = PoiseRank(ctx);
  PoiseInt N = 2 * PoiseSize(ctx);
  double v[12] = {1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1};
  const int32_t whole[] = {0, 2, 3}, lacking[] = {0, 1, 2},
                columns[] = {2 * rank, 2 * rank + 1, 2 * rank + 1}, only[] = {2 * rank, 2 * rank};
  PoiseBCSR in = {.ptr32 = whole, .col32 = columns, .val = v},
            bad = {.ptr32 = lacking, .col32 = only, .val = v};
  PoiseMat A, B;
  char words[100];
  if (!CHECK_OK(PoiseMatCreateBCSR(ctx, 2, 4, 4, n, 2 * N, &in, POISE_COPY, &A)) ||
      !CHECK_OK(PoiseMatCreateBCSR(ctx, 2, 4, 4, n, 2 * N, &bad, POISE_COPY, &B)))
    return;
  for (int k = 0; k < 3; k++) {
    PoisePC pc = Make(ctx, types[k], B, NULL);
    snprintf(words, sizeof words,
             "block row %d (row %d) has no diagonal block, which preconditioner %s needs", 2 * rank + 1,
             4 * rank + 2, types[k]);
    if (k == 2)
      snprintf(words, sizeof words, "the diagonal block of rows %d to %d is singular", 4 * rank + 2,
               4 * rank + 3);
    CHECK_ERR(PoisePCSetUp(pc), POISE_ERR_NUMERIC, words);
    CHECK_OK(PoisePCSetOperator(pc, A));
    snprintf(words, sizeof words, "block (%d, %d) is stored and (%d, %d) is not", 2 * rank, 2 * rank + 1,
             2 * rank + 1, 2 * rank);
    if (k == 1)
      CHECK_ERR(PoisePCSetUp(pc), POISE_ERR_UNSUPPORTED, words);
    else
      CHECK_OK(PoisePCSetUp(pc));
    PoisePCDestroy(&pc);
  }
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&B);
}

/* ---- sor ------------------------------------------------------------------------------------- */

static void Relax(const Blocky *s, PoiseInt begin, PoiseInt end, double omega, bool backward,
                  const long double *r, const long double *old, long double *x)
{
  int b = s->b;
  for (PoiseInt q = 0; q < end - begin; q++) {
    PoiseInt I = backward ? end - 1 - q : begin + q;
    long double sum[MAX_BLOCK_SIZE], d[MAX_BLOCK_SIZE * MAX_BLOCK_SIZE],
        inverse[MAX_BLOCK_SIZE * MAX_BLOCK_SIZE];
    for (int i = 0; i < b; i++) {
      sum[i] = r[I * b + i];
      for (PoiseInt j = 0; j < s->n * b; j++) {
        if (j / b == I) d[i * b + j % b] = Number(s, I * b + i, j);
        if (j / b != I && Has(s, I, j / b))
          sum[i] -= Number(s, I * b + i, j) * (j / b >= begin && j / b < end ? x[j] : old[j]);
      }
    }
    Invert(d, b, inverse);
    ApplyBlock(b, inverse, sum, false, sum);
    for (int i = 0; i < b; i++) x[I * b + i] = (1 - omega) * x[I * b + i] + omega * sum[i];
  }
}

static double SORDefect(PoisePC pc, const Blocky *s, const Relaxation *w)
{
  PoiseVec r, z;
  const double *y;
  size_t n = (size_t)(s->n * s->b) + 1;
  double worst = 0;
  long double *in = calloc(n, sizeof *in), *x = calloc(n, sizeof *x), *old = calloc(n, sizeof *old);
  if (!CHECK_OK(PoiseMatCreateVecs(pc->P, &r, &z))) return INFINITY;
  SampleFill(r, 5);
  SampleConstant(z, NAN);
  CHECK_OK(PoisePCApply(pc, r, z));
  for (PoiseInt i = 0; i < s->n * s->b; i++) in[i] = TestRandom(5, (uint64_t)i);
  for (PoiseInt k = 0; k < w->its; k++) { /* every rank computes all blocks */
    memcpy(old, x, n * sizeof *x);
    for (int p = 0; p < PoiseSize(pc->ctx); p++)
      for (PoiseInt l = 0; l < w->lits; l++)
        for (int d = 0; d < 2; d++)
          if (w->directions & (d ? BACKWARD : FORWARD))
            Relax(s, r->layout->start[p] / s->b, r->layout->start[p + 1] / s->b, w->omega, d, in, old, x);
  }
  CHECK_OK(PoiseVecGetRead(z, &y));
  for (PoiseInt i = s->begin * s->b; i < s->end * s->b; i++)
    worst = poiseLarger(worst, fabs((double)(x[i] - y[i - s->begin * s->b])));
  PoiseVecRestore(z, &y);
  PoiseVecDestroy(&r);
  PoiseVecDestroy(&z);
  free(in), free(x), free(old);
  return worst;
}

static void TestSOR(PoiseContext ctx)
{
  static const Relaxation cases[] = {{1, 3, 1, 1},   {1.5, 3, 1, 1}, {0.7, 1, 1, 1},
                                     {1.2, 2, 1, 1}, {1.2, 3, 1, 3}, {1.1, 2, 1, 2},
                                     {1, 3, 3, 1},   {1.2, 1, 2, 2}, {0.8, 2, 2, 1}};
  for (int k = 0; k < NSIZES; k++) {
    Blocky s = BlockyOf(ctx, ANYWHERE, sizes[k], sizes[k] > 8 ? 5 : 14);
    PoiseMat A = BlockMatrix(ctx, &s, "bcsr");
    PoisePC pc = Make(ctx, "sor", A, NULL);
    for (int q = 0; q < (sizes[k] > 8 ? 5 : 9); q++) {
      const Relaxation *w = &cases[q];
      char text[300];
      snprintf(text, sizeof text,
               "-x_pc_sor_omega %g\n-x_pc_sor_its %d\n-x_pc_sor_lits %d\n-x_pc_sor_forward "
               "%d\n-x_pc_sor_backward %d",
               w->omega, (int)w->its, (int)w->lits, w->directions == FORWARD, w->directions == BACKWARD);
      SetOptions(ctx, text);
      CHECK_OK(PoisePCSetOptionsPrefix(pc, "x_"));
      CHECK_OK(PoisePCSetFromOptions(pc));
      CHECK_NEAR(SORDefect(pc, &s, w), 0, 1e-13);
    }
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
}

/* ---- against csr ----------------------------------------------------------------------------- */

/* lu and supervariables see the same numbers, so do all with blocks of 1: the same bits. */
static void TestSameAsCSR(PoiseContext ctx)
{
  static const char *const types[] = {"lu",  "bjacobi", "bjacobi", "bjacobi", "ilu",
                                      "icc", "sor",     "bjacobi", "bjacobi"};
  static const char *const options[] = {
      NULL,
      "-x_pc_bjacobi_local_blocks 0\n-x_pc_bjacobi_supervariables 8",
      "-x_pc_bjacobi_local_blocks 0\n-x_pc_bjacobi_supervariables 2",
      "-x_pc_bjacobi_supervariables 0\n-x_pc_bjacobi_local_blocks 3\n-x_sub_pc_type lu",
      NULL,
      NULL,
      NULL,
      "-x_pc_bjacobi_supervariables 0\n-x_pc_bjacobi_local_blocks 1\n-x_sub_pc_type ilu",
      "-x_pc_bjacobi_supervariables 0\n-x_pc_bjacobi_local_blocks 2\n-x_sub_pc_type sor"};
  for (int k = 0; k < NSIZES; k++) {
    Blocky s = BlockyOf(ctx, SAME_BOTH_WAYS, sizes[k], 22);
    s.symmetric = true;
    PoiseMat A = BlockMatrix(ctx, &s, "csr"), B = BlockMatrix(ctx, &s, "bcsr");
    for (int q = 0; q < (sizes[k] > 1 ? 4 : 9); q++)
      CHECK(Applied(A, types[q], options[q]) == Applied(B, types[q], options[q]));
    PoiseMatDestroy(&A);
    PoiseMatDestroy(&B);
  }
}

/* Blocks of rows are matrices of blocks themselves; one per rank gives what ilu does alone; new values reach
   them. */
static void TestBJacobi(PoiseContext ctx)
{
  for (int k = 0; k < NSIZES; k++) {
    Blocky s = BlockyOf(ctx, ANYWHERE, sizes[k], 28);
    PoiseMat A = BlockMatrix(ctx, &s, "bcsr"), inner;
    PoiseKSP *sub;
    PoiseInt count;
    CHECK(Applied(A, "bjacobi",
                  "-x_pc_bjacobi_supervariables 0\n-x_pc_bjacobi_local_blocks 1\n-x_sub_pc_type ilu") ==
          Applied(A, "ilu", NULL));
    PoisePC pc = Make(ctx, "bjacobi", A, "-x_pc_bjacobi_local_blocks 2");
    for (int round = 0; round < 2; round++) {
      CHECK_OK(PoisePCSetUp(pc));
      CHECK_OK(PoisePCBJacobiGetSubKSP(pc, &count, NULL, &sub));
      PoiseInt before = s.begin;
      for (PoiseInt q = 0; q < count; q++) {
        inner = sub[q]->pc->P;
        CHECK(!strcmp(PoiseMatType(inner), "bcsr") && inner->type->blocked);
        Blocky part = s; /* of the block's rows alone */
        part.begin = before, part.end = before + inner->rows->n / s.b, before = part.end;
        CHECK_NEAR(BlocksDefect(sub[q]->pc, &part, 0), 0, 1e-13);
      }
      CHECK_INT(before, s.end);
      s.diagonal = 3.0 * (double)s.n * s.b;
      CHECK_OK(Enter(A, &s));
      int64_t calls = ctx->memory.calls;
      if (!round) CHECK_OK(PoisePCSetUp(pc));
      if (!round) CHECK_INT(ctx->memory.calls, calls);
    }
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
}

/* ---- everything with everything, and nothing is converted ------------------------------------ */

#define KSP_TYPE(name) #name,
static const char *const ksps[] = {
#include "ksp/types.def"
};
#undef KSP_TYPE
#define PC_TYPE(name) #name,
static const char *const pcs[] = {
#include "pc/types.def"
};
#undef PC_TYPE

static PoiseErr Third(void *arg, PoiseVec r, PoiseVec z)
{
  (void)arg;
  return PoiseVecAXPBY(z, 1.0 / 120, 0, r);
}

static double Conversions(PoiseContext ctx)
{
  LogCounts counts;
  poiseLogCounts(ctx, &counts);
  return counts.event[EVENT_MatConvert].calls;
}

/* For a method that needs one M a polynomial of A, else what there is: gmres. */
static void ChooseInside(PoiseKSP ksp, PoisePC pc)
{
  PoiseKSP inner;
  PoisePC jacobi;
  if (ksp->type->flexible || !CHECK_OK(PoisePCKSPGetKSP(pc, &inner)) ||
      !CHECK_OK(PoiseKSPGetPC(inner, &jacobi)))
    return;
  CHECK_OK(PoiseKSPSetType(inner, "chebyshev"));
  CHECK_OK(PoiseKSPSetNormType(inner, POISE_KSP_NORM_NONE));
  CHECK_OK(PoiseKSPSetTolerances(inner, -1, -1, -1, 6));
  CHECK_OK(PoisePCSetType(jacobi, "jacobi"));
}

static bool HasTranspose(const char *pc_type)
{
  static const char *const have[] = {"none", "jacobi", "pbjacobi", "ilu", "icc",
                                     "ict",  "lu",     "cholesky", "sor"};
  for (size_t k = 0; k < sizeof have / sizeof *have; k++)
    if (!strcmp(pc_type, have[k])) return true;
  return false;
}

static void Solve(PoiseMat A, const char *ksp_type, const char *pc_type)
{
  PoiseContext ctx = PoiseMatContext(A);
  const PoiseShellPC shell = {.apply = Third};
  PoiseKSP ksp;
  PoisePC pc;
  PoiseVec x, b, r;
  double norm = NAN, size = NAN, before = Conversions(ctx);
  bool once = !strcmp(ksp_type, "preonly");
  bool pointwise = !strcmp(pc_type, "none") || !strcmp(pc_type, "jacobi");
  if (!strcmp(ksp_type, "prcg") && !pointwise) return; /* which refuses it */
  if ((!strcmp(ksp_type, "bicg") || !strcmp(ksp_type, "qmr")) && !HasTranspose(pc_type)) return;
  if (!CHECK_OK(PoiseKSPCreate(ctx, &ksp)) || !CHECK_OK(PoiseMatCreateVecs(A, &x, &b)) ||
      !CHECK_OK(PoiseVecDuplicate(b, &r)))
    return;
  SampleFill(b, 9);
  CHECK_OK(PoiseKSPSetType(ksp, ksp_type));
  CHECK_OK(PoiseKSPGetPC(ksp, &pc));
  CHECK_OK(PoisePCSetType(pc, pc_type));
  if (!strcmp(pc_type, "shell")) CHECK_OK(PoisePCSetShell(pc, &shell, NULL));
  if (!strcmp(pc_type, "ksp")) ChooseInside(ksp, pc);
  CHECK_OK(PoiseKSPSetOperators(ksp, A, NULL));
  CHECK_OK(PoiseKSPSetTolerances(ksp, 1e-7, -1, -1, 500));
  if (!strcmp(ksp_type, "richardson") && !strcmp(pc_type, "none")) CHECK_OK(PoiseMatScale(A, 1.0 / 120));
  CHECK_OK(PoiseKSPSolve(ksp, b, x));
  CHECK(PoiseKSPConvergedReason(ksp) > 0);
  CHECK_OK(PoiseMatResidual(A, b, x, r));
  CHECK_OK(PoiseVecNorm(r, POISE_NORM_2, &norm));
  CHECK_OK(PoiseVecNorm(b, POISE_NORM_2, &size));
  if (!CHECK(once || norm <= 1e-5 * size)) printf("%s with %s: %g\n", ksp_type, pc_type, norm / size);
  if (!strcmp(ksp_type, "richardson") && !strcmp(pc_type, "none")) CHECK_OK(PoiseMatScale(A, 120));
  CHECK(Conversions(ctx) == before);
  CHECK(A->type->blocked);
  PoiseKSPDestroy(&ksp);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&b);
  PoiseVecDestroy(&r);
}

static void TestConversions(PoiseContext ctx)
{
  Blocky s = BlockyOf(ctx, SAME_BOTH_WAYS, 3, 40);
  s.symmetric = true;
  PoiseMat A = BlockMatrix(ctx, &s, "csr");
  double before = Conversions(ctx);
  CHECK_OK(PoiseMatSetType(A, "bcsr"));
  CHECK(Conversions(ctx) == before + 1); /* one is seen */
  for (int k = 0; k < (int)(sizeof ksps / sizeof *ksps); k++)
    for (int p = 0; p < (int)(sizeof pcs / sizeof *pcs); p++) Solve(A, ksps[k], pcs[p]);
  PoiseMatDestroy(&A);
}

/* ---- devices, threads, dots, skipping, memory ------------------------------------------------ */

/* 3 unknowns at the points of a plane grid, whose lines are groups that threads share. */
static PoiseErr Plane(PoiseContext ctx, int nx, int ny, int b, PoiseMat *A)
{
  PoiseInt begin, m, rows[MAX_BLOCK_SIZE], cols[MAX_BLOCK_SIZE];
  double v[MAX_BLOCK_SIZE * MAX_BLOCK_SIZE];
  PoiseErr e = POISE_OK;
  PoiseSplit(ctx, (PoiseInt)nx * ny, &begin, &m);
  POISE_TRY(PoiseMatCreate(ctx, m * b, m * b, (PoiseInt)nx * ny * b, (PoiseInt)nx * ny * b, A));
  POISE_TRY(PoiseMatSetType(*A, "bcsr"));
  POISE_TRY(PoiseMatSetBlockSize(*A, b));
  for (PoiseInt I = begin; !e && I < begin + m; I++)
    for (int k = 0; !e && k < 5; k++) {
      const int dx[] = {0, -1, 1, 0, 0}, dy[] = {0, 0, 0, -1, 1};
      PoiseInt x = I % nx + dx[k], y = I / nx + dy[k], J = x + y * nx;
      if (x < 0 || x >= nx || y < 0 || y >= ny) continue;
      for (int q = 0; q < b * b; q++) {
        PoiseInt i = rows[q / b] = I * b + q / b, j = cols[q % b] = J * b + q % b, low = i < j ? i : j;
        v[q] = TestRandom(3, (uint64_t)(low * 7919 + i + j)) - 0.5 + (i == j ? 4 * b : 0);
      }
      e = PoiseMatSetBlock(*A, b, rows, b, cols, v);
    }
  PoiseErr all = PoiseMatAssemble(*A);
  return e ? e : all;
}

static PoiseErr ApplyAll(PoiseContext ctx, void *arg)
{
  static const char *const types[] = {"ilu", "icc", "sor", "bjacobi", "lu"};
  PoiseVec r, z;
  for (int b = 2; b < 8; b += 3)
    for (int k = 0; k < 5; k++) {
      PoiseMat A;
      POISE_TRY(Plane(ctx, k == 4 ? 6 : 40, k == 4 ? 5 : 70, b, &A)); /* 70 groups, or more */
      POISE_TRY(PoiseMatCreateVecs(A, &r, &z));
      SampleFill(r, 4);
      PoisePC pc =
          Make(ctx, types[k], A, "-x_pc_sor_lits 2\n-x_pc_sor_omega 0.8\n-x_pc_bjacobi_local_blocks 3");
      POISE_TRY(PoisePCApply(pc, r, z));
      SampleKeep(ctx, arg, SampleDigest(z));
      PoisePCDestroy(&pc);
      PoiseVecDestroy(&r);
      PoiseVecDestroy(&z);
      PoiseMatDestroy(&A);
    }
  return POISE_OK;
}

static void TestSameBits(PoiseContext ctx)
{
  (void)ctx;
  SampleSameBits(ApplyAll);
}

/* Rows of blocks that end within the 1024 numbers of a dot's block, forward and backward; then skipped: z and
   the dots stay. */
static void TestFuseAndSkip(PoiseContext ctx)
{
  static const char *const types[] = {"ilu", "sor", "sor", "bjacobi"};
  static const char *const options[] = {"", "-x_pc_sor_lits 2", "-x_pc_sor_forward", ""};
  static const int of[] = {3, 5, 17};
  for (int k = 0; k < 12; k++) {
    PoiseMat A;
    if (!CHECK_OK(Plane(ctx, 30, 33, of[k / 4], &A))) return;
    ctx->device->threads = 1 + k % 2;
    PoisePC pc = Make(ctx, types[k % 4], A, options[k % 4]);
    CheckFusedApply(pc, true);
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
}

/* New values need no memory; matrices of other sizes of blocks, and of numbers, take turns. */
static void TestRefresh(PoiseContext ctx)
{
  static const char *const types[] = {"ilu", "icc"};
  for (int k = 0; k < 2; k++) {
    PoisePC pc = NULL;
    for (int q = 0; q < 3; q++) {
      Blocky s = BlockyOf(ctx, SAME_BOTH_WAYS, q == 1 ? 4 : 2, q == 1 ? 10 : 20);
      s.symmetric = true;
      PoiseMat A = BlockMatrix(ctx, &s, q == 2 ? "csr" : "bcsr");
      if (!pc) pc = Make(ctx, types[k], A, NULL);
      CHECK_OK(PoisePCSetOperator(pc, A));
      CHECK_NEAR(BlocksDefect(pc, &s, 0), 0, 1e-13); /* by numbers the same, but for rounding */
      s.diagonal = 77;
      CHECK_OK(Enter(A, &s));
      int64_t calls = ctx->memory.calls, generation = pc->generation;
      CHECK_OK(PoisePCSetUp(pc));
      CHECK_INT(ctx->memory.calls, calls);
      CHECK_INT(pc->generation, generation);
      CHECK_NEAR(BlocksDefect(pc, &s, 0), 0, 1e-13);
      PoiseMatDestroy(&A);
    }
    PoisePCDestroy(&pc);
  }
}

static void TestView(PoiseContext ctx)
{
  static const char *const types[] = {"ilu", "icc", "sor"};
  static const char *const words[] = {"level 0 of blocks of 3 x 3, shift none\n",
                                      "level 0 of blocks of 3 x 3, shift positive_definite\n",
                                      "the unknowns of a block at once, blocks of 3 x 3\n"};
  Blocky s = BlockyOf(ctx, SAME_BOTH_WAYS, 3, 12);
  s.symmetric = true;
  PoiseMat A = BlockMatrix(ctx, &s, "bcsr");
  for (int k = 0; k < 3; k++) {
    PoisePC pc = Make(ctx, types[k], A, NULL);
    char text[400];
    CHECK_OK(PoisePCSetUp(pc));
    TEST_PRINTED(ctx, text, sizeof text, PoisePCView(pc));
    CHECK((strstr(text, words[k]) != NULL) == (PoiseRank(ctx) == 0));
    PoisePCDestroy(&pc);
  }
  PoiseMatDestroy(&A);
}

static PoiseErr UseAll(PoisePC pc, Given *g)
{
  static const char *const types[] = {"ilu", "icc", "sor", "lu", "bjacobi", "bjacobi"};
  POISE_TRY(PoisePCSetOperator(pc, g->A));
  for (int k = 0; k < 6; k++) {
    POISE_TRY(PoisePCSetType(pc, types[k]));
    POISE_TRY(PoisePCSetOptionsPrefix(pc, k == 5 ? "several_" : ""));
    POISE_TRY(PoisePCSetFromOptions(pc));
    POISE_TRY(PoisePCApply(pc, g->r, g->z));
  }
  return POISE_OK;
}

static void Judge(PoisePC pc, const Given *g, bool failed, const void *blocky)
{
  (void)g;
  if (failed && (!strcmp(PoisePCType(pc), "ilu") || !strcmp(PoisePCType(pc), "icc")))
    CHECK_NEAR(BlocksDefect(pc, blocky, 0), 0, 1e-13);
}

static void TestMemory(PoiseContext ctx)
{
  Blocky s = BlockyOf(ctx, SAME_BOTH_WAYS, 3, 16);
  s.symmetric = true;
  PoiseMat A = BlockMatrix(ctx, &s, "bcsr");
  CHECK_OK(PoiseOptionsSet(ctx, "several_pc_bjacobi_local_blocks", "2"));
  CheckWithoutMemory(A, UseAll, 24, 1, Judge, &s);
  PoiseMatDestroy(&A);
}

static const Test tests[] = {{"ilu", TestILU, 0},
                             {"icc", TestICC, 0},
                             {"jacobi_sweeps", TestJacobiSweeps, 0},
                             {"symmetric", TestSymmetric, 0},
                             {"no_fill", TestNoFill, 0},
                             {"singular", TestSingular, 0},
                             {"later_pivot", TestLaterPivot, 0},
                             {"shifts", TestShifts, 0},
                             {"shift_positive", TestShiftPositive, 0},
                             {"negative", TestNegative, 0},
                             {"pattern", TestPattern, 0},
                             {"sor", TestSOR, 0},
                             {"same_as_csr", TestSameAsCSR, TEST_LONG},
                             {"bjacobi", TestBJacobi, 0},
                             {"conversions", TestConversions, 0},
                             {"same_bits", TestSameBits, TEST_SERIAL | TEST_HOST_ONLY},
                             {"fuse_and_skip", TestFuseAndSkip, 0},
                             {"refresh", TestRefresh, 0},
                             {"view", TestView, 0},
                             {"memory", TestMemory, 0},
                             {NULL, NULL, 0}};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "pc_blocks", tests);
}

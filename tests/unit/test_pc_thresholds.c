/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Factors by thresholds, ilut and ict. The reference is the definition on dense arrays. Numbers are random, so
  that no two sizes are equal and rounding decides nothing.
*/
#include "pc/factor.h"
#include "shapes.h"

/* ---- the definition -------------------------------------------------------------------------- */

typedef struct Rule {
  double drop_tol, fill, pivoting;
  bool symmetric;
} Rule;

/* L with its unit diagonal left out and U, both by places; column[p]: the column in place p. */
typedef struct Factors {
  int m;
  double *lu;
  bool *stored;
  int *column;
} Factors;

static double *Numbers(int n)
{
  return calloc((size_t)n + 1, sizeof(double));
}

static double NormOf(const double *v, const double *c, int begin, int m)
{
  double sum = 0;
  for (int j = begin; j < m; j++) sum += c[j] * v[j] * c[j] * v[j];
  return sqrt(sum);
}

/* Of sizes[0..m) set to 0 all but the `most` largest, and what is below `least`. */
static void Keep(double *size, int m, double least, int most)
{
  double *all = Numbers(m);
  memcpy(all, size, (size_t)m * sizeof *all);
  for (int j = 0; j < m; j++) {
    int larger = 0;
    if (all[j] < least) size[j] = 0;
    for (int q = 0; q < m; q++) larger += all[q] > all[j];
    if (larger >= most) size[j] = 0;
  }
  free(all);
}

static void Weights(const Dense *d, bool symmetric, double *c)
{
  int m = d->m;
  for (int j = 0; j < m; j++) {
    double sum = symmetric ? fabs(d->a[j * m + j]) : 0;
    for (int i = 0; i < m && !symmetric; i++) {
      double row = 0;
      for (int k = 0; k < m; k++) row += d->a[i * m + k] * d->a[i * m + k];
      if (row > 0) sum += d->a[i * m + j] * d->a[i * m + j] / row;
    }
    c[j] = sum > 0 ? 1 / sqrt(sum) : 1;
  }
}

static Factors Define(const Dense *d, double shift, const Rule *r)
{
  int m = d->m;
  Factors f = {m, Numbers(m * m), calloc((size_t)(m * m) + 1, sizeof(bool)),
               calloc((size_t)m + 1, sizeof(int))};
  double *c = Numbers(m), *u = Numbers(m * m), *norm = Numbers(m), *w = Numbers(m), *l = Numbers(m),
         *size = Numbers(m);
  Weights(d, r->symmetric, c);
  for (int j = 0; j < m; j++) f.column[j] = j;
  for (int i = 0; i < m; i++) { /* u: rows of U by columns */
    int entries = 0, first = r->symmetric ? i : 0;
    for (int j = 0; j < m; j++) {
      entries += d->stored[i * m + j];
      w[j] = j >= first ? d->a[i * m + j] : 0, l[j] = 0;
    }
    double least = r->drop_tol * NormOf(w, c, first, m);
    int most = (int)ceil(r->fill * entries / 2);
    w[i] += shift;
    for (int p = 0; p < i; p++) {
      int k = f.column[p];
      double pivot = u[p * m + k], mult = r->symmetric ? u[p * m + i] / pivot : w[k] / pivot;
      if (!r->symmetric && fabs(mult) * norm[p] < least) continue;
      if (!r->symmetric) l[p] = mult, size[p] = fabs(mult) * norm[p];
      for (int q = p + 1; q < m; q++)
        if (!r->symmetric || f.column[q] >= i) w[f.column[q]] -= mult * u[p * m + f.column[q]];
    }
    int best = i;
    for (int p = i; p < m && r->pivoting > 0; p++) {
      double s = fabs(w[f.column[p]]) * c[f.column[p]];
      if (r->pivoting * s > fabs(w[f.column[i]]) * c[f.column[i]] &&
          s > fabs(w[f.column[best]]) * c[f.column[best]])
        best = p;
    }
    int chosen = f.column[best];
    f.column[best] = f.column[i], f.column[i] = chosen;
    if (!r->symmetric) {
      Keep(size, i, 0, most);
      for (int p = 0; p < i; p++)
        if (l[p] != 0 && size[p] > 0) f.lu[i * m + p] = l[p], f.stored[i * m + p] = true;
    }
    for (int p = 0; p < m; p++) size[p] = p > i ? fabs(w[f.column[p]]) * c[f.column[p]] : 0;
    Keep(size, m, least, most);
    u[i * m + chosen] = w[chosen];
    for (int p = i + 1; p < m; p++)
      if (size[p] > 0) u[i * m + f.column[p]] = w[f.column[p]];
    norm[i] = NormOf(u + i * m, c, 0, m);
    for (int p = 0; p < m; p++) size[p] = 0;
  }
  for (int i = 0; i < m; i++)
    for (int p = i; p < m; p++) {
      double v = u[i * m + f.column[p]];
      f.lu[i * m + p] = v;
      f.stored[i * m + p] = p == i || v != 0;
      if (r->symmetric && p > i) f.lu[p * m + i] = v / u[i * m + i], f.stored[p * m + i] = v != 0;
    }
  free(c), free(u), free(norm), free(w), free(l), free(size);
  return f;
}

static void FreeFactors(Factors *f)
{
  free(f->lu);
  free(f->stored);
  free(f->column);
}

static void SolveBoth(const void *factors, long double *x)
{
  const Factors *f = factors;
  Dense d = {f->m, f->lu, f->stored};
  long double *z = calloc((size_t)f->m + 1, sizeof *z);
  SolveFactors(&d, x);
  for (int p = 0; p < f->m; p++) z[f->column[p]] = x[p];
  memcpy(x, z, (size_t)f->m * sizeof *z);
  free(z);
}

static void CheckFactors(PoisePC pc, const Dense *d, const Rule *r)
{
  Incomplete *have = pc->data;
  Factors f = Define(d, have->shift, r);
  Triangles t;
  const double *lu, *inverse;
  const int32_t *place;
  int64_t n = d->m, entries = 0, stored = 0;
  double scale = 1;
  CHECK_NEAR(Difference(pc, SolveBoth, &f), 0, 1e-9);
  CHECK_OK(poiseTriangularView(pc, &have->triangular, HOST, &t));
  CHECK_OK(poiseBufferRead(&have->lu, HOST, &lu));
  CHECK_OK(poiseBufferRead(&have->d, HOST, &inverse));
  CHECK_INT(t.n, n);
  for (int k = 0; k < n * n; k++) scale = fmax(scale, fabs(f.lu[k])), stored += f.stored[k];
  for (int64_t i = 0; i < n; i++)
    for (int64_t k = poiseOffset(&t, t.begin, i); k < poiseOffset(&t, t.end, i); k++, entries++) {
      CHECK(f.stored[i * n + t.col[k]]);
      CHECK_NEAR(lu[k], f.lu[i * n + t.col[k]], 1e-10 * scale);
      CHECK(k == poiseOffset(&t, t.begin, i) || t.col[k - 1] < t.col[k]);
      if (t.col[k] == i) CHECK(k == poiseOffset(&t, t.diag, i) && inverse[i] == 1 / lu[k]);
    }
  CHECK_INT(entries, stored);
  CHECK(!have->places.dev == !(r->pivoting > 0));
  if (have->places.dev && CHECK_OK(poiseBufferRead(&have->places, HOST, &place)))
    for (int p = 0; p < n; p++) CHECK_INT(place[f.column[p]], p);
  FreeFactors(&f);
}

/* ---- against it ------------------------------------------------------------------------------ */

static const Rule rules[] = {{0, 1e6, 0, false},  {1e-2, 1e6, 0, false},  {0.1, 1e6, 0, false},
                             {0, 1, 0, false},    {1e-3, 1.5, 0, false},  {0.3, 0.3, 0, false},
                             {1, 10, 0, false},   {0, 1e6, 1, false},     {1e-2, 1e6, 1, false},
                             {1e-2, 1, 1, false}, {0.05, 10, 0.3, false}, {1e-3, 0.5, 0.01, false}};
enum { RULES = sizeof rules / sizeof *rules };

static const char *RuleOptions(const Rule *r)
{
  static _Thread_local char text[200];
  snprintf(text, sizeof text, "-x_pc_factor_drop_tol %g\n-x_pc_factor_fill %g%s%g", r->drop_tol, r->fill,
           r->symmetric ? "\n-x_pc_factor_zeropivot 2e-14\n-x_pc_factor_shift_amount "
                        : "\n-x_pc_factor_pivoting ",
           r->symmetric ? 1e-13 : r->pivoting);
  return text;
}

static void TestILUT(PoiseContext ctx)
{
  static const PoiseInt sizes[] = {0, 1, 2, 29, 64};
  for (int k = 0; k < 5; k++)
    for (int kind = 0; kind < NKINDS; kind++)
      for (int q = 0; q < RULES; q++) {
        Shape s = ShapeOf(ctx, kind, (q + kind) % NLAYOUTS, sizes[k]);
        s.diagonal = kind == FULL ? 40 : rules[q].pivoting > 0 ? 0.5 : 4;
        PoiseMat A = Matrix(ctx, &s);
        PoisePC pc = Make(ctx, "ilut", A, RuleOptions(&rules[q]));
        Dense d = DenseOf(&s, 0);
        CHECK_OK(PoisePCSetUp(pc));
        CheckFactors(pc, &d, &rules[q]);
        DenseFree(&d);
        PoisePCDestroy(&pc);
        PoiseMatDestroy(&A);
      }
}

static void TestICT(PoiseContext ctx)
{
  static const Rule symmetric[] = {{0, 1e6, 0, true}, {1e-2, 1e6, 0, true}, {0.1, 1e6, 0, true},
                                   {0, 1, 0, true},   {1e-3, 1.5, 0, true}, {0.3, 0.3, 0, true}};
  static const PoiseInt sizes[] = {0, 1, 2, 29, 64};
  for (int k = 0; k < 5; k++)
    for (int q = 0; q < 12; q++) {
      Shape s = ShapeOf(ctx, q % 2 ? TRIDIAGONAL : SYMMETRIC, q % NLAYOUTS, sizes[k]);
      PoiseMat A = Matrix(ctx, &s);
      PoisePC pc = Make(ctx, "ict", A, RuleOptions(&symmetric[q / 2]));
      Dense d = DenseOf(&s, 0);
      CHECK_OK(PoisePCSetUp(pc));
      CheckFactors(pc, &d, &symmetric[q / 2]);
      if (s.n > 2) CheckSymmetric(pc);
      DenseFree(&d);
      PoisePCDestroy(&pc);
      PoiseMatDestroy(&A);
    }
}

/* Entries of blocks are numbers to thresholds. */
static void TestBlocks(PoiseContext ctx)
{
  for (int b = 2; b <= 4; b++)
    for (int q = 1; q < RULES; q++) {
      PoiseInt n = 60 / b * b, begin, m;
      PoiseMat A;
      PoiseSplit(ctx, n / b, &begin, &m);
      Shape s = {.kind = ANY, .n = n, .begin = begin * b, .end = (begin + m) * b, .seed = 3, .diagonal = 4};
      s.weak = -1;
      if (!CHECK_OK(PoiseMatCreate(ctx, m * b, m * b, n, n, &A))) return;
      CHECK_OK(PoiseMatSetType(A, "bcsr"));
      CHECK_OK(PoiseMatSetBlockSize(A, b));
      Dense d = {.m = (int)(m * b)};
      d.a = Numbers(d.m * d.m), d.stored = calloc((size_t)(d.m * d.m) + 1, sizeof(bool));
      for (PoiseInt i = s.begin; i < s.end; i++)
        for (PoiseInt j = 0; j < n; j++) {
          Shape blocks = s;
          double v = Value(&s, i, j);
          blocks.n = n / b;
          if (!Stored(&blocks, i / b, j / b)) continue;
          CHECK_OK(PoiseMatSetBlock(A, 1, &i, 1, &j, &v));
          if (j < s.begin || j >= s.end) continue;
          d.a[(i - s.begin) * d.m + j - s.begin] = v, d.stored[(i - s.begin) * d.m + j - s.begin] = true;
        }
      CHECK_OK(PoiseMatAssemble(A));
      PoisePC pc = Make(ctx, "ilut", A, RuleOptions(&rules[q]));
      CHECK_OK(PoisePCSetUp(pc));
      CheckFactors(pc, &d, &rules[q]);
      DenseFree(&d);
      PoisePCDestroy(&pc);
      PoiseMatDestroy(&A);
    }
}

/* Rows of A times powers of 2: the same entries are dropped. */
static void TestScales(PoiseContext ctx)
{
  Shape s = ShapeOf(ctx, ANY, EVEN, 50);
  int64_t nz[2];
  PoiseMat A[2];
  A[0] = Matrix(ctx, &s);
  if (!CHECK_OK(PoiseMatDuplicate(A[0], 1, &A[1]))) return;
  PoiseVec left, right;
  double *p;
  CHECK_OK(PoiseMatCreateVecs(A[0], &right, &left));
  CHECK_OK(PoiseVecGetWrite(left, &p));
  for (PoiseInt i = 0; i < PoiseVecLocalSize(left); i++) p[i] = ldexp(1, (int)(i * 37 % 300) - 150);
  CHECK_OK(PoiseVecRestore(left, &p));
  CHECK_OK(PoiseMatDiagonalScale(A[1], left, NULL));
  for (int k = 0; k < 2; k++) {
    PoisePC pc = Make(ctx, "ilut", A[k],
                      "-x_pc_factor_drop_tol 0.03\n-x_pc_factor_fill 2\n-x_pc_factor_pivoting "
                      "0.5");
    CHECK_OK(PoisePCSetUp(pc));
    nz[k] = ((Incomplete *)pc->data)->triangular.nz;
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A[k]);
  }
  CHECK_INT(nz[0], nz[1]);
  PoiseVecDestroy(&left);
  PoiseVecDestroy(&right);
}

/* ---- pivots ---------------------------------------------------------------------------------- */

static PoiseErr Mine(const Shape *s, PoiseInt row, PoiseErr code)
{
  return row >= s->begin && row < s->end ? code : POISE_ERR_REMOTE;
}

/* A cyclic shift of rows: no diagonal entry is stored. Pivoting finds what is. */
static void TestNoDiagonal(PoiseContext ctx)
{
  PoiseInt n = 24, begin, m;
  PoiseMat A;
  PoiseVec x, b, z;
  double error;
  PoiseSplit(ctx, n, &begin, &m);
  if (m == 1) return;
  if (!CHECK_OK(PoiseMatCreate(ctx, m, m, n, n, &A))) return;
  for (PoiseInt i = begin; i < begin + m; i++) {
    PoiseInt j = i + 1 < begin + m ? i + 1 : begin;
    double v = 2 + TestRandom(4, (uint64_t)i);
    CHECK_OK(PoiseMatAddBlock(A, 1, &i, 1, &j, &v));
  }
  CHECK_OK(PoiseMatAssemble(A));
  PoisePC pc = Make(ctx, "ilut", A, "-x_pc_factor_drop_tol 0\n-x_pc_factor_fill 10\n-x_pc_factor_pivoting 0");
  CHECK_ERR(PoisePCSetUp(pc), POISE_ERR_NUMERIC, "a zero pivot");
  SetOptions(ctx, "-x_pc_factor_pivoting 1");
  CHECK_OK(PoisePCSetFromOptions(pc));
  CHECK_OK(PoiseMatCreateVecs(A, &x, &b));
  CHECK_OK(PoiseVecDuplicate(x, &z));
  SampleFill(x, 3);
  CHECK_OK(PoiseMatMult(A, x, b));
  CHECK_OK(PoisePCApply(pc, b, z));
  CHECK_OK(PoiseVecAXPY(z, -1, x));
  CHECK_OK(PoiseVecNorm(z, POISE_NORM_INF, &error));
  CHECK_NEAR(error, 0, 1e-14);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&b);
  PoiseVecDestroy(&z);
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* Zero pivots are named; shifts mend them; what is not finite is refused. */
static void TestRefused(PoiseContext ctx)
{
  static const char *const types[] = {"ilut", "ict"};
  for (int q = 0; q < 2; q++) {
    Shape s = ShapeOf(ctx, TRIDIAGONAL, EVEN, 24);
    s.weak = 0, s.value = 0;
    PoiseMat A = Matrix(ctx, &s);
    PoisePC pc = Make(ctx, types[q], A,
                      "-x_pc_factor_shift_type none\n-x_pc_factor_drop_tol 0\n-x_pc_factor_pivoting 0");
    char words[60];
    snprintf(words, sizeof words, "%s: the pivot of row 0 is 0, a zero pivot", types[q]);
    CHECK_ERR(PoisePCSetUp(pc), Mine(&s, 0, POISE_ERR_NUMERIC), words);
    SetOptions(ctx, "-x_pc_factor_shift_type nonzero\n-x_pc_factor_shift_amount 0.25");
    CHECK_OK(PoisePCSetFromOptions(pc));
    CHECK_OK(PoisePCSetUp(pc));
    Dense d = DenseOf(&s, 0);
    const Incomplete *f = pc->data;
    CheckFactors(pc, &d, &(Rule){0, 10, 0, q == 1});
    if (s.begin == 0 && s.end > 0) CHECK(f->shift >= 0.25 && f->tries > 0);
    DenseFree(&d);
    SetOptions(ctx, "-x_pc_factor_shift_type positive_definite");
    CHECK_OK(PoisePCSetFromOptions(pc));
    CHECK_OK(PoisePCSetUp(pc));
    CHECK(s.begin > 0 || s.end == 0 || f->shift > 0);
    PoiseInt row = 7;
    double v = NAN;
    if (PoiseRank(ctx) == 0) CHECK_OK(PoiseMatAddBlock(A, 1, &row, 1, &row, &v));
    CHECK_OK(PoiseMatAssemble(A));
    CHECK_ERR(PoisePCSetUp(pc), Mine(&s, 7, POISE_ERR_NUMERIC), "not finite");
    SetOptions(ctx, "-x_pc_factor_shift_type none");
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
}

/* ict looks at the pattern, and at the sign of the diagonal. */
static void TestSigns(PoiseContext ctx)
{
  Shape s = ShapeOf(ctx, SYMMETRIC, EVEN, 33);
  PoiseMat A = Matrix(ctx, &s);
  PoisePC pc = Make(ctx, "ict", A, "-x_pc_factor_shift_type positive_definite\n-x_pc_factor_drop_tol 0.01");
  PoiseVec r, z[2];
  double defect;
  CHECK_OK(PoiseMatCreateVecs(A, &r, &z[0]));
  CHECK_OK(PoiseVecDuplicate(r, &z[1]));
  SampleFill(r, 3);
  CHECK_OK(PoisePCApply(pc, r, z[0]));
  CHECK_OK(PoiseMatScale(A, -1));
  CHECK_OK(PoisePCApply(pc, r, z[1]));
  CHECK(((Incomplete *)pc->data)->negative);
  CHECK_OK(PoiseVecAXPY(z[0], 1, z[1]));
  CHECK_OK(PoiseVecNorm(z[0], POISE_NORM_INF, &defect));
  CHECK(defect == 0);
  PoiseVecDestroy(&r);
  for (int k = 0; k < 2; k++) PoiseVecDestroy(&z[k]);
  PoiseMatDestroy(&A);
  s = ShapeOf(ctx, TRIDIAGONAL, EVEN, 24);
  A = Unmirrored(ctx, &s);
  CHECK_OK(PoisePCSetOperator(pc, A));
  if (PoiseSize(ctx) < 8)
    CHECK_ERR(PoisePCSetUp(pc), Mine(&s, 0, POISE_ERR_UNSUPPORTED),
              "entry (0, 2) is stored and (2, 0) is not");
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* ---- bits, memory, loops --------------------------------------------------------------------- */

static const char *const both[][2] = {
    {"ilut", "-x_pc_factor_drop_tol 1e-2\n-x_pc_factor_fill 3\n-x_pc_factor_pivoting 0"},
    {"ilut", "-x_pc_factor_drop_tol 1e-2\n-x_pc_factor_fill 3\n-x_pc_factor_pivoting 1"},
    {"ict", "-x_pc_factor_drop_tol 1e-2\n-x_pc_factor_fill 3"},
    {"ilut", "-x_pc_factor_drop_tol 1e-2\n-x_pc_factor_sweeps 2\n-x_pc_factor_pivoting 0.5"}};

static PoiseErr ApplyAll(PoiseContext ctx, void *arg)
{
  PoiseMat A = Grid(ctx, 20, 21, 22, 0), B = Grid(ctx, 20, 21, 22, 0.7);
  for (int k = 0; k < 4; k++) {
    SetOptions(ctx, "-x_pc_factor_sweeps 0");
    SampleKeep(ctx, arg, Applied(A, both[k][0], both[k][1]));
    SetOptions(ctx, "-x_pc_factor_sweeps 0");
    if (k != 2) SampleKeep(ctx, arg, Applied(B, both[k][0], both[k][1]));
  }
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&B);
  return POISE_OK;
}

static void TestSameBits(PoiseContext ctx)
{
  (void)ctx;
  SampleSameBits(ApplyAll);
}

static void TestFuseAndSkip(PoiseContext ctx)
{
  PoiseMat A = Grid(ctx, 15, 16, 17, 0);
  for (int k = 0; k < 4; k++) {
    SetOptions(ctx, "-x_pc_factor_sweeps 0");
    PoisePC pc = Make(ctx, both[k][0], A, both[k][1]);
    CheckFusedApply(pc, true);
    PoisePCDestroy(&pc);
  }
  PoiseMatDestroy(&A);
}

static PoiseErr UseBoth(PoisePC pc, Given *g)
{
  POISE_TRY(PoisePCSetOptionsPrefix(pc, "x_"));
  POISE_TRY(PoisePCSetOperator(pc, g->A));
  for (int k = 1; k >= 0; k--) {
    POISE_TRY(PoisePCSetType(pc, k ? "ict" : "ilut"));
    POISE_TRY(PoisePCSetFromOptions(pc));
    POISE_TRY(PoisePCApply(pc, g->r, g->z));
  }
  return POISE_OK;
}

static void Judge(PoisePC pc, const Given *g, bool failed, const void *dense)
{
  (void)g, (void)failed;
  if (strcmp(PoisePCType(pc), "ilut")) return;
  CHECK_OK(PoisePCSetFromOptions(pc));
  CHECK_OK(PoisePCSetUp(pc));
  CheckFactors(pc, dense, &(Rule){0.01, 4, 1, false});
}

static void TestMemory(PoiseContext ctx)
{
  Shape s = ShapeOf(ctx, SYMMETRIC, EVEN, 33);
  PoiseMat A = Matrix(ctx, &s);
  Dense d = DenseOf(&s, 0);
  SetOptions(ctx, "-x_pc_factor_drop_tol 0.01\n-x_pc_factor_fill 4\n-x_pc_factor_pivoting 1\n"
                  "-x_pc_factor_sweeps 0\n-x_pc_factor_shift_type none");
  CheckWithoutMemory(A, UseBoth, 70, 1, Judge, &d);
  DenseFree(&d);
  PoiseMatDestroy(&A);
}

/* Iterations to 1e-10, of which two solves take as many: the second of new values, which are the same. */
static PoiseInt Iterations(PoiseMat A, const char *method, const char *type, const char *options)
{
  PoiseContext ctx = PoiseMatContext(A);
  PoiseKSP ksp;
  PoiseVec x, b;
  double norm[2];
  PoiseInt its[2] = {0, 0};
  SetOptions(ctx, options);
  if (!CHECK_OK(PoiseMatCreateVecs(A, &x, &b)) || !CHECK_OK(PoiseKSPCreate(ctx, &ksp))) return INT32_MAX;
  SampleFill(b, 9);
  CHECK_OK(PoiseKSPSetOptionsPrefix(ksp, "x_"));
  CHECK_OK(PoiseOptionsSet(ctx, "x_ksp_type", method));
  CHECK_OK(PoiseOptionsSet(ctx, "x_pc_type", type));
  CHECK_OK(PoiseKSPSetTolerances(ksp, 1e-10, -1, -1, -1));
  CHECK_OK(PoiseKSPSetOperators(ksp, A, NULL));
  CHECK_OK(PoiseKSPSetFromOptions(ksp));
  for (int k = 0; k < 2; k++) {
    CHECK_OK(PoiseVecSet(x, 0));
    CHECK_OK(PoiseKSPSolve(ksp, b, x));
    CHECK(PoiseKSPConvergedReason(ksp) > 0);
    CHECK_OK(PoiseKSPTrueResidual(ksp, b, x, &norm[0]));
    CHECK_OK(PoiseVecNorm(b, POISE_NORM_2, &norm[1]));
    CHECK(norm[0] <= 1e-8 * norm[1]);
    its[k] = PoiseKSPIterations(ksp);
    CHECK_OK(PoiseMatScale(A, 1));
  }
  CHECK_INT(its[0], its[1]);
  PoiseKSPDestroy(&ksp);
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&b);
  return its[0];
}

/* Smaller tolerances take fewer iterations. */
static void TestIterations(PoiseContext ctx)
{
  static const double drop[] = {0.3, 0.03, 0.003};
  PoiseMat A = Grid(ctx, 24, 24, 12, 0), B = Grid(ctx, 24, 24, 12, 0.3);
  PoiseInt before[3] = {INT32_MAX, INT32_MAX, INT32_MAX};
  for (int k = 0; k < 3; k++) {
    char text[200];
    snprintf(text, sizeof text, "-x_pc_factor_drop_tol %g\n-x_pc_factor_fill 20\n-x_pc_factor_pivoting 0",
             drop[k]);
    PoiseInt its[3];
    its[0] = Iterations(A, "cg", "ict", text), its[1] = Iterations(B, "gmres", "ilut", text);
    SetOptions(ctx, "-x_pc_factor_pivoting 0.1");
    its[2] = Iterations(B, "bicgstab", "ilut", "-x_pc_factor_pivoting 0.1");
    for (int q = 0; q < 3; q++) {
      CHECK(its[q] < before[q]);
      before[q] = its[q];
    }
  }
  PoiseMatDestroy(&A);
  PoiseMatDestroy(&B);
}

static void TestView(PoiseContext ctx)
{
  Shape s = ShapeOf(ctx, ANY, EVEN, 33);
  PoiseMat A = Matrix(ctx, &s);
  PoisePC pc =
      Make(ctx, "ilut", A, "-x_pc_factor_drop_tol 0.01\n-x_pc_factor_fill 4\n-x_pc_factor_pivoting 0.5");
  char text[900];
  TEST_PRINTED(ctx, text, sizeof text, PoisePCView(pc)); /* before it is set up */
  CHECK_OK(PoisePCSetUp(pc));
  TEST_PRINTED(ctx, text, sizeof text, PoisePCView(pc));
  CHECK(
      (strstr(text, "fill by thresholds: from 0.01 of a row on, at most 4 times its entries, pivoting 0.5") !=
       NULL) == (PoiseRank(ctx) == 0));
  CHECK((strstr(text, " times those of the matrix") != NULL) == (PoiseRank(ctx) == 0));
  PoisePCDestroy(&pc);
  PoiseMatDestroy(&A);
}

/* What it holds is between the bounds that were foreseen. */
static void TestPredict(PoiseContext ctx)
{
  for (int q = 0; q < RULES; q++) {
    Shape s = ShapeOf(ctx, ANY, EVEN, 64);
    PoiseMat A = Matrix(ctx, &s);
    PoisePC pc = Make(ctx, "ilut", A, RuleOptions(&rules[q]));
    PoisePrediction p;
    PoiseBytes held;
    CHECK_OK(PoisePCPredictBytes(pc, NULL, &p));
    CHECK(!p.beyond);
    CHECK_OK(PoisePCSetUp(pc));
    CHECK_OK(PoisePCBytes(pc, &held));
    CHECK(p.least.host <= held.host && held.host <= p.most.host);
    CHECK(p.least.device <= held.device && held.device <= p.most.device);
    PoisePCDestroy(&pc);
    PoiseMatDestroy(&A);
  }
}

static const Test tests[] = {{"ilut", TestILUT, 0},
                             {"ict", TestICT, 0},
                             {"blocks", TestBlocks, 0},
                             {"scales", TestScales, 0},
                             {"no_diagonal", TestNoDiagonal, 0},
                             {"refused", TestRefused, 0},
                             {"signs", TestSigns, 0},
                             {"same_bits", TestSameBits, TEST_SERIAL | TEST_HOST_ONLY},
                             {"fuse_and_skip", TestFuseAndSkip, 0},
                             {"memory", TestMemory, 0},
                             {"iterations", TestIterations, 0},
                             {"view", TestView, 0},
                             {"predict", TestPredict, 0},
                             {NULL, NULL, 0}};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "pc_thresholds", tests);
}

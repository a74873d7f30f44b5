/* SPDX-License-Identifier: BSD-3-Clause */
/* z = M^-1 r of every preconditioner against its definition in dense arithmetic, on the rows of each
   rank. */
#include "api.h"

enum { N = 24, MOST_RANKS = 64 };

/* Sparse by blocks of b, with a strong diagonal; symmetric if wanted. */
static Dense Strong(int b, bool symmetric, uint64_t seed)
{
  Dense D = DenseNew(N, N);
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      int I = i / b, J = j / b, low = I < J ? I : J, high = I < J ? J : I;
      if (I != J && Random(seed, (uint64_t)(low * 100 + high)) > -0.4) continue;
      uint64_t at = symmetric && i > j ? (uint64_t)(j * N + i) : (uint64_t)(i * N + j);
      DenseSet(&D, i, j, i == j ? 9 + 3 * Random(seed + 1, at) : Random(seed + 2, at) * (I == J ? 2 : 1));
    }
  return D;
}

/* Rows of the ranks, as b x lays them out. */
static void Ranges(PoiseVec x, PoiseInt *starts)
{
  PoiseContext ctx = PoiseVecContext(x);
  double first[MOST_RANKS] = {0};
  PoiseInt begin, end;
  PoiseVecRange(x, &begin, &end);
  first[PoiseRank(ctx)] = (double)begin;
  CHECK_OK(PoiseSum(ctx, PoiseSize(ctx), first));
  for (int r = 0; r < PoiseSize(ctx); r++) starts[r] = (PoiseInt)first[r];
  starts[PoiseSize(ctx)] = PoiseVecSize(x);
}

static Dense Part(const Dense *D, int begin, int n, int cbegin, int cn)
{
  Dense P = DenseNew(n, cn);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < cn; j++) {
      P.a[i * cn + j] = D->a[(begin + i) * D->n + cbegin + j];
      P.has[i * cn + j] = D->has[(begin + i) * D->n + cbegin + j];
    }
  return P;
}

/* z = D^-1 r on [begin, end) alone. */
static void SolvePart(const Dense *D, int begin, int end, const double *r, double *z)
{
  Dense P = Part(D, begin, end - begin, begin, end - begin);
  if (end > begin) CHECK(DenseSolve(&P, r + begin, z + begin));
  DenseFree(&P);
}

/* ---- definitions ----------------------------------------------------------------------------- */

/* LU without fill by blocks of b: L has unit diagonal blocks; where a block is not stored nothing is
   changed. */
static void Incomplete(const Dense *D, int begin, int end, int b, double shift, const double *r, double *z)
{
  int n = end - begin, nb = n / b;
  Dense F = Part(D, begin, n, begin, n);
  for (int i = 0; i < n; i++) F.a[i * n + i] += shift;
  for (int i = 0; i < nb; i++)
    for (int k = 0; k < i; k++) {
      if (!F.has[i * b * n + k * b]) continue;
      Dense U = Part(&F, k * b, b, k * b, b), T = DenseTranspose(&U);
      for (int p = 0; p < b; p++) { /* row p of L U = A */
        double row[8], l[8];
        memcpy(row, &F.a[(i * b + p) * n + k * b], (size_t)b * sizeof *row);
        CHECK(DenseSolve(&T, row, l));
        memcpy(&F.a[(i * b + p) * n + k * b], l, (size_t)b * sizeof *l);
        for (int j = k + 1; j < nb; j++)
          if (F.has[i * b * n + j * b] && F.has[k * b * n + j * b])
            for (int q = 0; q < b; q++)
              for (int s = 0; s < b; s++)
                F.a[(i * b + p) * n + j * b + q] -= l[s] * F.a[(k * b + s) * n + j * b + q];
      }
      DenseFree(&U);
      DenseFree(&T);
    }
  Dense L = DenseNew(n, n), U = DenseNew(n, n);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      if (!F.has[i * n + j]) continue;
      if (j / b < i / b)
        L.a[i * n + j] = F.a[i * n + j];
      else
        U.a[i * n + j] = F.a[i * n + j];
    }
  for (int i = 0; i < n; i++) L.a[i * n + i] = 1;
  double y[N];
  if (n) CHECK(DenseSolve(&L, r + begin, y) && DenseSolve(&U, y, z + begin));
  DenseFree(&F);
  DenseFree(&L);
  DenseFree(&U);
}

typedef struct Sweeps {
  double omega;
  int its, lits;
  bool forward, backward;
} Sweeps;

static void SweepRow(const Dense *D, int begin, int end, int I, int b, double omega, const double *r,
                     double *x)
{
  int at = begin + I * b;
  double rest[8], y[8];
  Dense P = Part(D, at, b, at, b);
  for (int p = 0; p < b; p++) {
    rest[p] = r[at + p];
    for (int j = begin; j < end; j++)
      if (j < at || j >= at + b) rest[p] -= D->a[(at + p) * N + j] * x[j];
  }
  CHECK(DenseSolve(&P, rest, y));
  for (int p = 0; p < b; p++) x[at + p] = (1 - omega) * x[at + p] + omega * y[p];
  DenseFree(&P);
}

static void Relax(const Dense *D, const PoiseInt *starts, int ranks, int b, const Sweeps *s, const double *r,
                  double *z)
{
  memset(z, 0, N * sizeof *z);
  for (int it = 0; it < s->its; it++) {
    double rest[N], x[N] = {0};
    DenseMult(D, z, rest);
    for (int i = 0; i < N; i++) rest[i] = r[i] - rest[i];
    for (int k = 0; k < ranks; k++) {
      int begin = (int)starts[k], end = (int)starts[k + 1], nb = (end - begin) / b;
      for (int l = 0; l < s->lits; l++) {
        for (int I = 0; I < nb && s->forward; I++) SweepRow(D, begin, end, I, b, s->omega, rest, x);
        for (int I = nb - 1; I >= 0 && s->backward; I--) SweepRow(D, begin, end, I, b, s->omega, rest, x);
      }
    }
    for (int i = 0; i < N; i++) z[i] += x[i];
  }
}

/* ---- the library's --------------------------------------------------------------------------- */

typedef struct Setting {
  PoiseMat A;
  PoiseVec r, z;
  PoisePC pc;
  double u[N], w[N];
  PoiseInt starts[MOST_RANKS + 1];
} Setting;

static Setting Begin(PoiseContext ctx, const Dense *D, int b, int layout, const char *type, const char *pc,
                     const char *options)
{
  Setting s = {.A = MatOf(ctx, D, b, layout)};
  CHECK_OK(PoiseMatSetType(s.A, type));
  CHECK_OK(PoiseMatCreateVecs(s.A, &s.z, &s.r));
  for (int i = 0; i < N; i++) s.u[i] = Random(130, (uint64_t)i);
  VecFill(s.r, s.u);
  Ranges(s.r, s.starts);
  CHECK_OK(PoisePCCreate(ctx, &s.pc));
  CHECK_OK(PoiseOptionsSetString(ctx, options));
  CHECK_OK(PoiseOptionsSet(ctx, "pc_type", pc));
  CHECK_OK(PoisePCSetFromOptions(s.pc));
  CHECK(!strcmp(PoisePCType(s.pc), pc));
  CHECK_OK(PoisePCSetOperator(s.pc, s.A));
  return s;
}

static void End(Setting *s)
{
  CHECK_OK(PoisePCDestroy(&s->pc));
  CHECK_OK(PoiseMatDestroy(&s->A));
  CHECK_OK(PoiseVecDestroy(&s->r));
  CHECK_OK(PoiseVecDestroy(&s->z));
}

static void Apply(Setting *s)
{
  for (int again = 0; again < 2; again++) {
    CHECK_OK(PoiseVecSet(s->z, NAN));
    CHECK_OK(PoisePCApply(s->pc, s->r, s->z));
    VecIs(s->z, s->w, 1e-11);
  }
  VecIs(s->r, s->u, 0);
}

/* z as of the definition of this type, with blocks of b. */
static void Define(const Dense *D, const Setting *s, int ranks, const char *pc, int b, const Sweeps *sweeps,
                   double *w)
{
  const double *u = s->u;
  memcpy(w, u, N * sizeof *w);
  for (int k = 0; k < N / b && (!strcmp(pc, "jacobi") || !strcmp(pc, "pbjacobi")); k++)
    SolvePart(D, k * b, (k + 1) * b, u, w);
  if (!strcmp(pc, "lu") || !strcmp(pc, "cholesky")) SolvePart(D, 0, N, u, w);
  if (!strcmp(pc, "sor")) Relax(D, s->starts, ranks, b, sweeps, u, w);
  for (int k = 0; k < ranks; k++)
    if (!strcmp(pc, "ilu") || !strcmp(pc, "icc") || !strcmp(pc, "bjacobi"))
      Incomplete(D, (int)s->starts[k], (int)s->starts[k + 1], b, 0, u, w);
}

static const Sweeps usual = {1, 1, 1, true, true};

static void TestDefinitions(PoiseContext ctx)
{
  static const char *const pcs[] = {"none", "jacobi",  "pbjacobi", "ilu",     "icc",
                                    "sor",  "bjacobi", "lu",       "cholesky"};
  static const int sizes[] = {1, 2, 3, 4};
  for (int k = 0; k < 9; k++)
    for (int c = 0; c < 8; c++) {
      int b = sizes[c % 4], blocks = c / 4;
      const char *type = blocks ? "bcsr" : c % 2 ? "csri" : "csr";
      bool by_blocks = (blocks || !strcmp(pcs[k], "pbjacobi")) && strcmp(pcs[k], "jacobi");
      ApiCase("%s, %s, b %d", pcs[k], type, b);
      Dense D = Strong(b, !strcmp(pcs[k], "icc") || !strcmp(pcs[k], "cholesky"), 140 + (uint64_t)c);
      Setting s = Begin(ctx, &D, b, (k + c) % LAYOUTS, type, pcs[k], "");
      CHECK_OK(PoisePCSetUp(s.pc));
      Define(&D, &s, PoiseSize(ctx), pcs[k], by_blocks ? b : 1, &usual, s.w);
      Apply(&s);
      for (int i = 0; i < N; i++) /* new values, of which it hears */
        for (int j = 0; j < N; j++) D.a[i * N + j] *= -3 + (i == j) * 6;
      CHECK_OK(PoiseMatScale(s.A, -3));
      for (int i = 0; i < N; i++) s.w[i] = D.a[i * N + i];
      VecFill(s.z, s.w);
      CHECK_OK(PoiseMatSetDiagonal(s.A, s.z));
      CHECK_OK(PoisePCSetUp(s.pc));
      Define(&D, &s, PoiseSize(ctx), pcs[k], by_blocks ? b : 1, &usual, s.w);
      Apply(&s);
      End(&s);
      DenseFree(&D);
    }
}

static void TestSweeps(PoiseContext ctx)
{
  static const Sweeps cases[] = {{1.3, 1, 1, true, true}, {0.7, 1, 1, true, false}, {1.2, 1, 1, false, true},
                                 {0.9, 1, 3, true, true}, {0.8, 2, 1, true, true},  {1.1, 3, 2, true, false},
                                 {0.6, 2, 2, false, true}};
  for (int c = 0; c < 7; c++)
    for (int b = 1; b <= 3; b++) {
      char options[200];
      const Sweeps *w = &cases[c];
      snprintf(options, sizeof options, "-pc_sor_omega %g -pc_sor_its %d -pc_sor_lits %d -pc_sor_%s",
               w->omega, w->its, w->lits,
               w->forward && w->backward ? "symmetric"
               : w->forward              ? "forward"
                                         : "local_backward");
      ApiCase("%s, b %d", options, b);
      for (int k = 0; k < 3; k++) {
        static const char *const keys[] = {"pc_sor_symmetric", "pc_sor_forward", "pc_sor_local_backward"};
        CHECK_OK(PoiseOptionsSet(ctx, keys[k], "no"));
      }
      Dense D = Strong(b, false, 150 + (uint64_t)c);
      Setting s = Begin(ctx, &D, b, c % 2, b > 1 ? "bcsr" : "csr", "sor", options);
      CHECK_OK(PoisePCSetUp(s.pc));
      Define(&D, &s, PoiseSize(ctx), "sor", b, w, s.w);
      Apply(&s);
      End(&s);
      DenseFree(&D);
    }
}

/* Widen the pattern of [begin, end) to levels of fill, of blocks of b: an entry has level 0, and elimination
   of k gives (i, j) the sum of the levels of (i, k) and (k, j) and 1. */
static void Widen(Dense *D, int begin, int end, int b, int levels)
{
  int n = (end - begin) / b, level[N * N];
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) level[i * n + j] = D->has[(begin + i * b) * N + begin + j * b] ? 0 : 1000;
  for (int k = 0; k < n; k++)
    for (int i = k + 1; i < n; i++)
      for (int j = k + 1; j < n; j++) {
        int sum = level[i * n + k] + level[k * n + j] + 1;
        if (sum < level[i * n + j]) level[i * n + j] = sum;
      }
  for (int i = begin; i < end; i++)
    for (int j = begin; j < end; j++)
      D->has[i * N + j] = level[(i - begin) / b * n + (j - begin) / b] <= levels;
}

/* Factors with fill; those of all levels, and of thresholds that drop nothing, are exact. */
static void TestFill(PoiseContext ctx)
{
  static const char *const pcs[] = {"ilu", "icc", "ilu", "ilut", "ict"};
  static const int levels[] = {1, 2, 100, 100, 100};
  for (int k = 0; k < 5; k++)
    for (int c = 0; c < 8; c++) {
      int b = 1 + c % 4, by = c / 4 && k < 3 ? b : 1;
      char options[120];
      ApiCase("%s, case %d, b %d, blocks %d", pcs[k], k, b, c / 4);
      snprintf(options, sizeof options,
               k < 3 ? "-pc_factor_levels %d" : "-pc_factor_drop_tol 0 -pc_factor_fill %d", levels[k]);
      Dense D = Strong(b, !strncmp(pcs[k], "ic", 2), 210 + (uint64_t)c);
      Setting s = Begin(ctx, &D, b, (k + c) % LAYOUTS, c / 4 ? "bcsr" : "csr", pcs[k], options);
      CHECK_OK(PoisePCSetUp(s.pc));
      for (int r = 0; r < PoiseSize(ctx); r++) {
        Widen(&D, (int)s.starts[r], (int)s.starts[r + 1], by, levels[k]);
        Incomplete(&D, (int)s.starts[r], (int)s.starts[r + 1], by, 0, s.u, s.w);
      }
      Apply(&s);
      End(&s);
      DenseFree(&D);
    }
  CHECK_OK(PoiseOptionsSetString(ctx, "-pc_factor_levels 0 -pc_factor_drop_tol 1e-3 -pc_factor_fill 10"));
}

/* Blocks of rows on a rank, with dense factors; or found in the pattern. */
static void TestBlocks(PoiseContext ctx)
{
  int size = PoiseSize(ctx), rank = PoiseRank(ctx);
  for (int way = 0; way < 3; way++) {
    PoiseInt lengths[2], m, starts[3];
    ApiCase("way %d", way);
    CHECK_OK(PoiseOptionsSet(ctx, "sub_pc_type", "lu"));
    Dense D = Strong(1, false, 160);
    Setting s = Begin(ctx, &D, 1, 0, "csr", "bjacobi",
                      way ? "-pc_bjacobi_local_blocks 0" : "-pc_bjacobi_local_blocks 2");
    PoiseMatLocalSizes(s.A, &m, NULL);
    lengths[0] = way == 2 ? 1 : m - m / 2, lengths[1] = m - lengths[0];
    if (way == 1) CHECK_OK(PoisePCBJacobiSetTotalBlocks(s.pc, 2 * size));
    if (way == 2) CHECK_OK(PoisePCBJacobiSetLocalBlocks(s.pc, 2, lengths));
    CHECK_OK(PoisePCSetUp(s.pc));
    for (int r = 0; r < size; r++) {
      PoiseInt n = s.starts[r + 1] - s.starts[r];
      starts[0] = s.starts[r], starts[1] = starts[0] + (way == 2 ? 1 : n - n / 2),
      starts[2] = s.starts[r + 1];
      for (int k = 0; k < 2; k++) SolvePart(&D, (int)starts[k], (int)starts[k + 1], s.u, s.w);
    }
    Apply(&s);
    PoiseInt count, first;
    PoiseKSP *sub;
    CHECK_OK(PoisePCBJacobiGetSubKSP(s.pc, &count, &first, &sub));
    CHECK_INT(count, 2);
    CHECK_INT(first, 2 * rank);
    CHECK(!strcmp(PoiseKSPType(sub[1]), "preonly"));
    End(&s);
    DenseFree(&D);
  }
  for (int b = 2; b <= 4; b++) {
    char options[80];
    snprintf(options, sizeof options, "-pc_bjacobi_local_blocks 0 -pc_bjacobi_supervariables %d", b);
    ApiCase("supervariables of %d", b);
    Dense D = Strong(b, false, 170 + (uint64_t)b);
    Setting s = Begin(ctx, &D, b, b % 2, "csr", "bjacobi", options);
    CHECK_OK(PoisePCSetUp(s.pc));
    for (int k = 0; k < N / b; k++) SolvePart(&D, k * b, (k + 1) * b, s.u, s.w);
    Apply(&s);
    End(&s);
    DenseFree(&D);
  }
  CHECK_OK(PoiseOptionsSet(ctx, "pc_bjacobi_supervariables", "0"));
  CHECK_OK(PoiseOptionsSet(ctx, "sub_pc_type", "ilu"));
}

/* Pivots: blocks and matrices whose largest entries are not where they are looked for first, and
   negative. */
static void TestPivots(PoiseContext ctx)
{
  static const char *const pcs[] = {"lu", "pbjacobi", "bjacobi", "ilu", "sor"};
  for (int k = 0; k < 5; k++)
    for (int b = 2; b <= 4; b++) {
      ApiCase("%s, b %d", pcs[k], b);
      Dense D = DenseNew(N, N);
      for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
          int I = i / b, J = j / b, p = i % b, q = j % b;
          if (I != J && !(k == 0 && abs(I - J) == 1)) continue;
          double big = q == (p + 1) % b ? (I % 2 ? -1e6 : 1e6)
                       : p == q         ? 1e-14
                                        : Random(180, (uint64_t)(i * N + j));
          DenseSet(&D, i, j, I == J ? big : Random(181, (uint64_t)(i * N + j)));
        }
      char options[60];
      snprintf(options, sizeof options, "-pc_bjacobi_supervariables %d", b);
      Setting s = Begin(ctx, &D, b, 0, "bcsr", pcs[k], k == 2 ? options : "");
      CHECK_OK(PoisePCSetUp(s.pc));
      for (int I = 0; I < N / b; I++) SolvePart(&D, I * b, (I + 1) * b, s.u, s.w);
      if (k == 0) SolvePart(&D, 0, N, s.u, s.w);
      Apply(&s);
      End(&s);
      DenseFree(&D);
      CHECK_OK(PoiseOptionsSet(ctx, "pc_bjacobi_supervariables", "0"));
    }
}

/* Zero pivots are errors that name their row; shifts mend them. */
static void TestShifts(PoiseContext ctx)
{
  static const char *const pcs[] = {"jacobi", "ilu", "sor", "lu", "pbjacobi"};
  for (int k = 0; k < 5; k++) {
    ApiCase("%s of a zero", pcs[k]);
    Dense D = DenseNew(N, N);
    for (int i = 0; i < N; i++) DenseSet(&D, i, i, i == 13 ? 0 : 2);
    Setting s = Begin(ctx, &D, 1, 0, "csr", pcs[k], "");
    CHECK_ERR(PoisePCSetUp(s.pc), POISE_ERR_NUMERIC, k == 3 ? "" : "13");
    D.a[13 * N + 13] = 5;
    CHECK_OK(PoiseMatAddEntries(s.A, PoiseRank(ctx) ? 0 : 1, &(PoiseInt){13}, &(PoiseInt){13}, &(double){5}));
    CHECK_OK(PoiseMatAssemble(s.A));
    CHECK_OK(PoisePCSetUp(s.pc));
    for (int i = 0; i < N; i++) s.w[i] = s.u[i] / D.a[i * N + i];
    Apply(&s);
    End(&s);
    DenseFree(&D);
  }
  static const char *const shifts[] = {"nonzero", "inblocks", "positive_definite"};
  for (int k = 0; k < 3; k++) {
    char options[120];
    ApiCase("%s", shifts[k]);
    Dense D = DenseNew(N, N);
    for (int i = 0; i < N; i++) DenseSet(&D, i, i, i == 13 ? 0 : 2);
    snprintf(options, sizeof options, "-pc_factor_shift_type %s -pc_factor_shift_amount 0.25", shifts[k]);
    Setting s = Begin(ctx, &D, 1, 0, "csr", "ilu", options);
    PoiseErr e = PoisePCSetUp(s.pc);
    if (k < 2) {
      CHECK_OK(e);
      double shifted[N];
      for (int r = 0; r < PoiseSize(ctx); r++)
        for (PoiseInt i = s.starts[r]; i < s.starts[r + 1]; i++)
          shifted[i] = k == 0 && s.starts[r] <= 13 && 13 < s.starts[r + 1] ? 0.25 : 0;
      for (int i = 0; i < N; i++) s.w[i] = s.u[i] / (D.a[i * N + i] + (i == 13 ? 0.25 : shifted[i]));
      Apply(&s);
    }
    PoiseErrorClear();
    End(&s);
    DenseFree(&D);
  }
  CHECK_OK(PoiseOptionsSet(ctx, "pc_factor_shift_type", "none"));
  Dense D = DenseNew(N, N); /* of which jacobi may take zeros as ones */
  for (int i = 0; i < N; i++)
    if (i != 7) DenseSet(&D, i, i, i == 13 ? 0 : 4);
  Setting s = Begin(ctx, &D, 1, 0, "csr", "jacobi", "-pc_jacobi_fixdiagonal");
  CHECK_OK(PoisePCSetUp(s.pc));
  for (int i = 0; i < N; i++) s.w[i] = i == 13 || i == 7 ? s.u[i] : s.u[i] / 4;
  Apply(&s);
  CHECK_OK(PoiseOptionsSet(ctx, "pc_jacobi_fixdiagonal", "no"));
  End(&s);
  DenseFree(&D);
}

/* icc of an indefinite matrix makes a positive definite M; of -A a negative definite one. */
static void TestDefinite(PoiseContext ctx)
{
  CHECK_OK(PoiseOptionsSet(ctx, "pc_factor_shift_type", "positive_definite"));
  Dense D = System(INDEFINITE, N);
  Setting s = Begin(ctx, &D, 1, 0, "csr", "icc", "");
  Dense M = DenseNew(N, N);
  double e[N] = {0}, z[N];
  CHECK_OK(PoisePCSetUp(s.pc));
  for (int j = 0; j < N; j++) {
    e[j] = 1;
    VecFill(s.r, e);
    e[j] = 0;
    CHECK_OK(PoisePCApply(s.pc, s.r, s.z));
    VecAll(s.z, z);
    for (int i = 0; i < N; i++) M.a[i * N + j] = z[i];
  }
  for (int i = 0; i < N; i++)
    for (int j = 0; j < i; j++) CHECK_NEAR(M.a[i * N + j], M.a[j * N + i], 1e-10);
  for (int k = 0; k < 20; k++) {
    for (int i = 0; i < N; i++) e[i] = Random(190 + (uint64_t)k, (uint64_t)i);
    DenseMult(&M, e, z);
    CHECK(Dot(N, e, z) > 0);
  }
  DenseFree(&M);
  End(&s);
  DenseFree(&D);
  D = Strong(1, true, 200);
  for (int k = 0; k < N * N; k++) D.a[k] = -D.a[k];
  s = Begin(ctx, &D, 1, 0, "csr", "icc", "");
  CHECK_OK(PoisePCSetUp(s.pc));
  Define(&D, &s, PoiseSize(ctx), "icc", 1, &usual, s.w);
  Apply(&s);
  End(&s);
  DenseFree(&D);
}

const Test pc_tests[] = {{"definitions", TestDefinitions},
                         {"sweeps", TestSweeps},
                         {"fill", TestFill},
                         {"blocks", TestBlocks},
                         {"pivots", TestPivots},
                         {"shifts", TestShifts},
                         {"definite", TestDefinite},
                         {NULL, NULL}};

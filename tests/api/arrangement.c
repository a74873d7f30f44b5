/* SPDX-License-Identifier: BSD-3-Clause */
/* Other distributions and orders of rows: the matrix is P A P^T, and the application sees its own numbers. */
#include "api.h"

enum { N = 60, PARTITIONS = 4 };

static const char *const orders[] = {"natural", "rcm"};
static const char *const partitions[] = {"rows", "nonzeros", "bytes", "graph"};

/* A grid whose rows are shuffled by nodes of b, and are heavier at the end. */
static Dense Shuffled(int b)
{
  Dense S = System(SPD, N), D = DenseNew(N, N);
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      int at = i / b * 7 % (N / b) * b + i % b, to = j / b * 7 % (N / b) * b + j % b;
      if (S.has[i * N + j]) DenseSet(&D, at, to, S.a[i * N + j]);
    }
  for (int i = N - b; i < N; i++)
    for (int j = 0; j < N; j++) /* long rows */
      if (!D.has[i * N + j]) DenseSet(&D, i, j, 0.01), DenseSet(&D, j, i, 0.01);
  for (int i = 0; i < N; i++) D.a[i * N + i] += 1;
  DenseFree(&S);
  return D;
}

static bool Refused(PoiseErr e)
{
  bool without =
      (e == POISE_ERR_UNSUPPORTED || e == POISE_ERR_REMOTE) && strstr(PoiseErrorMessage(), "METIS");
  if (without) PoiseErrorClear();
  return without;
}

static int Bandwidth(const Dense *D)
{
  int most = 0;
  for (int i = 0; i < D->m; i++)
    for (int j = 0; j < D->n; j++)
      if (D->has[i * D->n + j] && abs(i - j) > most) most = abs(i - j);
  return most;
}

/* The number that each row of B has in A. */
static void Numbers(PoiseMat P, int *of)
{
  PoiseInt m, n, begin = 0;
  double all[N] = {0}, shares[64] = {0};
  PoiseContext ctx = PoiseMatContext(P);
  PoiseMatLocalSizes(P, &m, NULL);
  shares[PoiseRank(ctx)] = (double)m;
  CHECK_OK(PoiseSum(ctx, PoiseSize(ctx), shares));
  for (int r = 0; r < PoiseRank(ctx); r++) begin += (PoiseInt)shares[r];
  for (PoiseInt i = begin; i < begin + m; i++) {
    const PoiseInt *cols;
    const double *v;
    if (CHECK_OK(PoiseMatGetRow(P, i, &n, &cols, &v)) && CHECK_INT(n, 1) && CHECK_NEAR(v[0], 1, 0))
      all[i] = (double)cols[0];
  }
  CHECK_OK(PoiseSum(ctx, N, all));
  for (int i = 0; i < N; i++) of[i] = (int)all[i];
}

static void Check(PoiseMat A, PoiseMat B, PoiseMat P, const Dense *D, int b, int order)
{
  int of[N], seen[N] = {0};
  double u[N], w[N];
  Dense E = DenseNew(N, N);
  PoiseVec x, y;
  Numbers(P, of);
  for (int i = 0; i < N; i++) seen[of[i]]++;
  for (int i = 0; i < N; i++) CHECK_INT(seen[i], 1);
  /* nodes stay */
  for (int i = 0; i < N; i++) CHECK(of[i] == of[i - i % b] + i % b && of[i - i % b] % b == 0);
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      if (D->has[of[i] * N + of[j]]) DenseSet(&E, i, j, D->a[of[i] * N + of[j]]);
  MatIs(B, &E, 0);
  if (order && PoiseSize(PoiseMatContext(A)) == 1) CHECK(Bandwidth(&E) <= Bandwidth(D));
  for (int i = 0; i < N; i++) u[i] = Random(260, (uint64_t)i), w[i] = 0;
  CHECK_OK(PoiseMatCreateVecs(P, &x, &y));
  VecFill(x, u);
  CHECK_OK(PoiseMatMult(P, x, y));
  for (int i = 0; i < N; i++) w[i] = u[of[i]];
  VecIs(y, w, 0);
  CHECK_OK(PoiseMatMultTranspose(P, y, x));
  VecIs(x, u, 0);
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseVecDestroy(&y));
  DenseFree(&E);
}

/* Contiguous cuts: each rank is within a node's weight of an equal share. */
static void Balanced(PoiseMat B, const Dense *D, int b)
{
  PoiseContext ctx = PoiseMatContext(B);
  int64_t *ptr, *col;
  double *val, mine, heaviest = 0;
  PoiseInt m;
  PoiseMatLocalSizes(B, &m, NULL);
  CHECK_OK(PoiseMatCopyCSR(B, &ptr, &col, &val));
  mine = (double)ptr[m];
  free(ptr), free(col), free(val);
  for (int i = 0; i < N / b; i++) {
    double weight = 0;
    for (int k = 0; k < b * N; k++) weight += D->has[i * b * N + k];
    heaviest = fmax(heaviest, weight);
  }
  CHECK_NEAR(mine, (double)DenseCount(D) / PoiseSize(ctx), heaviest);
}

static void TestRearranged(PoiseContext ctx)
{
  for (int b = 1; b <= 3; b += 1)
    for (int o = 0; o < 2; o++)
      for (int p = 0; p < PARTITIONS; p++) {
        Dense D = Shuffled(b);
        PoiseMat A = MatOf(ctx, &D, b, (o + p) % 2), B = NULL, P = NULL;
        ApiCase("%s, %s, b %d", orders[o], partitions[p], b);
        if (b > 1 && o) CHECK_OK(PoiseMatSetType(A, "bcsr"));
        CHECK_OK(PoiseMatSetOrder(A, (PoiseOrder)o));
        PoiseErr e = PoiseMatSetPartition(A, (PoisePartition)p);
        if (!e) e = PoiseMatRearrange(A, &B, &P);
        if (!Refused(e) && CHECK_OK(e)) {
          Check(A, B, P, &D, b, o);
          if (p == POISE_PARTITION_NONZEROS && (b == 1 || !o)) Balanced(B, &D, b);
        }
        MatIs(A, &D, 0);
        CHECK_OK(PoiseMatDestroy(&A));
        CHECK_OK(PoiseMatDestroy(&B));
        CHECK_OK(PoiseMatDestroy(&P));
        DenseFree(&D);
      }
}

typedef struct Seen {
  PoiseVec x;
  double first;
} Seen;

static PoiseErr Watch(PoiseKSP ksp, PoiseInt iteration, double norm, PoiseKSPReason *reason, void *arg)
{
  Seen *seen = arg;
  (void)norm;
  if (iteration == 2) POISE_TRY(PoiseKSPBuildSolution(ksp, seen->x));
  if (iteration == 2) *reason = POISE_CONVERGED_USER;
  return POISE_OK;
}

/* Solves in the application's numbers, with new values and patterns, and what is handed to it. */
static void TestSolves(PoiseContext ctx)
{
  static const char *const pcs[] = {"jacobi", "ilu", "icc", "sor", "bjacobi", "lu", "pbjacobi"};
  for (int k = 0; k < 14; k++) {
    int o = k % 2, p = k / 2 % PARTITIONS, b = 1 + k % 3;
    Dense D = Shuffled(b);
    double exact[N], rhs[N], got[N];
    PoiseMat A = MatOf(ctx, &D, b, k % 2);
    PoiseVec rhs_vec, x;
    PoiseKSP ksp = NULL;
    PoisePC pc;
    Seen seen;
    ApiCase("%s, %s, %s, b %d", orders[o], partitions[p], pcs[k % 7], b);
    CHECK_OK(PoiseOptionsSet(ctx, "mat_order", orders[o]));
    CHECK_OK(PoiseOptionsSet(ctx, "mat_partition", partitions[p]));
    PoiseErr e = PoiseMatSetFromOptions(A);
    if (Refused(e)) {
      CHECK_OK(PoiseOptionsSet(ctx, "mat_partition", "rows"));
      e = PoiseMatSetFromOptions(A);
    }
    CHECK_OK(e);
    CHECK_OK(PoiseMatCreateVecs(A, &x, &rhs_vec));
    CHECK_OK(PoiseKSPCreate(ctx, &ksp));
    CHECK_OK(PoiseKSPSetType(ksp, "cg"));
    CHECK_OK(PoiseKSPGetPC(ksp, &pc));
    CHECK_OK(PoisePCSetType(pc, pcs[k % 7]));
    CHECK_OK(PoiseKSPSetTolerances(ksp, 1e-11, -1, -1, 500));
    CHECK_OK(PoiseKSPSetOperators(ksp, A, NULL));
    for (int round = 0; round < 4; round++) {
      if (round == 1) { /* values */
        CHECK_OK(PoiseMatScale(A, 2));
        for (int i = 0; i < N * N; i++) D.a[i] *= 2;
      }
      if (round == 2) { /* pattern */
        PoiseInt at[2] = {0, 2 * b + b};
        double v[4] = {1, -0.5, -0.5, 1};
        CHECK_OK(PoiseMatAddBlock(A, PoiseRank(ctx) ? 0 : 2, at, 2, at, v));
        CHECK_OK(PoiseMatAssemble(A));
        for (int i = 0; i < 4; i++)
          DenseSet(&D, (int)at[i / 2], (int)at[i % 2], D.a[at[i / 2] * N + at[i % 2]] + v[i]);
      }
      CHECK_OK(PoiseKSPSetInitialGuessNonzero(ksp, round == 3));
      for (int i = 0; i < N; i++) exact[i] = Random(270 + (uint64_t)round, (uint64_t)i);
      DenseMult(&D, exact, rhs);
      VecFill(rhs_vec, rhs);
      if (!CHECK_OK(PoiseKSPSolve(ksp, rhs_vec, x))) break;
      VecIs(x, exact, 1e-8);
      VecIs(rhs_vec, rhs, 0);
    }
    if (PoiseKSPConvergedReason(ksp) > 0) {
      CHECK_OK(PoiseVecDuplicate(x, &seen.x));
      CHECK_OK(PoiseKSPSetConvergenceTest(ksp, Watch, &seen));
      CHECK_OK(PoiseKSPSetInitialGuessNonzero(ksp, 0));
      CHECK_OK(PoiseKSPSolve(ksp, rhs_vec, x));
      VecAll(x, got);
      VecIs(seen.x, got, 1e-12);
      if (k % 7 == 0) { /* jacobi, in the application's rows */
        for (int i = 0; i < N; i++) got[i] = rhs[i] / D.a[i * N + i];
        CHECK_OK(PoisePCApply(pc, rhs_vec, x));
        VecIs(x, got, 1e-12);
      }
      CHECK_OK(PoiseVecDestroy(&seen.x));
    }
    CHECK_OK(PoiseKSPDestroy(&ksp));
    CHECK_OK(PoiseVecDestroy(&rhs_vec));
    CHECK_OK(PoiseVecDestroy(&x));
    CHECK_OK(PoiseMatDestroy(&A));
    DenseFree(&D);
  }
  CHECK_OK(PoiseOptionsSet(ctx, "mat_order", "natural"));
  CHECK_OK(PoiseOptionsSet(ctx, "mat_partition", "rows"));
}

/* Null spaces and near ones go along with the rows. */
static void TestSpaces(PoiseContext ctx)
{
  double u[N], w[N], weights[N], rhs[N], exact[N], got[N], d;
  for (int i = 0; i < N; i++) weights[i] = 1 + 0.5 * Random(280, (uint64_t)i);
  double length = Norm(N, weights);
  for (int i = 0; i < N; i++) u[i] = weights[i] / length, w[i] = 0;
  w[0] = u[1] / hypot(u[0], u[1]);
  w[1] = -u[0] / hypot(u[0], u[1]);
  Dense D = Shuffled(1);
  for (int i = 0; i < N; i++) /* symmetric, with D u = 0 */
    for (int j = 0; j < i; j++) {
      if (!D.has[i * N + j]) continue;
      D.a[i * N + j] = D.a[j * N + i] = -fabs(D.a[i * N + j]) / 10;
    }
  for (int i = 0; i < N; i++) {
    D.a[i * N + i] = 0;
    double sum = 0;
    for (int j = 0; j < N; j++) sum -= D.a[i * N + j] * u[j];
    DenseSet(&D, i, i, sum / u[i]);
  }
  PoiseMat A = MatOf(ctx, &D, 1, 0), B = NULL, P = NULL;
  PoiseVec v[2], b, x;
  const PoiseVec *near;
  PoiseKSP ksp = NULL;
  PoiseInt m;
  int n, of[N];
  PoiseMatLocalSizes(A, &m, NULL);
  v[0] = VecOf(ctx, m, N, u);
  v[1] = VecOf(ctx, m, N, w);
  CHECK_OK(PoiseMatCreateVecs(A, &x, &b));
  CHECK_OK(PoiseMatSetNullSpace(A, 0, 1, v));
  CHECK_OK(PoiseMatSetNearNullSpace(A, 0, 2, v));
  CHECK_OK(PoiseMatGetNearNullSpace(A, &n, &near));
  if (CHECK_INT(n, 2)) {
    VecIs(near[0], u, 1e-15);
    VecIs(near[1], w, 1e-15);
  }
  CHECK_OK(PoiseMatSetOrder(A, POISE_ORDER_RCM));
  CHECK_OK(PoiseMatSetPartition(A, POISE_PARTITION_BYTES));
  CHECK_OK(PoiseMatRearrange(A, &B, &P));
  Numbers(P, of);
  CHECK_OK(PoiseMatGetNearNullSpace(B, &n, &near));
  for (int k = 0; k < 2 && CHECK_INT(n, 2); k++) {
    for (int i = 0; i < N; i++) got[i] = (k ? w : u)[of[i]];
    VecIs(near[k], got, 1e-15);
  }
  for (int i = 0; i < N; i++) exact[i] = Random(281, (uint64_t)i);
  d = Dot(N, exact, u);
  for (int i = 0; i < N; i++) exact[i] -= d * u[i];
  DenseMult(&D, exact, rhs);
  VecFill(b, rhs);
  CHECK_OK(PoiseKSPCreate(ctx, &ksp));
  CHECK_OK(PoiseKSPSetType(ksp, "cg"));
  CHECK_OK(PoiseKSPSetTolerances(ksp, 1e-12, -1, -1, -1));
  CHECK_OK(PoiseKSPSetOperators(ksp, A, NULL));
  CHECK_OK(PoiseKSPSolve(ksp, b, x));
  VecIs(x, exact, 1e-8);
  CHECK_OK(PoiseMatSetNearNullSpace(A, 0, 0, NULL));
  CHECK_OK(PoiseMatSetNullSpace(A, 0, 0, NULL));
  CHECK_OK(PoiseMatGetNearNullSpace(A, &n, &near));
  CHECK_INT(n, 0);
  CHECK_OK(PoiseMatSetNearNullSpace(A, 1, 0, NULL)); /* the constant one, of length 1 */
  CHECK_OK(PoiseMatGetNearNullSpace(A, &n, &near));
  for (int i = 0; i < N; i++) got[i] = 1 / sqrt(N);
  if (CHECK_INT(n, 1)) VecIs(near[0], got, 1e-14);
  CHECK_OK(PoiseKSPDestroy(&ksp));
  for (int k = 0; k < 2; k++) CHECK_OK(PoiseVecDestroy(&v[k]));
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseVecDestroy(&b));
  CHECK_OK(PoiseMatDestroy(&A));
  CHECK_OK(PoiseMatDestroy(&B));
  CHECK_OK(PoiseMatDestroy(&P));
  DenseFree(&D);
}

/* The grid with other unknowns for its equations, so that the diagonal is 0. */
static void TestMatched(PoiseContext ctx)
{
  static const char *const words[] = {"match", "match,rcm", "match,amd"};
  for (int o = 0; o < 3; o++) {
    Dense S = Shuffled(1), D = DenseNew(N, N);
    double exact[N], rhs[N];
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++)
        if (S.has[i * N + j]) DenseSet(&D, i, (j + 25) % N, S.a[i * N + j] * (1 + j % 5));
    PoiseMat A = MatOf(ctx, &D, 1, 0);
    PoiseVec b, x;
    PoiseKSP ksp = NULL;
    PoisePC pc;
    ApiCase("%s", words[o]);
    CHECK_OK(PoiseMatCreateVecs(A, &x, &b));
    CHECK_OK(PoiseKSPCreate(ctx, &ksp));
    CHECK_OK(PoiseKSPSetType(ksp, "gmres"));
    CHECK_OK(PoiseKSPGetPC(ksp, &pc));
    CHECK_OK(PoisePCSetType(pc, "jacobi"));
    CHECK_OK(PoiseKSPSetTolerances(ksp, 1e-12, -1, -1, -1));
    CHECK_OK(PoiseKSPSetOperators(ksp, A, NULL));
    CHECK_ERR(PoiseKSPSetUp(ksp), POISE_ERR_NUMERIC, "diagonal");
    CHECK_OK(PoiseOptionsSet(ctx, "mat_order", words[o]));
    PoiseErr e = PoiseMatSetFromOptions(A);
    bool without = e == POISE_ERR_UNSUPPORTED && strstr(PoiseErrorMessage(), "AMD");
    if (without) PoiseErrorClear();
    if (!without) CHECK_OK(e);
    for (int i = 0; i < N; i++) exact[i] = Random(290, (uint64_t)i);
    DenseMult(&D, exact, rhs);
    VecFill(b, rhs);
    if (!without && CHECK_OK(PoiseKSPSolve(ksp, b, x))) VecIs(x, exact, 1e-8);
    CHECK_OK(PoiseKSPDestroy(&ksp));
    CHECK_OK(PoiseVecDestroy(&x));
    CHECK_OK(PoiseVecDestroy(&b));
    CHECK_OK(PoiseMatDestroy(&A));
    DenseFree(&S);
    DenseFree(&D);
  }
  CHECK_OK(PoiseOptionsSet(ctx, "mat_order", "natural"));
}

const Test arrange_tests[] = {{"rearranged", TestRearranged},
                              {"solves", TestSolves},
                              {"spaces", TestSpaces},
                              {"matched", TestMatched},
                              {NULL, NULL}};

/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations over ranks: sums, maxima, splits, barriers; bits that do not depend on threads or runs. */
#include "api.h"

static void TestSums(PoiseContext ctx)
{
  int size = PoiseSize(ctx), rank = PoiseRank(ctx);
  static const int counts[] = {0, 1, 2, 3, 31, 32, 33, 500};
  for (int c = 0; c < 8; c++)
    for (int round = 0; round < 3; round++) {
      double v[500], w[500], all[64] = {0};
      int n = counts[c];
      ApiCase("%d numbers", n);
      for (int k = 0; k < n; k++)
        v[k] = Random(240 + (uint64_t)round, (uint64_t)(rank * 500 + k)), w[k] = v[k] - 5;
      CHECK_OK(PoiseSum(ctx, n, v));
      CHECK_OK(PoiseMax(ctx, n, w));
      for (int k = 0; k < n; k++) {
        double sum = 0, most = -1e9;
        for (int r = 0; r < size; r++) {
          double one = Random(240 + (uint64_t)round, (uint64_t)(r * 500 + k));
          sum = r ? sum + one : one; /* in the order of ranks: to the last bit */
          most = fmax(most, one - 5);
        }
        if (v[k] != sum) CHECK_NEAR(v[k], sum, 0);
        if (w[k] != most) CHECK_NEAR(w[k], most, 0);
      }
      all[rank] = n ? v[n - 1] : 0;
      CHECK_OK(PoiseSum(ctx, size, all));
      for (int r = 0; r < size; r++) CHECK_NEAR(all[r], all[0], 0);
      CHECK_OK(PoiseBarrier(ctx));
    }
}

static void TestSplit(PoiseContext ctx)
{
  static const PoiseInt sizes[] = {0, 1, 2, 3, 4, 5, 7, 100, INT64_C(5000000000)};
  int size = PoiseSize(ctx), rank = PoiseRank(ctx);
  for (int k = 0; k < 9; k++) {
    PoiseInt begin, n, N = sizes[k], rest = N % size;
    PoiseSplit(ctx, N, &begin, &n);
    CHECK_INT(n, N / size + (rank < rest));
    CHECK_INT(begin, rank * (N / size) + (rank < rest ? rank : rest));
  }
}

/* The same bits however many threads share the work. */
static void TestThreads(PoiseContext ctx)
{
  static const char *const threads[] = {"1", "2", "3"};
  double first[4] = {0};
  for (int t = 0; t < 3 && PoiseRank(ctx) == 0; t++) {
    const char *words[] = {"api", "-host_threads", threads[t], "-device", ApiDevice(ctx), NULL};
    char **argv = (char **)words;
    int argc = 5;
    PoiseContext own = NULL;
    PoiseVec x = NULL, y = NULL;
    double found[4];
    if (!CHECK_OK(PoiseInitialize(&argc, &argv, &(PoiseInit){.serial = 1}, &own))) return;
    CHECK_OK(PoiseVecCreate(own, 20000, 20000, &x));
    CHECK_OK(PoiseVecSetRandom(x, 3));
    CHECK_OK(PoiseVecDuplicate(x, &y));
    CHECK_OK(PoiseVecSetRandom(y, 4));
    CHECK_OK(PoiseVecDot(x, y, &found[0]));
    CHECK_OK(PoiseVecNorm(x, POISE_NORM_2, &found[1]));
    CHECK_OK(PoiseVecNorm(x, POISE_NORM_1, &found[2]));
    CHECK_OK(PoiseVecSumEntries(y, &found[3]));
    if (t && strcmp(ApiDevice(ctx), "cuda")) CHECK(!memcmp(found, first, sizeof found));
    if (!t) memcpy(first, found, sizeof found);
    CHECK_OK(PoiseVecDestroy(&x));
    CHECK_OK(PoiseVecDestroy(&y));
    CHECK_OK(PoiseFinalize(&own));
  }
  CHECK_OK(PoiseBarrier(ctx));
}

/* Ranks that are late, early, and talk much: what they exchange is not mixed. */
static void TestMixed(PoiseContext ctx)
{
  enum { N = 40 };
  Dense D = System(CONVECTION, N);
  PoiseMat A = MatOf(ctx, &D, 1, 0), B = MatOf(ctx, &D, 1, 1);
  PoiseVec x[2], y[2];
  double u[N], w[N];
  CHECK_OK(PoiseMatCreateVecs(A, &x[0], &y[0]));
  CHECK_OK(PoiseMatCreateVecs(B, &x[1], &y[1]));
  for (int round = 0; round < 40; round++) {
    double sum = round, slow = 0;
    for (int i = 0; i < N; i++) u[i] = Random(250 + (uint64_t)round, (uint64_t)i);
    for (int k = 0; k < (PoiseRank(ctx) + round) % 3 * 2000; k++) slow += 1e-9 * k;
    for (int k = 0; k < 2; k++) VecFill(x[k], u);
    CHECK_OK(PoiseMatMult(A, x[0], y[0]));
    CHECK_OK(PoiseMatMultTranspose(B, x[1], y[1]));
    CHECK_OK(PoiseSum(ctx, 1, &sum));
    CHECK_NEAR(sum + 0 * slow, round * PoiseSize(ctx), 0);
    DenseMult(&D, u, w);
    VecIs(y[0], w, 1e-13);
    DenseMultTranspose(&D, u, w);
    VecIs(y[1], w, 1e-13);
  }
  for (int k = 0; k < 2; k++) {
    CHECK_OK(PoiseVecDestroy(&x[k]));
    CHECK_OK(PoiseVecDestroy(&y[k]));
  }
  CHECK_OK(PoiseMatDestroy(&A));
  CHECK_OK(PoiseMatDestroy(&B));
  DenseFree(&D);
}

const Test rank_tests[] = {
    {"sums", TestSums}, {"split", TestSplit}, {"threads", TestThreads}, {"mixed", TestMixed}, {NULL, NULL}};

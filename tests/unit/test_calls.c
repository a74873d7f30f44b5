/* SPDX-License-Identifier: BSD-3-Clause */
/* Wrong calls: pointers that are no objects, ranks in different calls, and forked processes. */
#define _POSIX_C_SOURCE 200809L
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "poise.h"
#include "sys/sys.h"

/* ---- objects --------------------------------------------------------------------------------- */

/* The table grows, and forgets what was destroyed. */
static void TestMany(PoiseContext ctx)
{
  enum { MANY = 3000 };
  static _Thread_local PoiseVec v[MANY], copy[MANY];
  for (int round = 0; round < 3; round++) {
    int good = 0, bad = 0;
    for (int i = 0; i < MANY; i++) CHECK_OK(PoiseVecCreate(ctx, 1, POISE_DECIDE, &v[i]));
    for (int i = 0; i < MANY; i++) copy[i] = v[i];
    for (int i = 0; i < MANY; i++) good += PoiseVecLocalSize(v[i]) == 1;
    CHECK_INT(good, MANY);
    for (int i = 0; i < MANY; i += 2) CHECK_OK(PoiseVecDestroy(&v[i]));
    for (int i = 0; i < MANY; i++) bad += PoiseVecSet(copy[i], 1) == POISE_ERR_ARG;
    CHECK_INT(bad, MANY / 2);
    for (int i = 1; i < MANY; i += 2) CHECK_OK(PoiseVecDestroy(&v[i]));
  }
}

/* And does not grow with what has been. */
static void TestComeAndGo(PoiseContext ctx)
{
  enum { MOST = 60 };
  PoiseVec v[MOST];
  size_t before = 0;
  for (int round = 0; round < 4000; round++) {
    int n = 1 + round * 7 % MOST;
    for (int i = 0; i < n; i++) CHECK_OK(PoiseVecCreate(ctx, 1 + i, POISE_DECIDE, &v[i]));
    for (int i = 0; i < n; i++) CHECK_OK(PoiseVecDestroy(&v[i]));
    if (round == MOST) before = poiseObjectRoom();
  }
  CHECK_INT(poiseObjectRoom(), before);
}

static void TestNoObjects(PoiseContext ctx)
{
  double norm, wild[8] = {0};
  PoiseVec x, copy, y = NULL;
  PoiseMat A;
  PoiseKSP ksp;
  CHECK_OK(PoiseVecCreate(ctx, 3, POISE_DECIDE, &x));
  CHECK_OK(PoiseMatCreate(ctx, 3, 3, POISE_DECIDE, POISE_DECIDE, &A));
  CHECK_OK(PoiseKSPCreate(ctx, &ksp));
  CHECK_ERR(PoiseVecNorm(NULL, POISE_NORM_2, &norm), POISE_ERR_ARG, "x is NULL");
  CHECK_ERR(PoiseVecNorm(x, POISE_NORM_2, NULL), POISE_ERR_ARG, "norm is NULL");
  CHECK_ERR(PoiseVecNorm((PoiseVec)A, POISE_NORM_2, &norm), POISE_ERR_ARG, "not a vector but a matrix");
  CHECK_ERR(PoiseVecNorm((PoiseVec)ctx, POISE_NORM_2, &norm), POISE_ERR_ARG, "not a vector but a context");
  CHECK_ERR(PoiseVecNorm((PoiseVec)wild, POISE_NORM_2, &norm), POISE_ERR_ARG, "x is no vector");
  CHECK_ERR(PoiseVecNorm((PoiseVec)((char *)wild + 1), POISE_NORM_2, &norm), POISE_ERR_ARG, "x is no vector");
  CHECK_ERR(PoiseVecNorm((PoiseVec)(intptr_t)-8, POISE_NORM_2, &norm), POISE_ERR_ARG, "x is no vector");
  CHECK_ERR(PoiseMatMult(A, x, y), POISE_ERR_ARG, "y is NULL");
  CHECK_ERR(PoiseKSPSolve(ksp, x, (PoiseVec)ksp), POISE_ERR_ARG, "not a vector but a solver");
  CHECK_ERR(PoiseVecMDot(x, 1, &y, &norm), POISE_ERR_ARG, "x[j] is NULL");
  CHECK_ERR(PoiseVecMDot(x, -1, &y, &norm), POISE_ERR_ARG, "-1 entries");
  CHECK_INT(PoiseVecSize(NULL), 0);
  CHECK(strstr(PoiseErrorMessage(), "PoiseVecSize: x is NULL"));
  CHECK(PoiseVecContext(NULL) == NULL && !*PoiseMatType(NULL));
  copy = x;
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_ERR(PoiseVecDestroy(&copy), POISE_ERR_ARG, "destroyed");
  CHECK_ERR(PoiseVecDestroy(NULL), POISE_ERR_ARG, "x is NULL");
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseKSPDestroy(&ksp));
  CHECK_OK(PoiseMatDestroy(&A));
}

/* ---- ranks in different calls ---------------------------------------------------------------- */

/* One rank makes another call than the others. */
typedef enum Mistake {
  MORE_NUMBERS, /* of a sum */
  OTHER_NORM,
  NORM_AND_DOT,
  NORM_AND_DOTS,
  LEAVES,
  NORM_AND_PRODUCT, /* which waits for neighbours only */
  SUM_AND_MAXIMUM,
  SKIPS_ASSEMBLY,
  FAILS_ALONE,
  MISTAKES
} Mistake;

static PoiseMat Chain(PoiseContext ctx)
{
  PoiseMat A;
  PoiseInt begin, n;
  PoiseSplit(ctx, 40, &begin, &n);
  if (!CHECK_OK(PoiseMatCreate(ctx, n, n, 40, 40, &A))) return NULL;
  for (PoiseInt i = begin; i < begin + n; i++)
    for (PoiseInt j = i - 1; j <= i + 1; j++) {
      double v = i == j ? 2 : -1;
      if (j >= 0 && j < 40) CHECK_OK(PoiseMatAddEntries(A, 1, &i, &j, &v));
    }
  CHECK_OK(PoiseMatAssemble(A));
  return A;
}

static PoiseErr Spoiled(void)
{
  POISE_FAIL(POISE_ERR_COMM, "a number was spoiled");
}

static PoiseErr MakeMistake(PoiseContext ctx, Mistake mistake, bool mine, PoiseMat A, PoiseVec x, PoiseVec y)
{
  double v[2] = {1, 2};
  PoiseVec two[] = {x, y};
  switch (mistake) {
  case MORE_NUMBERS:
    return PoiseSum(ctx, mine ? 2 : 1, v);
  case OTHER_NORM:
    return PoiseVecNorm(x, mine ? POISE_NORM_INF : POISE_NORM_1, v);
  case NORM_AND_DOT:
    return mine ? PoiseVecDotNorm2(x, y, &v[0], &v[1]) : PoiseVecNorm(x, POISE_NORM_2, v);
  case NORM_AND_DOTS:
    return mine ? PoiseVecMDot(x, 2, two, v) : PoiseVecNorm(x, POISE_NORM_2, v);
  case LEAVES:
    return mine ? POISE_OK : PoiseBarrier(ctx);
  case NORM_AND_PRODUCT:
    return mine ? PoiseVecNorm(x, POISE_NORM_2, v) : PoiseMatMult(A, x, y);
  case SUM_AND_MAXIMUM:
    return mine ? PoiseMax(ctx, 1, v) : PoiseSum(ctx, 1, v);
  case SKIPS_ASSEMBLY:
    return mine ? PoiseVecNorm(x, POISE_NORM_2, v) : PoiseMatAssemble(A);
  case FAILS_ALONE:
    return mine ? POISE_OK : PoiseAgree(ctx, Spoiled());
  case MISTAKES:
    break;
  }
  return POISE_OK;
}

typedef struct Case {
  Mistake mistake;
  PoiseErr code; /* of the mistake, on rank 0 */
} Case;

static PoiseErr Mistaken(PoiseContext ctx, void *arg)
{
  Case *c = arg;
  PoiseVec x = NULL, y = NULL;
  PoiseMat A = Chain(ctx);
  PoiseErr e = A ? PoiseMatCreateVecs(A, &x, &y) : POISE_ERR_INTERNAL;
  if (!e) e = PoiseVecSet(x, 1);
  if (!e) e = PoiseMatMult(A, x, y);
  if (!e) e = MakeMistake(ctx, c->mistake, PoiseRank(ctx) == PoiseSize(ctx) - 1, A, x, y);
  if (PoiseRank(ctx) == 0) c->code = e;
  PoiseVecDestroy(&x);
  PoiseVecDestroy(&y);
  PoiseMatDestroy(&A);
  return e;
}

/* All of it is an error that names ranks and calls, and nothing hangs. */
static void TestMistakes(PoiseContext ctx)
{
  static const char *const words_of[MISTAKES] = {"is in PoiseSum (which sums 16 bytes)",
                                                 "is in PoiseVecNorm (which finds the largest of",
                                                 "is in PoiseVecDotNorm2",
                                                 "is in PoiseVecMDot",
                                                 "has left the body of PoiseRun",
                                                 "all ranks must make the same calls",
                                                 "is in PoiseMax",
                                                 "is in PoiseMatAssemble",
                                                 "a number was spoiled"};
  (void)ctx;
  for (int ranks = 2; ranks <= 4; ranks++)
    for (int m = 0; m < MISTAKES; m++) {
      const PoiseInit init = {.serial = 1};
      Case c = {.mistake = (Mistake)m};
      PoiseContext own;
      char words[64];
      snprintf(words, sizeof words, "%d", ranks);
      if (!CHECK_OK(PoiseInitialize(NULL, NULL, &init, &own))) return;
      CHECK_OK(PoiseOptionsSet(own, "device", "host"));
      CHECK_OK(PoiseOptionsSet(own, "ranks", words));
      CHECK_ERR(PoiseRun(own, Mistaken, &c), POISE_ERR_COMM, words_of[m]);
      CHECK(c.code == POISE_ERR_COMM || c.code == POISE_ERR_REMOTE);
      CHECK_OK(PoiseFinalize(&own));
    }
}

/* Under MPI where it is asked for; not in exchanges between neighbours. */
static void TestMistakesChecked(PoiseContext ctx)
{
  static const Mistake mistakes[] = {MORE_NUMBERS, OTHER_NORM, NORM_AND_DOT, NORM_AND_DOTS, SUM_AND_MAXIMUM};
  char *words[] = {"test", "-comm_check", "yes", "-device", "host", NULL}, **argv = words;
  int argc = 5;
  PoiseContext own;
  PoiseVec x, y;
  if (strcmp(ctx->comm->ops->name, "mpi") || PoiseSize(ctx) == 1) TEST_SKIP("it takes several MPI ranks");
  if (!CHECK_OK(PoiseInitialize(&argc, &argv, NULL, &own))) return;
  CHECK_OK(PoiseVecCreate(own, 3, POISE_DECIDE, &x));
  CHECK_OK(PoiseVecDuplicate(x, &y));
  for (int k = 0; k < 5; k++)
    CHECK_ERR(MakeMistake(own, mistakes[k], PoiseRank(own) == PoiseSize(own) - 1, NULL, x, y), POISE_ERR_COMM,
              "all ranks must make the same calls");
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseVecDestroy(&y));
  CHECK_OK(PoiseFinalize(&own));
}

/* ---- forked processes ------------------------------------------------------------------------ */

static bool IsRefused(PoiseErr e)
{
  return e == POISE_ERR_STATE && strstr(PoiseErrorMessage(), "was forked");
}

/* Loops would wait for threads that are not there. */
static int CallsInChild(PoiseContext ctx, PoiseVec x)
{
  const PoiseInit init = {.serial = 1};
  PoiseContext own;
  PoiseVec y = x;
  double norm;
  alarm(20);
  return !IsRefused(PoiseVecNorm(x, POISE_NORM_2, &norm)) || !IsRefused(PoiseVecDestroy(&y)) || y != x ||
         !IsRefused(PoiseInitialize(NULL, NULL, &init, &own)) || PoiseRank(ctx) != 0;
}

static void TestForked(PoiseContext ctx)
{
  PoiseVec x;
  int status = -1;
  double norm;
  if (!strcmp(ctx->comm->ops->name, "mpi")) TEST_SKIP("MPI may not be forked");
  if (!CHECK_OK(PoiseVecCreate(ctx, 300000, POISE_DECIDE, &x))) return;
  CHECK_OK(PoiseVecSet(x, 1));
  CHECK_OK(PoiseVecNorm(x, POISE_NORM_2, &norm));
  pid_t child = fork();
  if (!child) _exit(CallsInChild(ctx, x));
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK_OK(PoiseVecNorm(x, POISE_NORM_2, &norm)); /* here nothing has changed */
  CHECK_OK(PoiseVecDestroy(&x));
}

static const Test tests[] = {
    {"many", TestMany, 0},
    {"come_and_go", TestComeAndGo, TEST_SERIAL | TEST_HOST_ONLY},
    {"no_objects", TestNoObjects, 0},
    {"mistakes", TestMistakes, TEST_SERIAL},
    {"mistakes_checked", TestMistakesChecked, 0},
    {"forked", TestForked, TEST_SERIAL},
    {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "calls", tests);
}

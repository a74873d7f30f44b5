/* SPDX-License-Identifier: BSD-3-Clause */
/* Wrong calls: pointers that are no objects, and ranks that are in different calls. */
#include <string.h>

#include "harness.h"
#include "poise.h"

/* ---- objects ------------------------------------------------------------------------------------------- */

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

static const Test tests[] = {
    {"many", TestMany, 0},
    {"no_objects", TestNoObjects, 0},
    {NULL, NULL, 0},
};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "calls", tests);
}

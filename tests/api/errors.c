/* SPDX-License-Identifier: BSD-3-Clause */
/* Wrong calls are errors of the right code, with words and values, on all ranks; existing objects still
   work. */
#include "api.h"

typedef struct Scene {
  PoiseMat A, W;    /* 12 x 12, 12 x 15 */
  PoiseVec x, y, z; /* of 12, 12 and 15 */
  PoiseKSP ksp;
  PoisePC pc;
} Scene;

static Scene Begin(PoiseContext ctx)
{
  Scene s = {0};
  Dense D = System(SPD, 12), W = DenseNew(12, 15);
  for (int i = 0; i < 12; i++) DenseSet(&W, i, i + 2, 1);
  s.A = MatOf(ctx, &D, 1, 0);
  s.W = MatOf(ctx, &W, 1, 0);
  CHECK_OK(PoiseMatCreateVecs(s.A, &s.x, &s.y));
  CHECK_OK(PoiseMatCreateVecs(s.W, &s.z, NULL));
  CHECK_OK(PoiseVecSet(s.x, 1));
  CHECK_OK(PoiseKSPCreate(ctx, &s.ksp));
  CHECK_OK(PoiseKSPGetPC(s.ksp, &s.pc));
  DenseFree(&D);
  DenseFree(&W);
  return s;
}

static void End(Scene *s)
{
  CHECK_OK(PoiseKSPDestroy(&s->ksp));
  CHECK_OK(PoiseMatDestroy(&s->A));
  CHECK_OK(PoiseMatDestroy(&s->W));
  CHECK_OK(PoiseVecDestroy(&s->x));
  CHECK_OK(PoiseVecDestroy(&s->y));
  CHECK_OK(PoiseVecDestroy(&s->z));
}

static void TestSizes(PoiseContext ctx)
{
  Scene s = Begin(ctx);
  double a;
  CHECK_ERR(PoiseVecCopy(s.x, s.z), POISE_ERR_SIZE, "15");
  CHECK_ERR(PoiseVecAXPY(s.z, 1, s.x), POISE_ERR_SIZE, "12");
  CHECK_ERR(PoiseVecAYPX(s.z, 1, s.x), POISE_ERR_SIZE, "12");
  CHECK_ERR(PoiseVecAXPBY(s.z, 1, 1, s.x), POISE_ERR_SIZE, "12");
  CHECK_ERR(PoiseVecWAXPY(s.z, 1, s.x, s.y), POISE_ERR_SIZE, "12");
  CHECK_ERR(PoiseVecPointwiseMult(s.x, s.y, s.z), POISE_ERR_SIZE, "15");
  CHECK_ERR(PoiseVecPointwiseDivide(s.x, s.z, s.y), POISE_ERR_SIZE, "15");
  CHECK_ERR(PoiseVecDot(s.x, s.z, &a), POISE_ERR_SIZE, "15");
  CHECK_ERR(PoiseVecMDot(s.x, 1, &s.z, &a), POISE_ERR_SIZE, "15");
  CHECK_ERR(PoiseVecMAXPY(s.x, 1, &(double){1}, &s.z), POISE_ERR_SIZE, "15");
  CHECK_ERR(PoiseVecDotNorm2(s.x, s.z, &a, &a), POISE_ERR_SIZE, "15");
  CHECK_ERR(PoiseVecAXPYDot(s.x, 1, s.z, &a), POISE_ERR_SIZE, "15");
  CHECK_ERR(PoiseMatMult(s.A, s.z, s.y), POISE_ERR_SIZE, "15");
  CHECK_ERR(PoiseMatMult(s.W, s.x, s.y), POISE_ERR_SIZE, "12");
  CHECK_ERR(PoiseMatMultTranspose(s.W, s.z, s.x), POISE_ERR_SIZE, "15");
  CHECK_ERR(PoiseMatMultAdd(s.W, 1, s.x, 1, s.y), POISE_ERR_SIZE, "");
  CHECK_ERR(PoiseMatMultDot(s.A, s.x, s.y, s.z, &a), POISE_ERR_SIZE, "15");
  CHECK_ERR(PoiseMatResidual(s.A, s.z, s.x, s.y), POISE_ERR_SIZE, "15");
  CHECK_ERR(PoiseMatGetDiagonal(s.A, s.z), POISE_ERR_SIZE, "15");
  CHECK_ERR(PoiseMatDiagonalScale(s.A, s.z, NULL), POISE_ERR_SIZE, "15");
  CHECK_ERR(PoiseMatDiagonalScale(s.A, NULL, s.z), POISE_ERR_SIZE, "15");
  CHECK_ERR(PoiseMatSetDiagonal(s.A, s.z), POISE_ERR_SIZE, "15");
  CHECK_ERR(PoiseMatAddDiagonal(s.A, s.z), POISE_ERR_SIZE, "15");
  CHECK_ERR(PoiseMatAXPY(s.A, 1, s.W), POISE_ERR_SIZE, "15");
  CHECK_ERR(PoiseMatSetNullSpace(s.A, 0, 1, &s.z), POISE_ERR_SIZE, "15");
  CHECK_ERR(PoiseKSPSetOperators(s.ksp, s.W, NULL) ? POISE_ERR_SIZE : PoiseKSPSetUp(s.ksp), POISE_ERR_SIZE,
            "");
  CHECK_OK(PoiseKSPSetOperators(s.ksp, s.A, NULL));
  CHECK_ERR(PoiseKSPSolve(s.ksp, s.z, s.y), POISE_ERR_SIZE, "15");
  CHECK_ERR(PoiseKSPSolve(s.ksp, s.x, s.z), POISE_ERR_SIZE, "15");
  CHECK_ERR(PoisePCApply(s.pc, s.x, s.z), POISE_ERR_SIZE, "");
  CHECK_OK(PoiseKSPSolve(s.ksp, s.x, s.y)); /* all is as it was */
  CHECK(PoiseKSPConvergedReason(s.ksp) > 0);
  End(&s);
}

static void TestArguments(PoiseContext ctx)
{
  Scene s = Begin(ctx);
  PoiseVec v = NULL;
  PoiseMat B = NULL;
  PoiseInt row = 12, fine = 3;
  double a = 1;
  CHECK_OK(PoiseKSPSetOperators(s.ksp, s.A, NULL));
  CHECK_ERR(PoiseMatMult(s.A, s.x, s.x), POISE_ERR_ARG, "");
  CHECK_ERR(PoiseKSPSolve(s.ksp, s.x, s.x), POISE_ERR_ARG, "");
  CHECK_ERR(PoiseVecNorm(s.x, (PoiseNorm)77, &a), POISE_ERR_ARG, "77");
  CHECK_ERR(PoiseMatNorm(s.A, POISE_NORM_2, &a), POISE_ERR_UNSUPPORTED, "");
  CHECK_ERR(PoiseVecAddValues(s.x, 1, &row, &a), POISE_ERR_ARG, "12");
  CHECK_ERR(PoiseVecAssemble(s.x), POISE_ERR_ARG, "12"); /* it is kept until all meet */
  CHECK_OK(PoiseVecAssemble(s.x));
  CHECK_ERR(PoiseMatAddEntries(s.A, 1, &row, &fine, &a), POISE_ERR_ARG, "12");
  CHECK_ERR(PoiseMatAssemble(s.A), POISE_ERR_ARG, "12");
  CHECK_OK(PoiseMatAssemble(s.A));
  CHECK_ERR(PoiseMatAddBlock(s.W, 1, &fine, 1, &(PoiseInt){15}, &a), POISE_ERR_ARG, "15");
  CHECK_ERR(PoiseMatAssemble(s.W), POISE_ERR_ARG, "15");
  CHECK_OK(PoiseMatAssemble(s.W));
  CHECK_ERR(PoiseVecGetValues(s.x, 1, &row, &a), POISE_ERR_ARG, "12");
  CHECK_ERR(PoiseVecCreate(ctx, -5, 12, &v), POISE_ERR_ARG, "-5");
  CHECK_ERR(PoiseVecCreate(ctx, POISE_DECIDE, POISE_DECIDE, &v), POISE_ERR_ARG, "");
  CHECK_ERR(PoiseVecCreate(ctx, 3, 3 * PoiseSize(ctx) + 1, &v), POISE_ERR_SIZE, "");
  CHECK(v == NULL);
  CHECK_ERR(PoiseMatSetType(s.A, "wrong"), POISE_ERR_OPTION, "wrong");
  CHECK_ERR(PoiseKSPSetType(s.ksp, "wrong"), POISE_ERR_OPTION, "wrong");
  CHECK_ERR(PoisePCSetType(s.pc, "wrong"), POISE_ERR_OPTION, "wrong");
  CHECK_ERR(PoiseMatSetBlockSize(s.A, 33), POISE_ERR_ARG, "33");
  CHECK_ERR(PoiseMatSetBlockSize(s.A, -1), POISE_ERR_ARG, "-1");
  CHECK_ERR(PoiseMatSetBlockSize(s.A, 5), POISE_ERR_SIZE, "5");
  CHECK_ERR(PoiseKSPSetNormType(s.ksp, (PoiseNormType)9), POISE_ERR_ARG, "9");
  CHECK_ERR(PoiseKSPSetPCSide(s.ksp, (PoisePCSide)9), POISE_ERR_ARG, "9");
  CHECK_ERR(PoiseKSPGMRESSetRestart(s.ksp, 0), POISE_ERR_ARG, "0");
  CHECK_ERR(PoiseKSPSetTolerances(s.ksp, 2, -1, -1, -1), POISE_ERR_ARG, "2");
  CHECK_OK(PoiseKSPSetType(s.ksp, "preonly"));
  CHECK_OK(PoiseKSPSetInitialGuessNonzero(s.ksp, 1));
  CHECK_ERR(PoiseKSPSolve(s.ksp, s.y, s.x), POISE_ERR_ARG, "guess");
  /* arrays that cannot be */
  int32_t ptr[2] = {0, 2}, col[2] = {0, 0};
  double val[2] = {1, 2};
  PoiseCSR csr = {.ptr32 = ptr, .col32 = col, .val = val};
  int size = PoiseSize(ctx);
  CHECK_ERR(PoiseMatCreateCSR(ctx, 1, 1, size, size, &csr, POISE_COPY, &B), POISE_ERR_ARG, "row"); /* twice */
  col[1] = (int32_t)size;
  CHECK_ERR(PoiseMatCreateCSR(ctx, 1, 1, size, size, &csr, POISE_COPY, &B), POISE_ERR_ARG, "");
  col[1] = -1;
  CHECK_ERR(PoiseMatCreateCSR(ctx, 1, 1, size, size, &csr, POISE_COPY, &B), POISE_ERR_ARG, "-1");
  ptr[1] = -2;
  CHECK_ERR(PoiseMatCreateCSR(ctx, 1, 1, size, size, &csr, POISE_COPY, &B), POISE_ERR_ARG, "");
  ptr[1] = 1, csr.base = 2;
  CHECK_ERR(PoiseMatCreateCSR(ctx, 1, 1, size, size, &csr, POISE_COPY, &B), POISE_ERR_ARG, "2");
  CHECK(B == NULL);
  /* vectors that are no null space */
  CHECK_OK(PoiseVecSet(s.x, 1));
  CHECK_ERR(PoiseMatSetNullSpace(s.A, 0, 1, &s.x), POISE_ERR_ARG, "");
  CHECK_OK(PoiseVecSet(s.x, 1 / sqrt(12)));
  CHECK_OK(PoiseMatSetNullSpace(s.A, 0, 1, &s.x));
  CHECK_ERR(PoiseMatSetNullSpace(s.A, 1, 1, &s.x), POISE_ERR_ARG, "");
  PoiseVec two[2] = {s.x, s.x};
  CHECK_ERR(PoiseMatSetNullSpace(s.A, 0, 2, two), POISE_ERR_ARG, "");
  End(&s);
}

static void TestOrder(PoiseContext ctx)
{
  Scene s = Begin(ctx);
  double a = 1;
  PoiseInt zero = 0;
  PoiseMat E = NULL;
  CHECK_ERR(PoiseKSPSetUp(s.ksp), POISE_ERR_STATE, "");
  CHECK_ERR(PoiseKSPSolve(s.ksp, s.x, s.y), POISE_ERR_STATE, "");
  CHECK_ERR(PoisePCSetUp(s.pc), POISE_ERR_STATE, "");
  CHECK_OK(PoiseMatCreate(ctx, POISE_DECIDE, POISE_DECIDE, 12, 12, &E));
  CHECK_ERR(PoiseMatMult(E, s.x, s.y), POISE_ERR_STATE, "");
  CHECK_OK(PoiseKSPSetOperators(s.ksp, E, NULL));
  CHECK_ERR(PoiseKSPSolve(s.ksp, s.x, s.y), POISE_ERR_STATE, "");
  CHECK_OK(PoiseVecAddValues(s.x, 1, &zero, &a));
  CHECK_ERR(PoiseVecSetValues(s.x, 1, &zero, &a), POISE_ERR_STATE, "");
  CHECK_ERR(PoiseVecAssemble(s.x), POISE_ERR_STATE, "");
  CHECK_OK(PoiseVecAssemble(s.x));
  CHECK_OK(PoiseMatSetEntries(E, 1, &zero, &zero, &a));
  CHECK_ERR(PoiseMatAddEntries(E, 1, &zero, &zero, &a), POISE_ERR_STATE, "");
  CHECK_ERR(PoiseMatAssemble(E), POISE_ERR_STATE, "");
  CHECK_OK(PoiseMatAssemble(E));
  CHECK_OK(PoiseMatAddEntries(E, 1, &zero, &zero, &a));
  CHECK_ERR(PoiseMatMult(E, s.x, s.y), POISE_ERR_STATE, ""); /* on its ranks, values wait */
  CHECK_OK(PoiseMatAssemble(E));
  CHECK_ERR(PoiseMatSetValuesCOO(E, &a), POISE_ERR_STATE, "");
  CHECK_ERR(PoiseVecAddValuesLocal(s.x, 1, &zero, &a), POISE_ERR_STATE, "");
  CHECK_ERR(PoiseVecAssemble(s.x), POISE_ERR_STATE, "");
  CHECK_ERR(PoiseMatSetValuesBCSR(s.A, 0, &a), POISE_ERR_ARG, "");
  CHECK_OK(PoiseMatDestroy(&E));
  End(&s);
  CHECK_OK(PoiseMatDestroy(&E)); /* NULL is legal */
  CHECK_OK(PoiseVecDestroy(&s.x));
  CHECK_OK(PoiseKSPDestroy(&s.ksp));
}

static PoiseErr Nothing(void *arg, PoiseVec x, PoiseVec y)
{
  (void)arg;
  return PoiseVecCopy(x, y);
}

/* Of a matrix without entries, and of one that is a function, what needs entries is refused, and names
   why. */
static void Needs(PoiseContext ctx, Scene *s, PoiseMat E, PoiseErr code)
{
  PoiseMat B = NULL, P = NULL;
  PoiseInt n, row = 0;
  PoiseBlockFill table[POISE_BLOCK_FILLS];
  const PoiseInt *cols;
  const double *v;
  double a = 1;
  int64_t *ptr, *col;
  double *val;
  int is;
  char path[256];
  CHECK_ERR(PoiseMatScale(E, 2), code, "");
  CHECK_ERR(PoiseMatShift(E, 2), code, "");
  CHECK_ERR(PoiseMatDiagonalScale(E, s->x, s->x), code, "");
  CHECK_ERR(PoiseMatSetDiagonal(E, s->x), code, "");
  CHECK_ERR(PoiseMatAddDiagonal(E, s->x), code, "");
  CHECK_ERR(PoiseMatGetDiagonal(E, s->x), code, "");
  CHECK_ERR(PoiseMatAXPY(E, 1, s->A), code, "");
  CHECK_ERR(PoiseMatAXPY(s->A, 1, E), code, "");
  CHECK_ERR(PoiseMatNorm(E, POISE_NORM_1, &a), code, "");
  CHECK_ERR(PoiseMatNorm(E, POISE_NORM_INF, &a), code, "");
  CHECK_ERR(PoiseMatDuplicate(E, 1, &B), code, "");
  CHECK_ERR(PoiseMatTranspose(E, &B), code, "");
  CHECK_ERR(PoiseMatRearrange(E, &B, &P), code, "");
  CHECK(B == NULL && P == NULL);
  CHECK_ERR(PoiseMatIsSymmetric(E, 0, &is), code, "");
  CHECK_ERR(PoiseMatIsTranspose(s->A, E, 0, &is), code, "");
  CHECK_ERR(PoiseMatIsTranspose(E, s->A, 0, &is), code, "");
  CHECK_ERR(PoiseMatZeroRows(E, 1, &row, 1, NULL, NULL), code, "");
  CHECK_ERR(PoiseMatZeroRowsColumns(E, 1, &row, 1, NULL, NULL), code, "");
  CHECK_ERR(PoiseMatFindBlockSize(E, table, &is), code, "");
  CHECK_ERR(PoiseMatGetRow(E, 0, &n, &cols, &v), code, "");
  CHECK_ERR(PoiseMatCopyCSR(E, &ptr, &col, &val), code, "");
  CHECK_ERR(PoiseMatSetValuesCSR(E, &a), code, "");
  CHECK_ERR(PoiseMatSave(E, ApiPath(ctx, "none.mtx", path)), code, "");
  CHECK_ERR(PoiseMatSave(E, ApiPath(ctx, "none.bin", path)), code, "");
  static const char *const pcs[] = {"pbjacobi", "ilu", "icc", "sor", "lu", "bjacobi"};
  CHECK_OK(PoiseKSPSetOperators(s->ksp, s->A, E));
  for (int k = 0; k < 6; k++) {
    ApiCase("%s", pcs[k]);
    CHECK_OK(PoisePCSetType(s->pc, pcs[k]));
    CHECK_ERR(PoisePCSetUp(s->pc), code, "");
    CHECK_ERR(PoiseKSPSolve(s->ksp, s->x, s->y), code, "");
  }
}

static void TestNeeds(PoiseContext ctx)
{
  Scene s = Begin(ctx);
  PoiseMat E = NULL;
  PoiseInt m = PoiseVecLocalSize(s.x);
  CHECK_OK(PoiseMatCreate(ctx, m, m, 12, 12, &E));
  Needs(ctx, &s, E, POISE_ERR_STATE);
  CHECK_OK(PoiseKSPSetOperators(s.ksp, s.A, NULL));
  CHECK_OK(PoiseMatDestroy(&E));
  CHECK_OK(PoiseMatCreateShell(ctx, m, m, 12, 12, &(PoiseShell){Nothing, NULL, NULL}, NULL, &E));
  Needs(ctx, &s, E, POISE_ERR_UNSUPPORTED);
  CHECK_OK(PoiseKSPSetOperators(s.ksp, s.A, NULL));
  CHECK_OK(PoiseMatDestroy(&E));
  End(&s);
}

/* Arrays said to be the device's: on the host all are, elsewhere those of the host are refused by name. */
static void TestPointers(PoiseContext ctx)
{
  int size = PoiseSize(ctx), rank = PoiseRank(ctx), host = !strcmp(ApiDevice(ctx), "host");
  int32_t ptr[3] = {0, 1, 2}, col[2] = {2 * rank, 2 * rank + 1};
  double val[2] = {3, 4}, v[2] = {1, 2}, sum;
  PoiseInt rows[2] = {2 * rank, 2 * rank + 1};
  Dense D = DenseNew(2 * size, 2 * size);
  for (int i = 0; i < 2 * size; i++) DenseSet(&D, i, i, i % 2 ? 4 : 3);
  PoiseMat A = NULL;
  PoiseVec x = NULL;
  PoiseCSR csr = {.ptr32 = ptr, .col32 = col, .val = val};
  PoiseBCSR bcsr = {.ptr32 = ptr, .col32 = col, .val = val};
  PoiseErr made = PoiseVecCreateDeviceArray(ctx, 2, POISE_DECIDE, v, POISE_COPY, &x);
  if (host) {
    CHECK_OK(made);
    CHECK_OK(PoiseVecSumEntries(x, &sum));
    CHECK_NEAR(sum, 3 * size, 0);
    CHECK_OK(PoiseVecDestroy(&x));
    CHECK_OK(PoiseMatCreateDeviceCSR(ctx, 2, 2, 2 * size, 2 * size, &csr, POISE_COPY, &A));
    MatIs(A, &D, 0);
    CHECK_OK(PoiseMatDestroy(&A));
    CHECK_OK(PoiseMatCreateDeviceBCSR(ctx, 1, 2, 2, 2 * size, 2 * size, &bcsr, POISE_COPY, &A));
    MatIs(A, &D, 0);
    CHECK_OK(PoiseMatDestroy(&A));
  } else {
    CHECK_ERR(made, POISE_ERR_ARG, "");
    CHECK_ERR(PoiseMatCreateDeviceCSR(ctx, 2, 2, 2 * size, 2 * size, &csr, POISE_COPY, &A), POISE_ERR_ARG,
              "");
    CHECK_ERR(PoiseMatCreateDeviceBCSR(ctx, 1, 2, 2, 2 * size, 2 * size, &bcsr, POISE_COPY, &A),
              POISE_ERR_ARG, "");
    CHECK(x == NULL && A == NULL);
  }
  CHECK_OK(PoiseMatCreate(ctx, 2, 2, 2 * size, 2 * size, &A));
  PoiseErr e = PoiseMatSetPatternDeviceCOO(A, 2, rows, rows);
  if (host)
    CHECK_OK(e);
  else
    CHECK_ERR(e, POISE_ERR_ARG, "rows");
  CHECK_OK(PoiseMatSetPatternCOO(A, 2, rows, rows));
  e = PoiseMatSetValuesDeviceCOO(A, val);
  if (host)
    CHECK_OK(e);
  else
    CHECK_ERR(e, POISE_ERR_ARG, "");
  CHECK_OK(PoiseMatSetValuesCOO(A, val));
  MatIs(A, &D, 0);
  if (host) {
    CHECK_OK(PoiseMatAddValuesDeviceCOO(A, val));
    for (int i = 0; i < 2 * size; i++) D.a[i * 2 * size + i] *= 2;
    MatIs(A, &D, 0);
  }
  CHECK_OK(PoiseMatDestroy(&A));
  DenseFree(&D);
}

/* One rank is wrong: all hear of it, and meet again. */
static void TestOneRank(PoiseContext ctx)
{
  Scene s = Begin(ctx);
  int last = PoiseSize(ctx) - 1, rank = PoiseRank(ctx);
  PoiseInt row = rank == last ? 99 : 0;
  double a = 0, sum = 1;
  PoiseErr e = PoiseVecAddValues(s.x, 1, &row, &a);
  CHECK_INT(e, rank == last ? POISE_ERR_ARG : POISE_OK);
  CHECK_ERR(PoiseVecAssemble(s.x), POISE_ERR_ARG, "99");
  e = PoiseMatAddEntries(s.A, 1, &row, &row, &a);
  CHECK_INT(e, rank == last ? POISE_ERR_ARG : POISE_OK);
  CHECK_ERR(PoiseMatAssemble(s.A), POISE_ERR_ARG, "99");
  e = PoiseAgree(ctx, rank == last ? PoiseErrorSet(POISE_ERR_USER, "f", "g", 7, "number %d", 42) : POISE_OK);
  CHECK_INT(e, rank == last ? POISE_ERR_USER : POISE_ERR_REMOTE);
  CHECK(strstr(PoiseErrorMessage(), "number 42") != NULL);
  CHECK(strstr(PoiseErrorText(), "number 42") != NULL);
  if (rank == last) CHECK(strstr(PoiseErrorText(), "f (g:7)") != NULL);
  if (rank == last) {
    CHECK_INT(PoiseErrorTrace(POISE_ERR_USER, "outer", "where", 8), POISE_ERR_USER);
    const char *inner = strstr(PoiseErrorText(), "f (g:7)"),
               *outer = strstr(PoiseErrorText(), "outer (where:8)");
    CHECK(inner && outer && inner < outer);
  }
  PoiseErrorClear();
  CHECK(!strcmp(PoiseErrorMessage(), ""));
  CHECK_OK(PoiseAgree(ctx, POISE_OK));
  CHECK_OK(PoiseSum(ctx, 1, &sum));
  CHECK_NEAR(sum, PoiseSize(ctx), 0);
  CHECK(!strcmp(PoiseErrorString(POISE_ERR_SIZE), "sizes do not match"));
  CHECK(!strcmp(PoiseErrorString(POISE_OK), "success"));
  CHECK(PoiseErrorString((PoiseErr)99) != NULL);
  CHECK_INT(PoiseVersion(), POISE_VERSION);
  End(&s);
}

/* Objects that are left are counted when a context ends; those of two contexts do not mix. */
static void TestContexts(PoiseContext ctx)
{
  PoiseContext own = NULL;
  PoiseVec x = NULL, y = NULL;
  double a;
  if (PoiseRank(ctx)) {
    CHECK(PoiseSize(ctx) > 1);
    return;
  }
  CHECK_OK(PoiseInitialize(NULL, NULL, &(PoiseInit){.serial = 1}, &own));
  CHECK_INT(PoiseSize(own), 1);
  CHECK_INT(PoiseRank(own), 0);
  CHECK_OK(PoiseVecCreate(own, 5, 5, &x));
  CHECK_ERR(PoiseFinalize(&own), POISE_ERR_STATE, "1");
  CHECK(own != NULL);
  if (PoiseSize(ctx) == 1) {
    CHECK_OK(PoiseVecCreate(ctx, 5, 5, &y));
    CHECK_ERR(PoiseVecDot(x, y, &a), POISE_ERR_ARG, "context");
    CHECK_OK(PoiseVecDestroy(&y));
  }
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseFinalize(&own));
  CHECK(own == NULL);
}

const Test error_tests[] = {{"sizes", TestSizes},       {"arguments", TestArguments},
                            {"order", TestOrder},       {"needs", TestNeeds},
                            {"pointers", TestPointers}, {"one_rank", TestOneRank},
                            {"contexts", TestContexts}, {NULL, NULL}};

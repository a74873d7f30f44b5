/* SPDX-License-Identifier: BSD-3-Clause */
/* Views, monitors, logs, and bytes: they exist, show the right numbers, and hold. */
#include "api.h"

enum { N = 64 };
static const char *const types[] = {"csr", "csri", "seg", "bcsr"};

static void Says(PoiseContext ctx, const char *text, const char *words)
{
  if (!PoiseRank(ctx) && !CHECK(strstr(text, words) != NULL)) ApiCase("no '%s' in: %.60s", words, text);
}

static void TestViews(PoiseContext ctx)
{
  char text[20000];
  for (int t = 0; t < 4; t++) {
    Dense D = System(SPD, N);
    PoiseMat A = MatOf(ctx, &D, 4, 0);
    PoiseVec x, b;
    PoiseKSP ksp = NULL;
    PoisePC pc;
    ApiCase("%s", types[t]);
    CHECK_OK(PoiseMatSetType(A, types[t]));
    CHECK_OK(PoiseMatCreateVecs(A, &x, &b));
    CHECK_OK(PoiseVecSet(b, 1));
    CHECK_OK(PoiseKSPCreate(ctx, &ksp));
    CHECK_OK(PoiseKSPSetType(ksp, "cg"));
    CHECK_OK(PoiseKSPGetPC(ksp, &pc));
    CHECK_OK(PoisePCSetType(pc, "jacobi"));
    CHECK_OK(PoiseKSPSetOperators(ksp, A, NULL));
    CHECK_OK(PoiseKSPSolve(ksp, b, x));
    FILE *out = ApiPrintBegin(ctx);
    CHECK_OK(PoiseMatView(A));
    CHECK_OK(PoiseVecView(x));
    CHECK_OK(PoiseKSPView(ksp));
    CHECK_OK(PoisePCView(pc));
    CHECK_OK(PoiseView(ctx));
    CHECK_OK(PoisePrintf(ctx, "the end %d\n", 7));
    ApiPrintEnd(ctx, out, text, sizeof text);
    const char *const words[] = {types[t],        "64",    "cg",          "jacobi",
                                 ApiDevice(ctx),  "0.1.0", "the end 7\n", "preconditioned",
                                 "CONVERGED_RTOL"};
    for (int k = 0; k < 8; k++) Says(ctx, text, words[k]);
    CHECK_OK(PoiseKSPDestroy(&ksp));
    CHECK_OK(PoiseVecDestroy(&x));
    CHECK_OK(PoiseVecDestroy(&b));
    CHECK_OK(PoiseMatDestroy(&A));
    DenseFree(&D);
  }
}

/* Lines as PETSc writes them. */
static void TestMonitors(PoiseContext ctx)
{
  char text[20000], line[200];
  Dense D = System(SPD, N);
  PoiseMat A = MatOf(ctx, &D, 1, 0);
  PoiseVec x, b;
  PoiseKSP ksp = NULL;
  PoiseInt count;
  const double *h;
  CHECK_OK(PoiseMatCreateVecs(A, &x, &b));
  CHECK_OK(PoiseVecSetRandom(b, 1));
  CHECK_OK(PoiseKSPCreate(ctx, &ksp));
  CHECK_OK(PoiseKSPSetOperators(ksp, A, NULL));
  for (int way = 0; way < 2; way++) {
    CHECK_OK(PoiseOptionsSet(ctx, "ksp_monitor", way ? "no" : "yes"));
    CHECK_OK(PoiseOptionsSet(ctx, "ksp_monitor_true_residual", way ? "yes" : "no"));
    CHECK_OK(PoiseOptionsSetString(ctx, "-ksp_converged_reason -ksp_view"));
    CHECK_OK(PoiseKSPSetFromOptions(ksp));
    CHECK_OK(PoiseKSPKeepHistory(ksp, 1));
    FILE *out = ApiPrintBegin(ctx);
    CHECK_OK(PoiseKSPSolve(ksp, b, x));
    ApiPrintEnd(ctx, out, text, sizeof text);
    CHECK_OK(PoiseKSPHistory(ksp, &count, &h));
    for (PoiseInt k = 0; k < count && !way; k++) {
      snprintf(line, sizeof line, "%3d KSP Residual norm %.12e", (int)k, h[k]);
      Says(ctx, text, line);
    }
    for (PoiseInt k = 0; k < count && way; k++) {
      snprintf(line, sizeof line, "%3d KSP preconditioned resid norm %.12e true resid norm %.12e", (int)k,
               h[k], h[k]);
      line[40] = 0;
      Says(ctx, text, line);
    }
    snprintf(line, sizeof line, "CONVERGED_RTOL iterations %d", (int)count - 1);
    Says(ctx, text, line);
    Says(ctx, text, "gmres");
  }
  CHECK_OK(PoiseOptionsSetString(ctx, "-ksp_monitor_true_residual no -ksp_converged_reason no -ksp_view no"));
  CHECK_OK(PoiseKSPDestroy(&ksp));
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseVecDestroy(&b));
  CHECK_OK(PoiseMatDestroy(&A));
  DenseFree(&D);
}

static void TestLog(PoiseContext ctx)
{
  char text[60000];
  Dense D = System(SPD, N);
  PoiseMat A = MatOf(ctx, &D, 1, 0);
  PoiseVec x, y;
  CHECK_OK(PoiseMatCreateVecs(A, &x, &y));
  CHECK_OK(PoiseLogBegin(ctx, "outer part"));
  for (int k = 0; k < 3; k++) {
    CHECK_OK(PoiseLogBegin(ctx, "inner part"));
    CHECK_OK(PoiseMatMult(A, x, y));
    CHECK_OK(PoiseLogEnd(ctx, "inner part"));
  }
  CHECK_OK(PoiseLogEnd(ctx, "outer part"));
  CHECK_ERR(PoiseLogEnd(ctx, "outer part"), POISE_ERR_STATE, "outer part");
  for (int f = POISE_LOG_TEXT; f <= POISE_LOG_JSON; f++) {
    FILE *out = tmpfile();
    ApiCase("format %d", f);
    CHECK_OK(PoiseLogView(ctx, out, (PoiseLogFormat)f));
    if (out && !PoiseRank(ctx)) {
      rewind(out);
      text[fread(text, 1, sizeof text - 1, out)] = 0;
      Says(ctx, text, "outer part");
      Says(ctx, text, "inner part");
      Says(ctx, text, "MatMult");
      if (f == POISE_LOG_JSON) CHECK(text[0] == '{' || text[0] == '[');
      const char *at = strstr(text, "inner part"); /* it happened 3 times */
      CHECK(at && strchr(at, '3') && strchr(at, '3') < at + 80);
    }
    if (out) fclose(out);
  }
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseVecDestroy(&y));
  CHECK_OK(PoiseMatDestroy(&A));
  DenseFree(&D);
}

/* The numbers of an event in the CSV, each as minimum and maximum over the ranks: calls, seconds, flops,
   bytes, GB/s, messages and their bytes; allocations, launches, copies, bytes to the device and to the
   host, waits; seconds without what is nested. */
enum {
  CALLS = 0,
  SECONDS = 2,
  FLOPS = 4,
  ALLOCATIONS = 14,
  TO_DEVICE = 20,
  TO_HOST = 22,
  OWN = 26,
  COLUMNS = 28
};

static bool Row(const char *text, const char *event, double v[COLUMNS])
{
  char name[80];
  snprintf(name, sizeof name, "\n\"%s\",", event);
  const char *at = strstr(text, name);
  if (!CHECK(at != NULL)) return false;
  at += strlen(name);
  for (int k = 0; k < COLUMNS; k++) {
    char *end;
    v[k] = strtod(at, &end);
    if (!CHECK(end != at && *end == (k + 1 < COLUMNS ? ',' : '\n'))) return false;
    at = end + 1;
  }
  return true;
}

/* What a section did is what it says. */
static void TestCounts(PoiseContext ctx)
{
  char text[60000];
  double u[N] = {0}, begin, took, v[COLUMNS];
  bool copies = strcmp(ApiDevice(ctx), "host");
  PoiseInt m;
  Dense D = System(SPD, N);
  PoiseMat A = MatOf(ctx, &D, 1, 0);
  PoiseVec x, y;
  CHECK_OK(PoiseMatSetType(A, "csr"));
  CHECK_OK(PoiseMatCreateVecs(A, &x, &y));
  PoiseMatLocalSizes(A, &m, NULL);
  CHECK_OK(PoiseMatMult(A, x, y)); /* all is where it is needed */
  VecFill(x, u);
  begin = PoiseTime();
  CHECK_OK(PoiseLogBegin(ctx, "one"));
  CHECK_OK(PoiseVecToDevice(x));
  while (PoiseTime() < begin + 0.01) continue;
  CHECK_OK(PoiseLogEnd(ctx, "one"));
  CHECK_OK(PoiseLogBegin(ctx, "two"));
  for (int k = 0; k < 2; k++) CHECK_OK(PoiseMatMult(A, x, y));
  CHECK_OK(PoiseLogEnd(ctx, "two"));
  CHECK_OK(PoiseLogBegin(ctx, "three"));
  VecIs(y, u, 0);
  CHECK_OK(PoiseLogEnd(ctx, "three"));
  took = PoiseTime() - begin;
  FILE *out = tmpfile();
  CHECK_OK(PoiseLogView(ctx, out, POISE_LOG_CSV));
  if (out && !PoiseRank(ctx)) {
    rewind(out);
    text[fread(text, 1, sizeof text - 1, out)] = 0;
    if (Row(text, "one", v)) {
      CHECK(v[CALLS] == 1 && v[CALLS + 1] == 1);
      CHECK(v[OWN] <= v[SECONDS] + 1e-9 && v[OWN + 1] <= v[SECONDS + 1] + 1e-9);
      CHECK(v[SECONDS] >= 0 && v[SECONDS] <= v[SECONDS + 1] && v[SECONDS + 1] <= took * 4 + 1);
      if (PoiseSize(ctx) == 1) CHECK(v[SECONDS] >= 0.009 && v[SECONDS] <= took);
      CHECK_NEAR(v[TO_DEVICE + 1], copies ? 8.0 * (double)m : 0, 0);
      CHECK(v[FLOPS + 1] == 0 && v[ALLOCATIONS + 1] == 0);
    }
    if (Row(text, "two", v)) {
      CHECK(v[FLOPS] <= v[FLOPS + 1]);
      if (PoiseSize(ctx) == 1) CHECK_NEAR(v[FLOPS], 4.0 * (double)DenseCount(&D), 0);
      if (PoiseSize(ctx) == 1) CHECK_NEAR(v[TO_HOST], 0, 0);
    }
    if (Row(text, "three", v)) CHECK_NEAR(v[TO_HOST + 1], copies ? 8.0 * (double)m : 0, 0);
    if (Row(text, "MatMult", v)) CHECK(v[CALLS] == 3 && v[CALLS + 1] == 3);
  }
  if (out) fclose(out);
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseVecDestroy(&y));
  CHECK_OK(PoiseMatDestroy(&A));
  DenseFree(&D);
}

static void Between(const PoisePrediction *p, const PoiseBytes *now)
{
  CHECK(p->least.host <= now->host && now->host <= p->most.host);
  CHECK(p->least.device <= now->device && now->device <= p->most.device);
}

/* What is predicted of objects is what they then hold. */
static void TestBytes(PoiseContext ctx)
{
  static const char *const methods[] = {
      "cg",    "prcg", "bicgstab",  "gmres", "fgmres", "minres", "chebyshev", "richardson", "cgs",
      "tfqmr", "idr",  "bicgstabl", "fcg",   "gcr",    "symmlq", "qmrcgs",    "lgmres",     "bcg"};
  static const char *const pcs[] = {"jacobi", "none", "ilu", "pbjacobi", "sor", "icc", "lu", "jacobi"};
  for (size_t k = 0; k < sizeof methods / sizeof *methods; k++) {
    Dense D = System(SPD, N);
    PoiseMat A = MatOf(ctx, &D, 4, 0);
    PoiseVec x, b;
    PoiseKSP ksp = NULL;
    PoisePC pc;
    PoisePrediction of[3];
    PoiseBytes now;
    PoiseInt m;
    int64_t plain, left, total, *ptr, *col;
    double *val;
    ApiCase("%s, %s, %s", methods[k], pcs[k % 8], types[k % 4]);
    CHECK_OK(PoiseMatSetType(A, types[k % 4]));
    CHECK_OK(PoiseKSPCreate(ctx, &ksp));
    CHECK_OK(PoiseKSPSetType(ksp, methods[k]));
    CHECK_OK(PoiseKSPGetPC(ksp, &pc));
    CHECK_OK(PoisePCSetType(pc, pcs[k % 8]));
    CHECK_OK(PoiseKSPSetOperators(ksp, A, NULL));
    CHECK_OK(PoiseMatPredictBytes(A, NULL, &of[0]));
    CHECK_OK(PoisePCPredictBytes(pc, NULL, &of[1]));
    CHECK_OK(PoiseKSPPredictBytes(ksp, NULL, &of[2]));
    CHECK_OK(PoiseMatCreateVecs(A, &x, &b));
    CHECK_OK(PoiseVecSet(b, 1));
    CHECK_OK(PoiseKSPSolve(ksp, b, x));
    CHECK_OK(PoiseMatBytes(A, &now, &plain));
    Between(&of[0], &now);
    PoiseMatLocalSizes(A, &m, NULL);
    CHECK_OK(PoiseMatCopyCSR(A, &ptr, &col, &val));
    if (k % 4 < 3) CHECK(plain >= 12 * ptr[m] && plain <= 12 * ptr[m] + 8 * (m + 1) + 16);
    free(ptr), free(col), free(val);
    CHECK_OK(PoisePCBytes(pc, &now));
    Between(&of[1], &now);
    CHECK_OK(PoiseKSPBytes(ksp, &now));
    Between(&of[2], &now);
    CHECK_OK(PoiseVecBytes(x, &now));
    CHECK(now.host + now.device >= 8 * m && now.host + now.device <= 16 * m);
    CHECK_OK(PoiseDeviceMemory(ctx, &left, &total));
    CHECK(0 < left && left <= total);
    CHECK_OK(PoiseKSPDestroy(&ksp));
    CHECK_OK(PoiseVecDestroy(&x));
    CHECK_OK(PoiseVecDestroy(&b));
    CHECK_OK(PoiseMatDestroy(&A));
    DenseFree(&D);
  }
}

const Test report_tests[] = {{"views", TestViews},   {"monitors", TestMonitors}, {"log", TestLog},
                             {"counts", TestCounts}, {"bytes", TestBytes},       {NULL, NULL}};

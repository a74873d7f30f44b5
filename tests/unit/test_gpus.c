/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Which GPU is current. An application has its own GPU, changes it, and has several contexts and threads. Each
  public call works on the context's GPU, and leaves the thread's GPU as it was. Two GPUs are needed to tell
  these apart.
*/
#include "harness.h"

#ifdef POISE_HAVE_CUDA

#include <cuda_runtime_api.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "sys/sys.h"

enum { N = 5000 };

/* What a context's work is made of. */
typedef struct Work {
  PoiseContext ctx;
  PoiseMat A, T;
  PoiseVec x, b, r;
  PoiseKSP ksp;
  int turn; /* the GPU that is made current before a call, or -1: whichever is, is left alone */
  int gpus;
} Work;

static int Gpu(void)
{
  int gpu = -1;
  CHECK(cudaGetDevice(&gpu) == cudaSuccess);
  return gpu;
}

static int Gpus(void)
{
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

/* The next call finds another GPU current. */
static int Turn(Work *w)
{
  if (w->turn < 0) return Gpu();
  w->turn = (w->turn + 1) % w->gpus;
  CHECK(cudaSetDevice(w->turn) == cudaSuccess);
  return w->turn;
}

/* call succeeds, and the caller's GPU is current afterwards. */
#define STAYS(w, call)                  \
  do {                                  \
    int stays = Turn(w);                \
    if (!CHECK_OK(call)) return;        \
    if (!CHECK(Gpu() == stays)) return; \
  } while (0)

static void Fill(Work *w)
{
  PoiseInt row[3 * N], col[3 * N];
  double v[3 * N];
  PoiseInt n = 0;
  for (PoiseInt i = 0; i < N; i++)
    for (PoiseInt j = i - 1; j <= i + 1; j++)
      if (j >= 0 && j < N) row[n] = i, col[n] = j, v[n++] = i == j ? 4 : -1;
  STAYS(w, PoiseMatSetPatternCOO(w->A, n, row, col));
  STAYS(w, PoiseMatSetValuesCOO(w->A, v));
}

static void Open(Work *w)
{
  STAYS(w, PoiseMatCreate(w->ctx, N, N, N, N, &w->A));
  Fill(w);
  STAYS(w, PoiseMatCreateVecs(w->A, &w->x, &w->b));
  STAYS(w, PoiseVecDuplicate(w->b, &w->r));
  STAYS(w, PoiseVecSetRandom(w->b, 7));
  STAYS(w, PoiseKSPCreate(w->ctx, &w->ksp));
}

/* A product by the library, where it can be opened. */
static void MultiplyByLibrary(Work *w)
{
  int before = Turn(w);
  PoiseErr e = PoiseMatSetCSRKernel(w->A, "cusparse");
  if (!e) e = PoiseMatMult(w->A, w->b, w->r);
  CHECK(!e || e == POISE_ERR_UNSUPPORTED);
  PoiseErrorClear();
  CHECK_INT(Gpu(), before);
  STAYS(w, PoiseMatSetCSRKernel(w->A, "own"));
}

static void Multiply(Work *w)
{
  double norm, dot;
  int64_t left, total;
  STAYS(w, PoiseMatMult(w->A, w->b, w->r));
  STAYS(w, PoiseMatMultTranspose(w->A, w->b, w->x));
  STAYS(w, PoiseVecDot(w->b, w->r, &dot));
  STAYS(w, PoiseVecAXPY(w->x, -1, w->r));
  STAYS(w, PoiseVecNorm(w->x, POISE_NORM_2, &norm));
  CHECK(norm <= 1e-12 && dot > 0); /* A is symmetric and positive definite */
  STAYS(w, PoiseMatTranspose(w->A, &w->T));
  STAYS(w, PoiseMatNorm(w->T, POISE_NORM_INF, &norm));
  CHECK_NEAR(norm, 6, 0);
  STAYS(w, PoiseMatDestroy(&w->T));
  STAYS(w, PoiseDeviceMemory(w->ctx, &left, &total));
  CHECK(left > 0 && left <= total);
  MultiplyByLibrary(w);
}

static void Solve(Work *w, const char *method, const char *type)
{
  PoisePC pc;
  double norm, b;
  STAYS(w, PoiseKSPSetOperators(w->ksp, w->A, NULL));
  STAYS(w, PoiseKSPSetType(w->ksp, method));
  STAYS(w, PoiseKSPGetPC(w->ksp, &pc));
  STAYS(w, PoisePCSetType(pc, type));
  STAYS(w, PoiseKSPSetTolerances(w->ksp, 1e-10, -1, -1, -1));
  STAYS(w, PoiseKSPSetUp(w->ksp));
  STAYS(w, PoiseKSPSolve(w->ksp, w->b, w->x));
  CHECK(PoiseKSPConvergedReason(w->ksp) > 0);
  STAYS(w, PoiseMatResidual(w->A, w->b, w->x, w->r));
  STAYS(w, PoiseVecNorm(w->r, POISE_NORM_2, &norm));
  STAYS(w, PoiseVecNorm(w->b, POISE_NORM_2, &b));
  CHECK(norm <= 1e-8 * b && b > 1);
}

static void Close(Work *w)
{
  STAYS(w, PoiseKSPDestroy(&w->ksp));
  STAYS(w, PoiseVecDestroy(&w->r));
  STAYS(w, PoiseVecDestroy(&w->b));
  STAYS(w, PoiseVecDestroy(&w->x));
  STAYS(w, PoiseMatDestroy(&w->A));
}

static void WorkAll(Work *w)
{
  Open(w);
  if (!w->ksp) return;
  Multiply(w);
  Solve(w, "cg", "jacobi");
  Solve(w, "gmres", "ilu");
  Solve(w, "bicgstab", "sor");
  Close(w);
}

static PoiseErr OpenOn(int gpu, PoiseContext *own)
{
  char options[64];
  snprintf(options, sizeof options, "-device cuda -device_id %d", gpu);
  return TestInitialize((PoiseInit){.serial = 1}, options, own);
}

static const char *Lacks(PoiseContext ctx, int gpus)
{
  if (strcmp(ctx->device->ops->name, "cuda")) return "it takes device cuda";
  return Gpus() < gpus ? "it takes two GPUs" : NULL;
}

/* The application makes another GPU current before every call. */
static void TestSwitching(PoiseContext ctx)
{
  if (Lacks(ctx, 2)) TEST_SKIP(Lacks(ctx, 2));
  Work w = {.ctx = ctx, .gpus = Gpus()};
  WorkAll(&w);
}

/* Contexts on two GPUs, whose calls alternate. */
static void TestTwoContexts(PoiseContext ctx)
{
  if (Lacks(ctx, 2)) TEST_SKIP(Lacks(ctx, 2));
  Work w[2] = {{.turn = -1}, {.turn = -1}};
  CHECK(cudaSetDevice(0) == cudaSuccess && cudaFree(NULL) == cudaSuccess);
  for (int k = 0; k < 2; k++)
    if (!CHECK_OK(OpenOn(k, &w[k].ctx))) return;
  CHECK_INT(Gpu(), 0);
  CHECK(w[0].ctx->device->id == 0 && w[1].ctx->device->id == 1);
  for (int k = 0; k < 2; k++) Open(&w[k]);
  for (int k = 0; k < 4; k++) Multiply(&w[k % 2]);
  for (int k = 0; k < 4; k++) Solve(&w[k % 2], k < 2 ? "cg" : "gmres", k < 2 ? "jacobi" : "ilu");
  for (int k = 0; k < 2; k++) Close(&w[k]);
  for (int k = 0; k < 2; k++) CHECK_OK(PoiseFinalize(&w[k].ctx));
  CHECK_INT(Gpu(), 0);
}

/* In a thread that has used no GPU so far, or the one in turn. */
static void *WorkThere(void *arg)
{
  Work *w = arg;
  if (w->turn >= 0) CHECK(cudaSetDevice(w->turn) == cudaSuccess);
  w->turn = -1;
  int before = Gpu();
  WorkAll(w);
  CHECK_INT(Gpu(), before);
  return NULL;
}

static void TestOtherThread(PoiseContext ctx)
{
  if (Lacks(ctx, 1)) TEST_SKIP(Lacks(ctx, 1));
  for (int gpu = Gpus() - 1; gpu >= -1; gpu--) {
    PoiseContext own;
    pthread_t thread;
    if (!CHECK_OK(OpenOn(Gpus() - 1, &own))) return;
    Work w = {.ctx = own, .turn = gpu};
    if (CHECK(!pthread_create(&thread, NULL, WorkThere, &w))) pthread_join(thread, NULL);
    CHECK_OK(PoiseFinalize(&own));
  }
}

/* A thread that has used no GPU finds the context's current, as its own kernels may expect. */
static void *InitializeThere(void *arg)
{
  PoiseContext own;
  (void)arg;
  if (!CHECK_OK(OpenOn(Gpus() - 1, &own))) return NULL;
  CHECK_INT(Gpu(), Gpus() - 1);
  CHECK_OK(PoiseFinalize(&own));
  CHECK_INT(Gpu(), Gpus() - 1);
  return NULL;
}

static void TestFirst(PoiseContext ctx)
{
  pthread_t thread;
  if (Lacks(ctx, 1)) TEST_SKIP(Lacks(ctx, 1));
  if (CHECK(!pthread_create(&thread, NULL, InitializeThere, NULL))) pthread_join(thread, NULL);
}

/* Tests are linked with one runtime for both, in which an error waits for whoever asks next. */
static void TestOlderError(PoiseContext ctx)
{
  if (Lacks(ctx, 1)) TEST_SKIP(Lacks(ctx, 1));
  Work w = {.ctx = ctx, .turn = -1};
  Open(&w);
  CHECK(cudaSetDevice(Gpus()) != cudaSuccess);
  CHECK(cudaPeekAtLastError() != cudaSuccess);
  CHECK_OK(PoiseVecSet(w.x, 1));
  CHECK(cudaSetDevice(Gpus()) != cudaSuccess);
  Solve(&w, "cg", "ilu");
  CHECK(cudaSetDevice(Gpus()) != cudaSuccess);
  Fill(&w);
  Close(&w);
  (void)cudaGetLastError();
}

static const Test tests[] = {
    {"switching", TestSwitching, TEST_SERIAL},      {"two_contexts", TestTwoContexts, TEST_SERIAL},
    {"other_thread", TestOtherThread, TEST_SERIAL}, {"first", TestFirst, TEST_SERIAL},
    {"older_error", TestOlderError, TEST_SERIAL},   {NULL, NULL, 0}};

#else

static void TestNone(PoiseContext ctx)
{
  (void)ctx;
  TEST_SKIP("this build has no device cuda");
}

static const Test tests[] = {{"none", TestNone, TEST_SERIAL}, {NULL, NULL, 0}};

#endif

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "gpus", tests);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  A system whose matrix one GPU cannot hold, made by a kernel on each GPU and solved by cg with jacobi:

    huge -device cuda -ranks 2

  Without -nonzeros the matrix takes 1.12 times the memory of one GPU, in plain CSR. On two GPUs each has more
  than 2^31 nonzeros then. x is (1, 1, ...), so b is known without the matrix. The memory in use is looked at
  every millisecond by a thread of its own, by the device's own counter: it counts everybody's.
*/
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <math.h>
#include <poise.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "huge.h"

#define TRY POISE_TRY

static const double BEYOND = 1.12, GIB = 0x1p30;

typedef struct Options {
  double nonzeros, tolerance;
} Options;

static const PoiseOption table[] = {
    {"nonzeros", POISE_OPTION_REAL, offsetof(Options, nonzeros), "0", 0, 5e10, NULL,
     "of the matrix, at least; 0: as many as one GPU cannot hold"},
    {"tolerance", POISE_OPTION_REAL, offsetof(Options, tolerance), "1e-10", 0, 1, NULL,
     "of the solve: of the residual over b"},
    {0},
};

/* ---- on the host ----------------------------------------------------------------------------- */

static const char *AllocHere(void *stream, size_t bytes, void *p)
{
  void *array = malloc(bytes + !bytes);
  (void)stream;
  memcpy(p, &array, sizeof array);
  return array ? NULL : "no memory";
}

static const char *MakeHere(void *stream, const Cube *c)
{
  (void)stream;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < c->n; i++) MakeRow(c, i);
  return NULL;
}

static const char *UsedHere(void *stream, int64_t *bytes)
{
  (void)stream;
  *bytes = 0; /* it is not counted */
  return NULL;
}

static const Place here = {AllocHere, MakeHere, UsedHere};
#ifdef POISE_HAVE_CUDA
static const Place *const gpu = &huge_gpu;
#else
static const Place *const gpu = &here; /* there is no stream then */
#endif

static PoiseErr Word(const char *what, const char *words)
{
  if (words) POISE_FAIL(POISE_ERR_DEVICE, "%s: %s", what, words);
  return POISE_OK;
}

/* ---- the most memory in use ------------------------------------------------------------------ */

typedef struct Watch {
  const Place *place;
  void *stream;
  pthread_t thread;
  bool started;
  atomic_bool stop;
  _Atomic int64_t most;
} Watch;

static void *Sample(void *arg)
{
  Watch *w = arg;
  const struct timespec pause = {.tv_nsec = 1000000};
  while (!atomic_load(&w->stop)) {
    int64_t used = 0;
    if (!w->place->used(w->stream, &used) && used > atomic_load(&w->most)) atomic_store(&w->most, used);
    nanosleep(&pause, NULL);
  }
  return NULL;
}

static PoiseErr StartWatch(Watch *w)
{
  if (pthread_create(&w->thread, NULL, Sample, w)) POISE_FAIL(POISE_ERR_MEMORY, "no thread");
  w->started = true;
  return POISE_OK;
}

static void StopWatch(Watch *w)
{
  if (!w->started) return;
  atomic_store(&w->stop, true);
  pthread_join(w->thread, NULL);
  w->started = false;
}

/* ---- the system ------------------------------------------------------------------------------ */

typedef struct Run {
  PoiseContext ctx;
  const Options *o;
  const Place *place;
  void *stream;
  Cube cube;
  int64_t nz, memory; /* nonzeros of this rank; bytes of its device */
  PoiseMat A;
  PoiseVec x, b;
  PoiseKSP ksp;
  Watch watch;
} Run;

static void Destroy(Run *w)
{
  StopWatch(&w->watch);
  PoiseKSPDestroy(&w->ksp);
  PoiseVecDestroy(&w->x);
  PoiseVecDestroy(&w->b);
  PoiseMatDestroy(&w->A);
}

static double BytesOf(double k)
{
  return 12 * pow(3 * k - 2, 3) + 8 * (k * k * k + 1);
}

static PoiseErr Choose(Run *w)
{
  Cube *c = &w->cube;
  PoiseInt begin, n;
  double least = 0;
  if (w->stream) TRY(PoiseDeviceMemory(w->ctx, NULL, &w->memory));
  if (w->o->nonzeros == 0 && !w->stream)
    POISE_FAIL(POISE_ERR_ARG, "-nonzeros: how many? there is no GPU whose memory would say");
  if (w->o->nonzeros == 0) least = BEYOND * (double)w->memory;
  TRY(PoiseMax(w->ctx, 1, &least));
  for (c->k = 2; pow(3 * (double)c->k - 2, 3) < w->o->nonzeros || BytesOf((double)c->k) < least;) c->k++;
  if ((double)c->k * (double)c->k * (double)c->k > INT32_MAX)
    POISE_FAIL(POISE_ERR_SIZE, "%" PRId64 "^3 rows have no 32-bit columns", c->k);
  PoiseSplit(w->ctx, c->k, &begin, &n);
  c->begin = begin * c->k * c->k, c->n = n * c->k * c->k;
  w->nz = EntriesBefore(c->k, c->begin + c->n) - EntriesBefore(c->k, c->begin);
  return POISE_OK;
}

static PoiseErr Generate(Run *w)
{
  Cube *c = &w->cube;
  TRY(Word("offsets", w->place->alloc(w->stream, (size_t)(c->n + 1) * sizeof *c->ptr, &c->ptr)));
  TRY(Word("columns", w->place->alloc(w->stream, (size_t)w->nz * sizeof *c->col, &c->col)));
  TRY(Word("values", w->place->alloc(w->stream, (size_t)w->nz * sizeof *c->val, &c->val)));
  TRY(Word("right-hand side", w->place->alloc(w->stream, (size_t)c->n * sizeof *c->b, &c->b)));
  return Word("the generator", w->place->make(w->stream, c));
}

static PoiseErr SetUp(Run *w)
{
  const Cube *c = &w->cube;
  int64_t N = c->k * c->k * c->k;
  PoiseCSR csr = {.ptr64 = c->ptr, .col32 = c->col, .val = c->val};
  PoisePC pc;
  TRY(PoiseMatCreateDeviceCSR(w->ctx, c->n, c->n, N, N, &csr, POISE_ADOPT, &w->A));
  TRY(PoiseVecCreateDeviceArray(w->ctx, c->n, N, c->b, POISE_ADOPT, &w->b));
  TRY(PoiseMatSetFromOptions(w->A));
  TRY(PoiseMatCreateVecs(w->A, &w->x, NULL));
  TRY(PoiseKSPCreate(w->ctx, &w->ksp));
  TRY(PoiseKSPSetOperators(w->ksp, w->A, NULL));
  TRY(PoiseKSPSetType(w->ksp, "cg"));
  TRY(PoiseKSPGetPC(w->ksp, &pc));
  TRY(PoisePCSetType(pc, "jacobi"));
  TRY(PoiseKSPSetNormType(w->ksp, POISE_KSP_NORM_UNPRECONDITIONED));
  TRY(PoiseKSPSetTolerances(w->ksp, w->o->tolerance, 0, -1, 1000));
  TRY(PoiseKSPSetFromOptions(w->ksp));
  return PoiseKSPSetUp(w->ksp);
}

static PoiseErr Used(Run *w, const char *when, int64_t most)
{
  int64_t now;
  double used[2];
  TRY(Word("memory", w->place->used(w->stream, &now)));
  used[0] = (double)now / GIB, used[1] = (double)(most > now ? most : now) / GIB;
  TRY(PoiseMax(w->ctx, 2, used));
  return PoisePrintf(w->ctx, "%-26s %8.2f GiB in use, at most %8.2f, on the GPU with most\n", when, used[0],
                     used[1]);
}

static PoiseErr Error(Run *w, double *error)
{
  const double *x;
  *error = 0;
  TRY(PoiseVecGetRead(w->x, &x));
  for (int64_t i = 0; i < w->cube.n; i++) {
    double e = fabs(x[i] - 1);
    if (!(e <= *error)) *error = e; /* NaN too */
  }
  TRY(PoiseVecRestore(w->x, &x));
  return PoiseMax(w->ctx, 1, error);
}

static PoiseErr Describe(Run *w)
{
  double all = (double)w->nz, least = -all, most = all, N = pow((double)w->cube.k, 3);
  TRY(PoiseSum(w->ctx, 1, &all));
  TRY(PoiseMax(w->ctx, 1, &most));
  TRY(PoiseMax(w->ctx, 1, &least));
  TRY(PoisePrintf(w->ctx,
                  "%d ranks, %.0f rows, %.0f nonzeros, %.0f to %.0f of a rank (%.3f to %.3f times 2^31)\n",
                  PoiseSize(w->ctx), N, all, -least, most, -least * 0x1p-31, most * 0x1p-31));
  double bytes = 12 * all + 8 * N;
  TRY(PoisePrintf(w->ctx, "matrix %.2f GiB in plain CSR", bytes / GIB));
  if (w->memory)
    TRY(PoisePrintf(w->ctx, ", %.3f times the %.2f GiB of a GPU", bytes / (double)w->memory,
                    (double)w->memory / GIB));
  return PoisePrintf(w->ctx, "\n");
}

static PoiseErr Solve(Run *w)
{
  double start = PoiseTime(), seconds, error;
  TRY(PoiseKSPSolve(w->ksp, w->b, w->x));
  seconds = PoiseTime() - start;
  TRY(Error(w, &error));
  TRY(PoisePrintf(w->ctx, "solve: %.3f s, %" PRId64 " iterations, %s, largest error of x %.2e\n", seconds,
                  PoiseKSPIterations(w->ksp), PoiseKSPReasonString(PoiseKSPConvergedReason(w->ksp)), error));
  if (!(error < 1e4 * w->o->tolerance)) POISE_FAIL(POISE_ERR_NUMERIC, "x is wrong by %g", error);
  return POISE_OK;
}

static PoiseErr Measure(Run *w)
{
  double start = PoiseTime();
  TRY(Choose(w));
  TRY(Describe(w));
  TRY(PoiseAgree(w->ctx, Generate(w)));
  TRY(PoisePrintf(w->ctx, "generated in %.3f s\n", PoiseTime() - start));
  TRY(Used(w, "generated:", 0));
  TRY(PoiseAgree(w->ctx, StartWatch(&w->watch)));
  start = PoiseTime();
  TRY(SetUp(w));
  StopWatch(&w->watch);
  TRY(PoisePrintf(w->ctx, "set up in %.3f s\n", PoiseTime() - start));
  TRY(Used(w, "set up:", atomic_load(&w->watch.most)));
  TRY(Solve(w));
  TRY(Used(w, "solved:", 0));
  return PoiseKSPView(w->ksp);
}

static PoiseErr OnRanks(PoiseContext ctx, void *arg)
{
  void *stream = PoiseStream(ctx);
  const Place *place = stream ? gpu : &here;
  Run w = {
      .ctx = ctx, .o = arg, .place = place, .stream = stream, .watch = {.place = place, .stream = stream}};
  PoiseErr e = Measure(&w);
  Destroy(&w);
  return e;
}

int main(int argc, char **argv)
{
  Options o;
  PoiseContext ctx;
  const PoiseInit init = {.help = "A matrix that one GPU cannot hold", .options = table};
  setvbuf(stdout, NULL, _IOLBF, 0); /* what was measured stays, if time runs out */
  PoiseErr e = PoiseInitialize(&argc, &argv, &init, &ctx);
  if (!e) e = PoiseOptionsDefaults(table, &o);
  if (!e) e = PoiseOptionsRead(ctx, NULL, table, &o);
  if (!e) e = PoiseRun(ctx, OnRanks, &o);
  if (!e) e = PoiseFinalize(&ctx);
  if (e) fputs(PoiseErrorText(), stderr);
  return e ? 1 : 0;
}

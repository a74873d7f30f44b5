/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The link between devices of ranks, of both kinds: sums and ghosts, compared with those through the hosts,
  bit by bit; solves in replayed loops on several ranks; and ranks that do not come.
*/
#include <limits.h>

#include "harness.h"
#include "ksp/loop.h"
#include "mat/object/mat.h"
#include "problem.h"
#include "sample.h"
#include "sys/device/link_device.h"
#include "sys/link/link_parts.h"
#include "sys/link/alltoall.h"
#include "systems.h"
#include "vec/vec_kernels.h"

enum { LONGEST = 3000, SUMS = POISE_MAX_BATCH };

static bool IsMock(PoiseContext ctx)
{
  return !strcmp(ctx->device->ops->name, "mock");
}

/* There is none on one rank, on the host, and on GPUs that cannot be linked so. */
static bool Linked(PoiseContext ctx, LinkWish wish)
{
  if (ctx->link && poiseLinkIsLibrary(ctx->link) == (wish == LINK_LIBRARY)) return true;
  poiseLinkClose(ctx);
  if (PoiseSize(ctx) > 1 && SampleIsAway(ctx) && poiseLinkOpen(ctx, wish) == POISE_OK)
    poiseLinkSetPatience(ctx, 10);
  PoiseErrorClear();
  return ctx->link != NULL;
}

/* By each kind of link that there is. */
static void ByEach(PoiseContext ctx, void (*test)(PoiseContext))
{
  bool peers = Linked(ctx, LINK_PEER);
  if (peers) test(ctx);
  if (Linked(ctx, LINK_LIBRARY))
    test(ctx);
  else if (!peers)
    TEST_SKIP(poiseLinkWords(ctx));
}

#define NEEDS_LINK(ctx, wish) \
  if (!Linked(ctx, wish)) TEST_SKIP(poiseLinkWords(ctx))

/* ---- sums ------------------------------------------------------------------------------------ */

/* n sums of `count` partials each, several times: both receive buffers are used again and again. */
static void Sums(PoiseContext ctx, int n, int64_t count, bool listed)
{
  Device *dev = ctx->device;
  Buffer partial, out;
  double *p, *sum, expected[SUMS];
  const double *got;
  int64_t stride = count + 3;
  CHECK_OK(poiseBufferCreate(dev, (size_t)(SUMS * stride) * sizeof(double), "partials", &partial));
  CHECK_OK(poiseBufferCreate(dev, SUMS * sizeof(double), "sums", &out));
  for (int round = 0; round < 5; round++) {
    LinkSumArgs a = {.n = n, .listed = listed, .stride = stride, .count = count};
    if (!CHECK_OK(poiseBufferWrite(&partial, HOST, &p))) return;
    for (int64_t i = 0; i < SUMS * stride; i++)
      p[i] = TestRandom((uint64_t)(100 * round + PoiseRank(ctx)), (uint64_t)i);
    CHECK_OK(poiseBufferRead(&partial, DEVICE, &a.partial));
    CHECK_OK(poiseBufferWrite(&out, DEVICE, &sum));
    for (int k = 0; k < n; k++) /* what each rank has */
      CHECK_OK(LAUNCH(
          dev, reduce,
          &(ReduceArgs){.nsum = 1, .count = count, .partial = a.partial + k * stride, .dst = sum + k}));
    CHECK_OK(poiseBufferRead(&out, HOST, &got));
    memcpy(expected, got, (size_t)n * sizeof *got);
    CHECK_OK(poiseCommSum(ctx->comm, expected, n));
    for (int k = 0; k < n && listed; k++) a.sum[k] = (Sum){a.partial + k * stride, count, NULL, 0};
    CHECK_OK(poiseBufferWrite(&out, DEVICE, &a.dst));
    CHECK_OK(poiseLinkSum(ctx->link, a));
    CHECK_OK(poiseLinkSum(ctx->link, (LinkSumArgs){.n = 0}));
    CHECK_OK(poiseBufferRead(&out, HOST, &got));
    CHECK(!memcmp(got, expected, (size_t)n * sizeof *got));
    CHECK_OK(poiseLinkCheck(ctx));
  }
  poiseBufferDestroy(&partial);
  poiseBufferDestroy(&out);
}

static void AllSums(PoiseContext ctx)
{
  static const int64_t counts[] = {1, 2, 31, 33, 256, 257, LONGEST};
  for (int c = 0; c < 7; c++) {
    Sums(ctx, 1, counts[c], false);
    Sums(ctx, 5, counts[c], true);
    Sums(ctx, POISE_MAX_SUMS, counts[c], true);
    Sums(ctx, SUMS, counts[c], false);
  }
}

static void TestSums(PoiseContext ctx)
{
  ByEach(ctx, AllSums);
}

/* A vector of work in front of some sums of some ranks, so that now one is late and now another. */
static PoiseErr Delay(PoiseContext ctx, int k, int64_t n, double *work)
{
  if (TestRandom((uint64_t)PoiseRank(ctx) + 500, (uint64_t)k) < 0.3) return POISE_OK;
  return LAUNCH(ctx->device, axpby,
                &(AxpbyArgs){.n = n, .a.value = 0.5, .x = work, .b.value = 0.5, .y = work});
}

/* v[0], of this rank, after `steps` steps v[1] = sum of v[0], v[0] = (v[0] + v[1] / ranks) / 2 + v[2]: each
   needs all sums before it. By the link, or through the hosts. */
static PoiseErr Chain(PoiseContext ctx, bool link, int steps, int64_t n, double *v, double *work)
{
  Device *dev = ctx->device;
  double sum, start[3] = {PoiseRank(ctx) + 1, 0, 0.01 * TestRandom(9, (uint64_t)PoiseRank(ctx))};
  TRY(poiseLinkUpload(dev, v, start, sizeof start));
  for (int k = 0; k < steps; k++) {
    if (link) {
      TRY(Delay(ctx, k, n, work));
      TRY(poiseLinkSum(ctx->link,
                       (LinkSumArgs){.n = 1, .stride = 1, .count = 1, .partial = v, .dst = v + 1}));
    } else {
      TRY(poiseDeviceFetch(dev, v, sizeof sum, &sum));
      TRY(poiseCommSum(ctx->comm, &sum, 1));
      TRY(poiseLinkUpload(dev, v + 1, &sum, sizeof sum));
    }
    AxpbyArgs half = {.n = 1, .a.value = 0.5 / PoiseSize(ctx), .x = v + 1, .b.value = 0.5, .y = v};
    TRY(LAUNCH(dev, axpby, &half));
    TRY(LAUNCH(dev, axpby, &(AxpbyArgs){.n = 1, .a.value = 1, .x = v + 2, .b.value = 1, .y = v}));
  }
  return POISE_OK;
}

/* A rank has two mails of each other one. That is enough, whoever is late. */
static void Busy(PoiseContext ctx)
{
  int steps = IsMock(ctx) ? 200 : 3000;
  int64_t n = IsMock(ctx) ? 2000 : 300000;
  Buffer numbers, work;
  double *v, *w, got[2];
  CHECK_OK(poiseBufferCreate(ctx->device, 3 * sizeof *v, "numbers of a chain", &numbers));
  CHECK_OK(poiseBufferCreate(ctx->device, (size_t)n * sizeof *w, "work", &work));
  if (CHECK_OK(poiseBufferWrite(&numbers, DEVICE, &v)) && CHECK_OK(poiseBufferWrite(&work, DEVICE, &w)))
    for (int link = 0; link < 2; link++) {
      CHECK_OK(PoiseBarrier(ctx));
      bool was = poiseLinkUse(ctx, link);
      CHECK_OK(Chain(ctx, link, steps, n, v, w));
      CHECK_OK(poiseDeviceFetch(ctx->device, v, sizeof *v, &got[link]));
      poiseLinkUse(ctx, was);
      CHECK_OK(PoiseBarrier(ctx));
    }
  CHECK(poiseFinite(got[0]) && !memcmp(&got[0], &got[1], sizeof *got));
  CHECK_OK(poiseLinkCheck(ctx));
  poiseBufferDestroy(&numbers);
  poiseBufferDestroy(&work);
}

static void TestBusy(PoiseContext ctx)
{
  ByEach(ctx, Busy);
}

/* ---- ghosts ---------------------------------------------------------------------------------- */

/* Products by the link and through the hosts, one behind the other; by the link without a sum between. */
static void Ghosts(PoiseContext ctx, const char *type, bool transposed)
{
  PoiseErr (*mult)(PoiseMat, PoiseVec, PoiseVec) = transposed ? poiseTransposedMult : poiseMatMultPlain;
  PoiseMat A;
  PoiseVec x, y[2];
  uint64_t bits[2];
  if (!CHECK_OK(ScaledLaplacian(ctx, 24, 17, 1, &A)) || !CHECK_OK(PoiseMatSetType(A, type)) ||
      !CHECK_OK(PoiseMatCreateVecs(A, &x, &y[0])) || !CHECK_OK(PoiseVecDuplicate(y[0], &y[1])))
    return;
  CHECK_OK(PoiseAgree(ctx, poiseMatReady(A)));
  if (transposed) CHECK_OK(PoiseAgree(ctx, poiseTransposedReady(A)));
  for (int round = 0; round < 6; round++) {
    SampleFill(x, (uint64_t)round + 1);
    for (int link = 0; link < 2; link++) {
      CHECK_OK(PoiseVecToDevice(x));
      CHECK_OK(PoiseBarrier(ctx));
      bool was = poiseLinkUse(ctx, link);
      for (int k = 0; k <= link; k++) CHECK_OK(mult(A, x, y[link]));
      CHECK_OK(poiseDeviceSync(ctx->device));
      poiseLinkUse(ctx, was);
      CHECK_OK(PoiseBarrier(ctx));
      bits[link] = SampleDigest(y[link]);
    }
    CHECK(bits[0] == bits[1]);
  }
  CHECK_OK(poiseLinkCheck(ctx));
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseVecDestroy(&y[0]));
  CHECK_OK(PoiseVecDestroy(&y[1]));
  CHECK_OK(PoiseMatDestroy(&A));
}

static void AllGhosts(PoiseContext ctx)
{
  static const char *const types[] = {"csr", "csri", "seg"};
  for (int t = 0; t < 3; t++) {
    Ghosts(ctx, types[t], false);
    Ghosts(ctx, types[t], true);
  }
}

static void TestGhosts(PoiseContext ctx)
{
  ByEach(ctx, AllGhosts);
}

/* ---- solves ---------------------------------------------------------------------------------- */

/* As enqueued one by one, with sums and ghosts through the hosts. */
static void Solves(PoiseContext ctx)
{
  static const char *const methods[] = {"cg",        "prcg",       "bicgstab", "gmres",  "minres",
                                        "chebyshev", "richardson", "cgs",      "tfqmr",  "idr",
                                        "bicgstabl", "fcg",        "gcr",      "symmlq", "qmrcgs",
                                        "bicg",      "lsqr",       "cgls",     "lgmres", "qmr"};
  static const char *const preconditioners[] = {"none", "jacobi", "sor"};
  for (size_t m = 0; m < sizeof methods / sizeof *methods; m++)
    for (int p = 0; p < 3; p++) {
      PoiseMat A;
      PoiseVec x, b;
      PoiseKSP ksp;
      PoisePC pc;
      uint64_t bits[2];
      PoiseInt its[2];
      if (m == 1 && p == 2) continue; /* prcg needs a diagonal */
      if (!CHECK_OK(ScaledLaplacian(ctx, 20, 31, 1, &A)) || !CHECK_OK(PoiseMatCreateVecs(A, &x, &b)) ||
          !CHECK_OK(PoiseKSPCreate(ctx, &ksp)))
        return;
      SampleFill(b, 5);
      CHECK_OK(PoiseKSPSetOperators(ksp, A, A));
      CHECK_OK(PoiseKSPSetType(ksp, methods[m]));
      CHECK_OK(PoiseKSPGetPC(ksp, &pc));
      CHECK_OK(PoisePCSetType(pc, preconditioners[p]));
      CHECK_OK(PoiseOptionsSet(ctx, "pc_sor_its", "2")); /* with a product */
      CHECK_OK(PoisePCSetFromOptions(pc));
      CHECK_OK(PoiseKSPSetTolerances(ksp, 1e-6, -1, -1, 60));
      if (m == 6) CHECK_OK(PoiseKSPSetNormType(ksp, POISE_KSP_NORM_NONE)); /* products without sums between */
      for (int link = 0; link < 2; link++) {
        ksp->options.replay = link ? -1 : 0;
        int64_t copies = ctx->device->copies;
        CHECK_OK(PoiseKSPSolve(ksp, b, x));
        copies = ctx->device->copies - copies;
        bits[link] = SampleDigest(x);
        its[link] = PoiseKSPIterations(ksp);
        CHECK((ksp->loop.eager == NULL) == (link == 1));
        if (link) CHECK(copies < its[link]);
      }
      CHECK_INT(its[1], its[0]);
      CHECK(bits[1] == bits[0]);
      CHECK_OK(PoiseKSPDestroy(&ksp));
      CHECK_OK(PoiseVecDestroy(&x));
      CHECK_OK(PoiseVecDestroy(&b));
      CHECK_OK(PoiseMatDestroy(&A));
    }
}

static void TestSolves(PoiseContext ctx)
{
  ByEach(ctx, Solves);
}

static PoiseErr Told(PoiseKSP ksp, PoiseInt iteration, double norm, void *arg)
{
  (void)ksp, (void)iteration, (void)norm, (void)arg;
  return POISE_OK;
}

/* Ranks for which an iteration takes longer than for others: all look at its end in the same iterations. Then
   with a monitor, behind solves that had none. */
static void Uneven(PoiseContext ctx)
{
  static const char *const methods[] = {"cg", "prcg", "bicgstab"};
  Device *dev = ctx->device;
  double bandwidth = dev->model.bandwidth;
  for (int m = 0; m < 3; m++) {
    Problem p;
    if (!ProblemOpenGrid(ctx, 24, 17, 1, methods[m], "jacobi", &p)) return;
    p.ksp->options.replay = 0;
    CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
    uint64_t bits = SampleDigest(p.x);
    p.ksp->options.replay = -1;
    dev->model.bandwidth = PoiseRank(ctx) ? bandwidth : 1;
    for (int k = 0; k < 3; k++) {
      CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
      CHECK(SampleDigest(p.x) == bits);
      CHECK_INT(p.ksp->loop.step, dev->loops ? 2 : REPLAY_MOST);
      if (k == 1) CHECK_OK(PoiseKSPAddMonitor(p.ksp, Told, NULL));
    }
    dev->model.bandwidth = bandwidth;
    ProblemClose(&p);
  }
}

static void TestUneven(PoiseContext ctx)
{
  ByEach(ctx, Uneven);
}

/* ---- memory that all reach ------------------------------------------------------------------- */

enum { BLOCKS = 20 };

/* Block k has a number for each rank; one rank brings none. */
static size_t BytesOf(PoiseContext ctx, int k)
{
  int size = PoiseSize(ctx);
  return k % (size + 1) == PoiseRank(ctx) ? 0 : (size_t)(size + k) * sizeof(double);
}

/* Has this rank's piece k what all have stored there, or zeros? */
static void CheckPiece(PoiseContext ctx, const Shared *shared, int k, bool stored)
{
  Device *dev = ctx->device;
  double number;
  for (int r = 0; r < PoiseSize(ctx) && shared->mine; r++) {
    CHECK_OK(poiseDeviceCopy(dev, &number, (double *)shared->mine + r, sizeof number, COPY_TO_HOST));
    CHECK_OK(poiseDeviceSync(dev));
    CHECK(number == (stored ? 100 * r + k : 0));
  }
}

/* Each rank stores a number into the pieces of all, which find it there. */
static void StoreAll(PoiseContext ctx, const Shared *shared, int k, double *device)
{
  Device *dev = ctx->device;
  int size = PoiseSize(ctx);
  double number = 100 * PoiseRank(ctx) + k;
  CheckPiece(ctx, shared, k, false);
  CHECK_OK(PoiseBarrier(ctx));
  CHECK_OK(poiseDeviceCopy(dev, device, &number, sizeof number, COPY_TO_DEVICE));
  for (int r = 0; r < size; r++) {
    double *there = shared->all[r];
    CHECK((there == NULL) == (k % (size + 1) == r));
    if (there) CHECK_OK(poiseDeviceCopy(dev, there + PoiseRank(ctx), device, sizeof number, COPY_ON_DEVICE));
  }
  CHECK_OK(poiseDeviceSync(dev));
  CHECK_OK(PoiseBarrier(ctx));
  CheckPiece(ctx, shared, k, true);
}

/* One more piece, which may be where others were. */
static void ShareOnce(PoiseContext ctx, int k, double *device)
{
  Shared shared;
  if (!CHECK_OK(poiseLinkShare(ctx->link, POISE_OK, BytesOf(ctx, k), "piece", &shared))) return;
  StoreAll(ctx, &shared, k, device);
  poiseLinkUnshare(ctx->link, &shared);
}

/* Pieces that ranks give up in different orders. One that rank 0 keeps stays, while others come and go; then
   memory is used again, and is new each time. A failed rank has none, and the others neither. */
static void TestShared(PoiseContext ctx)
{
  Shared shared[BLOCKS], none;
  Buffer number;
  double *device;
  NEEDS_LINK(ctx, LINK_PEER);
  Link *link = ctx->link;
  CHECK_OK(poiseBufferCreate(ctx->device, sizeof *device, "number", &number));
  CHECK_OK(poiseBufferWrite(&number, DEVICE, &device));
  int64_t before = ctx->device->bytes, live = ctx->memory.live;
  for (int k = 0; k < BLOCKS; k++)
    if (!CHECK_OK(poiseLinkShare(link, POISE_OK, BytesOf(ctx, k), "piece", &shared[k]))) return;
  for (int k = 0; k < BLOCKS; k++) StoreAll(ctx, &shared[k], k, device);
  CHECK_OK(PoiseBarrier(ctx));
  int kept = PoiseSize(ctx), rank = PoiseRank(ctx); /* of which all have a piece */
  for (int k = 0; k < BLOCKS; k++) {
    int at = rank % 2 ? BLOCKS - 1 - k : k;
    if (at != kept || rank) poiseLinkUnshare(link, &shared[at]);
  }
  CHECK_INT(ctx->device->bytes - before, rank ? 0 : BytesOf(ctx, kept));
  for (int k = 0; k < 30; k++) ShareOnce(ctx, 7 * k, device);
  PoiseErr e = rank == PoiseSize(ctx) - 1 ? POISE_ERR_NUMERIC : POISE_OK;
  CHECK(poiseLinkShare(link, e, 64, "nothing", &none) == (e ? e : POISE_ERR_REMOTE));
  PoiseErrorClear();
  if (!rank) CheckPiece(ctx, &shared[kept], kept, true);
  if (!rank) poiseLinkUnshare(link, &shared[kept]);
  for (int k = 0; k < 30; k++) ShareOnce(ctx, 50 * k, device);
  CHECK_INT(ctx->device->bytes, before);
  TestFreeIdle(ctx);
  CHECK(ctx->memory.live <= live);
  poiseBufferDestroy(&number);
}

/* Pieces of few allocations: zero, aligned, none over another one, freed in any order. */
static void TestPieces(PoiseContext ctx)
{
  enum { PIECES = 40, STEP = 24, LARGEST = PIECES * STEP };
  char *p[PIECES], here[LARGEST], zeros[LARGEST] = {0};
  NEEDS_LINK(ctx, LINK_PEER);
  Device *dev = ctx->device;
  int64_t before = dev->bytes, calls = ctx->memory.calls;
  for (int again = 0; again < 2; again++) {
    for (int k = 0; k < PIECES; k++) {
      size_t bytes = (size_t)((k * 7 % PIECES + 1) * STEP);
      if (!CHECK_OK(poiseLinkAlloc(ctx->link, bytes, "piece", (void **)&p[k]))) return;
      CHECK_INT((uintptr_t)p[k] % 64, 0);
      CHECK_OK(poiseDeviceCopy(dev, here, p[k], bytes, COPY_TO_HOST));
      CHECK_OK(poiseDeviceSync(dev));
      CHECK(!memcmp(here, zeros, bytes));
      memset(here, k + 1, bytes);
      CHECK_OK(poiseDeviceCopy(dev, p[k], here, bytes, COPY_TO_DEVICE));
      CHECK_OK(poiseDeviceSync(dev));
    }
    for (int k = 0; k < PIECES; k++) {
      size_t bytes = (size_t)((k * 7 % PIECES + 1) * STEP);
      CHECK_OK(poiseDeviceCopy(dev, here, p[k], bytes, COPY_TO_HOST));
      CHECK_OK(poiseDeviceSync(dev));
      for (size_t i = 0; i < bytes; i++) CHECK_INT(here[i], k + 1);
    }
    for (int k = 0; k < PIECES; k++) {
      int at = k * 11 % PIECES;
      poiseLinkFree(ctx->link, (size_t)((at * 7 % PIECES + 1) * STEP), p[at]);
    }
    CHECK_INT(dev->bytes, before);
  }
  CHECK(ctx->memory.calls - calls < 2 * PIECES);
}

/* ---- what goes wrong ------------------------------------------------------------------------- */

/* The last rank does not come. Those that wait end with NaN, and then wait no more. */
static void Late(PoiseContext ctx)
{
  Buffer out;
  const double *got;
  double *sum;
  bool comes = PoiseRank(ctx) < PoiseSize(ctx) - 1, library = poiseLinkIsLibrary(ctx->link);
  poiseLinkSetPatience(ctx, 0.2);
  poiseLinkUse(ctx, true);
  CHECK_OK(poiseBufferCreate(ctx->device, sizeof(double), "sum", &out));
  CHECK_OK(poiseBufferWrite(&out, DEVICE, &sum));
  for (int k = 0; k < (library ? 1 : 40) && comes; k++)
    CHECK_OK(poiseLinkSum(ctx->link, (LinkSumArgs){.n = 1, .count = 1, .partial = sum, .dst = sum}));
  double since = PoiseTime();
  PoiseErr e = poiseDeviceSync(ctx->device);
  CHECK(PoiseTime() - since < 4); /* not 40 times */
  if (comes && (library || IsMock(ctx))) CHECK_ERR(e, POISE_ERR_COMM, "did not come");
  if (comes && !library) CHECK_ERR(poiseLinkCheck(ctx), POISE_ERR_COMM, "did not come");
  if (comes && !library && CHECK_OK(poiseBufferRead(&out, HOST, &got))) CHECK(isnan(*got));
  poiseLinkUse(ctx, false);
  CHECK_OK(PoiseBarrier(ctx));
  poiseBufferDestroy(&out);
  poiseLinkSetPatience(ctx, 10);
  CHECK_OK(poiseLinkReset(ctx));
  Sums(ctx, 2, 5, false);
}

static void TestLate(PoiseContext ctx)
{
  ByEach(ctx, Late);
}

/* ---- ghosts that go back --------------------------------------------------------------------- */

enum { OWN = 5, RANKS_MOST = 16 };

/* Each rank wants the first and the last entry of all others, or the last one of the rank before. */
static int64_t Wanted(PoiseContext ctx, bool all, PoiseInt *ghost)
{
  int rank = PoiseRank(ctx);
  int64_t n = 0;
  for (int r = all ? 0 : rank - 1; r >= 0 && r < (all ? PoiseSize(ctx) : rank); r++) {
    if (r == rank) continue;
    if (all) ghost[n++] = r * OWN;
    ghost[n++] = r * OWN + OWN - 1;
  }
  return n;
}

/* What rank r sends for an entry: exact in fp32, as are sums. */
static double SentBack(int r, PoiseInt i)
{
  return (double)(i + 256 * r + 1);
}

/* 1, and what came for an own entry. */
static double Expected(PoiseContext ctx, bool all, PoiseInt i)
{
  int rank = PoiseRank(ctx);
  double sum = 1;
  for (int r = 0; r < PoiseSize(ctx); r++) {
    bool wanted = all ? r != rank && i % (OWN - 1) == 0 : r == rank + 1 && i == OWN - 1;
    if (wanted) sum += SentBack(r, rank * OWN + i);
  }
  return sum;
}

static void Fill(bool single, double v, void *p, int64_t k)
{
  if (single)
    ((float *)p)[k] = (float)v;
  else
    ((double *)p)[k] = v;
}

/* Twice, and then not, as a rank has failed: nothing is added on it. */
static void SendBack(Halo *h, bool all, bool single, const void *ghosts, Buffer *sums)
{
  PoiseContext ctx = h->ctx;
  const void *got;
  void *y;
  for (int turn = 0; turn < 3; turn++) {
    PoiseErr mine = turn == 2 && PoiseRank(ctx) == 0 ? POISE_ERR_USER : POISE_OK;
    if (!CHECK_OK(poiseBufferWrite(sums, HOST, &y))) return;
    for (int64_t i = 0; i < OWN; i++) Fill(single, 1, y, i);
    if (!CHECK_OK(poiseBufferUpdate(sums, DEVICE, &y))) return;
    PoiseErr e =
        single ? poiseHaloReverseBeginSingle(h, mine, ghosts) : poiseHaloReverseBegin(h, mine, ghosts);
    CHECK_OK(e);
    CHECK_INT(single ? poiseHaloReverseEndSingle(h, y) : poiseHaloReverseEnd(h, y), mine);
    if (poiseLinkIsUsed(ctx)) CHECK_OK(poiseLinkSum(ctx->link, (LinkSumArgs){.n = 0}));
    if (!CHECK_OK(poiseBufferRead(sums, HOST, &got))) return;
    for (int64_t i = 0; i < OWN; i++) {
      double v = single ? ((const float *)got)[i] : ((const double *)got)[i];
      if (turn < 2 || mine) CHECK(v == (mine ? 1 : Expected(ctx, all, i)));
    }
    CHECK_OK(PoiseBarrier(ctx));
  }
}

static void Back(PoiseContext ctx)
{
  PoiseVec x;
  Halo *h = NULL;
  PoiseInt list[2 * RANKS_MOST];
  bool used = ctx->link != NULL;
  if (!CHECK(PoiseSize(ctx) <= RANKS_MOST) || !CHECK_OK(PoiseVecCreate(ctx, OWN, POISE_DECIDE, &x))) return;
  for (int kind = 0; kind < 4; kind++) {
    bool all = kind / 2, single = kind % 2;
    int64_t n = Wanted(ctx, all, list);
    Buffer ghosts = {0}, sums = {0};
    void *v;
    const void *there = NULL;
    if (!CHECK_OK(poiseHaloCreate(x->layout, n, list, &h))) break;
    CHECK(h->apart == (!all || PoiseSize(ctx) < 3));
    CHECK_OK(PoiseAgree(ctx, poiseHaloReady(h)));
    CHECK_OK(poiseBufferCreate(ctx->device, (size_t)n * sizeof(double), "ghosts", &ghosts));
    CHECK_OK(poiseBufferCreate(ctx->device, OWN * sizeof(double), "sums", &sums));
    if (CHECK_OK(poiseBufferWrite(&ghosts, HOST, &v)))
      for (int64_t k = 0; k < n; k++) Fill(single, SentBack(PoiseRank(ctx), list[k]), v, k);
    CHECK_OK(poiseBufferRead(&ghosts, DEVICE, &there));
    poiseLinkUse(ctx, used);
    SendBack(h, all, single, there, &sums);
    poiseLinkUse(ctx, false);
    poiseBufferDestroy(&ghosts);
    poiseBufferDestroy(&sums);
    poiseHaloDestroy(&h);
  }
  CHECK_OK(PoiseVecDestroy(&x));
}

/* Through the hosts, and by each kind of link that there is. */
static void TestBack(PoiseContext ctx)
{
  poiseLinkClose(ctx);
  Back(ctx);
  if (Linked(ctx, LINK_PEER)) Back(ctx);
  if (Linked(ctx, LINK_LIBRARY)) Back(ctx);
}

/* Ghosts of the last rank, which sends none. h is between Begin and End. */
static void CheckLost(Halo *h, bool single)
{
  Device *dev = h->ctx->device;
  int last = h->ex.nrecv - 1;
  const double *f64 = NULL;
  const float *f32 = NULL;
  double wide[LONGEST];
  float narrow[LONGEST];
  CHECK_OK(single ? poiseHaloEndSingle(h, &f32) : poiseHaloEnd(h, &f64));
  PoiseErr e = poiseDeviceSync(dev);
  if (last < 0 || h->ex.recv_rank[last] < PoiseSize(h->ctx) - 1 || !CHECK(h->nghost <= LONGEST)) return;
  if (IsMock(h->ctx)) CHECK_ERR(e, POISE_ERR_COMM, "did not come");
  CHECK_ERR(poiseLinkCheck(h->ctx), POISE_ERR_COMM, "did not come");
  CHECK_OK(single ? poiseDeviceFetch(dev, f32, (size_t)h->nghost * sizeof *f32, narrow)
                  : poiseDeviceFetch(dev, f64, (size_t)h->nghost * sizeof *f64, wide));
  for (int64_t i = h->ex.recv_start[last]; i < h->nghost; i++)
    CHECK(single ? isnan(narrow[i]) : isnan(wide[i]));
}

/* Sums of entries that the last rank wants, to which it sends nothing back. h is between Begin and End. */
static void CheckLostBack(Halo *h, bool single, void *y, Buffer *sums)
{
  int last = h->ex.nsend - 1;
  const int32_t *index;
  const void *got;
  CHECK_OK(single ? poiseHaloReverseEndSingle(h, y) : poiseHaloReverseEnd(h, y));
  PoiseErr e = poiseDeviceSync(h->ctx->device);
  if (last < 0 || h->ex.send_rank[last] < PoiseSize(h->ctx) - 1) return;
  if (IsMock(h->ctx)) CHECK_ERR(e, POISE_ERR_COMM, "did not come");
  CHECK_ERR(poiseLinkCheck(h->ctx), POISE_ERR_COMM, "did not come");
  CHECK_OK(poiseBufferRead(&h->index, HOST, &index));
  CHECK_OK(poiseBufferRead(sums, HOST, &got));
  for (int64_t k = h->ex.send_start[last]; k < h->nsend && CHECK(index[k] < LONGEST); k++)
    CHECK(single ? isnan(((const float *)got)[index[k]]) : isnan(((const double *)got)[index[k]]));
}

typedef struct Given { /* a vector in either type, with more entries than ghosts; sums: of LONGEST entries */
  const double *f64;
  const float *f32;
  Buffer sums;
} Given;

/* All but the last rank take part. */
static void Lose(Halo *h, bool single, bool back, Given *g)
{
  PoiseContext ctx = h->ctx;
  void *y = NULL;
  if (CHECK_OK(poiseBufferWrite(&g->sums, HOST, &y))) memset(y, 0, g->sums.bytes);
  CHECK_OK(poiseBufferUpdate(&g->sums, DEVICE, &y));
  poiseLinkSetPatience(ctx, 0.2);
  poiseLinkUse(ctx, true);
  bool takes_part = PoiseRank(ctx) < PoiseSize(ctx) - 1;
  if (takes_part && back) {
    CHECK_OK(single ? poiseHaloReverseBeginSingle(h, POISE_OK, g->f32)
                    : poiseHaloReverseBegin(h, POISE_OK, g->f64));
    CheckLostBack(h, single, y, &g->sums);
  } else if (takes_part) {
    CHECK_OK(single ? poiseHaloBeginSingle(h, POISE_OK, g->f32) : poiseHaloBegin(h, POISE_OK, g->f64));
    CheckLost(h, single);
  }
  poiseLinkUse(ctx, false);
  CHECK_OK(PoiseBarrier(ctx));
  poiseLinkSetPatience(ctx, 10);
  CHECK_OK(poiseLinkReset(ctx));
}

/* Ghosts that do not come are NaN, in either type, and so are sums. */
static void TestLost(PoiseContext ctx)
{
  PoiseMat A;
  PoiseVec x, y;
  Buffer x32 = {0};
  Given g = {NULL};
  NEEDS_LINK(ctx, LINK_PEER);
  if (!CHECK_OK(ScaledLaplacian(ctx, 24, 17, 1, &A)) || !CHECK_OK(PoiseMatCreateVecs(A, &x, &y))) return;
  CHECK_OK(PoiseAgree(ctx, poiseMatReady(A)));
  CHECK_OK(poiseMakeSingle(ctx, &x->data, x->layout->n, 1, "a vector", &x32));
  CHECK_OK(poiseVecRead(x, &g.f64));
  CHECK_OK(poiseBufferRead(&x32, DEVICE, &g.f32));
  CHECK(A->csr.halo->nghost <= x->layout->n); /* x, of zeros, also is what goes back */
  CHECK_OK(poiseBufferCreate(ctx->device, LONGEST * sizeof(double), "sums", &g.sums));
  for (int kind = 0; kind < 4; kind++) Lose(A->csr.halo, kind % 2, kind / 2, &g);
  poiseBufferDestroy(&g.sums);
  poiseBufferDestroy(&x32);
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseVecDestroy(&y));
  CHECK_OK(PoiseMatDestroy(&A));
}

/* launches, replays and waits until one fails */
static _Thread_local int launches, replays, waits;

static PoiseErr FailingLaunch(Device *dev, int kernel, const void *args, size_t bytes)
{
  extern const DeviceOps poiseDevice_mock;
  if (launches-- == 0) FAIL(POISE_ERR_DEVICE, "this launch was to fail");
  return poiseDevice_mock.launch(dev, kernel, args, bytes);
}

static PoiseErr FailingReplay(Device *dev, Graph *graph, int turns)
{
  extern const DeviceOps poiseDevice_mock;
  if (replays-- == 0) FAIL(POISE_ERR_DEVICE, "this replay was to fail");
  return poiseDevice_mock.replay(dev, graph, turns);
}

/* The device is lost, and runs nothing any more. */
static PoiseErr FailingWait(Device *dev, int64_t event)
{
  extern const DeviceOps poiseDevice_mock;
  if (waits-- == 0) FAIL(POISE_ERR_DEVICE, "this wait was to fail");
  return poiseDevice_mock.wait(dev, event);
}

enum { LAUNCHES = 24, FAULTS = LAUNCHES + 4 }; /* of the last rank: launches, then replays and waits */

/* A solve in which fault k occurs, if it comes so far. *fired: whether it did. */
static PoiseErr FailingSolve(PoiseContext ctx, const Problem *p, int k, double *fired)
{
  const DeviceOps *own = ctx->device->ops;
  DeviceOps failing = *own;
  bool last = PoiseRank(ctx) == PoiseSize(ctx) - 1;
  failing.launch = FailingLaunch, failing.replay = FailingReplay, failing.wait = FailingWait;
  launches = replays = waits = INT_MAX;
  if (k < LAUNCHES)
    launches = k / 2;
  else if (k % 2)
    replays = (k - LAUNCHES) / 2;
  else
    waits = (k - LAUNCHES) / 2;
  if (k % 2) poiseKSPForget(p->ksp);
  if (last) ctx->device->ops = &failing;
  PoiseErr e = PoiseKSPSolve(p->ksp, p->b, p->x);
  ctx->device->ops = own;
  *fired = last && (launches < 0 || replays < 0 || waits < 0);
  if (*fired != 0) CHECK_ERR(e, POISE_ERR_DEVICE, "was to fail");
  CHECK_OK(PoiseMax(ctx, 1, fired));
  return e;
}

/* Seconds that a fault is waited for, so long that no rank which still works is late: it would store what
   nobody waits for any more, while others read. Where that is long, each third fault does. */
#if defined(__SANITIZE_THREAD__)
static const double PATIENCE = 3;
enum { EACH = 3 };
#else
static const double PATIENCE = 0.1;
enum { EACH = 1 };
#endif

/* A call of the last rank's device fails: before the loop, in its capture, in the loop and behind it. Nobody
   is left waiting, and the next solve is as ever. */
static void Faults(PoiseContext ctx)
{
  static const char *const methods[] = {"cg", "gmres"};
  double patience = PATIENCE, fired, all = 0;
  for (int m = 0; m < 2; m++) {
    Problem p;
    poiseLinkSetPatience(ctx, 10);
    if (!ProblemOpenGrid(ctx, 24, 17, 1, methods[m], "jacobi", &p)) return;
    CHECK_OK(PoiseKSPSolve(p.ksp, p.b, p.x));
    uint64_t bits = SampleDigest(p.x);
    for (int k = 0; k < FAULTS; k += EACH) {
      poiseLinkSetPatience(ctx, patience);
      double since = PoiseTime();
      PoiseErr e = FailingSolve(ctx, &p, k, &fired), again = PoiseKSPSolve(p.ksp, p.b, p.x);
      CHECK(PoiseTime() - since < 5 + 4 * patience);
      if (((e && fired == 0) || again) && patience < 10) { /* a busy machine: this took too long */
        patience *= 10, k -= EACH;
        poiseKSPForget(p.ksp);
        continue;
      }
      CHECK((e != POISE_OK) == (fired != 0));
      CHECK_OK(again);
      CHECK(SampleDigest(p.x) == bits);
      all += fired;
    }
    ProblemClose(&p);
  }
  CHECK(all >= 2 * (FAULTS - 8) / EACH); /* some solves launch less */
}

static void TestFaults(PoiseContext ctx)
{
  if (!IsMock(ctx)) TEST_SKIP("for the mock");
  ByEach(ctx, Faults);
}

/* Ghosts that are sent twice, before anybody has read the first ones. */
static void TestTwice(PoiseContext ctx)
{
  PoiseMat A;
  PoiseVec x, y;
  HaloEntries p = {NULL};
  const void *ghost;
  NEEDS_LINK(ctx, LINK_PEER);
  if (!IsMock(ctx)) TEST_SKIP("only the mock checks this");
  if (!CHECK_OK(ScaledLaplacian(ctx, 24, 17, 1, &A)) || !CHECK_OK(PoiseMatCreateVecs(A, &x, &y))) return;
  CHECK_OK(PoiseAgree(ctx, poiseMatReady(A)));
  CHECK_OK(poiseVecRead(x, &p.f64));
  poiseLinkUse(ctx, true);
  CHECK_OK(poiseHaloPush(A->csr.halo, POISE_OK, p));
  CHECK_OK(poiseLinkSum(ctx->link, (LinkSumArgs){.n = 0})); /* it should stand behind the wait */
  CHECK_OK(poiseDeviceSync(ctx->device));
  CHECK_OK(PoiseBarrier(ctx));
  for (int turn = 0; turn < 2; turn++) {
    bool mine = (PoiseRank(ctx) == 0) == (turn == 0);
    if (mine) CHECK_OK(poiseHaloWait(A->csr.halo, &ghost));
    if (mine && turn == 0) CHECK_OK(poiseHaloPush(A->csr.halo, POISE_OK, p));
    PoiseErr e = poiseDeviceSync(ctx->device);
    const Exchange *ex = &A->csr.halo->ex;
    if (turn == 1 && ex->nrecv && ex->recv_rank[0] == 0)
      CHECK_ERR(e, POISE_ERR_INTERNAL, "rank 0 is at exchange 2 of a transport, which awaits number 1");
    else
      CHECK_OK(e);
    CHECK_OK(PoiseBarrier(ctx));
  }
  poiseLinkUse(ctx, false);
  CHECK_OK(PoiseBarrier(ctx));
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseVecDestroy(&y));
  CHECK_OK(PoiseMatDestroy(&A));
}

/* Ghosts that are read before they have arrived, and calls of a library that differ between ranks. */
static void TestCalls(PoiseContext ctx)
{
  PoiseMat A;
  PoiseVec x, y;
  Buffer out;
  double *sum;
  const double *p;
  NEEDS_LINK(ctx, LINK_LIBRARY);
  if (!IsMock(ctx)) TEST_SKIP("only the mock checks this");
  if (!CHECK_OK(ScaledLaplacian(ctx, 24, 17, 1, &A)) || !CHECK_OK(PoiseMatCreateVecs(A, &x, &y))) return;
  CHECK_OK(PoiseAgree(ctx, poiseMatReady(A)));
  CHECK_OK(poiseVecRead(x, &p));
  const Halo *h = A->csr.halo;
  poiseLinkUse(ctx, true);
  const double *ghost = NULL;
  CHECK_OK(poiseHaloBegin(A->csr.halo, POISE_OK, p));
  CHECK_OK(poiseHaloEnd(A->csr.halo, &ghost));
  CHECK_OK(poiseHaloBegin(A->csr.halo, POISE_OK, p));
  CHECK_OK(poiseDeviceSync(ctx->device));
  for (int64_t i = 0; i < h->nghost; i++) CHECK(isnan(ghost[i]));
  CHECK_OK(poiseHaloEnd(A->csr.halo, &ghost));
  CHECK_OK(poiseDeviceSync(ctx->device));
  for (int64_t i = 0; i < h->nghost; i++) CHECK(ghost[i] == 0);
  CHECK_OK(poiseBufferCreate(ctx->device, 2 * sizeof(double), "sums", &out));
  CHECK_OK(poiseBufferWrite(&out, DEVICE, &sum));
  for (int k = 0; k < 2; k++) {  /* other sizes, then another number of calls */
    CHECK_OK(PoiseBarrier(ctx)); /* all have what was sent before, so that each can send before it fails */
    int n = !k && !PoiseRank(ctx) ? 2 : 1;
    LinkSumArgs a = {.n = n, .count = 1, .partial = sum, .dst = sum};
    CHECK_OK(poiseLinkSum(ctx->link, a));
    if (k && !PoiseRank(ctx)) CHECK_OK(poiseLinkSum(ctx->link, a));
    poiseLinkSetPatience(ctx, k && !PoiseRank(ctx) ? 0.2 : 10); /* nobody answers rank 0's second call */
    PoiseErr e = poiseDeviceSync(ctx->device);
    if (k)
      CHECK(!PoiseRank(ctx) ? e == POISE_ERR_COMM : e == POISE_OK);
    else
      CHECK_ERR(e, POISE_ERR_INTERNAL, "of a library");
    poiseLinkSetPatience(ctx, 10);
    CHECK_OK(poiseLinkReset(ctx));
  }
  poiseLinkUse(ctx, false);
  poiseBufferDestroy(&out);
  CHECK_OK(PoiseVecDestroy(&x));
  CHECK_OK(PoiseVecDestroy(&y));
  CHECK_OK(PoiseMatDestroy(&A));
}

/* ---- all-to-all ------------------------------------------------------------------------------ */

enum { WORDS_OF_A_PLACE = 512 << 10 }; /* of a message that goes in one round */

/* Words from rank r to rank s, of the kinds: none, one, few, more rounds than one. */
static int64_t Words(int kind, int r, int s)
{
  if (r == s || kind == 0) return 0;
  if (kind == 1) return (r + s) % 3 != 1;
  return kind == 2 ? 1 + 7 * r + s : r == 0 ? 2 * WORDS_OF_A_PLACE + 3 + s : r + s;
}

static double Word(int round, int r, int s, int64_t i)
{
  return round * 0x1p40 + (double)i + (16 * r + s) * 0x1p-8;
}

/* Fill or check an array of messages. out: of those that this rank sends. */
static void Messages(PoiseContext ctx, int kind, int round, bool out, double *v)
{
  int me = PoiseRank(ctx);
  int64_t at = 0, wrong = 0;
  for (int r = 0; r < PoiseSize(ctx); r++) {
    int from = out ? me : r, to = out ? r : me;
    for (int64_t i = 0; i < Words(kind, from, to); i++, at++) {
      if (out) v[at] = Word(round, from, to, i);
      wrong += v[at] != Word(round, from, to, i);
    }
  }
  CHECK_INT(wrong, 0);
}

/* Several times in turn, as halves of the staging window are. Once rank 0 fails. */
static void Alltoall(PoiseContext ctx, int kind, Exchange *ex, Buffer *from, Buffer *to)
{
  enum { ROUNDS = 5, FAILS = 2 };
  for (int round = 0; round < ROUNDS; round++) {
    double *v, *received = NULL;
    const double *there = NULL, *came;
    PoiseErr mine = round == FAILS && PoiseRank(ctx) == 0 ? POISE_ERR_NUMERIC : POISE_OK;
    if (!CHECK_OK(poiseBufferWrite(from, HOST, &v))) return;
    Messages(ctx, kind, round, true, v);
    if (!CHECK_OK(poiseBufferRead(from, DEVICE, &there))) return;
    if (!CHECK_OK(poiseBufferWrite(to, DEVICE, &received))) return;
    PoiseErr e = poiseAlltoall(ctx, mine, ex, there, received);
    if (mine)
      CHECK(e == mine);
    else
      CHECK(e == (round == FAILS && poiseLinkHasAlltoall(ctx) ? POISE_ERR_REMOTE : POISE_OK));
    PoiseErrorClear();
    if (round == FAILS || !CHECK_OK(poiseBufferRead(to, HOST, &came))) continue;
    Messages(ctx, kind, round, false, (double *)(uintptr_t)came);
  }
}

static void TradesOf(PoiseContext ctx, int kind)
{
  int64_t *sent, *got, all[2] = {0};
  Exchange ex = {0};
  Buffer from = {0}, to = {0};
  CHECK_OK(poiseAllocArray(ctx, PoiseSize(ctx), sizeof *sent, "bytes", &sent));
  CHECK_OK(poiseAllocArray(ctx, PoiseSize(ctx), sizeof *got, "bytes", &got));
  for (int r = 0; r < PoiseSize(ctx); r++) {
    sent[r] = 8 * Words(kind, PoiseRank(ctx), r), got[r] = 8 * Words(kind, r, PoiseRank(ctx));
    all[0] += sent[r], all[1] += got[r];
  }
  CHECK_OK(poiseBufferCreate(ctx->device, (size_t)all[0], "what is sent", &from));
  CHECK_OK(poiseBufferCreate(ctx->device, (size_t)all[1], "what comes", &to));
  if (CHECK_OK(poiseAlltoallOpen(ctx, POISE_OK, sent, got, &ex))) {
    CHECK(!ex.send == poiseLinkHasAlltoall(ctx) || !all[0]); /* the host has buffers where they are needed */
    Alltoall(ctx, kind, &ex, &from, &to);
  }
  poiseExchangeDestroy(ctx, &ex, true);
  poiseBufferDestroy(&from);
  poiseBufferDestroy(&to);
  poiseFree(ctx, &sent);
  poiseFree(ctx, &got);
}

static void EachTrade(PoiseContext ctx)
{
  const int kinds[] = {2, 0, 1, 3, 2};
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) TradesOf(ctx, kinds[k]);
  CHECK_OK(PoiseBarrier(ctx)); /* the staging window ends with the transport */
}

/* Byte i of an array of all ranks' rows. */
static unsigned char Byte(int round, int64_t i)
{
  return (unsigned char)(i * 31 + i / 251 + 17 * round);
}

/* An array of which each rank has a part, of rows of `width` bytes; rank 1 has none, the last one most. Once
   the last rank fails. */
static void Spread(PoiseContext ctx, int64_t rows, size_t width)
{
  enum { ROUNDS = 4, FAILS = 1 };
  int size = PoiseSize(ctx), rank = PoiseRank(ctx);
  int64_t start[16] = {0}, wrong = 0;
  unsigned char *v;
  char *there;
  const unsigned char *all;
  Buffer array;
  for (int r = 0; r < size; r++) start[r + 1] = start[r] + (r == 1 ? 0 : r == size - 1 ? rows : 3 + r);
  int64_t bytes = start[size] * (int64_t)width, begin = start[rank] * (int64_t)width,
          end = start[rank + 1] * (int64_t)width;
  CHECK_OK(poiseBufferCreate(ctx->device, (size_t)bytes, "rows of all ranks", &array));
  for (int round = 0; round < ROUNDS; round++) {
    PoiseErr mine = round == FAILS && rank == size - 1 ? POISE_ERR_NUMERIC : POISE_OK;
    CHECK_OK(poiseBufferWrite(&array, HOST, &v));
    for (int64_t i = 0; i < bytes; i++) v[i] = i >= begin && i < end ? Byte(round, i) : 0;
    CHECK_OK(poiseBufferUpdate(&array, DEVICE, &there));
    PoiseErr e = poiseLinkAllgather(ctx->link, mine, start, width, there);
    CHECK(e == (mine ? mine : round == FAILS ? POISE_ERR_REMOTE : POISE_OK));
    PoiseErrorClear();
    if (e || !CHECK_OK(poiseBufferRead(&array, HOST, &all))) continue;
    for (int64_t i = 0; i < bytes; i++) wrong += all[i] != Byte(round, i);
    CHECK_INT(wrong, 0);
  }
  poiseBufferDestroy(&array);
}

/* By each kind of link, and by none. */
static void TestAlltoall(PoiseContext ctx)
{
  if (Linked(ctx, LINK_PEER)) {
    Spread(ctx, 5, 4);
    EachTrade(ctx);
    Spread(ctx, 1, 24);
    Spread(ctx, 3 * WORDS_OF_A_PLACE, 8);
    EachTrade(ctx);
  }
  if (Linked(ctx, LINK_LIBRARY)) EachTrade(ctx);
  poiseLinkClose(ctx);
  EachTrade(ctx);
}

int main(int argc, char **argv)
{
  static const Test tests[] = {
      {"sums", TestSums, 0},     {"busy", TestBusy, 0},         {"ghosts", TestGhosts, 0},
      {"back", TestBack, 0},     {"solves", TestSolves, 0},     {"uneven", TestUneven, 0},
      {"late", TestLate, 0},     {"lost", TestLost, 0},         {"faults", TestFaults, 0},
      {"twice", TestTwice, 0},   {"calls", TestCalls, 0},       {"shared", TestShared, 0},
      {"pieces", TestPieces, 0}, {"alltoall", TestAlltoall, 0}, {NULL, NULL, 0}};
  return TestMain(argc, argv, "link", tests);
}

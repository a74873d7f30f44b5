/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the suites of vectors and matrices: layouts, data that are a function of the global row, digests,
   equal products, arrays that are lent, and the bits of a run with other ranks and threads. */
#ifndef POISE_TEST_SAMPLE_H
#define POISE_TEST_SAMPLE_H

#include <float.h>
#include <math.h>

#include "harness.h"
#include "sys/sys.h"

/* the default; all on the last rank; all but the first in turns of more and fewer */
enum { EVEN, LAST, UNEVEN, NLAYOUTS };

/* Local size of N in a layout. */
static inline PoiseInt SampleLocal(PoiseContext ctx, int layout, PoiseInt N)
{
  int rank = PoiseRank(ctx), size = PoiseSize(ctx);
  PoiseInt share = size > 1 ? N / (2 * (size - 1)) : 0;
  if (layout == EVEN) return POISE_DECIDE;
  if (layout == LAST) return rank == size - 1 ? N : 0;
  if (rank == size - 1) return N - (size > 1 ? share * (size - 2) : 0);
  return rank ? share : 0;
}

static inline PoiseErr SampleVec(PoiseContext ctx, int layout, PoiseInt N, PoiseVec *x)
{
  return PoiseVecCreate(ctx, SampleLocal(ctx, layout, N), N, x);
}

/* x_i = TestRandom(seed, i) */
static inline void SampleFill(PoiseVec x, uint64_t seed)
{
  double *p;
  PoiseInt begin, end;
  PoiseVecRange(x, &begin, &end);
  if (!CHECK_OK(PoiseVecGetWrite(x, &p))) return;
  for (PoiseInt i = begin; i < end; i++) p[i - begin] = TestRandom(seed, (uint64_t)i);
  CHECK_OK(PoiseVecRestore(x, &p));
}

/* x_i = value(i) */
static inline void SampleSet(PoiseVec x, double (*value)(PoiseInt i))
{
  double *p;
  PoiseInt begin, end;
  PoiseVecRange(x, &begin, &end);
  if (!CHECK_OK(PoiseVecGetWrite(x, &p))) return;
  for (PoiseInt i = begin; i < end; i++) p[i - begin] = value(i);
  CHECK_OK(PoiseVecRestore(x, &p));
}

/* x_i = all[i], of an array that every rank holds */
static inline PoiseErr SampleToVec(const double *all, PoiseVec x)
{
  double *p;
  PoiseInt begin, end;
  PoiseVecRange(x, &begin, &end);
  POISE_TRY(PoiseVecGetWrite(x, &p));
  if (end > begin) memcpy(p, all + begin, (size_t)(end - begin) * sizeof *p);
  return PoiseVecRestore(x, &p);
}

/* all[i] = x_i on every rank. Collective. */
static inline PoiseErr SampleFromVec(PoiseVec x, double *all)
{
  const double *p;
  PoiseInt begin, end, n = PoiseVecSize(x);
  PoiseVecRange(x, &begin, &end);
  memset(all, 0, (size_t)n * sizeof *all);
  POISE_TRY(PoiseVecGetRead(x, &p));
  if (end > begin) memcpy(all + begin, p, (size_t)(end - begin) * sizeof *p);
  POISE_TRY(PoiseVecRestore(x, &p));
  return PoiseSize(PoiseVecContext(x)) > 1 ? PoiseSum(PoiseVecContext(x), (int)n, all) : POISE_OK;
}

/* x_i = value; NaN too, without the library's help */
static inline void SampleConstant(PoiseVec x, double value)
{
  double *p;
  if (!CHECK_OK(PoiseVecGetWrite(x, &p))) return;
  for (PoiseInt i = 0; i < PoiseVecLocalSize(x); i++) p[i] = value;
  CHECK_OK(PoiseVecRestore(x, &p));
}

/* Bits of all entries, whoever owns them: the same on every rank, for every layout and number of ranks. */
static inline uint64_t SampleDigest(PoiseVec x)
{
  const double *p;
  PoiseInt begin, end;
  uint64_t sum = 0;
  PoiseVecRange(x, &begin, &end);
  if (!CHECK_OK(PoiseVecGetRead(x, &p))) return 0;
  for (PoiseInt i = begin; i < end; i++) {
    uint64_t z;
    memcpy(&z, &p[i - begin], sizeof z);
    z = (z ^ (uint64_t)i * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xbf58476d1ce4e5b9);
    sum += z ^ (z >> 29);
  }
  CHECK_OK(PoiseVecRestore(x, &p));
  double half[2] = {(double)(sum & UINT32_MAX), (double)(sum >> 32)}; /* sums of these are exact */
  if (!CHECK_OK(PoiseSum(PoiseVecContext(x), 2, half))) return 0;
  return (uint64_t)half[0] + ((uint64_t)half[1] << 32);
}

static inline uint64_t SampleBits(double v)
{
  uint64_t z;
  memcpy(&z, &v, sizeof z);
  return z;
}

/* A collective call that one rank makes fail: it has its own code, the others POISE_ERR_REMOTE with its
   words. */
#define CHECK_ERR_OF(call, mine, code, words) CHECK_ERR(call, (mine) ? (code) : POISE_ERR_REMOTE, words)

/* A mismatch that some ranks are sure to see: they name it, and no rank gets away. */
static inline int SampleMismatch(PoiseErr e, int sees, PoiseErr code, const char *words)
{
  return CHECK_ERR(e, !sees && e == POISE_ERR_REMOTE ? POISE_ERR_REMOTE : code, words);
}

/* The rows [range[0], range[1]) of this rank, without the library, whose allocations are made to fail. */
static inline void SampleRange(PoiseContext ctx, int layout, PoiseInt N, PoiseInt range[2])
{
  int rank = PoiseRank(ctx), size = PoiseSize(ctx);
  PoiseInt n = SampleLocal(ctx, layout, N), share = size > 1 ? N / (2 * (size - 1)) : 0;
  if (layout == EVEN) PoiseSplit(ctx, N, &range[0], &n);
  if (layout != EVEN) range[0] = layout == UNEVEN && rank ? share * (rank - 1) : 0;
  range[1] = range[0] + n;
}

/* Does the device have memory of its own? */
static inline bool SampleIsAway(PoiseContext ctx)
{
  return !ctx->device->ops->is_host;
}

/* Are loops of solvers replayed: away from the host, on one rank or with a link? */
static inline bool SampleReplays(PoiseContext ctx)
{
  return SampleIsAway(ctx) && (PoiseSize(ctx) == 1 || ctx->link);
}

/* An application's own array in the memory of the device, which the library has not counted. */
static inline void *SampleLend(PoiseContext ctx, size_t bytes, const void *content)
{
  void *p = NULL;
  Device *dev = ctx->device;
  if (!dev->ops->is_host) {
    CHECK_OK(dev->ops->alloc(dev, bytes, "an application's array", &p));
    if (p) poiseFreeCount(ctx);
  } else {
    p = malloc(bytes ? bytes : 1);
  }
  CHECK_OK(poiseDeviceCopy(dev, p, content, bytes, COPY_TO_DEVICE));
  CHECK_OK(poiseDeviceSync(dev));
  return p;
}

static inline void SampleTakeBack(PoiseContext ctx, void *p)
{
  poiseDeviceFreeAdopted(ctx->device, p);
}

/* Indices of an application, as 64 or 32 bits in the memory of the device: one of *p64 and *p32 is set. */
static inline void SampleLendIndices(PoiseContext ctx, int64_t n, const int64_t *index, int base, bool wide,
                                     const int64_t **p64, const int32_t **p32)
{
  int64_t *i64 = malloc((size_t)n * sizeof *i64 + 1);
  int32_t *i32 = malloc((size_t)n * sizeof *i32 + 1);
  for (int64_t k = 0; k < n; k++) i64[k] = index[k] + base, i32[k] = (int32_t)i64[k];
  if (wide)
    *p64 = SampleLend(ctx, (size_t)n * sizeof *i64, i64);
  else
    *p32 = SampleLend(ctx, (size_t)n * sizeof *i32, i32);
  free(i64), free(i32);
}

/* A x and B x are the same but for `tol` of the largest entry; so are A^T x and B^T x, if asked for. */
static inline void SampleSameProducts(PoiseMat A, PoiseMat B, bool transposed, double tol)
{
  PoiseVec x, y, z;
  double norm = NAN, size = NAN;
  for (int t = 0; t < 1 + transposed; t++) {
    if (!CHECK_OK(PoiseMatCreateVecs(A, t ? &y : &x, t ? &x : &y)) || !CHECK_OK(PoiseVecDuplicate(y, &z)))
      return;
    SampleFill(x, 3);
    SampleConstant(y, NAN);
    CHECK_OK(t ? PoiseMatMultTranspose(A, x, y) : PoiseMatMult(A, x, y));
    CHECK_OK(t ? PoiseMatMultTranspose(B, x, z) : PoiseMatMult(B, x, z));
    CHECK_OK(PoiseVecNorm(z, POISE_NORM_INF, &size));
    CHECK_OK(PoiseVecAXPY(z, -1, y));
    CHECK_OK(PoiseVecNorm(z, POISE_NORM_INF, &norm));
    CHECK_NEAR(norm, 0, tol * size);
    PoiseVecDestroy(&x);
    PoiseVecDestroy(&y);
    PoiseVecDestroy(&z);
  }
}

typedef struct SampleRun { /* what a body leaves to be compared; only rank 0 writes */
  uint64_t result[64];
  int n;
} SampleRun;

static inline void SampleKeep(PoiseContext ctx, SampleRun *run, uint64_t bits)
{
  if (PoiseRank(ctx) == 0 && CHECK(run->n < 64)) run->result[run->n++] = bits;
}

typedef struct SampleBody {
  PoiseErr (*body)(PoiseContext, void *);
  SampleRun *run;
} SampleBody;

/* Threads share what is as small as in tests, too. */
static inline PoiseErr SampleShare(PoiseContext ctx, void *arg)
{
  const SampleBody *b = arg;
  ctx->device->few = 0;
  return b->body(ctx, b->run);
}

/* body on `ranks` thread ranks of a context of its own */
static inline void SampleRunOn(const char *device, int ranks, int threads,
                               PoiseErr (*body)(PoiseContext, void *), SampleRun *run)
{
  PoiseContext own;
  char words[100];
  snprintf(words, sizeof words, "-device %s -ranks %d -host_threads %d", device, ranks, threads);
  *run = (SampleRun){.n = 0};
  if (!CHECK_OK(TestInitialize((PoiseInit){.serial = 1}, words, &own))) return;
  CHECK_OK(PoiseRun(own, SampleShare, &(SampleBody){body, run}));
  CHECK_OK(PoiseFinalize(&own));
}

static inline int SampleSame(const SampleRun *a, const SampleRun *b)
{
  return a->n > 0 && a->n == b->n && !memcmp(a->result, b->result, sizeof a->result);
}

/* body gives the same bits on the host with 1, 2 and 3 threads and on the mock, on 1 and 2 ranks. */
static inline void SampleSameBits(PoiseErr (*body)(PoiseContext, void *))
{
  for (int ranks = 1; ranks <= 2; ranks++) {
    SampleRun one, other;
    SampleRunOn("host", ranks, 1, body, &one);
    for (int threads = 2; threads <= 3; threads++) {
      SampleRunOn("host", ranks, threads, body, &other);
      CHECK(SampleSame(&one, &other));
    }
    SampleRunOn("mock", ranks, 2, body, &other);
    CHECK(SampleSame(&one, &other));
  }
}

/* A convergence test that ends a solve after three iterations. */
static inline PoiseErr SampleStopAt3(PoiseKSP ksp, PoiseInt iteration, double norm, PoiseKSPReason *reason,
                                     void *arg)
{
  (void)ksp, (void)norm, (void)arg;
  if (iteration == 3) *reason = POISE_CONVERGED_USER;
  return POISE_OK;
}

/* A shell's product: y = 2 x. */
static inline PoiseErr SampleTwice(void *arg, PoiseVec x, PoiseVec y)
{
  (void)arg;
  return PoiseVecAXPBY(y, 2, 0, x);
}

#endif

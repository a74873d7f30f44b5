/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of this folder share: the contract and the system layer as C++ sees them, and block-wide sums. */
#ifndef POISE_CUDA_H
#define POISE_CUDA_H

#include <cuda_runtime.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../sys/kernels.h"
extern "C" {
#include "../sys/sys.h"
#include "../mat/product_plan.h"
}

enum {
  THREADS = 256, /* of most blocks, which have POISE_BLOCK rows */
  WARPS = THREADS / 32,
  PIECES = 64,                 /* partials that many partials are first summed into */
  ROWS = POISE_BLOCK / THREADS /* rows of a thread: row k * THREADS + threadIdx.x, so that accesses are coalesced */
};

struct Sparse;

extern "C" { /* so that the names keep their prefix in an archive; kernels are static */
cudaStream_t poiseCudaStream(Device *dev);
double *poiseCudaPieces(Device *dev);         /* scratch of PIECES doubles for each of POISE_MAX_SUMS sums */
bool poiseCudaInLoop(Device *dev);            /* the loop of a solver is being captured, which changes no matrix */
struct Sparse **poiseCudaSparse(Device *dev); /* cuSPARSE, as it was opened (cusparse.cu); NULL: it was not */
void poiseCudaSparseClose(Device *dev);
extern const char *const poiseCudaCsrLibraries[];
PoiseErr poiseCudaCsrPlan(Device *dev, int library, const CsrView *A, int64_t columns, LibraryPlan *plan);
void poiseCudaCsrPlanFree(Device *dev, LibraryPlan *plan);
extern const char *const poiseCudaFactorLibraries[];
PoiseErr poiseCudaFactorPlan(Device *dev, int library, const FactorView *f, LibraryPlan *plan);
void poiseCudaFactorPlanFree(Device *dev, LibraryPlan *plan);
size_t poiseCudaSortScratch(Device *dev, const SortKeysArgs *a);
PoiseErr poiseCudaCheck(cudaError_t e, const char *what); /* POISE_ERR_DEVICE with CUDA's words */
}

#define KERNEL(name, Args) extern "C" PoiseErr poiseCuda_##name(Device *, const void *args);
#include "../sys/kernels.def"
#undef KERNEL

/* Blocks of THREADS for n of them. */
static inline unsigned Grid(int64_t n)
{
  return (unsigned)((n + THREADS - 1) / THREADS);
}

/* What a finished row y is multiplied with in dot k. */
__device__ __forceinline__ double Factor(const Fuse &f, int k, int64_t i, double y)
{
  return f.u[k] ? f.u[k][i] : f.d[k] ? f.d[k][i] * y : y;
}

enum { COMBINE_SUM, COMBINE_MAX };

template <int COMBINE> __device__ __forceinline__ double Join(double s, double t)
{
  return COMBINE == COMBINE_MAX ? poiseLarger(s, t) : s + t;
}

template <int COMBINE> __device__ __forceinline__ double WarpReduce(double v)
{
  for (int step = 16; step; step /= 2) v = Join<COMBINE>(v, __shfl_xor_sync(0xffffffff, v, step));
  return v;
}

/* N sums over the block of T threads at once, in a fixed order; the results are valid in the first warp. 0 is neutral. */
template <int N, int COMBINE, int T = THREADS> __device__ __forceinline__ void BlockReduce(double (&v)[N])
{
  __shared__ double part[N][T / 32];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
  for (int k = 0; k < N; k++) {
    v[k] = WarpReduce<COMBINE>(v[k]);
    if (lane == 0) part[k][warp] = v[k];
  }
  __syncthreads();
  if (warp == 0)
    for (int k = 0; k < N; k++) v[k] = WarpReduce<COMBINE>(lane < T / 32 ? part[k][lane] : 0);
  __syncthreads();
}

/* Two of them where latency is all: each half of a warp goes on with one, as shuffles are what takes time. Valid in the first thread. */
template <int COMBINE, int T> __device__ __forceinline__ void BlockReducePair(double (&v)[2])
{
  constexpr int W = T / 32; /* a power of 2 up to 16 */
  __shared__ double part[2][16];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, half = lane / 16;
  double mine = half ? v[1] : v[0], theirs = half ? v[0] : v[1];
  mine = Join<COMBINE>(mine, __shfl_xor_sync(0xffffffff, theirs, 16));
  for (int step = 8; step; step /= 2) mine = Join<COMBINE>(mine, __shfl_xor_sync(0xffffffff, mine, step));
  if (lane % 16 == 0) part[half][warp] = mine;
  __syncthreads();
  if (warp) return;
  mine = part[half][lane % W];
  for (int step = W / 2; step; step /= 2) mine = Join<COMBINE>(mine, __shfl_xor_sync(0xffffffff, mine, step));
  v[0] = mine, v[1] = __shfl_sync(0xffffffff, mine, 16);
}

/* ---- rows by threads, long ones by blocks of them ------------------------------------------------------------------------------- */

enum { LONG = 512 }; /* numbers of a row that are too many for a thread */

/* work(i, k, step) for the numbers k, k + step, ... of row i of numbers (-1: none): by its thread, or if they are many by all threads of
   the block, for one such row after the other. All threads call. */
template <typename Work> __device__ __forceinline__ void EachRow(const CsrView &A, int64_t i, Work work)
{
  __shared__ int64_t row[THREADS];
  bool is_long = i >= 0 && poiseNumberRow(&A, i).n >= LONG;
  row[threadIdx.x] = is_long ? i : -1;
  if (i >= 0 && !is_long) work(i, 0, 1);
  if (!__syncthreads_or(is_long)) return;
  for (int t = 0; t < THREADS; t++)
    if (row[t] >= 0) work(row[t], threadIdx.x, THREADS);
  __syncthreads();
}

/* ---- kernels that follow each other without a gap --------------------------------------------------------------------------- */

/* A kernel launched by Follow may start before the one before it has ended: first of all it lets its own follower start, and it
   reads nothing that changes until Ready, which all its threads call. (Nothing to do before compute capability 9.0.) */
__device__ __forceinline__ void Ready()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

__device__ __forceinline__ void LetFollow()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* carve: percent of a multiprocessor's memory that is to be shared memory, the rest of which is its cache; -1: as the driver likes. */
template <typename... Args>
static PoiseErr FollowCarving(Device *dev, int carve, void (*kernel)(Args...), dim3 grid, unsigned threads, size_t shared,
                              Args... args)
{
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute attribute[2] = {};
  unsigned n = 0;
  if (dev->model.bulk) {
    attribute[n].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute[n++].val.programmaticStreamSerializationAllowed = 1;
  }
#if CUDART_VERSION >= 12050
  if (carve >= 0) {
    attribute[n].id = cudaLaunchAttributePreferredSharedMemoryCarveout;
    attribute[n++].val.sharedMemCarveout = (unsigned)carve;
  }
#else
  (void)carve;
#endif
  config.gridDim = grid;
  config.blockDim = threads;
  config.dynamicSmemBytes = shared;
  config.stream = poiseCudaStream(dev);
  config.attrs = attribute;
  config.numAttrs = n;
  return poiseCudaCheck(cudaLaunchKernelEx(&config, kernel, args...), "launching a kernel");
}

template <typename... Args>
static PoiseErr Follow(Device *dev, void (*kernel)(Args...), dim3 grid, unsigned threads, size_t shared, Args... args)
{
  return FollowCarving(dev, -1, kernel, grid, threads, shared, args...);
}

/* The dots of a block's finished rows y[], which this thread holds ROWS of. */
__device__ __forceinline__ void FuseDots(const Fuse &f, const double (&y)[ROWS], int64_t first, int64_t n, int64_t block)
{
  for (int k = 0; k < f.ndot; k++) {
    double s[1] = {0};
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
      int64_t i = first + r * THREADS;
      if (i < n) s[0] += Factor(f, k, i, y[r]) * y[r];
    }
    BlockReduce<1, COMBINE_SUM>(s);
    if (threadIdx.x == 0) f.partial[k][block] = s[0];
  }
}

/* A function of each size of blocks; those of 1 x 1 are numbers. */
#define FROM_2_TO_32(F)                                                                                                 \
  F<2>, F<3>, F<4>, F<5>, F<6>, F<7>, F<8>, F<9>, F<10>, F<11>, F<12>, F<13>, F<14>, F<15>, F<16>, F<17>, F<18>, F<19>, \
      F<20>, F<21>, F<22>, F<23>, F<24>, F<25>, F<26>, F<27>, F<28>, F<29>, F<30>, F<31>, F<32>

#endif

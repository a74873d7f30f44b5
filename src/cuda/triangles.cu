/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Rows that depend on each other: triangular sweeps and incomplete factors. Rows are dealt out in the order of their levels, and
  each waits for those that it depends on by looking at the number that they leave (no kernel per level: a plane grid has
  thousands of them): what is not there yet is the bit pattern MISSING. Numbers are looked at again and again in one loop of
  a whole warp, whose rows may depend on each other. A row's arithmetic is the same whoever waits, so are the bits.
*/
#include "cuda.h"

#include "../pc/pivot.h"

#define MISSING 0xffffffffffffffffull /* as memset leaves it: a NaN that no arithmetic gives */

/* ---- numbers that other blocks wait for --------------------------------------------------------------------------------- */

__device__ __forceinline__ bool Look(const double *p, double *v)
{
  unsigned long long bits;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(bits) : "l"(p) : "memory");
  *v = __longlong_as_double((long long)bits);
  return bits != MISSING;
}

__device__ __forceinline__ void Leave(double *p, double v)
{
  unsigned long long bits = (unsigned long long)__double_as_longlong(v);
  if (bits == MISSING) bits = 0x7ff8000000000000ull; /* a NaN that was put in */
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(p), "l"(bits) : "memory");
}

/* Warps take their turns in the order in which they ask, so that those that wait have all they wait for before them. */
__device__ __forceinline__ int64_t Turn(double *ticket)
{
  unsigned turn = 0;
  if (threadIdx.x % 32 == 0) turn = atomicAdd((unsigned *)ticket, 1u) + 1u; /* it starts as MISSING */
  return __shfl_sync(0xffffffff, turn, 0);
}

/* ---- sweeps --------------------------------------------------------------------------------------------------------------- */

enum {
  CHUNK = 4,  /* entries that a lane has under way */
  AHEAD = 4,  /* levels that are under way: more of them wait, and looking keeps others from memory */
  LEAST = 132 /* warps: a few levels' rows fetch theirs before it is their turn */
};

__device__ __forceinline__ double Products(const double (&val)[CHUNK], const double (&v)[CHUNK])
{
  double sum = 0;
#pragma unroll
  for (int q = 0; q < CHUNK; q++) sum += val[q] * v[q];
  return sum;
}

/* The rows at this place of the order and the next ones, L neighbouring lanes each. New values go to work; y keeps the old ones
   until FinishSweep. All but the numbers waited for is fetched before the wait, which is what takes the time. 12 bytes per
   nonzero, 8 per row for each of work and x, and offsets; in the order of levels each row is a place of its own in memory. */
template <int L> __device__ __forceinline__ void SweepRows(const SweepArgs &a, int64_t place)
{
  const Triangles &t = a.t;
  int64_t i = -1, k = 0, end = 0;
  int lane = threadIdx.x % 32;
  const unsigned mine = (L == 32 ? 0xffffffffu : (1u << L) - 1) << (lane / L * L);
  double sum = 0, x = 0, scale = a.scale, kept = 0, val[CHUNK], v[CHUNK];
  const double *wanted[CHUNK];
  unsigned missing = 0; /* bits of wanted */
  if (place < t.n) {
    i = a.levels.first[place];
    k = (a.parts & SWEEP_LOWER ? poiseOffset(&t, t.begin, i) : poiseOffset(&t, t.diag, i) + 1) + lane % L;
    end = a.parts & SWEEP_UPPER ? poiseOffset(&t, t.end, i) : poiseOffset(&t, t.diag, i);
    if (a.x) x = a.x[i];
    if (a.d) scale *= a.d[i];
    if (a.keep != 0) kept = a.keep * a.y[i];
  }
#pragma unroll
  for (int q = 0; q < CHUNK; q++) val[q] = v[q] = 0, wanted[q] = a.work;
  for (bool over = i < 0; !__all_sync(0xffffffff, over);) {
    if (!missing && k < end) {
#pragma unroll
      for (int q = 0; q < CHUNK; q++, k += L) {
        int64_t j = k < end ? t.col[k] : i;
        val[q] = j == i ? 0 : a.val[k];
        v[q] = 0;
        wanted[q] = a.work + j;
        if (a.backward ? j > i : j < i)
          missing |= 1u << q;
        else if (j != i)
          v[q] = a.y[j];
      }
      if (!missing) sum += Products(val, v);
    }
    if (missing) {
#pragma unroll
      for (int q = 0; q < CHUNK; q++)
        if ((missing >> q & 1) && Look(wanted[q], &v[q])) missing &= ~(1u << q);
      if (!missing) sum += Products(val, v);
    }
    unsigned left = __ballot_sync(0xffffffff, missing || k < end);
    if (over || (left & mine)) continue;
    for (int step = L / 2; step; step /= 2) sum += __shfl_xor_sync(mine, sum, step);
    if (lane % L == 0) {
      sum = scale * (x - sum);
      Leave(a.work + i, a.keep == 0 ? sum : kept + sum);
    }
    over = true;
  }
}

template <int L> static __global__ void __launch_bounds__(THREADS) Sweep(const __grid_constant__ SweepArgs a)
{
  const Triangles &t = a.t;
  if (a.skip && *a.skip != 0) return;
  for (;;) {
    int64_t first = Turn(a.work + t.n) * (32 / L);
    if (first >= t.n) return;
    SweepRows<L>(a, first + threadIdx.x % 32 / L);
  }
}

/* y = work, and its dots. */
static __global__ void __launch_bounds__(THREADS) FinishSweep(const __grid_constant__ SweepArgs a)
{
  if (a.skip && *a.skip != 0) return;
  int64_t first = (int64_t)blockIdx.x * POISE_BLOCK + threadIdx.x;
  double y[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    int64_t i = first + r * THREADS;
    y[r] = i < a.t.n ? a.work[i] : 0;
    if (i < a.t.n) a.y[i] = y[r];
  }
  FuseDots(a.fuse, y, first, a.t.n, blockIdx.x);
}

template <int L> static void Run(const SweepArgs *a, cudaStream_t stream)
{
  enum { BLOCK = 128 };
  int64_t all = a->t.n * L, some = AHEAD * (a->t.n / a->levels.count + 1) * L, least = LEAST * 32;
  if (some < least) some = least;
  if (some > all) some = all;
  Sweep<L><<<(unsigned)((some + BLOCK - 1) / BLOCK), BLOCK, 0, stream>>>(*a);
}

extern "C" PoiseErr poiseCuda_sweep(Device *dev, const void *args)
{
  const SweepArgs *a = (const SweepArgs *)args;
  cudaStream_t stream = poiseCudaStream(dev);
  if (!a->t.n) return POISE_OK;
  double mean = (double)a->t.nz / (double)a->t.n / (a->parts == (SWEEP_LOWER | SWEEP_UPPER) ? 1 : 2);
  TRY(poiseCudaCheck(cudaMemsetAsync(a->work, 0xff, ((size_t)a->t.n + 1) * sizeof(double), stream), "clearing a sweep"));
  (mean < 6 ? Run<1> : mean < 12 ? Run<2> : mean < 24 ? Run<4> : mean < 96 ? Run<8> : Run<32>)(a, stream);
  FinishSweep<<<(unsigned)POISE_NBLOCKS(a->t.n), THREADS, 0, stream>>>(*a);
  return POISE_OK;
}

/* ---- incomplete factors ----------------------------------------------------------------------------------------------------- */

/* The first of the ascending columns [k, end) that is at least c. */
__device__ __forceinline__ int64_t Seek(const int32_t *col, int64_t k, int64_t end, int32_t c)
{
  while (k < end) {
    int64_t mid = k + (end - k) / 2;
    if (col[mid] < c)
      k = mid + 1;
    else
      end = mid;
  }
  return k;
}

/* Row i, the entries [k, end), -= m times the upper triangle of row c, which is finished. */
__device__ void SubtractRow(const FactorArgs &a, double m, int64_t c, int64_t k, int64_t end)
{
  const int32_t *col = a.t.col;
  int64_t u = poiseOffset(&a.t, a.t.diag, c) + 1, last = poiseOffset(&a.t, a.t.end, c);
  while (k < end && u < last) {
    if (col[k] == col[u]) {
      __stcg(a.lu + k, __ldcg(a.lu + k) - m * __ldcg(a.lu + u));
      k++, u++;
    } else if (col[k] < col[u]) {
      k++;
    } else {
      u++;
    }
  }
}

__device__ __forceinline__ double SumOfSizes(const double *v, int64_t k, int64_t end, double sum)
{
  for (; k < end; k++) sum += fabs(__ldcg(v + k));
  return sum;
}

/* Finish row i: its pivot, and for a symmetric factor the later rows' L. The pivot is left last: rows wait for it. */
__device__ __forceinline__ void FinishRow(const FactorArgs &a, int64_t i, int64_t own, int64_t diag, int64_t end)
{
  const Triangles &t = a.t;
  double d = poiseInvertPivot(&a, __ldcg(a.lu + diag), SumOfSizes(a.lu, diag + 1, end, SumOfSizes(a.lu, own, diag, 0)));
  for (int64_t k = diag + 1; a.symmetric && k < end; k++) {
    int64_t j = t.col[k];
    __stcg(a.lu + Seek(t.col, poiseOffset(&t, t.begin, j), poiseOffset(&t, t.diag, j), (int32_t)i), __ldcg(a.lu + k));
  }
  __threadfence();
  Leave(a.d + i, d);
}

/* A thread per row: the row's own copy of A, then one elimination after the other as the rows above are finished. */
static __global__ void __launch_bounds__(THREADS) Factor(const __grid_constant__ FactorArgs a)
{
  const Triangles &t = a.t;
  int64_t place = Turn(a.work) * 32 + threadIdx.x % 32, i = -1, k = 0, own = 0, diag = 0, end = 0;
  if (place < t.n) {
    i = a.levels.first[place];
    k = poiseOffset(&t, t.begin, i), diag = poiseOffset(&t, t.diag, i), end = poiseOffset(&t, t.end, i);
    own = a.symmetric ? diag : k; /* what is left of it is mirrored from the rows above */
    for (int64_t e = own; e < end; e++) __stcg(a.lu + e, a.a[e] + (e == diag ? a.shift : 0));
  }
  for (bool over = i < 0; !__all_sync(0xffffffff, over);) {
    if (over) continue;
    double d;
    if (k == diag) {
      FinishRow(a, i, own, diag, end);
      over = true;
    } else if (Look(a.d + t.col[k], &d)) {
      __threadfence();
      double m = __ldcg(a.lu + k) * d;
      __stcg(a.lu + k, m);
      if (m != 0) SubtractRow(a, m, t.col[k], a.symmetric ? diag : k + 1, end);
      k++;
    }
  }
}

/* Doubles that are not negative are ordered as their bits are. */
static __global__ void FirstRefused(const __grid_constant__ FactorArgs a)
{
  int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (i < a.t.n && a.d[i] == 0)
    atomicMin((unsigned long long *)a.refused, (unsigned long long)__double_as_longlong((double)i));
}

static __global__ void NameRefused(const __grid_constant__ FactorArgs a)
{
  bool none = (unsigned long long)__double_as_longlong(a.refused[0]) == MISSING;
  int64_t row = none ? 0 : (int64_t)a.refused[0];
  a.refused[1] = none ? 0 : a.lu[poiseOffset(&a.t, a.t.diag, row)];
  if (none) a.refused[0] = -1;
}

extern "C" PoiseErr poiseCuda_factor(Device *dev, const void *args)
{
  const FactorArgs *a = (const FactorArgs *)args;
  cudaStream_t stream = poiseCudaStream(dev);
  unsigned grid = (unsigned)((a->t.n + THREADS - 1) / THREADS);
  TRY(poiseCudaCheck(cudaMemsetAsync(a->refused, 0xff, sizeof(double), stream), "clearing a factor"));
  if (grid) {
    TRY(poiseCudaCheck(cudaMemsetAsync(a->work, 0xff, sizeof(double), stream), "clearing a factor"));
    TRY(poiseCudaCheck(cudaMemsetAsync(a->d, 0xff, (size_t)a->t.n * sizeof(double), stream), "clearing a factor"));
    Factor<<<grid, THREADS, 0, stream>>>(*a);
    FirstRefused<<<grid, THREADS, 0, stream>>>(*a);
  }
  NameRefused<<<1, 1, 0, stream>>>(*a);
  return POISE_OK;
}

static __global__ void StartLack(const __grid_constant__ DominanceArgs a)
{
  *a.lack = a.floor;
}

/* floor is not negative, so only what is positive counts; a NaN's bits are larger than any number's. */
static __global__ void __launch_bounds__(THREADS) Dominance(const __grid_constant__ DominanceArgs a)
{
  const Triangles &t = a.t;
  int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  double lack[1] = {0};
  if (i < t.n) {
    int64_t diag = poiseOffset(&t, t.diag, i);
    double sum = SumOfSizes(a.a, poiseOffset(&t, t.begin, i), diag, -a.a[diag]);
    lack[0] = poiseLarger(0, SumOfSizes(a.a, diag + 1, poiseOffset(&t, t.end, i), sum));
  }
  BlockReduce<1, COMBINE_MAX>(lack);
  if (threadIdx.x == 0) atomicMax((unsigned long long *)a.lack, (unsigned long long)__double_as_longlong(fabs(lack[0])));
}

extern "C" PoiseErr poiseCuda_dominance(Device *dev, const void *args)
{
  const DominanceArgs *a = (const DominanceArgs *)args;
  cudaStream_t stream = poiseCudaStream(dev);
  unsigned grid = (unsigned)((a->t.n + THREADS - 1) / THREADS);
  StartLack<<<1, 1, 0, stream>>>(*a);
  if (grid) Dominance<<<grid, THREADS, 0, stream>>>(*a);
  return POISE_OK;
}

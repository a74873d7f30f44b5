/* SPDX-License-Identifier: BSD-3-Clause */
/* Triangular sweeps and incomplete factors, whose rows wait for each other (sweep.h). */
#include "sweep.h"

#include "pc/factor_kernels.h"

#include "pc/block_inverse.h"

/* ---- sweeps over blocks ---------------------------------------------------------------------- */

/* Lanes for the rows of a block of b x b. The lanes of a warp form groups of so many, which share the blocks
   of a block row. */
constexpr __host__ __device__ int BlockLanes(int b)
{
  int lanes = 2;
  while (lanes < b) lanes *= 2;
  return lanes;
}

/* A lane of a block row: row r of every P-th block. */
template <int B> struct BlockLane {
  static constexpr int R = BlockLanes(B), P = 32 / R;
  int r = threadIdx.x % R, p = threadIdx.x % 32 / R;
};

/* The off-diagonal blocks of block row i times y, summed over all lanes with the same r. */
template <int B>
__device__ __forceinline__ double SumOfBlocks(const SweepArgs &a, const BlockLane<B> &l, int64_t i, int64_t k,
                                              int64_t end)
{
  constexpr int R = BlockLane<B>::R, P = BlockLane<B>::P;
  constexpr unsigned all = 0xffffffff;
  int r = l.r;
  double sum = 0;
  for (; __any_sync(all, k < end); k += P) {
    int64_t j = k < end && r < B ? a.t.col[k] : i;
    bool missing = a.backward ? j > i : j < i;
    double val[B], y = 0;
#pragma unroll
    for (int c = 0; c < B; c++) val[c] = j != i ? a.val[(k * B + c) * B + r] : 0;
    if (j != i && !missing) y = a.y[j * B + r];
    while (__any_sync(all, missing))
      if (missing) missing = !Look(a.work + j * B + r, &y);
#pragma unroll
    for (int c = 0; c < B; c++) sum += val[c] * __shfl_sync(all, y, c, R);
  }
  for (int step = 16; step >= R; step /= 2) sum += __shfl_xor_sync(all, sum, step);
  return sum;
}

/* Sweeps block row i by a warp. Lane (r, p) has row r of every P-th block. It waits for scalar r of the block
   of y, and gets the others from its neighbours. Traffic: 8 B^2 + 4 bytes per block, d and x once; all of it
   is fetched before the wait. */
template <int B> __device__ __forceinline__ void SweepRowOfBlocks(const SweepArgs &a, int64_t i)
{
  const Triangles &t = a.t;
  BlockLane<B> l;
  int r = l.r;
  int64_t diag = poiseOffset(&t, t.diag, i);
  int64_t k = (a.parts & SWEEP_LOWER ? poiseOffset(&t, t.begin, i) : diag + 1) + l.p;
  int64_t end = a.parts & SWEEP_UPPER ? poiseOffset(&t, t.end, i) : diag;
  double x = 0, kept = 0, d[B];
  if (r < B && a.x) x = a.x[i * B + r];
  if (r < B && a.keep != 0) kept = a.keep * a.y[i * B + r];
#pragma unroll
  for (int c = 0; c < B; c++) d[c] = r < B && a.d ? a.d[(i * B + c) * B + r] : 0;
  double sum = x - SumOfBlocks<B>(a, l, i, k, end);
  if (a.d) {
    double product = 0;
#pragma unroll
    for (int c = 0; c < B; c++) product += d[c] * __shfl_sync(0xffffffff, sum, c, BlockLane<B>::R);
    sum = product;
  }
  if (r < B && l.p == 0) Leave(a.work + i * B + r, a.keep == 0 ? a.scale * sum : kept + a.scale * sum);
}

template <int B>
static __global__ void __launch_bounds__(SWEEP_THREADS) SweepBlocks(const __grid_constant__ SweepArgs a)
{
  if (a.skip && *a.skip != 0) return;
  for (;;) {
    int64_t place = Turn(a.work + a.t.n * B);
    if (place >= a.t.n) return;
    SweepRowOfBlocks<B>(a, a.levels.first[place]);
  }
}

/* ---- all sweeps ------------------------------------------------------------------------------ */

/* y = work, and the dots of y. */
static __global__ void __launch_bounds__(THREADS) FinishSweep(const __grid_constant__ SweepArgs a)
{
  if (a.skip && *a.skip != 0) return;
  int64_t first = (int64_t)blockIdx.x * POISE_BLOCK + threadIdx.x, n = Numbers(a.t);
  double y[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    int64_t i = first + r * THREADS;
    y[r] = i < n ? a.work[i] : 0;
    if (i < n) a.y[i] = y[r];
  }
  FuseDots(a.fuse, y, first, n, blockIdx.x);
}

template <int L> static void Run(Device *dev, const SweepArgs *a)
{
  Sweep<OneColumn<L>><<<SweepGrid(dev, a, L, SWEEP_THREADS), SWEEP_THREADS, 0, poiseCudaStream(dev)>>>(*a);
}

template <int B> static void RunBlocks(Device *dev, const SweepArgs *a)
{
  SweepBlocks<B><<<SweepGrid(dev, a, 32, SWEEP_THREADS), SWEEP_THREADS, 0, poiseCudaStream(dev)>>>(*a);
}

static void RunSizes(Device *dev, const SweepArgs *a)
{
  typedef void (*Size)(Device *, const SweepArgs *);
  static const Size sizes[] = {FROM_2_TO_32(RunBlocks)};
  sizes[a->t.b - 2](dev, a);
}

extern "C" PoiseErr poiseCuda_sweep(Device *dev, const void *args)
{
  const SweepArgs *a = (const SweepArgs *)args;
  int64_t n = Numbers(a->t);
  if (!n) return POISE_OK;
  TRY(ClearSweep(dev, a, n));
  int parts = SweepParts(a);
  (a->t.b       ? RunSizes
   : parts == 1 ? Run<1>
   : parts == 2 ? Run<2>
   : parts == 4 ? Run<4>
   : parts == 8 ? Run<8>
                : Run<32>)(dev, a);
  FinishSweep<<<(unsigned)POISE_NBLOCKS(n), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

/* ---- incomplete factors ---------------------------------------------------------------------- */

/* Subtracts m times the upper triangle of the finished row c from the entries [k, end) of a row. */
__device__ void SubtractRow(const FactorArgs &a, double m, int64_t c, int64_t k, int64_t end)
{
  const int32_t *col = a.t.col;
  int64_t u = poiseOffset(&a.t, a.t.diag, c) + 1, last = poiseOffset(&a.t, a.t.end, c);
  while (k < end && u < last) {
    if (col[k] == col[u]) {
      __stcg(a.lu + k, __ldcg(a.lu + k) - m * __ldcg(a.lu + u));
      k++, u++;
    } else if (col[k] < col[u]) {
      k = poiseSeek(col, k + 1, end, col[u]);
    } else {
      u = poiseSeek(col, u + 1, last, col[k]);
    }
  }
}

__device__ __forceinline__ double SumOfSizes(const double *v, int64_t k, int64_t end, double sum)
{
  for (; k < end; k++) sum += fabs(__ldcg(v + k));
  return sum;
}

/* Finishes row i: its pivot, and for a symmetric factor the L of later rows. The pivot comes last, since rows
   wait for it. */
__device__ __forceinline__ void FinishRow(const FactorArgs &a, int64_t i, int64_t own, int64_t diag,
                                          int64_t end)
{
  const Triangles &t = a.t;
  double d = poiseInvertPivot(&a, __ldcg(a.lu + diag),
                              SumOfSizes(a.lu, diag + 1, end, SumOfSizes(a.lu, own, diag, 0)));
  poiseKeepPivot(&a, diag, d);
  for (int64_t k = diag + 1; a.symmetric && k < end; k++) {
    int64_t j = t.col[k];
    __stcg(a.lu + poiseSeek(t.col, poiseOffset(&t, t.begin, j), poiseOffset(&t, t.diag, j), (int32_t)i),
           __ldcg(a.lu + k));
  }
  __threadfence();
  Leave(a.d + i, d);
}

/* A thread per row. It copies its row of A, then eliminates one entry after the other as the rows above are
   finished. */
static __global__ void __launch_bounds__(THREADS) Factor(const __grid_constant__ FactorArgs a)
{
  const Triangles &t = a.t;
  int64_t place = Turn(a.work) * 32 + threadIdx.x % 32, i = -1, k = 0, own = 0, diag = 0, end = 0;
  if (place < t.n) {
    i = a.levels.first[place];
    k = poiseOffset(&t, t.begin, i), diag = poiseOffset(&t, t.diag, i), end = poiseOffset(&t, t.end, i);
    own = a.symmetric ? diag : k; /* entries left of the diagonal are mirrored from the rows above */
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

/* ---- incomplete factors of blocks: a warp per block row -------------------------------------- */

/* z -= l u for blocks. A lane has every 32nd scalar of z; l is in shared memory. */
__device__ __forceinline__ void SubtractProduct(int b, const double *l, const double *u, double *z)
{
  for (int e = threadIdx.x; e < b * b; e += 32) {
    int r = e % b, c = e / b;
    double sum = __ldcg(z + e);
    for (int q = 0; q < b; q++) sum -= l[q * b + r] * __ldcg(u + c * b + q);
    __stcg(z + e, sum);
  }
}

/* Subtracts l times the upper triangle of the finished block row c from the blocks [k, end) of a block
   row. */
__device__ void SubtractRowOfBlocks(const FactorArgs &a, const double *l, int64_t c, int64_t k, int64_t end)
{
  const int32_t *col = a.t.col;
  int64_t size = (int64_t)a.t.b * a.t.b, u = poiseOffset(&a.t, a.t.diag, c) + 1,
          last = poiseOffset(&a.t, a.t.end, c);
  while (k < end && u < last) {
    if (col[k] == col[u]) {
      SubtractProduct(a.t.b, l, a.lu + u * size, a.lu + k * size);
      k++, u++;
    } else if (col[k] < col[u]) {
      k = poiseSeek(col, k + 1, end, col[u]);
    } else {
      u = poiseSeek(col, u + 1, last, col[k]);
    }
  }
}

/* l = v = v d. All lanes have finished v. */
__device__ __forceinline__ void MultiplyByPivot(int b, double *v, const double *d, double *l)
{
  for (int e = threadIdx.x; e < b * b; e += 32) {
    int r = e % b, c = e / b;
    double sum = 0;
    for (int q = 0; q < b; q++) sum += __ldcg(v + q * b + r) * __ldcg(d + c * b + q);
    l[e] = sum;
  }
  __syncwarp();
  for (int e = threadIdx.x; e < b * b; e += 32) __stcg(v + e, l[e]);
}

/* Mirrors the upper triangle of a block to the lower one. */
__device__ __forceinline__ void MirrorWithin(int b, double *v)
{
  for (int e = threadIdx.x; e < b * b; e += 32)
    if (e % b > e / b) v[e] = v[e % b * b + e / b];
  __syncwarp();
}

/* The largest sum of magnitudes besides the pivot, over the scalar rows of a block row. */
__device__ __forceinline__ double Beside(const FactorArgs &a, int64_t own, int64_t diag, int64_t end)
{
  int b = a.t.b, r = threadIdx.x;
  double sum = 0;
  for (int64_t k = own; r < b && k < end; k++)
    for (int c = 0; c < b; c++)
      if (k != diag || c != r) sum += fabs(__ldcg(a.lu + (k * b + c) * b + r));
  return WarpReduce<COMBINE_MAX>(sum);
}

/* Finishes block row i: the inverse of its pivot, computed in v, and for a symmetric factor the L of later
   rows. The first scalar of d comes last, since rows wait for it. */
__device__ void FinishRowOfBlocks(const FactorArgs &a, int64_t i, int64_t own, int64_t diag, int64_t end,
                                  double *v)
{
  const Triangles &t = a.t;
  int b = t.b, lane = threadIdx.x;
  int64_t size = (int64_t)b * b;
  double *d = a.d + i * size, rest;
  for (int e = lane; e < size; e += 32) v[e] = __ldcg(a.lu + diag * size + e);
  __syncwarp();
  if (a.symmetric) MirrorWithin(b, v);
  for (int e = lane; a.symmetric && e < size; e += 32) __stcg(a.lu + diag * size + e, v[e]);
  __syncwarp();
  rest = Beside(a, own, diag, end);
  double refused = 0;
  int step = lane == 0 ? poiseInvertPivots(&a, rest, v, b, &refused) : 0;
  __syncwarp();
  if (a.symmetric) MirrorWithin(b, v);
  if (lane == 0 && step < b) v[0] = NAN, v[1] = step, v[2] = refused;
  __syncwarp();
  for (int e = lane + 1; e < size; e += 32) __stcg(d + e, v[e]);
  for (int64_t k = diag + 1; a.symmetric && k < end; k++) {
    int64_t j = t.col[k],
            to = poiseSeek(t.col, poiseOffset(&t, t.begin, j), poiseOffset(&t, t.diag, j), (int32_t)i);
    for (int e = lane; e < size; e += 32)
      __stcg(a.lu + to * size + e % b * b + e / b, __ldcg(a.lu + k * size + e));
  }
  __threadfence();
  __syncwarp();
  if (lane == 0) Leave(d, v[0]);
}

static __global__ void __launch_bounds__(32) FactorBlocks(const __grid_constant__ FactorArgs a)
{
  extern __shared__ double shared[];
  const Triangles &t = a.t;
  int b = t.b, lane = threadIdx.x;
  int64_t size = (int64_t)b * b, i = a.levels.first[Turn(a.work)];
  int64_t k = poiseOffset(&t, t.begin, i), diag = poiseOffset(&t, t.diag, i), end = poiseOffset(&t, t.end, i);
  int64_t own = a.symmetric ? diag : k; /* entries left of the diagonal are mirrored from the rows above */
  for (int64_t e = own * size + lane; e < end * size; e += 32) {
    int64_t of = e - diag * size;
    __stcg(a.lu + e, a.a[e] + (of >= 0 && of < size && of % (b + 1) == 0 ? a.shift : 0));
  }
  for (; k < diag; k++) {
    double *l = shared, unused;
    const double *d = a.d + t.col[k] * size;
    while (!Look(d, &unused)) continue;
    __threadfence();
    __syncwarp();
    MultiplyByPivot(b, a.lu + k * size, d, l);
    SubtractRowOfBlocks(a, l, t.col[k], a.symmetric ? diag : k + 1, end);
    __syncwarp();
  }
  __syncwarp();
  FinishRowOfBlocks(a, i, own, diag, end, shared);
}

/* ---- both ------------------------------------------------------------------------------------ */

/* Doubles that are not negative have the same order as their bits. */
static __global__ void FirstRefused(const __grid_constant__ FactorArgs a)
{
  int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (i < a.t.n && poiseRefused(&a, i))
    atomicMin((unsigned long long *)a.refused, (unsigned long long)__double_as_longlong((double)i));
}

static __global__ void NameRefused(const __grid_constant__ FactorArgs a)
{
  bool none = (unsigned long long)__double_as_longlong(a.refused[0]) == MISSING;
  poiseNameRefused(&a, none ? a.t.n : (int64_t)a.refused[0]);
}

extern "C" PoiseErr poiseCuda_factor(Device *dev, const void *args)
{
  const FactorArgs *a = (const FactorArgs *)args;
  cudaStream_t stream = poiseCudaStream(dev);
  unsigned grid = Grid(a->t.n);
  size_t size = a->t.b ? (size_t)a->t.b * (size_t)a->t.b : 1;
  if (!grid) return POISE_OK;
  TRY(poiseCudaCheck(cudaMemsetAsync(a->work, 0xff, sizeof(double), stream), "clearing a factor"));
  TRY(poiseCudaCheck(cudaMemsetAsync(a->d, 0xff, (size_t)a->t.n * size * sizeof(double), stream),
                     "clearing a factor"));
  if (a->t.b)
    FactorBlocks<<<(unsigned)a->t.n, 32, size * sizeof(double), stream>>>(*a);
  else
    Factor<<<grid, THREADS, 0, stream>>>(*a);
  return POISE_OK;
}

extern "C" PoiseErr poiseCuda_factor_refused(Device *dev, const void *args)
{
  const FactorArgs *a = (const FactorArgs *)args;
  cudaStream_t stream = poiseCudaStream(dev);
  TRY(poiseCudaCheck(cudaMemsetAsync(a->refused, 0xff, sizeof(double), stream), "clearing a factor"));
  if (a->t.n) FirstRefused<<<Grid(a->t.n), THREADS, 0, stream>>>(*a);
  NameRefused<<<1, 1, 0, stream>>>(*a);
  return POISE_OK;
}

static __global__ void StartLack(const __grid_constant__ DominanceArgs a)
{
  *a.lack = a.floor;
}

/* floor is not negative, so only positive values count. The bits of a NaN are larger than those of any
   number. */
static __global__ void __launch_bounds__(THREADS) Dominance(const __grid_constant__ DominanceArgs a)
{
  int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  double lack[1] = {i < Numbers(a.t) ? poiseLarger(0, poiseLack(&a, i)) : 0};
  BlockReduce<1, COMBINE_MAX>(lack);
  if (threadIdx.x == 0)
    atomicMax((unsigned long long *)a.lack, (unsigned long long)__double_as_longlong(fabs(lack[0])));
}

extern "C" PoiseErr poiseCuda_dominance(Device *dev, const void *args)
{
  const DominanceArgs *a = (const DominanceArgs *)args;
  cudaStream_t stream = poiseCudaStream(dev);
  unsigned grid = Grid(Numbers(a->t));
  StartLack<<<1, 1, 0, stream>>>(*a);
  if (grid) Dominance<<<grid, THREADS, 0, stream>>>(*a);
  return POISE_OK;
}

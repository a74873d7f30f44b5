/* SPDX-License-Identifier: BSD-3-Clause */
/* Power steps of amg (pc/amg/lambda_kernels.h): short rows by threads, others by lanes; and sums. A warp adds
   what its rows leave by the tree of the host. Compiled without contraction, for the host's bits. */
#include "pc/amg/lambda_kernels.h"
#include "row_lanes.h"
#include "staged_rows.h"

static_assert(AMG_TREE == 32 && THREADS / LANES == AMG_TREE,
              "a tree is that of a warp, or of a block's rows");
static_assert((int)AMG_SUM_LANES == (int)THREADS && AMG_SUM % THREADS == 0, "a block adds as the host does");

/* What a warp's rows, from row i - lane on, add to sums. */
__device__ __forceinline__ void AddRows(const AmgPowerArgs &p, int64_t i, double z, double size)
{
  double square = WarpReduce<COMBINE_SUM>(z * z);
  bool is_first = threadIdx.x % 32 == 0 && i < p.n;
  if (is_first) p.squares[i / AMG_TREE] = square;
  if (!p.sizes) return;
  size = WarpReduce<COMBINE_MAX>(size);
  if (is_first) p.sizes[i / AMG_TREE] = size;
}

static __device__ __forceinline__ void PowerByThread(const AmgPowerArgs *p, int64_t i, int64_t n)
{
  double size = 0, z = i < n ? poiseAmgPowerRow(p, poiseAmgPowerScale(p), i, &size) : 0;
  AddRows(*p, i, z, size);
}

static __global__ void __launch_bounds__(THREADS) DivideByThread(const __grid_constant__ AmgPowerArgs p)
{
  int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  AddRows(p, i, i < p.n ? poiseAmgPowerDivide(&p, i) : 0, 0);
}

/* Lanes multiply, and each adds all products in their order. SIZES: and the sizes of entries. */
template <bool SIZES>
static __global__ void __launch_bounds__(THREADS) PowerByLanes(const __grid_constant__ AmgPowerArgs p)
{
  __shared__ double product[THREADS], entry[SIZES ? THREADS : 1], row[AMG_TREE], row_size[AMG_TREE];
  const int first_lane = threadIdx.x / LANES * LANES, place = threadIdx.x / LANES;
  const double scale = poiseAmgPowerScale(&p);
  const Group g = GroupOf(p.m.A, p.n);
  const int32_t *col = p.m.A.col + g.first;
  const double *val = p.m.A.val + g.first;
  bool is_one = g.lane < g.entries;
  int32_t j = is_one ? col[g.lane] : 0;
  double s = 0, size = 0, a = is_one ? val[g.lane] : 0;
  for (int base = 0; base < g.most; base += LANES) {
    int left = g.entries - base;
    product[threadIdx.x] = is_one ? a * (scale * p.x[j]) : 0;
    if (SIZES) entry[threadIdx.x] = fabs(a);
    is_one = g.lane + LANES < left; /* the next ones are under way meanwhile */
    j = is_one ? col[base + LANES + g.lane] : 0;
    a = is_one ? val[base + LANES + g.lane] : 0;
    __syncwarp();
#pragma unroll
    for (int k = 0; k < LANES; k++) {
      if (k < left) s += product[first_lane + k];
      if (SIZES && k < left) size += entry[first_lane + k];
    }
    __syncwarp();
  }
  if (g.lane == 0) {
    row[place] = g.i >= 0 ? p.z[g.i] = p.d[g.i] * s - poiseAmgPowerShift(&p, scale) * p.x[g.i] : 0;
    row_size[place] = SIZES && g.i >= 0 ? fabs(p.d[g.i]) * size : 0;
  }
  __syncthreads();
  if (threadIdx.x < AMG_TREE)
    AddRows(p, blockIdx.x * (int64_t)AMG_TREE + threadIdx.x, row[threadIdx.x], row_size[threadIdx.x]);
}

/* Traffic: 8 bytes per number. */
template <int COMBINE>
static __global__ void __launch_bounds__(THREADS) SumBlock(const __grid_constant__ AmgSumArgs a)
{
  int64_t first = blockIdx.x * (int64_t)AMG_SUM;
  double v[1] = {0};
#pragma unroll
  for (int k = threadIdx.x; k < AMG_SUM; k += THREADS)
    if (first + k < a.count) v[0] = Join<COMBINE>(v[0], a.x[first + k]);
  BlockReduce<1, COMBINE>(v);
  if (threadIdx.x != 0) return;
  a.sum[blockIdx.x] = v[0];
  if (a.norm) poiseAmgNorm(v[0], a.sum + 1);
}

static __device__ __host__ CsrView &MatrixOf(AmgPowerArgs &a)
{
  return a.m.A;
}

extern "C" PoiseErr poiseCuda_amg_power_scalar(Device *dev, const void *args)
{
  const AmgPowerArgs *p = (const AmgPowerArgs *)args;
  if (!p->n || LaunchStaged<AmgPowerArgs, PowerByThread, MatrixOf, true>(dev, p, p->n)) return POISE_OK;
  void (*kernel)(AmgPowerArgs) = p->sizes ? PowerByLanes<true> : PowerByLanes<false>;
  kernel<<<Grid(p->n * LANES), THREADS, 0, poiseCudaStream(dev)>>>(*p);
  return POISE_OK;
}

extern "C" PoiseErr poiseCuda_amg_power_divide(Device *dev, const void *args)
{
  const AmgPowerArgs *p = (const AmgPowerArgs *)args;
  if (p->n) DivideByThread<<<Grid(p->n), THREADS, 0, poiseCudaStream(dev)>>>(*p);
  return POISE_OK;
}

extern "C" PoiseErr poiseCuda_amg_sum(Device *dev, const void *args)
{
  const AmgSumArgs *a = (const AmgSumArgs *)args;
  void (*kernel)(AmgSumArgs) = a->largest ? SumBlock<COMBINE_MAX> : SumBlock<COMBINE_SUM>;
  if (a->n) kernel<<<(unsigned)a->n, THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

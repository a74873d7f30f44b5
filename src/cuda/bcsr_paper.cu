/* SPDX-License-Identifier: BSD-3-Clause */
/* The three block SpMV algorithms of Eberhardt & Hoemmen (2016) for GPUs, to compare with: a warp has a block
   row. */
#include "bcsr.h"

/* The sums of a block row, of which lanes r, r + B, ... have parts; valid for lanes below B. */
template <int B, int PARTS> __device__ __forceinline__ double JoinLanes(double s)
{
  double sum = s;
#pragma unroll
  for (int q = 1; q < PARTS; q++) sum += __shfl_sync(0xffffffff, s, (threadIdx.x % 32 + q * B) % 32);
  return sum;
}

/* Algorithm 2, by block: a lane has an element of each 32 / B^2-th block. */
template <int B> __device__ __forceinline__ double ByBlock(const CsrMultArgs &a, int64_t k, int64_t end)
{
  constexpr int BLOCKS = 32 / (B * B);
  int lane = threadIdx.x % 32, e = lane % (B * B);
  double s = 0;
  if (lane < BLOCKS * B * B)
    for (k += lane / (B * B); k < end; k += BLOCKS)
      s += a.A.val[k * B * B + e] * Factors<B>(a, a.A.col[k])[e / B];
  return JoinLanes<B, BLOCKS * B>(s);
}

/* Algorithm 3, by column: a lane has an element of each 32 / B-th column of the block row. */
template <int B> __device__ __forceinline__ double ByColumn(const CsrMultArgs &a, int64_t k, int64_t end)
{
  constexpr int COLUMNS = 32 / B;
  int lane = threadIdx.x % 32;
  double s = 0;
  if (lane < COLUMNS * B)
    for (int64_t t = lane / B; t < (end - k) * B; t += COLUMNS)
      s += a.A.val[k * B * B + t * B + lane % B] * Factors<B>(a, a.A.col[k + t / B])[t % B];
  return JoinLanes<B, COLUMNS>(s);
}

/* Algorithm 5, row per thread: a lane has a row, and the x of a block comes through shared memory. */
template <int B>
__device__ __forceinline__ double ByRow(const CsrMultArgs &a, int64_t k, int64_t end, double *x)
{
  int lane = threadIdx.x % 32;
  double s = 0;
  for (; k < end; k++) {
    __syncwarp();
    if (lane < B) x[lane] = Factors<B>(a, a.A.col[k])[lane];
    __syncwarp();
    if (lane < B)
#pragma unroll
      for (int j = 0; j < B; j++) s += a.A.val[(k * B + j) * B + lane] * x[j];
  }
  return s;
}

template <int B, int FORM>
static __global__ void __launch_bounds__(32 * BCSR_PAPER_ROWS)
    BcsrPaper(const __grid_constant__ CsrMultArgs a)
{
  constexpr int T = 32 * BCSR_PAPER_ROWS;
  __shared__ double x[BCSR_PAPER_ROWS][32];
  PdlLaunchDependents();
  PdlWait();
  if (a.skip && *a.skip != 0) return;
  int warp = threadIdx.x / 32, r = threadIdx.x % 32;
  int64_t group = poiseBlockOf(&a, blockIdx.x), i = group * BCSR_PAPER_ROWS + warp, k = 0, end = 0;
  if (i < a.A.m) k = poiseCsrOffset(&a.A, i), end = poiseCsrOffset(&a.A, i + 1);
  double s;
  if constexpr (FORM == BCSR_BLOCK)
    s = ByBlock<B>(a, k, end);
  else if constexpr (FORM == BCSR_COLUMN)
    s = ByColumn<B>(a, k, end);
  else
    s = ByRow<B>(a, k, end, x[warp]);
  bool mine = i < a.A.m && r < B;
  i = i * B + r;
  double y = FinishBlockRow(a, mine, i, s);
  FuseRow<T>(a, mine, i, y, group);
}

template <int B> static PoiseErr Paper(Device *dev, const BcsrMultArgs *args)
{
  const CsrMultArgs *a = &args->c.m;
  void (*kernel)(CsrMultArgs) =
      args->form == BCSR_COLUMN ? BcsrPaper<B, BCSR_COLUMN> : BcsrPaper<B, BCSR_ROW>;
  if constexpr (B <= 5)
    if (args->form == BCSR_BLOCK) kernel = BcsrPaper<B, BCSR_BLOCK>;
  return LaunchPdl(dev, kernel, (unsigned)a->nblock, 32 * BCSR_PAPER_ROWS, 0, *a);
}

PoiseErr poiseCudaBcsrPaper(Device *dev, const BcsrMultArgs *a)
{
  typedef PoiseErr (*Run)(Device *, const BcsrMultArgs *);
  static const Run sizes[] = {Paper<1>, FROM_2_TO_32(Paper)};
  return sizes[a->c.m.A.b - 1](dev, a);
}

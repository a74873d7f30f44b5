/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels that change or reduce the values of a CSR, and kernels that look at its pattern. A short row is a
   thread's, a long row a thread block's (EachRow). */
#include "mat/product/bcsr_kernels.h"
#include "mat/product/csr_statistics_kernels.h"
#include "mat/csr/csr_values_kernels.h"
#include "mat/csr/keys_kernels.h"
#include "cuda.h"
#include "rows.h"

/* The value of x, or of the ghosts, at a column. */
__device__ __forceinline__ double At(const CsrView &A, const double *x, const double *ghost, int64_t col)
{
  int64_t owned = poiseInScalars(&A, A.nloc);
  return col < owned ? x[col] : ghost[col - owned];
}

/* This thread's row of scalars, or -1. With r: its r-th row, where a thread block has POISE_BLOCK rows. */
__device__ __forceinline__ int64_t RowOr(const CsrView &A, int64_t i)
{
  return i < poiseInScalars(&A, A.m) ? i : -1;
}

__device__ __forceinline__ int64_t ThisRow(const CsrView &A)
{
  return RowOr(A, blockIdx.x * (int64_t)THREADS + threadIdx.x);
}

__device__ __forceinline__ int64_t ThisRow(const CsrView &A, int r)
{
  return RowOr(A, (int64_t)blockIdx.x * POISE_BLOCK + r * THREADS + threadIdx.x);
}

/* What threads have found, to `to`. */
__device__ __forceinline__ void Publish(CsrStatistics *to, const CsrStatistics &mine)
{
  AddTo(&to->length_changes, mine.length_changes);
  AddTo(&to->cut, mine.cut);
  AddTo(&to->fragments, mine.fragments);
  AddTo(&to->empty, mine.empty);
  AddTo(&to->squares, mine.squares);
  AddTo(&to->rows_above, mine.rows_above);
  RaiseTo(&to->longest, mine.longest);
  RaiseTo(&to->max_share_nnz, mine.max_share_nnz);
#pragma unroll
  for (int k = 0; k < POISE_TILES; k++) RaiseTo(&to->tile[k], mine.tile[k]);
}

/* Statistics of row lengths. Traffic: 4 bytes per row, or 8. */
static __global__ void __launch_bounds__(THREADS) CsrStatisticsOf(const __grid_constant__ CsrStatisticsArgs a)
{
  __shared__ CsrStatistics block;
  int64_t start = blockIdx.x * (int64_t)THREADS + threadIdx.x, stride = (int64_t)gridDim.x * THREADS;
  CsrStatistics mine = {};
  if (threadIdx.x == 0) block = CsrStatistics{};
  __syncthreads();
  for (int64_t i = start; i < a.A.m; i += stride) {
    int64_t begin = poiseCsrOffset(&a.A, i), length = poiseCsrOffset(&a.A, i + 1) - begin;
    mine.length_changes += !i || length != begin - poiseCsrOffset(&a.A, i - 1);
    mine.empty += !length;
    mine.fragments += poiseCsrFragments(&a, length);
    if (a.limit && length >= a.limit) {
      mine.cut += length;
    } else {
      mine.squares += length * length;
      if (length > mine.longest) mine.longest = length;
      mine.rows_above += a.bound && length > a.bound;
    }
#pragma unroll
    for (int k = 0; k < POISE_TILES; k++) {
      int rows = 256 >> k;
      if (i % rows) continue;
      int64_t n = poiseCsrTile(&a, i, i + rows < a.A.m ? i + rows : a.A.m);
      if (n > mine.tile[k]) mine.tile[k] = n;
    }
  }
  for (int64_t s = start; a.share && s * a.share < a.A.m; s += stride)
    if (poiseCsrShare(&a, s) > mine.max_share_nnz) mine.max_share_nnz = poiseCsrShare(&a, s);
  Publish(&block, mine);
  __syncthreads();
  if (threadIdx.x < 32) Publish(a.out, threadIdx.x == 0 ? block : CsrStatistics{});
}

/* Counts the cache lines of x that a sample of entries touches, with a hash set in shared memory; and those
   of each warp's entries, of which a thread finds whether an earlier one has its line. */
static __global__ void __launch_bounds__(THREADS) CsrSpread(const __grid_constant__ CsrSpreadArgs a)
{
  enum { ROOM = 2 * POISE_SAMPLE };
  __shared__ int32_t set[ROOM];
  const int32_t *col = a.A.col + poiseSampleStart(&a.A, blockIdx.x);
  Number n = 0, gathers = 0;
  for (int k = threadIdx.x; k < ROOM; k += THREADS) set[k] = -1;
  __syncthreads();
  for (int k = threadIdx.x; k < POISE_SAMPLE; k += THREADS) {
    int32_t line = col[k] / POISE_LINE, there = 0;
    unsigned same = __match_any_sync(~0u, line), before = (1u << threadIdx.x % POISE_GATHER) - 1;
    gathers += !(same & before);
    for (uint32_t at = (poiseHash32(line) >> 16) % ROOM;; at = (at + 1) % ROOM) {
      there = atomicCAS(&set[at], -1, line);
      if (there < 0 || there == line) break;
    }
    n += there < 0;
  }
  AddTo(a.lines, n);
  AddTo(a.gathers, gathers);
}

/* A = diag(left) A diag(right). Traffic: 20 bytes per nonzero. */
static __global__ void __launch_bounds__(THREADS) CsrScale(const __grid_constant__ CsrScaleArgs a)
{
  EachRow(a.A, ThisRow(a.A), [&](int64_t i, int64_t k, int step) {
    ScalarRow row = poiseNumberRow(&a.A, i);
    for (; k < row.n; k += step) {
      int64_t place = poiseNumberPlace(&row, k);
      double v = a.val[place];
      if (a.left) v *= a.left[i];
      if (a.right || a.ghost) v *= At(a.A, a.right, a.ghost, poiseNumberColumn(&a.A, &row, k));
      a.val[place] = v;
    }
  });
}

/* Sets or adds to the diagonal, and counts the rows that lack it. Traffic: 4 bytes per nonzero up to the
   diagonal. */
static __global__ void __launch_bounds__(THREADS) CsrSetDiagonal(const __grid_constant__ CsrSetDiagonalArgs a)
{
  double lacking[1] = {0};
  for (int r = 0; r < ROWS; r++)
    EachRow(a.A, ThisRow(a.A, r), [&](int64_t i, int64_t k, int step) {
      double v = a.d ? a.d[i] : a.value;
      ScalarRow row = poiseNumberRow(&a.A, i);
      while (k < row.n && poiseNumberColumn(&a.A, &row, k) != i) k += step;
      bool found = k < row.n;
      if (found) {
        double *to = a.val + poiseNumberPlace(&row, k);
        *to = a.add ? *to + v : v;
      }
      if (step > 1) found = __syncthreads_or(found) || threadIdx.x > 0; /* thread 0 counts for all */
      if (!found) lacking[0] += 1;
    });
  BlockReduce<1, COMBINE_SUM>(lacking);
  if (threadIdx.x == 0) a.lacking[blockIdx.x] = lacking[0];
}

/* Sums of squares, or the largest row sum of magnitudes. Traffic: 8 bytes per nonzero. */
template <int COMBINE>
static __global__ void __launch_bounds__(THREADS) CsrNorm(const __grid_constant__ CsrNormArgs a)
{
  double block[1] = {0};
  for (int r = 0; r < ROWS; r++)
    EachRow(a.A, ThisRow(a.A, r), [&](int64_t i, int64_t k, int step) {
      double s[1] = {0};
      ScalarRow row = poiseNumberRow(&a.A, i);
      for (; k < row.n; k += step) {
        double v = a.A.val[poiseNumberPlace(&row, k)] * a.scale[0] * a.scale[1];
        s[0] += COMBINE == COMBINE_MAX ? fabs(v) : v * v;
      }
      if (COMBINE == COMBINE_MAX && step > 1) BlockReduce<1, COMBINE_SUM>(s); /* valid in the first warp */
      if (COMBINE == COMBINE_SUM || step == 1 || threadIdx.x == 0) block[0] = Join<COMBINE>(block[0], s[0]);
    });
  BlockReduce<1, COMBINE>(block);
  if (threadIdx.x == 0) a.partial[blockIdx.x] = block[0];
}

/* Finds diagonal entries. Traffic: some 4 bytes for each halving of a row. */
static __global__ void __launch_bounds__(THREADS) CsrDiagonals(const __grid_constant__ CsrDiagonalsArgs a)
{
  int64_t k = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (k < a.n) a.at[k] = poiseDiagonalPlace(&a, k);
}

/* Zeroes the listed rows. Traffic: 8 bytes per nonzero of these rows. */
static __global__ void __launch_bounds__(THREADS) CsrZeroRows(const __grid_constant__ CsrZeroRowsArgs a)
{
  int64_t k = blockIdx.x * (int64_t)THREADS + threadIdx.x, i = k < a.n ? a.row[k] : -1;
  EachRow(a.A, i, [&](int64_t j, int64_t e, int step) {
    ScalarRow row = poiseNumberRow(&a.A, j);
    for (; e < row.n; e += step) a.val[poiseNumberPlace(&row, e)] = 0;
  });
  if (i < 0) return;
  if (a.at) a.val[a.at[k]] = a.diagonal;
  if (a.b) a.b[i] = a.diagonal * a.x[i];
  if (a.mark) a.mark[i] = 1;
}

/* Zeroes the marked columns and moves their terms to b. Traffic: 4 bytes per nonzero, and 16 for those in the
   columns. One thread has a row, however long it is, since terms are subtracted from b in order. */
static __global__ void CsrZeroColumns(const __grid_constant__ CsrZeroColumnsArgs a)
{
  int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (i >= poiseInScalars(&a.A, a.A.m) || a.mark[i] != 0) return;
  ScalarRow row = poiseNumberRow(&a.A, i);
  for (int64_t k = 0; k < row.n; k++) {
    int64_t j = poiseNumberColumn(&a.A, &row, k);
    if (At(a.A, a.mark, a.ghost_mark, j) == 0) continue;
    double *v = a.val + poiseNumberPlace(&row, k);
    if (a.b) /* unfused, as on the host */
      a.b[i] = __dsub_rn(a.b[i], __dmul_rn(*v, At(a.A, a.x, a.ghost, j)));
    *v = 0;
  }
}

/* Do the patterns of two matrices differ? Compares offsets, then columns. Traffic: 8 bytes per nonzero. */
static __global__ void __launch_bounds__(THREADS) CsrDiffer(const __grid_constant__ CsrDifferArgs a)
{
  int64_t first = (int64_t)blockIdx.x * POISE_BLOCK,
          last = first + POISE_BLOCK < a.A.m ? first + POISE_BLOCK : a.A.m;
  int differs = 0;
  for (int64_t i = first + threadIdx.x; i <= last; i += THREADS)
    differs |= poiseCsrOffset(&a.A, i) != poiseCsrOffset(&a.B, i);
  differs = __syncthreads_or(differs);
  if (!differs) {
    int64_t end = poiseCsrOffset(&a.A, last);
    for (int64_t k = poiseCsrOffset(&a.A, first) + threadIdx.x; k < end; k += THREADS)
      differs |= a.A.col[k] != a.B.col[k];
    differs = __syncthreads_or(differs);
  }
  if (threadIdx.x == 0) a.partial[blockIdx.x] = differs != 0;
}

/* The row of entry k, which is one of [low, high). */
__device__ __forceinline__ int64_t RowOfEntry(const CsrView &A, int64_t k, int64_t low, int64_t high)
{
  while (high - low > 1) {
    int64_t mid = low + (high - low) / 2;
    if (poiseCsrOffset(&A, mid) <= k)
      low = mid;
    else
      high = mid;
  }
  return low;
}

/* A thread block finds the rows of its first and its last entry by bisection, and each thread those of its
   entries between them. Traffic: reads 4 bytes per nonzero and the offsets, writes 12 (16 where places are
   int64). */
static __global__ void __launch_bounds__(THREADS) CsrKeys(const __grid_constant__ CsrKeysArgs a)
{
  __shared__ int64_t edge[2];
  int64_t first = (int64_t)blockIdx.x * POISE_BLOCK, end = first + POISE_BLOCK;
  if (end > a.A.nz) end = a.A.nz;
  if (threadIdx.x < 2) edge[threadIdx.x] = RowOfEntry(a.A, threadIdx.x ? end - 1 : first, 0, a.A.m);
  __syncthreads();
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    int64_t k = first + r * THREADS + threadIdx.x;
    if (k >= end) return;
    a.key[k] = (uint64_t)a.A.col[k] << a.bits | (uint64_t)RowOfEntry(a.A, k, edge[0], edge[1] + 1);
    if (a.place32)
      a.place32[k] = (uint32_t)k;
    else
      a.place64[k] = k;
  }
}

/* Transposes blocks, with a thread per scalar that is written. The reads of a thread block are neighbours
   too. Traffic: 16 bytes per scalar, 4 or 8 per block. */
static __global__ void BcsrTransposeBlocks(const __grid_constant__ BcsrTransposeBlocksArgs a)
{
  int b = (int)a.b, numbers = b * b;
  int64_t first = blockIdx.x * (int64_t)THREADS, k = first / numbers;
  unsigned at = (unsigned)(first - k * numbers) + threadIdx.x, j = at % (unsigned)numbers;
  k += at / (unsigned)numbers;
  if (k >= a.n) return;
  int64_t from = a.from32 ? a.from32[k] : a.from64 ? a.from64[k] : k;
  a.out[k * numbers + j] = a.x[from * numbers + j % b * b + j / b];
}

/* Thread blocks for n items. Where there are many items a thread has several. */
static unsigned FewBlocks(int64_t n)
{
  enum { MOST = 1024 };
  return Grid(n < (int64_t)MOST * THREADS ? n : (int64_t)MOST * THREADS);
}

extern "C" PoiseErr poiseCuda_csr_statistics(Device *dev, const void *args)
{
  const CsrStatisticsArgs *a = (const CsrStatisticsArgs *)args;
  if (a->A.m) CsrStatisticsOf<<<FewBlocks(a->A.m), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

extern "C" PoiseErr poiseCuda_csr_x_lines(Device *dev, const void *args)
{
  CsrSpread<<<POISE_SAMPLES, THREADS, 0, poiseCudaStream(dev)>>>(*(const CsrSpreadArgs *)args);
  return POISE_OK;
}

extern "C" PoiseErr poiseCuda_csr_scale(Device *dev, const void *args)
{
  const CsrScaleArgs *a = (const CsrScaleArgs *)args;
  int64_t m = poiseInScalars(&a->A, a->A.m);
  if (m) CsrScale<<<Grid(m), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

extern "C" PoiseErr poiseCuda_csr_set_diagonal(Device *dev, const void *args)
{
  const CsrSetDiagonalArgs *a = (const CsrSetDiagonalArgs *)args;
  unsigned grid = (unsigned)POISE_NBLOCKS(poiseInScalars(&a->A, a->A.m));
  if (grid) CsrSetDiagonal<<<grid, THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

extern "C" PoiseErr poiseCuda_csr_norm(Device *dev, const void *args)
{
  const CsrNormArgs *a = (const CsrNormArgs *)args;
  unsigned grid = (unsigned)POISE_NBLOCKS(poiseInScalars(&a->A, a->A.m));
  if (grid && a->largest) CsrNorm<COMBINE_MAX><<<grid, THREADS, 0, poiseCudaStream(dev)>>>(*a);
  if (grid && !a->largest) CsrNorm<COMBINE_SUM><<<grid, THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

extern "C" PoiseErr poiseCuda_csr_diagonals(Device *dev, const void *args)
{
  const CsrDiagonalsArgs *a = (const CsrDiagonalsArgs *)args;
  if (a->n) CsrDiagonals<<<Grid(a->n), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

extern "C" PoiseErr poiseCuda_csr_zero_rows(Device *dev, const void *args)
{
  const CsrZeroRowsArgs *a = (const CsrZeroRowsArgs *)args;
  if (a->n) CsrZeroRows<<<Grid(a->n), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

extern "C" PoiseErr poiseCuda_csr_zero_columns(Device *dev, const void *args)
{
  const CsrZeroColumnsArgs *a = (const CsrZeroColumnsArgs *)args;
  int64_t m = poiseInScalars(&a->A, a->A.m);
  if (m) CsrZeroColumns<<<Grid(m), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

extern "C" PoiseErr poiseCuda_csr_differ(Device *dev, const void *args)
{
  const CsrDifferArgs *a = (const CsrDifferArgs *)args;
  if (a->A.m) CsrDiffer<<<(unsigned)POISE_NBLOCKS(a->A.m), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

extern "C" PoiseErr poiseCuda_bcsr_transpose_blocks(Device *dev, const void *args)
{
  const BcsrTransposeBlocksArgs *a = (const BcsrTransposeBlocksArgs *)args;
  if (a->n) BcsrTransposeBlocks<<<Grid(a->n * a->b * a->b), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

extern "C" PoiseErr poiseCuda_csr_keys(Device *dev, const void *args)
{
  const CsrKeysArgs *a = (const CsrKeysArgs *)args;
  if (a->A.nz) CsrKeys<<<(unsigned)POISE_NBLOCKS(a->A.nz), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

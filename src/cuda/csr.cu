/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels of plain CSR. */
#include "bulk.h"
#include "cuda.h"

enum {
  ROUND = 8,
  MOST_TILE = 64 * 1024,
  RESIDENT = 1056
}; /* nonzeros a thread has under way; bytes of shared memory for a tile; blocks on a GPU at once */

/* L neighbouring lanes per row, POISE_BLOCK rows per block; 12 bytes per nonzero, 4 per offset, x and y once. */
template <int L> static __global__ void __launch_bounds__(THREADS) CsrMult(const __grid_constant__ CsrMultArgs a)
{
  __shared__ double sum[POISE_BLOCK];
  LetFollow();
  Ready();
  if (a.skip && *a.skip != 0) return;
  int64_t block = a.order ? a.order[blockIdx.x] : blockIdx.x, first = block * POISE_BLOCK;
  int lane = threadIdx.x % L;
  for (int r = threadIdx.x / L; r < POISE_BLOCK; r += THREADS / L) {
    int64_t i = first + r, k = 0, end = 0;
    double s = 0;
    if (i < a.A.m) k = poiseCsrOffset(&a.A, i) + lane, end = poiseCsrOffset(&a.A, i + 1);
    for (; k < end; k += L) {
      int32_t c = a.A.col[k];
      s += a.A.val[k] * (c < a.A.nloc ? a.x[c] : a.ghost[c - a.A.nloc]);
    }
    for (int step = L / 2; step; step /= 2) s += __shfl_xor_sync(0xffffffff, s, step);
    if (lane == 0) sum[r] = s;
  }
  __syncthreads();
  double alpha = poiseScalar(a.a), beta = poiseScalar(a.b), y[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    int64_t i = first + r * THREADS + threadIdx.x;
    y[r] = 0;
    if (i >= a.A.m) continue;
    y[r] = alpha * sum[r * THREADS + threadIdx.x] + (beta == 0 ? 0 : beta * a.y[i]);
    a.y[i] = y[r];
  }
  FuseDots(a.fuse, y, first + threadIdx.x, a.A.m, block);
}

/* L neighbouring lanes per column: reads 4 bytes per nonzero for its place and its row each (the place 8 where it is int64), gathers
   its value and x, and writes y once. */
template <int L, typename Index>
static __global__ void __launch_bounds__(THREADS)
    CsrMultTranspose(const __grid_constant__ CsrMultTransposeArgs a, const Index *tptr, const Index *perm)
{
  int64_t j = (int64_t)blockIdx.x * (THREADS / L) + threadIdx.x / L, k = 0, end = 0;
  int lane = threadIdx.x % L;
  double s = 0;
  if (j < a.ncol) k = tptr[j] + lane, end = tptr[j + 1];
#pragma unroll 4
  for (; k < end; k += L) {
    double v = a.val[perm[k]];
    s += a.x ? v * a.x[a.row[k]] : fabs(v);
  }
  for (int step = L / 2; step; step /= 2) s += __shfl_xor_sync(0xffffffff, s, step);
  if (j >= a.ncol || lane != 0) return;
  if (j < a.nloc)
    a.y[j] = s;
  else
    a.ghost[j - a.nloc] = s;
}

/* One thread per row; d has been set to zero. */
static __global__ void CsrDiagonal(const __grid_constant__ CsrDiagonalArgs a)
{
  int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (i >= a.A.m) return;
  int64_t first = i - i % a.b;
  for (int64_t k = poiseCsrOffset(&a.A, i); k < poiseCsrOffset(&a.A, i + 1); k++) {
    int64_t j = a.A.col[k] - first;
    if (j >= 0 && j < a.b) a.d[first * a.b + j * a.b + i % a.b] = a.A.val[k];
  }
}

/* Nonzeros of a tile in shared memory: widened at both ends to multiples of 4, so that both arrays can be copied in 16 bytes. */
__host__ __device__ __forceinline__ int64_t TileRoom(int64_t tile)
{
  return (tile + 6) / 4 * 4;
}

/*
  early: the matrix does not change before this product, so it may be fetched before the kernel ahead has ended.
  The rows of a block fetched in bulk into shared memory, then L threads per row sum them: 12 bytes per nonzero, 4 per offset,
  x and y once. The copies need no registers and no threads, so a tile is under way for each resident block, and neighbouring
  threads own neighbouring rows, so a stencil's gather of x is coalesced.
*/
template <int L>
static __global__ void __launch_bounds__(THREADS) CsrTile(const __grid_constant__ CsrMultArgs a, bool early)
{
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ uint64_t barrier;
  constexpr int R = THREADS / L;
  LetFollow();
  if (!early) Ready();
  if (!early && a.skip && *a.skip != 0) return;
  int64_t block = a.order ? a.order[blockIdx.x] : blockIdx.x, first = block * R,
          last = first + R < a.A.m ? first + R : a.A.m;
  int64_t start = poiseCsrOffset(&a.A, first) & ~(int64_t)3, end = poiseCsrOffset(&a.A, last),
          stop = (end + 3) & ~(int64_t)3;
  if (stop > a.A.nz) stop = a.A.nz & ~(int64_t)3; /* a copy must not read behind the arrays */
  int bulk = stop > start ? (int)(stop - start) : 0;
  double *val = (double *)memory;
  int32_t *col = (int32_t *)(val + TileRoom(a.tile));
  if (threadIdx.x == 0 && bulk) {
    BulkStart(&barrier, (uint32_t)bulk * 12);
    BulkCopy(val, a.A.val + start, (uint32_t)bulk * 8, &barrier);
    BulkCopy(col, a.A.col + start, (uint32_t)bulk * 4, &barrier);
  }
  for (int64_t k = start + bulk + threadIdx.x; k < end; k += THREADS)
    val[k - start] = a.A.val[k], col[k - start] = a.A.col[k];
  int64_t i = first + threadIdx.x / L;
  int lane = threadIdx.x % L, k = 0, kend = 0;
  if (i < last) k = (int)(poiseCsrOffset(&a.A, i) - start) + lane, kend = (int)(poiseCsrOffset(&a.A, i + 1) - start);
  if (early) Ready();
  __syncthreads();
  if (bulk) BulkWait(&barrier);
  if (early && a.skip && *a.skip != 0) return;
  double s = 0;
  for (; k < kend; k += ROUND * L) {
    double x[ROUND];
#pragma unroll
    for (int r = 0; r < ROUND; r++) {
      int32_t c = k + r * L < kend ? col[k + r * L] : -1;
      x[r] = c < 0 ? 0 : c < a.A.nloc ? a.x[c] : a.ghost[c - a.A.nloc];
    }
#pragma unroll
    for (int r = 0; r < ROUND; r++)
      if (k + r * L < kend) s += val[k + r * L] * x[r];
  }
  for (int step = L / 2; step; step /= 2) s += __shfl_xor_sync(0xffffffff, s, step);
  double alpha = poiseScalar(a.a), beta = poiseScalar(a.b), y = 0;
  bool mine = i < last && lane == 0;
  if (mine) {
    y = alpha * s + (beta == 0 ? 0 : beta * a.y[i]);
    a.y[i] = y;
  }
  for (int f = 0; f < a.fuse.ndot; f++) {
    double d[1] = {0};
    if (mine) d[0] = (a.fuse.u[f] ? a.fuse.u[f][i] : a.fuse.d[f] ? a.fuse.d[f][i] * y : y) * y;
    BlockReduce<1, COMBINE_SUM>(d);
    if (threadIdx.x == 0) a.fuse.partial[f][block] = d[0];
  }
}

/* ---- the choice ------------------------------------------------------------------------------------------------------- */

/* Threads per row so that each has about 10 nonzeros at most; blocks of as many rows as there are threads for, if their
   nonzeros fit into shared memory and no block has far more of them than the mean. */
int poiseCudaCsrRows(Device *dev, const CsrStatistics *s)
{
  double mean = s->m ? (double)s->nz / (double)s->m : 0;
  int k = 0;
  while (k < POISE_TILES - 1 && mean / (1 << k) > 10) k++;
  int rows = THREADS >> k;
  bool even = (double)s->tile[k] <= 1.5 * mean * rows + 64;
  return poiseCudaHasBulk(dev) && even && TileRoom(s->tile[k]) * 12 <= MOST_TILE ? rows : POISE_BLOCK;
}

template <int L> static PoiseErr Rows(Device *dev, const CsrMultArgs *a)
{
  return Follow(dev, CsrMult<L>, (unsigned)a->nblock, THREADS, 0, *a);
}

template <int L> static PoiseErr Tiles(Device *dev, const CsrMultArgs *a)
{
  size_t bytes = (size_t)TileRoom(a->tile) * 12;
  if (bytes > 48 * 1024)
    TRY(poiseCudaCheck(cudaFuncSetAttribute(CsrTile<L>, cudaFuncAttributeMaxDynamicSharedMemorySize, MOST_TILE),
                       "shared memory of csr_mult"));
  bool early =
      poiseCudaCaptures(dev) && a->nblock <= RESIDENT; /* more of them hide it, and skipped ones would fetch in vain */
  return Follow(dev, CsrTile<L>, (unsigned)a->nblock, THREADS, bytes, *a, early);
}

template <int L> static PoiseErr Columns(Device *dev, const CsrMultTransposeArgs *a)
{
  unsigned grid = (unsigned)((a->ncol + THREADS / L - 1) / (THREADS / L));
  if (a->tptr32)
    CsrMultTranspose<L><<<grid, THREADS, 0, poiseCudaStream(dev)>>>(*a, a->tptr32, a->perm32);
  else
    CsrMultTranspose<L><<<grid, THREADS, 0, poiseCudaStream(dev)>>>(*a, a->tptr64, a->perm64);
  return POISE_OK;
}

/* 2^k lanes share the work of n rows or columns. */
static int LanesOf(int64_t nz, int64_t n)
{
  static const double most[] = {4, 10, 20, 48, 128}; /* mean lengths */
  double mean = (double)nz / (double)n;
  int k = 0;
  while (k < 5 && mean > most[k]) k++;
  return k;
}

extern "C" PoiseErr poiseCuda_csr_mult(Device *dev, const void *args)
{
  typedef PoiseErr (*Run)(Device *, const CsrMultArgs *);
  static const Run tiles[POISE_TILES] = {Tiles<1>, Tiles<2>, Tiles<4>, Tiles<8>, Tiles<16>, Tiles<32>};
  static const Run rows[] = {Rows<1>, Rows<2>, Rows<4>, Rows<8>, Rows<16>, Rows<32>};
  const CsrMultArgs *a = (const CsrMultArgs *)args;
  int k = 0;
  if (!a->nblock) return POISE_OK;
  if (a->rows == POISE_BLOCK) return rows[LanesOf(a->A.nz, a->A.m)](dev, a);
  while (THREADS >> k > a->rows) k++;
  return tiles[k](dev, a);
}

extern "C" PoiseErr poiseCuda_csr_mult_transpose(Device *dev, const void *args)
{
  typedef PoiseErr (*Run)(Device *, const CsrMultTransposeArgs *);
  static const Run columns[] = {Columns<1>, Columns<2>, Columns<4>, Columns<8>, Columns<16>, Columns<32>};
  const CsrMultTransposeArgs *a = (const CsrMultTransposeArgs *)args;
  return a->ncol ? columns[LanesOf(a->nz, a->ncol)](dev, a) : POISE_OK;
}

extern "C" PoiseErr poiseCuda_csr_diagonal(Device *dev, const void *args)
{
  const CsrDiagonalArgs *a = (const CsrDiagonalArgs *)args;
  unsigned grid = (unsigned)((a->A.m + THREADS - 1) / THREADS);
  if (!grid) return POISE_OK;
  cudaMemsetAsync(a->d, 0, (size_t)a->A.m * (size_t)a->b * sizeof(double), poiseCudaStream(dev));
  CsrDiagonal<<<grid, THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

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

static __global__ void CsrMultTranspose(const __grid_constant__ CsrMultTransposeArgs a)
{
  int64_t j = blockIdx.x * (int64_t)THREADS + threadIdx.x;
  if (j >= a.ncol) return;
  double s = 0;
  for (int64_t k = a.tptr[j]; k < a.tptr[j + 1]; k++) s += a.x ? a.val[a.perm[k]] * a.x[a.row[k]] : fabs(a.val[a.perm[k]]);
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

/* What a finished row y is multiplied with in dot k. */
__device__ __forceinline__ double Factor(const Fuse &f, int k, int64_t i, double y)
{
  return f.u[k] ? f.u[k][i] : f.d[k] ? f.d[k][i] * y : y;
}

/*
  The rows of a block fetched in bulk into shared memory, then L threads per row sum them: 12 bytes per nonzero, 4 per offset,
  x and y once. The copies need no registers and no threads, so a tile is under way for each resident block, and neighbouring
  threads own neighbouring rows, so a stencil's gather of x is coalesced.
  EARLY, for systems so small that latency is all: the matrix does not change before this product, so it is fetched before the
  kernel ahead has ended; and nothing waits for what is not needed yet.
*/
template <int T, int L, bool EARLY>
static __global__ void __launch_bounds__(T) CsrTile(const __grid_constant__ CsrMultArgs a)
{
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ uint64_t barrier;
  constexpr int R = T / L;
  LetFollow();
  if (!EARLY) Ready();
  if (!EARLY && a.skip && *a.skip != 0) return;
  int64_t block = a.order ? a.order[blockIdx.x] : blockIdx.x, first = block * R,
          last = first + R < a.A.m ? first + R : a.A.m;
  int64_t start = poiseCsrOffset(&a.A, first) & ~(int64_t)3, end = poiseCsrOffset(&a.A, last),
          stop = (end + 3) & ~(int64_t)3;
  if (stop > a.A.nz) stop = a.A.nz & ~(int64_t)3; /* a copy must not read behind the arrays */
  int bulk = stop > start ? (int)(stop - start) : 0;
  double *val = (double *)memory;
  int32_t *col = (int32_t *)(val + TileRoom(a.tile));
  if (threadIdx.x == 0 && bulk) {
    BulkInit(&barrier);
    BulkExpect(&barrier, (uint32_t)bulk * 12);
    BulkCopy(val, a.A.val + start, (uint32_t)bulk * 8, &barrier);
    BulkCopy(col, a.A.col + start, (uint32_t)bulk * 4, &barrier);
  }
  for (int64_t k = start + bulk + threadIdx.x; k < end; k += T) val[k - start] = a.A.val[k], col[k - start] = a.A.col[k];
  int64_t i = first + threadIdx.x / L;
  int lane = threadIdx.x % L, k = 0, kend = 0;
  bool mine = i < last && lane == 0;
  if (i < last) k = (int)(poiseCsrOffset(&a.A, i) - start) + lane, kend = (int)(poiseCsrOffset(&a.A, i + 1) - start);
  double skip = 0, alpha = 0, beta = 0, known[2] = {0, 0}; /* known: factors of dots that do not wait for y */
  if (EARLY) {
    Ready();
    if (a.skip) skip = *a.skip;
    alpha = poiseScalar(a.a), beta = poiseScalar(a.b);
    for (int f = 0; f < 2; f++)
      if (mine && f < a.fuse.ndot && (a.fuse.u[f] || a.fuse.d[f])) known[f] = a.fuse.u[f] ? a.fuse.u[f][i] : a.fuse.d[f][i];
  }
  __syncthreads();
  if (bulk) BulkWait(&barrier, 0);
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
  if (EARLY && skip != 0) return;
  if (!EARLY) alpha = poiseScalar(a.a), beta = poiseScalar(a.b);
  double y = 0;
  if (mine) {
    y = alpha * s + (beta == 0 ? 0 : beta * a.y[i]);
    a.y[i] = y;
  }
  if (EARLY && a.fuse.ndot == 2) {
    double d[2];
    for (int f = 0; f < 2; f++) d[f] = mine ? (a.fuse.u[f] ? known[f] : a.fuse.d[f] ? known[f] * y : y) * y : 0;
    BlockReduce<2, COMBINE_SUM, T>(d);
    if (threadIdx.x == 0) a.fuse.partial[0][block] = d[0], a.fuse.partial[1][block] = d[1];
    return;
  }
  for (int f = 0; f < a.fuse.ndot; f++) {
    double d[1] = {0};
    if (mine) d[0] = (EARLY && f == 0 && a.fuse.u[0] ? known[0] : Factor(a.fuse, f, i, y)) * y;
    BlockReduce<1, COMBINE_SUM, T>(d);
    if (threadIdx.x == 0) a.fuse.partial[f][block] = d[0];
  }
}

/* ---- the choice ------------------------------------------------------------------------------------------------------- */

/* log2 of the threads of a row, so that each has about 10 nonzeros at most. */
static int Lanes(int64_t m, int64_t nz)
{
  double mean = m ? (double)nz / (double)m : 0;
  int k = 0;
  while (k < 5 && mean / (1 << k) > 10) k++;
  return k;
}

/* Blocks of as many rows as there are threads for, if their nonzeros fit into shared memory and no block has far more of them than
   the mean. Many blocks are of half as many threads: fewer of them wait for the slowest (4 % faster for rows of 5 and 27). */
int poiseCudaCsrRows(Device *dev, const CsrStatistics *s)
{
  int k = Lanes(s->m, s->nz), rows = THREADS >> k;
  if (s->m > (int64_t)RESIDENT * rows) k++, rows /= 2;
  double mean = s->m ? (double)s->nz / (double)s->m : 0;
  bool even = (double)s->tile[k] <= 1.5 * mean * rows + 64;
  return poiseCudaHasBulk(dev) && even && TileRoom(s->tile[k]) * 12 <= MOST_TILE ? rows : POISE_BLOCK;
}

template <int L> static PoiseErr Rows(Device *dev, const CsrMultArgs *a)
{
  return Follow(dev, CsrMult<L>, (unsigned)a->nblock, THREADS, 0, *a);
}

template <int T, int L, bool EARLY> static PoiseErr Tiles(Device *dev, const CsrMultArgs *a)
{
  size_t bytes = (size_t)TileRoom(a->tile) * 12;
  if (bytes > 48 * 1024)
    TRY(poiseCudaCheck(cudaFuncSetAttribute(CsrTile<T, L, EARLY>, cudaFuncAttributeMaxDynamicSharedMemorySize, MOST_TILE),
                       "shared memory of csr_mult"));
  return Follow(dev, CsrTile<T, L, EARLY>, (unsigned)a->nblock, T, bytes, *a);
}

/* More blocks than are resident hide latency, and skipped ones would fetch in vain. */
template <int L> static PoiseErr Tile(Device *dev, const CsrMultArgs *a)
{
  if (a->rows * L < THREADS) return Tiles<THREADS / 2, L, false>(dev, a);
  if (poiseCudaCaptures(dev) && a->nblock <= RESIDENT) return Tiles<THREADS, L, true>(dev, a);
  return Tiles<THREADS, L, false>(dev, a);
}

extern "C" PoiseErr poiseCuda_csr_mult(Device *dev, const void *args)
{
  typedef PoiseErr (*Run)(Device *, const CsrMultArgs *);
  static const Run tiles[] = {Tile<1>, Tile<2>, Tile<4>, Tile<8>, Tile<16>, Tile<32>};
  static const struct {
    double most; /* mean row length */
    Run run;
  } rows[] = {{4, Rows<1>}, {10, Rows<2>}, {20, Rows<4>}, {48, Rows<8>}, {128, Rows<16>}, {HUGE_VAL, Rows<32>}};
  const CsrMultArgs *a = (const CsrMultArgs *)args;
  double mean = a->A.m ? (double)a->A.nz / (double)a->A.m : 0;
  int k = 0;
  if (!a->nblock) return POISE_OK;
  if (a->rows < POISE_BLOCK) return tiles[Lanes(a->A.m, a->A.nz)](dev, a);
  while (mean > rows[k].most) k++;
  return rows[k].run(dev, a);
}

extern "C" PoiseErr poiseCuda_csr_mult_transpose(Device *dev, const void *args)
{
  const CsrMultTransposeArgs *a = (const CsrMultTransposeArgs *)args;
  unsigned grid = (unsigned)((a->ncol + THREADS - 1) / THREADS);
  if (grid) CsrMultTranspose<<<grid, THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
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

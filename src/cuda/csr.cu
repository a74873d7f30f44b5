/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels of plain CSR. */
#include "tile.h"

enum { RESIDENT = 1056 }; /* blocks on a GPU at once */

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

/* ---- the choice ------------------------------------------------------------------------------------------------------- */

template <int T, int L, int MODE> static __global__ void __launch_bounds__(T) CsrTile(const __grid_constant__ CsrMultArgs a)
{
  LetFollow();
  if (MODE != EARLY_TILE) Ready();
  if (MODE != EARLY_TILE && a.skip && *a.skip != 0) return;
  TileOfRows<T, L, MODE>(a, blockIdx.x, 0);
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

template <int T, int L, int MODE> static PoiseErr Tiles(Device *dev, const CsrMultArgs *a)
{
  size_t bytes = (size_t)TileRoom(a->tile) * 12;
  if (bytes > 48 * 1024)
    TRY(poiseCudaCheck(cudaFuncSetAttribute(CsrTile<T, L, MODE>, cudaFuncAttributeMaxDynamicSharedMemorySize, MOST_TILE),
                       "shared memory of csr_mult"));
  return Follow(dev, CsrTile<T, L, MODE>, (unsigned)a->nblock, T, bytes, *a);
}

/* More blocks than are resident hide latency, and skipped ones would fetch in vain. */
template <int L> static PoiseErr Tile(Device *dev, const CsrMultArgs *a)
{
  if (a->rows * L < THREADS) return Tiles<THREADS / 2, L, PLAIN_TILE>(dev, a);
  if (poiseCudaCaptures(dev) && a->nblock <= RESIDENT) return Tiles<THREADS, L, EARLY_TILE>(dev, a);
  return Tiles<THREADS, L, PLAIN_TILE>(dev, a);
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

/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels of matrices of blocks. */
#include "tile.h"

/* B x PARTS threads per row of blocks: thread (r, p) has row r of every PARTS-th block. ROWS rows of blocks are a group. */
constexpr __host__ __device__ int Parts(int b)
{
  return b <= 4 ? 4 : 8;
}

constexpr __host__ __device__ int GroupRows(int b)
{
  int rows = 1;
  while (2 * rows * b * Parts(b) <= THREADS) rows *= 2;
  return rows;
}

constexpr __host__ __device__ int GroupThreads(int b)
{
  return (GroupRows(b) * b * Parts(b) + 31) / 32 * 32;
}

/* Numbers of a tile in shared memory, widened at both ends to 16 bytes. */
static size_t TileNumbers(int64_t tile, int b)
{
  return (size_t)(tile * b * b + 2) / 2 * 2;
}

static size_t TileBytes(int64_t tile, int b)
{
  return TileNumbers(tile, b) * sizeof(double) + (size_t)tile * sizeof(int32_t);
}

/* Row r of blocks p, p + PARTS, ... of the n blocks that begin at val and col, times x. */
template <int B>
__device__ __forceinline__ double PartOfBlocks(const CsrMultArgs &a, const double *val, const int32_t *col, int64_t k,
                                               int64_t n, int r)
{
  double s = 0;
#pragma unroll 4
  for (; k < n; k += Parts(B)) {
    int64_t c = col[k];
    const double *x = c < a.A.nloc ? a.x + c * B : a.ghost + (c - a.A.nloc) * B, *v = val + k * B * B + r;
#pragma unroll
    for (int j = 0; j < B; j++) s += v[j * B] * x[j];
  }
  return s;
}

/*
  8 bytes per number, 4 per block and per offset, x and y once. TILE: the group's blocks lie in one piece, which a bulk copy brings to shared
  memory while threads fetch their columns; else they are read from where they are.
*/
template <int B, bool TILE>
static __global__ void __launch_bounds__(GroupThreads(B)) BcsrMult(const __grid_constant__ CsrMultArgs a)
{
  constexpr int P = Parts(B), R = GroupRows(B), T = GroupThreads(B);
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ uint64_t barrier;
  __shared__ double part[T];
  LetFollow();
  Ready();
  if (a.skip && *a.skip != 0) return;
  int64_t group = a.order ? a.order[blockIdx.x] : blockIdx.x, first = group * R,
          last = first + R < a.A.m ? first + R : a.A.m;
  int64_t begin = poiseCsrOffset(&a.A, first), end = poiseCsrOffset(&a.A, last);
  const double *val = a.A.val + begin * B * B;
  const int32_t *col = a.A.col + begin;
  if (TILE) {
    double *values = (double *)memory;
    int32_t *columns = (int32_t *)(values + (a.tile * B * B + 2) / 2 * 2);
    int64_t start = begin * B * B & ~(int64_t)1, stop = (end * B * B + 1) & ~(int64_t)1;
    if (stop > a.A.nz * B * B) stop = a.A.nz * B * B & ~(int64_t)1; /* a copy must not read behind the array */
    bool aligned = (uintptr_t)a.A.val % 16 == 0;                    /* a borrowed array may begin anywhere */
    int bulk = aligned && stop > start ? (int)(stop - start) : 0;
    if (threadIdx.x == 0 && bulk) {
      BulkInit(&barrier);
      BulkExpect(&barrier, (uint32_t)bulk * 8);
      BulkCopy(values, a.A.val + start, (uint32_t)bulk * 8, &barrier);
    }
    for (int64_t k = start + bulk + threadIdx.x; k < end * B * B; k += T) values[k - start] = a.A.val[k];
    for (int64_t k = begin + threadIdx.x; k < end; k += T) columns[k - begin] = a.A.col[k];
    __syncthreads();
    if (bulk) BulkWait(&barrier, 0);
    val = values + (begin * B * B - start), col = columns;
  }
  int r = threadIdx.x % B, p = threadIdx.x / B % P;
  int64_t i = first + threadIdx.x / (B * P);
  double s = 0;
  if (threadIdx.x < R * B * P && i < last)
    s = PartOfBlocks<B>(a, val, col, poiseCsrOffset(&a.A, i) - begin + p, poiseCsrOffset(&a.A, i + 1) - begin, r);
  part[threadIdx.x] = s;
  __syncthreads();
  bool mine = threadIdx.x < R * B * P && i < last && p == 0;
  double y = 0;
  if (mine) {
    double beta = poiseScalar(a.b);
    for (int q = 1; q < P; q++) s += part[threadIdx.x + q * B];
    i = i * B + r;
    y = poiseScalar(a.a) * s + (beta == 0 ? 0 : beta * a.y[i]);
    a.y[i] = y;
  }
  for (int f = 0; f < a.fuse.ndot; f++) {
    double d[1] = {mine ? Factor(a.fuse, f, i, y) * y : 0};
    BlockReduce<1, COMBINE_SUM, T>(d);
    if (threadIdx.x == 0) a.fuse.partial[f][group] = d[0];
  }
}

/* A thread per number of y, or of the ghosts. */
static __global__ void BcsrMultTranspose(const __grid_constant__ CsrMultTransposeArgs m)
{
  int64_t t = blockIdx.x * (int64_t)THREADS + threadIdx.x, b = m.b, j = t / b, c = t % b;
  if (j >= m.ncol) return;
  int64_t k = m.tptr64 ? m.tptr64[j] : m.tptr32[j], end = m.tptr64 ? m.tptr64[j + 1] : m.tptr32[j + 1];
  double s = 0;
  for (; k < end; k++) {
    const double *v = m.val + ((m.perm64 ? m.perm64[k] : (int64_t)m.perm32[k]) * b + c) * b;
    for (int64_t r = 0; r < b; r++) s += m.x ? v[r] * m.x[m.row[k] * b + r] : fabs(v[r]);
  }
  if (j < m.nloc)
    m.y[t] = s;
  else
    m.ghost[t - m.nloc * b] = s;
}

/* ---- the choice ------------------------------------------------------------------------------------------------------- */

int poiseCudaBcsrRows(Device *, int b, const CsrStatistics *)
{
  return GroupRows(b);
}

template <int B> static PoiseErr Groups(Device *dev, const CsrMultArgs *a)
{
  size_t bytes = TileBytes(a->tile, B);
  bool tile = poiseCudaHasBulk(dev) && bytes <= MOST_TILE;
  if (!tile) return Follow(dev, BcsrMult<B, false>, (unsigned)a->nblock, GroupThreads(B), 0, *a);
  TRY(LetShare((const void *)BcsrMult<B, true>, bytes));
  return Follow(dev, BcsrMult<B, true>, (unsigned)a->nblock, GroupThreads(B), bytes, *a);
}

extern "C" PoiseErr poiseCuda_bcsr_mult(Device *dev, const void *args)
{
  typedef PoiseErr (*Run)(Device *, const CsrMultArgs *);
  static const Run sizes[] = {Groups<1>,  Groups<2>,  Groups<3>,  Groups<4>,  Groups<5>,  Groups<6>,  Groups<7>,
                              Groups<8>,  Groups<9>,  Groups<10>, Groups<11>, Groups<12>, Groups<13>, Groups<14>,
                              Groups<15>, Groups<16>, Groups<17>, Groups<18>, Groups<19>, Groups<20>, Groups<21>,
                              Groups<22>, Groups<23>, Groups<24>, Groups<25>, Groups<26>, Groups<27>, Groups<28>,
                              Groups<29>, Groups<30>, Groups<31>, Groups<32>};
  const CsrMultArgs *a = (const CsrMultArgs *)args;
  return a->nblock ? sizes[a->A.b - 1](dev, a) : POISE_OK;
}

extern "C" PoiseErr poiseCuda_bcsr_mult_transpose(Device *dev, const void *args)
{
  const CsrMultTransposeArgs *a = (const CsrMultTransposeArgs *)args;
  unsigned grid = Grid(a->ncol * a->b);
  if (grid) BcsrMultTranspose<<<grid, THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

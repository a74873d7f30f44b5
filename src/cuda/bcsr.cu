/* SPDX-License-Identifier: BSD-3-Clause */
/* Products with matrices of blocks whose rows are of about one length: groups of rows through shared memory. */
#include <limits.h>

#include "bcsr.h"

/*
  What pays for blocks of b x b (H200, 27 blocks a row, 2 GB, bench/results): up to 12, a thread has a column of every PARTS-th block of a row,
  so that it loads one number of x for b of the matrix, many of them at once. Beyond, the sums of a column take too many registers; a thread
  has a row of every PARTS-th block. So it is for 2, where columns are too short.
*/
constexpr __host__ __device__ bool ByColumns(int b)
{
  return b >= 3 && b <= 12;
}

constexpr __host__ __device__ int Parts(int b)
{
  return b <= 12 ? 4 : 8;
}

/* A power of two of rows of blocks makes a group, of about 128 threads. */
constexpr __host__ __device__ int GroupRows(int b)
{
  int rows = 1;
  while (2 * rows * b * Parts(b) <= 128) rows *= 2;
  return rows;
}

constexpr __host__ __device__ int GroupThreads(int b)
{
  return (GroupRows(b) * b * Parts(b) + 31) / 32 * 32;
}

/* Blocks k, k + PARTS, ... below n of a row, from val and col on; this thread's column of them. */
template <int B, typename Wait>
__device__ __forceinline__ void AddColumns(const CsrMultArgs &a, const double *val, const int32_t *col, int k, int n, int j,
                                           Wait wait, double (&s)[B])
{
  constexpr int P = Parts(B), ROUND = 8;
  for (; k < n; k += P * ROUND) {
    double x[ROUND];
#pragma unroll
    for (int u = 0; u < ROUND; u++) x[u] = k + u * P < n ? Factors<B>(a, col[k + u * P])[j] : 0;
    wait();
#pragma unroll
    for (int u = 0; u < ROUND; u++)
      if (k + u * P < n) {
        const double *v = val + (k + u * P) * B * B + j * B;
#pragma unroll
        for (int r = 0; r < B; r++) s[r] += v[r] * x[u];
      }
  }
}

/* The same of this thread's row, by strips of columns. */
template <int B, typename Wait>
__device__ __forceinline__ double AddRow(const CsrMultArgs &a, const double *val, const int32_t *col, int k, int n, int r,
                                         Wait wait, double s)
{
  constexpr int P = Parts(B), ROUND = B == 2 ? 4 : B <= 16 ? 2 : 1, STRIP = B <= 16 ? B : 8;
  for (; k < n; k += P * ROUND)
#pragma unroll
    for (int first = 0; first < B; first += STRIP) {
      double x[ROUND][STRIP];
#pragma unroll
      for (int u = 0; u < ROUND; u++) {
        const double *from = k + u * P < n ? Factors<B>(a, col[k + u * P]) + first : NULL;
#pragma unroll
        for (int j = 0; j < STRIP; j++) x[u][j] = from && first + j < B ? from[j] : 0;
      }
      wait();
#pragma unroll
      for (int u = 0; u < ROUND; u++)
        if (k + u * P < n) {
          const double *v = val + (k + u * P) * B * B + first * B + r;
#pragma unroll
          for (int j = 0; j < STRIP; j++)
            if (first + j < B) s += v[j * B] * x[u][j];
        }
    }
  return s;
}

/* Sums of columns to sums of rows: thread (j, p) leaves with what its part of the row has in row j. */
template <int B, int T> __device__ __forceinline__ double TurnColumns(const double (&s)[B], double *share, int j)
{
  __syncthreads();
#pragma unroll
  for (int r = 0; r < B; r++) share[r * T + threadIdx.x] = s[r];
  __syncthreads();
  double sum = 0;
  for (int q = 0; q < B; q++) sum += share[j * T + ((int)threadIdx.x - j + q) % T];
  return sum;
}

/*
  8 bytes per number, 4 per block and per offset, x and y once. BULK: the values of a group come into shared memory by a bulk copy, a tile of
  at most `room` blocks at a time, while threads fetch what they are to be multiplied by; else they are read from where they are.
*/
template <int B, bool BULK>
static __global__ void __launch_bounds__(GroupThreads(B)) BcsrEven(const __grid_constant__ CsrMultArgs a, int room)
{
  constexpr int P = Parts(B), R = GroupRows(B), T = GroupThreads(B);
  extern __shared__ __align__(128) double tile[];
  __shared__ uint64_t barrier;
  __shared__ double part[T];
  LetFollow();
  Ready();
  if (a.skip && *a.skip != 0) return;
  int64_t group = a.order ? a.order[blockIdx.x] : blockIdx.x, first = group * R,
          last = first + R < a.A.m ? first + R : a.A.m;
  int64_t begin = poiseCsrOffset(&a.A, first), end = poiseCsrOffset(&a.A, last);
  int j = threadIdx.x % B, p = threadIdx.x / B % P; /* column or row within blocks, part of the row of blocks */
  int64_t i = first + threadIdx.x / (B * P);
  bool active = threadIdx.x < R * B * P && i < last;
  int64_t from = active ? poiseCsrOffset(&a.A, i) : 0, to = active ? poiseCsrOffset(&a.A, i + 1) : 0;
  double s[ByColumns(B) ? B : 1] = {0};
  unsigned round = 0;
  int step = BULK ? room : INT_MAX;
  for (int64_t at = begin; at < end; at += step, round++) {
    int64_t stop = at + step < end ? at + step : end;
    const double *val = BULK ? FetchBlocks<B>(a.A, at, stop, tile, &barrier, round == 0) : a.A.val + at * B * B;
    bool waits = BULK;
    auto wait = [&] {
      if (waits) BulkWait(&barrier, round % 2);
      waits = false;
    };
    int low = (int)((from > at ? from : at) - at), n = (int)((to < stop ? to : stop) - at);
    int k = low + (int)((p - (at + low - from)) & (P - 1));
    if constexpr (ByColumns(B))
      AddColumns<B>(a, val, a.A.col + at, k, n, j, wait, s);
    else
      s[0] = AddRow<B>(a, val, a.A.col + at, k, n, j, wait, s[0]);
    wait();
    if (stop < end) __syncthreads();
  }
  double sum = s[0];
  if constexpr (ByColumns(B)) sum = TurnColumns<B, T>(s, tile, j);
  part[threadIdx.x] = sum;
  __syncthreads();
  bool mine = active && p == 0;
  if (mine)
    for (int q = 1; q < P; q++) sum += part[threadIdx.x + q * B];
  i = i * B + j;
  double y = FinishRow(a, mine, i, sum);
  FuseRow<T>(a, mine, i, y, group);
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

int poiseCudaBcsrRows(Device *, int b, int form)
{
  if (form == BCSR_BLOCK) return b <= 5 ? PAPER_ROWS : 0;
  return form == BCSR_COLUMN || form == BCSR_ROW ? PAPER_ROWS : GroupRows(b);
}

template <int B> static PoiseErr Even(Device *dev, const BcsrMultArgs *args)
{
  constexpr int T = GroupThreads(B);
  const CsrMultArgs *a = &args->c.m;
  int64_t room = TileBlocks(a->tile, B);
  size_t sums = ByColumns(B) ? (size_t)T * B * sizeof(double) : 0, bytes = (size_t)TileNumbers(room, B) * sizeof(double);
  if (!CanBulk(dev, a)) return Follow(dev, BcsrEven<B, false>, (unsigned)a->nblock, T, sums, *a, 0);
  return Follow(dev, BcsrEven<B, true>, (unsigned)a->nblock, T, bytes < sums ? sums : bytes, *a, (int)room);
}

extern "C" PoiseErr poiseCuda_bcsr_mult(Device *dev, const void *args)
{
  typedef PoiseErr (*Run)(Device *, const BcsrMultArgs *);
  static const Run even[] = {FROM_2_TO_32(Even)};
  const BcsrMultArgs *a = (const BcsrMultArgs *)args;
  if (a->form == BCSR_BALANCED) return poiseCudaBcsrBalanced(dev, a);
  if (!a->c.m.nblock) return POISE_OK;
  return a->form == BCSR_EVEN ? even[a->c.m.A.b - 2](dev, a) : poiseCudaBcsrPaper(dev, a);
}

extern "C" PoiseErr poiseCuda_bcsr_mult_transpose(Device *dev, const void *args)
{
  const CsrMultTransposeArgs *a = (const CsrMultTransposeArgs *)args;
  unsigned grid = Grid(a->ncol * a->b);
  if (grid) BcsrMultTranspose<<<grid, THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

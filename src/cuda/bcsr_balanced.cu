/* SPDX-License-Identifier: BSD-3-Clause */
/* Products with matrices of blocks whose rows are of very different lengths: windows of about as many blocks, longer rows in pieces. */
#include "bcsr.h"
#include "pieces.h"

enum { WINDOW_THREADS = 128 };

/* Blocks of which there is room in shared memory: few windows have more, which come in rounds. */
static int64_t WindowRoom(int64_t chunk, int b)
{
  int64_t more = chunk / 4 < 32 ? 32 : chunk / 4;
  return TileBlocks(chunk + (more < chunk ? more : chunk), b);
}

/* Sums over q of what threads (r, q) have, in a fixed order: for all threads with q = 0. */
template <int B> __device__ __forceinline__ double JoinThreads(double s, double *share)
{
  constexpr int Q = WINDOW_THREADS / B, FEW = Q < 8 ? Q : 8;
  int r = threadIdx.x % B, q = threadIdx.x / B;
  __syncthreads();
  share[threadIdx.x] = s;
  __syncthreads();
  s = 0;
  if (q < FEW)
    for (int k = q; k < Q; k += FEW) s += share[k * B + r];
  __syncthreads();
  if (q < FEW) share[threadIdx.x] = s;
  __syncthreads();
  s = 0;
  if (q == 0)
    for (int k = 0; k < FEW; k++) s += share[k * B + r];
  return s;
}

/* Piece p of a row has the sums s (threads with q = 0). The last one of a row to arrive adds all of them in their order, so that nothing
   depends on who that is, and finishes the row. */
template <int B>
__device__ __forceinline__ void JoinPieces(const CsriMultArgs &a, int64_t p, const CsriPiece &z, double s, double *share)
{
  constexpr int T = WINDOW_THREADS, Q = T / B;
  const CsrMultArgs &m = a.m;
  __shared__ int arrived;
  CutRow cut = RowOfPiece(a, z);
  int r = threadIdx.x % B, q = threadIdx.x / B;
  int64_t last = cut.from + cut.count - 1;
  if (cut.count > 1) {
    if (q == 0) a.sum[p * B + r] = s;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) arrived = atomicAdd(&a.arrived[z.window], 1);
    for (int f = 0; f < m.fuse.ndot && threadIdx.x == 0 && p < last; f++) m.fuse.partial[f][a.parts + p] = 0;
    __syncthreads();
    if (arrived + 1 < cut.count) return;
    __threadfence();
    s = 0;
    if (q < Q)
      for (int64_t k = q; k < cut.count; k += Q) s += __ldcg(a.sum + (cut.from + k) * B + r);
    s = JoinThreads<B>(s, share);
    if (threadIdx.x == 0) a.arrived[z.window] = 0;
  }
  int64_t i = cut.row * B + r;
  double y = FinishRow(m, q == 0, i, s);
  FuseRow<T>(m, q == 0, i, y, a.parts + last);
}

/*
  A block of threads for each piece and each window: 8 bytes per number, 4 per block and per offset, x and y once, 16 bytes per window. Thread
  (r, q) multiplies row r of blocks q, q + Q, ... as these arrive in shared memory; a piece is summed over q, of a window the terms stay in
  shared memory, from which each row is summed by B threads.
*/
template <int B, bool BULK>
static __global__ void __launch_bounds__(WINDOW_THREADS, B <= 4    ? 10
                                                         : B <= 9  ? 8
                                                         : B <= 16 ? 6
                                                                   : 1)
    BcsrBalanced(const __grid_constant__ CsriMultArgs a, int room, int offset)
{
  constexpr int T = WINDOW_THREADS, Q = T / B, ROUND = B <= 16 ? 2 : 1;
  extern __shared__ __align__(128) double tile[];
  __shared__ uint64_t barrier;
  const CsrMultArgs &m = a.m;
  double *term = tile + offset;
  LetFollow();
  Ready();
  if (m.skip && *m.skip != 0) return;
  int64_t number = blockIdx.x, first;
  bool cut = number < a.npiece;
  CsriPiece piece = {0};
  CsrWindow window = {0};
  int nz;
  if (cut) {
    piece = Load(a.part + number);
    first = piece.first, nz = piece.nz;
  } else {
    number -= a.npiece;
    if (m.order) number = m.order[number];
    window = Load(a.window + number);
    first = window.first, nz = window.nz;
  }
  int r = threadIdx.x % B, q = threadIdx.x / B, step = BULK ? room : nz + 1;
  unsigned round = 0;
  double s = 0;
  int64_t begin = 0, end = 0; /* of this thread's first row */
  for (int at = 0; at == 0 || at < nz; at += step, round++) {
    int n = at + step < nz ? step : nz - at;
    const int32_t *col = m.A.col + first + at;
    const double *val = m.A.val + (first + at) * B * B;
    if (BULK) val = FetchBlocks<B>(m.A, first + at, first + at + n, tile, &barrier, round == 0);
    if (round == 0 && q < Q && q < window.rows) TwoOffsets(m.A, window.begin + q, window.begin + q + 1, begin, end);
    if (BULK) __syncthreads();
    auto wait = [&] {
      if (BULK) BulkWait(&barrier, round % 2);
    };
    auto put = [&](int k, double t) {
      if (cut)
        s += t;
      else
        term[(at + k) * B + r] = t;
    };
    if (q < Q) RowOfBlocks<B, Q, ROUND>(m, val, col, q, n, r, wait, put);
    wait();
    if (at + step < nz) __syncthreads();
  }
  if (cut) {
    JoinPieces<B>(a, number, piece, JoinThreads<B>(s, term), term);
    return;
  }
  __syncthreads();
  double dots[2] = {0, 0};
  for (int i = q; q < Q && i < window.rows; i += Q) {
    if (i > q) TwoOffsets(m.A, window.begin + i, window.begin + i + 1, begin, end);
    int k = (int)(begin - first), stop = (int)(end - first);
    s = 0;
    for (; k + 4 <= stop; k += 4)
      s += (term[k * B + r] + term[(k + 1) * B + r]) + (term[(k + 2) * B + r] + term[(k + 3) * B + r]);
    for (; k < stop; k++) s += term[k * B + r];
    int64_t row = (int64_t)(window.begin + i) * B + r;
    double y = FinishRow(m, true, row, s);
    for (int f = 0; f < m.fuse.ndot; f++) dots[f] += Factor(m.fuse, f, row, y) * y;
  }
  for (int f = 0; f < m.fuse.ndot; f++) {
    double d[1] = {dots[f]};
    BlockReduce<1, COMBINE_SUM, T>(d);
    if (threadIdx.x == 0) m.fuse.partial[f][number] = d[0];
  }
}

template <int B> static PoiseErr Balanced(Device *dev, const BcsrMultArgs *args)
{
  const CsriMultArgs *a = &args->c;
  int64_t most = 2 * a->limit, room = WindowRoom(a->limit, B), numbers = TileNumbers(room, B);
  int64_t terms = most * B > WINDOW_THREADS ? most * B : WINDOW_THREADS;
  unsigned grid = (unsigned)(a->npiece + a->m.nblock);
  if (!CanBulk(dev, &a->m))
    return Follow(dev, BcsrBalanced<B, false>, grid, WINDOW_THREADS, (size_t)terms * sizeof(double), *a, 0, 0);
  return Follow(dev, BcsrBalanced<B, true>, grid, WINDOW_THREADS, (size_t)(numbers + terms) * sizeof(double), *a, (int)room,
                (int)numbers);
}

PoiseErr poiseCudaBcsrBalanced(Device *dev, const BcsrMultArgs *a)
{
  typedef PoiseErr (*Run)(Device *, const BcsrMultArgs *);
  static const Run sizes[] = {FROM_2_TO_32(Balanced)};
  return a->c.npiece + a->c.m.nblock ? sizes[a->c.m.A.b - 2](dev, a) : POISE_OK;
}

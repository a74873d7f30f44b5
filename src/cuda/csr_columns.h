/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Products with wide vectors, of k columns: the kernels for numbers (csr_columns.cu), for blocks
  (bcsr_columns.cu), and in fp32 (columns_f32.cu). Sums are fp64.

  A thread block has a row block, whose entries come to shared memory in bulk. A group of `lanes`
  neighbouring lanes has a row, or a strip of rows of blocks, of Y; each lane has two columns. So a row of
  X is read as one piece, and a number of the matrix serves two columns of each lane. X and Y
  outweigh the matrix, and what takes time is reading X from L2: a lane has many rows of it in flight.

  Where rows have about one length, a group sums a row (MultRows). Where rows are few or long, `splits`
  groups share a row: group s sums its entries s, s + splits, ..., and their sums are added by shuffles. A
  warp has `rows` rows at once. Where lengths differ, each group sums equally many entries, whichever rows
  these are of (MultEntries).

  Traffic: 8 bytes per number of the matrix, 4 per column and offset, 16 per row block, 8 k per row for
  each of X and Y; in fp32 4 and 4 k.
*/
#ifndef POISE_CUDA_CSR_COLUMNS_H
#define POISE_CUDA_CSR_COLUMNS_H

#include "mat/product/csr_columns_kernels.h"
#include "bulk.h"
#include "cuda.h"
#include "fragments.h"
#include "tile.h"

enum { SECTOR = 32 /* bytes: where copies begin and end */ };

/* Of the matrix and vectors of these arguments. */
template <typename Args> using NumberOf = Entry<decltype(Args::c.m)>;

struct ColumnsLaunch {
  ColumnsShape shape;
  bool bulk;
};

/* What a kernel is compiled for: numbers of type Real; T threads, BLOCKS of them on a multiprocessor; R rows
   of entries that are summed together, all of their rows if WHOLE; U entries in flight; PAIRS as above; and
   up to DOTS dots. */
template <typename ARGS, int THREADS_OF_BLOCK, int BLOCKS_AT_ONCE, int ROWS_AT_ONCE, bool ALL_ROWS,
          int ENTRIES, bool ARE_PAIRS, int MOST_DOTS>
struct Kind {
  typedef ARGS Args;
  typedef NumberOf<ARGS> Real;
  static constexpr int T = THREADS_OF_BLOCK, BLOCKS = BLOCKS_AT_ONCE, R = ROWS_AT_ONCE, U = ENTRIES,
                       DOTS = MOST_DOTS;
  static constexpr bool WHOLE = ALL_ROWS, PAIRS = ARE_PAIRS;
};

/* ---- a lane's columns ------------------------------------------------------------------------ */

/* A number of each of a lane's two columns. */
struct Two {
  double a, b;
};

/* Where this thread stands. Its columns are j and j + step; b says whether there is the second. */
struct Lane {
  int row, split, j, step;
  bool active, b;
};

template <bool PAIRS> __device__ __forceinline__ Lane LaneOf(const ColumnsShape &s, int columns)
{
  int lane = threadIdx.x % 32, group = lane / s.lanes, c = lane % s.lanes;
  Lane l;
  l.row = group / s.splits, l.split = group % s.splits;
  l.active = l.row < s.rows;
  l.j = PAIRS ? 2 * c : c, l.step = PAIRS ? 1 : s.lanes;
  l.b = PAIRS || c + s.lanes < columns;
  return l;
}

__device__ __forceinline__ Two LoadPair(const double *p)
{
  double2 v = *(const double2 *)p;
  return {v.x, v.y};
}

__device__ __forceinline__ Two LoadPair(const float *p)
{
  float2 v = *(const float2 *)p;
  return {v.x, v.y};
}

__device__ __forceinline__ void StorePair(double *p, Two y)
{
  __stcs((double2 *)p, make_double2(y.a, y.b));
}

__device__ __forceinline__ void StorePair(float *p, Two y)
{
  __stcs((float2 *)p, make_float2((float)y.a, (float)y.b));
}

/* PAIRS: both columns by one load. */
template <bool PAIRS, typename Real> __device__ __forceinline__ Two LoadTwo(const Real *p, const Lane &l)
{
  if (PAIRS) return LoadPair(p);
  return {p[0], l.b ? p[l.step] : 0};
}

/* Y streams by: it leaves L2 before X does, of which other rows have use. */
template <bool PAIRS, typename Real> __device__ __forceinline__ void StoreTwo(Real *p, const Lane &l, Two y)
{
  if (PAIRS) {
    StorePair(p, y);
    return;
  }
  __stcs(p, (Real)y.a);
  if (l.b) __stcs(p + l.step, (Real)y.b);
}

/* ---- sums over groups ------------------------------------------------------------------------ */

/* Over the groups that share a row, valid in the first. */
__device__ __forceinline__ Two SumOfSplits(const ColumnsShape &s, Two v)
{
  for (int step = s.splits / 2; step; step /= 2) {
    v.a += __shfl_down_sync(0xffffffff, v.a, (unsigned)(step * s.lanes));
    v.b += __shfl_down_sync(0xffffffff, v.b, (unsigned)(step * s.lanes));
  }
  return v;
}

/* Over the groups of a thread block, in a fixed order: those of a warp by a tree, then the warps. Valid in
   the first group. All threads call it; share has T numbers. */
template <int T> __device__ __forceinline__ Two SumOfGroups(const ColumnsShape &s, Two v, double *share)
{
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, groups = s.rows * s.splits, step = 16;
  while (step >= groups) step /= 2;
  for (; step; step /= 2) {
    unsigned apart = (unsigned)(step * s.lanes);
    double a = __shfl_down_sync(0xffffffff, v.a, apart), b = __shfl_down_sync(0xffffffff, v.b, apart);
    if (lane < (groups - step) * s.lanes) v.a += a, v.b += b;
  }
  __syncthreads(); /* share may be in use */
  if (lane < s.lanes) share[warp * 32 + lane] = v.a, share[warp * 32 + s.lanes + lane] = v.b;
  __syncthreads();
  if (warp == 0 && lane < s.lanes)
    for (int w = 1; w < T / 32; w++) v.a += share[w * 32 + lane], v.b += share[w * 32 + s.lanes + lane];
  return v;
}

/* ---- rows of Y ------------------------------------------------------------------------------- */

/* y = D (alpha s + beta y), which is returned. A lane of the row's first group calls it. Scalars are loaded
   here, as they would take registers up to here. */
template <bool PAIRS, typename Args>
__device__ __forceinline__ Two FinishColumns(const Args &a, const Lane &l, int64_t row, Two s)
{
  const auto &m = a.c.m;
  auto *at = m.y + (row * a.columns + l.j);
  double alpha = poiseScalar(m.a), beta = poiseScalar(m.b);
  Two y = {alpha * s.a, alpha * s.b};
  if (beta != 0) { /* else the old y may be anything */
    Two old = LoadTwo<PAIRS>(at, l);
    y.a += beta * old.a, y.b += beta * old.b;
  }
  if (m.scale) y.a *= m.scale[row], y.b *= m.scale[row];
  StoreTwo<PAIRS>(at, l, y);
  return y;
}

/* What a finished row adds to the dots. */
template <typename K>
__device__ __forceinline__ void AddDots(const typename K::Args &a, const Lane &l, int64_t row, Two y,
                                        Two (&dot)[K::DOTS + 1])
{
  const Fuse &fuse = a.c.m.fuse;
#pragma unroll
  for (int f = 0; f < K::DOTS; f++) {
    if (f >= fuse.ndot) break;
    Two u = y;
    if (fuse.u[f])
      u = LoadTwo<K::PAIRS>(fuse.u[f] + (row * a.columns + l.j), l);
    else if (fuse.d[f])
      u.a *= fuse.d[f][row], u.b *= fuse.d[f][row];
    dot[f].a += u.a * y.a, dot[f].b += u.b * y.b;
  }
}

/* Partial number `at` of dot f. */
__device__ __forceinline__ void StorePartials(const Fuse &fuse, const Lane &l, int f, int64_t at, Two v)
{
  double *p = fuse.partial[f] + at + l.j * fuse.systems.partials;
  p[0] = v.a;
  if (l.b) p[l.step * fuse.systems.partials] = v.b;
}

/* The dots of row block `number`. */
template <typename K>
__device__ __forceinline__ void FuseColumns(const Fuse &fuse, const ColumnsShape &s, const Lane &l,
                                            int64_t number, const Two (&dot)[K::DOTS + 1], double *share)
{
#pragma unroll
  for (int f = 0; f < K::DOTS; f++) {
    if (f >= fuse.ndot) break;
    Two sum = SumOfGroups<K::T>(s, dot[f], share);
    if (threadIdx.x < s.lanes) StorePartials(fuse, l, f, number, sum);
  }
}

/* ---- a row block in shared memory ------------------------------------------------------------ */

/* Places in shared memory: of the first entry's numbers, of its column, and of the offset of the first
   row; and where copies begin. */
struct ColumnsTile {
  unsigned char *val, *col, *offset;
  int val_ahead, col_ahead, offset_ahead; /* numbers that copies bring before these */
};

__host__ __device__ __forceinline__ int SectorsOf(int bytes)
{
  return (bytes + SECTOR - 1) / SECTOR * SECTOR;
}

/* size: numbers of type Real of an entry */
template <typename Real, typename View>
__device__ __forceinline__ ColumnsTile TileAt(const View &A, const RowBlock &z, int size,
                                              unsigned char *memory)
{
  constexpr int EACH = sizeof(Real);
  int wide = A.ptr64 ? 8 : 4;
  ColumnsTile t;
  t.val_ahead = (int)(z.first * size) & (SECTOR / EACH - 1);
  t.col_ahead = (int)z.first & (SECTOR / 4 - 1);
  t.offset_ahead = z.begin & (SECTOR / wide - 1);
  unsigned char *col = memory + SectorsOf(EACH * (t.val_ahead + z.nz * size)),
                *offset = col + SectorsOf(4 * (t.col_ahead + z.nz));
  t.val = memory + EACH * t.val_ahead, t.col = col + 4 * t.col_ahead,
  t.offset = offset + wide * t.offset_ahead;
  return t;
}

/* Room for any row block with so many rows and entries together, of so many bytes of values each. */
static inline int64_t TileBytes(int64_t tile, int64_t entry)
{
  return 6 * SECTOR + (entry + 4) * (tile + 1);
}

/* Numbers [start, start + n) of an array of `all` to shared memory, and those around that fill sectors, in
   bulk as far as they are there. Returns the bytes that come so, once the thread has told the barrier of
   them. */
template <typename Number> struct Piece {
  Number *to;
  const Number *from;
  int bulk, n; /* numbers from there; the first ones in bulk */
};

template <typename Number>
__device__ __forceinline__ Piece<Number> PieceOf(bool bulk, Number *to, const Number *from, int64_t start,
                                                 int ahead, int n, int64_t all)
{
  constexpr int UNIT = SECTOR / sizeof(Number), COPY = 16 / sizeof(Number);
  int64_t stop = (start + n + UNIT - 1) & ~(int64_t)(UNIT - 1);
  if (stop > all) stop = all & ~(int64_t)(COPY - 1); /* copies must not read past the array */
  start -= ahead;
  return {to - ahead, from + start, bulk && stop > start ? (int)(stop - start) : 0, n + ahead};
}

template <int T, typename Number>
__device__ __forceinline__ void Bring(const Piece<Number> &p, uint64_t *barrier)
{
  if (threadIdx.x == 0 && p.bulk)
    BulkCopy(p.to, p.from, (uint32_t)p.bulk * (uint32_t)sizeof(Number), barrier);
  for (int k = p.bulk + (int)threadIdx.x; k < p.n; k += T) p.to[k] = p.from[k];
}

/* Starts the copies of a row block to shared memory. All threads call it. */
template <typename Real, int T, typename View, typename Offset>
__device__ __forceinline__ void FetchPieces(const View &A, const Offset *ptr, const RowBlock &z, int size,
                                            bool bulk, const ColumnsTile &t, uint64_t *barrier)
{
  auto val = PieceOf(bulk, (Real *)t.val, A.val, z.first * size, t.val_ahead, z.nz * size, A.nz * size);
  auto col = PieceOf(bulk, (int32_t *)t.col, A.col, z.first, t.col_ahead, z.nz, A.nz);
  auto offset = PieceOf(bulk, (Offset *)t.offset, ptr, z.begin, t.offset_ahead, z.rows + 1, A.m + 1);
  if (threadIdx.x == 0 && bulk)
    BulkExpect(barrier,
               (uint32_t)(val.bulk * (int)sizeof(Real) + col.bulk * 4 + offset.bulk * (int)sizeof(Offset)));
  Bring<T>(val, barrier);
  Bring<T>(col, barrier);
  Bring<T>(offset, barrier);
}

template <typename Real, int T, typename View>
__device__ __forceinline__ void FetchRowBlock(const View &A, const RowBlock &z, int size, bool bulk,
                                              const ColumnsTile &t, uint64_t *barrier)
{
  if (A.ptr64)
    FetchPieces<Real, T>(A, A.ptr64, z, size, bulk, t, barrier);
  else
    FetchPieces<Real, T>(A, A.ptr32, z, size, bulk, t, barrier);
}

/* The place of the first entry of row i of the row block. A difference needs the low bits alone. */
template <typename View>
__device__ __forceinline__ int PlaceOf(const View &A, const ColumnsTile &t, const RowBlock &z, int i)
{
  uint32_t k = A.ptr64 ? (uint32_t)((const int64_t *)t.offset)[i] : (uint32_t)((const int32_t *)t.offset)[i];
  return (int)(k - (uint32_t)z.first);
}

/* ---- terms ----------------------------------------------------------------------------------- */

/* A lane's two columns of X; x and ghost begin at them, the latter as if it followed the owned rows. */
template <typename Real> struct ColumnsOfX {
  const Real *x, *ghost;
  int32_t owned, b, columns; /* b: rows of a block, 1 for numbers */
};

template <typename Real, typename Args>
__device__ __forceinline__ ColumnsOfX<Real> ColumnsFrom(const Args &a, const Lane &l, int b)
{
  const auto &m = a.c.m;
  uintptr_t ghost = (uintptr_t)m.ghost - (uintptr_t)(m.A.nloc * b * a.columns) * sizeof(Real);
  return {m.x + l.j, (const Real *)ghost + l.j, (int32_t)m.A.nloc, b, (int32_t)a.columns};
}

template <typename Real> __device__ __forceinline__ const Real *RowOfX(const ColumnsOfX<Real> &X, int32_t c)
{
  return (c < X.owned ? X.x : X.ghost) + (int64_t)c * (X.b * X.columns);
}

/* sum[r] += the terms of row r of entries k, k + step, ... below end, which have R x R numbers. value,
   column: of an entry. */
template <typename K, typename Value, typename Column>
__device__ __forceinline__ void AddTerms(const ColumnsOfX<typename K::Real> &X, const Lane &l, Value value,
                                         Column column, int k, int end, int step, Two (&sum)[K::R])
{
  constexpr int R = K::R, U = K::U;
  for (; k < end; k += U * step) {
    Two x[U][R];
#pragma unroll
    for (int u = 0; u < U; u++) {
      int32_t c = k + u * step < end ? column(k + u * step) : -1;
      const auto *from = RowOfX(X, c);
#pragma unroll
      for (int j = 0; j < R; j++) x[u][j] = c < 0 ? Two{0, 0} : LoadTwo<K::PAIRS>(from + j * X.columns, l);
    }
#pragma unroll
    for (int u = 0; u < U; u++)
      if (k + u * step < end) {
#pragma unroll
        for (int j = 0; j < R; j++)
#pragma unroll
          for (int r = 0; r < R; r++) {
            double v = value(((k + u * step) * R + j) * R + r);
            sum[r].a += v * x[u][j].a, sum[r].b += v * x[u][j].b;
          }
      }
  }
}

/* The same of R rows from `first` on, of entries of b x b numbers. */
template <typename K, typename Value, typename Column>
__device__ __forceinline__ void AddStrip(const ColumnsOfX<typename K::Real> &X, const Lane &l, int first,
                                         Value value, Column column, int k, int end, int step,
                                         Two (&sum)[K::R])
{
  constexpr int R = K::R, U = K::U;
  for (; k < end; k += step) {
    const auto *from = RowOfX(X, column(k));
    for (int j = 0; j < X.b; j += U) {
      Two x[U];
#pragma unroll
      for (int u = 0; u < U; u++)
        x[u] = j + u < X.b ? LoadTwo<K::PAIRS>(from + (j + u) * X.columns, l) : Two{0, 0};
#pragma unroll
      for (int u = 0; u < U; u++)
#pragma unroll
        for (int r = 0; r < R; r++)
          if (j + u < X.b && first + r < X.b) {
            double v = value((k * X.b + j + u) * X.b + first + r);
            sum[r].a += v * x[u].a, sum[r].b += v * x[u].b;
          }
    }
  }
}

template <typename K, typename Value, typename Column>
__device__ __forceinline__ void AddRows(const ColumnsOfX<typename K::Real> &X, const Lane &l, int first,
                                        Value value, Column column, int k, int end, int step,
                                        Two (&sum)[K::R])
{
  if constexpr (K::WHOLE)
    AddTerms<K>(X, l, value, column, k, end, step, sum);
  else
    AddStrip<K>(X, l, first, value, column, k, end, step, sum);
}

/* ---- row blocks ------------------------------------------------------------------------------ */

/* What the threads of a block know when its entries are in shared memory. */
template <typename K> struct Work {
  const typename K::Args &a;
  const ColumnsShape &s;
  const Lane &l;
  const ColumnsOfX<typename K::Real> &X;
  const ColumnsTile &t;
  const RowBlock &z;
  Two (&dot)[K::DOTS + 1];

  __device__ __forceinline__ int Place(int i) const /* of the first entry of row i */
  {
    return PlaceOf(a.c.m.A, t, z, i);
  }
  __device__ __forceinline__ void Finish(int64_t row, Two sum) const /* of numbers, counted from the first */
  {
    row += (int64_t)z.begin * X.b;
    Two y = FinishColumns<K::PAIRS>(a, l, row, sum);
    AddDots<K>(a, l, row, y, dot);
  }
};

/* Rows one by one. */
template <typename K> __device__ __forceinline__ void MultRows(const Work<K> &w)
{
  constexpr int R = K::R;
  const ColumnsShape &s = w.s;
  const auto *val = (const typename K::Real *)w.t.val;
  const int32_t *col = (const int32_t *)w.t.col;
  int strips = K::WHOLE ? 1 : (w.X.b + R - 1) / R, items = w.z.rows * strips;
  for (int begin = threadIdx.x / 32 * s.rows; begin < items; begin += K::T / 32 * s.rows) {
    int item = begin + w.l.row, i = K::WHOLE ? item : item / strips, first = K::WHOLE ? 0 : item % strips * R,
        k = 0, end = 0;
    bool mine = w.l.active && item < items;
    if (mine) k = w.Place(i) + w.l.split, end = w.Place(i + 1);
    Two sum[R] = {};
    AddRows<K>(
        w.X, w.l, first, [&](int e) { return val[e]; }, [&](int e) { return col[e]; }, k, end, s.splits, sum);
#pragma unroll
    for (int r = 0; r < R; r++) {
      Two y = SumOfSplits(s, sum[r]);
      if (mine && !w.l.split && (K::WHOLE || first + r < w.X.b)) w.Finish((int64_t)i * w.X.b + first + r, y);
    }
  }
}

/* Equally many entries for each group, LEAST or more. A group finishes rows that begin in its part; of one
   that began before, it leaves the sum in `part`. */
template <typename K> __device__ __forceinline__ void MultEntries(const Work<K> &w, Two *part)
{
  enum { LEAST = 4 };
  constexpr int U = K::U;
  const auto *val = (const typename K::Real *)w.t.val;
  const int32_t *col = (const int32_t *)w.t.col;
  int lanes = w.s.lanes, of_warp = 32 / lanes, groups = K::T / 32 * of_warp, each = threadIdx.x % 32 / lanes,
      group = threadIdx.x / 32 * of_warp + each, share = (w.z.nz + groups - 1) / groups;
  if (share < LEAST) share = LEAST;
  int k = each < of_warp ? group * share : w.z.nz, end = k + share < w.z.nz ? k + share : w.z.nz, row = 0,
      stop = w.z.nz;
  bool has = k < end, before = false; /* did the row begin before? */
  Two sum = {0, 0};
  if (has) {
    int high = w.z.rows;
    while (high - row > 1) { /* the last row that begins at k or before */
      int middle = (row + high) / 2;
      if (w.Place(middle) <= k)
        row = middle;
      else
        high = middle;
    }
    before = w.Place(row) < k, stop = w.Place(row + 1);
  }
  auto leave = [&] {
    if (before)
      part[threadIdx.x] = sum;
    else
      w.Finish(row, sum);
  };
  for (; k < end; k += U) {
    Two x[U];
#pragma unroll
    for (int u = 0; u < U; u++) {
      int32_t c = k + u < end ? col[k + u] : -1;
      x[u] = c < 0 ? Two{0, 0} : LoadTwo<K::PAIRS>(RowOfX(w.X, c), w.l);
    }
#pragma unroll
    for (int u = 0; u < U; u++)
      if (k + u < end) {
        if (k + u == stop) {
          leave();
          before = false, sum = {0, 0};
          do row++; /* empty ones are finished below */
          while ((stop = w.Place(row + 1)) == k + u);
        }
        double v = val[k + u];
        sum.a += v * x[u].a, sum.b += v * x[u].b;
      }
  }
  bool open = has && !before && stop > end;
  if (has && !open) leave();
  __syncthreads();
  if (open) {
    for (int g = group + 1; g * share < stop; g++) {
      Two more = part[g / of_warp * 32 + g % of_warp * lanes + threadIdx.x % 32 % lanes];
      sum.a += more.a, sum.b += more.b;
    }
    w.Finish(row, sum);
  }
  for (int i = group; each < of_warp && i < w.z.rows; i += groups)
    if (w.Place(i) == w.Place(i + 1)) w.Finish(i, {0, 0});
}

/* ---- fragments of split rows ----------------------------------------------------------------- */

/* The sums of a fragment are written: is it the last of its row's to arrive? */
__device__ __forceinline__ bool LastFragment(int32_t *count, const CutRow &cut)
{
  __shared__ int arrived;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) arrived = atomicAdd(count, 1);
  __syncthreads();
  if (arrived + 1 < cut.count) return false;
  __threadfence();
  if (threadIdx.x == 0) *count = 0;
  return true;
}

/* Fragment p by a thread block, whose groups of lanes share its entries. The last of its row's to arrive
   adds all of them, in a fixed order, and finishes the row. */
template <typename K>
__device__ __forceinline__ void MultFragment(const typename K::Args &a, const ColumnsShape &s, const Lane &l,
                                             const ColumnsOfX<typename K::Real> &X, int64_t p, double *share)
{
  constexpr int T = K::T, R = K::R;
  const auto &m = a.c.m;
  int groups = s.rows * s.splits, each = threadIdx.x % 32 / s.lanes, group = threadIdx.x / 32 * groups + each;
  bool adds = each < groups, stores = threadIdx.x < s.lanes;
  RowFragment z = Load(a.c.part + p);
  CutRow cut = RowOfFragment(a.c, z);
  int64_t last = cut.from + cut.count - 1, width = (int64_t)X.b * a.columns;
  const auto *val = m.A.val + z.first * X.b * X.b;
  const int32_t *col = m.A.col + z.first;
  Two dot[K::DOTS + 1] = {};
  for (int first = 0; first < X.b; first += R) {
    Two sum[R] = {};
    AddRows<K>(
        X, l, first, [&](int e) { return LoadStreaming(val + e); },
        [&](int e) { return LoadStreaming(col + e); }, adds ? group : z.nz, z.nz, T / 32 * groups, sum);
#pragma unroll
    for (int r = 0; r < R; r++) {
      if (!K::WHOLE && first + r >= X.b) break;
      Two v = SumOfGroups<T>(s, adds ? sum[r] : Two{0, 0}, share);
      double *to = a.c.sum + p * width + (int64_t)(first + r) * a.columns + l.j;
      if (stores) to[0] = v.a;
      if (stores && l.b) to[l.step] = v.b;
    }
  }
  for (int f = 0; f < m.fuse.ndot && p < last && stores; f++)
    StorePartials(m.fuse, l, f, a.c.parts + p, {0, 0});
  if (!LastFragment(a.c.arrived + z.row_block, cut)) return;
  for (int r = 0; r < X.b; r++) {
    Two v = {0, 0};
    for (int64_t q = group; adds && q < cut.count; q += T / 32 * groups) {
      const double *from = a.c.sum + (cut.from + q) * width + (int64_t)r * a.columns + l.j;
      v.a += __ldcg(from), v.b += l.b ? __ldcg(from + l.step) : 0;
    }
    v = SumOfGroups<T>(s, v, share);
    if (!stores) continue;
    int64_t row = cut.row * X.b + r;
    v = FinishColumns<K::PAIRS>(a, l, row, v);
    AddDots<K>(a, l, row, v, dot);
  }
#pragma unroll
  for (int f = 0; f < K::DOTS; f++)
    if (f < m.fuse.ndot && stores) StorePartials(m.fuse, l, f, a.c.parts + last, dot[f]);
}

/* ---- the kernel ------------------------------------------------------------------------------ */

/* Y = D (a A X + b Y). The first thread blocks have a fragment of a split row each, since they take
   longest. EVEN: rows have about one length. */
template <typename K, bool EVEN>
static __global__ void __launch_bounds__(K::T, K::BLOCKS)
    MultColumns(const __grid_constant__ typename K::Args a, const __grid_constant__ ColumnsLaunch launch)
{
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ uint64_t barrier;
  __shared__ Two share[K::T];
  PdlLaunchDependents();
  PdlWait();
  if (a.c.m.skip && *a.c.m.skip != 0) return;
  typedef typename K::Real Real;
  const auto &A = a.c.m.A;
  const ColumnsShape &s = launch.shape;
  const int b = K::WHOLE ? K::R : (int)A.b, size = b * b;
  const Lane l = LaneOf<K::PAIRS>(s, (int)a.columns);
  const ColumnsOfX<Real> X = ColumnsFrom<Real>(a, l, b);
  if (blockIdx.x < a.c.nfragment) {
    MultFragment<K>(a, s, l, X, blockIdx.x, (double *)share);
    return;
  }
  int64_t turn = (int64_t)blockIdx.x - a.c.nfragment,
          number = a.c.m.order ? a.c.m.order[turn] : a.c.m.first + turn;
  RowBlock z = Load(a.c.row_block + number);
  ColumnsTile t = TileAt<Real>(A, z, size, memory);
  if (threadIdx.x == 0 && launch.bulk) BulkInit(&barrier);
  FetchRowBlock<Real, K::T>(A, z, size, launch.bulk, t, &barrier);
  __syncthreads();
  if (launch.bulk) BulkWait(&barrier, 0);
  Two dot[K::DOTS + 1] = {};
  Work<K> w = {a, s, l, X, t, z, dot};
  if constexpr (EVEN)
    MultRows(w);
  else
    MultEntries(w, share);
  FuseColumns<K>(a.c.m.fuse, s, l, number, dot, (double *)share);
}

/* ---- the launch ------------------------------------------------------------------------------ */

/* Thread blocks of a multiprocessor: sums and rows of X of larger blocks take more registers. */
constexpr int ColumnsBlocks(int rows, bool even)
{
  return !even ? 10 : rows <= 1 ? 8 : rows <= 5 ? 6 : 4;
}

/* Entries in flight. */
constexpr int ColumnsInFlight(int rows, bool whole, bool even)
{
  return !whole || !even ? 4 : rows == 1 ? 8 : rows <= 3 ? 2 : 1;
}

template <int R, bool WHOLE, bool PAIRS, int DOTS, bool EVEN, typename Args>
static PoiseErr LaunchColumns(Device *dev, const Args *a)
{
  typedef Kind<Args, WIDE_THREADS, ColumnsBlocks(R, EVEN), R, WHOLE, ColumnsInFlight(R, WHOLE, EVEN), PAIRS,
               DOTS>
      K;
  void (*kernel)(Args, ColumnsLaunch) = MultColumns<K, EVEN>;
  const auto *A = &a->c.m.A;
  int b = A->b ? (int)A->b : 1;
  ColumnsLaunch l = {poiseColumnsShape(&dev->model, (int)a->columns, b, EVEN, A->m, A->nz, a->c.parts),
                     dev->model.bulk};
  size_t bytes = (size_t)TileBytes(a->c.m.tile, b * b * (int64_t)sizeof(typename K::Real));
  int64_t blocks = a->c.m.nblock + a->c.nfragment;
  if (((uintptr_t)A->val | (uintptr_t)A->col | (uintptr_t)A->ptr32 | (uintptr_t)A->ptr64) % 16)
    l.bulk = false;
  if (!blocks) return POISE_OK;
  TRY(LetShare((const void *)kernel, bytes, dev->model.block_shared - TILE_STATIC));
  return LaunchPdl(dev, kernel, (unsigned)blocks, WIDE_THREADS, bytes, *a, l);
}

/* Are the columns of X and Y pairs that one load brings? */
template <typename Args> static bool ArePairs(const Args *a)
{
  const auto *m = &a->c.m;
  uintptr_t places = (uintptr_t)m->x | (uintptr_t)m->ghost | (uintptr_t)m->y;
  for (int f = 0; f < m->fuse.ndot; f++) places |= (uintptr_t)m->fuse.u[f];
  return a->columns % 2 == 0 && places % (2 * sizeof(NumberOf<Args>)) == 0;
}

/* Blocks of R x R numbers, or where it is not WHOLE of larger ones. */
template <int R, bool WHOLE, bool EVEN> static PoiseErr ColumnsOfBlocks(Device *dev, const ColumnsMultArgs *a)
{
  typedef PoiseErr (*Run)(Device *, const ColumnsMultArgs *);
  static const Run run[2][3] = {
      {LaunchColumns<R, WHOLE, false, 0, EVEN>, LaunchColumns<R, WHOLE, false, 2, EVEN>,
       LaunchColumns<R, WHOLE, false, POISE_MAX_DOTS, EVEN>},
      {LaunchColumns<R, WHOLE, true, 0, EVEN>, LaunchColumns<R, WHOLE, true, 2, EVEN>,
       LaunchColumns<R, WHOLE, true, POISE_MAX_DOTS, EVEN>}};
  int ndot = a->c.m.fuse.ndot;
  return run[ArePairs(a)][ndot == 0 ? 0 : ndot <= 2 ? 1 : 2](dev, a);
}

#endif

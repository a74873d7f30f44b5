/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Products of sparse matrices. Columns of short rows are found by a thread each where such rows are many
  (spgemm_threads.h), other columns by warps, numbers of scalars by groups of lanes (spgemm_warps.h), and
  those of common tiles by warps (spgemm_tiles.h). What is too long for these, and numbers of other tiles, is
  done here: a group of lanes does a row, a row of B is read by all of them, and each class of rows is a
  launch. A group has as many lanes as a row of B has
  entries, in the mean; where tables are large a warp, or a thread block. Tables are in shared memory, those
  of the last class in device memory.

  Traffic of the numbers, per product of entries: 8 bytes of a value and 4 of a column of B, read in runs of a
  row; per entry of A 12 bytes and two offsets of B; 8 per number of C.
*/
#include "spgemm_lanes.h"
#include "spgemm_threads.h"
#include "spgemm_tiles.h"
#include "spgemm_warps.h"
#include "staged_rows.h"

#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

enum { LAST = SPGEMM_CLASSES - 1, BOUND_LANES = 8 };

/* Of each class: lanes of a group, at most; threads of a block; bits of a table. */
static constexpr int lanes_of[SPGEMM_CLASSES] = {32, 32, 32, 128, 256, 256};
static constexpr int threads_of[SPGEMM_CLASSES] = {128, 128, 128, 128, 256, 256};
static constexpr int bits_of[SPGEMM_CLASSES] = {6, 8, 10, 12, 13, 0};

/* Do sums of scalars stand beside the table? */
template <int TASK, int CLASS, bool SCALARS>
static constexpr bool sums = TASK == NUMBERS &&SCALARS &&CLASS < 3;

/* Lanes of a group. FEW: of a row of B. Small rows of tiles have as many as a tile keeps busy. */
template <int TASK, int CLASS, bool SCALARS, int FEW>
static constexpr int lanes = TASK == NUMBERS && !SCALARS ? (CLASS == 0 ? 8 : lanes_of[CLASS])
                             : CLASS == 0                ? FEW
                             : CLASS == 1 && FEW < 8     ? 8
                             : CLASS == 1                ? FEW
                                                         : lanes_of[CLASS];

/* Integers of a group's table in shared memory: see poiseSpgemmTable and NumbersByLanes. An odd number of
   them, or of sums, so that groups begin in different banks. */
template <int TASK, int CLASS, bool SCALARS>
static constexpr int room = CLASS == LAST                ? 0
                            : sums<TASK, CLASS, SCALARS> ? 2 + (3 << bits_of[CLASS])
                                                         : 1 + (2 << bits_of[CLASS]);

template <int TASK, int CLASS, bool SCALARS, int LANES>
__device__ __forceinline__ void Row(const SpgemmArgs &a, int64_t i, const SpgemmGroup &g, int share,
                                    int32_t *memory)
{
  if constexpr (sums<TASK, CLASS, SCALARS>) {
    NumbersByLanes<LANES>(a, i, g, (double *)memory);
  } else {
    SpgemmTable t = poiseSpgemmTable(memory, poiseSpgemmWork(&a, i));
    if (TASK == COUNT) {
      poiseSpgemmCollect(&a, i, &g, share, &t);
      if (g.lane == 0 && i >= 0) a.length[i] = *t.used;
    } else if (TASK == COLUMNS) {
      poiseSpgemmCollect(&a, i, &g, share, &t);
      poiseSpgemmSorted(&a, &g, t.value, *t.used, a.col + poiseRowBegin(&a.C, i));
    } else {
      int one = SCALARS; /* the size of tiles, if it is known */
      poiseSpgemmNumbers(&a, i, &g, share, &t, one ? one : a.p, one ? one : a.q, one ? one : a.s);
    }
  }
  poiseGroupSync(&g); /* the table is cleared next */
}

/* Is row i done already? Of numbers, those of rows with at most `done` are. */
template <int TASK> __device__ __forceinline__ bool IsDone(const SpgemmArgs &a, int64_t i, int done)
{
  if (TASK == COUNT) return a.length[i] >= 0;
  return TASK == COLUMNS ? a.at[i] >= 0 : poiseSpgemmWork(&a, i) <= done;
}

/* A warp looks at `width` rows at once, and does those of the class, by groups in step. In a group of several
   warps each looks at the same rows, so all know the same. */
template <int TASK, int CLASS, bool SCALARS, int LANES>
static __global__ void __launch_bounds__(threads_of[CLASS])
    SpgemmRows(const __grid_constant__ SpgemmArgs a, int share, int width, int done)
{
  extern __shared__ __align__(8) int32_t memory[];
  constexpr int UNIT = LANES < 32 ? 32 : LANES, UNITS = threads_of[CLASS] / UNIT;
  SpgemmGroup g = {(int)threadIdx.x % LANES, LANES};
  int32_t *own = CLASS == LAST ? a.table + blockIdx.x * a.table_size
                               : memory + threadIdx.x / LANES * room<TASK, CLASS, SCALARS>;
  for (int64_t first = (blockIdx.x * (int64_t)UNITS + threadIdx.x / UNIT) * width; first < a.A.m;
       first += (int64_t)gridDim.x * UNITS * width) {
    int64_t look = first + threadIdx.x % 32;
    bool mine = look < first + width && look < a.A.m && poiseSpgemmClass(poiseSpgemmWork(&a, look)) == CLASS;
    mine = mine && !IsDone<TASK>(a, look, done);
    for (unsigned rows = __ballot_sync(~0u, mine); rows;) {
      int64_t i = TakeRow(first, threadIdx.x % UNIT / LANES, UNIT / LANES, &rows);
      Row<TASK, CLASS, SCALARS, LANES>(a, i, g, share, own);
    }
  }
}

/* Rows that a warp looks at: so few that all multiprocessors have some, but one for each group in step. */
static int RowsAtOnce(Device *dev, int64_t m, int groups)
{
  const int64_t warps = 128 * (int64_t)dev->model.multiprocessors;
  int width = groups;
  while (width < 32 && m >= 2 * width * warps) width *= 2;
  return width;
}

static unsigned BlocksOf(Device *dev, int64_t m, int64_t rows)
{
  int64_t blocks = (m + rows - 1) / rows, most = 64 * (int64_t)dev->model.multiprocessors;
  return (unsigned)(blocks < most ? blocks : most);
}

/* Lanes of a group that read a row of B together: the mean length, as a power of two. */
static int LanesOfRow(const SpgemmArgs *a, int lanes)
{
  int share = 1;
  while (share < lanes && share * a->B.m < a->B.nz) share *= 2;
  return share;
}

template <int TASK, int CLASS, bool SCALARS, int FEW>
static PoiseErr LaunchClass(Device *dev, const SpgemmArgs *a, int done)
{
  constexpr int LANES = lanes<TASK, CLASS, SCALARS, FEW>, UNIT = LANES < 32 ? 32 : LANES;
  constexpr size_t bytes = (size_t)(threads_of[CLASS] / LANES) * room<TASK, CLASS, SCALARS> * sizeof(int32_t);
  int width = RowsAtOnce(dev, a->A.m, UNIT / LANES);
  unsigned blocks = BlocksOf(dev, a->A.m, threads_of[CLASS] / UNIT * width);
  int share = TASK != NUMBERS ? LanesOfRow(a, LANES) : a->p < LANES ? a->p : LANES;
  void (*kernel)(SpgemmArgs, int, int, int) = SpgemmRows<TASK, CLASS, SCALARS, LANES>;
  if (!a->rows_of[CLASS] || (CLASS < LAST && 2 * done >= 1 << bits_of[CLASS])) return POISE_OK;
  if (CLASS == LAST && blocks > a->tables) blocks = (unsigned)a->tables;
  if (bytes > 48 * 1024)
    TRY(poiseCudaCheck(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes),
                       "shared memory of a sparse product"));
  kernel<<<blocks, threads_of[CLASS], bytes, poiseCudaStream(dev)>>>(*a, share, width, done);
  return POISE_OK;
}

/* Warps have counted the rows of the first two classes that have no more products than they take. */
template <int TASK, bool SCALARS, int FEW>
static PoiseErr LaunchClasses(Device *dev, const SpgemmArgs *a, int done)
{
  bool all = TASK != COUNT || a->products > WARP_PRODUCTS;
  if (all) TRY((LaunchClass<TASK, 0, SCALARS, FEW>(dev, a, done)));
  if (all) TRY((LaunchClass<TASK, 1, SCALARS, FEW>(dev, a, done)));
  TRY((LaunchClass<TASK, 2, SCALARS, FEW>(dev, a, done)));
  TRY((LaunchClass<TASK, 3, SCALARS, FEW>(dev, a, done)));
  TRY((LaunchClass<TASK, 4, SCALARS, FEW>(dev, a, done)));
  return LaunchClass<TASK, LAST, SCALARS, FEW>(dev, a, done);
}

template <int TASK, bool SCALARS> static PoiseErr LaunchAll(Device *dev, const SpgemmArgs *a, int done)
{
  int few = LanesOfRow(a, 32);
  if (few <= 4) return LaunchClasses<TASK, SCALARS, 4>(dev, a, done);
  if (few == 8) return LaunchClasses<TASK, SCALARS, 8>(dev, a, done);
  if (few == 16) return LaunchClasses<TASK, SCALARS, 16>(dev, a, done);
  return LaunchClasses<TASK, SCALARS, 32>(dev, a, done);
}

/* Nothing is known of any row. */
static PoiseErr Begin(Device *dev, const SpgemmArgs *a)
{
  cudaStream_t stream = poiseCudaStream(dev);
  cudaError_t e = cudaMemsetAsync(a->length, 0xff, (size_t)a->A.m * sizeof *a->length, stream);
  if (e == cudaSuccess) e = cudaMemsetAsync(a->at, 0xff, (size_t)a->A.m * sizeof *a->at, stream);
  return poiseCudaCheck(e, "beginning a sparse product");
}

static unsigned RowBlocks(const SpgemmArgs *a)
{
  return (unsigned)((a->A.m + ROW_THREADS - 1) / ROW_THREADS);
}

static unsigned WarpBlocks(int64_t warps)
{
  return (unsigned)((warps + BLOCK_WARPS - 1) / BLOCK_WARPS);
}

extern "C" PoiseErr poiseCuda_spgemm_count(Device *dev, const void *args)
{
  const SpgemmArgs *a = (const SpgemmArgs *)args;
  cudaStream_t stream = poiseCudaStream(dev);
  TRY(Begin(dev, a));
  int width = ByThreads(dev, a) ? 32 : 1;
  if (width > 1) SpgemmCountByThread<<<RowBlocks(a), ROW_THREADS, 0, stream>>>(*a);
  if (a->A.m)
    SpgemmCountByWarp<<<WarpBlocks((a->A.m + width - 1) / width), WARP_THREADS, 0, stream>>>(*a, width);
  return LaunchAll<COUNT, false>(dev, a, 0);
}

extern "C" PoiseErr poiseCuda_spgemm_columns(Device *dev, const void *args)
{
  const SpgemmArgs *a = (const SpgemmArgs *)args;
  if (a->A.m) SpgemmKept<<<Grid(a->A.m), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return KeepsAll(a) ? POISE_OK : LaunchAll<COLUMNS, false>(dev, a, 0);
}

typedef void RowsKernel(SpgemmArgs, int, int, int);

/* Rows that have more than *done numbers, and up to 2^bits, by a kernel that needs so many bytes of shared
   memory for a number, and for which a warp has `groups` rows in step. */
static PoiseErr LaunchRows(Device *dev, const SpgemmArgs *a, RowsKernel *kernel, int groups, size_t number,
                           int bits, int *done)
{
  const size_t bytes = ((size_t)(BLOCK_WARPS * groups) << bits) * number;
  int width = RowsAtOnce(dev, a->A.m, groups);
  if (bytes > 48 * 1024)
    TRY(poiseCudaCheck(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes),
                       "shared memory of a sparse product"));
  kernel<<<WarpBlocks((a->A.m + width - 1) / width), WARP_THREADS, bytes, poiseCudaStream(dev)>>>(
      *a, width, *done + 1, bits);
  *done = 1 << bits;
  return POISE_OK;
}

template <int G> static PoiseErr LaunchByGroup(Device *dev, const SpgemmArgs *a, int bits, int *done)
{
  return LaunchRows(dev, a, SpgemmNumbersByGroup<G>, 32 / G, sizeof(double) + sizeof(int32_t), bits, done);
}

/* Short rows by some lanes each, the fewer the less a row has to do, so that all are busy; others by a warp.
   A long row of few columns would keep some lanes too long. */
static PoiseErr ScalarNumbers(Device *dev, const SpgemmArgs *a)
{
  const double few = 64, products = (double)a->A.nz * (double)a->B.nz; /* of a row, in the mean, times rows */
  int done = 0;
  if (a->A.m && a->products <= WARP_PRODUCTS) {
    if (a->products <= WARP_PRODUCTS / 4)
      TRY((products <= few * (double)a->A.m * (double)a->B.m ? LaunchByGroup<8>(dev, a, 6, &done)
                                                             : LaunchByGroup<16>(dev, a, 6, &done)));
    if (a->rows_of[1] || a->rows_of[2] || !done) TRY(LaunchByGroup<32>(dev, a, 8, &done));
    if (a->rows_of[2] || a->rows_of[3]) TRY(LaunchByGroup<32>(dev, a, 10, &done));
  }
  return LaunchAll<NUMBERS, true>(dev, a, done);
}

/* Rows of few tiles need little shared memory, so that many of them are under way. */
template <int P, int Q, int S> static PoiseErr TileNumbers(Device *dev, const SpgemmArgs *a)
{
  const size_t tile = tile_room<P, S> * sizeof(double) + sizeof(int32_t);
  int done = 0;
  for (int bits = 4; a->A.m && bits <= (a->rows_of[1] ? 6 : 5); bits++)
    TRY(LaunchRows(dev, a, SpgemmTilesByWarp<P, Q, S>, 1, tile, bits, &done));
  return LaunchAll<NUMBERS, false>(dev, a, done);
}

static bool HasTiles(const SpgemmArgs *a, int p, int q, int s)
{
  return a->p == p && a->q == q && a->s == s;
}

/* Numbers, and tiles of elasticity in the plane and in space: with 2 and 3 unknowns in a node, and 3 and 6 in
   one of a coarse level. */
extern "C" PoiseErr poiseCuda_spgemm_numbers(Device *dev, const void *args)
{
  const SpgemmArgs *a = (const SpgemmArgs *)args;
  if (HasTiles(a, 1, 1, 1)) return ScalarNumbers(dev, a);
  if (HasTiles(a, 2, 2, 3)) return TileNumbers<2, 2, 3>(dev, a);
  if (HasTiles(a, 3, 2, 3)) return TileNumbers<3, 2, 3>(dev, a);
  if (HasTiles(a, 3, 3, 3)) return TileNumbers<3, 3, 3>(dev, a);
  if (HasTiles(a, 3, 3, 6)) return TileNumbers<3, 3, 6>(dev, a);
  if (HasTiles(a, 6, 3, 6)) return TileNumbers<6, 3, 6>(dev, a);
  if (HasTiles(a, 6, 6, 6)) return TileNumbers<6, 6, 6>(dev, a);
  return LaunchAll<NUMBERS, false>(dev, a, 0);
}

/* The lengths of the rows of B that row i of A refers to, some at once. */
static __device__ __forceinline__ void WorkOfRow(const SpgemmArgs *a, int64_t i)
{
  int64_t sum = 0;
#pragma unroll 4
  for (int64_t e = poiseCsrOffset(&a->A, i), last = poiseCsrOffset(&a->A, i + 1); e < last; e++)
    sum += poiseCsrOffset(&a->B, a->A.col[e] + 1) - poiseCsrOffset(&a->B, a->A.col[e]);
  a->work[i] = poiseSpgemmProducts(sum);
}

static __device__ __host__ CsrView &LeftOf(SpgemmArgs &a)
{
  return a.A;
}

/* BOUND_LANES threads add the lengths of the rows of B that a row of A refers to. Traffic: 4 bytes per entry
   of A, and two offsets of B, which are often near one another. */
static __global__ void __launch_bounds__(THREADS) SpgemmWork(const __grid_constant__ SpgemmArgs a)
{
  int64_t i = (blockIdx.x * (int64_t)THREADS + threadIdx.x) / BOUND_LANES, sum = 0;
  int lane = threadIdx.x % BOUND_LANES;
  if (i < a.A.m)
    for (int64_t e = poiseCsrOffset(&a.A, i) + lane, last = poiseCsrOffset(&a.A, i + 1); e < last;
         e += BOUND_LANES)
      sum += poiseCsrOffset(&a.B, a.A.col[e] + 1) - poiseCsrOffset(&a.B, a.A.col[e]);
  for (int apart = BOUND_LANES / 2; apart > 0; apart /= 2) sum += __shfl_xor_sync(~0u, (long long)sum, apart);
  if (i < a.A.m && lane == 0) a.work[i] = poiseSpgemmProducts(sum);
}

/* What threads have counted, to `to`: largest numbers, and sums. */
__device__ __forceinline__ void Publish(int64_t *to, const Number (&mine)[SPGEMM_COUNTS])
{
#pragma unroll
  for (int c = 0; c < SPGEMM_COUNTS; c++) {
    if (c == SPGEMM_LONGEST || c == SPGEMM_PRODUCTS)
      RaiseTo(to + c, mine[c]);
    else
      AddTo(to + c, mine[c]);
  }
}

/* Traffic: 4 or 8 bytes per row. */
static __global__ void __launch_bounds__(THREADS) SpgemmClasses(const __grid_constant__ SpgemmArgs a)
{
  __shared__ int64_t sum[SPGEMM_COUNTS];
  Number mine[SPGEMM_COUNTS] = {0};
  if (threadIdx.x < SPGEMM_COUNTS) sum[threadIdx.x] = 0;
  __syncthreads();
  for (int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x; i < a.A.m;
       i += (int64_t)gridDim.x * THREADS) {
    Number work = (Number)poiseSpgemmWork(&a, i), products = a.work ? (Number)a.work[i] : 0;
    int class_of = poiseSpgemmClass((int64_t)work);
#pragma unroll
    for (int c = 0; c < SPGEMM_CLASSES; c++) mine[c] += class_of == c;
    mine[SPGEMM_ROOM] += (Number)poiseSpgemmRoom(&a, i);
    mine[SPGEMM_LONGEST] = max(mine[SPGEMM_LONGEST], work);
    mine[SPGEMM_PRODUCTS] = max(mine[SPGEMM_PRODUCTS], products);
  }
  Publish(sum, mine);
  __syncthreads();
  if (threadIdx.x >= 32) return;
#pragma unroll
  for (int c = 0; c < SPGEMM_COUNTS; c++) mine[c] = threadIdx.x == 0 ? sum[c] : 0;
  Publish(a.counts, mine);
}

/* Traffic: 4 bytes per row. */
static __global__ void __launch_bounds__(THREADS) RowSums(const __grid_constant__ RowOffsetsArgs a)
{
  typedef cub::BlockReduce<int64_t, THREADS> Reduce;
  __shared__ typename Reduce::TempStorage shared;
  int64_t sum = 0;
  for (int r = 0; r < ROWS; r++) {
    int64_t i = (int64_t)blockIdx.x * POISE_BLOCK + r * THREADS + threadIdx.x;
    if (i < a.m) sum += a.length[i];
  }
  sum = Reduce(shared).Sum(sum);
  if (threadIdx.x == 0) a.count[blockIdx.x] = sum;
}

/* Traffic: 4 bytes per row, and an offset. */
static __global__ void __launch_bounds__(THREADS) RowOffsets(const __grid_constant__ RowOffsetsArgs a)
{
  typedef cub::BlockScan<int64_t, THREADS> Before;
  __shared__ typename Before::TempStorage shared;
  int64_t offset = a.count[blockIdx.x];
  for (int r = 0; r < ROWS; r++) {
    int64_t i = (int64_t)blockIdx.x * POISE_BLOCK + r * THREADS + threadIdx.x, before, all;
    Before(shared).ExclusiveSum(i < a.m ? (int64_t)a.length[i] : 0, before, all);
    if (i <= a.m && a.ptr32) a.ptr32[i] = (int32_t)(offset + before);
    if (i <= a.m && a.ptr64) a.ptr64[i] = offset + before;
    offset += all;
    __syncthreads();
  }
}

extern "C" PoiseErr poiseCuda_spgemm_work(Device *dev, const void *args)
{
  const SpgemmArgs *a = (const SpgemmArgs *)args;
  if (LaunchStaged<SpgemmArgs, IfThere<SpgemmArgs, WorkOfRow>, LeftOf, false>(dev, a, a->A.m))
    return POISE_OK;
  if (a->A.m) SpgemmWork<<<Grid(a->A.m * BOUND_LANES), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

extern "C" PoiseErr poiseCuda_spgemm_classes(Device *dev, const void *args)
{
  const SpgemmArgs *a = (const SpgemmArgs *)args;
  unsigned blocks = Grid(a->A.m), most = 8 * (unsigned)dev->model.multiprocessors;
  TRY(poiseCudaCheck(cudaMemsetAsync(a->counts, 0, SPGEMM_COUNTS * sizeof *a->counts, poiseCudaStream(dev)),
                     "zeroing counts"));
  if (blocks > most) blocks = most;
  if (blocks) SpgemmClasses<<<blocks, THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

extern "C" PoiseErr poiseCuda_row_sums(Device *dev, const void *args)
{
  const RowOffsetsArgs *a = (const RowOffsetsArgs *)args;
  if (a->m) RowSums<<<(unsigned)POISE_NBLOCKS(a->m), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

extern "C" PoiseErr poiseCuda_row_offsets(Device *dev, const void *args)
{
  const RowOffsetsArgs *a = (const RowOffsetsArgs *)args;
  RowOffsets<<<(unsigned)POISE_NBLOCKS(a->m + 1), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

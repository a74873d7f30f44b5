/* SPDX-License-Identifier: BSD-3-Clause */
/* Set-up of amg, a thread per item, or some lanes per row. The text of each kernel, and its traffic, stand in
   the header of its stage. Compiled without contraction, so that the hierarchy has the host's bits. */
#include "pc/amg/aggregate_kernels.h"
#include "pc/amg/bottom_kernels.h"
#include "pc/amg/diagonal_kernels.h"
#include "pc/amg/interpolation_kernels.h"
#include "pc/amg/lambda_kernels.h"
#include "pc/amg/opposite_kernels.h"
#include "pc/amg/ranks_kernels.h"
#include "pc/amg/redundant_kernels.h"
#include "pc/amg/scaling_kernels.h"
#include "pc/amg/steps_kernels.h"
#include "pc/amg/strength_kernels.h"
#include "pc/amg/sweeps_kernels.h"
#include "pc/amg/tentative_kernels.h"
#include "pc/colour_factor_kernels.h"
#include "pc/colours_kernels.h"
#include "mat/multiply/spgemm_kernels.h"
#include "colour_lanes.h"
#include "items.h"
#include "row_lanes.h"
#include "staged_rows.h"

/* amg_sizes_item: the least and the largest, in any order, and the one on the diagonal. */
static __global__ void __launch_bounds__(THREADS) SizesByLanes(const __grid_constant__ AmgStrengthArgs s)
{
  const Group g = GroupOf(s.A, s.n);
  double diagonal = 0, least = 0, most = 0;
  for (int k = g.lane; k < g.entries; k += LANES) {
    double a = s.A.val[g.first + k];
    if (s.A.col[g.first + k] == g.i)
      diagonal = a;
    else
      least = a < least ? a : least, most = a > most ? a : most;
  }
  for (int apart = 1; apart < LANES; apart *= 2) {
    double low = __shfl_xor_sync(~0u, least, apart), high = __shfl_xor_sync(~0u, most, apart);
    least = low < least ? low : least, most = high > most ? high : most;
    diagonal += __shfl_xor_sync(~0u, diagonal, apart);
  }
  if (g.lane == 0 && g.i >= 0) s.size[g.i] = diagonal > 0 ? -least : diagonal < 0 ? -most : 0;
}

/* amg_strong_count_item, amg_strong_write_item */
template <bool WRITE>
static __global__ void __launch_bounds__(THREADS) StrongByLanes(const __grid_constant__ AmgStrengthArgs s)
{
  const Group g = GroupOf(s.A, s.n);
  const int first_lane = threadIdx.x % 32 / LANES * LANES;
  int64_t at = WRITE && g.i >= 0 ? poiseCsrOffset(&s.g, g.i) : 0;
  int32_t strong = 0;
  for (int base = 0; base < g.most; base += LANES) {
    int64_t k = g.first + base + g.lane;
    bool is_one = base + g.lane < g.entries;
    int32_t j = is_one ? s.A.col[k] : -1;
    double a = is_one ? s.A.val[k] : 0;
    is_one = is_one && poiseAmgIsInGraph(&s, g.i, j, a);
    if (WRITE && s.kept && base + g.lane < g.entries) s.kept[k] = is_one;
    unsigned ones = __ballot_sync(~0u, is_one) >> first_lane & ((1u << LANES) - 1);
    if (WRITE && is_one) {
      int64_t to = at + strong + __popc(ones & ((1u << g.lane) - 1));
      s.col[to] = j;
      s.weight[to] = (float)fabs(a);
    }
    strong += __popc(ones);
  }
  if (!WRITE && g.lane == 0 && g.i >= 0) s.strong[g.i] = strong;
}

/* amg_coarse_sizes_item, of rows of numbers: a lane has one of its sums. */
static __global__ void __launch_bounds__(THREADS) CoarseSizesByLanes(const __grid_constant__ AmgSizesArgs a)
{
  static_assert(AMG_SIZE_LANES == LANES, "a lane for each sum");
  const Group g = GroupOf(a.R, a.n);
  double sum = 0;
  for (int k = g.lane; k < g.entries; k += LANES)
    sum += poiseAmgPartOfSize(&a, a.R.val[g.first + k], a.R.col[g.first + k]);
  for (int apart = 1; apart < LANES; apart *= 2) sum += __shfl_xor_sync(~0u, sum, apart);
  if (g.lane == 0 && g.i >= 0) a.coarse[g.i] = sum;
}

template <typename Args> static PoiseErr LaunchLanes(Device *dev, const void *args, void (*kernel)(Args))
{
  const Args *a = (const Args *)args;
  if (a->n) kernel<<<Grid(a->n * LANES), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

static __device__ __host__ CsrView &MatrixOf(AmgStrengthArgs &a)
{
  return a.A;
}

/* Short rows by threads, others by lanes. */
template <> PoiseErr LaunchItems<AmgStrengthArgs, amg_strong_count_item>(Device *dev, const void *args)
{
  const AmgStrengthArgs *a = (const AmgStrengthArgs *)args;
  if (LaunchStaged<AmgStrengthArgs, IfThere<AmgStrengthArgs, amg_strong_count_item>, MatrixOf, true>(dev, a,
                                                                                                     a->n))
    return POISE_OK;
  return LaunchLanes<AmgStrengthArgs>(dev, args, StrongByLanes<false>);
}

template <> PoiseErr LaunchItems<AmgSizesArgs, amg_coarse_sizes_item>(Device *dev, const void *args)
{
  const AmgSizesArgs *a = (const AmgSizesArgs *)args;
  if (!a->R.b) return LaunchLanes<AmgSizesArgs>(dev, args, CoarseSizesByLanes);
  if (a->n) Items<AmgSizesArgs, amg_coarse_sizes_item><<<Grid(a->n), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

static __device__ __host__ CsrView &MatrixOf(AmgDiagonalArgs &a)
{
  return a.m.A;
}

/* Rows of nodes of one row are looked through for one column. */
template <> PoiseErr LaunchItems<AmgDiagonalArgs, amg_diagonal_item>(Device *dev, const void *args)
{
  const AmgDiagonalArgs *a = (const AmgDiagonalArgs *)args;
  if (a->m.node == 1 &&
      LaunchStaged<AmgDiagonalArgs, IfThere<AmgDiagonalArgs, amg_diagonal_item>, MatrixOf, false>(dev, a,
                                                                                                  a->n))
    return POISE_OK;
  if (a->n) Items<AmgDiagonalArgs, amg_diagonal_item><<<Grid(a->n), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

template <> PoiseErr LaunchItems<AmgStrengthArgs, amg_sizes_item>(Device *dev, const void *args)
{
  const AmgStrengthArgs *a = (const AmgStrengthArgs *)args;
  if (LaunchStaged<AmgStrengthArgs, IfThere<AmgStrengthArgs, amg_sizes_item>, MatrixOf, true>(dev, a, a->n))
    return POISE_OK;
  return LaunchLanes<AmgStrengthArgs>(dev, args, SizesByLanes);
}

template <> PoiseErr LaunchItems<AmgStrengthArgs, amg_strong_write_item>(Device *dev, const void *args)
{
  return LaunchLanes<AmgStrengthArgs>(dev, args, StrongByLanes<true>);
}

/* By lanes where these have more than an entry each, or a block. */
template <void (*Item)(const ColourMatrixArgs *, int64_t)>
static PoiseErr LaunchPlaced(Device *dev, const void *args, void (*lanes)(ColourMatrixArgs))
{
  const ColourMatrixArgs *a = (const ColourMatrixArgs *)args;
  if (a->A.b > 1 || a->A.nz > LANES * a->A.m) return LaunchLanes<ColourMatrixArgs>(dev, args, lanes);
  if (a->n) Items<ColourMatrixArgs, Item><<<Grid(a->n), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

template <> PoiseErr LaunchItems<ColourMatrixArgs, colour_pattern_item>(Device *dev, const void *args)
{
  return LaunchPlaced<colour_pattern_item>(dev, args, PatternByLanes);
}

template <> PoiseErr LaunchItems<ColourMatrixArgs, colour_entries_item>(Device *dev, const void *args)
{
  return LaunchPlaced<colour_entries_item>(dev, args, EntriesByLanes);
}

template <typename Args, void (*Item)(const Args *, int64_t)>
static PoiseErr LaunchMoves(Device *dev, const void *args)
{
  const Args *a = (const Args *)args;
  if (a->b == 1) return LaunchNumbersToPlaces(dev, a);
  if (a->n) Items<Args, Item><<<Grid(a->n), THREADS, 0, poiseCudaStream(dev)>>>(*a);
  return POISE_OK;
}

template <> PoiseErr LaunchItems<ColourMoveArgs, colour_to_places_item>(Device *dev, const void *args)
{
  return LaunchMoves<ColourMoveArgs, colour_to_places_item>(dev, args);
}

template <> PoiseErr LaunchItems<ColourMoveArgs_f32, colour_to_places_f32_item>(Device *dev, const void *args)
{
  return LaunchMoves<ColourMoveArgs_f32, colour_to_places_f32_item>(dev, args);
}

#define KERNEL(name, Args)
#define ITEM_KERNEL(name, Args)                                       \
  extern "C" PoiseErr poiseCuda_##name(Device *dev, const void *args) \
  {                                                                   \
    return LaunchItems<Args, name##_item>(dev, args);                 \
  }
#include "sys/device/kernels.def"
#undef KERNEL

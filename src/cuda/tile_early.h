/* SPDX-License-Identifier: BSD-3-Clause */
/*
  SpMV by tiles where latency dominates, because the system is small. Inside a solver's loop the matrix does
  not change. So the tile is fetched, and the first columns are read, before the kernel ahead has ended
  (PDL). After that wait all that the kernel ahead may have written is loaded at once. That is x, skip, the
  scalars, the scale, and the factors of dots that do not depend on y.
*/
#ifndef POISE_TILE_EARLY_H
#define POISE_TILE_EARLY_H

#include "epilogue.h"
#include "tile.h"

/* The columns of a row's first UNROLL entries, in registers. */
template <int L, typename Columns>
__device__ __forceinline__ void FirstColumns(Columns col, int k, int end, int32_t (&c)[UNROLL])
{
#pragma unroll
  for (int r = 0; r < UNROLL; r++) c[r] = k + r * L < end ? col[k + r * L] : -1;
}

/* As PartOfRow, with the first UNROLL columns known. */
template <int L, typename Columns, typename Args>
__device__ __forceinline__ double PartOfRowFrom(const Args &a, const Entry<Args> *val, Columns col, int k,
                                                int end, const int32_t (&c)[UNROLL])
{
  Entry<Args> x[UNROLL];
  double s = 0;
#pragma unroll
  for (int r = 0; r < UNROLL; r++)
    x[r] = c[r] < 0 ? 0 : c[r] < a.A.nloc ? a.x[c[r]] : a.ghost[c[r] - a.A.nloc];
#pragma unroll
  for (int r = 0; r < UNROLL; r++)
    if (c[r] >= 0) s += (double)val[k + r * L] * x[r];
  return PartOfRow<L, true, int>(a, val, col, k + UNROLL * L, end, s);
}

/* FirstColumns, and SumRow from there, for either form of columns. */
template <int L, bool INDEX16, typename Real>
__device__ __forceinline__ void FirstOfRow(const TileView<Real> &t, const RowShare &row, int32_t (&c)[UNROLL])
{
  if (INDEX16 && t.in16)
    FirstColumns<L>(Columns16{t.code, t.base}, (int)row.k, (int)row.end, c);
  else
    FirstColumns<L>(t.col, (int)row.k, (int)row.end, c);
}

template <int L, bool INDEX16, typename Args>
__device__ __forceinline__ double SumRowFrom(const Args &a, const TileView<Entry<Args>> &t,
                                             const RowShare &row, const int32_t (&c)[UNROLL])
{
  double s;
  if (INDEX16 && t.in16)
    s = PartOfRowFrom<L>(a, t.val, Columns16{t.code, t.base}, (int)row.k, (int)row.end, c);
  else
    s = PartOfRowFrom<L>(a, t.val, t.col, (int)row.k, (int)row.end, c);
  return SumOfLanes<L>(s);
}

/* u or d of dot f, of which there is one. */
template <typename Real> __device__ __forceinline__ double KnownFactor(const Fuse &fuse, int f, int64_t i)
{
  const double *known = fuse.u[f] ? fuse.u[f] : fuse.d[f];
  return sizeof(Real) == sizeof(float) && fuse.single ? ((const float *)known)[i] : known[i];
}

/* As FuseRow. known: factors of dots that do not depend on y. Two dots are reduced together. */
template <int T, typename Real>
__device__ __forceinline__ void FuseKnown(const Fuse &fuse, const RowShare &row, double y,
                                          const double (&known)[2], int64_t block)
{
  if (fuse.ndot == 2) {
    double d[2];
    for (int f = 0; f < 2; f++)
      d[f] = row.stores ? (fuse.u[f] ? known[f] : fuse.d[f] ? known[f] * y : y) * y : 0;
    BlockReducePair<COMBINE_SUM, T>(d);
    if (threadIdx.x == 0) fuse.partial[0][block] = d[0], fuse.partial[1][block] = d[1];
    return;
  }
  for (int f = 0; f < fuse.ndot; f++) {
    double d[1] = {0};
    if (row.stores) d[0] = (f == 0 && fuse.u[0] ? known[0] : Factor<Real>(fuse, f, row.i, y)) * y;
    BlockReduce<1, COMBINE_SUM, T>(d);
    if (threadIdx.x == 0) fuse.partial[f][block] = d[0];
  }
}

template <int T, int L, bool INDEX16, typename Args>
static __global__ void __launch_bounds__(T) CsrTileEarly(const __grid_constant__ Args a)
{
  __shared__ uint64_t barrier;
  __shared__ int32_t base[POISE_BANDS];
  PdlLaunchDependents();
  TileRange r = RangeOfTile<T / L, INDEX16>(a.A, poiseBlockOf(&a, blockIdx.x));
  auto tile = FetchTile<T, INDEX16>(a, r, &barrier, base);
  RowShare row = ShareOfRow<L>(a.A, r);
  WaitForTile(tile);
  int32_t c[UNROLL];
  FirstOfRow<L, INDEX16>(tile, row, c);
  int block = (int)r.block; /* as int64 it is spilled in two forms */
  PdlWait();
  double skip = a.skip ? *a.skip : 0, alpha = poiseScalar(a.a), beta = poiseScalar(a.b), known[2] = {0, 0},
         scale = row.stores && a.scale ? a.scale[row.i] : 1;
  for (int f = 0; f < 2; f++) /* here: in a function it costs a spill */
    if (row.stores && f < a.fuse.ndot && (a.fuse.u[f] || a.fuse.d[f]))
      known[f] = KnownFactor<Entry<Args>>(a.fuse, f, row.i);
  double s = SumRowFrom<L, INDEX16>(a, tile, row, c);
  if (skip != 0) return;
  double y = 0;
  if (row.stores) {
    y = scale * (alpha * s + (beta == 0 ? 0 : beta * a.y[row.i]));
    a.y[row.i] = (Entry<Args>)y;
  }
  FuseKnown<T, Entry<Args>>(a.fuse, row, y, known, block);
}

#endif

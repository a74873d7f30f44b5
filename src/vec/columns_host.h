/* SPDX-License-Identifier: BSD-3-Clause */
/* Dots of wide vectors on the host. Those of a column have the bits of the same dots of that column alone. */
#ifndef POISE_COLUMNS_HOST_H
#define POISE_COLUMNS_HOST_H

#include "vec_host.h"

typedef double HostColumns[POISE_MAX_COLUMNS];

/* HOST_LANES rows are a tile: its numbers lie side by side, as many as a multiple of HOST_LANES for any k.
   Each has a sum of its own, so a loop over them has no remainder. */
typedef double HostTile[HOST_LANES * POISE_MAX_COLUMNS];

/* Sums of the lanes of each column, k of them. */
POISE_INLINE void poiseHostAddTile(const double *s, int k, double *sum)
{
  for (int c = 0; c < k; c++) {
    double lane[HOST_LANES];
    for (int l = 0; l < HOST_LANES; l++) lane[l] = s[l * k + c];
    sum[c] = poiseHostAddLanes(lane);
  }
}

/* sum[c] = the sum of row_i x_ic, i in [begin, end), of k columns, as one of them by itself has it; for x of
   either type */
#define HOST_ROW_TIMES(name, X)                                                                          \
  static inline void name(const double *row, const X *x, int k, int64_t begin, int64_t end, double *sum) \
  {                                                                                                      \
    HostTile s;                                                                                          \
    memset(s, 0, (size_t)(HOST_LANES * k) * sizeof *s);                                                  \
    for (int64_t i = begin; i < end; i++) {                                                              \
      double *lane = s + (i - begin) % HOST_LANES * k;                                                   \
      const X *from = x + i * k;                                                                         \
      HOST_SIMD                                                                                          \
      for (int c = 0; c < k; c++) lane[c] += (double)from[c] * row[i];                                   \
    }                                                                                                    \
    poiseHostAddTile(s, k, sum);                                                                         \
  }
HOST_ROW_TIMES(poiseHostRowTimes, double)
HOST_ROW_TIMES(poiseHostRowTimes_f32, float)
#undef HOST_ROW_TIMES

/* sum[c] = the sum of x_ic y_ic, or of (d_i x_ic) y_ic where d is not NULL, i in [begin, end). */
static inline void poiseHostColumnDots(int k, const double *d, const double *x, const double *y,
                                       int64_t begin, int64_t end, double *sum)
{
  HostTile s;
  memset(s, 0, (size_t)(HOST_LANES * k) * sizeof *s);
  for (int64_t i = begin; i < end; i += HOST_LANES) {
    int64_t rows = end - i < HOST_LANES ? end - i : HOST_LANES;
    const double *u = x + i * k, *v = y + i * k;
    if (d) {
      for (int64_t l = 0; l < rows; l++)
        for (int c = 0; c < k; c++) s[l * k + c] += d[i + l] * u[l * k + c] * v[l * k + c];
    } else {
      HOST_SIMD
      for (int64_t e = 0; e < rows * k; e++) s[e] += u[e] * v[e];
    }
  }
  poiseHostAddTile(s, k, sum);
}

/* poiseHostFuse for a wide y. */
static inline void poiseHostFuseColumns(const Fuse *f, const double *y, int64_t begin, int64_t end,
                                        int64_t at)
{
  HostColumns sum;
  for (int p = 0; p < f->ndot; p++) {
    const double *d = f->u[p] ? NULL : f->d[p], *u = f->u[p] ? f->u[p] : y;
    poiseHostColumnDots(f->systems.n, d, y, u, begin, end, sum);
    for (int c = 0; c < f->systems.n; c++) f->partial[p][at + c * f->systems.partials] = sum[c];
  }
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Dots of wide vectors on the host. Those of a column have the bits of the same dots of that column alone. */
#ifndef POISE_COLUMNS_HOST_H
#define POISE_COLUMNS_HOST_H

#include "vec_host.h"

typedef double HostColumns[POISE_MAX_COLUMNS];

/* Sums of the lanes of each column, k of them. */
POISE_INLINE void poiseHostAddColumnLanes(HostColumns *s, int k, double *sum)
{
  for (int c = 0; c < k; c++) {
    double lane[HOST_LANES];
    for (int l = 0; l < HOST_LANES; l++) lane[l] = s[l][c];
    sum[c] = poiseHostAddLanes(lane);
  }
}

/* sum[c] = the sum of x_ic y_ic, or of (d_i x_ic) y_ic where d is not NULL, i in [begin, end). */
static inline void poiseHostColumnDots(int k, const double *d, const double *x, const double *y,
                                       int64_t begin, int64_t end, double *sum)
{
  HostColumns s[HOST_LANES] = {{0}};
  for (int64_t i = begin; i < end; i++) {
    double *lane = s[(i - begin) % HOST_LANES];
    const double *u = x + i * k, *v = y + i * k;
    if (d) {
      HOST_SIMD
      for (int c = 0; c < k; c++) lane[c] += d[i] * u[c] * v[c];
    } else {
      HOST_SIMD
      for (int c = 0; c < k; c++) lane[c] += u[c] * v[c];
    }
  }
  poiseHostAddColumnLanes(s, k, sum);
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

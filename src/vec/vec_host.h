/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by host kernels: threads over blocks of rows, and sums in a fixed order. */
#ifndef POISE_VEC_HOST_H
#define POISE_VEC_HOST_H

#include "vec.h"

#define HOST_SIMD HOST_PRAGMA(omp simd)

enum { HOST_LANES = 8 }; /* independent sums of a block: one vector register, or two */

POISE_INLINE double poiseHostAddLanes(const double *s)
{
  return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

/* sum of x_i y_i, i in [begin, end), for x of either type */
#define HOST_DOT(name, Real)                                                            \
  static inline double name(const Real *x, const double *y, int64_t begin, int64_t end) \
  {                                                                                     \
    double s[HOST_LANES] = {0};                                                         \
    int64_t i = begin;                                                                  \
    for (; i + HOST_LANES <= end; i += HOST_LANES) {                                    \
      HOST_SIMD                                                                         \
      for (int l = 0; l < HOST_LANES; l++) s[l] += x[i + l] * y[i + l];                 \
    }                                                                                   \
    for (int l = 0; i + l < end; l++) s[l] += x[i + l] * y[i + l];                      \
    return poiseHostAddLanes(s);                                                        \
  }
HOST_DOT(poiseHostDot, double)
HOST_DOT(poiseHostDot_f32, float)
#undef HOST_DOT

/* sum of d_i y_i^2 */
static inline double poiseHostWeightedDot(const double *d, const double *y, int64_t begin, int64_t end)
{
  double s[HOST_LANES] = {0};
  int64_t i = begin;
  for (; i + HOST_LANES <= end; i += HOST_LANES) {
    HOST_SIMD
    for (int l = 0; l < HOST_LANES; l++) s[l] += d[i + l] * y[i + l] * y[i + l];
  }
  for (int l = 0; i + l < end; l++) s[l] += d[i + l] * y[i + l] * y[i + l];
  return poiseHostAddLanes(s);
}

/* y_i *= d_i */
static inline void poiseHostScale(const double *restrict d, double *restrict y, int64_t begin, int64_t end)
{
  HOST_SIMD
  for (int64_t i = begin; i < end; i++) y[i] *= d[i];
}

/* The dots of rows [begin, end) while they are in cache, as the partials of block `at`. */
static inline void poiseHostFuse(const Fuse *f, const double *y, int64_t begin, int64_t end, int64_t at)
{
  for (int k = 0; k < f->ndot; k++)
    f->partial[k][at] = f->u[k]   ? poiseHostDot(f->u[k], y, begin, end)
                        : f->d[k] ? poiseHostWeightedDot(f->d[k], y, begin, end)
                                  : poiseHostDot(y, y, begin, end);
}

#endif

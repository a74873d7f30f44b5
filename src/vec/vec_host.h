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

/* sum of x_i y_i, i in [begin, end), for x and y of either type */
#define HOST_DOT(name, X, Y)                                                    \
  static inline double name(const X *x, const Y *y, int64_t begin, int64_t end) \
  {                                                                             \
    double s[HOST_LANES] = {0};                                                 \
    int64_t i = begin;                                                          \
    for (; i + HOST_LANES <= end; i += HOST_LANES) {                            \
      HOST_SIMD                                                                 \
      for (int l = 0; l < HOST_LANES; l++) s[l] += (double)x[i + l] * y[i + l]; \
    }                                                                           \
    for (int l = 0; i + l < end; l++) s[l] += (double)x[i + l] * y[i + l];      \
    return poiseHostAddLanes(s);                                                \
  }
HOST_DOT(poiseHostDot, double, double)
HOST_DOT(poiseHostDot_f32, float, double)
HOST_DOT(poiseHostDotBoth, double, double)
HOST_DOT(poiseHostDotBoth_f32, float, float)
#undef HOST_DOT

/* sum of d_i y_i^2, the same */
#define HOST_WEIGHTED(name, D, Y)                                                          \
  static inline double name(const D *d, const Y *y, int64_t begin, int64_t end)            \
  {                                                                                        \
    double s[HOST_LANES] = {0};                                                            \
    int64_t i = begin;                                                                     \
    for (; i + HOST_LANES <= end; i += HOST_LANES) {                                       \
      HOST_SIMD                                                                            \
      for (int l = 0; l < HOST_LANES; l++) s[l] += (double)d[i + l] * y[i + l] * y[i + l]; \
    }                                                                                      \
    for (int l = 0; i + l < end; l++) s[l] += (double)d[i + l] * y[i + l] * y[i + l];      \
    return poiseHostAddLanes(s);                                                           \
  }
HOST_WEIGHTED(poiseHostWeightedDot, double, double)
HOST_WEIGHTED(poiseHostWeightedDot_f32, double, float)
HOST_WEIGHTED(poiseHostWeightedDotBoth_f32, float, float)
#undef HOST_WEIGHTED

/* The dots of y in fp32 with u and d of that type. */
static inline void poiseHostFuseSingle(const Fuse *f, const float *y, int64_t begin, int64_t end, int64_t at)
{
  for (int k = 0; k < f->ndot; k++) {
    const float *u = (const float *)f->u[k], *d = (const float *)f->d[k];
    f->partial[k][at] = u   ? poiseHostDotBoth_f32(y, u, begin, end)
                        : d ? poiseHostWeightedDotBoth_f32(d, y, begin, end)
                            : poiseHostDotBoth_f32(y, y, begin, end);
  }
}

/* What ends rows [begin, end) while they are in cache, for y of either type: y_i *= d_i; and the dots, as the
   partials of block `at`. */
#define HOST_END(Real, suffix)                                                                         \
  static inline void poiseHostScale##suffix(const double *restrict d, Real *restrict y, int64_t begin, \
                                            int64_t end)                                               \
  {                                                                                                    \
    HOST_SIMD                                                                                          \
    for (int64_t i = begin; i < end; i++) y[i] = (Real)(y[i] * d[i]);                                  \
  }                                                                                                    \
                                                                                                       \
  static inline void poiseHostFuse##suffix(const Fuse *f, const Real *y, int64_t begin, int64_t end,   \
                                           int64_t at)                                                 \
  {                                                                                                    \
    if (f->single) {                                                                                   \
      poiseHostFuseSingle(f, (const void *)y, begin, end, at);                                         \
      return;                                                                                          \
    }                                                                                                  \
    for (int k = 0; k < f->ndot; k++)                                                                  \
      f->partial[k][at] = f->u[k]   ? poiseHostDot##suffix(y, f->u[k], begin, end)                     \
                          : f->d[k] ? poiseHostWeightedDot##suffix(f->d[k], y, begin, end)             \
                                    : poiseHostDotBoth##suffix(y, y, begin, end);                      \
  }
HOST_END(double, )
HOST_END(float, _f32)
#undef HOST_END

#endif

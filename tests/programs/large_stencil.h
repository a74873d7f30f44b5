/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Seven points on a cube of k^3 nodes. The work for each node is written once for CPU and GPU: making the
  matrix as rows or as triplets, and checking results without it. A_ii = 6 + i mod 3, and -1 for the
  neighbours. These are whole numbers, so products with whole numbers are exact.
*/
#ifndef LARGE_STENCIL_H
#define LARGE_STENCIL_H

#include <stddef.h>
#include <stdint.h>

#if defined(__CUDACC__)
#define EITHER static __host__ __device__ __forceinline__
#else
#define EITHER static inline
#endif

enum { NODE = 7 }; /* points of the stencil, by ascending column; the node itself is number 3 */

typedef enum {
  MAKE_ROWS,     /* ptr (k^3 + 1), col, val */
  MAKE_TRIPLETS, /* rows, cols: NODE per node, those outside are -1 */
  MAKE_VALUES,   /* v: of the triplets, times factor */
  MAKE_X,        /* out_i: a small whole number */
  COUNT_WRONG,   /* y_i != factor (A x)_i */
  SQUARE,        /* y_i^2 */
  RESIDUAL       /* (y - A x)_i^2 */
} Job;

typedef struct Work {
  Job job;
  int64_t k;
  double factor;
  int64_t *ptr, *rows, *cols;
  int32_t *col;
  double *val, *v, *out;
  const double *x, *y;
} Work;

/* Column of point d of node i, or -1. */
EITHER int64_t Neighbour(int64_t k, int64_t i, int d)
{
  int64_t x = i % k, y = i / k % k, z = i / (k * k);
  switch (d) {
  case 0:
    return z > 0 ? i - k * k : -1;
  case 1:
    return y > 0 ? i - k : -1;
  case 2:
    return x > 0 ? i - 1 : -1;
  case 3:
    return i;
  case 4:
    return x < k - 1 ? i + 1 : -1;
  case 5:
    return y < k - 1 ? i + k : -1;
  default:
    return z < k - 1 ? i + k * k : -1;
  }
}

EITHER double Coefficient(int64_t i, int d)
{
  return d == 3 ? (double)(6 + i % 3) : -1;
}

EITHER int64_t AtMost(int64_t a, int64_t most)
{
  return a < most ? a : most;
}

/* Entries of the rows before i: all points of them but those outside, face by face. */
EITHER int64_t Before(int64_t k, int64_t i)
{
  int64_t plane = k * k, full = i / plane * k, rest = i % plane, behind = rest - (plane - k),
          last = i - plane * (k - 1);
  int64_t outside = (i + k - 1) / k + i / k + 2 * full + AtMost(rest, k) + (behind > 0 ? behind : 0) +
                    AtMost(i, plane) + (last > 0 ? last : 0);
  return NODE * i - outside;
}

EITHER double ProductAt(int64_t k, int64_t i, const double *x)
{
  double sum = 0;
  for (int d = 0; d < NODE; d++) {
    int64_t j = Neighbour(k, i, d);
    if (j >= 0) sum += Coefficient(i, d) * x[j];
  }
  return sum;
}

EITHER void MakeRow(const Work *w, int64_t i)
{
  int64_t e = Before(w->k, i);
  w->ptr[i] = e;
  for (int d = 0; d < NODE; d++) {
    int64_t j = Neighbour(w->k, i, d);
    if (j >= 0) w->col[e] = (int32_t)j, w->val[e++] = Coefficient(i, d);
  }
  if (i + 1 == w->k * w->k * w->k) w->ptr[i + 1] = e;
}

/* The work of node i, and what it adds to the sum. */
EITHER double DoWork(const Work *w, int64_t i)
{
  double r = 0;
  switch (w->job) {
  case MAKE_ROWS:
    MakeRow(w, i);
    break;
  case MAKE_TRIPLETS:
    for (int d = 0; d < NODE; d++) w->rows[NODE * i + d] = i, w->cols[NODE * i + d] = Neighbour(w->k, i, d);
    break;
  case MAKE_VALUES:
    for (int d = 0; d < NODE; d++) w->v[NODE * i + d] = w->factor * Coefficient(i, d);
    break;
  case MAKE_X:
    w->out[i] = (double)(i * 37 % 101 - 50);
    break;
  case COUNT_WRONG:
    return w->y[i] != w->factor * ProductAt(w->k, i, w->x);
  case SQUARE:
    return w->y[i] * w->y[i];
  case RESIDUAL:
    r = w->y[i] - ProductAt(w->k, i, w->x);
    return r * r;
  }
  return 0;
}

/* Where arrays are and work is done; each returns NULL, or what went wrong. */
typedef struct Place {
  const char *(*alloc)(size_t bytes, void *p);
  void (*release)(void *p);
  /* Of all nodes, in the stream's order, and waited for. sum may be NULL. */
  const char *(*run)(void *stream, const Work *w, double *sum);
} Place;

#ifdef __cplusplus
extern "C"
#else
extern
#endif
    const Place large_gpu;

#endif

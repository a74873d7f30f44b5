/* SPDX-License-Identifier: BSD-3-Clause */
/*
  A matrix that is generated where it is used: 27 points of a cube of k^3 nodes, a rank has whole planes.
  A_ii = 30 + i mod 3, and -1 for each neighbour. Written once for CPU and GPU.
*/
#ifndef HUGE_H
#define HUGE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__CUDACC__)
#define EITHER static __host__ __device__ __forceinline__
#else
#define EITHER static inline
#endif

typedef struct Cube {
  int64_t k, begin, n; /* rows [begin, begin + n) of k^3 */
  int64_t *ptr;        /* n + 1 */
  int32_t *col;        /* global */
  double *val, *b;     /* b = A (1, 1, ...) */
} Cube;

/* Neighbours in one direction, with the node itself; those of all nodes before t. */
EITHER int64_t Near(int64_t k, int64_t t)
{
  return 1 + (t > 0) + (t < k - 1);
}

EITHER int64_t NearBefore(int64_t k, int64_t t)
{
  return t == 0 ? 0 : t == k ? 3 * k - 2 : 3 * t - 1;
}

/* Entries of all rows before row i, for k > 1. */
EITHER int64_t EntriesBefore(int64_t k, int64_t i)
{
  int64_t x = i % k, y = i / k % k, z = i / (k * k), line = 3 * k - 2;
  if (z == k) return line * line * line;
  return line * line * NearBefore(k, z) +
         Near(k, z) * (line * NearBefore(k, y) + Near(k, y) * NearBefore(k, x));
}

EITHER void MakeRow(const Cube *c, int64_t local)
{
  int64_t k = c->k, i = c->begin + local, e = EntriesBefore(k, i) - EntriesBefore(k, c->begin);
  int64_t x = i % k, y = i / k % k, z = i / (k * k);
  double sum = 0;
  c->ptr[local] = e;
  for (int64_t w = z - (z > 0); w <= z + (z < k - 1); w++)
    for (int64_t v = y - (y > 0); v <= y + (y < k - 1); v++)
      for (int64_t u = x - (x > 0); u <= x + (x < k - 1); u++) {
        int64_t j = u + k * (v + k * w);
        double a = j == i ? (double)(30 + i % 3) : -1;
        c->col[e] = (int32_t)j;
        c->val[e++] = a;
        sum += a;
      }
  c->b[local] = sum;
  if (local + 1 == c->n) c->ptr[c->n] = e;
}

/* Where arrays are; each returns NULL, or what went wrong. stream: of PoiseStream. */
typedef struct Place {
  const char *(*alloc)(void *stream, size_t bytes, void *p);
  const char *(*make)(void *stream, const Cube *c); /* waits */
  /* Bytes in use on that device, by whoever; may be called by any thread. */
  const char *(*used)(void *stream, int64_t *bytes);
} Place;

#ifdef __cplusplus
extern "C"
#else
extern
#endif
    const Place huge_gpu;

#endif

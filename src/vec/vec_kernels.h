/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels on vectors: many dots or updates at once, sums of partial sums, gather and scatter (vec_host.c). */
#ifndef POISE_VEC_KERNELS_H
#define POISE_VEC_KERNELS_H

#include "sys/kernels.h"

/* partial sums of (x_j, y), j < k <= POISE_MAX_BATCH: partial[j * stride + block] */
typedef struct MdotArgs {
  int64_t n, stride;
  int k;
  const double *x[POISE_MAX_BATCH], *y, *skip; /* *skip != 0: do nothing (skip may be NULL) */
  double *partial;
} MdotArgs;

/* y += sign * sum_j a_j x_j, j < k; then dots of y, and partial sums of (x_j, y) as by mdot (again may be
   NULL) */
typedef struct MaxpyArgs {
  int64_t n, stride;
  int k;
  double sign;
  const double *x[POISE_MAX_BATCH], *a, *skip; /* a: k device scalars, or NULL: value */
  double value[POISE_MAX_BATCH];
  double *y, *again;
  Fuse fuse;
} MaxpyArgs;

/* y = D (a x + b y), D = diag(scale), NULL: 1; then dots of y. b = 0 overwrites whatever y held */
typedef struct AxpbyArgs {
  int64_t n;
  ScalarRef a, b;
  const double *x, *skip, *scale;
  double *y;
  Fuse fuse;
} AxpbyArgs;

typedef struct ReduceArgs { /* nsum sums (maxima): dst[j] (+)= sum of partial[j * stride + 0 .. count) */
  int nsum, add, max;
  int64_t stride, count;
  const double *partial, *skip;
  double *dst;
} ReduceArgs;

/* out_i = x[idx_i]; one of idx, idx64 is NULL. size: of how many numbers each i is; 0: of one */
typedef struct GatherArgs {
  int64_t n, size;
  const int32_t *idx;
  const int64_t *idx64;
  const double *x;
  double *out;
} GatherArgs;

/* Number k < n size of out. */
POISE_INLINE double poiseGathered(const GatherArgs *a, int64_t k)
{
  int64_t i = a->size > 1 ? k / a->size : k, from = a->idx ? a->idx[i] : a->idx64[i];
  return a->size > 1 ? a->x[from * a->size + k % a->size] : a->x[from];
}

typedef struct ScatterAddArgs { /* y[idx_i] += in_i; the idx_i are different */
  int64_t n;
  const int32_t *idx;
  const double *in;
  double *y;
} ScatterAddArgs;

#endif

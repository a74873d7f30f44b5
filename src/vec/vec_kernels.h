/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels on vectors: many dots or updates at once, sums of partial sums, gather and scatter (vec_host.c). */
#ifndef POISE_VEC_KERNELS_H
#define POISE_VEC_KERNELS_H

#include "sys/device/kernels.h"

/*
  Many vectors x_j, j < k <= POISE_MAX_BATCH, of one type, which the suffix tells. y and sums are fp64.
  Mdot: partial sums of (x_j, y): partial[j * stride + block].
  Maxpy: y += sign * sum_j a_j x_j; then dots of y, and partial sums of (x_j, y) as by mdot (again may be
  NULL). a: k device scalars, or NULL: value.
  *skip != 0: do nothing (skip may be NULL).
  terms, of maxpy with several systems: how many vectors each adds, of which `before` are in front of x_0;
  NULL: all. What those behind hold does not matter.
*/
#define MANY_VECTORS(Real, suffix)   \
  typedef struct MdotArgs##suffix {  \
    int64_t n, stride;               \
    int k;                           \
    const Real *x[POISE_MAX_BATCH];  \
    const double *y, *skip;          \
    double *partial;                 \
    Systems systems;                 \
  } MdotArgs##suffix;                \
                                     \
  typedef struct MaxpyArgs##suffix { \
    int64_t n, stride;               \
    int k;                           \
    double sign;                     \
    const Real *x[POISE_MAX_BATCH];  \
    const double *a, *skip, *terms;  \
    int before;                      \
    double value[POISE_MAX_BATCH];   \
    double *y, *again;               \
    Systems systems;                 \
    Fuse fuse;                       \
  } MaxpyArgs##suffix;
MANY_VECTORS(double, )
MANY_VECTORS(float, _f32)
#undef MANY_VECTORS

/* How many of the x_j system c adds. */
POISE_INLINE int poiseTermsOf(const MaxpyArgs *a, int c)
{
  double terms = a->terms ? a->terms[poiseArrayOf(&a->systems, c)] - a->before : a->k;
  return terms < 0 ? 0 : terms < a->k ? (int)terms : a->k;
}

/* y = D (a x + b y), D = diag(scale), NULL: 1; then dots of y. b = 0 overwrites whatever y held. narrow,
   widen: from one type to the other */
#define AXPBY(Name, From, To)   \
  typedef struct Name {         \
    int64_t n;                  \
    ScalarRef a, b;             \
    const From *x;              \
    const double *skip, *scale; \
    To *y;                      \
    Systems systems;            \
    Fuse fuse;                  \
  } Name;
AXPBY(AxpbyArgs, double, double)
AXPBY(AxpbyArgs_f32, float, float)
AXPBY(NarrowArgs, double, float)
AXPBY(WidenArgs, float, double)
#undef AXPBY

typedef struct ReduceArgs { /* nsum sums (maxima): dst[j] (+)= sum of partial[j * stride + 0 .. count) */
  int nsum, add, max;
  int64_t stride, count;
  const double *partial, *skip;
  double *dst;
  Systems systems; /* then these sums of each column */
} ReduceArgs;

/* Columns of wide vectors, or of arrays by rows or by columns: to[i * to_row + c * to_column] = from[i *
   from_row + list_c * from_column] for i < n, c < k. */
typedef struct ColumnsArgs {
  int64_t n, from_row, from_column, to_row, to_column;
  int k;
  uint8_t list[POISE_MAX_COLUMNS];
  const double *from;
  double *to;
} ColumnsArgs;

/* out_i = x[idx_i]; one of idx, idx64 is NULL. size: of how many numbers each i is; 0: of one */
#define GATHER(Real, suffix)                                                                   \
  typedef struct GatherArgs##suffix {                                                          \
    int64_t n, size;                                                                           \
    const int32_t *idx;                                                                        \
    const int64_t *idx64;                                                                      \
    const Real *x;                                                                             \
    Real *out;                                                                                 \
  } GatherArgs##suffix;                                                                        \
                                                                                               \
  /* Number k < n size of out. */                                                              \
  POISE_INLINE Real POISE_TYPED(poiseGathered, suffix)(const GatherArgs##suffix *a, int64_t k) \
  {                                                                                            \
    int64_t i = a->size > 1 ? k / a->size : k, from = a->idx ? a->idx[i] : a->idx64[i];        \
    return a->size > 1 ? a->x[from * a->size + k % a->size] : a->x[from];                      \
  }
GATHER(double, )
GATHER(float, _f32)
#undef GATHER

/* y[idx_i] += in_i; the idx_i are different. size: as in gather. *skip != 0: nothing (skip may be NULL) */
#define SCATTER(Real, suffix)                                                                        \
  typedef struct ScatterAddArgs##suffix {                                                            \
    int64_t n, size;                                                                                 \
    const int32_t *idx;                                                                              \
    const Real *in;                                                                                  \
    const double *skip;                                                                              \
    Real *y;                                                                                         \
  } ScatterAddArgs##suffix;                                                                          \
                                                                                                     \
  /* Number k < n size of in. */                                                                     \
  POISE_INLINE void POISE_TYPED(poiseScatterAdd, suffix)(const ScatterAddArgs##suffix *a, int64_t k) \
  {                                                                                                  \
    int64_t to = a->size > 1 ? a->idx[k / a->size] * a->size + k % a->size : a->idx[k];              \
    if (!a->skip || *a->skip == 0) a->y[to] += a->in[k];                                             \
  }
SCATTER(double, )
SCATTER(float, _f32)
#undef SCATTER

#endif

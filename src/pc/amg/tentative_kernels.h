/* SPDX-License-Identifier: BSD-3-Clause */
/* The near null space by aggregates: Gram and Schmidt's orthogonalisation, twice, in each of them. */
#ifndef POISE_AMG_TENTATIVE_KERNELS_H
#define POISE_AMG_TENTATIVE_KERNELS_H

#include "matrix_kernels.h"

typedef struct AmgModeArgs { /* column j of b, n x count: v, or where that is NULL 1 for row j of a node */
  int64_t n;
  int count, j, node;
  const double *v;
  double *b;
} AmgModeArgs;

typedef struct AmgHoldArgs { /* b, n x count, is 0 in rows that their diagonal holds */
  int64_t n;
  int count;
  CsrView A;
  const double *size, *inverse; /* of diagonal entries; inverse: 1 over them, where there is no `size` */
  double *b;
} AmgHoldArgs;

typedef struct AmgTentativeArgs {
  int64_t n; /* nodes; of amg_orthonormal aggregates */
  int64_t aggregates;
  int node, width, bits; /* width: vectors; bits: of a node's number in a key */
  const int32_t *aggregate;
  uint64_t *key; /* aggregate << bits | node */
  uint32_t *place;
  const int32_t *start, *member; /* nodes of aggregate a: member[start[a]] to member[start[a + 1] - 1] */
  const double *b;
  double *q, *r; /* r: a matrix of width x width for each aggregate, row by row */
} AmgTentativeArgs;

POISE_INLINE void amg_mode_item(const AmgModeArgs *a, int64_t i)
{
  a->b[i * a->count + a->j] = a->v ? a->v[i] : i % a->node == a->j;
}

/* 1 over the size of diagonal entry i. */
POISE_INLINE double poiseAmgOverSize(const AmgHoldArgs *a, int64_t i)
{
  return a->size ? 1 / a->size[i] : fabs(a->inverse[i]);
}

/* Does the diagonal hold row i, so that the smoother solves it? Scaled to a unit diagonal, |row i| without
   its diagonal is at most 0.1: the others change x_i by no more than that. No scaling D A D changes the
   answer. Traffic: the first numbers of a row, until they are too much. */
POISE_INLINE int poiseAmgIsHeld(const AmgHoldArgs *a, int64_t i)
{
  const double most = 0.1 * 0.1;
  ScalarRow row = poiseNumberRow(&a->A, i);
  double squares = 0, over = poiseAmgOverSize(a, i);
  for (int64_t k = 0; k < row.n && squares <= most; k++) {
    double v = a->A.val[poiseNumberPlace(&row, k)];
    int64_t j = poiseNumberColumn(&a->A, &row, k);
    if (j != i && v != 0) squares += v * over * (v * poiseAmgOverSize(a, j));
  }
  return squares <= most;
}

POISE_INLINE void amg_hold_item(const AmgHoldArgs *a, int64_t i)
{
  if (!poiseAmgIsHeld(a, i)) return;
  for (int j = 0; j < a->count; j++) a->b[i * a->count + j] = 0;
}

POISE_INLINE void amg_member_keys_item(const AmgTentativeArgs *t, int64_t i)
{
  uint64_t a = (uint64_t)(t->aggregate[i] < 0 ? t->aggregates : t->aggregate[i]);
  t->key[i] = a << t->bits | (uint64_t)i;
  t->place[i] = (uint32_t)i;
}

POISE_INLINE void amg_restrict_item(const AmgTentativeArgs *t, int64_t i)
{
  int64_t width = (int64_t)t->node * t->width;
  for (int64_t k = i * width; k < (i + 1) * width; k++) t->q[k] = t->aggregate[i] < 0 ? 0 : t->b[k];
}

/* (q_j, q_k) over the rows of an aggregate. */
POISE_INLINE double poiseAmgModeDot(const AmgTentativeArgs *t, const int32_t *member, int32_t members, int j,
                                    int k)
{
  double s = 0;
  for (int32_t m = 0; m < members; m++) {
    const double *v = t->q + (int64_t)member[m] * t->node * t->width;
    for (int c = 0; c < t->node; c++) s += v[c * t->width + j] * v[c * t->width + k];
  }
  return s;
}

/* q_j = scale q_j - by q_k */
POISE_INLINE void poiseAmgModeUpdate(const AmgTentativeArgs *t, const int32_t *member, int32_t members, int j,
                                     double scale, int k, double by)
{
  for (int32_t m = 0; m < members; m++) {
    double *v = t->q + (int64_t)member[m] * t->node * t->width;
    for (int c = 0; c < t->node; c++)
      v[c * t->width + j] = scale * v[c * t->width + j] - by * v[c * t->width + k];
  }
}

/* A vector that depends on those before it becomes 0. Its numbers stay in cache; traffic: twice q. */
POISE_INLINE void amg_orthonormal_item(const AmgTentativeArgs *t, int64_t a)
{
  const double depends = 1e-10;
  const int32_t *member = t->member + t->start[a];
  int32_t members = t->start[a + 1] - t->start[a];
  int width = t->width;
  double *r = t->r + a * width * width;
  for (int k = 0; k < width * width; k++) r[k] = 0;
  for (int j = 0; j < width; j++) {
    double before = sqrt(poiseAmgModeDot(t, member, members, j, j));
    for (int pass = 0; pass < 2; pass++)
      for (int k = 0; k < j; k++) {
        double by = poiseAmgModeDot(t, member, members, j, k);
        poiseAmgModeUpdate(t, member, members, j, 1, k, by);
        r[k * width + j] += by;
      }
    double size = sqrt(poiseAmgModeDot(t, member, members, j, j));
    int zero = size <= depends * before;
    r[j * width + j] = zero ? 0 : size;
    poiseAmgModeUpdate(t, member, members, j, zero ? 0 : 1 / size, 0, 0);
  }
}

#endif

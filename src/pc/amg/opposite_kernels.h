/* SPDX-License-Identifier: BSD-3-Clause */
/* Entries of A^T at the places of A's, and how far A is from symmetric. */
#ifndef POISE_AMG_OPPOSITE_KERNELS_H
#define POISE_AMG_OPPOSITE_KERNELS_H

#include "matrix_kernels.h"

/* A row is far from symmetric above this part of its sums. */
#define AMG_ODD 0.02

enum { AMG_RUN = 64 }; /* rows that are looked at together */

typedef struct AmgOppositeArgs {
  int64_t n;           /* rows of blocks that are looked at */
  int64_t rows, apart; /* own ones; one of so many runs of them is looked at */
  AmgMatrix m;
  int32_t *odd;      /* is the row far from symmetric? NULL: nobody asks */
  double *of, *mean; /* a_ji, and (a_ij + a_ji) / 2; NULL: nobody asks */
} AmgOppositeArgs;

/* Column j in the order in which a row has its columns. */
POISE_INLINE int64_t poiseAmgColumnOrder(const AmgMatrix *m, int64_t j)
{
  int64_t per = poiseAmgBlocks(m);
  return poiseAmgOrder(m, j / per) * per + j % per;
}

/* The entry of row i in column j, which are both own; -1: there is none. */
POISE_INLINE int64_t poiseAmgEntry(const AmgMatrix *m, int64_t i, int64_t j)
{
  int64_t low = poiseCsrOffset(&m->A, i), high = poiseCsrOffset(&m->A, i + 1);
  while (low < high) {
    int64_t mid = (low + high) / 2;
    if (poiseAmgColumnOrder(m, m->A.col[mid]) < j)
      low = mid + 1;
    else
      high = mid;
  }
  return low < poiseCsrOffset(&m->A, i + 1) && m->A.col[low] == j ? low : -1;
}

/* Has row i nothing but its diagonal, as that of a given value? */
POISE_INLINE int poiseAmgGivesValue(const AmgMatrix *m, int64_t i)
{
  int64_t size = m->A.b ? m->A.b * m->A.b : 1;
  for (int64_t k = poiseCsrOffset(&m->A, i), last = poiseCsrOffset(&m->A, i + 1); k < last; k++)
    for (int64_t e = 0; m->A.col[k] != i && e < size; e++)
      if (m->A.val[k * size + e] != 0) return 0;
  return 1;
}

/* Number (r, c) of entry k of row i, and in *back that of A^T. Entries of other ranks' rows are not here, and
   pass for symmetric. So do connections of rows that give a value. */
POISE_INLINE double poiseAmgPair(const AmgOppositeArgs *o, int64_t k, int64_t back, bool known, int64_t r,
                                 int64_t c, double *there)
{
  int64_t b = o->m.A.b ? o->m.A.b : 1;
  double a = o->m.A.val[(k * b + c) * b + r];
  *there = !known ? a : back < 0 ? 0 : o->m.A.val[(back * b + r) * b + c];
  return a;
}

/* Runs of rows are read as fast as all, and have all components of a system. Of `apart` of them any one is
   looked at, so that nothing that repeats is missed. */
POISE_INLINE int64_t poiseAmgSampled(const AmgOppositeArgs *o, int64_t item)
{
  int64_t run = item / AMG_RUN, any = (poiseHash32((int32_t)run) >> 8) % o->apart;
  return ((run * o->apart + any) * AMG_RUN + item % AMG_RUN) % o->rows;
}

/* By row sums of |a_ij - a_ji| and |a_ij| + |a_ji|. Traffic: the rows of A, and for each entry some of a row
   that is near. */
POISE_INLINE void amg_opposite_item(const AmgOppositeArgs *o, int64_t item)
{
  const CsrView *A = &o->m.A;
  int64_t b = A->b ? A->b : 1, i = poiseAmgSampled(o, item);
  double differ = 0, all = 0;
  bool given = poiseAmgGivesValue(&o->m, i);
  for (int64_t k = poiseCsrOffset(A, i), last = poiseCsrOffset(A, i + 1); k < last; k++) {
    int64_t j = A->col[k], back = j < o->rows ? poiseAmgEntry(&o->m, j, i) : -1;
    bool known = j < o->rows && !given && !poiseAmgGivesValue(&o->m, j);
    for (int64_t e = 0; e < b * b; e++) {
      double there, a = poiseAmgPair(o, k, back, known, e % b, e / b, &there);
      if (o->of) o->of[k * b * b + e] = there;
      if (o->mean) o->mean[k * b * b + e] = (a + there) / 2;
      if (j != i) differ += fabs(a - there), all += fabs(a) + fabs(there);
    }
  }
  if (o->odd) o->odd[item] = differ > AMG_ODD * all;
}

#endif

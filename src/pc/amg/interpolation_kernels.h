/* SPDX-License-Identifier: BSD-3-Clause */
/* F, and the pattern and the values of P = (I - omega D_F^-1 F) T. */
#ifndef POISE_AMG_INTERPOLATION_KERNELS_H
#define POISE_AMG_INTERPOLATION_KERNELS_H

#include "matrix_kernels.h"

typedef struct AmgFilterArgs {
  int64_t n; /* nodes, of one row each */
  CsrView A, g;
  const double *b;
  double *val;
} AmgFilterArgs;

typedef struct AmgInterpolation { /* P in blocks of `side`: of what it is made, on the device */
  int side, node, modes;
  int64_t nodes, aggregates;
  const int32_t *aggregate;
  const double *q;
} AmgInterpolation;

typedef struct AmgInterpolateArgs {
  int64_t n; /* nodes; rows of P's blocks; nodes times groups */
  AmgInterpolation p;
  int smooth; /* 0: P = T, and there is no F */
  AmgMatrix F;
  int32_t *found, *count; /* aggregates of a node's neighbours, from entry + node on; how many */
  int32_t *length, *col;  /* of P's rows; before these are known, a node's pairs of aggregates */
  CsrView P;
  int groups; /* of columns of a node's rows, which threads share */
  const double *d;
  double omega, *val;
} AmgInterpolateArgs;

/* Weak connections are left out, and their sum, weighted so that F b = A b, is added to the diagonal; one
   that this would make small is left as it is. */
POISE_INLINE void amg_filter_item(const AmgFilterArgs *f, int64_t i)
{
  const double least = 0.1;
  int64_t at = poiseCsrOffset(&f->g, i), end = poiseCsrOffset(&f->g, i + 1), diagonal = -1;
  double lump = 0;
  for (int64_t k = poiseCsrOffset(&f->A, i), last = poiseCsrOffset(&f->A, i + 1); k < last; k++) {
    int32_t j = f->A.col[k];
    if (at >= end || f->g.col[at] != j) {
      lump += f->A.val[k] * f->b[j];
      continue;
    }
    if (j == i) diagonal = at;
    f->val[at++] = f->A.val[k];
  }
  if (diagonal < 0 || f->b[i] == 0) return;
  double a = f->val[diagonal], sum = a + lump / f->b[i];
  if (sum / a > least) f->val[diagonal] = sum;
}

/* ---- the pattern ----------------------------------------------------------------------------- */

/* Add v to n ascending numbers, unless it is there. Returns how many they are. */
POISE_INLINE int32_t poiseAmgInsert(int32_t *a, int32_t n, int32_t v)
{
  int32_t at = n;
  while (at > 0 && a[at - 1] > v) at--;
  if (at > 0 && a[at - 1] == v) return n;
  for (int32_t k = n; k > at; k--) a[k] = a[k - 1];
  a[at] = v;
  return n + 1;
}

/* Entries of F in the rows of node i, [first, last). */
POISE_INLINE int64_t poiseAmgEntries(const AmgInterpolateArgs *m, int64_t i, int64_t *last)
{
  int64_t per;
  *last = 0;
  if (!m->smooth) return 0;
  per = poiseAmgBlocks(&m->F);
  *last = poiseCsrOffset(&m->F.A, (i + 1) * per);
  return poiseCsrOffset(&m->F.A, i * per);
}

/* Traffic: F's columns, 4 bytes for each of its neighbours, and what is found. */
POISE_INLINE void amg_find_item(const AmgInterpolateArgs *m, int64_t i)
{
  int64_t last, first = poiseAmgEntries(m, i, &last), per = m->smooth ? poiseAmgBlocks(&m->F) : 1;
  int32_t *found = m->found + first + i, n = 0, before = m->p.aggregate[i];
  if (before >= 0) n = poiseAmgInsert(found, 0, before);
  for (int64_t k = first; k < last; k++) {
    int32_t a = m->p.aggregate[m->F.A.col[k] / per];
    if (a >= 0 && a != before) n = poiseAmgInsert(found, n, a);
    before = a;
  }
  m->count[i] = n;
}

/* Pairs of aggregates that meet at a node, which P^T A P connects; as many as a number can tell. */
POISE_INLINE void amg_pairs_item(const AmgInterpolateArgs *m, int64_t i)
{
  int64_t n = m->count[i];
  m->length[i] = n * n < INT32_MAX ? (int32_t)(n * n) : INT32_MAX;
}

POISE_INLINE void amg_row_lengths_item(const AmgInterpolateArgs *m, int64_t row)
{
  int64_t rows = m->p.node / m->p.side, per = m->p.modes / m->p.side;
  m->length[row] = (int32_t)(m->count[row / rows] * per);
}

POISE_INLINE void amg_columns_item(const AmgInterpolateArgs *m, int64_t row)
{
  int64_t rows = m->p.node / m->p.side, per = m->p.modes / m->p.side, last, i = row / rows;
  const int32_t *found = m->found + poiseAmgEntries(m, i, &last) + i;
  int32_t *col = m->col + poiseCsrOffset(&m->P, row);
  for (int64_t k = 0; k < m->count[i] * per; k++) col[k] = (int32_t)(found[k / per] * per + k % per);
}

/* ---- the values ------------------------------------------------------------------------------ */

/* The place of aggregate a among the n blocks of a row of blocks; it is there. */
POISE_INLINE int64_t poiseAmgPlace(const CsrView *P, int64_t first, int64_t n, int64_t per, int32_t a)
{
  int64_t low = 0;
  for (int64_t high = n; high - low > 1;) {
    int64_t mid = (low + high) / 2;
    if (P->col[first + mid * per] <= a * per)
      low = mid;
    else
      high = mid;
  }
  return low;
}

/* Nodes of one row, one vector: p_i = t_i - omega / d_i sum of f_ij t_j. */
POISE_INLINE void poiseAmgInterpolateScalar(const AmgInterpolateArgs *m, int64_t i)
{
  const CsrView *P = &m->P;
  int64_t first = poiseCsrOffset(P, i), n = poiseCsrOffset(P, i + 1) - first, last,
          begin = poiseAmgEntries(m, i, &last);
  int32_t own = m->p.aggregate[i];
  for (int64_t k = first; k < first + n; k++) m->val[k] = 0;
  for (int64_t k = begin; k < last; k++) {
    int32_t j = m->F.A.col[k], a = m->p.aggregate[j];
    if (a >= 0) m->val[first + poiseAmgPlace(P, first, n, 1, a)] += m->F.A.val[k] * m->p.q[j];
  }
  for (int64_t k = first; m->smooth && k < first + n; k++) m->val[k] *= -m->omega * m->d[i];
  if (own >= 0) m->val[first + poiseAmgPlace(P, first, n, 1, own)] += m->p.q[i];
}

typedef struct AmgNodeRows { /* of P: those of node i, columns [begin, end) of each aggregate's */
  int64_t i, rows, per, first, n;
  int begin, end;
} AmgNodeRows;

/* Number (r, c) of block `at`, r < node, c < modes. */
POISE_INLINE double *poiseAmgNumber(const AmgInterpolateArgs *m, const AmgNodeRows *w, int64_t at, int64_t r,
                                    int64_t c)
{
  int64_t side = m->p.side, entry = poiseCsrOffset(&m->P, w->i * w->rows + r / side) + at * w->per + c / side;
  return m->val + (entry * side + c % side) * side + r % side;
}

/* Block `at` += F's block (row q of the node's blocks, entry k) times T of its node. */
POISE_INLINE void poiseAmgAddBlock(const AmgInterpolateArgs *m, const AmgNodeRows *w, int64_t at, int64_t q,
                                   int64_t k)
{
  int64_t b = m->F.A.b ? m->F.A.b : 1, modes = m->p.modes;
  const double *f = m->F.A.val + k * b * b, *t = m->p.q + (int64_t)m->F.A.col[k] * b * modes;
  for (int64_t c = w->begin; c < w->end; c++)
    for (int64_t r = 0; r < b; r++) {
      double s = 0;
      for (int64_t j = 0; j < b; j++) s += f[j * b + r] * t[j * modes + c];
      *poiseAmgNumber(m, w, at, q * b + r, c) += s;
    }
}

/* A column of block `at` becomes -omega D^-1 times it. */
POISE_INLINE void poiseAmgScaleColumn(const AmgInterpolateArgs *m, const AmgNodeRows *w, int64_t at,
                                      int64_t c)
{
  int64_t node = m->p.node;
  const double *d = m->d + w->i * node * node;
  double v[AMG_NODE];
  for (int64_t r = 0; r < node; r++) v[r] = *poiseAmgNumber(m, w, at, r, c);
  for (int64_t r = 0; r < node; r++) {
    double s = 0;
    for (int64_t j = 0; j < node; j++) s += d[j * node + r] * v[j];
    *poiseAmgNumber(m, w, at, r, c) = -m->omega * s;
  }
}

POISE_INLINE void poiseAmgInterpolateNode(const AmgInterpolateArgs *m, const AmgNodeRows *w)
{
  int64_t blocks = m->smooth ? poiseAmgBlocks(&m->F) : 0, node = m->p.node, modes = m->p.modes;
  int32_t own = m->p.aggregate[w->i];
  for (int64_t at = 0; at < w->n; at++)
    for (int64_t c = w->begin; c < w->end; c++)
      for (int64_t r = 0; r < node; r++) *poiseAmgNumber(m, w, at, r, c) = 0;
  for (int64_t q = 0; q < blocks; q++)
    for (int64_t k = poiseCsrOffset(&m->F.A, w->i * blocks + q),
                 last = poiseCsrOffset(&m->F.A, w->i * blocks + q + 1);
         k < last; k++) {
      int32_t a = m->p.aggregate[m->F.A.col[k] / blocks];
      if (a >= 0) poiseAmgAddBlock(m, w, poiseAmgPlace(&m->P, w->first, w->n, w->per, a), q, k);
    }
  for (int64_t at = 0; m->smooth && at < w->n; at++)
    for (int64_t c = w->begin; c < w->end; c++) poiseAmgScaleColumn(m, w, at, c);
  if (own < 0) return;
  int64_t place = poiseAmgPlace(&m->P, w->first, w->n, w->per, own);
  for (int64_t c = w->begin; c < w->end; c++)
    for (int64_t r = 0; r < node; r++)
      *poiseAmgNumber(m, w, place, r, c) += m->p.q[(w->i * node + r) * modes + c];
}

/* Groups of a node's columns are apart, and neighbouring threads do those of one node, which read the same
   blocks of F. Traffic: F, q by neighbours, and P twice. */
POISE_INLINE void amg_interpolate_item(const AmgInterpolateArgs *m, int64_t item)
{
  int modes = m->p.modes, groups = m->groups;
  AmgNodeRows w;
  if (m->p.node == 1 && modes == 1) {
    poiseAmgInterpolateScalar(m, item);
    return;
  }
  w.i = item / groups, w.rows = m->p.node / m->p.side, w.per = modes / m->p.side;
  w.first = poiseCsrOffset(&m->P, w.i * w.rows);
  w.n = (poiseCsrOffset(&m->P, w.i * w.rows + 1) - w.first) / w.per;
  w.begin = (int)(item % groups) * modes / groups;
  w.end = ((int)(item % groups) + 1) * modes / groups;
  poiseAmgInterpolateNode(m, &w);
}

#endif

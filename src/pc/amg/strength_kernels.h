/* SPDX-License-Identifier: BSD-3-Clause */
/* Strong connections of nodes. A row is read by passes: for its size, to count, and to write. */
#ifndef POISE_AMG_STRENGTH_KERNELS_H
#define POISE_AMG_STRENGTH_KERNELS_H

#include "matrix_kernels.h"

typedef struct AmgTracesArgs { /* of the matrix of traces */
  int64_t n;                   /* entries of A; nodes */
  AmgMatrix m;
  int rows; /* of a node, the first ones, that a trace is of */
  int32_t *length;
  CsrView T; /* offsets */
  int32_t *col;
  double *val;
} AmgTracesArgs;

typedef struct AmgStrengthArgs {
  int64_t n; /* nodes */
  CsrView A; /* a number for each connection of nodes */
  double theta2;
  double *size;    /* of the largest connection, with the diagonal's sign */
  int32_t *leaf;   /* of nodes without a strong connection: see poiseAmgLeaf */
  int32_t *strong; /* numbers of connections in the graph */
  CsrView g;       /* offsets of the graph */
  int32_t *col;
  float *weight;
  uint8_t *kept; /* is entry k of A among the graph's? NULL: nobody asks */
} AmgStrengthArgs;

/* ---- a number for each connection: the trace of its block ------------------------------------- */

/* Traffic: A's blocks, and 8 bytes for each of them. */
POISE_INLINE void amg_traces_item(const AmgTracesArgs *t, int64_t k)
{
  int64_t b = t->m.A.b;
  const double *block = t->m.A.val + k * b * b;
  double s = 0;
  for (int64_t r = 0; r < b && r < t->rows; r++) s += block[r * b + r];
  t->val[k] = s;
}

/* The entries of A's block rows of a node, by ascending node of the columns. */
typedef struct AmgWalk {
  const AmgMatrix *m;
  int64_t rows;          /* that a trace is of */
  int64_t first, b, per; /* row of blocks; rows of a block; rows of blocks in a node */
  int32_t at[AMG_NODE];  /* entries of each row that are done */
} AmgWalk;

POISE_INLINE void poiseAmgWalk(AmgWalk *w, const AmgTracesArgs *t, int64_t i)
{
  const AmgMatrix *m = &t->m;
  w->m = m, w->rows = t->rows;
  w->b = m->A.b ? m->A.b : 1;
  w->per = poiseAmgBlocks(m);
  w->first = i * w->per;
  for (int64_t q = 0; q < w->per; q++) w->at[q] = 0;
}

/* The next node that the node is connected to, and the trace of their block; -1: there are no more. */
POISE_INLINE int64_t poiseAmgNext(AmgWalk *w, double *trace)
{
  int64_t least = INT64_MAX, node = -1;
  const CsrView *A = &w->m->A;
  for (int64_t q = 0; q < w->per; q++) {
    int64_t k = poiseCsrOffset(A, w->first + q) + w->at[q],
            j = k < poiseCsrOffset(A, w->first + q + 1) ? A->col[k] / w->per : -1;
    if (j >= 0 && poiseAmgOrder(w->m, j) < least) least = poiseAmgOrder(w->m, j), node = j;
  }
  *trace = 0;
  if (node < 0) return -1;
  for (int64_t q = 0; q < w->per; q++) {
    int64_t k = poiseCsrOffset(A, w->first + q) + w->at[q], end = poiseCsrOffset(A, w->first + q + 1);
    for (; k < end && A->col[k] / w->per == node; k++, w->at[q]++)
      for (int64_t r = 0; A->col[k] % w->per == q && r < w->b && q * w->b + r < w->rows; r++)
        *trace += A->val[(k * w->b + r) * w->b + r];
  }
  return node;
}

/* Traffic of both: A; the second one writes T. */
POISE_INLINE void amg_node_count_item(const AmgTracesArgs *t, int64_t i)
{
  AmgWalk w;
  double trace;
  int32_t n = 0;
  poiseAmgWalk(&w, t, i);
  while (poiseAmgNext(&w, &trace) >= 0) n++;
  t->length[i] = n;
}

POISE_INLINE void amg_node_write_item(const AmgTracesArgs *t, int64_t i)
{
  AmgWalk w;
  double trace;
  int64_t at = poiseCsrOffset(&t->T, i);
  poiseAmgWalk(&w, t, i);
  for (int64_t j = poiseAmgNext(&w, &trace); j >= 0; j = poiseAmgNext(&w, &trace)) {
    t->col[at] = (int32_t)j;
    t->val[at++] = trace;
  }
}

/* ---- what is strong -------------------------------------------------------------------------- */

/* The other sign, and a_ij^2 >= theta^2 s_i s_j.

   theta is 0.4 by default. In cells that are stretched without limit (linear elements), slanting connections
   have 1/4 of the size of those along the short sides; between a natural boundary, where rows are halves, and
   its inner neighbours 1 / sqrt(8). Aggregates should lie along the short sides, so theta is above both. */
POISE_INLINE int poiseAmgIsStrong(double a, double si, double sj, double theta2)
{
  return a * si < 0 && a * a >= theta2 * fabs(si * sj);
}

/* Connections of the diagonal's sign do not count: those across the long sides of stretched cells have it.
   Traffic: A, as in all that follows, and what is named there. */
POISE_INLINE void amg_sizes_item(const AmgStrengthArgs *s, int64_t i)
{
  const CsrView *A = &s->A;
  double diagonal = 0, least = 0, most = 0;
  for (int64_t k = poiseCsrOffset(A, i), last = poiseCsrOffset(A, i + 1); k < last; k++) {
    double a = A->val[k];
    if (A->col[k] == i)
      diagonal = a;
    else
      least = a < least ? a : least, most = a > most ? a : most;
  }
  s->size[i] = diagonal > 0 ? -least : diagonal < 0 ? -most : 0;
}

/* A node is a leaf where nothing is strong, as its neighbours have much larger connections. Then this is the
   own one with larger connections that it is most connected to. If these are all ghosts, it is the node
   itself, which takes part as others do. -1: there is a strong connection, or no connection at all. */
POISE_INLINE int32_t poiseAmgLeaf(const AmgStrengthArgs *s, int64_t i)
{
  const CsrView *A = &s->A;
  double si = s->size[i], best = 0;
  int32_t leaf = -1;
  for (int64_t k = poiseCsrOffset(A, i), last = poiseCsrOffset(A, i + 1); k < last; k++) {
    double a = A->val[k];
    int32_t j = A->col[k];
    if (j == i || a * si >= 0) continue;
    if (poiseAmgIsStrong(a, si, s->size[j], s->theta2)) return -1;
    if (leaf < 0) leaf = (int32_t)i;
    if (j < s->n && fabs(a) > best && fabs(s->size[j]) > fabs(si)) best = fabs(a), leaf = j;
  }
  return leaf;
}

/* Traffic: sizes of neighbours, which are near. */
POISE_INLINE void amg_leaves_item(const AmgStrengthArgs *s, int64_t i)
{
  s->leaf[i] = poiseAmgLeaf(s, i);
}

/* Is a connection with node j in the graph? A leaf has those that are strong for itself: what it interpolates
   from. A node is connected to itself. */
POISE_INLINE int poiseAmgIsInGraph(const AmgStrengthArgs *s, int64_t i, int32_t j, double a)
{
  double si = s->size[i], sj = s->leaf[i] < 0 ? s->size[j] : si;
  return j == i || poiseAmgIsStrong(a, si, sj, s->theta2);
}

POISE_INLINE void amg_strong_count_item(const AmgStrengthArgs *s, int64_t i)
{
  const CsrView *A = &s->A;
  int32_t strong = 0;
  for (int64_t k = poiseCsrOffset(A, i), last = poiseCsrOffset(A, i + 1); k < last; k++)
    strong += poiseAmgIsInGraph(s, i, A->col[k], A->val[k]);
  s->strong[i] = strong;
}

/* Traffic: the graph too, and 1 byte for each connection where these are marked. */
POISE_INLINE void amg_strong_write_item(const AmgStrengthArgs *s, int64_t i)
{
  const CsrView *A = &s->A;
  int64_t at = poiseCsrOffset(&s->g, i);
  for (int64_t k = poiseCsrOffset(A, i), last = poiseCsrOffset(A, i + 1); k < last; k++) {
    int is_one = poiseAmgIsInGraph(s, i, A->col[k], A->val[k]);
    if (s->kept) s->kept[k] = (uint8_t)is_one;
    if (!is_one) continue;
    s->col[at] = A->col[k];
    s->weight[at++] = (float)fabs(A->val[k]);
  }
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Strong connections of nodes. A row is read by passes: for its size, to count, and to write. */
#ifndef POISE_AMG_STRENGTH_KERNELS_H
#define POISE_AMG_STRENGTH_KERNELS_H

#include "matrix_kernels.h"

typedef struct AmgStrengthArgs {
  int64_t n; /* nodes */
  AmgMatrix m;
  double theta2;
  double *size;    /* of the largest connection, with the diagonal's sign; of nodes with more rows, the norm
                      of the diagonal block */
  double *reach;   /* the same; where nodes have one row, less if nothing would be strong */
  int32_t *strong; /* numbers of strong connections */
  CsrView g;       /* offsets of the graph */
  int32_t *col;
  float *weight;
} AmgStrengthArgs;

/* squares: of a connection's entries. |a_ij|^2 >= theta^2 s_i s_j. */
POISE_INLINE int poiseAmgIsStrong(double squares, double si, double sj, double theta2)
{
  return squares > 0 && squares >= theta2 * fabs(si * sj);
}

/* ---- nodes of one row ------------------------------------------------------------------------ */

POISE_INLINE int poiseAmgIsStrongEntry(double a, double si, double sj, double theta2)
{
  return a * si < 0 && poiseAmgIsStrong(a * a, si, sj, theta2);
}

/* Entries of the diagonal's sign do not count: those across the long sides of stretched cells have it. */
POISE_INLINE double poiseAmgSizeScalars(const AmgStrengthArgs *s, int64_t i)
{
  const CsrView *A = &s->m.A;
  double diagonal = 0, least = 0, most = 0;
  for (int64_t k = poiseCsrOffset(A, i), last = poiseCsrOffset(A, i + 1); k < last; k++) {
    double a = A->val[k];
    if (A->col[k] == i)
      diagonal = a;
    else
      least = a < least ? a : least, most = a > most ? a : most;
  }
  return diagonal > 0 ? -least : diagonal < 0 ? -most : 0;
}

/* A node beside those of much larger connections may have none that is strong: its size becomes that with
   which its best one is. */
POISE_INLINE double poiseAmgReach(const AmgStrengthArgs *s, int64_t i)
{
  const CsrView *A = &s->m.A;
  double si = s->size[i], best = 0;
  for (int64_t k = poiseCsrOffset(A, i), last = poiseCsrOffset(A, i + 1); k < last; k++) {
    double a = A->val[k], sj = s->size[A->col[k]];
    if (A->col[k] == i || a * si >= 0) continue;
    if (poiseAmgIsStrong(a * a, si, sj, s->theta2)) return si;
    best = fmax(best, 0.999 * a * a / (s->theta2 * fabs(sj)));
  }
  return copysign(best, si);
}

POISE_INLINE void poiseAmgCountScalars(const AmgStrengthArgs *s, int64_t i)
{
  const CsrView *A = &s->m.A;
  int32_t strong = 0;
  double si = s->reach[i];
  for (int64_t k = poiseCsrOffset(A, i), last = poiseCsrOffset(A, i + 1); k < last; k++)
    strong += A->col[k] == i || poiseAmgIsStrongEntry(A->val[k], si, s->reach[A->col[k]], s->theta2);
  s->strong[i] = strong;
}

POISE_INLINE void poiseAmgWriteScalars(const AmgStrengthArgs *s, int64_t i)
{
  const CsrView *A = &s->m.A;
  int64_t at = poiseCsrOffset(&s->g, i);
  double si = s->reach[i];
  for (int64_t k = poiseCsrOffset(A, i), last = poiseCsrOffset(A, i + 1); k < last; k++) {
    int32_t j = A->col[k];
    if (j != i && !poiseAmgIsStrongEntry(A->val[k], si, s->reach[j], s->theta2)) continue;
    s->col[at] = j;
    s->weight[at++] = (float)fabs(A->val[k]);
  }
}

/* ---- nodes of several rows ------------------------------------------------------------------- */

/* The entries of A's block rows of a node, by ascending node of the columns. */
typedef struct AmgWalk {
  const CsrView *A;
  int64_t first, size, per; /* row of blocks; numbers of a block; rows of blocks in a node */
  int64_t nodes, below;     /* of the matrix */
  int32_t at[AMG_NODE];     /* entries of each row that are done */
} AmgWalk;

POISE_INLINE void poiseAmgWalk(AmgWalk *w, const AmgMatrix *m, int64_t i)
{
  w->A = &m->A;
  w->size = m->A.b ? m->A.b * m->A.b : 1;
  w->per = poiseAmgBlocks(m);
  w->first = i * w->per;
  w->nodes = m->nodes, w->below = m->below;
  for (int64_t q = 0; q < w->per; q++) w->at[q] = 0;
}

/* Node j in the order of global numbers, where those of lower ranks are negative. */
POISE_INLINE int64_t poiseAmgOrder(const AmgWalk *w, int64_t j)
{
  return j >= w->nodes && j < w->nodes + w->below ? j - w->nodes - w->below : j;
}

/* The next node that the node is connected to, and the squares of their block's entries; -1: there are no
   more. only: the squares are wanted for this one alone; -1: for all. */
POISE_INLINE int64_t poiseAmgNext(AmgWalk *w, int64_t only, double *squares)
{
  int64_t least = INT64_MAX, node = -1;
  const CsrView *A = w->A;
  for (int64_t q = 0; q < w->per; q++) {
    int64_t k = poiseCsrOffset(A, w->first + q) + w->at[q],
            j = k < poiseCsrOffset(A, w->first + q + 1) ? A->col[k] / w->per : -1;
    if (j >= 0 && poiseAmgOrder(w, j) < least) least = poiseAmgOrder(w, j), node = j;
  }
  *squares = 0;
  if (node < 0) return -1;
  for (int64_t q = 0; q < w->per; q++) {
    int64_t k = poiseCsrOffset(A, w->first + q) + w->at[q], end = poiseCsrOffset(A, w->first + q + 1);
    for (; k < end && A->col[k] / w->per == node; k++, w->at[q]++)
      for (int64_t e = k * w->size; (only < 0 || only == node) && e < (k + 1) * w->size; e++)
        *squares += A->val[e] * A->val[e];
  }
  return node;
}

/* The norm of the diagonal block. */
POISE_INLINE double poiseAmgSizeBlocks(const AmgStrengthArgs *s, int64_t i)
{
  AmgWalk w;
  double squares, own = 0;
  poiseAmgWalk(&w, &s->m, i);
  for (int64_t j = poiseAmgNext(&w, i, &squares); j >= 0 && poiseAmgOrder(&w, j) <= i;
       j = poiseAmgNext(&w, i, &squares))
    if (j == i) own = squares;
  return sqrt(own);
}

POISE_INLINE void poiseAmgCountBlocks(const AmgStrengthArgs *s, int64_t i)
{
  AmgWalk w;
  double squares;
  int32_t strong = 0;
  poiseAmgWalk(&w, &s->m, i);
  for (int64_t j = poiseAmgNext(&w, -1, &squares); j >= 0; j = poiseAmgNext(&w, -1, &squares))
    strong += j == i || poiseAmgIsStrong(squares, s->reach[i], s->reach[j], s->theta2);
  s->strong[i] = strong;
}

POISE_INLINE void poiseAmgWriteBlocks(const AmgStrengthArgs *s, int64_t i)
{
  AmgWalk w;
  double squares;
  int64_t at = poiseCsrOffset(&s->g, i);
  poiseAmgWalk(&w, &s->m, i);
  for (int64_t j = poiseAmgNext(&w, -1, &squares); j >= 0; j = poiseAmgNext(&w, -1, &squares)) {
    if (j != i && !poiseAmgIsStrong(squares, s->reach[i], s->reach[j], s->theta2)) continue;
    s->col[at] = (int32_t)j;
    s->weight[at++] = (float)sqrt(squares);
  }
}

/* ---- the kernels ----------------------------------------------------------------------------- */

/* Traffic of each: A once; all but the first sizes of neighbours, which are near; the last one the graph. */
POISE_INLINE void amg_sizes_item(const AmgStrengthArgs *s, int64_t i)
{
  s->size[i] = s->m.node == 1 ? poiseAmgSizeScalars(s, i) : poiseAmgSizeBlocks(s, i);
}

POISE_INLINE void amg_reach_item(const AmgStrengthArgs *s, int64_t i)
{
  s->reach[i] = poiseAmgReach(s, i);
}

POISE_INLINE void amg_strong_count_item(const AmgStrengthArgs *s, int64_t i)
{
  if (s->m.node == 1)
    poiseAmgCountScalars(s, i);
  else
    poiseAmgCountBlocks(s, i);
}

POISE_INLINE void amg_strong_write_item(const AmgStrengthArgs *s, int64_t i)
{
  if (s->m.node == 1)
    poiseAmgWriteScalars(s, i);
  else
    poiseAmgWriteBlocks(s, i);
}

#endif

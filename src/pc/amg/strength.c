/* SPDX-License-Identifier: BSD-3-Clause */
/* Strong connections. A row is read twice: to count, and to write. */
#include "amg.h"

void poiseAmgForRows(Device *dev, int64_t n, AmgRows *rows, const void *args)
{
  int64_t nblock = POISE_NBLOCKS(n);
  (void)dev;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t k = 0; k < nblock; k++)
    rows(args, k * POISE_BLOCK, (k + 1) * POISE_BLOCK < n ? (k + 1) * POISE_BLOCK : n);
}

void poiseAmgGraphDestroy(PoiseContext ctx, AmgGraph *g)
{
  poiseFree(ctx, &g->ptr);
  poiseFree(ctx, &g->col);
  poiseFree(ctx, &g->weight);
}

typedef struct Strength {
  const AmgMatrix *m;
  double theta2;
  double *diagonal; /* a_ii; of nodes with more rows the square of their block's norm */
  AmgGraph *g;
  int64_t *count; /* of strong connections, and of all of a node */
  int64_t *all;
} Strength;

/* ---- nodes of one row ------------------------------------------------------------------------ */

static void ScalarDiagonal(const void *args, int64_t begin, int64_t end)
{
  const Strength *s = args;
  const CsrView *A = &s->m->A;
  for (int64_t i = begin; i < end; i++) {
    s->diagonal[i] = 0;
    for (int64_t k = poiseCsrOffset(A, i); k < poiseCsrOffset(A, i + 1); k++)
      if (A->col[k] == i) s->diagonal[i] = A->val[k];
  }
}

POISE_INLINE bool IsStrong(double a, double di, double dj, double theta2)
{
  return a * di < 0 && a * a >= theta2 * di * dj;
}

static void CountScalars(const void *args, int64_t begin, int64_t end)
{
  const Strength *s = args;
  const CsrView *A = &s->m->A;
  for (int64_t i = begin; i < end; i++) {
    int64_t strong = 0, first = poiseCsrOffset(A, i), last = poiseCsrOffset(A, i + 1);
    double di = s->diagonal[i];
    for (int64_t k = first; k < last; k++)
      strong += A->col[k] == i || IsStrong(A->val[k], di, s->diagonal[A->col[k]], s->theta2);
    s->count[i] = strong;
    s->all[i] = last - first;
  }
}

static void WriteScalars(const void *args, int64_t begin, int64_t end)
{
  const Strength *s = args;
  const CsrView *A = &s->m->A;
  for (int64_t i = begin; i < end; i++) {
    int64_t at = s->g->ptr[i];
    double di = s->diagonal[i];
    for (int64_t k = poiseCsrOffset(A, i); k < poiseCsrOffset(A, i + 1); k++) {
      int32_t j = A->col[k];
      if (j != i && !IsStrong(A->val[k], di, s->diagonal[j], s->theta2)) continue;
      s->g->col[at] = j;
      s->g->weight[at++] = (float)fabs(A->val[k]);
    }
  }
}

/* ---- nodes of several rows ------------------------------------------------------------------- */

/* The entries of A's block rows of a node, by ascending node of the columns. */
typedef struct NodeWalk {
  const CsrView *A;
  int64_t side, per; /* rows of a block; blocks of a node */
  int64_t at[32], end[32];
} NodeWalk;

static void BeginNode(NodeWalk *w, const AmgMatrix *m, int64_t i)
{
  w->A = &m->A;
  w->side = m->A.b ? m->A.b : 1;
  w->per = m->node / w->side;
  for (int64_t q = 0; q < w->per; q++) {
    w->at[q] = poiseCsrOffset(&m->A, i * w->per + q);
    w->end[q] = poiseCsrOffset(&m->A, i * w->per + q + 1);
  }
}

/* The next node that i is connected to and the squares of their block's entries; -1: there are no more. */
static int64_t NextNode(NodeWalk *w, double *squares)
{
  int64_t least = INT64_MAX, size = w->side * w->side;
  for (int64_t q = 0; q < w->per; q++)
    if (w->at[q] < w->end[q] && w->A->col[w->at[q]] / w->per < least) least = w->A->col[w->at[q]] / w->per;
  *squares = 0;
  if (least == INT64_MAX) return -1;
  for (int64_t q = 0; q < w->per; q++)
    for (; w->at[q] < w->end[q] && w->A->col[w->at[q]] / w->per == least; w->at[q]++)
      for (int64_t k = w->at[q] * size; k < (w->at[q] + 1) * size; k++)
        *squares += w->A->val[k] * w->A->val[k];
  return least;
}

static void BlockDiagonal(const void *args, int64_t begin, int64_t end)
{
  const Strength *s = args;
  for (int64_t i = begin; i < end; i++) {
    NodeWalk w;
    double squares;
    BeginNode(&w, s->m, i);
    s->diagonal[i] = 0;
    for (int64_t j = NextNode(&w, &squares); j >= 0; j = NextNode(&w, &squares))
      if (j == i) s->diagonal[i] = squares;
  }
}

/* Squares of the norms are compared: theta^2 |A_ii| |A_jj| <= |A_ij|^2. */
static bool IsStrongBlock(const Strength *s, int64_t i, int64_t j, double squares)
{
  return j == i || (squares > 0 && squares >= s->theta2 * sqrt(s->diagonal[i]) * sqrt(s->diagonal[j]));
}

static void CountBlocks(const void *args, int64_t begin, int64_t end)
{
  const Strength *s = args;
  for (int64_t i = begin; i < end; i++) {
    NodeWalk w;
    double squares;
    BeginNode(&w, s->m, i);
    s->count[i] = s->all[i] = 0;
    for (int64_t j = NextNode(&w, &squares); j >= 0; j = NextNode(&w, &squares)) {
      s->all[i]++;
      s->count[i] += IsStrongBlock(s, i, j, squares);
    }
  }
}

static void WriteBlocks(const void *args, int64_t begin, int64_t end)
{
  const Strength *s = args;
  for (int64_t i = begin; i < end; i++) {
    NodeWalk w;
    double squares;
    int64_t at = s->g->ptr[i];
    BeginNode(&w, s->m, i);
    for (int64_t j = NextNode(&w, &squares); j >= 0; j = NextNode(&w, &squares)) {
      if (!IsStrongBlock(s, i, j, squares)) continue;
      s->g->col[at] = (int32_t)j;
      s->g->weight[at++] = (float)sqrt(squares);
    }
  }
}

/* ---- both ------------------------------------------------------------------------------------ */

static PoiseErr Find(PoiseContext ctx, Strength *s)
{
  AmgGraph *g = s->g;
  Device *dev = ctx->device;
  bool scalar = s->m->node == 1;
  int64_t n = s->m->nodes, all = 0;
  g->n = n;
  TRY(poiseAllocArray(ctx, n + 1, sizeof *g->ptr, "strong connections", &g->ptr));
  TRY(poiseAllocArray(ctx, n, sizeof *s->diagonal, "diagonal", &s->diagonal));
  TRY(poiseAllocArray(ctx, n, sizeof *s->all, "connections", &s->all));
  s->count = g->ptr + 1;
  poiseAmgForRows(dev, n, scalar ? ScalarDiagonal : BlockDiagonal, s);
  poiseAmgForRows(dev, n, scalar ? CountScalars : CountBlocks, s);
  for (int64_t i = 0; i < n; i++) g->ptr[i + 1] += g->ptr[i], all += s->all[i];
  g->nz = g->ptr[n];
  g->dropped = all - g->nz;
  TRY(poiseAllocArray(ctx, g->nz, sizeof *g->col, "strong neighbours", &g->col));
  TRY(poiseAllocArray(ctx, g->nz, sizeof *g->weight, "strengths", &g->weight));
  poiseAmgForRows(dev, n, scalar ? WriteScalars : WriteBlocks, s);
  return POISE_OK;
}

PoiseErr poiseAmgStrength(PoiseContext ctx, const AmgMatrix *m, double theta, AmgGraph *g)
{
  Strength s = {.m = m, .theta2 = theta * theta, .g = g};
  PoiseErr e = Find(ctx, &s);
  poiseFree(ctx, &s.diagonal);
  poiseFree(ctx, &s.all);
  if (e) poiseAmgGraphDestroy(ctx, g);
  return e;
}

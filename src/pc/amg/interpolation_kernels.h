/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The pattern and the values of the prolongation P (interpolation.c), of smoothed aggregation:

    P     = (I - omega D^-1 A_F) T      poiseAmgFromSum; of nodes poiseAmgInterpolateNode
    omega = 4 / (3 lambda)              hierarchy.c: ReadSmoothing; lambda: of D^-1 A, lambda.c
    b     = T r in each aggregate       amg_orthonormal_item, tentative_kernels.h; b: near null space
    A_F T, row i, columns of g          poiseAmgSums, poiseAmgFewSums, poiseAmgAddProduct
          = sum of a_ij T_j             over strong j in aggregate g
          + sum of a_ij b_j r_g^-1      over weak j, if g is the own aggregate of i; r_g^-1: amg_extend_item

  The restriction is R = P^T (transfer.c), and A_c = R A P has all of A (hierarchy.c: Galerkin). See
  docs/design/multigrid.md.
*/
#ifndef POISE_AMG_INTERPOLATION_KERNELS_H
#define POISE_AMG_INTERPOLATION_KERNELS_H

#include "matrix_kernels.h"

typedef struct AmgInterpolation { /* P in blocks of `side`: of what it is made, on the device */
  int side, node, modes;
  int64_t nodes, aggregates;
  int64_t below;            /* aggregates of lower ranks, which come before the own */
  const int32_t *aggregate; /* of nodes and ghost nodes */
  const double *q;          /* T */
  int smooth;               /* 0: P = T, and of the rest nothing is there */
  AmgMatrix A;
  CsrView strong;      /* nodes' strong connections; no columns: all of A's that are kept */
  const uint8_t *kept; /* is the connection of entry k of A strong? NULL: all are, or strong tells */
  const double *b, *x; /* near null space; r^-1 of each own aggregate, by columns, so that q = b x there */
  int64_t hub;         /* rows of nodes that are longer are not smoothed: all is weak for them; 0: none */
  const double *d;     /* D^-1 */
  int turned;          /* of A^T: its D^-1 is that of A, transposed */
  double omega;
} AmgInterpolation;

typedef struct AmgExtendArgs {
  int64_t n; /* columns of all own aggregates */
  int modes;
  const double *r; /* modes x modes for each aggregate, row by row; upper triangles */
  double *x;       /* their inverses, column by column */
} AmgExtendArgs;

/* Columns of P from their places, and back (poiseLocalOfPlace). `from` and `to` may be the same array. */
typedef struct AmgPlaceArgs {
  int64_t n, below, nloc;
  const int32_t *from;
  int32_t *to;
} AmgPlaceArgs;

typedef struct AmgInterpolateArgs {
  int64_t n; /* nodes; rows of P's blocks; nodes times groups */
  AmgInterpolation p;
  int32_t *found, *count; /* aggregates of a node's neighbours, from entry + node on; how many */
  int32_t *length, *col;  /* of P's rows; before these are known, a node's pairs of aggregates */
  CsrView P;
  int groups; /* of columns of a node's rows, which threads share */
  double *val;
} AmgInterpolateArgs;

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

/* Is the connection of entry k of A strong, as far as marks tell? */
POISE_INLINE int poiseAmgIsMarked(const AmgInterpolation *p, int64_t k)
{
  return !p->kept || p->kept[k];
}

/* Is node i a hub? It has far more neighbours than others, and many of them are in aggregates of their own.
   Smoothed, its row would connect all aggregates of strong neighbours with those of all neighbours. */
POISE_INLINE int poiseAmgIsHub(const AmgInterpolation *p, int64_t i)
{
  int64_t per = p->hub > 0 ? poiseAmgBlocks(&p->A) : 1;
  if (p->hub <= 0 || p->aggregate[i] < 0) return 0;
  return poiseCsrOffset(&p->A.A, (i + 1) * per) - poiseCsrOffset(&p->A.A, i * per) > p->hub;
}

/* The connections of node i, [first, *last): the strong ones, or those of A's rows. Returns the first. */
POISE_INLINE int64_t poiseAmgNeighbours(const AmgInterpolation *p, int64_t i, int64_t *last)
{
  const CsrView *of = p->strong.col ? &p->strong : &p->A.A;
  int64_t per = p->strong.col ? 1 : poiseAmgBlocks(&p->A);
  *last = p->smooth ? poiseCsrOffset(of, (i + 1) * per) : 0;
  return p->smooth ? poiseCsrOffset(of, i * per) : 0;
}

/* Traffic: 4 bytes for each neighbour, 1 for a mark, 4 for its aggregate, and what is found. */
POISE_INLINE void amg_find_item(const AmgInterpolateArgs *m, int64_t i)
{
  const AmgInterpolation *p = &m->p;
  const int32_t *col = p->strong.col ? p->strong.col : p->A.A.col;
  int64_t last, first = poiseAmgNeighbours(p, i, &last), per = p->strong.col ? 1 : poiseAmgBlocks(&p->A);
  int32_t *found = m->found + first + i, n = 0, before = p->aggregate[i];
  if (before >= 0) n = poiseAmgInsert(found, 0, before);
  for (int64_t k = poiseAmgIsHub(p, i) ? last : first; k < last; k++) {
    if (!poiseAmgIsMarked(p, k)) continue;
    int32_t a = p->aggregate[col[k] / per];
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
  const int32_t *found = m->found + poiseAmgNeighbours(&m->p, i, &last) + i;
  int32_t *col = m->col + poiseCsrOffset(&m->P, row);
  for (int64_t k = 0; k < m->count[i] * per; k++) col[k] = (int32_t)(found[k / per] * per + k % per);
}

/* ---- T beyond its aggregate ------------------------------------------------------------------ */

/* r x = e_c. A vector that depends on those before it has a row of zeros in r: it goes nowhere. */
POISE_INLINE void amg_extend_item(const AmgExtendArgs *e, int64_t i)
{
  int64_t modes = e->modes, c = i % modes;
  const double *r = e->r + i / modes * modes * modes;
  double *x = e->x + i * modes;
  for (int64_t k = modes - 1; k >= 0; k--) {
    double s = k == c;
    for (int64_t j = k + 1; j <= c; j++) s -= r[k * modes + j] * x[j];
    x[k] = k <= c && r[k * modes + k] != 0 ? s / r[k * modes + k] : 0;
  }
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

/* Is the connection with node j, of A's entry k, strong? Those of a row are asked for in A's order; *at
   follows them. */
POISE_INLINE int poiseAmgIsKept(const AmgInterpolation *p, int64_t k, int64_t j, int64_t *at, int64_t end)
{
  const int32_t *col = p->strong.col;
  if (!col) return poiseAmgIsMarked(p, k);
  while (*at < end && poiseAmgOrder(&p->A, col[*at]) < poiseAmgOrder(&p->A, j)) ++*at;
  return *at < end && col[*at] == j;
}

/* Row i of A times T, by sums of n aggregates; *weak: what goes on in the own one, by weak connections. In
   memory, for any n: */
POISE_INLINE void poiseAmgSums(const AmgInterpolateArgs *m, int64_t i, int64_t first, int64_t n, double *v,
                               double *weak)
{
  const AmgInterpolation *p = &m->p;
  const CsrView *A = &p->A.A;
  int hub = poiseAmgIsHub(p, i);
  for (int64_t e = 0; e < n; e++) v[e] = 0;
  if (!p->smooth) return;
  for (int64_t k = poiseCsrOffset(A, i), last = poiseCsrOffset(A, i + 1); k < last; k++) {
    int32_t j = A->col[k], a = p->aggregate[j];
    if (hub || !poiseAmgIsMarked(p, k))
      *weak += A->val[k] * p->b[j];
    else if (a >= 0)
      v[poiseAmgPlace(&m->P, first, n, 1, a)] += A->val[k] * p->q[j];
  }
}

/* For at most AMG_FEW, whose sums a GPU keeps in registers: no number waits for one in memory. */
enum { AMG_FEW = 8 };

POISE_INLINE void poiseAmgFewSums(const AmgInterpolation *p, int64_t i, const int32_t *col, double *v,
                                  double *weak)
{
  const CsrView *A = &p->A.A;
  int hub = poiseAmgIsHub(p, i);
  for (int64_t k = poiseCsrOffset(A, i), last = poiseCsrOffset(A, i + 1); k < last; k++) {
    int32_t j = A->col[k], a = p->aggregate[j];
    int kept = !hub && poiseAmgIsMarked(p, k);
    double t = A->val[k] * (kept ? p->q[j] : p->b[j]);
    if (!kept) *weak += t;
    for (int e = 0; e < AMG_FEW; e++)
      if (kept && a >= 0 && col[e] == a) v[e] += t;
  }
}

/* A number of row i of P from its sum. own: it is of the node's aggregate. */
POISE_INLINE double poiseAmgFromSum(const AmgInterpolation *p, int64_t i, double v, int own, double weak)
{
  if (own && weak != 0) v += weak * p->x[p->aggregate[i] - p->below];
  if (p->smooth) v *= -p->omega * p->d[i];
  return own ? v + p->q[i] : v;
}

/* Nodes of one row, one vector. */
POISE_INLINE void poiseAmgInterpolateScalar(const AmgInterpolateArgs *m, int64_t i)
{
  const AmgInterpolation *p = &m->p;
  int64_t first = poiseCsrOffset(&m->P, i), n = poiseCsrOffset(&m->P, i + 1) - first;
  const int32_t *col = m->P.col + first, own = p->aggregate[i];
  double *v = m->val + first, weak = 0;
  if (n > AMG_FEW || !p->smooth) {
    poiseAmgSums(m, i, first, n, v, &weak);
    for (int64_t e = 0; e < n; e++) v[e] = poiseAmgFromSum(p, i, v[e], col[e] == own, weak);
    return;
  }
  int32_t few[AMG_FEW];
  double sum[AMG_FEW];
  for (int e = 0; e < AMG_FEW; e++) few[e] = e < n ? col[e] : -1, sum[e] = 0;
  poiseAmgFewSums(p, i, few, sum, &weak);
  for (int e = 0; e < AMG_FEW; e++)
    if (e < n) v[e] = poiseAmgFromSum(p, i, sum[e], few[e] == own, weak);
}

typedef struct AmgNodeRows { /* of P: those of node i, columns [begin, end) of each aggregate's */
  int64_t i, rows, per;      /* rows of blocks in the node; blocks in a row of an aggregate's columns */
  int64_t first, n;          /* P's entry in its first row; aggregates that meet at the node */
  int begin, end;
} AmgNodeRows;

/* Number (r, c) of block `at`, r < node, c < modes. */
POISE_INLINE double *poiseAmgNumber(const AmgInterpolateArgs *m, const AmgNodeRows *w, int64_t at, int64_t r,
                                    int64_t c)
{
  int64_t side = m->p.side, entry = poiseCsrOffset(&m->P, w->i * w->rows + r / side) + at * w->per + c / side;
  return m->val + (entry * side + c % side) * side + r % side;
}

/* Block `at` += A's block (row q of the node's blocks, entry k) times T in its rows, or where own is not
   negative times T of that aggregate, which goes on there. */
POISE_INLINE void poiseAmgAddBlock(const AmgInterpolateArgs *m, const AmgNodeRows *w, int64_t at, int64_t q,
                                   int64_t k, int64_t own)
{
  const AmgInterpolation *p = &m->p;
  int64_t b = p->A.A.b ? p->A.A.b : 1, modes = p->modes, row = (int64_t)p->A.A.col[k] * b;
  const double *f = p->A.A.val + k * b * b;
  double t[AMG_NODE];
  for (int64_t c = w->begin; c < w->end; c++) {
    const double *x = own < 0 ? NULL : p->x + ((own - p->below) * modes + c) * modes;
    for (int64_t j = 0; j < b; j++) {
      t[j] = x ? 0 : p->q[(row + j) * modes + c];
      for (int64_t n = 0; x && n <= c; n++) t[j] += p->b[(row + j) * modes + n] * x[n];
    }
    for (int64_t r = 0; r < b; r++) {
      double s = 0;
      for (int64_t j = 0; j < b; j++) s += f[j * b + r] * t[j];
      *poiseAmgNumber(m, w, at, q * b + r, c) += s;
    }
  }
}

/* The rows += A T, weak connections by the node's own aggregate, which is block `place`. */
POISE_INLINE void poiseAmgAddProduct(const AmgInterpolateArgs *m, const AmgNodeRows *w, int64_t place)
{
  const AmgInterpolation *p = &m->p;
  const CsrView *A = &p->A.A;
  int64_t blocks = poiseAmgBlocks(&p->A), own = p->aggregate[w->i];
  int hub = poiseAmgIsHub(p, w->i);
  for (int64_t q = 0; q < blocks; q++) {
    int64_t end, at = poiseAmgNeighbours(p, w->i, &end), k = poiseCsrOffset(A, w->i * blocks + q),
                 last = poiseCsrOffset(A, w->i * blocks + q + 1);
    for (; k < last; k++) {
      int32_t j = (int32_t)(A->col[k] / blocks), a = p->aggregate[j];
      if (!hub && poiseAmgIsKept(p, k, j, &at, end)) {
        if (a >= 0) poiseAmgAddBlock(m, w, poiseAmgPlace(&m->P, w->first, w->n, w->per, a), q, k, -1);
      } else if (own >= 0)
        poiseAmgAddBlock(m, w, place, q, k, own);
    }
  }
}

/* Column c of block `at` becomes -omega D^-1 times it. */
POISE_INLINE void poiseAmgScaleColumn(const AmgInterpolateArgs *m, const AmgNodeRows *w, int64_t at,
                                      int64_t c)
{
  int64_t node = m->p.node;
  const double *d = m->p.d + w->i * node * node;
  double v[AMG_NODE];
  for (int64_t r = 0; r < node; r++) v[r] = *poiseAmgNumber(m, w, at, r, c);
  for (int64_t r = 0; r < node; r++) {
    double s = 0;
    for (int64_t j = 0; j < node; j++) s += d[m->p.turned ? r * node + j : j * node + r] * v[j];
    *poiseAmgNumber(m, w, at, r, c) = -m->p.omega * s;
  }
}

POISE_INLINE void poiseAmgInterpolateNode(const AmgInterpolateArgs *m, const AmgNodeRows *w)
{
  int64_t node = m->p.node, own = m->p.aggregate[w->i],
          place = own < 0 ? 0 : poiseAmgPlace(&m->P, w->first, w->n, w->per, (int32_t)own);
  for (int64_t at = 0; at < w->n; at++)
    for (int64_t c = w->begin; c < w->end; c++)
      for (int64_t r = 0; r < node; r++) *poiseAmgNumber(m, w, at, r, c) = 0;
  if (m->p.smooth) poiseAmgAddProduct(m, w, place);
  for (int64_t at = 0; m->p.smooth && at < w->n; at++)
    for (int64_t c = w->begin; c < w->end; c++) poiseAmgScaleColumn(m, w, at, c);
  for (int64_t c = w->begin; own >= 0 && c < w->end; c++)
    for (int64_t r = 0; r < node; r++)
      *poiseAmgNumber(m, w, place, r, c) += m->p.q[(w->i * node + r) * m->p.modes + c];
}

/* Groups of a node's columns are apart, and neighbouring threads do those of one node, which read the same
   blocks of A. Traffic: A, q or b by neighbours, and P twice. */
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

/* Traffic of both: 8 bytes per entry. */
POISE_INLINE void amg_from_places_item(const AmgPlaceArgs *a, int64_t k)
{
  a->to[k] = poiseLocalOfPlace(a->below, a->nloc, a->from[k]);
}

POISE_INLINE void amg_to_places_item(const AmgPlaceArgs *a, int64_t k)
{
  a->to[k] = poisePlaceOfLocal(a->below, a->nloc, a->from[k]);
}

#endif

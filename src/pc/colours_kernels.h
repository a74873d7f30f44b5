/* SPDX-License-Identifier: BSD-3-Clause */
/* Colours of rows (colours.c), and the matrix by colours (colour_copy.c). A kernel does item i < n of all. */
#ifndef POISE_COLOURS_KERNELS_H
#define POISE_COLOURS_KERNELS_H

#include "triangles_kernels.h"
#include "mat/csr/csr_view.h"

/* COLOUR_MOST: colours that there may be; a row without one yet has this number. */
enum { COLOUR_MOST = 255, COLOUR_SAMPLES = 64, COLOUR_OFFSETS = 64, COLOUR_STRIDES = 4 };

/* Of each sampled row of the owned block: how many neighbours come behind it, and by how much the first ones
   do; 0: no more. Neighbours as in ColourArgs. */
typedef struct ColourSampleArgs {
  int64_t n; /* COLOUR_SAMPLES */
  Triangles t;
  const void *column;
  const int32_t *rows;
  int32_t *entries, *offset; /* [n], [n][COLOUR_OFFSETS] */
} ColourSampleArgs;

/* Neighbours are those of the row and of the column, each once: so a matrix has the colours of its
   transpose. */
POISE_INLINE void colour_sample_item(const ColourSampleArgs *a, int64_t i)
{
  const Triangles *t = &a->t;
  int64_t row = (int64_t)(poiseMix(3, (uint64_t)i) % (uint64_t)t->n), k = poiseOffset(t, t->diag, row) + 1,
          end = poiseOffset(t, t->end, row), q = a->rows ? poiseOffset(t, a->column, row) : 0,
          last = a->rows ? poiseOffset(t, a->column, row + 1) : 0;
  int32_t *offset = a->offset + i * COLOUR_OFFSETS, count = 0;
  while (q < last && a->rows[q] <= row) q++;
  for (; k < end || q < last; count++) {
    int32_t right = k < end ? t->col[k] : INT32_MAX, below = q < last ? a->rows[q] : INT32_MAX,
            next = right < below ? right : below;
    k += right == next, q += below == next;
    if (count < COLOUR_OFFSETS) offset[count] = next - (int32_t)row;
  }
  a->entries[i] = count;
  for (; count < COLOUR_OFFSETS; count++) offset[count] = 0;
}

/* rank: who comes first takes the smaller colour; the numbers of rows break ties. Neighbours of row i are the
   columns of row i, and the rows of column i where `rows` has these (NULL: they are the same). A pass reads
   colours, and writes those of the next one. left[turn]: raised if any row has none; the other is lowered. */
typedef struct ColourArgs {
  int64_t n;
  Triangles t;
  const void *column; /* offsets into rows, of t.wide */
  const int32_t *rows;
  int64_t stride[COLOUR_STRIDES];
  int strides, turn;
  uint32_t *rank;
  const uint8_t *before;
  uint8_t *colour;
  int32_t *left, *many;
  int members; /* the colour whose rows are counted and placed */
  int64_t start;
  int32_t *length, *place, *row;
  CsrView offset;
} ColourArgs;

/* In a grid that is numbered line by line, a row is even or odd along lines, planes and layers. Those that
   are odd everywhere come first, then those that are even in one direction, and so on. So the last ones are
   those that a coarse grid has by injection: a symmetric sweep from 0 relaxes them in its middle, and leaves
   a residual there. */
POISE_INLINE void colour_start_item(const ColourArgs *a, int64_t i)
{
  uint32_t evens = 0, count = 0;
  int64_t rest = i;
  for (int d = a->strides - 1; d >= 0; d--) {
    uint32_t even = rest / a->stride[d] % 2 == 0;
    evens |= even << d, count += even;
    rest %= a->stride[d];
  }
  a->rank[i] = count << 29 | evens << 25 | (uint32_t)(poiseMix(5, (uint64_t)i) >> 39);
  a->colour[i] = COLOUR_MOST;
}

POISE_INLINE bool poiseColourPrecedes(const ColourArgs *a, int64_t j, int64_t i)
{
  return a->rank[j] < a->rank[i] || (a->rank[j] == a->rank[i] && j < i);
}

/* Colours of a row's neighbours among `used`. Does the row wait for one of them? */
POISE_INLINE bool poiseColourWaits(const ColourArgs *a, int64_t i, const int32_t *of, int64_t k, int64_t end,
                                   uint64_t *used)
{
  for (; k < end; k++) {
    int64_t j = of[k];
    if (j == i || j >= a->n) continue;
    uint8_t c = a->before[j];
    if (c == COLOUR_MOST && poiseColourPrecedes(a, j, i)) return true;
    if (c < COLOUR_MOST) used[c / 64] |= UINT64_C(1) << c % 64;
  }
  return false;
}

/* The least colour that no neighbour has, once those before it have theirs. So colours do not depend on the
   order in which rows are looked at. Traffic: the pattern of rows that have none, 5 bytes a neighbour. */
POISE_INLINE void colour_pass_item(const ColourArgs *a, int64_t i)
{
  const Triangles *t = &a->t;
  uint64_t used[4] = {0};
  uint8_t c = a->before[i];
  if (i == 0) a->left[!a->turn] = 0;
  a->colour[i] = c;
  if (c < COLOUR_MOST) return;
  if (poiseColourWaits(a, i, t->col, poiseOffset(t, t->begin, i), poiseOffset(t, t->end, i), used) ||
      (a->rows && poiseColourWaits(a, i, a->rows, poiseOffset(t, a->column, i),
                                   poiseOffset(t, a->column, i + 1), used))) {
    poiseRaise(&a->left[a->turn]);
    return;
  }
  for (c = 0; c < COLOUR_MOST && used[c / 64] >> c % 64 & 1;) c++;
  if (c == COLOUR_MOST) poiseRaise(a->many);
  a->colour[i] = c == COLOUR_MOST ? 0 : c;
}

POISE_INLINE void colour_count_item(const ColourArgs *a, int64_t i)
{
  a->length[i] = a->colour[i] == a->members;
}

POISE_INLINE void colour_place_item(const ColourArgs *a, int64_t i)
{
  if (a->colour[i] == a->members) a->place[i] = (int32_t)(a->start + poiseCsrOffset(&a->offset, i));
}

/* Of n places. */
POISE_INLINE void colour_clear_item(const ColourArgs *a, int64_t p)
{
  a->row[p] = 0;
}

POISE_INLINE void colour_rows_item(const ColourArgs *a, int64_t i)
{
  a->row[a->place[i]] = (int32_t)i + 1;
}

/* ---- the matrix by colours ------------------------------------------------------------------- */

/* row: 1 + the row at each place; 0: at those that fill up a colour's last group. One part of A - D of the
   owned block: entries of earlier colours (upper = 0) or later ones, at their columns' places, which ascend.
   left, right: diagonal blocks to multiply by, by rows of A; NULL: ones. */
typedef struct ColourMatrixArgs {
  int64_t n; /* places */
  CsrView A, to;
  const uint8_t *colour;
  const int32_t *place, *row;
  const double *left, *right;
  int upper;
  int32_t *length, *col;
  double *val;
} ColourMatrixArgs;

POISE_INLINE bool poiseColourTakes(const ColourMatrixArgs *a, int64_t i, int64_t j)
{
  if (j >= a->A.nloc || j == i) return false;
  return a->upper ? a->colour[j] > a->colour[i] : a->colour[j] < a->colour[i];
}

POISE_INLINE void colour_lengths_item(const ColourMatrixArgs *a, int64_t p)
{
  int64_t i = (int64_t)a->row[p] - 1;
  int32_t n = 0;
  for (int64_t k = i < 0 ? 0 : poiseCsrOffset(&a->A, i), end = i < 0 ? 0 : poiseCsrOffset(&a->A, i + 1);
       k < end; k++)
    n += poiseColourTakes(a, i, a->A.col[k]);
  a->length[p] = n;
}

/* Let c[at] sink among the first n numbers, each at least those at 2 at + 1 and 2 at + 2. */
POISE_INLINE void poiseColourSink(int32_t *c, int64_t at, int64_t n)
{
  int32_t mine = c[at];
  for (int64_t k = 2 * at + 1; k < n; at = k, k = 2 * at + 1) {
    if (k + 1 < n && c[k + 1] > c[k]) k++;
    if (c[k] <= mine) break;
    c[at] = c[k];
  }
  c[at] = mine;
}

/* By a heap, as a hub has many. */
POISE_INLINE void poiseColourSort(int32_t *c, int64_t n)
{
  int64_t k = 1;
  while (k < n && c[k - 1] < c[k]) k++;
  if (k >= n) return;
  for (k = n / 2 - 1; k >= 0; k--) poiseColourSink(c, k, n);
  for (k = n - 1; k > 0; k--) {
    int32_t most = c[0];
    c[0] = c[k], c[k] = most;
    poiseColourSink(c, 0, k);
  }
}

POISE_INLINE void colour_pattern_item(const ColourMatrixArgs *a, int64_t p)
{
  int64_t i = (int64_t)a->row[p] - 1;
  if (i < 0) return;
  int64_t first = poiseCsrOffset(&a->to, p), at = first;
  for (int64_t k = poiseCsrOffset(&a->A, i), end = poiseCsrOffset(&a->A, i + 1); k < end; k++)
    if (poiseColourTakes(a, i, a->A.col[k])) a->col[at++] = a->place[a->A.col[k]];
  poiseColourSort(a->col + first, at - first);
}

/* to = left from right, of b x b numbers by columns; NULL: the identity */
POISE_INLINE void poiseColourScale(int64_t b, const double *left, const double *right, const double *from,
                                   double *to)
{
  double row[32];
  for (int64_t c = 0; c < b; c++)
    for (int64_t r = 0; r < b; r++) {
      double s = left ? 0 : from[c * b + r];
      for (int64_t q = 0; left && q < b; q++) s += left[q * b + r] * from[c * b + q];
      to[c * b + r] = s;
    }
  for (int64_t r = 0; right && r < b; r++) {
    for (int64_t q = 0; q < b; q++) row[q] = to[q * b + r];
    for (int64_t c = 0; c < b; c++) {
      double s = 0;
      for (int64_t q = 0; q < b; q++) s += row[q] * right[c * b + q];
      to[c * b + r] = s;
    }
  }
}

/* Entry k of A's row i, which is at place p. */
POISE_INLINE void poiseColourEntry(const ColourMatrixArgs *a, int64_t b, int64_t p, int64_t i, int64_t k)
{
  int64_t j = a->A.col[k];
  if (!poiseColourTakes(a, i, j)) return;
  int64_t at = poiseSeek(a->to.col, poiseCsrOffset(&a->to, p), poiseCsrOffset(&a->to, p + 1), a->place[j]);
  poiseColourScale(b, a->left ? a->left + i * b * b : NULL, a->right ? a->right + j * b * b : NULL,
                   a->A.val + k * b * b, a->val + at * b * b);
}

POISE_INLINE void colour_entries_item(const ColourMatrixArgs *a, int64_t p)
{
  int64_t i = (int64_t)a->row[p] - 1, b = a->A.b ? a->A.b : 1;
  if (i < 0) return;
  for (int64_t k = poiseCsrOffset(&a->A, i), end = poiseCsrOffset(&a->A, i + 1); k < end; k++)
    poiseColourEntry(a, b, p, i, k);
}

/* ---- a diagonal that is divided -------------------------------------------------------------- */

/* left D right = I for the diagonal blocks D of n rows of blocks. Where D is symmetric and positive definite,
   D = G G^T, left is the inverse of G, and right its transpose; else left is that of D. For numbers left and
   right are 1 / sqrt|D|, and left has D's sign. `left` has D at first; inverse: the inverse of D, by columns,
   and behind it that of right. */
typedef struct ColourDivideArgs {
  int64_t n, b;
  double factor; /* D is so many times what `left` has */
  double *left, *right, *inverse;
  int32_t *others; /* raised where a block is not symmetric and positive definite */
} ColourDivideArgs;

/* g = G, its lower triangle; false where there is none */
POISE_INLINE bool poiseColourCholesky(int64_t b, double factor, const double *d, double *g)
{
  for (int64_t c = 0; c < b; c++)
    for (int64_t r = c; r < b; r++) {
      double s = factor * d[c * b + r], other = factor * d[r * b + c];
      if (!(fabs(s - other) <= 1e-14 * factor * sqrt(fabs(d[c * b + c] * d[r * b + r])))) return false;
      for (int64_t q = 0; q < c; q++) s -= g[q * b + r] * g[q * b + c];
      if (r == c && !(s > 0)) return false;
      g[c * b + r] = r == c ? sqrt(s) : s / g[c * b + c];
    }
  return true;
}

/* The lower triangle g becomes that of its inverse. Columns behind c are as they were, and so are the
   diagonals that column c divides by. */
POISE_INLINE void poiseColourInvertLower(int64_t b, double *g)
{
  for (int64_t c = 0; c < b; c++) {
    g[c * b + c] = 1 / g[c * b + c];
    for (int64_t r = c + 1; r < b; r++) {
      double s = 0;
      for (int64_t q = c; q < r; q++) s += g[q * b + r] * g[c * b + q];
      g[c * b + r] = -s / g[r * b + r];
    }
  }
}

POISE_INLINE void colour_divide_item(const ColourDivideArgs *a, int64_t i)
{
  int64_t b = a->b;
  double *left = a->left + i * b * b, *right = a->right + i * b * b, *inverse = a->inverse + i * b * b;
  if (b == 1) {
    double d = a->factor * *left, root = sqrt(fabs(d));
    *inverse = root, *right = 1 / root, *left = d < 0 ? -*right : *right;
    if (d < 0) poiseRaise(a->others);
    return;
  }
  bool divides = poiseColourCholesky(b, a->factor, left, right);
  if (!divides) poiseRaise(a->others);
  for (int64_t c = 0; c < b; c++)
    for (int64_t r = 0; r < b; r++) {
      if (!divides) left[c * b + r] = inverse[c * b + r] / a->factor;
      inverse[c * b + r] = !divides ? r == c : r <= c ? right[r * b + c] : 0; /* G^T */
    }
  if (divides) poiseColourInvertLower(b, right);
  for (int64_t c = 0; c < b; c++)
    for (int64_t r = 0; r < b; r++) {
      if (divides)
        left[c * b + r] = r >= c ? right[c * b + r] : 0;
      else
        right[c * b + r] = r == c;
    }
  for (int64_t c = 0; divides && c < b; c++)
    for (int64_t r = 0; r < b; r++) right[c * b + r] = left[r * b + c];
}

#ifdef __cplusplus
#define OVER(n) n
#else
#define OVER(n) NAME(n)
#endif

#define REAL    double
#define NAME(n) n
#define ITEM(n) n##_item
#include "colour_moves.h"
#undef REAL
#undef NAME
#undef ITEM

#define REAL    float
#define NAME(n) n##_f32
#define ITEM(n) n##_f32_item
#include "colour_moves.h"
POISE_INLINE void colour_to_rows_f32_item(const ColourMoveArgs_f32 *a, int64_t e)
{
  if (!a->skip || *a->skip == 0) a->y[e] = OVER(poiseColourAtPlace)(a, e);
}
#undef REAL
#undef NAME
#undef ITEM
#undef OVER

#endif

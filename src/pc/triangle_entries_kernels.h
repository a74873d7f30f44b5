/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Kernels over the entries of triangles, each of which is done by itself: where the triangles are, and
  incomplete factors by sweeps (Chow and Patel 2015, "Fine-grained parallel incomplete LU factorization").

  The text of a kernel is <name>_range(args, i, &begin, &end), the entries of row i < args->n that it is for,
  and <name>_entry(args, i, k). triangle_entries.c and src/cuda/triangle_entries.cu run it, the latter without
  contraction, so all devices give the same bits. What an entry reads no other entry of that kernel writes.
*/
#ifndef POISE_TRIANGLE_ENTRIES_KERNELS_H
#define POISE_TRIANGLE_ENTRIES_KERNELS_H

#include "mat/csr/csr_view.h"
#include "pivot.h"

/* ---- where the triangles are ----------------------------------------------------------------- */

/* Offsets of A's n rows, of the width of A's: begin (n + 1) and end of the owned columns, both NULL: not
   wanted, and the diagonal entry. *missing is raised if one is not there. */
typedef struct TriangleOffsetsArgs {
  int64_t n;
  CsrView A;
  void *begin, *diag, *end;
  int32_t *missing;
} TriangleOffsetsArgs;

POISE_INLINE void triangle_offsets_range(const TriangleOffsetsArgs *a, int64_t i, int64_t *begin,
                                         int64_t *end)
{
  (void)a;
  *begin = i, *end = i + 1; /* the row as a whole */
}

/* Entries ascend by global column, so ghosts stand before and behind the owned columns. */
POISE_INLINE void triangle_offsets_entry(const TriangleOffsetsArgs *a, int64_t i, int64_t k)
{
  const int32_t *col = a->A.col;
  int64_t first = poiseCsrOffset(&a->A, i), last = poiseCsrOffset(&a->A, i + 1);
  (void)k;
  while (first < last && col[first] >= a->A.nloc) first++;
  int64_t diag = poiseSeek(col, first, last, (int32_t)i);
  if (diag == last || col[diag] != i) poiseRaise(a->missing);
  int wide = a->A.ptr64 != NULL;
  poiseSetOffset(wide, a->diag, i, diag);
  if (!a->begin) return;
  poiseSetOffset(wide, a->begin, i, first);
  poiseSetOffset(wide, a->end, i, poiseSeek(col, diag, last, (int32_t)a->A.nloc));
  if (i == a->n - 1) poiseSetOffset(wide, a->begin, a->n, a->A.nz);
}

/* *missing is raised if an entry (i, j) has no entry (j, i). */
typedef struct TriangleCheckArgs {
  int64_t n;
  Triangles t;
  int32_t *missing;
} TriangleCheckArgs;

POISE_INLINE void triangle_check_range(const TriangleCheckArgs *a, int64_t i, int64_t *begin, int64_t *end)
{
  *begin = poiseOffset(&a->t, a->t.begin, i), *end = poiseOffset(&a->t, a->t.end, i);
}

POISE_INLINE void triangle_check_entry(const TriangleCheckArgs *a, int64_t i, int64_t k)
{
  const Triangles *t = &a->t;
  int64_t j = t->col[k], end = poiseOffset(t, t->end, j),
          at = poiseSeek(t->col, poiseOffset(t, t->begin, j), end, (int32_t)i);
  if (at == end || t->col[at] != i) poiseRaise(a->missing);
}

/* ---- fill ------------------------------------------------------------------------------------ */

/* factor_spread: the entries of A's owned columns to their places in the pattern t, of the same block size,
   which has them all. What A has not stays as it is in `out`. */
typedef struct FactorSpreadArgs {
  int64_t n;
  CsrView A;
  Triangles t;
  double *out;
} FactorSpreadArgs;

POISE_INLINE void factor_spread_range(const FactorSpreadArgs *a, int64_t i, int64_t *begin, int64_t *end)
{
  *begin = poiseCsrOffset(&a->A, i), *end = poiseCsrOffset(&a->A, i + 1);
}

POISE_INLINE void factor_spread_entry(const FactorSpreadArgs *a, int64_t i, int64_t k)
{
  const Triangles *t = &a->t;
  int64_t size = t->b ? (int64_t)t->b * t->b : 1;
  int32_t j = a->A.col[k];
  if (j >= a->A.nloc) return;
  double *out = a->out + poiseSeek(t->col, poiseOffset(t, t->begin, i), poiseOffset(t, t->end, i), j) * size;
  for (int64_t q = 0; q < size; q++) out[q] = a->A.val[k * size + q];
}

/* factor_permute: y_i = x[place_i], unless skipped. */
typedef struct FactorPermuteArgs {
  int64_t n;
  const int32_t *place;
  const double *x, *skip;
  double *y;
} FactorPermuteArgs;

POISE_INLINE void factor_permute_range(const FactorPermuteArgs *a, int64_t i, int64_t *begin, int64_t *end)
{
  *begin = i, *end = a->skip && *a->skip != 0 ? i : i + 1;
}

POISE_INLINE void factor_permute_entry(const FactorPermuteArgs *a, int64_t i, int64_t k)
{
  (void)k;
  a->y[i] = a->x[a->place[i]];
}

/* ---- factors by sweeps ----------------------------------------------------------------------- */

/*
  The factors of FactorArgs as a fixed point, in numbers s and pivots u_ii = 1 / d_i:
    s_ij = a_ij - sum over k < min(i, j) of l_ik u_kj,    u_ij = s_ij (i <= j), l_ij = s_ij d_j (i > j).
  A sweep takes s and d on the right from `f.lu` and f.d, as the sweep before left them, and leaves s in
  `next`. A row of level m is exact after m + 1 sweeps, with the bits of kernel factor on the host.
  f.symmetric: only the upper triangle is computed, into f.lu itself, as sums read the lower one, its mirror.
  mirrored: the pattern is symmetric.
*/
typedef struct FactorSweepArgs {
  int64_t n;
  FactorArgs f;
  int mirrored;
  double *next;
} FactorSweepArgs;

POISE_INLINE void poiseRowRange(const FactorSweepArgs *a, int64_t i, int from_diag, int to_diag,
                                int64_t *begin, int64_t *end)
{
  const Triangles *t = &a->f.t;
  *begin = poiseOffset(t, from_diag ? t->diag : t->begin, i);
  *end = to_diag ? poiseOffset(t, t->diag, i) : poiseOffset(t, t->end, i);
}

/* The place of entry (i, j), which there is if row i has one. */
POISE_INLINE int64_t poisePlace(const Triangles *t, int64_t i, int64_t j)
{
  return poiseSeek(t->col, poiseOffset(t, t->begin, i), poiseOffset(t, t->end, i), (int32_t)j);
}

/* a_ij, shifted on the diagonal; k: the place of (i, j). */
POISE_INLINE double poiseShifted(const FactorArgs *f, int64_t i, int64_t k)
{
  return f->t.col[k] == i ? f->a[k] + f->shift : f->a[k];
}

/* factor_start: next = A, and pivots are A's. The lower triangle of a symmetric A is the mirror of its upper
   one. */
POISE_INLINE void factor_start_range(const FactorSweepArgs *a, int64_t i, int64_t *begin, int64_t *end)
{
  poiseRowRange(a, i, 0, 0, begin, end);
}

POISE_INLINE void factor_start_entry(const FactorSweepArgs *a, int64_t i, int64_t k)
{
  int64_t j = a->f.t.col[k];
  double v = a->f.symmetric && j < i ? a->f.a[poisePlace(&a->f.t, j, i)] : poiseShifted(&a->f, i, k);
  a->next[k] = v;
  if (j == i) a->f.d[i] = poiseInvertPivot(&a->f, v, 0);
}

/* factor_sweep. Traffic: for an entry (i, j) the lower triangles of rows i and j. */
POISE_INLINE void factor_sweep_range(const FactorSweepArgs *a, int64_t i, int64_t *begin, int64_t *end)
{
  poiseRowRange(a, i, a->f.symmetric, 0, begin, end);
}

/* v - l_ik u_kj for all k that both row i and row j have left of their diagonals. */
POISE_INLINE double poiseSubtractCommon(const FactorSweepArgs *a, int64_t i, int64_t j, double v)
{
  const FactorArgs *f = &a->f;
  const Triangles *t = &f->t;
  int64_t p = poiseOffset(t, t->begin, i), end = poiseOffset(t, t->diag, i), q = poiseOffset(t, t->begin, j),
          last = poiseOffset(t, t->diag, j);
  while (p < end && q < last) {
    int64_t k = t->col[p];
    if (k == t->col[q]) {
      double m = f->lu[p] * f->d[k];
      v -= m * f->lu[f->symmetric ? q : poisePlace(t, k, j)];
      p++, q++;
    } else if (k < t->col[q]) {
      p = poiseSeek(t->col, p + 1, end, t->col[q]);
    } else {
      q = poiseSeek(t->col, q + 1, last, (int32_t)k);
    }
  }
  return v;
}

/* The same where row j does not tell which entries column j has: each row k < min(i, j) is searched. */
POISE_INLINE double poiseSubtractSearched(const FactorSweepArgs *a, int64_t i, int64_t j, double v)
{
  const FactorArgs *f = &a->f;
  const Triangles *t = &f->t;
  int64_t p = poiseOffset(t, t->begin, i), end = poiseOffset(t, t->diag, i);
  for (; p < end && t->col[p] < j; p++) {
    int64_t k = t->col[p], at = poisePlace(t, k, j);
    if (at < poiseOffset(t, t->end, k) && t->col[at] == j) v -= f->lu[p] * f->d[k] * f->lu[at];
  }
  return v;
}

POISE_INLINE void factor_sweep_entry(const FactorSweepArgs *a, int64_t i, int64_t k)
{
  double v = poiseShifted(&a->f, i, k);
  int64_t j = a->f.t.col[k];
  a->next[k] = a->mirrored ? poiseSubtractCommon(a, i, j, v) : poiseSubtractSearched(a, i, j, v);
}

/* factor_pivots: d of the sweep that has just been done; if symmetric, also the lower triangle of next. */
POISE_INLINE void factor_pivots_range(const FactorSweepArgs *a, int64_t i, int64_t *begin, int64_t *end)
{
  poiseRowRange(a, i, !a->f.symmetric, 1, begin, end);
  ++*end;
}

POISE_INLINE void factor_pivots_entry(const FactorSweepArgs *a, int64_t i, int64_t k)
{
  int64_t j = a->f.t.col[k];
  if (j == i)
    a->f.d[i] = poiseInvertPivot(&a->f, a->next[k], 0);
  else
    a->next[k] = a->next[poisePlace(&a->f.t, j, i)];
}

/* factor_divide: l of s, in f.lu, after the last sweep. */
POISE_INLINE void factor_divide_range(const FactorSweepArgs *a, int64_t i, int64_t *begin, int64_t *end)
{
  poiseRowRange(a, i, 0, 1, begin, end);
}

POISE_INLINE void factor_divide_entry(const FactorSweepArgs *a, int64_t i, int64_t k)
{
  (void)i;
  a->f.lu[k] *= a->f.d[a->f.t.col[k]];
}

/* factor_judge: is the pivot of row i refused beside the other entries of its row? */
POISE_INLINE void factor_judge_range(const FactorSweepArgs *a, int64_t i, int64_t *begin, int64_t *end)
{
  *begin = poiseOffset(&a->f.t, a->f.t.diag, i), *end = *begin + 1;
}

POISE_INLINE void factor_judge_entry(const FactorSweepArgs *a, int64_t i, int64_t k)
{
  const FactorArgs *f = &a->f;
  const Triangles *t = &f->t;
  int64_t end = poiseOffset(t, t->end, i);
  double rest = poiseSizesBeside(1, f->lu, f->symmetric ? k : poiseOffset(t, t->begin, i), end, k, 0, 0);
  f->d[i] = poiseInvertPivot(f, f->lu[k], rest);
  poiseKeepPivot(f, k, f->d[i]);
}

/* ---- solves by Jacobi sweeps ----------------------------------------------------------------- */

enum { FACTOR_MOST_SIDE = 32 };

/* factor_scale: the upper triangle U becomes D U, D: inverse pivots, or inverse diagonal blocks. */
POISE_INLINE void factor_scale_range(const FactorSweepArgs *a, int64_t i, int64_t *begin, int64_t *end)
{
  poiseRowRange(a, i, 1, 0, begin, end);
  ++*begin;
}

POISE_INLINE void factor_scale_entry(const FactorSweepArgs *a, int64_t i, int64_t k)
{
  int64_t b = a->f.t.b;
  if (!b) {
    a->f.lu[k] *= a->f.d[i];
    return;
  }
  const double *d = a->f.d + i * b * b;
  for (int64_t c = 0; c < b; c++) {
    double *u = a->f.lu + (k * b + c) * b, product[FACTOR_MOST_SIDE];
    for (int64_t r = 0; r < b; r++) {
      product[r] = 0;
      for (int64_t q = 0; q < b; q++) product[r] += d[q * b + r] * u[q];
    }
    for (int64_t r = 0; r < b; r++) u[r] = product[r];
  }
}

/* ---- approximate inverses -------------------------------------------------------------------- */

/*
  factor_isai: `next` has V of the strict lower triangle N in f.lu, with N's pattern, and, unless f.symmetric,
  that of the strict upper one: v_ij = n_ij - sum of v_ik n_kj over the k of row i between i and j. A row is
  done as a whole. Traffic: for an entry (i, k) row k.
*/
POISE_INLINE void factor_isai_range(const FactorSweepArgs *a, int64_t i, int64_t *begin, int64_t *end)
{
  (void)a;
  *begin = i, *end = i + 1;
}

/* next -= v f.lu of the entries [q, last), at the entries [p, end) of the same columns. */
POISE_INLINE void poiseSubtractShared(const FactorSweepArgs *a, double v, int64_t p, int64_t end, int64_t q,
                                      int64_t last)
{
  const int32_t *col = a->f.t.col;
  while (p < end && q < last) {
    if (col[p] == col[q])
      a->next[p++] -= v * a->f.lu[q++];
    else if (col[p] < col[q])
      p = poiseSeek(col, p + 1, end, col[q]);
    else
      q = poiseSeek(col, q + 1, last, col[p]);
  }
}

POISE_INLINE void factor_isai_entry(const FactorSweepArgs *a, int64_t i, int64_t k)
{
  const Triangles *t = &a->f.t;
  int64_t begin = poiseOffset(t, t->begin, i), diag = poiseOffset(t, t->diag, i),
          end = poiseOffset(t, t->end, i);
  (void)k;
  for (int64_t p = begin; p < (a->f.symmetric ? diag : end); p++) a->next[p] = a->f.lu[p];
  for (int64_t p = diag - 1; p > begin; p--) {
    int64_t c = t->col[p];
    poiseSubtractShared(a, a->next[p], begin, p, poiseOffset(t, t->begin, c), poiseOffset(t, t->diag, c));
  }
  for (int64_t p = diag + 1; p < end && !a->f.symmetric; p++) {
    int64_t c = t->col[p];
    poiseSubtractShared(a, a->next[p], p + 1, end, poiseOffset(t, t->diag, c) + 1, poiseOffset(t, t->end, c));
  }
}

/* factor_isai_mirror: the upper triangle of next becomes the transpose of its lower one. */
POISE_INLINE void factor_isai_mirror_range(const FactorSweepArgs *a, int64_t i, int64_t *begin, int64_t *end)
{
  poiseRowRange(a, i, 1, 0, begin, end);
  ++*begin;
}

POISE_INLINE void factor_isai_mirror_entry(const FactorSweepArgs *a, int64_t i, int64_t k)
{
  a->next[k] = a->next[poisePlace(&a->f.t, a->f.t.col[k], i)];
}

/*
  One of the two products as a matrix: D^-1 (I - V), or I - V' (upper), with v and d of the factors and the
  places of the triangle with its diagonal. length: entries of rows; to: the matrix, whose offsets are known;
  col NULL: its columns too.
*/
typedef struct IsaiMatrixArgs {
  int64_t n;
  Triangles t;
  int upper;
  const double *v, *d;
  int32_t *length;
  CsrView to;
  int32_t *col;
  double *val;
} IsaiMatrixArgs;

POISE_INLINE void isai_lengths_range(const IsaiMatrixArgs *a, int64_t i, int64_t *begin, int64_t *end)
{
  (void)a;
  *begin = i, *end = i + 1;
}

POISE_INLINE void isai_lengths_entry(const IsaiMatrixArgs *a, int64_t i, int64_t k)
{
  const Triangles *t = &a->t;
  int64_t diag = poiseOffset(t, t->diag, i);
  (void)k;
  a->length[i] =
      (int32_t)(a->upper ? poiseOffset(t, t->end, i) - diag : diag + 1 - poiseOffset(t, t->begin, i));
}

POISE_INLINE void isai_matrix_range(const IsaiMatrixArgs *a, int64_t i, int64_t *begin, int64_t *end)
{
  const Triangles *t = &a->t;
  int64_t diag = poiseOffset(t, t->diag, i);
  *begin = a->upper ? diag : poiseOffset(t, t->begin, i);
  *end = a->upper ? poiseOffset(t, t->end, i) : diag + 1;
}

POISE_INLINE void isai_matrix_entry(const IsaiMatrixArgs *a, int64_t i, int64_t k)
{
  int64_t first, end, j = a->t.col[k];
  isai_matrix_range(a, i, &first, &end);
  int64_t at = poiseCsrOffset(&a->to, i) + k - first;
  if (a->col) a->col[at] = (int32_t)j;
  a->val[at] = (j == i ? 1 : -a->v[k]) * (a->upper ? 1 : a->d[i]);
}

#endif

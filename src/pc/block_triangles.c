/* SPDX-License-Identifier: BSD-3-Clause */
/* The host kernels sweep and factor for rows of blocks. Each block size is compiled by itself. */
#include "mat/object/mat.h"
#include "mat/product/bcsr_host.h"
#include "block_inverse.h"
#include "jacobi_sweeps_kernels.h"
#include "triangles_host.h"

/* ---- sweeps ---------------------------------------------------------------------------------- */

enum { SOON = 4096 }; /* bytes */

/* ahead: distance, in blocks, to those that will be worked on soon. */
POISE_INLINE void AddBlocks(int b, const SweepArgs *a, int64_t k, int64_t end, int64_t ahead, double *sum)
{
  for (; k < end; k++)
    poiseAddBlock(b, a->val + k * b * b, ahead * b * b, a->y + (int64_t)a->t.col[k] * b, sum);
}

/* Traffic: 8 b^2 + 4 bytes per block, and x, y, offsets and d once. next: the row whose blocks are
   prefetched. The hardware does not predict them, as a sweep skips one triangle. */
POISE_INLINE void SweepRow(int b, const SweepArgs *a, int64_t i, int64_t next)
{
  const Triangles *t = &a->t;
  double sum[MAX_BLOCK_SIZE] = {0}, rest[MAX_BLOCK_SIZE]; /* sum: holds all terms if the block is small */
  double *y = a->y + i * b;
  int64_t diag = poiseOffset(t, t->diag, i);
  int64_t soon = poiseOffset(t, t->diag, next), ahead = soon - diag;
  __builtin_prefetch(t->col + soon);
  if (a->parts & SWEEP_LOWER) AddBlocks(b, a, poiseOffset(t, t->begin, i), diag, ahead, sum);
  if (a->parts & SWEEP_UPPER) AddBlocks(b, a, diag + 1, poiseOffset(t, t->end, i), ahead, sum);
  for (int r = 0; r < b; r++) rest[r] = (a->x ? a->x[i * b + r] : 0) - poiseBlockSum(b, sum, r);
  if (a->d) {
    double product[MAX_BLOCK_SIZE] = {0};
    poiseAddBlock(b, a->d + i * b * b, (next - i) * b * b, rest, product);
    for (int r = 0; r < b; r++) rest[r] = poiseBlockSum(b, product, r);
  }
  for (int r = 0; r < b; r++) y[r] = a->keep == 0 ? a->scale * rest[r] : a->keep * y[r] + a->scale * rest[r];
}

POISE_INLINE void SweepRows(int b, const void *args, int64_t begin, int64_t end)
{
  /* a local copy, so that stores to y cannot change it */
  const SweepArgs local = *(const SweepArgs *)args, *a = &local;
  /* bytes of a row of one triangle; rows to look ahead */
  int64_t row = 8 * b * b * a->t.nz / (2 * a->t.n), ahead = 1 + SOON / (row + 1);
  if (a->backward)
    for (int64_t i = end - 1; i >= begin; i--) SweepRow(b, a, i, i - ahead < begin ? begin : i - ahead);
  else
    for (int64_t i = begin; i < end; i++) SweepRow(b, a, i, i + ahead < end ? i + ahead : end - 1);
}

/* Rows of a Jacobi sweep, in their order: the hardware foresees what is read, but where a triangle ends. */
POISE_INLINE void JacobiRows(int b, const void *args, int64_t begin, int64_t end)
{
  const JacobiSweepArgs local = *(const JacobiSweepArgs *)args, *a = &local;
  const Triangles *t = &a->t;
  for (int64_t i = begin; i < end; i++) {
    double sum[MAX_BLOCK_SIZE] = {0};
    int64_t k = a->upper ? poiseOffset(t, t->diag, i) + 1 : poiseOffset(t, t->begin, i),
            last = poiseOffset(t, a->upper ? t->end : t->diag, i);
    for (; k < last; k++) poiseAddBlock(b, a->val + k * b * b, 0, a->from + (int64_t)t->col[k] * b, sum);
    for (int r = 0; r < b; r++) a->y[i * b + r] = a->x[i * b + r] - poiseBlockSum(b, sum, r);
  }
}

/* ---- factors --------------------------------------------------------------------------------- */

/* z -= x y */
POISE_INLINE void SubtractProduct(int b, const double *restrict x, const double *restrict y,
                                  double *restrict z)
{
  for (int c = 0; c < b; c++)
    for (int k = 0; k < b; k++)
      for (int r = 0; r < b; r++) z[c * b + r] -= x[k * b + r] * y[c * b + k];
}

/* Row i -= l times the upper triangle of row c, at the blocks [k, end) of row i. */
POISE_INLINE void SubtractRow(int b, const FactorArgs *a, const double *l, int64_t c, int64_t k, int64_t end)
{
  const int32_t *col = a->t.col;
  int64_t u = poiseOffset(&a->t, a->t.diag, c) + 1, last = poiseOffset(&a->t, a->t.end, c);
  while (k < end && u < last) {
    if (col[k] == col[u]) {
      SubtractProduct(b, l, a->lu + u * b * b, a->lu + k * b * b);
      k++, u++;
    } else if (col[k] < col[u]) {
      k = poiseSeek(col, k + 1, end, col[u]);
    } else {
      u = poiseSeek(col, u + 1, last, col[k]);
    }
  }
}

/* v = v d */
POISE_INLINE void MultiplyByPivot(int b, double *v, const double *d)
{
  double minus[MAX_BLOCK_SIZE * MAX_BLOCK_SIZE];
  for (int k = 0; k < b * b; k++) minus[k] = -v[k], v[k] = 0;
  SubtractProduct(b, minus, d, v);
}

/* Copy the upper triangle of a block to its lower one, as of a symmetric block. */
static void MirrorWithin(double *v, int b)
{
  for (int c = 0; c < b; c++)
    for (int r = c + 1; r < b; r++) v[c * b + r] = v[r * b + c];
}

/* Copy the blocks [k, end) of row i to their mirrors, in L of the later rows. */
static void Mirror(const FactorArgs *a, int b, int64_t i, int64_t k, int64_t end)
{
  const Triangles *t = &a->t;
  for (; k < end; k++) {
    int64_t j = t->col[k];
    int64_t to = poiseSeek(t->col, poiseOffset(t, t->begin, j), poiseOffset(t, t->diag, j), (int32_t)i);
    for (int c = 0; c < b; c++)
      for (int r = 0; r < b; r++) a->lu[(to * b + r) * b + c] = a->lu[(k * b + c) * b + r];
  }
}

/* Compute d of row i, whose blocks [own, end) are not mirrored ones. */
static void InvertPivot(const FactorArgs *a, int b, int64_t i, int64_t own, int64_t diag, int64_t end)
{
  double *pivot = a->lu + diag * b * b, *d = a->d + i * b * b, rest = 0, refused = 0;
  if (a->symmetric) MirrorWithin(pivot, b);
  for (int r = 0; r < b; r++) rest = poiseLarger(rest, poiseSizesBeside(b, a->lu, own, end, diag, r, 0));
  memcpy(d, pivot, (size_t)(b * b) * sizeof *d);
  int step = poiseInvertPivots(a, rest, d, b, &refused);
  if (a->symmetric) MirrorWithin(d, b);
  if (step < b) d[0] = NAN, d[1] = step, d[2] = refused;
}

POISE_INLINE void FactorRow(int b, const FactorArgs *a, int64_t i)
{
  const Triangles *t = &a->t;
  int64_t begin = poiseOffset(t, t->begin, i), diag = poiseOffset(t, t->diag, i),
          end = poiseOffset(t, t->end, i);
  /* the blocks left of it were mirrored from the rows above */
  int64_t own = a->symmetric ? diag : begin, size = (int64_t)b * b;
  memcpy(a->lu + own * size, a->a + own * size, (size_t)((end - own) * size) * sizeof(double));
  for (int r = 0; r < b; r++) a->lu[diag * size + r * b + r] += a->shift;
  for (int64_t k = begin; k < diag; k++) {
    MultiplyByPivot(b, a->lu + k * size, a->d + t->col[k] * size);
    SubtractRow(b, a, a->lu + k * size, t->col[k], a->symmetric ? diag : k + 1, end);
  }
  InvertPivot(a, b, i, own, diag, end);
  if (a->symmetric) Mirror(a, b, i, diag + 1, end);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

#define ROWS(b)                                                           \
  static void SweepRows##b(const void *args, int64_t begin, int64_t end)  \
  {                                                                       \
    SweepRows(b, args, begin, end);                                       \
  }                                                                       \
  static void JacobiRows##b(const void *args, int64_t begin, int64_t end) \
  {                                                                       \
    JacobiRows(b, args, begin, end);                                      \
  }                                                                       \
  static void FactorRows##b(const void *args, int64_t begin, int64_t end) \
  {                                                                       \
    for (int64_t i = begin; i < end; i++) FactorRow(b, args, i);          \
  }
POISE_BLOCK_SIZES(ROWS)

HostRows *poiseHostSweepBlocks(int b)
{
#define NAME(b) SweepRows##b,
  static HostRows *const rows[MAX_BLOCK_SIZE + 1] = {NULL, POISE_BLOCK_SIZES(NAME)};
#undef NAME
  return rows[b];
}

HostRows *poiseHostJacobiBlocks(int b)
{
#define NAME(b) JacobiRows##b,
  static HostRows *const rows[MAX_BLOCK_SIZE + 1] = {NULL, POISE_BLOCK_SIZES(NAME)};
#undef NAME
  return rows[b];
}

HostRows *poiseHostFactorBlocks(int b)
{
#define NAME(b) FactorRows##b,
  static HostRows *const rows[MAX_BLOCK_SIZE + 1] = {NULL, POISE_BLOCK_SIZES(NAME)};
#undef NAME
  return rows[b];
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Products with dense b x b blocks, column-major, whose size is known at compile time, for the host
   kernels. */
#ifndef POISE_BCSR_HOST_H
#define POISE_BCSR_HOST_H

#include "sys/device/kernels.h"

#ifndef SCALAR /* of blocks and vectors: fp64, or fp32 in csr_f32.c */
#define SCALAR double
#endif

enum {
  POISE_STRIP = 8,      /* rows of a block in registers at once */
  POISE_FEW = 4,        /* columns of a block at once */
  POISE_VECTOR = 4,     /* rows of one vector instruction */
  POISE_SMALL_BLOCK = 4 /* size of blocks whose terms are all in registers */
};

/* sum += n rows of `columns` columns of a block, from v on, times x. */
POISE_INLINE void poiseAddStrip(int b, int n, int columns, const SCALAR *v, const SCALAR *x, double *sum)
{
  double s[POISE_STRIP];
  for (int r = 0; r < n; r++) s[r] = sum[r];
  for (int c = 0; c < columns; c++)
    for (int r = 0; r < n; r++) s[r] += (double)v[c * b + r] * x[c];
  for (int r = 0; r < n; r++) sum[r] = s[r];
}

/* Rows of the last strip of a large block. It overlaps the strip before, as narrow strips take as long as
   whole vectors. */
POISE_INLINE int poiseLastStrip(int b)
{
  return (b % POISE_STRIP + POISE_VECTOR - 1) / POISE_VECTOR * POISE_VECTOR;
}

/* Columns of a large block are taken a few at a time, so that scalars are read in their order. */
POISE_INLINE void poiseAddColumns(int b, int columns, const SCALAR *v, const SCALAR *x, double *sum)
{
  int first = 0, last = poiseLastStrip(b);
  for (; first + POISE_STRIP <= b; first += POISE_STRIP)
    poiseAddStrip(b, POISE_STRIP, columns, v + first, x, sum + first);
  poiseAddStrip(b, last, columns, v + b - last, x, sum + first);
}

/* Prefetch `numbers` scalars from v + distance on. */
POISE_INLINE void poiseAhead(const SCALAR *v, int64_t distance, int numbers)
{
  enum { LINE = 64 / sizeof(SCALAR) };
  for (int at = 0; at < numbers; at += LINE)
    __builtin_prefetch((const void *)((uintptr_t)v + sizeof(SCALAR) * (uintptr_t)(distance + at)));
}

/* sum += the block v times x; b is a constant where this is inlined. Terms of small blocks are kept apart
   in sum[c b + r], so that no addition waits for the one before. ahead: distance in scalars to those that
   will be read soon. */
POISE_INLINE void poiseAddBlock(int b, const SCALAR *v, int64_t ahead, const SCALAR *x, double *sum)
{
  if (b < POISE_STRIP) poiseAhead(v, ahead, b * b);
  if (b <= POISE_SMALL_BLOCK) {
    for (int c = 0; c < b; c++)
      for (int r = 0; r < b; r++) sum[c * b + r] += (double)v[c * b + r] * x[c];
  } else if (b < POISE_STRIP) {
    poiseAddStrip(b, b, b, v, x, sum);
  } else {
    for (int c = 0; c < b; c += POISE_FEW) {
      int columns = b - c < POISE_FEW ? b - c : POISE_FEW;
      poiseAhead(v + c * b, ahead, columns * b);
      poiseAddColumns(b, columns, v + c * b, x + c, sum);
    }
  }
}

/* Row r of such sums. */
POISE_INLINE double poiseBlockSum(int b, const double *sum, int r)
{
  if (b > POISE_STRIP && r >= b / POISE_STRIP * POISE_STRIP)
    return sum[b / POISE_STRIP * POISE_STRIP + r - (b - poiseLastStrip(b))];
  double s = sum[r];
  for (int c = 1; b <= POISE_SMALL_BLOCK && c < b; c++) s += sum[c * b + r];
  return s;
}

/* Each size compiled by itself: 1 to MAX_BLOCK_SIZE. */
#define POISE_TO_8(X)        X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)
#define POISE_TO_16(X)       X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16)
#define POISE_TO_24(X)       X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24)
#define POISE_TO_32(X)       X(25) X(26) X(27) X(28) X(29) X(30) X(31) X(32)
#define POISE_BLOCK_SIZES(X) POISE_TO_8(X) POISE_TO_16(X) POISE_TO_24(X) POISE_TO_32(X)

#endif

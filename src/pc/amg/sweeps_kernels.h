/* SPDX-License-Identifier: BSD-3-Clause */
/* D^-1 of smoothing by sweeps (sweeps.c). */
#ifndef POISE_AMG_SWEEPS_KERNELS_H
#define POISE_AMG_SWEEPS_KERNELS_H

#include "diagonal_kernels.h"

typedef struct AmgSweepDiagonalArgs {
  int64_t n; /* rows, or rows of blocks, of A */
  CsrView A;
  const double *inverse; /* D^-1 of nodes, of `node` rows each: a row that is 0 in it takes no part */
  int node;
  double *d, *blocks; /* [n][b][b], column-major: inverses of blocks; and these, or NULL */
} AmgSweepDiagonalArgs;

POISE_INLINE uint32_t poiseAmgTakesPart(const AmgSweepDiagonalArgs *a, int64_t row)
{
  int64_t node = a->node, first = (row - row % node) * node;
  uint32_t any = 0;
  for (int64_t j = 0; j < node; j++) any |= a->inverse[first + j * node + row % node] != 0;
  return any;
}

/* The diagonal block of row i of blocks of b, and half of what each row has in columns of other ranks, with
   the sign of its diagonal entry. Rows that take part, a bit for each. */
POISE_INLINE uint32_t poiseAmgSweepBlock(const AmgSweepDiagonalArgs *a, int64_t i, int b, double *d)
{
  uint32_t rows = 0;
  for (int e = 0; e < b * b; e++) d[e] = 0;
  for (int64_t k = poiseCsrOffset(&a->A, i), end = poiseCsrOffset(&a->A, i + 1); k < end; k++)
    for (int e = 0; a->A.col[k] == i && e < b * b; e++) d[e] = a->A.val[k * b * b + e];
  for (int q = 0; q < b; q++) {
    double others = 0;
    rows |= poiseAmgTakesPart(a, i * b + q) << q;
    for (int64_t k = poiseCsrOffset(&a->A, i), end = poiseCsrOffset(&a->A, i + 1); k < end; k++)
      for (int c = 0; a->A.col[k] >= a->A.nloc && c < b; c++) others += fabs(a->A.val[(k * b + c) * b + q]);
    d[q * b + q] += copysign(0.5 * others, d[q * b + q]);
  }
  return rows;
}

/* Of a singular block the diagonal is taken. Traffic: A's rows, and the blocks. */
POISE_INLINE void amg_sweep_diagonal_item(const AmgSweepDiagonalArgs *a, int64_t i)
{
  int b = a->A.b ? (int)a->A.b : 1;
  double *d = a->d + i * b * b, *block = a->blocks ? a->blocks + i * b * b : NULL;
  uint32_t rows = poiseAmgSweepBlock(a, i, b, d);
  for (int e = 0; block && e < b * b; e++) block[e] = d[e];
  if (poiseAmgInvert(d, b, rows)) return;
  poiseAmgSweepBlock(a, i, b, d);
  for (int e = 0; e < b * b; e++) {
    if (e % (b + 1) != 0 || !(rows >> e / (b + 1) & 1)) d[e] = 0;
    if (block) block[e] = d[e];
    if (d[e] != 0) d[e] = 1 / d[e];
  }
}

#endif

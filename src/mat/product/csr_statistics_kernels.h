/* SPDX-License-Identifier: BSD-3-Clause */
/* What is asked of a pattern before a product is chosen: lengths of rows, spread of columns. */
#ifndef POISE_CSR_STATISTICS_KERNELS_H
#define POISE_CSR_STATISTICS_KERNELS_H

#include "mat/csr/csr_view.h"

enum { POISE_TILES = 7 };

typedef struct CsrStatistics { /* what a product is chosen by */
  int64_t m, nz;
  /* most nonzeros in 256 >> k consecutive rows that start at a multiple of that number */
  int64_t tile[POISE_TILES];
  int64_t length_changes; /* rows of another length than the one before */
  /* nonzeros of rows of `limit` entries or more, which count in tiles, longest, above and squares as if they
     were empty; */
  int64_t cut;
  int64_t fragments;         /* of up to 2 limit entries that these have */
  int64_t empty, longest;    /* rows without entries; entries of the longest row */
  int64_t bound, rows_above; /* rows of more than `bound` entries */
  int64_t squares; /* sum of the squares of the rows' lengths (below 2^63: nz times longest is more) */
  /* most nonzeros in `share` consecutive rows that start at a multiple of that number */
  int64_t max_share_nnz;
  /* lines of POISE_LINE numbers of x for 100 neighbouring entries, of POISE_SAMPLE and of POISE_GATHER; 0:
     not asked for */
  int64_t x_lines, gather_lines;
} CsrStatistics;

/* All of *out, which was 0, but m, nz, bound and spread; of A only the offsets are looked at. limit, share,
   bound 0: none. */
typedef struct CsrStatisticsArgs {
  CsrView A;
  int64_t limit, share, bound;
  CsrStatistics *out;
} CsrStatisticsArgs;

/* Nonzeros of share s of the rows. */
POISE_INLINE int64_t poiseCsrShare(const CsrStatisticsArgs *a, int64_t s)
{
  int64_t first = s * a->share, end = first + a->share < a->A.m ? first + a->share : a->A.m;
  return poiseCsrOffset(&a->A, end) - poiseCsrOffset(&a->A, first);
}

/* Fragments of up to twice the limit that a row of `length` entries has, or 0. */
POISE_INLINE int64_t poiseCsrFragments(const CsrStatisticsArgs *a, int64_t length)
{
  return a->limit && length >= a->limit ? (length - 1) / (2 * a->limit) + 1 : 0;
}

/* Nonzeros of the rows [i, end) that are shorter than a limit. */
POISE_INLINE int64_t poiseCsrTile(const CsrStatisticsArgs *a, int64_t i, int64_t end)
{
  int64_t n = poiseCsrOffset(&a->A, end) - poiseCsrOffset(&a->A, i);
  for (; a->limit && n >= a->limit && i < end; i++) {
    int64_t length = poiseCsrOffset(&a->A, i + 1) - poiseCsrOffset(&a->A, i);
    if (length >= a->limit) n -= length;
  }
  return n;
}

/* *lines += the lines of POISE_LINE numbers of x that the entries of each of POISE_SAMPLES samples have
   columns in; *gathers += the same of each POISE_GATHER entries of a sample, as a warp gathers them at once.
   There are POISE_SAMPLE entries or more, of which a sample is that many neighbours; of A only the columns
   are looked at. */
enum { POISE_LINE = 16, POISE_GATHER = 32, POISE_SAMPLE = 1024, POISE_SAMPLES = 256 };
typedef struct CsrSpreadArgs {
  CsrView A;
  int64_t *lines, *gathers;
} CsrSpreadArgs;

/* The first entry of sample s. */
POISE_INLINE int64_t poiseSampleStart(const CsrView *A, int64_t s)
{
  return (A->nz - POISE_SAMPLE) / (POISE_SAMPLES - 1) * s;
}

#endif

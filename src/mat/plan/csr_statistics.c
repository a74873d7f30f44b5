/* SPDX-License-Identifier: BSD-3-Clause */
/* Host kernels that look at a pattern before a product is chosen. Threads divide blocks of POISE_BLOCK
   rows. */
#include "csr_statistics_kernels.h"
#include "mat/mat.h"
#include "sys/device/host_loop.h"

/* 4 bytes per row, or 8. */
PoiseErr poiseHost_csr_statistics(Device *dev, const void *args)
{
  const CsrStatisticsArgs *a = args;
  const CsrView *A = &a->A;
  int64_t nblock = POISE_NBLOCKS(A->m);
  (void)dev;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t b = 0; b < nblock; b++) {
    int64_t first = b * POISE_BLOCK, end = poiseBlockEnd(b, A->m), cut = 0, fragments = 0,
            tile[POISE_TILES] = {0};
    int64_t length_changes = 0, empty = 0, longest = 0, squares = 0, rows_above = 0;
    for (int64_t i = first; i < end; i++) {
      int64_t length = poiseCsrOffset(A, i + 1) - poiseCsrOffset(A, i);
      length_changes += !i || length != poiseCsrOffset(A, i) - poiseCsrOffset(A, i - 1);
      empty += !length;
      fragments += poiseCsrFragments(a, length);
      if (a->limit && length >= a->limit) {
        cut += length;
        continue;
      }
      squares += length * length;
      if (length > longest) longest = length;
      rows_above += a->bound && length > a->bound;
    }
    for (int k = 0; k < POISE_TILES; k++)
      for (int64_t rows = 256 >> k, i = first; i < end; i += rows) {
        int64_t n = poiseCsrTile(a, i, i + rows < end ? i + rows : end);
        if (n > tile[k]) tile[k] = n;
      }
    HOST_CRITICAL
    {
      a->out->length_changes += length_changes;
      a->out->cut += cut;
      a->out->fragments += fragments;
      a->out->empty += empty;
      a->out->squares += squares;
      a->out->rows_above += rows_above;
      if (longest > a->out->longest) a->out->longest = longest;
      for (int k = 0; k < POISE_TILES; k++)
        if (tile[k] > a->out->tile[k]) a->out->tile[k] = tile[k];
    }
  }
  for (int64_t s = 0; a->share && s * a->share < A->m; s++)
    if (poiseCsrShare(a, s) > a->out->max_share_nnz) a->out->max_share_nnz = poiseCsrShare(a, s);
  return POISE_OK;
}

/* The number of lines of x in which a sample has columns. */
static int64_t LinesOf(const int32_t *col)
{
  enum { ROOM = 2 * POISE_SAMPLE };
  int32_t set[ROOM];
  int64_t n = 0;
  for (int k = 0; k < ROOM; k++) set[k] = -1;
  for (int k = 0; k < POISE_SAMPLE; k++) {
    int32_t line = col[k] / POISE_LINE;
    uint32_t at = (poiseHash32(line) >> 16) % ROOM;
    while (set[at] != line && set[at] >= 0) at = (at + 1) % ROOM;
    n += set[at] < 0;
    set[at] = line;
  }
  return n;
}

PoiseErr poiseHost_csr_x_lines(Device *dev, const void *args)
{
  const CsrSpreadArgs *a = args;
  int64_t lines = 0;
  (void)dev;
  for (int64_t s = 0; s < POISE_SAMPLES; s++) lines += LinesOf(a->A.col + poiseSampleStart(&a->A, s));
  *a->lines += lines;
  return POISE_OK;
}

/* Traffic: 4 bytes per row (or 8), and 4 per nonzero. */
PoiseErr poiseHost_csr_hash(Device *dev, const void *args)
{
  const CsrHashArgs *a = args;
  int64_t n = a->A.nz > a->A.m ? a->A.nz : a->A.m + 1, nblock = POISE_NBLOCKS(n);
  (void)dev;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t b = 0; b < nblock; b++) {
    uint64_t h = 0;
    for (int64_t k = b * POISE_BLOCK; k < poiseBlockEnd(b, n); k++) h += poiseCsrHashAt(&a->A, k);
    HOST_CRITICAL
    *a->hash += h;
  }
  return POISE_OK;
}

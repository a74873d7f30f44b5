/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrices in Matrix Market files. */
#include <stdio.h>

#include "mm.h"
#include "mat/csr/replace.h"
#include "mat/csr/entries.h"
#include "load.h"
#include "mat/storage/blocks.h"

/* ---- reading --------------------------------------------------------------------------------- */

/* Convert the keys to columns in place. */
static PoiseErr TakeRows(PoiseContext ctx, MMRows *rows, int64_t m, RowArrays *r)
{
  const PoiseInt mask = ((PoiseInt)1 << rows->bits) - 1;
  int64_t k = 0;
  *r = (RowArrays){.col = rows->key, .val = rows->val};
  rows->key = NULL;
  rows->val = NULL;
  TRY(poiseAllocArray(ctx, m + 1, sizeof(int64_t), "row offsets", &r->ptr));
  for (int64_t i = 0; i < m; i++) {
    for (; k < rows->n && r->col[k] >> rows->bits == i; k++) r->col[k] &= mask;
    r->ptr[i + 1] = k;
  }
  return POISE_OK;
}

static PoiseErr LoadRows(MMReader *reader, Layout *layout, int64_t b, int64_t unit, PoiseMat *A)
{
  PoiseContext ctx = reader->ctx;
  PoiseInt N = reader->header.N;
  MMRows rows;
  RowArrays r;
  TRY(poiseMMRows(reader, layout, false, &rows));
  poiseMMClose(reader);
  PoiseErr e = PoiseMatCreate(ctx, layout->n, poiseMatLoadShare(ctx, unit, N), layout->N, N, A);
  if (!e) e = PoiseMatSetBlockSize(*A, (int)b);
  if (!e) e = poiseMatReplace(*A, TakeRows(ctx, &rows, layout->n, &r), &r);
  poiseMMRowsDestroy(ctx, &rows);
  return e;
}

/* e: the error of opening the reader. Closes the reader. */
static PoiseErr LoadReader(PoiseErr e, MMReader *reader, PoiseMat *A)
{
  PoiseContext ctx = reader->ctx;
  PoiseInt M = reader->header.M;
  Layout *layout = NULL;
  int64_t b = 1, unit = 1;
  *A = NULL;
  if (!e) e = PoiseAgree(ctx, poiseMatLoadBlockSize(ctx, M, reader->header.N, &b, &unit));
  if (!e) /* refuses more rows than a matrix may have */
    e = poiseLayoutCreate(ctx, poiseMatLoadShare(ctx, unit, M), M, reader->source.name, &layout);
  if (!e) e = LoadRows(reader, layout, b, unit, A);
  poiseMMClose(reader);
  poiseLayoutDestroy(&layout);
  if (e) PoiseMatDestroy(A);
  return e;
}

PoiseErr poiseMatLoadMMBlocks(PoiseContext ctx, const char *path, int64_t block, PoiseMat *A)
{
  MMReader reader;
  PoiseErr e = poiseMMOpen(ctx, path, block, &reader);
  return LoadReader(e, &reader, A);
}

PoiseErr poiseMatLoadMM(PoiseContext ctx, const char *path, PoiseMat *A)
{
  return poiseMatLoadMMBlocks(ctx, path, 0, A);
}

PoiseErr poiseMatLoadMMSource(PoiseContext ctx, const struct MMSource *source, int64_t block, PoiseMat *A)
{
  MMReader reader;
  PoiseErr e = poiseMMOpenSource(ctx, source, block, &reader);
  return LoadReader(e, &reader, A);
}

/* ---- writing --------------------------------------------------------------------------------- */

static PoiseErr NextEntry(void *from, char *text, int *length)
{
  ScalarWalk *w = from;
  PoiseInt column;
  double v = poiseWalkOn(w, &column);
  long long row = w->A->rows->begin + w->i + 1, col = column + 1;
  if (!isfinite(v))
    FAIL(POISE_ERR_NUMERIC, "entry (%lld, %lld) is %g, which a Matrix Market file cannot hold", row, col, v);
  *length = snprintf(text, MM_LINE, "%lld %lld ", row, col);
  *length += poiseFormatReal(v, text + *length);
  text[(*length)++] = '\n';
  return POISE_OK;
}

PoiseErr poiseMatSaveMM(PoiseMat A, const char *path)
{
  char header[128];
  ScalarWalk walk;
  PoiseInt nz = 0;
  PoiseErr e = PoiseAgree(A->ctx, poiseWalkBegin(A, &walk));
  if (!e) e = PoiseMatNonzeros(A, &nz);
  snprintf(header, sizeof header, "%%%%MatrixMarket matrix coordinate real general\n%lld %lld %lld\n",
           (long long)A->rows->N, (long long)A->cols->N, (long long)nz);
  if (!e)
    e = poiseMMWrite(A->ctx, POISE_OK, path, header, &(MMLines){poiseCsrScalars(&A->csr), NextEntry, &walk});
  return e;
}

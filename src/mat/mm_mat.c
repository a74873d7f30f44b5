/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrices in Matrix Market files: rank 0 reads and sorts the entries by rows, and deals the rows out. */
#include <stdio.h>

#include "../vec/mm.h"
#include "mat.h"

/* ---- reading -------------------------------------------------------------------------------------------------------- */

/* An array gives every entry; a sparse matrix stores those that are not zero. */
static void DropZeros(Stash *s)
{
  int64_t n = 0;
  for (int64_t k = 0; k < s->n; k++)
    if (s->entry[k].value != 0) s->entry[n++] = s->entry[k];
  s->n = n;
}

typedef struct Deal {
  MMFile file;          /* on rank 0 */
  MMRows all, mine;     /* all: on rank 0 */
  int64_t *first_entry; /* on rank 0: of each rank */
  Layout *layout;
} Deal;

/* The rows of all ranks, with their lengths instead of offsets. */
static PoiseErr Prepare(PoiseContext ctx, const char *path, Deal *d)
{
  int size = PoiseSize(ctx);
  if (d->file.array) DropZeros(&d->file.entries);
  TRY(poiseMMRows(ctx, path, &d->file, &d->all));
  poiseMMFileDestroy(ctx, &d->file);
  TRY(poiseAllocArray(ctx, size + 1, sizeof(int64_t), "first entries", &d->first_entry));
  for (int r = 0; r <= size; r++) d->first_entry[r] = d->all.ptr[d->layout->start[r]];
  for (PoiseInt i = 0; i < d->all.M; i++) d->all.ptr[i] = d->all.ptr[i + 1] - d->all.ptr[i];
  return POISE_OK;
}

static PoiseErr DealRows(PoiseContext ctx, Deal *d)
{
  const Layout *layout = d->layout;
  MMRows *mine = &d->mine;
  PoiseInt m = layout->n;
  TRY(PoiseAgree(ctx, poiseAllocArray(ctx, m + 1, sizeof(int64_t), "row offsets", &mine->ptr)));
  TRY(poiseMMDeal(ctx, d->all.ptr, layout->start, sizeof(int64_t), mine->ptr + 1, m));
  for (PoiseInt i = 0; i < m; i++) mine->ptr[i + 1] += mine->ptr[i];
  PoiseErr e = poiseAllocArray(ctx, mine->ptr[m], sizeof(PoiseInt), "columns", &mine->col);
  if (!e) e = poiseAllocArray(ctx, mine->ptr[m], sizeof(double), "values", &mine->val);
  TRY(PoiseAgree(ctx, e));
  TRY(poiseMMDeal(ctx, d->all.col, d->first_entry, sizeof(PoiseInt), mine->col, mine->ptr[m]));
  return poiseMMDeal(ctx, d->all.val, d->first_entry, sizeof(double), mine->val, mine->ptr[m]);
}

static PoiseErr Load(PoiseContext ctx, const char *path, Deal *d, PoiseInt sizes[2])
{
  bool reads = PoiseRank(ctx) == 0;
  TRY(PoiseAgree(ctx, reads ? poiseMMRead(ctx, path, &d->file) : POISE_OK));
  sizes[0] = d->file.M, sizes[1] = d->file.N;
  PoiseErr e = ctx->comm->ops->bcast(ctx->comm, sizes, 2 * sizeof *sizes, 0);
  TRY(PoiseAgree(ctx, e));
  TRY(poiseLayoutCreate(ctx, POISE_DECIDE, sizes[0], path, &d->layout)); /* refuses more rows than a matrix may have */
  TRY(PoiseAgree(ctx, reads ? Prepare(ctx, path, d) : POISE_OK));
  return DealRows(ctx, d);
}

PoiseErr poiseMatLoadMM(PoiseContext ctx, const char *path, PoiseMat *A)
{
  Deal d = {0};
  PoiseInt sizes[2];
  *A = NULL;
  PoiseErr e = Load(ctx, path, &d, sizes);
  poiseMMFileDestroy(ctx, &d.file);
  poiseMMRowsDestroy(ctx, &d.all);
  poiseFree(ctx, &d.first_entry);
  poiseLayoutDestroy(&d.layout);
  if (!e) {
    PoiseCSR csr = {.ptr64 = d.mine.ptr, .col64 = d.mine.col, .val = d.mine.val};
    e = PoiseMatCreateCSR(ctx, POISE_DECIDE, POISE_DECIDE, sizes[0], sizes[1], &csr, POISE_COPY, A);
  }
  poiseMMRowsDestroy(ctx, &d.mine);
  return e;
}

/* ---- writing -------------------------------------------------------------------------------------------------------- */

typedef struct Cursor {
  PoiseMat A;
  const void *ptr;
  const int32_t *col;
  const double *val;
  int64_t i, k; /* local row and entry */
} Cursor;

static PoiseErr Open(PoiseMat A, Cursor *c)
{
  *c = (Cursor){.A = A};
  TRY(poiseMatCheckUsable(A));
  if (!A->type->stored) FAIL(POISE_ERR_UNSUPPORTED, "a matrix of type %s has no entries to save", A->type->name);
  TRY(poiseBufferRead(&A->csr.ptr, HOST, &c->ptr));
  TRY(poiseBufferRead(&A->csr.col, HOST, &c->col));
  return poiseBufferRead(&A->csr.val, HOST, &c->val);
}

static PoiseErr NextEntry(void *from, char *text, int *length)
{
  Cursor *c = from;
  while (poiseCsrPtr(&c->A->csr, c->ptr, c->i + 1) == c->k) c->i++;
  long long row = c->A->rows->begin + c->i + 1, col = poiseCsrGlobal(c->A, c->col[c->k]) + 1;
  double v = c->val[c->k++];
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
  Cursor cursor;
  PoiseInt nz = 0;
  PoiseErr e = PoiseAgree(A->ctx, Open(A, &cursor));
  if (!e) e = PoiseMatNonzeros(A, &nz);
  snprintf(header, sizeof header, "%%%%MatrixMarket matrix coordinate real general\n%lld %lld %lld\n",
           (long long)A->rows->N, (long long)A->cols->N, (long long)nz);
  if (!e) e = poiseMMWrite(A->ctx, POISE_OK, path, header, &(MMLines){A->csr.nz, NextEntry, &cursor});
  return e;
}

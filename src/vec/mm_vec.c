/* SPDX-License-Identifier: BSD-3-Clause */
/* Vectors in Matrix Market files. */
#include <stdio.h>

#include "mm.h"

PoiseErr poiseMMDeal(PoiseContext ctx, const void *all, const int64_t *start, size_t item, void *mine, int64_t n)
{
  int size = PoiseSize(ctx);
  int64_t *bytes; /* sent to each rank, then received from each */
  PoiseErr e = PoiseAgree(ctx, poiseAllocArray(ctx, 2 * (int64_t)size, sizeof *bytes, "counts", &bytes));
  if (!e) {
    for (int r = 0; PoiseRank(ctx) == 0 && r < size; r++) bytes[r] = (start[r + 1] - start[r]) * (int64_t)item;
    bytes[size] = n * (int64_t)item;
    e = ctx->comm->ops->alltoallv(ctx->comm, all, bytes, mine, bytes + size);
  }
  poiseFree(ctx, &bytes);
  return PoiseAgree(ctx, e);
}

/* ---- reading -------------------------------------------------------------------------------------------------------- */

/* *all = the entries of the one column. */
static PoiseErr ReadColumn(PoiseContext ctx, const char *path, const MMFile *f, double **all)
{
  MMRows rows;
  if (f->N != 1)
    FAIL(POISE_ERR_SIZE, "%s holds a %lld x %lld matrix; a vector has one column", path, (long long)f->M, (long long)f->N);
  TRY(poiseMMRows(ctx, path, f, &rows));
  PoiseErr e = poiseAllocArray(ctx, f->M, sizeof(double), "vector of a file", all);
  for (PoiseInt i = 0; !e && i < f->M; i++)
    if (rows.ptr[i + 1] > rows.ptr[i]) (*all)[i] = rows.val[rows.ptr[i]];
  poiseMMRowsDestroy(ctx, &rows);
  return e;
}

static PoiseErr ReadVector(PoiseContext ctx, const char *path, PoiseInt *M, double **all)
{
  MMFile f;
  TRY(poiseMMRead(ctx, path, &f));
  PoiseErr e = ReadColumn(ctx, path, &f, all);
  *M = f.M;
  poiseMMFileDestroy(ctx, &f);
  return e;
}

static PoiseErr DealVector(PoiseVec x, const double *all)
{
  double *mine;
  TRY(PoiseAgree(x->ctx, poiseBufferWrite(&x->data, HOST, &mine)));
  return poiseMMDeal(x->ctx, all, x->layout->start, sizeof(double), mine, x->layout->n);
}

static PoiseErr Load(PoiseContext ctx, PoiseInt n, PoiseInt N, const char *path, double **all, PoiseVec *x)
{
  PoiseInt M = 0;
  PoiseErr e = PoiseAgree(ctx, PoiseRank(ctx) == 0 ? ReadVector(ctx, path, &M, all) : POISE_OK);
  if (!e) e = ctx->comm->ops->bcast(ctx->comm, &M, sizeof M, 0);
  if (!e && N != POISE_DECIDE && N != M)
    e = PoiseErrorSet(POISE_ERR_SIZE, __func__, __FILE__, __LINE__, "%s holds %lld entries, %lld are expected", path,
                      (long long)M, (long long)N);
  TRY(PoiseAgree(ctx, e));
  TRY(PoiseVecCreate(ctx, n, M, x));
  return DealVector(*x, *all);
}

PoiseErr poiseVecLoadMM(PoiseContext ctx, PoiseInt n, PoiseInt N, const char *path, PoiseVec *x)
{
  double *all = NULL; /* on rank 0 */
  *x = NULL;
  PoiseErr e = Load(ctx, n, N, path, &all, x);
  poiseFree(ctx, &all);
  if (e) PoiseVecDestroy(x);
  return e;
}

/* ---- writing -------------------------------------------------------------------------------------------------------- */

typedef struct Cursor {
  const Layout *layout;
  const double *entry;
  int64_t i;
} Cursor;

static PoiseErr NextEntry(void *from, char *text, int *length)
{
  Cursor *c = from;
  double v = c->entry[c->i++];
  if (!isfinite(v))
    FAIL(POISE_ERR_NUMERIC, "entry %lld is %g, which a Matrix Market file cannot hold",
         (long long)(c->layout->begin + c->i), v);
  *length = poiseFormatReal(v, text);
  text[(*length)++] = '\n';
  return POISE_OK;
}

PoiseErr poiseVecSaveMM(PoiseVec x, const char *path)
{
  char header[80];
  Cursor cursor = {.layout = x->layout};
  PoiseErr e = PoiseVecGetRead(x, &cursor.entry);
  snprintf(header, sizeof header, "%%%%MatrixMarket matrix array real general\n%lld 1\n", (long long)x->layout->N);
  return poiseMMWrite(x->ctx, e, path, header, &(MMLines){x->layout->n, NextEntry, &cursor});
}

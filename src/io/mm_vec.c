/* SPDX-License-Identifier: BSD-3-Clause */
/* Vectors in Matrix Market files. */
#include <stdio.h>

#include "mm.h"

/* ---- reading --------------------------------------------------------------------------------- */

static PoiseErr CheckSizes(const MMReader *r, PoiseInt N)
{
  const MMHeader *h = &r->header;
  if (h->N != 1)
    FAIL(POISE_ERR_SIZE, "%s holds a %lld x %lld matrix; a vector has one column", r->source.name,
         (long long)h->M, (long long)h->N);
  if (N != POISE_DECIDE && N != h->M)
    FAIL(POISE_ERR_SIZE, "%s holds %lld entries, %lld are expected", r->source.name, (long long)h->M,
         (long long)N);
  return POISE_OK;
}

static PoiseErr Place(PoiseVec x, const MMRows *rows)
{
  double *v;
  TRY(poiseBufferUpdate(&x->data, HOST, &v));
  /* a key is a row: there is one column */
  for (int64_t k = 0; k < rows->n; k++) v[rows->key[k]] = rows->val[k];
  return POISE_OK;
}

static PoiseErr Load(PoiseContext ctx, PoiseInt n, PoiseInt N, const char *path, MMReader *r, PoiseVec *x)
{
  MMRows rows;
  TRY(poiseMMOpen(ctx, path, 0, r));
  TRY(PoiseAgree(ctx, CheckSizes(r, N)));
  TRY(PoiseVecCreate(ctx, n, r->header.M, x));
  TRY(poiseMMRows(r, (*x)->layout, true, &rows));
  PoiseErr e = PoiseAgree(ctx, Place(*x, &rows));
  poiseMMRowsDestroy(ctx, &rows);
  return e;
}

PoiseErr poiseVecLoadMM(PoiseContext ctx, PoiseInt n, PoiseInt N, const char *path, PoiseVec *x)
{
  MMReader r;
  *x = NULL;
  PoiseErr e = Load(ctx, n, N, path, &r, x);
  poiseMMClose(&r);
  if (e) PoiseVecDestroy(x);
  return e;
}

/* ---- writing --------------------------------------------------------------------------------- */

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
  snprintf(header, sizeof header, "%%%%MatrixMarket matrix array real general\n%lld 1\n",
           (long long)x->layout->N);
  return poiseMMWrite(x->ctx, e, path, header, &(MMLines){x->layout->n, NextEntry, &cursor});
}

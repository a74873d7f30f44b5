/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Assembly: entries added or set one by one or as dense blocks. One that the pattern has changes in place; others of this
  rank's rows are collected by row (rows.c), those of other ranks' rows in a stash that travels to them. All on the host, as the
  values come from there.
*/
#include "mat.h"

PoiseErr poiseMatCheckStored(PoiseMat A)
{
  if (!A->type->stored) FAIL(POISE_ERR_UNSUPPORTED, "a matrix of type %s has no entries", A->type->name);
  return POISE_OK;
}

PoiseErr poiseMatRead(PoiseMat A, HostCsr *h)
{
  TRY(poiseMatCheckStored(A));
  TRY(poiseMatCheckUsable(A));
  TRY(poiseBufferRead(&A->csr.ptr, HOST, &h->ptr));
  TRY(poiseBufferRead(&A->csr.col, HOST, &h->col));
  return poiseBufferRead(&A->csr.val, HOST, &h->val);
}

PoiseErr poiseMatUpdate(PoiseMat A, HostCsr *h)
{
  TRY(poiseMatRead(A, h));
  return poiseBufferUpdate(&A->csr.val, HOST, &h->val);
}

/* ---- adding and setting --------------------------------------------------------------------------------------------- */

/* The assembled arrays, open for changing values also while entries are pending; none before the first Assemble. */
static PoiseErr Open(PoiseMat A, HostCsr *h)
{
  *h = (HostCsr){0};
  if (!A->assembled) return POISE_OK;
  TRY(poiseBufferRead(&A->csr.ptr, HOST, &h->ptr));
  TRY(poiseBufferRead(&A->csr.col, HOST, &h->col));
  return poiseBufferUpdate(&A->csr.val, HOST, &h->val);
}

static PoiseErr Begin(PoiseMat A, int mode, const Indices *rows, const Indices *cols, HostCsr *h)
{
  TRY(poiseMatCheckStored(A));
  TRY(poisePendingMode(&A->pending, mode, "PoiseMatAssemble"));
  TRY(poiseIndicesCheck(rows, A->rows->N, "row", "matrix"));
  TRY(poiseIndicesCheck(cols, A->cols->N, "column", "matrix"));
  TRY(Open(A, h));
  A->pending.mode = mode;
  A->changed = true;
  return POISE_OK;
}

static PoiseErr InsertEntry(PoiseMat A, const HostCsr *h, int mode, PoiseInt row, PoiseInt col, double v)
{
  PoiseInt i = row - A->rows->begin;
  if (row < 0 || col < 0) return POISE_OK;
  if (i < 0 || i >= A->rows->n) return poiseStashAdd(A->ctx, &A->stash, row, col, v);
  int64_t k = h->val ? poiseCsrFind(A, h->ptr, h->col, i, col) : -1;
  if (k < 0) return poiseRowsAdd(A->ctx, &A->added, A->rows->n, mode, i, col, v);
  h->val[k] = mode == ADDING ? h->val[k] + v : v;
  return POISE_OK;
}

static PoiseErr InsertBlock(PoiseMat A, int mode, Indices rows, Indices cols, const double *v)
{
  HostCsr h;
  TRY(Begin(A, mode, &rows, &cols, &h));
  for (PoiseInt i = 0; i < rows.n; i++) {
    PoiseInt row = poiseIndex(&rows, i);
    for (PoiseInt j = 0; j < cols.n; j++) TRY(InsertEntry(A, &h, mode, row, poiseIndex(&cols, j), v[i * cols.n + j]));
  }
  return POISE_OK;
}

static PoiseErr InsertEntries(PoiseMat A, int mode, Indices rows, Indices cols, const double *v)
{
  HostCsr h;
  TRY(Begin(A, mode, &rows, &cols, &h));
  for (PoiseInt k = 0; k < rows.n; k++) TRY(InsertEntry(A, &h, mode, rows.index[k], cols.index[k], v[k]));
  return POISE_OK;
}

PoiseErr PoiseMatAddBlock(PoiseMat A, int nr, const PoiseInt *rows, int nc, const PoiseInt *cols, const double *v)
{
  return poisePendingKeep(&A->pending, InsertBlock(A, ADDING, (Indices){nr, rows, NULL}, (Indices){nc, cols, NULL}, v));
}

PoiseErr PoiseMatSetBlock(PoiseMat A, int nr, const PoiseInt *rows, int nc, const PoiseInt *cols, const double *v)
{
  return poisePendingKeep(&A->pending, InsertBlock(A, SETTING, (Indices){nr, rows, NULL}, (Indices){nc, cols, NULL}, v));
}

PoiseErr PoiseMatAddValues(PoiseMat A, PoiseInt n, const PoiseInt *rows, const PoiseInt *cols, const double *v)
{
  return poisePendingKeep(&A->pending, InsertEntries(A, ADDING, (Indices){n, rows, NULL}, (Indices){n, cols, NULL}, v));
}

PoiseErr PoiseMatSetValues(PoiseMat A, PoiseInt n, const PoiseInt *rows, const PoiseInt *cols, const double *v)
{
  return poisePendingKeep(&A->pending, InsertEntries(A, SETTING, (Indices){n, rows, NULL}, (Indices){n, cols, NULL}, v));
}

PoiseErr PoiseMatSetLocalToGlobal(PoiseMat A, PoiseInt nr, const PoiseInt *rows, PoiseInt nc, const PoiseInt *cols)
{
  PoiseErr e = poiseMapSet(A->ctx, nr, rows, A->rows->N, "row", &A->row_map);
  if (!e) e = poiseMapSet(A->ctx, nc, cols, A->cols->N, "column", &A->col_map);
  return PoiseAgree(A->ctx, e);
}

PoiseErr PoiseMatAddBlockLocal(PoiseMat A, int nr, const PoiseInt *rows, int nc, const PoiseInt *cols, const double *v)
{
  Indices r = {nr, rows, &A->row_map}, c = {nc, cols, &A->col_map};
  return poisePendingKeep(&A->pending, InsertBlock(A, ADDING, r, c, v));
}

PoiseErr PoiseMatSetBlockLocal(PoiseMat A, int nr, const PoiseInt *rows, int nc, const PoiseInt *cols, const double *v)
{
  Indices r = {nr, rows, &A->row_map}, c = {nc, cols, &A->col_map};
  return poisePendingKeep(&A->pending, InsertBlock(A, SETTING, r, c, v));
}

void poiseMatDropPending(PoiseMat A)
{
  poiseStashDestroy(A->ctx, &A->stash);
  poiseRowsDestroy(A->ctx, &A->added);
  A->pending.mode = 0;
  A->changed = false;
}

static PoiseErr ZeroEntries(PoiseMat A)
{
  double *val;
  TRY(poiseMatCheckStored(A));
  poiseMatDropPending(A);
  A->state++;
  if (!A->assembled) return POISE_OK;
  TRY(poiseBufferWrite(&A->csr.val, HOST, &val));
  if (A->csr.nz) memset(val, 0, (size_t)A->csr.nz * sizeof(double));
  return POISE_OK;
}

static PoiseErr SetValuesCSR(PoiseMat A, const double *val)
{
  double *own;
  TRY(poiseMatCheckStored(A));
  TRY(poiseMatCheckUsable(A));
  if (!val && A->csr.nz) FAIL(POISE_ERR_ARG, "no values were given for %lld entries", (long long)A->csr.nz);
  TRY(poiseBufferWrite(&A->csr.val, HOST, &own)); /* which leaves the user's arrays as they are */
  if (A->csr.nz && own != val) memcpy(own, val, (size_t)A->csr.nz * sizeof(double));
  return POISE_OK;
}

PoiseErr PoiseMatSetValuesCSR(PoiseMat A, const double *val)
{
  TRY(PoiseAgree(A->ctx, SetValuesCSR(A, val)));
  A->state++;
  return POISE_OK;
}

PoiseErr PoiseMatZeroEntries(PoiseMat A)
{
  return PoiseAgree(A->ctx, ZeroEntries(A));
}

/* ---- a new pattern -------------------------------------------------------------------------------------------------- */

PoiseErr poiseRowArraysCreate(PoiseMat A, int64_t nz, RowArrays *r)
{
  *r = (RowArrays){0};
  TRY(poiseAllocArray(A->ctx, A->rows->n + 1, sizeof(int64_t), "row offsets", &r->ptr));
  TRY(poiseAllocArray(A->ctx, nz + 1, sizeof(PoiseInt), "columns", &r->col)); /* not NULL when there are none */
  return poiseAllocArray(A->ctx, nz, sizeof(double), "values", &r->val);
}

void poiseRowArraysDestroy(PoiseContext ctx, RowArrays *r)
{
  poiseFree(ctx, &r->ptr);
  poiseFree(ctx, &r->col);
  poiseFree(ctx, &r->val);
}

PoiseErr poiseRowArraysOf(PoiseMat A, RowArrays *r)
{
  const Csr *c = &A->csr;
  HostCsr h;
  TRY(poiseMatRead(A, &h));
  TRY(poiseRowArraysCreate(A, c->nz, r));
  for (int64_t i = 0; i <= c->m; i++) r->ptr[i] = poiseCsrPtr(c, h.ptr, i);
  for (int64_t k = 0; k < c->nz; k++) r->col[k] = poiseCsrGlobal(A, h.col[k]), r->val[k] = h.val[k];
  return POISE_OK;
}

PoiseErr poiseMatReplace(PoiseMat A, PoiseErr mine, RowArrays *r)
{
  PoiseContext ctx = A->ctx;
  Csr old = A->csr;
  PoiseErr e = PoiseAgree(ctx, mine);
  if (!e) {
    A->csr = (Csr){0};
    e = poiseCsrTake(A, r);
    if (e) {
      A->csr = old;
    } else {
      poiseCsrDestroy(ctx, &old);
      A->assembled = true;
    }
  }
  poiseRowArraysDestroy(ctx, r);
  if (!e && A->type->setup) e = PoiseAgree(ctx, A->type->setup(A));
  return e;
}

/* The stored row and the added one, which have no column in common, by columns. */
static int64_t MergeRow(PoiseMat A, const HostCsr *h, int64_t i, RowArrays *r, int64_t out)
{
  const Term *t;
  int64_t n = poiseRowsGet(&A->added, i, &t), j = 0;
  int64_t k = h->ptr ? poiseCsrPtr(&A->csr, h->ptr, i) : 0, last = h->ptr ? poiseCsrPtr(&A->csr, h->ptr, i + 1) : 0;
  while (j < n || k < last) {
    PoiseInt stored = k < last ? poiseCsrGlobal(A, h->col[k]) : INT64_MAX;
    bool added = j < n && t[j].col < stored;
    r->col[out] = added ? t[j].col : stored;
    r->val[out++] = added ? t[j++].value : h->val[k++];
  }
  return out;
}

static PoiseErr MergeRows(PoiseMat A, int mode, RowArrays *r)
{
  HostCsr h;
  const Term *t;
  int64_t m = A->rows->n, nz = A->csr.nz, out = 0;
  TRY(poiseRowsSort(A->ctx, &A->added, m, mode));
  TRY(Open(A, &h));
  for (int64_t i = 0; i < m; i++) nz += poiseRowsGet(&A->added, i, &t);
  TRY(poiseRowArraysCreate(A, nz, r));
  for (int64_t i = 0; i < m; i++) r->ptr[i + 1] = out = MergeRow(A, &h, i, r, out);
  return POISE_OK;
}

/* What arrived is taken in the order of the sending ranks. What could not be taken stays. */
static PoiseErr TakeReceived(PoiseMat A, int mode)
{
  Stash *s = &A->stash;
  HostCsr h;
  PoiseErr e = Open(A, &h);
  int64_t k = 0;
  for (; !e && k < s->n; k++) e = InsertEntry(A, &h, mode, s->entry[k].row, s->entry[k].col, s->entry[k].value);
  if (e && k) k--;
  s->n -= k;
  if (s->n) memmove(s->entry, s->entry + k, (size_t)s->n * sizeof *s->entry);
  return e;
}

static PoiseErr Assemble(PoiseMat A)
{
  PoiseContext ctx = A->ctx;
  RowArrays r = {0};
  int mode = ADDING;
  PoiseErr e = poisePendingAgree(ctx, &A->pending, "PoiseMatAssemble", &mode);
  if (!mode) poiseMatDropPending(A);
  TRY(e);
  TRY(poiseStashExchange(ctx, &A->stash, A->rows));
  TRY(PoiseAgree(ctx, TakeReceived(A, mode)));
  int64_t fresh = A->added.row || !A->assembled;
  TRY(poiseCommMaxInt(ctx->comm, &fresh, 1));
  if (fresh) TRY(poiseMatReplace(A, MergeRows(A, mode, &r), &r));
  poiseMatDropPending(A);
  A->state++;
  return POISE_OK;
}

PoiseErr PoiseMatAssemble(PoiseMat A)
{
  if (!A->type->stored) return POISE_OK;
  poiseLogBegin(A->ctx, EVENT_MatAssemble);
  PoiseErr e = Assemble(A);
  poiseLogEnd(A->ctx, EVENT_MatAssemble, 0, 0);
  return e;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Assembly: entries added or set one by one or as dense blocks. An entry of the pattern changes in place.
  Other entries of this rank's rows are collected by row (rows.c). Entries of other ranks' rows go to a stash,
  which travels to them. All of this is on the host, where the values come from.
*/
#include "assemble.h"
#include "mat/csr/entries.h"
#include "mat/object/mat_type.h"
#include "mat/storage/blocks.h"
#include "mat/csr/replace.h"

/* ---- adding and setting ---------------------------------------------------------------------- */

/* The assembled arrays for changing values, also while entries are pending. None before the first
   Assemble. */
static PoiseErr Open(PoiseMat A, HostCsr *h)
{
  *h = (HostCsr){0};
  if (!A->assembled) return POISE_OK;
  TRY(poiseBufferRead(&A->csr.ptr, HOST, &h->ptr));
  TRY(poiseBufferRead(&A->csr.col, HOST, &h->col));
  return poiseBufferUpdate(&A->csr.val, HOST, &h->val);
}

static PoiseErr Begin(PoiseMat A, int mode, const Indices *rows, const Indices *cols, int64_t n,
                      const double *v, HostCsr *h)
{
  TRY(poiseMatCheckHolds(A, "new entries"));
  TRY(poisePendingMode(&A->assembly.pending, mode, "PoiseMatAssemble"));
  TRY(poiseIndicesCheck(A->ctx->device, rows, A->rows->N, "row", "matrix"));
  TRY(poiseIndicesCheck(A->ctx->device, cols, A->cols->N, "column", "matrix"));
  TRY(poiseValuesCheck(n, v));
  TRY(Open(A, h));
  A->assembly.pending.mode = mode;
  A->assembly.changed = true;
  return POISE_OK;
}

/* Take up to COLUMN_BATCH columns of a block, from the first on, and sort them. Columns to be ignored are
   left out. */
static void TakeBatch(const Indices *cols, PoiseInt first, ColumnBatch *p)
{
  PoiseInt last = cols->n - first < COLUMN_BATCH ? cols->n : first + COLUMN_BATCH;
  p->n = 0;
  for (PoiseInt place = first; place < last; place++) {
    PoiseInt col = poiseIndex(cols, place);
    if (col < 0) continue;
    int j = p->n++;
    for (; j > 0 && p->col[j - 1] > col; j--) p->col[j] = p->col[j - 1], p->place[j] = p->place[j - 1];
    p->col[j] = col;
    p->place[j] = place;
  }
}

typedef struct StoredRow {
  const int32_t *col;
  int64_t nloc;
  PoiseInt begin;
  const PoiseInt *ghost;
} StoredRow;

POISE_INLINE PoiseInt OwnedColumn(const void *row, int64_t k)
{
  const StoredRow *r = row;
  return r->begin + r->col[k];
}

POISE_INLINE PoiseInt AnyColumn(const void *row, int64_t k)
{
  const StoredRow *r = row;
  return r->col[k] < r->nloc ? r->begin + r->col[k] : r->ghost[r->col[k] - r->nloc];
}

POISE_INLINE void Put(double *to, int mode, double v)
{
  *to = mode == ADDING ? *to + v : v;
}

/* Change the stored entries of a row, val[0 .. n). *rest: those that are not stored. b > 1: of row r of a
   row of blocks. */
POISE_INLINE void Change(PoiseInt (*column)(const void *row, int64_t k), StoredRow row, int64_t n,
                         double *val, int64_t b, int64_t r, int mode, const ColumnBatch *p, const double *v,
                         ColumnBatch *rest)
{
  int64_t k = 0;
  for (int j = 0; j < p->n; j++) {
    PoiseInt number = p->col[j], place = p->place[j], col = b > 1 ? number / b : number;
    k = poiseSeekColumn(column, &row, k, n, col);
    if (k < n && column(&row, k) == col)
      Put(b > 1 ? val + (k * b + number % b) * b + r : val + k, mode, v[place]);
    else
      rest->col[rest->n] = number, rest->place[rest->n++] = place;
  }
}

static void ChangeStored(PoiseMat A, const HostCsr *h, int mode, int64_t i, const ColumnBatch *p,
                         const double *v, ColumnBatch *rest)
{
  const Csr *c = &A->csr;
  int64_t b = c->b > 1 ? c->b : 1, I = b > 1 ? i / b : i, first = poiseCsrPtr(c, h->ptr, I);
  int64_t n = poiseCsrPtr(c, h->ptr, I + 1) - first;
  StoredRow r = {h->col + first, c->nloc, c->column, c->ghost};
  rest->n = 0;
  if (b > 1)
    Change(AnyColumn, r, n, h->val + first * b * b, b, i % b, mode, p, v, rest);
  else if (c->nghost)
    Change(AnyColumn, r, n, h->val + first, 1, 0, mode, p, v, rest);
  else
    Change(OwnedColumn, r, n, h->val + first, 1, 0, mode, p, v, rest);
}

static PoiseErr InsertRow(PoiseMat A, const HostCsr *h, int mode, PoiseInt row, const ColumnBatch *p,
                          const double *v)
{
  ColumnBatch rest;
  if (row < 0) return POISE_OK; /* tested first, as a difference could overflow */
  PoiseInt i = row - A->rows->begin;
  if (i < 0 || i >= A->rows->n) {
    for (int j = 0; j < p->n; j++)
      TRY(poiseStashAdd(A->ctx, &A->assembly.stash, row, p->col[j], v[p->place[j]]));
    return POISE_OK;
  }
  if (!h->val) return poiseRowsAdd(A, mode, i, p, v);
  ChangeStored(A, h, mode, i, p, v, &rest);
  return rest.n ? poiseRowsAdd(A, mode, i, &rest, v) : POISE_OK;
}

static PoiseErr InsertEntry(PoiseMat A, const HostCsr *h, int mode, PoiseInt row, PoiseInt col, double v)
{
  ColumnBatch p;
  p.n = col >= 0;
  p.col[0] = col;
  p.place[0] = 0;
  return InsertRow(A, h, mode, row, &p, &v);
}

/* Prefetch the rows of an element, which are not neighbours in memory, before the first of them is needed. */
static void FetchRows(PoiseMat A, const Indices *rows)
{
  for (PoiseInt k = 0; A->assembly.added.row && k < rows->n; k++) {
    PoiseInt row = poiseIndex(rows, k), i = row < 0 ? -1 : row - A->rows->begin;
    if (i >= 0 && i < A->rows->n) poiseRowsFetch(A, i);
  }
}

static PoiseErr InsertBlock(PoiseMat A, int mode, Indices rows, Indices cols, const double *v)
{
  HostCsr h;
  ColumnBatch p;
  TRY(Begin(A, mode, &rows, &cols, rows.n * cols.n, v, &h));
  for (PoiseInt first = 0; first < cols.n; first += COLUMN_BATCH) {
    TakeBatch(&cols, first, &p);
    if (!h.val) FetchRows(A, &rows);
    for (PoiseInt i = 0; i < rows.n; i++)
      TRY(InsertRow(A, &h, mode, poiseIndex(&rows, i), &p, v + i * cols.n));
  }
  return POISE_OK;
}

static PoiseErr InsertEntries(PoiseMat A, int mode, Indices rows, Indices cols, const double *v)
{
  HostCsr h;
  TRY(Begin(A, mode, &rows, &cols, rows.n, v, &h));
  for (PoiseInt k = 0; k < rows.n; k++) TRY(InsertEntry(A, &h, mode, rows.index[k], cols.index[k], v[k]));
  return POISE_OK;
}

PoiseErr PoiseMatAddBlock(PoiseMat A, int nr, const PoiseInt *rows, int nc, const PoiseInt *cols,
                          const double *v)
{
  CALLED(OBJECT(A));
  return poisePendingKeep(&A->assembly.pending,
                          InsertBlock(A, ADDING, (Indices){nr, rows, NULL}, (Indices){nc, cols, NULL}, v));
}

PoiseErr PoiseMatSetBlock(PoiseMat A, int nr, const PoiseInt *rows, int nc, const PoiseInt *cols,
                          const double *v)
{
  CALLED(OBJECT(A));
  return poisePendingKeep(&A->assembly.pending,
                          InsertBlock(A, SETTING, (Indices){nr, rows, NULL}, (Indices){nc, cols, NULL}, v));
}

PoiseErr PoiseMatAddEntries(PoiseMat A, PoiseInt n, const PoiseInt *rows, const PoiseInt *cols,
                            const double *v)
{
  CALLED(OBJECT(A));
  return poisePendingKeep(&A->assembly.pending,
                          InsertEntries(A, ADDING, (Indices){n, rows, NULL}, (Indices){n, cols, NULL}, v));
}

PoiseErr PoiseMatSetEntries(PoiseMat A, PoiseInt n, const PoiseInt *rows, const PoiseInt *cols,
                            const double *v)
{
  CALLED(OBJECT(A));
  return poisePendingKeep(&A->assembly.pending,
                          InsertEntries(A, SETTING, (Indices){n, rows, NULL}, (Indices){n, cols, NULL}, v));
}

PoiseErr PoiseMatSetLocalToGlobal(PoiseMat A, PoiseInt nr, const PoiseInt *rows, PoiseInt nc,
                                  const PoiseInt *cols)
{
  CALLED(OBJECT(A));
  PoiseErr e = poiseMapSet(A->ctx, nr, rows, A->rows->N, "row", &A->assembly.row_map);
  if (!e) e = poiseMapSet(A->ctx, nc, cols, A->cols->N, "column", &A->assembly.col_map);
  return PoiseAgree(A->ctx, e);
}

PoiseErr PoiseMatAddBlockLocal(PoiseMat A, int nr, const PoiseInt *rows, int nc, const PoiseInt *cols,
                               const double *v)
{
  CALLED(OBJECT(A));
  Indices r = {nr, rows, &A->assembly.row_map}, c = {nc, cols, &A->assembly.col_map};
  return poisePendingKeep(&A->assembly.pending, InsertBlock(A, ADDING, r, c, v));
}

PoiseErr PoiseMatSetBlockLocal(PoiseMat A, int nr, const PoiseInt *rows, int nc, const PoiseInt *cols,
                               const double *v)
{
  CALLED(OBJECT(A));
  Indices r = {nr, rows, &A->assembly.row_map}, c = {nc, cols, &A->assembly.col_map};
  return poisePendingKeep(&A->assembly.pending, InsertBlock(A, SETTING, r, c, v));
}

void poiseMatDropPending(PoiseMat A)
{
  poiseStashDestroy(A->ctx, &A->assembly.stash);
  poiseRowsDestroy(A->ctx, &A->assembly.added);
  A->assembly.pending.mode = 0;
  A->assembly.changed = false;
}

/* ---- assembling ------------------------------------------------------------------------------ */

/* Merge the stored and the added row, which have no column in common, by columns, from place `out` on. */
static void MergeRow(PoiseMat A, const HostCsr *h, int64_t i, RowArrays *r, int64_t out)
{
  AddedRow added = poiseRowsGet(&A->assembly.added, i);
  int64_t j = 0, k = h->ptr ? poiseCsrPtr(&A->csr, h->ptr, i) : 0,
          last = h->ptr ? poiseCsrPtr(&A->csr, h->ptr, i + 1) : 0;
  for (; j < added.n && k < last; out++) {
    PoiseInt stored = poiseCsrGlobal(A, h->col[k]), col = poiseColumn(A->assembly.added.wide, added.col, j);
    if (col < stored)
      poiseRowArraysPut(r, out, col, added.val[j++]);
    else
      poiseRowArraysPut(r, out, stored, h->val[k++]);
  }
  for (; k < last; k++) poiseRowArraysPut(r, out++, poiseCsrGlobal(A, h->col[k]), h->val[k]);
  if (j == added.n) return;
  memcpy(r->val + out, added.val + j, (size_t)(added.n - j) * sizeof(double));
  if (r->col32)
    memcpy(r->col32 + out, (const int32_t *)added.col + j, (size_t)(added.n - j) * sizeof(int32_t));
  else
    memcpy(r->col + out, (const PoiseInt *)added.col + j, (size_t)(added.n - j) * sizeof(PoiseInt));
}

static PoiseErr MergeRows(PoiseMat A, int mode, RowArrays *r)
{
  Device *dev = A->ctx->device;
  HostCsr h;
  int64_t m = A->rows->n, nz = A->csr.nz, nblock = POISE_NBLOCKS(m);
  (void)dev;
  TRY(poiseRowsSort(A, mode));
  TRY(Open(A, &h));
  for (int64_t i = 0; i < m; i++) nz += poiseRowsGet(&A->assembly.added, i).n;
  TRY(poiseRowArraysCreate(A, nz, r));
  for (int64_t i = 0; i < m; i++) {
    int64_t stored = h.ptr ? poiseCsrPtr(&A->csr, h.ptr, i + 1) - poiseCsrPtr(&A->csr, h.ptr, i) : 0;
    r->ptr[i + 1] = r->ptr[i] + stored + poiseRowsGet(&A->assembly.added, i).n;
  }
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t b = 0; b < nblock; b++)
    for (int64_t i = b * POISE_BLOCK; i < (b + 1) * POISE_BLOCK && i < m; i++)
      MergeRow(A, &h, i, r, r->ptr[i]);
  return POISE_OK;
}

/* Take received entries in the order of the sending ranks. Entries that could not be taken stay. */
static PoiseErr TakeReceived(PoiseMat A, int mode)
{
  Stash *s = &A->assembly.stash;
  HostCsr h;
  PoiseErr e = Open(A, &h);
  int64_t k = 0;
  for (; !e && k < s->n; k++)
    e = InsertEntry(A, &h, mode, s->entry[k].row, s->entry[k].col, s->entry[k].value);
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
  PoiseErr e = poisePendingAgree(ctx, &A->assembly.pending, "PoiseMatAssemble", &mode);
  if (!mode) poiseMatDropPending(A);
  TRY(e);
  TRY(poiseStashExchange(ctx, &A->assembly.stash, A->rows));
  TRY(PoiseAgree(ctx, TakeReceived(A, mode)));
  int64_t fresh = A->assembly.added.row || !A->assembled;
  TRY(poiseCommMaxInt(ctx->comm, &fresh, 1));
  if (fresh && A->type->blocked) TRY(poiseMatFromBlocks(A)); /* new entries come row by row */
  if (fresh) TRY(poiseMatReplaceAs(A, MergeRows(A, mode, &r), &r, NULL));
  poiseMatDropPending(A);
  if (fresh) TRY(poiseMatChooseBlocks(A));
  if (fresh) TRY(poiseMatSetUp(A));
  if (poiseMatWaits(A)) TRY(poiseMatToBlocks(A));
  A->version.values++;
  return PoiseAgree(ctx, poiseBufferSyncBorrowed(&A->csr.val));
}

PoiseErr PoiseMatAssemble(PoiseMat A)
{
  CALLED(OBJECT(A));
  if (!poiseMatHolds(A)) return POISE_OK;
  poiseLogBegin(A->ctx, EVENT_MatAssemble);
  PoiseErr e = Assemble(A);
  poiseLogEnd(A->ctx, EVENT_MatAssemble, 0, 0);
  return e;
}

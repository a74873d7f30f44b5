/* SPDX-License-Identifier: BSD-3-Clause */
/* Assembly by dense element blocks: entries are collected, sent to their owners, sorted and summed in a fixed order. */
#include "mat.h"

static PoiseErr CheckIndices(const char *what, int n, const PoiseInt *index, PoiseInt N)
{
  for (int i = 0; i < n; i++)
    if (index[i] >= N)
      FAIL(POISE_ERR_ARG, "%s %lld of a matrix with %lld %ss", what, (long long)index[i], (long long)N, what);
  return POISE_OK;
}

typedef struct Values { /* an assembled pattern, open for adding */
  const void *ptr;
  const int32_t *col;
  double *val;
} Values;

static PoiseErr OpenValues(PoiseMat A, Values *v)
{
  *v = (Values){0};
  if (!A->assembled) return POISE_OK;
  TRY(poiseBufferRead(&A->csr.ptr, HOST, &v->ptr));
  TRY(poiseBufferRead(&A->csr.col, HOST, &v->col));
  return poiseBufferUpdate(&A->csr.val, HOST, &v->val);
}

/* Add in place where the pattern has the entry; false if it has not. */
static bool AddInPlace(const PoiseMat A, const Values *v, PoiseInt row, PoiseInt col, double value)
{
  PoiseInt i = row - A->rows->begin;
  if (!v->val || i < 0 || i >= A->rows->n) return false;
  int64_t k = poiseCsrFind(A, v->ptr, v->col, i, col);
  if (k >= 0) v->val[k] += value;
  return k >= 0;
}

PoiseErr PoiseMatAddBlock(PoiseMat A, int nr, const PoiseInt *rows, int nc, const PoiseInt *cols, const double *v)
{
  Values open;
  if (!A->type->stored) FAIL(POISE_ERR_UNSUPPORTED, "a matrix of type %s has no entries to add to", A->type->name);
  TRY(CheckIndices("row", nr, rows, A->rows->N));
  TRY(CheckIndices("column", nc, cols, A->cols->N));
  TRY(OpenValues(A, &open));
  A->changed = true;
  for (int i = 0; i < nr; i++)
    for (int j = 0; j < nc; j++)
      if (rows[i] >= 0 && cols[j] >= 0 && !AddInPlace(A, &open, rows[i], cols[j], v[(size_t)i * (size_t)nc + (size_t)j]))
        TRY(poiseStashAdd(A->ctx, &A->stash, rows[i], cols[j], v[(size_t)i * (size_t)nc + (size_t)j]));
  return POISE_OK;
}

PoiseErr PoiseMatZeroEntries(PoiseMat A)
{
  double *val;
  PoiseErr e = POISE_OK;
  if (!A->type->stored)
    e = PoiseErrorSet(POISE_ERR_UNSUPPORTED, __func__, __FILE__, __LINE__, "a matrix of type %s has no entries",
                      A->type->name);
  A->stash.n = 0;
  if (!e && A->assembled) e = poiseBufferWrite(&A->csr.val, HOST, &val);
  if (!e && A->csr.nz) memset(val, 0, (size_t)A->csr.nz * sizeof(double));
  A->state++;
  return PoiseAgree(A->ctx, e);
}

/* ---- a new pattern -------------------------------------------------------------------------------------------------- */

/* Entries of one row in the order of their columns, equal columns in the order they came. */
static int CompareEntries(const void *a, const void *b)
{
  const Entry *x = a, *y = b;
  if (x->col != y->col) return x->col < y->col ? -1 : 1;
  return (x->row > y->row) - (x->row < y->row); /* row holds the order while sorting */
}

static void SortRow(Entry *entry, int64_t n)
{
  for (int64_t k = 0; k < n; k++) entry[k].row = k;
  if (n > 24) {
    qsort(entry, (size_t)n, sizeof *entry, CompareEntries);
    return;
  }
  for (int64_t k = 1; k < n; k++) { /* stable by construction */
    Entry t = entry[k];
    int64_t j = k;
    for (; j > 0 && entry[j - 1].col > t.col; j--) entry[j] = entry[j - 1];
    entry[j] = t;
  }
}

/* Put what is stored so far before what was added, so that sums keep their order. */
static PoiseErr StoredToStash(PoiseMat A, const Stash *added, Stash *all)
{
  PoiseContext ctx = A->ctx;
  Values v;
  TRY(OpenValues(A, &v));
  for (int64_t i = 0; A->assembled && i < A->csr.m; i++)
    for (int64_t k = poiseCsrPtr(&A->csr, v.ptr, i); k < poiseCsrPtr(&A->csr, v.ptr, i + 1); k++)
      TRY(poiseStashAdd(ctx, all, A->rows->begin + i, poiseCsrGlobal(A, v.col[k]), v.val[k]));
  for (int64_t k = 0; k < added->n; k++)
    TRY(poiseStashAdd(ctx, all, added->entry[k].row, added->entry[k].col, added->entry[k].value));
  return POISE_OK;
}

typedef struct Rows { /* entries by row, then as CSR with global columns */
  Entry *entry;
  int64_t *ptr, *col;
  double *val;
} Rows;

static PoiseErr SortEntries(PoiseMat A, const Stash *s, Rows *r)
{
  PoiseContext ctx = A->ctx;
  int64_t m = A->rows->n, begin = A->rows->begin, out = 0;
  TRY(poiseAllocArray(ctx, s->n, sizeof(Entry), "sorted entries", &r->entry));
  TRY(poiseAllocArray(ctx, m + 2, sizeof(int64_t), "row offsets", &r->ptr));
  for (int64_t k = 0; k < s->n; k++) r->ptr[s->entry[k].row - begin + 2]++;
  for (int64_t i = 2; i <= m + 1; i++) r->ptr[i] += r->ptr[i - 1];
  for (int64_t k = 0; k < s->n; k++) r->entry[r->ptr[s->entry[k].row - begin + 1]++] = s->entry[k];
  TRY(poiseAllocArray(ctx, s->n, sizeof(int64_t), "columns", &r->col));
  TRY(poiseAllocArray(ctx, s->n, sizeof(double), "values", &r->val));
  for (int64_t i = 0; i < m; i++) {
    int64_t first = r->ptr[i], last = r->ptr[i + 1];
    if (last > first) SortRow(r->entry + first, last - first);
    r->ptr[i] = out;
    for (int64_t k = first; k < last; k++) {
      const Entry *t = &r->entry[k];
      if (k > first && t->col == t[-1].col)
        r->val[out - 1] += t->value;
      else
        r->col[out] = t->col, r->val[out] = t->value, out++;
    }
  }
  r->ptr[m] = out;
  return POISE_OK;
}

static PoiseErr Rebuild(PoiseMat A)
{
  PoiseContext ctx = A->ctx;
  Stash all = {0};
  Rows r = {0};
  Csr old = A->csr;
  PoiseErr e = A->assembled ? StoredToStash(A, &A->stash, &all) : POISE_OK;
  if (!e) e = SortEntries(A, A->assembled ? &all : &A->stash, &r);
  poiseFree(ctx, &r.entry);
  poiseStashDestroy(ctx, &all);
  e = PoiseAgree(ctx, e);
  if (!e) {
    A->csr = (Csr){0};
    e = poiseCsrBuild(A, &(PoiseCSR){.ptr64 = r.ptr, .col64 = r.col, .val = r.val}, POISE_COPY);
    if (e)
      A->csr = old;
    else
      poiseStashDestroy(ctx, &A->stash), poiseCsrDestroy(ctx, &old); /* not before: a failed call may be repeated */
  }
  poiseFree(ctx, &r.ptr);
  poiseFree(ctx, &r.col);
  poiseFree(ctx, &r.val);
  if (!e && A->type->setup) e = PoiseAgree(ctx, A->type->setup(A));
  return e;
}

/* What fits the pattern is added; *left: entries that do not. */
static PoiseErr AddReceived(PoiseMat A, int64_t *left)
{
  Values v;
  *left = 0;
  TRY(OpenValues(A, &v));
  for (int64_t k = 0; k < A->stash.n; k++) {
    Entry t = A->stash.entry[k];
    if (!AddInPlace(A, &v, t.row, t.col, t.value)) A->stash.entry[(*left)++] = t;
  }
  A->stash.n = *left;
  return POISE_OK;
}

static PoiseErr Assemble(PoiseMat A)
{
  PoiseContext ctx = A->ctx;
  int64_t left = 0, fresh;
  TRY(poiseStashExchange(ctx, &A->stash, A->rows));
  TRY(PoiseAgree(ctx, AddReceived(A, &left)));
  fresh = left > 0 || !A->assembled;
  TRY(poiseCommMaxInt(ctx->comm, &fresh, 1));
  if (fresh) TRY(Rebuild(A));
  poiseStashDestroy(ctx, &A->stash);
  A->assembled = true;
  A->changed = false;
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

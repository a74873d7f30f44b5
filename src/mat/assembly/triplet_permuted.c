/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The entries of a matrix, with rows and columns renumbered on each rank, as the triplets of another matrix on
  the host. Every triplet is an entry, and rows are known. So all threads make rows, each of which is sorted
  by itself. The plan for values is the place of each.

  Taking new values reads 8 bytes per value and 4 for its place, and writes 8 (4 more beyond 2^32 values).
*/
#include "mat/csr/replace.h"
#include "mat/csr/entries.h"
#include "mat/object/mat_type.h"
#include "sys/device/host_loop.h"
#include "triplet_plan.h"
#include "triplets.h"

enum {
  PLACE_BITS = 12, /* of an entry in a row that a thread sorts on its stack; longer rows are sorted later */
  LONG = 1 << PLACE_BITS,
  RUN = 16 /* keys that are sorted by insertion */
};

typedef struct Permuted {
  PoiseMat A;
  HostCsr h;
  int64_t b;
  const double *number, *column; /* new numbers of A's rows, and of its local columns */
  int32_t *row;                  /* A's row that becomes this one */
  int64_t longs;                 /* number of long rows */
  Triplets *t;
  RowArrays arrays;
} Permuted;

/* ---- a row ----------------------------------------------------------------------------------- */

static inline PoiseInt ColumnOf(const Permuted *p, int64_t k)
{
  return (PoiseInt)p->column[p->h.col[k] * p->b] / p->b;
}

/* Entry k of the new matrix is entry `from` of A. */
static inline void Put(Permuted *p, int64_t k, PoiseInt col, int64_t from)
{
  poiseRowArraysPutColumn(&p->arrays, k, col);
  if (p->t->wide)
    ((int64_t *)p->t->from)[k] = from;
  else
    ((uint32_t *)p->t->from)[k] = (uint32_t)from;
}

/* Sort keys, which differ. The result is in a or in b. */
static uint64_t *Sort(uint64_t *a, uint64_t *b, int64_t n)
{
  for (int64_t run = 0; run < n; run += RUN)
    for (int64_t k = run + 1; k < n && k < run + RUN; k++) {
      uint64_t key = a[k];
      int64_t to = k;
      for (; to > run && a[to - 1] > key; to--) a[to] = a[to - 1];
      a[to] = key;
    }
  for (int64_t length = RUN; length < n; length *= 2) {
    for (int64_t first = 0; first < n; first += 2 * length) {
      int64_t mid = first + length < n ? first + length : n, end = mid + length < n ? mid + length : n;
      for (int64_t i = first, j = mid, k = first; k < end; k++)
        b[k] = j == end || (i < mid && a[i] < a[j]) ? a[i++] : a[j++];
    }
    uint64_t *swap = a;
    a = b;
    b = swap;
  }
  return a;
}

/* Sort a short row: a key is a column, and below it a place in the row. */
static void ShortRow(Permuted *p, int64_t to, int64_t from, int64_t n)
{
  uint64_t memory[2][LONG];
  for (int64_t k = 0; k < n; k++) memory[0][k] = (uint64_t)ColumnOf(p, from + k) << PLACE_BITS | (uint64_t)k;
  const uint64_t *key = Sort(memory[0], memory[1], n);
  for (int64_t k = 0; k < n; k++)
    Put(p, to + k, (PoiseInt)(key[k] >> PLACE_BITS), from + (int64_t)(key[k] & (LONG - 1)));
}

static PoiseErr LongRow(Permuted *p, int64_t to, int64_t from, int64_t n)
{
  Term *term; /* and as many behind, to sort with */
  PoiseContext ctx = p->A->ctx;
  TRY(poiseAllocArray(ctx, 2 * n, sizeof *term, "a row to sort", &term));
  for (int64_t k = 0; k < n; k++) term[k] = (Term){.col = ColumnOf(p, from + k), .from = from + k};
  poiseTermsSort(term, n, term + n);
  for (int64_t k = 0; k < n; k++) Put(p, to + k, term[k].col, term[k].from);
  poiseFree(ctx, &term);
  return POISE_OK;
}

/* ---- all rows -------------------------------------------------------------------------------- */

/* Where every row goes, and the offsets there. */
static void Offsets(Permuted *p)
{
  const Csr *c = &p->A->csr;
  int64_t m = c->m, begin = p->A->rows->begin / p->b, *ptr = p->arrays.ptr;
  for (int64_t i = 0; i < m; i++) {
    int64_t n = poiseCsrPtr(c, p->h.ptr, i + 1) - poiseCsrPtr(c, p->h.ptr, i);
    int64_t to = (int64_t)p->number[i * p->b] / p->b - begin;
    p->row[to] = (int32_t)i;
    ptr[to + 1] = n;
    p->longs += n >= LONG;
  }
  for (int64_t i = 0; i < m; i++) ptr[i + 1] += ptr[i];
}

static PoiseErr FillRows(Permuted *p)
{
  const Csr *c = &p->A->csr;
  const Device *dev = p->A->ctx->device;
  const int64_t m = c->m, nblock = POISE_NBLOCKS(m), *ptr = p->arrays.ptr;
  (void)dev;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t b = 0; b < nblock; b++)
    for (int64_t i = b * POISE_BLOCK; i < (b + 1) * POISE_BLOCK && i < m; i++)
      if (ptr[i + 1] - ptr[i] < LONG)
        ShortRow(p, ptr[i], poiseCsrPtr(c, p->h.ptr, p->row[i]), ptr[i + 1] - ptr[i]);
  for (int64_t i = 0; i < m && p->longs; i++)
    if (ptr[i + 1] - ptr[i] >= LONG)
      TRY(LongRow(p, ptr[i], poiseCsrPtr(c, p->h.ptr, p->row[i]), ptr[i + 1] - ptr[i]));
  return POISE_OK;
}

static PoiseErr Make(Permuted *p, PoiseMat B)
{
  PoiseMat A = p->A;
  PoiseContext ctx = A->ctx;
  int64_t nz = A->csr.nz;
  TRY(poiseMatReadEntries(A, &p->h));
  TRY(poiseAlloc(ctx, sizeof *p->t, "triplets", &p->t));
  p->t->numbers = (int)(p->b * p->b);
  p->t->ngiven = nz;
  p->t->permutes = true;
  p->t->wide = poisePlacesAreWide(ctx, nz);
  TRY(poiseAllocArray(ctx, nz, p->t->wide ? sizeof(int64_t) : sizeof(uint32_t), "places of values",
                      &p->t->from));
  TRY(poiseAllocArray(ctx, A->csr.m, sizeof *p->row, "order of rows", &p->row));
  TRY(poiseRowArraysCreateBlocks(B, A->csr.b, nz, &p->arrays));
  Offsets(p);
  return FillRows(p);
}

bool poiseTripletsPermutable(PoiseMat A, PoiseMat B)
{
  bool searches = !A->csr.b && B->asked.type->blocked && B->asked.find;
  return A->ctx->device->ops->is_host && A->csr.b == poiseMatAskedBlocks(B) && !searches;
}

PoiseErr poiseTripletsPermute(PoiseMat A, PoiseErr mine, const double *row, const double *column, PoiseMat B)
{
  PoiseContext ctx = A->ctx;
  Permuted p = {.A = A, .b = poiseCsrSide(&A->csr), .number = row, .column = column};
  poiseLogBegin(ctx, EVENT_MatAssemble);
  if (A->csr.b) B->asked.find = false;
  if (!mine) mine = Make(&p, B);
  poiseFree(ctx, &p.row);
  PoiseErr e = poiseMatReplace(B, mine, &p.arrays);
  if (!e) {
    p.t->built = B->version.pattern;
    B->assembly.triplets = p.t;
    p.t = NULL;
  }
  poiseTripletsDestroy(ctx, &p.t);
  poiseLogEnd(ctx, EVENT_MatAssemble, 0, 0);
  return e;
}

/* ---- values ---------------------------------------------------------------------------------- */

void poiseTripletsGather(PoiseContext ctx, const Triplets *t, const double *v, bool add, double *val)
{
  const Device *dev = ctx->device;
  const int64_t n = t->ngiven, numbers = t->numbers, nblock = POISE_NBLOCKS(n);
  (void)dev;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t b = 0; b < nblock; b++)
    for (int64_t k = b * POISE_BLOCK; k < (b + 1) * POISE_BLOCK && k < n; k++) {
      int64_t from = t->wide ? ((const int64_t *)t->from)[k] : ((const uint32_t *)t->from)[k];
      for (int64_t j = 0; j < numbers; j++)
        val[k * numbers + j] = v[from * numbers + j] + (add ? val[k * numbers + j] : 0);
    }
}

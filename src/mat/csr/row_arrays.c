/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays of the library's own: their memory, and how they become a matrix's CSR, in place. */
#include "check_arrays.h"
#include "complete.h"
#include "numbering.h"
#include "row_arrays.h"

bool poiseMatWideColumns(PoiseMat A)
{
  return A->cols->N > poiseContextHome(A->ctx)->hooks.most_narrow;
}

PoiseErr poiseRowArraysReserve(PoiseMat A, int64_t nz, int64_t numbers, RowArrays *r)
{
  if (poiseMatWideColumns(A)) /* not NULL when there are none */
    TRY(poiseAllocArray(A->ctx, nz + 1, sizeof(PoiseInt), "columns", &r->col));
  else
    TRY(poiseAllocArray(A->ctx, nz + 1, sizeof(int32_t), "columns", &r->col32));
  return poiseAllocArray(A->ctx, nz * numbers, sizeof(double), "values", &r->val);
}

PoiseErr poiseRowArraysCreateBlocks(PoiseMat A, int b, int64_t nz, RowArrays *r)
{
  int64_t side = b ? b : 1;
  *r = (RowArrays){.b = b};
  TRY(poiseAllocArray(A->ctx, A->rows->n / side + 1, sizeof(int64_t), "row offsets", &r->ptr));
  return poiseRowArraysReserve(A, nz, side * side, r);
}

PoiseErr poiseRowArraysCreate(PoiseMat A, int64_t nz, RowArrays *r)
{
  return poiseRowArraysCreateBlocks(A, 0, nz, r);
}

void poiseRowArraysDestroy(PoiseContext ctx, RowArrays *r)
{
  poiseFree(ctx, &r->ptr);
  poiseFree(ctx, &r->col);
  poiseFree(ctx, &r->col32);
  poiseFree(ctx, &r->val);
}

/* Narrow integers of 8 bytes to 4 bytes in place. It uses memcpy, as the same bytes change their type. */
static void NarrowOffsets(char *v, int64_t n)
{
  for (int64_t k = 0; k < n; k++) {
    int64_t offset;
    memcpy(&offset, v + 8 * k, sizeof offset);
    memcpy(v + 4 * k, &(int32_t){(int32_t)offset}, sizeof(int32_t));
  }
}

static void NarrowColumns(const PoiseMat A, const Ghosts *ghosts, char *v, int64_t n)
{
  for (int64_t k = 0; k < n; k++) {
    PoiseInt g;
    memcpy(&g, v + 8 * k, sizeof g);
    memcpy(v + 4 * k, &(int32_t){poiseLocalColumn(A, ghosts, g)}, sizeof(int32_t));
  }
}

/* Give the first bytes of *array to the buffer, and release the rest. */
static PoiseErr HandOver(PoiseMat A, size_t bytes, const char *what, void *array, Buffer *b)
{
  void *p;
  TRY(poiseResize(A->ctx, bytes, what, array));
  memcpy(&p, array, sizeof p);
  memset(array, 0, sizeof p);
  TRY(poiseBufferWrap(A->ctx->device, bytes, what, p, POISE_BORROW, b));
  b->own = POISE_COPY; /* the library's own memory, so nothing is borrowed */
  return POISE_OK;
}

static void RenumberColumns(const PoiseMat A, const Ghosts *ghosts, int32_t *col, int64_t n)
{
  if (PoiseSize(A->ctx) == 1) return;
  for (int64_t k = 0; k < n; k++) col[k] = poiseLocalColumn(A, ghosts, col[k]);
}

static PoiseErr TakeLocal(PoiseMat A, Ghosts *ghosts, RowArrays *r)
{
  const PoiseCSR in = {.ptr64 = r->ptr, .col32 = r->col32, .col64 = r->col, .val = r->val};
  Csr *c = &A->csr;
  bool sorted;
  int64_t row = 0;
  poiseCsrMeasure(A);
  TRY(poiseArraysCheckOffsets(A, &in));
  TRY(poiseArraysCheckColumns(A, &in, &sorted, &row));
  if (!sorted)
    FAIL(POISE_ERR_INTERNAL, "the columns of %s %lld are not sorted", poiseArraysRow(A),
         (long long)(c->row + row));
  c->nz = r->ptr[c->m];
  c->wide = c->nz > poiseContextHome(A->ctx)->hooks.most_narrow;
  TRY(poiseCsrCollectGhosts(A, &in, ghosts));
  if (!c->wide) NarrowOffsets((char *)r->ptr, c->m + 1);
  if (r->col32)
    RenumberColumns(A, ghosts, r->col32, c->nz);
  else
    NarrowColumns(A, ghosts, (char *)r->col, c->nz);
  TRY(HandOver(A, (size_t)(c->m + 1) * (c->wide ? 8 : 4), "row offsets", &r->ptr, &c->ptr));
  TRY(HandOver(A, (size_t)c->nz * sizeof(int32_t), "columns", r->col32 ? (void *)&r->col32 : (void *)&r->col,
               &c->col));
  return HandOver(A, (size_t)poiseCsrScalars(c) * sizeof(double), "values", &r->val, &c->val);
}

PoiseErr poiseCsrTake(PoiseMat A, RowArrays *r)
{
  Ghosts ghosts = {0};
  PoiseErr e = TakeLocal(A, &ghosts, r);
  poiseGhostsDestroy(&ghosts);
  return poiseCsrComplete(A, e);
}

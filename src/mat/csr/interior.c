/* SPDX-License-Identifier: BSD-3-Clause */
/* Several ranks: blocks of rows without ghosts come first, and run while the halo travels. */
#include "interior.h"
#include "mat/mat.h"

PoiseErr poiseCsrOrder(PoiseMat A, int64_t n, int rows, const RowBlock *row_block, Buffer *order,
                       int64_t *ninterior)
{
  Csr *c = &A->csr;
  const void *ptr;
  const int32_t *col;
  int32_t *to;
  int64_t boundary = 0;
  TRY(poiseBufferCreate(A->ctx->device, (size_t)n * sizeof *to, "block order", order));
  TRY(poiseBufferWrite(order, HOST, &to));
  TRY(poiseBufferRead(&c->ptr, HOST, &ptr));
  TRY(poiseBufferRead(&c->col, HOST, &col));
  *ninterior = 0;
  for (int64_t b = 0; b < n; b++) {
    int64_t first = b * rows, last = first + rows,
            k = row_block ? row_block[b].first : poiseCsrPtr(c, ptr, first);
    int64_t end = row_block ? k + row_block[b].nz : poiseCsrPtr(c, ptr, last < c->m ? last : c->m);
    while (k < end && col[k] < c->nloc) k++;
    bool inside = k >= end;
    to[inside ? (*ninterior)++ : n - ++boundary] = (int32_t)b;
  }
  return POISE_OK;
}

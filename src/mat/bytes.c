/* SPDX-License-Identifier: BSD-3-Clause */
/* What a matrix holds, and what one will hold. */
#include "mat.h"

static int64_t OffsetBytes(PoiseContext ctx, int64_t m, int64_t nz)
{
  return (m + 1) * (nz > poiseContextHome(ctx)->most_narrow ? 8 : 4);
}

static void VecBytes(PoiseVec x, PoiseBytes *sum)
{
  if (x) poiseBufferAdd(&x->data, sum);
}

PoiseErr PoiseMatBytes(PoiseMat A, PoiseBytes *bytes, int64_t *plain)
{
  const Csr *c = &A->csr;
  const NullSpace *spaces[] = {&A->null, &A->left, &A->near};
  *bytes = (PoiseBytes){0};
  if (plain) *plain = A->assembled ? 8 * poiseCsrNumbers(c) + 4 * c->nz + (c->m + 1) * (c->wide ? 8 : 4) : 0;
  poiseBufferAdd(&c->ptr, bytes);
  poiseBufferAdd(&c->col, bytes);
  poiseBufferAdd(&c->val, bytes);
  poiseBufferAdd(&c->order, bytes);
  poiseHaloBytes(c->halo, bytes);
  bytes->host += poiseAllocated(c->ghost) + poiseAllocated(A->fills);
  poiseTripletsBytes(A->triplets, bytes);
  VecBytes(A->work, bytes);
  for (int s = 0; s < 3; s++)
    for (int k = 0; k < spaces[s]->n; k++) VecBytes(spaces[s]->v[k], bytes);
  if (A->type->bytes) A->type->bytes(A, bytes);
  return POISE_OK;
}

/* Rows of a block of the product, were all rows of one length. */
static int EvenRows(PoiseContext ctx, int64_t m, int64_t nz)
{
  CsrStatistics s = {.m = m, .nz = nz, .longest = m ? (nz + m - 1) / m : 0};
  for (int k = 0; k < POISE_TILES; k++) s.tile[k] = s.longest * (m < 256 >> k ? m : 256 >> k);
  return poiseCsrRows(ctx, &s, false);
}

PoiseErr PoiseMatPredictBytes(PoiseContext ctx, PoiseInt rows, PoiseInt nonzeros, PoiseInt ghosts, PoiseInt sends,
                              PoiseBytes *bytes)
{
  bool several = PoiseSize(ctx) > 1, away = !ctx->device->ops->is_host;
  if (rows < 0 || nonzeros < 0 || ghosts < 0 || sends < 0)
    FAIL(POISE_ERR_ARG, "a matrix of %lld rows, %lld nonzeros, %lld ghosts and %lld sends", (long long)rows,
         (long long)nonzeros, (long long)ghosts, (long long)sends);
  if (nonzeros > (INT64_MAX >> 5) || rows > (INT64_MAX >> 5) || ghosts > (INT64_MAX >> 6) || sends > (INT64_MAX >> 6))
    FAIL(POISE_ERR_MEMORY, "no machine holds %lld nonzeros in %lld rows", (long long)nonzeros, (long long)rows);
  int block = several ? EvenRows(ctx, rows, nonzeros) : POISE_BLOCK;
  int64_t csr = OffsetBytes(ctx, rows, nonzeros) + 12 * nonzeros;
  int64_t order = several ? 4 * ((rows + block - 1) / block) : 0, both = csr + order + 4 * sends;
  *bytes = (PoiseBytes){both + 16 * ghosts + 8 * sends, 0}; /* numbers and values of ghosts; values to send */
  *(away ? &bytes->device : &bytes->host) += (away ? both : 0) + 8 * (ghosts + sends);
  return POISE_OK;
}

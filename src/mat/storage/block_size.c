/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The block size of a matrix: given, that of a file, or found. To find it, the bytes of each size are counted
  for a matrix of scalars, and the smallest wins.
*/
#include "blocks.h"
#include "mat/object/mat_type.h"

/* ---- given ----------------------------------------------------------------------------------- */

PoiseErr poiseMatAgreeBlockSize(PoiseContext ctx, PoiseErr mine, int b)
{
  int64_t most[2] = {b, -(int64_t)b};
  TRY(PoiseAgree(ctx, mine));
  TRY(poiseCommMaxInt(ctx->comm, most, 2));
  if (most[0] == -most[1]) return POISE_OK;
  FAIL(POISE_ERR_ARG, "block sizes differ from rank to rank, from %lld to %lld", (long long)-most[1],
       (long long)most[0]);
}

PoiseErr PoiseMatSetBlockSize(PoiseMat A, int b)
{
  CALLED(OBJECT(A));
  PoiseErr e = POISE_OK;
  if (b < 0 || b > MAX_BLOCK_SIZE)
    e = PoiseErrorSet(POISE_ERR_ARG, __func__, __FILE__, __LINE__,
                      "block size %d is not between 1 and %d, nor 0 (to be determined)", b, MAX_BLOCK_SIZE);
  else if (!b)
    e = POISE_OK;
  else if (A->rows->n % b || A->cols->n % b)
    e = PoiseErrorSet(POISE_ERR_SIZE, __func__, __FILE__, __LINE__,
                      "block size %d does not divide the %lld x %lld local rows and columns of rank %d", b,
                      (long long)A->rows->n, (long long)A->cols->n, PoiseRank(A->ctx));
  else if (A->asked.type->blocked && A->assembled && b != A->block_size)
    e = PoiseErrorSet(POISE_ERR_STATE, __func__, __FILE__, __LINE__,
                      "the matrix has blocks of %d x %d: make it csr before its block size becomes %d",
                      A->block_size, A->block_size, b);
  TRY(poiseMatAgreeBlockSize(A->ctx, e, b));
  A->asked.find = !b && !A->type->blocked;
  if (!b) return POISE_OK;
  if (b != A->block_size) A->version.values++; /* all that was built from the old blocks is invalid */
  if (b != A->block_size) poiseFree(A->ctx, &A->fills);
  A->block_size = b;
  return POISE_OK;
}

int PoiseMatBlockSize(PoiseMat A)
{
  CALLED_OR(0, OBJECT(A));
  return A->block_size;
}

/* A multiple of the block sizes that may be found, small ones first, as far as each rank gets SOME of it. */
static int64_t UnitToFind(PoiseContext ctx, PoiseInt M, PoiseInt N)
{
  enum { SOME = 16 };
  int64_t unit = 1;
  for (int b = 2; b <= POISE_BLOCK_FILLS; b++) {
    int64_t more = unit;
    while (more % b) more += unit;
    if (M % more == 0 && N % more == 0 && M / more >= SOME * (int64_t)PoiseSize(ctx)) unit = more;
  }
  return unit;
}

PoiseErr poiseMatLoadBlockSize(PoiseContext ctx, PoiseInt M, PoiseInt N, int64_t *b, int64_t *unit)
{
  PoiseInt asked;
  TRY(poiseMatReadBlockSize(ctx, &asked));
  *b = asked > 1 && M % asked == 0 && N % asked == 0 ? asked : 1;
  *unit = asked ? *b : UnitToFind(ctx, M, N);
  return POISE_OK;
}

/* ---- found ----------------------------------------------------------------------------------- */

/* Blocks of this rank, or -1 if b does not divide its rows and columns; and bytes of offsets, columns and
   values. */
static PoiseErr Count(PoiseMat A, int b, double *blocks, double *bytes)
{
  int64_t m = A->csr.m / b, n = A->csr.nz;
  *blocks = -1;
  *bytes = 0;
  if (A->csr.m % b || A->csr.nloc % b) return POISE_OK;
  if (b > 1) TRY(poiseMatCountBlocks(A, b, &n));
  *blocks = (double)n;
  *bytes = (8.0 * b * b + 4) * (double)n +
           (n > poiseContextHome(A->ctx)->hooks.most_narrow ? 8.0 : 4.0) * (double)(m + 1);
  return POISE_OK;
}

static PoiseErr CountAll(PoiseMat A, PoiseErr mine, double *blocks, double *bytes)
{
  for (int k = 0; !mine && k < POISE_BLOCK_FILLS; k++) mine = Count(A, k + 1, &blocks[k], &bytes[k]);
  return mine;
}

/* mine: this rank's error so far. */
static PoiseErr Find(PoiseMat A, PoiseErr mine, PoiseBlockFill *table, int *b)
{
  enum { N = POISE_BLOCK_FILLS };
  double blocks[N], sum[2 * N], fails[N];
  TRY(PoiseAgree(A->ctx, CountAll(A, mine, blocks, sum + N)));
  for (int k = 0; k < N; k++) sum[k] = blocks[k], fails[k] = blocks[k] < 0;
  TRY(PoiseSum(A->ctx, 2 * N, sum));
  TRY(PoiseMax(A->ctx, N, fails));
  *b = 1;
  for (int k = 0; k < N; k++) {
    double numbers = sum[k] * (k + 1) * (k + 1);
    table[k] = (PoiseBlockFill){.b = k + 1, .blocks = -1};
    if (fails[k] > 0) continue;
    table[k].blocks = (PoiseInt)sum[k];
    table[k].fill = sum[0] > 0 ? numbers / sum[0] : 1;
    table[k].bytes = sum[N + k];
    if (table[k].bytes < table[*b - 1].bytes) *b = k + 1;
  }
  return POISE_OK;
}

PoiseErr PoiseMatFindBlockSize(PoiseMat A, PoiseBlockFill table[POISE_BLOCK_FILLS], int *b)
{
  CALLED(OBJECT(A), GIVEN(table), GIVEN(b));
  PoiseErr e = poiseMatCheckStored(A);
  return Find(A, e ? e : poiseMatCheckUsable(A), table, b);
}

PoiseErr poiseMatBlockShare(PoiseMat A, double *share)
{
  double blocks, bytes[2] = {0, 0};
  PoiseErr e = Count(A, A->block_size, &blocks, &bytes[0]);
  if (!e) e = Count(A, 1, &blocks, &bytes[1]);
  TRY(PoiseAgree(A->ctx, e));
  TRY(PoiseSum(A->ctx, 2, bytes));
  *share = bytes[0] / bytes[1];
  return POISE_OK;
}

PoiseErr poiseMatTakeBlockSize(PoiseMat A)
{
  PoiseBlockFill *table = A->fills;
  PoiseErr e = table ? POISE_OK
                     : poiseAllocArray(A->ctx, POISE_BLOCK_FILLS, sizeof *table, "fill of blocks", &A->fills);
  e = Find(A, e, A->fills, &A->block_size);
  if (e && !table) poiseFree(A->ctx, &A->fills);
  TRY(e);
  A->asked.find = false;
  A->version.values++; /* all that was built from other blocks is invalid */
  return POISE_OK;
}

PoiseErr poiseMatViewFills(PoiseMat A)
{
  const PoiseBlockFill *csr = A->fills;
  if (A->block_size == 1)
    TRY(poisePrint(A->ctx, "  no blocks were found that take fewer than the %.0f bytes of CSR\n",
                   csr->bytes));
  else
    TRY(poisePrint(A->ctx, "  block size %d was found; CSR has %.0f bytes\n", A->block_size, csr->bytes));
  for (const PoiseBlockFill *f = csr + 1; f < csr + POISE_BLOCK_FILLS; f++)
    if (f->blocks < 0)
      TRY(poisePrint(A->ctx, "    %d x %d: %d does not divide the rows and columns of every rank\n", f->b,
                     f->b, f->b));
    else
      TRY(poisePrint(A->ctx, "    %d x %d: %lld blocks, %.3f numbers per nonzero, %.0f bytes\n", f->b, f->b,
                     (long long)f->blocks, f->fill, f->bytes));
  return POISE_OK;
}

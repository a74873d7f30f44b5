/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies of diagonal blocks: the pattern once, values whenever those of P change. */
#include "mat/csr/replace.h"
#include "mat/csr/entries.h"
#include "mat/object/mat_type.h"
#include "vec/vec_kernels.h"
#include "diagonal_block.h"

void poiseDiagonalBlockRelease(DiagonalBlock *b)
{
  PoiseMatDestroy(&b->A);
  PoiseVecDestroy(&b->r);
  PoiseVecDestroy(&b->z);
  PoiseVecDestroy(&b->wide_r);
  PoiseVecDestroy(&b->wide_z);
  poiseBufferDestroy(&b->from);
}

/* A range of rows or columns. For a matrix of blocks, the code below counts block rows, block columns and
   blocks. */
typedef struct Range {
  int64_t begin, end;
} Range;

static Range RowsOf(const Csr *c, const DiagonalBlock *b)
{
  int64_t side = poiseCsrSide(c);
  return (Range){b->first / side, (b->first + b->n) / side};
}

/* The entries [begin, end) of local row i that are in the block; they are contiguous. */
static void Entries(const Csr *c, const HostCsr *h, Range rows, int64_t i, int64_t *begin, int64_t *end)
{
  int64_t k = poiseCsrPtr(c, h->ptr, i), last = poiseCsrPtr(c, h->ptr, i + 1);
  while (k < last && (h->col[k] < rows.begin || h->col[k] >= rows.end)) k++;
  *begin = k;
  while (k < last && h->col[k] >= rows.begin && h->col[k] < rows.end) k++;
  *end = k;
}

static int64_t CountEntries(const Csr *c, const HostCsr *h, Range rows)
{
  int64_t nz = 0, begin, end;
  for (int64_t i = rows.begin; i < rows.end; i++) {
    Entries(c, h, rows, i, &begin, &end);
    nz += end - begin;
  }
  return nz;
}

PoiseErr poiseDiagonalBlockCount(PoisePC pc, const DiagonalBlock *b, int64_t *entries)
{
  HostCsr h;
  TRY(poiseMatPattern(pc->P, &h));
  *entries = CountEntries(&pc->P->csr, &h, RowsOf(&pc->P->csr, b));
  return POISE_OK;
}

enum { REACH = INT32_MAX }; /* entries of P that 32 bits can number */

/* The end of the rows from `row` on that have at most so many entries. */
static int64_t EndOfPiece(const Csr *c, const void *ptr, Range rows, int64_t row)
{
  int64_t end = row + 1, base = poiseCsrPtr(c, ptr, row);
  if (c->nz <= REACH) return rows.end;
  while (end < rows.end && poiseCsrPtr(c, ptr, end + 1) - base <= REACH) end++;
  return end;
}

/* The block's pattern, and where its values come from. */
static PoiseErr CopyPattern(PoisePC pc, DiagonalBlock *b, RowArrays *r)
{
  Csr *c = &pc->P->csr;
  Range rows = RowsOf(c, b);
  HostCsr h;
  int32_t *from;
  int64_t nz, begin, end;
  TRY(poiseMatPattern(pc->P, &h));
  nz = CountEntries(c, &h, rows);
  TRY(poiseRowArraysCreateBlocks(b->A, c->b, nz, r));
  TRY(poiseBufferCreate(pc->ctx->device, (size_t)nz * sizeof *from, "places of a block's entries", &b->from));
  TRY(poiseBufferWrite(&b->from, HOST, &from));
  nz = 0;
  for (int64_t row = rows.begin, last; row < rows.end; row = last) {
    int64_t base = poiseCsrPtr(c, h.ptr, row);
    last = EndOfPiece(c, h.ptr, rows, row);
    for (int64_t i = row; i < last; i++) {
      Entries(c, &h, rows, i, &begin, &end);
      for (int64_t k = begin; k < end; k++, nz++) {
        poiseRowArraysPutColumn(r, nz, h.col[k] - rows.begin);
        from[nz] = (int32_t)(k - base);
      }
      r->ptr[i - rows.begin + 1] = nz;
    }
  }
  return POISE_OK;
}

PoiseErr poiseDiagonalBlockCopyValues(PoisePC pc, DiagonalBlock *b)
{
  Csr *c = &pc->P->csr;
  Range rows = RowsOf(c, b);
  int64_t side = poiseCsrSide(c), size = side * side;
  const void *ptr, *own;
  const double *in;
  const int32_t *from;
  double *out;
  TRY(poiseBufferRead(&c->ptr, HOST, &ptr));
  TRY(poiseBufferRead(&b->A->csr.ptr, HOST, &own));
  TRY(poiseBufferRead(&c->val, DEVICE, &in));
  TRY(poiseBufferRead(&b->from, DEVICE, &from));
  TRY(poiseBufferWrite(&b->A->csr.val, DEVICE, &out));
  for (int64_t row = rows.begin, last; row < rows.end; row = last) {
    last = EndOfPiece(c, ptr, rows, row);
    int64_t k = poiseCsrPtr(&b->A->csr, own, row - rows.begin),
            end = poiseCsrPtr(&b->A->csr, own, last - rows.begin);
    GatherArgs a = {.n = end - k, .size = size, .idx = from + k};
    a.x = in + poiseCsrPtr(c, ptr, row) * size, a.out = out + k * size;
    TRY(LAUNCH(pc->ctx->device, gather, &a));
  }
  b->A->version.values++;
  return POISE_OK;
}

PoiseErr poiseDiagonalBlockCreateEmpty(PoisePC pc, const DiagonalBlock *b, PoiseMat *A)
{
  PoiseMat P = pc->P;
  TRY(poiseMatCreateTyped(poiseContextSelf(pc->ctx), P->asked.type, b->n, b->n, b->n, b->n, A));
  (*A)->block_size = P->block_size;
  poiseMatInherit(P, *A);
  TRY(poiseMatSetLibrary(*A, 0));
  (*A)->origin.row = P->origin.row + P->rows->begin + b->first;
  return P->origin.moves.to ? poiseMatShare(P->origin.moves.to, &(*A)->origin.moves.to) : POISE_OK;
}

PoiseErr poiseDiagonalBlockCreate(PoisePC pc, DiagonalBlock *b)
{
  RowArrays r = {0};
  poiseDiagonalBlockRelease(b);
  TRY(poiseDiagonalBlockCreateEmpty(pc, b, &b->A));
  TRY(poiseMatReplace(b->A, CopyPattern(pc, b, &r), &r));
  TRY(poiseVecCreateSlice(b->A->rows, &b->r));
  return poiseVecCreateSlice(b->A->rows, &b->z);
}

PoiseErr poiseDiagonalBlockReadyColumns(DiagonalBlock *b, int columns)
{
  Layout *wide;
  if (b->wide_z && poiseVecColumns(b->wide_z) == columns) return POISE_OK;
  PoiseVecDestroy(&b->wide_r);
  PoiseVecDestroy(&b->wide_z);
  TRY(poiseLayoutColumns(b->A->rows, columns, &wide));
  PoiseErr e = poiseVecCreateSlice(wide, &b->wide_r);
  if (!e) e = poiseVecCreateSlice(wide, &b->wide_z);
  poiseLayoutDestroy(&wide);
  return e;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  A matrix on a device of rows that others have: of one rank that divides its rows, or of several that gather
  them. Its rows follow each other as the pieces do, and so do its columns, as numbers are the same in all.
  Entries keep their order, so values are copied as they are.

  Traffic: 24 bytes per entry with its value, and 3 offsets per row.
*/
#include "joined.h"
#include "complete.h"
#include "ghosts_there.h"
#include "global_entries.h"
#include "joined_kernels.h"
#include "mat/object/mat_type.h"
#include "numbering.h"
#include "sys/device/host_loop.h"

static CopyKind Kind(Side from)
{
  return from == HOST ? COPY_TO_DEVICE : COPY_ON_DEVICE;
}

static int64_t OffsetAt(const CsrPiece *p, const void *ptr, int64_t i)
{
  return p->wide ? ((const int64_t *)ptr)[i] : ((const int32_t *)ptr)[i];
}

/* The piece's first entry, and how many it has. */
static PoiseErr Measure(Device *dev, CsrPiece *p)
{
  const size_t width = p->wide ? sizeof(int64_t) : sizeof(int32_t);
  const char *first = (const char *)p->ptr + (size_t)p->first * width;
  const void *from[] = {first, first + (size_t)p->rows * width};
  int64_t ends[2] = {0};
  p->begin = p->nz = 0;
  if (!p->rows) return POISE_OK;
  if (p->ptr_side == DEVICE)
    TRY(poiseDeviceFetchEach(dev, 2, width, from, ends));
  else
    for (int k = 0; k < 2; k++) memcpy((char *)ends + (size_t)k * width, from[k], width);
  p->begin = OffsetAt(p, ends, 0);
  p->nz = OffsetAt(p, ends, 1) - p->begin;
  return POISE_OK;
}

/* Offsets of a piece, from row `row` on; they begin at entry `at`. */
static PoiseErr CopyOffsets(Device *dev, const CsrPiece *p, int64_t row, int64_t at, bool wide, void *ptr)
{
  const size_t width = p->wide ? sizeof(int64_t) : sizeof(int32_t), bytes = (size_t)(p->rows + 1) * width;
  Buffer raw = {0};
  void *in;
  PoiseErr e = poiseBufferCreate(dev, bytes, "offsets of a piece", &raw);
  if (!e) e = poiseBufferWrite(&raw, DEVICE, &in);
  if (!e)
    e = poiseDeviceCopyArray(dev, in, (const char *)p->ptr + (size_t)p->first * width, bytes,
                             Kind(p->ptr_side));
  if (!e)
    e = LAUNCH(dev, joined_offsets,
               &(JoinedOffsetsArgs){.n = p->rows + 1,
                                    .add = at - p->begin,
                                    .wide_in = p->wide,
                                    .wide_out = wide,
                                    .in = in,
                                    .out = (char *)ptr + (size_t)row * (wide ? 8 : 4)});
  poiseBufferDestroy(&raw);
  return e;
}

/* Global columns of a piece. */
static PoiseErr CopyColumns(Device *dev, const CsrPiece *p, int32_t *col)
{
  JoinedColumnsArgs a = {.n = p->nz, .columns = p->columns, .col = col};
  Buffer list = {0};
  if (!p->nz) return POISE_OK;
  TRY(poiseDeviceCopyArray(dev, col, p->col + p->begin, (size_t)p->nz * sizeof *col, Kind(p->col_side)));
  if (!p->nghost && !p->columns.column) return POISE_OK; /* they are global */
  PoiseErr e = p->nghost ? poiseGhostsToDevice(dev, p->nghost, &list, &a.columns) : POISE_OK;
  if (!e) e = LAUNCH(dev, joined_columns, &a);
  poiseBufferDestroy(&list);
  return e;
}

static PoiseErr CreateArrays(Device *dev, Csr *c, void **ptr, int32_t **col)
{
  double *val;
  c->wide = c->nz > poiseContextHome(dev->ctx)->hooks.most_narrow;
  TRY(poiseBufferCreate(dev, (size_t)(c->m + 1) * (c->wide ? 8 : 4), "row offsets", &c->ptr));
  TRY(poiseBufferCreate(dev, (size_t)c->nz * sizeof **col, "columns", &c->col));
  TRY(poiseBufferCreate(dev, (size_t)poiseCsrScalars(c) * sizeof *val, "values", &c->val));
  TRY(poiseBufferWrite(&c->ptr, DEVICE, ptr));
  TRY(poiseBufferWrite(&c->col, DEVICE, col));
  return poiseBufferWrite(&c->val, DEVICE, &val);
}

static PoiseErr Join(PoiseMat A, int count, CsrPiece *piece)
{
  static const int64_t none = 0;
  Device *dev = A->ctx->device;
  Csr *c = &A->csr;
  void *ptr;
  int32_t *col;
  poiseCsrMeasure(A);
  if (c->columns > INT32_MAX)
    FAIL(POISE_ERR_UNSUPPORTED, "%lld columns, more than fit in 32 bits, cannot be joined on a GPU",
         (long long)c->columns);
  for (int k = 0; k < count; k++) {
    TRY(Measure(dev, &piece[k]));
    c->nz += piece[k].nz;
  }
  TRY(CreateArrays(dev, c, &ptr, &col));
  if (!c->m) TRY(poiseDeviceCopy(dev, ptr, &none, c->wide ? 8 : 4, COPY_TO_DEVICE));
  int64_t row = 0, at = 0;
  for (int k = 0; k < count; k++) {
    if (!piece[k].rows) continue;
    TRY(CopyOffsets(dev, &piece[k], row, at, c->wide, ptr));
    TRY(CopyColumns(dev, &piece[k], col + at));
    row += piece[k].rows, at += piece[k].nz;
  }
  TRY(PoiseSize(A->ctx) > 1 ? poiseGhostsNumberThere(A, c) : POISE_OK);
  return poiseDeviceSync(dev); /* the owners' arrays have served */
}

PoiseErr poiseMatJoined(PoiseContext ctx, PoiseErr mine, const MatType *type, int b, PoiseInt n, PoiseInt N,
                        int count, CsrPiece *piece, PoiseMat *A)
{
  *A = NULL;
  TRY(PoiseAgree(ctx, mine));
  TRY(poiseMatCreateTyped(ctx, b ? &poiseMatType_bcsr : type, n, n, N, N, A));
  (*A)->csr.b = b;
  if (b) (*A)->block_size = b, (*A)->asked.settled = true;
  if (b) poiseMatUse(*A, &poiseMatType_bcsr, b);
  poiseLogBegin(ctx, EVENT_MatAssemble);
  PoiseErr e = poiseCsrComplete(*A, Join(*A, count, piece));
  poiseLogEnd(ctx, EVENT_MatAssemble, 0, 0);
  (*A)->assembled = !e;
  if (e) PoiseMatDestroy(A);
  return e;
}

HOST_ITEMS(joined_offsets, JoinedOffsetsArgs, joined_offsets_item(a, i))
HOST_ITEMS(rows_offsets, RowsOffsetsArgs, rows_offsets_item(a, i))
HOST_ITEMS(joined_columns, JoinedColumnsArgs, joined_columns_item(a, i))

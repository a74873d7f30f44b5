/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Colours by rounds: a row takes the least colour that its neighbours have not, when those that come before it
  have theirs (M. Jones, P. Plassmann, A parallel graph coloring heuristic, SIAM J. Sci. Comput. 14, 1993).
  Who comes first is a hash, so that few rows wait for long, but for grids. There a row's number tells its
  place: even places of lines, planes and layers come first, and 7 points have 2 colours, 27 have 8. Numbers
  along lines are found from the offsets of sampled rows; where there is no grid, they do no harm.
*/
#include "mat/csr/transpose.h"
#include "mat/multiply/local_product.h"
#include "amg/rows.h"
#include "colours.h"
#include "colours_kernels.h"
#include "mat/product/product_model.h"

enum { ROUNDS = 4 }; /* of a GPU, between questions */

/* ---- numbers along lines --------------------------------------------------------------------- */

/* Offsets come in heaps: beside the diagonal, around that of the next line, of the next plane. A heap is as
   wide as all that the strides before it reach. */
static int StridesOf(const int32_t *offset, int64_t *stride)
{
  int count = 0, q = 0;
  int64_t reach = 0;
  while (q < COLOUR_OFFSETS && offset[q] > 0 && count < COLOUR_STRIDES) {
    int64_t low = offset[q], high = low, end = low + 2 * reach;
    for (; q < COLOUR_OFFSETS && offset[q] > 0 && offset[q] <= end; q++) high = offset[q];
    stride[count] = (low + high) / 2;
    reach += stride[count++];
    while (q < COLOUR_OFFSETS && offset[q] > 0 && offset[q] <= reach) q++;
  }
  return count;
}

/* What is fetched stays small: the numbers of neighbours, then the offsets of the first row with the most,
   which is not at an end of the grid. */
static PoiseErr Sample(Device *dev, const ColourSampleArgs *s, int32_t *offset)
{
  int32_t entries[COLOUR_SAMPLES];
  int most = 0;
  TRY(LAUNCH(dev, colour_sample, s));
  TRY(poiseDeviceFetch(dev, s->entries, sizeof entries, entries));
  for (int k = 1; k < COLOUR_SAMPLES; k++)
    if (entries[k] > entries[most]) most = k;
  return poiseDeviceFetch(dev, s->offset + most * COLOUR_OFFSETS, COLOUR_OFFSETS * sizeof *offset, offset);
}

static PoiseErr FindStrides(Device *dev, ColourArgs *a)
{
  ColourSampleArgs s = {.n = COLOUR_SAMPLES, .t = a->t, .column = a->column, .rows = a->rows};
  int32_t offset[COLOUR_OFFSETS];
  Buffer entries = {0}, offsets = {0};
  PoiseErr e = poiseAmgMake(dev, s.n, sizeof *s.entries, "lengths of sampled rows", &entries, &s.entries);
  if (!e) e = poiseAmgMake(dev, s.n * COLOUR_OFFSETS, sizeof *s.offset, "sampled rows", &offsets, &s.offset);
  if (!e) e = Sample(dev, &s, offset);
  poiseBufferDestroy(&entries);
  poiseBufferDestroy(&offsets);
  if (!e) a->strides = StridesOf(offset, a->stride);
  return e;
}

/* ---- the choice ------------------------------------------------------------------------------ */

bool poiseColoursChosen(PoisePC pc, int asked, const Version *refused)
{
  bool many = pc->P->rows->N >= (PoiseInt)COLOUR_ROWS * PoiseSize(pc->ctx);
  if (asked != ORDER_AUTO) return asked == ORDER_COLOURS;
  return many && poiseModelIsGpu(&pc->ctx->device->model) && poiseMatHolds(pc->P) &&
         poiseMatChanged(refused, pc->P) & CHANGED_PATTERN;
}

PoiseErr poiseColoursAgree(PoisePC pc, int asked, PoiseErr mine, Version *refused, bool *again)
{
  int64_t many = asked == ORDER_AUTO && mine == POISE_ERR_UNSUPPORTED;
  *again = false;
  if (many) PoiseErrorClear();
  TRY(PoiseAgree(pc->ctx, many ? POISE_OK : mine));
  if (asked != ORDER_AUTO) return POISE_OK;
  TRY(poiseCommMaxInt(pc->ctx->comm, &many, 1));
  *again = many;
  if (many) *refused = pc->P->version;
  return POISE_OK;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

typedef struct Scratch {
  Triangular t;
  Transposed of; /* of a pattern that is not symmetric */
  Buffer rank, next, flags, length;
  Csr offset;
} Scratch;

static void Release(PoiseContext ctx, Scratch *s)
{
  Buffer *const all[] = {&s->rank, &s->next, &s->flags, &s->length};
  for (int k = 0; k < 4; k++) poiseBufferDestroy(all[k]);
  poiseTriangularDestroy(&s->t);
  poiseTransposedDestroy(&s->of);
  poiseCsrDestroy(ctx, &s->offset);
}

static PoiseErr Neighbours(PoisePC pc, Scratch *s, ColourArgs *a)
{
  bool symmetric;
  TRY(poiseTriangularSetup(pc, &s->t, false, true, 0));
  TRY(poiseTriangularView(pc, &s->t, DEVICE, &a->t));
  TRY(poiseTriangularIsSymmetric(pc, &s->t, &symmetric));
  if (symmetric) return POISE_OK;
  TRY(poiseTransposedCreate(pc->P, &s->of));
  TRY(poiseBufferRead(&s->of.ptr, DEVICE, &a->column));
  return poiseBufferRead(&s->of.row, DEVICE, &a->rows);
}

/* Colours that were written last are in c->colour. Each round decides the first of the rows that are left. */
static PoiseErr Rounds(Device *dev, ColourArgs *a, Scratch *s, Colours *c)
{
  uint8_t *now, *next;
  int32_t left = a->n > 0, many = 0;
  TRY(poiseBufferUpdate(&c->colour, DEVICE, &now));
  TRY(poiseAmgMake(dev, a->n, sizeof *next, "next colours", &s->next, &next));
  a->colour = now;
  TRY(LAUNCH(dev, colour_start, a));
  while (left) {
    for (int k = 0; k < (dev->ops->is_host ? 2 : ROUNDS); k++) { /* an even number */
      a->before = k % 2 ? next : now, a->colour = k % 2 ? now : next, a->turn = k % 2;
      TRY(LAUNCH(dev, colour_pass, a));
    }
    TRY(poiseDeviceFetch(dev, a->left + 1, sizeof left, &left));
  }
  TRY(poiseDeviceFetch(dev, a->many, sizeof many, &many));
  if (many)
    FAIL(POISE_ERR_UNSUPPORTED, "the rows of this rank need more than %d colours: sweep in the natural order",
         COLOUR_MOST);
  a->colour = now;
  return POISE_OK;
}

/* ---- places ---------------------------------------------------------------------------------- */

/* Rows of colour `members` in their order, behind those of colours before. */
static PoiseErr PlaceMembers(PoiseContext ctx, ColourArgs *a, Scratch *s, Colours *c)
{
  a->offset = (CsrView){.m = a->n};
  TRY(LAUNCH(ctx->device, colour_count, a));
  TRY(poiseRowOffsets(ctx->device, a->n, a->length, &s->offset));
  TRY(s->offset.wide ? poiseBufferRead(&s->offset.ptr, DEVICE, &a->offset.ptr64)
                     : poiseBufferRead(&s->offset.ptr, DEVICE, &a->offset.ptr32));
  a->start = c->start[c->count];
  TRY(LAUNCH(ctx->device, colour_place, a));
  c->start[c->count + 1] = a->start + (s->offset.nz + c->unit - 1) / c->unit * c->unit;
  c->count++;
  return POISE_OK;
}

static PoiseErr Places(PoiseContext ctx, ColourArgs *a, Scratch *s, Colours *c)
{
  Device *dev = ctx->device;
  int64_t placed = 0, most = a->n + (int64_t)c->unit * COLOUR_MOST;
  if (most > INT32_MAX) FAIL(POISE_ERR_UNSUPPORTED, "%lld rows by colours, more than 2^31", (long long)most);
  TRY(poiseAllocArray(ctx, COLOUR_MOST + 1, sizeof *c->start, "colours", &c->start));
  TRY(poiseAmgMake(dev, a->n, sizeof *a->length, "rows of a colour", &s->length, &a->length));
  TRY(poiseAmgMake(dev, a->n, sizeof *a->place, "places of rows", &c->place, &a->place));
  for (a->members = 0; placed < a->n; a->members++) {
    TRY(PlaceMembers(ctx, a, s, c));
    placed += s->offset.nz;
    poiseCsrDestroy(ctx, &s->offset);
  }
  ColourArgs rows = {.n = c->start[c->count], .place = a->place};
  TRY(poiseAmgMake(dev, rows.n, sizeof *rows.row, "rows by colour", &c->row, &rows.row));
  TRY(LAUNCH(dev, colour_clear, &rows));
  rows.n = a->n;
  return LAUNCH(dev, colour_rows, &rows);
}

static PoiseErr Find(PoisePC pc, Scratch *s, Colours *c)
{
  Device *dev = pc->ctx->device;
  ColourArgs a = {.n = pc->P->csr.m};
  c->n = a.n;
  TRY(Neighbours(pc, s, &a));
  if (a.n) TRY(FindStrides(dev, &a));
  TRY(poiseAmgMake(dev, a.n, sizeof *a.rank, "order of rows", &s->rank, &a.rank));
  TRY(poiseAmgMake(dev, a.n, sizeof *a.colour, "colours of rows", &c->colour, &a.colour));
  TRY(poiseBufferCreate(dev, 3 * sizeof *a.left, "flags", &s->flags));
  poiseBufferZero(&s->flags);
  TRY(poiseBufferUpdate(&s->flags, DEVICE, &a.left));
  a.many = a.left + 2;
  TRY(Rounds(dev, &a, s, c));
  return Places(pc->ctx, &a, s, c);
}

PoiseErr poiseColoursFind(PoisePC pc, int unit, Colours *c)
{
  Scratch s = {0};
  poiseColoursDestroy(pc->ctx, c);
  c->unit = unit;
  PoiseErr e = Find(pc, &s, c);
  Release(pc->ctx, &s);
  if (e) poiseColoursDestroy(pc->ctx, c);
  return e;
}

void poiseColoursBytes(const Colours *c, PoiseBytes *sum)
{
  poiseBufferAdd(&c->colour, sum);
  poiseBufferAdd(&c->place, sum);
  poiseBufferAdd(&c->row, sum);
  sum->host += poiseAllocated(c->start);
}

void poiseColoursDestroy(PoiseContext ctx, Colours *c)
{
  poiseBufferDestroy(&c->colour);
  poiseBufferDestroy(&c->place);
  poiseBufferDestroy(&c->row);
  poiseFree(ctx, &c->start);
  *c = (Colours){0};
}

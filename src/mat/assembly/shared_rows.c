/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Rows of a rank, of which some are other ranks', as triplets that are sorted already: those of own rows stay
  in their order, those of other ranks' rows stand together by their owners. So nothing is sorted but what a
  rank receives, between which its own entries find their places. As with other triplets, an entry's values
  keep their order: this rank's, then received ones in the order of ranks.

  Bytes held beside n entries and r received ones: 12 (n + r), 8 a row, and 24 r in the sort.
*/
#include "coo_kernels.h"
#include "mat/csr/keys.h"
#include "mat/object/mat_type.h"
#include "shared_rows.h"
#include "shared_rows_kernels.h"
#include "sys/device/host_loop.h"

bool poiseSharedRowsStay(PoiseMat A)
{
  int b = poiseMatAskedBlocks(A);
  int64_t side = b ? b : 1;
  return !A->ctx->device->ops->is_host && A->rows->N / side <= INT32_MAX && A->cols->N / side <= INT32_MAX;
}

/* All arguments but what is written. */
static SharedKeysArgs Arguments(const SharedRows *s, const Keys *k)
{
  return (SharedKeysArgs){
      .C = s->C, .rows = s->rows, .columns = s->columns, .bits = k->bits, .foreign = k->foreign};
}

static SharedKeysArgs OfOthers(const SharedRows *s, const Keys *k)
{
  SharedKeysArgs a = Arguments(s, k);
  a.first = s->rows.nloc, a.n = s->C.m - s->rows.nloc, a.skip = s->own;
  return a;
}

/* Where the offsets stand that end the own rows, and those of each rank that has any here; p->next: these
   ranks. Returns how many. The ghosts are still on the host. */
static int ListEnds(PoiseMat A, TripletPattern *p, size_t width, const void **at)
{
  const SharedRows *s = p->shared;
  const char *ptr = s->C.ptr32 ? (const void *)s->C.ptr32 : (const void *)s->C.ptr64;
  int n = 0;
  at[n] = ptr + (size_t)s->rows.nloc * width;
  for (int64_t r = 0, k = 0; r < PoiseSize(A->ctx); r++) {
    int64_t before = k, end = A->rows->start[r + 1] / p->unit;
    while (k < s->nghost[0] && s->rows.ghost[k] < end) k++;
    if (k == before) continue;
    p->next[n++] = r;
    at[n] = ptr + (size_t)(s->rows.nloc + k) * width;
  }
  return n + 1;
}

/* Entries of own rows, and for each rank the bytes of values of its rows. */
static PoiseErr Weigh(PoiseMat A, const Triplets *t, TripletPattern *p, const void **at, int64_t *offset)
{
  size_t width = p->shared->C.ptr32 ? sizeof(int32_t) : sizeof(int64_t);
  int n = ListEnds(A, p, width, at);
  int32_t narrow;
  TRY(poiseDeviceFetchEach(A->ctx->device, n, width, at, offset));
  for (int k = n - 1; k >= 0 && width < sizeof *offset; k--) { /* in place */
    memcpy(&narrow, (const char *)offset + (size_t)k * width, width);
    offset[k] = narrow;
  }
  p->shared->own = offset[0];
  for (int k = 1; k < n; k++)
    p->bytes[p->next[k - 1]] = (offset[k] - offset[k - 1]) * t->numbers * (int64_t)sizeof(double);
  return POISE_OK;
}

static PoiseErr CountEntries(PoiseMat A, const Triplets *t, TripletPattern *p)
{
  const void **at = NULL;
  int64_t *offset = NULL, most = PoiseSize(A->ctx) + 1;
  PoiseErr e = poiseAllocArray(A->ctx, most, sizeof *at, "offsets of ranks", &at);
  if (!e) e = poiseAllocArray(A->ctx, most, sizeof *offset, "offsets of ranks", &offset);
  if (!e) e = Weigh(A, t, p, at, offset);
  poiseFree(A->ctx, &at);
  poiseFree(A->ctx, &offset);
  return e;
}

static PoiseErr ListOthers(PoiseMat A, TripletPattern *p)
{
  Device *dev = A->ctx->device;
  SharedKeysArgs a = OfOthers(p->shared, &p->keys);
  TRY(poiseBufferCreate(dev, (size_t)p->nforeign * sizeof *a.key, "keys of other ranks", &p->foreign));
  TRY(poiseBufferWrite(&p->foreign, DEVICE, &a.key));
  return LAUNCH(dev, shared_keys, &a);
}

PoiseErr poiseSharedRowsPart(PoiseMat A, const Triplets *t, TripletPattern *p)
{
  Device *dev = A->ctx->device;
  SharedRows *s = p->shared;
  TRY(poiseTripletKeysOpen(A, 0, false, &p->keys));
  TRY(CountEntries(A, t, p));
  TRY(poiseGhostsToDevice(dev, s->nghost[0], &s->list[0], &s->rows));
  TRY(poiseGhostsToDevice(dev, s->nghost[1], &s->list[1], &s->columns));
  p->nforeign = s->C.nz - s->own;
  return ListOthers(A, p);
}

/* Places of values for other ranks. */
static PoiseErr ListSend(PoiseMat A, Triplets *t, const TripletPattern *p, bool wide)
{
  Device *dev = A->ctx->device;
  SharedKeysArgs a = OfOthers(p->shared, &p->keys);
  TRY(poiseBufferCreate(dev, (size_t)p->nforeign * (wide ? 8 : 4), "values to send", &t->map.send));
  TRY(poiseBufferWrite(&t->map.send, DEVICE, wide ? (void *)&a.place64 : (void *)&a.place32));
  return LAUNCH(dev, shared_keys, &a);
}

/* What is received, sorted. */
static PoiseErr Sort(PoiseMat A, TripletPattern *p, Keys *got)
{
  Device *dev = A->ctx->device;
  const uint64_t *came;
  CooReceivedArgs a = {.n = p->ncame,
                       .first = p->n,
                       .begin = A->rows->begin / p->unit,
                       .bits = got->bits,
                       .foreign = got->foreign};
  TRY(poiseKeysCreate(dev, got, &a.key, &a.place64, &a.place32));
  TRY(poiseBufferRead(&p->came, DEVICE, &came));
  TRY(poiseDeviceCopy(dev, a.key, came, (size_t)a.n * sizeof *a.key, COPY_ON_DEVICE));
  TRY(LAUNCH(dev, coo_received, &a));
  return poiseKeysSort(dev, got, 0, got->bits + poiseBitsOf(got->m));
}

/* What is received, and where. */
static PoiseErr Received(Device *dev, Keys *got, Buffer *before, SharedKeysArgs *a)
{
  a->nreceived = got->n;
  if (!got->n) return POISE_OK;
  TRY(poiseBufferRead(&got->key[1], DEVICE, &a->received));
  TRY(poiseBufferRead(&got->place[1], DEVICE, got->wide ? (void *)&a->received64 : (void *)&a->received32));
  SharedKeysArgs rows = *a;
  rows.n = got->m + 1;
  TRY(poiseBufferCreate(dev, (size_t)rows.n * sizeof *rows.before, "entries received of rows", before));
  TRY(poiseBufferWrite(before, DEVICE, &rows.before));
  a->before = rows.before;
  return LAUNCH(dev, shared_before, &rows);
}

/* Own entries, and between them those received. */
static PoiseErr Merge(PoiseMat A, Keys *got, Buffer *before, TripletPattern *p)
{
  Device *dev = A->ctx->device;
  Keys *k = &p->keys;
  SharedKeysArgs a = Arguments(p->shared, k);
  TRY(Received(dev, got, before, &a));
  a.n = p->shared->rows.nloc;
  TRY(poiseBufferCreate(dev, (size_t)k->n * sizeof *a.key, "keys", &k->key[1]));
  TRY(poiseBufferCreate(dev, (size_t)k->n * (k->wide ? 8 : 4), "places of keys", &k->place[1]));
  TRY(poiseBufferWrite(&k->key[1], DEVICE, &a.key));
  TRY(poiseBufferWrite(&k->place[1], DEVICE, k->wide ? (void *)&a.place64 : (void *)&a.place32));
  TRY(LAUNCH(dev, shared_keys, &a));
  a.n = got->n;
  return LAUNCH(dev, shared_received, &a);
}

PoiseErr poiseSharedRowsJoin(PoiseMat A, Triplets *t, TripletPattern *p)
{
  Keys *k = &p->keys;
  bool wide = poisePlacesAreWide(A->ctx, p->n + p->ncame);
  Keys got = {.n = p->ncame, .m = k->m, .bits = k->bits, .foreign = k->foreign, .wide = wide};
  Buffer before = {0};
  k->n = p->shared->own + p->ncame;
  k->wide = wide, k->sorted = true;
  PoiseErr e = ListSend(A, t, p, wide);
  if (!e && got.n) e = Sort(A, p, &got);
  if (!e) e = Merge(A, &got, &before, p);
  poiseKeysDestroy(&got);
  poiseBufferDestroy(&before);
  return e;
}

/* ---- host kernels: for devices that run them ---------------------------------------------------- */

HOST_ITEMS(shared_keys, SharedKeysArgs, shared_keys_row(a, i, 0, 1))
HOST_ITEMS(shared_before, SharedKeysArgs, shared_before_item(a, i))
HOST_ITEMS(shared_received, SharedKeysArgs, shared_received_item(a, i))

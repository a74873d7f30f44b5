/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Triplets of several ranks on their devices. Those of other ranks' rows are set apart by one pass of the
  sort, over the bit that marks them, and then sorted. Their keys travel to their owners as they are. What a
  rank receives joins its own, behind them, so that an entry's values keep their order: given ones, then
  received ones in the order of ranks.
*/
#include "coo.h"
#include "coo_kernels.h"
#include "mat/csr/find.h"
#include "mat/object/mat_type.h"
#include "sys/device/host_loop.h"

static int64_t PlaceBytes(const Keys *k)
{
  return k->wide ? (int64_t)sizeof(int64_t) : (int64_t)sizeof(uint32_t);
}

/* *own = the number of keys, once they are parted, that are not foreign. */
static PoiseErr CountOwn(PoiseContext ctx, Keys *k, int64_t *own)
{
  const uint64_t *key;
  TRY(poiseBufferRead(&k->key[1], DEVICE, &key));
  return poiseFind(
      ctx,
      (FindArgs){
          .what = FIND_BEYOND, .n = k->n, .limit = INT64_C(1) << k->foreign, .col64 = (const int64_t *)key},
      own);
}

/* A view of the last n of an array's items. */
static PoiseErr Lend(Device *dev, Buffer *all, int64_t first, int64_t n, int64_t width, Buffer *view)
{
  char *there;
  TRY(poiseBufferRead(all, DEVICE, &there));
  poiseBufferSlice(dev, (size_t)(n * width), all->what, view);
  poiseBufferPoint(view, there + first * width);
  return POISE_OK;
}

/* The keys from number `own` on, sorted: their owners' rows stand together, and equal keys stay in order. */
static PoiseErr SortForeign(Device *dev, Keys *k, int64_t own, Keys *foreign)
{
  TRY(Lend(dev, &k->key[1], own, foreign->n, (int64_t)sizeof(uint64_t), &foreign->key[0]));
  TRY(Lend(dev, &k->place[1], own, foreign->n, PlaceBytes(k), &foreign->place[0]));
  return poiseKeysSort(dev, foreign, 0, k->foreign);
}

PoiseErr poiseTripletKeysPart(PoiseMat A, Keys *k, Buffer *send, int64_t *n, Buffer *foreign)
{
  PoiseContext ctx = A->ctx;
  int64_t own;
  TRY(poiseKeysSort(ctx->device, k, k->foreign, 1));
  TRY(CountOwn(ctx, k, &own));
  Keys others = {.n = k->n - own, .wide = k->wide};
  *n = others.n;
  PoiseErr e = *n ? SortForeign(ctx->device, k, own, &others) : POISE_OK;
  poiseBufferDestroy(send);
  if (!e) *send = poiseKeysTakePlaces(&others);
  if (!e) *foreign = poiseKeysTake(&others);
  if (!e) k->n = own;
  poiseKeysDestroy(&others);
  return e;
}

/* joined = the own keys, then those received. */
static PoiseErr Join(PoiseMat A, Keys *k, Buffer *received, int64_t first, Keys *joined)
{
  Device *dev = A->ctx->device;
  const void *own, *at, *came;
  CooReceivedArgs a = {.n = joined->n - k->n,
                       .first = first,
                       .begin = A->rows->begin / (poiseMatAskedBlocks(A) ? A->block_size : 1),
                       .bits = k->bits,
                       .foreign = k->foreign};
  size_t count = (size_t)k->n, width = (size_t)PlaceBytes(k);
  TRY(poiseKeysCreate(dev, joined, &a.key, &a.place64, &a.place32));
  TRY(poiseBufferRead(&k->key[1], DEVICE, &own));
  TRY(poiseBufferRead(&k->place[1], DEVICE, &at));
  TRY(poiseDeviceCopy(dev, a.key, own, count * sizeof *a.key, COPY_ON_DEVICE));
  TRY(poiseDeviceCopy(dev, k->wide ? (void *)a.place64 : (void *)a.place32, at, count * width,
                      COPY_ON_DEVICE));
  a.key += count;
  if (k->wide)
    a.place64 += count;
  else
    a.place32 += count;
  TRY(poiseBufferRead(received, DEVICE, &came));
  TRY(poiseDeviceCopy(dev, a.key, came, (size_t)a.n * sizeof *a.key, COPY_ON_DEVICE));
  return LAUNCH(dev, coo_received, &a);
}

PoiseErr poiseTripletKeysJoin(PoiseMat A, Keys *k, int64_t n, Buffer *received, int64_t first)
{
  Keys joined = {.n = k->n + n, .m = k->m, .bits = k->bits, .foreign = k->foreign, .wide = k->wide};
  PoiseErr e = Join(A, k, received, first, &joined);
  poiseKeysDestroy(k);
  *k = joined;
  return e;
}

/* ---- host kernel ----------------------------------------------------------------------------- */

HOST_ITEMS(coo_received, CooReceivedArgs, coo_received_item(a, i))

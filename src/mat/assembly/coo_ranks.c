/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Triplets of several ranks on their devices. Those of other ranks' rows are set apart by one pass of the
  sort, over the bit that marks them. They alone go to the host, and travel to their owners. What a rank
  receives joins its own, behind them, so that an entry's values keep their order: given ones, then received
  ones in the order of ranks.
*/
#include "coo.h"
#include "mat/csr/find.h"
#include "mat/mat_type.h"

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

/* Keys and places from number `own` on, to the host. */
static PoiseErr Fetch(PoiseContext ctx, Keys *k, int64_t own, uint64_t *key, void *place)
{
  Device *dev = ctx->device;
  const uint64_t *keys;
  const char *places;
  size_t n = (size_t)(k->n - own), width = (size_t)PlaceBytes(k);
  TRY(poiseBufferRead(&k->key[1], DEVICE, &keys));
  TRY(poiseBufferRead(&k->place[1], DEVICE, &places));
  TRY(poiseDeviceCopy(dev, key, keys + own, n * sizeof *key, COPY_TO_HOST));
  TRY(poiseDeviceCopy(dev, place, places + (size_t)own * width, n * width, COPY_TO_HOST));
  return poiseDeviceSync(dev);
}

static void Decode(const Keys *k, int64_t n, const uint64_t *key, const void *place, TripletForeign *foreign)
{
  const uint64_t column = (UINT64_C(1) << k->bits) - 1, row = (UINT64_C(1) << (k->foreign - k->bits)) - 1;
  for (int64_t i = 0; i < n; i++)
    foreign[i] = (TripletForeign){k->wide ? ((const int64_t *)place)[i] : ((const uint32_t *)place)[i],
                                  (PoiseInt)(key[i] >> k->bits & row), (PoiseInt)(key[i] & column)};
}

PoiseErr poiseTripletKeysPart(PoiseMat A, Keys *k, int64_t *n, TripletForeign **foreign)
{
  PoiseContext ctx = A->ctx;
  uint64_t *key = NULL;
  void *place = NULL;
  int64_t own;
  TRY(poiseKeysSort(ctx->device, k, k->foreign, 1));
  TRY(CountOwn(ctx, k, &own));
  *n = k->n - own;
  PoiseErr e = poiseAllocArray(ctx, *n, sizeof **foreign, "triplets of other ranks", foreign);
  if (!e) e = poiseAllocArray(ctx, *n, sizeof *key, "keys of other ranks", &key);
  if (!e) e = poiseAllocArray(ctx, *n, PlaceBytes(k), "places of other ranks", &place);
  if (!e) e = Fetch(ctx, k, own, key, place);
  if (!e) Decode(k, *n, key, place, *foreign);
  if (!e) k->n = own;
  poiseFree(ctx, &key);
  poiseFree(ctx, &place);
  return e;
}

/* What is received, as keys. */
static void Encode(const Keys *k, int64_t begin, int64_t n, const Entry *entry, int64_t first, uint64_t *key,
                   void *place)
{
  for (int64_t i = 0; i < n; i++) {
    key[i] = (uint64_t)(entry[i].row - begin) << k->bits | (uint64_t)entry[i].col;
    if (k->wide)
      ((int64_t *)place)[i] = first + i;
    else
      ((uint32_t *)place)[i] = (uint32_t)(first + i);
  }
}

/* joined = the own keys, then `n` from the host. */
static PoiseErr Join(Device *dev, Keys *k, int64_t n, const uint64_t *key, const void *place, Keys *joined)
{
  const void *own, *at;
  uint64_t *to;
  int64_t *to64;
  uint32_t *to32;
  size_t width = (size_t)PlaceBytes(k), count = (size_t)k->n;
  TRY(poiseKeysCreate(dev, joined, &to, &to64, &to32));
  char *places = k->wide ? (char *)to64 : (char *)to32;
  TRY(poiseBufferRead(&k->key[1], DEVICE, &own));
  TRY(poiseBufferRead(&k->place[1], DEVICE, &at));
  TRY(poiseDeviceCopy(dev, to, own, count * sizeof *to, COPY_ON_DEVICE));
  TRY(poiseDeviceCopy(dev, places, at, count * width, COPY_ON_DEVICE));
  TRY(poiseDeviceCopy(dev, to + count, key, (size_t)n * sizeof *to, COPY_TO_DEVICE));
  return poiseDeviceCopy(dev, places + count * width, place, (size_t)n * width, COPY_TO_DEVICE);
}

PoiseErr poiseTripletKeysJoin(PoiseMat A, Keys *k, int64_t n, const Entry *entry, int64_t first)
{
  PoiseContext ctx = A->ctx;
  int64_t begin = A->rows->begin / (poiseMatAskedBlocks(A) ? A->block_size : 1);
  Keys joined = {.n = k->n + n, .m = k->m, .bits = k->bits, .foreign = k->foreign, .wide = k->wide};
  uint64_t *key = NULL;
  void *place = NULL;
  PoiseErr e = poiseAllocArray(ctx, n, sizeof *key, "keys received", &key);
  if (!e) e = poiseAllocArray(ctx, n, PlaceBytes(k), "places received", &place);
  if (!e) Encode(k, begin, n, entry, first, key, place);
  if (!e) e = Join(ctx->device, k, n, key, place, &joined);
  PoiseErr waited = poiseDeviceSync(ctx->device); /* as the arrays are freed */
  poiseFree(ctx, &key);
  poiseFree(ctx, &place);
  poiseKeysDestroy(k);
  *k = joined;
  return e ? e : waited;
}

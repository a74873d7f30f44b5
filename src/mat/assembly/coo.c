/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Triplets on a device. Each entry has the places of its values, ascending, so that sums have the same order
  and bits as on the host (triplet_runs.c). The map is held on the device alone.

  Taking new values reads 8 bytes per value and 4 for its place, and 4 per entry (8 each beyond 2^32 values).
  It writes 8 bytes per entry.
*/
#include "vec/vec_kernels.h"
#include "coo.h"
#include "coo_kernels.h"
#include "mat/object/mat.h"

/* Counts by entry, shifted by one place, become cursors, and finally the start of each entry. */
PoiseErr poiseTripletMapCreate(PoiseContext ctx, int64_t n, const int64_t *entry, TripletMap *t)
{
  int64_t total = 0;
  void *start, *from;
  t->wide = poisePlacesAreWide(ctx, n);
  size_t width = t->wide ? sizeof(int64_t) : sizeof(uint32_t);
  for (int64_t k = 0; k < n; k++) total += entry[k] >= 0;
  TRY(poiseBufferCreate(ctx->device, (size_t)(t->n + 2) * width, "values of entries", &t->start));
  TRY(poiseBufferCreate(ctx->device, (size_t)total * width, "places of values", &t->from));
  TRY(poiseBufferUpdate(&t->start, HOST, &start));
  TRY(poiseBufferUpdate(&t->from, HOST, &from));
  for (int64_t k = 0; k < n; k++)
    if (entry[k] >= 0) (void)poiseAdvance(t->wide, start, entry[k] + 2, 1);
  for (int64_t e = 2, sum = 0; e <= t->n + 1; e++) sum += poiseAdvance(t->wide, start, e, sum);
  for (int64_t k = 0; k < n; k++)
    if (entry[k] >= 0) (void)poiseAdvance(t->wide, from, poiseAdvance(t->wide, start, entry[k] + 1, 1), k);
  TRY(poiseBufferToDevice(&t->start));
  return poiseBufferToDevice(&t->from);
}

void poiseTripletMapDestroy(PoiseContext ctx, TripletMap *t)
{
  poiseFree(ctx, &t->picked);
  poiseBufferDestroy(&t->start);
  poiseBufferDestroy(&t->from);
  poiseBufferDestroy(&t->given);
  poiseBufferDestroy(&t->received);
  poiseBufferDestroy(&t->send);
  poiseBufferDestroy(&t->packed);
}

/* A buffer for n values, made on first need. */
static PoiseErr Open(Device *dev, Buffer *b, const char *what, int64_t n, double **there)
{
  if (!b->dev) TRY(poiseBufferCreate(dev, (size_t)n * sizeof **there, what, b));
  return poiseBufferWrite(b, DEVICE, there);
}

/* *v = a copy of the values given on the host. */
static PoiseErr Upload(Device *dev, TripletMap *t, const double **v)
{
  int64_t n = t->ngiven * t->numbers;
  double *there;
  TRY(Open(dev, &t->given, "values of triplets", n, &there));
  TRY(poiseDeviceCopyArray(dev, there, *v, (size_t)n * sizeof *there, COPY_TO_DEVICE));
  *v = there;
  return POISE_OK;
}

PoiseErr poiseTripletMapReceive(PoiseContext ctx, TripletMap *t, double **received)
{
  return Open(ctx->device, &t->received, "values received", t->nreceived * t->numbers, received);
}

static PoiseErr EnqueueSum(PoiseMat A, TripletMap *t, Side where, const double *v, bool add)
{
  Device *dev = A->ctx->device;
  CooSumArgs s = {.n = t->n, .ngiven = t->ngiven, .add = add, .numbers = t->numbers, .given = v};
  TRY(poiseBufferRead(&t->start, DEVICE, t->wide ? (void *)&s.start64 : (void *)&s.start32));
  TRY(poiseBufferRead(&t->from, DEVICE, t->wide ? (void *)&s.from64 : (void *)&s.from32));
  if (where == HOST) TRY(Upload(dev, t, &s.given));
  if (t->nreceived) TRY(poiseBufferRead(&t->received, DEVICE, &s.received));
  TRY(add ? poiseBufferUpdate(&A->csr.val, DEVICE, &s.val) : poiseBufferWrite(&A->csr.val, DEVICE, &s.val));
  return LAUNCH(dev, coo_sum, &s);
}

PoiseErr poiseTripletMapSum(PoiseMat A, TripletMap *t, Side where, const double *v, bool add)
{
  PoiseErr e = EnqueueSum(A, t, where, v, add);
  if (where == DEVICE && !e) return e;
  PoiseErr waited = poiseDeviceSync(A->ctx->device); /* as the host's array may change after the call */
  return e ? e : waited;
}

static PoiseErr TooMany(int64_t n)
{
  FAIL(POISE_ERR_UNSUPPORTED,
       "%lld values given on the device, of which some travel: more than 2^31 must be given on the host",
       (long long)n);
}

static PoiseErr MakeSend(Device *dev, TripletMap *t, int64_t n, const int64_t *place)
{
  int32_t *send;
  if (t->ngiven * t->numbers > INT32_MAX) return TooMany(t->ngiven * t->numbers);
  if (t->send.dev && poiseBufferIsCurrent(&t->send, DEVICE)) return POISE_OK;
  poiseBufferDestroy(&t->send); /* left by a call that failed */
  TRY(poiseBufferCreate(dev, (size_t)n * sizeof *send, "values to send", &t->send));
  TRY(poiseBufferWrite(&t->send, HOST, &send));
  for (int64_t k = 0; k < n; k++) send[k] = (int32_t)place[k];
  return poiseBufferToDevice(&t->send);
}

static PoiseErr PackThere(Device *dev, TripletMap *t, const double *v, int64_t n, const int64_t *place,
                          double *packed)
{
  bool wide = !place && t->wide;
  GatherArgs g = {.n = place ? n : n / t->numbers, .size = place ? 1 : t->numbers, .x = v, .out = packed};
  if (place) TRY(MakeSend(dev, t, n, place));
  if (!place && !wide && t->ngiven > INT32_MAX) return TooMany(t->ngiven);
  TRY(poiseBufferRead(&t->send, DEVICE, wide ? (void *)&g.idx64 : (void *)&g.idx));
  return LAUNCH(dev, gather, &g);
}

static PoiseErr Pick(TripletMap *t, const double *v, int64_t n, const int64_t *place, double *picked)
{
  const void *send;
  for (int64_t k = 0; k < n && place; k++) picked[k] = v[place[k]];
  if (place) return POISE_OK;
  TRY(poiseBufferRead(&t->send, HOST, &send));
  for (int64_t k = 0; k < n; k++) {
    int64_t i = k / t->numbers, at = t->wide ? ((const int64_t *)send)[i] : ((const uint32_t *)send)[i];
    picked[k] = v[at * t->numbers + k % t->numbers];
  }
  return POISE_OK;
}

/* From the host only what is packed comes to the device. A trade waits for that. */
static PoiseErr PackHere(PoiseContext ctx, TripletMap *t, const double *v, int64_t n, const int64_t *place,
                         double *packed)
{
  if (!t->picked) TRY(poiseAllocArray(ctx, n, sizeof *v, "values to send", &t->picked));
  TRY(Pick(t, v, n, place, t->picked));
  return poiseDeviceCopyArray(ctx->device, packed, t->picked, (size_t)n * sizeof *v, COPY_TO_DEVICE);
}

PoiseErr poiseTripletMapPack(PoiseContext ctx, TripletMap *t, Side where, const double *v, int64_t n,
                             const int64_t *place, double **packed)
{
  *packed = NULL;
  if (!n) return POISE_OK;
  TRY(Open(ctx->device, &t->packed, "values to send", n, packed));
  return where == DEVICE ? PackThere(ctx->device, t, v, n, place, *packed)
                         : PackHere(ctx, t, v, n, place, *packed);
}

/* ---- host kernel ----------------------------------------------------------------------------- */

PoiseErr poiseHost_coo_sum(Device *dev, const void *args)
{
  const CooSumArgs *a = args;
  int64_t nblock = POISE_NBLOCKS(a->n);
  (void)dev;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t b = 0; b < nblock; b++)
    for (int64_t e = b * POISE_BLOCK; e < (b + 1) * POISE_BLOCK && e < a->n; e++)
      for (int64_t j = 0; j < a->numbers; j++) a->val[e * a->numbers + j] = poiseCooSum(a, e, j);
  return POISE_OK;
}

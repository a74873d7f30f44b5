/* SPDX-License-Identifier: BSD-3-Clause */
/*
  A pattern from triplets, on a device, by sorting their indices (keys.c). The sorted places are also the map
  by which values are taken (coo.c). Indices on the host come to the device in chunks. Indices on the device
  are read in place. With several ranks triplets of other ranks' rows travel first (coo_ranks.c).

  Bytes held beside the n triplets given, with z entries and m rows. P = 4 (8 beyond 2^32 triplets), Q = 4 (8
  beyond 2^31 entries):
    in the sort   2 (8 + P) n and some MB     24 n
    then          (8 + P) n + (4 + P) z + Q m
    in the end    P n + (4 + P) z + Q m, and 8 z from the first values on

  The first is the peak, as z <= n.
*/
#include "coo.h"
#include "coo_kernels.h"
#include "mat/csr/replace.h"
#include "mat/csr/ghosts_there.h"
#include "mat/object/mat_type.h"

enum { SENT_AT_ONCE = 1 << 20 }; /* triplets */

typedef struct Sent { /* a chunk of the indices */
  Buffer row, col;
} Sent;

static PoiseErr Make(Device *dev, int64_t n, const char *what, Buffer *b, int64_t **p)
{
  TRY(poiseBufferCreate(dev, (size_t)n * sizeof **p, what, b));
  return poiseBufferWrite(b, DEVICE, p);
}

/* Send chunks to the device, one after the other, through the same two buffers. */
static PoiseErr Send(Device *dev, const PoiseInt *rows, const PoiseInt *cols, Sent *s, int64_t n,
                     CooKeysArgs a)
{
  int64_t most = n < SENT_AT_ONCE ? n : SENT_AT_ONCE, *row, *col;
  TRY(Make(dev, most, "rows of triplets", &s->row, &row));
  TRY(Make(dev, most, "columns of triplets", &s->col, &col));
  a.row = row;
  a.col = col;
  for (; a.first < n; a.first += a.n) {
    a.n = n - a.first < most ? n - a.first : most;
    TRY(poiseDeviceCopyArray(dev, row, rows + a.first, (size_t)a.n * sizeof *row, COPY_TO_DEVICE));
    TRY(poiseDeviceCopyArray(dev, col, cols + a.first, (size_t)a.n * sizeof *col, COPY_TO_DEVICE));
    TRY(LAUNCH(dev, coo_keys, &a));
  }
  return POISE_OK;
}

static PoiseErr MakeKeys(PoiseMat A, Side where, const PoiseInt *rows, const PoiseInt *cols, Keys *k)
{
  Device *dev = A->ctx->device;
  Sent s = {0};
  int64_t side = poiseMatAskedBlocks(A) ? A->block_size : 1;
  CooKeysArgs a = {.begin = A->rows->begin / side,
                   .m = k->m,
                   .bits = k->bits,
                   .foreign = k->foreign,
                   .row = rows,
                   .col = cols,
                   .n = k->n};
  TRY(poiseKeysCreate(dev, k, &a.key, &a.place64, &a.place32));
  if (where == DEVICE) return LAUNCH(dev, coo_keys, &a);
  PoiseErr e = Send(dev, rows, cols, &s, k->n, a);
  poiseBufferDestroy(&s.row);
  poiseBufferDestroy(&s.col);
  return e;
}

PoiseErr poiseTripletKeysOpen(PoiseMat A, int64_t n, bool wide, Keys *k)
{
  int b = poiseMatAskedBlocks(A);
  int64_t side = b ? b : 1, M = A->rows->N / side, N = A->cols->N / side, m = A->rows->n / side;
  *k = (Keys){.n = n, .m = m, .bits = poiseBitsOf(N - 1), .wide = wide};
  k->foreign = k->bits + poiseBitsOf(M + 1); /* the same on all ranks, which read each other's keys */
  if (N > INT32_MAX || m > INT32_MAX)
    FAIL(POISE_ERR_UNSUPPORTED, "%lld x %lld: more than 2^31 rows or columns%s on one rank",
         (long long)A->rows->N, (long long)A->cols->N, b ? " of blocks" : "");
  return POISE_OK;
}

PoiseErr poiseTripletKeys(PoiseMat A, Side where, int64_t n, const PoiseInt *rows, const PoiseInt *cols,
                          bool wide, Keys *k)
{
  TRY(poiseTripletKeysOpen(A, n, wide, k));
  PoiseErr e = MakeKeys(A, where, rows, cols, k);
  PoiseErr waited = poiseDeviceSync(A->ctx->device);
  return e ? e : waited;
}

static PoiseErr Run(PoiseMat A, Keys *k, Csr *c, TripletMap *t)
{
  Device *dev = A->ctx->device;
  if (!k->sorted) TRY(poiseKeysSort(dev, k, 0, k->bits + poiseBitsOf(k->m + 1)));
  TRY(poiseKeysCount(dev, k, &c->nz));
  c->m = k->m;
  c->nloc = A->cols->n / poiseCsrSide(c);
  c->wide = c->nz > poiseContextHome(A->ctx)->hooks.most_narrow;
  TRY(poiseKeysRows(dev, k, c->nz, c->wide, &c->ptr, &c->col, &t->start));
  t->n = c->nz;
  t->wide = k->wide;
  t->from = poiseKeysTakePlaces(k);
  if (PoiseSize(A->ctx) > 1) TRY(poiseGhostsNumberThere(A, c));
  return poiseBufferCreate(dev, (size_t)poiseCsrScalars(c) * sizeof(double), "values",
                           &c->val); /* zeros when they are first read */
}

PoiseErr poiseTripletMapPattern(PoiseMat A, PoiseErr mine, Keys *k, TripletMap *t)
{
  Csr c = {.b = poiseMatAskedBlocks(A)};
  if (!mine) mine = Run(A, k, &c, t);
  return poiseMatReplaceCsr(A, mine, &c);
}

/* ---- host kernel ----------------------------------------------------------------------------- */

PoiseErr poiseHost_coo_keys(Device *dev, const void *args)
{
  const CooKeysArgs *a = args;
  (void)dev;
  for (int64_t k = 0; k < a->n; k++) {
    int64_t to = a->first + k;
    a->key[to] = poiseCooKey(a, k);
    if (a->place32)
      a->place32[to] = (uint32_t)to;
    else
      a->place64[to] = to;
  }
  return POISE_OK;
}

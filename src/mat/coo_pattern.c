/* SPDX-License-Identifier: BSD-3-Clause */
/*
  A pattern from triplets, on a device and one rank: (row, column) in one integer is sorted together with the triplet's place, by a
  stable sort, so that the values of an entry keep their order. Entries begin where the key changes. What the sorted places are is
  also the map by which values are taken (coo.c). Indices given on the host come to the device in pieces; those that are there are read
  where they are. With more ranks triplets travel first, and the host sorts (triplets.c).

  Bytes held beyond what is given, n triplets, z entries and m rows, P = 4 (8 beyond 2^32 triplets), Q = 4 (8 beyond 2^31 entries):
    in the sort   2 (8 + P) n and some MB     24 n
    then          (8 + P) n + (4 + P) z + Q m
    in the end    P n + (4 + P) z + Q m, and 8 z from the first values on
  The first is the peak: z <= n.
*/
#include "mat.h"

enum { SENT_AT_ONCE = 1 << 20 }; /* triplets */

typedef struct Sorted {
  int64_t n, nz;
  int bits; /* of a column */
  bool wide;
  Buffer row, col, key[2], place[2], scratch, count; /* row, col: pieces of what the host gives */
} Sorted;

static PoiseErr Make(Device *dev, size_t bytes, const char *what, Buffer *b, void *p)
{
  TRY(poiseBufferCreate(dev, bytes, what, b));
  return poiseBufferWrite(b, DEVICE, p);
}

/* Of the numbers up to n, where n < 0: none. */
static int BitsOf(int64_t n)
{
  int bits = 0;
  while (n > 0 && n >> bits) bits++;
  return bits;
}

/* Pieces follow each other on the device through the same two buffers. */
static PoiseErr KeysOfHost(Device *dev, Sorted *s, CooKeysArgs a, const PoiseInt *rows, const PoiseInt *cols)
{
  int64_t most = s->n < SENT_AT_ONCE ? s->n : SENT_AT_ONCE, *row, *col;
  TRY(Make(dev, (size_t)most * sizeof *row, "rows of triplets", &s->row, &row));
  TRY(Make(dev, (size_t)most * sizeof *col, "columns of triplets", &s->col, &col));
  a.row = row;
  a.col = col;
  for (; a.first < s->n; a.first += a.n) {
    a.n = s->n - a.first < most ? s->n - a.first : most;
    TRY(poiseDeviceCopy(dev, row, rows + a.first, (size_t)a.n * sizeof *row, COPY_TO_DEVICE));
    TRY(poiseDeviceCopy(dev, col, cols + a.first, (size_t)a.n * sizeof *col, COPY_TO_DEVICE));
    TRY(poiseLaunch(dev, KERNEL_coo_keys, &a, sizeof a));
  }
  poiseBufferDestroy(&s->row);
  poiseBufferDestroy(&s->col);
  return POISE_OK;
}

static PoiseErr Keys(PoiseMat A, Sorted *s, Side where, const PoiseInt *rows, const PoiseInt *cols)
{
  Device *dev = A->ctx->device;
  CooKeysArgs a = {.m = A->rows->n, .bits = s->bits};
  TRY(Make(dev, (size_t)s->n * sizeof *a.key, "keys of triplets", &s->key[0], &a.key));
  TRY(Make(dev, (size_t)s->n * (s->wide ? 8 : 4), "places of values", &s->place[0],
           s->wide ? (void *)&a.place64 : (void *)&a.place32));
  if (where == HOST) return KeysOfHost(dev, s, a, rows, cols);
  a.n = s->n, a.row = rows, a.col = cols;
  return poiseLaunch(dev, KERNEL_coo_keys, &a, sizeof a);
}

static PoiseErr Sort(PoiseMat A, Sorted *s)
{
  Device *dev = A->ctx->device;
  SortKeysArgs a = {.n = s->n, .bits = s->bits + BitsOf(A->rows->n + 1)}; /* at least one */
  for (int k = 0; k < 2; k++) {
    if (k) TRY(poiseBufferCreate(dev, s->key[0].bytes, "sorted keys", &s->key[k]));
    if (k) TRY(poiseBufferCreate(dev, s->place[0].bytes, "places of values", &s->place[k]));
    TRY(k ? poiseBufferWrite(&s->key[k], DEVICE, &a.key[k]) : poiseBufferUpdate(&s->key[k], DEVICE, &a.key[k]));
    void *place = s->wide ? (void *)&a.place64[k] : (void *)&a.place32[k];
    TRY(k ? poiseBufferWrite(&s->place[k], DEVICE, place) : poiseBufferUpdate(&s->place[k], DEVICE, place));
  }
  a.scratch_bytes = dev->ops->sort_scratch ? dev->ops->sort_scratch(dev, &a) : 0;
  TRY(Make(dev, a.scratch_bytes, "scratch of a sort", &s->scratch, &a.scratch));
  TRY(poiseLaunch(dev, KERNEL_sort_keys, &a, sizeof a));
  poiseBufferDestroy(&s->key[0]);
  poiseBufferDestroy(&s->place[0]);
  poiseBufferDestroy(&s->scratch);
  return POISE_OK;
}

static PoiseErr Count(PoiseMat A, Sorted *s)
{
  Device *dev = A->ctx->device;
  CooCountArgs a = {.n = s->n, .end = (uint64_t)A->rows->n << s->bits};
  int64_t nblock = POISE_NBLOCKS(s->n + 1);
  TRY(poiseBufferRead(&s->key[1], DEVICE, &a.key));
  TRY(Make(dev, (size_t)(nblock + 1) * sizeof *a.count, "entries of blocks", &s->count, &a.count));
  TRY(poiseLaunch(dev, KERNEL_coo_count, &a, sizeof a));
  TRY(LAUNCH(dev, scan, ScanArgs, .n = nblock, .count = a.count));
  TRY(poiseDeviceCopy(dev, &s->nz, a.count + nblock, sizeof s->nz, COPY_TO_HOST));
  return poiseDeviceSync(dev);
}

static PoiseErr MakeRows(PoiseMat A, Sorted *s, Csr *c, TripletMap *t)
{
  Device *dev = A->ctx->device;
  CooRowsArgs a = {.n = s->n, .m = A->rows->n, .bits = s->bits};
  c->m = A->rows->n;
  c->nloc = A->cols->n;
  c->nz = t->n = s->nz;
  c->wide = s->nz > poiseContextHome(A->ctx)->most_narrow;
  TRY(poiseBufferRead(&s->key[1], DEVICE, &a.key));
  TRY(poiseBufferRead(&s->count, DEVICE, &a.count));
  TRY(Make(dev, (size_t)(c->m + 1) * (c->wide ? 8 : 4), "row offsets", &c->ptr,
           c->wide ? (void *)&a.ptr64 : (void *)&a.ptr32));
  TRY(Make(dev, (size_t)s->nz * sizeof(int32_t), "columns", &c->col, &a.col));
  TRY(Make(dev, (size_t)(s->nz + 1) * (s->wide ? 8 : 4), "values of entries", &t->start,
           s->wide ? (void *)&a.start64 : (void *)&a.start32));
  TRY(poiseLaunch(dev, KERNEL_coo_rows, &a, sizeof a));
  t->wide = s->wide;
  t->from = s->place[1];
  s->place[1] = (Buffer){0};
  poiseBufferDestroy(&s->key[1]);
  return poiseBufferCreate(dev, (size_t)s->nz * sizeof(double), "values", &c->val); /* zeros when they are first read */
}

static PoiseErr Run(PoiseMat A, Side where, const PoiseInt *rows, const PoiseInt *cols, Sorted *s, Csr *c, TripletMap *t)
{
  if (A->cols->N > INT32_MAX || A->rows->N > INT32_MAX)
    FAIL(POISE_ERR_UNSUPPORTED, "%lld x %lld: more than 2^31 rows or columns on one rank", (long long)A->rows->N,
         (long long)A->cols->N);
  TRY(Keys(A, s, where, rows, cols));
  TRY(Sort(A, s));
  TRY(Count(A, s));
  return MakeRows(A, s, c, t);
}

PoiseErr poiseTripletMapPattern(PoiseMat A, Side where, const PoiseInt *rows, const PoiseInt *cols, TripletMap *t)
{
  Sorted s = {.n = t->ngiven, .bits = BitsOf(A->cols->n - 1), .wide = poisePlacesAreWide(A->ctx, t->ngiven)};
  Csr c = {0};
  PoiseErr e = Run(A, where, rows, cols, &s, &c, t);
  Buffer *all[] = {&s.row, &s.col, &s.key[0], &s.key[1], &s.place[0], &s.place[1], &s.scratch, &s.count};
  PoiseErr waited = poiseDeviceSync(A->ctx->device); /* what was enqueued reads rows and cols */
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) poiseBufferDestroy(all[k]);
  return poiseMatReplaceCsr(A, e ? e : waited, &c);
}

/* ---- host kernels: for devices that run them; a matrix on the host is sorted by rows (triplets.c) ------------------------------ */

PoiseErr poiseHost_coo_keys(Device *dev, const void *args)
{
  const CooKeysArgs *a = args;
  (void)dev;
  for (int64_t k = 0; k < a->n; k++) {
    int64_t to = a->first + k;
    bool ignored = a->row[k] < 0 || a->col[k] < 0;
    a->key[to] = ignored ? (uint64_t)a->m << a->bits : (uint64_t)a->row[k] << a->bits | (uint64_t)a->col[k];
    if (a->place32)
      a->place32[to] = (uint32_t)to;
    else
      a->place64[to] = to;
  }
  return POISE_OK;
}

/* One digit of a radix sort, from side `from` to the other. */
static void SortDigit(const SortKeysArgs *a, int from, int shift)
{
  int64_t at[257] = {0};
  for (int64_t k = 0; k < a->n; k++) at[(a->key[from][k] >> shift & 255) + 1]++;
  for (int d = 1; d < 256; d++) at[d] += at[d - 1];
  for (int64_t k = 0; k < a->n; k++) {
    int64_t to = at[a->key[from][k] >> shift & 255]++;
    a->key[!from][to] = a->key[from][k];
    if (a->place32[0])
      a->place32[!from][to] = a->place32[from][k];
    else
      a->place64[!from][to] = a->place64[from][k];
  }
}

PoiseErr poiseHost_sort_keys(Device *dev, const void *args)
{
  const SortKeysArgs *a = args;
  int digits = (a->bits + 7) / 8, from = 0;
  (void)dev;
  digits += digits % 2 == 0; /* so that the last one leads to [1] */
  for (int d = 0; d < digits; d++, from = !from) SortDigit(a, from, d < 8 ? 8 * d : 63);
  return POISE_OK;
}

PoiseErr poiseHost_coo_count(Device *dev, const void *args)
{
  const CooCountArgs *a = args;
  (void)dev;
  for (int64_t b = 0; b < POISE_NBLOCKS(a->n + 1); b++) {
    a->count[b] = 0;
    for (int64_t k = b * POISE_BLOCK; k < (b + 1) * POISE_BLOCK && k < a->n; k++)
      a->count[b] += poiseCooBegins(a->key, k, a->end);
  }
  return POISE_OK;
}

PoiseErr poiseHost_scan(Device *dev, const void *args)
{
  const ScanArgs *a = args;
  int64_t sum = 0;
  (void)dev;
  for (int64_t b = 0; b <= a->n; b++) {
    int64_t count = b < a->n ? a->count[b] : 0;
    a->count[b] = sum;
    sum += count;
  }
  return POISE_OK;
}

PoiseErr poiseHost_coo_rows(Device *dev, const void *args)
{
  const CooRowsArgs *a = args;
  (void)dev;
  for (int64_t b = 0; b < POISE_NBLOCKS(a->n + 1); b++) {
    int64_t e = a->count[b];
    for (int64_t k = b * POISE_BLOCK; k < (b + 1) * POISE_BLOCK && k <= a->n; k++) {
      poiseCooRow(a, k, e);
      e += k < a->n && poiseCooBegins(a->key, k, (uint64_t)a->m << a->bits);
    }
  }
  return POISE_OK;
}

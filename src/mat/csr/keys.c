/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Entries on a device as keys: (row, column) in one integer, with the place of the entry's value. A stable
  sort keeps the order of equal keys. An entry begins where the key changes. Triplets become rows in this way
  (coo_pattern.c), and a matrix its transpose (transpose.c). The peak, in the sort, is 24 bytes per key (32 if
  places are int64).
*/
#include "keys.h"
#include "keys_kernels.h"
#include "mat/object/mat.h"
#include "mat/mat_device.h"

static PoiseErr Make(Device *dev, size_t bytes, const char *what, Buffer *b, void *p)
{
  TRY(poiseBufferCreate(dev, bytes, what, b));
  return poiseBufferWrite(b, DEVICE, p);
}

int poiseBitsOf(int64_t n)
{
  int bits = 0;
  while (n > 0 && n >> bits) bits++;
  return bits;
}

PoiseErr poiseKeysCreate(Device *dev, Keys *k, uint64_t **key, int64_t **place64, uint32_t **place32)
{
  TRY(Make(dev, (size_t)k->n * sizeof **key, "keys", &k->key[0], key));
  return Make(dev, (size_t)k->n * (k->wide ? 8 : 4), "places of keys", &k->place[0],
              k->wide ? (void *)place64 : (void *)place32);
}

PoiseErr poiseKeysSort(Device *dev, Keys *k, int first, int bits)
{
  const MatDevice *device = dev->ops->mat;
  SortKeysArgs a = {.n = k->n, .first = first, .bits = bits};
  for (int side = 0; side < 2; side++) {
    Buffer *key = &k->key[side], *place = &k->place[side];
    void *to = k->wide ? (void *)&a.place64[side] : (void *)&a.place32[side];
    if (side) TRY(poiseBufferCreate(dev, k->key[0].bytes, "sorted keys", key));
    if (side) TRY(poiseBufferCreate(dev, k->place[0].bytes, "places of sorted keys", place));
    TRY(side ? poiseBufferWrite(key, DEVICE, &a.key[side]) : poiseBufferUpdate(key, DEVICE, &a.key[side]));
    TRY(side ? poiseBufferWrite(place, DEVICE, to) : poiseBufferUpdate(place, DEVICE, to));
  }
  a.scratch_bytes = device && device->sort_scratch ? device->sort_scratch(dev, &a) : 0;
  TRY(Make(dev, a.scratch_bytes, "scratch of a sort", &k->scratch, &a.scratch));
  TRY(LAUNCH(dev, sort_keys, &a));
  poiseBufferDestroy(&k->key[0]);
  poiseBufferDestroy(&k->place[0]);
  poiseBufferDestroy(&k->scratch);
  return POISE_OK;
}

PoiseErr poiseKeysCount(Device *dev, Keys *k, int64_t *nz)
{
  CooCountArgs a = {.n = k->n, .end = (uint64_t)k->m << k->bits};
  int64_t nblock = POISE_NBLOCKS(k->n + 1);
  TRY(poiseBufferRead(&k->key[1], DEVICE, &a.key));
  TRY(Make(dev, (size_t)(nblock + 1) * sizeof *a.count, "entries of blocks", &k->count, &a.count));
  TRY(LAUNCH(dev, coo_count, &a));
  TRY(LAUNCH(dev, scan, &(ScanArgs){.n = nblock, .count = a.count}));
  if (!nz) return POISE_OK;
  return poiseDeviceFetch(dev, a.count + nblock, sizeof *nz, nz);
}

PoiseErr poiseKeysRows(Device *dev, Keys *k, int64_t nz, bool wide, Buffer *ptr, Buffer *col, Buffer *start)
{
  CooRowsArgs a = {.n = k->n, .m = k->m, .bits = k->bits};
  TRY(poiseBufferRead(&k->key[1], DEVICE, &a.key));
  TRY(poiseBufferRead(&k->count, DEVICE, &a.count));
  TRY(Make(dev, (size_t)(k->m + 1) * (wide ? 8 : 4), "row offsets", ptr,
           wide ? (void *)&a.ptr64 : (void *)&a.ptr32));
  TRY(Make(dev, (size_t)nz * sizeof(int32_t), "columns", col, &a.col));
  if (start)
    TRY(Make(dev, (size_t)(nz + 1) * (k->wide ? 8 : 4), "values of entries", start,
             k->wide ? (void *)&a.start64 : (void *)&a.start32));
  TRY(LAUNCH(dev, coo_rows, &a));
  poiseBufferDestroy(&k->key[1]);
  poiseBufferDestroy(&k->count);
  return POISE_OK;
}

PoiseErr poiseKeysList(Device *dev, Keys *k, int64_t nz, Buffer *ptr, Buffer *list, int64_t **there)
{
  CooRowsArgs a = {.n = k->n, .m = 1, .bits = k->bits};
  TRY(poiseBufferRead(&k->key[1], DEVICE, &a.key));
  TRY(poiseBufferRead(&k->count, DEVICE, &a.count));
  TRY(Make(dev, 2 * sizeof *a.ptr64, "row offsets", ptr, &a.ptr64));
  TRY(Make(dev, (size_t)nz * sizeof **there, "columns", list, there));
  a.col64 = *there;
  return LAUNCH(dev, coo_rows, &a);
}

static Buffer Take(Buffer *b)
{
  Buffer taken = *b;
  *b = (Buffer){0};
  return taken;
}

Buffer poiseKeysTakePlaces(Keys *k)
{
  return Take(&k->place[1]);
}

Buffer poiseKeysTake(Keys *k)
{
  return Take(&k->key[1]);
}

void poiseKeysDestroy(Keys *k)
{
  Buffer *all[] = {&k->key[0], &k->key[1], &k->place[0], &k->place[1], &k->scratch, &k->count};
  for (size_t b = 0; b < sizeof all / sizeof *all; b++) poiseBufferDestroy(all[b]);
}

/* ---- host kernels: for devices that run them; matrices on the host have better ways
   (triplet_rows.c, transpose.c) --------------------------------------------------------------- */

/* Sort by one digit of a radix sort, from side `from` to the other. */
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
  digits += digits % 2 == 0; /* an odd number, so that the last digit ends in side 1 */
  for (int d = 0; d < digits; d++, from = !from)
    SortDigit(a, from, a->first + 8 * d < 64 ? a->first + 8 * d : 63);
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

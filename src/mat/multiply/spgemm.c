/* SPDX-License-Identifier: BSD-3-Clause */
/* The host's kernels of sparse products: a row a lane. Workers take blocks of rows in turn. */
#include "spgemm_kernels.h"
#include "sys/sys.h"

enum { ROWS = 128 }; /* of a block */

typedef enum Task { COUNT, COLUMNS, NUMBERS } Task;

/* Sizes that are known when this is compiled. */
static void NumbersOf(const SpgemmArgs *a, int64_t i, const SpgemmTable *t)
{
  SpgemmGroup one = {.lanes = 1};
  if (a->p == 1 && a->q == 1 && a->s == 1)
    poiseSpgemmNumbers(a, i, &one, 1, t, 1, 1, 1);
  else if (a->p == 3 && a->q == 3 && a->s == 3)
    poiseSpgemmNumbers(a, i, &one, 1, t, 3, 3, 3);
  else if (a->p == 3 && a->q == 3 && a->s == 6)
    poiseSpgemmNumbers(a, i, &one, 1, t, 3, 3, 6);
  else if (a->p == 6 && a->q == 3 && a->s == 6)
    poiseSpgemmNumbers(a, i, &one, 1, t, 6, 3, 6);
  else if (a->p == 6 && a->q == 6 && a->s == 6)
    poiseSpgemmNumbers(a, i, &one, 1, t, 6, 6, 6);
  else
    poiseSpgemmNumbers(a, i, &one, 1, t, a->p, a->q, a->s);
}

/* Columns that are found with the lengths are kept as long as there is room. */
static void Count(const SpgemmArgs *a, int64_t i, const SpgemmTable *t, int64_t *next, int64_t end)
{
  SpgemmGroup one = {.lanes = 1};
  poiseSpgemmCollect(a, i, &one, 1, t);
  int n = a->length[i] = *t->used;
  a->at[i] = n <= end - *next ? (int32_t)*next : -1;
  if (a->at[i] < 0 || n == 0) return;
  poiseSpgemmSorted(a, &one, t->value, n, a->kept + *next);
  *next += n;
}

static void Columns(const SpgemmArgs *a, int64_t i, const SpgemmTable *t)
{
  SpgemmGroup one = {.lanes = 1};
  int64_t first = poiseCsrOffset(&a->C, i), n = poiseCsrOffset(&a->C, i + 1) - first;
  if (a->at[i] >= 0) {
    if (n) memcpy(a->col + first, a->kept + a->at[i], (size_t)n * sizeof *a->col);
    return;
  }
  poiseSpgemmCollect(a, i, &one, 1, t);
  poiseSpgemmSorted(a, &one, t->value, (int)n, a->col + first);
}

/* A worker has a share of the room for columns. */
static PoiseErr Rows(const SpgemmArgs *a, Task task)
{
  int64_t nblock = (a->A.m + ROWS - 1) / ROWS;
  HOST_PARALLEL_ITEMS((int)a->tables, nblock > HOST_FEW_BLOCKS)
  for (int64_t w = 0; w < a->tables; w++) {
    int64_t next = a->room / a->tables * w, end = a->room / a->tables * (w + 1);
    for (int64_t b = w; b < nblock; b += a->tables)
      for (int64_t i = b * ROWS; i < (b + 1) * ROWS && i < a->A.m; i++) {
        SpgemmTable t = poiseSpgemmTable(a->table + w * a->table_size, poiseSpgemmWork(a, i));
        if (task == COUNT) Count(a, i, &t, &next, end);
        if (task == COLUMNS) Columns(a, i, &t);
        if (task == NUMBERS) NumbersOf(a, i, &t);
      }
  }
  return POISE_OK;
}

PoiseErr poiseHost_spgemm_count(Device *dev, const void *args)
{
  (void)dev;
  return Rows(args, COUNT);
}

PoiseErr poiseHost_spgemm_columns(Device *dev, const void *args)
{
  (void)dev;
  return Rows(args, COLUMNS);
}

PoiseErr poiseHost_spgemm_numbers(Device *dev, const void *args)
{
  (void)dev;
  return Rows(args, NUMBERS);
}

PoiseErr poiseHost_spgemm_work(Device *dev, const void *args)
{
  const SpgemmArgs *a = args;
  int64_t nblock = POISE_NBLOCKS(a->A.m);
  (void)dev;
  HOST_PARALLEL_FOR(dev, nblock)
  for (int64_t b = 0; b < nblock; b++)
    for (int64_t i = b * POISE_BLOCK; i < (b + 1) * POISE_BLOCK && i < a->A.m; i++) {
      int64_t sum = 0, last = poiseCsrOffset(&a->A, i + 1);
      for (int64_t e = poiseCsrOffset(&a->A, i); e < last; e++)
        sum += poiseCsrOffset(&a->B, a->A.col[e] + 1) - poiseCsrOffset(&a->B, a->A.col[e]);
      a->work[i] = poiseSpgemmProducts(sum);
    }
  return POISE_OK;
}

PoiseErr poiseHost_spgemm_classes(Device *dev, const void *args)
{
  const SpgemmArgs *a = args;
  int64_t *count = a->counts;
  (void)dev;
  memset(count, 0, SPGEMM_COUNTS * sizeof *count);
  for (int64_t i = 0; i < a->A.m; i++) {
    int64_t work = poiseSpgemmWork(a, i), products = a->work ? a->work[i] : 0;
    count[poiseSpgemmClass(work)]++;
    count[SPGEMM_ROOM] += poiseSpgemmRoom(a, i);
    if (work > count[SPGEMM_LONGEST]) count[SPGEMM_LONGEST] = work;
    if (products > count[SPGEMM_PRODUCTS]) count[SPGEMM_PRODUCTS] = products;
  }
  return POISE_OK;
}

PoiseErr poiseHost_row_sums(Device *dev, const void *args)
{
  const RowOffsetsArgs *a = args;
  (void)dev;
  for (int64_t b = 0; b < POISE_NBLOCKS(a->m); b++) {
    a->count[b] = 0;
    for (int64_t i = b * POISE_BLOCK; i < (b + 1) * POISE_BLOCK && i < a->m; i++) a->count[b] += a->length[i];
  }
  return POISE_OK;
}

PoiseErr poiseHost_row_offsets(Device *dev, const void *args)
{
  const RowOffsetsArgs *a = args;
  int64_t sum = 0;
  (void)dev;
  for (int64_t i = 0; i <= a->m; i++) {
    if (a->ptr32)
      a->ptr32[i] = (int32_t)sum;
    else
      a->ptr64[i] = sum;
    if (i < a->m) sum += a->length[i];
  }
  return POISE_OK;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The host's kernels of sparse products: a row after the other. Workers take blocks of rows in turn.

  A worker has one table for all its rows. Where all columns have a place in it, that has the number that the
  column got, counted from the row's first, so older ones are of other rows. In a smaller table places are
  found by a hash, and say which column and row they are of. So nothing is emptied, and a new column is no
  branch. Lengths are counted first; the second pass makes columns, and numbers too where it can. Products are
  added in the order of spgemm_kernels.h.
*/
#include "spgemm_kernels.h"
#include "sys/sys.h"

enum { ROWS = 128 }; /* of a block */

typedef enum Task { COUNT, COLUMNS, NUMBERS } Task;

typedef struct Table {
  int32_t *number;  /* of places: of their columns, from `first` on */
  uint64_t *key;    /* of places that are found by a hash: stamp and column */
  int32_t *sorted;  /* room for a row's columns */
  int32_t first, n; /* the row's columns have the numbers [first, first + n) */
  int bits;
  uint32_t last;
  uint64_t stamp; /* of the row, in the upper half */
} Table;

/* Of a worker, see poiseSpgemmHostTable. */
static Table OpenTable(const SpgemmArgs *a, int64_t worker)
{
  int32_t *memory = a->table + worker * a->table_size;
  Table t = {.first = 1};
  if (a->direct) {
    t.number = memory;
    t.sorted = memory + a->columns;
    memset(t.number, 0, (size_t)a->columns * sizeof *t.number);
    return t;
  }
  int64_t places = a->table_size / 4;
  t.key = (uint64_t *)memory;
  t.number = memory + 2 * places;
  t.sorted = memory + 3 * places;
  t.last = (uint32_t)(places - 1);
  while (INT64_C(1) << t.bits < places) t.bits++;
  memset(t.key, 0, (size_t)places * sizeof *t.key);
  return t;
}

static void BeginRow(const SpgemmArgs *a, Table *t)
{
  t->stamp += UINT64_C(1) << 32;
  t->first += t->n;
  t->n = 0;
  if (t->first < INT32_MAX / 2) return;
  t->first = 1;
  if (a->direct) memset(t->number, 0, (size_t)a->columns * sizeof *t->number);
}

/* The number of the column, counted from 0; a new one is the next. Neighbours have neighbouring places. */
POISE_INLINE int32_t Number(Table *t, int32_t column, bool direct)
{
  const int apart = 37; /* of columns that differ in higher bits alone, as lines of a grid may */
  uint32_t h = (uint32_t)column;
  int is_new;
  if (direct) {
    is_new = t->number[h] < t->first;
  } else {
    uint64_t key = t->stamp | h;
    h = (h + (h >> t->bits) * apart) & t->last;
    while (t->key[h] != key && t->key[h] >= t->stamp) h = (h + 1) & t->last;
    is_new = t->key[h] != key;
    t->key[h] = key;
  }
  int32_t k = is_new ? t->first + t->n : t->number[h];
  t->number[h] = k;
  t->n += is_new;
  return k - t->first;
}

/* The columns of row i of C, as they are met. col NULL: their number alone. */
POISE_INLINE void Collect(const SpgemmArgs *a, int64_t i, Table *t, int32_t *col, bool direct)
{
  const CsrView A = a->A, B = a->B;
  Table mine = *t; /* a copy stays in registers */
  for (int64_t e = poiseCsrOffset(&A, i), last = poiseCsrOffset(&A, i + 1); e < last; e++) {
    int64_t row = A.col[e], end = poiseCsrOffset(&B, row + 1);
    for (int64_t f = poiseCsrOffset(&B, row); f < end; f++) {
      int32_t k = Number(&mine, B.col[f], direct);
      if (col) col[k] = B.col[f];
    }
  }
  t->n = mine.n;
}

static void Count(const SpgemmArgs *a, int64_t i, Table *t)
{
  BeginRow(a, t);
  if (a->direct)
    Collect(a, i, t, NULL, true);
  else
    Collect(a, i, t, NULL, false);
  a->length[i] = t->n;
}

/* The products of row i, whose columns take the numbers that they are met in; `col` has those columns. here:
   all rows of B are. */
POISE_INLINE void Multiply(const SpgemmArgs *a, int64_t i, Table *t, int32_t *col, int p, int q, int s,
                           bool direct, bool here)
{
  const CsrView A = a->A, B = a->B;
  Table mine = *t; /* a copy stays in registers */
  int64_t to = poiseCsrOffset(&a->C, i), n = poiseCsrOffset(&a->C, i + 1) - to, ngiven = a->ngiven;
  double *val = a->val + to * p * s;
  int turned = a->from32 || a->from64;
  for (int64_t k = 0; k < n * p * s; k++) val[k] = 0;
  for (int64_t e = poiseCsrOffset(&A, i), last = poiseCsrOffset(&A, i + 1); e < last; e++) {
    int64_t row = A.col[e], end = poiseCsrOffset(&B, row + 1),
            from = a->from32   ? a->from32[e]
                   : a->from64 ? a->from64[e]
                               : e;
    const double *x = A.val + from * p * q;
    for (int64_t f = poiseCsrOffset(&B, row); f < end; f++) {
      const double *y = here || f < ngiven ? B.val + f * q * s : a->received + (f - ngiven) * q * s;
      int64_t k = Number(&mine, B.col[f], direct);
      if (col) col[k] = B.col[f];
      poiseTileMultiply(p, q, s, x, turned ? q : 1, turned ? 1 : p, y, val + k * p * s, 0, 1);
    }
  }
  t->n = mine.n;
}

/* Sizes that are known when this is compiled. Functions of their own have registers enough. */
typedef void RowProduct(const SpgemmArgs *a, int64_t i, Table *t, int32_t *col);

static void Scalars(const SpgemmArgs *a, int64_t i, Table *t, int32_t *col)
{
  Multiply(a, i, t, col, 1, 1, 1, true, true);
}

static void Tiles(const SpgemmArgs *a, int64_t i, Table *t, int32_t *col)
{
  bool direct = a->direct;
  if (a->p == 1 && a->q == 1 && a->s == 1)
    Multiply(a, i, t, col, 1, 1, 1, direct, false);
  else if (a->p == 3 && a->q == 3 && a->s == 3)
    Multiply(a, i, t, col, 3, 3, 3, direct, false);
  else if (a->p == 3 && a->q == 3 && a->s == 6)
    Multiply(a, i, t, col, 3, 3, 6, direct, false);
  else if (a->p == 6 && a->q == 3 && a->s == 6)
    Multiply(a, i, t, col, 6, 3, 6, direct, false);
  else if (a->p == 6 && a->q == 6 && a->s == 6)
    Multiply(a, i, t, col, 6, 6, 6, direct, false);
  else
    Multiply(a, i, t, col, a->p, a->q, a->s, direct, false);
}

static RowProduct *ProductOf(const SpgemmArgs *a)
{
  return a->p == 1 && a->q == 1 && a->s == 1 && a->direct && !a->received ? Scalars : Tiles;
}

/* Tile k of n becomes what tile from[k] is; from is lost. */
static void Permute(int64_t n, int64_t size, int32_t *from, double *val)
{
  for (int32_t k = 0; k < n; k++) {
    int32_t at = k;
    for (int32_t next = from[at]; next != k; at = next, next = from[at]) {
      for (int64_t e = 0; e < size; e++) {
        double one = val[at * size + e];
        val[at * size + e] = val[next * size + e], val[next * size + e] = one;
      }
      from[at] = at;
    }
    from[at] = at;
  }
}

/* The columns of row i, and its numbers if they are asked for. They are sorted when all is there, unless
   nobody asks for an order. */
static void Columns(const SpgemmArgs *a, int64_t i, Table *t, RowProduct *product)
{
  SpgemmGroup one = {.lanes = 1};
  int64_t to = poiseCsrOffset(&a->C, i);
  int32_t *col = a->any_order ? a->col + to : t->sorted;
  BeginRow(a, t);
  if (a->val)
    product(a, i, t, col);
  else
    Collect(a, i, t, col, a->direct);
  if (a->any_order) return;
  poiseSpgemmSorted(a, &one, t->sorted, t->n, a->col + to);
  if (!a->val) return;
  for (int32_t k = 0; k < t->n; k++)
    t->sorted[k] = Number(t, poisePlaceOfLocal(a->below, a->C.nloc, a->col[to + k]), a->direct);
  Permute(t->n, (int64_t)a->p * a->s, t->sorted, a->val + to * a->p * a->s);
}

/* Numbers for columns that are there. */
static void Numbers(const SpgemmArgs *a, int64_t i, Table *t, RowProduct *product)
{
  BeginRow(a, t);
  for (int64_t k = poiseCsrOffset(&a->C, i), last = poiseCsrOffset(&a->C, i + 1); k < last; k++) {
    int32_t column = a->any_order ? a->C.col[k] : poisePlaceOfLocal(a->below, a->C.nloc, a->C.col[k]);
    (void)Number(t, column, a->direct);
  }
  product(a, i, t, NULL);
}

static PoiseErr Rows(const SpgemmArgs *a, Task task)
{
  int64_t nblock = (a->A.m + ROWS - 1) / ROWS;
  RowProduct *product = ProductOf(a);
  HOST_PARALLEL_ITEMS((int)a->tables, nblock > HOST_FEW_BLOCKS)
  for (int64_t w = 0; w < a->tables; w++) {
    Table t = OpenTable(a, w);
    for (int64_t b = w; b < nblock; b += a->tables)
      for (int64_t i = b * ROWS; i < (b + 1) * ROWS && i < a->A.m; i++) {
        if (task == COUNT) Count(a, i, &t);
        if (task == COLUMNS) Columns(a, i, &t, product);
        if (task == NUMBERS) Numbers(a, i, &t, product);
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

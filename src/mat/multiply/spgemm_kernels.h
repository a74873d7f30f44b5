/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Products of sparse matrices (SpGEMM) row by row, with a hash table for each row. A group of lanes does a
  row: some or all threads of a thread block of a GPU. The host has kernels of its own (spgemm.c).

  Entries are tiles, stored column-major: p x q of A, q x s of B, p x s of C; scalars are 1 x 1. Lanes own
  different entries of C while one entry of A is multiplied, so products are added in the order of A's entries
  without atomics.
*/
#ifndef POISE_SPGEMM_KERNELS_H
#define POISE_SPGEMM_KERNELS_H

#include "mat/csr/keys_kernels.h"
#include "mat/csr/csr_view.h"

/* Tables of keys for rows with up to 32, 128, ... different columns: classes of rows. Those of the last class
   have tables in device memory. */
enum { SPGEMM_CLASSES = 6, SPGEMM_SMALLEST = 32 };

/* What rows are counted for: those of each class; the largest number that decides; the most products of a
   row; room for columns that are kept. Then what of that room is taken, 0 at first. */
enum { SPGEMM_LONGEST = SPGEMM_CLASSES, SPGEMM_PRODUCTS, SPGEMM_ROOM, SPGEMM_TAKEN, SPGEMM_COUNTS };

typedef struct SpgemmArgs {
  CsrView A, B, C; /* what a kernel does not name in its comment may be NULL */
  int p, q, s;
  /* entry k of A is the transpose of the tile at from[k] of A.val; both NULL: the tile at k */
  const int64_t *from64;
  const int32_t *from32;
  const double *received; /* tiles of B from entry ngiven on */
  int64_t ngiven;
  int64_t columns; /* of B, as B.col numbers them: in the order of their global numbers */
  int direct;      /* on the host: has each column a place in a table? */
  int any_order;   /* on the host: C's columns are as in B.col, in any order. Nobody but it reads C */
  int64_t below;   /* C.col numbers them [owned | ghosts]; so many ghosts are below the C.nloc owned ones */
  int32_t *work;   /* products of each row, which bound its length and decide its class; NULL: C's rows do */
  int32_t *length; /* of C's rows */
  int64_t *counts; /* SPGEMM_COUNTS numbers */
  int64_t rows_of[SPGEMM_CLASSES], products; /* rows of each class; the most products of a row */
  /* Columns that were found with the lengths: those of row i begin at kept[at[i]]; at[i] < 0: they are found
     again. */
  int32_t *kept, *at;
  int64_t room, most_kept; /* of kept; of it for a row */
  int32_t *table;          /* `tables` tables of `table_size` integers each */
  int64_t tables, table_size;
  int32_t *col; /* of C */
  double *val;
} SpgemmArgs;

/* Lanes that do a row together. Smaller groups of a warp go in step, and wait for each other: waiting each
   for itself, they would run one after the other. So a group may have no row. */
typedef struct SpgemmGroup {
  int lane, lanes;
} SpgemmGroup;

#if defined(__CUDA_ARCH__)
POISE_INLINE void poiseGroupSync(const SpgemmGroup *g)
{
  if (g->lanes <= 32)
    __syncwarp();
  else
    __syncthreads();
}
/* The largest n of the groups that go in step. */
POISE_INLINE int poiseGroupMost(const SpgemmGroup *g, int n)
{
  for (int apart = g->lanes; apart < 32; apart *= 2) {
    int other = __shfl_xor_sync(~0u, n, apart);
    n = other > n ? other : n;
  }
  return n;
}
/* *place = key if it is empty; returns what was there. */
POISE_INLINE int32_t poiseClaim(int32_t *place, int32_t key)
{
  return atomicCAS(place, -1, key);
}
POISE_INLINE int32_t poiseTake(int32_t *next) /* a number of its own for each caller */
{
  return atomicAdd(next, 1);
}
POISE_INLINE double poiseAddProduct(double sum, double a, double b) /* rounded twice */
{
  return __dadd_rn(sum, __dmul_rn(a, b));
}
#else
POISE_INLINE void poiseGroupSync(const SpgemmGroup *g)
{
  (void)g;
}
POISE_INLINE int poiseGroupMost(const SpgemmGroup *g, int n)
{
  (void)g;
  return n;
}
POISE_INLINE int32_t poiseClaim(int32_t *place, int32_t key)
{
  int32_t old = *place;
  if (old < 0) *place = key;
  return old;
}
POISE_INLINE int32_t poiseTake(int32_t *next)
{
  return (*next)++;
}
POISE_INLINE double poiseAddProduct(double sum, double a, double b)
{
  return sum + a * b;
}
#endif

typedef struct SpgemmTable { /* 2^bits keys, -1: none; value: a list of different keys, or a value for each */
  int bits;
  int32_t *key, *value, *used;
} SpgemmTable;

/* The class of a row with so many columns at most. */
POISE_INLINE int poiseSpgemmClass(int64_t columns)
{
  int c = 0;
  for (int64_t fits = SPGEMM_SMALLEST; c < SPGEMM_CLASSES - 1 && columns > fits; c++)
    fits *= c == SPGEMM_CLASSES - 3 ? 2 : 4;
  return c;
}

/* Entries of row i; none of row -1. */
POISE_INLINE int64_t poiseRowBegin(const CsrView *v, int64_t i)
{
  return i < 0 ? 0 : poiseCsrOffset(v, i);
}

POISE_INLINE int64_t poiseRowEnd(const CsrView *v, int64_t i)
{
  return i < 0 ? 0 : poiseCsrOffset(v, i + 1);
}

/* What decides about the class of row i: its length, or the most columns that it can have. */
POISE_INLINE int64_t poiseSpgemmWork(const SpgemmArgs *a, int64_t i)
{
  if (i < 0) return 0;
  if (!a->work) return poiseCsrOffset(&a->C, i + 1) - poiseCsrOffset(&a->C, i);
  return a->work[i] < a->columns ? a->work[i] : a->columns;
}

/* Products of row i of C. Nobody needs larger numbers. */
POISE_INLINE int32_t poiseSpgemmProducts(int64_t sum)
{
  return (int32_t)(sum < INT32_MAX ? sum : INT32_MAX);
}

/* Room for columns of row i: as many as are often found among so many products. */
POISE_INLINE int64_t poiseSpgemmRoom(const SpgemmArgs *a, int64_t i)
{
  const int64_t half = a->work ? ((int64_t)a->work[i] + 1) / 2 : 0;
  return half < a->most_kept ? half : a->most_kept;
}

/* Bits of a table that is half full with so many keys. */
POISE_INLINE int poiseSpgemmBits(int64_t keys)
{
  int bits = 4;
  while ((INT64_C(1) << bits) < 2 * keys) bits++;
  return bits;
}

/* A table for so many keys in 1 + 2^(bits + 1) integers of memory. */
POISE_INLINE SpgemmTable poiseSpgemmTable(int32_t *memory, int64_t keys)
{
  int bits = poiseSpgemmBits(keys);
  SpgemmTable t = {bits, memory + 1, memory + 1 + (INT64_C(1) << bits), memory};
  return t;
}

/* The place of the key, which is put there if it is new. */
POISE_INLINE uint32_t poiseTablePlace(const SpgemmTable *t, int32_t key, int *is_new)
{
  uint32_t last = (UINT32_C(1) << t->bits) - 1, h = poiseHash32(key) >> (32 - t->bits);
  *is_new = 0;
  for (;; h = (h + 1) & last) {
    int32_t there = t->key[h];
    if (there < 0) {
      there = poiseClaim(&t->key[h], key);
      if (there < 0) *is_new = 1;
    }
    if (there < 0 || there == key) return h;
  }
}

POISE_INLINE void poiseTableClear(const SpgemmTable *t, const SpgemmGroup *g)
{
  for (int64_t k = g->lane; k < INT64_C(1) << t->bits; k += g->lanes) t->key[k] = -1;
  if (g->lane == 0) *t->used = 0;
  poiseGroupSync(g);
}

/* The list of the table is the columns of row i of C, in any order; `share` lanes read a row of B. */
POISE_INLINE void poiseSpgemmCollect(const SpgemmArgs *a, int64_t i, const SpgemmGroup *g, int share,
                                     const SpgemmTable *t)
{
  poiseTableClear(t, g);
  int64_t last = poiseRowEnd(&a->A, i);
  for (int64_t e = poiseRowBegin(&a->A, i) + g->lane / share; e < last; e += g->lanes / share) {
    int64_t row = a->A.col[e], end = poiseCsrOffset(&a->B, row + 1);
    for (int64_t f = poiseCsrOffset(&a->B, row) + g->lane % share; f < end; f += share) {
      int32_t column = a->B.col[f];
      int is_new;
      (void)poiseTablePlace(t, column, &is_new);
      if (is_new) t->value[poiseTake(t->used)] = column;
    }
  }
  poiseGroupSync(g);
}

/* Sort n integers ascending (bitonic), in room for the next power of two. None: where other groups do. */
POISE_INLINE void poiseGroupSort(int32_t *list, int n, const SpgemmGroup *g)
{
  int size = n > 0;
  while (size < n) size *= 2;
  for (int k = n + g->lane; k < size; k += g->lanes) list[k] = INT32_MAX;
  poiseGroupSync(g);
  for (int run = 2, most = poiseGroupMost(g, size); run <= most; run *= 2)
    for (int apart = run / 2; apart > 0; apart /= 2) {
      for (int k = g->lane; k < size / 2 && run <= size; k += g->lanes) {
        int low = k & (apart - 1), i = (k - low) * 2 + low, j = i + apart;
        int32_t one = list[i], other = list[j];
        if ((one > other) == ((i & run) == 0)) list[i] = other, list[j] = one;
      }
      poiseGroupSync(g);
    }
}

/* How many of the n different integers are smaller than one of them. */
POISE_INLINE int poiseRank(const int32_t *list, int n, int32_t one)
{
  int rank = 0;
  for (int k = 0; k < n; k++) rank += list[k] < one;
  return rank;
}

/* A list of n columns to `col`, ascending by global number, as C numbers columns. Short lists are not sorted:
   a column's place is its rank. Longer ones have room for the next power of two. */
POISE_INLINE void poiseSpgemmSorted(const SpgemmArgs *a, const SpgemmGroup *g, int32_t *list, int n,
                                    int32_t *col)
{
  const int ranked = 64;
  if (poiseGroupMost(g, n) > ranked) poiseGroupSort(list, n > ranked ? n : 0, g);
  for (int k = g->lane; k < n; k += g->lanes) {
    int32_t place = list[k];
    col[n > ranked ? k : poiseRank(list, n, place)] = poiseLocalOfPlace(a->below, a->C.nloc, place);
  }
  poiseGroupSync(g);
}

/* Rows lane, lane + lanes, ... of a tile: c += x y. x has row distance dr and column distance dc. */
POISE_INLINE void poiseTileMultiply(int p, int q, int s, const double *__restrict__ x, int dr, int dc,
                                    const double *__restrict__ y, double *__restrict__ c, int lane, int lanes)
{
  for (int r = lane; r < p; r += lanes)
    for (int k = 0; k < s; k++) {
      double sum = c[k * p + r];
      for (int l = 0; l < q; l++) sum = poiseAddProduct(sum, x[r * dr + l * dc], y[k * q + l]);
      c[k * p + r] = sum;
    }
}

/* Row i of C's numbers, of tiles p x q and q x s. share: lanes that do an entry of B. */
POISE_INLINE void poiseSpgemmNumbers(const SpgemmArgs *a, int64_t i, const SpgemmGroup *g, int share,
                                     const SpgemmTable *t, int p, int q, int s)
{
  int64_t to = poiseRowBegin(&a->C, i), n = poiseRowEnd(&a->C, i) - to, first = poiseRowBegin(&a->A, i);
  double *val = a->val + to * p * s;
  int turned = a->from32 || a->from64, at_once = g->lanes / share, mine = g->lane / share,
      count = (int)(poiseRowEnd(&a->A, i) - first), most = poiseGroupMost(g, count);
  poiseTableClear(t, g);
  for (int64_t k = g->lane; k < n; k += g->lanes) {
    int is_new;
    t->value[poiseTablePlace(t, poisePlaceOfLocal(a->below, a->C.nloc, a->C.col[to + k]), &is_new)] =
        (int32_t)k;
  }
  for (int64_t k = g->lane; k < n * p * s; k += g->lanes) val[k] = 0;
  poiseGroupSync(g);
  for (int j = 0; j < most; j++) {
    int64_t e = first + j, row = j < count ? a->A.col[e] : 0,
            end = j < count && mine < at_once ? poiseCsrOffset(&a->B, row + 1) : 0;
    int64_t from = j >= count ? 0 : a->from32 ? a->from32[e] : a->from64 ? a->from64[e] : e;
    const double *x = a->A.val + from * p * q;
    for (int64_t f = end ? poiseCsrOffset(&a->B, row) + mine : 0; f < end; f += at_once) {
      const double *y = f < a->ngiven ? a->B.val + f * q * s : a->received + (f - a->ngiven) * q * s;
      int is_new;
      int64_t k = t->value[poiseTablePlace(t, a->B.col[f], &is_new)];
      poiseTileMultiply(p, q, s, x, turned ? q : 1, turned ? 1 : p, y, val + k * p * s, g->lane % share,
                        share);
    }
    poiseGroupSync(g);
  }
}

#endif

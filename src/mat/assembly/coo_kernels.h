/* SPDX-License-Identifier: BSD-3-Clause */
/* Triplets: their keys (coo_pattern.c), and the sums of their values (coo.c). */
#ifndef POISE_COO_KERNELS_H
#define POISE_COO_KERNELS_H

#include "sys/device/kernels.h"

/* key_k = (row_k - begin) << bits | col_k and place_k = first + k. Of rows that are not this rank's m: the
   bit `foreign`, and row_k << bits | col_k. Where an index is negative: m << bits, above all of this rank's.
   Places are int64 or uint32: the other is NULL, here as below. */
typedef struct CooKeysArgs {
  int64_t n, first, begin, m;
  int bits, foreign;
  const int64_t *row, *col;
  uint64_t *key;
  int64_t *place64;
  uint32_t *place32;
} CooKeysArgs;

POISE_INLINE uint64_t poiseCooKey(const CooKeysArgs *a, int64_t k)
{
  int64_t row = a->row[k], own = row - a->begin;
  if (row < 0 || a->col[k] < 0) return (uint64_t)a->m << a->bits;
  if (own >= 0 && own < a->m) return (uint64_t)own << a->bits | (uint64_t)a->col[k];
  return UINT64_C(1) << a->foreign | (uint64_t)row << a->bits | (uint64_t)a->col[k];
}

/* n keys as other ranks have made them, of rows of this rank, become its own keys; places are first + k. */
typedef struct CooReceivedArgs {
  int64_t n, first, begin;
  int bits, foreign;
  uint64_t *key;
  int64_t *place64;
  uint32_t *place32;
} CooReceivedArgs;

POISE_INLINE void coo_received_item(const CooReceivedArgs *a, int64_t k)
{
  a->key[k] = (a->key[k] & ~(UINT64_C(1) << a->foreign)) - ((uint64_t)a->begin << a->bits);
  if (a->place32)
    a->place32[k] = (uint32_t)(a->first + k);
  else
    a->place64[k] = a->first + k;
}

/* Entry e < n: val_e = the sum of the values at places from[k], start[e] <= k < start[e + 1], in that order,
   beginning with 0 or, with add, val_e. Places below ngiven are of `given`, those from there on of
   `received`. One of the widths is NULL. Entries and values are of so many numbers each, which are added one
   to one. */
typedef struct CooSumArgs {
  int64_t n, ngiven;
  int add, numbers;
  const int64_t *start64, *from64;
  const uint32_t *start32, *from32;
  const double *given, *received;
  double *val;
} CooSumArgs;

/* Number j of entry e. */
POISE_INLINE double poiseCooSum(const CooSumArgs *a, int64_t e, int64_t j)
{
  double s = a->add ? a->val[e * a->numbers + j] : 0;
  int64_t k = a->start32 ? a->start32[e] : a->start64[e],
          end = a->start32 ? a->start32[e + 1] : a->start64[e + 1];
  for (; k < end; k++) {
    int64_t place = a->from32 ? a->from32[k] : a->from64[k];
    s += *(place < a->ngiven ? a->given + place * a->numbers + j
                             : a->received + (place - a->ngiven) * a->numbers + j);
  }
  return s;
}

#endif

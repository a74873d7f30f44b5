/* SPDX-License-Identifier: BSD-3-Clause */
/* (row, column) in one integer, with the place where a value stands, sorted on a device (keys.c). */
#ifndef POISE_MAT_KEYS_H
#define POISE_MAT_KEYS_H

#include "sys/sys.h"

typedef struct Keys { /* the caller sets what is above the buffers, which are zero */
  int64_t n, m;       /* number of keys; rows are 0 .. m - 1; row m is ignored */
  int bits;           /* of a column */
  int foreign;        /* bit that marks rows of other ranks, where there are such keys */
  bool wide;          /* places are int64, else int32 */
  bool sorted;        /* key[1] and place[1] are sorted, not key[0] and place[0] to be sorted */
  Buffer key[2], place[2], scratch, count;
} Keys;

int poiseBitsOf(int64_t n); /* bits of numbers up to n; n < 0: 0 */
/* Allocate device memory for n keys and places, which the caller writes. */
PoiseErr poiseKeysCreate(Device *dev, Keys *k, uint64_t **key, int64_t **place64, uint32_t **place32);
PoiseErr poiseKeysSort(Device *dev, Keys *k, int first, int bits); /* as in SortKeysArgs */
/* Count the entries, i.e. different keys. If nz is not NULL, waits for *nz and fetches it. */
PoiseErr poiseKeysCount(Device *dev, Keys *k, int64_t *nz);
/* Make rows, as described at CooRowsArgs, in new buffers. start may be NULL. */
PoiseErr poiseKeysRows(Device *dev, Keys *k, int64_t nz, bool wide, Buffer *ptr, Buffer *col, Buffer *start);
/* *there = the nz columns of one row alone (m = 1), whatever their width, in `list`. ptr: scratch. */
PoiseErr poiseKeysList(Device *dev, Keys *k, int64_t nz, Buffer *ptr, Buffer *list, int64_t **there);
Buffer poiseKeysTakePlaces(Keys *k); /* sorted; the keys: */
Buffer poiseKeysTake(Keys *k);
void poiseKeysDestroy(Keys *k);

#endif

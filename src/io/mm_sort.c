/* SPDX-License-Identifier: BSD-3-Clause */
/*
  In-place radix sort by digits of eight bits, from the highest digit that differs down: every entry is
  swapped to the place of its digit. Sorted input is read once. See McIlroy, Bostic, McIlroy: Engineering
  radix sort, Computing Systems 6, 1993.
*/
#include "mm.h"
#include "vec/vec_host.h"

enum { DIGITS = 256, FEW = 32, MANY = 1 << 15 };

static void SortFew(PoiseInt *key, double *val, int64_t n)
{
  for (int64_t i = 1; i < n; i++) {
    PoiseInt k = key[i];
    double v = val[i];
    int64_t j = i;
    for (; j > 0 && key[j - 1] > k; j--) key[j] = key[j - 1], val[j] = val[j - 1];
    key[j] = k, val[j] = v;
  }
}

static int Digit(PoiseInt key, int shift)
{
  return (int)(key >> shift & (DIGITS - 1));
}

/* Entries of digit d go to [start[d], start[d + 1]). */
static void Partition(PoiseInt *key, double *val, int64_t n, int shift, int64_t start[DIGITS + 1])
{
  int64_t next[DIGITS];
  memset(start, 0, (DIGITS + 1) * sizeof *start);
  for (int64_t k = 0; k < n; k++) start[Digit(key[k], shift) + 1]++;
  for (int d = 0; d < DIGITS; d++) next[d] = start[d], start[d + 1] += start[d];
  for (int d = 0; d < DIGITS; d++)
    while (next[d] < start[d + 1]) {
      PoiseInt k = key[next[d]];
      double v = val[next[d]];
      for (int to = Digit(k, shift); to != d; to = Digit(k, shift)) {
        int64_t at = next[to]++;
        PoiseInt other = key[at];
        double value = val[at];
        key[at] = k, val[at] = v;
        k = other, v = value;
      }
      key[next[d]] = k, val[next[d]++] = v;
    }
}

/* The lowest bit of the highest digit that differs, or -1 if the keys ascend. */
static int FirstDigit(const PoiseInt *key, int64_t n)
{
  uint64_t differ = 0;
  bool ascending = true;
  for (int64_t k = 1; k < n; k++) {
    differ |= (uint64_t)(key[k] ^ key[k - 1]);
    ascending &= key[k - 1] <= key[k];
  }
  if (ascending) return -1;
  int bits = 64 - __builtin_clzll(differ);
  return bits > 8 ? bits - 8 : 0;
}

static void Sort(PoiseInt *key, double *val, int64_t n)
{
  int64_t start[DIGITS + 1];
  if (n <= FEW) {
    SortFew(key, val, n);
    return;
  }
  int shift = FirstDigit(key, n);
  if (shift < 0) return;
  Partition(key, val, n, shift, start);
  for (int d = 0; shift && d < DIGITS; d++) Sort(key + start[d], val + start[d], start[d + 1] - start[d]);
}

void poiseMMSort(PoiseInt *key, double *val, int64_t n, int threads)
{
  int64_t start[DIGITS + 1];
  if (threads == 1 || n < MANY) {
    Sort(key, val, n);
    return;
  }
  int shift = FirstDigit(key, n);
  if (shift < 0) return;
  Partition(key, val, n, shift, start);
  HOST_PARALLEL_ITEMS(threads, true)
  for (int d = 0; d < DIGITS; d++) Sort(key + start[d], val + start[d], start[d + 1] - start[d]);
}

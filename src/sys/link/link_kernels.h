/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Kernels of a transport (link.h), by which devices of several ranks exchange numbers without the host: stores
  into memory of the other device, with a sequence number, which that device polls. Sequence numbers count the
  exchanges of a kind. All ranks make the same exchanges in the same order, so a number identifies one.

  A phase may make its sums over ranks, and the exchange of a vector that it writes, by itself (PhaseArgs).
*/
#ifndef POISE_LINK_KERNELS_H
#define POISE_LINK_KERNELS_H

#include <math.h>
#include <string.h>

#include "sys/device/kernels.h"

/* What a rank sends to another one in a sum: a flag-with-data message, as in NCCL's LL protocol. Each rank
   has two receive buffers for every rank, used in turn: a sender writes one again when all ranks have read
   it, as they have taken part in the sum between. A number is two words, each with half of its bits and the
   sequence number. A word is stored and loaded as a whole, so nothing must be ordered before or after it. */
typedef struct LinkMessage {
  uint64_t word[POISE_MAX_BATCH][2];
} LinkMessage;

/* The receive buffer of a sender, in a sum. */
POISE_INLINE int64_t poiseLinkBufferOf(uint32_t seq, int size, int sender)
{
  return (int64_t)(seq % 2) * size + sender;
}

POISE_INLINE uint64_t poiseLinkWord(double v, int half, uint32_t seq)
{
  uint64_t bits;
  memcpy(&bits, &v, sizeof bits);
  return (uint64_t)seq << 32 | (half ? bits >> 32 : bits & UINT32_MAX);
}

POISE_INLINE double poiseLinkValue(uint64_t low, uint64_t high)
{
  uint64_t bits = high << 32 | (low & UINT32_MAX);
  double v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

/* Words of a message of n numbers. One of nothing has a number too. */
POISE_INLINE int poiseLinkMessageWords(int n)
{
  return n ? 2 * n : 2;
}

/* The sequence number of the sum whose thread blocks find this word (LinkRanks). Its upper half is the number
   of the latest sum, its lower half counts the blocks that have seen it. The last one of a sum adds
   poiseLinkAdvance. So all blocks see one number, and none sees the next. */
POISE_INLINE uint32_t poiseLinkSequence(uint64_t word)
{
  return (uint32_t)(word >> 32) + 1;
}

POISE_INLINE uint64_t poiseLinkAdvance(uint32_t blocks)
{
  return ((uint64_t)1 << 32) - blocks;
}

/* link_sum: dst[k] = the sum over all ranks, in rank order, of the n sums of partials that each has, n <=
   POISE_MAX_BATCH; NaN if a rank does not come. Partials are added in the order of `reduce`. n = 0: the ranks
   wait for each other.
   link_own: dst[k] = the sum of this rank's partials. What the other ranks have, link_add adds. */
typedef struct LinkSumArgs {
  int n;
  int listed;            /* the partials of sum k are those of sum[k]; */
  int64_t stride, count; /* else they are partial[k * stride + 0 .. count) */
  const double *partial;
  double *dst;
  Sum sum[POISE_MAX_SUMS]; /* their dst is not used */
  LinkRanks ranks;
} LinkSumArgs;

/* dst[k] = the sum of all[r * n + k] over ranks r, in rank order. */
typedef struct LinkAddArgs {
  int n, size;
  const double *all;
  double *dst;
} LinkAddArgs;

/* link_push takes LinkPushArgs, link_wait LinkWaitArgs: link_args.h. */

/* The entries of rank from[k], which do not come. */
POISE_INLINE void poiseLinkSetNan(const LinkWaitArgs *a, int k)
{
  int64_t size = a->size > 1 ? a->size : 1;
  for (int64_t i = a->start[k] * size; i < a->start[k + 1] * size; i++)
    if (a->in_f32)
      a->in_f32[i] = NAN;
    else
      a->in[i] = NAN;
}

#endif

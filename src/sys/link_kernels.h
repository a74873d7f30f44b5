/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Kernels of a link (link.h), by which devices of several ranks exchange numbers without the host: stores into
  memory of the other device, then an epoch, which that device polls. Epochs count the exchanges of a kind.
  All ranks make the same exchanges in the same order, so a number identifies one.
*/
#ifndef POISE_LINK_KERNELS_H
#define POISE_LINK_KERNELS_H

#include "kernels.h"

/* What a rank sends to another one in a sum. Each rank has two for every rank, used in turn: a sender writes
   the next one of a kind when all ranks have read it, as they have taken part in the sum between. */
typedef struct LinkMail {
  double v[POISE_MAX_BATCH];
  uint64_t epoch; /* of v */
  uint64_t unused[15];
} LinkMail;

POISE_INLINE int64_t poiseLinkMail(uint64_t epoch, int size, int sender)
{
  return (int64_t)(epoch % 2) * size + sender;
}

typedef struct LinkPatience { /* of who polls */
  double seconds;
  /* not 0: this rank waited in vain for rank late - 1, and waits no more. Its exchanges are then out of step:
     others may be reading what it stores anew. Their results are lost as well. */
  uint64_t *late;
} LinkPatience;

/* link_sum: dst[k] = the sum over all ranks, in rank order, of the n sums of partials that each has, n <=
   POISE_MAX_BATCH; NaN if a rank does not come. Partials are added in the order of `reduce`. n = 0: the ranks
   wait for each other.
   link_own: dst[k] = the sum of this rank's partials. What the other ranks have, link_add adds. */
typedef struct LinkSumArgs {
  int n, rank, size;
  int listed;            /* the partials of sum k are those of sum[k]; */
  int64_t stride, count; /* else they are partial[k * stride + 0 .. count) */
  const double *partial;
  double *dst;
  Sum sum[POISE_MAX_SUMS]; /* their dst is not used */
  LinkMail *const *mail;   /* by rank */
  uint64_t *epoch;         /* of the latest sum */
  LinkPatience patience;
} LinkSumArgs;

/* dst[k] = the sum of all[r * n + k] over ranks r, in rank order. */
typedef struct LinkAddArgs {
  int n, size;
  const double *all;
  double *dst;
} LinkAddArgs;

typedef struct LinkTarget { /* a rank that entries go to */
  int64_t start;            /* of its entries among those that are sent */
  double *in;               /* where they go */
  uint64_t *epoch;          /* set behind them */
} LinkTarget;

/* Store x[index[i]], i < n, into memory of other ranks. */
typedef struct LinkPushArgs {
  int64_t n;
  const int32_t *index; /* NULL: x[i] */
  const double *x;
  int ntarget;
  const LinkTarget *target;
  const uint64_t *epoch; /* of the latest exchange that has ended */
  uint64_t *arrived;     /* thread blocks that are done; 0 between launches */
  const uint64_t *late;  /* of LinkPatience. Not 0: threads of a host store nothing, as in link_sum */
} LinkPushArgs;

/* Wait for the entries of `nfrom` ranks. Those that do not come are NaN. */
typedef struct LinkWaitArgs {
  int nfrom;
  const int32_t *from;  /* their numbers */
  const int64_t *start; /* nfrom + 1 offsets into `in` */
  const uint64_t *came; /* the epochs of their entries */
  double *in;
  uint64_t *epoch; /* becomes that of this exchange */
  LinkPatience patience;
} LinkWaitArgs;

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments that kernels of a transport and phases that exchange by themselves have in common
   (link_kernels.h). */
#ifndef POISE_LINK_ARGS_H
#define POISE_LINK_ARGS_H

#include <stdint.h>

enum { LINK_FUSED_MOST = 16 }; /* ranks whose sums phases add by themselves */

struct LinkMessage;

typedef struct LinkPatience { /* of who polls */
  double seconds;
  /* not 0: rank late - 1 did not come, and this rank waits no more. Its exchanges are then out of step:
     others may be reading what it stores anew. Their results are lost as well. */
  uint64_t *late;
  /* not 0: those awaited run on other devices, so that what polls, or waits after it, takes no place of
     theirs */
  int64_t apart;
} LinkPatience;

typedef struct LinkRanks {         /* who add a sum over ranks by messages */
  int rank, size;                  /* size = 0: nobody */
  struct LinkMessage *const *recv; /* by rank: its receive buffers */
  uint64_t *sequence; /* number of the latest sum, and a count of thread blocks: poiseLinkSequence */
  LinkPatience patience;
} LinkRanks;

typedef struct LinkTarget { /* a rank that entries go to */
  int64_t start;            /* of its entries among those that are sent */
  int64_t shift;            /* entry i becomes entry i + shift */
  double *in;               /* of what comes to that rank, in fp32 too */
  uint64_t *sequence;       /* set after the entries: the number of the exchange */
} LinkTarget;

/* Store x[index[i]], i < n, into memory of other ranks. An entry is `size` numbers, one after the other;
   0: it is one. */
typedef struct LinkPushArgs {
  int64_t n;
  int64_t begin; /* these first, those for lower ranks last: not all ranks store to the same one at once */
  const int32_t *index; /* NULL: x[i] */
  const double *x;      /* or, */
  const float *x_f32;   /* if it is not NULL, entries in fp32 */
  int ntarget, size;
  const LinkTarget *target;
  uint64_t *sent;       /* sequence number of the latest exchange that was sent; becomes that of this one */
  uint64_t *arrived;    /* thread blocks that are done; 0 between launches */
  const uint64_t *late; /* of LinkPatience. Not 0: threads of a host store nothing, as in link_sum */
} LinkPushArgs;

/* Wait for the entries of `nfrom` ranks, of `size` numbers each. Those that do not come are NaN. */
typedef struct LinkWaitArgs {
  int nfrom, size;
  const int32_t *from;  /* their numbers */
  const int64_t *start; /* nfrom + 1 offsets into `in` */
  const uint64_t *came; /* the sequence numbers of their entries */
  double *in;           /* or, */
  float *in_f32;        /* if it is not NULL, for those in fp32 */
  uint64_t *sequence;   /* number of the latest exchange that has ended; becomes that of this one */
  LinkPatience patience;
} LinkWaitArgs;

typedef struct LinkEntry { /* one that goes to another rank */
  int64_t row;
  double *to;
} LinkEntry;

/* A phase stores entries of a vector that it writes into memory of other ranks, and then waits for theirs.
   Row blocks are run in an order in which those with such entries come first. */
typedef struct LinkSend {
  LinkPushArgs push;      /* of x, which the phase writes; without an index. x = NULL: nothing of all this */
  const LinkEntry *entry; /* by row block */
  const int32_t *order;   /* of row blocks */
  const int32_t *first;   /* order[k], k < nsending, has entries first[k] .. first[k + 1] */
  int64_t nsending;
  LinkWaitArgs wait;
} LinkSend;

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators: what every kind of rank offers, and what is made of it. Ranks that are threads. */
#ifndef POISE_COMM_H
#define POISE_COMM_H

#include <stdbool.h>

#include "sys/base/error.h"

typedef struct Comm Comm;

/* The purpose of a collective. Ranks that meet with different purposes are in different calls. */
typedef enum CommPurpose {
  COMM_GATHER,
  COMM_SUM,
  COMM_MAX,
  COMM_MAX_INT,
  COMM_SCAN,
  COMM_AGREE,
  COMM_SHARE, /* one rank's data */
  COMM_TRADE, /* all to all */
  COMM_END,   /* end of PoiseRun's body */
  COMM_PURPOSES
} CommPurpose;

/* a neighbour exchange: segments of doubles, fixed at set-up. Ranks ascending, never self */
typedef struct Exchange {
  int nsend, nrecv;
  int *send_rank, *recv_rank;
  int64_t *send_start, *recv_start; /* nsend + 1 and nrecv + 1 offsets into the buffers */
  double *send, *recv;              /* host buffers, owned by whoever owns the exchange */
  void *priv;                       /* the communicator's */
} Exchange;

typedef struct CommOps {
  const char *name;
  /* out = every rank's `bytes` bytes in rank order; sums and agreements use it */
  PoiseErr (*allgather)(Comm *, const void *in, size_t bytes, void *out);
  PoiseErr (*bcast)(Comm *, void *data, size_t bytes, int root);
  /* counts are bytes per rank; send and recv are packed in rank order. Any count may be 0, or exceed 2^31 */
  PoiseErr (*alltoallv)(Comm *, const void *send, const int64_t *send_bytes, void *recv,
                        const int64_t *recv_bytes);
  PoiseErr (*exchange_setup)(Comm *, Exchange *); /* fills priv; collective */
  void (*exchange_free)(Comm *, Exchange *);
  /* send[] is full; returns without waiting for others if it can */
  PoiseErr (*exchange_begin)(Comm *, Exchange *);
  PoiseErr (*exchange_end)(Comm *, Exchange *); /* recv[] is full, send[] may be written again */
  /* *part: a communicator of those with the same color >= 0, in their order, for part_ctx; other ranks get
     NULL. Collective; each rank returns its own error */
  PoiseErr (*split)(Comm *, int color, PoiseContext part_ctx, Comm **part);
  void (*leave)(Comm *part);     /* this rank leaves what was split off; NULL: it is destroyed */
  bool (*has_ended)(void);       /* has the application ended the communication of ranks
                                                     (MPI_Finalize)? NULL: it cannot */
  void (*end_program)(int size); /* this process is about to end, as are all of a communicator of this size:
                                    finish what they share (MPI_Finalize). NULL: nothing */
  void (*destroy)(Comm *);
} CommOps;

struct Comm {
  const CommOps *ops;
  PoiseContext ctx;
  int rank, size;
  void *data;
  CommPurpose purpose;             /* purpose of gathers; comm.c sets it for its own */
  bool checks;                     /* check that all ranks meet in the same collective (threads always do) */
  int64_t messages, message_bytes; /* sent so far, for the log */
  double *scratch;                 /* size * POISE_COMM_WIDTH doubles, so that sums allocate nothing */
};
enum { POISE_COMM_WIDTH = 64 };

PoiseErr poiseCommCreateSelf(PoiseContext ctx, Comm **comm);
#ifdef POISE_HAVE_MPI
PoiseErr poiseCommCreateMPI(PoiseContext ctx, const void *mpi_comm, Comm **comm);
#endif
/* As ops->split. Collective; agrees. Each rank leaves its part, when it makes no more calls with it. */
PoiseErr poiseCommSplit(Comm *comm, int color, PoiseContext part_ctx, Comm **part);
void poiseCommLeave(Comm **part);
void poiseCommDestroy(Comm **comm);
/* An empty communicator of these sizes, for the files that implement one. */
PoiseErr poiseCommAlloc(PoiseContext ctx, const CommOps *ops, int rank, int size, Comm **comm);

/* Ranks that are threads of one process. The starter makes the team, with all that it needs, in its own
   ctx. */
typedef struct Team Team;
PoiseErr poiseTeamCreate(PoiseContext ctx, int size, Team **team);
void poiseTeamDestroy(Team **team);                               /* after all threads have ended */
Comm *poiseTeamComm(Team *team, int rank, PoiseContext rank_ctx); /* lent to one rank's context */
/* This rank leaves with an error. Ranks that wait for it, then or later, get POISE_ERR_REMOTE instead of
   hanging. */
void poiseTeamAbort(Team *team, int rank);

/* Are there so many cores among those that this thread may run on? If not, ranks that wait do not spin. */
bool poiseCoreForEach(int ranks);

/* The collective that a rank is in when it meets others. */
typedef struct CommMeeting {
  int64_t purpose, bytes, root;
  const char *call; /* the public function, or NULL */
} CommMeeting;
CommMeeting poiseCommMeeting(Comm *comm, CommPurpose purpose, size_t bytes, int root);
/* POISE_ERR_COMM, with both calls, if ranks are in different collectives. */
PoiseErr poiseCommSame(const CommMeeting *mine, int rank, const CommMeeting *other, int other_rank);
/* This rank has left PoiseRun's body. Collective. */
PoiseErr poiseCommEnd(Comm *comm);

/* v[0..n) = sums over ranks in rank order, with the same bits everywhere. Any n; never allocates. */
PoiseErr poiseCommSum(Comm *comm, double *v, int n);
PoiseErr poiseCommMax(Comm *comm, double *v, int n);
PoiseErr poiseCommMaxInt(Comm *comm, int64_t *v, int n);
/* Agree on an error, and gather: out = every rank's `bytes` bytes of `in` in rank order, unless one has
   failed. Then `in` and `out` may be NULL. One collective where they are short. */
PoiseErr poiseAgreeGather(PoiseContext ctx, PoiseErr mine, const void *in, size_t bytes, void *out);
/* Agree on an error, and take the largest as poiseCommMax, unless a rank has failed. */
PoiseErr poiseAgreeMax(PoiseContext ctx, PoiseErr mine, double *v);
/* Agree on an error, and add as poiseCommSum, unless a rank has failed. n < POISE_COMM_WIDTH. */
PoiseErr poiseAgreeSum(PoiseContext ctx, PoiseErr mine, double *v, int n);
/* *before = sum of v over lower ranks, *total = over all. */
PoiseErr poiseCommScan(Comm *comm, int64_t v, int64_t *before, int64_t *total);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Groups: ranks that share a GPU, in a solve (-comm_gather). The first rank of a group, its leader, has a
  context more, on the communicator of the leaders of all groups. It does there what a rank does whose rows
  are those of the group. The other ranks sleep in the meantime.

    rank 0   b_0 ---.                                                   .---> x_0
    rank 1   b_1 ----> parcels   leader: A, b, solve, x      parcels -----> x_1
    rank 2   b_2 ---'            sleep, answer questions                '---> x_2

  Parcels are arrays of the ranks. The leader of threads reaches them where they are. So does that of
  processes on the GPU, where their arrays are in memory that it opens (device/arena.h). Arrays of the host,
  and others of the GPU, are copied once into memory that the group shares.

  A job is a function that all leaders call. It is collective among them: it fails on all or on none.
*/
#ifndef POISE_GROUP_H
#define POISE_GROUP_H

#include "sys/device/buffer.h"

typedef struct RankGroup RankGroup;

typedef enum GatherWish { GATHER_AUTO, GATHER_YES, GATHER_NO } GatherWish; /* -comm_gather */

typedef struct Parcel {
  void *p;
  size_t bytes;
  Side side;
  bool returns; /* it comes back: the leader writes it */
} Parcel;

/* Find the groups: ctx->group, or NULL, with the reason in ctx->gathering. Collective; agrees. */
PoiseErr poiseGroupPlan(PoiseContext ctx, GatherWish wish);
/* End it. together: all ranks are here, and none has failed. */
void poiseGroupClose(PoiseContext ctx, bool together);

int poiseGroupCount(const RankGroup *g);             /* of groups */
int poiseGroupFirst(const RankGroup *g, int number); /* the first rank of that group; of Count: all ranks */
int poiseGroupNumber(const RankGroup *g);            /* of this rank's group */
PoiseContext poiseGroupLeader(const RankGroup *g);   /* the leader's context; NULL on other ranks */
bool poiseGroupWorked(const RankGroup *g);           /* has there been a job? On all ranks alike */

/* For the next job: this rank's parcel number k = 0, 1, ... The array stays as it is until then. */
PoiseErr poiseGroupSend(RankGroup *g, Parcel parcel);
void poiseGroupClear(RankGroup *g); /* forget them */
/* In a job, on the leader: parcel k of rank `member` of its group, from 0. */
const Parcel *poiseGroupParcel(const RankGroup *g, int member, int k);

/* What a leader asks ranks of its group in a job, and what each replies; bytes of these at most. */
enum { POISE_GROUP_QUESTION = 2048, POISE_GROUP_REPLY = 64 };
typedef PoiseErr (*GroupAnswer)(void *arg, const void *question, void *reply);

/* Have all leaders call job(leader's context, arg), with the parcels that were sent. answer(arg, ...): called
   on all ranks for questions; may be NULL. mine: this rank's error so far, which is everybody's. Collective;
   agrees. */
PoiseErr poiseGroupDo(RankGroup *g, PoiseErr mine, PoiseErr (*job)(PoiseContext, void *), GroupAnswer answer,
                      void *arg);
/* In a job, on the leader: have all ranks of the group answer a question. The error is the first rank's that
   has one. */
PoiseErr poiseGroupAsk(PoiseContext leader, const void *question, size_t bytes);
/* Then: the reply of rank `member` of the group; NULL: there is no such rank. */
const void *poiseGroupReply(PoiseContext leader, int member);
/* While a question is answered, by all ranks: have the leaders call job, and bring what returns. */
PoiseErr poiseGroupWithin(RankGroup *g, PoiseErr (*job)(PoiseContext, void *), void *arg);
bool poiseGroupBusy(
    const RankGroup *g); /* in the middle of a job: what a question's answer does is no other job */

#endif

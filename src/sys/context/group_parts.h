/* SPDX-License-Identifier: BSD-3-Clause */
/*
  What the files of a group share: group.c, group_meet.c, group_parcels.c, group_jobs.c.

  A board in memory that the group shares has a card of each rank: its parcels, its error. Ranks wait for each
  other, and for the end of a job, on a condition there: nobody polls. A job has three meetings:

    all        write cards   . meet .   pack parcels   . meet .   -- sleep, answer --   . meet .   unpack
    leader                                                        job, questions

  Between processes each rank has an area for parcels on the host, and one on its GPU for arrays that the
  leader does not reach, such as the application's. They grow as needed.
*/
#ifndef POISE_GROUP_PARTS_H
#define POISE_GROUP_PARTS_H

#include <stdatomic.h>

#include "context.h"
#include "group.h"
#include "sys/base/shared_file.h"
#include "sys/device/arena.h"

enum { PARCELS = 256, ON_SIDES = 2 }; /* most of a job; sides of areas */

typedef struct CardParcel {
  Parcel parcel;
  ArenaPlace place; /* where the leader reaches it; else, place.block = 0, it is */
  size_t at;        /* in the area of its side */
} CardParcel;

typedef struct Card { /* what a rank shows its group */
  PoiseErr code;      /* of the job so far */
  ErrorState error;
  int64_t process;
  _Alignas(16) unsigned char reply[POISE_GROUP_REPLY]; /* to the latest question */
  int n;
  CardParcel parcel[PARCELS];
  size_t room[ON_SIDES];        /* bytes of its areas, */
  int64_t made[ON_SIDES];       /* which have been made so often */
  char name[POISE_SHARED_NAME]; /* of that on the host */
  LinkHandle handle;            /* of that on the device */
} Card;

typedef struct Board { /* with the lock: counts and questions. A card is its rank's until the next meeting */
  pthread_mutex_t lock;
  pthread_cond_t changed;
  atomic_int users;   /* threads that have it */
  int64_t arrived[2]; /* at meetings, in all; at those while a question is answered */
  int64_t asked;      /* questions, in all */
  int replies;        /* to the latest */
  _Alignas(16) unsigned char question[POISE_GROUP_QUESTION];
  PoiseErr code; /* of the latest job; */
  int culprit;   /* the rank that failed, by itself; -1: all did, or one of another group */
  ErrorState error;
  Card card[];
} Board;

typedef struct Area { /* for parcels of a rank, on one side */
  void *p;
  size_t room;
  int64_t made; /* as of Card */
} Area;

typedef struct OpenBlock { /* of another rank's arena */
  int64_t number;
  size_t bytes;
  void *p;
  struct OpenBlock *next;
} OpenBlock;

struct RankGroup {
  PoiseContext ctx;
  int groups, number, rank, size; /* of all; of mine; my rank in it, from 0; its ranks */
  int *start;                     /* first ranks of groups; behind them the number of ranks */
  bool processes, broken;         /* broken: a rank has ended */
  PoiseContext inner;             /* the leader's */
  Board *board;
  CardParcel *parcel; /* of the next job; */
  int n;              /* so many */
  Area own[ON_SIDES];
  Area (*open)[ON_SIDES]; /* of the leader: areas of all ranks, */
  OpenBlock **blocks;     /* and blocks of their arenas */
  int64_t jobs;           /* so far */
  int64_t asked;          /* questions that this rank has seen */
  bool busy, answers;     /* in the middle of a job; of a question */
  GroupAnswer answer;     /* of the running job */
  void *arg;
};

/* Wait until all ranks of the group are here, and answer questions meanwhile (group_meet.c). */
PoiseErr poiseGroupMeet(RankGroup *g);
/* The first error that a rank of the group has by itself, with its words. */
PoiseErr poiseGroupFirstError(RankGroup *g);
/* On the rank's card, unless there is one. */
void poiseGroupShow(RankGroup *g, PoiseErr e);

/* Write the card, and enlarge areas as its parcels need. mine: this rank's error so far (group_parcels.c). */
PoiseErr poiseGroupShowParcels(RankGroup *g, PoiseErr mine);
/* Copy parcels into areas, or back. */
PoiseErr poiseGroupCopyParcels(RankGroup *g, bool back);
/* On the leader: where parcels of other processes are. */
PoiseErr poiseGroupFindParcels(RankGroup *g);
void poiseGroupCloseAreas(RankGroup *g); /* on the leader: what it has open */
void poiseGroupFreeAreas(RankGroup *g);

/* A job that is not counted (group_jobs.c). */
PoiseErr poiseGroupDoWith(RankGroup *g, PoiseErr mine, PoiseErr (*job)(PoiseContext, void *),
                          GroupAnswer answer, void *arg);

#endif

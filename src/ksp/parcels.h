/* SPDX-License-Identifier: BSD-3-Clause */
/*
  What goes between the ranks that have the application's objects, the owners, and the ranks that solve for
  them, the solvers (parcels.c). There are two kinds:

  - workers: one owner, and threads that have a part of its rows each (sys/context/workers.h);
  - a group: ranks that share a GPU, of which one solves with the rows of all (sys/context/group.h).

  In both, a solver has the rows [start[r], start[r + 1]) of the same numbering.
*/
#ifndef POISE_KSP_PARCELS_H
#define POISE_KSP_PARCELS_H

#include "mat/object/mat.h"

enum { NO_PARCEL = -1, MOST_PARCELS = 256 };

typedef struct Crew {
  PoiseContext ctx; /* the owner's */
  int solvers;      /* how many there are */
  Parcel *parcel;   /* of the only owner, for workers; of the next job */
  int n;            /* parcels so far of the next job, or of that which runs */
} Crew;

PoiseErr poiseCrewOpen(PoiseContext ctx, Crew *c);
void poiseCrewClose(Crew *c);
/* "-solve_ranks 4", or "-comm_gather": the option that asks for it. Lent. */
const char *poiseCrewWord(PoiseContext ctx);
/* Forget the parcels of the last job. */
void poiseCrewClear(Crew *c);
/* This owner's array for the next job, which stays as it is until then; *k: its number. What is on a device
   is complete there. */
PoiseErr poiseCrewSend(Crew *c, Parcel parcel, int *k);
/* The same of the valid side of a buffer; nothing travels unless both are new. */
PoiseErr poiseCrewSendBuffer(Crew *c, Buffer *b, int *k);
/* Have all solvers call job(context of the solver, arg). mine: this owner's error so far. answer: of
   questions by a leader. Collective over owners; agrees. */
PoiseErr poiseCrewDo(Crew *c, PoiseErr mine, PoiseErr (*job)(PoiseContext, void *), GroupAnswer answer,
                     void *arg);

/* ---- in a job -------------------------------------------------------------------------------- */

int poiseCrewOwners(const Crew *c); /* whose parcels a solver sees */
const Parcel *poiseCrewParcel(const Crew *c, int owner, int k);
/* The first row, or column, of that owner by the layout of the application's matrix; of Owners: behind the
   last. */
PoiseInt poiseCrewFirst(const Crew *c, const Layout *layout, int owner);
/* Enqueue: the numbers of rows [begin, begin + n) of the owners' parcels k to `to`, or from there. */
PoiseErr poiseCrewFetch(const Crew *c, PoiseContext solver, const Layout *layout, int k, PoiseInt begin,
                        PoiseInt n, double *to);
PoiseErr poiseCrewDeliver(const Crew *c, PoiseContext solver, const Layout *layout, int k, PoiseInt begin,
                          PoiseInt n, const double *from);

#endif

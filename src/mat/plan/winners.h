/* SPDX-License-Identifier: BSD-3-Clause */
/* Winners of measurements by type auto, which are remembered by a key of matrix, device and options: in the
   context, and in a file from run to run. A winner is the place of its name among those of the contenders,
   which end with NULL. */
#ifndef POISE_WINNERS_H
#define POISE_WINNERS_H

#include "mat/mat.h"

enum { POISE_WINNERS = 256 };

typedef struct Winners { /* the latest ones, in a ring */
  int64_t count;         /* ever */
  struct {
    uint64_t key;
    int winner;
  } of[POISE_WINNERS];
} Winners;

/* A hash of all that a measurement on this rank depends on, except options. Two patterns with one hash would
   only cost speed. Local. */
PoiseErr poiseWinnersHash(PoiseMat A, uint64_t *h);
/* The key of the memory of winners, equal on all ranks. Collective; mine: this rank's error so far;
   agrees. */
PoiseErr poiseWinnersKey(PoiseContext ctx, PoiseErr mine, uint64_t h, uint64_t *key);

void poiseWinnersRemember(PoiseContext ctx, uint64_t key, int winner);
/* *winner as rank 0 remembers it, or -1 unless all ranks do. The memories may differ, as blocks inside ranks
   fill them differently. Collective. */
PoiseErr poiseWinnersRecall(PoiseContext ctx, uint64_t key, int *winner);
/* The same of a file, which rank 0 reads. Collective; agrees. */
PoiseErr poiseWinnersRead(PoiseContext ctx, const char *path, const char *const *names, uint64_t key,
                          int *winner);
/* Rank 0 adds it to the file. Collective; agrees. */
PoiseErr poiseWinnersWrite(PoiseContext ctx, const char *path, const char *const *names, uint64_t key,
                           int winner);

#endif

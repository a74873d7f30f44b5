/* SPDX-License-Identifier: BSD-3-Clause */
/* Levels that every rank holds. */
#ifndef POISE_AMG_REDUNDANT_H
#define POISE_AMG_REDUNDANT_H

#include "cycle_vec.h"
#include "tentative.h"

typedef struct AmgRedundant {
  int level;             /* the first that is held as a whole, by all ranks */
  PoiseMat A;            /* its matrix with rows on all ranks; NULL: there is no such level */
  AmgVec b, x;           /* of that layout; of level 0 all rows, in fp64 */
  AmgVec wide_b, wide_x; /* the same of several columns */
  Halo *halo;            /* rows of all other ranks */
} AmgRedundant;

enum { AMG_OF_ROWS = 2 };
/* *B: r->A's pattern in the context of this rank alone; then its values and, of what there is `of` rows, that
   of all rows instead of this rank's. Collective. The former agrees; of the latter the caller does. */
PoiseErr poiseAmgRedundantCreate(AmgRedundant *r, PoiseMat *B);
PoiseErr poiseAmgRedundantNumbers(const AmgRedundant *r, PoiseMat B, AmgModes *const of[AMG_OF_ROWS]);
void poiseAmgRedundantBytes(const AmgRedundant *r, PoiseBytes *sum);
void poiseAmgRedundantRelease(AmgRedundant *r); /* its vectors */
void poiseAmgRedundantDestroy(AmgRedundant *r);
/* all = part of all ranks, both in fp64 or both in fp32, of so many columns (0: ordinary vectors).
   Collective; the exchange takes place whatever fails on this rank. */
PoiseErr poiseAmgCollect(AmgRedundant *r, int columns, AmgVec *part, AmgVec *all);
/* part = this rank's rows of all, and in fp64 dots of it */
PoiseErr poiseAmgTakePart(AmgRedundant *r, int columns, AmgVec *all, AmgVec *part, const double *skip,
                          const Fuse *fuse);

#endif

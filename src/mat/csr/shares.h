/* SPDX-License-Identifier: BSD-3-Clause */
/* Shares of the ranks in a total, which may be unequal (shares.c). */
#ifndef POISE_MAT_SHARES_H
#define POISE_MAT_SHARES_H

#include "mat/object/mat.h"

enum { PERCENT = 100 }; /* of a share: less is neither cut nor moved */

typedef struct Shares {
  int parts;
  const double *bound; /* bound[q]: of the total, what lies before part q; NULL: shares are equal */
} Shares;

Shares poiseSharesOf(PoiseMat A);
/* The part in whose share the middle between before and before + weight lies. */
int32_t poiseShareAt(const Shares *s, int64_t before, int64_t weight, int64_t total);
/* How many of `total` units lie in the shares before part q. */
int64_t poiseShareBegin(const Shares *s, int q, int64_t total);
double poiseShareSize(const Shares *s, int q, int64_t total);
double poiseShareLeast(const Shares *s, int64_t total); /* the smallest share */
/* *over: the most that a rank has of A's nonzeros, in times of its share; part: what this rank has.
   Collective. */
PoiseErr poiseSharesOver(PoiseMat A, int64_t part, double *over);

#endif

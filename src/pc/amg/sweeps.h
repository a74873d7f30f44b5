/* SPDX-License-Identifier: BSD-3-Clause */
/* Smoothing by sweeps over the rows, by colours, on the rank's own block. */
#ifndef POISE_AMG_SWEEPS_H
#define POISE_AMG_SWEEPS_H

#include "amg.h"

/* l->sweeps of l->A, or their values. Not made, on all ranks alike, where a rank's rows need too many
   colours, or, but for `always`, where colours are so small that a GPU mostly launches them. Collective;
   agrees. */
PoiseErr poiseAmgSweepsMake(PoiseContext ctx, AmgLevel *l, bool always);
/* What a cycle in fp32, or in fp64, needs of them. Local. */
PoiseErr poiseAmgSweepsReady(AmgLevel *l, bool single);
/* z = M^-1 r of one sweep from 0, forward or backward. Local. */
PoiseErr poiseAmgSweep(AmgLevel *l, bool backward, AmgVec *r, AmgVec *z, const double *skip);
/* If this rank has all rows: x = `count` forward sweeps from 0 for b, kept at places, and t = b - A x; then
   x += add, x = `count` backward sweeps from there for the same b, and in fp64 the dots of x. Local. */
PoiseErr poiseAmgSweepsDown(AmgLevel *l, int count, AmgVec *b, AmgVec *t, const double *skip);
PoiseErr poiseAmgSweepsUp(AmgLevel *l, int count, AmgVec *add, AmgVec *x, const double *skip,
                          const Fuse *fuse);
void poiseAmgSweepsBytes(const AmgSweeps *s, PoiseBytes *sum);
void poiseAmgSweepsDestroy(PoiseContext ctx, AmgSweeps *s);

#endif

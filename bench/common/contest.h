/* SPDX-License-Identifier: BSD-3-Clause */
/* Taking the times of contenders in turns. */
#ifndef BENCH_CONTEST_H
#define BENCH_CONTEST_H

#include "peer.h"

/*
  How calls are repeated: back to back; with caches emptied before each, whose time is left out (on a device
  that works on while the host returns, by measuring it alone); solves of two numbers of iterations, so that
  what is done once per solve cancels; or replayed from graphs, as solvers do it, so that small operations do
  not wait for the host, which enqueues each in some microseconds. Sustained: so many that a device reaches
  the clocks it can keep; solves of some hundred iterations one behind the other, less as many short ones, and
  all else replayed.
*/
enum { BACK_TO_BACK, COLD, BY_ITERATIONS, REPLAYED, SUSTAINED };

enum { FEWEST = 3, RECORDED = 50 /* operations of a graph */ };

typedef struct Rules {
  double sample;                /* seconds that calls are repeated for */
  double seconds;               /* after so many FEWEST repeats are enough */
  PoiseInt repeats, iterations; /* iterations of the shorter solve; the longer has three times as many */
  PoiseInt sustained;           /* operations of a long run; one repeat of it is enough */
  double copied;                /* bytes for each of them, beside which as many are copied */
} Rules;

/* Once per contender: how often a call is repeated, so that waiting for the device hardly adds to its
   time. */
PoiseErr Calibrate(const Rules *rules, Contender *c, int mode);
/* One more measurement. */
PoiseErr Turn(Contender *c, int mode);
/* All contenders of a list, and beside them READ and COPY of the limits, in turns; earlier times are
   forgotten. REPLAYED: all whose lanes have recorders. SUSTAINED: beside COPY alone. */
PoiseErr Race(const Rules *rules, List *limits, List *list, int mode);

/* Seconds of one operation, by the median or the least of the repeats. */
double Seconds(Contender *c, double (*of)(Times *));
double GBs(double bytes, double seconds);

#endif

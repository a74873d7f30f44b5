/* SPDX-License-Identifier: BSD-3-Clause */
/* Repeated times, and the bandwidth of the host's memory. */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <poise.h>

enum { MAX_REPEATS = 99 };

typedef struct Times {
  int n;
  double t[MAX_REPEATS];
} Times;

/* NAN where there are none. They sort the times. */
double Median(Times *t);
double Least(Times *t);

/* Begin: all ranks are here. End: the time since *start that the slowest rank took. Collective. */
PoiseErr Begin(PoiseContext ctx, double *start);
PoiseErr End(PoiseContext ctx, double start, Times *t);

/* Large blocks in large pages, as the library's own are, so that what is compared differs in nothing else.
   Given back by free. */
void *LargePages(size_t bytes);

enum { READ, COPY, TRIAD, BANDWIDTHS }; /* s += a_i; b = a; c = a + 3 b */

extern const double bandwidth_bytes[BANDWIDTHS]; /* per number */

typedef struct Bandwidth { /* three arrays of n numbers, written first by the threads that use them */
  int64_t n;
  double *a, *b, *c, sink;
} Bandwidth;

PoiseErr CreateBandwidth(int64_t n, Bandwidth *w);
void DestroyBandwidth(Bandwidth *w);
void RunBandwidth(Bandwidth *w, int kind);

/*
  Text that becomes a file, whole or not at all, when it is complete. Begin creates a file beside it, so that
  what could not be written fails before hours of measuring; Abort, also after a failed Commit, leaves
  nothing.
*/
typedef struct OutputFile {
  FILE *stream; /* NULL: no file was asked for */
  char path[POISE_OPTION_LENGTH], temporary[POISE_OPTION_LENGTH + 32];
} OutputFile;

PoiseErr BeginFile(const char *path, OutputFile *f); /* path "": none */
PoiseErr CommitFile(OutputFile *f);
void AbortFile(OutputFile *f);

#endif

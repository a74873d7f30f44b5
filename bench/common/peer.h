/* SPDX-License-Identifier: BSD-3-Clause */
/* What poise_bench measures: contenders for the same task, of the library and of others, in turns. */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include "blocks.h"
#include "measure.h"

/* Operations that others have too; the rest are the library's alone. */
enum { OP_DOT, OP_AXPY, OP_NORM, OP_MULT, OP_JACOBI, OP_CG, OP_BICGSTAB, OP_GMRES, OP_OTHER };

enum { RESTART = 30, MAX_CONTENDERS = 32, CACHES = 4 /* so many times the largest cache is memory */ };

typedef struct Recorder {                      /* of what is enqueued in a stream, to be done again: graphs */
  PoiseErr (*begin)(void *stream);             /* from here on nothing is done, until */
  PoiseErr (*end)(void *stream, void **graph); /* also when something failed; *graph is NULL on failure */
  PoiseErr (*replay)(void *stream, void *graph);
  void (*forget)(void *graph);
} Recorder;

typedef struct Lane { /* where work is done; it may still go on when a call has returned */
  void *arg;
  bool synchronous;             /* no, it may not */
  PoiseErr (*wait)(void *arg);  /* until all of it is done */
  PoiseErr (*flush)(void *arg); /* enqueue what leaves nothing of matrix and vectors in a cache */
  const Recorder *recorder;     /* NULL: there is none */
  void *stream;                 /* for it */
} Lane;

typedef struct Span { /* seconds since 1970 */
  double begin, end;
} Span;

typedef struct Contender {
  char who[24], how[48];
  const Lane *lane;
  void *arg;
  int op;
  /* enqueue count operations; or a solve of count iterations */
  PoiseErr (*call)(void *arg, int op, int64_t count);
  /* of the last one, waited for, to the host; NULL: not looked at */
  PoiseErr (*result)(void *arg, int op, double *y);
  double bytes; /* of one operation, where they are its own; else 0 */
  bool blocks;  /* its matrix is that of the task's blocks */
  bool solves;  /* a call is one solve of count iterations */
  /* seconds: what it needs beside its copies of rows and blocks */
  double setup;
  Times base, full; /* of calls that differ by `units` operations; none: it took no part */
  void *graph;      /* of RECORDED operations, while they are replayed */
  int64_t units;
  Span span[MAX_REPEATS]; /* when each of `full` was measured, in this order: they may be sorted */
} Contender;

typedef struct List {
  int n;
  Contender c[MAX_CONTENDERS];
} List;

/* Which of the others multiply: formats of blocks, beside the best of CSR; every format there is; those that
   keep CSR, and COO; and the textbook's kernels beside them. */
enum { BLOCK_FORMATS, ALL_FORMATS, PLAIN_FORMATS, TEXTBOOK_KERNELS };

typedef struct Task {
  int op, formats;
  int64_t n;
  const Rows *rows;     /* NULL: on vectors of n entries */
  const Blocks *blocks; /* the same in blocks, or NULL */
  const double *x;      /* what is multiplied; the right-hand side of a solve */
  bool sustained;       /* who can be replayed from a graph takes part in no other way */
} Task;

typedef struct Solved { /* a solve from arrays where the device is, by jacobi and a task's method */
  double first, second; /* seconds: from the arrays to x, and once more with what that has made */
  double renewed;       /* with new values of the same pattern; 0: not measured */
  int64_t iterations;
  double *x; /* copied here, on the host */
} Solved;

/* Somebody who does the same: functions in C loops (peer_loops.c), cuSPARSE and cuBLAS (cuda.cu). */
typedef struct Peer {
  const char *name;
  /* numbers: length of the arrays for bandwidth; *cache: bytes of the largest cache, which it finds out if 0.
     Leaves *peer to be closed also when it fails. */
  PoiseErr (*open)(PoiseInt numbers, double *cache, void **peer);
  void (*close)(void *peer);
  void (*machine)(void *peer, char *text, size_t size); /* lines "key: value" */
  /* READ, COPY, TRIAD in this order, then latencies */
  PoiseErr (*limits)(void *peer, List *list);
  PoiseErr (*enter)(void *peer, const Task *task, List *list); /* adds its contenders for a task, if any */
  void (*leave)(void *peer);                                   /* after a task, entered or not */
  /* A copy of so many bytes in the memory of the device that it works on, to be given back. NULL: that is the
     host's. */
  PoiseErr (*lend)(const void *from, size_t bytes, void **to);
  void (*take_back)(void *p);
  const Recorder *recorder; /* for streams of that device; NULL: it has none */
  /* Solve until the norm is at most rtol times the one before the first iteration, which is looked at
     after each cycle, or after `most` iterations; then leave. */
  PoiseErr (*solve)(void *peer, const Task *task, double rtol, int64_t most, Solved *s);
  /* Seconds of one plain copy to the device, from here or from pinned memory. NULL: they are one. */
  PoiseErr (*send)(const void *from, size_t bytes, bool pinned, double *seconds);
} Peer;

extern const Peer peer_plain, peer_cuda;

/* The host's processor: a line "key: value". */
void DescribeHost(char *text, size_t size);

/* A new last contender of a list. */
Contender *Enter(List *list, const char *who, const char *how, const Lane *lane, void *arg, int op,
                 PoiseErr (*call)(void *, int, int64_t), PoiseErr (*result)(void *, int, double *));

#endif

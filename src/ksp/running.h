/* SPDX-License-Identifier: BSD-3-Clause */
/* A solve that runs: its loop, its claims, its pace. Parts of PoiseKSP_s. */
#ifndef POISE_KSP_RUNNING_H
#define POISE_KSP_RUNNING_H

#include "pc/pc.h"
#include "sys/base/progress.h"
#include "poise/ksp.h"

typedef struct KSPType KSPType;

typedef struct Captured { /* what a captured loop depends on; compared as bytes, so there is no padding */
  const KSPType *type;    /* that iterates */
  PoiseMat A;
  PoisePC pc;
  Version version;            /* of A, but for values and the near null space */
  int64_t generation, joined; /* of pc, of the link */
  int64_t moved;              /* of A's product, with wide vectors */
  Convergence conv;
  int norm, side;
  int turn, step; /* iterations of a turn; between two looks at whether the solve is over */
  int64_t first;  /* of a replay, before the first look */
  int64_t there;  /* does the first product find its ghosts? */
  int64_t parity; /* of the first iteration */
} Captured;

/* The loop over iterations (loop.c). */
typedef struct KSPLoop {
  const char *eager; /* why it is not replayed; NULL: it is */
  Graph *graph;      /* kept from solve to solve */
  Captured captured; /* what the graph depends on */
  LogCounts *counts; /* counts of the log at the capture: before each iteration, and after the last */
  int step;          /* iterations between two looks by the device; 0: not chosen yet */
  int64_t ring;      /* length of the ring of norms, a power of 2 */
  int turns;         /* of the first replay, as the solve before has left them */
  bool brief;        /* the solve before ended in its first replay, or there was none */
  /* On the host: two copies of the slots and the ring behind them. Here begins the pinned memory. It ends
     with dots.staged, dots.summed and scalars.first. */
  double *status[2];
  const double *norms; /* the ring in the latest copy */
  int parity;          /* of the iteration that is enqueued */
  int cycle_at;        /* its place in the cycle */
} KSPLoop;

/* A claim of convergence and its checks (claim.c). Norms are as the method has them, perhaps scaled. */
typedef struct Claim {
  int refuted;          /* number of refuted claims of this solve */
  bool rounding;        /* the claim stands, as its norm is that of rounding */
  bool proven;          /* or as b - A x has been compared with the r of the method */
  double norm;          /* as computed for the latest claim */
  double claimed;       /* norm of the latest refuted claim */
  double best;          /* the least norm computed for such a claim, or after it; infinite: none */
  double best_square;   /* the least squared norm with which x was delivered; infinite: none */
  double residual, rhs; /* |b - A x| and |b| if computed, else 0 */
} Claim;

typedef struct PaceMark {
  double time, best;
  PoiseInt its;
} PaceMark;

/* How fast a solve gains digits (progress.c). */
typedef struct Pace {
  Progress line;
  double best;          /* least norm so far, as it is reported; infinite: none yet */
  PaceMark since, next; /* the pace is that from `since` on; `next` will take its place */
} Pace;

/* How often ranks without sums ask each other whether one has failed (loop.c). The same on all. */
typedef struct Asked {
  int64_t step, left; /* iterations between two times; left until the next */
  double time;        /* of the latest */
} Asked;

/* The running solve (solve.c). A method may be started several times in it. */
typedef struct KSPSolve {
  bool running;
  PoiseVec b;                /* lent; after the method's start only the true residual needs it */
  double norm_b;             /* if the true residual is monitored */
  PoiseInt reported, tested; /* latest iteration given to the monitors, and to the user's test */
  PoiseInt printed;          /* latest iteration in the lines of -ksp_monitor */
  double first;              /* norm before the first iteration, as it is reported; 0: none yet */
  Pace pace;
  bool finishing;       /* what is enqueued is not skipped, though SLOT_DONE is set */
  const double *unless; /* but if this is not 0; NULL: never */
  int skip;             /* slot that skips products and M where it is not 0; 0: SLOT_DONE */
  bool ended;           /* b - A x and x were enqueued ahead, and not skipped */

  PoiseErr failed; /* this rank's first failure and its message; a user's function called later may set
                      others */
  ErrorState error;
  Asked asked;
  bool stop; /* some rank failed; all ranks see this in the same global sum */

  bool again;     /* the method continues from x: its guess is nonzero, and SLOT_NORM0 is set */
  PoiseInt base;  /* iterations before the latest start */
  double stalled; /* norm at the beginning of the latest start that stalled; infinite: none */
  Claim claim;

  double scale;  /* power of 2 by which b, the guess and atol are multiplied (scale.c) */
  bool scaling;  /* the loop has ended at once, as b must be scaled */
  int scalings;  /* number of scalings */
  double size_b; /* magnitude of b, scaled; 0: not asked for yet, or b is 0 */
  bool vanished; /* x became 0 when it was scaled back */
} KSPSolve;

/* What the host knows of the latest solve, also while it runs. */
typedef struct KSPResult {
  double slots[POISE_SLOTS]; /* as the host has last looked at them */
  PoiseKSPReason reason;
  PoiseInt its;
  double rnorm, inconsistency;
  char detail[400]; /* of the reason; "": none */
} KSPResult;

#endif

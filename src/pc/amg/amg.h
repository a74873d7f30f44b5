/* SPDX-License-Identifier: BSD-3-Clause */
/*
  PC amg: smoothed aggregation (P. Vanek, J. Mandel, M. Brezina, Algebraic multigrid by smoothed aggregation
  for second and fourth order elliptic problems, Computing 56, 1996).

  Set-up is stages, each in a file of its own, with its header and its kernels beside it: all work is done
  where the matrix is, and counts alone go to the host. What is made are matrices, so that the cycle
  (cycle.c) is products and one kernel of the smoother. Host, mock and GPU make the same hierarchy to the
  last bit. hierarchy.c calls the stages; this is what they make.
*/
#ifndef POISE_AMG_H
#define POISE_AMG_H

#include "pc/colour_copy.h"
#include "pc/pc.h"
#include "bottom.h"
#include "ranks.h"
#include "redundant.h"
#include "strength.h"
#include "tentative.h"

enum { AMG_LEVELS = 24, AMG_DEGREES = 4 };
enum { AMG_SMOOTHER_AUTO, AMG_CHEBYSHEV, AMG_JACOBI, AMG_ISAI, AMG_SOR };
enum { AMG_CYCLE_AUTO, AMG_V, AMG_W };
enum { AMG_SMOOTHED, AMG_UNSMOOTHED };                   /* type */
enum { AMG_VALUES, AMG_INTERPOLATION, AMG_REFRESH_ALL }; /* what new values change */
enum { AMG_SINGLE, AMG_DOUBLE };                         /* precision of the cycle */

/* Why there is no further level, where the last one has too many rows to be solved: no more are allowed; its
   rows are dominated by their diagonals; the smoother removes constants, as of mass matrices; no node has a
   strong neighbour; there are nearly as many aggregates as nodes. */
typedef enum AmgEnd { END_NONE, END_LEVELS, END_DOMINATED, END_MASS, END_APART, END_STALLS } AmgEnd;

typedef struct AmgOptions {
  double threshold;
  PoiseInt aggregate_min, interpolation_degree, degree, coarse_size, levels, redundant_size;
  int type, smoother, cycle, refresh, precision;
} AmgOptions;

typedef struct AmgWay { /* how a cycle works, by options and by what A is */
  bool odd;             /* A is not symmetric, and R is made of A^T */
  int smoother, degree;
  bool w_cycle;
} AmgWay;

/* Is the smoother's D that of l1-jacobi? With approximate inverses, or sweeps, it smooths the last level
   alone. */
static inline bool poiseAmgIsL1(const AmgWay *way)
{
  return way->smoother == AMG_JACOBI || (way->smoother >= AMG_ISAI && way->odd);
}

/* The way for A: what options leave open is chosen for what A is. Where it is not symmetric eigenvalues are
   complex, which sums of rows bound, and Chebyshev iterations do not damp. Coarse matrices are less like it
   from level to level, so each is visited twice. */
static inline AmgWay poiseAmgWay(const AmgOptions *o, bool odd)
{
  return (AmgWay){.odd = odd,
                  .smoother = o->smoother ? o->smoother
                              : odd       ? AMG_JACOBI
                                          : AMG_CHEBYSHEV,
                  .degree = o->degree ? (int)o->degree
                            : odd     ? 3
                                      : 1,
                  .w_cycle = o->cycle ? o->cycle == AMG_W : odd};
}

/* A matrix of so many rows is solved. */
static inline int64_t poiseAmgSolved(const AmgOptions *o)
{
  return o->coarse_size ? o->coarse_size : 600;
}

/* A level that every rank holds has at most so many rows, or few bytes (hierarchy.c). */
static inline int64_t poiseAmgRedundantMost(const AmgOptions *o)
{
  const int64_t usual = 50000, size = o->redundant_size < 0 ? usual : o->redundant_size;
  return size > poiseAmgSolved(o) ? size : poiseAmgSolved(o);
}

/*
  A level in fp32: its matrices and D^-1. A and D are multiplied by a power of 2 that brings the largest entry
  of A to 1 to 2. So are right-hand sides and residuals of the level, and its corrections are those of the
  matrix as it is. A cycle multiplies both by one more power, which is that of its own right-hand side.
*/
typedef struct AmgSingle {
  double scale;
  Product A, P, R, away, lower, upper;
  Buffer inverse;
} AmgSingle;

typedef struct AmgVectors {
  AmgVec b, x;        /* of the coarse problem; on level 0 x alone, in fp32 */
  AmgVec d, r, t;     /* d: from degree 2 on */
  AmgVec half, whole; /* lower r, and upper of that */
  AmgVec r2, x2;      /* of a W cycle */
  AmgVec sent;        /* products by away */
} AmgVectors;

typedef struct AmgSweeps { /* of smoother sor */
  ColourCopy copy;
  Product single[2]; /* its parts in fp32 */
  Buffer d, blocks;  /* inverse blocks of the diagonal; the blocks, if this rank has all rows, */
  Buffer blocks_f32; /* in fp32 */
  Buffer y, rhs, g;  /* at places, in the type of the cycle; the last two if this rank has all rows */
  bool made, alone;  /* made: else polynomials smooth the level; alone: this rank has all rows */
} AmgSweeps;

typedef struct AmgLevel {
  /* P: prolongation to this level from the next. R: restriction, rows of this rank's P^T, whose pattern the
     next A keeps. away, on several ranks: off-rank restriction, the rows that other ranks own. NULL on the
     last level */
  PoiseMat A, P, R, away;
  PoiseMat step, fewer[AMG_DEGREES]; /* of steps.c: S; P after 1, 2, ... steps, but not all */
  int steps;                         /* that smoothed P beyond the first one */
  int node;                          /* rows of a node */
  double lambda;                     /* of D^-1 A */
  double sums;    /* the largest sum of a row of |D^-1 A|; infinity where nodes have several rows */
  Buffer inverse; /* D^-1, blocks of `side` rows; of a cycle times poiseAmgDamping */
  int side;
  PoiseMat lower, upper;       /* of smoother isai: M^-1 = upper lower is in place of D^-1; else NULL */
  AmgSweeps sweeps;            /* in place of D^-1 too */
  double largest;              /* of its M^-1 A: the eigenvalue, by which M^-1 is divided; 0: by none */
  int64_t hub;                 /* a longer row of a node is that of a hub, whose P is T */
  int64_t connections;         /* strong ones, with that of each node with itself */
  int64_t aggregates, members; /* members: nodes in aggregates */
  Buffer aggregate;
  AmgMembers lists;  /* kept for new values */
  AmgGraph graph;    /* what interpolation asks of it; no arrays where nothing is dropped */
  bool weak;         /* there are weak connections, on any rank */
  bool smoothed;     /* P is not T */
  AmgGhosts *ghosts; /* NULL: this rank has all rows */
  AmgPlaces places;  /* of what is interpolated from other ranks; empty: nothing */
  AmgSingle single;
  AmgVectors v, wide; /* of a cycle; of one of several columns */
} AmgLevel;

enum {
  STAGE_STRENGTH,
  STAGE_AGGREGATE,
  STAGE_TENTATIVE,
  STAGE_LAMBDA,
  STAGE_INTERPOLATION,
  STAGE_GALERKIN,
  STAGE_GATHER, /* the level that every rank holds */
  STAGE_BOTTOM,
  STAGE_INVERSES,
  STAGE_READY, /* what a cycle needs beside the levels */
  STAGES
};

/* What a cycle in fp32 takes for the size of r, the largest entry, or the sum of those of all ranks; this
   rank's; and partial maxima. */
enum { AMG_RANGE, AMG_RANGE_OWN, AMG_RANGE_PARTIALS };
/* The same of several columns; and work of a phase. */
enum {
  AMG_RANGES,
  AMG_RANGES_OWN = POISE_MAX_COLUMNS,
  AMG_RANGES_WORK = 2 * POISE_MAX_COLUMNS,
  AMG_RANGES_PARTIALS = AMG_RANGES_WORK + POISE_SYSTEMS_WORK
};

typedef struct AmgPace { /* of a solve */
  int64_t iterations;    /* 0: there is none */
  double digits;         /* that it gained in them */
} AmgPace;

typedef struct Amg {
  AmgOptions options;
  AmgWay way;
  int count; /* levels; 0: there are none */
  AmgLevel level[AMG_LEVELS];
  AmgRedundant redundant;
  AmgBottom bottom;
  bool dense; /* the bottom is solved; else smoothed */
  AmgEnd ended;
  bool scaled;          /* no near null space is given, and S A S is taken for A; see scaling.h */
  bool relaxed;         /* none is given, and constants are smoothed */
  int64_t solved;       /* coarse levels of so many rows are the last */
  const char *fallback; /* why the bottom is smoothed; NULL: it is not */
  double low;      /* of a bottom that is smoothed: lower end of the spectrum of D^-1 A, over lambda, where
                           it is known to be short; else 0 */
  Version seen;    /* P, whose pattern and near null space the levels have */
  AmgOptions made; /* with these options */
  bool refreshed;  /* the values are newer than the aggregates */
  AmgPace best, latest; /* of the solves with these aggregates */
  int64_t moved; /* arrays of a cycle are elsewhere than before new values came, or its launches differ */
  bool single;   /* the cycle is in fp32 */
  const char *doubled;                      /* why it is not, though asked for; else NULL */
  int columns;                              /* of the cycle that is enqueued; 0: it is of ordinary vectors */
  int most_columns;                         /* that there is room for in vectors of levels and halos, */
  bool has_room;                            /* with those of the latest set-up too */
  int64_t moved_product;                    /* of P's, then */
  Buffer range;                             /* of r: AMG_RANGE... */
  Buffer wide_range;                        /* of the r of several columns: AMG_RANGES... */
  double range_of_ranks[POISE_MAX_COLUMNS]; /* on their way there, through hosts */
  double seconds[STAGES];
  int64_t peak; /* the most bytes of a device, beside A, while it was made; 0 on the host */
} Amg;

/* Do aggregates no longer suit the values? Then a solve takes half as many iterations again as the best one
   did, for the digits that it gained. A few more are not worth a set-up. The best one might have taken one
   more, which counts where it gained few digits: the first ones are cheap. */
static inline bool poiseAmgIsStale(const Amg *amg)
{
  const double few = 5, took = (double)amg->latest.iterations;
  if (!amg->best.iterations) return false;
  double as_best = (double)(amg->best.iterations + 1) / amg->best.digits * amg->latest.digits;
  return 2 * took > 3 * as_best && took - as_best >= few;
}

/* By what the smoother's D^-1 is multiplied once levels are made. So no launch of a cycle holds a lambda, and
   recorded loops may go on with new values. */
static inline double poiseAmgDamping(const Amg *amg, const AmgLevel *l)
{
  bool plain = poiseAmgIsL1(&amg->way) || l->lower || l->sweeps.made;
  return !plain && l->lambda > 0 ? 1 / l->lambda : 1;
}

static inline bool poiseAmgIsRedundant(const Amg *amg, int level) /* and the first one? */
{
  return amg->redundant.A && level == amg->redundant.level;
}

/* The context of a level: of all ranks, or of this one alone. */
static inline PoiseContext poiseAmgContext(PoisePC pc, int level)
{
  const AmgRedundant *r = &((const Amg *)pc->data)->redundant;
  return r->A && level >= r->level ? poiseContextSelf(pc->ctx) : pc->ctx;
}

#endif

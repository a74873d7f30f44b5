/* SPDX-License-Identifier: BSD-3-Clause */
/*
  PC amg: smoothed aggregation (P. Vanek, J. Mandel, M. Brezina, Algebraic multigrid by smoothed aggregation
  for second and fourth order elliptic problems, Computing 56, 1996).

  Set-up is stages, each in a file of its own, with its kernels beside it: all work is done where the matrix
  is, and counts alone go to the host. What is made are matrices, so that the cycle (cycle.c) is products and
  one kernel of the smoother. Host, mock and GPU make the same hierarchy to the last bit.
*/
#ifndef POISE_AMG_H
#define POISE_AMG_H

#include "pc/pc.h"
#include "interpolation_kernels.h"

enum { AMG_LEVELS = 24, AMG_DEGREES = 4 };
enum { AMG_CHEBYSHEV, AMG_JACOBI };                      /* smoother */
enum { AMG_SMOOTHED, AMG_UNSMOOTHED };                   /* type */
enum { AMG_VALUES, AMG_INTERPOLATION, AMG_REFRESH_ALL }; /* what new values change */
enum { AMG_SINGLE, AMG_DOUBLE };                         /* precision of the cycle */

typedef struct AmgOptions {
  double threshold;
  PoiseInt aggregate_min, degree, coarse_size, levels, redundant_size;
  int type, smoother, w_cycle, refresh, precision;
} AmgOptions;

typedef struct AmgGhosts { /* nodes of other ranks that a rank's rows refer to, ascending */
  int64_t nodes, below;    /* below: those of lower ranks */
  Buffer col;       /* A's columns, numbered as if A referred to all rows of these nodes; none: it does */
  Halo *own, *halo; /* of these rows: that of A, or one of its own */
} AmgGhosts;

static inline int64_t poiseAmgAllNodes(const AmgMatrix *m) /* with ghosts */
{
  return m->nodes + (m->ghosts ? m->ghosts->nodes : 0);
}

/* ---- rows.c ---------------------------------------------------------------------------------- */

/* A new buffer of n items, to be written: their place on the device. */
PoiseErr poiseAmgMake(Device *dev, int64_t n, size_t size, const char *what, Buffer *b, void *p);

/* ---- strength.c: strong connections of nodes ------------------------------------------------- */

typedef struct AmgGraph {
  Csr csr;         /* offsets and columns, in A's order: a node's connections, with itself too */
  Buffer weight;   /* sizes of the connections, floats; none once aggregates are made */
  int64_t dropped; /* connections that are not among them */
  Buffer kept;     /* a byte for each entry of A, is it among them; with poiseAmgMarks, if any is dropped */
} AmgGraph;

/* Is an entry of A, or its block, a connection of nodes? Then marks of entries tell all that interpolation
   asks of the graph, in a quarter of the bytes. */
static inline bool poiseAmgMarks(const AmgMatrix *m)
{
  return poiseAmgBlocks(m) == 1;
}

/* a_ij of the other sign than a_ii with a_ij^2 >= theta^2 s_i s_j, where s_i is the largest such magnitude in
   row i, and less where nothing would be strong. Of nodes of several rows a_ij is the trace of a block, over
   the first `rows`: that of linear elasticity is, but for a factor, the Laplacian. On coarse levels these are
   translations; rotations come after. Collective where m has ghosts. */
PoiseErr poiseAmgStrength(PoiseContext ctx, const AmgMatrix *m, int rows, double theta, AmgGraph *g);
void poiseAmgGraphDestroy(PoiseContext ctx, AmgGraph *g);

/* ---- aggregate.c ----------------------------------------------------------------------------- */

/* The aggregates of own nodes (int32), by their connections with each other, ascending by their roots. One
   whose strong neighbours are all of other ranks is alone in its aggregate; -1: there are none at all.
   members: nodes that have one. least: free neighbours that a node needs to be the root of a second
   aggregate; 0: there is no second pass. */
PoiseErr poiseAmgAggregate(PoiseContext ctx, AmgGraph *g, int64_t least, Buffer *aggregate, int64_t *count,
                           int64_t *members);

/* ---- tentative.c: near null space by aggregates ---------------------------------------------- */

typedef struct AmgModes { /* near null space: `count` vectors, n x count, row by row */
  int count;
  int64_t n;
  Buffer b;
} AmgModes;

typedef struct AmgMembers { /* nodes of aggregate k: node[start[k] .. start[k + 1]), ascending */
  Buffer start, node;
} AmgMembers;

/* A's near null space, or constants, one for each row of a node. Where nodes have several rows, without those
   that have nothing but the diagonal. */
PoiseErr poiseAmgModes(PoiseMat A, int node, AmgModes *m);
/* q, n x count: the vectors restricted to each aggregate and made orthonormal. coarse: what they are in
   these terms, so that b = T coarse->b. A vector that depends on those before it is 0 in an aggregate. q has
   room for ghost nodes. members: those of these aggregates, made if there are none. */
PoiseErr poiseAmgTentative(PoiseContext ctx, AmgModes *fine, const AmgMatrix *m, int64_t aggregates,
                           Buffer *aggregate, AmgMembers *members, Buffer *q, AmgModes *coarse);
void poiseAmgMembersDestroy(AmgMembers *members);

/* ---- diagonal.c ------------------------------------------------------------------------------ */

/* d: the inverses of the nodes' diagonal blocks, column-major, node x node each. size: of the diagonal
   entries, see diagonal_kernels.h; strict: made here, if it is not NULL. Not strict: rows that are 0, or
   rounding, in a block are 0, and of a singular block the diagonal is inverted. flag, made here, is for what
   waits: *bad: the first node whose block is singular or not finite, else -1. */
PoiseErr poiseAmgDiagonal(PoiseContext ctx, const AmgMatrix *m, bool strict, double *d, double *size,
                          Buffer *flag);
PoiseErr poiseAmgDiagonalBad(PoiseContext ctx, const AmgMatrix *m, const double *d, Buffer *flag,
                             int64_t *bad);
/* d: 1 over the sums of the rows' magnitudes, with the sign of the diagonal (l1-jacobi). */
PoiseErr poiseAmgRowSums(PoiseContext ctx, const AmgMatrix *m, double *d, double *size);

/* ---- lambda.c -------------------------------------------------------------------------------- */

/* *lambda: a bound, nearly always, of the spectrum of D^-1 A. Not finite if A is not. The same on all ranks
   of ctx. mine: this rank's error so far. Collective; the caller agrees. */
PoiseErr poiseAmgLambda(PoiseContext ctx, PoiseErr mine, const AmgMatrix *m, const double *d, double *lambda);
/* *to: the sum of n numbers, and to[1] 1 over its root; or *to alone, the largest of numbers that are not
   negative. scratch: two arrays of n / 1024 + 1 numbers. All are on the device. */
PoiseErr poiseAmgAdd(Device *dev, int64_t n, const double *x, bool largest, double *const scratch[2],
                     double *to);

/* ---- interpolation.c ------------------------------------------------------------------------- */

/* *x: by what T goes on beyond each own aggregate; inverse holds it. */
PoiseErr poiseAmgExtend(PoiseContext ctx, int64_t aggregates, AmgModes *coarse, Buffer *inverse,
                        const double **x);
/* P's offsets and columns, and room for its values, in c, which is zero. pairs: of aggregates that meet at a
   node, of all nodes; 0 where p is not smoothed. */
PoiseErr poiseAmgPattern(PoiseContext ctx, const AmgInterpolation *p, Csr *c, int64_t *pairs);
/* P's values, in that pattern. place: P's columns as places; NULL: they are. */
PoiseErr poiseAmgInterpolate(PoiseContext ctx, const AmgInterpolation *p, Csr *c, Buffer *place);

/* ---- ranks.c: a level of several ranks -------------------------------------------------------- */

/* Collective; agrees. */
PoiseErr poiseAmgGhostsCreate(PoiseMat A, int node, AmgGhosts **ghosts);
void poiseAmgGhostsDestroy(PoiseContext ctx, AmgGhosts **ghosts);
/* v has `width` numbers of each own node, and gets those of ghost nodes behind, from device to device where a
   halo does. mine: this rank's error so far. Without ghosts: nothing. Collective; the exchange takes place
   whatever fails on this rank, and the caller agrees. */
PoiseErr poiseAmgFillGhosts(PoiseContext ctx, const AmgMatrix *m, PoiseErr mine, int64_t width, Buffer *v);
/* The compacted global numbering of the aggregates that a rank's nodes and ghost nodes are in: places in the
   order of global numbers, [of lower ranks | own | of higher ranks]. */
typedef struct AmgPlaces {
  int64_t below, nghost; /* aggregates of lower ranks; of other ranks */
  PoiseInt *ghost;       /* global numbers of the latter, ascending */
  Buffer place;          /* int32, of each node and ghost node; -1: of none */
} AmgPlaces;

/* aggregate: of own nodes, of `count`. Collective; the caller agrees. */
PoiseErr poiseAmgPlacesCreate(PoiseContext ctx, const AmgMatrix *m, Buffer *aggregate, int64_t count,
                              AmgPlaces *p);
void poiseAmgPlacesDestroy(PoiseContext ctx, AmgPlaces *p);

typedef struct AmgVec { /* a vector of the cycle: in fp64, or in fp32 */
  PoiseVec wide;
  Buffer single;
} AmgVec;

/* ---- redundant.c: levels that every rank holds ------------------------------------------------ */

typedef struct AmgRedundant {
  int level;   /* the first that is held as a whole, by all ranks */
  PoiseMat A;  /* its matrix with rows on all ranks; NULL: there is no such level */
  AmgVec b, x; /* of that layout; of level 0 all rows, in fp64 */
  Halo *halo;  /* rows of all other ranks */
} AmgRedundant;

/* Such a level has at most so many rows, or few bytes (hierarchy.c). */
static inline int64_t poiseAmgRedundantMost(const AmgOptions *o)
{
  const int64_t usual = 50000, size = o->redundant_size < 0 ? usual : o->redundant_size;
  return size > o->coarse_size ? size : o->coarse_size;
}

enum { AMG_OF_ROWS = 2 };
/* *B: r->A's pattern in the context of this rank alone; then its values and, of what there is `of` rows, that
   of all rows instead of this rank's. Collective. The former agrees; of the latter the caller does. */
PoiseErr poiseAmgRedundantCreate(AmgRedundant *r, PoiseMat *B);
PoiseErr poiseAmgRedundantNumbers(const AmgRedundant *r, PoiseMat B, AmgModes *const of[AMG_OF_ROWS]);
void poiseAmgRedundantBytes(const AmgRedundant *r, PoiseBytes *sum);
void poiseAmgRedundantDestroy(AmgRedundant *r);
/* all = part of all ranks, both in fp64 or both in fp32. Collective; the exchange takes place whatever fails
   on this rank. */
PoiseErr poiseAmgCollect(AmgRedundant *r, AmgVec *part, AmgVec *all);
/* part = this rank's rows of all, and in fp64 dots of it */
PoiseErr poiseAmgTakePart(AmgRedundant *r, AmgVec *all, AmgVec *part, const double *skip, const Fuse *fuse);

/* ---- bottom.c: the coarsest level ------------------------------------------------------------ */

typedef struct AmgBottom {
  int64_t n, skipped; /* rows; those that depend on others, as where A is singular */
  bool lu;            /* not symmetric, or not definite: factors and exchanges; else the inverse */
  Buffer dense, pivot, work, result;
} AmgBottom;

/* size: of the diagonal entries; NULL: |a_ii|. Not to be solved: *why says so, and the smoother serves
   instead. */
PoiseErr poiseAmgBottomSetUp(PoiseContext ctx, const AmgMatrix *m, const double *size, AmgBottom *bottom,
                             const char **why);
PoiseErr poiseAmgBottomApply(Device *dev, AmgBottom *bottom, PoiseVec r, PoiseVec z, const double *skip);
void poiseAmgBottomBytes(const AmgBottom *bottom, PoiseBytes *sum);
void poiseAmgBottomDestroy(AmgBottom *bottom);

/* ---- the hierarchy --------------------------------------------------------------------------- */

/*
  A level in fp32: its matrices and D^-1. A and D are multiplied by a power of 2 that brings the largest entry
  of A to 1 to 2. So are right-hand sides and residuals of the level, and its corrections are those of the
  matrix as it is. A cycle multiplies both by one more power, which is that of its own right-hand side.
*/
typedef struct AmgSingle {
  double scale;
  Buffer A, P, R, away, inverse;
} AmgSingle;

typedef struct AmgLevel {
  /* P: prolongation to this level from the next. R: restriction, rows of this rank's P^T, whose pattern the
     next A keeps. away, on several ranks: off-rank restriction, the rows that other ranks own. NULL on the
     last level */
  PoiseMat A, P, R, away;
  int node;       /* rows of a node */
  double lambda;  /* of D^-1 A */
  Buffer inverse; /* D^-1, blocks of `side` rows; of a cycle times poiseAmgDamping */
  int side;
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
  AmgVec b, x;    /* of the coarse problem; on level 0 x alone, in fp32 */
  AmgVec d, r, t; /* d: from degree 2 on */
  AmgVec r2, x2;  /* of a W cycle */
  AmgVec sent;    /* products by away */
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
  STAGE_READY, /* what a cycle needs beside the levels */
  STAGES
};

enum { AMG_MARKS = 12 * AMG_LEVELS }; /* a level has 9 at most, and may be made twice */

typedef struct AmgStages {
  Buffer times;
  int64_t *when; /* on the device: nanoseconds of its clock, at the begin and at the end of each stage */
  int count, stage[AMG_MARKS];
} AmgStages;

/* What a cycle in fp32 takes for the size of r, the largest entry, or the sum of those of all ranks; this
   rank's; and partial maxima. */
enum { AMG_RANGE, AMG_RANGE_OWN, AMG_RANGE_PARTIALS };

typedef struct AmgPace { /* of a solve */
  int64_t iterations;    /* 0: there is none */
  double digits;         /* that it gained in them */
} AmgPace;

typedef struct Amg {
  AmgOptions options;
  int count; /* levels; 0: there are none */
  AmgLevel level[AMG_LEVELS];
  AmgRedundant redundant;
  AmgBottom bottom;
  bool dense;                   /* the bottom is solved; else smoothed */
  const char *ended, *fallback; /* why no further level was made; why the bottom is smoothed. NULL: none */
  Version seen;                 /* P, whose pattern and near null space the levels have */
  AmgOptions made;              /* with these options */
  bool refreshed;               /* the values are newer than the aggregates */
  AmgPace best, latest;         /* of the solves with these aggregates */
  int64_t moved; /* arrays of a cycle are elsewhere than before new values came, or its launches differ */
  bool single;   /* the cycle is in fp32 */
  const char *doubled;   /* why it is not, though asked for; else NULL */
  Buffer range;          /* of r: AMG_RANGE... */
  double range_of_ranks; /* on its way there, through hosts */
  double seconds[STAGES];
  int64_t peak; /* the most bytes of a device, beside A, while it was made; 0 on the host */
} Amg;

/* transfer.c: l->P's pattern (*fills: there is none, as with it the next level would be full). Collective;
   agrees. */
PoiseErr poiseAmgCreateP(PoiseContext ctx, AmgLevel *l, const AmgInterpolation *p, bool *fills);
/* Its values; l->R and l->away, or their values alone, behind C = P^T A P. keeps: P has not changed.
   Local. */
PoiseErr poiseAmgFillP(PoiseContext ctx, AmgLevel *l, const AmgInterpolation *p);
PoiseErr poiseAmgMakeR(PoisePC pc, AmgLevel *l, PoiseMat C, bool keeps);

/* diagonal.c: size, of the rows of l, becomes that of the next level's; none: it is 1 over l->inverse. Of
   rows of R alone: what other ranks add to them is of the same size. Local. */
PoiseErr poiseAmgCoarseSizes(AmgLevel *l, AmgModes *size);

/* stages.c: what is enqueued between two ends counts for the latter; Read waits. Local. */
PoiseErr poiseAmgStagesBegin(Device *dev, AmgStages *s);
PoiseErr poiseAmgStageEnds(Device *dev, AmgStages *s, int stage);
PoiseErr poiseAmgStagesRead(Device *dev, AmgStages *s, double seconds[STAGES]);

/* hierarchy.c */
PoiseErr poiseAmgBuild(PoisePC pc);
void poiseAmgDestroy(PoisePC pc);

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
  return amg->options.smoother == AMG_CHEBYSHEV && l->lambda > 0 ? 1 / l->lambda : 1;
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

/* vectors.c */
PoiseErr poiseAmgVectors(PoisePC pc); /* all that the cycle needs is on the device after this */
void poiseAmgVectorsDestroy(AmgLevel *l);
void poiseAmgVecDestroy(AmgVec *v);
void poiseAmgVecBytes(const AmgVec *v, PoiseBytes *sum);
/* Where it is on the device, like Read, Update and Write of buffer.c. v = NULL: *p stays. */
PoiseErr poiseAmgVecRead(AmgVec *v, const void **p);
PoiseErr poiseAmgVecUpdate(AmgVec *v, void **p);
PoiseErr poiseAmgVecWrite(AmgVec *v, void **p);
/* Of vectors, and of numbers in fp32. */
void poiseAmgLevelBytes(const AmgLevel *l, PoiseBytes *sum);

/* narrow.c: the numbers of all levels in fp32, if they are asked for and in range; sets single and doubled.
   Collective; the caller agrees. */
PoiseErr poiseAmgNarrow(PoisePC pc);
void poiseAmgSingleDestroy(AmgLevel *l);

/* cycle.c: y = a P^T x, in a cycle. What fails on this rank keeps no other from its part. */
PoiseErr poiseAmgRestrict(const Amg *amg, AmgLevel *l, double a, AmgVec *x, AmgVec *y, const double *skip);
PoiseErr poiseAmgCycle(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse);

/* view.c */
PoiseErr poiseAmgView(PoisePC pc);
void poiseAmgBytes(PoisePC pc, PoiseBytes *sum);
/* Bytes that a cycle reads and writes, with its products. */
void poiseAmgCost(PoisePC pc, double *flops, double *bytes);
int64_t poiseAmgKernels(PoisePC pc);
double poiseAmgTraffic(const Amg *amg);

#endif

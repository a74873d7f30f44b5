/* SPDX-License-Identifier: BSD-3-Clause */
/*
  PC amg: smoothed aggregation (P. Vanek, J. Mandel, M. Brezina, Algebraic multigrid by smoothed aggregation
  for second and fourth order elliptic problems, Computing 56, 1996).

  Set-up works on the host, in stages. Each is a function of plain CSR arrays, in a file of its own, which a
  kernel of another device may replace one day. What it makes are matrices of the device, so that the cycle
  (cycle.c) is products and one kernel of the smoother.
*/
#ifndef POISE_AMG_H
#define POISE_AMG_H

#include "pc/pc.h"
#include "mat/csr/csr_view.h"

enum { AMG_LEVELS = 24, AMG_DEGREES = 4 };
enum { AMG_CHEBYSHEV, AMG_JACOBI };                      /* smoother */
enum { AMG_SMOOTHED, AMG_UNSMOOTHED };                   /* type */
enum { AMG_VALUES, AMG_INTERPOLATION, AMG_REFRESH_ALL }; /* what new values change */

typedef struct AmgOptions {
  double threshold;
  PoiseInt aggregate_min, degree, coarse_size, levels;
  int type, smoother, w_cycle, refresh;
} AmgOptions;

/* A level's matrix as set-up reads it: host pointers. A node has `node` rows, and is a whole number of blocks
   of A. */
typedef struct AmgMatrix {
  CsrView A;
  int node;
  int64_t nodes;
} AmgMatrix;

/* ---- strength.c: strong connections of nodes ------------------------------------------------- */

typedef struct AmgGraph {
  int64_t n, nz, dropped; /* nodes; connections, each node's with itself too; A's that are not among them */
  int64_t *ptr;           /* [n + 1] */
  int32_t *col;           /* [nz], ascending in a node */
  float *weight;          /* [nz] sizes of the connections; NULL once aggregates are made */
} AmgGraph;

/* Nodes of one row: a_ij of the other sign than a_ii with a_ij^2 >= theta^2 a_ii a_jj. Nodes of more: by
   the squares of the Frobenius norms of their blocks. */
PoiseErr poiseAmgStrength(PoiseContext ctx, const AmgMatrix *m, double theta, AmgGraph *g);
void poiseAmgGraphDestroy(PoiseContext ctx, AmgGraph *g);

/* ---- aggregate.c ----------------------------------------------------------------------------- */

/* aggregate[i], i < g->n, of node i, ascending by their roots; -1: of none, as it has no strong neighbour.
   least: free neighbours that a node needs to be the root of a second aggregate; 0: there is no second
   pass. */
PoiseErr poiseAmgAggregate(PoiseContext ctx, const AmgGraph *g, int64_t least, int32_t *aggregate,
                           int64_t *count);

/* ---- tentative.c: near null space by aggregates ---------------------------------------------- */

typedef struct AmgModes { /* near null space: `count` vectors, n x count, row by row */
  int count;
  int64_t n;
  double *b;
} AmgModes;

/* q, n x count: the vectors restricted to each aggregate and made orthonormal. coarse: what they are in
   these terms, so that b = T coarse->b. A vector that depends on those before it is 0 in an aggregate. */
PoiseErr poiseAmgTentative(PoiseContext ctx, const AmgModes *fine, int node, int64_t aggregates,
                           const int32_t *aggregate, double *q, AmgModes *coarse);

/* ---- diagonal.c ------------------------------------------------------------------------------ */

/* d: the inverses of the nodes' diagonal blocks, column-major, node x node each. *bad: the first node whose
   block is singular or not finite, else -1. Not strict: rows that are 0 in a block stay 0, and of a singular
   block the diagonal is inverted. */
PoiseErr poiseAmgDiagonal(PoiseContext ctx, const AmgMatrix *m, bool strict, double *d, int64_t *bad);
/* d: 1 over the sums of the rows' magnitudes, with the sign of the diagonal (l1-jacobi). */
void poiseAmgRowSums(PoiseContext ctx, const AmgMatrix *m, double *d);

/* ---- lambda.c -------------------------------------------------------------------------------- */

/* *lambda: a bound, nearly always, of the spectrum of D^-1 A. Not finite if A is not. */
PoiseErr poiseAmgLambda(PoiseContext ctx, const AmgMatrix *m, const double *d, double *lambda);

/* ---- interpolation.c ------------------------------------------------------------------------- */

typedef struct AmgFilter { /* F: A without weak connections, of the graph's pattern */
  AmgMatrix m;             /* A itself where nothing is dropped */
  double *val;             /* owned; NULL: A's */
} AmgFilter;

PoiseErr poiseAmgFilter(PoiseContext ctx, const AmgMatrix *m, const AmgGraph *g, const AmgModes *modes,
                        AmgFilter *f);

typedef struct AmgInterpolation { /* P in blocks of `side`: of what it is made, and arrays of the host */
  int side, node, modes;
  int64_t nodes, aggregates;
  const int32_t *aggregate;
  const double *q;
} AmgInterpolation;

/* The pattern: ptr [nodes * node / side + 1], *col allocated here. F NULL: of the tentative P. */
PoiseErr poiseAmgPattern(PoiseContext ctx, const AmgInterpolation *p, const AmgMatrix *F, int64_t *ptr,
                         int32_t **col);
/* The values of P = (I - omega D^-1 F) T, or of T where F is NULL, in that pattern. */
void poiseAmgSmooth(PoiseContext ctx, const AmgInterpolation *p, const AmgMatrix *F, const double *d,
                    double omega, const CsrView *pattern, double *val);

/* ---- bottom.c: the coarsest level ------------------------------------------------------------ */

typedef struct AmgBottom {
  int64_t n, skipped; /* rows; those that depend on others, as where A is singular */
  bool lu;            /* not symmetric, or not definite: factors and exchanges; else the inverse */
  Buffer dense, pivot, work, result;
} AmgBottom;

/* Not to be solved: *why says so, and the smoother serves instead. */
PoiseErr poiseAmgBottomSetUp(PoiseContext ctx, const AmgMatrix *m, AmgBottom *bottom, const char **why);
PoiseErr poiseAmgBottomApply(Device *dev, AmgBottom *bottom, PoiseVec r, PoiseVec z, const double *skip);
void poiseAmgBottomBytes(const AmgBottom *bottom, PoiseBytes *sum);
void poiseAmgBottomDestroy(AmgBottom *bottom);

/* ---- the hierarchy --------------------------------------------------------------------------- */

typedef struct AmgLevel {
  PoiseMat A, P, R;        /* P: to this level from the next; R = P^T. NULL on the last */
  int node;                /* rows of a node */
  double lambda, filtered; /* of D^-1 A; of D_F^-1 F */
  Buffer inverse;          /* D^-1, blocks of `side` rows */
  int side;
  int64_t aggregates, members; /* members: nodes in aggregates */
  int32_t *aggregate;
  AmgGraph graph; /* without weights; no arrays where nothing is dropped */
  Buffer from;    /* entries of P in the order of R's */
  bool from_wide;
  PoiseVec b, x;    /* of the coarse problem; not on level 0 */
  PoiseVec d, r, t; /* d: from degree 2 on */
  PoiseVec r2, x2;  /* of a W cycle */
} AmgLevel;

enum {
  STAGE_STRENGTH,
  STAGE_AGGREGATE,
  STAGE_TENTATIVE,
  STAGE_LAMBDA,
  STAGE_INTERPOLATION,
  STAGE_GALERKIN,
  STAGE_BOTTOM,
  STAGES
};

typedef struct Amg {
  AmgOptions options;
  int count; /* levels; 0: there are none */
  AmgLevel level[AMG_LEVELS];
  AmgBottom bottom;
  bool dense;                   /* the bottom is solved; else smoothed */
  const char *ended, *fallback; /* why no further level was made; why the bottom is smoothed. NULL: none */
  int64_t given, pattern;       /* of the matrix whose pattern the levels have; 0: none */
  AmgOptions made;              /* with these options */
  bool refreshed;               /* the values are newer than the aggregates */
  double seconds[STAGES];
} Amg;

/* hierarchy.c */
PoiseErr poiseAmgBuild(PoisePC pc);
void poiseAmgDestroy(PoisePC pc);

/* cycle.c */
PoiseErr poiseAmgVectors(PoisePC pc); /* all that the cycle needs is on the device after this */
PoiseErr poiseAmgCycle(PoisePC pc, PoiseVec r, PoiseVec z, const double *skip, const Fuse *fuse);

/* view.c */
PoiseErr poiseAmgView(PoisePC pc);
void poiseAmgBytes(PoisePC pc, PoiseBytes *sum);
/* Bytes that a cycle reads and writes, with its products. */
void poiseAmgCost(PoisePC pc, double *flops, double *bytes);
double poiseAmgTraffic(const Amg *amg);

/* ---- loops over nodes ------------------------------------------------------------------------ */

typedef void AmgRows(const void *args, int64_t begin, int64_t end);
/* rows(args, begin, end) for blocks of [0, n), by the threads of the device. What rows does for one of them
   depends on no other. */
void poiseAmgForRows(Device *dev, int64_t n, AmgRows *rows, const void *args);

/* A hash of 64 bits: the same on all machines (SplitMix64). */
static inline uint64_t poiseAmgHash(uint64_t x)
{
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

#endif

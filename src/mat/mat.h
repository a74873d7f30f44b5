/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrices as their types and the upper layers see them. */
#ifndef POISE_MAT_IMPL_H
#define POISE_MAT_IMPL_H

#include "../vec/vec.h"
#include "csr.h"
#include "poise/mat.h"
#include "rows.h"

enum { MAX_BLOCK_SIZE = 32 };

typedef struct MatPlan {        /* of a matrix that need have no entries yet */
  const PoiseMatCounts *counts; /* NULL: it is as it is */
  bool transpose;
  int64_t m, nloc, columns, nghost, nz, nsend; /* as in Csr; nsend: numbers */
  int b;                                       /* as in Csr */
  bool wide;
  int64_t nblock[2];   /* at least and at most: blocks of rows of a product of Csr */
  int64_t partials[2]; /* and what poiseMatPartials will say */
  bool open;           /* type auto may make it blocks, of which nothing here is known */
} MatPlan;

typedef struct MatType {
  const char *name;
  bool stored;                /* works on A->csr of numbers, */
  bool blocked;               /* or of blocks; else on functions of the user's */
  bool fuse;                  /* mult takes any a, b and Fuse; else mat.c composes them from y = A x */
  bool eager;                 /* calls back to the host: a solver's loop cannot be replayed */
  bool (*composes)(PoiseMat); /* its product is y = A x alone for now, as if it did not fuse; NULL: never */
  size_t size;                /* of A->data */
  const PoiseOption *options;
  void (*inherit)(const void *from, void *to); /* the options, from one's data to another's; may be NULL */
  PoiseErr (*setup)(PoiseMat);                 /* metadata beside the CSR; local */
  PoiseErr (*ready)(PoiseMat);   /* what a product may not allocate inside a captured loop; local; may be NULL */
  int64_t (*partials)(PoiseMat); /* that a Fuse of the product leaves; NULL: one for each of csr.nblock */
  PoiseErr (*mult)(PoiseMat, ScalarRef a, PoiseVec x, ScalarRef b, PoiseVec y, const double *skip, const Fuse *);
  PoiseErr (*mult_transpose)(PoiseMat, PoiseVec x, PoiseVec y); /* x NULL, if stored: y = |A|^T 1 */
  PoiseErr (*diagonal)(PoiseMat, int b, double *d);             /* d: device pointer to b x b blocks */
  PoiseErr (*view)(PoiseMat);
  void (*bytes)(PoiseMat, PoiseBytes *sum); /* sum += what A->data holds; may be NULL */
  /* p += what they will, by the options in data, and A's library, and the partials where they are others than the blocks of the CSR; may be
     NULL. It allocates nothing, and is local. */
  PoiseErr (*predict)(PoiseMat A, const void *data, MatPlan *plan, PoisePrediction *p);
  void (*destroy)(PoiseMat); /* of A->data's contents */
} MatType;

#define MAT_TYPE(name) extern const MatType poiseMatType_##name;
#include "types.def"
#undef MAT_TYPE

typedef struct NullSpace { /* an orthonormal basis; n = 0: none was given */
  int n;
  PoiseVec v[POISE_MAX_BATCH];
} NullSpace;

typedef struct Permutation { /* x = from x', x' = to x; from: of the old rows and the new columns */
  PoiseMat from, to;
} Permutation;

struct PoiseMat_s {
  PoiseContext ctx;
  int refs;
  const MatType *type; /* that works, never auto */
  void *data;
  struct Choice *choice; /* type auto: what else might work, and why this does; NULL: this type was asked for */
  Layout *rows, *cols;
  Csr csr;
  bool assembled, changed; /* changed: entries were added since */
  int64_t state, pattern;  /* count changes of values and of pattern or pointers */
  Stash stash;             /* entries of other ranks' rows */
  TermRows added;          /* entries of own rows that the pattern lacks */
  Pending pending;
  Map row_map, col_map;
  NullSpace null, left, near; /* of A; of A^T; what A makes small */
  struct Triplets *triplets;  /* how triplets become values; NULL: no pattern was given so */
  PoiseInt *row_cols;         /* the columns lent by PoiseMatGetRow, and room for them */
  double *row_vals;           /* and of blocks the values, as many */
  int64_t row_room;
  PoiseVec work; /* of y's layout, for composing; made on first need */
  int library;   /* whose product type csr uses: 0: the device's own, k: that of its csr_libraries[k - 1] */
  char *prefix;
  bool typed, configured; /* the program, or what A is a copy of, has set its type; has read its options */
  int block_size;         /* 1 to MAX_BLOCK_SIZE */
  bool find;              /* that of blocks is to be found when A becomes such */
  PoiseBlockFill *fills;  /* what was found then; NULL: nothing */
  bool blocked;    /* bcsr was asked for: until A is assembled, and while it takes new entries in, another type works */
  void *waiting;   /* data of bcsr with its options, for then; NULL: none were kept */
  bool entries;    /* all came by PoiseMatAddBlock and its kin, or by triplets: nobody has arrays for them */
  double share;    /* that blocks have of the bytes of csr, if type auto chose them for that; else 0 */
  PoiseInt origin; /* of a diagonal block: its first row in the matrix that it was taken from, for messages */
  PoisePartition partition; /* how a solver is to arrange it, and in what order */
  PoiseOrder order;
  /* Of a copy that a solver has rearranged (ksp/arranged.c): what moves vectors between its rows and the
     application's, and what it is a copy of, lent; NULL when the solver has let go of that. Of a block of such
     a copy moves.to alone, for the names of rows. */
  Permutation moves;
  PoiseMat original;
};

PoiseErr poiseMatCreateTyped(PoiseContext ctx, const MatType *type, PoiseInt m, PoiseInt n, PoiseInt M, PoiseInt N,
                             PoiseMat *A);
/* y = a A x + b y, then the dots of y (fuse may be NULL). *skip != 0 (may be NULL): nothing need be done. The halo exchange takes
   place whatever fails on this rank. */
PoiseErr poiseMatMultFuse(PoiseMat A, ScalarRef a, PoiseVec x, ScalarRef b, PoiseVec y, const double *skip,
                          const Fuse *fuse);
/* Bring everything a product needs to the device; called before a captured loop is replayed. Collective; the caller agrees. */
PoiseErr poiseMatReady(PoiseMat A);
const MatType *poiseMatAsked(PoiseMat A); /* the type that was asked for */
void *poiseMatAskedData(PoiseMat A);      /* of a type but auto: its data, which hold its options */
/* Ask for another one, to be set up. On failure the old type stays on all ranks; under type auto it works until that is set up. Collective;
   agrees. */
PoiseErr poiseMatChangeType(PoiseMat A, const MatType *type);
void poiseMatInherit(PoiseMat A, PoiseMat B); /* its options, if B was asked for the same */
/* What the type keeps of A's pattern is made; type auto chooses, where pattern or options are new. Collective; agrees. */
PoiseErr poiseMatSetUp(PoiseMat A);
/* The type that works from now on; data is A's. */
void poiseMatUse(PoiseMat A, const MatType *type, void *data);
PoiseErr poiseMatTypeData(PoiseContext ctx, const MatType *type, void **data); /* with the defaults of its options */
PoiseErr poiseMatShare(PoiseMat A, PoiseMat *B);                               /* *B = A with one more reference */
/* A solver that takes options was given A: read A's, if nobody has, and the program has not set its type.
   Collective; agrees. */
PoiseErr poiseMatOffer(PoiseMat A);
PoiseErr poiseMatCheckSquare(PoiseMat A); /* rows and columns laid out alike */
/* d = the b x b diagonal blocks on the device, column-major. Collective; mine: this rank's error so far; the caller agrees. */
PoiseErr poiseMatDiagonalBlocks(PoiseMat A, PoiseErr mine, int b, double *d);
int64_t poiseMatPartials(PoiseMat A); /* partial sums that a Fuse of its product leaves */
/* The entries of x (device pointer, of the columns' layout) at A's ghost columns, valid until the next exchange. Collective; mine:
   this rank's error so far; the caller agrees. */
PoiseErr poiseMatGhosts(PoiseMat A, PoiseErr mine, const double *x, const double **ghost);
double poiseMatTraffic(PoiseMat A); /* compulsory traffic of one product on this rank */
PoiseErr poiseMatCheckUsable(PoiseMat A);
PoiseErr poiseMatFindNan(PoiseMat A,
                         int64_t *row); /* the first local row with an entry that is not finite, or their number. Local */

void poiseNullSpaceDestroy(NullSpace *space); /* nullspace.c */
/* arith.c: missing diagonal entries, as 0. A is square. Collective; agrees. */
PoiseErr poiseMatStoreDiagonal(PoiseMat A);

void poiseMatDropPending(PoiseMat A); /* what was added or set and not assembled */
/* PoiseMatSetValuesCSR, or BCSR of blocks that are column-major, with val on one side of A's device. Local. */
PoiseErr poiseMatSetValues(PoiseMat A, Side where, const double *val);
PoiseErr poiseMatCheckHolds(PoiseMat A);     /* has entries, as a shell has not */
PoiseErr poiseMatCheckStored(PoiseMat A);    /* and they are numbers */
static inline bool poiseMatHolds(PoiseMat A) /* arrays of its own, of whatever entries */
{
  return A->type->stored || A->type->blocked;
}

#endif

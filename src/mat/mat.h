/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrices, for their types and the upper layers. */
#ifndef POISE_MAT_IMPL_H
#define POISE_MAT_IMPL_H

#include "vec/vec.h"
#include "mat/csr/local_csr.h"
#include "poise/mat.h"
#include "mat/assembly/rows.h"
#include "mat/version.h"

enum { MAX_BLOCK_SIZE = 32 };

typedef struct MatPlan {        /* the sizes of a matrix that need have no entries yet */
  const PoiseMatCounts *counts; /* NULL: the matrix as it is */
  bool transpose;
  int64_t m, nloc, columns, nghost, nz, nsend; /* as in Csr; nsend: scalars to send */
  int b;                                       /* as in Csr */
  bool wide;
  int64_t nblock[2];   /* least and most thread blocks of a product of Csr */
  int64_t partials[2]; /* least and most results of poiseMatPartials */
  bool open;           /* type auto may convert it to blocks, about which nothing is known here */
} MatPlan;

/* What a launch multiplies: all rows, or on several ranks those that need no ghosts, and then the others. */
typedef enum { WHOLE, INTERIOR, REST } ProductPart;

typedef struct ProductArgs { /* y = D (a A x + b y), then the dots of y; pointers of the device */
  ScalarRef a, b;
  const double *x, *ghost; /* ghost: x at the ghost columns; NULL until the exchange has ended */
  const double *skip;      /* *skip != 0: y stays as it is; NULL: never */
  const double *scale;     /* the diagonal D; NULL: the identity */
  double *y;
  const Fuse *fuse; /* NULL: no dots */
} ProductArgs;

typedef struct MatType {
  const char *name;
  bool stored;  /* stored as scalars in A->csr, */
  bool blocked; /* stored as blocks; else as the application holds them (held.h), or a user's functions */
  bool fuse;    /* mult takes any a, b, D and Fuse; otherwise mat_product.c composes them from y = A x */
  bool eager;   /* the functions of a user, who has the entries: a solver's loop cannot be replayed */
  bool (*composes)(PoiseMat); /* its product is only y = A x at present, as if it did not fuse; NULL: never */
  size_t size;                /* of A->data */
  const PoiseOption *options;
  void (*inherit)(const void *from, void *to); /* copy the options from one's data to another's; may be
                                                  NULL */
  PoiseErr (*setup)(PoiseMat);                 /* metadata beside the CSR; local */
  PoiseErr (*ready)(PoiseMat);                 /* what a launch needs, on the device; local; may be NULL */
  int64_t (*partials)(PoiseMat);               /* of a product's Fuse; NULL: one for each of csr.nblock */
  /* A type has one of the two. launch: enqueue a part of a product, for which `ready` has been called; local;
     allocates nothing. mult: y = A x by a function of the user's, which may be collective. */
  PoiseErr (*launch)(PoiseMat, ProductPart part, const ProductArgs *);
  PoiseErr (*mult)(PoiseMat, PoiseVec x, PoiseVec y);
  PoiseErr (*mult_transpose)(PoiseMat, PoiseVec x, PoiseVec y); /* x NULL, if stored: y = |A|^T 1 */
  PoiseErr (*diagonal)(PoiseMat, int b, double *d);             /* d: device pointer to b x b blocks */
  PoiseErr (*norm)(PoiseMat, PoiseNorm, double *);              /* of a type that holds no CSR; may be NULL */
  PoiseErr (*set_values)(PoiseMat, Side, const double *val);    /* poiseMatSetEntries of such a type; NULL */
  PoiseErr (*view)(PoiseMat);
  void (*bytes)(PoiseMat, PoiseBytes *sum); /* sum += bytes of A->data; may be NULL */
  /* p += bytes that A->data will hold, for the options in data and A's library. Sets the plan's partials
     if they are not the thread blocks of the CSR. Allocates nothing. Local. May be NULL. */
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

typedef struct Permutation { /* x = from x', x' = to x. `from` has the old rows and the new columns */
  PoiseMat from, to;
} Permutation;

typedef struct MatRequest { /* what the program or its options asked for */
  const MatType *type;      /* maybe auto or, with entries that are no blocks yet, bcsr: see mat_type.h */
  void *data;               /* of that type while another works; else NULL, and they are A->data */
  double share;             /* bytes(bcsr) / bytes(csr) if it was type auto that asked for bcsr; else 0 */
  bool find;                /* the block size is to be found when A becomes bcsr */
  bool settled;             /* the program set the type, or options were read; also of a copy's original */
  int library;              /* kernel of type csr: 0: the device's own, k: its csr_libraries[k - 1] */
  PoisePartition partition; /* how a solver must arrange it; in what order */
  PoiseOrder order;
  bool partition_given; /* also where pcsr would say otherwise */
  double *bound;        /* of ranks with unequal shares: what lies before each (shares.h); NULL: equal */
  int64_t bounds_set;   /* counts changes of it */
  bool parted;          /* type pcsr was asked for: `type` is that of the parts (pcsr.h) */
  const MatType *local; /* the type of parts that was asked for; NULL: auto */
  char *prefix;
} MatRequest;

typedef struct MatAssembly { /* how entries come */
  Pending pending;
  bool changed;              /* entries were added since A was assembled */
  bool entries;              /* all entries come so, or by triplets: nobody has arrays for them */
  Stash stash;               /* entries of other ranks' rows */
  TermRows added;            /* entries of own rows that the pattern lacks */
  Map row_map, col_map;      /* local numbers */
  struct Triplets *triplets; /* the plan from triplets to values; NULL: no pattern was given by triplets */
} MatAssembly;

typedef struct LentRow { /* arrays lent by PoiseMatGetRow */
  PoiseInt *cols;
  double *vals; /* for blocks; else A's own are lent */
  int64_t room; /* size of either */
} LentRow;

/* Of a copy that a solver has rearranged (ksp/reordered.c), or of a diagonal block, which has only moves.to
   and row, for the names of rows. */
typedef struct MatOrigin {
  Permutation moves; /* vectors between the copy's rows and the application's */
  PoiseMat mat;      /* the original, lent; NULL if the solver has dropped it */
  PoiseInt row;      /* the first row of a diagonal block */
} MatOrigin;

typedef struct MatMade {         /* for or by products, when one first needs it */
  PoiseVec work;                 /* of y's layout, for composing */
  struct Parts *parts;           /* of type pcsr on several ranks */
  struct Multiplied *multiplied; /* A is a product of matrices: what new numbers need (multiply.c) */
} MatMade;

struct PoiseMat_s {
  PoiseContext ctx;
  int refs;
  MatRequest asked;
  const MatType *type; /* the type that works, never auto */
  void *data;
  Layout *rows, *cols;
  Csr csr;
  bool assembled;
  Version version;
  int block_size;             /* 1 to MAX_BLOCK_SIZE */
  PoiseBlockFill *fills;      /* the sizes compared when it was found; NULL: none */
  NullSpace null, left, near; /* null space of A; of A^T; near null space */
  MatMade made;
  MatAssembly assembly;
  LentRow lent;
  MatOrigin origin;
};

/* What of A has changed since it had this version? Bits CHANGED_... */
static inline unsigned poiseMatChanged(const Version *seen, PoiseMat A)
{
  return poiseVersionChanged(seen, &A->version);
}

PoiseErr poiseMatCreateTyped(PoiseContext ctx, const MatType *type, PoiseInt m, PoiseInt n, PoiseInt M,
                             PoiseInt N, PoiseMat *A);
/* The same with layouts that others have; cols: NULL, if the caller makes them. The caller agrees on errors,
   and destroys after a failure. */
PoiseErr poiseMatCreateLocal(const MatType *type, Layout *rows, Layout *cols, PoiseMat *A);
/* From a user's arrays, which may be on the device. by_columns: they are the columns of what the user calls
   the matrix, and A is its transpose. */
PoiseErr poiseMatCreateArrays(PoiseContext ctx, const MatType *type, bool by_columns, PoiseInt m, PoiseInt n,
                              PoiseInt M, PoiseInt N, const PoiseCSR *csr, PoiseOwn own, bool device,
                              PoiseMat *A);
/* y = D (a A x + b y), D = diag(scale), then the dots of y. scale (NULL: D = 1) is on the device; fuse may be
   NULL. If *skip != 0 (skip may be NULL), nothing need be done. The halo exchange takes place whatever fails
   on this rank. */
PoiseErr poiseMatMultFuse(PoiseMat A, ScalarRef a, PoiseVec x, ScalarRef b, PoiseVec y, const double *skip,
                          const double *scale, const Fuse *fuse);
/* y = A x, as products are composed from where a type does not fuse. Not logged. The exchange likewise. */
PoiseErr poiseMatMultPlain(PoiseMat A, PoiseVec x, PoiseVec y);
/* Bring all that a product needs to the device. Called before a captured loop is replayed. Collective; the
   caller agrees. */
PoiseErr poiseMatReady(PoiseMat A);
/* *B = A with one more reference */
PoiseErr poiseMatShare(PoiseMat A, PoiseMat *B);
/* Offer A to a solver that takes options: read A's options, unless they have been read or the program has
   set its type. Collective; agrees. */
PoiseErr poiseMatOffer(PoiseMat A);
PoiseErr poiseMatCheckSquare(PoiseMat A); /* rows and columns laid out alike */
/* d = the b x b diagonal blocks on the device, column-major. mine: this rank's error so far. Collective;
   the caller agrees. */
PoiseErr poiseMatDiagonalBlocks(PoiseMat A, PoiseErr mine, int b, double *d);
int64_t poiseMatPartials(PoiseMat A); /* partial sums that a Fuse of its product leaves */
/* The entries of x at A's ghost columns, valid until the next exchange. x is a device pointer, of the
   columns' layout. mine: this rank's error so far. Collective; the caller agrees. */
PoiseErr poiseMatGhosts(PoiseMat A, PoiseErr mine, const double *x, const double **ghost);
/* By which products of A exchange; NULL: by none, or by that of a type without parts. */
Halo *poiseMatHalo(PoiseMat A);
double poiseMatTraffic(PoiseMat A); /* compulsory traffic of one product on this rank */
PoiseErr poiseMatCheckUsable(PoiseMat A);

void poiseNullSpaceDestroy(NullSpace *space); /* nullspace.c */
/* arith.c: store missing diagonal entries as 0. A is square. Collective; agrees. */
PoiseErr poiseMatStoreDiagonal(PoiseMat A);
/* A has arrays of its own, as neither a shell has nor a matrix that stays as the application holds it. Else
   it is unsupported; what: that A does not offer. */
PoiseErr poiseMatCheckHolds(PoiseMat A, const char *what);
PoiseErr poiseMatCheckStored(PoiseMat A);              /* and they are scalars */
static inline bool poiseTypeHolds(const MatType *type) /* do its matrices have arrays of their own? */
{
  return type->stored || type->blocked;
}

static inline bool poiseMatHolds(PoiseMat A)
{
  return poiseTypeHolds(A->type);
}

#endif

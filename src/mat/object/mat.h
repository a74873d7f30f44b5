/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrices, for their types and the upper layers. */
#ifndef POISE_MAT_IMPL_H
#define POISE_MAT_IMPL_H

#include "vec/vec.h"
#include "mat/csr/local_csr.h"
#include "poise/mat.h"
#include "mat/assembly/rows.h"
#include "mat/product/product.h"
#include "version.h"

enum { MAX_BLOCK_SIZE = 32 };

/* How a matrix is stored. Types with entries of their own are multiplied by A->product; those that users
   name csr, csri, seg and auto differ by the forms that it may have. */
typedef struct MatType {
  const char *name;
  const char *maker; /* the function that creates such a matrix, if it must be one; else NULL */
  bool stored;       /* as scalars in A->csr, */
  bool blocked; /* stored as blocks; else as the application holds them (held.h), or a user's functions */
  ProductType product;     /* of a stored or blocked one: what its plan may choose among; */
  const ProductForm *form; /* or NULL, or the form that its name asks for */
  bool eager;  /* the functions of a user, who has the entries: a solver's loop cannot be replayed */
  size_t size; /* of A->data; the rest is of types without entries of their own */
  PoiseErr (*ready)(PoiseMat);                        /* what mult needs, on the device; local; may be NULL */
  PoiseErr (*mult)(PoiseMat, PoiseVec x, PoiseVec y); /* y = A x; may be a user's, and collective */
  /* The same for wide vectors of k columns, which mult and mult_transpose then take; NULL: they do not.
     Collective; agrees. */
  PoiseErr (*ready_columns)(PoiseMat, bool transposed, int k);
  PoiseErr (*mult_transpose)(PoiseMat, PoiseVec x, PoiseVec y); /* x NULL, if stored: y = |A|^T 1 */
  PoiseErr (*diagonal)(PoiseMat, int b, double *d);             /* d: device pointer to b x b blocks */
  PoiseErr (*norm)(PoiseMat, PoiseNorm, double *);
  PoiseErr (*set_values)(PoiseMat, Side, const double *val); /* poiseMatSetEntries of such a type */
  PoiseErr (*view)(PoiseMat);
  void (*bytes)(PoiseMat, PoiseBytes *sum); /* sum += bytes of A->data; may be NULL */
  PoiseErr (*predict)(PoiseMat A, const MatPlan *plan, PoisePrediction *p); /* p += bytes of A->data */
  void (*destroy)(PoiseMat);                                                /* of A->data's contents */
} MatType;

#define MAT_TYPE(name) extern const MatType poiseMatType_##name;
#include "mat/types.def"
#undef MAT_TYPE

typedef struct NullSpace { /* an orthonormal basis; n = 0: none was given */
  int n;
  PoiseVec v[POISE_MAX_BATCH];
} NullSpace;

typedef struct Permutation {    /* b = from b', b' = to b; x = out x', x' = into x. from, out: new columns */
  PoiseMat from, to, out, into; /* the latter two are the former, unless columns are exchanged and scaled */
} Permutation;

typedef struct MatRequest { /* what the program or its options asked for */
  const MatType *type;      /* bcsr also with entries that are no blocks yet: see mat_type.h */
  bool named;               /* type auto, and the program or its options said so: blocks may be chosen */
  double share;             /* bytes(bcsr) / bytes(csr) if it was type auto that asked for bcsr; else 0 */
  bool find;                /* the block size is to be found when A becomes bcsr */
  bool settled;             /* the program set the type, or options were read; also of a copy's original */
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

struct PoiseMat_s {
  PoiseContext ctx;
  int refs;
  MatRequest asked;
  const MatType *type; /* as which it is stored */
  void *data;          /* of a type without entries of its own */
  Layout *rows, *cols;
  Csr csr;
  bool assembled;
  Version version;
  int block_size;             /* 1 to MAX_BLOCK_SIZE */
  PoiseBlockFill *fills;      /* the sizes compared when it was found; NULL: none */
  NullSpace null, left, near; /* null space of A; of A^T; near null space */
  MatBlocks blocks;
  Product product, transposed;   /* A x; A^T x */
  Product several;               /* A X, of wide vectors */
  struct Parts *parts;           /* of type pcsr on several ranks; made for its first product */
  struct Multiplied *multiplied; /* A is a product of matrices: what new numbers need (multiply.c) */
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
PoiseErr poiseMatReadBlockSize(PoiseContext ctx, PoiseInt *b); /* -mat_block_size (mat_options.c). Local */
/* *B = A with one more reference */
PoiseErr poiseMatShare(PoiseMat A, PoiseMat *B);
/* Offer A to a solver that takes options: read A's options, unless they have been read or the program has
   set its type. Collective; agrees. */
PoiseErr poiseMatOffer(PoiseMat A);
PoiseErr poiseMatCheckSquare(PoiseMat A); /* rows and columns laid out alike */
/* d = the b x b diagonal blocks on the device, column-major. mine: this rank's error so far. Collective;
   the caller agrees. */
PoiseErr poiseMatDiagonalBlocks(PoiseMat A, PoiseErr mine, int b, double *d);
PoiseErr poiseMatCheckUsable(PoiseMat A);

void poiseNullSpaceDestroy(NullSpace *space); /* nullspace.c */
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

/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrices, for their types and the upper layers. */
#ifndef POISE_MAT_IMPL_H
#define POISE_MAT_IMPL_H

#include "../vec/vec.h"
#include "poise/mat.h"

enum { MAX_BLOCK_SIZE = 32 };

/* One rank's rows as plain CSR. Columns are numbered [owned | ghosts]. Within a row, entries are in the
   order of their global columns. So values are never permuted, and the sum of a row does not depend on the
   number of ranks. In a matrix of blocks, rows, columns and entries are blocks of b x b scalars each,
   column-major. */
typedef struct Csr {
  int b; /* 0: entries are scalars */
  int64_t m, nloc, nghost, nz;
  PoiseInt row, column, columns; /* first row and first column of this rank; columns of all ranks */
  int64_t built;                 /* A->pattern when this was built */
  bool wide;                     /* ptr holds int64, else int32 */
  Buffer ptr, col, val;          /* col: int32 */
  PoiseInt *ghost;               /* global columns of the ghosts, ascending */
  Halo *halo;                    /* NULL on one rank */
  int rows;                      /* rows of a thread block, as the device chose */
  int64_t nblock, tile;          /* number of thread blocks; nonzeros of the largest (0: not asked for) */
  bool vary;                     /* lengths of neighbouring rows often differ */
  CsrStatistics statistics;      /* without a limit */
  Buffer order;                  /* int32: the thread blocks, those without ghosts first; unused on one
                                    rank */
  int64_t ninterior;
  const char *converted; /* what was converted, for the view; NULL: nothing */
} Csr;

static inline int64_t poiseCsrSide(const Csr *c) /* scalar rows (and columns) of an entry */
{
  return c->b ? c->b : 1;
}

static inline int64_t poiseCsrNumbers(const Csr *c) /* in all entries */
{
  return c->nz * poiseCsrSide(c) * poiseCsrSide(c);
}

/* out = the transpose of a block. */
static inline void poiseTurnBlock(int64_t b, const double *block, double *out)
{
  for (int64_t c = 0; c < b; c++)
    for (int64_t r = 0; r < b; r++) out[c * b + r] = block[r * b + c];
}

/* ---- rows.c: rows that grow entry by entry --------------------------------------------------------------------------- */

typedef struct Term { /* an entry of a row */
  PoiseInt col;
  union {
    double value;
    int64_t from; /* where its value is to come from */
  };
} Term;

enum { TERM_LEVELS = 96 };

typedef struct TermRows {
  struct TermRow *row; /* every local row; NULL: nothing was added */
  struct TermChunk *chunks;
  double *fresh, *spare[TERM_LEVELS]; /* the unused part of the latest chunk; unused blocks by length */
  int64_t left, held;                 /* doubles left in the latest chunk; doubles held by all */
  bool wide;                          /* columns are PoiseInt, else int32_t */
} TermRows;

/* Column k of an array of 4- or 8-byte columns. */
POISE_INLINE PoiseInt poiseNarrow(const void *col, int64_t k)
{
  return ((const int32_t *)col)[k];
}

POISE_INLINE PoiseInt poiseWide(const void *col, int64_t k)
{
  return ((const PoiseInt *)col)[k];
}

POISE_INLINE PoiseInt poiseColumn(bool wide, const void *col, int64_t k)
{
  return wide ? poiseWide(col, k) : poiseNarrow(col, k);
}

typedef struct AddedRow {
  int64_t n;
  const void *col;
  const double *val;
} AddedRow;

/* The first place in [k, n) of a row whose column is not below col; columns ascend. The search starts at k
   and is fastest near it, as the columns of an element's block come in runs. `column` is a constant where
   this is inlined. */
POISE_INLINE int64_t poiseSeekColumn(PoiseInt (*column)(const void *row, int64_t k), const void *row, int64_t k, int64_t n,
                                     PoiseInt col)
{
  enum { NEAR = 16 };
  int64_t near = n - k < NEAR ? n : k + NEAR, step = NEAR;
  for (; k < near; k++)
    if (column(row, k) >= col) return k;
  if (k == n) return n;
  for (; n - k >= step && column(row, k + step - 1) < col; step *= 2) k += step;
  for (; step > 0; step /= 2)
    if (n - k >= step && column(row, k + step - 1) < col) k += step;
  return k;
}

enum { PIECE = 64 };

typedef struct Piece { /* some columns of a block: ascending, equal ones in their order, and their places
                          in the block's rows */
  int n;
  PoiseInt col[PIECE];
  PoiseInt place[PIECE];
} Piece;

/* Entries (i, p->col[j]) = v[p->place[j]] of local row i. Entries of equal columns are added; with mode
   SETTING the latest stays. */
PoiseErr poiseRowsAdd(PoiseMat A, int mode, int64_t i, const Piece *p, const double *v);
PoiseErr poiseRowsSort(PoiseMat A, int mode);
void poiseRowsFetch(PoiseMat A, int64_t i);          /* prefetch row i; entries have been added before */
AddedRow poiseRowsGet(const TermRows *r, int64_t i); /* when sorted: columns ascend */
void poiseRowsDestroy(PoiseContext ctx, TermRows *r);
/* Sort by columns; equal ones keep their order. */
PoiseErr poiseTermsSort(PoiseContext ctx, Term *term, int64_t n);

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

typedef struct MatType {
  const char *name;
  bool stored;                /* stored as scalars in A->csr, */
  bool blocked;               /* stored as blocks; else a user's functions */
  bool fuse;                  /* mult takes any a, b and Fuse; otherwise mat.c composes them from y = A x */
  bool eager;                 /* calls back to the host: a solver's loop cannot be replayed */
  bool (*composes)(PoiseMat); /* its product is only y = A x at present, as if it did not fuse; NULL: never */
  size_t size;                /* of A->data */
  const PoiseOption *options;
  void (*inherit)(const void *from, void *to); /* copy the options from one's data to another's; may be
                                                  NULL */
  PoiseErr (*setup)(PoiseMat);                 /* metadata beside the CSR; local */
  PoiseErr (*ready)(PoiseMat);                 /* allocate what a product cannot allocate inside a captured
                                                  loop; local; may be NULL */
  int64_t (*partials)(PoiseMat);               /* partials that a Fuse of the product leaves; NULL: one for
                                                  each of csr.nblock */
  PoiseErr (*mult)(PoiseMat, ScalarRef a, PoiseVec x, ScalarRef b, PoiseVec y, const double *skip, const Fuse *);
  PoiseErr (*mult_transpose)(PoiseMat, PoiseVec x, PoiseVec y); /* x NULL, if stored: y = |A|^T 1 */
  PoiseErr (*diagonal)(PoiseMat, int b, double *d);             /* d: device pointer to b x b blocks */
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

struct PoiseMat_s {
  PoiseContext ctx;
  int refs;
  const MatType *type; /* the type in use, never auto */
  void *data;
  struct Choice *choice; /* type auto: the candidates, and why the present type is used; NULL: this type
                            was asked for */
  Layout *rows, *cols;
  Csr csr;
  bool assembled, changed; /* changed: entries were added since */
  int64_t state, pattern;  /* count changes of values and of pattern or pointers */
  Stash stash;             /* entries of other ranks' rows */
  TermRows added;          /* entries of own rows that the pattern lacks */
  Pending pending;
  Map row_map, col_map;
  NullSpace null, left, near; /* null space of A; of A^T; near null space */
  struct Triplets *triplets;  /* the plan from triplets to values; NULL: no pattern was given by triplets */
  PoiseInt *row_cols;         /* the columns lent by PoiseMatGetRow, and the size of that array */
  double *row_vals;           /* and, for blocks, the values; of the same size */
  int64_t row_room;
  PoiseVec work; /* of y's layout, for composing; made on first need */
  int library;   /* kernel of type csr: 0: the device's own, k: that of its csr_libraries[k - 1] */
  char *prefix;
  bool typed, configured;   /* the type was set by the program, or by the original of the copy A; options
                             were read */
  int block_size;           /* 1 to MAX_BLOCK_SIZE */
  bool find;                /* the block size is to be determined when A becomes bcsr */
  PoiseBlockFill *fills;    /* the sizes compared then; NULL: none */
  bool blocked;             /* bcsr was asked for. Another type is used until A is assembled, and while A
                               takes in new entries */
  void *waiting;            /* data of bcsr with its options, kept meanwhile; NULL: none */
  bool entries;             /* all entries came by PoiseMatAddBlock and its kin, or by triplets: nobody has
                               arrays for them */
  double share;             /* bytes(bcsr) / bytes(csr) if type auto chose bcsr for that; else 0 */
  PoiseInt origin;          /* of a diagonal block: its first row in the original matrix, for messages */
  PoisePartition partition; /* how a solver must arrange it; in what order */
  PoiseOrder order;
  /* Of a copy that a solver has rearranged (ksp/arranged.c): `moves` moves vectors between its rows and
     the application's. The original is lent; NULL if the solver has dropped it. A block of such a copy has
     only moves.to, for the names of rows. */
  Permutation moves;
  PoiseMat original;
};

PoiseErr poiseMatCreateTyped(PoiseContext ctx, const MatType *type, PoiseInt m, PoiseInt n, PoiseInt M, PoiseInt N,
                             PoiseMat *A);
/* y = a A x + b y, then the dots of y (fuse may be NULL). If *skip != 0 (skip may be NULL), nothing need
   be done. The halo exchange takes place whatever fails on this rank. */
PoiseErr poiseMatMultFuse(PoiseMat A, ScalarRef a, PoiseVec x, ScalarRef b, PoiseVec y, const double *skip,
                          const Fuse *fuse);
/* Bring all that a product needs to the device. Called before a captured loop is replayed. Collective; the
   caller agrees. */
PoiseErr poiseMatReady(PoiseMat A);
const MatType *poiseMatAsked(PoiseMat A); /* the type that was asked for */
void *poiseMatAskedData(PoiseMat A);      /* of a type other than auto: its data, which hold its options */
/* Ask for another type, to be set up later. After a failure the old type stays on all ranks. Under type
   auto it is used until the new one is set up. Collective; agrees. */
PoiseErr poiseMatChangeType(PoiseMat A, const MatType *type);
void poiseMatInherit(PoiseMat A, PoiseMat B); /* copy A's options to B, if B was asked for the same type */
/* Make what the type keeps of A's pattern. Type auto chooses if pattern or options are new. Collective;
   agrees. */
PoiseErr poiseMatSetUp(PoiseMat A);
/* Use this type; data become A's. */
void poiseMatUse(PoiseMat A, const MatType *type, void *data);
PoiseErr poiseMatTypeData(PoiseContext ctx, const MatType *type, void **data); /* with the defaults of its options */
PoiseErr poiseMatShare(PoiseMat A, PoiseMat *B);                               /* *B = A with one more reference */
/* Offer A to a solver that takes options: read A's options, unless they have been read or the program has
   set its type. Collective; agrees. */
PoiseErr poiseMatOffer(PoiseMat A);
PoiseErr poiseMatCheckSquare(PoiseMat A); /* rows and columns laid out alike */
/* d = the b x b diagonal blocks on the device, column-major. mine: this rank's error so far. Collective;
   the caller agrees. */
PoiseErr poiseMatDiagonalBlocks(PoiseMat A, PoiseErr mine, int b, double *d);
PoiseErr poiseMatSetLibrary(PoiseMat A, int library); /* csr.c. Collective; agrees */
/* number of partial sums that a Fuse of its product leaves */
int64_t poiseMatPartials(PoiseMat A);
/* The entries of x at A's ghost columns, valid until the next exchange. x is a device pointer, of the
   columns' layout. mine: this rank's error so far. Collective; the caller agrees. */
PoiseErr poiseMatGhosts(PoiseMat A, PoiseErr mine, const double *x, const double **ghost);
double poiseMatTraffic(PoiseMat A); /* compulsory traffic of one product on this rank */
PoiseErr poiseMatCheckUsable(PoiseMat A);
PoiseErr poiseMatFindNan(PoiseMat A, int64_t *row); /* *row: the first local row with an entry that is not
                                                       finite, or the number of rows. Local */

/* ---- columns.c: numbers at the columns that this rank's rows refer to, [owned | ghosts], on the host; of blocks at each of their
   columns ------------------------------------------------------------------------------------------------------------------ */

PoiseErr poiseColumnsCreate(PoiseMat A, double **column);
/* Copy values from owned columns to the ghosts of all ranks; or add those of ghosts to their owners. mine:
   this rank's error so far (column is then not touched). Collective; the caller agrees. */
PoiseErr poiseColumnsSpread(PoiseMat A, PoiseErr mine, double *column);
PoiseErr poiseColumnsCollect(PoiseMat A, PoiseErr mine, double *column);

/* ---- arrange.c: matrices in another layout and numbering ---------------------------------------------------------------- */

typedef struct MatShape {                   /* over all ranks */
  double nonzeros, most, ghosts, bandwidth; /* most: nonzeros of the rank with the most; bandwidth: the
                                               largest of the ranks' blocks of owned columns */
} MatShape;

bool poiseMatArranges(PoiseMat A); /* not as it is */
/* the options that ask for the arrangement (mat.c) */
const char *poiseMatArrangementWords(PoiseMat A, char *text, size_t size);
PoiseErr poiseMatCheckArrange(PoiseMat A, PoiseMat asked); /* can A be arranged as that matrix asks? */
/* p stays empty if A is arranged so already. Collective; agrees. */
PoiseErr poisePermutationCreate(PoiseMat A, Permutation *p);
void poisePermutationDestroy(Permutation *p);
/* B = A rearranged; later calls bring changes of A's values, type and null space. Collective; agrees. */
PoiseErr poiseMatMoved(PoiseMat A, const Permutation *p, PoiseMat *B);
PoiseErr poiseMatMoveValues(PoiseMat A, PoiseMat B);
PoiseErr poiseMatMoveRest(PoiseMat A, const Permutation *p, PoiseMat B);
/* y = P x for one of the two permutations. Collective; agrees. */
PoiseErr poiseVecMove(PoiseMat P, PoiseVec x, PoiseVec y);

/* For a solver's matrix, a copy or not: what the application has in its place. */
Layout *poiseMatRowsOutside(PoiseMat A);                  /* the layout of its vectors */
PoiseErr poiseMatOutside(PoiseMat A, PoiseMat *original); /* its matrix */
/* Check that the application has rows for A's. what: the object that is passed, for the message. */
PoiseErr poiseMatCheckOutside(PoiseMat A, const char *what);
bool poiseMatSameRows(PoiseMat A, PoiseMat P); /* do both have the application's rows, or are both moved
                                                  alike? */

PoiseErr poiseMatShape(PoiseMat A, MatShape *shape); /* collective; agrees */
/* The number of local row i in the application, for messages. */
long long poiseMatRowName(PoiseMat A, int64_t i);

/* ---- bytes.c: what a matrix will hold -------------------------------------------------------------------------------------- */

PoiseErr poiseMatPredict(PoiseMat A, const PoiseMatCounts *counts, MatPlan *plan, PoisePrediction *p); /* p += it */
/* mark what is uncertain if the plan is open */
void poisePredictOpen(const MatPlan *plan, PoisePrediction *p);
PoiseErr poiseChoicePredict(PoiseMat A, MatPlan *plan,
                            PoisePrediction *p); /* predict for type auto, whichever type it chooses:
                                                    auto.c */
/* range = that or what it is */
static inline void poisePlanEither(const int64_t one[2], int64_t range[2])
{
  if (one[0] < range[0]) range[0] = one[0];
  if (one[1] > range[1]) range[1] = one[1];
}

static inline int64_t poisePlanSide(const MatPlan *plan) /* as poiseCsrSide */
{
  return plan->b ? plan->b : 1;
}

static inline int64_t poisePlanNumbers(const MatPlan *plan)
{
  return plan->nz * poisePlanSide(plan) * poisePlanSide(plan);
}

void poiseNullSpaceDestroy(NullSpace *space);                            /* nullspace.c */
void poiseTripletsDestroy(PoiseContext ctx, struct Triplets **triplets); /* triplets.c */
/* sum += bytes that it holds; t may be NULL */
void poiseTripletsBytes(const struct Triplets *t, PoiseBytes *sum);

/* ---- coo.c: which values an entry is the sum of, on a device ------------------------------------------------------------ */

typedef struct TripletMap {
  int numbers;                  /* scalars of an entry and of a value: b x b for blocks, else 1 */
  int64_t n, ngiven, nreceived; /* entries; values given; values from other ranks, whose places come behind
                                   those given */
  bool wide;                    /* start and from are int64, else uint32 */
  Buffer start, from;           /* entry e is the sum of the values at places from[start[e] .. start[e + 1]) */
  Buffer given, received;       /* device copies of values from the host; made on first need */
  Buffer send, packed;          /* int32: places of values for other ranks; and those values, if values are
                                   given on the device */
} TripletMap;

/* entry[k]: the entry of value k of n (given, then received), or -1. Local. */
PoiseErr poiseTripletMapCreate(PoiseContext ctx, int64_t n, const int64_t *entry, TripletMap *t);
/* A's pattern from triplets on one rank (coo_pattern.c), given on side `where`. The device sorts them, and
   has pattern and map afterwards. */
PoiseErr poiseTripletMapPattern(PoiseMat A, Side where, const PoiseInt *rows, const PoiseInt *cols, TripletMap *t);
/* Do places of n values need 8 bytes? */
static inline bool poisePlacesAreWide(PoiseContext ctx, int64_t n)
{
  return n > 2 * poiseContextHome(ctx)->most_narrow + 1;
}
void poiseTripletMapDestroy(TripletMap *t);
/* packed (host) = v[place] for n places of scalars. */
PoiseErr poiseTripletMapPack(PoiseContext ctx, TripletMap *t, const double *v, int64_t n, const int64_t *place,
                             double *packed);
/* val = or += the sums. v: values given, on that side; received: on the host. Both may change after the
   call. */
PoiseErr poiseTripletMapSum(PoiseMat A, TripletMap *t, Side where, const double *v, const double *received, bool add);
/* PoiseMatSetValuesCOO, AddValuesCOO with v on one side of A's device. Collective; agrees. */
PoiseErr poiseMatTakeCOO(PoiseMat A, Side where, const double *v, bool add);

/* Add to integer k, of either width. Returns the old value. */
POISE_INLINE int64_t poiseAdvance(bool wide, void *array, int64_t k, int64_t by)
{
  int64_t *a64 = array;
  uint32_t *a32 = array;
  int64_t old = wide ? a64[k] : a32[k];
  if (wide)
    a64[k] = old + by;
  else
    a32[k] = (uint32_t)(old + by);
  return old;
}

/* ---- keys.c: (row, column) in one integer, with the place where a value stands, sorted on a device ------------------------- */

typedef struct Keys { /* the caller sets these four; the rest is zero */
  int64_t n, m;       /* number of keys; rows are 0 .. m - 1; row m is ignored */
  int bits;           /* of a column */
  bool wide;          /* places are int64, else int32 */
  Buffer key[2], place[2], scratch, count;
} Keys;

int poiseBitsOf(int64_t n); /* bits of numbers up to n; n < 0: 0 */
/* Allocate device memory for n keys and places, which the caller writes. */
PoiseErr poiseKeysCreate(Device *dev, Keys *k, uint64_t **key, int64_t **place64, uint32_t **place32);
PoiseErr poiseKeysSort(Device *dev, Keys *k, int first, int bits); /* as in SortKeysArgs */
/* Count the entries, i.e. different keys. If nz is not NULL, waits for *nz and fetches it. */
PoiseErr poiseKeysCount(Device *dev, Keys *k, int64_t *nz);
/* Make rows, as described at CooRowsArgs, in new buffers. start may be NULL. */
PoiseErr poiseKeysRows(Device *dev, Keys *k, int64_t nz, bool wide, Buffer *ptr, Buffer *col, Buffer *start);
Buffer poiseKeysTakePlaces(Keys *k); /* sorted */
void poiseKeysDestroy(Keys *k);

/* ---- transpose.c: a rank's entries by column ------------------------------------------------------------------------------ */

typedef struct Transposed { /* column j of [owned | ghosts] has the rows, ascending, row[ptr[j] .. ptr[j + 1]) */
  bool wide;                /* ptr and from are int64, else int32 */
  Buffer ptr, row, from;    /* row: int32; from: the entry of A */
} Transposed;

/* Make the transpose on A's device. t is empty on entry. The caller destroys it, also after a failure.
   Local. */
PoiseErr poiseTransposedCreate(PoiseMat A, Transposed *t);
void poiseTransposedDestroy(Transposed *t);

/* ---- csr.c: what types with entries share; their data begins with it ------------------------------------------------------ */
/* Row blocks, and row segments of split rows (windows.h). Types that divide in other ways set n and limit
   first. They also set parts and ninterior if tiles replace row blocks. */
typedef struct Windows {
  int64_t n, npiece, limit; /* number of row blocks; of row segments; rows with at least `limit` entries
                               are split */
  int64_t parts, ninterior; /* row blocks, or tiles, of a product; those without ghosts */
  Buffer window, first, part, sum, arrived, order;
} Windows;

typedef struct CsrData {
  int64_t pattern;      /* pattern of the matrix that by_column was made for; 0: not made */
  Transposed by_column; /* made for the first transpose product */
  Windows columns;      /* row blocks of it; none (n = 0) if no balancing is needed */
  LibraryPlan plan;     /* of a library */
  int64_t planned;      /* the pattern that the plan was made for; 0: no plan */
  Buffer whole;         /* x for a library on several ranks: [owned | ghosts] */
} CsrData;

/* ---- index16.c: columns of 16 bits beside the CSR --------------------------------------------------------------------------- */

typedef struct Index16 {
  bool on;
  int64_t built; /* c->built at the decision; 0: none was made */
  int64_t tried; /* c->built at the latest attempt */
  int64_t fits;  /* nonzeros of thread blocks whose columns fit */
  Buffer code, window;
} Index16;

/* Make 16-bit columns for the thread blocks of A->csr, or release them. They are kept if at least half of
   the nonzeros are in blocks that fit. Local. */
PoiseErr poiseIndex16SetUp(PoiseMat A, bool on, Index16 *d);
/* device pointers, or NULL if none are kept */
PoiseErr poiseIndex16View(PoiseMat A, Index16 *d, Index16View *v);
PoiseErr poiseIndex16Print(PoiseMat A, const Index16 *d); /* print it, if it is on. Collective */
void poiseIndex16Bytes(const Index16 *d, PoiseBytes *sum);
void poiseIndex16Predict(const Device *dev, const MatPlan *plan, PoisePrediction *p); /* of one that is on */
void poiseIndex16Destroy(Index16 *d);

/* ---- csr.c: products ---------------------------------------------------------------------------------------------------------- */

typedef enum { WHOLE, INTERIOR, REST } ProductPart;
typedef PoiseErr PartOfProduct(PoiseMat A, PoiseVec x, PoiseVec y, CsrMultArgs *m, ProductPart part);
/* Compute the product by one call, or on several ranks by two, so that what needs no ghosts runs while
   they travel. Except for part REST, the call sets the arguments, which begin with m. */
PoiseErr poiseCsrProduct(PoiseMat A, PoiseVec x, PoiseVec y, CsrMultArgs *m, PartOfProduct *call);
PoiseErr poiseCsrBlocks(PoiseMat A, ProductPart part, CsrMultArgs *m);          /* the blocks of A->csr in that part */
PoiseErr poiseCsrArguments(PoiseMat A, PoiseVec x, PoiseVec y, CsrMultArgs *m); /* matrix and vectors */
PoiseErr poiseCsrMultTranspose(PoiseMat A, PoiseVec x, PoiseVec y);
PoiseErr poiseCsrDiagonal(PoiseMat A, int b, double *d);
void poiseCsrDataBytes(PoiseMat A, PoiseBytes *sum);
void poiseCsrDataPredict(PoiseMat A, const MatPlan *plan, PoisePrediction *p);
void poiseCsrDataDestroy(PoiseMat A);

/* bcsr_build.c: convert A's entries to blocks of its block size, and its type to bcsr; or to scalars, and
   csr. A matrix that is not assembled yet is converted when it is. Collective; agree. */
PoiseErr poiseMatToBlocks(PoiseMat A);
/* agree that the block size is the same everywhere (mat.c) */
PoiseErr poiseMatAgreeBlockSize(PoiseContext ctx, PoiseErr mine, int b);
PoiseErr poiseMatFromBlocks(PoiseMat A);
PoiseErr poiseMatKeepWaiting(PoiseMat A); /* Make A->waiting, with A's options if A is of blocks at
                                             present. Local (mat.c) */
/* B = A, with entries in the form of those of `like`: scalars, or blocks of that size. Collective; agrees. */
PoiseErr poiseMatDuplicateLike(PoiseMat A, PoiseMat like, PoiseMat *B);
/* ptr[i + 1] = the number of b x b blocks in A's rows before (i + 1) b, whose entries are scalars. ptr[0]
   = 0. Local. */
PoiseErr poiseMatCountBlocks(PoiseMat A, int b, int64_t *ptr);

/* block_size.c: set A's block size to the one with the fewest bytes. Collective; agrees. */
PoiseErr poiseMatTakeBlockSize(PoiseMat A);
/* *share = bytes in blocks of A's block size over bytes in CSR. The size must divide every rank's rows and
   columns. Collective; agrees. */
PoiseErr poiseMatBlockShare(PoiseMat A, double *share);
PoiseErr poiseMatViewFills(PoiseMat A); /* print the sizes that were compared */

/* csri.c: rows with at least this many entries are split, by data's options (NULL: the defaults), for
   `size` rows and entries. */
int64_t poiseCsriLimit(const Device *dev, int64_t size, const void *data);

/* csr.c: do data's options ask for 16-bit columns? */
bool poiseCsrAsksIndex16(const void *data);

/* ---- auto.c: type auto, which has another type work ------------------------------------------------------------------------ */

PoiseErr poiseChoiceCreate(PoiseMat A); /* A is of type auto from now on */
void poiseChoiceDestroy(PoiseMat A);
/* The user set the type by name: A may become bcsr, at once if it is assembled. Collective; agrees. */
PoiseErr poiseChoiceName(PoiseMat A);
PoiseErr poiseChoiceRead(PoiseMat A); /* read the options of all types that may be chosen */
void poiseChoiceInherit(PoiseMat A, PoiseMat B);
/* For type auto set by name, and A assembled. A becomes bcsr if all of it came entry by entry, and blocks of
   its block size take less time. Collective; agrees. */
PoiseErr poiseChoiceBlocks(PoiseMat A);
bool poiseChoiceIsNamed(PoiseMat A); /* type auto, and the user said so */
void poiseChoiceForget(PoiseMat A);  /* type auto will choose anew */
PoiseErr poiseChoiceView(PoiseMat A);
/* Choose the type, if A is assembled, of type auto, and its pattern or options have changed since the last
   choice. Otherwise nothing. Collective; agrees. */
PoiseErr poiseMatChoose(PoiseMat A);

/* ---- files: PoiseMatLoad and PoiseMatSave of a format (mm_mat.c, petsc_mat.c) --------------------------------------------- */

/* The block size of a matrix from a file: that of -mat_block_size if it divides M and N, else 1. *unit:
   ranks get multiples of so many rows. This is b; or if the size is to be determined, a multiple of the
   sizes to be tried. Local. */
PoiseErr poiseMatLoadBlockSize(PoiseContext ctx, PoiseInt M, PoiseInt N, int64_t *b, int64_t *unit);
PoiseInt poiseMatLoadShare(PoiseContext ctx, int64_t unit,
                           PoiseInt N);         /* this rank's part of N rows or columns, in whole units */
extern const PoiseOption poiseMatLoadOptions[]; /* without a prefix */
/* arith.c: store missing diagonal entries as 0. A is square. Collective; agrees. */
PoiseErr poiseMatStoreDiagonal(PoiseMat A);
PoiseErr poiseMatLoadMM(PoiseContext ctx, const char *path, PoiseMat *A);
PoiseErr poiseMatSaveMM(PoiseMat A, const char *path);
/* Load from a source of this rank; all ranks' sources have the same bytes. mine: this rank's error in
   opening it. Collective; agrees. */
PoiseErr poisePetscLoadMat(PoiseContext ctx, PoiseErr mine, const ByteSource *s, PoiseMat *A);
PoiseErr poisePetscSaveMat(PoiseMat A, const char *path);

/* ---- ghosts.c: the set of the columns of other ranks that this rank's rows refer to ----------------------------------- */

typedef struct Ghosts { /* zero-initialise it */
  PoiseContext ctx;
  PoiseInt N;
  int32_t *page; /* number, from 1, of each page of so many columns; 0: no page */
  struct GhostPage *pages;
  int64_t npage, capacity;
} Ghosts;

PoiseErr poiseGhostsCreate(PoiseContext ctx, PoiseInt N, Ghosts *g); /* columns 0 .. N - 1 */
PoiseErr poiseGhostsAdd(Ghosts *g, PoiseInt col);
/* After all were added: *col = the *n columns, ascending, which the caller frees. More than limit:
   POISE_ERR_UNSUPPORTED. */
PoiseErr poiseGhostsNumber(Ghosts *g, int64_t limit, int64_t *n, PoiseInt **col);
int32_t poiseGhostsFind(const Ghosts *g, PoiseInt col); /* the place of an added column among them */
void poiseGhostsDestroy(Ghosts *g);

/* ---- csr_build.c: from users' arrays and added entries to the local CSR --------------------------------------------- */

PoiseErr poiseCsrBuild(PoiseMat A, const PoiseCSR *in, PoiseOwn own);       /* collective; agrees */
PoiseErr poiseCsrBuildDevice(PoiseMat A, const PoiseCSR *in, PoiseOwn own); /* of arrays on the device */
void poiseCsrDestroy(PoiseContext ctx, Csr *c);
PoiseErr poiseCsrPattern(Csr *c, CsrView *view); /* device pointers of offsets and columns, */
PoiseErr poiseCsrView(Csr *c, CsrView *view);    /* and of the values too */
/* The same, and the values, to be changed there; then call poiseBufferSettle. The caller counts A->state. */
PoiseErr poiseCsrUpdate(Csr *c, CsrView *view, double **val);
/* rows of a thread block, by csr_rows of the device */
int poiseCsrRows(PoiseContext ctx, const CsrStatistics *s, bool even);
int poiseBcsrRows(PoiseContext ctx, int b, const CsrStatistics *s); /* the same in block rows: bcsr.c */
/* The most nonzeros of a tile of so many rows; 0 for POISE_BLOCK rows. */
static inline int64_t poiseCsrTileOf(const CsrStatistics *s, int rows)
{
  for (int k = 0; k < POISE_TILES; k++)
    if (rows == 256 >> k) return s->tile[k];
  return 0;
}
/* Several ranks: find which of n blocks have no ghosts, and may run before the exchange has ended. A block
   has `rows` rows, or is window[b] (window not NULL, on the host). These *ninterior come first in the
   order, int32. Local. */
PoiseErr poiseCsrOrder(PoiseMat A, int64_t n, int rows, const CsrWindow *window, Buffer *order, int64_t *ninterior);
/* Statistics of this rank's rows. Rows of `limit` entries or more (0: none) do not count in tiles. Local. */
PoiseErr poiseCsrStatistics(PoiseMat A, int64_t limit, CsrStatistics *s);
/* Rows of each of HOST_SHARES host threads in a product by rows: whole blocks; all rows if they do not
   justify threads. */
int64_t poiseCsrShareOfRows(const Csr *c);

typedef struct RowArrays { /* this rank's rows with global columns, sorted; memory of the library */
  int b;                   /* rows, columns and entries are blocks, as in Csr; 0: scalars */
  int64_t *ptr;
  PoiseInt *col;  /* in one width, the other is NULL: */
  int32_t *col32; /* 4-byte columns, unless poiseMatWideColumns */
  double *val;
} RowArrays;

static inline void poiseRowArraysPutColumn(RowArrays *r, int64_t k, PoiseInt col)
{
  if (r->col32)
    r->col32[k] = (int32_t)col;
  else
    r->col[k] = col;
}

static inline void poiseRowArraysPut(RowArrays *r, int64_t k, PoiseInt col, double val)
{
  poiseRowArraysPutColumn(r, k, col);
  r->val[k] = val;
}

/* A copy of A's CSR, except the halo, on the sides where A has it. values = false: its values are zeros.
   Local. */
PoiseErr poiseCsrCopy(PoiseMat A, bool values, Csr *copy);
/* Accept a CSR with offsets, columns, values, m, nloc, nz and wide, on either side, of rows without
   ghosts; or all that poiseCsrCopy gives. It becomes A's, or is released on failure. Collective; agrees. */
PoiseErr poiseCsrAccept(PoiseMat A, const Csr *made);
PoiseErr poiseCsrTake(PoiseMat A, RowArrays *r); /* no copy: pointers that were taken become NULL.
                                                    Collective; agrees */
bool poiseMatWideColumns(PoiseMat A);            /* a global column needs 8 bytes */
PoiseErr poiseRowArraysCreate(PoiseMat A, int64_t nz, RowArrays *r);
PoiseErr poiseRowArraysCreateBlocks(PoiseMat A, int b, int64_t nz, RowArrays *r); /* b = 0: scalars */
PoiseErr poiseRowArraysReserve(PoiseMat A, int64_t nz, int64_t numbers,
                               RowArrays *r); /* columns, and so many scalars for each */
void poiseRowArraysDestroy(PoiseContext ctx, RowArrays *r);
/* Replace A's content and pattern by the arrays, without a copy. The arrays are released in any case; on
   failure A is unchanged. mine: this rank's error so far. If the arrays are blocks, which A waits for or
   has, A becomes type bcsr. Collective; agrees. */
PoiseErr poiseMatReplace(PoiseMat A, PoiseErr mine, RowArrays *r);
/* the same with a CSR as for poiseCsrAccept */
PoiseErr poiseMatReplaceCsr(PoiseMat A, PoiseErr mine, Csr *made);
/* Replace by one of the two, and set A's type (NULL: unchanged). Nothing is set up. */
PoiseErr poiseMatReplaceAs(PoiseMat A, PoiseErr mine, RowArrays *r, Csr *made, const MatType *type);

/* ---- mm_mat.c: Matrix Market; collective, agree -------------------------------------------------------------------------- */

struct MMSource;
/* For tests: with so many bytes of text per rank and round (0: automatic), and from rank 0's source. */
PoiseErr poiseMatLoadMMBlocks(PoiseContext ctx, const char *path, int64_t block, PoiseMat *A);
PoiseErr poiseMatLoadMMSource(PoiseContext ctx, const struct MMSource *source, int64_t block, PoiseMat *A);

typedef struct HostCsr { /* host pointers to A's arrays */
  const void *ptr;
  const int32_t *col;
  double *val;
} HostCsr;

void poiseMatDropPending(PoiseMat A); /* drop entries that were added or set and not assembled */
/* PoiseMatSetValuesCSR, or BCSR with column-major blocks, with val on one side of A's device. Local. */
PoiseErr poiseMatSetValues(PoiseMat A, Side where, const double *val);
PoiseErr poiseMatCheckHolds(PoiseMat A);     /* has entries, as a shell has not */
PoiseErr poiseMatCheckStored(PoiseMat A);    /* and they are scalars */
static inline bool poiseMatHolds(PoiseMat A) /* does A have arrays of its own? */
{
  return A->type->stored || A->type->blocked;
}
/* for a usable stored matrix; val must not be written */
PoiseErr poiseMatRead(PoiseMat A, HostCsr *h);
PoiseErr poiseMatReadEntries(PoiseMat A, HostCsr *h); /* the same, and they may be blocks */
PoiseErr poiseMatPattern(PoiseMat A, HostCsr *h);     /* for an assembled matrix, without the values, which
                                                         are not moved */
PoiseErr poiseMatUpdate(PoiseMat A, HostCsr *h);      /* as poiseMatReadEntries, but val may be changed;
                                                         the caller counts A->state */
/* The place of entry (local row, global column), or -1. ptr and col are host pointers of the CSR. */
int64_t poiseCsrFind(const PoiseMat A, const void *ptr, const int32_t *col, int64_t row, PoiseInt column);
/* The same for a scalar, in blocks or not: its place in the values. */
int64_t poiseMatPlace(const PoiseMat A, const HostCsr *h, int64_t row, PoiseInt column);
static inline int64_t poiseCsrPtr(const Csr *c, const void *ptr, int64_t i)
{
  return c->wide ? ((const int64_t *)ptr)[i] : ((const int32_t *)ptr)[i];
}
static inline PoiseInt poiseCsrGlobal(const PoiseMat A, int32_t col)
{
  return col < A->csr.nloc ? A->csr.column + col : A->csr.ghost[col - A->csr.nloc];
}

typedef struct NumberWalk { /* a walk through this rank's scalars, row by row, in blocks or not */
  PoiseMat A;
  HostCsr h;
  int64_t b, i, k, end, c; /* next scalar: of local row i, in column c of entry k; end: of the row's
                              entries */
} NumberWalk;

/* Go to the first scalar of local row i, which may have none. */
static inline void poiseWalkTo(NumberWalk *w, int64_t i)
{
  w->i = i;
  w->k = poiseCsrPtr(&w->A->csr, w->h.ptr, i / w->b);
  w->end = poiseCsrPtr(&w->A->csr, w->h.ptr, i / w->b + 1);
  w->c = 0;
}

/* Global column and value of the next scalar, which must exist; w->i is then its row. */
static inline double poiseWalkOn(NumberWalk *w, PoiseInt *col)
{
  while (w->k == w->end) poiseWalkTo(w, w->i + 1);
  int64_t b = w->b, place = b == 1 ? w->k : (w->k * b + w->c) * b + w->i % b;
  *col = poiseCsrGlobal(w->A, w->h.col[w->k]) * b + w->c;
  if (++w->c == b) w->c = 0, w->k++;
  return w->h.val[place];
}
PoiseErr poiseWalkBegin(PoiseMat A, NumberWalk *w); /* A must be usable */

#endif

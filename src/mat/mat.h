/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrices as their types and the upper layers see them. */
#ifndef POISE_MAT_IMPL_H
#define POISE_MAT_IMPL_H

#include "../vec/vec.h"
#include "poise/mat.h"
#include "product_plan.h"

enum { MAX_BLOCK_SIZE = 32 };

/* One rank's rows as plain CSR. Columns are numbered [owned | ghosts]; within a row entries stay in the order of their global
   columns, so that values are never permuted and a row's sum does not depend on the number of ranks.
   Or of blocks: rows, columns and entries are then blocks, of b x b numbers each, column-major. */
typedef struct Csr {
  int b; /* 0: entries are numbers */
  int64_t m, nloc, nghost, nz;
  PoiseInt row, column, columns; /* the first of this rank's rows and columns; columns of all ranks */
  int64_t built;                 /* A->pattern when this was built */
  bool wide;                     /* ptr holds int64, else int32 */
  Buffer ptr, col, val;          /* col: int32 */
  PoiseInt *ghost;               /* global columns of the ghosts, ascending */
  Halo *halo;                    /* NULL on one rank */
  int rows;                      /* of a block, as the device chose */
  int64_t nblock, tile;          /* number of blocks, nonzeros of the largest (0: not asked for) */
  bool vary;                     /* lengths of neighbouring rows often differ */
  CsrStatistics statistics;      /* without a limit */
  Buffer order;                  /* int32: the blocks, those without ghosts first; unused on one rank */
  int64_t ninterior;
  const char *converted; /* what had to be converted, for the view; NULL: nothing */
} Csr;

static inline int64_t poiseCsrSide(const Csr *c) /* rows and columns of numbers in an entry */
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
  struct TermRow *row; /* of every local row; NULL: nothing was added */
  struct TermChunk *chunks;
  double *fresh, *spare[TERM_LEVELS]; /* the rest of the latest chunk; unused blocks by length */
  int64_t left, held;                 /* of the latest chunk, and of all; in doubles */
  bool wide;                          /* columns are PoiseInt, else int32_t */
} TermRows;

/* Column k of an array of either width. */
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

/* The first place in [k, n) of a row, whose columns ascend, with a column that is not below col. It is found soonest near k: those
   of a block of an element come in runs. `column` is a constant where this is inlined. */
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

typedef struct
    Piece { /* of a block's columns: ascending, equal ones in their order, and their places in the block's rows */
  int n;
  PoiseInt col[PIECE];
  PoiseInt place[PIECE];
} Piece;

/* Entries (i, p->col[j]) = v[p->place[j]] of local row i; those of equal columns are added, or the latest stays (mode:
   SETTING). */
PoiseErr poiseRowsAdd(PoiseMat A, int mode, int64_t i, const Piece *p, const double *v);
PoiseErr poiseRowsSort(PoiseMat A, int mode);
void poiseRowsFetch(PoiseMat A, int64_t i);          /* row i will be needed soon; something was added before */
AddedRow poiseRowsGet(const TermRows *r, int64_t i); /* when sorted: columns ascend */
void poiseRowsDestroy(PoiseContext ctx, TermRows *r);
/* By columns, equal ones in their order. */
PoiseErr poiseTermsSort(PoiseContext ctx, Term *term, int64_t n);

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
PoiseErr poiseMatSetLibrary(PoiseMat A, int library); /* csr.c. Collective; agrees */
int64_t poiseMatPartials(PoiseMat A);                 /* partial sums that a Fuse of its product leaves */
/* The entries of x (device pointer, of the columns' layout) at A's ghost columns, valid until the next exchange. Collective; mine:
   this rank's error so far; the caller agrees. */
PoiseErr poiseMatGhosts(PoiseMat A, PoiseErr mine, const double *x, const double **ghost);
double poiseMatTraffic(PoiseMat A); /* compulsory traffic of one product on this rank */
PoiseErr poisePlanView(PoiseMat A, const ProductPlan *plan); /* a line, of rank 0's */
PoiseErr poiseMatCheckUsable(PoiseMat A);
PoiseErr poiseMatFindNan(PoiseMat A,
                         int64_t *row); /* the first local row with an entry that is not finite, or their number. Local */

/* ---- columns.c: numbers at the columns that this rank's rows refer to, [owned | ghosts], on the host; of blocks at each of their
   columns ------------------------------------------------------------------------------------------------------------------ */

PoiseErr poiseColumnsCreate(PoiseMat A, double **column);
/* From the owned ones to the ghosts of all ranks; or add the ghosts to their owners. Collective; mine: this rank's error so far
   (column is then not touched); the caller agrees. */
PoiseErr poiseColumnsSpread(PoiseMat A, PoiseErr mine, double *column);
PoiseErr poiseColumnsCollect(PoiseMat A, PoiseErr mine, double *column);

/* ---- arrange.c: matrices in another layout and numbering ---------------------------------------------------------------- */

typedef struct MatShape {                   /* over all ranks */
  double nonzeros, most, ghosts, bandwidth; /* most: of a rank; bandwidth: the largest of the blocks of owned columns */
} MatShape;

bool poiseMatArranges(PoiseMat A);                                         /* not as it is */
const char *poiseMatArrangementWords(PoiseMat A, char *text, size_t size); /* the options that say so (mat.c) */
PoiseErr poiseMatCheckArrange(PoiseMat A, PoiseMat asked);                 /* can A be arranged as that matrix asks? */
/* p stays empty when A is so already. Collective; agrees. */
PoiseErr poisePermutationCreate(PoiseMat A, Permutation *p);
void poisePermutationDestroy(Permutation *p);
/* B = A rearranged, then what has changed since in A's values, or in its type and null space. Collective; agrees. */
PoiseErr poiseMatMoved(PoiseMat A, const Permutation *p, PoiseMat *B);
PoiseErr poiseMatMoveValues(PoiseMat A, PoiseMat B);
PoiseErr poiseMatMoveRest(PoiseMat A, const Permutation *p, PoiseMat B);
/* y = P x for one of the two. Collective; agrees. */
PoiseErr poiseVecMove(PoiseMat P, PoiseVec x, PoiseVec y);

/* Of a solver's matrix, a copy or not: what the application has for it. */
Layout *poiseMatRowsOutside(PoiseMat A);                  /* the layout of its vectors */
PoiseErr poiseMatOutside(PoiseMat A, PoiseMat *original); /* its matrix */
/* Has it rows for A's? what: that crosses, for the message. */
PoiseErr poiseMatCheckOutside(PoiseMat A, const char *what);
bool poiseMatSameRows(PoiseMat A, PoiseMat P); /* both as the application has them, or both moved alike? */

PoiseErr poiseMatShape(PoiseMat A, MatShape *shape); /* collective; agrees */
/* The number that local row i has in the application, for messages. */
long long poiseMatRowName(PoiseMat A, int64_t i);

/* ---- bytes.c: what a matrix will hold -------------------------------------------------------------------------------------- */

PoiseErr poiseMatPredict(PoiseMat A, const PoiseMatCounts *counts, MatPlan *plan, PoisePrediction *p); /* p += it */
void poisePredictOpen(const MatPlan *plan, PoisePrediction *p); /* of what depends on A: what is not sure if it is open */
PoiseErr poiseChoicePredict(PoiseMat A, MatPlan *plan,
                            PoisePrediction *p); /* as a type's, whichever auto chooses: auto.c */
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
void poiseTripletsBytes(const struct Triplets *t, PoiseBytes *sum);      /* sum += what it holds; NULL: nothing */

/* ---- coo.c: which values an entry is the sum of, on a device ------------------------------------------------------------ */

typedef struct TripletMap {
  int numbers;                  /* of an entry and of a value: b x b where these are blocks, else 1 */
  int64_t n, ngiven, nreceived; /* entries, values given, values from other ranks, which have the places behind */
  bool wide;                    /* start and from are int64, else uint32 */
  Buffer start, from;           /* entry e is the sum of the values at places from[start[e] .. start[e + 1]) */
  Buffer given, received;       /* the device's copies of values that come from the host; made on first need */
  Buffer send, packed; /* int32: places of values for other ranks, and these, where values are given on the device */
} TripletMap;

/* entry[k]: where value k of n, given and then received, goes, or -1. Local. */
PoiseErr poiseTripletMapCreate(PoiseContext ctx, int64_t n, const int64_t *entry, TripletMap *t);
/* A's pattern from triplets on one rank (coo_pattern.c), given on that side: sorted on the device, where pattern and map then are. */
PoiseErr poiseTripletMapPattern(PoiseMat A, Side where, const PoiseInt *rows, const PoiseInt *cols, TripletMap *t);
/* Do places of n values need 8 bytes? */
static inline bool poisePlacesAreWide(PoiseContext ctx, int64_t n)
{
  return n > 2 * poiseContextHome(ctx)->most_narrow + 1;
}
void poiseTripletMapDestroy(TripletMap *t);
/* packed (host) = v[place] for n places of numbers. */
PoiseErr poiseTripletMapPack(PoiseContext ctx, TripletMap *t, const double *v, int64_t n, const int64_t *place,
                             double *packed);
/* val = or += the sums. v: given, on that side; received: on the host. They may change afterwards. */
PoiseErr poiseTripletMapSum(PoiseMat A, TripletMap *t, Side where, const double *v, const double *received, bool add);
/* PoiseMatSetValuesCOO, AddValuesCOO with v on one side of A's device. Collective; agrees. */
PoiseErr poiseMatTakeCOO(PoiseMat A, Side where, const double *v, bool add);

/* Add to number k, of either width; what it was. */
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
  int64_t n, m;       /* how many; of rows 0 .. m - 1, or m: those count for nothing */
  int bits;           /* of a column */
  bool wide;          /* places are int64, else int32 */
  Buffer key[2], place[2], scratch, count;
} Keys;

int poiseBitsOf(int64_t n); /* that numbers up to n have; n < 0: 0 */
/* Device memory for n keys and places, to be written. */
PoiseErr poiseKeysCreate(Device *dev, Keys *k, uint64_t **key, int64_t **place64, uint32_t **place32);
PoiseErr poiseKeysSort(Device *dev, Keys *k, int first, int bits); /* as in SortKeysArgs */
/* The entries, which are different keys. *nz is waited for, and fetched; NULL: it is not asked for. */
PoiseErr poiseKeysCount(Device *dev, Keys *k, int64_t *nz);
/* As in CooRowsArgs, in buffers that are made. start may be NULL. */
PoiseErr poiseKeysRows(Device *dev, Keys *k, int64_t nz, bool wide, Buffer *ptr, Buffer *col, Buffer *start);
Buffer poiseKeysTakePlaces(Keys *k); /* sorted */
void poiseKeysDestroy(Keys *k);

/* ---- transpose.c: a rank's entries by column ------------------------------------------------------------------------------ */

typedef struct Transposed { /* column j of [owned | ghosts] has the rows, ascending, row[ptr[j] .. ptr[j + 1]) */
  bool wide;                /* ptr and from are int64, else int32 */
  Buffer ptr, row, from;    /* row: int32; from: which entry of A it is */
} Transposed;

/* Made on A's device; t is empty, and the caller's to destroy, after a failure too. Local. */
PoiseErr poiseTransposedCreate(PoiseMat A, Transposed *t);
void poiseTransposedDestroy(Transposed *t);

/* ---- csr.c: what types with entries share; their data begins with it ------------------------------------------------------ */
/* Rows in windows and longer rows in pieces (windows.h). Who cuts otherwise sets n and limit before, and parts and ninterior where blocks
   of rows stand for windows. */
typedef struct Windows {
  int64_t n, npiece, limit; /* windows; pieces; entries from which a row is cut */
  int64_t parts, ninterior; /* windows, or blocks, of a product; those without ghosts */
  Buffer window, first, part, sum, arrived, order;
} Windows;

typedef struct CsrData {
  int64_t pattern;      /* of the matrix that by_column was made for; 0: it was not */
  Transposed by_column; /* made for the first transpose product */
  Windows columns;      /* of it; none (n = 0) where nothing is to be balanced */
  LibraryPlan plan;     /* of a library */
  int64_t planned;      /* the pattern it was made for; 0: there is none */
  Buffer whole;         /* x for a library on several ranks: [owned | ghosts] */
} CsrData;

/* ---- index16.c: columns of 16 bits beside the CSR --------------------------------------------------------------------------- */

typedef struct Index16 {
  bool on;
  int64_t built; /* c->built of what was decided; 0: nothing was */
  int64_t tried; /* of what was to be */
  int64_t fits;  /* nonzeros of blocks whose columns fit */
  Buffer code, window;
} Index16;

/* For the blocks of A->csr, or what is there released; kept where at least half of the nonzeros are in blocks that fit. Local. */
PoiseErr poiseIndex16SetUp(PoiseMat A, bool on, Index16 *d);
PoiseErr poiseIndex16View(PoiseMat A, Index16 *d, Index16View *v); /* device pointers, or NULL where none are kept */
PoiseErr poiseIndex16Print(PoiseMat A, const Index16 *d);          /* of one that is on. Collective */
void poiseIndex16Bytes(const Index16 *d, PoiseBytes *sum);
void poiseIndex16Predict(const Device *dev, const MatPlan *plan, PoisePrediction *p); /* of one that is on */
void poiseIndex16Destroy(Index16 *d);

/* ---- csr.c: products ---------------------------------------------------------------------------------------------------------- */

typedef enum { WHOLE, INTERIOR, REST } ProductPart;
typedef PoiseErr PartOfProduct(PoiseMat A, PoiseVec x, PoiseVec y, CsrMultArgs *m, ProductPart part);
/* The product by one call for all of it, or on several ranks by two, so that what needs no ghosts runs while they travel. Unless it is
   the REST, the call fills in the arguments, of which m is the beginning. */
PoiseErr poiseCsrProduct(PoiseMat A, PoiseVec x, PoiseVec y, CsrMultArgs *m, PartOfProduct *call);
PoiseErr poiseCsrBlocks(PoiseMat A, ProductPart part, CsrMultArgs *m);          /* the blocks of A->csr in that part */
PoiseErr poiseCsrArguments(PoiseMat A, PoiseVec x, PoiseVec y, CsrMultArgs *m); /* matrix and vectors */
PoiseErr poiseCsrMultTranspose(PoiseMat A, PoiseVec x, PoiseVec y);
PoiseErr poiseCsrDiagonal(PoiseMat A, int b, double *d);
void poiseCsrDataBytes(PoiseMat A, PoiseBytes *sum);
void poiseCsrDataPredict(PoiseMat A, const MatPlan *plan, PoisePrediction *p);
void poiseCsrDataDestroy(PoiseMat A);

/* bcsr_build.c: A's entries become blocks of its block size, and its type bcsr, at once or, if it is not assembled yet, then; or numbers,
   and csr. Collective; agree. */
PoiseErr poiseMatToBlocks(PoiseMat A);
PoiseErr poiseMatAgreeBlockSize(PoiseContext ctx, PoiseErr mine, int b); /* that it is the same everywhere (mat.c) */
PoiseErr poiseMatFromBlocks(PoiseMat A);
PoiseErr poiseMatKeepWaiting(PoiseMat A); /* A->waiting is there, with A's options if it is of blocks now. Local (mat.c) */
/* B = A, its entries as those of `like`: numbers, or blocks of that size. Collective; agrees. */
PoiseErr poiseMatDuplicateLike(PoiseMat A, PoiseMat like, PoiseMat *B);
/* ptr[i + 1] = the blocks of b x b in A's rows before (i + 1) b, of entries that are numbers; ptr[0] is 0. Local. */
PoiseErr poiseMatCountBlocks(PoiseMat A, int b, int64_t *ptr);

/* block_size.c: A's block size becomes that of the fewest bytes. Collective; agrees. */
PoiseErr poiseMatTakeBlockSize(PoiseMat A);
/* Bytes that blocks of A's block size, which divides every rank's rows and columns, would take, over those of CSR. Collective; agrees. */
PoiseErr poiseMatBlockShare(PoiseMat A, double *share);
PoiseErr poiseMatViewFills(PoiseMat A); /* what it was taken from */

/* csr.c, csri.c, seg.c: what data's options ask for; *r was zeroed. A type adds its own to what is there. */
void poiseCsrRequest(const void *data, ProductRequest *r);
void poiseCsriRequest(const void *data, ProductRequest *r);
void poiseSegRequest(const void *data, ProductRequest *r);

/* ---- auto.c: type auto, which has another type work ------------------------------------------------------------------------ */

PoiseErr poiseChoiceCreate(PoiseMat A); /* A is of type auto from now on */
void poiseChoiceDestroy(PoiseMat A);
/* The user said so: A may become bcsr, at once if it is assembled. Collective; agrees. */
PoiseErr poiseChoiceName(PoiseMat A);
PoiseErr poiseChoiceRead(PoiseMat A); /* the options, of all types that may be chosen */
void poiseChoiceInherit(PoiseMat A, PoiseMat B);
/* Type auto, by name, and assembled: A becomes bcsr if all of it came entry by entry, and blocks of its block size take less time.
   Collective; agrees. */
PoiseErr poiseChoiceBlocks(PoiseMat A);
bool poiseChoiceIsNamed(PoiseMat A); /* type auto, and the user said so */
void poiseChoiceForget(PoiseMat A);  /* type auto will choose anew */
PoiseErr poiseChoiceView(PoiseMat A);
/* Which type works, where A is assembled, of type auto, and its pattern or the options are not those it was chosen for; else nothing.
   Collective; agrees. */
PoiseErr poiseMatChoose(PoiseMat A);

/* ---- files: PoiseMatLoad and PoiseMatSave of a format (mm_mat.c, petsc_mat.c) --------------------------------------------- */

/* The block size of a matrix from a file: that of -mat_block_size if it divides M and N, else 1. *unit: so many rows, or a multiple, go to
   a rank: b, or where it is to be found, what the sizes that are tried divide. Local. */
PoiseErr poiseMatLoadBlockSize(PoiseContext ctx, PoiseInt M, PoiseInt N, int64_t *b, int64_t *unit);
PoiseInt poiseMatLoadShare(PoiseContext ctx, int64_t unit,
                           PoiseInt N);         /* this rank's of N rows or columns, in whole units */
extern const PoiseOption poiseMatLoadOptions[]; /* without a prefix */
/* arith.c: missing diagonal entries, as 0. A is square. Collective; agrees. */
PoiseErr poiseMatStoreDiagonal(PoiseMat A);
PoiseErr poiseMatLoadMM(PoiseContext ctx, const char *path, PoiseMat *A);
PoiseErr poiseMatSaveMM(PoiseMat A, const char *path);
/* source: this rank's, of the same bytes on all ranks; mine: this rank's error in opening it. Collective; agrees. */
PoiseErr poisePetscLoadMat(PoiseContext ctx, PoiseErr mine, const ByteSource *s, PoiseMat *A);
PoiseErr poisePetscSaveMat(PoiseMat A, const char *path);

/* ---- ghosts.c: the set of the columns of other ranks that this rank's rows refer to ----------------------------------- */

typedef struct Ghosts { /* zero-initialise it */
  PoiseContext ctx;
  PoiseInt N;
  int32_t *page; /* of so many columns each: its number, from 1; 0: none */
  struct GhostPage *pages;
  int64_t npage, capacity;
} Ghosts;

PoiseErr poiseGhostsCreate(PoiseContext ctx, PoiseInt N, Ghosts *g); /* columns 0 .. N - 1 */
PoiseErr poiseGhostsAdd(Ghosts *g, PoiseInt col);
/* All were added: *col = the *n columns, ascending, which the caller frees. More than limit: POISE_ERR_UNSUPPORTED. */
PoiseErr poiseGhostsNumber(Ghosts *g, int64_t limit, int64_t *n, PoiseInt **col);
int32_t poiseGhostsFind(const Ghosts *g, PoiseInt col); /* the place among them of one that was added */
void poiseGhostsDestroy(Ghosts *g);

/* ---- csr_build.c: from users' arrays and added entries to the local CSR --------------------------------------------- */

PoiseErr poiseCsrBuild(PoiseMat A, const PoiseCSR *in, PoiseOwn own);       /* collective; agrees */
PoiseErr poiseCsrBuildDevice(PoiseMat A, const PoiseCSR *in, PoiseOwn own); /* of arrays on the device */
void poiseCsrDestroy(PoiseContext ctx, Csr *c);
PoiseErr poiseCsrPattern(Csr *c, CsrView *view); /* device pointers of offsets and columns, */
PoiseErr poiseCsrView(Csr *c, CsrView *view);    /* and of the values too */
/* The same, and the values to be changed there; then poiseBufferSettle. The caller counts A->state. */
PoiseErr poiseCsrUpdate(Csr *c, CsrView *view, double **val);
/* Several ranks: which of n blocks, of so many rows or (not NULL, on the host) window[b], have no ghosts, and may go ahead of the exchange: these *ninterior first, int32. Local. */
PoiseErr poiseCsrOrder(PoiseMat A, int64_t n, int rows, const CsrWindow *window, Buffer *order, int64_t *ninterior);
/* Of this rank's rows; those of `limit` entries or more (0: none) do not count in tiles. Local. */
PoiseErr poiseCsrStatistics(PoiseMat A, int64_t limit, CsrStatistics *s);
/* The same with the limit of a request, or where no row is as long those that are known. Local. */
PoiseErr poiseCsrCutStatistics(PoiseMat A, const ProductRequest *request, CsrStatistics *s);

typedef struct RowArrays { /* this rank's rows with global columns, sorted; allocated by the library */
  int b;                   /* rows, columns and entries are blocks, as in Csr; 0: numbers */
  int64_t *ptr;
  PoiseInt *col;  /* in one width, the other is NULL: */
  int32_t *col32; /* of 4 bytes unless poiseMatWideColumns */
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

/* A copy of A's, all but the halo, on the sides where A has it; with values = false these are zeros. Local. */
PoiseErr poiseCsrCopy(PoiseMat A, bool values, Csr *copy);
/* Offsets, columns, values, m, nloc, nz and wide are given, on either side, of rows without ghosts; or all that poiseCsrCopy gives.
   They are A's, or on failure released. Collective; agrees. */
PoiseErr poiseCsrAccept(PoiseMat A, const Csr *made);
PoiseErr poiseCsrTake(PoiseMat A, RowArrays *r); /* without a copy: pointers that were taken are NULL. Collective; agrees */
bool poiseMatWideColumns(PoiseMat A);            /* a global column needs 8 bytes */
PoiseErr poiseRowArraysCreate(PoiseMat A, int64_t nz, RowArrays *r);
PoiseErr poiseRowArraysCreateBlocks(PoiseMat A, int b, int64_t nz, RowArrays *r); /* b = 0: of numbers */
PoiseErr poiseRowArraysReserve(PoiseMat A, int64_t nz, int64_t numbers,
                               RowArrays *r); /* columns, and as many numbers for each */
void poiseRowArraysDestroy(PoiseContext ctx, RowArrays *r);
/* The arrays become A's content and pattern without a copy; they are released whatever happens, and A stays as it was on
   failure. mine: this rank's error so far. Where they are of blocks, which A waits for or has, its type is bcsr from then on.
   Collective; agrees. */
PoiseErr poiseMatReplace(PoiseMat A, PoiseErr mine, RowArrays *r);
PoiseErr poiseMatReplaceCsr(PoiseMat A, PoiseErr mine, Csr *made); /* the same with what poiseCsrAccept takes */
/* One of the two, and A is of that type from then on (NULL: as it was); nothing is set up. */
PoiseErr poiseMatReplaceAs(PoiseMat A, PoiseErr mine, RowArrays *r, Csr *made, const MatType *type);

/* ---- mm_mat.c: Matrix Market; collective, agree -------------------------------------------------------------------------- */

struct MMSource;
/* For tests: with as many bytes of text per rank and round (0: as suits), and from rank 0's source. */
PoiseErr poiseMatLoadMMBlocks(PoiseContext ctx, const char *path, int64_t block, PoiseMat *A);
PoiseErr poiseMatLoadMMSource(PoiseContext ctx, const struct MMSource *source, int64_t block, PoiseMat *A);

typedef struct HostCsr { /* host pointers to A's arrays */
  const void *ptr;
  const int32_t *col;
  double *val;
} HostCsr;

void poiseMatDropPending(PoiseMat A); /* what was added or set and not assembled */
/* PoiseMatSetValuesCSR, or BCSR of blocks that are column-major, with val on one side of A's device. Local. */
PoiseErr poiseMatSetValues(PoiseMat A, Side where, const double *val);
PoiseErr poiseMatCheckHolds(PoiseMat A);     /* has entries, as a shell has not */
PoiseErr poiseMatCheckStored(PoiseMat A);    /* and they are numbers */
static inline bool poiseMatHolds(PoiseMat A) /* arrays of its own, of whatever entries */
{
  return A->type->stored || A->type->blocked;
}
PoiseErr poiseMatRead(PoiseMat A, HostCsr *h);        /* of a usable stored matrix; val must not be written */
PoiseErr poiseMatReadEntries(PoiseMat A, HostCsr *h); /* the same, and they may be blocks */
PoiseErr poiseMatPattern(PoiseMat A, HostCsr *h); /* of an assembled one, without the values, which stay where they are */
PoiseErr poiseMatUpdate(PoiseMat A,
                        HostCsr *h); /* as poiseMatReadEntries; val may be changed; the caller counts A->state */
/* Where entry (local row, global column) is stored, or -1. Host pointers of the CSR. */
int64_t poiseCsrFind(const PoiseMat A, const void *ptr, const int32_t *col, int64_t row, PoiseInt column);
/* The same of a number, in blocks or not: where in the values it is. */
int64_t poiseMatPlace(const PoiseMat A, const HostCsr *h, int64_t row, PoiseInt column);
static inline int64_t poiseCsrPtr(const Csr *c, const void *ptr, int64_t i)
{
  return c->wide ? ((const int64_t *)ptr)[i] : ((const int32_t *)ptr)[i];
}
static inline PoiseInt poiseCsrGlobal(const PoiseMat A, int32_t col)
{
  return col < A->csr.nloc ? A->csr.column + col : A->csr.ghost[col - A->csr.nloc];
}

typedef struct NumberWalk { /* through this rank's numbers, row by row, in blocks or not */
  PoiseMat A;
  HostCsr h;
  int64_t b, i, k, end, c; /* next: of local row i, in column c of entry k; end: of the row's entries */
} NumberWalk;

/* To the first number of local row i, which need not be. */
static inline void poiseWalkTo(NumberWalk *w, int64_t i)
{
  w->i = i;
  w->k = poiseCsrPtr(&w->A->csr, w->h.ptr, i / w->b);
  w->end = poiseCsrPtr(&w->A->csr, w->h.ptr, i / w->b + 1);
  w->c = 0;
}

/* Global column and value of the next number, of which there is one; w->i is then its row. */
static inline double poiseWalkOn(NumberWalk *w, PoiseInt *col)
{
  while (w->k == w->end) poiseWalkTo(w, w->i + 1);
  int64_t b = w->b, place = b == 1 ? w->k : (w->k * b + w->c) * b + w->i % b;
  *col = poiseCsrGlobal(w->A, w->h.col[w->k]) * b + w->c;
  if (++w->c == b) w->c = 0, w->k++;
  return w->h.val[place];
}
PoiseErr poiseWalkBegin(PoiseMat A, NumberWalk *w); /* A is to be usable */

#endif

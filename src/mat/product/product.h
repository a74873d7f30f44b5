/* SPDX-License-Identifier: BSD-3-Clause */
/*
  How a matrix is multiplied. A Product has all that one way of multiplying needs beside the matrix, which
  stays as it is: the plan, its form, and arrays derived of rows and columns. A matrix may have several.
  Nothing of it is seen by those who multiply (product.c), and what is made of the matrix does not depend on
  it.
*/
#ifndef POISE_PRODUCT_H
#define POISE_PRODUCT_H

#include "mat/csr/transpose.h"
#include "mat/object/version.h"
#include "product_plan.h"
#include "vec/vec.h"

typedef struct MatPlan {        /* the sizes of a matrix that need have no entries yet */
  const PoiseMatCounts *counts; /* NULL: the matrix as it is */
  bool transpose;
  int64_t m, nloc, columns, nghost, nz, nsend; /* as in Csr; nsend: scalars to send */
  int b;                                       /* as in Csr */
  bool wide;
  int64_t nblock[2];   /* least and most of MatBlocks */
  int64_t partials[2]; /* least and most results of poiseMatPartials */
  bool open;           /* type auto may convert it to blocks, about which nothing is known here */
} MatPlan;

/* ---- what a matrix has for all its products -------------------------------------------------- */

/* Of blocks of rows those that are multiplied before the ghosts have come: the first n of an order. */
typedef struct Interior {
  int64_t n;
  int64_t first; /* they are consecutive, from this one on; -1: they are not */
} Interior;

typedef struct Index16 { /* columns in 16 bits, of MatBlocks */
  bool kept;             /* else the arrays are empty */
  int64_t fits;          /* nonzeros of blocks whose columns fit */
  Buffer code, base;
} Index16;

/* Blocks of equally many rows, and the statistics by which a plan chose how many (statistics.c). */
typedef struct MatBlocks {
  int64_t measured; /* the pattern that was looked at; 0: none */
  CsrStatistics statistics;
  bool ranges;     /* asked for before: a launch has some of them, whose rows have about one length */
  int rows, lanes; /* of a block; log2 of a tile's threads for a row */
  int64_t n, tile; /* number of blocks; nonzeros of the largest (0: not asked for) */
  bool vary;       /* lengths of neighbouring rows often differ */
  Interior interior;
  Buffer order;    /* int32: the blocks, the interior ones first; unused on one rank */
  Index16 index16; /* made where a product has use for it */
} MatBlocks;

/* ---- a product ------------------------------------------------------------------------------- */

/* What a launch multiplies: all rows, or on several ranks those that need no ghosts, and then the others. */
typedef enum { WHOLE, INTERIOR, REST } ProductPart;

typedef struct ProductArgs { /* y = D (a A x + b y), then the dots of y; pointers of the device */
  ScalarRef a, b;
  const void *x, *ghost; /* ghost: x at the ghost columns; NULL until the exchange has ended */
  const double *skip;    /* *skip != 0: y stays as it is; NULL: never */
  const double *scale;   /* the diagonal D; NULL: the identity */
  const void *add;       /* y = D (a A x + b y) + add, of ranges of rows; NULL: 0 */
  void *also;            /* and also = the y before + the y behind, whose dots are formed; NULL: not made */
  void *y;               /* of the type of the product's values, as are x and ghost */
  const Fuse *fuse;      /* NULL: no dots */
  int columns;           /* of x and y, if they are wide; else 0 */
} ProductArgs;

typedef struct ProductOptions { /* those of all forms; a form's file has their table */
  PoiseInt chunk, hubs;
  int index16; /* INDEX16_... */
  int combine; /* COMBINE_... */
  int segment; /* segments of 2^(segment - 1) entries; 0: as suits */
  int padded;
  int blocks;  /* BCSR_... */
  int library; /* 0: the device's own kernels, k: its csr_libraries[k - 1] */
} ProductOptions;
enum { INDEX16_NO, INDEX16_YES, INDEX16_AUTO };
enum { COMBINE_ORDERED, COMBINE_ATOMIC };

typedef struct Product Product;

typedef struct ProductForm {
  const char *name;
  bool fuses; /* launch takes any a, b, D and Fuse; otherwise product.c composes them from y = A x */
  const PoiseOption *options;   /* places in ProductOptions; NULL: none */
  PoiseErr (*make)(Product *);  /* what the plan needs, on the device; local; may be NULL */
  PoiseErr (*ready)(Product *); /* what follows values; local; may be NULL */
  PoiseErr (*launch)(Product *, ProductPart part,
                     const ProductArgs *); /* enqueue; allocates nothing; local */
  /* The same with wide vectors, where a and b are numbers. NULL: columns.c launches it column by column. */
  PoiseErr (*launch_columns)(Product *, ProductPart part, const ProductArgs *);
  PoiseErr (*view)(Product *); /* collective; may be NULL */
  /* p += bytes that one will hold. Sets the plan's partials if they are not the blocks of MatBlocks.
     Allocates nothing. Local. May be NULL. */
  PoiseErr (*predict)(PoiseMat A, const ProductOptions *o, MatPlan *plan, PoisePrediction *p);
} ProductForm;

#define PRODUCT_FORM(name) extern const ProductForm poiseForm_##name;
#include "forms.def"
#undef PRODUCT_FORM

/* Row blocks, and fragments of split rows (row_blocks.h). Forms that divide in other ways set n and limit
   first. They also set parts if tiles replace row blocks. */
typedef struct RowBlocks {
  /* number of row blocks; of fragments; rows with at least `limit` entries are split */
  int64_t n, nfragment, limit;
  int64_t parts; /* row blocks, or tiles, of a product; 0: there are none */
  Interior interior;
  Buffer row_block, first, part, sum, arrived, order;
  Buffer wide; /* sum of wide vectors; made when it is asked for */
} RowBlocks;

typedef struct Hubs { /* hubs.h */
  int bits;           /* log2 of the number of slots, each of which may have a hub; 0: no hubs */
  double entries;     /* of hubs */
  Buffer column;
} Hubs;

typedef struct Segments {  /* of seg, */
  int64_t filled, counted; /* with entries; as row blocks count them */
  int64_t nz, state;       /* and padded with zeros; state: A->version.values of them */
  bool padded, wide;
  Buffer ptr, col, val;
} Segments;

typedef struct LibraryProduct {
  LibraryPlan plan;
  bool planned;
  Buffer whole; /* x on several ranks: [owned | ghosts] */
} LibraryProduct;

struct Product {
  PoiseMat A; /* lent */
  ProductOptions options;
  const ProductForm *fixed; /* the form, where no plan chooses it; else NULL */
  unsigned depends;         /* of the CHANGED_..., those that make it void */
  bool silent;              /* the caller logs it */
  bool single;              /* values and vectors in fp32 */
  Buffer val;               /* then; in fp64 they are A's */
  Version made;             /* A's, when all that follows was made; zero: it is not there */
  const ProductForm *form;
  ProductPlan plan;
  CsrStatistics cut; /* of rows as the plan cuts them */
  RowBlocks w;
  Hubs hubs;
  Segments segments;
  LibraryProduct library;
  Transposed index; /* of A^T: entries by column */
  PoiseVec work;    /* of y's layout, for composing */
  /* the same with wide vectors: a column of x and of y, and of ghosts; A x */
  PoiseVec column[2], wide;
  Buffer ghost_column;
  int room;      /* of A x: the most columns so far, */
  int64_t moved; /* and how often that has grown: a captured loop with wide vectors is void then */
};

/* ---- its life (make.c) ----------------------------------------------------------------------- */

PoiseErr poiseMatProductsInit(PoiseMat A); /* not made yet, with the defaults of all options */
/* A product of A in fp32, whose values p->val shall have; *p was zeroed. */
void poiseProductInitSingle(PoiseMat A, Product *p);
/* Choose the form and make what it needs, unless that is there. Local. */
PoiseErr poiseProductSetUp(Product *p);
/* The same, and what may change with every product. Local. */
PoiseErr poiseProductReady(Product *p);
/* Of one that is ready. fuses: its form takes factors, skip, scale and dots. */
bool poiseProductFuses(const Product *p);
int64_t poiseProductPartials(const Product *p);
double poiseProductTraffic(const Product *p); /* compulsory bytes */
void poiseProductRelease(Product *p);         /* what was made; it is made again when it is needed */
void poiseProductDestroy(Product *p);
void poiseMatProductsDestroy(PoiseMat A);

/* Why there are no products of A in fp32; *why = NULL: there are. Of this rank's rows. Local. */
PoiseErr poiseMatLacksSingle(PoiseMat A, const char **why);
/* y = scale x, n numbers, in fp32; y is made unless it is there. Local (single.c) */
PoiseErr poiseMakeSingle(PoiseContext ctx, Buffer *x, int64_t n, double scale, const char *what, Buffer *y);
/* The largest |value| of an array of n numbers in fp64, NaN if one is. Collective; agrees (single.c). */
PoiseErr poiseLargest(PoiseContext ctx, Buffer *x, int64_t n, double *largest);

/* ---- which form, and what is asked for (choose.c) -------------------------------------------- */

PoiseErr poiseProductRegister(PoiseContext ctx); /* the options of all forms */
/* Read the options of all forms that A may have; alike on all ranks. */
PoiseErr poiseProductReadOptions(PoiseMat A);
void poiseProductAsk(PoiseMat A, const ProductOptions *o); /* use these */
PoiseErr poiseMatSetLibrary(PoiseMat A, int library);      /* and this of them */
/* What these ask of a plan of that type; columns: local ones with ghosts, or 0. */
ProductRequest poiseProductRequest(const ProductOptions *o, ProductType type, int64_t columns);
PoiseErr poiseProductChoose(Product *p, const ProductForm **form); /* by a plan, p->plan. Local */
PoiseErr poiseProductView(PoiseMat A);                             /* of A x. Collective */
void poiseProductAddBytes(const Product *p, PoiseBytes *sum);
/* p += bytes that A's product will hold, whichever form it has. Sets the plan's partials. Local. */
PoiseErr poiseProductPredict(PoiseMat A, MatPlan *plan, PoisePrediction *p);

/* ---- products with vectors (product.c) -------------------------------------------------------- */

typedef struct Operands { /* vectors of a context, or arrays of a cycle in fp32 */
  PoiseVec x, y;
  Buffer *x_f32, *y_f32;
} Operands;

/* What *a says, of which this sets x, ghost and y. On several ranks the rows that need no ghosts are
   multiplied while these travel. If *skip != 0, nothing need be done. mine: this rank's error so far; the
   exchanges take place whatever fails, as the neighbours wait for them. Logged. Collective; the caller
   agrees. */
PoiseErr poiseProductMult(Product *p, PoiseErr mine, const Operands *v, ProductArgs *a);
/* y = D (a A x + b y), D = diag(scale), then the dots of y. scale (NULL: D = 1) is on the device; fuse may be
   NULL, and skip. */
PoiseErr poiseMatMultFuse(PoiseMat A, ScalarRef a, PoiseVec x, ScalarRef b, PoiseVec y, const double *skip,
                          const double *scale, const Fuse *fuse);
/* y = a A x + b y of rows, or rows of blocks, [begin, end) of a product of form csr, or of even groups of
   bcsr. They are whole blocks or groups of it. x may be y where A has no entry (i, j) with i and j among
   them. Local; not logged. */
PoiseErr poiseProductMultRows(Product *p, int64_t begin, int64_t end, ProductArgs *a);
/* Bring all that products of k columns need to the device, so that they allocate nothing. Called before them,
   and again after products of another number of columns. Collective; agrees (columns.c). */
PoiseErr poiseMatReadyColumns(PoiseMat A, int k);
PoiseErr poiseTransposedReadyColumns(PoiseMat A, int k); /* of A^T */
/* p += what the product of several columns holds, if there is one: it is made when it is asked for. */
void poiseSeveralPredict(PoiseMat A, PoisePrediction *p);
/* poiseProductMult for wide vectors. */
PoiseErr poiseProductMultColumns(Product *p, PoiseErr mine, const Operands *v, ProductArgs *a);
/* A launch for a->columns, by the form, or column by column. */
PoiseErr poiseProductLaunchColumns(Product *p, ProductPart part, const ProductArgs *a);
/* several.c: the launch with wide vectors of all forms that have rows. */
PoiseErr poiseSeveralLaunch(Product *p, ProductPart part, const ProductArgs *a);
/* What a product in fp32 needs for several columns. Local. */
PoiseErr poiseSeveralReadySingle(Product *p);
/* As poiseMatPartials, of each of so many columns. */
int64_t poiseMatPartialsColumns(PoiseMat A, int columns);
/* y = A x */
PoiseErr poiseMatMultPlain(PoiseMat A, PoiseVec x, PoiseVec y);
/* Bring all that a product needs to the device. Called before a captured loop is replayed. Collective; the
   caller agrees. */
PoiseErr poiseMatReady(PoiseMat A);
int64_t poiseMatPartials(PoiseMat A); /* partial sums that a Fuse of its product leaves */
/* The entries of x at A's ghost columns, valid until the next exchange. x is a device pointer, of the
   columns' layout. mine: this rank's error so far. Collective; the caller agrees. */
PoiseErr poiseMatGhosts(PoiseMat A, PoiseErr mine, const double *x, const double **ghost);
/* By which products of A exchange; NULL: by none, or by that of a type without parts. */
Halo *poiseMatHalo(PoiseMat A);
double poiseMatTraffic(PoiseMat A); /* compulsory traffic of one product on this rank */
/* The same product in fp32, by p, whose values these are; vectors are on the device. columns > 1: rows are
   interleaved, and halos are ready for so many. */
PoiseErr poiseMatMultSingle(Product *p, int columns, double a, Buffer *x, double b, Buffer *y,
                            const double *skip);

/* ---- what forms share ------------------------------------------------------------------------ */

/* statistics.c: A->blocks but for their order, which on several ranks is made and brought to the device by
   the second. Local. */
PoiseErr poiseMatMeasure(PoiseMat A);
PoiseErr poiseMatOrderBlocks(PoiseMat A);
void poiseMatBlocksDestroy(MatBlocks *b);
PoiseErr poiseCsrDiagonal(PoiseMat A, int b, double *d); /* csr.c: MatType.diagonal */

/* transposed.c: y = A^T x; x NULL: y = |A|^T 1. Collective where A is; the caller agrees. */
PoiseErr poiseTransposedMult(PoiseMat A, PoiseVec x, PoiseVec y);
PoiseErr poiseTransposedReady(PoiseMat A); /* all that it needs but vectors, on the device; local */
void poiseTransposedPredict(PoiseMat A, const MatPlan *plan, PoisePrediction *p);

#endif

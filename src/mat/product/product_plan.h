/* SPDX-License-Identifier: BSD-3-Clause */
/*
  How a product y = A x is done: a DeviceModel and statistics of the rows become a ProductPlan, in one
  function that forms, kernels and the prediction of bytes all ask. Plain C that knows no object and no
  device's code, so that it is tested without a GPU. Its constants are in product_model.def.
*/
#ifndef POISE_PRODUCT_PLAN_H
#define POISE_PRODUCT_PLAN_H

#include "sys/device/device_model.h"
#include "csr_statistics_kernels.h"
#include "product_model.h"

/* What a plan may choose among. ANY: what is predicted to be the fastest of the three that follow. */
typedef enum { PRODUCT_ANY, PRODUCT_CSR, PRODUCT_CSRI, PRODUCT_SEG, PRODUCT_BCSR } ProductType;

typedef struct ProductRequest { /* what options ask for, and what is known besides the rows' statistics */
  ProductType type;
  int b;           /* entries are blocks of b x b; 0: numbers */
  int form;        /* of bcsr: BCSR_... */
  bool exact;      /* row blocks of csri that share rows, which they add to atomically */
  bool index16;    /* columns of 16 bits were looked for, and are there for most entries */
  bool ranges;     /* of csr: a launch has some rows, of about one length; other launches have others */
  bool single;     /* seg, once it has counted: each row is one segment, read from where it is */
  int64_t columns; /* local ones, with ghosts; 0: hubs are not asked for */
  int64_t chunk;   /* of csri: rows and entries of a row block; 0: as suits the device */
  int64_t hubs;    /* of csri: how many at most; -1: as suits */
  /* of csri, once they were looked for: log2 of those that were found, 0: none; else HUBS_UNKNOWN */
  int hub_bits;
  int64_t segment; /* of seg: its entries; 0: as suits */
} ProductRequest;

enum { HUBS_UNKNOWN = -1 };

/* The product that a stored CSR's blocks of rows are made for, whatever its products are. b as above. */
ProductRequest poiseStoredRequest(int b);

typedef enum PlanForm {
  FORM_ROWS,  /* csr: rows shared out over threads, or warps */
  FORM_TILES, /* csr, csri: uniform row blocks through shared memory; rows that are split go by fragments */
  FORM_ROW_BLOCKS, /* csri: row blocks, and fragments of split rows */
  FORM_SHARED,     /* csri: row blocks that share rows, which they add to atomically */
  FORM_SEGMENTS,   /* seg */
  FORM_GROUPS,     /* bcsr: groups of rows of blocks */
  FORM_BALANCED,   /* bcsr: row blocks, and fragments of split rows */
  FORM_PAPER       /* bcsr: one of the paper's kernels, as was asked */
} PlanForm;

/* What an iteration of a solver around the product is made of. */
typedef enum SolverLoop {
  LOOP_OF_PHASES, /* cg in three kernels */
  LOOP_PREDICTS   /* cg in two, by predict and recompute (prcg.c) */
} SolverLoop;

typedef struct ProductPlan {
  ProductType type; /* never ANY */
  PlanForm form;
  /* of a row block, or of a group; POISE_BLOCK where a product has no other blocks; 0: no such kernel */
  int rows;
  int lanes;         /* threads that share a row or a segment; of a host 1 */
  int64_t tile;      /* most nonzeros of such a row block; 0: not asked for */
  int64_t uncut;     /* nonzeros of rows that are not split */
  int carveout;      /* percent of a multiprocessor's memory for tiles; -1: as many as have threads */
  int64_t row_block; /* rows and entries of a row block; segments of one of seg */
  int64_t limit;     /* entries from which rows are split */
  int64_t fragment;  /* entries of a fragment of them, at most */
  int hub_bits;      /* log2 of the hubs that are to be looked for, or were found; 0: none */
  int64_t segment;   /* entries of a segment */
  bool index16;      /* columns of 16 bits are to be looked for, if memory is free */
  double times;      /* predicted time, in units of what its bytes take; 0: not predicted */
  double seconds;    /* the same; 0 where the bandwidth is not known, or L2 holds all that is read */
} ProductPlan;

/* all: statistics of the rows without a limit, of which seg plans by sizes alone; cut: with that of
   poiseSplitLimit, or the same where no row is as long. csr and bcsr do not look at it; NULL: seg's time is
   not predicted. */
void poiseProductPlan(const DeviceModel *model, const ProductRequest *request, const CsrStatistics *all,
                      const CsrStatistics *cut, ProductPlan *plan);
/* The form of cg with a diagonal M, on one rank. traffic: bytes of a product, x and y among them. */
SolverLoop poiseSolverLoop(const DeviceModel *model, double rows, double traffic);
/* "row blocks of 628 rows and entries, ..." */
void poisePlanWords(const DeviceModel *model, const ProductPlan *plan, char *text, size_t size);
/* Entries from which csri splits rows, of so many rows and entries in all. */
int64_t poiseSplitLimit(const DeviceModel *model, const ProductRequest *request, int64_t size);
/* Do hubs that have so many entries pay? */
bool poiseHubsPay(int64_t columns, int64_t nz, int bits, double entries);

double poiseProductBytes(double rows, double nonzeros); /* of numbers, that any form moves */

typedef struct ProductBounds { /* of plans for all matrices of so many rows and nonzeros: least, most */
  int rows[2];
  int64_t row_block[2];
  int64_t limit;         /* at least */
  int hub_bits;          /* at most */
  bool groups, balanced; /* of bcsr: may these be its form? */
} ProductBounds;

void poiseProductBounds(const DeviceModel *model, const ProductRequest *request, int64_t m, int64_t nz,
                        ProductBounds *bounds);

/* ---- statistics that a plan needs ------------------------------------------------------------ */

/* Their `bound`; 0: none is needed. */
int64_t poiseRowsBound(const DeviceModel *model, int64_t m, int64_t nz);
/* Rows, or rows of blocks, that each thread of a host would have in a product by rows: whole blocks; all
   where they are not worth threads. */
int64_t poiseRowsShare(const DeviceModel *model, int b, int64_t m);
/* Is it to be found out how scattered columns are? */
bool poiseWantsXLines(const DeviceModel *model, int b, int64_t columns, int64_t nz);
/* Do lengths of neighbouring rows differ so often that a host does well to mask their ends? */
bool poiseRowsVary(const CsrStatistics *s, int64_t columns);
/* The most nonzeros of a block of so many rows; 0 for POISE_BLOCK of them. */
int64_t poiseTileOf(const CsrStatistics *s, int rows);

/* ---- transposed products --------------------------------------------------------------------- */

/* Rows and entries of a row block of m columns, and entries from which columns are cut; 0: so few are not. */
int64_t poiseColumnsChunk(const DeviceModel *model, int64_t b, int64_t m, int64_t nz);
int64_t poiseColumnsFragment(int64_t chunk, int64_t nz); /* entries of a fragment at most */

/* ---- products with wide vectors, on GPUs -------------------------------------------------------- */

/* Row blocks, and fragments of longer rows. */
void poiseColumnsPlan(int b, const CsrStatistics *s, ProductPlan *plan);

typedef struct ColumnsShape { /* of a launch with so many columns (src/cuda/csr_columns.h) */
  int lanes;                  /* of a warp that have a row */
  int splits;                 /* groups of so many lanes that share it */
  int rows;                   /* of a warp at once */
} ColumnsShape;

/* even: rows of numbers, or of blocks, have about one length. */
ColumnsShape poiseColumnsShape(const DeviceModel *model, int columns, int b, bool even, int64_t m, int64_t nz,
                               int64_t nblock);

/* ---- decisions at a launch ------------------------------------------------------------------- */

/* Log2 of the threads that share a row, or column, and read it side by side. */
int poiseRowLanes(int64_t m, int64_t nz);
int poiseTileLanes(int64_t m, int64_t nz); /* the same for rows of tiles */
/* Percent of a multiprocessor's memory for tiles of so many bytes, in blocks of so many threads; -1: as the
   driver likes. */
int poiseTileCarveout(const DeviceModel *model, int64_t x_lines, int64_t bytes, int threads);
int64_t poiseTileMost(const DeviceModel *model);     /* bytes of a tile */
int64_t poiseBlocksAtOnce(const DeviceModel *model); /* blocks of TILE_THREADS that have a place at once */
int64_t poiseWarpsAtOnce(const DeviceModel *model);  /* and warps of csri */
int poiseMostHubBits(const DeviceModel *model);
/* Where most rows have one segment, neighbouring threads have neighbouring rows with similar columns. Then x
   is best gathered while segments are summed, and entries come in bulk. Else many loads in flight count for
   more, and terms take less shared memory. */
bool poiseSegmentsInBulk(const DeviceModel *model, int64_t segments, int64_t m);

/* Nonzeros of a tile in shared memory: widened at both ends to multiples of the unit, so that arrays can be
   copied in 16 bytes. */
POISE_INLINE int64_t poiseTileRoom(int64_t tile, int unit)
{
  return (tile + 2 * unit - 2) / unit * unit;
}

/* ---- blocks: known to kernels when they are compiled ----------------------------------------- */

#ifdef __cplusplus
#define POISE_CONSTANT static constexpr __host__ __device__
#else
#define POISE_CONSTANT static inline
#endif

/* Threads for each row, or column, of a row of blocks. */
POISE_CONSTANT int poiseBcsrParts(int b)
{
  return b == 17 ? BCSR_PARTS_17 : BCSR_PARTS;
}

/* A group is a power of two of block rows. */
POISE_CONSTANT int poiseBcsrGroup(int b)
{
  int rows = 1;
  while (2 * rows * b * poiseBcsrParts(b) <= BCSR_GROUP_THREADS) rows *= 2;
  return rows;
}

POISE_CONSTANT int poiseBcsrBytes(int b) /* of a block and its column */
{
  return 8 * b * b + 4;
}

#endif

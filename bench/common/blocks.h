/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrices of dense blocks to measure with, and any matrix cut into blocks. */
#ifndef BENCH_BLOCKS_H
#define BENCH_BLOCKS_H

#include "problems.h"

/* Rows of blocks of 27 full b x b blocks, the neighbours of a node in a cube (behind the edges are those of
   the next line), and of as many bytes of CSR as are asked for, whatever b is: symmetric, dominant. */
PoiseErr CreateBlocks(PoiseContext ctx, int b, double bytes, Rows *r);

/* How many blocks a row of blocks has. */
enum {
  CUBE,   /* as CreateBlocks */
  EQUAL,  /* all the same, to one */
  UNEVEN, /* half of the mean to one and a half of it */
  POWER   /* u^(-1 / 1.4) times the least, a few very long */
};

/* Full blocks, spread over a window around the diagonal. */
typedef struct BlockMatrix {
  const char *name; /* NULL: behind the last */
  int b, lengths;
  double nodes, blocks; /* rows of blocks, and blocks in all */
} BlockMatrix;

/* skewed and even: of one size, to be compared; then Table IV of Eberhardt & Hoemmen 2016 (RM07R has 54.5
   thousand rows of blocks, a tenth of what is printed there: so say its 28 blocks per row). */
extern const BlockMatrix block_matrices[];
/* bytes > 0: made smaller if it has more bytes of CSR. */
PoiseErr CreateBlockMatrix(PoiseContext ctx, const BlockMatrix *m, double bytes, Rows *r);

typedef struct Blocks { /* this rank's rows of blocks: global columns, ascending; blocks column-major */
  int64_t n, N;
  int b;
  int32_t *ptr, *col;
  double *val;
} Blocks;

/* Blocks of r->block, with zeros for the numbers that are missing. */
PoiseErr CutRows(const Rows *r, Blocks *k);
void DestroyBlocks(Blocks *k);
/* Empty rows and columns behind the last, so that blocks of b fit. One rank. */
PoiseErr PadRows(Rows *r, int b);
/* Of the arrays. */
double BlockBytes(const Blocks *k);

#endif

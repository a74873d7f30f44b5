/* SPDX-License-Identifier: BSD-3-Clause */
/*
  What kernels of set-up share. Most do a node, or a row, without what is done for others: an item. Their text
  is <name>_item(args, i), 0 <= i < args->n, in the header of their stage. rows.c and src/cuda/amg_rows.cu run
  it, the latter without contraction, so all devices give the same bits.
*/
#ifndef POISE_AMG_MATRIX_KERNELS_H
#define POISE_AMG_MATRIX_KERNELS_H

#include "mat/csr/csr_view.h"

/* A level's matrix, on the device. A node has `node` rows, and is a whole number of blocks of A. On several
   ranks ghost nodes stand behind a rank's own nodes. */
typedef struct AmgMatrix {
  CsrView A;
  int node;
  int64_t nodes;            /* own */
  int64_t row;              /* the global number of the first row */
  int64_t below;            /* ghost nodes of lower ranks, which come before the own in a row of A */
  struct AmgGhosts *ghosts; /* of the host; NULL: this rank has all rows */
} AmgMatrix;

enum { AMG_NODE = 32 }; /* the most rows of a node */

/* Node j in the order of global numbers, where those of lower ranks are negative. */
POISE_INLINE int64_t poiseAmgOrder(const AmgMatrix *m, int64_t j)
{
  return j >= m->nodes && j < m->nodes + m->below ? j - m->nodes - m->below : j;
}

/* Blocks of A in a row of a node's blocks. */
POISE_INLINE int64_t poiseAmgBlocks(const AmgMatrix *m)
{
  return m->A.b ? m->node / m->A.b : m->node;
}

#endif

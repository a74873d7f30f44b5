/* SPDX-License-Identifier: BSD-3-Clause */
/* Type pcoo: what its products (pcoo.c) and its making from the application's arrays (pcoo_build.c) share. */
#ifndef POISE_MAT_PCOO_H
#define POISE_MAT_PCOO_H

#include "mat/csr/transpose.h"
#include "held.h"
#include "mat/product/transposed.h"

typedef struct Axis { /* the rows, or the columns, of this rank's triplets: [owned | ghosts] */
  const Layout *layout;
  int64_t n, nghost;  /* n: owned */
  PoiseInt *ghost;    /* ascending */
  Halo *halo;         /* NULL on one rank */
  Buffer whole, wide; /* a vector with its ghosts; one with columns */
} Axis;

typedef struct Index {
  Transposed by;
  RowBlocks blocks;
  int64_t nz;
  bool made;
} Index;

typedef struct Pcoo {
  Held held; /* used if there is a CSR; else the others: */
  Axis rows, columns;
  Index by_row, by_column, diagonal; /* the latter two are made on first need */
  Buffer one;                        /* the x by which the diagonal is a product */
} Pcoo;

static inline Pcoo *poisePcooOf(PoiseMat A)
{
  return A->data;
}

/* Make an index of triplets whose columns are those of axis `to`, for the device alone. Local. */
PoiseErr poisePcooIndex(Device *dev, const LocalTriplets *in, const Axis *to, const Axis *from, Index *x);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* A matrix from rows of all ranks, of which some are other ranks' (shared_rows.c). */
#ifndef POISE_MAT_SHARED_ROWS_H
#define POISE_MAT_SHARED_ROWS_H

#include "mat/csr/global_entries.h"
#include "triplet_plan.h"

typedef struct SharedRows {    /* what C points to is on the device */
  CsrView C;                   /* [own rows | those of others, ascending]; columns ascend by global numbers */
  GlobalColumns rows, columns; /* ghosts on the host */
  int64_t nghost[2];           /* of rows, of columns */
  /* made in between */
  int64_t own;    /* entries of own rows */
  Buffer list[2]; /* ghosts on the device */
} SharedRows;

/* Does the device make such a pattern for A? Otherwise its entries are to be given as triplets. */
bool poiseSharedRowsStay(PoiseMat A);
/* A's pattern, as by PoiseMatSetPatternDeviceCOO with C's entries, or its blocks; their values are taken as
   those of triplets. mine: this rank's error so far. Collective; agrees. */
PoiseErr poiseMatSetSharedRows(PoiseMat A, PoiseErr mine, SharedRows *s);

/* For triplets.c: keys of other ranks' rows, and the bytes of their values, in p; with those received, the
   sorted keys of all. Local. */
PoiseErr poiseSharedRowsPart(PoiseMat A, const Triplets *t, TripletPattern *p);
PoiseErr poiseSharedRowsJoin(PoiseMat A, Triplets *t, TripletPattern *p);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The parts of a matrix of type pcsr on several ranks (pcsr.c, pcsr_build.c). A part is a range of the
  nonzeros of all ranks, in the order of rows. Entries of the rank's own rows it keeps. Those of other ranks'
  rows it takes: their results travel to the owners of the rows.
*/
#ifndef POISE_MAT_PCSR_H
#define POISE_MAT_PCSR_H

#include "mat/object/mat.h"

typedef struct Parts {
  Version made;         /* A's, when parts were made and the latest values taken */
  int block_size;       /* A's, then */
  int machines;         /* that boundaries were moved for; 0: none were looked for */
  double over;          /* the most nonzeros of a part, in times of its rank's share */
  bool split;           /* else every rank multiplies its own rows, which A's local type does */
  int64_t first, rows;  /* place of the first entry that is kept; rows of this rank cut by a boundary */
  PoiseMat kept;        /* own entries that are kept; rows and columns as of A, values are A's own */
  PoiseMat taken;       /* entries of other ranks, a row for each row of theirs; exchanges with `kept` */
  Halo *owners;         /* from these rows to their owners, used backwards */
  int64_t *give, *take; /* bytes of values for each rank, and from each */
  int64_t *place;       /* for each rank: where in A's entries those given to it begin */
  double *out;          /* values on their way */
  double *results;      /* of a product that is in progress, for these rows */
} Parts;

/* A change of which makes parts void. */
enum { PARTS_DEPEND = CHANGED_PATTERN | CHANGED_PRODUCT };

/* Products of A are made of parts that have entries of other ranks' rows. */
static inline bool poiseMatSplits(PoiseMat A)
{
  const Parts *t = A->parts;
  return t && t->split && !(poiseMatChanged(&t->made, A) & PARTS_DEPEND);
}

/* Make the parts of A, or bring new values to them, if A is of type pcsr. Collective; agrees. */
PoiseErr poisePartsFollow(PoiseMat A);
/* Bring all that a product needs to the device. Collective; the caller agrees. */
PoiseErr poisePartsReady(PoiseMat A);
PoiseErr poisePartsReadyColumns(PoiseMat A, int k); /* and products of k columns. Collective; agrees */
PoiseErr poisePartsView(PoiseMat A);
void poisePartsBytes(PoiseMat A, PoiseBytes *sum); /* sum += what the parts of A hold */
void poisePartsDestroy(PoiseMat A);

/* pcsr_build.c: A->parts, but for values. Collective; agrees. */
PoiseErr poisePartsBuild(PoiseMat A);

#endif

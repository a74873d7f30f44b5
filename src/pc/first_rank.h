/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrices and vectors whole on the first rank, for libraries that factor on one. */
#ifndef POISE_FIRST_RANK_H
#define POISE_FIRST_RANK_H

#include "pc.h"

typedef struct FirstRank {
  Layout *layout;           /* of P as it was last prepared; NULL: nothing is allocated */
  int64_t *sent, *received; /* bytes, for each rank */
} FirstRank;

typedef struct WholeRows { /* of a matrix, as scalars */
  int64_t n, nz;
  int64_t *length, *column; /* of rows; of entries, global, ascending in a row */
  double *value;
} WholeRows;

static inline bool poiseOnFirst(PoisePC pc)
{
  return PoiseRank(pc->ctx) == 0;
}

/* f is destroyed, and made anew for pc->P. Local. */
PoiseErr poiseFirstCreate(PoisePC pc, FirstRank *f);
void poiseFirstDestroy(PoisePC pc, FirstRank *f);

/* If pc->P has another layout on some rank: release, then allocate, which makes f. Collective; agrees. */
PoiseErr poiseFirstPrepare(PoisePC pc, const FirstRank *f, PoiseErr (*allocate)(PoisePC),
                           void (*release)(PoisePC));

/* The rows of P, on the first rank. POISE_ERR_NUMERIC if an entry is not finite, POISE_ERR_UNSUPPORTED if
   numbers of rows and entries do not fit in 32 bits. all must be destroyed, after errors too. Collective;
   agrees. */
PoiseErr poiseFirstRows(PoisePC pc, FirstRank *f, WholeRows *all);
void poiseWholeRowsDestroy(PoiseContext ctx, WholeRows *r);

/* x on the first rank, NULL elsewhere, becomes the vector with so many columns of which each rank has `own`;
   and back. Collective. */
PoiseErr poiseFirstTake(PoisePC pc, FirstRank *f, int columns, const double *own, double *x);
PoiseErr poiseFirstGive(PoisePC pc, FirstRank *f, int columns, const double *x, double *own);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The set of the columns of other ranks that this rank's rows refer to (ghosts.c). */
#ifndef POISE_MAT_GHOSTS_H
#define POISE_MAT_GHOSTS_H

#include "sys/sys.h"

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
PoiseErr poiseTooManyGhosts(PoiseContext ctx, int64_t n); /* that error */
int32_t poiseGhostsFind(const Ghosts *g, PoiseInt col);   /* the place of an added column among them */
void poiseGhostsDestroy(Ghosts *g);

#endif

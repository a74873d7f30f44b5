/* SPDX-License-Identifier: BSD-3-Clause */
/* Local numbers of columns, ghosts and their halo (numbering.c). */
#ifndef POISE_MAT_NUMBERING_H
#define POISE_MAT_NUMBERING_H

#include "ghosts.h"
#include "mat/object/mat.h"

static inline bool poiseIsOwned(const PoiseMat A, PoiseInt g)
{
  return g >= A->csr.column && g < A->csr.column + A->csr.nloc;
}

static inline int32_t poiseLocalColumn(const PoiseMat A, const Ghosts *ghosts, PoiseInt g)
{
  if (poiseIsOwned(A, g)) return (int32_t)(g - A->csr.column);
  return (int32_t)A->csr.nloc + poiseGhostsFind(ghosts, g);
}

/* Set rows and columns of A->csr in units of its entries, which are scalars or blocks. */
void poiseCsrMeasure(PoiseMat A);
/* Set A->csr.ghost: the columns of other ranks, each once, ascending. The caller destroys ghosts. Local. */
PoiseErr poiseCsrCollectGhosts(PoiseMat A, const PoiseCSR *in, Ghosts *ghosts);
/* Make A->csr.col from global columns: in a new array, or in place if A has wrapped them. Local. */
PoiseErr poiseCsrNumberColumns(PoiseMat A, const PoiseCSR *in);
/* The same for columns that A has adopted; noted, so that it can be undone. */
PoiseErr poiseCsrRenumber(PoiseMat A, const PoiseCSR *in);
void poiseCsrUndoRenumber(PoiseMat A);   /* if it was done */
PoiseErr poiseCsrCreateHalo(PoiseMat A); /* collective; the caller agrees */

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* What all ranks do together once each has its arrays (complete.c). */
#ifndef POISE_MAT_COMPLETE_H
#define POISE_MAT_COMPLETE_H

#include "mat/object/mat.h"

/* A->csr has arrays and their sizes, or e is this rank's error. On failure the arrays stay with whoever gave
   them. Collective; agrees. */
PoiseErr poiseCsrComplete(PoiseMat A, PoiseErr e);
/* Accept a CSR with offsets, columns, values, m, nloc, nz and wide, on either side, of rows without ghosts;
   or all that poiseCsrCopy gives. It becomes A's, or is released on failure. Collective; agrees. */
PoiseErr poiseCsrAccept(PoiseMat A, const Csr *made);

#endif

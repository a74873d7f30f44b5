/* SPDX-License-Identifier: BSD-3-Clause */
/* New content for a matrix (replace.c). */
#ifndef POISE_MAT_REPLACE_H
#define POISE_MAT_REPLACE_H

#include "mat/csr/row_arrays.h"
#include "mat/object/mat.h"

/* Replace A's content and pattern by the arrays, without a copy. The arrays are released in any case; on
   failure A is unchanged. mine: this rank's error so far. If the arrays are blocks, which A waits for or has,
   A becomes type bcsr. Collective; agrees. */
PoiseErr poiseMatReplace(PoiseMat A, PoiseErr mine, RowArrays *r);
/* the same with what poiseCsrAccept takes */
PoiseErr poiseMatReplaceCsr(PoiseMat A, PoiseErr mine, Csr *made);
/* Replace by one of the two, and have the type work that fits. Nothing is set up. */
PoiseErr poiseMatReplaceAs(PoiseMat A, PoiseErr mine, RowArrays *r, Csr *made);

#endif

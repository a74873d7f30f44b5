/* SPDX-License-Identifier: BSD-3-Clause */
/* New values for the entries of a CSR (replace_values.c). */
#ifndef POISE_MAT_REPLACE_VALUES_H
#define POISE_MAT_REPLACE_VALUES_H

#include "mat/object/mat.h"

/* Those of A->csr become val, which is on that side of A's device. Local. */
PoiseErr poiseMatReplaceValues(PoiseMat A, Side where, const double *val);
/* The same of any matrix that has values: PoiseMatSetValuesCSR, or BCSR with column-major blocks. Local. */
PoiseErr poiseMatSetEntries(PoiseMat A, Side where, const double *val);

#endif

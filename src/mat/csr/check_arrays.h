/* SPDX-License-Identifier: BSD-3-Clause */
/* Users' CSR arrays, read and checked (check_arrays.c). All of it is local. */
#ifndef POISE_MAT_CHECK_ARRAYS_H
#define POISE_MAT_CHECK_ARRAYS_H

#include "mat/object/mat.h"
#include "csr_view.h"

/* Offset of local row i, and column of entry k, without the base. */
static inline int64_t poiseGivenOffset(const PoiseCSR *in, int64_t i)
{
  return poiseFromBase(in->ptr32 ? in->ptr32[i] : in->ptr64[i], in->base);
}

static inline PoiseInt poiseGivenColumn(const PoiseCSR *in, int64_t k)
{
  return poiseFromBase(in->col32 ? in->col32[k] : in->col64[k], in->base);
}

const char *poiseArraysRow(const PoiseMat A); /* what messages call a row of entries */
typedef enum { ARRAY_PTR32, ARRAY_PTR64, ARRAY_COL32, ARRAY_COL64, ARRAY_VAL } GivenArray;
const char *poiseArraysName(const PoiseMat A, GivenArray array); /* of a csr, bcsr or csc */

PoiseErr poiseArraysCheckGiven(const PoiseCSR *in); /* the struct, not what it points to */

/* Arrays on the host. A->csr has been measured. */
PoiseErr poiseArraysCheckHost(const PoiseMat A, const PoiseCSR *in); /* they are memory of the host */
PoiseErr poiseArraysCheckOffsets(const PoiseMat A, const PoiseCSR *in);
/* *sorted: the columns of every row ascend; else *unsorted_row is the first where they do not. A column that
   occurs twice is found here in sorted rows, else after sorting. */
PoiseErr poiseArraysCheckColumns(const PoiseMat A, const PoiseCSR *in, bool *sorted, int64_t *unsorted_row);
/* The error that column c of the whole matrix occurs twice in row i, */
PoiseErr poiseArraysTwice(const PoiseMat A, const PoiseCSR *in, int64_t i, PoiseInt c);
/* and that row i is unsorted, so that the arrays cannot be `what`. */
PoiseErr poiseArraysUnsorted(const PoiseMat A, const PoiseCSR *in, int64_t i, const char *what);

/* Arrays on the device: all the same checks, by the device. *nz: number of columns. */
PoiseErr poiseArraysCheckDevice(PoiseMat A, const PoiseCSR *in, int64_t *nz);
PoiseErr poiseArraysCheckDeviceValues(PoiseMat A, const PoiseCSR *in, int64_t nz); /* of nz entries */

#endif

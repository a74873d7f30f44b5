/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies of users' arrays in the library's types (convert.c). */
#ifndef POISE_MAT_CONVERT_H
#define POISE_MAT_CONVERT_H

#include "mat/object/mat.h"

/* The arrays were checked, and A->csr.nz is set. Local. */
PoiseErr poiseCsrConvertOffsets(PoiseMat A, const PoiseCSR *in); /* as narrow as they may be */
/* Columns and values of rows that are not sorted: sorted. A column that occurs twice is an error. */
PoiseErr poiseCsrConvertSorted(PoiseMat A, const PoiseCSR *in);

#endif

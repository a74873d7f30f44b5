/* SPDX-License-Identifier: BSD-3-Clause */
/* Have two matrices the same offsets and columns (multiply.c)? */
#ifndef POISE_SAME_PATTERN_KERNELS_H
#define POISE_SAME_PATTERN_KERNELS_H

#include "mat/csr/csr_view.h"

/* differs: raised where C and D, of as many rows and entries, do. n: the larger of C.m + 1 and C.nz. */
typedef struct SamePatternArgs {
  CsrView C, D;
  int64_t n;
  int32_t *differs;
} SamePatternArgs;

POISE_INLINE void same_pattern_item(const SamePatternArgs *a, int64_t k)
{
  if (k <= a->C.m && poiseCsrOffset(&a->C, k) != poiseCsrOffset(&a->D, k)) poiseRaise(a->differs);
  if (k < a->C.nz && a->C.col[k] != a->D.col[k]) poiseRaise(a->differs);
}

#endif

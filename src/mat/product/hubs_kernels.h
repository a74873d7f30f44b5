/* SPDX-License-Identifier: BSD-3-Clause */
/* Columns that many entries have (hubs.c). */
#ifndef POISE_HUBS_KERNELS_H
#define POISE_HUBS_KERNELS_H

#include "mat/csr/csr_view.h"

/* A column has one of 2^bits slots; the hub of a slot is the one of its columns with the most entries, of
   which a product keeps x at hand. */
POISE_INLINE uint32_t poiseHubSlot(int32_t column, int bits)
{
  return poiseHash32(column) >> (32 - bits);
}

/* most[s] = entries 2^32 + column of the hub of slot s, and was 0, which it stays where no column has
   entries. count: of each column, 0 before. */
typedef struct CsrHubsArgs {
  CsrView A;
  int64_t columns, bits;
  int32_t *count;
  int64_t *most;
} CsrHubsArgs;

#endif

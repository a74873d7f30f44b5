/* SPDX-License-Identifier: BSD-3-Clause */
/*
  What can change of a matrix, counted. Whoever makes something of a matrix keeps the Version that was seen,
  and later asks what has changed since. All zero: nothing was seen.
*/
#ifndef POISE_MAT_VERSION_H
#define POISE_MAT_VERSION_H

#include <stdint.h>

typedef struct Version {
  int64_t matrix;  /* which: no other matrix of the context ever has this number */
  int64_t pattern; /* the entries' places, and their arrays */
  int64_t values;  /* and the block size */
  int64_t near;    /* the near null space */
  int64_t spaces;  /* the null spaces of A and of A^T */
  int64_t product; /* how it is multiplied: its type, plan, library, parts and what these have on a device */
} Version;

/* Bits of poiseVersionChanged. */
enum {
  CHANGED_PATTERN = 1, /* or it is another matrix */
  CHANGED_VALUES = 2,
  CHANGED_NEAR = 4,
  CHANGED_SPACES = 8,
  CHANGED_PRODUCT = 16
};

/* What has changed from one to the other. Another matrix has changed in all. */
static inline unsigned poiseVersionChanged(const Version *seen, const Version *now)
{
  if (seen->matrix != now->matrix) return ~0u;
  return (seen->pattern != now->pattern ? CHANGED_PATTERN : 0u) |
         (seen->values != now->values ? CHANGED_VALUES : 0u) | (seen->near != now->near ? CHANGED_NEAR : 0u) |
         (seen->spaces != now->spaces ? CHANGED_SPACES : 0u) |
         (seen->product != now->product ? CHANGED_PRODUCT : 0u);
}

#endif

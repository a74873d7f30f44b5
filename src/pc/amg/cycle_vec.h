/* SPDX-License-Identifier: BSD-3-Clause */
/* A vector of the cycle. */
#ifndef POISE_AMG_CYCLE_VEC_H
#define POISE_AMG_CYCLE_VEC_H

#include "vec/vec.h"

typedef struct AmgVec { /* in fp64, or in fp32 */
  PoiseVec wide;
  Buffer single;
} AmgVec;

void poiseAmgVecDestroy(AmgVec *v);
void poiseAmgVecBytes(const AmgVec *v, PoiseBytes *sum);
/* Where it is on the device, like Read, Update and Write of buffer.c. v = NULL: *p stays. */
PoiseErr poiseAmgVecRead(AmgVec *v, const void **p);
PoiseErr poiseAmgVecUpdate(AmgVec *v, void **p);
PoiseErr poiseAmgVecWrite(AmgVec *v, void **p);

#endif

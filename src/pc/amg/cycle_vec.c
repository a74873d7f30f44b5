/* SPDX-License-Identifier: BSD-3-Clause */
/* A vector of the cycle, in fp64 or in fp32. */
#include "cycle_vec.h"

void poiseAmgVecDestroy(AmgVec *v)
{
  PoiseVecDestroy(&v->wide);
  poiseBufferDestroy(&v->single);
}

void poiseAmgVecBytes(const AmgVec *v, PoiseBytes *sum)
{
  if (v->wide) poiseBufferAdd(&v->wide->data, sum);
  poiseBufferAdd(&v->single, sum);
}

PoiseErr poiseAmgVecRead(AmgVec *v, const void **p)
{
  return !v        ? POISE_OK
         : v->wide ? poiseVecRead(v->wide, (const double **)p)
                   : poiseBufferRead(&v->single, DEVICE, p);
}

PoiseErr poiseAmgVecUpdate(AmgVec *v, void **p)
{
  return !v        ? POISE_OK
         : v->wide ? poiseVecUpdate(v->wide, (double **)p)
                   : poiseBufferUpdate(&v->single, DEVICE, p);
}

PoiseErr poiseAmgVecWrite(AmgVec *v, void **p)
{
  return v->wide ? poiseVecWrite(v->wide, (double **)p) : poiseBufferWrite(&v->single, DEVICE, p);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* BLAS-1 as phases (kernels.h): host and GPU compile the same text. */
#ifndef POISE_VEC_PHASES_H
#define POISE_VEC_PHASES_H

#include "sys/device/phase.h"

/* Operands: those that are read, and the one that is written. */
enum { VEC_X, VEC_Y };
enum { VEC_W };

/* Their prologues. */
#define TAKES_SCALARS(name)        \
  PROLOGUE(name)                   \
  {                                \
    return poiseTakeScalars(a, c); \
  }
TAKES_SCALARS(vec_set)
TAKES_SCALARS(vec_axpby)
TAKES_SCALARS(vec_axpby_dot)
TAKES_SCALARS(vec_mult)
TAKES_SCALARS(vec_divide)
TAKES_SCALARS(vec_reciprocal)
TAKES_SCALARS(vec_dot)
TAKES_SCALARS(vec_dot2)
TAKES_SCALARS(vec_sum)
TAKES_SCALARS(vec_norm1)
TAKES_SCALARS(vec_norm2_scaled)
TAKES_SCALARS(vec_norm_inf)
TAKES_SCALARS(vec_random)
TAKES_SCALARS(vec_diagonal_scale)
#undef TAKES_SCALARS

/* w = a */
ELEMENTWISE(vec_set)
{
  OUT(VEC_W) = c[0];
  return poiseDots(0, 0, 0);
}

/* w = a x + b y; a zero factor drops its vector, NaN and all, so that a copy has the same bits (-0 too). The
   other one is read in its place, as a load that depends on a factor would keep a CPU from doing several
   elements at once. */
ELEMENTWISE(vec_axpby)
{
  const double *x = c[0] == 0 && c[1] != 0 ? a->in[VEC_Y] : a->in[VEC_X];
  const double *y = c[1] != 0 ? a->in[VEC_Y] : a->in[VEC_X];
  double ax = c[0] == 0 ? 0 : c[0] * x[i];
  double by = c[1] == 0 ? 0 : c[1] * y[i];
  OUT(VEC_W) = c[1] == 0 ? ax : c[0] == 0 ? by : ax + by;
  return poiseDots(0, 0, 0);
}

/* the same, and (w, w) */
ELEMENTWISE(vec_axpby_dot)
{
  (void)vec_axpby_element(c, a, i);
  double w = a->out[VEC_W][i];
  return poiseDots(w * w, 0, 0);
}

/* w = x . y */
ELEMENTWISE(vec_mult)
{
  OUT(VEC_W) = READ(VEC_X) * READ(VEC_Y);
  return poiseDots(0, 0, 0);
}

/* w = x / y */
ELEMENTWISE(vec_divide)
{
  OUT(VEC_W) = READ(VEC_X) / READ(VEC_Y);
  return poiseDots(0, 0, 0);
}

/* w = 1 / x */
ELEMENTWISE(vec_reciprocal)
{
  OUT(VEC_W) = 1 / READ(VEC_X);
  return poiseDots(0, 0, 0);
}

/* (x, y) */
ELEMENTWISE(vec_dot)
{
  return poiseDots(READ(VEC_X) * READ(VEC_Y), 0, 0);
}

/* (x, y) and (y, y) */
ELEMENTWISE(vec_dot2)
{
  double y = READ(VEC_Y);
  return poiseDots(READ(VEC_X) * y, y * y, 0);
}

/* sum of x */
ELEMENTWISE(vec_sum)
{
  return poiseDots(READ(VEC_X), 0, 0);
}

/* sum of |x| */
ELEMENTWISE(vec_norm1)
{
  return poiseDots(fabs(READ(VEC_X)), 0, 0);
}

/* (a b x, a b x): a b alone may overflow */
ELEMENTWISE(vec_norm2_scaled)
{
  double v = READ(VEC_X) * c[0] * c[1];
  return poiseDots(v * v, 0, 0);
}

/* max of |x| */
ELEMENTWISE(vec_norm_inf)
{
  return poiseDots(fabs(READ(VEC_X)), 0, 0);
}

/* w = |x|^-1/2, or 1 where x is 0 or not finite; how many of x are positive, negative and 0 */
ELEMENTWISE(vec_diagonal_scale)
{
  double x = READ(VEC_X), root = sqrt(fabs(x));
  OUT(VEC_W) = root > 0 && poiseFinite(root) ? 1 / root : 1;
  return poiseDots(x > 0, x < 0, x == 0);
}

/* w_i in [-1, 1): from k + i, where k holds this rank's first row and the seed */
ELEMENTWISE(vec_random)
{
  uint64_t z = poiseMix((uint64_t)a->k + (uint64_t)i, 0);
  OUT(VEC_W) = (double)(int64_t)(z >> 11) * 0x1p-52 - 1;
  return poiseDots(0, 0, 0);
}

#endif

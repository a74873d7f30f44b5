/* SPDX-License-Identifier: BSD-3-Clause */
/* BLAS-1 as phases (kernels.h): host and GPU compile the same text. */
#ifndef POISE_VEC_PHASES_H
#define POISE_VEC_PHASES_H

#include "../sys/kernels.h"

#ifdef __CUDACC__
struct PhaseRow : PhaseArgs { /* with entries of in, which a GPU prefetches */
  double read[POISE_MAX_VECS];
};
#endif

/* Entry i of in[k], for the element i that a was given to. */
POISE_INLINE double poiseRead(const PhaseArgs *a, int k, int64_t i)
{
#ifdef __CUDACC__
  (void)i;
  return ((const PhaseRow *)a)->read[k];
#else
  return a->in[k][i];
#endif
}

POISE_INLINE Dots poiseDots(double d0, double d1, double d2)
{
  Dots t;
  t.d[0] = d0, t.d[1] = d1, t.d[2] = d2, t.d[3] = 0;
  return t;
}

/* The prologue of a phase without slots: its scalars are the coefficients. */
POISE_INLINE int poiseTakeScalars(const PhaseArgs *a, double *c)
{
  for (int k = 0; k < POISE_MAX_COEFS; k++) c[k] = poiseScalar(a->c[k]);
  return 1;
}

POISE_INLINE int vec_set_begin(const double *in, double *out, const PhaseArgs *a, double *c)
{
  (void)in, (void)out;
  return poiseTakeScalars(a, c);
}

/* w = a */
POISE_INLINE Dots vec_set_element(const double *c, const PhaseArgs *a, int64_t i)
{
  a->out[0][i] = c[0];
  return poiseDots(0, 0, 0);
}

POISE_INLINE int vec_axpby_begin(const double *in, double *out, const PhaseArgs *a, double *c)
{
  (void)in, (void)out;
  return poiseTakeScalars(a, c);
}

/* w = a x + b y. A zero factor drops its vector, NaN and all, so that a copy has the same bits (-0 too).
   The other vector is then read in its place: a load that depends on a factor would keep a CPU from
   vectorising. */
POISE_INLINE Dots vec_axpby_element(const double *c, const PhaseArgs *a, int64_t i)
{
  const double *x = c[0] == 0 && c[1] != 0 ? a->in[1] : a->in[0], *y = c[1] != 0 ? a->in[1] : a->in[0];
  double ax = c[0] == 0 ? 0 : c[0] * x[i];
  double by = c[1] == 0 ? 0 : c[1] * y[i];
  a->out[0][i] = c[1] == 0 ? ax : c[0] == 0 ? by : ax + by;
  return poiseDots(0, 0, 0);
}

POISE_INLINE int vec_axpby_dot_begin(const double *in, double *out, const PhaseArgs *a, double *c)
{
  (void)in, (void)out;
  return poiseTakeScalars(a, c);
}

/* the same, and (w, w) */
POISE_INLINE Dots vec_axpby_dot_element(const double *c, const PhaseArgs *a, int64_t i)
{
  (void)vec_axpby_element(c, a, i);
  double w = a->out[0][i];
  return poiseDots(w * w, 0, 0);
}

POISE_INLINE int vec_mult_begin(const double *in, double *out, const PhaseArgs *a, double *c)
{
  (void)in, (void)out;
  return poiseTakeScalars(a, c);
}

/* w = x . y */
POISE_INLINE Dots vec_mult_element(const double *c, const PhaseArgs *a, int64_t i)
{
  (void)c;
  a->out[0][i] = poiseRead(a, 0, i) * poiseRead(a, 1, i);
  return poiseDots(0, 0, 0);
}

POISE_INLINE int vec_divide_begin(const double *in, double *out, const PhaseArgs *a, double *c)
{
  (void)in, (void)out;
  return poiseTakeScalars(a, c);
}

/* w = x / y */
POISE_INLINE Dots vec_divide_element(const double *c, const PhaseArgs *a, int64_t i)
{
  (void)c;
  a->out[0][i] = poiseRead(a, 0, i) / poiseRead(a, 1, i);
  return poiseDots(0, 0, 0);
}

POISE_INLINE int vec_reciprocal_begin(const double *in, double *out, const PhaseArgs *a, double *c)
{
  (void)in, (void)out;
  return poiseTakeScalars(a, c);
}

/* w = 1 / x */
POISE_INLINE Dots vec_reciprocal_element(const double *c, const PhaseArgs *a, int64_t i)
{
  (void)c;
  a->out[0][i] = 1 / poiseRead(a, 0, i);
  return poiseDots(0, 0, 0);
}

POISE_INLINE int vec_dot_begin(const double *in, double *out, const PhaseArgs *a, double *c)
{
  (void)in, (void)out;
  return poiseTakeScalars(a, c);
}

/* (x, y) */
POISE_INLINE Dots vec_dot_element(const double *c, const PhaseArgs *a, int64_t i)
{
  (void)c;
  return poiseDots(poiseRead(a, 0, i) * poiseRead(a, 1, i), 0, 0);
}

POISE_INLINE int vec_dot2_begin(const double *in, double *out, const PhaseArgs *a, double *c)
{
  (void)in, (void)out;
  return poiseTakeScalars(a, c);
}

/* (x, y) and (y, y) */
POISE_INLINE Dots vec_dot2_element(const double *c, const PhaseArgs *a, int64_t i)
{
  (void)c;
  double y = poiseRead(a, 1, i);
  return poiseDots(poiseRead(a, 0, i) * y, y * y, 0);
}

POISE_INLINE int vec_sum_begin(const double *in, double *out, const PhaseArgs *a, double *c)
{
  (void)in, (void)out;
  return poiseTakeScalars(a, c);
}

/* sum of x */
POISE_INLINE Dots vec_sum_element(const double *c, const PhaseArgs *a, int64_t i)
{
  (void)c;
  return poiseDots(poiseRead(a, 0, i), 0, 0);
}

POISE_INLINE int vec_norm1_begin(const double *in, double *out, const PhaseArgs *a, double *c)
{
  (void)in, (void)out;
  return poiseTakeScalars(a, c);
}

/* sum of |x| */
POISE_INLINE Dots vec_norm1_element(const double *c, const PhaseArgs *a, int64_t i)
{
  (void)c;
  return poiseDots(fabs(poiseRead(a, 0, i)), 0, 0);
}

POISE_INLINE int vec_norm2_scaled_begin(const double *in, double *out, const PhaseArgs *a, double *c)
{
  (void)in, (void)out;
  return poiseTakeScalars(a, c);
}

/* (a b x, a b x): a b alone may overflow */
POISE_INLINE Dots vec_norm2_scaled_element(const double *c, const PhaseArgs *a, int64_t i)
{
  double v = poiseRead(a, 0, i) * c[0] * c[1];
  return poiseDots(v * v, 0, 0);
}

POISE_INLINE int vec_norm_inf_begin(const double *in, double *out, const PhaseArgs *a, double *c)
{
  (void)in, (void)out;
  return poiseTakeScalars(a, c);
}

/* max of |x| */
POISE_INLINE Dots vec_norm_inf_element(const double *c, const PhaseArgs *a, int64_t i)
{
  (void)c;
  return poiseDots(fabs(poiseRead(a, 0, i)), 0, 0);
}

POISE_INLINE int vec_random_begin(const double *in, double *out, const PhaseArgs *a, double *c)
{
  (void)in, (void)out;
  return poiseTakeScalars(a, c);
}

/* w_i in [-1, 1): splitmix64 of k + i, where k holds this rank's first row and the seed */
POISE_INLINE Dots vec_random_element(const double *c, const PhaseArgs *a, int64_t i)
{
  (void)c;
  uint64_t z = ((uint64_t)a->k + (uint64_t)i) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  z ^= z >> 31;
  a->out[0][i] = (double)(int64_t)(z >> 11) * 0x1p-52 - 1;
  return poiseDots(0, 0, 0);
}

#endif

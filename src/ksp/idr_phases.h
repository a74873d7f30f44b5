/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The scalar and vector phases of IDR(s) (van Gijzen & Sonneveld 2011; see idr.c for the whole iteration).

  The small array holds M = P'G (s columns, lower triangular), f = P'r at each step of a cycle (s + 1
  columns), c, h = P' of the newest g, and what of the g before is taken from that. A prologue never reads an
  entry that it writes, but for what it has written itself.
*/
#ifndef POISE_IDR_PHASES_H
#define POISE_IDR_PHASES_H

#include "ksp_phases.h"

/* Operands. hat: what omega times K of it is taken from r; absent: r. XS and RS: smoothed x and r. */
enum { IDR_R, IDR_X, IDR_G, IDR_U, IDR_V, IDR_HAT, IDR_XS, IDR_RS };

/* Slots. */
enum {
  IDR_RR = SLOT_FIRST_OWN,
  IDR_TR, /* of t = K r: (r, t), (t, t) */
  IDR_TT,
  IDR_OMEGA,
  IDR_C,    /* the first of c */
  IDR_BETA, /* r -= beta g */
  IDR_RSD,  /* of d = rs - r: (rs, d), (d, d) */
  IDR_DD,
  IDR_SS,    /* (rs, rs) */
  IDR_FIRST, /* norm at the start */
  IDR_END
};

POISE_INLINE double *poiseIDRColumn(double *array, int64_t s, int64_t k)
{
  return array + s * k;
}
POISE_INLINE double *poiseIDRProjections(double *array, int64_t s, int64_t k)
{
  return array + s * (s + k);
}
POISE_INLINE double *poiseIDRSolution(double *array, int64_t s)
{
  return poiseIDRProjections(array, s, s + 1);
}
POISE_INLINE double *poiseIDRNewest(double *array, int64_t s)
{
  return poiseIDRSolution(array, s) + s;
}
POISE_INLINE double *poiseIDRBefore(double *array, int64_t s)
{
  return poiseIDRNewest(array, s) + s;
}

/* idr_start: the first norm; M = I, omega = 1. flags: s; k: rtol relative to |b|. */
PROLOGUE(idr_start)
{
  int64_t s = a->flags;
  double norm = sqrt(in[IDR_RR]);
  int reason = poiseTestFirst(in, a, norm, (int)a->k);
  for (int64_t k = 0; k < s; k++)
    for (int64_t i = 0; i < s; i++) poiseIDRColumn(a->array, s, k)[i] = i == k;
  out[IDR_OMEGA] = 1;
  out[IDR_FIRST] = norm;
  poiseConcludeFirst(in, out, a, norm, (int)a->k, !reason && norm == 0 ? REASON_ATOL : reason);
  return 0;
}

/* idr_solve: M c = f for the rows and columns from k on. */
PROLOGUE(idr_solve)
{
  int64_t s = a->flags, k = a->k;
  const double *f = poiseIDRProjections(a->array, s, k);
  double *c_s = poiseIDRSolution(a->array, s);
  for (int64_t i = k; i < s; i++) {
    double sum = f[i];
    for (int64_t j = k; j < i; j++) sum -= poiseIDRColumn(a->array, s, j)[i] * c_s[j];
    c_s[i] = sum / poiseIDRColumn(a->array, s, i)[i];
  }
  out[IDR_C] = c_s[k];
  return 0;
}

/* idr_v: v = r - c_k g_k */
PROLOGUE(idr_v)
{
  c[0] = in[IDR_C];
  return 1;
}

ELEMENTWISE(idr_v)
{
  OUT(IDR_V) = READ(IDR_R) - c[0] * READ(IDR_G);
  return poiseDots(0, 0, 0);
}

/* idr_u: u_k = omega v + c_k u_k */
PROLOGUE(idr_u)
{
  c[0] = in[IDR_OMEGA];
  c[1] = in[IDR_C];
  return 1;
}

ELEMENTWISE(idr_u)
{
  OUT(IDR_U) = c[0] * READ(IDR_V) + c[1] * READ(IDR_U);
  return poiseDots(0, 0, 0);
}

/* idr_biorthogonal: what of g_0 ... g_k-1 is taken from g_k so that p_0 ... p_k-1 are orthogonal to it;
   column k of M; beta = f_k / M_kk; f of the next r. */
PROLOGUE(idr_biorthogonal)
{
  int64_t s = a->flags, k = a->k;
  const double *h = poiseIDRNewest(a->array, s), *f = poiseIDRProjections(a->array, s, k);
  double *before = poiseIDRBefore(a->array, s), *column = poiseIDRColumn(a->array, s, k),
         *next = poiseIDRProjections(a->array, s, k + 1);
  for (int64_t i = 0; i < s; i++) {
    double sum = h[i];
    for (int64_t j = 0; j < k && j < i; j++) sum -= poiseIDRColumn(a->array, s, j)[i] * before[j];
    if (i < k)
      before[i] = sum / poiseIDRColumn(a->array, s, i)[i];
    else
      column[i] = sum;
  }
  if (!poiseFinite(column[k])) return poiseStop(in, out, a, REASON_NANORINF);
  if (column[k] == 0) return poiseStop(in, out, a, REASON_BREAKDOWN);
  double beta = f[k] / column[k];
  for (int64_t i = k + 1; i < s; i++) next[i] = f[i] - beta * column[i];
  out[IDR_BETA] = beta;
  return 0;
}

/* idr_update: r -= beta g; x += beta u; dot (r, r). */
PROLOGUE(idr_update)
{
  c[0] = in[IDR_BETA];
  return 1;
}

ELEMENTWISE(idr_update)
{
  double beta = c[0], r = READ(IDR_R) - beta * READ(IDR_G);
  OUT(IDR_X) = READ(IDR_X) + beta * READ(IDR_U);
  OUT(IDR_R) = r;
  return poiseDots(r * r, 0, 0);
}

/* idr_reduce: x += omega hat; r -= omega t, t = K r in operand v; dot (r, r). omega makes the new r least,
   but no less than 0.7 |r| / |t|, so that the spaces stay apart where r and t are nearly orthogonal (Sleijpen
   & van der Vorst 1995). */
PROLOGUE(idr_reduce)
{
  const double least = 0.7;
  double tr = in[IDR_TR], tt = in[IDR_TT], length = least * sqrt(in[IDR_RR] / tt), omega = tr / tt;
  if (!poiseFinite(tr) || !poiseFinite(tt)) return poiseStop(in, out, a, REASON_NANORINF);
  if (tt == 0) return poiseStop(in, out, a, REASON_BREAKDOWN);
  if (fabs(omega) < length) omega = omega < 0 ? -length : length;
  out[IDR_OMEGA] = c[0] = omega;
  return 1;
}

ELEMENTWISE(idr_reduce)
{
  double omega = c[0], r = READ(IDR_R), hat = a->in[IDR_HAT] ? READ(IDR_HAT) : r;
  OUT(IDR_X) = READ(IDR_X) + omega * hat;
  r -= omega * READ(IDR_V);
  OUT(IDR_R) = r;
  return poiseDots(r * r, 0, 0);
}

/* idr_distance: of d = rs - r the dots (rs, d), (d, d). */
PROLOGUE(idr_distance)
{
  return 1;
}

ELEMENTWISE(idr_distance)
{
  double rs = READ(IDR_RS), d = rs - READ(IDR_R);
  return poiseDots(rs * d, d * d, 0);
}

/* idr_smooth: the rs between rs and r that is least; dot (rs, rs) (Zhou & Walker 1994). */
PROLOGUE(idr_smooth)
{
  c[0] = in[IDR_DD] == 0 ? 0 : in[IDR_RSD] / in[IDR_DD];
  return 1;
}

ELEMENTWISE(idr_smooth)
{
  double gamma = c[0], rs = READ(IDR_RS), xs = READ(IDR_XS);
  rs -= gamma * (rs - READ(IDR_R));
  OUT(IDR_RS) = rs;
  OUT(IDR_XS) = xs - gamma * (xs - READ(IDR_X));
  return poiseDots(rs * rs, 0, 0);
}

/* idr_decide: k: the slot of the square of the norm. */
PROLOGUE(idr_decide)
{
  double norm = sqrt(in[a->k]);
  int reason = poiseTestNext(in, a, norm);
  poiseConclude(in, out, a, norm, !reason && in[IDR_RR] == 0 ? REASON_ATOL : reason);
  return 0;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The scalar and vector phases of GMRES(m) (Saad & Schultz 1986; see gmres.c for the whole iteration).

  The small array holds, with ld = m + 1: H (m columns as orthogonalised), R (the same after the rotations),
  cos, sin, gamma (gamma_0 = |r|, gamma_j+1 = -sin_j gamma_j: the residual norm is |gamma|), y, h2 (a second
  pass's column), and two words on the correction of one of several systems. A prologue with rows never reads
  an entry that it writes, so all blocks of a GPU may run it.
*/
#ifndef POISE_GMRES_PHASES_H
#define POISE_GMRES_PHASES_H

#include "ksp_phases.h"

enum { GM_FROM, GM_TO }; /* operands: a vector, and where it goes when it is scaled to length 1 */

/* Slots. GM_REFINED and GM_SKIP both say whether there is a second pass. The prologue that ends the iteration
   reads GM_REFINED. Kernels read GM_SKIP, which that prologue sets at the end of the solve. */
enum {
  GM_WW = SLOT_FIRST_OWN,
  GM_WW2,
  GM_RR,
  GM_SKIP,
  GM_REFINED,
  GM_COLUMNS,
  GM_LARGEST, /* entry of R so far; two, by parity */
  GM_LARGEST_ODD,
  GM_FIRST,      /* the norm that the cycle began with */
  GM_RECURRENCE, /* at the latest restart: the norm by the recurrence, and as computed */
  GM_COMPUTED,
  GM_ENDED,     /* why the solve has ended where it may start again: GM_DROPPED, GM_FALLEN, or 0 */
  GM_TOLERANCE, /* by how much of GM_FIRST they may differ */
  GM_KEPT,      /* vectors that lgmres has kept */
  GM_END
};

enum {
  GM_DROPPED = 1, /* a column was dropped */
  GM_FALLEN       /* the recurrence has fallen as far as the basis carries */
};

/* Of the largest entry of R: what rounding may leave of a column that is a combination of those before. */
POISE_INLINE double poiseGMRESRounding(void)
{
  return 0x1p-52;
}

POISE_INLINE double *poiseGMRESColumn(double *array, int64_t m, int64_t j)
{
  return array + j * (m + 1);
}
POISE_INLINE double *poiseGMRESRotated(double *array, int64_t m, int64_t j)
{
  return array + (m + j) * (m + 1);
}
POISE_INLINE double *poiseGMRESCos(double *array, int64_t m)
{
  return array + 2 * m * (m + 1);
}
POISE_INLINE double *poiseGMRESSin(double *array, int64_t m)
{
  return poiseGMRESCos(array, m) + m;
}
POISE_INLINE double *poiseGMRESGamma(double *array, int64_t m)
{
  return poiseGMRESSin(array, m) + m;
}
POISE_INLINE double *poiseGMRESSolution(double *array, int64_t m)
{
  return poiseGMRESGamma(array, m) + m + 1;
}
POISE_INLINE double *poiseGMRESSecond(double *array, int64_t m)
{
  return poiseGMRESSolution(array, m) + m;
}

/* Of one of several systems: how many columns it adds to x in the correction at hand; and had it ended by the
   latest one? Then x is what it will be. */
POISE_INLINE double *poiseGMRESTerms(double *array, int64_t m)
{
  return poiseGMRESSecond(array, m) + m + 1;
}

/* v_0 = r / |r|: c[0] = 1 / |r|. */
POISE_INLINE Dots poiseScaleElement(const double *c, const PhaseArgs *a, int64_t i)
{
  OUT(GM_TO) = c[0] * READ(GM_FROM);
  return poiseDots(0, 0, 0);
}

/* The same with a basis in fp32, where v_0 goes too. In GM_TO it has the value that was rounded. */
POISE_INLINE Dots poiseScaleElement_f32(const double *c, const PhaseArgs *a, int64_t i)
{
  float v = (float)(c[0] * READ(GM_FROM));
  a->out_f32[i] = v;
  OUT(GM_TO) = v;
  return poiseDots(0, 0, 0);
}

/* A phase that makes a basis vector, and the same with a basis in fp32. */
#define MAKES_VECTOR(name)                 \
  ELEMENTWISE(name)                        \
  {                                        \
    return poiseScaleElement(c, a, i);     \
  }                                        \
  PROLOGUE(name##_f32)                     \
  {                                        \
    return name##_begin(in, out, a, c);    \
  }                                        \
  ELEMENTWISE(name##_f32)                  \
  {                                        \
    return poiseScaleElement_f32(c, a, i); \
  }

/* gmres_start: the first norm. flags: m; k: rtol relative to |b|; c[0]: GM_TOLERANCE. */
PROLOGUE(gmres_start)
{
  double norm = sqrt(in[GM_RR]);
  int reason = poiseTestFirst(in, a, norm, (int)a->k);
  out[GM_COLUMNS] = 0;
  out[GM_LARGEST + a->parity] = 0;
  out[GM_TOLERANCE] = a->c[0].value;
  if (a->array) poiseGMRESGamma(a->array, a->flags)[0] = norm;
  if (a->array) poiseGMRESTerms(a->array, a->flags)[1] = 0;
  c[0] = 1 / norm;
  return !poiseConcludeFirst(in, out, a, norm, (int)a->k, !reason && norm == 0 ? REASON_ATOL : reason);
}

MAKES_VECTOR(gmres_start)

/* gmres_refine: orthogonalise again when little of w is left (|w| < |h|, PETSc's test) or always. k: column
   j; c[0] != 0: always. */
PROLOGUE(gmres_refine)
{
  const double *h = poiseGMRESColumn(a->array, a->flags, a->k);
  double hh = 0;
  for (int64_t i = 0; i <= a->k; i++) hh += h[i] * h[i];
  out[GM_REFINED] = a->c[0].value != 0 || in[GM_WW] < hh;
  out[GM_SKIP] = !(a->c[0].value != 0 || in[GM_WW] < hh);
  return 0;
}

/* Has the recurrence fallen so far in this cycle that it must end? Behind the last column it ends anyway. */
POISE_INLINE int poiseGMRESFallen(const PhaseArgs *a, const double *gamma)
{
  int64_t m = a->flags, next = a->k + 1;
  return next < m && fabs(gamma[next]) < a->c[1].value * fabs(gamma[0]);
}

/* gmres_givens: h_j+1,j = |w|; rotate column j; the new residual norm; decides; v_j+1 = w / h_j+1,j. k: j.
   c[0] != 0: a second pass may have been made. c[1]: to which part of its beginning the recurrence may fall
   in a cycle; 0: to any. */
PROLOGUE(gmres_givens)
{
  int64_t m = a->flags, j = a->k;
  int refined = a->c[0].value != 0 && in[GM_REFINED] != 0;
  double below = sqrt(refined ? in[GM_WW2] : in[GM_WW]), its = in[SLOT_ITS + a->parity] + 1;
  c[0] = 1 / below;
  /* rows need not know whether the solve is over: nobody reads v_j+1 then */
  if (!a->array) return below != 0;
  const double *h = poiseGMRESColumn(a->array, m, j);
  double *r = poiseGMRESRotated(a->array, m, j), *cs = poiseGMRESCos(a->array, m),
         *sn = poiseGMRESSin(a->array, m);
  double *gamma = poiseGMRESGamma(a->array, m), top = h[0], largest = in[GM_LARGEST + a->parity];
  for (int64_t i = 0; i < j; i++) {
    double next = h[i + 1], ri = cs[i] * top + sn[i] * next;
    r[i] = ri;
    largest = poiseLarger(largest, fabs(ri));
    top = -sn[i] * top + cs[i] * next;
  }
  double length = sqrt(top * top + below * below);
  if (!poiseFinite(length)) length = hypot(top, below); /* squares that are no numbers */
  int dropped =
      length <=
      poiseGMRESRounding() * largest; /* what is left of the column is rounding: it would only make x large */
  double cosine = dropped ? 0 : top / length, sine = dropped ? 1 : below / length; /* no progress */
  cs[j] = cosine;
  sn[j] = sine;
  r[j] = length;
  gamma[j + 1] = -sine * gamma[j];
  if (j == 0) out[GM_FIRST] = gamma[0];
  out[GM_LARGEST + !a->parity] = poiseLarger(largest, length);
  out[GM_COLUMNS] = dropped || !poiseFinite(length) ? (double)j : (double)(j + 1);
  if (!poiseDecide(in, out, a, fabs(gamma[j + 1]))) {
    /* else K v_j lies in the space: its solution is exact unless the column is dropped */
    int goes_on = below != 0 && !dropped;
    int fallen = goes_on && poiseGMRESFallen(a, gamma);
    if (goes_on && !fallen) return 1;
    poiseFinish(out, dropped || fallen ? REASON_BREAKDOWN : REASON_HAPPY, its);
    out[GM_ENDED] = dropped ? GM_DROPPED : fallen ? GM_FALLEN : 0;
  }
  out[GM_SKIP] = 1;
  return 0;
}

MAKES_VECTOR(gmres_givens)

/* A system that has ended in the cycle has its own number of columns, and takes part this one time. */
POISE_INLINE int64_t poiseGMRESTakesPart(const PhaseArgs *a)
{
  double *terms = poiseGMRESTerms(a->array, a->flags);
  terms[0] = terms[1] != 0 ? 0 : poiseScalar(a->c[0]);
  terms[1] = poiseScalar(a->c[1]);
  return (int64_t)terms[0];
}

/* gmres_solve: R y = (cos_i gamma_i) by back substitution, k columns. Of several systems c[0]: how many has
   this one? c[1]: has it ended? */
PROLOGUE(gmres_solve)
{
  int64_t m = a->flags, k = a->systems.n ? poiseGMRESTakesPart(a) : a->k;
  const double *cs = poiseGMRESCos(a->array, m), *gamma = poiseGMRESGamma(a->array, m);
  double *y = poiseGMRESSolution(a->array, m);
  for (int64_t i = k - 1; i >= 0; i--) {
    double s = cs[i] * gamma[i];
    for (int64_t j = i + 1; j < k; j++) s -= poiseGMRESRotated(a->array, m, j)[i] * y[j];
    y[i] = s / poiseGMRESRotated(a->array, m, i)[i];
  }
  return 0;
}

/* gmres_restart: x holds all columns; the norm computed from b - A x replaces the recurrence's; decides;
   v_0 = r / |r|. As in PETSc, a recurrence that has left the residual is a breakdown; but with c[0] != 0 only
   if the norm has not fallen in the cycle. */
PROLOGUE(gmres_restart)
{
  double its = in[SLOT_ITS + a->parity], norm = sqrt(in[GM_RR]);
  int reason = poiseTest(in, &a->conv, norm, in[SLOT_NORM0], its);
  double recurrence = a->array ? fabs(poiseGMRESGamma(a->array, a->flags)[a->flags]) : norm;
  int left = fabs(norm - recurrence) > in[GM_TOLERANCE] * in[GM_FIRST];
  int forgiven = a->c[0].value != 0 && norm < in[GM_FIRST];
  if (!reason && !a->conv.none && left && !forgiven) reason = REASON_BREAKDOWN;
  out[GM_RECURRENCE] = recurrence;
  out[GM_COMPUTED] = norm;
  out[GM_LARGEST + a->parity] = 0;
  out[GM_COLUMNS] = 0;
  out[SLOT_NORM] = norm;
  a->conv.history[(int64_t)its & a->conv.mask] = norm;
  if (a->array) poiseGMRESGamma(a->array, a->flags)[0] = norm;
  c[0] = 1 / norm;
  if (!reason && norm == 0) reason = REASON_ATOL;
  if (reason) poiseFinish(out, reason, its);
  return !reason;
}

MAKES_VECTOR(gmres_restart)

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* What the phases of all methods share: stopping, the convergence decision, the pointwise preconditioner. */
#ifndef POISE_KSP_PHASES_H
#define POISE_KSP_PHASES_H

#include "../vec/vec_phases.h"

/* Reasons as in include/poise/ksp.h (which is no CUDA header); ksp.c asserts that they agree. */
enum {
  REASON_RTOL = 2,
  REASON_ATOL = 3,
  REASON_ITS = 4,
  REASON_HAPPY = 5,
  REASON_MAXITS = -3,
  REASON_DTOL = -4,
  REASON_BREAKDOWN = -5,
  REASON_INDEFINITE_PC = -8,
  REASON_NANORINF = -9,
  REASON_INDEFINITE_MAT = -10
};

enum { NORM_NONE = 1, NORM_PRECONDITIONED, NORM_UNPRECONDITIONED, NORM_NATURAL }; /* PoiseNormType */

/* z_i = d_i r_i: the preconditioner where it is a diagonal, in[k]; NULL: none. */
POISE_INLINE double poisePoint(const PhaseArgs *a, int k, double r, int64_t i)
{
  return a->in[k] ? poiseRead(a, k, i) * r : r;
}

/* End the solve from a plain phase (before its elements): also a deciding phase behind it is skipped. Returns 0 = skip. */
POISE_INLINE int poiseStop(const double *in, double *out, const PhaseArgs *a, int reason)
{
  out[SLOT_DONE] = out[SLOT_SEEN] = 1;
  out[SLOT_REASON] = reason;
  out[SLOT_ITS_FINAL] = in[SLOT_ITS + a->parity];
  return 0;
}

/* End it from a deciding phase, whose elements still run, at iteration its. */
POISE_INLINE void poiseFinish(double *out, int reason, double its)
{
  out[SLOT_DONE] = 1;
  out[SLOT_REASON] = reason;
  out[SLOT_ITS_FINAL] = its;
}

/* PETSc's default test of iteration its; 0 = go on. */
POISE_INLINE int poiseTest(const double *in, const Convergence *v, double norm, double norm0, double its)
{
  double atol = in[SLOT_ATOL];
  if (!poiseFinite(norm)) return REASON_NANORINF;
  if (v->none) return its >= in[SLOT_MAXITS] ? REASON_ITS : 0;
  if (v->test && norm <= poiseLarger(in[SLOT_RTOL] * norm0, atol)) return norm < atol ? REASON_ATOL : REASON_RTOL;
  if (v->test && norm >= in[SLOT_DTOL] * norm0) return REASON_DTOL;
  return its >= in[SLOT_MAXITS] ? REASON_MAXITS : 0;
}

/* Record the norm before the first iteration and decide. norm0 is what rtol is relative to: |b| when that was asked for
   (kept in SLOT_NORM0 by phase ksp_norm0), else this norm. Returns nonzero when the solve is over. */
POISE_INLINE int poiseDecideFirst(const double *in, double *out, const PhaseArgs *a, double norm, int relative_to_b)
{
  double norm0 = relative_to_b && in[SLOT_NORM0] > 0 ? in[SLOT_NORM0] : norm;
  int reason = poiseTest(in, &a->conv, norm, norm0, 0);
  out[SLOT_NORM] = norm;
  if (!relative_to_b || !(in[SLOT_NORM0] > 0)) out[SLOT_NORM0] = norm;
  a->conv.history[0] = norm;
  if (reason) poiseFinish(out, reason, 0);
  return reason;
}

/* The same for the iteration just finished, which is counted. */
POISE_INLINE int poiseDecide(const double *in, double *out, const PhaseArgs *a, double norm)
{
  double its = in[SLOT_ITS + a->parity] + 1;
  int reason = poiseTest(in, &a->conv, norm, in[SLOT_NORM0], its);
  out[SLOT_ITS + !a->parity] = its;
  out[SLOT_NORM] = norm;
  a->conv.history[(int64_t)its & a->conv.mask] = norm;
  if (reason) poiseFinish(out, reason, its);
  return reason;
}

/* ksp_norm0: SLOT_NORM0 = the norm of b that was summed into slot k, k = its square root or sqrt(|.|) for the natural norm. */
POISE_INLINE int ksp_norm0_begin(const double *in, double *out, const PhaseArgs *a, double *c)
{
  (void)c;
  out[SLOT_NORM0] = sqrt(fabs(in[a->k]));
  return 0;
}

POISE_INLINE Dots ksp_norm0_element(const double *c, const PhaseArgs *a, int64_t i)
{
  (void)c, (void)a, (void)i;
  return poiseDots(0, 0, 0);
}

/* ksp_deliver: the user's x = x; the dot is 0, or NaN when an entry is not finite. in: x; out: the user's. */
POISE_INLINE int ksp_deliver_begin(const double *in, double *out, const PhaseArgs *a, double *c)
{
  (void)in, (void)out, (void)a, (void)c;
  return 1;
}

POISE_INLINE Dots ksp_deliver_element(const double *c, const PhaseArgs *a, int64_t i)
{
  double v = poiseRead(a, 0, i);
  (void)c;
  a->out[0][i] = v;
  return poiseDots(v - v, 0, 0);
}

#endif

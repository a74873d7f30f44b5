/* SPDX-License-Identifier: BSD-3-Clause */
/* The vector phases of LSQR (Paige & Saunders 1982; see lsqr.c for the whole iteration) and of CGLS
   (cgls.c). */
#ifndef POISE_LSQR_PHASES_H
#define POISE_LSQR_PHASES_H

#include "ksp_phases.h"

enum { LSQR_T, LSQR_V, LSQR_D, LSQR_Z, LSQR_W, LSQR_X, LSQR_SUM }; /* operands */

/* Slots; those of two are by parity. */
enum {
  LSQR_ALPHA2 = SLOT_FIRST_OWN, /* (v, z) = alpha^2 */
  LSQR_ALPHA2_ODD,
  LSQR_BETA2, /* (u, u) = beta^2 */
  LSQR_BETA2_ODD,
  LSQR_RHOBAR,
  LSQR_RHOBAR_ODD,
  LSQR_PHIBAR, /* |b - A x| */
  LSQR_PHIBAR_ODD,
  LSQR_SIZE2, /* the sum of all alpha^2 and beta^2 so far */
  LSQR_SIZE2_ODD,
  LSQR_OF_PRODUCT, /* 1 / alpha and -alpha / beta: the next u is the former times A z + the latter times u */
  LSQR_OF_U,
  LSQR_VV, /* (v, v) */
  LSQR_END
};

/* PETSc's test of least squares: `reason` as |b - A x| has it, or that of A^T (b - A x), whose norm is
   `normal`. An exact 0 ends it in any case. */
POISE_INLINE int poiseLSQRReason(const double *in, const PhaseArgs *a, int reason, double normal, double size,
                                 double norm)
{
  int may = reason == 0 || reason == REASON_MAXITS;
  if (may && norm == 0) return REASON_ATOL;
  if (may && normal == 0) return REASON_ATOL_NORMAL;
  if (!may || !a->conv.test || a->conv.none) return reason;
  if (normal < in[SLOT_ATOL]) return REASON_ATOL_NORMAL;
  return normal < in[SLOT_RTOL] * size * norm ? REASON_RTOL_NORMAL : reason;
}

/* lsqr_v: v = t / beta - (beta / alpha) v with the new beta and the old alpha; z = d v (absent: not stored);
   dots (v, z), (v, v). k: of the start, which has no old v. */
PROLOGUE(lsqr_v)
{
  double beta = sqrt(in[LSQR_BETA2 + (a->k ? a->parity : !a->parity)]);
  if (!poiseFinite(beta)) return a->k ? 1 : poiseStop(in, out, a, REASON_NANORINF);
  c[0] = beta == 0 ? 0 : 1 / beta;
  c[1] = a->k ? 0 : beta / sqrt(in[LSQR_ALPHA2 + a->parity]);
  return 1;
}

ELEMENTWISE(lsqr_v)
{
  double v = c[0] * READ(LSQR_T) - (c[1] != 0 ? c[1] * READ(LSQR_V) : 0), z = poisePoint(a, LSQR_D, v, i);
  OUT(LSQR_V) = v;
  if (a->out[LSQR_Z]) OUT(LSQR_Z) = z;
  return poiseDots(v * z, v * v, 0);
}

/* Is M indefinite, by (v, z)? */
POISE_INLINE int poiseLSQRIndefinite(const double *in, double alpha2)
{
  return alpha2 < 0 || (alpha2 == 0 && in[LSQR_VV] > 0);
}

/* lsqr_start: the first norm; w = z / alpha. k: rtol relative to |b|. */
PROLOGUE(lsqr_start)
{
  double alpha2 = in[LSQR_ALPHA2 + a->parity], beta2 = in[LSQR_BETA2 + a->parity], beta = sqrt(beta2),
         alpha = sqrt(fabs(alpha2));
  int reason = poiseTestFirst(in, a, beta, (int)a->k);
  if (!reason && beta2 == 0) reason = REASON_ATOL;
  if (!reason && poiseLSQRIndefinite(in, alpha2)) reason = REASON_INDEFINITE_PC;
  if (!reason && alpha2 == 0) reason = REASON_ATOL_NORMAL; /* A^T b = 0: x = 0 */
  if (!reason && !poiseFinite(alpha2)) reason = REASON_NANORINF;
  out[LSQR_RHOBAR + a->parity] = alpha;
  out[LSQR_PHIBAR + a->parity] = beta;
  out[LSQR_SIZE2 + a->parity] = 0;
  out[LSQR_OF_PRODUCT] = 1 / alpha;
  out[LSQR_OF_U] = -alpha / beta;
  c[0] = 1 / alpha;
  return !poiseConcludeFirst(in, out, a, beta, (int)a->k, reason);
}

ELEMENTWISE(lsqr_start)
{
  OUT(LSQR_W) = c[0] * READ(LSQR_Z);
  return poiseDots(0, 0, 0);
}

/* lsqr_step: rotate; x += (phi / rho) w; sum += (w / rho)^2 (may be absent); w = z / alpha - (theta / rho) w;
   decides. */
PROLOGUE(lsqr_step)
{
  int now = a->parity, next = !now;
  double alpha2 = in[LSQR_ALPHA2 + next], beta2 = in[LSQR_BETA2 + next], old2 = in[LSQR_ALPHA2 + now];
  double alpha = sqrt(fabs(alpha2)), beta = sqrt(beta2), rhobar = in[LSQR_RHOBAR + now];
  double rho = sqrt(rhobar * rhobar + beta2), cosine = rhobar / rho, sine = beta / rho;
  double phi = cosine * in[LSQR_PHIBAR + now], norm = sine * in[LSQR_PHIBAR + now];
  double size2 = in[LSQR_SIZE2 + now] + old2 + beta2, its = in[SLOT_ITS + now];
  if (poiseLSQRIndefinite(in, alpha2)) {
    poiseFinish(out, REASON_INDEFINITE_PC, its);
    return 0;
  }
  out[LSQR_RHOBAR + next] = -cosine * alpha;
  out[LSQR_PHIBAR + next] = norm;
  out[LSQR_SIZE2 + next] = size2;
  out[LSQR_OF_PRODUCT] = 1 / alpha;
  out[LSQR_OF_U] = -alpha / beta;
  c[0] = phi / rho;
  c[1] = alpha2 == 0 ? 0 : 1 / alpha;
  c[2] = sine * alpha / rho;
  c[3] = 1 / rho;
  int reason = poiseTestNext(in, a, norm);
  poiseConclude(in, out, a, norm,
                poiseLSQRReason(in, a, reason, alpha * fabs(cosine) * norm, sqrt(size2), norm));
  return 1;
}

ELEMENTWISE(lsqr_step)
{
  double w = READ(LSQR_W);
  OUT(LSQR_X) = READ(LSQR_X) + c[0] * w;
  if (a->out[LSQR_SUM]) OUT(LSQR_SUM) = READ(LSQR_SUM) + c[3] * w * (c[3] * w);
  OUT(LSQR_W) = c[1] * READ(LSQR_Z) - c[2] * w;
  return poiseDots(0, 0, 0);
}

/* ---- CGLS ------------------------------------------------------------------------------------ */

enum { CGLS_S, CGLS_Z, CGLS_P, CGLS_X, CGLS_Q, CGLS_R }; /* operands; the last two have A's rows */

enum {
  CGLS_GAMMA = SLOT_FIRST_OWN, /* (s, z); two, by parity */
  CGLS_GAMMA_ODD,
  CGLS_SIZE2, /* the trace of the matrix of Lanczos, which is the sum in LSQR_SIZE2; likewise */
  CGLS_SIZE2_ODD,
  CGLS_SS, /* (s, s) */
  CGLS_QQ, /* (q, q) */
  CGLS_ALPHA,
  CGLS_END
};

/* The reason that (s, z) = gamma adds. */
POISE_INLINE int poiseCGLSReason(int reason, double gamma, double ss)
{
  if (reason) return reason;
  if (ss == 0) return REASON_ATOL;
  if (!poiseFinite(gamma)) return REASON_NANORINF;
  return gamma > 0 ? 0 : REASON_INDEFINITE_PC;
}

/* cgls_start: the first norm, |s|; p = z. k: rtol relative to |A^T b|. */
PROLOGUE(cgls_start)
{
  double norm = sqrt(in[CGLS_SS]);
  int reason = poiseTestFirst(in, a, norm, (int)a->k);
  out[CGLS_SIZE2 + a->parity] = 0;
  poiseConcludeFirst(in, out, a, norm, (int)a->k,
                     poiseCGLSReason(reason, in[CGLS_GAMMA + a->parity], in[CGLS_SS]));
  return 1;
}

ELEMENTWISE(cgls_start)
{
  OUT(CGLS_P) = READ(CGLS_Z);
  return poiseDots(0, 0, 0);
}

/* cgls_residual: alpha = gamma / (q, q); r -= alpha q. */
PROLOGUE(cgls_residual)
{
  double qq = in[CGLS_QQ];
  if (!poiseFinite(qq)) return poiseStop(in, out, a, REASON_NANORINF);
  if (qq == 0) return poiseStop(in, out, a, REASON_BREAKDOWN);
  out[CGLS_ALPHA] = c[0] = in[CGLS_GAMMA + a->parity] / qq;
  return 1;
}

ELEMENTWISE(cgls_residual)
{
  OUT(CGLS_R) = READ(CGLS_R) - c[0] * READ(CGLS_Q);
  return poiseDots(0, 0, 0);
}

/* cgls_direction: x += alpha p; beta = gamma' / gamma; p = z + beta p; decides. */
PROLOGUE(cgls_direction)
{
  double gamma = in[CGLS_GAMMA + !a->parity], old = in[CGLS_GAMMA + a->parity], norm = sqrt(in[CGLS_SS]);
  c[0] = in[CGLS_ALPHA];
  c[1] = gamma / old;
  out[CGLS_SIZE2 + !a->parity] = in[CGLS_SIZE2 + a->parity] + (1 + gamma / old) / in[CGLS_ALPHA];
  poiseConclude(in, out, a, norm, poiseCGLSReason(poiseTestNext(in, a, norm), gamma, in[CGLS_SS]));
  return 1;
}

ELEMENTWISE(cgls_direction)
{
  double p = READ(CGLS_P);
  OUT(CGLS_X) = READ(CGLS_X) + c[0] * p;
  OUT(CGLS_P) = READ(CGLS_Z) + c[1] * p;
  return poiseDots(0, 0, 0);
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The phases of methods that keep their directions d and c = A d: fcg and gcr. They begin as cg does. */
#ifndef POISE_DIRECTIONS_PHASES_H
#define POISE_DIRECTIONS_PHASES_H

#include "cg_phases.h"

enum { DIR_X, DIR_R, DIR_D, DIR_C }; /* operands */

/* Slots beside those of cg, of which CG_PQ is what the step is divided by: (d, c) or (c, c). */
enum { DIR_STEP = CG_ALPHA + 1 /* (r, d) or (r, c) */, DIR_END };

/* directions_update: alpha = step / pq; x += alpha d; r -= alpha c; d and c are divided by sqrt(pq); dot (r,
   r). k: the reason where pq is not positive. */
PROLOGUE(directions_update)
{
  double pq = in[CG_PQ];
  if (!poiseFinite(pq)) return poiseStop(in, out, a, REASON_NANORINF);
  if (pq <= 0) return poiseStop(in, out, a, (int)a->k);
  c[0] = in[DIR_STEP] / pq;
  c[1] = 1 / sqrt(pq);
  return 1;
}

ELEMENTWISE(directions_update)
{
  double alpha = c[0], d = READ(DIR_D), q = READ(DIR_C), r = READ(DIR_R) - alpha * q;
  OUT(DIR_X) = READ(DIR_X) + alpha * d;
  OUT(DIR_R) = r;
  OUT(DIR_D) = c[1] * d;
  OUT(DIR_C) = c[1] * q;
  return poiseDots(r * r, 0, 0);
}

/* fcg_decide: as cg decides. */
PROLOGUE(fcg_decide)
{
  double rz = in[CG_RZ + !a->parity], old = in[CG_RZ + a->parity], nn = in[CG_NN],
         norm = poiseCGNorm(a, rz, nn);
  poiseConclude(in, out, a, norm, poiseCGReason(a, poiseTestNext(in, a, norm), rz, old, nn));
  return 0;
}

/* gcr_start: the first norm. k: rtol relative to |b|. */
PROLOGUE(gcr_start)
{
  double norm = sqrt(in[CG_NN]);
  int reason = poiseTestFirst(in, a, norm, (int)a->k);
  poiseConcludeFirst(in, out, a, norm, (int)a->k, !reason && norm == 0 ? REASON_ATOL : reason);
  return 0;
}

/* gcr_decide */
PROLOGUE(gcr_decide)
{
  double norm = sqrt(in[CG_NN]);
  int reason = poiseTestNext(in, a, norm);
  poiseConclude(in, out, a, norm, !reason && norm == 0 ? REASON_ATOL : reason);
  return 0;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The phases of QMR behind those of BiCG (see qmr.c). As in tfqmr, a step has c^2 of its rotation: x += c^2
   alpha d, and the next d gets (1 - c^2) alpha / (next alpha) of this one. */
#ifndef POISE_QMR_PHASES_H
#define POISE_QMR_PHASES_H

#include "bicg_phases.h"
#include "tfqmr_phases.h"

/* Operands. Z and ZT: z and z~ if M is stored, else r and r~, of which d makes them. */
enum { QMR_Z, QMR_ZT, QMR_D, QMR_X, QMR_P, QMR_PT, QMR_STEP, QMR_S, QMR_R = QMR_D /* if M is stored */ };

enum { QMR_STORED = 1, QMR_BY_R = 2 }; /* flags of qmr_direction: M is stored; s is of r, else of z */

/* Slots. */
enum {
  QMR_TAU = BICG_END, /* and (1 - c^2) alpha of the latest step: two of each, by parity */
  QMR_TAU_ODD,
  QMR_REST,
  QMR_REST_ODD,
  QMR_SS, /* (s, s) */
  QMR_END
};

/* qmr_start: tau = the norm at the start. */
PROLOGUE(qmr_start)
{
  out[QMR_TAU + a->parity] = in[BICG_FIRST];
  out[QMR_REST + a->parity] = 0;
  return 0;
}

/* qmr_direction: d = p + rest / alpha d; x += c^2 alpha d; s += c^2 (r - s), of r or z; beta = rho' / rho;
   p = z + beta p; p~ = z~ + beta p~; dot (s, s). */
PROLOGUE(qmr_direction)
{
  double alpha = in[BICG_ALPHA], tau = in[QMR_TAU + a->parity];
  double square = poiseTFQMRRotate(sqrt(in[BICG_NN]), &tau);
  c[0] = in[BICG_RHO + !a->parity] / in[BICG_RHO + a->parity]; /* beta */
  c[1] = in[QMR_REST + a->parity] / alpha;
  c[2] = square * alpha;
  c[3] = square;
  out[QMR_TAU + !a->parity] = tau;
  out[QMR_REST + !a->parity] = (1 - square) * alpha;
  return 1;
}

ELEMENTWISE(qmr_direction)
{
  int stored = (a->flags & QMR_STORED) != 0;
  double beta = c[0], p = READ(QMR_P), step = p + c[1] * READ(QMR_STEP), s = READ(QMR_S), r = READ(QMR_Z);
  double z = stored ? r : poisePoint(a, QMR_D, r, i), zt = READ(QMR_ZT);
  if (stored && a->flags & QMR_BY_R) r = READ(QMR_R);
  s += c[3] * ((a->flags & QMR_BY_R ? r : z) - s);
  OUT(QMR_STEP) = step;
  OUT(QMR_X) = READ(QMR_X) + c[2] * step;
  OUT(QMR_S) = s;
  OUT(QMR_PT) = (stored ? zt : poisePoint(a, QMR_D, zt, i)) + beta * READ(QMR_PT);
  OUT(QMR_P) = z + beta * p;
  return poiseDots(s * s, 0, 0);
}

/* qmr_decide: by |s|. */
PROLOGUE(qmr_decide)
{
  double ss = in[QMR_SS], norm = sqrt(ss);
  poiseConclude(in, out, a, norm, poiseBiCGReason(poiseTestNext(in, a, norm), in[BICG_RHO + !a->parity], ss));
  return 0;
}

#endif

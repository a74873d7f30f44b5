/* SPDX-License-Identifier: BSD-3-Clause */
/* The matrix S = I - omega D^-1 A_F of a step that smooths the prolongation (steps.c). */
#ifndef POISE_AMG_STEPS_KERNELS_H
#define POISE_AMG_STEPS_KERNELS_H

#include "interpolation_kernels.h"

typedef struct AmgStepsArgs {
  int64_t n; /* rows, each of them a node */
  AmgInterpolation p;
  int32_t *length; /* of S's rows */
  CsrView S;       /* offsets */
  int32_t *col;    /* NULL: values alone */
  double *val;
} AmgStepsArgs;

/* Pairs of aggregates that meet at a row of P. */
typedef struct AmgMeetArgs {
  int64_t n; /* rows */
  CsrView P; /* offsets */
  int32_t *pairs;
} AmgMeetArgs;

/* Has S entry k of row i of A? */
POISE_INLINE int poiseAmgIsInStep(const AmgInterpolation *p, int hub, int64_t i, int64_t k)
{
  return p->A.A.col[k] == i || (!hub && poiseAmgIsMarked(p, k));
}

/* Traffic: columns and marks. */
POISE_INLINE void amg_steps_count_item(const AmgStepsArgs *s, int64_t i)
{
  const CsrView *A = &s->p.A.A;
  int hub = poiseAmgIsHub(&s->p, i);
  int32_t n = 0;
  for (int64_t k = poiseCsrOffset(A, i), last = poiseCsrOffset(A, i + 1); k < last; k++)
    n += poiseAmgIsInStep(&s->p, hub, i, k);
  s->length[i] = n;
}

/* Row i of S, with entries [first, last), is that of the identity. */
POISE_INLINE void poiseAmgKeepRow(const AmgStepsArgs *s, int64_t first, int64_t last, int64_t own)
{
  for (int64_t k = first; k < last; k++) s->val[k] = k == own;
}

/* Does a row of S smooth? Weak entries are added to the diagonal, so that A_F b = A b. Where A b is far from
   0, as in rows of slopes, for which a b of ones is wrong, such a row enlarges P from step to step. It does
   if the diagonal entry of D^-1 A_F is not in the spectrum of D^-1 A, from 0 to lambda; or if b grows by more
   than a third, which it does not where A b is about 0. step: omega times that entry. */
POISE_INLINE int poiseAmgMaySmooth(double step, double b, double Sb)
{
  const double most = 4.0 / 3; /* omega lambda */
  return step >= 0 && step <= most && fabs(Sb) <= most * fabs(b);
}

/* Traffic: A, marks, b, and S. */
POISE_INLINE void amg_steps_write_item(const AmgStepsArgs *s, int64_t i)
{
  const AmgInterpolation *p = &s->p;
  const CsrView *A = &p->A.A;
  int hub = poiseAmgIsHub(p, i);
  int64_t at = poiseCsrOffset(&s->S, i), own = -1;
  double weak = 0, strong = 0, diagonal = 0, scale = p->omega * p->d[i], bi = p->b ? p->b[i] : 0;
  for (int64_t k = poiseCsrOffset(A, i), last = poiseCsrOffset(A, i + 1); k < last; k++) {
    int32_t j = A->col[k];
    double b = p->b ? p->b[j] : 0;
    if (!poiseAmgIsInStep(p, hub, i, k)) {
      weak += A->val[k] * b;
      continue;
    }
    strong += A->val[k] * b;
    if (j == i) own = at, diagonal = A->val[k];
    if (s->col) s->col[at] = j;
    s->val[at++] = -scale * A->val[k];
  }
  if (bi != 0) diagonal += weak / bi;
  if (own >= 0) s->val[own] = 1 - scale * diagonal;
  if (!poiseAmgMaySmooth(scale * diagonal, bi, bi - scale * (strong + weak)))
    poiseAmgKeepRow(s, poiseCsrOffset(&s->S, i), at, own);
}

/* As many as a number can tell. Traffic: 12 bytes. */
POISE_INLINE void amg_meet_item(const AmgMeetArgs *m, int64_t i)
{
  int64_t n = poiseCsrOffset(&m->P, i + 1) - poiseCsrOffset(&m->P, i);
  m->pairs[i] = n * n < INT32_MAX ? (int32_t)(n * n) : INT32_MAX;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* What contenders computed is compared with loops on the host. */
#ifndef BENCH_CHECK_H
#define BENCH_CHECK_H

#include "peer.h"

/* Of one more operation: a product's |y - A x| over |A| |x|, row by row, |b - A x| / |b| of the longer solve,
   and such; NAN where nothing is looked at. early: the same of a solve of few iterations, in which rounding
   errors have not grown yet. Of long runs both are of one of some more iterations. */
PoiseErr Check(const Task *task, Contender *c, double *error, double *early);
/* |b - A x| / |b| */
double TrueResidual(const Rows *A, const double *b, const double *x);
/* Solves by the same method must get equally far early, that is about as far as the best of them. */
bool Wrong(const Task *task, double early, double least);

#endif

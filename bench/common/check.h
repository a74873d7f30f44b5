/* SPDX-License-Identifier: BSD-3-Clause */
/* What contenders computed is compared with loops on the host. */
#ifndef BENCH_CHECK_H
#define BENCH_CHECK_H

#include "peer.h"

/* Of what the last operation left: a product's |y - A x| over |A| |x|, row by row, a solve's |b - A x| / |b|, and such; NAN where
   nothing is looked at. */
PoiseErr Check(const Task *task, Contender *c, double *error);
/* Solves by the same method must get equally far, that is as far as the best of them; where rounding errors grow, as in BiCGSTAB, only
   numbers are asked for. */
bool Wrong(const Task *task, double error, double least);

#endif

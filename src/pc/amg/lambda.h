/* SPDX-License-Identifier: BSD-3-Clause */
/* Set-up: the largest eigenvalue of D^-1 A. */
#ifndef POISE_AMG_LAMBDA_H
#define POISE_AMG_LAMBDA_H

#include "mat/object/mat.h"
#include "matrix_kernels.h"

/* *lambda: a bound, nearly always, of the spectrum of D^-1 A. Not finite if A is not. *sums: the largest sum
   of a row of |D^-1 A|; infinity where nodes have several rows. Both the same on all ranks of ctx. mine:
   this rank's error so far. Collective; the caller agrees. */
PoiseErr poiseAmgLambda(PoiseContext ctx, PoiseErr mine, const AmgMatrix *m, const double *d, double *lambda,
                        double *sums);
/* Is D^-1 A b above 0.1 lambda b, for constants b? Nodes have one row. The same on all ranks. Collective;
   agrees. */
PoiseErr poiseAmgIsFar(PoiseContext ctx, const AmgMatrix *m, const double *d, const double *b, double rows,
                       double lambda, bool *far);
/* *left: what 12 steps of the Chebyshev iteration on [lambda / 20, lambda] for A b = 0 leave of constants b,
   as a part of their norm. b becomes a multiple of that, if `change`, and it is not longer. As above. */
PoiseErr poiseAmgRelax(PoiseContext ctx, const AmgMatrix *m, const double *d, Buffer *b, double rows,
                       double lambda, bool change, double *left);
/* Is A b = 0, but for rounding? b: numbers of about 1. As above. */
PoiseErr poiseAmgIsNull(PoiseContext ctx, const AmgMatrix *m, const double *d, const double *b, double rows,
                        bool *null);
/* *to: the sum of n numbers, and to[1] 1 over its root; or *to alone, the largest of numbers that are not
   negative. scratch: two arrays of n / 1024 + 1 numbers. All are on the device. */
PoiseErr poiseAmgAdd(Device *dev, int64_t n, const double *x, bool largest, double *const scratch[2],
                     double *to);

#endif

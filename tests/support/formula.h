/* SPDX-License-Identifier: BSD-3-Clause */
/* Rectangular matrices whose entries follow from a formula: products of them, judged entry by entry. */
#ifndef POISE_TEST_FORMULA_H
#define POISE_TEST_FORMULA_H

#include "sample.h"

typedef struct Formula {
  double (*value)(const void *shape, PoiseInt i, PoiseInt j);
  const void *shape;
  PoiseInt reach; /* all is 0 beyond |i - j| = reach; < 0: anything may be there */
  double terms;   /* that an entry is the sum of, with their sizes, at most */
} Formula;

/* y = scale op(A) x + shift, within a multiple of roundoff of the sum's size. */
static inline bool FormulaIsProduct(const Formula *f, bool transposed, double scale, PoiseVec x, PoiseVec y,
                                    double shift)
{
  PoiseInt begin, end, n = PoiseVecSize(x);
  double *all = calloc((size_t)n + 1, sizeof *all);
  const double *p;
  bool good = CHECK(all != NULL) && CHECK_OK(SampleFromVec(x, all));
  PoiseVecRange(y, &begin, &end);
  if (good && CHECK_OK(PoiseVecGetRead(y, &p))) {
    for (PoiseInt i = begin; i < end; i++) {
      long double sum = 0, size = fabs(shift);
      PoiseInt first = f->reach >= 0 && i > f->reach ? i - f->reach : 0,
               last = f->reach >= 0 && i + f->reach < n ? i + f->reach + 1 : n;
      for (PoiseInt j = first; j < last; j++) {
        long double v =
            (long double)(transposed ? f->value(f->shape, j, i) : f->value(f->shape, i, j)) * all[j];
        sum += v, size += f->terms * fabsl(v);
      }
      double error = fabs((double)(p[i - begin] - scale * sum - shift));
      good = good && error <= 1e-13 * fabs(scale) * (double)size + 1e-15 * fabs(shift);
    }
    PoiseVecRestore(y, &p);
  }
  free(all);
  return good;
}

#endif

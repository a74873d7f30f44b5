/* SPDX-License-Identifier: BSD-3-Clause */
/* The coarsest level. */
#ifndef POISE_AMG_BOTTOM_H
#define POISE_AMG_BOTTOM_H

#include "mat/object/mat.h"
#include "matrix_kernels.h"

enum { AMG_DENSE_MOST = 4096 }; /* rows of a dense inverse, unless there are no sparse factors */

typedef struct AmgBottom {
  int64_t n, skipped; /* rows; those that depend on others, as where A is singular */
  bool lu;            /* not symmetric, or not definite: factors and exchanges; else the inverse */
  PoisePC sparse;     /* lu, which solves in place of both: rows are this rank's, and `lu` is set; or NULL */
  double sign;        /* of the diagonal, where it is inverted; 0: there are only zeros */
  Buffer dense, pivot, work, result;
} AmgBottom;

typedef struct AmgKnown { /* of the level; NULL: not known */
  const double *size;     /* of its diagonal entries; else they are |a_ii| */
  const double *d, *b;    /* D^-1 and the near null space, of nodes of one row and one vector */
} AmgKnown;

/* Not to be solved: *why says so, and the smoother serves instead. */
PoiseErr poiseAmgBottomSetUp(PoiseContext ctx, const AmgMatrix *m, const AmgKnown *known, AmgBottom *bottom,
                             const char **why);
/* Is one of so many rows, if it is solved, by sparse factors? */
bool poiseAmgBottomIsSparse(int64_t rows);
/* The same by sparse factors, of an A of any size. Collective. */
PoiseErr poiseAmgBottomFactor(PoiseMat A, AmgBottom *bottom, const char **why);
/* Before it is applied to vectors with so many columns. Collective where the matrix is; the caller agrees. */
PoiseErr poiseAmgBottomReadyColumns(AmgBottom *bottom, int columns);
PoiseErr poiseAmgBottomApply(Device *dev, AmgBottom *bottom, PoiseVec r, PoiseVec z, const double *skip);
void poiseAmgBottomBytes(const AmgBottom *bottom, PoiseBytes *sum);
void poiseAmgBottomDestroy(AmgBottom *bottom);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Products with wide vectors, of several columns, compared with the ordinary product of each column. */
#ifndef WIDE_H
#define WIDE_H

#include "mat/object/mat.h"
#include "sample.h"

enum { WIDE_COUNTS = 7 };
static const int wide_counts[WIDE_COUNTS] = {1, 2, 3, 7, 8, 17, 32};

typedef struct Wide { /* vectors of a product, and of its columns */
  PoiseVec X, Y, x, y, of_Y;
} Wide;

static inline bool WideOpen(const Layout *in, const Layout *out, int k, Wide *w)
{
  *w = (Wide){NULL};
  return CHECK_OK(PoiseVecCreateBlock(in->ctx, in->n, in->N, k, &w->X)) &&
         CHECK_OK(PoiseVecCreateBlock(in->ctx, out->n, out->N, k, &w->Y)) &&
         CHECK_OK(PoiseVecCreate(in->ctx, in->n, in->N, &w->x)) &&
         CHECK_OK(PoiseVecCreate(in->ctx, out->n, out->N, &w->y)) &&
         CHECK_OK(PoiseVecCreate(in->ctx, out->n, out->N, &w->of_Y));
}

static inline void WideClose(Wide *w)
{
  CHECK_OK(PoiseVecDestroy(&w->X));
  CHECK_OK(PoiseVecDestroy(&w->Y));
  CHECK_OK(PoiseVecDestroy(&w->x));
  CHECK_OK(PoiseVecDestroy(&w->y));
  CHECK_OK(PoiseVecDestroy(&w->of_Y));
}

/* The same numbers: bits where kernels are the host's, else but for rounding; NaN where NaN is. */
static inline bool WideSame(PoiseVec a, PoiseVec b, double tol)
{
  const double *p, *q;
  bool bits = strcmp(a->ctx->device->ops->name, "cuda") != 0, same = true;
  if (!CHECK_OK(PoiseVecGetRead(a, &p)) || !CHECK_OK(PoiseVecGetRead(b, &q))) return false;
  for (PoiseInt i = 0; i < a->layout->n; i++)
    same &= isnan(q[i]) ? isnan(p[i]) : bits ? p[i] == q[i] : fabs(p[i] - q[i]) <= tol * (1 + fabs(q[i]));
  CHECK_OK(PoiseVecRestore(a, &p));
  CHECK_OK(PoiseVecRestore(b, &q));
  return same;
}

/* Y = A X, or A^T X, of k columns. Column `nan` of X is NaN. What Y held does not matter. */
static inline void WideProduct(PoiseMat A, bool transposed, int k, int nan, double tol)
{
  Wide w;
  const Layout *in = transposed ? A->rows : A->cols, *out = transposed ? A->cols : A->rows;
  if (!WideOpen(in, out, k, &w)) return;
  for (int j = 0; j < k; j++) {
    SampleFill(w.x, (uint64_t)(70 + j));
    if (j == nan) SampleConstant(w.x, NAN);
    CHECK_OK(PoiseVecSetColumn(w.X, j, w.x));
  }
  CHECK_OK(PoiseVecSet(w.Y, NAN));
  CHECK_OK(transposed ? PoiseMatMultTransposeBlock(A, w.X, w.Y) : PoiseMatMultBlock(A, w.X, w.Y));
  for (int j = 0; j < k; j++) {
    CHECK_OK(PoiseVecGetColumn(w.X, j, w.x));
    CHECK_OK(PoiseVecGetColumn(w.Y, j, w.of_Y));
    CHECK_OK(transposed ? PoiseMatMultTranspose(A, w.x, w.y) : PoiseMatMult(A, w.x, w.y));
    CHECK(WideSame(w.of_Y, w.y, tol));
  }
  WideClose(&w);
}

/* Any number of columns, in either direction; of long matrices few. */
static inline void WideProducts(PoiseMat A, double tol)
{
  bool is_long = A->rows->N + A->cols->N > 1000;
  for (int c = 0; c < WIDE_COUNTS; c++)
    for (int transposed = 0; transposed < 2 && (!is_long || c % 3 == 1); transposed++)
      WideProduct(A, transposed, wide_counts[c], c % 2 ? -1 : 1, tol);
}

#endif

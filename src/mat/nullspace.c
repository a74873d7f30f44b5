/* SPDX-License-Identifier: BSD-3-Clause */
/* The null space that a user knows of: an orthonormal basis kept with the matrix, for solvers to keep out of. */
#include "mat.h"

void poiseNullSpaceDestroy(PoiseMat A)
{
  for (int k = 0; k < A->nnull; k++) PoiseVecDestroy(&A->null[k]);
  A->nnull = 0;
}

static PoiseErr Check(PoiseMat A, int count, int n, const PoiseVec *v)
{
  if (n < 0 || count > POISE_MAX_BATCH)
    FAIL(POISE_ERR_ARG, "a null space of %d vectors, there can be %d", count, POISE_MAX_BATCH);
  if (count && A->cols->N == 0) FAIL(POISE_ERR_ARG, "a matrix without columns has no null space");
  for (int k = 0; k < n; k++)
    if (v[k]->ctx != A->ctx || !poiseLayoutSame(A->cols, v[k]->layout))
      FAIL(POISE_ERR_SIZE, "A has %lld columns, vector %d of its null space %lld entries", (long long)A->cols->N, k,
           (long long)v[k]->layout->N);
  return POISE_OK;
}

/* Vector k and those before it. */
static PoiseErr CheckOrthonormal(const PoiseVec *v, int k)
{
  const double most = 1e-8;
  double dots[POISE_MAX_BATCH];
  TRY(PoiseVecMDot(v[k], k + 1, v, dots));
  for (int j = 0; j <= k; j++)
    if (!(fabs(dots[j] - (j == k)) <= most))
      FAIL(POISE_ERR_ARG, "the vectors of the null space are not orthonormal: the product of numbers %d and %d is %.10g", j,
           k, dots[j]);
  return POISE_OK;
}

static PoiseErr Add(PoiseMat A, int n, const PoiseVec *v, int constant, int *count, PoiseVec *basis)
{
  for (int k = 0; k < n + constant; k++) {
    TRY(poiseVecCreateLayout(A->cols, &basis[k]));
    *count = k + 1;
    TRY(PoiseAgree(A->ctx, k < n ? PoiseVecCopy(v[k], basis[k]) : PoiseVecSet(basis[k], 1 / sqrt((double)A->cols->N))));
    TRY(CheckOrthonormal(basis, k));
  }
  return POISE_OK;
}

PoiseErr PoiseMatSetNullSpace(PoiseMat A, int constant, int n, const PoiseVec *v)
{
  PoiseVec basis[POISE_MAX_BATCH];
  int count = 0;
  TRY(PoiseAgree(A->ctx, Check(A, n + (constant != 0), n, v)));
  PoiseErr e = Add(A, n, v, constant != 0, &count, basis);
  for (int k = 0; e && k < count; k++) PoiseVecDestroy(&basis[k]);
  if (e) return e;
  poiseNullSpaceDestroy(A);
  memcpy(A->null, basis, (size_t)count * sizeof *basis);
  A->nnull = count;
  A->pattern++; /* a captured loop knows the vectors */
  return POISE_OK;
}

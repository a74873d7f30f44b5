/* SPDX-License-Identifier: BSD-3-Clause */
/* Null spaces of A and A^T, given by the user: orthonormal bases kept with the matrix, which solvers keep
   out of. Also the near null space, for preconditioners, of any vectors. */
#include "mat.h"

void poiseNullSpaceDestroy(NullSpace *space)
{
  for (int k = 0; k < space->n; k++) PoiseVecDestroy(&space->v[k]);
  space->n = 0;
}

typedef struct Given {
  Layout *layout;
  const char *entries; /* what entries of a vector are: the matrix's rows or columns */
  int constant, n;
  const PoiseVec *v;
  bool near; /* which need not be orthonormal */
} Given;

static PoiseErr Check(PoiseMat A, const Given *g)
{
  int count = g->n + g->constant;
  if (g->n < 0 || count > POISE_MAX_BATCH)
    FAIL(POISE_ERR_ARG, "a null space of %d vectors, there can be %d", count, POISE_MAX_BATCH);
  if (count && g->layout->N == 0) FAIL(POISE_ERR_ARG, "a matrix without %s has no null space", g->entries);
  TRY(poiseCheckCall("PoiseMatSetNullSpace", PARAMETERS(OBJECT(A), ARRAY_OF(g->n, g->v))));
  for (int k = 0; k < g->n; k++) {
    TRY(poiseCheckCall("PoiseMatSetNullSpace", PARAMETERS(OBJECT(A), OBJECT(g->v[k]))));
    if (!poiseLayoutSame(g->layout, g->v[k]->layout))
      FAIL(POISE_ERR_SIZE, "A has %lld %s, vector %d of its null space %lld entries", (long long)g->layout->N,
           g->entries, k, (long long)g->v[k]->layout->N);
  }
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
      FAIL(POISE_ERR_ARG,
           "the vectors of the null space are not orthonormal: the product of numbers %d and %d is %.10g", j,
           k, dots[j]);
  return POISE_OK;
}

static PoiseErr CheckSize(PoiseVec v, int k)
{
  double norm;
  TRY(PoiseVecNorm(v, POISE_NORM_2, &norm));
  if (!(norm > 0) || !poiseFinite(norm))
    FAIL(POISE_ERR_ARG, "vector %d of the near null space has norm %g", k, norm);
  return POISE_OK;
}

static PoiseErr Copy(PoiseMat A, const Given *g, NullSpace *space)
{
  for (int k = 0; k < g->n + g->constant; k++) {
    TRY(poiseVecCreateLayout(g->layout, &space->v[k]));
    space->n = k + 1;
    PoiseErr e = k < g->n ? PoiseVecCopy(g->v[k], space->v[k])
                          : PoiseVecSet(space->v[k], 1 / sqrt((double)g->layout->N));
    TRY(PoiseAgree(A->ctx, e));
    TRY(g->near ? CheckSize(space->v[k], k) : CheckOrthonormal(space->v, k));
  }
  return POISE_OK;
}

/* Replace the space by the given one, if that is valid. */
static PoiseErr Replace(PoiseMat A, const Given *g, NullSpace *space)
{
  NullSpace fresh = {0};
  TRY(PoiseAgree(A->ctx, Check(A, g)));
  PoiseErr e = Copy(A, g, &fresh);
  bool other = fresh.n || space->n;
  poiseNullSpaceDestroy(e ? &fresh : space);
  if (e) return e;
  *space = fresh;
  if (other && g->near) A->version.near++;
  if (other && !g->near) A->version.spaces++;
  return POISE_OK;
}

PoiseErr PoiseMatSetNullSpace(PoiseMat A, int constant, int n, const PoiseVec *v)
{
  CALLED(OBJECT(A));
  return Replace(A, &(Given){A->cols, "columns", constant != 0, n, v, false}, &A->null);
}

PoiseErr PoiseMatSetTransposeNullSpace(PoiseMat A, int constant, int n, const PoiseVec *v)
{
  CALLED(OBJECT(A));
  return Replace(A, &(Given){A->rows, "rows", constant != 0, n, v, false}, &A->left);
}

PoiseErr PoiseMatSetNearNullSpace(PoiseMat A, int constant, int n, const PoiseVec *v)
{
  CALLED(OBJECT(A));
  return Replace(A, &(Given){A->cols, "columns", constant != 0, n, v, true}, &A->near);
}

PoiseErr PoiseMatGetNearNullSpace(PoiseMat A, int *n, const PoiseVec **v)
{
  CALLED(OBJECT(A), GIVEN(n), GIVEN(v));
  *n = A->near.n;
  *v = A->near.v;
  return POISE_OK;
}

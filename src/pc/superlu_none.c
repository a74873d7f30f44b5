/* SPDX-License-Identifier: BSD-3-Clause */
/* A library without SuperLU. */
#include "lu.h"

bool poiseSuperLUIsThere(void)
{
  return false;
}

PoiseErr poiseSuperLUFactor(PoiseContext ctx, int64_t n, int **ptr, int **row, double **val, FactorHow how,
                            SparseFactors **f, Singular *singular, SparseFacts *facts)
{
  (void)n, (void)how, (void)f, (void)facts;
  poiseFree(ctx, ptr);
  poiseFree(ctx, row);
  poiseFree(ctx, val);
  *singular = (Singular){0};
  FAIL(POISE_ERR_UNSUPPORTED, "this library was built without SuperLU (POISE_SUPERLU=ON)");
}

PoiseErr poiseSuperLUSolve(SparseFactors *f, int columns, double *x)
{
  (void)f, (void)columns, (void)x;
  return POISE_OK;
}

int64_t poiseSuperLUBytes(const SparseFactors *f)
{
  (void)f;
  return 0;
}

void poiseSuperLUDestroy(PoiseContext ctx, SparseFactors **f)
{
  (void)ctx, (void)f;
}

double poiseSuperLUCondition(SparseFactors *f)
{
  (void)f;
  return 0;
}

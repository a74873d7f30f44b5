/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The coarsest level: a dense inverse, applied as a product, which all devices do well. It costs n^3 / 2
  multiply-adds of a symmetric matrix, by sweeps (A. Dempster, Elements of continuous multivariate analysis,
  1969; J. Goodnight, A tutorial on the SWEEP operator, The American Statistician 33, 1979). A sweep over a
  pivot that is 0 to rounding is left out. The result is then an inverse on the rows that the others depend
  on, and 0 elsewhere: positive semidefinite, and A X A = A.

  What is not symmetric, or not definite, is factored with partial pivoting, as lu does. It is not where the
  near null space shows that it is singular. What is too large for a dense inverse gets the sparse factors of
  lu. Those that do not solve for a right-hand side of 1 and -1 are of a singular matrix.
*/
#include "pc/lu.h"
#include "bottom.h"
#include "lambda.h"
#include "rows.h"
#include "amg_kernels.h"
#include "bottom_kernels.h"

enum { REFUSED_PIVOT_ROW = 0 };

void poiseAmgBottomDestroy(AmgBottom *b)
{
  poiseBufferDestroy(&b->dense);
  poiseBufferDestroy(&b->pivot);
  poiseBufferDestroy(&b->work);
  poiseBufferDestroy(&b->result);
  poisePCDestroy(&b->sparse);
  *b = (AmgBottom){0};
}

void poiseAmgBottomBytes(const AmgBottom *b, PoiseBytes *sum)
{
  poiseBufferAdd(&b->dense, sum);
  poiseBufferAdd(&b->pivot, sum);
  poiseBufferAdd(&b->work, sum);
  poiseBufferAdd(&b->result, sum);
  PoiseBytes held;
  if (!b->sparse || PoisePCBytes(b->sparse, &held)) return;
  sum->host += held.host;
  sum->device += held.device;
}

/* The matrix in b->dense. */
static PoiseErr Fill(Device *dev, AmgBottom *b, const AmgMatrix *m, double **a)
{
  AmgFillArgs f = {.n = b->n, .A = m->A};
  poiseBufferZero(&b->dense);
  TRY(poiseBufferUpdate(&b->dense, DEVICE, &f.a));
  *a = f.a;
  return LAUNCH(dev, amg_fill, &f);
}

/* A kernel allocates nothing: all that it works with. */
static PoiseErr Open(Device *dev, AmgInvertArgs *a, Buffer *scratch)
{
  double *p;
  int64_t panel = AMG_PANEL * a->n, block = AMG_PANEL * AMG_PANEL;
  TRY(poiseAmgMake(dev, 2 * a->n + 2 * panel + block + AMG_PANEL + 1 + AMG_RESULTS, sizeof *p,
                   "scratch of the coarsest level", scratch, &p));
  a->scale = p, a->zero = p + a->n, a->w = a->zero + a->n, a->v = a->w + panel, a->block = a->v + panel;
  a->swept = a->block + block, a->sign = a->swept + AMG_PANEL, a->result = a->sign + 1;
  return POISE_OK;
}

static PoiseErr Invert(Device *dev, AmgBottom *b, const AmgMatrix *m, const double *size, Buffer *scratch,
                       bool *done)
{
  AmgInvertArgs a = {.n = b->n, .size = size};
  double found[1 + AMG_RESULTS], *result = found + 1; /* sign, result */
  TRY(Open(dev, &a, scratch));
  TRY(Fill(dev, b, m, &a.a));
  TRY(LAUNCH(dev, amg_invert, &a));
  TRY(poiseDeviceFetch(dev, a.sign, sizeof found, found));
  b->sign = found[0];
  *done = result[AMG_REFUSED] == 0;
  b->skipped = (int64_t)result[AMG_SKIPPED];
  return POISE_OK;
}

/* ---- factors with pivoting ------------------------------------------------------------------- */

static PoiseErr Factor(Device *dev, AmgBottom *b, const AmgMatrix *m, bool *singular)
{
  size_t n = (size_t)b->n, room = n * POISE_MAX_COLUMNS;
  double *work, result[2];
  LuFactorArgs f = {.n = b->n, .zero = 2.220446049250313e-14};
  if (!b->pivot.dev) TRY(poiseBufferCreate(dev, n * sizeof(int32_t), "row exchanges", &b->pivot));
  if (!b->work.dev) TRY(poiseBufferCreate(dev, room * sizeof(double), "solution of dense factors", &b->work));
  if (!b->result.dev) TRY(poiseBufferCreate(dev, sizeof result, "refused pivot", &b->result));
  TRY(Fill(dev, b, m, &f.a));
  TRY(poiseBufferWrite(&b->work, DEVICE, &work)); /* a captured loop allocates nothing */
  TRY(poiseBufferWrite(&b->pivot, DEVICE, &f.pivot));
  TRY(poiseBufferWrite(&b->result, DEVICE, &f.refused));
  TRY(LAUNCH(dev, lu_factor, &f));
  TRY(poiseDeviceFetch(dev, f.refused, sizeof result, result));
  *singular = result[REFUSED_PIVOT_ROW] >= 0;
  return POISE_OK;
}

PoiseErr poiseAmgBottomSetUp(PoiseContext ctx, const AmgMatrix *m, const AmgKnown *known, AmgBottom *b,
                             const char **why)
{
  int64_t n = m->nodes * m->node;
  Buffer scratch = {0};
  bool done = false, singular = false;
  *why = NULL;
  if (!b->dense.dev || b->n != n || b->sparse) {
    poiseAmgBottomDestroy(b);
    b->n = n;
    TRY(poiseBufferCreate(ctx->device, (size_t)(n * n) * sizeof(double), "coarsest level", &b->dense));
  }
  PoiseErr e = Invert(ctx->device, b, m, known->size, &scratch, &done);
  poiseBufferDestroy(&scratch);
  TRY(e);
  b->lu = !done;
  if (b->lu && known->b) TRY(poiseAmgIsNull(ctx, m, known->d, known->b, (double)n, &singular));
  if (b->lu && !singular) TRY(Factor(ctx->device, b, m, &singular));
  if (singular) *why = "its matrix is singular, and not symmetric or not definite";
  return POISE_OK;
}

/* ---- sparse factors -------------------------------------------------------------------------- */

bool poiseAmgBottomIsSparse(int64_t rows)
{
  return rows > AMG_DENSE_MOST && poiseSuperLUIsThere();
}

static PoiseErr Measure(PoisePC pc, PoiseVec r, PoiseVec z, PoiseVec left, double *norm)
{
  double *x;
  TRY(poiseBufferWrite(&r->data, HOST, &x));
  for (int64_t i = 0; i < r->layout->n; i++)
    x[i] = poiseMix(1, (uint64_t)(r->layout->begin + i)) & 1 ? 1 : -1;
  TRY(PoisePCApply(pc, r, z));
  TRY(PoiseMatResidual(pc->P, r, z, left));
  return PoiseVecNorm(left, POISE_NORM_INF, norm);
}

/* Collective. */
static PoiseErr CheckSolve(PoisePC pc, bool *good)
{
  const double most = 1e-6;
  PoiseVec r = NULL, z = NULL, left = NULL;
  double norm = INFINITY;
  PoiseErr e = PoiseMatCreateVecs(pc->P, &z, &r);
  if (!e) e = PoiseVecDuplicate(r, &left);
  if (!e) e = Measure(pc, r, z, left, &norm);
  PoiseVecDestroy(&r);
  PoiseVecDestroy(&z);
  PoiseVecDestroy(&left);
  *good = norm <= most;
  return e;
}

PoiseErr poiseAmgBottomFactor(PoiseMat A, AmgBottom *b, const char **why)
{
  bool good = false;
  *why = NULL;
  if (!b->sparse) {
    poiseAmgBottomDestroy(b);
    TRY(PoisePCCreate(PoiseMatContext(A), &b->sparse));
    TRY(PoisePCSetType(b->sparse, "lu"));
  }
  b->n = A->rows->n, b->lu = true;
  TRY(PoisePCSetOperator(b->sparse, A));
  PoiseErr e = PoisePCSetUp(b->sparse);
  bool singular = e == POISE_ERR_NUMERIC || e == POISE_ERR_REMOTE;
  if (singular) PoiseErrorClear(), e = POISE_OK;
  if (!e && !singular) e = CheckSolve(b->sparse, &good);
  if (!good) poiseAmgBottomDestroy(b), *why = "its matrix is singular";
  return e;
}

PoiseErr poiseAmgBottomReadyColumns(AmgBottom *b, int columns)
{
  return b->sparse ? poisePCReadyColumns(b->sparse, columns) : POISE_OK;
}

PoiseErr poiseAmgBottomApply(Device *dev, AmgBottom *b, PoiseVec r, PoiseVec z, const double *skip)
{
  int columns = poiseVecColumns(r);
  LuSolveArgs f = {.n = b->n, .m = b->n, .columns = columns, .skip = skip};
  AmgDenseArgs a = {.n = b->n, .columns = columns, .scale = 1, .skip = skip};
  if (b->sparse) return poisePCApplyFuse(b->sparse, r, z, skip, NULL);
  TRY(poiseVecRead(r, &a.x));
  TRY(skip ? poiseVecUpdate(z, &a.y) : poiseVecWrite(z, &a.y));
  TRY(poiseBufferRead(&b->dense, DEVICE, &a.a));
  if (!b->lu) return columns > 1 ? LAUNCH(dev, amg_dense_columns, &a) : LAUNCH(dev, amg_dense, &a);
  f.x = a.x, f.y = a.y, f.lu = a.a;
  TRY(poiseBufferRead(&b->pivot, DEVICE, &f.pivot));
  TRY(poiseBufferWrite(&b->work, DEVICE, &f.work));
  return LAUNCH(dev, lu_solve, &f);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Shares of the ranks: equal, or as -mat_partition_weights says. */
#include "shares.h"

Shares poiseSharesOf(PoiseMat A)
{
  return (Shares){PoiseSize(A->ctx), A->asked.bound};
}

static double Bound(const Shares *s, int q)
{
  return s->bound ? s->bound[q] : (double)q / s->parts;
}

/* Rounding beyond 2^53 bytes does no harm. */
int32_t poiseShareAt(const Shares *s, int64_t before, int64_t weight, int64_t total)
{
  double at = ((double)before + 0.5 * (double)weight) / (double)total;
  int32_t share = s->bound ? 0 : (int32_t)(at * s->parts), above = s->parts;
  if (!s->bound) return share < s->parts ? share : s->parts - 1;
  while (share + 1 < above) { /* the last part that begins at or before `at` */
    int32_t half = (share + above) / 2;
    *(s->bound[half] <= at ? &share : &above) = half;
  }
  return share;
}

/* A unit belongs to the part in whose share its middle lies, here and above. */
int64_t poiseShareBegin(const Shares *s, int q, int64_t total)
{
  int64_t k = (int64_t)ceil(Bound(s, q) * (double)total - 0.5);
  if (!total || q >= s->parts) return q ? total : 0;
  if (k < 0) k = 0;
  while (k > 0 && poiseShareAt(s, k - 1, 1, total) >= q) k--;
  while (k < total && poiseShareAt(s, k, 1, total) < q) k++;
  return k;
}

double poiseShareSize(const Shares *s, int q, int64_t total)
{
  return (Bound(s, q + 1) - Bound(s, q)) * (double)total;
}

double poiseShareLeast(const Shares *s, int64_t total)
{
  double least = (double)total;
  for (int q = 0; q < s->parts; q++) least = fmin(least, poiseShareSize(s, q, total));
  return least;
}

PoiseErr poiseSharesOver(PoiseMat A, int64_t part, double *over)
{
  const Shares s = poiseSharesOf(A);
  int64_t before, total;
  TRY(poiseCommScan(A->ctx->comm, part, &before, &total));
  *over = total ? (double)part / poiseShareSize(&s, PoiseRank(A->ctx), total) : 1;
  return poiseCommMax(A->ctx->comm, over, 1);
}

/* ---- what users say -------------------------------------------------------------------------- */

static PoiseErr CheckWeights(PoiseContext ctx, int n, const double *weights)
{
  if (n != PoiseSize(ctx))
    FAIL(POISE_ERR_ARG, "%d weights of the shares of %d ranks (-mat_partition_weights)", n, PoiseSize(ctx));
  for (int q = 0; q < n; q++)
    if (!(weights[q] > 0) || isinf(weights[q]))
      FAIL(POISE_ERR_ARG,
           "the share of rank %d has weight %g, which is not positive (-mat_partition_weights)", q,
           weights[q]);
  return POISE_OK;
}

/* NULL on one rank, which has all. */
static PoiseErr MakeBounds(PoiseContext ctx, int n, const double *weights, double **bound)
{
  double sum = 0;
  *bound = NULL;
  if (!weights || n == 1) return POISE_OK;
  TRY(poiseAllocArray(ctx, n + 1, sizeof **bound, "shares of ranks", bound));
  for (int q = 0; q < n; q++) (*bound)[q + 1] = sum += weights[q];
  for (int q = 1; q < n; q++) (*bound)[q] /= sum;
  (*bound)[n] = 1;
  return POISE_OK;
}

PoiseErr PoiseMatSetPartitionWeights(PoiseMat A, int n, const double *weights)
{
  CALLED(OBJECT(A));
  double *bound = NULL;
  PoiseErr e = weights ? CheckWeights(A->ctx, n, weights) : POISE_OK;
  if (!e) e = MakeBounds(A->ctx, n, weights, &bound);
  e = PoiseAgree(A->ctx, e);
  poiseFree(A->ctx, e ? &bound : &A->asked.bound);
  TRY(e);
  A->asked.bound = bound;
  A->asked.bounds_set++;
  A->version.product++; /* parts of pcsr are made anew */
  return POISE_OK;
}

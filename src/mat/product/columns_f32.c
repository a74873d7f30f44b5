/* SPDX-License-Identifier: BSD-3-Clause */
/* Products in fp32 of several columns: the launch, and the host's kernel. Sums are fp64. A column has the
   bits of its own product, as sums are added in the same order. */
#include "vec/columns_host.h"
#include "csr.h"
#include "csr_columns_kernels.h"
#define SCALAR  float
#define NAME(n) n##_f32
#include "bcsr_rows.h"

PoiseErr poiseSeveralLaunchSingle(Product *p, ProductPart part, const ProductArgs *args)
{
  ColumnsMultArgs_f32 a = {.columns = args->columns};
  TRY(poiseCsrArgumentsSingle(p, part, args, &a.m));
  return LAUNCH(p->A->ctx->device, mult_columns_f32, &a);
}

enum { PLACES = 4 }; /* sums of a row, by the place of its entries */

/* Sums of a row of numbers. */
static void SumEntries(const ColumnsMultArgs_f32 *a, int64_t k, int64_t last, double *sum)
{
  const CsrMultArgs_f32 *m = &a->m;
  int n = (int)a->columns;
  HostColumns s[PLACES] = {{0}};
  for (int64_t e = k; e < last; e++) {
    const float *x = poiseHostBlockFactors(m, m->A.col[e], n);
    double v = (double)m->A.val[e], *to = s[(e - k) % PLACES];
    HOST_SIMD
    for (int j = 0; j < n; j++) to[j] += v * (double)x[j];
  }
  for (int j = 0; j < n; j++) sum[j] = (s[0][j] + s[2][j]) + (s[1][j] + s[3][j]);
}

/* A long one in fragments, as in poiseHostLongRow. */
static void SumRow(const ColumnsMultArgs_f32 *a, int64_t k, int64_t last, double *sum)
{
  int64_t n = (last - k + HOST_FRAGMENT - 1) / HOST_FRAGMENT;
  HostColumns part;
  if (last - k < HOST_LONG) {
    SumEntries(a, k, last, sum);
    return;
  }
  for (int64_t j = 0; j < a->columns; j++) sum[j] = 0;
  for (int64_t q = 0; q < n; q++) {
    SumEntries(a, poiseRowFragmentBegin(1, k, last, q, n), poiseRowFragmentBegin(1, k, last, q + 1, n), part);
    for (int64_t j = 0; j < a->columns; j++) sum[j] += part[j];
  }
}

/* Sums of a row of blocks, those of row r at sum[r]. Terms of the columns of a small block are kept apart, as
   in poiseAddBlock. */
static void SumBlocks(const ColumnsMultArgs_f32 *a, int64_t k, int64_t last, HostColumns *sum)
{
  const CsrMultArgs_f32 *m = &a->m;
  int n = (int)a->columns, b = (int)m->A.b, apart = b <= POISE_SMALL_BLOCK ? b : 1;
  HostColumns s[MAX_SINGLE_BLOCK * POISE_SMALL_BLOCK];
  memset(s, 0, (size_t)(b * apart) * sizeof *s);
  for (; k < last; k++) {
    const float *v = m->A.val + k * b * b, *x = poiseHostBlockFactors(m, m->A.col[k], (int64_t)b * n);
    for (int c = 0; c < b; c++)
      for (int r = 0; r < b; r++) {
        double factor = (double)v[c * b + r], *to = s[r * apart + c % apart];
        HOST_SIMD
        for (int j = 0; j < n; j++) to[j] += factor * (double)x[c * n + j];
      }
  }
  for (int r = 0; r < b; r++)
    for (int j = 0; j < n; j++) {
      sum[r][j] = s[r * apart][j];
      for (int c = 1; c < apart; c++) sum[r][j] += s[r * apart + c][j];
    }
}

static void MultBlock(const ColumnsMultArgs_f32 *a, double alpha, double beta, int64_t number)
{
  const CsrMultArgs_f32 *m = &a->m;
  int n = (int)a->columns, b = m->A.b > 1 ? (int)m->A.b : 1;
  int64_t begin = number * m->rows, end = begin + m->rows < m->A.m ? begin + m->rows : m->A.m;
  for (int64_t i = begin; i < end; i++) {
    int64_t k = poiseCsrOffset_f32(&m->A, i), last = poiseCsrOffset_f32(&m->A, i + 1);
    HostColumns sum[MAX_SINGLE_BLOCK];
    if (b > 1)
      SumBlocks(a, k, last, sum);
    else
      SumRow(a, k, last, sum[0]);
    for (int r = 0; r < b; r++)
      for (int j = 0; j < n; j++) {
        float *y = m->y + (i * b + r) * n + j;
        *y = (float)poiseHostUpdate(alpha, sum[r][j], beta, *y);
      }
  }
}

PoiseErr poiseHost_mult_columns_f32(Device *dev, const void *args)
{
  const ColumnsMultArgs_f32 *a = args;
  const CsrMultArgs_f32 *m = &a->m;
  double alpha = poiseScalar(m->a), beta = poiseScalar(m->b);
  (void)dev;
  if (m->skip && *m->skip != 0) return POISE_OK;
  HOST_BLOCKS(dev, m->nblock, 1, k, MultBlock(a, alpha, beta, poiseBlockOf_f32(m, k)));
  return POISE_OK;
}

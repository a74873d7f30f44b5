/* SPDX-License-Identifier: BSD-3-Clause */
/* The host's product in fp32 of several columns. Sums are fp64. A column has the bits of its own product, as
   sums are added in the same order. */
#include "vec/columns_host.h"
#include "csr_columns_kernels.h"
#define SCALAR  float
#define NAME(n) n##_f32
#include "columns_rows.h"

static void MultBlock(const ColumnsMultArgs_f32 *a, double alpha, double beta, int64_t number)
{
  const CsrMultArgs_f32 *m = &a->c.m;
  int64_t begin = number * m->rows, end = begin + m->rows < m->A.m ? begin + m->rows : m->A.m;
  (m->A.b > 1 ? poiseHostWideBlockRows : poiseHostWideRows)(m, a->columns, alpha, beta, begin, end);
}

PoiseErr poiseHost_mult_columns_f32(Device *dev, const void *args)
{
  const ColumnsMultArgs_f32 *a = args;
  const CsrMultArgs_f32 *m = &a->c.m;
  double alpha = poiseScalar(m->a), beta = poiseScalar(m->b);
  (void)dev;
  if (m->skip && *m->skip != 0) return POISE_OK;
  HOST_BLOCKS(dev, m->nblock, 1, k, MultBlock(a, alpha, beta, poiseBlockOf_f32(m, k)));
  return POISE_OK;
}

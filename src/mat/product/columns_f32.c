/* SPDX-License-Identifier: BSD-3-Clause */
/* Products in fp32 of several columns: the launch, and the host's kernel. Sums are fp64. A column has the
   bits of its own product, as sums are added in the same order. */
#include "vec/columns_host.h"
#include "csr.h"
#include "csr_columns_kernels.h"
#define SCALAR  float
#define NAME(n) n##_f32
#include "columns_rows.h"

PoiseErr poiseSeveralLaunchSingle(Product *p, ProductPart part, const ProductArgs *args)
{
  ColumnsMultArgs_f32 a = {.columns = args->columns};
  TRY(poiseCsrArgumentsSingle(p, part, args, &a.m));
  return LAUNCH(p->A->ctx->device, mult_columns_f32, &a);
}

static void MultBlock(const ColumnsMultArgs_f32 *a, double alpha, double beta, int64_t number)
{
  const CsrMultArgs_f32 *m = &a->m;
  int64_t begin = number * m->rows, end = begin + m->rows < m->A.m ? begin + m->rows : m->A.m;
  (m->A.b > 1 ? poiseHostWideBlockRows : poiseHostWideRows)(m, a->columns, alpha, beta, begin, end);
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

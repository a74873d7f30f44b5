/* SPDX-License-Identifier: BSD-3-Clause */
/* Host kernels of products in fp32: the text of csr and bcsr for values and vectors of that type. Sums are
   fp64. */
#define SCALAR  float
#define NAME(n) n##_f32
#include "bcsr_rows.h"

PoiseErr poiseHost_csr_mult_f32(Device *dev, const void *args)
{
  const CsrMultArgs_f32 *a = args;
  double alpha = poiseScalar(a->a), beta = poiseScalar(a->b);
  (void)dev;
  if (a->skip && *a->skip != 0) return POISE_OK;
  HOST_PARALLEL_FOR(dev, a->nblock)
  for (int64_t k = 0; k < a->nblock; k++) {
    int64_t block = poiseBlockOf_f32(a, k), begin = block * POISE_BLOCK;
    int64_t end = begin + POISE_BLOCK < a->A.m ? begin + POISE_BLOCK : a->A.m;
    poiseHostKeepRows(a, begin, end);
    if (a->ghost)
      poiseHostRows(a, alpha, beta, begin, end, HOST_GHOSTS);
    else
      poiseHostRows(a, alpha, beta, begin, end, HOST_OWNED);
    poiseHostFinishRows(a, begin, end, block);
  }
  return POISE_OK;
}

typedef void BlockRows(const CsrMultArgs_f32 *m, double alpha, double beta, int64_t begin, int64_t end);
#define OF_SIZE(b)                                                                                     \
  static void Rows##b(const CsrMultArgs_f32 *m, double alpha, double beta, int64_t begin, int64_t end) \
  {                                                                                                    \
    poiseHostBlockRows(b, m, alpha, beta, begin, end);                                                 \
  }
POISE_TO_8(OF_SIZE)
#define EACH(b) Rows##b,
static BlockRows *const rows_of[MAX_SINGLE_BLOCK + 1] = {NULL, POISE_TO_8(EACH)};

PoiseErr poiseHost_bcsr_mult_f32(Device *dev, const void *args)
{
  const CsrMultArgs_f32 *m = args;
  double alpha = poiseScalar(m->a), beta = poiseScalar(m->b);
  int64_t b = m->A.b;
  (void)dev;
  if (m->skip && *m->skip != 0) return POISE_OK;
  HOST_PARALLEL_FOR(dev, m->nblock)
  for (int64_t k = 0; k < m->nblock; k++) {
    int64_t group = poiseBlockOf_f32(m, k), begin = group * m->rows;
    int64_t end = begin + m->rows < m->A.m ? begin + m->rows : m->A.m;
    poiseHostKeepRows(m, begin * b, end * b);
    rows_of[b](m, alpha, beta, begin, end);
    poiseHostFinishRows(m, begin * b, end * b, group);
  }
  return POISE_OK;
}

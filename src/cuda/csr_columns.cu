/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of CSR with wide vectors. */
#include "csr_columns.h"

extern "C" PoiseErr poiseCuda_csr_mult_columns(Device *dev, const void *args)
{
  const ColumnsMultArgs *a = (const ColumnsMultArgs *)args;
  return a->even ? ColumnsOfBlocks<1, true, true>(dev, a) : ColumnsOfBlocks<1, true, false>(dev, a);
}

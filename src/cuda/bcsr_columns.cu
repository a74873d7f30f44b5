/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of CSR of blocks with wide vectors. */
#include "csr_columns.h"

extern "C" PoiseErr poiseCuda_bcsr_mult_columns(Device *dev, const void *args)
{
  typedef PoiseErr (*Run)(Device *, const ColumnsMultArgs *);
  static const Run whole[WIDE_MOST_BLOCK - 1] = {
      ColumnsOfBlocks<2, true, true>, ColumnsOfBlocks<3, true, true>, ColumnsOfBlocks<4, true, true>,
      ColumnsOfBlocks<5, true, true>, ColumnsOfBlocks<6, true, true>, ColumnsOfBlocks<7, true, true>,
      ColumnsOfBlocks<8, true, true>};
  const ColumnsMultArgs *a = (const ColumnsMultArgs *)args;
  int64_t b = a->c.m.A.b;
  return b <= WIDE_MOST_BLOCK ? whole[b - 2](dev, a) : ColumnsOfBlocks<WIDE_STRIP, false, true>(dev, a);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Products in fp32 with wide vectors, of CSR and of its blocks. They have no dots. */
#include "csr_columns.h"

template <int R, bool EVEN> static PoiseErr SinglesOfBlocks(Device *dev, const ColumnsMultArgs_f32 *a)
{
  return ArePairs(a) ? LaunchColumns<R, true, true, 0, EVEN>(dev, a)
                     : LaunchColumns<R, true, false, 0, EVEN>(dev, a);
}

extern "C" PoiseErr poiseCuda_mult_columns_f32(Device *dev, const void *args)
{
  typedef PoiseErr (*Run)(Device *, const ColumnsMultArgs_f32 *);
  static const Run whole[MAX_SINGLE_BLOCK - 1] = {
      SinglesOfBlocks<2, true>, SinglesOfBlocks<3, true>, SinglesOfBlocks<4, true>, SinglesOfBlocks<5, true>,
      SinglesOfBlocks<6, true>, SinglesOfBlocks<7, true>, SinglesOfBlocks<8, true>};
  const ColumnsMultArgs_f32 *a = (const ColumnsMultArgs_f32 *)args;
  int64_t b = a->c.m.A.b;
  if (b > 1) return whole[b - 2](dev, a);
  return a->even ? SinglesOfBlocks<1, true>(dev, a) : SinglesOfBlocks<1, false>(dev, a);
}

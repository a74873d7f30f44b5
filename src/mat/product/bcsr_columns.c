/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of CSR of blocks with wide vectors on the host. */
#include "csr_columns_host.h"

PoiseErr poiseHost_bcsr_mult_columns(Device *dev, const void *args)
{
  poiseHostMultColumns(dev, args, (HostWideSums){poiseHostWideBlockRows, poiseHostWideBlocks});
  return POISE_OK;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of CSR with wide vectors on the host. */
#include "csr_columns_host.h"

PoiseErr poiseHost_csr_mult_columns(Device *dev, const void *args)
{
  poiseHostMultColumns(dev, args, (HostWideSums){poiseHostWideRows, poiseHostWideRow});
  return POISE_OK;
}

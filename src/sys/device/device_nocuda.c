/* SPDX-License-Identifier: BSD-3-Clause */
/* Stand-in for the CUDA device in a build without CUDA. */
#include "sys/sys.h"

static PoiseErr Count(int *count)
{
  *count = 0;
  FAIL(POISE_ERR_DEVICE,
       "this build of the library has no device cuda (it was configured with POISE_CUDA=OFF)");
}

extern const DeviceOps poiseDevice_cuda;
const DeviceOps poiseDevice_cuda = {.name = "cuda", .count = Count};

/* SPDX-License-Identifier: BSD-3-Clause */
/* What stands for the CUDA device in a build without it. */
#include "sys.h"

static PoiseErr Create(Device *dev)
{
  FAIL(POISE_ERR_DEVICE, "this build of the library has no device %s (it was configured with POISE_CUDA=OFF)",
       dev->ops->name);
}

extern const DeviceOps poiseDevice_cuda;
const DeviceOps poiseDevice_cuda = {.name = "cuda", .create = Create};

/* SPDX-License-Identifier: BSD-3-Clause */
/* The host as a device: memory is plain memory, and work is done at once. */
#include "sys/sys.h"

const KernelFn poiseHostKernels[KERNEL_COUNT] = {
#define KERNEL(name, Args) poiseHost_##name,
#include "kernels.def"
#undef KERNEL
};

static PoiseErr Alloc(Device *dev, size_t bytes, const char *what, void **p)
{
  return poiseAlloc(dev->ctx, bytes, what, p);
}

static void Free(Device *dev, void *p)
{
  poiseFree(dev->ctx, &p);
}

static PoiseErr Copy(Device *dev, void *dst, const void *src, size_t bytes, CopyKind kind)
{
  (void)dev, (void)kind;
  if (dst != src) memcpy(dst, src, bytes);
  return POISE_OK;
}

static PoiseErr Run(Device *dev, int kernel, const void *args, size_t bytes)
{
  (void)bytes;
  return poiseHostKernels[kernel](dev, args);
}

static PoiseErr Sync(Device *dev)
{
  (void)dev;
  return POISE_OK;
}

const DeviceOps poiseDevice_host = {
    .name = "host",
    .is_host = true,
    .kernel = poiseHostKernels,
    .alloc = Alloc,
    .free = Free,
    .alloc_pinned = Alloc,
    .free_pinned = Free,
    .copy = Copy,
    .launch = Run,
    .sync = Sync,
};

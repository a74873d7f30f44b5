/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Memory of a GPU that other GPUs reach: those of this process by peer access, those of other processes of the
  host by CUDA's handles. A handle names all of the physical block that an allocation stands in, and those of
  small allocations are shared by several. So what other processes open is allocated in whole blocks, and
  never comes from a pool.
*/
#include "cuda.h"

extern "C" {
#include "sys/device/link_device.h"
}

extern "C" PoiseErr poiseCudaSharedAlloc(Device *dev, size_t bytes, const char *what, void **p)
{
  *p = NULL;
  if (!bytes) return POISE_OK;
  TRY(poiseAllocCount(dev->ctx, bytes, what));
  cudaError_t e = cudaMalloc(p, bytes);
  if (e == cudaSuccess) e = cudaMemsetAsync(*p, 0, bytes, poiseCudaStream(dev));
  if (e == cudaSuccess) e = cudaStreamSynchronize(poiseCudaStream(dev));
  if (e == cudaSuccess) return POISE_OK;
  if (*p) cudaFree(*p);
  *p = NULL;
  poiseFreeCount(dev->ctx);
  return poiseCudaCheck(e, what);
}

extern "C" void poiseCudaSharedFree(Device *dev, void *p)
{
  if (!p) return;
  cudaStreamSynchronize(poiseCudaStream(dev));
  cudaFree(p);
  poiseFreeCount(dev->ctx);
}

extern "C" PoiseErr poiseCudaCheckPeer(const Device *dev, int gpu)
{
  int can = 0;
  TRY(poiseCudaCheck(cudaDeviceCanAccessPeer(&can, dev->id, gpu), "asking for peer access"));
  if (!can) FAIL(POISE_ERR_UNSUPPORTED, "GPU %d has no access to memory of GPU %d", dev->id, gpu);
  return POISE_OK;
}

extern "C" PoiseErr poiseCudaReach(Device *dev, const LinkPlace *place)
{
  if (place->device == dev->id) return POISE_OK;
  TRY(poiseCudaCheckPeer(dev, place->device));
  cudaError_t e = cudaDeviceEnablePeerAccess(place->device, 0);
  if (e == cudaErrorPeerAccessAlreadyEnabled) (void)cudaGetLastError();
  return e == cudaErrorPeerAccessAlreadyEnabled ? POISE_OK : poiseCudaCheck(e, "enabling peer access");
}

extern "C" PoiseErr poiseCudaExport(Device *dev, size_t bytes, const char *what, LinkHandle *handle, void **p)
{
  static_assert(sizeof(cudaIpcMemHandle_t) <= sizeof handle->bytes, "a handle of CUDA's has room");
  cudaIpcMemHandle_t own;
  TRY(poiseCudaSharedAlloc(dev, bytes, what, p));
  if (!*p) return POISE_OK;
  PoiseErr e = poiseCudaCheck(cudaIpcGetMemHandle(&own, *p), "a handle of memory for other processes");
  if (!e) memcpy(handle->bytes, &own, sizeof own);
  if (!e) return POISE_OK;
  poiseCudaSharedFree(dev, *p);
  *p = NULL;
  return e;
}

extern "C" void poiseCudaUnexport(Device *dev, size_t bytes, void *p)
{
  (void)bytes;
  poiseCudaSharedFree(dev, p);
}

/* The other GPU need not be seen by this process; access to it is enabled with the first block. */
extern "C" PoiseErr poiseCudaOpen(Device *dev, const LinkHandle *handle, size_t bytes, void **p)
{
  cudaIpcMemHandle_t own;
  (void)dev, (void)bytes;
  memcpy(&own, handle->bytes, sizeof own);
  *p = NULL;
  return poiseCudaCheck(cudaIpcOpenMemHandle(p, own, cudaIpcMemLazyEnablePeerAccess),
                        "opening memory of another process' GPU");
}

extern "C" void poiseCudaClose(Device *dev, size_t bytes, void *p)
{
  (void)bytes;
  cudaStreamSynchronize(poiseCudaStream(dev));
  PoiseErr e = poiseCudaCheck(cudaIpcCloseMemHandle(p), "closing memory of another process' GPU");
  if (e && !dev->failed) dev->failed = e;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The device registry, and the one door through which every kernel and copy passes. */
#include "arena.h"
#include "staging.h"
#include "sys/sys.h"

#define DEVICE(name) extern const DeviceOps poiseDevice_##name;
#include "devices.def"
#undef DEVICE

static const DeviceOps *const devices[] = {
#define DEVICE(name) &poiseDevice_##name,
#include "devices.def"
#undef DEVICE
};

static const char *const kernel_names[] = {
#define KERNEL(name, Args) #name,
#include "kernels.def"
#undef KERNEL
};

const char *poiseKernelName(int kernel)
{
  return kernel_names[kernel];
}

/* Does every rank see a GPU? */
static PoiseErr AllSeeGpus(PoiseContext ctx, const DeviceOps *ops, bool *all)
{
  int count = 0;
  int64_t lacks = ops->count(&count) != POISE_OK;
  PoiseErrorClear();
  TRY(poiseCommMaxInt(ctx->comm, &lacks, 1));
  *all = !lacks;
  return POISE_OK;
}

PoiseErr poiseDeviceFind(PoiseContext ctx, const char *name, const DeviceOps **ops)
{
  bool any = !strcmp(name, "auto"), sees = false;
  *ops = any ? devices[0] : NULL;
  for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
    if (any && devices[i]->automatic) TRY(AllSeeGpus(ctx, devices[i], &sees));
    if (sees || !strcmp(devices[i]->name, name)) *ops = devices[i];
    if (sees) break;
  }
  if (!*ops) FAIL(POISE_ERR_OPTION, "there is no device '%s' in this build", name);
  return POISE_OK;
}

PoiseErr poiseDeviceOpen(PoiseContext ctx, const DeviceOps *ops, int id, Device **dev)
{
  *dev = NULL;
  TRY(poiseAlloc(ctx, sizeof **dev, "device", dev));
  (*dev)->ops = ops;
  (*dev)->ctx = ctx;
  (*dev)->model = (DeviceModel){.host_threads = HOST_SHARES};
  (*dev)->id = id;
  (*dev)->threads = 1;
  (*dev)->few = HOST_FEW_BYTES;
  PoiseErr e = ops->create ? ops->create(*dev) : POISE_OK;
  if (e) poiseDeviceDestroy(dev);
  TRY(e);
  return POISE_OK;
}

PoiseErr poiseDeviceCreate(PoiseContext ctx, const char *name, Device **dev)
{
  const DeviceOps *ops;
  int count;
  *dev = NULL;
  TRY(poiseDeviceFind(ctx, name, &ops));
  if (ops->count) TRY(ops->count(&count));
  return poiseDeviceOpen(ctx, ops, 0, dev);
}

void poiseDeviceDestroy(Device **dev)
{
  if (!*dev) return;
  PoiseContext ctx = (*dev)->ctx;
  poiseStagingDestroy(*dev);
  poiseArenaClose(*dev);
  if ((*dev)->ops->destroy) (*dev)->ops->destroy(*dev);
  poiseFree(ctx, dev);
}

/* ---- memory ---------------------------------------------------------------------------------- */

PoiseErr poiseDeviceAlloc(Device *dev, size_t bytes, const char *what, void **p)
{
  *p = NULL;
  if (dev->limit && (int64_t)bytes > dev->limit - dev->bytes)
    FAIL(POISE_ERR_MEMORY, "no memory on device %s for %s: %zu bytes; %lld of %lld are free", dev->ops->name,
         what, bytes, (long long)(dev->limit - dev->bytes), (long long)dev->limit);
  TRY(dev->arena ? poiseArenaAlloc(dev, bytes, what, p) : dev->ops->alloc(dev, bytes, what, p));
  dev->bytes += (int64_t)bytes;
  if (dev->bytes > dev->most) dev->most = dev->bytes;
  return POISE_OK;
}

void poiseDeviceFree(Device *dev, size_t bytes, void **p)
{
  if (!*p) return;
  if (!poiseArenaFree(dev, *p)) dev->ops->free(dev, *p);
  dev->bytes -= (int64_t)bytes;
  *p = NULL;
}

void poiseDeviceFreeAdopted(Device *dev, void *p)
{
  if (!p) return;
  if (dev->ops->is_host)
    free(p);
  else
    dev->ops->free_adopted(dev, p);
}

PoiseErr poiseDeviceCheckPointer(Device *dev, const void *p, size_t bytes, const char *argument)
{
  if (bytes && !p) FAIL(POISE_ERR_ARG, "%s is NULL instead of %zu bytes", argument, bytes);
  if (bytes && dev->ops->owns && !dev->ops->owns(dev, p, bytes))
    FAIL(POISE_ERR_ARG, "%s: %p is no array of %zu bytes in the memory of device %s; a host pointer?",
         argument, p, bytes, dev->ops->name);
  return POISE_OK;
}

PoiseErr poiseDeviceCheckHost(Device *dev, const void *p, const char *argument)
{
  if (p && dev->ops->hides && dev->ops->hides(dev, p))
    FAIL(POISE_ERR_ARG,
         "%s: %p lies in the memory of device %s, where the host cannot read: see the calls for the device",
         argument, p, dev->ops->name);
  return POISE_OK;
}

PoiseErr PoiseDeviceMemory(PoiseContext ctx, int64_t *left, int64_t *total)
{
  CALLED(OBJECT(ctx));
  int64_t free_bytes, all;
  Device *dev = ctx->device;
  poiseHostMemory(&free_bytes, &all);
  if (dev->ops->memory) TRY(dev->ops->memory(dev, &free_bytes, &all));
  if (dev->limit) free_bytes = dev->limit - dev->bytes, all = dev->limit;
  if (left) *left = free_bytes;
  if (total) *total = all;
  return POISE_OK;
}

PoiseErr PoiseWait(PoiseContext ctx)
{
  CALLED(OBJECT(ctx));
  TRY(poiseDeviceSync(ctx->device));
  return POISE_OK;
}

PoiseErr poiseDeviceLibrary(const Device *dev, const char *const *libraries, const char *name,
                            const char *purpose, int *library)
{
  char words[256] = "own";
  *library = 0;
  if (!strcmp(name, "own")) return POISE_OK;
  for (int k = 0; libraries && libraries[k]; k++) {
    *library = k + 1;
    if (!strcmp(name, libraries[k])) return POISE_OK;
    snprintf(words + strlen(words), sizeof words - strlen(words), ", %s", libraries[k]);
  }
  FAIL(POISE_ERR_UNSUPPORTED, "device %s has no kernel '%s' for %s; it has: %s", dev->ops->name, name,
       purpose, words);
}

/* ---- what is enqueued and waited for --------------------------------------------------------- */

bool poiseDeviceForbid(Device *dev, bool on)
{
  bool was = dev->forbids;
  dev->forbids = on && dev->forbid_copies && !dev->ops->is_host;
  return was;
}

PoiseErr poiseLaunch(Device *dev, int kernel, const void *args, size_t bytes)
{
  if (!dev->ops->kernel[kernel])
    FAIL(POISE_ERR_UNSUPPORTED, "device %s has no kernel %s", dev->ops->name, kernel_names[kernel]);
  dev->launches++;
  dev->busy = !dev->ops->is_host;
  return dev->ops->launch(dev, kernel, args, bytes);
}

static PoiseErr CountCopy(Device *dev, size_t bytes, CopyKind kind)
{
  if (kind != COPY_ON_DEVICE && !dev->ops->is_host) {
    if (dev->forbids)
      FAIL(POISE_ERR_UNSUPPORTED, "a copy of %zu bytes to the %s by %s inside a solve: %s", bytes,
           kind == COPY_TO_HOST ? "host" : "device", poiseLogWhere(dev->ctx),
           poiseOptionsName(dev->ctx, NULL, "device_forbid_copies"));
    dev->copies++;
    dev->copied[kind] += (int64_t)bytes;
  }
  dev->busy = !dev->ops->is_host;
  return POISE_OK;
}

PoiseErr poiseDeviceCopy(Device *dev, void *dst, const void *src, size_t bytes, CopyKind kind)
{
  if (!bytes) return POISE_OK;
  TRY(CountCopy(dev, bytes, kind));
  return dev->ops->copy(dev, dst, src, bytes, kind);
}

PoiseErr poiseDeviceCopyArray(Device *dev, void *dst, const void *src, size_t bytes, CopyKind kind)
{
  if (kind == COPY_ON_DEVICE || !poiseStagingTakes(dev, kind == COPY_TO_HOST ? dst : src, bytes))
    return poiseDeviceCopy(dev, dst, src, bytes, kind);
  TRY(CountCopy(dev, bytes, kind));
  return poiseStagingCopy(dev, dst, src, bytes, kind);
}

static PoiseErr CountWait(Device *dev)
{
  if (dev->ops->is_host) return POISE_OK;
  if (dev->forbids)
    FAIL(POISE_ERR_UNSUPPORTED, "a wait for the device by %s inside a solve: %s", poiseLogWhere(dev->ctx),
         poiseOptionsName(dev->ctx, NULL, "device_forbid_copies"));
  dev->waits++;
  return POISE_OK;
}

PoiseErr poiseDeviceWait(Device *dev, int64_t event)
{
  TRY(CountWait(dev));
  return dev->ops->wait(dev, event);
}

/* After a wait, which ended with e. */
static PoiseErr FinishWait(Device *dev, PoiseErr e)
{
  TRY(e);
  dev->busy = false;
  e = dev->failed;
  dev->failed = POISE_OK;
  return e;
}

PoiseErr poiseDeviceSync(Device *dev)
{
  TRY(CountWait(dev));
  return FinishWait(dev, dev->ops->sync(dev));
}

/* Does the device bring so many items itself, by one call and not by a copy each? */
static bool Fetches(const Device *dev, int64_t n, size_t width)
{
  return dev->ops->fetch && n > 0 && width && width % 4 == 0 && n <= (int64_t)(POISE_FETCH / width);
}

static PoiseErr FetchItems(Device *dev, int n, size_t width, const void *const *from, void *to)
{
  TRY(CountCopy(dev, (size_t)n * width, COPY_TO_HOST));
  TRY(CountWait(dev));
  return FinishWait(dev, dev->ops->fetch(dev, n, width, from, to));
}

PoiseErr poiseDeviceFetch(Device *dev, const void *from, size_t bytes, void *to)
{
  if (Fetches(dev, 1, bytes)) return FetchItems(dev, 1, bytes, &from, to);
  TRY(poiseDeviceCopyArray(dev, to, from, bytes, COPY_TO_HOST));
  return poiseDeviceSync(dev);
}

PoiseErr poiseDeviceFetchEach(Device *dev, int64_t n, size_t width, const void *const *from, void *to)
{
  const int64_t most = Fetches(dev, 1, width) ? (int64_t)(POISE_FETCH / width) : n;
  for (int64_t first = 0, count; first < n; first += count) {
    char *there = (char *)to + (size_t)first * width;
    count = n - first < most ? n - first : most;
    if (Fetches(dev, count, width)) {
      TRY(FetchItems(dev, (int)count, width, from + first, there));
      continue;
    }
    for (int64_t k = 0; k < count; k++)
      TRY(poiseDeviceCopyArray(dev, there + (size_t)k * width, from[first + k], width, COPY_TO_HOST));
    TRY(poiseDeviceSync(dev));
  }
  return POISE_OK;
}

/* ---- scratch of eager reductions ------------------------------------------------------------- */

PoiseErr poiseReduceCreate(PoiseContext ctx)
{
  void *slots;
  TRY(poiseBufferCreate(ctx->device, POISE_MAX_BATCH * sizeof(double), "reduction slots",
                        &ctx->reduce_slots));
  TRY(poiseBufferWrite(&ctx->reduce_slots, DEVICE, &slots));
  return poiseReduceReserve(ctx, POISE_MAX_BATCH); /* needed even for vectors without entries, which have
                                                      sums too */
}

PoiseErr poiseReduceReserve(PoiseContext ctx, int64_t partials)
{
  Buffer larger = {0};
  size_t bytes = (size_t)partials * sizeof(double);
  void *p;
  if (bytes <= ctx->reduce_partial.bytes) return POISE_OK;
  PoiseErr e = poiseBufferCreate(ctx->device, bytes, "partial sums", &larger);
  if (!e) e = poiseBufferWrite(&larger, DEVICE, &p);
  /* on failure the old one stays, for shorter vectors */
  poiseBufferDestroy(e ? &larger : &ctx->reduce_partial);
  if (!e) ctx->reduce_partial = larger;
  return e;
}

void poiseReduceDestroy(PoiseContext ctx)
{
  poiseBufferDestroy(&ctx->reduce_partial);
  poiseBufferDestroy(&ctx->reduce_slots);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The CUDA device: a stream, memory, and its table of kernels. No context is created before the
   device is. */
#include "door.h"
extern "C" {
#include "mat/mat_device.h"
#include "pc/pc_device.h"
}

#include <nvtx3/nvToolsExt.h>

enum { EVENTS = 8 }; /* more than are ever waited for at once */

/* F(name, version): what is used of the driver, which nothing is linked with */
#define DRIVER(F)                   \
  F(cuCtxGetCurrent, 4000)          \
  F(cuCtxPushCurrent, 4000)         \
  F(cuCtxPopCurrent, 4000)          \
  F(cuDeviceGet, 2000)              \
  F(cuDevicePrimaryCtxRetain, 7000) \
  F(cuModuleGetLoadingMode, 11070)  \
  F(cuStreamGetCtx, 9020)

typedef struct Driver {
#define POINTER(name, version) PFN_##name##_v##version name;
  DRIVER(POINTER)
#undef POINTER
} Driver;

typedef struct Cuda {
  Driver driver;
  CUcontext context; /* the GPU's, or that of PoiseInit.stream; NULL: not known yet */
  cudaStream_t stream;
  cudaEvent_t event[EVENTS];
  int64_t recorded;
  double *subtotals;
  Mail *mail;
  struct Recording *recording;
  cudaMemPool_t pool; /* NULL: the GPU has none */
  struct Sparse *sparse;
  struct Direct *direct;
  struct Nccl *nccl;
} Cuda;

cudaStream_t poiseCudaStream(Device *dev)
{
  return ((Cuda *)dev->data)->stream;
}

double *poiseCudaSubtotals(Device *dev)
{
  return ((Cuda *)dev->data)->subtotals;
}

Mail *poiseCudaMail(Device *dev)
{
  return ((Cuda *)dev->data)->mail;
}

struct Sparse **poiseCudaSparse(Device *dev)
{
  return &((Cuda *)dev->data)->sparse;
}

struct Direct **poiseCudaDirect(Device *dev)
{
  return &((Cuda *)dev->data)->direct;
}

struct Nccl **poiseCudaNccl(Device *dev)
{
  return &((Cuda *)dev->data)->nccl;
}

struct Recording **poiseCudaRecording(Device *dev)
{
  return &((Cuda *)dev->data)->recording;
}

PoiseErr poiseCudaCheck(cudaError_t e, const char *what)
{
  if (e == cudaSuccess) return POISE_OK;
  (void)cudaGetLastError(); /* reported here and not by a later call */
  FAIL(e == cudaErrorMemoryAllocation ? POISE_ERR_MEMORY : POISE_ERR_DEVICE, "%s: %s (%s)", what,
       cudaGetErrorString(e), cudaGetErrorName(e));
}

PFN_cuCtxPopCurrent_v4000 poiseCudaEnter(Device *dev)
{
  const Cuda *cuda = (const Cuda *)dev->data;
  CUcontext now = NULL;
  if (!cuda || !cuda->context) return NULL;
  if (cuda->driver.cuCtxGetCurrent(&now) == CUDA_SUCCESS && now == cuda->context) return NULL;
  CUresult e = cuda->driver.cuCtxPushCurrent(cuda->context);
  if (e == CUDA_SUCCESS) return cuda->driver.cuCtxPopCurrent;
  if (!dev->failed) dev->failed = poiseCudaCheck((cudaError_t)e, "making the GPU current");
  return NULL;
}

/* ---- which GPUs there are -------------------------------------------------------------------- */

static PoiseErr Count(int *count)
{
  *count = 0;
  cudaError_t e = cudaGetDeviceCount(count);
  if (e != cudaSuccess) (void)cudaGetLastError();
  if (e != cudaSuccess)
    FAIL(POISE_ERR_DEVICE, "no GPU can be used: %s (%s)", cudaGetErrorString(e), cudaGetErrorName(e));
  if (*count == 0) FAIL(POISE_ERR_DEVICE, "there is no GPU in this machine");
  return POISE_OK;
}

static PoiseErr Bus(int id, char text[POISE_BUS])
{
  return poiseCudaCheck(cudaDeviceGetPCIBusId(text, POISE_BUS, id), "asking for the place of a GPU");
}

static void Describe(int id, char *text, size_t size)
{
  cudaDeviceProp p;
  char bus[POISE_BUS] = "";
  if (cudaGetDeviceProperties(&p, id) != cudaSuccess) return;
  (void)cudaDeviceGetPCIBusId(bus, POISE_BUS, id);
  snprintf(text, size, "%s, %s", p.name, bus);
}

/* ---- the device ------------------------------------------------------------------------------ */

/*
  Memory comes from a pool of the device's own, in the order of its stream: a block that is freed serves the
  next one at once, and nobody waits. Unused memory up to KEPT of the GPU's stays in the pool; what is more
  goes back to the system when the stream is next waited for.
*/
static PoiseErr CreatePool(Device *dev)
{
  Cuda *cuda = (Cuda *)dev->data;
  enum { KEPT = 8 }; /* 1 / KEPT */
  int supported = 0;
  size_t left = 0, total = 0;
  cudaMemPoolProps props = {};
  TRY(poiseCudaCheck(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, dev->id),
                     "asking the GPU"));
  if (!supported) return POISE_OK;
  props.allocType = cudaMemAllocationTypePinned;
  props.handleTypes = cudaMemHandleTypeNone;
  props.location.type = cudaMemLocationTypeDevice;
  props.location.id = dev->id;
  TRY(poiseCudaCheck(cudaMemPoolCreate(&cuda->pool, &props), "creating a pool of memory"));
  TRY(poiseCudaCheck(cudaMemGetInfo(&left, &total), "asking for free memory"));
  uint64_t kept = total / KEPT / (uint64_t)PoiseSize(dev->ctx); /* ranks may share the GPU */
  TRY(poiseCudaCheck(cudaMemPoolSetAttribute(cuda->pool, cudaMemPoolAttrReleaseThreshold, &kept),
                     "a pool of memory"));
  dev->pools = true;
  return POISE_OK;
}

/* The architecture that the kernels which run on such a GPU were compiled for: of older code, the driver
   makes machine code that still lacks what the GPU could do. */
static int CompiledFor(int gpu)
{
  static const int architectures[] = {__CUDA_ARCH_LIST__};
  int best = 0;
  for (int a : architectures)
    if (a <= gpu && a > best) best = a;
  return best;
}

static PoiseErr LookUp(const char *name, unsigned version, void **function)
{
  cudaDriverEntryPointQueryResult found;
  *function = NULL;
#if CUDART_VERSION >= 12050
  TRY(poiseCudaCheck(cudaGetDriverEntryPointByVersion(name, function, version, cudaEnableDefault, &found),
                     name));
#else
  (void)version;
  TRY(poiseCudaCheck(cudaGetDriverEntryPoint(name, function, cudaEnableDefault, &found), name));
#endif
  if (!*function) FAIL(POISE_ERR_DEVICE, "the GPU's driver has no function %s", name);
  return POISE_OK;
}

static PoiseErr OpenDriver(Driver *driver)
{
#define LOOK_UP(name, version) TRY(LookUp(#name, version, (void **)&driver->name));
  DRIVER(LOOK_UP)
#undef LOOK_UP
  return POISE_OK;
}

/* The context that the runtime uses on this GPU, kept for good as by the runtime. */
static PoiseErr RetainContext(Device *dev)
{
  Cuda *cuda = (Cuda *)dev->data;
  CUdevice gpu;
  TRY(poiseCudaCheck((cudaError_t)cuda->driver.cuDeviceGet(&gpu, dev->id), "choosing the GPU"));
  return poiseCudaCheck((cudaError_t)cuda->driver.cuDevicePrimaryCtxRetain(&cuda->context, gpu),
                        "choosing the GPU");
}

/* A caller who has not used a GPU in this thread finds the device's current from now on; others keep
   theirs. */
static PoiseErr FindContext(Device *dev, cudaStream_t given)
{
  Cuda *cuda = (Cuda *)dev->data;
  CUcontext callers = NULL;
  TRY(OpenDriver(&cuda->driver));
  (void)cuda->driver.cuCtxGetCurrent(&callers);
  if (given) TRY(poiseCudaCheck(cudaGetDevice(&dev->id), "asking for the GPU of PoiseInit.stream"));
  if (!callers) TRY(poiseCudaCheck(cudaSetDevice(dev->id), "choosing the GPU"));
  return given ? poiseCudaCheck((cudaError_t)cuda->driver.cuStreamGetCtx(given, &cuda->context),
                                "PoiseInit.stream")
               : RetainContext(dev);
}

static PoiseErr AskAttribute(Device *dev, cudaDeviceAttr what, int *answer)
{
  return poiseCudaCheck(cudaDeviceGetAttribute(answer, what, dev->id), "asking the GPU");
}

/* Of clock (kHz) and width (bits) of its memory, where the driver says them: two words in a clock. */
static void AskBandwidth(Device *dev)
{
  int clock = 0, bits = 0;
  bool known = cudaDeviceGetAttribute(&clock, cudaDevAttrMemoryClockRate, dev->id) == cudaSuccess &&
               cudaDeviceGetAttribute(&bits, cudaDevAttrGlobalMemoryBusWidth, dev->id) == cudaSuccess;
  if (!known) (void)cudaGetLastError();
  dev->model.bandwidth = known ? 2e3 * clock * bits / 8 : 0;
}

static PoiseErr AskGpu(Device *dev)
{
  DeviceModel *model = &dev->model;
  int major = 0, minor = 0, shared = 0, block_shared = 0, l2 = 0;
  TRY(poiseCudaCheck(cudaGetDevice(&dev->id), "asking for the GPU"));
  TRY(AskAttribute(dev, cudaDevAttrComputeCapabilityMajor, &major));
  TRY(AskAttribute(dev, cudaDevAttrComputeCapabilityMinor, &minor));
  TRY(AskAttribute(dev, cudaDevAttrMultiProcessorCount, &model->multiprocessors));
  TRY(AskAttribute(dev, cudaDevAttrWarpSize, &model->warp));
  TRY(AskAttribute(dev, cudaDevAttrMaxThreadsPerMultiProcessor, &model->threads));
  TRY(AskAttribute(dev, cudaDevAttrMaxSharedMemoryPerMultiprocessor, &shared));
  TRY(AskAttribute(dev, cudaDevAttrMaxSharedMemoryPerBlockOptin, &block_shared));
  TRY(AskAttribute(dev, cudaDevAttrL2CacheSize, &l2));
  model->shared = shared, model->block_shared = block_shared, model->l2 = l2;
  model->bulk = CompiledFor(100 * major + 10 * minor) / 100 >= 9;
  AskBandwidth(dev);
  return POISE_OK;
}

/* A worker reads and writes the application's arrays, which are in the pool of the GPU of its parent. */
static PoiseErr ReachApplication(Device *dev)
{
  const PoiseContext parent = dev->ctx->parent;
  if (!parent || parent->most_workers < 2 || parent->device->ops != dev->ops) return POISE_OK;
  const Device *theirs = parent->device;
  cudaMemAccessDesc access = {{cudaMemLocationTypeDevice, dev->id}, cudaMemAccessFlagsProtReadWrite};
  if (theirs->id == dev->id) return POISE_OK;
  TRY(poiseCudaCheckPeer(dev, theirs->id));
  const Cuda *cuda = (const Cuda *)theirs->data;
  return cuda->pool ? poiseCudaCheck(cudaMemPoolSetAccess(cuda->pool, &access, 1), "enabling peer access")
                    : POISE_OK;
}

static PoiseErr Create(Device *dev)
{
  Cuda *cuda;
  TRY(poiseAlloc(dev->ctx, sizeof *cuda, "CUDA device", &dev->data));
  cuda = (Cuda *)dev->data;
  cudaStream_t given = (cudaStream_t)dev->ctx->stream;
  if (given == cudaStreamLegacy)
    FAIL(POISE_ERR_ARG, "PoiseInit.stream is the legacy default stream, which records no graphs");
  TRY(FindContext(dev, given));
  Current current(dev);
  TRY(AskGpu(dev));
  if (given) {
    unsigned flags;
    TRY(poiseCudaCheck(cudaStreamGetFlags(given, &flags), "PoiseInit.stream"));
    cuda->stream = given;
  } else {
    TRY(poiseCudaCheck(cudaStreamCreateWithFlags(&cuda->stream, cudaStreamNonBlocking), "creating a stream"));
  }
  dev->stream = cuda->stream;
  TRY(CreatePool(dev));
  TRY(ReachApplication(dev));
  for (int k = 0; k < EVENTS; k++)
    TRY(poiseCudaCheck(cudaEventCreateWithFlags(&cuda->event[k], cudaEventDisableTiming),
                       "creating an event"));
  TRY(poiseCudaRecorderCreate(dev, &cuda->recording));
  TRY(poiseCudaLoadFetch(dev));
  TRY(poiseCudaCheck(cudaHostAlloc((void **)&cuda->mail, sizeof *cuda->mail, cudaHostAllocDefault),
                     "pinned memory"));
  memset(cuda->mail, 0, sizeof *cuda->mail);
  return poiseCudaCheck(cudaMalloc((void **)&cuda->subtotals, POISE_MAX_SUMS * SUBTOTALS * sizeof(double)),
                        "scratch of the device");
}

static void Destroy(Device *dev)
{
  Cuda *cuda = (Cuda *)dev->data;
  if (!cuda) return;
  poiseCudaSparseClose(dev);
  poiseCudaDirectClose(dev);
  for (int k = 0; k < EVENTS; k++)
    if (cuda->event[k]) cudaEventDestroy(cuda->event[k]);
  poiseCudaRecorderDestroy(dev, &cuda->recording);
  if (cuda->subtotals) cudaFree(cuda->subtotals);
  if (cuda->mail) cudaFreeHost(cuda->mail);
  if (cuda->pool) cudaMemPoolDestroy(cuda->pool); /* goes when the last of its blocks has */
  if (cuda->stream && cuda->stream != (cudaStream_t)dev->ctx->stream) cudaStreamDestroy(cuda->stream);
  poiseFree(dev->ctx, &dev->data);
}

/* In a capture, this library's or the application's, memory would become a part of the graph. */
static bool IsCaptured(const Cuda *cuda)
{
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  return cudaStreamIsCapturing(cuda->stream, &status) == cudaSuccess && status != cudaStreamCaptureStatusNone;
}

/* What the pool keeps may stand in the way of a larger block: give it back, once the GPU no longer uses
   it. */
static cudaError_t AllocFromPool(Cuda *cuda, size_t bytes, void **p)
{
  cudaError_t e = cudaMallocFromPoolAsync(p, bytes, cuda->pool, cuda->stream);
  if (e != cudaErrorMemoryAllocation) return e;
  (void)cudaGetLastError();
  (void)cudaStreamSynchronize(cuda->stream);
  (void)cudaMemPoolTrimTo(cuda->pool, 0);
  return cudaMallocFromPoolAsync(p, bytes, cuda->pool, cuda->stream);
}

static PoiseErr MemoryLeft(Device *dev, int64_t *left, int64_t *total);

static PoiseErr Alloc(Device *dev, size_t bytes, const char *what, void **p)
{
  Cuda *cuda = (Cuda *)dev->data;
  int64_t left = 0, total = 0;
  *p = NULL;
  if (!bytes) return POISE_OK;
  if (IsCaptured(cuda)) FAIL(POISE_ERR_INTERNAL, "an allocation (%s) inside the capture of a graph", what);
  TRY(poiseAllocCount(dev->ctx, bytes, what));
  cudaError_t e = dev->pools ? AllocFromPool(cuda, bytes, p) : cudaMalloc(p, bytes);
  if (e == cudaSuccess) return POISE_OK;
  *p = NULL;
  (void)cudaGetLastError(); /* running out is no lasting failure */
  if (MemoryLeft(dev, &left, &total)) PoiseErrorClear();
  poiseFreeCount(dev->ctx);
  FAIL(e == cudaErrorMemoryAllocation ? POISE_ERR_MEMORY : POISE_ERR_DEVICE,
       "%zu bytes of GPU memory for %s: %s; %lld of %lld bytes are free", bytes, what, cudaGetErrorString(e),
       (long long)left, (long long)total);
}

static void Free(Device *dev, void *p)
{
  Cuda *cuda = (Cuda *)dev->data;
  if (!p) return;
  poiseFreeCount(dev->ctx);
  if (IsCaptured(cuda)) { /* the block is lost */
    PoiseErr e = PoiseErrorSet(POISE_ERR_INTERNAL, __func__, __FILE__, __LINE__,
                               "a free inside the capture of a graph");
    if (!dev->failed) dev->failed = e;
  } else if (dev->pools) {
    cudaFreeAsync(p, cuda->stream); /* what uses it was enqueued before */
  } else {
    cudaFree(p); /* waits for work that uses it */
  }
}

static void FreeAdopted(Device *dev, void *p)
{
  cudaStreamSynchronize(
      poiseCudaStream(dev)); /* it may come from a pool of the application's, and be freed without a wait */
  PoiseErr e = poiseCudaCheck(cudaFree(p), "freeing an adopted array");
  if (!dev->failed) dev->failed = e;
}

static PoiseErr AllocPinned(Device *dev, size_t bytes, const char *what, void **p)
{
  *p = NULL;
  TRY(poiseAllocCount(dev->ctx, bytes, what));
  cudaError_t e = cudaHostAlloc(p, bytes, cudaHostAllocDefault);
  if (e == cudaSuccess) {
    memset(*p, 0, bytes);
    return POISE_OK;
  }
  (void)cudaGetLastError();
  poiseFreeCount(dev->ctx);
  FAIL(POISE_ERR_MEMORY, "%zu bytes of pinned memory for %s: %s", bytes, what, cudaGetErrorString(e));
}

static void FreePinned(Device *dev, void *p)
{
  cudaStreamSynchronize(poiseCudaStream(dev)); /* copies may still be under way */
  cudaFreeHost(p);
  poiseFreeCount(dev->ctx);
}

static void Pin(Device *dev, void *p, size_t bytes)
{
  (void)dev;
  if (cudaHostRegister(p, bytes, cudaHostRegisterDefault) != cudaSuccess) (void)cudaGetLastError();
}

static void Unpin(Device *dev, void *p)
{
  cudaStreamSynchronize(poiseCudaStream(dev));
  if (cudaHostUnregister(p) != cudaSuccess) (void)cudaGetLastError();
}

static PoiseErr Copy(Device *dev, void *dst, const void *src, size_t bytes, CopyKind kind)
{
  static const cudaMemcpyKind kinds[] = {cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost,
                                         cudaMemcpyDeviceToDevice};
  return poiseCudaCheck(cudaMemcpyAsync(dst, src, bytes, kinds[kind], poiseCudaStream(dev)), "copying");
}

static const KernelFn kernels[KERNEL_COUNT] = {
#define KERNEL(name, Args)      poiseCuda_##name,
#define HOST_KERNEL(name, Args) NULL,
#include "sys/device/kernels.def"
#undef KERNEL
};

/* An error that was there before is the application's, in a program that has one runtime for both. It is
   dropped, as libraries that kernels call would take it for theirs. */
static PoiseErr Launch(Device *dev, int kernel, const void *args, size_t bytes)
{
  (void)bytes;
  if (cudaPeekAtLastError() != cudaSuccess) (void)cudaGetLastError();
  TRY(kernels[kernel](dev, args));
  return poiseCudaCheck(cudaGetLastError(), poiseKernelName(kernel));
}

static PoiseErr Sync(Device *dev)
{
  TRY(poiseCudaNcclWait(dev, NULL));
  return poiseCudaCheck(cudaStreamSynchronize(poiseCudaStream(dev)), "waiting for the GPU");
}

static PoiseErr Record(Device *dev, int64_t *event)
{
  Cuda *cuda = (Cuda *)dev->data;
  *event = cuda->recorded++;
  return poiseCudaCheck(cudaEventRecord(cuda->event[*event % EVENTS], cuda->stream), "recording an event");
}

static PoiseErr Wait(Device *dev, int64_t event)
{
  Cuda *cuda = (Cuda *)dev->data;
  TRY(poiseCudaNcclWait(dev, cuda->event[event % EVENTS]));
  return poiseCudaCheck(cudaEventSynchronize(cuda->event[event % EVENTS]), "waiting for an event");
}

PoiseErr poiseCudaLoading(Device *dev, CUmoduleLoadingMode *mode)
{
  const Cuda *cuda = (const Cuda *)dev->data;
  return poiseCudaCheck((cudaError_t)cuda->driver.cuModuleGetLoadingMode(mode), "how kernels are loaded");
}

/* ---- memory that is asked about -------------------------------------------------------------- */

/* What CUDA knows of a pointer; where that is nothing, it is the host's. */
static cudaPointerAttributes Attributes(const void *p)
{
  cudaPointerAttributes a = {};
  if (cudaPointerGetAttributes(&a, p) == cudaSuccess) return a;
  (void)cudaGetLastError();
  a.type = cudaMemoryTypeUnregistered;
  return a;
}

/* Memory of this GPU; of how many bytes, CUDA does not say. */
static bool Owns(Device *dev, const void *p, size_t bytes)
{
  cudaPointerAttributes a = Attributes(p);
  (void)bytes;
  return a.type == cudaMemoryTypeManaged || (a.type == cudaMemoryTypeDevice && a.device == dev->id);
}

static bool Hides(Device *dev, const void *p)
{
  (void)dev;
  return Attributes(p).type == cudaMemoryTypeDevice;
}

static bool Pinned(Device *dev, const void *p)
{
  (void)dev;
  cudaMemoryType type = Attributes(p).type;
  return type == cudaMemoryTypeHost || type == cudaMemoryTypeManaged;
}

/* What the pool holds and nobody uses is free, that which the GPU has yet to leave too. */
static PoiseErr MemoryLeft(Device *dev, int64_t *left, int64_t *total)
{
  Cuda *cuda = (Cuda *)dev->data;
  size_t l = 0, t = 0;
  uint64_t reserved = 0, used = 0;
  if (cuda->pool) {
    TRY(poiseCudaCheck(cudaStreamSynchronize(cuda->stream), "waiting for the GPU"));
    TRY(poiseCudaCheck(cudaMemPoolGetAttribute(cuda->pool, cudaMemPoolAttrReservedMemCurrent, &reserved),
                       "a pool of memory"));
    TRY(poiseCudaCheck(cudaMemPoolGetAttribute(cuda->pool, cudaMemPoolAttrUsedMemCurrent, &used),
                       "a pool of memory"));
  }
  TRY(poiseCudaCheck(cudaMemGetInfo(&l, &t), "asking for free memory"));
  *left = (int64_t)(l + (reserved - used));
  *total = (int64_t)t;
  return POISE_OK;
}

/* An event's name in a profiler's timeline. */
static void Range(const char *name)
{
  if (name)
    nvtxRangePushA(name);
  else
    nvtxRangePop();
}

static const MatDevice for_mat = {
    .csr_libraries = poiseCudaCsrLibraries,
    .csr_plan = Through<poiseCudaCsrPlan>::Door,
    .csr_plan_free = Through<poiseCudaCsrPlanFree>::Door,
    .sort_scratch = Through<poiseCudaSortScratch>::Door,
};

static const PCDevice for_pc = {
    .single_rows = true,
    .factor_libraries = poiseCudaFactorLibraries,
    .factor_plan = Through<poiseCudaFactorPlan>::Door,
    .factor_plan_free = Through<poiseCudaFactorPlanFree>::Door,
    .direct_unasked = true,
    .direct_find = Through<poiseCudaDirectFind>::Door,
    .direct_plan = Through<poiseCudaDirectPlan>::Door,
    .direct_plan_free = Through<poiseCudaDirectPlanFree>::Door,
};

/* In the order of DeviceOps, as C++ wants it. */
extern "C" {
extern const DeviceOps poiseDevice_cuda;
const DeviceOps poiseDevice_cuda = {
    .name = "cuda",
    .kernel = kernels,
    .mat = &for_mat,
    .pc = &for_pc,
    .link = &poiseCudaLink,
    .create = Create,
    .destroy = Through<Destroy>::Door,
    .alloc = Through<Alloc>::Door,
    .free = Through<Free>::Door,
    .free_adopted = Through<FreeAdopted>::Door,
    .alloc_pinned = Through<AllocPinned>::Door,
    .free_pinned = Through<FreePinned>::Door,
    .pin = Through<Pin>::Door,
    .unpin = Through<Unpin>::Door,
    .copy = Through<Copy>::Door,
    .launch = Through<Launch>::Door,
    .sync = Through<Sync>::Door,
    .fetch = Through<poiseCudaFetch>::Door,
    .record = Through<Record>::Door,
    .wait = Through<Wait>::Door,
    .capture_first = Through<poiseCudaCaptureFirst>::Door,
    .capture_begin = Through<poiseCudaCaptureBegin>::Door,
    .capture_step = Through<poiseCudaCaptureStep>::Door,
    .capture_end = Through<poiseCudaCaptureEnd>::Door,
    .replay = Through<poiseCudaReplay>::Door,
    .graph_free = Through<poiseCudaGraphFree>::Door,
    .owns = Through<Owns>::Door,
    .hides = Through<Hides>::Door,
    .pinned = Through<Pinned>::Door,
    .memory = Through<MemoryLeft>::Door,
    .range = Range,
    .automatic = true,
    .count = Count,
    .bus = Bus,
    .describe = Describe,
};
}

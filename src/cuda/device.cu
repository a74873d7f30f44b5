/* SPDX-License-Identifier: BSD-3-Clause */
/* The CUDA device: a stream, memory, graphs, and its table of kernels. No context is created before the device is. */
#include "cuda.h"

#include <nvtx3/nvToolsExt.h>

enum { EVENTS = 8 }; /* more than are ever waited for at once */

struct Graph {
  cudaGraphExec_t exec;
};

typedef struct Cuda {
  cudaStream_t stream;
  cudaEvent_t event[EVENTS];
  int64_t recorded;
  int capability; /* major */
  double *pieces;
  bool captures;
} Cuda;

cudaStream_t poiseCudaStream(Device *dev)
{
  return ((Cuda *)dev->data)->stream;
}

double *poiseCudaPieces(Device *dev)
{
  return ((Cuda *)dev->data)->pieces;
}

bool poiseCudaHasBulk(Device *dev)
{
  return ((Cuda *)dev->data)->capability >= 9;
}

bool poiseCudaCaptures(Device *dev)
{
  return ((Cuda *)dev->data)->captures;
}

PoiseErr poiseCudaCheck(cudaError_t e, const char *what)
{
  if (e == cudaSuccess) return POISE_OK;
  (void)cudaGetLastError(); /* reported here and not by a later call */
  FAIL(e == cudaErrorMemoryAllocation ? POISE_ERR_MEMORY : POISE_ERR_DEVICE, "%s: %s (%s)", what, cudaGetErrorString(e),
       cudaGetErrorName(e));
}

static PoiseErr Count(int *count)
{
  *count = 0;
  cudaError_t e = cudaGetDeviceCount(count);
  if (e != cudaSuccess) FAIL(POISE_ERR_DEVICE, "no GPU can be used: %s (%s)", cudaGetErrorString(e), cudaGetErrorName(e));
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

static PoiseErr Create(Device *dev)
{
  Cuda *cuda;
  TRY(poiseAlloc(dev->ctx, sizeof *cuda, "CUDA device", &dev->data));
  cuda = (Cuda *)dev->data;
  cudaStream_t given = (cudaStream_t)dev->ctx->stream;
  if (given == cudaStreamLegacy)
    FAIL(POISE_ERR_ARG, "PoiseInit.stream is the legacy default stream, which records no graphs");
  if (given) TRY(poiseCudaCheck(cudaGetDevice(&dev->id), "asking for the GPU of PoiseInit.stream"));
  int gpu = dev->id;
  TRY(poiseCudaCheck(cudaSetDevice(gpu), "choosing the GPU"));
  TRY(poiseCudaCheck(cudaDeviceGetAttribute(&cuda->capability, cudaDevAttrComputeCapabilityMajor, gpu), "asking the GPU"));
  if (given) {
    unsigned flags;
    TRY(poiseCudaCheck(cudaStreamGetFlags(given, &flags), "PoiseInit.stream"));
    cuda->stream = given;
  } else {
    TRY(poiseCudaCheck(cudaStreamCreateWithFlags(&cuda->stream, cudaStreamNonBlocking), "creating a stream"));
  }
  dev->stream = cuda->stream;
  for (int k = 0; k < EVENTS; k++)
    TRY(poiseCudaCheck(cudaEventCreateWithFlags(&cuda->event[k], cudaEventDisableTiming), "creating an event"));
  return poiseCudaCheck(cudaMalloc((void **)&cuda->pieces, POISE_MAX_SUMS * PIECES * sizeof(double)),
                        "scratch of the device");
}

static void Destroy(Device *dev)
{
  Cuda *cuda = (Cuda *)dev->data;
  if (!cuda) return;
  for (int k = 0; k < EVENTS; k++)
    if (cuda->event[k]) cudaEventDestroy(cuda->event[k]);
  if (cuda->pieces) cudaFree(cuda->pieces);
  if (cuda->stream && cuda->stream != (cudaStream_t)dev->ctx->stream) cudaStreamDestroy(cuda->stream);
  poiseFree(dev->ctx, &dev->data);
}

static PoiseErr Alloc(Device *dev, size_t bytes, const char *what, void **p)
{
  *p = NULL;
  if (!bytes) return POISE_OK;
  TRY(poiseAllocCount(dev->ctx, bytes, what));
  cudaError_t e = cudaMalloc(p, bytes);
  if (e == cudaSuccess) return POISE_OK;
  size_t left = 0, total = 0;
  (void)cudaGetLastError(); /* running out is no lasting failure */
  (void)cudaMemGetInfo(&left, &total);
  poiseFreeCount(dev->ctx);
  FAIL(e == cudaErrorMemoryAllocation ? POISE_ERR_MEMORY : POISE_ERR_DEVICE,
       "%zu bytes of GPU memory for %s: %s; %zu of %zu bytes are free", bytes, what, cudaGetErrorString(e), left, total);
}

static void Free(Device *dev, void *p)
{
  if (!p) return;
  cudaFree(p); /* waits for work that uses it */
  poiseFreeCount(dev->ctx);
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
  cudaFreeHost(p);
  poiseFreeCount(dev->ctx);
}

static PoiseErr Copy(Device *dev, void *dst, const void *src, size_t bytes, CopyKind kind)
{
  static const cudaMemcpyKind kinds[] = {cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice};
  return poiseCudaCheck(cudaMemcpyAsync(dst, src, bytes, kinds[kind], poiseCudaStream(dev)), "copying");
}

static const KernelFn kernels[KERNEL_COUNT] = {
#define KERNEL(name, Args) poiseCuda_##name,
#include "../sys/kernels.def"
#undef KERNEL
};

static PoiseErr Launch(Device *dev, int kernel, const void *args, size_t bytes)
{
  (void)bytes;
  TRY(kernels[kernel](dev, args));
  return poiseCudaCheck(cudaGetLastError(), poiseKernelName(kernel));
}

static PoiseErr Sync(Device *dev)
{
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
  return poiseCudaCheck(cudaEventSynchronize(cuda->event[event % EVENTS]), "waiting for an event");
}

/* ---- graphs --------------------------------------------------------------------------------------------------------- */

static PoiseErr CaptureBegin(Device *dev)
{
  TRY(poiseCudaCheck(cudaStreamBeginCapture(poiseCudaStream(dev), cudaStreamCaptureModeThreadLocal),
                     "beginning a capture"));
  ((Cuda *)dev->data)->captures = true;
  return POISE_OK;
}

static PoiseErr CaptureEnd(Device *dev, Graph **graph)
{
  cudaGraph_t captured = NULL;
  ((Cuda *)dev->data)->captures = false;
  *graph = NULL;
  TRY(poiseCudaCheck(cudaStreamEndCapture(poiseCudaStream(dev), &captured), "ending a capture"));
  PoiseErr e = poiseAlloc(dev->ctx, sizeof **graph, "graph", graph);
  if (!e) e = poiseCudaCheck(cudaGraphInstantiate(&(*graph)->exec, captured, 0), "making a graph of a capture");
  cudaGraphDestroy(captured);
  if (e) poiseFree(dev->ctx, graph);
  return e;
}

static PoiseErr Replay(Device *dev, Graph *graph)
{
  return poiseCudaCheck(cudaGraphLaunch(graph->exec, poiseCudaStream(dev)), "replaying a graph");
}

static void GraphFree(Device *dev, Graph **graph)
{
  if (!*graph) return;
  cudaGraphExecDestroy((*graph)->exec);
  poiseFree(dev->ctx, graph);
}

/* Memory of this GPU; of how many bytes, CUDA does not say. */
static bool Owns(Device *dev, const void *p, size_t bytes)
{
  cudaPointerAttributes a;
  (void)bytes;
  if (cudaPointerGetAttributes(&a, p) != cudaSuccess) {
    (void)cudaGetLastError();
    return false;
  }
  return a.type == cudaMemoryTypeManaged || (a.type == cudaMemoryTypeDevice && a.device == dev->id);
}

static PoiseErr MemoryLeft(Device *dev, int64_t *left, int64_t *total)
{
  size_t l = 0, t = 0;
  (void)dev;
  TRY(poiseCudaCheck(cudaMemGetInfo(&l, &t), "asking for free memory"));
  *left = (int64_t)l;
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

/* In the order of DeviceOps: C++17 has no designated initialisers. */
extern "C" {
extern const DeviceOps poiseDevice_cuda;
const DeviceOps poiseDevice_cuda = {
    "cuda",
    false,
    kernels,
    poiseCudaCsrRows,
    poiseCudaSortScratch,
    512,  /* chunk of csri: of a warp */
    4096, /* piece: of a block */
    true,
    Create,
    Destroy,
    Alloc,
    Free,
    AllocPinned,
    FreePinned,
    Copy,
    Launch,
    Sync,
    NULL,
    Record,
    Wait,
    CaptureBegin,
    CaptureEnd,
    Replay,
    GraphFree,
    Owns,
    MemoryLeft,
    Range,
    true,
    Count,
    Bus,
    Describe,
};
}

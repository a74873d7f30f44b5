/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of this folder share: the contract and the system layer as C++ sees them, and block-wide
   reductions. */
#ifndef POISE_CUDA_H
#define POISE_CUDA_H

#include <cuda_runtime.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <type_traits>

#include "sys/device/kernels.h"
#include "mat/product/csr_kernels.h" /* not in extern "C": its functions are overloaded */
extern "C" {
#include "sys/sys.h"
#include "mat/product/product_plan.h"
}

enum {
  THREADS = 256, /* of most thread blocks, which have POISE_BLOCK rows */
  WARPS = THREADS / 32,
  SUBTOTALS = 64,              /* partials that many partials are first reduced to */
  ROWS = POISE_BLOCK / THREADS /* rows of a thread: k * THREADS + threadIdx.x, for coalesced access */
};

#include "reduce.h"

struct Mail { /* in pinned memory: what a GPU stores for the host */
  uint32_t word[POISE_FETCH / 4];
  uint64_t latest, sent; /* numbers of fetches: that have come, and that the host has asked for */
};

struct LinkHandle;
struct LinkInvitation;
struct LinkPlace;
struct Nccl;
struct Sparse;
struct Direct;
struct DirectView;
struct DirectFacts;
struct Recording;

extern "C" { /* so that names keep their prefix in an archive; kernels are static */
cudaStream_t poiseCudaStream(Device *dev);
/* scratch of SUBTOTALS doubles for each of POISE_MAX_SUMS sums */
double *poiseCudaSubtotals(Device *dev);
struct Recording **poiseCudaRecording(Device *dev); /* graph.cu */
PoiseErr poiseCudaRecorderCreate(Device *dev, struct Recording **recording);
void poiseCudaRecorderDestroy(Device *dev, struct Recording **recording);
PoiseErr poiseCudaCaptureFirst(Device *dev, const double *done);
PoiseErr poiseCudaCaptureBegin(Device *dev, const double *done);
PoiseErr poiseCudaCaptureStep(Device *dev);
PoiseErr poiseCudaCaptureEnd(Device *dev, Graph **graph);
PoiseErr poiseCudaReplay(Device *dev, Graph *graph, int turns);
void poiseCudaGraphFree(Device *dev, Graph **graph);
void poiseCudaCapturesExchange(Device *dev);  /* what is captured, if anything, has a call of NCCL */
void poiseCudaEndExchanges(Device *dev);      /* graphs with such calls end, and run no more */
bool poiseCudaInLoop(Device *dev);            /* a solver's loop is being captured: it changes no matrix */
struct Sparse **poiseCudaSparse(Device *dev); /* cuSPARSE once it is open (cusparse.cu), else NULL */
void poiseCudaSparseClose(Device *dev);
extern const char *const poiseCudaCsrLibraries[];
PoiseErr poiseCudaCsrPlan(Device *, int library, const struct CsrView *A, int64_t columns, LibraryPlan *plan);
void poiseCudaCsrPlanFree(Device *dev, LibraryPlan *plan);
extern const char *const poiseCudaFactorLibraries[];
PoiseErr poiseCudaFactorPlan(Device *dev, int library, const struct FactorView *f, LibraryPlan *plan);
void poiseCudaFactorPlanFree(Device *dev, LibraryPlan *plan);
struct Direct **poiseCudaDirect(Device *dev); /* cuDSS once it is open (cudss.cu), else NULL */
void poiseCudaDirectClose(Device *dev);
PoiseErr poiseCudaDirectFind(Device *dev);
PoiseErr poiseCudaDirectPlan(Device *, const struct DirectView *A, bool only, LibraryPlan *,
                             struct DirectFacts *);
void poiseCudaDirectPlanFree(Device *dev, LibraryPlan *plan);
struct Mail *poiseCudaMail(Device *dev); /* for fetch.cu */
PoiseErr poiseCudaFetch(Device *dev, int n, size_t width, const void *const *from, void *to);
PoiseErr poiseCudaLoadFetch(Device *dev); /* now, as kernels that poll may run during the first fetch */
size_t poiseCudaSortScratch(Device *dev, const SortKeysArgs *a);
/* memory that other GPUs reach, as sys/device/link_device.h says (peer.cu) */
PoiseErr poiseCudaSharedAlloc(Device *dev, size_t bytes, const char *what, void **p);
void poiseCudaSharedFree(Device *dev, void *p);
/* POISE_ERR_UNSUPPORTED if this GPU cannot reach memory of that one */
PoiseErr poiseCudaCheckPeer(const Device *dev, int gpu);
PoiseErr poiseCudaReach(Device *dev, const struct LinkPlace *place);
PoiseErr poiseCudaExport(Device *dev, size_t bytes, const char *what, struct LinkHandle *handle, void **p);
void poiseCudaUnexport(Device *dev, size_t bytes, void *p);
PoiseErr poiseCudaOpen(Device *dev, const struct LinkHandle *handle, size_t bytes, void **p);
void poiseCudaClose(Device *dev, size_t bytes, void *p);
/* load kernels that poll, or others may poll for: of a link (link.cu), phases that exchange (ksp.cu) */
PoiseErr poiseCudaLoadLink(Device *dev);
PoiseErr poiseCudaLoadPhases(Device *dev);
/* NCCL, as LinkLibrary says it (nccl.cu) */
struct Nccl **poiseCudaNccl(Device *dev); /* once it is open, else NULL */
PoiseErr poiseCudaNcclLoad(Device *dev, void **library);
void poiseCudaNcclUnload(Device *dev, void **library);
void poiseCudaNcclDescribe(const void *library, char *text, size_t size);
PoiseErr poiseCudaNcclInvite(Device *dev, void *library, struct LinkInvitation *invitation);
PoiseErr poiseCudaNcclJoin(Device *, void *library, const struct LinkInvitation *, int rank, int size);
void poiseCudaNcclLeave(Device *dev, void *library, bool at_once);
void poiseCudaNcclWatch(Device *dev, void *library, double seconds);
PoiseErr poiseCudaNcclGather(Device *dev, void *library, int count, const double *mine, double *all);
PoiseErr poiseCudaNcclExchange(Device *, void *library, const Exchange *, const double *send, double *recv);
PoiseErr poiseCudaNcclArrive(Device *dev, void *library);
/* Wait for this event, NULL: for all work, as long as NCCL is watched. The wait that follows says how it
   ended, unless time is up. */
PoiseErr poiseCudaNcclWait(Device *dev, cudaEvent_t event);
PoiseErr poiseCudaCheck(cudaError_t e, const char *what); /* POISE_ERR_DEVICE with CUDA's words */
}

#define KERNEL(name, Args) extern "C" PoiseErr poiseCuda_##name(Device *, const void *args);
#include "sys/device/kernels.def"
#undef KERNEL

/* The type of the vector x, or of the vectors x_j, of a kernel with these arguments. */
template <typename Args>
using Entry = std::remove_const_t<std::remove_pointer_t<std::remove_extent_t<decltype(Args::x)>>>;

/* Thread blocks for n threads. */
static inline unsigned Grid(int64_t n)
{
  return (unsigned)((n + THREADS - 1) / THREADS);
}

/* The factor of a finished row y in dot k. Real: the type of y, with which u and d may be in fp32. */
template <typename Real = double>
__device__ __forceinline__ double Factor(const Fuse &f, int k, int64_t i, double y)
{
  if (sizeof(Real) == sizeof(float) && f.single)
    return f.u[k] ? ((const float *)f.u[k])[i] : f.d[k] ? ((const float *)f.d[k])[i] * y : y;
  return f.u[k] ? f.u[k][i] : f.d[k] ? f.d[k][i] * y : y;
}

/* ---- programmatic dependent launch (PDL): kernels that follow each other without a gap ------- */

/* A kernel that is launched by LaunchPdl may start before the kernel ahead has ended. It first lets its own
   dependent start (PdlLaunchDependents). It reads nothing that may change before PdlWait, which all its
   threads call and which waits for the kernel ahead. Below compute capability 9.0 both do nothing. */
__device__ __forceinline__ void PdlWait()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

__device__ __forceinline__ void PdlLaunchDependents()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

struct SharedMemory { /* of a kernel that is launched */
  size_t bytes;       /* of each block, besides what the kernel declares */
  int carve;          /* percent of a multiprocessor's L1 to be shared memory; -1: the driver's choice */
  SharedMemory(size_t n, int percent = -1) : bytes(n), carve(percent)
  {
  }
};

/* The one launch of kernels that follow each other. */
template <typename... Args>
static PoiseErr LaunchPdl(Device *dev, void (*kernel)(Args...), dim3 grid, unsigned threads,
                          SharedMemory shared, Args... args)
{
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute attribute[2] = {};
  unsigned n = 0;
  if (dev->model.bulk) {
    attribute[n].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute[n++].val.programmaticStreamSerializationAllowed = 1;
  }
#if CUDART_VERSION >= 12050
  if (shared.carve >= 0) {
    attribute[n].id = cudaLaunchAttributePreferredSharedMemoryCarveout;
    attribute[n++].val.sharedMemCarveout = (unsigned)shared.carve;
  }
#endif
  config.gridDim = grid;
  config.blockDim = threads;
  config.dynamicSmemBytes = shared.bytes;
  config.stream = poiseCudaStream(dev);
  config.attrs = attribute;
  config.numAttrs = n;
  return poiseCudaCheck(cudaLaunchKernelEx(&config, kernel, args...), "launching a kernel");
}

/* Epilogue: the dots of a thread block's finished rows, of which this thread holds ROWS in y[]. */
template <typename Real = double>
__device__ __forceinline__ void FuseDots(const Fuse &f, const double (&y)[ROWS], int64_t first, int64_t n,
                                         int64_t block)
{
  for (int k = 0; k < f.ndot; k++) {
    double s[1] = {0};
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
      int64_t i = first + r * THREADS;
      if (i < n) s[0] += Factor<Real>(f, k, i, y[r]) * y[r];
    }
    BlockReduce<1, COMBINE_SUM>(s);
    if (threadIdx.x == 0) f.partial[k][block] = s[0];
  }
}

/* A function for each block size; blocks of 1 x 1 are handled as scalars. */
#define FROM_2_TO_32(F)                                                                                   \
  F<2>, F<3>, F<4>, F<5>, F<6>, F<7>, F<8>, F<9>, F<10>, F<11>, F<12>, F<13>, F<14>, F<15>, F<16>, F<17>, \
      F<18>, F<19>, F<20>, F<21>, F<22>, F<23>, F<24>, F<25>, F<26>, F<27>, F<28>, F<29>, F<30>, F<31>,   \
      F<32>

#endif

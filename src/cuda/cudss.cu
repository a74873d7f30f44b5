/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Sparse factors by cuDSS, version 1. The library is opened on first need, and nothing of it is needed to
  build: what is used of it is declared here. Its memory is the device's, so that it is counted and limited.
*/
#include "pc/lu_kernels.h"
#include "cuda.h"

#include <dlfcn.h>

#define NAMED(name, version)   "lib" name ".so." #version
#define LIBRARY(name, version) NAMED(name, version)
#if CUDART_VERSION >= 13000
#define TOOLKIT 13
#else
#define TOOLKIT 12
#endif

/* ---- what is used of cuDSS 1, as its cudss.h has it ------------------------------------------ */

typedef struct Handle *Handle_t;
typedef struct Config *Config_t;
typedef struct Data *Data_t;
typedef struct Matrix *Matrix_t;
enum { SUCCESS = 0, ALLOC_FAILED = 2, NOT_SUPPORTED = 4 };
enum { DETERMINISTIC_MODE = 24 };                                             /* a setting */
enum { INFO = 0, LU_NNZ = 1, NPIVOTS = 2, FLOPS = 26 };                       /* what is known of factors */
enum { ANALYSIS = 3, FACTORIZATION = 4, REFACTORIZATION = 8, SOLVE = 0x3f0 }; /* phases */
enum { GENERAL = 0, SPD = 3, FULL = 0, UPPER = 2, BASE_ZERO = 0, COL_MAJOR = 0 };
enum { VERSION = 1 };

typedef struct MemoryHandler {
  void *ctx;
  int (*alloc)(void *ctx, void **p, size_t bytes, cudaStream_t stream);
  int (*free)(void *ctx, void *p, size_t bytes, cudaStream_t stream);
  char name[64];
} MemoryHandler;

/* F(name, arguments): all return a status */
#define FUNCTIONS(F)                                                                                   \
  F(GetProperty, (libraryPropertyType, int *))                                                         \
  F(Create, (Handle_t *))                                                                              \
  F(Destroy, (Handle_t))                                                                               \
  F(SetStream, (Handle_t, cudaStream_t))                                                               \
  F(SetDeviceMemHandler, (Handle_t, const MemoryHandler *))                                            \
  F(ConfigCreate, (Config_t *))                                                                        \
  F(ConfigDestroy, (Config_t))                                                                         \
  F(ConfigSet, (Config_t, int, const void *, size_t))                                                  \
  F(DataCreate, (Handle_t, Data_t *))                                                                  \
  F(DataDestroy, (Handle_t, Data_t))                                                                   \
  F(DataSet, (Handle_t, Data_t, int, const void *, size_t))                                            \
  F(DataGet, (Handle_t, Data_t, int, void *, size_t, size_t *))                                        \
  F(MatrixCreateDn, (Matrix_t *, int64_t, int64_t, int64_t, const void *, cudaDataType_t, int))        \
  F(MatrixCreateCsr, (Matrix_t *, int64_t, int64_t, int64_t, const void *, const void *, const void *, \
                      const void *, cudaDataType_t, cudaDataType_t, cudaDataType_t, int, int, int))    \
  F(MatrixSetValues, (Matrix_t, const void *))                                                         \
  F(MatrixDestroy, (Matrix_t))                                                                         \
  F(Execute, (Handle_t, int phase, Config_t, Data_t, Matrix_t, Matrix_t x, Matrix_t b))

struct Direct {
#define POINTER(name, arguments) int(*name) arguments;
  FUNCTIONS(POINTER)
#undef POINTER
  Handle_t handle;
  char version[32];
  int64_t bytes;   /* that it holds of the device's memory */
  char lacks[400]; /* why it cannot be used, which does not change; "": it can */
};

typedef struct Plan { /* of one matrix; data is NULL: nothing is analysed */
  Config_t config;
  Data_t data;
  Matrix_t A, x, y;
  bool factored;
  int repeats; /* its deterministic mode is on */
} Plan;

/* ---- the library ----------------------------------------------------------------------------- */

static PoiseErr Check(int status, const char *what)
{
  static const char *const words[] = {"success",        "not initialised",  "out of memory",
                                      "invalid value",  "not supported",    "failed on the GPU",
                                      "internal error", "refinement failed"};
  if (status == SUCCESS) return POISE_OK;
  FAIL(status == ALLOC_FAILED    ? POISE_ERR_MEMORY
       : status == NOT_SUPPORTED ? POISE_ERR_UNSUPPORTED
                                 : POISE_ERR_DEVICE,
       "cudss%s: %s", what, status > 0 && status < 8 ? words[status] : "unknown status");
}

#define CALL(d, function, ...) TRY(Check((d)->function(__VA_ARGS__), #function))

static int Allocate(void *ctx, void **p, size_t bytes, cudaStream_t stream)
{
  Device *dev = (Device *)ctx;
  (void)stream;
  PoiseErr e = poiseDeviceAlloc(dev, bytes, "factors of cuDSS", p);
  if (!e) (*poiseCudaDirect(dev))->bytes += (int64_t)bytes;
  return e ? 1 : 0;
}

static int Free(void *ctx, void *p, size_t bytes, cudaStream_t stream)
{
  Device *dev = (Device *)ctx;
  (void)stream;
  if (p) (*poiseCudaDirect(dev))->bytes -= (int64_t)bytes;
  poiseDeviceFree(dev, bytes, &p);
  return 0;
}

/* As the system finds it, else where the CUDA libraries were at build time, which it needs too: cuBLAS and
   NVRTC. It stays open, since the driver has its kernels. */
static PoiseErr Open(void **library)
{
  static const char *const names[] = {"libcudss.so.1", POISE_CUDA_LIBRARIES "/libcudss.so.1",
                                      "libcudss.so.0"};
  char words[160] = "";
  *library = dlopen(names[0], RTLD_NOW | RTLD_LOCAL);
  if (!*library) {
    snprintf(words, sizeof words, "%s", dlerror());
    (void)dlopen(POISE_CUDA_LIBRARIES "/" LIBRARY("cublas", TOOLKIT), RTLD_NOW | RTLD_LOCAL);
    (void)dlopen(POISE_CUDA_LIBRARIES "/" LIBRARY("nvrtc", TOOLKIT), RTLD_NOW | RTLD_LOCAL);
  }
  for (int k = 0; !*library && k < 3; k++) *library = dlopen(names[k], RTLD_NOW | RTLD_LOCAL);
  if (!*library)
    FAIL(POISE_ERR_UNSUPPORTED,
         "cuDSS was not found: %s, nor %s (LD_LIBRARY_PATH may name its folder; -pc_factor_solver superlu "
         "needs "
         "none)",
         words, names[1]);
  return POISE_OK;
}

static PoiseErr LookUp(void *library, const char *name, void **function)
{
  *function = dlsym(library, name);
  if (!*function) FAIL(POISE_ERR_UNSUPPORTED, "the cuDSS that was loaded has no %s", name);
  return POISE_OK;
}

/* Another major version has other functions and numbers. */
static PoiseErr CheckVersion(Direct *d)
{
  int part[3];
  for (int k = 0; k < 3; k++) CALL(d, GetProperty, (libraryPropertyType)(MAJOR_VERSION + k), &part[k]);
  snprintf(d->version, sizeof d->version, "cuDSS %d.%d.%d", part[0], part[1], part[2]);
  if (part[0] == VERSION) return POISE_OK;
  FAIL(POISE_ERR_UNSUPPORTED, "%s was found, and version %d is needed", d->version, VERSION);
}

static PoiseErr Load(Device *dev, Direct *d)
{
  MemoryHandler memory = {dev, Allocate, Free, "poise"};
  void *library;
  TRY(Open(&library));
  TRY(LookUp(library, "cudssGetProperty", (void **)&d->GetProperty));
  TRY(CheckVersion(d));
#define LOOK_UP(name, arguments) TRY(LookUp(library, "cudss" #name, (void **)&d->name));
  FUNCTIONS(LOOK_UP)
#undef LOOK_UP
  CALL(d, Create, &d->handle);
  CALL(d, SetStream, d->handle, poiseCudaStream(dev));
  CALL(d, SetDeviceMemHandler, d->handle, &memory);
  return POISE_OK;
}

PoiseErr poiseCudaDirectFind(Device *dev)
{
  Direct **mine = poiseCudaDirect(dev);
  if (*mine && *(*mine)->lacks) FAIL(POISE_ERR_UNSUPPORTED, "%s", (*mine)->lacks);
  if (*mine) return POISE_OK;
  TRY(poiseAlloc(dev->ctx, sizeof **mine, "cuDSS", mine));
  PoiseErr e = Load(dev, *mine);
  if (e == POISE_ERR_UNSUPPORTED) snprintf((*mine)->lacks, sizeof(*mine)->lacks, "%s", PoiseErrorMessage());
  if (e && e != POISE_ERR_UNSUPPORTED) poiseCudaDirectClose(dev);
  return e;
}

void poiseCudaDirectClose(Device *dev)
{
  Direct **mine = poiseCudaDirect(dev);
  if (*mine && (*mine)->handle) (*mine)->Destroy((*mine)->handle);
  poiseFree(dev->ctx, mine);
}

/* ---- factors --------------------------------------------------------------------------------- */

static PoiseErr Execute(Direct *d, const Plan *p, int phase)
{
  return Check(d->Execute(d->handle, phase, p->config, p->data, p->A, p->x, p->y),
               phase == ANALYSIS ? "Execute (analysis)"
               : phase == SOLVE  ? "Execute (solve)"
                                 : "Execute (factorization)");
}

static PoiseErr Set(Direct *d, const Plan *p, int setting, int value)
{
  return Check(d->ConfigSet(p->config, setting, &value, sizeof value), "ConfigSet");
}

/* Not all matrices have a deterministic mode. */
static PoiseErr Analyse(Direct *d, Plan *p)
{
  p->repeats = 1;
  PoiseErr e = Set(d, p, DETERMINISTIC_MODE, 1);
  if (!e) e = Execute(d, p, ANALYSIS);
  if (e != POISE_ERR_UNSUPPORTED) return e;
  PoiseErrorClear();
  p->repeats = 0;
  TRY(Set(d, p, DETERMINISTIC_MODE, 0));
  return Execute(d, p, ANALYSIS);
}

/* The vectors are placeholders: each solve sets its own. */
static PoiseErr Prepare(Device *dev, Direct *d, const DirectView *A, Plan *p)
{
  const void *any = poiseCudaSubtotals(dev);
  CALL(d, ConfigCreate, &p->config);
  CALL(d, DataCreate, d->handle, &p->data);
  CALL(d, MatrixCreateCsr, &p->A, A->n, A->n, A->nz, A->ptr, NULL, A->col, A->val, CUDA_R_32I, CUDA_R_32I,
       CUDA_R_64F, A->definite ? SPD : GENERAL, A->definite ? UPPER : FULL, BASE_ZERO);
  CALL(d, MatrixCreateDn, &p->x, A->n, 1, A->n, any, CUDA_R_64F, COL_MAJOR);
  CALL(d, MatrixCreateDn, &p->y, A->n, 1, A->n, any, CUDA_R_64F, COL_MAJOR);
  return Analyse(d, p);
}

/* Not all versions say how many flops there are. */
static PoiseErr Count(Direct *d, const DirectView *A, const Plan *p, DirectFacts *facts)
{
  int64_t entries = 0, flops = 0;
  size_t written;
  CALL(d, DataGet, d->handle, p->data, LU_NNZ, &entries, sizeof entries, &written);
  if (d->DataGet(d->handle, p->data, FLOPS, &flops, sizeof flops, &written) != SUCCESS) flops = 0;
  *facts = DirectFacts{};
  memcpy(facts->library, d->version, sizeof d->version);
  facts->entries = A->definite ? 2 * (double)entries - (double)A->n : (double)entries;
  facts->flops = (double)flops;
  facts->repeats = p->repeats;
  return POISE_OK;
}

/* What went wrong before is no longer known. A solve is not refined, which solvers around do as well. */
static PoiseErr Factor(Direct *d, const DirectView *A, Plan *p, DirectFacts *facts)
{
  int info = 0, replaced = 0;
  size_t written;
  CALL(d, DataSet, d->handle, p->data, INFO, &info, sizeof info);
  TRY(Execute(d, p, p->factored ? REFACTORIZATION : FACTORIZATION));
  CALL(d, DataGet, d->handle, p->data, INFO, &info, sizeof info, &written);
  CALL(d, DataGet, d->handle, p->data, NPIVOTS, &replaced, sizeof replaced, &written);
  p->factored = info == 0;
  facts->refused = A->definite && (info != 0 || replaced > 0);
  facts->replaced = replaced;
  if (info && !A->definite) FAIL(POISE_ERR_NUMERIC, "%s has no factors: it reports %d", d->version, info);
  return POISE_OK;
}

PoiseErr poiseCudaDirectPlan(Device *dev, const DirectView *A, bool only, LibraryPlan *plan,
                             DirectFacts *facts)
{
  TRY(poiseCudaDirectFind(dev));
  Direct *d = *poiseCudaDirect(dev);
  Plan *p = (Plan *)plan->device;
  int64_t before = d->bytes - plan->bytes;
  PoiseErr e = POISE_OK;
  if (!p) {
    TRY(poiseAlloc(dev->ctx, sizeof *p, "factors of cuDSS", &p));
    plan->device = p;
    e = Prepare(dev, d, A, p);
  }
  if (!e) e = Count(d, A, p, facts);
  if (!e && !only) e = Factor(d, A, p, facts);
  if (!e) e = poiseCudaCheck(cudaStreamSynchronize(poiseCudaStream(dev)), "factors of cuDSS");
  plan->bytes = d->bytes - before;
  if (e) poiseCudaDirectPlanFree(dev, plan);
  return e;
}

void poiseCudaDirectPlanFree(Device *dev, LibraryPlan *plan)
{
  Plan *p = (Plan *)plan->device;
  const Direct *d = *poiseCudaDirect(dev);
  if (!p) return;
  if (p->A) d->MatrixDestroy(p->A);
  if (p->x) d->MatrixDestroy(p->x);
  if (p->y) d->MatrixDestroy(p->y);
  if (p->data) d->DataDestroy(d->handle, p->data);
  if (p->config) d->ConfigDestroy(p->config);
  poiseFree(dev->ctx, &plan->device);
  *plan = LibraryPlan{};
}

/* ---- solves ---------------------------------------------------------------------------------- */

static __global__ void Scale(int64_t n, double by, double *y)
{
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] *= by;
}

/* y = scale A^-1 x. Traffic: the factors twice, and what the library needs. */
extern "C" PoiseErr poiseCuda_direct_solve(Device *dev, const void *args)
{
  const DirectSolveArgs *a = (const DirectSolveArgs *)args;
  const Plan *p = (const Plan *)a->plan;
  Direct *d = *poiseCudaDirect(dev);
  CALL(d, MatrixSetValues, p->x, a->y);
  CALL(d, MatrixSetValues, p->y, a->x);
  TRY(Execute(d, p, SOLVE));
  if (a->scale == 1) return POISE_OK;
  Scale<<<Grid(a->n), THREADS, 0, poiseCudaStream(dev)>>>(a->n, a->scale, a->y);
  return poiseCudaCheck(cudaGetLastError(), "scaling a solution");
}

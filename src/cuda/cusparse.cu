/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Products of CSR by cuSPARSE. The library is opened when the first of them is asked for: programs start without it, and it need not
  be installed where nobody asks.
*/
#include "cuda.h"

#include <cusparse.h>
#include <dlfcn.h>

#define NAMED(version)   "libcusparse.so." #version
#define LIBRARY(version) NAMED(version)

/* F(name): what is used of it */
#define FUNCTIONS(F)         \
  F(cusparseCreate)          \
  F(cusparseDestroy)         \
  F(cusparseSetStream)       \
  F(cusparseGetErrorString)  \
  F(cusparseCreateConstCsr)  \
  F(cusparseDestroySpMat)    \
  F(cusparseCreateDnVec)     \
  F(cusparseDnVecSetValues)  \
  F(cusparseDestroyDnVec)    \
  F(cusparseSpMV_bufferSize) \
  F(cusparseSpMV_preprocess) \
  F(cusparseSpMV)

struct Sparse {
#define POINTER(name) decltype(&::name) name;
  FUNCTIONS(POINTER)
#undef POINTER
  cusparseHandle_t handle;
};

typedef struct Product { /* of one matrix; without entries it has no descriptors */
  cusparseSpMVAlg_t algorithm;
  cusparseConstSpMatDescr_t A;
  cusparseDnVecDescr_t x, y;
  void *buffer;
  size_t bytes;
} Product;

const char *const poiseCudaCsrLibraries[] = {"cusparse", "cusparse_alg2", NULL};
static const cusparseSpMVAlg_t algorithms[] = {CUSPARSE_SPMV_CSR_ALG1, CUSPARSE_SPMV_CSR_ALG2};
static const double one = 1, zero = 0;

/* ---- the library -------------------------------------------------------------------------------------------------------- */

static PoiseErr Check(const Sparse *s, cusparseStatus_t status, const char *what)
{
  if (status == CUSPARSE_STATUS_SUCCESS) return POISE_OK;
  FAIL(status == CUSPARSE_STATUS_ALLOC_FAILED    ? POISE_ERR_MEMORY
       : status == CUSPARSE_STATUS_NOT_SUPPORTED ? POISE_ERR_UNSUPPORTED
                                                 : POISE_ERR_DEVICE,
       "%s: %s", what, s->cusparseGetErrorString(status));
}

#define CALL(s, function, ...) TRY(Check(s, (s)->function(__VA_ARGS__), #function))

/* As the system finds it, else where it was when Poise was built. It stays open: the driver knows its kernels. */
static PoiseErr Load(Sparse *s)
{
  static const char name[] = LIBRARY(CUSPARSE_VER_MAJOR);
  char words[512] = "";
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    snprintf(words, sizeof words, "%s", dlerror());
    library = dlopen(POISE_CUDA_LIBRARIES "/" LIBRARY(CUSPARSE_VER_MAJOR), RTLD_NOW | RTLD_LOCAL);
  }
  if (!library)
    FAIL(POISE_ERR_UNSUPPORTED,
         "cuSPARSE cannot be loaded: %s (LD_LIBRARY_PATH may name its folder; -mat_csr_kernel own needs none)", words);
#define LOOK_UP(name)                                 \
  s->name = (decltype(s->name))dlsym(library, #name); \
  if (!s->name) FAIL(POISE_ERR_UNSUPPORTED, "the cuSPARSE that was loaded is too old: it has no " #name);
  FUNCTIONS(LOOK_UP)
#undef LOOK_UP
  CALL(s, cusparseCreate, &s->handle);
  return POISE_OK;
}

static PoiseErr Open(Device *dev, Sparse **sparse)
{
  Sparse **mine = poiseCudaSparse(dev);
  if (!*mine) {
    TRY(poiseAlloc(dev->ctx, sizeof **mine, "cuSPARSE", mine));
    PoiseErr e = Load(*mine);
    if (!e) e = Check(*mine, (*mine)->cusparseSetStream((*mine)->handle, poiseCudaStream(dev)), "cusparseSetStream");
    if (e) poiseCudaSparseClose(dev);
    TRY(e);
  }
  *sparse = *mine;
  return POISE_OK;
}

void poiseCudaSparseClose(Device *dev)
{
  Sparse **mine = poiseCudaSparse(dev);
  if (*mine && (*mine)->handle) (*mine)->cusparseDestroy((*mine)->handle);
  poiseFree(dev->ctx, mine);
}

/* ---- plans -------------------------------------------------------------------------------------------------------------- */

/* The vectors of the descriptors are not touched: those of each product take their places. */
static PoiseErr Prepare(Device *dev, Sparse *s, const CsrView *A, int64_t columns, Product *p)
{
  const cusparseOperation_t plain = CUSPARSE_OPERATION_NON_TRANSPOSE;
  CALL(s, cusparseCreateConstCsr, &p->A, A->m, columns, A->nz, A->ptr32, A->col, A->val, CUSPARSE_INDEX_32I,
       CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F);
  CALL(s, cusparseCreateDnVec, &p->x, columns, poiseCudaPieces(dev), CUDA_R_64F);
  CALL(s, cusparseCreateDnVec, &p->y, A->m, poiseCudaPieces(dev), CUDA_R_64F);
  CALL(s, cusparseSpMV_bufferSize, s->handle, plain, &one, p->A, p->x, &zero, p->y, CUDA_R_64F, p->algorithm, &p->bytes);
  if (!p->bytes) p->bytes = sizeof(double);
  TRY(poiseDeviceAlloc(dev, p->bytes, "buffer of cuSPARSE", &p->buffer));
  CALL(s, cusparseSpMV_preprocess, s->handle, plain, &one, p->A, p->x, &zero, p->y, CUDA_R_64F, p->algorithm, p->buffer);
  return POISE_OK;
}

PoiseErr poiseCudaCsrPlan(Device *dev, int library, const CsrView *A, int64_t columns, CsrPlan *plan)
{
  Sparse *s;
  Product *p;
  if (A->ptr64)
    FAIL(POISE_ERR_UNSUPPORTED,
         "cuSPARSE multiplies by no matrix with 64-bit offsets and 32-bit columns (%lld rows, %lld nonzeros): use "
         "-mat_csr_kernel own",
         (long long)A->m, (long long)A->nz);
  TRY(Open(dev, &s));
  TRY(poiseAlloc(dev->ctx, sizeof *p, "product of cuSPARSE", &p));
  plan->device = p;
  p->algorithm = algorithms[library];
  PoiseErr e = A->nz ? Prepare(dev, s, A, columns, p) : POISE_OK;
  plan->bytes = (int64_t)p->bytes;
  if (e) poiseCudaCsrPlanFree(dev, plan);
  return e;
}

void poiseCudaCsrPlanFree(Device *dev, CsrPlan *plan)
{
  Product *p = (Product *)plan->device;
  const Sparse *s = *poiseCudaSparse(dev);
  if (!p) return;
  if (p->A) s->cusparseDestroySpMat(p->A);
  if (p->x) s->cusparseDestroyDnVec(p->x);
  if (p->y) s->cusparseDestroyDnVec(p->y);
  poiseDeviceFree(dev, p->bytes, &p->buffer);
  poiseFree(dev->ctx, &plan->device);
  *plan = CsrPlan{};
}

/* 12 bytes per nonzero, 4 per offset, x and y once, and what the algorithm needs. */
extern "C" PoiseErr poiseCuda_csr_library(Device *dev, const void *args)
{
  const CsrLibraryArgs *a = (const CsrLibraryArgs *)args;
  const Product *p = (const Product *)a->plan;
  const Sparse *s = *poiseCudaSparse(dev);
  if (!a->A.m) return POISE_OK;
  if (!p->A) return poiseCudaCheck(cudaMemsetAsync(a->y, 0, (size_t)a->A.m * sizeof *a->y, poiseCudaStream(dev)), "y = 0");
  CALL(s, cusparseDnVecSetValues, p->x, (void *)a->x);
  CALL(s, cusparseDnVecSetValues, p->y, a->y);
  CALL(s, cusparseSpMV, s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, p->A, p->x, &zero, p->y, CUDA_R_64F,
       p->algorithm, p->buffer);
  return POISE_OK;
}

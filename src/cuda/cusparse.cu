/* SPDX-License-Identifier: BSD-3-Clause */
/*
  SpMV of CSR and triangular solves by cuSPARSE. The library is opened on first use, so that programs start
  without it and it need not be installed where nobody uses it.
*/
#include "mat/product/csr_kernels.h"
#include "pc/factor_kernels.h"
#include "cuda.h"

#include <cusparse.h>
#include <dlfcn.h>

#define NAMED(version)   "libcusparse.so." #version
#define LIBRARY(version) NAMED(version)

/* F(name) for each function that is used */
#define FUNCTIONS(F)           \
  F(cusparseCreate)            \
  F(cusparseDestroy)           \
  F(cusparseSetStream)         \
  F(cusparseGetErrorString)    \
  F(cusparseCreateConstCsr)    \
  F(cusparseDestroySpMat)      \
  F(cusparseCreateDnVec)       \
  F(cusparseDnVecSetValues)    \
  F(cusparseDestroyDnVec)      \
  F(cusparseSpMV_bufferSize)   \
  F(cusparseSpMV_preprocess)   \
  F(cusparseSpMV)              \
  F(cusparseCreateCsr)         \
  F(cusparseSpMatSetAttribute) \
  F(cusparseSpSV_createDescr)  \
  F(cusparseSpSV_destroyDescr) \
  F(cusparseSpSV_bufferSize)   \
  F(cusparseSpSV_analysis)     \
  F(cusparseSpSV_updateMatrix) \
  F(cusparseSpSV_solve)

struct Sparse {
#define POINTER(name) decltype(&::name) name;
  FUNCTIONS(POINTER)
#undef POINTER
  cusparseHandle_t handle;
};

typedef struct Product { /* plan of one matrix; an empty matrix has no descriptors */
  cusparseSpMVAlg_t algorithm;
  cusparseConstSpMatDescr_t A;
  cusparseDnVecDescr_t x, y;
  void *buffer;
  size_t bytes;
} Product;

enum { LOWER, UPPER };

typedef struct Solves { /* plan for the factors of one matrix; without rows it has no descriptors */
  cusparseSpMatDescr_t A[2];
  cusparseSpSVDescr_t solve[2];
  cusparseDnVecDescr_t x, y;
  void *buffer[2];
  size_t bytes[2];
} Solves;

const char *const poiseCudaFactorLibraries[] = {"cusparse", NULL};
const char *const poiseCudaCsrLibraries[] = {"cusparse", "cusparse_alg2", NULL};
static const cusparseSpMVAlg_t algorithms[] = {CUSPARSE_SPMV_CSR_ALG1, CUSPARSE_SPMV_CSR_ALG2};
static const double one = 1, zero = 0;

/* ---- the library ----------------------------------------------------------------------------- */

static PoiseErr Check(const Sparse *s, cusparseStatus_t status, const char *what)
{
  if (status == CUSPARSE_STATUS_SUCCESS) return POISE_OK;
  FAIL(status == CUSPARSE_STATUS_ALLOC_FAILED    ? POISE_ERR_MEMORY
       : status == CUSPARSE_STATUS_NOT_SUPPORTED ? POISE_ERR_UNSUPPORTED
                                                 : POISE_ERR_DEVICE,
       "%s: %s", what, s->cusparseGetErrorString(status));
}

#define CALL(s, function, ...) TRY(Check(s, (s)->function(__VA_ARGS__), #function))

/* Opens the library as the system finds it, else where it was at build time. It stays open, since the driver
   has its kernels. */
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
         "cuSPARSE cannot be loaded: %s (LD_LIBRARY_PATH may name its folder; kernel own needs none)", words);
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
    if (!e)
      e = Check(*mine, (*mine)->cusparseSetStream((*mine)->handle, poiseCudaStream(dev)),
                "cusparseSetStream");
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

/* ---- products -------------------------------------------------------------------------------- */

/* The vectors of the descriptors are placeholders: each product sets its own. */
static PoiseErr Prepare(Device *dev, Sparse *s, const CsrView *A, int64_t columns, Product *p)
{
  const cusparseOperation_t plain = CUSPARSE_OPERATION_NON_TRANSPOSE;
  CALL(s, cusparseCreateConstCsr, &p->A, A->m, columns, A->nz, A->ptr32, A->col, A->val, CUSPARSE_INDEX_32I,
       CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F);
  CALL(s, cusparseCreateDnVec, &p->x, columns, poiseCudaSubtotals(dev), CUDA_R_64F);
  CALL(s, cusparseCreateDnVec, &p->y, A->m, poiseCudaSubtotals(dev), CUDA_R_64F);
  CALL(s, cusparseSpMV_bufferSize, s->handle, plain, &one, p->A, p->x, &zero, p->y, CUDA_R_64F, p->algorithm,
       &p->bytes);
  if (!p->bytes) p->bytes = sizeof(double);
  TRY(poiseDeviceAlloc(dev, p->bytes, "buffer of cuSPARSE", &p->buffer));
  CALL(s, cusparseSpMV_preprocess, s->handle, plain, &one, p->A, p->x, &zero, p->y, CUDA_R_64F, p->algorithm,
       p->buffer);
  return POISE_OK;
}

PoiseErr poiseCudaCsrPlan(Device *dev, int library, const CsrView *A, int64_t columns, LibraryPlan *plan)
{
  Sparse *s;
  Product *p;
  if (A->ptr64)
    FAIL(POISE_ERR_UNSUPPORTED,
         "cuSPARSE multiplies by no matrix with 64-bit offsets and 32-bit columns (%lld rows, %lld "
         "nonzeros): use "
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

void poiseCudaCsrPlanFree(Device *dev, LibraryPlan *plan)
{
  Product *p = (Product *)plan->device;
  const Sparse *s = *poiseCudaSparse(dev);
  if (!p) return;
  if (p->A) s->cusparseDestroySpMat(p->A);
  if (p->x) s->cusparseDestroyDnVec(p->x);
  if (p->y) s->cusparseDestroyDnVec(p->y);
  poiseDeviceFree(dev, p->bytes, &p->buffer);
  poiseFree(dev->ctx, &plan->device);
  *plan = LibraryPlan{};
}

/* y = A x. Traffic: 12 bytes per nonzero, 4 per offset, x and y once, and what the algorithm needs. */
extern "C" PoiseErr poiseCuda_csr_library(Device *dev, const void *args)
{
  const CsrLibraryArgs *a = (const CsrLibraryArgs *)args;
  const Product *p = (const Product *)a->plan;
  const Sparse *s = *poiseCudaSparse(dev);
  if (!a->A.m) return POISE_OK;
  if (!p->A)
    return poiseCudaCheck(cudaMemsetAsync(a->y, 0, (size_t)a->A.m * sizeof *a->y, poiseCudaStream(dev)),
                          "y = 0");
  CALL(s, cusparseDnVecSetValues, p->x, (void *)a->x);
  CALL(s, cusparseDnVecSetValues, p->y, a->y);
  CALL(s, cusparseSpMV, s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, p->A, p->x, &zero, p->y,
       CUDA_R_64F, p->algorithm, p->buffer);
  return POISE_OK;
}

/* ---- triangular solves ----------------------------------------------------------------------- */

/* L and U stand in one CSR, and each solve reads one triangle of it. The vectors are placeholders, as for
   products. A solve keeps what it needs of the values; `Refresh` passes new ones. */
static PoiseErr PrepareSolve(Device *dev, Sparse *s, const FactorView *f, int part, Solves *p)
{
  const cusparseOperation_t plain = CUSPARSE_OPERATION_NON_TRANSPOSE;
  cusparseFillMode_t fill = part == LOWER ? CUSPARSE_FILL_MODE_LOWER : CUSPARSE_FILL_MODE_UPPER;
  cusparseDiagType_t diag = part == LOWER ? CUSPARSE_DIAG_TYPE_UNIT : CUSPARSE_DIAG_TYPE_NON_UNIT;
  cusparseSpMatDescr_t *A = &p->A[part];
  cusparseSpSVDescr_t *solve = &p->solve[part];
  CALL(s, cusparseCreateCsr, A, f->t.n, f->t.n, f->t.nz, (void *)f->t.begin, (void *)f->t.col, (void *)f->lu,
       CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F);
  CALL(s, cusparseSpMatSetAttribute, *A, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof fill);
  CALL(s, cusparseSpMatSetAttribute, *A, CUSPARSE_SPMAT_DIAG_TYPE, &diag, sizeof diag);
  CALL(s, cusparseSpSV_createDescr, solve);
  CALL(s, cusparseSpSV_bufferSize, s->handle, plain, &one, *A, p->x, p->y, CUDA_R_64F,
       CUSPARSE_SPSV_ALG_DEFAULT, *solve, &p->bytes[part]);
  if (!p->bytes[part]) p->bytes[part] = sizeof(double);
  TRY(poiseDeviceAlloc(dev, p->bytes[part], "buffer of cuSPARSE", &p->buffer[part]));
  CALL(s, cusparseSpSV_analysis, s->handle, plain, &one, *A, p->x, p->y, CUDA_R_64F,
       CUSPARSE_SPSV_ALG_DEFAULT, *solve, p->buffer[part]);
  return POISE_OK;
}

static PoiseErr PrepareSolves(Device *dev, Sparse *s, const FactorView *f, Solves *p)
{
  CALL(s, cusparseCreateDnVec, &p->x, f->t.n, poiseCudaSubtotals(dev), CUDA_R_64F);
  CALL(s, cusparseCreateDnVec, &p->y, f->t.n, poiseCudaSubtotals(dev), CUDA_R_64F);
  TRY(PrepareSolve(dev, s, f, LOWER, p));
  return PrepareSolve(dev, s, f, UPPER, p);
}

static PoiseErr Refresh(const Sparse *s, const FactorView *f, const Solves *p)
{
  for (int part = LOWER; part <= UPPER && f->t.n; part++)
    CALL(s, cusparseSpSV_updateMatrix, s->handle, p->solve[part], (void *)f->lu,
         CUSPARSE_SPSV_UPDATE_GENERAL);
  return POISE_OK;
}

PoiseErr poiseCudaFactorPlan(Device *dev, int library, const FactorView *f, LibraryPlan *plan)
{
  Sparse *s;
  Solves *p = (Solves *)plan->device;
  PoiseErr e;
  (void)library;
  if (f->t.wide)
    FAIL(POISE_ERR_UNSUPPORTED,
         "cuSPARSE solves with no factors with 64-bit offsets and 32-bit columns (%lld rows, %lld nonzeros): "
         "use "
         "-pc_factor_kernel own",
         (long long)f->t.n, (long long)f->t.nz);
  TRY(Open(dev, &s));
  if (p) {
    e = Refresh(s, f, p);
  } else {
    TRY(poiseAlloc(dev->ctx, sizeof *p, "triangular solves of cuSPARSE", &p));
    plan->device = p;
    e = f->t.n ? PrepareSolves(dev, s, f, p) : POISE_OK;
    plan->bytes = (int64_t)(p->bytes[LOWER] + p->bytes[UPPER]);
  }
  if (e) poiseCudaFactorPlanFree(dev, plan);
  return e;
}

void poiseCudaFactorPlanFree(Device *dev, LibraryPlan *plan)
{
  Solves *p = (Solves *)plan->device;
  const Sparse *s = *poiseCudaSparse(dev);
  if (!p) return;
  for (int part = LOWER; part <= UPPER; part++) {
    if (p->solve[part]) s->cusparseSpSV_destroyDescr(p->solve[part]);
    if (p->A[part]) s->cusparseDestroySpMat(p->A[part]);
    poiseDeviceFree(dev, p->bytes[part], &p->buffer[part]);
  }
  if (p->x) s->cusparseDestroyDnVec(p->x);
  if (p->y) s->cusparseDestroyDnVec(p->y);
  poiseFree(dev->ctx, &plan->device);
  *plan = LibraryPlan{};
}

static PoiseErr SolvePart(const Sparse *s, const Solves *p, int part, const double *x, double *y)
{
  CALL(s, cusparseDnVecSetValues, p->x, (void *)x);
  CALL(s, cusparseDnVecSetValues, p->y, y);
  CALL(s, cusparseSpSV_solve, s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, p->A[part], p->x, p->y,
       CUDA_R_64F, CUSPARSE_SPSV_ALG_DEFAULT, p->solve[part]);
  return POISE_OK;
}

/* y = U^-1 L^-1 x. Traffic: 12 bytes per nonzero of a triangle, 4 per offset and triangle, and what the
   algorithm needs. x is read, work is written and read, y is written. */
extern "C" PoiseErr poiseCuda_factor_library(Device *dev, const void *args)
{
  const FactorLibraryArgs *a = (const FactorLibraryArgs *)args;
  const Solves *p = (const Solves *)a->plan;
  const Sparse *s = *poiseCudaSparse(dev);
  if (!a->f.t.n) return POISE_OK;
  TRY(SolvePart(s, p, LOWER, a->x, a->work));
  return SolvePart(s, p, UPPER, a->work, a->y);
}

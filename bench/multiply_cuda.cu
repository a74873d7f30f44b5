/* SPDX-License-Identifier: BSD-3-Clause */
/* cusparseSpGEMM and cusparseSpGEMMreuse, by their default algorithm (multiply.h). Buffers are kept from one
   call to the next, so that no time goes into memory. */
#include "multiply.h"

#include <cuda_runtime.h>
#include <cusparse.h>
#include <math.h>
#include <stdlib.h>
#include <vector>

namespace
{

enum { BUFFERS = 5 };

struct Array { /* of the GPU; it grows */
  void *at;
  size_t bytes;
};

struct Product {
  cusparseHandle_t handle;
  cusparseSpMatDescr_t A, B, C;
  cusparseSpGEMMDescr_t plan;
  Array of_a[3], of_b[3], of_c[3], buffer[BUFFERS]; /* of a matrix: offsets, columns, values */
  int64_t m, n, nz;
};

#define GPU(call)                                                 \
  do {                                                            \
    cudaError_t error_ = (call);                                  \
    if (error_ != cudaSuccess) return cudaGetErrorString(error_); \
  } while (0)
#define SPARSE(call)                                                                \
  do {                                                                              \
    cusparseStatus_t status_ = (call);                                              \
    if (status_ != CUSPARSE_STATUS_SUCCESS) return cusparseGetErrorString(status_); \
  } while (0)
#define PASS(call)               \
  do {                           \
    const char *wrong_ = (call); \
    if (wrong_) return wrong_;   \
  } while (0)

const cusparseOperation_t plain = CUSPARSE_OPERATION_NON_TRANSPOSE;
const cusparseSpGEMMAlg_t algorithm = CUSPARSE_SPGEMM_DEFAULT;
const double one = 1, zero = 0;

const char *Grow(Array *a, size_t bytes)
{
  if (bytes <= a->bytes && a->at) return NULL;
  GPU(cudaFree(a->at));
  *a = {NULL, 0};
  GPU(cudaMalloc(&a->at, bytes ? bytes : 1));
  a->bytes = bytes;
  return NULL;
}

const char *Fill(Array *a, const void *from, size_t bytes)
{
  PASS(Grow(a, bytes));
  GPU(cudaMemcpy(a->at, from, bytes, cudaMemcpyHostToDevice));
  return NULL;
}

const char *Send(const Factor *f, Array *a, cusparseSpMatDescr_t *matrix)
{
  PASS(Fill(&a[0], f->ptr, (size_t)(f->m + 1) * sizeof *f->ptr));
  PASS(Fill(&a[1], f->col, (size_t)f->nz * sizeof *f->col));
  PASS(Fill(&a[2], f->val, (size_t)f->nz * sizeof *f->val));
  SPARSE(cusparseCreateCsr(matrix, f->m, f->n, f->nz, a[0].at, a[1].at, a[2].at, CUSPARSE_INDEX_32I,
                           CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
  return NULL;
}

const char *Start(const Factor *A, const Factor *B, Product *p)
{
  SPARSE(cusparseCreate(&p->handle));
  PASS(Send(A, p->of_a, &p->A));
  PASS(Send(B, p->of_b, &p->B));
  p->m = A->m, p->n = B->n;
  return Grow(&p->of_c[0], (size_t)(p->m + 1) * sizeof(int));
}

const char *Open(const Factor *A, const Factor *B, void **product)
{
  Product *p = (Product *)calloc(1, sizeof *p);
  *product = p;
  return p ? Start(A, B, p) : "no memory";
}

/* C without entries, and a plan of nothing. */
const char *Begin(Product *p)
{
  if (p->C) SPARSE(cusparseDestroySpMat(p->C));
  if (p->plan) SPARSE(cusparseSpGEMM_destroyDescr(p->plan));
  p->C = NULL, p->plan = NULL;
  SPARSE(cusparseCreateCsr(&p->C, p->m, p->n, 0, p->of_c[0].at, NULL, NULL, CUSPARSE_INDEX_32I,
                           CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
  SPARSE(cusparseSpGEMM_createDescr(&p->plan));
  return NULL;
}

/* C's size is known. */
const char *Reserve(Product *p)
{
  int64_t m, n;
  SPARSE(cusparseSpMatGetSize(p->C, &m, &n, &p->nz));
  PASS(Grow(&p->of_c[1], (size_t)p->nz * sizeof(int)));
  PASS(Grow(&p->of_c[2], (size_t)p->nz * sizeof(double)));
  SPARSE(cusparseCsrSetPointers(p->C, p->of_c[0].at, p->of_c[1].at, p->of_c[2].at));
  return NULL;
}

const char *Whole(void *product)
{
  Product *p = (Product *)product;
  size_t bytes = 0;
  PASS(Begin(p));
  SPARSE(cusparseSpGEMM_workEstimation(p->handle, plain, plain, &one, p->A, p->B, &zero, p->C, CUDA_R_64F,
                                       algorithm, p->plan, &bytes, NULL));
  PASS(Grow(&p->buffer[0], bytes));
  SPARSE(cusparseSpGEMM_workEstimation(p->handle, plain, plain, &one, p->A, p->B, &zero, p->C, CUDA_R_64F,
                                       algorithm, p->plan, &bytes, p->buffer[0].at));
  SPARSE(cusparseSpGEMM_compute(p->handle, plain, plain, &one, p->A, p->B, &zero, p->C, CUDA_R_64F, algorithm,
                                p->plan, &bytes, NULL));
  PASS(Grow(&p->buffer[1], bytes));
  SPARSE(cusparseSpGEMM_compute(p->handle, plain, plain, &one, p->A, p->B, &zero, p->C, CUDA_R_64F, algorithm,
                                p->plan, &bytes, p->buffer[1].at));
  PASS(Reserve(p));
  SPARSE(cusparseSpGEMM_copy(p->handle, plain, plain, &one, p->A, p->B, &zero, p->C, CUDA_R_64F, algorithm,
                             p->plan));
  GPU(cudaDeviceSynchronize());
  return NULL;
}

const char *Plan(void *product)
{
  Product *p = (Product *)product;
  size_t bytes[BUFFERS] = {0};
  PASS(Begin(p));
  SPARSE(cusparseSpGEMMreuse_workEstimation(p->handle, plain, plain, p->A, p->B, p->C, algorithm, p->plan,
                                            &bytes[0], NULL));
  PASS(Grow(&p->buffer[0], bytes[0]));
  SPARSE(cusparseSpGEMMreuse_workEstimation(p->handle, plain, plain, p->A, p->B, p->C, algorithm, p->plan,
                                            &bytes[0], p->buffer[0].at));
  SPARSE(cusparseSpGEMMreuse_nnz(p->handle, plain, plain, p->A, p->B, p->C, algorithm, p->plan, &bytes[1],
                                 NULL, &bytes[2], NULL, &bytes[3], NULL));
  for (int k = 1; k < 4; k++) PASS(Grow(&p->buffer[k], bytes[k]));
  SPARSE(cusparseSpGEMMreuse_nnz(p->handle, plain, plain, p->A, p->B, p->C, algorithm, p->plan, &bytes[1],
                                 p->buffer[1].at, &bytes[2], p->buffer[2].at, &bytes[3], p->buffer[3].at));
  PASS(Reserve(p));
  SPARSE(cusparseSpGEMMreuse_copy(p->handle, plain, plain, p->A, p->B, p->C, algorithm, p->plan, &bytes[4],
                                  NULL));
  PASS(Grow(&p->buffer[4], bytes[4]));
  SPARSE(cusparseSpGEMMreuse_copy(p->handle, plain, plain, p->A, p->B, p->C, algorithm, p->plan, &bytes[4],
                                  p->buffer[4].at));
  GPU(cudaDeviceSynchronize());
  return NULL;
}

const char *Numbers(void *product)
{
  Product *p = (Product *)product;
  SPARSE(cusparseSpGEMMreuse_compute(p->handle, plain, plain, &one, p->A, p->B, &zero, p->C, CUDA_R_64F,
                                     algorithm, p->plan));
  GPU(cudaDeviceSynchronize());
  return NULL;
}

const char *Result(void *product, int64_t *nz, double *norm, double *bytes)
{
  Product *p = (Product *)product;
  std::vector<int> ptr((size_t)p->m + 1);
  std::vector<double> val((size_t)p->nz);
  GPU(cudaMemcpy(ptr.data(), p->of_c[0].at, ptr.size() * sizeof(int), cudaMemcpyDeviceToHost));
  GPU(cudaMemcpy(val.data(), p->of_c[2].at, val.size() * sizeof(double), cudaMemcpyDeviceToHost));
  *nz = p->nz, *norm = 0, *bytes = 0;
  for (int64_t i = 0; i < p->m; i++) {
    double sum = 0;
    for (int k = ptr[i]; k < ptr[i + 1]; k++) sum += fabs(val[k]);
    *norm = fmax(*norm, sum);
  }
  for (const Array &a : p->buffer) *bytes += (double)a.bytes;
  return NULL;
}

void Close(void *product)
{
  Product *p = (Product *)product;
  if (!p) return;
  if (p->plan) (void)cusparseSpGEMM_destroyDescr(p->plan);
  for (cusparseSpMatDescr_t matrix : {p->A, p->B, p->C})
    if (matrix) (void)cusparseDestroySpMat(matrix);
  for (int k = 0; k < 3; k++)
    for (void *at : {p->of_a[k].at, p->of_b[k].at, p->of_c[k].at}) (void)cudaFree(at);
  for (const Array &a : p->buffer) (void)cudaFree(a.at);
  if (p->handle) (void)cusparseDestroy(p->handle);
  free(p);
}

} // namespace

extern "C" const Multiplier multiply_cusparse = {Open, Whole, Plan, Numbers, Result, Close};

/* SPDX-License-Identifier: BSD-3-Clause */
/* cusparseSpMM with CSR and dense matrices by rows, by each of its algorithms after its preprocessing
   (spmm.h). */
#include "spmm.h"

#include <algorithm>
#include <cuda_runtime.h>
#include <cusparse.h>
#include <stdlib.h>

namespace
{

enum { ALGORITHMS = 4, MOST_REPEATS = 99 };

struct Peer {
  cusparseHandle_t handle;
  cusparseSpMatDescr_t A;
  cusparseDnMatDescr_t X, Y;
  cudaEvent_t begin, end;
  int64_t n;
  void *ptr, *col, *val, *x, *y, *buffer;
};

const struct {
  cusparseSpMMAlg_t number;
  const char *name;
} algorithms[ALGORITHMS] = {{CUSPARSE_SPMM_ALG_DEFAULT, "default"},
                            {CUSPARSE_SPMM_CSR_ALG1, "alg1"},
                            {CUSPARSE_SPMM_CSR_ALG2, "alg2"},
                            {CUSPARSE_SPMM_CSR_ALG3, "alg3"}};

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
const double one = 1, zero = 0;

/* The median of what `work` takes, after a first time. */
template <typename Work>
const char *Median(cudaEvent_t begin, cudaEvent_t end, int repeats, Work work, double *seconds)
{
  float ms[MOST_REPEATS];
  for (int r = -1; r < repeats; r++) {
    GPU(cudaEventRecord(begin));
    PASS(work());
    GPU(cudaEventRecord(end));
    GPU(cudaEventSynchronize(end));
    if (r >= 0) GPU(cudaEventElapsedTime(&ms[r], begin, end));
  }
  std::sort(ms, ms + repeats);
  *seconds = 1e-3 * ms[repeats / 2];
  return NULL;
}

const char *Copy(double *rate)
{
  const size_t bytes = (size_t)1 << 31;
  void *from = NULL, *to = NULL;
  cudaEvent_t begin, end;
  double seconds = 0;
  GPU(cudaEventCreate(&begin));
  GPU(cudaEventCreate(&end));
  GPU(cudaMalloc(&from, bytes));
  GPU(cudaMalloc(&to, bytes));
  PASS(Median(
      begin, end, 15,
      [&]() -> const char * {
        GPU(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice));
        return NULL;
      },
      &seconds));
  GPU(cudaFree(from));
  GPU(cudaFree(to));
  GPU(cudaEventDestroy(begin));
  GPU(cudaEventDestroy(end));
  *rate = 2 * (double)bytes / seconds;
  return NULL;
}

const char *Send(const void *from, size_t bytes, void **to)
{
  GPU(cudaMalloc(to, bytes ? bytes : 1));
  GPU(cudaMemcpy(*to, from, bytes, cudaMemcpyHostToDevice));
  return NULL;
}

const char *Start(const SpmmMatrix *A, int most, const double *x, Peer *p)
{
  size_t numbers = (size_t)A->n * (size_t)most * sizeof *x;
  p->n = A->n;
  SPARSE(cusparseCreate(&p->handle));
  GPU(cudaEventCreate(&p->begin));
  GPU(cudaEventCreate(&p->end));
  PASS(Send(A->ptr, (size_t)(A->n + 1) * sizeof *A->ptr, &p->ptr));
  PASS(Send(A->col, (size_t)A->nz * sizeof *A->col, &p->col));
  PASS(Send(A->val, (size_t)A->nz * sizeof *A->val, &p->val));
  PASS(Send(x, numbers, &p->x));
  GPU(cudaMalloc(&p->y, numbers));
  SPARSE(cusparseCreateCsr(&p->A, A->n, A->n, A->nz, p->ptr, p->col, p->val, CUSPARSE_INDEX_32I,
                           CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
  return NULL;
}

const char *Open(const SpmmMatrix *A, int most, const double *x, void **peer)
{
  Peer *p = (Peer *)calloc(1, sizeof *p);
  *peer = p;
  return p ? Start(A, most, x, p) : "no memory";
}

/* *there: false where this algorithm is not for it. */
const char *Time(Peer *p, cusparseSpMMAlg_t algorithm, int repeats, bool *there, double *seconds)
{
  size_t bytes = 0;
  *there = cusparseSpMM_bufferSize(p->handle, plain, plain, &one, p->A, p->X, &zero, p->Y, CUDA_R_64F,
                                   algorithm, &bytes) == CUSPARSE_STATUS_SUCCESS;
  if (!*there) return NULL;
  GPU(cudaFree(p->buffer));
  p->buffer = NULL;
  GPU(cudaMalloc(&p->buffer, bytes ? bytes : 1));
  SPARSE(cusparseSpMM_preprocess(p->handle, plain, plain, &one, p->A, p->X, &zero, p->Y, CUDA_R_64F,
                                 algorithm, p->buffer));
  return Median(
      p->begin, p->end, repeats,
      [&]() -> const char * {
        SPARSE(cusparseSpMM(p->handle, plain, plain, &one, p->A, p->X, &zero, p->Y, CUDA_R_64F, algorithm,
                            p->buffer));
        return NULL;
      },
      seconds);
}

const char *Best(void *peer, int k, int repeats, double *seconds, const char **algorithm, double *y)
{
  Peer *p = (Peer *)peer;
  SPARSE(cusparseCreateDnMat(&p->X, p->n, k, k, p->x, CUDA_R_64F, CUSPARSE_ORDER_ROW));
  SPARSE(cusparseCreateDnMat(&p->Y, p->n, k, k, p->y, CUDA_R_64F, CUSPARSE_ORDER_ROW));
  *algorithm = NULL;
  for (const auto &a : algorithms) {
    double t = 0;
    bool there;
    PASS(Time(p, a.number, repeats, &there, &t));
    if (there && (!*algorithm || t < *seconds)) *seconds = t, *algorithm = a.name;
  }
  GPU(cudaMemcpy(y, p->y, (size_t)p->n * (size_t)k * sizeof *y, cudaMemcpyDeviceToHost));
  SPARSE(cusparseDestroyDnMat(p->X));
  SPARSE(cusparseDestroyDnMat(p->Y));
  return *algorithm ? NULL : "none of its algorithms is for this matrix";
}

void Close(void *peer)
{
  Peer *p = (Peer *)peer;
  if (!p) return;
  if (p->A) (void)cusparseDestroySpMat(p->A);
  for (void *at : {p->ptr, p->col, p->val, p->x, p->y, p->buffer}) (void)cudaFree(at);
  if (p->handle) (void)cusparseDestroy(p->handle);
  if (p->begin) (void)cudaEventDestroy(p->begin);
  if (p->end) (void)cudaEventDestroy(p->end);
  free(p);
}

} // namespace

extern "C" const SpmmPeer spmm_cusparse = {Copy, Open, Best, Close};

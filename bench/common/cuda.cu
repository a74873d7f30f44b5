/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The peer on GPUs: cuSPARSE and cuBLAS, on a stream of their own. Products by every format that fits; the
  textbook's methods with their scalars on the host, on the GPU, and as a graph that is replayed.
*/
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cusparse.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

extern "C" {
#include "peer_algorithms.h"
}

#define TRY POISE_TRY

static PoiseErr Failed(const char *what, const char *words)
{
  POISE_FAIL(POISE_ERR_DEVICE, "%s: %s", what, words);
}

#define CUDA(call)                                                             \
  do {                                                                         \
    cudaError_t error_ = (call);                                               \
    if (error_ != cudaSuccess) TRY(Failed(#call, cudaGetErrorString(error_))); \
  } while (0)
#define BLAS(call)                                                                            \
  do {                                                                                        \
    cublasStatus_t status_ = (call);                                                          \
    if (status_ != CUBLAS_STATUS_SUCCESS) TRY(Failed(#call, cublasGetStatusString(status_))); \
  } while (0)
#define SPARSE(call)                                                                             \
  do {                                                                                           \
    cusparseStatus_t status_ = (call);                                                           \
    if (status_ != CUSPARSE_STATUS_SUCCESS) TRY(Failed(#call, cusparseGetErrorString(status_))); \
  } while (0)

enum { PRODUCTS = 16 /* at least FORMATS */, WORKSPACE = 32 << 20, SLICE = 32, GRAPH_KERNELS = 100 };

struct Cuda;

typedef struct Product {  /* one format and algorithm of cuSPARSE, or kernels of our own */
  bool there;             /* no: this matrix is not for it */
  cusparseSpMatDescr_t A; /* NULL: it is kernels */
  cusparseSpMVAlg_t algorithm;
  void *buffer;
  PoiseErr (*kernels)(struct Cuda *, const struct Product *, const double *x, double *y);
  int order; /* of the numbers of a block */
  double setup;
  int *index[2]; /* arrays of its own: offsets or rows, columns, */
  double *val;   /* and values */
} Product;

typedef struct Way { /* one way to run the textbook */
  struct Cuda *cuda;
  Product *product;
  cublasHandle_t blas;
  bool on_device; /* the scalars */
  void *graph;
} Way;

enum { HOST_SCALARS, DEVICE_SCALARS, GRAPH, WAYS };

typedef struct Cuda {
  cudaStream_t stream;
  cublasHandle_t blas[2]; /* scalars on the host, on the GPU */
  void *workspace[2];
  cusparseHandle_t sparse;
  cusparseMatDescr_t general;
  cudaDeviceProp properties;
  void *empty; /* a graph */
  Lane lane;
  int64_t numbers;
  double *a, *b, *c, *flush, *sink;
  size_t flushed;

  /* of a task */
  Rows host; /* of the matrix: not owned */
  const Blocks *blocks;
  int *block_ptr, *block_col;
  double *block_val[2]; /* column-major, row-major */
  int *ptr, *col;
  double *val, *d, *host_scalar;
  cusparseDnVecDescr_t x, y;
  int nproduct;
  Product product[PRODUCTS];
  Way way[PRODUCTS + WAYS];
  Textbook text[PRODUCTS + WAYS];
  int ntext;
  Textbook base; /* what all of them share */

  bool rehearsed[OP_OTHER]; /* kernels of a solve are loaded */
} Cuda;

/* ---- the textbook's operations --------------------------------------------------------------- */

static Way *WayOf(Textbook *t)
{
  return (Way *)t->own;
}

static PoiseErr Multiply(Cuda *p, const Product *q, const double *x, double *y)
{
  const double one = 1, zero = 0;
  if (q->kernels) return q->kernels(p, q, x, y);
  SPARSE(cusparseDnVecSetValues(p->x, (void *)x));
  SPARSE(cusparseDnVecSetValues(p->y, y));
  SPARSE(cusparseSpMV(p->sparse, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, q->A, p->x, &zero, p->y, CUDA_R_64F,
                      q->algorithm, q->buffer));
  return POISE_OK;
}

static PoiseErr Mult(Textbook *t, const double *x, double *y)
{
  return Multiply(WayOf(t)->cuda, WayOf(t)->product, x, y);
}

static PoiseErr Jacobi(Textbook *t, const double *x, double *y)
{
  int n = (int)t->n;
  BLAS(cublasDdgmm(WayOf(t)->blas, CUBLAS_SIDE_LEFT, n, 1, x, n, WayOf(t)->cuda->d, 1, y, n));
  return POISE_OK;
}

static PoiseErr Dot(Textbook *t, const double *x, const double *y, double *s)
{
  BLAS(cublasDdot(WayOf(t)->blas, (int)t->n, x, 1, y, 1, s));
  return POISE_OK;
}

static PoiseErr Norm(Textbook *t, const double *x, double *s)
{
  BLAS(cublasDnrm2(WayOf(t)->blas, (int)t->n, x, 1, s));
  return POISE_OK;
}

static PoiseErr Axpy(Textbook *t, const double *s, const double *x, double *y)
{
  BLAS(cublasDaxpy(WayOf(t)->blas, (int)t->n, s, x, 1, y, 1));
  return POISE_OK;
}

static PoiseErr Scale(Textbook *t, const double *s, double *x)
{
  BLAS(cublasDscal(WayOf(t)->blas, (int)t->n, s, x, 1));
  return POISE_OK;
}

static PoiseErr Copy(Textbook *t, const double *x, double *y)
{
  CUDA(cudaMemcpyAsync(y, x, (size_t)t->n * sizeof *y, cudaMemcpyDeviceToDevice, WayOf(t)->cuda->stream));
  return POISE_OK;
}

static PoiseErr Zero(Textbook *t, double *x)
{
  CUDA(cudaMemsetAsync(x, 0, (size_t)t->n * sizeof *x, WayOf(t)->cuda->stream));
  return POISE_OK;
}

static PoiseErr Project(Textbook *t, int k, const double *w, double *h)
{
  int n = (int)t->n;
  BLAS(cublasDgemv(WayOf(t)->blas, CUBLAS_OP_T, n, k, t->scalar + ONE, t->basis, n, w, 1, t->scalar + ZERO, h,
                   1));
  return POISE_OK;
}

static PoiseErr Combine(Textbook *t, int k, const double *sign, const double *h, double *w)
{
  int n = (int)t->n;
  BLAS(cublasDgemv(WayOf(t)->blas, CUBLAS_OP_N, n, k, sign, t->basis, n, h, 1, t->scalar + ONE, w, 1));
  return POISE_OK;
}

static __host__ __device__ void SetRatio(const double *a, const double *b, const double *c, const double *d,
                                         double *s, double *minus)
{
  double value = *a / *b;
  if (c) value *= *c / *d;
  *s = value;
  if (minus) *minus = -value;
}

static __global__ void RatioKernel(const double *a, const double *b, const double *c, const double *d,
                                   double *s, double *minus)
{
  SetRatio(a, b, c, d, s, minus);
}

static __global__ void RsqrtKernel(const double *a, double *s)
{
  *s = 1 / sqrt(*a);
}

static PoiseErr Ratio(Textbook *t, const double *a, const double *b, const double *c, const double *d,
                      double *s, double *minus)
{
  if (!WayOf(t)->on_device) {
    SetRatio(a, b, c, d, s, minus);
    return POISE_OK;
  }
  RatioKernel<<<1, 1, 0, WayOf(t)->cuda->stream>>>(a, b, c, d, s, minus);
  CUDA(cudaGetLastError());
  return POISE_OK;
}

static PoiseErr Rsqrt(Textbook *t, const double *a, double *s)
{
  if (!WayOf(t)->on_device) {
    *s = 1 / sqrt(*a);
    return POISE_OK;
  }
  RsqrtKernel<<<1, 1, 0, WayOf(t)->cuda->stream>>>(a, s);
  CUDA(cudaGetLastError());
  return POISE_OK;
}

/* Between host and GPU, or on one of them: the driver knows where addresses are. */
static PoiseErr Move(Textbook *t, const double *from, int64_t count, double *to)
{
  cudaStream_t stream = WayOf(t)->cuda->stream;
  CUDA(cudaMemcpyAsync(to, from, (size_t)count * sizeof *to, cudaMemcpyDefault, stream));
  CUDA(cudaStreamSynchronize(stream));
  return POISE_OK;
}

static PoiseErr BeginGraph(void *stream)
{
  CUDA(cudaStreamBeginCapture((cudaStream_t)stream, cudaStreamCaptureModeThreadLocal));
  return POISE_OK;
}

static PoiseErr EndGraph(void *stream, void **graph)
{
  cudaGraph_t captured = NULL;
  cudaGraphExec_t made = NULL;
  *graph = NULL;
  CUDA(cudaStreamEndCapture((cudaStream_t)stream, &captured));
  cudaError_t error = cudaGraphInstantiate(&made, captured, 0);
  cudaGraphDestroy(captured);
  if (error != cudaSuccess) return Failed("cudaGraphInstantiate", cudaGetErrorString(error));
  *graph = made;
  return POISE_OK;
}

static PoiseErr ReplayGraph(void *stream, void *graph)
{
  CUDA(cudaGraphLaunch((cudaGraphExec_t)graph, (cudaStream_t)stream));
  return POISE_OK;
}

static void ForgetGraph(void *graph)
{
  cudaGraphExecDestroy((cudaGraphExec_t)graph);
}

static const Recorder recorder = {BeginGraph, EndGraph, ReplayGraph, ForgetGraph};

/* A cycle was run before, in other ways or by Rehearse: nothing is loaded while it is captured. */
static PoiseErr Capture(Textbook *t, int op)
{
  Way *w = WayOf(t);
  TRY(BeginGraph(w->cuda->stream));
  PoiseErr e = TextbookSteps(t, op, TextbookCycle(op)), ended = EndGraph(w->cuda->stream, &w->graph);
  return e ? e : ended;
}

static PoiseErr Replay(Textbook *t, int op)
{
  if (!WayOf(t)->graph) TRY(Capture(t, op));
  return ReplayGraph(WayOf(t)->cuda->stream, WayOf(t)->graph);
}

/* ---- formats --------------------------------------------------------------------------------- */

static PoiseErr Upload(const void *from, size_t bytes, void **to)
{
  CUDA(cudaMalloc(to, bytes ? bytes : 1));
  CUDA(cudaMemcpy(*to, from, bytes, cudaMemcpyHostToDevice));
  CUDA(cudaStreamSynchronize(0)); /* our stream does not wait for this one */
  return POISE_OK;
}

/* n numbers, 0. */
static PoiseErr Vector(int64_t n, double **v)
{
  CUDA(cudaMalloc((void **)v, (size_t)(n > 0 ? n : 1) * sizeof **v));
  CUDA(cudaMemset(*v, 0, (size_t)n * sizeof **v));
  CUDA(cudaStreamSynchronize(0));
  return POISE_OK;
}

#define UPLOAD(from, count, to) Upload(from, (size_t)(count) * sizeof *(to), (void **)&(to))

static PoiseErr MakeCsr(Cuda *p, Product *q)
{
  const Rows *r = &p->host;
  SPARSE(cusparseCreateCsr(&q->A, r->n, r->N, r->ptr[r->n], p->ptr, p->col, p->val, CUSPARSE_INDEX_32I,
                           CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
  return POISE_OK;
}

static PoiseErr MakeCoo(Cuda *p, Product *q)
{
  const Rows *r = &p->host;
  int64_t nz = r->ptr[r->n];
  CUDA(cudaMalloc((void **)&q->index[0], (size_t)(nz + 1) * sizeof(int)));
  SPARSE(cusparseXcsr2coo(p->sparse, p->ptr, (int)nz, (int)r->n, q->index[0], CUSPARSE_INDEX_BASE_ZERO));
  SPARSE(cusparseCreateCoo(&q->A, r->n, r->N, nz, q->index[0], p->col, p->val, CUSPARSE_INDEX_32I,
                           CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
  return POISE_OK;
}

typedef struct Arrays { /* on the host */
  int *offset, *col;
  double *val;
} Arrays;

static PoiseErr Reserve(int64_t offsets, int64_t columns, int64_t values, Arrays *a)
{
  a->offset = (int *)malloc((size_t)(offsets + 1) * sizeof *a->offset);
  a->col = (int *)malloc((size_t)(columns + 1) * sizeof *a->col);
  a->val = (double *)malloc((size_t)(values + 1) * sizeof *a->val);
  if (!a->offset || !a->col || !a->val)
    POISE_FAIL(POISE_ERR_MEMORY, "a copy of %lld entries", (long long)values);
  return POISE_OK;
}

/* Takes the arrays over, after an error of theirs too. */
static PoiseErr UploadArrays(PoiseErr e, int64_t offsets, int64_t columns, int64_t values, Arrays *a,
                             Product *q)
{
  if (!e) e = UPLOAD(a->offset, offsets, q->index[0]);
  if (!e) e = UPLOAD(a->col, columns, q->index[1]);
  if (!e) e = UPLOAD(a->val, values, q->val);
  free(a->offset);
  free(a->col);
  free(a->val);
  return e;
}

/* Offsets of slices of SLICE rows, each as wide as its longest row; gives the number of entries with
   padding. */
static int64_t Slices(const Rows *r, int *offset)
{
  int64_t total = 0;
  for (int64_t i = 0; i < r->n; i += SLICE) {
    int width = 0;
    for (int64_t k = i; k < i + SLICE && k < r->n; k++)
      if (width < r->ptr[k + 1] - r->ptr[k]) width = r->ptr[k + 1] - r->ptr[k];
    if (offset) offset[i / SLICE] = (int)total;
    total += (int64_t)width * SLICE;
  }
  if (offset) offset[(r->n + SLICE - 1) / SLICE] = (int)total;
  return total;
}

/* Entry k of row l of a slice stands at offset + k SLICE + l; padding has column -1. Not where padding
   doubles the matrix. */
static PoiseErr MakeSell(Cuda *p, Product *q)
{
  const Rows *r = &p->host;
  Arrays a = {};
  int64_t nz = r->ptr[r->n], slices = (r->n + SLICE - 1) / SLICE, total = Slices(r, NULL);
  if (total > 2 * nz || total > INT32_MAX) return POISE_OK;
  PoiseErr e = Reserve(slices + 1, total, total, &a);
  if (!e) (void)Slices(r, a.offset);
  for (int64_t k = 0; k < total && !e; k++) a.col[k] = -1, a.val[k] = 0;
  for (int64_t i = 0; i < r->n && !e; i++)
    for (int k = r->ptr[i]; k < r->ptr[i + 1]; k++) {
      int64_t place = a.offset[i / SLICE] + (int64_t)(k - r->ptr[i]) * SLICE + i % SLICE;
      a.col[place] = r->col[k], a.val[place] = r->val[k];
    }
  TRY(UploadArrays(e, slices + 1, total, total, &a, q));
  SPARSE(cusparseCreateSlicedEll(&q->A, r->n, r->N, nz, total, SLICE, q->index[0], q->index[1], q->val,
                                 CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                                 CUDA_R_64F));
  return POISE_OK;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

enum { BY_COLUMNS, BY_ROWS };

static __global__ void TurnKernel(int64_t numbers, int b, const double *from, double *to)
{
  int64_t t = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, k = t / (b * b), r = t / b % b, c = t % b;
  if (t < numbers) to[t] = from[(k * b + c) * b + r];
}

/* The arrays of blocks are those of all products by them. */
static PoiseErr FillBlocks(Cuda *p, int order)
{
  const Blocks *k = p->blocks;
  int64_t numbers = (int64_t)k->ptr[k->n] * k->b * k->b;
  if (!p->block_val[BY_COLUMNS]) {
    TRY(UPLOAD(k->ptr, k->n + 1, p->block_ptr));
    TRY(UPLOAD(k->col, k->ptr[k->n], p->block_col));
    TRY(UPLOAD(k->val, numbers, p->block_val[BY_COLUMNS]));
  }
  if (p->block_val[order] || !numbers) return POISE_OK;
  TRY(Vector(numbers, &p->block_val[order]));
  TurnKernel<<<(unsigned)((numbers + 255) / 256), 256, 0, p->stream>>>(
      numbers, k->b, p->block_val[BY_COLUMNS], p->block_val[order]);
  CUDA(cudaGetLastError());
  return POISE_OK;
}

static PoiseErr MakeBsr(Cuda *p, Product *q, int order)
{
  const Blocks *k = p->blocks;
  if (!k) return POISE_OK;
  TRY(FillBlocks(p, order));
  SPARSE(cusparseCreateBsr(&q->A, k->n, k->N, k->ptr[k->n], k->b, k->b, p->block_ptr, p->block_col,
                           p->block_val[order], CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                           CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F,
                           order == BY_ROWS ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL));
  return POISE_OK;
}

static PoiseErr MakeBsrColumns(Cuda *p, Product *q)
{
  return MakeBsr(p, q, BY_COLUMNS);
}

static PoiseErr MakeBsrRows(Cuda *p, Product *q)
{
  return MakeBsr(p, q, BY_ROWS);
}

/* The older function. */
static PoiseErr Bsrmv(Cuda *p, const Product *q, const double *x, double *y)
{
  const double one = 1, zero = 0;
  const Blocks *k = p->blocks;
  SPARSE(cusparseDbsrmv(p->sparse, q->order == BY_ROWS ? CUSPARSE_DIRECTION_ROW : CUSPARSE_DIRECTION_COLUMN,
                        CUSPARSE_OPERATION_NON_TRANSPOSE, (int)k->n, (int)k->N, k->ptr[k->n], &one,
                        p->general, p->block_val[q->order], p->block_ptr, p->block_col, k->b, x, &zero, y));
  return POISE_OK;
}

static PoiseErr MakeBsrmv(Cuda *p, Product *q, int order)
{
  if (!p->blocks || p->blocks->b == 1) return POISE_OK; /* it takes no blocks of one number */
  TRY(FillBlocks(p, order));
  q->kernels = Bsrmv;
  q->order = order;
  return POISE_OK;
}

static PoiseErr MakeBsrmvColumns(Cuda *p, Product *q)
{
  return MakeBsrmv(p, q, BY_COLUMNS);
}

static PoiseErr MakeBsrmvRows(Cuda *p, Product *q)
{
  return MakeBsrmv(p, q, BY_ROWS);
}

/* ---- kernels of textbooks and papers --------------------------------------------------------- */

enum { BLOCK = 256, WARP = 32, STAGED = 2048 };

/* Bell & Garland 2008, scalar: a thread per row. */
static __global__ void ScalarKernel(int n, const int *ptr, const int *col, const double *val, const double *x,
                                    double *y)
{
  int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i >= n) return;
  double sum = 0;
  for (int k = ptr[i]; k < ptr[i + 1]; k++) sum += val[k] * x[col[k]];
  y[i] = sum;
}

/* Bell & Garland 2008, vector: a warp per row. */
static __global__ void VectorKernel(int n, const int *ptr, const int *col, const double *val, const double *x,
                                    double *y)
{
  int64_t i = ((int64_t)blockIdx.x * BLOCK + threadIdx.x) / WARP;
  int lane = threadIdx.x % WARP;
  if (i >= n) return;
  double sum = 0;
  for (int k = ptr[i] + lane; k < ptr[i + 1]; k += WARP) sum += val[k] * x[col[k]];
  for (int step = WARP / 2; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
  if (lane == 0) y[i] = sum;
}

/* Deng et al. 2009, product and sum: first all products; then a block brings those of its rows to shared
   memory, part by part, and a thread per row sums. The expanded x of the paper is gathered by the first
   kernel and not stored. */
static __global__ void TermsKernel(int nz, const int *col, const double *val, const double *x, double *term)
{
  int64_t k = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
  if (k < nz) term[k] = val[k] * x[col[k]];
}

static __global__ void SumKernel(int n, const int *ptr, const double *term, double *y)
{
  __shared__ double part[STAGED];
  int first = blockIdx.x * BLOCK, end = min(first + BLOCK, n), i = first + threadIdx.x;
  int begin = i < n ? ptr[i] : 0, last = i < n ? ptr[i + 1] : 0, stop = ptr[end];
  double sum = 0;
  for (int64_t base = ptr[first]; base < stop; base += STAGED) {
    int count = (int)min((int64_t)STAGED, stop - base);
    for (int k = threadIdx.x; k < count; k += BLOCK) part[k] = term[base + k];
    __syncthreads();
    for (int64_t k = max((int64_t)begin, base); k < min((int64_t)last, base + count); k++)
      sum += part[k - base];
    __syncthreads();
  }
  if (i < n) y[i] = sum;
}

static unsigned BlocksFor(int64_t threads)
{
  return (unsigned)((threads + BLOCK - 1) / BLOCK);
}

static PoiseErr Scalar(Cuda *p, const Product *q, const double *x, double *y)
{
  int n = (int)p->host.n;
  (void)q;
  if (n) ScalarKernel<<<BlocksFor(n), BLOCK, 0, p->stream>>>(n, p->ptr, p->col, p->val, x, y);
  CUDA(cudaGetLastError());
  return POISE_OK;
}

static PoiseErr Vectorised(Cuda *p, const Product *q, const double *x, double *y)
{
  int n = (int)p->host.n;
  (void)q;
  if (n) VectorKernel<<<BlocksFor((int64_t)n * WARP), BLOCK, 0, p->stream>>>(n, p->ptr, p->col, p->val, x, y);
  CUDA(cudaGetLastError());
  return POISE_OK;
}

static PoiseErr ProductAndSum(Cuda *p, const Product *q, const double *x, double *y)
{
  int n = (int)p->host.n, nz = p->host.ptr[n];
  if (nz) TermsKernel<<<BlocksFor(nz), BLOCK, 0, p->stream>>>(nz, p->col, p->val, x, q->val);
  if (n) SumKernel<<<BlocksFor(n), BLOCK, 0, p->stream>>>(n, p->ptr, q->val, y);
  CUDA(cudaGetLastError());
  return POISE_OK;
}

static PoiseErr MakeScalar(Cuda *p, Product *q)
{
  (void)p;
  q->kernels = Scalar;
  return POISE_OK;
}

static PoiseErr MakeVector(Cuda *p, Product *q)
{
  (void)p;
  q->kernels = Vectorised;
  return POISE_OK;
}

static PoiseErr MakeProductAndSum(Cuda *p, Product *q)
{
  q->kernels = ProductAndSum;
  return Vector(p->host.ptr[p->host.n], &q->val);
}

static const struct {
  const char *who, *name;
  PoiseErr (*make)(Cuda *, Product *);
  cusparseSpMVAlg_t algorithm;
  bool preprocess;
  int first, last; /* for which choices of formats */
} formats[] = {
    /* the first: what solves multiply by */
    {"cuSPARSE", "csr alg1 preprocessed", MakeCsr, CUSPARSE_SPMV_CSR_ALG1, true, BLOCK_FORMATS,
     TEXTBOOK_KERNELS},
    {"cuSPARSE", "csr alg1", MakeCsr, CUSPARSE_SPMV_CSR_ALG1, false, ALL_FORMATS, ALL_FORMATS},
    {"cuSPARSE", "csr alg2 preprocessed", MakeCsr, CUSPARSE_SPMV_CSR_ALG2, true, ALL_FORMATS,
     TEXTBOOK_KERNELS},
    {"cuSPARSE", "csr alg2", MakeCsr, CUSPARSE_SPMV_CSR_ALG2, false, ALL_FORMATS, ALL_FORMATS},
    {"cuSPARSE", "coo alg1", MakeCoo, CUSPARSE_SPMV_COO_ALG1, false, ALL_FORMATS, TEXTBOOK_KERNELS},
    {"cuSPARSE", "coo alg2", MakeCoo, CUSPARSE_SPMV_COO_ALG2, false, ALL_FORMATS, ALL_FORMATS},
    {"cuSPARSE", "sell 32", MakeSell, CUSPARSE_SPMV_ALG_DEFAULT, false, ALL_FORMATS, ALL_FORMATS},
    {"cuSPARSE", "bsr, blocks by columns", MakeBsrColumns, CUSPARSE_SPMV_ALG_DEFAULT, false, BLOCK_FORMATS,
     ALL_FORMATS},
    {"cuSPARSE", "bsr, blocks by rows", MakeBsrRows, CUSPARSE_SPMV_ALG_DEFAULT, false, BLOCK_FORMATS,
     ALL_FORMATS},
    {"cuSPARSE", "bsrmv, blocks by columns", MakeBsrmvColumns, CUSPARSE_SPMV_ALG_DEFAULT, false,
     BLOCK_FORMATS, ALL_FORMATS},
    {"cuSPARSE", "bsrmv, blocks by rows", MakeBsrmvRows, CUSPARSE_SPMV_ALG_DEFAULT, false, BLOCK_FORMATS,
     ALL_FORMATS},
    {"textbook", "scalar", MakeScalar, CUSPARSE_SPMV_ALG_DEFAULT, false, TEXTBOOK_KERNELS, TEXTBOOK_KERNELS},
    {"textbook", "vector", MakeVector, CUSPARSE_SPMV_ALG_DEFAULT, false, TEXTBOOK_KERNELS, TEXTBOOK_KERNELS},
    {"textbook", "product and sum", MakeProductAndSum, CUSPARSE_SPMV_ALG_DEFAULT, false, TEXTBOOK_KERNELS,
     TEXTBOOK_KERNELS},
};

enum { FORMATS = sizeof formats / sizeof *formats };

/* What cuSPARSE needs beside the matrix. */
static PoiseErr Prepare(Cuda *p, Product *q, bool preprocess)
{
  const double one = 1, zero = 0;
  const cusparseOperation_t plain = CUSPARSE_OPERATION_NON_TRANSPOSE;
  size_t bytes = 0;
  SPARSE(cusparseSpMV_bufferSize(p->sparse, plain, &one, q->A, p->x, &zero, p->y, CUDA_R_64F, q->algorithm,
                                 &bytes));
  CUDA(cudaMalloc(&q->buffer, bytes ? bytes : 1));
  if (preprocess)
    SPARSE(cusparseSpMV_preprocess(p->sparse, plain, &one, q->A, p->x, &zero, p->y, CUDA_R_64F, q->algorithm,
                                   q->buffer));
  CUDA(cudaStreamSynchronize(p->stream));
  return POISE_OK;
}

/* The matrix in a format, its buffer and what is worked out before. Nothing is there where the matrix is not
   for it, nor, said so, where cuSPARSE refuses it, be it at the first product. */
static PoiseErr Make(Cuda *p, int format, Product *q)
{
  double start = PoiseTime();
  q->algorithm = formats[format].algorithm;
  TRY(formats[format].make(p, q));
  if (!q->A && !q->kernels) return POISE_OK;
  PoiseErr e = q->A ? Prepare(p, q, formats[format].preprocess) : POISE_OK;
  q->setup = q->A ? PoiseTime() - start : 0;
  if (!e) e = Multiply(p, q, p->base.v[P], p->base.v[Q]);
  q->there = !e;
  if (!e) CUDA(cudaStreamSynchronize(p->stream));
  if (!e) return POISE_OK;
  printf("%s %s: %s\n", formats[format].who, formats[format].name, PoiseErrorMessage());
  PoiseErrorClear();
  return POISE_OK;
}

/* ---- a task ---------------------------------------------------------------------------------- */

static bool IsSolve(int op)
{
  return op == OP_CG || op == OP_BICGSTAB || op == OP_GMRES;
}

static void LeaveTask(void *peer)
{
  Cuda *p = (Cuda *)peer;
  for (int k = 0; k < p->nproduct; k++) {
    Product *q = &p->product[k];
    if (q->A) cusparseDestroySpMat(q->A);
    cudaFree(q->buffer);
    cudaFree(q->index[0]);
    cudaFree(q->index[1]);
    cudaFree(q->val);
    *q = Product{};
  }
  for (int k = 0; k < p->ntext; k++)
    if (p->way[k].graph) ForgetGraph(p->way[k].graph);
  for (int k = 0; k < VECTORS; k++) cudaFree(p->base.v[k]);
  cudaFree(p->base.basis);
  cudaFree(p->base.small);
  cudaFree(p->base.scalar);
  cudaFreeHost(p->host_scalar);
  cudaFree(p->ptr);
  cudaFree(p->col);
  cudaFree(p->val);
  cudaFree(p->d);
  cudaFree(p->block_ptr);
  cudaFree(p->block_col);
  for (int k = 0; k < 2; k++) cudaFree(p->block_val[k]);
  if (p->x) cusparseDestroyDnVec(p->x);
  if (p->y) cusparseDestroyDnVec(p->y);
  p->nproduct = p->ntext = 0;
  p->base = Textbook{};
  p->host_scalar = p->val = p->d = NULL;
  p->ptr = p->col = p->block_ptr = p->block_col = NULL;
  p->block_val[0] = p->block_val[1] = NULL;
  p->blocks = NULL;
  p->x = p->y = NULL;
}

/* What is given: vectors and the matrix. */
static PoiseErr FillInputs(Cuda *p, const Task *task)
{
  const Rows *r = task->rows;
  p->base.n = task->n;
  TRY(UPLOAD(task->x, task->n, p->base.v[IsSolve(task->op) ? B : P]));
  if (!IsSolve(task->op)) TRY(UPLOAD(task->x, task->n, p->base.v[Q]));
  if (!r) return POISE_OK;
  p->host = *r;
  p->blocks = task->blocks;
  TRY(UPLOAD(r->ptr, r->n + 1, p->ptr));
  TRY(UPLOAD(r->col, r->ptr[r->n], p->col));
  return UPLOAD(r->val, r->ptr[r->n], p->val);
}

/* What methods work with. */
static PoiseErr Fill(Cuda *p, const Task *task)
{
  static const double constants[] = {0, 1, -1}; /* ZERO, ONE, MINUS_ONE */
  Textbook *t = &p->base;
  for (int k = 0; k < (IsSolve(task->op) ? VECTORS : 0); k++)
    if (!t->v[k]) TRY(Vector(task->n, &t->v[k]));
  if (task->op == OP_GMRES) TRY(Vector((RESTART + 1) * task->n, &t->basis));
  TRY(Vector(SMALL, &t->small));
  TRY(Vector(SCALARS, &t->scalar));
  CUDA(cudaMallocHost((void **)&p->host_scalar, SCALARS * sizeof(double)));
  memset(p->host_scalar, 0, SCALARS * sizeof(double));
  memcpy(p->host_scalar, constants, sizeof constants);
  CUDA(cudaMemcpy(t->scalar, constants, sizeof constants, cudaMemcpyHostToDevice));
  return POISE_OK;
}

/* As InverseDiagonal. */
static __global__ void DiagonalKernel(int n, const int *ptr, const int *col, const double *val, double *d)
{
  int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i >= n) return;
  double entry = 1;
  for (int k = ptr[i]; k < ptr[i + 1]; k++)
    if (col[k] == i && val[k] != 0) entry = val[k];
  d[i] = 1 / entry;
}

static PoiseErr FillDiagonal(Cuda *p)
{
  int n = (int)p->host.n;
  TRY(Vector(n, &p->d));
  if (n) DiagonalKernel<<<BlocksFor(n), BLOCK, 0, p->stream>>>(n, p->ptr, p->col, p->val, p->d);
  CUDA(cudaGetLastError());
  return POISE_OK;
}

static PoiseErr FillMatrix(Cuda *p, const Task *task)
{
  const Rows *r = task->rows;
  if (task->op != OP_MULT) TRY(FillDiagonal(p));
  SPARSE(cusparseCreateDnVec(&p->x, r->N, p->base.v[P], CUDA_R_64F));
  SPARSE(cusparseCreateDnVec(&p->y, r->n, p->base.v[Q], CUDA_R_64F));
  return POISE_OK;
}

/* One more way to run the textbook. */
static void EnterWay(Cuda *p, List *list, const char *who, const char *how, int op, int passes,
                     Product *product, int kind)
{
  Way *w = &p->way[p->ntext];
  Textbook *t = &p->text[p->ntext++];
  *w = Way{};
  w->cuda = p;
  w->product = product;
  w->on_device = kind != HOST_SCALARS;
  w->blas = p->blas[w->on_device];
  *t = p->base;
  t->own = w;
  t->passes = passes;
  if (!w->on_device) t->scalar = p->host_scalar;
  t->mult = Mult;
  t->jacobi = Jacobi;
  t->dot = Dot;
  t->norm = Norm;
  t->axpy = Axpy;
  t->scale = Scale;
  t->copy = Copy;
  t->zero = Zero;
  t->project = Project;
  t->combine = Combine;
  t->ratio = Ratio;
  t->rsqrt = Rsqrt;
  t->fetch = Move;
  t->store = Move;
  t->replay = kind == GRAPH ? Replay : NULL;
  EnterTextbook(list, who, how, &p->lane, t, op)->setup = product ? product->setup : 0;
}

static PoiseErr EnterProducts(Cuda *p, const Task *task, List *list)
{
  for (int k = 0; k < FORMATS; k++) {
    if (task->formats < formats[k].first || task->formats > formats[k].last) continue;
    Product *q = &p->product[p->nproduct++];
    TRY(Make(p, k, q));
    if (!q->there) continue;
    EnterWay(p, list, formats[k].who, formats[k].name, OP_MULT, 0, q, HOST_SCALARS);
    list->c[list->n - 1].blocks = !strncmp(formats[k].name, "bsr", 3);
  }
  return POISE_OK;
}

/* A cycle without a graph. */
static PoiseErr Rehearse(Textbook *t, int op)
{
  TRY(TextbookSteps(t, op, TextbookCycle(op)));
  CUDA(cudaStreamSynchronize(WayOf(t)->cuda->stream));
  return POISE_OK;
}

static PoiseErr EnterSolves(Cuda *p, List *list, const Task *task)
{
  static const char *const kinds[WAYS] = {"host scalars", "device scalars", "graph"};
  int op = task->op;
  Product *q = &p->product[p->nproduct++];
  TRY(Make(p, 0, q));
  for (int passes = op == OP_GMRES ? 1 : 2; passes <= (task->sustained && op == OP_GMRES ? 1 : 2); passes++)
    for (int kind = task->sustained ? GRAPH : HOST_SCALARS; kind < WAYS; kind++) {
      char how[48];
      snprintf(how, sizeof how, "%s%s", op == OP_GMRES ? (passes == 1 ? "once, " : "twice, ") : "",
               kinds[kind]);
      EnterWay(p, list, "cuSPARSE", how, op, passes, q, kind);
      if (task->sustained) TRY(Rehearse(&p->text[p->ntext - 1], op));
    }
  return POISE_OK;
}

/* From the arrays to a solver. */
static PoiseErr CreateSolver(Cuda *p, const Task *task, Textbook **t)
{
  List list = {};
  Product *q = &p->product[p->nproduct++];
  TRY(Fill(p, task));
  TRY(FillMatrix(p, task));
  TRY(Make(p, 0, q));
  EnterWay(p, &list, "cuSPARSE", "graph", task->op, 1, q, GRAPH);
  *t = &p->text[p->ntext - 1];
  if (!p->rehearsed[task->op]) TRY(Rehearse(*t, task->op));
  p->rehearsed[task->op] = true;
  return POISE_OK;
}

static PoiseErr TimeSolves(Cuda *p, const Task *task, double rtol, int64_t most, Solved *s)
{
  Textbook *t;
  TRY(FillInputs(p, task));
  double start = PoiseTime();
  TRY(CreateSolver(p, task, &t));
  for (int k = 0; k < 2; k++) {
    TRY(TextbookSolve(t, task->op, rtol, most, &s->iterations));
    CUDA(cudaStreamSynchronize(p->stream));
    (k ? s->second : s->first) = PoiseTime() - start;
    start = PoiseTime();
  }
  return Move(t, t->v[X], task->n, s->x);
}

static PoiseErr Solve(void *peer, const Task *task, double rtol, int64_t most, Solved *s)
{
  PoiseErr e = TimeSolves((Cuda *)peer, task, rtol, most, s);
  LeaveTask(peer);
  return e;
}

static PoiseErr EnterTask(void *peer, const Task *task, List *list)
{
  Cuda *p = (Cuda *)peer;
  if (task->op == OP_OTHER) return POISE_OK;
  TRY(FillInputs(p, task));
  TRY(Fill(p, task));
  if (task->rows) TRY(FillMatrix(p, task));
  if (task->op == OP_MULT) return EnterProducts(p, task, list);
  if (IsSolve(task->op)) return EnterSolves(p, list, task);
  EnterWay(p, list, "cuBLAS", task->op == OP_JACOBI ? "ddgmm" : "host scalars", task->op, 0, NULL,
           HOST_SCALARS);
  if (task->op != OP_JACOBI) EnterWay(p, list, "cuBLAS", "device scalars", task->op, 0, NULL, DEVICE_SCALARS);
  return POISE_OK;
}

/* ---- bandwidth and latency ------------------------------------------------------------------- */

enum { READERS = 1024 };

/* Each thread adds up numbers in pairs; the sum is used where nobody expects it, so that it is computed. */
static __global__ void __launch_bounds__(READERS) ReadKernel(int64_t pairs, const double2 *a, double *sink)
{
  double s[4] = {0, 0, 0, 0};
  int64_t step = (int64_t)gridDim.x * READERS, i = (int64_t)blockIdx.x * READERS + threadIdx.x;
  for (; i + 3 * step < pairs; i += 4 * step) {
    double2 v[4];
#pragma unroll
    for (int k = 0; k < 4; k++) v[k] = a[i + k * step];
#pragma unroll
    for (int k = 0; k < 4; k++) s[k] += v[k].x + v[k].y;
  }
  for (; i < pairs; i += step) s[0] += a[i].x + a[i].y;
  double sum = s[0] + s[1] + s[2] + s[3];
  if (sum == 0.12345) *sink = sum;
}

static __global__ void TriadKernel(int64_t pairs, const double2 *a, const double2 *b, double2 *c)
{
  int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < pairs) c[i] = make_double2(a[i].x + 3 * b[i].x, a[i].y + 3 * b[i].y);
}

static __global__ void EmptyKernel(void)
{
}

static PoiseErr CallLimit(void *arg, int kind, int64_t count)
{
  Cuda *p = (Cuda *)arg;
  int64_t pairs = p->numbers / 2;
  for (int64_t k = 0; k < count; k++) {
    if (kind == READ)
      ReadKernel<<<4 * p->properties.multiProcessorCount, READERS, 0, p->stream>>>(
          pairs, (const double2 *)p->a, p->sink);
    else if (kind == COPY)
      CUDA(cudaMemcpyAsync(p->b, p->a, (size_t)p->numbers * sizeof(double), cudaMemcpyDeviceToDevice,
                           p->stream));
    else
      TriadKernel<<<(unsigned)((pairs + 255) / 256), 256, 0, p->stream>>>(
          pairs, (const double2 *)p->a, (const double2 *)p->b, (double2 *)p->c);
  }
  CUDA(cudaGetLastError());
  return POISE_OK;
}

static PoiseErr CallEmpty(void *arg, int op, int64_t count)
{
  Cuda *p = (Cuda *)arg;
  (void)op;
  for (int64_t k = 0; k < count; k++) EmptyKernel<<<1, 32, 0, p->stream>>>();
  CUDA(cudaGetLastError());
  return POISE_OK;
}

static PoiseErr CallGraph(void *arg, int op, int64_t count)
{
  (void)op;
  for (int64_t k = 0; k < count; k++) TRY(ReplayGraph(((Cuda *)arg)->stream, ((Cuda *)arg)->empty));
  return POISE_OK;
}

/* Launch, and wait for it on the host. */
static PoiseErr CallWait(void *arg, int op, int64_t count)
{
  for (int64_t k = 0; k < count; k++) {
    TRY(CallEmpty(arg, op, 1));
    CUDA(cudaStreamSynchronize(((Cuda *)arg)->stream));
  }
  return POISE_OK;
}

static PoiseErr Limits(void *peer, List *list)
{
  static const char *const names[BANDWIDTHS] = {"read", "copy", "triad"};
  Cuda *p = (Cuda *)peer;
  for (int kind = READ; kind < BANDWIDTHS; kind++)
    Enter(list, "memory", names[kind], &p->lane, p, kind, CallLimit, NULL)->bytes =
        bandwidth_bytes[kind] * (double)p->numbers;
  Enter(list, "launch", "kernel in a stream", &p->lane, p, 0, CallEmpty, NULL);
  Enter(list, "launch", "graph of 100 kernels", &p->lane, p, 0, CallGraph, NULL);
  Enter(list, "launch", "kernel, waited for", &p->lane, p, 0, CallWait, NULL);
  return POISE_OK;
}

/* ---- the peer -------------------------------------------------------------------------------- */

static PoiseErr Wait(void *arg)
{
  CUDA(cudaStreamSynchronize(((Cuda *)arg)->stream));
  return POISE_OK;
}

static PoiseErr Flush(void *arg)
{
  Cuda *p = (Cuda *)arg;
  CUDA(cudaMemsetAsync(p->flush, 0, p->flushed, p->stream));
  return POISE_OK;
}

static PoiseErr CaptureEmpty(Cuda *p)
{
  TRY(CallEmpty(p, 0, 1));
  CUDA(cudaStreamSynchronize(p->stream));
  TRY(BeginGraph(p->stream));
  PoiseErr e = CallEmpty(p, 0, GRAPH_KERNELS), ended = EndGraph(p->stream, &p->empty);
  return e ? e : ended;
}

static PoiseErr OpenLibraries(Cuda *p)
{
  for (int k = 0; k < 2; k++) {
    BLAS(cublasCreate(&p->blas[k]));
    CUDA(cudaMalloc(&p->workspace[k], WORKSPACE));
    BLAS(cublasSetStream(p->blas[k], p->stream));
    BLAS(cublasSetWorkspace(p->blas[k], p->workspace[k],
                            WORKSPACE)); /* so that captures allocate nothing; after the stream */
    BLAS(cublasSetPointerMode(p->blas[k], k ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST));
  }
  SPARSE(cusparseCreate(&p->sparse));
  SPARSE(cusparseSetStream(p->sparse, p->stream));
  SPARSE(cusparseCreateMatDescr(&p->general));
  return POISE_OK;
}

static PoiseErr Open(PoiseInt numbers, double *cache, void **peer)
{
  int gpu = 0;
  Cuda *p = (Cuda *)calloc(1, sizeof *p);
  *peer = p;
  if (!p) POISE_FAIL(POISE_ERR_MEMORY, "the peer on the GPU");
  CUDA(cudaGetDevice(&gpu)); /* the library has chosen it */
  CUDA(cudaGetDeviceProperties(&p->properties, gpu));
  CUDA(cudaStreamCreateWithFlags(&p->stream, cudaStreamNonBlocking));
  p->lane.arg = p;
  p->lane.synchronous = false;
  p->lane.wait = Wait;
  p->lane.flush = Flush;
  p->lane.recorder = &recorder;
  p->lane.stream = p->stream;
  p->numbers = numbers + numbers % 2;
  if (*cache <= 0) *cache = p->properties.l2CacheSize;
  p->flushed = (size_t)(CACHES * *cache) + 1;
  TRY(Vector(p->numbers, &p->a));
  TRY(Vector(p->numbers, &p->b));
  TRY(Vector(p->numbers, &p->c));
  TRY(Vector(1, &p->sink));
  CUDA(cudaMalloc((void **)&p->flush, p->flushed));
  TRY(OpenLibraries(p));
  return CaptureEmpty(p);
}

static void Close(void *peer)
{
  Cuda *p = (Cuda *)peer;
  if (!p) return;
  LeaveTask(p);
  if (p->empty) ForgetGraph(p->empty);
  for (int k = 0; k < 2; k++) {
    if (p->blas[k]) cublasDestroy(p->blas[k]);
    cudaFree(p->workspace[k]);
  }
  if (p->general) cusparseDestroyMatDescr(p->general);
  if (p->sparse) cusparseDestroy(p->sparse);
  cudaFree(p->a);
  cudaFree(p->b);
  cudaFree(p->c);
  cudaFree(p->sink);
  cudaFree(p->flush);
  if (p->stream) cudaStreamDestroy(p->stream);
  free(p);
}

static void Machine(void *peer, char *text, size_t size)
{
  Cuda *p = (Cuda *)peer;
  int driver = 0, runtime = 0, gpu = 0, clock = 0, memory = 0, blas = 0, sparse = 0;
  (void)cudaDriverGetVersion(&driver);
  (void)cudaRuntimeGetVersion(&runtime);
  (void)cudaGetDevice(&gpu);
  (void)cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, gpu);
  (void)cudaDeviceGetAttribute(&memory, cudaDevAttrMemoryClockRate, gpu);
  (void)cublasGetVersion(p->blas[0], &blas);
  (void)cusparseGetVersion(p->sparse, &sparse);
  DescribeHost(text, size);
  size_t used = strlen(text);
  snprintf(text + used, size - used,
           "gpu: %s, compute capability %d.%d, %d SMs, %.0f MiB, L2 %.1f MB, SM clock to %d MHz, memory "
           "clock %d MHz\n"
           "driver: CUDA %d.%d; runtime %d.%d, cuBLAS %d, cuSPARSE %d, nvcc %d.%d.%d\n",
           p->properties.name, p->properties.major, p->properties.minor, p->properties.multiProcessorCount,
           (double)p->properties.totalGlobalMem / (1 << 20), 1e-6 * p->properties.l2CacheSize, clock / 1000,
           memory / 1000, driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10, blas,
           sparse, __CUDACC_VER_MAJOR__, __CUDACC_VER_MINOR__, __CUDACC_VER_BUILD__);
}

static PoiseErr TimeCopy(void *to, const void *from, size_t bytes, double *seconds)
{
  CUDA(cudaDeviceSynchronize());
  double start = PoiseTime();
  CUDA(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice));
  CUDA(cudaDeviceSynchronize());
  *seconds = PoiseTime() - start;
  return POISE_OK;
}

static PoiseErr Send(const void *from, size_t bytes, bool pinned, double *seconds)
{
  void *to = NULL, *copy = NULL;
  CUDA(cudaMalloc(&to, bytes));
  cudaError_t failed = pinned ? cudaMallocHost(&copy, bytes) : cudaSuccess;
  if (copy) memcpy(copy, from, bytes);
  PoiseErr e = failed == cudaSuccess ? TimeCopy(to, pinned ? copy : from, bytes, seconds)
                                     : Failed("pinned memory", cudaGetErrorString(failed));
  cudaFreeHost(copy);
  cudaFree(to);
  return e;
}

static void TakeBack(void *p)
{
  cudaFree(p);
}

/* In the order of Peer: C++17 has no designated initialisers. */
extern "C" {
extern const Peer peer_cuda;
const Peer peer_cuda = {"cuSPARSE, cuBLAS", Open,   Close,    Machine,   Limits, EnterTask,
                        LeaveTask,          Upload, TakeBack, &recorder, Solve,  Send};
}

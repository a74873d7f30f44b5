/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The same of a code whose arrays are in the GPU's memory: they are lent too, and used there. Code and library
  work in one stream, so that neither waits for the other.

    ./convection_gpu -ksp_monitor       ends with status 77 where there is no GPU
*/
#include "system.h"

#include <cstdio>
#include <cuda_runtime_api.h>

/* An array on the GPU with the entries of v. */
template <class T> class DeviceArray
{
public:
  explicit DeviceArray(const std::vector<T> &v)
  {
    if (cudaMalloc(&array, v.size() * sizeof(T)) != cudaSuccess ||
        cudaMemcpy(array, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice) != cudaSuccess) {
      cudaFree(array);
      array = nullptr;
    }
  }
  DeviceArray(const DeviceArray &) = delete;
  DeviceArray &operator=(const DeviceArray &) = delete;
  ~DeviceArray()
  {
    cudaFree(array);
  }
  T *data() const /* nullptr: the GPU has no room */
  {
    return static_cast<T *>(array);
  }

private:
  void *array = nullptr;
};

static PoiseErr Run(PoiseContext ctx, System &system, PoiseInt *iterations)
{
  /* declared first: released after what uses them */
  const DeviceArray<int32_t> ptr(system.ptr), col(system.col);
  const DeviceArray<double> val(system.val), rhs(system.b), solution(system.u);
  if (!ptr.data() || !col.data() || !val.data() || !rhs.data() || !solution.data()) {
    POISE_FAIL(POISE_ERR_USER, "the arrays of the simulation do not fit: %s",
               cudaGetErrorString(cudaGetLastError()));
  }
  Matrix A;
  Vector b, u;
  PoiseCSR csr = {}; /* itself on the host, with pointers to the device */
  csr.ptr32 = ptr.data();
  csr.col32 = col.data();
  csr.val = val.data();
  const PoiseInt n = system.Rows();
  POISE_TRY(PoiseMatCreateDeviceCSR(ctx, n, n, n, n, &csr, POISE_BORROW, &A));
  POISE_TRY(PoiseVecCreateDeviceArray(ctx, n, n, rhs.data(), POISE_BORROW, &b));
  POISE_TRY(PoiseVecCreateDeviceArray(ctx, n, n, solution.data(), POISE_BORROW, &u));
  POISE_TRY(Solve(ctx, A, b, u, iterations));

  /* u is current in the order of the stream: a kernel of the simulation's would go there without a wait, as
     this copy does. */
  const auto stream = static_cast<cudaStream_t>(PoiseStream(ctx));
  cudaError_t failed = cudaMemcpyAsync(system.u.data(), solution.data(), system.u.size() * sizeof(double),
                                       cudaMemcpyDeviceToHost, stream);
  if (!failed) failed = cudaStreamSynchronize(stream);
  if (failed) POISE_FAIL(POISE_ERR_USER, "the solution cannot be fetched: %s", cudaGetErrorString(failed));
  return POISE_OK;
}

int main(int argc, char **argv)
{
  System system(60);
  PoiseInit init = {};
  PoiseContext ctx;
  PoiseInt iterations = 0;
  init.serial = 1;
  PoiseErr err = PoiseInitialize(&argc, &argv, &init, &ctx);
  if (!err && !PoiseStream(ctx)) { /* the context works on the host */
    std::puts("C++ on the GPU: skipped, there is none");
    return PoiseFinalize(&ctx) ? 1 : 77;
  }
  if (!err) err = Run(ctx, system, &iterations);
  if (!err) err = PoiseFinalize(&ctx);
  if (err) std::fputs(PoiseErrorText(), stderr);
  std::printf("C++ on the GPU: %d iterations, residual %.1e\n", int(iterations), system.Residual());
  return err || !(system.Residual() < 1e-8);
}

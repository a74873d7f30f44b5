/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The same of a code whose arrays are in the GPU's memory: they are lent too, and used there. Code and library
  work in one stream, so that neither waits for the other.

    ./convection_gpu -ksp_monitor       ends with status 77 where there is no GPU
*/
#include "system.h"

#include <cstdio>
#include <cuda_runtime_api.h>

static void Cuda(cudaError_t code)
{
  if (code) throw std::runtime_error(cudaGetErrorString(code));
}

/* An array on the GPU with the entries of v. */
template <class T> class DeviceArray
{
public:
  explicit DeviceArray(const std::vector<T> &v)
  {
    Cuda(cudaMalloc(&array, v.size() * sizeof(T)));
    const cudaError_t code = cudaMemcpy(array, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice);
    if (code) cudaFree(array);
    Cuda(code);
  }
  DeviceArray(const DeviceArray &) = delete;
  DeviceArray &operator=(const DeviceArray &) = delete;
  ~DeviceArray()
  {
    cudaFree(array);
  }
  T *data() const
  {
    return static_cast<T *>(array);
  }

private:
  void *array = nullptr;
};

static PoiseInt Run(PoiseContext ctx, System &system)
{
  /* declared first: released after what uses them */
  const DeviceArray<int32_t> ptr(system.ptr), col(system.col);
  const DeviceArray<double> val(system.val), rhs(system.b), solution(system.u);
  PoiseCSR csr = {}; /* itself on the host, with pointers to the device */
  csr.ptr32 = ptr.data();
  csr.col32 = col.data();
  csr.val = val.data();
  const PoiseInt n = system.Rows();
  const poise::Matrix A = poise::Matrix::Device(ctx, n, n, n, n, csr, POISE_BORROW);
  const poise::Vector b = poise::Vector::Device(ctx, n, rhs.data());
  const poise::Vector u = poise::Vector::Device(ctx, n, solution.data());
  const PoiseInt iterations = Solve(ctx, A, b, u);

  /* u is current in the order of the stream: a kernel of the simulation's would go there without a wait, as
     this copy does. */
  const auto stream = static_cast<cudaStream_t>(PoiseStream(ctx));
  Cuda(cudaMemcpyAsync(system.u.data(), solution.data(), system.u.size() * sizeof(double),
                       cudaMemcpyDeviceToHost, stream));
  Cuda(cudaStreamSynchronize(stream));
  return iterations;
}

int main(int argc, char **argv)
try {
  System system(60);
  poise::Context ctx = poise::Context::Serial(argc, argv);
  if (!PoiseStream(ctx)) { /* the context works on the host */
    std::puts("C++ on the GPU: skipped, there is none");
    return 77;
  }
  const PoiseInt iterations = Run(ctx, system);
  ctx.Finalize();
  std::printf("C++ on the GPU: %d iterations, residual %.1e\n", int(iterations), system.Residual());
  return !(system.Residual() < 1e-8);
} catch (const poise::Error &e) {
  std::fputs(e.Text().c_str(), stderr);
  return 1;
} catch (const std::exception &e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  A C++ code that lends its std::vectors: nothing of the matrix is copied, and the solution is in the vector
  after the solve. (On a GPU the library keeps a copy there; convection_gpu lends what is there already.)

    ./convection -ksp_monitor
*/
#include "system.h"

#include <cstdio>

static PoiseInt Run(PoiseContext ctx, System &system)
{
  PoiseCSR csr = {};
  csr.ptr32 = system.ptr.data();
  csr.col32 = system.col.data();
  csr.val = system.val.data();
  const PoiseInt n = system.Rows();
  const poise::Matrix A(ctx, n, n, n, n, csr, POISE_BORROW);
  const poise::Vector b = poise::Vector::Lend(ctx, system.b), u = poise::Vector::Lend(ctx, system.u);
  return Solve(ctx, A, b, u);
}

int main(int argc, char **argv)
try {
  System system(60); /* must outlive what was made of its arrays, and must not grow meanwhile */
  poise::Context ctx = poise::Context::Serial(argc, argv);
  const PoiseInt iterations = Run(ctx, system);
  ctx.Finalize();
  std::printf("C++: %d iterations, residual %.1e\n", int(iterations), system.Residual());
  return !(system.Residual() < 1e-8);
} catch (const poise::Error &e) {
  std::fputs(e.Text().c_str(), stderr);
  return 1;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  A C++ code that lends its std::vectors: nothing of the matrix is copied, and the solution is in the vector
  after the solve. (On a GPU the library keeps a copy there; convection_gpu lends what is there already.)

    ./convection -ksp_monitor
*/
#include "system.h"

#include <cstdio>

static PoiseErr Run(PoiseContext ctx, System &system, PoiseInt *iterations)
{
  Matrix A;
  Vector b, u;
  PoiseCSR csr = {};
  csr.ptr32 = system.ptr.data();
  csr.col32 = system.col.data();
  csr.val = system.val.data();
  const PoiseInt n = system.Rows();
  POISE_TRY(PoiseMatCreateCSR(ctx, n, n, n, n, &csr, POISE_BORROW, &A));
  POISE_TRY(PoiseVecCreateArray(ctx, n, n, system.b.data(), POISE_BORROW, &b));
  POISE_TRY(PoiseVecCreateArray(ctx, n, n, system.u.data(), POISE_BORROW, &u));
  return Solve(ctx, A, b, u, iterations);
}

int main(int argc, char **argv)
{
  System system(60); /* must outlive what was made of its arrays, and must not grow meanwhile */
  PoiseInit init = {};
  PoiseContext ctx;
  PoiseInt iterations = 0;
  init.serial = 1;
  PoiseErr err = PoiseInitialize(&argc, &argv, &init, &ctx);
  if (!err) err = Run(ctx, system, &iterations);
  if (!err) err = PoiseFinalize(&ctx);
  if (err) std::fputs(PoiseErrorText(), stderr);
  std::printf("C++: %d iterations, residual %.1e\n", int(iterations), system.Residual());
  return err || !(system.Residual() < 1e-8);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* tridiag(-1, 2, -1) u = 1 in the parent's own vectors; u_i = i (n + 1 - i) / 2 for i = 1, ..., n. */
#include <poise.h>

#include <cmath>
#include <cstdio>
#include <vector>

int OwnSize();

static PoiseErr Solve(std::vector<double> &u)
{
  std::vector<int32_t> ptr{0}, col;
  std::vector<double> val, f(u.size(), 1);
  const auto n = static_cast<int32_t>(u.size());
  for (int32_t i = 0; i < n; i++) {
    for (int32_t j = i - 1; j <= i + 1; j++) {
      if (j < 0 || j == n) continue;
      col.push_back(j);
      val.push_back(i == j ? 2 : -1);
    }
    ptr.push_back(static_cast<int32_t>(col.size()));
  }
  PoiseCSR csr{};
  csr.ptr32 = ptr.data(), csr.col32 = col.data(), csr.val = val.data();
  PoiseInit init{};
  init.serial = 1;
  PoiseContext ctx;
  PoiseMat A;
  PoiseVec x, b;
  PoiseKSP ksp;
  POISE_TRY(PoiseInitialize(nullptr, nullptr, &init, &ctx));
  POISE_TRY(PoiseMatCreateCSR(ctx, n, n, n, n, &csr, POISE_BORROW, &A));
  POISE_TRY(PoiseVecCreateArray(ctx, n, n, f.data(), POISE_BORROW, &b));
  POISE_TRY(PoiseVecCreateArray(ctx, n, n, u.data(), POISE_BORROW, &x));
  POISE_TRY(PoiseKSPCreate(ctx, &ksp));
  POISE_TRY(PoiseKSPSetOperators(ksp, A, nullptr));
  POISE_TRY(PoiseKSPSetType(ksp, "cg"));
  POISE_TRY(PoiseKSPSolve(ksp, b, x));
  POISE_TRY(PoiseKSPDestroy(&ksp));
  POISE_TRY(PoiseVecDestroy(&x));
  POISE_TRY(PoiseVecDestroy(&b));
  POISE_TRY(PoiseMatDestroy(&A));
  return PoiseFinalize(&ctx);
}

int main()
{
  std::vector<double> u(static_cast<std::size_t>(OwnSize()));
  if (Solve(u)) {
    std::fputs(PoiseErrorText(), stderr);
    return 1;
  }
  double worst = 0;
  for (std::size_t i = 0; i < u.size(); i++) {
    const double exact = double(i + 1) * double(u.size() - i) / 2;
    worst = std::fmax(worst, std::fabs(u[i] - exact));
  }
  std::printf("error %g, library %d, headers %d\n", worst, PoiseVersion(), POISE_VERSION);
  return worst > 1e-3 || PoiseVersion() != POISE_VERSION;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* A C++ program outside the tree: solve [2 1; 1 3] x = [3; 5], x = [0.8; 1.4], assembled from a block. */
#include <poise.h>

#include <cmath>
#include <iostream>
#include <vector>

/* How C++ would own an object: released when the scope is left, by an error too. */
template <class Object, PoiseErr (*Destroy)(Object *)> class Owned
{
public:
  Owned() = default;
  Owned(const Owned &) = delete;
  Owned &operator=(const Owned &) = delete;
  ~Owned()
  {
    Destroy(&object);
  }
  operator Object() const
  {
    return object;
  }
  Object *operator&()
  {
    return &object;
  }

private:
  Object object = nullptr;
};

static PoiseErr Solve(PoiseContext ctx, std::vector<double> &x)
{
  Owned<PoiseMat, PoiseMatDestroy> A;
  Owned<PoiseVec, PoiseVecDestroy> b, u;
  Owned<PoiseKSP, PoiseKSPDestroy> ksp;
  const PoiseInt rows[] = {0, 1};
  const double block[] = {2, 1, 1, 3}, rhs[] = {3, 5};
  POISE_TRY(PoiseMatCreate(ctx, 2, 2, 2, 2, &A));
  POISE_TRY(PoiseMatAddBlock(A, 2, rows, 2, rows, block));
  POISE_TRY(PoiseMatAssemble(A));
  POISE_TRY(PoiseMatCreateVecs(A, nullptr, &b));
  POISE_TRY(PoiseVecSetValues(b, 2, rows, rhs));
  POISE_TRY(PoiseVecAssemble(b));
  POISE_TRY(PoiseVecCreateArray(ctx, 2, 2, x.data(), POISE_BORROW, &u));
  POISE_TRY(PoiseKSPCreate(ctx, &ksp));
  POISE_TRY(PoiseKSPSetType(ksp, "cg"));
  POISE_TRY(PoiseKSPSetOperators(ksp, A, nullptr));
  POISE_TRY(PoiseKSPSetTolerances(ksp, 1e-12, -1, -1, -1));
  return PoiseKSPSolve(ksp, b, u);
}

int main()
{
  PoiseInit init = {};
  PoiseContext ctx;
  std::vector<double> x(2);
  init.serial = 1;
  PoiseErr err = PoiseInitialize(nullptr, nullptr, &init, &ctx);
  if (!err) err = Solve(ctx, x);
  if (!err) err = PoiseFinalize(&ctx);
  if (err) std::cerr << PoiseErrorText();
  std::cout << "C++: x = " << x[0] << " " << x[1] << "\n";
  return err || !(std::hypot(x[0] - 0.8, x[1] - 1.4) < 1e-10);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  What the simulation has, whoever solves it: b . grad u - d lap u = 1 on the unit square, u = 0 around it,
  with a wind b that turns around the middle; upwind finite differences on n x n points. Its arrays are
  std::vectors. And one word of C++ for the objects of a C library.
*/
#ifndef SYSTEM_H
#define SYSTEM_H

#include <poise.h>

#include <cmath>
#include <vector>

/* Owns an object of Poise: it is released when the scope is left, by an error too. */
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
  Object *operator&() /* for what creates one */
  {
    return &object;
  }

private:
  Object object = nullptr;
};
using Matrix = Owned<PoiseMat, PoiseMatDestroy>;
using Vector = Owned<PoiseVec, PoiseVecDestroy>;
using Solver = Owned<PoiseKSP, PoiseKSPDestroy>;

struct System {
  std::vector<int32_t> ptr, col;
  std::vector<double> val, b, u;

  explicit System(int n) : ptr{0}, b(std::size_t(n) * n, 1.0), u(std::size_t(n) * n, 0.0)
  {
    const double h = 1.0 / (n + 1), d = 0.02 / (h * h);
    for (int i = 0; i < n; i++) {
      for (int j = 0; j < n; j++) {
        /* the wind, over h */
        const double x = (j + 1) * h - 0.5, y = (i + 1) * h - 0.5, right = -y / h, up = x / h;
        const int row = i * n + j;
        if (i > 0) Add(row - n, -d - std::fmax(up, 0));
        if (j > 0) Add(row - 1, -d - std::fmax(right, 0));
        Add(row, 4 * d + std::fabs(up) + std::fabs(right));
        if (j < n - 1) Add(row + 1, -d + std::fmin(right, 0));
        if (i < n - 1) Add(row + n, -d + std::fmin(up, 0));
        ptr.push_back(int32_t(col.size()));
      }
    }
  }

  PoiseInt Rows() const
  {
    return PoiseInt(b.size());
  }

  /* |b - A u| / |b| */
  double Residual() const
  {
    double rr = 0, bb = 0;
    for (std::size_t i = 0; i < b.size(); i++) {
      double r = b[i];
      for (int32_t k = ptr[i]; k < ptr[i + 1]; k++)
        r -= val[std::size_t(k)] * u[std::size_t(col[std::size_t(k)])];
      rr += r * r;
      bb += b[i] * b[i];
    }
    return std::sqrt(rr / bb);
  }

private:
  void Add(int column, double value)
  {
    col.push_back(column);
    val.push_back(value);
  }
};

/* The same for arrays of either side. */
inline PoiseErr Solve(PoiseContext ctx, PoiseMat A, PoiseVec b, PoiseVec u, PoiseInt *iterations)
{
  Solver ksp;
  PoisePC pc;
  POISE_TRY(PoiseKSPCreate(ctx, &ksp));
  POISE_TRY(PoiseKSPSetType(ksp, "bicgstab"));
  POISE_TRY(PoiseKSPGetPC(ksp, &pc));
  POISE_TRY(PoisePCSetType(pc, "jacobi"));
  POISE_TRY(PoiseKSPSetOperators(ksp, A, nullptr));
  POISE_TRY(PoiseKSPSetTolerances(ksp, 1e-10, -1, -1, -1));
  POISE_TRY(PoiseKSPSetErrorIfNotConverged(ksp, 1));
  POISE_TRY(PoiseKSPSetFromOptions(ksp));
  POISE_TRY(PoiseKSPSolve(ksp, b, u));
  *iterations = PoiseKSPIterations(ksp);
  return POISE_OK;
}

#endif

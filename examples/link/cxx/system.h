/* SPDX-License-Identifier: BSD-3-Clause */
/*
  What the simulation has, whoever solves it: b . grad u - d lap u = 1 on the unit square, u = 0 around it,
  with a wind b that turns around the middle; upwind finite differences on n x n points. Its arrays are
  std::vectors.
*/
#ifndef SYSTEM_H
#define SYSTEM_H

#include <poise.hpp>

#include <cmath>
#include <vector>

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
inline PoiseInt Solve(PoiseContext ctx, const poise::Matrix &A, PoiseVec b, PoiseVec u)
{
  poise::Solver solver(ctx);
  solver.SetType("bicgstab").SetPC("jacobi").SetOperators(A).SetTolerances(1e-10).SetFromOptions();
  solver.Solve(b, u);
  return solver.Iterations();
}

#endif

// SPDX-License-Identifier: BSD-3-Clause
// Eigen's product, for cpu_blocks.c: by rows, on the caller's CSR arrays. It has no format of blocks.
#include <Eigen/SparseCore>
#include <memory>

extern "C" {
#include "cpu_blocks.h"
}

namespace
{

using Matrix = Eigen::SparseMatrix<double, Eigen::RowMajor, int32_t>;

std::unique_ptr<Eigen::Map<const Matrix>> A;
Eigen::VectorXd x, y;

bool Create(const Rows *r, const Blocks *, const double *from)
{
  A.reset(new Eigen::Map<const Matrix>(r->n, r->N, r->ptr[r->n], r->ptr, r->col, r->val));
  x = Eigen::Map<const Eigen::VectorXd>(from, r->N);
  y.setZero(r->n);
  return true;
}

bool Mult()
{
  y.noalias() = *A * x;
  return true;
}

bool Result(double *to)
{
  Eigen::Map<Eigen::VectorXd>(to, y.size()) = y;
  return true;
}

void Destroy()
{
  A.reset();
  x.resize(0);
  y.resize(0);
}

#define TEXT(x)  TEXT_(x)
#define TEXT_(x) #x

} // namespace

extern "C" const Other other_eigen = {
    "Eigen " TEXT(EIGEN_WORLD_VERSION) "." TEXT(EIGEN_MAJOR_VERSION) "." TEXT(EIGEN_MINOR_VERSION),
    false,
    false,
    true,
    Create,
    Mult,
    Result,
    Destroy};

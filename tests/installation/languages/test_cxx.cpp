/* SPDX-License-Identifier: BSD-3-Clause */
/* poise.hpp: objects, errors, lambdas and lent matrices. With Eigen where its headers are. */
#include <poise.hpp>

#include <cmath>
#include <cstdio>
#include <numeric>
#include <type_traits>

#if __has_include(<Eigen/Sparse>)
#include <Eigen/Sparse>
using Sparse = Eigen::SparseMatrix<double, Eigen::RowMajor>;
using SparseLong = Eigen::SparseMatrix<double, Eigen::RowMajor, std::int64_t>;
using Dense = Eigen::VectorXd;

template <class M> static M Laplace(int n)
{
  M A(n, n);
  for (int i = 0; i < n; i++)
    for (int j = std::max(0, i - 1); j <= std::min(n - 1, i + 1); j++) A.insert(i, j) = i == j ? 2 : -1;
  A.makeCompressed();
  return A;
}

#else /* what poise.hpp asks of Eigen */
template <class Index> struct StandIn {
  static constexpr bool IsRowMajor = true;
  std::vector<Index> ptr, col;
  std::vector<double> val;
  bool compressed = true;
  Index *outerIndexPtr()
  {
    return ptr.data();
  }
  Index *innerIndexPtr()
  {
    return col.data();
  }
  double *valuePtr()
  {
    return val.data();
  }
  Index rows() const
  {
    return Index(ptr.size()) - 1;
  }
  Index cols() const
  {
    return rows();
  }
  bool isCompressed() const
  {
    return compressed;
  }
  void uncompress()
  {
    compressed = false;
  }
};
using Sparse = StandIn<std::int32_t>;
using SparseLong = StandIn<std::int64_t>;
using Dense = std::vector<double>;

template <class M> static M Laplace(int n)
{
  M A;
  for (int i = 0; i <= n; i++) {
    A.ptr.push_back(decltype(A.rows())(A.col.size()));
    for (int j = std::max(0, i - 1); i < n && j <= std::min(n - 1, i + 1); j++) {
      A.col.push_back(j);
      A.val.push_back(i == j ? 2 : -1);
    }
  }
  return A;
}
#endif

static int checks, failed;

#define CHECK(ok)                                                           \
  do {                                                                      \
    checks++;                                                               \
    if (!(ok)) {                                                            \
      failed++;                                                             \
      std::fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #ok); \
    }                                                                       \
  } while (0)

/* What the exception of class E says that f throws; "" without one, or of another class. */
template <class E, class F> static std::string Caught(F &&f)
{
  try {
    f();
  } catch (const E &e) {
    return e.what();
  } catch (...) {
    return "";
  }
  return "";
}

static bool Has(const std::string &text, const char *words)
{
  return text.find(words) != std::string::npos;
}

/* max |A x - b| of tridiag(-1, 2, -1) */
template <class V> static double Residual(const V &x, const V &b)
{
  const int n = int(x.size());
  double worst = 0;
  for (int i = 0; i < n; i++) {
    const double left = i > 0 ? x[i - 1] : 0, right = i < n - 1 ? x[i + 1] : 0;
    worst = std::max(worst, std::fabs(2 * x[i] - left - right - b[i]));
  }
  return worst;
}

enum { ROWS = 60 };

static void TestLent(PoiseContext ctx)
{
  Sparse eigen = Laplace<Sparse>(ROWS);
  Dense b(ROWS), x(ROWS);
  for (int i = 0; i < ROWS; i++) b[i] = 1 + i % 3, x[i] = 0;
  poise::Matrix A = poise::Matrix::Lend(ctx, eigen);
  poise::Solver solver(ctx);
  std::vector<double> norms;
  solver.SetType("cg").SetPC("jacobi").SetOperators(A).SetTolerances(1e-12).SetFromOptions();
  solver.OnIteration([&](PoiseInt k, double norm) {
    CHECK(k == PoiseInt(norms.size()));
    norms.push_back(norm);
  });
  solver.Solve(b, x);
  CHECK(Residual(x, b) < 1e-7);
  CHECK(solver.Reason() == POISE_CONVERGED_RTOL);
  CHECK(PoiseInt(norms.size()) == solver.Iterations() + 1 && norms.back() == solver.ResidualNorm());

  /* the values are Eigen's own, both ways */
  poise::Check(PoiseMatScale(A, 2));
  CHECK(eigen.valuePtr()[0] == 4);
  for (int k = 0; k < 3 * ROWS - 2; k++) eigen.valuePtr()[k] *= 0.25;
  A.Updated();
  poise::Vector one(ctx, ROWS), y(ctx, ROWS);
  poise::Check(PoiseVecSet(one, 1));
  A.Mult(one, y);
  CHECK(y.Values()[0] == 0.5 && y.Values()[1] == 0 && y.Values().size() == ROWS);
  CHECK(std::fabs(y.Norm() - std::sqrt(0.5)) < 1e-15);

  SparseLong wide = Laplace<SparseLong>(ROWS);
  const poise::Matrix B = poise::Matrix::Lend(ctx, wide);
  B.Mult(one, y);
  CHECK(y.Values()[0] == 1 && y.Size() == ROWS);

  eigen.uncompress();
  CHECK(Has(Caught<std::invalid_argument>([&] { poise::Matrix::Lend(ctx, eigen); }), "makeCompressed"));
}

static void TestMoves(PoiseContext ctx)
{
  static_assert(!std::is_copy_constructible_v<poise::Matrix> && !std::is_copy_assignable_v<poise::Solver>);
  static_assert(std::is_nothrow_move_constructible_v<poise::Vector>);
  static_assert(std::is_nothrow_move_assignable_v<poise::Matrix>);
  std::vector<double> b(ROWS, 1.0), x(ROWS, 0.0);
  int calls = 0;
  auto make = [&] {
    poise::Matrix A = poise::Matrix::Shell(ctx, ROWS, [&calls](PoiseVec in, PoiseVec out) {
      const double *u;
      double *v;
      poise::Check(PoiseVecGetRead(in, &u));
      poise::Check(PoiseVecGetWrite(out, &v));
      for (int i = 0; i < ROWS; i++) v[i] = 2 * u[i] - (i > 0 ? u[i - 1] : 0) - (i < ROWS - 1 ? u[i + 1] : 0);
      poise::Check(PoiseVecRestore(in, &u));
      poise::Check(PoiseVecRestore(out, &v));
      calls++;
    });
    poise::Solver solver(ctx);
    solver.SetType("cg").SetTolerances(1e-12).SetOperators(A);
    solver.SetPC([](PoiseVec r, PoiseVec z) { poise::Check(PoiseVecAXPBY(z, 0.5, 0, r)); });
    solver.OnIteration([&calls](PoiseInt, double) { calls += 1000; });
    return solver; /* A is gone, but for the solver */
  };
  poise::Solver first = make(), second(ctx);
  second = std::move(first);
  second.Solve(b, x);
  CHECK(Residual(x, b) < 1e-7);
  CHECK(calls / 1000 == second.Iterations() + 1 && calls % 1000 >= second.Iterations());
  poise::Vector v(ctx, 3);
  PoiseVec handle = v;
  poise::Vector w = std::move(v);
  CHECK(PoiseVec(v) == nullptr && PoiseVec(w) == handle); // NOLINT: what was moved is empty
  w = poise::Vector(ctx, 4);
  CHECK(w.Size() == 4);

  second.StopWhen([](PoiseInt k, double) { return k == 3 ? POISE_CONVERGED_USER : POISE_ITERATING; });
  second.Solve(b, x);
  CHECK(second.Iterations() == 3 && second.Reason() == POISE_CONVERGED_USER);
  const poise::Vector lent_b = poise::Vector::Lend(ctx, b), lent_x = poise::Vector::Lend(ctx, x);
  CHECK(std::fabs(second.TrueResidual(lent_b, lent_x) - 1) > 1e-3);
}

static void TestErrors(PoiseContext ctx)
{
  poise::Vector x(ctx, 5), y(ctx, 6);
  CHECK(Has(Caught<poise::Error>([&] { poise::Check(PoiseVecCopy(x, y)); }), "5"));
  try {
    poise::Solver(ctx).SetType("cgg");
    CHECK(false);
  } catch (const poise::Error &e) {
    const poise::Error copy = e;
    CHECK(copy.Code() != POISE_OK && Has(e.what(), "cgg") && Has(copy.Text(), "\n  at "));
  }

  /* what a lambda throws comes out of the call, as it was */
  struct Mine {
    int value;
  };
  poise::Matrix A = poise::Matrix::Shell(ctx, 5, [](PoiseVec, PoiseVec) { throw Mine{7}; });
  int value = 0;
  try {
    A.Mult(x, x);
  } catch (const poise::Error &) { /* x may not be y: no call of the lambda */
    value = -1;
  }
  poise::Vector z(ctx, 5);
  try {
    A.Mult(x, z);
  } catch (const Mine &mine) {
    value += mine.value;
  }
  CHECK(value == 6);
  /* what a call of C has left there does not belong to the next call */
  CHECK(PoiseMatMult(A, x, z) == POISE_ERR_USER);
  CHECK(!Caught<poise::Error>([&] { A.Mult(x, x); }).empty());
  poise::Solver solver(ctx);
  solver.SetType("cg").SetOperators(A);
  poise::Check(PoiseVecSet(x, 1));
  try {
    solver.Solve(x, z);
    CHECK(false);
  } catch (const Mine &mine) {
    CHECK(mine.value == 7);
  }

  Sparse eigen = Laplace<Sparse>(ROWS);
  poise::Matrix B = poise::Matrix::Lend(ctx, eigen);
  std::vector<double> b(ROWS, 1.0), u(ROWS, 0.0);
  poise::Solver monitored(ctx);
  bool angry = true;
  monitored.SetType("cg").SetOperators(B);
  monitored.OnIteration([&](PoiseInt k, double) {
    if (angry && k == 2) throw std::out_of_range("enough");
  });
  CHECK(Caught<std::out_of_range>([&] { monitored.Solve(b, u); }) == "enough");
  angry = false;
  std::fill(u.begin(), u.end(), 0.0);
  monitored.Solve(b, u); /* nothing of the exception is left */
  CHECK(Residual(u, b) < 1e-2);

  monitored.SetTolerances(1e-12, -1, 4);
  CHECK(Has(Caught<poise::Error>([&] { monitored.Solve(b, u); }), "DIVERGED_ITS"));
}

static void TestRun(poise::Context &ctx)
{
  poise::Check(PoiseOptionsSet(ctx, "ranks", "3"));
  double size = 0;
  ctx.Run([&](PoiseContext rank) {
    double one = 1;
    poise::Check(PoiseSum(rank, 1, &one));
    if (PoiseRank(rank) == 0) size = one;
  });
  CHECK(size == 3);
  auto fail = [](PoiseContext rank) {
    if (PoiseRank(rank) == 1) throw std::logic_error("one of three");
    poise::Check(PoiseBarrier(rank));
  };
  CHECK(Caught<std::logic_error>([&] { ctx.Run(fail); }) == "one of three");
}

int main(int argc, char **argv)
{
  poise::Context first = poise::Context::Serial(argc, argv);
  poise::Context ctx = std::move(first);
  TestLent(ctx);
  TestMoves(ctx);
  TestErrors(ctx);
  TestRun(ctx);
  {
    const poise::Vector left(ctx, 1);
    CHECK(Has(Caught<poise::Error>([&] { ctx.Finalize(); }), "1"));
  }
  ctx.Finalize();
  std::printf("%d checks, %d failed\n", checks, failed);
  return failed != 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Poise from C++17. Objects release what they own, errors are exceptions with the library's words, and
  functions of the application's are lambdas.

    poise::Context ctx(argc, argv);
    auto A = poise::Matrix::Lend(ctx, eigen);       // a row-major Eigen::SparseMatrix, used in place
    poise::Solver solver(ctx);
    solver.SetType("cg").SetPC("jacobi").SetOperators(A).SetFromOptions();
    solver.OnIteration([](PoiseInt k, double norm) { std::cout << k << ' ' << norm << '\n'; });
    solver.Solve(b, x);                              // of Eigen::VectorXd, std::vector<double>, ...

  - Objects are moved, not copied. They convert to the handles of C, so that every function of the headers
    works with them: poise::Check(PoiseMatScale(A, 2)). A Context outlives what is made in it.
  - Arrays that are lent stay the application's. They must outlive the object, and not move meanwhile.
  - An exception in a lambda ends the call that called it. On the rank that threw it comes out of that call;
    on others poise::Error does, with its words.
  - Everything else is as the headers of C say, collective calls too.
*/
#ifndef POISE_HPP
#define POISE_HPP

#include "poise.h"

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace poise
{

/* A call has failed: what() is its message, Text() has the trace of calls too with -error_trace. */
class Error : public std::runtime_error
{
public:
  explicit Error(PoiseErr code)
      : std::runtime_error(std::string(PoiseErrorString(code)) + ": " + PoiseErrorMessage()), code_(code),
        text_(std::make_shared<const std::string>(PoiseErrorText()))
  {
  }
  PoiseErr Code() const noexcept
  {
    return code_;
  }
  const std::string &Text() const noexcept
  {
    return *text_;
  }

private:
  PoiseErr code_;
  std::shared_ptr<const std::string> text_; /* exceptions are copied, which must not fail */
};

/* Throw Error if a call of C has failed. */
inline void Check(PoiseErr code)
{
  if (code != POISE_OK) throw Error(code);
}

namespace detail
{

/* Exceptions do not pass through C: they wait here until the call of C has returned. */
class Thrown
{
public:
  /* Call f; an exception becomes a code. */
  template <class F> PoiseErr Guard(F &&f) noexcept
  {
    try {
      f();
      return POISE_OK;
    } catch (const std::exception &e) {
      Keep();
      return PoiseErrorSet(POISE_ERR_USER, "a C++ function", __FILE__, __LINE__, "%s", e.what());
    } catch (...) {
      Keep();
      return PoiseErrorSet(POISE_ERR_USER, "a C++ function", __FILE__, __LINE__, "an exception");
    }
  }
  /* Before a call of C: what an earlier one has left does not belong to it. */
  void Forget()
  {
    kept_ = nullptr;
  }
  /* After a call that has returned `code`: throw what was kept. */
  void Rethrow(PoiseErr code)
  {
    const std::exception_ptr first = std::exchange(kept_, nullptr);
    if (code != POISE_OK && first) std::rethrow_exception(first);
  }

private:
  void Keep() noexcept /* the first of those of several ranks that are threads */
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!kept_) kept_ = std::current_exception();
  }
  std::mutex mutex_;
  std::exception_ptr kept_;
};

/* Owns an object of C. */
template <class Handle, PoiseErr (*Destroy)(Handle *)> class Owned
{
public:
  Owned(Owned &&other) noexcept : handle_(std::exchange(other.handle_, nullptr))
  {
  }
  Owned &operator=(Owned &&other) noexcept
  {
    if (this != &other) {
      Destroy(&handle_);
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  Owned(const Owned &) = delete;
  Owned &operator=(const Owned &) = delete;
  ~Owned()
  {
    Destroy(&handle_);
  }
  operator Handle() const noexcept
  {
    return handle_;
  }

protected:
  explicit Owned(Handle handle = nullptr) noexcept : handle_(handle)
  {
  }
  Handle handle_;
};

/* Is T contiguous doubles, with data() and size()? */
template <class T, class = void> struct IsArray : std::false_type {
};
template <class T>
struct IsArray<T, std::void_t<decltype(std::declval<T &>().data()), decltype(std::declval<T &>().size())>>
    : std::is_same<std::remove_cv_t<std::remove_pointer_t<decltype(std::declval<T &>().data())>>, double> {
};

} // namespace detail

/* A context, finalised at the end of its scope, if its objects are gone. Finalize reports errors. */
class Context
{
public:
  Context(int argc, char **argv, const PoiseInit &init = {})
  {
    Check(PoiseInitialize(&argc, &argv, &init, &handle_));
  }
  /* one rank, without MPI */
  static Context Serial(int argc, char **argv)
  {
    PoiseInit init = {};
    init.serial = 1;
    return Context(argc, argv, init);
  }
  Context(Context &&other) noexcept : handle_(std::exchange(other.handle_, nullptr))
  {
  }
  Context(const Context &) = delete;
  Context &operator=(const Context &) = delete;
  Context &operator=(Context &&) = delete;
  ~Context()
  {
    if (handle_) PoiseFinalize(&handle_);
  }
  operator PoiseContext() const noexcept
  {
    return handle_;
  }
  void Finalize()
  {
    Check(PoiseFinalize(&handle_));
  }
  /* body(PoiseContext) on all ranks, see PoiseRun */
  template <class F> void Run(F &&body)
  {
    struct State {
      F &body;
      detail::Thrown thrown;
    } state{body, {}};
    const PoiseErr code = PoiseRun(
        handle_,
        [](PoiseContext ctx, void *arg) {
          State *s = static_cast<State *>(arg);
          return s->thrown.Guard([&] { s->body(ctx); });
        },
        &state);
    state.thrown.Rethrow(code);
    Check(code);
  }

private:
  PoiseContext handle_ = nullptr;
};

class Vector : public detail::Owned<PoiseVec, PoiseVecDestroy>
{
public:
  /* n local entries of N global ones, all 0; see PoiseVecCreate */
  explicit Vector(PoiseContext ctx, PoiseInt n, PoiseInt N = POISE_DECIDE)
  {
    Check(PoiseVecCreate(ctx, n, N, &handle_));
  }
  /* This rank's entries are those of the array, in place. */
  template <class Array> static Vector Lend(PoiseContext ctx, Array &array, PoiseInt N = POISE_DECIDE)
  {
    static_assert(detail::IsArray<Array>::value, "an array of double, with data() and size()");
    Vector x;
    Check(PoiseVecCreateArray(ctx, PoiseInt(array.size()), N, const_cast<double *>(array.data()),
                              POISE_BORROW, &x.handle_));
    return x;
  }
  template <class Array> static Vector Lend(PoiseContext, Array &&, PoiseInt = 0) = delete; /* a temporary */
  /* n entries in the device's memory, in place; see PoiseVecCreateDeviceArray */
  static Vector Device(PoiseContext ctx, PoiseInt n, double *array, PoiseInt N = POISE_DECIDE)
  {
    Vector x;
    Check(PoiseVecCreateDeviceArray(ctx, n, N, array, POISE_BORROW, &x.handle_));
    return x;
  }
  PoiseInt Size() const
  {
    return PoiseVecSize(handle_);
  }
  double Norm(PoiseNorm type = POISE_NORM_2) const
  {
    double norm;
    Check(PoiseVecNorm(handle_, type, &norm));
    return norm;
  }
  /* this rank's entries */
  std::vector<double> Values() const
  {
    const double *array;
    Check(PoiseVecGetRead(handle_, &array));
    std::vector<double> values(array, array + PoiseVecLocalSize(handle_));
    Check(PoiseVecRestore(handle_, &array));
    return values;
  }

private:
  Vector() = default;
};

class Matrix : public detail::Owned<PoiseMat, PoiseMatDestroy>
{
public:
  /* Empty, to be filled by PoiseMatAddBlock and its kin, or from triplets; see PoiseMatCreate. */
  Matrix(PoiseContext ctx, PoiseInt m, PoiseInt n, PoiseInt M = POISE_DECIDE, PoiseInt N = POISE_DECIDE)
  {
    Check(PoiseMatCreate(ctx, m, n, M, N, &handle_));
  }
  /* of CSR arrays; see PoiseMatCreateCSR */
  Matrix(PoiseContext ctx, PoiseInt m, PoiseInt n, PoiseInt M, PoiseInt N, const PoiseCSR &csr, PoiseOwn own)
  {
    Check(PoiseMatCreateCSR(ctx, m, n, M, N, &csr, own, &handle_));
  }
  /* of CSR arrays in the device's memory; see PoiseMatCreateDeviceCSR */
  static Matrix Device(PoiseContext ctx, PoiseInt m, PoiseInt n, PoiseInt M, PoiseInt N, const PoiseCSR &csr,
                       PoiseOwn own)
  {
    Matrix A;
    Check(PoiseMatCreateDeviceCSR(ctx, m, n, M, N, &csr, own, &A.handle_));
    return A;
  }
  /*
    This rank's rows are those of an Eigen::SparseMatrix<double, Eigen::RowMajor>, compressed, or a Map of
    one. Its values are used in place, and changed where the library changes A (PoiseMatScale). After the
    program has changed them: Updated(). Its columns are global. n: entries of x on this rank, in y = A x; by
    default as many as rows on several ranks, or all columns on one.
  */
  template <class Sparse>
  static Matrix Lend(PoiseContext ctx, Sparse &eigen, PoiseInt n = POISE_DECIDE, PoiseInt M = POISE_DECIDE)
  {
    using Index = std::remove_cv_t<std::remove_pointer_t<decltype(eigen.innerIndexPtr())>>;
    using Value = std::remove_cv_t<std::remove_pointer_t<decltype(eigen.valuePtr())>>;
    static_assert(Sparse::IsRowMajor, "Poise takes rows: Eigen::SparseMatrix<double, Eigen::RowMajor>");
    static_assert(std::is_same_v<Value, double>, "Poise computes with double");
    static_assert(std::is_signed_v<Index> && (sizeof(Index) == 4 || sizeof(Index) == 8),
                  "indices have 32 or 64 bits");
    if (!eigen.isCompressed()) throw std::invalid_argument("the matrix is not compressed: makeCompressed()");
    PoiseCSR csr = {};
    if constexpr (sizeof(Index) == 4) {
      csr.ptr32 = reinterpret_cast<const int32_t *>(eigen.outerIndexPtr());
      csr.col32 = reinterpret_cast<const int32_t *>(eigen.innerIndexPtr());
    } else {
      csr.ptr64 = reinterpret_cast<const int64_t *>(eigen.outerIndexPtr());
      csr.col64 = reinterpret_cast<const int64_t *>(eigen.innerIndexPtr());
    }
    csr.val = eigen.valuePtr();
    const PoiseInt m = PoiseInt(eigen.rows()), N = PoiseInt(eigen.cols());
    if (n == POISE_DECIDE) n = PoiseSize(ctx) == 1 ? N : m;
    Matrix A(ctx, m, n, M, N, csr, POISE_BORROW);
    A.values_ = eigen.valuePtr();
    return A;
  }
  template <class Sparse> static Matrix Lend(PoiseContext, Sparse &&, PoiseInt = 0, PoiseInt = 0) = delete;
  /* The lent values have changed; the pattern has not. Collective. */
  void Updated()
  {
    Check(PoiseMatSetValuesCSR(handle_, values_));
  }
  /* y = A x by mult(x, y), of square A with m rows on this rank. Solvers keep the function. */
  static Matrix Shell(PoiseContext ctx, PoiseInt m, std::function<void(PoiseVec x, PoiseVec y)> mult)
  {
    Matrix A;
    A.shell_ = std::make_shared<ShellState>();
    A.shell_->mult = std::move(mult);
    const PoiseShell functions = {[](void *arg, PoiseVec x, PoiseVec y) {
                                    ShellState *s = static_cast<ShellState *>(arg);
                                    return s->thrown.Guard([&] { s->mult(x, y); });
                                  },
                                  nullptr, nullptr};
    Check(PoiseMatCreateShell(ctx, m, m, POISE_DECIDE, POISE_DECIDE, &functions, A.shell_.get(), &A.handle_));
    return A;
  }
  void Mult(PoiseVec x, PoiseVec y) const /* y = A x */
  {
    if (shell_) shell_->thrown.Forget();
    const PoiseErr code = PoiseMatMult(handle_, x, y);
    if (shell_) shell_->thrown.Rethrow(code);
    Check(code);
  }

private:
  friend class Solver;
  struct ShellState {
    std::function<void(PoiseVec, PoiseVec)> mult;
    detail::Thrown thrown;
  };
  Matrix() = default;
  const double *values_ = nullptr;
  std::shared_ptr<ShellState> shell_;
};

class Solver : public detail::Owned<PoiseKSP, PoiseKSPDestroy>
{
public:
  explicit Solver(PoiseContext ctx) : state_(std::make_unique<State>())
  {
    Check(PoiseKSPCreate(ctx, &handle_));
    Check(PoiseKSPSetErrorIfNotConverged(handle_, 1)); /* an answer that is none is an exception */
  }
  Solver &SetType(const std::string &type)
  {
    return Done(PoiseKSPSetType(handle_, type.c_str()));
  }
  Solver &SetPC(const std::string &type)
  {
    return Done(PoisePCSetType(PC(), type.c_str()));
  }
  /* z = M^-1 r by apply(r, z) */
  Solver &SetPC(std::function<void(PoiseVec r, PoiseVec z)> apply)
  {
    state_->apply = std::move(apply);
    const PoiseShellPC functions = {[](void *arg, PoiseVec r, PoiseVec z) {
                                      State *s = static_cast<State *>(arg);
                                      return s->thrown.Guard([&] { s->apply(r, z); });
                                    },
                                    nullptr};
    return Done(PoisePCSetShell(PC(), &functions, state_.get()));
  }
  Solver &SetTolerances(double rtol, double atol = -1, PoiseInt maxits = -1) /* negative: as it is */
  {
    return Done(PoiseKSPSetTolerances(handle_, rtol, atol, -1, maxits));
  }
  /* A, and the matrix that the preconditioner is built from, if it is another one */
  Solver &SetOperators(const Matrix &A)
  {
    return SetOperators(A, A);
  }
  Solver &SetOperators(const Matrix &A, const Matrix &P)
  {
    Check(PoiseKSPSetOperators(handle_, A, P));
    state_->A = A.shell_;
    state_->P = P.shell_;
    return *this;
  }
  Solver &SetFromOptions()
  {
    return Done(PoiseKSPSetFromOptions(handle_));
  }
  PoisePC PC() const /* lent */
  {
    PoisePC pc;
    Check(PoiseKSPGetPC(handle_, &pc));
    return pc;
  }
  /* f(iteration, norm) for every iteration, possibly a few iterations late */
  Solver &OnIteration(std::function<void(PoiseInt iteration, double norm)> f)
  {
    state_->monitors.push_back(std::make_unique<Monitor>(Monitor{std::move(f), state_.get()}));
    return Done(PoiseKSPAddMonitor(
        handle_,
        [](PoiseKSP, PoiseInt iteration, double norm, void *arg) {
          Monitor *m = static_cast<Monitor *>(arg);
          return m->state->thrown.Guard([&] { m->f(iteration, norm); });
        },
        state_->monitors.back().get()));
  }
  /* Instead of the convergence test: f(iteration, norm) gives the reason to stop, or POISE_ITERATING. */
  Solver &StopWhen(std::function<PoiseKSPReason(PoiseInt iteration, double norm)> f)
  {
    state_->stop = std::move(f);
    return Done(PoiseKSPSetConvergenceTest(
        handle_,
        [](PoiseKSP, PoiseInt iteration, double norm, PoiseKSPReason *reason, void *arg) {
          State *s = static_cast<State *>(arg);
          return s->thrown.Guard([&] { *reason = s->stop(iteration, norm); });
        },
        state_.get()));
  }
  /* x = A^-1 b. A solve that does not converge is an Error of code POISE_ERR_NOT_CONVERGED, unless
     PoiseKSPSetErrorIfNotConverged or an option says otherwise. */
  void Solve(PoiseVec b, PoiseVec x)
  {
    std::vector<detail::Thrown *> thrown = {&state_->thrown};
    for (const auto &shell : {state_->A, state_->P})
      if (shell) thrown.push_back(&shell->thrown);
    for (detail::Thrown *t : thrown) t->Forget();
    const PoiseErr code = PoiseKSPSolve(handle_, b, x);
    for (detail::Thrown *t : thrown) t->Rethrow(code);
    Check(code);
  }
  /* The same of arrays that have this rank's entries: std::vector<double>, Eigen::VectorXd, ... In place. */
  template <class B, class X>
  std::enable_if_t<detail::IsArray<const B>::value && detail::IsArray<X>::value> Solve(const B &b, X &x)
  {
    const PoiseContext ctx = PoiseKSPContext(handle_);
    const Vector lent_b = Vector::Lend(ctx, b), lent_x = Vector::Lend(ctx, x);
    Solve(lent_b, lent_x);
  }
  PoiseKSPReason Reason() const
  {
    return PoiseKSPConvergedReason(handle_);
  }
  PoiseInt Iterations() const
  {
    return PoiseKSPIterations(handle_);
  }
  double ResidualNorm() const
  {
    return PoiseKSPResidualNorm(handle_);
  }
  double TrueResidual(PoiseVec b, PoiseVec x) const /* |b - A x| */
  {
    double norm;
    Check(PoiseKSPTrueResidual(handle_, b, x, &norm));
    return norm;
  }

private:
  struct State;
  struct Monitor {
    std::function<void(PoiseInt, double)> f;
    State *state;
  };
  struct State { /* what C has the address of: it stays where it is when the solver is moved */
    std::function<void(PoiseVec, PoiseVec)> apply;
    std::function<PoiseKSPReason(PoiseInt, double)> stop;
    std::vector<std::unique_ptr<Monitor>> monitors;
    std::shared_ptr<Matrix::ShellState> A, P; /* the solver keeps the matrices, and so their functions */
    detail::Thrown thrown;
  };
  Solver &Done(PoiseErr code)
  {
    Check(code);
    return *this;
  }
  std::unique_ptr<State> state_;
};

} // namespace poise

#endif

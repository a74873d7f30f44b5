# SPDX-License-Identifier: BSD-3-Clause
"""rtol is that of b - A x, whatever norm the method watches."""
import numpy as np
import poise
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sl
from conftest import laplacian

RTOL = 1e-8


def scaled(n):
    """Symmetric positive definite, with a diagonal over four decades, so that norms are far apart."""
    A = laplacian(n)
    D = sp.diags(np.logspace(-1, 1, A.shape[0]))
    return (D @ A @ D).tocsr()


def first_rows(A):
    """A right-hand side that the norm of a preconditioner, unlike |b|, takes for large."""
    return np.where(np.arange(A.shape[0]) < A.shape[0] // 8, 1.0, 1e-3)


def residual(A, x, b):
    return np.linalg.norm(b - A @ x) / np.linalg.norm(b)


METHODS = [("cg", None), ("bicgstab", None), ("bicgstab", "left"), ("gmres", None), ("gmres", "left"),
           ("gmres", "right"), ("fgmres", None), ("minres", None), ("chebyshev", None)]


@pytest.mark.parametrize("pc", ["jacobi", "icc", "amg"])
@pytest.mark.parametrize("method, side", METHODS)
def test_residual(method, side, pc):
    A = scaled(12)
    b = first_rows(A)
    x = sl.spsolve(A.tocsc(), b)
    with poise.Solver(A, method, pc=pc, rtol=RTOL, side=side, error=False, maxiter=20000) as solver:
        for guess in (None, x + 1e-3):
            y = solver.solve(b, guess)
            assert solver.converged, solver.detail
            assert residual(A, y, b) <= 1.01 * RTOL
            assert len(solver.history) == solver.iterations + 1
    y = poise.solve(A, b, method, pc=pc, rtol=RTOL, side=side, maxiter=20000)
    assert residual(A, y, b) <= 1.01 * RTOL


@pytest.mark.parametrize("method", ["cg", "gmres", "minres", "symmlq"])
@pytest.mark.parametrize("size", [2.0**600, 2.0**-600])
def test_squares_that_are_no_numbers(method, size):
    A = scaled(12)
    b = first_rows(A)
    x = size * poise.solve(A, b, method, pc="jacobi", rtol=RTOL)
    y = poise.solve(A, size * b, method, pc="jacobi", rtol=RTOL, atol=0)
    np.testing.assert_allclose(y / size, x / size, rtol=1e-5)
    assert residual(A, y / size, b) <= 1.01 * RTOL


def test_the_words_of_methods():
    """What is known of methods here is what the library says: a norm and side that go, or go in no way."""
    from test_solver import words_of

    A, b = laplacian(5), np.ones(25)
    for method in words_of("ksp_type"):
        for side in (None, "left", "right"):
            outcomes = []
            for norm in ("default", None):
                try:
                    with poise.Solver(A, method, pc="jacobi", side=side, norm=norm, error=False) as solver:
                        x = solver.solve(b)
                        close = residual(A, x, b) <= 1.01e-5
                        outcomes.append((True, method == "preonly" or not solver.converged or close))
                except poise.NotSupported:
                    outcomes.append((False, True))
            assert outcomes[0][0] == outcomes[1][0] and outcomes[1][1], (method, side)


@pytest.mark.parametrize("own", [
    dict(norm="preconditioned"), dict(norm="default"), dict(ksp_norm_type="preconditioned"),
    dict(options="-ksp_norm_type preconditioned"), dict(options="-ksp_norm_type default"),
])
@pytest.mark.parametrize("method", ["cg", "gmres", "bicgstab", "minres"])
def test_a_norm_that_was_asked_for(method, own):
    A = scaled(12)
    b = np.ones(A.shape[0])
    with poise.Solver(A, method, pc="jacobi", rtol=1e-5, **own) as solver:
        solver.solve(b)
        assert "converges in the preconditioned norm" in solver.view()
        x = A.diagonal()
        if method == "cg":  # |b / diag| is known
            np.testing.assert_allclose(solver.history[0], np.linalg.norm(b / x))


def test_a_method_that_goes_on():
    """minres stops in its own norm. From there the solve goes on: counts, norms and callbacks follow on."""
    A = scaled(12)
    b = first_rows(A)
    seen = []
    with poise.Solver(A, "minres", pc="jacobi", rtol=RTOL) as solver:
        x = solver.solve(b, callback=lambda i, norm: seen.append((i, norm)))
        assert residual(A, x, b) <= 1.01 * RTOL
        assert solver.reason == "CONVERGED_RTOL"
        np.testing.assert_allclose(solver.residual_norm, np.linalg.norm(b - A @ x), rtol=1e-3)
        assert [i for i, _ in seen] == list(range(solver.iterations + 1))
        total = solver.iterations
        np.testing.assert_array_equal(solver.solve(b), x)  # tolerances are those of before
        assert solver.iterations == total
    with poise.Solver(A, "minres", pc="jacobi", rtol=RTOL, norm="default") as own:
        y = own.solve(b)
        assert residual(A, y, b) > 2 * RTOL and own.iterations < total - 1  # else this tests nothing
        most = own.iterations + 1
    for more in (dict(maxiter=most), dict(ksp_max_it=most)):
        with poise.Solver(A, "minres", pc="jacobi", rtol=RTOL, error=False, **more) as short:
            short.solve(b)
            assert short.reason == "DIVERGED_ITS" and short.iterations == most
        with pytest.raises(poise.NotConverged, match="DIVERGED_ITS"):
            poise.solve(A, b, "minres", pc="jacobi", rtol=RTOL, **more)
    with poise.Solver(A, "minres", pc="jacobi", ksp_rtol=RTOL / 10) as solver:
        assert residual(A, solver.solve(b), b) <= 0.101 * RTOL


@pytest.mark.parametrize("method, side", [("minres", None), ("gmres", "left"), ("cg", None)])
def test_beyond_rounding(method, side):
    """A tolerance that no x can meet is not said to be met, or to rounding alone."""
    A = scaled(12)
    b = np.random.default_rng(3).standard_normal(A.shape[0])
    with poise.Solver(A, method, pc="jacobi", side=side, rtol=1e-18, error=False, maxiter=3000) as solver:
        x = solver.solve(b)
        left = np.linalg.norm(b - A @ x) / (np.linalg.norm(b) + np.linalg.norm(abs(A) @ abs(x)))
        assert not solver.converged or ("true to rounding" in solver.detail and left < 1e-14)


@pytest.mark.parametrize("method", ["cg", "minres", "gmres"])
@pytest.mark.parametrize("part", [0.0, 1e-6, 1.0])
def test_null_space(method, part):
    """b has a part that no x reaches. If the matrix knows of it, the tolerance is that of the rest."""
    n = 12
    line = sp.diags([-np.ones(n - 1), np.r_[1.0, np.full(n - 2, 2.0), 1.0], -np.ones(n - 1)], [-1, 0, 1])
    A = (sp.kron(sp.identity(n), line) + sp.kron(line, sp.identity(n))).tocsr()
    rest = np.random.default_rng(3).standard_normal(n * n)
    rest -= rest.mean()
    with poise.Matrix(A, null_space="constant") as M:
        M.set_null_space("constant", transpose=True)
        with poise.Solver(M, method, pc="jacobi", rtol=1e-7) as solver:
            x = solver.solve(rest + part)
            assert residual(A, x, rest) <= 1.01e-7

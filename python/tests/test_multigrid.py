# SPDX-License-Identifier: BSD-3-Clause
"""The hierarchy in PyAMG's shape: what it solves, and what it says of itself."""
import numpy as np
import poise
import pytest
import scipy.sparse.linalg as sl
from conftest import laplacian


def residual(A, x, b):
    return np.linalg.norm(b - A @ x) / np.linalg.norm(b)


@pytest.fixture
def large():
    return laplacian(60)


@pytest.mark.parametrize("accel", [None, "cg", "gmres", "bicgstab", "fgmres", "minres"])
def test_solve(large, accel):
    b = np.random.default_rng(1).standard_normal(large.shape[0])
    ml = poise.smoothed_aggregation_solver(large)
    for tol in (1e-4, 1e-9):
        residuals = [0.0]
        x, info = ml.solve(b, tol=tol, accel=accel, residuals=residuals, return_info=True)
        assert info == 0 and residual(large, x, b) <= tol and 3 < len(residuals) < 50
        np.testing.assert_allclose(residuals[0] if accel != "minres" else np.linalg.norm(b),
                                   np.linalg.norm(b), rtol=1e-12)
    assert (ml.solve(b, tol=tol, accel=accel) == x).all()
    assert residual(large, ml.solve(b, x0=x, tol=1e-8, maxiter=1, accel="cg"), b) <= 1e-8


def test_methods_share_a_hierarchy(large, monkeypatch):
    ml = poise.smoothed_aggregation_solver(large)
    b = np.ones(large.shape[0])
    for accel in ("cg", None, "minres", "gmres", None, "cg"):
        assert residual(large, ml.solve(b, tol=1e-8, accel=accel), b) <= 1e-8
    assert len(ml._solvers) == 1
    assert residual(large, ml.solve(b, tol=1e-8, cycle="W"), b) <= 1e-8
    assert len(ml._solvers) == 2 and "W cycle" in ml._solvers["W"].view()
    with pytest.raises(poise.InvalidArgument, match="pc_amg_cycle"):
        ml.solve(b, cycle="F")


def test_maxiter(large):
    b, seen = np.ones(large.shape[0]), []
    ml = poise.smoothed_aggregation_solver(large, ksp_replay=0)
    x, info = ml.solve(b, tol=1e-12, maxiter=3, return_info=True, callback=lambda x: seen.append(x.copy()))
    assert info == 3 and len(seen) == 3
    norms = [residual(large, y, b) for y in seen]
    assert norms == sorted(norms, reverse=True) and (seen[-1] == x).all()


def test_levels(large):
    ml = poise.smoothed_aggregation_solver(large, max_coarse=20)
    sizes = [level.A.shape[0] for level in ml.levels]
    assert sizes[0] == large.shape[0] and ml.levels[0].A.nnz == large.nnz
    assert sizes == sorted(sizes, reverse=True) and len(sizes) > 2 and sizes[-1] <= 20
    assert ml.grid_complexity() == sum(sizes) / sizes[0]
    assert 1 < ml.operator_complexity() < 2
    assert all(str(n) in repr(ml) for n in sizes)
    assert len(poise.smoothed_aggregation_solver(large, max_coarse=20, max_levels=2).levels) == 2


def test_near_null_space(large):
    """A badly scaled matrix, whose near null space is not constant."""
    d = np.random.default_rng(2).uniform(0.01, 1, large.shape[0])
    D = large.multiply(d[:, None]).multiply(d[None, :]).tocsr()
    b = np.ones(large.shape[0])
    mine, plain = [], []
    poise.smoothed_aggregation_solver(D, (1 / d)[:, None]).solve(b, tol=1e-8, accel="cg", residuals=mine)
    poise.smoothed_aggregation_solver(D, np.ones((d.size, 1))).solve(b, tol=1e-8, accel="cg", residuals=plain)
    assert len(mine) < 0.7 * len(plain)


def test_as_preconditioner(large):
    b, count = np.ones(large.shape[0]), []
    M = poise.smoothed_aggregation_solver(large).aspreconditioner()
    x, info = sl.cg(large, b, M=M, callback=lambda x: count.append(1))
    assert info == 0 and len(count) < 20
    x, info = poise.cg(large, b, M=M, rtol=1e-8)
    assert info == 0 and residual(large, x, b) <= 1e-8


def test_torch(large):
    torch = pytest.importorskip("torch")
    b = torch.ones(large.shape[0], dtype=torch.float64)
    x = poise.smoothed_aggregation_solver(large).solve(b, accel="cg", tol=1e-8)
    assert isinstance(x, torch.Tensor) and residual(large, x.numpy(), b.numpy()) <= 1e-8

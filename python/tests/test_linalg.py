# SPDX-License-Identifier: BSD-3-Clause
"""The functions of poise.linalg mean what SciPy's do."""
import contextlib
import inspect

import numpy as np
import poise
import pytest
import scipy
import scipy.sparse as sp
import scipy.sparse.linalg as sl

METHODS = ["cg", "bicgstab", "gmres", "lgmres", "minres", "tfqmr", "gcrotmk", "cgs"]
BY_NAME = ["bicg", "qmr"]  # whose preconditioner needs a transpose
OF_ANY = [method for method in METHODS + BY_NAME if method not in ("cg", "minres")]
RTOL = "rtol" if "rtol" in inspect.signature(sl.cg).parameters else "tol"  # before SciPy 1.12


def residual(A, x, b):
    return np.linalg.norm(b - A @ x) / np.linalg.norm(b)


@pytest.mark.parametrize("method", METHODS + BY_NAME)
@pytest.mark.parametrize("rtol", [1e-3, 1e-10])
def test_as_scipy(A, b, method, rtol):
    x, info = getattr(poise.linalg, method)(A, b, rtol=rtol)
    own = {} if method == "minres" else {"atol": 0.0}
    y, expected = getattr(sl, method)(A, b, **{RTOL: 0.01 * rtol if method == "minres" else rtol}, **own)
    assert info == expected == 0
    assert residual(A, x, b) <= rtol
    assert np.linalg.norm(x - y) <= 300 * rtol * np.linalg.norm(y)


def test_iterations_as_scipy(A, b):
    mine, theirs = [], []
    poise.cg(A, b, rtol=1e-8, callback=mine.append)
    sl.cg(A, b, **{RTOL: 1e-8}, atol=0.0, callback=lambda x: theirs.append(x.copy()))
    assert abs(len(mine) - len(theirs)) <= 1
    for x, y in zip(mine[:20], theirs):
        np.testing.assert_allclose(x, y, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("method", OF_ANY)
def test_not_symmetric(convection, method):
    b = np.ones(convection.shape[0])
    x, info = getattr(poise.linalg, method)(convection, b, rtol=1e-9)
    assert info == 0 and residual(convection, x, b) <= 1e-9


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["matrix", "operator", "function", "name"])
def test_preconditioner(A, b, method, kind):
    # Of different diagonals, so that the preconditioner matters, and the norm is seen to be |b - A x|.
    D = sp.diags(np.logspace(-2, 2, A.shape[0]))
    S = (D @ A @ D).tocsr()
    inverse = sp.diags(1 / S.diagonal()).tocsr()
    M = {"matrix": inverse, "operator": sl.aslinearoperator(inverse), "function": inverse.dot,
         "name": "jacobi"}[kind]
    x, info = getattr(poise.linalg, method)(S, b, rtol=1e-7, M=M, maxiter=3000)
    assert info == 0 and residual(S, x, b) <= 1.0001e-7


@pytest.mark.parametrize("method", METHODS)
def test_operator(A, b, method):
    x, info = getattr(poise.linalg, method)(sl.aslinearoperator(A), b, rtol=1e-8)
    assert info == 0 and residual(A, x, b) <= 1e-8


@pytest.mark.parametrize("method", METHODS + BY_NAME)
def test_signature(method):
    """Arguments of SciPy's that have a meaning here, in its order, with its defaults."""
    mine = inspect.signature(getattr(poise.linalg, method)).parameters
    if tuple(map(int, scipy.__version__.split(".")[:2])) < (1, 14):
        pytest.skip("SciPy before 1.14 has other defaults")
    theirs = inspect.signature(getattr(sl, method)).parameters
    for (name, p), q in zip(mine.items(), (theirs.get(name) for name in mine)):
        if name not in ("M", "options"):
            assert (p.kind, p.default) == (q.kind, q.default), name


def test_spsolve(convection):
    for B in (np.ones(400), np.random.default_rng(2).standard_normal((400, 3))):
        x = poise.linalg.spsolve(convection, B)
        assert x.shape == B.shape and residual(convection, x, B) < 1e-12
    with pytest.raises(poise.NumericError):
        poise.linalg.spsolve(sp.csr_matrix(np.ones((3, 3))), np.ones(3))


@pytest.mark.parametrize("method, cycle", [("lgmres", 8), ("gcrotmk", 10)])
def test_cycles(A, b, method, cycle):
    """maxiter counts cycles, and the callback gets x at the end of each."""
    norms = []
    sizes = {"inner_m": 6, "outer_k": 2} if method == "lgmres" else {"m": 6, "k": 4}
    x, info = getattr(poise.linalg, method)(A, b, rtol=1e-10, maxiter=3, **sizes,
                                            callback=lambda x: norms.append(residual(A, x, b)))
    assert info == 3 * cycle and len(norms) == 3 and norms == sorted(norms, reverse=True)
    assert norms[-1] == residual(A, x, b)


@pytest.mark.parametrize("method", METHODS + BY_NAME)
@pytest.mark.filterwarnings("ignore:Sparse")
def test_torch(A, b, method):
    """Matrix, right-hand side, guess and M of PyTorch."""
    torch = pytest.importorskip("torch")
    T = torch.sparse_csr_tensor(*(torch.from_numpy(a) for a in (A.indptr, A.indices, A.data)), A.shape)
    M = "jacobi" if method in BY_NAME else (0.25 * torch.eye(400, dtype=torch.float64)).to_sparse_csr()
    with pytest.warns(poise.CopyWarning) if method not in BY_NAME else contextlib.nullcontext():
        x, info = getattr(poise.linalg, method)(T, torch.from_numpy(b), torch.ones(400), rtol=1e-8, M=M)
    assert info == 0 and isinstance(x, torch.Tensor) and residual(A, x.numpy(), b) <= 1e-8


def test_guess(A, b):
    exact = sl.spsolve(A.tocsc(), b)
    x0 = exact + 1e-3
    before = x0.copy()
    calls = []
    x, info = poise.cg(A, b, x0, rtol=1e-4, callback=calls.append)
    assert info == 0 and residual(A, x, b) <= 1e-4
    assert (x0 == before).all() and x is not x0
    assert len(calls) < 30


def test_atol(A, b):
    x, info = poise.cg(A, b, rtol=0.0, atol=1e-3)
    assert info == 0 and 1e-6 < np.linalg.norm(b - A @ x) <= 1e-3


def test_maxiter(A, b):
    for x0 in (None, np.ones_like(b)):
        x, info = poise.cg(A, b, x0, maxiter=3)
        assert info == 3
    assert poise.gmres(A, b, restart=5, maxiter=2, rtol=1e-12)[1] == 10


def test_breakdown():
    A = sp.csr_matrix(np.diag([1.0, -1.0]))
    x, info = poise.cg(A, np.array([1.0, 1.0]))
    assert info < 0


def test_large_residual_is_no_end(A, b):
    """SciPy has no limit to the norm beside b's, here that of a wild guess."""
    x, info = poise.cg(A, b, np.full_like(b, 1e7), rtol=1e-6)
    assert info == 0 and residual(A, x, b) <= 1e-6


@pytest.mark.parametrize("method", METHODS)
def test_zero_right_hand_side(A, method):
    x, info = getattr(poise.linalg, method)(A, np.zeros(A.shape[0]), np.ones(A.shape[0]))
    assert info == 0 and (x == 0).all()


def test_column(A, b):
    x, info = poise.cg(A, b[:, None])
    assert x.shape == (b.size, 1) and info == 0


@pytest.mark.parametrize("kind", [None, "pr_norm", "legacy"])
def test_gmres_norms(A, b, kind):
    norms = []
    x, info = poise.gmres(A, b, rtol=1e-6, restart=30, callback=norms.append, callback_type=kind)
    assert info == 0 and len(norms) > 20
    assert norms[-1] <= 1e-6 and all(isinstance(n, float) for n in norms)
    np.testing.assert_allclose(norms[-1], residual(A, x, b), rtol=1e-2)


def test_gmres_iterates(A, b):
    iterates = []
    x, info = poise.gmres(A, b, rtol=1e-8, restart=10, callback=iterates.append, callback_type="x")
    norms = [residual(A, y, b) for y in iterates]
    assert info == 0 and norms == sorted(norms, reverse=True) and len(norms) > 2
    np.testing.assert_array_equal(iterates[-1], x)


def test_in_scipy(A, b):
    """Poise's preconditioner in a solver of SciPy, and a solve of Poise as one."""
    calls = []
    with poise.Solver(A, "cg", pc="icc", rtol=1e-8) as solver:
        x, info = sl.cg(A, b, **{RTOL: 1e-8}, M=solver.aspreconditioner(), callback=lambda x: calls.append(1))
        assert info == 0 and residual(A, x, b) <= 1e-8 and len(calls) < 40
        inverse = solver.aslinearoperator()
        np.testing.assert_allclose(A @ inverse.matvec(b), b, atol=1e-6)
    with poise.Matrix(A) as mine:
        x, info = sl.cg(mine.aslinearoperator(), b, **{RTOL: 1e-8})
        assert info == 0
        x, info = sl.cg(sl.aslinearoperator(mine), b, **{RTOL: 1e-8})
        assert info == 0

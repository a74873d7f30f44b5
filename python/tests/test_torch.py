# SPDX-License-Identifier: BSD-3-Clause
"""Gradients of poise.torch.solve, against differences and against dense solves of PyTorch."""
import pathlib
import re
import subprocess
import sys

import numpy as np
import poise
import pytest
import scipy.sparse as sp
from conftest import laplacian
from poise import _pattern

torch = pytest.importorskip("torch", minversion="2.4")
pytestmark = pytest.mark.filterwarnings("ignore:Sparse")


@pytest.fixture(autouse=True)
def nothing_kept():
    _pattern._kept.clear()


@pytest.fixture
def as_on_gpu(monkeypatch):
    """What is done on a GPU by tensors, with tensors of the CPU. Its memory and streams are not tested."""
    monkeypatch.setattr(poise.torch, "_place", poise.torch._Gpu)


def system(symmetric, n=6):
    """A well-conditioned sparse matrix, as CSR."""
    rng = np.random.default_rng(5)
    A = sp.random(n, n, 0.4, "csr", random_state=7, data_rvs=rng.standard_normal)
    A = (A + A.T if symmetric else A) + 6 * sp.identity(n)
    A = A.tocsr()
    A.sort_indices()
    return A


def tensors(A, index=torch.int64):
    return [torch.from_numpy(a).to(t) for a, t in ((A.data, torch.float64), (A.indices, index),
                                                   (A.indptr, index))]


def right(shape):
    return torch.from_numpy(np.random.default_rng(3).standard_normal(shape)).requires_grad_()


def where(A):
    return np.stack([A.tocoo().row, A.tocoo().col]).astype(np.int64)


LAYOUTS = {
    "csr": lambda values, A: torch.sparse_csr_tensor(*tensors(A)[:0:-1], values, A.shape),
    "coo": lambda values, A: torch.sparse_coo_tensor(where(A), values, A.shape),
    "arrays": lambda values, A: (values, *tensors(A, torch.int32)[1:]),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(6,), (6, 3), (6, 1)])
@pytest.mark.parametrize("method", ["gmres", "bicgstab", "chebyshev", None])
def test_gradcheck(layout, shape, method):
    A = system(False)

    def x(values, b):
        return poise.torch.solve(LAYOUTS[layout](values, A), b, method, rtol=1e-12)

    values = tensors(A)[0].requires_grad_()
    forward = layout == "arrays"  # PyTorch's sparse tensors have no forward mode
    assert torch.autograd.gradcheck(x, (values, right(shape)), check_forward_ad=forward)
    if method == "gmres":
        assert torch.autograd.gradgradcheck(x, (values, right(shape)))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradcheck_as_on_gpu(layout, as_on_gpu):
    test_gradcheck(layout, (6, 2), "gmres")
    test_unsorted_arrays()
    assert poise.torch._place(torch.device("cpu")).name == "cpu" == _pattern._kept[0].place.name


@pytest.mark.parametrize("shape", [(6,), (6, 2)])
@pytest.mark.parametrize("method", ["cg", "minres"])
def test_gradcheck_symmetric(shape, method):
    """A is a function of the entries of its upper triangle, and stays symmetric."""
    A = system(True)
    coo = A.tocoo()
    places = {(min(i, j), max(i, j)): None for i, j in zip(coo.row, coo.col)}
    number = {place: k for k, place in enumerate(places)}
    take = torch.tensor([number[min(i, j), max(i, j)] for i, j in zip(coo.row, coo.col)])
    upper = torch.tensor([A[i, j] for i, j in places]).requires_grad_()

    def x(upper, b):
        return poise.torch.solve(LAYOUTS["csr"](upper[take], A), b, method, rtol=1e-14)

    assert torch.autograd.gradcheck(x, (upper, right(shape)))
    assert torch.autograd.gradgradcheck(x, (upper, right(shape)))


@pytest.mark.parametrize("layout", ["csr", "coo"])
def test_gradient_has_the_layout(layout):
    """A leaf gets a gradient of its own layout: that of a dense solve, on the pattern."""
    A = system(False)
    T = LAYOUTS[layout](tensors(A)[0], A).requires_grad_()
    b = right((6, 2))
    (poise.torch.solve(T, b, rtol=1e-13) ** 2).sum().backward()
    dense = torch.from_numpy(A.toarray()).requires_grad_()
    c = b.detach().clone().requires_grad_()
    (torch.linalg.solve(dense, c) ** 2).sum().backward()
    assert T.grad.layout == T.layout
    pattern = torch.from_numpy(A.toarray() != 0)
    torch.testing.assert_close(T.grad.to_dense(), dense.grad * pattern, rtol=1e-9, atol=1e-11)
    torch.testing.assert_close(b.grad, c.grad, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_nothing_dense(layout):
    """A million rows: a matrix that is not sparse on the way would not fit."""
    n = 1_000_000
    A = sp.diags([-1.0, 4.0, -1.0], [-1, 0, 1], (n, n), "csr")
    values, b = tensors(A)[0], torch.ones(n, dtype=torch.float64)
    T = LAYOUTS[layout](values if layout == "csr" else values.requires_grad_(), A)
    leaf = T.requires_grad_() if layout == "csr" else values
    poise.torch.solve(T, b, "cg").sum().backward()
    x = poise.solve(A, np.ones(n), "cg", rtol=1e-8)
    coo = A.tocoo()
    grad = leaf.grad.values() if layout == "csr" else leaf.grad
    np.testing.assert_allclose(grad.numpy(), -x[coo.row] * x[coo.col], rtol=1e-6)


def test_repeated_entries():
    """A COO that is not coalesced: each of the entries at one place has the gradient of their sum."""
    values = torch.tensor([1.0, 2.0, 3.0, 5.0], dtype=torch.float64).requires_grad_()
    places = torch.tensor([[0, 0, 1, 1], [0, 0, 0, 1]])
    b = right((2,))
    poise.torch.solve(torch.sparse_coo_tensor(places, values, (2, 2)), b, rtol=1e-13)[1].backward()
    a, c, d = 3.0, 3.0, 5.0  # x_1 = (b_1 - c b_0 / a) / d
    b0, b1 = b.detach().tolist()
    x1 = (b1 - c * b0 / a) / d
    expected = torch.tensor([c * b0 / a**2 / d] * 2 + [-b0 / a / d, -x1 / d], dtype=torch.float64)
    torch.testing.assert_close(values.grad, expected, rtol=1e-10, atol=1e-12)


def test_unsorted_arrays():
    A = system(False)
    order = np.concatenate([np.arange(A.indptr[i + 1] - 1, A.indptr[i] - 1, -1) for i in range(6)])
    _, indices, indptr = tensors(A)

    def x(values, b):
        return poise.torch.solve((values[order], indices[order], indptr), b, rtol=1e-14)

    assert torch.autograd.gradcheck(x, (tensors(A)[0].requires_grad_(), right((6,))))


def test_scipy():
    A, b = system(False), right((6, 2))
    assert torch.autograd.gradcheck(lambda b: poise.torch.solve(A, b, rtol=1e-14), (b,))


def test_many_columns(as_on_gpu):
    A, b = system(False), right((6, 70))
    x = poise.torch.solve(LAYOUTS["csr"](tensors(A)[0], A), b, rtol=1e-12)
    np.testing.assert_allclose(A @ x.detach().numpy(), b.detach().numpy(), atol=1e-10)


def test_float32():
    A = system(False)
    values = tensors(A)[0].float().requires_grad_()
    b = right((6,)).detach().float().requires_grad_()
    x = poise.torch.solve(LAYOUTS["csr"](values, A), b)
    assert x.dtype == torch.float32
    x.sum().backward()
    assert values.grad.dtype == b.grad.dtype == torch.float32
    of_b = np.linalg.solve(A.toarray().T, np.ones(6))
    np.testing.assert_allclose(b.grad.numpy(), of_b, rtol=1e-5)
    coo = A.tocoo()
    np.testing.assert_allclose(values.grad.numpy(), -of_b[coo.row] * x.detach().numpy()[coo.col], rtol=1e-4,
                               atol=1e-6)


def counted(monkeypatch):
    """How often a solver is made, and how often it gets new values."""
    made, updated = [], []

    class Counted(_pattern.Solver):
        def __init__(self, *arguments, **keywords):
            made.append(1)
            super().__init__(*arguments, **keywords)

        def update(self, *arguments):
            updated.append(1)
            super().update(*arguments)

    monkeypatch.setattr(_pattern, "Solver", Counted)
    return made, updated


@pytest.mark.parametrize("method, pc, solvers", [("cg", "icc", 1), ("gmres", "ilu", 1),
                                                 ("bicgstab", "ilu", 2)])
def test_set_up_once(monkeypatch, method, pc, solvers):
    """Steps that make their matrix anew share a solver, and so do both passes where A = A^T."""
    made, updated = counted(monkeypatch)
    A = laplacian(10)
    if solvers == 2:
        A = (A + sp.diags([0.3], [1], A.shape)).tocsr()
    for step in range(4):
        values = (tensors(A)[0] * (1 + step)).requires_grad_()
        b = torch.ones(100, dtype=torch.float64, requires_grad=True)
        x = poise.torch.solve(LAYOUTS["csr"](values, A), b, method, pc=pc, rtol=1e-10)
        x.sum().backward()
        B = (1 + step) * A
        np.testing.assert_allclose(B @ x.detach().numpy(), 1, rtol=1e-7)
        np.testing.assert_allclose(B.T @ b.grad.numpy(), 1, rtol=1e-7)
    assert len(made) == solvers and len(updated) == 3 * solvers


def test_set_up_once_as_on_gpu(monkeypatch, as_on_gpu):
    test_set_up_once(monkeypatch, "gmres", "ilu", 1)


def test_the_latest_are_kept(monkeypatch):
    made, _ = counted(monkeypatch)
    b = torch.ones(4, dtype=torch.float64)
    for n in range(1, 12):
        poise.torch.solve(LAYOUTS["csr"](torch.ones(n, dtype=torch.float64), sp.identity(n, format="csr")),
                          torch.ones(n, dtype=torch.float64), "cg")
    assert len(_pattern._kept) == 8 and len(made) == 11
    identity = sp.identity(4, format="csr")
    ones = LAYOUTS["csr"](torch.ones(4, dtype=torch.float64), identity)
    for settings in ({}, {"rtol": 1e-3}, {"symmetric": True}, {"ksp_gmres_restart": 5}, {}):
        poise.torch.solve(ones, b, "gmres", **settings)
    assert len(made) == 15
    other = (torch.ones(4, dtype=torch.float64), torch.tensor([1, 0, 2, 3]), torch.arange(5))
    torch.testing.assert_close(poise.torch.solve(other, torch.arange(4.0)), torch.tensor([1.0, 0, 2, 3]))


def test_a_pattern_that_was_written_to():
    values, indices, indptr = torch.ones(2, dtype=torch.float64), torch.tensor([0, 1]), torch.arange(3)
    b = torch.tensor([1.0, 2.0], dtype=torch.float64)
    torch.testing.assert_close(poise.torch.solve((values, indices, indptr), b), b)
    indices[:] = torch.tensor([1, 0])
    torch.testing.assert_close(poise.torch.solve((values, indices, indptr), b), b.flip(0))


def test_func():
    """Transforms of torch.func: a Jacobian is one block solve, and vmap over values goes one by one."""
    A = system(False)
    values, indices, indptr = tensors(A)
    b = right((6,)).detach()

    def x(values, b):
        return poise.torch.solve((values, indices, indptr), b, rtol=1e-13)

    J = torch.func.jacrev(x, argnums=1)(values, b)
    np.testing.assert_allclose(J.numpy(), np.linalg.inv(A.toarray()), rtol=1e-8, atol=1e-10)
    B = right((5, 6)).detach()
    X = torch.func.vmap(x, (None, 0))(values, B)
    np.testing.assert_allclose(X.numpy(), np.linalg.solve(A.toarray(), B.numpy().T).T, rtol=1e-9)
    F = torch.func.jacfwd(x, argnums=1)(values, b)
    torch.testing.assert_close(F, J, rtol=1e-9, atol=1e-11)

    def loss(values, b):
        return (x(values, b) ** 2).sum()

    def dense(values, b):
        D = torch.zeros(6, 6, dtype=torch.float64).index_put(tuple(torch.from_numpy(where(A))), values)
        return (torch.linalg.solve(D, b) ** 2).sum()

    for argument in (0, 1):
        torch.testing.assert_close(torch.func.hessian(loss, argument)(values, b),
                                   torch.func.hessian(dense, argument)(values, b), rtol=1e-8, atol=1e-10)
    X = torch.func.vmap(x, (0, None))(torch.stack([values, 2 * values]), b)
    np.testing.assert_allclose(X[1].numpy(), np.linalg.solve(2 * A.toarray(), b.numpy()), rtol=1e-9)


def test_errors(monkeypatch):
    A = system(False)
    T, b = LAYOUTS["csr"](tensors(A)[0], A), right((6,)).detach()
    with pytest.raises(poise.InvalidArgument, match=r"b has the shape \(5,\); A has 6 rows"):
        poise.torch.solve(T, b[:5])
    with pytest.raises(TypeError, match="complex"):
        poise.torch.solve(T, b + 1j)
    with pytest.raises(TypeError, match="b is a ndarray; it must be a tensor"):
        poise.torch.solve(T, b.numpy())
    with pytest.raises(poise.NotSupported, match="strided"):
        poise.torch.solve(T.to_dense(), b)
    with pytest.raises(poise.InvalidArgument, match="square"):
        poise.torch.solve(torch.eye(3)[:2].to_sparse_csr(), b)
    values, indices, indptr = tensors(A)
    with pytest.raises(poise.InvalidArgument, match="one length"):
        poise.torch.solve((values[:-1], indices, indptr), b)
    for bad, words in ((indptr - 1, "entries"), (indptr * 2, "entries"), (indptr.flip(0), None)):
        with pytest.raises((poise.InvalidArgument, RuntimeError), match=words):  # the latter is PyTorch's
            poise.torch.solve((values, indices, bad), b)
    with pytest.raises(poise.InvalidArgument, match="negative"):
        poise.torch.solve((values, indices - 1, indptr), b)
    with pytest.raises(poise.InvalidArgument, match="pc is for A.*symmetric=True"):
        poise.torch.solve(T, b, pc=lambda r: r)
    n = 12000
    ones = torch.ones(n, dtype=torch.float32, requires_grad=True)
    large = torch.sparse_csr_tensor(torch.arange(n + 1), torch.arange(n), ones, (n, n))
    with pytest.raises(poise.NotSupported, match="dense matrix, here of 0.576 GB"):
        monkeypatch.setattr(poise.torch, "_MOST_DENSE", 1 << 29)
        poise.torch.solve(large, torch.ones(n))
    with pytest.raises(poise.NotConverged):
        poise.torch.solve(T, b, "gmres", maxiter=1)


def test_example():
    """The fit of its conductivity gets better."""
    example = pathlib.Path(__file__).resolve().parents[1] / "examples" / "gradient_torch.py"
    out = subprocess.run([sys.executable, example, "12"], capture_output=True, text=True, check=True).stdout
    misfit, error = ([float(x) for x in re.findall(word, out)] for word in (r"misfit (\S+),", r"k +(\S+)%"))
    assert len(misfit) == len(error) == 10
    assert misfit[-1] < 1e-2 * misfit[0] < 1e-4 and error[-1] < 0.5 * error[0] < 20


def test_imports_are_lazy():
    code = "import sys, poise; assert not {'torch', 'jax'} & set(sys.modules); poise.torch.solve"
    subprocess.run([sys.executable, "-c", code], check=True)

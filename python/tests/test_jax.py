# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of poise.jax.solve, against differences and against dense solves of JAX."""
import numpy as np
import poise
import pytest
import scipy.sparse as sp
from conftest import laplacian
from poise import _pattern

jax = pytest.importorskip("jax", minversion="0.4.35")
jnp = jax.numpy
sparse = pytest.importorskip("jax.experimental.sparse")


@pytest.fixture(autouse=True)
def float64():
    jax.config.update("jax_enable_x64", True)
    _pattern._kept.clear()
    yield
    jax.config.update("jax_enable_x64", False)


def system(n=6, symmetric=False):
    rng = np.random.default_rng(5)
    A = sp.random(n, n, 0.4, "csr", random_state=7, data_rvs=rng.standard_normal)
    A = ((A + A.T if symmetric else A) + 6 * sp.identity(n)).tocsr()
    A.sort_indices()
    return A


def right(*shape):
    return jnp.asarray(np.random.default_rng(3).standard_normal(shape))


def bcoo(data, A):
    """With an entry of padding, and the others in no order."""
    coo = A.tocoo()
    where = np.append(np.stack([coo.row, coo.col], 1), [A.shape], 0)[::-1]
    return sparse.BCOO((jnp.append(data, 7.0)[::-1], jnp.asarray(where)), shape=A.shape)


LAYOUTS = {
    "bcsr": lambda data, A: sparse.BCSR((data, jnp.asarray(A.indices), jnp.asarray(A.indptr)), shape=A.shape),
    "bcoo": bcoo,
    "arrays": lambda data, A: (data, jnp.asarray(A.indices), jnp.asarray(A.indptr)),
}


def dense(data, A):
    coo = A.tocoo()
    return jnp.zeros(A.shape).at[coo.row, coo.col].set(data)


def close(a, b, rtol=1e-8):
    np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-9)


@pytest.mark.parametrize("layout, shape, method", [
    ("bcsr", (6,), "gmres"), ("bcsr", (6, 3), None), ("bcoo", (6, 3), "gmres"), ("bcoo", (6, 1), "bicgstab"),
    ("arrays", (6,), None),
])
def test_derivatives(layout, shape, method):
    """Forward and backward to the second order, by differences."""
    from jax.test_util import check_grads

    A = system()
    check_grads(lambda data, b: poise.jax.solve(LAYOUTS[layout](data, A), b, method, rtol=1e-14),
                (jnp.asarray(A.data), right(*shape)), order=2, modes=["fwd", "rev"])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_jit_and_grad(layout):
    """The same numbers as of a dense solve, compiled or not."""
    A = system()
    data, b = jnp.asarray(A.data), right(6, 2)

    def loss(data, b):
        return (poise.jax.solve(LAYOUTS[layout](data, A), b, rtol=1e-13) ** 2).sum()

    def expected(data, b):
        return (jnp.linalg.solve(dense(data, A), b) ** 2).sum()

    for transform in (lambda f: f, jax.jit):
        found = transform(jax.grad(loss, (0, 1)))(data, b)
        for ours, theirs in zip(found, jax.grad(expected, (0, 1))(data, b)):
            close(ours, theirs)


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("method", ["cg", "minres", "gmres"])
def test_symmetric(method, symmetric):
    A = system(symmetric=True)
    data, b = jnp.asarray(A.data), right(6)

    def loss(solve, s, b):
        return (solve(s * data, b) ** 2).sum()

    def ours(data, b):
        return poise.jax.solve(LAYOUTS["bcsr"](data, A), b, method, rtol=1e-13, symmetric=symmetric)

    def theirs(data, b):
        return jnp.linalg.solve(dense(data, A), b)

    for a, e in zip(jax.grad(loss, (1, 2))(ours, 2.0, b), jax.grad(loss, (1, 2))(theirs, 2.0, b)):
        close(a, e)


def test_gradient_has_the_layout():
    """By the matrix itself, as jax.experimental.sparse.grad has it."""
    A = system()
    T, b = LAYOUTS["bcsr"](jnp.asarray(A.data), A).to_bcoo(), right(6)
    G = sparse.grad(lambda T: poise.jax.solve(T, b, rtol=1e-13).sum())(T)
    assert isinstance(G, sparse.BCOO) and (G.indices == T.indices).all()
    expected = jax.grad(lambda D: jnp.linalg.solve(D, b).sum())(T.todense())
    close(G.data, expected[T.indices[:, 0], T.indices[:, 1]])


def test_vmap(monkeypatch):
    """Over b: one solve. Over A's data, and over both: one after the other."""
    calls = []
    once = _pattern.Solver.solve
    monkeypatch.setattr(_pattern.Solver, "solve", lambda solver, b: calls.append(b.shape) or once(solver, b))
    A = system()
    data, B = jnp.asarray(A.data), right(5, 6)

    def x(data, b):
        return poise.jax.solve(LAYOUTS["bcsr"](data, A), b, rtol=1e-13)

    expected = np.linalg.solve(A.toarray(), np.asarray(B).T).T
    for f in (jax.vmap(x, (None, 0)), jax.jit(jax.vmap(x, (None, 0)))):
        close(f(data, B), expected)
        assert calls.pop() == (6, 5) and not calls
    close(jax.vmap(jax.vmap(x, (None, 0)), (None, 0))(data, right(2, 5, 6)).shape, (2, 5, 6))
    assert calls.pop() == (6, 10)
    C = right(5, 6, 3)
    close(jax.vmap(x, (None, 0))(data, C), np.linalg.solve(A.toarray(), np.asarray(C)))
    assert calls.pop() == (6, 15)
    many = jnp.arange(1, 6.0)[:, None] * data
    close(jax.vmap(x, (0, None))(many, B[0]), expected[0] / np.arange(1, 6)[:, None])
    close(jax.vmap(x)(many, B), expected / np.arange(1, 6)[:, None])
    assert len(calls) == 10
    J = jax.jit(jax.jacrev(x, 1))(data, B[0])
    close(J, np.linalg.inv(A.toarray()))
    assert calls[-1] == (6, 6)


def test_scipy():
    A, b = system(), right(6)
    of_b = jax.grad(lambda b: poise.jax.solve(A, b, rtol=1e-13).sum())(b)
    close(of_b, np.linalg.solve(A.toarray().T, np.ones(6)))


def test_float32():
    A = system()
    data, b = jnp.asarray(A.data, jnp.float32), right(6).astype("float32")
    x, of_b = jax.value_and_grad(lambda b: poise.jax.solve(LAYOUTS["bcsr"](data, A), b).sum())(b)
    assert x.dtype == of_b.dtype == np.float32
    np.testing.assert_allclose(of_b, np.linalg.solve(A.toarray().T, np.ones(6)), rtol=1e-5)
    jax.config.update("jax_enable_x64", False)
    x = jax.jit(lambda b: poise.jax.solve(LAYOUTS["bcsr"](data, A), b))(b)
    np.testing.assert_allclose(x, np.linalg.solve(A.toarray(), b), rtol=1e-5)


@pytest.mark.parametrize("method, solvers", [("cg", 1), ("gmres", 1), ("bicgstab", 2)])
def test_set_up_once(monkeypatch, method, solvers):
    made = []

    class Counted(_pattern.Solver):
        def __init__(self, *arguments, **keywords):
            made.append(1)
            super().__init__(*arguments, **keywords)

    monkeypatch.setattr(_pattern, "Solver", Counted)
    A = laplacian(10)
    if solvers == 2:
        A = (A + sp.diags([0.3], [1], A.shape)).tocsr()
    b = jnp.ones(100)

    def total(s):
        return poise.jax.solve(LAYOUTS["bcsr"](s * A.data, A), b, method, rtol=1e-10).sum()

    step = jax.jit(jax.grad(total))
    expected = np.linalg.solve(A.toarray(), np.ones(100)).sum()
    for s in (1.0, 2.0, 3.0):
        np.testing.assert_allclose(step(s), -expected / s**2, rtol=1e-6)
    assert len(made) == solvers


def test_large():
    """More than a callback could copy without the thread that it waits for."""
    A = laplacian(300)
    data, b = jnp.asarray(A.data), jnp.ones(A.shape[0])

    def twice(data, b):
        return 2 * poise.jax.solve(LAYOUTS["bcsr"](data + 0, A), b + 0, "cg", pc="amg")

    x = jax.jit(twice)(data, b)
    np.testing.assert_allclose(A @ np.asarray(x), 2, rtol=1e-5)


def test_errors():
    A = system()
    T, b = LAYOUTS["bcsr"](jnp.asarray(A.data), A), right(6)
    with pytest.raises(poise.InvalidArgument, match=r"b has the shape \(5,\); A has 6 rows"):
        poise.jax.solve(T, b[:5])
    with pytest.raises(TypeError, match="int64"):
        poise.jax.solve(T, jnp.arange(6))
    with pytest.raises(poise.InvalidArgument, match="one length"):
        poise.jax.solve((T.data[:-1], T.indices, T.indptr), b)
    with pytest.raises(poise.NotSupported, match="BCSR"):
        poise.jax.solve(T.todense(), b)
    with pytest.raises(poise.InvalidArgument, match="square"):
        poise.jax.solve(sparse.BCOO.fromdense(jnp.ones((2, 3))), b)
    with pytest.raises(Exception, match="did not converge"):
        poise.jax.solve(T, b, "gmres", maxiter=1).block_until_ready()

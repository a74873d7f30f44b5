# SPDX-License-Identifier: BSD-3-Clause
"""Poise's operator and solver in Lineax, against its own dense ones."""
import numpy as np
import poise
import pytest
from test_jax import LAYOUTS, close, float64, right, system  # noqa: F401

lx = pytest.importorskip("lineax")
jax = pytest.importorskip("jax")
jnp = jax.numpy
check_grads = pytest.importorskip("jax.test_util").check_grads


def operators(layout, symmetric=False):
    A = system(symmetric=symmetric)
    make = LAYOUTS[layout]
    return jnp.asarray(A.data), lambda data: poise.lineax.Operator(make(data, A)), jnp.asarray(A.toarray())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_operator(layout):
    data, make, dense = operators(layout)
    operator, v = make(data), right(6)
    for ours, theirs in ((operator, dense), (operator.T, dense.T), (operator.T.T, dense)):
        close(ours.mv(v), theirs @ v)
        close(ours.as_matrix(), theirs)
        close(lx.diagonal(ours), jnp.diagonal(theirs))
    close((2 * operator + operator.T).mv(v), 2 * dense @ v + dense.T @ v)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("method", ["gmres", "bicgstab"])
def test_solve(layout, method):
    data, make, dense = operators(layout)
    solver = poise.lineax.Solver(method, pc="jacobi", rtol=1e-13)

    def x(data, b):
        return lx.linear_solve(make(data), b, solver).value

    def transposed(data, b):
        return lx.linear_solve(make(data).T, b, solver).value

    b = right(6)
    for f, A in ((x, dense), (transposed, dense.T)):
        close(f(data, b), jnp.linalg.solve(A, b))
        close(jax.jit(f)(data, b), jnp.linalg.solve(A, b))
        if (layout, method) == ("bcoo", "gmres"):
            check_grads(f, (data, b), order=2, modes=["fwd", "rev"])
    B = right(5, 6)
    close(jax.vmap(x, (None, 0))(data, B), jnp.linalg.solve(dense, B.T).T)
    close(jax.jit(jax.vmap(x))(jnp.stack([data, 2 * data]), B[:2]),
          jnp.stack([jnp.linalg.solve(dense, B[0]), jnp.linalg.solve(2 * dense, B[1])]))


def test_tags():
    """A symmetric operator is solved by one solver, with the same M for both."""
    data, make, dense = operators("bcsr", symmetric=True)
    b = right(6)

    def loss(data):
        operator = lx.TaggedLinearOperator(make(data), (lx.symmetric_tag, lx.positive_semidefinite_tag))
        return lx.linear_solve(operator, b, poise.lineax.Solver("gmres", pc=lambda r: r / 6)).value.sum()

    close(loss(data), jnp.linalg.solve(dense, b).sum(), 1e-6)
    x, y = jnp.linalg.solve(dense, b), jnp.linalg.solve(dense, jnp.ones(6))
    coo = system(symmetric=True).tocoo()
    close(jax.grad(loss)(data), -y[coo.row] * x[coo.col], 1e-5)


def test_what_it_does_not_take():
    with pytest.raises(poise.NotSupported, match="not a MatrixLinearOperator"):
        lx.linear_solve(lx.MatrixLinearOperator(jnp.eye(3)), jnp.ones(3), poise.lineax.Solver("gmres"))

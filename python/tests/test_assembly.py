# SPDX-License-Identifier: BSD-3-Clause
"""Sums of element matrices, beside dense ones."""
import numpy as np
import pytest

import poise


def quadrilaterals(n):
    """n x n squares of four nodes."""
    x, y = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    first = (y * (n + 1) + x).reshape(-1)
    return np.stack([first, first + 1, first + n + 2, first + n + 1], axis=1)


def element_matrices(count, k, seed=1):
    """Symmetric positive definite ones, all different."""
    a = np.random.default_rng(seed).standard_normal((count, k, k))
    return a @ a.transpose(0, 2, 1) + k * np.eye(k)


def dense(elements, matrices, n, b, fixed=()):
    A = np.zeros((n, n))
    for nodes, block in zip(elements, matrices):
        at = (nodes[:, None] * b + np.arange(b)).reshape(-1)
        A[np.ix_(at, at)] += block
    full = A.copy()
    A[fixed, :] = 0
    A[:, fixed] = 0
    A[fixed, fixed] = 1
    return A, full


def columns(A):
    return np.stack([A.matvec(e) for e in np.eye(A.shape[0])], axis=1)


ARRAYS = ["numpy", "torch", "jax"]


def as_array(name, a):
    if name == "torch":
        return pytest.importorskip("torch").from_numpy(np.array(a))
    if name == "jax":
        jax = pytest.importorskip("jax")
        jax.config.update("jax_enable_x64", True)
        return jax.numpy.asarray(a)
    return a


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("b", [1, 2, 3])
def test_sum(name, b):
    elements = quadrilaterals(4)
    matrices = element_matrices(len(elements), 4 * b)
    n = 25 * b
    fixed = np.array([0, n - 1, 2 * b, 7])
    for held in (None, fixed, np.isin(np.arange(n), fixed)):
        expected, _ = dense(elements, matrices, n, b, () if held is None else fixed)
        given = held if held is None else as_array(name, held)
        A = poise.assemble(as_array(name, elements), as_array(name, matrices), unknowns=b, fixed=given)
        assert A.shape == (n, n)
        assert (A.type == "bcsr") == (b > 1)
        np.testing.assert_allclose(columns(A), expected, rtol=1e-13, atol=1e-12)


def test_update_and_hold():
    b, elements = 2, quadrilaterals(5)
    n = 36 * b
    fixed = np.arange(0, n, 7)
    A = poise.assemble(elements, element_matrices(len(elements), 4 * b), unknowns=b, fixed=fixed)
    solver = poise.Solver(A, "cg", pc="jacobi", rtol=1e-12)
    rng = np.random.default_rng(5)
    for seed in (2, 3):
        matrices = element_matrices(len(elements), 4 * b, seed)
        A.update(matrices)
        held, full = dense(elements, matrices, n, b, fixed)
        rhs, values = rng.standard_normal(n), rng.standard_normal(fixed.size)
        known = np.zeros(n)
        known[fixed] = values
        expected = rhs - full @ known
        expected[fixed] = values
        right = A.hold(rhs, values)
        np.testing.assert_allclose(right, expected, rtol=1e-12, atol=1e-12)
        x = solver.solve(right)
        np.testing.assert_allclose(x[fixed], values, rtol=1e-10)
        free = np.setdiff1d(np.arange(n), fixed)
        np.testing.assert_allclose((full @ x)[free], rhs[free], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(A.hold(rhs)[fixed], 0)


@pytest.mark.parametrize("name", ["torch", "jax"])
def test_hold_of_other_arrays(name):
    elements, fixed = quadrilaterals(3), [1, 5]
    matrices = element_matrices(len(elements), 4)
    rhs = np.arange(16.0)
    A = poise.assemble(as_array(name, elements), as_array(name, matrices), fixed=fixed)
    B = poise.assemble(elements, matrices, fixed=fixed)
    np.testing.assert_allclose(np.asarray(A.hold(as_array(name, rhs), 2.0)), B.hold(rhs, 2.0))


def test_multigrid():
    """A plate that is held at its edge, to the discretised solution."""
    n = 24
    elements = quadrilaterals(n)
    laplace = np.array([[4, -1, -2, -1], [-1, 4, -1, -2], [-2, -1, 4, -1], [-1, -2, -1, 4]]) / 6
    x = np.arange((n + 1) ** 2) % (n + 1)
    y = np.arange((n + 1) ** 2) // (n + 1)
    edge = (x == 0) | (x == n) | (y == 0) | (y == n)
    A = poise.assemble(elements, np.repeat(laplace[None], len(elements), axis=0), fixed=edge)
    exact = 1.0 + x + 2.0 * y  # which these elements have exactly
    u = poise.solve(A, A.hold(np.zeros(x.size), exact[edge]), "cg", pc="amg", rtol=1e-12)
    np.testing.assert_allclose(u, exact, rtol=1e-8)


def test_more_nodes_than_elements_have():
    elements = quadrilaterals(2)
    A = poise.assemble(elements, element_matrices(4, 4), 12, fixed=[9, 10, 11])
    np.testing.assert_allclose(columns(A)[9:, 9:], np.eye(3))


def test_wrong():
    elements, matrices = quadrilaterals(2), element_matrices(4, 4)
    with pytest.raises(poise.InvalidArgument, match=r"shape \(elements, nodes\), not \(16,\)"):
        poise.assemble(elements.reshape(-1), matrices)
    with pytest.raises(poise.InvalidArgument, match=r"shape \(4, 8, 8\), not \(4, 4, 4\)"):
        poise.assemble(elements, matrices, unknowns=2)
    with pytest.raises(poise.InvalidArgument, match="fixed is a mask of 3 unknowns; there are 9"):
        poise.assemble(elements, matrices, fixed=[True, False, True])
    with pytest.raises(poise.InvalidArgument, match="fixed has unknown 9; there are 9"):
        poise.assemble(elements, matrices, fixed=[1, 9])
    with pytest.raises(TypeError, match="fixed is float64"):
        poise.assemble(elements, matrices, fixed=[1.0])
    with pytest.raises(poise.InvalidArgument, match="elements have node 8; there are 5"):
        poise.assemble(elements, matrices, 5)
    with pytest.raises(poise.InvalidArgument, match="elements have node -1; there are 9"):
        poise.assemble(elements - 1, matrices, 9)
    with pytest.raises(TypeError, match="the elements are float64; nodes are numbered by integers"):
        poise.assemble(elements + 0.5, matrices)
    with pytest.raises(TypeError, match="element matrices are complex"):
        poise.assemble(elements, 1j * matrices)
    with pytest.raises(TypeError, match="poise.assemble makes such matrices"):
        poise.Assembled(elements)

# SPDX-License-Identifier: BSD-3-Clause
"""Systems that the tests share."""
import numpy as np
import poise
import pytest
import scipy.sparse as sp


def laplacian(n):
    """The five-point Laplacian on n x n points: symmetric positive definite."""
    line = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], (n, n))
    eye = sp.identity(n)
    A = (sp.kron(eye, line) + sp.kron(line, eye)).tocsr()
    A.sort_indices()
    return A


@pytest.fixture
def A():
    return laplacian(20)


@pytest.fixture
def convection():
    """Not symmetric."""
    n = 20
    line = sp.diags([-1.5, 2.0, -0.5], [-1, 0, 1], (n, n))
    eye = sp.identity(n)
    return (sp.kron(eye, line) + sp.kron(line, eye)).tocsr()


@pytest.fixture
def b(A):
    return np.random.default_rng(1).standard_normal(A.shape[0])


@pytest.fixture
def on_host():
    """For what only holds where the library works on the memory of the host."""
    if "device: host" not in poise.info():
        pytest.skip("the library works on another device here")

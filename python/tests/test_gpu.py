# SPDX-License-Identifier: BSD-3-Clause
"""Arrays that are on a GPU, of PyTorch, CuPy and JAX, with the library on that GPU."""
import inspect
import os
import resource

import numpy as np
import poise
import pytest
import scipy.sparse as sp
from conftest import laplacian
from poise import _arrays, _library, _pattern
from test_assembly import columns, dense, element_matrices, quadrilaterals

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # JAX is not alone there
pytestmark = [
    pytest.mark.skipif(_library.stream() is None, reason="the library works on the host here"),
    pytest.mark.filterwarnings("ignore:Sparse"),
]


class Torch:
    def __init__(self):
        self.own = pytest.importorskip("torch", minversion="2.4")

    def put(self, a):
        return self.own.from_numpy(np.array(a, order="K")).cuda()

    def get(self, a):
        assert a.is_cuda
        return a.detach().cpu().numpy()

    def csr(self, data, indices, indptr, shape):
        return self.own.sparse_csr_tensor(indptr, indices, data, shape)

    def coo(self, data, rows, columns, shape):
        return self.own.sparse_coo_tensor(self.own.stack([rows, columns]), data, shape)


class Cupy:
    def __init__(self):
        self.own = pytest.importorskip("cupy")
        self.sparse = pytest.importorskip("cupyx.scipy.sparse")

    def put(self, a):
        return self.own.asarray(a)

    def get(self, a):
        return self.own.asnumpy(a)

    def csr(self, data, indices, indptr, shape):
        return self.sparse.csr_matrix((data, indices, indptr), shape=shape)

    def coo(self, data, rows, columns, shape):
        return self.sparse.coo_matrix((data, (rows, columns)), shape=shape)


class Jax:
    def __init__(self):
        self.own = pytest.importorskip("jax", minversion="0.4.35")
        self.sparse = pytest.importorskip("jax.experimental.sparse")
        self.own.config.update("jax_enable_x64", True)
        if self.own.default_backend() != "gpu":
            pytest.skip("JAX works on the host here")

    def put(self, a):
        return self.own.numpy.asarray(a)

    def get(self, a):
        assert isinstance(a, self.own.Array) and _arrays.on_device(a)
        return np.asarray(a)

    def csr(self, data, indices, indptr, shape):
        return self.sparse.BCSR((data, indices, indptr), shape=shape)

    def coo(self, data, rows, columns, shape):
        return self.sparse.BCOO((data, self.own.numpy.stack([rows, columns], 1)), shape=shape)


@pytest.fixture(params=[Torch, Cupy, Jax], ids=["torch", "cupy", "jax"])
def there(request):
    library = request.param()
    yield library
    if request.param is Jax:
        library.own.config.update("jax_enable_x64", False)


def arrays(there, A, index=np.int32):
    return [there.put(a) for a in (A.data, A.indices.astype(index), A.indptr.astype(index))]


def close(A, b, x, tolerance=1e-7):
    assert np.linalg.norm(b - A @ x) <= tolerance * np.linalg.norm(b)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("pc", ["jacobi", "amg", "icc"])
def test_solve(there, pc, index):
    if index is np.int64 and isinstance(there, Cupy):
        pytest.skip("indices of CuPy's matrices are int32")
    A = laplacian(40)
    b = np.random.default_rng(1).standard_normal(A.shape[0])
    given = there.csr(*arrays(there, A, index), A.shape)
    right = there.put(b)
    with poise.Solver(given, "cg", pc=pc, rtol=1e-9) as solver:
        x = solver.solve(right)
        close(A, b, there.get(x))
        again = solver.solve(right, x)
        assert solver.iterations <= 1 and type(again) is type(x)
        np.testing.assert_array_equal(there.get(solver.solve(right)), there.get(x))
    close(A, b, there.get(poise.solve(given, right, "cg", pc=pc, rtol=1e-9)))


def test_where_they_are(there):
    """Values are used where they are, and x is written to the user's array."""
    A = laplacian(30)
    data, indices, indptr = arrays(there, A)
    given = there.csr(data, indices, indptr, A.shape)
    with poise.Matrix(given) as M:
        assert M._arrays[0].pointer == _arrays.device_array(data, "data").pointer
        x = np.random.default_rng(2).standard_normal(A.shape[1])
        np.testing.assert_allclose(there.get(M @ there.put(x)), A @ x, rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(there.get(M.rmatvec(there.put(x))), A.T @ x, rtol=1e-13, atol=1e-13)
        if isinstance(there, Jax):
            return
        with poise.Solver(M, "cg", pc="jacobi", rtol=1e-9) as solver:
            out = there.put(np.zeros(A.shape[0]))
            assert solver.solve(there.put(x), out=out) is out
            close(A, x, there.get(out))
            data *= 2
            solver.update()
            close(2 * A, x, there.get(solver.solve(there.put(x))))


def test_several(there):
    A = laplacian(30)
    B = np.random.default_rng(3).standard_normal((A.shape[0], 5))
    with poise.Solver(there.csr(*arrays(there, A), A.shape), "cg", pc="jacobi", rtol=1e-9) as solver:
        X = there.get(solver.solve(there.put(B)))
        assert len(solver.systems) == 5 and X.shape == B.shape
        for j in range(5):
            close(A, B[:, j], X[:, j])


@pytest.mark.parametrize("shape", [(60, 20), (20, 60)])
def test_least_squares(there, shape):
    D = sp.random(*shape, 0.5, "csr", random_state=8)
    B = np.random.default_rng(8).standard_normal((shape[0], 3))
    expected = np.linalg.lstsq(D.toarray(), B, rcond=None)[0]
    with poise.Solver(there.csr(*arrays(there, D), shape), "lsqr", rtol=1e-12) as solver:
        for b, x in ((B, expected), (B[:, 0].copy(), expected[:, 0])):
            np.testing.assert_allclose(there.get(solver.solve(there.put(b))), x, atol=1e-8)


def test_single(there):
    A = laplacian(20)
    b = np.random.default_rng(4).standard_normal(A.shape[0]).astype(np.float32)
    data, indices, indptr = arrays(there, A)
    with pytest.warns(poise.CopyWarning, match="float32"):
        M = poise.Matrix(there.csr(there.put(A.data.astype(np.float32)), indices, indptr, A.shape))
    x = poise.solve(M, there.put(b), "cg", rtol=1e-7)
    assert there.get(x).dtype == np.float32
    close(A, b, there.get(x), 1e-5)


def test_coo(there):
    A = laplacian(20).tocoo()
    b = np.random.default_rng(5).standard_normal(A.shape[0])
    given = there.coo(*map(there.put, (A.data, A.row, A.col)), A.shape)
    close(A, b, there.get(poise.solve(given, there.put(b), "cg", pc="jacobi", rtol=1e-9)))


def test_functions_of_scipy(there):
    A = laplacian(20)
    b = np.random.default_rng(6).standard_normal(A.shape[0])
    given, right = there.csr(*arrays(there, A), A.shape), there.put(b)
    for function in (poise.cg, poise.gmres, poise.bicgstab, poise.linalg.minres):
        x, info = function(given, right, rtol=1e-9)
        assert info == 0
        close(A, b, there.get(x), 1e-6)


def test_preconditioner(there):
    """One application of the cycle, in memory of the GPU."""
    A = laplacian(30)
    r = np.random.default_rng(7).standard_normal(A.shape[0])
    with poise.Solver(there.csr(*arrays(there, A), A.shape), "cg", pc="amg") as solver:
        z = there.get(solver.precondition(there.put(r)))
        np.testing.assert_allclose(z, solver.precondition(r), rtol=1e-12, atol=1e-14)
        assert np.linalg.norm(r - A @ z) < 0.7 * np.linalg.norm(r)
        with pytest.raises(poise.InvalidArgument, match="not float64 of"):
            solver.precondition(there.put(r[1:]))
    M = there.csr(*arrays(there, sp.diags(1 / A.diagonal(), format="csr")), A.shape)
    x = poise.solve(there.csr(*arrays(there, A), A.shape), there.put(r), "cg", pc=M, rtol=1e-9)
    close(A, r, there.get(x))


def test_operators_of_cupyx():
    """Both ways: a cycle in a solver of cupyx, and functions of CuPy in a solver of this library."""
    there = Cupy()
    linalg = pytest.importorskip("cupyx.scipy.sparse.linalg")
    A = laplacian(30)
    given, right = there.csr(*arrays(there, A), A.shape), there.put(np.ones(A.shape[0]))
    with poise.Solver(given, "cg", pc="amg", rtol=1e-9) as solver:
        M = solver.aspreconditioner()
        assert isinstance(M, linalg.LinearOperator)
        tolerance = "rtol" if "rtol" in inspect.signature(linalg.cg).parameters else "tol"  # in older CuPy
        x, info = linalg.cg(given, right, **{tolerance: 1e-8}, M=M, maxiter=30)
        assert info == 0
        close(A, np.ones(A.shape[0]), there.get(x), 1e-6)
        close(A, np.ones(A.shape[0]), there.get(solver.aslinearoperator() @ right))
        np.testing.assert_allclose(there.get(solver.A.aslinearoperator() @ right), A @ np.ones(A.shape[0]),
                                   atol=1e-13)
    seen = []

    def product(x):
        seen.append(type(x))
        return given @ x

    function = linalg.LinearOperator(A.shape, matvec=product, rmatvec=product, dtype="float64")
    halved = linalg.LinearOperator(A.shape, matvec=lambda r: 0.25 * r, dtype="float64")
    close(A, np.ones(A.shape[0]), there.get(poise.solve(function, right, "cg", pc=halved, rtol=1e-9)))
    assert set(seen) == {there.own.ndarray}


def test_errors(there):
    A = laplacian(10)
    given = there.csr(*arrays(there, A), A.shape)
    with pytest.raises(poise.InvalidArgument, match=r"b has the shape \(99,\); A has 100 rows"):
        poise.solve(given, there.put(np.ones(99)), "cg")
    with pytest.raises(poise.NotConverged) as caught:
        poise.solve(given, there.put(np.random.default_rng(1).standard_normal(100)), "cg", maxiter=2)
    assert caught.value.iterations == 2 and there.get(caught.value.x).shape == (100,)


@pytest.mark.parametrize("b", [1, 3])
def test_assemble(there, b):
    """Matrices of elements become one there, and so do new ones; unknowns are held."""
    elements = quadrilaterals(6)
    n, k = 49 * b, 4 * b
    fixed = np.array([0, n - 1, 2 * b])
    A = poise.assemble(there.put(elements), there.put(element_matrices(len(elements), k)), unknowns=b,
                       fixed=fixed)
    assert A.type == "bcsr" or b == 1
    for seed in (1, 2):
        matrices = element_matrices(len(elements), k, seed)
        A.update(there.put(matrices))
        held, full = dense(elements, matrices, n, b, fixed)
        np.testing.assert_allclose(columns(A), held, rtol=1e-13, atol=1e-12)
        f = np.random.default_rng(seed).standard_normal(n)
        known = np.zeros(n)
        known[fixed] = 1.5
        expected = np.where(np.isin(np.arange(n), fixed), known, f - full @ known)
        right = A.hold(there.put(f), 1.5)
        np.testing.assert_allclose(there.get(right), expected, rtol=1e-12, atol=1e-11)
        close(held, expected, there.get(poise.solve(A, right, "cg", pc="jacobi", rtol=1e-10)))


# ---- streams and memory ------------------------------------------------------------------------------------


def test_streams():
    """What PyTorch has enqueued on its current stream comes first, and what it does after a solve later."""
    there = Torch()
    torch, A = there.own, laplacian(50)
    with poise.Solver(there.csr(*arrays(there, A), A.shape), "cg", pc="jacobi", rtol=1e-10) as solver:
        heavy = torch.rand(3000, 3000, device="cuda", dtype=torch.float64)
        for _ in range(10):
            with torch.cuda.stream(torch.cuda.Stream()):
                b = torch.ones(A.shape[0], device="cuda", dtype=torch.float64)
                b += (heavy @ heavy @ heavy)[0, 0] * 0  # late
                b *= 3
                x = solver.solve(b)
                y = 2 * x
                b.zero_()
                close(A, 6 * np.ones(A.shape[0]), there.get(y))


def test_no_growth():
    """New tensors for each solve, and new solvers: memory of the GPU and of the process stay."""
    there = Torch()
    torch, A = there.own, laplacian(30)

    def step(k):
        given = there.csr(*arrays(there, A + k % 7 * sp.identity(A.shape[0], format="csr")), A.shape)
        right = torch.full((A.shape[0],), float(k + 1), device="cuda", dtype=torch.float64)
        poise.solve(given, right, "cg", pc="amg" if k % 2 else "jacobi", rtol=1e-8)
        poise.torch.solve(given.requires_grad_(), right, "cg", pc="jacobi").sum().backward()

    def held():
        torch.cuda.synchronize()
        return torch.cuda.mem_get_info()[0], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    for k in range(30):
        step(k)
    free, process = held()
    for k in range(170):
        step(k)
    later = held()
    assert free - later[0] <= 4 << 20 and later[1] - process <= 4 << 10


# ---- gradients ---------------------------------------------------------------------------------------------


def system(n=6):
    A = sp.random(n, n, 0.4, "csr", random_state=7, data_rvs=np.random.default_rng(5).standard_normal)
    A = (A + 6 * sp.identity(n)).tocsr()
    A.sort_indices()
    return A


@pytest.mark.parametrize("layout", ["csr", "coo", "arrays"])
@pytest.mark.parametrize("shape", [(6,), (6, 3)])
def test_torch_gradients(layout, shape):
    there = Torch()
    torch, A = there.own, system()
    _, indices, indptr = arrays(there, A, np.int64)
    coo = A.tocoo()
    rows, cols = there.put(coo.row.astype(np.int64)), there.put(coo.col.astype(np.int64))
    layouts = {
        "csr": lambda values: there.csr(values, indices, indptr, A.shape),
        "coo": lambda values: there.coo(values, rows, cols, A.shape),
        "arrays": lambda values: (values, indices, indptr),
    }

    def x(values, b):
        return poise.torch.solve(layouts[layout](values), b, "gmres", rtol=1e-14)

    values = there.put(A.data).requires_grad_()
    b = there.put(np.random.default_rng(3).standard_normal(shape)).requires_grad_()
    assert torch.autograd.gradcheck(x, (values, b))
    assert torch.autograd.gradgradcheck(x, (values, b))


def test_torch_many_columns_and_vmap():
    there = Torch()
    torch, A = there.own, system()
    values, indices, indptr = arrays(there, A)
    B = there.put(np.random.default_rng(3).standard_normal((6, 70)))

    def x(values, b):
        return poise.torch.solve((values, indices, indptr), b, rtol=1e-13)

    np.testing.assert_allclose(A @ there.get(x(values, B)), there.get(B), atol=1e-9)
    X = torch.func.vmap(x, (None, 1), 1)(values, B[:, :5])
    np.testing.assert_allclose(A @ there.get(X), there.get(B[:, :5]), atol=1e-9)
    J = torch.func.jacrev(x, argnums=1)(values, B[:, 0])
    np.testing.assert_allclose(there.get(J), np.linalg.inv(A.toarray()), rtol=1e-7, atol=1e-9)


def test_torch_new_values():
    """A training loop on the GPU: the solver of a pattern is set up once."""
    there = Torch()
    _pattern._kept.clear()
    A = laplacian(20)
    values, indices, indptr = arrays(there, A)
    for step in range(3):
        scaled = (values * (1 + step)).requires_grad_()
        b = there.put(np.ones(A.shape[0])).requires_grad_()
        poise.torch.solve((scaled, indices, indptr), b, "cg", pc="amg", rtol=1e-10).sum().backward()
        close((1 + step) * A, np.ones(A.shape[0]), there.get(b.grad), 1e-6)
    assert len(_pattern._kept) == 1


@pytest.mark.parametrize("compiled", [False, True])
def test_jax_derivatives(compiled):
    there = Jax()
    jax, A = there.own, system()
    data, indices, indptr = arrays(there, A)
    b = there.put(np.random.default_rng(3).standard_normal((6, 2)))
    coo = A.tocoo()

    def loss(data, b):
        return (poise.jax.solve(there.csr(data, indices, indptr, A.shape), b, rtol=1e-13) ** 2).sum()

    def expected(data, b):
        D = jax.numpy.zeros(A.shape).at[coo.row, coo.col].set(data)
        return (jax.numpy.linalg.solve(D, b) ** 2).sum()

    gradient = jax.grad(loss, (0, 1))
    for ours, theirs in zip((jax.jit(gradient) if compiled else gradient)(data, b),
                            jax.grad(expected, (0, 1))(data, b)):
        np.testing.assert_allclose(there.get(ours), there.get(theirs), rtol=1e-8, atol=1e-9)

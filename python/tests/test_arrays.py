# SPDX-License-Identifier: BSD-3-Clause
"""Awkward arrays and matrices, and arrays of other libraries."""
import ctypes
import os
import warnings

import numpy as np
import poise
import pytest
import scipy.sparse as sp
from conftest import laplacian
from poise import _arrays, _library


def check(A, M):
    """Products of the library's matrix are those of SciPy's."""
    x = np.random.default_rng(0).standard_normal(A.shape[1])
    np.testing.assert_allclose(M @ x, A @ x, rtol=1e-13, atol=1e-13)


@pytest.mark.usefixtures("on_host")
def test_in_place(A):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        M = poise.Matrix(A, type="csr")
    check(A, M)
    pointer = M._arrays[0].ctypes.data
    assert pointer == A.data.ctypes.data and M._arrays[1].ctypes.data == A.indices.ctypes.data
    A.data *= 3  # seen without a call: products read the user's values
    check(A, M)
    M.close()


def unsorted(A):
    B = A.copy()
    for i in range(B.shape[0]):
        row = slice(B.indptr[i], B.indptr[i + 1])
        B.indices[row], B.data[row] = B.indices[row][::-1].copy(), B.data[row][::-1].copy()
    B.has_sorted_indices = False
    return B


@pytest.mark.parametrize("lie", [False, True])
def test_unsorted(A, b, lie):
    B = unsorted(A)
    if lie:
        B.has_sorted_indices = True  # what SciPy believes does not matter
    before = [B.data.copy(), B.indices.copy(), B.indptr.copy()]
    with pytest.warns(poise.CopyWarning, match="not sorted") as told:
        M = poise.Matrix(B)
    assert len(told) == 1
    check(A, M)
    for now, then in zip((B.data, B.indices, B.indptr), before):
        np.testing.assert_array_equal(now, then)
    B.data *= 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # told once
        M.update()
    check(2 * A, M)


def test_repeated_entries():
    A = sp.csr_matrix((np.array([1.0, 2.0, 3.0]), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    with pytest.warns(poise.CopyWarning, match="repeated"):
        M = poise.Matrix(A)
    check(sp.csr_matrix([[3.0, 0], [0, 3.0]]), M)
    assert A.nnz == 3


def test_wide_indices(A):
    B = A.copy()
    B.indices, B.indptr = B.indices.astype(np.int64), B.indptr.astype(np.int64)
    with pytest.warns(poise.CopyWarning, match="int32"):
        M = poise.Matrix(B)
    assert M._arrays[0].ctypes.data == B.data.ctypes.data  # the values stay
    check(A, M)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int8, bool, np.longdouble])
def test_other_values(A, b, dtype):
    B = A.astype(dtype)
    with pytest.warns(poise.CopyWarning, match="values"):
        M = poise.Matrix(B)
    check(B.astype(float), M)
    right = np.ones(A.shape[0], dtype)
    assert poise.cg(A, right)[1] == 0


@pytest.mark.parametrize("format", ["bsr", "coo", "csc", "dia", "lil", "dok"])
def test_formats(A, b, format):
    B = A.asformat(format)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", poise.CopyWarning)
        check(A, poise.Matrix(B))
        assert poise.cg(B, b)[1] == 0


def test_bsr():
    blocks = np.random.default_rng(3).standard_normal((5, 2, 2)) + 9 * np.eye(2)
    A = sp.bsr_matrix((blocks, np.array([0, 2, 1, 0, 2]), np.array([0, 2, 3, 5])), shape=(6, 6))
    M = poise.Matrix(A)
    assert M.type == "bcsr"
    check(A, M)
    x = poise.solve(A, np.ones(6), pc="pbjacobi", rtol=1e-10)
    np.testing.assert_allclose(A @ x, np.ones(6), rtol=1e-8)
    A.data *= 2
    M.update(A)
    check(A, M)
    odd = sp.bsr_matrix(np.ones((4, 6)), blocksize=(2, 3))
    check(odd, poise.Matrix(odd))


def test_other_matrices(A):
    check(A, poise.Matrix(A.toarray()))
    check(A, poise.Matrix((A.data, A.indices, A.indptr), shape=A.shape))
    if hasattr(sp, "csr_array"):
        check(A, poise.Matrix(sp.csr_array(A)))
    rectangle = sp.random(7, 4, 0.5, "csr", random_state=1)
    M = poise.Matrix(rectangle)
    check(rectangle, M)
    y = np.arange(7.0)
    np.testing.assert_allclose(M.rmatvec(y), rectangle.T @ y)
    B = np.ones((4, 3))
    np.testing.assert_allclose(M @ B, rectangle @ B)
    np.testing.assert_array_equal(poise.Matrix(A).diagonal(), A.diagonal())
    with pytest.raises(poise.InvalidArgument, match="square"):
        poise.Solver(rectangle)


@pytest.mark.parametrize("method", ["cg", "bicgstab", "gmres"])
def test_wrong_input(A, b, method):
    solve = getattr(poise, method)
    for bad in (b[:-1], np.ones((3, b.size)), np.float64(1), np.empty(0), np.ones((b.size, 2))):
        with pytest.raises(ValueError):
            solve(A, bad)
    with pytest.raises(TypeError, match="b is complex"):
        solve(A, 1j * b)
    for bad in (np.array(["x"] * b.size), np.array([None] * b.size), None):
        with pytest.raises((TypeError, ValueError)):
            solve(A, bad)
    with pytest.raises(ValueError):
        solve(A, b, b[:-1])
    with pytest.raises(TypeError):
        solve(A, b, 1j * b)
    with pytest.raises(TypeError):
        solve(1j * A, b)
    with pytest.raises(ValueError):
        solve(A[:-1], b)
    with pytest.raises(ValueError):
        solve(A, b, M=laplacian(3))
    with pytest.raises((TypeError, ValueError)):
        solve(A, b, M=3)
    with pytest.raises(ValueError):
        solve(A, b, rtol=-1.0)


@pytest.mark.parametrize(
    "data, indices, indptr",
    [
        ([1.0, 1.0], [0, 5], [0, 1, 2]),
        ([1.0, 1.0], [0, -1], [0, 1, 2]),
        ([1.0, 1.0], [0, 1], [0, 1]),
        ([1.0, 1.0], [0, 1], [0, 1, 7]),
        ([1.0, 1.0], [0, 1], [0, 5, 2]),
        ([1.0, 1.0], [0, 1], [1, 1, 2]),
        ([1.0, 1.0], [0, 1], [0, 1, -2]),
        ([1.0], [0, 1], [0, 1, 2]),
        ([1.0, 1.0], [0.0, 1.0], [0, 1, 2]),
    ],
)
def test_broken_csr(data, indices, indptr):
    arrays = np.array(data), np.array(indices), np.array(indptr)
    for width in (np.int32, np.int64):
        given = tuple(a if a.dtype.kind == "f" else a.astype(width) for a in arrays)
        with pytest.raises((ValueError, TypeError)):
            poise.Matrix(given, shape=(2, 2))


def test_not_finite(A, b):
    b = b.copy()
    b[7] = np.nan
    with pytest.raises(poise.NotConverged, match="entry 7 of b"):
        poise.solve(A, b, "cg")
    x, info = poise.cg(A, b)
    assert info < 0
    A.data[0] = np.inf
    with pytest.raises(poise.NotConverged, match="row 0 of A"):
        poise.solve(A, np.ones(b.size), "cg")


def test_empty():
    A = sp.csr_matrix((0, 0))
    try:
        assert poise.solve(A, np.empty(0), "cg").shape == (0,)
    except poise.PoiseError:
        pass
    assert poise.Matrix(sp.csr_matrix((3, 3))).nnz == 0
    assert poise.solve(laplacian(4), np.empty((16, 0)), "cg").shape == (16, 0)


def test_not_contiguous(A, b):
    expected = poise.cg(A, b, rtol=1e-9)[0]
    wide = np.zeros((b.size, 2))
    wide[:, 1] = b
    for view in (wide[:, 1], b[::-1][::-1], list(b), b.astype(">f8"), np.asfortranarray(b)):
        np.testing.assert_array_equal(poise.cg(A, view, rtol=1e-9)[0], expected)
    read_only = b.copy()
    read_only.flags.writeable = False
    np.testing.assert_array_equal(poise.cg(A, read_only, rtol=1e-9)[0], expected)
    offset = np.frombuffer(b"x" + b.tobytes(), np.uint8)[1:].view(np.float64)  # not aligned
    np.testing.assert_array_equal(poise.cg(A, offset, rtol=1e-9)[0], expected)


@pytest.mark.usefixtures("on_host")
def test_memory():
    """Nothing of the matrix's size is allocated, as the library counts and as the system does."""
    A = laplacian(700)
    size = A.data.nbytes + A.indices.nbytes + A.indptr.nbytes
    x, y = np.ones(A.shape[0]), np.empty(A.shape[0])
    with poise.Matrix(laplacian(5)) as M:  # the library's own things are there
        M @ np.ones(25)

    def resident():
        return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    before = resident()
    with poise.Matrix(A) as M:
        M.matvec(x, out=y)
        assert M.bytes() < 1.01 * size
        assert resident() - before < 0.2 * size


# ---- other libraries ---------------------------------------------------------------------------------------


def same_solution(A, b, x, tolerance=1e-6):
    assert np.linalg.norm(A @ np.asarray(x, float) - b) <= tolerance * np.linalg.norm(b)


def test_torch(A, b):
    torch = pytest.importorskip("torch")
    right = torch.from_numpy(b)
    x, info = poise.cg(A, right, rtol=1e-9)
    assert info == 0 and isinstance(x, torch.Tensor) and x.dtype == torch.float64
    same_solution(A, b, x.numpy())
    out = torch.zeros(b.size, dtype=torch.float64)
    assert poise.solve(A, right, "cg", rtol=1e-9, out=out) is out
    np.testing.assert_array_equal(out.numpy(), poise.solve(A, b, "cg", rtol=1e-9))
    with pytest.raises(TypeError, match="poise.torch.solve"):
        poise.cg(A, right.clone().requires_grad_())


def torch_csr(torch, A, index=None):
    index = index or torch.int32
    indptr, indices = (torch.from_numpy(a).to(index) for a in (A.indptr, A.indices))
    return torch.sparse_csr_tensor(indptr, indices, torch.from_numpy(A.data), A.shape)


def test_torch_matrices(A, b):
    torch = pytest.importorskip("torch")
    T = torch_csr(torch, A)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with poise.Matrix(T, type="csr") as M:
            assert M._arrays[0].ctypes.data == T.values().data_ptr() == A.data.ctypes.data
            assert M._arrays[1].ctypes.data == T.col_indices().data_ptr()
            check(A, M)
    with pytest.warns(poise.CopyWarning, match="int32"):
        M = poise.Matrix(torch_csr(torch, A, torch.int64))
    assert M._arrays[0].ctypes.data == A.data.ctypes.data
    check(A, M)
    coo, repeated = T.to_sparse_coo(), torch.eye(A.shape[0], dtype=torch.float64).to_sparse_coo()
    repeated = torch.sparse_coo_tensor(torch.cat([coo.indices(), repeated.indices()], 1),
                                       torch.cat([coo.values(), repeated.values()]), A.shape)
    for given, expected in ((coo, A), (repeated, A + sp.identity(A.shape[0])), (T.to_sparse_csc(), A),
                            (T.to_dense(), A)):
        before = A.data.copy()
        with poise.Matrix(given) as M:
            check(expected.tocsr(), M)
            M.update(2 * given)
            check(2 * expected.tocsr(), M)
        np.testing.assert_array_equal(A.data, before)
    with pytest.raises(poise.NotSupported, match="sparse_bsr"):
        poise.Matrix(T.to_sparse_bsr((2, 2)))
    B = torch.from_numpy(np.random.default_rng(2).standard_normal((A.shape[0], 3)))
    Y = poise.Matrix(T) @ B
    assert isinstance(Y, torch.Tensor)
    np.testing.assert_allclose(Y.numpy(), A @ B.numpy(), rtol=1e-13, atol=1e-13)
    X = poise.solve(T, B, "cg", rtol=1e-9)
    assert isinstance(X, torch.Tensor)
    same_solution(A, B.numpy(), X.numpy())


def test_float32(A, b):
    """A solve in float64, and x in the type of b."""
    torch = pytest.importorskip("torch")
    right = torch.from_numpy(b).float()
    with pytest.warns(poise.CopyWarning, match="float32"):
        with poise.Solver(torch_csr(torch, A).float(), "cg", rtol=1e-6) as solver:
            for given in (right, torch.stack([right, 2 * right], 1)):
                x = solver.solve(given)
                assert x.dtype == torch.float32 and x.shape == given.shape
                same_solution(A, given.numpy(), x.numpy(), 3e-6)
            assert (solver.A @ right).dtype == torch.float32
    assert poise.cg(A, b.astype(np.float32))[0].dtype == np.float32
    with poise.Solver(A, "cg", rtol=1e-9, ksp_precision="mixed") as solver:
        same_solution(A, b, solver.solve(b), 1e-8)


@pytest.fixture
def jax64():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    yield jax
    jax.config.update("jax_enable_x64", False)


def test_jax(A, b, jax64):
    right = jax64.numpy.asarray(b)
    x, info = poise.cg(A, right, rtol=1e-9)
    assert info == 0 and isinstance(x, jax64.Array) and x.dtype == np.float64
    same_solution(A, b, x)
    with pytest.raises(TypeError, match="JAX"):
        poise.solve(A, b, "cg", out=right)
    x = poise.solve(A, right.astype("float32"), "cg")
    assert isinstance(x, jax64.Array) and x.dtype == np.float32


@pytest.mark.usefixtures("on_host")
def test_jax_matrices(A, jax64):
    from jax.experimental import sparse

    csr = sparse.BCSR((jax64.numpy.asarray(A.data), jax64.numpy.asarray(A.indices),
                       jax64.numpy.asarray(A.indptr)), shape=A.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with poise.Matrix(csr) as M:
            check(A, M)
            assert M._arrays[0].ctypes.data == csr.data.unsafe_buffer_pointer()
    coo = csr.to_bcoo()
    twice = sparse.BCOO((jax64.numpy.concatenate([coo.data, coo.data]),
                         jax64.numpy.concatenate([coo.indices, coo.indices])), shape=A.shape)
    padded = coo.sum_duplicates(nse=A.nnz + 9)
    for given, factor in ((coo, 1), (twice, 2), (padded, 1)):
        with poise.Matrix(given) as M:
            assert M.nnz == A.nnz
            check(factor * A, M)
            M.update(sparse.BCOO((3 * given.data, given.indices), shape=A.shape))
            check(3 * factor * A, M)
        np.testing.assert_array_equal(np.abs(given.data).max(), 4)
    batch = sparse.BCOO.fromdense(jax64.numpy.ones((2, 3, 3)), n_batch=1)
    with pytest.raises(poise.NotSupported, match="1 batch"):
        poise.Matrix(batch)


class OnGpu:
    """Memory of the host that claims to be a GPU's, as the device host takes it."""

    def __init__(self, array, strides=None, stream=None):
        self.array = array
        self.__cuda_array_interface__ = {
            "shape": array.shape, "typestr": array.dtype.str, "data": (array.ctypes.data, False),
            "strides": strides, "version": 3, "stream": stream,
        }


class ByDlpack:
    """The same by DLPack, which also says in which order of streams it was asked for."""

    def __init__(self, array):
        self.array, self.asked = array, None

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, stream=None):
        self.asked = stream
        a, place = self.array, ctypes.POINTER(ctypes.c_int64)
        shape = (ctypes.c_int64 * a.ndim)(*a.shape)
        strides = (ctypes.c_int64 * a.ndim)(*(s // 8 for s in a.strides))
        self.keep = shape, _arrays._Tensor(a.ctypes.data, 2, 0, a.ndim, 2, 64, 1, ctypes.cast(shape, place),
                                           None if a.flags.c_contiguous else ctypes.cast(strides, place), 0)
        self.strides = strides
        new = ctypes.pythonapi.PyCapsule_New
        new.restype = ctypes.py_object
        new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.keep[1]), b"dltensor", None)


@pytest.mark.usefixtures("on_host")
@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("kind", [OnGpu, ByDlpack])
def test_gpu_columns(A, kind, order, monkeypatch):
    """Several right-hand sides on the same way; more than a group of them lie by columns."""
    monkeypatch.setattr(_library._state, "stream", 77)
    monkeypatch.setattr(_arrays, "wait_for", lambda stream: None)

    def there(array):
        strides = None if array.flags.c_contiguous else array.strides
        return OnGpu(array, strides=strides) if kind is OnGpu else ByDlpack(array)

    B = np.asarray(np.random.default_rng(3).standard_normal((A.shape[0], 35)), order=order)
    with poise.Solver(A, "cg", rtol=1e-9) as solver, poise.Solver(A, "minres", rtol=1e-6) as other:
        for solves in (solver, other):
            for k in (1, 2, 35):
                given = np.asarray(B[:, :k], order=order)
                x = np.zeros_like(given)
                if k == 35 and order == "C":
                    with pytest.raises(poise.InvalidArgument, match=r"\(400, 35\): on a GPU more than 32"):
                        solves.solve(there(given), out=there(x))
                    continue
                solves.solve(there(given), out=there(x))
                np.testing.assert_array_equal(x, solves.solve(given))
                solves.solve(there(given), there(x.copy(order="K")), out=there(x))
                assert solves.iterations <= 1
        x = np.zeros((A.shape[0], 3), order=order)
        with pytest.raises(poise.InvalidArgument, match=r"out is .* of \(400, 3\), .* of \(400, 2\)"):
            solver.solve(there(np.asarray(B[:, :2], order=order)), out=there(x))
        with pytest.raises(poise.InvalidArgument, match=r"b has the shape \(399, 2\); A has 400 rows"):
            solver.solve(there(np.asarray(B[1:, :2], order=order)), out=there(x))
        with pytest.raises(ValueError, match="contiguous"):
            apart = B[:, ::2]
            given = ByDlpack(apart) if kind is ByDlpack else OnGpu(apart, strides=apart.strides)
            solver.solve(given, out=there(x))


@pytest.mark.usefixtures("on_host")
def test_gpu_arrays_are_refused_on_the_host(A, b):
    for array in (OnGpu(b), ByDlpack(b)):
        with pytest.raises(poise.NotSupported, match="on a GPU"):
            poise.cg(A, array)


@pytest.mark.usefixtures("on_host")
@pytest.mark.parametrize("kind", [OnGpu, ByDlpack])
def test_gpu_path(A, b, kind, monkeypatch):
    """The way of arrays on a GPU, walked on the host. Streams and a GPU's memory are not tested by this."""
    waited = []
    monkeypatch.setattr(_library._state, "stream", 77)
    monkeypatch.setattr(_arrays, "wait_for", waited.append)
    x = np.zeros_like(b)
    given = kind(b)
    with poise.Solver(A, "cg", rtol=1e-9) as solver:
        solver.solve(given, out=kind(x))
        assert waited[-1] == 77
        np.testing.assert_array_equal(x, solver.solve(b))
        solver.solve(given, kind(x.copy()), out=kind(x))
        assert solver.iterations <= 1
        with pytest.raises(poise.NotSupported, match="give out="):
            solver.solve(given)
        for bad in (kind(b.astype(np.float32)) if kind is OnGpu else kind(b[:-1]), kind(b[:-1])):
            with pytest.raises(poise.InvalidArgument):
                solver.solve(bad, out=kind(x))
    if kind is ByDlpack:
        assert given.asked == 77
    else:
        _arrays.device_array(OnGpu(b, stream=5), "b")
        assert waited[-1] == 5
        with pytest.raises(ValueError, match="contiguous"):
            _arrays.device_array(OnGpu(b, strides=(16,)), "b")
    arrays = tuple(kind(a) for a in (A.data, A.indices, A.indptr)) if kind is OnGpu else None
    if arrays:
        M = poise.Matrix(arrays, shape=A.shape)
        check(A, M)
        M.update()
        y = np.zeros(A.shape[0])
        M.matvec(kind(b), out=kind(y))
        np.testing.assert_allclose(y, A @ b, rtol=1e-13, atol=1e-13)


@pytest.fixture
def cpu_as_gpu(monkeypatch):
    """Arrays of PyTorch and JAX go the way of those on a GPU. A GPU's memory is not tested by this."""
    _library.context()
    monkeypatch.setattr(_library._state, "stream", 77)
    monkeypatch.setattr(_arrays, "wait_for", lambda stream: None)
    monkeypatch.setattr(_arrays, "on_device", lambda array: _arrays.library_of(array) in ("torch", "jax"))
    seen = []

    def device_array(array, name):  # without a stream, as a CPU has none
        seen.append(_arrays._from_capsule(array.__dlpack__()))
        return seen[-1]

    monkeypatch.setattr(_arrays, "device_array", device_array)
    return seen


def as_torch(A, b):
    torch = pytest.importorskip("torch")
    return torch_csr(torch, A), torch.from_numpy(b)


def as_jax(A, b):
    jax = pytest.importorskip("jax")
    sparse = pytest.importorskip("jax.experimental.sparse")
    csr = sparse.BCSR(tuple(map(jax.numpy.asarray, (A.data, A.indices, A.indptr))), shape=A.shape)
    return csr, jax.numpy.asarray(b)


def wide_indices(T):
    if hasattr(T, "indptr"):
        return type(T)((T.data, T.indices.astype("int64"), T.indptr.astype("int64")), shape=T.shape)
    torch = pytest.importorskip("torch")
    return torch.sparse_csr_tensor(T.crow_indices().long(), T.col_indices().long(), T.values(), T.shape)


@pytest.mark.usefixtures("on_host")
@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("make", [as_torch, as_jax])
def test_cpu_as_gpu(A, b, make, cpu_as_gpu, request):
    if make is as_jax:
        request.getfixturevalue("jax64")
    T, right = make(A, b)
    for given in (right, make(A, np.stack([b, 2 * b], 1))[1]):
        with poise.Solver(T, "cg", rtol=1e-9) as solver:
            x = solver.solve(given)
            assert type(x) is type(given) and str(x.dtype) == str(right.dtype) and x.shape == given.shape
            same_solution(A, np.asarray(given), np.asarray(x))
            solver.solve(given, x)
            assert solver.iterations <= 1
            solver.update()
            y = solver.A @ right
            np.testing.assert_allclose(np.asarray(y), A @ b, rtol=1e-13, atol=1e-13)
    assert len(cpu_as_gpu) > 10
    single = right.float() if make is as_torch else right.astype("float32")
    x, info = poise.cg(T, single, rtol=1e-6)
    assert info == 0 and x.dtype == single.dtype
    same_solution(A, b, x, 2e-6)
    assert (poise.Matrix(T) @ single).dtype == single.dtype
    half = T.float() if make is as_torch else type(T)((T.data.astype("float32"), T.indices, T.indptr),
                                                      shape=A.shape)
    with pytest.warns(poise.CopyWarning, match="float32"):
        M = poise.Matrix(half)
    check(A, M)
    M.update()
    check(A, M)
    coo = T.to_sparse_coo() if make is as_torch else T.to_bcoo()
    check(A, poise.Matrix(coo))
    wide = wide_indices(T)
    with pytest.warns(poise.CopyWarning, match="not int32"):
        M = poise.Matrix(wide)
    check(A, M)
    number = M._number
    M.update()
    check(A, M)
    assert M._number == number and M._arrays[1].dtype == "<i4"
    for bad in (right[:-1], (right * 0 + 1).astype("int64") if make is as_jax else right.long()):
        with pytest.raises(poise.InvalidArgument):
            poise.Matrix(T).matvec(bad)

# SPDX-License-Identifier: BSD-3-Clause
"""update() after each way of changing a matrix: the new system is solved, or an exception says what to do."""
import gc
import sys
import warnings

import numpy as np
import poise
import pytest
import scipy.sparse as sp
from conftest import laplacian

pytestmark = pytest.mark.filterwarnings("ignore::poise.CopyWarning", "ignore::scipy.sparse.SparseWarning")


def forget():
    """signal.signal of Python 3.9.2 keeps the frames of its callers until garbage is collected."""
    if sys.version_info < (3, 10):
        gc.collect()


def rebind(A):
    A.data = A.data * 2


def rebind_narrow(A):
    A.data = (A.data * 2).astype(np.float32)


def in_place(A):
    A.data *= 2


def twice(A):
    A.data = A.data * 2
    A.data *= 2


def set_diagonal(A):
    A.setdiag(9.0)


def new_entry(A):
    A[0, 17] = A[17, 0] = 0.5


def old_entry(A):
    A[3, 3] = 7.0


def other_columns(A):
    """A pattern of the same length."""
    A.indices = A.indices.copy()
    A.indices[A.indptr[1] - 1] += 3


def other_columns_in_place(A):
    A.indices[A.indptr[1] - 1] += 3


def other_rows_in_place(A):
    """The last entry of row 0 becomes one of row 1, where it is added to another."""
    A.indptr[1] -= 1
    A.indices[A.indptr[1]] = 0


def zeros_removed(A):
    A.data[A.indices != np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))] = 0
    A.eliminate_zeros()


def wide(A):
    A.indices, A.indptr = A.indices.astype(np.int64), A.indptr.astype(np.int64)
    A.data = 3 * A.data


def unsorted(A):
    first = slice(A.indptr[1], A.indptr[2])
    A.indices[first], A.data[first] = A.indices[first][::-1].copy(), A.data[first][::-1].copy()
    A.data *= 2
    A.has_sorted_indices = False


CSR = [rebind, rebind_narrow, in_place, twice, set_diagonal, new_entry, old_entry, other_columns,
       other_columns_in_place, other_rows_in_place, zeros_removed, wide, unsorted]
OTHER = {
    "coo": [rebind, in_place, twice, set_diagonal],
    "csc": [rebind, in_place, set_diagonal, new_entry],
    "dia": [rebind, in_place, set_diagonal],
    "bsr": [rebind, in_place, twice],
    "lil": [new_entry, set_diagonal],
    "dok": [new_entry, set_diagonal],
}


def check(A, M, solver):
    n = A.shape[0]
    x = np.random.default_rng(4).standard_normal(n)
    exact = A.astype(float).toarray() if sp.issparse(A) else np.asarray(A, float)
    np.testing.assert_allclose(M @ x, exact @ x, rtol=1e-12, atol=1e-12)
    y = solver.solve(exact @ x)
    assert np.linalg.norm(exact @ (x - y)) <= 1e-9 * np.linalg.norm(exact @ x)


def follow(A, *changes):
    """A solver whose method is its preconditioner alone, so that a stale one is seen."""
    with poise.Matrix(A) as M, poise.Solver(M, "preonly", pc="lu") as solver:
        check(A, M, solver)
        for change in changes:
            change(A)
            solver.update()
            check(A, M, solver)


@pytest.mark.parametrize("change", CSR)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_csr(change, dtype):
    follow(laplacian(10).astype(dtype), change, in_place, change)


@pytest.mark.parametrize("format, change", [(f, change) for f in OTHER for change in OTHER[f]])
def test_converted(format, change):
    follow(laplacian(10).asformat(format), change, change)


@pytest.mark.parametrize("change", CSR)
def test_indices_of_other_widths(change):
    A = laplacian(10)
    A.indices, A.indptr = A.indices.astype(np.int64), A.indptr.astype(np.int64)
    follow(A, change, in_place)


def test_arrays_of_scipy():
    if hasattr(sp, "csr_array"):
        follow(sp.csr_array(laplacian(10)), rebind, in_place, new_entry)


def test_dense():
    def change(A):
        A[0, 17] = A[17, 0] = 0.5
        A *= 2

    follow(laplacian(10).toarray(), change, change)


def test_blocks_of_other_shapes():
    A = sp.bsr_matrix(laplacian(10), blocksize=(2, 5))
    follow(A, rebind, in_place)


def test_triple():
    """The arrays are the matrix."""
    A = laplacian(10)
    arrays = A.data, A.indices, A.indptr
    with poise.Matrix(arrays, shape=A.shape) as M, poise.Solver(M, "preonly", pc="lu") as solver:
        for change in (in_place, other_columns_in_place):
            change(A)
            solver.update()
            check(A, M, solver)
        B = 3 * A
        solver.update((B.data, B.indices, B.indptr))
        check(B, M, solver)


def test_many_changes_between():
    changes = rebind, new_entry, set_diagonal, zeros_removed
    follow(laplacian(10), lambda A: [change(A) for change in changes])


@pytest.mark.parametrize("first, second", [("csr", "bsr"), ("bsr", "csr"), ("csr", "coo"), ("bsr", "coo")])
def test_another_format(first, second):
    A, B = laplacian(10).asformat(first), (3 * laplacian(10)).asformat(second)
    with poise.Matrix(A) as M, poise.Solver(M, "preonly", pc="lu") as solver:
        solver.update(B)
        check(B, M, solver)
        rebind(B)
        solver.update()
        check(B, M, solver)


def test_the_users_arrays_stay():
    """update(B) and rebound arrays do not make the library write to what it was lent before."""
    A = laplacian(10)
    lent = A.data
    before = lent.copy()
    with poise.Solver(A, "preonly", pc="lu") as solver:
        for change in (rebind, rebind):
            change(A)
            solver.update()
        B = 5 * A
        values = B.data.copy()
        solver.update(B)
        A.data *= 2
        solver.update(A)
        check(A, solver.A, solver)
        np.testing.assert_array_equal(lent, before)
        np.testing.assert_array_equal(B.data, values)


def test_a_pattern_that_stays_is_kept():
    """Arrays that are rebound with the old pattern bring values alone: later ones do not make a matrix."""
    A = laplacian(10)
    with poise.Matrix(A) as M:
        rebind(A)
        M.update()
        handle = M._handle
        for change in (rebind, in_place, rebind_narrow):
            change(A)
            M.update()
        assert M._handle is handle
    A = laplacian(10).tocoo()
    with poise.Matrix(A) as M:
        handle = M._handle
        rebind(A)
        M.update()
        assert M._handle is handle


@pytest.mark.parametrize("format", ["csr", "coo", "bsr"])
def test_another_matrix_of_that_name(format):
    """A = 2 * A makes another matrix, of which the solver cannot know."""
    A = laplacian(10).asformat(format)
    with poise.Matrix(A) as M, poise.Solver(M, "preonly", pc="lu") as solver:
        A = 2 * A
        forget()
        with pytest.raises(poise.InvalidArgument, match=r"update\(A\)"):
            solver.update()
        solver.update(A)
        check(A, M, solver)
    with poise.Matrix([[2.0, 1.0], [1.0, 2.0]]) as M:
        with pytest.raises(poise.InvalidArgument, match=r"update\(A\)"):
            M.update()


@pytest.mark.parametrize("format", ["csr", "coo", "bsr", "dense"])
def test_what_cannot_be_taken(format):
    A, other = laplacian(10), laplacian(5)
    A, other, odd = (B.toarray() if format == "dense" else B.asformat(format) for B in (A, other, 1j * A))
    with poise.Matrix(A) as M, poise.Solver(M, "preonly", pc="lu") as solver:
        with pytest.raises(poise.InvalidArgument, match="shape"):
            solver.update(other)
        with pytest.raises(TypeError, match="complex"):
            solver.update(odd)
        with poise.Matrix(other) as N, pytest.raises(poise.NotSupported, match="poise.Matrix"):
            solver.update(N)
        with pytest.raises(poise.InvalidArgument, match="no P"):
            solver.update(P=A)
        solver.update()
        check(A, M, solver)


def test_resized():
    A = laplacian(10)
    with poise.Solver(A, "cg") as solver:
        A.resize((99, 99))
        with pytest.raises(poise.InvalidArgument, match="shape"):
            solver.update()


def test_blocks_made_from_rows():
    """A CSR matrix that is multiplied in blocks."""
    A = sp.kron(laplacian(6), [[2.0, 0.5], [0.5, 3.0]], "csr")
    A.sort_indices()
    with poise.Solver(A, "cg", pc="pbjacobi", rtol=1e-10, mat_type="bcsr", mat_block_size=2) as solver:
        for _ in range(2):
            assert solver.A.type == "bcsr"
            np.testing.assert_allclose(A @ solver.solve(np.ones(72)), np.ones(72), rtol=1e-7)
            A.data *= 2
            solver.update()


def test_values_of_the_preconditioners_matrix():
    A, P = laplacian(10), laplacian(10).tocoo()
    with poise.Solver(A, "preonly", pc="lu", P=P) as solver:
        solver.solve(np.ones(100))
        P.data = P.data * 4
        solver.update()  # P stays
        np.testing.assert_allclose(A @ solver.solve(np.ones(100)), np.ones(100), rtol=1e-9)
        solver.update(P=P)
        np.testing.assert_allclose(A @ solver.solve(np.ones(100)), np.full(100, 0.25), rtol=1e-9)


def test_diagonal_of_a_function():
    class Operator:
        shape, factor = (100, 100), 1.0

        def matvec(self, x):
            return self.factor * x

        def diagonal(self):
            return np.full(100, self.factor)

    A = Operator()
    with poise.Solver(A, "preonly", pc="jacobi") as solver:
        solver.solve(np.ones(100))
        A.factor = 4.0
        solver.update()
        np.testing.assert_allclose(solver.solve(np.ones(100)), np.full(100, 0.25))


def test_no_matrix_is_kept_alive():
    """What was copied may be deleted."""
    import weakref

    A = laplacian(10).tocoo()
    kept = weakref.ref(A)
    with poise.Solver(A, "cg") as solver:
        del A
        forget()
        assert kept() is None
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            solver.solve(np.ones(100))


def test_checksum():
    """Each write to a pattern is seen, wherever it is; so are exchanged neighbours, rows and halves."""
    from poise._csr import checksum

    rng = np.random.default_rng(5)
    for size in (0, 1, 7, 1017, 1018, 1019, 30000):
        a = rng.integers(0, 10**6, size).astype(np.int32)
        before = checksum(a)
        assert checksum(a.copy()) == before
        for at in rng.integers(0, size, 20 if size else 0):
            a[at] += 1
            assert checksum(a) != before
            a[at] -= 1
        for distance in (1, 5, 7, size // 2) if size > 20 else ():
            b = a.copy()
            b[:distance], b[distance:2 * distance] = a[distance:2 * distance], a[:distance]
            assert checksum(b) != before

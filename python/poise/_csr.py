# SPDX-License-Identifier: BSD-3-Clause
"""What users call a matrix, as CSR arrays."""
from __future__ import annotations

import sys
import zlib
from typing import Any, NamedTuple

import numpy as np

from . import _arrays
from ._library import InvalidArgument, NotSupported


class Csr(NamedTuple):
    """Arrays of any library and type. made: by `csr_of`, so that nobody else writes to them."""

    data: Any
    indices: Any
    indptr: Any
    shape: tuple[int, int]
    made: bool = False


def rank2(shape: Any) -> tuple[int, int]:
    if len(shape) != 2:
        raise InvalidArgument(f"a matrix has two dimensions, not {len(shape)}")
    return int(shape[0]), int(shape[1])


def square(shape: Any) -> int:
    """Rows of a matrix that must be square."""
    m, n = rank2(shape)
    if m != n:
        raise InvalidArgument(f"A has the shape {(m, n)}; it must be square")
    return n


def is_triple(A: Any) -> bool:
    """Is this (data, indices, indptr)?"""
    return isinstance(A, tuple) and len(A) == 3


def is_sparse(A: Any) -> bool:
    return hasattr(A, "tocsr") and hasattr(A, "format")


def has_square_blocks(A: Any) -> bool:
    return is_sparse(A) and A.format == "bsr" and A.blocksize[0] == A.blocksize[1] <= 32


def csr_of(A: Any) -> Csr | None:
    """The matrix where it is, if it is CSR, else a copy. None: it is a function."""
    if _arrays.library_of(A) == "torch":
        return _of_torch(A)
    if _arrays.library_of(A) == "jax" and hasattr(A, "n_batch"):
        return _of_jax(A)
    if is_sparse(A):
        C = A.tocsr()  # itself, if it is CSR
        return Csr(C.data, C.indices, C.indptr, rank2(A.shape), made=A.format != "csr")
    if hasattr(A, "matvec") and hasattr(A, "shape"):
        return None
    return _of_dense(A)


def _of_torch(A: Any) -> Csr:
    layout, shape = str(A.layout), rank2(A.shape)
    if layout == "torch.strided":
        return _of_dense(A)
    if layout not in ("torch.sparse_csr", "torch.sparse_coo", "torch.sparse_csc"):
        raise NotSupported(f"a tensor of layout {layout}; it can be sparse_csr, sparse_coo or sparse_csc")
    made = layout != "torch.sparse_csr"
    C = A.to_sparse_csr() if made else A
    values = C.values().clone() if made else C.values()  # those of COO are shared else
    return Csr(values, C.col_indices(), C.crow_indices(), shape, made)


def _of_jax(A: Any) -> Csr:
    if A.n_batch or A.n_dense:
        raise NotSupported(f"A is a {type(A).__name__} of {A.n_batch} batch and {A.n_dense} dense dimensions")
    shape, made = rank2(A.shape), not hasattr(A, "indptr")
    if made:
        A = sys.modules["jax"].experimental.sparse.BCSR.from_bcoo(A.sum_duplicates(remove_zeros=False))
    mine = made and not _arrays.on_device(A.data)
    data = np.array(A.data) if mine else A.data  # as JAX's are never written to
    return Csr(data, A.indices, A.indptr, shape, made)


def _of_dense(A: Any) -> Csr:
    dense = _arrays.real(A, "A")
    m, n = rank2(dense.shape)
    rows, cols = np.nonzero(dense)
    ptr = np.zeros(m + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=m), out=ptr[1:])
    return Csr(dense[rows, cols], cols.astype(np.int32), ptr, (m, n), made=True)


def indices_on_host(array: Any) -> Any:
    if _arrays.library_of(array) == "jax" or isinstance(array, (np.ndarray, list, tuple)):
        return np.asarray(array)
    return _arrays.host_array(array, "A")


_LANES = 509  # a prime, so that rows of a mesh do not fall into step with it


def checksum(*arrays: Any) -> bytes:
    """Of contiguous arrays: it tells whether they have been written to. Words of 64 bits with equal places
    modulo 509 are added, which takes as long as reading them does. The rest has a CRC."""
    sums = b""
    for array in arrays:
        data = array.reshape(-1).view(np.uint8)
        end = data.size // (8 * _LANES) * 8 * _LANES
        words = data[:end].view(np.uint64).reshape(-1, _LANES)
        sums += words.sum(axis=0).tobytes() + zlib.crc32(data[end:]).to_bytes(4, "little")
    return sums


def canonical(arrays: list[Any], shape: tuple[int, int]) -> list[Any] | None:
    """A copy of CSR arrays with sorted rows, repeated entries summed. None: they were sorted."""
    from scipy.sparse import csr_matrix

    data, indices, indptr = arrays
    outside = indices.size > 0 and (indices.min() < 0 or indices.max() >= shape[1])
    if outside or indptr[0] != 0 or (np.diff(indptr) < 0).any():
        return None
    A = csr_matrix((data, indices, indptr), shape=shape, copy=True)
    A.has_canonical_format = A.has_sorted_indices = False  # look again
    A.sum_duplicates()
    if A.nnz == indices.size and np.array_equal(A.indices, indices):
        return None
    return [A.data, A.indices, A.indptr]

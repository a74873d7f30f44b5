# SPDX-License-Identifier: BSD-3-Clause
"""Matrices of finite elements: the sums of element matrices, with unknowns that are held."""
from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _library
from . import _declarations as c
from ._library import InvalidArgument, NotSupported, context, lib, locked
from ._matrix import Matrix


class _Numpy:
    """What an assembly asks of an array library: NumPy, CuPy, or JAX."""

    def __init__(self, xp: Any):
        self.xp = xp

    def integers(self, a: Any) -> Any:
        return self.xp.asarray(a, dtype="int64")

    def reals(self, a: Any) -> Any:
        return self.xp.asarray(a, dtype="float64")

    def over(self, a: Any, shape: tuple[int, ...]) -> Any:
        return self.xp.broadcast_to(a, shape).reshape(-1)

    def axes(self, a: Any, order: tuple[int, ...]) -> Any:
        return self.xp.transpose(a, order).reshape(-1)

    def join(self, a: Any, b: Any) -> Any:
        return self.xp.concatenate([a, b])

    def add(self, to: Any, at: Any, values: Any) -> Any:
        """A copy of `to`, with values added in places that may repeat."""
        if hasattr(to, "at"):
            return to.at[at].add(values)
        result = to.copy()
        self.xp.add.at(result, at, values)
        return result

    def put(self, to: Any, at: Any, values: Any) -> Any:
        """A copy of `to`, with values in some places."""
        if hasattr(to, "at"):
            return to.at[at].set(values)
        result = to.copy()
        result[at] = values
        return result


class _Torch:
    """The same of PyTorch."""

    def __init__(self, like: Any):
        self.torch, self.device = sys.modules["torch"], like.device

    def integers(self, a: Any) -> Any:
        return self.torch.as_tensor(a, dtype=self.torch.int64, device=self.device)

    def reals(self, a: Any) -> Any:
        return self.torch.as_tensor(a, dtype=self.torch.float64, device=self.device)

    def over(self, a: Any, shape: tuple[int, ...]) -> Any:
        return a.expand(shape).reshape(-1)

    def axes(self, a: Any, order: tuple[int, ...]) -> Any:
        return a.permute(order).reshape(-1).contiguous()

    def join(self, a: Any, b: Any) -> Any:
        return self.torch.cat([a, b])

    def add(self, to: Any, at: Any, values: Any) -> Any:
        return to.index_add(0, at, values)

    def put(self, to: Any, at: Any, values: Any) -> Any:
        return to.index_put((at,), values)


def _tools(a: Any) -> Any:
    """Of the library that works where the array is; NumPy's on the host."""
    if not _arrays.on_device(a):
        return _Numpy(np)
    library = _arrays.library_of(a)
    if library == "torch":
        return _Torch(a)
    if library == "cupy":
        return _Numpy(sys.modules["cupy"])
    if library == "jax":
        return _Numpy(sys.modules["jax"].numpy)
    raise NotSupported(f"element matrices on a GPU are those of cupy, torch and jax, not of {library}")


class Assembled(Matrix):
    """A matrix that `assemble` has made. `update` takes other element matrices."""

    _held: NDArray[np.int64]
    _blocks: Any = None

    def __init__(self, *_: Any, **__: Any):
        raise TypeError("poise.assemble makes such matrices")

    def _build(self, elements: Any, nodes: int | None, b: int, fixed: Any, settings: Any) -> None:
        self._settings, self._spaces, self._b = settings, {}, b
        self._source = lambda: None
        conn = elements if _arrays.on_device(elements) else _arrays.host_array(elements, "the elements")
        if conn.ndim != 2:
            raise InvalidArgument(f"elements have the shape (elements, nodes), not {tuple(conn.shape)}")
        if "int" not in str(conn.dtype):
            raise TypeError(f"the elements are {conn.dtype}; nodes are numbered by integers")
        self._tools = t = _tools(conn)
        self._made_of = _arrays.library_of(conn) if _arrays.on_device(conn) else ""
        self._conn = conn = t.integers(conn)
        least, most = (int(conn.min()), int(conn.max())) if conn.shape[0] and conn.shape[1] else (0, -1)
        if nodes is None:
            nodes = _library.most(most + 1)
        if least < 0 or most >= nodes:
            raise InvalidArgument(f"elements have node {least if least < 0 else most}; there are {nodes}")
        self._held = np.unique(self._unknowns(fixed, nodes * b))
        self._mask(nodes * b)
        begin, count = ctypes.c_int64(), ctypes.c_int64()
        lib.PoiseSplit(context(), nodes, ctypes.byref(begin), ctypes.byref(count))
        self._owns(begin.value, begin.value + count.value)
        handle = c.PoiseMat()
        m, M = count.value * b, nodes * b
        lib.PoiseMatCreate(context(), m, m, M, M, ctypes.byref(handle))
        self._finish(handle, [], "assembled", (m, M))
        self._pattern()

    def _unknowns(self, fixed: Any, n: int) -> NDArray[np.int64]:
        """Their numbers, from a mask or from numbers."""
        if fixed is None:
            return np.empty(0, np.int64)
        given = _arrays.host_array(fixed.cpu() if hasattr(fixed, "cpu") else fixed, "fixed")
        given = np.asarray(given).reshape(-1)
        if given.dtype == np.bool_:
            if given.size != n:
                raise InvalidArgument(f"fixed is a mask of {given.size} unknowns; there are {n}")
            return np.flatnonzero(given).astype(np.int64)
        if given.dtype.kind not in "iu":
            raise TypeError(f"fixed is {given.dtype}; it must be a mask, or numbers of unknowns")
        if given.size and (given.min() < 0 or given.max() >= n):
            wrong = given.max() if given.max() >= n else given.min()
            raise InvalidArgument(f"fixed has unknown {wrong}; there are {n}")
        return given.astype(np.int64)

    def _mask(self, n: int) -> None:
        """What entries of an element are multiplied by; None: nothing is held."""
        t, b = self._tools, self._b
        self._at = self._conn[:, :, None] * b + t.integers(np.arange(b))
        self._at = self._at.reshape(self._conn.shape[0], self._conn.shape[1] * b)
        self._free = None
        if self._held.size:
            keep = np.ones(n)
            keep[self._held] = 0
            self._free = t.reals(keep)[self._at]

    def _owns(self, begin: int, end: int) -> None:
        """Blocks that have 1 on the diagonal of held unknowns of this rank's nodes."""
        b = self._b
        mine = self._held[(self._held >= begin * b) & (self._held < end * b)]
        self._ends = np.unique(mine // b)
        ones = np.zeros((self._ends.size, b, b))
        ones[np.searchsorted(self._ends, mine // b), mine % b, mine % b] = 1
        self._ones = self._tools.reals(ones.reshape(-1))

    def _pattern(self) -> None:
        t, conn, b = self._tools, self._conn, self._b
        E, n = conn.shape
        ends = t.integers(self._ends)
        rows = t.join(t.over(conn[:, :, None], (E, n, n)), ends)
        cols = t.join(t.over(conn[:, None, :], (E, n, n)), ends)
        kind = "Device" if _arrays.on_device(rows) else ""
        function = f"PoiseMatSet{'Block' if b > 1 else ''}Pattern{kind}COO"
        getattr(lib, function)(self._get(), E * n * n + self._ends.size, *map(_pointer, (rows, cols)))
        if kind:
            _arrays.wait_for(_library.stream() or 0)  # until here the indices are needed

    @locked
    def update(self, A: Any = None) -> None:
        """Take other element matrices, of the same elements.

        Parameters
        ----------
        A
            Of shape (elements, k, k), with k unknowns of an element: those of its first node, of its second,
            and so on. Where the elements are on a GPU, these are too.
        """
        self._get()
        t, b = self._tools, self._b
        E, n = self._conn.shape
        if _arrays.on_device(A) != _arrays.on_device(self._conn):
            raise InvalidArgument("element matrices and elements must be on the same device")
        given = A if _arrays.on_device(A) else _arrays.host_array(A, "the element matrices")
        if "complex" in str(given.dtype):
            raise TypeError(f"element matrices are complex ({given.dtype}); Poise solves real systems")
        blocks = t.reals(given)
        shape = (E, n * b, n * b)
        if tuple(blocks.shape) != shape:
            raise InvalidArgument(f"element matrices have the shape {shape}, not {tuple(blocks.shape)}")
        self._blocks = blocks
        if self._free is not None:
            blocks = blocks * self._free[:, :, None] * self._free[:, None, :]
        values = t.join(t.axes(blocks.reshape(E, n, b, n, b), (0, 1, 3, 4, 2)), self._ones)
        kind = "Device" if _arrays.on_device(values) else ""
        getattr(lib, f"PoiseMatSetValues{kind}COO")(self._get(), _pointer(values))
        if kind:
            _arrays.wait_for(_library.stream() or 0)

    def hold(self, b: Any, values: Any = 0.0) -> Any:
        """The right-hand side with which the solution has these values in the held unknowns, on one rank.

        Parameters
        ----------
        b
            Of shape (n,), where the element matrices are.
        values
            A number, or one for each held unknown, in the order of their numbers.
        """
        if _library.ranks() > 1:
            raise NotSupported("hold is for one rank: on several the known terms are those of all elements")
        t = self._tools
        held = t.integers(self._held)
        known = t.reals(np.zeros(self.shape[0]))
        given = t.reals(values)
        known = t.put(known, held, given if given.ndim else given + t.reals(np.zeros(self._held.size)))
        terms = (self._blocks @ known[self._at][:, :, None]).reshape(-1)
        result = t.add(t.reals(b), self._at.reshape(-1), -terms)
        return t.put(result, held, known[held])


def _pointer(array: Any) -> int:
    if _arrays.on_device(array):
        return _arrays.device_array(array, "an array of an assembly").pointer
    return int(array.ctypes.data)


@locked
def assemble(
    elements: Any,
    matrices: Any,
    nodes: int | None = None,
    *,
    unknowns: int = 1,
    fixed: Any = None,
    type: str | None = None,
    options: str = "",
    **keywords: Any,
) -> Assembled:
    """The sum of element matrices, as a matrix. On a GPU it is made there.

    On several ranks each has some elements, with numbers of all nodes. Rows are divided evenly.

    Parameters
    ----------
    elements
        Nodes of each element, of shape (elements, nodes of one), from 0.
    matrices
        Element matrices of shape (elements, k, k), with k = nodes of one * unknowns: those of the first node
        of an element, of its second, and so on. Both arrays are of NumPy, or of PyTorch, JAX or CuPy, on the
        host or on the GPU that the library works on.
    nodes
        How many there are. Default: one more than the largest number.
    unknowns
        Of a node. From 2 on the matrix has blocks (type bcsr).
    fixed
        Unknowns that are held, as a mask of all or as numbers: node * unknowns + component. Their rows and
        columns are those of the identity, so symmetry stays; `Assembled.hold` makes the right-hand side.
    type, options, **keywords
        As of `Matrix`.
    """
    context()
    settings = (type or ("bcsr" if unknowns > 1 else None), unknowns, _library.options_of(options, keywords))
    A = object.__new__(Assembled)
    A._build(elements, nodes, unknowns, fixed, settings)
    A.update(matrices)
    return A

# SPDX-License-Identifier: BSD-3-Clause
"""Matrices: SciPy's, arrays on a GPU, and functions, as the library's."""
from __future__ import annotations

import ctypes
import itertools
import warnings
import weakref
from typing import Any

import numpy as np

from . import _arrays, _library
from . import _declarations as c
from ._arrays import DeviceArray, Float, Vector
from ._csr import Csr, canonical, checksum, csr_of, has_square_blocks, indices_on_host, is_sparse, is_triple
from ._csr import rank2
from ._library import CopyWarning, InvalidArgument, NotSupported, context, lib, locked

_PLACES = "PoiseMatSetCoordinates"

_IN_PLACE, _TO_A_COPY, _ANEW = range(3)  # how new values are taken

# int32 of indices on a GPU, by their own libraries
_NARROW: dict[str, Any] = {
    "torch": lambda a: a.int(), "cupy": lambda a: a.astype("int32"), "jax": lambda a: a.astype("int32"),
}

_numbers = itertools.count()


class Handle:
    """An object of the library: what destroys it, and when."""

    _destroy: str
    _handle: Any = None

    def _keep(self, handle: Any) -> None:
        self._handle, self._number = handle, next(_numbers)
        _library.register(self)

    def _get(self) -> Any:
        if self._handle is None:
            raise _library.CallOrder(f"this {type(self).__name__} is closed")
        context()
        return self._handle

    @locked
    def close(self) -> None:
        """Release the library's object. On several ranks call it on all of them; else it goes with the last
        reference."""
        handle, self._handle = self._handle, None
        if handle is not None and _library.usable():
            getattr(lib, self._destroy)(ctypes.byref(handle))

    def __reduce_ex__(self, _protocol: Any) -> Any:
        """Called by pickle, copy.copy and copy.deepcopy."""
        name = type(self).__name__
        raise TypeError(
            f"a poise.{name} cannot be copied or pickled: it refers to memory of this process. Copy or send "
            f"the matrix and the settings that it was made with, and make another poise.{name} of them there"
        )

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        try:
            with _library.aside():
                self.close()
        except Exception:  # the interpreter may be ending
            pass


def _told(why: str) -> None:
    warnings.warn(why, CopyWarning, stacklevel=2)


def _pointer(array: Any) -> int:
    return array.pointer if isinstance(array, DeviceArray) else array.ctypes.data


class Matrix(Handle):
    """A sparse matrix, made once for products and solvers.

    Parameters
    ----------
    A
        One of these, of shape (m, n):

        - A CSR matrix or array of SciPy. With sorted rows, int32 indices and float64 values it is used where
          it is, and nothing is copied. Other widths, unsorted rows and repeated entries are copied once, of
          which a CopyWarning tells. The user's arrays are never changed.
        - BSR (kept as dense blocks, matrix type bcsr), COO, CSC and all others: copied.
        - A sparse matrix of PyTorch or JAX (BCSR, BCOO), of which CSR is used where it is.
        - A CSR matrix of CuPy, PyTorch or JAX on the GPU that the library works on.
        - ``(data, indices, indptr)`` with ``shape``. New values are written to these very arrays.
        - A dense array of two dimensions.
        - A ``scipy.sparse.linalg.LinearOperator``, or another object with ``shape`` and ``matvec``.

        On several ranks A holds the rows of this rank, with global columns. Of a function both sizes of
        ``shape`` are then local.
    type
        Storage of the product: ``"auto"``, ``"csr"``, ``"csri"``, ``"seg"`` or ``"bcsr"``.
    block_size
        Unknowns of a node. Default: 1, of BSR that of its blocks.
    null_space, near_null_space, coordinates
        See `set_null_space`, `set_near_null_space` and `set_coordinates`.
    options, **keywords
        More options, as text and as keywords: ``mat_order="rcm"``.
    """

    _destroy = "PoiseMatDestroy"
    _made_of = ""  # the library whose arrays on the GPU it was made of

    @locked
    def __init__(
        self,
        A: Any,
        *,
        shape: tuple[int, int] | None = None,
        type: str | None = None,
        block_size: int | None = None,
        null_space: Any = None,
        near_null_space: Any = None,
        coordinates: Any = None,
        options: str = "",
        **keywords: Any,
    ):
        context()
        self._settings = (type, block_size, _library.options_of(options, keywords))
        self._spaces: dict[str, Any] = {}
        if not is_triple(A):
            self._from(A)
        elif shape is None:
            raise InvalidArgument("(data, indices, indptr) needs shape")
        else:
            self._from_csr(Csr(*A, rank2(shape)))
        self._follow(A)
        if null_space is not None:
            self.set_null_space(null_space)
        if near_null_space is not None:
            self.set_near_null_space(near_null_space)
        if coordinates is not None:
            self.set_coordinates(coordinates)

    # ---- making ----

    def _from(self, A: Any) -> None:
        if has_square_blocks(A):
            self._from_bsr(A)
            return
        csr = csr_of(A)
        if csr is None:
            self._from_operator(A)
            return
        if is_sparse(A) and A.format not in ("csr", "coo", "bsr"):
            _told(f"the matrix is in {A.format.upper()} format, and is copied to CSR")
        self._from_csr(csr)

    def _follow(self, A: Any) -> None:
        """Remember where `update` finds new values. This keeps no matrix alive: if it is gone, the user's
        name for it may stand for another one, and `update` must ask for that."""
        try:
            self._source = (lambda: A) if is_triple(A) else weakref.ref(A)
        except TypeError:  # a list
            self._source = lambda: None

    def _from_csr(self, csr: Csr, tell: bool = True) -> None:
        """Lend the arrays if they fit, else lend a copy."""
        data, indices, indptr, shape, made = csr
        why = []
        if _arrays.on_device(data):
            if _arrays.is_single(data):
                data = _arrays.double(data)
                why.append("its values are float32")
            arrays = [_arrays.device_array(a, "A") for a in (data, indices, indptr)]
            if arrays[0].dtype != "<f8":
                raise TypeError(
                    f"the values of A on the GPU are {arrays[0].dtype}; they can be float64 or float32, and "
                    'for JAX need jax.config.update("jax_enable_x64", True)'
                )
            self._given, self._made_of = tuple(arrays), _arrays.library_of(data)
            wide = [k for k in (1, 2) if arrays[k].dtype == "<i8"]
            if wide and max(*shape, *arrays[0].shape) < 2**31 and _arrays.library_of(data) in _NARROW:
                for k in wide:
                    arrays[k] = _arrays.device_array(_NARROW[_arrays.library_of(data)](csr[k]), "A")
                why.append("its indices are not int32")
        else:
            self._made_of = ""
            values = _arrays.host_array(data, "A")
            arrays = [_arrays.real(values, "A")]
            if arrays[0] is not values and not np.shares_memory(arrays[0], values):
                why.append(f"its values are {values.dtype}" if values.dtype != np.float64 else
                           "its values are not contiguous")
            for name, array in (("indices", indices), ("indptr", indptr)):
                given = np.asarray(indices_on_host(array))
                if given.dtype.kind not in "iu":
                    raise TypeError(f"the {name} of A are {given.dtype}; they must be integers")
                known = given.dtype.isnative and given.dtype in (np.int32, np.int64)
                fits = known and given.flags.c_contiguous
                arrays.append(given if fits else np.ascontiguousarray(given, dtype=np.int64))
            m = shape[0]
            if arrays[2].ndim != 1 or arrays[2].size != m + 1:
                raise InvalidArgument(f"indptr has {arrays[2].size} entries; {m} rows need {m + 1}")
            entries = int(arrays[2][-1])
            if entries < 0 or arrays[0].size < entries or arrays[1].size < entries:
                raise InvalidArgument(
                    f"indptr ends with {entries}, but there are {arrays[0].size} values and "
                    f"{arrays[1].size} indices"
                )
            if arrays[1].dtype == np.int64:
                why.append("its indices are not int32")
        try:
            self._lend(arrays, shape)
        except InvalidArgument:
            if isinstance(arrays[0], DeviceArray):
                raise
            copy = canonical(arrays, shape)
            if copy is None:  # something else is wrong
                raise
            why.append("its rows are not sorted, or have repeated entries")
            arrays = copy
            self._lend(arrays, shape)
        copied = isinstance(arrays[0], DeviceArray) or not np.may_share_memory(arrays[0], values)
        self._owns_values = made or bool(why) and copied
        if why and tell and not made:
            _told("the matrix could not be used where it is, and was copied once: " + "; ".join(why))

    def _lend(self, arrays: list[Any], shape: tuple[int, int]) -> None:
        data, indices, indptr = arrays
        wide = [a.dtype in ("<i8", np.int64) if isinstance(a, DeviceArray) else a.dtype == np.int64
                for a in (indices, indptr)]
        csr = c.PoiseCSR(val=_pointer(data))
        setattr(csr, "col64" if wide[0] else "col32", _pointer(indices))
        setattr(csr, "ptr64" if wide[1] else "ptr32", _pointer(indptr))
        m, n = shape
        create = lib.PoiseMatCreateDeviceCSR if isinstance(data, DeviceArray) else lib.PoiseMatCreateCSR
        alone = _library.ranks() == 1
        handle = c.PoiseMat()
        create(context(), m, n if alone else m, m if alone else c.POISE_DECIDE, n, ctypes.byref(csr),
               c.POISE_BORROW, ctypes.byref(handle))
        self._finish(handle, arrays, "csr", shape)
        self._owns_values = False
        if not isinstance(data, DeviceArray):
            self._checksum = checksum(indices, indptr)

    def _from_bsr(self, A: Any) -> None:
        if not A.has_canonical_format:
            A = A.copy()
            A.sum_duplicates()
        b = int(A.blocksize[0])
        data = _arrays.real(A.data, "A")
        data = np.ascontiguousarray(data)
        indices, indptr = (np.ascontiguousarray(a, np.int64) for a in (A.indices, A.indptr))
        bcsr = c.PoiseBCSR(row_major=1, val=data.ctypes.data)
        bcsr.ptr64, bcsr.col64 = indptr.ctypes.data, indices.ctypes.data
        shape = m, n = rank2(A.shape)
        alone = _library.ranks() == 1
        handle = c.PoiseMat()
        lib.PoiseMatCreateBCSR(context(), b, m, n if alone else m, m if alone else c.POISE_DECIDE, n,
                               ctypes.byref(bcsr), c.POISE_COPY, ctypes.byref(handle))
        self._finish(handle, [], "bsr", shape)

    def _from_operator(self, A: Any) -> None:
        """A shell. The functions know the operator, not this object, which would then never be released."""
        m, n = rank2(A.shape)
        self._made_of = "cupy" if _arrays.works_on_cupy(A) else ""
        if np.dtype(getattr(A, "dtype", None) or np.float64).kind == "c":
            raise TypeError("A is complex; Poise solves real systems")

        def mult(_: Any, x: Any, y: Any) -> None:
            _arrays.apply(A.matvec, A, x, y, "A.matvec(x)")

        def transpose(_: Any, x: Any, y: Any) -> None:
            _arrays.apply(A.rmatvec, A, x, y, "A.rmatvec(x)")

        def diagonal(_: Any, d: Any) -> None:
            _arrays.write(d, A.diagonal(), "A.diagonal()")

        functions = c.PoiseShell()
        kinds = dict(c.PoiseShell._fields_)
        functions.mult = kinds["mult"](_library.guarded(mult))
        functions.mult_transpose = kinds["mult_transpose"](_library.guarded(transpose))
        if hasattr(A, "diagonal"):
            functions.diagonal = kinds["diagonal"](_library.guarded(diagonal))
        handle = c.PoiseMat()
        alone = _library.ranks() == 1
        M, N = (m, n) if alone else (c.POISE_DECIDE, c.POISE_DECIDE)
        lib.PoiseMatCreateShell(context(), m, n, M, N, ctypes.byref(functions), None, ctypes.byref(handle))
        self._finish(handle, [functions, A], "shell", (m, n))

    def _finish(self, handle: Any, arrays: list[Any], kind: str, shape: tuple[int, int]) -> None:
        """Give the library's object type and options. Then it takes the place of a former one, and what it
        has borrowed that of what the former had."""
        type, block_size, options = self._settings
        try:
            if options:
                lib.PoiseMatSetOptionsPrefix(handle, _library.prefix_of(options).encode())
            if block_size is not None:
                lib.PoiseMatSetBlockSize(handle, block_size)
            if type is not None:
                lib.PoiseMatSetType(handle, type.encode())
            if options:
                lib.PoiseMatSetFromOptions(handle)
            for setter, vectors in self._spaces.items():
                _set_space(setter, handle, vectors)
        except BaseException:
            lib.PoiseMatDestroy(ctypes.byref(handle))
            raise
        self.close()
        self._arrays, self._kind, self.shape = arrays, kind, shape
        self._keep(handle)

    # ---- new values ----

    @locked
    def update(self, A: Any = None) -> None:
        """Take new values.

        Parameters
        ----------
        A
            A matrix of the same shape, or ``(data, indices, indptr)``. If it has the pattern of the present
            one, only its values are taken, and solvers keep what they can.

            None: the matrix that was given last has changed. Its arrays may be others than before, and so may
            its pattern; what was copied is copied again. Not so with ``A = 2 * A``, which makes another
            matrix, and with a list: then InvalidArgument. Indices on a GPU that have been written to in place
            are not seen: give new arrays.
        """
        self._get()
        if self._kind == "shell":
            if A is not None:
                raise NotSupported("a matrix that is a function follows that function: it takes no values")
            return
        if isinstance(A, Matrix):
            raise NotSupported("update takes a matrix of SciPy, or arrays, not a poise.Matrix")
        given = self._source() if A is None else A
        if given is None:
            raise InvalidArgument(
                "the matrix of before is gone, or was a list: give the one with the new values, update(A)"
            )
        shape = self.shape if is_triple(given) else rank2(np.shape(given))
        if shape != self.shape:
            raise InvalidArgument(f"the new matrix has the shape {shape}, the present one {self.shape}")
        if is_triple(given):
            csr: Csr | None = Csr(*given, shape)
        else:
            csr = None if has_square_blocks(given) else csr_of(given)
        if csr is None:
            self._from(given)
        else:
            self._take(csr)
        self._follow(given)

    def _take(self, csr: Csr) -> None:
        """New values where they are; or in a copy, as the library may not write to the user's; or anew."""
        how, pointer = _ANEW, 0
        if self._kind == "csr" and self.type != "bcsr" and self._same(csr):  # blocks are made anew
            present = self._arrays[0]
            values = present if isinstance(present, DeviceArray) else _arrays.real(csr.data, "A")
            pointer = _pointer(values)
            how = _IN_PLACE if self._owns_values or pointer == _pointer(present) else _TO_A_COPY
        how = _library.most(how)
        if how == _ANEW:
            self._from_csr(csr, tell=False)
        elif how == _IN_PLACE:
            lib.PoiseMatSetValuesCSR(self._get(), pointer)
        else:
            self._lend([values.copy(), *self._arrays[1:]], self.shape)
            self._owns_values = True

    def _same(self, csr: Csr) -> bool:
        """Is this the pattern that the library has, in the order that it has it in? On a GPU: are these the
        arrays that it has?"""
        mine = self._arrays
        theirs = [csr.data, csr.indices, csr.indptr]
        if isinstance(mine[0], DeviceArray) != _arrays.on_device(csr.data):
            return False
        if isinstance(mine[0], DeviceArray):
            return all(
                _arrays.on_device(a) and _arrays.device_array(a, "A")[:3] == b[:3]
                for a, b in zip(theirs, self._given)
            )
        same_size = _arrays.host_array(csr.data, "A").size == mine[0].size
        equal = same_size and all(a is b or np.array_equal(a, b) for a, b in zip(theirs[1:], mine[1:]))
        return equal and checksum(*mine[1:]) == self._checksum

    # ---- spaces ----

    @locked
    def set_null_space(self, vectors: Any, transpose: bool = False) -> None:
        """Say which vectors A makes zero.

        Parameters
        ----------
        vectors
            ``"constant"``, or an array of shape (n,) or (n, k). On one rank the vectors need not be
            orthonormal. None: there are none.
        transpose
            They are those of the transpose of A.
        """
        setter = "PoiseMatSetTransposeNullSpace" if transpose else "PoiseMatSetNullSpace"
        self._set_space(setter, vectors, self.shape[0] if transpose else self.shape[1])

    @locked
    def set_near_null_space(self, vectors: Any) -> None:
        """Say which vectors A makes small, such as the rigid motions of a body: shape (n, k), or None."""
        self._set_space("PoiseMatSetNearNullSpace", vectors, self.shape[1])
        self._spaces.pop(_PLACES, None)

    @locked
    def set_coordinates(self, places: Any) -> None:
        """Say where the nodes are: shape (nodes, dimension). A node with as many unknowns as dimensions gets
        the rigid motions as its near null space, for ``amg``; a node with one unknown needs none."""
        places = _arrays.real(places, "the coordinates")
        if places.ndim != 2:
            raise InvalidArgument(f"coordinates have the shape (nodes, dimension), not {places.shape}")
        places = np.ascontiguousarray(places)
        _set_space(_PLACES, self._get(), places)
        self._spaces.pop("PoiseMatSetNearNullSpace", None)
        self._spaces[_PLACES] = places

    def _set_space(self, setter: str, vectors: Any, n: int) -> None:
        if isinstance(vectors, str):
            if vectors != "constant":
                raise InvalidArgument(f"a null space is 'constant' or an array, not '{vectors}'")
        elif vectors is not None:
            vectors = _arrays.real(vectors, "the null space")
            vectors = vectors.reshape(-1, 1) if vectors.ndim == 1 else vectors
            if vectors.ndim != 2 or _library.ranks() == 1 and vectors.shape[0] != n:
                raise InvalidArgument(f"vectors of a null space have the shape ({n}, k), not {vectors.shape}")
            if _library.ranks() == 1:
                vectors = np.linalg.qr(vectors)[0]
        _set_space(setter, self._get(), vectors)
        self._spaces[setter] = vectors

    # ---- products ----

    @property
    def dtype(self) -> np.dtype[Any]:
        """float64."""
        return np.dtype(np.float64)

    @property
    def nnz(self) -> int:
        """Entries that are stored, on all ranks."""
        count = ctypes.c_int64()
        lib.PoiseMatNonzeros(self._get(), ctypes.byref(count))
        return count.value

    @property
    def type(self) -> str:
        """The type that the library has chosen, such as "csri"."""
        return (lib.PoiseMatType(self._get()) or b"").decode()

    @locked
    def _product(self, function: str, x: Any, sizes: tuple[int, int], out: Any) -> Any:
        handle = self._get()
        m, n = sizes
        if _arrays.on_device(x):
            given = _arrays.device_array(_arrays.double(x), "x")
            result = _arrays.empty_like(x, (m,)) if out is None else out
            y = _arrays.device_array(result, "out")
            for name, array, size in (("x", given, n), ("out", y, m)):
                if array.dtype != "<f8" or array.shape != (size,):
                    raise InvalidArgument(
                        f"{name} is {array.dtype} of {array.shape}, not float64 of ({size},)"
                    )
            _apply(function, handle, given, y)
            return _arrays.single(result) if out is None and _arrays.is_single(x) else result
        a = _arrays.real(x, "x")
        if a.shape not in ((n,), (n, 1)):
            raise InvalidArgument(f"x has the shape {a.shape}, not ({n},)")
        shape = (m,) + a.shape[1:]
        z = np.empty(shape) if out is None else _arrays.output(out, shape)
        if out is not None and np.may_share_memory(a, z):
            a = a.copy()
        _apply(function, handle, a, z)
        return _arrays.like(x, z) if out is None else out

    def matvec(self, x: Any, out: Any = None) -> Any:
        """y = A x, of shape (m,), for x of shape (n,); or (m, 1) for (n, 1)."""
        return self._product("PoiseMatMult", x, self._sizes(), out)

    def rmatvec(self, x: Any, out: Any = None) -> Any:
        """y = A^T x, of shape (n,), for x of shape (m,)."""
        return self._product("PoiseMatMultTranspose", x, self._sizes()[::-1], out)

    def __matmul__(self, x: Any) -> Any:
        if getattr(x, "ndim", 1) != 2 or x.shape[1] == 1:
            return self.matvec(x)
        if _arrays.on_device(x):
            raise NotSupported(f"x has the shape {tuple(x.shape)}; on a GPU it must be one vector")
        y = np.empty((self._sizes()[0], x.shape[1]))
        for j, column in enumerate(_arrays.real(x, "x").T):
            y[:, j] = self.matvec(column)
        return _arrays.like(x, y)

    def diagonal(self) -> Float:
        """The diagonal, of shape (m,)."""
        with _library._lock:
            m = self._sizes()[0]
            out = np.empty(m)
            with Vector(out, m, c.POISE_DECIDE) as d:
                lib.PoiseMatGetDiagonal(self._get(), d)
            return out

    def _sizes(self) -> tuple[int, int]:
        """Rows and columns of this rank."""
        m, n = ctypes.c_int64(), ctypes.c_int64()
        lib.PoiseMatLocalSizes(self._get(), ctypes.byref(m), ctypes.byref(n))
        return m.value, n.value

    def aslinearoperator(self) -> Any:
        """A scipy.sparse.linalg.LinearOperator of the products, on one rank; that of cupyx for a matrix of
        CuPy's."""
        return _arrays.linear_operator(self._made_of)(
            self.shape, matvec=self.matvec, rmatvec=self.rmatvec, dtype=self.dtype
        )

    @locked
    def view(self) -> str:
        """Type, sizes, statistics of rows and bytes, as the library prints them."""
        handle = self._get()
        return _library.printed(lambda: lib.PoiseMatView(handle))

    @locked
    def bytes(self) -> int:
        """Bytes that the matrix holds on this rank, with arrays that are used where they are."""
        total = c.PoiseBytes()
        lib.PoiseMatBytes(self._get(), ctypes.byref(total), None)
        return total.host + total.device

    def __repr__(self) -> str:
        if self._handle is None:
            return "<poise.Matrix, closed>"
        return f"<poise.Matrix of type {self.type}, {self.shape[0]} x {self.shape[1]}>"


def _apply(function: str, handle: Any, x: Any, y: Any) -> None:
    """y = A x by a function of the library. On several ranks global sizes follow from the local ones."""
    with Vector(x, _entries(x), c.POISE_DECIDE) as vx, Vector(y, _entries(y), c.POISE_DECIDE) as vy:
        getattr(lib, function)(handle, vx, vy)
    if isinstance(y, DeviceArray):
        _arrays.wait_for(_library.stream() or 0)


def _entries(array: Any) -> int:
    return array.shape[0] if isinstance(array, DeviceArray) else array.size


def _set_space(setter: str, handle: Any, vectors: Any) -> None:
    if setter == _PLACES:
        nodes, dim = vectors.shape
        lent = vectors.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
        lib.PoiseMatSetCoordinates(handle, dim, nodes, lent)
        return
    if vectors is None or isinstance(vectors, str):
        getattr(lib, setter)(handle, int(vectors is not None), 0, None)
        return
    columns = [np.ascontiguousarray(vectors[:, j]) for j in range(vectors.shape[1])]
    lent = [Vector(column, column.size, c.POISE_DECIDE) for column in columns]
    try:
        array = (c.PoiseVec * len(lent))(*(v.handle.value for v in lent))
        getattr(lib, setter)(handle, 0, len(lent), array)
    finally:
        for v in lent:
            v.__exit__()

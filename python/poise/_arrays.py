# SPDX-License-Identifier: BSD-3-Clause
"""Users' arrays: NumPy's, and those of other libraries by DLPack or __cuda_array_interface__.

An array is lent to the library where it is, if it holds contiguous float64 in the memory that the library
works on. Else NumPy makes a copy. On a GPU no copy is made in silence: the array must already fit.
"""
from __future__ import annotations

import contextlib
import ctypes
import functools
import sys
from typing import Any, Iterator, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _declarations as c
from ._library import NotSupported, context, lib, stream

Float = NDArray[np.float64]


class DeviceArray(NamedTuple):
    """Contiguous numbers in a GPU's memory."""

    pointer: int
    shape: tuple[int, ...]
    dtype: str  # as NumPy writes it: "<f8"
    owner: Any  # keeps the memory
    by_rows: bool = True  # else by columns, Fortran's order


# ---- DLPack, of which NumPy reads the arrays of CPUs -------------------------------------------------------

_CPU_DEVICES = (1, 3)  # kDLCPU, kDLCUDAHost
_CUDA_DEVICES = (2, 13)  # kDLCUDA, kDLCUDAManaged
_CODES = {0: "i", 1: "u", 2: "f"}

_NO_GRADIENTS = "{name} requires grad: poise.torch.solve makes gradients, {name}.detach() has none"


class _Tensor(ctypes.Structure):  # DLTensor of dlpack.h
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


def _contiguous(shape: tuple[int, ...], strides: tuple[int, ...] | None) -> bool:
    """Rows follow each other; strides count elements, None means that they do."""
    step = 1
    for size, stride in zip(reversed(shape), reversed(strides or ())):
        if size != 1 and stride != step:
            return False
        step *= size
    return True


def _by_rows(shape: tuple[int, ...], strides: tuple[int, ...] | None) -> bool:
    """Or by columns; an array that is neither is refused."""
    if _contiguous(shape, strides):
        return True
    if not _contiguous(shape[::-1], (strides or ())[::-1]):
        raise ValueError(f"an array on the GPU must be contiguous; one of {shape} has strides {strides}")
    return False


def _from_capsule(capsule: Any) -> DeviceArray:
    """The array that a DLPack capsule holds. It is not consumed: it lives, and the memory with it."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    t = _Tensor.from_address(get(capsule, b"dltensor"))  # the first member of DLManagedTensor
    shape = tuple(t.shape[i] for i in range(t.ndim))
    strides = tuple(t.strides[i] for i in range(t.ndim)) if t.strides else None
    by_rows = _by_rows(shape, strides)
    if t.lanes != 1 or t.code not in _CODES:
        raise TypeError("an array on the GPU must hold real numbers")
    dtype = f"<{_CODES[t.code]}{t.bits // 8}"
    return DeviceArray((t.data or 0) + t.byte_offset, shape, dtype, capsule, by_rows)


# ---- __cuda_array_interface__ ------------------------------------------------------------------------------


@functools.lru_cache(None)
def _synchronize() -> Any:
    function = ctypes.CDLL("libcuda.so.1").cuStreamSynchronize
    function.argtypes = [ctypes.c_void_p]
    return function


def wait_for(cuda_stream: int) -> None:
    """Wait until the work in a CUDA stream is done."""
    error = _synchronize()(cuda_stream)
    if error:
        raise RuntimeError(f"cuStreamSynchronize has failed with error {error}")


def _from_interface(array: Any) -> DeviceArray:
    face = array.__cuda_array_interface__
    shape, size = tuple(face["shape"]), np.dtype(face["typestr"]).itemsize
    strides = face.get("strides")
    by_rows = _by_rows(shape, None if strides is None else tuple(s // size for s in strides))
    if face.get("mask") is not None:
        raise ValueError("an array with a mask cannot be used")
    if face.get("stream") is not None:
        wait_for(face["stream"])
    return DeviceArray(face["data"][0] or 0, shape, face["typestr"], array, by_rows)


# ---- tensors of PyTorch, whose capsules take longer than a small solve -------------------------------------


@functools.lru_cache(None)
def _torch_order(device: Any) -> tuple[Any, Any]:
    """The library's stream as PyTorch knows it, and an event for it to wait for."""
    cuda = sys.modules["torch"].cuda
    return cuda.ExternalStream(stream(), device=device), cuda.Event()


@functools.lru_cache(None)
def _name_of(dtype: Any) -> str:
    """As NumPy writes it."""
    return np.dtype(str(dtype).split(".")[1]).str


def _from_torch(tensor: Any, name: str) -> DeviceArray:
    if tensor.requires_grad:
        raise TypeError(_NO_GRADIENTS.format(name=name))
    shape = tuple(tensor.shape)
    by_rows = _by_rows(shape, tensor.stride())
    ours, event = _torch_order(tensor.device)
    event.record(sys.modules["torch"].cuda.current_stream(tensor.device))
    ours.wait_event(event)
    return DeviceArray(tensor.data_ptr(), shape, _name_of(tensor.dtype), tensor, by_rows)


# ---- any array ---------------------------------------------------------------------------------------------


def library_of(array: Any) -> str:
    """"numpy", "cupy", "torch", "jax", ... by where the class of an array is defined."""
    name = type(array).__module__.split(".")[0]
    return {"jaxlib": "jax"}.get(name, name)


def on_device(array: Any) -> bool:
    """Is the array in a GPU's memory?"""
    if isinstance(array, (np.ndarray, np.generic)):
        return False
    if library_of(array) == "torch":
        return bool(array.is_cuda)
    if hasattr(array, "__dlpack_device__"):
        return int(array.__dlpack_device__()[0]) not in _CPU_DEVICES
    return hasattr(array, "__cuda_array_interface__")


def device_array(array: Any, name: str) -> DeviceArray:
    """An array in the memory of the GPU that the library works on, in the order of its stream: what the
    array's own library has enqueued comes first."""
    if stream() is None:
        raise NotSupported(f"{name} is on a GPU, and Poise works on the host here: see poise.info()")
    if library_of(array) == "torch" and array.is_cuda:
        return _from_torch(array, name)
    if not hasattr(array, "__dlpack__"):
        return _from_interface(array)
    if int(array.__dlpack_device__()[0]) not in _CUDA_DEVICES:
        raise NotSupported(f"{name} is on a device that is no GPU of CUDA")
    return _from_capsule(array.__dlpack__(stream=stream()))


def host_array(array: Any, name: str) -> NDArray[Any]:
    """A NumPy array over memory of the host, with the user's numbers where they are."""
    if isinstance(array, np.ndarray):
        return array
    if library_of(array) == "torch":
        if array.requires_grad:
            raise TypeError(_NO_GRADIENTS.format(name=name))
        return array.numpy()  # by DLPack NumPy may only read it
    if library_of(array) == "jax":
        return np.asarray(array)  # a view; NumPy 1.22 has no from_dlpack
    if hasattr(array, "__dlpack__") and hasattr(array, "__dlpack_device__"):
        return np.from_dlpack(array)
    return np.asarray(array)


def real(array: Any, name: str) -> Float:
    """The same as contiguous float64: the user's memory if it is that already, else a copy."""
    a = host_array(array, name)
    if a.dtype.kind == "c":
        raise TypeError(f"{name} is complex ({a.dtype}); Poise solves real systems")
    if a.dtype.kind not in "fiub":
        raise TypeError(f"{name} has the type {a.dtype}; it must hold real numbers")
    if a.dtype != np.float64 or not a.dtype.isnative:
        a = a.astype(np.float64)
    return np.ascontiguousarray(a) if a.ndim <= 1 or not a.flags.f_contiguous else a


def output(array: Any, shape: tuple[int, ...], name: str = "out") -> Float:
    """The user's array for a result, used where it is."""
    if library_of(array) == "jax":
        raise TypeError(f"{name} cannot be an array of JAX, whose arrays do not change")
    if not isinstance(array, np.ndarray) and not hasattr(array, "__dlpack__"):
        raise TypeError(f"{name} must be an array, not {type(array).__name__}")
    a = host_array(array, name)
    if a.dtype != np.float64 or a.shape != shape or not (a.flags.c_contiguous or a.flags.f_contiguous):
        raise ValueError(f"{name} must be contiguous float64 of shape {shape}, not {a.dtype} of {a.shape}")
    if not a.flags.writeable:
        raise ValueError(f"{name} is read-only")
    return a


def is_single(array: Any) -> bool:
    """Does it hold float32?"""
    if isinstance(array, np.ndarray):
        return array.dtype == np.float32
    return str(getattr(array, "dtype", "")) in ("float32", "torch.float32")


def like(array: Any, result: Float) -> Any:
    """A result on the host, as an array of the user's library; in float32, if the user's array is."""
    given: NDArray[Any] = result.astype(np.float32) if is_single(array) else result
    library = library_of(array)
    if library == "torch":
        return sys.modules["torch"].from_numpy(given)
    if library == "jax":
        return sys.modules["jax"].device_put(given, array.sharding)
    return given


# ---- arrays on a GPU, made by their own libraries ----------------------------------------------------------


def empty_like(array: Any, shape: tuple[int, ...]) -> Any:
    """A new float64 array on the GPU, of the library of `array`."""
    library = library_of(array)
    if library == "cupy":
        return sys.modules["cupy"].empty(shape, dtype="float64")
    if library == "torch":
        torch = sys.modules["torch"]
        return torch.empty(shape, dtype=torch.float64, device=array.device)
    if library == "jax":  # nobody else knows it yet, so that it may be written to
        return sys.modules["jax"].device_put(np.zeros(shape), array.sharding)
    if library == "numba":
        return sys.modules["numba"].cuda.device_array(shape, dtype="float64")
    raise NotSupported(
        f"give out=: new arrays on the GPU are made for cupy, torch, jax and numba, not for {library}"
    )


def double(array: Any) -> Any:
    """An array on the GPU in float64: itself, or a copy of one in float32."""
    if not is_single(array):
        return array
    if library_of(array) == "torch":
        return array.double()
    if library_of(array) in ("cupy", "jax"):
        return array.astype("float64")
    return array


def single(array: Any) -> Any:
    """A result on the GPU in float32."""
    return array.float() if library_of(array) == "torch" else array.astype("float32")


# ---- vectors of the library over arrays --------------------------------------------------------------------


class Vector:
    """A PoiseVec over an array, which it keeps alive. Used as a context manager."""

    def __init__(self, array: Float | DeviceArray, local: int, size: int):
        self.handle = c.PoiseVec()
        self.array = array
        if isinstance(array, DeviceArray):
            create, pointer = lib.PoiseVecCreateDeviceArray, array.pointer
        else:
            create, pointer = lib.PoiseVecCreateArray, array.ctypes.data
        create(context(), local, size, pointer, c.POISE_BORROW, ctypes.byref(self.handle))

    def __enter__(self) -> c.PoiseVec:
        return self.handle

    def __exit__(self, *_: Any) -> None:
        lib.PoiseVecDestroy(ctypes.byref(self.handle))


@contextlib.contextmanager
def vector(local: int, size: int) -> Iterator[c.PoiseVec]:
    """A PoiseVec of its own."""
    handle = c.PoiseVec()
    lib.PoiseVecCreate(context(), local, size, ctypes.byref(handle))
    try:
        yield handle
    finally:
        lib.PoiseVecDestroy(ctypes.byref(handle))


class Columns:
    """A PoiseVec of several columns, 32 at most: over an array of shape (n, k) that lies by rows, else of its
    own. Used as a context manager."""

    def __init__(self, array: Float | DeviceArray, local: int, size: int):
        self.handle = c.PoiseVec()
        self.array = array
        if isinstance(array, DeviceArray):
            self._pointer, by_rows = array.pointer, array.by_rows
            create = lib.PoiseVecCreateBlockDeviceArray
        else:
            self._pointer, by_rows = array.ctypes.data, array.flags.c_contiguous
            create = lib.PoiseVecCreateBlockArray
        self._local, k = local, array.shape[1]
        self._own = not by_rows
        if by_rows:
            create(context(), local, size, k, self._pointer, c.POISE_BORROW, ctypes.byref(self.handle))
        else:
            lib.PoiseVecCreateBlock(context(), local, size, k, ctypes.byref(self.handle))

    def __enter__(self) -> Columns:
        return self

    def __exit__(self, *_: Any) -> None:
        lib.PoiseVecDestroy(ctypes.byref(self.handle))

    def take(self) -> None:
        """The numbers of the array."""
        if self._own:
            lib.PoiseVecSetColumns(self.handle, self._local, self._pointer)

    def give(self) -> None:
        """To the array."""
        if self._own:
            lib.PoiseVecGetColumns(self.handle, self._local, self._pointer)


def part(array: Float | DeviceArray, begin: int, end: int) -> Float | DeviceArray:
    """Columns [begin, end), which lie by rows or by columns: the array's own numbers where they do."""
    if begin == 0 and end == array.shape[1]:
        return array
    if not isinstance(array, DeviceArray):
        columns = array[:, begin:end]
        return columns if columns.flags.f_contiguous else np.ascontiguousarray(columns)
    n = array.shape[0]
    return array._replace(pointer=array.pointer + 8 * n * begin, shape=(n, end - begin))


def read(vector: c.PoiseVec) -> Float:
    """A copy of the entries that this rank has: an array that the user may keep."""
    n, place = lib.PoiseVecLocalSize(vector), ctypes.c_void_p()
    lib.PoiseVecGetRead(vector, ctypes.byref(place))
    out = np.empty(n)
    if n:
        ctypes.memmove(out.ctypes.data, place.value or 0, 8 * n)
    lib.PoiseVecRestore(vector, ctypes.byref(place))
    return out


def write(vector: c.PoiseVec, values: Any, name: str) -> None:
    """Set all entries that this rank has to what a user's function has returned."""
    n, place = lib.PoiseVecLocalSize(vector), ctypes.c_void_p()
    a = real(values, name).reshape(-1)
    if a.size != n:
        raise ValueError(f"{name} has {a.size} entries, not {n}")
    lib.PoiseVecGetWrite(vector, ctypes.byref(place))
    if n:
        ctypes.memmove(place.value or 0, a.ctypes.data, 8 * n)
    lib.PoiseVecRestore(vector, ctypes.byref(place))


@contextlib.contextmanager
def cupy_of(vector: c.PoiseVec, writes: bool = False) -> Iterator[Any]:
    """The entries of a vector that is on the GPU, as an array of CuPy, which works on our stream."""
    cupy = sys.modules["cupy"]
    n, place = lib.PoiseVecLocalSize(vector), ctypes.c_void_p()
    (lib.PoiseVecGetDeviceWrite if writes else lib.PoiseVecGetDeviceRead)(vector, ctypes.byref(place))
    try:
        memory = cupy.cuda.UnownedMemory(place.value or 0, 8 * n, vector)
        with cupy.cuda.ExternalStream(stream()):
            yield cupy.ndarray((n,), dtype="float64", memptr=cupy.cuda.MemoryPointer(memory, 0))
    finally:
        lib.PoiseVecRestore(vector, ctypes.byref(place))


def works_on_cupy(operator: Any) -> bool:
    """Is it a LinearOperator of cupyx, where the library works on a GPU?"""
    module = sys.modules.get("cupyx.scipy.sparse.linalg")
    return module is not None and isinstance(operator, module.LinearOperator) and stream() is not None


def apply(function: Any, operator: Any, x: c.PoiseVec, y: c.PoiseVec, name: str) -> None:
    """y = function(x), which is one of a user's operator."""
    if works_on_cupy(operator):
        with cupy_of(x) as a, cupy_of(y, writes=True) as b:
            b[...] = function(a).reshape(-1)
    else:
        write(y, function(read(x)), name)


def linear_operator(library: str) -> Any:
    """The class of LinearOperators that work on the arrays of this library."""
    if library == "cupy":
        from cupyx.scipy.sparse.linalg import LinearOperator
    else:
        from scipy.sparse.linalg import LinearOperator
    return LinearOperator

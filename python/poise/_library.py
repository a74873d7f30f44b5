# SPDX-License-Identifier: BSD-3-Clause
"""The shared library, its errors as exceptions, and the one context of this process."""
from __future__ import annotations

import _signal  # what signal makes words of, which takes longer than a small solve
import atexit
import contextlib
import ctypes
import difflib
import functools
import numbers
import os
import pathlib
import shlex
import sys
import threading
import weakref
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, TypeVar

from . import _declarations as c

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

F = TypeVar("F", bound=Callable[..., Any])

# ---- errors ------------------------------------------------------------------------------------------------


class PoiseError(RuntimeError):
    """A call of the library has failed.

    ``str(error)`` has the library's words, ``code`` the number of its ``PoiseErr``, and ``trace`` the calls
    inside the library that led to it.
    """

    code: int = -1
    trace: str = ""
    _depth: int = -1  # callbacks that the failed call was made in


class InvalidArgument(PoiseError, ValueError):
    """An argument, a size or an option is wrong."""


class CallOrder(PoiseError):
    """The call is not possible now, such as a solve inside the same solver's callback."""


class OutOfMemory(PoiseError, MemoryError):
    """An allocation on the host or on the device does not fit."""


class NotSupported(PoiseError, NotImplementedError):
    """The library, its device or the matrix does not offer this."""


class FileError(PoiseError, OSError):
    """A file cannot be opened, or is malformed."""


class NumericError(PoiseError, ArithmeticError):
    """The preconditioner cannot be built, for instance as a diagonal entry is zero."""


class NotConverged(PoiseError):
    """A solve ended without convergence. ``x`` is the last iterate, ``solver`` has the rest.

    ``iterations``, ``reason`` and ``residual_norm`` are those of the solve.
    """

    x: NDArray[np.float64] | None = None
    iterations: int = 0
    reason: str = ""
    residual_norm: float = float("nan")


class CopyWarning(UserWarning):
    """A matrix could not be used where it is, and was copied once."""


_CLASSES = {
    c.POISE_ERR_ARG: InvalidArgument,
    c.POISE_ERR_SIZE: InvalidArgument,
    c.POISE_ERR_OPTION: InvalidArgument,
    c.POISE_ERR_MEMORY: OutOfMemory,
    c.POISE_ERR_STATE: CallOrder,
    c.POISE_ERR_UNSUPPORTED: NotSupported,
    c.POISE_ERR_FILE: FileError,
    c.POISE_ERR_FORMAT: FileError,
    c.POISE_ERR_NUMERIC: NumericError,
    c.POISE_ERR_NOT_CONVERGED: NotConverged,
}


class _Thread(threading.local):
    depth = 0  # callbacks that this thread is in
    raised: BaseException | None = None  # what a callback has raised, until the call around it returns
    level = 0  # the depth of that call


_thread = _Thread()


def depth() -> int:
    """Callbacks of the library that this thread is in."""
    return _thread.depth


def _text(word: bytes | None) -> str:
    return (word or b"").decode(errors="replace")


def _look(code: Any, function: Any, arguments: Any) -> None:
    """Raise the error of a call. An exception of the user's callback comes back as it was raised."""
    raised = _thread.raised
    if raised is not None and _thread.level == _thread.depth:
        _thread.raised = None
        raise raised
    if code.value == c.POISE_OK:
        return
    message = _text(lib.PoiseErrorMessage())
    error = _CLASSES.get(code.value, PoiseError)(f"{_text(lib.PoiseErrorString(code.value))}: {message}")
    error.code, error._depth = code.value, _thread.depth
    error.trace = _text(lib.PoiseErrorText())
    raise error


@contextlib.contextmanager
def aside() -> Iterator[None]:
    """Calls that garbage makes, wherever it is collected. If that is in a callback that has raised, or just
    behind one, the exception is that of the call around it."""
    raised, _thread.raised = _thread.raised, None
    try:
        yield
    finally:
        _thread.raised = raised


def guarded(function: Callable[..., Any]) -> Callable[..., int]:
    """A callback for the library. What it raises is kept, and raised again when the call returns."""

    def call(*arguments: Any) -> int:
        if _thread.raised is None:  # else the solve is about to end, and user's code is not called any more
            _thread.depth += 1
            try:
                _interrupts.look()
                function(*arguments)
                return c.POISE_OK
            except BaseException as error:  # KeyboardInterrupt too: nothing may pass through C
                _thread.raised, _thread.level = error, _thread.depth - 1
            finally:
                _thread.depth -= 1
        words = f"{type(_thread.raised).__name__}: {_thread.raised}"[:400].replace("%", "%%")
        return int(lib.PoiseErrorSet(c.POISE_ERR_USER, b"callback", b"Python", 0, words.encode()))

    return call


# ---- the library -------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _brief_spins() -> Iterator[None]:
    """Threads that wait spin for about as long as it takes to wake one, and then sleep.

    By default they spin for milliseconds. Where other programs have the cores, each wait then lasts a time
    slice, and two threads are several times slower than one. OpenMP reads the environment when it is
    loaded. What the user says there holds; programs that this one starts do not see ours.
    """
    ours = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "1000"}
    if any(key in os.environ for key in (*ours, "KMP_BLOCKTIME")):
        yield
        return
    os.environ.update(ours)
    try:
        yield
    finally:
        for key in ours:
            del os.environ[key]


def _open() -> ctypes.CDLL:
    """The library of this package; or that of POISE_LIBRARY; or an installed one."""
    here = pathlib.Path(__file__).parent / "libpoise.so"
    named = os.environ.get("POISE_LIBRARY")
    installed = f"libpoise.so.{c.POISE_VERSION_MAJOR}.{c.POISE_VERSION_MINOR}"
    path = named or (str(here) if here.exists() else installed)
    try:
        with _brief_spins():
            return ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(
            f"Poise's shared library cannot be loaded: {error}. Install the package by pip, or name the "
            "library in the environment variable POISE_LIBRARY."
        ) from None


def _declare(library: ctypes.CDLL) -> ctypes.CDLL:
    for name, (result, parameters) in c.FUNCTIONS.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise ImportError(f"{library._name} has no {name}: it is another version of Poise") from None
        function.argtypes = parameters
        function.restype = result
        if result is c.PoiseErr:
            if name in ("PoiseErrorSet", "PoiseErrorTrace"):
                function.restype = ctypes.c_int
            else:
                function.errcheck = _look
    return library


lib = _declare(_open())

# Calls on one context must not overlap, so threads take turns. Callbacks run in the thread that holds this.
_lock = threading.RLock()


class _Interrupts:
    """Ctrl-C while the library works. At the very beginning of a callback it would be lost in C. So it is
    kept until the callback looks, or the call ends."""

    kept = False

    def keep(self, _number: int, _frame: Any) -> None:
        self.kept = True

    def look(self) -> None:
        if self.kept and threading.current_thread() is threading.main_thread():
            self.kept = False
            raise KeyboardInterrupt

    def held(self) -> bool:
        """Begin to keep it, unless the program handles it in its own way, or a call outside does this."""
        if threading.current_thread() is not threading.main_thread():
            return False
        if _signal.getsignal(_signal.SIGINT) is not _signal.default_int_handler:
            return False
        _signal.signal(_signal.SIGINT, self.keep)
        return True

    def release(self) -> None:
        _signal.signal(_signal.SIGINT, _signal.default_int_handler)
        self.look()


_interrupts = _Interrupts()


@c.PoiseInterrupt
@guarded
def _look_for_interrupts(_argument: Any) -> None:
    """Called up to twenty times a second in long calls. It has nothing to do: Python has run its handlers of
    signals, and `guarded` looks what they have kept."""


def locked(function: F) -> F:
    """Calls of other threads wait until this one is done."""

    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        with _lock:
            if not _interrupts.held():
                return function(*arguments, **keywords)
            try:
                return function(*arguments, **keywords)
            finally:
                _interrupts.release()

    return call  # type: ignore[return-value]


# ---- what the library prints -------------------------------------------------------------------------------

_libc = ctypes.CDLL(None)
_libc.open_memstream.restype = ctypes.c_void_p
_libc.open_memstream.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
_libc.fclose.argtypes = [ctypes.c_void_p]
_libc.free.argtypes = [ctypes.c_void_p]
_libc.setvbuf.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
_WRITE = ctypes.CFUNCTYPE(ctypes.c_ssize_t, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


class _Cookie(ctypes.Structure):
    _fields_ = [("read", ctypes.c_void_p), ("write", _WRITE), ("seek", ctypes.c_void_p),
                ("close", ctypes.c_void_p)]


@_WRITE
def _write(_cookie: Any, text: int, size: int) -> int:
    try:
        sys.stdout.write(ctypes.string_at(text, size).decode(errors="replace"))
    except Exception:  # a closed stdout is no reason to stop a solve
        pass
    return size


def _stream() -> int:
    """A FILE * that writes to Python's standard output, so that notebooks and tests see it."""
    _libc.fopencookie.restype = ctypes.c_void_p
    _libc.fopencookie.argtypes = [ctypes.c_void_p, ctypes.c_char_p, _Cookie]
    file = _libc.fopencookie(None, b"w", _Cookie(None, _write, None, None))
    if file:
        _libc.setvbuf(file, None, 1, 1024)  # by lines
    return file


def printed(function: Callable[[], Any]) -> str:
    """What the library prints in a call."""
    text, size = ctypes.c_void_p(), ctypes.c_size_t()
    file = _libc.open_memstream(ctypes.byref(text), ctypes.byref(size))
    if not file:
        raise MemoryError("no memory for what the library prints")
    lib.PoiseSetOutput(_state.context, file)
    try:
        function()
    finally:
        lib.PoiseSetOutput(_state.context, _state.output)
        _libc.fclose(file)
        words = ctypes.string_at(text, size.value) if text else b""
        _libc.free(text)
    return words.decode(errors="replace")


# ---- the context -------------------------------------------------------------------------------------------


class _State:
    context: c.PoiseContext | None = None
    output: int | None = None
    forked: bool = False  # the context is that of the process that this one was forked from
    ranks: int = 1
    rank: int = 0
    stream: int | None = None  # of the GPU; None on the host
    communicator: Any = None  # kept alive
    ended: bool = False


_state = _State()
_living: "weakref.WeakSet[Any]" = weakref.WeakSet()  # objects that the end of the process closes


def _mpi_address(communicator: Any) -> Any:
    """The address of an mpi4py communicator's MPI_Comm, if mpi4py and libpoise use one MPI."""
    try:
        from mpi4py import MPI
    except ImportError:
        raise TypeError("comm must be a communicator of mpi4py, which is not installed") from None
    if not isinstance(communicator, MPI.Comm):
        raise TypeError(f"comm must be a communicator of mpi4py, not {type(communicator).__name__}")
    try:  # in the libraries that libpoise itself is linked with
        version, initialized = lib.MPI_Get_library_version, lib.MPI_Initialized
    except AttributeError:
        raise NotSupported("this build of Poise has no MPI: build it with POISE_PYTHON_MPI=ON") from None
    text, length, flag = ctypes.create_string_buffer(8192), ctypes.c_int(), ctypes.c_int()
    version(text, ctypes.byref(length))
    initialized(ctypes.byref(flag))
    ours, theirs = _text(text.value).strip("\0\n "), MPI.Get_library_version().strip("\0\n ")
    if ours != theirs or bool(flag.value) != MPI.Is_initialized():
        raise InvalidArgument(
            f"mpi4py uses another MPI library than Poise. mpi4py: {theirs.splitlines()[0]}. "
            f"Poise: {ours.splitlines()[0]}. Build one of the two with the mpicc of the other."
        )
    return MPI._addressof(communicator)


@locked
def init(
    options: str = "", *, device: str | None = None, comm: Any = None, stream: int | None = None
) -> None:
    """Make the context of this process. Needed only to give it something; else the first use makes it.

    Parameters
    ----------
    options
        Options as text, such as ``"-host_threads 4 -log_view"``. The environment variable POISE_OPTIONS
        overrides them.
    device
        ``"host"``, ``"cuda"`` or ``"mock"``. Default: ``"cuda"`` where there is a GPU, and the library was
        built for it.
    comm
        A communicator of mpi4py, whose ranks each hold some rows. Collective. Default: one rank, without MPI.
    stream
        Address of a ``cudaStream_t`` to work on.

    Raises
    ------
    CallOrder
        There is a context already: one belongs to each process.
    """
    _alive()
    if _state.context is not None:
        raise CallOrder("this process has its context already: call poise.init before anything else")
    address = _mpi_address(comm) if comm is not None else None
    output = _stream()
    given = c.PoiseInit(mpi_comm=address, serial=comm is None, stream=stream, out=output, keep_running=1)
    context = c.PoiseContext()
    # This module finds unknown options itself, and errors have their trace beside the message.
    own = {"options_left": "no", "error_trace": "", **options_of_text(options)}
    if device is not None:
        own["device"] = device
    _check_known(own, ())
    # As words of a command line, since the device is chosen in PoiseInitialize.
    argv = [b"python"]
    for key, value in own.items():
        if key not in _outside():
            argv += [b"-" + key.encode()] + [value.encode()] * (value != "")
    array = (ctypes.c_char_p * (len(argv) + 1))(*argv, None)
    count, place = ctypes.c_int(len(argv)), ctypes.cast(array, ctypes.c_void_p)
    lib.PoiseInitialize(ctypes.byref(count), ctypes.byref(place), ctypes.byref(given), ctypes.byref(context))
    lib.PoiseSetInterrupt(context, _look_for_interrupts, None)
    _state.context, _state.communicator = context, comm
    _state.ranks, _state.rank = lib.PoiseSize(context), lib.PoiseRank(context)
    _state.stream = lib.PoiseStream(context) or None
    _state.output = output


def _after_fork() -> None:
    _state.forked = _state.context is not None


os.register_at_fork(after_in_child=_after_fork)


def _alive() -> None:
    if _state.ended:
        raise CallOrder("the process is ending, and Poise's context is gone")
    if _state.forked:
        raise CallOrder(
            "this process was forked from one that uses Poise, whose threads it lacks. Start processes by "
            "multiprocessing's 'spawn', or before the first use of Poise"
        )


def context() -> c.PoiseContext:
    """The context of this process, made at first use."""
    _alive()
    if _state.context is None:
        init()
    assert _state.context is not None
    return _state.context


def ranks() -> int:
    """Number of ranks."""
    context()
    return _state.ranks


def most(number: int) -> int:
    """The largest of all ranks' numbers. Collective."""
    context()
    return number if _state.communicator is None else max(_state.communicator.allgather(number))


def stream() -> int | None:
    """The CUDA stream that the library works on, or None on the host."""
    context()
    return _state.stream


def usable() -> bool:
    """Objects can still be released: their context lives, in this process."""
    return _state.context is not None and not _state.ended and not _state.forked


def register(thing: Any) -> None:
    _living.add(thing)


@locked
def print_log() -> None:
    """The table of events of the process so far, as option log_view prints it at the end. Collective."""
    lib.PoiseLogView(context(), _state.output, c.POISE_LOG_TEXT)


@locked
def info() -> str:
    """Version, build, device, ranks and threads, as the library prints them."""
    here = context()
    return printed(lambda: lib.PoiseView(here))


def version() -> str:
    """The version of the interface, such as "0.1.0"."""
    return f"{c.POISE_VERSION_MAJOR}.{c.POISE_VERSION_MINOR}.{c.POISE_VERSION_PATCH}"


@atexit.register
def _finish() -> None:
    """Release what is left, in the order of making backwards, and the context."""
    with _lock:
        if not usable():
            return
        for thing in sorted(_living, key=lambda thing: -thing._number):
            thing.close()
        try:
            lib.PoiseFinalize(ctypes.byref(_state.context))
        except PoiseError as error:
            print(f"poise: {error}", file=sys.stderr)
        _state.ended = True


# ---- options -----------------------------------------------------------------------------------------------

_prefixes: dict[tuple[tuple[str, str], ...], str] = {}


def options_of_text(text: str) -> dict[str, str]:
    """{"ksp_type": "cg"} of "-ksp_type cg". A word with a dash and a letter begins an option."""
    if text is not None and not isinstance(text, str):
        kind = type(text).__name__
        raise TypeError(f"options is a {kind}; it must be text, as '-ksp_type cg'; give others as keywords")
    out: dict[str, str] = {}
    key = None
    for word in shlex.split(text, comments=True) if text else ():
        if word[:1] == "-" and not (word[1:2].isdigit() or word[1:2] in (".", "")):
            key = word.lstrip("-")
            out[key] = ""
        elif key is None or out[key]:
            raise InvalidArgument(f"'{word}' is neither an option nor a value of one, in '{text}'")
        else:
            out[key] = word
    return out


def options_of(text: str, keywords: dict[str, Any], parameters: Iterable[str] = ()) -> dict[str, str]:
    """Options of an object as text and as keywords, in one dictionary. Keywords override the text. An unknown
    one may mean one of `parameters`, which the object takes itself."""

    def word(key: str, value: Any) -> str:
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, (str, numbers.Integral)):
            return str(value)
        if isinstance(value, numbers.Real):
            return repr(float(value))
        raise TypeError(f"option {key} is a {type(value).__name__}; it can be text, a number, True or False")

    own = {**options_of_text(text), **{key: word(key, value) for key, value in keywords.items()}}
    _check_known(own, parameters)
    for key in own:
        if key in c.PROCESS_OPTIONS and key not in parameters:
            raise InvalidArgument(
                f"invalid option: {key} is one of the process: give it to poise.init, before all else"
            )
    return own


def _outside() -> dict[str, str]:
    """Options of the environment, which override those of the program."""
    return options_of_text(os.environ.get("POISE_OPTIONS", ""))


def option(prefix: str | None, key: str) -> str | None:
    """The value of an option that was given: in code, by the environment or in a file."""
    value = ctypes.c_char_p()
    start = prefix.encode() if prefix else None
    given = lib.PoiseOptionsHas(context(), start, key.encode(), ctypes.byref(value))
    return _text(value.value) if given else None


_OTHER_WORDS = {"tol": "rtol", "M": "pc", "preconditioner": "pc", "restart": "ksp_gmres_restart"}


def _check_known(own: dict[str, str], parameters: Iterable[str]) -> None:
    """Raise InvalidArgument for a key that the library does not know, also behind prefixes such as sub_."""
    known = {*parameters, *c.OPTIONS}
    for key in own:
        parts = key.split("_")
        # Behind prefixes of solvers inside preconditioners.
        inside = next((at for at, part in enumerate(parts) if part not in ("sub", "ksp")), 0)
        if not any("_".join(parts[first:]) in c.OPTIONS for first in range(inside + 1)):
            meant = _OTHER_WORDS.get(key)
            close = [meant] if meant in known else difflib.get_close_matches(key, known, 1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise InvalidArgument(f"invalid option: there is no option {key}{hint}")


def prefix_of(own: dict[str, str]) -> str:
    """A prefix behind which the library finds these options.

    Equal sets share one, so that a program that solves in a loop does not fill the library's list. As in the
    library, the environment overrides what the program says.
    """
    outside = _outside()
    key = tuple(sorted(own.items()))
    if key not in _prefixes:
        prefix = f"python{len(_prefixes)}_"
        for name, value in {**own, **outside}.items():
            lib.PoiseOptionsSet(context(), f"{prefix}{name}".encode(), value.encode() if value else None)
        for name in outside:  # has been asked for
            lib.PoiseOptionsHas(context(), None, name.encode(), None)
        _prefixes[key] = prefix
    return _prefixes[key]

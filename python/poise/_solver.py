# SPDX-License-Identifier: BSD-3-Clause
"""Solvers of A x = b."""
from __future__ import annotations

import ctypes
import functools
import inspect
from typing import Any, Callable, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _library
from . import _declarations as c
from ._arrays import Columns, DeviceArray, Float, Vector
from ._csr import rank2
from ._library import CallOrder, InvalidArgument, NotConverged, NotSupported, context, lib, locked
from ._matrix import Handle, Matrix

_NORMS = {
    "default": c.POISE_KSP_NORM_DEFAULT,
    "none": c.POISE_KSP_NORM_NONE,
    "preconditioned": c.POISE_KSP_NORM_PRECONDITIONED,
    "unpreconditioned": c.POISE_KSP_NORM_UNPRECONDITIONED,
    "natural": c.POISE_KSP_NORM_NATURAL,
}
_NEVER = ("minres", "symmlq", "preonly")  # methods that cannot watch |b - A x|
# those that can if the preconditioner is on the right
_FROM_THE_RIGHT = ("gmres", "lgmres", "bicgstab", "bicgstabl", "cgs", "qmr", "tfqmr", "idr")
_SQUARES = ("lsqr", "cgls")  # methods of least squares, for A of any shape
_MARGIN = 10  # of a tolerance: rounding may part b - A x from what a method watches, as in the library
_PASSES = 10  # most solves of one right-hand side, where another norm is watched
_MOST_COLUMNS = 32  # of a vector
_SIDES = {"left": c.POISE_PC_LEFT, "right": c.POISE_PC_RIGHT}


def _word(table: dict[str, int], word: str, what: str) -> int:
    if word not in table:
        raise InvalidArgument(f"{what} is '{word}'; it can be {', '.join(table)}")
    return table[word]


@functools.lru_cache(None)
def _parameters() -> set[str]:
    """What a solver takes beside options of objects."""
    return {"log_view", *inspect.signature(Solver).parameters} - {"options", "keywords"}


class System(NamedTuple):
    """How the solve of one right-hand side has ended."""

    iterations: int
    reason: str
    residual_norm: float
    history: Float

    @property
    def converged(self) -> bool:
        return self.reason.startswith("CONVERGED")


class Solver(Handle):
    """A solver, set up once for many right-hand sides.

    Parameters
    ----------
    A
        What `Matrix` takes, of shape (n, n), or a `Matrix`, which several solvers may share. For lsqr and
        cgls of any shape (m, n); x then minimises norm(b - A x).
    method
        ``"cg"``, ``"bcg"``, ``"prcg"``, ``"bicgstab"``, ``"bicgstabl"``, ``"cgs"``, ``"tfqmr"``,
        ``"qmrcgs"``, ``"idr"``, ``"gmres"``, ``"fgmres"``, ``"lgmres"``, ``"gcr"``, ``"fcg"``, ``"minres"``,
        ``"symmlq"``, ``"bicg"``, ``"qmr"``, ``"lsqr"``, ``"cgls"``, ``"chebyshev"``, ``"richardson"`` or
        ``"preonly"``; or ``"auto"``, which looks at A and chooses method and preconditioner by itself.
    pc
        The preconditioner: ``"none"``, ``"jacobi"``, ``"pbjacobi"``, ``"ilu"``, ``"icc"``, ``"ilut"``,
        ``"ict"``, ``"sor"``, ``"eisenstat"``, ``"bjacobi"``, ``"lu"``, ``"cholesky"``, ``"amg"``, ``"ksp"``,
        ``"mg"`` (here of one level, which is its coarse solver) or ``"auto"``. Or M^-1 as a sparse or dense
        matrix, a ``scipy.sparse.linalg.LinearOperator``, another object with ``matvec``, or a function z =
        pc(r).
    rtol, atol, maxiter
        A solve has converged at ``norm(b - A x) <= max(rtol * norm(b), atol)``, as in SciPy; near the limit
        of rounding b - A x may be up to ten times as large. Defaults: 1e-5, 1e-50, 10000. minres, and gmres
        and bicgstab preconditioned from the left, watch another norm. They go on from x until b - A x is
        small enough. preonly, which does not iterate, has no tolerance. lsqr and cgls also end where A^T (b -
        A x) is small, as b may not be in the range of A.
    norm
        The norm in place of that of b - A x: ``"preconditioned"``, ``"natural"`` or ``"none"``; or
        ``"default"``, the method's own, as in the library and in PETSc. It is compared with the first one, or
        with a guess with that of b.
    side
        Of the preconditioner: ``"left"`` or ``"right"``. Default: the one that the norm asks for, so for
        gmres and bicgstab right.
    P
        Matrix that the preconditioner is built from. Default: A.
    null_space, near_null_space, coordinates
        See `Matrix.set_null_space`, `Matrix.set_near_null_space` and `Matrix.set_coordinates`.
    error
        A solve that does not converge raises `NotConverged`. Else look at ``solver.converged``.
    options, **keywords
        More options of the library, as text and as keywords: ``"-ksp_gmres_restart 50"``,
        ``ksp_gmres_restart=50``. They override the parameters, and POISE_OPTIONS in the environment
        overrides them. What they print goes to ``sys.stdout``: with ``"-log_view"`` the table of events when
        the solver is closed.

    Examples
    --------
    >>> solver = poise.Solver(A, "cg", pc="icc", rtol=1e-8)
    >>> x = solver.solve(b)
    >>> A.data = 2 * A.data
    >>> solver.update()             # A has changed; after A = 2 * A it is another one: solver.update(A)
    >>> x = solver.solve(b, x0=x)
    """

    _destroy = "PoiseKSPDestroy"

    @locked
    def __init__(
        self,
        A: Any,
        method: str = "gmres",
        *,
        pc: Any = "none",
        rtol: float | None = None,
        atol: float | None = None,
        maxiter: int | None = None,
        norm: str | None = None,
        side: str | None = None,
        P: Any = None,
        null_space: Any = None,
        near_null_space: Any = None,
        coordinates: Any = None,
        error: bool = True,
        options: str = "",
        **keywords: Any,
    ):
        own = _library.options_of(options, keywords, _parameters())
        logs = own.get("log_view", "no")
        if logs not in ("", "yes", "no"):
            raise InvalidArgument(f"log_view is {logs} here; a file is for poise.init('-log_view :file')")
        of_matrix = {key: value for key, value in own.items() if key.startswith("mat_")}
        if isinstance(A, Matrix):
            if of_matrix:
                raise InvalidArgument(f"{next(iter(of_matrix))} is for the matrix: give it to poise.Matrix")
            self.A, self._owns = A, False
        else:
            self.A, self._owns = Matrix(A, **of_matrix), True
        self.P = P if P is None or isinstance(P, Matrix) else Matrix(P, **of_matrix)
        self._rows, self._columns = self.A._sizes()
        self._error = error
        self._callback: Callable[[int, float], Any] | None = None
        self._watched = self._busy = self._checks = self._logs = self._transposed = False
        self._earlier: list[Float] = []  # norms of the solves of this right-hand side before the latest
        self._set: tuple[Any, Any] = (None, None)
        self.iterations, self.residual_norm, self.reason, self.detail = 0, float("nan"), "", ""
        self._systems: list[System] | None = None  # of the latest solve, if it had several
        if null_space is not None:
            self.A.set_null_space(null_space)
        if near_null_space is not None:
            self.A.set_near_null_space(near_null_space)
        if coordinates is not None:
            self.A.set_coordinates(coordinates)

        ksp = c.PoiseKSP()
        lib.PoiseKSPCreate(context(), ctypes.byref(ksp))
        self._keep(ksp)
        try:
            self._operators()
            lib.PoiseKSPSetType(ksp, method.encode())
            self._set_pc(pc)
            self._tolerances(rtol, atol, maxiter)
            if norm is not None:
                lib.PoiseKSPSetNormType(ksp, _word(_NORMS, norm, "norm"))
            if side is not None:
                lib.PoiseKSPSetPCSide(ksp, _word(_SIDES, side, "side"))
            lib.PoiseKSPKeepHistory(ksp, 1)
            own = {key: value for key, value in own.items() if key not in of_matrix and key != "log_view"}
            prefix = _library.prefix_of(own) if own else None
            if prefix:
                lib.PoiseKSPSetOptionsPrefix(ksp, prefix.encode())
            lib.PoiseKSPSetFromOptions(ksp)
            if self._rows != self._columns and self._method() not in _SQUARES:
                raise InvalidArgument(
                    f"A has the shape {self.A.shape}; it must be square, but for {' and '.join(_SQUARES)}"
                )
            if norm is None and _library.option(prefix, "ksp_norm_type") is None:
                self._watch_residual(_library.option(prefix, "ksp_pc_side") or side)
            if self._checks:
                given = ("rtol", rtol, 1e-5), ("atol", atol, 1e-50), ("max_it", maxiter, 10000)
                self._limits = [
                    float(_library.option(prefix, f"ksp_{key}") or (default if value is None else value))
                    for key, value, default in given
                ]
        except BaseException:
            self.close()
            raise
        self._logs = logs != "no"

    # ---- setting ----

    def _method(self) -> str:
        return (lib.PoiseKSPType(self._get()) or b"").decode()

    def _operators(self) -> None:
        """Tell the library of A and P, which have other handles if they had to be made anew."""
        now = (self.A._get(), self.P._get() if self.P else None)
        if self._set[0] is not now[0] or self._set[1] is not now[1]:
            lib.PoiseKSPSetOperators(self._get(), *now)
            self._set = now
            self._borrowed = (self.A._arrays, self.P._arrays if self.P else None)  # while the solver has them

    def _pc(self) -> c.PoisePC:
        pc = c.PoisePC()
        lib.PoiseKSPGetPC(self._get(), ctypes.byref(pc))
        return pc

    def _set_pc(self, pc: Any) -> None:
        if pc is None or isinstance(pc, str):
            lib.PoisePCSetType(self._pc(), (pc or "none").encode())
            return
        shape = getattr(pc, "shape", None)
        if shape is not None and rank2(shape) != (self._columns, self._columns):
            raise InvalidArgument(f"the preconditioner has the shape {shape}, A has {self.A.shape}")
        if "complex" in str(getattr(pc, "dtype", None)):
            raise TypeError("the preconditioner is complex; Poise solves real systems")
        if shape is not None and _arrays.library_of(pc) in ("cupyx", "jax", "torch") and not hasattr(
            pc, "matvec"
        ):
            apply = Matrix(pc)
        elif hasattr(pc, "matvec"):
            apply = pc.matvec
        elif shape is not None:
            apply = pc.__matmul__
        elif callable(pc):
            apply = pc
        else:
            raise TypeError(f"pc is a {type(pc).__name__}; it can be a name, matrix, operator or function")

        def call(_: Any, r: Any, z: Any) -> None:
            if isinstance(apply, Matrix):
                lib.PoiseMatMult(apply._get(), r, z)
            else:
                _arrays.apply(apply, pc, r, z, "the result of the preconditioner")

        functions = c.PoiseShellPC()
        functions.apply = dict(c.PoiseShellPC._fields_)["apply"](_library.guarded(call))
        lib.PoisePCSetShell(self._pc(), ctypes.byref(functions), None)
        self._shell = functions

    def _tolerances(
        self, rtol: float | None, atol: float | None, maxiter: int | None, dtol: float = -1
    ) -> None:
        for name, value in (("rtol", rtol), ("atol", atol), ("maxiter", maxiter)):
            if isinstance(value, (str, bytes)):
                raise TypeError(f"{name} is '{value!s}', a {type(value).__name__}; it must be a number")
            if value is not None and not value >= 0:
                raise InvalidArgument(f"{name} is {value}; it cannot be negative")
        if maxiter is not None and maxiter % 1 != 0:
            raise InvalidArgument(f"maxiter is {maxiter}; it must be a whole number")
        lib.PoiseKSPSetTolerances(
            self._get(),
            -1 if rtol is None else float(rtol),
            -1 if atol is None else float(atol),
            dtol,
            -1 if maxiter is None else int(maxiter),
        )

    def _change(self, method: str, rtol: float, maxiter: int) -> None:
        """Another method, to the norm of b - A x, with the preconditioner that there is."""
        self._idle()
        lib.PoiseKSPSetType(self._get(), method.encode())
        lib.PoiseKSPSetNormType(self._get(), c.POISE_KSP_NORM_DEFAULT)
        self._checks = False
        self._watch_residual(None)
        self._tolerances(rtol, 0.0, maxiter)
        self._limits = [rtol, 0.0, maxiter]

    def _watch_residual(self, side: str | None) -> None:
        """Have |b - A x| decide. Where the method cannot watch it, it is looked at between solves."""
        method = self._method()
        if method not in _NEVER and not (method in _FROM_THE_RIGHT and side == "left"):
            lib.PoiseKSPSetNormType(self._get(), c.POISE_KSP_NORM_UNPRECONDITIONED)
        else:
            self._checks = method != "preonly"

    @locked
    def update(self, A: Any = None, P: Any = None) -> None:
        """Take new values of A: see `Matrix.update`. The next solve builds the preconditioner anew.

        A `P` of the solver's own stays as it is, unless its new values are given too.
        """
        self._idle()
        mine = self.A if P is None else self.P
        if mine is None:
            raise InvalidArgument("the solver has no P: its preconditioner is built from A")
        self.A.update(A)
        if P is not None:
            mine.update(P)
        if self.A._kind == "shell":
            self._set = (None, None)  # the library cannot see what a function does

    # ---- solving ----

    def _idle(self) -> None:
        self._get()
        if self._busy:
            raise CallOrder("the solver is in the middle of its work: a callback cannot use or change it")

    def close(self) -> None:
        """Release the solver, and its matrix if it has made that itself."""
        if getattr(self, "_busy", False):
            raise CallOrder("the solver is in the middle of its work: a callback cannot close it")
        if getattr(self, "_logs", False) and _library.usable():
            self._logs = False
            _library.print_log()
        super().close()
        if getattr(self, "_owns", False):
            self.A.close()

    def _watch(self) -> None:
        """Have each iteration come by here, for a callback."""
        if self._watched or not self._callback:
            return
        this = _Weak(self)

        def monitor(_: Any, iteration: int, norm: float, __: Any) -> None:
            solver = this.solver()
            if solver._callback is not None and not (solver._earlier and iteration == 0):
                solver._callback(sum(map(len, solver._earlier)) + iteration, norm)

        self._monitor = c.PoiseMonitor(_library.guarded(monitor))
        lib.PoiseKSPAddMonitor(self._get(), self._monitor, None)
        self._watched = True

    def _run(self, b: Any, x: Any, guess: bool) -> None:
        """One right-hand side, from array to array."""
        self._earlier, self._systems = [], None
        with Vector(b, self._rows, c.POISE_DECIDE) as vb, Vector(x, self._columns, c.POISE_DECIDE) as vx:
            self._pass(vb, vx, guess)
            if self._checks and self.converged:
                self._go_on(vb, vx)
        self._wait(x)

    def _run_all(self, b: Float | DeviceArray, x: Float | DeviceArray, guess: bool) -> None:
        """The right-hand sides of b, of shape (m, k), from array to array."""
        systems: list[System] = []
        self._earlier, self._systems, k = [], None, b.shape[1]
        for begin in range(0, k, _MOST_COLUMNS):
            end = min(begin + _MOST_COLUMNS, k)
            given, found = _arrays.part(b, begin, end), _arrays.part(x, begin, end)
            m, n = self._rows, self._columns
            with Columns(given, m, c.POISE_DECIDE) as B, Columns(found, n, c.POISE_DECIDE) as X:
                B.take()
                if guess:
                    X.take()
                systems += self._group(B, X, end - begin, guess)
                X.give()
            if isinstance(x, np.ndarray) and not np.may_share_memory(x, found):
                x[:, begin:end] = found
        self._wait(x)
        self._tell(systems)

    def _group(self, B: Columns, X: Columns, k: int, guess: bool) -> list[System]:
        if self._checks or self._transposed:
            return [self._column(B, X, j, guess) for j in range(k)]
        ksp = self._get()
        lib.PoiseKSPSetInitialGuessNonzero(ksp, int(guess))
        try:
            lib.PoiseKSPSolveBlock(ksp, B.handle, X.handle)
        except NotConverged as error:
            if error._depth != _library.depth():
                raise
        return [self._ended(j) for j in range(k)]

    def _column(self, B: Columns, X: Columns, j: int, guess: bool) -> System:
        """One of them by itself, as b - A x is looked at between solves."""
        m, n = self._rows, self._columns
        with _arrays.vector(m, c.POISE_DECIDE) as b, _arrays.vector(n, c.POISE_DECIDE) as x:
            lib.PoiseVecGetColumn(B.handle, j, b)
            if guess:
                lib.PoiseVecGetColumn(X.handle, j, x)
            self._earlier = []
            self._pass(b, x, guess)
            if self._checks and self.converged:
                self._go_on(b, x)
            lib.PoiseVecSetColumn(X.handle, j, x)
        history = np.concatenate([*self._earlier, self._norms()])
        return System(self.iterations, self.reason, self.residual_norm, history)

    def _ended(self, j: int) -> System:
        ksp, count, place = self._get(), ctypes.c_int64(), ctypes.c_void_p()
        lib.PoiseKSPColumnHistory(ksp, j, ctypes.byref(count), ctypes.byref(place))
        return System(
            lib.PoiseKSPColumnIterations(ksp, j),
            lib.PoiseKSPReasonString(lib.PoiseKSPColumnReason(ksp, j)).decode(),
            lib.PoiseKSPColumnResidualNorm(ksp, j),
            _copied(count, place),
        )

    def _tell(self, systems: list[System]) -> None:
        """What the solve was, of all: the first that failed, or the last."""
        self._systems = systems
        if not systems:
            return
        self.iterations = max(s.iterations for s in systems)
        self.residual_norm = float(np.max([s.residual_norm for s in systems]))
        self.reason = next((s.reason for s in systems if not s.converged), systems[-1].reason)
        self.detail = ""

    @property
    def systems(self) -> list[System]:
        """How the latest solve has ended, of each right-hand side: iterations, reason, converged,
        residual_norm, and history as that of the solver."""
        if self._systems is not None:
            return self._systems
        return [System(self.iterations, self.reason, self.residual_norm, self.history)]

    def _pass(self, b: c.PoiseVec, x: c.PoiseVec, guess: bool) -> None:
        ksp = self._get()
        lib.PoiseKSPSetInitialGuessNonzero(ksp, int(guess))
        try:
            (lib.PoiseKSPSolveTranspose if self._transposed else lib.PoiseKSPSolve)(ksp, b, x)
        except NotConverged as error:  # an option has asked for this; the parameter `error` decides
            if error._depth != _library.depth():  # of another solve, in a callback
                raise
        self.iterations = lib.PoiseKSPIterations(ksp) + sum(map(len, self._earlier))
        self.residual_norm = lib.PoiseKSPResidualNorm(ksp)
        self._end(lib.PoiseKSPConvergedReason(ksp), lib.PoiseKSPReasonDetail(ksp).decode())

    def _go_on(self, b: c.PoiseVec, x: c.PoiseVec) -> None:
        """The method claims convergence in its own norm. From x on, with a smaller tolerance of that norm,
        until |b - A x| has reached its own."""
        rtol, atol, most = self._limits
        size, norm = self._residual(b, x)
        goal = max(rtol * size, atol)
        level = self.residual_norm
        try:
            while norm > goal and self.converged:
                if self.iterations >= most:
                    self._end(c.POISE_DIVERGED_ITS, "")
                elif len(self._earlier) == _PASSES:
                    words = f"the method's own norm has fallen to {level:g}, that of b - A x is {norm:g}"
                    self._end(c.POISE_DIVERGED_BREAKDOWN, words)
                else:
                    level = 0.5 * min(level, self.residual_norm) * (goal / norm)  # products of norms overflow
                    lib.PoiseKSPSetTolerances(self._get(), 0.0, level, -1, int(most - self.iterations))
                    self._earlier.append(self._norms()[:-1])
                    self._pass(b, x, True)
                    norm = self._residual(b, x)[1]
            rounding = self._code == c.POISE_DIVERGED_BREAKDOWN and norm <= _MARGIN * goal
            if norm <= goal or rounding:
                code = c.POISE_CONVERGED_RTOL if rtol * size >= atol else c.POISE_CONVERGED_ATOL
                self._end(code, self.detail if self.converged else "")
        finally:
            lib.PoiseKSPSetTolerances(self._get(), rtol, atol, -1, int(most))
        self.residual_norm = norm

    def _residual(self, b: c.PoiseVec, x: c.PoiseVec) -> tuple[float, float]:
        """Norms of b and of b - A x, both without the part of b that the null space of A^T excludes."""
        size, norm = ctypes.c_double(), ctypes.c_double()
        lib.PoiseVecNorm(b, c.POISE_NORM_2, ctypes.byref(size))
        lib.PoiseKSPTrueResidual(self._get(), b, x, ctypes.byref(norm))
        if self.A._spaces.get("PoiseMatSetTransposeNullSpace") is None or norm.value == 0:
            return size.value, norm.value
        share = float(lib.PoiseKSPInconsistency(self._get()))
        part = share * size.value / norm.value  # of the residual; quotients, as squares of norms overflow
        rest = 1 - part**2 * (1 + 8 * np.finfo(float).eps)  # the difference of equal ones is 0
        return size.value * float(np.sqrt(1 - share**2)), norm.value * float(np.sqrt(max(0.0, rest)))

    def _end(self, code: int, detail: str) -> None:
        self._code, self.detail = code, detail
        self.reason = lib.PoiseKSPReasonString(code).decode()

    @staticmethod
    def _wait(x: Float | DeviceArray) -> None:
        if isinstance(x, DeviceArray):
            _arrays.wait_for(_library.stream() or 0)

    @locked
    def solve(
        self,
        b: Any,
        x0: Any = None,
        *,
        out: Any = None,
        callback: Callable[[int, float], Any] | None = None,
    ) -> NDArray[np.float64]:
        """Solve A x = b.

        Parameters
        ----------
        b
            Right-hand side of shape (m,), or (m, k) for k of them, for A of shape (m, n). Up to 32 at a time
            are solved at once where the method can; `systems` then tells how each has ended. They are used
            where they are if they lie by rows (C order) and k <= 32, else copied. On several ranks m is the
            number of this rank's rows. On a GPU more than 32 must lie by columns (Fortran's order).
        x0
            First guess, of the shape of x. Default: zero.
        out
            Array for the result, contiguous float64 of the shape of x. It may be b or x0.
        callback
            Called as ``callback(iteration, norm)`` with the norm of each residual, from iteration 0 on. What
            it raises ends the solve, and comes out of this call. Systems are then solved one by one.

        Returns
        -------
        x: numpy.ndarray
            Of shape (n,) or (n, k): a new array, or `out`. It is float64, or float32 if b is. If b is an
            array of PyTorch, JAX, CuPy or Numba, so is x. The solve itself works in float64.

        Raises
        ------
        NotConverged
            Unless the solver was made with ``error=False``. Of several systems it names the first that has
            not converged; the others are solved too.
        """
        self._idle()
        self._callback = callback
        self._watch()
        self._busy = True
        try:
            self._operators()
            where = self._solve_on_device if _arrays.on_device(b) else self._solve_on_host
            return where(b, x0, out)
        finally:
            self._busy = False
            self._callback = None

    def _solve_on_host(self, b: Any, x0: Any, out: Any) -> Any:
        a = _arrays.real(b, "b")
        if a.ndim not in (1, 2) or a.shape[0] != self._rows:
            raise InvalidArgument(f"b has the shape {a.shape}; A has {self._rows} rows")
        shape = (self._columns, *a.shape[1:])
        x = np.empty_like(a, shape=shape) if out is None else _arrays.output(out, shape)
        if out is not None and np.may_share_memory(a, x):
            a = a.copy(order="K")
        if x0 is not None:
            guess = _arrays.real(x0, "x0")
            if guess.shape != shape:
                raise InvalidArgument(f"x0 has the shape {guess.shape}, x has {shape}")
            x[...] = guess
        if a.ndim == 1 or a.shape[1] == 1:
            self._run(a, x, x0 is not None)
        else:
            self._run_all(a, x, x0 is not None)
        self._judge(b, x, out)
        return _arrays.like(b, x) if out is None else out

    def _solve_on_device(self, b: Any, x0: Any, out: Any) -> Any:
        given = _arrays.device_array(_arrays.double(b), "b")
        if len(given.shape) not in (1, 2) or given.shape[0] != self._rows:
            raise InvalidArgument(f"b has the shape {given.shape}; A has {self._rows} rows")
        shape = (self._columns, *given.shape[1:])
        result = _arrays.empty_like(b, shape) if out is None else out
        x = _arrays.device_array(result, "out")
        for name, array, expected in (("b", given, given.shape), ("out", x, shape)):
            if array.dtype != "<f8" or array.shape != expected:
                raise InvalidArgument(f"{name} is {array.dtype} of {array.shape}, not float64 of {expected}")
            if array.by_rows and len(array.shape) == 2 and array.shape[1] > _MOST_COLUMNS:
                raise InvalidArgument(
                    f"{name} has the shape {array.shape}: on a GPU more than {_MOST_COLUMNS} right-hand "
                    "sides must lie by columns, in Fortran's order"
                )
        if x.pointer == given.pointer:
            raise InvalidArgument("b and out must be different arrays on the GPU")
        if x0 is not None:
            guess = _arrays.device_array(_arrays.double(x0), "x0")
            if guess.dtype != "<f8" or guess.shape != shape or guess.by_rows != x.by_rows:
                raise InvalidArgument(
                    f"x0 is {guess.dtype} of {guess.shape}; it must be float64 of {shape}, and in the order "
                    "of x"
                )
            size = int(np.prod(guess.shape))
            with Vector(guess, size, c.POISE_DECIDE) as g, Vector(x, size, c.POISE_DECIDE) as v:
                lib.PoiseVecCopy(g, v)
        if len(given.shape) == 1 or given.shape[1] == 1:
            self._run(given, x, x0 is not None)
        else:
            self._run_all(given, x, x0 is not None)
        if out is None and _arrays.is_single(b):
            result = _arrays.single(result)
        self._judge(b, result, result)
        return result

    @locked
    def solve_transpose(self, b: Any, x0: Any = None, *, out: Any = None) -> NDArray[np.float64]:
        """Solve A^T x = b, as `solve` does. Several right-hand sides are solved one by one.

        Methods for symmetric matrices do the same as `solve`. For others the library has a solver of A^T
        beside, which is set up again when A has changed. Preconditioners that the user has made, and those
        with solvers inside, raise NotSupported.
        """
        if self._rows != self._columns:
            raise NotSupported(f"A has the shape {self.A.shape}: make a solver of A^T")
        if self._checks and self._method() not in ("minres", "symmlq"):
            raise NotSupported("b - A^T x cannot be watched from the left; norm='default' allows the solve")
        self._idle()
        self._transposed = True
        try:
            return self.solve(b, x0, out=out)
        finally:
            self._transposed = False

    @property
    def converged(self) -> bool:
        """Has the latest solve converged? Of several systems: have all?"""
        return self.reason.startswith("CONVERGED") if self._systems is None else self._failed() is None

    def _failed(self) -> int | None:
        """The first system that has not converged."""
        return next((j for j, s in enumerate(self._systems or []) if not s.converged), None)

    def _judge(self, b: Any, x: Any, out: Any) -> None:
        if not self._error or self.converged:
            return
        j = self._failed()
        which, s = ("", self) if j is None else (f"system {j}: ", self.systems[j])
        words = f"solve did not converge: {which}{s.reason} after {s.iterations} iterations, residual norm "
        words += f"{s.residual_norm:g}" + (f": {self.detail}" if self.detail else "")
        error = NotConverged(words)
        error.code, error.trace = c.POISE_ERR_NOT_CONVERGED, words
        error.x = _arrays.like(b, x) if out is None else out
        error.iterations, error.reason, error.residual_norm = s.iterations, s.reason, s.residual_norm
        raise error

    @property
    def history(self) -> Float:
        """Norms that the method watched in iterations 0, 1, ... of the latest solve: shape (iterations + 1,).
        See `norm` of `Solver`. Of several systems: those of the longest; `systems` has all."""
        if self._systems:
            return max((s.history for s in self._systems), key=len)
        with _library._lock:
            return np.concatenate([*self._earlier, self._norms()])

    def _norms(self) -> Float:
        count, place = ctypes.c_int64(), ctypes.c_void_p()
        lib.PoiseKSPHistory(self._get(), ctypes.byref(count), ctypes.byref(place))
        return _copied(count, place)

    @locked
    def iterate(self) -> Float:
        """The present x, of shape (n,), inside a callback. Elsewhere, and where a GPU replays iterations
        (option ksp_replay other than 0), CallOrder."""
        out = np.empty(self._columns)
        with Vector(out, self._columns, c.POISE_DECIDE) as x:
            lib.PoiseKSPBuildSolution(self._get(), x)
        return out

    @locked
    def precondition(self, r: Any) -> Any:
        """z = M^-1 r, of shape (n,): what the solver applies. It is built if it has not been yet. r may be on
        the GPU, and then z is."""
        self._idle()
        self._operators()
        if _arrays.on_device(r):
            a = _arrays.device_array(_arrays.double(r), "r")
            if a.dtype != "<f8" or a.shape != (self._columns,):
                raise InvalidArgument(f"r is {a.dtype} of {a.shape}, not float64 of ({self._columns},)")
            z = _arrays.empty_like(r, a.shape)
            self._precondition(a, _arrays.device_array(z, "z"))
            return _arrays.single(z) if _arrays.is_single(r) else z
        b = _arrays.real(r, "r").reshape(-1)
        if b.size != self._columns:
            raise InvalidArgument(f"r has {b.size} entries; A has {self._columns} columns")
        z = np.empty(self._columns)
        self._precondition(b, z)
        return z

    def _precondition(self, r: Any, z: Any) -> None:
        lib.PoiseKSPSetUp(self._get())
        n = self._columns
        with Vector(r, n, c.POISE_DECIDE) as vr, Vector(z, n, c.POISE_DECIDE) as vz:
            lib.PoisePCApply(self._pc(), vr, vz)
        self._wait(z)

    def aspreconditioner(self) -> Any:
        """M^-1 as a scipy.sparse.linalg.LinearOperator, for SciPy's solvers: ``scipy_cg(A, b, M=...)``. For a
        matrix of CuPy's it is one of cupyx."""
        n = self.A.shape[1]
        return self._linear_operator((n, n), self.precondition)

    def aslinearoperator(self) -> Any:
        """A^-1 as such a LinearOperator: each product is a solve."""
        m, n = self.A.shape
        return self._linear_operator((n, m), self.solve, self.solve_transpose)

    def _linear_operator(
        self,
        shape: tuple[int, int],
        function: Callable[[Any], Any],
        transposed: Callable[[Any], Any] | None = None,
    ) -> Any:
        of = _arrays.linear_operator(self.A._made_of)
        return of(shape, matvec=function, rmatvec=transposed, dtype=np.dtype(np.float64))

    @locked
    def view(self) -> str:
        """Method, tolerances, preconditioner and matrix, as the library prints them."""
        self._operators()
        return _library.printed(lambda: lib.PoiseKSPView(self._get()))

    def __repr__(self) -> str:
        if self._handle is None:
            return "<poise.Solver, closed>"
        return f"<poise.Solver {(lib.PoiseKSPType(self._handle) or b'').decode()} of {self.A!r}>"


def _copied(count: ctypes.c_int64, place: ctypes.c_void_p) -> Float:
    """Numbers of the library's, to keep."""
    out = np.empty(count.value)
    if count.value:
        ctypes.memmove(out.ctypes.data, place.value or 0, 8 * count.value)
    return out


class _Weak:
    """A reference that does not keep the solver alive: else the monitor, which the solver keeps, would."""

    def __init__(self, solver: Solver):
        import weakref

        self._reference = weakref.ref(solver)

    def solver(self) -> Solver:
        solver = self._reference()
        assert solver is not None  # it is solving
        return solver


def method_of(method: str | None, pc: Any, options: str, keywords: dict[str, Any]) -> str:
    """The method that is meant if none is named: "auto", unless something else is chosen."""
    if method is not None:
        return method
    chosen = pc != "none" if isinstance(pc, str) else True
    chosen = chosen or "pc_type" in options or "pc_type" in keywords or "side" in keywords
    return "gmres" if chosen or "norm" in keywords else "auto"


@locked
def solve(
    A: Any,
    b: Any,
    method: str | None = None,
    *,
    pc: Any = "none",
    rtol: float | None = None,
    atol: float | None = None,
    maxiter: int | None = None,
    x0: Any = None,
    out: Any = None,
    callback: Callable[[int, float], Any] | None = None,
    options: str = "",
    **keywords: Any,
) -> NDArray[np.float64]:
    """Solve A x = b once, with A of shape (n, n), and b and x of shape (n,) or (n, k).

    Parameters and x are those of `Solver` and `Solver.solve`. But without method and preconditioner the
    method is ``"auto"``. Raises `NotConverged` if the solve did not converge.

    Examples
    --------
    >>> x = poise.solve(A, b)
    >>> x = poise.solve(A, b, "cg", pc="jacobi", rtol=1e-8)
    >>> x = poise.solve(A, b, options="-ksp_type gmres -ksp_gmres_restart 50 -pc_type ilu")
    """
    method = method_of(method, pc, options, keywords)
    with Solver(
        A, method, pc=pc, rtol=rtol, atol=atol, maxiter=maxiter, options=options, **keywords
    ) as solver:
        return solver.solve(b, x0, out=out, callback=callback)

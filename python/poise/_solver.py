# SPDX-License-Identifier: BSD-3-Clause
"""Solvers of A x = b."""
from __future__ import annotations

import contextlib
import ctypes
from typing import Any, Callable, Iterator

import numpy as np

from . import _arrays, _library
from . import _declarations as c
from ._arrays import Float, Vector
from ._csr import rank2
from ._library import CallOrder, InvalidArgument, NotConverged, context, lib, locked
from ._matrix import Handle, Matrix

_NORMS = {
    "default": c.POISE_KSP_NORM_DEFAULT,
    "none": c.POISE_KSP_NORM_NONE,
    "preconditioned": c.POISE_KSP_NORM_PRECONDITIONED,
    "unpreconditioned": c.POISE_KSP_NORM_UNPRECONDITIONED,
    "natural": c.POISE_KSP_NORM_NATURAL,
}
_SIDES = {"left": c.POISE_PC_LEFT, "right": c.POISE_PC_RIGHT}


def _word(table: dict[str, int], word: str, what: str) -> int:
    if word not in table:
        raise InvalidArgument(f"{what} is '{word}'; it can be {', '.join(table)}")
    return table[word]


class Solver(Handle):
    """A solver, set up once for many right-hand sides.

    Parameters
    ----------
    A
        What `Matrix` takes, of shape (n, n), or a `Matrix`, which several solvers may share.
    method
        ``"cg"``, ``"prcg"``, ``"bicgstab"``, ``"gmres"``, ``"fgmres"``, ``"minres"``, ``"chebyshev"``,
        ``"richardson"`` or ``"preonly"``.
    pc
        The preconditioner: ``"none"``, ``"jacobi"``, ``"pbjacobi"``, ``"ilu"``, ``"icc"``, ``"sor"``,
        ``"bjacobi"``, ``"lu"`` or ``"ksp"``. Or M^-1 as a sparse or dense matrix, a
        ``scipy.sparse.linalg.LinearOperator``, another object with ``matvec``, or a function z = pc(r).
    rtol, atol, maxiter
        A solve has converged at ``norm <= max(rtol * norm0, atol)``, where norm0 is the first residual, or
        with a guess the right-hand side. Defaults: 1e-5, 1e-50, 10000.
    norm
        ``"unpreconditioned"`` is norm(b - A x); ``"preconditioned"``, ``"natural"`` or ``"none"``. Default:
        the method's own.
    side
        Of the preconditioner: ``"left"`` or ``"right"``. Default: the one that the norm asks for.
    P
        Matrix that the preconditioner is built from. Default: A.
    null_space, near_null_space, coordinates
        See `Matrix.set_null_space`, `Matrix.set_near_null_space` and `Matrix.set_coordinates`.
    error
        A solve that does not converge raises `NotConverged`. Else look at ``solver.converged``.
    options, **keywords
        More options of the library, as text and as keywords: ``"-ksp_gmres_restart 50"``,
        ``ksp_gmres_restart=50``. They override the parameters, and POISE_OPTIONS in the environment
        overrides them.

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
        norm: str = "default",
        side: str | None = None,
        P: Any = None,
        null_space: Any = None,
        near_null_space: Any = None,
        coordinates: Any = None,
        error: bool = True,
        options: str = "",
        **keywords: Any,
    ):
        own = _library.options_of(options, keywords)
        of_matrix = {key: value for key, value in own.items() if key.startswith("mat_")}
        if isinstance(A, Matrix):
            if of_matrix:
                raise InvalidArgument(f"{next(iter(of_matrix))} is for the matrix: give it to poise.Matrix")
            self.A, self._owns = A, False
        else:
            self.A, self._owns = Matrix(A, **of_matrix), True
        self.P = P if P is None or isinstance(P, Matrix) else Matrix(P, **of_matrix)
        m, n = self.A._sizes()
        if m != n:
            raise InvalidArgument(f"A has the shape {self.A.shape}; it must be square")
        self._rows, self._error = n, error
        self._callback: Callable[[int, float], Any] | None = None
        self._watched = self._busy = False
        self._set: tuple[Any, Any] = (None, None)
        self.iterations, self.residual_norm, self.reason, self.detail = 0, float("nan"), "", ""
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
            lib.PoiseKSPSetNormType(ksp, _word(_NORMS, norm, "norm"))
            if side is not None:
                lib.PoiseKSPSetPCSide(ksp, _word(_SIDES, side, "side"))
            lib.PoiseKSPKeepHistory(ksp, 1)
            own = {key: value for key, value in own.items() if key not in of_matrix}
            if own:
                lib.PoiseKSPSetOptionsPrefix(ksp, _library.prefix_of(own).encode())
            lib.PoiseKSPSetFromOptions(ksp)
        except BaseException:
            self.close()
            raise

    # ---- setting ----

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
        if shape is not None and rank2(shape) != (self._rows, self._rows):
            raise InvalidArgument(f"the preconditioner has the shape {shape}, A has {self.A.shape}")
        if np.dtype(getattr(pc, "dtype", None) or np.float64).kind == "c":
            raise TypeError("the preconditioner is complex; Poise solves real systems")
        if hasattr(pc, "matvec"):
            apply = pc.matvec
        elif shape is not None:
            apply = pc.__matmul__
        elif callable(pc):
            apply = pc
        else:
            raise TypeError(f"pc is a {type(pc).__name__}; it can be a name, matrix, operator or function")

        def call(_: Any, r: Any, z: Any) -> None:
            _arrays.write(z, apply(_arrays.read(r)), "the result of the preconditioner")

        functions = c.PoiseShellPC()
        functions.apply = dict(c.PoiseShellPC._fields_)["apply"](_library.guarded(call))
        lib.PoisePCSetShell(self._pc(), ctypes.byref(functions), None)
        self._shell = functions

    def _tolerances(
        self, rtol: float | None, atol: float | None, maxiter: int | None, dtol: float = -1
    ) -> None:
        for name, value in (("rtol", rtol), ("atol", atol), ("maxiter", maxiter)):
            if value is not None and not value >= 0:
                raise InvalidArgument(f"{name} is {value}; it cannot be negative")
        lib.PoiseKSPSetTolerances(
            self._get(),
            -1 if rtol is None else float(rtol),
            -1 if atol is None else float(atol),
            dtol,
            -1 if maxiter is None else int(maxiter),
        )

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
            if solver._callback is not None:
                solver._callback(iteration, norm)

        self._monitor = c.PoiseMonitor(_library.guarded(monitor))
        lib.PoiseKSPAddMonitor(self._get(), self._monitor, None)
        self._watched = True

    @contextlib.contextmanager
    def _working(self, callback: Callable[[int, float], Any] | None) -> Iterator[None]:
        self._idle()
        self._callback = callback
        self._watch()
        self._busy = True
        try:
            yield
        finally:
            self._busy = False
            self._callback = None

    def _run(self, b: Any, x: Any, guess: bool) -> None:
        """One right-hand side, from array to array."""
        ksp, n = self._get(), self._rows
        lib.PoiseKSPSetInitialGuessNonzero(ksp, int(guess))
        try:
            with Vector(b, n, c.POISE_DECIDE) as vb, Vector(x, n, c.POISE_DECIDE) as vx:
                lib.PoiseKSPSolve(ksp, vb, vx)
        except NotConverged as error:  # an option has asked for this; the parameter `error` decides
            if error._depth != _library.depth():  # of another solve, in a callback
                raise
        if self._library_on_device(x):
            _arrays.wait_for(_library.stream() or 0)
        self.iterations = lib.PoiseKSPIterations(ksp)
        self.residual_norm = lib.PoiseKSPResidualNorm(ksp)
        self._code = lib.PoiseKSPConvergedReason(ksp)
        self.reason = lib.PoiseKSPReasonString(self._code).decode()
        self.detail = lib.PoiseKSPReasonDetail(ksp).decode()

    @staticmethod
    def _library_on_device(x: Any) -> bool:
        return isinstance(x, _arrays.DeviceArray)

    @locked
    def solve(
        self,
        b: Any,
        x0: Any = None,
        *,
        out: Any = None,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Any:
        """Solve A x = b.

        Parameters
        ----------
        b
            Right-hand side of shape (n,), (n, 1), or (n, k) for k of them, solved one by one. On several
            ranks n is the number of this rank's rows.
        x0
            First guess, of the shape of b. Default: zero.
        out
            Array for the result, contiguous float64 of the shape of b. It may be b or x0.
        callback
            Called as ``callback(iteration, norm)`` with the norm of each residual, from iteration 0 on. What
            it raises ends the solve, and comes out of this call.

        Returns
        -------
        x
            Of the shape of b, of the array library of b: a new array, or `out`.

        Raises
        ------
        NotConverged
            Unless the solver was made with ``error=False``.
        """
        with self._working(callback):
            self._operators()
            if _arrays.on_device(b):
                return self._solve_on_device(b, x0, out)
            n = self._rows
            a = _arrays.real(b, "b")
            if a.ndim not in (1, 2) or a.shape[0] != n:
                raise InvalidArgument(f"b has the shape {a.shape}; A has {n} rows")
            x = np.empty(a.shape, order="F") if out is None else _arrays.output(out, a.shape)
            if np.may_share_memory(a, x):
                a = a.copy()
            if x0 is not None:
                guess = _arrays.real(x0, "x0")
                if guess.shape != a.shape:
                    raise InvalidArgument(f"x0 has the shape {guess.shape}, b has {a.shape}")
                x[...] = guess
            if a.ndim == 1:
                self._run(a, x, x0 is not None)
                self._judge(b, x, out)
            for j in range(a.shape[1] if a.ndim == 2 else 0):
                column = x[:, j] if x.flags.f_contiguous else x[:, j].copy()
                self._run(np.ascontiguousarray(a[:, j]), column, x0 is not None)
                x[:, j] = column
                self._judge(b, x, out)
            return _arrays.like(b, x) if out is None else out

    def _solve_on_device(self, b: Any, x0: Any, out: Any) -> Any:
        given = _arrays.device_array(b, "b")
        if given.shape not in ((self._rows,), (self._rows, 1)):
            raise InvalidArgument(f"b has the shape {given.shape}; A has {self._rows} rows")
        result = _arrays.empty_like(b, given.shape) if out is None else out
        x = _arrays.device_array(result, "out")
        for name, array in (("b", given), ("out", x)):
            if array.dtype != "<f8" or array.shape != given.shape:
                raise InvalidArgument(f"{name} is {array.dtype} of {array.shape}, not float64 of b's shape")
        if x.pointer == given.pointer:
            raise InvalidArgument("b and out must be different arrays on the GPU")
        if x0 is not None:
            guess = _arrays.device_array(x0, "x0")
            if guess.dtype != "<f8" or guess.shape != given.shape:
                raise InvalidArgument("x0 must be float64 of b's shape")
            with Vector(guess, self._rows, c.POISE_DECIDE) as g, Vector(x, self._rows, c.POISE_DECIDE) as v:
                lib.PoiseVecCopy(g, v)
        self._run(given, x, x0 is not None)
        self._judge(b, result, result)
        return result

    @property
    def converged(self) -> bool:
        """Has the latest solve converged?"""
        return self.reason.startswith("CONVERGED")

    def _judge(self, b: Any, x: Any, out: Any) -> None:
        if not self._error or self.converged:
            return
        words = f"solve did not converge: {self.reason} after {self.iterations} iterations, residual norm "
        words += f"{self.residual_norm:g}" + (f": {self.detail}" if self.detail else "")
        error = NotConverged(words)
        error.code, error.trace = c.POISE_ERR_NOT_CONVERGED, words
        error.x = _arrays.like(b, x) if out is None else out
        error.iterations, error.reason, error.residual_norm = self.iterations, self.reason, self.residual_norm
        raise error

    @property
    def history(self) -> Float:
        """Norms of the residual in iterations 0, 1, ... of the latest solve: shape (iterations + 1,)."""
        with _library._lock:
            count, place = ctypes.c_int64(), ctypes.c_void_p()
            lib.PoiseKSPHistory(self._get(), ctypes.byref(count), ctypes.byref(place))
            out = np.empty(count.value)
            if count.value:
                ctypes.memmove(out.ctypes.data, place.value or 0, 8 * count.value)
            return out

    @locked
    def iterate(self) -> Float:
        """The present x, of shape (n,), inside a callback. Elsewhere, and where a GPU replays iterations
        (option ksp_replay other than 0), CallOrder."""
        out = np.empty(self._rows)
        with Vector(out, self._rows, c.POISE_DECIDE) as x:
            lib.PoiseKSPBuildSolution(self._get(), x)
        return out

    @locked
    def precondition(self, r: Any) -> Any:
        """z = M^-1 r, of shape (n,): what the solver applies. It is built if it has not been yet."""
        self._idle()
        self._operators()
        a = _arrays.real(r, "r").reshape(-1)
        if a.size != self._rows:
            raise InvalidArgument(f"r has {a.size} entries; A has {self._rows} rows")
        lib.PoiseKSPSetUp(self._get())
        z = np.empty(self._rows)
        with Vector(a, self._rows, c.POISE_DECIDE) as vr, Vector(z, self._rows, c.POISE_DECIDE) as vz:
            lib.PoisePCApply(self._pc(), vr, vz)
        return z

    def aspreconditioner(self) -> Any:
        """M^-1 as a scipy.sparse.linalg.LinearOperator, for SciPy's solvers: ``scipy_cg(A, b, M=...)``."""
        return self._linear_operator(self.precondition)

    def aslinearoperator(self) -> Any:
        """A^-1 as a scipy.sparse.linalg.LinearOperator: each product is a solve."""
        return self._linear_operator(self.solve)

    def _linear_operator(self, function: Callable[[Any], Any]) -> Any:
        from scipy.sparse.linalg import LinearOperator

        return LinearOperator(self.A.shape, matvec=function, dtype=np.dtype(np.float64))

    @locked
    def view(self) -> str:
        """Method, tolerances, preconditioner and matrix, as the library prints them."""
        self._operators()
        return _library.printed(lambda: lib.PoiseKSPView(self._get()))

    def __repr__(self) -> str:
        if self._handle is None:
            return "<poise.Solver, closed>"
        return f"<poise.Solver {(lib.PoiseKSPType(self._handle) or b'').decode()} of {self.A!r}>"


class _Weak:
    """A reference that does not keep the solver alive: else the monitor, which the solver keeps, would."""

    def __init__(self, solver: Solver):
        import weakref

        self._reference = weakref.ref(solver)

    def solver(self) -> Solver:
        solver = self._reference()
        assert solver is not None  # it is solving
        return solver


def solve(
    A: Any,
    b: Any,
    method: str = "gmres",
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
) -> Any:
    """Solve A x = b once, with A of shape (n, n), and b and x of shape (n,) or (n, k).

    Parameters are those of `Solver` and `Solver.solve`. Raises `NotConverged` if the solve did not converge.

    Examples
    --------
    >>> x = poise.solve(A, b, "cg", pc="jacobi", rtol=1e-8)
    >>> x = poise.solve(A, b, options="-ksp_type gmres -ksp_gmres_restart 50 -pc_type ilu")
    """
    with Solver(
        A, method, pc=pc, rtol=rtol, atol=atol, maxiter=maxiter, options=options, **keywords
    ) as solver:
        return solver.solve(b, x0, out=out, callback=callback)

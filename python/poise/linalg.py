# SPDX-License-Identifier: BSD-3-Clause
"""Functions with the names, the arguments and the meaning of those of scipy.sparse.linalg.

They take what `poise.Matrix` takes, so matrices and vectors of SciPy, CuPy, PyTorch and JAX. x is an array of
b's library, on its device.
"""
from __future__ import annotations

from typing import Any, Callable

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _library
from ._library import InvalidArgument, locked
from ._solver import Solver

__all__ = ["bicg", "bicgstab", "cg", "cgs", "gcrotmk", "gmres", "lgmres", "minres", "qmr", "spsolve", "tfqmr"]

_HUGE = 1e300  # SciPy gives up after maxiter alone, not when the residual grows


@locked
def _solve(
    method: str,
    A: Any,
    b: Any,
    x0: Any,
    rtol: float,
    atol: float,
    maxiter: int | None,
    M: Any,
    callback: Callable[[Any], Any] | None,
    when: str = "x",
    restart: int = 0,
    norm: str | None = "unpreconditioned",
    **options: Any,
) -> tuple[NDArray[np.float64], int]:
    shape = tuple(A.shape)
    if len(shape) != 2 or shape[0] != shape[1] and _library.ranks() == 1:
        raise InvalidArgument(f"A has the shape {shape}; it must be square")
    if not atol >= 0 or not rtol >= 0:
        raise InvalidArgument(f"rtol is {rtol} and atol is {atol}; they cannot be negative")
    if maxiter is None:
        maxiter = 10 * shape[1]
    elif restart:
        maxiter *= restart
    limits = {"rtol": rtol, "atol": atol, "maxiter": maxiter}
    if callback is not None and when != "norm":
        options["ksp_replay"] = 0  # an iterate can be built between iterations that are not replayed
    with Solver(A, method, pc=M, norm=norm, error=False, **limits, **options) as solver:
        solver._tolerances(**limits, dtol=_HUGE)
        on_device = _arrays.on_device(b)
        right = b if on_device else _arrays.real(b, "b")
        if not on_device and right.shape not in ((solver._rows,), (solver._rows, 1)):
            raise InvalidArgument(f"b has the shape {right.shape}; A has the shape {shape}")
        zero = not on_device and _library.ranks() == 1 and not right.any()
        if zero:  # any guess but zero would have to meet a tolerance of zero
            return _arrays.like(b, np.zeros(right.shape)), 0
        scale = float(np.linalg.norm(right)) if when == "norm" and callback and not on_device else 1.0

        def watch(iteration: int, norm: float) -> None:
            assert callback is not None
            if iteration == 0:
                return
            if when == "norm":
                callback(norm / scale)
            elif when == "x" or iteration % restart == 0:
                callback(solver.iterate())

        x = solver.solve(right, x0, callback=watch if callback else None)
        if callback and when == "restart" and solver.iterations % restart:
            callback(x.copy())
        if not on_device:
            x = _arrays.like(b, x)
        if solver.converged:
            return x, 0
        return x, solver.iterations if solver.reason == "DIVERGED_ITS" else solver._code


def cg(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[[Any], Any] | None = None,
    **options: Any,
) -> tuple[NDArray[np.float64], int]:
    """Conjugate gradients, for symmetric positive definite A, as ``scipy.sparse.linalg.cg``.

    Parameters
    ----------
    A
        What `poise.Matrix` takes, of shape (n, n).
    b
        Shape (n,) or (n, 1).
    x0
        First guess, of the shape of b. It is not changed.
    rtol, atol
        Converged if ``norm(b - A @ x) <= max(rtol * norm(b), atol)``.
    maxiter
        Most iterations. Default: 10 n.
    M
        Approximate inverse of A: matrix, LinearOperator or function. Beyond SciPy: a name such as ``"icc"``,
        for one of Poise's own preconditioners.
    callback
        Called as ``callback(xk)`` after each iteration, with a copy of shape (n,).
    **options
        More options of the library: ``pc_amg_threshold=0.1``.

    Returns
    -------
    x: numpy.ndarray
        Of the shape of b; float64, or float32 if b is. If b is an array of another library, so is x.
    info: int
        0: converged. Above 0: maxiter was reached, and this many iterations were made. Below 0: the method
        broke down; the number is that of a ``PoiseKSPReason``.
    """
    return _solve("cg", A, b, x0, rtol, atol, maxiter, M, callback, **options)


def _as_cg(method: str, words: str) -> Callable[..., tuple[NDArray[np.float64], int]]:
    def solve(
        A: Any,
        b: Any,
        x0: Any = None,
        *,
        rtol: float = 1e-5,
        atol: float = 0.0,
        maxiter: int | None = None,
        M: Any = None,
        callback: Callable[[Any], Any] | None = None,
        **options: Any,
    ) -> tuple[NDArray[np.float64], int]:
        return _solve(method, A, b, x0, rtol, atol, maxiter, M, callback, **options)

    solve.__name__ = solve.__qualname__ = method
    solve.__doc__ = f"""{words}, as ``scipy.sparse.linalg.{method}``.

    Parameters and results are those of `cg`.
    """
    return solve


bicg = _as_cg("bicg", "Biconjugate gradients, for any A, with a named M that has a transpose")
bicgstab = _as_cg("bicgstab", "Stabilised biconjugate gradients, for any A")
cgs = _as_cg("cgs", "Conjugate gradients squared, for any A")
qmr = _as_cg("qmr", "Quasi-minimal residuals, for any A, with a named M in place of M1 and M2")
tfqmr = _as_cg("tfqmr", "Transpose-free quasi-minimal residuals, for any A")


def minres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[[Any], Any] | None = None,
    **options: Any,
) -> tuple[NDArray[np.float64], int]:
    """Minimal residuals, for symmetric A, as ``scipy.sparse.linalg.minres``.

    Parameters and results are those of `cg`. Converged if ``norm(b - A @ x) <= rtol * norm(b)``, while
    SciPy's norm is relative to those of A and x. maxiter: default 5 n, as there.
    """
    most = 5 * int(A.shape[1]) if maxiter is None else maxiter
    return _solve("minres", A, b, x0, rtol, 0.0, most, M, callback, norm=None, **options)


def gmres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    restart: int | None = None,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[[Any], Any] | None = None,
    callback_type: str | None = None,
    **options: Any,
) -> tuple[NDArray[np.float64], int]:
    """Generalised minimal residuals, for any A, as ``scipy.sparse.linalg.gmres``.

    M is applied from the right, so that the norm is that of ``b - A @ x``.

    Parameters
    ----------
    A, b, x0, rtol, atol, M, **options
        See `cg`.
    restart
        Iterations between restarts. Default: min(20, n).
    maxiter
        Most restart cycles. Default: 10 n iterations.
    callback_type
        ``"x"``: called as ``callback(xk)`` at each restart and at the end. ``"pr_norm"``, ``"legacy"`` and
        None: called as ``callback(norm)`` in each iteration, with norm(b - A x) / norm(b).

    Returns
    -------
    x, info
        See `cg`.
    """
    if callback_type not in (None, "x", "pr_norm", "legacy"):
        raise InvalidArgument(f"callback_type is '{callback_type}'; it can be x, pr_norm or legacy")
    restart = max(1, min(20 if restart is None else int(restart), int(A.shape[1])))
    when = "restart" if callback_type == "x" else "norm"
    own = {"ksp_gmres_restart": restart, **options}
    return _solve("gmres", A, b, x0, rtol, atol, maxiter, M, callback, when, restart, **own)


def lgmres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = 1000,
    M: Any = None,
    callback: Callable[[Any], Any] | None = None,
    inner_m: int = 30,
    outer_k: int = 3,
    **options: Any,
) -> tuple[NDArray[np.float64], int]:
    """`gmres` with corrections of earlier cycles in its space, as ``scipy.sparse.linalg.lgmres``.

    Parameters
    ----------
    A, b, x0, rtol, atol, M, **options
        See `cg`.
    maxiter
        Most restart cycles.
    callback
        Called as ``callback(xk)`` at each restart and at the end.
    inner_m, outer_k
        A cycle has inner_m new vectors and outer_k corrections.

    Returns
    -------
    x, info
        See `cg`.
    """
    cycle = inner_m + outer_k
    own = {"ksp_gmres_restart": cycle, "ksp_lgmres_augment": outer_k, **options}
    return _solve("lgmres", A, b, x0, rtol, atol, maxiter, M, callback, "restart", cycle, **own)


def gcrotmk(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = 1000,
    M: Any = None,
    callback: Callable[[Any], Any] | None = None,
    m: int = 20,
    k: int | None = None,
    **options: Any,
) -> tuple[NDArray[np.float64], int]:
    """Called as ``scipy.sparse.linalg.gcrotmk``, but it is Poise's method `gcr`, which M may vary in: cycles
    of m + k generalised conjugate residuals, with as many vectors as that method has.

    Parameters and results are those of `lgmres`. k: default m.
    """
    cycle = m + (m if k is None else k)
    own = {"ksp_gcr_restart": cycle, **options}
    return _solve("gcr", A, b, x0, rtol, atol, maxiter, M, callback, "restart", cycle, **own)


def spsolve(A: Any, b: Any, **options: Any) -> Any:
    """Solve A x = b by factors of A, as ``scipy.sparse.linalg.spsolve`` with a dense b.

    Parameters
    ----------
    A
        Square; what `poise.Matrix` takes.
    b
        Shape (n,) or (n, k).
    **options
        Options of the library: ``pc_type="cholesky"``.

    Returns
    -------
    x
        Of the shape, the library and the device of b. NumericError if A is singular.
    """
    with Solver(A, "preonly", pc="lu", **options) as solver:
        return solver.solve(b)

# SPDX-License-Identifier: BSD-3-Clause
"""cg, bicgstab and gmres with the meaning of scipy.sparse.linalg."""
from __future__ import annotations

from typing import Any, Callable

import numpy as np
from numpy.typing import NDArray

from . import _arrays, _library
from ._library import InvalidArgument
from ._solver import Solver

_HUGE = 1e300  # SciPy gives up after maxiter alone, not when the residual grows


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
    when: str,
    restart: int = 0,
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
    if callback is not None and when != "norm":
        options["ksp_replay"] = 0  # an iterate can be built between iterations that are not replayed
    with Solver(A, method, pc=M, norm="unpreconditioned", error=False, **options) as solver:
        solver._tolerances(rtol, atol, maxiter, _HUGE)
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

        x = solver.solve(right if not on_device else b, x0, callback=watch if callback else None)
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
    return _solve("cg", A, b, x0, rtol, atol, maxiter, M, callback, "x", **options)


def bicgstab(
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
    """Stabilised biconjugate gradients, for any A, as ``scipy.sparse.linalg.bicgstab``.

    Parameters and results are those of `cg`.
    """
    return _solve("bicgstab", A, b, x0, rtol, atol, maxiter, M, callback, "x", **options)


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

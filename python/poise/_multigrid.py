# SPDX-License-Identifier: BSD-3-Clause
"""Multigrid by smoothed aggregation, in the shape that PyAMG has it."""
from __future__ import annotations

import ctypes
from typing import Any, Callable, NamedTuple

from ._library import InvalidArgument, lib, locked
from ._matrix import Matrix
from ._solver import Solver


class Sizes(NamedTuple):
    """Of the matrix of a level."""

    shape: tuple[int, int]
    nnz: int


class Level(NamedTuple):
    """One of a hierarchy: ``level.A.shape`` and ``level.A.nnz``."""

    A: Sizes


class MultilevelSolver:
    """What `smoothed_aggregation_solver` makes."""

    def __init__(self, A: Any, near: Any, options: dict[str, Any]):
        self.A = A if isinstance(A, Matrix) else Matrix(A)
        if near is not None:
            self.A.set_near_null_space(near)
        self._options = options
        self._solvers: dict[str | None, Solver] = {}
        self._solver(None)

    def _solver(self, cycle: str | None) -> Solver:
        """Each kind of cycle has a hierarchy of its own, made at first use."""
        if cycle not in self._solvers:
            own = self._options if cycle is None else {**self._options, "pc_amg_cycle": cycle.lower()}
            self._solvers[cycle] = Solver(self.A, "richardson", pc="amg", error=False, **own)
        return self._solvers[cycle]

    @property
    @locked
    def levels(self) -> list[Level]:
        """Sizes of the levels, the finest first."""
        solver, count = self._solver(None), ctypes.c_int()
        solver._operators()
        lib.PoiseKSPSetUp(solver._get())
        lib.PoisePCAMGGetSizes(solver._pc(), 0, None, None, ctypes.byref(count))
        rows, entries = ((ctypes.c_int64 * count.value)() for _ in range(2))
        lib.PoisePCAMGGetSizes(solver._pc(), count.value, rows, entries, ctypes.byref(count))
        return [Level(Sizes((n, n), nnz)) for n, nnz in zip(rows, entries)]

    def operator_complexity(self) -> float:
        """Entries of all levels over those of the first."""
        return self._share([level.A.nnz for level in self.levels])

    def grid_complexity(self) -> float:
        """Rows of all levels over those of the first."""
        return self._share([level.A.shape[0] for level in self.levels])

    @staticmethod
    def _share(sizes: list[int]) -> float:
        return sum(sizes) / sizes[0] if sizes[0] else 0.0

    def solve(
        self,
        b: Any,
        x0: Any = None,
        tol: float = 1e-5,
        maxiter: int = 100,
        cycle: str | None = None,
        accel: str | None = None,
        callback: Callable[[Any], Any] | None = None,
        residuals: list[float] | None = None,
        return_info: bool = False,
    ) -> Any:
        """Solve A x = b by cycles, or by a method that they precondition.

        Parameters
        ----------
        b, x0
            As of `Solver.solve`.
        tol
            Converged if ``norm(b - A x) <= tol * norm(b)``.
        maxiter
            Most cycles, or iterations of the method.
        cycle
            ``"V"`` or ``"W"``. Default: V for symmetric A, else W.
        accel
            A method of `Solver`: ``"cg"``, ``"gmres"``, ``"bicgstab"``.
        callback
            Called as ``callback(xk)`` after each iteration. On a GPU the option ``ksp_replay=0`` of the
            hierarchy allows it.
        residuals
            Emptied, and filled with the norms of b - A x.
        return_info
            Return (x, info). info is 0, or the number of iterations that were not enough, or below 0 after a
            breakdown: the number of the reason.

        Returns
        -------
        x
            Of the shape and the library of b.
        """
        if not (accel is None or isinstance(accel, str)):
            raise InvalidArgument(f"accel is a {type(accel).__name__}; it can be the name of a method")
        solver = self._solver(cycle)
        solver._change(accel or "richardson", tol, maxiter)

        def watch(iteration: int, norm: float) -> None:
            assert callback is not None
            if iteration:
                callback(solver.iterate())

        x = solver.solve(b, x0, callback=watch if callback else None)
        if residuals is not None:
            residuals[:] = solver.history.tolist()
        if not return_info:
            return x
        failed = solver.iterations if solver.reason == "DIVERGED_ITS" else solver._code
        return x, 0 if solver.converged else failed

    def aspreconditioner(self, cycle: str | None = None) -> Any:
        """One cycle as a scipy.sparse.linalg.LinearOperator."""
        return self._solver(cycle).aspreconditioner()

    def __repr__(self) -> str:
        lines = [f"{level:7} {A.shape[0]:11} {A.nnz:12}" for level, (A,) in enumerate(self.levels)]
        return "\n".join([f"<poise.MultilevelSolver, operator complexity {self.operator_complexity():.3f}",
                          "  level        rows      entries", *lines]) + ">"


def smoothed_aggregation_solver(
    A: Any, B: Any = None, *, max_levels: int | None = None, max_coarse: int | None = None, **options: Any
) -> MultilevelSolver:
    """A hierarchy of smoothed aggregation for A, in the shape of PyAMG's.

    Parameters
    ----------
    A
        What `Matrix` takes, of shape (n, n).
    B
        Near null space, of shape (n, k). Default: constants.
    max_levels, max_coarse
        Most levels, and most rows of the last one.
    **options
        Options of the library: ``pc_amg_threshold=0.1``. `Solver` has all of them, and new values.

    Examples
    --------
    >>> ml = poise.smoothed_aggregation_solver(A)
    >>> print(ml, [level.A.shape for level in ml.levels])
    >>> x = ml.solve(b, tol=1e-8, accel="cg")
    >>> x, info = scipy.sparse.linalg.cg(A, b, M=ml.aspreconditioner())
    """
    own = {"pc_amg_levels": max_levels, "pc_amg_coarse_size": max_coarse}
    return MultilevelSolver(A, B, {**{k: v for k, v in own.items() if v is not None}, **options})

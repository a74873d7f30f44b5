# SPDX-License-Identifier: BSD-3-Clause
"""Poise: large sparse linear systems, by iterative solvers on CPUs and NVIDIA GPUs.

    x, info = poise.cg(A, b, rtol=1e-8, M="icc")                # as scipy.sparse.linalg.cg
    x = poise.solve(A, b, "cg", pc="jacobi", rtol=1e-8)
    solver = poise.Solver(A, "gmres", pc="ilu", options="-ksp_gmres_restart 50")
    x = solver.solve(b)

A is a sparse matrix of SciPy, CuPy, PyTorch or JAX. It is used where it is, if it is CSR with sorted rows,
int32 indices and float64 values. `poise.torch.solve` and `poise.jax.solve` have gradients, and `poise.linalg`
has more functions of SciPy's.
"""
from __future__ import annotations

import importlib
from typing import Any

from ._assembly import Assembled, assemble
from ._library import (
    CallOrder,
    CopyWarning,
    FileError,
    InvalidArgument,
    NotConverged,
    NotSupported,
    NumericError,
    OutOfMemory,
    PoiseError,
    info,
    init,
    version,
)
from ._matrix import Matrix
from ._multigrid import MultilevelSolver, smoothed_aggregation_solver
from ._solver import Solver, System, solve
from .linalg import bicgstab, cg, gmres

__version__ = version()
__all__ = [
    "Assembled",
    "CallOrder",
    "CopyWarning",
    "FileError",
    "InvalidArgument",
    "Matrix",
    "MultilevelSolver",
    "NotConverged",
    "NotSupported",
    "NumericError",
    "OutOfMemory",
    "PoiseError",
    "Solver",
    "System",
    "assemble",
    "bicgstab",
    "cg",
    "gmres",
    "info",
    "init",
    "smoothed_aggregation_solver",
    "solve",
    "version",
]


def __getattr__(name: str) -> Any:
    """These import what they are for, and so are imported when they are used."""
    if name in ("jax", "lineax", "torch"):
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

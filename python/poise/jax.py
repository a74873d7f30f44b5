# SPDX-License-Identifier: BSD-3-Clause
"""Solves of JAX that have derivatives, under jit, grad, jvp and vmap: ``x = poise.jax.solve(A, b)``."""
from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ._csr import is_sparse, is_triple, square
from ._library import InvalidArgument, NotSupported
from ._pattern import HOST, Settings, pattern_of, settings_of

if jax.__version_info__ < (0, 4, 35):
    raise ImportError(f"poise.jax needs JAX 0.4.35 or newer; this is {jax.__version__}")


def entries_of(A: Any) -> tuple[Any, Any, Any, int]:
    """Values, rows, columns and the number of rows. Places from there on are padding."""
    if is_sparse(A):
        A = A.tocsr()
        data, indices, indptr, shape = A.data, A.indices, A.indptr, A.shape
    elif is_triple(A):
        data, indices, indptr = A
        if data.shape != indices.shape or data.ndim != 1 or indptr.ndim != 1:
            raise InvalidArgument(
                f"(data, indices, indptr) have the shapes {[a.shape for a in A]}; the first two must have "
                "one length"
            )
        shape = (indptr.shape[0] - 1,) * 2
    elif type(A).__name__ in ("BCSR", "BCOO"):
        if A.n_batch or A.n_dense:
            raise NotSupported(
                f"A is a {type(A).__name__} of {A.n_batch} batch and {A.n_dense} dense dimensions; vmap over "
                "A's data has batches"
            )
        data, indices, indptr, shape = A.data, A.indices, getattr(A, "indptr", None), A.shape
    else:
        raise NotSupported(
            f"A is a {type(A).__name__}; derivatives are those of BCSR, BCOO and (data, indices, indptr). "
            "poise.solve takes others"
        )
    n = square(shape)
    if indptr is None:
        return data, indices[:, 0], indices[:, 1], n
    rows = jnp.searchsorted(jnp.asarray(indptr), jnp.arange(data.shape[0]), side="right") - 1
    return data, rows, jnp.asarray(indices), n


def product(data: Any, rows: Any, columns: Any, x: Any) -> Any:
    """A x, in JAX's own operations: its derivatives are those of the solve."""
    each = x.at[columns].get(mode="fill", fill_value=0)
    each = (data if x.ndim == 1 else data[:, None]) * each
    return jnp.zeros_like(x).at[rows].add(each.astype(x.dtype), mode="drop")


def _on_host(settings: Settings, transposed: bool, core: int, data: Any, rows: Any, columns: Any,
             b: Any) -> np.ndarray[Any, Any]:
    """What jax.pure_callback calls: b has `core` dimensions behind those that vmap has put before them.
    Right-hand sides of one A are solved at once."""
    data, rows, columns, b = (np.asarray(a) for a in (data, rows, columns, b))
    batch, n = b.shape[: b.ndim - core], b.shape[b.ndim - core]

    def solved(data: Any, rows: Any, columns: Any, b: Any) -> Any:
        pattern = pattern_of("triplets", (rows, columns), lambda: (rows, columns), n, HOST, settings)
        return pattern.solve(data, b, transposed)

    b = b.reshape(-1, *b.shape[b.ndim - core :])
    x = np.empty_like(b)
    if all(a.size == a.shape[-1] for a in (data, rows, columns)):
        together = np.moveaxis(b, 0, -1).reshape(n, -1)
        found = solved(data.reshape(-1), rows.reshape(-1), columns.reshape(-1), together)
        x[...] = np.moveaxis(found.reshape(*b.shape[1:], len(b)), -1, 0)
    else:
        each = (np.broadcast_to(a, batch + a.shape[-1:]).reshape(-1, a.shape[-1])
                for a in (data, rows, columns))
        for i, entries in enumerate(zip(*each)):
            x[i] = solved(*entries, b[i])
    return x.reshape(batch + x.shape[1:])


def called(settings: Settings, transposed: bool, data: Any, rows: Any, columns: Any, b: Any) -> jax.Array:
    """A^-1 b or A^-T b, as a call of the host, without derivatives."""
    host = functools.partial(_on_host, settings, transposed, b.ndim)
    result = jax.ShapeDtypeStruct(b.shape, b.dtype)
    return jax.pure_callback(host, result, data, rows, columns, b, vmap_method="expand_dims")


def solve(
    A: Any,
    b: Any,
    method: str | None = None,
    *,
    pc: Any = "none",
    rtol: float = 1e-8,
    atol: float | None = None,
    maxiter: int | None = None,
    symmetric: bool = False,
    options: str = "",
    **keywords: Any,
) -> jax.Array:
    """Solve A x = b, with derivatives of x by A's data and by b, of any order, forward and backward.

    A derivative is one more solve: with A forward, with A^T backward. `jax.vmap` over b is one solve of
    several right-hand sides. The solve is a callback to the host (``jax.pure_callback``), where arrays on a
    GPU are copied to.

    The solver of a pattern and its settings is kept between calls, for the latest 8 of them. A call with
    other values gives them to it. It holds copies of A's arrays.

    Parameters
    ----------
    A
        Square: ``jax.experimental.sparse.BCSR`` or ``BCOO``, ``(data, indices, indptr)`` of CSR, or a matrix
        of SciPy, which has no derivative. float64 or float32; the solve works in float64.
    b
        Shape (n,) or (n, k).
    method, pc, rtol, atol, maxiter, options, **keywords
        As of `poise.solve`. An error of x is one of the derivatives too: rtol is 1e-8 here.
    symmetric
        A is: its solver then serves A^T too. Not needed for methods of symmetric matrices, such as ``"cg"``,
        nor where A equals A^T to the last bit.

    Returns
    -------
    x: jax.Array
        Of the shape and type of b.

    Raises
    ------
    jax.errors.JaxRuntimeError
        With the words of `NotConverged`.
    """
    keywords.update(rtol=rtol, atol=atol, maxiter=maxiter)
    settings = settings_of(method, pc, symmetric, options, keywords)
    data, rows, columns, n = entries_of(A)
    data, b = jnp.asarray(data), jnp.asarray(b)
    for name, array in (("A", data), ("b", b)):
        if array.dtype not in (np.float64, np.float32):
            raise TypeError(f"{name} is {array.dtype}; it can be float64 or float32")
    if b.ndim not in (1, 2) or b.shape[0] != n:
        raise InvalidArgument(f"b has the shape {b.shape}; A has {n} rows")

    def solver(transposed: bool) -> Any:
        return lambda _, right: called(settings, transposed, data, rows, columns, right)

    return jax.lax.custom_linear_solve(
        functools.partial(product, data, rows, columns), b, solver(False), solver(True), settings.symmetric
    )

# SPDX-License-Identifier: BSD-3-Clause
"""Poise in Lineax: a sparse operator, and a solver of it, with derivatives, under jit and vmap.

    x = lineax.linear_solve(poise.lineax.Operator(A), b, poise.lineax.Solver("cg", pc="amg")).value
"""
from __future__ import annotations

from typing import Any

import equinox
import jax
import jax.numpy as jnp
import lineax

from ._library import InvalidArgument, NotSupported
from ._pattern import settings_of
from .jax import called, entries_of, product


class Operator(lineax.AbstractLinearOperator):
    """A square sparse matrix: what `poise.jax.solve` takes."""

    data: jax.Array
    rows: jax.Array
    columns: jax.Array
    n: int = equinox.field(static=True)
    transposed: bool = equinox.field(static=True)

    def __init__(self, A: Any, transposed: bool = False):
        own = (A.data, A.rows, A.columns, A.n) if isinstance(A, Operator) else entries_of(A)
        self.data, self.rows, self.columns, self.n = own
        self.transposed = transposed

    def _places(self) -> tuple[jax.Array, jax.Array]:
        return (self.columns, self.rows) if self.transposed else (self.rows, self.columns)

    def mv(self, vector: jax.Array) -> jax.Array:
        return product(self.data, *self._places(), vector)

    def as_matrix(self) -> jax.Array:
        zero = jnp.zeros((self.n, self.n), self.data.dtype)
        return zero.at[self._places()].add(self.data, mode="drop")

    def transpose(self) -> Operator:
        return Operator(self, not self.transposed)

    def in_structure(self) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((self.n,), self.data.dtype)

    out_structure = in_structure


for _question in (lineax.is_symmetric, lineax.is_diagonal, lineax.is_tridiagonal, lineax.has_unit_diagonal,
                  lineax.is_lower_triangular, lineax.is_upper_triangular, lineax.is_positive_semidefinite,
                  lineax.is_negative_semidefinite):
    _question.register(Operator, lambda operator: False)  # what lineax.TaggedLinearOperator says of it counts
for _itself in (lineax.linearise, lineax.materialise, lineax.conj):
    _itself.register(Operator, lambda operator: operator)


@lineax.diagonal.register(Operator)
def _diagonal(operator: Operator) -> jax.Array:
    on = jnp.where(operator.rows == operator.columns, operator.data, 0)
    return jnp.zeros(operator.n, operator.data.dtype).at[operator.rows].add(on, mode="drop")


class Solver(lineax.AbstractLinearSolver):  # type: ignore[type-arg]
    """A solver of an `Operator`, perhaps tagged. Symmetric tags have the meaning of `symmetric` in
    `poise.jax.solve`, whose other parameters these are."""

    settings: Any = equinox.field(static=True)

    def __init__(self, method: str | None = None, *, pc: Any = "none", rtol: float = 1e-8,
                 options: str = "", **keywords: Any):
        self.settings = (method, pc, options, tuple(sorted({"rtol": rtol, **keywords}.items())))

    def init(self, operator: Any, options: dict[str, Any]) -> Any:
        symmetric = lineax.is_symmetric(operator)
        while isinstance(operator, lineax.TaggedLinearOperator):
            operator = operator.operator
        if not isinstance(operator, Operator):
            raise NotSupported(f"poise.lineax.Solver takes a poise.lineax.Operator, not a "
                               f"{type(operator).__name__}")
        return operator, equinox.internal.Static(symmetric)

    def compute(self, state: Any, vector: jax.Array, options: dict[str, Any]) -> Any:
        operator, symmetric = state
        method, pc, words, keywords = self.settings
        if vector.ndim != 1:
            raise InvalidArgument(f"b has the shape {vector.shape}, not ({operator.n},)")
        settings = settings_of(method, pc, symmetric.value, words, dict(keywords))
        x = called(settings, operator.transposed, operator.data, operator.rows, operator.columns, vector)
        return x, lineax.RESULTS.successful, {}

    def transpose(self, state: Any, options: dict[str, Any]) -> Any:
        return (state[0].transpose(), state[1]), options

    def conj(self, state: Any, options: dict[str, Any]) -> Any:
        return state, options

    def assume_full_rank(self) -> bool:
        return True

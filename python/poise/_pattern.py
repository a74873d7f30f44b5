# SPDX-License-Identifier: BSD-3-Clause
"""What gradients keep of a matrix between calls: its pattern, with solvers of A x = b and of A^T x = b.

The latest patterns are kept, and found again by their numbers. So a loop that makes its matrix anew in each
step sets up the solver once, and then gives it new values. The backward pass of a step finds the same one.
"""
from __future__ import annotations

from typing import Any, Callable, NamedTuple

import numpy as np
from ._library import InvalidArgument, NotSupported, locked, ranks
from ._matrix import Matrix
from ._solver import Solver, method_of

_MOST = 8  # patterns that are kept
_SYMMETRIC = ("cg", "bcg", "prcg", "fcg", "minres", "symmlq")  # methods that need A = A^T

class Place:
    """What is done with arrays where they are. These are NumPy's, on the host."""

    name = "host"

    def own(self, array: Any) -> Any:
        """As an array of this place."""
        return np.asarray(array)

    def keep(self, array: Any) -> Any:
        """A copy that nobody else writes to."""
        return np.array(array)

    def equal(self, a: Any, b: Any) -> bool:
        return np.array_equal(a, b)

    def empty(self, size: int) -> Any:
        return np.empty(size)

    def copy(self, values: Any, to: Any) -> None:
        to[:] = values

    def summed(self, values: Any, slots: Any, size: int) -> Any:
        """The sums of the values of slots 0, 1, ... Those of slot -1 are left out."""
        return np.bincount(slots + 1, values, size + 1)[1:]

    def integers(self, a: Any, wide: bool = True) -> Any:
        return a.astype(np.int64 if wide else np.int32)

    def unique(self, keys: Any) -> tuple[Any, Any]:
        """Sorted, and where each stands there."""
        found, inverse = np.unique(keys, return_inverse=True)
        return found, inverse

    def order(self, a: Any) -> Any:
        """That sorts it. Equal ones stay in theirs."""
        return np.argsort(a, kind="stable")

    def starts(self, rows: Any, n: int) -> Any:
        """Of n rows, from the row of each entry."""
        return np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])

    def rows(self, starts: Any) -> Any:
        """The row of each entry, from the starts."""
        return np.repeat(np.arange(len(starts) - 1), np.diff(starts))


HOST = Place()


class Settings(NamedTuple):
    """Of matrices and solvers. Those of two calls are compared: words and numbers are equal, all else is the
    same object."""

    symmetric: bool  # the transposed system is the same
    matrix: dict[str, Any]
    solver: dict[str, Any]

    def same(self, other: Settings) -> bool:
        mine, theirs = {**self.matrix, **self.solver}, {**other.matrix, **other.solver}
        if self.symmetric != other.symmetric or mine.keys() != theirs.keys():
            return False
        plain = (str, bool, int, float)
        return all(a is theirs[k] or isinstance(a, plain) and a == theirs[k] for k, a in mine.items())


def settings_of(
    method: str | None, pc: Any, symmetric: bool, options: str, rest: dict[str, Any]
) -> Settings:
    if ranks() > 1:
        raise NotSupported(f"gradients are those of one rank; here are {ranks()}")
    method = method_of(method, pc, options, rest)
    symmetric = symmetric or method in _SYMMETRIC
    given = [key for key in ("P", "null_space") if rest.get(key) is not None]
    if not isinstance(pc, (str, type(None))):
        given.append("pc")
    if given and not symmetric:
        raise InvalidArgument(
            f"{given[0]} is for A, and gradients solve with A^T too: give symmetric=True if A is, or a "
            "preconditioner by its name"
        )
    matrix = {key: value for key, value in rest.items() if key.startswith("mat_")}
    solver = {key: value for key, value in rest.items() if key not in matrix}
    return Settings(symmetric, matrix, {"method": method, "pc": pc, "options": options, **solver})


class _Csr(NamedTuple):
    indices: Any
    indptr: Any
    order: Any = None  # its values are those of A in this order


class _Side:
    """A matrix of the library over values of its own, and its solver."""

    def __init__(self, csr: _Csr, place: Place, settings: Settings, values: Any):
        n = csr.indptr.shape[0] - 1
        self._place = place
        self._values = place.empty(csr.indices.shape[0])
        place.copy(values, self._values)
        self._matrix = Matrix((self._values, csr.indices, csr.indptr), shape=(n, n), **settings.matrix)
        self._solver = Solver(self._matrix, **settings.solver)

    def solve(self, values: Any, b: Any) -> Any:
        if not self._place.equal(values, self._values):
            self._place.copy(values, self._values)
            self._solver.update()
        return self._solver.solve(b)


class Pattern:
    """Entries at (rows[k], columns[k]) of a square matrix of n rows, in the user's order. Those at one place
    are summed. Rows and columns of n or more are no entries: JAX pads with them."""

    def __init__(self, rows: Any, columns: Any, n: int, place: Place, settings: Settings):
        self._n, self._place, self._settings = n, place, settings
        if len(rows) and min(rows.min(), columns.min()) < 0:
            raise InvalidArgument("A has negative indices")
        inside = (rows < n) & (columns < n)
        keys = place.integers(rows) * n + columns
        self._slots = None
        if not inside.all() or (keys[1:] <= keys[:-1]).any():
            self._slots = place.integers(inside) - 1
            keys, self._slots[inside] = place.unique(keys[inside])
        self._csr = self._compressed(keys // n, keys % n)
        self._transposed: _Csr | None = None
        self._sides: dict[bool, _Side] = {}

    def _compressed(self, rows: Any, columns: Any, order: Any = None) -> _Csr:
        wide = max(self._n, len(rows)) >= 2**31
        indices = self._place.integers(columns, wide)
        return _Csr(indices, self._place.integers(self._place.starts(rows, self._n), wide), order)

    def _transpose(self) -> _Csr:
        if self._transposed is None:
            columns, rows = self._csr.indices, self._place.rows(self._csr.indptr)
            order = self._place.order(columns)
            self._transposed = self._compressed(columns[order], rows[order], order)
        return self._transposed

    def _mirrored(self, values: Any) -> Any:
        """The values of A^T, or None if they are those of A."""
        T, equal = self._transpose(), self._place.equal
        mirrored = values[T.order]
        same = equal(mirrored, values) and equal(T.indptr, self._csr.indptr)
        return None if same and equal(T.indices, self._csr.indices) else mirrored

    @locked
    def solve(self, values: Any, b: Any, transposed: bool) -> Any:
        """x of A x = b, or of A^T x = b, for b of shape (n,) or (n, k)."""
        place, csr = self._place, self._csr
        if self._slots is not None:
            values = place.summed(values, self._slots, csr.indices.shape[0])
        if transposed and not self._settings.symmetric:
            mirrored = self._mirrored(values)
            if mirrored is not None:
                values, csr = mirrored, self._transpose()
        key = csr is not self._csr
        if key not in self._sides:
            self._sides[key] = _Side(csr, place, self._settings, values)
        return self._sides[key].solve(values, b)


class _Kept(NamedTuple):
    form: str
    given: tuple[Any, ...]
    n: int
    place: Place
    settings: Settings
    pattern: Pattern

    def fits(self, form: str, given: tuple[Any, ...], n: int, place: Place, settings: Settings) -> bool:
        if (form, n, place.name) != (self.form, self.n, self.place.name) or not settings.same(self.settings):
            return False
        return all(a.shape == b.shape and place.equal(a, b) for a, b in zip(given, self.given))


_kept: list[_Kept] = []  # the latest first


@locked
def pattern_of(
    form: str, given: tuple[Any, ...], entries: Callable[[], tuple[Any, Any]], n: int, place: Place,
    settings: Settings
) -> Pattern:
    """The pattern of these arrays of indices, which are of a form, such as CSR: entries() are the rows and
    columns that they mean."""
    at = next((at for at, kept in enumerate(_kept) if kept.fits(form, given, n, place, settings)), None)
    if at is None:
        pattern = Pattern(*entries(), n, place, settings)
        _kept.insert(0, _Kept(form, tuple(map(place.keep, given)), n, place, settings, pattern))
        del _kept[_MOST:]
    else:
        _kept.insert(0, _kept.pop(at))
    return _kept[0].pattern

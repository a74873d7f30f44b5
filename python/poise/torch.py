# SPDX-License-Identifier: BSD-3-Clause
"""Solves of PyTorch that have gradients: ``x = poise.torch.solve(A, b)``."""
from __future__ import annotations

from typing import Any, NamedTuple

import torch

from ._csr import is_sparse, is_triple, square
from ._library import InvalidArgument, NotSupported
from ._pattern import HOST, Place, Settings, pattern_of, settings_of

if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 4):  # older ones have no gradients of sparse_csr
    raise ImportError(f"poise.torch needs PyTorch 2.4 or newer; this is {torch.__version__}")

_MOST_DENSE = 1 << 30  # bytes
_MOST_COLUMNS = 32  # that lie by rows on a GPU


class _Gpu(Place):
    """Tensors in a GPU's memory, where all is done on PyTorch's current stream."""

    def __init__(self, device: torch.device):
        self.device, self.name = device, str(device)

    def own(self, array: torch.Tensor) -> torch.Tensor:
        return array

    def keep(self, array: torch.Tensor) -> torch.Tensor:
        return array.clone()

    def equal(self, a: torch.Tensor, b: torch.Tensor) -> bool:
        return bool((a == b).all())

    def empty(self, size: int) -> torch.Tensor:
        return torch.empty(size, dtype=torch.float64, device=self.device)

    def copy(self, values: torch.Tensor, to: torch.Tensor) -> None:
        to.copy_(values)

    def summed(self, values: torch.Tensor, slots: torch.Tensor, size: int) -> torch.Tensor:
        sums = torch.zeros(size + 1, dtype=torch.float64, device=self.device)
        return sums.index_add_(0, slots + 1, values.double())[1:]

    def integers(self, a: torch.Tensor, wide: bool = True) -> torch.Tensor:
        return a.long() if wide else a.int()

    def unique(self, keys: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        found, inverse = torch.unique(keys, return_inverse=True)
        return found, inverse

    def order(self, a: torch.Tensor) -> torch.Tensor:
        return torch.argsort(a, stable=True)

    def starts(self, rows: torch.Tensor, n: int) -> torch.Tensor:
        ends = torch.bincount(rows, minlength=n).cumsum(0)
        return torch.cat([ends.new_zeros(1), ends])

    def rows(self, starts: torch.Tensor) -> torch.Tensor:
        return torch.repeat_interleave(torch.arange(len(starts) - 1, device=self.device), starts.diff())


def _place(device: torch.device) -> Place:
    return HOST if device.type == "cpu" else _Gpu(device)


class _Entries(NamedTuple):
    """The places of the entries of A."""

    indices: torch.Tensor  # of columns, or of rows and columns
    indptr: torch.Tensor | None
    n: int
    settings: Settings

    def places(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Rows and columns."""
        if self.indptr is None:
            return self.indices[0], self.indices[1]
        ptr = self.indptr.long()
        rows = torch.repeat_interleave(torch.arange(self.n, device=ptr.device), ptr.diff())
        if rows.shape != self.indices.shape or ptr[0] != 0:
            raise InvalidArgument(
                f"indptr goes from {ptr[0]} to {ptr[-1]}, and there are {len(self.indices)} entries"
            )
        return rows, self.indices.long()

    def solve(self, values: torch.Tensor, b: torch.Tensor, transposed: bool) -> torch.Tensor:
        arrays = [values, self.indices] + ([] if self.indptr is None else [self.indptr])
        place = _place(values.device)
        values, *given = (a.detach().numpy() if place is HOST else a.detach() for a in arrays)
        form = "COO" if self.indptr is None else "CSR"
        pattern = pattern_of(form, tuple(given), lambda: tuple(map(place.own, self.places())), self.n, place,
                             self.settings)
        b = b.detach()
        if place is HOST or b.ndim == 1 or b.shape[1] <= _MOST_COLUMNS:
            return pattern.solve(values, b.contiguous(), transposed)
        parts = [pattern.solve(values, part.contiguous(), transposed) for part in b.split(_MOST_COLUMNS, 1)]
        return torch.cat(parts, 1)


class _Solve(torch.autograd.Function):
    """x = A^-1 b or A^-T b. Its derivatives are made of solves of this kind, and so have their own."""

    @staticmethod
    def forward(values: torch.Tensor, b: torch.Tensor, entries: _Entries, transposed: bool) -> torch.Tensor:
        return entries.solve(values, b, transposed)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
        values, _, ctx.entries, ctx.transposed = inputs
        ctx.save_for_backward(values, output)
        ctx.save_for_forward(values, output)

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> tuple[torch.Tensor | None, torch.Tensor, None, None]:
        values, x = ctx.saved_tensors
        of_b = _Solve.apply(values, g, ctx.entries, not ctx.transposed)
        of_values = None
        if ctx.needs_input_grad[0]:
            rows, columns = ctx.entries.places()
            left, right = (x, of_b) if ctx.transposed else (of_b, x)
            each = ((left, right),) if x.ndim == 1 else zip(left.unbind(1), right.unbind(1))
            products = [u[rows] * v[columns] for u, v in each]
            of_values = -sum(products[1:], products[0]).to(values.dtype) if products else 0 * values
        return of_values, of_b, None, None

    @staticmethod
    def jvp(ctx: Any, of_values: torch.Tensor | None, of_b: torch.Tensor | None, *_: None) -> torch.Tensor:
        """The solution for of_b - (of A) x."""
        values, x = ctx.saved_tensors
        right = torch.zeros_like(x) if of_b is None else of_b
        if of_values is not None:
            rows, columns = ctx.entries.places()
            if ctx.transposed:
                rows, columns = columns, rows
            weights = of_values if x.ndim == 1 else of_values[:, None]
            right = right.index_add(0, rows, -(weights * x[columns]).to(x.dtype))
        return _Solve.apply(values, right, ctx.entries, ctx.transposed)

    @staticmethod
    def vmap(info: Any, dims: tuple[Any, ...], values: torch.Tensor, b: torch.Tensor, entries: _Entries,
             transposed: bool) -> tuple[torch.Tensor, int]:
        """Right-hand sides of one A are solved at once."""
        if dims[0] is None:
            B = b.movedim(dims[1], -1)
            x = _Solve.apply(values, B.reshape(B.shape[0], -1), entries, transposed)
            return x.reshape(B.shape), B.ndim - 1
        each = (b if dims[1] is None else b.select(dims[1], i) for i in range(info.batch_size))
        pairs = zip(values.unbind(dims[0]), each)
        return torch.stack([_Solve.apply(v, c, entries, transposed) for v, c in pairs]), 0


def _entries_of(A: Any, settings: Settings) -> tuple[torch.Tensor, _Entries]:
    """Values of A, which have gradients, and where they stand."""
    if is_sparse(A):
        A = A.tocsr()
        entries = _Entries(*(torch.from_numpy(a) for a in (A.indices, A.indptr)), square(A.shape), settings)
        return torch.from_numpy(A.data), entries
    if is_triple(A):
        values, indices, indptr = A
        if values.shape != indices.shape or values.ndim != 1 or indptr.ndim != 1:
            raise InvalidArgument(
                f"(values, indices, indptr) have the shapes {[tuple(a.shape) for a in A]}; the first two "
                "must have one length"
            )
        return values, _Entries(indices, indptr, len(indptr) - 1, settings)
    layout = str(getattr(A, "layout", type(A).__name__))
    if layout not in ("torch.sparse_csr", "torch.sparse_coo"):
        raise NotSupported(
            f"A is {layout}; gradients are those of sparse_csr, sparse_coo and (values, indices, indptr). "
            "poise.solve takes others"
        )
    n = square(A.shape)
    if layout == "torch.sparse_csr":
        size = n**2 * A.element_size()
        if "SparseCompressed" in type(A.grad_fn).__name__ and size > _MOST_DENSE:
            raise NotSupported(
                f"PyTorch's gradient of torch.sparse_csr_tensor takes a dense matrix, here of "
                f"{size / 1e9:.3g} GB: give (values, indices, indptr) in place of A, or a sparse_coo tensor"
            )
        return A.values(), _Entries(A.col_indices(), A.crow_indices(), n, settings)
    A = A.coalesce()
    return A.values(), _Entries(A.indices(), None, n, settings)


def solve(
    A: Any,
    b: torch.Tensor,
    method: str | None = None,
    *,
    pc: Any = "none",
    rtol: float = 1e-8,
    atol: float | None = None,
    maxiter: int | None = None,
    symmetric: bool = False,
    options: str = "",
    **keywords: Any,
) -> torch.Tensor:
    """Solve A x = b, with gradients of x by A and by b, of any order.

    A gradient is one more solve, with A^T. That by A has A's layout and pattern.

    The solver of a pattern and its settings is kept between calls, for the latest 8 of them, and while a
    graph needs it. A call with other values gives them to it. It holds copies of A's arrays.

    Parameters
    ----------
    A
        Square: a tensor of layout sparse_csr or sparse_coo, ``(values, indices, indptr)`` of CSR, or a
        matrix of SciPy, which has no gradient. float64 or float32; the solve works in float64. A large
        sparse_csr must be a leaf: PyTorch's gradient of ``torch.sparse_csr_tensor(..., values)`` makes a
        dense matrix on its way to the values.
    b
        Shape (n,) or (n, k), on A's device.
    method, pc, rtol, atol, maxiter, options, **keywords
        As of `poise.solve`. An error of x is one of the gradients too: rtol is 1e-8 here.
    symmetric
        A is: its solver then serves A^T too. Not needed for methods of symmetric matrices, such as ``"cg"``,
        nor where A equals A^T to the last bit.

    Returns
    -------
    x: torch.Tensor
        Of the shape, type and device of b.

    Raises
    ------
    NotConverged
        In this call, or in that of ``backward``.
    """
    keywords.update(rtol=rtol, atol=atol, maxiter=maxiter)
    values, entries = _entries_of(A, settings_of(method, pc, symmetric, options, keywords))
    if not isinstance(b, torch.Tensor):
        raise TypeError(f"b is a {type(b).__name__}; it must be a tensor of PyTorch")
    for name, array in (("A", values), ("b", b)):
        if array.dtype not in (torch.float64, torch.float32):
            raise TypeError(f"{name} is {array.dtype}; it can be float64 or float32")
    if values.device != b.device or b.device.type not in ("cpu", "cuda"):
        raise NotSupported(f"A is on {values.device}, b on {b.device}; both can be on cpu, or on one GPU")
    if b.ndim not in (1, 2) or b.shape[0] != entries.n:
        raise InvalidArgument(f"b has the shape {tuple(b.shape)}; A has {entries.n} rows")
    return _Solve.apply(values, b, entries, False)

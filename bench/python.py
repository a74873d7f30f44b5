#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What Python's calls take on a GPU, with PyTorch's tensors there: milliseconds, medians of some rounds.

    python bench/python.py [grid | cube | small | same | growth]...

grid    5-point Laplacian, as torch-sla's benchmark has it: poise.solve to 1e-8, set-up included
cube    elasticity of 79^3 hexahedra, as torch-fem has it: assembly, solve, and gradient by the densities
small   16 rows, beside the call of C
same    an irregular symmetric matrix, solved 1000 times: the bits of x
growth  1000 solves of new tensors: memory
"""
import ctypes
import resource
import statistics
import sys
import time

import numpy as np
import poise
import torch
from poise import _declarations as c
from poise import _library
from poise._arrays import Vector, device_array

torch.set_default_dtype(torch.float64)
torch.set_default_device("cuda")
torch.sparse.check_sparse_tensor_invariants.disable()


def timed(function):
    torch.cuda.synchronize()
    start = time.perf_counter()
    result = function()
    torch.cuda.synchronize()
    return 1e3 * (time.perf_counter() - start), result


def used():
    """Bytes of the GPU in use, without what PyTorch keeps for later."""
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    free, total = torch.cuda.mem_get_info()
    return total - free


# ---- grid --------------------------------------------------------------------------------------------------


def laplacian(n):
    """CSR of n x n points, made in parts of whole lines: values, columns, starts of rows."""
    entries = 5 * n * n - 4 * n
    values, columns = torch.empty(entries), torch.empty(entries, dtype=torch.int32)
    starts = torch.zeros(n * n + 1, dtype=torch.int32)
    offsets = torch.tensor([-n, -1, 0, 1, n])
    stencil = torch.tensor([-1.0, -1.0, 4.0, -1.0, -1.0])
    at, lines = 0, max(1, 20_000_000 // n)
    for first in range(0, n, lines):
        i = torch.arange(first * n, min(first + lines, n) * n)
        x, y = i % n, i // n
        inside = torch.stack([y > 0, x > 0, y >= 0, x < n - 1, y < n - 1], 1)
        part = (i[:, None] + offsets)[inside]
        columns[at : at + len(part)] = part
        values[at : at + len(part)] = stencil.expand(len(i), 5)[inside]
        starts[i + 1] = (at + inside.sum(1).cumsum(0)).int()
        at += len(part)
    return values, columns, starts


def residual(x, b, n):
    """|b - A x| / |b|, by differences of the grid."""
    u = torch.nn.functional.pad(x.reshape(n, n), (1, 1, 1, 1))
    r = b.reshape(n, n) - 4 * u[1:-1, 1:-1]
    for part in (u[:-2, 1:-1], u[2:, 1:-1], u[1:-1, :-2], u[1:-1, 2:]):
        r += part
    return float(r.norm() / b.norm())


def grid(sizes=((1000, 5), (4000, 5), (13000, 3), (20000, 3))):
    for n, rounds in sizes:
        before = used()
        values, columns, starts = laplacian(n)
        A = torch.sparse_csr_tensor(starts, columns, values, (n * n, n * n))
        torch.manual_seed(1)
        b = torch.rand(n * n)
        own = used()
        times = []
        for _ in range(rounds):
            ms, x = timed(lambda: poise.solve(A, b, "cg", pc="amg", rtol=1e-8))
            times.append(ms)
        true = residual(x, b, n)
        with poise.Solver(A, "cg", pc="amg", rtol=1e-8) as solver:
            solver.solve(b, out=x)
            solve = statistics.median(timed(lambda: solver.solve(b, out=x))[0] for _ in range(rounds))
            held, its = used() - own, solver.iterations
        print(f"grid {n}^2 = {n * n / 1e6:.0f} M rows: {statistics.median(times):.1f} ms, least "
              f"{min(times):.1f}, solve alone {solve:.1f}, {its} iterations, true residual {true:.1e}, "
              f"{held / n**2:.0f} bytes a row beside the {(own - before) / n**2:.0f} of A and b", flush=True)
        del A, b, x, values, columns, starts


# ---- cube --------------------------------------------------------------------------------------------------


def hexahedron(nu=0.3):
    """The stiffness matrix of a cube of side 1, by eight points: 24 x 24."""
    corners = np.array([[x, y, z] for z in (-1, 1) for y, x in ((-1, -1), (-1, 1), (1, 1), (1, -1))])
    D = np.zeros((6, 6))
    D[:3, :3] = nu
    D[range(3), range(3)] = 1 - nu
    D[range(3, 6), range(3, 6)] = (1 - 2 * nu) / 2
    D /= (1 + nu) * (1 - 2 * nu)
    K = np.zeros((24, 24))
    for p in corners / np.sqrt(3):
        one = (1 + corners * p) / 2
        slopes = corners * np.stack([one[:, 1] * one[:, 2], one[:, 0] * one[:, 2], one[:, 0] * one[:, 1]], 1)
        B = np.zeros((6, 24))
        for row, k in enumerate((0, 1, 2)):
            B[row, k::3] = slopes[:, k]
        for row, (k, l) in ((3, (0, 1)), (4, (1, 2)), (5, (0, 2))):
            B[row, k::3], B[row, l::3] = slopes[:, l], slopes[:, k]
        K += B.T @ D @ B / 8
    return torch.tensor(K)


def cube(n=80):
    node = torch.arange(n**3).reshape(n, n, n)  # [z, y, x]
    c0, c1 = slice(None, -1), slice(1, None)
    elements = torch.stack([node[z, y, x] for z in (c0, c1)
                            for y, x in ((c0, c0), (c0, c1), (c1, c1), (c1, c0))], -1).reshape(-1, 8)
    places = torch.stack([node % n, node // n % n, node // n**2], -1).reshape(-1, 3).double().cpu().numpy()
    fixed = torch.cat([3 * node[0].reshape(-1) + k for k in range(3)])
    torch.manual_seed(2)
    density = 0.5 + torch.rand(len(elements))
    K = hexahedron()
    f = torch.zeros(3 * n**3)
    f[3 * node[-1].reshape(-1)] = 1.0 / n**2
    f[fixed] = 0

    def matrices(density):
        return density[:, None, None] * K

    rows = f"cube {n - 1}^3 hexahedra, {3 * n**3} unknowns: "
    for round in range(3):
        ms, A = timed(lambda: poise.assemble(elements, matrices(density), unknowns=3, fixed=fixed))
        A.set_coordinates(places)
        with poise.Solver(A, "cg", pc="amg", rtol=1e-8) as solver:
            first, x = timed(lambda: solver.solve(f))
            again, _ = timed(lambda: solver.solve(f))
            new, _ = timed(lambda: A.update(matrices(1 / density)))
            then, _ = timed(lambda: solver.solve(f))
            its = solver.iterations
        if round:
            print(f"{rows}assemble {ms:.0f} ms, set-up and solve {first:.0f}, solve alone {again:.0f}; new "
                  f"matrices {new:.0f}, set-up and solve {then:.0f}; {its} iterations", flush=True)
        A.close()

    # The matrix as a function of the densities, in PyTorch's operations: the pattern once.
    N, unknown = 3 * n**3, (3 * elements[:, :, None] + torch.arange(3)).reshape(-1, 24)
    keys = (unknown[:, :, None] * N + unknown[:, None, :]).reshape(-1)
    keys, slots = torch.unique(keys, return_inverse=True)
    entry_row, indices = keys // N, (keys % N).int()
    indptr = torch.zeros(N + 1, dtype=torch.int32)
    indptr[1:] = torch.bincount(entry_row, minlength=N).cumsum(0)
    free = torch.ones(N)
    free[fixed] = 0
    both = free[entry_row] * free[keys % N]
    ones = torch.zeros(len(keys)).masked_fill(entry_row == keys % N, 1.0) * (1 - free)[entry_row]
    del keys, entry_row

    def values_of(density):
        sums = torch.zeros(len(indices)).index_add(0, slots, matrices(density).reshape(-1))
        return sums * both + ones

    for round in range(3):
        scale = ((1 + round) * density).requires_grad_()
        made, values = timed(lambda: values_of(scale))
        forward, x = timed(lambda: poise.torch.solve((values, indices, indptr), f, "cg", pc="amg", rtol=1e-8,
                                                     coordinates=places, mat_block_size=3))
        backward, _ = timed(lambda: (x @ f).backward())
        # d(f.x) / d(density) = -x_e^T K x_e
        u = x.detach()[unknown] * free[unknown]
        error = (scale.grad + torch.einsum("ei,ij,ej->e", u, K, u)).norm() / scale.grad.norm()
        words = "the first, with the pattern" if round == 0 else "new densities"
        print(f"{rows}{words}: values {made:.0f} ms, poise.torch.solve {forward:.0f}, backward "
              f"{backward:.0f}, error of the gradient {float(error):.1e}", flush=True)


# ---- small -------------------------------------------------------------------------------------------------


def small(repetitions=300):
    values, columns, starts = laplacian(4)
    A = torch.sparse_csr_tensor(starts, columns, values, (16, 16))
    b, x = torch.ones(16), torch.empty(16)
    torch.set_default_device(None)  # PyTorch calls Python for each operation while one is set
    solver = poise.Solver(A, "cg", pc="jacobi", rtol=1e-8)
    solver.solve(b)
    plain = ctypes.CDLL(_library.lib._name).PoiseKSPSolve
    plain.argtypes = [ctypes.c_void_p] * 3

    def least(function):
        times = []
        for _ in range(20):
            start = time.perf_counter()
            for _ in range(repetitions):
                function()
            times.append((time.perf_counter() - start) / repetitions)
        return 1e6 * min(times)

    given, found = device_array(b, "b"), device_array(x, "x")
    with Vector(given, 16, c.POISE_DECIDE) as vb, Vector(found, 16, c.POISE_DECIDE) as vx:
        handles = solver._get().value, vb.value, vx.value
        print(f"small 16 rows, {solver.iterations} iterations, microseconds: "
              f"PoiseKSPSolve {least(lambda: plain(*handles)):.1f}, ", end="")
    print(f"solver.solve {least(lambda: solver.solve(b)):.1f}, with out "
          f"{least(lambda: solver.solve(b, out=x)):.1f}, ", end="")
    print(f"poise.torch.solve {least(lambda: poise.torch.solve(A, b, 'cg', pc='jacobi')):.1f}, poise.solve "
          f"{least(lambda: poise.solve(A, b, 'cg', pc='jacobi', rtol=1e-8)):.1f}", flush=True)
    torch.set_default_device("cuda")


# ---- same --------------------------------------------------------------------------------------------------


def same(n=1200, times=1000):
    """A grid with conductances over four decades, and wires between random points, as a circuit has."""
    torch.manual_seed(3)
    node = torch.arange(n * n).reshape(n, n)
    far = torch.randint(0, n * n, (2, n * n // 20))
    one = torch.cat([node[:, :-1].reshape(-1), node[:-1].reshape(-1), far[0]])
    other = torch.cat([node[:, 1:].reshape(-1), node[1:].reshape(-1), far[1]])
    g = 10 ** (4 * torch.rand(len(one)))
    ends = torch.arange(n * n)
    rows = torch.cat([one, other, one, other, ends])
    columns = torch.cat([one, other, other, one, ends])
    ground = torch.full((n * n,), 1e-3)
    values = torch.cat([g, g, -g, -g, ground])
    A = torch.sparse_coo_tensor(torch.stack([rows, columns]), values, (n * n, n * n)).coalesce()
    A = A.to_sparse_csr()
    b = torch.rand(n * n)
    for pc in ("amg", "jacobi"):
        seen, counts = set(), set()
        rounds = times if pc == "amg" else times // 50
        start = time.perf_counter()
        for k in range(rounds):
            if k % (rounds // 10) == 0:  # also with new set-ups
                solver = poise.Solver(A, "cg", pc=pc, rtol=1e-8, maxiter=20000)
            x = solver.solve(b)
            seen.add((int(x.view(torch.int64).sum()), int((x.view(torch.int64) * (ends + 1)).sum())))
            counts.add(solver.iterations)
        ms = 1e3 * (time.perf_counter() - start) / rounds
        true = float((b - A @ x).norm() / b.norm())
        print(f"same {n * n} rows, {pc}: {rounds} solves, {len(seen)} different x, iterations "
              f"{sorted(counts)}, {ms:.1f} ms each, true residual {true:.1e}", flush=True)
        solver.close()


# ---- growth ------------------------------------------------------------------------------------------------


def growth(times=1000):
    values, columns, starts = laplacian(300)
    seen = []
    for k in range(times + 1):
        scaled = ((1 + k % 5) * values).requires_grad_()
        b = torch.rand(300 * 300)
        A = torch.sparse_csr_tensor(starts.clone(), columns.clone(), scaled.detach().clone(), (90000, 90000))
        poise.solve(A, b, "cg", pc="amg", rtol=1e-8)
        poise.torch.solve((scaled, columns, starts), b, "cg", pc="amg").sum().backward()
        if k in (100, times):
            seen.append((used(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))
    print(f"growth from solve 100 to {times}: {(seen[1][0] - seen[0][0]) / 1e6:.1f} MB of the GPU, "
          f"{(seen[1][1] - seen[0][1]) / 1e3:.1f} MB of the host", flush=True)


if __name__ == "__main__":
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, Poise {poise.version()}")
    for name in sys.argv[1:] or ("grid", "cube", "small", "same", "growth"):
        globals()[name]()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What would amg cost if its aggregates were boxes of 3 x 3 x 3 points of the grid, on all levels?

  bench/amg_boxes.py build/release

It prints rows "boxes" for the table of amg.py, of those of its cases whose points are a grid. A matrix does
not tell of a grid, so the library has no such aggregates. This is a model of it: the same smoothed P, bound
of the spectrum, smoother, cycle and dense bottom as in src/pc/amg, and no connection is dropped. Bytes are
counted as in src/pc/amg/view.c, of a cycle in fp64. Points that are held (rows of the identity) are in no
box. beamH is what the driver elasticity writes. The rows of jacobi are those of amg.py but for rounding: the
matrices and right-hand sides are the same. NumPy and SciPy are needed.
"""
import argparse
import os
import subprocess
import tempfile

import numpy as np
import scipy.io
import scipy.sparse as sp

CASES = {"p7": 100, "jump": 80, "aniso": 80, "beamH": 12}
BOX, COARSE_SIZE, STEPS = 3, 600, 12
GOLDEN = np.uint64(0x9e3779b97f4a7c15)
WEIGHTS = {1: [1.125], 2: [1.02387287570313, 1.26408905371085]}  # as in src/pc/amg/cycle.c


def hashed(z):
    """Numbers in [0, 1) from 64-bit ones, as the end of poiseMix makes them."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xbf58476d1ce4e5b9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94d049bb133111eb)
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53


def random(n):
    """As PoiseVecSetRandom does with seed 1."""
    return 2 * hashed((np.arange(n, dtype=np.uint64) + np.uint64(0xd1342543de82ef95)) * GOLDEN) - 1


def differences(case, side):
    """A as bench/amg.c makes it, and its grid; x runs fastest."""
    z, y, x = np.indices((side,) * 3)
    c = np.where((case == "jump") & ((x // 10 + y // 10 + z // 10) % 2 == 1), 1e4, 1.0)
    number, diagonal, parts = np.arange(side**3).reshape(c.shape), np.zeros(c.shape), []
    for axis in range(3):
        scale = 1000 if case == "aniso" and axis == 0 else 1
        at, to, near = (np.moveaxis(v, axis, 0) for v in (number, diagonal, c))
        edge = scale * 2 * near[:-1] * near[1:] / (near[:-1] + near[1:])
        to += scale * near * (np.indices(c.shape)[0] % (side - 1) == 0)  # the faces
        to[:-1] += edge
        to[1:] += edge
        i, j = at[:-1].ravel(), at[1:].ravel()
        parts += [(-edge.ravel(), i, j), (-edge.ravel(), j, i)]
    parts.append((diagonal.ravel(), number.ravel(), number.ravel()))
    val, row, col = (np.concatenate(p) for p in zip(*parts))
    return sp.csr_matrix((val, (row, col))), [side] * 3


def beam(build, n):
    """A and b of the driver's beam, its grid, and the rigid motions; x runs fastest."""
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "beam")
        program = os.path.join(build, "examples/elasticity")
        subprocess.run([program, "-cell", "hex8", "-n", str(n), "-save_system", name], check=True,
                       stdout=subprocess.DEVNULL)
        A, b = (scipy.io.mmread(name + end) for end in ("_A.mtx", "_b.mtx"))
    points = [10 * n + 1, n + 1, n + 1]
    x = np.array(np.unravel_index(np.arange(b.size // 3), points[::-1])[::-1], dtype=float).T
    x = (x - x.mean(axis=0)) / np.linalg.norm(x - x.mean(axis=0))
    near = np.zeros((len(x), 3, 6))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        near[:, i, i] = 1
        near[:, j, 3 + i], near[:, k, 3 + i] = -x[:, k], x[:, j]
    return A.tocsr(), b.ravel(), points, near.reshape(b.size, 6)


class Level:
    """A in blocks of its nodes, which are points of a grid, and its near null space."""

    def __init__(self, A, node, points, near):
        self.A, self.node, self.points, self.near = A.tobsr((node, node)), node, points, near
        self.nodes = A.shape[0] // node
        self.row = np.repeat(np.arange(self.nodes), np.diff(self.A.indptr))
        d = self.A.data[self.row == self.A.indices]
        zero = ~d.any(axis=2)  # of vectors that are 0 in their box
        d[zero] = np.eye(node)[np.nonzero(zero)[1]]
        d = np.linalg.inv(d)
        d[zero] = 0
        self.inverse = sp.bsr_matrix((d, np.arange(self.nodes), np.arange(self.nodes + 1)), shape=A.shape)
        x = hashed(np.arange(A.shape[0], dtype=np.uint64) + GOLDEN) - 0.5
        for _ in range(STEPS):
            x = self.inverse @ (self.A @ (x / np.linalg.norm(x)))
        rows = (self.inverse @ abs(self.A)).sum(axis=1).max() if node == 1 else np.inf
        self.lambda_ = rows if rows <= 2 * (1 + 1e-12) else min(rows, 1.1 * np.linalg.norm(x))

    def coarsen(self):
        """P, and the next level. Sums of blocks leave out only blocks of zeros, of points that are held."""
        size, modes = [-(-n // BOX) for n in self.points], self.near.shape[1]
        x, y, z = np.unravel_index(np.arange(self.nodes), self.points[::-1])[::-1]
        box = x // BOX + size[0] * (y // BOX + size[1] * (z // BOX))
        free = np.bincount(self.row[self.A.data.any(axis=(1, 2))], minlength=self.nodes) > 1
        box[~free] = -1
        q, coarse = np.zeros((self.nodes, self.node, modes)), np.zeros((np.prod(size), modes, modes))
        order = np.argsort(box, kind="stable")
        start = np.searchsorted(box[order], np.arange(np.prod(size) + 1))
        near = self.near.reshape(q.shape)
        for k, (first, end) in enumerate(zip(start, start[1:])):
            at = order[first:end]
            q[at], coarse[k] = orthonormal(near[at])
        shape = (self.A.shape[0], coarse.shape[0] * modes)
        T = sp.bsr_matrix((q[free], box[free], np.concatenate(([0], np.cumsum(free)))), shape=shape)
        self.P = T - 4 / (3 * self.lambda_) * (self.inverse @ (self.A @ T))
        return Level(self.P.T @ (self.A @ self.P), modes, size, coarse.reshape(-1, modes))


def orthonormal(b):
    """Gram and Schmidt's method, twice. A vector that depends on those before it becomes 0."""
    q = b.reshape(-1, b.shape[2]).copy()
    r = np.zeros((q.shape[1],) * 2)
    for j, v in enumerate(q.T):
        before = np.linalg.norm(v)
        for k in 2 * list(range(j)):
            by = v @ q[:, k]
            v -= by * q[:, k]
            r[k, j] += by
        size = np.linalg.norm(v)
        r[j, j] = size if size > 1e-10 * before else 0
        v *= 1 / size if r[j, j] else 0
    return q.reshape(b.shape), r


def smooth(l, degree, r, x):
    d, r = 0, r.copy()
    for w, weight in enumerate(WEIGHTS[degree]):
        r -= l.A @ d if w else 0
        d = (8 * w + 4) / ((2 * w + 3) * l.lambda_) * (l.inverse @ r) + (2 * w - 1) / (2 * w + 3) * d
        x = x + weight * d
    return x


def cycle(levels, bottom, degree, b):
    if len(levels) == 1:
        return bottom @ b
    l = levels[0]
    x = smooth(l, degree, b, 0)
    x = x + l.P @ cycle(levels[1:], bottom, degree, l.P.T @ (b - l.A @ x))
    return smooth(l, degree, b - l.A @ x, x)


def cg(A, b, precondition):
    """Iterations until the residual norm has fallen by 1e-8."""
    r, p, before, its = b.copy(), 0, 1, 0
    while np.linalg.norm(r) > 1e-8 * np.linalg.norm(b):
        z = precondition(r)
        rz = r @ z
        p = z + rz / before * p
        q = A @ p
        r -= rz / (p @ q) * q
        before, its = rz, its + 1
    return its


def traffic(A, side):
    """Of a product by A, in blocks of `side` rows."""
    return (8 + 4 / side**2) * A.nnz + 4 * (A.shape[0] / side + 1) + 8 * sum(A.shape)


def ratio(levels, degree):
    """Bytes of a cycle over those of an iteration of cg with jacobi."""
    A, side, n = levels[0].A, levels[0].node, levels[-1].A.shape[0]
    total = 8 * n * (n + 2)
    for l in levels[:-1]:
        n = l.A.shape[0]
        total += 8 * n * (2 * degree * l.node + 7 + 11 * (degree - 1))
        total += 2 * degree * (traffic(l.A, side) + 8 * n) + traffic(l.P, side) + traffic(l.P.T, side)
    return total / (traffic(A, side) + 56 * A.shape[0])


def print_case(name, build):
    side = CASES[name]
    if name == "beamH":
        A, b, points, near = beam(build, side)
    else:
        A, points = differences(name, side)
        b, near = random(side**3), np.ones((side**3, 1))
    diagonal = A.diagonal()
    print(f"{name:6} {'jacobi':>6} {'-':>6} {cg(A, b, lambda r: r / diagonal):10d}", flush=True)
    levels = [Level(A, 3 if name == "beamH" else 1, points, near)]
    while levels[-1].A.shape[0] > COARSE_SIZE:
        levels.append(levels[-1].coarsen())
    bottom = levels[-1].A.toarray()
    bottom = np.linalg.pinv((bottom + bottom.T) / 2, rcond=1e-13, hermitian=True)
    complexity = sum(l.A.nnz for l in levels) / A.nnz
    for degree in WEIGHTS:
        its, cost = cg(A, b, lambda r: cycle(levels, bottom, degree, r)), ratio(levels, degree)
        print(f"{name:6} {'boxes':>6} {degree:6d} {its:10d} {complexity:10.2f} {cost:6.2f}",
              f"{its * (1 + cost):10.0f}", flush=True)


def main():
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    parser.add_argument("build", help="build directory")
    parser.add_argument("-cases", default=",".join(CASES))
    given = parser.parse_args()
    print(f"{'case':6} {'left':>6} {'degree':>6} {'iterations':>10} {'complexity':>10} {'cycle':>6}",
          f"{'equivalent':>10}")
    for name in given.cases.split(","):
        print_case(name, given.build)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Poisson's equation on a square, by four preconditioners, and a plot of how they converge.

    python python/examples/poisson.py                     # 90000 unknowns
    python python/examples/poisson.py 1000 poisson.png    # a million, and the picture in a file
"""
import sys
import time

import numpy as np
import poise
import scipy.sparse as sp

POINTS = int(sys.argv[1]) if len(sys.argv) > 1 else 300
PICTURE = sys.argv[2] if len(sys.argv) > 2 else None


def poisson(n):
    """-u_xx - u_yy on n x n points, by differences."""
    line = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], (n, n))
    return (sp.kron(sp.identity(n), line) + sp.kron(line, sp.identity(n))).tocsr()


def main():
    A = poisson(POINTS)
    b = np.full(A.shape[0], 1.0 / (POINTS + 1) ** 2)
    histories = {}
    for pc in ("none", "jacobi", "sor", "icc"):
        with poise.Solver(A, "cg", pc=pc, rtol=1e-8, norm="unpreconditioned") as solver:
            start = time.perf_counter()
            u = solver.solve(b)
            seconds = time.perf_counter() - start
            histories[pc] = solver.history / np.linalg.norm(b)
            print(f"{pc:8} {solver.iterations:5} iterations {seconds:7.2f} s  max u = {u.max():.6f}")
    if PICTURE is None:
        return
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    for pc, history in histories.items():
        plt.semilogy(history, label=pc)
    plt.xlabel("iteration")
    plt.ylabel("|b - A x| / |b|")
    plt.title(f"CG on {A.shape[0]} unknowns")
    plt.legend()
    plt.grid(alpha=0.3)
    plt.savefig(PICTURE, dpi=120)


if __name__ == "__main__":
    main()

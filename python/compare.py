#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The time of a solve from SciPy's arrays beside that of the C program examples/solve, in turns.

    python/compare.py <build>/examples/solve [points=100] [rounds=5] [iterations=100]

The matrix is the seven-point Laplacian of points^3 unknowns, b is A times ones, and CG with jacobi makes a
given number of iterations. Both times are set-up and solve. The C program loads the matrix from a file, which
does not count. Set OMP_NUM_THREADS. The last lines say how much memory the solver took beside the matrix.
"""
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import poise
import scipy.sparse as sp


def laplacian(n):
    line = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], (n, n))
    eye = sp.identity(n)
    plane = sp.kron(eye, line) + sp.kron(line, eye)
    A = (sp.kron(eye, plane) + sp.kron(line, sp.identity(n * n))).tocsr()
    A.sort_indices()
    return A


def save(path, A):
    """PETSc's binary format."""
    with open(path, "wb") as file:
        np.array([1211216, *A.shape, A.nnz], ">i4").tofile(file)
        np.diff(A.indptr).astype(">i4").tofile(file)
        A.indices.astype(">i4").tofile(file)
        A.data.astype(">f8").tofile(file)


def resident():
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def main():
    program = sys.argv[1]
    given = sys.argv[2:]
    points, rounds, iterations = (int(word) for word in given + ["100", "5", "100"][len(given):])
    options = f"-ksp_type cg -pc_type jacobi -ksp_norm_type default -ksp_rtol 1e-30 -ksp_max_it {iterations}"
    A = laplacian(points)
    b = A @ np.ones(A.shape[0])
    x = np.empty(A.shape[0])
    mine, theirs = [], []
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "A.petsc")
        save(file, A)
        with poise.Solver(A, options=options, error=False) as solver:  # starts threads
            before = resident()
            solver.solve(b, out=x)
            grown = resident() - before
        for _ in range(rounds):
            start = time.perf_counter()
            with poise.Solver(A, options=options, error=False) as solver:
                solver.solve(b, out=x)
                mine.append(time.perf_counter() - start)
                held = solver.A.bytes() / 1e6
            out = subprocess.run([program, "-A", file, *options.split()], stdout=subprocess.PIPE, text=True)
            times = re.findall(r"^time (?:set-up|solve) +([\d.]+)", out.stdout, re.M)
            theirs.append(sum(float(t) for t in times))
            ratio = mine[-1] / theirs[-1]
            print(f"python {mine[-1]:.4f} s  C {theirs[-1]:.4f} s  ratio {ratio:.3f}", flush=True)
    ratios = [p / c for p, c in zip(mine, theirs)]
    print(f"{A.shape[0]} unknowns, {iterations} iterations: least {min(mine):.4f} s and {min(theirs):.4f} s, "
          f"ratio {min(mine) / min(theirs):.3f}; median of ratios {statistics.median(ratios):.3f}")
    arrays = (A.data.nbytes + A.indices.nbytes + A.indptr.nbytes) / 1e6
    print(f"the user's arrays have {arrays:.1f} MB; the matrix holds {held:.1f} MB, these among them; the "
          f"first solve took {grown:.1f} MB, a vector has {x.nbytes / 1e6:.1f}")


if __name__ == "__main__":
    main()

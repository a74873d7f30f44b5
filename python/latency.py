#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a call from Python takes beside its solve: a system of 16 rows by CG with jacobi.

    python/latency.py [repetitions=2000]

Times are the least means of 20 series. The call of C is the solve alone, of vectors that are made already.
"""
import ctypes
import sys
import time

import numpy as np
import poise
import scipy.sparse as sp
from poise import _declarations as c
from poise import _library
from poise._arrays import Vector

REPETITIONS = int(sys.argv[1]) if len(sys.argv) > 1 else 2000


def least(function):
    """Microseconds of a call."""
    times = []
    for _ in range(20):
        start = time.perf_counter()
        for _ in range(REPETITIONS):
            function()
        times.append((time.perf_counter() - start) / REPETITIONS)
    return 1e6 * min(times)


def main():
    line = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], (4, 4))
    A = (sp.kron(sp.identity(4), line) + sp.kron(line, sp.identity(4))).tocsr()
    b, x = np.ones(16), np.empty(16)
    solver = poise.Solver(A, "cg", pc="jacobi", rtol=1e-8)
    watched = poise.Solver(A, "cg", pc="jacobi", rtol=1e-8)
    plain = ctypes.CDLL(_library.lib._name).PoiseKSPSolve
    plain.argtypes = [ctypes.c_void_p] * 3
    solver.solve(b)
    print(f"iterations {solver.iterations}")
    with Vector(b, 16, c.POISE_DECIDE) as vb, Vector(x, 16, c.POISE_DECIDE) as vx:
        handles = solver._get().value, vb.value, vx.value
        print(f"PoiseKSPSolve      {least(lambda: plain(*handles)):7.2f}")
    print(f"solver.solve       {least(lambda: solver.solve(b)):7.2f}")
    print(f"with a callback    {least(lambda: watched.solve(b, callback=lambda k, norm: None)):7.2f}")
    print(f"solver.update      {least(solver.update):7.2f}")
    print(f"poise.solve        {least(lambda: poise.solve(A, b, 'cg', pc='jacobi', rtol=1e-8)):7.2f}")
    print(f"poise.cg           {least(lambda: poise.cg(A, b, rtol=1e-8, M='jacobi')):7.2f}")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The plug-in from Python: test_petsc4py.py libpoise_petsc.so <version of its PETSc>. Any number of ranks.

The status is 77 without a petsc4py of that PETSc.
"""
import sys

try:
    import petsc4py
except ImportError:
    print("skipped: there is no petsc4py", file=sys.stderr)
    sys.exit(77)
if petsc4py.__version__.split(".")[:2] != sys.argv[2].split(".")[:2]:
    print("skipped: petsc4py is of PETSc %s, the plug-in of %s" % (petsc4py.__version__, sys.argv[2]),
          file=sys.stderr)
    sys.exit(77)
petsc4py.init([sys.argv[0], "-dll_append", sys.argv[1]])
from petsc4py import PETSc  # noqa: E402

N = 200
A = PETSc.Mat().createAIJ([N, N], nnz=3)
begin, end = A.getOwnershipRange()
for i in range(begin, end):
    if i:
        A[i, i - 1] = -1
    A[i, i] = 2.1
    if i + 1 < N:
        A[i, i + 1] = -1
A.assemble()
x, b = A.createVecs()
b.set(1)


def solve(kind, **options):
    ksp = PETSc.KSP().create()
    for key, value in options.items():
        PETSc.Options()[key] = value
    ksp.setOperators(A)
    ksp.setTolerances(rtol=1e-10)
    ksp.setFromOptions()
    ksp.setType(kind)
    seen = []
    ksp.setMonitor(lambda solver, it, norm: seen.append(norm))
    ksp.setConvergenceHistory()
    ksp.solve(b, x)
    r = b.duplicate()
    A.mult(x, r)
    r.axpy(-1, b)
    assert ksp.getConvergedReason() > 0
    assert r.norm() <= 1e-7 * b.norm()
    assert len(seen) == ksp.getIterationNumber() + 1
    assert list(ksp.getConvergenceHistory()) == seen
    return ksp


theirs = solve("cg", pc_type="jacobi")
PETSc.Options()["ksp_type"] = "poise"
ours = solve("poise", poise_ksp_type="cg")
assert ours.getType() == "poise"
assert ours.getIterationNumber() == theirs.getIterationNumber()
A.shift(1)
ours.solve(b, x)
theirs.solve(b, x)
assert ours.getIterationNumber() == theirs.getIterationNumber()
PETSc.Sys.Print("petsc4py: %d iterations, as PETSc" % ours.getIterationNumber())

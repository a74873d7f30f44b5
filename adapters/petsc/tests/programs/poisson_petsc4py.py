# SPDX-License-Identifier: BSD-3-Clause
"""petsc4py: Poisson's equation on the unit square by differences, with b = A u for a u that is known. The
result is the largest error."""
import sys

import petsc4py

petsc4py.init(sys.argv)
import numpy as np  # noqa: E402
from petsc4py import PETSc  # noqa: E402

n = PETSc.Options().getInt("n", 80)
A = PETSc.Mat().createAIJ([n * n, n * n], nnz=5)
first, last = A.getOwnershipRange()
for row in range(first, last):
    i, j = divmod(row, n)
    A[row, row] = 4
    for column, there in ((row - n, i > 0), (row + n, i < n - 1), (row - 1, j > 0), (row + 1, j < n - 1)):
        if there:
            A[row, column] = -1
A.assemble()
i, j = np.divmod(np.arange(first, last), n)
exact, x = A.createVecs()
exact.setArray(np.exp((i * j + 1.0) / n**2))
b = A * exact
solver = PETSc.KSP().create()
solver.setOperators(A)
solver.setTolerances(rtol=1e-10)
solver.setFromOptions()
solver.solve(b, x)
x.axpy(-1, exact)
PETSc.Sys.Print("unknowns %d" % (n * n))
PETSc.Sys.Print("type %s" % solver.getType())
PETSc.Sys.Print("reason %d" % solver.getConvergedReason())
PETSc.Sys.Print("iterations %d" % solver.getIterationNumber())
PETSc.Sys.Print("result %.10e" % x.norm(PETSc.NormType.NORM_INFINITY))

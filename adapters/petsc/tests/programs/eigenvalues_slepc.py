# SPDX-License-Identifier: BSD-3-Clause
"""SLEPc: the five smallest eigenvalues of the five-point Laplacian, by shift and invert. The solver of the
inverse has the prefix st_. The result is the largest relative error of the eigenvalues, which are known."""
import sys

import slepc4py

slepc4py.init(sys.argv)
import numpy as np  # noqa: E402
from petsc4py import PETSc  # noqa: E402
from slepc4py import SLEPc  # noqa: E402

n, m = PETSc.Options().getInt("n", 60), 50
A = PETSc.Mat().createAIJ([n * m, n * m], nnz=5)
for row in range(*A.getOwnershipRange()):
    i, j = divmod(row, m)
    A[row, row] = 4
    for column, there in ((row - m, i > 0), (row + m, i < n - 1), (row - 1, j > 0), (row + 1, j < m - 1)):
        if there:
            A[row, column] = -1
A.assemble()

solver = SLEPc.EPS().create()
solver.setOperators(A)
solver.setProblemType(SLEPc.EPS.ProblemType.HEP)
solver.setDimensions(5)
solver.setTarget(0)
solver.setWhichEigenpairs(SLEPc.EPS.Which.TARGET_MAGNITUDE)
solver.getST().setType(SLEPc.ST.Type.SINVERT)
inner = solver.getST().getKSP()
inner.setTolerances(rtol=1e-10)
solver.setFromOptions()
solver.solve()
found = [solver.getEigenvalue(k).real for k in range(min(5, solver.getConverged()))]
known = sorted((2 - 2 * np.cos(np.pi * np.arange(1, n + 1)[:, None] / (n + 1)) +
                2 - 2 * np.cos(np.pi * np.arange(1, m + 1) / (m + 1))).ravel())[:5]
PETSc.Sys.Print("unknowns %d" % (n * m))
PETSc.Sys.Print("type %s" % inner.getType())
PETSc.Sys.Print("reason %d" % inner.getConvergedReason())
PETSc.Sys.Print("iterations %d" % solver.getST().getKSP().getIterationNumber())
PETSc.Sys.Print("result %.10e" % (max(abs(np.array(sorted(found)) / known - 1)) if len(found) == 5 else 1))

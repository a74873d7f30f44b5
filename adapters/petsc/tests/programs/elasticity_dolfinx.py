# SPDX-License-Identifier: BSD-3-Clause
"""DOLFINx: a bar of linear elasticity, clamped at one end, under its own weight. The matrix is told the six
rigid motions, its near null space. All options are PETSc's. The result is the work of the weight."""
import logging
import sys

import petsc4py

petsc4py.init(sys.argv)
logging.disable(logging.INFO)  # the form compiler's
import numpy as np  # noqa: E402
import ufl  # noqa: E402
from dolfinx import fem, mesh  # noqa: E402
from mpi4py import MPI  # noqa: E402
from petsc4py import PETSc  # noqa: E402

n = PETSc.Options().getInt("n", 6)
bar = mesh.create_box(MPI.COMM_WORLD, [[0.0, 0.0, 0.0], [4.0, 1.0, 1.0]], [4 * n, n, n])
V = fem.VectorFunctionSpace(bar, ("CG", 1))
u, v = ufl.TrialFunction(V), ufl.TestFunction(V)
mu, lam = 1.0, 1.25


def strain(w):
    return ufl.sym(ufl.grad(w))


def stress(w):
    return 2 * mu * strain(w) + lam * ufl.tr(strain(w)) * ufl.Identity(3)


facets = mesh.locate_entities_boundary(bar, 2, lambda x: np.isclose(x[0], 0))
clamped = fem.dirichletbc(np.zeros(3), fem.locate_dofs_topological(V, 2, facets), V)
weight = fem.Constant(bar, np.array([0.0, 0.0, -1e-3]))
A = fem.petsc.assemble_matrix(fem.form(ufl.inner(stress(u), strain(v)) * ufl.dx), bcs=[clamped])
A.assemble()
load = fem.form(ufl.inner(weight, v) * ufl.dx)
b = fem.petsc.assemble_vector(load)
fem.petsc.apply_lifting(b, [fem.form(ufl.inner(stress(u), strain(v)) * ufl.dx)], [[clamped]])
b.ghostUpdate(addv=PETSc.InsertMode.ADD, mode=PETSc.ScatterMode.REVERSE)
fem.petsc.set_bc(b, [clamped])

motions = []
for k in range(6):
    w = fem.Function(V)
    if k < 3:
        w.interpolate(lambda x: np.stack([np.full(x.shape[1], float(k == d)) for d in range(3)]))
    else:
        i, j = [(0, 1), (1, 2), (2, 0)][k - 3]
        w.interpolate(lambda x: np.stack([-x[j] * (d == i) + x[i] * (d == j) for d in range(3)]))
    motion = b.duplicate()
    motion.setArray(w.x.array[:motion.getLocalSize()])
    for other in motions:
        motion.axpy(-motion.dot(other), other)
    motion.normalize()
    motions.append(motion)
A.setNearNullSpace(PETSc.NullSpace().create(vectors=motions, comm=bar.comm))
A.setOption(PETSc.Mat.Option.SPD, True)

x = b.duplicate()
solver = PETSc.KSP().create(bar.comm)
solver.setOperators(A)
solver.setTolerances(rtol=1e-8)
solver.setFromOptions()
solver.solve(b, x)
PETSc.Sys.Print("unknowns %d" % A.getSize()[0])
PETSc.Sys.Print("type %s" % solver.getType())
PETSc.Sys.Print("reason %d" % solver.getConvergedReason())
PETSc.Sys.Print("iterations %d" % solver.getIterationNumber())
PETSc.Sys.Print("result %.10e" % b.dot(x))

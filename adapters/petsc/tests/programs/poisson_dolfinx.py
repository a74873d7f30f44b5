# SPDX-License-Identifier: BSD-3-Clause
"""DOLFINx: Poisson's equation on the unit cube by quadratic elements. The result is the L2 norm of the error,
as u = sin(pi x) sin(pi y) sin(pi z). All options are PETSc's."""
import logging
import sys

import petsc4py

petsc4py.init(sys.argv)
logging.disable(logging.INFO)  # the form compiler's
import numpy as np  # noqa: E402
import ufl  # noqa: E402
from dolfinx import fem, mesh  # noqa: E402
from dolfinx.fem.petsc import LinearProblem  # noqa: E402
from mpi4py import MPI  # noqa: E402
from petsc4py import PETSc  # noqa: E402

n = PETSc.Options().getInt("n", 12)
cube = mesh.create_unit_cube(MPI.COMM_WORLD, n, n, n)
V = fem.FunctionSpace(cube, ("CG", 2))
u, v, x = ufl.TrialFunction(V), ufl.TestFunction(V), ufl.SpatialCoordinate(cube)
exact = ufl.sin(np.pi * x[0]) * ufl.sin(np.pi * x[1]) * ufl.sin(np.pi * x[2])
facets = mesh.locate_entities_boundary(cube, 2, lambda x: np.full(x.shape[1], True))
fixed = fem.dirichletbc(PETSc.ScalarType(0), fem.locate_dofs_topological(V, 2, facets), V)
a = ufl.inner(ufl.grad(u), ufl.grad(v)) * ufl.dx
problem = LinearProblem(a, 3 * np.pi**2 * exact * v * ufl.dx, bcs=[fixed])
problem.solver.setOptionsPrefix("")
problem.solver.setTolerances(rtol=1e-8)
problem.solver.setFromOptions()
solution = problem.solve()
error = fem.assemble_scalar(fem.form((solution - exact)**2 * ufl.dx))
PETSc.Sys.Print("unknowns %d" % V.dofmap.index_map.size_global)
PETSc.Sys.Print("type %s" % problem.solver.getType())
PETSc.Sys.Print("reason %d" % problem.solver.getConvergedReason())
PETSc.Sys.Print("iterations %d" % problem.solver.getIterationNumber())
PETSc.Sys.Print("result %.10e" % np.sqrt(cube.comm.allreduce(error, MPI.SUM)))

# SPDX-License-Identifier: BSD-3-Clause
"""The multigrid of several libraries behind one interface, for run.py.

Each class solves with one matrix. Its constructor hands over the matrix with all that the library takes:
unknowns of a node, rigid motions or places, vectors that A makes zero. What it does is not timed; set_up and
solve are. All use one thread, test |b - A x| <= RTOL |b|, and stop after MOST iterations; gmres restarts
after 30.
"""
import os
import re
import tempfile

import numpy as np

RTOL, MOST, RESTART = 1e-8, 1000, 30


def rigid_motions(places):
    """Orthonormal, of nodes with as many unknowns as dimensions."""
    n, dimension = places.shape
    centred = places - places.mean(0)
    motions = [np.tile(np.eye(dimension)[axis], n) for axis in range(dimension)]
    for i in range(dimension):
        for j in range(i):
            turn = np.zeros((n, dimension))
            turn[:, i], turn[:, j] = -centred[:, j], centred[:, i]
            motions.append(turn.ravel())
    return np.linalg.qr(np.column_stack(motions))[0]


def after(words, text):
    """The number behind these words, or nothing."""
    found = re.search(words + r"([\d.]+)", text)
    return f"{float(found[1]):.3f}" if found else ""


class Poise:
    """From the Python package; the library is that of POISE_LIBRARY."""

    @staticmethod
    def version():
        import poise
        return poise.version()

    def __init__(self, p, method, options):
        import poise
        from poise._library import lib
        self.lib, self.b = lib, p.b
        places = p.places if p.block > 1 else None
        A = poise.Matrix(p.A, block_size=p.block, type="bcsr" if self.is_dense(p) else None,
                         coordinates=places, null_space=p.null)
        self.solver = poise.Solver(A, method, pc="amg", rtol=RTOL, maxiter=MOST, error=False,
                                   options=f"-ksp_gmres_restart {RESTART} {options}")

    @staticmethod
    def is_dense(p):
        """Do blocks take fewer bytes than entries?"""
        if p.block == 1:
            return False
        blocks = p.A.tobsr((p.block,) * 2).indices.size
        return blocks * (4 + 8 * p.block**2) < 12 * p.A.nnz

    def set_up(self):
        self.lib.PoiseKSPSetUp(self.solver._get())

    def solve(self):
        x = self.solver.solve(self.b)
        self.iterations = self.solver.iterations
        self.converged, self.reason = self.solver.converged, self.solver.reason
        if self.solver.detail:
            self.reason += f": {self.solver.detail}"
        return x

    def complexity(self):
        return after("operator complexity ", self.solver.view())


class PETSc:
    """By petsc4py. The options name the preconditioner."""

    @staticmethod
    def version():
        import petsc4py
        petsc4py.init(["amg"])
        from petsc4py import PETSc as petsc
        return "PETSc " + ".".join(map(str, petsc.Sys.getVersion()))

    def __init__(self, p, method, options):
        import petsc4py
        petsc4py.init(["amg", "-no_signal_handler", *options.split()])
        from petsc4py import PETSc as petsc
        self.petsc = petsc
        self.A = petsc.Mat().create(petsc.COMM_SELF)
        self.A.setSizes(p.A.shape)
        self.A.setBlockSize(p.block)
        self.A.setType("aij")
        self.A.setPreallocationCSR((p.A.indptr, p.A.indices, p.A.data))
        self.A.assemble()
        self.x, self.b = self.A.createVecs()
        self.b.setArray(p.b)
        if p.null is not None:
            self.A.setNullSpace(self.space(p.null))
        if p.places is not None:
            self.A.setNearNullSpace(self.space(rigid_motions(p.places)))
        if p.kind in ("spd", "singular"):
            self.A.setOption(petsc.Mat.Option.SYMMETRIC, True)
            self.A.setOption(petsc.Mat.Option.SPD, p.kind == "spd")
        self.ksp = self.create(method)

    def space(self, vectors):
        columns = []
        for column in vectors.T:
            columns.append(self.A.createVecRight())
            columns[-1].setArray(column)
        return self.petsc.NullSpace().create(vectors=columns, comm=self.petsc.COMM_SELF)

    def create(self, method):
        ksp = self.petsc.KSP().create(self.petsc.COMM_SELF)
        ksp.setOperators(self.A)
        ksp.setType({"cg": "cg", "gmres": "gmres", "bicgstab": "bcgs"}[method])
        if method != "cg":
            ksp.setPCSide(self.petsc.PC.Side.RIGHT)
        if method == "gmres":
            ksp.setGMRESRestart(RESTART)
        ksp.setNormType(self.petsc.KSP.NormType.UNPRECONDITIONED)
        ksp.setTolerances(rtol=RTOL, max_it=MOST)
        ksp.setFromOptions()
        return ksp

    def set_up(self):
        self.ksp.setUp()

    def solve(self):
        self.ksp.solve(self.b, self.x)
        reason = self.ksp.getConvergedReason()
        names = {code: name for name, code in vars(self.petsc.KSP.ConvergedReason).items() if name.isupper()}
        self.iterations, self.converged = self.ksp.getIterationNumber(), reason > 0
        self.reason = names.get(reason, str(reason))
        return self.x.getArray()

    def complexity(self):
        pc = self.ksp.getPC()
        if pc.getType() == "hypre":
            return self.said_by_hypre()
        entries = [pc.getMGSmoother(level).getOperators()[0].getInfo()["nz_used"]
                   for level in range(pc.getMGLevels())]
        return f"{sum(entries) / entries[-1]:.3f}"

    def said_by_hypre(self):
        """What hypre prints of one more set-up."""
        self.petsc.Options().setValue("pc_hypre_boomeramg_print_statistics", "1")
        with tempfile.TemporaryFile("w+") as file:
            stdout = os.dup(1)
            os.dup2(file.fileno(), 1)
            try:
                self.create("cg").setUp()
            finally:
                os.dup2(stdout, 1)
                os.close(stdout)
                self.petsc.Options().delValue("pc_hypre_boomeramg_print_statistics")
            file.seek(0)
            return after("operator = ", file.read())


class PyAMG:
    """The options are ruge_stuben, or smoothed_aggregation with its theta."""

    @staticmethod
    def version():
        import pyamg
        return f"PyAMG {pyamg.__version__}"

    def __init__(self, p, method, options):
        self.p, self.method, self.options = p, method, options

    def set_up(self):
        import pyamg
        p = self.p
        if "ruge_stuben" in self.options:
            self.levels = pyamg.ruge_stuben_solver(p.A)
        else:
            A = p.A.tobsr((p.block,) * 2)
            B = rigid_motions(p.places) if p.places is not None else np.kron(
                np.ones((p.A.shape[0] // p.block, 1)), np.eye(p.block))
            theta = float(self.options.split()[-1])
            symmetric = p.kind in ("spd", "singular", "indefinite")
            self.levels = pyamg.smoothed_aggregation_solver(
                A, B, None if symmetric else B.copy(), strength=("symmetric", {"theta": theta}),
                symmetry="hermitian" if symmetric else "nonsymmetric")
        self.M = self.levels.aspreconditioner()

    def solve(self):
        from pyamg import krylov
        norms = []
        keys = {"tol": RTOL, "maxiter": MOST, "M": self.M, "residuals": norms}
        if self.method == "gmres":
            keys.update(restart=RESTART, maxiter=-(-MOST // RESTART))
        function = {"cg": krylov.cg, "gmres": krylov.fgmres, "bicgstab": krylov.bicgstab}[self.method]
        x, info = function(self.p.A, self.p.b, **keys)
        self.iterations, self.converged = len(norms) - 1, info == 0
        self.reason = "converged" if info == 0 else f"info {info}"
        return x

    def complexity(self):
        return f"{self.levels.operator_complexity():.3f}"


PEERS = {
    "gamg": (PETSc, "-pc_type gamg"),
    "gamg .02": (PETSc, "-pc_type gamg -pc_gamg_threshold 0.02"),
    "ml": (PETSc, "-pc_type ml"),
    "hypre": (PETSc, "-pc_type hypre"),
    "hypre .5": (PETSc, "-pc_type hypre -pc_hypre_boomeramg_strong_threshold 0.5"),
    "pyamg sa": (PyAMG, "smoothed_aggregation theta 0"),
    "pyamg sa .08": (PyAMG, "smoothed_aggregation theta 0.08"),
    "pyamg rs": (PyAMG, "ruge_stuben"),
}
AGGREGATION = ("gamg", "gamg .02", "ml", "pyamg sa", "pyamg sa .08")


def methods(kind):
    return ["cg"] if kind in ("spd", "singular") else ["gmres", "bicgstab"]

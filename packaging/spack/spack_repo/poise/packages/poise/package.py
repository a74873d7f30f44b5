# SPDX-License-Identifier: BSD-3-Clause
"""Spack's recipe (Spack 1.0 or newer). Its sources are the branch main of the checkout it stands in."""
import pathlib

from spack_repo.builtin.build_systems.cmake import CMakePackage
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *


class Poise(CMakePackage, CudaPackage):
    """Balanced sparse products and Krylov solvers for simulation codes."""

    git = pathlib.Path(__file__).resolve().parents[6].as_uri()

    license("BSD-3-Clause")

    version("main", branch="main")

    variant("shared", default=True, description="A shared library")
    variant("mpi", default=True, description="Ranks that are MPI processes")
    variant("openmp", default=True, description="Threads in host kernels")
    variant("metis", default=True, description="Partitions of graphs by METIS")
    variant("superlu", default=True, description="Sparse factors by SuperLU")
    variant("amd", default=True, description="Orders with little fill by AMD")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+cuda")
    depends_on("cmake@3.18:", type="build")
    depends_on("zlib-api")
    depends_on("mpi", when="+mpi")
    depends_on("metis@5:", when="+metis")
    depends_on("superlu@5:", when="+superlu")
    depends_on("suite-sparse", when="+amd")
    depends_on("cuda@12.4:", when="+cuda")

    def cmake_args(self):
        args = [
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define_from_variant("POISE_MPI", "mpi"),
            self.define_from_variant("POISE_OPENMP", "openmp"),
            self.define_from_variant("POISE_METIS", "metis"),
            self.define_from_variant("POISE_SUPERLU", "superlu"),
            self.define_from_variant("POISE_AMD", "amd"),
            self.define_from_variant("POISE_CUDA", "cuda"),
        ]
        # What is not installed is not built; and adapters would find a PETSc that the spec does not name.
        for part in ("TESTS", "EXAMPLES", "BENCH", "PETSC_PLUGIN", "SUNDIALS"):
            args.append(self.define(f"POISE_{part}", False))
        architectures = self.spec.variants["cuda_arch"].value if self.spec.satisfies("+cuda") else ("none",)
        if "none" not in architectures:
            args.append(self.define("CMAKE_CUDA_ARCHITECTURES", list(architectures)))
        return args

# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that are processes, with communicators of mpi4py."""
import os
import shutil
import subprocess
import sys

import pytest
from poise import _library

# Of Open MPI: containers run as root, and have fewer cores than ranks.
OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}
MPIEXEC = shutil.which("mpiexec")
HAS_MPI = hasattr(_library.lib, "MPI_Init")


def test_what_is_no_communicator():
    with pytest.raises(TypeError, match="mpi4py"):
        _library._mpi_address(3)


@pytest.mark.skipif(not MPIEXEC or not HAS_MPI, reason="no mpiexec, or libpoise without MPI")
def test_two_ranks(tmp_path):
    pytest.importorskip("mpi4py")
    program = tmp_path / "ranks.py"
    program.write_text(
        "from mpi4py import MPI\n"
        "import numpy as np, poise, scipy.sparse as sp, sys\n"
        "from conftest import laplacian\n"
        "world = MPI.COMM_WORLD\n"
        "poise.init(comm=world, device=sys.argv[1])\n"
        "A = laplacian(12); n = A.shape[0]; third = n // 3\n"
        "mine = slice(0, third) if world.rank == 0 else slice(third, n)\n"
        "b = np.arange(1.0, n + 1)\n"
        "with poise.Solver(A[mine], 'cg', pc='jacobi', rtol=1e-10) as s:\n"
        "    x = np.concatenate(world.allgather(s.solve(b[mine])))\n"
        "    assert np.abs(A @ x - b).max() < 1e-5\n"
        "    A = 2 * A\n"  # now one rank has another pattern, then new values where they are, the other not
        "    own = A[mine]\n"
        "    if world.rank: A[n - 1, 7] = A[7, n - 1] = 0.5; own = A[mine]\n"
        "    A = sp.vstack(world.allgather(own)).tocsr()\n"
        "    s.update(own)\n"
        "    x = np.concatenate(world.allgather(s.solve(b[mine])))\n"
        "    assert np.abs(A @ x - b).max() < 1e-5\n"
        "    if world.rank: own.data *= 1.5\n"
        "    else: own.data = own.data * 1.5\n"
        "    s.update()\n"
        "    x = np.concatenate(world.allgather(s.solve(b[mine])))\n"
        "    assert np.abs(1.5 * A @ x - b).max() < 1e-5\n"
        "x, info = poise.cg(A[mine], b[mine], rtol=1e-9)\n"
        "x = np.concatenate(world.allgather(x))\n"
        "assert info == 0 and np.abs(A @ x - b).max() < 1e-4\n"
        "E = np.array([[k, k + 1] for k in range(5)]); K = np.repeat([[[1.0, -1], [-1, 1]]], 5, axis=0)\n"
        "half = slice(0, 2) if world.rank == 0 else slice(2, 5)\n"  # a line of springs, held at both ends
        "P = poise.assemble(E[half], K[half], 6, fixed=[0, 5])\n"
        "rhs = np.array([0.0, 0, 0, 0, 5, 5])[3 * world.rank:3 * world.rank + 3]\n"
        "x = np.concatenate(world.allgather(poise.solve(P, rhs, 'cg', rtol=1e-12)))\n"
        "assert np.abs(x - np.arange(6)).max() < 1e-9\n"
    )
    path = os.pathsep.join([os.path.dirname(__file__), *sys.path])
    for device in ("host", "mock"):
        out = subprocess.run([MPIEXEC, "-n", "2", sys.executable, program, device], capture_output=True,
                             text=True, env={**os.environ, **OPEN_MPI, "PYTHONPATH": path}, timeout=120)
        assert out.returncode == 0, out.stderr

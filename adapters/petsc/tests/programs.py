#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs of other packages that solve by PETSc, as they are and with -ksp_type poise: DOLFINx, GetDP, SLEPc
and petsc4py.

    programs.py --plugin libpoise_petsc.so [--only words]

Packages of Debian: python3-dolfinx, getdp, python3-slepc4py, python3-petsc4py. What is not installed is
skipped, and the status is 77 if that is all. The programs are in programs/. Each prints the iterations of its
(last) solve and a result that tells whether the solution is right; the heads of the files say which. It is a
failure if a solve does not converge, takes more than 5 % + 2 iterations beyond PETSc's by the same method and
preconditioner, or has another result. Iterations are not judged with a preconditioner of Poise in place of
gamg, and by gamg on several ranks, whose aggregates differ from run to run.
"""
import argparse
import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "programs")
MESH = os.path.join(HERE, "../../../examples/data/bracket2.msh")
PYTHON = shutil.which("python3", path="/usr/bin") or sys.executable  # Debian's packages are for it
NEEDS = {"poisson_petsc4py.py": "petsc4py", "eigenvalues_slepc.py": "slepc4py", "conduction.pro": "getdp",
         "poisson_dolfinx.py": "dolfinx", "elasticity_dolfinx.py": "dolfinx"}
PREFIX = {"eigenvalues_slepc.py": "st_"}
ICC = {"pc_type": "bjacobi", "sub_pc_type": "icc"}
AMG = {"poise_pc_type": "amg"}
BLOCKS = {"poise_pc_type": "bjacobi", "poise_sub_pc_type": "amg"}
CASES = [  # program, ranks, method, options of the preconditioner, and of what Poise takes in its place
    ("poisson_petsc4py.py", 1, "cg", {"pc_type": "jacobi"}, {}),
    ("poisson_petsc4py.py", 2, "cg", {"pc_type": "jacobi"}, {}),
    ("poisson_petsc4py.py", 2, "cg", ICC, {}),
    ("poisson_petsc4py.py", 1, "gmres", {"pc_type": "ilu"}, {}),
    ("eigenvalues_slepc.py", 1, "cg", {"pc_type": "jacobi"}, {}),
    ("eigenvalues_slepc.py", 2, "cg", ICC, {}),
    ("conduction.pro", 1, "cg", {"pc_type": "jacobi"}, {}),
    ("conduction.pro", 1, "gmres", {"pc_type": "ilu"}, {}),
    ("poisson_dolfinx.py", 1, "cg", {"pc_type": "jacobi"}, {}),
    ("poisson_dolfinx.py", 2, "cg", ICC, {}),
    ("elasticity_dolfinx.py", 1, "cg", {"pc_type": "jacobi"}, {}),
    ("elasticity_dolfinx.py", 1, "cg", {"pc_type": "gamg"}, {}),
    ("elasticity_dolfinx.py", 2, "cg", {"pc_type": "gamg"}, {}),
    ("elasticity_dolfinx.py", 1, "cg", {"pc_type": "gamg"}, AMG),
    ("elasticity_dolfinx.py", 2, "cg", {"pc_type": "gamg"}, BLOCKS),
]


@functools.lru_cache(None)
def missing(package):
    """Why a package cannot be used, or ""."""
    if package == "getdp":
        return "" if shutil.which("getdp") else "there is no getdp"
    code = "import petsc4py, %s; print(petsc4py.__version__)" % package
    done = subprocess.run([PYTHON, "-c", code], capture_output=True, text=True)
    if done.returncode:
        return "there is no " + package
    petsc = subprocess.run(["pkg-config", "--modversion", "PETSc"], capture_output=True, text=True)
    ours, theirs = petsc.stdout.strip(), done.stdout.strip()
    return "" if ours.split(".")[:2] == theirs.split(".")[:2] else "%s is of PETSc %s, the plug-in of %s" % (
        package, theirs, ours)


def run(program, ranks, options, folder):
    """-> what the program tells, or the end of what it said"""
    words = [word for key, value in options.items() for word in ("-" + key, value)]
    if program.endswith(".pro"):
        shutil.copy(os.path.join(PROGRAMS, program), folder)
        words += ["-msh", MESH, "-name", "out", "-solve", "solve", "-pos", "flow", "-ksp_rtol", "1e-8",
                  "-ksp_view", "-ksp_converged_reason"]
        command = ["getdp", program] + words
    else:
        command = [PYTHON, os.path.join(PROGRAMS, program)] + words
    if ranks > 1:
        command = ["mpiexec", "-n", str(ranks)] + command
    environment = dict(os.environ, OMP_NUM_THREADS="1", XDG_CACHE_HOME=folder, OMPI_ALLOW_RUN_AS_ROOT="1",
                       OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1",
                       OMPI_MCA_mpi_yield_when_idle="1", OMPI_MCA_hwloc_base_binding_policy="none")
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", timeout=500)
    text = done.stdout
    if program.endswith(".pro") and not done.returncode:
        found = re.search(r"Linear solve (.*) due to \S+ iterations (\d+)\n[^:]*?KSP Object.*?type: (\S+)",
                          text, re.S)
        if not found:
            return text[-2000:]
        rows = re.search(r"rows=(\d+)", text)
        with open(os.path.join(folder, "result.txt")) as file:
            result = float(file.read().split()[1])
        return {"unknowns": int(rows[1]), "type": found[3], "reason": 1 if found[1] == "converged" else -1,
                "iterations": int(found[2]), "result": result}
    found = dict(re.findall(r"^(unknowns|type|reason|iterations|result) (\S+)$", text, re.M))
    if done.returncode or len(found) != 5:
        return text[-2000:]
    return {key: value if key == "type" else float(value) for key, value in found.items()}


def case(program, ranks, method, pc, own, plugin, folder):
    """Print a line; is it as it should be?"""
    prefix = PREFIX.get(program, "")
    options = {prefix + key: value for key, value in pc.items()}
    theirs = run(program, ranks, {**options, prefix + "ksp_type": method}, folder)
    options.update({"dll_append": plugin, prefix + "ksp_type": "poise", prefix + "poise_ksp_type": method})
    mine = run(program, ranks, {**options, **own}, folder)
    name = "%-22s %d  %-6s %-12s" % (program, ranks, method, "/".join((own or pc).values()))
    for words in (theirs, mine):
        if isinstance(words, str):
            print("%s fails:\n%s" % (name, words))
            return False
    judged = not own and (ranks == 1 or pc["pc_type"] != "gamg")
    good = mine["type"] == "poise" and mine["reason"] > 0 and theirs["reason"] > 0
    good = good and (not judged or mine["iterations"] <= 1.05 * theirs["iterations"] + 2)
    a, b = theirs["result"], mine["result"]
    good = good and (abs(a - b) <= 1e-6 * abs(a) or max(a, b) < 1e-7)
    print(name, "%8d %6d %6d" % (mine["unknowns"], theirs["iterations"], mine["iterations"]),
          " %.7e  %.7e  %s" % (a, b, "same" if good else "DIFFERS"), flush=True)
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--only", default="", help="programs with this in their name")
    o = parser.parse_args()
    cases = [c for c in CASES if o.only in c[0]]
    for package in sorted({NEEDS[c[0]] for c in cases}):
        if missing(package):
            print("skipped: " + missing(package))
    cases = [c for c in cases if not missing(NEEDS[c[0]])]
    if not cases:
        return 77
    print("%-22s %s %-3s %-12s %8s %6s %6s  %-13s  %-13s" % (
        "program", "ranks", "method", "PC", "unknowns", "PETSc", "Poise", "result: PETSc", "Poise"))
    with tempfile.TemporaryDirectory() as folder:
        good = [case(*c, os.path.abspath(o.plugin), folder) for c in cases]
    print("%d runs, %d as PETSc's" % (len(good), sum(good)))
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())

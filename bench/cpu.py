#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Speed on CPUs: runs bench/cpu on all problems, and compares threads with ranks and with PETSc's ranks.

Each problem runs once with threads in one process, and once with as many ranks of one thread each. A file
gets the machine, everything that was printed, and at its end a table of threads beside PETSc's ranks.

    bench/cpu.py [--build build/release] [--threads 2] [--bytes 1e9] [--assembly-bytes 1e8]
                 [--coo-bytes 2.5e8] [--out build/cpu.txt]

PETSc takes part where the build has it (cmake -D POISE_PETSC=ON). Needs about 3 times --bytes of memory.
Assembly takes smaller matrices and more repeats. The host of a virtual machine may take free pages back; then
the first use of much memory now and then costs several times what it costs elsewhere."""
import argparse
import os
import re
import shutil
import subprocess
import sys

PRODUCTS = [(case, problem) for case in ("mult", "cg") for problem in ("5", "7", "27", "elasticity")]
ASSEMBLIES = [(case, problem) for case in ("assemble", "coo") for problem in ("27", "elasticity")]


def output(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()
    except OSError:
        return ""


def machine():
    model = re.search(r"Model name:\s*(.*)", output("lscpu"))
    name = model.group(1) if model else "unknown CPU"
    return "\n".join([f"# {name}, {os.cpu_count()} CPUs, {output('uname', '-sr')}",
                      f"# cc: {output('cc', '--version').partition(chr(10))[0]}",
                      f"# load {os.getloadavg()}"])


def run(arguments, ranks, threads, log):
    binary = os.path.join(arguments.build, "bench", "cpu")
    env = dict(os.environ, OMP_NUM_THREADS=str(threads), OMP_PROC_BIND="true", OMP_PLACES="cores")
    launch = []
    if ranks > 1:
        env.pop("OMP_PROC_BIND"), env.pop("OMP_PLACES")  # mpiexec binds each rank
        env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        launch = ["mpiexec", "-n", str(ranks), "--bind-to", "core"]
    lines = {}
    for case, problem in PRODUCTS + ASSEMBLIES:
        size = {"assemble": arguments.assembly_bytes, "coo": arguments.coo_bytes}.get(case, arguments.bytes)
        command = launch + [binary, "-case", case, "-problem", problem,
                            "-repeats", "15" if case == "assemble" else "9", "-bytes", str(size)]
        log(f"\n$ {' '.join(command[len(launch):])}  "
            f"# {ranks} ranks x {threads} threads, load {os.getloadavg()[0]:.2f}")
        result = subprocess.run(command, env=env, capture_output=True, text=True)
        log(result.stdout.strip())
        if result.returncode:
            sys.exit(f"{' '.join(command)} failed:\n{result.stderr}")
        for line in result.stdout.splitlines():
            name = re.match(r"(\S+)\s+(first|again)?:?.*\| ms ", line)
            if name:
                lines[" ".join(filter(None, name.groups()))] = line
    return lines


def times(line, who):
    """Median and minimum in ms of Poise (who = "") or of PETSc."""
    pattern = r"\| ms ([0-9.]+) \(min ([0-9.]+)\)"
    if who:
        pattern = who + r"[^|]* ms ([0-9.]+) \((?:min )?([0-9.]+)\)"
    found = re.search(pattern, line)
    return [float(t) for t in found.groups()] if found else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--bytes", type=float, default=1e9)
    parser.add_argument("--assembly-bytes", type=float, default=1e8)
    parser.add_argument("--coo-bytes", type=float, default=2.5e8)
    parser.add_argument("--out", default="build/cpu.txt")
    arguments = parser.parse_args()
    with open(arguments.out, "w") as file:
        def log(text):
            print(text, flush=True)
            file.write(text + "\n")

        log(machine())
        threaded = run(arguments, 1, arguments.threads, log)
        ranked = {}
        if arguments.threads > 1 and shutil.which("mpiexec"):
            ranked = run(arguments, arguments.threads, 1, log)
        log(f"\n# ms, median (minimum): Poise with {arguments.threads} threads, with as many ranks, "
            "PETSc with as many ranks, threads / PETSc")
        for name, line in threaded.items():
            parts = [times(line, "")]
            if name in ranked:
                parts += [times(ranked[name], ""), times(ranked[name], "PETSc")]
            cells = [f"{t[0]:10.3f} ({t[1]:.3f})" if t else "-" for t in parts]
            if len(parts) == 3 and parts[2]:
                cells.append(f"{parts[0][0] / parts[2][0]:.3f} ({parts[0][1] / parts[2][1]:.3f})")
            log(f"{name:24s} " + "  ".join(f"{cell:>22s}" for cell in cells))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What is the cheapest hierarchy of amg? Leftovers of aggregates x degree of the smoother, on five cases.

  bench/amg.py build/release [-renumber 3] > bench/results/<machine>/amg.txt

Cases: p7, jump, aniso of bench/amg; tetP1 and beamH of the drivers poisson and elasticity. The residual norm
|b - A x| falls by 1e-8. A row: leftovers (the least number of free neighbours of a second root; "join": all
leftovers join other aggregates), degree, iterations, operator complexity, bytes of a cycle over those of an
iteration of cg with jacobi, and iterations x (1 + that): what the solve costs, in such iterations. Then CPU
seconds of set-up, solve, and set-up and solve with new values, of one thread, where the case is bench/amg's.
The row of jacobi is what this is compared with.
"""
import argparse
import os
import re
import statistics
import subprocess

SOLVE = "-ksp_type cg -ksp_rtol 1e-8 -ksp_norm_type unpreconditioned -ksp_view".split()
CASES = {
    "p7": "bench/amg -case p7 -side 100",
    "jump": "bench/amg -case jump -side 80",
    "aniso": "bench/amg -case aniso -side 80",
    "tetP1": "examples/poisson -cell tet4 -n 64 -refinements 0",
    "beamH": "examples/elasticity -cell hex8 -n 12",
}
LEFTOVERS = {"3": "3", "5": "5", "join": "0"}


def run(build, command, options):
    words = command.split()
    command = [os.path.join(build, words[0]), *words[1:], *SOLVE, *options]
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, text=True, capture_output=True, env=env, check=False).stdout


def number(pattern, text):
    found = re.search(pattern, text, re.MULTILINE)
    return float(found.group(1)) if found else float("nan")


def iterations(text):
    found = re.search(r"^RESULT .*iterations (\d+)|^iterations +(\d+)|^tet4 +\d+ +\d+ +(\d+)", text,
                      re.MULTILINE)
    return int(next(g for g in found.groups() if g)) if found else -1


def row(name, leftovers, degree, texts):
    its = [iterations(t) for t in texts]
    cost = [number(r"as (\S+) iterations of cg", t) for t in texts]
    words = f"{name:6} {leftovers:>6} {degree:>6} {statistics.median(its):10g}"
    if leftovers == "jacobi":
        return words
    complexity = statistics.median(number(r"operator complexity (\S+),", t) for t in texts)
    equivalent = statistics.median(i * (1 + c) for i, c in zip(its, cost))
    seconds = [[number(stage + r" (\S+)", t) for t in texts] for stage in ("set-up", "solve", "again")]
    words += f" {complexity:10.2f} {statistics.median(cost):6.2f} {equivalent:10.0f}"
    if name in ("p7", "jump", "aniso"):
        words += "".join(f" {statistics.median(s):8.2f}" for s in seconds)
    return words


def main():
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    parser.add_argument("build", help="build directory")
    parser.add_argument("-renumber", type=int, default=0, metavar="N",
                        help="medians of N random orders of rows, of bench/amg; 0: their own order")
    parser.add_argument("-degrees", default="1,2")
    parser.add_argument("-cases", default=",".join(CASES))
    given = parser.parse_args()
    print(f"# load {os.getloadavg()}")
    print(f"{'case':6} {'left':>6} {'degree':>6} {'iterations':>10} {'complexity':>10} {'cycle':>6}",
          f"{'equivalent':>10} {'set-up':>8} {'solve':>8} {'again':>8}")
    for name in given.cases.split(","):
        orders = [[]]
        if given.renumber and CASES[name].startswith("bench"):
            orders = [["-renumber", str(seed + 1)] for seed in range(given.renumber)]
        ways = [("jacobi", "-", ["-pc_type", "jacobi"])]
        ways += [(left, k, ["-pc_type", "amg", "-pc_amg_aggregate_min", m, "-pc_amg_degree", k])
                 for left, m in LEFTOVERS.items() for k in given.degrees.split(",")]
        for left, k, options in ways:
            texts = [run(given.build, CASES[name], options + order) for order in orders]
            print(row(name, left, k, texts), flush=True)


if __name__ == "__main__":
    main()

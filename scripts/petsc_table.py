#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Solve with every matrix of a folder by Poise and by PETSc and write a Markdown table of what came out of both.

    scripts/compare_petsc.sh                               builds what this needs, then calls it
    scripts/petsc_table.py --only 'bcsstk*' --out -        to the terminal

Both libraries get the same matrix, b and options: relative tolerance 1e-8 in the preconditioned norm, x0 = 0, b from
the folder where it has one, else A times ones. Rows are split alike. CG is for symmetric matrices.

What is compared: the norms of iterations 0 to 10, to 6 digits; who converges; the counts. Where something differs, an experiment
tells rounding from error: textbook versions of the methods, which use neither library's solvers, are run with 10 orders of
summation, and 40 if need be (bench/spread.c). A difference is due to rounding when these differ among themselves as much. For
the rule for counts see judge_counts. Exit code 1 when a difference was not explained so, or a run failed.
"""
import argparse
import fnmatch
import functools
import os
import platform
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from solve_table import ROOT, Unexpected, read_index

RTOL = 1e-8
DIGITS = 1e-6    # two norms are equal when they differ by no more, relatively
FIRST = 10       # iterations whose norms are compared
ORDERS = [10, 40]  # of summation, in experiments; the latter when the former did not explain
METHODS = {"cg": "CG", "bcgs": "BiCGSTAB", "gmres": "GMRES(30)"}
LIMIT = {"cg": 1000, "bcgs": 500, "gmres": 500}
PCS = {
    "none": ["-pc_type none"],
    "jacobi": ["-pc_type jacobi", "-pc_jacobi_fixdiagonal"],
    "ilu": ["-pc_type bjacobi", "-sub_pc_type ilu"],
    "icc": ["-pc_type bjacobi", "-sub_pc_type icc"],
}
EXPERIMENTS = {"icc-unshifted": PCS["icc"] + ["-sub_pc_factor_shift_type none"]}
HEADER = """\
# Beside PETSc

Made by `scripts/compare_petsc.sh`: {versions} (as the system packages it); {machine}. Matrices as in `solve_table.md`.

Both libraries solve the same systems in one process (`bench/petsc_solve.c`), with the same options: relative tolerance 1e-8 in the
preconditioned norm, preconditioned from the left, x0 = 0; at most 1000 iterations of CG, 500 of the others; b as the
collection has it, else A times ones; `jacobi` with `-pc_jacobi_fixdiagonal` (PETSc's default); `ilu` and `icc` are
`-pc_type bjacobi -sub_pc_type ilu` and `icc`, one block per rank. CG is run on symmetric matrices, also indefinite ones.

Poise, PETSc: iterations, or why there are none (`refused`: no preconditioner, for want of a diagonal entry or of a pivot); two values
are those of 1 and 4 ranks. Norms are equal when they agree to 6 digits, and compared up to iteration 10. Remarks begin
with the number of ranks and tell what an experiment said of a difference; "textbook" is `bench/spread.c`, which
sums in other orders: what its orders do not agree on is rounding. Poise's count is remarked on when it is above 1.1 times PETSc's, and
in bold (to look at) when also above 1.1 times the textbook's largest, all of whose orders converge.

`icc` shifts the diagonal where a pivot is not positive. PETSc takes the first shift of its bisection that works; Poise goes
on, as PETSc does for `ilu`, to a smaller one. The norms then differ from the start, mostly to Poise's advantage; the experiment
is to run both with `-sub_pc_factor_shift_type none`. Some factors without shift are noise: then PETSc's `ilu` and `icc`, the same
but for rounding, differ from each other as well.

"""
MPI = {  # containers run as root and have fewer cores than ranks
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none", "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
}


def solver_options(method, pc):
    return [f"-ksp_type {method}", f"-ksp_max_it {LIMIT[method]}", f"-ksp_rtol {RTOL}"] + {**PCS, **EXPERIMENTS}[pc]


def run(command, timeout):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False,
                              env=dict(os.environ, **MPI))
    except subprocess.TimeoutExpired:
        raise Unexpected(f"stopped after {timeout:g} s")
    if done.returncode:
        raise Unexpected(f"exit code {done.returncode}: {(done.stderr or done.stdout).strip()[:300]}")
    return done.stdout


class Solve:
    """What one library said of one solve."""

    def __init__(self, fields, side):
        self.norms = [float(fields[f"norm {k}"][side]) for k in range(FIRST + 1) if fields.get(f"norm {k}", ["", ""])[side]]
        self.norm_type = fields["norm type"][side].lower()
        self.reason = fields["reason"][side]
        self.converged = self.reason.startswith("CONVERGED")
        self.its = int(fields["iterations"][side] or 0)
        self.true_residual = fields["true residual"][side]
        self.time = fields["time solve"][side]

    def refused(self):
        return self.reason.startswith("error") or self.reason == "DIVERGED_PC_FAILED"

    def outcome(self):
        """The count, or why there is none."""
        if self.converged:
            return str(self.its)
        return "refused" if self.refused() else self.reason.replace("DIVERGED_", "")


def solves(args, files, ranks, cases):
    """{case: (Poise's Solve, PETSc's)} of one matrix, all in one process per rank."""
    prefixes = ["_".join(case) + "_" for case in cases]
    with tempfile.NamedTemporaryFile("w", suffix=".opt") as options:
        for case, prefix in zip(cases, prefixes):
            options.write("\n".join("-" + prefix + option[1:] for option in solver_options(*case)) + "\n")
        options.flush()
        launcher = ["mpirun", "-n", str(ranks)] if ranks > 1 else []
        text = run(launcher + [args.program] + files + ["-norms", str(FIRST), "-solves", ",".join(prefixes),
                                                        "-options_file", options.name], args.timeout)
    found = {}
    for prefix, block in re.findall(r"^solve (\S*)\n(.*?\n)\n", text, re.M | re.S):
        fields = {}
        for line in block.splitlines():
            name, poise, petsc = (cell.strip() for cell in line.split("|"))
            fields[name] = (poise, petsc)
        found[cases[prefixes.index(prefix)]] = (Solve(fields, 0), Solve(fields, 1))
    if len(found) != len(cases):
        raise Unexpected(f"{len(found)} of {len(cases)} solves in the output")
    return found


class Textbook:
    """The same solve over orders of summation, made when asked for."""

    def __init__(self, args, files, ranks, method, pc):
        options = " ".join(PCS[pc]).split() + (["-pc_bjacobi_blocks", str(ranks)] if pc in ("ilu", "icc") else [])
        self.command = [args.spread] + files + ["-method", method.replace("bcgs", "bicgstab"), "-norm", "preconditioned",
                                                "-maxits", str(LIMIT[method]), "-rtol", str(RTOL)] + options
        self.timeout = args.timeout
        self.lines = {}

    def read(self, orders):
        if orders not in self.lines:
            more = ["-orders", str(orders), "-norms", str(FIRST)]
            self.lines[orders] = run(self.command + more, self.timeout).splitlines()
        return self.lines[orders]

    def counts(self, orders):
        """Those of the orders that converged, sorted."""
        return sorted(int(word) for word in self.read(orders)[0].split() if word != "no")

    def differences(self):
        """Of the norms of each iteration, over the orders: (largest - smallest) / largest."""
        return [float(word) for word in self.read(ORDERS[0])[1].split()]


def differences(self):
        """Of the norms of each iteration, over the orders: (largest - smallest) / largest."""
        self.read()
        return [float(word) for word in self.lines[1].split()]


def differences(poise, petsc):
    """Of the norms of each iteration, measured as Textbook.differences."""
    return [abs(a - b) / max(a, b, 1e-300) for a, b in zip(poise.norms, petsc.norms)]


def judge_norms(poise, petsc, textbook, unshifted):
    """(iteration up to which norms agree to 6 digits, all of the compared?, remark, explained)"""
    off = differences(poise, petsc)
    compared = len(off)
    first = next((k for k in range(compared) if not off[k] <= DIGITS), None)
    if first is None:
        return compared - 1, True, "", True
    if unshifted:  # icc, whose diagonals the two shift by different amounts
        poise, petsc, ilu = unshifted()
        without, own = differences(poise, petsc), differences(petsc, ilu)  # ilu and icc: the same but for rounding
        good = max(without, default=0) <= max(DIGITS, 10 * max(own, default=0))
        remark = "the shifts differ, and more"
        if good and max(without, default=0) <= DIGITS:
            remark = f"the shifts differ; without, norms are equal up to {len(without) - 1}"
        elif good:
            remark = f"the shifts differ; without, norms differ by {max(without):.0e}, those of PETSc's ilu and icc by {max(own):.0e}"
        return first - 1, False, remark if good else f"**{remark}**", good
    own = textbook.differences()
    own += [1.0] * (compared - len(own))  # an order ended before
    worst = max(range(first, compared), key=lambda k: off[k] / max(own[k], 1e-300))
    explained = off[worst] <= 10 * own[worst]
    remark = f"norms differ from iteration {first} on, by {off[first]:.0e}; the textbook's by {own[first]:.0e}"
    return first - 1, False, remark if explained else f"**{remark}; at {worst} by {off[worst]:.0e} and {own[worst]:.0e}**", explained


def judge_counts(poise, petsc, textbook):
    """Poise's count may be at most 1.1 times the largest of those of PETSc, which is one order of summation, and of the textbook's
    orders, and where PETSc converges, Poise has to; unless orders of the textbook fail as well."""
    if poise.refused() and petsc.refused():
        return "", True
    if poise.refused() or petsc.refused():
        who = "Poise" if poise.refused() else "PETSc"
        return f"**only {who} refuses: {(poise if poise.refused() else petsc).reason}**", False
    if poise.converged == petsc.converged and (not poise.converged or poise.its <= 1.1 * petsc.its):
        return "", True
    for orders in ORDERS:
        counts = textbook.counts(orders)
        span = f"textbook {counts[0]} to {counts[-1]}" if counts else "textbook never"
        span += f" in {len(counts)} of {orders} orders" if 0 < len(counts) < orders or orders != ORDERS[0] else ""
        good = 0 < len(counts) < orders or (poise.converged and counts and poise.its <= 1.1 * counts[-1])
        if good or (poise.converged and not petsc.converged):
            break
    if poise.converged and petsc.converged:
        return (span if good else f"**more than 1.1 times; {span}**"), good
    if poise.converged:
        return f"only Poise converges (true residual {poise.true_residual}); {span}", True
    remark = f"only PETSc converges (true residual {petsc.true_residual}); {span}"
    return (remark if good else f"**{remark}**"), good


class Comparison:
    """One solve by both, judged."""

    def __init__(self, case, ranks, poise, petsc, textbook, unshifted):
        self.case, self.ranks, self.poise, self.petsc = case, ranks, poise, petsc
        same, self.equal, remark, good = judge_norms(poise, petsc, textbook, unshifted)
        remark_counts, good_counts = judge_counts(poise, petsc, textbook)
        if poise.norms and petsc.norms and poise.norm_type != petsc.norm_type:
            remark_counts, good_counts = f"**{poise.norm_type} and {petsc.norm_type} norm**", False
        self.good = good and good_counts
        self.remarks = [text for text in (remark, remark_counts) if text]
        self.norms = str(same) if poise.norms and petsc.norms else ""


class Total:
    def __init__(self):
        self.solves = self.both = self.poise = self.petsc = self.neither = self.refused = 0
        self.equal_norms = self.compared_norms = self.equal_counts = 0

    def add(self, comparison):
        poise, petsc, equal = comparison.poise, comparison.petsc, comparison.equal
        self.solves += 1
        self.both += poise.converged and petsc.converged
        self.poise += poise.converged and not petsc.converged
        self.petsc += petsc.converged and not poise.converged
        self.refused += poise.refused() and petsc.refused()
        self.neither += not (poise.converged or petsc.converged or (poise.refused() and petsc.refused()))
        self.compared_norms += bool(poise.norms and petsc.norms)
        self.equal_norms += bool(poise.norms and petsc.norms) and equal
        self.equal_counts += poise.converged and petsc.converged and poise.its == petsc.its

    def cells(self):
        return [self.solves, self.both, self.equal_counts, self.poise, self.petsc, self.neither, self.refused,
                f"{self.equal_norms} of {self.compared_norms}"]


def without_shift(args, files, ranks, ilu):
    """Solves by CG with icc of Poise and of PETSc, and PETSc's with ilu, none of them shifted."""
    case = ("cg", "icc-unshifted")
    return *solves(args, files, ranks, [case])[case], ilu


def compare(args, name, symmetric):
    """[(case, ranks, Poise's Solve, PETSc's, ...)] of one matrix."""
    files = ["-A", os.path.join(args.matrices, name + ".mtx.gz")]
    b = os.path.join(args.matrices, name + "_b.mtx.gz")
    if os.path.exists(b):
        files += ["-b", b]
    cases = [("cg", pc) for pc in PCS] * symmetric + [(m, pc) for m in ("bcgs", "gmres") for pc in PCS if pc != "icc"]
    found = []
    for ranks in args.ranks:
        results = solves(args, files, ranks, cases)
        for case in cases:
            unshifted = None
            if case[1] == "icc":
                unshifted = functools.partial(without_shift, args, files, ranks, results[(case[0], "ilu")][1])
            found.append(Comparison(case, ranks, *results[case], Textbook(args, files, ranks, *case), unshifted))
    return found


def rows(name, found):
    """A row for each case; what is the same on any number of ranks is said once."""
    for case in dict.fromkeys(c.case for c in found):
        same = [c for c in found if c.case == case]
        remarks = "; ".join(f"{c.ranks}: {text}" for c in same for text in c.remarks)
        columns = [[c.poise.outcome() for c in same], [c.petsc.outcome() for c in same], [c.norms for c in same]]
        cells = [column[0] if len(set(column)) == 1 else ", ".join(column) for column in columns]
        yield "| " + " | ".join(w.replace("|", "\\|") for w in [name, METHODS[case[0]], case[1]] + cells + [remarks]) + " |"


def summary(totals):
    yield "| method | preconditioner | ranks | solves | both converge | with equal counts | only Poise | only PETSc | neither | both refuse | first norms equal |"
    yield "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
    for ((method, pc), ranks), total in totals.items():
        yield "| " + " | ".join(str(c) for c in [METHODS[method], pc, ranks] + total.cells()) + " |"


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        model = re.search(r"^model name\s*: (.*)$", lines.read(), re.M)
    return f"{model.group(1).strip() if model else platform.machine()}, {os.cpu_count()} cores, {platform.libc_ver()[0]} {platform.libc_ver()[1]}"


def versions():
    petsc = subprocess.run(["pkg-config", "--modversion", "PETSc"], capture_output=True, text=True, check=False).stdout.strip()
    with open(os.path.join(ROOT, "include", "poise", "sys.h"), encoding="utf-8") as header:
        poise = ".".join(re.findall(r"^#define POISE_VERSION_\w+ (\d+)$", header.read(), re.M))
    return f"Poise {poise}, PETSc {petsc}"


def write_whole(path, text):
    """The file appears whole or not at all."""
    if path == "-":
        sys.stdout.write(text)
        return
    with tempfile.NamedTemporaryFile("w", dir=os.path.dirname(os.path.abspath(path)), delete=False) as out:
        out.write(text)
    os.chmod(out.name, 0o644)
    os.replace(out.name, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    bench = os.path.join(ROOT, "build", "petsc", "bench")
    parser.add_argument("--program", default=os.path.join(bench, "petsc_solve"), help="bench/petsc_solve.c")
    parser.add_argument("--spread", default=os.path.join(bench, "spread"), help="the textbook program")
    parser.add_argument("--matrices", default=os.path.join(ROOT, "..", "shared", "matrices"), help="folder with README.md")
    parser.add_argument("--only", default="*", help="names to take, with * and ?")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 4], help="numbers of MPI ranks")
    parser.add_argument("--jobs", type=int, default=1, help="matrices that are worked on at the same time")
    parser.add_argument("--timeout", type=float, default=900, help="seconds for one process")
    parser.add_argument("--out", default=os.path.join(ROOT, "bench", "results", "petsc_table.md"), help="file; -: the terminal")
    args = parser.parse_args()

    index = read_index(os.path.join(args.matrices, "README.md"))
    names = [n for n in index if fnmatch.fnmatch(n, args.only)]
    if not names:
        sys.exit(f"{args.matrices}: no matrix of that name")
    totals, lines, bad = {}, [], 0
    with ThreadPoolExecutor(args.jobs) as pool:
        pending = [pool.submit(compare, args, name, index[name][0]) for name in names]
        for name, result in zip(names, pending):
            try:
                found = result.result()
            except Unexpected as unexpected:
                lines.append(f"| {name} | | | | | | **{str(unexpected).splitlines()[0]}** |")
                bad += 1
                continue
            lines += rows(name, found)
            for comparison in found:
                totals.setdefault((comparison.case, comparison.ranks), Total()).add(comparison)
                bad += not comparison.good
            print(f"{name}: {sum(not c.good for c in found)} of {len(found)} to look at", file=sys.stderr)
    head = "| matrix | method | preconditioner | Poise | PETSc | norms equal up to iteration | remark |\n|---|---|---|---|---|---|---|"
    write_whole(args.out, "\n".join([HEADER.format(versions=versions(), machine=machine()), *summary(totals), "",
                                     f"{bad} differences to look at.", "", head, *lines, ""]))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Solve with every matrix of a folder by Poise and by PETSc and write a Markdown table of both results.

    bench/petsc/compare_petsc.sh                           builds what this needs, then calls it
    bench/petsc/petsc_table.py --only 'bcsstk*' --out -    to the terminal

Both libraries get the same matrix, b and options: relative tolerance 1e-8 in the preconditioned norm, x0 = 0,
b from the folder where it has one, else A times ones. Rows are split alike. CG is for symmetric matrices.

What is compared: the norms of iterations 0 to 10, to 6 digits; who converges; the counts. Where something
differs, two experiments tell rounding from error. The first runs textbook versions of the methods, which use
neither library's solvers, with 10 orders of summation (bench/petsc/spread.c). In the second both libraries
solve again with b times 3, 5, 7, ... In exact arithmetic nothing changes but the factor, so what does change
is rounding, in each library by itself. For the rules see judge_norms and judge_counts. Exit code 1 when the
experiments did not explain a difference, or a run failed.
"""
import argparse
import fnmatch
import functools
import math
import os
import pickle
import platform
import re
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from solve_table import ROOT, Unexpected, read_index

RTOL = 1e-8
DIGITS = 1e-6    # two norms are equal when they differ by no more, relatively
FIRST = 10       # iterations whose norms are compared
ORDERS = 10      # of summation, in experiments
FACTORS = [20, 80]  # of b, in experiments; the latter when the former did not explain
CHANCE = 0.01    # a difference that chance makes more often than this is none
METHODS = {"cg": "CG", "bcgs": "BiCGSTAB", "gmres": "GMRES(30)"}
LIMIT = {"cg": 1000, "bcgs": 3000, "gmres": 500}
PCS = {
    "none": ["-pc_type none"],
    "jacobi": ["-pc_type jacobi", "-pc_jacobi_fixdiagonal"],
    "ilu": ["-pc_type bjacobi", "-sub_pc_type ilu"],
    "icc": ["-pc_type bjacobi", "-sub_pc_type icc"],
}
EXPERIMENTS = {"icc-unshifted": PCS["icc"] + ["-sub_pc_factor_shift_type none"]}
HEADER = """\
# Beside PETSc

Made by `bench/petsc/compare_petsc.sh`: {versions} (as the system packages it); {machine}.
Matrices as in `solve_table.md`.

Both libraries solve the same systems in one process (`bench/petsc/petsc_solve.c`), with the same options:
relative tolerance 1e-8 in the preconditioned norm, preconditioned from the left, x0 = 0; at most {cg}
iterations of CG, {bcgs} of BiCGSTAB, {gmres} of GMRES; b as the collection has it, else A times ones;
`jacobi` with `-pc_jacobi_fixdiagonal` (PETSc's default); `ilu` and `icc` are `-pc_type bjacobi -sub_pc_type
ilu` and `icc`, one block per rank. CG is run on symmetric matrices, also indefinite ones.

Poise, PETSc: iterations, or why there are none (`refused`: no preconditioner, for want of a diagonal entry
or of a pivot); two values are those of 1 and 4 ranks. Norms are equal when they agree to 6 digits, and
compared up to iteration 10. Remarks begin with the number of ranks and tell what experiments said of a
difference:
- "Textbook" is `bench/petsc/spread.c` in 10 orders of summation, one of which sums rows as Poise does.
  "Factors of b" are 1, 3, 5, ...: in exact arithmetic x is multiplied by the factor and nothing else
  changes; what does is rounding, in each library by itself.
- Norms that differ are explained when the textbook's, or PETSc's own over 20 factors of b, differ by at
  least a tenth as much.
- A count of Poise's above 1.1 times PETSc's is explained when it is at most 1.1 times the textbook's
  largest, all of whose orders converge.
- Else, or when only one library converges, both solve with 20 factors of b, and with 80 if need be: Poise
  must converge as often as PETSc, with a median count of at most 1.1 times PETSc's, or with differences that
  chance makes in more than one case of a hundred (Fisher's exact test, Mann and Whitney's). If it does not,
  the textbook solves with these factors in each order: where it does no better than Poise in one of them, it
  is the order of summation that makes the difference.
- What all this does not explain is in bold (to look at).

When (r, r^) vanishes in BiCGSTAB, PETSc ends with `BREAKDOWN`, Poise starts afresh from the residual. Where
one ends with `ITS` and the other with `BREAKDOWN`, that counts as a difference.

`icc` shifts the diagonal where a pivot is not positive. PETSc takes the first shift of its bisection that
works; Poise goes on, as PETSc does for `ilu`, to a smaller one. The norms then differ from the start, mostly
to Poise's advantage; the experiment is to run both with `-sub_pc_factor_shift_type none`. Some factors
without shift are noise: then PETSc's `ilu` and `icc`, the same but for rounding, differ from each other as
well.

"""
COUNTS = """\
How many solves took fewer iterations with one library (where both converge), how many converge with one
only, and how likely a coin is to fall at least as unevenly (two-sided sign test); the geometric mean of
Poise's count over PETSc's, and in brackets twice its standard error to either side. In "all" the rows of a
matrix are not independent of each other, so chance is larger than it says.
"""
MPI = {  # containers run as root and have fewer cores than ranks
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none", "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
}


def solver_options(method, pc):
    of_pc = {**PCS, **EXPERIMENTS}[pc]
    return [f"-ksp_type {method}", f"-ksp_max_it {LIMIT[method]}", f"-ksp_rtol {RTOL}"] + of_pc


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
        norms = [fields.get(f"norm {k}", ["", ""])[side] for k in range(FIRST + 1)]
        self.norms = [float(norm) for norm in norms if norm]
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


def solves(args, files, ranks, cases, factors=1):
    """{case: [(Poise's Solve, PETSc's) for each factor of b]} of one matrix, all in one process per rank."""
    prefixes = ["_".join(case) + "_" for case in cases]
    with tempfile.NamedTemporaryFile("w", suffix=".opt") as options:
        for case, prefix in zip(cases, prefixes):
            options.write("\n".join("-" + prefix + option[1:] for option in solver_options(*case)) + "\n")
        options.flush()
        launcher = ["mpirun", "-n", str(ranks)] if ranks > 1 else []
        words = ["-norms", str(FIRST), "-solves", ",".join(prefixes), "-factors", str(factors),
                 "-options_file", options.name]
        text = run(launcher + [args.program] + files + words, args.timeout)
    found = {}
    for prefix, block in re.findall(r"^solve (\S*)\n(.*?\n)\n", text, re.M | re.S):
        fields = {}
        for line in block.splitlines():
            name, poise, petsc = (cell.strip() for cell in line.split("|"))
            fields[name] = (poise, petsc)
        found.setdefault(cases[prefixes.index(prefix)], []).append((Solve(fields, 0), Solve(fields, 1)))
    if [len(found.get(case, [])) for case in cases] != [factors] * len(cases):
        raise Unexpected(f"{sum(map(len, found.values()))} of {len(cases) * factors} solves in the output")
    return found


class Textbook:
    """The same solve over orders of summation, made when asked for."""

    def __init__(self, args, files, ranks, method, pc):
        options = " ".join(PCS[pc]).split()
        if pc in ("ilu", "icc"):
            options += ["-pc_bjacobi_blocks", str(ranks)]
        self.command = [args.spread] + files + ["-method", method.replace("bcgs", "bicgstab"),
                                                "-norm", "preconditioned", "-rtol", str(RTOL),
                                                "-orders", str(ORDERS)] + options
        self.limit, self.timeout = LIMIT[method], args.timeout

    @functools.lru_cache(maxsize=None)
    def counts(self, factors=1):
        """Of each order those of so many factors of b that converged, sorted."""
        command = self.command + ["-maxits", str(self.limit), "-factors", str(factors)]
        words = run(command, self.timeout).split()
        of_order = [words[k : k + factors] for k in range(0, len(words), factors)]
        return [sorted(int(word) for word in order if word != "no") for order in of_order]

    def differences(self):
        """Of the norms of each iteration, over the orders: (largest - smallest) / largest."""
        text = run(self.command + ["-maxits", str(FIRST), "-norms", str(FIRST)], self.timeout)
        return [float(word) for word in text.splitlines()[1].split()]


class Again:
    """The same solve by both libraries over factors of b, made when asked for."""

    def __init__(self, args, files, ranks, case):
        self.make = lambda factors: solves(args, files, ranks, [case], factors)[case]
        self.pairs = []

    def solves(self, factors):
        """[Poise's Solve for each factor], [PETSc's]"""
        if len(self.pairs) != factors:
            self.pairs = self.make(factors)
        return zip(*self.pairs)

    def differences(self, factors):
        """Of PETSc's norms of each iteration, over the factors, measured as Textbook.differences."""
        _, petsc = self.solves(factors)
        norms = [[norm / (2 * k + 1) for norm in solve.norms] for k, solve in enumerate(petsc)]
        return [(max(column) - min(column)) / max(*column, 1e-300) for column in zip(*norms)]


def differences(poise, petsc):
    """Of the norms of each iteration, measured as Textbook.differences."""
    return [abs(a - b) / max(a, b, 1e-300) for a, b in zip(poise.norms, petsc.norms)]


def judge_norms(poise, petsc, textbook, again, unshifted):
    """(iteration up to which norms agree to 6 digits, all of the compared?, remark, explained). A difference
    is explained when it is at most 10 times that of the textbook's orders, or of PETSc's own norms over
    factors of b."""
    off = differences(poise, petsc)
    compared = len(off)
    first = next((k for k in range(compared) if not off[k] <= DIGITS), None)
    if first is None:
        return compared - 1, True, "", True
    if unshifted:  # icc, whose diagonals the two shift by different amounts
        poise, petsc, ilu = unshifted()
        without, own = differences(poise, petsc), differences(petsc, ilu)  # ilu is icc but for rounding
        good = max(without, default=0) <= max(DIGITS, 10 * max(own, default=0))
        remark = "the shifts differ, and more"
        if good and max(without, default=0) <= DIGITS:
            remark = f"the shifts differ; without, norms are equal up to {len(without) - 1}"
        elif good:
            remark = (f"the shifts differ; without, norms differ by {max(without):.0e}, "
                      f"those of PETSc's ilu and icc by {max(own):.0e}")
        return first - 1, False, remark if good else f"**{remark}**", good
    for who, own in (("the textbook's", textbook.differences),
                     ("PETSc's own", functools.partial(again.differences, FACTORS[0]))):
        own = own()
        own += [1.0] * (compared - len(own))  # one ended before
        worst = max(range(first, compared), key=lambda k: off[k] / max(own[k], 1e-300))
        remark = f"norms differ from iteration {first} on, by {off[first]:.0e}; {who} by {own[first]:.0e}"
        if off[worst] <= 10 * own[worst]:
            return first - 1, False, remark, True
    return first - 1, False, f"**{remark}; at {worst} by {off[worst]:.0e} and {own[worst]:.0e}**", False


def by_chance(more, of_more, less, of_less):
    """How likely it is that of two samples of one population so many more in the first have a property
    (Fisher)."""
    having, total = more + less, of_more + of_less
    ways = sum(math.comb(of_more, k) * math.comb(of_less, having - k)
               for k in range(more, min(of_more, having) + 1))
    return ways / math.comb(total, having)


def larger_by_chance(a, b):
    """How likely it is that of two samples of one population the first is so much larger (Mann and Whitney's
    U, as normal)."""
    both = sorted(a + b)
    n, m = len(a), len(b)
    if not n or not m or both[0] == both[-1]:
        return 1.0
    u = sum((x > y) + (x == y) / 2 for x in a for y in b)
    ties = sum(k**3 - k for k in (both.count(value) for value in set(both)))
    deviation = math.sqrt(n * m / 12 * (n + m + 1 - ties / ((n + m) * (n + m - 1))))
    return math.erfc((u - n * m / 2) / deviation / math.sqrt(2)) / 2


def as_good(counts, others, factors):
    """Of so many solves these counts are of those that converged. Are they as many as the others, with a
    median of at most 1.1 times the others', or does chance explain the difference?"""
    fails = by_chance(factors - len(counts), factors, factors - len(others), factors)
    slower = larger_by_chance(counts, others)
    return fails > CHANCE and (slower > CHANCE or
                               statistics.median(counts) <= 1.1 * statistics.median(others))


def say(counts):
    text = f"{len(counts)} times"
    if counts:
        text += f", {counts[0]} to {counts[-1]}, median {statistics.median(counts):.0f}"
    return text


def judge_again(textbook, again):
    """(what came of factors of b, whether Poise is as good there as PETSc, or as some order of the
    textbook)"""
    for factors in FACTORS:
        poise, petsc = (sorted(s.its for s in side if s.converged) for side in again.solves(factors))
        text = f"over {factors} factors of b Poise converges {say(poise)}, PETSc {say(petsc)}"
        if as_good(poise, petsc, factors):
            return text, True
    orders = sorted(textbook.counts(factors), key=lambda counts: statistics.median(counts or [math.inf]))
    text += f"; the textbook's order that is best {say(orders[0])}, worst {say(orders[-1])}"
    return text, any(as_good(poise, order, factors) for order in orders)


def judge_counts(poise, petsc, textbook, again):
    """Poise's count may be at most 1.1 times PETSc's, or 1.1 times the textbook's largest when all of its
    orders converge. Where PETSc converges, Poise has to. Else see judge_again."""
    if poise.refused() and petsc.refused():
        return "", True
    if poise.refused() or petsc.refused():
        who = "Poise" if poise.refused() else "PETSc"
        return f"**only {who} refuses: {(poise if poise.refused() else petsc).reason}**", False
    reasons = {poise.reason, petsc.reason}
    if not poise.converged and not petsc.converged and reasons == {"DIVERGED_ITS", "DIVERGED_BREAKDOWN"}:
        return f"**Poise ends with {poise.reason}, PETSc with {petsc.reason}**", False
    if poise.converged == petsc.converged and (not poise.converged or poise.its <= 1.1 * petsc.its):
        return "", True
    counts = sorted(sum(textbook.counts(), []))
    remark = f"textbook {counts[0]} to {counts[-1]}" if counts else "textbook never"
    if 0 < len(counts) < ORDERS:
        remark += f" in {len(counts)} of {ORDERS} orders"
    if poise.converged and petsc.converged and len(counts) == ORDERS and poise.its <= 1.1 * counts[-1]:
        return remark, True
    text, good = judge_again(textbook, again)
    remark += f"; {text}"
    if poise.converged != petsc.converged:
        who, one = ("Poise", poise) if poise.converged else ("PETSc", petsc)
        remark = f"only {who} converges (true residual {one.true_residual}); {remark}"
    return (remark if good else f"**{remark}**"), good


class Comparison:
    """One solve by both, judged."""

    def __init__(self, case, ranks, poise, petsc, textbook, again, unshifted):
        self.case, self.ranks, self.poise, self.petsc = case, ranks, poise, petsc
        same, self.equal, remark, good = judge_norms(poise, petsc, textbook, again, unshifted)
        remark_counts, good_counts = judge_counts(poise, petsc, textbook, again)
        if poise.norms and petsc.norms and poise.norm_type != petsc.norm_type:
            remark_counts, good_counts = f"**{poise.norm_type} and {petsc.norm_type} norm**", False
        self.good = good and good_counts
        self.remarks = [text for text in (remark, remark_counts) if text]
        self.norms = str(same) if poise.norms and petsc.norms else ""


class Total:
    def __init__(self):
        self.solves = self.both = self.poise = self.petsc = self.neither = self.refused = 0
        self.equal_norms = self.compared_norms = self.equal_counts = 0
        self.ratios = []  # of counts, Poise's to PETSc's

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
        if poise.converged and petsc.converged:
            self.ratios.append(max(poise.its, 1) / max(petsc.its, 1))

    def __add__(self, other):
        total = Total()
        for name, value in vars(self).items():
            setattr(total, name, value + getattr(other, name))
        return total

    def cells(self):
        return [self.solves, self.both, self.equal_counts, self.poise, self.petsc, self.neither, self.refused,
                f"{self.equal_norms} of {self.compared_norms}"]


def without_shift(args, files, ranks, ilu):
    """Solves by CG with icc of Poise and of PETSc, and PETSc's with ilu, none of them shifted."""
    case = ("cg", "icc-unshifted")
    return *solves(args, files, ranks, [case])[case][0], ilu


def compare(args, name, symmetric, ranks):
    """The Comparisons of one matrix on so many ranks."""
    files = ["-A", os.path.join(args.matrices, name + ".mtx.gz")]
    b = os.path.join(args.matrices, name + "_b.mtx.gz")
    if os.path.exists(b):
        files += ["-b", b]
    cases = [("cg", pc) for pc in PCS] * symmetric
    cases += [(m, pc) for m in ("bcgs", "gmres") for pc in PCS if pc != "icc"]
    results = solves(args, files, ranks, cases)
    found = []
    for case in cases:
        unshifted = None
        if case[1] == "icc":
            unshifted = functools.partial(without_shift, args, files, ranks, results[(case[0], "ilu")][0][1])
        found.append(Comparison(case, ranks, *results[case][0], Textbook(args, files, ranks, *case),
                                Again(args, files, ranks, case), unshifted))
    return found


def compare_once(args, name, symmetric, ranks):
    """The same, from --keep where it is there."""
    path = args.keep and os.path.join(args.keep, f"{name}.{ranks}.pickle")
    if path and os.path.exists(path):
        with open(path, "rb") as kept:
            return pickle.load(kept)
    found = compare(args, name, symmetric, ranks)
    if path:
        os.makedirs(args.keep, exist_ok=True)
        write_whole(path, pickle.dumps(found))
    return found


def rows(name, found):
    """A row for each case; what is the same on any number of ranks is said once."""
    for case in dict.fromkeys(c.case for c in found):
        same = [c for c in found if c.case == case]
        remarks = "; ".join(f"{c.ranks}: {text}" for c in same for text in c.remarks)
        columns = [[c.poise.outcome() for c in same], [c.petsc.outcome() for c in same],
                   [c.norms for c in same]]
        cells = [column[0] if len(set(column)) == 1 else ", ".join(column) for column in columns]
        cells = [name, METHODS[case[0]], case[1]] + cells + [remarks]
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def summary(totals):
    yield ("| method | preconditioner | ranks | solves | both converge | with equal counts | only Poise "
           "| only PETSc | neither | both refuse | first norms equal |")
    yield "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
    for ((method, pc), ranks), total in totals.items():
        yield "| " + " | ".join(str(c) for c in [METHODS[method], pc, ranks] + total.cells()) + " |"


def sign_test(a, b):
    """How likely heads and tails are at least as uneven as a and b."""
    return min(1.0, 2 * sum(math.comb(a + b, k) for k in range(min(a, b) + 1)) / 2 ** (a + b))


def mean_ratio(ratios):
    """The geometric mean, and twice its standard error."""
    logs = [math.log(ratio) for ratio in ratios]
    if len(logs) < 2:
        return ""
    mean, error = statistics.mean(logs), statistics.stdev(logs) / math.sqrt(len(logs))
    return f"{math.exp(mean):.3f} ({math.exp(mean - 2 * error):.3f} to {math.exp(mean + 2 * error):.3f})"


def comparison_of_counts(totals):
    yield ("| method | preconditioner | ranks | fewer iterations: Poise | PETSc | by chance "
           "| ratio of counts | only Poise converges | only PETSc | by chance |")
    yield "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|"
    sums = dict(totals)
    for ((method, _), ranks), total in totals.items():
        key = ((method, "all"), ranks)
        sums[key] = sums.get(key, Total()) + total
    for ((method, pc), ranks), total in sums.items():
        fewer, more = sum(r < 1 for r in total.ratios), sum(r > 1 for r in total.ratios)
        cells = [METHODS[method], pc, ranks, fewer, more, f"{sign_test(fewer, more):.2g}",
                 mean_ratio(total.ratios), total.poise, total.petsc,
                 f"{sign_test(total.poise, total.petsc):.2g}"]
        yield "| " + " | ".join(str(c) for c in cells) + " |"


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        model = re.search(r"^model name\s*: (.*)$", lines.read(), re.M)
    name = model.group(1).strip() if model else platform.machine()
    return f"{name}, {os.cpu_count()} cores, {platform.libc_ver()[0]} {platform.libc_ver()[1]}"


def versions():
    petsc = subprocess.run(["pkg-config", "--modversion", "PETSc"], capture_output=True, text=True,
                           check=False).stdout.strip()
    with open(os.path.join(ROOT, "include", "poise", "sys.h"), encoding="utf-8") as header:
        poise = ".".join(re.findall(r"^#define POISE_VERSION_\w+ (\d+)$", header.read(), re.M))
    return f"Poise {poise}, PETSc {petsc}"


def write_whole(path, data):
    """A file appears whole or not at all; what is no plain file (a device) is never replaced."""
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "wb") as out:
            out.write(data)
        return
    with tempfile.NamedTemporaryFile(dir=os.path.dirname(os.path.abspath(path)), delete=False) as out:
        out.write(data)
    os.chmod(out.name, 0o644)
    os.replace(out.name, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    bench = os.path.join(ROOT, "build", "petsc", "bench")
    parser.add_argument("--program", default=os.path.join(bench, "petsc_solve"),
                        help="bench/petsc/petsc_solve.c")
    parser.add_argument("--spread", default=os.path.join(bench, "spread"), help="the textbook program")
    parser.add_argument("--matrices", default=os.path.join(ROOT, "..", "shared", "matrices"),
                        help="folder with README.md")
    parser.add_argument("--only", default="*", help="names to take, with * and ?")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 4], help="numbers of MPI ranks")
    parser.add_argument("--jobs", type=int, default=1, help="matrices that are worked on at the same time")
    parser.add_argument("--timeout", type=float, default=900, help="seconds for one process")
    parser.add_argument("--keep", help="folder for what came out, by matrix, from which an interrupted run "
                                       "of the same programs goes on")
    collection = os.path.join(ROOT, "bench", "results", "collection")
    parser.add_argument("--out", default=os.path.join(collection, "petsc_table.md"),
                        help="file; -: the terminal")
    args = parser.parse_args()

    index = read_index(os.path.join(args.matrices, "README.md"))
    names = [n for n in index if fnmatch.fnmatch(n, args.only)]
    if not names:
        sys.exit(f"{args.matrices}: no matrix of that name")
    totals, lines, bad = {}, [], 0
    with ThreadPoolExecutor(args.jobs) as pool:
        pending = [[pool.submit(compare_once, args, name, index[name][0], ranks) for ranks in args.ranks]
                   for name in names]
        for name, results in zip(names, pending):
            try:
                found = [comparison for result in results for comparison in result.result()]
            except Unexpected as unexpected:
                lines.append(f"| {name} | | | | | | **{str(unexpected).splitlines()[0]}** |")
                bad += 1
                continue
            lines += rows(name, found)
            for comparison in found:
                totals.setdefault((comparison.case, comparison.ranks), Total()).add(comparison)
                bad += not comparison.good
            print(f"{name}: {sum(not c.good for c in found)} of {len(found)} to look at", file=sys.stderr)
    head = ("| matrix | method | preconditioner | Poise | PETSc | norms equal up to iteration | remark |\n"
            "|---|---|---|---|---|---|---|")
    text = "\n".join([HEADER.format(versions=versions(), machine=machine(), **LIMIT), *summary(totals), "",
                      COUNTS, *comparison_of_counts(totals), "", f"{bad} differences to look at.", "", head,
                      *lines, ""])
    if args.out == "-":
        sys.stdout.write(text)
    else:
        write_whole(args.out, text.encode())
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

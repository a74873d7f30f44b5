#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Solve with every matrix of a folder and write a Markdown table of what came out.

    bench/petsc/solve_table.py --solve build/examples/solve > bench/results/collection/solve_table.md
    bench/petsc/solve_table.py --only 'bcsstk*' -- -device mock -ranks 3

b = A times ones, Jacobi, relative tolerance 1e-8 in the norm of b - A x. The folder's README.md says in its
tables which matrices are symmetric positive definite. Those are solved by CG, the others by BiCGSTAB and
GMRES(30). CG gets the other symmetric matrices as well, so that the table shows what it says of them.

Each claim of convergence is checked against the residual computed from x. It is false above 10 times the
tolerance, and gets a remark above the tolerance itself. Exit code: 0, or 1 when a claim was false or a run
failed. Words after -- are passed on to every solve.
"""
import argparse
import fnmatch
import math
import os
import re
import subprocess
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
RTOL = 1e-8
SLACK = 10  # what rounding may put between the residual of the recurrence and the true one
METHODS = {
    "cg": ("CG", ["-ksp_type", "cg", "-ksp_max_it", "3000", "-ksp_norm_type", "unpreconditioned"]),
    "bicgstab": ("BiCGSTAB", ["-ksp_type", "bicgstab", "-ksp_max_it", "2000", "-ksp_pc_side", "right"]),
    "gmres": ("GMRES(30)", ["-ksp_type", "gmres", "-ksp_gmres_restart", "30", "-ksp_max_it", "2000",
                            "-ksp_pc_side", "right"]),
}


class Unexpected(Exception):
    """A run that ended in a way that the table has no words for."""


def read_index(path):
    """{name: (symmetric, spd)} from the Markdown tables that have these columns."""
    index, header = {}, None
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            cells = [c.strip() for c in line.strip().strip("|").split("|")] if line.startswith("|") else None
            if cells is None:
                header = None
            elif header is None:
                header = cells if "SPD" in cells and "name" in cells else None
            elif len(cells) == len(header) and not set(line.strip()) <= set("|-: "):
                row = dict(zip(header, cells))
                index[row["name"]] = (row["symmetric"] == "yes", row["SPD"].startswith("yes"))
    return index


def run(program, path, options, timeout):
    """The "name  value" lines of one solve; only "failed", the message, when it ended with an error."""
    command = [program, "-A", path, "-pc_type", "jacobi", "-ksp_rtol", str(RTOL)] + options
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        raise Unexpected(f"stopped after {timeout} s")
    fields = dict(re.findall(r"^(\S+(?: \S+)*) {2,}(\S.*)$", done.stdout, re.M))
    if done.returncode == 1 and done.stderr:
        return {"failed": done.stderr.splitlines()[0]}
    if done.returncode not in (0, 3) or "reason" not in fields:
        raise Unexpected(f"exit code {done.returncode}: {(done.stderr or done.stdout).strip()[:200]}")
    if (done.returncode == 0) != fields["reason"].startswith("CONVERGED"):
        raise Unexpected(f"exit code {done.returncode} does not fit {fields['reason']}")
    return fields


def judge(fields):
    """(remark, whether this may stand in the table as it is)"""
    if "failed" in fields:
        return f"**{fields['failed']}**", False
    reason, words = fields["reason"].split(": ", 1)
    if "WARNING" in fields:
        return fields["WARNING"], not reason.startswith("CONVERGED")
    if not reason.startswith("CONVERGED"):
        return words, True
    true_residual = float(fields["true residual"].split()[0])
    if not math.isfinite(true_residual) or true_residual > SLACK * RTOL:
        return f"**false: true residual above {SLACK} times the tolerance**", False
    if true_residual > RTOL:
        return f"true residual {true_residual / RTOL:.1f} times the tolerance", True
    return "", True


def textbook(args, path, method, orders=5):
    """Iterations over so many orders of summation; None where one did not converge."""
    limit = METHODS[method][1][METHODS[method][1].index("-ksp_max_it") + 1]
    command = [args.spread, "-A", path, "-method", method, "-rtol", str(RTOL), "-maxits", limit,
               "-orders", str(orders), "-pc_type", "jacobi", "-pc_jacobi_fixdiagonal"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=args.timeout, check=True)
    return [None if word == "no" else int(word) for word in done.stdout.split()]


def counts(iterations):
    return " ".join("-" if k is None else str(k) for k in iterations)


def compare(iterations, orders):
    """A remark and whether the counts fit what rounding does to the method."""
    reached = [k for k in orders if k is not None]
    if None in iterations and len(reached) == len(orders):
        return "**a rank count did not converge, all textbook orders did**", False
    most = max([k for k in iterations if k is not None], default=0)
    if reached and most > 1.1 * max(reached) and None not in orders:
        return "**more than 1.1 times the textbook's iterations**", False
    return "", True


def solve(args, name, method, spd):
    """One table row and whether it is as it should be. A matrix without a full diagonal gets ones there, and
    a mark."""
    title, options = METHODS[method]
    path = os.path.join(args.matrices, name + ".mtx.gz")
    mark = ""
    try:
        fields = run(args.solve, path, options + args.options, args.timeout)
        if "diagonal" in fields.get("failed", ""):
            mark = re.search(r"row \d+|$", fields["failed"]).group() or "diagonal"
            fields = run(args.solve, path, options + ["-pc_jacobi_fixdiagonal"] + args.options, args.timeout)
        remark, good = judge(fields)
        fixed = ["-pc_jacobi_fixdiagonal"] if mark else []
        runs = [fields] + [run(args.solve, path, options + fixed + ["-ranks", n] + args.options, args.timeout)
                           for n in args.ranks.split(",")]
        for other in runs[1:]:
            other_remark, other_good = judge(other)
            if not other_good:
                remark, good = f"on several ranks: {other_remark}", False
        iterations = [int(r["iterations"]) if r.get("reason", "").startswith("CONVERGED") else None
                      for r in runs]
        orders = textbook(args, path, method)
        if method != "cg" or spd:
            spread_remark, spread_good = compare(iterations, orders)
            if not spread_good:
                more = [k for k in textbook(args, path, method, 100) if k is not None]
                spread_remark += f" (over 100 orders: {min(more)} to {max(more)})"
            remark, good = "; ".join(filter(None, [remark, spread_remark])), good and spread_good
    except Unexpected as unexpected:
        fields, remark, good, iterations, orders = {}, f"**{unexpected}**", False, [], []
    if mark:
        remark = f"† ({mark})" + ("; " if remark else "") + remark
    cells = [name, fields.get("rows", ""), fields.get("nonzeros", ""), title, counts(iterations),
             counts(orders), fields.get("reason", "error").split(":")[0],
             fields.get("true residual", "").split(" ")[0], remark]
    return "| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |", good


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--solve", default=os.path.join(ROOT, "build", "examples", "solve"),
                        help="the solve program")
    parser.add_argument("--spread", default=os.path.join(ROOT, "build", "bench", "spread"),
                        help="the textbook program")
    parser.add_argument("--ranks", default="2,4,7", help="numbers of thread ranks to solve on beside one")
    parser.add_argument("--matrices", default=os.path.join(ROOT, "..", "shared", "matrices"),
                        help="folder with README.md")
    parser.add_argument("--only", default="*", help="names to take, with * and ?")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for one solve")
    parser.add_argument("options", nargs="*", help="options for solve, after --")
    args = parser.parse_args()

    index = read_index(os.path.join(args.matrices, "README.md"))
    names = [n for n in index if fnmatch.fnmatch(n, args.only)]
    missing = [n for n in names if not os.path.exists(os.path.join(args.matrices, n + ".mtx.gz"))]
    if not names or missing:
        sys.exit(f"{args.matrices}: " +
                 (f"no file for {', '.join(missing)}" if missing else "no matrix of that name"))

    totals = {"runs": 0, "converged": 0, "bad": 0}
    print(f"| matrix | rows | nonzeros | method | iterations on 1,{args.ranks} ranks | textbook, 5 orders "
          "| reason | true residual | remark |")
    print("|---|--:|--:|---|---|---|---|--:|---|")
    for name in names:
        symmetric, spd = index[name]
        for method in ["cg"] if spd else ["bicgstab", "gmres"] + ["cg"] * symmetric:
            row, good = solve(args, name, method, spd)
            print(row, flush=True)
            totals["runs"] += 1
            totals["converged"] += "| CONVERGED" in row and good
            totals["bad"] += not good
    print(f"\n{totals['runs']} solves, {totals['converged']} converged and confirmed within {SLACK} times "
          f"the tolerance, {totals['bad']} to look at. "
          "True residual: \\|b - A x\\| / \\|b\\|, computed from x, on one rank; b = A times ones; "
          f"tolerance {RTOL:g}; a dash: not converged.\n\n"
          "† The diagonal has a zero or missing entry, which Jacobi refuses, naming the row; solved with "
          "`-pc_jacobi_fixdiagonal`, which takes 1 instead.")
    return 1 if totals["bad"] else 0


if __name__ == "__main__":
    sys.exit(main())

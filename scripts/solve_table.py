#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Solve with every matrix of a folder and write a Markdown table of what came out.

    scripts/solve_table.py --solve build/examples/solve > bench/results/solve_table.md
    scripts/solve_table.py --only 'bcsstk*' -- -device mock -ranks 3

b = A times ones, Jacobi, relative tolerance 1e-8 in the norm of b - A x. The folder's README.md says in its tables which
matrices are symmetric positive definite: those are solved by CG, the others by BiCGSTAB and GMRES(30); other symmetric
matrices are given to CG as well, so that the table shows what it says of them. Each claim of convergence is checked against the
residual computed from x. Exit code: 0, or 1 when a claim was false or a run ended in a way that has no row. Words after
-- are passed on to every solve.
"""
import argparse
import fnmatch
import math
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
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
    """The "name  value" lines of one solve, with "error" instead when there is no solution."""
    command = [program, "-A", path, "-pc_type", "jacobi", "-ksp_rtol", str(RTOL)] + options
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        raise Unexpected(f"stopped after {timeout} s")
    fields = dict(re.findall(r"^(\S+(?: \S+)*) {2,}(\S.*)$", done.stdout, re.M))
    if done.returncode == 1 and done.stderr:
        fields["error"] = done.stderr.splitlines()[0]
    elif done.returncode not in (0, 3) or "reason" not in fields:
        raise Unexpected(f"exit code {done.returncode}: {(done.stderr or done.stdout).strip()[:200]}")
    elif (done.returncode == 0) != fields["reason"].startswith("CONVERGED"):
        raise Unexpected(f"exit code {done.returncode} does not fit {fields['reason']}")
    return fields


def judge(fields):
    """(remark, whether the claim is true)"""
    if "error" in fields:
        return fields["error"], True
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


def solve(args, name, method):
    """One table row and whether it is as it should be. A matrix without a full diagonal gets ones there, and a mark."""
    title, options = METHODS[method]
    path = os.path.join(args.matrices, name + ".mtx.gz")
    mark = ""
    try:
        fields = run(args.solve, path, options + args.options, args.timeout)
        if "diagonal" in fields.get("error", ""):
            mark = re.search(r"row \d+|$", fields["error"]).group() or "diagonal"
            fields = run(args.solve, path, options + ["-pc_jacobi_fixdiagonal"] + args.options, args.timeout)
        remark, good = judge(fields)
    except Unexpected as unexpected:
        fields, remark, good = {}, f"**{unexpected}**", False
    if mark:
        remark = f"† ({mark})" + ("; " if remark else "") + remark
    cells = [name, fields.get("rows", ""), fields.get("nonzeros", ""), title, fields.get("iterations", ""),
             fields.get("reason", "error").split(":")[0], fields.get("true residual", "").split(" ")[0], remark]
    return "| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |", good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--solve", default=os.path.join(ROOT, "build", "examples", "solve"), help="the solve program")
    parser.add_argument("--matrices", default=os.path.join(ROOT, "..", "shared", "matrices"), help="folder with README.md")
    parser.add_argument("--only", default="*", help="names to take, with * and ?")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for one solve")
    parser.add_argument("options", nargs="*", help="options for solve, after --")
    args = parser.parse_args()

    index = read_index(os.path.join(args.matrices, "README.md"))
    names = [n for n in index if fnmatch.fnmatch(n, args.only)]
    missing = [n for n in names if not os.path.exists(os.path.join(args.matrices, n + ".mtx.gz"))]
    if not names or missing:
        sys.exit(f"{args.matrices}: " + (f"no file for {', '.join(missing)}" if missing else "no matrix of that name"))

    counts = {"runs": 0, "converged": 0, "bad": 0}
    print("| matrix | rows | nonzeros | method | iterations | reason | true residual | remark |")
    print("|---|--:|--:|---|--:|---|--:|---|")
    for name in names:
        symmetric, spd = index[name]
        for method in ["cg"] if spd else ["bicgstab", "gmres"] + ["cg"] * symmetric:
            row, good = solve(args, name, method)
            print(row, flush=True)
            counts["runs"] += 1
            counts["converged"] += "| CONVERGED" in row and good
            counts["bad"] += not good
    print(f"\n{counts['runs']} solves, {counts['converged']} converged and confirmed, {counts['bad']} to look at. "
          f"True residual: \\|b - A x\\| / \\|b\\|, computed from x; b = A times ones; tolerance {RTOL:g}.\n\n"
          "† The diagonal has a zero or missing entry, which Jacobi refuses, naming the row; solved with "
          "`-pc_jacobi_fixdiagonal`, which takes 1 instead.")
    return 1 if counts["bad"] else 0


if __name__ == "__main__":
    sys.exit(main())

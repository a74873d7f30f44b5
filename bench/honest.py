#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Are claims of convergence true? Solves with every matrix of a folder by every method (bench/honest.c).

    bench/honest.py --out honest.csv.gz                          solve, tell
    bench/honest.py --program other/bench/honest --out new.csv.gz --before old.csv.gz
    bench/honest.py --read new.csv.gz --before old.csv.gz        tell only

The results are a table, and what changed since another run. A claim is false where the norm that was tested,
computed again from x, is above ten times what it had to fall below. With --before, solves are listed that
converged truly in the older run, and in the newer one do not, or take more iterations. Exit code 1 when a
claim is false.
"""
import argparse
import collections
import concurrent.futures
import csv
import fnmatch
import glob
import gzip
import math
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FIELDS = ["matrix", "rows", "nonzeros", "method", "pc", "side", "norm", "reason", "iterations", "claimed",
          "limit", "computed", "true", "detail"]
KEY = ["matrix", "method", "pc", "side", "norm"]
SLACK = 10


def matrices(folder, only):
    """[(path of A, path of b or None)]"""
    paths = {os.path.basename(p).split(".")[0]: p for p in glob.glob(os.path.join(folder, "*.mtx*"))}
    return [(paths[n], paths.get(n + "_b")) for n in sorted(paths)
            if fnmatch.fnmatch(n, only) and not (n.endswith("_b") and n[:-2] in paths)]


def run(program, A, b, words, timeout):
    """(lines, what went wrong or None)"""
    command = [program, "-A", A] + (["-b", b] if b else []) + words
    one = {**os.environ, "OMP_NUM_THREADS": "1"}  # the same bits; several programs run side by side
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=one, check=False)
    except subprocess.TimeoutExpired as late:
        return (late.stdout or b"").decode().splitlines()[:-1], f"{A}: stopped after {timeout} s"
    return done.stdout.splitlines(), f"{A}: {done.stderr.strip()}" if done.returncode else None


def solve_all(args):
    """The rows of all matrices; what went wrong is printed."""
    lines, failed = [], 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        jobs = [pool.submit(run, args.program, A, b, args.options, args.timeout)
                for A, b in matrices(args.folder, args.only)]
        for job in jobs:
            more, wrong = job.result()
            lines += more
            if wrong:
                failed += 1
                print(wrong, file=sys.stderr)
    whole = [line.split(",") for line in lines if line.count(",") == len(FIELDS) - 1]
    return [dict(zip(FIELDS, cells)) for cells in whole], failed


def opened(path, mode):
    if path.endswith(".gz"):
        return gzip.open(path, mode + "t", newline="")
    return open(path, mode, newline="", encoding="utf-8")


def read(path):
    with opened(path, "r") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def write(path, rows):
    with opened(path, "w") as file:
        out = csv.DictWriter(file, FIELDS, lineterminator="\n")
        out.writeheader()
        out.writerows(rows)


def key(row):
    return tuple(row[k] for k in KEY)


def claims(row):
    return row["reason"].startswith("CONVERGED")


def ratio(row):
    """The norm computed over what it had to fall below."""
    computed, limit = float(row["computed"]), float(row["limit"])
    if not math.isfinite(computed):
        return math.inf
    return computed / limit if limit > 0 else (math.inf if computed > 0 else 0)


def is_true(row):
    return claims(row) and ratio(row) <= SLACK


def words(row):
    return (f"{row['matrix']} {row['method']}+{row['pc']} {row['side']} {row['norm']}: "
            f"{row['reason']} after {row['iterations']}, "
            f"claimed {float(row['claimed']):.2e}, limit {float(row['limit']):.2e}, "
            f"computed {float(row['computed']):.2e}, "
            f"|b - A x| / |b| {float(row['true']):.2e}" + (f" ({row['detail']})" if row["detail"] else ""))


def table(rows):
    """A Markdown table by method."""
    print("| method | solves | refused | converged | above the limit | above 10 times | worst ratio "
          "| true above 1e-2 |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for name in list(dict.fromkeys(r["method"] for r in rows)) + ["all"]:
        of = [r for r in rows if name in (r["method"], "all")]
        yes = [r for r in of if claims(r)]
        worst = max((ratio(r) for r in yes), default=0)
        print(f"| {name} | {len(of)} | {sum(r['reason'] == 'REFUSED' for r in of)} | {len(yes)} | "
              f"{sum(ratio(r) > 1.001 for r in yes)} | {sum(ratio(r) > SLACK for r in yes)} | {worst:.3g} | "
              f"{sum(float(r['true']) > 1e-2 for r in yes)} |")


def tell(rows):
    """Print the table, false claims, and solves of which the library said more than a reason.
    Returns how many claims are false."""
    table(rows)
    false = [r for r in rows if claims(r) and not is_true(r)]
    print(f"\nFalse claims: {len(false)}")
    for row in sorted(false, key=ratio, reverse=True):
        print(f"  {ratio(row):.3g} times: {words(row)}")
    told = [r for r in rows if r["detail"] and r["reason"] != "REFUSED"]
    print(f"\nSolves with a detail: {len(told)}")
    kinds = collections.Counter((r["reason"], "".join("#" if c.isdigit() else c for c in r["detail"]))
                                for r in told)
    for (reason, detail), count in kinds.most_common(20):
        print(f"  {count}: {reason}: {detail}")
    refuted = [r for r in told if "claim" in r["detail"] or "refuted" in r["detail"]]
    print(f"\nRefuted claims: {len(refuted)}")
    for row in refuted:
        print(f"  {words(row)}")
    return len(false)


def compare(before, after):
    """What became of solves that converged truly before, and of claims that were false."""
    old = {key(r): r for r in before}
    pairs = [(old[key(r)], r) for r in after if key(r) in old]
    same = sum(a["reason"] == b["reason"] and a["iterations"] == b["iterations"] for a, b in pairs)
    lost = [(a, b) for a, b in pairs if is_true(a) and not is_true(b)]
    both = [(a, b) for a, b in pairs if is_true(a) and is_true(b)]
    more = [(a, b) for a, b in both if int(b["iterations"]) > int(a["iterations"])]
    fewer = [(a, b) for a, b in both if int(b["iterations"]) < int(a["iterations"])]
    won = [(a, b) for a, b in pairs if not is_true(a) and is_true(b)]
    mended = [(a, b) for a, b in pairs if claims(a) and not is_true(a)]
    other = [(a, b) for a, b in pairs if not claims(a) and not claims(b) and a["reason"] != b["reason"]]
    print(f"\n{len(pairs)} solves compared, {same} of the same reason and count, "
          f"{len(fewer)} true in fewer iterations")
    for title, some in (("true before, not now", lost), ("true before and now, more iterations", more),
                        ("true now, not before", won), ("false before", mended),
                        ("another reason to diverge", other)):
        print(f"\n{title}: {len(some)}")
        for a, b in some:
            print(f"  {a['reason']} {a['iterations']} ({ratio(a):.3g} times the limit) -> {words(b)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=os.path.join(ROOT, "build", "release", "bench", "honest"),
                        help="bench/honest.c")
    parser.add_argument("--folder", default=os.path.join(ROOT, "..", "shared", "matrices"),
                        help="of *.mtx, *.mtx.gz")
    parser.add_argument("--only", default="*", help="names to take, with * and ?")
    parser.add_argument("--out", help="CSV file of all solves (.gz: compressed)")
    parser.add_argument("--read", help="such a file, instead of solving")
    parser.add_argument("--before", help="such a file of an older build, to compare with")
    parser.add_argument("--jobs", type=int, default=2, help="programs at a time")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for one matrix")
    parser.add_argument("options", nargs="*", help="options for the program, after --")
    args = parser.parse_args()
    rows, failed = (read(args.read), 0) if args.read else solve_all(args)
    if args.out:
        write(args.out, rows)
    false = tell(rows)
    if args.before:
        compare(read(args.before), rows)
    return 1 if false or failed or not rows else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""amg on model problems (problems.py), beside the multigrid of PETSc, hypre, ML and PyAMG (solvers.py).

    bench/amg/run.py --cache /tmp/amg --out bench/results/<machine>/amg_peers.csv
    bench/amg/run.py --cache /tmp/amg --out new.csv --solvers poise --before old.csv
    bench/amg/run.py --cache /tmp/amg --out new.csv --solvers poise --poise "-pc_amg_degree 3" --only 'rot*'
    bench/amg/report.py new.csv > new.md

Solvers are "poise" and those of solvers.PEERS, with * and ?. poise is amg with its defaults, and once more
with each --poise. A library that Python cannot import is left out, which is said. cg solves symmetric
systems, gmres and bicgstab the others. Each solve has a process of its own with one thread, and is stopped
after --seconds of CPU. Solves that are short are repeated. The times are CPU seconds of set-up and of solve,
means of the middle half; the residual |b - A x| / |b| is computed again from x.

The file is a table with a line for each solve. Lines that it has are replaced if they are solved again, and
kept otherwise. With --before, what changed since another such file is told. Needed: NumPy and SciPy; for
problems that are not in the cache, scikit-fem and NetworkX.
"""
import argparse
import csv
import datetime
import fnmatch
import multiprocessing
import os
import platform
import resource
import shlex
import signal
import statistics
import subprocess
import sys
import time

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")  # before libraries are loaded
sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(1, os.path.join(ROOT, "python"))

import numpy as np  # noqa: E402
import problems  # noqa: E402
import report  # noqa: E402
import scipy  # noqa: E402
import solvers  # noqa: E402

FIELDS = ["problem", "dimension", "kind", "rows", "nonzeros", "solver", "build", "method", "reason",
          "iterations", "residual", "complexity", "setup", "solve", "repeats"]
KEY = ["problem", "solver", "method"]
ENOUGH, MOST_REPEATS = 0.7, 15  # CPU seconds, and times
PATIENCE = 10  # seconds in which a process that gets somewhere uses some CPU time


def timed(function):
    start = time.process_time()
    result = function()
    return time.process_time() - start, result


def middle(times):
    """The mean of the middle half: some clocks of CPU time have ticks, so medians would be ticks as well."""
    cut = len(times) // 4
    return f"{statistics.mean(sorted(times)[cut:len(times) - cut]):.4f}"


def measure(folder, name, solver, method):
    """A solve, set up and solved until its times are known. What is known after each is yielded."""
    library, options = solver
    p = problems.load(folder, name)
    setup, solve, s, found = [], [], None, {}
    while s is None or (s.converged and len(setup) < MOST_REPEATS and sum(setup + solve) < ENOUGH):
        s = library(p, method, options)
        setup.append(timed(s.set_up)[0])
        seconds, x = timed(s.solve)
        solve.append(seconds)
        if not found:
            residual = np.linalg.norm(p.b - p.A @ x) / np.linalg.norm(p.b)
            found = {"reason": ("" if s.converged else "not ") + "converged: " + s.reason,
                     "iterations": s.iterations, "residual": f"{residual:.2e}", "complexity": s.complexity()}
        yield {**found, "setup": middle(setup), "solve": middle(solve), "repeats": len(setup)}


def child(pipe, seconds, *what):
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 1)  # libraries print
    os.dup2(devnull, 2)
    try:
        for found in measure(*what):
            pipe.send(found)
    except Exception as error:  # whatever a library raises
        pipe.send({"reason": "error: " + " ".join(str(error).split())[:160]})


def cpu_used(process):
    """In user and kernel mode."""
    with open(f"/proc/{process}/stat", encoding="utf-8") as file:
        return file.read().rsplit(")", 1)[1].split()[11:13]


def ended(seconds, *what):
    """What measure says last, or how its process ended. A library may crash when it is set up again."""
    fork = multiprocessing.get_context("fork")
    mine, its = fork.Pipe(False)
    process = fork.Process(target=child, args=(its, seconds, *what))
    process.start()
    its.close()
    found, used = None, None
    try:
        while True:
            if mine.poll(PATIENCE):
                found = mine.recv()
            elif used == (used := cpu_used(process.pid)):
                process.kill()
    except EOFError:
        pass
    process.join()
    word = {-signal.SIGXCPU: f"more than {seconds} s of CPU", -signal.SIGKILL: "hangs"}
    return found or {"reason": word.get(process.exitcode, f"died: exit code {process.exitcode}")}


def wanted(patterns, more):
    """{name: (library, options)} of --solvers and --poise."""
    table = {"poise": (solvers.Poise, "")}
    table.update({f"poise {words}": (solvers.Poise, words) for words in more})
    table.update(solvers.PEERS)
    chosen = {name: what for name, what in table.items()
              if any(fnmatch.fnmatch(name.split(" -")[0], pattern) for pattern in patterns)}
    return chosen


def commit():
    def git(*words):
        return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=False)

    changed = git("diff", "--quiet", "HEAD", "--", "src", "include").returncode
    name = git("rev-parse", "--short=8", "HEAD").stdout.strip() or "not recorded"
    return name + (" and changes" if changed else "")


def builds(chosen, given):
    """What of each library is measured; without those that cannot be loaded, which is said."""
    found = {}
    for library in dict.fromkeys(what[0] for what in chosen.values()):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            try:
                found[library] = pool.apply(library.version)
            except Exception as error:  # whatever an import raises
                print(f"LEFT OUT: {library.__name__}: {error}", file=sys.stderr)
    if solvers.Poise in found:
        found[solvers.Poise] = given or commit()
    return found


def head(rows):
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = next((line.split(": ")[1].strip() for line in file if line.startswith("model name")), "a CPU")
    measured = list(dict.fromkeys(row["build"] for row in rows))
    of_poise = [b for b in dict.fromkeys(row["build"] for row in rows if row["solver"].startswith("poise"))]
    versions = [b for b in measured if b not in of_poise and b] + [f"NumPy {np.__version__}"]
    versions += [f"SciPy {scipy.__version__}", f"Python {platform.python_version()}"]
    return [f"# machine: {os.cpu_count()} processors of {model}, load {os.getloadavg()[1]:.1f}",
            f"# commit: {', '.join(of_poise) or 'none'}", f"# versions: {', '.join(versions)}",
            "# clocks: not recorded", f"# date: {datetime.datetime.now(datetime.timezone.utc):%F}",
            f"# command: bench/amg/run.py {shlex.join(sys.argv[1:])}"]


def key(row):
    return tuple(row[k] for k in KEY)


def write(path, rows):
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write("\n".join(head(rows)) + "\n")
        out = csv.DictWriter(file, FIELDS, lineterminator="\n")
        out.writeheader()
        out.writerows(rows)


def rows_of(args, name, chosen, build):
    about = problems.about(args.cache, name)
    for solver, what in chosen.items():
        for method in solvers.methods(about["kind"]):
            row = dict.fromkeys(FIELDS, "")
            row.update({k: about[k] for k in ("dimension", "kind", "rows", "nonzeros")}, problem=name,
                       solver=solver, build=build[what[0]], method=method)
            row.update(ended(args.seconds, args.cache, name, what, method))
            yield {k: str(v) for k, v in row.items()}


def tell(row):
    cells = " ".join(f"{row[k]:>8}" for k in ("iterations", "setup", "solve", "complexity", "residual"))
    return f"{row['problem']:26} {row['solver']:22} {row['method']:8} {cells} {row['reason'][:60]}"


def change(rows, before):
    """Iterations and CPU seconds before and now."""
    old = {key(row): row for row in before}
    pairs = [(old[key(row)], row) for row in rows if key(row) in old]
    print(f"{'problem':26} {'solver':22} {'method':8} {'iterations':>13} {'complexity':>16} {'CPU s':>17}")
    work, iterations = [], []
    for a, b in pairs:
        its, entries, seconds = (" -> ".join(report.number(r, k) for r in (a, b))
                                 for k in ("iterations", "complexity", "cpu"))
        print(f"{b['problem']:26} {b['solver']:22} {b['method']:8} {its:>13} {entries:>16} {seconds:>17}")
        if report.works(a) and report.works(b):
            work.append(report.cpu(b) / report.cpu(a))
            iterations.append(int(b["iterations"]) / int(a["iterations"]))
    print(f"now over before, geometric means of {len(work)}: CPU {report.mean(work):.3f}, "
          f"iterations {report.mean(iterations):.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", required=True, help="folder of the problems' files")
    parser.add_argument("--out", required=True, help="CSV file")
    parser.add_argument("--only", nargs="+", default=["*"], metavar="NAME", help="problems, with * and ?")
    parser.add_argument("--solvers", nargs="+", default=["*"], metavar="NAME", help="with * and ?")
    parser.add_argument("--poise", action="append", default=[], metavar="OPTIONS", help="of amg, once more")
    parser.add_argument("--library", default=os.path.join(ROOT, "build", "release", "libpoise.so"))
    parser.add_argument("--commit", help="that the library is of; default: as git says")
    parser.add_argument("--seconds", type=int, default=20, help="of CPU, most for a solve and its repeats")
    parser.add_argument("--before", help="such a file, to compare with")
    args = parser.parse_args()
    os.environ["POISE_LIBRARY"] = args.library
    names = [n for n in problems.PROBLEMS if any(fnmatch.fnmatch(n, pattern) for pattern in args.only)]
    chosen = wanted(args.solvers, args.poise)
    if not names or not chosen:
        sys.exit("no problem or no solver of that name")
    problems.ensure(args.cache, names)
    build = builds(chosen, args.commit)
    chosen = {name: what for name, what in chosen.items() if what[0] in build}
    table = {key(row): row for row in report.read(args.out)} if os.path.exists(args.out) else {}
    before = report.read(args.before) if args.before else []
    made = []
    for name in names:
        for row in rows_of(args, name, chosen, build):
            print(tell(row), file=sys.stderr, flush=True)
            table[key(row)] = row
            made.append(row)
        write(args.out, table.values())
    if before:
        change(made, before)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""PETSc's own examples of KSP, with PETSc's solvers and with -ksp_type poise: are the results the same?

    cases.py --plugin libpoise_petsc.so [--examples folder] [--only words] [--some n] [--jobs n]

cases.txt has the cases, one a line: program | name | ranks | arguments, and where the result is not PETSc's
| why. They are those of the examples' own TEST blocks; options that only print or monitor are left out.
"-ksp_type X" becomes "-ksp_type poise -poise_ksp_type X". A case is

  same     the same solves end alike: each converges or not, iterations at most 5 % + 2 above PETSc's, and
           what the program prints agrees: integers within 5 % + 2, reals to three digits, or, if they are
           what a tolerance leaves (below 1e-2), not above ten times PETSc's. An absolute tolerance may stand
           for a relative one: a residual that is 0 to PETSc may be 1e-30 to Poise
  more     as same, but for the number of iterations; or the reason has another name
  differs  something else that is printed is not the same
  refused  Poise has no such method, norm or side, and says so
  fails    it ends with an error where PETSc's run does not
  left out PETSc's own run fails, or does not solve by a KSP that options reach

It is a failure if a case without a reason in the list is not the same.
"""
import argparse
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = "/usr/share/petsc/3.18/share/petsc/examples/src/ksp/ksp"
NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?(?![\w.])")
# of the outer KSP
PREFIX = {"tutorials/ex42": "stokes_", "tutorials/ex43": "stokes_", "tutorials/ex49": "elas_"}
SOLVE = re.compile(r"^\s*(?:Linear|Linear \S+) solve (converged|did not converge) due to (\S+) "
                   r"iterations (\d+)")


def flags(what):
    done = subprocess.run(["pkg-config", what, "PETSc"], check=True, capture_output=True, text=True)
    return done.stdout.split()


def build(source, program):
    command = ["mpicc", "-O1", "-w", "-o", program, source] + flags("--cflags") + flags("--libs")
    command += ["-llapack", "-lblas", "-lm"]
    return subprocess.run(command, capture_output=True).returncode == 0


def run(program, ranks, arguments, folder):
    command = [program] + arguments + ["-ksp_error_if_not_converged", "0", "-options_left"]
    if ranks > 1:
        command = ["mpiexec", "-n", str(ranks)] + command
    environment = dict(os.environ, OMP_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1",
                       OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1",
                       OMPI_MCA_mpi_yield_when_idle="1", OMPI_MCA_hwloc_base_binding_policy="none")
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=100)
        return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    except subprocess.TimeoutExpired:
        return 124, "", "takes more than 100 s"


def with_poise(arguments, plugin, prefix):
    key = "-%sksp_type" % prefix
    words = ["-dll_append", plugin, key, "poise"]
    method = None
    rest = list(arguments)
    while key in rest:
        at = rest.index(key)
        method = rest[at + 1]
        del rest[at:at + 2]
    return rest + words + (["-%spoise_ksp_type" % prefix, method] if method else [])


def split(text):
    """The solves of a run, and the other lines but those of views."""
    solves, lines, view = [], [], False
    for line in text.splitlines():
        view = line.startswith(("KSP Object", "PC Object")) or view and line.startswith(" ")
        if view:
            continue
        found = SOLVE.match(line)
        if found:
            solves.append((found[1] == "converged", found[2], int(found[3])))
        elif line.strip():
            lines.append(line)
    return solves, lines


def near(mine, theirs):
    if mine == theirs:
        return True
    if re.fullmatch(r"[-+]?\d+", mine) and re.fullmatch(r"[-+]?\d+", theirs):
        return abs(int(mine) - int(theirs)) <= 2 + 0.05 * abs(int(theirs))
    a, b = float(mine), float(theirs)
    if abs(a - b) <= 1e-3 * max(abs(a), abs(b)):
        return True
    # what is left of an error or residual, as the tolerance lets it be
    return max(abs(a), abs(b)) < 1e-2 and (a <= 10 * b or a < 1e-7)


def compare(petsc, poise):
    """-> class, words"""
    if petsc[0]:
        return "left out", "PETSc's run ends with %d" % petsc[0]
    if poise[0]:
        words = [w for w in (poise[2] + poise[1]).splitlines() if "ERROR" in w and "---" not in w]
        refused = [w for w in words if re.search("Poise has no method|KSP poise does not support", w)]
        if refused:
            return "refused", refused[0].split("ERROR: ")[1][:120]
        return "fails", (words + words + poise[2].splitlines() + ["", ""])[1 if words else 0][:120]
    text, left = (poise[1].split("#PETSc Option Table entries:") + [""])[:2]
    if "\n-ksp_type poise" in left and re.search(r"Option left: name:-ksp_type value: poise", left):
        return "left out", "its KSP has a prefix, or takes no options"
    left = re.findall(r"Option left: name:(-poise\S*)", left)
    if left:
        return "differs", "unused: " + " ".join(left)
    a, lines_a = split(petsc[1].split("#PETSc Option Table entries:")[0])
    b, lines_b = split(text)
    if not a:
        return "left out", "no solve by KSP reports"
    if len(a) != len(b):
        return "differs", "%d solves, with PETSc %d" % (len(b), len(a))
    words = ""
    for k, (theirs, mine) in enumerate(zip(a, b)):
        if theirs[0] != mine[0]:
            return "differs", "solve %d: %s, with PETSc %s" % (k + 1, mine[1], theirs[1])
        if mine[2] > theirs[2] * 1.05 + 2:
            words = words or "%d iterations, with PETSc %d" % (mine[2], theirs[2])
        elif mine[1] != theirs[1] and {mine[1], theirs[1]} != {"CONVERGED_RTOL", "CONVERGED_ATOL"}:
            words = words or "%s, with PETSc %s" % (mine[1], theirs[1])
    if len(lines_a) != len(lines_b):
        return "differs", "%d lines, with PETSc %d" % (len(lines_b), len(lines_a))
    for theirs, mine in zip(lines_a, lines_b):
        x, y = NUMBER.findall(theirs), NUMBER.findall(mine)
        if NUMBER.sub("#", theirs) != NUMBER.sub("#", mine) or not all(map(near, y, x)):
            return "differs", "'%s', with PETSc '%s'" % (mine.strip()[:60], theirs.strip()[:60])
    return ("more" if words else "same"), words


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--examples", default=EXAMPLES)
    parser.add_argument("--cases", default=os.path.join(HERE, "cases.txt"))
    parser.add_argument("--programs", help="folder of the built programs, which is kept")
    parser.add_argument("--only", default="")
    parser.add_argument("--some", type=int, default=1, help="every n-th case")
    parser.add_argument("--jobs", type=int, default=2)
    o = parser.parse_args()
    if not os.path.isdir(o.examples):
        print("skipped: there is no " + o.examples, file=sys.stderr)
        return 77
    with open(o.cases) as file:
        lines = re.sub(r"\n +", " ", file.read()).splitlines()
    cases = [[w.strip() for w in line.split("|")] for line in lines if line.strip() and line[0] != "#"]
    cases = [c for k, c in enumerate(cases) if k % o.some == 0 and o.only in " ".join(c)]
    scratch = tempfile.mkdtemp()
    programs = o.programs or scratch
    plugin = os.path.abspath(o.plugin)

    def one(case):
        program = os.path.join(programs, case[0].replace("/", "_"))
        if not os.path.exists(program):
            return "left out", "it does not compile"
        prefix = PREFIX.get(case[0], "")
        arguments = case[3].split() + ["-%sksp_converged_reason" % prefix]
        petsc = run(program, int(case[2]), arguments, scratch)
        if petsc[0]:
            return compare(petsc, petsc)
        return compare(petsc, run(program, int(case[2]), with_poise(arguments, plugin, prefix), scratch))

    count, unexpected = {}, 0
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        def make(name):
            program = os.path.join(programs, name.replace("/", "_"))
            if not os.path.exists(program):
                build(os.path.join(o.examples, name + ".c"), program)
        list(pool.map(make, sorted({c[0] for c in cases})))
        for case, (result, words) in zip(cases, pool.map(one, cases)):
            count[result] = count.get(result, 0) + 1
            unexpected += result in ("more", "differs", "fails") and len(case) < 5
            words = ": " + words if words else ""
            print("%-8s  %s %s, %s ranks%s" % (result, case[0], case[1], case[2], words))
            if len(case) > 4 and result != "same":
                print("          " + case[4])
            sys.stdout.flush()
    print("\n%d cases: %s" % (len(cases), ", ".join("%d %s" % (n, w) for w, n in sorted(count.items()))))
    shutil.rmtree(scratch)
    return 1 if unexpected else 0


if __name__ == "__main__":
    sys.exit(main())

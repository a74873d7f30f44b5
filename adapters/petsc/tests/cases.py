#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""PETSc's own examples, with PETSc's solvers and with -ksp_type poise: are the results the same?

    cases.py --plugin libpoise_petsc.so [--petsc folder] [--cases list] [--only words] [--some n] [--jobs n]

The PETSc is that of pkg-config. Its examples are those of Debian's packages, or --petsc names a folder of its
sources.

cases.txt has the cases of KSP, cases_nonlinear.txt those of SNES, TS and TAO, one a line: program | name |
ranks | arguments, and where the result is not PETSc's | why. They are those of the examples' own TEST blocks;
list_cases.py makes the lists. "-x {{a b}}" stands for a run with a and one with b.
"-ksp_type X" becomes "-ksp_type poise -poise_ksp_type X". A run is

  same     the same solves end alike: each converges or not, iterations at most 5 % + 2 above PETSc's, and
           what the program prints agrees: integers within 5 % + 2, reals to three digits, or, if they are
           what a tolerance leaves (below 1e-2), not above ten times PETSc's. An absolute tolerance may stand
           for a relative one: a residual that is 0 to PETSc may be 1e-30 to Poise. Of what monitors show of a
           solve, the iterations that both have are compared
  more     as same, but for the number of iterations; or the reason has another name
  differs  something else that is printed is not the same
  fails    it ends with an error where PETSc's run does not
  left out PETSc's own run fails, or does not solve by a KSP that options reach

A case is what the worst of its runs is; "left out" if all are. Where PETSc's own method does the work, as
-poise_strict tells, its name is printed. It is a failure if a case without a reason in the list is not the
same.
"""
import argparse
import concurrent.futures
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?(?![\w.])")
# of the outer KSP: of all cases of a program, or of one
PREFIX = {"ksp/ksp/tutorials/ex42": "stokes_", "ksp/ksp/tutorials/ex43": "stokes_",
          "ksp/ksp/tutorials/ex49": "elas_", "ksp/ksp/tutorials/ex59": "physical_",
          "ksp/ksp/tutorials/ex70": "stokes_", "snes/tutorials/ex1": "mysolver_",
          "tao/leastsquares/tutorials/chwirut1 1": "pounders_subsolver_tao_bnk_",
          "tao/leastsquares/tutorials/chwirut1 2": "tao_brgn_subsolver_tao_bnk_",
          "tao/leastsquares/tutorials/chwirut2": "pounders_subsolver_tao_bnk_",
          "tao/unconstrained/tutorials/eptorsion1 1": "tao_ntl_",
          "tao/unconstrained/tutorials/eptorsion1 2": "tao_ntr_",
          "tao/unconstrained/tutorials/eptorsion2": "tao_nls_",
          "tao/unconstrained/tutorials/eptorsion3": "tao_bnk_",
          "tao/unconstrained/tutorials/minsurf1": "tao_nls_",
          "tao/unconstrained/tutorials/minsurf2 2": "tao_nls_",
          "tao/unconstrained/tutorials/rosenbrock1": "tao_nls_"}
# -ksp_type that the program itself puts among the options
METHOD = {"snes/tutorials/ex22": "fgmres"}
ORDER = ("left out", "same", "more", "differs", "fails")
OWN = re.compile(r"-\S*poise_strict: PETSc's own (.*?): .*\n")
SOLVE = re.compile(r"^\s*(?:Linear|Linear \S+) solve (converged|did not converge) due to (\S+) "
                   r"iterations (\d+)")
MONITOR = re.compile(r"(\s*)(\d+) KSP ")


def folder_of_packages():
    done = subprocess.run(["pkg-config", "--modversion", "PETSc"], capture_output=True, text=True)
    return "/usr/share/petsc/" + ".".join(done.stdout.strip().split(".")[:2])


def flags(what):
    done = subprocess.run(["pkg-config", what, "PETSc"], check=True, capture_output=True, text=True)
    return done.stdout.split()


def build(source, program):
    libraries = flags("--libs")
    command = ["mpicc", "-O1", "-w", "-o", program, source] + flags("--cflags") + libraries
    command += ["-Wl,-rpath," + word[2:] for word in libraries if word.startswith("-L")]
    command += ["-llapack", "-lblas", "-lm"]
    return subprocess.run(command, capture_output=True).returncode == 0


def run(program, ranks, arguments, folder):
    command = [program] + arguments + ["-ksp_error_if_not_converged", "0", "-options_left"]
    if ranks > 1:
        command = ["mpiexec", "-n", str(ranks)] + command
    environment = dict(os.environ, OMP_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1",
                       OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1",
                       OMPI_MCA_mpi_yield_when_idle="1", OMPI_MCA_hwloc_base_binding_policy="none",
                       OMPI_MCA_btl_vader_single_copy_mechanism="none")
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=100)
        return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    except subprocess.TimeoutExpired:
        return 124, "", "takes more than 100 s"


def with_poise(arguments, plugin, prefix, method=None):
    key = "-%sksp_type" % prefix
    words = ["-dll_append", plugin, key, "poise"]
    rest = list(arguments)
    while key in rest:
        at = rest.index(key)
        method = rest[at + 1]
        del rest[at:at + 2]
    words += ["-%spoise_strict" % prefix, "line"]
    return rest + words + (["-%spoise_ksp_type" % prefix, method] if method else [])


def split(text):
    """The solves of a run, what monitors show of each, by indent, and the other lines but those of views."""
    solves, shown, lines, view = [], {}, [], None
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        if re.match(r"\s*(KSP|PC) Object", line):
            view = indent
        elif view is not None and indent <= view:
            view = None
        if view is not None:
            continue
        found, monitor = SOLVE.match(line), MONITOR.match(line)
        if found:
            solves.append((found[1] == "converged", found[2], int(found[3])))
        elif monitor:
            histories = shown.setdefault(len(monitor[1]) + len(monitor[2]), [])
            if not histories or int(monitor[2]) <= histories[-1][0]:
                histories.append([0])
            histories[-1][0] = int(monitor[2])
            histories[-1].append(line)
        elif line.strip():
            lines.append(line)
    return solves, shown, lines


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


def alike(theirs, mine):
    x, y = NUMBER.findall(theirs), NUMBER.findall(mine)
    return NUMBER.sub("#", theirs) == NUMBER.sub("#", mine) and all(map(near, y, x))


def compare_solves(a, b):
    """-> class, words"""
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
    return ("more" if words else "same"), words


def compare_lines(a, b):
    if len(a) != len(b):
        return "differs", "%d lines, with PETSc %d" % (len(b), len(a))
    for theirs, mine in zip(a, b):
        if not alike(theirs, mine):
            return "differs", "'%s', with PETSc '%s'" % (mine.strip()[:90], theirs.strip()[:90])
    return "same", ""


def compare_monitors(a, b):
    """Histories of solves, by indent; each begins with its last iteration."""
    if sorted(a) != sorted(b):
        return "differs", "other monitors"
    for indent in a:
        if len(a[indent]) != len(b[indent]):
            return "differs", "%d monitored solves, with PETSc %d" % (len(b[indent]), len(a[indent]))
        for theirs, mine in zip(a[indent], b[indent]):
            if mine[0] > theirs[0] * 1.05 + 2:
                return "more", "%d iterations, with PETSc %d" % (mine[0], theirs[0])
            both = min(len(theirs), len(mine))
            found = compare_lines(theirs[1:both], mine[1:both])
            if found[1]:
                return found
    return "same", ""


def compare(petsc, poise):
    """-> class, words"""
    if petsc[0]:
        return "left out", "PETSc's run ends with %d" % petsc[0]
    if poise[0]:
        words = [w for w in (poise[2] + poise[1]).splitlines() if "ERROR" in w and "---" not in w]
        return "fails", (words + words + poise[2].splitlines() + ["", ""])[1 if words else 0][:120]
    text, left = (poise[1].split("#PETSc Option Table entries:") + [""])[:2]
    if re.search(r"Option left: name:-\S*ksp_type value: poise", left):
        return "left out", "its KSP has a prefix, or takes no options"
    left = re.findall(r"Option left: name:(-\S*poise\S*)", left)
    if left:
        return "differs", "unused: " + " ".join(left)
    a = split(petsc[1].split("#PETSc Option Table entries:")[0])
    b = split(OWN.sub("", text))
    if not a[0]:
        return "left out", "no solve by KSP reports"
    found = [compare_solves(a[0], b[0]), compare_monitors(a[1], b[1]), compare_lines(a[2], b[2])]
    return max(found, key=lambda f: ORDER.index(f[0]))


def runs_of(case, petsc):
    """(ranks, arguments) of each run: {{a b}} is one with a and one with b."""
    parts = re.split(r"\{\{(.*?)\}\}", case[2] + " " + case[3].replace("${wPETSC_DIR}", petsc))
    for values in itertools.product(*(part.split() for part in parts[1::2])):
        words = "".join(a + b for a, b in itertools.zip_longest(parts[::2], values, fillvalue="")).split()
        yield int(words[0]), words[1:]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--petsc", default=folder_of_packages())
    parser.add_argument("--cases", default=os.path.join(HERE, "cases.txt"))
    parser.add_argument("--programs", help="folder of the built programs, which is kept")
    parser.add_argument("--only", default="")
    parser.add_argument("--some", type=int, default=1, help="every n-th case")
    parser.add_argument("--jobs", type=int, default=2)
    o = parser.parse_args()
    examples = os.path.join(o.petsc, "share/petsc/examples/src")
    if not os.path.isdir(examples):
        examples = os.path.join(o.petsc, "src")
    if not os.path.isdir(examples):
        print("skipped: there is no " + examples, file=sys.stderr)
        return 77
    with open(o.cases) as file:
        lines = re.sub(r"\n +", " ", file.read()).splitlines()
    cases = [[w.strip() for w in line.split("|")] for line in lines if line.strip() and line[0] != "#"]
    cases = [c for k, c in enumerate(cases) if k % o.some == 0 and o.only in " ".join(c)]
    scratch = tempfile.mkdtemp()
    programs = o.programs or scratch
    plugin = os.path.abspath(o.plugin)

    def one_run(case, ranks, arguments):
        """-> class, words, what PETSc's own methods do"""
        program = os.path.join(programs, case[0].replace("/", "_"))
        prefix = PREFIX.get(" ".join(case[:2]), PREFIX.get(case[0], ""))
        arguments = arguments + ["-%sksp_converged_reason" % prefix]
        petsc = run(program, ranks, arguments, scratch)
        if petsc[0]:
            return compare(petsc, petsc) + ([],)
        poise = run(program, ranks, with_poise(arguments, plugin, prefix, METHOD.get(case[0])), scratch)
        return compare(petsc, poise) + (OWN.findall(poise[1]),)

    def one(case):
        """-> number of runs, class of the worst, words, what PETSc's own methods do"""
        if not os.path.exists(os.path.join(programs, case[0].replace("/", "_"))):
            return 0, "left out", "it does not compile", []
        runs = list(runs_of(case, o.petsc))
        found = [one_run(case, *r) for r in runs]
        worst, words = max(found, key=lambda f: ORDER.index(f[0]))[:2]
        bad = [r for r, f in zip(runs, found) if f[0] == worst]
        if len(runs) > 1 and words:
            words = "%d of %d runs, first of %d ranks, %s: %s" % (len(bad), len(runs), bad[0][0],
                                                                  " ".join(bad[0][1]), words)
        return len(runs), worst, words, sorted({w for f in found for w in f[2]})

    count, unexpected, all_runs, by_petsc = {}, 0, 0, 0
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        def make(name):
            program = os.path.join(programs, name.replace("/", "_"))
            if not os.path.exists(program):
                build(os.path.join(examples, name + ".c"), program)
        list(pool.map(make, sorted({c[0] for c in cases})))
        for case, (runs, result, words, own) in zip(cases, pool.map(one, cases)):
            all_runs += runs
            count[result] = count.get(result, 0) + 1
            by_petsc += result == "same" and any(w.startswith("method") for w in own)
            unexpected += result in ("more", "differs", "fails") and len(case) < 5
            words = ": " + words if words else ""
            words += ", PETSc's own " + ", ".join(own) if own else ""
            print("%-8s  %s %s, %s ranks%s" % (result, case[0], case[1], case[2], words))
            if len(case) > 4 and result != "same":
                print("          " + case[4])
            sys.stdout.flush()
    counts = ", ".join("%d %s" % (n, w) for w, n in sorted(count.items()))
    print("\n%d cases of %d programs, %d runs: %s. Of the same, %d by a method of PETSc's own"
          % (len(cases), len({c[0] for c in cases}), all_runs, counts, by_petsc))
    shutil.rmtree(scratch)
    return 1 if unexpected else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Plant single bugs in a copy of the sources and tell which of them no test sees.

    scripts/mutate.sh --seed 1 --count 20
    scripts/mutate.sh --tests '^api' --count 50 --builds 4

The bugs are drawn from KINDS, each kind's among all lines of src/**/*.[ch] that have room for one. What does
not compile, or compiles to the same code, is drawn again. So is what tests/support/mutants_equivalent.txt
says changes nothing. With --builds 8 eight bugs are judged at a time, each in a copy of its own. The copies,
their builds and the logs of their last failures lie in build/mutate; the tree itself is only read.

Tests run by their times without a bug, shortest first, and end at the first failure. One that takes ten times
as long hangs, which is a failure. Exit code: 0 when all bugs were seen, 1 when some survive, 2 when nothing
could be said.
"""
import argparse
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WORK = os.path.join(ROOT, "build", "mutate")
EQUIVALENT = os.path.join("tests", "support", "mutants_equivalent.txt")
REFUSED = "-Werror=return-type -Werror=incompatible-pointer-types -Werror=int-conversion -Werror=conversion"
CONFIGURE = ["-D", "CMAKE_BUILD_TYPE=Release", "-D", "CMAKE_C_FLAGS_RELEASE=-O1 " + REFUSED, "-D",
             "POISE_EXAMPLES=OFF", "-D", "POISE_BENCH=OFF", "-D", "POISE_TEST_RANKS=3", "-D",
             "POISE_TEST_THREADS=1;4"]
SUITES = r"\.(threads|np[0-9]+)$|^fuzz\.|^large\.|^mpi_exit"

OPERAND = r"(?<![\w.>\])*&-])[A-Za-z_]\w*(?:(?:->|\.)\w+|\[[^\[\]]*\])*(?![\w(\[.-])"
WAIT = r"(?:poiseDeviceSync|WaitFor|Barrier|PoiseBarrier|Await|[\w>.-]*ops->sync)\([^;]*?\)(?=\)?;)"
STATEMENT = r"(?<=^)(\s+)(?!return\b|case\b|default\b|typedef\b|extern\b)[^\s{}][^{}]*;$"


def swap(match):
    return match.group("b") + match.group("between") + match.group("a")


# (name, how often it is drawn, what it looks for, what it puts there). One bug is one match.
EDGE = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
SIGN = {"+": "-", "-": "+"}
KINDS = [
    ("comparison", 2, r" (<=?|>=?) ", lambda m: f" {EDGE[m.group(1)]} "),
    ("sign", 2, r"(?<=[\w)\]]) ([+-])(=?) (?=[\w(*&-])", lambda m: f" {SIGN[m.group(1)]}{m.group(2)} "),
    ("statement", 3, STATEMENT, lambda m: m.group(1) + ";"),
    ("wait", 1, WAIT, lambda m: "POISE_OK"),
    ("integer", 1, r"\b(int64_t|PoiseInt|size_t)\b(?= \w| ?\*?\)|\))", lambda m: "int32_t"),
    ("operands", 1, f"(?P<a>{OPERAND})(?P<between> (?:-|/|<|>|<=|>=) )(?P<b>{OPERAND})", swap),
    ("arguments", 1, rf"(?<=[(,])(?P<s> ?)(?P<a>{OPERAND})(?P<between>, )(?P<b>{OPERAND})(?=[,)])",
     lambda m: m.group("s") + swap(m)),
]


def run(command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", **more)


# ---- the copy ----------------------------------------------------------------------------------------------


def files_of_tree():
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = run(command, cwd=ROOT).stdout.split("\n")
    return [n for n in names if n and os.path.isfile(os.path.join(ROOT, n))]


def read(name):
    with open(name, encoding="utf-8") as f:
        return f.read()


def write(name, text):
    with open(name, "w", encoding="utf-8") as f:
        f.write(text)


def same(a, b):
    if not os.path.exists(b):
        return False
    with open(a, "rb") as f, open(b, "rb") as g:
        return f.read() == g.read()


class Copy:
    """A copy of the sources, with its build and the tests in it."""

    def __init__(self, number, jobs):
        self.folder = os.path.join(WORK, str(number))
        self.tree, self.build = os.path.join(self.folder, "tree"), os.path.join(self.folder, "build")
        self.jobs, self.tests, self.clean = jobs, [], None

    def path(self, name):
        return os.path.join(self.tree, name)

    def refresh(self):
        """Make the copy as the tree is; what has not changed keeps its time, so that little is built."""
        names = set(files_of_tree())
        for name in names:
            source, target = os.path.join(ROOT, name), self.path(name)
            if not same(source, target):
                os.makedirs(os.path.dirname(target), exist_ok=True)
                shutil.copy(source, target)
        for folder, _, found in os.walk(self.tree):
            for name in found:
                path = os.path.join(folder, name)
                if os.path.relpath(path, self.tree) not in names:
                    os.remove(path)

    def make(self):
        return run(["nice", "cmake", "--build", self.build, "-j", str(self.jobs)])

    def prepare(self):
        """None, or what the build printed when it failed."""
        self.refresh()
        made = os.path.exists(os.path.join(self.build, "CMakeCache.txt"))
        generator = ["-G", "Ninja"] if shutil.which("ninja") and not made else []
        configured = run(["cmake", "-S", self.tree, "-B", self.build] + generator + CONFIGURE)
        for result in (configured, self.make()):
            if result.returncode:
                return result.stdout[-4000:]
        self.clean = self.code()
        return None

    def code(self):
        with open(os.path.join(self.build, "tests", "libpoise_internal.a"), "rb") as f:
            return hashlib.sha256(f.read()).hexdigest()

    def find_tests(self, pattern):
        answer = run(["ctest", "--test-dir", self.build, "--show-only=json-v1"]).stdout
        tests = json.loads(answer[answer.index("{"):])["tests"]
        self.tests = [Case(t, self) for t in tests if re.search(pattern, t["name"]) and not is_fixture(t)]

    def hash(self):
        digest = hashlib.sha256()
        for folder, folders, names in os.walk(self.tree):
            folders.sort()
            for name in sorted(names):
                with open(os.path.join(folder, name), "rb") as f:
                    digest.update(os.path.join(folder, name).encode() + f.read())
        return digest.hexdigest()


# ---- drawing -----------------------------------------------------------------------------------------------


def blank(text):
    """The same text with spaces for comments, strings and directives."""
    def spaces(match):
        return re.sub(r"[^\n]", " ", match.group())
    comment, word, letter = r"/\*.*?\*/|//[^\n]*", r'"(?:\\.|[^"\\\n])*"', r"'(?:\\.|[^'\\\n])+'"
    directive = r"^#(?:[^\n]*\\\n)*[^\n]*"
    return re.sub("|".join((comment, word, letter, directive)), spaces, text, flags=re.S | re.M)


def ends_statement(code, i):
    """Is line i the beginning of a statement, or what a condition before it does?"""
    while i and not code[i - 1].strip():
        i -= 1
    before = code[i - 1].rstrip() if i else ""
    return re.search(r"[;{}:]$|\belse$", before) or re.search(r"^\s*(\} else )?(if|for|while) .*\)$", before)


def mutants_of(kind, name):
    """All mutants (file, line, text before, text after) of a kind in a file, by line."""
    _, _, pattern, change = kind
    lines = read(os.path.join(ROOT, name)).split("\n")
    code = blank("\n".join(lines)).split("\n")
    found = []
    for i, line in enumerate(code):
        line = line.rstrip()
        if kind[0] == "statement" and not ends_statement(code, i):
            continue
        here = []
        for match in re.finditer(pattern, line):
            if "a" in match.groupdict() and match.group("a") == match.group("b"):
                continue
            end = len(lines[i]) if kind[0] == "statement" else match.end()
            here.append((name, i, lines[i], lines[i][:match.start()] + change(match) + lines[i][end:]))
        if here:
            found.append(here)
    return found


def candidates():
    names = sorted(n for n in files_of_tree() if re.match(r"src/(?!cuda/)[\w/]+\.[ch]$", n))
    return {kind[0]: [line for name in names for line in mutants_of(kind, name)] for kind in KINDS}


def draw(seed):
    """Mutants without end, or until there are none; the same ones for the same seed and sources."""
    dice, found = random.Random(seed), candidates()
    names, weights = [k[0] for k in KINDS], [k[1] for k in KINDS]
    while any(found.values()):
        kind = dice.choices(names, weights)[0]
        if found[kind]:
            line = found[kind].pop(dice.randrange(len(found[kind])))
            yield (kind,) + line[dice.randrange(len(line))]


def equivalent():
    """{(file, line before, line after)} of the list."""
    path = os.path.join(ROOT, EQUIVALENT)
    blocks = re.findall(r"^(\S+)\n- (.*)\n\+ (.*)\n", read(path), flags=re.M) if os.path.exists(path) else []
    return {(name, before.strip(), after.strip()) for name, before, after in blocks}


# ---- building and testing ----------------------------------------------------------------------------------


class Case:
    """A test of CTest: what it runs and how long it took without a bug."""

    def __init__(self, test, copy):
        more = {p["name"]: p["value"] for p in test.get("properties", [])}
        self.name = test["name"]
        if "FIXTURES_REQUIRED" in more:  # CTest knows what to run before it: once at a time
            lock, name = os.path.join(copy.folder, "lock"), f"^{re.escape(self.name)}$"
            self.command = ["flock", lock, "ctest", "--test-dir", copy.build, "-R", name]
        else:
            self.command = test["command"]
        self.folder = more.get("WORKING_DIRECTORY", copy.build)
        self.environment = dict(os.environ, **dict(e.split("=", 1) for e in more.get("ENVIRONMENT", [])))
        self.ranks = int(more.get("PROCESSORS", 1))
        self.seconds, self.process = None, None

    def run(self, limit):
        """Zero or 77 is good; what it printed is in self.output."""
        began = time.monotonic()
        self.process = subprocess.Popen(self.command, cwd=self.folder, env=self.environment,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            output, _ = self.process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            self.stop()
            output, _ = self.process.communicate()
            output += b"\nhangs\n"
        self.output = output.decode(errors="replace")
        if self.seconds is None:
            self.seconds = time.monotonic() - began
        return self.process.returncode in (0, 77)

    def stop(self):
        """mpiexec ends its ranks when it is asked to; who does not hear is killed."""
        if self.process and self.process.poll() is None:
            self.signal(signal.SIGTERM)
            threading.Timer(3, self.signal, [signal.SIGKILL]).start()

    def signal(self, number):
        if self.process.poll() is None:
            os.killpg(self.process.pid, number)


def is_fixture(test):
    """Something that CTest runs for others."""
    return any(p["name"] == "FIXTURES_SETUP" for p in test.get("properties", []))


def first_failure(tests, jobs):
    """The test that fails first, or None; it ends the others."""
    failed = []

    def one(case):
        if not failed and not case.run(10 + 10 * case.seconds) and not failed:
            failed.append(case)
            for other in tests:
                other.stop()

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, tests))
    return failed[0] if failed else None


def baseline(copies, pattern, jobs):
    """Give the copies the tests that pass without a bug, shortest first. Times are kept for more runs."""
    first = copies[0]
    path, tree = os.path.join(WORK, "times.json"), first.hash()
    kept = json.loads(read(path)) if os.path.exists(path) else {}
    times = kept["seconds"] if kept.get("tree") == tree else {}
    for copy in copies:
        copy.find_tests(pattern)
    with ThreadPoolExecutor(jobs) as pool:
        good = list(pool.map(lambda case: case.name in times or case.run(900), first.tests))
    for case, passed in zip(first.tests, good):
        if passed:
            times.setdefault(case.name, case.seconds)
        else:
            print(f"{case.name} fails without a bug and is left out:\n{case.output[-2000:]}")
    write(path, json.dumps({"tree": tree, "seconds": times}))
    for copy in copies:
        copy.tests = sorted((c for c in copy.tests if c.name in times), key=lambda c: times[c.name])
        for case in copy.tests:
            case.seconds = times[case.name]


def judge(mutant, copy):
    """'same', 'refused', the name of the test that sees it, or None."""
    _, name, i, _, after = mutant
    whole = read(copy.path(name))
    lines = whole.split("\n")
    lines[i] = after
    write(copy.path(name), "\n".join(lines))
    try:
        if copy.make().returncode:
            return "refused"
        if copy.code() == copy.clean:
            return "same"
        case = first_failure(copy.tests, copy.jobs)
        if case:
            write(os.path.join(copy.folder, "last.log"), case.output)
        return case and case.name
    finally:
        write(copy.path(name), whole)


class Tally:
    """Gives out drawn bugs until enough are judged or being judged; counts those that tests saw."""

    def __init__(self, seed, wanted):
        self.lock, self.known, self.wanted = threading.Lock(), equivalent(), wanted
        self.drawn = (m for m in draw(seed) if (m[1], m[3].strip(), m[4].strip()) not in self.known)
        self.open, self.done, self.killed = 0, 0, 0

    def next(self):
        with self.lock:
            if self.done + self.open >= self.wanted:
                return None
            mutant = next(self.drawn, None)
            self.open += mutant is not None
            return mutant

    def tell(self, mutant, seen):
        kind, name, i, before, after = mutant
        with self.lock:
            self.open -= 1
            if seen in ("same", "refused"):
                return
            self.done += 1
            self.killed += seen is not None
            said = f"seen by {seen}" if seen else f"SURVIVES\n  - {before.strip()}\n  + {after.strip()}"
            print(f"{self.done} {name}:{i + 1} {kind}: {said}", flush=True)


def work(copy, tally):
    while (mutant := tally.next()) is not None:
        tally.tell(mutant, judge(mutant, copy))
    copy.make()


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--seed", type=int, default=1, help="of the drawing (1)")
    words.add_argument("--count", type=int, default=20, help="bugs that are planted (20)")
    words.add_argument("--tests", default=SUITES, help="regular expression of CTest's names (all suites)")
    words.add_argument("--jobs", type=int, default=os.cpu_count(), help="compilers, tests at a time, in all")
    words.add_argument("--builds", type=int, default=1, help="bugs that are judged at a time (1)")
    given = words.parse_args()
    copies = [Copy(k, max(given.jobs // given.builds, 1)) for k in range(given.builds)]
    with ThreadPoolExecutor(given.builds) as pool:
        for failure in pool.map(Copy.prepare, copies):
            if failure:
                print(failure)
                return 2
        baseline(copies, given.tests, given.jobs)
        tests = copies[0].tests
        if not tests:
            print(f"no test that passes has a name like {given.tests}")
            return 2
        seconds = sum(c.seconds for c in tests)
        print(f"seed {given.seed}, {len(tests)} tests, {seconds:.0f} s without a bug", flush=True)
        tally = Tally(given.seed, given.count)
        list(pool.map(lambda copy: work(copy, tally), copies))
    print(f"killed {tally.killed} of {tally.done}")
    return 1 if tally.killed < tally.done else 0


if __name__ == "__main__":
    sys.exit(main())

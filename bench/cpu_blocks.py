#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sparse matrix-vector products (SpMV) by blocks on CPUs, from bench/cpu_blocks.

The matrices have blocks of all sizes, are of elasticity, or are as in Table IV of Eberhardt & Hoemmen 2016.
The file of results has the machine, tables, and every line that was printed. The tables compare with others,
with our CSR (Figure 6 of the paper), sizes of blocks of GT01R (Figure 9), and numbers of cores (Figure 10).

    bench/cpu_blocks.py [--build build/release] [--bytes 9e8] [--folder matrices with GT01R.mtx.gz]
                        [--cores "1 2"] [--out build/blocks.txt] [--budget 3600]
                        [--only "cube.3 elasticity GT01R.*"] [--add]

PETSc takes part where the build has it (cmake -D POISE_PETSC=ON), with ranks for threads. Each case has a
process of its own for each number of cores, with threads and with ranks. A thread is bound to a core, the
first cores of the first socket first. Where cores have several hardware threads, cases whose name ends in
.smt have a thread on each of them.

--add keeps the lines that the file has already, except those of cases that are measured again with less
disturbance by others.
--disturbed measures only cases that were disturbed or are missing; repeat it while others use the machine.
--wait 3600 waits so many seconds in all for others to leave the machine alone."""
import argparse
import datetime
import fnmatch
import glob
import os
import re
import shutil
import subprocess
import sys
import time

from cpu import output

TABLE_IV = {"GT01R": 5, "raefsky4": 3, "bmw7st_1": 6, "pwtk": 6, "RM07R": 7, "audikw_1": 3}
LINE = re.compile(r"(\S+)\s+(\d+) x (\d+) (.*?)\s+ms\s+([0-9.]+) \(min ([0-9.]+)\) \| \S+ bytes (\S+) "
                  r"GB/s\s+([0-9.]+).*?of read ([0-9.]+).*"
                  r"turns (\d+), dropped (\d+), taken ([0-9.]+) \| read ([0-9.]+)")
SMT = ".smt"


def cores():
    """The hardware threads of each core that this process may use, socket by socket."""
    allowed, found = os.sched_getaffinity(0), {}
    for path in glob.glob("/sys/devices/system/cpu/cpu[0-9]*/topology"):
        thread = int(re.search(r"cpu(\d+)/topology", path)[1])
        if thread in allowed:
            words = [open(os.path.join(path, name)).read() for name in ("physical_package_id", "core_id")]
            found.setdefault(tuple(map(int, words)), []).append(thread)
    return [sorted(found[key]) for key in sorted(found)] or [[thread] for thread in sorted(allowed)]


def cases(arguments):
    """Name, options, and on how many cores."""
    most = arguments.cores[-1:]
    for size in range(1, 33):
        yield f"cube.{size}", ["-matrix", "cube", "-block", str(size)], arguments.cores
    yield "elasticity", ["-matrix", "elasticity"], arguments.cores
    if arguments.folder:
        for size in range(2, 33):
            yield (f"GT01R.{size}",
                   ["-matrix", os.path.join(arguments.folder, "GT01R.mtx.gz"), "-block", str(size)],
                   arguments.cores if size == TABLE_IV["GT01R"] else most)
    for name in TABLE_IV:
        if name != "GT01R":
            yield name, ["-matrix", name], arguments.cores


def ways(arguments, machine):
    """Of each case: name, options, ranks, and the hardware threads of each."""
    for name, options, counts in cases(arguments):
        for count in counts:
            yield name, options, 1, [core[0] for core in machine[:count]]
            if len(machine[0]) > 1:
                yield name + SMT, options, 1, [thread for core in machine[:count] for thread in core]
            if count > 1 and not name.startswith("GT01R") and shutil.which("mpiexec"):
                yield name, options, count, []


def taken():
    """Share of the processors that is in use while this sleeps."""
    def look():
        with open("/proc/stat") as file:
            return [float(field) for field in file.readline().split()[1:9]]

    before = look()
    time.sleep(1)
    passed = [b - a for a, b in zip(before, look())]
    return 1 - (passed[3] + passed[4]) / sum(passed)


def run(arguments, options, ranks, threads):
    binary = os.path.join(arguments.build, "bench", "cpu_blocks")
    env = dict(os.environ, OMP_NUM_THREADS=str(len(threads) or 1))
    launch = []
    if ranks > 1:
        env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        launch = ["mpiexec", "-n", str(ranks), "--bind-to", "core"]
    else:
        env.update(OMP_PROC_BIND="true", OMP_PLACES=",".join(f"{{{thread}}}" for thread in threads))
    command = launch + [binary, "-bytes", str(arguments.bytes), "-repeats", str(arguments.repeats),
                        "-sample", str(arguments.sample), "-patience", str(arguments.patience)] + options
    result = subprocess.run(command, env=env, capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{result.stderr}")
    return result.stdout.splitlines()


LEAST_TAKEN = 0.05  # by others, of the processors: a disturbance


class Results:
    """Lines by case, ranks, threads and contender."""

    def __init__(self):
        self.lines, self.found = [], {}

    def add(self, line):
        match = LINE.match(line)
        if not match:
            return
        name, ranks, threads, who, *numbers = match.groups()
        key = (name, int(ranks), int(threads), re.sub(r" [0-9.]+", "", who))
        keys = ("ms", "least", "bytes", "gbs", "of_read", "turns", "dropped", "taken", "read")
        taken = float(numbers[keys.index("taken")])
        if key in self.found:
            if self.found[key]["taken"] < taken and taken > LEAST_TAKEN:
                return
            self.lines.remove(self.found[key]["line"])
        self.found[key] = dict(zip(keys, map(float, numbers)), line=line)
        self.lines.append(line)

    def get(self, name, how, who, what):
        found = self.found.get((name, *how, who))
        return found[what] if found else None

    def disturbed(self, name, how):
        taken = self.get(name, how, "poise bcsr", "taken")
        return taken is None or taken > LEAST_TAKEN

    def names(self):
        return list(dict.fromkeys(key[0] for key in self.found))

    def threads(self):
        return sorted({key[2] for key in self.found if key[1] == 1})

    def most(self):
        """One thread for each core, and as many ranks."""
        count = max((key[2] for key in self.found if not key[0].endswith(SMT)), default=1)
        return (1, count), (count, 1)


def cell(value, form="8.2f"):
    return f"{'-':>8s}" if value is None else f"{value:{form}}"


def ratio(a, b):
    return None if a is None or b is None else a / b


def order(name):
    size = re.fullmatch(r"(cube|GT01R)\.(\d+)(\.smt)?", name)
    return (0 if size[1] == "cube" else 2, int(size[2])) if size else (1 if name == "elasticity" else 3, 0)


def tables(results):
    every = sorted(results.names(), key=order)
    names = [name for name in every if not name.endswith(SMT)]
    get = results.get
    one, (threads, ranks) = (1, 1), results.most()
    yield "Beside others: ms of a product, median; t: threads, r: ranks of one thread each"
    columns = [(who, how) for who in ("poise csr", "poise bcsr", "Eigen") for how in (one, threads)]
    columns += [(who, how) for who in ("poise bcsr", "PETSc baij", "PETSc aij") for how in (one, ranks)
                if (who, how) != ("poise bcsr", one)]
    label = {one: "1", threads: f"{threads[1]} t", ranks: f"{ranks[0]} r"}
    t, r = f"bcsr {label[threads]}", f"bcsr {label[ranks]}"
    yield (f"{'':12s}" + "".join(f"{who.replace('poise ', ''):>11s}" for who, _ in columns) +
           f"{t:>10s}{'csr /':>10s}{'baij /':>10s}{'Eigen /':>10s}")
    yield (f"{'':12s}" + "".join(f"{label[how]:>11s}" for _, how in columns) +
           f"{'of read':>10s}{t:>10s}{r:>10s}{t:>10s}")
    for name in names:
        if get(name, threads, "poise bcsr", "ms") is None or get(name, one, "poise bcsr", "ms") is None:
            continue
        cells = [cell(get(name, how, who, "ms"), "8.3f") for who, how in columns]
        ours, ranked = get(name, threads, "poise bcsr", "ms"), get(name, ranks, "poise bcsr", "ms")
        ends = [get(name, threads, "poise bcsr", "of_read"),
                ratio(get(name, threads, "poise csr", "ms"), ours),
                ratio(get(name, ranks, "PETSc baij", "ms"), ranked),
                ratio(get(name, threads, "Eigen", "ms"), ours)]
        yield f"{name:12s}" + "".join(f"{c:>11s}" for c in cells) + "".join(f"{cell(e):>10s}" for e in ends)
    yield ""
    yield f"Figure 6 (of GT01R: 9): bcsr against our csr, {threads[1]} threads; GB/s of each format's bytes"
    yield (f"{'':12s}{'csr ms':>10s}{'bcsr ms':>10s}{'csr / bcsr':>12s}{'csr GB/s':>10s}{'bcsr GB/s':>10s}"
           f"{'read GB/s':>10s}{'csr of read':>12s}{'bcsr of read':>13s}")
    for name in names:
        row = [get(name, threads, who, what) for what in ("ms", "gbs", "of_read")
               for who in ("poise csr", "poise bcsr")]
        read = get(name, threads, "poise bcsr", "read")
        if row[1] is not None:
            yield (f"{name:12s}{cell(row[0], '8.3f'):>10s}{cell(row[1], '8.3f'):>10s}"
                   f"{cell(ratio(row[0], row[1])):>12s}{cell(row[2]):>10s}"
                   f"{cell(row[3]):>10s}{cell(read):>10s}{cell(row[4]):>12s}{cell(row[5]):>13s}")
    yield ""
    yield "Figure 10: bcsr over threads"
    for words, what in (("GB/s", "gbs"), ("of what as many threads read", "of_read"),
                        ("time of one over this", "ms"), ("what these read over what one does", "read")):
        yield words
        yield f"{'threads':12s}" + "".join(f"{count:>9d}" for count in results.threads())
        for name in every:
            values = [get(name, (1, count), "poise bcsr", what) for count in results.threads()]
            if sum(value is not None for value in values) < (1 if name.endswith(SMT) else 2):
                continue
            first = get(name.replace(SMT, ""), one, "poise bcsr", what)
            if what == "ms":
                values = [ratio(first, value) for value in values]
            if what == "read":
                values = [ratio(value, first) for value in values]
            yield f"{name:12s}" + "".join(f"{cell(value):>9s}" for value in values)
    for words, who, ranked in (("time of Eigen's CSR over this, threads", "Eigen", False),
                               ("time of BAIJ over this, ranks", "PETSc baij", True)):
        yield words
        for name in names:
            hows = [(count, 1) if ranked else (1, count) for count in results.threads()]
            values = [ratio(get(name, how, who, "ms"), get(name, how, "poise bcsr", "ms")) for how in hows]
            if any(value is not None for value in values):
                yield f"{name:12s}" + "".join(f"{cell(value):>9s}" for value in values)


def head(commit):
    model = re.search(r"Model name:\s*(.*)", output("lscpu"))
    name, machine = model[1] if model else "unknown CPU", cores()
    commit = commit or output("git", "rev-parse", "--short", "HEAD") or "not recorded"
    return "\n".join([f"# machine: {name}, {len(machine)} cores with {len(machine[0])} threads each, "
                      f"{output('uname', '-sr')}, load {os.getloadavg()[0]:.1f}",
                      f"# commit: {commit}",
                      f"# versions: {output('cc', '--version').partition(chr(10))[0]}",
                      "# clocks: not recorded",
                      f"# date: {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}",
                      f"# command: {' '.join(sys.argv)}"])


def write(path, results, begin):
    busy = sorted({f"{key[0]} ({key[1]} x {key[2]})" for key, found in results.found.items()
                   if found["taken"] > LEAST_TAKEN})
    with open(path + ".tmp", "w") as file:
        file.write(begin + "\n\n" + "\n".join(tables(results)) + "\n\n")
        file.write("Disturbed: others took more than 5 % of the processors in turns that count: " +
                   (", ".join(busy) or "none") + "\n\n")
        file.write("\n".join(results.lines) + "\n")
    os.replace(path + ".tmp", path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--bytes", type=float, default=9e8)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--sample", type=float, default=0.04)
    parser.add_argument("--patience", type=float, default=60)
    parser.add_argument("--cores", default="1 2", help="numbers of them")
    parser.add_argument("--folder", default="")
    parser.add_argument("--only", default="", help="names, and patterns such as GT01R.*")
    parser.add_argument("--how", default="", help="such as 1x2: ranks x threads")
    parser.add_argument("--wait", type=float, default=0)
    parser.add_argument("--budget", type=float, default=1e9, help="seconds; no case is begun after them")
    parser.add_argument("--commit", default="", help="of what was built (as git says)")
    parser.add_argument("--add", action="store_true")
    parser.add_argument("--disturbed", action="store_true")
    parser.add_argument("--out", default="build/blocks.txt")
    arguments = parser.parse_args()
    machine, begin = cores(), head(arguments.commit)
    arguments.cores = [int(word) for word in arguments.cores.split() if int(word) <= len(machine)]
    if not arguments.cores:
        parser.error(f"--cores: this machine has {len(machine)}")
    results = Results()
    if arguments.add and os.path.exists(arguments.out):
        with open(arguments.out) as file:
            for line in file.read().splitlines():
                results.add(line)
    start = time.time()
    for name, options, ranks, threads in ways(arguments, machine):
        count = len(threads) or 1
        if arguments.only and not any(fnmatch.fnmatch(name, word) for word in arguments.only.split()):
            continue
        if arguments.how and f"{ranks}x{count}" not in arguments.how.split():
            continue
        if arguments.disturbed and not results.disturbed(name, (ranks, count)):
            continue
        if time.time() > start + arguments.budget:
            print(f"not begun: {name}, {ranks} x {count}")
            continue
        while time.time() < start + arguments.wait and taken() > 2 * LEAST_TAKEN:
            time.sleep(1)
        for line in run(arguments, options, ranks, threads):
            if name.endswith(SMT):
                line = line.replace(name[:-len(SMT)], name, 1)
            print(line, flush=True)
            results.add(line)
        write(arguments.out, results, begin)


if __name__ == "__main__":
    main()

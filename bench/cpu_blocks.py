#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sparse matrix-vector products (SpMV) by blocks on CPUs, from bench/cpu_blocks.

The matrices have blocks of all sizes, are of elasticity, or are as in Table IV of Eberhardt & Hoemmen 2016.
The file of results has the machine, tables, and every line that was printed. The tables compare with others,
with our CSR (Figure 6 of the paper), and numbers of threads (Figure 10).

    bench/cpu_blocks.py [--build build/release] [--bytes 9e8] [--folder matrices with GT01R.mtx.gz]
                        [--out build/blocks.txt]
                        [--only "cube.3 elasticity"] [--add]

PETSc takes part where the build has it (cmake -D POISE_PETSC=ON), with ranks for threads. Each case has a
process of its own for 1 thread, for 2 threads and for 2 ranks.

--add keeps the lines that the file has already, except those of cases that are measured again with less
disturbance by others.
--disturbed measures only cases that were disturbed or are missing; repeat it while others use the machine.
--wait 3600 waits so many seconds in all for others to leave the machine alone."""
import argparse
import os
import re
import subprocess
import sys
import time

from cpu import machine

TABLE_IV = {"raefsky4": 3, "bmw7st_1": 6, "pwtk": 6, "RM07R": 7, "audikw_1": 3}
HOW = ((1, 1), (1, 2), (2, 1))  # ranks, threads
LINE = re.compile(r"(\S+)\s+(\d) x (\d) (.*?)\s+ms\s+([0-9.]+) \(min ([0-9.]+)\) \| \S+ bytes (\S+) "
                  r"GB/s\s+([0-9.]+).*?of read ([0-9.]+).*"
                  r"turns (\d+), dropped (\d+), taken ([0-9.]+) \| read ([0-9.]+)")


def cases(arguments):
    for size in range(1, 33):
        yield f"cube.{size}", ["-matrix", "cube", "-block", str(size)], HOW if size <= 8 else HOW[:2]
    yield "elasticity", ["-matrix", "elasticity"], HOW
    if arguments.folder:
        yield "GT01R.5", ["-matrix", os.path.join(arguments.folder, "GT01R.mtx.gz"), "-block", "5"], HOW[:2]
    for name in TABLE_IV:
        yield name, ["-matrix", name], HOW


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
    env = dict(os.environ, OMP_NUM_THREADS=str(threads))
    launch = []
    if ranks > 1:
        env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        launch = ["mpiexec", "-n", str(ranks), "--bind-to", "core"]
    else:
        env.update(OMP_PROC_BIND="true", OMP_PLACES="cores")
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


def cell(value, form="8.2f"):
    return f"{'-':>8s}" if value is None else f"{value:{form}}"


def ratio(a, b):
    return None if a is None or b is None else a / b


def order(name):
    size = re.fullmatch(r"cube\.(\d+)", name)
    return (0, int(size.group(1))) if size else (1 if name == "elasticity" else 2, 0)


def tables(results):
    names = sorted(results.names(), key=order)
    get = results.get
    one, threads, ranks = HOW
    yield "Beside others: ms of a product, median; t: threads, r: ranks of one thread each"
    columns = [(who, how) for who in ("poise csr", "poise bcsr", "Eigen") for how in (one, threads)]
    columns += [(who, how) for who in ("poise bcsr", "PETSc baij", "PETSc aij") for how in (one, ranks)
                if (who, how) != ("poise bcsr", one)]
    label = {one: "1", threads: "2 t", ranks: "2 r"}
    yield (f"{'':12s}" + "".join(f"{who.replace('poise ', ''):>11s}" for who, _ in columns) +
           f"{'bcsr 2 t':>10s}{'csr /':>10s}{'baij /':>10s}{'Eigen /':>10s}")
    yield (f"{'':12s}" + "".join(f"{label[how]:>11s}" for _, how in columns) +
           f"{'of read':>10s}{'bcsr 2 t':>10s}{'bcsr 2 r':>10s}{'bcsr 2 t':>10s}")
    for name in names:
        if get(name, ranks, "poise bcsr", "ms") is None:
            continue
        cells = [cell(get(name, how, who, "ms"), "8.3f") for who, how in columns]
        ours, ranked = get(name, threads, "poise bcsr", "ms"), get(name, ranks, "poise bcsr", "ms")
        ends = [get(name, threads, "poise bcsr", "of_read"),
                ratio(get(name, threads, "poise csr", "ms"), ours),
                ratio(get(name, ranks, "PETSc baij", "ms"), ranked),
                ratio(get(name, threads, "Eigen", "ms"), ours)]
        yield f"{name:12s}" + "".join(f"{c:>11s}" for c in cells) + "".join(f"{cell(e):>10s}" for e in ends)
    yield ""
    yield "Figure 6: bcsr against our csr, 2 threads; GB/s of each format's bytes"
    yield (f"{'':12s}{'csr ms':>10s}{'bcsr ms':>10s}{'csr / bcsr':>12s}{'csr GB/s':>10s}{'bcsr GB/s':>10s}"
           f"{'read GB/s':>10s}{'csr of read':>12s}{'bcsr of read':>13s}")
    for name in names:
        row = [get(name, threads, who, what) for what in ("ms", "gbs", "of_read")
               for who in ("poise csr", "poise bcsr")]
        read = get(name, threads, "poise bcsr", "read")
        yield (f"{name:12s}{cell(row[0], '8.3f'):>10s}{cell(row[1], '8.3f'):>10s}"
               f"{cell(ratio(row[0], row[1])):>12s}{cell(row[2]):>10s}"
               f"{cell(row[3]):>10s}{cell(read):>10s}{cell(row[4]):>12s}{cell(row[5]):>13s}")
    yield ""
    yield "Figure 10: bcsr over threads; GB/s, and of what as many threads read"
    yield (f"{'':12s}{'1 GB/s':>10s}{'2 GB/s':>10s}{'1 of read':>11s}{'2 of read':>11s}"
           f"{'1 ms / 2 ms':>13s}{'read 2 / 1':>12s}")
    for name in names:
        values = [get(name, how, "poise bcsr", what) for what in ("gbs", "of_read", "ms", "read")
                  for how in (one, threads)]
        yield (f"{name:12s}{cell(values[0]):>10s}{cell(values[1]):>10s}{cell(values[2]):>11s}"
               f"{cell(values[3]):>11s}"
               f"{cell(ratio(values[4], values[5])):>13s}{cell(ratio(values[7], values[6])):>12s}")


def write(path, results):
    busy = sorted({f"{key[0]} ({key[1]} x {key[2]})" for key, found in results.found.items()
                   if found["taken"] > LEAST_TAKEN})
    with open(path + ".tmp", "w") as file:
        file.write(machine() + "\n\n" + "\n".join(tables(results)) + "\n\n")
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
    parser.add_argument("--folder", default="")
    parser.add_argument("--only", default="")
    parser.add_argument("--how", default="", help="such as 1x2: ranks x threads")
    parser.add_argument("--wait", type=float, default=0)
    parser.add_argument("--add", action="store_true")
    parser.add_argument("--disturbed", action="store_true")
    parser.add_argument("--out", default="build/blocks.txt")
    arguments = parser.parse_args()
    results = Results()
    if arguments.add and os.path.exists(arguments.out):
        with open(arguments.out) as file:
            for line in file.read().splitlines():
                results.add(line)
    deadline = time.time() + arguments.wait
    for name, options, how in cases(arguments):
        for ranks, threads in how:
            if arguments.only and name not in arguments.only.split():
                continue
            if arguments.how and f"{ranks}x{threads}" not in arguments.how.split():
                continue
            if arguments.disturbed and not results.disturbed(name, (ranks, threads)):
                continue
            while time.time() < deadline and taken() > 2 * LEAST_TAKEN:
                time.sleep(1)
            for line in run(arguments, options, ranks, threads):
                print(line, flush=True)
                results.add(line)
            write(arguments.out, results)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How long an iteration of CG takes on p GPUs: a model, and what was measured beside it.

    bench/scale.py                                    the model, for one host and for many
    bench/scale.py --hosts 4096 --gpus 8 --rows 1e9   the same of this size
    bench/scale.py --check gpus_loop.txt...           rows of bench/gpus.sh beside the model
    bench/scale.py --own                              beside the runs that its constants are from
    bench/scale.py --speedup gpus_speedup.txt...      speed-ups by matrix, as in the figures of MSREP

One GPU takes F + bytes / rate, where F is launches and the ends of kernels. Bytes that stay in L2 are faster,
and F is smaller then. On p GPUs an iteration takes

    part + exchange(p, part) + max(0, halo - part)

part      one GPU's time for n / p rows: by this curve from the time for n rows
exchange  of one halo and two sums, whatever their bytes, by the path: peer memory and NCCL within a host, the
          hosts' memory; between hosts a message for the halo and log2(hosts) steps for each sum. To it comes
          a share of the part's time, for a product in two kernels and waiting for the slowest. By peer memory
          phases may exchange by themselves: a smaller start, a larger share. The smaller sum counts
halo      bytes over the link's rate: it travels while rows without ghosts are multiplied

Rows in their own order make slabs: a part of a cube of k^3 nodes has two planes of k^2. A partition by a
graph makes blocks, with six faces of (n/p)^(2/3). The constants and their sources: results/h200/scale.txt.

A product is bound by the larger of two times: that of the largest part, by the same curve, and that of its
ghosts over the link.
"""
import argparse
import math
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CONSTANTS = os.path.join(HERE, "results", "h200", "scale.txt")
PATHS = {"peer": "peer", "NCCL": "nccl", "through": "host"}  # by the first word of a row
# Bytes of a row and iteration: the matrix as in the middle of a mesh, and 13 passes over vectors (11 where cg
# predicts, as it does for 7 points); unknowns of a node
PROBLEMS = {"7": (7 * 12 + 4 + 88, 1), "27": (27 * 12 + 4 + 104, 1), "elasticity": (27 * 76 / 3 + 104, 3)}
OWN = os.path.join(HERE, "results", "h200", "gpus_loop.txt")


def constants(path):
    found = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if words and not line.startswith("#"):
                found[words[0]] = float(words[1])
    return found


class Model:
    def __init__(self, path):
        self.c = constants(path)

    def curve(self, size):
        """us of so many bytes on one GPU"""
        cached = min(1, self.c["cache"] * 1e6 / size) ** 2  # of a long stream almost nothing
        start = self.c["least"] + (self.c["fixed"] - self.c["least"]) * (1 - cached)
        return start + size * (cached / self.c["cache_rate"] + (1 - cached) / self.c["rate"]) / 1e3

    def one(self, problem, rows):
        """us of an iteration on one GPU"""
        return self.curve(PROBLEMS[problem][0] * rows)

    def part(self, whole, size, parts):
        """One GPU's us for a part of so many bytes, if all take `whole`."""
        return whole * self.curve(size / parts) / self.curve(size)

    def exchange(self, path, part, gpus, hosts=1):
        """us of one halo and two sums, beside their bytes"""
        here = self.c[path] + self.c.get(path + "_more", 0) * (gpus - 2) + self.c["split"] * part
        if hosts > 1:
            return here + self.c["hop"] * (1 + 2 * math.log2(hosts))
        return min(here, self.c["phases"] + self.c["phases_split"] * part) if path == "peer" else here

    def several(self, whole, size, gpus, entries, path, hosts=1):
        """us on so many GPUs of each host, of which one takes `whole`; entries: that a rank gets"""
        parts = gpus * hosts
        if parts == 1:
            return whole
        rate = self.c[path + "_rate"] if hosts == 1 else min(self.c[path + "_rate"], self.c["network_rate"])
        part = self.part(whole, size, parts)
        travels = 8 * entries / rate / 1e3
        return part + self.exchange(path, part, gpus, hosts) + max(0, travels - part)

    def bound(self, whole, size, parts, largest, ghosts):
        """us of a product on one host; largest: bytes of the largest part over the mean"""
        return max(self.part(whole, size, parts / largest), 8 * ghosts / self.c["peer_rate"] / 1e3)


def halo(problem, rows, parts):
    """Entries that a rank gets: slabs while there are planes for them, else blocks."""
    unknowns = PROBLEMS[problem][1]
    nodes = rows / unknowns
    side = nodes ** (1 / 3)
    slabs = 2 * side**2 if parts > 2 else side**2
    blocks = 6 * (nodes / parts) ** (2 / 3)
    return unknowns * (slabs if parts <= side / 2 and slabs <= 4 * blocks else blocks)


def cg(model, problem, rows, gpus, path="peer", hosts=1):
    """us of an iteration"""
    entries = halo(problem, rows, gpus * hosts)
    return model.several(model.one(problem, rows), PROBLEMS[problem][0] * rows, gpus, entries, path, hosts)


def one_host(model, sizes):
    print("CG with jacobi on the GPUs of one host: us of an iteration, and in brackets the efficiency\n")
    counts = (1, 2, 4, 8)
    print(f"{'matrix':<12}{'rows':>12}" + "".join(f"{count:>15}" for count in counts) + "   fastest")
    for problem, rows in sizes:
        whole = model.one(problem, rows)
        times = [cg(model, problem, rows, p) for p in counts]
        cells = "".join(f"{t:>9.1f} ({whole / t / p:.2f})" for t, p in zip(times, counts))
        print(f"{problem:<12}{rows:>12.0f}{cells}   {counts[times.index(min(times))]}")


def pays(model):
    print("\nThe least rows from which so many GPUs are faster than fewer, by peer memory\n")
    print(f"{'matrix':<12}" + "".join(f"{count:>15}" for count in (2, 4, 8)))
    for problem in PROBLEMS:
        cells = ""
        for p in (2, 4, 8):
            rows, fewer = 1e4, [q for q in (1, 2, 4) if q < p]
            while cg(model, problem, rows, p) > min(cg(model, problem, rows, q) for q in fewer):
                rows *= 1.05
            cells += f"{rows:>15.1g}"
        print(f"{problem:<12}{cells}")


def many_hosts(model, problem, rows, gpus, most):
    print(f"\nMany hosts of {gpus} GPUs, {problem}, {rows:.3g} rows in all, and {rows / gpus:.3g} of each: "
          "us of an iteration\n")
    print(f"{'hosts':>6}{'GPUs':>8}{'NCCL':>10}{'efficiency':>12}{'host':>10}{'efficiency':>12}"
          f"{'NCCL, the same of each':>26}{'efficiency':>12}")
    whole, hosts = model.one(problem, rows), 1
    alone = model.one(problem, rows / gpus)
    while hosts <= most:
        p, line = gpus * hosts, f"{hosts:>6}{gpus * hosts:>8}"
        for path in ("nccl", "host"):
            time = cg(model, problem, rows, gpus, path, hosts)
            line += f"{time:>10.1f}{whole / time / p:>12.3f}"
        time = cg(model, problem, rows / gpus * p, gpus, "nccl", hosts)
        print(line + f"{time:>26.1f}{alone / time:>12.3f}")
        hosts *= 4


def compare(path, lines):
    """The largest and the mean error of (measured, model)."""
    errors = [abs(model / measured - 1) for measured, model in lines]
    if errors:
        print(f"\n{path}, {len(errors)} rows: the model is off by {100 * max(errors):.0f} % at most, "
              f"{100 * sum(errors) / len(errors):.0f} % on the average")


class Row:
    """Of bench/gpus.c, measure loop."""

    def __init__(self, words):
        self.problem, self.rows, self.nonzeros = words[1], int(words[2]), float(words[3])
        self.ranks, self.kind, self.exchange, self.type = int(words[4]), *words[5:8]
        self.us, self.least, self.most = map(float, words[8:11])
        self.largest, self.ghosts = map(float, words[12:14])

    def __str__(self):
        return (f"{self.problem:<14}{self.rows:>10}{self.ranks:>4} {self.kind:<10}{self.exchange:<25}"
                f"{self.type:<6}")


def read(path):
    with open(path, encoding="utf-8") as file:
        rows = [Row(line.split()) for line in file if line.startswith("loop ")]
    return rows


def expected(model, row, one):
    """The model's time, or the bound, from the time of one GPU."""
    ghosts = 0 if math.isnan(row.ghosts) else row.ghosts / row.ranks
    if row.problem in PROBLEMS:
        path = PATHS.get(row.exchange.split("_")[0], "peer")  # of workers it says nothing
        return model.several(one, PROBLEMS[row.problem][0] * row.rows, row.ranks, ghosts, path)
    size = 12 * row.nonzeros + 4 * row.rows + 8 * 5 * row.rows  # of the loop: x twice, b, product, new x
    largest = row.largest
    if row.type != "pcsr":  # parts have equally many rows
        largest = 1 + (largest - 1) * 12 * row.nonzeros / size
    return model.bound(one, size, row.ranks, largest, ghosts)


def check(model, path):
    rows = read(path)
    print(f"\n{path}\n\n{'':<69}{'us':>10}{'one GPU':>10}{'speed-up':>9}{'eff.':>6}{'model':>9}"
          f"{'over it':>8}  largest part")
    lines = {}
    for row in rows:
        one = [r for r in rows if r.ranks == 1 and (r.problem, r.rows, r.nonzeros) == (
            row.problem, row.rows, row.nonzeros)]
        one = [r for r in one if r.type == row.type] or one
        if row.ranks == 1 or not one:
            continue
        time = expected(model, row, one[0].us)
        if row.problem in PROBLEMS and row.exchange != "through_the_host":
            lines.setdefault(PATHS.get(row.exchange.split("_")[0], "peer"), []).append((row.us, time))
        speed = one[0].us / row.us
        print(f"{row}{row.us:>10.1f}{one[0].us:>10.1f}{speed:>9.2f}{speed / row.ranks:>6.2f}"
              f"{time:>9.1f}{row.us / time:>8.2f}  {row.largest:.3f}")
    for way, errors in lines.items():
        compare(way, errors)
    cost(rows)


def pair(one, several):
    """Two speed-ups, the second in brackets, of two times each."""
    return f"{one[0] / several[0]:.2f} ({one[1] / several[1]:.2f})" if several else "-"


def speedups(model, path):
    """By matrix, over one GPU; in brackets what the model says, of products its bound."""
    rows = read(path)
    counts = sorted({row.ranks for row in rows if row.ranks > 1})
    if not counts:
        return
    print(f"\n{path}: speed-up of an iteration over one GPU (the model's)\n")
    print(f"{'':<14}{'rows':>10} {'':<6}{'us, one':>10}" + "".join(f"{count:>15}" for count in counts))
    cells = {}
    for row in rows:
        cells.setdefault((row.problem, row.rows, row.nonzeros, row.type), {}).setdefault(row.ranks, row)
    for (problem, size, _, kind), of in cells.items():
        if 1 not in of:
            continue
        one, line = of[1].us, f"{problem:<14}{size:>10} {kind:<6}{of[1].us:>10.1f}"
        for count in counts:
            row = of.get(count)
            line += f"{pair((one, one), row and (row.us, expected(model, row, one))):>15}"
        print(line)


STAGES = ("cut", "setup", "copy", "product", "merge", "sum")  # of bench/parts.c, ms


def host_speedups(path):
    """The same from the host's memory and back, of rows of bench/parts.c."""
    found = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if len(words) > 12 and words[4] in ("csr", "csc", "coo"):
                ms = dict(zip(STAGES, map(float, words[6:12])))
                found.setdefault((words[0], words[4], words[5]), {})[int(words[3])] = ms
    counts = sorted({count for of in found.values() for count in of if count > 1})
    if not counts:
        return
    print(f"\n{path}: from the host's memory and back, speed-up over one GPU, all (without set-up)\n")
    print(f"{'':<16}{'':<11}{'ms, one':>10}{'without':>10}" + "".join(f"{count:>15}" for count in counts))
    for (name, form, way), of in found.items():
        if 1 not in of:
            continue
        whole = {count: (ms["sum"], ms["sum"] - ms["setup"]) for count, ms in of.items()}
        line = f"{name:<16}{form} {way:<7}{whole[1][0]:>10.1f}{whole[1][1]:>10.1f}"
        print(line + "".join(f"{pair(whole[1], whole.get(count)):>15}" for count in counts))


def cost(rows):
    """What exchange adds to a part that was measured alone (-share)."""
    wholes = {r.rows for r in rows if r.ranks > 1}
    for alone in (r for r in rows if r.ranks == 1 and r.rows not in wholes):
        for row in rows:
            parts = alone.rows * row.ranks / row.rows
            if row.ranks > 1 and alone.problem == row.problem and 1 <= parts < 1.1:
                what = "halo, sums" if row.ghosts else "sums alone"
                print(f"{row}{row.us:>10.1f} us, a part alone {alone.us:.1f}: "
                      f"{what} {row.us - alone.us:.1f} us")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--constants", default=CONSTANTS, help="a table such as results/h200/scale.txt")
    parser.add_argument("--check", nargs="+", metavar="FILE", help="rows of bench/gpus.sh")
    parser.add_argument("--speedup", nargs="+", metavar="FILE", help="rows of bench/gpus.sh")
    parser.add_argument("--own", action="store_true", help="beside the runs that the constants are from")
    parser.add_argument("--problem", default="27", choices=sorted(PROBLEMS))
    parser.add_argument("--rows", type=float, default=1e8, help="of the system on many hosts")
    parser.add_argument("--gpus", type=int, default=8, help="of each of many hosts")
    parser.add_argument("--hosts", type=int, default=4096, help="at most")
    given = parser.parse_args()
    model = Model(given.constants)
    for path in ([OWN] if given.own else []) + (given.check or []):
        check(model, path)
    for path in given.speedup or []:
        speedups(model, path)
        host_speedups(path)
    if given.own or given.check or given.speedup:
        return 0
    one_host(model, [("27", 32768), ("27", 1030301), ("27", 4173281), ("elasticity", 2022243),
                     ("7", 16777216), ("7", 134217728)])
    pays(model)
    many_hosts(model, given.problem, given.rows, given.gpus, given.hosts)
    return 0


if __name__ == "__main__":
    sys.exit(main())

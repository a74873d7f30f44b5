#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Report in Markdown on what bench/choice has measured.

It has segSpMV's Table I, and how far each type and the automatic choice are from the best type. It compares
the speed of sparse matrix-vector products (SpMV) with that of others. It tells of set-up and of shares of the
bandwidth of reading. CSR-I's picture shows the speed-up over the deviation of row lengths.

    bench/choice.py results.csv [--picture results.svg] > results.md      also of results.csv.gz

A matrix counts once, by its cold times if it fits into caches, else by those from memory. With --mode warm or
replayed, those times take the place of the cold ones. Times are medians; --least takes the least ones, for a
machine that others use as well. The end of a file that was cut off is left out."""
import argparse
import csv
import gzip
import math
import os
import re
import statistics

NUMBERS = ("rows", "nonzeros", "mean", "longest", "deviation", "empty", "median_us", "min_us", "setup_us",
           "gbs", "copy_gbs", "read_gbs", "read_most_gbs", "error")
SLACK = 0.3  # microseconds that do not count


def read(path):
    """The remarks; what automatic choices chose, by matrix and contender; the matrices on which csri does
    the same SpMV as csr; the rows."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", newline="") as file:
        lines = file.read().splitlines()
    chosen, as_csr = {}, set()
    for line in lines:
        # Tiles are those of csr, unless rows beside them are split.
        csri = re.match(r"# view of (\S+) by csri:\s*(A x by tiles|csri: .* (\d+) fragments)", line)
        if csri and (csri[3] in (None, "0") and ("tiles" in csri[2] or "uniform" in csri[2])):
            as_csr.add(csri[1])
        elif csri:
            as_csr.discard(csri[1])
        said = re.match(r"# view of (\S+) by (\S+):\s*auto(?: chose|:) (\w+)", line)
        if said:
            chosen[said[1], said[2]] = said[3]
    data = [line for line in lines if not line.startswith("#")]
    fields = data[0].count(",")
    rows = list(csv.DictReader(line for line in data if line.count(",") == fields))
    for row in rows:
        row.update({key: float(row[key]) for key in NUMBERS})
    return [line[2:] for line in lines if line.startswith("# ")], chosen, as_csr, rows


class Matrix:
    """A matrix, and its contenders' rows by name: "csr", "cuSPARSE csr alg1 preprocessed", ..."""

    def __init__(self, name, rows, key):
        self.name, self.group, self.mode = name, rows[0]["group"], rows[0]["mode"]
        self.of, self.time, self.row = rows[0], {}, {}
        for row in rows:
            who = row["how"] if row["who"] == "poise" else f"{row['who']} {row['how']}"
            # Cold times are differences, which noise may make negative.
            self.time[who], self.row[who] = max(row[key], .01), row
        self.types = [row["how"] for row in rows if row["who"] == "poise"]
        csr = [t for who, t in self.time.items() if who.startswith(("cuSPARSE csr", "C loops"))]
        self.peer = min(csr) if csr else None
        coo = [t for who, t in self.time.items() if who.startswith("cuSPARSE coo")]
        self.other = min(csr + coo) if csr else None  # what a user who may convert to COO has
        # What auto may choose.
        fixed = [who for who in self.types if not who.startswith("auto") and ":" not in who]
        self.best = min(fixed, key=self.time.get) if fixed else None


def matrices(rows, mode, key):
    found = {}
    for row in rows:
        if row["mode"] in ("memory", mode):
            found.setdefault(row["matrix"], []).append(row)
    return [Matrix(name, group, key) for name, group in found.items()]


def mean(values):
    """The geometric one."""
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def table(head, lines):
    print("| " + " | ".join(head) + " |")
    print("|" + " --- |" * len(head))
    for line in lines:
        print("| " + " | ".join(line) + " |")
    print()


def table1(found):
    found = [m for m in found if m.group == "table1"]
    if not found:
        return
    who = list(dict.fromkeys(name for m in found for name in m.time))
    print("## Table I of segSpMV, on stand-ins\n\n"
          "Microseconds; ratios are geometric means, over the matrices, of a contender's time over that of "
          "the library's best type (without options and auto), and of seg.\n")
    lines = [[m.name, f"{m.of['rows']:.0f}", f"{m.of['nonzeros']:.0f}", f"{m.of['deviation']:.2f}", m.mode] +
             [f"{m.time[w]:.2f}" if w in m.time else "-" for w in who] + [m.best or "-"] for m in found]

    def ratios(words, base):
        pairs = [[(m.time[w], m.time[base(m)]) for m in found if w in m.time and base(m) in m.time]
                 for w in who]
        means = [f"{mean(a / b for a, b in pair):.2f}" if pair else "-" for pair in pairs]
        return [words, "", "", "", ""] + means + [""]

    table(["matrix", "rows", "nonzeros", "deviation", "mode"] + who + ["best"],
          lines + [ratios("over best", lambda m: m.best), ratios("over seg", lambda m: "seg")])


def regret(m, who):
    return m.time[who] / m.time[m.best]


def within(slow, fast, share):
    return slow <= max(fast * (1 + share), fast + SLACK)


def choices(found, chosen, as_csr, worst):
    def same(m, name):  # times of the same product differ, too
        types = {chosen.get((m.name, name), name), m.best}
        return len(types) == 1 or (types == {"csr", "csri"} and m.name in as_csr)

    found = [m for m in found if m.best]
    who = list(dict.fromkeys(name for m in found for name in m.types))
    print(f"## Each type on all {len(found)} matrices\n\n"
          "Best: the fastest of the library's types without options and auto. "
          f"Within: not slower by more than that share, or {SLACK} us. "
          "Peer: the others' best product by CSR.\n")
    lines = []
    for name in who + ["the best type"]:
        have = [m for m in found if name in m.time or name == "the best type"]
        time = [m.time[name if name in m.time else m.best] for m in have]
        peers = [(t, m.peer, m.other) for t, m in zip(time, have) if m.peer]
        lines.append([name, str(len(have)), f"{mean(t / m.time[m.best] for t, m in zip(time, have)):.3f}",
                      f"{max(t / m.time[m.best] for t, m in zip(time, have)):.2f}"] +
                     [f"{sum(within(t, m.time[m.best], s) for t, m in zip(time, have)) / len(have):.3f}"
                      for s in (.02, .05)] +
                     [str(sum(not within(t, p, .03) for t, p, _ in peers)),
                      f"{mean(p / t for t, p, _ in peers):.2f}", f"{mean(o / t for t, _, o in peers):.2f}"])
    table(["type", "matrices", "time / best, mean", "worst", "within 2 %", "within 5 %",
           "slower than peer by over 3 %", "speed-up over peer, mean", "over CSR and COO"], lines)
    for name in who:
        bad = sorted((m for m in found if name in m.time and not within(m.time[name], m.time[m.best], .05)),
                     key=lambda m: -regret(m, name))
        if not name.startswith("auto") or not bad:
            continue
        print(f"Where {name} loses more than 5 % and {SLACK} us, {len(bad)} matrices, "
              f"{sum(same(m, name) for m in bad)} of them "
              "though it chose the fastest product, which was timed twice:\n")
        table(["matrix", "rows", "mean", "longest", "deviation", "empty", "mode", "chose", "us", "best", "us",
               "ratio", "same product"],
              [[m.name, f"{m.of['rows']:.0f}", f"{m.of['mean']:.4g}", f"{m.of['longest']:.0f}",
                f"{m.of['deviation']:.3g}", f"{m.of['empty']:.2f}", m.mode, chosen.get((m.name, name), "-"),
                f"{m.time[name]:.2f}", m.best, f"{m.time[m.best]:.2f}", f"{regret(m, name):.3f}",
                "yes" if same(m, name) else "no"]
               for m in bad[:worst]])
    for name in [name for name in who if name.startswith("auto")] + ["the best type"]:
        time = {m.name: m.time[m.best] if name == "the best type" else m.time.get(name) for m in found}
        bad = sorted((m for m in found if time[m.name] and m.peer and not within(time[m.name], m.peer, .03)),
                     key=lambda m: -time[m.name] / m.peer)
        if bad:
            print(f"Where {name} is slower than the peer by more than 3 % and {SLACK} us, "
                  f"{len(bad)} matrices:\n")
            table(["matrix", "rows", "mean", "longest", "deviation", "mode", "best", "us", "peer's us",
                   "ratio"],
                  [[m.name, f"{m.of['rows']:.0f}", f"{m.of['mean']:.4g}", f"{m.of['longest']:.0f}",
                    f"{m.of['deviation']:.3g}", m.mode, m.best, f"{time[m.name]:.2f}", f"{m.peer:.2f}",
                    f"{time[m.name] / m.peer:.3f}"] for m in bad[:worst]])
    wins = {name: sum(m.best == name for m in found) for name in who}
    print("Fastest type: " + ", ".join(f"{name} {wins[name]}" for name in who if wins[name]) + ".\n")


def setups(found):
    print("## Set-up, in products of the same contender\n")
    lines = []

    def products(m, name):
        return m.row[name]["setup_us"] / m.time[name]

    for name in dict.fromkeys(name for m in found for name in m.time):
        units = sorted(products(m, name) for m in found if name in m.time)
        large = [products(m, name) for m in found if name in m.time and m.of["nonzeros"] >= 1e7]
        if units[-1] > 0:
            lines.append([name, f"{statistics.median(units):.2f}", f"{units[-1]:.1f}",
                          f"{statistics.median(large):.2f}" if large else "-",
                          f"{max(large):.1f}" if large else "-"])
    table(["contender", "median", "most", "median of 10^7 nonzeros and more", "most"], lines)


def bandwidth(found, least):
    found = [m for m in found if m.mode == "memory"]
    if not found:
        return
    who = list(dict.fromkeys(name for m in found for name in m.time))
    limit = "read_most_gbs" if least else "read_gbs"
    print("## Share of the bandwidth of reading\n\n"
          "Of 12 bytes per nonzero, 4 per offset, x and y once; matrices larger than caches.\n")

    def share(m, name):
        row = m.row[name]
        return row["gbs"] * row["median_us"] / m.time[name] / row[limit]

    table(["matrix", "nonzeros", "deviation"] + who,
          [[m.name, f"{m.of['nonzeros']:.0f}", f"{m.of['deviation']:.2f}"] +
           [f"{share(m, name):.3f}" if name in m.time else "-" for name in who] for m in found])


# ---- the picture: scalable vector graphics, written as they are --------------------------------------------


def boundary(points):
    """The deviation above which the second contender is taken, so that the product of all times is least.
    points: (deviation, speed-up)."""
    points = sorted(points)
    between = [math.sqrt(max(a[0], 1e-3) * max(b[0], 1e-3)) for a, b in zip(points, points[1:])]
    edges = [0] + between + [2 * points[-1][0] + 1]
    return max(edges, key=lambda edge: sum(math.log(s) for d, s in points if d >= edge))


def picture(found, path):
    """Speed-up of csri over the peer's best CSR, against the normalised deviation of row lengths. Each matrix
    has a mark."""
    found = [m for m in found if "csri" in m.time and m.peer]
    if not found:
        return
    points = [(m.of["deviation"], m.peer / m.time["csri"], m) for m in found]
    width, height, left, top = 900, 520, 70, 40
    low, high = 0.01, max(10, max(d for d, _, _ in points) * 1.3)
    floor = min(.5, min(s for _, s, _ in points) / 1.1)
    ceiling = max(4, max(s for _, s, _ in points) * 1.1)

    def x(d):
        return left + (width - left - 20) * math.log(max(d, low) / low) / math.log(high / low)

    def y(s):
        return top + (height - top - 60) * math.log(ceiling / s) / math.log(ceiling / floor)

    colours = {"memory": "#1f5fa8", "cold": "#d9822b", "warm": "#d9822b", "replayed": "#d9822b"}
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
             'font-family="sans-serif" font-size="13">',
             f'<rect width="{width}" height="{height}" fill="white"/>']

    def line(x1, y1, x2, y2, style):
        parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {style}/>')

    def text(at, height_, words, style=""):
        parts.append(f'<text x="{at:.1f}" y="{height_:.1f}" {style}>{words}</text>')

    for d in (.01, .1, 1, 10, 100, 1000):
        if d <= high:
            line(x(d), top, x(d), height - 60, 'stroke="#ddd"')
            text(x(d), height - 42, "0.01 and less" if d == .01 else f"{d:g}", 'text-anchor="middle"')
    for s in (.1, .2, .5, 1, 2, 4, 8, 16, 32):
        if floor <= s <= ceiling:
            line(left, y(s), width - 20, y(s), f'stroke="{"#000" if s == 1 else "#ddd"}"')
            text(left - 8, y(s) + 4, f"{s:g}", 'text-anchor="end"')
    for d, s, m in points:
        parts.append(f'<circle cx="{x(d):.1f}" cy="{y(s):.1f}" r="3.5" fill="{colours[m.mode]}" '
                     'fill-opacity=".65">'
                     f"<title>{m.name}: deviation {d:.3g}, {s:.2f} times as fast</title></circle>")
    rules = []
    if all("csr" in m.time for m in found):
        over_csr = [(m.of["deviation"], m.time["csr"] / m.time["csri"]) for m in found]
        rules = [("csri, not the peer", boundary([(d, s) for d, s, _ in points]), "6 3", "#a02020"),
                 ("csri, not csr", boundary(over_csr), "2 3", "#207020")]
    for k, (words, edge, dash, colour) in enumerate(rules):
        at = x(min(max(edge, low), high))
        line(at, top, at, height - 60, f'stroke="{colour}" stroke-width="1.5" stroke-dasharray="{dash}"')
        text(at + 4, top + 14 + 16 * k, f"{words}: from {edge:.2g}", f'fill="{colour}"')
    text(left, 22, f"csri over the others' best product by CSR, {len(points)} matrices, "
         f"geometric mean {mean(s for _, s, _ in points):.2f}", 'font-size="15"')
    text((left + width) / 2, height - 18, "standard deviation of row lengths over their mean",
         'text-anchor="middle"')
    text(width - 20, 22, "larger than caches", f'fill="{colours["memory"]}" text-anchor="end"')
    text(width - 150, 22, "smaller,", f'fill="{colours["cold"]}" text-anchor="end"')
    temporary = path + ".tmp"
    with open(temporary, "w") as file:
        file.write("\n".join(parts + ["</svg>", ""]))
    os.replace(temporary, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results")
    parser.add_argument("--picture", help="default: beside the results, .svg")
    parser.add_argument("--mode", choices=("cold", "warm", "replayed"), default="cold")
    parser.add_argument("--least", action="store_true")
    parser.add_argument("--worst", type=int, default=20, help="lines of matrices on which auto loses")
    arguments = parser.parse_args()
    remarks, chosen, as_csr, rows = read(arguments.results)
    found = matrices(rows, arguments.mode, "min_us" if arguments.least else "median_us")
    print("# Which product for which matrix\n")
    for line in remarks:
        if line.startswith(("commit:", "cpu:", "gpu:", "driver:", "date:", "command:", "wrong:", "failed:")):
            print(f"    {line}")
    print(f"\n{'Least times' if arguments.least else 'Medians'}; "
          f"{arguments.mode} where a matrix fits into caches.\n")
    table1(found)
    choices(found, chosen, as_csr, arguments.worst)
    setups(found)
    bandwidth(found, arguments.least)
    picture(found, arguments.picture or re.sub(r"\.csv(\.gz)?$", "", arguments.results) + ".svg")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Report in Markdown on what run.py has measured.

    bench/amg/report.py amg_peers.csv > amg_peers.md

A solver works on a problem if it says so, and |b - A x| / |b| is at most ten times the tolerance. Work is the
CPU time of set-up and solve. Of gmres and bicgstab the one with less work counts.
"""
import csv
import math
import sys

import solvers

SLACK = 10  # of the tolerance
SHORT = {"INDEFINITE": "indef", "ITS": "its", "MAX_IT": "its", "info -": "indef", "info": "its",
         "more than": "time", "BREAKDOWN": "brk", "DTOL": "dtol", "NAN": "nan", "converged": "false"}
MORE_ITERATIONS, MORE_WORK = 1.5, 1.3  # than the best peer: listed
WORDS = f"""Work is CPU seconds of set-up + solve. Means are geometric, of problems where both work:
converged, and |b - A x| / |b| is at most {SLACK * solvers.RTOL:.0e}. The best of all is
another peer for each problem. Of gmres and bicgstab that with less work counts; iterations are compared with
those of the same method. Smoothed aggregation: gamg, ml, pyamg sa."""


def read(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def works(row):
    return row["reason"].startswith("converged") and float(row["residual"]) <= SLACK * solvers.RTOL


def cpu(row):
    return float(row["setup"]) + float(row["solve"])


def number(row, field):
    """Of a row that works, else why not."""
    if works(row):
        return f"{cpu(row):.3f}" if field == "cpu" else row[field]
    reason = row["reason"].removeprefix("not converged: ")
    return next((short for word, short in SHORT.items() if word in reason), "err")


def mean(values):
    """The geometric one."""
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


class Case:
    """A problem, and of each solver the row with the least work, or one that does not work."""

    def __init__(self, rows):
        self.of, self.all, self.row = rows[0], rows, {}
        for row in rows:
            name = row["solver"]
            if name not in self.row or works(row) and not (works(self.row[name]) and
                                                           cpu(self.row[name]) <= cpu(row)):
                self.row[name] = row
        self.peers = [r for name, r in self.row.items() if name in solvers.PEERS and works(r)]
        self.compiled = [r for r in self.peers if not r["solver"].startswith("pyamg")]
        self.best = min(self.peers, key=cpu, default=None)

    def work(self, name):
        """Over that of the best peer; None: one of both does not work."""
        row = self.row[name]
        return cpu(row) / cpu(self.best) if works(row) and self.best else None

    def fewest(self, name, peers=solvers.AGGREGATION):
        """The row of these peers with the fewest iterations of the method that this solver has taken."""
        rows = [r for r in self.all if r["solver"] in peers and r["method"] == self.row[name]["method"]]
        return min(filter(works, rows), key=lambda r: int(r["iterations"]), default=None)

    def iterations(self, name, peers=solvers.AGGREGATION):
        """Over those of that row; None: one of both does not work."""
        row, fewest = self.row[name], self.fewest(name, peers)
        return int(row["iterations"]) / int(fewest["iterations"]) if works(row) and fewest else None


def cases(rows):
    found = {}
    for row in rows:
        found.setdefault(row["problem"], []).append(row)
    return [Case(of) for of in found.values()]


def table(lines):
    head, *rest = lines
    for line in [head, ["---"] * len(head), *rest]:
        print("| " + " | ".join(line) + " |")
    print()


def times(row):
    return f"{float(row['setup']):.3f} + {float(row['solve']):.3f}" if works(row) else ""


def shown(value):
    return "" if value is None else f"{value:.2f}"


def beside(found, ours):
    """Poise beside the best peers."""
    lines = [["problem", "rows", "entries a row", "method"]]
    for name in ours:
        lines[0] += [f"`{name}`", "complexity", "CPU s"]
    lines[0] += ["least work", "iterations", "CPU s", "work over it", "fewest iterations, aggregation",
                 "iterations over them"]
    for c in found:
        rows, first = int(c.of["rows"]), c.row[ours[0]]
        line = [c.of["problem"], str(rows), f"{int(c.of['nonzeros']) / rows:.1f}", first["method"]]
        for name in ours:
            row = c.row[name]
            line += [number(row, "iterations"), row["complexity"], times(row)]
        line += [c.best["solver"], c.best["iterations"], times(c.best)] if c.best else ["none works", "", ""]
        line += [shown(c.work(ours[0]))]
        fewest = c.fewest(ours[0])
        line += [f"{fewest['iterations']} {fewest['solver']}" if fewest else ""]
        line += [shown(c.iterations(ours[0]))]
        lines.append(line)
    table(lines)


def everyone(found):
    """Iterations of all."""
    names = list(dict.fromkeys(name for c in found for name in c.row))
    lines = [["problem"] + [f"`{name}`" for name in names]]
    lines += [[c.of["problem"]] + [number(c.row[n], "iterations") if n in c.row else "" for n in names]
              for c in found]
    table(lines)


def means(found, ours):
    """Work of each of ours over that of others, by dimension."""
    others = ["the best of all", "the best of PETSc's"] + list(dict.fromkeys(
        name for c in found for name in c.row if name in solvers.PEERS))

    def peer(c, other):
        if other == "the best of all":
            return c.best
        if other == "the best of PETSc's":
            return min(c.compiled, key=cpu, default=None)
        return c.row[other] if other in c.row and works(c.row[other]) else None

    for name in ours:
        lines = [[f"CPU time of `{name}` over that of", "3D", "2D", "graphs", "all"]]
        for other in others:
            line = [other]
            for dimension in ("3", "2", "graph", ""):
                ratios = [cpu(c.row[name]) / cpu(peer(c, other)) for c in found
                          if c.of["dimension"].startswith(dimension) and works(c.row[name])
                          and peer(c, other)]
                line.append(f"{mean(ratios):.2f} of {len(ratios)}" if ratios else "")
            lines.append(line)
        table(lines)


def listed(title, lines):
    print(f"{title}: {len(lines)}.\n")
    for line in lines:
        print(f"- {line}")
    print("" if not lines else "\n", end="")


def failure(row):
    return row["reason"] + (f", residual {float(row['residual']):.0e}" if row["residual"] else "")


def lists(found, name):
    fails = [c for c in found if not works(c.row[name])]
    listed(f"`{name}` fails where a peer works",
           [f"{c.of['problem']}: {failure(c.row[name])}; {c.best['solver']} {c.best['iterations']}"
            for c in fails if c.best])
    listed("All fail", [f"{c.of['problem']}: {failure(c.row[name])}" for c in fails if not c.best])
    listed(f"`{name}` works, no peer does",
           [f"{c.of['problem']}: {c.row[name]['iterations']}" for c in found
            if works(c.row[name]) and not c.peers])
    for title, kinds, peers in (
            ("by smoothed aggregation", ("spd", "singular"), solvers.AGGREGATION),
            ("of all, nonsymmetric and indefinite", ("nonsymmetric", "indefinite"), solvers.PEERS)):
        listed(f"More than {MORE_ITERATIONS} times the iterations of the best peer {title}",
               [f"{c.of['problem']}: {c.row[name]['iterations']}, {best['solver']} {best['iterations']} "
                f"({c.row[name]['method']})" for c in found if c.of["kind"] in kinds
                and (c.iterations(name, peers) or 0) > MORE_ITERATIONS for best in [c.fewest(name, peers)]])
    listed(f"More than {MORE_WORK} times the work of the best peer",
           [f"{c.of['problem']}: {c.work(name):.2f} times {c.best['solver']}" for c in found
            if (c.work(name) or 0) > MORE_WORK])
    listed("Converged above 1.5 times the tolerance",
           [f"{row['problem']} {row['method']}: {float(row['residual']) / solvers.RTOL:.1f} times"
            for row in (r for c in found for r in c.all if r["solver"] == name)
            if row["reason"].startswith("converged") and float(row["residual"]) > 1.5 * solvers.RTOL])


def main():
    found = [c for c in cases(read(sys.argv[1])) if "poise" in c.row]
    ours = list(dict.fromkeys(name for c in found for name in c.row if name not in solvers.PEERS))
    found = [c for c in found if all(name in c.row for name in ours)]
    print(f"# amg beside its peers on {len(found)} model problems\n\n{WORDS}\n")
    means(found, ours)
    for name in ours:
        lists(found, name)
    beside(found, ours)
    everyone(found)


if __name__ == "__main__":
    main()

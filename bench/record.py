#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tables and pictures of what bench/record.sh has measured: bench/record.py <folder>

Reads record_*.csv and record_*.txt of the folder, as far as they are there, and writes record.md,
record_long.svg and record_whole.svg beside them.

The bound of an iteration is the time of its bare products, plus that of all other bytes at the rate of
copying, both measured in turns with it. What is above its limit, or slower than others, has a section of
its own."""
import csv
import datetime
import math
import os
import re
import statistics
import sys
from html import escape

FUSED, BOUND = 1.04, 1.03  # limits: a fused product over the bare one; an iteration over its bound
NUMBERS = ("repeats", "median_us", "min_us", "bytes", "gbs")
COLOURS = ("#1f5fa8", "#d9822b")  # the library, others
HEAD = ("machine", "commit", "versions", "clocks", "date", "command")


def lines_of(folder, name):
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return file.read().splitlines()


def head_of(lines):
    """The first of each: the programs add their own below."""
    return dict(reversed(re.findall(r"^# (\w+): (.*)", "\n".join(lines), re.M)))


# ---- clocks ------------------------------------------------------------------------------------------------


def number(text):
    try:
        return float(text)
    except ValueError:
        return math.nan


def clocks(folder):
    """[(seconds since 1970, SM in MHz, memory in MHz, W)]; the first one of a run was taken when the script
    started, which tells the time zone."""
    started, shift, samples = math.nan, None, []
    for line in lines_of(folder, "record_clocks.csv"):
        cells = [cell.strip() for cell in line.split(",")]
        if line.startswith("# started: "):
            started, shift = number(line.split()[2]), None
        if not re.match(r"\d{4}/\d\d/\d\d ", line) or len(cells) < 4:
            continue
        form = "%Y/%m/%d %H:%M:%S.%f" if "." in cells[0] else "%Y/%m/%d %H:%M:%S"
        time = datetime.datetime.strptime(cells[0], form).replace(tzinfo=datetime.timezone.utc).timestamp()
        if shift is None:
            shift = 0 if math.isnan(started) else 900 * round((started - time) / 900)
        samples.append((time + shift, *map(number, cells[1:4])))
    return samples


def during(samples, begin, end, column):
    """The values at the begin, in the middle and at the end of a turn."""
    inside = [sample[column] for sample in samples if begin <= sample[0] <= end]
    if not inside:
        return "-"
    return ", ".join("-" if math.isnan(v) else f"{v:.0f}" for v in (inside[0], inside[len(inside) // 2],
                                                                    inside[-1]))


# ---- long runs ---------------------------------------------------------------------------------------------


class Loop:
    """A line of a long row: a solver's iteration, a bare product, or a copy."""

    def __init__(self, fields):
        self.row, self.who, self.how = fields["row"], fields["who"], fields["how"]
        self.repeats, self.us, self.least, self.bytes, self.gbs = (float(fields[key]) for key in NUMBERS)
        self.turns = []
        self.product = self.copy = self.chosen = None

    ours = property(lambda self: self.who == "poise")
    bare = property(lambda self: self.how.endswith(" product"))
    name = property(lambda self: {"poise": self.how.split(";")[0], "memory": "copy of as many bytes"}.get(
        self.who, f"{self.who} {self.how}"))
    products = property(lambda self: {"bicgstab": 2, "gmres": 31 / 30}.get(self.row.split(".")[0], 1))
    share = property(lambda self: self.gbs / self.copy.gbs)
    solves = property(lambda self: self is not self.copy and not self.bare)

    @property
    def rest(self):
        """Microseconds of its bytes beside those of products, at the rate of copying."""
        return (self.bytes - self.products * self.product.bytes) / self.copy.gbs / 1e3

    @property
    def inside(self):
        return (self.us - self.rest) / (self.products * self.product.us)

    @property
    def over_bound(self):
        return self.us / (self.products * self.product.us + self.rest)


def read_long(folder):
    """{row: [Loop]}, and what was said of rows that failed."""
    lines = lines_of(folder, "record_long.csv") + lines_of(folder, "record_rest.csv")
    rows, fields, said = {}, None, []
    turns = {}
    for line in lines:
        if line.startswith("row,"):
            fields = line.split(",")
        elif re.match("# (failed|wrong): ", line):
            said.append(line[2:])
        elif line.startswith("# turn: "):
            row, who, how, _, begin, end = line[8:].split(",")
            turns.setdefault((row, who, how), []).append((float(begin), float(end)))
        elif line and not line.startswith("#") and fields:
            cells = dict(zip(fields, line.split(",")))
            if cells.get("mode") == "sustained":
                rows.setdefault(cells["row"], []).append(Loop(cells))
    for row, loops in rows.items():
        copy = next(loop for loop in loops if loop.who == "memory")
        solvers = [loop for loop in loops if loop.ours and not loop.bare]
        for loop in loops:
            loop.copy, loop.chosen = copy, solvers[0] if solvers else None
            loop.turns = turns.get((row, loop.who, loop.how), [])
            if loop.ours:
                loop.product = next(p for p in loops if p.bare and p.how.split()[0] == loop.how.split()[0])
    return rows, said


def table(head, lines):
    return ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head),
            *("| " + " | ".join(line) + " |" for line in lines), ""]


def long_tables(rows, samples):
    if not rows:
        return []
    page = ["## Long runs", "",
            "Each line is a run of 2000 operations and more, unless the command says otherwise; lines of a "
            "row took turns. us: one operation, the median of the turns. Bound: the bare products of the "
            "iteration, plus its other bytes at the rate of copying. Inside: what the iteration leaves for a "
            "product, over the bare one. Of ours: time over that of our first solver in the row. Clocks and "
            "power are those at the begin, in the middle and at the end of the first turn.", ""]
    for row, loops in rows.items():
        lines = []
        for loop in loops:
            solver = loop.ours and not loop.bare
            part = loop.chosen.bytes / loop.bytes if loop is loop.copy and loop.chosen else 1
            lines.append([
                loop.name, f"{part * loop.us:.1f}", f"{part * loop.least:.1f}",
                f"{part * loop.bytes / 1e6:.1f}", f"{loop.gbs:.0f}", f"{loop.share:.3f}",
                f"{loop.inside:.3f}" if solver else "-", f"{loop.over_bound:.3f}" if solver else "-",
                f"{loop.us / loop.chosen.us:.2f}" if loop.chosen and loop.solves else "-",
                f"{loop.repeats:.0f}",
                *(during(samples, *loop.turns[0], column) if loop.turns else "-" for column in (1, 2, 3))])
        page += [f"### {row}", ""]
        page += table(["what", "us", "least", "MB", "GB/s", "of copy", "inside / bare", "iteration / bound",
                       "of ours", "turns", "SM MHz", "memory MHz", "W"], lines)
    return page


# ---- whole solves, products inside loops -------------------------------------------------------------------


def read_whole(folder):
    """[(problem, rows, [(who, method, iterations, first, second, difference, residual)])]"""
    found = []
    for line in lines_of(folder, "record_whole.txt"):
        if line.startswith("$ whole "):
            found.append([line[8:], "", []])
        elif re.match(r"\d+ rows, rtol", line) and found:
            found[-1][1] = line.split()[0]
        cells = re.match(r"(poise|C loops|cuSPARSE, cuBLAS) +(\S+ \S+) +(\d+) +(\S+) +(\S+) +(\S+) +(\S+)$",
                         line)
        if cells and found:
            found[-1][2].append((cells[1], cells[2], int(cells[3]), *map(float, cells.groups()[3:])))
    return found


def whole_tables(solves):
    if not solves:
        return []
    lines = [[problem, rows, who, method, str(its), f"{first / 1e3:.2f}", f"{second / 1e3:.2f}",
              f"{difference / 1e3:.2f}", f"{residual:.1e}"]
             for problem, rows, results in solves
             for who, method, its, first, second, difference, residual in results]
    return ["## Whole solves", "",
            "From arrays where the device is to x, until the norm has fallen by the tolerance. The second "
            "solve has what the first one made; set-up is the difference.", "",
            *table(["matrix", "rows", "who", "method", "iterations", "first, ms", "second, ms", "set-up, ms",
                    "true residual"], lines)]


def read_fused(folder):
    """[(problem, type, form, microseconds of a bare product, of one inside a loop)]"""
    found = {}
    for line in lines_of(folder, "record_fused.csv"):
        cells = line.split(",")
        if len(cells) == 6 and cells[3] in ("MatMult", "bare products"):
            found.setdefault(tuple(cells[:3]), {})[cells[3]] = float(cells[4]), float(cells[5])
    result = []
    for run, events in found.items():
        if len(events) == 2:
            (calls, all_of_them), (_, bare) = events["MatMult"], events["bare products"]
            result.append((*run, 1e6 * bare / 500, 1e6 * (all_of_them - bare) / (calls - 500)))
    return result


def fused_tables(products):
    if not products:
        return []
    lines = [[problem, kind, form, f"{bare:.1f}", f"{inside:.1f}", f"{inside / bare:.3f}"]
             for problem, kind, form, bare, inside in products]
    return ["## Products inside a loop", "",
            "Timed by the log, which waits at both ends of each and replays no loop; microseconds.", "",
            *table(["matrix", "type", "form of cg", "bare", "inside", "inside / bare"], lines)]


def short_tables(folder):
    lines = []
    for line in lines_of(folder, "record_short.txt"):
        name = re.match(r"\$ short (.*)", line)
        cells = re.match(r" *(\d+) +([\d.]+) +([\d.]+) +(\S+)  (CONVERGED_\w+)$", line)
        if name:
            of = name[1]
        elif cells:
            lines.append([of, cells[1], cells[2], cells[3], cells[4]])
    if not lines:
        return []
    return ["## Whole solves of given numbers of iterations", "",
            "Claims checked; microseconds. An iteration: beyond the line before.", "",
            *table(["matrix and method", "iterations", "median", "least", "an iteration"], lines)]


# ---- what is slower ----------------------------------------------------------------------------------------


def slower(rows, said, solves, products):
    page = [f"- {words}" for words in said]
    for row, loops in rows.items():
        for loop in loops:
            if loop.ours and not loop.bare and loop.over_bound > BOUND:
                page.append(f"- {row}, {loop.name}: an iteration is {loop.over_bound:.3f} of its bound, the "
                            f"limit is {BOUND}.")
            if not loop.ours and loop.solves and loop.chosen and loop.us < loop.chosen.us:
                page.append(f"- {row}: {loop.name} takes {loop.us / loop.chosen.us:.3f} of "
                            f"{loop.chosen.name}.")
        solvers = [loop for loop in loops if loop.ours and loop.solves]
        for loop in solvers[1:]:
            same = loop.how.split()[0] == loop.chosen.how.split()[0]
            if same and loop.us < loop.chosen.us:
                page.append(f"- {row}: {loop.name} takes {loop.us / loop.chosen.us:.3f} of the chosen form.")
    for problem, kind, form, bare, inside in products:
        if inside > FUSED * bare:
            page.append(f"- {problem}, {kind}, {form}: a product inside a loop takes {inside / bare:.3f} of "
                        f"the bare one, the limit is {FUSED}.")
    for problem, _, results in solves:
        for result in results[1:]:
            for k, words in ((3, "first"), (4, "second"), (5, "set-up of the")):
                if result[k] < results[0][k]:
                    page.append(f"- {problem}, {result[1]}: {result[0]}, {words} solve takes "
                                f"{result[k] / 1e3:.2f} ms, ours {results[0][k] / 1e3:.2f} ms.")
    return ["## What is slower", "", *(page or ["- Nothing of the above."]), ""]


# ---- pictures: scalable vector graphics, written as they are -----------------------------------------------


def bars(path, title, groups, foot):
    """groups: [(name, [(contender, value, least or None, is it ours)])], in microseconds; each group has its
    own scale. least: a mark."""
    groups = [group for group in groups if group[1]]
    if not groups:
        return
    width, left, step = 900, 330, 17
    height = 50 + sum(step * (len(members) + 2) for _, members in groups) + 14 * len(foot)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
             'font-family="sans-serif" font-size="12">',
             f'<rect width="{width}" height="{height}" fill="white"/>',
             f'<text x="10" y="22" font-size="15">{escape(title)}</text>']
    y = 34
    for name, members in groups:
        y += step
        parts.append(f'<text x="10" y="{y}" font-weight="bold">{escape(name)}</text>')
        most = max(value for _, value, _, _ in members)
        for contender, value, least, ours in members:
            y += step
            length = (width - left - 90) * value / most
            parts.append(f'<text x="{left - 8}" y="{y}" text-anchor="end">{escape(contender)}</text>')
            parts.append(f'<rect x="{left}" y="{y - 11}" width="{length:.1f}" height="13" '
                         f'fill="{COLOURS[not ours]}"/>')
            parts.append(f'<text x="{left + length + 6:.1f}" y="{y}">{value:.4g}</text>')
            if least:
                at = left + (width - left - 90) * least / most
                parts.append(f'<line x1="{at:.1f}" y1="{y - 13}" x2="{at:.1f}" y2="{y + 4}" stroke="black" '
                             'stroke-width="2"/>')
        y += step
    for line in foot:
        y += 14
        parts.append(f'<text x="10" y="{y}" font-size="10" fill="gray">{escape(line)}</text>')
    temporary = path + ".tmp"
    with open(temporary, "w", encoding="utf-8") as file:
        file.write("\n".join(parts + ["</svg>", ""]))
    os.replace(temporary, path)


def pictures(folder, rows, solves, foot):
    bars(os.path.join(folder, "record_long.svg"),
         "An iteration of a long run, microseconds; marks: its bytes at the rate of copying",
         [(row, [(loop.name, loop.us, loop.bytes / loop.copy.gbs / 1e3, loop.ours)
                 for loop in loops if loop.solves]) for row, loops in rows.items()], foot)
    bars(os.path.join(folder, "record_whole.svg"),
         "From arrays to x, milliseconds: the first solve with set-up; marks: a second one",
         [(f"{problem}, {results[0][1]}", [(f"{who}, {its} iterations", first / 1e3, second / 1e3,
                                            who == "poise")
                                           for who, _, its, first, second, _, _ in results])
          for problem, _, results in solves if results], foot)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.splitlines()[0])
    folder = sys.argv[1]
    heads = [head_of(lines_of(folder, f"record_{name}")) for name in
             ("long.csv", "whole.txt", "fused.csv", "short.txt", "rest.csv")]
    head = next((found for found in heads if found), None)
    if head is None:
        sys.exit(f"{folder} has nothing that was measured")
    samples = clocks(folder)
    rows, said = read_long(folder)
    solves, products = read_whole(folder), read_fused(folder)
    told = [f"{key}: {head[key]}" for key in HEAD if key in head]
    if samples:
        told.append("clocks in the mean: " + ", ".join(
            f"{words} {statistics.fmean(s[k] for s in samples):.0f} {unit}"
            for k, words, unit in ((1, "SM", "MHz"), (2, "memory", "MHz"), (3, "power", "W"))))
    page = ["# The record", "", *(f"    {line}" for line in told), "",
            *long_tables(rows, samples), *whole_tables(solves), *short_tables(folder),
            *fused_tables(products), *slower(rows, said, solves, products)]
    with open(os.path.join(folder, "record.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(page))
    pictures(folder, rows, solves, told[:1] + told[1:2] + told[4:5])
    print(os.path.join(folder, "record.md"))


if __name__ == "__main__":
    main()

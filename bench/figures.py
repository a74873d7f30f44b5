#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The plots of docs/benchmarks.md, from bench/results.

    bench/figures.py           writes docs/plots/*.svg; needs matplotlib
    bench/figures.py --check   fails if a plot does not show what the results say; needs Python alone

Each plot has its numbers in its description, which is what the check reads.
"""
import html
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
PLOTS = ROOT / "docs" / "plots"
OURS, THEIRS = "#1f5fa8", "#d9822b"


def lines(path, pattern):
    """What the groups of a pattern are in the lines that it begins."""
    found = re.findall(pattern, (RESULTS / path).read_text(), re.M)
    if not found:
        raise SystemExit(f"{path}: no line is like '{pattern}'")
    return found


def system(name):
    return f"{name} points" if name.isdigit() else name


def iteration():
    """{system: {contender: microseconds}}"""
    out = {}
    for row, title in (("cg.7.varied", "16.8 million rows"), ("cg.7.small", "32768 rows")):
        found = lines("h200/solvers.txt", rf"^{re.escape(row)} +(poise|cuSPARSE) +(.*?) +step +us +([\d.]+)")
        out[title] = {f"{who} {how}".replace("csr ", "").replace(", preconditioned", ""): float(us)
                      for who, how, us in found}
    return out


def petsc():
    """{system: {contender: milliseconds}}"""
    return {system(row): {"poise": float(ours), "PETSc": float(theirs)} for row, ours, theirs in
            lines("epyc2/cg_petsc.txt", r"^cg\.(\w+) .*?\| ms ([\d.]+) .*PETSc \S+ ms ([\d.]+)")}


def multigrid():
    """{peer: {kind of problem: CPU time of ours over the peer's}}"""
    kinds = ("3D", "2D", "graphs")
    table = (RESULTS / "epyc2" / "amg_peers.md").read_text().split("\n\n")[2]
    return {peer: dict(zip(kinds, map(float, values))) for peer, *values in
            re.findall(r"^\| ([\w' .]+) \|" + r" ([\d.]+) of \d+ \|" * 3, table, re.M)}


def gpus():
    """{system: {number of GPUs: speed-up of an iteration of CG over one GPU}}"""
    out = {}
    pattern = r"^loop +(\S+) +\d+ +(\d+) +(\d) +(?:one|threads) +(?:none|peer\S*) +\S+ +(\S+)"
    for name, nonzeros, ranks, us in lines("h200/gpus_loop.txt", pattern):
        out.setdefault(f"{system(name)}, {float(nonzeros) / 1e6:.3g} million entries", {})[ranks] = float(us)
    return {name: {ranks: round(of["1"] / us, 3) for ranks, us in of.items()} for name, of in out.items()}


def bars(axes, groups, label):
    """Horizontal bars of {group: {name: value}}, ours in a colour of their own; the first one is on top."""
    at, ticks = 0, []
    for group, members in groups.items():
        for name, value in members.items():
            ours = name.startswith("poise")
            axes.barh(-at, value, color=OURS if ours else THEIRS)
            axes.annotate(f" {value:.4g}", (value, -at), va="center")
            ticks.append((-at, name if len(groups) == 1 else f"{group}: {name}"))
            at += 1
        at += 0.5
    axes.set_yticks(*zip(*ticks))
    axes.set_xlabel(label)
    axes.margins(x=0.14)


def draw_iteration(plt, data):
    figure, both = plt.subplots(2, figsize=(7, 4.6))
    for axes, (title, members) in zip(both, data.items()):
        bars(axes, {title: members}, "microseconds")
        axes.set_title(title)
    return figure


def draw_petsc(plt, data):
    figure, axes = plt.subplots(figsize=(7, 3.4))
    bars(axes, data, "milliseconds of 20 iterations")
    return figure


def draw_multigrid(plt, data):
    figure, axes = plt.subplots(figsize=(7, 4.2))
    for kind, marker in (("3D", "o"), ("2D", "s"), ("graphs", "^")):
        axes.plot([of[kind] for of in data.values()], range(len(data)), marker, label=kind)
    axes.set_yticks(range(len(data)), data)
    axes.invert_yaxis()
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xlim(left=0)
    axes.set_xlabel("CPU time of set-up and solve, Poise over the other: less than 1 is faster")
    axes.grid(alpha=0.3)
    axes.legend()
    return figure


def draw_gpus(plt, data):
    figure, axes = plt.subplots(figsize=(7, 4.2))
    axes.plot([1, 4], [1, 4], color="gray", linestyle="dashed", label="ideal")
    for name, of in data.items():
        axes.plot([int(ranks) for ranks in of], list(of.values()), marker="o", label=name)
    axes.set_xticks([1, 2, 4])
    axes.set_xlabel("GPUs")
    axes.set_ylabel("times as fast as one")
    axes.grid(alpha=0.3)
    axes.legend()
    return figure


FIGURES = {"iteration": (iteration, draw_iteration), "petsc": (petsc, draw_petsc),
           "multigrid": (multigrid, draw_multigrid), "gpus": (gpus, draw_gpus)}


def shown(path):
    """The numbers in a plot's description."""
    text = path.read_text() if path.exists() else ""
    found = re.search(r"<dc:description>(.*?)</dc:description>", text, re.S)
    return json.loads(html.unescape(found[1])) if found else None


def write():
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "poise", "font.family": "sans-serif",
                                "figure.constrained_layout.use": True})
    import matplotlib.pyplot as plt

    PLOTS.mkdir(exist_ok=True)
    for name, (read, draw) in FIGURES.items():
        data = read()
        told = {"Description": json.dumps(data), "Date": None}
        draw(plt, data).savefig(PLOTS / f"{name}.svg", metadata=told)


def main():
    if sys.argv[1:] == ["--check"]:
        old = [name for name, (read, _) in FIGURES.items() if shown(PLOTS / f"{name}.svg") != read()]
        if old:
            raise SystemExit(f"docs/plots/{', '.join(old)}: not what results say, draw anew by {sys.argv[0]}")
    elif sys.argv[1:]:
        raise SystemExit(__doc__)
    else:
        write()


if __name__ == "__main__":
    main()

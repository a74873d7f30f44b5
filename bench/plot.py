#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of what bench/poise_bench has measured.

They show the GB/s of sparse matrix-vector products (SpMV), preconditioners and vectors beside the bandwidth
of copying, and the time of an iteration of each solver. Bars are medians, with a mark at the fastest repeat.
Rows blocks.1, blocks.2, ... give Figure 9 of Eberhardt & Hoemmen 2016: GB/s against the size of blocks, with
a line for each algorithm. A picture without data is not made.

    bench/plot.py results.csv [results_bandwidth.png results_large.png results_small.png results_blocks.png]

Needs matplotlib. Without names the pictures lie beside the results."""
import argparse
import csv
import os
import re

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

COLOURS = plt.get_cmap("tab20").colors


def read(path):
    """The machine's lines and the rows, numbers as numbers."""
    with open(path, newline="") as file:
        lines = file.read().splitlines()
    machine = [line[2:] for line in lines if line.startswith(("# cpu:", "# gpu:", "# driver:", "# date:"))]
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    for row in rows:
        for key in ("median_us", "min_us", "bytes", "gbs", "copy_gbs"):
            row[key] = float(row[key])
    return machine, rows


def group(row):
    return row["row"] + (f" ({row['mode']})" if row["mode"] in ("cold", "warm", "replayed") else "")


def save(figure, machine, path):
    figure.text(0.01, 0.005, "\n".join(machine), fontsize=6, color="gray")
    figure.set_layout_engine("constrained", rect=(0, 0.06, 1, 0.94))
    temporary = path + ".tmp.png"
    figure.savefig(temporary, dpi=120)
    os.replace(temporary, path)
    plt.close(figure)
    print(path)


def bars(rows, machine, title, unit, value, mark, limit, path):
    """Groups of bars, one per contender; limit: None, or what a row's bandwidth is compared with."""
    if not rows:
        return
    groups = list(dict.fromkeys(group(row) for row in rows))
    names = list(dict.fromkeys(f"{row['who']} {row['how']}" for row in rows))
    figure, axes = plt.subplots(figsize=(max(8, 0.28 * len(rows) + 3), 6.5))
    at, ticks = 0.0, []
    for name in groups:
        members = [row for row in rows if group(row) == name]
        for k, row in enumerate(members):
            contender = f"{row['who']} {row['how']}"
            ours = row["who"] == "poise"
            axes.bar(at + k, value(row), color=COLOURS[names.index(contender) % len(COLOURS)],
                     label=contender, edgecolor="black" if ours else "none", linewidth=1.2)
            axes.plot(at + k, mark(row), "k_", markersize=7)
        if limit:
            axes.hlines(limit(members[0]), at - 0.5, at + len(members) - 0.5, colors="black",
                        linestyles="dashed", label="copy")
        ticks.append(at + (len(members) - 1) / 2)
        at += len(members) + 1
    axes.set_xticks(ticks, groups, rotation=40, ha="right")
    axes.set_xlim(-1, at - 1)
    axes.set_ylabel(unit)
    axes.set_title(title)
    axes.grid(axis="y", alpha=0.3)
    labels = dict(zip(*reversed(axes.get_legend_handles_labels())))
    figure.legend(labels.values(), labels.keys(), loc="outside right upper", fontsize=8)
    save(figure, machine, path)


def block_size(row):
    """Of rows that differ in nothing else; None: another row."""
    found = re.fullmatch(r"blocks\.(\d+)(\.file)?", row["row"])
    return int(found.group(1)) if found else None


def sizes(rows, machine, path):
    """Bytes of each format over time, against the size of blocks. Cold times, where caches hold the matrix,
    are dotted."""
    if not rows:
        return
    figure, axes = plt.subplots(figsize=(11, 6.5))
    names = list(dict.fromkeys(f"{row['who']} {row['how']}" for row in rows))
    for name in names:
        ours = name.startswith("poise")
        for mode, line in (("memory", "-"), ("warm", "--"), ("replayed", "-."), ("cold", ":")):
            points = sorted((block_size(row), row["gbs"]) for row in rows
                            if f"{row['who']} {row['how']}" == name and row["mode"] == mode)
            if points:
                axes.plot(*zip(*points), line, color=COLOURS[names.index(name) % len(COLOURS)], marker="o",
                          markersize=3, linewidth=2.2 if ours else 1.2,
                          label=name + ("" if mode == "memory" else f", {mode}"))
    copy = {block_size(row): row["copy_gbs"] for row in rows}
    axes.plot(*zip(*sorted(copy.items())), color="black", linestyle="dashed", linewidth=1, label="copy")
    axes.set_xticks(sorted({block_size(row) for row in rows}))
    axes.set_ylim(bottom=0)
    axes.set_xlabel("rows and columns of a block")
    axes.set_ylabel("GB/s")
    axes.set_title("Products by blocks: bytes of the format (csr: of CSR), over time")
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper", fontsize=8)
    save(figure, machine, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results")
    parser.add_argument("pictures", nargs="*", help="names of the four")
    arguments = parser.parse_args()
    if arguments.pictures and len(arguments.pictures) != 4:
        parser.error("name four pictures, or none")
    stem = os.path.splitext(arguments.results)[0]
    names = [f"{stem}_{name}.png" for name in ("bandwidth", "large", "small", "blocks")]
    bandwidth, large, small, blocks = arguments.pictures or names
    machine, rows = read(arguments.results)
    steps = [row for row in rows if row["mode"] == "step"]
    moved = [row for row in rows
             if row["mode"] not in ("step", "") and row["bytes"] > 0 and not block_size(row)]
    sizes([row for row in rows if block_size(row)], machine, blocks)
    bars(moved, machine, "Bytes that must be moved, over time", "GB/s", lambda row: row["gbs"],
         lambda row: 1e-3 * row["bytes"] / row["min_us"], lambda row: row["copy_gbs"], bandwidth)
    for title, path, wanted in (("An iteration, large systems", large, False),
                                ("An iteration, small systems", small, True)):
        bars([row for row in steps if row["row"].endswith(".small") == wanted], machine, title,
             "microseconds", lambda row: row["median_us"], lambda row: row["min_us"], None, path)


if __name__ == "__main__":
    main()

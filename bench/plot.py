#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of what bench/poise_bench has measured: GB/s of products, preconditioners and vectors beside the bandwidth of copying, and
the time of an iteration of each solver; medians, with a mark at the fastest repeat.

    bench/plot.py results.csv [results_bandwidth.png results_large.png results_small.png]

Needs matplotlib. Without names the pictures lie beside the results."""
import argparse
import csv
import os

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
    return row["row"] + (f" ({row['mode']})" if row["mode"] in ("cold", "warm") else "")


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
            axes.bar(at + k, value(row), color=COLOURS[names.index(contender) % len(COLOURS)], label=contender,
                     edgecolor="black" if ours else "none", linewidth=1.2)
            axes.plot(at + k, mark(row), "k_", markersize=7)
        if limit:
            axes.hlines(limit(members[0]), at - 0.5, at + len(members) - 0.5, colors="black", linestyles="dashed", label="copy")
        ticks.append(at + (len(members) - 1) / 2)
        at += len(members) + 1
    axes.set_xticks(ticks, groups, rotation=40, ha="right")
    axes.set_xlim(-1, at - 1)
    axes.set_ylabel(unit)
    axes.set_title(title)
    axes.grid(axis="y", alpha=0.3)
    labels = dict(zip(*reversed(axes.get_legend_handles_labels())))
    figure.legend(labels.values(), labels.keys(), loc="outside right upper", fontsize=8)
    figure.text(0.01, 0.005, "\n".join(machine), fontsize=6, color="gray")
    figure.set_layout_engine("constrained", rect=(0, 0.06, 1, 0.94))
    temporary = path + ".tmp.png"
    figure.savefig(temporary, dpi=120)
    os.replace(temporary, path)
    plt.close(figure)
    print(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results")
    parser.add_argument("pictures", nargs="*", help="names of the three")
    arguments = parser.parse_args()
    if arguments.pictures and len(arguments.pictures) != 3:
        parser.error("name three pictures, or none")
    stem = os.path.splitext(arguments.results)[0]
    bandwidth, large, small = arguments.pictures or [f"{stem}_{name}.png" for name in ("bandwidth", "large", "small")]
    machine, rows = read(arguments.results)
    steps = [row for row in rows if row["mode"] == "step"]
    moved = [row for row in rows if row["mode"] not in ("step", "") and row["bytes"] > 0]
    bars(moved, machine, "Bytes that must be moved, over time", "GB/s", lambda row: row["gbs"],
         lambda row: 1e-3 * row["bytes"] / row["min_us"], lambda row: row["copy_gbs"], bandwidth)
    for title, path, wanted in (("An iteration, large systems", large, False), ("An iteration, small systems", small, True)):
        bars([row for row in steps if row["row"].endswith(".small") == wanted], machine, title, "microseconds",
             lambda row: row["median_us"], lambda row: row["min_us"], None, path)


if __name__ == "__main__":
    main()

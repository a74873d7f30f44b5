#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of what the finite-element drivers write with -output. Needs matplotlib.

    examples/plot.py beam.vtu beam.csv                   beam.png and beam_history.png
    examples/plot.py --field "von Mises" --warp 300 beam.pvtu

A .vtu or .pvtu gives the surface of the mesh, coloured by a field: the first one of the points, or the one
asked for. Of a vector the colour is its length. The surface is moved by a vector field of the points times
--warp. A .csv gives residual norms over iterations.
"""
import argparse
import base64
import csv
import os
import xml.etree.ElementTree as tree

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import PolyCollection
from mpl_toolkits.mplot3d.art3d import Poly3DCollection

TYPES = {"Float64": "<f8", "Int64": "<i8", "Int32": "<i4", "UInt8": "<u1"}
TETRAHEDRON = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]
BRICK = [[0, 3, 2, 1], [4, 5, 6, 7], [0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7]]
FACES = {5: [[0, 1, 2]], 22: [[0, 3, 1, 4, 2, 5]], 9: [[0, 1, 2, 3]],
         10: TETRAHEDRON, 24: TETRAHEDRON, 12: BRICK}


def array(element):
    """An inline binary DataArray, as examples/fem/output.c writes it: 12 digits of base64 for its length,
    then the data."""
    data = np.frombuffer(base64.b64decode(element.text.strip()[12:]), TYPES[element.get("type")])
    width = int(element.get("NumberOfComponents"))
    return data.reshape(-1, width) if width > 1 else data


def read(path):
    """Points, cells (a row of nodes each), their type, fields of points, fields of cells. The pieces of a
    .pvtu are joined."""
    root = tree.parse(path).getroot()
    if root.get("type") == "PUnstructuredGrid":
        names = [piece.get("Source") for piece in root.iter("Piece")]
        parts = [read(os.path.join(os.path.dirname(path), name)) for name in names]
        parts = [part for part in parts if len(part[1])]
        first = np.cumsum([0] + [len(part[0]) for part in parts])
        join = lambda k: {name: np.concatenate([part[k][name] for part in parts]) for name in parts[0][k]}
        cells = np.concatenate([part[1] + begin for part, begin in zip(parts, first)])
        return np.concatenate([part[0] for part in parts]), cells, parts[0][2], join(3), join(4)
    fields = lambda name: {a.get("Name"): array(a) for a in root.find(f".//{name}")}
    nodes, ends, types = (array(a) for a in root.find(".//Cells"))
    cells = nodes.reshape(len(ends), -1) if len(ends) else np.empty((0, 0), int)
    kind = int(types[0]) if len(types) else 0
    return array(root.find(".//Points")[0]), cells, kind, fields("PointData"), fields("CellData")


def surface(points, cells, kind, pieces):
    """Faces that belong to one cell only, as rows of nodes, and these cells. Pieces have copies of nodes, so
    nodes are the same when their places are."""
    faces = np.concatenate([cells[:, face] for face in FACES[kind]])
    owner = np.tile(np.arange(len(cells)), len(FACES[kind]))
    if kind in (5, 9, 22):
        return faces, owner
    place = np.arange(len(points))
    if pieces > 1:
        _, place = np.unique(np.round(points / np.abs(points).max(), 10), axis=0, return_inverse=True)
    # Each set of nodes gets a number, the sum of random ones of its nodes: fast for millions of faces.
    key = np.zeros(len(faces), np.uint64)
    number = np.random.default_rng(1).integers(0, 2**64, len(points), np.uint64)[place.reshape(-1)]
    for column in faces.T:
        key += number[column]
    _, index, count = np.unique(key, return_index=True, return_counts=True)
    index = index[count == 1]
    return faces[index], owner[index]


def draw(path, field, warp, dpi, out):
    points, cells, kind, of_points, of_cells = read(path)
    pieces = len(np.unique(of_cells["rank"]))
    field = field or next(iter(of_points))
    if field not in of_points and field not in of_cells:
        raise SystemExit(f"{path} has no field '{field}'; it has: {', '.join([*of_points, *of_cells])}")
    faces, owner = surface(points, cells, kind, pieces)
    values = of_points[field] if field in of_points else of_cells[field]
    values = np.linalg.norm(values, axis=1) if values.ndim > 1 else values
    colour = values[faces].mean(axis=1) if field in of_points else values[owner]
    vectors = [v for v in of_points.values() if v.ndim > 1]
    if warp and vectors:
        points = points + warp * vectors[0]
    if kind in (5, 9, 22):
        figure, axes = plt.subplots(figsize=(6, 5))
        picture = PolyCollection(points[faces][:, :, :2], array=colour, edgecolors="face")
        axes.add_collection(picture)
        axes.autoscale_view()
        axes.set_aspect("equal")
    else:
        figure, axes = plt.subplots(figsize=(8, 5), subplot_kw={"projection": "3d"})
        picture = Poly3DCollection(points[faces], array=colour, linewidths=0.2)
        axes.add_collection3d(picture)
        # After the picture has its axes, which "face" asks.
        picture.set_edgecolor((0, 0, 0, 0.3) if len(faces) < 20000 else "face")
        low, high = points.min(axis=0), points.max(axis=0)
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]))
        axes.set_box_aspect(np.maximum(high - low, 0.05 * (high - low).max()))
        for axis, name, ends in zip((axes.xaxis, axes.yaxis, axes.zaxis), "xyz", zip(low, high)):
            axis.set_label_text(name)
            if ends[1] - ends[0] < 0.3 * (high - low).max():
                axis.set_ticks(ends, [f"{end:.1g}" for end in ends])
    figure.colorbar(picture, ax=axes, label=field, shrink=0.7, pad=0.12 if axes.name == "3d" else 0.05)
    figure.savefig(out, dpi=dpi, bbox_inches="tight")


def history(path, dpi, out):
    with open(path, newline="") as file:
        head, *rows = csv.reader(file)
    figure, axes = plt.subplots(figsize=(6, 4))
    axes.semilogy([int(row[0]) for row in rows], [float(row[1]) for row in rows])
    axes.set(xlabel=head[0], ylabel=head[1])
    axes.grid(alpha=0.3)
    figure.savefig(out, dpi=dpi, bbox_inches="tight")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--field", help="what colours the surface")
    parser.add_argument("--warp", type=float, default=0, help="factor of the displacements that are shown")
    parser.add_argument("--dpi", type=int, default=100,
                        help="dots per inch: pictures are about 6 inches wide")
    arguments = parser.parse_args()
    for path in arguments.files:
        stem, ending = os.path.splitext(path)
        out = f"{stem}_history.png" if ending == ".csv" else f"{stem}.png"
        try:
            if ending == ".csv":
                history(path, arguments.dpi, out)
            else:
                draw(path, arguments.field, arguments.warp, arguments.dpi, out)
        except (OSError, tree.ParseError) as error:
            raise SystemExit(f"{path}: {error}") from None
        print(out)


if __name__ == "__main__":
    main()

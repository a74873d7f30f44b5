#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of what the finite-element drivers write and print. Needs matplotlib. Bodies in space are drawn by
PyVista where it is installed, with the same options.

    plot.py --field "von Mises" --warp auto part.vtu      part.png
    plot.py beam.vtu beam.csv                             beam.png and beam_history.png
    plot.py hot.pvd                                       hot.png: some moments, with one scale of colours
    plot.py --history --rtol 1e-8 jacobi.csv icc.csv      residual norms of several solves in one picture
    plot.py --times n4.log n8.log n16.log                 time against unknowns, from the tables of times
    plot.py --surface --field "von Mises" beam.vtu        beam_surface.vtu, small enough to be carried away

A .vtu or .pvtu (-output) gives the surface of the mesh, coloured by a field: the first one of the points, or
--field. Its unit may be left out: "von Mises" is "von Mises [Pa]". Of a vector the colour is its length.
Values of cells are averaged at each node, over the cells of one group; --flat shows them as they are. --warp
moves the surface by its first vector field, so many times; grey lines are the edges of the body at rest. A
.csv has the norms of a solve. A .log is what a driver printed.
"""
import argparse
import base64
import csv
import math
import os
import re
import xml.etree.ElementTree as tree
from xml.sax.saxutils import quoteattr

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.ticker import FuncFormatter, MaxNLocator
from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection

# ---- reading ---------------------------------------------------------------------------------------

TYPES = {"Float64": "<f8", "Float32": "<f4", "Int64": "<i8", "Int32": "<i4", "UInt8": "<u1"}
# By VTK's number of a kind of cell: the loops of nodes, corners and middles of edges, round its faces.
TETRAHEDRON = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]
BRICK = [[0, 3, 2, 1], [4, 5, 6, 7], [0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7]]
LOOPS = {5: [[0, 1, 2]], 22: [[0, 3, 1, 4, 2, 5]], 9: [[0, 1, 2, 3]], 10: TETRAHEDRON, 12: BRICK,
         24: [[0, 6, 2, 5, 1, 4], [0, 4, 1, 8, 3, 7], [1, 5, 2, 9, 3, 8], [0, 7, 3, 9, 2, 6]]}
PLANE = {5, 9, 22}
# Triangles in a loop of so many nodes.
SPLIT = {3: [[0, 1, 2]], 4: [[0, 1, 2], [0, 2, 3]], 6: [[0, 1, 5], [2, 3, 1], [4, 5, 3], [1, 3, 5]]}


def array(element):
    """An inline binary DataArray, as examples/fem/output.c writes it: 12 digits of base64 for its length,
    then the data."""
    data = np.frombuffer(base64.b64decode(element.text.strip()[12:]), TYPES[element.get("type")])
    width = int(element.get("NumberOfComponents", 1))
    return data.reshape(-1, width) if width > 1 else data


def piece(path):
    """Points, cells as (kind, rows of nodes), fields of points, fields of cells."""
    root = tree.parse(path).getroot()
    fields = lambda name: {a.get("Name"): array(a) for a in root.find(f".//Piece/{name}")}
    nodes, ends, types = (array(a) for a in root.find(".//Cells"))
    kind = int(types[0]) if len(types) else 0
    if kind and kind not in LOOPS or np.any(types != kind):
        raise SystemExit(f"{path} has cells that are not drawn: types {sorted(set(types))} of VTK")
    cells = nodes.reshape(len(ends), -1) if len(ends) else np.empty((0, 0), int)
    return array(root.find(".//Points")[0]), (kind, cells), fields("PointData"), fields("CellData")


def read(path):
    """A .vtu, or a .pvtu, whose pieces are joined: the copies of a node in several of them become one."""
    root = tree.parse(path).getroot()
    if root.get("type") != "PUnstructuredGrid":
        return piece(path)
    names = [part.get("Source") for part in root.iter("Piece")]
    parts = [piece(os.path.join(os.path.dirname(path), name)) for name in names]
    parts = [part for part in parts if len(part[1][1])]
    first = np.cumsum([0] + [len(part[0]) for part in parts])
    join = lambda k: {name: np.concatenate([part[k][name] for part in parts]) for name in parts[0][k]}
    points = np.concatenate([part[0] for part in parts])
    cells = np.concatenate([part[1][1] + begin for part, begin in zip(parts, first)])
    size = np.ptp(points, axis=0).max() or 1
    _, keep, one = np.unique(np.round(points / size, 10), axis=0, return_index=True, return_inverse=True)
    of_points = {name: values[keep] for name, values in join(2).items()}
    return points[keep], (parts[0][1][0], one.reshape(-1)[cells]), of_points, join(3)


def moments(path, most):
    """[(time, file)] of a .pvd, at most so many, with equal steps between them, up to the last one."""
    sets = [(float(s.get("timestep")), s.get("file")) for s in tree.parse(path).getroot().iter("DataSet")]
    if not sets:
        raise SystemExit(f"{path} has no moments")
    stride = max(1, (len(sets) - 1) // max(1, min(most, len(sets)) - 1))
    chosen = range(len(sets) - 1, -1, -stride)[:most]
    return [(sets[i][0], os.path.join(os.path.dirname(path), sets[i][1])) for i in reversed(chosen)]


# ---- the surface -----------------------------------------------------------------------------------

class Surface:
    """Triangles with a value at each corner, and lines, of a mesh that may be moved."""

    def __init__(self, path, arguments):
        points, (kind, cells), of_points, of_cells = read(path)
        if not len(cells):
            raise SystemExit(f"{path} has no cells")
        self.plane = kind in PLANE and np.ptp(points[:, 2]) == 0
        self.unit = unit_of(arguments, of_points)
        name, values, at_points = choose(path, arguments, of_points, of_cells)
        loops, owner = outer(len(points), kind, cells)
        group = np.unique(of_cells["group"], return_inverse=True)[1].reshape(-1)
        # Nodes are split where groups meet, so that values of one do not colour the other.
        nodes, self.loops = np.unique(loops + group[owner][:, None] * len(points), return_inverse=True)
        self.loops, nodes = self.loops.reshape(loops.shape), nodes % len(points)
        self.name = arguments.label or name
        self.flat = arguments.flat and not at_points
        if self.flat:
            self.values = np.repeat(values[owner], len(SPLIT[loops.shape[1]]))
        elif at_points:
            self.values = values[nodes]
        else:
            self.values = averaged(values, cells, group, len(points))[group[owner].repeat(loops.shape[1]),
                                                                       loops.reshape(-1)]
            corner = np.empty(len(nodes))
            corner[self.loops.reshape(-1)] = self.values
            self.values = corner
        self.triangles = self.loops[:, SPLIT[loops.shape[1]]].reshape(-1, 3)
        self.rest = points[nodes]
        vectors = [v[nodes] for v in of_points.values() if v.ndim > 1 and v.shape[1] == 3]
        self.warp = factor(arguments.warp, vectors, np.ptp(points, axis=0).max()) if vectors else 0
        self.points = self.rest + self.warp * vectors[0] if self.warp else self.rest
        self.edges = edges(loops, self.loops, self.rest, group[owner])

    def lines(self, points):
        return points[self.edges]


def unit_of(arguments, of_points):
    """Of coordinates. It is metres where displacements are in metres, as elasticity writes them."""
    if arguments.unit is not None:
        return arguments.unit
    return "m" if any(v.ndim > 1 and split(name)[1] == "m" for name, v in of_points.items()) else ""


def choose(path, arguments, of_points, of_cells):
    """The name of a field, its values, of a vector its length, and whether they are of points. A name may be
    one of points and of cells."""
    fields = [(name, v, False) for name, v in of_cells.items()]
    if not arguments.flat:
        fields = [(name, v, True) for name, v in of_points.items()] + fields
    wanted = arguments.field or fields[0][0]
    found = [f for f in fields if f[0] == wanted] or [f for f in fields if split(f[0])[0] == wanted]
    if not found:
        names = ", ".join(dict.fromkeys(name for name, _, _ in fields))
        raise SystemExit(f"{path} has no field '{wanted}'; it has: {names}")
    name, values, at_points = found[0]
    values = np.asarray(values, float)
    return name, np.linalg.norm(values, axis=1) if values.ndim > 1 else values, at_points


def split(name):
    """"von Mises [Pa]" is a name and a unit."""
    found = re.fullmatch(r"(.*?) *\[(.*)\]", name)
    return found.groups() if found else (name, "")


def outer(points, kind, cells):
    """The loops of faces that belong to one cell only, and these cells. In the plane, all cells."""
    loops = np.concatenate([cells[:, loop] for loop in LOOPS[kind]])
    owner = np.tile(np.arange(len(cells)), len(LOOPS[kind]))
    if kind in PLANE:
        return loops, owner
    # Each set of nodes gets a number, the sum of random ones of its nodes: fast for millions of faces.
    key = np.zeros(len(loops), np.uint64)
    number = np.random.default_rng(1).integers(0, 2**64, points, np.uint64)
    for column in loops.T:
        key += number[column]
    _, index, count = np.unique(key, return_index=True, return_counts=True)
    index = index[count == 1]
    return loops[index], owner[index]


def averaged(values, cells, group, points):
    """[group, node]: the mean over the cells of that group around the node."""
    place = (group[:, None] * points + cells).reshape(-1)
    size = (group.max() + 1) * points
    count = np.bincount(place, minlength=size)
    sums = np.bincount(place, np.repeat(values, cells.shape[1]), size)
    return (sums / np.maximum(count, 1)).reshape(-1, points)


def factor(warp, vectors, size):
    """auto: 1, 2 or 5 times a power of ten, by which the largest vector is about a tenth of the body."""
    if warp != "auto":
        return float(warp)
    longest = np.linalg.norm(vectors[0], axis=1).max()
    if longest == 0:
        return 0
    wanted = 0.1 * size / longest
    power = 10.0 ** math.floor(math.log10(wanted))
    return max(m * power for m in (1, 2, 5) if m * power <= wanted)


def edges(loops, corners, points, group):
    """Pairs of corners where the surface ends, bends by 30 degrees, or another group begins."""
    length = loops.shape[1]
    a, b, c = (points[corners[:, (k * length) // 3]] for k in range(3))
    normal = np.cross(b - a, c - a)
    normal /= np.maximum(np.linalg.norm(normal, axis=1), 1e-300)[:, None]
    pair = lambda of: np.stack([of, np.roll(of, -1, axis=1)], axis=2).reshape(-1, 2)
    key, place = np.sort(pair(loops), axis=1), pair(corners)
    order = np.lexsort(key.T)
    face = order // length
    same = np.all(key[order][1:] == key[order][:-1], axis=1)
    smooth = same & (np.sum(normal[face[1:]] * normal[face[:-1]], axis=1) > math.cos(math.pi / 6))
    smooth &= group[face[1:]] == group[face[:-1]]
    inside = np.append(smooth, False) | np.insert(smooth, 0, False)
    repeated = np.insert(same, 0, False)
    return place[order[~inside & ~repeated]]


# ---- drawing ---------------------------------------------------------------------------------------

PREFIX = {-12: "p", -9: "n", -6: "\N{MICRO SIGN}", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T"}


def scaled(name, largest):
    """The label of a colour bar, and by what values are divided: von Mises [MPa], 1e6."""
    name, unit = split(name)
    power = min(12, max(-12, 3 * math.floor(math.log10(largest) / 3))) if largest > 0 else 0
    if unit in ("Pa", "m", "N", "J", "W"):
        return f"{name} [{PREFIX[power]}{unit}]", 10.0 ** power
    if power in (-3, 0, 3):
        return f"{name} [{unit}]" if unit else name, 1.0
    return f"{name} [$10^{{{power}}}$ {unit}".strip() + "]", 10.0 ** power


def lengths(s):
    """The unit of lengths with its prefix, what it is in the mesh's unit, and ticks in it."""
    unit, of, points = s.unit, 1.0, s.rest
    if unit == "m":
        power = 3 * math.floor(math.log10(np.ptp(points, axis=0).max()) / 3)
        unit, of = PREFIX[power] + "m", 10.0 ** power
    return unit, of, FuncFormatter(lambda x, _: f"{round(x / of, 9):g}")


def plane(axes, s, values, norm, arguments):
    if s.flat:
        axes.tripcolor(*s.points[:, :2].T, s.triangles, facecolors=values, norm=norm, cmap=arguments.map)
    else:
        axes.tripcolor(*s.points[:, :2].T, s.triangles, values, shading="gouraud", norm=norm,
                       cmap=arguments.map)
    if s.warp:
        axes.add_collection(LineCollection(s.lines(s.rest)[:, :, :2], colors="0.6", linewidths=0.7))
    axes.add_collection(LineCollection(s.lines(s.points)[:, :, :2], colors="0.15", linewidths=0.7))
    if arguments.edges:
        axes.triplot(*s.points[:, :2].T, s.triangles, color="0.2", linewidth=0.2)
    axes.set_aspect("equal")
    axes.margins(0.02)
    axes.autoscale_view()
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_locator(MaxNLocator(5))
    unit, _, ticks = lengths(s)
    for axis, name in ((axes.xaxis, "x"), (axes.yaxis, "y")):
        axis.set_major_formatter(ticks)
        axis.set_label_text(f"{name} [{unit}]" if unit else name)


def quartered(corners):
    """Each triangle by its middle triangle; corners: [triangles, 3] numbers or points."""
    a, b, c = (corners[:, k] for k in range(3))
    ab, bc, ca = (a + b) / 2, (b + c) / 2, (c + a) / 2
    four = (a, ab, ca), (b, bc, ab), (c, ca, bc), (ab, bc, ca)
    return np.concatenate([np.stack(three, axis=1) for three in four])


def space_matplotlib(axes, s, values, norm, arguments):
    corners = s.points[s.triangles]
    of_corners = np.repeat(values[:, None], 3, axis=1) if s.flat else values[s.triangles]
    while len(corners) < 8000 and not s.flat and not arguments.edges:  # a triangle has one colour here
        corners, of_corners = quartered(corners), quartered(of_corners)
    of_triangles = of_corners.mean(axis=1)
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normal /= np.maximum(np.linalg.norm(normal, axis=1), 1e-300)[:, None]
    right, up, toward = camera(arguments)
    light = 0.7 + 0.3 * np.clip(normal @ (toward + 0.5 * up - 0.4 * right) / 1.2, -1, 1)
    colours = plt.get_cmap(arguments.map)(norm(of_triangles))
    colours[:, :3] *= light[:, None]
    both = np.concatenate([s.points, s.rest])
    # matplotlib sorts by depth what is in one collection. So lines are triangles too, a little nearer.
    lines = s.lines(s.points)
    lines = np.concatenate([lines, lines[:, 1:]], axis=1) + 0.01 * np.ptp(both, axis=0).max() * toward
    rims = np.tile((0, 0, 0, 0.3), (len(colours), 1)) if arguments.edges else colours
    dark = np.tile((0.15, 0.15, 0.15, 1), (len(lines), 1))
    widths = np.repeat((0.2, 0.7), (len(corners), len(lines)))
    axes.add_collection3d(Poly3DCollection(
        np.concatenate([corners, lines]), facecolors=np.concatenate([colours, dark]),
        edgecolors=np.concatenate([rims, dark]), linewidths=widths))
    if s.warp:
        axes.add_collection3d(Line3DCollection(s.lines(s.rest), colors="0.6", linewidths=0.7))
    low, high = both.min(axis=0), both.max(axis=0)
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]))
    axes.set_box_aspect(np.maximum(high - low, 0.02 * (high - low).max()), zoom=0.95)
    axes.view_init(arguments.view[1], arguments.view[0], vertical_axis=arguments.up)
    unit, _, ticks = lengths(s)
    for axis, name, extent in zip((axes.xaxis, axes.yaxis, axes.zaxis), "xyz", high - low):
        share = extent / (high - low).max()
        # Without the ends of long axes, where the labels of two axes meet.
        axis.set_major_locator(MaxNLocator(5 if share > 0.6 else 3 if share > 0.3 else 1,
                                           prune="both" if share > 0.3 else None))
        axis.set_major_formatter(ticks)
        axis.set_label_text(f"{name} [{unit}]" if unit else name)
        axis.set_tick_params(labelsize="small")
    axes.xaxis.labelpad = axes.yaxis.labelpad = 8


def camera(arguments):
    """Right, up and toward the eye, of length 1. Angles are as in matplotlib, about the axis that is up."""
    turn, lift = np.radians(arguments.view)
    at = "xyz".index(arguments.up)
    toward, up = np.empty(3), np.empty(3)
    toward[[(at + 1) % 3, (at + 2) % 3, at]] = (math.cos(lift) * math.cos(turn),
                                                 math.cos(lift) * math.sin(turn), math.sin(lift))
    up[[(at + 1) % 3, (at + 2) % 3, at]] = (-math.sin(lift) * math.cos(turn),
                                             -math.sin(lift) * math.sin(turn), math.cos(lift))
    return np.cross(up, toward), up, toward


def space_pyvista(axes, s, values, norm, arguments, pyvista):
    """The body by PyVista as a picture, then axes and a scale."""
    triangles = np.insert(s.triangles, 0, 3, axis=1)
    body = pyvista.PolyData(s.points, triangles.reshape(-1))
    body[s.name] = values
    right, up, toward = camera(arguments)
    both = np.concatenate([s.points, s.rest])
    flat = np.stack([both @ right, both @ up], axis=1)
    low, high = flat.min(axis=0), flat.max(axis=0)
    wide, tall = 1.04 * np.maximum(high - low, 0.01 * (high - low).max())
    pixels = 1500 / max(wide, tall)
    window = int(wide * pixels), int(tall * pixels)
    plotter = pyvista.Plotter(off_screen=True, window_size=window)
    plotter.set_background("white")
    plotter.add_mesh(body, scalars=s.name, cmap=arguments.map, clim=(norm.vmin, norm.vmax), ambient=0.75,
                     diffuse=0.3, specular=0.1, smooth_shading=not s.flat, split_sharp_edges=not s.flat,
                     show_edges=arguments.edges, edge_opacity=0.3, line_width=1, show_scalar_bar=False)
    for points, colour in ((s.rest, "#999999"), (s.points, "#222222"))[0 if s.warp else 1:]:
        lines = pyvista.PolyData(points, lines=np.insert(s.edges, 0, 2, axis=1).reshape(-1))
        plotter.add_mesh(lines, color=colour, line_width=2.5, lighting=False)
    middle = right * (low + high)[0] / 2 + up * (low + high)[1] / 2 + toward * np.mean(both @ toward)
    plotter.camera_position = [middle + 10 * max(wide, tall) * toward, middle, up]
    plotter.enable_parallel_projection()
    plotter.camera.parallel_scale = tall / 2
    plotter.enable_anti_aliasing("ssaa")
    image = plotter.screenshot(return_img=True)
    plotter.close()
    axes.imshow(image)
    axes.set_axis_off()
    # Below the picture: a bar of known length, and where x, y and z point.
    bar = 10.0 ** math.floor(math.log10(0.4 * wide))
    bar *= max(m for m in (1, 2, 5) if m * bar <= 0.4 * wide)
    unit, _, ticks = lengths(s)
    size, down = max(window), window[1] + 0.06 * max(window)
    side = max(0, 0.4 * window[1] - 0.5 * window[0])  # beside a slender body
    axes.plot([0, bar * pixels], [down, down], color="0.15", linewidth=2, clip_on=False)
    length = f"{ticks(bar)} {unit}".strip()
    axes.text(0.5 * bar * pixels, down + 0.015 * size, length, ha="center", va="top")
    foot = np.array([window[0] + side - 0.1 * size, down + 0.03 * size])
    for name, direction in zip("xyz", np.eye(3)):
        tip = np.array([direction @ right, -direction @ up])
        if np.hypot(*tip) < 0.2:
            continue
        axes.annotate("", foot + 0.08 * size * tip, foot, annotation_clip=False,
                      arrowprops={"arrowstyle": "-|>", "color": "0.15", "shrinkA": 0, "shrinkB": 0})
        letter = foot + (0.08 + 0.02 / np.hypot(*tip)) * size * tip
        axes.text(*letter, name, ha="center", va="center")
    axes.set(xlim=(-side, window[0] + side), ylim=(down + 0.1 * size, 0))


def renderer(name):
    """PyVista, or None for matplotlib."""
    if name == "matplotlib":
        return None
    try:
        import pyvista
        pyvista.vtk_verbosity("off")  # VTK complains where there is no screen
        return pyvista
    except ImportError:
        if name == "pyvista":
            raise SystemExit("PyVista is not installed here") from None
        return None


def fitting(s, arguments):
    """Width and height of a picture of one body, so that it has little white beside it."""
    right, up, _ = camera(arguments)
    both = np.concatenate([s.points, s.rest])
    wide, tall = (np.ptp(both @ a) for a in ((np.eye(3)[0], np.eye(3)[1]) if s.plane else (right, up)))
    body = 4.6 * min(1, wide / tall), 4.6 * min(1, tall / wide)
    return max(3.6, body[0] + 1.8), max(2.4, body[1] + 1.0)


def draw(path, arguments, out):
    times = moments(path, arguments.moments) if path.endswith(".pvd") else [(None, path)]
    surfaces = [Surface(name, arguments) for _, name in times]
    first = surfaces[0]
    low, high = min(s.values.min() for s in surfaces), max(s.values.max() for s in surfaces)
    label, unit = scaled(first.name, max(abs(low), abs(high)))
    if high - low <= 1e-12 * max(abs(low), abs(high)):  # one colour: its value in the middle of the bar
        low, high = low - 0.05 * (abs(low) or 1), high + 0.05 * (abs(high) or 1)
    beyond = "neither"
    if arguments.range:  # an arrow at an end of the bar tells that there are values beyond it
        below, above = low < arguments.range[0], high > arguments.range[1]
        beyond = "both" if below and above else "min" if below else "max" if above else "neither"
        low, high = arguments.range
    norm = matplotlib.colors.Normalize(low / unit, high / unit)
    pyvista = None if first.plane else renderer(arguments.renderer)
    projection = None if first.plane or pyvista else {"projection": "3d"}
    columns = len(surfaces)
    extent = np.ptp(first.points, axis=0)
    rows = 1
    if first.plane and extent[0] > 1.5 * extent[1]:
        rows, columns = columns, 1
    elif columns == 4:
        rows, columns = 2, 2
    size = (8, 7) if (rows, columns) == (2, 2) else (8, 6)
    if len(surfaces) == 1:
        size = fitting(first, arguments)
    elif first.plane and columns == 1:
        size = (6.4, min(7, rows * (0.7 + min(3.6, 5 * extent[1] / extent[0])) + 0.5))
    figure, grid = plt.subplots(rows, columns, squeeze=False, subplot_kw=projection, figsize=size,
                                layout="constrained", sharex=bool(first.plane), sharey=bool(first.plane))
    for axes, s, (time, _) in zip(grid.flat, surfaces, times):
        values = s.values / unit
        if s.plane:
            plane(axes, s, values, norm, arguments)
            axes.label_outer()
        elif pyvista:
            space_pyvista(axes, s, values, norm, arguments, pyvista)
        else:
            space_matplotlib(axes, s, values, norm, arguments)
        if time is not None:
            axes.set_title(f"t = {time:g} {arguments.time_unit}".strip(), fontsize="medium")
    title = arguments.title or f"{os.path.splitext(os.path.basename(path))[0]}: {split(first.name)[0]}"
    if first.warp:
        title += "; " if len(title) < 11 * size[0] - 45 else "\n"  # which has room for so many letters
        title += f"displacements \N{MULTIPLICATION SIGN} {first.warp:g}, lines: at rest"
    figure.suptitle(title)
    bar = figure.colorbar(matplotlib.cm.ScalarMappable(norm, arguments.map), ax=grid, label=label, aspect=30,
                          extend=beyond, shrink=0.9 if first.plane else 0.75,
                          pad=0.02 if projection is None else 0.12)
    bar.locator = MaxNLocator(6)
    bar.update_ticks()
    save(figure, arguments, out)


def save(figure, arguments, out):
    figure.savefig(out, dpi=arguments.dpi, bbox_inches="tight", pad_inches=0.1)
    plt.close(figure)


# ---- the surface as a file -------------------------------------------------------------------------

def write_surface(path, arguments, out):
    """Corners of the surface, the field that colours them and the first vector field, in single precision."""
    points, (kind, cells), of_points, of_cells = read(path)
    name, values, at_points = choose(path, arguments, of_points, of_cells)
    if not at_points:
        raise SystemExit(f"--surface keeps fields of points; '{name}' is one of cells")
    loops, owner = outer(len(points), kind, cells)
    corners = loops[:, ::2] if loops.shape[1] == 6 else loops
    nodes, corners = np.unique(corners, return_inverse=True)
    corners = corners.reshape(len(loops), -1)
    vectors = [(n, v) for n, v in of_points.items() if v.ndim > 1 and v.shape[1] == 3][:1]
    fields = [(name, values)] + [v for v in vectors if v[0] != name]
    of_nodes = [(n, v[nodes].astype("<f4")) for n, v in fields]
    ends = np.arange(1, len(corners) + 1) * corners.shape[1]

    def data(name, array):
        kind = {np.dtype(code): word for word, code in TYPES.items()}[array.dtype]
        width = f' NumberOfComponents="{array.shape[1]}"' if array.ndim > 1 else ""
        text = base64.b64encode(np.uint64(array.nbytes).tobytes()) + base64.b64encode(array.tobytes())
        return (f'<DataArray type="{kind}" Name={quoteattr(name)}{width} format="binary">'
                f"{text.decode()}</DataArray>\n")

    with open(out, "w", encoding="utf-8") as file:
        file.write('<?xml version="1.0"?>\n<VTKFile type="UnstructuredGrid" version="1.0" '
                   'byte_order="LittleEndian" header_type="UInt64">\n<UnstructuredGrid>\n'
                   f'<Piece NumberOfPoints="{len(nodes)}" NumberOfCells="{len(corners)}">\n<PointData>\n')
        for field in of_nodes:
            file.write(data(*field))
        file.write("</PointData>\n<CellData>\n" + data("group", of_cells["group"][owner].astype("<i4")) +
                   "</CellData>\n<Points>\n" + data("points", points[nodes].astype("<f4")) +
                   "</Points>\n<Cells>\n" + data("connectivity", corners.reshape(-1).astype("<i4")) +
                   data("offsets", ends.astype("<i4")) +
                   data("types", np.full(len(corners), 5 if corners.shape[1] == 3 else 9, np.uint8)) +
                   "</Cells>\n</Piece>\n</UnstructuredGrid>\n</VTKFile>\n")


# ---- curves ----------------------------------------------------------------------------------------

STYLES = ["-", "--", "-.", (0, (1, 1)), (0, (5, 1, 1, 1, 1, 1))]


def stem(path):
    return os.path.splitext(os.path.basename(path))[0]


def history(paths, arguments, out):
    """Norms over that of the first iteration, as the test of convergence sees them."""
    figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    labels = arguments.labels.split(",") if arguments.labels else [stem(path) for path in paths]
    if len(labels) != len(paths):
        raise SystemExit(f"--labels has {len(labels)} labels, for {len(paths)} files")
    names = set()
    for k, (path, label) in enumerate(zip(paths, labels)):
        with open(path, newline="", encoding="utf-8") as file:
            head, *rows = csv.reader(file)
        norms = np.array([float(row[1]) for row in rows])
        names.add(head[1])
        if len(norms) == 0 or norms[0] == 0:
            print(f"{path}: no norms to draw")
            continue
        axes.semilogy([int(row[0]) for row in rows], norms / norms[0], linestyle=STYLES[k % len(STYLES)],
                      label=f"{label}: {rows[-1][0]} iterations")
    if arguments.rtol:
        axes.axhline(arguments.rtol, color="0.3", linewidth=1)
        words = "tolerance " + f"{arguments.rtol:g}".replace("e-0", "e-")
        axes.annotate(words, (0.01, arguments.rtol), (0, 3), xycoords=("axes fraction", "data"),
                      textcoords="offset points")
    name = names.pop() if len(names) == 1 else "residual norm"
    axes.set(xlabel="iteration", ylabel=f"{name} / the first one", title=arguments.title)
    axes.set_xlim(left=0)
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.grid(alpha=0.3)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncol=3)
    save(figure, arguments, out)


def table(path):
    """Unknowns, and {stage: seconds}, of the last table of times that a driver printed."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    begin = [m.end() for m in re.finditer(r"^stage +seconds +unknowns/s$", text, re.M)]
    rows = re.findall(r"^(\S+) +([\d.]+) +(\d+)$", text[begin[-1]:], re.M) if begin else []
    stages = {stage: float(seconds) for stage, seconds, _ in rows}
    if not stages.get("all"):
        raise SystemExit(f"{path} has no table of times, as a finite-element driver prints it")
    return stages["all"] * int(rows[-1][2]), stages


def time_plot(paths, arguments, out):
    tables = sorted((table(path) for path in paths), key=lambda t: t[0])
    unknowns = np.array([n for n, _ in tables])
    figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    for k, stage in enumerate(("assembly", "set-up", "solve", "all")):
        points = [(n, stages[stage]) for n, stages in tables if stages.get(stage)]
        if points:
            axes.loglog(*np.array(points).T, marker="o^sD"[k], linestyle=STYLES[k], label=stage)
    all_seconds = tables[-1][1]["all"]
    axes.loglog(unknowns, all_seconds * unknowns / unknowns[-1], color="0.6", linewidth=1,
                label="as the unknowns")
    axes.set(xlabel="unknowns", ylabel="seconds", title=arguments.title)
    axes.grid(alpha=0.3, which="both")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncol=3)
    save(figure, arguments, out)


# ---- the command -----------------------------------------------------------------------------------

def pair(text):
    first, second = (float(word) for word in text.split(","))
    return first, second


def arguments_of(words=None):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("files", nargs="+")
    add("--field", help="what colours the surface")
    add("--label", help="another name of the field, with its unit: 'temperature [K]'")
    add("--map", default="viridis", help="matplotlib's name of the colours; YlOrRd begins light")
    add("--range", type=pair, help="low,high of the colours; else those of the field")
    add("--flat", action="store_true", help="a colour for each cell, not averaged")
    add("--warp", default="0", help="how many times the displacements are shown, or auto")
    add("--view", type=pair, default=(-60, 30), help="where the eye is, degrees: turn,lift (-60,30)")
    add("--up", choices="xyz", default="z", help="the axis that points up")
    add("--edges", action="store_true", help="show the edges of the triangles that are drawn")
    add("--moments", type=int, default=4, help="of a .pvd: at most so many pictures")
    add("--unit", help="of coordinates; else m where displacements are in m")
    add("--time-unit", default="", help="of the times of a .pvd, e.g. s")
    add("--title", help="instead of the name of the file")
    add("--renderer", choices=("pyvista", "matplotlib"), help="of bodies in space")
    add("--history", action="store_true", help="one picture of all .csv files")
    add("--labels", help="of the histories, separated by commas; else the names of their files")
    add("--rtol", type=float, help="the relative tolerance, a line in histories")
    add("--times", action="store_true", help="time against unknowns, from what drivers printed")
    add("--surface", action="store_true", help="write the surface and its field to a file, not a picture")
    add("--output", help="name of the picture, of one")
    add("--dpi", type=int, default=100, help="dots per inch: pictures are about 6 inches wide")
    return parser.parse_args(words)


def main():
    arguments = arguments_of()
    files = arguments.files
    if arguments.times:
        work = [(time_plot, files, f"{os.path.splitext(files[0])[0]}_times.png")]
    elif arguments.surface:
        work = [(write_surface, path, f"{os.path.splitext(path)[0]}_surface.vtu") for path in files]
    elif arguments.history:
        work = [(history, files, f"{os.path.splitext(files[0])[0]}_history.png")]
    else:
        work = [(history, [path], f"{path[:-4]}_history.png") if path.endswith(".csv") else
                (draw, path, f"{os.path.splitext(path)[0]}.png") for path in files]
    if arguments.output and len(work) > 1:
        raise SystemExit("--output is for one picture")
    for make, what, out in work:
        try:
            make(what, arguments, arguments.output or out)
        except (OSError, tree.ParseError) as error:
            raise SystemExit(f"{what}: {error}") from None
        print(arguments.output or out)


if __name__ == "__main__":
    main()

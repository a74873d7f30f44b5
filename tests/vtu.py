# SPDX-License-Identifier: BSD-3-Clause
"""vtu.py <file>...: are these VTU and PVTU files what VTK's XML format asks for?"""
import base64
import os
import struct
import sys
import xml.etree.ElementTree as tree

SIZES = {"Float64": ("d", 8), "Int64": ("q", 8), "Int32": ("i", 4), "UInt8": ("B", 1)}
NODES = {5: 3, 22: 6, 9: 4, 10: 4, 24: 10, 12: 8}


def numbers(array):
    """A binary DataArray: its length in bytes in base64, then the bytes in base64."""
    text = array.text.strip()
    (length,) = struct.unpack("<Q", base64.b64decode(text[:12]))
    data = base64.b64decode(text[12:], validate=True)
    assert len(data) == length, f"{array.get('Name')}: {len(data)} bytes, the head says {length}"
    letter, size = SIZES[array.get("type")]
    return struct.unpack(f"<{length // size}{letter}", data)


def piece(path):
    """Check a VTU; returns names and types of its arrays, and its number of cells."""
    root = tree.parse(path).getroot()
    assert root.get("type") == "UnstructuredGrid" and root.get("header_type") == "UInt64"
    part = root.find("UnstructuredGrid/Piece")
    points, cells = int(part.get("NumberOfPoints")), int(part.get("NumberOfCells"))
    fields = set()
    for name, count in (("PointData", points), ("CellData", cells), ("Points", points)):
        for array in part.find(name):
            values = numbers(array)
            assert len(values) == count * int(array.get("NumberOfComponents")), array.get("Name")
            assert all(v == v and abs(v) < 1e300 for v in values), array.get("Name")
            fields.add((name, array.get("Name"), array.get("type"), array.get("NumberOfComponents")))
    nodes, ends, types = (numbers(array) for array in part.find("Cells"))
    whole = len(ends) == len(types) == cells and set(nodes) == set(range(points))
    assert whole, "a node without a cell, or the reverse"
    begins = (0,) + ends[:-1]
    assert all(end - begin == NODES[kind] for begin, end, kind in zip(begins, ends, types))
    return fields, cells


def index(path):
    """Check a PVTU and its pieces, which must have its arrays; returns the cells of all."""
    root = tree.parse(path).getroot().find("PUnstructuredGrid")
    fields = {(name, array.get("Name"), array.get("type"), array.get("NumberOfComponents"))
              for name in ("PointData", "CellData", "Points") for array in root.find("P" + name)}
    all_cells = 0
    for source in root.findall("Piece"):
        has, cells = piece(os.path.join(os.path.dirname(path), source.get("Source")))
        assert has == fields, f"{source.get('Source')} has {has}, not {fields}"
        all_cells += cells
    return all_cells


for name in sys.argv[1:]:
    print(name, index(name) if name.endswith(".pvtu") else piece(name)[1], "cells")

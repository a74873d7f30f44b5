# SPDX-License-Identifier: BSD-3-Clause
"""vtu.py <file>...: are these VTU, PVTU and PVD files what VTK's XML format asks for?

Where VTK is installed for this Python, its readers must find the same cells, fields and names of groups; else
a line says that they were not asked. vtu.py --times <t>,<t>... <file.pvd>: it has these times.
"""
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


def groups(root):
    """{"group <name>": number} of a VTU, whose cells have groups of these numbers or 0."""
    found = {}
    for array in root.find("UnstructuredGrid/FieldData"):
        assert array.get("type") == "Int32" and array.get("NumberOfTuples") == "1", array.attrib
        assert array.get("Name").startswith("group ") and array.get("Name") not in found, array.get("Name")
        (found[array.get("Name")],) = numbers(array)
    (cells,) = (numbers(array) for array in root.iter("DataArray") if array.get("Name") == "group")
    assert set(cells) <= {0, *found.values()}, f"groups {set(cells)} of {found}"
    return found


def piece(path):
    """Check a VTU; returns names and types of its arrays, and its number of cells."""
    root = tree.parse(path).getroot()
    assert root.get("type") == "UnstructuredGrid" and root.get("header_type") == "UInt64"
    groups(root)
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


def series(path):
    """Check a PVD: its times ascend, its files are there and complete. Returns the times."""
    root = tree.parse(path).getroot()
    assert root.get("type") == "Collection"
    times = [float(part.get("timestep")) for part in root.find("Collection")]
    assert times and times == sorted(set(times)), times
    for part in root.find("Collection"):
        check(os.path.join(os.path.dirname(path), part.get("file")))
    return times


def by_vtk(path, cells):
    """The readers of VTK find in a VTU or PVTU what this program finds."""
    whole = path.endswith(".pvtu")
    reader = vtk.vtkXMLPUnstructuredGridReader() if whole else vtk.vtkXMLUnstructuredGridReader()
    reader.SetFileName(path)
    reader.Update()
    grid, root = reader.GetOutput(), tree.parse(path).getroot()
    assert grid.GetNumberOfCells() == cells, f"{path}: VTK finds {grid.GetNumberOfCells()} cells of {cells}"
    for name, data in (("PointData", grid.GetPointData()), ("CellData", grid.GetCellData())):
        fields = {array.get("Name") for array in root.find(f".//P{name}" if whole else f".//{name}")}
        found = {data.GetArrayName(i) for i in range(data.GetNumberOfArrays())}
        assert found - {"vtkGhostType"} == fields, f"{path}: VTK finds {found}, not {fields}"
    if whole:
        root = tree.parse(os.path.join(os.path.dirname(path), root.find(".//Piece").get("Source"))).getroot()
    data = grid.GetFieldData()
    found = {data.GetArrayName(i): data.GetArray(i).GetTuple1(0) for i in range(data.GetNumberOfArrays())}
    assert found == groups(root), f"{path}: VTK finds the groups {found}, not {groups(root)}"


def check(path):
    cells = index(path) if path.endswith(".pvtu") else piece(path)[1]
    if vtk:
        by_vtk(path, cells)
    return cells


try:
    from vtkmodules import vtkIOXML as vtk
except ImportError:
    vtk = None
    print("skipped: VTK's own readers, which are not here")

names = sys.argv[1:]
if names[0] == "--times":
    expected = [float(word) for word in names[1].split(",")]
    assert series(names[2]) == expected, f"{names[2]} has the times {series(names[2])}, not {expected}"
    names = names[2:]
for name in names:
    print(name, f"{len(series(name))} moments" if name.endswith(".pvd") else f"{check(name)} cells")

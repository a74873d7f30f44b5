// SPDX-License-Identifier: BSD-3-Clause
// A heat sink of aluminium with five fins, and a chip under it, in metres. z is up.
//   gmsh -3 sink.geo -o sink.msh
SetFactory("OpenCASCADE");

Box(1) = {0, 0, 0, 0.04, 0.04, 0.004};           // the base
For k In {0 : 4}
  Box(10 + k) = {0.0005 + 0.009 * k, 0, 0.003, 0.003, 0.04, 0.016};
EndFor
sink() = BooleanUnion { Volume{1}; Delete; } { Volume{10 : 14}; Delete; };
Box(20) = {0.012, 0.012, -0.002, 0.016, 0.016, 0.002};
BooleanFragments { Volume{sink()}; Delete; } { Volume{20}; Delete; }

e = 1e-5;
chip() = Volume In BoundingBox {0.012 - e, 0.012 - e, -0.002 - e, 0.028 + e, 0.028 + e, e};
all() = Volume{:};
all() -= chip();
Physical Volume("aluminium") = all();
Physical Volume("chip") = chip();
outside() = Abs(Boundary { Volume{all()}; });
outside() -= Surface In BoundingBox {-e, -e, -e, 0.04 + e, 0.04 + e, e}; // the lower side of the base
Physical Surface("air") = outside();

Mesh.MeshSizeMax = 0.003;

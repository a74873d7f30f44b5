// SPDX-License-Identifier: BSD-3-Clause
// A heat sink of aluminium on a chip, in metres: gmsh -3 sink.geo -o sink.msh
SetFactory("OpenCASCADE");
side = 0.04; base = 0.004; fins = 7; thick = 0.002; high = 0.018; chip = 0.014; low = 0.002;
Box(1) = {0, 0, 0, side, side, base};
gap = (side - thick) / (fins - 1);
For k In {0 : fins - 1}
  Box(2 + k) = {k * gap, 0, base, thick, side, high};
EndFor
sink() = BooleanUnion{ Volume{1}; Delete; }{ Volume{2 : 1 + fins}; Delete; };
at = (side - chip) / 2;
Box(100) = {at, at, -low, chip, chip, low};
parts() = BooleanFragments{ Volume{sink()}; Delete; }{ Volume{100}; Delete; };
e = 1e-6;
chip() = Volume In BoundingBox{at - e, at - e, -low - e, at + chip + e, at + chip + e, e};
body() = Volume{:};
body() -= chip();
all() = CombinedBoundary{ Volume{:}; };
Physical Volume("sink", 1) = body();
Physical Volume("chip", 2) = chip();
Physical Surface("air", 3) = Abs(all());
Mesh.MeshSizeMax = 0.003;

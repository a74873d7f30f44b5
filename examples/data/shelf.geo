// SPDX-License-Identifier: BSD-3-Clause
// A shelf of steel with a pad of rubber, in metres. A plate at the wall has two holes for bolts, and a rib is under
// the shelf. z is up. Quadratic tetrahedra:
//   gmsh -3 -order 2 shelf.geo -o shelf.msh
// For a part of your own, give its STEP file to Merge in place of the solids, and keep the groups.
SetFactory("OpenCASCADE");

Box(1) = {0, 0, 0, 0.01, 0.08, 0.12};            // the plate at the wall, x = 0
Box(2) = {0, 0, 0.09, 0.1, 0.08, 0.01};          // the shelf
Point(101) = {0.005, 0.036, 0.02};
Point(102) = {0.085, 0.036, 0.095};
Point(103) = {0.005, 0.036, 0.095};
Line(101) = {101, 102};
Line(102) = {102, 103};
Line(103) = {103, 101};
Curve Loop(101) = {101, 102, 103};
Plane Surface(101) = {101};
rib[] = Extrude {0, 0.008, 0} { Surface{101}; };
steel() = BooleanUnion { Volume{1}; Delete; } { Volume{2, rib[1]}; Delete; };
Cylinder(11) = {0, 0.018, 0.04, 0.01, 0, 0, 0.006};
Cylinder(12) = {0, 0.062, 0.04, 0.01, 0, 0, 0.006};
steel() = BooleanDifference { Volume{steel()}; Delete; } { Volume{11, 12}; Delete; };
Box(20) = {0.03, 0.01, 0.1, 0.06, 0.06, 0.008};  // the pad
BooleanFragments { Volume{steel()}; Delete; } { Volume{20}; Delete; }

// Groups: what lies in a box. The pad is what lies above the shelf, and keeps its number.
e = 1e-4;
pad() = Volume In BoundingBox {0.03 - e, 0.01 - e, 0.1 - e, 0.09 + e, 0.07 + e, 0.108 + e};
all() = Volume{:};
all() -= pad();
Physical Volume("steel") = all();
Physical Volume("rubber") = pad();
Physical Surface("wall") = Surface In BoundingBox {-e, -e, -e, e, 0.08 + e, 0.12 + e};
Physical Surface("bolts") = {Surface In BoundingBox {-e, 0.012 - e, 0.034 - e, 0.01 + e, 0.024 + e, 0.046 + e},
                             Surface In BoundingBox {-e, 0.056 - e, 0.034 - e, 0.01 + e, 0.068 + e, 0.046 + e}};
Physical Surface("top") = Surface In BoundingBox {0.03 - e, 0.01 - e, 0.108 - e, 0.09 + e, 0.07 + e, 0.108 + e};

Mesh.MeshSizeMax = 0.008;
Mesh.MeshSizeFromCurvature = 12;                 // elements around a hole

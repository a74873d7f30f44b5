// SPDX-License-Identifier: BSD-3-Clause
// A bracket, in metres: an L of 0.1 x 0.1, 0.02 wide and deep, with a rounded inner corner and a hole in its foot.
// bracket.msh and bracket2.msh, a few hundred nodes each, are made of it by
//   gmsh -3 -format msh41 bracket.geo -o bracket.msh
//   gmsh -3 -format msh22 bracket.geo -o bracket2.msh
// and finer ones with -clscale 0.5; -order 2 gives tetrahedra of 10 nodes.
size = 0.014;
width = 0.02;
fillet = 0.01;
radius = 0.005;

Point(1) = {0, 0, 0, size};
Point(2) = {0.1, 0, 0, size};
Point(3) = {0.1, width, 0, size};
Point(4) = {width + fillet, width, 0, size / 2};
Point(5) = {width + fillet, width + fillet, 0, size};
Point(6) = {width, width + fillet, 0, size / 2};
Point(7) = {width, 0.1, 0, size};
Point(8) = {0, 0.1, 0, size};
Line(1) = {1, 2};
Line(2) = {2, 3};
Line(3) = {3, 4};
Circle(4) = {4, 5, 6};
Line(5) = {6, 7};
Line(6) = {7, 8};
Line(7) = {8, 1};

Point(10) = {0.07, width / 2, 0, size};
Point(11) = {0.07 + radius, width / 2, 0, size / 2};
Point(12) = {0.07, width / 2 + radius, 0, size / 2};
Point(13) = {0.07 - radius, width / 2, 0, size / 2};
Point(14) = {0.07, width / 2 - radius, 0, size / 2};
Circle(11) = {11, 10, 12};
Circle(12) = {12, 10, 13};
Circle(13) = {13, 10, 14};
Circle(14) = {14, 10, 11};

Line Loop(1) = {1, 2, 3, 4, 5, 6, 7};
Line Loop(2) = {11, 12, 13, 14};
Plane Surface(1) = {1, 2};
out[] = Extrude {0, 0, width} { Surface{1}; }; // [0] the top, [1] the volume, then the sides in the order of the lines

Physical Volume("steel") = {out[1]};
Physical Surface("fixed") = {out[7]}; // the end of the upright part, y = 0.1
Physical Surface("load") = {out[3]};  // the end of the foot, x = 0.1
Physical Surface("hole") = {out[9], out[10], out[11], out[12]};
Physical Surface("walls") = {1, out[0], out[2], out[4], out[5], out[6], out[8]};

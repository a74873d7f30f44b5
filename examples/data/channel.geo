// SPDX-License-Identifier: BSD-3-Clause
// A stream of water between two plates, in metres. It enters on the left. A part of the lower plate is heated from
// below.
//   gmsh -2 channel.geo -o channel.msh
length = 0.06;
plate = 0.002;
gap = 0.008;
fine = 0.0002;                                   // at the lower plate
coarse = 0.0006;

Point(1) = {0, 0, 0, coarse};
Point(2) = {0.015, 0, 0, fine};
Point(3) = {0.035, 0, 0, fine};
Point(4) = {length, 0, 0, coarse};
Point(5) = {length, plate, 0, fine};
Point(6) = {length, plate + gap, 0, coarse};
Point(7) = {length, 2 * plate + gap, 0, coarse};
Point(8) = {0, 2 * plate + gap, 0, coarse};
Point(9) = {0, plate + gap, 0, coarse};
Point(10) = {0, plate, 0, fine};
Line(1) = {1, 2};
Line(2) = {2, 3};
Line(3) = {3, 4};
Line(4) = {4, 5};
Line(5) = {5, 6};
Line(6) = {6, 7};
Line(7) = {7, 8};
Line(8) = {8, 9};
Line(9) = {9, 10};
Line(10) = {10, 1};
Line(11) = {10, 5};
Line(12) = {9, 6};
Curve Loop(1) = {1, 2, 3, 4, -11, 10};
Curve Loop(2) = {11, 5, -12, 9};
Curve Loop(3) = {12, 6, 7, 8};
Plane Surface(1) = {1};
Plane Surface(2) = {2};
Plane Surface(3) = {3};

Physical Surface("plates") = {1, 3};
Physical Surface("water") = {2};
Physical Curve("inlet") = {9};
Physical Curve("outlet") = {5};
Physical Curve("heated") = {2};
Physical Curve("rest") = {1, 3, 4, 6, 7, 8, 10};

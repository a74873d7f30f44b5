// SPDX-License-Identifier: BSD-3-Clause
// A channel with a bend and a heater in its wall, in metres: gmsh -2 channel.geo -o channel.msh
wide = 0.03; long = 0.15; high = 0.07; h = 0.0012;
Point(1) = {0, 0, 0, h};
Point(2) = {0.03, 0, 0, h};
Point(3) = {0.09, 0, 0, h};
Point(4) = {long, 0, 0, h};
Point(5) = {long, high, 0, h};
Point(6) = {long - wide, high, 0, h};
Point(7) = {long - wide, wide, 0, h};
Point(8) = {0, wide, 0, h};
For k In {1 : 7}
  Line(k) = {k, k + 1};
EndFor
Line(8) = {8, 1};
Line(9) = {4, 7}; // the stream turns where the legs meet: its normal component is the same on both sides
Curve Loop(1) = {1, 2, 3, 9, 7, 8};
Curve Loop(2) = {4, 5, 6, -9};
Plane Surface(1) = {1};
Plane Surface(2) = {2};
Physical Surface("along", 1) = {1};
Physical Surface("up", 2) = {2};
Physical Curve("inlet", 3) = {8};
Physical Curve("heater", 4) = {2};
Physical Curve("outlet", 5) = {5};

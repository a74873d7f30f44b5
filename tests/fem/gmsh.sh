#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# gmsh.sh <folder of the examples>
# Meshes that the program gmsh writes, in all its versions. The judge is poisson: on a boundary that is not
# closed, or has a facet twice, it fails.
set -euo pipefail
if ! command -v gmsh > /dev/null; then
  echo "skipped: the program gmsh is not here"
  exit 77
fi
# shellcheck source=tests/fem/begin.sh
. "$(dirname "${BASH_SOURCE[0]}")/begin.sh"

numbers()
{
  "$bin/poisson" -ksp_rtol 1e-12 "$@" > log 2>&1 || fail "poisson $*:" "$(cat log)"
  awk '/^(tri|quad|tet|hex)/ { print $1, $2, $3, $5, $6 }' log
}

# mesh <name> <options of gmsh>...: of $name.geo, or of another file
mesh()
{
  gmsh "${@:2}" -v 1 -o "$1" > said 2>&1 || fail "gmsh ${*:2}:" "$(cat said)"
}

# One mesh gives the same numbers in each version that is not read here, and in binary.
numbers -mesh "$bracket" -dirichlet 2,3 > one
[ "$(wc -l < one)" -eq 1 ] || fail "$(cat one)"
for version in msh1 "msh22 -bin" msh40 "msh41 -bin"; do
  # shellcheck disable=SC2086 # two words
  mesh saved.msh "$bracket" -save -format $version
  numbers -mesh saved.msh -dirichlet 2,3 | diff one - || fail "other numbers of $version"
done
# A script that gmsh would run beside a file of this name is not run.
echo 'SystemCall "touch harm";' > saved.msh.opt
numbers -mesh saved.msh -dirichlet 2,3 | diff one - || fail "other numbers beside a script"
[ ! -e harm ] || fail "gmsh ran a script"
head -c 1000 saved.msh > cut.msh
refused "cut.msh: gmsh, called to save it as text, has failed: Error" \
  poisson -mesh cut.msh -dirichlet none

# A plate with a disc of another material, in groups that overlap. Version 2 gives their elements twice.
cat > plate.geo << 'EOF'
SetFactory("OpenCASCADE");
Rectangle(1) = {-1, -1, 3, 2, 2};
Disk(2) = {0, 0, 3, 0.5};
BooleanFragments{ Surface{1}; Delete; }{ Surface{2}; Delete; }
Physical Surface("all", 1) = Surface{:};
Physical Surface("disc", 2) = {2};
Physical Curve("seam", 7) = Boundary{ Surface{2}; };
Physical Curve("edge", 8) = CombinedBoundary{ Surface{:}; };
Physical Curve("left", 9) = Curve In BoundingBox{-1.1, -1.1, 2, -0.9, 1.1, 4};
Mesh.MeshSizeMax = 0.4;
EOF
for version in msh22 msh41; do
  mesh plate.msh plate.geo -2 -format $version
  numbers -mesh plate.msh -dirichlet edge > edge
  numbers -mesh plate.msh -dirichlet edge,left -ranks 3 | diff edge - || fail "the left edge counts twice"
  numbers -mesh plate.msh -dirichlet left > left
  ! cmp -s edge left || fail "the left edge is all of it"
  refused "group 'seam' lies inside the body, where each of its facets is between two cells" \
    poisson -mesh plate.msh -dirichlet seam
done
mesh plate.msh plate.geo -2 -order 2
numbers -mesh plate.msh -dirichlet left | grep -q '^tri6' || fail "$(cat log)"
mesh plate.msh plate.geo -2 -setnumber Mesh.RecombineAll 1 -setnumber Mesh.SubdivisionAlgorithm 1
numbers -mesh plate.msh -dirichlet left | grep -q '^quad4' || fail "$(cat log)"
mesh plate.msh plate.geo -2 -order 2 -setnumber Mesh.RecombineAll 1 -setnumber Mesh.SubdivisionAlgorithm 1
refused "(quad9) are not read; tri3, tri6, quad4, tet4, tet10 and hex8 are: mesh it in order 1" \
  poisson -mesh plate.msh -dirichlet left
{ cat plate.geo && echo 'Recombine Surface{2};'; } > mixed.geo
mesh mixed.msh mixed.geo -2
refused "does not fit the cells, which are" poisson -mesh mixed.msh -dirichlet left

# Layers of bricks, then of prisms.
cat > layers.geo << 'EOF'
SetFactory("OpenCASCADE");
Rectangle(1) = {0, 0, 0, 2, 1};
Transfinite Surface{1};
out[] = Extrude {0.3, 0, -1} { Surface{1}; Layers{3}; Recombine; };
Physical Volume("body") = {out[1]};
Physical Surface("skin") = {1, out[0], out[2], out[3], out[4], out[5]};
Mesh.MeshSizeMax = 0.4;
EOF
mesh prisms.msh layers.geo -3
refused "elements of type 6 (prisms) are not read" poisson -mesh prisms.msh -dirichlet skin
{ cat layers.geo && echo 'Recombine Surface{1};'; } > bricks.geo
mesh bricks.msh bricks.geo -3
numbers -mesh bricks.msh -dirichlet skin -ranks 2 | grep -q '^hex8' || fail "$(cat log)"

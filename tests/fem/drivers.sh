#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# drivers.sh <folder of the examples> [words that start 3 processes]
# The finite-element drivers: what they say of bad input, and what they write. Ranks and ways of assembly
# change no result. The programs judge their own results.
set -euo pipefail
# shellcheck source=tests/fem/begin.sh
. "$(dirname "${BASH_SOURCE[0]}")/begin.sh"

refused "no value is prescribed on the boundary" poisson -dirichlet none -output x
refused "no group 'lid'; it has: left (1), right (2), bottom (3), top (4)" \
  poisson -cell tri3 -dirichlet left,lid
# The cell that is named is the first of those that fold over, on rank 0.
refused "cell 2 (quad4, nodes 2 3 28 27)" poisson -cell quad4 -n 24 -bump 0.4 -ranks 2
refused "is inverted or flat" poisson -cell tet10 -n 4 -bump 0.4 -assembly coo
refused "cell 2 (quad4, nodes 2 3 28 27)" poisson -cell quad4 -n 24 -bump 0.4 -assembly device
# A side on a plane through the origin.
awk '$2 == 2 && $5 == 30 { $4 = 0 } { print }' "${bracket%.msh}2.msh" > open.msh
refused "a part of the boundary is in no physical group" poisson -mesh open.msh -dirichlet load
# bow <group of the first side> <group of the outer sides>: two triangles that meet in the origin. 0: in no
# group. Of a side at the origin x . n is 0: only the sum of the normals lacks it. The normals of the outer
# sides sum up to 0: only the sum of x . n lacks them.
bow()
{
  cat << EOF
\$MeshFormat
2.2 0 8
\$EndMeshFormat
\$Nodes
5
1 0 0 0
2 1 0 0
3 0 1 0
4 -1 0 0
5 0 -1 0
\$EndNodes
\$Elements
8
1 2 2 9 9 1 2 3
2 2 2 9 9 1 4 5
3 1 2 $2 $2 2 3
4 1 2 1 1 3 1
5 1 2 1 1 1 4
6 1 2 $2 $2 4 5
7 1 2 1 1 5 1
8 1 2 $1 $1 1 2
\$EndElements
EOF
}
bow 1 1 > closed.msh
"$bin/poisson" -mesh closed.msh -dirichlet 1 > log || fail "$(cat log)"
bow 0 1 > open.msh
refused "a part of the boundary is in no physical group: over what is, normals sum up to (0, 1, 0)" \
  poisson -mesh open.msh -dirichlet 1
bow 1 0 > open.msh
refused "or x . n to 0 and not to 2" poisson -mesh open.msh -dirichlet 1
refused "is a null space only where no u is given" poisson -nullspace -output x
refused "falls with order" poisson -cell tri6 -n 2 -shape ring
refused "beam theory says" elasticity -n 1 -cell tet4
refused "a multiple of 4 bricks" elasticity -n 2 -contrast 3
refused "give the material of each group of cells" elasticity -mesh "$bracket" -contrast 3
refused "body has no group 'rubber'; it has: steel (1)" \
  elasticity -mesh "$bracket" -material "rubber: E = 1, nu = 0.3" -output x
refused "boundary has no group 'lid'; it has: fixed (2)" \
  elasticity -mesh "$bracket" -loads "lid: pressure = 1" -output x
refused "nothing acts on what is free" elasticity -mesh "$bracket" -loads "2: pressure = 1"
refused "-cell is for meshes that the program makes, not beside -mesh" \
  poisson -mesh "$bracket" -cell tet4 -dirichlet fixed
refused "-bump is for meshes" poisson -mesh "$bracket" -bump 0.1 -dirichlet fixed -ranks 3
refused "-n is for meshes" elasticity -mesh "$bracket" -n 4
refused "-mesh: give -boundary" poisson -mesh "$bracket"
refused "-mesh, -plane and -initial are for a problem of your own" heat -mesh "$bracket"
refused "-mesh is for a problem of your own" convection -mesh "$bracket"
refused "/dev/zero is not a text: byte 1 is 0" poisson -mesh /dev/zero -dirichlet none
{ printf '$MeshFormat\n2.2 0 8\n' && head -c 40000000 /dev/zero | tr '\0' '\n'; } > blank.msh
refused "blank.msh, line 2: more than 16777216 blanks" poisson -mesh blank.msh -dirichlet none
refused "'part.msh' is neither an option" elasticity part.msh
refused "where it should be exact" convection -stabilise no -solution layer
refused "did not converge: DIVERGED_ITS" heat -ksp_max_it 2
refused "x/beam.vtu cannot be written" elasticity -output x/beam
refused "x/hot.vtu cannot be written" heat -n 100 -steps 1000000 -output x/hot # before the work
mkdir beam_1.vtu.part # one of three ranks cannot write
refused "beam_1.vtu cannot be written" elasticity -output beam -ranks 3
rmdir beam_1.vtu.part
mkdir beam_0.vtu # nor can the only one give its file its name
refused "beam_0.vtu cannot be written" elasticity -output beam_0
rmdir beam_0.vtu

# An error is printed once, whether one rank found it or all.
once()
{
  refused "$@"
  [ "$(grep -c '^poise: ' log)" -eq 1 ] || fail "${*:2} printed more than one error:" "$(cat log)"
}
once "no group 'lid'" poisson -cell tri3 -dirichlet lid -ranks 3
# The same of processes, with the words to start them: a rank's, everybody's, before there are ranks.
once_mpi()
{
  env -u OMPI_MCA_ess_singleton_isolated "${mpi[@]}" "$bin/$2" "${@:3}" > log 2>&1 &&
    fail "${*:2} did not fail"
  grep -qF -- "$1" log && [ "$(grep -c '^poise: ' log)" -eq 1 ] || fail "${*:2} on processes:" "$(cat log)"
}
if [ ${#mpi[@]} -gt 0 ]; then
  once_mpi "vtu cannot be written" heat -output x/hot
  once_mpi "no group 'lid'" poisson -cell tri3 -dirichlet lid
  once_mpi "-mesh is for a problem of your own" convection -mesh "$bracket"
  once_mpi "no matrix: give -A" solve
  once_mpi "-device" heat -device abacus
fi

# The errors and orders are the same on any number of ranks, also on more than there are bricks, and by any
# assembly. Only rounding differs between numbers of ranks.
numbers()
{
  [[ $* == *-mesh* ]] || set -- -n 4 -refinements 0 "$@"
  "$bin/poisson" -ksp_rtol 1e-12 "$@" > log || fail "poisson $*:" "$(cat log)"
  awk '/^(tri|quad|tet|hex)/ { print $1, $2, $3, $5, $6 }' log
}
numbers -shape ring -grading 3 > one
[ "$(wc -l < one)" -eq 6 ] || fail "$(cat one)"
numbers -shape ring -grading 3 -ranks 5 | diff one - || fail "other numbers on 5 ranks"
numbers -shape ring -grading 3 -ranks 3 -assembly coo -check_assembly -device mock | diff one - ||
  fail "other numbers by triplets"
numbers -shape ring -grading 3 -ranks 2 -assembly device -check_assembly | diff one - ||
  fail "other numbers from the operator"
"$bin/elasticity" -support none -cell hex8 -ranks 2 -assembly coo -check_assembly > log || fail "$(cat log)"
front="load: force = 0 -1000 0"
"$bin/elasticity" -mesh "$bracket" -loads "$front" -material "steel: E = 7e10, nu = 0.3" -assembly device \
  -check_assembly -ranks 3 > log || fail "$(cat log)"
"$bin/convection" -assembly device -check_assembly -ranks 2 > log || fail "$(cat log)"
"$bin/heat" -assembly device -check_assembly -ranks 2 > log || fail "$(cat log)"
# by <way> <program> <options>...: it tells that its matrices were assembled so
by()
{
  "$bin/$2" "${@:3}" > log 2>&1 || fail "${*:2}:" "$(cat log)"
  grep -qxF "Assembled by -assembly $1." log || fail "${*:2} was not assembled by $1:" "$(cat log)"
}
# The default, auto, takes the device's way on the mock, which plays a GPU, wherever that way can be taken.
own=(-boundary "left: value = 1; right: transfer = 2, outside = 3")
stream="body: conductivity = 1, velocity = 1 0"
by elements poisson -cell quad4 -device host
by elements heat -n 4 -steps 2 -device host
by device poisson -cell quad4 -device mock -check_assembly
by device convection -device mock -check_assembly -ranks 2
by device heat -n 4 -steps 2 -device mock -check_assembly
by blocks elasticity -device mock -check_assembly -ranks 2
by blocks elasticity -cell hex8 -n 2 -poisson 0.45 -support none -device mock -check_assembly -ranks 2
by elements poisson -cell quad4 -n 4 "${own[@]}" -device mock
by elements convection -n 4 -material "$stream" "${own[@]}" -device mock
by elements heat -n 4 -steps 2 "${own[@]}" -device mock
by coo poisson -cell quad4 -assembly coo -device mock # as the user wants it
numbers -shape ring -grading 3 -device mock | diff one - || fail "other numbers by the device's way"
grep -qxF "Assembled by -assembly device." log || fail "$(cat log)"

# Matrices by columns, and as triplets, have the solutions of others, on the device that multiplies them. They
# offer no preconditioner but jacobi, and no sums.
for held in pcsc pcoo; do
  numbers -mat_type csr > one
  numbers -mat_type $held -ksp_view -ranks 3 -device mock | diff one - || fail "other numbers by type $held"
  grep -q "^Mat: type $held" log || fail "no matrix of type $held:" "$(cat log)"
  numbers -mat_type $held | diff one - || fail "other numbers by type $held on one rank"
  "$bin/poisson" -cell quad4 -dirichlet none -nullspace -mat_type $held -ranks 2 > log || fail "$(cat log)"
  "$bin/convection" -mat_type $held -ranks 3 > log || fail "$(cat log)"
  "$bin/elasticity" -cell hex8 -n 2 -poisson 0.45 -support none -mat_type $held -ranks 2 > log ||
    fail "$(cat log)"
  refused "type $held" poisson -mat_type $held -pc_type ilu
  refused "-mat_type $held: a step adds matrices" heat -mat_type $held
  for ranks in 1 3; do
    for device in host mock; do
      for type in csr $held; do
        "$bin/solve" -A "$here/../../examples/data/plate.mtx" -x $type.mtx -mat_type $type -ksp_type cg \
          -pc_type jacobi -ksp_rtol 1e-12 -ranks $ranks -device $device > log || fail "$(cat log)"
      done
      paste csr.mtx $held.mtx | awk '
        !/^%/ && NF == 2 { d = $1 - $2; e += d * d; s += $1 * $1; n++ }
        END { exit !(n > 1 && e <= 1e-20 * s) }' || fail "solve: another x by type $held"
    done
  done
done
numbers -cell tet10 -n 1 > one
numbers -cell tet10 -n 1 -ranks 3 | diff one - || fail "other numbers on ranks of which two have no cells"
numbers -mesh "$bracket" -dirichlet fixed,load > one
numbers -mesh "$bracket" -dirichlet 2,3 | diff one - || fail "other numbers by the numbers of groups"
# u is given on the group of this name, whatever its number is, and on no other.
awk 'NF == 3 && /"fixed"/ { $2 = 7 } NF == 8 && $2 == 2 && $4 == 2 { $4 = 7 } { print }' \
  "${bracket%.msh}2.msh" > renumbered.msh
for group in fixed load; do
  numbers -mesh "${bracket%.msh}2.msh" -dirichlet "$group" > "on_$group"
  numbers -mesh renumbered.msh -dirichlet "$group" | diff "on_$group" - ||
    fail "other numbers where '$group' has another number or place"
done
! cmp -s one on_fixed && ! cmp -s one on_load && ! cmp -s on_fixed on_load ||
  fail "u is given on the same groups, whichever are named"
"$bin/elasticity" -mesh "$bracket" -loads "$front" -material "steel: E = 2e5, nu = 0.3" > log ||
  fail "$(cat log)"
"$bin/heat" -steps 5 -end 1e5 -theta 1 > log || fail "$(cat log)" # the guess is 1e5 times too large
"$bin/heat" -n 4 -steps 50 -end 20 -theta 1 > log || fail "$(cat log)" # until nothing is left
"$bin/poisson" -cell quad4 -dirichlet none -nullspace -ranks 2 > log || fail "$(cat log)"

# Meshes. No name is no mesh. What is not read here the program gmsh saves as text; a script is in its place.
# Rank 0 alone calls it, without the name of the file.
refused "-mesh: the name of a file is missing" poisson -mesh ""
refused "-mesh: the name of a file is missing" elasticity -mesh " " -output x
foreign='./-o $(touch harm); touch harm.msh'
sed '2s/4.1 0/4 0/' "$bracket" > "$foreign"
program()
{
  mkdir -p bin
  printf '#!/bin/sh\necho "$*" >> calls\nfor out; do :; done\n%s\n' "$1" > bin/gmsh
  chmod +x bin/gmsh
}
program "cat '$bracket' > \"\$out\""
PATH=$dir/bin:$PATH numbers -mesh "$foreign" -dirichlet fixed,load -ranks 3 > converted
PATH=$dir/bin:$PATH numbers -mesh "$foreign" -dirichlet fixed,load | diff one - ||
  fail "other numbers of what gmsh saved"
[ "$(wc -l < converted)" -eq 1 ] && [ "$(grep -c '^/dev/fd/' calls)" -eq 2 ] && ! grep -q harm calls ||
  fail "gmsh was not called once each, with open files:" "$(cat calls)"
program "echo no luck; exit 1"
PATH=$dir/bin:$PATH once "has failed: no luck" poisson -mesh "$foreign" -dirichlet fixed -ranks 3
# mpiexec may put a gmsh that is installed before it, which fails as well
sed -i '/^[$]Nodes/q' "$foreign"
[ ${#mpi[@]} -eq 0 ] || PATH=$dir/bin:$PATH once_mpi "to save it as text, has failed" \
  poisson -mesh "$foreign" -dirichlet fixed

"$bin/elasticity" -output beam > log || fail "$(cat log)"
"$bin/elasticity" -mesh "$bracket" -loads "$front" -output part > log || fail "$(cat log)"
"$bin/elasticity" -output "parts & more" -ranks 3 > log || fail "$(cat log)"
"$bin/poisson" -output u > log || fail "$(cat log)"
"$bin/heat" -output hot -every 10 > log || fail "$(cat log)"
[ -z "$(find . -name '*.part')" ] || fail "unfinished files were left"
[ "$(ls hot_*.vtu | wc -l)" -eq 2 ] || fail "heat wrote $(ls hot*)"
if ! command -v python3 > /dev/null; then
  echo "skipped: python3, which reads the files, is not here"
  exit 77
fi
python3 "$here/vtu.py" beam.vtu part.vtu "parts & more.pvtu" u_*.vtu hot_*.vtu

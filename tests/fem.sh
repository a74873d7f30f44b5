#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# fem.sh <folder of the examples> [words that start 3 processes]
# The finite-element drivers: what they say of bad input, and what they write. Ranks and ways of assembly
# change no result. The programs judge their own results.
set -euo pipefail
bin=$(cd "$1" && pwd)
mpi=("${@:2}")
tests=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bracket=$tests/../examples/data/bracket.msh
export OMP_NUM_THREADS=1
export OMPI_MCA_ess_singleton_isolated=1 # short runs: Open MPI need not start a daemon for each
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

fail()
{
  printf '%s\n' "$@"
  exit 1
}

# refused <words of the message> <program> <options>...: fails with code 1 and these words, and leaves no
# file.
refused()
{
  local words=$1 code=0
  shift
  "$bin/$1" "${@:2}" > log 2>&1 || code=$?
  [ $code -eq 1 ] && grep -qF -- "$words" log || fail "$* (code $code) did not say '$words':" "$(cat log)"
  [ -z "$(find . -name '*vtu*' -type f -o -name '*.csv*' -type f)" ] || fail "$* left a file"
}

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
refused "-mesh and -initial are for a problem of your own" heat -mesh "$bracket"
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
"$bin/elasticity" -assembly blocks -check_assembly -ranks 2 -device mock > log || fail "$(cat log)"
front="load: force = 0 -1000 0"
"$bin/elasticity" -mesh "$bracket" -loads "$front" -material "steel: E = 7e10, nu = 0.3" -assembly device \
  -check_assembly -ranks 3 > log || fail "$(cat log)"
"$bin/convection" -assembly device -check_assembly -ranks 2 > log || fail "$(cat log)"
"$bin/heat" -assembly device -check_assembly -ranks 2 > log || fail "$(cat log)"
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

# ---- elasticity of parts ----------------------------------------------------------------------
# says <words> <options>...: elasticity succeeds and says them
says()
{
  "$bin/elasticity" "${@:2}" > log 2>&1 && grep -qF -- "$1" log ||
    fail "elasticity ${*:2} did not say '$1':" "$(cat log)"
}
# value <word>: the first number of the line of the log that begins with it
value()
{
  awk -v word="$1" 'index($0, word) == 1 {
    for (i = 2; i <= NF; i++) if ($i ~ /^-?[0-9]/) { print $i; exit } }' log
}
# close <a> <b>: to five digits
close()
{
  awk -v a="$1" -v b="$2" 'BEGIN { d = a - b; exit !(a != 0 && d * d <= 1e-10 * a * a) }' ||
    fail "$1 is not $2"
}

# cubes <axis>: eight cubes, of which the node in the middle has moved. Cells in the upper half of the axis, 1
# or 3, are core, else shell.
cubes()
{
  awk -v axis="$1" 'BEGIN {
    printf "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n4\n2 1 \"fixed\"\n2 2 \"load\"\n"
    printf "3 3 \"shell\"\n3 4 \"core\"\n$EndPhysicalNames\n$Nodes\n27\n"
    for (k = 0; k < 27; k++)
      print k + 1, k % 3 / 2 + (k == 13) * 0.05, int(k / 3) % 3 / 2 + (k == 13) * 0.05, int(k / 9) / 2
    printf "$EndNodes\n$Elements\n16\n"
    for (c = 0; c < 8; c++) {
      x = c % 2; o = x + int(c / 2) % 2 * 3 + int(c / 4) * 9 + 1
      print c + 1, 5, 2, 3 + (axis == 1 ? x : int(c / 4)), 1, \
        o, o + 1, o + 4, o + 3, o + 9, o + 10, o + 13, o + 12
      o += x
      print c + 9, 3, 2, 1 + x, 1, o, o + 3, o + 12, o + 9
    }
    print "$EndElements" }'
}
cubes 1 > cubes.msh
cubes 3 > layers.msh
says "balance " -mesh cubes.msh
says "balance " -mesh cubes.msh -poisson 0.45 -assembly device -check_assembly -ranks 3
says "deflection" -cell hex8 # of its own n
says "warning        tet4 locks" -mesh "$bracket" -poisson 0.45
says "reaction" -mesh cubes.msh -support "fixed: x = 0, y = 0, z = 0; load: x = 0.001" \
  -material "shell: E = 1e9, nu = 0.3; core: E = 2e9, nu = 0.3"
printf 'shell, core: # both\n  E = 2e11, nu = 0.3,\n  density = 8000 # kg/m^3\n' > steel.txt
# Each layer has a stress of its own, which is exact.
says "stress error   0.0 %" -mesh layers.msh -support "fixed; load: x = 0.001" \
  -material "shell: E = 1e9, nu = 0; core: E = 1e6, nu = 0"
says "balance " -mesh cubes.msh -material @steel.txt -body "shell, core: gravity = 0 0 -10"
grep -q "^load .* -8.000000e+04 N" log || fail "the weight of the cubes is not 80 kN:" "$(cat log)"

# The files are there, though the check fails.
"$bin/elasticity" -cell hex8 -n 4 -output coarse > log 2>&1 && fail "a beam that is too stiff was accepted"
grep -q "beam theory says" log && [ -s coarse.vtu ] && [ -s coarse.csv ] || fail "no files:" "$(cat log)"
rm coarse.*

# A part that is rotated and far away has the same energy and stresses.
says "balance " -mesh "${bracket%.msh}2.msh" -loads "load: force = 300 -1000 200"
energy=$(value energy) mises=$(value "von Mises")
awk '/^\$/ { nodes = $1 == "$Nodes" }
     nodes && NF == 4 { $0 = sprintf("%s %.17g %.17g %.17g", $1, $4 + 30, $2 - 50, $3 + 20) } { print }' \
  "${bracket%.msh}2.msh" > far.msh
says "balance " -mesh far.msh -loads "load: force = 200 300 -1000" -ranks 2
close "$(value energy)" "$energy"
close "$(value "von Mises")" "$mises"

refused "-material says nothing of cells in 'core'" \
  elasticity -mesh cubes.msh -material "shell: E = 1, nu = 0.3" -output x
refused "none.txt cannot be read" elasticity -mesh cubes.msh -material @none.txt
refused "there is no 'pressur'" elasticity -mesh cubes.msh -loads "load: pressur = 1" -output x
refused "3 rigid motions of the body, one is a shift along (0, 1, 0)" \
  elasticity -mesh cubes.msh -support "load: x = 0"
refused "gravity on 'shell' needs its density" elasticity -mesh cubes.msh -body "shell: gravity = 0 0 -10"
refused "compared with the answer for a bar" elasticity -support none -loads "top: pressure = 1"
refused "-plane is for meshes in the plane" elasticity -mesh cubes.msh -plane strain
refused "-plane is for meshes in the plane" elasticity -plane strain

# A square in the plane, of two triangles.
cat > square.msh << EOF
\$MeshFormat
2.2 0 8
\$EndMeshFormat
\$PhysicalNames
3
1 1 "fixed"
1 2 "load"
2 3 "plate"
\$EndPhysicalNames
\$Nodes
4
1 1 0 0
2 2 0 0
3 2 1 0
4 1 1 0
\$EndNodes
\$Elements
4
1 2 2 3 1 1 2 3
2 2 2 3 1 1 3 4
3 1 2 1 1 1 2
4 1 2 2 1 3 4
\$EndElements
EOF
refused "say of what it is a section" elasticity -mesh square.msh
refused "is assembled by -assembly elements or coo" \
  elasticity -mesh square.msh -plane axisymmetric -assembly device
sed 's/^1 1 0 0$/1 -1 0 0/' square.msh > left.msh
refused "x is the radius" elasticity -mesh left.msh -plane axisymmetric
for kind in strain stress axisymmetric; do says "balance " -mesh square.msh -plane $kind; done
says "warning        tri3 locks" -mesh square.msh -plane strain -poisson 0.45
says "balance " -mesh square.msh -plane stress -poisson 0.45 -output plate
! grep -q warning log || fail "a plate in plane stress does not lock:" "$(cat log)"

# ---- problems of their own: poisson, heat, convection

# square <kind> <x> <y> <size>: a square there of 4 x 4 bricks. Its left half is group one, its right half
# two; its boundary is left, right and sides.
square()
{
  awk -v kind="$1" -v x0="$2" -v y0="$3" -v size="$4" '
    function Node(i, j) { return 1 + i + 9 * j } # on a lattice of half bricks
    function Tri6(group, a, b, c, d, e, f) { print ++n, 9, 2, group, group, a, b, c, d, e, f }
    BEGIN {
      print "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n5\n1 1 \"left\"\n1 2 \"right\""
      print "1 3 \"sides\"\n2 8 \"one\"\n2 9 \"two\"\n$EndPhysicalNames\n$Nodes\n81"
      for (j = 0; j < 9; j++)
        for (i = 0; i < 9; i++) printf "%d %.17g %.17g 0\n", Node(i, j), x0 + size * i / 8, y0 + size * j / 8
      print "$EndNodes\n$Elements\n" (kind == "quad4" ? 32 : 48)
      for (j = 0; j < 8; j += 2)
        for (i = 0; i < 8; i += 2) {
          g = i < 4 ? 8 : 9
          a = Node(i, j); b = Node(i + 2, j); c = Node(i + 2, j + 2); d = Node(i, j + 2)
          m = Node(i + 1, j + 1)
          if (kind == "quad4") print ++n, 3, 2, g, g, a, b, c, d
          if (kind == "tri3") print ++n, 2, 2, g, g, a, b, c "\n" ++n, 2, 2, g, g, a, c, d
          if (kind == "tri6") {
            Tri6(g, a, b, c, Node(i + 1, j), Node(i + 2, j + 1), m)
            Tri6(g, a, c, d, m, Node(i + 1, j + 2), Node(i, j + 1))
          }
        }
      for (k = 0; k < 8; k += 2) {
        Edge(1, 0, k, 0, 1); Edge(2, 8, k, 0, 1); Edge(3, k, 0, 1, 0); Edge(3, k, 8, 1, 0)
      }
      print "$EndElements"
    }
    function Edge(group, i, j, di, dj) {
      printf "%d %d 2 %d %d ", ++n, kind == "tri6" ? 8 : 1, group, group
      printf "%d %d", Node(i, j), Node(i + 2 * di, j + 2 * dj)
      if (kind == "tri6") printf " %d", Node(i + di, j + dj)
      print ""
    }'
}

# good <program> <options>...: succeeds
good()
{
  "$bin/$1" "${@:2}" > log 2>&1 || fail "$* failed:" "$(cat log)"
}

# near <number> <must> <tolerance>, with the log if it is not
near()
{
  awk -v is="$1" -v must="$2" -v tolerance="$3" \
    'BEGIN { d = is - must; exit is == "" || !(d <= tolerance && -d <= tolerance) }' ||
    fail "$1 must be $2 to $3:" "$(cat log)"
}

# flow <name> <must> [<tolerance>]: what flows in by this cause, and the sum is 0
flow()
{
  near "$(awk -v name="$1 " 'index($0, name) == 1 { $0 = substr($0, length(name)); print $1 }' log)" "$2" \
    "${3:-1e-5}"
  near "$(awk '/^sum/ { print $2 }' log)" 0 "${3:-1e-5}"
}

# Two layers and a coefficient of transfer in a row are known. Sides without data are tight.
layers=(-material "one: conductivity = 1; two : conductivity=4"
  -boundary "left:value=1; right : transfer = 2, outside = 3")
with_capacity="one: conductivity = 1, capacity = 2; two: conductivity = 4, capacity = 3"
still="one: conductivity = 1; two: conductivity = 4, velocity = 0 0"
for kind in tri3 tri6 quad4; do
  square $kind 0 0 1 > square.msh
  for ranks in 1 3; do
    good poisson -mesh square.msh "${layers[@]}" -ranks $ranks
    flow right 1.7777778
    flow left -1.7777778
    grep -qF "u is in [1, 2.11111], by the maximum principle in [1, 3]" log || fail "$(cat log)"
    good convection -mesh square.msh -material "$still" "${layers[@]:2}" -ranks $ranks
    flow right 1.7777778
    good heat -mesh square.msh -initial 2 -material "$with_capacity" "${layers[@]:2}" -theta 1 -end 1e6 \
      -steps 3 -ranks $ranks -assembly elements
    flow right 1.7777778
    flow "stored (taken away)" 0
  done
done
if [ ${#mpi[@]} -gt 0 ]; then
  env -u OMPI_MCA_ess_singleton_isolated "${mpi[@]}" \
    "$bin/poisson" -mesh square.msh "${layers[@]}" > log 2>&1 || fail "$(cat log)"
  flow right 1.7777778
fi
good poisson -mesh square.msh \
  -material "one: conductivity = 1, source = 3; two: conductivity = 4, source = -1" \
  -boundary "left, right: value = 7; sides: flux = 0.25"
flow source 1
flow sides 0.5
flow "left, right" -1.5
grep -q "by the maximum principle in \[-inf, inf\]" log || fail "$(cat log)"
for sign in "1 [0, inf]" "-1 [-inf, 0]"; do
  good poisson -cell quad4 -n 4 -boundary "left: value = 0" \
    -material "body: conductivity = 1, source = ${sign%% *}"
  grep -qF "by the maximum principle in ${sign#* }" log || fail "$(cat log)"
  good poisson -cell quad4 -n 4 -boundary "left: value = 0; right: flux = ${sign%% *}"
  grep -qF "by the maximum principle in ${sign#* }" log || fail "$(cat log)"
done
good poisson -mesh "$bracket" -boundary "fixed: value = 1; load: flux = 1" -ksp_rtol 1e-2
grep -q "Warning: the balance is open" log || fail "$(cat log)"
# In space: -div grad u = 1 in a square with u = 0 around it.
for n in 8 16 32; do
  good poisson -cell quad4 -n $n -bump 0 -material "body: conductivity = 1, source = 1" \
    -boundary "left, right, bottom, top: value = 0"
  awk -F '[][, ]+' '/^u is in/ { print $5 }' log
done > largest
near "$(tail -n 1 largest)" 0.0736714 0.0001
near "$(awk '{ u[NR] = $1 } END { print log((u[1] - u[2]) / (u[2] - u[3])) / log(2) }' largest)" 2 0.1
# The stream carries u = 0 in; what comes in on the right leaves with it: beta u.
good convection -n 16 -material "body: conductivity = 0.02, velocity = 2 0" \
  -boundary "left: value = 0; right: value = 1"
flow "carried by the stream" -2
flow right 2
! grep Warning log || fail "a layer along the stream has no overshoot"
# Exact at nodes: u = B (exp(8 x) - 1), where the outflow exchanges.
good convection -n 4 -material "body: conductivity = 1, velocity = 8 0" \
  -boundary "left: value = 0; right: transfer = 10, outside = 1"
near "$(awk -F '[][, ]+' '/^u is in/ { print $5 }' log)" 0.5554727 2e-6

# A body of nearly one u that loses it on the left: u = 3 + 2 exp(-t).
order() # order <of the error in time> <options>...
{
  local steps
  for steps in 10 20 40; do
    good heat -mesh square.msh -material "one, two: conductivity = 1e4, capacity = 2" -initial 5 \
      -boundary "left: transfer = 2, outside = 3" -end 1 -steps $steps "${@:2}"
    awk -v n=$steps '$1 == n && NF == 5 { print $5 }' log
  done > largest
  near "$(tail -n 1 largest)" 3.735759 0.02
  near "$(awk '{ u[NR] = $1 } END { print log((u[1] - u[2]) / (u[2] - u[3])) / log(2) }' largest)" "$1" 0.15
}
order 2
order 1 -theta 1
order 2 -start 0
good heat -cell quad4 -n 4 -boundary "left: flux = 3" -end 10
flow left 3
near "$(awk '/^left/ { print $3 }' log)" 30 1e-5 # since time 0
# Of the box, which begins with a jump: a largest u that does not come from swings.
for steps in 10 20 40; do
  good heat -cell quad4 -n 16 -end 0.03 -steps $steps -ksp_rtol 1e-12
  awk -v n=$steps '$1 == n && NF == 7 { print $5 }' log
done > largest
near "$(awk '{ u[NR] = $1 } END { print log((u[1] - u[2]) / (u[2] - u[3])) / log(2) }' largest)" 2 0.15
good heat
near "$(awk '/largest error/ { print $8 }' log)" 0 2
! grep Warning log || fail "heat swings by default"
good heat -n 4 -steps 1 -end 1e-12 # in no time
refused "swings from step to step" heat -n 12 -steps 10 -start 0
jump=(heat -cell quad4 -material "body: conductivity = 1, capacity = 1" -initial 1 -steps 5)
good "${jump[@]}" -n 12 -boundary "left, bottom: value = 0; right: transfer = 5, outside = -1"
grep -q "by the maximum principle in \[-1, 1\]" log && ! grep Warning log || fail "$(cat log)"
good "${jump[@]}" -n 40 -boundary "left: value = 0" -start 0
grep -q "Warning: u leaves this range" log || fail "$(cat log)"
good heat -mesh "$bracket" -initial 20 -end 50 \
  -material "steel: conductivity = 50, capacity = 3.6e6, source = 1e5" \
  -boundary "fixed: value = 100; load: flux = 1000; hole: transfer = 25, outside = 20" -ranks 3
flow load 0.4

# SUPG leaves the range of a layer across the stream, which is told and no failure.
good convection -solution skew -peclet 1e6
grep -q "Warning: u leaves this range" log || fail "$(cat log)"
near "$(awk -F '[][, ]+' '/^u is in/ { print $5 }' log)" 1.117 0.002
near "$(awk -F '[][, ]+' '/^u is in/ { print $4 }' log)" -0.048 0.002

# The judgement does not depend on where a part is, nor on its unit of length.
for place in "0 0 1" "1234567890.1 -234567890.7 1" "0 0 1000" "1e-9 0 1e-6"; do
  # shellcheck disable=SC2086
  square quad4 $place > square.msh
  good poisson -mesh square.msh -dirichlet " left , right"
  awk -v size="${place##* }" '/^quad/ { printf "%.3e %.3e\n", $5 / size, $6 }' log
done | uniq | awk 'END { exit NR != 1 }' || fail "other errors elsewhere"
sed '/ 1 2 3 3 /d; s/^32$/24/' square.msh > open.msh
refused "a part of the boundary is in no physical group" poisson -mesh open.msh -dirichlet left

# Output comes before judgement.
judged()
{
  local file=$1
  shift
  ! "$bin/$1" "${@:2}" > log 2>&1 && [ -s "$file" ] || fail "$* left no $file:" "$(cat log)"
  rm -f ./*.vtu ./*.csv
}
judged swing_0010.vtu heat -n 12 -steps 10 -start 0 -output swing
judged sharp_layer.vtu convection -stabilise no -solution layer -output sharp
judged coarse_tri6.vtu poisson -cell tri6 -n 2 -shape ring -refinements 2 -output coarse

box=(poisson -cell quad4 -n 4)
refused "no group 'lid'" "${box[@]}" -boundary "lid: value = 1"
refused "so u is not unique" "${box[@]}" -boundary "left: flux = 1"
refused "so u is not unique" "${box[@]}" -material "body: conductivity = 1"
refused "'left' has neither value, flux nor transfer" "${box[@]}" -boundary "left"
refused "'left' has a value, and so nothing else" "${box[@]}" -boundary "left: value = 1, flux = 1"
refused "must have both" "${box[@]}" -boundary "left: transfer = 1"
refused "transfer = -1 in" "${box[@]}" -boundary "left: transfer = -1, outside = 1"
refused "group 1 is twice" "${box[@]}" -boundary "left: value = 1; 1: value = 2"
refused "'body' has no conductivity" "${box[@]}" -material "body: source = 1" -boundary "left: value = 1"
refused "there is no 'capacity' in" "${box[@]}" -material "body: capacity = 1" -boundary "left: value = 1"
refused "-dirichlet is for the problem with a known solution" \
  "${box[@]}" -boundary "left: value = 1" -dirichlet left
refused "take elements or coo" "${box[@]}" -boundary "left: value = 1" -assembly device
refused "'body' has no capacity" heat -material "body: conductivity = 1"
refused "cells of 'two' have no data" \
  poisson -mesh square.msh -material "one: conductivity = 1" -boundary "1: value = 1"
refused "velocity in 'body: conductivity = 1, velocity = 1' has 1 numbers, must have 2" \
  convection -material "body: conductivity = 1, velocity = 1" -boundary "left: value = 1"
refused "the angle must be between 0 and 90" convection -solution skew -angle 90

# ---- what is written

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
python3 "$tests/vtu.py" beam.vtu part.vtu plate.vtu "parts & more.pvtu" u_*.vtu hot_*.vtu

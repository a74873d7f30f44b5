#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# problems.sh <folder of the examples> [words that start 3 processes]
# poisson, heat and convection on problems of their own: exact solutions, balance, ranges, orders in time.
set -euo pipefail
# shellcheck source=tests/fem/begin.sh
. "$(dirname "${BASH_SOURCE[0]}")/begin.sh"

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
good poisson -mesh "$bracket" -boundary "fixed: value = 1; load: flux = 1" -ksp_rtol 1e-2 -pc_type jacobi
grep -q "Warning: the balance is open" log || fail "$(cat log)"
good convection -n 16 -material "body: conductivity = 1, velocity = 1 0" \
  -boundary "right: transfer = 2, outside = 3" # u = 3: nothing flows
! grep -q Warning log || fail "nothing flows, and does not balance:" "$(cat log)"
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

# The wall of a pipe, radii 1 and 2, length 1: u = 1 - log2(r). Flows are of the whole pipe.
pipe=(-mesh square.msh -plane axisymmetric)
turn=6.283185307
for kind in tri3 tri6 quad4; do
  square $kind 1 0 1 > square.msh
  through=9.0647203 # 2 pi / log 2
  good poisson "${pipe[@]}" -boundary "left: value = 1; right: value = 0" -ranks 2
  grep -q "^of revolution .* radius 1 to 2, length 1, volume 9.42478" log || fail "$(cat log)"
  [ $kind = tri6 ] && within=0.001 || within=0.05
  flow left $through $within
  flow right -$through $within
  # In what leaves on the outside, nothing is left to the mesh.
  good poisson "${pipe[@]}" -boundary "left: flux = 3; right: transfer = 2, outside = 5"
  flow left "$(awk -v t=$turn 'BEGIN { print 3 * t }')" 1e-4
  near "$(awk -F '[][, ]+' '/^u is in/ { print $4 }' log)" 5.75 0.01
  near "$(awk -F '[][, ]+' '/^u is in/ { print $5 }' log)" 7.8294415 0.03 # + 3 log 2
  # A good conductor, of volume 3 pi, that loses heat on the outside, of area 4 pi: u = 3 + 2 exp(-4/3 t).
  good heat "${pipe[@]}" -material "one, two: conductivity = 1e4, capacity = 2" -initial 5 \
    -boundary "right: transfer = 2, outside = 3" -end 1 -steps 40
  near "$(awk '$1 == 40 && NF == 5 { print $5 }' log)" 3.5271943 0.001
  near "$(awk '/^right/ { print $3 }' log)" -27.762 0.01 # since time 0
done
# On the axis the error falls like h^2 log h.
for n in 8 16 32; do
  good poisson -cell quad4 -n $n -bump 0 -plane axisymmetric -material "body: conductivity = 1, source = 4" \
    -boundary "right: value = 1"
  awk -F '[][, ]+' '/^u is in/ { print $5 - 2 }' log # on the axis u is 2
done > largest
near "$(awk '{ u[NR] = $1 } END { print log(u[2] / u[3]) / log(2) }' largest)" 1.85 0.15
square quad4 -1 0 1 > left.msh
refused "x is the radius" poisson -mesh left.msh -plane axisymmetric -boundary "left: value = 1"
refused "-plane is for meshes in the plane" \
  poisson -cell hex8 -n 2 -plane axisymmetric -boundary "left: value = 1"
refused "-plane is for a problem of your own" poisson -cell quad4 -plane axisymmetric

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

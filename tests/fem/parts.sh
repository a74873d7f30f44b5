#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# parts.sh <folder of the examples>
# elasticity of parts: materials, supports and loads of groups; what it warns of, and what it refuses.
set -euo pipefail
# shellcheck source=tests/fem/begin.sh
. "$(dirname "${BASH_SOURCE[0]}")/begin.sh"

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
# A mesh in millimetres; the part, made of water, tells its size and mass.
says "body           0.1 x 0.1 x 0.1 m, volume 0.001 m^3, mass 1 kg" -mesh cubes.msh -mesh_scale 0.1 \
  -material "shell, core: E = 1e9, nu = 0.3, density = 1000"
says "displacement" -mesh "$bracket"
! grep -q mass log || fail "a mass without density:" "$(cat log)"
refused "-mesh_scale is of a mesh that is read" elasticity -mesh_scale 0.001

# Load cases that are solved at once are what they are alone, to the bit; they also differ much, and are more
# than one group. A case may be what supports and body forces do.
first="load: force = 0 -1000 0" second="load: pressure = 1e-5; load: force = 1e-3 0 0"
on=(-device host -mesh "$bracket")
"$bin/elasticity" "${on[@]}" -loads "$first | $second" -output two > log || fail "$(cat log)"
"$bin/elasticity" "${on[@]}" -loads "$first" -output first > log || fail "$(cat log)"
"$bin/elasticity" "${on[@]}" -loads "$second" -output second > log || fail "$(cat log)"
for kind in vtu csv; do
  cmp two_case1.$kind first.$kind && cmp two_case2.$kind second.$kind || fail "load cases are not as alone"
done
printf '%s | # gravity alone\n' "$first" > cases.txt
says "load case 2" -mesh cubes.msh -material @steel.txt -body "shell, core: gravity = 0 0 -10" \
  -support "fixed: x = 0.001, y = 0, z = 0" -loads @cases.txt -ranks 3 -device mock -output cases
grep -q "^load .* -1.000000e+03  -8.000000e+04 N" log && [ -s cases_case2.pvtu ] || fail "cases:" "$(cat log)"
echo "load: force = 1 0 0" > many.txt
for force in {2..33}; do echo "| load: force = $force 0 0" >> many.txt; done
says "load case 33" -mesh cubes.msh -loads @many.txt
[ "$(awk '/in all$/ { right += $2 == ++k } END { print right }' log)" = 33 ] || fail "33 cases:" "$(cat log)"
rm two_* first.* second.* cases_*
mkdir two_case2.vtu.part
refused "two_case2.vtu cannot be written" elasticity -mesh "$bracket" -loads "$first | $second" -output two
rmdir two_case2.vtu.part
refused "load case 2: nothing acts" elasticity -mesh "$bracket" -loads "$first |"
refused "no group 'load | fixed'" elasticity -mesh "$bracket" -support "load | fixed"
refused "-save_system writes one b and x" elasticity -mesh "$bracket" -loads "$first | $second" -save_system x

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

# Two tetrahedra that share an edge, each held.
cat > hinge.msh << EOF
\$MeshFormat
2.2 0 8
\$EndMeshFormat
\$PhysicalNames
3
2 1 "fixed"
2 2 "load"
3 3 "body"
\$EndPhysicalNames
\$Nodes
6
1 0 0 0
2 1 0 0
3 0 1 0
4 0 0 1
5 0 -1 0
6 0 0 -1
\$EndNodes
\$Elements
4
1 4 2 3 1 1 2 3 4
2 4 2 3 1 1 2 5 6
3 2 2 1 1 1 3 4
4 2 2 2 1 1 5 6
\$EndElements
EOF
says "joined by edges or nodes alone" -mesh hinge.msh -support "fixed; load: x = 0.01, y = 0, z = 0"

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
says "Assembled by -assembly blocks." -mesh square.msh -plane stress -device mock -check_assembly
says "Assembled by -assembly elements." -mesh square.msh -plane axisymmetric -device mock -check_assembly
says "warning        tri3 locks" -mesh square.msh -plane strain -poisson 0.45
says "balance " -mesh square.msh -plane stress -poisson 0.45 -output plate
! grep -q warning log || fail "a plate in plane stress does not lock:" "$(cat log)"

# strip <radius> <width>: a wall of 4 x 200 cells of this width in the plane, of height 1.
strip()
{
  awk -v x0="$1" -v width="$2" '
    function Node(i, j) { return 1 + i + 5 * j }
    BEGIN {
      print "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n4"
      print "1 1 \"inner\"\n1 2 \"bottom\"\n1 3 \"top\"\n2 9 \"steel\"\n$EndPhysicalNames\n$Nodes\n1005"
      for (j = 0; j <= 200; j++)
        for (i = 0; i < 5; i++) printf "%d %.17g %.17g 0\n", Node(i, j), x0 + width * i, 0.005 * j
      print "$EndNodes\n$Elements\n1008"
      for (j = 0; j < 200; j++) {
        for (i = 0; i < 4; i++)
          print ++n, 3, 2, 9, 9, Node(i, j), Node(i + 1, j), Node(i + 1, j + 1), Node(i, j + 1)
        print ++n, 1, 2, 1, 1, Node(0, j), Node(0, j + 1)
      }
      for (i = 0; i < 4; i++)
        print ++n, 1, 2, 2, 2, Node(i, 0), Node(i + 1, 0) "\n" ++n, 1, 2, 3, 3, Node(i, 200), Node(i + 1, 200)
      print "$EndElements"
    }'
}
strip 1 0.005 > strip.msh
# Multigrid knows the motions of a section, though two of them are not rigid. (Else it takes some 500.)
says "balance " -mesh strip.msh -plane axisymmetric -support "bottom: y = 0" -loads "inner: pressure = 1e5"
[ "$(value iterations)" -lt 40 ] || fail "multigrid lacks motions of the section:" "$(cat log)"
# Stiff along, soft across: norms are small before forces along the strip balance. So the solve goes on. It is
# near enough to balance that rounding decides, which this way of assembly fixes.
strip 1 0.0017 > thin.msh
wall=(-mesh thin.msh -plane strain -support "bottom: y = 0; top: x = 0" -loads "inner: pressure = 1e5"
  -pc_amg_smoother jacobi -assembly elements -device host)
says "iterations more, for the balance" "${wall[@]}" -output wall
awk -F, -v its="$(($(value iterations) + $(value "solved on")))" \
  'NR > 1 { if ($1 != NR - 2) exit 1 } END { exit NR != its + 2 }' wall.csv ||
  fail "the history is not that of all iterations:" "$(cat log wall.csv)"
awk -v off="$(value balance)" 'BEGIN { exit !(off < 1e-6) }' || fail "no balance:" "$(cat log)"
says "load case 2" "${wall[@]}" -loads "inner: pressure = 1e5 | inner: pressure = 1e5" -output walls
cmp wall.csv walls_case1.csv && cmp wall.csv walls_case2.csv || fail "cases are not as far in balance"
says "of the balance open: lower -ksp_rtol" "${wall[@]}" -ksp_rtol 1e-3
! grep -q "iterations more" log || fail "the user's tolerance was not enough:" "$(cat log)"

if ! command -v python3 > /dev/null; then
  echo "skipped: python3, which reads the files, is not here"
  exit 77
fi
python3 "$here/vtu.py" plate.vtu

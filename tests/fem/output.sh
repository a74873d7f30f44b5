#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# output.sh <folder of the examples>
# What the finite-element drivers leave: solutions in time, linear systems, pictures of all of it.
set -euo pipefail
# shellcheck source=tests/fem/begin.sh
. "$(dirname "${BASH_SOURCE[0]}")/begin.sh"

# Series in time. One that cannot write its third moment leaves a .pvd of two.
"$bin/fem_output" -output series || fail "the series was not written"
"$bin/fem_output" -output "s & <t>" -ranks 3 || fail "the series was not written on ranks"
mkdir cut_0003.vtu series_.pvd
"$bin/fem_output" -output cut > log 2>&1 && fail "a series without its third file"
"$bin/fem_output" -output series_ > log 2>&1 && fail "a series without its .pvd"
grep -qF "series_.pvd cannot be written" log || fail "$(cat log)"

# -save_system: solve finds the same x; on ranks and in both formats, and the system of a failed solve too.
# same <file of x> <another>: to 1e-7 of the largest entry.
same()
{
  paste "$1" "$2" | awk 'BEGIN { d = m = 0 }
    function abs(x) { return x < 0 ? -x : x }
    NF == 2 { d = abs($1 - $2) > d ? abs($1 - $2) : d; m = abs($1) > m ? abs($1) : m }
    END { exit !(m > 0 && d <= 1e-7 * m) }' || fail "$1 and $2 differ"
}
mkdir systems && cd systems
for name in one.mtx two.petsc.gz; do
  "$bin/elasticity" -n 2 -save_system "$name" -ksp_rtol 1e-11 -ranks 2 > log || fail "$(cat log)"
done
"$bin/heat" -n 6 -steps 2 -save_system heat -ksp_rtol 1e-11 > log || fail "$(cat log)"
"$bin/convection" -n 6 -save_system flow.bin -ksp_rtol 1e-11 > log || fail "$(cat log)"
"$bin/poisson" -cell tri6 -n 4 -refinements 0 -save_system u.mtx -pc_type jacobi -ksp_max_it 2 > log 2>&1 &&
  fail "a solve of two iterations"
# solved <A> <b> <x of the driver, or - for any>
solved()
{
  "$bin/solve" -A "$1" -b "$2" -x again.mtx -ksp_type bicgstab -pc_type jacobi -ksp_rtol 1e-11 > log 2>&1 ||
    fail "solve -A $1:" "$(cat log)"
  [ "$3" = - ] || same "$3" again.mtx
}
solved one_A.mtx one_b.mtx one_x.mtx
solved two_A.petsc.gz two_b.petsc.gz one_x.mtx
grep -q "matload_block_size 3" two_A.petsc.info || fail "the blocks of 3 were not written"
solved heat_A.mtx heat_b.mtx heat_x.mtx
solved flow_A.bin flow_b.bin -
solved u_A.mtx u_b.mtx -
[ -e u_x.mtx ] || fail "no x of a solve that did not converge"
refused "x/sys_A.mtx cannot be written" heat -n 100 -steps 1000000 -save_system x/sys # before the work
mkdir three_b.mtx
refused "cannot write 'three_b.mtx'" poisson -cell tri3 -n 4 -refinements 0 -save_system three
[ ! -e three_A.mtx ] && [ ! -e three_x.mtx ] || fail "a part of a system was left"
cd ..
[ -z "$(find . -name '*.part' -o -name '*.tmp')" ] || fail "unfinished files were left"

if ! command -v python3 > /dev/null; then
  echo "skipped: python3, which reads the files, is not here"
  exit 77
fi
python3 "$here/vtu.py" --times .25,.5,.75 series.pvd
python3 "$here/vtu.py" --times .25,.5,.75 "s & <t>.pvd"
python3 "$here/vtu.py" --times .25,.5 cut.pvd
"$bin/heat" -n 6 -steps 4 -every 2 -output hot -field "temperature [K]" > log || fail "$(cat log)"
grep -q 'Name="temperature \[K\]"' hot_0004.vtu || fail "u has not the name that was asked for"
python3 "$here/vtu.py" --times .05,.1 hot.pvd
# A solve that is too rough fails the check of the mode in the first step; the files are there all the same.
"$bin/heat" -n 6 -steps 4 -every 2 -ksp_rtol 0.5 -output rough > log 2>&1 && fail "heat took a rough solve"
grep -qF "the part of v in u" log || fail "heat did not say what was wrong:" "$(cat log)"
python3 "$here/vtu.py" --times .05,.1 rough.pvd

# shellcheck source=scripts/setup.sh
. "$here/../../scripts/setup.sh"
python=$(python_with_matplotlib) || {
  echo "skipped: pictures, as matplotlib is not here"
  exit 0
}
plot()
{
  rm -f picture.png
  "$python" "$here/../../examples/plot.py" --renderer matplotlib --dpi 40 --output picture.png "$@" \
    > log 2>&1 &&
    [ "$(head -c 4 picture.png | tail -c 3)" = PNG ] || fail "plot.py $*:" "$(cat log)"
}
"$bin/elasticity" -output beam > times.log || fail "$(cat times.log)"
"$bin/elasticity" -output parts -ranks 3 -pc_type jacobi > log || fail "$(cat log)"
plot --field "von Mises" --warp auto parts.pvtu
plot --field 'u <"&">' "s & <t>.pvd"
plot --history --rtol 1e-8 beam.csv parts.csv
# The surface alone has the values and displacements that the whole has there, to single precision.
for whole in beam parts; do
  "$bin/elasticity" -cell hex8 -n 8 -output $whole -ranks $([ $whole = beam ] && echo 1 || echo 3) > log ||
    fail "$(cat log)"
  "$python" "$here/../../examples/plot.py" --surface --field "von Mises" --output surface.vtu \
    $whole.$([ $whole = beam ] && echo vtu || echo pvtu) > log 2>&1 || fail "$(cat log)"
  "$python" - "$here/../../examples" $whole << 'EOF' || fail "$whole: another surface"
import sys
sys.path.insert(0, sys.argv[1])
import os
import numpy as np, plot
whole = plot.read("beam.vtu" if sys.argv[2] == "beam" else "parts.pvtu")
part = plot.read("surface.vtu")
at = {tuple(np.round(x, 5)): k for k, x in enumerate(whole[0])}
k = [at[tuple(np.round(x.astype(float), 5))] for x in part[0]]
assert len(part[1][1]) == 2 * 8 * 8 + 4 * 8 * 80 and len(set(k)) == len(k)
for name in part[2]:
    np.testing.assert_allclose(part[2][name], whole[2][name][k], rtol=1e-5,
                               atol=1e-6 * np.abs(whole[2][name]).max())
assert {"von Mises [Pa]", "displacement [m]"} == set(part[2])
assert os.path.getsize("surface.vtu") < 1e6
EOF
done
plot --field "von Mises" --warp auto --range 1e5,5e6 surface.vtu
# Moments have equal steps between them.
"$python" - "$here/../../examples" << 'EOF' || fail "uneven moments"
import sys
sys.path.insert(0, sys.argv[1])
import plot
for count in (1, 2, 5, 10, 21):
    with open("many.pvd", "w") as f:
        f.write("<VTKFile>" + "".join(f'<DataSet timestep="{k}" file="x"/>' for k in range(count)) +
                "</VTKFile>")
    for most in (1, 3, 4, 7):
        times = [t for t, _ in plot.moments("many.pvd", most)]
        assert times[-1] == count - 1 and len(times) <= most and len(times) >= min(count, most) / 2
        assert len({b - a for a, b in zip(times, times[1:])}) <= 1, (count, most, times)
EOF
plot --times times.log

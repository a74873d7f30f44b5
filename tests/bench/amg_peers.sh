#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# bench/amg on one small problem, and its report on a table with known ratios: amg_peers.sh <libpoise.so>
# <bench folder>. Skipped where Python has no NumPy and SciPy.
set -euo pipefail
library=$1 bench=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

fail()
{
  printf '%s\n' "$@"
  exit 1
}

# shellcheck source=scripts/setup.sh
. "$bench/../scripts/setup.sh"
python=$(python_with 'numpy, scipy') || { echo "no NumPy and SciPy: skipped"; exit 77; }

run()
{
  "$python" "$bench/amg/run.py" --cache "$dir/problems" --out "$dir/run.csv" --only helmholtz_indef \
    --library "$library" --commit none "$@" 2> "$dir/log" || fail "$(cat "$dir/log")"
}

# Solved by both methods, in a file that begins as all results do. Solved again, its lines are replaced.
run --solvers poise --poise "-pc_amg_degree 2 -ksp_max_it 5"
cp "$dir/run.csv" "$dir/before.csv"
run --solvers poise --before "$dir/before.csv" > "$dir/change"
for key in machine commit versions clocks date command; do
  grep -q "^# $key: " "$dir/run.csv" || fail "no $key" "$(cat "$dir/run.csv")"
done
[ "$(grep -c '^helmholtz_indef,2,indefinite,10000,49600,poise' "$dir/run.csv")" = 4 ] ||
  fail "not one line for each solver and method" "$(cat "$dir/run.csv")"
grep -q 'degree 2 -ksp_max_it 5,none,gmres,.*not converged: DIVERGED_ITS.*,5,' "$dir/run.csv" ||
  fail "options do not reach the solver" "$(cat "$dir/run.csv")"
grep -q '^helmholtz_indef  *poise  *bicgstab' "$dir/change" ||
  fail "nothing is compared" "$(cat "$dir/change")"

# Of gmres and bicgstab the one with less work counts. A residual above ten times the tolerance is a failure.
grep -v '^#' "$dir/run.csv" | head -n 1 > "$dir/table.csv"
cat >> "$dir/table.csv" << 'END'
a,3,nonsymmetric,10,30,poise,1,gmres,converged: x,9,1e-9,1.5,1,3,1
a,3,nonsymmetric,10,30,poise,1,bicgstab,converged: x,4,1e-9,1.5,1,1,1
a,3,nonsymmetric,10,30,gamg,1,gmres,converged: x,5,1e-9,1.5,1,3,1
a,3,nonsymmetric,10,30,hypre,1,bicgstab,converged: x,2,1e-9,1.5,0.5,0.5,1
b,3,spd,10,30,poise,1,cg,converged: x,7,1e-9,1.5,1,1,1
b,3,spd,10,30,gamg,1,cg,converged: x,4,1e-9,1.5,2,2,1
b,3,spd,10,30,hypre,1,cg,not converged: DIVERGED_MAX_IT,1000,1e-3,1.5,0.1,0.1,1
c,2,spd,10,30,poise,1,cg,converged: x,4,2e-7,1.5,1,1,1
c,2,spd,10,30,gamg,1,cg,converged: x,7,1e-9,1.5,2,2,1
END
"$python" "$bench/amg/report.py" "$dir/table.csv" > "$dir/report" || fail "$(cat "$dir/report")"
while read -r words; do
  grep -qF -- "$words" "$dir/report" || fail "the report has no '$words'" "$(cat "$dir/report")"
done << 'END'
| the best of all | 1.00 of 2 |  |  | 1.00 of 2 |
| gamg | 0.50 of 2 |  |  | 0.50 of 2 |
`poise` fails where a peer works: 1.
- c: converged: x, residual 2e-07; gamg 7
by smoothed aggregation: 1.
- b: 7, gamg 4 (cg)
of all, nonsymmetric and indefinite: 1.
- a: 4, hypre 2 (bicgstab)
work of the best peer: 1.
- a: 2.00 times hypre
END

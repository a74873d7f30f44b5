#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# drivers.sh <folder of the examples> [<option>...]
# The preconditioners of the finite-element drivers by sizes: iterations, and seconds of set-up and solve, as
# in docs/solvers.md. Options go to all runs: -device cuda.
# SIZES="16 32 48" are those of poisson; elasticity and heat take halves.
set -euo pipefail
bin=$(cd "$1" && pwd)
shift
options=("$@")

# row <pc> <program> <option>...
row()
{
  local pc=$1 log
  shift
  log=$("$bin/$1" "${@:2}" -pc_type "$pc" "${options[@]}") || true
  awk -v name="$*" -v pc="$pc" -v points="$((${*: -1} + 1))" '
    /^mesh .*unknowns$/ { n = $5 }
    /^hex8 / { n = $3; its = $4 }
    /^iterations / { its = $2 }
    /^ +[0-9]+ / && NF > 5 { its += $3 }
    /^(set-up|solve) / { seconds[$1] = $2 }
    END { if (!n) n = points ^ 3 # heat does not say
          printf "| `%s` | %d | `%s` | %d | %.2f | %.2f |\n", name, n, pc, its, seconds["set-up"],
                 seconds["solve"] }' <<< "$log"
}

echo "| command | unknowns | \`-pc_type\` | iterations | set-up, s | solve, s |"
echo "| --- | ---: | --- | ---: | ---: | ---: |"
for n in ${SIZES:-16 32 48}; do
  for pc in jacobi icc amg; do row "$pc" poisson -cell hex8 -refinements 0 -n "$n"; done
done
for n in ${SIZES:-16 32 48}; do
  for pc in pbjacobi icc amg; do row "$pc" elasticity -cell hex8 -n $((n / 2)); done
done
for n in ${SIZES:-16 32 48}; do
  for pc in jacobi icc amg; do row "$pc" heat -steps 5 -n $((n / 2)); done
done

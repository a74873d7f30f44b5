#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# drivers.sh [--orders] <folder of the examples> [<option>...]
# The preconditioners of the finite-element drivers by sizes: iterations, and seconds of set-up and solve, as
# in docs/solvers.md. Options go to all runs: -device cuda.
# SIZES="16 32 48" are those of poisson; elasticity and heat take halves.
# --orders: instead sweeps in the natural order and by colours, also of elasticity on tetrahedra, and of
# convection.
set -euo pipefail
orders=no
if [ "${1-}" = --orders ]; then
  orders=yes
  shift
fi
bin=$(cd "$1" && pwd)
shift
options=("$@")

# row "<pc> [<option>...]" <program> <option>...
row()
{
  local pc=$1 log words
  shift
  read -ra words <<< "$pc"
  log=$("$bin/$1" "${@:2}" -pc_type "${words[@]}" "${options[@]}") || true
  awk -v name="$*" -v pc="$pc" -v points="$((${*: -1} + 1))" '
    /^mesh .*unknowns$/ { n = $5 }
    /^hex8 / { n = $3; its = $4 }
    /^smooth / { n = $3; its = $4 }
    /^iterations / { its = $2 }
    /^ +[0-9]+ / && NF > 5 { its += $3 }
    /^(set-up|solve) / { seconds[$1] = $2 }
    END { if (!n) n = points ^ 3 # heat does not say
          printf "| `%s` | %d | `%s` | %d | %.2f | %.2f |\n", name, n, pc, its, seconds["set-up"],
                 seconds["solve"] }' <<< "$log"
}

# rows <program> "<pc>"... -- <option>...
rows()
{
  local program=$1 pcs=()
  shift
  while [ "$1" != -- ]; do
    pcs+=("$1")
    shift
  done
  for pc in "${pcs[@]}"; do row "$pc" "$program" "${@:2}"; done
}

plain=(jacobi icc amg) blocks=(pbjacobi icc amg)
if [ $orders = yes ]; then
  symmetric=("sor -pc_sor_order natural" "sor -pc_sor_order colours" eisenstat
    "icc -pc_factor_order natural" "icc -pc_factor_order colours")
  plain=(jacobi "${symmetric[@]}") blocks=(pbjacobi "${symmetric[@]}")
fi
echo "| command | unknowns | \`-pc_type\` | iterations | set-up, s | solve, s |"
echo "| --- | ---: | --- | ---: | ---: | ---: |"
for n in ${SIZES:-16 32 48}; do rows poisson "${plain[@]}" -- -cell hex8 -refinements 0 -n "$n"; done
for n in ${SIZES:-16 32 48}; do rows elasticity "${blocks[@]}" -- -cell hex8 -n $((n / 2)); done
for n in ${SIZES:-16 32 48}; do rows heat "${plain[@]}" -- -steps 5 -n $((n / 2)); done
[ $orders = no ] || for n in ${SIZES:-16 32 48}; do
  rows elasticity "${blocks[@]}" -- -cell tet10 -n $((n / 4))
  rows convection jacobi "${symmetric[@]:0:3}" "ilu -pc_factor_order natural" "ilu -pc_factor_order colours" \
    -- -n $((2 * n))
done

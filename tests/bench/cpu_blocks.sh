#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# bench/cpu_blocks on tiny matrices: cpu_blocks.sh <program>. Every contender must have its line, and its
# product must be right to rounding, else the program fails.
set -euo pipefail
program=$1
export OMP_NUM_THREADS=1
tiny=(-bytes 2e5 -repeats 1 -sample 0 -patience 0)

for matrix in "cube -block 1" "cube -block 32" elasticity skewed even pwtk; do
  read -ra words <<< "$matrix"
  log=$("$program" "${tiny[@]}" -matrix "${words[@]}") || { printf '%s\n' "$matrix:" "$log"; exit 1; }
  for who in "poise csr" "poise bcsr"; do
    grep -q "1 x 1 $who .*| error .* turns 1," <<< "$log" || {
      printf '%s\n' "$matrix has no $who:" "$log"
      exit 1
    }
  done
done

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# bench/solves from arrays on tiny matrices, and bench/record.sh: record.sh <bench/solves>. The script's
# programs and nvidia-smi are small scripts here, with numbers whose ratios are known. This nvidia-smi lives
# in another time zone.
# shellcheck disable=SC2016 # their $ are their own
set -euo pipefail
solves=$1
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export OMP_NUM_THREADS=1
mkdir -p "$dir/bin" "$dir/build/bench"
bad=0

# ---- solves from arrays ------------------------------------------------------------------------------------

for device in host mock; do
  for method in cg prcg bicgstab gmres; do
    log=$("$solves" -device $device -problem 7 -bytes 3e4 -rtol 1e-8 -rounds 1 -ksp_type $method \
      -pc_type jacobi)
    # The others look at their norm after each cycle.
    awk -v method=$method '
      $1 == "poise" && $2 == method { ours = $4 }
      /^  with new values of the same pattern: [0-9.]+ us$/ { again++ }
      /^C loops/ && $3 == method { others = $5 }
      ($1 == "poise" || /^C loops/) && $NF > 1e-6 { exit 1 }
      END {
        exit !(again == 1 && ours > 5 && others >= ours && others <= ours + (method == "gmres" ? 60 : 10))
      }' \
      <<< "$log" || { printf '%s\n' "$method on $device:" "$log" && bad=1; }
  done
done
log=$("$solves" -problem 7 -bytes 3e4 -rtol 1e-8 -rounds 1 -ksp_type cg -pc_type icc)
if ! grep -q '^poise  *cg icc' <<< "$log" || grep -q '^C loops' <<< "$log"; then
  printf '%s\n' "the others have jacobi alone:" "$log"
  bad=1
fi

# Matrices of several unknowns per node are cut into their blocks.
log=$("$solves" -problem elasticity -bytes 3e4 -mat_type bcsr -iterations 3 -seconds 0 -products 2)
grep -q 'blocks of 3 x 3' <<< "$log" || { printf '%s\n' "no blocks:" "$log" && bad=1; }

# ---- the script --------------------------------------------------------------------------------------------

command -v python3 > /dev/null || { echo "no python3: the tables are not looked at: skipped"; exit 77; }

# program <path> <line>...
program()
{
  local path=$dir/$1
  shift
  printf '%s\n' '#!/bin/bash' "$@" > "$path"
  chmod +x "$path"
}

# record <exit status> <argument>...: the script, whose output is $output
record()
{
  local want=$1 got=0
  shift
  output=$(PATH="$dir/bin:$PATH" bench/record.sh --build "$dir/build" --out "$dir/out" "$@" 2>&1) || got=$?
  [ "$got" -eq "$want" ] || { echo "exit status $got, not $want:" && echo "$output" && bad=1; }
}

# holds <file> <words>...: it has a line with each of these words
holds()
{
  local file=$1 word
  shift
  for word in "$@"; do
    grep -qE -- "$word" "$dir/out/$file" || { echo "no '$word' in:" && cat "$dir/out/$file" && bad=1; }
  done
}

program bin/nvidia-smi 'case "$*" in' \
  '  -L) echo "GPU 0: Model 1" ;;' \
  '  *timestamp*) while :; do' \
  '      echo "$(TZ=UTC-2 date "+%Y/%m/%d %H:%M:%S.%3N"), 1700, 2619, 600.5, 60"; sleep 0.05; done ;;' \
  '  *) echo "Model 1" ;;' \
  'esac'
program build/bench/solves 'case "$*" in' \
  '  *-rtol*) echo "100 rows, rtol 1e-08"' \
  '    echo "poise            cg jacobi    50  3000.0  2000.0  1000.0  1.0e-08"' \
  '    echo "cuSPARSE, cuBLAS cg jacobi    56  3500.0  1900.0  1600.0  1.0e-08" ;;' \
  '  *-products*) words="$*"; file=${words##* -log_view :}; file=${file%:csv}' \
  '    printf "\"MatMult\",1500,1500,0.85,0.85\n\"bare products\",1,1,0.2,0.2\n" > "$file" ;;' \
  '  *) echo "       9        183.6        180.0        4.700  CONVERGED_RTOL" ;;' \
  'esac'
program build/bench/poise_bench 'while [ "$1" != -out ]; do shift; done' \
  'begin=$(date +%s.%N); sleep 0.4; end=$(date +%s.%N)' \
  '{ echo "# command: poise_bench"' \
  '  echo row,who,how,mode,repeats,median_us,min_us,bytes,gbs' \
  '  line() { echo "$1,sustained,3,$2,$2,$3,4000"; echo "# turn: $1,0,$begin,$end"; }' \
  '  for row in cg.7.varied bicgstab.7.varied; do' \
  '    line "$row,poise,auto product" 400 1.6e9' \
  '    line "$row,poise,auto cg as phases; preconditioned" 660 2.6e9' \
  '    line "$row,poise,auto prcg; preconditioned" 700 2.5e9' \
  '    line "$row,cuSPARSE,graph" 600 2.6e9' \
  '    line "$row,memory,copy" 1000 4e9' \
  '  done; } > "$2"'

# Of cg: 400 + 1e9 / 4000 GB/s = 650, 400 + 225 = 625; of bicgstab 800 - 150 = 650.
record 0 --commit 1234567 --iterations 7
for file in record_long.csv record_rest.csv record_whole.txt record_fused.csv record_short.txt \
  record_clocks.csv; do
  for key in machine commit versions clocks date command; do holds $file "^# $key: ."; done
done
holds record_long.csv '^# commit: 1234567$' '^# machine: one Model 1, '
holds record.md 'command: bench/record.sh --build .* --iterations 7$' \
  '^\| auto cg as phases \| 660.0 .* \| 1.025 \| 1.015 \| 1.00 \| 3 \| 1700, 1700, 1700 \| 2619.* \| 600' \
  '^\| auto cg as phases \| 660.0 .* \| 1.012 \| 1.015 \|' '^\| auto prcg .* \| 1.188 \| 1.120 \| 1.06 \|' \
  '^\| copy of as many bytes \| 650.0 \| 650.0 \| 2600.0 \|' '^\| cuSPARSE graph .* \| - \| - \| 0.91 \|' \
  '^\| 7 \| 100 \| poise \| cg jacobi \| 50 \| 3.00 \| 2.00 \| 1.00 \|' \
  '^\| elasticity \| bcsr \| predict \| 400.0 \| 650.0 \| 1.625 \|' '^\| 7 cg \| 9 \| 183.6 \| 180.0 \|' \
  '^- cg.7.varied, auto prcg: an iteration is 1.120 of its bound' \
  '^- cg.7.varied: cuSPARSE graph takes 0.909 of auto cg as phases' \
  '^- 27, csr, phases: a product inside a loop takes 1.625' '^- 7, cg jacobi: .* second solve takes 1.90 ms'
if grep -qE '^- .*(phases: an iteration|first solve)' "$dir/out/record.md"; then
  echo "what is not slower is told:" && cat "$dir/out/record.md" && bad=1
fi
for picture in long whole; do
  python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$dir/out/record_$picture.svg" || bad=1
done

# A step alone: the files and clocks of the others stay. Without a GPU there are no clocks.
record 0 rest
holds record.md '^\| auto cg as phases \| 660.0 .* \| 1.012 .* \| 1700, 1700, 1700 \|' '^## Whole solves'
[ "$(grep -c '^# started: ' "$dir/out/record_clocks.csv")" = 2 ] || { echo "clocks were lost" && bad=1; }
rm -r "$dir/out"
record 0 --device host long
holds record.md '^\| auto cg as phases \| 660.0 .* \| 3 \| - \| - \| - \|$'
holds record_long.csv '^# clocks: not recorded$'
[ ! -e "$dir/out/record_clocks.csv" ] || { echo "clocks of no GPU" && bad=1; }

# What is not finished, what fails, and wrong usage.
program build/bench/poise_bench 'exec sleep 60'
record 3 --budget 6 long short
[[ $output == *"long 7 "*"not finished in the "*"not started"* ]] || { echo "$output" && bad=1; }
program build/bench/poise_bench 'exit 1'
record 1 long short
[[ $output == *"long 27 "*"FAILED, exit status 1"* ]] || { echo "$output" && bad=1; }
record 2 --budget soon
record 2 --build "$dir/nothing"
exit $bad

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# bench/poise_bench on tiny matrices: poise_bench.sh <program>. Every operation has its rows, by the library
# and by others, in a file that appears whole or not at all.
set -euo pipefail
program=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export OMP_NUM_THREADS=1
tiny=(-numbers 4096 -cache 2e4 -repeats 2 -sample 1e-5 -iterations 3 -bytes 3e4 -small_bytes 8e3)

fail()
{
  printf '%s\n' "$@"
  exit 1
}

for device in host mock; do
  out=$dir/$device.csv
  "$program" -device $device "${tiny[@]}" -out "$out" > "$dir/log" || fail "on $device:" "$(cat "$dir/log")"
  for row in limits,memory,copy dot.7,poise "dot.7,C loops" mult.7.varied,poise "mult.elasticity,C loops" \
    mult.rmat_scrambled,poise mult.arrow,poise mult.tail,poise cg.7.varied,poise "cg.7.small,C loops" \
    "bicgstab.7.varied,C loops" "gmres.5.varied,C loops" "gmres.7.small,poise,auto gmres twice" \
    pc_ilu.7,poise pc_pbjacobi.elasticity,poise pc_bjacobi.elasticity,poise "pc_jacobi.7,C loops" \
    coo_pattern.elasticity,poise coo_values.elasticity,poise coo_refresh.elasticity,poise \
    coo_pattern.27,poise coo_values.27,poise mult.elasticity,poise,bcsr \
    cg_pbjacobi.elasticity,poise,bcsr blocks.1,poise,bcsr "blocks.32,C loops" blocks.skewed,poise,csr \
    blocks.even,poise,bcsr blocks.audikw_1,poise,bcsr; do
    grep -q "^$row" "$out" || fail "no row $row on $device:" "$(cat "$out")"
  done
  # Every line of numbers has the fields of the head, and a time. A cold time is a difference of two on the
  # mock, and may be 0.
  awk -F, '/^#/ { next }
           !fields { fields = NF; next }
           NF != fields || ($9 == 0 && $4 != "cold") { print; bad = 1 }
           END { exit bad || !fields }' "$out" ||
    fail "on $device"
done

# Long runs, and when each turn was.
"$program" "${tiny[@]}" -sustained 2 -only "cg.7 cg.elasticity gmres.5" -out "$dir/long.csv" > "$dir/log" ||
  fail "$(cat "$dir/log")"
for row in 'cg.7.varied,poise,auto product,sustained' 'cg.7.varied,poise,auto cg as phases; .*,sustained' \
  'cg.7.varied,poise,auto prcg; .*,sustained' 'cg.7.varied,C loops,textbook,sustained' \
  'cg.7.varied,memory,copy,sustained' 'cg.elasticity.varied,poise,bcsr product,sustained' \
  'gmres.5.varied,poise,auto gmres once; .*,sustained' '# turn: cg.7.varied,poise,auto product,1,'; do
  grep -q "^$row" "$dir/long.csv" || fail "no row $row:" "$(cat "$dir/long.csv")"
done
if grep -q '^cg.7.varied,poise,auto cg phases' "$dir/long.csv"; then
  fail "the form that cg chose twice:" "$(cat "$dir/long.csv")"
fi

printf '%%%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 2\n1 2 -1\n2 2 2\n' > "$dir/A.mtx"
"$program" "${tiny[@]}" -matrix "$dir/A.mtx" -only mult -out "$dir/file.csv" > "$dir/log" ||
  fail "$(cat "$dir/log")"
grep -q '^mult.file,poise,auto,cold,2,3,' "$dir/file.csv" ||
  fail "no row of the file:" "$(cat "$dir/file.csv")"
"$program" "${tiny[@]}" -matrix "$dir/A.mtx" -only blocks.3 -out "$dir/cut.csv" > "$dir/log" ||
  fail "$(cat "$dir/log")"
grep -q '^blocks.3.file,poise,bcsr balanced,cold,3,9,' "$dir/cut.csv" ||
  fail "no row of the file in blocks:" "$(cat "$dir/cut.csv")"

# Nothing is left of a run that measured nothing; a row that fails is told.
if "$program" "${tiny[@]}" -only nothing -out "$dir/none.csv" > "$dir/log" 2>&1; then
  fail "-only nothing did not fail"
fi
if "$program" "${tiny[@]}" -only mult.7.small -types nothing -out "$dir/failed.csv" > "$dir/log" 2>&1; then
  fail "-types nothing did not fail"
fi
grep -q "mult.7.small.*FAILED.*no matrix type 'nothing'" "$dir/log" ||
  fail "a row that fails:" "$(cat "$dir/log")"
left=$(find "$dir" -name '*none*' -o -name '*.tmp')
[ -z "$left" ] || fail "left: $left"

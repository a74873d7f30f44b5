#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# bench/choice on tiny matrices: choice.sh <program> <bench folder>. Every line of the set makes a matrix, on
# which every contender is right. Every contender has its lines in a file, which is complete after each
# matrix. The report reads the file, also when it is cut off.
set -euo pipefail
program=$1 bench=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export OMP_NUM_THREADS=1
tiny=(-shrink 3000 -numbers 4096 -cache 2e4 -repeats 1 -seconds 0)
tiny+=(-types csr,csri,csri:mat_csri_chunk=64,nothing)

fail()
{
  printf '%s\n' "$@"
  exit 1
}

mkdir "$dir/files"
printf '%%%%MatrixMarket matrix coordinate real general\n3 3 4\n1 1 2\n1 2 -1\n2 2 2\n3 3 1\n' \
  > "$dir/files/A.mtx"
gzip -c "$dir/files/A.mtx" > "$dir/files/B.mtx.gz"
printf '%%%%MatrixMarket matrix coordinate real general\n2 3 1\n1 3 2\n' > "$dir/files/wide.mtx"

"$program" -device host "${tiny[@]}" -folder "$dir/files" -out "$dir/host.csv" > "$dir/log" ||
  fail "$(cat "$dir/log")"
"$program" -device mock "${tiny[@]}" -only "table1 rmat constant" -out "$dir/mock.csv" > "$dir/log" ||
  fail "$(cat "$dir/log")"
for device in host mock; do
  grep '^# left out: .*nothing' "$dir/$device.csv" > "$dir/log" ||
    fail "no word of a type that does not exist"
  # Every line of numbers has the fields of the head; each matrix that was begun has each contender, no name
  # twice.
  awk -F, '
    /^# matrix / { split($0, word, " "); if (begun[word[3]]++) { print "twice: " word[3]; bad = 1 } next }
    /^#/ { next }
    !fields { fields = NF; next }
    NF != fields || ($14 == 0 && $5 != "cold") || $NF > 1e-11 { print; bad = 1 }
    { lines[$1 "," $4]++ }
    END {
      for (name in begun)
        if (!lines[name ",csr"] || !lines[name ",csri"] || !lines[name ",csri:mat_csri_chunk=64"] ||
            !lines[name ",textbook"]) {
          print "missing: " name; bad = 1
        }
      exit bad || length(begun) < 20
    }' "$dir/$device.csv" || fail "on $device"
done
for row in A,files,poise,csr, B,files,poise,csri, "tail.large,set,C loops," webbase-1M,table1,poise; do
  grep -q "^$row" "$dir/host.csv" || fail "no row $row:" "$(cat "$dir/host.csv")"
done
grep -q '^# left out: wide: .*2 x 3' "$dir/host.csv" || fail "no word of a file that is not square"

# Table I has the rows and nonzeros that the paper says.
"$program" -device host -numbers 4096 -cache 2e4 -repeats 1 -seconds 0 -types csr -only qcd5_4,pdb1HYS \
  -out "$dir/exact.csv" > "$dir/log" || fail "$(cat "$dir/log")"
for sizes in qcd5_4,49152,1916928 pdb1HYS,36417,2190591; do
  awk -F, -v sizes="$sizes" '$1 "," $6 "," $7 == sizes { found = 1 } END { exit !found }' "$dir/exact.csv" ||
    fail "not $sizes"
done

if "$program" "${tiny[@]}" -only nothing -out "$dir/none.csv" > "$dir/log" 2>&1; then
  fail "-only nothing did not fail"
fi
if "$program" "${tiny[@]}" -only constant -types csr:chunk -out "$dir/none.csv" > "$dir/log" 2>&1; then
  fail "an option without value"
fi

command -v python3 > /dev/null || { echo "no python3: the report is not looked at"; exit 0; }
head -c -40 "$dir/host.csv" > "$dir/cut.csv"
for file in host cut; do
  python3 "$bench/choice.py" "$dir/$file.csv" > "$dir/$file.md" || fail "the report of $file.csv"
  for words in "Table I" "| webbase-1M |" "Each type on all" "| csri |" "Set-up"; do
    grep -qF "$words" "$dir/$file.md" ||
      fail "no '$words' in the report of $file.csv:" "$(cat "$dir/$file.md")"
  done
  tail -1 "$dir/$file.svg" | grep -q '^</svg>' || fail "no picture of $file.csv"
done

# The script that measures all leaves tables, the picture, and a file with the commit.
mkdir -p "$dir/build/bench" && ln -s "$(realpath "$program")" "$dir/build/bench/choice"
"$bench/choice.sh" --device host --build "$dir/build" --out "$dir/all" --shrink 3000 --seconds 0 \
  --only dense.1000 --commit 1234567 > "$dir/log" || fail "choice.sh:" "$(cat "$dir/log")"
gzip -dc "$dir/all/choice.csv.gz" | grep -q '^# commit: 1234567' || fail "the head of choice.csv.gz"
grep -q '^| auto ' "$dir/all/choice.md" || fail "no auto in choice.md"
[ -s "$dir/all/choice.svg" ] || fail "no picture by choice.sh"
"$bench/choice.sh" --device nothing > "$dir/log" 2>&1 && fail "choice.sh takes any device"

gzip -n "$dir/host.csv" && python3 "$bench/choice.py" "$dir/host.csv.gz" > "$dir/again.md" &&
  cmp "$dir/host.md" "$dir/again.md" || fail "the report of host.csv.gz differs"

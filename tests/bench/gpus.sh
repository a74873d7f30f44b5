#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Programs of bench/ for GPUs on tiny matrices, and bench/gpus.sh: gpus.sh <folder of the programs>
set -euo pipefail
programs=$1
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export OMP_NUM_THREADS=1
bad=0

# wrong <words> <output>
wrong()
{
  printf '%s:\n%s\n' "$1" "$2"
  bad=1
}

brief=(-seconds 0 -repeats 1 -longer 20 -shorter 10)

# Ranks of all kinds, and both devices, compute the same; equal shares are equal, and halves are not.
for problem in 27 halves; do
  log=$(for ranks in "-ranks 1" "-ranks 2" "-solve_ranks 2" "-ranks 2 -device mock -comm_exchange peer"; do
    # shellcheck disable=SC2086
    "$programs/gpus" -device host $ranks -problem $problem -bytes 3e5 "${brief[@]}" -ksp_type richardson \
      -pc_type none -ksp_norm_type none -ksp_richardson_scale 1e-9 -types "auto pcsr"
  done)
  awk -v problem=$problem '
    { norm[NR] = $NF; largest = $(NF - 2) }
    $1 != "loop" || $2 != problem || $(NF - 1) == "nan" { exit bad = 1 }
    $NF / norm[1] > 1 + 1e-9 || $NF / norm[1] < 1 - 1e-9 { exit bad = 1 }
    $5 > 1 && $6 == "threads" && $(NF - 1) == 0 { exit bad = 1 }
    $8 == "pcsr" && $6 != "workers" && largest > 1.01 { exit bad = 1 }
    problem == "halves" && $8 == "auto" && $6 == "threads" && (largest < 1.78 || largest > 1.84) {
      exit bad = 1
    }
    END { exit bad || NR != 8 }' <<< "$log" || wrong "rows of $problem" "$log"
done

# The first of two parts alone has half of the rows; without coupling nothing is exchanged.
log=$("$programs/gpus" -device host -problem 7 -bytes 1e5 -share 2 -measure product "${brief[@]}"
"$programs/gpus" -device host -problem 7 -bytes 1e5 -ranks 2 -coupled no "${brief[@]}" -ksp_type cg \
  -ksp_rtol 0 -pc_type jacobi)
awk 'NR == 1 { half = $3 }
     NR == 2 && ($3 > 2 * half || $3 < 2 * half - half / 4 || $(NF - 1) != 0) { exit bad = 1 }
     END { exit bad || NR != 2 }' <<< "$log" || wrong "parts of a mesh" "$log"

log=$("$programs/parts" -device host -ranks 2 -shrink 2000 -repeats 1) || wrong "parts" "$log"
# Formats and versions of each matrix; y is right, which the exit status tells.
[ "$(grep -cE ' 2 (csr|csc|coo) +(blocks|parts) ' <<< "$log")" -eq 36 ] || wrong "36 rows of parts" "$log"

log=$("$programs/huge" -device host -ranks 3 -nonzeros 3e4) || wrong "huge" "$log"
grep -q '3 ranks, 1728 rows, 39304 nonzeros' <<< "$log" || wrong "huge" "$log"

# Tiles that are cut by columns add up to the product, which the exit status tells.
log=$(for device in host mock; do
  "$programs/tiles" -device $device -block 5 -x 2e5 -blocks 6 -tiles 3 -repeats 1 -seconds 0
done) || wrong "tiles" "$log"
[ "$(grep -c '^tiles b 5, .* 3 tiles .* near' <<< "$log")" -eq 2 ] || wrong "two rows of tiles" "$log"

# Several right-hand sides: residuals are those of their own solves, which the exit status tells.
log=$(for device in host mock; do
  "$programs/several" -device $device -problem elasticity -bytes 3e5 -columns "1 3" -repeats 1 \
    -mat_type bcsr -ksp_type cg -pc_type amg -ksp_rtol 1e-8
done) || wrong "several" "$log"
[ "$(grep -cE '^ +[13] +[0-9]+ .* [0-9.]+e-0[789] +[0-9.]+e-0[789]$' <<< "$log")" -eq 4 ] ||
  wrong "four rows of several" "$log"

# Products of sparse matrices: both devices compute the same. On k x k points A A joins those at most 2 apart.
log=$(for device in host mock; do
  "$programs/multiply" -device $device -problem 5 -bytes 3e5 -rounds 1 | grep poise
done)
awk '{ norm[NR] = $NF; entries[NR] = $4 }
     $1 == "A_A" {
       for (k = 2; k * k < $4; k++)
         if (k * k + 4 * k * (k - 1) + 4 * k * (k - 2) + 4 * (k - 1) ^ 2 == $4) squares++
     }
     NR > 3 && ($NF != norm[NR - 3] || $4 != entries[NR - 3]) { exit bad = 1 }
     END { exit bad || NR != 6 || squares != 2 }' <<< "$log" || wrong "products" "$log"

mkdir -p "$dir/build"
ln -s "$(realpath "$programs")" "$dir/build/bench"
log=$(bench/gpus.sh --build "$dir/build" --out "$dir/out" --device host --shrink 1e5 --seconds 0 multigrid \
  large 2>&1) || wrong "gpus.sh" "$log"
grep -q '^# commit: ' "$dir/out/gpus_large.txt" || wrong "the head of a file" "$(cat "$dir"/out/*.txt)"
grep -q '^whole ' "$dir/out/gpus_multigrid.txt" || wrong "a row of multigrid" "$(cat "$dir"/out/*.txt)"
log=$(bench/gpus.sh --build "$dir/build" --out "$dir/out" no 2>&1) && wrong "a step called no" "$log"

# The model is as far off as the pages say; speed-up and efficiency of rows.
if command -v python3 > /dev/null; then
  log=$(python3 bench/scale.py --own)
  grep -q '^peer.*off by 3 % at most' <<< "$log" || wrong "the model's error by peer memory" "$log"
  grep -q '^nccl.*off by 15 % at most' <<< "$log" || wrong "the model's error by NCCL" "$log"
  echo 'loop 7 1000 6400 1 one none auto 100 99 101 5 1.000 0 1.0
loop 7 1000 6400 2 threads peer_memory auto 80 79 81 5 1.000 200 1.0' > "$dir/rows"
  log=$(python3 bench/scale.py --check "$dir/rows")
  grep -q ' 80.0 *100.0 *1.25 *0.62 ' <<< "$log" || wrong "speed-up and efficiency" "$log"
  { sed 's/ 7 / rmat /' "$dir/rows"
    echo 'HV15R 20 300 1 csr parts 1 4 2 2 1 10 50.0 10.0 1.000 1e-16
HV15R 20 300 2 csr parts 0 4 2 1 1 8 50.0 12.5 1.000 1e-16'
  } > "$dir/speedup"
  log=$(python3 bench/scale.py --speedup "$dir/speedup")
  grep -q '^rmat *1000 auto *100.0 *1.25 (1.00)$' <<< "$log" || wrong "a speed-up" "$log"
  grep -q '^HV15R *csr parts *10.0 *6.0 *1.25 (1.50)$' <<< "$log" || wrong "a speed-up of parts" "$log"
fi
exit $bad

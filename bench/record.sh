#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Measure the loops on this machine, and make tables and pictures: bench/record.sh [option...] [step...]
#
# Steps, in this order; without any all of them, as far as the time goes:
#   long    long runs, with bare products, copies and the others: cg, and bicgstab and gmres on 7-point
#   whole   whole solves to 1e-8 from arrays to x, with set-up, beside the others
#   short   whole solves of given numbers of iterations
#   fused   products inside a loop beside bare ones, both timed by the log
#   rest    long runs of bicgstab and gmres on the other matrices
#
# Options
#   --build <folder>      of the build, which has the programs already (build/gpu, or build/release on a CPU)
#   --out <folder>        of what is written, all of it record* (build/record)
#   --budget <seconds>    for everything (480)
#   --device <name>       cuda or host (cuda where nvidia-smi lists a GPU)
#   --bytes <number>      size of large matrices (0: each its own; on a CPU 2e7)
#   --iterations <number> of a long run (2000)
#   --commit <id>         of what was built (as git says)
#
# It builds nothing. record_*.csv and record_*.txt are as measured; record.md has the tables, record_*.svg are
# the pictures (bench/record.py, which makes them again). record_clocks.csv has clocks and power of the GPU,
# four times a second. A step replaces its files; those of other steps stay, and so do the clocks.
#
# Exit status: 0 all was measured; 1 something failed; 3 nothing failed, but not everything came to its end in
# time; 2 wrong usage.
set -uo pipefail
arguments=$*
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

build="" out=build/record budget=480 device="" bytes="" iterations=2000 commit="" steps=()

usage()
{
  sed -n '3,/^set /{/^set /d;s/^# \{0,1\}//;p}' "bench/$(basename "${BASH_SOURCE[0]}")" >&2
  exit 2
}

while [ $# -gt 0 ]; do
  case $1 in
    --build | --out | --budget | --device | --bytes | --iterations | --commit)
      [ $# -ge 2 ] || usage
      declare "${1#--}=$2"
      shift 2
      ;;
    long | whole | short | fused | rest)
      steps+=("$1")
      shift
      ;;
    *) usage ;;
  esac
done
[ ${#steps[@]} -gt 0 ] || steps=(long whole short fused rest)
[[ $budget =~ ^[1-9][0-9]*$ && $iterations =~ ^[1-9][0-9]*$ && $device =~ ^(cuda|host|)$ ]] || usage
[[ $bytes =~ ^[0-9.e]*$ ]] || usage

if [ -z "$device" ]; then
  device=host
  if [[ $(nvidia-smi -L 2> /dev/null) == *GPU* ]]; then device=cuda; fi
fi
if [ $device = cuda ]; then
  build=${build:-build/gpu} bytes=${bytes:-0} numbers=268435456
else
  build=${build:-build/release} bytes=${bytes:-2e7} numbers=33554432
fi
programs=$build/bench
for program in poise_bench solves; do
  if [ ! -x "$programs/$program" ]; then
    echo "There is no $programs/$program: build it, or name the build (--build)."
    exit 2
  fi
done
mkdir -p "$out" || exit 1

started=$(date +%s) failed=0 unfinished=0

wanted()
{
  [[ " ${steps[*]} " == *" $1 "* ]]
}

# ---- the machine -------------------------------------------------------------------------------------------

gpu=${CUDA_VISIBLE_DEVICES:-0} gpu=${gpu%%,*}
# shellcheck source=bench/common/machine.sh
. bench/common/machine.sh
describe_machine one

# In the background, until this script ends. Times are UTC if nvidia-smi heeds TZ; `started` tells.
sampler=
watch_clocks()
{
  local file=$out/record_clocks.csv
  [ $device = cuda ] || return 0
  if [ ! -f "$file" ]; then # else other steps were measured before
    head_of "$file"
    echo "time,sm_mhz,memory_mhz,watts,celsius" >> "$file"
  fi
  echo "# started: $(date +%s.%N)" >> "$file"
  TZ=UTC stdbuf -oL nvidia-smi -i "$gpu" -lms 250 --format=csv,noheader,nounits \
    --query-gpu=timestamp,clocks.sm,clocks.mem,power.draw,temperature.gpu >> "$file" 2> /dev/null &
  sampler=$!
}

trap '[ -z "$sampler" ] || kill "$sampler" 2> /dev/null' EXIT

# ---- measuring ---------------------------------------------------------------------------------------------

# attempt <name> <command>...: runs it within the time that is left, and says what came of it. Its output goes
# to record.log, the standard output also to $output.
output=$out/record.output
attempt()
{
  local name=$1 start status left
  shift
  start=$(date +%s)
  left=$((budget - (start - started)))
  : > "$output"
  if [ $left -lt 5 ]; then
    unfinished=1
    printf '%-24s not started: the budget of %s s is spent\n' "$name" "$budget"
    return 1
  fi
  printf '$ %s\n' "$*" >> "$out/record.log"
  timeout --kill-after=10 $left "$@" > "$output" 2>> "$out/record.log"
  status=$?
  cat "$output" >> "$out/record.log"
  case $status in
    0) printf '%-24s %s s\n' "$name" $(($(date +%s) - start)) ;;
    124 | 137)
      unfinished=1
      printf '%-24s not finished in the %s s that were left\n' "$name" $left
      ;;
    *)
      failed=1
      printf '%-24s FAILED, exit status %s, see %s\n' "$name" $status "$out/record.log"
      ;;
  esac
  return $status
}

# long <file> <name> <rows>: long runs of these rows; a file is there if they came to their end
long()
{
  local part=$out/record.part
  rm -f "$part"
  attempt "$2" "$programs/poise_bench" -device $device -only "$3" -sustained "$iterations" -repeats 3 \
    -seconds $((budget / 24)) -bytes "$bytes" -numbers $numbers -out "$part"
  [ -f "$part" ] || return 0
  cat "$part" >> "$out/$1"
  rm -f "$part"
}

# One process for each matrix: what came before the budget's end is kept.
step_long()
{
  head_of "$out/record_long.csv"
  long record_long.csv "long 7" "cg.7 bicgstab.7 gmres.7"
  long record_long.csv "long 27" cg.27
  long record_long.csv "long elasticity" "cg.elasticity cg_pbjacobi.elasticity"
  long record_long.csv "long 5" cg.5
}

step_rest()
{
  local problem
  head_of "$out/record_rest.csv"
  for problem in 5 27 elasticity; do
    long record_rest.csv "rest $problem" "bicgstab.$problem gmres.$problem"
  done
}

# size <problem>: the bytes of a large matrix, as poise_bench has them
size()
{
  local own
  case $1 in
    7) own=1.471e9 ;;
    5) own=1.073e9 ;;
    27) own=2.597e9 ;;
    elasticity) own=2.92e9 ;;
    small) own=2.8e6 ;;
  esac
  if [ "$1" = small ] || [ "$bytes" = 0 ]; then echo "$own"; else echo "$bytes"; fi
}

# solves <file> <name> <problem> <size> <option>...: its output joins the file, behind its name
solves()
{
  local file=$1 name=$2 problem=$3 size=$4
  shift 4
  attempt "$name" "$programs/solves" -device $device -problem "$problem" -bytes "$(size "$size")" "$@" ||
    return
  printf '\n$ %s\n' "$name" >> "$out/$file"
  cat "$output" >> "$out/$file"
}

step_whole()
{
  local to=(-rtol 1e-8 -rounds 3) file=record_whole.txt
  head_of "$out/$file"
  solves $file "whole 7 small" 7 small "${to[@]}" -ksp_type cg -pc_type jacobi
  solves $file "whole 7" 7 7 "${to[@]}" -ksp_type cg -pc_type jacobi
  solves $file "whole 27" 27 27 "${to[@]}" -ksp_type cg -pc_type jacobi
  solves $file "whole elasticity" elasticity elasticity "${to[@]}" -ksp_type cg -pc_type jacobi
  solves $file "whole elasticity bcsr" elasticity elasticity "${to[@]}" -mat_type bcsr -ksp_type cg \
    -pc_type pbjacobi
  solves $file "whole 7" 7 7 "${to[@]}" -ksp_type bicgstab -pc_type jacobi
  solves $file "whole 27" 27 27 "${to[@]}" -ksp_type gmres -pc_type jacobi
  solves $file "whole 5" 5 5 "${to[@]}" -ksp_type cg -pc_type jacobi
}

# Both kinds of products wait at both ends: no loop is replayed.
step_fused()
{
  local run file=$out/record_fused.csv problem type form log=$out/record.part
  head_of "$file"
  echo "problem,type,form,event,calls,seconds" >> "$file"
  for run in "27 csr phases" "27 csr predict" "elasticity csr phases" "elasticity csr predict" \
    "7 csr phases" "7 csr predict" "5 csr phases" "5 csr predict" "elasticity bcsr phases" \
    "elasticity bcsr predict"; do
    read -r problem type form <<< "$run"
    attempt "fused $run" "$programs/solves" -device $device -problem "$problem" -bytes "$(size "$problem")" \
      -mat_type "$type" -ksp_type cg -ksp_cg_variant "$form" -pc_type jacobi -iterations 50 -seconds 0.5 \
      -products 500 -log_device_time -log_view ":$log:csv" || continue
    sed -n 's/"//g; /^\(MatMult\|bare products\),/p' "$log" |
      awk -F, -v run="$problem,$type,$form" -v OFS=, '{ print run, $1, $2, $4 }' >> "$file"
    rm -f "$log"
  done
}

step_short()
{
  local file=record_short.txt
  head_of "$out/$file"
  solves $file "short 7 small cg" 7 small -iterations "1 9 19 146" -ksp_type cg -pc_type jacobi
  solves $file "short 7 small bicgstab" 7 small -iterations "1 30 60" -ksp_type bicgstab -pc_type jacobi
  solves $file "short 7 small gmres" 7 small -iterations "1 30 60" -ksp_type gmres -pc_type jacobi
  solves $file "short 7 cg" 7 7 -iterations "1 9 100" -ksp_type cg -pc_type jacobi
}

: > "$out/record.log"
watch_clocks
for step in long whole short fused rest; do
  if wanted $step; then "step_$step"; fi
done
rm -f "$output" "$out"/record.part* # one that was stopped leaves a part
if python3 bench/record.py "$out"; then :; else failed=1; fi

if [ $failed -ne 0 ]; then
  echo "Something FAILED, see $out/record.log."
  exit 1
elif [ $unfinished -ne 0 ]; then
  echo "Nothing failed, but not everything came to its end in time."
  exit 3
fi

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Measure solves and products on 1, 2, 4, ... GPUs of this host: bench/gpus.sh [option...] [step...]
#
# Steps, in this order; without any all of them, as far as the time goes:
#   loop        CG with jacobi on 1, 2, 4, ... GPUs; threads, processes and workers, by each path of exchange
#   cost        what halos and sums cost beyond their bytes: beside parts alone, and without halos
#   irregular   products in a loop on R-MAT, long-tail and uneven rows: row blocks beside pcsr
#   speedup     products and CG on all of these by one path, for the speed-ups of scale.py --speedup
#   multigrid   whole solves by cg with amg
#   parts       partitioning and merging from host memory: CSR, CSC, COO on six power laws (parts.c)
#   large       more than 1.1 times a GPU's memory, more than 2^31 nonzeros on each (huge.c)
#
# Options
#   --build <folder>   of the build, which has the programs already (build/gpu, or build/release on a CPU)
#   --out <folder>     of what is written: gpus_<step>.txt, gpus_clocks.csv, gpus.log (build/gpus)
#   --budget <seconds> for everything (540)
#   --device <name>    cuda, host or mock (cuda where nvidia-smi lists a GPU)
#   --most <number>    of GPUs (as many as there are; on a CPU 2)
#   --least <number>   of GPUs (1)
#   --paths "<path>..." of exchange (all that there are: words of -comm_exchange)
#   --shrink <number>  matrices so many times smaller (1; on a CPU 100)
#   --seconds <number> of each row, at least (2)
#   --repeats <number> of parts (3)
#   --commit <id>      of what was built (as git says)
#
# It builds nothing. A step replaces its files; those of other steps stay. Fewest GPUs come first, so what was
# not finished are the largest numbers. Clocks and power of all GPUs are sampled twice a second. Rows are as
# in gpus.c; scale.py makes tables of them, and compares them with its model.
#
# Exit status: 0 all was measured; 1 something failed; 3 nothing failed, but not everything came to its end in
# time; 2 wrong usage.
set -uo pipefail
arguments=$*
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

build="" out=build/gpus budget=540 device="" most="" least=1 paths="" shrink="" seconds=2 repeats=3
commit="" steps=()
known=(loop cost irregular speedup multigrid parts large)

usage()
{
  sed -n '3,/^set /{/^set /d;s/^# \{0,1\}//;p}' "bench/$(basename "${BASH_SOURCE[0]}")" >&2
  exit 2
}

while [ $# -gt 0 ]; do
  case $1 in
    --build | --out | --budget | --device | --most | --least | --paths | --shrink | --seconds | --repeats | \
      --commit)
      [ $# -ge 2 ] || usage
      declare "${1#--}=$2"
      shift 2
      ;;
    *)
      [[ " ${known[*]} " == *" $1 "* ]] || usage
      steps+=("$1")
      shift
      ;;
  esac
done
[ ${#steps[@]} -gt 0 ] || steps=("${known[@]}")
[[ $budget =~ ^[1-9][0-9]*$ && $device =~ ^(cuda|host|mock|)$ && $most =~ ^([1-9][0-9]*|)$ ]] || usage
[[ $least =~ ^[1-9][0-9]*$ && $shrink =~ ^[0-9.e]*$ && $seconds =~ ^[0-9.]+$ ]] || usage
[[ $repeats =~ ^[1-9][0-9]*$ ]] || usage

gpus=$(nvidia-smi -L 2> /dev/null | grep -c '^GPU') || gpus=0
if [ -z "$device" ]; then
  if [ "$gpus" -gt 0 ]; then device=cuda; else device=host; fi
fi
if [ $device = cuda ]; then
  build=${build:-build/gpu} most=${most:-$gpus} shrink=${shrink:-1}
else
  build=${build:-build/release} most=${most:-2} shrink=${shrink:-100}
fi
programs=$build/bench
for program in gpus parts huge; do
  if [ ! -x "$programs/$program" ]; then
    echo "There is no $programs/$program: build it, or name the build (--build)."
    exit 2
  fi
done
mkdir -p "$out" || exit 1
started=$(date +%s) failed=0 unfinished=0

# Of Open MPI: in containers too, with more ranks than processors, threads anywhere.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_hwloc_base_binding_policy=none

# ---- the machine -------------------------------------------------------------------------------------------

gpu=0
# shellcheck source=bench/common/machine.sh
. bench/common/machine.sh
describe_machine "$gpus x"

# In the background, until this script ends.
sampler=
watch_clocks()
{
  local file=$out/gpus_clocks.csv
  [ $device = cuda ] || return 0
  if [ ! -f "$file" ]; then
    head_of "$file"
    echo "time,gpu,sm_mhz,memory_mhz,watts,celsius,used_mib" >> "$file"
  fi
  echo "# started: $(date +%s), ${steps[*]}" >> "$file"
  TZ=UTC stdbuf -oL nvidia-smi -lms 500 --format=csv,noheader,nounits \
    --query-gpu=timestamp,index,clocks.sm,clocks.mem,power.draw,temperature.gpu,memory.used >> "$file" \
    2> /dev/null &
  sampler=$!
}

trap '[ -z "$sampler" ] || kill "$sampler" 2> /dev/null' EXIT

# ---- runs --------------------------------------------------------------------------------------------------

# attempt <file> <name> <command>...: within the time that is left. Standard output joins the file, behind the
# name; all output goes to gpus.log.
attempt()
{
  local file=$out/$1 name=$2 start status left
  shift 2
  start=$(date +%s)
  left=$((budget - (start - started)))
  if [ $left -lt 5 ]; then
    unfinished=1
    printf '%-56s not started: the budget of %s s is spent\n' "$name" "$budget"
    return 1
  fi
  printf '$ %s\n' "$*" >> "$out/gpus.log"
  timeout --kill-after=10 $left "$@" > "$out/gpus.output" 2>> "$out/gpus.log"
  status=$?
  cat "$out/gpus.output" >> "$out/gpus.log"
  case $status in
    0)
      printf '%-56s %s s\n' "$name" $(($(date +%s) - start))
      printf '\n# %s\n' "$name" >> "$file"
      cat "$out/gpus.output" >> "$file"
      ;;
    4)
      printf '%-56s is not supported: %s\n' "$name" "$(grep 'not supported' "$out/gpus.log" | tail -n 1)"
      printf '\n# %s: not supported\n' "$name" >> "$file"
      ;;
    124 | 137)
      unfinished=1
      printf '%-56s not finished in the %s s that were left\n' "$name" $left
      printf '\n# %s: not finished\n' "$name" >> "$file"
      cat "$out/gpus.output" >> "$file"
      ;;
    *)
      failed=1
      printf '%-56s FAILED, exit status %s, see %s\n' "$name" $status "$out/gpus.log"
      printf '\n# %s: failed\n' "$name" >> "$file"
      ;;
  esac
  return $status
}

# 1 2 4 ... and the most there are, from the least one that is wanted
numbers()
{
  local p=1
  while [ $p -lt "$most" ]; do
    [ $p -lt "$least" ] || echo $p
    p=$((2 * p))
  done
  echo "$most"
}

# Words of an option's list that this build has, but auto.
paths()
{
  if [ -n "$paths" ]; then
    tr ' ' '\n' <<< "$paths"
    return
  fi
  "$programs/gpus" -help 2> /dev/null | sed -n '/-comm_exchange/s/.*; auto|\([a-z|]*\)).*/\1/p' | tr '|' '\n'
}

# launcher <kind> <p>: sets launch and ranks
launcher()
{
  launch=() ranks=()
  case $1 in
    threads) if [ "$2" -gt 1 ]; then ranks=(-ranks "$2"); fi ;;
    workers) if [ $device = host ]; then ranks=(-solve_ranks "$2"); else ranks=(-gpus "$2"); fi ;;
    processes) launch=(mpirun -n "$2") ;;
  esac
}

has_mpi()
{
  command -v mpirun > /dev/null && ldd "$programs/gpus" 2> /dev/null | grep -q libmpi
}

# size <bytes>: of a matrix
size()
{
  awk -v b="$1" -v s="$shrink" 'BEGIN { printf "%.4g", b / s }'
}

# run <file> <kind> <p> <exchange> <problem> <bytes> <option>...
run()
{
  local file=$1 kind=$2 p=$3 exchange=$4 problem=$5 bytes=$6 path=()
  shift 6
  launcher "$kind" "$p"
  if [ "$p" -gt 1 ] && [ "$exchange" != - ]; then path=(-comm_exchange "$exchange"); fi
  attempt "$file" "$problem $bytes on $p ($kind, $exchange) $*" "${launch[@]}" "$programs/gpus" \
    -device $device "${ranks[@]}" "${path[@]}" -problem "$problem" -bytes "$(size "$bytes")" \
    -seconds "$seconds" "$@" "${fewer[@]}"
}

jacobi=(-ksp_type cg -pc_type jacobi -ksp_norm_type unpreconditioned)
blocks=(-mat_type bcsr -ksp_type cg -pc_type jacobi -ksp_norm_type unpreconditioned)
# An iteration is a product and a pass over vectors.
products=(-ksp_type richardson -ksp_norm_type none -ksp_richardson_scale 1e-9 -pc_type none)

# problem, bytes, iterations of the longer and of the shorter solve; elasticity by blocks
meshes=(
  "27 9.97e6 1200 200"
  "27 3.28e8 1200 200"
  "27 1.33e9 500 100"
  "7 1.471e9 400 100"
  "elasticity 2.92e9 300 100"
)
irregular=("rmat 8.3e8" "halves 1.3e9" "tail 1.2e9" "rmat 1.65e9" "rmat_scrambled 8.3e8")
# Small systems are solved exactly before: fewer iterations.
fewer=()
[ "$shrink" = 1 ] || fewer=(-longer 40 -shorter 20)

# many <file> <p> <problem> <bytes> <option>...: all kinds of ranks and paths
many()
{
  local file=$1 p=$2 path
  shift 2
  if [ "$p" -eq 1 ]; then
    run "$file" threads 1 - "$@"
    return
  fi
  for path in $(paths); do
    run "$file" threads "$p" "$path" "$@"
    if has_mpi; then run "$file" processes "$p" "$path" "$@"; fi
  done
  run "$file" workers "$p" - "$@"
}

step_loop()
{
  local file=gpus_loop.txt p line problem bytes longer shorter options
  head_of "$out/$file"
  for p in $(numbers); do
    for line in "${meshes[@]}"; do
      read -r problem bytes longer shorter <<< "$line"
      options=("${jacobi[@]}")
      [ "$problem" != elasticity ] || options=("${blocks[@]}")
      many $file "$p" "$problem" "$bytes" -longer "$longer" -shorter "$shorter" "${options[@]}"
    done
  done
}

# A part alone has no exchange and no sums over ranks. Without coupling there are sums and no halos.
step_cost()
{
  local file=gpus_cost.txt p bytes path
  head_of "$out/$file"
  for p in $(numbers); do
    [ "$p" -gt 1 ] || continue
    for bytes in 9.97e6 3.28e8; do
      run $file threads 1 - 27 $bytes -share "$p" "${jacobi[@]}" -ksp_cg_variant phases
      for path in $(paths); do
        run $file threads "$p" "$path" 27 $bytes -coupled no "${jacobi[@]}" -ksp_cg_variant phases
        run $file threads "$p" "$path" 27 $bytes "${jacobi[@]}" -ksp_cg_variant phases
      done
    done
  done
}

# products <file> <problem> <bytes>: on 1, 2, 4, ... GPUs, by the path that the library takes
products()
{
  local p
  for p in $(numbers); do
    run "$1" threads "$p" - "$2" "$3" -types "auto pcsr" -longer 100 -shorter 20 "${products[@]}"
  done
}

step_irregular()
{
  local file=gpus_irregular.txt line problem bytes type
  head_of "$out/$file"
  for line in "${irregular[@]}"; do
    read -r problem bytes <<< "$line"
    products $file "$problem" "$bytes"
  done
  # Own time of MatMult, of the slowest and the fastest rank: without waiting for x.
  for line in "rmat 8.3e8" "halves 1.3e9"; do
    read -r problem bytes <<< "$line"
    for type in auto pcsr; do
      run $file threads "$most" host "$problem" "$bytes" -types $type -measure product -longer 20 \
        -log_device_time -log_view ":$out/gpus.part:csv" || continue
      awk -F, '/^"MatMult",/ { print "# seconds of", $2, "MatMult without waits: fastest rank", $(NF - 1) \
        ", slowest", $NF }' "$out/gpus.part" >> "$out/$file"
    done
  done
}

step_speedup()
{
  local file=gpus_speedup.txt p line problem bytes longer shorter options
  head_of "$out/$file"
  for line in "${irregular[@]}"; do
    read -r problem bytes <<< "$line"
    products $file "$problem" "$bytes"
  done
  for line in "${meshes[@]:1}"; do
    read -r problem bytes longer shorter <<< "$line"
    options=("${jacobi[@]}")
    [ "$problem" != elasticity ] || options=("${blocks[@]}")
    for p in $(numbers); do
      run $file threads "$p" - "$problem" "$bytes" -longer "$longer" -shorter "$shorter" "${options[@]}"
    done
  done
}

step_multigrid()
{
  local file=gpus_multigrid.txt p
  head_of "$out/$file"
  for p in $(numbers); do
    run $file threads "$p" - 7 1.471e9 -measure whole -ksp_type cg -pc_type amg -ksp_rtol 1e-8
    if [ "$p" -gt 1 ] && has_mpi; then
      run $file processes "$p" - 7 1.471e9 -measure whole -ksp_type cg -pc_type amg -ksp_rtol 1e-8
    fi
  done
}

step_parts()
{
  local file=gpus_parts.txt p name
  head_of "$out/$file"
  for name in mouse_gene wb-edu com-LiveJournal hollywood-2009 com-Orkut HV15R; do
    for p in $(numbers); do
      attempt $file "parts $name on $p" "$programs/parts" -device $device -ranks "$p" -only $name \
        -shrink "$shrink" -repeats "$repeats"
    done
  done
}

step_large()
{
  local file=gpus_large.txt size=()
  head_of "$out/$file"
  [ $device = cuda ] || size=(-nonzeros 1e6)
  [ "$most" -gt 1 ] || return 0
  attempt $file "more than a GPU's memory on 2" "$programs/huge" -device $device -ranks 2 "${size[@]}"
}

watch_clocks
for step in "${known[@]}"; do
  if [[ " ${steps[*]} " == *" $step "* ]]; then "step_$step"; fi
done
rm -f "$out/gpus.output" "$out/gpus.part"

if [ $failed -ne 0 ]; then
  echo "Something FAILED, see $out/gpus.log."
  exit 1
elif [ $unfinished -ne 0 ]; then
  echo "Nothing failed, but not everything came to its end in time."
  exit 3
fi

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Test a machine with a GPU: scripts/gpu-test.sh [option...] [stage...]
#
# Stages, in this order; without any: build suites sanitize
#   build      configure and build for the GPU that is here
#   suites     every test suite, and the examples, on the device cuda
#   sanitize   the suites under compute-sanitizer: memcheck, racecheck, synccheck, initcheck; quick ones first
#   python     the tests of the Python package, with what python3 has: PyTorch, CuPy, JAX
#   bench      the benchmark, and its pictures where there is matplotlib
#   fem        the finite-element drivers: the same solutions as on the host; elasticity with 10 million
#              unknowns; steps of heat
#   gpus       every test suite with a GPU for each rank, on 2, 4, ... GPUs: threads, and processes of MPI, by
#              each path of exchange that there is
#   scale      solves and products on 1, 2, 4, ... GPUs (bench/gpus.sh, which has steps of its own)
#
# Options
#   --build <folder>      of the build and of all logs (build/gpu)
#   --budget <seconds>    for each of the stages but build in all (480)
#   --each <seconds>      for one suite, or one suite under one tool (120)
#   --only "<suite>..."   these suites, e.g. "ksp pc"
#   --bench "<option>..." for the benchmark, e.g. "-only mult"
#   --scale "<step>..."   of stage scale, and options, e.g. "loop cost"
#
# What is not found where compilers look is named by variables: CUNIT_INCLUDE_DIR, CUNIT_LIBRARY,
# ZLIB_INCLUDE_DIR, ZLIB_LIBRARY, CUDA_HOME. Without mpicc the build has no MPI; ranks are threads here in any
# case.
#
# Ends with a table. Exit status: 0 all passed; 1 something failed; 3 nothing failed, but not everything came
# to its end in time; 2 wrong usage; 77 there is no GPU.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

tools=(memcheck racecheck synccheck initcheck)
build=build/gpu budget=480 each=120 only="" bench="" scale="" stages=()

usage()
{
  sed -n '3,/^set /{/^set /d;s/^# \{0,1\}//;p}' "scripts/$(basename "${BASH_SOURCE[0]}")" >&2
  exit 2
}

while [ $# -gt 0 ]; do
  case $1 in
    --build | --budget | --each | --only | --bench | --scale)
      [ $# -ge 2 ] || usage
      declare "${1#--}=$2"
      shift 2
      ;;
    build | suites | sanitize | python | bench | fem | gpus | scale)
      stages+=("$1")
      shift
      ;;
    *) usage ;;
  esac
done
[ ${#stages[@]} -gt 0 ] || stages=(build suites sanitize)
[[ $budget =~ ^[1-9][0-9]*$ && $each =~ ^[1-9][0-9]*$ ]] || usage
logs=$build/logs
times=$logs/times

wanted()
{
  [[ " ${stages[*]} " == *" $1 "* ]]
}

# ---- the machine -------------------------------------------------------------------------------------------

PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin
if ! gpus=$(nvidia-smi -L 2>&1) || [[ $gpus != *GPU* ]]; then
  echo "There is no GPU here that can be used (nvidia-smi: ${gpus:-no answer}): nothing was tested."
  exit 77
fi
mkdir -p "$logs" || exit 1
{
  echo "$gpus"
  nvidia-smi --query-gpu=driver_version,clocks.sm,clocks.mem,clocks.max.sm,memory.total --format=csv,noheader
  nvcc --version | tail -n 2
  grep -m 1 'model name' /proc/cpuinfo
} 2> /dev/null | tee "$logs/machine"

# In seconds.
now()
{
  date +%s
}

# ---- what came of it ---------------------------------------------------------------------------------------

declare -A outcome # of "<suite> <column>"
names=() failed=0 unfinished=0

# settle <suite> <column> <outcome> <seconds> <remark>
settle()
{
  outcome["$1 $2"]=$3
  [[ " ${names[*]-} " == *" $1 "* ]] || names+=("$1")
  case $3 in
    FAILED) failed=1 ;;
    "not finished" | "not started") unfinished=1 ;;
  esac
  printf '%-10s %-16s %-12s %4s s  %s\n' "$2" "$1" "$3" "$4" "$5"
}

# attempt <seconds> <log> <command>...: sets status, took, and result to what that means
attempt()
{
  local seconds=$1 log=$2 start
  start=$(now)
  shift 2
  timeout --kill-after=10 "$seconds" "$@" > "$log" 2>&1
  status=$?
  took=$(($(now) - start))
  result=FAILED remark="exit status $status, see $log"
  if [ $status -eq 0 ]; then
    result=passed remark=""
  elif { [ $status -eq 124 ] || [ $status -eq 137 ]; } && [ $took -ge "$seconds" ]; then
    result="not finished" remark="stopped after $took s, see $log"
  fi
}

# left <start>: sets limit, the seconds that the next one may take; fails when the budget is spent
left()
{
  limit=$((budget - ($(now) - $1)))
  [ "$limit" -le "$each" ] || limit=$each
  [ "$limit" -gt 0 ]
}

is_program()
{
  [ -f "$1" ] && [ -x "$1" ]
}

suites()
{
  local program name
  for program in "$build"/tests/test_*; do
    name=${program##*/test_}
    is_program "$program" || continue
    [ -z "$only" ] || [[ " $only " == *" $name "* ]] || continue
    echo "$name"
  done
}

# ---- stages ------------------------------------------------------------------------------------------------

stage_build()
{
  local arguments=(-S . -B "$build" -D CMAKE_BUILD_TYPE=Release -D POISE_CUDA=ON -D POISE_NATIVE=ON)
  local variable architecture
  architecture=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2> /dev/null |
    sort -u | tr -d . | paste -sd ';')
  [[ $architecture =~ ^[0-9\;]+$ ]] || architecture=native
  arguments+=(-D CMAKE_CUDA_ARCHITECTURES="$architecture")
  command -v mpicc > /dev/null || arguments+=(-D POISE_MPI=OFF)
  for variable in CUNIT_INCLUDE_DIR CUNIT_LIBRARY ZLIB_INCLUDE_DIR ZLIB_LIBRARY; do
    [ -z "${!variable-}" ] || arguments+=(-D "$variable=${!variable}")
  done
  local start
  start=$(now)
  if cmake "${arguments[@]}" > "$logs/build" 2>&1 &&
    cmake --build "$build" -j "$(nproc)" >> "$logs/build" 2>&1; then
    settle build stage passed $(($(now) - start)) "for $architecture"
    return
  fi
  settle build stage FAILED $(($(now) - start)) "$logs/build ends with:"
  tail -n 20 "$logs/build"
  return 1
}

# on_device <name> <limit> <command>...
on_device()
{
  local name=$1 log=$logs/$1.cuda
  shift
  attempt "$1" "$log" "${@:2}"
  if [ "$result" = passed ] && grep -q 'no test runs in this configuration' "$log"; then
    result="nothing to do"
  fi
  settle "$name" cuda "$result" "$took" "$remark"
}

# under <tool> <suite> <limit>
under()
{
  local log=$logs/$2.$1 summary words=()
  # Calls of the runtime that fail are what these suites are about.
  if [[ $2.$1 =~ ^(gpus|offload).memcheck$ ]]; then words=(--report-api-errors no); fi
  # These two fail in graphs with conditions, whatever is in them. The others take memory that is freed behind
  # such a graph for free while it runs, and so all memory if another process is at work on the GPU.
  local plain=POISE_TEST_PLAIN_MEMORY=1
  if [[ $1 =~ ^(race|sync)check$ ]]; then plain=POISE_TEST_PLAIN_GRAPHS=1; fi
  attempt "$3" "$log" env $plain compute-sanitizer --tool "$1" "${words[@]}" --error-exitcode 9 \
    "$build/tests/test_$2" --devices cuda --ranks 1
  summary=$(grep -oE '(ERROR|RACECHECK) SUMMARY: .*' "$log" | tail -n 1)
  # Without its last line the tool has looked at nothing.
  if grep -q 'no test runs in this configuration' "$log"; then
    result="nothing to do" remark=""
  elif [ "$result" = passed ] && [ -z "$summary" ]; then
    result=FAILED remark="the tool gave no summary, see $log"
  fi
  settle "$2" "$1" "$result" "$took" "$summary${summary:+${remark:+; }}$remark"
}

not_started()
{
  settle "$1" "$2" "not started" 0 "the budget of $budget s is spent"
}

stage_suites()
{
  local start name program
  start=$(now)
  : > "$times"
  for name in $(suites); do
    if ! left "$start"; then
      not_started "$name" cuda
      continue
    fi
    on_device "$name" "$limit" "$build/tests/test_$name" --devices cuda
    echo "$took $name" >> "$times"
  done
  [ -z "$only" ] || return 0
  for program in "$build"/examples/[0-9]*; do
    is_program "$program" || continue
    name=${program##*/}
    if left "$start"; then
      on_device "$name" "$limit" "$program" -device cuda
    else
      not_started "$name" cuda
    fi
  done
}

# Quick ones first, as far as stage suites has told.
by_time()
{
  local name seconds
  for name in $(suites); do
    seconds=$(sed -n "s/^\([0-9]*\) $name\$/\1/p" "$times" 2> /dev/null)
    echo "${seconds:-999999} $name"
  done | sort -n | cut -d ' ' -f 2
}

stage_sanitize()
{
  local start name tool
  start=$(now)
  if ! command -v compute-sanitizer > /dev/null; then
    settle sanitize stage FAILED 0 "there is no compute-sanitizer (CUDA toolkit; CUDA_HOME says where)"
    return
  fi
  for name in $(by_time); do
    [ "${outcome["$name cuda"]-}" != "nothing to do" ] || continue
    for tool in "${tools[@]}"; do
      if left "$start"; then under "$tool" "$name" "$limit"; else not_started "$name" "$tool"; fi
    done
  done
}

stage_python()
{
  if ! python3 -c 'import pytest, scipy' 2> /dev/null; then
    settle python stage "nothing to do" 0 "python3 has no pytest, or no SciPy"
    return
  fi
  attempt "$budget" "$logs/python" env PYTHONPATH="$PWD/python" \
    POISE_LIBRARY="$(realpath "$build")/libpoise.so" python3 -m pytest -v -p no:cacheprovider python/tests
  tail -n 5 "$logs/python"
  settle python stage "$result" "$took" "$remark"
}

stage_bench()
{
  local csv=$logs/poise_bench.csv options
  read -ra options <<< "$bench"
  attempt "$budget" "$logs/poise_bench" "$build/bench/poise_bench" -device cuda -numbers 268435456 \
    -out "$csv" "${options[@]}"
  cat "$logs/poise_bench"
  settle bench stage "$result" "$took" "${remark:-$csv}"
  if [ "$result" != passed ] || ! python3 -c 'import matplotlib' 2> /dev/null; then return; fi
  python3 bench/plot.py "$csv" || settle pictures stage FAILED 0 "bench/plot.py $csv"
}

# Small runs in all combinations, then those that must fill a GPU. What these print, with the table of times,
# is shown.
stage_fem()
{
  local start run name k=0
  start=$(now)
  local runs=(
    "fem_choice"
    "poisson -cell hex8 -n 100 -refinements 0 -check_assembly"
    "poisson -cell tet4 -n 64 -refinements 0"
    "elasticity -cell hex8 -n 16 -check_assembly"
    "elasticity -cell hex8 -n 16 -assembly device"
    "elasticity -cell hex8 -n 69"
    "heat -n 160 -steps 20"
  )
  left "$start" || return
  attempt "$limit" "$logs/fem_all" tests/fem/all.sh "$build/examples" cuda "1 2"
  cat "$logs/fem_all"
  settle fem_all fem "$result" "$took" "$remark"
  for run in "${runs[@]}"; do
    name=${run%% *}.$((++k))
    if ! left "$start"; then
      not_started "$name" fem
      continue
    fi
    # shellcheck disable=SC2086
    attempt "$limit" "$logs/$name" "$build/examples/"$run -device cuda
    printf '\n$ %s -device cuda\n' "$run"
    cat "$logs/$name"
    settle "$name" fem "$result" "$took" "$remark"
  done
}

# Words of option -comm_exchange that this build has, but auto.
paths()
{
  "$build/examples/02_poisson" -help 2> /dev/null |
    sed -n '/-comm_exchange/s/.*; auto|\([a-z|]*\)).*/\1/p' | tr '|' '\n'
}

# on_ranks <suite> <GPUs> <column> <path> <command>...: the suite, by one path of exchange
on_ranks()
{
  local name=$1 number=$2 column=$3 path=$4
  local log=$logs/$name.$column
  shift 4
  attempt "$limit" "$log" env POISE_OPTIONS="-comm_exchange $path" \
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_hwloc_base_binding_policy=none \
    OMPI_MCA_rmaps_base_oversubscribe=1 "$@"
  if [ "$result" = passed ] && grep -q 'no test runs in this configuration' "$log"; then
    result="nothing to do"
  fi
  settle "$name" "$column" "$result" "$took" "$remark"
}

# Fewest GPUs first. A column is a number of GPUs with t (threads) or p (processes), and the path.
stage_gpus()
{
  local start name number path found
  found=$(grep -c GPU <<< "$gpus")
  if [ "$found" -lt 2 ]; then
    settle gpus stage "nothing to do" 0 "there is one GPU"
    return
  fi
  start=$(now)
  for ((number = 2; number <= found; number *= 2)); do
    for path in $(paths); do
      for name in $(suites); do
        [ "$name" != team ] || continue # its ranks are workers, which stage suites tests on all GPUs
        for kind in t p; do
          columns+=("$number$kind.$path")
          if [ $kind = p ] && ! command -v mpirun > /dev/null; then continue; fi
          if ! left "$start"; then
            not_started "$name" "$number$kind.$path"
          elif [ $kind = t ]; then
            on_ranks "$name" "$number" "$number$kind.$path" "$path" "$build/tests/test_$name" \
              --devices cuda --ranks "$number"
          else
            on_ranks "$name" "$number" "$number$kind.$path" "$path" mpirun -n "$number" \
              "$build/tests/test_$name" --devices cuda
          fi
        done
      done
    done
  done
}

stage_scale()
{
  local words=()
  read -ra words <<< "$scale"
  attempt "$((budget + 30))" "$logs/scale" bench/gpus.sh --build "$build" --out "$logs/gpus" \
    --budget "$budget" "${words[@]}"
  cat "$logs/scale"
  if [ $status -eq 3 ]; then result="not finished" remark="see $logs/gpus"; fi
  settle scale stage "$result" "$took" "${remark:-$logs/gpus}"
}

if wanted build && ! stage_build; then exit 1; fi
if { wanted suites || wanted sanitize || wanted gpus; } && [ -z "$(suites)" ]; then
  echo "There is no suite ${only:-at all} in $build/tests."
  exit 1
fi
if wanted suites; then stage_suites; fi
if wanted sanitize; then stage_sanitize; fi
if wanted python; then stage_python; fi
if wanted bench; then stage_bench; fi
if wanted fem; then stage_fem; fi
columns=(cuda "${tools[@]}")
if wanted gpus; then stage_gpus; fi
if wanted scale; then stage_scale; fi

# ---- the table ---------------------------------------------------------------------------------------------

mapfile -t columns < <(printf '%s\n' "${columns[@]}" | awk '!seen[$0]++')
printf '\n%-16s' ""
printf ' %-13s' "${columns[@]}"
echo
for name in "${names[@]}"; do
  printf '%-16s' "$name"
  if [ -n "${outcome["$name stage"]-}${outcome["$name fem"]-}" ]; then
    printf ' %s' "${outcome["$name stage"]-}${outcome["$name fem"]-}"
  else
    for column in "${columns[@]}"; do printf ' %-13s' "${outcome["$name $column"]--}"; done
  fi
  echo
done

if [ $failed -ne 0 ]; then
  echo "Something FAILED. Logs: $logs"
  exit 1
elif [ $unfinished -ne 0 ]; then
  echo "Nothing failed, but not everything came to its end in time. Logs: $logs"
  exit 3
fi
echo "All passed."

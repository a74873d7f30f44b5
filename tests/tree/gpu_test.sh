#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# scripts/gpu-test.sh tells what passed, what failed and what did not come to its end. This is tested without
# a GPU: nvidia-smi, compute-sanitizer and the suites are small scripts. So is the clock, but in one case, so
# that a busy machine changes no result.
# shellcheck disable=SC2016 # their $ are their own
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir/bin" "$dir/build/tests"
bad=0

# program <path> <line>...
program()
{
  local path=$dir/$1
  shift
  printf '%s\n' '#!/bin/sh' "$@" > "$path"
  chmod +x "$path"
}

suites()
{
  rm -f "$dir"/build/tests/test_*
  local name
  for name in "$@"; do
    case $name in
      slow) # as if it was stopped
        program "build/tests/test_$name" "echo \$((\$(cat $dir/clock) + 100)) > $dir/clock" 'exit 124'
        ;;
      early) program "build/tests/test_$name" 'exit 124' ;;
      endless) program "build/tests/test_$name" 'while :; do sleep 1; done' ;;
      bad) program "build/tests/test_$name" 'exit 1' ;;
      none) program "build/tests/test_$name" 'echo "none: no test runs in this configuration"' ;;
      *) program "build/tests/test_$name" '[ "$1 $2" = "--devices cuda" ]' ;;
    esac
  done
}

# expect <exit status> <words>... -- <argument>...: the script, whose output holds all these words
expect()
{
  local want=$1 got=0 output word words=()
  shift
  while [ "$1" != -- ]; do
    words+=("$1")
    shift
  done
  shift
  output=$(PATH="$dir/bin:$PATH" scripts/gpu-test.sh --build "$dir/build" "$@" 2>&1) || got=$?
  [ "$got" -eq "$want" ] || { echo "exit status $got, not $want:" && echo "$output" && bad=1; }
  for word in "${words[@]}"; do
    grep -qE -- "$word" <<< "$output" || { echo "no '$word' in:" && echo "$output" && bad=1; }
  done
}

echo 0 > "$dir/clock"
program bin/date "cat $dir/clock"
program bin/nvidia-smi 'echo "No devices were found"; exit 6'
suites quick
expect 77 'There is no GPU here.*No devices were found' -- suites

program bin/nvidia-smi 'echo "GPU 0: none at all"'
expect 2 'Exit status' -- --budget much suites
expect 2 'Exit status' -- something
expect 0 'cuda +quick +passed' 'All passed' -- suites
suites quick none
expect 0 'cuda +none +nothing to do' -- suites
suites quick bad
expect 1 'cuda +bad +FAILED' 'quick +passed' 'Something FAILED' -- suites
expect 0 'quick +passed' -- --only quick suites
expect 1 'There is no suite other' -- --only other suites
suites quick slow
expect 3 'cuda +slow +not finished' '^slow +not finished' 'quick +passed' 'Nothing failed, but' -- \
  --each 100 suites
suites early
expect 1 'cuda +early +FAILED .*exit status 124' -- suites
suites slow tardy
expect 3 'slow +not finished' 'cuda +tardy +not started' -- --budget 100 suites

program bin/compute-sanitizer 'tool=$2; shift 4; "$@" || exit' 'echo "========= ERROR SUMMARY: 0 errors"'
suites quick
expect 0 'memcheck +quick +passed .* ERROR SUMMARY: 0 errors' 'racecheck' 'synccheck' \
  'initcheck +quick +passed' -- sanitize
suites quick slow
expect 3 'memcheck +slow +not finished' 'initcheck +quick +passed' 'initcheck +slow +not started' -- \
  --each 100 --budget 300 suites sanitize
program bin/compute-sanitizer 'exit 0'
suites quick
expect 1 'memcheck +quick +FAILED .*no summary' -- sanitize
program bin/compute-sanitizer 'echo "========= ERROR SUMMARY: 3 errors"; exit 9'
expect 1 'memcheck +quick +FAILED .*ERROR SUMMARY: 3 errors; exit status 9' -- sanitize

# ---- several GPUs ------------------------------------------------------------------------------------------

suites quick
expect 0 'gpus +nothing to do' -- gpus
program bin/nvidia-smi 'echo "GPU 0: none at all"; echo "GPU 1: nor another"'
program bin/mpirun '[ "$2" = 2 ] && shift 2 && exec "$@"'
mkdir -p "$dir/build/examples" "$dir/build/bench"
program build/examples/02_poisson 'echo "-comm_exchange <word>  how (default auto; auto|peer|host)"'
expect 0 '2t.peer +quick +passed' '2p.peer +quick +passed' '2p.host +quick +passed' -- gpus
program build/tests/test_path '[ "$POISE_OPTIONS" = "-comm_exchange host" ]'
expect 1 '2t.peer +path +FAILED' '2p.host +path +passed' -- gpus
suites slow tardy
expect 3 '2t.peer +slow +not finished' '2t.host +tardy +not started' -- \
  --budget 100 gpus
for name in gpus parts huge; do program "build/bench/$name" 'echo "loop 7 8"'; done
expect 0 'memory on 2 +[0-9]+ s' 'scale +passed' -- --scale large scale
program build/bench/huge 'exit 1'
expect 1 'memory on 2 +FAILED' 'scale +FAILED' -- --scale large scale

rm "$dir/bin/date"
suites endless
expect 3 'cuda +endless +not finished' -- --each 1 suites
exit $bad

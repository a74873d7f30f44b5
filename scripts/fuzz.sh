#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Build the fuzzers of tests/fuzz and run each so many seconds, as many at a time as there are cores.
#   scripts/fuzz.sh [seconds]    an hour each unless told otherwise
# The inputs that a run collects stay in build/fuzz/corpus, where the next run starts from them. An input that
# breaks a promise is left in build/fuzz/found. Mend what it shows, and move it to tests/fuzz/<target>, where
# every later test replays it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/setup.sh
. scripts/setup.sh

seconds=${1-3600}
if [ $# -gt 1 ] || ! [[ $seconds =~ ^[1-9][0-9]*$ ]]; then
  echo "usage: scripts/fuzz.sh [seconds]" >&2
  exit 2
fi
mapfile -t missing < <(test_packages && fuzz_packages)
install_packages "${missing[@]}"

cmake --preset fuzz > /dev/null
cmake --build --preset fuzz -j "$(nproc)" > /dev/null

# Files that a target writes stay in memory. A block of memory is refused before the process is killed for it.
[ -w /dev/shm ] && export TMPDIR=/dev/shm
export ASAN_OPTIONS=allocator_may_return_null=1:max_allocation_size_mb=1024 UBSAN_OPTIONS=print_stacktrace=1

# fuzz <target>
fuzz()
{
  local out=build/fuzz target=$1
  mkdir -p "$out/corpus/$target" "$out/found"
  if "$out/tests/fuzz/fuzz_$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=4096 \
    -dict="tests/fuzz/$target.dict" -artifact_prefix="$out/found/$target-" -print_final_stats=1 \
    "$out/corpus/$target" "tests/fuzz/$target" > "$out/$target.log" 2>&1 < /dev/null; then
    local inputs
    inputs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$out/$target.log")
    echo "$target: $inputs inputs in $seconds s, nothing found"
  else
    tail -n 60 "$out/$target.log"
    echo "$target: something was found, see above and $out/$target.log"
    return 1
  fi
}
export -f fuzz
export seconds

for dictionary in tests/fuzz/*.dict; do basename "$dictionary" .dict; done |
  xargs -P "$(nproc)" -I {} bash -euo pipefail -c 'fuzz {}'

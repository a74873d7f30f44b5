#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Measure SpMV by every type beside others, on all matrices of bench/choice, and make tables and the picture:
# bench/choice.sh [option...]
#
# Options
#   --build <folder>   of the build, which has bench/choice already (build/gpu, or build/release on a CPU)
#   --out <folder>     of what is written: choice.csv.gz, .md and .svg, choice_replayed.md (build/choice)
#   --folder <folder>  of files *.mtx and *.mtx.gz, which are measured too
#   --budget <seconds> for everything (280)
#   --device <name>    cuda or host (cuda where nvidia-smi lists a GPU)
#   --seconds <number> of a matrix in a mode (0.1)
#   --shrink <number>  made matrices have so many times fewer rows (1; on a CPU 10)
#   --only <words>     these matrices or groups
#   --commit <id>      of what was built (as git says)
#
# It builds nothing. On a GPU cold and replayed, on a CPU cold. choice.py makes tables and picture again from
# choice.csv.gz.
#
# Exit status: 0 all was measured; 1 something failed; 3 nothing failed, but not everything came to its end in
# time; 2 wrong usage.
set -uo pipefail
arguments=$*
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

build="" out=build/choice folder="" budget=280 device="" seconds=0.1 shrink="" only="" commit=""

usage()
{
  sed -n '3,/^set /{/^set /d;s/^# \{0,1\}//;p}' "bench/$(basename "${BASH_SOURCE[0]}")" >&2
  exit 2
}

while [ $# -gt 0 ]; do
  case $1 in
    --build | --out | --folder | --budget | --device | --seconds | --shrink | --only | --commit)
      [ $# -ge 2 ] || usage
      declare "${1#--}=$2"
      shift 2
      ;;
    *) usage ;;
  esac
done
[[ $budget =~ ^[1-9][0-9]*$ && $device =~ ^(cuda|host|)$ && $seconds =~ ^[0-9.]+$ ]] || usage

if [ -z "$device" ]; then
  device=host
  if [[ $(nvidia-smi -L 2> /dev/null) == *GPU* ]]; then device=cuda; fi
fi
if [ $device = cuda ]; then
  build=${build:-build/gpu} shrink=${shrink:-1}
else
  build=${build:-build/release} shrink=${shrink:-10}
fi
program=$build/bench/choice
if [ ! -x "$program" ]; then
  echo "There is no $program: build it, or name the build (--build)."
  exit 2
fi
mkdir -p "$out" || exit 1

gpu=${CUDA_VISIBLE_DEVICES:-0} gpu=${gpu%%,*}
# shellcheck source=bench/common/machine.sh
. bench/common/machine.sh
describe_machine one

trap 'rm -f "$out/choice.csv" "$out/choice.part"' EXIT
timeout --kill-after=10 "$budget" "$program" -device $device -warm no -seconds "$seconds" -shrink "$shrink" \
  -types csr,csri,csri:mat_combine=atomic,seg,auto -more seg:mat_seg_padded=yes -folder "$folder" \
  -only "$only" -out "$out/choice.part"
status=$?

{ head_of "$out/choice.csv" && cat "$out/choice.part" >> "$out/choice.csv"; } || exit 1
if [ $device = cuda ]; then
  python3 bench/choice.py "$out/choice.csv" --mode replayed > "$out/choice_replayed.md" || status=1
fi
python3 bench/choice.py "$out/choice.csv" > "$out/choice.md" || status=1 # its picture is the one that stays
gzip -9nf "$out/choice.csv" || status=1
sed -n '/^## Each type/,/^| the best type/p' "$out"/choice*.md
case $status in
  0) ;;
  124 | 137)
    echo "Not all was measured in $budget s."
    exit 3
    ;;
  *)
    echo "Something FAILED."
    exit 1
    ;;
esac

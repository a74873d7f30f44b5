#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Measure what loading a large Matrix Market file takes.
#   bench/load.sh [folder of bench/load, default build/release/bench] [n, default 156]
# Writes two files of about 2.4 GB (n = 156: 101 million entries) under TMPDIR, one after the other, and
# removes them.
set -euo pipefail
bin=${1:-build/release/bench}
n=${2:-156}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
run() { mpirun --oversubscribe --bind-to none -n "$@"; }

model=$(sed -n 's/^model name.*: //p;' /proc/cpuinfo | head -1)
echo "# $(nproc) cores, $model; load average $(cut -d' ' -f1 /proc/loadavg)"
for order in no yes; do
  file=$folder/stencil.mtx
  "$bin/load" -n "$n" -scatter $order -make "$file"
  for ranks in 1 2 4; do
    echo "## $n^3 points, rows scattered: $order, $ranks ranks of 1 thread"
    OMP_NUM_THREADS=1 run $ranks "$bin/load" -A "$file"
  done
  echo "## $n^3 points, rows scattered: $order, 1 rank of 2 threads"
  OMP_NUM_THREADS=2 run 1 "$bin/load" -A "$file"
  rm "$file"
done
"$bin/load" -n $((n / 2)) -scatter yes -make "$file"
gzip -1 "$file"
echo "## $((n / 2))^3 points, rows scattered: yes, gzip, 4 ranks of 1 thread"
OMP_NUM_THREADS=1 run 4 "$bin/load" -A "$file.gz"

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Install what is missing, build Poise, and solve a finite element problem with it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/setup.sh
. scripts/setup.sh

build=build/quickstart
log=$build/log.txt
poisson=$build/examples/02_poisson

# quietly <command>...: its output goes to the log, the end of which is shown when it fails
quietly()
{
  "$@" >> "$log" 2>&1 || {
    tail -n 30 "$log" >&2
    echo "Failed: $*   (all output: $log)" >&2
    exit 1
  }
}

mapfile -t missing < <(build_packages)
install_packages "${missing[@]}"

mkdir -p "$build"
: > "$log"
echo "Building the library and the examples in $build (about a minute the first time)."
PATH=$PATH:/usr/local/cuda/bin
gpu=OFF
if have nvidia-smi && nvidia-smi -L > /dev/null 2>&1; then
  if have nvcc; then
    gpu=ON
  else
    echo "There is a GPU in this machine, but no CUDA toolkit (nvcc) to build for it: all will run on the CPU."
  fi
fi
quietly cmake -S . -B "$build" -D CMAKE_BUILD_TYPE=Release -D POISE_TESTS=OFF -D POISE_BENCH=OFF -D POISE_CUDA="$gpu"
quietly cmake --build "$build" -j "$(nproc)"

cat <<TEXT

Solving Poisson's equation, -div(grad u) = f on the unit square, by linear finite elements on four meshes, each with cells
half as wide as the one before. One row is one mesh: the matrix is assembled from its triangles, the system is solved by
conjugate gradients with a Jacobi preconditioner, and the result is compared with the exact solution.

TEXT
"$poisson" -refinements 3
cat <<TEXT

That worked: each halving of the mesh divides the error by about four (order 2), which is what theory demands of these
elements. The program checks that itself; its text is examples/02_poisson.c.
TEXT
if [ "$gpu" = ON ]; then
  echo "There is a GPU in this machine, and this build can use it: add  -device cuda  to any of these commands."
fi

mpirun="mpirun -n 2"
[ "$(id -u)" -ne 0 ] || mpirun="mpirun --allow-run-as-root -n 2"
printf '\nWhat to try next, in %s:\n' "$PWD"
printf '  %-72s %s\n' \
  "$poisson -ksp_monitor" "the residual of each iteration" \
  "$poisson -ksp_type gmres -pc_type none" "another method" \
  "$poisson -ranks 2" "two ranks, as threads" \
  "$mpirun $poisson" "two ranks, as processes" \
  "$poisson -help" "all options" \
  examples/01_solve.c "the shortest program, to start from" \
  scripts/test.sh "all tests"

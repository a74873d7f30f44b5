#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Install what is missing, build Poise, and solve a finite element problem with it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/setup.sh
. scripts/setup.sh

build=build/quickstart
log=$build/log.txt
elasticity=$build/examples/elasticity

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
mapfile -t missing < <(picture_packages)
install_packages "${missing[@]}" || echo "There will be no picture: Python has no matplotlib here."

mkdir -p "$build"
: > "$log"
echo "Building the library and the examples in $build (about a minute the first time)."
PATH=$PATH:/usr/local/cuda/bin
gpu=OFF
if have nvidia-smi && nvidia-smi -L > /dev/null 2>&1; then
  if have nvcc; then
    gpu=ON
  else
    echo "There is a GPU in this machine, but no CUDA toolkit (nvcc) to build for it:" \
      "all will run on the CPU."
  fi
fi
quietly cmake -S . -B "$build" -D CMAKE_BUILD_TYPE=Release -D POISE_TESTS=OFF -D POISE_BENCH=OFF \
  -D POISE_CUDA="$gpu"
quietly cmake --build "$build" -j "$(nproc)"

cat <<TEXT

A steel beam, 1 m long and 0.1 m high, is clamped at one end and pulled down by 1000 N at the other.
It is cut into tetrahedra; the matrix of linear elasticity is assembled from them, three unknowns per
node, and solved by conjugate gradients with multigrid, whose coarse levels hold the rigid motions of
the beam. The deflection is compared with the beam theory of Timoshenko.

TEXT
"$elasticity" -n 4 -output "$build/beam"
cat <<TEXT

That worked: the deflection is within 2 % of theory, which the program checks itself; its text is
examples/elasticity.c.
TEXT
if python=$(python_with_matplotlib); then
  quietly "$python" examples/plot.py --field "von Mises" --warp 300 "$build/beam.vtu" "$build/beam.csv"
  echo "Picture: $PWD/$build/beam.png (stress; deformation x300). Residual norms: beam_history.png"
else
  echo "For ParaView: $PWD/$build/beam.vtu"
fi
if [ "$gpu" = ON ]; then
  echo "There is a GPU in this machine, and this build can use it:" \
    "add  -device cuda  to any of these commands."
fi

mpirun="mpirun -n 2"
[ "$(id -u)" -ne 0 ] || mpirun="mpirun --allow-run-as-root -n 2"
printf '\nWhat to try next, in %s:\n' "$PWD"
printf '  %-76s %s\n' \
  "$elasticity -ksp_monitor" "the residual of each iteration" \
  "$elasticity -pc_type pbjacobi" "one inverted 3 x 3 block per node instead of multigrid" \
  "$elasticity -cell hex8 -n 16" "hexahedra, on a finer mesh" \
  "$elasticity -mesh examples/data/bracket.msh -output bracket" "a part that Gmsh meshed" \
  "$elasticity -ranks 2" "two ranks, as threads" \
  "$mpirun $elasticity" "two ranks, as processes" \
  "$elasticity -help" "all options" \
  docs/gallery.md "the other drivers, with pictures" \
  examples/01_solve.c "the shortest program, to start from" \
  scripts/test.sh "all tests"

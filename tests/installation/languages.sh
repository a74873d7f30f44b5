#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# languages.sh <libpoise.so> <cxx or fortran> <flags>
# Compile the test of that language's interface with the library of this build, strictly, and run it. Status
# 77: there is no compiler.
set -euo pipefail
library=$1 language=$2 flags=("${@:3}")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
link=(-I"$here/include" "$library" -Wl,-rpath,"$(dirname "$library")" -o "$work/test")

case $language in
  cxx)
    # Eigen's headers are not written for these warnings.
    eigen=${EIGEN_INCLUDE_DIR:-/usr/include/eigen3}
    if [ -d "$eigen/Eigen" ]; then
      flags+=(-isystem "$eigen")
    else
      echo "without Eigen (libeigen3-dev), whose matrices are then stood in for"
    fi
    "${CXX:-c++}" -std=c++17 -O1 -g -Wall -Wextra -Wpedantic -Wshadow -Werror "${flags[@]}" \
      "$here/tests/installation/languages/test_cxx.cpp" "${link[@]}"
    ;;
  fortran)
    command -v gfortran > "$work/log" || { echo "skipped: there is no gfortran"; exit 77; }
    gfortran -std=f2018 -O1 -g -Wall -Wextra -Wpedantic -Werror -Wno-function-elimination -fcheck=all \
      -J"$work" "${flags[@]}" \
      "$here/include/poise.f90" "$here/tests/installation/languages/test_fortran.f90" "${link[@]}"
    ;;
esac
POISE_TEST_DIR=$work OMP_NUM_THREADS=2 "$work/test" -ksp_rtol 1e-10 -error_trace

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Build the comparison with an installed PETSc, installing what is missing, and write
# bench/results/collection/petsc_table.md.
#   bench/petsc/compare_petsc.sh [options of bench/petsc/petsc_table.py]    e.g. --only 'bcsstk*' --out -
# A PETSc of your own: PKG_CONFIG_PATH=$PETSC_DIR/$PETSC_ARCH/lib/pkgconfig bench/petsc/compare_petsc.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=scripts/setup.sh
. scripts/setup.sh

mapfile -t missing < <(build_packages; petsc_packages)
install_packages "${missing[@]}"
cmake -S . -B build/petsc -D CMAKE_BUILD_TYPE=Release -D POISE_PETSC=ON -D POISE_TESTS=OFF \
  -D POISE_EXAMPLES=OFF > /dev/null
cmake --build build/petsc -j "$(nproc)" > /dev/null
exec bench/petsc/petsc_table.py "$@"

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Exchange binary files with an installed PETSc (Debian, Ubuntu: petsc-dev) on 1, 2 and 3 ranks. Exits with 77
# when there is none. It is not among the tests of ctest, which need no PETSc.
#
#   tests/programs/petsc_files.sh [build folder]     default: build/release
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(cd "${1:-$here/../../build/release}" && pwd)
if ! pkg-config --exists PETSc; then
  echo "skipped: pkg-config finds no PETSc" >&2
  exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# shellcheck disable=SC2046
"${MPICC:-mpicc}" -O1 -Wall -o "$folder/petsc_files" "$here/petsc_files.c" -I"$here/../../include" \
  -L"$build" -Wl,-rpath,"$build" -lpoise $(pkg-config --cflags --libs PETSc) -lm
# Open MPI: containers run as root and have fewer cores than ranks
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMP_NUM_THREADS=1
for ranks in 1 2 3; do
  echo "$ranks ranks"
  mpiexec -n "$ranks" "$folder/petsc_files" "$folder"
done

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# consumer.sh <build folder> <c, cxx, fortran or serial>
# Install, move the installation, and follow the README of examples/link for that program in a copy of the
# folder. The program finds the library by CMake and by pkg-config, and solves its system. Status 77: this
# cannot be tried here, for the reason that is printed.
set -euo pipefail
build=$1 program=$2
link=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../examples/link" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

skip()
{
  echo "Skipped: $*"
  exit 77
}

"${CMAKE:-cmake}" --install "$build" --prefix "$work/installed" > "$work/log"
mv "$work/installed" "$work/moved"
PKG_CONFIG_PATH=$(dirname "$(find "$work/moved" -name poise.pc)")
CMAKE_PREFIX_PATH=$work/moved
export PKG_CONFIG_PATH CMAKE_PREFIX_PATH
mpi=$(pkg-config --variable=mpi poise)
[ "$program:$mpi" != c:OFF ] || skip "the program has an MPI of its own, and this libpoise is built without"
[ "$program" != fortran ] || command -v gfortran > "$work/log" || skip "there is no gfortran"

# The compilers of the build stand behind the names that the README uses.
mkdir "$work/bin"
ln -s "$(command -v "${CC:-cc}")" "$work/bin/cc"
ln -s "$(command -v "${CXX:-c++}")" "$work/bin/c++"
ln -s "$(command -v "${CMAKE:-cmake}")" "$work/bin/cmake"
PATH=$work/bin:$PATH
export CC=cc CXX=c++
# What CMake compiles is compiled strictly.
export CFLAGS="-std=c11 -Wall -Wextra -Wpedantic -Wshadow -Werror"
export CXXFLAGS="-Wall -Wextra -Wpedantic -Wshadow -Werror"
export FFLAGS="-std=f2018 -fcheck=all"

cp -r "$link" "$work/link"
cd "$work/link"
awk -v heading="## $program:" 'index($0, "## ") == 1 { here = index($0, heading) == 1; next }
  here && /^```sh$/ { inside = 1; next } /^```$/ { inside = 0 } here && inside' README.md > commands
[ -s commands ] || { echo "README.md has no commands for $program" >&2; exit 1; }
bash -euo pipefail -x commands

# A program without MPI stays so, where the library has none.
if [ "$mpi" = OFF ] && ldd "build/$program"/* 2> "$work/log" | grep libmpi; then
  echo "^ linked with MPI" >&2
  exit 1
fi

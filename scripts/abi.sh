#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Compare the binary interface of libpoise with an earlier one, by abidiff (Debian: abigail-tools). A change
# that breaks programs is an error while the SONAME stays the same.
#   scripts/abi.sh             with the latest tag v*
#   scripts/abi.sh <commit>    with that commit
# Status 77: it cannot be compared, for the reason that is printed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

skip()
{
  echo "skipped: $*"
  exit 77
}

command -v abidiff > /dev/null || skip "there is no abidiff (Debian, Ubuntu: apt install abigail-tools)"
git rev-parse --git-dir > /dev/null 2>&1 || skip "this is no checkout of git"
base=${1-$(git describe --tags --match 'v*' --abbrev=0 2> /dev/null || true)}
[ -n "$base" ] || skip "there is no tag v* yet to compare with; a commit can be named"
git rev-parse --verify --quiet "$base^{commit}" > /dev/null ||
  { echo "there is no commit $base" >&2; exit 2; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/old"
git archive "$base" | tar -x -C "$work/old"

# build <old or new> <sources>: with what abidiff reads; what the library can do does not change its interface
build()
{
  {
    cmake -S "$2" -B "$work/$1.build" -D CMAKE_BUILD_TYPE=Debug -D "CMAKE_C_FLAGS_DEBUG=-O0 -g" \
      -D POISE_MPI=OFF -D POISE_OPENMP=OFF -D POISE_METIS=OFF -D POISE_SUPERLU=OFF -D POISE_AMD=OFF \
      -D POISE_TESTS=OFF -D POISE_EXAMPLES=OFF -D POISE_BENCH=OFF -D POISE_PETSC_PLUGIN=OFF &&
      cmake --build "$work/$1.build" --target poise -j "$(nproc)"
  } > "$work/log" 2>&1 || { tail -n 30 "$work/log" >&2; echo "the $1 library cannot be built" >&2; exit 2; }
}

# soname <library>
soname()
{
  readelf -dW "$1" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p'
}

build old "$work/old"
build new .
old=$work/old.build/libpoise.so new=$work/new.build/libpoise.so
status=0
abidiff --headers-dir1 "$work/old/include" --headers-dir2 include --no-show-locs --no-added-syms \
  "$old" "$new" > "$work/report" || status=$?
cat "$work/report"
names="$(soname "$old") of $base, $(soname "$new") of the tree"
if [ $((status & 3)) -ne 0 ]; then
  echo "abidiff failed" >&2
  exit 2
elif [ "$status" -eq 0 ]; then
  echo "Programs that run with the one run with the other: $names"
elif [ "$(soname "$old")" != "$(soname "$new")" ]; then
  echo "The interfaces differ, as their names say: $names"
else
  echo "Programs may break, and the name does not tell them: $names" >&2
  exit 1
fi

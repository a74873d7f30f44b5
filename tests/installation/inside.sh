#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# inside.sh <build folder> <options of this build>: Poise in the project inside/, by add_subdirectory and by
# FetchContent. What it is compiled with, that it is installed only if asked, and that a program solves.
set -euo pipefail
build=$1
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake=${CMAKE:-cmake}
unset CFLAGS CXXFLAGS CMAKE_BUILD_TYPE

fail()
{
  echo "$way: $*"
  exit 1
}

# run <command>...: its output is shown only when it fails
run()
{
  "$@" > "$work/log" 2>&1 || { cat "$work/log"; fail "failed: $*"; }
}

# configure <options>
configure()
{
  run "$cmake" -S "$root/tests/installation/inside" -B "$work/$way" -D WAY="$way" -D POISE="$root" \
    -D CMAKE_C_COMPILER_LAUNCHER="sh;$root/tests/installation/reuse.sh;$build" "${options[@]}" "$@"
  grep -q 'CMake Warning' "$work/log" && { cat "$work/log"; fail "there are warnings"; }
  commands=$work/$way/compile_commands.json
  ours=$(grep '"command"' "$commands" | grep -c 'poise_objects.dir' || true)
  [ "$ours" -gt 100 ] || fail "only $ours files of Poise are compiled"
}

# compiled <words>: how many files of Poise are compiled with them
compiled()
{
  grep '"command"' "$commands" | grep 'poise_objects.dir' | grep -cE -- "$1" || true
}

options=("${@:2}")
way=add
configure
[ "$(compiled ' -O3 -DNDEBUG( |$)')" = "$ours" ] || fail "not all files of Poise are compiled with -O3"
if grep '"command"' "$commands" | grep -v 'poise_objects.dir' | grep -E ' -(O|DNDEBUG)'; then
  fail "^ the parent's files are optimised"
fi
grep -qE '^(BUILD_SHARED_LIBS|CMAKE_BUILD_TYPE:[A-Z]+=.)' "$work/add/CMakeCache.txt" &&
  fail "the cache has a kind of libraries or a build type, which the parent did not name"
grep -q 'test_\|bench_\|02_poisson' "$commands" && fail "tests, examples or benchmarks are built"
run "$cmake" --build "$work/add" -j 2
run "$work/add/app"
[ -e "$work/add/poise/libpoise.a" ] || fail "libpoise is not static, as CMake's default is"
run "$cmake" --install "$work/add" --prefix "$work/nothing"
[ ! -e "$work/nothing" ] || fail "installed without POISE_INSTALL: $(find "$work/nothing")"
configure -D CMAKE_C_FLAGS=-O1
[ "$(compiled ' -O3')" = 0 ] || fail "the -O1 of the parent is overridden"

way=fetch
configure -D BUILD_SHARED_LIBS=ON -D POISE_INSTALL=ON -D CMAKE_BUILD_TYPE=Debug
[ "$(compiled ' -O')" = 0 ] || fail "compiled with -O, where the build type is Debug"
run "$cmake" --build "$work/fetch" -j 2
run "$work/fetch/app"
run "$cmake" --install "$work/fetch" --prefix "$work/installed"
cat > "$work/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.18)
project(User LANGUAGES C)
find_package(Poise 0.1 REQUIRED)
get_target_property(library Poise::poise LOCATION)
if(NOT EXISTS "${library}")
  message(FATAL_ERROR "There is no ${library}")
endif()
CMAKE
run "$cmake" -S "$work" -B "$work/user" -D CMAKE_PREFIX_PATH="$work/installed"

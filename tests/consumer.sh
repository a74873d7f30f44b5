#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# consumer.sh <build folder>
# Install, move the installation, and let a C and a C++ program find it, by CMake and by pkg-config, and solve a system.
set -euo pipefail
build=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cmake=${CMAKE:-cmake}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$cmake" --install "$build" --prefix "$work/installed" > "$work/log"
mv "$work/installed" "$work/moved"
pc=$(find "$work/moved" -name poise.pc)
libdir=$(dirname "$(dirname "$pc")")
PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH

for language in c cxx; do
  "$cmake" -S "$here/consumer/$language" -B "$work/$language" -D CMAKE_PREFIX_PATH="$work/moved" \
    -D CMAKE_C_COMPILER="${CC:-cc}" -D CMAKE_CXX_COMPILER="${CXX:-c++}" --no-warn-unused-cli > "$work/log"
  "$cmake" --build "$work/$language" >> "$work/log" || { cat "$work/log" >&2; exit 1; }
  "$work/$language/consumer"
done

# shellcheck disable=SC2046 # pkg-config's answer is several words
{
  "${CC:-cc}" "$here/consumer/c/main.c" -o "$work/by-pc-c" $(pkg-config --cflags --libs poise) -Wl,-rpath,"$libdir"
  "${CXX:-c++}" "$here/consumer/cxx/main.cpp" -o "$work/by-pc-cxx" $(pkg-config --cflags --libs poise) -Wl,-rpath,"$libdir"
}
"$work/by-pc-c"
"$work/by-pc-cxx"

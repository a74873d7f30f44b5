#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# packages_use.sh <prefix>: compile programs with the packages that are unpacked or installed there, by
# pkg-config and by CMake, and run them and a driver of the examples. In a clean root this is all that is of
# this tree.
set -euo pipefail
prefix=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS=2

if [ "$prefix" != /usr ]; then
  PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name poise.pc)")
  CMAKE_PREFIX_PATH=$prefix
  export PKG_CONFIG_PATH CMAKE_PREFIX_PATH
fi
cp -r "$prefix/share/poise/examples" "$work"
cd "$work/examples/link/serial"
# shellcheck disable=SC2046 # words
cc conduction.c $(pkg-config --cflags --libs poise) -lm -o "$work/conduction"
"$work/conduction"
cmake -S . -B "$work/build" > "$work/log" || { cat "$work/log"; exit 1; }
cmake --build "$work/build" > "$work/log" || { cat "$work/log"; exit 1; }
"$work/build/conduction"
"$prefix/libexec/poise/elasticity" -n 3 -ranks 2 > "$work/log" || { cat "$work/log"; exit 1; }
cmake -S "$work/examples" -B "$work/examples/build" > "$work/log" || { cat "$work/log"; exit 1; }
echo "used: $prefix"

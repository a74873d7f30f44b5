#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# api.sh <build folder> <flags of C>
# Install into the build's tests/api, and build the project tests/api with that copy. The project sees nothing
# else of this tree.
set -euo pipefail
build=$1 flags=$2
project=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$build/tests/api
mkdir -p "$work"
rm -rf "$work/installed"
"${CMAKE:-cmake}" --install "$build" --prefix "$work/installed" > "$work/log"
# Every variable is given: values of an earlier configuration must not stay.
"${CMAKE:-cmake}" -S "$project" -B "$work/build" -D CMAKE_PREFIX_PATH="$work/installed" \
  -D CMAKE_C_COMPILER="${CC:-cc}" -D CMAKE_BUILD_TYPE=None -D CMAKE_C_FLAGS="$flags"
"${CMAKE:-cmake}" --build "$work/build" --parallel 2

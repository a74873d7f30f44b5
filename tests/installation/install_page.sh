#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# install_page.sh <build folder>: the first solve of docs/install.md. Its files are written and its commands
# run in an empty folder, but those that install packages and clone. These need a system of their own:
# install_page.sh --all <folder of the clone's origin> runs them, too, and compiles all.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
unset CFLAGS CXXFLAGS CMAKE_BUILD_TYPE
mkdir app

awk '
  /^## / { here = $0 == "## From nothing to a first solve" }
  /^```$/ && inside { if (file) close(file); inside = 0; next }
  here && /^```(cmake|cpp) app\// { file = $2; inside = 1; next }
  here && /^```sh$/ { file = "commands"; inside = 1; next }
  here && /^```$/ { file = "printed"; inside = 1; next }
  inside { print > file }' "$root/docs/install.md"
[ "$(wc -l < commands)" -le 5 ] || { echo "more than five commands"; exit 1; }

if [ "$1" = --all ]; then
  export POISE_REPOSITORY=$2
else
  ln -s "$root" poise
  sed -i '/^apt-get /d; /^git clone /d' commands
  [ "$(wc -l < commands)" -eq 3 ] || { cat commands; echo "^ should be cmake, cmake, the program"; exit 1; }
  export CMAKE_C_COMPILER_LAUNCHER="sh;$root/tests/installation/reuse.sh;$1"
fi
bash -euo pipefail -x commands > log 2>&1 || { cat log; exit 1; }
printed=$(sed -n '/u in the middle/s/.*: //p' log)
[ "$printed" = 0.125000 ] || { cat log; echo "^ u in the middle is 1/8"; exit 1; }
reason=$(sed -n 's/iterations.*//p' printed)
grep -qF -- "${reason:?}" log || { cat log; echo "^ the page has: $reason"; exit 1; }

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# uninstall.sh <build folder>: the target uninstall removes what was installed, and nothing else.
set -euo pipefail
build=$1
cmake=${CMAKE:-cmake}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$cmake" --install "$build" --prefix "$work/usr" > "$work/log"
find "$work/usr" -name 'poise.pc' | grep -q . || { echo "nothing was installed"; exit 1; }
touch "$work/usr/include/other.h" "$work/usr/include/poise/users.h"
"$cmake" --build "$build" --target uninstall > "$work/log"
left=$(cd "$work/usr" && find . ! -type d | sort | paste -sd ' ')
[ "$left" = "./include/other.h ./include/poise/users.h" ] || { echo "this is left: $left"; exit 1; }

# A second time nothing is there, which is no error; folders of Poise are removed once they are empty.
rm "$work/usr/include/poise/users.h"
"$cmake" --build "$build" --target uninstall > "$work/log"
grep -q 'Not there: .*/poise\.pc' "$work/log" || { cat "$work/log"; exit 1; }
left=$(find "$work/usr" -iname '*poise*')
[ -z "$left" ] || { echo "this is left: $left"; exit 1; }

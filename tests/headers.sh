#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Each public header compiles alone, as C11 and as C++17, without warnings; so do the macros that users' code expands.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

flags=(-Wall -Wextra -Wpedantic -Wshadow -Werror -fsyntax-only -Iinclude)
uses='PoiseErr Use(PoiseErr e); PoiseErr Use(PoiseErr e) { POISE_TRY(e); POISE_FAIL(e, "%d", 1); }'

for header in poise.h $(cd include && ls poise/*.h); do
  text=$(printf '#include <%s>\n%s\n' "$header" "$uses")
  "${CC:-cc}" -std=c11 "${flags[@]}" -x c - <<< "$text" || { echo "^ $header as C11" >&2; exit 1; }
  "${CXX:-c++}" -std=c++17 "${flags[@]}" -x c++ - <<< "$text" || { echo "^ $header as C++17" >&2; exit 1; }
done

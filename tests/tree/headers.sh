#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Each public header compiles alone, as C11 and as C++17, without warnings. So do the macros that users' code
# expands, and the headers of kernels. A launch with another kernel's arguments does not compile.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

flags=(-Wall -Wextra -Wpedantic -Wshadow -Werror -fsyntax-only -Iinclude -Isrc)
uses='PoiseErr Use(PoiseErr e); PoiseErr Use(PoiseErr e) { POISE_TRY(e); POISE_FAIL(e, "%d", 1); }'

c()
{
  "${CC:-cc}" -std=c11 "${flags[@]}" -x c - <<< "$1"
}

cxx()
{
  "${CXX:-c++}" -std=c++17 "${flags[@]}" -x c++ - <<< "$1"
}

# alone <header> <text that includes it>
alone()
{
  c "$2" || { echo "^ $1 as C11" >&2; exit 1; }
  cxx "$2" || { echo "^ $1 as C++17" >&2; exit 1; }
}

for header in poise.h $(cd include && ls poise/*.h); do
  alone "$header" "$(printf '#include <%s>\n%s\n' "$header" "$uses")"
done
cxx "$(printf '#include <poise.hpp>\n#include <poise.h>\n%s\n' "$uses")"
for header in src/*/*_kernels.h src/{sys,mat}/*/*_kernels.h src/mat/csr/csr_view.h; do
  alone "$header" "#include \"$header\""
done

# launch <arguments>: a function that launches kernel scan with them
launch()
{
  printf '#include "%s"\n' src/sys/sys.h src/mat/csr/keys_kernels.h src/vec/vec_kernels.h
  printf 'PoiseErr Use(Device *d);\nPoiseErr Use(Device *d) { return LAUNCH(d, scan, &(%s){.n = 1}); }\n' "$1"
}

c "$(launch ScanArgs)"
if c "$(launch GatherArgs)" 2> /dev/null; then
  echo "a kernel takes the arguments of another one" >&2
  exit 1
fi

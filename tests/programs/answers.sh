#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# answers.sh <library> <folder of the examples> [words that start 3 processes]
# Programs that are asked for -help or -version answer, and do nothing else: every example, and the first
# programs of the pages, as a reader copies them. An error is one line.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
library=$(cd "$(dirname "$1")" && pwd) bin=$(cd "$2" && pwd)
mpi=("${@:3}")
export OMP_NUM_THREADS=1 OMPI_MCA_ess_singleton_isolated=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail()
{
  printf '%s\n' "$@"
  exit 1
}

# program <page> <language>: the first program of the page in this language
program()
{
  awk -v begin="^\`\`\`$2( |\$)" '
    $0 ~ begin { inside = 1; text = ""; next }
    /^```$/ && inside { inside = 0; if (text ~ /PoiseInitialize/ && text ~ /int main/) exit }
    inside { text = text $0 "\n" }
    END { printf "%s", text }' "$root/$1"
}
compile=(-I "$root/include" -L "$library" "-Wl,-rpath,$library")
for page in README.md docs/guide.md docs/migration.md; do
  name=page_$(basename "$page" .md)
  program "$page" c > "$name.c"
  grep -q PoiseInitialize "$name.c" || fail "$page has no program"
  "${CC:-cc}" "$name.c" "${compile[@]}" -lpoise -lm -o "$name"
done
program docs/install.md cpp > page_install.cpp
cat > page_hpp.cpp << EOF
#include <cstdio>
#include <poise.hpp>
int main(int argc, char **argv)
{
  poise::Context ctx(argc, argv);
  std::puts("it goes on");
}
EOF
for name in page_install page_hpp; do
  "${CXX:-c++}" -std=c++17 "$name.cpp" "${compile[@]}" -lpoise -o "$name"
done

# asked <words that start it, the last its path>: it answers on standard output, and ends well
asked()
{
  for question in -help --help -version; do
    "$@" $question > out 2> err || fail "$* $question (code $?):" "$(cat out err)"
    case $question in
      -version) grep -qxE 'Poise [0-9]+\.[0-9]+\.[0-9]+' out && [ "$(wc -l < out)" -eq 1 ] ;;
      *) grep -qF -- "-ksp_type <" out && ! tail -n 1 out | grep -qvE '^  -' ;;
    esac || fail "$* $question says more or less than its answer:" "$(cat out)"
    [ ! -s err ] || fail "$* $question:" "$(cat err)"
  done
}
programs=(page_*)
for path in "${programs[@]/#/$work/}" "$bin"/0*_* "$bin"/{poisson,elasticity,heat,convection,solve}; do
  [ ! -d "$path" ] && [ -x "$path" ] || continue
  asked "$path"
done
[ ${#mpi[@]} -eq 0 ] ||
  for path in "$work/page_guide" "$work/page_hpp" "$bin/poisson"; do
    (unset OMPI_MCA_ess_singleton_isolated && "${mpi[@]}" "$path" -version > out 2> err) ||
      fail "$path on processes:" "$(cat out err)"
    grep -q '^Poise ' out || fail "$path on processes:" "$(cat out)"
  done

# An error is a line, without the library's source unless that is asked for.
said()
{
  ! "$@" > out 2> err || fail "$* did not fail"
}
for typo in "-suport bolts" "-ksp_tpye cg" "-pc_type jacobbi" "-assembly block"; do
  # shellcheck disable=SC2086
  said "$bin/elasticity" $typo
  [ "$(wc -l < err)" -eq 1 ] && grep -q "did you mean" err || fail "elasticity $typo:" "$(cat err)"
done
said "$work/page_guide" -ksp_tpye cg
[ "$(wc -l < err)" -eq 1 ] || fail "$(cat err)"
said "$bin/elasticity" -mesh none.msh
[ "$(wc -l < err)" -eq 1 ] && grep -q none.msh err || fail "$(cat err)"
said "$bin/elasticity" -mesh none.msh -error_trace
grep -q '^  at .*\.c:[0-9]' err || fail "no trace:" "$(cat err)"

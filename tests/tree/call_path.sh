#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# "A product, from the solver to the kernel" of docs/architecture.md is true: each function is defined in the
# file behind it and calls the next one, by its name or as the next line says in parentheses; they are few.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

page=docs/architecture.md most=11 # calls
lines=$(awk '/^## / { here = /^## A product, from the solver to the kernel$/ } here { print }' "$page" |
  grep -E '^[A-Za-z_]+ +src/[a-z/]+/[a-z_]+\.(c|cu|h) ')

fail()
{
  echo "$page: $*" >&2
  exit 1
}

# body <function> <file>: its definition
body()
{
  awk -v name="$1" '
    !inside && $0 ~ "^[A-Za-z].*[ *]" name "\\(" && $0 !~ /;[[:space:]]*$/ { inside = 1 }
    inside { print }
    inside && /^}/ { exit }' "$2"
}

caller='' text='' calls=-1
while read -r name file said; do
  called=$name
  [[ $said =~ ^\(([^\)]*)\) ]] && called="${BASH_REMATCH[1]}("
  [ -z "$caller" ] || grep -qF -- "$called" <<< "$text" || fail "$caller does not call $called"
  [ -f "$file" ] || fail "there is no $file"
  text=$(body "$name" "$file")
  [ -n "$text" ] || fail "$file does not define $name"
  caller=$name calls=$((calls + 1))
done <<< "$lines"
grep -q 'cudaLaunchKernelEx(' <<< "$text" || fail "the way ends at '$caller', which launches nothing"
[ "$calls" -le "$most" ] || fail "$calls calls lead to the launch, more than $most"

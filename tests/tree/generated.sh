#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What is made of the headers is current and complete: declarations for Python and Fortran, reference, man
# pages. Complete is judged by names that grep finds, not by the reader of the headers. Needs python3.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export PYTHONDONTWRITEBYTECODE=1

command -v python3 > /dev/null || { echo "skipped: there is no python3"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 python/generate.py --check
python3 scripts/fortran.py --check
python3 scripts/reference.py --check
python3 scripts/reference.py --man "$work/man3"

# same <what> <names>: exactly the functions of the headers
declared=$(cat include/poise/*.h | grep '^POISE_API' | grep -oE '\bPoise[A-Za-z0-9]+\(' | tr -d '(' | sort)
same()
{
  diff <(echo "$declared") <(sort <<< "$2") > "$work/diff" || {
    echo "$1 (>) are not the functions of the headers (<):" >&2
    grep '^[<>]' "$work/diff" | head -20 >&2
    exit 1
  }
}

same "functions of docs/reference" "$(cat docs/reference/[a-z]*.md |
  sed -n '/^```$/,/^```$/s/^[A-Za-z].*\b\(Poise[A-Za-z0-9]*\)(.*/\1/p' | grep -v '^PoiseErr$')"
same "functions of docs/reference/README.md" \
  "$(grep -oE '\[`Poise[A-Za-z0-9]+`\]' docs/reference/README.md | tr -d '[]`')"
same "man pages" "$(cd "$work/man3" && ls | sed -n 's/^\(Poise.*\)\.3$/\1/p')"
if command -v groff > /dev/null; then
  (cd "$work" && groff -man -ww -z man3/*.3 2>&1 | tee warnings >&2 && [ ! -s warnings ])
fi
# A page that only sends the reader to another one has no words of its own.
grep -L -e '^\.so ' -e '^\.SH DESCRIPTION' "$work"/man3/*.3 > "$work/bare" || true
[ ! -s "$work/bare" ] || { cat "$work/bare" >&2; exit 1; }
grep -A 1 '^\.SH DESCRIPTION' "$work"/man3/*.3 | grep '\.SH SEE ALSO' > "$work/bare" || true
[ ! -s "$work/bare" ] || { echo "functions without a comment:" >&2; cat "$work/bare" >&2; exit 1; }

# Of Fortran's functions some are left out, and named: those with a FILE or any number of arguments.
left_out=$(sed -n '/^! Left out/,/\.$/p' include/poise.f90 | grep -oE '\bPoise[A-Z][A-Za-z]+')
same "functions of the Fortran module" "$(grep -oE '\bname="Poise[A-Za-z0-9]+"' include/poise.f90 |
  sed 's/.*"\(.*\)"/\1/' | grep -vxF "$left_out"; echo "$left_out")"
# result <C> <Fortran>: functions with results of this type in C have those in Fortran
result()
{
  diff <(sed -nE "s/^POISE_API $1 (Poise[A-Za-z0-9]+)\(.*/\1/p" include/poise/*.h | sort) \
    <(sed -nE "s/^ *$2 function .*name=\"(Poise[A-Za-z0-9]+)\".*/\1/p" include/poise.f90 | sort) >&2 ||
    { echo "$1 is not $2 in these results of the Fortran module" >&2; exit 1; }
}
result PoiseInt 'integer\(POISE_INT\)'
result double 'real\(c_double\)'
for name in $left_out; do
  tr '\n' ' ' < <(cat include/poise/*.h) | grep -oE "\\b$name\\([^;]*;" | grep -qE 'FILE \*|\.\.\.' || {
    echo "$name could be bound" >&2
    exit 1
  }
done

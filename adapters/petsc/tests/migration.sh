#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# migration.sh <docs/migration.md> <mpicc> <folder with poise.h> <libpoise> <mpiexec and its option -n>
# PETSc has the functions that the page names, and the page's two programs print the same.
set -euo pipefail
page=$1 mpicc=$2 include=$3 library=$4 start=("${@:5}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

read -ra flags <<< "$(pkg-config --cflags PETSc)"
folders=()
for flag in "${flags[@]}"; do
  [[ $flag != -I* ]] || folders+=("${flag#-I}")
done
grep -ohE '\b[A-Za-z]\w+\b' -r "${folders[@]}" --include='*.h' | sort -u > "$work/names"
echo KSPSetDiagonalScale >> "$work/names" # until PETSc 3.25
grep -oE '`(Petsc|Vec|Mat|KSP|PC|IS)[A-Z][A-Za-z0-9]+`' "$page" | tr -d '`' | sort -u > "$work/page"
[ "$(wc -l < "$work/page")" -gt 150 ] || { echo "the page names few functions" >&2; exit 1; }
comm -23 <(LC_ALL=C sort "$work/page") <(LC_ALL=C sort "$work/names") > "$work/missing"
[ ! -s "$work/missing" ] || { echo "PETSc has no" >&2; cat "$work/missing" >&2; exit 1; }

# block <first line> <file>: a program of the page
block()
{
  awk -v first="$1" '$0 == first { inside = 1; next } /^```$/ { inside = 0 } inside' "$page" > "$2"
}
block '```c petsc' "$work/petsc.c"
block '```c' "$work/poise.c"
read -ra libraries <<< "$(pkg-config --libs PETSc)"
for flag in "${libraries[@]}"; do
  [[ $flag != -L* ]] || libraries+=("-Wl,-rpath,${flag#-L}")
done
"$mpicc" "$work/petsc.c" "${flags[@]}" "${libraries[@]}" -o "$work/petsc"
"$mpicc" -std=c11 "$work/poise.c" -I"$include" "$library" -Wl,-rpath,"$(dirname "$library")" -o "$work/poise"

for ranks in 1 2; do
  for options in "" "-n 40 -ksp_type gmres -ksp_gmres_restart 10 -ksp_rtol 1e-6"; do
    for program in petsc poise; do
      # shellcheck disable=SC2086 # several words
      "${start[@]}" "$ranks" "$work/$program" $options > "$work/$program.out"
    done
    diff "$work/petsc.out" "$work/poise.out" || {
      echo "^ differ with '$options' on $ranks ranks" >&2
      exit 1
    }
  done
done
"$work/poise" | grep -qF "$(grep -oE '`38 iterations[^:`]*' "$page" | tr -d '`')"

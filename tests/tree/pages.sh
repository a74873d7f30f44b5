#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What the pages name exists: options, functions, files in `code`, and what links point to. Options stand in
# docs/options.md, or in the table of an example or benchmark. docs/porting.md has every kernel once.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

pages=(*.md docs/*.md docs/{design,reference}/*.md examples/link/README.md .github/ISSUE_TEMPLATE/*.yml)
own=$(sed -n 's/^ *{"\([a-zA-Z_]*\)", POISE_OPTION_.*/\1/p' examples/{,fem/}*.c bench/{,petsc/}*.c)
# of PETSc, and of its plug-in
foreign=$'dll_append\nmatload_block_size\npoise_pc_gamg\npoise_pc_mg\npoise_strict'
library=$(sed -n 's/^| `-\([a-z_0-9]*\)`.*/\1/p' docs/options.md)
bad=0

complain()
{
  echo "$1"
  bad=1
}

# known <option>: of the library, with or without a prefix, or of a program
known()
{
  local key=$1
  while :; do
    grep -qxF -- "$key" <<< "$library
$own
$foreign" && return 0
    [[ $key == *_*_* || $key == poise_* ]] || return 1
    key=${key#*_} # heat_ksp_type is ksp_type with the prefix heat_
  done
}

# headings <page>: as links call them
headings()
{
  sed -n 's/^##* //p' "$1" | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}

# Words with an underscore are options wherever they stand. Others are options at the beginning of `code`, and
# behind a blank in it.
for page in "${pages[@]}"; do
  while read -r key; do
    known "$key" || complain "$page: there is no option -$key"
  done < <({ grep -oE -- "(^|[^A-Za-z0-9_-])-[a-z][a-z0-9]*(_[a-z0-9]+)+" "$page" || true
             grep -oE -- '`-[a-z][^`]*`' "$page" | grep -oE -- '(^`| )-[a-z][a-z_0-9]*' || true
           } | sed 's/^.*-//' | sort -u)

  while read -r name; do
    [ "$name" = PoiseVerb ] || grep -qw -- "$name" include/poise/*.h ||
      complain "$page: the headers have no $name"
  done < <(grep -oE '\bPoise[A-Z][A-Za-z0-9]+\b' "$page" | sort -u)

  while read -r file; do
    [ -e "$file" ] || [ -e "$file.c" ] || complain "$page: there is no $file"
  done < <(grep -oE '`(src|include|tests|bench|scripts|cmake|docs|examples)/[A-Za-z0-9_./-]+`' "$page" |
             tr -d '`' | sort -u)

  while IFS='#' read -r link heading; do
    file=$(dirname "$page")/$link
    [ -e "$file" ] || complain "$page: there is no $link"
    [ -z "$heading" ] || headings "$file" | grep -qxF -- "$heading" ||
      complain "$page: $link has no heading #$heading"
  done < <(sed '/^```/,/^```/d' "$page" | grep -oE '\]\([^)#:]+(#[^)]*)?\)' | sed 's/^](//; s/)$//' | sort -u)
done

# What migration.md calls without an equal has none, and stands in no table as if it had one.
page=docs/migration.md
while read -r name; do
  ! grep -qw -- "Poise$name" include/poise/*.h || complain "$page: the headers have Poise$name"
  ! grep -qE -- "^\\|[^|]*\`$name\`" "$page" || complain "$page: $name stands in a table too"
done < <(sed -n '/^## Functions without an equal$/,/^## Options$/p' "$page" |
           grep -oE '`(Vec|Mat|KSP|PC|IS)[A-Za-z]+`' | tr -d '`')

# What a port owes: its block of kernels, files of src/cuda, and suites.
page=docs/porting.md
while read -r kernel; do
  complain "$page: $kernel is not once here and once in src/sys/device/kernels.def"
done < <({ sed -n 's/^KERNEL(\([a-z_0-9]*\),.*/\1/p' src/sys/device/kernels.def
           sed -n '/^```kernels$/,/^```$/p' "$page" | sed '/^```/d; s/^.*://' | grep -oE '[a-z_0-9]+'
         } | sort | uniq -c | awk '$1 != 2 { print $2 }')
while read -r file; do
  [ -e "src/cuda/$file" ] || [ -e "tests/unit/$file.c" ] || complain "$page: there is no $file"
done < <(grep -oE '`([a-z_0-9]+\.(cu|h)|test_[a-z_0-9]+)\b' "$page" | tr -d '`' | sort -u)
exit $bad

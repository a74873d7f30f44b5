#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Do what docs/extending.md says, in a copy of the tree, and run the suites over the types that it adds.
# Blocks of the page:
#   ```c new <file>     a file
#   ```c end <file>     lines for the end of a file
#   ```c after <file>   the first line stands in the file; the others go behind it
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -r CMakeLists.txt cmake include src tests docs examples "$copy"

awk -v root="$copy/" '
  function Fail(why) { print "docs/extending.md:" NR ": " why > "/dev/stderr"; bad = 1; exit 1 }
  function Insert(file, first, rest,    line, all, found) {
    while ((getline line < file) > 0) {
      all = all line "\n"
      if (line == first) { all = all rest; found++ }
    }
    close(file)
    if (found != 1) Fail(file " has " found + 0 " lines like: " first)
    printf "%s", all > file
    close(file)
  }
  /^## / { section = $3 } # "## A method: ..."
  /^```c (new|end|after) / {
    how = $2; file = root $3; lines = 0; rest = ""; blocks++
    if (!touched[section, file]++) files[section]++
    next
  }
  how && /^```$/ {
    if (how == "after") Insert(file, first, rest)
    close(file)
    how = ""
    next
  }
  how == "new" { if (!lines++) printf "" > file; print > file; next }
  how == "end" { print >> file; next }
  how == "after" { if (!lines++) first = $0; else rest = rest $0 "\n" }
  END {
    if (!bad && blocks < 10) Fail("only " blocks + 0 " blocks of C were found")
    if (!bad && files["method:"] != 4) Fail("a method is in " files["method:"] + 0 " files, not in 4")
  }' docs/extending.md

# run <command>...: its output is shown only when it fails
run()
{
  "$@" > "$copy/log" 2>&1 || {
    tail -n 100 "$copy/log"
    echo "Failed: $*"
    exit 1
  }
}

"${CMAKE:-cmake}" -S "$copy" -B "$copy/build" -D CMAKE_BUILD_TYPE=Debug -D CMAKE_C_FLAGS_DEBUG=-O0 \
  -D POISE_MPI=OFF -D POISE_OPENMP=OFF -D POISE_EXAMPLES=OFF -D POISE_BENCH=OFF -D POISE_WERROR=ON \
  > "$copy/log"
run "${CMAKE:-cmake}" --build "$copy/build" -j 2 --target test_types poise_options
options=$("$copy/build/tests/poise_options")
for word in '-pc_type.* scale' '-ksp_type.* steepest' '-mat_type.* gather' '-device.*|quiet' \
  '-pc_scale_factor'; do
  grep -q -- "$word" <<< "$options" || { echo "the options do not know $word"; exit 1; }
done
run "$copy/build/tests/test_types" --ranks 1,2 --devices host,mock
run "$copy/build/tests/test_types" --ranks 1,2 --devices quiet --test pc
run "$copy/build/tests/test_types" --ranks 1,2 --devices quiet --test ksp
"$copy/build/tests/test_types" --ranks 1 --devices quiet --test mat > "$copy/log" && {
  echo "quiet multiplied with A^T"
  exit 1
}
grep -q "device quiet has no kernel csr_mult_transpose" "$copy/log"

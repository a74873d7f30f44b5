#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# C and CUDA are as clang-format writes them, and no line is above 110 columns. scripts/test.sh runs this
# script; alone it needs no build. In a git checkout it leaves out what git ignores.
#
# The limit does not hold for results, test data and docs/options.md, which is generated. Nor does it hold in
# Markdown for tables, for what programs print (code blocks that name no language), and for links in others.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

limit=110
if [ -e .git ]; then
  list=(git ls-files -z --cached --others --exclude-standard)
else
  list=(find . -name build -prune -o -type f -print0)
fi

c_files=() files=() # the latter as ./<path>: without ./ awk would take a=b.txt for an assignment
while IFS= read -r -d '' file; do
  file=${file#./}
  [ -f "$file" ] || continue # git lists a file until its removal is staged
  case $file in
    bench/results/* | tests/fuzz/*/* | docs/options.md) ;;
    *.c | *.h | *.cu | *.cuh | *.cpp | *.hpp)
      c_files+=("$file")
      files+=("./$file")
      ;;
    *.def | *.py | *.sh | *.cmake | *.awk | *.txt | *.md) files+=("./$file") ;;
  esac
done < <("${list[@]}" | LC_ALL=C sort -z)
if [ ${#c_files[@]} -eq 0 ]; then
  echo "No sources were found." >&2
  exit 1
fi

bad=0
# Columns are characters: of UTF-8, bytes that continue one do not count.
LC_ALL=C awk -v limit=$limit '
  FNR == 1 { page = FILENAME ~ /\.md$/; code = 0 }
  page && /^ *```/ { output = !code && /^ *```$/; code = !code }
  page && /^\|/ || output { next }
  length($0) > limit {
    line = $0
    gsub(/[\200-\277]/, "", line)
    if (code) gsub(/https?:\/\/[^ ]*/, "", line)
    if (length(line) <= limit) next
    print substr(FILENAME, 3) ":" FNR ": " length(line) " columns, of which " limit " are allowed"
    bad = 1
  }
  END { exit bad }' "${files[@]}" >&2 || bad=1
clang-format-14 --dry-run -Werror "${c_files[@]}" || bad=1
exit $bad

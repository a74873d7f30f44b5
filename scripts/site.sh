#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Make the site of the documentation, with search: README.md, docs/, the reference of C and of Python.
#   scripts/site.sh [folder]    into folder/html (default: build/site), whose index.html a browser opens
# The search needs a server, such as python3 -m http.server -d build/site/html. Links that lead nowhere are
# errors. pip installs the tools of docs/requirements.txt into folder/tools; exit status 77: it cannot.
set -euo pipefail
folder=$(realpath -m "${1:-$(dirname "${BASH_SOURCE[0]}")/../build/site}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tools=$folder/tools

if ! cmp -s docs/requirements.txt "$tools/requirements.txt"; then
  rm -rf "$tools"
  mkdir -p "$folder"
  install=("$tools/bin/pip" install --retries 1 -r docs/requirements.txt)
  if ! { python3 -m venv "$tools" && "${install[@]}"; } > "$folder/log" 2>&1; then
    tail -n 3 "$folder/log"
    echo "skipped: pip does not install the tools of docs/requirements.txt"
    exit 77
  fi
  cp docs/requirements.txt "$tools"
fi
export PYTHONDONTWRITEBYTECODE=1 NO_MKDOCS_2_WARNING=1
"$tools/bin/mkdocs" build --strict --site-dir "$folder/html" > "$folder/log" 2>&1 || {
  grep -v INFO "$folder/log"
  exit 1
}
for name in $(grep -h '^POISE_API' include/poise/*.h | grep -oE '\bPoise[A-Za-z0-9]+\(' | tr -d '('); do
  [ -e "$folder/html/docs/reference/$name.html" ] || { echo "the site has no page of $name"; exit 1; }
done
echo "$folder/html"

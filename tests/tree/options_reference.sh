#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# options_reference.sh <program> <docs/options.md>: is the committed reference what the program writes?
set -euo pipefail
"$1" | diff -u "$2" - || {
  echo "The option tables have changed: write the reference anew with  $1 > $2"
  exit 1
}

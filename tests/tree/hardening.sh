#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# hardening.sh <libpoise.so>: is it linked and compiled as POISE_HARDENING says?
set -euo pipefail
library=$1
if ! command -v readelf > /dev/null; then
  echo "skipped: readelf, which tells how $library is linked, is not here"
  exit 77
fi

# has <words> <what> <readelf's options>...
has()
{
  readelf "${@:3}" "$library" > text
  grep -qE -- "$1" text || { echo "$library has no $2"; exit 1; }
}

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
has 'BIND_NOW|FLAGS_1.*NOW' "BIND_NOW" -dW
has 'GNU_RELRO' "read-only relocations" -lW
has '__stack_chk_fail' "guards of stack frames" --dyn-syms -W

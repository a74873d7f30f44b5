#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# symbols.sh <libpoise> <archive with the internal functions>
# The library exports exactly the functions that the headers declare. No global symbol in an archive lacks the
# prefix.
set -euo pipefail
library=$1 archive=$2
include=$(dirname "${BASH_SOURCE[0]}")/../include

defined()
{
  nm "$@" --defined-only | awk 'NF == 3 { print $3 }' | sort -u
}

foreign=$(defined -g "$archive" | grep -v '^[Pp]oise' || true)
if [ -n "$foreign" ]; then
  printf 'global symbols without the prefix:\n%s\n' "$foreign" >&2
  exit 1
fi

declared=$(cat "$include"/poise/*.h | grep '^POISE_API' | grep -oE '\bPoise[A-Za-z0-9]+\(' |
  tr -d '(' | sort -u)
case $library in
  *.a) exported=$(defined -g "$library" | grep '^Poise') ;;
  *) exported=$(defined -D "$library") ;;
esac
diff <(echo "$declared") <(echo "$exported") > /dev/null || {
  echo "declared (<) and exported (>) functions differ:" >&2
  diff <(echo "$declared") <(echo "$exported") | grep '^[<>]' >&2
  exit 1
}

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# symbols.sh <libpoise> <archive with the internal functions>
# The library exports exactly the functions that the headers declare, under the version of its SONAME. No
# global symbol in an archive lacks the prefix.
set -euo pipefail
library=$1 archive=$2
include=$(dirname "${BASH_SOURCE[0]}")/../../include

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
  *)
    soname=$(readelf -dW "$library" | sed -n 's/.*SONAME.*\[libpoise\.so\.\(.*\)\]/\1/p')
    version=$(sed -n 's/^#define POISE_VERSION_\(MAJOR\|MINOR\) *//p' "$include/poise/sys.h" | paste -sd .)
    [ "${version%%.*}" = 0 ] || version=${version%%.*} # from 1.0 on, minor versions are compatible
    [ "$soname" = "$version" ] || { echo "the SONAME ends in '$soname', not in '$version'" >&2; exit 1; }
    exported=$(defined -D "$library" | grep -v "^POISE_$version$" |
      sed "s/@@POISE_$version\$//; t; s/\$/ without POISE_$version/")
    ;;
esac
diff <(echo "$declared") <(echo "$exported") > /dev/null || {
  echo "declared (<) and exported (>) functions differ:" >&2
  diff <(echo "$declared") <(echo "$exported") | grep '^[<>]' >&2
  exit 1
}

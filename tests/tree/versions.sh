#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# One version stands everywhere: that of include/poise/sys.h. All pages call it unreleased, or none. If none
# does, CITATION.cff has the date of CHANGELOG.md, and Spack's recipe has the version.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
bad=0

# has <file> <words>: in one line, or with a line break between
has()
{
  tr '\n' ' ' < "$1" | grep -qF -- "$2" || {
    echo "$1 has no '$2', as include/poise/sys.h and CHANGELOG.md say" >&2
    bad=1
  }
}

# has_not <file> <pattern>
has_not()
{
  ! grep -nE -- "$2" "$1" || {
    echo "^ $1: CHANGELOG.md says otherwise" >&2
    bad=1
  }
}

version=$(sed -nE 's/^#define POISE_VERSION_(MAJOR|MINOR|PATCH) //p' include/poise/sys.h | paste -sd .)
heading=$(grep -m 1 '^## ' CHANGELOG.md)
has CITATION.cff "version: $version"
case $heading in
  "## $version (unreleased)")
    has README.md "Version $version, unreleased"
    has SECURITY.md "Version $version is unreleased"
    has_not CITATION.cff '^date-released'
    ;;
  "## $version ("[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]")")
    date=${heading##*(}
    has CITATION.cff "date-released: ${date%)}"
    has README.md "Version $version"
    has_not README.md unreleased
    has_not SECURITY.md unreleased
    has packaging/spack/spack_repo/poise/packages/poise/package.py "version(\"$version\""
    ;;
  *)
    echo "CHANGELOG.md begins with '$heading', not with $version and its date, or (unreleased)" >&2
    bad=1
    ;;
esac
exit $bad

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# packages.sh <build folder>: make the packages of Debian, look at what they say and hold, and use what is in
# them, unpacked. clean_root.sh installs them in a system of its own. Status 77: no packages here.
set -euo pipefail
build=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for tool in cpack dpkg-deb dpkg-shlibdeps pkg-config; do
  command -v "$tool" > /dev/null || { echo "skipped: there is no $tool"; exit 77; }
done
version=$(sed -n 's/^#define POISE_VERSION_[A-Z]* *//p' "$here/../../include/poise/sys.h" | paste -sd .)
interface=${version%.*}

# Without the check that all is built: the tests have been.
cpack --config "$build/CPackConfig.cmake" -B "$work" -D CPACK_CMAKE_GENERATOR=Ninja > "$work/log" 2>&1 ||
  { cat "$work/log"; exit 1; }

# field <package> <field>
field()
{
  dpkg-deb -f "$work/$1_${version}_"*.deb "$2"
}

# says <package> <field> <words>
says()
{
  field "$1" "$2" | grep -qE -- "$3" || { echo "$1: $2 is '$(field "$1" "$2")', without '$3'"; exit 1; }
}

library=libpoise$interface
same="$library \\(= $version\\)"
says "$library" Depends '(^|, )libc6 \('
says "$library" Depends '(^|, )zlib1g \('
if readelf -dW "$build/libpoise.so" | grep -q 'NEEDED.*libmpi'; then says "$library" Depends '(mpi|mpich)'; fi
says libpoise-dev Depends "$same"
says libpoise-dev Depends '(^|, )zlib1g-dev'
says poise-examples Depends "$same"
says python3-poise Depends "$same"
says python3-poise Architecture '^all$'
packages=("$library" libpoise-dev poise-examples python3-poise)
for adapter in petsc sundials; do # each where it is built
  [ -e "$build/adapters/$adapter/libpoise_$adapter.so" ] || continue
  says "poise-$adapter" Depends "$same"
  says "poise-$adapter" Depends "(^|, )lib$adapter"
  packages+=("poise-$adapter")
done
for package in "${packages[@]}"; do
  says "$package" Maintainer .
  dpkg-deb -c "$work/${package}_$version"_*.deb | awk '!/^d/ { print $6 }' >> "$work/files"
  dpkg-deb -x "$work/${package}_$version"_*.deb "$work/root"
  [ -s "$work/root/usr/share/doc/$package/copyright" ] || { echo "$package has no copyright"; exit 1; }
done
twice=$(sort "$work/files" | uniq -d)
[ -z "$twice" ] || { echo "in two packages: $twice"; exit 1; }
if find "$work/root" -name 'libpoise*.so*' -type f -exec readelf -dW {} + | grep -E 'R(UN)?PATH.*\[/'; then
  echo "^ a library looks for others where it was built"
  exit 1
fi

LD_LIBRARY_PATH=$(dirname "$(find "$work/root" -name libpoise.so)")
export LD_LIBRARY_PATH
bash "$here/packages_use.sh" "$work/root/usr"

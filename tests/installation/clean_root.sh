#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# clean_root.sh <folder with the packages>: install them by apt in a system that has nothing else, made
# by debootstrap, use them there, and remove them. Takes some minutes and a mirror of Debian. Status 77: it
# cannot be tried here.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
packages=$(cd "$1" && pwd)

skip()
{
  echo "skipped: $*"
  exit 77
}

[ "$(id -u)" = 0 ] || skip "only root can make a system of its own"
command -v debootstrap > /dev/null || skip "there is no debootstrap"
# shellcheck source=/dev/null
. /etc/os-release
[ "$ID" = debian ] || skip "this is $ID, and the system of the packages is Debian"
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
debootstrap --variant=minbase "$VERSION_CODENAME" "$root" > "$root.log" 2>&1 ||
  { tail "$root.log"; skip "debootstrap could not make a system of $VERSION_CODENAME"; }
rm "$root.log"

# in_root <command>...: its output is shown only when it fails
in_root()
{
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive \
    chroot "$root" "$@" > "$root/log" 2>&1 || { tail -n 40 "$root/log"; echo "failed: $*"; exit 1; }
}

mkdir "$root/packages"
cp "$packages"/{libpoise,poise-,python3-}*.deb "$here/packages_use.sh" "$root/packages"
in_root apt-get update
# What the library's package needs comes with it, and nothing of the compilers.
in_root bash -c 'apt-get install -y --no-install-recommends /packages/libpoise[0-9]*.deb'
in_root bash -c '! command -v cc'
compilers="gcc libc6-dev make cmake pkg-config"
users=
if compgen -G "$packages/poise-petsc_*.deb" > /dev/null; then users+=" python3-petsc4py"; fi
if compgen -G "$packages/poise-sundials_*.deb" > /dev/null; then users+=" libsundials-dev libopenmpi-dev"; fi
in_root bash -c "apt-get install -y --no-install-recommends /packages/*.deb $compilers $users"
in_root bash /packages/packages_use.sh /usr
if grep '^without' "$root/log"; then exit 1; fi # nothing that a package is for was left out
in_root bash -c 'apt-get remove -y --autoremove "libpoise*" "poise-*" python3-poise'
left=$(find "$root/usr" -iname '*poise*')
[ -z "$left" ] || { echo "left behind: $left"; exit 1; }
echo "installed, used and removed in a clean system of $VERSION_CODENAME"

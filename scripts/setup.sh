# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Sourced by the other scripts: what they need on Debian 12 and Ubuntu 24.04, installed only where it is
# missing.

# Does the C preprocessor find a header?
have_header()
{
  echo "#include <$1>" | cc -E -x c - > /dev/null 2>&1
}

have()
{
  command -v "$1" > /dev/null
}

# What building the library and the examples needs.
build_packages()
{
  { have cc && have c++ && have make; } || echo build-essential
  have cmake || echo cmake
  have pkg-config || echo pkg-config
  have mpicc || echo libopenmpi-dev
  have mpiexec || echo openmpi-bin
  have_header zlib.h || echo zlib1g-dev
}

# python_with <modules, with commas between>: a python3 that has them, the first that is found, or else the
# system's
python_with()
{
  local python
  for python in python3 /usr/bin/python3; do
    if "$python" -c "import $1" > /dev/null 2>&1; then
      echo "$python"
      return
    fi
  done
  return 1
}

# One for pictures.
python_with_matplotlib()
{
  python_with matplotlib
}

picture_packages()
{
  python_with_matplotlib > /dev/null || printf '%s\n' python3 python3-matplotlib
}

# What adapters/petsc, adapters/sundials and their tests need, where the system's PETSc is the one that the
# former is for. Debian's SUNDIALS brings that PETSc too.
plugin_packages()
{
  grep -q '^VERSION_CODENAME=bookworm' /etc/os-release 2> /dev/null || return 0
  { have pkg-config && pkg-config --exists PETSc; } || echo petsc-dev
  /usr/bin/python3 -c 'import petsc4py' > /dev/null 2>&1 || echo python3-petsc4py
  have_header sundials/sundials_version.h || echo libsundials-dev
}

# And the tests.
test_packages()
{
  build_packages
  plugin_packages
  have_header CUnit/CUnit.h || echo libcunit1-dev
  have_header metis.h || echo libmetis-dev
  have_header superlu/slu_ddefs.h || echo libsuperlu-dev
  have_header suitesparse/amd.h || echo libsuitesparse-dev
  have clang-format-14 || echo clang-format-14
  have gfortran || echo gfortran
  [ -d /usr/include/eigen3 ] || echo libeigen3-dev
  python_with 'numpy, scipy, pytest, matplotlib' > /dev/null ||
    printf '%s\n' python3 python3-numpy python3-scipy python3-pytest python3-matplotlib
  python3 -c 'import ensurepip' > /dev/null 2>&1 || echo python3-venv # scripts/site.sh
}

# Can clang link a fuzzer?
have_fuzzer()
{
  local program found=1
  have clang-14 || return 1
  program=$(mktemp)
  echo 'int LLVMFuzzerTestOneInput(const char *data, long size) { return !data && size; }' |
    clang-14 -fsanitize=fuzzer,address -x c - -o "$program" 2> /dev/null && found=0
  rm -f "$program"
  return "$found"
}

# And the fuzzers.
fuzz_packages()
{
  have_fuzzer || echo clang-14 libclang-rt-14-dev | tr ' ' '\n'
}

# And the comparison with PETSc.
petsc_packages()
{
  have python3 || echo python3
  { have pkg-config && pkg-config --exists PETSc; } || echo petsc-dev
}

# install_packages <name>...: quiet and without touching the network when there is none to install.
install_packages()
{
  [ $# -gt 0 ] || return 0
  local as_root=() log
  echo "Installing $*"
  if ! have apt-get; then
    echo "This system has no apt-get: please install what these packages of Debian hold, and try again." >&2
    return 1
  fi
  if [ "$(id -u)" -ne 0 ]; then
    if ! have sudo; then
      echo "That needs root, and there is no sudo. As root: apt-get install $*" >&2
      return 1
    fi
    as_root=(sudo)
  fi
  log=$(mktemp)
  if ! {
    "${as_root[@]}" apt-get update &&
      "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"
  } > "$log" 2>&1; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    return 1
  fi
  rm -f "$log"
}

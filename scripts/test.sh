#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Install what is missing, build in every way that matters, and run all tests. Stops at the first failure.
#   scripts/test.sh          what every change has to pass
#   scripts/test.sh --all    also more numbers of MPI ranks, examples/ in all combinations, packages in a
#                            clean system, and clang
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/setup.sh
. scripts/setup.sh

more=() # arguments of cmake
case "$#:${1-}" in
  0:) ;;
  1:--all) more=(-D "POISE_TEST_RANKS=1;2;3;4;7" -D "POISE_TEST_THREADS=1;2;4;7") ;;
  *)
    echo "usage: scripts/test.sh [--all]" >&2
    exit 2
    ;;
esac

stage()
{
  printf '\n== %s (%d:%02d)\n' "$*" $((SECONDS / 60)) $((SECONDS % 60))
}

# quietly <command>...: its output is shown only when it fails
quietly()
{
  local output
  output=$("$@" 2>&1) || {
    printf '%s\n' "$output"
    echo "Failed: $*"
    exit 1
  }
}

# build <preset> <cmake arguments>... [-- <targets>...]
build()
{
  local preset=$1 arguments=()
  shift
  while [ $# -gt 0 ] && [ "$1" != -- ]; do
    arguments+=("$1")
    shift
  done
  if have ccache; then arguments+=(-D CMAKE_C_COMPILER_LAUNCHER=ccache); fi
  quietly cmake --preset "$preset" -D POISE_WERROR=ON "${more[@]}" "${arguments[@]}"
  quietly cmake --build --preset "$preset" -j "$(nproc)" ${1+--target "${@:2}"}
}

# run <preset> <arguments of ctest>...
run()
{
  ctest --preset "$1" -j "$(nproc)" "${@:2}"
}

mapfile -t missing < <(test_packages)
install_packages "${missing[@]}"
mapfile -t missing < <(fuzz_packages)
install_packages "${missing[@]}" || true # the stage says when it is skipped

stage "Format"
tests/tree/format.sh

stage "Site of the documentation"
scripts/site.sh || [ $? -eq 77 ]

stage "Optimised, with MPI and OpenMP: all tests"
build release
run release
if [ $# -eq 1 ]; then
  stage "Finite-element drivers: types of matrices x devices x ranks x ways of assembly"
  tests/fem/all.sh build/release/examples
fi

stage "Binary interface, beside that of the latest tag"
scripts/abi.sh || [ $? -eq 77 ]
if [ $# -eq 1 ]; then
  stage "Packages of Debian, in a system of their own"
  build deb
  quietly cpack --config build/deb/CPackConfig.cmake -B build/packages
  tests/installation/clean_root.sh build/packages || [ $? -eq 77 ]
fi

stage "A wheel of Python, in an environment that has nothing else"
python/wheel.sh --here || [ $? -eq 77 ]

# Only context.c and comm.h know whether there is MPI. The stage of the thread sanitizer has no MPI either,
# and runs all suites. Flags of a release are the first stage's subject.
stage "Without MPI, as a static library: the interface and the installation"
build serial -D BUILD_SHARED_LIBS=OFF -D CMAKE_C_FLAGS_RELEASE=-O1 -- poise poise_internal test_comm \
  test_context test_types
run serial -R '^(comm|context|types|api|consumer)[.]|^(inside|uninstall|symbols)$'

PATH=$PATH:/usr/local/cuda/bin
if have nvcc; then
  stage "CUDA: the code compiles" # nothing runs it, and the first stage has the warnings of optimised C
  build cuda -D CMAKE_BUILD_TYPE=Debug -D CMAKE_C_FLAGS_DEBUG=-O0 -D CMAKE_CUDA_FLAGS_DEBUG= \
    -D CMAKE_CUDA_ARCHITECTURES=80 -D "CMAKE_CUDA_FLAGS=-Xcicc -O1 -Xptxas -O0"
else
  stage "CUDA: skipped, there is no nvcc"
fi

stage "Address and undefined behaviour sanitizers: all tests"
build asan
run asan

stage "Thread sanitizer: ranks that are threads"
build tsan
fixed_addresses=() # the sanitizer of older compilers does not start under strong address randomisation
if setarch --addr-no-randomize true 2> /dev/null; then fixed_addresses=(setarch --addr-no-randomize); fi
"${fixed_addresses[@]}" ctest --preset tsan -j "$(nproc)"

if have_fuzzer; then
  stage "Fuzzers: 10 seconds each"
  quietly scripts/fuzz.sh 10
else
  stage "Fuzzers: skipped, there is no clang-14 with libFuzzer"
fi

if [ $# -eq 1 ] && have clang; then
  stage "clang: all tests"
  build clang
  run clang
fi

stage "All tests passed"

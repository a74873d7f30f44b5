# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# The beginning of scripts that try the finite-element drivers: <folder of the examples> [words that start 3
# processes]. Makes an empty folder to work in. Sets bin, mpi, here, bracket, dir.
bin=$(cd "$1" && pwd)
mpi=("${@:2}")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bracket=$here/../../examples/data/bracket.msh
export OMP_NUM_THREADS=1
export OMPI_MCA_ess_singleton_isolated=1 # short runs: Open MPI need not start a daemon for each
dir=$(mktemp -d) sessions=$(mktemp -d)
trap 'rm -rf "$dir" "$sessions"' EXIT
export OMPI_MCA_orte_tmpdir_base=$sessions # without daemons, scripts that run side by side meet in one folder
cd "$dir"

fail()
{
  printf '%s\n' "$@"
  exit 1
}

# refused <words of the message> <program> <options>...: fails with code 1 and these words, and leaves no
# file.
refused()
{
  local words=$1 code=0
  shift
  "$bin/$1" "${@:2}" > log 2>&1 || code=$?
  [ $code -eq 1 ] && grep -qF -- "$words" log || fail "$* (code $code) did not say '$words':" "$(cat log)"
  [ -z "$(find . -name '*vtu*' -type f -o -name '*.csv*' -type f)" ] || fail "$* left a file"
}

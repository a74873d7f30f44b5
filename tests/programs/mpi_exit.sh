#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A rank that exits ends the whole job and does not wait for ranks that wait for it; MPI is finalised once.
#   mpi_exit.sh <mpi_exit> <mpiexec and its arguments for 2 ranks>...
set -euo pipefail
program=$1
shift

status=0
timeout 60 "$@" "$program" leaves || status=$?
if [ "$status" -eq 0 ] || [ "$status" -eq 124 ]; then
  echo "a rank that exits with 3: the job ends with $status (124: it hangs)"
  exit 1
fi
timeout 60 "$@" "$program" finalizes

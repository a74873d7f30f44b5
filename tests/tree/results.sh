#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The measured numbers of README.md and docs/, and the plots of docs/benchmarks.md, are those of the files in
# bench/results: see results.py and bench/figures.py.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
if ! command -v python3 > /dev/null; then
  echo "no python3: the numbers of the pages are not compared: skipped"
  exit 77
fi
export PYTHONDONTWRITEBYTECODE=1
python3 tests/tree/results.py
python3 bench/figures.py --check

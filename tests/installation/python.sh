#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# python.sh <libpoise.so>: the tests of the Python package, with the library of this build. Needs a python3
# that has NumPy, SciPy and pytest, and is skipped without.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=scripts/setup.sh
. "$here/scripts/setup.sh"

python=$(python_with 'numpy, scipy, pytest') || {
  echo "skipped: no python3 here has NumPy, SciPy and pytest (python3-numpy python3-scipy python3-pytest)"
  exit 77
}
POISE_LIBRARY=$1 PYTHONPATH=$here/python PYTHONDONTWRITEBYTECODE=1 \
  "$python" -m pytest -q -rs -p no:cacheprovider "$here/python/tests"

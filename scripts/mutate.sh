#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Plant single bugs in a copy of the sources and tell which of them no test sees. Options: see mutate.py.
#   scripts/mutate.sh --seed 1 --count 20
#   scripts/mutate.sh --tests '^api'
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/setup.sh
. scripts/setup.sh

mapfile -t missing < <(test_packages && { have python3 || echo python3; })
install_packages "${missing[@]}"
exec python3 scripts/mutate.py "$@"

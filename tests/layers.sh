#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Layers include downwards only: ksp -> pc -> mat -> vec -> sys. CUDA stays in src/cuda, which knows the kernel contract and
# what host and GPU both compile, but no object.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

layers=(sys vec mat pc ksp)
bad=0

# refuse <what is wrong> <pattern of an included path> <files or folders>...
refuse()
{
  local why=$1 pattern=$2
  shift 2
  if grep -rnE "^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]($pattern)" "$@"; then
    echo "^ $why" >&2
    bad=1
  fi
}

for ((i = 0; i < ${#layers[@]}; i++)); do
  layer=${layers[i]}
  above=$(IFS='|'; echo "${layers[*]:i+1}")
  files=("src/$layer" "include/poise/$layer.h")
  [ -z "$above" ] || refuse "layer $layer includes a layer above it" "((\.\./|poise/)?($above)[/.])" "${files[@]}"
  refuse "a layer includes the whole interface" '(\.\./)*poise\.h' "${files[@]}"
  refuse "only src/cuda includes it" '(\.\./)*cuda' "${files[@]}"
done

mapfile -t programs < <(find bench examples -name '*.[ch]') # the benchmark's cuSPARSE and cuBLAS are in bench/common/cuda.cu
refuse "only src/cuda may include CUDA" 'cuda|cublas|cusparse|cusolver|curand|cub/|thrust/|nccl|nvtx|nvToolsExt' include \
  "${programs[@]}" "${layers[@]/#/src/}"
# What host and GPU both compile is in src/*/*_phases.h and the headers named here, which see the kernel contract and each other.
both=(src/*/*_phases.h src/pc/block_inverse.h src/pc/pivot.h src/mat/product_{plan,model}.h src/sys/device_model.h)
others=$(grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' src/cuda/* "${both[@]}" |
  grep -vE '"(\.\./sys/(kernels\.h|(kernels|phases)\.def|(sys|device_model)\.h)|(\.\./mat/)?product_(plan\.h|model\.(h|def))|(bcsr|bulk|cuda|pieces|tile)\.h|(\.\./(vec|pc|ksp)/)?([a-z]+_phases|block_inverse|pivot)\.h)"' || true)
if [ -n "$others" ]; then
  printf '%s\n^ src/cuda and what it shares with the host know no object\n' "$others" >&2
  bad=1
fi
exit $bad

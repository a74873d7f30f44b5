#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Layers include downwards only: ksp -> pc -> mat -> vec -> sys. CUDA stays in src/cuda, which knows the kernel contract and
# the phases but no object.
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

refuse "only src/cuda may include CUDA" 'cuda|cublas|cusparse|cusolver|curand|cub/|thrust/|nccl|nvtx|nvToolsExt' include examples bench \
  "${layers[@]/#/src/}"
if compgen -G 'src/cuda/*' > /dev/null; then
  refuse "src/cuda knows no object: of the layers above sys it includes phases only" \
    '(\.\./|poise/)?(vec|mat|pc|ksp)(\.h|/[a-z]+\.h)' src/cuda
fi
exit $bad

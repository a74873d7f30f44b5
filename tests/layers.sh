#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Layers include and call downwards only: pc/nested -> ksp -> pc -> io -> mat -> vec -> sys. CUDA stays in
# src/cuda, which knows the kernel contract and what host and GPU both compile, but no object.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

layers=(sys vec mat io pc ksp pc/nested)
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
  mapfile -t files < <(find "src/$layer" -name '*.[ch]' ! -path "src/$layer/nested/*")
  [ ! -e "include/poise/$layer.h" ] || files+=("include/poise/$layer.h")
  [ -z "$above" ] || refuse "layer $layer includes a layer above it" "(poise/)?($above)[/.]" "${files[@]}"
  refuse "a layer includes the whole interface" 'poise\.h' "${files[@]}"
  refuse "only src/cuda includes it" 'cuda' "${files[@]}"
done
refuse "a rank's CSR knows no type and no assembly" 'mat/(types|assembly|order)/' src/mat/csr
refuse "includes are named from src, or stand in the same folder" '\.\.' src

# Calls upward. Lists of what there is may name what is above: option tables, memories of a context, kernels.
mapfile -t sources < <(for layer in "${layers[@]}"; do
  find "src/$layer" -name '*.c' ! -path "src/$layer/nested/*" | LC_ALL=C sort
done)
awk -v order="${layers[*]}" '
  function Layer(path,    part) { split(path, part, "/"); return part[3] == "nested" ? "pc/nested" : part[2] }
  BEGIN { n = split(order, names, " "); for (i = 1; i <= n; i++) rank[names[i]] = i }
  FNR == 1 { pass[FILENAME]++; layer = Layer(FILENAME); comment = 0 }
  { gsub(/"([^"\\]|\\.)*"/, "") }
  { gsub(/\/\*([^*]|\*[^\/])*\*\//, "") }
  comment { if (!sub(/^.*\*\//, "")) next; comment = 0 }
  /\/\*/ { sub(/\/\*.*$/, ""); comment = 1 }
  pass[FILENAME] == 1 {
    if (/^[A-Za-z].*[Pp]oise[A-Za-z0-9_]*\(/ && !/;[[:space:]]*$/ && match($0, /[Pp]oise[A-Za-z0-9_]*\(/))
      home[substr($0, RSTART, RLENGTH - 1)] = layer
    next
  }
  {
    line = $0
    while (match(line, /[Pp]oise[A-Za-z0-9_]+/)) {
      name = substr(line, RSTART, RLENGTH)
      line = substr(line, RSTART + RLENGTH)
      if (name ~ /^poise(Register_|WinnersCreate$|Host_)/) continue
      if (name in home && rank[home[name]] > rank[layer]) {
        printf "%s:%d: %s, which is defined in src/%s\n", FILENAME, FNR, name, home[name]
        bad = 1
      }
    }
  }
  END { exit bad }' "${sources[@]}" "${sources[@]}" || {
  echo "^ a layer calls a layer above it" >&2
  bad=1
}

# The calls of cuSPARSE and cuBLAS that are measured stand in bench/common/cuda.cu.
mapfile -t programs < <(find bench examples -name '*.[ch]')
refuse "only src/cuda may include CUDA" \
  'cuda|cublas|cusparse|cusolver|curand|cub/|thrust/|nccl|nvtx|nvToolsExt' include \
  "${programs[@]}" src/{sys,vec,mat,io,pc,ksp}
# What host and GPU both compile is in src/*/*_phases.h, *_kernels.h and the headers named here, which
# see the kernel contract and each other. src/cuda also sees what layers ask of a device: *_device.h.
both=(src/*/*_phases.h src/*/*_kernels.h src/{sys,mat,pc}/*/*_kernels.h src/ksp/phases.h
  src/sys/device/{phase,link_args,device_model}.h src/mat/csr/csr_view.h src/mat/plan/product_{plan,model}.h
  src/pc/{block_inverse,pivot}.h)
shared='[a-z0-9_]+_(phases|kernels)|phases|link_args|csr_view|device_model|product_(plan|model)'
shared+='|block_inverse|pivot'
cuda='sys/sys|(sys/device|mat|pc)/[a-z]+_device|bcsr|bulk|cuda|door|epilogue|exchange|fragments|items'
cuda+='|reduce|row_lanes|rows|staged_rows|spgemm_(lanes|threads|warps)|tile(_[a-z]+)?'
others=$(grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' src/cuda/* "${both[@]}" |
  grep -vE '"((sys/device/)?((kernels|phase)\.h|(kernels|phases)\.def)|(types|product_model)\.def)"' |
  grep -vE '"((sys/[a-z]+|vec|mat/[a-z]+|pc(/[a-z]+)?|ksp)/)?('"$shared"')\.h"' |
  grep -vE '^src/cuda/.*"('"$cuda"')\.h"' || true)
if [ -n "$others" ]; then
  printf '%s\n^ src/cuda and what it shares with the host know no object\n' "$others" >&2
  bad=1
fi
# The contract is the same whatever there is to be stored: a format's kernels stand beside it.
formats=$(sed -nE 's/^(MAT|PC)_TYPE\(([a-z0-9]+)\)$/\2/p' src/mat/types.def src/pc/types.def |
  grep -vxE 'auto|none|shell|ksp' | paste -sd '|')
formats+='|coo|hub|index16|row_?blocks?|fragments?|tiles?|triang|factor|sweep|level'
if grep -niE "\\b(poise_?)?($formats)" src/sys/device/kernels.h; then
  echo "^ the kernel contract names a format or an algorithm of one" >&2
  bad=1
fi
exit $bad

#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Layers include and call downwards only: pc/nested -> ksp -> pc -> io -> mat -> vec -> sys. So do the folders
# of sys: context -> log -> link -> device -> options -> ranks -> base; and those of mat: order -> multiply ->
# operations -> assembly -> storage -> product -> csr. CUDA stays in src/cuda, which knows the kernel contract
# and what host and GPU both compile, but no object.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

layers=(sys vec mat io pc ksp pc/nested)
rooms=(base ranks options device link log context) # of src/sys, lowest first
# Folders of src/mat, lowest first. The others are the object: these and those call each other.
mat_rooms=(csr product storage assembly operations multiply order)
# Calls upwards in src/sys and src/mat: file, function. Each is one that its file cannot do without.
calls_up=(
  src/sys/base/interrupt.c poiseCommMaxInt # PoiseSetInterrupt compares what the ranks give
  src/sys/ranks/comm_mpi.c poiseLinkRun # who waits for other ranks lets the device run what they poll for
  src/sys/ranks/comm_threads.c poiseLinkRun # the same
  src/mat/storage/held.c PoiseMatNorm # that of a matrix through a CSR is that of the CSR
  src/mat/storage/pcoo.c PoiseMatNorm # the same
  src/mat/storage/pcoo.c PoiseMatSetPatternCOO # a norm of triplets in any order is that of their sums, which
  src/mat/storage/pcoo.c PoiseMatSetValuesCOO # are assembled for the call
  src/sys/device/device.c poiseLogWhere # a refused copy or wait is told with the event that it is in
)
# What a header declares and another folder defines: header, function.
elsewhere=(
  src/mat/order/arrange.h poiseMatReadOrder # options of matrices stand in one table (mat_options.c), and
  src/mat/order/arrange.h poiseMatReorderWords # words of options, which stand in one table (mat_options.c)
)
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
for ((i = 0; i < ${#rooms[@]} - 1; i++)); do
  above=$(IFS='|'; echo "${rooms[*]:i+1}")
  refuse "src/sys/${rooms[i]} includes a folder above it" "sys/($above)/" "src/sys/${rooms[i]}"
  # sys.h is the context, which all functions are given. What a header declares needs its name only.
  refuse "a header below the context includes sys.h" 'sys/sys\.h' --include='*.h' "src/sys/${rooms[i]}"
done
for ((i = 0; i < ${#mat_rooms[@]} - 1; i++)); do
  above=$(IFS='|'; echo "${mat_rooms[*]:i+1}")
  refuse "src/mat/${mat_rooms[i]} includes a folder above it" "mat/($above)/" "src/mat/${mat_rooms[i]}"
done
known=$(printf 'src/sys/%s\n' "${rooms[@]}" sys.h | LC_ALL=C sort)
if ! diff <(find src/sys -mindepth 1 -maxdepth 1 | LC_ALL=C sort) - <<< "$known"; then
  echo "^ src/sys holds sys.h and the folders that this script knows" >&2
  bad=1
fi
mapfile -t methods < <(grep -lE '^const KSPType poiseKSPType_' src/ksp/*.c |
  grep -v /auto.c) # which has solvers of its own
refuse "a method includes methods.h and what methods share" \
  '(ksp/)?(claim|divided|dots|inside|ksp|loop|monitor|operator|reordered|running|scale|solve)\.h' \
  "${methods[@]}"
refuse "a stage of amg's set-up knows no hierarchy" '(pc/amg/)?(amg|cycle|hierarchy|vectors)\.h' \
  src/pc/amg/{strength,aggregate,tentative,lambda,interpolation,ranks,redundant,bottom}.[ch]
refuse "includes are named from src, or stand in the same folder" '\.\.' src

# Calls upwards, also in headers. What a header of src/sys or src/mat declares is defined in its folder; sys.h
# is the context's. Lists of what there is may name what is above: option tables, memories of a context,
# kernels.
mapfile -t sources < <(for layer in "${layers[@]}"; do
  find "src/$layer" -name '*.[ch]' ! -path "src/$layer/nested/*" | LC_ALL=C sort
done)
order="$(printf 'sys/%s ' "${rooms[@]}")vec $(printf 'mat/%s ' "${mat_rooms[@]}")${layers[*]:2}"
awk -v order="$order" -v allowed="${calls_up[*]} ${elsewhere[*]}" '
  function Layer(path,    part)
  {
    split(path, part, "/")
    if (part[2] == "sys") return part[3] == "sys.h" ? "sys/context" : "sys/" part[3]
    if (part[2] == "mat" && ("mat/" part[3]) in rank) return "mat/" part[3]
    return part[3] == "nested" ? "pc/nested" : part[2]
  }
  function Complain(what) { printf "%s:%d: %s\n", FILENAME, FNR, what; bad = 1 }
  BEGIN {
    n = split(order, names, " ")
    for (i = 1; i <= n; i++) rank[names[i]] = i
    n = split(allowed, pair, " ")
    for (i = 1; i < n; i += 2) left[pair[i], pair[i + 1]] = 1
  }
  FNR == 1 { pass[FILENAME]++; layer = Layer(FILENAME); comment = 0; header = FILENAME ~ /\.h$/ }
  { gsub(/"([^"\\]|\\.)*"/, "") }
  { gsub(/\/\*([^*]|\*[^\/])*\*\//, "") }
  comment { if (!sub(/^.*\*\//, "")) next; comment = 0 }
  /\/\*/ { sub(/\/\*.*$/, ""); comment = 1 }
  pass[FILENAME] == 1 {
    if (!header && /^[A-Za-z].*[Pp]oise[A-Za-z0-9_]*\(/ && !/;[[:space:]]*$/ &&
        match($0, /[Pp]oise[A-Za-z0-9_]*\(/))
      home[substr($0, RSTART, RLENGTH - 1)] = layer
    next
  }
  {
    line = $0
    while (match(line, /[Pp]oise[A-Za-z0-9_]+/)) {
      name = substr(line, RSTART, RLENGTH)
      line = substr(line, RSTART + RLENGTH)
      if (name ~ /^poise(Register_|Host_)/ || !(name in home)) continue
      declared = header && /^[A-Za-z]/ && !/^static/ && line ~ /^\(/
      if ((FILENAME, name) in left) left[FILENAME, name] = 0
      else if (rank[home[name]] > rank[layer] && (home[name] != "mat" || declared || layer !~ /^mat/))
        Complain(name ", which is defined in src/" home[name])
      else if (declared && layer ~ /^(sys|mat)/ && home[name] != layer)
        Complain("declares " name ", which is defined in src/" home[name])
    }
  }
  END {
    for (i in left)
      if (left[i]) {
        sub(SUBSEP, " does not call ", i)
        print i ": calls_up or elsewhere has it"
        bad = 1
      }
    exit bad
  }' "${sources[@]}" "${sources[@]}" || {
  echo "^ a layer, or a folder of src/sys or src/mat, calls what is above it" >&2
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
  src/sys/device/{phase,link_args,device_model}.h src/mat/csr/csr_view.h
  src/mat/product/product_{plan,model}.h src/pc/{block_inverse,colour_moves,pivot}.h)
shared='[a-z0-9_]+_(phases|kernels)|phases|link_args|csr_view|device_model|product_(plan|model)'
shared+='|block_inverse|colour_moves|pivot'
cuda='sys/sys|(sys/device|mat|pc)/[a-z]+_device|bcsr|bulk|colour_lanes|cuda|door|epilogue|exchange'
cuda+='|fragments|items'
cuda+='|csr_columns|reduce|row_lanes|rows|staged_rows|spgemm_(lanes|threads|tiles|warps)|sweep'
cuda+='|tile(_[a-z]+)?|wide'
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

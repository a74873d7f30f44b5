#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# all.sh <folder of the examples> [<devices> [<ranks>]]
# Every driver comes to the same solution, to the solver's tolerance, with all types of matrices, devices,
# numbers of ranks and ways of assembly. Devices and ranks are lists of words: "host mock" and "1 2 5".
# scripts/test.sh --all runs it. On a machine with a GPU: tests/fem/all.sh build/gpu/examples cuda "1 2"
set -euo pipefail
bin=$(cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/../../examples/data"
read -ra devices <<< "${2:-host mock}"
read -ra ranks <<< "${3:-1 2 5}"
types=(csr csri seg auto bcsr)
export OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive OMPI_MCA_ess_singleton_isolated=1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

cat > "$dir/bracket.options" << 'EOF'
-mesh bracket.msh -material "steel: E = 2e11, nu = 0.3, density = 7850" -loads "load: force = 0 -1000 0"
-support "fixed; hole: z = 1e-5"
EOF
echo '-poisson 0.45 -loads "right: force = 0 0 -1000; top: pressure = 1e4"' > "$dir/beam.options"
# Elasticity leaves off at 1e-9. For a beam of 1500 iterations by pbjacobi, rounding of b - A x alone is some
# 1e-16 |M^-1 A| |x|, or 2e-10 of the first preconditioned residual. Solutions agree to 2e-6 long before.
cases=(
  "poisson -n 4 -refinements 0 -shape ring -grading 3 -ksp_rtol 1e-12"
  "poisson -mesh bracket.msh -dirichlet fixed,load -ksp_rtol 1e-12"
  "elasticity -ksp_rtol 1e-9"
  "elasticity -cell hex8 -n 8 -contrast 3 -ksp_rtol 1e-9"
  "elasticity -options_file $dir/bracket.options -ksp_rtol 1e-9"
  "elasticity -cell hex8 -n 4 -options_file $dir/beam.options -ksp_rtol 1e-9"
  "heat -n 8 -steps 4 -ksp_rtol 1e-12"
  "heat -cell quad4 -n 16 -steps 4 -theta 1 -ksp_rtol 1e-12"
  "convection -solution smooth -cell hex8 -n 6 -ksp_rtol 1e-12"
  "convection -solution smooth -ksp_rtol 1e-12"
  "poisson -cell hex8 -n 4 -boundary left:value=1;right:transfer=2,outside=3 -ksp_rtol 1e-12"
  "heat -cell quad4 -n 8 -steps 4 -boundary left:value=1;right:transfer=2,outside=3 -ksp_rtol 1e-12"
)

ways()
{
  case "$*" in
    *-boundary*) echo elements coo ;;
    elasticity*) echo elements coo device blocks ;;
    *) echo elements coo device ;;
  esac
}

# The numbers by which a solution is known.
numbers()
{
  case $1 in
    poisson) awk '/^(tri|quad|tet|hex)/ && NF > 4 { print $5, $6 }' "$2" ;;
    elasticity) awk '/^(deflection|displacement|von Mises|energy)/ { print $(/^von/ ? 3 : 2) }' "$2" ;;
    heat) awk 'NF == 7 && $1 ~ /^[0-9]+$/ { print $6 }' "$2" ;;
    convection) awk '/^smooth/ { print $5, $6 }' "$2" ;;
  esac
  awk '/^(left|right) / { print $2 < 0 ? -$2 : $2 }' "$2" # what flows in, of a problem with -boundary
}

# run <job> <reference> <program> <options>...: one word of what came of it, or a text
run()
{
  local log=$dir/$1.log reference=$2 program=$3 code=0
  shift 3
  timeout 300 "$bin/$program" "$@" > "$log" 2>&1 || code=$?
  if [ $code -ne 0 ]; then
    printf 'FAILED (code %d): %s %s\n%s\n' $code "$program" "$*" \
      "$(grep -A 3 '^poise: ' "$log" || tail -n 4 "$log")"
  elif ! paste -d ' ' <(numbers "$program" "$log" | tr ' ' '\n') \
    <(numbers "$program" "$reference" | tr ' ' '\n') |
    awk '{ d = $1 - $2; if (NF != 2 || d > 2e-6 * $2 || -d > 2e-6 * $2) bad = 1 }
         END { exit bad || NR == 0 }'; then
    printf 'FAILED: other numbers: %s %s\n%s\n' "$program" "$*" "$(numbers "$program" "$log" | paste -s)"
  else
    echo passed
  fi
  rm -f "$log"
}

jobs=() # the answer of job k goes to file k
for k in "${!cases[@]}"; do
  read -ra case <<< "${cases[$k]}"
  "$bin/${case[0]}" "${case[@]:1}" -device host > "$dir/reference$k" 2>&1 || {
    cat "$dir/reference$k"
    exit 1
  }
  for way in $(ways "${case[@]}"); do
    for device in "${devices[@]}"; do
      for n in "${ranks[@]}"; do
        for type in "${types[@]}"; do
          jobs+=("$dir/reference$k ${cases[$k]} -assembly $way -device $device -ranks $n -mat_type $type")
        done
      done
    done
  done
done
echo "${#jobs[@]} runs: ${#cases[@]} cases, types ${types[*]}, devices ${devices[*]}, ranks ${ranks[*]}," \
  "ways of assembly"
for k in "${!jobs[@]}"; do
  while [ "$(jobs -r | wc -l)" -ge "$(nproc)" ]; do wait -n || true; done
  read -ra job <<< "${jobs[$k]}"
  run "$k" "${job[@]}" > "$dir/$k.answer" &
done
wait

answers=$(cat "$dir"/*.answer)
if failed=$(grep -A 5 '^FAILED' <<< "$answers"); then
  printf '%s\n' "$failed"
  exit 1
fi
echo "$(grep -c '^passed' <<< "$answers") runs came to the same solutions."

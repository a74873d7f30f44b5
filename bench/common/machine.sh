# SPDX-License-Identifier: BSD-3-Clause
# For scripts that record measurements, which source it: the machine, and what their files begin with. They
# set device, commit (empty: as git says) and arguments, and gpu, the number of a GPU, before.

# smi <query>: what nvidia-smi says of the GPU, with commas between
smi()
{
  nvidia-smi -i "$gpu" --query-gpu="$1" --format=csv,noheader 2> /dev/null
}

# describe_machine <how many GPUs>: sets machine, versions, clocks and commit
describe_machine()
{
  machine=$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo 2> /dev/null | head -n 1)
  machine="$(nproc --all) processors of ${machine:-a CPU}"
  versions=$(cc --version 2> /dev/null | head -n 1) clocks="not recorded"
  if [ "$device" = cuda ]; then
    machine="$1 $(smi name), $machine"
    clocks="SM to $(smi clocks.max.sm), memory $(smi clocks.max.mem), power limit $(smi power.limit)"
    versions="driver $(smi driver_version), $(PATH=$PATH:/usr/local/cuda/bin nvcc --version 2> /dev/null |
      sed -n 's/.*release \(.*\)/CUDA \1/p'), $versions"
  fi
  [ -z "$commit" ] || return 0
  commit=$(git rev-parse --short=7 HEAD 2> /dev/null || echo "not recorded")
  git diff --quiet HEAD 2> /dev/null || commit+=" and changes"
}

# head_of <file>: what every file of results begins with
head_of()
{
  cat > "$1" << EOF
# machine: $machine
# commit: $commit
# versions: $versions
# clocks: $clocks
# date: $(date -u +%F)
# command: bench/$(basename "$0") $arguments
EOF
}

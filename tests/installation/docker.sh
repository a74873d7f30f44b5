#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# docker.sh <Dockerfile for Debian> [<command>]...: do without Docker what the file says, step by step, each
# stage in a system that debootstrap makes, then run the commands in the last one. Takes minutes and a mirror
# of Debian. Status 77: it cannot be tried here.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
file=$(realpath "$1")
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$root"

skip()
{
  echo "skipped: $*"
  exit 77
}

[ "$(id -u)" = 0 ] || skip "only root can make a system of its own"
command -v debootstrap > /dev/null || skip "there is no debootstrap"
debootstrap --variant=minbase bookworm "$work/debian" > "$work/log" 2>&1 ||
  { tail "$work/log"; skip "debootstrap could not make a system of Debian 12"; }

# in_stage <command>
in_stage()
{
  echo "+ $1"
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive \
    chroot "$stage" bash -euc "cd '$folder'; $1" > "$work/log" 2>&1 ||
    { tail -n 40 "$work/log"; echo "failed: $1"; exit 1; }
}

stages=0
while read -r verb words; do
  case $verb in
    FROM)
      [[ $words == debian:12-slim* ]] || skip "$file is not made from debian:12-slim"
      stage=$work/stage$((++stages)) folder=/
      cp -a "$work/debian" "$stage"
      ;;
    RUN) in_stage "$words" ;;
    WORKDIR) folder=$words && mkdir -p "$stage$folder" ;;
    USER) ;; # all is done as root
    COPY)
      read -r -a word <<< "$words"
      mkdir -p "$stage${word[-1]}"
      if [ "${word[0]}" = . ]; then
        tar -c --exclude ./.git --exclude ./build --exclude ./install . | tar -x -C "$stage${word[-1]}"
      else # --from=build <pattern> <folder>
        # shellcheck disable=SC2086 # a pattern
        cp "$work/stage1"${word[1]} "$stage${word[-1]}"
      fi
      ;;
    *) echo "docker.sh knows no $verb"; exit 1 ;;
  esac
done < <(sed '/^ *#/d; /^$/d' "$file" | sed -z 's/\\\n */ /g')
for command; do
  in_stage "$command"
  cat "$work/log"
done

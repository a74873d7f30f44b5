#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# reuse.sh <build folder> <compiler> <arguments>: a launcher of the compiler for tests that build the library
# inside other projects. Objects of the library come from this build, so that such a test takes seconds.
build=$1
shift
previous=
for word; do
  if [ "$previous" = -o ]; then object=${word#*poise_objects.dir/}; output=$word; fi
  previous=$word
done
made=$build/CMakeFiles/poise_objects.dir/$object
if [ "$object" != "$output" ] && [ -e "$made" ]; then exec cp "$made" "$output"; fi
exec "$@"

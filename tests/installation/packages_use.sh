#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# packages_use.sh <prefix>: compile programs with the packages that are unpacked or installed there, by
# pkg-config and by CMake, and run them and a driver of the examples; solve from Python, by the plug-in for
# PETSc and by SUNDIALS, where these are. In a clean root this is all that is of this tree.
set -euo pipefail
prefix=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS=2

if [ "$prefix" != /usr ]; then
  PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name poise.pc)")
  CMAKE_PREFIX_PATH=$prefix
  export PKG_CONFIG_PATH CMAKE_PREFIX_PATH
fi
PYTHONPATH=$prefix/lib/python3/dist-packages PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH PYTHONDONTWRITEBYTECODE

# has <modules, with commas between>: does the system's python3, for which the packages are?
has()
{
  /usr/bin/python3 -c "import $1" 2> "$work/log" || { echo "without Python's $1"; return 1; }
}

if has "numpy, scipy"; then
  /usr/bin/python3 - << 'PYTHON'
import numpy as np, poise, scipy.sparse as sp

A = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], (100, 100), format="csr")
x, info = poise.cg(A, np.ones(100), rtol=1e-8)
assert info == 0 and np.linalg.norm(A @ x - 1) <= 1e-6
PYTHON
fi
plugin=$(find "$prefix/lib" -name libpoise_petsc.so)
if [ -n "$plugin" ] && has petsc4py; then
  /usr/bin/python3 - "$plugin" << 'PYTHON'
import sys, petsc4py

petsc4py.init(["", "-dll_append", sys.argv[1], "-ksp_type", "poise", "-poise_ksp_type", "cg"])
from petsc4py import PETSc

A = PETSc.Mat().createAIJ([100, 100], nnz=3)
for i in range(100):
    for j, v in ((i - 1, -1.0), (i, 2.0), (i + 1, -1.0)):
        if 0 <= j < 100:
            A[i, j] = v
A.assemble()
x, b = A.createVecs()
b.set(1)
ksp = PETSc.KSP().create()
ksp.setOperators(A)
ksp.setFromOptions()
ksp.solve(b, x)
assert ksp.getType() == "poise" and (A * x - b).norm() <= 1e-3
PYTHON
fi
brusselator=$prefix/share/doc/poise-sundials/examples/brusselator.c
if [ -e "$brusselator" ] && ! { command -v mpicc > /dev/null && [ -e /usr/include/cvode/cvode.h ]; }; then
  echo "without SUNDIALS"
elif [ -e "$brusselator" ]; then
  # shellcheck disable=SC2046 # words
  mpicc "$brusselator" -o "$work/brusselator" $(pkg-config --cflags --libs poise) -lpoise_sundials \
    -lsundials_cvode -lsundials_nvecparallel -lsundials_generic -lm
  "$work/brusselator" -n 10 > "$work/log" || { cat "$work/log"; exit 1; }
fi

cp -r "$prefix/share/poise/examples" "$work"
cd "$work/examples/link/serial"
# shellcheck disable=SC2046 # words
cc conduction.c $(pkg-config --cflags --libs poise) -lm -o "$work/conduction"
"$work/conduction"
cmake -S . -B "$work/build" > "$work/log" || { cat "$work/log"; exit 1; }
cmake --build "$work/build" > "$work/log" || { cat "$work/log"; exit 1; }
"$work/build/conduction"
"$prefix/libexec/poise/elasticity" -n 3 -ranks 2 > "$work/log" || { cat "$work/log"; exit 1; }
cmake -S "$work/examples" -B "$work/examples/build" > "$work/log" || { cat "$work/log"; exit 1; }
echo "used: $prefix"

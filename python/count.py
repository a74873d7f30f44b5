#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What Python adds to set-up and solve, in instructions, which do not depend on other work on the machine.

    python/count.py [points=40] [iterations=100]

The system is that of compare.py. Under valgrind's callgrind it is set up and solved once, and three times;
half the difference is one round. Its instructions are those of the library (with libgomp and libm), and all
others: Python, NumPy, SciPy, ctypes, and what the library calls in libc. The latter are an upper bound of
what a C program saves. Some are made in each iteration, some for each unknown. So two sizes and two numbers
of iterations are counted, and 1 million unknowns follow.
"""
import os
import re
import subprocess
import sys
import tempfile

OWN = ("libpoise", "libgomp", "libm.", "libm-")


def rounds(count, points, iterations):
    import compare
    import numpy as np
    import poise

    options = f"-ksp_type cg -pc_type jacobi -ksp_norm_type default -ksp_rtol 1e-30 -ksp_max_it {iterations}"
    A = compare.laplacian(points)
    b = A @ np.ones(A.shape[0])
    x = np.empty(A.shape[0])
    for _ in range(count):
        with poise.Solver(A, options=options, error=False) as solver:
            solver.solve(b, out=x)


def instructions(count, points, iterations):
    """{whose: instructions} of a process"""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "out")
        words = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={file}", "--compress-strings=no",
                 "--compress-pos=no", sys.executable, __file__, "--rounds", str(count), str(points),
                 str(iterations)]
        environment = dict(os.environ, OMP_NUM_THREADS="1")
        subprocess.run(words, check=True, stderr=subprocess.DEVNULL, env=environment)
        found, whose, calls = {"library": 0, "others": 0}, "others", False
        with open(file, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if line.startswith("ob="):
                    whose = "library" if os.path.basename(line[3:].strip()).startswith(OWN) else "others"
                elif line.startswith("calls="):
                    calls = True
                elif re.match(r"[0-9+*-]", line):
                    if not calls:
                        found[whose] += int(line.split()[1])
                    calls = False
        return found


def one_round(points, iterations):
    once, thrice = instructions(1, points, iterations), instructions(3, points, iterations)
    found = {whose: (thrice[whose] - once[whose]) // 2 for whose in once}
    share = 100 * found["others"] / found["library"]
    print(f"{points**3:8d} unknowns, {iterations:4d} iterations: library {found['library']:12d}, others "
          f"{found['others']:10d}, {share:.2f} %", flush=True)
    return found


def main():
    given = sys.argv[1:]
    if given[:1] == ["--rounds"]:
        rounds(*map(int, given[1:]))
        return
    points, iterations = (int(word) for word in given + ["40", "100"][len(given):])
    small, few = points * 3 // 4, iterations // 2  # both above the 20000 rows of Ctrl-C
    large, short = one_round(points, iterations), one_round(points, few)
    little = one_round(small, iterations)
    total = {}
    for whose in large:  # = once + per unknown * n + per iteration * k + per both * n k
        n, least = points**3, small**3
        each = (large[whose] - short[whose]) / (iterations - few)  # of an iteration at n
        begin = large[whose] - each * iterations
        if whose == "library":  # grows with n
            total[whose] = (begin + each * 200) * 1e6 / n
        else:
            slope = max(0, (large[whose] - little[whose]) / (n - least))
            total[whose] = large[whose] + each * (200 - iterations) + slope * (1e6 - n)
    share = 100 * total["others"] / total["library"]
    print(f" 1000000 unknowns,  200 iterations, from these: library {total['library']:.3g}, "
          f"others {total['others']:.3g}, {share:.2f} %")


if __name__ == "__main__":
    main()

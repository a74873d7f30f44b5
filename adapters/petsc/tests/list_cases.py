#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the lists of cases.py from the TEST blocks in PETSc's examples.

    list_cases.py ksp cases.txt
    list_cases.py nonlinear cases_nonlinear.txt

A case is a block without a block inside. Taken are those in C of at most 4 ranks that need no data file
beside those of an installed PETSc, no package, no GPU and no other precision. Why a case is not as with
PETSc (the fifth field) is kept from the list that is there. The head of the list counts what is left out.
"""
import glob
import os
import re
import sys
import textwrap

PETSC = "/usr/share/petsc/3.18"
FOLDERS = {"ksp": ["ksp/ksp/tutorials", "ksp/ksp/tests"],
           "nonlinear": ["snes/tutorials", "snes/tests", "ts/tutorials", "ts/tests", "tao/tutorials",
                         "tao/*/tutorials", "tao/*/tests"]}
MOST = {"ksp": None, "nonlinear": 2}  # cases a program
HEADS = {"ksp": "PETSc's KSP examples", "nonlinear": "PETSc's examples of SNES, TS and TAO"}
RUNS = 8  # of a case; of a loop over more values the first and last are taken, but all of types
TYPES = ("ksp_type", "pc_type")
# options that show, time or write, and compute nothing: each with its value, if it has one
SHOWN = re.compile(r"-\S*(?:log_view|malloc_dump|info|options_left|error_output_stdout)$")
AVAILABLE = {"double", "c99", "long_runtime", "x"}  # windows are left out of the options


def blocks(text):
    """The cases of a TEST block: a list of {key: values}, with what the blocks around them say."""
    root = {"indent": -1, "keys": {}, "inner": 0}
    stack, leaves = [root], []
    last = None
    for line in text.splitlines():
        line = line[1:] if line.startswith("!") else line
        if not line.strip() or line.strip().startswith("#"):
            continue
        indent = len(line) - len(line.lstrip())
        found = re.match(r"\s*([A-Za-z_]+)\s*:(?:\s+(.*)|$)", line)
        if not found:
            if last is not None:
                last[-1] += " " + line.strip(" \\")
            continue
        while indent <= stack[-1]["indent"]:
            stack.pop()
        key, value = found[1], found[2] or ""
        if key in ("test", "testset", "build"):
            stack[-1]["inner"] += key != "build"
            block = {"indent": indent, "kind": key, "keys": {}, "inner": 0, "outer": list(stack)}
            leaves.append(block)
            stack.append(block)
        else:
            last = stack[-1]["keys"].setdefault(key, [])
            last.append(value.strip(" \\"))
    build = [b["keys"] for b in leaves if b["kind"] == "build"]
    cases = []
    for block in leaves:
        if block["kind"] == "build" or block["inner"]:
            continue
        case = {}
        for part in build + [o["keys"] for o in block["outer"]] + [block["keys"]]:
            for key, values in part.items():
                case[key] = case.get(key, []) + values if key in ("args", "requires") else values
        cases.append(case)
    return cases


def configured():
    flags = os.popen("pkg-config --variable=includedir PETSc").read().split()
    for folder in flags:
        name = os.path.join(folder, "petscconf.h")
        if os.path.exists(name):
            with open(name) as file:
                return set(re.findall(r"#define (PETSC_\w+)", file.read()))
    return set()


def missing(requires, have):
    """The first thing that a case needs and that is not there, or is a package; None if there is none."""
    for word in requires.split():
        name = word.lstrip("!")
        defined = re.fullmatch(r"defined\((\w+)\)", name)
        there = defined[1] in have if defined else name in AVAILABLE
        if word.startswith("!"):
            there = not (there or "PETSC_HAVE_" + name.upper() in have)
        if not there:
            return word
    return None


def shorten(arguments):
    """A loop of too many values keeps its first and last."""
    runs = 1
    for values in re.findall(r"\{\{(.*?)\}", arguments):
        runs *= len(values.split())
    if runs <= RUNS:
        return arguments

    def cut(found):
        values = found[2].split()
        if found[1].endswith(TYPES) or len(values) < 3:
            return found[0]
        return "%s {{%s %s}" % (found[1], values[0], values[-1])
    return re.sub(r"(-\S+)\s+\{\{(.*?)\}", cut, arguments)


def braces(word):
    """a{,1,2}b -> ab a1b a2b"""
    found = re.match(r"(.*?)\{([^{}]*,[^{}]*)\}(.*)$", word)
    return [found[1] + w + found[3] for w in found[2].split(",")] if found else [word]


def loops(text):
    return re.sub(r"(\{\{.*?\})[^}]*\}", r"\1}", text)  # without "separate output"


def clean(arguments):
    arguments = shorten(re.sub(r"\s+", " ", arguments))
    arguments = loops(arguments)
    # an option and its value, if it has one
    parts = re.findall(r"\S+(?: (?!-[A-Za-z])(?:\{\{.*?\}\}|\S+))*", arguments)
    parts = [p for p in parts if not SHOWN.match(p.split()[0]) and "draw" not in p]
    return " ".join(w for p in parts for w in (braces(p) if " " not in p else [p]))


def left_out(case, arguments, have):
    ranks = re.findall(r"\d+", case.get("nsize", ["1"])[-1])
    if "TODO" in case or "SKIP" in case:
        return "PETSc itself leaves out"
    if "datafilespath" in " ".join(case.get("requires", [])).lower() or "DATAFILESPATH" in arguments:
        return "need a data file"
    if "localrunfiles" in case:
        return "need a data file"
    if missing(" ".join(case.get("requires", [])), have):
        return "need a package, GPU, or another precision"
    if max(map(int, ranks)) > 4:
        return "run on more than 4 ranks"
    return None


def reasons(name):
    known = {}
    if os.path.exists(name):
        with open(name) as file:
            for line in re.sub(r"\n +", " ", file.read()).splitlines():
                words = [w.strip() for w in line.split("|")]
                if line[:1] != "#" and len(words) > 4:
                    known[tuple(words[:2])] = words[4]
    return known


def key(name):
    return [int(w) if w.isdigit() else w for w in re.split(r"(\d+)", name)]


def collect(what, have):
    """-> cases as lists of fields, {why: number left out}"""
    base = os.path.join(PETSC, "share/petsc/examples/src")
    found, out = [], {}
    for folder in FOLDERS[what]:
        for source in sorted(glob.glob(os.path.join(base, folder, "*.c")), key=key):
            with open(source, errors="replace") as file:
                text = file.read()
            block = re.search(r"/\*TEST(.*?)TEST\*/", text, re.S)
            names, taken = {}, 0
            for case in blocks(block[1]) if block else []:
                if "#include <petscviewerhdf5.h>" in text:
                    case["requires"] = case.get("requires", []) + ["hdf5"]
                arguments = clean(" ".join(case.get("args", [])))
                why = left_out(case, arguments, have)
                if not why and taken == MOST[what]:
                    why = "are more than %d of a program" % taken
                if why:
                    out[why] = out.get(why, 0) + 1
                    continue
                taken += 1
                name = case.get("suffix", ["1"])[-1] or "1"
                names[name] = names.get(name, 0) + 1
                if names[name] > 1:
                    name += "-%d" % names[name]
                program = os.path.relpath(source, base)[:-2]
                found.append([program, name, loops(case.get("nsize", ["1"])[-1]), arguments])
    return found, out


def main():
    what, name = sys.argv[1:3]
    known = reasons(name)
    cases, out = collect(what, configured())
    head = ["# %s, as cases.py runs them:" % HEADS[what],
            "#   program | name | ranks | arguments | why not as with PETSc",
            "# A line that begins with blanks goes on with the one above. list_cases.py makes this list, but",
            "# for the last field, of the TEST blocks of PETSc 3.18.5. It has %d cases; of the others"
            % len(cases)]
    head += ["#   %4d %s" % (n, why) for why, n in sorted(out.items())]
    lines = []
    for case in cases:
        if tuple(case[:2]) in known:
            case.append(known[tuple(case[:2])])
        lines += textwrap.wrap(" | ".join(case).rstrip(), 110, subsequent_indent="  ", break_on_hyphens=False,
                               break_long_words=False)
    with open(name, "w") as file:
        file.write("\n".join(head + lines) + "\n")


if __name__ == "__main__":
    main()

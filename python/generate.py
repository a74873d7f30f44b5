#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Declare Poise's functions to ctypes, as the headers declare them to C. Also names its options.

    python/generate.py            writes python/poise/_declarations.py
    python/generate.py --check    fails if that file is not what would be written

The C preprocessor expands the lists in the headers, so it needs a C compiler (CC, or cc). What it cannot
understand is an error: a new kind of declaration must not be left out in silence.
"""
import os
import pathlib
import re
import subprocess
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "python" / "poise" / "_declarations.py"
HEAD = '''# SPDX-License-Identifier: BSD-3-Clause
"""Poise's declarations for ctypes. Made from include/poise/*.h by python/generate.py: do not edit."""
# ruff: noqa
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t
from ctypes import c_uint64, c_void_p


class PoiseErr(c_int):
    """A code that a function returns: it is looked at behind each call."""

'''
NUMBERS = {"int": "c_int", "double": "c_double", "size_t": "c_size_t", "int64_t": "c_int64",
           "int32_t": "c_int32", "uint64_t": "c_uint64", "PoiseInt": "c_int64"}


def preprocessed():
    """The text of Poise's headers, without those of the system."""
    command = [os.environ.get("CC", "cc"), "-std=c11", "-E", f"-I{ROOT / 'include'}", "-x", "c", "-"]
    text = '#include "poise.h"\n'
    done = subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, check=True)
    lines, ours = [], False
    for line in done.stdout.splitlines():
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            ours = marker.group(1).startswith(str(ROOT / "include"))
        elif ours:
            lines.append(line)
    text = " ".join(lines)
    text = re.sub(r"__attribute__\s*\(\(visibility\(\"default\"\)\)\)", "API", text)
    text = re.sub(r"__attribute__\s*\(\(format\([^)]*\)\)\)", "", text)
    return re.sub(r"\s+", " ", text)


def statements(text):
    """Cut at semicolons outside of braces."""
    depth, start = 0, 0
    for at, letter in enumerate(text):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter == ";" and depth == 0:
            yield text[start:at].strip()
            start = at + 1


class Declarations:
    def __init__(self):
        self.handles, self.enums, self.constants, self.callbacks = [], [], [], {}
        self.structs, self.functions, self.opaque = [], [], set()

    def kind(self, text):
        """The ctypes class of a C type."""
        stars = text.count("*")
        name = re.sub(r"\bconst\b|\bstruct\b|\*", "", text).strip()
        if stars == 0:
            if name in NUMBERS:
                return NUMBERS[name]
            if name in self.enums:
                return "c_int"
            if name in self.handles or name in self.callbacks or name in (s for s, _ in self.structs):
                return name
        elif stars == 1:
            if name in self.handles or name in (s for s, _ in self.structs):
                return f"POINTER({name})"
            if name == "char":
                return "c_char_p" if "const" in text else "c_void_p"
        if name in {"void", "char", "FILE", *NUMBERS, *self.enums, *self.handles, *self.opaque}:
            return "c_void_p"  # an array or the place of a result
        raise SystemExit(f"generate.py: what is '{text}'?")

    def parameters(self, text):
        """The classes of parameters, without their names."""
        if text.strip() == "void":
            return []
        out = []
        for parameter in re.split(r",(?![^(]*\))", text):
            parameter = parameter.strip()
            function = re.fullmatch(r"PoiseErr \(\*\w+\)\((.*)\)", parameter)
            if function:
                out.append(self.callback(function.group(1)))
                continue
            if parameter == "...":
                continue  # a caller of ctypes passes more arguments than are declared
            match = re.fullmatch(r"(.*?)(\w+)?(\[\w*\])?", parameter)
            out.append(self.kind(match.group(1) + ("*" if match.group(3) else "")))
        return out

    def fields(self, text):
        """(name, class) of the members of a struct."""
        out = []
        for member in filter(None, (m.strip() for m in text.split(";"))):
            function = re.fullmatch(r"PoiseErr \(\*(\w+)\)\((.*)\)", member)
            if function:
                out.append((function.group(1), self.callback(function.group(2))))
                continue
            kind, names = re.fullmatch(r"((?:const |struct )*\w+)(.*)", member).groups()
            for name in names.split(","):
                stars = "*" * name.count("*")
                out.append((name.replace("*", "").strip(), self.kind(kind + stars)))
        return out

    def callback(self, parameters):
        return f"CFUNCTYPE({', '.join(['c_int'] + self.parameters(parameters))})"

    def read(self, statement):
        statement = re.sub(r'^extern "C" \{', "", statement).strip()
        handle = re.fullmatch(r"typedef struct \w+_s \*(\w+)", statement)
        enum = re.fullmatch(r"(?:typedef )?enum (?:\w+ )?\{(.*)\}( \w+)?", statement)
        struct = re.fullmatch(r"typedef struct \w+ \{(.*)\} (\w+)", statement)
        callback = re.fullmatch(r"typedef PoiseErr \(\*(\w+)\)\((.*)\)", statement)
        function = re.fullmatch(r"API ([\w *]*?)(\w+)\((.*)\)", statement)
        opaque = re.fullmatch(r"struct (\w+)", statement)
        if handle:
            self.handles.append(handle.group(1))
        elif enum:
            value = -1
            constants = []
            for item in filter(None, (i.strip() for i in enum.group(1).split(","))):
                name, _, given = (part.strip() for part in item.partition("="))
                value = int(given) if given else value + 1
                constants.append((name, value))
            name = (enum.group(2) or "").strip()
            self.enums.append(name)
            self.constants.append((name, constants))
        elif struct:
            self.structs.append((struct.group(2), self.fields(struct.group(1))))
        elif callback:
            self.callbacks[callback.group(1)] = self.callback(callback.group(2))
        elif function:
            result = function.group(1).strip()
            if result not in ("void", "PoiseErr"):
                result = self.kind(result)
            result = "None" if result == "void" else result
            self.functions.append((function.group(2), result, self.parameters(function.group(3))))
        elif opaque:
            self.opaque.add(opaque.group(1))
        elif statement != "typedef int64_t PoiseInt":
            raise SystemExit(f"generate.py: what is '{statement}'?")


def wrap(line, indent="    ", width=110):
    return textwrap.fill(
        line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def macros():
    """Numbers that the headers define by name."""
    for header in sorted((ROOT / "include" / "poise").glob("*.h")):
        for name, value in re.findall(r"^#define (POISE_\w+)\s+(?:\(\(PoiseInt\)\()?(-?\d+)\)*(?:\s|$)",
                                      header.read_text(), re.M):
            yield name, value


def generate():
    declared = Declarations()
    for statement in statements(preprocessed()):
        declared.read(statement)
    out = [HEAD]
    out += [f"{name} = {value}\n" for name, value in macros()]
    for enum, constants in declared.constants:
        out.append(f"\n# {enum}\n" if enum else "\n")
        out += [f"{name} = {value}\n" for name, value in constants]
    for name in declared.handles:
        out.append(f"\n\nclass {name}(c_void_p):\n    pass\n")
    out.append("\n\n")
    for name, kind in declared.callbacks.items():
        out.append(wrap(f"{name} = {kind}") + "\n")
    for name, fields in declared.structs:
        out.append(f"\n\nclass {name}(Structure):\n    _fields_ = [\n")
        out += [f'        ("{field}", {kind}),\n' for field, kind in fields]
        out.append("    ]\n")
    out.append("\n\n# name: (result, parameters)\nFUNCTIONS = {\n")
    for name, result, parameters in declared.functions:
        line = f'"{name}": ({result}, [{", ".join(parameters)}]),'
        out.append(textwrap.indent(wrap(line, width=106), "    ") + "\n")
    out.append("}\n\n# Keys of all options, of docs/options.md\nOPTIONS = frozenset(\n")
    keys = sorted(set(re.findall(r"^\| `-(\w+)`", (ROOT / "docs" / "options.md").read_text(), re.M)))
    out += [f'    "{line} "\n' for line in textwrap.wrap(" ".join(keys), 100, break_on_hyphens=False)]
    out[-1] = out[-1].rstrip() + ".split()\n)\n"
    return "".join(out)


def main():
    text = generate()
    if sys.argv[1:] == ["--check"]:
        if not OUTPUT.exists() or OUTPUT.read_text() != text:
            raise SystemExit(f"{OUTPUT} is not what the headers say: run python/generate.py")
    elif sys.argv[1:]:
        raise SystemExit(__doc__)
    else:
        OUTPUT.write_text(text)


if __name__ == "__main__":
    main()

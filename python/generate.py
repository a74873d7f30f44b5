#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Declare Poise's functions to ctypes, as the headers declare them to C. Also names its options.

    python/generate.py            writes python/poise/_declarations.py
    python/generate.py --check    fails if that file is not what would be written

scripts/headers.py reads the headers. What has no class of ctypes here is an error.
"""
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import headers  # noqa: E402

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


class Classes:
    """The classes of ctypes for what the headers declare."""

    def __init__(self, declared):
        self.items = [item for header in declared for group in header.groups for item in group.items]

    def named(self, *kinds):
        return [item for item in self.items if item.kind in kinds]

    def names(self, *kinds):
        return {item.name for item in self.named(*kinds)}

    def of(self, p):
        """The class of a parameter, member or result."""
        if p.function is not None:
            return self.callback(p.function)
        if p.stars == 0:
            if p.base in NUMBERS:
                return NUMBERS[p.base]
            if p.base in self.names("enum"):
                return "PoiseErr" if p.name == "result" and p.base == "PoiseErr" else "c_int"
            if p.base in self.names("handle", "callback", "struct"):
                return p.base
        elif p.stars == 1 and "struct" not in p.type.split():  # which is declared further below
            if p.base in self.names("handle", "struct"):
                return f"POINTER({p.base})"
            if p.base == "char":
                return "c_char_p" if p.const else "c_void_p"
        if p.base in {"void", "char", "FILE", *NUMBERS, *self.names("enum", "handle", "struct")}:
            return "c_void_p"  # an array or the place of a result
        raise SystemExit(f"generate.py: what is '{p.type}'?")

    def parameters(self, parameters):
        # a caller of ctypes passes more arguments than are declared
        return [self.of(p) for p in parameters if p.name != "..."]

    def callback(self, parameters):
        return f"CFUNCTYPE({', '.join(['c_int'] + self.parameters(parameters))})"

    def result(self, function):
        return "None" if function.result == "void" else self.of(headers.Parameter("result", function.result))


def wrap(line, indent="    ", width=110):
    return textwrap.fill(
        line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def keys(name, page):
    """The options in tables of a page, as a set."""
    found = " ".join(sorted(set(re.findall(r"^\| `-(\w+)`", page, re.M))))
    lines = [f'    "{line} "\n' for line in textwrap.wrap(found, 100, break_on_hyphens=False)]
    return f"{name} = frozenset(\n" + "".join(lines).rstrip() + ".split()\n)\n"


def generate():
    c = Classes(headers.headers())
    out = [HEAD]
    out += [f"{name} = {value}\n" for macro in c.named("macro") for name, value in macro.body]
    for enum in c.named("enum"):
        out.append(f"\n# {enum.name}\n" if enum.name else "\n")
        out += [f"{name} = {value}\n" for name, value in enum.body]
    for handle in c.named("handle"):
        out.append(f"\n\nclass {handle.name}(c_void_p):\n    pass\n")
    out.append("\n\n")
    for callback in c.named("callback"):
        out.append(wrap(f"{callback.name} = {c.callback(callback.body)}") + "\n")
    for struct in c.named("struct"):
        out.append(f"\n\nclass {struct.name}(Structure):\n    _fields_ = [\n")
        out += [f'        ("{member.name}", {c.of(member)}),\n' for member in struct.body]
        out.append("    ]\n")
    out.append("\n\n# name: (result, parameters)\nFUNCTIONS = {\n")
    for function in c.named("function"):
        parameters = ", ".join(c.parameters(function.body))
        line = f'"{function.name}": ({c.result(function)}, [{parameters}]),'
        out.append(textwrap.indent(wrap(line, width=106), "    ") + "\n")
    out.append("}\n\n# Keys of all options, of docs/options.md\n")
    page = (ROOT / "docs" / "options.md").read_text()
    out.append(keys("OPTIONS", page))
    out.append("\n# Those of the process, which objects do not read\n")
    out.append(keys("PROCESS_OPTIONS", page.split("\n## ")[1]))
    return "".join(out)


if __name__ == "__main__":
    headers.write_or_check({OUTPUT: generate()}, sys.argv[1:], __doc__)

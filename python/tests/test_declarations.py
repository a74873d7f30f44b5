# SPDX-License-Identifier: BSD-3-Clause
"""The declarations are what the headers say, and C agrees on sizes and places."""
import ctypes
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from poise import _declarations as c
from poise import _library

ROOT = pathlib.Path(__file__).resolve().parents[2]
CC = os.environ.get("CC", "cc")
needs_cc = pytest.mark.skipif(not shutil.which(CC), reason="no C compiler")


@needs_cc
def test_current():
    subprocess.run([sys.executable, ROOT / "python" / "generate.py", "--check"], check=True)


def test_all_functions():
    import re

    headers = "".join(p.read_text() for p in (ROOT / "include" / "poise").glob("*.h"))
    declared = set(re.findall(r"^POISE_API[^(]*\b(Poise\w+)\(", headers, re.M))
    assert set(c.FUNCTIONS) == declared
    assert all(hasattr(_library.lib, name) for name in declared)


@needs_cc
def test_structs(tmp_path):
    structs = [s for s in vars(c).values() if isinstance(s, type) and issubclass(s, ctypes.Structure)]
    structs.remove(ctypes.Structure)
    lines, ours = [], []
    for s in structs:
        lines.append(f'printf("{s.__name__} %zu\\n", sizeof({s.__name__}));')
        ours.append(f"{s.__name__} {ctypes.sizeof(s)}")
        for field, _ in s._fields_:
            lines.append(f'printf("{s.__name__}.{field} %zu\\n", offsetof({s.__name__}, {field}));')
            ours.append(f"{s.__name__}.{field} {getattr(s, field).offset}")
    for name, value in vars(c).items():
        if name.startswith("POISE_") and isinstance(value, int):
            lines.append(f'printf("{name} %lld\\n", (long long){name});')
            ours.append(f"{name} {value}")
    source = tmp_path / "sizes.c"
    source.write_text("#include <poise.h>\nint main(void) {\n" + "\n".join(lines) + "\nreturn 0; }\n")
    program = tmp_path / "sizes"
    subprocess.run([CC, f"-I{ROOT / 'include'}", source, "-o", program], check=True)
    theirs = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split("\n")[:-1]
    assert theirs == ours and len(structs) >= 10

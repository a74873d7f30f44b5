# SPDX-License-Identifier: BSD-3-Clause
"""What pip builds: CUDA where there are nvcc and a GPU, or where it is asked for; and that it says so."""
import os
import pathlib
import pty
import shutil
import subprocess

import pytest

PARTS = pathlib.Path(__file__).resolve().parents[1] / "Parts.cmake"
pytestmark = pytest.mark.skipif(not shutil.which("cmake"), reason="no cmake")


@pytest.fixture
def configure(tmp_path):
    """configure(asked, gpu, nvcc): the command that decides, on a machine with or without these."""
    def make(asked, gpu=True, nvcc=True):
        smi = tmp_path / "nvidia-smi"
        smi.write_text("#!/bin/sh\n" + ("echo 'GPU 0: one (UUID: 1)'\n" if gpu else "echo failed; exit 9\n"))
        smi.chmod(0o755)
        script = tmp_path / "script.cmake"
        script.write_text(
            f"set(POISE_PYTHON_CUDA {asked})\nset(POISE_PYTHON_MPI OFF)\nset(POISE_PYTHON_OPENMP ON)\n"
            f"set(POISE_PYTHON_NVCC {'/bin/true' if nvcc else 'OFF'} CACHE FILEPATH \"\")\n"
            f"include({PARTS})\npoise_python_cuda()\n"
            "poise_python_option(MPI ON)\npoise_python_option(OPENMP OFF)\n"
            'poise_python_words(words)\npoise_python_say("${words}")\n'
        )
        return ["env", f"PATH={tmp_path}:{os.environ['PATH']}", "cmake", "-P", str(script)]

    return make


@pytest.mark.parametrize("asked, gpu, nvcc, has, why", [
    ("AUTO", True, True, True, ""),
    ("AUTO", False, True, False, "There is no GPU; -C cmake.define.POISE_PYTHON_CUDA=ON"),
    ("AUTO", True, False, False, "There is a GPU, but no nvcc"),
    ("AUTO", False, False, False, ""),
    ("ON", False, True, True, ""),
    ("OFF", True, True, False, ""),
])
def test_cuda(configure, asked, gpu, nvcc, has, why):
    out = subprocess.run(configure(asked, gpu, nvcc), capture_output=True, text=True, check=True).stdout
    assert ("with CUDA, without MPI, with OpenMP" if has else "without CUDA, without MPI, with OpenMP") in out
    assert " min on " in out
    assert why in out if why else "There is" not in out


def test_the_terminal_is_told(configure):
    """Whatever becomes of the output, as under pip."""
    command = configure("OFF")
    try:
        pid, terminal = pty.fork()
    except OSError:
        pytest.skip("no terminals here")
    if pid == 0:
        os.execvp("sh", ["sh", "-c", '"$@" > /dev/null 2>&1', "sh", *command])
    said = b""
    try:
        while chunk := os.read(terminal, 4096):
            said += chunk
    except OSError:  # the end, on Linux
        pass
    assert os.waitpid(pid, 0)[1] == 0
    assert b"Poise is compiled without CUDA" in said

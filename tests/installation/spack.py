# SPDX-License-Identifier: BSD-3-Clause
"""Run Spack's recipe with stand-ins of what it takes from Spack, and configure with
what it passes to CMake. An option that the build does not know is an error. Spack itself is not needed."""
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import types

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECIPE = ROOT / "packaging/spack/spack_repo/poise/packages/poise/package.py"
variants, dependencies = {}, []


class Spec:
    """A variant is on if its name is among the words."""

    def __init__(self, words):
        self.words = words
        self.variants = {"cuda_arch": types.SimpleNamespace(value=("90",))}

    def satisfies(self, text):
        return text.lstrip("+") in self.words


class Package:
    """What CMakePackage gives to a recipe: lists are joined by semicolons, truth is ON or OFF."""

    def define(self, name, value):
        if isinstance(value, list):
            return f"-D{name}:STRING={';'.join(value)}"
        return f"-D{name}:BOOL={'ON' if value else 'OFF'}"

    def define_from_variant(self, name, variant):
        assert variant in variants, f"there is no variant {variant}"
        return self.define(name, variant in self.spec.words)


class Cuda:
    pass


def module(name, **content):
    sys.modules[name] = types.ModuleType(name)
    vars(sys.modules[name]).update(content)


def recipe():
    variants["cuda"] = False  # CudaPackage's
    module("spack")
    module("spack.package", license=lambda name: None, version=lambda name, branch: None,
           variant=lambda name, default, description: variants.update({name: default}),
           depends_on=lambda spec, type="link", when="": dependencies.append((spec, when)))
    for name in ("spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems"):
        module(name)
    module("spack_repo.builtin.build_systems.cmake", CMakePackage=Package)
    module("spack_repo.builtin.build_systems.cuda", CudaPackage=Cuda)
    spec = importlib.util.spec_from_file_location("recipe", RECIPE)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded.Poise


def main():
    Poise = recipe()
    assert Poise.git == ROOT.as_uri(), f"the sources are said to be in {Poise.git}, not in {ROOT.as_uri()}"
    for _, when in dependencies:
        assert not when or when.lstrip("+") in variants, f"there is no variant {when}"
    names = [name for name in variants if name != "cuda"]
    package = Poise()
    for words in (names, []):
        package.spec = Spec(words)
        configure(package.cmake_args())
    package.spec = Spec(variants)
    arguments = package.cmake_args()
    for option in ("-DPOISE_CUDA:BOOL=ON", "-DCMAKE_CUDA_ARCHITECTURES:STRING=90"):
        assert option in arguments, f"with CUDA the arguments are {arguments}"


def configure(arguments):
    with tempfile.TemporaryDirectory() as build:
        command = [os.environ.get("CMAKE", "cmake"), "-S", ROOT, "-B", build, *arguments]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode or "not used by the project" in done.stdout:
            raise SystemExit(f"{done.stdout}\n{command}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: BSD-3-Clause
"""Solver, solve, options, errors, callbacks."""
import contextlib
import copy
import gc
import io
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import typing
import weakref

import numpy as np
import poise
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sl
from conftest import laplacian
from numpy.typing import NDArray
from poise import _library


def near(A, x, b, tolerance=1e-6):
    assert np.linalg.norm(b - A @ x) <= tolerance * np.linalg.norm(b)


def is_gone(reference):
    """Nothing refers to it any more. In early versions of 3.9, signal.signal leaves a cycle through the
    frames that called it: a look-up in an enum fails there."""
    if sys.version_info < (3, 10):
        gc.collect()
    return reference() is None


def run(code, **environment):
    """A Python of its own, with laplacian() and poise."""
    head = "import os, sys\nimport numpy as np, poise\nfrom conftest import laplacian\n"
    path = os.pathsep.join([os.path.dirname(__file__), *sys.path])
    quiet = "ignore::DeprecationWarning"  # of os.fork beside threads
    out = subprocess.run([sys.executable, "-W", quiet, "-c", head + code], capture_output=True, text=True,
                         env={**os.environ, "PYTHONPATH": path, **environment})
    assert out.returncode == 0 and out.stderr == "", out.stderr
    return out.stdout


def words_of(option):
    """The words that the library's help lists for an option."""
    text = _library.printed(lambda: _library.lib.PoiseOptionsHelp(_library.context()))
    line = next(line for line in text.splitlines() if line.split()[:1] == [f"-{option}"])
    return re.search(r": ([\w ]+) \(default", line)[1].split()


@pytest.mark.parametrize("said", [{}, {"OMP_WAIT_POLICY": "active"}, {"GOMP_SPINCOUNT": "77"}])
def test_waiting_threads(said):
    """Threads that wait soon sleep, unless the user says something else; the environment stays as it is."""
    names = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")
    free = {key: value for key, value in os.environ.items() if key not in names}
    code = "import os; b = dict(os.environ)\nimport poise; assert os.environ == b; print(poise.info())"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                         env={**free, "PYTHONPATH": os.pathsep.join(sys.path),
                              "OMP_DISPLAY_ENV": "verbose", **said})
    if "with OpenMP" not in out.stdout or "OMP_WAIT_POLICY" not in out.stderr:
        pytest.skip("OpenMP does not say what it has read")
    has = dict(re.findall(r"(\w+) ?= ?'?(\w+)", out.stderr))  # of the runtime, as it was loaded
    assert has["OMP_WAIT_POLICY"].lower() == said.get("OMP_WAIT_POLICY", "passive")
    if "GOMP_SPINCOUNT" in has and "OMP_WAIT_POLICY" not in said:
        assert has["GOMP_SPINCOUNT"] == said.get("GOMP_SPINCOUNT", "1000")


def test_auto(A, b):
    """Without a method poise.solve finds one, for any A; with a preconditioner it is gmres, as ever."""
    near(A, poise.solve(A, b, rtol=1e-8), b)
    wind = (A + sp.diags([0.5, -0.5], [0, 1], A.shape)).tocsr()
    near(wind, poise.solve(wind, b, rtol=1e-8), b)
    hollow = sp.bmat([[A, sp.identity(b.size)], [sp.identity(b.size), None]]).tocsr()
    both = np.concatenate([b, b])
    near(hollow, poise.solve(hollow, both, rtol=1e-8), both)
    near(A, poise.solve(A, b, pc="jacobi", rtol=1e-8, maxiter=5000), b)
    with poise.Solver(A, "auto") as solver:
        near(A, solver.solve(b), b, 1e-4)


@pytest.mark.parametrize("method", ["cg", "prcg", "bicgstab", "gmres", "fgmres", "minres"])
@pytest.mark.parametrize("pc", ["none", "jacobi"])
def test_methods(A, b, method, pc):
    near(A, poise.solve(A, b, method, pc=pc, rtol=1e-8, maxiter=5000), b)


@pytest.mark.parametrize("pc", ["ilu", "icc", "sor", "bjacobi", "lu", "pbjacobi"])
def test_preconditioners(A, b, pc):
    near(A, poise.solve(A, b, "gmres", pc=pc, rtol=1e-8), b)


def test_options(A, b):
    text = "-ksp_type cg -pc_type icc # a comment"
    with poise.Solver(A, options=text, ksp_rtol=1e-9) as solver:
        near(A, solver.solve(b), b, 1e-8)
        view = solver.view()
    assert "type cg" in view and "type icc" in view and "relative 1e-09" in view
    with poise.Solver(A, "cg", ksp_max_it=np.int64(2), error=False) as solver:  # an option overrides
        solver.solve(b)
        assert solver.iterations == 2 and solver.reason == "DIVERGED_ITS" and not solver.converged
    with poise.Solver(A, "cg", mat_type="seg", mat_seg_length=4) as solver:
        assert solver.A.type == "seg"
    with poise.Solver(A, pc="bjacobi", sub_pc_type="icc", pc_bjacobi_blocks=4) as solver:
        assert "icc" in (solver.solve(b), solver.view())[1]


@pytest.mark.parametrize(
    "arguments, words",
    [
        (dict(ksp_tpye="cg"), "did you mean ksp_type"),
        (dict(nonsense=1), "no option nonsense"),
        (dict(tol=1e-8), "did you mean rtol"),
        (dict(max_iter=8), "did you mean maxiter"),
        (dict(restart=50), "did you mean ksp_gmres_restart"),
        (dict(M="icc"), "did you mean pc"),
        (dict(device="host"), "poise.init"),
        (dict(options="-host_threads 1"), "poise.init"),
        (dict(log_view=":file"), "poise.init"),
        (dict(ksp_rtol="many"), "ksp_rtol"),
        (dict(ksp_max_it=-1), "ksp_max_it"),
        (dict(options="cg"), "neither an option"),
        (dict(method="conjugate"), "conjugate"),
        (dict(pc="magic"), "magic"),
        (dict(norm="big"), "norm is 'big'"),
        (dict(rtol=-1), "rtol"),
        (dict(maxiter=1.5), "maxiter is 1.5; it must be a whole number"),
        (dict(maxiter=float("inf")), "maxiter is inf"),
        (dict(rtol=float("nan")), "rtol"),
    ],
)
def test_wrong_settings(A, arguments, words):
    with pytest.raises(poise.InvalidArgument, match=words) as e:
        poise.Solver(A, **arguments)
    assert isinstance(e.value, ValueError)


def test_texts_that_are_no_numbers(A):
    for name in ("rtol", "atol", "maxiter"):
        with pytest.raises(TypeError, match=f"{name} is '1e-8', a str; it must be a number"):
            poise.Solver(A, **{name: "1e-8"})


def test_options_that_are_no_text(A):
    with pytest.raises(TypeError, match="options is a dict; it must be text"):
        poise.Solver(A, options={"ksp_type": "cg"})


@pytest.mark.parametrize("solve", [poise.solve, poise.cg, poise.bicgstab, poise.gmres, poise.Matrix])
def test_wrong_keywords(A, b, solve):
    arguments = (A,) if solve is poise.Matrix else (A, b)
    words = "no option tol" if solve is poise.Matrix else "did you mean rtol"
    with pytest.raises(poise.InvalidArgument, match=words):
        solve(*arguments, tol=1e-8)
    with pytest.raises(poise.InvalidArgument, match="poise.init"):
        solve(*arguments, device="host")


def test_options_of_scipys_functions(A, b):
    for method in (poise.cg, poise.bicgstab, poise.gmres):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            x, info = method(A, b, rtol=1e-9, M="amg", pc_amg_cycle="w", ksp_view=True)
        assert info == 0 and "W cycle" in out.getvalue()
        near(A, x, b, 1e-8)


@pytest.mark.parametrize("option, parameter", [("pc_type", "pc"), ("ksp_type", "method")])
def test_the_docstring_has_all_names(option, parameter):
    """Those of the library, but shell, which is a function."""
    words = re.search(rf"^    {parameter}\n((?:        .*\n)+)", poise.Solver.__doc__, re.M)[1]
    assert set(re.findall(r'``"(\w+)"``', words)) == set(words_of(option)) - {"shell"}


ARRAY = typing.get_origin(NDArray[np.float64])  # np.ndarray, or a name of it from NumPy 2.5 on


def test_the_type_of_x():
    """For editors and type checkers."""
    def result(function):
        return eval(function.__annotations__["return"], vars(sys.modules[function.__module__]))

    for function in (poise.solve, poise.Solver.solve):
        assert typing.get_origin(result(function)) is ARRAY
    for function in (poise.cg, poise.bicgstab, poise.gmres):
        x, info = typing.get_args(result(function))
        assert typing.get_origin(x) is ARRAY and info is int


def test_environment_overrides():
    out = run(
        "for more in ({}, {'ksp_rtol': 1e-3}, {'ksp_type': 'cg'}):\n"
        "    s = poise.Solver(laplacian(5), 'gmres', **more)\n"
        "    assert 'type minres' in s.view(), s.view()\n"
        "s.solve(np.ones(25))\n",
        POISE_OPTIONS="-ksp_type minres -ksp_monitor",
    )
    assert "0 KSP Residual norm" in out


def test_output_is_pythons(A, b, capsys):
    poise.solve(A, b, "cg", options="-ksp_monitor -ksp_converged_reason")
    out = capsys.readouterr().out
    assert "0 KSP Residual norm" in out and "CONVERGED_RTOL" in out
    assert "Poise" in poise.info()


def test_output_of_notebooks():
    """Where sys.stdout is an object of Python's alone, everything comes there and nothing to the process'."""
    out = run(
        "import contextlib, io\n"
        "text = sys.stdout = io.StringIO()\n"
        "poise.init('-poise_view')\n"
        "assert 'device: ' in text.getvalue()\n"
        "A, b = laplacian(6), np.ones(36)\n"
        "words = [('ksp_monitor', '0 KSP Residual'), ('ksp_view', 'type cg'), ('log_view', 'KSPSolve'),\n"
        "         ('ksp_converged_reason', 'CONVERGED_RTOL')]\n"
        "for option, word in words:\n"
        "    with contextlib.redirect_stdout(io.StringIO()) as here:\n"
        "        before = text.getvalue()\n"
        "        poise.solve(A, b, 'cg', options='-' + option)\n"
        "        assert word in here.getvalue(), option\n"
        "        assert text.getvalue() == before\n"
        "print(poise.info())\n"
        "assert text.getvalue().count('device: ') == 2\n"
        "with poise.Solver(A, log_view=True) as s:\n"
        "    s.solve(b); s.solve(b)\n"
        "    assert 'KSPSolve' not in text.getvalue()\n"
        "s.close()\n"
        "assert text.getvalue().count('KSPSolve') == 1\n"
    )
    assert out == ""


def same_bits():
    """GPUs add up several products of vectors in another order than one."""
    return "device: cuda" not in poise.info()


def same(x, y):
    if same_bits():
        np.testing.assert_array_equal(x, y)
    assert np.linalg.norm(x - y) <= 1e-6 * np.linalg.norm(y)


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("k", [0, 1, 3, 32, 70])
def test_many_right_hand_sides(A, k, order):
    """Each is solved as by itself, where it lies and in groups; and so is what is told of it."""
    B = np.asarray(np.random.default_rng(2).standard_normal((A.shape[0], k)), order=order)
    given = B.copy(order="K")
    B[:, k // 2:k // 2 + 1] *= 1e-3  # of another scale
    given[...] = B
    with poise.Solver(A, "cg", pc="icc", rtol=1e-9) as solver:
        X = solver.solve(B)
        systems, history = solver.systems, solver.history
        assert X.shape == B.shape and len(systems) == k and solver.converged
        np.testing.assert_array_equal(B, given)
        if k:
            assert solver.iterations == max(s.iterations for s in systems) == len(history) - 1
            assert solver.residual_norm == max(s.residual_norm for s in systems)
        for other in "CF":
            out = np.empty(B.shape, order=other)
            assert solver.solve(B, out=out) is out
            np.testing.assert_array_equal(out, X)
        for j in sorted({0, k // 2, k - 1} & set(range(k))):
            near(A, X[:, j], B[:, j])
            same(solver.solve(B[:, j]), X[:, j])
            assert systems[j].reason == solver.reason
            assert abs(systems[j].iterations - solver.iterations) <= 1
            if same_bits():
                np.testing.assert_array_equal(systems[j].history, solver.history)
                assert [s[:3] for s in solver.systems] == [systems[j][:3]]


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("k", [3, 35])
def test_many_guesses(A, k, order):
    """Guesses, results in place of b, and one that is x already."""
    B = np.asarray(np.random.default_rng(2).standard_normal((A.shape[0], k)), order=order)
    with poise.Solver(A, "cg", pc="jacobi", rtol=1e-9) as solver:
        X = solver.solve(B)
        most = solver.iterations
        guess = np.zeros_like(B)
        guess[:, k - 1] = X[:, k - 1]
        again = solver.solve(B, guess)
        assert solver.systems[k - 1].iterations <= 1 and solver.systems[0].iterations > most / 2
        near(A, again, B)
        here = B.copy(order="K")
        assert solver.solve(here, out=here) is here
        np.testing.assert_array_equal(here, X)


@pytest.mark.parametrize("method", ["cg", "gmres", "minres", "auto"])
def test_many_by_any_method(A, method):
    """Also one by one, where the method or a callback wants that; minres looks at b - A x between solves."""
    B = np.random.default_rng(2).standard_normal((A.shape[0], 3))
    with poise.Solver(A, method, rtol=1e-8) as solver:
        X = solver.solve(B)
        assert [s.converged for s in solver.systems] == [True] * 3
        for j in range(3):
            assert np.linalg.norm(B[:, j] - A @ X[:, j]) <= 1e-7 * np.linalg.norm(B[:, j])
        if method == "cg":
            seen = []
            again = solver.solve(B, callback=lambda i, norm: seen.append(i))
            same(again, X)
            assert seen == [i for s in solver.systems for i in range(s.iterations + 1)]
            with pytest.raises(ZeroDivisionError):
                solver.solve(B, callback=lambda i, norm: 1 / 0)
            near(A, solver.solve(B), B)


def test_many_errors(A):
    """Shapes are named; the first system that fails is named, and the others are solved."""
    B = np.random.default_rng(2).standard_normal((A.shape[0], 3))
    B[5, 1] = np.nan
    with poise.Solver(A, "cg", rtol=1e-9) as solver:
        with pytest.raises(poise.NotConverged, match="system 1: DIVERGED_NANORINF") as e:
            solver.solve(B)
        assert e.value.reason == "DIVERGED_NANORINF" and solver.reason == "DIVERGED_NANORINF"
        assert [s.converged for s in solver.systems] == [True, False, True] and not solver.converged
        for j in (0, 2):
            near(A, e.value.x[:, j], B[:, j])
        solver.solve(B[:, 0])
        assert solver.converged  # of the latest solve
        for b, x0, words in [
            (B[:-1], None, r"b has the shape \(399, 3\); A has 400 rows"),
            (B[:, :, None], None, r"b has the shape \(400, 3, 1\); A has 400 rows"),
            (B, B[:, :2], r"x0 has the shape \(400, 2\), x has \(400, 3\)"),
        ]:
            with pytest.raises(poise.InvalidArgument, match=words):
                solver.solve(b, x0)
        with pytest.raises(ValueError, match=r"out must be contiguous float64 of shape \(400, 3\)"):
            solver.solve(B, out=np.empty((400, 2)))


def test_out(A, b):
    with poise.Solver(A, "cg", rtol=1e-9) as solver:
        expected = solver.solve(b)
        x = b.copy()
        assert solver.solve(x, out=x) is x  # in place
        np.testing.assert_array_equal(x, expected)
        solver.solve(b, x, out=x)
        assert solver.iterations <= 1
        for bad in (np.empty(3), np.empty(b.size, np.float32), np.empty(2 * b.size)[::2]):
            with pytest.raises(ValueError):
                solver.solve(b, out=bad)
        with pytest.raises(TypeError):
            solver.solve(b, out=[0.0] * b.size)
        locked = np.empty(b.size)
        locked.flags.writeable = False
        with pytest.raises(ValueError, match="read-only"):
            solver.solve(b, out=locked)


def test_new_values(A, b):
    with poise.Solver(A, "cg", pc="icc", rtol=1e-10) as solver:
        x = solver.solve(b)
        first = solver.iterations
        A.data *= 2  # where they are
        solver.update()
        np.testing.assert_allclose(solver.solve(b), x / 2, rtol=1e-7)
        assert solver.iterations == first
        values = A.data.copy()
        B = A.copy()
        B.data *= 2
        solver.update(B)
        np.testing.assert_allclose(solver.solve(b), x / 4, rtol=1e-7)
        B.data *= 2
        solver.update(B)
        np.testing.assert_allclose(solver.solve(b), x / 8, rtol=1e-7)
        np.testing.assert_array_equal(A.data, values)  # the user's own values stay
        other = laplacian(20) + sp.diags(np.full(399, 1e-3), 1) + sp.diags(np.full(399, 1e-3), -1)
        solver.update(other.tocsr())  # another pattern
        near(other, solver.solve(b), b, 1e-8)
        with pytest.raises(poise.InvalidArgument, match="shape"):
            solver.update(laplacian(5))


def test_shared_matrix(A, b):
    with poise.Matrix(A, type="csri") as M:
        with poise.Solver(M, "cg", rtol=1e-9) as one, poise.Solver(M, "gmres", pc="ilu", rtol=1e-9) as two:
            np.testing.assert_allclose(one.solve(b), two.solve(b), rtol=1e-5)
            M.update(3 * A)
            np.testing.assert_allclose(one.solve(b), two.solve(b), rtol=1e-5)
            near(3 * A, one.solve(b), b)
        with pytest.raises(poise.InvalidArgument, match="poise.Matrix"):
            poise.Solver(M, mat_type="csr")


@pytest.mark.parametrize("shape", [(40, 12), (12, 40), (20, 20), (30, 1), (1, 30)])
@pytest.mark.parametrize("method", ["lsqr", "cgls"])
@pytest.mark.parametrize("kind", ["csr", "dense", "operator"])
def test_least_squares(shape, method, kind):
    rng = np.random.default_rng(4)
    D = rng.standard_normal(shape)
    A = {"csr": sp.csr_matrix, "dense": np.asarray, "operator": sl.aslinearoperator}[kind](D)
    for right in ((shape[0],), (shape[0], 1), (shape[0], 3)):
        for order in "CF":
            b = np.array(rng.standard_normal(right), order=order)
            expected = np.linalg.lstsq(D, b, rcond=None)[0]
            with poise.Solver(A, method, rtol=1e-12, maxiter=5000) as solver:
                x = solver.solve(b)
                assert x.shape == expected.shape
                np.testing.assert_allclose(x, expected, atol=1e-8)
                out = np.array(np.zeros(expected.shape), order=order)
                assert solver.solve(b, x, out=out) is out
                np.testing.assert_allclose(out, expected, atol=1e-8)


def test_least_squares_are_of_two_methods():
    D = sp.csr_matrix(np.random.default_rng(4).standard_normal((8, 5)))
    with pytest.raises(poise.InvalidArgument, match=r"\(8, 5\); it must be square, but for lsqr and cgls"):
        poise.Solver(D, "gmres")
    with pytest.raises(poise.InvalidArgument, match="it must be square"):
        poise.Solver(D)
    with poise.Solver(D, options="-ksp_type lsqr -pc_type jacobi", rtol=1e-10) as solver:
        assert solver.solve(np.ones(8)).shape == (5,) and solver.precondition(np.ones(5)).shape == (5,)
        assert solver.aslinearoperator().shape == (5, 8) and solver.aspreconditioner().shape == (5, 5)
        for b, x0, words in ((np.ones(5), None, r"b has the shape \(5,\); A has 8 rows"),
                             (np.ones(8), np.ones(8), r"x0 has the shape \(8,\), x has \(5,\)")):
            with pytest.raises(poise.InvalidArgument, match=words):
                solver.solve(b, x0)
        with pytest.raises(poise.NotSupported, match=r"make a solver of A\^T"):
            solver.solve_transpose(np.ones(5))


def test_null_spaces():
    n = 30
    A = sp.diags([-np.ones(n - 1), np.r_[1.0, np.full(n - 2, 2.0), 1.0], -np.ones(n - 1)], [-1, 0, 1]).tocsr()
    b = np.arange(n) - (n - 1) / 2
    for space in ("constant", np.full((n, 1), 5.0)):
        with poise.Solver(A, "cg", rtol=1e-10, null_space=space) as solver:
            x = solver.solve(b)
            near(A, x, b)
            assert abs(x.sum()) < 1e-8
    modes = np.c_[np.ones(n), np.arange(n)]
    with poise.Matrix(A, near_null_space=modes) as M:
        assert "near-null space of 2 vectors" in M.view()
    with pytest.raises(poise.InvalidArgument):
        poise.Matrix(A, null_space=np.ones(n + 1))


def test_coordinates():
    """A chain of springs in the plane: cg + amg takes rigid motions from the places of its nodes."""
    n = 40
    A = sp.diags([-np.ones(n - 2), np.full(n, 2.5), -np.ones(n - 2)], [-2, 0, 2]).tocsr()
    places = np.c_[np.arange(n // 2), np.arange(n // 2) % 3]
    with poise.Matrix(A, coordinates=places) as M:
        assert "near-null space of 3 vectors" in M.view()
        M.update(sp.csr_matrix(np.diag(np.arange(1.0, n + 1))))  # another pattern: a new matrix inside
        assert "near-null space of 3 vectors" in M.view()
        M.set_near_null_space(None)
        assert "near-null space" not in M.view()
    with poise.Solver(A, "cg", pc="amg", rtol=1e-10, coordinates=places) as solver:
        near(A, solver.solve(np.ones(n)), np.ones(n))
    with poise.Matrix(A, coordinates=np.zeros((n, 2))) as M:
        assert "near-null space" not in M.view()
    with pytest.raises(poise.InvalidArgument, match="nodes, dimension"):
        poise.Matrix(A, coordinates=np.ones(n))
    with pytest.raises(poise.PoiseError, match="19 nodes"):
        poise.Matrix(A, coordinates=places[1:])


def test_history_and_monitor(A, b):
    seen = []
    with poise.Solver(A, "cg", rtol=1e-6) as solver:
        solver.solve(b, callback=lambda i, norm: seen.append((i, norm)))
        assert [i for i, _ in seen] == list(range(solver.iterations + 1))
        np.testing.assert_array_equal([n for _, n in seen], solver.history)
        assert solver.history[-1] == solver.residual_norm
        solver.solve(b)  # without: the former is not called
        assert len(seen) == solver.iterations + 1

        def callback(*_):
            pass

        solver.solve(b, callback=callback)
        kept = weakref.ref(callback)
        del callback
        assert is_gone(kept)


@pytest.mark.parametrize(
    "rows, kind", [(100, "operator"), (100, "matrix"), (1024, "matrix"), (22500, "matrix")]
)
def test_interrupt(rows, kind):
    """Ctrl-C ends a solve that would take hours, wherever it comes in, with callbacks and without."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored in the background
    A = laplacian(int(rows**0.5))
    operator = A if kind == "matrix" else sl.aslinearoperator(A)
    for wait in (0.05, 0.1, 0.15):
        timer = threading.Timer(wait, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        try:
            with pytest.raises(KeyboardInterrupt):
                poise.solve(operator, np.ones(A.shape[0]), "richardson", ksp_richardson_scale=1e-12,
                            maxiter=10**9)
        finally:
            timer.cancel()
            timer.join()
    assert signal.signal(signal.SIGINT, before) is signal.default_int_handler


def test_not_converged_in_a_callback(A, b):
    """The error of a solve inside is not taken for that of the solve outside."""
    def inside(*_):
        poise.solve(A, b, "cg", maxiter=1)

    for error in (True, False):
        with poise.Solver(A, "cg", error=error) as solver:
            with pytest.raises(poise.NotConverged, match="after 1 iterations"):
                solver.solve(b, callback=inside)
    with pytest.raises(poise.NotConverged, match="after 2 iterations") as e:
        poise.solve(A, b, "cg", maxiter=2, ksp_error_if_not_converged=True)
    assert e.value.x is not None


def test_caught_in_a_callback(A, b):
    """A callback may catch what comes out of its own calls."""
    caught = []

    def fail(*_):
        raise Mine()

    def inside(i, norm):
        try:
            poise.solve(A, b, "cg", callback=fail)
        except Mine as error:
            caught.append(error)

    with poise.Solver(A, "cg") as solver:
        solver.solve(b, callback=inside)
        assert len(caught) == solver.iterations + 1


class Mine(Exception):
    pass


class Collecting(Exception):
    def __str__(self):
        gc.collect()
        return "garbage is collected in the callback that has raised this"


def test_exceptions_beside_garbage(A, b):
    """An object that is collected behind an exception, and destroyed by a call, does not take it."""
    def fail(*_):
        garbage = [poise.Matrix(A)]
        garbage.append(garbage)
        gone.append(weakref.ref(garbage[0]))
        del garbage
        raise Collecting()

    gone = []
    with poise.Solver(A, "cg") as solver, pytest.raises(Collecting):
        gc.disable()
        try:
            solver.solve(b, callback=fail)
        finally:
            gc.enable()
    assert gone[0]() is None


@pytest.mark.parametrize("error", [Mine("%s 100 %"), KeyboardInterrupt(), SystemExit(3)])
def test_exceptions_come_back(A, b, error):
    def fail(*_):
        raise error

    with poise.Solver(A, "cg") as solver:
        with pytest.raises(type(error)) as e:
            solver.solve(b, callback=fail)
        assert e.value is error
        near(A, solver.solve(b), b, 1e-4)  # goes on

    class Operator:
        shape, matvec = A.shape, fail

    with pytest.raises(type(error)):
        poise.cg(Operator(), b)
    with pytest.raises(type(error)):
        poise.solve(A, b, "cg", pc=fail)
    near(A, poise.solve(A, b, "cg"), b, 1e-4)


def test_no_call_behind_an_exception(A, b):
    """The library may go on for a moment, without the user's function."""
    calls = []

    class Operator:
        shape = A.shape

        def matvec(self, x):
            calls.append(1)
            raise Mine()

    for method in (poise.cg, poise.gmres, poise.bicgstab):
        calls.clear()
        with pytest.raises(Mine):
            method(Operator(), b)
        assert len(calls) == 1


def test_what_functions_return(A, b):
    class Operator:
        shape = A.shape

        def __init__(self, result):
            self.result = result

        def matvec(self, x):
            return self.result

    with pytest.raises(ValueError, match="entries"):
        poise.cg(Operator(np.ones(3)), b)
    with pytest.raises(TypeError, match="complex"):
        poise.cg(Operator(1j * b), b)
    with pytest.raises(TypeError):
        poise.cg(Operator("text"), b)
    with pytest.raises(poise.NotConverged, match="NANORINF"):
        poise.solve(Operator(np.full(b.size, np.nan)), b, "cg")


def test_a_callback_cannot_break_its_solver(A, b):
    with poise.Solver(A, "cg") as solver:
        for wrong in (lambda: solver.solve(b), solver.close, solver.update, lambda: solver.precondition(b)):
            with pytest.raises(poise.CallOrder):
                solver.solve(b, callback=lambda *_: wrong())
        inner = []
        solver.solve(b, callback=lambda i, n: inner.append(poise.solve(A, b, "gmres")) if i < 2 else None)
        assert len(inner) == 2
        with pytest.raises(poise.CallOrder):
            solver.iterate()


def test_not_converged(A, b):
    with pytest.raises(poise.NotConverged, match="DIVERGED_ITS after 2 iterations") as e:
        poise.solve(A, b, "cg", maxiter=2)
    assert e.value.iterations == 2 and e.value.x.shape == b.shape and e.value.residual_norm > 0


def test_librarys_words():
    A = sp.csr_matrix(np.array([[1.0, 2.0], [3.0, 0.0]]))
    with pytest.raises(poise.NumericError, match="numerically impossible: .*row 1") as e:
        poise.solve(A, np.ones(2), pc="jacobi")
    assert "at poiseKSPSolve (" in e.value.trace and e.value.code == 9


def test_closed(A, b):
    solver = poise.Solver(A)
    solver.close()
    solver.close()
    with pytest.raises(poise.CallOrder, match="closed"):
        solver.solve(b)
    assert "closed" in repr(solver)


def test_lifetimes(b):
    """The user deletes what was lent while a solver lives."""
    A = laplacian(20)
    solver = poise.Solver(A, "cg", pc="icc", rtol=1e-9)
    reference = laplacian(20)
    del A
    gc.collect()
    junk = [np.full(5000, np.nan) for _ in range(50)]
    near(reference, solver.solve(b.copy()), b)
    gone = weakref.ref(solver)
    solver.solve(b, callback=lambda *_: None)
    del solver, junk
    assert is_gone(gone)  # no cycles: matrices are large


def test_threads(A):
    """Calls of several threads take turns."""
    n = A.shape[0]
    solver = poise.Solver(A, "cg", rtol=1e-9)
    failures = []

    def work(seed):
        try:
            b = np.random.default_rng(seed).standard_normal(n)
            for _ in range(5):
                near(A, solver.solve(b, callback=lambda *_: None), b)
                near(A, poise.cg(A, b, rtol=1e-8)[0], b)
                with pytest.raises(Mine):
                    solver.solve(b, callback=lambda *_: (_ for _ in ()).throw(Mine()))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures
    solver.close()


def test_gil_is_released():
    """Another thread runs while the library works."""
    A = laplacian(250)
    count, stop = [0], threading.Event()

    def tick():
        while not stop.wait(0.001):
            count[0] += 1

    thread = threading.Thread(target=tick)
    thread.start()
    before = count[0]
    with poise.Solver(A, "cg", rtol=1e-30, maxiter=100, error=False) as solver:
        solver._watched = True  # no visits to Python in between
        solver.solve(np.ones(A.shape[0]))
    ticks = count[0] - before
    stop.set()
    thread.join()
    assert ticks > 0


def test_fork():
    run(
        "A = laplacian(5); b = np.ones(25)\n"
        "poise.solve(A, b, 'cg')\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    try: poise.solve(A, b, 'cg')\n"
        "    except poise.CallOrder as e: os._exit(7 if 'forked' in str(e) and 'spawn' in str(e) else 2)\n"
        "    os._exit(1)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7\n"
    )


def test_objects_are_not_copied(A, b):
    """The library's objects belong to one object of Python in one process: no copy may destroy them."""
    with poise.Matrix(A) as M, poise.Solver(M, "cg", pc="icc", rtol=1e-9) as solver:
        things = [M, solver, solver.solve, [solver], solver.aspreconditioner(), M.aslinearoperator()]
        for thing in things:
            with pytest.raises(TypeError, match="make another poise.(Matrix|Solver)"):
                copy.deepcopy(thing)
            for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
                with pytest.raises(TypeError, match="make another poise.(Matrix|Solver)"):
                    pickle.dumps(thing, protocol)
        for thing in (M, solver):
            with pytest.raises(TypeError, match="make another"):
                copy.copy(thing)
        gc.collect()
        near(A, solver.solve(b), b)


def test_errors_are_copied(A, b):
    """Processes send them."""
    with pytest.raises(poise.NotConverged) as e:
        poise.solve(A, b, "cg", maxiter=2)
    for error in (pickle.loads(pickle.dumps(e.value)), copy.deepcopy(e.value)):
        assert type(error) is poise.NotConverged and str(error) == str(e.value)
        assert error.iterations == 2 and error.reason == "DIVERGED_ITS"
        np.testing.assert_array_equal(error.x, e.value.x)


def test_the_end_of_the_process():
    """What still lives is released, the log is written, and nothing is complained about."""
    out = run(
        "poise.init('-log_view')\n"
        "s = poise.Solver(laplacian(5), 'cg', ksp_gmres_restart=3); s.solve(np.ones(25))\n"
        "m = poise.Matrix(laplacian(3))\n"
    )
    assert "KSPSolve" in out


def test_keys_are_the_librarys():
    from poise import _declarations, _library

    here = _library.context()
    words = _library.printed(lambda: _library.lib.PoiseOptionsHelp(here)).replace("\n", " ").split()
    assert {word[1:] for word in words if word[0] == "-" and word[1:] in _declarations.OPTIONS} == \
        _declarations.OPTIONS


def test_wrong_init():
    run(
        "for call in (lambda: poise.init('-nonsense 1'), lambda: poise.init(device='toaster')):\n"
        "    try: call()\n"
        "    except poise.InvalidArgument as e: print(e)\n"
        "    else: raise AssertionError\n"
        "assert poise.cg(laplacian(4), np.ones(16))[1] == 0\n"  # a later one is not hindered
    )


def test_one_context(A):
    poise.Matrix(A)
    with pytest.raises(poise.CallOrder, match="already"):
        poise.init()


@pytest.mark.parametrize("device", ["host", "mock"])
def test_device(device):
    """On the mock of a GPU arrays are moved; callbacks of iterates need loops that are not replayed."""
    run(
        f"poise.init('-host_threads 1', device='{device}')\n"
        f"assert 'device: {device}' in poise.info(), poise.info()\n"
        "A = laplacian(10); b = np.ones(100); xs = []\n"
        "x, info = poise.cg(A, b, rtol=1e-8, callback=xs.append)\n"
        "assert info == 0 and np.abs(A @ x - b).max() < 1e-6 and np.abs(xs[-1] - x).max() < 1e-12\n"
        "s = poise.Solver(A, 'cg', pc='icc', rtol=1e-9); s.solve(b); A.data *= 2; s.update()\n"
        "assert np.abs(A @ s.solve(b) - b).max() < 1e-6\n"
        "import warnings; warnings.simplefilter('ignore')\n"
        "def rebind(A): A.data = A.data * 2\n"
        "def new(A): A[0, 17] = A[17, 0] = 0.5\n"
        "for change in (rebind, rebind, new, rebind):\n"
        "    change(A); s.update()\n"
        "    assert np.abs(A @ s.solve(b) - b).max() < 1e-6\n"
        "A = A.tocoo(); s.update(A); A.data = A.data * 2; s.update()\n"
        "assert np.abs(A @ s.solve(b) - b).max() < 1e-6\n"
    )


@pytest.mark.parametrize("method, pc", [("gmres", "ilu"), ("bicgstab", "amg"), ("fgmres", "none"),
                                        ("cg", "icc"), ("minres", "jacobi"), ("preonly", "lu")])
def test_solve_transpose(A, convection, method, pc):
    C = A if method in ("cg", "minres") else convection
    B = np.random.default_rng(4).standard_normal((C.shape[0], 3))
    with poise.Solver(C, method, pc=pc, rtol=1e-9) as solver:
        for b in (B[:, 0], B, np.asfortranarray(B)):
            x = solver.solve_transpose(b)
            assert x.shape == b.shape and solver.converged
            assert np.linalg.norm(b - C.T @ x) <= 2e-9 * np.linalg.norm(b)
            assert np.linalg.norm(b - C @ solver.solve(b)) <= 2e-9 * np.linalg.norm(b)
        if method != "preonly":
            assert solver.solve_transpose(b, x).shape == b.shape and solver.iterations <= 1
        C.data *= 2
        solver.update()
        inverse = solver.aslinearoperator()
        y = inverse.rmatvec(B[:, 0])
        np.testing.assert_allclose(C.T @ y, B[:, 0], atol=1e-7)
        np.testing.assert_allclose(B[:, 1] @ y, inverse.matvec(B[:, 1]) @ B[:, 0], rtol=1e-6)


def test_solve_transpose_is_refused(convection):
    b = np.ones(convection.shape[0])
    with pytest.raises(poise.NotSupported, match="shell"):
        poise.Solver(convection, pc=lambda r: r).solve_transpose(b)
    with pytest.raises(poise.NotSupported, match="norm='default'"):
        poise.Solver(convection, side="left").solve_transpose(b)

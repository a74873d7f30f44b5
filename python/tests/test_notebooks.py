# SPDX-License-Identifier: BSD-3-Clause
"""The notebooks in docs/notebooks: what they assert holds, and they are kept without outputs."""
import json
import pathlib

import pytest

NOTEBOOKS = sorted((pathlib.Path(__file__).resolve().parents[2] / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.filterwarnings("ignore::poise.CopyWarning")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(path, monkeypatch):
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    code = "\n\n".join("".join(cell["source"]) for cell in cells)
    assert "assert " in code
    assert not any(cell["outputs"] or cell["execution_count"] for cell in cells)
    if "import torch" in code:
        pytest.importorskip("torch")
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    monkeypatch.setattr(plt, "show", lambda: plt.close("all"))
    exec(compile(code, str(path), "exec"), {"__name__": "__main__"})


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 3

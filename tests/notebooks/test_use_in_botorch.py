"""The notebook use_in_botorch at its smallest, through the headless runner; and that it imports public names only."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import kernaut
from kernaut.plugins import bundled
from kernaut.runs.notebook import run_notebook

NOTEBOOK = bundled("notebooks", "use_in_botorch.ipynb")
MODULES = {"kernaut.runs.headless"}
"""Modules with public names of their own (docs/python-api.md) that it uses."""


def test_a_loop_with_an_exported_kernel_finds_better_points(tmp_path: Path) -> None:
    result = run_notebook(NOTEBOOK, {"steps": 2, "initial": 5, "seed": 3}, workspace=tmp_path)
    assert result.report["best"][-1] > result.report["best"][0]
    assert result.report["largest_difference"] < 1e-9
    module = result.directory / result.report["files"]["module"]
    assert "import kernaut" not in module.read_text(encoding="utf-8")
    assert (result.directory / "optimization.png").stat().st_size > 5_000


def test_it_imports_public_names_only() -> None:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    found = set()
    for cell in cells:
        if cell["cell_type"] == "code":
            for node in ast.walk(ast.parse("".join(cell["source"]))):
                if isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] == "kernaut":
                    found |= {(str(node.module), alias.name) for alias in node.names}
    assert found
    for module, name in found:
        assert module in MODULES or (module == "kernaut" and name in kernaut.__all__), (module, name)

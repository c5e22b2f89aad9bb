"""The notebook use_in_botorch at its smallest, through the headless runner."""

from __future__ import annotations

from pathlib import Path

from kernaut.plugins import bundled
from kernaut.runs.notebook import run_notebook
from tests.notebooks.executed import outputs_of

NOTEBOOK = bundled("notebooks", "use_in_botorch.ipynb")


def test_a_loop_with_an_exported_kernel_finds_better_points(tmp_path: Path) -> None:
    result = run_notebook(NOTEBOOK, {"steps": 2, "initial": 5, "seed": 3}, workspace=tmp_path)
    assert result.report["best"][-1] > result.report["best"][0]
    assert result.report["largest_difference"] < 1e-9
    module = result.directory / result.report["files"]["module"]
    assert "import kernaut" not in module.read_text(encoding="utf-8")
    assert (result.directory / "optimization.png").stat().st_size > 5_000
    assert any("image/png" in output.get("data", {}) for output in outputs_of(result.notebook))

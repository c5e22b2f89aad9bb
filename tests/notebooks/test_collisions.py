"""The collisions notebook as it comes, through the headless runner."""

from __future__ import annotations

from pathlib import Path

import nbformat

from kernaut.plugins import bundled
from kernaut.runs.notebook import run_notebook


def test_a_collision_is_shown_and_split(tmp_path: Path) -> None:
    result = run_notebook(bundled("notebooks", "collisions.ipynb"), {"calls": 3, "size": 8}, workspace=tmp_path)
    report = result.report
    assert report["candidates"].startswith("Candidates were made by mutating")
    assert report["first_collision"]["signature"] == ""
    assert report["first_collision"]["correct"]
    assert len(report["sizes"]) == 1 + len(report["admitted"])
    book = nbformat.read(result.notebook, as_version=4)
    outputs = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    assert not [output for output in outputs if output.output_type == "error" or output.get("name") == "stderr"]
    assert any("signature class" in str(output.get("data", {}).get("text/plain", "")) for output in outputs)
    assert any("data:image/png" in str(output.get("data", {}).get("text/html", "")) for output in outputs)

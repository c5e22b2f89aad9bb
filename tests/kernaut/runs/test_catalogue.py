from __future__ import annotations

from pathlib import Path

from kernaut.plugins import bundled
from kernaut.runs.catalogue import notebook_catalogue


def test_every_bundled_notebook_has_a_title_and_parameters(tmp_path: Path) -> None:
    found = {entry.name: entry for entry in notebook_catalogue(tmp_path)}
    assert set(found) == {path.stem for path in bundled("notebooks").glob("*.ipynb")}
    assert found["discover"].title == "Discover a kernel"
    assert found["discover"].parameters["runs"] == 12

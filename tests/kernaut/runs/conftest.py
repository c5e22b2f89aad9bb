"""Small notebooks made on the spot."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

MakeNotebook = Callable[..., Path]


@pytest.fixture
def make_notebook(tmp_path: Path) -> MakeNotebook:
    def make(*cells: str, parameters: str | None = "steps = 3", name: str = "tiny") -> Path:
        notebook = nbformat.v4.new_notebook()
        if parameters is not None:
            notebook.cells.append(nbformat.v4.new_code_cell(parameters, metadata={"tags": ["parameters"]}))
        notebook.cells += [nbformat.v4.new_code_cell(source) for source in cells]
        folder = tmp_path / "notebooks"
        folder.mkdir(exist_ok=True)
        nbformat.write(notebook, folder / f"{name}.ipynb")
        return folder / f"{name}.ipynb"

    return make

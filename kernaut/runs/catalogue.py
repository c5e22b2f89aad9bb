"""The notebooks there are: those of the workspace, else the bundled ones, with their titles and parameters."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernaut.errors import InputError
from kernaut.plugins import bundled
from kernaut.runs.parameters import notebook_parameters


@dataclass(frozen=True)
class CatalogueEntry:
    """One notebook.

    Args:
        name: its name.
        path: its file.
        title: its first heading.
        parameters: defaults by name.
    """

    name: str
    path: Path
    title: str
    parameters: Mapping[str, Any]


def notebook_catalogue(workspace: Path) -> list[CatalogueEntry]:
    """Every notebook that a run by name would find, by name.

    Raises:
        NotebookInputError: for a notebook without exactly one usable parameters cell.
    """
    found: dict[str, Path] = {}
    with suppress(InputError):
        found |= {path.stem: path for path in bundled("notebooks").glob("*.ipynb")}
    found |= {path.stem: path for path in (workspace / "notebooks").glob("*.ipynb")}
    return [CatalogueEntry(name, path, _title(path), notebook_parameters(path)) for name, path in sorted(found.items())]


def _title(path: Path) -> str:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    lines = "".join("".join(cell["source"]) + "\n" for cell in cells if cell["cell_type"] == "markdown").splitlines()
    return next((line.lstrip("# ") for line in lines if line.startswith("#")), path.stem)

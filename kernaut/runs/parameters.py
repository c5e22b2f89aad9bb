"""A notebook's parameters: read from its one ``parameters`` cell, matched against given values before anything runs.

The cell holds plain literals only, so that the type of each default is the type of the parameter.  papermill would turn tuples and
numpy numbers into text and only warn about unknown names; here both are refused.
"""

from __future__ import annotations

import ast
import difflib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernaut.digest import require_json
from kernaut.errors import InputError
from kernaut.runs.failures import NotebookInputError

TAG = "parameters"


def notebook_parameters(path: Path) -> dict[str, Any]:
    """Defaults by name, in the order of the notebook's ``parameters`` cell.

    Raises:
        NotebookInputError: when the file is no notebook, or has not exactly one parameters cell of plain literals.
    """
    cells = [cell for cell in _cells(path) if cell["cell_type"] == "code" and TAG in cell["metadata"].get("tags", [])]
    if len(cells) != 1:
        raise NotebookInputError(
            f"Expected exactly one code cell tagged {TAG!r} in {path.name}. Got {len(cells)}.",
            hint="Tag the cell with the defaults in JupyterLab's property inspector.",
        )
    return _literals("".join(cells[0]["source"]), path.name)


def match_parameters(defaults: Mapping[str, Any], given: Mapping[str, Any], where: str) -> dict[str, Any]:
    """All parameters of a run: the defaults, replaced by given values in the types of the defaults.

    Text stands for a value of the default's type (``"12"``, ``"true"``, ``"[1, 2]"``), as it comes from a command line.  A default
    of None takes any JSON value; text for it is read as JSON where it is JSON, ``none`` as None, and as text otherwise.

    Raises:
        NotebookInputError: for an unknown name (the nearest one is suggested) or a value of another type.
    """
    unknown = [name for name in given if name not in defaults]
    if unknown:
        near = difflib.get_close_matches(unknown[0], defaults, n=1)
        raise NotebookInputError(
            f"Expected parameters of {where}: {', '.join(defaults) or '(none)'}. Got {', '.join(map(repr, unknown))}.",
            hint=f"Did you mean {near[0]!r}?" if near else None,
        )
    return {
        name: _coerce(name, given[name], default) if name in given else default for name, default in defaults.items()
    }


def _cells(path: Path) -> list[Any]:
    """The cells of an nbformat 4 file. Read as plain JSON: importing nbformat takes seconds where jsonschema has all its formats."""
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise NotebookInputError(f"Expected a notebook at {path}. Got: {error.strerror}.") from error
    except ValueError as error:
        raise NotebookInputError(f"Expected a notebook at {path}. Got: {error}.") from error
    if not isinstance(notebook, dict) or notebook.get("nbformat") != 4 or not isinstance(notebook.get("cells"), list):
        raise NotebookInputError(f"Expected a notebook of format 4 at {path}. Got other JSON.")
    cells: list[Any] = notebook["cells"]
    if not all(isinstance(cell, dict) and {"cell_type", "metadata", "source"} <= set(cell) for cell in cells):
        raise NotebookInputError(f"Expected cells with type, metadata and source in {path}. Got others.")
    return cells


def _literals(source: str, where: str) -> dict[str, Any]:
    try:
        statements = ast.parse(source).body
    except SyntaxError as error:
        raise NotebookInputError(
            f"Expected Python in the {TAG} cell of {where}. Got: {error.msg}, line {error.lineno}."
        ) from error
    found: dict[str, Any] = {}
    for statement in statements:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue  # a docstring
        target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
        if isinstance(statement, ast.AnnAssign):
            target = statement.target
        value = getattr(statement, "value", None)
        if not isinstance(target, ast.Name) or value is None:
            raise _no_literal(where, statement)
        try:
            found[target.id] = ast.literal_eval(value)
            if isinstance(found[target.id], (tuple, set, bytes)):
                raise _no_literal(where, statement)
            require_json(found[target.id], f"parameter {target.id}")
        except (ValueError, InputError) as error:
            raise _no_literal(where, statement) from error
    return found


def _no_literal(where: str, statement: ast.stmt) -> NotebookInputError:
    return NotebookInputError(
        f"Expected assignments of plain JSON literals in the {TAG} cell of {where}. Got line {statement.lineno}: "
        f"{ast.unparse(statement)}.",
        hint="Use numbers, text, True, False, None, lists and dictionaries; compute in the next cell.",
    )


def _coerce(name: str, value: Any, default: Any) -> Any:
    if isinstance(value, tuple):
        value = list(value)
    try:
        if isinstance(value, str) and not isinstance(default, str):
            value = _from_text(value)
        require_json(value, name)
    except InputError as error:
        raise NotebookInputError(error.message) from error
    if default is None:
        return value
    matched: Any
    if isinstance(default, bool):
        matched = value if isinstance(value, bool) else None
    elif isinstance(default, int):
        matched = _whole(value)
    elif isinstance(default, float):
        finite = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        matched = float(value) if finite else None
    else:
        matched = value if isinstance(value, type(default)) else None
    if matched is None:
        raise NotebookInputError(
            f"Expected parameter {name!r} to be of type {type(default).__name__}, like its default {default!r}. Got {value!r}."
        )
    return matched


def _whole(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if isinstance(value, int) or value.is_integer() else None


def _from_text(text: str) -> Any:
    """The JSON value that a text stands for, or the text itself; Python's spellings of true, false and null are known too."""
    spelled = {"true": True, "false": False, "none": None, "null": None}
    if text.strip().lower() in spelled:
        return spelled[text.strip().lower()]
    try:
        return json.loads(text)
    except ValueError:
        return text

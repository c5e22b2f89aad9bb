"""Files of a user's table as columns of cells: JSON ``{"x": [[...], ...], "y": [...]}``, CSV with a header row, Parquet.

Cells come as they are written (numbers, text, dates, None); whether they can be used is decided in :mod:`kernaut.episodes.table_cleaning`.  Rows are numbered
from 1, the header not counted.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from kernaut.digest import loads_finite
from kernaut.errors import InputError

Cells: TypeAlias = dict[str, list[Any]]
"""Columns of equal length by name, in the file's order."""

SUFFIXES = (".json", ".csv", ".parquet")


def read_cells(file: Path, target: str | None) -> tuple[Cells, str]:
    """Read a file.

    Args:
        file: its suffix says what it is.
        target: the target column; None for JSON, whose target is ``y``.

    Returns:
        All columns, and the target's name.

    Raises:
        InputError: when the file cannot be read, has rows of unequal length, or lacks the target.
    """
    suffix = file.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"Expected a table in a {', '.join(SUFFIXES)} file. Got {file}.")
    if suffix == ".json":
        if target is not None and target != "y":
            raise InputError(f"Expected no target column for a JSON table, whose target is y. Got {target!r}.")
        return _from_json(loads_finite(_text(file), str(file)), str(file)), "y"
    cells = _from_csv(_text(file), str(file)) if suffix == ".csv" else _from_parquet(file)
    if target is None or target not in cells:
        raise InputError(
            f"Expected a target column of {', '.join(cells) or '(an empty file)'} in {file}. Got {target!r}.",
            hint="Name it with --target.",
        )
    return cells, target


def read_inputs(file: Path) -> Cells:
    """The columns of a file of new inputs: CSV, Parquet, or JSON with the key ``x`` (``y``, where present, is passed over).

    Raises:
        InputError: when the file cannot be read or has rows of unequal length.
    """
    suffix = file.suffix.lower()
    if suffix == ".json":
        record = loads_finite(_text(file), str(file))
        if isinstance(record, Mapping) and set(record) == {"x"} and isinstance(record["x"], Sequence):
            record = {"x": record["x"], "y": [0.0] * len(record["x"])}
        cells = _from_json(record, str(file))
        del cells["y"]
        return cells
    if suffix not in SUFFIXES:
        raise InputError(f"Expected a table in a {', '.join(SUFFIXES)} file. Got {file}.")
    return _from_csv(_text(file), str(file)) if suffix == ".csv" else _from_parquet(file)


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputError(f"Expected a readable table at {file}. Got: {reason}.") from error


def _from_json(record: Any, where: str) -> Cells:
    if not isinstance(record, Mapping) or set(record) != {"x", "y"}:
        found = sorted(record) if isinstance(record, Mapping) else type(record).__name__
        raise InputError(f"Expected an object with the keys x, y in {where}. Got {found}.")
    rows, targets = record["x"], record["y"]
    if not _is_list(rows) or not _is_list(targets) or not rows:
        raise InputError(f"Expected lists x and y that are not empty in {where}. Got others.")
    if len(rows) != len(targets):
        raise InputError(
            f"Expected as many rows of x as entries of y in {where}. Got {len(rows)} rows and {len(targets)} entries."
        )
    width = len(rows[0]) if _is_list(rows[0]) else 0
    for number, row in enumerate(rows, start=1):
        if not _is_list(row) or len(row) != width or width == 0:
            size = f"{len(row)} values" if _is_list(row) else repr(row)
            raise InputError(f"Expected {width or 'some'} values in row {number} of x in {where}. Got {size}.")
    columns: Cells = {f"x{place}": [row[place] for row in rows] for place in range(width)}
    return {**columns, "y": list(targets)}


def _from_csv(text: str, where: str) -> Cells:
    try:
        lines = [line for line in csv.reader(text.splitlines(), strict=True) if any(item.strip() for item in line)]
    except csv.Error as error:
        raise InputError(f"Expected CSV in {where}. Got: {error}.") from error
    header = [name.strip() for name in lines[0]] if lines else []
    found = [name for name, mark in (("semicolons", ";"), ("tabs", "\t")) if len(header) == 1 and mark in header[0]]
    if found:
        raise InputError(f"Expected columns separated by commas in {where}. Got {found[0]}.")
    _require_names(header, where)
    for number, line in enumerate(lines[1:], start=1):
        if len(line) != len(header):
            raise InputError(f"Expected {len(header)} values in row {number} of {where}. Got {len(line)}.")
    return {name: [line[place].strip() for line in lines[1:]] for place, name in enumerate(header)}


def _from_parquet(file: Path) -> Cells:
    import pyarrow
    from pyarrow import parquet

    try:
        read = parquet.read_table(file)
    except (OSError, pyarrow.ArrowException) as error:
        raise InputError(f"Expected a readable Parquet file at {file}. Got: {error}.") from error
    _require_names(read.column_names, str(file))
    return {name: read.column(place).to_pylist() for place, name in enumerate(read.column_names)}


def _require_names(names: Sequence[str], where: str) -> None:
    twice = sorted({name for name in names if list(names).count(name) > 1})
    if twice:
        raise InputError(f"Expected each column name once in {where}. Got {', '.join(map(repr, twice))} twice.")


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)

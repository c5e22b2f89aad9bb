"""A user's table of numbers: read from JSON or CSV, brought to the unit cube and to standardized targets.

JSON is ``{"x": [[...], ...], "y": [...]}``, one row of ``x`` for each entry of ``y``; CSV has a header row, and names its target column.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernaut.digest import loads_finite
from kernaut.errors import InputError

Array = NDArray[np.float64]

SMALLEST_DEVIATION = 1e-8
MIN_DISTINCT = 3


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of numbers.

    Args:
        inputs: ``n x d``, as they were read.
        targets: ``n``, as they were read.
        columns: ``d`` names.

    Raises:
        InputError: for fewer than 3 distinct rows of inputs, or numbers that are not finite.
    """

    inputs: Array
    targets: Array
    columns: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.inputs.ndim != 2 or 0 in self.inputs.shape or self.targets.shape != self.inputs.shape[:1]:
            raise InputError(
                f"Expected inputs n x d and n targets. Got shapes {self.inputs.shape} and {self.targets.shape}."
            )
        if not (np.isfinite(self.inputs).all() and np.isfinite(self.targets).all()):
            raise InputError("Expected finite numbers in every row. Got others.")
        distinct = len(np.unique(self.inputs, axis=0))
        if distinct < MIN_DISTINCT:
            raise InputError(f"Expected at least {MIN_DISTINCT} distinct rows of inputs. Got {distinct}.")

    def unit_inputs(self) -> Array:
        """Inputs with each column's range mapped to [0, 1]; a constant column becomes 0."""
        low, high = self.inputs.min(axis=0), self.inputs.max(axis=0)
        return np.asarray((self.inputs - low) / np.where(high > low, high - low, 1.0))

    def standardized_targets(self) -> Array:
        """Targets of mean 0 and deviation 1; a deviation below 1e-8 counts as 1."""
        deviation = float(self.targets.std())
        return np.asarray(
            (self.targets - self.targets.mean()) / (deviation if deviation >= SMALLEST_DEVIATION else 1.0)
        )


def read_table(path: str | Path, target: str | None = None) -> Table:
    """Read a table.

    Args:
        path: a ``.json`` or ``.csv`` file.
        target: the target column of a CSV file.

    Raises:
        InputError: when the file cannot be read or is not such a table, naming row and column of the first bad value.
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputError(f"Expected a readable table at {file}. Got: {reason}.") from error
    if file.suffix.lower() == ".csv":
        return _from_csv(text, str(file), target)
    if target is not None:
        raise InputError(f"Expected no target column for a JSON table, whose target is y. Got {target!r}.")
    return _from_json(loads_finite(text, str(file)), str(file))


def _from_json(record: Any, where: str) -> Table:
    if not isinstance(record, Mapping) or set(record) != {"x", "y"}:
        found = sorted(record) if isinstance(record, Mapping) else type(record).__name__
        raise InputError(f"Expected an object with the keys x, y in {where}. Got {found}.")
    rows, targets = record["x"], record["y"]
    if not isinstance(rows, Sequence) or not isinstance(targets, Sequence) or len(rows) != len(targets) or not rows:
        raise InputError(f"Expected as many rows of x as entries of y in {where}. Got others.")
    width = len(rows[0]) if isinstance(rows[0], Sequence) else 0
    for number, row in enumerate(rows):
        if not isinstance(row, Sequence) or len(row) != width or width == 0:
            raise InputError(f"Expected rows of equal length in x of {where}. Got row {number}: {row!r}.")
        for column, value in enumerate(row):
            _require_number(value, f"row {number}, column {column} of x in {where}")
    for number, value in enumerate(targets):
        _require_number(value, f"row {number} of y in {where}")
    return Table(np.array(rows, dtype=float), np.array(targets, dtype=float), tuple(f"x{i}" for i in range(width)))


def _from_csv(text: str, where: str, target: str | None) -> Table:
    lines = [line for line in csv.reader(text.splitlines()) if line]
    header = [name.strip() for name in lines[0]] if lines else []
    if target not in header:
        raise InputError(
            f"Expected a target column of {', '.join(header) or '(an empty file)'} in {where}. Got {target!r}.",
            hint="Name it with --target.",
        )
    values = []
    for number, line in enumerate(lines[1:], start=1):
        if len(line) != len(header):
            raise InputError(f"Expected {len(header)} values in row {number} of {where}. Got {len(line)}.")
        values.append([_number(item, f"row {number}, column {name}") for item, name in zip(line, header, strict=True)])
    table = np.array(values, dtype=float).reshape(len(values), len(header))
    place = header.index(str(target))
    columns = tuple(name for name in header if name != target)
    return Table(np.delete(table, place, axis=1), table[:, place], columns)


def _number(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"Expected a finite number in {where}. Got {text!r}.")
    return value


def _require_number(value: Any, where: str) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputError(f"Expected a number in {where}. Got {value!r}.")

"""Cells of a user's table to finite numbers: what is dropped is counted, what is refused is named by row and column.

Dropped and counted: columns that the user names, columns of which more than half is missing, rows with a missing value, columns that hold one value only, and rows
that repeat an earlier one in every column.  Refused: text, dates, infinite values, anything else that is no number, and a target that does not vary.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date, time
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernaut.errors import InputError

Array = NDArray[np.float64]

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?", "-"})
"""Words, in lower case, that stand for no value in a CSV file."""

MOST_MISSING = 0.5
LARGEST = 1e150
DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T].*)?|\d{1,2}:\d{2}(:\d{2})?")
NAMED = 6
"""Refused columns that an error names."""


@dataclass(frozen=True)
class Cleaning:
    """What became of a table's rows and columns.

    Args:
        rows_read: rows in the file.
        rows_kept: rows that are used.
        rows_missing: rows dropped for a missing value.
        rows_repeated: rows dropped because an earlier one equals them in every column.
        missing: missing values of each used column that has some.
        columns_named: columns left out because the user named them.
        columns_missing: columns left out because more than half of their values are missing.
        columns_constant: columns left out because they hold one value only.
    """

    rows_read: int = 0
    rows_kept: int = 0
    rows_missing: int = 0
    rows_repeated: int = 0
    missing: Mapping[str, int] = field(default_factory=dict)
    columns_named: tuple[str, ...] = ()
    columns_missing: tuple[str, ...] = ()
    columns_constant: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """Sentences about what was dropped; none when nothing was."""
        found = []
        if self.columns_missing:
            found.append(f"dropped columns that are mostly missing: {', '.join(self.columns_missing)}")
        if self.rows_missing:
            counts = ", ".join(f"{name} {count}" for name, count in self.missing.items())
            found.append(f"dropped {self.rows_missing} of {self.rows_read} rows with missing values ({counts})")
        if self.columns_constant:
            found.append(f"dropped columns that hold one value only: {', '.join(self.columns_constant)}")
        if self.rows_repeated:
            found.append(f"dropped {self.rows_repeated} rows that repeat an earlier one")
        return found

    def to_json(self) -> dict[str, Any]:
        """All fields by name."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}


def clean(
    cells: Mapping[str, Sequence[Any]], target: str, drop: Sequence[str], where: str
) -> tuple[Array, Array, tuple[str, ...], Cleaning]:
    """Numbers of a table's cells.

    Args:
        cells: columns by name.
        target: the target column.
        drop: columns to leave out.
        where: the file, for errors.

    Returns:
        Inputs ``n x d``, targets ``n``, the ``d`` names, and what was dropped.

    Raises:
        InputError: for cells that are no finite numbers, for columns to leave out that are not there, for a constant target, or when no row or no column is left.
    """
    unknown = [name for name in drop if name not in cells or name == target]
    if unknown:
        legal = ", ".join(name for name in cells if name != target)
        raise InputError(f"Expected columns to leave out of {legal} in {where}. Got {', '.join(unknown)}.")
    names = [name for name in cells if name != target and name not in drop]
    values, mostly_missing = _numbers(cells, [*names, target], target, where)
    names = [name for name in names if name not in mostly_missing]
    if not names:
        raise InputError(f"Expected at least one column of inputs in {where}. Got none that can be used.")
    matrix = np.column_stack([values[name] for name in (*names, target)])
    gaps = np.isnan(matrix)
    missing = {name: int(count) for name, count in zip((*names, target), gaps.sum(axis=0), strict=True) if count}
    whole = matrix[~gaps.any(axis=1)]
    if not len(whole):
        raise InputError(f"Expected at least one row without missing values in {where}. Got none.")
    if np.ptp(whole[:, -1]) == 0.0:
        raise InputError(f"Expected a target that varies in {where}. Got {whole[0, -1]:g} in every row of {target}.")
    varying = np.ptp(whole, axis=0) > 0.0
    kept = [name for name, varies in zip(names, varying, strict=False) if varies]
    if not kept:
        raise InputError(f"Expected a column of inputs that varies in {where}. Got one value only in each.")
    _, first = np.unique(whole, axis=0, return_index=True)
    unique = whole[np.sort(first)][:, varying]
    cleaning = Cleaning(
        rows_read=len(matrix),
        rows_kept=len(unique),
        rows_missing=len(matrix) - len(whole),
        rows_repeated=len(whole) - len(unique),
        missing=missing,
        columns_named=tuple(drop),
        columns_missing=tuple(mostly_missing),
        columns_constant=tuple(name for name in names if name not in kept),
    )
    return unique[:, :-1].copy(), unique[:, -1].copy(), tuple(kept), cleaning


def input_matrix(cells: Mapping[str, Sequence[Any]], columns: Sequence[str], where: str) -> Array:
    """New inputs ``m x d`` in the order of a fitted table's columns; further columns are passed over.

    Raises:
        InputError: for columns that are not there, and for cells that are missing or no finite numbers, by row and column.
    """
    absent = [name for name in columns if name not in cells]
    if absent:
        raise InputError(f"Expected the columns {', '.join(columns)} in {where}. Got none called {', '.join(absent)}.")
    values, _ = _numbers(cells, columns, None, where)
    matrix = np.column_stack([values[name] for name in columns])
    gaps = np.argwhere(np.isnan(matrix))
    if len(gaps):
        row, column = gaps[0]
        raise InputError(f"Expected a number in row {row + 1}, column {columns[column]} of {where}. Got no value.")
    if not len(matrix):
        raise InputError(f"Expected at least one row in {where}. Got none.")
    return matrix


def number_of(value: Any) -> float | str:
    """A finite number (a truth value counts as 0 or 1), NaN where it is missing, or in words what else it is."""
    if value is None:
        return math.nan
    if isinstance(value, str):
        if value.lower() in MISSING:
            return math.nan
        try:
            value = float(value.replace("_", "x"))
        except ValueError:
            return "a date" if DATE.fullmatch(value) else "text"
    if isinstance(value, (date, time)):
        return "a date"
    if not isinstance(value, (int, float, Decimal)):
        return f"a {type(value).__name__}"
    try:
        number = float(value)
    except OverflowError:  # a whole number of more than 308 digits
        return f"a value beyond {LARGEST:g}"
    if math.isinf(number) or abs(number) > LARGEST:
        return "an infinite value" if math.isinf(number) else f"a value beyond {LARGEST:g}"
    return number


def _numbers(
    cells: Mapping[str, Sequence[Any]], names: Sequence[str], target: str | None, where: str
) -> tuple[dict[str, Array], list[str]]:
    """Columns as numbers, NaN where missing; and the input columns that are mostly missing, which are passed over."""
    values: dict[str, Array] = {}
    refused, mostly_missing = [], []
    for name in names:
        found = [number_of(value) for value in cells[name]]
        gaps = sum(isinstance(value, float) and math.isnan(value) for value in found)
        if target is not None and name != target and found and gaps > MOST_MISSING * len(found):
            mostly_missing.append(name)
            continue
        bad = [place for place, value in enumerate(found) if isinstance(value, str)]
        if bad:
            more = f" (and {len(bad) - 1} more of its rows)" if len(bad) > 1 else ""
            refused.append((name, f"{found[bad[0]]} in row {bad[0] + 1}, column {name}: {cells[name][bad[0]]!r}{more}"))
            continue
        values[name] = np.array(found, dtype=np.float64)
    if refused:
        shown = "; ".join(text for _, text in refused[:NAMED])
        rest = f"; and {len(refused) - NAMED} more columns" if len(refused) > NAMED else ""
        leave = " ".join(f"--drop {name}" for name, _ in refused if name != target)
        raise InputError(
            f"Expected finite numbers in {where}. Got {shown}{rest}.",
            hint=f"Turn them into numbers, or leave the columns out: {leave}" if leave else None,
        )
    return values, mostly_missing

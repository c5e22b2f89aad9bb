"""A user's table of numbers, brought to the unit cube and to standardized targets.

Read by :func:`read_table` from JSON, CSV or Parquet (:mod:`kernaut.episodes.table_file`) and cleaned (:mod:`kernaut.episodes.table_cleaning`): what is dropped is
counted, what is refused is named by row and column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kernaut.digest import content_id
from kernaut.episodes.table_cleaning import Cleaning, clean
from kernaut.episodes.table_file import read_cells
from kernaut.errors import InputError

Array = NDArray[np.float64]

MIN_DISTINCT = 3


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of numbers.

    Args:
        inputs: ``n x d``, as they were read.
        targets: ``n``, as they were read.
        columns: ``d`` names.
        target: the target's name.
        cleaning: what was dropped on the way.

    Raises:
        InputError: for fewer than 3 distinct rows of inputs, or numbers that are not finite.
    """

    inputs: Array
    targets: Array
    columns: tuple[str, ...]
    target: str = "y"
    cleaning: Cleaning = field(default_factory=Cleaning)

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

    def __len__(self) -> int:
        return len(self.targets)

    def unit_inputs(self) -> Array:
        """Inputs with each column's range mapped to [0, 1]; a constant column becomes 0."""
        return InputScale.of(self.inputs).apply(self.inputs)

    def standardized_targets(self) -> Array:
        """Targets of mean 0 and deviation 1; a deviation of 0 counts as 1."""
        mean, deviation = target_scale(self.targets)
        return np.asarray((self.targets - mean) / deviation)

    def rows(self, places: Sequence[int] | NDArray[np.int64]) -> Table:
        """Some rows, in the order given.

        Raises:
            InputError: for fewer than 3 distinct rows.
        """
        chosen = np.asarray(places, dtype=np.int64)
        return Table(self.inputs[chosen], self.targets[chosen], self.columns, self.target, self.cleaning)

    def digest(self) -> str:
        """Identifier of names and numbers; where they came from does not enter."""
        return content_id(
            {
                "columns": list(self.columns),
                "target": self.target,
                "inputs": self.inputs.tolist(),
                "targets": self.targets.tolist(),
            }
        )


@dataclass(frozen=True, eq=False)
class InputScale:
    """The map that sends each column's fitted range to [0, 1]; new points may fall outside.

    Args:
        low: ``d`` smallest values.
        width: ``d`` ranges, 1 for a constant column.
    """

    low: Array
    width: Array

    @classmethod
    def of(cls, inputs: Array) -> InputScale:
        """The scale of ``n x d`` inputs."""
        low, high = inputs.min(axis=0), inputs.max(axis=0)
        return cls(low, np.where(high > low, high - low, 1.0))

    def apply(self, inputs: Array) -> Array:
        """``n x d`` inputs in units of the fitted ranges."""
        return np.asarray((inputs - self.low) / self.width)


def target_scale(targets: Array) -> tuple[float, float]:
    """Mean and population standard deviation of ``n`` targets; a deviation of 0 counts as 1."""
    mean, deviation = float(targets.mean()), float(targets.std())
    return mean, deviation if deviation > 0.0 else 1.0


def read_table(path: str | Path, target: str | None = None, *, drop: Sequence[str] = ()) -> Table:
    """Read and clean a table.

    Args:
        path: a ``.json``, ``.csv`` or ``.parquet`` file.
        target: the target column of a CSV or Parquet file; that of a JSON file is ``y``.
        drop: names of columns to leave out.

    Raises:
        InputError: when the file cannot be read or is not such a table, naming row and column of what is refused, for a constant target, or for fewer than 3
            distinct rows of inputs.
    """
    cells, target = read_cells(Path(path), target)
    inputs, targets, columns, cleaning = clean(cells, target, tuple(drop), str(path))
    return Table(inputs, targets, columns, target, cleaning)

"""Parameters that name columns of the inputs: ``coordinate`` of state spaces, ``task_column`` and ``task_values`` of coregionalized kernels.

They are the program's to declare and trusted code's to read, as ``base_kernel`` is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernaut.errors import ProgramRefused
from kernaut.program.base_node import NumberReader

MAX_COLUMN = 9_999


def coordinate_of(parameters: Mapping[str, Any], path: str = "parameters") -> int | None:
    """The column that a state space runs along, negative from the end; None for a product over all of them.

    Raises:
        ProgramRefused: unless ``coordinate`` is absent, null or a whole number.
    """
    given = parameters.get("coordinate")
    return None if given is None else _column(given, f"{path}.coordinate")


def task_column_of(parameters: Mapping[str, Any], path: str = "parameters") -> int:
    """The column that names tasks, negative from the end; the last one if absent.

    Raises:
        ProgramRefused: unless ``task_column`` is absent, null or a whole number.
    """
    given = parameters.get("task_column")
    return -1 if given is None else _column(given, f"{path}.task_column")


def task_values_of(parameters: Mapping[str, Any], path: str = "parameters") -> tuple[float, ...] | None:
    """What the task column holds for each task, in order; None for 0, 1, 2, ...

    Raises:
        ProgramRefused: unless ``task_values`` is absent, null or a list of different numbers.
    """
    given = parameters.get("task_values")
    if given is None:
        return None
    if not isinstance(given, (list, tuple)) or not given:
        raise ProgramRefused(f"Expected {path}.task_values to be a list of numbers, one a task. Got {given!r}.")
    values = tuple(NumberReader().number(value, f"{path}.task_values[{i}]") for i, value in enumerate(given))
    if len(set(values)) < len(values):
        raise ProgramRefused(f"Expected {path}.task_values to differ. Got {list(values)!r}.")
    return values


def _column(given: Any, path: str) -> int:
    whole = isinstance(given, int) or (isinstance(given, float) and given.is_integer())
    if isinstance(given, bool) or not whole or abs(given) > MAX_COLUMN:
        raise ProgramRefused(f"Expected {path} to be a column's number, such as 0 or -1. Got {given!r}.")
    return int(given)

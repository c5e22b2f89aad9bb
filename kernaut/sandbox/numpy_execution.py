"""Child side: run numpy programs, point by point, each point in a fresh namespace with fresh parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernaut.sandbox.execution import Parameters, ProgramError, Source
from kernaut.sandbox.records import Floats


def numpy_values(source: Source, points: Floats | None, parameters: Parameters, dimension: int) -> tuple[Floats, ...]:
    """The values of one request.

    Args:
        source: a compiled numpy program of any calling but ``tree``.
        points: ``n x d`` (``n`` for ``coordinate``), None for ``dimension``.
        parameters: the request's parameters.
        dimension: the input dimension, for ``dimension``.

    Returns:
        ``n x m`` for ``point`` and ``coordinate``; ``m x d`` and ``m`` for ``dimension``; ``n x n`` for ``matrix``.

    Raises:
        ProgramError: when a value is no array of numbers of the right shape.
    """
    calling = source.program.calling
    if calling == "dimension":
        function, names = source.entry()
        components = pair(function(dimension, parameters.fresh()))
        names.clear()
        return as_array(components[0], 2, "frequencies"), as_array(components[1], 1, "weights")
    assert points is not None
    if calling == "matrix":
        function, names = source.entry()
        matrix = as_array(function(points.copy(), parameters.fresh()), 2, "the kernel matrix")
        names.clear()
        return (matrix,)
    return (_each_point(source, points, parameters),)


def _each_point(source: Source, points: Floats, parameters: Parameters) -> Floats:
    separate = source.program.calling == "coordinate"
    values = np.empty((0, 0))
    for index in range(len(points)):
        function, names = source.entry()
        point = float(points[index]) if separate else points[index].copy()
        row = function(point, parameters.fresh())
        if type(row) is not np.ndarray or row.ndim != 1 or row.dtype != np.float64 or not row.shape[0]:
            row = as_row(row, index)
        names.clear()
        if index == 0:
            values = np.empty((len(points), row.shape[0]))
        elif row.shape[0] != values.shape[1]:
            raise uneven(values.shape[1], row.shape[0], index)
        values[index] = row
    return values


def as_row(value: Any, index: int) -> Floats:
    """One point's value as a vector.

    Raises:
        ProgramError: for anything but a number or a vector of numbers.
    """
    row = as_array(value, None, "the value")
    if row.ndim == 0:
        row = row.reshape(1)
    if row.ndim != 1 or row.shape[0] == 0:
        raise ProgramError(
            f"wrong shape: expected a number or a non-empty vector for each point; got shape {row.shape} at point {index}"
        )
    return row


def as_array(value: Any, ndim: int | None, what: str) -> Floats:
    """A float64 array of a program's result.

    Raises:
        ProgramError: when it is not numeric, or not of ``ndim`` dimensions.
    """
    if value is None or isinstance(value, (str, bytes, dict, set)):
        raise ProgramError(f"expected an array of numbers for {what}; got {type(value).__name__}")
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "fiub":
            array = np.asarray(value, dtype=np.float64) if array.dtype.kind == "O" else array
        if array.dtype.kind not in "fiub":
            raise ProgramError(f"expected real numbers for {what}; got {array.dtype.name}")
        array = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ProgramError(f"expected an array of numbers for {what}; got {type(value).__name__}: {error}") from error
    if ndim is not None and array.ndim != ndim:
        raise ProgramError(f"wrong shape: expected {ndim} dimensions for {what}; got shape {array.shape}")
    return array


def pair(value: Any) -> Sequence[Any]:
    """The two results of a spectral program.

    Raises:
        ProgramError: for anything but a pair.
    """
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        got = f"{type(value).__name__} of {len(value)}" if isinstance(value, (tuple, list)) else type(value).__name__
        raise ProgramError(f"expected a pair (frequencies m x d, weights m); got {got}")
    return value


def uneven(expected: int, got: int, index: int) -> ProgramError:
    """The refusal of a program whose features differ in number from point to point."""
    return ProgramError(f"wrong shape: expected {expected} numbers as at point 0; got {got} at point {index}")

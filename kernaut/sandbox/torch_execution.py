"""Child side: run torch programs, vectorized over points with ``torch.func.vmap``, which cannot see other points.

What vmap refuses (``float(x[0])``, ``if`` on values, numpy on tensors) runs point by point instead, each point in a fresh namespace;
the reply says so ("slow path").  Float parameters are 0-d float64 tensors cut from one vector, so that one gradient serves all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from kernaut.sandbox.execution import Caught, Parameters, ProgramError, Source
from kernaut.sandbox.numpy_execution import pair, uneven
from kernaut.sandbox.trees import tree_values


class TorchProgram:
    """A compiled torch program.

    Args:
        source: the compiled source.

    Attributes:
        slow: whether vmap refused it, so that it runs point by point.
        slow_reason: what vmap said.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.calling = source.program.calling
        self.slow = False
        self.slow_reason = ""

    def forward(
        self, points: torch.Tensor | None, vector: torch.Tensor, parameters: Parameters, dimension: int
    ) -> tuple[torch.Tensor, ...]:
        """One request's values, differentiable in ``points`` and ``vector`` where the program is.

        Args:
            points: ``n x d`` (``n`` for ``coordinate``); None for ``dimension``.
            vector: ``p`` float-valued parameters, in the order of ``parameters.floats``.
            parameters: the request's parameters.
            dimension: the input dimension, for ``dimension``.

        Returns:
            ``n x m`` for ``point`` and ``coordinate``; ``m x d`` and ``m`` for ``dimension``; ``n x n`` for ``matrix``.

        Raises:
            ProgramError: for a value that is no real tensor of the right shape.
        """
        if self.calling in ("point", "coordinate"):
            assert points is not None
            return (self._points(points, vector, parameters),)
        function, names = self.source.entry()
        values = tensors(vector, parameters)
        if self.calling == "dimension":
            frequencies, weights = pair(function(dimension, values))
            result: tuple[torch.Tensor, ...] = (_shaped(frequencies, 2, "frequencies"), _shaped(weights, 1, "weights"))
        else:
            assert points is not None
            result = (_shaped(function(points.clone(), values), 2, "the kernel matrix"),)
        names.clear()
        return result

    def tree(self, vector: torch.Tensor, parameters: Parameters) -> tuple[str, torch.Tensor]:
        """The closure tree's structure and its float-dependent numbers (a vector).

        Raises:
            ProgramError: when the tree is not JSON.
        """
        function, names = self.source.entry()
        text, numbers = tree_values(function(tensors(vector, parameters)))
        names.clear()
        return text, torch.stack(numbers) if numbers else torch.zeros(0, dtype=torch.float64)

    def _points(self, points: torch.Tensor, vector: torch.Tensor, parameters: Parameters) -> torch.Tensor:
        refusal = self.slow_reason
        if not self.slow:
            with Caught() as caught:
                return self._vectorized(points, vector, parameters)
            assert caught.error is not None
            if "random operation" in str(caught.error):
                raise ProgramError("the program draws random numbers")
            if "memory limit" in str(caught.error):
                raise caught.error
            refusal = str(caught.error)
        values = self._one_by_one(points, vector, parameters)
        self.slow, self.slow_reason = True, refusal
        return values

    def _vectorized(self, points: torch.Tensor, vector: torch.Tensor, parameters: Parameters) -> torch.Tensor:
        function, names = self.source.entry()
        values = tensors(vector, parameters)

        def row(point: torch.Tensor) -> torch.Tensor:
            return _row(function(point, values), 0)

        result = torch.func.vmap(row)(points)
        names.clear()
        return result

    def _one_by_one(self, points: torch.Tensor, vector: torch.Tensor, parameters: Parameters) -> torch.Tensor:
        rows: list[torch.Tensor] = []
        for index, point in enumerate(points):
            function, names = self.source.entry()
            row = _row(function(point.clone(), tensors(vector, parameters)), index)
            names.clear()
            if rows and row.shape != rows[0].shape:
                raise uneven(rows[0].shape[0], row.shape[0], index)
            rows.append(row)
        return torch.stack(rows)


def parameter_vector(parameters: Parameters) -> torch.Tensor:
    """The float-valued parameters as one vector (p)."""
    return torch.tensor(parameters.numbers, dtype=torch.float64)


def tensors(vector: torch.Tensor, parameters: Parameters) -> dict[str, Any]:
    """A fresh parameter object: floats as 0-d tensors, copies of the vector's elements; all else as Python values."""
    values = parameters.fresh()
    for name, element in zip(parameters.floats, vector.unbind(), strict=True):
        values[name] = element.clone()
    return values


def as_floats(value: torch.Tensor) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A C-contiguous float64 array of a tensor."""
    return np.ascontiguousarray(value.detach().numpy())


def _row(value: Any, index: int) -> torch.Tensor:
    """One point's value as a float64 vector: a tensor, a number, or a list of either."""
    if isinstance(value, (list, tuple)):
        value = torch.stack([_number(item, index) for item in value]) if value else torch.zeros(0)
    row = _real(value, "each point")
    if row.ndim == 0:
        row = row.reshape(1)
    if row.ndim != 1 or row.shape[0] == 0:
        raise ProgramError(
            f"wrong shape: expected a number or a non-empty vector for each point; got shape {tuple(row.shape)} at point {index}"
        )
    return row


def _number(item: Any, index: int) -> torch.Tensor:
    number = _real(item, "each feature")
    if number.ndim == 0:
        return number
    if number.numel() == 1:
        return number.reshape(())
    raise ProgramError(
        f"wrong shape: expected one number for each feature; got shape {tuple(number.shape)} at point {index}"
    )


def _shaped(value: Any, ndim: int, what: str) -> torch.Tensor:
    if isinstance(value, (list, tuple)) and any(isinstance(item, (list, tuple, torch.Tensor)) for item in value):
        value = torch.stack([_shaped(item, ndim - 1, what) for item in value])
    elif isinstance(value, (list, tuple)):
        value = torch.tensor(value)
    result = _real(value, what)
    if result.ndim != ndim:
        raise ProgramError(f"wrong shape: expected {ndim} dimensions for {what}; got shape {tuple(result.shape)}")
    return result


def _real(value: Any, what: str) -> torch.Tensor:
    if isinstance(value, (bool, int, float, np.ndarray, np.generic)):
        value = torch.as_tensor(value)
    if not isinstance(value, torch.Tensor):
        raise ProgramError(f"expected a tensor for {what}; got {type(value).__name__}")
    if value.is_complex():
        raise ProgramError(f"expected real numbers for {what}; got {value.dtype}")
    return value if value.dtype == torch.float64 else value.to(torch.float64)

"""What outputs a task takes: a box, or a matrix whose rows are probability distributions.

Public (a task's ``p_i["output"]``), used by policies to propose and by the service to check.  An output is a float64 array of one or two dimensions.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernaut.errors import InputError

Array = NDArray[np.float64]

TOLERANCE = 1e-6
"""By how much a row's sum may miss 1."""
SAME = 1e-9
"""Outputs this close in the maximum norm are the same query."""
MAX_SIZE = 4096
_LOGIT_SCALE = 6.0


@dataclass(frozen=True)
class OutputSpace(ABC):
    """The legal outputs of a task.

    Args:
        shape: of an output.
    """

    shape: tuple[int, ...]

    def problem(self, output: Array) -> str | None:
        """Why an output is malformed, in fixed words that tell nothing of the task's answer; None when it is legal."""
        if output.shape != self.shape:
            return "the output is of the wrong shape"
        if not np.isfinite(output).all():
            return "the output holds numbers that are not finite"
        return self._broken(output)

    @property
    def size(self) -> int:
        """How many numbers an output has."""
        return math.prod(self.shape)

    @abstractmethod
    def sample(self, rng: np.random.Generator) -> Array:
        """One output of the random policy."""

    @abstractmethod
    def centre(self) -> Array:
        """The least committed output."""

    @abstractmethod
    def project(self, point: Array) -> Array:
        """The nearest legal output to any finite array of this shape."""

    @abstractmethod
    def from_unit(self, unit: Array) -> Array:
        """A legal output for each point of the unit cube (``size`` numbers), onto the inside of the space."""

    @abstractmethod
    def scale(self) -> float:
        """A typical distance between two outputs, in one coordinate."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """The public description."""

    @abstractmethod
    def _broken(self, output: Array) -> str | None: ...


@dataclass(frozen=True)
class Box(OutputSpace):
    """All arrays between two numbers: uniform draws."""

    lower: float = 0.0
    upper: float = 1.0

    def sample(self, rng: np.random.Generator) -> Array:
        """Uniform in the box."""
        return rng.uniform(self.lower, self.upper, self.shape)

    def centre(self) -> Array:
        """The middle of the box."""
        return np.full(self.shape, 0.5 * (self.lower + self.upper))

    def project(self, point: Array) -> Array:
        """Cut at the box's sides."""
        return np.clip(point.reshape(self.shape), self.lower, self.upper)

    def from_unit(self, unit: Array) -> Array:
        """Stretch the unit cube."""
        return self.lower + (self.upper - self.lower) * np.clip(unit, 0.0, 1.0).reshape(self.shape)

    def scale(self) -> float:
        """The box's side."""
        return self.upper - self.lower

    def to_json(self) -> dict[str, Any]:
        """The public description."""
        return {"kind": "box", "shape": list(self.shape), "lower": self.lower, "upper": self.upper}

    def _broken(self, output: Array) -> str | None:
        inside = (output >= self.lower).all() and (output <= self.upper).all()
        return None if inside else "the output lies outside its box"


@dataclass(frozen=True)
class RowSimplex(OutputSpace):
    """Matrices with non-negative rows that sum to 1: a Dirichlet(1, .., 1) draw for each row."""

    def sample(self, rng: np.random.Generator) -> Array:
        """Each row uniform on the simplex."""
        return rng.dirichlet(np.ones(self.shape[1]), self.shape[0])

    def centre(self) -> Array:
        """Uniform rows."""
        return np.full(self.shape, 1.0 / self.shape[1])

    def project(self, point: Array) -> Array:
        """Euclidean projection of each row (Held, Wolfe and Crowder, 1974)."""
        rows = point.reshape(self.shape)
        ordered = -np.sort(-rows, axis=1)
        excess = (np.cumsum(ordered, axis=1) - 1.0) / np.arange(1, self.shape[1] + 1)
        last = (ordered > excess).sum(axis=1) - 1
        return np.maximum(rows - excess[np.arange(self.shape[0]), last][:, None], 0.0)

    def from_unit(self, unit: Array) -> Array:
        """Softmax of scaled rows."""
        logits = _LOGIT_SCALE * (np.clip(unit, 0.0, 1.0).reshape(self.shape) - 0.5)
        weights = np.exp(logits)
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def scale(self) -> float:
        """Typical size of an entry."""
        return 1.0 / self.shape[1]

    def to_json(self) -> dict[str, Any]:
        """The public description."""
        return {"kind": "row_simplex", "shape": list(self.shape)}

    def _broken(self, output: Array) -> str | None:
        if (output < 0.0).any():
            return "the output has negative entries"
        if (np.abs(output.sum(axis=1) - 1.0) > TOLERANCE).any():
            return "a row of the output does not sum to 1"
        return None


def space_from_json(record: Any) -> OutputSpace:
    """Read a public description.

    Raises:
        InputError: when it is none.
    """
    if not isinstance(record, Mapping) or record.get("kind") not in ("box", "row_simplex"):
        raise InputError("Expected an output description of kind box or row_simplex. Got something else.")
    shape = _shape(record.get("shape"))
    if record["kind"] == "row_simplex":
        if len(shape) != 2 or set(record) != {"kind", "shape"}:
            raise InputError("Expected a row_simplex of two dimensions and nothing else.")
        return RowSimplex(shape)
    if set(record) != {"kind", "shape", "lower", "upper"}:
        raise InputError("Expected a box with shape, lower and upper and nothing else.")
    lower, upper = _number(record["lower"]), _number(record["upper"])
    if not lower < upper:
        raise InputError(f"Expected a box's lower number below its upper one. Got {lower!r} and {upper!r}.")
    return Box(shape, lower, upper)


def _shape(value: Any) -> tuple[int, ...]:
    whole = isinstance(value, (list, tuple)) and all(type(n) is int and n > 0 for n in value)
    if not whole or len(value) not in (1, 2) or math.prod(value) > MAX_SIZE:
        raise InputError(f"Expected an output shape of one or two positive numbers, {MAX_SIZE} entries at most.")
    return tuple(value)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise InputError("Expected finite numbers as the sides of a box. Got something else.")
    return float(value)

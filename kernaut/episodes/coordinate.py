"""What one input coordinate of a benchmark is: for authors, who choose shapes by it, and for figures."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

Role = Literal["time", "substrate", "inhibitor", "enzyme", "temperature", "acidity", "dose", "onset"]


@dataclass(frozen=True)
class Coordinate:
    """One input coordinate; kernels see it scaled to about [0, 1].

    Args:
        name: its name in the benchmark's field.
        role: what part it plays, in one word.
        meaning: one line for a reader or a model.
        lower: what 0 stands for, in its unit.
        upper: what 1 stands for.
        log: whether the scale between them is logarithmic.
        unit: of the two ends.
    """

    name: str
    role: Role
    meaning: str
    lower: float
    upper: float
    log: bool = False
    unit: str = ""

    def sentence(self) -> str:
        """The coordinate in one line of prose."""
        scale = "log scale" if self.log else "linear scale"
        unit = f" {self.unit}" if self.unit else ""
        return f"{self.name} ({self.role}): {self.meaning}; 0 stands for {self.lower:g}{unit}, 1 for {self.upper:g}{unit}, {scale}."

    def in_units(self, places: Array) -> Array:
        """Places on the scale that kernels see, in the coordinate's unit."""
        if self.log:
            low, high = math.log(self.lower), math.log(self.upper)
            return np.asarray(np.exp(low + (high - low) * places))
        return np.asarray(self.lower + (self.upper - self.lower) * places)

    def axis(self) -> Axis:
        """The coordinate as an axis of a figure."""
        label = self.name.replace("_", " ") if len(self.name) > 3 else self.name
        return Axis(f"{label} [{self.unit}]" if self.unit else label, self.in_units, self.log)


@dataclass(frozen=True, eq=False)
class Axis:
    """How a figure shows one input.

    Args:
        label: name and unit.
        in_units: places on the scale that kernels see to values on the axis.
        log: whether the axis is logarithmic.
        whole: whether its ticks are whole numbers without separators, such as years.
    """

    label: str
    in_units: Callable[[Array], Array]
    log: bool = False
    whole: bool = False


def plain_axis(coordinate: int = 0, dimension: int = 1) -> Axis:
    """The axis of an anonymous input."""
    return Axis("input" if dimension == 1 else f"input {coordinate + 1} of {dimension}", np.asarray)

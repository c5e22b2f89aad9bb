"""What one input coordinate of a benchmark is: for authors, who choose shapes by it, and for figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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

"""What all library leaves share: where each of their numbers stands in the parameter vector."""

from __future__ import annotations

from math import prod

from torch import Tensor

from kernaut.errors import InputError
from kernaut.kernels.form import Form
from kernaut.program.base_node import Base


class LeafForm(Form):
    """A leaf laid out as its base node's numbers.

    Args:
        base: the checked node; its numbers are the initial parameters.
    """

    def __init__(self, base: Base) -> None:
        self.base = base
        self.shapes = {array.name: array.shape for array in base.arrays}
        self.options = dict(base.options)
        self._places: dict[str, int] = {}
        start = 0
        for array in base.arrays:
            self._places[array.name] = start
            start += prod(array.shape)
        self.size = start

    def number(self, theta: Tensor, name: str) -> Tensor:
        """A parameter: ``*p`` for a single number, ``*p x shape`` for an array."""
        start, shape = self._places[name], self.shapes[name]
        if shape == ():
            return theta[..., start]
        values = theta[..., start : start + prod(shape)]
        return values if len(shape) == 1 else values.unflatten(-1, shape)

    def require_dimension(self, name: str, expected: int, dimension: int) -> None:
        """Check that points have as many coordinates as a parameter speaks of.

        Raises:
            InputError: naming the parameter.
        """
        if expected != dimension:
            raise InputError(f"Expected points of {expected} coordinates, as many as {name} has. Got {dimension}.")

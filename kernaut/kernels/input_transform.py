"""Input transforms: k(x, z) = base(T(x), T(z)) for a trusted base kernel (contract ``input_transform``).

Valid for any T, since the base is valid on the space that T maps to.
"""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor

from kernaut.kernels.component import Component, at_points
from kernaut.kernels.form import Embedding, Form


class InputTransform(Form):
    """A library leaf on a program's transformed points.

    Args:
        component: a ``transform_point`` program, ``(d,) -> (k,)``; its float parameters come first in ``theta``.
        base: the leaf; its numbers follow.
    """

    def __init__(self, component: Component, base: Form) -> None:
        self.component = component
        self.base = base
        self.size = len(component.names) + base.size

    def embed(self, x: Tensor, theta: Tensor) -> Embedding:
        """The base's embedding of the transformed points."""
        return self.base.embed(self._transformed(x, theta), self._base(theta))

    def cross(self, a: Embedding, b: Embedding, theta: Tensor) -> Tensor:
        """The base's covariances."""
        return self.base.cross(a, b, self._base(theta))

    def diagonal(self, a: Embedding, theta: Tensor) -> Tensor:
        """The base's variances."""
        return self.base.diagonal(a, self._base(theta))

    def features(self, x: Tensor, theta: Tensor) -> Tensor:
        """The base's features of the transformed points."""
        return self.base.features(self._transformed(x, theta), self._base(theta))

    def arity(self, theta: Tensor) -> int:
        """The base's."""
        return self.base.arity(self._base(theta))

    def low_rank(self, theta: Tensor) -> bool:
        """Whether the base is."""
        return self.base.low_rank(self._base(theta))

    def parts(self) -> Iterator[Form]:
        """The base."""
        yield self.base

    def close(self) -> None:
        """End the child."""
        self.component.close()

    def _transformed(self, x: Tensor, theta: Tensor) -> Tensor:
        return at_points(self.component, x, theta[..., : len(self.component.names)])

    def _base(self, theta: Tensor) -> Tensor:
        return theta[..., len(self.component.names) :]

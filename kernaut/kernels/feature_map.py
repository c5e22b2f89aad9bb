"""Feature maps: k(x, z) = phi(x) . phi(z) for the program's feature vector phi (contract ``feature_map``).

Valid by construction, and of finite rank: exact inference costs O(n m^2) with m features.
"""

from __future__ import annotations

from torch import Tensor

from kernaut.kernels.component import Component, at_points
from kernaut.kernels.form import FeatureForm


class FeatureMap(FeatureForm):
    """Inner products of a program's feature vectors.

    Args:
        component: a ``feature_point`` program, ``(d,) -> (m,)``.
    """

    def __init__(self, component: Component) -> None:
        self.component = component
        self.size = len(component.names)

    def features(self, x: Tensor, theta: Tensor) -> Tensor:
        """Feature vectors ``*bp x n x m``."""
        return at_points(self.component, x, theta)

    def close(self) -> None:
        """End the child."""
        self.component.close()

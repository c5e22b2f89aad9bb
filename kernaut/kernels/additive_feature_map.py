"""Additive feature maps: k(x, z) = mean over coordinates i of phi(x_i) . phi(z_i) (contract ``additive_feature_map``)."""

from __future__ import annotations

from torch import Tensor

from kernaut.kernels.component import Component, at_points
from kernaut.kernels.form import FeatureForm


class AdditiveFeatureMap(FeatureForm):
    """Inner products of the concatenated features of all coordinates, divided by sqrt(d).

    Args:
        component: a ``coordinate_feature`` program, ``() -> (m,)``.
    """

    def __init__(self, component: Component) -> None:
        self.component = component
        self.size = len(component.names)

    def features(self, x: Tensor, theta: Tensor) -> Tensor:
        """Feature vectors ``*bp x n x (d m)``."""
        return at_points(self.component, x, theta) * x.shape[-1] ** -0.5

    def close(self) -> None:
        """End the child."""
        self.component.close()

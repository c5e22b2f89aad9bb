"""Spectral programs: k(x, z) = (1/m) sum_j raw_j^2 cos(omega_j . (x - z)) (contract ``spectral``).

Frequencies in radians a unit.  A finite, non-negative spectral measure, hence stationary and valid (Bochner), and of rank 2 m.
"""

from __future__ import annotations

import torch
from torch import Tensor

from kernaut.errors import InputError, SandboxFailure
from kernaut.kernels.component import Component
from kernaut.kernels.form import FeatureForm, rows_of


class Spectral(FeatureForm):
    """Cosines and sines of a program's frequencies, weighted by its squared raw weights.

    Args:
        component: a ``spectral_components`` program, ``d -> ((m, d), (m,))``.
    """

    def __init__(self, component: Component) -> None:
        self.component = component
        self.size = len(component.names)

    def features(self, x: Tensor, theta: Tensor) -> Tensor:
        """Feature vectors ``*bp x n x 2m``: weighted cosines, then weighted sines."""
        frequencies, raw = self._components(x.shape[-1], theta)
        phase = x @ frequencies.mT
        height = (raw * raw.shape[-1] ** -0.5)[..., None, :]
        return torch.cat([height * torch.cos(phase), height * torch.sin(phase)], dim=-1)

    def stationary(self, theta: Tensor) -> bool:
        """Always."""
        return True

    def close(self) -> None:
        """End the child."""
        self.component.close()

    def _components(self, dimension: int, theta: Tensor) -> tuple[Tensor, Tensor]:
        """Frequencies ``*p x m x d`` and raw weights ``*p x m``."""
        answers = [self.component.call(None, row, dimension) for row in rows_of(theta)]
        for frequencies, raw in answers:
            if frequencies.dim() != 2 or frequencies.shape[1] != dimension or raw.shape != frequencies.shape[:1]:
                raise SandboxFailure(
                    "failed",
                    f"Expected frequencies of m x {dimension} and m raw weights. "
                    f"Got {tuple(frequencies.shape)} and {tuple(raw.shape)}.",
                )
        if len({raw.shape for _, raw in answers}) > 1:
            raise InputError("Expected equally many frequencies for every parameter row. Got different numbers.")
        batch = theta.shape[:-1]
        frequencies = torch.stack([answer[0] for answer in answers]).reshape(*batch, -1, dimension)
        return frequencies, torch.stack([answer[1] for answer in answers]).reshape(*batch, -1)

"""Leaves made of inner products: linear, polynomial, and random Fourier features with a stored seed.

References: Rasmussen and Williams (2006), section 4.2.2; Rahimi and Recht (2007), algorithm 1 in its phase form.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from kernaut.kernels.form import Embedding, FeatureForm, column, root
from kernaut.kernels.leaf_form import LeafForm


class Linear(LeafForm):
    """variance x . z / lengthscale^2."""

    def embed(self, x: Tensor, theta: Tensor) -> Embedding:
        """Inputs in lengthscales."""
        return (x / column(self.number(theta, "lengthscale")),)

    def cross(self, a: Embedding, b: Embedding, theta: Tensor) -> Tensor:
        """Variance times inner products."""
        return column(self.number(theta, "variance")) * (a[0] @ b[0].mT)

    def diagonal(self, a: Embedding, theta: Tensor) -> Tensor:
        """Variance times squared norms."""
        return self.number(theta, "variance")[..., None] * a[0].square().sum(-1)

    def features(self, x: Tensor, theta: Tensor) -> Tensor:
        """Inputs in lengthscales, times the standard deviation."""
        return column(root(self.number(theta, "variance"))) * self.embed(x, theta)[0]

    def low_rank(self, theta: Tensor) -> bool:
        """Always: the rank is that of the inputs."""
        return True


class Polynomial(LeafForm):
    """variance (x . z / lengthscale^2 + offset)^power, offset >= 0 and power a whole number."""

    def embed(self, x: Tensor, theta: Tensor) -> Embedding:
        """Inputs in lengthscales."""
        return (x / column(self.number(theta, "lengthscale")),)

    def cross(self, a: Embedding, b: Embedding, theta: Tensor) -> Tensor:
        """Powers of shifted inner products."""
        inner = a[0] @ b[0].mT + column(self.number(theta, "offset"))
        return column(self.number(theta, "variance")) * inner ** self.options["power"]

    def diagonal(self, a: Embedding, theta: Tensor) -> Tensor:
        """Powers of shifted squared norms."""
        inner = a[0].square().sum(-1) + self.number(theta, "offset")[..., None]
        return self.number(theta, "variance")[..., None] * inner ** self.options["power"]


class RandomFourierFeatures(LeafForm, FeatureForm):
    """variance phi(x) . phi(z), phi_j(x) = sqrt(2/m) cos(omega_j . x / lengthscale + bias_j).

    Without stored frequencies they are drawn from ``numpy.random.default_rng(seed)``: ``standard_normal((m, d))``, then
    ``uniform(0, 2 pi, m)``.
    """

    def features(self, x: Tensor, theta: Tensor) -> Tensor:
        """Feature vectors ``*bp x n x m``."""
        if "omega" in self.shapes:
            self.require_dimension("omega", self.shapes["omega"][1], x.shape[-1])
            omega, bias = self.number(theta, "omega"), self.number(theta, "bias")[..., None, :]
        else:
            drawn = _draw(self.options["features"], self.options.get("seed", 0), x.shape[-1])
            omega, bias = (torch.from_numpy(array).to(x.device) for array in drawn)
        scaled = x / column(self.number(theta, "lengthscale"))
        height = column(root(self.number(theta, "variance") * (2.0 / bias.shape[-1])))
        return height * torch.cos(scaled @ omega.mT + bias)


@lru_cache(maxsize=64)
def _draw(count: int, seed: int, dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies ``m x d`` of a unit lengthscale, and phases ``m``; always the same arrays, so never written to."""
    generator = np.random.default_rng(seed)
    frequencies = generator.standard_normal((count, dimension))
    return frequencies, generator.uniform(0.0, 2.0 * math.pi, count)

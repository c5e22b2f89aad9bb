"""Small kernels with the three methods that fitting asks for, written independently of the kernel library, and a slow Gaussian process."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from kernaut.episodes.bbo import BlackBoxOptimization

Array = NDArray[np.float64]
A, V, Z = 0.21496191186014413, 0.9753086419753086, 1.4325662500369458


@dataclass
class Matern:
    """Matern-5/2 on warped inputs; remembers how many points it was asked to embed."""

    lengthscale: float | Tensor = 0.5
    fold: bool = False
    embedded: list[int] = field(default_factory=list)

    def embed(self, x: Tensor) -> tuple[Tensor, ...]:
        self.embedded.append(x.shape[:-1].numel())
        if self.fold:
            folded = math.sin(Z) * torch.asin(torch.sin(math.pi * V * x)) / math.pi
            x = torch.cat([(1.0 - torch.exp(-A * x)) / (1.0 - math.exp(-A)), folded], dim=-1)
        return (x / self.lengthscale,)

    def cross(self, a: tuple[Tensor, ...], b: tuple[Tensor, ...]) -> Tensor:
        square = (a[0][..., :, None, :] - b[0][..., None, :, :]).square().sum(-1)
        r = torch.where(square == 0, 0.0, torch.where(square == 0, 1.0, 5.0 * square).sqrt())
        return (1.0 + r + r.square() / 3.0) * torch.exp(-r)

    def diagonal(self, a: tuple[Tensor, ...]) -> Tensor:
        return torch.ones(a[0].shape[:-1], dtype=torch.float64)


@dataclass
class Features:
    """Dot product of features ``scale * [1, x]`` (or constants alone), two embedding parts to keep cutting honest."""

    scale: float | Tensor = 1.0
    constant: bool = False

    def embed(self, x: Tensor) -> tuple[Tensor, ...]:
        ones = torch.ones_like(x[..., :1])
        return (self.scale * ones, self.scale * (ones if self.constant else x))

    def cross(self, a: tuple[Tensor, ...], b: tuple[Tensor, ...]) -> Tensor:
        return a[0] @ b[0].mT + a[1] @ b[1].mT

    def diagonal(self, a: tuple[Tensor, ...]) -> Tensor:
        return a[0].square().sum(-1) + a[1].square().sum(-1)


@dataclass(frozen=True)
class SlowFit:
    amplitude: float
    noise: float
    log_likelihood: float
    mean: Array
    variance: Array


def slow_gp(kernel: Matern | Features, x: Array, y: Array, queries: Array) -> SlowFit | None:
    """One episode, one Cholesky factorization for each grid point, textbook formulas; None when every grid point fails."""
    points = kernel.embed(torch.from_numpy(np.concatenate([x, queries])))
    n = len(x)
    full = kernel.cross(points, points).detach().numpy()
    gram = 0.5 * (full[:n, :n] + full[:n, :n].T)
    best: SlowFit | None = None
    for a in (0.1, 0.3, 1.0, 3.0):
        for s in (1e-4, 1e-3, 1e-2, 1e-1):
            matrix = a * gram + s * np.eye(n)
            try:
                factor = np.linalg.cholesky(matrix)
            except np.linalg.LinAlgError:
                continue
            alpha = np.linalg.solve(factor.T, np.linalg.solve(factor, y))
            value = -0.5 * y @ alpha - np.log(np.diag(factor)).sum() - 0.5 * n * math.log(2 * math.pi)
            if best is None or value > best.log_likelihood:
                half = np.linalg.solve(factor, a * full[:n, n:])
                variance = a * np.diag(full)[n:] + s - (half**2).sum(0)
                best = SlowFit(a, s, value, a * full[n:, :n] @ alpha, np.maximum(variance, 1e-10))
    return best


@pytest.fixture(name="Matern")
def matern_class() -> type[Matern]:
    return Matern


@pytest.fixture(name="Features")
def features_class() -> type[Features]:
    return Features


@pytest.fixture(name="slow_gp")
def slow_gp_function() -> Callable[[Any, Array, Array, Array], SlowFit | None]:
    return slow_gp


@pytest.fixture(scope="session")
def bbo() -> BlackBoxOptimization:
    return BlackBoxOptimization()

"""Amplitude and noise at the largest marginal likelihood of one data set, anywhere in their ranges, and what follows from it.

For a user's table, where noise may be most of what is seen, sixteen grid points are too few: the likelihood of ``y ~ N(0, a K + s I)`` is climbed in the
logarithms of amplitude and noise within the ranges of the tuned baselines, so that programs and baselines are compared in one class of models.  One symmetric
eigendecomposition serves all of it.  Rasmussen and Williams (2006), equations 2.25, 2.26, 5.8 and 5.9.

Shapes: ``n`` fitting and ``q`` query points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize
from torch import Tensor

from kernaut.episodes.episode import Episode
from kernaut.errors import FitError
from kernaut.fitting.embedding import EmbeddedKernel
from kernaut.fitting.grid import NOT_DEFINITE, VARIANCE_FLOOR
from kernaut.fitting.marginal import log_marginal

Array = NDArray[np.float64]

AMPLITUDE_RANGE = (1e-3, 1e3)
NOISE_RANGE = (1e-4, 10.0)
STEPS = 13
"""Points a side of the grid that the climb starts from."""

_BOUNDS = np.log(np.array([AMPLITUDE_RANGE, NOISE_RANGE]))
_GRID = np.exp(
    np.stack(np.meshgrid(*(np.linspace(low, high, STEPS) for low, high in _BOUNDS), indexing="ij"), -1)
).reshape(-1, 2)


@dataclass(frozen=True, eq=False)
class LikelihoodGroup:
    """One episode without queries, which is scored by its own marginal likelihood.

    Args:
        indices: its place in the sequence that was stacked.
        episodes: the episode.
        points: ``n x d``.
        targets: ``n``, standardized.
    """

    indices: tuple[int, ...]
    episodes: tuple[Episode, ...]
    points: Tensor
    targets: Tensor

    def __len__(self) -> int:
        return 1

    @staticmethod
    def of(index: int, episode: Episode) -> LikelihoodGroup:
        """The group of one episode."""
        points, targets = np.array(episode.fit_inputs), np.array(episode.fit_targets)
        return LikelihoodGroup((index,), (episode,), torch.from_numpy(points), torch.from_numpy(targets))


@dataclass(frozen=True, eq=False)
class LikelihoodFit:
    """Amplitude and noise of largest likelihood, with the eigendecomposition behind them.

    Args:
        amplitude: signal variance.
        noise: noise variance.
        log_marginal: log marginal likelihood [nats].
        eigenvalues: ``n``, of the symmetrized Gram matrix.
        eigenvectors: ``n x n``, in columns.
        projected: ``n`` targets in the eigenvectors' coordinates.
    """

    amplitude: float
    noise: float
    log_marginal: float
    eigenvalues: Array
    eigenvectors: Array
    projected: Array

    @property
    def spectrum(self) -> Array:
        """``n`` eigenvalues of ``a K + s I``."""
        return self.amplitude * self.eigenvalues + self.noise

    def condition(self) -> float:
        """Condition number of ``a K + s I`` in the 2-norm."""
        return float(self.spectrum.max() / self.spectrum.min())

    def predict(self, query_fit: Array, query_variance: Array) -> tuple[Array, Array]:
        """Predictive mean and variance of observations at query points, each by itself (marginal).

        Args:
            query_fit: ``q x n`` kernel values, without amplitude.
            query_variance: ``q`` kernel values of each query point with itself, without amplitude.

        Returns:
            ``q`` means and ``q`` variances, which hold the noise.
        """
        rotated = query_fit @ self.eigenvectors
        mean = self.amplitude * (rotated @ (self.projected / self.spectrum))
        explained = self.amplitude**2 * (rotated**2 @ np.reciprocal(self.spectrum))
        variance = self.amplitude * query_variance + self.noise - explained
        return mean, np.maximum(variance, VARIANCE_FLOOR)


def fit_likelihood(gram: Array, targets: Array) -> LikelihoodFit:
    """Fit amplitude and noise by marginal likelihood.

    Args:
        gram: ``n x n`` Gram matrix; symmetrized here.
        targets: ``n`` standardized targets.

    Raises:
        FitError: for a matrix that is not finite, or never positive definite with the noise.
    """
    symmetric = 0.5 * (gram + gram.T)
    if not np.isfinite(symmetric).all():
        raise FitError(f"Expected a Gram matrix that can be fitted. Got one where {NOT_DEFINITE}.")
    values, vectors = (part.numpy() for part in torch.linalg.eigh(torch.from_numpy(np.ascontiguousarray(symmetric))))
    projected = targets @ vectors
    squares = projected**2

    def loss(amplitude: Array, noise: Array) -> Array:
        spectrum = amplitude[:, None] * values + noise[:, None]
        good = (spectrum > 0.0).all(-1)
        spectrum = np.where(good[:, None], spectrum, 1.0)
        found = 0.5 * ((squares / spectrum).sum(-1) + np.log(spectrum).sum(-1) + len(values) * math.log(2.0 * math.pi))
        return np.where(good, found, np.inf)

    def with_gradient(logs: Array) -> tuple[float, Array]:
        amplitude, noise = np.exp(logs)
        spectrum = amplitude * values + noise
        if not (spectrum > 0.0).all():
            return 1e10, np.zeros(2)
        slope = 0.5 * (1.0 / spectrum - squares / spectrum**2)
        gradient = np.array([amplitude * float(slope @ values), noise * float(slope.sum())])
        return float(loss(np.array([amplitude]), np.array([noise]))[0]), gradient

    losses = loss(_GRID[:, 0], _GRID[:, 1])
    start = _GRID[int(losses.argmin())]
    if not np.isfinite(losses.min()):
        raise FitError(f"Expected a Gram matrix that can be fitted. Got one where {NOT_DEFINITE}.")
    climbed = minimize(with_gradient, np.log(start), jac=True, method="L-BFGS-B", bounds=_BOUNDS)
    best = np.exp(climbed.x) if climbed.fun < losses.min() else start
    value = float(loss(best[:1], best[1:])[0])
    return LikelihoodFit(float(best[0]), float(best[1]), -value, values, vectors, projected)


def row_loss(kernel: EmbeddedKernel, group: LikelihoodGroup) -> Tensor:
    """Minus the log marginal likelihood a row, at its best amplitude and noise, with gradient in what the kernel depends on.

    Amplitude and noise are held where they are best, which leaves the gradient right (the envelope theorem).

    Returns:
        One number, as a vector.

    Raises:
        FitError: when the Gram matrix cannot be fitted.
        SandboxFailure: when the kernel's program gives no value.
    """
    with torch.no_grad():
        embedding = kernel.embed(group.points)
        fit = fit_likelihood(kernel.cross(embedding, embedding).numpy(), group.targets.numpy())
    count = len(group.targets)
    if not torch.is_grad_enabled():
        return torch.tensor([-fit.log_marginal / count], dtype=torch.float64)
    amplitude, noise = (torch.tensor(value, dtype=torch.float64) for value in (fit.amplitude, fit.noise))
    return -log_marginal(kernel, group.points, group.targets, amplitude, noise)[None] / count

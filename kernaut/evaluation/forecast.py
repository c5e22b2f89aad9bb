"""Predictions of one episode, as they are before scoring: for figures, residuals and tests whose targets lie elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import ndtr

from kernaut.episodes.episode import Episode
from kernaut.errors import FitError, InputError
from kernaut.fitting.conditioning import predict_after
from kernaut.fitting.embedding import EmbeddedKernel, rows
from kernaut.fitting.grid import GRID, NOT_DEFINITE, fit_grid
from kernaut.fitting.group import EpisodeGroup
from kernaut.fitting.likelihood import LikelihoodGroup
from kernaut.fitting.prefixes import PrefixGroup, fit_prefixes, predict_prefix, stack_episodes

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Forecast:
    """Marginal Gaussian predictions of observations at an episode's queries.

    Args:
        episode: the episode.
        mean: ``q``, standardized as the episode's targets are.
        sd: ``q`` standard deviations, likewise.
        amplitude: fitted signal variance.
        noise: fitted noise variance.
    """

    episode: Episode
    mean: Array
    sd: Array
    amplitude: float
    noise: float

    def in_units(self) -> tuple[Array, Array, Array]:
        """Means, standard deviations and true values in the benchmark's units, ``q`` each."""
        scale, shift = self.episode.target_scale, self.episode.target_mean
        return self.mean * scale + shift, self.sd * scale, self.episode.query_targets * scale + shift

    def pit(self) -> Array:
        """Probability integral transforms of the true values, ``q``: uniform on [0, 1] where predictions are calibrated."""
        return np.asarray(ndtr((self.episode.query_targets - self.mean) / self.sd))

    def residuals(self) -> Array:
        """True values minus means, in predictive standard deviations, ``q``."""
        return np.asarray((self.episode.query_targets - self.mean) / self.sd)


@torch.no_grad()
def forecast(kernel: EmbeddedKernel, episode: Episode) -> Forecast:
    """Fit amplitude and noise of an episode and predict its queries; query targets are not looked at.

    Args:
        kernel: frozen; any kernel that embeds.
        episode: any episode.

    Raises:
        InputError: for an episode without queries.
        FitError: when no grid point has a positive definite matrix.
        SandboxFailure: when the kernel's program gives no value.
    """
    (group,) = stack_episodes([episode])
    if isinstance(group, LikelihoodGroup):
        raise InputError(f"Expected an episode with queries. Got {episode.name}, which has none.")
    embedding = kernel.embed(group.points)
    if isinstance(group, PrefixGroup):
        fit = fit_prefixes(kernel.cross(embedding, embedding).numpy(), group)
        if fit is not None:
            mean, variance = predict_prefix(fit, group, 0, kernel.diagonal(embedding).numpy())
            return Forecast(episode, mean, np.sqrt(variance), *GRID[int(fit.chosen[0])])
        (group,) = group.alone()
    return _by_eigenvectors(kernel, episode, group)


def _by_eigenvectors(kernel: EmbeddedKernel, episode: Episode, group: EpisodeGroup) -> Forecast:
    embedding = kernel.embed(group.points)
    count, seen = group.fit_count, group.context_targets.shape[-1]
    fitting, later = rows(embedding, 0, count), rows(embedding, count, group.points.shape[-2])
    fit = fit_grid(kernel.cross(fitting, fitting).numpy(), group.fit_targets.numpy())
    if fit.failed.any():
        raise FitError(f"Expected an episode that can be fitted. Got {episode.name}: {NOT_DEFINITE}.")
    mean, variance = predict_after(
        fit,
        kernel.cross(later, fitting).numpy(),
        kernel.cross(rows(later, 0, seen), later).numpy(),
        kernel.diagonal(later).numpy(),
        group.context_targets.numpy(),
    )
    return Forecast(episode, mean[0], np.sqrt(variance[0]), float(fit.amplitude[0]), float(fit.noise[0]))

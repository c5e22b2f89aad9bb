"""Kernels fitted to episodes: what an operator of domain ``kernels`` may see of a fit, and the hidden scores beside it.

Shapes: ``S`` kernels, ``n`` fitting and ``q`` query points of one episode.  Leave-one-out predictions are closed form from the inverse of the fitting matrix.
Reference: Rasmussen and Williams (2006), equations 5.10 to 5.12 (leave-one-out), 2.25 and 2.26.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from numpy.typing import NDArray

from kernaut.episodes.episode import Episode
from kernaut.errors import KernautError
from kernaut.evaluation.subject import Subject
from kernaut.fitting.embedding import rows
from kernaut.fitting.grid import fit_grid, predict
from kernaut.fitting.group import EpisodeGroup
from kernaut.kernels.kernel import KernautKernel
from kernaut.program.closure import Resolve
from kernaut.scoring.predictive import crps_gaussian

Array = NDArray[np.float64]

FAILED_CRPS = 2.0
"""What a failed fit scores."""


@dataclass(frozen=True, eq=False)
class EpisodeFits:
    """All kernels on one episode.

    Args:
        episode: the episode; its query targets are for scoring alone.
        alive: ``S`` flags: the fit succeeded.
        log_likelihood: ``S x 16``; -inf where a grid point was skipped.
        amplitude: ``S`` signal variances.
        noise: ``S`` noise variances.
        condition: ``S`` condition numbers (1-norm).
        mean: ``S x q`` predictive means.
        sd: ``S x q`` predictive standard deviations of observations.
        loo_mean: ``S x n`` leave-one-out means.
        loo_sd: ``S x n`` leave-one-out standard deviations.
        gram: ``S x (n + q) x (n + q)`` kernel values without amplitude; fitting points first.
    """

    episode: Episode
    alive: NDArray[np.bool_]
    log_likelihood: Array
    amplitude: Array
    noise: Array
    condition: Array
    mean: Array
    sd: Array
    loo_mean: Array
    loo_sd: Array
    gram: Array

    @property
    def best_log_likelihood(self) -> Array:
        """``S`` log marginal likelihoods; -inf for failed fits."""
        return np.where(self.alive, self.log_likelihood.max(-1), -np.inf)


def crps_of(fits: EpisodeFits) -> Array:
    """``S`` mean CRPS on the episode's queries; failed fits score the penalty."""
    scores = crps_gaussian(fits.mean, fits.sd, np.broadcast_to(fits.episode.query_targets, fits.mean.shape)).mean(-1)
    return np.where(fits.alive, scores, FAILED_CRPS)


def only(fits: Sequence[EpisodeFits], places: Sequence[int]) -> list[EpisodeFits]:
    """The same fits with some of the kernels."""
    keep = list(places)
    arrays = [field.name for field in fields(EpisodeFits) if field.name != "episode"]
    return [replace(record, **{name: getattr(record, name)[keep] for name in arrays}) for record in fits]


def fit_subjects(
    subjects: Sequence[Subject],
    episodes: Sequence[Episode],
    *,
    resolve: Resolve | None = None,
    done: Callable[[int, int], None] | None = None,
) -> list[EpisodeFits]:
    """Fit every kernel to every episode.

    Args:
        subjects: kernels; one that does not assemble or predict counts as failed on its episodes.
        episodes: episodes without context observations.
        resolve: looks up program leaves.
        done: called with kernels done and their number.

    Returns:
        One record an episode, in the order given.
    """
    groups = EpisodeGroup.stack(episodes)
    blank = [_Blank(len(subjects), episode) for episode in episodes]
    for number, subject in enumerate(subjects):
        try:
            kernel = subject.kernel(resolve=resolve)
        except KernautError:
            continue
        for group in groups:
            _fit_group(kernel, group, number, blank)
        kernel.close()
        if done is not None:
            done(number + 1, len(subjects))
    return [record.fits() for record in blank]


class _Blank:
    """Arrays of one episode, filled kernel by kernel."""

    def __init__(self, count: int, episode: Episode) -> None:
        n, q = len(episode.fit_targets), len(episode.query_targets)
        self.episode = episode
        self.alive = np.zeros(count, dtype=bool)
        self.log_likelihood = np.full((count, 16), -np.inf)
        self.scalars = np.ones((3, count))
        self.query = np.zeros((2, count, q))
        self.loo = np.zeros((2, count, n))
        self.gram = np.zeros((count, n + q, n + q))
        self.query[1] = self.loo[1] = 1.0

    def fits(self) -> EpisodeFits:
        amplitude, noise, condition = self.scalars
        return EpisodeFits(
            episode=self.episode,
            alive=self.alive,
            log_likelihood=self.log_likelihood,
            amplitude=amplitude,
            noise=noise,
            condition=condition,
            mean=self.query[0],
            sd=self.query[1],
            loo_mean=self.loo[0],
            loo_sd=self.loo[1],
            gram=self.gram,
        )


@torch.no_grad()
def _fit_group(kernel: KernautKernel, group: EpisodeGroup, number: int, blank: list[_Blank]) -> None:
    try:
        embedded = kernel.embed(group.points)
        gram = kernel.cross(embedded, embedded).numpy()
        variance = kernel.diagonal(rows(embedded, group.fit_count, group.points.shape[-2])).numpy()
    except KernautError:
        if len(group) > 1:
            for place in range(len(group)):
                _fit_group(kernel, group.take([place]), number, blank)
        return
    n = group.fit_count
    targets = group.fit_targets.numpy()
    fit = fit_grid(gram[:, :n, :n], targets)
    mean, spread = predict(fit, gram[:, n:, :n], variance)
    inverse = (fit.eigenvectors / fit.spectrum[:, None, :]) @ fit.eigenvectors.swapaxes(-1, -2)
    loo_variance = 1.0 / np.maximum(np.diagonal(inverse, axis1=-2, axis2=-1), 1e-12)
    loo_mean = targets - (inverse @ targets[..., None])[..., 0] * loo_variance
    condition = fit.condition()
    for place, index in enumerate(group.indices):
        record = blank[index]
        finite = np.isfinite(mean[place]).all() and np.isfinite(spread[place]).all() and np.isfinite(gram[place]).all()
        if fit.failed[place] or not finite:
            continue
        record.alive[number] = True
        record.log_likelihood[number] = fit.log_likelihood[place]
        record.scalars[:, number] = fit.amplitude[place], fit.noise[place], condition[place]
        record.query[:, number] = mean[place], np.sqrt(spread[place])
        record.loo[:, number] = loo_mean[place], np.sqrt(loo_variance[place])
        record.gram[number] = gram[place]

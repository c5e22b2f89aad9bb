"""Kernels on fewer coordinates: every kernel fitted again with one or two coordinates left out, weighed by marginal likelihood.

A frozen kernel sees one point at a time and cannot learn that a coordinate is irrelevant on this episode; a likelihood over subsets of coordinates can.  A priori zero, one
or two coordinates are left out with equal probability, and subsets of one size are equally likely.  Reference: Bayesian variable selection, as in Linkletter et al. (2006),
"Variable selection for Gaussian process models in computer experiments".

Shapes: ``S`` kernels, ``B`` subsets of ``d`` coordinates, ``q`` query points of one episode.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb, log

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kernaut.episodes.episode import Episode
from kernaut.errors import KernautError
from kernaut.evaluation.subject import Subject
from kernaut.fitting.embedding import rows
from kernaut.fitting.grid import fit_grid, predict
from kernaut.fitting.group import EpisodeGroup
from kernaut.kernels.kernel import KernautKernel
from kernaut.operators.kernels.mixture import likelihood_weights
from kernaut.program.closure import Resolve

Array = NDArray[np.float64]
Dropped = tuple[int, ...]

MOST_DROPPED = 2
MOST_SUBSETS = 150
"""Above it (16 coordinates) single coordinates alone are left out."""
MOST_COMPONENTS = 64
"""A mixture has as many components of largest weight at most; 128 change its CRPS in the fourth digit."""


def dropped_sets(dimension: int) -> tuple[Dropped, ...]:
    """The subsets of coordinates to leave out, none first; at least one coordinate stays."""
    most = min(MOST_DROPPED, dimension - 1)
    if sum(comb(dimension, count) for count in range(most + 1)) > MOST_SUBSETS:
        most = 1
    return tuple(dropped for count in range(most + 1) for dropped in combinations(range(dimension), count))


@dataclass(frozen=True, eq=False)
class CoordinateFits:
    """All kernels on all subsets of one episode's coordinates.

    Args:
        dropped: ``B`` subsets of coordinates left out, none first.
        log_likelihood: ``S x B``; -inf for failed fits.
        mean: ``S x B x q`` predictive means.
        sd: ``S x B x q`` predictive standard deviations of observations.
    """

    dropped: tuple[Dropped, ...]
    log_likelihood: Array
    mean: Array
    sd: Array

    @cached_property
    def log_prior(self) -> Array:
        """``B`` log prior probabilities of the subsets."""
        sizes = [len(dropped) for dropped in self.dropped]
        return np.array([-log(len(set(sizes))) - log(sizes.count(size)) for size in sizes])

    def weights(self, kept: NDArray[np.bool_]) -> Array:
        """``S x B`` posterior weights among the kept kernels (all, when none of them could be fitted), 0 but for the 64 largest.

        Args:
            kept: ``S`` flags.
        """
        prior = np.exp(np.broadcast_to(self.log_prior, self.log_likelihood.shape)).ravel()
        chosen = np.repeat(kept, len(self.dropped))
        weights = likelihood_weights(self.log_likelihood.ravel(), chosen, prior)
        weights[np.argsort(-weights, kind="stable")[MOST_COMPONENTS:]] = 0.0
        return np.asarray(weights / weights.sum()).reshape(self.log_likelihood.shape)

    def relevance(self, weights: Array) -> Array:
        """``d`` posterior probabilities that a coordinate matters.

        Args:
            weights: ``S x B``, of :meth:`weights`.
        """
        dimension = 1 + max((max(dropped, default=0) for dropped in self.dropped), default=0)
        share = weights.sum(0)
        return np.array(
            [
                1.0 - sum(w for w, dropped in zip(share, self.dropped, strict=True) if i in dropped)
                for i in range(dimension)
            ]
        )


def fit_coordinates(
    subjects: Sequence[Subject],
    episodes: Sequence[Episode],
    *,
    resolve: Resolve | None = None,
) -> list[CoordinateFits]:
    """Fit every kernel to every subset of every episode's coordinates.

    Args:
        subjects: kernels; one that does not assemble, or gives no value for fewer coordinates, counts as failed there.
        episodes: episodes without context observations.
        resolve: looks up program leaves.

    Returns:
        One record an episode, in the order given.
    """
    found = [_blank(len(subjects), episode) for episode in episodes]
    groups = EpisodeGroup.stack(episodes)
    for number, subject in enumerate(subjects):
        try:
            kernel = subject.kernel(resolve=resolve)
        except KernautError:
            continue
        for group in groups:
            sets = dropped_sets(group.dimension)
            for size in sorted({len(dropped) for dropped in sets}):
                places = [place for place, dropped in enumerate(sets) if len(dropped) == size]
                _fit(kernel, group, number, [(place, sets[place]) for place in places], found)
        kernel.close()
    return found


def _blank(count: int, episode: Episode) -> CoordinateFits:
    sets = dropped_sets(episode.fit_inputs.shape[1])
    shape = (count, len(sets), len(episode.query_targets))
    return CoordinateFits(sets, np.full(shape[:2], -np.inf), np.zeros(shape), np.ones(shape))


@torch.no_grad()
def _fit(
    kernel: KernautKernel,
    group: EpisodeGroup,
    number: int,
    sets: Sequence[tuple[int, Dropped]],
    found: list[CoordinateFits],
) -> None:
    """One kernel on the subsets of one size, all episodes of a group in one request; halved where the kernel gives no value."""
    kept = [[c for c in range(group.dimension) if c not in dropped] for _, dropped in sets]
    points = torch.cat([group.points[..., columns] for columns in kept])
    n, count = group.fit_count, len(group)
    try:
        gram, variance = _gram(kernel, points, n)
    except KernautError:
        if len(sets) > 1:
            _fit(kernel, group, number, sets[: len(sets) // 2], found)
            _fit(kernel, group, number, sets[len(sets) // 2 :], found)
        elif count > 1:
            for place in range(count):
                _fit(kernel, group.take([place]), number, sets, found)
        return
    fit = fit_grid(gram[:, :n, :n].numpy(), group.fit_targets.repeat(len(sets), 1).numpy())
    mean, spread = predict(fit, gram[:, n:, :n].numpy(), variance.numpy())
    usable = ~fit.failed & np.isfinite(mean).all(-1) & np.isfinite(spread).all(-1)
    best = fit.log_likelihood.max(-1)
    for row in np.flatnonzero(usable).tolist():
        place, record = sets[row // count][0], found[group.indices[row % count]]
        record.log_likelihood[number, place] = best[row]
        record.mean[number, place], record.sd[number, place] = mean[row], np.sqrt(spread[row])


def _gram(kernel: KernautKernel, points: Tensor, n: int) -> tuple[Tensor, Tensor]:
    embedded = kernel.embed(points)
    cross = kernel.cross(embedded, rows(embedded, 0, n))
    return cross, kernel.diagonal(rows(embedded, n, points.shape[-2]))

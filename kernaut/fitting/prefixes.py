"""Long episodes, by ten Cholesky factors: one Gram matrix serves all episodes whose points are prefixes of one sequence, such as the windows of a monthly record.

The likelihood of the grid depends on amplitude a and noise s through ``a (K + r I)`` with ``r = s / a``, of which the sixteen grid points have ten values.  The Cholesky
factor of a leading block is the leading block of the factor, and forward substitution of a prefix is the prefix of forward substitution.  So ten factors of the
longest matrix and one triangular solve each give every likelihood of every window, and the rows of a factor that belong to queries are what predictions need: they
condition on all points before, context points included.  Even for one episode ten factors are cheaper than an eigendecomposition.

Shapes: ``N`` points, ``E`` episodes of ``n_e`` fitting, ``c_e`` context and ``q_e`` query points, in this order, ``n_e + c_e + q_e <= N``.  Reference: Rasmussen and Williams (2006), algorithm 2.1.

Measured on one core for 90 windows of three records (N about 500): 0.6 s of processor time, of which 0.35 s are condition numbers; 8.8 s by one eigendecomposition a window.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from scipy.linalg.lapack import dpotri
from torch import Tensor

from kernaut.episodes.episode import Episode
from kernaut.fitting.grid import GRID, VARIANCE_FLOOR
from kernaut.fitting.group import EpisodeGroup
from kernaut.fitting.likelihood import LikelihoodGroup

Array = NDArray[np.float64]

LONG = 100
"""Fewest fitting points from which ten factors cost less than one eigendecomposition."""
RATIOS = tuple(sorted({round(s / a, 12): s / a for a, s in GRID}.values()))
"""Noise over amplitude of the grid points, each value once."""
RATIO_OF = tuple(min(range(len(RATIOS)), key=lambda i: abs(RATIOS[i] - s / a)) for a, s in GRID)
"""For each grid point, its place in :data:`RATIOS`."""
_SAFE = 100.0 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class PrefixGroup:
    """Episodes whose points (fitting, context, query) are prefixes of one sequence.

    Args:
        indices: the place of each episode in the sequence that was stacked.
        episodes: ``E`` episodes.
        points: ``N x d``, those of the longest.
        targets: ``N x E`` fitting and context targets, zeros after each episode's own.
    """

    indices: tuple[int, ...]
    episodes: tuple[Episode, ...]
    points: Tensor
    targets: Array

    def __len__(self) -> int:
        return len(self.episodes)

    @property
    def counts(self) -> tuple[int, ...]:
        """Fitting points of each episode."""
        return tuple(len(episode.fit_targets) for episode in self.episodes)

    def alone(self) -> list[EpisodeGroup]:
        """Each episode in a group of its own, in order, for what cannot be shared."""
        return [
            EpisodeGroup.stack([episode])[0].relabelled((index,))
            for index, episode in zip(self.indices, self.episodes, strict=True)
        ]


Group = EpisodeGroup | PrefixGroup | LikelihoodGroup


def stack_episodes(episodes: Sequence[Episode]) -> list[Group]:
    """Group episodes for batched calculation: long ones by common points, all others by equal size.

    Args:
        episodes: any episodes.

    Returns:
        Groups that hold each episode once: those without queries, then those of prefixes, then the others.
    """
    lone = [LikelihoodGroup.of(i, episode) for i, episode in enumerate(episodes) if not len(episode.query_targets)]
    families: list[list[int]] = []
    points = {i: _points(e) for i, e in enumerate(episodes) if len(e.fit_targets) >= LONG and len(e.query_targets)}
    for index in sorted(points, key=lambda i: (-len(points[i]), i)):
        home = next((f for f in families if _is_prefix(points[index], points[f[0]])), None)
        if home is None:
            families.append([index])
        else:
            home.append(index)
    groups: list[Group] = [*lone]
    groups += [_prefix_group(sorted(f), points[f[0]], episodes) for f in sorted(families, key=min)]
    rest = [index for index, e in enumerate(episodes) if index not in points and len(e.query_targets)]
    for group in EpisodeGroup.stack([episodes[index] for index in rest]):
        groups.append(group.relabelled(tuple(rest[place] for place in group.indices)))
    return groups


@dataclass(frozen=True, eq=False)
class PrefixFit:
    """The grid point of largest marginal likelihood of each episode, and the factors behind it.

    Args:
        chosen: ``E`` indices into the grid.
        log_likelihood: ``E x 16``.
        gram: ``N x N``, symmetrized.
        factors: lower Cholesky factors ``N x N`` of ``K + r I``, one for each of :data:`RATIOS`.
        solved: for each ratio, ``N x E``: the factor's inverse times the targets.
    """

    chosen: NDArray[np.int64]
    log_likelihood: Array
    gram: Array
    factors: tuple[Array, ...]
    solved: tuple[Array, ...]

    @property
    def ratio(self) -> NDArray[np.int64]:
        """``E`` places of the chosen grid points in :data:`RATIOS`."""
        return np.array(RATIO_OF)[self.chosen]


def fit_prefixes(gram: Array, group: PrefixGroup) -> PrefixFit | None:
    """Fit amplitude and noise of every episode of a group.

    Args:
        gram: ``N x N`` kernel matrix of the group's points; symmetrized here.
        group: the episodes.

    Returns:
        The fit; None when some matrix is not positive definite beyond doubt, and each episode needs its own eigendecomposition.
    """
    gram = np.asfortranarray(0.5 * (gram + gram.T))
    total = float(np.trace(gram))
    if not np.isfinite(gram).all() or not _SAFE * total < RATIOS[0]:
        return None
    counts = np.array(group.counts)
    pick = np.arange(len(counts))
    factors, solved = [], []
    misfit, determinant = np.empty((len(RATIOS), len(counts))), np.empty((len(RATIOS), len(counts)))
    for place, ratio in enumerate(RATIOS):
        shifted = gram.copy(order="F")
        shifted[np.diag_indices_from(shifted)] += ratio
        try:
            factor = cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            return None
        white = solve_triangular(factor, group.targets, lower=True, check_finite=False)
        misfit[place] = np.cumsum(white**2, axis=0)[counts - 1, pick]
        determinant[place] = 2.0 * np.cumsum(np.log(np.diagonal(factor)))[counts - 1]
        factors.append(factor)
        solved.append(white)
    amplitude = np.array([a for a, _ in GRID])[:, None]
    order = list(RATIO_OF)
    constant = counts * (np.log(amplitude) + math.log(2.0 * math.pi))
    likelihood = (-0.5 * (misfit[order] / amplitude + determinant[order] + constant)).T
    return PrefixFit(likelihood.argmax(-1), likelihood, gram, tuple(factors), tuple(solved))


def predict_prefix(fit: PrefixFit, group: PrefixGroup, place: int, variances: Array) -> tuple[Array, Array]:
    """Predictive mean and variance of observations at one episode's query points, each by itself (marginal).

    Args:
        fit: of the group.
        group: the episodes.
        place: which of them.
        variances: ``N`` kernel values of each point with itself, without amplitude.

    Returns:
        Means and variances, ``q`` each; variances hold the noise and are at least 1e-10.
    """
    amplitude, noise = GRID[fit.chosen[place]]
    factor, white = fit.factors[fit.ratio[place]], fit.solved[fit.ratio[place]]
    episode = group.episodes[place]
    start, stop = query_rows(episode)
    rows = factor[start:stop, :start]
    variance = amplitude * (variances[start:stop] - (rows**2).sum(-1)) + noise
    return rows @ white[:start, place], np.maximum(variance, VARIANCE_FLOOR)


def query_rows(episode: Episode) -> tuple[int, int]:
    """First row of an episode's queries in its sequence, and the row after the last."""
    start = len(episode.fit_targets) + len(episode.context[1])
    return start, start + len(episode.query_targets)


def prefix_condition(fit: PrefixFit, place: int, count: int) -> float:
    """Condition number in the 1-norm of ``a K + s I`` at one episode's chosen grid point.

    Args:
        fit: of the group.
        place: which episode.
        count: its fitting points.
    """
    ratio = fit.ratio[place]
    inverse, info = dpotri(fit.factors[ratio][:count, :count].copy(order="F"), lower=1, overwrite_c=1)
    assert info == 0
    size = np.abs(inverse)
    columns = size.sum(0) + size.sum(1) - np.diagonal(size)
    known = fit.gram[:count, :count]
    diagonal = np.diagonal(known)
    return float((np.abs(known).sum(0) - np.abs(diagonal) + np.abs(diagonal + RATIOS[ratio])).max() * columns.max())


def _prefix_group(indices: Sequence[int], points: Array, episodes: Sequence[Episode]) -> PrefixGroup:
    chosen = tuple(episodes[index] for index in indices)
    targets = np.zeros((len(points), len(chosen)))
    for place, episode in enumerate(chosen):
        known = np.concatenate([episode.fit_targets, episode.context[1]])
        targets[: len(known), place] = known
    return PrefixGroup(tuple(indices), chosen, torch.from_numpy(points), targets)


def _points(episode: Episode) -> Array:
    return np.concatenate([episode.fit_inputs, episode.context[0], episode.query_inputs])


def _is_prefix(short: Array, long: Array) -> bool:
    return short.shape[1] == long.shape[1] and np.array_equal(short, long[: len(short)])

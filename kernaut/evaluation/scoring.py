"""One kernel on many episodes, or on many optimization tasks: an outcome for each, whatever happens.

All episodes of equal size are scored in one batch: embed, covariances, eigendecompositions, predictions, scores.  Long episodes with shared points share their
covariances and factors (:mod:`kernaut.fitting.prefixes`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from kernaut.episodes.episode import Episode, RolloutTask
from kernaut.errors import InputError, KernautError, SandboxFailure
from kernaut.evaluation.likelihood_scoring import score_likelihood
from kernaut.evaluation.normalized import normalized
from kernaut.evaluation.outcome import Outcome, failure
from kernaut.evaluation.prefix_scoring import score_prefixes
from kernaut.fitting.conditioning import predict_after
from kernaut.fitting.embedding import EmbeddedKernel, rows
from kernaut.fitting.grid import NOT_DEFINITE, NOT_FINITE, GridFit, fit_grid, predict
from kernaut.fitting.group import EpisodeGroup
from kernaut.fitting.likelihood import LikelihoodGroup
from kernaut.fitting.prefixes import Group, PrefixGroup, stack_episodes
from kernaut.fitting.rollout import CANDIDATES, STEPS, RolloutGroup, rollout_group, rollout_groups
from kernaut.scoring.predictive import predictive_scores
from kernaut.scoring.regret import final_regret, regret_auc, regret_curve

Array = NDArray[np.float64]


def score_predictive(kernel: EmbeddedKernel, episodes: Sequence[Episode] | Sequence[Group]) -> list[Outcome]:
    """Fit amplitude and noise of each episode, predict its queries and score them.

    Args:
        kernel: frozen; any kernel that embeds.
        episodes: episodes, or groups of them that were stacked before (cheaper when many kernels are scored).

    Returns:
        One outcome for each episode, in the order given.
    """
    found: dict[int, Outcome] = {}
    predicted: dict[int, list[_Predicted]] = {}
    for group in episode_groups(episodes):
        for single in _without_prefixes(kernel, group, found):
            for part in _predict_group(kernel, single, found):
                predicted.setdefault(part.mean.shape[-1], []).append(part)
    for parts in predicted.values():
        _score(parts, found)
    return [found[index] for index in sorted(found)]


def score_rollouts(
    kernel: EmbeddedKernel,
    tasks: Sequence[RolloutTask] | Sequence[RolloutGroup],
    steps: int = STEPS,
    candidates: int = CANDIDATES,
) -> list[Outcome]:
    """Optimize each task with the kernel and score its regret.

    Args:
        kernel: frozen; any kernel that embeds.
        tasks: tasks, or groups of them that were stacked before (``steps`` and ``candidates`` are then the groups').
        steps: queries of each task.
        candidates: fresh candidates a step.

    Returns:
        One outcome for each task, in the order given.
    """
    found: dict[int, Outcome] = {}
    for group in rollout_groups(tasks, steps, candidates):
        found |= zip(group.indices, _run_group(kernel, group), strict=True)
    return [found[index] for index in sorted(found)]


def episode_groups(episodes: Sequence[Episode] | Sequence[Group]) -> list[Group]:
    """Stack episodes; groups pass through unchanged.

    Raises:
        InputError: for a mixture of both.
    """
    loose = [episode for episode in episodes if isinstance(episode, Episode)]
    ready = [group for group in episodes if isinstance(group, (EpisodeGroup, PrefixGroup, LikelihoodGroup))]
    if loose and ready:
        raise InputError("Expected either episodes or stacked groups of them. Got both.")
    return ready or stack_episodes(loose)


def _without_prefixes(kernel: EmbeddedKernel, group: Group, found: dict[int, Outcome]) -> list[EpisodeGroup]:
    """What remains to be scored of a group: nothing of windows that share their factors, whose outcomes are written to ``found``."""
    if isinstance(group, LikelihoodGroup):
        found[group.indices[0]] = score_likelihood(kernel, group)
        return []
    if not isinstance(group, PrefixGroup):
        return [group]
    try:
        scored = score_prefixes(kernel, group)
    except KernautError as error:
        if not _ended(error):
            return group.alone()
        scored = dict(zip(group.indices, (failure(e.name, e.family, error) for e in group.episodes), strict=True))
    found |= scored or {}
    return group.alone() if scored is None else []


@dataclass(frozen=True, eq=False)
class _Predicted:
    """Predictions of ``E`` episodes with ``q`` queries, and the fits behind them."""

    group: EpisodeGroup
    fit: GridFit
    mean: Array
    variance: Array


def _predict_group(kernel: EmbeddedKernel, group: EpisodeGroup, found: dict[int, Outcome]) -> list[_Predicted]:
    """Predictions of a group; when the batch raises, each episode is tried by itself, so that one bad point fails one episode.

    Episodes that fail are written to ``found``.
    """
    try:
        return [_predicted(kernel, group)]
    except KernautError as error:
        if len(group) > 1 and not _ended(error):
            singles = (group.take([place]) for place in range(len(group)))
            return [part for single in singles for part in _predict_group(kernel, single, found)]
        for index, episode in zip(group.indices, group.episodes, strict=True):
            found[index] = failure(episode.name, episode.family, error)
        return []


@torch.no_grad()
def _predicted(kernel: EmbeddedKernel, group: EpisodeGroup) -> _Predicted:
    embedding = kernel.embed(group.points)
    count, total = group.fit_count, group.points.shape[-2]
    fitting, later = rows(embedding, 0, count), rows(embedding, count, total)
    fit = fit_grid(kernel.cross(fitting, fitting).numpy(), group.fit_targets.numpy())
    cross, variances = kernel.cross(later, fitting).numpy(), kernel.diagonal(later).numpy()
    seen = group.context_targets.shape[-1]
    if seen:
        prior = kernel.cross(rows(later, 0, seen), later).numpy()
        mean, variance = predict_after(fit, cross, prior, variances, group.context_targets.numpy())
    else:
        mean, variance = predict(fit, cross, variances)
    return _Predicted(group, fit, mean, variance)


def _score(parts: Sequence[_Predicted], found: dict[int, Outcome]) -> None:
    """Score predictions with equally many queries in one pass; outcomes are written to ``found``."""
    mean = np.concatenate([part.mean for part in parts])
    variance = np.concatenate([part.variance for part in parts])
    failed = np.concatenate([part.fit.failed for part in parts])
    targets = np.concatenate([part.group.query_targets.numpy() for part in parts])
    good = np.asarray(np.isfinite(mean).all(-1) & np.isfinite(variance).all(-1) & ~failed)
    if not good.all():
        mean, variance = np.where(good[:, None], mean, 0.0), np.where(good[:, None], variance, 1.0)
    scores = _rows(predictive_scores(mean, np.sqrt(variance), targets))
    fits = _rows(
        {
            "amplitude": np.concatenate([part.fit.amplitude for part in parts]),
            "noise": np.concatenate([part.fit.noise for part in parts]),
            "log_marginal": np.concatenate([part.fit.best_log_likelihood for part in parts]),
            "condition": np.concatenate([part.fit.condition() for part in parts]),
        }
    )
    places = [pair for part in parts for pair in zip(part.group.indices, part.group.episodes, strict=True)]
    for row, (index, episode) in enumerate(places):
        if good[row]:
            found[index] = Outcome(
                episode.name,
                episode.family,
                "scored",
                scores[row] | normalized(episode, scores[row]["rmse"]),
                fits[row],
            )
        else:
            reason = NOT_DEFINITE if failed[row] else NOT_FINITE
            found[index] = Outcome(episode.name, episode.family, "failed", reason=reason)


def _run_group(kernel: EmbeddedKernel, group: RolloutGroup) -> list[Outcome]:
    """Outcomes in the group's order; tasks are tried one by one when the batch raises."""
    try:
        traces = rollout_group(kernel, group)
    except KernautError as error:
        if len(group.tasks) == 1 or _ended(error):
            return [failure(task.name, task.family, error) for task in group.tasks]
        return [outcome for place in range(len(group.tasks)) for outcome in _run_group(kernel, group.take([place]))]
    outcomes = []
    for task, trace in zip(group.tasks, traces, strict=True):
        if trace.reason is not None:
            outcomes.append(Outcome(task.name, task.family, "failed", reason=trace.reason))
            continue
        curve = regret_curve(trace.best, task.maximum)
        scores = {"regret_auc": float(regret_auc(curve)), "final_regret": float(final_regret(curve))}
        outcomes.append(Outcome(task.name, task.family, "scored", scores, {}, curve=tuple(curve.tolist())))
    return outcomes


def _ended(error: KernautError) -> bool:
    """Whether trying again cannot help: the child is dead, or the source was refused."""
    return isinstance(error, SandboxFailure) and error.state != "failed"


def _rows(columns: dict[str, Array]) -> list[dict[str, float]]:
    """Arrays of ``E`` numbers by name to ``E`` mappings of floats."""
    names = list(columns)
    return [dict(zip(names, row, strict=True)) for row in np.stack(list(columns.values()), axis=-1).tolist()]

"""One kernel on many episodes, or on many optimization tasks: an outcome for each, whatever happens.

All episodes of equal size are scored in one batch: embed, covariances, eigendecompositions, predictions, scores.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from kernaut.episodes.episode import Episode, RolloutTask
from kernaut.errors import InputError, KernautError, SandboxFailure
from kernaut.evaluation.outcome import Outcome, failure
from kernaut.fitting.embedding import EmbeddedKernel, rows
from kernaut.fitting.grid import NOT_DEFINITE, NOT_FINITE, fit_grid, predict
from kernaut.fitting.group import EpisodeGroup
from kernaut.fitting.rollout import CANDIDATES, STEPS, RolloutGroup, rollout_group, rollout_groups
from kernaut.scoring.predictive import predictive_scores
from kernaut.scoring.regret import final_regret, regret_auc, regret_curve

Array = NDArray[np.float64]


def score_predictive(kernel: EmbeddedKernel, episodes: Sequence[Episode] | Sequence[EpisodeGroup]) -> list[Outcome]:
    """Fit amplitude and noise of each episode, predict its queries and score them.

    Args:
        kernel: frozen; any kernel that embeds.
        episodes: episodes, or groups of them that were stacked before (cheaper when many kernels are scored).

    Returns:
        One outcome for each episode, in the order given.
    """
    groups = episode_groups(episodes)
    found: dict[int, Outcome] = {}
    for group in groups:
        found |= zip(group.indices, _score_group(kernel, group), strict=True)
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


def episode_groups(episodes: Sequence[Episode] | Sequence[EpisodeGroup]) -> list[EpisodeGroup]:
    """Stack episodes; groups pass through unchanged.

    Raises:
        InputError: for a mixture of both.
    """
    loose = [episode for episode in episodes if isinstance(episode, Episode)]
    ready = [group for group in episodes if isinstance(group, EpisodeGroup)]
    if loose and ready:
        raise InputError("Expected either episodes or stacked groups of them. Got both.")
    return ready or EpisodeGroup.stack(loose)


def _score_group(kernel: EmbeddedKernel, group: EpisodeGroup) -> list[Outcome]:
    """Outcomes in the group's order; when the batch raises, each episode is tried by itself, so that one bad point fails one episode."""
    try:
        return _scored(kernel, group)
    except KernautError as error:
        if len(group) == 1 or _ended(error):
            return [failure(episode.name, episode.family, error) for episode in group.episodes]
        return [outcome for place in range(len(group)) for outcome in _score_group(kernel, group.take([place]))]


@torch.no_grad()
def _scored(kernel: EmbeddedKernel, group: EpisodeGroup) -> list[Outcome]:
    embedding = kernel.embed(group.points)
    count, total = group.fit_count, group.points.shape[-2]
    fitting, queries = rows(embedding, 0, count), rows(embedding, count, total)
    fit = fit_grid(kernel.cross(fitting, fitting).numpy(), group.fit_targets.numpy())
    mean, variance = predict(fit, kernel.cross(queries, fitting).numpy(), kernel.diagonal(queries).numpy())
    finite = np.isfinite(mean).all(-1) & np.isfinite(variance).all(-1)
    good = np.asarray(finite & ~fit.failed)
    scores = predictive_scores(
        np.where(good[:, None], mean, 0.0), np.sqrt(np.where(good[:, None], variance, 1.0)), group.query_targets.numpy()
    )
    fits = {
        "amplitude": fit.amplitude,
        "noise": fit.noise,
        "log_marginal": fit.best_log_likelihood,
        "condition": fit.condition(),
    }
    score_rows = _rows(scores)
    fit_rows = _rows(fits)
    outcomes = []
    for place, episode in enumerate(group.episodes):
        if good[place]:
            outcomes.append(Outcome(episode.name, episode.family, "scored", score_rows[place], fit_rows[place]))
        else:
            reason = NOT_DEFINITE if fit.failed[place] else NOT_FINITE
            outcomes.append(Outcome(episode.name, episode.family, "failed", reason=reason))
    return outcomes


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

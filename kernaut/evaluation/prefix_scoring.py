"""Scores of windows of one sequence, from shared factors (:mod:`kernaut.fitting.prefixes`); the numbers are those of :mod:`kernaut.evaluation.scoring`."""

from __future__ import annotations

import numpy as np
import torch

from kernaut.evaluation.normalized import normalized
from kernaut.evaluation.outcome import Outcome
from kernaut.fitting.embedding import EmbeddedKernel
from kernaut.fitting.grid import GRID, NOT_FINITE
from kernaut.fitting.prefixes import PrefixGroup, fit_prefixes, predict_prefix, prefix_condition
from kernaut.scoring.predictive import predictive_scores


@torch.no_grad()
def score_prefixes(kernel: EmbeddedKernel, group: PrefixGroup) -> dict[int, Outcome] | None:
    """Fit, predict and score every window of a group.

    Args:
        kernel: frozen; any kernel that embeds.
        group: windows of one sequence.

    Returns:
        Outcomes by the windows' places; None where the shared matrix is not positive definite beyond doubt, and each window must be fitted by itself.

    Raises:
        SandboxFailure: when the kernel's program gives no value.
    """
    embedding = kernel.embed(group.points)
    fit = fit_prefixes(kernel.cross(embedding, embedding).numpy(), group)
    if fit is None:
        return None
    variances = kernel.diagonal(embedding).numpy()
    found = {}
    for place, (index, episode) in enumerate(zip(group.indices, group.episodes, strict=True)):
        mean, variance = predict_prefix(fit, group, place, variances)
        if not (np.isfinite(mean).all() and np.isfinite(variance).all()):
            found[index] = Outcome(episode.name, episode.family, "failed", reason=NOT_FINITE)
            continue
        scores = predictive_scores(mean[None], np.sqrt(variance)[None], episode.query_targets[None])
        amplitude, noise = GRID[fit.chosen[place]]
        numbers = {
            "amplitude": amplitude,
            "noise": noise,
            "log_marginal": float(fit.log_likelihood[place, fit.chosen[place]]),
            "condition": prefix_condition(fit, place, len(episode.fit_targets)),
        }
        by_name = {name: float(values[0]) for name, values in scores.items()}
        by_name |= normalized(episode, by_name["rmse"])
        found[index] = Outcome(episode.name, episode.family, "scored", by_name, numbers)
    return found

"""Score a kernel by the marginal likelihood of one data set: the outcome of an episode without queries."""

from __future__ import annotations

import torch

from kernaut.errors import KernautError
from kernaut.evaluation.outcome import Outcome, failure
from kernaut.fitting.embedding import EmbeddedKernel
from kernaut.fitting.likelihood import LikelihoodGroup, fit_likelihood


@torch.no_grad()
def score_likelihood(kernel: EmbeddedKernel, group: LikelihoodGroup) -> Outcome:
    """The outcome of the group's episode: ``nlml``, minus the log marginal likelihood a row; a failure where it cannot be fitted."""
    (episode,) = group.episodes
    try:
        embedding = kernel.embed(group.points)
        fit = fit_likelihood(kernel.cross(embedding, embedding).numpy(), group.targets.numpy())
    except KernautError as error:
        return failure(episode.name, episode.family, error)
    numbers = {
        "amplitude": fit.amplitude,
        "noise": fit.noise,
        "log_marginal": fit.log_marginal,
        "condition": fit.condition(),
    }
    scores = {"nlml": -fit.log_marginal / len(group.targets)}
    return Outcome(episode.name, episode.family, "scored", scores, numbers)

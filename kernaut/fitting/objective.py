"""The mean query CRPS of meta-training episodes as a differentiable function of a kernel's parameters.

The grid point of each episode is chosen without gradient; the posterior at that point is then formed by Cholesky, whose gradient exists where that of the
eigendecomposition does not (a constant feature map has repeated eigenvalues).  Values equal those of the grid path up to rounding.

For meta-training only: query targets steer parameters here, which is why nothing of this is called on validation or test episodes.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from kernaut.errors import FitError
from kernaut.fitting.embedding import EmbeddedKernel, rows, select
from kernaut.fitting.grid import NOT_DEFINITE, VARIANCE_FLOOR, fit_grid
from kernaut.fitting.group import EpisodeGroup
from kernaut.scoring.predictive import crps_gaussian_tensor

PENALTY = 2.0
"""CRPS that a failed episode enters a mean with."""


def query_crps(kernel: EmbeddedKernel, group: EpisodeGroup) -> Tensor:
    """Mean over query points of the marginal CRPS, for each episode of a group.

    Args:
        kernel: any kernel that embeds; gradients flow to whatever its embedding depends on.
        group: ``E`` stacked meta-training episodes.

    Returns:
        ``E`` scores; a failed episode has the penalty 2.0 and no gradient.

    Raises:
        FitError: when every episode of the group fails.
        SandboxFailure: when the kernel's program gives no value.
    """
    embedding = kernel.embed(group.points)
    count = group.fit_count
    fitting, queries = rows(embedding, 0, count), rows(embedding, count, group.points.shape[-2])
    targets, query_targets = group.fit_targets, group.query_targets
    gram = kernel.cross(fitting, fitting)
    fit = fit_grid(gram.detach(), targets)
    usable = torch.nonzero(~fit.failed)[:, 0]
    if len(usable) == 0:
        raise FitError(f"Expected an episode that can be fitted. Got {len(group)} that failed: {NOT_DEFINITE}.")
    everything = len(usable) == len(group)
    if not everything:
        gram, fitting, queries = gram[usable], select(fitting, usable), select(queries, usable)
        targets, query_targets = targets[usable], query_targets[usable]
    amplitude, noise = fit.amplitude[usable, None], fit.noise[usable, None]
    matrix = amplitude[..., None] * 0.5 * (gram + gram.mT) + torch.diag_embed(noise.expand(-1, count))
    factor = torch.linalg.cholesky(matrix)
    cross = amplitude[..., None] * kernel.cross(fitting, queries)
    solved = torch.linalg.solve_triangular(factor, torch.cat([cross, targets[..., None]], dim=-1), upper=False)
    whitened, residual = solved[..., :-1], solved[..., -1:]
    mean = (whitened.mT @ residual)[..., 0]
    variance = amplitude * kernel.diagonal(queries) + noise - whitened.square().sum(-2)
    scores = crps_gaussian_tensor(mean, variance.clamp_min(VARIANCE_FLOOR).sqrt(), query_targets).mean(-1)
    if everything:
        return scores
    return torch.full((len(group),), PENALTY, dtype=torch.float64).index_put((usable,), scores)


def mean_query_crps(kernel: EmbeddedKernel, groups: Sequence[EpisodeGroup]) -> Tensor:
    """Mean of :func:`query_crps` over the episodes of several groups, each episode with equal weight.

    Args:
        kernel: any kernel that embeds.
        groups: stacked meta-training episodes; at least one episode must be fitted.

    Returns:
        A scalar with gradient.

    Raises:
        FitError: when every episode of every group fails.
        SandboxFailure: when the kernel's program gives no value.
    """
    scores, failed = [], 0
    for group in groups:
        try:
            scores.append(query_crps(kernel, group))
        except FitError:
            failed += len(group)
    if not scores:
        raise FitError(f"Expected an episode that can be fitted. Got {failed} that failed: {NOT_DEFINITE}.")
    count = failed + sum(len(part) for part in scores)
    return (torch.cat(scores).sum() + PENALTY * failed) / count

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
from kernaut.fitting.embedding import EmbeddedKernel, Embedding, rows, select
from kernaut.fitting.grid import GRID, NOT_DEFINITE, VARIANCE_FLOOR, GridFit, fit_grid
from kernaut.fitting.group import EpisodeGroup
from kernaut.fitting.likelihood import LikelihoodGroup, row_loss
from kernaut.fitting.prefixes import RATIOS, Group, PrefixGroup, fit_prefixes, query_rows
from kernaut.scoring.predictive import crps_gaussian_tensor

PENALTY = 2.0
"""CRPS that a failed episode enters a mean with."""


def query_crps(kernel: EmbeddedKernel, group: Group) -> Tensor:
    """Mean over query points of the marginal CRPS, for each episode of a group.

    Args:
        kernel: any kernel that embeds; gradients flow to whatever its embedding depends on.
        group: ``E`` stacked meta-training episodes.

    Returns:
        ``E`` scores; a failed episode has the penalty 2.0 and no gradient.  An episode without queries has minus its log marginal likelihood a row instead.

    Raises:
        FitError: when every episode of the group fails.
        SandboxFailure: when the kernel's program gives no value.
    """
    if isinstance(group, LikelihoodGroup):
        return row_loss(kernel, group)
    if isinstance(group, PrefixGroup):
        return _prefix_crps(kernel, group)
    embedding = kernel.embed(group.points)
    count = group.fit_count
    fitting, later = rows(embedding, 0, count), rows(embedding, count, group.points.shape[-2])
    gram = kernel.cross(fitting, fitting)
    fit = fit_grid(gram.detach().numpy(), group.fit_targets.numpy())
    matrix = _noisy(gram, fit)
    usable = torch.from_numpy(~fit.failed) & (torch.linalg.cholesky_ex(matrix.detach()).info == 0)
    if bool(usable.all()):
        return _scores(kernel, fitting, later, matrix, fit, group)
    if not bool(usable.any()):
        raise FitError(f"Expected an episode that can be fitted. Got {len(group)} that failed: {NOT_DEFINITE}.")
    keep = torch.nonzero(usable)[:, 0]
    rest = group.take(keep.tolist())
    fitting, later = select(fitting, keep), select(later, keep)
    gram = kernel.cross(fitting, fitting)
    fit = fit_grid(gram.detach().numpy(), rest.fit_targets.numpy())
    scores = _scores(kernel, fitting, later, _noisy(gram, fit), fit, rest)
    return torch.full((len(group),), PENALTY, dtype=torch.float64).index_put((keep,), scores)


def _prefix_crps(kernel: EmbeddedKernel, group: PrefixGroup) -> Tensor:
    """:func:`query_crps` of windows of one sequence: one differentiable Cholesky factor for each ratio of noise to amplitude that a window chose."""
    embedding = kernel.embed(group.points)
    gram = kernel.cross(embedding, embedding)
    fit = fit_prefixes(gram.detach().numpy(), group)
    if fit is None:
        return torch.cat([_or_penalty(kernel, single) for single in group.alone()])
    variances = kernel.diagonal(embedding)
    scores: dict[int, Tensor] = {}
    identity = torch.eye(len(gram), dtype=gram.dtype)
    for ratio in sorted(set(fit.ratio.tolist())):
        places = [place for place in range(len(group)) if fit.ratio[place] == ratio]
        longest = max(query_rows(group.episodes[place])[1] for place in places)
        shifted = 0.5 * (gram + gram.mT) + RATIOS[ratio] * identity
        factor = torch.linalg.cholesky(shifted[:longest, :longest])
        targets = torch.from_numpy(group.targets[:longest, places])
        white = torch.linalg.solve_triangular(factor, targets, upper=False)
        for column, place in enumerate(places):
            amplitude, noise = GRID[fit.chosen[place]]
            episode = group.episodes[place]
            start, stop = query_rows(episode)
            rows = factor[start:stop, :start]
            variance = amplitude * (variances[start:stop] - rows.square().sum(-1)) + noise
            sd = variance.clamp_min(VARIANCE_FLOOR).sqrt()
            wanted = torch.from_numpy(episode.query_targets.copy())
            scores[place] = crps_gaussian_tensor(rows @ white[:start, column], sd, wanted).mean()
    return torch.stack([scores[place] for place in range(len(group))])


def _or_penalty(kernel: EmbeddedKernel, single: EpisodeGroup) -> Tensor:
    """The score of one episode, or the penalty without gradient where it cannot be fitted."""
    try:
        return query_crps(kernel, single)
    except FitError:
        return torch.full((len(single),), PENALTY, dtype=torch.float64)


def _noisy(gram: Tensor, fit: GridFit) -> Tensor:
    """The matrices ``a K + s I`` of the chosen grid points, ``E x n x n``; identities where the fit failed."""
    amplitude, noise = torch.from_numpy(fit.amplitude), torch.from_numpy(fit.noise)
    matrix = amplitude[:, None, None] * 0.5 * (gram + gram.mT) + torch.diag_embed(noise[:, None].expand(gram.shape[:2]))
    if not fit.failed.any():
        return matrix
    return torch.where(torch.from_numpy(fit.failed)[:, None, None], torch.eye(gram.shape[-1], dtype=gram.dtype), matrix)


def _scores(
    kernel: EmbeddedKernel, fitting: Embedding, later: Embedding, matrix: Tensor, fit: GridFit, group: EpisodeGroup
) -> Tensor:
    """CRPS of ``E`` episodes with positive definite matrices, by Cholesky; ``later`` holds context and query points."""
    amplitude, noise = torch.from_numpy(fit.amplitude)[:, None], torch.from_numpy(fit.noise)[:, None]
    cross = amplitude[..., None] * kernel.cross(fitting, later)
    right = torch.cat([cross, group.fit_targets[..., None]], dim=-1)
    solved = torch.linalg.solve_triangular(torch.linalg.cholesky(matrix), right, upper=False)
    whitened, residual = solved[..., :-1], solved[..., -1:]
    mean = (whitened.mT @ residual)[..., 0]
    variance = amplitude * kernel.diagonal(later) + noise - whitened.square().sum(-2)
    seen = group.context_targets.shape[-1]
    if seen:
        prior = amplitude[..., None] * kernel.cross(rows(later, 0, seen), later)
        joint = prior - whitened[..., :seen].mT @ whitened
        within = joint[..., :seen] + noise[..., None] * torch.eye(seen, dtype=joint.dtype)
        surprise = group.context_targets - mean[..., :seen]
        right = torch.cat([joint[..., seen:], surprise[..., None]], dim=-1)
        solved = torch.linalg.solve_triangular(torch.linalg.cholesky(within), right, upper=False)
        mean = mean[..., seen:] + (solved[..., :-1].mT @ solved[..., -1:])[..., 0]
        variance = variance[..., seen:] - solved[..., :-1].square().sum(-2)
    return crps_gaussian_tensor(mean, variance.clamp_min(VARIANCE_FLOOR).sqrt(), group.query_targets).mean(-1)


def mean_query_crps(kernel: EmbeddedKernel, groups: Sequence[Group]) -> Tensor:
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

"""An episode's posterior mean as the sum of what each summand of the kernel contributes.

With ``k = k_1 + ... + k_m`` the posterior mean at x* is ``sum_j a k_j(x*, X) (a K + s I)^{-1} y``.  Reference: Duvenaud et al. (2013), section 2; Rasmussen and Williams (2006),
equation 2.25.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from kernaut.episodes.episode import Episode
from kernaut.evaluation.forecast import forecast
from kernaut.fitting.embedding import rows
from kernaut.kernels.decomposition import summands
from kernaut.kernels.kernel import KernautKernel

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Decomposition:
    """Contributions of ``m`` summands at an episode's ``N`` points (fitting, context and query points in this order).

    Args:
        episode: the episode.
        names: ``m`` names.
        means: ``m x N``, standardized; they add up to the posterior mean.
    """

    episode: Episode
    names: tuple[str, ...]
    means: Array

    def in_units(self) -> Array:
        """``m x N`` contributions in the benchmark's units; the target mean belongs to none of them."""
        return self.means * self.episode.target_scale


@torch.no_grad()
def decompose(kernel: KernautKernel, episode: Episode) -> Decomposition:
    """Take an episode's posterior mean apart.

    Args:
        kernel: without batch.
        episode: any episode.

    Raises:
        FitError: when no grid point has a positive definite matrix.
        SandboxFailure: when the kernel's program gives no value.
    """
    found = forecast(kernel, episode)
    points = torch.from_numpy(np.concatenate([episode.fit_inputs, episode.context[0], episode.query_inputs]))
    known = torch.from_numpy(np.concatenate([episode.fit_targets, episode.context[1]]))
    parts = summands(kernel)
    crosses = []
    try:
        for part in parts:
            embedding = part.embed(points)
            crosses.append(part.cross(embedding, rows(embedding, 0, len(known))))
    finally:
        for part in parts:
            part.close()
    total = found.amplitude * torch.stack(crosses).sum(0)[: len(known)]
    matrix = 0.5 * (total + total.mT) + found.noise * torch.eye(len(known), dtype=torch.float64)
    weights = torch.cholesky_solve(known[:, None], torch.linalg.cholesky(matrix))[:, 0]
    means = torch.stack([found.amplitude * cross @ weights for cross in crosses])
    return Decomposition(episode, tuple(part.name for part in parts), means.numpy())

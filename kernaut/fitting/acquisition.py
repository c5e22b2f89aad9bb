"""Expected improvement of a maximization, analytic.

Reference: Jones, Schonlau and Welch (1998), equation 15.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


def expected_improvement(mean: Tensor, sd: Tensor, best: Tensor) -> Tensor:
    """``E max(Y - best, 0)`` for ``Y ~ N(mean, sd^2)``, marginal.

    ``sd (z Phi(z) + phi(z))`` with ``z = (mean - best) / sd``; ``Phi`` keeps its relative accuracy in the far tail, so that poor candidates are still ranked.

    Args:
        mean: ``... x m`` predictive means.
        sd: ``... x m`` predictive standard deviations, above 0.
        best: ``...`` the best value observed so far.

    Returns:
        ``... x m`` expected improvements, at least 0.
    """
    z = (mean - best[..., None]) / sd
    density = torch.exp(-0.5 * z.square()) / math.sqrt(2.0 * math.pi)
    return (sd * (z * torch.special.ndtr(z) + density)).clamp_min(0.0)


def first_best(values: Tensor) -> Tensor:
    """Index of the largest value along the last axis, the first of equal ones: ``... x m`` to ``...``."""
    return torch.from_numpy(values.detach().numpy().argmax(-1))
